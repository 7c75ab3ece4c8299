//! More and more virtual users until New-Orders per minute stop growing: the curve, the knee, and a verdict.

use iolite_model::{
    Concluded, Ending, Fitness, Nanos, OpKind, Quantile, Reason, ReasonUnit, Statistic, Task, TprocCCounted,
    TprocCTask, Verdict, Warning,
};
use iolite_results::Run;
use iolite_stats::{Estimate, Knee, KneeFound, LoadPoint, PhaseResult, TprocCRates, still_growing};

use crate::judge::{fitness, judge_failures, judge_run, judge_storage, nanos};
use crate::phase_warnings::is_short;
use crate::procedure::{Conclusions, Nothing, Procedure, Step};
use crate::sweep::order;

/// Fewer steps show no knee.
const FEWEST: usize = 3;
/// Stock-Level may take as many times as long as the others (clause 5.2.5.3: 20 s beside 5 s).
const STOCK_LEVEL: u64 = 4;
/// The quantile that the response times are judged by (clause 5.2.5.3).
const JUDGED: Quantile = Quantile(0.9);
/// Up to the bound times this a response time that is surely beyond it is marginal: the clause has no tolerance.
const MARGINAL: f64 = 1.0;
/// The transactions, by their kind of operation.
const TRANSACTIONS: [&str; 5] = ["new-order", "payment", "order-status", "delivery", "stock-level"];

/// What is wrong with a sweep.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UserSweepError {
    /// There is nothing to sweep.
    #[error(
        "the numbers of virtual users must be ascending and above 0: specify, for example, --users 1,2,4,8,16"
    )]
    Users,
}

/// Numbers of users, unless others are asked for.
const USERS: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];

/// The numbers of users that a sweep runs unless others are asked for, as far as the server has that many `sessions` left, with a
/// warning where these are not all. `None`: it has no limit.
pub fn default_users(sessions: Option<u32>) -> (Vec<u32>, Option<Warning>) {
    let sessions = sessions.unwrap_or(u32::MAX);
    let users: Vec<u32> = USERS.into_iter().filter(|users| *users == 1 || *users <= sessions).collect();
    let jobs = users.last().copied().unwrap_or(1);
    let warning = (users.len() < USERS.len()).then_some(Warning::FewSessions { sessions, jobs });
    (users, warning)
}

/// A sweep over the number of virtual users.
#[derive(Debug, Clone)]
pub struct UserSweep {
    /// What each step does; its number of users is the step's.
    task: TprocCTask,
    users: Vec<u32>,
    /// What 90 % of each transaction's response times must keep; four times as long for Stock-Level.
    limit: Nanos,
    /// Runs every step, also where throughput no longer grows.
    all: bool,
    /// Passes over the steps.
    passes: usize,
}

impl UserSweep {
    /// Steps with these numbers of users, of `task` otherwise.
    ///
    /// # Errors
    /// [`UserSweepError`] where the numbers do not rise.
    pub fn new(
        task: TprocCTask,
        users: Vec<u32>,
        limit: Nanos,
        all: bool,
    ) -> Result<UserSweep, UserSweepError> {
        let rises = users.windows(2).all(|pair| pair[0] < pair[1]);
        if users.first().is_none_or(|first| *first == 0) || !rises {
            return Err(UserSweepError::Users);
        }
        Ok(UserSweep { task, users, limit, all, passes: 1 })
    }

    /// The same with each step run so many times, in interleaved passes: what changes steadily with time adds the same to every step.
    #[must_use]
    pub fn repeated(self, times: u32) -> UserSweep {
        UserSweep { passes: times.max(1) as usize, ..self }
    }

    /// The number of users of the next phase; `None` where all are done.
    fn next_users(&self, run: &Run) -> Option<u32> {
        let done: Vec<u32> = run.phases.iter().map(users_of).collect();
        // The first pass ascends, and ends where throughput stops growing.
        let ascended = done.windows(2).take_while(|pair| pair[0] < pair[1]).count() + 1;
        let first = &run.phases[..ascended.min(run.phases.len())];
        let points: Vec<LoadPoint> = first.iter().filter_map(|phase| point(run, phase)).collect();
        let enough = points.len() >= FEWEST && !still_growing(&points) && !self.all;
        if done.len() == first.len() && !enough && done.len() < self.users.len() {
            return self.users.get(done.len()).copied();
        }
        // The second pass descends: its first step repeats the last of the first.
        let (pass, position) = (done.len().checked_div(first.len())?, done.len().checked_rem(first.len())?);
        let order = order::pass(first.len(), pass);
        let next = order.get(position).and_then(|step| self.users.get(*step)).copied();
        next.filter(|_| pass < self.passes)
    }

    fn conclude(&self, run: &Run) -> Conclusions {
        let points: Vec<LoadPoint> = run.phases.iter().filter_map(|phase| point(run, phase)).collect();
        let knee = Knee::fit(&points, self.task.seed);
        let at: Vec<&PhaseResult> =
            knee.as_ref().map_or_else(Vec::new, |knee| nearest(&run.phases, knee.concurrency));
        let all = at.iter().skip(1).fold(at.first().map(|first| (*first).clone()), |all, phase| {
            all.map(|all| all.followed_by(phase))
        });
        let failures: Vec<Reason> = judge_failures(run.errors(), run.lost()).collect();
        let known = all.is_some() || !failures.is_empty();
        let medium = judge_storage(run).into_iter();
        let judged = all.iter().flat_map(|phase| self.judge(phase));
        let reasons = medium.chain(failures).chain(judged);
        let beside = judge_run(run, &[at]);
        let verdict = known.then(|| Verdict::of("TPROC-C at the knee", reasons.chain(beside).collect()));
        let found = knee.map(|knee| KneeFound {
            name: "TPROC-C".into(),
            phases: run.phases.iter().map(|phase| phase.info.index).collect(),
            knee,
        });
        Conclusions { concluded: found.iter().map(Concluded::of).collect(), warnings: Vec::new(), verdict }
    }

    /// Each transaction's 90th percentile at the knee.
    fn judge(&self, phase: &PhaseResult) -> Vec<Reason> {
        let kinds = TRANSACTIONS.iter().filter_map(|name| OpKind::named(name));
        kinds.filter(|kind| self.task.kinds.contains(kind)).map(|kind| self.judge_kind(phase, kind)).collect()
    }

    fn judge_kind(&self, phase: &PhaseResult, kind: OpKind) -> Reason {
        let bound = match kind.name() {
            "stock-level" => self.limit.0.saturating_mul(STOCK_LEVEL),
            _ => self.limit.0,
        };
        let what = format!("{} with {} virtual users, p90", kind.name(), users_of(phase));
        let asked = format!("at most {}", Nanos(bound));
        let Some(times) = phase.quantile(kind, JUDGED) else {
            return Reason::new(Fitness::Marginal, what, "not judged: none completed", asked);
        };
        if is_short(phase) {
            let measured = format!("not judged: measured for only {}", phase.end.measured);
            return Reason::new(Fitness::Marginal, what, measured, asked);
        }
        let measured = format!("{} ({} to {})", nanos(times.value), nanos(times.low), nanos(times.high));
        let fitness = fitness(&times, bound as f64, MARGINAL);
        let reason = Reason::new(fitness, what, measured, asked);
        let reason = reason.with_figure(
            Statistic::Quantile(JUDGED),
            times.value,
            bound as f64,
            ReasonUnit::Nanoseconds,
        );
        let mut reason = reason.of_phase(phase.info.index);
        // Of too few, the largest is no bound.
        if !Estimate::resolves(JUDGED, phase.effective_for_quantile(kind, JUDGED)) {
            let all = phase.totals.operations(kind);
            reason.reserve(Fitness::Marginal, format!("{all} transactions are too few"));
        }
        reason
    }
}

impl Procedure for UserSweep {
    type Preparation = Nothing;

    fn next(&mut self, run: &Run, _: Nanos) -> Step {
        if let Some(last) = run.phases.last()
            && let Ending::Failed(reason) = &last.end.ending
        {
            return Step::Failed(reason.clone());
        }
        match self.next_users(run) {
            Some(users) => {
                let seed = self.task.seed.wrapping_add(run.phases.len() as u64);
                Step::Run(vec![Task::TprocC(TprocCTask { users, seed, ..self.task.clone() })])
            }
            _ => Step::Done(self.conclude(run)),
        }
    }
}

fn users_of(phase: &PhaseResult) -> u32 {
    phase.info.task.concurrency()
}

/// The phases whose users are nearest to this number: of one step.
fn nearest(phases: &[PhaseResult], users: u32) -> Vec<&PhaseResult> {
    let step = phases.iter().map(users_of).min_by_key(|step| step.abs_diff(users));
    phases.iter().filter(|phase| Some(users_of(phase)) == step).collect()
}

/// A step as a point of the curve: New-Orders a second by the districts' counter; `None` where that is not known.
fn point(run: &Run, phase: &PhaseResult) -> Option<LoadPoint> {
    let counted: TprocCCounted = run.of_phase(phase.info.index)?;
    let kind = OpKind::named("new-order")?;
    let summary = phase.summary(kind)?;
    let rate = TprocCRates::of(&phase.totals, &counted).nopm.scaled(1.0 / 60.0);
    (rate.value > 0.0).then(|| LoadPoint::of(users_of(phase), &rate, summary.mean.value))
}

#[cfg(test)]
mod tests {
    use iolite_model::{
        Bytes, Cache, ErrorClass, ErrorTally, Event, GeneratorUse, OpClass, Outstanding, PhaseEnd, PhaseInfo,
        RunInfo, Sink, Stop, TprocCCounts,
    };
    use iolite_stats::{Collector, Completion, Timetable, recorder};

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn no_more_users_than_the_server_takes_sessions() {
        assert_eq!(default_users(None), (vec![1, 2, 4, 8, 16, 32, 64], None));
        assert_eq!(default_users(Some(64)).1, None);
        let warning = |sessions, jobs| Some(Warning::FewSessions { sessions, jobs });
        assert_eq!(default_users(Some(9)), (vec![1, 2, 4, 8], warning(9, 8)));
        assert_eq!(default_users(Some(0)), (vec![1], warning(0, 1)));
    }

    fn task() -> TprocCTask {
        TprocCTask {
            name: "TPROC-C".into(),
            users: 1,
            warehouses: 8,
            reduction: 1,
            all_warehouses: false,
            keying_thinking: false,
            procedures: true,
            spread_warehouse: false,
            whole_cycles: None,
            rate: None,
            stop: Stop { runtime: Some(Nanos(10 * SECOND)), ..Stop::default() },
            ramp: Nanos(0),
            interval: Nanos(SECOND),
            seed: 3,
            kinds: vec![OpKind::of("new-order", OpClass::Write, false).unwrap()],
        }
    }

    /// A database that does at most `max` New-Orders a second, each of which takes 10 ms alone.
    fn step(run: &mut Run, task: &TprocCTask, max: f64) {
        let kind = OpKind::of("new-order", OpClass::Write, false).unwrap();
        let index = run.next_phase();
        let rate = (f64::from(task.users) * 100.0).min(max);
        let response = (f64::from(task.users) / rate * 1e9) as u64;
        let end = 10 * SECOND;
        let (mut recorder, feed) = recorder(Timetable { ramp_end: 0, interval: SECOND, end }, &[kind]);
        let mut collector = Collector::new(index, vec![feed]);
        let count = (rate * 10.0) as u64;
        for number in 0..count {
            let completed = (end / count * number + 1).min(end - 1);
            let issued = completed.saturating_sub(response);
            recorder.record(Completion { kind, intended: issued, issued, completed, bytes: 0 });
        }
        recorder.close(end);
        let counts =
            |seconds: u64, orders| TprocCCounts { at: Nanos(seconds * SECOND), orders, transactions: None };
        let counted = TprocCCounted {
            before: counts(0, 0),
            start: counts(0, 0),
            end: counts(10, count),
            after: counts(10, count),
            new_orders: count,
            committed: count,
            rolled_back: 0,
            deadlocks: 0,
            lock_timeouts: 0,
            skipped_deliveries: 0,
        };
        let info = PhaseInfo { index, task: Task::TprocC(task.clone()), started: Nanos(0) };
        run.event(&Event::PhaseStarted(info));
        recorder.finish().iter().for_each(|left| collector.absorb(0, left));
        let (intervals, _, _) = collector.finish(0, end);
        intervals.into_iter().for_each(|interval| run.event(&Event::Interval(interval)));
        run.event(&Event::Concluded(Box::new(Concluded::of_phase(index, &counted))));
        run.event(&Event::PhaseEnded(PhaseEnd {
            phase: index,
            ending: Ending::Completed,
            measured: Nanos(end),
            outstanding: Outstanding::default(),
            cache: Cache::default(),
            errors: Vec::new(),
            stuck: Vec::new(),
            rate: None,
            verified: None,
        }));
    }

    fn info() -> RunInfo {
        RunInfo::default()
    }

    fn swept(max: f64, limit: Nanos) -> (Vec<u32>, Conclusions) {
        swept_with(max, limit, |_| ())
    }

    /// With what `change` makes of the run after each step.
    fn swept_with(max: f64, limit: Nanos, change: impl Fn(&mut Run)) -> (Vec<u32>, Conclusions) {
        let sweep = UserSweep::new(task(), vec![1, 2, 4, 8, 16, 32, 64], limit, false).unwrap();
        all_steps(sweep, max, change)
    }

    fn all_steps(mut sweep: UserSweep, max: f64, change: impl Fn(&mut Run)) -> (Vec<u32>, Conclusions) {
        let mut run = Run::new(info());
        loop {
            match sweep.next(&run, Nanos(0)) {
                Step::Run(tasks) => match &tasks[..] {
                    [Task::TprocC(task)] => {
                        step(&mut run, task, max);
                        change(&mut run);
                    }
                    other => panic!("{other:?}"),
                },
                Step::Done(conclusions) => return (run.phases.iter().map(users_of).collect(), conclusions),
                Step::Failed(reason) => panic!("{reason}"),
                Step::Prepare(nothing) => match nothing {},
            }
        }
    }

    #[test]
    fn users_are_added_until_throughput_stops_growing() {
        let (users, conclusions) = swept(800.0, Nanos(5 * SECOND));
        assert_eq!(users, [1, 2, 4, 8, 16]);
        let found: KneeFound = conclusions.concluded[0].read().unwrap();
        assert!((6..=10).contains(&found.knee.concurrency), "{:?}", found.knee);
        assert!(found.knee.saturated);
        let verdict = conclusions.verdict.unwrap();
        assert_eq!((verdict.fitness, verdict.reasons.len()), (Fitness::Fit, 1));
        let (_, slow) = swept(800.0, Nanos(1_000_000));
        assert_eq!(slow.verdict.unwrap().fitness, Fitness::Unfit);
    }

    #[test]
    fn steps_are_repeated_in_interleaved_passes() {
        let limit = Nanos(5 * SECOND);
        let repeated = |users: &[u32], times| {
            let sweep = UserSweep::new(task(), users.to_vec(), limit, false).unwrap().repeated(times);
            all_steps(sweep, 800.0, |_| ())
        };
        let (users, conclusions) = repeated(&[1, 2, 4, 8, 16, 32, 64], 3);
        assert_eq!(users, [1, 2, 4, 8, 16, 16, 8, 4, 2, 1, 4, 8, 16, 1, 2]);
        let found: KneeFound = conclusions.concluded[0].read().unwrap();
        assert_eq!(found.phases.len(), 15);
        assert!((6..=10).contains(&found.knee.concurrency), "{:?}", found.knee);
        let reasons = conclusions.verdict.unwrap().reasons;
        assert_eq!(reasons.len(), 1, "all phases of the step are judged as one: {reasons:?}");
        // The list ends before throughput stops growing; a single step.
        assert_eq!(repeated(&[1, 2], 2).0, [1, 2, 2, 1]);
        assert_eq!(repeated(&[4], 3).0, [4, 4, 4]);
    }

    #[test]
    fn what_failed_hung_or_was_not_the_storage_alone_is_in_the_verdict() {
        let judged = |change: &dyn Fn(&mut Run)| {
            let verdict = swept_with(800.0, Nanos(5 * SECOND), change).1.verdict.unwrap();
            (verdict.fitness, verdict.reasons.iter().map(|reason| reason.what.clone()).collect::<Vec<_>>())
        };
        // Of the preparation, in a step that is not judged.
        let failed = ErrorTally {
            kind: OpKind::Read,
            class: ErrorClass::Device,
            count: 1,
            first_offsets: Vec::new(),
            first: "Input/output error".into(),
            number: Some(5),
        };
        let (fitness, reasons) = judged(&|run| run.phases[0].end.errors = vec![failed.clone()]);
        assert_eq!((fitness, reasons[0].as_str()), (Fitness::Unfit, "errors"));
        let (fitness, reasons) = judged(&|run| run.phases[0].end.outstanding.lost = 2);
        assert_eq!((fitness, reasons[0].as_str()), (Fitness::Unfit, "hangs"));
        let foreign = Warning::ForeignLoad {
            phase: "a".into(),
            requested: Bytes(1),
            kind: OpKind::Read,
            device: Bytes(9),
        };
        let (fitness, reasons) = judged(&|run| run.warnings = vec![foreign.clone()]);
        assert_eq!((fitness, reasons.last().unwrap().as_str()), (Fitness::Marginal, "other load"));
        // The knee is at 8 users; what more users took of the CPUs is not judged.
        let busy_from = |users: u32| {
            move |run: &mut Run| {
                let last = run.phases.last().unwrap();
                let (index, busy) = (last.info.index, users_of(last) >= users);
                let used = GeneratorUse {
                    observed: Nanos(10 * SECOND),
                    busiest_cpu: Nanos(if busy { 10 * SECOND } else { 0 }),
                    cpus: 2,
                    ..GeneratorUse::default()
                };
                run.conclusions.push(Concluded::of_phase(index, &used));
            }
        };
        assert_eq!(judged(&busy_from(16)).0, Fitness::Fit);
        let (fitness, reasons) = judged(&busy_from(1));
        assert_eq!((fitness, reasons.last().unwrap().as_str()), (Fitness::Marginal, "load generator"));
    }

    #[test]
    fn what_rests_on_next_to_nothing_is_never_fit() {
        let judged = |change: &dyn Fn(&mut Run)| {
            let verdict = swept_with(800.0, Nanos(5 * SECOND), change).1.verdict.unwrap();
            let reason = verdict.reasons.iter().find(|reason| reason.what.starts_with("new-order"));
            let said = reason.map(|reason| format!("{} {}", reason.measured, reason.reservations.join("; ")));
            (verdict.fitness, verdict.reasons[0].what.clone(), said.unwrap_or_default())
        };
        let (fitness, _, said) =
            judged(&|run| run.phases.iter_mut().for_each(|phase| phase.end.measured = Nanos(SECOND / 10)));
        assert!(fitness == Fitness::Marginal && said.contains("measured for only"), "{said}");
        let volatile = Warning::Volatile { device: "tmpfs".into() };
        let (fitness, first, _) = judged(&|run| run.warnings = vec![volatile.clone()]);
        assert_eq!((fitness, first.as_str()), (Fitness::Unfit, "durability"));
        let unflushed = Warning::FewSyncs {
            phase: "a".into(),
            commits: 100,
            jobs: 1,
            counter: "device".into(),
            what: "flushes".into(),
            syncs: 0,
        };
        let (fitness, ..) = judged(&|run| run.warnings = vec![unflushed.clone()]);
        assert_eq!(fitness, Fitness::Marginal);
        // Durability that was taken away in mid-run.
        let changes = vec!["fsync was on, and is off".to_owned()];
        let changed = Warning::SettingsChanged { phase: "a".into(), changes };
        let (fitness, ..) = judged(&|run| run.warnings = vec![changed.clone()]);
        assert_eq!((fitness, judged(&|_| ()).0), (Fitness::Marginal, Fitness::Fit));
        let asleep = Warning::HostSuspended { at: Nanos(SECOND), length: Nanos(60 * SECOND) };
        let (fitness, ..) = judged(&|run| run.warnings = vec![asleep.clone()]);
        assert_eq!(fitness, Fitness::Marginal);
        // A kind of transaction of the mix of which none completed.
        let mut run = Run::new(info());
        let stock_level = OpKind::of("stock-level", OpClass::Read, false).unwrap();
        let mut sweep = UserSweep::new(task(), vec![1], Nanos(5 * SECOND), false).unwrap();
        sweep.task.kinds.push(stock_level);
        step(&mut run, &task(), 800.0);
        let reasons = sweep.judge(&run.phases[0]);
        assert_eq!((reasons.len(), reasons[1].measured.as_str()), (2, "not judged: none completed"));
    }

    #[test]
    fn lists_that_do_not_rise_are_refused() {
        for users in [vec![], vec![0, 1], vec![2, 2], vec![4, 2]] {
            assert!(UserSweep::new(task(), users, Nanos(1), false).is_err());
        }
    }
}
