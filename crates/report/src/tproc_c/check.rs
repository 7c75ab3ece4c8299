//! What `iolite tproc-c check` prints: whether the database has kept every order.

use iolite_model::{TprocCChecked, TprocCDatabase};
use iolite_results::Run;
use serde_json::{Value, json};

use crate::document::document;
use crate::run as job;
use crate::styler::{Style, Styler, count};

/// Name and version of the document.
const JSON_FORMAT: &str = "iolite-tproc-c-check/1";

/// Violations of a condition that are printed one by one.
const SHOWN: usize = 8;

/// The complete terminal output.
pub(crate) fn checked_text(run: &Run, checked: &TprocCChecked, style: Style) -> String {
    let styler = Styler(style);
    let Some(database) = database(run) else { return job::text(run, style) };
    let reduced = match database.reduction {
        0 | 1 => String::new(),
        reduction => format!(" (REDUCED to 1/{reduction})"),
    };
    let (url, warehouses) = (styler.clean(&database.url), count(database.warehouses.into()));
    let mut out = format!("{url}: TPROC-C, {warehouses} warehouses{reduced}\n");
    for condition in &checked.conditions {
        let verdict = match condition.violations.len() {
            0 => format!("holds in {}", count(condition.checked)),
            broken => format!("VIOLATED in {} of {}", count(broken as u64), count(condition.checked)),
        };
        out += &format!(
            "condition {}: {verdict}: {}\n",
            styler.clean(&condition.name),
            styler.clean(&condition.says)
        );
        for violation in condition.violations.iter().take(SHOWN) {
            let place = match violation.district {
                0 => format!("warehouse {}", violation.warehouse),
                district => format!("warehouse {}, district {district}", violation.warehouse),
            };
            let numbers: Vec<String> = violation.found.iter().map(i64::to_string).collect();
            out += &format!("    {place}: {}\n", numbers.join(", "));
        }
    }
    out + if checked.is_consistent() {
        "CONSISTENT\n"
    } else {
        "INCONSISTENT: orders or payments were lost or duplicated\n"
    }
}

/// One JSON document.
pub(crate) fn checked_json(run: &Run, checked: &TprocCChecked) -> Value {
    let Some(database) = database(run) else { return job::json(run) };
    let members = json!({
        "database": database.url,
        "warehouses": database.warehouses,
        "reduction": database.reduction,
        "consistent": checked.is_consistent(),
        "conditions": checked.conditions,
    });
    document(JSON_FORMAT, run, members)
}

/// The database, which a check describes before anything else.
fn database(run: &Run) -> Option<TprocCDatabase> {
    run.concluded().last()
}
