//! The procedure on closed-form servers.

mod judged;

use iolite_model::{
    Bytes, Cache, DbOperation, ErrorClass, ErrorTally, Event, Fitness, GeneratorUse, Iops, OpKind,
    Outstanding, PhaseEnd, PhaseInfo, RunInfo, Sink,
};
use iolite_stats::{Collector, Completion, Timetable, recorder};

use super::*;

const SECOND: u64 = 1_000_000_000;

/// What is between the program and the answer.
#[derive(Clone)]
struct Server {
    /// Operations per second with this number of jobs, and their mean response in seconds.
    law: fn(f64) -> (f64, f64),
    /// Relative deviation of each second's rate, at random.
    noise: f64,
    /// Relative change of the rate from one phase to the next.
    drift: f64,
    /// One operation in so many takes so long, in seconds.
    slow: (u64, f64),
    /// Share of the reads that reach the device.
    reached: f64,
    /// Phases, by number, that end badly.
    fails: Option<(u32, Ending)>,
    /// Errors in every phase.
    errors: u64,
    /// Jobs that can be started.
    max: u32,
}

/// 1,600 a second for each job up to 6,140: the published series.
fn published(jobs: f64) -> (f64, f64) {
    let rate = (1597.0 * jobs).min(6140.0);
    (rate, jobs / rate)
}

const CLOUD: Server = Server {
    law: published,
    noise: 0.0,
    drift: 0.0,
    slow: (0, 0.0),
    reached: 1.0,
    fails: None,
    errors: 0,
    max: u32::MAX,
};

fn terms(operation: DbOperation) -> SweepTerms {
    SweepTerms { step: Nanos(4 * SECOND), ramp: Nanos(SECOND / 10), ..SweepTerms::new(operation) }
}

fn options(terms: SweepTerms) -> SweepOptions {
    SweepOptions {
        terms,
        max_jobs: SweepTerms::MAX_JOBS,
        globals: 12,
        sessions: None,
        timed_by: TimedBy::Client,
        direct: true,
        volatile: None,
        seed: 3,
    }
}

fn reads() -> SweepOptions {
    options(terms(DbOperation::RanRead))
}

/// A fraction from 0 to 1 that looks random.
fn dice(number: u64) -> f64 {
    let mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 11) as f64 / (1u64 << 53) as f64
}

/// The kinds of a batch in the order they come: commits after every tenth set, a read and a set in turn.
fn cycle(operation: DbOperation) -> Vec<OpKind> {
    let sets = || std::iter::repeat_n(OpKind::Write, 10).chain([OpKind::Commit]);
    match operation {
        DbOperation::RanRead | DbOperation::Scan => vec![OpKind::Read],
        DbOperation::RanWrite { .. } => sets().collect(),
        DbOperation::RanIo { .. } => sets().chain(std::iter::repeat_n(OpKind::Read, 10)).collect(),
    }
}

impl Server {
    /// What it would have done with the task: real recording, computed instants.
    fn run(&self, index: u32, task: &DbTask) -> PhaseResult {
        let end = task.stop.runtime.unwrap().0;
        let timetable = Timetable { ramp_end: 0, interval: task.interval.0, end };
        let (mut recorder, feed) = recorder(timetable, &OpKind::STANDARD);
        let mut collector = Collector::new(index, vec![feed]);
        let (rate, response) = (self.law)(f64::from(task.workers));
        let rate = rate * (1.0 + self.drift * f64::from(index));
        let starts = task.workers <= self.max;
        let (mut at, mut count, mut requested) = (0.0, 0u64, 0);
        let cycle = cycle(task.operation);
        while starts && at < end as f64 {
            let kind = cycle[(count % cycle.len() as u64) as usize];
            count += 1;
            let is_slow = self.slow.0 > 0 && count % self.slow.0 == 0;
            let response = if is_slow { self.slow.1 } else { response };
            let completed = at as u64;
            let issued = completed.saturating_sub((response * 1e9) as u64);
            // An operation may have been issued before the phase: only its length counts.
            let completed = completed.max((response * 1e9) as u64).min(end - 1);
            let bytes = if kind == OpKind::Commit { 0 } else { 8192 };
            requested += if kind == OpKind::Read { bytes } else { 0 };
            recorder.record(Completion { kind, intended: issued, issued, completed, bytes });
            collector.collect(completed);
            let quarter = at as u64 / task.interval.0;
            let wave = 1.0 + self.noise * (2.0 * dice(quarter + 1000 * u64::from(index)) - 1.0);
            // A commit takes no turn of its own.
            at += if kind == OpKind::Commit { 0.0 } else { 1e9 / (rate * wave) };
        }
        (0..self.errors).for_each(|_| recorder.record_error(OpKind::Read, end - 1));
        recorder.finish().iter().for_each(|left| collector.absorb(0, left));
        let (_, _, totals) = collector.finish(0, end);
        let refused = (!starts).then(|| Ending::Failed("too many connections".into()));
        let ending = self.fails.iter().find(|(phase, _)| *phase == index);
        let cache = Cache {
            requested_read: Bytes(requested),
            device_read: Some(Bytes((requested as f64 * self.reached) as u64)),
            ..Cache::default()
        };
        PhaseResult {
            info: PhaseInfo { index, task: Task::Database(task.clone()), started: Nanos(0) },
            end: PhaseEnd {
                phase: index,
                ending: refused.or(ending.map(|found| found.1.clone())).unwrap_or(Ending::Completed),
                measured: Nanos(end),
                outstanding: Outstanding::default(),
                cache,
                errors: (self.errors > 0).then(|| errors(self.errors)).into_iter().collect(),
                stuck: Vec::new(),
                rate: None,
                verified: None,
            },
            totals,
        }
    }
}

fn errors(count: u64) -> ErrorTally {
    ErrorTally {
        kind: OpKind::Read,
        class: ErrorClass::Device,
        count,
        first_offsets: vec![0],
        first: "Input/output error".into(),
        number: Some(5),
    }
}

/// Sweeps to the end: the numbers of jobs in the order they were run, and what was found.
fn swept(server: &Server, options: SweepOptions) -> (Vec<u32>, SweepFound) {
    let sweep = Sweep::new(options).unwrap();
    let mut history = Vec::new();
    loop {
        match sweep.following(&history) {
            SweepNext::Run(task) => {
                assert!(history.len() < 60, "no end");
                history.push(server.run(history.len() as u32, &task));
            }
            SweepNext::Done(found) => return (history.iter().map(jobs).collect(), *found),
        }
    }
}

fn fitness(found: &SweepFound) -> Fitness {
    found.verdict.as_ref().unwrap().fitness
}

#[test]
fn the_published_series_has_its_knee_at_four() {
    let mut options = reads();
    options.terms.jobs = vec![1, 4, 8, 16];
    options.terms.closer = 0;
    let measured: fn(f64) -> (f64, f64) = |jobs| match jobs as u32 {
        1 => (1597.0, 0.63e-3),
        4 => (6011.0, 0.67e-3),
        8 => (6136.0, 1.3e-3),
        _ => (6144.0, 2.6e-3),
    };
    let (run, found) = swept(&Server { law: measured, ..CLOUD }, options);
    assert_eq!(run, [1, 4, 8, 16]);
    let knee = found.knee.as_ref().unwrap();
    assert_eq!((knee.concurrency, knee.low, knee.high, knee.saturated), (4, 4, 4, true), "{knee:?}");
    assert!((knee.plateau.value / 6140.0 - 1.0).abs() < 0.01, "{knee:?}");
    assert!(matches!(found.end, SweepEnd::NotGrowing { before: 8, jobs: 16, .. }), "{:?}", found.end);
    assert_eq!(found.judged, Some(JudgedStep { jobs: 4, why: "the knee".into() }));
    assert_eq!(fitness(&found), Fitness::Fit, "{:#?}", found.verdict);
    let whats: Vec<_> =
        found.verdict.as_ref().unwrap().reasons.iter().map(|reason| reason.what.as_str()).collect();
    assert_eq!(whats, ["reads with 4 jobs (the knee), mean", "reads with 4 jobs (the knee), longest"]);
    assert!(found.warnings.is_empty(), "{:?}", found.warnings);
}

#[test]
fn by_default_it_ends_by_itself_and_looks_closer_at_the_knee() {
    let (run, found) = swept(&CLOUD, reads());
    assert_eq!(run[..4], [1, 5, 10, 20]);
    assert!(run.len() <= 6 && run[4..].contains(&4), "{run:?}");
    assert_eq!(found.knee.as_ref().unwrap().concurrency, 4);
    assert_eq!(found.steps.iter().map(|step| step.jobs).collect::<Vec<_>>(), {
        let mut sorted = run.clone();
        sorted.sort_unstable();
        sorted
    });
}

#[test]
fn noise_does_not_end_it_early() {
    // Two disks' worth, growing by 40 % per doubling, with a tenth of noise.
    let growing: fn(f64) -> (f64, f64) = |jobs| {
        let rate = 1000.0 * jobs.powf(0.5);
        (rate, jobs / rate)
    };
    let (run, found) = swept(&Server { law: growing, noise: 0.1, ..CLOUD }, reads());
    // sqrt(jobs)/1000 s: over 10 ms from 100 jobs on.
    assert_eq!(run[..8], [1, 5, 10, 20, 40, 80, 160, 320]);
    assert!(matches!(found.end, SweepEnd::ResponseOver { before: 160, jobs: 320, .. }), "{:?}", found.end);
}

#[test]
fn repetitions_are_interleaved_so_that_drift_favours_no_step() {
    let mut options = reads();
    (options.terms.jobs, options.terms.closer) = (vec![1, 2, 4, 8], 0);
    let drifting = |repeat| {
        let mut options = options.clone();
        options.terms.repeat = repeat;
        // Always the same, but for a loss of 3 % from each phase to the next.
        let server = Server { law: |_| (2000.0, 1e-3), drift: -0.03, ..CLOUD };
        swept(&server, options)
    };
    let (run, found) = drifting(2);
    // Two steps without growth end the first pass at 4.
    assert_eq!(run, [1, 2, 4, 4, 2, 1]);
    let rates: Vec<_> = found.steps.iter().map(|step| step.result.logical().unwrap().rate).collect();
    assert!(rates.iter().all(|rate| (rate.value / rates[0].value - 1.0).abs() < 0.002), "{rates:?}");
    // What differed between the two is in the interval: 2,000 and 1,700 with one job.
    assert!(rates[0].low < 1710.0 && rates[0].high > 1990.0, "{:?}", rates[0]);
    assert_eq!(found.steps[0].phases, [0, 5]);
    let (run, found) = drifting(1);
    assert_eq!(run, [1, 2, 4]);
    let rates: Vec<_> = found.steps.iter().map(|step| step.result.logical().unwrap().rate.value).collect();
    assert!(rates[0] / rates[2] > 1.05, "{rates:?}");
    assert_eq!(drifting(4).0, [1, 2, 4, 4, 2, 1, 2, 4, 1, 1, 4, 2]);
}

#[test]
fn closer_looks_are_repeated_too() {
    let mut options = reads();
    options.terms.repeat = 3;
    let (run, found) = swept(&CLOUD, options);
    let first = run.len() / 3;
    assert_eq!(run.len(), 3 * first);
    assert!(found.steps.iter().all(|step| step.phases.len() == 3), "{run:?}");
    let mut back: Vec<_> = run[..first].to_vec();
    back.sort_unstable_by(|a, b| b.cmp(a));
    assert_eq!(run[first..2 * first], back);
}

#[test]
fn what_writes_gets_no_more_jobs_than_globals() {
    let writes = DbOperation::RanWrite { transaction_length: 10, hang: Nanos(0) };
    let quick: fn(f64) -> (f64, f64) = |jobs| (1000.0 * jobs, 1e-3);
    let mut options = options(terms(writes));
    options.terms.closer = 0;
    let (run, found) = swept(&Server { law: quick, ..CLOUD }, options.clone());
    assert_eq!((run, found.end), (vec![1, 5, 10], SweepEnd::Globals { globals: 12 }));
    assert!(
        matches!(found.warnings[..], [Warning::NoPlateau { concurrency: 10, .. }]),
        "{:?}",
        found.warnings
    );
    options.terms.jobs = vec![1, 13];
    let refused = Sweep::new(options.clone()).unwrap_err();
    assert_eq!(refused, SweepError::Globals { jobs: 13, globals: 12 });
    assert!(refused.to_string().contains("add-globals --globals 13"), "{refused}");
    options.terms.operation = DbOperation::RanRead;
    assert!(Sweep::new(options).is_ok());
}

#[test]
fn errors_end_it_and_are_unfit() {
    let (run, found) = swept(&Server { errors: 2, ..CLOUD }, reads());
    assert_eq!(run, [1]);
    assert!(matches!(&found.end, SweepEnd::Failed { jobs: 1, why } if why.contains("Input/output error")));
    assert_eq!(fitness(&found), Fitness::Unfit);
}

#[test]
fn what_was_measured_before_a_failure_is_kept() {
    let gone = Ending::Failed("the server closed the connection".into());
    let (run, found) = swept(&Server { fails: Some((2, gone)), ..CLOUD }, reads());
    assert_eq!(run, [1, 5, 10]);
    assert_eq!(found.steps.iter().map(|step| step.jobs).collect::<Vec<_>>(), [1, 5]);
    assert_eq!(found.end.to_string(), "with 10 jobs: the server closed the connection");
}

#[test]
fn an_interrupted_rise_has_no_verdict_and_an_interrupted_repetition_has() {
    let mut options = reads();
    (options.terms.closer, options.terms.repeat) = (0, 2);
    let at = |phase| Server { fails: Some((phase, Ending::Interrupted)), ..CLOUD };
    let (run, found) = swept(&at(2), options.clone());
    assert_eq!((run.len(), &found.end, &found.verdict), (3, &SweepEnd::Interrupted, &None));
    assert_eq!((found.steps.len(), found.judged), (2, None));
    let (run, found) = swept(&at(5), options.clone());
    assert_eq!((run.len(), &found.end), (6, &SweepEnd::Interrupted));
    assert_eq!(fitness(&found), Fitness::Fit);
    let phases: Vec<_> = found.steps.iter().map(|step| step.phases.len()).collect();
    assert_eq!(phases, [1, 1, 1, 2]);
    let between = Sweep::new(options).unwrap().ended(&[], SweepEnd::Interrupted);
    assert!(between.steps.is_empty() && between.verdict.is_none());
}

#[test]
fn what_can_t_be_started_ends_the_rise_and_the_rest_goes_on() {
    let mut options = reads();
    (options.terms.closer, options.terms.repeat) = (1, 2);
    let growing = Server { law: |jobs| (1000.0 * jobs, 1e-3), max: 10, ..CLOUD };
    let (run, found) = swept(&growing, options.clone());
    assert_eq!(run, [1, 5, 10, 20, 10, 5, 1]);
    assert_eq!(found.end, SweepEnd::NotStarted { jobs: 20, why: "too many connections".into() });
    assert!(found.verdict.is_some() && found.steps.len() == 3, "{found:#?}");
    assert!(found.warnings.iter().all(|warning| matches!(warning, Warning::NoPlateau { .. })));
    // One that can't be started any more ends the repetitions, and is reported.
    let sweep = Sweep::new(options.clone()).unwrap();
    let SweepNext::Run(task) = sweep.following(&[]) else { panic!("nothing to run") };
    let with = |jobs, server: &Server, index| server.run(index, &DbTask { workers: jobs, ..*task.clone() });
    let gone = Server { max: 0, ..growing.clone() };
    let mut history: Vec<_> = [(1, 0), (5, 1), (10, 2)].map(|(jobs, at)| with(jobs, &growing, at)).into();
    history.extend([(20, 3), (10, 4)].map(|(jobs, at)| with(jobs, &gone, at)));
    let SweepNext::Done(found) = sweep.following(&history) else { panic!("it goes on") };
    assert!(matches!(&found.warnings[0], Warning::LeftOut { what, .. } if what == "a step with 10 jobs"));
    // Nothing at all.
    let (run, found) = swept(&gone, options);
    assert_eq!((run, found.steps.len(), found.verdict), (vec![1], 0, None));
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let refused = |change: fn(&mut SweepOptions)| {
        let mut options = reads();
        change(&mut options);
        Sweep::new(options).unwrap_err().to_string()
    };
    assert!(refused(|o| o.terms.jobs = vec![5, 1]).contains("for example 1,5,10,20,40"));
    assert!(refused(|o| o.terms.jobs = vec![0, 1]).contains("specify ascending numbers"));
    assert!(refused(|o| o.terms.repeat = 0).contains("--repeat"));
    assert!(refused(|o| o.terms.step = Nanos(0)).contains("--step"));
    assert!(refused(|o| o.terms.min_growth = f64::NAN).contains("growth"));
    assert!(refused(|o| o.terms.ceiling = Nanos(1)).contains("ceiling"));
    assert!(refused(|o| o.terms.target_iops = Some(Iops(-1.0))).contains("above 0"));
    assert!(refused(|o| (o.max_jobs, o.terms.jobs) = (4, vec![1, 8])).contains("--max-jobs"));
}

#[test]
fn no_more_jobs_than_the_server_takes_sessions() {
    let limited = |sessions, jobs: &[u32]| {
        let mut options = reads();
        (options.sessions, options.terms.jobs) = (sessions, jobs.to_vec());
        Sweep::new(options).map(|sweep| (sweep.limited(), sweep.list))
    };
    assert_eq!(limited(None, &[]).unwrap().0, None);
    assert_eq!(limited(Some(2000), &[]).unwrap().0, None);
    let (warning, list) = limited(Some(97), &[]).unwrap();
    assert_eq!(warning, Some(Warning::FewSessions { sessions: 97, jobs: 97 }));
    assert_eq!(list.last(), Some(&80));
    assert_eq!(limited(Some(97), &[1, 97]).unwrap(), (None, vec![1, 97]));
    let refused = limited(Some(97), &[1, 98]).unwrap_err();
    assert_eq!(refused, SweepError::Sessions { jobs: 98, sessions: 97 });
    assert!(refused.to_string().contains("max_connections"), "{refused}");
}

#[test]
fn a_list_takes_as_long_as_its_steps() {
    let mut options = reads();
    let terms = &mut options.terms;
    (terms.jobs, terms.closer, terms.repeat) = (vec![1, 4, 8], 0, 3);
    (terms.step, terms.ramp) = (Nanos(10 * SECOND), Nanos(0));
    assert_eq!(Sweep::new(options).unwrap().duration(), Nanos(90 * SECOND));
}

/// A run of these phases.
fn run_of(history: &[PhaseResult]) -> Run {
    let mut run = Run::new(RunInfo::default());
    run.phases = history.to_vec();
    run.event(&Event::RunEnded(Ending::Completed));
    run
}

#[test]
fn a_sweep_that_is_cut_short_concludes_from_what_was_measured() {
    let mut sweep = Sweep::new(reads()).unwrap();
    let SweepNext::Run(task) = sweep.following(&[]) else { panic!("nothing to run") };
    let run = run_of(&[CLOUD.run(0, &task)]);
    let end = |conclusions: Conclusions| {
        assert_eq!(conclusions.concluded.len(), 1);
        conclusions.concluded[0].read::<SweepConcluded>().unwrap().end
    };
    assert_eq!(end(sweep.cut_short(&run, CutShort::Interrupted)), SweepEnd::Interrupted);
    let why = "no disk is left".to_owned();
    let failed = SweepEnd::Failed { jobs: 5, why: why.clone() };
    assert_eq!(end(sweep.cut_short(&run, CutShort::Failed(why))), failed);
    // One whose phase has failed says so itself, and concludes with that.
    let gone = Server { fails: Some((0, Ending::Failed("the server is gone".into()))), ..CLOUD };
    let run = run_of(&[gone.run(0, &task)]);
    let Step::Failed(why) = sweep.next(&run, Nanos(0)) else { panic!("it goes on") };
    assert!(why.contains("the server is gone"), "{why}");
    assert!(matches!(end(sweep.cut_short(&run, CutShort::Failed(why))), SweepEnd::Failed { jobs: 1, .. }));
}
