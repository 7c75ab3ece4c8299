//! `iolite run` and `iolite latency-target`: arguments -> job -> run -> outputs.

mod latency;

use std::path::Path;

use iolite_engine::Control;
use iolite_model::{Ending, Event, Job, OpKind, Verified};
use iolite_report::run::RunReport;
use iolite_stats::PhaseResult;

use crate::args::{OutputArgs, RunArgs};
use crate::bench::{Bench, Setup, duration, ending};
use crate::exit::{Exit, UsageError};
use crate::job::{self, Loaded};
use crate::runner::{Measured, Runner};
use crate::{output, session, signals, storage};

pub(crate) use latency::run as latency_target;

/// Runs a job.
///
/// # Errors
/// The job makes no sense, or can't be begun. A failure later is part of what is printed.
pub(crate) fn run(args: RunArgs) -> anyhow::Result<Exit> {
    let control = Control::new(signals::interrupt_flag()?);
    let Loaded { job, notes } = job::load(&args.job)?;
    if !args.output.quiet {
        notes.iter().for_each(|note| output::note(note));
    }
    job::check(&job)?;
    let mut bench = bench_for(&job, &args.directory, &args.output, &control)?;
    let mut runner =
        Runner::new(bench.scratch, bench.counters, &bench.run.storage, &control, &mut bench.events);
    let failure = runner.sets(&job.sets()).err();
    let measured = runner.end();
    let ending = ending(failure, &control);
    bench.events.emit(&Event::RunEnded(ending.clone()));
    let warnings = bench.events.finish(&control);
    let Measured { calibration, history } = measured;
    let report = RunReport { run: bench.run, name: job.name, calibration, phases: history, warnings, ending };
    let text = if args.output.json {
        format!("{:#}\n", iolite_report::run::json(&report))
    } else {
        iolite_report::run::text(&report, output::style())
    };
    output::print(&text)?;
    output::failure(&report.ending, args.output.quiet);
    Ok(exit_of(&report))
}

/// A bench on the storage that the job is about.
fn bench_for(job: &Job, directory: &Path, output: &OutputArgs, control: &Control) -> anyhow::Result<Bench> {
    let directory = session::directory(directory)?;
    // A job without files of its own needs no place that can be written to where it is started.
    let directory = if job::makes_files(job) { directory } else { std::env::temp_dir() };
    for target in job::existing(job) {
        if let Err(error) = std::fs::metadata(target) {
            let message = format!("cannot look at the target {}: {error}; check the path", target.display());
            return Err(UsageError(message).into());
        }
    }
    let own = job::makes_files(job).then_some(&*directory);
    let storage = match storage::beneath(own.into_iter().chain(job::targets(job)))? {
        Some(storage) => storage,
        None => iolite_observe::storage(&directory)?,
    };
    let (results, live) = (output.results.clone(), session::live(output.quiet));
    let setup = Setup { directory: &directory, results, live, duration: duration(&job.sets()) };
    Bench::set_up(storage, setup, control)
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
