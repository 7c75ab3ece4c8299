//! A database from nothing: the items by one worker, warehouses by as many as are wished for.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use iolite_db::{Error, Result};

use super::contract::{Database, Progress, proceed};
use super::layout::Layout;
use super::populate::Population;

/// Time between two looks at what the workers have done.
const LOOK: Duration = Duration::from_millis(100);
/// Rows after which a worker makes its progress known.
const ROWS: u64 = 500;

/// Builds the database. `progress` is first called when something has been created.
///
/// # Errors
/// As [`Database::create`], and whatever the database refuses; [`Error::Cancelled`]. What was created until then stays until
/// [`Database::purge`].
pub fn build(
    database: &dyn Database,
    layout: Layout,
    workers: u32,
    seed: u64,
    progress: &mut Progress<'_>,
) -> Result<()> {
    let workers = database.loaders(workers).clamp(1, layout.warehouses + 1);
    let layout = Layout { loaders: workers, ..layout };
    database.create(layout)?;
    proceed(progress(0, layout.rows()))?;
    let site = Site {
        database,
        layout,
        seed,
        next: AtomicU32::new(0),
        rows: AtomicU64::new(0),
        over: AtomicBool::new(false),
    };
    site.work(workers, progress)?;
    proceed(progress(layout.rows(), layout.rows()))?;
    database.finish()
}

/// What the workers of a build share.
struct Site<'a> {
    database: &'a dyn Database,
    layout: Layout,
    seed: u64,
    /// The next part: 0 is the items, others are warehouses.
    next: AtomicU32,
    rows: AtomicU64,
    /// One has failed, or the caller wants an end.
    over: AtomicBool,
}

impl Site<'_> {
    fn work(&self, workers: u32, progress: &mut Progress<'_>) -> Result<()> {
        thread::scope(|scope| {
            let (ended, ends) = mpsc::channel();
            for _ in 0..workers {
                let own = ended.clone();
                let spawned = thread::Builder::new().spawn_scoped(scope, move || {
                    let done = self.worker();
                    if done.is_err() {
                        self.over.store(true, Ordering::Relaxed);
                    }
                    // The receiver lives as long as the scope.
                    let _ = own.send(done);
                });
                if let Err(error) = spawned {
                    self.over.store(true, Ordering::Relaxed);
                    let _ = ended.send(Err(Error::thread(error)));
                    break;
                }
            }
            drop(ended);
            let mut failure = None;
            loop {
                match ends.recv_timeout(LOOK) {
                    // Others were only cut short by the first that failed.
                    Ok(Err(error)) if !matches!(failure, Some(Error::Engine { .. } | Error::Io { .. })) => {
                        failure = Some(error);
                    }
                    Ok(_) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                    Err(RecvTimeoutError::Timeout) => {
                        // The number of lines of an order is random.
                        let total = self.layout.rows();
                        let rows = self.rows.load(Ordering::Relaxed).min(total);
                        if let ControlFlow::Break(()) = progress(rows, total) {
                            self.over.store(true, Ordering::Relaxed);
                            failure.get_or_insert(Error::Cancelled);
                        }
                    }
                }
            }
            failure.map_or(Ok(()), Err)
        })
    }

    fn worker(&self) -> Result<()> {
        let mut loader = self.database.loader()?;
        let mut pending = 0;
        let mut count = |rows: u64| {
            pending += rows;
            if pending < ROWS {
                return Ok(());
            }
            self.rows.fetch_add(std::mem::take(&mut pending), Ordering::Relaxed);
            if self.over.load(Ordering::Relaxed) { Err(Error::Cancelled) } else { Ok(()) }
        };
        loop {
            let part = self.next.fetch_add(1, Ordering::Relaxed);
            if part > self.layout.warehouses {
                return Ok(());
            }
            let mut population = Population::new(self.layout, self.seed, part, loader.as_mut(), &mut count);
            match part {
                0 => population.items()?,
                warehouse => population.warehouse(warehouse.into())?,
            }
        }
    }
}
