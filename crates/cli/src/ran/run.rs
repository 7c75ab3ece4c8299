//! `run`: a number of jobs, for a time or a number of iterations.

use clap::Args;
use iolite_db::Error;
use iolite_engine::{Control, planned_writes};
use iolite_model::{Concluded, DbTask, Nanos, Stop, Task};
use iolite_results::RunRequest;
use iolite_session::unix_now;
use iolite_suites::Repeat;

use super::begin::{begin, open, refuse_other_writers};
use super::options::{Operation, SessionArgs};
use super::refused::refused;
use crate::conduct::conduct;
use crate::exit::{self, Exit, refuse};
use crate::shared_args::StallArgs;
use crate::signals;

/// How long a run is measured when nothing is said of it, as PerfTools have it.
const RUNTIME: Nanos = Nanos(300 * Nanos::SECOND.0);

/// `run` as typed.
#[derive(Debug, Args)]
pub(crate) struct RunArgs<O: Args> {
    #[command(flatten)]
    pub(crate) session: SessionArgs,

    /// Number of jobs, each with its own session
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=9999))]
    pub(crate) jobs: u32,

    /// Time to measure [default: 300s, unless --iterations is given]
    #[arg(long, value_name = "TIME")]
    pub(crate) runtime: Option<Nanos>,

    /// Number of operations of each job, as in older PerfTools; with --runtime, the first limit reached ends the run
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) iterations: Option<u64>,

    /// Time at the start that is excluded from the results; not with --iterations, which count from the start
    #[arg(long, value_name = "TIME", default_value = "0s", conflicts_with = "iterations")]
    pub(crate) ramp: Nanos,

    #[command(flatten)]
    pub(crate) stalls: StallArgs,

    #[command(flatten)]
    pub(crate) operation: O,
}

/// Measures.
///
/// # Errors
/// The arguments are invalid, or the database is not there. A failure later is part of what is printed.
pub(super) fn run<O: Operation>(args: RunArgs<O>) -> anyhow::Result<Exit> {
    let control = Control::new(signals::interrupt_flag()?);
    let (stop, duration) = extent(&args)?;
    let database = open(&args.session, &control)?;
    if O::TOOL.writes() && database.globals() < args.jobs {
        return Err(refused(Error::FewGlobals { jobs: args.jobs, globals: database.globals() }));
    }
    if O::TOOL.writes() {
        refuse_other_writers(&database, &args.session)?;
    }
    let task = Task::Database(DbTask {
        name: args.operation.operation().name().into(),
        operation: args.operation.operation(),
        workers: args.jobs,
        stop,
        ramp: args.ramp,
        interval: Nanos::SECOND,
        seed: args.session.seed.unwrap_or_else(|| unix_now().0),
        timed_by: database.timed_by(),
    });
    let mut session = begin(&database, &args.session, (planned_writes(&task), duration), &control)?;
    session.conclude(Concluded::of(&RunRequest::new(O::TOOL.command(), "")));
    args.stalls.watch(&mut session);
    let run = conduct(session, &mut Repeat::new(task, 1), &mut &database, &args.session.output)?;
    Ok(exit::of_run(&run))
}

/// What ends the run, and how long it will take about.
fn extent<O: Operation>(args: &RunArgs<O>) -> anyhow::Result<(Stop, Nanos)> {
    if args.runtime == Some(Nanos(0)) {
        refuse!("--runtime must be above 0: specify, for example, 60s");
    }
    let runtime = match (args.runtime, args.iterations) {
        (None, None) => Some(RUNTIME),
        (runtime, _) => runtime,
    };
    let operations = args.iterations.map(|each| each.saturating_mul(u64::from(args.jobs)));
    let duration = runtime.map_or(Nanos(0), |runtime| Nanos(runtime.0.saturating_add(args.ramp.0)));
    Ok((Stop { runtime, operations, ..Stop::default() }, duration))
}
