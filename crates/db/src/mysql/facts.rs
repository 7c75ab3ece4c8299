//! What a server is and how it is set: version, page size, what a commit makes durable, where its files are.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::mysql::rows::Rows;
use iolite_model::{Bytes, Durability, ErrorCause};
use mysql::Conn;

use super::connect::Target;
use super::version::Version;
use crate::error::{Error, Result};
use crate::instance::{Description, Files};
use crate::server_process;

/// The settings that determine what we do and what the results say.
const VARIABLES: [&str; 28] = [
    "datadir",
    "hostname",
    "innodb_buffer_pool_size",
    "innodb_checksum_algorithm",
    "innodb_data_file_buffering",
    "innodb_data_home_dir",
    "innodb_doublewrite",
    "innodb_file_per_table",
    "innodb_flush_log_at_timeout",
    "innodb_flush_log_at_trx_commit",
    "innodb_flush_method",
    "innodb_io_capacity",
    "innodb_io_capacity_max",
    "innodb_log_file_buffering",
    "innodb_log_file_size",
    "innodb_log_group_home_dir",
    "innodb_lru_scan_depth",
    "innodb_page_size",
    "innodb_random_read_ahead",
    "innodb_redo_log_capacity",
    "innodb_use_native_aio",
    "local_infile",
    "log_bin",
    "lower_case_table_names",
    "max_allowed_packet",
    "pid_file",
    "sync_binlog",
    "wsrep_on",
];
/// Those of them that say where and how we connect, and are no settings of a measurement.
const UNSAID: [&str; 8] = [
    "datadir",
    "hostname",
    "innodb_data_home_dir",
    "innodb_log_group_home_dir",
    "local_infile",
    "lower_case_table_names",
    "max_allowed_packet",
    "pid_file",
];

/// A server's version and settings.
#[derive(Debug)]
pub struct Facts {
    /// Which server.
    pub version: Version,
    variables: HashMap<String, String>,
}

impl Facts {
    /// Asks the server.
    ///
    /// # Errors
    /// The server's.
    pub fn of(conn: &mut Conn) -> mysql::Result<Facts> {
        let names = VARIABLES.map(|name| format!("'{name}'")).join(", ");
        let rows = conn.query_rows::<(String, String)>(format!(
            "SHOW GLOBAL VARIABLES WHERE Variable_name IN ({names})"
        ))?;
        let variables = rows.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value)).collect();
        Ok(Facts { version: Version::of(conn)?, variables })
    }

    fn text(&self, name: &str) -> &str {
        self.variables.get(name).map_or("", String::as_str)
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.text(name).parse().ok()
    }

    fn is_on(&self, name: &str) -> bool {
        matches!(self.text(name).to_ascii_uppercase().as_str(), "ON" | "1" | "YES" | "TRUE")
    }

    /// InnoDB's page size.
    pub fn page(&self) -> u64 {
        self.number("innodb_page_size").unwrap_or(16 << 10)
    }

    /// Whether the server may take a file's contents from us.
    pub fn takes_infile(&self) -> bool {
        self.is_on("local_infile")
    }

    /// Most bytes of one statement.
    pub fn packet(&self) -> u64 {
        self.number("max_allowed_packet").unwrap_or(1 << 20)
    }

    /// Whether names of tables are case-insensitive.
    pub fn folds_names(&self) -> bool {
        self.number("lower_case_table_names").is_some_and(|how| how != 0)
    }

    /// Whether data files are read and written past the page cache.
    pub fn is_direct(&self) -> bool {
        match self.text("innodb_data_file_buffering") {
            // MariaDB 11 has a variable of its own for that.
            "" => self.text("innodb_flush_method").to_ascii_uppercase().contains("O_DIRECT"),
            _ => !self.is_on("innodb_data_file_buffering"),
        }
    }

    /// # Errors
    /// [`Error::Unsupported`] with the statement to execute, when commits on this server would do more or less than
    /// `durability`.
    pub fn check(&self, durability: Durability) -> Result<()> {
        let database = self.version.engine();
        let refuse = |what, remedy| Err(Error::Unsupported { database, what, remedy });
        let at_commit = self.text("innodb_flush_log_at_trx_commit");
        match durability {
            Durability::Full if !matches!(at_commit, "1" | "3") => {
                refuse("make each commit durable as this server is set", ErrorCause::MyNotDurable)
            }
            Durability::Full if self.text("innodb_flush_method").eq_ignore_ascii_case("nosync") => {
                refuse("make anything durable as this server is set", ErrorCause::MyNeverSynced)
            }
            Durability::Full if self.is_on("log_bin") && self.text("sync_binlog") != "1" => refuse(
                "make each commit durable as this server is set: its binary log is not synced",
                ErrorCause::MyBinaryLogNotSynced,
            ),
            Durability::Relaxed if matches!(at_commit, "1" | "3") => refuse(
                "relax the durability of single sessions: the variable is global",
                ErrorCause::MyNotRelaxed,
            ),
            _ => Ok(()),
        }
    }

    /// Whether there is a binary log.
    pub fn has_binary_log(&self) -> bool {
        self.is_on("log_bin")
    }

    /// Whether pages are written twice (doublewrite buffer).
    pub fn writes_twice(&self) -> bool {
        !matches!(self.text("innodb_doublewrite").to_ascii_uppercase().as_str(), "OFF" | "0")
    }

    /// Whether it is a node of a Galera cluster.
    pub fn is_cluster_node(&self) -> bool {
        self.is_on("wsrep_on")
    }

    /// What a commit does, with the settings, and which crash may lose it.
    fn durability(&self) -> String {
        let at_commit = self.text("innodb_flush_log_at_trx_commit");
        let often = match self.number("innodb_flush_log_at_timeout") {
            Some(seconds) if seconds > 1 => format!("every {seconds} s"),
            _ => "about once a second".to_owned(),
        };
        let what = match at_commit {
            "0" => format!("the redo log is written and synced {often}, not at commits"),
            "2" => format!("each commit writes the redo log, which is synced {often}"),
            _ => "each commit writes the redo log and syncs it; sessions that commit at once share a sync"
                .into(),
        };
        let mut text = format!("{what} (innodb_flush_log_at_trx_commit={at_commit})");
        if self.is_on("log_bin") {
            let synced = match self.text("sync_binlog") {
                "0" => "synced when the operating system writes it out".to_owned(),
                "1" => "synced at each commit".to_owned(),
                n => format!("synced once for {n} commits"),
            };
            text += &format!("; binary log on, {synced} (sync_binlog={})", self.text("sync_binlog"));
        }
        text += &format!("; {}", self.survives());
        if !self.writes_twice() {
            text += "; innodb_doublewrite=OFF: a crash of the host may tear pages, unless the storage writes them in one piece";
        }
        text
    }

    /// Which crash may lose a commit that was acknowledged.
    fn survives(&self) -> String {
        let unsynced = self.text("innodb_flush_method").eq_ignore_ascii_case("nosync");
        let lag = match self.number("innodb_flush_log_at_timeout") {
            Some(seconds) if seconds > 1 => format!("{seconds} s"),
            _ => "second".to_owned(),
        };
        let binary_log = self.is_on("log_bin") && self.text("sync_binlog") != "1";
        match self.text("innodb_flush_log_at_trx_commit") {
            _ if unsynced => "a crash of the host may lose commits and damage the database (innodb_flush_method=nosync)".into(),
            "0" => format!("a crash of the server or of the host may lose the commits of the last {lag} or more"),
            "2" => format!("a crash of the server loses no commit, one of the host the commits of the last {lag} or more"),
            "3" if binary_log => {
                "a crash of the server or of the host loses no commit, but one of the host may lose commits from the binary log, so \
                 that replicas differ"
                    .into()
            }
            // The commit itself is then not synced: recovery decides by the binary log what was prepared and is to be committed.
            _ if binary_log => {
                "a crash of the server loses no commit; one of the host may lose the last ones, because recovery rolls back what the \
                 binary log lacks"
                    .into()
            }
            _ => "a crash of the server or of the host loses no commit".into(),
        }
    }

    /// See [`Instance::describe`](crate::Instance::describe).
    pub(super) fn describe(&self, target: &Target, durability: Durability) -> Description {
        let known = |name: &&str| !UNSAID.contains(name) && self.variables.contains_key(*name);
        let settings = VARIABLES
            .into_iter()
            .filter(known)
            .map(|name| (name.to_owned(), self.text(name).to_owned()))
            .collect();
        Description {
            engine: self.version.engine().to_owned(),
            version: self.version.text.clone(),
            namespace: target.schema.clone(),
            block: Bytes(self.page()),
            durability: match durability {
                Durability::AsConfigured => format!("as the server is configured: {}", self.durability()),
                Durability::Full | Durability::Relaxed => self.durability(),
            },
            settings,
        }
    }

    /// Where data and log are, if this host is the server's.
    pub fn files(&self, target: &Target) -> Files {
        let here = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let base = PathBuf::from(self.text("datadir"));
        if !target.is_local() || self.text("hostname") != here || !base.is_dir() {
            return Files { here: target.is_local() && self.text("hostname") == here, ..Files::default() };
        }
        let log = base.join(Path::new(self.text("innodb_log_group_home_dir")));
        let number = fs::read_to_string(base.join(self.text("pid_file"))).ok();
        let process = number.and_then(|number| number.trim().parse().ok());
        let process = process.and_then(|process| server_process::working_in(process, &base));
        // Where each table has a file of its own, it is under datadir, wherever InnoDB's common file is.
        let data = match self.is_on("innodb_file_per_table") {
            true => base,
            false => base.join(Path::new(self.text("innodb_data_home_dir"))),
        };
        Files { here: true, data: Some(data), log: log.is_dir().then_some(log), unseen: None, process }
    }
}

#[cfg(test)]
mod tests {
    use iolite_model::ErrorCause;

    use super::*;

    /// docs/errors.md lists each call as the test of that cause.
    fn produced(cause: ErrorCause, error: &Error) {
        assert!(error.to_string().contains(cause.remedy()), "{error}");
    }

    #[test]
    fn versions_are_read_and_old_ones_refused() {
        for (text, engine, fine) in [
            ("10.11.19-MariaDB-0+deb12u1", "MariaDB", true),
            ("10.5.0-MariaDB", "MariaDB", true),
            ("5.5.5-10.6.12-MariaDB-log", "MariaDB", true),
            ("11.4.2-MariaDB-ubu2404", "MariaDB", true),
            ("10.4.34-MariaDB-log", "MariaDB", false),
            ("5.5.68-MariaDB", "MariaDB", false),
            ("8.0.36", "MySQL", true),
            ("8.4.0-commercial", "MySQL", true),
            ("9.1.0", "MySQL", true),
            ("5.7.44-log", "MySQL", false),
            ("", "MySQL", false),
        ] {
            let version = Version::parse(text);
            assert_eq!(version.engine(), engine, "{text}");
            let checked = version.check("there");
            assert_eq!(checked.is_ok(), fine, "{text}");
            if let Err(error) = checked {
                assert!(matches!(error, Error::TooOld { .. }) && error.to_string().contains(text), "{error}");
                produced(ErrorCause::MyTooOld, &error);
            }
        }
    }

    fn facts(variables: &[(&str, &str)]) -> Facts {
        let variables = variables.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        Facts { version: Version::parse("10.11.1-MariaDB"), variables }
    }

    #[test]
    fn what_is_not_as_durable_as_asked_is_refused_with_the_statement() {
        let commit = "innodb_flush_log_at_trx_commit";
        let check = |variables: &[(&str, &str)], durability| facts(variables).check(durability);
        check(&[(commit, "1"), ("log_bin", "OFF"), ("sync_binlog", "0")], Durability::Full).unwrap();
        check(&[(commit, "1"), ("log_bin", "ON"), ("sync_binlog", "1")], Durability::Full).unwrap();
        check(&[(commit, "2")], Durability::Relaxed).unwrap();
        check(&[(commit, "0")], Durability::Relaxed).unwrap();
        let refusal = |variables: &[(&str, &str)], durability| check(variables, durability).unwrap_err();
        for variables in [&[(commit, "2")][..], &[(commit, "0")], &[]] {
            produced(ErrorCause::MyNotDurable, &refusal(variables, Durability::Full));
        }
        let binary_log = [(commit, "1"), ("log_bin", "ON"), ("sync_binlog", "0")];
        produced(ErrorCause::MyBinaryLogNotSynced, &refusal(&binary_log, Durability::Full));
        let unsynced = [(commit, "1"), ("innodb_flush_method", "nosync")];
        produced(ErrorCause::MyNeverSynced, &refusal(&unsynced, Durability::Full));
        produced(ErrorCause::MyNotRelaxed, &refusal(&[(commit, "1")], Durability::Relaxed));
    }

    #[test]
    fn which_crash_may_lose_a_commit_follows_from_the_settings() {
        let says = |commit: &str, more: &[(&str, &str)]| {
            let mut variables = vec![("innodb_flush_log_at_trx_commit", commit)];
            variables.extend(more);
            facts(&variables).durability()
        };
        let binary_log = |synced| [("log_bin", "ON"), ("sync_binlog", synced)];
        let none = "a crash of the server or of the host loses no commit";
        assert!(says("1", &[]).ends_with(none));
        assert!(says("1", &binary_log("1")).ends_with(none));
        // The defaults of MariaDB with a binary log.
        let defaults = says("1", &binary_log("0"));
        assert!(
            defaults.contains("synced when the operating system writes it out (sync_binlog=0)"),
            "{defaults}"
        );
        assert!(defaults.contains("one of the host may lose the last ones"), "{defaults}");
        assert!(says("3", &binary_log("0")).contains("replicas differ"));
        assert!(says("2", &[]).contains("one of the host the commits of the last second"));
        assert!(
            says("0", &[("innodb_flush_log_at_timeout", "5")])
                .contains("the server or of the host may lose the commits of the last 5 s")
        );
        assert!(says("1", &[("innodb_doublewrite", "OFF")]).contains("tear pages"));
        assert!(says("1", &[("innodb_flush_method", "nosync")]).contains("damage the database"));
    }

    #[test]
    fn direct_io_is_known_by_either_name() {
        for (variables, direct) in [
            (vec![("innodb_flush_method", "O_DIRECT")], true),
            (vec![("innodb_flush_method", "O_DIRECT_NO_FSYNC")], true),
            (vec![("innodb_flush_method", "fsync")], false),
            (vec![("innodb_flush_method", "fsync"), ("innodb_data_file_buffering", "OFF")], true),
            (vec![("innodb_flush_method", "O_DIRECT"), ("innodb_data_file_buffering", "ON")], false),
            (vec![], false),
        ] {
            assert_eq!(facts(&variables).is_direct(), direct, "{variables:?}");
        }
    }
}
