//! From events to rows.

use iolite_model::{
    Calibration, Concluded, Ending, Event, Interval, OpTotals, Percentiles, PhaseEnd, PhaseInfo,
    PhaseRelease, Reading, RunId, RunInfo, Verdict, Warning, WorkerTotals,
};
use jiff::Timestamp;
use rusqlite::{Connection, params};

use crate::error::Error;
use crate::process;
use crate::rows::{Failure, Outcome, Row, cells, columns, integer, json};

/// Writes the events of one run after the other; knows which run it is in.
#[derive(Debug, Default, Clone)]
pub(crate) struct Recording {
    run: Option<RunId>,
    /// Number of the next event within the run.
    sequence: i64,
}

impl Recording {
    /// Writes one event.
    pub(crate) fn write(&mut self, connection: &Connection, event: &Event) -> Outcome {
        if let Event::RunStarted(info) = event {
            (self.run, self.sequence) = (Some(info.id.clone()), 0);
        }
        let out_of_order =
            || Failure::Other(Error::OutOfOrder { event: "an event", missing: "its run's start" });
        let run = &self.run.as_ref().ok_or_else(out_of_order)?.0;
        let row = Row { connection, run, sequence: self.sequence };
        match event {
            Event::RunStarted(info) => row.run_started(info),
            Event::Calibrated(calibration) => row.calibrated(calibration),
            Event::PhaseStarted(phase) => row.phase_started(phase),
            Event::Interval(interval) => row.interval(interval),
            Event::PhaseReleased(release) => row.phase_released(release),
            // Logs of operations go to files of their own: a row each would be slower than the operation. Of a phase that is
            // ready, the release is stored.
            Event::Operations(_) | Event::PhaseReady(_) => return Ok(()),
            Event::Database(facts) => row.database(facts),
            Event::DatabaseUse(usage) => row.database_use(usage),
            Event::Worker(worker) => row.worker(worker),
            Event::Reading(reading) => row.reading(reading),
            Event::PhaseEnded(end) => row.phase_ended(end),
            Event::Warning(warning) => row.warning(warning),
            Event::Verdict(verdict) => row.verdict(verdict),
            Event::Concluded(concluded) => row.concluded(concluded),
            Event::RunEnded(ending) => row.run_ended(ending),
        }?;
        self.sequence += 1;
        Ok(())
    }
}

impl Row<'_> {
    fn run_started(&self, info: &RunInfo) -> Outcome {
        let storage = &info.storage;
        let mut row = columns("filesystem_", "the file system", &storage.filesystem)?;
        let host = columns("", "the host", &info.host)?.into_iter();
        row.extend(
            host.map(|(name, value)| (if name == "name" { "host_name".to_owned() } else { name }, value)),
        );
        row.extend(cells([
            ("id", self.run.to_owned().into()),
            ("version", info.version.clone().into()),
            ("model_version", info.model_version.into()),
            ("command", json("the command line", serde_json::to_string(&info.command))?.into()),
            ("started_unix_ns", integer(info.started_unix.0).into()),
            ("started_utc", utc(Timestamp::from_nanosecond(i128::from(info.started_unix.0))).into()),
            ("process", info.process.into()),
            ("process_start_ticks", process::start_ticks(info.process).map(integer).into()),
            ("boot_id", process::boot().into()),
            ("pid_namespace", process::namespace().map(integer).into()),
            ("directory", storage.directory.to_string_lossy().into_owned().into()),
        ]));
        self.insert_whole("run", row.into_iter())?;
        self.insert_all("device", &[], &storage.devices)
    }

    fn calibrated(&self, calibration: &Calibration) -> Outcome {
        let mut set = columns("", "the calibration", calibration)?;
        set.extend(cells([("calibrated_sequence", self.sequence.into())]));
        self.update("run", set, [("id", self.run.to_owned().into())])?;
        Ok(())
    }

    fn phase_started(&self, phase: &PhaseInfo) -> Outcome {
        let layer = serde_json::to_value(phase.task.layer());
        self.execute(
            "INSERT INTO phase (run, number, sequence, name, layer, concurrency, task, started_ns)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                self.run,
                phase.index,
                self.sequence,
                phase.task.name(),
                json("the layer", layer)?.as_str(),
                phase.task.concurrency(),
                json("the task", serde_json::to_string(&phase.task))?,
                integer(phase.started.0),
            ],
        )?;
        Ok(())
    }

    fn phase_released(&self, release: &PhaseRelease) -> Outcome {
        self.execute(
            "UPDATE phase SET released_sequence = ?3, released_unix_ns = ?4 WHERE run = ?1 AND number = ?2",
            params![self.run, release.phase, self.sequence, integer(release.at_unix.0)],
        )?;
        Ok(())
    }

    fn concluded(&self, concluded: &Concluded) -> Outcome {
        self.execute(
            "INSERT INTO conclusion (run, sequence, kind, phase, json) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![
                self.run,
                self.sequence,
                concluded.kind,
                concluded.phase,
                json("a conclusion", serde_json::to_string(&concluded.value))?,
            ],
        )?;
        Ok(())
    }

    fn reading(&self, reading: &Reading) -> Outcome {
        self.execute(
            "INSERT INTO reading (run, sequence, probe, subject, at_ns, json) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![
                self.run,
                self.sequence,
                reading.probe,
                reading.subject,
                integer(reading.at.0),
                json("a reading", serde_json::to_string(&reading.values))?,
            ],
        )?;
        Ok(())
    }

    fn interval(&self, interval: &Interval) -> Outcome {
        self.execute(
            "INSERT INTO interval (run, phase, sequence, start_ns, length_ns, stage)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![
                self.run,
                interval.phase,
                self.sequence,
                integer(interval.start.0),
                integer(interval.length.0),
                interval.stage.name(),
            ],
        )?;
        let id = self.connection.last_insert_rowid();
        let sql = "INSERT INTO interval_op (interval, kind, operations, bytes, errors, response_sum_ns, delay_sum_ns,
                       response_max_ns, response, service) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
        interval.ops.iter().try_for_each(|op| self.op(sql, id, op))
    }

    fn worker(&self, worker: &WorkerTotals) -> Outcome {
        self.execute(
            "INSERT INTO worker (run, phase, worker, sequence, length_ns) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![self.run, worker.phase, worker.worker, self.sequence, integer(worker.length.0)],
        )?;
        let id = self.connection.last_insert_rowid();
        let sql =
            "INSERT INTO worker_op (worker, kind, operations, bytes, errors, response_sum_ns, delay_sum_ns,
                       response_max_ns, response, service) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
        worker.ops.iter().try_for_each(|op| self.op(sql, id, op))?;
        worker.percentiles.iter().try_for_each(|percentiles| self.percentiles(id, percentiles))
    }

    fn percentiles(&self, worker: i64, of: &Percentiles) -> Outcome {
        self.execute(
            "UPDATE worker_op SET p50_ns = ?3, p95_ns = ?4, p99_ns = ?5, p999_ns = ?6
              WHERE worker = ?1 AND kind = ?2",
            params![
                worker,
                of.kind.name(),
                integer(of.p50.0),
                integer(of.p95.0),
                integer(of.p99.0),
                integer(of.p999.0),
            ],
        )?;
        Ok(())
    }

    fn op(&self, sql: &str, of: i64, op: &OpTotals) -> Outcome {
        self.execute(
            sql,
            params![
                of,
                op.kind.name(),
                integer(op.operations),
                integer(op.bytes),
                integer(op.errors),
                integer(op.response_sum.0),
                integer(op.delay_sum.0),
                integer(op.response_max.0),
                op.response.0,
                op.service.0,
            ],
        )?;
        Ok(())
    }

    fn phase_ended(&self, end: &PhaseEnd) -> Outcome {
        let (outstanding, rate) = (&end.outstanding, end.rate.as_ref());
        let mut set = columns("", "the cache", &end.cache)?;
        set.extend(columns("verified_", "what was verified", &end.verified)?);
        // These have a table of their own.
        set.retain(|(name, _)| name != "verified_first");
        set.extend(cells([
            ("ending", end.ending.name().to_owned().into()),
            ("failure", end.ending.error().map(str::to_owned).into()),
            ("measured_ns", integer(end.measured.0).into()),
            ("outstanding_at_end", integer(outstanding.at_end).into()),
            ("outstanding_lost", integer(outstanding.lost).into()),
            ("outstanding_oldest_ns", integer(outstanding.oldest.0).into()),
            ("backlog", integer(outstanding.backlog).into()),
            ("stamp", end.cache.stamp().to_string().into()),
            ("rate_asked", rate.map(|rate| rate.asked.0).into()),
            ("rate_achieved", rate.map(|rate| rate.achieved.0).into()),
            ("rate_kept", rate.map(|rate| rate.kept).into()),
            ("ended_sequence", self.sequence.into()),
        ]));
        let keys = [("run", self.run.to_owned().into()), ("number", end.phase.into())];
        let changed = self.update("phase", set, keys)?;
        let out_of_order = Error::OutOfOrder { event: "the end of a phase", missing: "its start" };
        if changed != 1 {
            return Err(Failure::Other(out_of_order));
        }
        let of_phase = [("phase", i64::from(end.phase))];
        self.insert_all("error", &of_phase, &end.errors)?;
        self.insert_all("stuck", &of_phase, &end.stuck)?;
        self.insert_all("finding", &of_phase, end.verified.as_ref().map_or(&[], |verified| &verified.first))
    }

    fn warning(&self, warning: &Warning) -> Outcome {
        let value = json("a warning", serde_json::to_value(warning))?;
        self.execute(
            "INSERT INTO warning (run, sequence, kind, text, json) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![
                self.run,
                self.sequence,
                value["warning"].as_str().unwrap_or_default(),
                warning.to_string(),
                value.to_string(),
            ],
        )?;
        Ok(())
    }

    fn verdict(&self, verdict: &Verdict) -> Outcome {
        self.execute(
            "INSERT INTO verdict (run, sequence, profile, fitness) VALUES (?1, ?2, ?3, ?4)",
            params![self.run, self.sequence, verdict.profile, verdict.fitness.to_string()],
        )?;
        self.insert_all("reason", &[("verdict", self.sequence)], &verdict.reasons)
    }

    fn run_ended(&self, ending: &Ending) -> Outcome {
        let now = Timestamp::now();
        self.execute(
            "UPDATE run SET ending = ?2, failure = ?3, finished_unix_ns = ?4, finished_utc = ?5, ended_sequence = ?6
              WHERE id = ?1",
            params![
                self.run,
                ending.name(),
                ending.error(),
                integer(u64::try_from(now.as_nanosecond()).unwrap_or(0)),
                utc(Ok(now)),
                self.sequence,
            ],
        )?;
        Ok(())
    }
}

/// ISO 8601 in UTC with milliseconds, so that texts sort as times.
pub(crate) fn utc(time: Result<Timestamp, jiff::Error>) -> String {
    time.map_or_else(|_| String::new(), |time| format!("{time:.3}"))
}
