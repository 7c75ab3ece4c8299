//! `iolite db`: private servers, as a user starts and stops them.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]

mod common;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use iolite_model::ErrorCause;

use common::{IOLITE, is_zombie, stderr};

/// A server's directory; whatever runs there ends with it.
struct Private {
    server: &'static str,
    root: PathBuf,
    directory: PathBuf,
    mounted: bool,
}

impl Private {
    /// `None`, with the reason printed, where the server's programs are missing.
    fn new(server: &'static str) -> Option<Private> {
        // A socket's path is short, and the server's user has to get there.
        Private::called(server, "")
    }

    /// The same in a directory of this name beneath its own.
    fn called(server: &'static str, name: &str) -> Option<Private> {
        let root = tempfile::tempdir().unwrap().keep();
        std::fs::set_permissions(&root, PermissionsExt::from_mode(0o755)).unwrap();
        let private = Private { server, directory: root.join(name), root, mounted: false };
        let probed = private.db("start", &[]).output().unwrap();
        if stderr(&probed).contains("install") && !probed.status.success() {
            println!("skipped: {}", stderr(&probed));
            return None;
        }
        assert!(probed.status.success(), "{}", stderr(&probed));
        private.done("stop", &[]);
        Some(private)
    }

    /// The same in a file system of 30 MiB; `None` where none can be mounted.
    fn cramped(server: &'static str) -> Option<Private> {
        let directory = tempfile::tempdir().unwrap().keep();
        let mount = ["-t", "tmpfs", "-o", "size=30m", "tmpfs"];
        let mounted = Command::new("mount").args(mount).arg(&directory).output();
        let mounted = mounted.is_ok_and(|done| done.status.success());
        let private = Private { server, root: directory.clone(), directory, mounted };
        if !private.mounted {
            println!("skipped: no file system of a limited size can be mounted");
        }
        private.mounted.then_some(private)
    }

    fn db(&self, verb: &str, more: &[&str]) -> Command {
        let mut command = Command::new(IOLITE);
        command.args(["db", verb, self.server]).arg(&self.directory).args(more).stdin(Stdio::null());
        command
    }

    /// What it prints.
    fn done(&self, verb: &str, more: &[&str]) -> String {
        let output = self.db(verb, more).output().unwrap();
        assert!(output.status.success(), "{verb} {more:?}: {}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    fn refused(&self, verb: &str, more: &[&str]) -> String {
        let output = self.db(verb, more).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{verb} {more:?}: {}", stderr(&output));
        stderr(&output)
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        // Most often there is nothing left to stop.
        let _ = self.db("stop", &[]).output();
        if self.mounted {
            let _ = Command::new("umount").arg(&self.directory).status();
        }
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

fn url(printed: &str) -> String {
    printed.lines().next().unwrap().to_owned()
}

/// Whether a database is reached by this URL: one that was never set up says so.
fn reaches(url: &str) -> bool {
    let asked = Command::new(IOLITE).args(["ranread", "get-sizes", "--db", url]).output().unwrap();
    let message = stderr(&asked);
    assert!(message.contains("no database in"), "{message}");
    true
}

/// Checks that the remedy of a cause is named. docs/errors.md lists each call as the test of that cause.
fn produced(cause: ErrorCause, text: &str) {
    assert!(text.contains(cause.remedy()), "{cause:?}: {text}");
}

/// While another process holds the directory, as a start does.
fn waits_for_no_other_start(server: &'static str) {
    let Some(private) = Private::new(server) else { return };
    let directory = std::fs::File::open(&private.directory).unwrap();
    directory.lock().unwrap();
    produced(ErrorCause::PrivateBusy, &private.refused("start", &[]));
    directory.unlock().unwrap();
}

#[test]
fn a_directory_in_which_another_start_goes_on_is_refused() {
    waits_for_no_other_start("postgres");
    waits_for_no_other_start("mariadb");
}

/// `iolite db start` where no server is installed: in a mount namespace of its own, with nothing where servers are.
fn start_where_none_is_installed(server: &str) -> Option<String> {
    let directory = tempfile::tempdir().unwrap();
    let hide = "for place in /usr/lib/postgresql /usr/sbin /usr/local/sbin /usr/libexec /usr/bin; do \
                [ ! -d $place ] || mount -t tmpfs tmpfs $place || exit 99; done; PATH=/nonexistent; export PATH; exec \"$0\" \"$@\"";
    let mut hidden = Command::new("unshare");
    hidden.args(["--mount", "sh", "-c", hide, IOLITE, "db", "start", server]).arg(directory.path());
    let output = hidden.stdin(Stdio::null()).output().unwrap();
    if !matches!(output.status.code(), Some(1 | 2)) {
        println!("skipped: a server that is installed cannot be hidden here: {}", stderr(&output));
        return None;
    }
    Some(stderr(&output))
}

#[test]
fn servers_that_are_not_installed_have_their_remedy() {
    if let Some(text) = start_where_none_is_installed("postgres") {
        produced(ErrorCause::PrivatePostgresMissing, &text);
    }
    if let Some(text) = start_where_none_is_installed("mariadb") {
        produced(ErrorCause::PrivateMariadbMissing, &text);
    }
}

#[test]
fn a_block_size_of_postgresql_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let mut start = Command::new(IOLITE);
    start.args(["db", "start", "postgres", "--block-size", "16KiB"]).arg(directory.path());
    let output = start.stdin(Stdio::null()).output().unwrap();
    assert!(matches!(output.status.code(), Some(1 | 2)), "{}", stderr(&output));
    produced(ErrorCause::PrivateBlockSizeFixed, &stderr(&output));
}

#[test]
fn waits_of_postgresql_need_no_option() {
    let directory = tempfile::tempdir().unwrap();
    let mut start = Command::new(IOLITE);
    start.args(["db", "start", "postgres", "--performance-schema"]).arg(directory.path());
    let output = start.stdin(Stdio::null()).output().unwrap();
    assert!(matches!(output.status.code(), Some(1 | 2)), "{}", stderr(&output));
    produced(ErrorCause::PrivateAlwaysInstrumented, &stderr(&output));
}

#[test]
fn a_server_that_does_not_start_is_reported_with_where_to_look() {
    if let Some(private) = Private::new("postgres") {
        let main = private.directory.join("data/postgresql.conf");
        std::fs::write(&main, "there_is_no_such_setting = on\n").unwrap();
        produced(ErrorCause::PrivateLog, &private.refused("start", &[]));
    }
    if let Some(private) = Private::new("mariadb") {
        let system = private.directory.join("data/ibdata1");
        std::fs::write(&system, "damaged").unwrap();
        produced(ErrorCause::PrivateLog, &private.refused("start", &[]));
    }
}

/// Root's own home is such a directory.
#[test]
fn a_directory_that_the_servers_user_cannot_enter_is_named() {
    if !common::is_root() {
        return println!("skipped: only root starts servers as another user");
    }
    for server in ["postgres", "mariadb"] {
        let Some(private) = Private::called(server, "there") else { continue };
        std::fs::remove_dir_all(&private.directory).unwrap();
        std::fs::set_permissions(&private.root, PermissionsExt::from_mode(0o700)).unwrap();
        let refused = private.refused("start", &[]);
        produced(ErrorCause::PrivateUnreachable, &refused);
        assert!(refused.contains(&format!("may not enter {};", private.root.display())), "{refused}");
        // It can be used as soon as that is permitted.
        std::fs::set_permissions(&private.root, PermissionsExt::from_mode(0o755)).unwrap();
        private.done("start", &[]);
        private.done("stop", &[]);
    }
}

/// What `get-sizes` answers to this user, whose home has these files, and what it warns of.
fn asked(home: &Path, url: &str, variables: &[(&str, &str)]) -> String {
    let mut command = Command::new(IOLITE);
    command.args(["ranread", "get-sizes", "--db", url]).env("HOME", home).stdin(Stdio::null());
    for name in ["PGPASSWORD", "PGPASSFILE", "PGSERVICE", "PGSERVICEFILE", "PGUSER", "PGHOST", "PGPORT"] {
        command.env_remove(name);
    }
    stderr(&command.envs(variables.iter().copied()).output().unwrap())
}

/// A file of this user with these permissions.
fn keep(home: &Path, name: &str, text: &str, mode: u32) {
    std::fs::write(home.join(name), text).unwrap();
    std::fs::set_permissions(home.join(name), PermissionsExt::from_mode(mode)).unwrap();
}

/// Host and port, user, password of a private server's URL.
fn parts(url: &str) -> [String; 4] {
    let rest = url.split("://").nth(1).unwrap();
    let (login, rest) = rest.split_once('@').unwrap();
    let (user, password) = login.split_once(':').unwrap();
    let (host, port) = rest.split('/').next().unwrap().split_once(':').unwrap();
    [host, port, user, password].map(str::to_owned)
}

const REACHED: &str = "no database in";

#[test]
fn files_of_the_clients_of_postgresql_are_read_as_they_read_them() {
    let Some(private) = Private::new("postgres") else { return };
    let [host, port, user, password] = parts(&url(&private.done("start", &["--port"])));
    let home = tempfile::tempdir().unwrap();
    let without = format!("postgres://{user}@{host}:{port}/iolite");
    produced(ErrorCause::PgNoPassword, &asked(home.path(), &without, &[]));
    let line = format!("# mine\n{host}:{port}:*:{user}:{password}\n");
    keep(home.path(), ".pgpass", &line, 0o600);
    assert!(asked(home.path(), &without, &[]).contains(REACHED));
    keep(home.path(), ".pgpass", &line, 0o640);
    let ignored = asked(home.path(), &without, &[]);
    assert!(ignored.contains("chmod 0600"), "{ignored}");
    produced(ErrorCause::PgNoPassword, &ignored);
    keep(home.path(), ".pgpass", &line.replace(&password, "wrong"), 0o600);
    produced(ErrorCause::PgLogin, &asked(home.path(), &without, &[]));
    std::fs::remove_file(home.path().join(".pgpass")).unwrap();

    let service =
        format!("[mine]\nhost={host}\nport={port}\nuser={user}\npassword={password}\ndbname=iolite\n");
    keep(home.path(), ".pg_service.conf", &service, 0o600);
    for (url, variables) in
        [("postgres:///?service=mine", &[][..]), ("postgres:///iolite", &[("PGSERVICE", "mine")])]
    {
        assert!(asked(home.path(), url, variables).contains(REACHED), "{url}");
    }
    let unknown = asked(home.path(), "postgres:///?service=other", &[]);
    assert!(unknown.contains("no service `other`"), "{unknown}");
    let moved = home.path().join("elsewhere");
    std::fs::rename(home.path().join(".pg_service.conf"), &moved).unwrap();
    let named = [("PGSERVICEFILE", moved.to_str().unwrap())];
    assert!(asked(home.path(), "postgres:///?service=mine", &named).contains(REACHED));
    let variables = [("PGHOST", &*host), ("PGPORT", &*port), ("PGUSER", &*user), ("PGPASSWORD", &*password)];
    assert!(asked(home.path(), "postgres:///iolite", &variables).contains(REACHED));
}

#[test]
fn the_option_file_of_the_clients_of_mariadb_is_read_as_they_read_it() {
    let Some(private) = Private::new("mariadb") else { return };
    let [host, port, user, password] = parts(&url(&private.done("start", &["--port"])));
    let home = tempfile::tempdir().unwrap();
    let file = format!("[client]\nuser={user}\npassword='{password}'\nhost={host}\nport={port}\n");
    keep(home.path(), ".my.cnf", &file, 0o600);
    let reached = asked(home.path(), "mysql:///iolite", &[]);
    assert!(reached.contains(REACHED), "{reached}");
    keep(home.path(), ".my.cnf", &file, 0o602);
    let ignored = asked(home.path(), &format!("mysql://{user}@{host}:{port}/iolite"), &[]);
    assert!(ignored.contains("chmod 0600") && !ignored.contains(REACHED), "{ignored}");
    keep(home.path(), ".my.cnf", &file.replace(&password, "wrong"), 0o600);
    let wrong = asked(home.path(), "mysql:///iolite", &[]);
    assert!(wrong.contains("Access denied") && !wrong.contains(&password), "{wrong}");
}

fn starts_and_stops(server: &'static str) {
    let Some(private) = Private::new(server) else { return };
    let first = private.done("start", &[]);
    assert!(first.contains("is running as process") && reaches(&url(&first)), "{first}");
    let again = private.done("start", &[]);
    assert!(again.contains("is already running as process") && url(&again) == url(&first), "{again}");
    let portless = private.refused("start", &["--port"]);
    assert!(portless.contains("without a port") && portless.contains("db stop"), "{portless}");
    assert_eq!(private.done("stop", &[]), "stopped\n");
    let gone = private.refused("stop", &[]);
    assert!(gone.contains("none runs there"), "{gone}");

    let with_port = private.done("start", &["--port"]);
    assert!(url(&with_port).contains("@127.0.0.1:") && reaches(&url(&with_port)), "{with_port}");
    assert_eq!(url(&private.done("start", &[])), url(&with_port), "printed again");
    private.done("stop", &[]);
    let later = private.done("start", &["--port"]);
    assert_eq!(url(&later), url(&with_port), "the URL stays from start to start");
}

fn two_starts_at_once(server: &'static str) {
    let Some(private) = Private::new(server) else { return };
    let start = || private.db("start", &[]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let both: Vec<Output> =
        [start(), start()].map(|child| child.wait_with_output().unwrap()).into_iter().collect();
    let started = both.iter().filter(|output| output.status.success()).count();
    assert!(started >= 1, "{}", both.iter().map(stderr).collect::<String>());
    for output in both.iter().filter(|output| !output.status.success()) {
        assert!(
            stderr(output).contains("another iolite") || stderr(output).contains("one runs there already")
        );
    }
    assert!(reaches(&url(&private.done("start", &[]))));
}

fn has_no_room(server: &'static str) {
    let Some(private) = Private::cramped(server) else { return };
    let output = private.db("start", &[]).output().unwrap();
    if stderr(&output).contains("install") {
        return println!("skipped: {}", stderr(&output));
    }
    produced(ErrorCause::PrivateSpace, &stderr(&output));
    assert!(!Path::new(&private.directory).join("data").exists(), "nothing half made");
}

#[test]
fn postgresql_starts_and_stops() {
    starts_and_stops("postgres");
}

#[test]
fn mariadb_starts_and_stops() {
    starts_and_stops("mariadb");
}

#[test]
fn one_postgresql_in_a_directory() {
    two_starts_at_once("postgres");
}

#[test]
fn one_mariadb_in_a_directory() {
    two_starts_at_once("mariadb");
}

#[test]
fn no_room_for_postgresql() {
    has_no_room("postgres");
}

#[test]
fn no_room_for_mariadb() {
    has_no_room("mariadb");
}

/// Names that programs and settings may take for two, or for something else.
fn starts_in_an_odd_directory(server: &'static str) {
    let Some(private) = Private::called(server, "my \"own\" it's") else { return };
    let started = private.done("start", &[]);
    assert!(reaches(&url(&started)), "{started}");
    assert_eq!(private.done("stop", &[]), "stopped\n");
}

fn is_started_anew_after_a_crash(server: &'static str) {
    let Some(private) = Private::new(server) else { return };
    let first = private.done("start", &[]);
    let process = first.split("as process ").nth(1).unwrap().split(';').next().unwrap();
    assert!(Command::new("kill").args(["-9", process]).status().unwrap().success());
    // Its process is a zombie for a while, and what is left of it may still hold its memory.
    let until = Instant::now() + Duration::from_secs(60);
    while Path::new(&format!("/proc/{process}")).exists() && !is_zombie(process) {
        assert!(Instant::now() < until, "process {process} does not end after SIGKILL");
        std::thread::yield_now();
    }
    let again = loop {
        let output = private.db("start", &[]).output().unwrap();
        if output.status.success() {
            break String::from_utf8(output.stdout).unwrap();
        }
        if Instant::now() > until && is_zombie(process) {
            return println!("skipped: process 1 takes no notice of orphans that have ended");
        }
        assert!(Instant::now() < until, "{}", stderr(&output));
    };
    assert!(again.contains("is running as process") && reaches(&url(&again)), "{again}");
}

#[test]
fn postgresql_in_an_odd_directory() {
    starts_in_an_odd_directory("postgres");
}

#[test]
fn mariadb_in_an_odd_directory() {
    starts_in_an_odd_directory("mariadb");
}

#[test]
fn postgresql_after_a_crash() {
    is_started_anew_after_a_crash("postgres");
}

#[test]
fn mariadb_after_a_crash() {
    is_started_anew_after_a_crash("mariadb");
}
