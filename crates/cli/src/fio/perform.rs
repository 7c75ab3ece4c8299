//! Runs the threads of a plan, set by set, and puts together what came of each.

use std::fs::File;
use std::process::Command;

use anyhow::Context;

use iolite_engine::{Control, EngineError};
use iolite_fio::driver::Watchers;
use iolite_fio::driver::outcome::{EINVAL, EIO, continued, error_number, not_begun};
use iolite_fio::language::Thread;
use iolite_fio::language::lower::preparation;
use iolite_fio::output::JobResult;
use iolite_model::{Ending, JobTask};
use iolite_session::{Besides, Session, unix_now};
use iolite_stats::PhaseResult;

use super::latency;

/// What running threads takes.
pub(super) struct Performance<'a, 'b> {
    /// Runs them.
    pub(super) session: &'a mut Session<'b>,
    /// Look at them.
    pub(super) watchers: &'a Watchers,
    /// The way to end.
    pub(super) control: &'a Control,
}

impl Performance<'_, '_> {
    /// Runs all threads. A set that fails does not keep the ones after it from running, as in fio; what went wrong is in the
    /// results. `done` is told of each set's results as they are there.
    pub(super) fn all(&mut self, threads: &[Thread], mut done: impl FnMut(&[JobResult])) -> Vec<JobResult> {
        let mut results: Vec<JobResult> = Vec::with_capacity(threads.len());
        for set in threads.chunk_by(|_, next| next.task.together()) {
            let off = self.control.interrupted() || self.watchers.all_ended();
            let of_set = if off { set.iter().map(not_begun).collect() } else { self.set(set) };
            done(&of_set);
            results.extend(of_set);
        }
        results
    }

    /// Runs threads that start together.
    fn set(&mut self, set: &[Thread]) -> Vec<JobResult> {
        if let [thread] = set
            && let Some(target) = thread.latency_target
        {
            return vec![latency::search(self, thread, target)];
        }
        for thread in set {
            if let Err(error) = shell(thread.exec[0].as_deref(), &thread.name, "prerun") {
                return set.iter().map(|thread| failed(thread, &error)).collect();
            }
        }
        if let Err(error) = self.prepare(set) {
            return set.iter().map(|thread| failed(thread, &error)).collect();
        }
        let results = self.make_or_run(set);
        let after = set.iter().map(|thread| shell(thread.exec[1].as_deref(), &thread.name, "postrun"));
        match after.collect::<Result<(), _>>() {
            Ok(()) => results,
            Err(error) => results
                .into_iter()
                .map(|result| JobResult { error: EIO, ..failing(result, &error) })
                .collect(),
        }
    }

    /// Makes the files of threads that want no more (`create_only`), and runs the others.
    fn make_or_run(&mut self, set: &[Thread]) -> Vec<JobResult> {
        let (make, run): (Vec<Thread>, Vec<Thread>) =
            set.iter().cloned().partition(|thread| thread.create_only);
        let mut results: Vec<JobResult> = make.iter().map(|thread| self.make(thread)).collect();
        if !run.is_empty() {
            results.extend(self.run(&run));
        }
        results.sort_by_key(|result| result.thread.number);
        results
    }

    fn make(&mut self, thread: &Thread) -> JobResult {
        match self.session.make_ready(&thread.task) {
            Ok(()) => {
                let mut result = not_begun(thread);
                result.phase.end.ending = Ending::Completed;
                result
            }
            Err(error) => failed(thread, &error),
        }
    }

    /// Makes the names that threads are to look for or to remove, unmeasured.
    fn prepare(&mut self, set: &[Thread]) -> anyhow::Result<()> {
        let preparations: Vec<JobTask> = set.iter().filter_map(preparation).map(JobTask::Metadata).collect();
        preparations.iter().try_for_each(|task| self.session.sets(&[std::slice::from_ref(task)]))
    }

    /// Runs threads that start together, once.
    pub(super) fn run(&mut self, set: &[Thread]) -> Vec<JobResult> {
        let first = self.session.history().len();
        self.watchers.watch(set, first as u32);
        let tasks: Vec<JobTask> = set.iter().map(|thread| thread.task.clone()).collect();
        let failure = self.session.sets(&[&tasks]).err();
        let measured = self.session.history().iter().skip(first);
        let mut results: Vec<JobResult> = set
            .iter()
            .zip(measured)
            .map(|(thread, phase)| self.result(thread, phase, failure.as_ref()))
            .collect();
        // Nothing was begun at all.
        if let Some(error) = failure {
            results.extend(set[results.len()..].iter().map(|thread| failed(thread, &error)));
        }
        results
    }

    fn result(&self, thread: &Thread, phase: &PhaseResult, failure: Option<&anyhow::Error>) -> JobResult {
        let index = phase.info.index;
        let Besides { read_back, usage, detail } = Besides::of(self.session.run(), index);
        let error = error_number(phase, failure.map(number_of_failure));
        JobResult {
            thread: thread.clone(),
            process: std::process::id(),
            phase: phase.clone(),
            detail,
            read_back,
            usage,
            started_unix: self.watchers.released(index).unwrap_or_else(unix_now),
            error,
            continued: continued(thread, phase),
            steady: self.watchers.steady(index),
            depth: None,
        }
    }
}

/// Runs a command of the user's, if there is one; what it prints goes to `NAME.WHEN.txt`, as in fio.
fn shell(command: Option<&str>, name: &str, when: &str) -> anyhow::Result<()> {
    let Some(command) = command else { return Ok(()) };
    let path = format!("{name}.{when}.txt");
    let told = File::create(&path).and_then(|out| Ok((out.try_clone()?, out)));
    let (out, errors) = told.with_context(|| format!("cannot keep what `{command}` prints in {path}"))?;
    run(command, Command::new("/bin/sh").stdout(out).stderr(errors))
}

/// Runs a command of the user's by a shell.
///
/// # Errors
/// It can't be run, or says that it has failed.
pub(super) fn run(command: &str, shell: &mut Command) -> anyhow::Result<()> {
    match shell.arg("-c").arg(command).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => anyhow::bail!("`{command}` failed: {status}"),
        Err(error) => anyhow::bail!("cannot run `{command}`: {error}"),
    }
}

/// The error number of what kept a set from running.
pub(super) fn number_of_failure(error: &anyhow::Error) -> i32 {
    let system = error.chain().find_map(|cause| cause.downcast_ref::<std::io::Error>()?.raw_os_error());
    system.unwrap_or(match error.downcast_ref::<EngineError>() {
        Some(EngineError::Interrupted) => 0,
        Some(_) => EINVAL,
        // What went wrong while it ran: a rate that was missed, a queue that broke.
        None => EIO,
    })
}

/// The result of a thread that could not begin.
pub(super) fn failed(thread: &Thread, error: &anyhow::Error) -> JobResult {
    let result = JobResult { error: number_of_failure(error), ..not_begun(thread) };
    failing(result, error)
}

fn failing(mut result: JobResult, error: &anyhow::Error) -> JobResult {
    result.phase.end.ending = Ending::Failed(iolite_session::describe(error));
    result
}
