//! The verdict on the step that is judged.

use super::*;

#[test]
fn sets_and_commits_are_judged_apart() {
    let mixed = DbOperation::RanIo { transaction_length: 10, hang: Nanos(0), read_percent: 50 };
    let mut options = options(terms(mixed));
    (options.terms.jobs, options.terms.closer) = (vec![2], 0);
    // Every operation 1 ms, but one in 21, which falls on every kind in turn... on the commit: the eleventh of 21.
    let server = Server { law: |jobs| (1000.0 * jobs, 1e-3), ..CLOUD };
    let (_, found) = swept(&server, options);
    let verdict = found.verdict.unwrap();
    let kinds: Vec<_> = verdict.reasons.iter().map(|reason| reason.what.split(' ').next().unwrap()).collect();
    assert_eq!(kinds, ["reads", "reads", "sets", "sets", "commits", "commits"]);
    let result = &found.steps[0].result;
    let logical = result.logical().unwrap();
    let of = |kind| result.totals.operations(kind);
    assert_eq!(logical.operations, of(OpKind::Read) + of(OpKind::Write));
    assert!(of(OpKind::Commit) > 0);
    // Twenty operations and a commit of 1 ms each.
    assert!((logical.response.value / 1.05e6 - 1.0).abs() < 0.01, "{logical:?}");
}

#[test]
fn one_step_alone_is_judged_without_a_knee() {
    let mut options = reads();
    options.terms.jobs = vec![3];
    let (run, found) = swept(&CLOUD, options);
    assert_eq!((run, found.knee.is_none()), (vec![3], true));
    assert_eq!(found.judged, Some(JudgedStep { jobs: 3, why: "the only step".into() }));
    assert_eq!(fitness(&found), Fitness::Fit, "{:#?}", found.verdict);
}

fn ceiling(found: &SweepFound) -> &iolite_model::Reason {
    let reasons = &found.verdict.as_ref().unwrap().reasons;
    reasons.iter().find(|reason| reason.what.ends_with("longest")).unwrap()
}

#[test]
fn a_single_operation_above_the_ceiling_is_not_fit_and_counted() {
    let one_step = || {
        let mut options = reads();
        options.terms.jobs = vec![4];
        options
    };
    // Of 24,560 operations.
    let (_, found) = swept(&Server { slow: (20_000, 7e-3), ..CLOUD }, one_step());
    let reason = ceiling(&found);
    assert_eq!(reason.fitness, Fitness::Marginal, "{reason:?}");
    assert!(
        reason.measured.starts_with("1 of 24,560 above 5.00 ms (0.004 %), the longest 7.00 ms"),
        "{reason:?}"
    );
    assert_eq!((reason.asked.as_str(), reason.bound), ("never above 5.00 ms", 5e6));
    let (_, found) = swept(&Server { slow: (500, 7e-3), ..CLOUD }, one_step());
    assert_eq!(ceiling(&found).fitness, Fitness::Unfit, "{:?}", ceiling(&found));
    // Rare ones that hold everything up: 0.02 % of the operations, a third of the time.
    let (_, found) = swept(&Server { slow: (5000, 1.0), ..CLOUD }, one_step());
    let reason = ceiling(&found);
    assert_eq!(reason.fitness, Fitness::Unfit, "{reason:?}");
    assert!(reason.reservations.iter().any(|why| why.contains("at a random instant")), "{reason:?}");
    let (_, found) = swept(&Server { slow: (500, 4.9e-3), ..CLOUD }, one_step());
    assert_eq!(ceiling(&found).fitness, Fitness::Fit, "{:?}", ceiling(&found));
}

#[test]
fn what_a_cache_serves_is_never_fit() {
    for (reached, direct, fit) in
        [(1.0, true, Fitness::Fit), (0.5, true, Fitness::Marginal), (0.0, true, Fitness::Marginal)]
    {
        let (_, found) = swept(&Server { reached, ..CLOUD }, SweepOptions { direct, ..reads() });
        assert_eq!(fitness(&found), fit, "{reached}: {:#?}", found.verdict);
    }
    let (_, found) = swept(&Server { reached: 0.0, ..CLOUD }, reads());
    assert!(
        found
            .verdict
            .unwrap()
            .reasons
            .iter()
            .all(|reason| reason.reservations == ["cache stamp of the reads: cached"])
    );
}

#[test]
fn a_generator_at_its_limit_in_the_judged_step_and_other_load_are_marginal() {
    let concluded = |change: &dyn Fn(&mut Run)| {
        let mut sweep = Sweep::new(reads()).unwrap();
        let mut run = run_of(&[]);
        loop {
            match sweep.next(&run, Nanos(0)) {
                Step::Run(tasks) => {
                    let Task::Database(task) = &tasks[0] else { panic!() };
                    run.phases.push(CLOUD.run(run.next_phase(), task));
                    change(&mut run);
                }
                Step::Done(conclusions) => return conclusions.verdict.unwrap(),
                other => panic!("{other:?}"),
            }
        }
    };
    let foreign =
        Warning::ForeignLoad { phase: "a".into(), requested: Bytes(1), kind: OpKind::Read, device: Bytes(9) };
    let beside = concluded(&|run| run.warnings = vec![foreign.clone()]);
    assert_eq!(
        (beside.fitness, beside.reasons.last().unwrap().what.as_str()),
        (Fitness::Marginal, "other load")
    );
    let changes = vec!["synchronous_commit was on, and is off".to_owned()];
    let changed = Warning::SettingsChanged { phase: "a".into(), changes };
    let changed = concluded(&|run| run.warnings = vec![changed.clone()]);
    let reason = changed.reasons.last().unwrap();
    assert_eq!((changed.fitness, reason.what.as_str()), (Fitness::Marginal, "settings"));
    assert!(reason.measured.contains("is off"), "{reason:?}");
    let busy_from = |min: u32| {
        concluded(&|run| {
            let last = run.phases.last().unwrap();
            let (index, busy) = (last.info.index, jobs(last) >= min);
            let used = GeneratorUse {
                observed: Nanos(SECOND),
                busiest_cpu: Nanos(if busy { SECOND } else { 0 }),
                cpus: 2,
                ..GeneratorUse::default()
            };
            run.conclusions.push(Concluded::of_phase(index, &used));
        })
    };
    // The knee is at 4 or 5 jobs.
    assert_eq!(busy_from(10).fitness, Fitness::Fit);
    let bound = busy_from(1);
    assert_eq!(
        (bound.fitness, bound.reasons.last().unwrap().what.as_str()),
        (Fitness::Marginal, "load generator")
    );
}

/// The caps that are warned of in a sweep of a server whose rate is the same whatever the jobs, with what `change` makes of the run.
fn capped_by(options: SweepOptions, change: impl Fn(&mut Run)) -> Vec<String> {
    let throttled = Server { law: |jobs| (1000.0, jobs / 1000.0), ..CLOUD };
    let mut sweep = Sweep::new(options).unwrap();
    let mut run = run_of(&[]);
    loop {
        match sweep.next(&run, Nanos(0)) {
            Step::Run(tasks) => {
                let Task::Database(task) = &tasks[0] else { panic!() };
                run.phases.push(throttled.run(run.next_phase(), task));
                change(&mut run);
            }
            Step::Done(conclusions) => {
                let caps = conclusions.warnings.iter().filter(|w| matches!(w, Warning::Capped { .. }));
                return caps.map(ToString::to_string).collect();
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_throttle_is_named_where_nothing_else_limits_the_rate() {
    let listed = |operation| {
        let mut options = options(terms(operation));
        (options.terms.jobs, options.terms.closer) = (vec![1, 2, 4, 8], 0);
        options
    };
    let caps = capped_by(listed(DbOperation::RanRead), |_| ());
    assert!(caps.len() == 1 && caps[0].starts_with("RanRead: capped at "), "{caps:?}");
    // A server that has all of the CPUs.
    let busy = |run: &mut Run| {
        let second = Nanos(SECOND);
        let used =
            GeneratorUse { observed: second, cpus: 1, others: Some(second), ..GeneratorUse::default() };
        run.conclusions.push(Concluded::of_phase(run.phases.last().unwrap().info.index, &used));
    };
    assert_eq!(capped_by(listed(DbOperation::RanRead), busy), [""; 0]);
    let sets = DbOperation::RanWrite { transaction_length: 10, hang: Nanos(0) };
    assert_eq!(capped_by(listed(sets), |_| ()), [""; 0]);
}

#[test]
fn a_slow_average_is_unfit() {
    let slow: fn(f64) -> (f64, f64) = |jobs| ((250.0 * jobs).min(1000.0), (jobs / 1000.0).max(4e-3));
    let (_, found) = swept(&Server { law: slow, ..CLOUD }, reads());
    let reasons = &found.verdict.as_ref().unwrap().reasons;
    assert_eq!(fitness(&found), Fitness::Unfit);
    assert_eq!((reasons[0].fitness, reasons[0].asked.as_str()), (Fitness::Unfit, "at most 2.00 ms"));
}

#[test]
fn a_target_is_judged_where_it_is_first_reached() {
    let with_target = |target| {
        let mut options = reads();
        options.terms.target_iops = Some(Iops(target));
        swept(&CLOUD, options)
    };
    let (run, found) = with_target(3000.0);
    assert!(run.contains(&2), "{run:?}");
    assert_eq!(found.judged, Some(JudgedStep { jobs: 2, why: "the fewest that reach 3,000 IOPS".into() }));
    assert_eq!(fitness(&found), Fitness::Fit, "{:#?}", found.verdict);
    let (_, found) = with_target(8000.0);
    let reason = &found.verdict.as_ref().unwrap().reasons[0];
    assert_eq!((reason.what.as_str(), reason.fitness), ("rate", Fitness::Unfit), "{reason:?}");
    assert!(reason.measured.ends_with("at most"), "{reason:?}");
    assert_eq!(found.judged.unwrap().why, "the knee");
}

#[test]
fn a_target_beyond_what_was_tried_is_left_open() {
    let mut options = reads();
    options.terms.target_iops = Some(Iops(5000.0));
    options.terms.jobs = vec![1, 2];
    let (_, found) = swept(&CLOUD, options);
    let reason = &found.verdict.as_ref().unwrap().reasons[0];
    assert_eq!(reason.fitness, Fitness::Marginal, "{reason:?}");
    assert!(matches!(found.end, SweepEnd::ListDone));
}
