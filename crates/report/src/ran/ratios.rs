//! Physical against logical: what the operations asked of a database took, for each of them.

use iolite_model::{Bytes, DatabaseUse, DeviceCounters, OpKind};
use iolite_stats::PhaseResult;
use serde::Serialize;

/// What was asked of the database over the whole phase, ramp and drain included, as its physical counters are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Logical {
    pub(super) reads: u64,
    pub(super) read: Bytes,
    pub(super) sets: u64,
    pub(super) set: Bytes,
    pub(super) commits: u64,
}

/// Writes of the log: as the database counts them, else as a device of its own does.
#[derive(Debug, Clone, Copy)]
pub(super) struct Log {
    pub(super) writes: Option<u64>,
    pub(super) bytes: Option<u64>,
    pub(super) syncs: Option<u64>,
    /// Rendered by the log's device: everybody's.
    pub(super) by_device: bool,
}

/// Physical operations for each logical one. `None` where there was nothing to compare.
#[derive(Serialize)]
pub(super) struct Ratios {
    pub(super) device_reads_per_read: Option<f64>,
    pub(super) database_reads_per_read: Option<f64>,
    /// Where no blocks were read by number: what sets had to read.
    pub(super) device_reads_per_set: Option<f64>,
    /// At least this share of the block reads came from a cache.
    pub(super) cached_share: Option<f64>,
    pub(super) device_writes_per_set: Option<f64>,
    pub(super) device_written_bytes_per_set: Option<f64>,
    pub(super) database_writes_per_set: Option<f64>,
    pub(super) log_bytes_per_set: Option<f64>,
    pub(super) log_bytes_per_commit: Option<f64>,
    pub(super) log_writes_per_commit: Option<f64>,
    pub(super) log_syncs_per_commit: Option<f64>,
    /// Of the device that the log is on.
    pub(super) device_flushes_per_commit: Option<f64>,
    /// Share of the time looked at.
    pub(super) writer_active: Option<f64>,
    /// This program's share of the CPU time that the host was busy.
    #[serde(rename = "tool_of_host_cpu")]
    pub(super) tool_of_host: Option<f64>,
    /// This program's CPU time in CPUs.
    pub(super) tool_cpus: Option<f64>,
}

impl Logical {
    pub(super) fn of(phase: &PhaseResult) -> Logical {
        let (reads, read) = phase.totals.whole(OpKind::Read);
        let (sets, set) = phase.totals.whole(OpKind::Write);
        let (commits, _) = phase.totals.whole(OpKind::Commit);
        Logical { reads, read: Bytes(read), sets, set: Bytes(set), commits }
    }
}

impl Log {
    pub(super) fn of(used: &DatabaseUse) -> Log {
        let own = used.database;
        match used.log_device {
            Some(device)
                if own.log_writes.is_none() && own.log_write_bytes.is_none() && own.log_syncs.is_none() =>
            {
                Log {
                    writes: Some(device.writes),
                    bytes: Some(device.written.0),
                    syncs: Some(device.flushes),
                    by_device: true,
                }
            }
            _ => Log {
                writes: own.log_writes,
                bytes: own.log_write_bytes,
                syncs: own.log_syncs,
                by_device: false,
            },
        }
    }
}

impl Ratios {
    pub(super) fn of(phase: &PhaseResult, used: &DatabaseUse) -> Ratios {
        let logical = Logical::of(phase);
        let log = Log::of(used);
        let per = |physical: Option<u64>, logical: u64| {
            physical.filter(|_| logical > 0).map(|physical| physical as f64 / logical as f64)
        };
        let of_data = |of: fn(&DeviceCounters) -> u64| used.data_device.as_ref().map(of);
        let share = |part: Option<u64>, whole: Option<u64>| {
            whole.filter(|&whole| whole > 0).and_then(|whole| Some(part? as f64 / whole as f64))
        };
        let device_reads = of_data(|device| device.reads);
        let reads_per_read = per(device_reads, logical.reads);
        Ratios {
            device_reads_per_read: reads_per_read,
            database_reads_per_read: per(used.database.data_reads, logical.reads),
            device_reads_per_set: per(device_reads.filter(|_| logical.reads == 0), logical.sets),
            cached_share: reads_per_read.map(|ratio| (1.0 - ratio).max(0.0)),
            device_writes_per_set: per(of_data(|device| device.writes), logical.sets),
            device_written_bytes_per_set: per(of_data(|device| device.written.0), logical.sets),
            database_writes_per_set: per(used.database.data_writes, logical.sets),
            log_bytes_per_set: per(log.bytes, logical.sets),
            log_bytes_per_commit: per(log.bytes, logical.commits),
            log_writes_per_commit: per(log.writes, logical.commits),
            log_syncs_per_commit: per(log.syncs, logical.commits),
            device_flushes_per_commit: per(
                used.log_device.or(used.data_device).map(|device| device.flushes),
                logical.commits,
            ),
            writer_active: share(used.writer_active.map(|active| active.0), Some(used.observed.0)),
            tool_of_host: share(Some(used.tool_cpu.0), used.host_cpu.map(|busy| busy.0)),
            tool_cpus: share(Some(used.tool_cpu.0), Some(used.observed.0)),
        }
    }
}
