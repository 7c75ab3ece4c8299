//! `iolite run` and `iolite latency-target`: arguments -> job -> run -> outputs.

mod args;
mod latency;

use std::path::Path;

use iolite_engine::Control;
use iolite_model::{Concluded, ErrorCause, ErrorOrigin, Job, JobTask, Task};
use iolite_results::RunRequest;
use iolite_session::{Bare, Session};
use iolite_suites::JobList;

use crate::conduct::conduct;
use crate::exit::{self, Exit, refuse};
use crate::job::{self, Loaded};
use crate::shared_args::OutputArgs;
use crate::writes::WriteArgs;
use crate::{output, setup, signals};

pub(crate) use args::{LatencyTargetArgs, RunArgs};
pub(crate) use latency::run as latency_target;

/// Runs a job.
///
/// # Errors
/// The job is invalid, or can't be begun. A failure later is part of what is printed.
pub(crate) fn run(args: RunArgs) -> anyhow::Result<Exit> {
    // Before signals are only noted: they end the wait for a job that is typed.
    let Loaded { job, notes } = job::load(&args.job)?;
    let control = Control::new(signals::interrupt_flag()?);
    if !args.output.view.quiet {
        notes.iter().for_each(|note| output::note(note));
    }
    job::check(&job)?;
    let devices = setup::named_devices(&args.allow_overwrite)?;
    let mut session = begin(&job, &args.directory, &args.writes, &args.output, &control)?;
    session.scratch().allow_overwriting(devices);
    args.stalls.watch(&mut session);
    session.conclude(Concluded::of(&RunRequest::new("run", job.name.clone())));
    let run = conduct(session, &mut JobList::new(&job), &mut Bare, &args.output)?;
    Ok(exit::of_run(&run))
}

/// Begins a run on the storage that the job is about.
pub(crate) fn begin<'a>(
    job: &Job,
    directory: &Path,
    writes: &WriteArgs,
    output: &OutputArgs,
    control: &'a Control,
) -> anyhow::Result<Session<'a>> {
    let directory = setup::directory(directory)?;
    for target in job::existing(job) {
        if let Err(error) = std::fs::metadata(target) {
            let advice = ErrorCause::advice(&error, ErrorOrigin::Path(target));
            refuse!("cannot examine the target {}: {error}{advice}", target.display());
        }
    }
    // A job without files of its own needs no place that can be written to.
    let own = job::makes_files(job).then_some(&*directory);
    own.map(setup::takes_files).transpose()?;
    let storage = match iolite_observe::storage_beneath(own.into_iter().chain(job::targets(job)))? {
        Some(storage) => storage,
        None => iolite_observe::storage(&directory)?,
    };
    let sets: Vec<Vec<Task>> = job.sets().iter().map(|set| set.iter().map(JobTask::task).collect()).collect();
    let plan = writes.plan(sets.iter().map(Vec::as_slice), &storage, output.view.quiet)?;
    let mut session = setup::begin(storage, own, output, setup::duration(&job.sets()), control)?;
    session.plan_writes(&plan);
    Ok(session)
}
