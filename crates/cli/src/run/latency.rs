//! `iolite latency-target`: the largest load that keeps a response time.

use anyhow::anyhow;
use iolite_engine::Control;
use iolite_model::{
    Ending, Event, FileTask, Iops, Job, JobTask, LatencyAnswer, LatencyTarget, LoadParameter, Nanos,
    Quantile, Stop,
};
use iolite_report::latency_target::{LatencyReport, json, text};
use iolite_suites::{LatencyFound, LatencySearch, LatencyStep};

use super::bench_for;
use crate::args::LatencyTargetArgs;
use crate::bench::ending;
use crate::exit::{Exit, UsageError};
use crate::job::{self, Loaded};
use crate::runner::{Measured, Runner};
use crate::{output, signals};

/// Time before each window that is left out: a fifth of it.
const RAMP: u64 = 5;

/// Searches.
///
/// # Errors
/// Job and target make no sense, or it can't be begun. A failure later is part of what is printed.
pub(crate) fn run(args: LatencyTargetArgs) -> anyhow::Result<Exit> {
    let control = Control::new(signals::interrupt_flag()?);
    let Loaded { mut job, .. } = job::load(&args.job)?;
    let base = searched(&mut job)?;
    let target = target(&args);
    let search = LatencySearch::new(base.clone(), target).map_err(|error| UsageError(error.to_string()))?;
    let tried = FileTask { stop: Stop { runtime: Some(args.window), ..Stop::default() }, ..base.clone() };
    let whole =
        Job { tasks: [job.tasks.clone(), vec![JobTask::Io(Box::new(tried))]].concat(), ..job.clone() };
    job::check(&whole)?;
    let mut bench = bench_for(&whole, &args.directory, &args.output, &control)?;
    let mut runner =
        Runner::new(bench.scratch, bench.counters, &bench.run.storage, &control, &mut bench.events);
    let found = find(&mut runner, &job, &search, &control);
    let Measured { calibration, history } = runner.end();
    let (found, failure) = match found {
        Ok(found) => (found, None),
        Err(error) => (None, Some(error)),
    };
    let ending = ending(failure, &control);
    bench.events.emit(&Event::RunEnded(ending.clone()));
    let warnings = bench.events.finish(&control);
    let (tries, answer) =
        found.map_or_else(Default::default, |found| (found.tries, Some(found.conclusion.into())));
    let report = LatencyReport {
        run: bench.run,
        calibration,
        task: base,
        target,
        tries,
        answer,
        phases: history,
        warnings,
        ending,
    };
    let text =
        if args.output.json { format!("{:#}\n", json(&report)) } else { text(&report, output::style()) };
    output::print(&text)?;
    output::failure(&report.ending, args.output.quiet);
    Ok(exit_of(&report))
}

/// Takes the task that is searched from the job: its last one.
fn searched(job: &mut Job) -> anyhow::Result<FileTask> {
    match job.tasks.pop() {
        Some(JobTask::Io(task)) if !task.together => Ok(*task),
        _ => {
            let message = "the job's last task is the one to be searched: an `io` task that does not start together with another";
            Err(UsageError(message.into()).into())
        }
    }
}

fn target(args: &LatencyTargetArgs) -> LatencyTarget {
    let rate = args
        .rate
        .map(|most| LoadParameter::Rate { most: Some(Iops(most)), precision: LoadParameter::PRECISION });
    let parameter = rate.unwrap_or(LoadParameter::Depth { most: args.depth.unwrap_or(1) });
    LatencyTarget {
        bound: args.bound,
        quantile: Quantile(args.quantile / 100.0),
        window: args.window,
        ramp: Nanos(args.window.0 / RAMP),
        parameter,
    }
}

/// Runs the tasks before, then try by try. `None` when interrupted.
fn find(
    runner: &mut Runner,
    job: &Job,
    search: &LatencySearch,
    control: &Control,
) -> anyhow::Result<Option<LatencyFound>> {
    runner.sets(&job.sets())?;
    let first = runner.history().len();
    while !control.interrupted() {
        match search.next(&runner.history()[first..]) {
            LatencyStep::Run(task) => {
                let before = runner.history().len();
                let ran = runner.sets(&[&[JobTask::Io(task)]]);
                // A try that failed has a result all the same, from which the search tells what it means.
                if let Err(error) = ran
                    && runner.history().len() == before
                {
                    return Err(anyhow!(error));
                }
            }
            LatencyStep::Done(found) => return Ok(Some(*found)),
        }
    }
    Ok(None)
}

fn exit_of(report: &LatencyReport) -> Exit {
    match (&report.ending, &report.answer) {
        (Ending::Failed(_), _) | (_, Some(LatencyAnswer::Failed(_))) => Exit::Failure,
        (Ending::Interrupted, _) | (_, None) => Exit::Interrupted,
        (_, Some(LatencyAnswer::NoneKept { .. })) => Exit::Unfit,
        (_, Some(LatencyAnswer::Found { .. })) => Exit::Fit,
    }
}
