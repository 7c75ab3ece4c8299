use iolite_model::{
    BackendKind, Bytes, Cache, Event, FileTarget, FileTask, Host, Interval, Nanos, OpTotals, Outstanding,
    PhaseEnd, PhaseInfo, RunId, RunInfo, Stage, Storage, Target, Task,
};
use iolite_stats::Histogram;

use super::*;

const SECOND: u64 = 1_000_000_000;

/// A run as by [`run`] that started at this second.
fn run_at(second: u64, id: &str, count: u64) -> Run {
    let mut run = run(id, &[("reads", reads(4096), count, 90_000)]);
    run.info.started_unix = Nanos(second * SECOND);
    run
}

/// A run of reads, a phase for each name: `count` operations of `response` ns in each of 20 seconds, a little up and down.
fn run(id: &str, phases: &[(&str, FileTask, u64, u64)]) -> Run {
    let mut events = vec![Event::RunStarted(Box::new(info(id)))];
    for (index, (name, task, count, response)) in phases.iter().enumerate() {
        let index = index as u32;
        let task = Task::File(FileTask { name: (*name).to_owned(), interval: Nanos(SECOND), ..task.clone() });
        events.push(Event::PhaseStarted(PhaseInfo { index, task, started: Nanos(0) }));
        events.extend((0..20).map(|second| {
            // As when burst credits run out.
            let count = if second >= 10 && *name == "burst" { count / 4 } else { *count };
            Event::Interval(interval(index, second, count, *response))
        }));
        events.push(Event::PhaseEnded(PhaseEnd {
            phase: index,
            ending: Ending::Completed,
            measured: Nanos(20 * SECOND),
            outstanding: Outstanding::default(),
            cache: Cache::default(),
            errors: Vec::new(),
            stuck: Vec::new(),
            rate: None,
            verified: None,
        }));
    }
    Run::of(&events).unwrap()
}

fn interval(phase: u32, second: u64, count: u64, response: u64) -> Interval {
    let count = count + [0, 3, 1, 4, 2][second as usize % 5];
    let mut histogram = Histogram::new();
    (0..count).for_each(|number| histogram.record(response + number % 7 * response / 50));
    let op = OpTotals {
        kind: OpKind::Read,
        operations: count,
        bytes: 4096 * count,
        errors: 0,
        response_sum: Nanos(count * response),
        delay_sum: Nanos(0),
        response_max: Nanos(response * 2),
        response: histogram.encode(),
        service: histogram.encode(),
    };
    Interval {
        phase,
        stage: Stage::Measured,
        start: Nanos(second * SECOND),
        length: Nanos(SECOND),
        ops: vec![op],
    }
}

fn info(id: &str) -> RunInfo {
    RunInfo {
        id: RunId(id.into()),
        version: "1".into(),
        model_version: iolite_model::MODEL_VERSION,
        command: Vec::new(),
        started_unix: Nanos(1),
        process: 1,
        host: Host::default(),
        storage: Storage::default(),
    }
}

fn reads(block: u64) -> FileTask {
    let target = FileTarget {
        name: "data".into(),
        size: Bytes(1 << 20),
        create: true,
        preallocate: false,
        per_worker: false,
    };
    FileTask {
        target: Target::File(target),
        block: Bytes(block),
        backend: BackendKind::Sync,
        ..FileTask::default()
    }
}

fn compare(before: &[&Run], after: &[&Run]) -> Comparison {
    Comparison::of(before, after, DEFAULT_DETECT).unwrap()
}

fn finding(comparison: &Comparison, figure: Figure) -> Finding {
    comparison.all().find(|(_, each)| each.figure == figure).unwrap().1.finding
}

#[test]
fn a_faster_run_is_better_within_these_runs_only() {
    let (slow, fast) = (
        run("a", &[("reads", reads(4096), 1000, 90_000)]),
        run("b", &[("reads", reads(4096), 1200, 60_000)]),
    );
    let comparison = compare(&[&slow], &[&fast]);
    assert_eq!((comparison.covers, comparison.figures), (Covers::WithinRuns, 6));
    assert_eq!(comparison.caveats, Vec::<String>::new());
    for figure in Figure::ALL {
        assert_eq!(finding(&comparison, figure), Finding::Better, "{figure}: {comparison:#?}");
    }
    assert!(comparison.repeats.is_some_and(|repeats| repeats >= 5));
    let back = compare(&[&fast], &[&slow]);
    assert!(back.all().all(|(_, figure)| figure.finding == Finding::Worse), "{back:#?}");
    let same = compare(&[&slow], &[&run("c", &[("reads", reads(4096), 1000, 90_000)])]);
    assert!(same.all().all(|(_, figure)| figure.finding == Finding::NoDifferenceShown), "{same:#?}");
}

#[test]
fn what_differs_between_repeats_is_no_difference() {
    let of = |id: &str, count| run(id, &[("reads", reads(4096), count, 90_000)]);
    let (before, after) = ([of("a", 1000), of("b", 1300)], [of("c", 1310), of("d", 1010), of("e", 1100)]);
    let comparison = compare(&before.each_ref(), &after.each_ref());
    assert_eq!(comparison.covers, Covers::BetweenRuns);
    assert_eq!(finding(&comparison, Figure::Rate), Finding::NoDifferenceShown);
    assert!(comparison.repeats.is_some_and(|repeats| repeats > 20), "{:?}", comparison.repeats);
}

#[test]
fn runs_that_alternate_are_compared_pair_by_pair() {
    // The rate doubles from pair to pair; of each pair, the one after is 10 % faster, in either order.
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for pair in 0..5 {
        let (count, first) = (1000 << pair, pair % 2);
        before.push(run_at(10 + 2 * pair + first, &format!("b{pair}"), count));
        after.push(run_at(11 + 2 * pair - first, &format!("a{pair}"), count * 11 / 10));
    }
    let of = |side: &[Run], order: [usize; 5]| order.map(|place| side[place].clone());
    // The order in which they are named does not matter.
    let (b, a) = (of(&before, [3, 0, 4, 1, 2]), of(&after, [0, 1, 2, 3, 4]));
    let paired = compare(&b.each_ref(), &a.each_ref());
    assert_eq!((paired.pairs, finding(&paired, Figure::Rate)), (Some(5), Finding::Better));
    let rate = paired.all().find(|(_, figure)| figure.figure == Figure::Rate).unwrap().1;
    assert!((rate.difference.ratio - 1.1).abs() < 0.01, "{rate:?}");
    // Of four pairs too little is known, and runs at the same time are no pairs.
    let four = compare(&b.each_ref()[..4], &a.each_ref()[..4]);
    assert_eq!((four.pairs, finding(&four, Figure::Rate)), (None, Finding::NoDifferenceShown));
    let mut at_once = a.clone();
    at_once[0].info.started_unix = b[1].info.started_unix;
    assert_eq!(compare(&b.each_ref(), &at_once.each_ref()).pairs, None);
    assert!(paired.caveats.is_empty() && four.caveats.is_empty(), "{paired:?}");
}

/// In which pairs, by number, the run after is measured first.
type Order = fn(u64) -> bool;

/// Pairs of runs in time, the one after first in those of which `after_first` holds; of each run the phases that `of` gives.
fn in_turns(
    pairs: u64,
    after_first: impl Fn(u64) -> bool,
    of: impl Fn(u64, bool) -> Vec<(&'static str, u64)>,
) -> (Vec<Run>, Vec<Run>) {
    let one = |pair: u64, is_after: bool| {
        let phases: Vec<_> =
            of(pair, is_after).into_iter().map(|(name, count)| (name, reads(4096), count, 90_000)).collect();
        let mut run = run(&format!("{pair}{is_after}"), &phases);
        let place = 2 * pair + u64::from(after_first(pair) != is_after);
        run.info.started_unix = Nanos((10 + place) * SECOND);
        run
    };
    (0..pairs).map(|pair| (one(pair, false), one(pair, true))).unzip()
}

fn compare_sets((before, after): &(Vec<Run>, Vec<Run>)) -> Comparison {
    compare(&before.iter().collect::<Vec<_>>(), &after.iter().collect::<Vec<_>>())
}

#[test]
fn a_steady_trend_is_no_difference_where_one_side_always_came_first() {
    // Each run is 2 % faster than the one before it, and a little noise; both sides are the same.
    let level = |place: u64| (1000.0 * 1.02f64.powi(place as i32)) as u64 + [0, 3, 1][place as usize % 3];
    let of = |after_first: Order| {
        in_turns(8, after_first, |pair, is_after| {
            vec![("reads", level(2 * pair + u64::from(after_first(pair) != is_after)))]
        })
    };
    let orders: [(Order, &str); 3] = [
        (|_| false, "8 of 8 pairs of runs, the run before"),
        (|_| true, "8 of 8 pairs of runs, the run after"),
        (|pair| pair == 3, "7 of 8 pairs of runs, the run before"),
    ];
    for (order, said) in orders {
        let comparison = compare_sets(&of(order));
        assert_eq!((comparison.pairs, comparison.parts[0].pairs), (None, None));
        assert_eq!(finding(&comparison, Figure::Rate), Finding::NoDifferenceShown, "{comparison:#?}");
        let caveats = comparison.caveats.join("\n");
        assert!(caveats.contains(said) && caveats.contains("at random"), "{caveats}");
    }
    let balanced = compare_sets(&of(|pair| [1, 2, 5, 7].contains(&pair)));
    assert_eq!((balanced.pairs, finding(&balanced, Figure::Rate)), (Some(8), Finding::NoDifferenceShown));
    assert!(balanced.caveats.is_empty(), "{:?}", balanced.caveats);
}

#[test]
fn a_pair_counts_for_a_part_that_both_of_its_runs_have() {
    // The rate doubles from pair to pair; only pairs show that the runs after are 10 % faster.
    let sets = |lacking: u64| {
        in_turns(
            7,
            |pair| pair % 2 == 1,
            move |pair, is_after| {
                let count = (200 << pair) * if is_after { 11 } else { 10 } / 10;
                let writes = (!is_after || pair >= lacking).then_some(("later", count));
                [("reads", count)].into_iter().chain(writes).collect()
            },
        )
    };
    let said = |comparison: &Comparison| comparison.caveats.join("\n");
    let two = compare_sets(&sets(2));
    let pairs: Vec<_> = two.parts.iter().map(|part| (part.name.as_str(), part.pairs)).collect();
    assert_eq!((two.pairs, pairs), (None, vec![("reads", Some(7)), ("later", Some(5))]));
    let rates = two.all().filter(|(_, figure)| figure.figure == Figure::Rate);
    for (part, rate) in rates {
        assert_eq!(rate.finding, Finding::Better, "{}", part.name);
        assert_eq!(rate.difference.runs.0 as usize, part.pairs.unwrap());
    }
    assert!(said(&two).contains("`later`: 2 runs are left out"), "{}", said(&two));
    let three = compare_sets(&sets(3));
    let pairs: Vec<_> = three.parts.iter().map(|part| part.pairs).collect();
    assert_eq!((three.pairs, pairs), (None, vec![Some(7), None]));
    assert!(said(&three).contains("`later`: only 4 pairs"), "{}", said(&three));
}

#[test]
fn a_set_measured_before_the_other_is_named() {
    let of = |from: u64, side: &str| -> Vec<Run> {
        (from..from + 5).map(|second| run_at(second, &format!("{side}{second}"), 1000)).collect()
    };
    let (early, late) = (of(10, "a"), of(20, "b"));
    for (before, after) in [(&early, &late), (&late, &early)] {
        let comparison = compare(&before.iter().collect::<Vec<_>>(), &after.iter().collect::<Vec<_>>());
        assert_eq!(comparison.pairs, None);
        let caveats = comparison.caveats.join("\n");
        assert!(caveats.contains("measured before those of the other"), "{caveats}");
    }
    let single = compare(&[&early[0]], &[&late[0]]);
    assert!(single.caveats.is_empty(), "the label of single runs says it: {:?}", single.caveats);
}

#[test]
fn what_makes_runs_less_comparable_is_named() {
    let (one, other) = (
        run("a", &[("reads", reads(4096), 1000, 90_000)]),
        run("b", &[("reads", reads(8192), 1000, 90_000)]),
    );
    let mut cached = other.clone();
    cached.info.host.name = "elsewhere".into();
    cached.phases[0].end.cache =
        Cache { requested_read: Bytes(1 << 30), device_read: Some(Bytes(0)), ..Cache::default() };
    cached.phases[0].end.cache.device_written = Some(Bytes(0));
    let caveats = compare(&[&one], &[&cached]).caveats.join("\n");
    for part in [
        "block 4096 -> 8192",
        "Not comparable: `reads` had the cache stamp unknown before and cached after",
        "elsewhere",
    ] {
        assert!(caveats.contains(part), "{part}: {caveats}");
    }
}

#[test]
fn a_rate_that_changed_within_a_run_is_named_with_its_levels() {
    let of = |id: &str, count| run(id, &[("burst", reads(4096), count, 90_000)]);
    let caveats = compare(&[&of("a", 4000)], &[&of("b", 4000)]).caveats.join("\n");
    for side in ["before", "after"] {
        let text = format!("the rate changed permanently in mid-run {side} (4,002 > 1,002 IOPS)");
        assert!(caveats.contains(&text), "{caveats}");
    }
}

#[test]
fn parts_are_matched_by_name_and_else_by_place() {
    let job = |id: &str, names: [&str; 2]| {
        run(id, &[(names[0], reads(4096), 1000, 90_000), (names[1], reads(8192), 1000, 90_000)])
    };
    let named = compare(&[&job("a", ["x", "y"])], &[&job("b", ["y", "x"])]);
    let names: Vec<_> = named.parts.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(names, ["x", "y"]);
    let placed = compare(&[&job("a", ["x", "y"])], &[&job("b", ["v", "w"])]);
    assert_eq!(placed.parts[1].name, "y -> w");
    let part = compare(&[&job("a", ["x", "y"])], &[&job("b", ["x", "w"])]);
    assert_eq!(part.parts.len(), 1);
    assert!(
        part.caveats.iter().any(|caveat| caveat.contains("Only the runs after have `w`")),
        "{:?}",
        part.caveats
    );
    // The same twice is one part.
    let twice = compare(&[&job("a", ["x", "x"])], &[&job("b", ["x", "x"])]);
    assert_eq!(twice.parts.len(), 2);
    let single = run("c", &[("v", reads(4096), 10, 1)]);
    let error = Comparison::of(&[&job("a", ["x", "y"])], &[&single], DEFAULT_DETECT).unwrap_err();
    assert!(matches!(error, ComparisonError::NothingInCommon { .. }), "{error}");
}

#[test]
fn phases_that_do_the_same_are_one_part() {
    let repeated = run("a", &[("reads", reads(4096), 1000, 90_000), ("reads", reads(4096), 1000, 90_000)]);
    let once = run("b", &[("reads", reads(4096), 1000, 90_000)]);
    let comparison = compare(&[&repeated], &[&once]);
    assert_eq!(comparison.parts.len(), 1);
}

#[test]
fn runs_without_figures_are_refused() {
    let whole = run("a", &[("reads", reads(4096), 1000, 90_000)]);
    let mut cut = run("b", &[("reads", reads(4096), 1000, 90_000)]);
    cut.phases[0].end.ending = Ending::Interrupted;
    let error = |before: &[&Run], after: &[&Run]| Comparison::of(before, after, DEFAULT_DETECT).unwrap_err();
    assert_eq!(error(&[&whole], &[&cut]), ComparisonError::Unfinished("b".into()));
    assert_eq!(error(&[&whole], &[&whole]), ComparisonError::Same("a".into()));
    assert_eq!(error(&[], &[&whole]), ComparisonError::Empty);
}

#[test]
fn conditions_are_about_changes_that_are_shown_and_about_values() {
    let (slow, fast) = (
        run("a", &[("reads", reads(4096), 1000, 90_000)]),
        run("b", &[("reads", reads(4096), 1200, 60_000)]),
    );
    let worse = compare(&[&fast], &[&slow]);
    let found = |text: &str| !text.parse::<Condition>().unwrap().found(&worse).is_empty();
    for text in
        ["p99 > +10%", "read mean > +20us", "rate < -100", "rate < 5000", "p50 > 50us", "bandwidth < -1%"]
    {
        assert!(found(text), "{text}");
    }
    for text in ["p99 > +100%", "mean > +1ms", "rate > +1%", "rate < 500", "p50 > 1ms", "write mean > 1ns"] {
        assert!(!found(text), "{text}");
    }
    for text in ["write p99 > +1%", "x p99 > 1ms"] {
        assert!(!text.parse::<Condition>().unwrap().applies(&worse), "{text}");
    }
    // A change that is not shown is none.
    let same = compare(&[&slow], &[&run("c", &[("reads", reads(4096), 1001, 90_000)])]);
    assert_eq!("rate > +0.01%".parse::<Condition>().unwrap().found(&same), Vec::<String>::new());
    for text in
        ["", "p99", "p98 > 1ms", "p99 > 10%", "p99 > 5000 apples", "rate > -", "a b c > 1", "rate > 1ms"]
    {
        let error = text.parse::<Condition>().unwrap_err().to_string();
        assert!(error.contains("not a valid condition") && error.contains("p99 > +10%"), "{error}");
    }
}
