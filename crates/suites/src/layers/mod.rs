//! One workload through every layer above a device, in turns: what each layer costs.
//!
//! Random reads of 8 KiB with one outstanding and at the knee, commits of 8 KiB, and a sequential scan run on the raw device, on a
//! file past the page cache, on the same file through the page cache, and inside databases. The windows of all layers are run in
//! random order, several times, so that drift of the host affects all layers alike and the intervals include it.

mod findings;
mod tasks;

use std::path::PathBuf;

use iolite_model::{Bytes, Concluded, Ending, Nanos, Task};
use iolite_results::Run;
use iolite_stats::{Knee, PhaseResult};

use crate::check::DatabaseSize;
use crate::procedure::{Conclusions, CutShort, Procedure, Step};
use crate::search::{Limits, load_point, next_concurrency};
use crate::shuffle::shuffle;

/// What is compared.
#[derive(Debug, Clone)]
pub struct LayersOptions {
    /// The device below the file system, if it is to be read too. It is never written.
    pub device: Option<PathBuf>,
    /// Databases, in the order in which the environment knows them.
    pub databases: Vec<LayersDatabase>,
    /// Whether the file system accepts O_DIRECT.
    pub direct: bool,
    /// Whether io_uring is available.
    pub io_uring: bool,
    /// Size of the data file, and at least that of the run's own database.
    pub size: Bytes,
    /// Measured time of each window.
    pub window: Nanos,
    /// Windows of each layer and shape.
    pub rounds: u32,
    /// Seed of the order and of all offsets.
    pub seed: u64,
}

/// A database among the layers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayersDatabase {
    /// Its name in the results, for example `PostgreSQL`.
    pub name: String,
    /// Whether commits are measured in it.
    pub commits: DatabaseCommits,
    /// Who times its operations.
    pub timed_by: iolite_model::TimedBy,
    /// Whether it is the run's own, which has to be created first.
    pub own: bool,
}

/// Whether commits are measured in a database, or why not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatabaseCommits {
    /// They are.
    Measured,
    /// It has no global to write to.
    NoGlobals,
    /// It replays what another server writes, and only reads.
    Standby,
}

impl LayersDatabase {
    /// Whether a task is for this database.
    pub fn has(&self, task: &Task) -> bool {
        task.name().ends_with(&format!(", {}", self.name))
    }
}

/// A layer that the workload goes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Path {
    /// The block device itself.
    Device,
    /// A file, past the page cache.
    Direct,
    /// The same file, through the page cache.
    Buffered,
    /// A database, by number.
    Database(usize),
}

/// A workload that every layer is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Random reads, one after the other.
    ReadOne,
    /// Random reads, as many outstanding as at the knee of the file system.
    ReadKnee,
    /// Commits, one after the other.
    Commit,
    /// A sequential scan.
    Scan,
}

impl Shape {
    const ALL: [Shape; 4] = [Shape::ReadOne, Shape::ReadKnee, Shape::Commit, Shape::Scan];
}

/// What a phase was run for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Layout,
    Search,
    Window(Path, Shape),
}

/// The most operations that the search for the knee keeps outstanding.
const HIGHEST: u32 = 64;
/// Loads that a search tries, about.
const SEARCHED: usize = 9;
/// Mean response time that ends the search.
const RESPONSE: Nanos = Nanos(10_000_000);

/// The procedure.
#[derive(Debug, Clone)]
pub struct Layers {
    options: LayersOptions,
    /// What each phase of the history was run for.
    run: Vec<Stage>,
    /// The windows to come; `None` until the knee is known.
    ahead: Option<Vec<(Path, Shape)>>,
    created: bool,
}

impl Layers {
    /// Name of the file that is read and written, within the run's directory.
    pub const DATA_FILE: &str = "data";

    /// A comparison with these options.
    pub fn new(options: LayersOptions) -> Layers {
        Layers { options, run: Vec::new(), ahead: None, created: false }
    }

    /// All tasks, for the plan that is shown before: the layout, about as many loads as a search tries, and the windows.
    pub fn planned(&self) -> Vec<Task> {
        let search = std::iter::repeat_n(tasks::search(&self.options, 1), SEARCHED);
        let windows = self.order(1).into_iter();
        let windows = windows.filter_map(|(path, shape)| tasks::window(&self.options, path, shape, 1));
        [tasks::layout(&self.options)].into_iter().chain(search).chain(windows).collect()
    }

    /// The size of the run's own database, if it has one.
    pub fn own_database(&self) -> Option<DatabaseSize> {
        let own = self.options.databases.iter().any(|database| database.own);
        own.then(|| tasks::own_database(&self.options))
    }

    /// The layers that are compared, from the device up.
    fn paths(&self) -> Vec<Path> {
        let LayersOptions { device, databases, direct, .. } = &self.options;
        let device = device.as_ref().map(|_| Path::Device);
        let direct = direct.then_some(Path::Direct);
        let databases = (0..databases.len()).map(Path::Database);
        device.into_iter().chain(direct).chain([Path::Buffered]).chain(databases).collect()
    }

    /// Each window once.
    fn windows(&self, knee: u32) -> Vec<(Path, Shape)> {
        let all = self.paths().into_iter().flat_map(|path| Shape::ALL.map(|shape| (path, shape)));
        all.filter(|&(path, shape)| tasks::window(&self.options, path, shape, knee).is_some()).collect()
    }

    /// All windows: each round in an order of its own.
    fn order(&self, knee: u32) -> Vec<(Path, Shape)> {
        let mut order = Vec::new();
        for round in 0..self.options.rounds {
            let mut windows = self.windows(knee);
            shuffle(&mut windows, self.options.seed.wrapping_add(round.into()));
            order.extend(windows);
        }
        order
    }

    fn searched<'a>(&self, run: &'a Run) -> Vec<&'a PhaseResult> {
        self.run
            .iter()
            .zip(&run.phases)
            .filter(|(stage, _)| **stage == Stage::Search)
            .map(|run| run.1)
            .collect()
    }

    /// The load at the knee of the file system, as far as it has been searched.
    fn knee(&self, run: &Run) -> u32 {
        let points: Vec<_> = self.searched(run).into_iter().filter_map(load_point).collect();
        Knee::fit(&points, self.options.seed).map_or(1, |knee| knee.concurrency)
    }

    /// The next load of the search; `None` when it is over.
    fn next_load(&self, run: &Run) -> Option<u32> {
        let searched = self.searched(run);
        let points: Vec<_> = searched.iter().copied().filter_map(load_point).collect();
        let limits = Limits { highest: HIGHEST, response: RESPONSE, refinements: 1 };
        (points.len() == searched.len()).then(|| next_concurrency(&points, limits)).flatten()
    }

    fn step(&mut self, stage: Stage, task: Task) -> Step<DatabaseSize> {
        // A seed for each phase: what one has read helps no cache in the next.
        let seed = self.options.seed.wrapping_add(self.run.len() as u64);
        self.run.push(stage);
        Step::Run(vec![task.with_seed(seed)])
    }

    /// The windows of one layer and shape as one phase, and each; `None` where it was not measured.
    fn merged<'a>(
        &self,
        run: &'a Run,
        path: Path,
        shape: Shape,
    ) -> Option<(PhaseResult, Vec<&'a PhaseResult>)> {
        let wanted = Stage::Window(path, shape);
        let windows = self.run.iter().zip(&run.phases).filter(|(stage, _)| **stage == wanted);
        let each: Vec<_> = windows.map(|run| run.1).collect();
        let (first, others) = each.split_first()?;
        let merged = others.iter().fold((*first).clone(), |merged, other| merged.followed_by(other));
        Some((merged, each))
    }

    fn conclude(&self, run: &Run) -> Conclusions {
        let tables = findings::tables(self, run);
        Conclusions { concluded: tables.iter().map(Concluded::of).collect(), ..Conclusions::default() }
    }
}

impl Procedure for Layers {
    type Preparation = DatabaseSize;

    fn next(&mut self, run: &Run, _elapsed: Nanos) -> Step<DatabaseSize> {
        if let Some(PhaseResult { info, end, .. }) = run.phases.last()
            && let Ending::Failed(reason) = &end.ending
        {
            return Step::Failed(format!("`{}` failed: {reason}", info.task.name()));
        }
        if self.run.is_empty() {
            return self.step(Stage::Layout, tasks::layout(&self.options));
        }
        if let Some(size) = self.own_database().filter(|_| !self.created) {
            self.created = true;
            return Step::Prepare(size);
        }
        if self.ahead.is_none() {
            if let Some(load) = self.next_load(run) {
                return self.step(Stage::Search, tasks::search(&self.options, load));
            }
            let mut ahead = self.order(self.knee(run));
            ahead.reverse();
            self.ahead = Some(ahead);
        }
        let next = self.ahead.as_mut().and_then(Vec::pop);
        let knee = self.knee(run);
        let task = next.and_then(|(path, shape)| tasks::window(&self.options, path, shape, knee));
        match next.zip(task) {
            Some(((path, shape), task)) => self.step(Stage::Window(path, shape), task),
            None => Step::Done(self.conclude(run)),
        }
    }

    fn cut_short(&mut self, run: &Run, _why: CutShort) -> Conclusions {
        self.conclude(run)
    }
}

#[cfg(test)]
mod tests;
