//! The consistency conditions of clause 3.3.2, the four that are required, and three of our own.

use iolite_db::Result;
use iolite_model::{TprocCChecked, TprocCCondition, TprocCViolation};

use super::contract::{Database, Reader};
use super::layout::{DISTRICTS, Layout};

/// A condition: its name, what it says, and the query whose rows are warehouse, district, and the numbers compared. All of
/// these must be equal.
type Rule<'a> = (&'a str, &'a str, &'a str);

/// Numbers are cast as sums have types of their own; what is not there is -1, which no count is.
const RULES: [Rule<'static>; 6] = [
    (
        "1",
        "the payments of a warehouse are the sum of those of its districts (W_YTD = sum of D_YTD)",
        "SELECT w_id, 0, CAST(w_ytd AS %INT), CAST(COALESCE((SELECT SUM(d_ytd) FROM @district WHERE d_w_id = w_id), -1) \
         AS %INT) FROM @warehouse ORDER BY w_id",
    ),
    (
        "2",
        "the district's next order follows the last of its orders, and of its new orders where it has some \
         (D_NEXT_O_ID - 1 = max(O_ID) = max(NO_O_ID))",
        "SELECT d_w_id, d_id, CAST(d_next_o_id - 1 AS %INT), \
         CAST(COALESCE((SELECT MAX(o_id) FROM @orders WHERE o_w_id = d_w_id AND o_d_id = d_id), -1) AS %INT), \
         CAST(COALESCE((SELECT MAX(no_o_id) FROM @new_order WHERE no_w_id = d_w_id AND no_d_id = d_id), d_next_o_id - 1) \
         AS %INT) FROM @district ORDER BY d_w_id, d_id",
    ),
    (
        "3",
        "the new orders of a district are numbered without a gap (max(NO_O_ID) - min(NO_O_ID) + 1 = count)",
        "SELECT no_w_id, no_d_id, CAST(MAX(no_o_id) - MIN(no_o_id) + 1 AS %INT), CAST(COUNT(*) AS %INT) FROM @new_order \
         GROUP BY no_w_id, no_d_id ORDER BY no_w_id, no_d_id",
    ),
    (
        "4",
        "the orders of a district have as many lines as they say (sum(O_OL_CNT) = count of its ORDER-LINE rows)",
        "SELECT d_w_id, d_id, \
         CAST(COALESCE((SELECT SUM(o_ol_cnt) FROM @orders WHERE o_w_id = d_w_id AND o_d_id = d_id), -1) AS %INT), \
         CAST((SELECT COUNT(*) FROM @order_line WHERE ol_w_id = d_w_id AND ol_d_id = d_id) AS %INT) \
         FROM @district ORDER BY d_w_id, d_id",
    ),
    (
        "orders",
        "no order is missing between the first and the last of a district (iolite's own)",
        "SELECT d_w_id, d_id, CAST(d_next_o_id - 1 AS %INT), \
         CAST((SELECT COUNT(*) FROM @orders WHERE o_w_id = d_w_id AND o_d_id = d_id) AS %INT) \
         FROM @district ORDER BY d_w_id, d_id",
    ),
    (
        "lines",
        "no order of a district has more or fewer lines than it says (iolite's own)",
        "SELECT d_w_id, d_id, 0, CAST((SELECT COUNT(*) FROM @orders LEFT JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, COUNT(*) AS \
         having_lines FROM @order_line GROUP BY ol_w_id, ol_d_id, ol_o_id) counted ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND \
         ol_o_id = o_id WHERE o_w_id = d_w_id AND o_d_id = d_id AND COALESCE(having_lines, 0) <> o_ol_cnt) AS %INT) \
         FROM @district ORDER BY d_w_id, d_id",
    ),
];

/// Checks all conditions.
///
/// # Errors
/// The database can't be read; [`Error::Missing`](iolite_db::Error::Missing) and its like where there is none.
pub fn check(database: &dyn Database) -> Result<TprocCChecked> {
    let layout = database.layout()?;
    let mut reader = database.reader()?;
    let conditions = RULES.iter().map(|rule| condition(reader.as_mut(), *rule));
    let mut conditions: Vec<_> = conditions.collect::<Result<_>>()?;
    let says = "warehouses, districts, customers, stock and items are as many as were built (iolite's own)";
    conditions.push(condition(reader.as_mut(), ("rows", says, &cardinalities(layout)))?);
    Ok(TprocCChecked { conditions })
}

/// Counts of rows that no transaction changes, and what they are: of rows that are not there, no other condition says anything.
fn cardinalities(layout: Layout) -> String {
    let warehouses = u64::from(layout.warehouses);
    let districts = warehouses * u64::from(DISTRICTS);
    let counts = [
        ("warehouse", warehouses),
        ("district", districts),
        ("customer", districts * u64::from(layout.customers())),
        ("stock", warehouses * u64::from(layout.items())),
        ("item", u64::from(layout.items())),
    ];
    let each = counts.map(|(table, count)| {
        format!("SELECT 0, 0, CAST({count} AS %INT), CAST((SELECT COUNT(*) FROM @{table}) AS %INT)")
    });
    each.join(" UNION ALL ")
}

fn condition(reader: &mut dyn Reader, (name, says, sql): Rule<'_>) -> Result<TprocCCondition> {
    let rows = reader.numbers(sql)?;
    let violated = |row: &&Vec<i64>| row[2..].iter().any(|number| *number != row[2]);
    let violation =
        |row: &Vec<i64>| TprocCViolation { warehouse: row[0], district: row[1], found: row[2..].to_vec() };
    Ok(TprocCCondition {
        name: name.into(),
        says: says.into(),
        checked: rows.len() as u64,
        violations: rows.iter().filter(violated).map(violation).collect(),
    })
}
