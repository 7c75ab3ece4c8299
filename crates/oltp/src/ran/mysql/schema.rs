//! Our tables and procedures, as SQL that MariaDB and MySQL both take.

/// In the comment of all that we make, which distinguishes it from those of others.
pub(super) const MARK: &str = "created by iolite, layout 1";
pub(super) const CATALOGUE: &str = "iolite_catalogue";
pub(super) const BLOCKS: &str = "iolite_blocks";
/// Procedure that reads blocks.
pub(super) const READS: &str = "iolite_reads";
const GLOBAL: &str = "RanWriteGlobal";
const SETS: &str = "iolite_sets_";

/// Digits of a number in a list that a procedure takes: numbers have to be below ten to that power.
pub(super) const DIGITS: usize = 15;

/// Table of a global, from 1.
pub(super) fn global(number: u32) -> String {
    format!("{GLOBAL}{number}")
}

/// Procedure that sets subscripts of a global, from 1.
pub(super) fn sets(number: u32) -> String {
    format!("{SETS}{number}")
}

/// Whether a table of this name would be one of ours; `folds` where the server ignores case.
pub(super) fn is_table_of_ours(name: &str, folds: bool) -> bool {
    let is = |ours: &str| if folds { name.eq_ignore_ascii_case(ours) } else { name == ours };
    is(CATALOGUE) || is(BLOCKS) || is_numbered(name, GLOBAL, folds)
}

/// Whether a procedure of this name would be one of ours: their names always ignore case.
pub(super) fn is_procedure_of_ours(name: &str) -> bool {
    name.eq_ignore_ascii_case(READS) || is_numbered(name, SETS, true)
}

fn is_numbered(name: &str, stem: &str, folds: bool) -> bool {
    let Some((start, rest)) = name.split_at_checked(stem.len()) else { return false };
    let same = if folds { start.eq_ignore_ascii_case(stem) } else { start == stem };
    same && !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit())
}

/// How blocks lie in pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    /// InnoDB's page size.
    pub(super) page: u64,
    /// Rows in each page: a row may take about half a page at most, and 16 KiB. Blocks are read by a row within their page:
    /// reading the first one, or the last, InnoDB also looks at the page before, or behind.
    pub(super) rows: u64,
    /// Bytes of a row's data: `rows` of them fill most of a page, in which one more has no room, while a sixteenth may stay
    /// free, as InnoDB leaves it when it loads in bulk.
    pub(super) data: u64,
}

impl Layout {
    pub(super) fn of(page: u64) -> Layout {
        let rows = if page > 32 << 10 { 4 } else { 3 };
        Layout { page, rows, data: page * 17 / 20 / rows }
    }
}

pub(super) fn create_catalogue() -> String {
    format!(
        "CREATE TABLE {CATALOGUE} (name VARCHAR(64) NOT NULL PRIMARY KEY, kind VARCHAR(16) NOT NULL, \
         number INT UNSIGNED NOT NULL, amount BIGINT UNSIGNED NOT NULL, complete TINYINT NOT NULL) \
         {} CHARACTER SET ascii COLLATE ascii_bin",
        options()
    )
}

pub(super) fn create_blocks(layout: Layout) -> String {
    format!(
        "CREATE TABLE {BLOCKS} (number BIGINT UNSIGNED NOT NULL PRIMARY KEY, data VARBINARY({}) NOT NULL) {}",
        layout.data,
        options()
    )
}

pub(super) fn create_global(number: u32) -> String {
    format!(
        "CREATE TABLE {} (subscript BIGINT UNSIGNED NOT NULL PRIMARY KEY, value VARBINARY(100) NOT NULL) {}",
        global(number),
        options()
    )
}

/// No statistics taken while something is measured: they read pages.
fn options() -> String {
    format!("ENGINE=InnoDB ROW_FORMAT=DYNAMIC STATS_PERSISTENT=1 STATS_AUTO_RECALC=0 COMMENT='{MARK}'")
}

/// Beginning of both procedures. Each operation is stamped twice by SYSDATE(6), the time when it is evaluated (NOW(6)
/// would be the time when the procedure was called), as microseconds since 1970. Stamps are gathered in pieces: appending
/// each to all there are would copy those each time.
const DECLARATIONS: &str = "DECLARE epoch DATETIME(6) DEFAULT '1970-01-01'; DECLARE started, ended BIGINT;
     DECLARE place INT DEFAULT 0; DECLARE stamps LONGTEXT CHARACTER SET latin1 DEFAULT '';
     DECLARE piece VARCHAR(2000) CHARACTER SET latin1 DEFAULT ''; DECLARE code INT DEFAULT 0;
     DECLARE message TEXT DEFAULT '';";
const NOW: &str = "TIMESTAMPDIFF(MICROSECOND, epoch, SYSDATE(6))";
const STAMP: &str = "SET piece = CONCAT(piece, started, ' ', ended, ' ');
     IF LENGTH(piece) > 1900 THEN SET stamps = CONCAT(stamps, piece); SET piece = ''; END IF;";
/// What both hand back, also when they failed in the middle.
const ANSWER: &str = "SELECT CONCAT(stamps, piece), code, message;";
const FAILED: &str = "GET DIAGNOSTICS CONDITION 1 code = MYSQL_ERRNO, message = MESSAGE_TEXT;";

/// The procedure that reads rows: `numbers` in a list. After `allowed` microseconds it begins no read any more.
pub(super) fn create_reads(data: u64) -> String {
    format!(
        "CREATE PROCEDURE {READS}(numbers LONGTEXT CHARACTER SET latin1, allowed BIGINT)
         READS SQL DATA SQL SECURITY INVOKER COMMENT '{MARK}'
         BEGIN
          {DECLARATIONS}
          DECLARE wanted BIGINT UNSIGNED; DECLARE bytes INT; DECLARE deadline BIGINT;
          DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN {FAILED} {ANSWER} END;
          SET deadline = {NOW} + allowed;
          batch: WHILE place < LENGTH(numbers) DIV {DIGITS} DO
           SET wanted = SUBSTR(numbers, 1 + {DIGITS} * place, {DIGITS});
           SET place = place + 1;
           SET started = {NOW};
           IF started >= deadline THEN LEAVE batch; END IF;
           SET bytes = (SELECT LENGTH(data) FROM {BLOCKS} WHERE number = wanted);
           SET ended = {NOW};
           IF NOT bytes <=> {data} THEN
            SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'a row of {BLOCKS} is missing or has another length';
           END IF;
           {STAMP}
          END WHILE;
          {ANSWER}
         END"
    )
}

/// The procedure that sets `subscripts` of a global, in a list, to values cut one after the other from `noise`, in a
/// transaction that it begins where asked to, and leaves open. (A COMMIT within a procedure may return before the log is
/// synced: MariaDB lets the answer to the client wait for that instead.)
pub(super) fn create_sets(number: u32) -> String {
    format!(
        "CREATE PROCEDURE {}(subscripts LONGTEXT CHARACTER SET latin1, noise LONGBLOB, beginning INT)
         MODIFIES SQL DATA SQL SECURITY INVOKER COMMENT '{MARK}'
         BEGIN
          {DECLARATIONS}
          DECLARE used INT DEFAULT 0; DECLARE row_set BIGINT UNSIGNED; DECLARE bytes, found INT;
          DECLARE new_value VARBINARY(100);
          DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN {FAILED} ROLLBACK; {ANSWER} END;
          IF beginning THEN START TRANSACTION; END IF;
          WHILE place < LENGTH(subscripts) DIV {DIGITS} DO
           SET row_set = SUBSTR(subscripts, 1 + {DIGITS} * place, {DIGITS});
           SET place = place + 1;
           SET bytes = 50 + row_set % 51;
           SET new_value = SUBSTR(noise, 1 + used, bytes);
           SET used = used + bytes;
           SET started = {NOW};
           UPDATE {} SET value = new_value WHERE subscript = row_set;
           SET found = ROW_COUNT();
           SET ended = {NOW};
           IF found <> 1 THEN
            SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'a subscript is missing';
           END IF;
           {STAMP}
          END WHILE;
          {ANSWER}
         END",
        sets(number),
        global(number)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_ours_are_distinguished_from_others() {
        for name in ["iolite_catalogue", "iolite_blocks", "RanWriteGlobal1", "RanWriteGlobal9999"] {
            assert!(is_table_of_ours(name, false) && is_table_of_ours(name, true), "{name}");
            assert!(is_table_of_ours(&name.to_lowercase(), true));
        }
        assert!(!is_table_of_ours("ranwriteglobal1", false));
        for name in ["RanWriteGlobal", "RanWriteGlobal1a", "RanWriteGlobals", "iolite_other", "", "Ranü"] {
            assert!(!is_table_of_ours(name, true) && !is_procedure_of_ours(name), "{name}");
        }
        assert!(is_procedure_of_ours("IOLITE_sets_7") && is_procedure_of_ours(READS));
        assert!(!is_procedure_of_ours("iolite_sets_") && !is_procedure_of_ours("iolite_sets_x"));
    }

    #[test]
    fn a_page_takes_its_rows_and_no_more() {
        for page in [4, 8, 16, 32, 64].map(|kib: u64| kib << 10) {
            let Layout { rows, data, .. } = Layout::of(page);
            // Headers of page and row take 200 bytes at most, pointers of a row with its key 40.
            assert!((data + 40) * rows + 200 < page * 15 / 16, "{page}: {rows} of {data} fit");
            assert!(data * (rows + 1) > page, "{page}: no more do");
            let max = (page / 2 - 100).min(16383);
            assert!(data + 40 < max, "{page}: within a row's limit");
        }
    }
}
