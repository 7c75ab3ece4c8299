//! Causes of failures inside SQLite, of missing installations and of witnesses, produced, and the remedy that the program names.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use iolite_model::ErrorCause;

use crate::common::{IOLITE, TestDirectory, is_root, skip, stderr};
use crate::file_system::Faulty;
use crate::fuse::{Cached, Call, Fault, Rule};
use crate::{ended_by_itself, injected, nothing_is_lost};

/// A command of a database in `directory`, with its results beside the directory of the test.
fn ran(place: &TestDirectory, verb: &str, command: &str, directory: &Path, more: &[&str]) -> Command {
    let mut ran = Command::new(IOLITE);
    ran.arg(verb).arg(command).arg("--db").arg(format!("sqlite:{}", directory.display())).args(more);
    if command == "run" {
        ran.arg("--results").arg(place.results());
    }
    ran.stdin(Stdio::null()).env("NO_COLOR", "1");
    ran
}

fn done(mut command: Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
}

/// Checks that what a command prints names the remedy. docs/errors.md lists each call as the test of that cause.
fn produced(cause: ErrorCause, output: &Output) {
    injected("causes of errors", 1);
    ended_by_itself(output);
    assert_ne!(output.status.code(), Some(0), "{cause:?}");
    let text = stderr(output) + &String::from_utf8_lossy(&output.stdout);
    // Tables are wrapped.
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(cause.remedy()), "{cause:?}: {text}");
}

/// Blocks and a global, in the directory of the test.
fn set_up(place: &TestDirectory, directory: &Path) {
    done(ran(place, "ranread", "setup", directory, &["--size", "4MiB"]));
    let small = ["--globals", "1", "--subscripts", "1000"];
    done(ran(place, "ranwrite", "create-globals", directory, &small));
}

const SHORT: [&str; 4] = ["--iterations", "1000", "--hang", "0s"];

#[test]
fn what_sqlite_refuses_has_the_remedy_of_its_cause() {
    let place = TestDirectory::new();
    set_up(&place, &place.data());
    let globals = place.data().join("RanWriteGlobal1.db");
    let other = rusqlite::Connection::open(&globals).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let output = ran(&place, "ranwrite", "run", &place.data(), &SHORT).output().unwrap();
    produced(ErrorCause::SqliteLocked, &output);
    other.execute_batch("ROLLBACK").unwrap();
    drop(other);
    let mut limited = Command::new("prlimit");
    let many = ran(&place, "ranread", "run", &place.data(), &["--jobs", "200", "--iterations", "10"]);
    limited.arg("--nofile=100:100").arg(many.get_program()).args(many.get_args());
    match limited.output() {
        Ok(output) => produced(ErrorCause::SqliteUnopened, &output),
        Err(error) => skip(&format!("prlimit: {error}")).unwrap_or(()),
    }
    let other = rusqlite::Connection::open(place.data().join("RanRead.db")).unwrap();
    other.execute_batch("ALTER TABLE catalogue RENAME TO moved").unwrap();
    drop(other);
    let output = ran(&place, "ranwrite", "get-sizes", &place.data(), &[]).output().unwrap();
    produced(ErrorCause::SqliteOther, &output);
    let cut = place.root.path().join("cut");
    fs::create_dir(&cut).unwrap();
    set_up(&place, &cut);
    fs::File::options().write(true).open(cut.join("RanRead.db")).unwrap().set_len(1 << 20).unwrap();
    let output = ran(&place, "ranread", "run", &cut, &SHORT[..2]).output().unwrap();
    produced(ErrorCause::SqliteDamaged, &output);
    // What it advises is possible.
    done(ran(&place, "ranread", "purge", &cut, &[]));
}

#[test]
fn a_database_of_another_user_has_its_remedy() {
    if !is_root() {
        return skip("another user's files need root to be created").unwrap_or(());
    }
    let place = TestDirectory::new();
    let mode = |mode| std::os::unix::fs::PermissionsExt::from_mode(mode);
    let directory = tempfile::Builder::new().permissions(mode(0o777)).tempdir().unwrap();
    fs::set_permissions(directory.path(), mode(0o777)).unwrap();
    let program = directory.path().join("program");
    fs::copy(IOLITE, &program).unwrap();
    set_up(&place, directory.path());
    let mut other = Command::new("setpriv");
    other.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program).args(["ranwrite", "run"]);
    other.arg("--db").arg(format!("sqlite:{}", directory.path().display())).args(&SHORT[..2]);
    other.arg("--results").arg(directory.path().join("results.db"));
    other.env("HOME", "/nonexistent").current_dir("/");
    produced(ErrorCause::SqliteNotWritable, &other.output().unwrap());
}

#[test]
fn a_database_on_storage_that_fails_has_its_remedy() {
    let Some(faulty) = Faulty::new() else { return };
    let (place, at) = (&faulty.place, faulty.directory());
    // The file system of the test has no free space to speak of, and needs none for this.
    set_up(place, &place.data());
    for name in ["RanRead.db", "RanWriteGlobal1.db"] {
        fs::copy(place.data().join(name), at.join(name)).unwrap();
    }
    faulty.disk.script().set(vec![Rule::new(Call::Sync, Fault::Error(5)).after(5)]);
    let output = ran(place, "ranwrite", "run", &at, &SHORT).output().unwrap();
    assert!(faulty.struck(0) > 0, "{}", stderr(&output));
    produced(ErrorCause::SqliteStorage, &output);
}

/// SQLite maps the index of its log. A page of it that can't be read is SIGBUS, and here an error of the storage.
#[test]
fn an_index_of_the_log_that_cannot_be_read_is_an_error_after_which_nothing_is_lost() {
    for (verb, name) in [("ranread", "RanRead.db"), ("ranwrite", "RanWriteGlobal1.db")] {
        let Some(faulty) = Faulty::new() else { return };
        let (place, at) = (&faulty.place, faulty.directory());
        set_up(place, &place.data());
        for name in ["RanRead.db", "RanWriteGlobal1.db"] {
            fs::copy(place.data().join(name), at.join(name)).unwrap();
        }
        faulty.disk.script().cache(Cached::UntilOpened);
        let mut run = ran(place, verb, "run", &at, &["--jobs", "1", "--runtime", "600s"]);
        let mut child = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        place.wait_for_intervals(&mut child, 3);
        let index = at.join(format!("{name}-shm"));
        let inode = std::os::unix::fs::MetadataExt::ino(&fs::metadata(&index).unwrap());
        faulty.disk.script().set(vec![Rule::new(Call::Read, Fault::Error(5)).of_file(inode)]);
        // Whoever opens a file of this file system has its pages dropped from the cache.
        fs::File::open(&index).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(faulty.struck(0) > 0, "{}", stderr(&output));
        produced(ErrorCause::SqliteStorage, &output);
        nothing_is_lost(place, 3);
    }
}

#[test]
fn an_installation_of_gtm_that_is_not_there_or_broken_has_its_remedy() {
    let place = TestDirectory::new();
    let gtm = |program: &mut Command, dist: Option<&Path>| {
        program
            .args(["ranread", "setup", "--size", "1MiB", "--db"])
            .arg(format!("gtm:{}", place.data().display()));
        match dist {
            Some(dist) => program.env("gtm_dist", dist),
            None => program.env_remove("gtm_dist"),
        };
        program.stdin(Stdio::null()).output().unwrap()
    };
    let nowhere = place.root.path().join("nowhere");
    produced(ErrorCause::GtmNotThere, &gtm(&mut Command::new(IOLITE), Some(&nowhere)));
    let broken = place.root.path().join("broken");
    fs::create_dir(&broken).unwrap();
    for program in ["mumps", "mupip"] {
        let program = broken.join(program);
        fs::write(&program, "#!/bin/sh\nexit 1\n").unwrap();
        fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    produced(ErrorCause::GtmBroken, &gtm(&mut Command::new(IOLITE), Some(&broken)));
    if !is_root() {
        return skip("only root can hide an installation").unwrap_or(());
    }
    // In a mount namespace of its own, there is none where installations are looked for.
    let hide = "find /usr/lib /opt /usr/local/lib -maxdepth 3 -type d '(' -iname '*gtm*' -o -iname '*yottadb*' ')' -prune | \
                while read -r found; do mount -t tmpfs tmpfs \"$found\"; done; exec \"$0\" \"$@\"";
    let mut hidden = Command::new("unshare");
    hidden.args(["--mount", "sh", "-c", hide, IOLITE]);
    produced(ErrorCause::GtmNotInstalled, &gtm(&mut hidden, None));
}

#[test]
fn a_socket_that_is_closed_to_this_user_has_its_remedy() {
    if !is_root() {
        return skip("another user's directory needs root to be created").unwrap_or(());
    }
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    let directory = tempfile::Builder::new().permissions(open).tempdir().unwrap();
    let program = directory.path().join("iolite");
    fs::copy(IOLITE, &program).unwrap();
    let closed = directory.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let closed = closed.display();
    for url in
        [format!("postgres://me@/x?host={closed}"), format!("mysql://me@localhost/x?socket={closed}/socket")]
    {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program);
        command.args(["ranread", "get-sizes", "--db", &url]).env("HOME", "/nonexistent").current_dir("/");
        produced(ErrorCause::SocketClosed, &command.output().unwrap());
    }
}

#[test]
fn a_witness_that_is_missing_or_goes_away_has_its_remedy() {
    let place = TestDirectory::new();
    let data = place.data().display().to_string();
    let durability = |arguments: &[&str]| {
        let mut command = Command::new(IOLITE);
        command
            .arg("durability")
            .args(arguments)
            .env("XDG_DATA_HOME", place.root.path())
            .stdin(Stdio::null());
        command
    };
    let nobody = ["run", &data, "--witness", "tcp://127.0.0.1:1", "--token", "x"];
    produced(ErrorCause::WitnessUnreachable, &durability(&nobody).output().unwrap());
    let notes = place.root.path().join("notes").display().to_string();
    produced(ErrorCause::WitnessFile, &durability(&["check", &notes]).output().unwrap());

    let mut witness = durability(&["witness", "--listen", "127.0.0.1:0", "--output", &notes]);
    let mut witness = witness.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(witness.stdout.take().unwrap()).lines();
    let line = lines.find_map(|line| line.ok().filter(|line| line.contains("tcp://"))).unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    let after = |word: &str| words[words.iter().position(|other| *other == word).unwrap() + 1];
    let run =
        ["run", &data, "--witness", after("--witness"), "--token", after("--token"), "--duration", "120s"];
    let mut run = durability(&run).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while fs::metadata(&notes).map_or(0, |notes| notes.len()) < 1000 {
        assert!(run.try_wait().unwrap().is_none(), "it ended before the witness did");
        std::thread::yield_now();
    }
    witness.kill().unwrap();
    witness.wait().unwrap();
    produced(ErrorCause::WitnessLost, &run.wait_with_output().unwrap());

    fs::rename(place.data(), place.root.path().join("unmounted")).unwrap();
    produced(ErrorCause::NotMounted, &durability(&["check", &notes]).output().unwrap());
    fs::rename(place.root.path().join("unmounted"), place.data()).unwrap();
}
