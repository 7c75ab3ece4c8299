//! Two jobs in turns: pairs in random order until a difference is shown, excluded, or the pairs are used up.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use iolite_model::{Concluded, Job, JobTask, Layer, MetadataTask, Nanos, Target, Task};
use iolite_results::Run;
use iolite_results::ab::{AbBlock, AbConcluded, AbEnd, AbTerms, Side, deciding};
use iolite_results::comparison::Figure;
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::procedure::{Conclusions, Procedure, Step};

/// Files that earlier turns have created for these tasks: to be removed before the next turn.
#[derive(Debug, Clone, PartialEq)]
pub struct CreatedFiles(pub Vec<JobTask>);

/// The procedure of `iolite ab`.
///
/// Each side works on files of its own, which are removed before its next turn: each turn creates them as the first one did. What
/// exists before the run is shared by both.
///
/// Each pair is a block: A and B once each, in an order that is drawn anew, so that a drift of the host hits both alike. After each
/// pair the test that holds at any time says whether more are needed (`iolite_stats::Sequential`).
#[derive(Debug, Clone, PartialEq)]
pub struct Ab {
    terms: AbTerms,
    /// The steps of a turn of A and of B, the last one first.
    turns: [Vec<Step<CreatedFiles>>; 2],
    /// What is left of the turn, the next step last.
    ahead: Vec<Step<CreatedFiles>>,
    /// The turn that runs, and the number of its first phase.
    turn: Option<(Side, u32)>,
    /// The pair that runs.
    open: Option<AbBlock>,
    blocks: Vec<AbBlock>,
}

impl Ab {
    /// The figure that decides unless another one is asked for: a job that asks for a rate is compared by its mean response time.
    /// `None` of a job without a task.
    pub fn usual_figure(job: &Job) -> Option<Figure> {
        job.tasks.last().map(|task| match task {
            JobTask::Io(task) if task.asked_rate().is_some() => Figure::Mean,
            JobTask::Io(_) | JobTask::Metadata(_) => Figure::Rate,
        })
    }

    /// Compares two jobs; `is_there` says whether a path exists before the run.
    pub fn new(a: &Job, b: &Job, terms: AbTerms, is_there: impl Fn(&Path) -> bool) -> Ab {
        let sets = |job: &Job, side| -> Vec<Vec<JobTask>> {
            let set = |set: &[JobTask]| set.iter().map(|task| of_side(task, side, &is_there)).collect();
            job.sets().into_iter().map(set).collect()
        };
        let turns = [sets(a, Side::A), sets(b, Side::B)].map(|job| turn(&job));
        Ab { terms, turns, ahead: Vec::new(), turn: None, open: None, blocks: Vec::new() }
    }

    /// Compares two loads inside a database, which brings it to its start by itself before each phase. Both sides of a pair have the
    /// same random numbers, and each pair others.
    pub fn in_database(a: Task, b: Task, terms: AbTerms) -> Ab {
        let turns = [a, b].map(|task| vec![Step::Run(vec![task])]);
        Ab { terms, turns, ahead: Vec::new(), turn: None, open: None, blocks: Vec::new() }
    }

    /// Ends the turn that has run; the pair too, where it was its second.
    fn end_turn(&mut self, run: &Run) {
        let Some((side, first)) = self.turn.take() else { return };
        let phases = run.phases.iter().map(|phase| phase.info.index).filter(|index| *index >= first);
        let phases: Vec<u32> = phases.collect();
        let block = self.open.get_or_insert(AbBlock { first: side, a: Vec::new(), b: Vec::new() });
        let is_second = side != block.first;
        match side {
            Side::A => block.a = phases,
            Side::B => block.b = phases,
        }
        if is_second {
            self.blocks.extend(self.open.take());
        }
    }

    /// Why no more pairs are needed.
    fn end(&self, run: &Run) -> Option<AbEnd> {
        if self.open.is_some() {
            return None;
        }
        let interval = deciding(run, &self.blocks, self.terms.figure).map(|figure| figure.interval);
        match interval {
            Some(interval) if interval.is_shown() => Some(AbEnd::Different),
            Some(interval) if interval.excludes(self.terms.detect) => Some(AbEnd::Alike),
            _ if self.blocks.len() >= self.terms.repeat as usize => Some(AbEnd::Repeats),
            _ => None,
        }
    }

    fn begin_turn(&mut self, run: &Run) {
        let side = match &self.open {
            Some(block) if block.first == Side::A => Side::B,
            Some(_) => Side::A,
            None if SplitMix64::seed_from_u64(self.terms.seed.wrapping_add(self.blocks.len() as u64))
                .next_u64()
                & 1
                == 0 =>
            {
                Side::A
            }
            None => Side::B,
        };
        self.turn = Some((side, run.next_phase()));
        self.ahead = self.turns[side as usize].clone();
        let pair = self.blocks.len() as u64;
        for step in &mut self.ahead {
            let Step::Run(tasks) = step else { continue };
            for task in tasks.iter_mut().filter(|task| task.layer() == Layer::Database) {
                task.reseed(pair);
            }
        }
    }
}

impl Procedure for Ab {
    type Preparation = CreatedFiles;

    fn next(&mut self, run: &Run, _elapsed: Nanos) -> Step<CreatedFiles> {
        if self.ahead.is_empty() {
            self.end_turn(run);
            if let Some(end) = self.end(run) {
                let (terms, blocks) = (self.terms.clone(), self.blocks.clone());
                let concluded = vec![Concluded::of(&AbConcluded { terms, blocks, end })];
                return Step::Done(Conclusions { concluded, ..Conclusions::default() });
            }
            self.begin_turn(run);
        }
        self.ahead.pop().unwrap_or_else(|| Step::Failed("a job without tasks cannot be compared".into()))
    }
}

/// The steps of a turn, the last one first: its files are created anew by it.
fn turn(job: &[Vec<JobTask>]) -> Vec<Step<CreatedFiles>> {
    let created = job.iter().flatten().filter(|task| changes_its_files(task)).cloned().collect();
    let mut steps: Vec<Step<CreatedFiles>> =
        job.iter().rev().map(|set| Step::Run(set.iter().map(JobTask::task).collect())).collect();
    if !steps.is_empty() {
        steps.push(Step::Prepare(CreatedFiles(created)));
    }
    steps
}

/// A task with files and trees of its side's own: what one job leaves is not what the other finds.
fn of_side(task: &JobTask, side: Side, is_there: impl Fn(&Path) -> bool) -> JobTask {
    let own = |name: &Path| -> PathBuf {
        let mut prefixed = OsString::from(if side == Side::A { "a-" } else { "b-" });
        prefixed.push(name);
        prefixed.into()
    };
    let mut task = task.clone();
    match &mut task {
        JobTask::Metadata(MetadataTask { tree, .. }) => *tree = own(tree),
        JobTask::Io(task) => match &mut task.target {
            Target::File(file) => file.name = own(&file.name),
            Target::Files(files) => {
                for named in files.files.iter_mut().filter(|named| !is_there(&named.path)) {
                    if let Some(name) = named.path.file_name() {
                        named.path = named.path.with_file_name(own(Path::new(name)));
                    }
                }
            }
            Target::Null { .. } | Target::Existing(_) => {}
        },
    }
    task
}

/// Whether a turn leaves the files of a task otherwise than it has found them.
fn changes_its_files(task: &JobTask) -> bool {
    match task {
        JobTask::Metadata(_) => true,
        JobTask::Io(task) => match &task.target {
            Target::File(file) => file.create,
            Target::Files(_) => task.mix.writes() || task.mix.trims(),
            Target::Null { .. } | Target::Existing(_) => false,
        },
    }
}

#[cfg(test)]
mod tests;
