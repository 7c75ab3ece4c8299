//! `sweep`: the method of the PerfTools' articles, automated. Jobs are raised from 1 on until response time stays over a limit
//! or IOPS grow no longer; then a closer look at the knee; then, where repetition is asked for, all of it again, each time in
//! another order. What was found is judged by the articles' guide: an average and a ceiling.

mod order;
mod rise;
mod verdict;

use iolite_model::{
    DbOperation, DbTask, Ending, JudgedStep, Nanos, Stop, SweepEnd, SweepTerms, Task, TimedBy, Verdict,
    Warning,
};
use iolite_stats::{Knee, LoadPoint, PhaseResult, SweptStep};

/// What a sweep is to be like, and what it meets.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepOptions {
    /// What was asked.
    pub terms: SweepTerms,
    /// Jobs at most.
    pub most_jobs: u32,
    /// Globals there are; job i works in global i, unless it only reads blocks.
    pub globals: u32,
    /// Length of the intervals of the time series.
    pub interval: Nanos,
    /// Who times.
    pub timed_by: TimedBy,
    /// Whether block reads bypass the page cache.
    pub direct: bool,
    /// What keeps the data only until the next restart, where it does.
    pub volatile: Option<String>,
    /// Seed of all that is random.
    pub seed: u64,
}

/// Why a sweep cannot be made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SweepError {
    /// The list is none.
    #[error("jobs {0:?}: give numbers from 1 up, each larger than the one before, for example 1,5,10,20,40")]
    Jobs(Vec<u32>),
    /// More jobs than globals.
    #[error(
        "{jobs} jobs need {jobs} globals, one each, and there are {globals}: make more with `add-globals --globals {jobs}`"
    )]
    Globals {
        /// Most jobs asked for.
        jobs: u32,
        /// Globals there are.
        globals: u32,
    },
    /// More jobs than are allowed.
    #[error("{jobs} jobs are more than the {most} allowed: raise --most-jobs")]
    MostJobs {
        /// Most jobs asked for.
        jobs: u32,
        /// Jobs at most.
        most: u32,
    },
    /// A value makes no sense.
    #[error("{0}")]
    Value(&'static str),
}

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum SweepNext {
    /// Run this and append its result to the history, also where it could not be started.
    Run(Box<DbTask>),
    /// All is measured.
    Done(Box<SweepFound>),
}

/// The end of a sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepFound {
    /// The steps, by the number of jobs.
    pub steps: Vec<SweptStep>,
    /// Why no more jobs were tried.
    pub end: SweepEnd,
    /// The knee; `None` with fewer than two steps.
    pub knee: Option<Knee>,
    /// The step that response times were judged at; `None` without a verdict.
    pub judged: Option<JudgedStep>,
    /// The answer; `None` where it was interrupted before the jobs had been raised to the end, or nothing was measured.
    pub verdict: Option<Verdict>,
    /// Warnings about the sweep; those about a phase are [`doubts`](crate::doubts()).
    pub warnings: Vec<Warning>,
}

/// The procedure. What comes next follows from the history alone.
#[derive(Debug, Clone)]
pub struct Sweep {
    options: SweepOptions,
    /// The numbers of jobs to be tried, in order.
    list: Vec<u32>,
    /// Why the list ends where it does.
    list_end: SweepEnd,
}

/// A history by what came of its phases.
struct Past<'a> {
    /// Those that were measured.
    run: Vec<&'a PhaseResult>,
    refusals: Vec<Refusal>,
}

/// A step that could not be started: too many connections, for example.
struct Refusal {
    /// Phases that had been run before.
    after: usize,
    jobs: u32,
    why: String,
}

impl Past<'_> {
    fn of(history: &[PhaseResult]) -> Past<'_> {
        let mut past = Past { run: Vec::new(), refusals: Vec::new() };
        for result in history {
            match &result.end.ending {
                Ending::Failed(why) if result.totals.is_empty() => {
                    let refusal = Refusal { after: past.run.len(), jobs: jobs(result), why: why.clone() };
                    past.refusals.push(refusal);
                }
                _ => past.run.push(result),
            }
        }
        past
    }

    fn refusal(&self, after: usize, jobs: u32) -> Option<&Refusal> {
        self.refusals.iter().find(|refusal| refusal.after == after && refusal.jobs == jobs)
    }
}

/// How far the jobs have been raised.
enum Rise {
    /// This many are next.
    Next(u32),
    /// No further, and after how many phases.
    Ended(SweepEnd, usize),
}

impl Sweep {
    /// A sweep with these options.
    ///
    /// # Errors
    /// They make no sense together.
    pub fn new(options: SweepOptions) -> Result<Sweep, SweepError> {
        validate(&options.terms)?;
        let (list, list_end) = order::list(&options)?;
        Ok(Sweep { options, list, list_end })
    }

    /// The next step, from the results of this sweep's phases so far, in order. After a step that could not be started no more
    /// jobs are tried, and what was measured with fewer is kept.
    pub fn next(&self, history: &[PhaseResult]) -> SweepNext {
        let done = |end, raised| SweepNext::Done(Box::new(self.conclude(history, end, raised)));
        let run = |jobs| SweepNext::Run(Box::new(self.task(jobs, history.len())));
        let past = Past::of(history);
        if let Some(end) = past.run.last().and_then(|last| untimely(last)) {
            return done(end, self.is_raised(&past));
        }
        match self.rise(&past) {
            Rise::Next(jobs) => run(jobs),
            Rise::Ended(end, risen) => self.after_rise(&past, risen).map_or_else(|| done(end, true), run),
        }
    }

    /// What there is when something else ends it between two steps.
    pub fn ended(&self, history: &[PhaseResult], end: SweepEnd) -> SweepFound {
        self.conclude(history, end, self.is_raised(&Past::of(history)))
    }

    /// Whether the jobs had been raised to the end; a phase that did not come to its own does not count.
    fn is_raised(&self, past: &Past<'_>) -> bool {
        matches!(self.rise(past), Rise::Ended(..))
    }

    fn rise(&self, past: &Past<'_>) -> Rise {
        let points = points(&past.run);
        for risen in 0..=points.len() {
            if let Some(end) = rise::end(&points[..risen], &self.options.terms) {
                return Rise::Ended(end, risen);
            }
            let Some(&next) = self.list.get(risen) else { return Rise::Ended(self.list_end.clone(), risen) };
            if let Some(Refusal { jobs, why, .. }) = past.refusal(risen, next) {
                return Rise::Ended(SweepEnd::NotStarted { jobs: *jobs, why: why.clone() }, risen);
            }
            if risen == points.len() {
                return Rise::Next(next);
            }
        }
        Rise::Ended(self.list_end.clone(), points.len())
    }

    /// Closer looks, then repetitions; `None` when all is done.
    fn after_rise(&self, past: &Past<'_>, risen: usize) -> Option<u32> {
        let mut round = risen;
        for _ in 0..self.options.terms.closer {
            let Some(next) = self.closer(past.run.get(..round)?) else { break };
            if past.refusal(round, next).is_some() {
                break;
            }
            if past.run.len() == round {
                return Some(next);
            }
            round += 1;
        }
        self.repetition(past, round)
    }

    fn closer(&self, run: &[&PhaseResult]) -> Option<u32> {
        let points = points(run);
        let knee = Knee::fit(&points, self.options.seed);
        rise::closer(&points, knee.as_ref(), self.options.terms.target_iops)
    }

    /// The next of the repetitions, when the first round was of so many phases.
    fn repetition(&self, past: &Past<'_>, round: usize) -> Option<u32> {
        let run = past.run.len();
        let mut steps: Vec<u32> = past.run.get(..round)?.iter().map(|result| jobs(result)).collect();
        steps.sort_unstable();
        let (pass, position) = (run.checked_div(round)?, run.checked_rem(round)?);
        if pass >= self.options.terms.repeat as usize {
            return None;
        }
        let next = order::pass(round, pass).get(position).and_then(|&index| steps.get(index)).copied();
        next.filter(|&jobs| past.refusal(run, jobs).is_none())
    }

    fn task(&self, jobs: u32, number: usize) -> DbTask {
        let options = &self.options;
        DbTask {
            name: name(options.terms.operation).into(),
            operation: options.terms.operation,
            workers: jobs,
            stop: Stop { runtime: Some(options.terms.step), ..Stop::default() },
            ramp: options.terms.ramp,
            interval: options.interval,
            // What one step has read helps no cache in the next.
            seed: options.seed.wrapping_add(number as u64),
            timed_by: options.timed_by,
        }
    }

    fn conclude(&self, history: &[PhaseResult], end: SweepEnd, raised: bool) -> SweepFound {
        let steps = SweptStep::all(history);
        let points: Vec<LoadPoint> = steps.iter().filter_map(|step| load_point(&step.result)).collect();
        let knee = Knee::fit(&points, self.options.seed);
        let judged = verdict::judged(&steps, knee.as_ref(), self.options.terms.target_iops);
        let failed = matches!(end, SweepEnd::Failed { .. });
        let known = failed || (raised && !steps.is_empty());
        let verdict =
            known.then(|| verdict::judge(&self.options, &steps, history, knee.as_ref(), judged.as_ref()));
        let mut warnings = left_out(&Past::of(history).refusals, &end);
        warnings.extend(no_plateau(&points, knee.as_ref(), &end, &self.options.terms));
        let judged = judged.filter(|_| verdict.is_some());
        SweepFound { steps, end, knee, judged, verdict, warnings }
    }
}

/// Closer looks and repetitions that could not be started: the end of the rise is reported as such.
fn left_out(refusals: &[Refusal], end: &SweepEnd) -> Vec<Warning> {
    let reported = |refusal: &&Refusal| matches!(end, SweepEnd::NotStarted { jobs, why } if *jobs == refusal.jobs && *why == refusal.why);
    let warning = |refusal: &Refusal| Warning::LeftOut {
        what: format!("a step with {} jobs", refusal.jobs),
        why: refusal.why.clone(),
    };
    refusals.iter().filter(|refusal| !reported(refusal)).map(warning).collect()
}

/// What the operation is called.
fn name(operation: DbOperation) -> &'static str {
    match operation {
        DbOperation::RanRead => "RanRead",
        DbOperation::RanWrite { .. } => "RanWrite",
        DbOperation::RanIo { .. } => "RanIO",
    }
}

fn validate(terms: &SweepTerms) -> Result<(), SweepError> {
    let refuse = |reason| Err(SweepError::Value(reason));
    if terms.step.0 == 0 {
        return refuse("a step needs some time: give --step 30s, for example");
    }
    if terms.repeat == 0 {
        return refuse("every step has to be run at least once: give --repeat 1 or more");
    }
    if !(terms.least_growth > 0.0 && terms.least_growth < 1.0) {
        return refuse("the growth that counts must lie between 0 and 100 % per doubling of the jobs");
    }
    if terms.average.0 == 0 || terms.ceiling < terms.average || terms.stop_response.0 == 0 {
        return refuse("the average must be longer than zero, and the ceiling not below it");
    }
    if terms.target_iops.is_some_and(|target| !(target.0.is_finite() && target.0 > 0.0)) {
        return refuse("the target must be a number of operations per second above 0");
    }
    Ok(())
}

fn jobs(result: &PhaseResult) -> u32 {
    match &result.info.task {
        Task::Database(task) => task.workers,
        other => other.concurrency(),
    }
}

/// Why nothing more can be asked after this phase, where it is so.
fn untimely(result: &PhaseResult) -> Option<SweepEnd> {
    let failed = |why: String| Some(SweepEnd::Failed { jobs: jobs(result), why });
    match &result.end.ending {
        Ending::Interrupted => return Some(SweepEnd::Interrupted),
        Ending::Failed(why) => return failed(why.clone()),
        Ending::Completed => {}
    }
    let outstanding = result.end.outstanding;
    if result.errors() > 0 {
        let first = result.end.errors.first().map_or("an unknown error", |tally| tally.first.as_str());
        return failed(format!("{} operations failed, the first with: {first}", result.errors()));
    }
    if outstanding.lost > 0 {
        return failed(format!(
            "{} operations had not come back after {}",
            outstanding.lost, outstanding.oldest
        ));
    }
    if load_point(result).is_none() {
        return failed(
            "no operation came to its end: give longer steps, or look for what holds it up".into(),
        );
    }
    None
}

/// The points of phases, of those that did not come to their end none.
fn points(run: &[&PhaseResult]) -> Vec<LoadPoint> {
    run.iter()
        .take_while(|result| untimely(result).is_none())
        .filter_map(|result| load_point(result))
        .collect()
}

/// What a step says about the load it was under; `None` where nothing was measured.
fn load_point(result: &PhaseResult) -> Option<LoadPoint> {
    /// Half-width of a normal distribution's 95 % interval in standard errors.
    const NORMAL_95: f64 = 1.96;
    let logical = result.logical()?;
    Some(LoadPoint {
        concurrency: jobs(result),
        throughput: logical.rate.value,
        // The half-width as a normal error: it is wider where few intervals are behind it.
        throughput_se: (logical.rate.high - logical.rate.low) / 2.0 / NORMAL_95,
        response: logical.response.value / 1e9,
    })
}

/// The warning about a sweep that ended though IOPS still grew and response time was still good.
fn no_plateau(
    points: &[LoadPoint],
    knee: Option<&Knee>,
    end: &SweepEnd,
    terms: &SweepTerms,
) -> Option<Warning> {
    let by_itself = matches!(end, SweepEnd::ResponseOver { .. } | SweepEnd::NotGrowing { .. });
    let last = points.last()?;
    let good = last.response <= terms.stop_response.as_secs_f64();
    (!by_itself && good && knee.is_some_and(|knee| !knee.saturated))
        .then(|| Warning::NoPlateau { phase: name(terms.operation).into(), concurrency: last.concurrency })
}

#[cfg(test)]
mod tests;
