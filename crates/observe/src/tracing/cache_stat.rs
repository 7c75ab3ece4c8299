//! Hits and misses of the page cache, as far as this host shows them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use iolite_model::ReadingValue;

use super::cache_counter::{CacheCounter, CacheCounts, EVENTS};
use super::instance::{TraceError, TraceInstance};
use crate::probe::{HeldFile, Probe, ProbeError, Subject, number_of};
use crate::probes::PageCache;

/// Between two looks at the trace, where it is not half full before.
const TICK: Duration = Duration::from_millis(20);

/// Reads what the page cache did: its counters and its size and, where it can trace them, lookups and additions.
///
/// Counters of tracing: `looked_up_pages` (by reads and faults), `added_for_reads_pages`, `added_for_writes_pages`,
/// `lost_events`. They are absent where nothing can be traced.
#[derive(Debug)]
pub struct CacheStat {
    counters: PageCache,
    memory: HeldFile,
    tracing: Option<Tracing>,
}

/// The thread that reads the trace.
#[derive(Debug)]
struct Tracing {
    counter: Arc<Mutex<CacheCounter>>,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl CacheStat {
    /// Of this host; with the reason where nothing can be traced.
    ///
    /// # Errors
    /// /proc/vmstat or /proc/meminfo can't be opened.
    pub fn open() -> Result<(CacheStat, Option<TraceError>), ProbeError> {
        let (counters, memory) = (PageCache::open()?, HeldFile::open("/proc/meminfo")?);
        let (tracing, reason) = match Tracing::start() {
            Ok(tracing) => (Some(tracing), None),
            Err(reason) => (None, Some(reason)),
        };
        Ok((CacheStat { counters, memory, tracing }, reason))
    }
}

impl Probe for CacheStat {
    fn name(&self) -> &'static str {
        "cachestat"
    }

    fn read(&mut self) -> Result<Vec<Subject>, ProbeError> {
        let traced = self.tracing.as_ref().map(Tracing::counts);
        let mut subjects = self.counters.read()?;
        let cached = number_of(self.memory.read()?, "Cached").map(|kibibytes| kibibytes * 1024.0);
        for subject in &mut subjects {
            subject.values.extend(cached.map(|bytes| ReadingValue::gauge("page_cache_bytes", bytes)));
            subject.values.extend(traced.iter().flat_map(traced_values));
        }
        Ok(subjects)
    }
}

fn traced_values(counts: &CacheCounts) -> [ReadingValue; 4] {
    [
        ("looked_up_pages", counts.read + counts.faulted),
        ("added_for_reads_pages", counts.added_for_reads),
        ("added_for_writes_pages", counts.added_for_writes),
        ("lost_events", counts.lost),
    ]
    .map(|(name, count)| ReadingValue::counter(name, count as f64))
}

impl Tracing {
    fn start() -> Result<Tracing, TraceError> {
        let mut instance = TraceInstance::start(&EVENTS, "")?;
        let counter = Arc::new(Mutex::new(CacheCounter::new(iolite_sys::page_cache::page_size())));
        let ended = Arc::new(AtomicBool::new(false));
        let (counts, end) = (counter.clone(), ended.clone());
        let spawned = thread::Builder::new().name("cachestat".into()).spawn(move || {
            while !end.load(Ordering::Relaxed) {
                instance.wait(TICK);
                let mut counter = counts.lock().unwrap_or_else(PoisonError::into_inner);
                if instance.read(|line| counter.line(line)).is_err() {
                    return;
                }
            }
        });
        match spawned {
            Ok(thread) => Ok(Tracing { counter, ended, thread: Some(thread) }),
            Err(source) => Err(TraceError::NoThread(source)),
        }
    }

    fn counts(&self) -> CacheCounts {
        self.counter.lock().unwrap_or_else(PoisonError::into_inner).counts()
    }
}

impl Drop for Tracing {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic of it has been printed.
            let _ = thread.join();
        }
    }
}
