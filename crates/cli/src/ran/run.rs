//! `run`: a number of jobs, for a time or a number of iterations.

use iolite_db::Error;
use iolite_engine::Control;
use iolite_model::{Concluded, Ending, Nanos, Stop};
use iolite_report::Format;
use iolite_results::{Asked, Run};

use super::args::{Operation, RunArgs};
use super::bench::{Bench, Opened};
use crate::exit::{Exit, UsageError};
use crate::{output, signals};

/// How long a run is measured when nothing is said of it, as PerfTools have it.
const RUNTIME: Nanos = Nanos(300 * Nanos::SECOND.0);

/// Measures.
///
/// # Errors
/// The arguments make no sense, or the database is not there. A failure later is part of what is printed.
pub(super) fn run<O: Operation>(args: RunArgs<O>) -> anyhow::Result<Exit> {
    let control = Control::new(signals::interrupt_flag()?);
    let (stop, duration) = extent(&args)?;
    let opened = Opened::open(&args.session, &control)?;
    if O::TOOL.writes() && (opened.sizes.len() as u64) < u64::from(args.jobs) {
        let few = Error::FewGlobals { jobs: args.jobs, globals: opened.sizes.len() as u32 };
        return Err(super::refused(few));
    }
    if O::TOOL.writes() {
        opened.refuse_other_writers(&args.session)?;
    }
    let mut bench = Bench::set_up(opened, &args.session, duration, &control)?;
    bench.session.conclude(Concluded::of(&Asked::new(O::TOOL.command(), "")));
    let mut task = bench.task(O::TOOL.name(), args.operation.operation(), args.jobs, args.session.seed);
    (task.stop, task.ramp) = (stop, args.ramp);
    let measured = bench.measure(task);
    let ending = match &measured {
        Ok(phase) => phase.end.ending.clone(),
        Err(error) => Ending::Failed(iolite_session::describe(error)),
    };
    let run = bench.session.end(ending);
    output::run(&run, if args.session.json { Format::Json } else { Format::Text })?;
    output::failure(&run, args.session.quiet);
    Ok(exit_of(&run))
}

/// What ends the run, and how long it will take about.
fn extent<O: Operation>(args: &RunArgs<O>) -> anyhow::Result<(Stop, Nanos)> {
    if args.runtime == Some(Nanos(0)) {
        return Err(UsageError("--runtime 0s measures nothing: give a time, for example 60s".into()).into());
    }
    let runtime = match (args.runtime, args.iterations) {
        (None, None) => Some(RUNTIME),
        (runtime, _) => runtime,
    };
    let operations = args.iterations.map(|each| each.saturating_mul(u64::from(args.jobs)));
    let duration = runtime.map_or(Nanos(0), |runtime| Nanos(runtime.0.saturating_add(args.ramp.0)));
    Ok((Stop { runtime, operations, ..Stop::default() }, duration))
}

fn exit_of(run: &Run) -> Exit {
    match run.ending.as_ref().unwrap_or(&Ending::Interrupted) {
        Ending::Failed(_) => Exit::Failure,
        Ending::Interrupted => Exit::Interrupted,
        Ending::Completed if run.phases.iter().any(|phase| phase.errors() > 0) => Exit::Marginal,
        Ending::Completed => Exit::Fit,
    }
}
