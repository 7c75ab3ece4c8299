//! From rows back to events.

use std::collections::HashMap;

use iolite_model::{
    Cache, Calibration, Concluded, Device, Ending, ErrorTally, Event, Filesystem, Fitness, HistogramBytes,
    Host, Interval, Iops, Nanos, OpKind, OpTotals, Outstanding, Percentiles, PhaseEnd, PhaseInfo,
    PhaseRelease, RateKept, Reason, RunId, RunInfo, Stage, Storage, Stuck, Verdict, Verified, Warning,
    WorkerTotals,
};
use rusqlite::types::FromSql;
use rusqlite::{Params, Row, Transaction, params};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::Error;
use crate::process::Measuring;
use crate::store::Store;

/// An event with its number in the run.
pub(crate) type Numbered = (i64, Event);

impl Store {
    /// The events of a run, in the order they happened: what was written is what comes back.
    ///
    /// A run that was cut short has no end for the phase it was in, because what an end says was never measured; its last
    /// event is its ending as interrupted.
    ///
    /// # Errors
    /// [`Error::NoSuchRun`]; [`Error::Sql`]; [`Error::Unreadable`] for a value that this program did not write.
    pub fn events(&self, run: &RunId) -> Result<Vec<Event>, Error> {
        self.events_of(run, None)
    }

    /// The same, with at most so many readings of each probe and subject, evenly spaced over the run: a day has a million of
    /// them, and a chart shows few thousand.
    ///
    /// # Errors
    /// As [`Store::events`].
    pub fn events_thinned(&self, run: &RunId, readings: usize) -> Result<Vec<Event>, Error> {
        self.events_of(run, Some(readings as u64))
    }

    fn events_of(&self, run: &RunId, readings: Option<u64>) -> Result<Vec<Event>, Error> {
        let _snapshot = self.snapshot()?;
        let sql = "SELECT * FROM run WHERE id = ?1";
        let mut runs = collect(self, sql, params![run.0], |row| self.run_events(run, row))?;
        let mut events =
            runs.pop().ok_or_else(|| Error::NoSuchRun { path: self.path.clone(), run: run.clone() })?;
        events.extend(self.phase_events(run)?);
        events.extend(self.numbered_intervals(run, None)?.into_iter().map(|(n, i)| (n, Event::Interval(i))));
        events.extend(self.numbered_workers(run, None)?.into_iter().map(|(n, w)| (n, Event::Worker(w))));
        events
            .extend(self.databases(run, None)?.into_iter().map(|(n, of)| (n, Event::Database(Box::new(of)))));
        let uses = self.database_uses(run, None)?;
        events.extend(uses.into_iter().map(|(n, usage)| (n, Event::DatabaseUse(Box::new(usage)))));
        events.extend(self.warnings(run)?);
        events.extend(self.verdicts(run)?);
        events.extend(self.conclusions(run)?);
        events.extend(self.readings(run, readings)?);
        events.sort_by_key(|(sequence, _)| *sequence);
        Ok(events.into_iter().map(|(_, event)| event).collect())
    }

    /// The intervals of a phase, in the order they happened; each one's operations in the order of [`OpKind::all`].
    ///
    /// # Errors
    /// [`Error::Sql`]; [`Error::Unreadable`] for a value that this program did not write.
    pub fn intervals(&self, run: &RunId, phase: u32) -> Result<Vec<Interval>, Error> {
        let _snapshot = self.snapshot()?;
        Ok(self.numbered_intervals(run, Some(phase))?.into_iter().map(|(_, interval)| interval).collect())
    }

    /// The totals of a phase's workers, in the order they were stored.
    ///
    /// # Errors
    /// [`Error::Sql`]; [`Error::Unreadable`] for a value that this program did not write.
    pub fn workers(&self, run: &RunId, phase: u32) -> Result<Vec<WorkerTotals>, Error> {
        let _snapshot = self.snapshot()?;
        Ok(self.numbered_workers(run, Some(phase))?.into_iter().map(|(_, worker)| worker).collect())
    }

    /// Until it is dropped, every query sees the same state: the run may be growing meanwhile.
    pub(crate) fn snapshot(&self) -> Result<Transaction<'_>, Error> {
        self.connection.unchecked_transaction().map_err(|source| self.reading(source))
    }

    fn run_events(&self, run: &RunId, row: &Row<'_>) -> Result<Vec<Numbered>, Error> {
        let mut events = vec![(0, Event::RunStarted(Box::new(self.run_info(run, row)?)))];
        if let Some(sequence) = self.get(row, "calibrated_sequence")? {
            let calibration: Calibration = self.structure(row, "", "the calibration")?;
            events.push((sequence, Event::Calibrated(calibration)));
        }
        if let Some(ending) = run_ending(self, row)? {
            let sequence = self.get::<Option<i64>>(row, "ended_sequence")?.unwrap_or(i64::MAX);
            events.push((sequence, Event::RunEnded(ending)));
        }
        Ok(events)
    }

    fn run_info(&self, run: &RunId, row: &Row<'_>) -> Result<RunInfo, Error> {
        let filesystem: Filesystem = self.structure(row, "filesystem_", "the file system")?;
        Ok(RunInfo {
            id: run.clone(),
            version: self.get(row, "version")?,
            model_version: self.get(row, "model_version")?,
            command: texts(self, row, "command")?,
            started_unix: nanos(self, row, "started_unix_ns")?,
            process: self.get(row, "process")?,
            host: self.structure::<Host>(row, "", "the host")?,
            storage: Storage {
                directory: self.get::<String>(row, "directory")?.into(),
                filesystem,
                devices: self.devices(run)?,
            },
        })
    }

    fn devices(&self, run: &RunId) -> Result<Vec<Device>, Error> {
        let sql = "SELECT * FROM device WHERE run = ?1 ORDER BY position";
        self.structures(sql, params![run.0], "a device")
    }

    fn structures<T: DeserializeOwned>(
        &self,
        sql: &str,
        params: impl Params,
        what: &'static str,
    ) -> Result<Vec<T>, Error> {
        collect(self, sql, params, |row| self.structure(row, "", what))
    }

    /// Starts and ends of phases; a phase that was cut short has no end.
    fn phase_events(&self, run: &RunId) -> Result<Vec<Numbered>, Error> {
        let phases = collect(self, "SELECT * FROM phase WHERE run = ?1", params![run.0], |row| {
            let info = PhaseInfo {
                index: self.get(row, "number")?,
                task: serde_json::from_str(&self.get::<String>(row, "task")?)
                    .map_err(|error| self.unreadable("a phase's task", error))?,
                started: nanos(self, row, "started_ns")?,
            };
            let mut events = vec![(self.get(row, "sequence")?, Event::PhaseStarted(info))];
            if let Some(sequence) = self.get(row, "released_sequence")? {
                let at_unix = nanos(self, row, "released_unix_ns")?;
                events.push((
                    sequence,
                    Event::PhaseReleased(PhaseRelease { phase: self.get(row, "number")?, at_unix }),
                ));
            }
            if let (Some(sequence), Some(ending)) = (self.get(row, "ended_sequence")?, ending(self, row)?) {
                events.push((sequence, Event::PhaseEnded(self.phase_end(run, row, ending)?)));
            }
            Ok(events)
        })?;
        Ok(phases.into_iter().flatten().collect())
    }

    fn phase_end(&self, run: &RunId, row: &Row<'_>, ending: Ending) -> Result<PhaseEnd, Error> {
        let phase = self.get(row, "number")?;
        Ok(PhaseEnd {
            phase,
            ending,
            measured: nanos(self, row, "measured_ns")?,
            outstanding: Outstanding {
                at_end: unsigned(self, row, "outstanding_at_end")?,
                lost: unsigned(self, row, "outstanding_lost")?,
                oldest: nanos(self, row, "outstanding_oldest_ns")?,
                backlog: unsigned(self, row, "backlog")?,
            },
            cache: self.structure::<Cache>(row, "", "the cache")?,
            errors: self.errors(run, phase)?,
            stuck: self.stuck(run, phase)?,
            rate: self.rate(row)?,
            verified: self.verified(run, phase, row)?,
        })
    }

    fn rate(&self, row: &Row<'_>) -> Result<Option<RateKept>, Error> {
        let Some(kept) = self.get(row, "rate_kept")? else { return Ok(None) };
        let rate = RateKept {
            asked: Iops(real(self, row, "rate_asked")?),
            achieved: Iops(real(self, row, "rate_achieved")?),
            backlog: unsigned(self, row, "backlog")?,
            kept,
        };
        Ok(Some(rate))
    }

    fn verified(&self, run: &RunId, phase: u32, row: &Row<'_>) -> Result<Option<Verified>, Error> {
        if optional(self, row, "verified_units")?.is_none() {
            return Ok(None);
        }
        let mut verified: Verified = self.structure(row, "verified_", "what was verified")?;
        let sql = "SELECT offset, damage, what FROM finding WHERE run = ?1 AND phase = ?2 ORDER BY position";
        verified.first = self.structures(sql, params![run.0, phase], "a finding")?;
        Ok(Some(verified))
    }

    fn errors(&self, run: &RunId, phase: u32) -> Result<Vec<ErrorTally>, Error> {
        let sql = "SELECT * FROM error WHERE run = ?1 AND phase = ?2 ORDER BY position";
        self.structures(sql, params![run.0, phase], "an error")
    }

    fn stuck(&self, run: &RunId, phase: u32) -> Result<Vec<Stuck>, Error> {
        let sql = "SELECT * FROM stuck WHERE run = ?1 AND phase = ?2 ORDER BY position";
        self.structures(sql, params![run.0, phase], "a stuck operation")
    }

    fn numbered_intervals(&self, run: &RunId, phase: Option<u32>) -> Result<Vec<(i64, Interval)>, Error> {
        let sql = "SELECT o.*, i.id AS of FROM interval_op AS o JOIN interval AS i ON i.id = o.interval
                    WHERE i.run = ?1 AND (?2 IS NULL OR i.phase = ?2)";
        let mut ops = self.ops(sql, run, phase)?;
        let sql = "SELECT * FROM interval WHERE run = ?1 AND (?2 IS NULL OR phase = ?2) ORDER BY sequence";
        collect(self, sql, params![run.0, phase], |row| {
            let stage: String = self.get(row, "stage")?;
            let interval = Interval {
                phase: self.get(row, "phase")?,
                start: nanos(self, row, "start_ns")?,
                length: nanos(self, row, "length_ns")?,
                stage: serde_json::from_value::<Stage>(Value::String(stage))
                    .map_err(|error| self.unreadable("an interval's stage", error))?,
                ops: ops.remove(&self.get(row, "id")?).unwrap_or_default(),
            };
            Ok((self.get(row, "sequence")?, interval))
        })
    }

    fn numbered_workers(&self, run: &RunId, phase: Option<u32>) -> Result<Vec<(i64, WorkerTotals)>, Error> {
        let sql = "SELECT o.*, w.id AS of FROM worker_op AS o JOIN worker AS w ON w.id = o.worker
                    WHERE w.run = ?1 AND (?2 IS NULL OR w.phase = ?2)";
        let mut ops = self.ops(sql, run, phase)?;
        let mut percentiles = self.percentiles(run, phase)?;
        let sql = "SELECT * FROM worker WHERE run = ?1 AND (?2 IS NULL OR phase = ?2) ORDER BY sequence";
        collect(self, sql, params![run.0, phase], |row| {
            let id = self.get(row, "id")?;
            let worker = WorkerTotals {
                phase: self.get(row, "phase")?,
                worker: self.get(row, "worker")?,
                length: nanos(self, row, "length_ns")?,
                ops: ops.remove(&id).unwrap_or_default(),
                percentiles: percentiles.remove(&id).unwrap_or_default(),
            };
            Ok((self.get(row, "sequence")?, worker))
        })
    }

    /// Percentiles by the worker they belong to; rows of older versions have none.
    fn percentiles(&self, run: &RunId, phase: Option<u32>) -> Result<HashMap<i64, Vec<Percentiles>>, Error> {
        let sql = "SELECT o.kind, o.p50_ns, o.p95_ns, o.p99_ns, o.p999_ns, w.id AS of
                     FROM worker_op AS o JOIN worker AS w ON w.id = o.worker
                    WHERE w.run = ?1 AND (?2 IS NULL OR w.phase = ?2) AND o.p50_ns IS NOT NULL";
        let rows = collect(self, sql, params![run.0, phase], |row| {
            let at = |column| nanos(self, row, column);
            let (p50, p95, p99, p999) = (at("p50_ns")?, at("p95_ns")?, at("p99_ns")?, at("p999_ns")?);
            Ok((self.get(row, "of")?, Percentiles { kind: kind(self, row)?, p50, p95, p99, p999 }))
        })?;
        let mut percentiles: HashMap<i64, Vec<Percentiles>> = HashMap::new();
        for (of, row) in rows {
            percentiles.entry(of).or_default().push(row);
        }
        percentiles.values_mut().for_each(|of| of.sort_by_key(|of| of.kind));
        Ok(percentiles)
    }

    /// Operations by the interval or worker they belong to.
    fn ops(&self, sql: &str, run: &RunId, phase: Option<u32>) -> Result<HashMap<i64, Vec<OpTotals>>, Error> {
        let rows = collect(self, sql, params![run.0, phase], |row| {
            let op = OpTotals {
                kind: kind(self, row)?,
                operations: unsigned(self, row, "operations")?,
                bytes: unsigned(self, row, "bytes")?,
                errors: unsigned(self, row, "errors")?,
                response_sum: nanos(self, row, "response_sum_ns")?,
                delay_sum: nanos(self, row, "delay_sum_ns")?,
                response_max: nanos(self, row, "response_max_ns")?,
                response: HistogramBytes(self.get(row, "response")?),
                service: HistogramBytes(self.get(row, "service")?),
            };
            Ok((self.get(row, "of")?, op))
        })?;
        let mut ops: HashMap<i64, Vec<OpTotals>> = HashMap::new();
        for (of, op) in rows {
            ops.entry(of).or_default().push(op);
        }
        ops.values_mut().for_each(|ops| ops.sort_by_key(|op| op.kind));
        Ok(ops)
    }

    fn warnings(&self, run: &RunId) -> Result<Vec<Numbered>, Error> {
        collect(self, "SELECT sequence, json FROM warning WHERE run = ?1", params![run.0], |row| {
            let warning = serde_json::from_str::<Warning>(&self.get::<String>(row, "json")?)
                .map_err(|error| self.unreadable("a warning", error))?;
            Ok((self.get(row, "sequence")?, Event::Warning(warning)))
        })
    }

    fn conclusions(&self, run: &RunId) -> Result<Vec<Numbered>, Error> {
        collect(self, "SELECT * FROM conclusion WHERE run = ?1", params![run.0], |row| {
            Ok((self.get(row, "sequence")?, Event::Concluded(Box::new(concluded(self, row)?))))
        })
    }

    fn verdicts(&self, run: &RunId) -> Result<Vec<Numbered>, Error> {
        collect(self, "SELECT * FROM verdict WHERE run = ?1", params![run.0], |row| {
            let sequence = self.get(row, "sequence")?;
            let verdict = Verdict {
                profile: self.get(row, "profile")?,
                fitness: fitness(self, self.get(row, "fitness")?)?,
                reasons: self.reasons(run, sequence)?,
            };
            Ok((sequence, Event::Verdict(verdict)))
        })
    }

    fn reasons(&self, run: &RunId, verdict: i64) -> Result<Vec<Reason>, Error> {
        let sql = "SELECT * FROM reason WHERE run = ?1 AND verdict = ?2 ORDER BY position";
        self.structures(sql, params![run.0, verdict], "a reason")
    }

    pub(crate) fn get<T: FromSql>(&self, row: &Row<'_>, column: &'static str) -> Result<T, Error> {
        row.get(column).map_err(|source| self.reading(source))
    }

    pub(crate) fn unreadable(&self, what: &'static str, reason: impl ToString) -> Error {
        Error::Unreadable { path: self.path.clone(), what, reason: reason.to_string() }
    }
}

/// Every row of a query, made into something.
pub(crate) fn collect<T>(
    store: &Store,
    sql: &str,
    params: impl Params,
    make: impl FnMut(&Row<'_>) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    let mut make = make;
    let sql_error = |source| store.reading(source);
    let mut statement = store.connection.prepare_cached(sql).map_err(sql_error)?;
    let mut rows = statement.query(params).map_err(sql_error)?;
    let mut made = Vec::new();
    while let Some(row) = rows.next().map_err(sql_error)? {
        made.push(make(row)?);
    }
    store.still_as_opened()?;
    Ok(made)
}

/// A count that may be absent.
pub(crate) fn optional(store: &Store, row: &Row<'_>, column: &'static str) -> Result<Option<u64>, Error> {
    let value: Option<i64> = store.get(row, column)?;
    value.map(|value| u64::try_from(value).map_err(|error| store.unreadable(column, error))).transpose()
}

pub(crate) fn unsigned(store: &Store, row: &Row<'_>, column: &'static str) -> Result<u64, Error> {
    optional(store, row, column)?.ok_or_else(|| store.unreadable(column, "it is missing"))
}

/// A duration or instant.
pub(crate) fn nanos(store: &Store, row: &Row<'_>, column: &'static str) -> Result<Nanos, Error> {
    unsigned(store, row, column).map(Nanos)
}

/// A real number; SQLite knows no "not a number" and stores it as NULL.
fn real(store: &Store, row: &Row<'_>, column: &'static str) -> Result<f64, Error> {
    Ok(store.get::<Option<f64>>(row, column)?.unwrap_or(f64::NAN))
}

/// A list of texts.
pub(crate) fn texts(store: &Store, row: &Row<'_>, column: &'static str) -> Result<Vec<String>, Error> {
    serde_json::from_str(&store.get::<String>(row, column)?).map_err(|error| store.unreadable(column, error))
}

pub(crate) fn fitness(store: &Store, name: String) -> Result<Fitness, Error> {
    serde_json::from_value(Value::String(name)).map_err(|error| store.unreadable("a fitness", error))
}

/// A kind of operation by its name.
pub(crate) fn kind(store: &Store, row: &Row<'_>) -> Result<OpKind, Error> {
    serde_json::from_value(Value::String(store.get(row, "kind")?))
        .map_err(|error| store.unreadable("a kind of operation", error))
}

/// The ending of a run, `None` while it runs. A run whose process is gone has been cut short, whether or not
/// [`Store::mark_interrupted`] has stored that.
pub(crate) fn run_ending(store: &Store, row: &Row<'_>) -> Result<Option<Ending>, Error> {
    if let Some(stored) = ending(store, row)? {
        return Ok(Some(stored));
    }
    Ok((!measuring(store, row)?.is_alive()).then_some(Ending::Interrupted))
}

/// The process that measures a run, by the run's row.
pub(crate) fn measuring(store: &Store, row: &Row<'_>) -> Result<Measuring, Error> {
    Ok(Measuring {
        run: RunId(store.get(row, "id")?),
        host: store.get(row, "host_name")?,
        process: store.get(row, "process")?,
        start_ticks: optional(store, row, "process_start_ticks")?,
        boot: store.get(row, "boot_id")?,
        namespace: optional(store, row, "pid_namespace")?,
    })
}

/// The ending of a run or a phase as it is stored; `None` where none is.
pub(crate) fn ending(store: &Store, row: &Row<'_>) -> Result<Option<Ending>, Error> {
    let Some(name) = store.get::<Option<String>>(row, "ending")? else { return Ok(None) };
    let failure: Option<String> = store.get(row, "failure")?;
    match (name.as_str(), failure) {
        ("completed", _) => Ok(Some(Ending::Completed)),
        ("interrupted", _) => Ok(Some(Ending::Interrupted)),
        ("failed", Some(error)) => Ok(Some(Ending::Failed(error))),
        _ => Err(store.unreadable("an ending", name)),
    }
}

/// A row of the table of conclusions.
pub(crate) fn concluded(store: &Store, row: &Row<'_>) -> Result<Concluded, Error> {
    Ok(Concluded {
        kind: store.get(row, "kind")?,
        phase: store.get(row, "phase")?,
        value: serde_json::from_str(&store.get::<String>(row, "json")?)
            .map_err(|error| store.unreadable("a conclusion", error))?,
    })
}
