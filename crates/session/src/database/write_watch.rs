//! Watches what is written during a phase inside a database, and how much space is left: the database writes, not this program,
//! so that the phase is ended when a limit is met.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use iolite_db::Instance;
use iolite_db::space::free_space;
use iolite_engine::Control;
use iolite_model::{Bytes, Filesystem};
use iolite_observe::LeafCounters;

use super::storage::DatabaseStorage;
use crate::writes::WriteLimits;

/// How often it is looked at.
const LOOK: Duration = Duration::from_millis(200);

/// What is to be watched.
pub(super) struct WriteWatch {
    written: WriteCounter,
    limits: WriteLimits,
    /// Bytes that may still be written.
    left: Option<Bytes>,
    directories: Vec<PathBuf>,
    filesystem: Filesystem,
}

/// What was seen during a phase.
#[derive(Debug, Default)]
pub(super) struct WritesSeen {
    /// Bytes that were written, as far as they are counted.
    pub(super) written: Bytes,
    /// Why the phase was ended before its time.
    pub(super) ended: Option<String>,
}

/// Watches a phase that runs.
pub(super) struct RunningWatch {
    stop: Sender<()>,
    thread: Option<JoinHandle<WritesSeen>>,
}

/// Who counts what is written.
enum WriteCounter {
    /// The devices under data and log: everybody's writes.
    Devices(Vec<Arc<LeafCounters>>),
    /// The database, whose devices can't be seen.
    Database(Arc<dyn Instance>),
}

impl WriteCounter {
    fn read(&self) -> Option<u64> {
        match self {
            WriteCounter::Devices(devices) => {
                devices.iter().map(|device| Some(device.read().ok()?.written.0)).sum()
            }
            WriteCounter::Database(instance) => {
                let counted = instance.counters().ok()?;
                Some(counted.data_write_bytes? + counted.log_write_bytes.unwrap_or(0))
            }
        }
    }
}

impl WriteWatch {
    /// Of a database on this storage, which may still write `left`.
    pub(super) fn new(
        storage: &DatabaseStorage,
        instance: &Arc<dyn Instance>,
        limits: WriteLimits,
        left: Option<Bytes>,
    ) -> WriteWatch {
        let devices: Vec<_> = storage.data.iter().chain(&storage.log).cloned().collect();
        WriteWatch {
            written: match devices.is_empty() {
                true => WriteCounter::Database(instance.clone()),
                false => WriteCounter::Devices(devices),
            },
            limits,
            left,
            directories: storage.directories.clone(),
            filesystem: storage.storage.filesystem.clone(),
        }
    }

    /// Begins, and ends the phase of this number when a limit is met.
    pub(super) fn start(self, control: Control, phase: u32) -> RunningWatch {
        let (stop, stopped) = mpsc::channel::<()>();
        let before = self.written.read();
        let watch = move || {
            let mut ended = None;
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(LOOK) {
                if ended.is_none()
                    && let Some(why) = self.reached(before)
                {
                    control.end_phase(phase);
                    ended = Some(why);
                }
            }
            WritesSeen { written: self.since(before).unwrap_or_default(), ended }
        };
        // Without a thread nothing is watched, and the phase could not start its own either.
        RunningWatch { stop, thread: thread::Builder::new().name("writes".into()).spawn(watch).ok() }
    }

    fn since(&self, before: Option<u64>) -> Option<Bytes> {
        // Counters only go back where the server was restarted, or the device was replaced.
        Some(Bytes(self.written.read()?.saturating_sub(before?)))
    }

    /// Which limit is met.
    fn reached(&self, before: Option<u64>) -> Option<String> {
        if let Some(left) = self.left
            && let Some(written) = self.since(before).filter(|written| *written >= left)
        {
            let by = match self.written {
                WriteCounter::Devices(_) => "its devices have counted",
                WriteCounter::Database(_) => "the server has counted",
            };
            return Some(format!("{by} {written} of writes, and --max-write allows no more"));
        }
        let kept = self.limits.kept_of_database(&self.filesystem)?;
        let is_short = |path: &PathBuf| {
            let free = free_space(path).ok().filter(|free| *free < kept)?;
            let path = path.display();
            Some(format!("{free} free in {path}, but {kept} must remain free (--keep-free)"))
        };
        self.directories.iter().find_map(is_short)
    }
}

/// What is written to a database from a moment on by whoever writes, and the space that it leaves, against limits.
pub struct DatabaseWrites {
    watch: WriteWatch,
    before: Option<u64>,
}

impl DatabaseWrites {
    /// From now on.
    pub fn begin(
        storage: &DatabaseStorage,
        instance: &Arc<dyn Instance>,
        limits: WriteLimits,
    ) -> DatabaseWrites {
        let watch = WriteWatch::new(storage, instance, limits, limits.max);
        let before = watch.written.read();
        DatabaseWrites { watch, before }
    }

    /// Which limit is met, if any.
    pub fn reached(&self) -> Option<String> {
        self.watch.reached(self.before)
    }
}

impl RunningWatch {
    /// Ends the watch; what was seen.
    pub(super) fn finish(self) -> WritesSeen {
        drop(self.stop);
        // A thread that has panicked has seen nothing.
        self.thread.and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}
