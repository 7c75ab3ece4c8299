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
    "wal_writer_delay",
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
            let set = value("synchronous_commit");
            format!("as the server is configured: synchronous_commit={set}: {}", commits(&set, value))
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

/// What a commit waits for by the server's own setting, and which crash may lose it.
fn commits(setting: &str, value: &dyn Fn(&str) -> String) -> String {
    let synced =
        format!("the write-ahead log is synchronised by {} at each commit", value("wal_sync_method"));
    let standbys = value("synchronous_standby_names");
    let confirmed = match setting {
        "remote_apply" => "have applied",
        "remote_write" => "have written",
        _ => "have synchronised",
    };
    match setting {
        "off" => format!(
            "the write-ahead log is written and synchronised up to three times wal_writer_delay ({}) later; a crash of the server or \
             of the host may lose the commits of that time, but damages nothing",
            value("wal_writer_delay")
        ),
        "local" => format!("{synced}; standbys are not waited for"),
        _ if standbys.is_empty() => synced,
        _ => format!("{synced}, and the standbys `{standbys}` {confirmed} it"),
    }
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

    #[test]
    fn what_is_configured_is_described_by_what_a_commit_waits_for() {
        let describe = |commit: &'static str, standbys: &'static str| {
            let value = move |name: &str| {
                match name {
                    "synchronous_commit" => commit,
                    "synchronous_standby_names" => standbys,
                    "wal_writer_delay" => "200ms",
                    "wal_sync_method" => "fdatasync",
                    _ => "on",
                }
                .to_owned()
            };
            durable_by(Durability::AsConfigured, &value)
        };
        let synced = "synchronous_commit=on: the write-ahead log is synchronised by fdatasync at each commit; fsync=on";
        assert!(describe("on", "").contains(synced));
        assert!(describe("off", "").contains("three times wal_writer_delay (200ms) later"));
        assert!(describe("remote_write", "a").contains("and the standbys `a` have written it"));
        assert!(describe("remote_apply", "a").contains("have applied"));
        assert!(describe("on", "a").contains("have synchronised"));
        assert!(describe("local", "a").contains("standbys are not waited for"));
    }
}
