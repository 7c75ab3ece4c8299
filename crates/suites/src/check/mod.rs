//! `iolite check`: is a directory's storage fit for a database?
//!
//! The stages run in a fixed order, each with a share of the time and of the space that the user allows. What is run
//! next depends on what has been measured: the searches for the knee go on until the knee is clear, and what follows
//! is run at the knee.

mod conclude;
mod plan;
mod precondition;
mod tasks;

use iolite_model::{Bytes, Ending, Iops, Measure, Nanos, OpKind, Profile, Task, Warning};
use iolite_results::Run;
use iolite_stats::{Knee, KneeFound, LoadPoint, PhaseResult};

use crate::judge::{HostUse, caps};
use crate::procedure::{Procedure, Step};
use crate::search::{Limits, load_point, next_concurrency};
use plan::{Group, Search, Stage};
pub use tasks::DatabaseSize;

/// What a check is to be like.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckOptions {
    /// What the storage must do.
    pub profile: Profile,
    /// Judge at this rate of random reads instead of at the knee.
    pub target_iops: Option<Iops>,
    /// Judge mean response times of random reads by this instead of by the profile's bounds.
    pub target_response: Option<Nanos>,
    /// Time for everything; at least [`CheckOptions::SHORTEST`].
    pub time: Nanos,
    /// Bytes that may be written; at least [`CheckOptions::SMALLEST`].
    pub space: Bytes,
    /// Fill, write until the rate is steady, and read for a quarter of the time before anything is judged.
    pub thorough: bool,
    /// Free space: the data file takes four fifths of it at most.
    pub free: Bytes,
    /// Whether the storage takes direct I/O.
    pub direct: bool,
    /// Whether io_uring can be used.
    pub io_uring: bool,
    /// Whether each device beneath has a volatile write cache, which a sync must have it flush.
    pub flushes: bool,
    /// What keeps the data only until the next restart (tmpfs, a device in memory), where it does.
    pub volatile: Option<String>,
    /// Size of a device beneath that rotates, where there is one: its speed depends on where it is read.
    pub rotational: Option<Bytes>,
    /// Processors.
    pub cpus: u32,
    /// Seed of all that is random.
    pub seed: u64,
}

/// Why a check cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// Too little time.
    #[error("a check of {0} is too short to be meaningful: specify --budget-time {min} or more", min = CheckOptions::SHORTEST)]
    Time(Nanos),
    /// Too little space.
    #[error(
        "a check with {0} of written data is too small to be meaningful: specify --budget-space {min} or more, and free some \
         space if necessary (the default is a tenth of the free space, at most 4 GiB)",
        min = CheckOptions::SMALLEST
    )]
    Space(Bytes),
}

/// The procedure.
#[derive(Debug, Clone)]
pub struct Check {
    options: CheckOptions,
    /// Stages not yet finished, the present one first.
    ahead: Vec<Stage>,
    /// Which stage each phase of the history was run for.
    run: Vec<Stage>,
    /// Groups of stages whose undecided criteria have been given further windows.
    extended: Vec<Group>,
    left_out: Vec<Warning>,
    /// Other load on the device.
    foreign: Vec<Warning>,
    /// What was seen of the database that caps the verdict.
    database: Vec<Warning>,
    /// What the load generator used of its host.
    host: HostUse,
}

impl CheckOptions {
    /// The shortest time that gives each stage some tenths of a second.
    pub const SHORTEST: Nanos = Nanos(10_000_000_000);

    /// The smallest space that gives each stage something to write.
    pub const SMALLEST: Bytes = Bytes(64 << 20);

    /// The space used unless the user says otherwise: a tenth of what is free, at most 4 GiB.
    pub fn default_space(free: Bytes) -> Bytes {
        Bytes((free.0 / 10).min(4 << 30))
    }

    /// Bytes that a thorough check writes unless the user says otherwise: as many as fill the free space's four fifths, and
    /// nearly as many again at random.
    pub fn thorough_space(free: Bytes) -> Bytes {
        Bytes((free.0 as f64 * tasks::FILLED / tasks::FILL_SHARE) as u64)
    }

    /// The time used unless the user says otherwise.
    pub const DEFAULT_TIME: Nanos = Nanos(90_000_000_000);

    /// The time of a thorough check unless the user says otherwise.
    pub const THOROUGH_TIME: Nanos = Nanos(2 * 3_600_000_000_000);
}

impl Check {
    /// Name of the file that is read and written, within the run's directory.
    pub const DATA_FILE: &str = "data";

    /// A check with these options.
    ///
    /// # Errors
    /// The time or the space is too small to say anything.
    pub fn new(mut options: CheckOptions) -> Result<Check, CheckError> {
        if options.time < CheckOptions::SHORTEST {
            return Err(CheckError::Time(options.time));
        }
        if options.space < CheckOptions::SMALLEST {
            return Err(CheckError::Space(options.space));
        }
        if let Some(bound) = options.target_response {
            tasks::demand_response(&mut options.profile, bound);
        }
        let ahead = plan::stages(&options);
        let host = HostUse::default();
        let (run, left_out, foreign) = (Vec::new(), Vec::new(), Vec::new());
        let (extended, database) = (Vec::new(), Vec::new());
        Ok(Check { options, ahead, run, extended, left_out, foreign, database, host })
    }

    /// The next step, from what has been measured so far (one result per task, in order) and the time used.
    pub(crate) fn step(&mut self, history: &[PhaseResult], elapsed: Nanos) -> Step<DatabaseSize> {
        self.lost_database(history);
        while let Some(stage) = self.next_stage(history) {
            let runs = self.run.iter().filter(|&&run| run == stage).count();
            // A search goes on until it is content; all else occurs as often as it is to be run.
            if !stage.is_repeated() {
                self.ahead.remove(0);
            }
            if stage == Stage::CreateDatabase {
                if elapsed > stage.deadline(&self.options) || self.is_unwritable(history) {
                    self.without_database("the time budget is used up; use a larger --budget-time".into());
                    continue;
                }
                return Step::Prepare(tasks::database_size(&self.options, self.layout(history)));
            }
            match self.task(stage, runs, history, elapsed) {
                Some(task) if self.is_further(stage, runs) && !self.fits(stage, &task, history, elapsed) => {}
                Some(task) if elapsed.0 + length(&task).0 > self.options.time.0 => {
                    let why = "the time budget is used up; use a larger --budget-time".into();
                    // A search that has begun rests on what it has.
                    if runs == 0 {
                        self.left_out.push(Warning::LeftOut { what: format!("`{}`", task.name()), why });
                    }
                    self.end_search(stage);
                }
                Some(task) => {
                    // A seed for each phase: what one has read or written helps no cache or deduplication in the next.
                    let seed = self.options.seed.wrapping_add(self.run.len() as u64);
                    self.run.push(stage);
                    return Step::Run(vec![task.with_seed(seed)]);
                }
                None => self.end_search(stage),
            }
        }
        Step::Done(self.conclude(history))
    }

    /// The stage that is due. Before the first write, further windows of reads that could decide an undecided criterion, so that
    /// they too find the device as it was; at the end those of writes. What is run then is settled by one look at the results, and not
    /// by whether they look good meanwhile.
    fn next_stage(&mut self, history: &[PhaseResult]) -> Option<Stage> {
        let reads_over = self.ahead.first().is_none_or(|stage| Group::Writes.has(*stage));
        for (group, is_due) in [(Group::Reads, reads_over), (Group::Writes, self.ahead.is_empty())] {
            if is_due && !self.extended.contains(&group) {
                self.extended.push(group);
                let mut undecided = self.undecided(history);
                undecided.retain(|stage| group.has(*stage));
                self.ahead.splice(0..0, plan::further_windows(&undecided, &self.options));
            }
        }
        self.ahead.first().copied()
    }

    /// Whether a window is one of those that were not planned.
    fn is_further(&self, stage: Stage, runs: usize) -> bool {
        !stage.is_repeated() && runs >= stage.windows(&self.options)
    }

    /// Whether there is time and space for a window that was not planned.
    fn fits(&self, stage: Stage, task: &Task, history: &[PhaseResult], elapsed: Nanos) -> bool {
        let time = if Group::Reads.has(stage) { self.reads_end(history, elapsed) } else { self.options.time };
        elapsed.0.saturating_add(length(task).0) <= time.0 && self.may_write(stage, task, history)
    }

    /// By when reads must be over, so that all that is planned after them has its time.
    fn reads_end(&self, history: &[PhaseResult], elapsed: Nanos) -> Nanos {
        let writes = self.ahead.iter().filter(|stage| Group::Writes.has(**stage));
        let tasks = writes.filter_map(|&stage| self.task(stage, 0, history, elapsed));
        let writes: u64 = tasks.map(|task| length(&task).0).sum();
        let database = self.ahead.iter().any(|stage| stage.needs_database());
        let database = if database { tasks::database_time(&self.options).0 } else { 0 };
        Nanos(self.options.time.0.saturating_sub(writes.saturating_add(database)))
    }

    /// Whether another window of a stage stays within what the stage may write.
    fn may_write(&self, stage: Stage, task: &Task, history: &[PhaseResult]) -> bool {
        let windows = stage.windows(&self.options) as u64;
        let (mut bytes, mut sets) = (0, 0);
        for result in self.results(stage, history) {
            bytes += result.end.cache.requested_written.0;
            sets += result.totals.whole(OpKind::Write).0;
        }
        let within =
            |limit: Option<u64>, used: u64| limit.is_none_or(|limit| used + limit <= limit * windows);
        let stop = task.stop();
        within(stop.bytes.map(|bytes| bytes.0), bytes) && within(stop.operations, sets)
    }

    /// A database in which a phase has failed is not measured any further; that is not a reason to drop the rest.
    fn lost_database(&mut self, history: &[PhaseResult]) {
        if let Some(PhaseResult { info, end, .. }) = history.last()
            && matches!(info.task, Task::Database(_))
            && let Ending::Failed(reason) = &end.ending
            && self.ahead.iter().any(|stage| stage.needs_database())
        {
            self.without_database(reason.clone());
        }
    }

    /// Notes that there is no database, so that its stages are left out.
    pub fn without_database(&mut self, why: String) {
        self.left_out.push(Warning::LeftOut { what: "the database layer".into(), why });
        self.ahead.retain(|stage| !stage.needs_database());
    }

    /// Takes note of what was beside the storage, and of what the load generator used of its host.
    fn take_note(&mut self, warnings: &[Warning], host: HostUse) {
        let (foreign, database) =
            caps(warnings).cloned().partition(|warning| matches!(warning, Warning::ForeignLoad { .. }));
        (self.foreign, self.database) = (foreign, database);
        self.host = host;
    }

    /// Goes on to the next stage, where a search is over.
    fn end_search(&mut self, stage: Stage) {
        if stage.is_repeated() {
            self.ahead.retain(|&other| other != stage);
        }
    }

    /// The task of a stage that has been run `runs` times; `None` when the stage is finished or has to be left out.
    fn task(&self, stage: Stage, runs: usize, history: &[PhaseResult], elapsed: Nanos) -> Option<Task> {
        if self.is_unwritable(history) {
            return None;
        }
        let late = elapsed.0 > stage.deadline(&self.options).0;
        let layout = self.layout(history);
        let knee = |search| self.knee(search, history).map(|found| found.knee);
        match stage {
            Stage::Search(what) => {
                let points = self.points(stage, history);
                if points.len() < runs {
                    // Nothing came back: more load won't help.
                    return None;
                }
                let limits = Limits {
                    highest: what.highest(),
                    response: tasks::response_limit(&self.options, what),
                    refinements: 2,
                };
                // Two points are the least that a knee can be found from.
                let concurrency = next_concurrency(&points, limits).filter(|_| !late || runs < 2)?;
                Some(tasks::search(&self.options, what, layout, concurrency))
            }
            Stage::Precondition => {
                let goes_on = runs < tasks::ROUNDS && !late && !self.is_steady(history);
                goes_on.then(|| tasks::precondition(&self.options, layout))
            }
            Stage::Sustained => {
                let concurrency = knee(Search::Read8k).map_or(1, |knee| knee.concurrency);
                Some(tasks::sustained(&self.options, layout, concurrency))
            }
            Stage::AtKnee(what) => {
                // Without a knee, for lack of points, only the smallest load can be judged.
                let knee = knee(what).map_or((1, f64::INFINITY), |knee| (knee.concurrency, knee.throughput));
                Some(tasks::at_knee(&self.options, what, layout, knee))
            }
            Stage::AtTarget(what) => {
                let target = self.options.target_iops?;
                let reachable =
                    knee(what).is_none_or(|knee| !knee.saturated || knee.plateau.high >= target.0);
                reachable.then(|| tasks::at_target(&self.options, what, layout, target))
            }
            Stage::RandomWrite => {
                let concurrency = knee(Search::Read8k).map_or(0, |knee| knee.concurrency);
                Some(tasks::random_write(&self.options, layout, concurrency))
            }
            Stage::Commit(pattern) => Some(tasks::commit(&self.options, layout, pattern, runs)),
            _ => tasks::fixed(&self.options, stage, layout),
        }
    }

    /// Whether hardly a write of the layout came back: there is nothing to read then, and the verdict says why.
    fn is_unwritable(&self, history: &[PhaseResult]) -> bool {
        self.run.first() == Some(&Stage::Layout) && self.layout(history).size < tasks::MIN_LAYOUT
    }

    /// Bytes of the data file that have been laid out, and how fast.
    fn layout(&self, history: &[PhaseResult]) -> tasks::Layout {
        let result = self.results(Stage::Layout, history).next();
        let bytes = result.map_or(0, |result| result.end.cache.requested_written.0);
        let rate =
            result.and_then(|result| result.summary(OpKind::Write)).map(|summary| summary.bytes_per_second);
        tasks::Layout { size: Bytes(bytes), bytes_per_second: rate }
    }

    fn results<'a>(&self, stage: Stage, history: &'a [PhaseResult]) -> impl Iterator<Item = &'a PhaseResult> {
        self.run.iter().zip(history).filter(move |(run, _)| **run == stage).map(|(_, result)| result)
    }

    fn points(&self, stage: Stage, history: &[PhaseResult]) -> Vec<LoadPoint> {
        self.results(stage, history).filter_map(load_point).collect()
    }

    fn knee(&self, search: Search, history: &[PhaseResult]) -> Option<KneeFound> {
        let stage = Stage::Search(search);
        let knee = Knee::fit(&self.points(stage, history), self.options.seed)?;
        let phases = self.results(stage, history).map(|result| result.info.index).collect();
        Some(KneeFound { name: search.name().into(), phases, knee })
    }
}

impl Procedure for Check {
    type Preparation = DatabaseSize;

    fn next(&mut self, run: &Run, elapsed: Nanos) -> Step<DatabaseSize> {
        self.take_note(&run.warnings, HostUse::of(run));
        self.step(&run.phases, elapsed)
    }
}

/// What starting and collecting a phase adds to its time.
const AROUND: Nanos = Nanos(100_000_000);

/// How long a phase will take.
fn length(task: &Task) -> Nanos {
    Nanos(task.ramp().known_time().0 + task.stop().runtime.map_or(0, |runtime| runtime.0) + AROUND.0)
}

/// Which stage shows what a criterion asks about; of several, the first that was run.
type Judged = (Measure, Stage, OpKind);

#[cfg(test)]
mod devices;
#[cfg(test)]
pub(crate) mod tests;
