//! `sweep`: more and more jobs until throughput stops growing; then the knee and the verdict.

use clap::Args;
use iolite_engine::Control;
use iolite_model::{Concluded, Ending, Event, Iops, Nanos, Sink, SweepEnd, SweepTerms, Warning};
use iolite_report::Format;
use iolite_results::{Asked, Run};
use iolite_stats::SweepConcluded;
use iolite_suites::{Sweep, SweepFound, SweepNext, SweepOptions};
use jiff::Timestamp;

use super::args::{Operation, SessionArgs};
use super::bench::{Bench, Opened};
use crate::args::positive;
use crate::exit::{Exit, UsageError};
use crate::{output, signals};

const EXAMPLES: &str = "\
Examples:
  1, 5, 10, 20, 40... jobs for 30 s each until throughput stops growing; is an average of 2 ms and never more than 5 ms kept?
      iolite ranread sweep --db sqlite:/data/ran
  A minute for each of these steps, everything three times, each time in another order:
      iolite ranread sweep --db postgres://me@localhost/bench --jobs 1,4,8,16 --step 60s --repeat 3
  Does it do 2000 IOPS, with response times that are good enough there?
      iolite ranread sweep --db gtm:/data/gtm --target-iops 2000 --ceiling 5ms
  Writes: each job needs a global of its own:
      iolite ranwrite create-globals --db sqlite:/data/ran --globals 40
      iolite ranwrite sweep --db sqlite:/data/ran --hang 0s";

/// Points of time that a step has at least, so that its figures have an uncertainty, where it is long enough.
const INTERVALS: u64 = 20;

/// Steps of the default list that a sweep takes about, for the live view.
const TYPICAL: usize = 6;

/// `sweep` as typed.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SweepArgs<O: Args> {
    #[command(flatten)]
    pub(crate) session: SessionArgs,

    /// Numbers of jobs, ascending [default: 1,5,10,20,40 and so on, until one of the rules below ends it]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=9999))]
    pub(crate) jobs: Vec<u32>,

    /// Time to measure with each number of jobs
    #[arg(long, value_name = "TIME", default_value = "30s")]
    pub(crate) step: Nanos,

    /// Time at the start of each step that is left out of the results
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub(crate) ramp: Nanos,

    /// Run every step N times, interleaved: all of them, then all of them again in another order
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) repeat: u32,

    /// Steps between those of the list, for a closer look at the knee [default: 2, none with --jobs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=20))]
    pub(crate) closer: Option<u32>,

    /// Jobs at most
    #[arg(long, value_name = "N", default_value = "1280", value_parser = clap::value_parser!(u32).range(1..=9999))]
    pub(crate) most_jobs: u32,

    /// No more jobs when an operation takes longer than this on average in two steps in a row
    #[arg(long, value_name = "TIME", default_value = "10ms")]
    pub(crate) stop_response: Nanos,

    /// No more jobs when doubling them brings less than PERCENT in two steps in a row (in three, where the
    /// uncertainty leaves room for more)
    #[arg(long, value_name = "PERCENT", default_value = "10", value_parser = percent)]
    pub(crate) least_growth: f64,

    /// Acceptable response time on average
    #[arg(long, value_name = "TIME", default_value = "2ms")]
    pub(crate) average: Nanos,

    /// Response time that must never be exceeded
    #[arg(long, value_name = "TIME", default_value = "5ms")]
    pub(crate) ceiling: Nanos,

    /// Judge where this many operations a second are reached rather than at the knee
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) target_iops: Option<f64>,

    #[command(flatten)]
    pub(crate) operation: O,
}

fn percent(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(value) if value > 0.0 && value < 100.0 => Ok(value),
        _ => Err("write a number between 0 and 100, for example 10".into()),
    }
}

/// Sweeps.
///
/// # Errors
/// The arguments make no sense, or the database is not there. A failure later is part of what is printed.
pub(super) fn run<O: Operation>(args: SweepArgs<O>) -> anyhow::Result<Exit> {
    let control = Control::new(signals::interrupt_flag()?);
    let opened = Opened::open(&args.session, &control)?;
    if O::TOOL.writes() {
        opened.refuse_other_writers(&args.session)?;
    }
    let terms = terms(&args);
    let duration = duration(&terms);
    let limited = limit(&args, opened.free_sessions())?;
    let mut options = options(terms.clone(), &args, &opened);
    if let Some(Warning::FewSessions { jobs, .. }) = limited {
        options.most_jobs = jobs;
    }
    let sweep = Sweep::new(options).map_err(|error| UsageError(error.to_string()))?;
    let mut bench = Bench::set_up(opened, &args.session, duration, &control)?;
    limited.into_iter().for_each(|warning| bench.session.warn(warning));
    bench.session.conclude(Concluded::of(&Asked::new("sweep", O::TOOL.name())));
    let found = measure(&mut bench, &sweep);
    bench.session.conclude(Concluded::of(&SweepConcluded {
        tool: O::TOOL.name().into(),
        terms,
        end: found.end.clone(),
        knee: found.knee.clone(),
        judged: found.judged.clone(),
    }));
    found.warnings.iter().for_each(|warning| bench.session.warn(warning.clone()));
    if let Some(verdict) = &found.verdict {
        bench.session.events().event(&Event::Verdict(verdict.clone()));
    }
    let ending = ending(&found);
    let run = bench.session.end(ending);
    output::run(&run, if args.session.json { Format::Json } else { Format::Text })?;
    output::failure(&run, args.session.quiet);
    Ok(exit_of(&run))
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
        least_growth: args.least_growth / 100.0,
        average: args.average,
        ceiling: args.ceiling,
        target_iops: args.target_iops.map(Iops),
    }
}

fn options<O: Operation>(terms: SweepTerms, args: &SweepArgs<O>, opened: &Opened) -> SweepOptions {
    let now = || u64::try_from(Timestamp::now().as_nanosecond()).unwrap_or_default();
    SweepOptions {
        most_jobs: args.most_jobs,
        globals: u32::try_from(opened.sizes.len()).unwrap_or(u32::MAX),
        interval: Nanos((terms.step.0 / INTERVALS).clamp(10 * Nanos::MILLISECOND.0, Nanos::SECOND.0)),
        timed_by: opened.timed_by,
        direct: opened.description.direct,
        volatile: iolite_observe::volatile(opened.storage()),
        seed: args.session.seed.unwrap_or_else(now),
        terms,
    }
}

/// The warning where the server takes fewer sessions than would be tried.
///
/// # Errors
/// More jobs were asked for than that.
fn limit<O: Operation>(args: &SweepArgs<O>, sessions: Option<u32>) -> anyhow::Result<Option<Warning>> {
    let Some(sessions) = sessions.filter(|&sessions| sessions < args.most_jobs) else { return Ok(None) };
    match args.jobs.iter().copied().max() {
        Some(most) if most > sessions => {
            let message = format!(
                "{most} jobs need as many sessions, and the server takes {sessions} more: raise its max_connections, end other \
                 sessions, or give fewer --jobs"
            );
            Err(UsageError(message).into())
        }
        Some(_) => Ok(None),
        None => Ok(Some(Warning::FewSessions { sessions, jobs: sessions })),
    }
}

/// How long it will take, as far as that can be known before.
fn duration(terms: &SweepTerms) -> Nanos {
    let steps = if terms.jobs.is_empty() { TYPICAL } else { terms.jobs.len() } + terms.closer as usize;
    let each = terms.step.0.saturating_add(terms.ramp.0);
    Nanos(each.saturating_mul(steps as u64).saturating_mul(u64::from(terms.repeat)))
}

fn measure(bench: &mut Bench<'_>, sweep: &Sweep) -> SweepFound {
    let mut history = Vec::new();
    loop {
        let task = match sweep.next(&history) {
            SweepNext::Run(task) => task,
            SweepNext::Done(found) => return *found,
        };
        let jobs = task.workers;
        match bench.measure(*task) {
            Ok(phase) => history.push(phase),
            Err(error) => {
                let why = iolite_session::describe(&error);
                return sweep.ended(&history, SweepEnd::Failed { jobs, why });
            }
        }
    }
}

fn ending(found: &SweepFound) -> Ending {
    match &found.end {
        SweepEnd::Interrupted => Ending::Interrupted,
        SweepEnd::Failed { .. } => Ending::Failed(found.end.to_string()),
        // Nothing could be started at all.
        SweepEnd::NotStarted { .. } if found.steps.is_empty() => Ending::Failed(found.end.to_string()),
        _ => Ending::Completed,
    }
}

fn exit_of(run: &Run) -> Exit {
    match run.ending {
        Some(Ending::Failed(_)) => Exit::Failure,
        Some(Ending::Interrupted) | None => Exit::Interrupted,
        Some(Ending::Completed) => {
            run.verdict.as_ref().map_or(Exit::Marginal, |verdict| verdict.fitness.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::ran::ReadOptions;

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
        let expected = SweepTerms {
            operation: iolite_model::DbOperation::RanRead,
            jobs: Vec::new(),
            step: SweepTerms::STEP,
            ramp: Nanos::SECOND,
            repeat: 1,
            closer: SweepTerms::CLOSER,
            stop_response: SweepTerms::STOP_RESPONSE,
            least_growth: SweepTerms::LEAST_GROWTH,
            average: SweepTerms::AVERAGE,
            ceiling: SweepTerms::CEILING,
            target_iops: None,
        };
        assert_eq!((terms, args.most_jobs), (expected, SweepTerms::MOST_JOBS));
    }

    #[test]
    fn no_more_jobs_than_the_server_takes_sessions() {
        assert_eq!(limit(&typed(&[]), None).unwrap(), None);
        assert_eq!(limit(&typed(&[]), Some(2000)).unwrap(), None);
        let few = Warning::FewSessions { sessions: 97, jobs: 97 };
        assert_eq!(limit(&typed(&[]), Some(97)).unwrap(), Some(few));
        assert_eq!(limit(&typed(&["--jobs", "1,97"]), Some(97)).unwrap(), None);
        let refused = limit(&typed(&["--jobs", "1,98"]), Some(97)).unwrap_err().to_string();
        assert!(refused.contains("max_connections"), "{refused}");
    }

    #[test]
    fn a_list_that_is_given_is_all_that_is_run() {
        let terms = terms(&typed(&["--jobs", "1,4,8", "--repeat", "3", "--ramp", "0s", "--step", "10s"]));
        assert_eq!((&terms.jobs[..], terms.closer), (&[1, 4, 8][..], 0));
        assert_eq!(duration(&terms), Nanos(90 * Nanos::SECOND.0));
    }
}
