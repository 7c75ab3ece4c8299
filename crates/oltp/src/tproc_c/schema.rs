//! The nine tables (clause 1.3): columns, keys, the second ways to rows.
//!
//! Amounts are whole cents and taxes and discounts whole ten-thousandths, so that sums are exact in every database.

use std::path::PathBuf;

use iolite_db::{Error, Result};

use super::contract::Table;
use super::layout::Layout;

/// The columns of an address.
macro_rules! address {
    ($prefix:literal) => {
        concat!(
            $prefix,
            "_street_1 VARCHAR(20) NOT NULL, ",
            $prefix,
            "_street_2 VARCHAR(20) NOT NULL, ",
            $prefix,
            "_city VARCHAR(20) NOT NULL, ",
            $prefix,
            "_state CHAR(2) NOT NULL, ",
            $prefix,
            "_zip CHAR(9) NOT NULL"
        )
    };
}

/// The columns of a table, in the order in which rows are created.
pub(super) fn columns(table: Table) -> &'static str {
    match table {
        Table::Warehouse => concat!(
            "w_id INTEGER NOT NULL, w_name VARCHAR(10) NOT NULL, ",
            address!("w"),
            ", w_tax INTEGER NOT NULL, w_ytd BIGINT NOT NULL"
        ),
        Table::District => concat!(
            "d_w_id INTEGER NOT NULL, d_id INTEGER NOT NULL, d_name VARCHAR(10) NOT NULL, ",
            address!("d"),
            ", d_tax INTEGER NOT NULL, d_ytd BIGINT NOT NULL, d_next_o_id INTEGER NOT NULL"
        ),
        Table::Customer => concat!(
            "c_w_id INTEGER NOT NULL, c_d_id INTEGER NOT NULL, c_id INTEGER NOT NULL, c_first VARCHAR(16) NOT NULL, \
             c_middle CHAR(2) NOT NULL, c_last VARCHAR(16) NOT NULL, ",
            address!("c"),
            ", c_phone CHAR(16) NOT NULL, c_since TIMESTAMP NOT NULL, c_credit CHAR(2) NOT NULL, \
             c_credit_lim BIGINT NOT NULL, c_discount INTEGER NOT NULL, c_balance BIGINT NOT NULL, \
             c_ytd_payment BIGINT NOT NULL, c_payment_cnt INTEGER NOT NULL, c_delivery_cnt INTEGER NOT NULL, \
             c_data VARCHAR(500) NOT NULL"
        ),
        Table::History => {
            "h_c_id INTEGER NOT NULL, h_c_d_id INTEGER NOT NULL, h_c_w_id INTEGER NOT NULL, h_d_id INTEGER NOT NULL, \
             h_w_id INTEGER NOT NULL, h_date TIMESTAMP NOT NULL, h_amount INTEGER NOT NULL, h_data VARCHAR(24) NOT NULL"
        }
        Table::Orders => {
            "o_w_id INTEGER NOT NULL, o_d_id INTEGER NOT NULL, o_id INTEGER NOT NULL, o_c_id INTEGER NOT NULL, \
             o_entry_d TIMESTAMP NOT NULL, o_carrier_id INTEGER NULL, o_ol_cnt INTEGER NOT NULL, o_all_local INTEGER NOT NULL"
        }
        Table::NewOrder => "no_w_id INTEGER NOT NULL, no_d_id INTEGER NOT NULL, no_o_id INTEGER NOT NULL",
        Table::OrderLine => {
            "ol_w_id INTEGER NOT NULL, ol_d_id INTEGER NOT NULL, ol_o_id INTEGER NOT NULL, ol_number INTEGER NOT NULL, \
             ol_i_id INTEGER NOT NULL, ol_supply_w_id INTEGER NOT NULL, ol_delivery_d TIMESTAMP NULL, \
             ol_quantity INTEGER NOT NULL, ol_amount INTEGER NOT NULL, ol_dist_info CHAR(24) NOT NULL"
        }
        Table::Stock => {
            "s_w_id INTEGER NOT NULL, s_i_id INTEGER NOT NULL, s_quantity INTEGER NOT NULL, s_dist_01 CHAR(24) NOT NULL, \
             s_dist_02 CHAR(24) NOT NULL, s_dist_03 CHAR(24) NOT NULL, s_dist_04 CHAR(24) NOT NULL, \
             s_dist_05 CHAR(24) NOT NULL, s_dist_06 CHAR(24) NOT NULL, s_dist_07 CHAR(24) NOT NULL, \
             s_dist_08 CHAR(24) NOT NULL, s_dist_09 CHAR(24) NOT NULL, s_dist_10 CHAR(24) NOT NULL, \
             s_ytd INTEGER NOT NULL, s_order_cnt INTEGER NOT NULL, s_remote_cnt INTEGER NOT NULL, s_data VARCHAR(50) NOT NULL"
        }
        Table::Item => {
            "i_id INTEGER NOT NULL, i_im_id INTEGER NOT NULL, i_name VARCHAR(24) NOT NULL, i_price INTEGER NOT NULL, \
             i_data VARCHAR(50) NOT NULL"
        }
    }
}

/// The columns of a table's primary key; the history has none (clause 1.3.1).
pub(super) fn key(table: Table) -> Option<&'static str> {
    match table {
        Table::Warehouse => Some("w_id"),
        Table::District => Some("d_w_id, d_id"),
        Table::Customer => Some("c_w_id, c_d_id, c_id"),
        Table::History => None,
        Table::Orders => Some("o_w_id, o_d_id, o_id"),
        Table::NewOrder => Some("no_w_id, no_d_id, no_o_id"),
        Table::OrderLine => Some("ol_w_id, ol_d_id, ol_o_id, ol_number"),
        Table::Stock => Some("s_w_id, s_i_id"),
        Table::Item => Some("i_id"),
    }
}

/// The column by which a table is partitioned: the warehouse of its rows, which each of its keys contains. Tables with a row per
/// warehouse or district, and those without a warehouse, are not.
pub(super) fn partition_column(table: Table) -> Option<&'static str> {
    match table {
        Table::Warehouse | Table::District | Table::Item => None,
        Table::Customer => Some("c_w_id"),
        Table::History => Some("h_w_id"),
        Table::Orders => Some("o_w_id"),
        Table::NewOrder => Some("no_w_id"),
        Table::OrderLine => Some("ol_w_id"),
        Table::Stock => Some("s_w_id"),
    }
}

/// The second ways to rows: the index's name, its table and columns.
pub(super) const INDEXES: [(&str, Table, &str); 2] = [
    ("customer_by_name", Table::Customer, "c_w_id, c_d_id, c_last, c_first"),
    ("orders_by_customer", Table::Orders, "o_w_id, o_d_id, o_c_id, o_id"),
];

/// The catalogue: what the database was built as.
pub(super) const CATALOGUE: &str = "catalogue";

/// The catalogue's entries of a layout.
pub(super) fn entries(layout: Layout) -> [(&'static str, i64); 7] {
    [
        ("warehouses", layout.warehouses.into()),
        ("reduction", layout.reduction.into()),
        ("partitions", layout.partitions.into()),
        ("loaders", layout.loaders.into()),
        ("constant_name", layout.constants.name),
        ("constant_customer", layout.constants.customer),
        ("constant_item", layout.constants.item),
    ]
}

/// The entry that is there, and 1, when a build has ended.
pub(super) const COMPLETE: &str = "complete";

/// The layout that a catalogue's entries describe; `None` where no build writes such entries.
pub(super) fn layout(entries: &[(String, i64)]) -> Option<Layout> {
    let entry = |name: &str| entries.iter().find(|(other, _)| other == name).map(|(_, value)| *value);
    // Catalogues of earlier versions do not have these.
    let later =
        |name: &str, default: u32| entry(name).map_or(Some(default), |value| u32::try_from(value).ok());
    let within = |name: &str, max: i64| entry(name).filter(|value| (0..=max).contains(value));
    let size = |name: &str| u32::try_from(entry(name)?).ok();
    let (warehouses, reduction, partitions) =
        (size("warehouses")?, size("reduction")?, later("partitions", 1)?);
    let possible =
        Layout::new(warehouses, reduction, 0).and_then(|layout| layout.partitioned(partitions)).ok()?;
    let constants = super::chance::Constants {
        name: within("constant_name", 255)?,
        customer: within("constant_customer", 1023)?,
        item: within("constant_item", 8191)?,
    };
    Some(Layout { loaders: later("loaders", 0)?, constants, ..possible })
}

/// The layout of a database that is there.
///
/// # Errors
/// [`Error::Incomplete`], [`Error::Foreign`].
pub(super) fn layout_at(entries: &[(String, i64)], path: PathBuf) -> Result<Layout> {
    match layout(entries) {
        _ if !is_complete(entries) => Err(Error::Incomplete { path }),
        Some(layout) => Ok(layout),
        None => Err(Error::Foreign { path }),
    }
}

/// Why a database is not created where there is one.
pub(super) fn refusal(entries: &[(String, i64)], path: PathBuf) -> Error {
    if is_complete(entries) { Error::Exists { path } } else { Error::Incomplete { path } }
}

/// Whether a catalogue's entries say that the build has ended.
fn is_complete(entries: &[(String, i64)]) -> bool {
    entries.iter().any(|(name, value)| name == COMPLETE && *value == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// MariaDB, MySQL and PostgreSQL refuse anything else.
    #[test]
    fn tables_are_partitioned_by_a_column_of_each_of_their_keys() {
        for table in Table::ALL {
            let Some(column) = partition_column(table) else { continue };
            assert!(columns(table).contains(&format!("{column} INTEGER NOT NULL")), "{column}");
            assert!(key(table).is_none_or(|key| key.split(", ").any(|part| part == column)), "{column}");
        }
    }

    #[test]
    fn a_layout_is_read_from_its_entries() {
        let expected = Layout { loaders: 4, ..Layout::new(3, 10, 4).unwrap().partitioned(2).unwrap() };
        let mut list: Vec<(String, i64)> =
            entries(expected).into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        assert_eq!((layout(&list), is_complete(&list)), (Some(expected), false));
        // Values with which a run would never end, or divide by zero.
        for (name, wrong) in [
            ("constant_name", 1_000_000),
            ("constant_item", i64::MAX),
            ("constant_customer", -1),
            ("reduction", 100_000),
            ("warehouses", 4_000_000_000),
            ("partitions", 0),
        ] {
            let changed =
                |(other, value): &(String, i64)| (other.clone(), if *other == name { wrong } else { *value });
            assert_eq!(layout(&list.iter().map(changed).collect::<Vec<_>>()), None, "{name}");
        }
        list.push((COMPLETE.to_owned(), 1));
        assert!(is_complete(&list));
        assert_eq!(layout(&list[1..]), None);
        list.retain(|(name, _)| !matches!(name.as_str(), "partitions" | "loaders"));
        let earlier = Layout { partitions: 1, loaders: 0, ..expected };
        assert_eq!(layout(&list), Some(earlier), "a database of an earlier version");
    }
}
