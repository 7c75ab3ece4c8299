//! The writer under good and bad circumstances.

use std::process::{Command, Stdio};
use std::sync::Barrier;

use iolite_model::{Ending, ErrorCause, ReasonUnit, RunId, Statistic};

use super::*;
use crate::synthetic;

/// Names the path that the helper process of the kill test writes to.
const HELPER_PATH: &str = "IOLITE_STORE_TEST_PATH";

/// A writer whose failures end up in the returned list.
fn watched(path: &Path) -> (Writer, Arc<Mutex<Vec<String>>>) {
    let reported = Arc::new(Mutex::new(Vec::new()));
    let list = Arc::clone(&reported);
    let patience = Duration::from_millis(200);
    (Writer::start_within(path, patience, move |reason| list.lock().unwrap().push(reason)), reported)
}

fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let since = Instant::now();
    while !done() {
        assert!(since.elapsed() < Duration::from_secs(30), "{what} did not come about");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Feeds a run to a store that cannot take it all: reported once, everything accepted, everything counted.
fn fails_once(path: &Path, text: &str) -> Error {
    let (mut writer, reported) = watched(path);
    let events = synthetic::database_run("r", 1, 20);
    events.iter().for_each(|event| writer.event(event));
    wait_for("the callback", || !reported.lock().unwrap().is_empty());
    events.iter().for_each(|event| writer.event(event));
    let dropped = writer.dropped_counter();
    let error = writer.finish().unwrap_err();
    let reported = reported.lock().unwrap();
    assert_eq!(*reported, [error.to_string()]);
    assert!(reported[0].contains(text), "{}", reported[0]);
    assert!(dropped.load(Ordering::Relaxed) >= events.len() as u64);
    error
}

#[test]
fn events_written_are_the_events_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("results.db");
    let runs = [synthetic::database_run("a", 1, 3), synthetic::file_run("b"), synthetic::failed_run("c")];
    let (mut writer, reported) = watched(&path);
    runs.iter().flatten().for_each(|event| writer.event(event));
    assert_eq!(writer.dropped(), 0);
    writer.finish().unwrap();
    assert_eq!(*reported.lock().unwrap(), [""; 0]);
    let store = Store::open(&path).unwrap();
    for (id, events) in ["a", "b", "c"].into_iter().zip(&runs) {
        assert_eq!(&store.events(&RunId(id.into())).unwrap(), events, "run {id}");
    }
    let intervals: Vec<Event> =
        store.intervals(&RunId("a".into()), 1).unwrap().into_iter().map(Event::Interval).collect();
    let expected = runs[0].iter().filter(|event| matches!(event, Event::Interval(i) if i.phase == 1));
    assert_eq!(intervals, expected.cloned().collect::<Vec<_>>());
    assert_eq!(store.workers(&RunId("a".into()), 1).unwrap().len(), 2);
    assert!(matches!(store.events(&RunId("x".into())), Err(Error::NoSuchRun { .. })));
}

#[test]
fn what_is_not_a_number_comes_back_as_that() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("results.db");
    let mut events = synthetic::file_run("r");
    for event in &mut events {
        match event {
            Event::Calibrated(calibration) => calibration.loop_cost_ns = f64::NAN,
            Event::Verdict(verdict) => {
                let (statistic, unit) = (Statistic::Mean, ReasonUnit::Nanoseconds);
                let reason = verdict.reasons.remove(0).with_figure(statistic, f64::INFINITY, f64::NAN, unit);
                verdict.reasons.insert(0, reason);
            }
            _ => {}
        }
    }
    synthetic::write(&path, &events);
    let back = Store::open(&path).unwrap().events(&RunId("r".into())).unwrap();
    // Not a number is unequal to itself: compare what is printed.
    assert_eq!(format!("{back:?}"), format!("{events:?}"));
}

#[test]
fn dropping_the_writer_stores_everything() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("results.db");
    let events = synthetic::file_run("r");
    let (mut writer, _) = watched(&path);
    events.iter().for_each(|event| writer.event(event));
    drop(writer);
    assert_eq!(Store::open(&path).unwrap().events(&RunId("r".into())).unwrap(), events);
}

#[test]
fn an_event_is_there_for_others_promptly() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("results.db");
    let events = synthetic::database_run("r", std::process::id(), 3);
    let first = synthetic::position_of_first_interval(&events);
    let (mut writer, _) = watched(&path);
    events[..=first].iter().for_each(|event| writer.event(event));
    let store = Store::open(&path).unwrap();
    wait_for("the interval", || store.intervals(&RunId("r".into()), 0).unwrap().len() == 1);
    assert_eq!(store.runs().unwrap()[0].ending, None);
    writer.finish().unwrap();
}

/// Checks that an error names the remedy of its cause. docs/errors.md lists each call as the test of that cause.
fn produced(cause: ErrorCause, error: impl std::fmt::Display) {
    let text = error.to_string();
    assert!(text.contains(cause.remedy()), "{cause:?}: {text}");
}

#[test]
fn what_sqlite_refuses_has_the_remedy_of_its_cause() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("results.db");
    let store_all = || {
        let mut writer = Writer::start(&path, |_| ());
        synthetic::database_run("r", 1, 20).iter().for_each(|event| writer.event(event));
        writer.finish()
    };
    store_all().unwrap();
    produced(ErrorCause::ResultsContradiction, store_all().unwrap_err());
    let store = Store::open_to_read(&path).unwrap();
    produced(ErrorCause::ResultsQuery, store.ask("SELECT nothing_of_this_name FROM run").unwrap_err());
    produced(ErrorCause::ResultsOther, store.ask("SELECT zeroblob(2000000000)").unwrap_err());
    drop(store);
    let mut bytes = fs::read(&path).unwrap();
    bytes[4096..].fill(0xff);
    fs::write(&path, bytes).unwrap();
    produced(ErrorCause::ResultsDamaged, store_all().unwrap_err());
}

#[test]
fn a_place_that_takes_no_database_is_reported_once() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(matches!(fails_once(&file.join("results.db"), "--results"), Error::Directory { .. }));
}

#[test]
fn a_database_that_may_only_be_read_is_reported_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("results.db");
    drop(Store::open(&path).unwrap());
    let read_only = |on: bool| {
        let mut permissions = fs::metadata(&path).unwrap().permissions();
        permissions.set_readonly(on);
        fs::set_permissions(&path, permissions).unwrap();
    };
    read_only(true);
    if fs::OpenOptions::new().append(true).open(&path).is_ok() {
        println!("skipped: this user (root?) may write to files that may only be read");
        return;
    }
    fails_once(&path, "may not be written");
}

#[test]
fn a_database_locked_for_long_is_reported_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("results.db");
    let other = Store::open(&path).unwrap();
    other.connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    produced(ErrorCause::ResultsLocked, fails_once(&path, "has locked it"));
}

#[test]
fn a_deleted_database_is_reported_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("results.db");
    let events = synthetic::file_run("r");
    let (mut writer, reported) = watched(&path);
    writer.event(&events[0]);
    let store = Store::open(&path).unwrap();
    wait_for("the run", || store.runs().unwrap().len() == 1);
    fs::remove_file(&path).unwrap();
    events[1..].iter().for_each(|event| writer.event(event));
    assert!(matches!(writer.finish().unwrap_err(), Error::Deleted { .. }));
    assert_eq!(reported.lock().unwrap().len(), 1);
}

/// Removed, or replaced by another database, after it was looked at: neither is created anew, nor written to.
#[test]
fn a_database_removed_before_it_is_opened_again_is_not_created_anew() {
    let dir = tempfile::tempdir().unwrap();
    let (path, other, dropped) =
        (dir.path().join("results.db"), dir.path().join("other.db"), AtomicU64::new(0));
    let mut recorder = Recorder::open(path.clone(), PATIENCE, &dropped).unwrap();
    recorder.reopen().unwrap();
    // Before the removal, after which a new file may have the same number.
    drop(Store::open(&other).unwrap());
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(recorder.reopen(), Err(Error::Deleted { .. })));
    assert!(!path.exists());
    std::fs::rename(&other, &path).unwrap();
    assert!(matches!(recorder.reopen(), Err(Error::Deleted { .. })));
    assert!(matches!(Store::reopen_within(&other, PATIENCE), Err(Error::Sql { .. })), "it creates none");
    assert!(!other.exists());
}

/// Cuts a file short, or removes it, in another process: closing it in this one would drop the locks of its connections.
fn beside(command: &[&str], database: &Path, suffix: &str) {
    let mut path = database.as_os_str().to_owned();
    path.push(suffix);
    assert!(Command::new(command[0]).args(&command[1..]).arg(path).status().unwrap().success());
}

/// A writer that has stored the first interval of a run, the events that it has got, and those that are still to come.
fn half_way(path: &Path) -> (Writer, Arc<Mutex<Vec<String>>>, Vec<Event>, usize) {
    let events = synthetic::database_run("r", 1, 20);
    let first = synthetic::position_of_first_interval(&events) + 1;
    let (mut writer, reported) = watched(path);
    events[..first].iter().for_each(|event| writer.event(event));
    let stored = || Store::open(path).and_then(|store| store.intervals(&RunId("r".into()), 0));
    wait_for("the first interval", || stored().is_ok_and(|stored| stored.len() == 1));
    (writer, reported, events, first)
}

#[test]
fn an_index_of_the_log_that_is_cut_short_is_created_again_and_nothing_is_lost() {
    for size in ["0", "4096"] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("results.db");
        let (mut writer, reported, events, first) = half_way(&path);
        beside(&["truncate", "-s", size], &path, "-shm");
        events[first..].iter().for_each(|event| writer.event(event));
        writer.finish().unwrap();
        assert_eq!(*reported.lock().unwrap(), [""; 0]);
        assert_eq!(Store::open(&path).unwrap().events(&RunId("r".into())).unwrap(), events);
    }
}

#[test]
fn an_index_of_the_log_that_others_of_the_process_still_use_is_reported_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("results.db");
    let (mut writer, reported, events, first) = half_way(&path);
    let other = Store::open(&path).unwrap();
    let before = other.intervals(&RunId("r".into()), 0).unwrap();
    beside(&["truncate", "-s", "0"], &path, "-shm");
    events[first..].iter().for_each(|event| writer.event(event));
    produced(ErrorCause::ResultsIndex, writer.finish().unwrap_err());
    assert_eq!(reported.lock().unwrap().len(), 1);
    assert!(other.runs().is_err(), "what was read by means of it is not used");
    drop(other);
    assert_eq!(Store::open(&path).unwrap().intervals(&RunId("r".into()), 0).unwrap(), before);
}

#[test]
fn a_log_that_is_cut_short_or_removed_is_reported_once_and_damages_nothing() {
    for command in [&["truncate", "-s", "0"][..], &["truncate", "-s", "8000"], &["rm"]] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("results.db");
        synthetic::write(&path, &synthetic::file_run("before"));
        let (mut writer, reported, events, first) = half_way(&path);
        beside(command, &path, "-wal");
        events[first..].iter().for_each(|event| writer.event(event));
        assert!(matches!(writer.finish().unwrap_err(), Error::LogLost { .. }), "{command:?}");
        assert_eq!(reported.lock().unwrap().len(), 1);
        let store = Store::open(&path).unwrap();
        assert_eq!(store.ask("PRAGMA integrity_check").unwrap().rows, [["ok"]], "{command:?}");
        assert_eq!(store.events(&RunId("before".into())).unwrap(), synthetic::file_run("before"));
    }
}

#[test]
fn a_log_that_another_program_has_emptied_into_the_database_is_no_loss() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("results.db");
    let (mut writer, _, events, first) = half_way(&path);
    Store::open(&path).unwrap().compact().unwrap();
    events[first..].iter().for_each(|event| writer.event(event));
    writer.finish().unwrap();
    assert_eq!(Store::open(&path).unwrap().events(&RunId("r".into())).unwrap(), events);
}

#[test]
fn events_without_a_run_are_reported_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("results.db");
    let (mut writer, reported) = watched(&path);
    let events = synthetic::file_run("r");
    events[1..].iter().for_each(|event| writer.event(event));
    let dropped = writer.dropped_counter();
    assert!(matches!(writer.finish().unwrap_err(), Error::OutOfOrder { .. }));
    assert_eq!(reported.lock().unwrap().len(), 1);
    assert_eq!(dropped.load(Ordering::Relaxed), events.len() as u64 - 1);
}

/// A small file system in memory, unmounted whatever happens.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount() -> Option<SmallDisk> {
        let dir = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]).arg(dir.path()).stderr(Stdio::null());
        mount.status().is_ok_and(|status| status.success()).then(|| SmallDisk(dir))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.0.path()).status();
    }
}

#[test]
fn a_file_system_that_may_only_be_read_is_reported_once() {
    let Some(disk) = SmallDisk::mount() else {
        println!("skipped: no tmpfs could be mounted here (that takes root)");
        return;
    };
    let path = disk.0.path().join("results.db");
    drop(Store::open(&path).unwrap());
    let remounted = Command::new("mount").args(["-o", "remount,ro"]).arg(disk.0.path()).status().unwrap();
    assert!(remounted.success());
    fails_once(&path, "read-only");
    produced(ErrorCause::ResultsUnopened, fails_once(&disk.0.path().join("absent.db"), "read-only"));
}

#[test]
fn a_full_disk_is_reported_once_and_what_was_stored_before_stays() {
    let Some(disk) = SmallDisk::mount() else {
        println!("skipped: no tmpfs could be mounted here (that takes root)");
        return;
    };
    let path = disk.0.path().join("results.db");
    let (mut writer, reported) = watched(&path);
    let events = synthetic::database_run("r", u32::MAX, 1);
    let first = synthetic::position_of_first_interval(&events);
    events[..first].iter().for_each(|event| writer.event(event));
    let Event::Interval(mut interval) = events[first].clone() else { panic!("not an interval") };
    interval.ops[0].response.0 = vec![7; 8192];
    writer.event(&Event::Interval(interval.clone()));
    let stored = || Ok::<_, Error>(Store::open(&path)?.intervals(&RunId("r".into()), 0)?.len());
    wait_for("the first interval", || stored().is_ok_and(|stored| stored == 1));
    let mut sent = 1;
    while reported.lock().unwrap().is_empty() {
        writer.event(&Event::Interval(interval.clone()));
        sent += 1;
    }
    let dropped = writer.dropped_counter();
    let error = writer.finish().unwrap_err().to_string();
    produced(ErrorCause::ResultsFull, error);
    assert_eq!(reported.lock().unwrap().len(), 1);
    // Room is made by moving the database to where there is some.
    let dir = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(disk.0.path()).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), dir.path().join(entry.file_name())).unwrap();
    }
    let store = Store::open(&dir.path().join("results.db")).unwrap();
    let kept = store.intervals(&RunId("r".into()), 0).unwrap().len() as u64;
    assert_eq!(kept + dropped.load(Ordering::Relaxed), sent);
    assert!(kept > 0);
    assert_eq!(store.mark_interrupted().unwrap(), [RunId("r".into())]);
}

#[test]
fn two_writers_at_once_do_not_disturb_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("results.db");
    // Both write an event before one of them writes the next.
    let turn = Arc::new(Barrier::new(2));
    let writers = ["a", "b"].map(|id| {
        let (path, turn) = (path.clone(), turn.clone());
        std::thread::spawn(move || {
            let events = synthetic::database_run(id, 1, 100);
            let mut writer = Writer::start(&path, |reason| panic!("{reason}"));
            for event in &events {
                turn.wait();
                writer.event(event);
            }
            writer.finish().map(|()| events)
        })
    });
    let runs = writers.map(|writer| writer.join().unwrap().unwrap());
    let store = Store::open(&path).unwrap();
    for (id, events) in ["a", "b"].into_iter().zip(&runs) {
        assert_eq!(&store.events(&RunId(id.into())).unwrap(), events, "run {id}");
    }
}

#[test]
#[ignore = "the process that the kill test kills"]
fn helper_that_writes_until_it_is_killed() {
    let Some(path) = std::env::var_os(HELPER_PATH) else { return };
    let events = synthetic::database_run("r", std::process::id(), 1);
    let first = synthetic::position_of_first_interval(&events);
    let mut writer = Writer::start(Path::new(&path), |reason| panic!("{reason}"));
    events[..=first].iter().for_each(|event| writer.event(event));
    let since = Instant::now();
    while since.elapsed() < Duration::from_secs(60) {
        writer.event(&events[first]);
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_killed_run_keeps_its_intervals_and_is_marked() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("results.db");
    let store = Store::open(&path).unwrap();
    let run = RunId("r".into());
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "writer::tests::helper_that_writes_until_it_is_killed", "--ignored"])
        .env(HELPER_PATH, &path)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    wait_for("a number of intervals", || store.intervals(&run, 0).unwrap().len() > 50);
    let seen = store.intervals(&run, 0).unwrap().len();
    assert_eq!(store.mark_interrupted().unwrap(), []);
    child.kill().unwrap();
    child.wait().unwrap();
    drop(store);

    let store = Store::open(&path).unwrap();
    assert_eq!(store.mark_interrupted().unwrap(), std::slice::from_ref(&run));
    assert!(store.intervals(&run, 0).unwrap().len() >= seen);
    assert_eq!(store.runs().unwrap()[0].ending, Some(Ending::Interrupted));
    let events = store.events(&run).unwrap();
    assert!(matches!(events[0], Event::RunStarted(_)));
    assert_eq!(events.last(), Some(&Event::RunEnded(Ending::Interrupted)));
    assert!(!events.iter().any(|event| matches!(event, Event::PhaseEnded(_))));
    let phase: String =
        store.connection.query_row("SELECT ending FROM phase WHERE run = 'r'", [], |row| row.get(0)).unwrap();
    assert_eq!(phase, "interrupted");
}
