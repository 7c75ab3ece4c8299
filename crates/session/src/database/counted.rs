//! What devices, database, program and host count during a phase inside a database.

use std::sync::Arc;
use std::time::Duration;

use iolite_db::{Instance, LatestCounters, Monitor, Waited};
use iolite_model::{DatabaseUse, DeviceCounters, Nanos};
use iolite_observe::{LeafCounters, busy_cpu};
use iolite_sys::usage;

use super::storage::DatabaseStorage;

/// Readings at the beginning of a phase.
pub(super) struct Counted {
    monitor: Option<Monitor>,
    data: Option<DeviceCounters>,
    log: Option<DeviceCounters>,
    tool: Duration,
    host: Option<Nanos>,
}

impl Counted {
    /// Reads for the first time.
    pub(super) fn start(storage: &DatabaseStorage, database: Arc<dyn Instance>) -> Counted {
        let monitor = Monitor::start(database);
        Counted {
            monitor,
            data: read(storage.data.as_deref()),
            log: read(storage.log.as_deref()),
            tool: usage::of_this_process().unwrap_or_default(),
            host: busy_cpu(),
        }
    }

    /// The database's counters as they are read from here on.
    pub(super) fn latest(&self) -> Option<LatestCounters> {
        self.monitor.as_ref().map(Monitor::latest)
    }

    /// What was counted since, and the waits for locks that lasted, the longest first.
    pub(super) fn finish(self, storage: &DatabaseStorage, phase: u32) -> (DatabaseUse, Vec<Waited>) {
        let since = |counters: Option<&LeafCounters>, before: Option<DeviceCounters>| {
            read(counters).zip(before).map(|(now, before)| now.since(before))
        };
        let (data, log) =
            (since(storage.data.as_deref(), self.data), since(storage.log.as_deref(), self.log));
        let tool = usage::of_this_process().unwrap_or_default().saturating_sub(self.tool);
        let host = busy_cpu().zip(self.host).map(|(now, before)| now.saturating_sub(before));
        let seen = self.monitor.map(Monitor::finish).unwrap_or_default();
        let used = DatabaseUse {
            phase,
            data_device: data,
            log_device: log,
            database: seen.physical,
            writer_active: seen.writer_active,
            observed: seen.observed,
            tool_cpu: Nanos(u64::try_from(tool.as_nanos()).unwrap_or(u64::MAX)),
            host_cpu: host,
        };
        (used, seen.lock_waits)
    }
}

fn read(counters: Option<&LeafCounters>) -> Option<DeviceCounters> {
    counters?.read().ok()
}
