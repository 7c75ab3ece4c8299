//! Where writes go besides InnoDB's own files: the binary log, replicas, the nodes of a cluster.

use crate::mysql::rows::Rows;
use iolite_model::LogCopy;
use mysql::Conn;
use mysql::prelude::Queryable;

use super::Context;
use super::connect::code;

/// Keeps what this session writes out of the binary log; whether this role may.
///
/// # Errors
/// The server's, for another reason.
pub fn skip_binary_log(conn: &mut Conn) -> mysql::Result<bool> {
    match conn.query_drop("SET SESSION sql_log_bin = 0") {
        Ok(()) => Ok(true),
        // A privilege is missing (BINLOG ADMIN, SUPER; in MySQL SESSION_VARIABLES_ADMIN).
        Err(error) if matches!(code(&error), Some(1227 | 1142)) => Ok(false),
        Err(error) => Err(error),
    }
}

/// As [`Instance::log_copies`](crate::Instance::log_copies).
pub(super) fn log_copies(context: &Context, conn: &mut Conn) -> mysql::Result<Vec<LogCopy>> {
    let mut copies = Vec::new();
    if context.facts.is_cluster_node() {
        let nodes = status(conn, "wsrep_cluster_size")?.unwrap_or(1);
        copies.push(LogCopy::Cluster { nodes });
    }
    if context.facts.has_binary_log() {
        let replicas = replicas(conn)?;
        // In a cluster the setting would keep rows from the other nodes, which then differ.
        let skippable = !context.facts.is_cluster_node() && skip_binary_log(conn)?;
        copies.push(LogCopy::BinaryLog { replicas, skippable });
    }
    Ok(copies)
}

/// Replicas that are connected: MariaDB counts them for everybody, others show their sessions to those with PROCESS.
fn replicas(conn: &mut Conn) -> mysql::Result<u32> {
    if let Some(count) = status(conn, "Slaves_connected")? {
        return Ok(count);
    }
    let sql = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog Dump%'";
    Ok(conn.query_row(sql)?.unwrap_or(0))
}

fn status(conn: &mut Conn, name: &str) -> mysql::Result<Option<u32>> {
    let row: Option<(String, String)> = conn.query_row(format!("SHOW GLOBAL STATUS LIKE '{name}'"))?;
    Ok(row.and_then(|(_, value)| value.parse().ok()))
}
