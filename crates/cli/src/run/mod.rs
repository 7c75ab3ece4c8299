//! `iolite run` and `iolite latency-target`: arguments -> job -> run -> outputs.

mod job;
mod latency;
pub(crate) mod runner;

use std::path::Path;

use iolite_engine::{Control, EngineError, Scratch};
use iolite_model::{Ending, Event, Job, JobTask, Nanos, OpKind, RunInfo, Task, Verified, Warning};
use iolite_observe::LeafCounters;
use iolite_report::run::RunReport;
use iolite_stats::PhaseResult;

use crate::args::{OutputArgs, RunArgs};
use crate::events::Events;
use crate::exit::{Exit, UsageError};
use crate::session;
use crate::{output, signals};
use runner::{Measured, Runner};

pub(crate) use latency::run as latency_target;

/// Runs a job.
///
/// # Errors
/// The job makes no sense, or can't be begun. A failure later is part of what is printed.
pub(crate) fn run(args: RunArgs) -> anyhow::Result<Exit> {
    let control = Control::new(signals::interrupt_flag()?);
    let job = job::load(&args.job)?;
    job::check(&job)?;
    let mut bench = Bench::set_up(&job, &args.directory, &args.output, &control)?;
    let mut runner = Runner::new(bench.scratch, bench.counters, &control, &mut bench.events);
    let failure = runner.sets(&job.sets()).err();
    let measured = runner.end();
    let ending = ending(failure, &control);
    bench.events.emit(&Event::RunEnded(ending.clone()));
    let warnings = bench.events.finish(&control);
    let Measured { calibration, history, .. } = measured;
    let report = RunReport { run: bench.run, name: job.name, calibration, phases: history, warnings, ending };
    let text = if args.output.json {
        format!("{:#}\n", iolite_report::run::json(&report))
    } else {
        iolite_report::run::text(&report, output::style())
    };
    output::print(&text)?;
    Ok(exit_of(&report))
}

/// All that a run needs besides its job.
struct Bench {
    run: RunInfo,
    events: Events,
    scratch: Scratch,
    counters: Option<LeafCounters>,
}

impl Bench {
    /// Looks at the storage, removes what dead runs left, makes the scratch directory, opens the results.
    fn set_up(job: &Job, directory: &Path, output: &OutputArgs, control: &Control) -> anyhow::Result<Bench> {
        iolite_sys::file::raise_open_files();
        let directory = session::directory(directory)?;
        // A job without files of its own needs no place that can be written to where it is started.
        let directory = if job::makes_files(job) { directory } else { std::env::temp_dir() };
        let storage = match job::only_target(job) {
            Some(target) => {
                if let Err(error) = std::fs::metadata(target) {
                    let message =
                        format!("cannot look at the target {}: {error}; check the path", target.display());
                    return Err(UsageError(message).into());
                }
                iolite_observe::storage_of_target(target)?
            }
            None => iolite_observe::storage(&directory)?,
        };
        let run = session::run_info(storage);
        session::clear_leftovers(&directory, output.quiet);
        let scratch = Scratch::create(&directory, &run.id)?;
        let results = session::results(output.results.clone());
        let mut events = Events::start(&run, &results, session::live(output.quiet), duration(job), control);
        let counters = LeafCounters::new(&run.storage);
        if let Some(device) = iolite_observe::volatile(&run.storage) {
            events.warn(Warning::Volatile { device });
        }
        if counters.is_none() {
            events.warn(Warning::NoDeviceCounters { filesystem: run.storage.filesystem.kind.clone() });
        }
        Ok(Bench { run, events, scratch, counters })
    }
}

/// How a run ended that could not go on for this reason, if there is one.
fn ending(failure: Option<anyhow::Error>, control: &Control) -> Ending {
    let interrupted = |failure: &anyhow::Error| {
        matches!(failure.downcast_ref::<EngineError>(), Some(EngineError::Interrupted))
    };
    match failure.filter(|failure| !interrupted(failure)) {
        Some(failure) => Ending::Failed(output::told(&failure)),
        None if control.interrupted() => Ending::Interrupted,
        None => Ending::Completed,
    }
}

/// How long a job takes about: the sum of its sets' longest runtimes, where they have one.
fn duration(job: &Job) -> Nanos {
    let length = |task: &Task| task.ramp().0.saturating_add(task.stop().runtime.unwrap_or_default().0);
    let longest = |set: &[JobTask]| set.iter().map(|task| length(&task.task())).max();
    Nanos(job.sets().into_iter().filter_map(longest).fold(0, u64::saturating_add))
}

fn exit_of(report: &RunReport) -> Exit {
    let wrong = |verified: &Verified| verified.wrong + verified.unreadable > 0;
    let ends = || report.phases.iter().map(|phase| &phase.end);
    let errors = |phase: &PhaseResult| OpKind::ALL.iter().map(|kind| phase.totals.errors(*kind)).sum::<u64>();
    match report.ending {
        _ if ends().any(|end| end.verified.as_ref().is_some_and(wrong)) => Exit::Unfit,
        Ending::Failed(_) => Exit::Failure,
        Ending::Interrupted => Exit::Interrupted,
        _ if ends().any(|end| end.verified.as_ref().is_some_and(|verified| verified.incomplete)) => {
            Exit::Failure
        }
        _ if ends().any(|end| end.outstanding.lost > 0) => Exit::Failure,
        _ if ends().any(|end| end.rate.is_some_and(|rate| !rate.kept)) => Exit::Marginal,
        _ if report.phases.iter().any(|phase| errors(phase) > 0) => Exit::Marginal,
        Ending::Completed => Exit::Fit,
    }
}
