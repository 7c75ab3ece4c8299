//! Before and after: the phases that several runs have in common, from the start of their measured parts on.

use std::collections::BTreeSet;

use iolite_model::OpKind;
use iolite_results::Run;

use super::axis::Axis;
use super::chart::Series;
use super::source::{Drawn, Lines, MAX_SERIES, Source, cut, over_time, rate_and_times, released};

/// What phases of different runs have in common: name, load, kind of operation.
type Key<'a> = (&'a str, u32, OpKind);

fn key<'a>(source: &'a Source<'_>) -> Key<'a> {
    let task = &source.phase.info.task;
    (task.name(), task.concurrency(), source.kind)
}

/// A line for each kind of operation of each common phase of each run; no panels where the runs have nothing in common.
pub(super) fn overlay(sources: &[Source<'_>]) -> Drawn {
    let run = |source: &Source<'_>| -> *const Run { source.run };
    let runs: BTreeSet<*const Run> = sources.iter().map(run).collect();
    let is_common = |source: &&Source<'_>| {
        let same = sources.iter().filter(|other| key(other) == key(source));
        same.map(run).collect::<BTreeSet<_>>() == runs
    };
    let mut common: Vec<&Source<'_>> = sources.iter().filter(is_common).collect();
    // What is to be compared is side by side in the legend.
    common.sort_by_key(|source| sources.iter().position(|first| key(first) == key(source)));
    let note = cut(&mut common, MAX_SERIES);
    let (rates, means): (Vec<Lines>, Vec<Lines>) = common.iter().map(|source| aligned(source)).unzip();
    let at = rates.iter().flatten().flatten().map(|point| point.0);
    let x = Axis::linear("seconds since the start of the measured part", Some(0.0), at);
    let panels = rate_and_times(&x, rates, means, Vec::new());
    Drawn {
        title: "Before and after",
        about: "Operations per second and mean response time of the phases that all runs have, each from the start of its measured part",
        series: common.iter().map(|source| series(source)).collect(),
        panels: if common.is_empty() { Vec::new() } else { panels },
        note,
    }
}

fn series(source: &Source<'_>) -> Series {
    let number = u64::from(source.phase.info.index) + 1;
    let name = format!("{number}. {}, {}", source.phase.info.task.name(), source.kind.name());
    Series::new(&source.run.info.id.0, name)
}

/// The rate and the mean response time, with times since the start of the measured part.
fn aligned(source: &Source<'_>) -> (Lines, Lines) {
    let start = released(source);
    let shifted = |line: Vec<(f64, f64)>| line.into_iter().map(|(at, value)| (at - start, value)).collect();
    let course = over_time(source);
    (vec![shifted(course.rate)], course.mean.into_iter().map(shifted).collect())
}
