//! The runs of one operation on databases, and their phases: for lists of them, and to forget them.

use iolite_model::{Concluded, DatabaseFacts, DatabaseUse, DbTask, Ending, Nanos, OpKind, RunId, Task};
use rusqlite::{Row, TransactionBehavior, params};

use crate::error::Error;
use crate::process::Measuring;
use crate::read::{self, collect, nanos, unsigned};
use crate::store::{RunSummary, Store};

/// A phase on a database as it was stored, its operations apart: see [`Store::workers`] and [`Store::intervals`].
#[derive(Debug, Clone, PartialEq)]
pub struct DatabasePhase {
    /// Its number within the run.
    pub number: u32,
    /// What was asked for.
    pub task: DbTask,
    /// Start, in nanoseconds since 1970 (UTC).
    pub started_unix: Nanos,
    /// How it ended; `None` while it runs.
    pub ending: Option<Ending>,
    /// Measured time; where it runs or was cut short, up to the last interval that was stored.
    pub measured: Nanos,
    /// Operations that succeeded over the whole phase, ramp and drain included, by their kind.
    pub whole: Vec<(OpKind, u64)>,
    /// The database, where it is known.
    pub facts: Option<DatabaseFacts>,
    /// What the operations took, where it is known.
    pub usage: Option<DatabaseUse>,
    /// The cache stamp, as text; `None` until it has ended.
    pub stamp: Option<String>,
    /// What was concluded about it.
    pub concluded: Vec<Concluded>,
}

impl Store {
    /// The runs that did one operation on databases and nothing else, calibrations aside, the earliest first; a run that has
    /// not come to a phase (yet) is one if it was called as that command.
    ///
    /// `operation` is the operation's name as in the view `database_phase`, `command` the first argument of the program.
    ///
    /// # Errors
    /// [`Error::Sql`], or [`Error::Unreadable`] for a row that this program did not write.
    pub fn runs_of(&self, operation: &str, command: &str) -> Result<Vec<RunSummary>, Error> {
        let sql = "WITH said AS (
                       SELECT p.run, sum(d.operation IS ?1) AS its, sum(d.operation IS NOT ?1) AS others
                         FROM phase AS p LEFT JOIN database_phase AS d ON d.run = p.run AND d.phase = p.number
                        WHERE p.layer <> 'calibration' GROUP BY p.run
                   )
                   SELECT r.*, (SELECT count(*) FROM phase WHERE run = r.id) AS phases,
                          NULL AS profile, NULL AS fitness
                     FROM run AS r LEFT JOIN said AS s ON s.run = r.id
                    WHERE CASE WHEN s.run IS NULL THEN r.command ->> '$[1]' = ?2 ELSE s.its > 0 AND s.others = 0 END
                    ORDER BY r.started_unix_ns, r.id";
        collect(self, sql, params![operation, command], |row| self.run_summary(row))
    }

    /// The phases of a run on databases, in their order.
    ///
    /// # Errors
    /// [`Error::Sql`], or [`Error::Unreadable`] for a row that this program did not write.
    pub fn database_phases(&self, run: &RunId) -> Result<Vec<DatabasePhase>, Error> {
        let _snapshot = self.snapshot()?;
        // A worker that was held up delivers its share later, as a further interval with the same start.
        let sql = "SELECT p.*, r.started_unix_ns + p.started_ns AS at,
                          coalesce(p.measured_ns, (SELECT sum(ns) FROM (
                              SELECT max(length_ns) AS ns FROM interval
                               WHERE run = p.run AND phase = p.number AND stage = 'measured' GROUP BY start_ns
                          )), 0) AS seen_ns
                     FROM phase AS p JOIN run AS r ON r.id = p.run
                    WHERE p.run = ?1 AND p.layer = 'database' ORDER BY p.number";
        let phases = collect(self, sql, params![run.0], |row| self.database_phase(run, row))?;
        Ok(phases.into_iter().flatten().collect())
    }

    fn database_phase(&self, run: &RunId, row: &Row<'_>) -> Result<Option<DatabasePhase>, Error> {
        let number = self.get(row, "number")?;
        let task = serde_json::from_str(&self.get::<String>(row, "task")?)
            .map_err(|error| self.unreadable("a phase's task", error))?;
        let Task::Database(task) = task else { return Ok(None) };
        let phase = DatabasePhase {
            number,
            task,
            started_unix: nanos(self, row, "at")?,
            ending: read::ending(self, row)?,
            measured: nanos(self, row, "seen_ns")?,
            whole: self.whole(run, number)?,
            facts: self.databases(run, Some(number))?.pop().map(|(_, facts)| facts),
            usage: self.database_uses(run, Some(number))?.pop().map(|(_, usage)| usage),
            stamp: self.get(row, "stamp")?,
            concluded: self.concluded(run, number)?,
        };
        Ok(Some(phase))
    }

    fn concluded(&self, run: &RunId, phase: u32) -> Result<Vec<Concluded>, Error> {
        let sql = "SELECT * FROM conclusion WHERE run = ?1 AND phase = ?2 ORDER BY sequence";
        collect(self, sql, params![run.0, phase], |row| read::concluded(self, row))
    }

    fn whole(&self, run: &RunId, phase: u32) -> Result<Vec<(OpKind, u64)>, Error> {
        let sql = "SELECT o.kind, sum(o.operations) AS operations
                     FROM interval AS i JOIN interval_op AS o ON o.interval = i.id
                    WHERE i.run = ?1 AND i.phase = ?2 GROUP BY o.kind";
        collect(self, sql, params![run.0, phase], |row| {
            Ok((read::kind(self, row)?, unsigned(self, row, "operations")?))
        })
    }

    /// The runs that have not ended, with the processes that measure them, or that did until they were killed; the earliest
    /// first.
    ///
    /// # Errors
    /// [`Error::Sql`].
    pub fn unfinished(&self) -> Result<Vec<Measuring>, Error> {
        let sql = "SELECT id, host_name, process, process_start_ticks, boot_id, pid_namespace FROM run
                    WHERE ending IS NULL ORDER BY started_unix_ns, id";
        collect(self, sql, [], |row| read::measuring(self, row))
    }

    /// How a run has ended; `None` while it runs, and where there is no such run.
    ///
    /// # Errors
    /// [`Error::Sql`].
    pub fn ending(&self, run: &RunId) -> Result<Option<Ending>, Error> {
        let endings = collect(self, "SELECT * FROM run WHERE id = ?1", params![run.0], |row| {
            read::run_ending(self, row)
        })?;
        Ok(endings.into_iter().flatten().next())
    }

    /// Forgets runs with all that belongs to them, but none that has not ended; returns those that are gone.
    ///
    /// # Errors
    /// [`Error::Sql`]: then all are still there.
    pub fn forget(&mut self, runs: &[RunId]) -> Result<Vec<RunId>, Error> {
        let path = self.path.clone();
        let forgetting = |source| Error::sql("forgetting runs in", &path, source);
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(forgetting)?;
        let mut gone = Vec::new();
        for run in runs {
            let sql = "DELETE FROM run WHERE id = ?1 AND ending IS NOT NULL";
            if transaction.execute(sql, params![run.0]).map_err(forgetting)? > 0 {
                gone.push(run.clone());
            }
        }
        transaction.commit().map_err(forgetting)?;
        Ok(gone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic;
    use iolite_model::Event;

    /// The database run's phases as runs of their own, and one that is a check.
    fn store() -> (tempfile::TempDir, Store) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("results.db");
        let events = synthetic::database_run("all", u32::MAX, 2);
        synthetic::write(&path, &events);
        for (id, phases) in [("read", [0, 3]), ("write", [1, 1]), ("io", [2, 2])] {
            synthetic::write(&path, &synthetic::phases_of(&events, id, &phases));
        }
        synthetic::write(&path, &synthetic::file_run("file"));
        (dir, Store::open(&path).unwrap())
    }

    fn ids(runs: Vec<RunSummary>) -> Vec<String> {
        runs.into_iter().map(|run| run.id.0).collect()
    }

    #[test]
    fn runs_of_an_operation_did_nothing_else() {
        let (_dir, store) = store();
        let of = |operation| ids(store.runs_of(operation, "none").unwrap());
        assert_eq!(of("ran-read"), ["read"]);
        assert_eq!(of("ran-write"), ["write"]);
        assert_eq!(of("ran-io"), ["io"]);
        assert_eq!(of("ran-rest"), [""; 0]);
    }

    #[test]
    fn a_run_without_a_phase_is_known_by_its_command() {
        let (dir, store) = store();
        let events = synthetic::database_run("early", u32::MAX, 1);
        synthetic::write(&dir.path().join("results.db"), &events[..1]);
        assert_eq!(ids(store.runs_of("ran-read", "ran-read").unwrap()), ["early", "read"]);
        assert_eq!(ids(store.runs_of("ran-read", "ranread").unwrap()), ["read"]);
        assert_eq!(store.unfinished().unwrap().len(), 1);
    }

    #[test]
    fn phases_are_read_with_what_is_known() {
        let (_dir, store) = store();
        let phases = store.database_phases(&RunId("all".into())).unwrap();
        let reported: Vec<_> = phases
            .iter()
            .map(|phase| (phase.number, phase.measured, phase.facts.is_some(), phase.usage.clone()))
            .collect();
        let two = Nanos(2_000_000_000);
        let usage = |phase| Some(synthetic::usage(phase));
        assert_eq!(
            reported,
            [
                (0, two, false, None),
                (1, two, true, usage(1)),
                (2, two, true, usage(2)),
                (3, two, false, None)
            ]
        );
        assert_eq!(phases[1].facts, Some(synthetic::facts(1)));
        assert_eq!(phases[1].whole, [(OpKind::Commit, 1302), (OpKind::Write, 1302)]);
        assert_eq!(phases[1].task.name, "phase 1");
        assert_eq!(phases[3].started_unix.0 - phases[0].started_unix.0, 3 * 3_600_000_000_000);
        assert_eq!(phases[3].ending, Some(Ending::Completed));
    }

    #[test]
    fn a_phase_that_was_cut_short_has_the_time_of_its_intervals() {
        let (dir, store) = store();
        let mut events = synthetic::database_run("cut", u32::MAX, 3);
        events.truncate(synthetic::position_of_first_interval(&events) + 3);
        // A share that comes late adds no time.
        events.push(events.last().cloned().unwrap());
        synthetic::write(&dir.path().join("results.db"), &events);
        let phases = store.database_phases(&RunId("cut".into())).unwrap();
        assert_eq!((phases[0].measured, &phases[0].ending), (Nanos(2_000_000_000), &None));
        assert_eq!(phases[0].whole, [(OpKind::Read, 1000 + 100 + 200 + 200)]);
        assert_eq!(store.ending(&RunId("cut".into())).unwrap(), Some(Ending::Interrupted));
    }

    #[test]
    fn runs_are_forgotten_but_not_those_that_go_on() {
        let (dir, mut store) = store();
        let events = synthetic::database_run("going on", u32::MAX, 1);
        synthetic::write(&dir.path().join("results.db"), &events[..4]);
        let run = |id: &str| RunId(id.into());
        let gone = store.forget(&[run("read"), run("going on"), run("nobody's")]).unwrap();
        assert_eq!(gone, [run("read")]);
        let left = ids(store.runs().unwrap());
        assert_eq!(left, ["write", "io", "going on", "file", "all"]);
        assert_eq!(store.ending(&run("write")).unwrap(), Some(Ending::Completed));
        assert!(store.events(&run("write")).unwrap().contains(&Event::RunEnded(Ending::Completed)));
        let rows: i64 = store
            .connection
            .query_row("SELECT count(*) FROM worker WHERE run = 'read'", [], |row| row.get(0))
            .unwrap();
        assert_eq!(rows, 0);
    }
}
