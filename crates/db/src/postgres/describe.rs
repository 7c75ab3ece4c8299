//! What results state of the server.

use iolite_model::{Bytes, Durability};
use postgres::Client;

use super::Build;
use super::connect::Target;
use crate::error::Result;
use crate::instance::Description;

/// Settings that determine the figures, as far as this version has them.
const SETTINGS: &[&str] = &[
    "fsync",
    "synchronous_commit",
    "full_page_writes",
    "wal_sync_method",
    "wal_level",
    "wal_compression",
    "wal_buffers",
    "commit_delay",
    "data_checksums",
    "shared_buffers",
    "max_wal_size",
    "checkpoint_timeout",
    "checkpoint_completion_target",
    "checkpoint_flush_after",
    "bgwriter_delay",
    "bgwriter_lru_maxpages",
    "synchronous_standby_names",
    "debug_io_direct",
    "io_method",
    "autovacuum",
    "archive_mode",
];

/// As [`Instance::describe`](crate::Instance::describe).
pub(super) fn describe(target: &Target, durability: Durability) -> Result<Description> {
    let mut client = target.connect()?;
    let block = Build::ask(target, &mut client)?.block;
    let failed = |e| target.failed("ask the settings of", e);
    let sql = "SELECT name, current_setting(name, true) FROM unnest($1::text[]) WITH ORDINALITY u (name, n) \
               WHERE current_setting(name, true) <> '' ORDER BY n";
    let rows = client.query(sql, &[&SETTINGS]).map_err(failed)?;
    let mut settings: Vec<(String, String)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    let value = |name: &str| {
        settings.iter().find(|setting| setting.0 == name).map(|setting| setting.1.clone()).unwrap_or_default()
    };
    let version: String =
        client.query_one("SELECT current_setting('server_version')", &[]).map_err(failed)?.get(0);
    let durability = durable_by(durability, &value);
    let checkpoint =
        if may_checkpoint(&mut client).map_err(failed)? { "yes" } else { "not permitted to this role" };
    settings.push(("checkpoint before a run".to_owned(), checkpoint.to_owned()));
    settings.push(("connection".to_owned(), connection(target, &mut client)));
    Ok(Description {
        engine: "PostgreSQL".to_owned(),
        version,
        namespace: target.database().to_owned(),
        block: Bytes(block),
        durability,
        settings,
    })
}

/// What makes commits durable, or doesn't.
fn durable_by(wanted: Durability, value: &dyn Fn(&str) -> String) -> String {
    let mut text = match wanted {
        Durability::Full => {
            format!("synchronous_commit=on: the write-ahead log is synchronised by {} at each commit", value("wal_sync_method"))
        }
        Durability::Relaxed => {
            "synchronous_commit=off: the write-ahead log is written and synchronised a moment later (wal_writer_delay)"
                .to_owned()
        }
        Durability::AsConfigured => {
            format!("as the server is configured: synchronous_commit={}", value("synchronous_commit"))
        }
    };
    text = format!("{text}; fsync={}, full_page_writes={}", value("fsync"), value("full_page_writes"));
    if value("fsync") == "off" {
        text.push_str(": a crash of the host may destroy the database");
    } else if value("full_page_writes") == "off" {
        text.push_str(": a crash of the host may tear blocks, unless the storage writes them in one piece");
    }
    text
}

/// How connections reach the server: client-timed operations bear the encryption's time.
fn connection(target: &Target, client: &mut Client) -> String {
    if target.unix_socket() {
        return "unix socket".to_owned();
    }
    let sql = "SELECT version || ' ' || cipher FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl";
    match client.query_opt(sql, &[]) {
        Ok(Some(row)) => row.get(0),
        _ => "TCP, not encrypted".to_owned(),
    }
}

fn may_checkpoint(client: &mut Client) -> std::result::Result<bool, postgres::Error> {
    let sql = "SELECT rolsuper OR EXISTS (SELECT FROM pg_roles c WHERE c.rolname = 'pg_checkpoint' \
               AND pg_has_role(current_user, c.oid, 'usage')) FROM pg_roles WHERE rolname = current_user";
    Ok(client.query_one(sql, &[])?.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durability_says_what_is_set() {
        let server = |fsync: &'static str, pages: &'static str| {
            move |name: &str| {
                match name {
                    "fsync" => fsync,
                    "full_page_writes" => pages,
                    _ => "fdatasync",
                }
                .to_owned()
            }
        };
        let full = durable_by(Durability::Full, &server("on", "on"));
        assert!(full.starts_with("synchronous_commit=on") && full.ends_with("full_page_writes=on"), "{full}");
        assert!(full.contains("fdatasync"));
        assert!(durable_by(Durability::Full, &server("on", "off")).contains("tear"));
        let relaxed = durable_by(Durability::Relaxed, &server("off", "on"));
        assert!(relaxed.starts_with("synchronous_commit=off") && relaxed.contains("destroy"), "{relaxed}");
    }
}
