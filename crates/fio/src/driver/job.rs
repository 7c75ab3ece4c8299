//! fio's rules as a procedure: sets of threads between stonewalls run one after the other.
//!
//! Each set is a few actions: commands before, names that threads look for, files that are only created, the threads
//! themselves, commands after. A set that fails does not keep the sets after it from running, as in fio.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::PathBuf;

use iolite_model::errno::EIO;
use iolite_model::{Concluded, Ending, JobTask, MetadataTask, Nanos, Task};
use iolite_results::Run;
use iolite_suites::{Conclusions, Procedure, Step};

use super::failure::Failure;
use super::latency::{Search, Searched};
use super::outcome::{continued, error_number, unread};
use super::status::Status;
use super::watchers::Watchers;
use crate::language::lower::preparation;
use crate::language::thread::{ControlGroup, Thread};
use crate::output::recorded::JobEnd;
use crate::output::result::JobResult;

/// What the caller does between phases.
#[derive(Debug, Clone, PartialEq)]
pub enum Preparation {
    /// Run a command of the user's in a shell; what it prints goes to this file.
    Command {
        /// The command.
        command: String,
        /// The file, in the current directory.
        output: PathBuf,
    },
    /// Create the files of this task, and do nothing with them.
    Create(Box<JobTask>),
    /// Create the files of this task and read them, so that they are in the page cache (`pre_read`).
    PreRead(Box<JobTask>),
    /// Switch the devices beneath these paths to this I/O scheduler until the end of the run (`ioscheduler`).
    Scheduler {
        /// Files or devices, which need not exist yet.
        paths: Vec<PathBuf>,
        /// The scheduler's name.
        name: String,
    },
    /// Create this control group, unless it exists, until the end of the run (`cgroup`).
    ControlGroup(ControlGroup),
}

/// The threads of a plan, set by set.
pub struct FioJob {
    threads: Vec<Thread>,
    /// What came of each thread; `None` where it has not begun.
    ended: Vec<Option<JobEnd>>,
    sets: VecDeque<Range<usize>>,
    current: Option<Set>,
    /// Why the step that is in progress failed.
    failure: Option<Failure>,
    watchers: Watchers,
    status: Option<Status>,
}

/// Threads that start together.
struct Set {
    threads: Range<usize>,
    actions: VecDeque<Action>,
    in_progress: Option<InProgress>,
    /// Threads that do not run, by their index.
    left_out: Vec<usize>,
}

/// What remains to be done of a set.
enum Action {
    /// A command before the thread of this index.
    Prerun(usize, Preparation),
    /// Something else before it.
    Before(usize, Preparation),
    Names(MetadataTask),
    Create(usize),
    Run(Vec<usize>),
    Search(usize, Box<Search>),
    /// A command after the thread of this index.
    Postrun(usize, Preparation),
}

/// The step that was asked for last.
enum InProgress {
    Prerun(usize),
    Before(usize),
    Names,
    Create(usize),
    /// These threads, as phases from a number on.
    Run(Vec<usize>, u32),
    Window,
    Postrun(usize),
}

impl FioJob {
    /// The threads of a plan. `watchers` learn which phase a thread is, `status` what has ended.
    pub fn new(threads: Vec<Thread>, watchers: Watchers, status: Option<Status>) -> FioJob {
        let mut sets = VecDeque::new();
        let mut start = 0;
        for set in threads.chunk_by(|_, next| next.task.together()) {
            sets.push_back(start..start + set.len());
            start += set.len();
        }
        let ended = threads.iter().map(|_| None).collect();
        FioJob { threads, ended, sets, current: None, failure: None, watchers, status }
    }

    /// The step that was asked for last could not be done.
    pub fn failed(&mut self, failure: Failure) {
        self.failure.get_or_insert(failure);
    }

    /// What came of all threads, to be recorded before the run ends; `now_unix` is the time since 1970.
    pub fn conclude(&mut self, run: &Run, now_unix: Nanos) -> Vec<Concluded> {
        self.settle(run);
        let ended = self.ended.iter_mut().zip(&self.threads).map(|(ended, thread)| {
            Concluded::of(ended.get_or_insert_with(|| JobEnd {
                started_unix: now_unix,
                ..not_begun(thread, Ending::Interrupted)
            }))
        });
        ended.collect()
    }

    /// How the run ends that has come to these results.
    pub fn ending(jobs: &[JobResult], interrupted: bool) -> Ending {
        if interrupted {
            return Ending::Interrupted;
        }
        let failed = jobs.iter().find(|job| job.error != 0);
        failed.map_or(Ending::Completed, |job| match &job.phase.end.ending {
            Ending::Failed(reason) => Ending::Failed(reason.clone()),
            _ => Ending::Failed(format!("job `{}` ended with error {}", job.thread.name, job.error)),
        })
    }

    /// What came of all threads so far.
    pub fn results(&self, run: &Run) -> Vec<JobResult> {
        self.ended.iter().flatten().filter_map(|ended| JobResult::of(ended, run)).collect()
    }

    /// Records what came of the step that was asked for last.
    fn settle(&mut self, run: &Run) {
        let failure = self.failure.take();
        let Some(set) = &mut self.current else { return };
        let Some(step) = set.in_progress.take() else { return };
        match step {
            // As in fio: the job does not run, nothing follows it, and it has no error.
            InProgress::Prerun(thread) => {
                if let Some(failure) = failure {
                    let mut ended = not_begun(&self.threads[thread], Ending::Completed);
                    ended.facts.notes.push(format!("exec_prerun: {}: the job did not run", failure.reason));
                    self.ended[thread] = Some(ended);
                    set.left_out.push(thread);
                }
            }
            InProgress::Before(thread) => {
                if let Some(failure) = failure {
                    self.ended[thread] = Some(failed(&self.threads[thread], &failure));
                    set.left_out.push(thread);
                }
            }
            InProgress::Names => {
                if let Some(failure) = failure {
                    set.actions.clear();
                    for thread in set.threads.clone() {
                        self.ended[thread] = Some(failed(&self.threads[thread], &failure));
                    }
                }
            }
            InProgress::Create(thread) => {
                let of = &self.threads[thread];
                let nothing = || JobEnd {
                    depth: match &of.task {
                        JobTask::Io(task) if of.too_small => Some(task.concurrency),
                        _ => None,
                    },
                    ..not_begun(of, Ending::Completed)
                };
                self.ended[thread] = Some(failure.map_or_else(nothing, |failure| failed(of, &failure)));
            }
            InProgress::Run(threads, first) => {
                for (phase, thread) in (first..).zip(threads) {
                    let of = &self.threads[thread];
                    self.ended[thread] = Some(ended(of, run, phase, failure.as_ref(), &self.watchers));
                }
            }
            InProgress::Window => {}
            // As in fio: it changes nothing about the job.
            InProgress::Postrun(thread) => {
                if let (Some(failure), Some(ended)) = (failure, &mut self.ended[thread]) {
                    ended.facts.notes.push(format!("exec_postrun: {}", failure.reason));
                }
            }
        }
    }

    /// Begins an action; `None` where nothing has to be waited for.
    fn begin(&mut self, action: Action, run: &Run) -> Option<Step<Preparation>> {
        let set = self.current.as_mut()?;
        if action.thread().is_some_and(|thread| set.left_out.contains(&thread)) {
            return None;
        }
        let first = run.next_phase();
        let (in_progress, step) = match action {
            Action::Prerun(thread, command) => (InProgress::Prerun(thread), Step::Prepare(command)),
            Action::Before(thread, preparation) => (InProgress::Before(thread), Step::Prepare(preparation)),
            Action::Postrun(thread, command) => (InProgress::Postrun(thread), Step::Prepare(command)),
            Action::Names(task) => (InProgress::Names, Step::Run(vec![Task::Metadata(task)])),
            Action::Create(thread) => {
                let task = Box::new(self.threads[thread].task.clone());
                (InProgress::Create(thread), Step::Prepare(Preparation::Create(task)))
            }
            Action::Run(mut threads) => {
                threads.retain(|thread| !set.left_out.contains(thread));
                if threads.is_empty() {
                    return None;
                }
                self.watchers.watch(threads.iter().map(|thread| &self.threads[*thread]), first);
                let tasks = threads.iter().map(|thread| self.threads[*thread].task.task()).collect();
                (InProgress::Run(threads, first), Step::Run(tasks))
            }
            Action::Search(thread, mut search) => {
                let of = &self.threads[thread];
                match search.next(run, first) {
                    Searched::Window(task) => {
                        let window = Thread { task: JobTask::Io(task.clone()), ..of.clone() };
                        self.watchers.watch([&window], first);
                        set.actions.push_front(Action::Search(thread, search));
                        (InProgress::Window, Step::Run(vec![Task::File(*task)]))
                    }
                    Searched::Found { phase, depth } => {
                        let ended = ended(of, run, phase, None, &self.watchers);
                        self.ended[thread] = Some(JobEnd { depth: Some(depth), ..ended });
                        return None;
                    }
                    Searched::Failed(failure) => {
                        self.ended[thread] = Some(failed(of, &failure));
                        return None;
                    }
                }
            }
        };
        set.in_progress = Some(in_progress);
        Some(step)
    }

    /// Begins the next set, if there is one.
    fn next_set(&mut self) -> bool {
        let Some(threads) = self.sets.pop_front() else { return false };
        if !self.watchers.all_ended() {
            let actions = actions(&self.threads[threads.clone()], threads.start).unwrap_or_else(|refused| {
                let (thread, failure) = refused;
                self.ended[thread] = Some(failed(&self.threads[thread], &failure));
                VecDeque::new()
            });
            // A set that is refused has ended, too: interim results list it.
            self.current = Some(Set { threads, actions, in_progress: None, left_out: Vec::new() });
        }
        true
    }

    fn end_set(&mut self, run: &Run) {
        let Some(set) = self.current.take() else { return };
        // Nothing runs after the last set that would report it.
        if let Some(status) = self.status.as_ref().filter(|_| !self.sets.is_empty()) {
            let ended = self.ended[set.threads].iter().flatten();
            status.done(&ended.filter_map(|ended| JobResult::of(ended, run)).collect::<Vec<_>>());
        }
    }
}

impl Procedure for FioJob {
    type Preparation = Preparation;

    fn next(&mut self, run: &Run, _elapsed: Nanos) -> Step<Preparation> {
        self.settle(run);
        loop {
            match self.current.as_mut().map(|set| set.actions.pop_front()) {
                Some(Some(action)) => {
                    if let Some(step) = self.begin(action, run) {
                        return step;
                    }
                }
                Some(None) => self.end_set(run),
                None if self.next_set() => {}
                None => return Step::Done(Conclusions::default()),
            }
        }
    }

    /// The commands after the jobs that have run.
    fn remaining(&mut self, run: &Run) -> Option<Preparation> {
        self.settle(run);
        let set = self.current.as_mut()?;
        while let Some(action) = set.actions.pop_front() {
            match action {
                Action::Postrun(thread, command) if !set.left_out.contains(&thread) => {
                    set.in_progress = Some(InProgress::Postrun(thread));
                    return Some(command);
                }
                Action::Search(thread, search) => {
                    if let Some(phase) = search.last() {
                        self.ended[thread] =
                            Some(ended(&self.threads[thread], run, phase, None, &self.watchers));
                    }
                }
                _ => {}
            }
        }
        None
    }

    fn survives_failures(&self) -> bool {
        true
    }
}

/// What is to be done of threads that start together, the first of which has this index.
///
/// # Errors
/// A thread, by its index, whose latency target is invalid.
fn actions(set: &[Thread], first: usize) -> Result<VecDeque<Action>, (usize, Failure)> {
    let command = |number: usize, which: usize, when: &str| {
        let thread = &set[number - first];
        let output = PathBuf::from(format!("{}.{when}.txt", thread.name));
        thread.exec[which].clone().map(|command| (number, Preparation::Command { command, output }))
    };
    let numbers = || first..first + set.len();
    let mut actions = VecDeque::new();
    let preruns = numbers().filter_map(|number| command(number, 0, "prerun"));
    actions.extend(preruns.map(|(number, command)| Action::Prerun(number, command)));
    actions.extend(set.iter().filter_map(preparation).map(Action::Names));
    actions.extend(numbers().zip(set).flat_map(|(number, thread)| before(number, thread)));
    match set {
        [Thread { latency_target: Some(target), task, .. }] => {
            let search = Search::new(task, *target).map_err(|failure| (first, failure))?;
            actions.push_back(Action::Search(first, Box::new(search)));
        }
        _ => {
            let (create, run): (Vec<usize>, Vec<usize>) =
                (first..first + set.len()).partition(|thread| set[thread - first].create_only);
            actions.extend(create.into_iter().map(Action::Create));
            actions.extend((!run.is_empty()).then_some(Action::Run(run)));
        }
    }
    let postruns = numbers().filter_map(|number| command(number, 1, "postrun"));
    actions.extend(postruns.map(|(number, command)| Action::Postrun(number, command)));
    Ok(actions)
}

/// What is done for a thread before it runs, besides commands.
fn before(number: usize, thread: &Thread) -> Vec<Action> {
    let mut actions = Vec::new();
    if let Some(name) = &thread.scheduler {
        let paths = super::paths::paths([thread]);
        let switch = Preparation::Scheduler { paths, name: name.clone() };
        actions.push(Action::Before(number, switch));
    }
    if let Some(group) = &thread.control_group {
        actions.push(Action::Before(number, Preparation::ControlGroup(group.clone())));
    }
    if thread.pre_read {
        actions.push(Action::Before(number, Preparation::PreRead(Box::new(thread.task.clone()))));
    }
    actions
}

impl Action {
    /// The thread that it is about, where it is about one.
    fn thread(&self) -> Option<usize> {
        match self {
            Action::Prerun(thread, _) | Action::Before(thread, _) | Action::Postrun(thread, _) => {
                Some(*thread)
            }
            Action::Create(thread) | Action::Search(thread, _) => Some(*thread),
            Action::Names(_) | Action::Run(_) => None,
        }
    }
}

/// What came of a thread that ran as a phase.
fn ended(thread: &Thread, run: &Run, phase: u32, failure: Option<&Failure>, watchers: &Watchers) -> JobEnd {
    let Some(result) = run.phases.iter().find(|result| result.info.index == phase) else {
        let unknown = Failure { number: EIO, reason: "the job did not start".into() };
        return failed(thread, failure.unwrap_or(&unknown));
    };
    JobEnd {
        facts: thread.facts(),
        phase: Some(phase),
        error: error_number(result, failure.map(|failure| failure.number)),
        ending: unread(run, result),
        continued: continued(thread, result),
        steady: watchers.steady(phase),
        blocks: watchers.blocks(phase),
        ..JobEnd::default()
    }
}

fn not_begun(thread: &Thread, ending: Ending) -> JobEnd {
    JobEnd {
        facts: thread.facts(),
        task: Some(thread.task.task()),
        ending: Some(ending),
        ..JobEnd::default()
    }
}

/// What came of a thread that could not begin.
fn failed(thread: &Thread, failure: &Failure) -> JobEnd {
    JobEnd { error: failure.number, ..not_begun(thread, Ending::Failed(failure.reason.clone())) }
}
