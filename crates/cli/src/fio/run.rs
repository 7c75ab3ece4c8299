//! Runs a plan and prints what came of it.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::Context;
use iolite_engine::{Control, Overwriting};
use iolite_fio::driver::status::ThreadOf;
use iolite_fio::driver::{EtaLine, FioJob, PhaseControl, Shared, Status, Trigger, Watchers, paths, went_on};
use iolite_fio::language::command_line::Eta;
use iolite_fio::language::plan::Plan;
use iolite_fio::language::{Invocation, Thread};
use iolite_fio::output::logs::{AggregateLog, LogWriter};
use iolite_fio::output::{FioEnd, JobResult, Results};
use iolite_model::{Bytes, Concluded, Ending, JobTask, RunInfo, Sink, Storage, Task, WritePlan};
use iolite_report::LiveKind;
use iolite_results::RunRequest;
use iolite_session::{Events, HostCounters, Session, Setup, WriteLimits, unix_now};

use super::debug;
use super::environment::{self, Shell};
use super::idle::IdleProfiler;
use super::links;
use super::merged;
use super::output::Outputs;
use super::programs::Programs;
use super::{Outcome, overwrite};
use crate::exit::UsageError;
use crate::{output, setup, signals, writes};

/// Runs the threads of a plan and prints the results in the formats asked for.
///
/// # Errors
/// Nothing could be begun, or the results can't be printed. What goes wrong with a job is part of its results.
pub(super) fn run(invocation: &Invocation, plan: Plan) -> anyhow::Result<Outcome> {
    let Plan { mut threads, global_settings, merged: merged_traces } = plan;
    // First of all: until there is a handler, the signal ends the program.
    let asked = signals::status_flag()?;
    debug::refuse_unknown(invocation)?;
    validate(&threads)?;
    let held = overwrite::held(&threads);
    if !invocation.allow_overwrite {
        overwrite::ask(&held)?;
    }
    let (plan, storage) = planned(invocation, &threads)?;
    debug::Operations::watch(invocation, &mut threads);
    let control = Control::new(interrupt_flag(&threads)?);
    let outputs = Outputs::open(invocation, &threads, global_settings)?;
    outputs.header(&overwrite::lines(&held), debug::printed(invocation, &threads)?.as_deref())?;
    let mut listeners = Listeners::new(invocation, &threads, &control);
    let mut session = set_up(invocation, &threads, storage, &control, &outputs, &listeners.watchers)?;
    session.plan_writes(&plan);
    let trigger = Trigger {
        file: invocation.trigger_file.clone(),
        after: invocation.trigger_timeout.map(|after| Duration::from_nanos(after.0)),
    };
    let armed = trigger.arm(Box::new(Phases(control.clone())))?;
    let info = session.run().info.clone();
    let status = interim(invocation, &listeners.watchers, asked, info, &outputs);
    listeners.status = Some(status.clone());
    listeners.listen(session.events());
    session.events().listen(Box::new(Programs::new(control.clone(), thread_of(&listeners.watchers))));
    let operations = debug::Operations::of(invocation, thread_of(&listeners.watchers));
    operations.into_iter().for_each(|lines| session.events().listen(Box::new(lines)));
    // Nothing can keep the jobs from beginning any more: a command that is refused leaves the links, and writes no trace.
    links::replace(&threads)?;
    merged::write(&merged_traces)?;
    let job = FioJob::new(threads, listeners.watchers.clone(), Some(status));
    let results = perform(session, job, &control, &listeners)?;
    outputs.results(&results)?;
    let logs = listeners.finish();
    if let Some(command) = invocation.trigger.as_deref().filter(|_| armed.fired()) {
        environment::run(command, &mut Command::new("/bin/sh"))?;
    }
    conclude(&results, logs, armed.fired())
}

/// The flag of Ctrl-C. I/O schedulers that are switched are switched back at the end, and control groups removed: a second Ctrl-C
/// does not prevent that.
fn interrupt_flag(threads: &[Thread]) -> anyhow::Result<Arc<AtomicBool>> {
    if threads.iter().any(|thread| thread.scheduler.is_some() || thread.control_group.is_some()) {
        signals::undoing_interrupt_flag()
    } else {
        signals::interrupt_flag()
    }
}

/// Runs all jobs, records what came of them, and ends the run.
fn perform(
    mut session: Session<'_>,
    mut job: FioJob,
    control: &Control,
    listeners: &Listeners,
) -> anyhow::Result<Results> {
    let mut shell = Shell::default();
    // What has failed is part of the jobs' results.
    let _ = session.drive(&mut job, &mut shell);
    shell.close();
    let (disks, cpus) = listeners.host.finish();
    let idle = listeners.idle.finish(cpus);
    let concluded = job.conclude(session.run(), unix_now());
    concluded.into_iter().for_each(|concluded| session.conclude(concluded));
    session.conclude(Concluded::of(&FioEnd { ended_unix: unix_now(), disks, idle }));
    let ending = FioJob::ending(&job.results(session.run()), control.interrupted());
    Results::of(&session.end(ending)).context("the results are incomplete")
}

/// Reports errors on standard error, and how it ended.
fn conclude(results: &Results, logs: Vec<String>, triggered: bool) -> anyhow::Result<Outcome> {
    let described = |job: &JobResult| match &job.phase.end.ending {
        Ending::Failed(reason) => format!("job `{}`: {reason}", job.thread.name),
        _ => format!("job `{}`: error {}", job.thread.name, job.error),
    };
    let failed = || results.jobs.iter().filter(|job| job.error != 0);
    let fails = !logs.is_empty() || failed().any(|job| !went_on(&job.phase));
    let mut messages: Vec<String> = failed().map(described).chain(logs).collect();
    messages.dedup();
    messages.iter().for_each(|reason| output::complain("fio", reason));
    Ok(match results.ending {
        Ending::Interrupted if !triggered => Outcome::Interrupted,
        _ if fails => Outcome::Failed,
        _ => Outcome::Done,
    })
}

/// Checks every task before the first one does anything.
fn validate(threads: &[Thread]) -> anyhow::Result<()> {
    for thread in threads {
        if let Some(directory) = thread.directory.as_deref().filter(|directory| !directory.is_dir()) {
            let error = format!("directory: `{}` is not a directory: create it first", directory.display());
            return Err(UsageError::new(error).into());
        }
        iolite_engine::validate_task(&thread.task).map_err(UsageError::new)?;
    }
    Ok(())
}

/// The storage that the jobs are about: of all their files, which need not be there yet, or of the directory that names are
/// made in.
fn storage(threads: &[Thread]) -> anyhow::Result<Storage> {
    let places = paths::places(threads);
    match iolite_observe::storage_beneath(places.iter().map(PathBuf::as_path))? {
        Some(storage) => Ok(storage),
        None => Ok(iolite_observe::storage(Path::new("."))?),
    }
}

/// What the jobs will write, on which storage: shown on a terminal only, since programs take what is on standard error for an
/// error. As with fio, space is kept free only where that is asked for.
///
/// # Errors
/// It does not keep the limits.
fn planned(invocation: &Invocation, threads: &[Thread]) -> anyhow::Result<(WritePlan, Storage)> {
    let storage = storage(threads)?;
    let keep_free = invocation.keep_free.unwrap_or(Bytes(0));
    let limits = WriteLimits { max: invocation.max_write, keep_free: Some(keep_free) };
    let tasks: Vec<(bool, Task)> =
        threads.iter().map(|thread| (thread.task.together(), thread.task.task())).collect();
    let sets = tasks.chunk_by(|_, (together, _)| *together);
    let sets: Vec<Vec<Task>> = sets.map(|set| set.iter().map(|(_, task)| task.clone()).collect()).collect();
    let plan = limits.plan(sets.iter().map(Vec::as_slice), &storage);
    limits.check(&plan, Some(&storage.filesystem)).map_err(UsageError::new)?;
    writes::show(&plan, !std::io::stderr().is_terminal());
    Ok((plan, storage))
}

fn set_up<'a>(
    invocation: &Invocation,
    threads: &[Thread],
    storage: Storage,
    control: &'a Control,
    outputs: &Outputs,
    watchers: &Watchers,
) -> anyhow::Result<Session<'a>> {
    // Only jobs whose names are not the user's need a directory of ours.
    let names = threads.iter().find(|thread| match &thread.task {
        JobTask::Metadata(task) => task.named.is_empty(),
        JobTask::Io(_) => false,
    });
    let directory = match names {
        Some(thread) => Some(setup::directory(thread.directory.as_deref().unwrap_or(Path::new(".")))?),
        None => None,
    };
    let tasks: Vec<JobTask> = threads.iter().map(|thread| thread.task.clone()).collect();
    let sets: Vec<&[JobTask]> = tasks.chunk_by(|_, next| next.together()).collect();
    let duration = setup::duration(&sets);
    let terminal = std::io::stdout().is_terminal();
    let (thread_of, out) = (thread_of(watchers), Box::new(std::io::stdout()));
    let line = EtaLine::of(invocation, &outputs.asked().formats, terminal, duration, thread_of, out);
    let live = match invocation.eta {
        Eta::Auto if line.is_none() && output::can_draw() => {
            LiveKind::Terminal { color: output::colour_wanted() }
        }
        _ => LiveKind::Quiet,
    };
    if let Some(directory) = &directory {
        setup::clear_leftovers(directory, matches!(live, LiveKind::Quiet));
    }
    let setup = Setup {
        directory: directory.as_deref(),
        results: setup::results(std::env::var_os("IOLITE_RESULTS").map(PathBuf::from)),
        view: setup::served(invocation.prometheus, || setup::view(live, duration))?,
    };
    let mut session = Session::begin(setup::run_info(storage), setup, control)?;
    // As fio does: what the jobs name is overwritten, unless it is in use.
    session.scratch().allow_overwriting(Overwriting::Anything);
    session.conclude(Concluded::of(&RunRequest::new("fio", "")));
    session.conclude(Concluded::of(outputs.asked()));
    line.into_iter().for_each(|line| session.events().listen(Box::new(line)));
    Ok(session)
}

/// Whoever listens to a run's events.
struct Listeners {
    watchers: Watchers,
    logs: Option<Shared<LogWriter>>,
    bandwidth: Option<Shared<AggregateLog>>,
    status: Option<Status>,
    host: HostCounters,
    idle: IdleProfiler,
}

/// Ends the engine's phases.
struct Phases(Control);

impl PhaseControl for Phases {
    fn end_phase(&self, phase: u32) {
        self.0.end_phase(phase);
    }

    fn fail_phase(&self, phase: u32, reason: String) {
        self.0.fail_phase(phase, reason);
    }

    fn end_run(&self) {
        self.0.interrupt_run();
    }
}

/// Finds the thread that runs as a phase.
fn thread_of(watchers: &Watchers) -> ThreadOf {
    let watchers = watchers.clone();
    Box::new(move |phase| watchers.thread(phase))
}

/// Results so far, at intervals (`--status-interval`) and when `asked` is set (SIGUSR1).
fn interim(
    invocation: &Invocation,
    watchers: &Watchers,
    asked: Arc<AtomicBool>,
    run: RunInfo,
    outputs: &Outputs,
) -> Status {
    let outputs = outputs.clone();
    let report = move |jobs: &[JobResult]| {
        // Whether they can be written the results at the end say.
        let _ = outputs.results(&Results::so_far(outputs.asked(), jobs, &run, unix_now()));
    };
    let every = invocation.status_interval.map(|every| Duration::from_nanos(every.0));
    Status::new(every, asked, thread_of(watchers), Box::new(report))
}

impl Listeners {
    fn new(invocation: &Invocation, threads: &[Thread], control: &Control) -> Listeners {
        let logs = threads.iter().any(|thread| !thread.logs.is_empty());
        let logs =
            logs.then(|| Shared::of(LogWriter::new(threads.iter().map(|thread| (thread.number, thread)))));
        let watchers = Watchers::new(Box::new(Phases(control.clone())), logs.clone());
        let bandwidth = invocation.bandwidth_log.then(|| Shared::of(AggregateLog::new(Path::new("."))));
        let host = HostCounters::of(paths::reported(threads).iter().map(PathBuf::as_path));
        Listeners { watchers, logs, bandwidth, status: None, host, idle: IdleProfiler::new(invocation) }
    }

    fn listen(&self, events: &mut Events) {
        // First of all, since it sets for the logs which thread a phase is.
        events.listen(Box::new(self.watchers.clone()));
        let logs = self.logs.iter().cloned().map(|logs| Box::new(logs) as Box<dyn Sink>);
        let bandwidth = self.bandwidth.iter().cloned().map(|log| Box::new(log) as Box<dyn Sink>);
        let host = std::iter::once(Box::new(self.host.clone()) as Box<dyn Sink>);
        logs.chain(bandwidth).chain(host).for_each(|listener| events.listen(listener));
        self.status.iter().for_each(|status| events.watch_run(Box::new(status.clone())));
    }

    /// Closes the logs; what could not be written is reported.
    fn finish(self) -> Vec<String> {
        let logs = self.logs.as_ref().and_then(Shared::take).map(|logs| logs.finish());
        let bandwidth = self.bandwidth.as_ref().and_then(Shared::take).map(|log| log.finish());
        let failures = [logs, bandwidth].into_iter().flatten().filter_map(Result::err);
        failures.flatten().map(|error| error.to_string()).collect()
    }
}
