//! From events to rows.

use iolite_model::{
    Bytes, Calibration, Concluded, Device, Ending, ErrorTally, Event, Finding, Fitness, Interval, OpTotals,
    Percentiles, PhaseEnd, PhaseInfo, PhaseRelease, Reading, RunId, RunInfo, Stuck, Verdict, Verified,
    Warning, WorkerTotals,
};
use jiff::Timestamp;
use rusqlite::{Connection, Params, named_params, params};

use crate::error::Error;
use crate::process;

/// Writes the events of one run after the other; knows which run it is in.
#[derive(Debug, Default)]
pub(crate) struct Recording {
    run: Option<RunId>,
    /// Number of the next event within the run.
    sequence: i64,
}

/// Where a row goes: the connection, the run, and the number of the event.
pub(crate) struct Row<'a> {
    connection: &'a Connection,
    pub(crate) run: &'a str,
    pub(crate) sequence: i64,
}

/// Failures of one event, before the path of the database is known.
pub(crate) enum Failure {
    /// SQLite's answer.
    Sql(rusqlite::Error),
    /// Anything else.
    Other(Error),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Failure {
        Failure::Sql(error)
    }
}

pub(crate) type Outcome = Result<(), Failure>;

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
    pub(crate) fn execute(&self, sql: &str, params: impl Params) -> rusqlite::Result<usize> {
        self.connection.prepare_cached(sql)?.execute(params)
    }

    fn run_started(&self, info: &RunInfo) -> Outcome {
        let (host, filesystem) = (&info.host, &info.storage.filesystem);
        self.execute(
            "INSERT INTO run (id, version, model_version, command, started_unix_ns, started_utc, process,
                 process_start_ticks, boot_id, pid_namespace, host_name, kernel, architecture, cpu, cpus, memory_bytes,
                 virtualisation, directory, filesystem_kind, filesystem_source, filesystem_mount_point,
                 filesystem_options, filesystem_size_bytes, filesystem_free_bytes, filesystem_block_bytes)
             VALUES (:id, :version, :model_version, :command, :started, :started_utc, :process,
                 :start_ticks, :boot, :namespace, :host, :kernel, :architecture, :cpu, :cpus, :memory,
                 :virtualisation, :directory, :fs_kind, :fs_source, :fs_mount_point,
                 :fs_options, :fs_size, :fs_free, :fs_block)",
            named_params! {
                ":id": self.run,
                ":version": info.version,
                ":model_version": info.model_version,
                ":command": json("the command line", serde_json::to_string(&info.command))?,
                ":started": integer(info.started_unix.0),
                ":started_utc": utc(Timestamp::from_nanosecond(i128::from(info.started_unix.0))),
                ":process": info.process,
                ":start_ticks": process::start_ticks(info.process).map(integer),
                ":boot": process::boot(),
                ":namespace": process::namespace().map(integer),
                ":host": host.name,
                ":kernel": host.kernel,
                ":architecture": host.architecture,
                ":cpu": host.cpu,
                ":cpus": host.cpus,
                ":memory": integer(host.memory.0),
                ":virtualisation": host.virtualisation,
                ":directory": info.storage.directory.to_string_lossy(),
                ":fs_kind": filesystem.kind,
                ":fs_source": filesystem.source,
                ":fs_mount_point": filesystem.mount_point.to_string_lossy(),
                ":fs_options": json("the mount options", serde_json::to_string(&filesystem.options))?,
                ":fs_size": integer(filesystem.size.0),
                ":fs_free": integer(filesystem.free.0),
                ":fs_block": integer(filesystem.block_size.0),
            },
        )?;
        info.storage
            .devices
            .iter()
            .enumerate()
            .try_for_each(|(position, device)| self.device(position, device))
    }

    fn device(&self, position: usize, device: &Device) -> Outcome {
        self.execute(
            "INSERT INTO device (run, position, name, kind, rests_on, major, minor, model, size_bytes,
                 logical_block_bytes, physical_block_bytes, scheduler, write_cache, rotational, read_ahead_bytes)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
            params![
                self.run,
                integer(position as u64),
                device.name,
                device.kind,
                json("the devices beneath", serde_json::to_string(&device.rests_on))?,
                device.number.0,
                device.number.1,
                device.model,
                integer(device.size.0),
                bytes(device.logical_block),
                bytes(device.physical_block),
                device.scheduler,
                device.write_cache,
                device.rotational,
                bytes(device.read_ahead),
            ],
        )?;
        Ok(())
    }

    fn calibrated(&self, calibration: &Calibration) -> Outcome {
        self.execute(
            "UPDATE run SET calibrated_sequence = ?2, clock = ?3, clock_cost_ns = ?4, clock_resolution_ns = ?5,
                    loop_cost_ns = ?6 WHERE id = ?1",
            params![
                self.run,
                self.sequence,
                calibration.clock,
                calibration.clock_cost_ns,
                integer(calibration.clock_resolution.0),
                calibration.loop_cost_ns,
            ],
        )?;
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
        let sql = "INSERT INTO interval_op (interval, kind, operations, bytes, errors, response_sum_ns,
                       response_max_ns, response, service) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
        interval.ops.iter().try_for_each(|op| self.op(sql, id, op))
    }

    fn worker(&self, worker: &WorkerTotals) -> Outcome {
        self.execute(
            "INSERT INTO worker (run, phase, worker, sequence, length_ns) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![self.run, worker.phase, worker.worker, self.sequence, integer(worker.length.0)],
        )?;
        let id = self.connection.last_insert_rowid();
        let sql = "INSERT INTO worker_op (worker, kind, operations, bytes, errors, response_sum_ns,
                       response_max_ns, response, service) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
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
                integer(op.response_max.0),
                op.response.0,
                op.service.0,
            ],
        )?;
        Ok(())
    }

    fn phase_ended(&self, end: &PhaseEnd) -> Outcome {
        let (ending, failure) = words(&end.ending);
        let (outstanding, cache) = (&end.outstanding, &end.cache);
        let (rate, verified) = (end.rate.as_ref(), end.verified.as_ref());
        let count = |of: fn(&Verified) -> u64| verified.map(|verified| integer(of(verified)));
        let damage = verified.map(|verified| serde_json::to_string(&verified.damage)).transpose();
        let damage = json("the kinds of damage", damage)?;
        let changed = self.execute(
            "UPDATE phase SET ending = :ending, failure = :failure, measured_ns = :measured,
                    outstanding_at_end = :at_end, outstanding_lost = :lost, outstanding_oldest_ns = :oldest,
                    backlog = :backlog, requested_read_bytes = :requested_read,
                    requested_written_bytes = :requested_written, device_read_bytes = :device_read,
                    device_written_bytes = :device_written, device_flushes = :flushes, own_read_bytes = :own_read,
                    own_written_bytes = :own_written, resident_before = :before, resident_after = :after,
                    unwritten = :unwritten, compressed = :compressed, zeros = :zeros, unattributed = :unattributed,
                    direct_confirmed = :confirmed,
                    stamp = :stamp, rate_asked = :asked, rate_achieved = :achieved, rate_kept = :kept,
                    verified_units = :units, verified_wrong = :wrong, verified_unknown = :unknown,
                    verified_unreadable = :unreadable, verified_incomplete = :incomplete,
                    verified_damage = :damage,
                    ended_sequence = :sequence
              WHERE run = :run AND number = :number",
            named_params! {
                ":ending": ending,
                ":failure": failure,
                ":measured": integer(end.measured.0),
                ":at_end": integer(outstanding.at_end),
                ":lost": integer(outstanding.lost),
                ":oldest": integer(outstanding.oldest.0),
                ":backlog": integer(outstanding.backlog),
                ":requested_read": integer(cache.requested_read.0),
                ":requested_written": integer(cache.requested_written.0),
                ":device_read": bytes(cache.device_read),
                ":device_written": bytes(cache.device_written),
                ":flushes": cache.device_flushes.map(integer),
                ":own_read": bytes(cache.own_read),
                ":own_written": bytes(cache.own_written),
                ":before": cache.resident_before,
                ":after": cache.resident_after,
                ":unwritten": cache.unwritten,
                ":compressed": cache.compressed,
                ":zeros": cache.zeros,
                ":unattributed": cache.unattributed,
                ":confirmed": cache.direct_confirmed,
                ":stamp": cache.stamp().to_string(),
                ":asked": rate.map(|rate| rate.asked.0),
                ":achieved": rate.map(|rate| rate.achieved.0),
                ":kept": rate.map(|rate| rate.kept),
                ":units": count(|verified| verified.units),
                ":wrong": count(|verified| verified.wrong),
                ":unknown": count(|verified| verified.unknown),
                ":unreadable": count(|verified| verified.unreadable),
                ":incomplete": verified.map(|verified| verified.incomplete),
                ":damage": damage,
                ":sequence": self.sequence,
                ":run": self.run,
                ":number": end.phase,
            },
        )?;
        let out_of_order = Error::OutOfOrder { event: "the end of a phase", missing: "its start" };
        if changed != 1 {
            return Err(Failure::Other(out_of_order));
        }
        self.errors(end.phase, &end.errors)?;
        self.stuck(end.phase, &end.stuck)?;
        self.findings(end.phase, verified.map_or(&[], |verified| &verified.first))
    }

    fn errors(&self, phase: u32, errors: &[ErrorTally]) -> Outcome {
        for (position, error) in errors.iter().enumerate() {
            self.execute(
                "INSERT INTO error (run, phase, position, kind, class, count, first_offsets, first, number)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                params![
                    self.run,
                    phase,
                    integer(position as u64),
                    error.kind.name(),
                    error.class.name(),
                    integer(error.count),
                    json("the offsets of errors", serde_json::to_string(&error.first_offsets))?,
                    error.first,
                    error.number,
                ],
            )?;
        }
        Ok(())
    }

    fn stuck(&self, phase: u32, stuck: &[Stuck]) -> Outcome {
        for (position, operation) in stuck.iter().enumerate() {
            self.execute(
                "INSERT INTO stuck (run, phase, position, worker, kind, offset, age_ns)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                params![
                    self.run,
                    phase,
                    integer(position as u64),
                    operation.worker,
                    operation.kind.name(),
                    integer(operation.offset),
                    integer(operation.age.0),
                ],
            )?;
        }
        Ok(())
    }

    fn findings(&self, phase: u32, findings: &[Finding]) -> Outcome {
        for (position, finding) in findings.iter().enumerate() {
            let damage = finding.damage.map(serde_json::to_value).transpose();
            let damage = json("a kind of damage", damage)?
                .as_ref()
                .and_then(serde_json::Value::as_str)
                .map(str::to_owned);
            self.execute(
                "INSERT INTO finding (run, phase, position, offset, damage, what) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![self.run, phase, integer(position as u64), integer(finding.offset), damage, finding.what],
            )?;
        }
        Ok(())
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
            params![self.run, self.sequence, verdict.profile, word(verdict.fitness)],
        )?;
        for (position, reason) in verdict.reasons.iter().enumerate() {
            self.execute(
                "INSERT INTO reason (run, verdict, position, fitness, what, measured, asked, value, bound,
                                     reservations)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                params![
                    self.run,
                    self.sequence,
                    integer(position as u64),
                    word(reason.fitness),
                    reason.what,
                    reason.measured,
                    reason.asked,
                    reason.value,
                    reason.bound,
                    json("the reservations", serde_json::to_string(&reason.reservations))?,
                ],
            )?;
        }
        Ok(())
    }

    fn run_ended(&self, ending: &Ending) -> Outcome {
        let now = Timestamp::now();
        let (ending, failure) = words(ending);
        self.execute(
            "UPDATE run SET ending = ?2, failure = ?3, finished_unix_ns = ?4, finished_utc = ?5, ended_sequence = ?6
              WHERE id = ?1",
            params![
                self.run,
                ending,
                failure,
                integer(u64::try_from(now.as_nanosecond()).unwrap_or(0)),
                utc(Ok(now)),
                self.sequence,
            ],
        )?;
        Ok(())
    }
}

/// SQLite's integers are signed; what does not fit (292 years in nanoseconds, 8 EiB) becomes the largest.
pub(crate) fn integer(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

pub(crate) fn bytes(value: Option<Bytes>) -> Option<i64> {
    value.map(|bytes| integer(bytes.0))
}

pub(crate) fn json<T>(what: &'static str, value: serde_json::Result<T>) -> Result<T, Failure> {
    value.map_err(|source| Failure::Other(Error::Json { what, source }))
}

/// ISO 8601 in UTC with milliseconds, so that texts sort as times.
pub(crate) fn utc(time: Result<Timestamp, jiff::Error>) -> String {
    time.map_or_else(|_| String::new(), |time| format!("{time:.3}"))
}

fn word(fitness: Fitness) -> String {
    fitness.to_string()
}

/// How an ending is stored: its name, and the error that it says.
fn words(ending: &Ending) -> (&'static str, Option<&str>) {
    match ending {
        Ending::Completed => ("completed", None),
        Ending::Interrupted => ("interrupted", None),
        Ending::Failed(error) => ("failed", Some(error)),
    }
}
