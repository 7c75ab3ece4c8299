//! What would reduce waits for the rows of a page.

use iolite_model::HotPage;

/// What helps where sessions wait for rows of this page. Locks are held on rows: rows that are spread over pages are still
/// locked, and only waits for the page itself (its latch) become fewer.
pub fn hot_page_advice(page: &HotPage) -> String {
    let share = match (page.rows, page.rows_in_page) {
        (_, Some(0)) => return MOVED.to_owned(),
        (_, Some(1)) => return ONE_ROW.to_owned(),
        (0 | 1, None) => return ONE_ROW.to_owned(),
        (hot, Some(all)) => format!("{all} rows share this page, {} of them hot", at_least(hot)),
        (hot, None) => format!(
            "{} hot rows share this page, of which the server does not show to this account how many rows it has",
            at_least(hot)
        ),
    };
    format!("{share}: {SHARED}")
}

const ONE_ROW: &str = "the waits are for one row, which spreading does not reduce: update it last in its transaction, or divide its \
     value among several rows";
const MOVED: &str = "its rows have been moved to other pages since by updates";
const SHARED: &str = "to spread them, rebuild the table with a lower fillfactor (PostgreSQL), a filler column, or hash partitions on \
     its key; that reduces waits for the page, while waits for a row need shorter transactions";

fn at_least(rows: u64) -> String {
    format!("at least {}", rows.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rows_that_share_a_page_are_to_be_spread() {
        let advice = |rows, rows_in_page| {
            let (table, sessions) = ("warehouse".to_owned(), 2.0);
            hot_page_advice(&HotPage { table, page: 0, sessions, rows, rows_in_page, advice: None })
        };
        let shared = advice(3, Some(33));
        assert!(shared.starts_with("33 rows share this page, at least 3 of them hot: "), "{shared}");
        assert!(shared.contains("fillfactor") && shared.contains("filler column"), "{shared}");
        assert!(advice(2, None).starts_with("at least 2 hot rows share"), "{}", advice(2, None));
        assert!(advice(1, Some(0)).contains("moved to other pages"), "{}", advice(1, Some(0)));
        for alone in [advice(1, Some(1)), advice(1, None)] {
            assert!(alone.contains("one row") && !alone.contains("fillfactor"), "{alone}");
        }
    }
}
