//! `iolite latency-target`: the largest load that keeps a response time.

use iolite_engine::Control;
use iolite_model::{
    Concluded, Ending, FileTask, Iops, Job, JobTask, LatencyAnswer, LatencyTarget, LatencyTerms,
    LoadParameter, Nanos, Quantile, Stop,
};
use iolite_results::{Run, RunRequest};
use iolite_session::Bare;
use iolite_suites::{JobList, LatencyProcedure, LatencySearch};

use super::args::LatencyTargetArgs;
use super::begin;
use crate::conduct::conduct;
use crate::exit::{self, Exit, UsageError, refuse};
use crate::job::{self, Loaded};
use crate::setup;
use crate::signals;

/// Time before each window that is left out: a fifth of it.
const RAMP: u64 = 5;

/// Searches.
///
/// # Errors
/// Job and target make no sense, or it can't be begun. A failure later is part of what is printed.
pub(crate) fn run(args: LatencyTargetArgs) -> anyhow::Result<Exit> {
    // As in `run`: signals end the wait for a job that is typed.
    let Loaded { mut job, .. } = job::load(&args.job)?;
    let control = Control::new(signals::interrupt_flag()?);
    let base = searched(&mut job)?;
    let target = target(&args);
    let search = LatencySearch::new(base.clone(), target).map_err(UsageError::new)?;
    let tried = FileTask { stop: Stop { runtime: Some(args.window), ..Stop::default() }, ..base.clone() };
    let whole =
        Job { tasks: [job.tasks.clone(), vec![JobTask::Io(Box::new(tried))]].concat(), ..job.clone() };
    job::check(&whole)?;
    let devices = setup::named_devices(&args.allow_overwrite)?;
    let mut session = begin(&whole, &args.directory, &args.writes, &args.output, &control)?;
    session.scratch().allow_overwriting(devices);
    session.conclude(Concluded::of(&RunRequest::new("latency-target", "")));
    session.conclude(Concluded::of(&LatencyTerms { task: base, target }));
    let mut procedure = LatencyProcedure::new(JobList::new(&job), search);
    let run = conduct(session, &mut procedure, &mut Bare, &args.output)?;
    Ok(exit_of(&run))
}

/// Takes the task that is searched from the job: its last one.
fn searched(job: &mut Job) -> anyhow::Result<FileTask> {
    match job.tasks.pop() {
        Some(JobTask::Io(task)) if !task.start.together => Ok(*task),
        _ => {
            refuse!(
                "the last task of the job must be an `io` task that does not start together with another one"
            );
        }
    }
}

fn target(args: &LatencyTargetArgs) -> LatencyTarget {
    let rate = args
        .rate
        .map(|max| LoadParameter::Rate { max: Some(Iops(max)), precision: LoadParameter::PRECISION });
    let parameter = rate.unwrap_or(LoadParameter::Depth { max: args.depth.unwrap_or(1) });
    LatencyTarget {
        bound: args.bound,
        quantile: Quantile(args.quantile / 100.0),
        window: args.window,
        ramp: Nanos(args.window.0 / RAMP),
        parameter,
    }
}

fn exit_of(run: &Run) -> Exit {
    match (&run.ending, run.concluded::<LatencyAnswer>().last()) {
        (Some(Ending::Failed(_)), _) | (_, Some(LatencyAnswer::Failed(_))) => Exit::Failure,
        (Some(Ending::Interrupted), _) | (_, None) => Exit::Interrupted,
        (_, Some(LatencyAnswer::NoneKept { .. })) => Exit::Unfit,
        // What prepared the search may have failed, and says so however the search came out.
        (_, Some(LatencyAnswer::Found { .. })) => exit::of_operations(run),
    }
}
