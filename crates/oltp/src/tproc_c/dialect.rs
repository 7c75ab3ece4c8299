//! SQL for each database from one text.
//!
//! In a text `@` stands before a table's name, `?` for a whole number and `#` for a text that is passed in; `%NOW`, `%LOCK` and
//! `%INT` are the present time, what locks the rows of a SELECT, and the type to cast sums to.

/// How a database writes what the three write in different ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dialect {
    /// Before each table's name.
    pub(super) tables: &'static str,
    now: &'static str,
    lock: &'static str,
    int: &'static str,
    /// Parameters are numbered.
    numbered: bool,
}

impl Dialect {
    /// SQLite: one file has the tables alone, and a transaction that writes locks all of it.
    pub(super) const SQLITE: Dialect =
        Dialect { tables: "", now: "CURRENT_TIMESTAMP", lock: "", int: "INTEGER", numbered: false };
    /// PostgreSQL: a schema of ours.
    #[cfg(feature = "postgres")]
    pub(super) const POSTGRES: Dialect = Dialect {
        tables: "iolite_tproc_c.",
        now: "LOCALTIMESTAMP",
        lock: "FOR UPDATE",
        int: "BIGINT",
        numbered: true,
    };
    /// MariaDB and MySQL: tables with a common beginning.
    #[cfg(feature = "mysql")]
    pub(super) const MYSQL: Dialect = Dialect {
        tables: "tproc_c_",
        now: "CURRENT_TIMESTAMP",
        lock: "FOR UPDATE",
        int: "SIGNED",
        numbered: false,
    };

    /// The text in this database's words.
    pub(super) fn sql(&self, text: &str) -> String {
        let named = text
            .replace('@', self.tables)
            .replace("%NOW", self.now)
            .replace("%LOCK", self.lock)
            .replace("%INT", self.int);
        let mut sql = String::with_capacity(named.len());
        let mut number = 0;
        for character in named.chars() {
            match character {
                '?' | '#' if self.numbered => {
                    number += 1;
                    sql += &format!("${number}");
                }
                '#' => sql.push('?'),
                other => sql.push(other),
            }
        }
        sql
    }
}

/// Which of a text's parameters are texts, in order.
#[cfg(feature = "postgres")]
pub(super) fn texts(text: &str) -> Vec<bool> {
    text.chars()
        .filter(|character| matches!(character, '?' | '#'))
        .map(|character| character == '#')
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_text_serves_three_databases() {
        let text = "SELECT a FROM @item WHERE b = ? AND c = # %LOCK";
        assert_eq!(Dialect::SQLITE.sql(text), "SELECT a FROM item WHERE b = ? AND c = ? ");
        #[cfg(feature = "postgres")]
        assert_eq!(
            Dialect::POSTGRES.sql(text),
            "SELECT a FROM iolite_tproc_c.item WHERE b = $1 AND c = $2 FOR UPDATE"
        );
        #[cfg(feature = "mysql")]
        assert_eq!(Dialect::MYSQL.sql(text), "SELECT a FROM tproc_c_item WHERE b = ? AND c = ? FOR UPDATE");
        #[cfg(feature = "postgres")]
        assert_eq!(texts(text), [false, true]);
    }
}
