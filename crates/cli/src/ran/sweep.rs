//! `sweep`: more and more jobs until throughput stops growing; then the knee and the verdict.

use clap::Args;
use iolite_engine::Control;
use iolite_model::{Concluded, Iops, Nanos, SweepTerms, WritePlan};
use iolite_results::RunRequest;
use iolite_session::{RanDatabase, unix_now};
use iolite_suites::{Sweep, SweepOptions};

use super::begin::{begin, open, refuse_other_writers};
use super::options::{Operation, SessionArgs};
use crate::conduct::conduct;
use crate::exit::{self, Exit, UsageError};
use crate::shared_args::{StallArgs, percent, positive};
use crate::signals;

const EXAMPLES: &str = "\
Examples:
  1, 5, 10, 20, 40... jobs for 30 s each until throughput stops growing, judged by a mean of 2 ms and a maximum of 5 ms:
      iolite ranread sweep --db sqlite:/data/ran
  These steps for a minute each, repeated three times:
      iolite ranread sweep --db postgres://me@localhost/bench --jobs 1,4,8,16 --step 60s --repeat 3
  Are the response times acceptable at 2000 IOPS?
      iolite ranread sweep --db gtm:/data/gtm --target-iops 2000 --ceiling 5ms
  Writes, where each job needs its own global:
      iolite ranwrite create-globals --db sqlite:/data/ran --globals 40
      iolite ranwrite sweep --db sqlite:/data/ran --hang 0s";

/// `sweep` as typed.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SweepArgs<O: Args> {
    #[command(flatten)]
    pub(crate) session: SessionArgs,

    /// Numbers of jobs, ascending [default: 1,5,10,20,40 and so on, until one of the limits below is reached]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=9999))]
    pub(crate) jobs: Vec<u32>,

    /// Time to measure each number of jobs
    #[arg(long, value_name = "TIME", default_value = "30s")]
    pub(crate) step: Nanos,

    /// Time at the start of each step that is excluded from the results
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub(crate) ramp: Nanos,

    /// Run every step N times, interleaved: all steps, then all steps again in another order
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) repeat: u32,

    /// Number of additional steps near the knee [default: 2, none with --jobs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=20))]
    pub(crate) closer: Option<u32>,

    /// Maximum number of jobs
    #[arg(long, value_name = "N", default_value = "1280", value_parser = clap::value_parser!(u32).range(1..=9999))]
    pub(crate) max_jobs: u32,

    /// Stop when the mean response time exceeds this in two consecutive steps
    #[arg(long, value_name = "TIME", default_value = "10ms")]
    pub(crate) stop_response: Nanos,

    /// Stop when doubling the jobs increases throughput by less than PERCENT in two consecutive steps (three, if the uncertainty
    /// allows for more)
    #[arg(long, value_name = "PERCENT", default_value = "10", value_parser = percent)]
    pub(crate) min_growth: f64,

    /// Acceptable mean response time
    #[arg(long, value_name = "TIME", default_value = "2ms")]
    pub(crate) average: Nanos,

    /// Maximum response time that no operation may exceed
    #[arg(long, value_name = "TIME", default_value = "5ms")]
    pub(crate) ceiling: Nanos,

    /// Judge at this rate of operations per second instead of at the knee
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) target_iops: Option<f64>,

    #[command(flatten)]
    pub(crate) stalls: StallArgs,

    #[command(flatten)]
    pub(crate) operation: O,
}

/// Sweeps.
///
/// # Errors
/// The arguments are invalid, or the database is not there. A failure later is part of what is printed.
pub(super) fn run<O: Operation>(args: SweepArgs<O>) -> anyhow::Result<Exit> {
    let control = Control::new(signals::interrupt_flag()?);
    let database = open(&args.session, &control)?;
    if O::TOOL.writes() {
        refuse_other_writers(&database, &args.session)?;
    }
    let mut sweep = Sweep::new(options(&args, &database)).map_err(UsageError::new)?;
    let duration = sweep.duration();
    let timed = if O::TOOL.writes() { duration } else { Nanos(0) };
    let plan = WritePlan { timed, duration, ..WritePlan::default() };
    let mut session = begin(&database, &args.session, (plan, duration), &control)?;
    sweep.limited().into_iter().for_each(|warning| session.warn(warning));
    session.conclude(Concluded::of(&RunRequest::new("sweep", O::TOOL.name())));
    args.stalls.watch(&mut session);
    let run = conduct(session, &mut sweep, &mut &database, &args.session.output)?;
    Ok(exit::of_verdict(&run))
}

fn terms<O: Operation>(args: &SweepArgs<O>) -> SweepTerms {
    let closer = args.closer.unwrap_or(if args.jobs.is_empty() { SweepTerms::CLOSER } else { 0 });
    SweepTerms {
        operation: args.operation.operation(),
        jobs: args.jobs.clone(),
        step: args.step,
        ramp: args.ramp,
        repeat: args.repeat,
        closer,
        stop_response: args.stop_response,
        min_growth: args.min_growth / 100.0,
        average: args.average,
        ceiling: args.ceiling,
        target_iops: args.target_iops.map(Iops),
    }
}

fn options<O: Operation>(args: &SweepArgs<O>, database: &RanDatabase) -> SweepOptions {
    SweepOptions {
        terms: terms(args),
        max_jobs: args.max_jobs,
        globals: database.globals(),
        sessions: database.free_sessions(),
        timed_by: database.timed_by(),
        direct: database.direct(),
        volatile: iolite_observe::volatile(database.storage()),
        seed: args.session.seed.unwrap_or_else(|| unix_now().0),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::ran::options::ReadOptions;

    #[derive(Debug, Parser)]
    struct Typed {
        #[command(flatten)]
        sweep: SweepArgs<ReadOptions>,
    }

    fn typed(arguments: &[&str]) -> SweepArgs<ReadOptions> {
        let arguments = ["sweep", "--db", "sqlite:/data"].iter().chain(arguments);
        Typed::try_parse_from(arguments).unwrap().sweep
    }

    #[test]
    fn the_defaults_are_the_articles() {
        let args = typed(&[]);
        let terms = terms(&args);
        let expected = SweepTerms::new(iolite_model::DbOperation::RanRead);
        assert_eq!((terms, args.max_jobs), (expected, SweepTerms::MAX_JOBS));
    }

    #[test]
    fn a_list_that_is_given_is_all_that_is_run() {
        let terms = terms(&typed(&["--jobs", "1,4,8", "--repeat", "3", "--ramp", "0s", "--step", "10s"]));
        assert_eq!((&terms.jobs[..], terms.closer), (&[1, 4, 8][..], 0));
        assert_eq!((terms.step, terms.ramp, terms.repeat), (Nanos(10 * Nanos::SECOND.0), Nanos(0), 3));
    }
}
