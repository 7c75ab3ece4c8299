//! The opened database.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use iolite_model::{Ending, Fitness, Nanos, RunId};
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, params};

use crate::error::Error;
use crate::place::default_path;
use crate::process::Measuring;
use crate::schema;
use crate::unlocked::Unlocked;

/// How long to wait for another process that is writing. Transactions here are short; whoever holds the database
/// for longer than this is stuck or is a person with an open transaction.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// A results database.
#[derive(Debug)]
pub struct Store {
    pub(crate) connection: Connection,
    pub(crate) path: PathBuf,
    /// The file as it was opened, where it is read without locks.
    pub(crate) unlocked: Option<Unlocked>,
}

/// A run in a list of runs.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSummary {
    /// The run.
    pub id: RunId,
    /// Version of the program that measured.
    pub version: String,
    /// The command line as given.
    pub command: Vec<String>,
    /// Start, in nanoseconds since 1970 (UTC).
    pub started_unix: Nanos,
    /// When the end was stored, in nanoseconds since 1970 (UTC); `None` for a run that did not get to say so.
    pub finished_unix: Option<Nanos>,
    /// Name of the machine.
    pub host: String,
    /// The directory measured.
    pub directory: PathBuf,
    /// Number of phases begun.
    pub phases: u32,
    /// How it ended; `None` while it runs. One whose process is gone was interrupted.
    pub ending: Option<Ending>,
    /// The last verdict: the profile's name and the fitness for it.
    pub verdict: Option<(String, Fitness)>,
}

impl Store {
    /// Opens the database at `path`, creating it and its directories when they are missing. Several processes may have
    /// it open at once.
    ///
    /// # Errors
    /// [`Error::Directory`], [`Error::NotADatabase`], [`Error::NotIolite`], [`Error::Newer`], [`Error::Older`] (the
    /// file is then left as it is), or [`Error::Sql`] with SQLite's reason.
    pub fn open(path: &Path) -> Result<Store, Error> {
        Store::open_within(path, PATIENCE)
    }

    /// [`Store::open`] with another patience for locks.
    pub(crate) fn open_within(path: &Path, patience: Duration) -> Result<Store, Error> {
        if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
            create_directory(directory, path)
                .map_err(|source| Error::Directory { path: directory.to_owned(), source })?;
        }
        Store::open_with(path, patience, OpenFlags::default())
    }

    /// Opens the database that is at `path`, and creates none.
    pub(crate) fn reopen_within(path: &Path, patience: Duration) -> Result<Store, Error> {
        Store::open_with(path, patience, OpenFlags::default() - OpenFlags::SQLITE_OPEN_CREATE)
    }

    fn open_with(path: &Path, patience: Duration, flags: OpenFlags) -> Result<Store, Error> {
        refuse_other_than_files(path)?;
        let sql = |source| Error::sql("opening", path, source);
        let mut connection = iolite_db::sqlite::open_guarded(path, flags).map_err(sql)?;
        connection.busy_timeout(patience).map_err(sql)?;
        schema::check(&connection, path)?;
        configure(&connection, patience).map_err(sql)?;
        schema::create(&mut connection, path)?;
        Ok(Store { connection, path: path.to_owned(), unlocked: None })
    }

    /// Where the database is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Marks the unfinished runs whose process is gone as interrupted, with the phase they were in, and returns them.
    ///
    /// A run on another machine that shares this database is left alone. Should a run be marked that does go on
    /// after all (a container hides the processes of others), its own end sets the record straight.
    ///
    /// # Errors
    /// [`Error::Sql`], for example when the database may only be read.
    pub fn mark_interrupted(&self) -> Result<Vec<RunId>, Error> {
        self.mark_interrupted_unless(Measuring::is_alive)
    }

    /// [`Store::mark_interrupted`] by another judgement of who is alive.
    ///
    /// # Errors
    /// As [`Store::mark_interrupted`].
    pub fn mark_interrupted_unless(
        &self,
        is_alive: impl Fn(&Measuring) -> bool,
    ) -> Result<Vec<RunId>, Error> {
        let mut marked = Vec::new();
        for Measuring { run, .. } in self.unfinished()?.into_iter().filter(|measuring| !is_alive(measuring)) {
            let sql = |source| Error::sql("marking", &self.path, source);
            let transaction = self.connection.unchecked_transaction().map_err(sql)?;
            if interrupt(&transaction, &run).map_err(sql)? {
                marked.push(run);
            }
            transaction.commit().map_err(sql)?;
        }
        Ok(marked)
    }

    /// Marks a run as interrupted of which this machine can't know whether it still runs, because it ran on another host or in
    /// another container: the user knows. `false` where it has its end.
    ///
    /// # Errors
    /// [`Error::RunsHere`]: its process is there. [`Error::Sql`].
    pub fn end(&self, run: &RunId) -> Result<bool, Error> {
        let runs_here = |one: &Measuring| one.run == *run && one.is_alive() && !one.is_elsewhere();
        if let Some(measuring) = self.unfinished()?.into_iter().find(runs_here) {
            return Err(Error::RunsHere { run: measuring.run, process: measuring.process });
        }
        Ok(!self.mark_interrupted_unless(|measuring| measuring.run != *run)?.is_empty())
    }

    pub(crate) fn reading(&self, source: rusqlite::Error) -> Error {
        Error::sql("reading", &self.path, source)
    }
}

/// The smallest database has a page, of at least so many bytes. SQLite takes a file of less for an empty one, and writes over it.
const SMALLEST: u64 = 512;

/// Refuses a device, a pipe or a socket, which SQLite would open, and wait for or fail at, and what is too short for a database.
pub(crate) fn refuse_other_than_files(path: &Path) -> Result<(), Error> {
    let is_other = |found: fs::Metadata| !found.is_file() || (1..SMALLEST).contains(&found.len());
    if fs::metadata(path).is_ok_and(is_other) {
        return Err(Error::NotADatabase { path: path.to_owned() });
    }
    Ok(())
}

/// Marks one run; false when it has its end.
pub(crate) fn interrupt(transaction: &Transaction<'_>, run: &RunId) -> rusqlite::Result<bool> {
    let sql = "UPDATE run SET ending = 'interrupted' WHERE id = ?1 AND ending IS NULL";
    let changed = transaction.execute(sql, params![run.0])? > 0;
    if changed {
        let sql = "UPDATE phase SET ending = 'interrupted' WHERE run = ?1 AND ending IS NULL";
        transaction.execute(sql, params![run.0])?;
    }
    Ok(changed)
}

/// Settings that hold for every connection.
///
/// Write-ahead logging lets readers look on while a run is written. NORMAL does not sync at each commit: what is
/// committed survives the death of this process (it is in the kernel's page cache by then), though a power failure may
/// take the last seconds; in return, commits put no flushes on storage that may be the very one under test. A file
/// system on which WAL can't work keeps its journal mode, which serves as well.
fn configure(connection: &Connection, patience: Duration) -> rusqlite::Result<()> {
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    let since = Instant::now();
    loop {
        // SQLite does not wait for locks here as it does elsewhere: two processes that make the same new file meet.
        match connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0)) {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && since.elapsed() < patience =>
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            outcome => return outcome.map(|_| ()),
        }
    }
}

/// Creates the directory of a database where it is missing; those above it for the default place only: a path that was mistyped would
/// become a tree of directories.
fn create_directory(directory: &Path, database: &Path) -> io::Result<()> {
    if default_path().is_ok_and(|default| default == database) {
        return fs::create_dir_all(directory);
    }
    match fs::create_dir(directory) {
        Err(_) if directory.is_dir() => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic;
    use crate::writer::Writer;
    use iolite_model::Sink as _;
    use std::process::Command;

    fn open_fails(path: &Path) -> Error {
        let before = fs::read(path).ok();
        let error = Store::open(path).unwrap_err();
        assert_eq!(fs::read(path).ok(), before, "the file was touched");
        error
    }

    #[test]
    fn a_new_database_is_made_with_its_directory_and_not_those_above() {
        let dir = tempfile::tempdir().unwrap();
        let mistyped = open_fails(&dir.path().join("a/b/results.db"));
        assert!(matches!(mistyped, Error::Directory { .. }) && !dir.path().join("a").exists(), "{mistyped}");
        let path = dir.path().join("a/results.db");
        assert_eq!(Store::open(&path).unwrap().runs().unwrap(), []);
        let store = Store::open(&path).unwrap();
        assert_eq!(store.path(), path);
        let mode: String =
            store.connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
        assert_eq!(mode, "wal");
        assert_eq!(&fs::read(&path).unwrap()[68..72], b"ioli");
    }

    #[test]
    fn other_files_are_refused_and_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let text = dir.path().join("text");
        fs::write(&text, "not a database, but long enough to have a header ".repeat(40)).unwrap();
        assert!(matches!(open_fails(&text), Error::NotADatabase { .. }));
        for short in [1, 99, 511] {
            fs::write(&text, "x".repeat(short)).unwrap();
            assert!(matches!(open_fails(&text), Error::NotADatabase { .. }));
        }

        let foreign = dir.path().join("foreign.db");
        Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE t (a)").unwrap();
        assert!(matches!(open_fails(&foreign), Error::NotIolite { found: 0, .. }));

        let newer = dir.path().join("newer.db");
        drop(Store::open(&newer).unwrap());
        Connection::open(&newer).unwrap().pragma_update(None, "user_version", 1000).unwrap();
        let error = open_fails(&newer);
        assert!(matches!(error, Error::Newer { found: 1000, .. }), "{error}");
        assert!(error.to_string().contains("newer version of iolite"), "{error}");
    }

    #[test]
    fn impossible_places_say_why() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        // Nor is a device one.
        for other in ["/dev/null", "/dev/zero"] {
            for error in [Store::open(Path::new(other)), Store::open_to_read(Path::new(other))] {
                assert!(matches!(error.unwrap_err(), Error::NotADatabase { .. }), "{other}");
            }
        }
        // Below a regular file not even root can make a directory.
        let error = Store::open(&file.join("sub/results.db")).unwrap_err();
        assert!(matches!(error, Error::Directory { .. }), "{error}");
        for error in [Store::open(dir.path()), Store::open_to_read(dir.path())] {
            assert!(matches!(error.unwrap_err(), Error::NotADatabase { .. }), "a directory");
        }
    }

    #[test]
    fn many_may_make_the_same_database_at_once() {
        let dir = tempfile::tempdir().unwrap();
        for round in 0..20 {
            let path = dir.path().join(format!("{round}.db"));
            std::thread::scope(|scope| {
                let openers: Vec<_> =
                    (0..8).map(|_| scope.spawn(|| Store::open(&path).map(|_| ()))).collect();
                openers.into_iter().for_each(|opener| opener.join().unwrap().unwrap());
            });
        }
    }

    #[test]
    fn only_runs_whose_process_is_gone_are_marked() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("results.db");
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        for (id, process) in [("alive", std::process::id()), ("killed", child.id())] {
            let events = synthetic::database_run(id, process, 1);
            synthetic::write(&path, &events[..synthetic::position_of_first_interval(&events) + 1]);
        }
        synthetic::write(&path, &synthetic::database_run("done", u32::MAX, 1));
        let store = Store::open(&path).unwrap();
        assert_eq!(store.mark_interrupted().unwrap(), []);
        child.kill().unwrap();
        // It becomes a zombie in its own time, and stays one here: nobody has waited for it.
        let since = Instant::now();
        let mut marked = Vec::new();
        while marked.is_empty() && since.elapsed() < PATIENCE {
            marked = store.mark_interrupted().unwrap();
        }
        assert_eq!(marked, [RunId("killed".into())]);
        child.wait().unwrap();
        assert_eq!(store.mark_interrupted().unwrap(), []);
        let endings: Vec<_> =
            store.runs().unwrap().into_iter().map(|run| (run.id.0, run.ending, run.phases)).collect();
        assert!(endings.contains(&("alive".into(), None, 1)), "{endings:?}");
        assert!(endings.contains(&("killed".into(), Some(Ending::Interrupted), 1)), "{endings:?}");
        assert!(endings.contains(&("done".into(), Some(Ending::Completed), 4)), "{endings:?}");
    }

    #[test]
    fn the_end_of_a_run_that_was_given_up_too_early_sets_the_record_straight() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("results.db");
        let run = RunId("r".into());
        let events = synthetic::database_run("r", 1, 1);
        let store = Store::open(&path).unwrap();
        let mut writer = Writer::start(&path, |reason| panic!("{reason}"));
        let (before, after) = events.split_at(synthetic::position_of_first_interval(&events) + 1);
        before.iter().for_each(|event| writer.event(event));
        let since = Instant::now();
        while store.intervals(&run, 0).unwrap().is_empty() && since.elapsed() < PATIENCE {}
        assert_eq!(store.mark_interrupted_unless(|_| false).unwrap(), std::slice::from_ref(&run));
        after.iter().for_each(|event| writer.event(event));
        writer.finish().unwrap();
        assert_eq!(store.events(&run).unwrap(), events);
        assert_eq!(store.mark_interrupted_unless(|_| false).unwrap(), []);
    }

    #[test]
    fn a_list_of_runs_starts_with_the_latest() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("results.db");
        for id in ["20261120T160301-a", "20261120T160301-b"] {
            synthetic::write(&path, &synthetic::database_run(id, 1, 1));
        }
        let runs = Store::open(&path).unwrap().runs().unwrap();
        assert_eq!(
            runs.iter().map(|run| run.id.0.as_str()).collect::<Vec<_>>(),
            ["20261120T160301-b", "20261120T160301-a"]
        );
        let run = &runs[0];
        assert_eq!(run.verdict, Some(("oltp-flash".into(), Fitness::Unfit)));
        assert_eq!(run.command, ["iolite", "ran-read", "--directory", "/var/lib/db"]);
        assert!(run.finished_unix.unwrap() > run.started_unix);
    }

    #[test]
    fn a_run_of_another_host_ends_when_the_user_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("results.db");
        let start = |id: &str, process| {
            let events = synthetic::database_run(id, process, 1);
            synthetic::write(&path, &events[..synthetic::position_of_first_interval(&events) + 1]);
        };
        start("here", std::process::id());
        start("there", u32::MAX);
        let store = Store::open(&path).unwrap();
        let elsewhere = "UPDATE run SET host_name = 'dbhost', boot_id = 'x' WHERE id = 'there'";
        store.connection.execute_batch(elsewhere).unwrap();
        let [here, there] = ["here", "there"].map(|id| RunId(id.into()));
        assert_eq!((store.mark_interrupted().unwrap(), store.ending(&there).unwrap()), (Vec::new(), None));
        assert!(matches!(store.end(&here), Err(Error::RunsHere { .. })));
        assert_eq!((store.end(&there).unwrap(), store.end(&there).unwrap()), (true, false));
        assert_eq!(store.ending(&there).unwrap(), Some(iolite_model::Ending::Interrupted));
    }
}
