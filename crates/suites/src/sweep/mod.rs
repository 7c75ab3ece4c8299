//! `sweep`: the method of the PerfTools' articles, automated. Jobs are raised from 1 on until response time stays over a limit
//! or IOPS grow no longer; then a closer look at the knee; then, where repetition is asked for, all of it again, each time in
//! another order. What was found is judged by the articles' guide: an average and a ceiling.

pub(crate) mod order;
mod rise;
mod verdict;

use iolite_model::{
    Bytes, Concluded, DbTask, Ending, JudgedStep, Nanos, Stop, SweepEnd, SweepTerms, Task, TimedBy, Verdict,
    Warning,
};
use iolite_results::Run;
use iolite_stats::{Knee, LoadPoint, PhaseResult, SweepConcluded, SweptStep};

use crate::judge::{HostUse, judge_run};
use crate::procedure::{Conclusions, CutShort, Nothing, Procedure, Step};
use crate::search::capped;

/// Points of time that a step has at least, so that its figures have an uncertainty, where it is long enough.
const INTERVALS: u64 = 20;

/// Steps of the default list that a sweep takes about.
const TYPICAL: usize = 6;

/// What a sweep is to be like, and what it meets.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepOptions {
    /// What was asked.
    pub terms: SweepTerms,
    /// Jobs at most.
    pub max_jobs: u32,
    /// Globals there are; job i works in global i, unless it only reads blocks.
    pub globals: u32,
    /// Sessions that the server still takes; `None` without a limit.
    pub sessions: Option<u32>,
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
    #[error("jobs {0:?}: specify ascending numbers above 0, for example 1,5,10,20,40")]
    Jobs(Vec<u32>),
    /// More jobs than globals.
    #[error(
        "{jobs} jobs need {jobs} globals, one each, but there are only {globals}: add globals with `add-globals --globals {jobs}`"
    )]
    Globals {
        /// Most jobs asked for.
        jobs: u32,
        /// Globals there are.
        globals: u32,
    },
    /// More jobs than are allowed.
    #[error("{jobs} jobs are more than the maximum of {max}: raise --max-jobs")]
    MaxJobs {
        /// Most jobs asked for.
        jobs: u32,
        /// Jobs at most.
        max: u32,
    },
    /// More jobs than the server takes sessions.
    #[error(
        "{jobs} jobs need as many sessions, but the server accepts only {sessions} more: raise max_connections, end other \
         sessions, or use fewer --jobs"
    )]
    Sessions {
        /// Most jobs asked for.
        jobs: u32,
        /// Sessions that the server still takes.
        sessions: u32,
    },
    /// A value is invalid.
    #[error("{0}")]
    Value(&'static str),
}

#[derive(Debug, Clone, PartialEq)]
enum SweepNext {
    /// Run this, and add its result to the history, also where it could not be started.
    Run(Box<DbTask>),
    /// All is measured.
    Done(Box<SweepFound>),
}

/// The end of a sweep.
#[derive(Debug, Clone, PartialEq)]
struct SweepFound {
    /// The steps, by the number of jobs.
    steps: Vec<SweptStep>,
    /// Why no more jobs were tried.
    end: SweepEnd,
    /// The knee; `None` with fewer than two steps.
    knee: Option<Knee>,
    /// The step that response times were judged at; `None` without a verdict.
    judged: Option<JudgedStep>,
    /// The answer; `None` where it was interrupted before the jobs had been raised to the end, or nothing was measured.
    verdict: Option<Verdict>,
    /// Warnings about the sweep; those about a phase are [`warnings`](crate::phase_warnings()).
    warnings: Vec<Warning>,
}

impl SweepFound {
    /// Whether the run has failed by this end, rather than come to it.
    fn has_failed(&self) -> bool {
        match &self.end {
            SweepEnd::Failed { .. } => true,
            // Nothing could be started at all.
            SweepEnd::NotStarted { .. } => self.steps.is_empty(),
            _ => false,
        }
    }
}

/// The procedure. What comes next follows from the history alone.
#[derive(Debug, Clone)]
pub struct Sweep {
    options: SweepOptions,
    /// The numbers of jobs to be tried, in order.
    list: Vec<u32>,
    /// Why the list ends where it does.
    list_end: SweepEnd,
    /// Set where fewer jobs are tried than are allowed.
    limited: Option<Warning>,
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
    pub fn new(mut options: SweepOptions) -> Result<Sweep, SweepError> {
        validate(&options.terms)?;
        let limited = limit(&options)?;
        if let Some(Warning::FewSessions { jobs, .. }) = limited {
            options.max_jobs = jobs;
        }
        let (list, list_end) = order::list(&options)?;
        Ok(Sweep { options, list, list_end, limited })
    }

    /// The warning where the server takes fewer sessions than would be tried.
    pub fn limited(&self) -> Option<Warning> {
        self.limited.clone()
    }

    /// How long it will take, as far as that can be known before.
    pub fn duration(&self) -> Nanos {
        let terms = &self.options.terms;
        let steps = if terms.jobs.is_empty() { TYPICAL } else { terms.jobs.len() } + terms.closer as usize;
        let each = terms.step.0.saturating_add(terms.ramp.0);
        Nanos(each.saturating_mul(steps as u64).saturating_mul(u64::from(terms.repeat)))
    }

    /// The next step, from the results of this sweep's phases so far, in order. After a step that could not be started no more
    /// jobs are tried, and what was measured with fewer is kept.
    fn following(&self, history: &[PhaseResult]) -> SweepNext {
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
    fn ended(&self, history: &[PhaseResult], end: SweepEnd) -> SweepFound {
        self.conclude(history, end, self.is_raised(&Past::of(history)))
    }

    /// The verdict with what the run says of the host and of others: of the step that it rests on, whatever the steps beyond it met.
    fn beside(&self, found: &SweepFound, run: &Run) -> Option<Verdict> {
        let verdict = found.verdict.clone()?;
        let jobs = found.judged.as_ref().map(|judged| judged.jobs);
        let step = found.steps.iter().find(|step| Some(step.jobs) == jobs);
        let phases = run
            .phases
            .iter()
            .filter(|phase| step.is_some_and(|step| step.phases.contains(&phase.info.index)));
        let beside = judge_run(run, &[phases.collect()]);
        Some(Verdict::of(&verdict.profile, verdict.reasons.into_iter().chain(beside).collect()))
    }

    /// The throttle that reads have met. Sets may wait for each other whatever the jobs, and sessions for the host's CPUs.
    fn capped(&self, steps: &[SweptStep], run: &Run) -> Vec<Warning> {
        let terms = &self.options.terms;
        if terms.operation.writes() || HostUse::of(run).is_exhausted(&run.phases) {
            return Vec::new();
        }
        let points = steps.iter().filter_map(|step| load_point(&step.result)).collect();
        capped(&[(terms.operation.name(), Bytes(0), points)])
    }

    fn conclusions(&self, found: SweepFound, run: &Run) -> Conclusions {
        let verdict = self.beside(&found, run);
        let capped = self.capped(&found.steps, run);
        let concluded = SweepConcluded {
            tool: self.options.terms.operation.name().into(),
            terms: self.options.terms.clone(),
            end: found.end,
            knee: found.knee,
            judged: found.judged,
        };
        let warnings = found.warnings.into_iter().chain(capped).collect();
        Conclusions { concluded: vec![Concluded::of(&concluded)], warnings, verdict }
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
            name: options.terms.operation.name().into(),
            operation: options.terms.operation,
            workers: jobs,
            stop: Stop { runtime: Some(options.terms.step), ..Stop::default() },
            ramp: options.terms.ramp,
            interval: interval(options.terms.step),
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

impl Procedure for Sweep {
    type Preparation = Nothing;

    fn next(&mut self, run: &Run, _elapsed: Nanos) -> Step {
        match self.following(&run.phases) {
            SweepNext::Run(task) => Step::Run(vec![Task::Database(*task)]),
            SweepNext::Done(found) if found.has_failed() => Step::Failed(found.end.to_string()),
            SweepNext::Done(found) => Step::Done(self.conclusions(*found, run)),
        }
    }

    fn cut_short(&mut self, run: &Run, why: CutShort) -> Conclusions {
        let found = match (self.following(&run.phases), why) {
            (SweepNext::Done(found), _) => *found,
            (SweepNext::Run(_), CutShort::Interrupted) => self.ended(&run.phases, SweepEnd::Interrupted),
            (SweepNext::Run(task), CutShort::Failed(why)) => {
                self.ended(&run.phases, SweepEnd::Failed { jobs: task.workers, why })
            }
        };
        self.conclusions(found, run)
    }
}

/// Length of the intervals of a step's time series.
fn interval(step: Nanos) -> Nanos {
    Nanos((step.0 / INTERVALS).clamp(10 * Nanos::MILLISECOND.0, Nanos::SECOND.0))
}

/// The warning where the server takes fewer sessions than would be tried.
fn limit(options: &SweepOptions) -> Result<Option<Warning>, SweepError> {
    let Some(sessions) = options.sessions.filter(|&sessions| sessions < options.max_jobs) else {
        return Ok(None);
    };
    match options.terms.jobs.iter().copied().max() {
        Some(jobs) if jobs > sessions => Err(SweepError::Sessions { jobs, sessions }),
        Some(_) => Ok(None),
        None => Ok(Some(Warning::FewSessions { sessions, jobs: sessions })),
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

fn validate(terms: &SweepTerms) -> Result<(), SweepError> {
    let refuse = |reason| Err(SweepError::Value(reason));
    if terms.step.0 == 0 {
        return refuse("--step must be above 0: specify, for example, --step 30s");
    }
    if terms.repeat == 0 {
        return refuse("--repeat must be at least 1");
    }
    if !(terms.min_growth > 0.0 && terms.min_growth < 1.0) {
        return refuse("--min-growth must be between 0 and 100 % per doubling of the jobs");
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
            "{} operations had not completed after {}",
            outstanding.lost, outstanding.oldest
        ));
    }
    if load_point(result).is_none() {
        return failed(
            "no operation completed: use longer steps, or find out what blocks the operations".into(),
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
    let logical = result.logical()?;
    Some(LoadPoint::of(jobs(result), &logical.rate, logical.response.value))
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
        .then(|| Warning::NoPlateau { phase: terms.operation.name().into(), concurrency: last.concurrency })
}

#[cfg(test)]
mod tests;
