//! Two jobs in turns: pairs in random order until a difference is shown, excluded, or the pairs are used up.

use iolite_model::{Concluded, FileTarget, FileTask, Job, JobTask, Nanos, Target, Task};
use iolite_results::Run;
use iolite_results::ab::{AbBlock, AbConcluded, AbEnd, AbTerms, Side, deciding};
use iolite_results::comparison::Figure;
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::procedure::{Conclusions, Nothing, Procedure, Step};

/// The procedure of `iolite ab`.
///
/// Each pair is a block: A and B once each, in an order that is drawn anew, so that a drift of the host hits both alike. After each
/// pair the test that holds at any time says whether more are needed (`iolite_stats::Sequential`).
#[derive(Debug, Clone, PartialEq)]
pub struct Ab {
    terms: AbTerms,
    /// The sets of tasks of A and of B.
    jobs: [Vec<Vec<Task>>; 2],
    /// What is left of the turn, the next set last.
    ahead: Vec<Vec<Task>>,
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

    /// Compares two jobs.
    pub fn new(a: &Job, b: &Job, terms: AbTerms) -> Ab {
        let sets = |job: &Job, side| -> Vec<Vec<Task>> {
            let set = |set: &[JobTask]| set.iter().map(|task| of_side(task.task(), side)).collect();
            job.sets().into_iter().map(set).collect()
        };
        let jobs = [sets(a, Side::A), sets(b, Side::B)];
        Ab { terms, jobs, ahead: Vec::new(), turn: None, open: None, blocks: Vec::new() }
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
        let job = &self.jobs[side as usize];
        let again = !self.blocks.is_empty();
        let set = |set: &Vec<Task>| set.iter().map(|task| repeated(task, again)).collect();
        self.ahead = job.iter().rev().map(set).collect();
    }
}

impl Procedure for Ab {
    type Preparation = Nothing;

    fn next(&mut self, run: &Run, _elapsed: Nanos) -> Step {
        if self.ahead.is_empty() {
            self.end_turn(run);
            if let Some(end) = self.end(run) {
                let (terms, blocks) = (self.terms.clone(), self.blocks.clone());
                let concluded = vec![Concluded::of(&AbConcluded { terms, blocks, end })];
                return Step::Done(Conclusions { concluded, ..Conclusions::default() });
            }
            self.begin_turn(run);
        }
        self.ahead
            .pop()
            .map_or_else(|| Step::Failed("a job without tasks cannot be compared".into()), Step::Run)
    }
}

/// The task with files of its side's own: what one job leaves is not what the other finds.
fn of_side(task: Task, side: Side) -> Task {
    let prefix = if side == Side::A { "a-" } else { "b-" };
    on_own_file(task, |target| {
        let mut name = std::ffi::OsString::from(prefix);
        name.push(target.name.as_os_str());
        target.name = name.into();
    })
}

/// The task as it is run: from the second pair on, its files exist.
fn repeated(task: &Task, again: bool) -> Task {
    on_own_file(task.clone(), |target| target.create &= !again)
}

fn on_own_file(mut task: Task, change: impl FnOnce(&mut FileTarget)) -> Task {
    if let Task::File(FileTask { target: Target::File(target), .. }) = &mut task {
        change(target);
    }
    task
}

#[cfg(test)]
mod tests;
