//! What InnoDB reports of its checkpoints.
//!
//! They have no start: pages are written all the time, and the checkpoint is the point in the redo log up to which the log is no longer
//! needed. It has to move on before the log is full: within as much log as the largest checkpoint age, all pages that were changed
//! before have been written (documentation of MariaDB, InnoDB Redo Log).

use iolite_db::mysql::Rows;
use iolite_model::{Bytes, CheckpointDue, CheckpointReading};
use mysql::Conn;

/// MariaDB's names; those of MySQL from 8.0.30 on.
const STATUS: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Innodb_lsn_current', 'Innodb_checkpoint_age', 'Innodb_checkpoint_max_age', \
                      'Innodb_redo_log_current_lsn', 'Innodb_redo_log_checkpoint_lsn', 'Innodb_redo_log_capacity_resized')";

/// `None` of a server that does not report its redo log.
pub(super) fn read(conn: &mut Conn) -> mysql::Result<Option<CheckpointReading>> {
    Ok(reading(&conn.query_rows::<(String, String)>(STATUS)?))
}

fn reading(rows: &[(String, String)]) -> Option<CheckpointReading> {
    let value = |name: &str| -> Option<u64> {
        rows.iter().find(|(other, _)| other.eq_ignore_ascii_case(name))?.1.parse().ok()
    };
    let log = value("Innodb_lsn_current").or_else(|| value("Innodb_redo_log_current_lsn"))?;
    let age = || Some(log.saturating_sub(value("Innodb_redo_log_checkpoint_lsn")?));
    let age = value("Innodb_checkpoint_age").or_else(age);
    let max = value("Innodb_checkpoint_max_age").or_else(|| value("Innodb_redo_log_capacity_resized"));
    let max = max.filter(|max| *max > 0)?;
    Some(CheckpointReading {
        started: None,
        log,
        latest: None,
        due: CheckpointDue { time: None, log: Some(Bytes(max)) },
        age: age.map(|age| age as f64 / max as f64),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_servers_are_read() {
        let rows = |rows: &[(&str, &str)]| {
            let rows: Vec<_> =
                rows.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
            reading(&rows).map(|reading| (reading.log, reading.due.log, reading.age))
        };
        let mariadb = [
            ("Innodb_checkpoint_age", "50"),
            ("Innodb_checkpoint_max_age", "200"),
            ("Innodb_lsn_current", "1000"),
        ];
        assert_eq!(rows(&mariadb), Some((1000, Some(Bytes(200)), Some(0.25))));
        let mysql = [
            ("Innodb_redo_log_capacity_resized", "400"),
            ("Innodb_redo_log_checkpoint_lsn", "900"),
            ("Innodb_redo_log_current_lsn", "1000"),
        ];
        assert_eq!(rows(&mysql), Some((1000, Some(Bytes(400)), Some(0.25))));
        assert_eq!(rows(&[]), None);
        assert_eq!(rows(&mariadb[..1]), None);
    }
}
