//! What is drawn: a kind of operation of a phase of a run, and what the kinds of charts share.

use std::borrow::Cow;

use iolite_model::{Bytes, OpKind, PtsTerms, Quantile};
use iolite_results::Run;
use iolite_stats::{Histogram, PhaseResult, Point};

use super::axis::Axis;
use super::chart::{Chart, Panel, Series};

/// Series of a chart at most; beyond, nobody can distinguish them.
pub(super) const MAX_SERIES: usize = 32;

pub(super) const MIB: f64 = 1024.0 * 1024.0;

/// The label of times that an operation took.
pub(super) const RESPONSE: &str = "response time";

/// Panels of the distribution over time at most: each is a kind of operation of a run, and makes the picture higher.
pub(super) const MAX_PANELS: usize = 8;

/// The lines of one series: each is interrupted where nothing is known.
pub(super) type Lines = Vec<Vec<(f64, f64)>>;

/// A kind of operation of a phase of a run.
pub(super) struct Source<'a> {
    pub(super) run: &'a Run,
    pub(super) phase: &'a PhaseResult,
    pub(super) kind: OpKind,
    pub(super) response: &'a Histogram,
}

/// What is drawn of the sources.
pub(super) struct Drawn {
    pub(super) title: &'static str,
    pub(super) about: &'static str,
    pub(super) series: Vec<Series>,
    pub(super) panels: Vec<Panel>,
    pub(super) note: Option<String>,
}

impl Drawn {
    /// The chart of runs, with the sentence that stands for it.
    pub(super) fn chart(self, description: String, runs: &[Run]) -> Chart {
        Chart {
            title: self.title.to_owned(),
            description,
            series: self.series,
            panels: self.panels,
            note: marked(runs, self.note),
        }
    }
}

/// Largest logical block whose tests have the sizes of the specification, apart from those of 512 bytes.
const USUAL_BLOCK: Bytes = Bytes(4096);

/// The runs of the specification's tests with larger operations than the specification has.
fn enlarged(runs: &[Run]) -> Option<String> {
    let of = |run: &Run| {
        let terms: PtsTerms = run.concluded().last()?;
        let is_larger = terms.logical_block > USUAL_BLOCK && !terms.replaced().is_empty();
        is_larger.then(|| {
            let (id, block) = (&run.info.id.0, terms.logical_block);
            format!("{id}: no operations below {block}, the logical block of the device.")
        })
    };
    let all: Vec<String> = runs.iter().filter_map(of).collect();
    (!all.is_empty()).then(|| all.join(" "))
}

/// Marks what is no figure of the specification, before what else is noted on a chart.
fn marked(runs: &[Run], note: Option<String>) -> Option<String> {
    let note = match (enlarged(runs), note) {
        (Some(enlarged), Some(note)) => Some(format!("{enlarged} {note}")),
        (one, other) => one.or(other),
    };
    let rehearsals = runs.iter().filter(|run| run.rehearsal().is_some());
    let names: Vec<&str> = rehearsals.map(|run| run.info.id.0.as_str()).collect();
    let rehearsal = (!names.is_empty()).then(|| {
        format!("Rehearsal: the figures of {} do not conform to the specification.", names.join(", "))
    });
    match (rehearsal, note) {
        (Some(rehearsal), Some(note)) => Some(format!("{rehearsal} {note}")),
        (one, other) => one.or(other),
    }
}

impl Source<'_> {
    /// What is drawn of it, with phase, kind of operation and run.
    pub(super) fn label(&self, what: &str) -> String {
        let number = u64::from(self.phase.info.index) + 1;
        let (name, run) = (self.phase.info.task.name(), &self.run.info.id.0);
        format!("{what}: {number}. {name}, {}, run {run}", self.kind.name())
    }

    /// A quantile of the response times; `None` where they were not recorded one by one.
    pub(super) fn quantile(&self, share: f64) -> Option<f64> {
        (self.response.count() > 0).then(|| self.response.quantile(Quantile(share)).0.max(1) as f64)
    }

    /// Operations per second, and the mean response time in nanoseconds where it is known.
    pub(super) fn figures(&self) -> (f64, Option<f64>) {
        let summary = self.phase.summary(self.kind);
        let mean = summary.as_ref().map(|summary| summary.mean.value).filter(|mean| *mean > 0.0);
        (summary.map_or(0.0, |summary| summary.rate.value), mean)
    }
}

/// Keeps as many series as can be distinguished; the note says how many there were.
pub(super) fn cut<T>(series: &mut Vec<T>, max: usize) -> Option<String> {
    let all = series.len();
    series.truncate(max);
    (all > max).then(|| format!("{max} of {all} series are drawn: the first ones."))
}

/// Seconds from the run's start to the start of the measured part of a phase.
pub(super) fn released(source: &Source<'_>) -> f64 {
    let info = &source.phase.info;
    let clock =
        source.run.released.get(&info.index).map(|at| at.saturating_sub(source.run.info.started_unix));
    // Where the clock was set back meanwhile, the phase's own start counts.
    let start = clock.filter(|at| *at >= info.started).unwrap_or(info.started);
    start.0.saturating_add(source.phase.totals.ramp_end) as f64 / 1e9
}

/// Sections that follow one another as one.
fn joined<'r>(sections: &[(f64, f64, &'r Histogram)]) -> Option<(f64, f64, Cow<'r, Histogram>)> {
    let ((begin, _, first), (_, end, _)) = (sections.first()?, sections.last()?);
    let mut response = Cow::Borrowed(*first);
    for (_, _, other) in &sections[1..] {
        response.to_mut().merge(other);
    }
    Some((*begin, *end, response))
}

/// Sources of the same run and kind that follow one another in time.
pub(super) struct Lane<'s, 'r>(pub(super) Vec<&'s Source<'r>>);

impl<'s, 'r> Lane<'s, 'r> {
    /// The sources with response times, in as few lanes as they fit in.
    pub(super) fn of(sources: &'s [Source<'r>]) -> Vec<Lane<'s, 'r>> {
        let mut known: Vec<&Source<'r>> =
            sources.iter().filter(|source| source.response.count() > 0).collect();
        known.sort_by(|one, other| released(one).total_cmp(&released(other)));
        let mut lanes: Vec<Lane<'s, 'r>> = Vec::new();
        for source in known {
            let fits = |lane: &&mut Lane<'s, 'r>| {
                let last = lane.0[lane.0.len() - 1];
                let end = released(last) + last.phase.totals.measured as f64 / 1e9;
                let same = std::ptr::eq(last.run, source.run) && last.kind == source.kind;
                same && released(source) >= end
            };
            match lanes.iter_mut().find(fits) {
                Some(lane) => lane.0.push(source),
                None => lanes.push(Lane(vec![source])),
            }
        }
        lanes
    }

    /// What is drawn of it.
    pub(super) fn label(&self) -> String {
        let first = self.0[0];
        match self.0.len() {
            1 => first.label(RESPONSE),
            phases => {
                format!("{RESPONSE}: {} of {phases} phases, run {}", first.kind.name(), first.run.info.id.0)
            }
        }
    }

    /// The finer sections of all its phases as by [`Lane::sections`], neighbours of a phase joined until there are at most so many.
    pub(super) fn columns(&self, at_most: usize) -> Vec<(f64, f64, Cow<'r, Histogram>)> {
        let of_source = |source: &&Source<'r>| -> Vec<(f64, f64, &'r Histogram)> {
            let start = released(source);
            let sections = source.phase.totals.responses_in_detail(source.kind);
            sections.map(|(begin, end, response)| (start + begin, start + end, response)).collect()
        };
        let phases: Vec<Vec<_>> = self.0.iter().map(of_source).collect();
        let all: usize = phases.iter().map(Vec::len).sum();
        let each = all.div_ceil(at_most.max(1)).max(1);
        phases.iter().flat_map(|phase| phase.chunks(each)).filter_map(joined).collect()
    }

    /// The sections of all its phases: begin and end in seconds since the start of the run, and response times.
    pub(super) fn sections(&self) -> Vec<Vec<(f64, f64, &'r Histogram)>> {
        let of_source = |source: &&Source<'r>| {
            let start = released(source);
            let sections = source.phase.totals.responses_over_time(source.kind);
            sections.map(|(begin, end, response)| (start + begin, start + end, response)).collect()
        };
        self.0.iter().map(of_source).collect()
    }
}

pub(super) fn values(lines: &[Lines], of: fn(&(f64, f64)) -> f64) -> impl Iterator<Item = f64> {
    lines.iter().flatten().flatten().map(of)
}

/// The course of a phase.
pub(super) struct SourceTimeline {
    /// Operations per second.
    pub(super) rate: Vec<(f64, f64)>,
    /// MiB per second; empty of operations that move no bytes.
    pub(super) throughput: Vec<(f64, f64)>,
    /// The mean response time in nanoseconds, interrupted where nothing completed.
    pub(super) mean: Lines,
}

/// The course of a phase over the time since the start of its run.
pub(super) fn over_time(source: &Source<'_>) -> SourceTimeline {
    let mut start = released(source);
    let (mut rate, mut throughput, mut mean) = (Vec::new(), Vec::new(), vec![Vec::new()]);
    for point in source.phase.totals.series.iter().filter(|point| point.seconds > 0.0) {
        let middle = start + point.seconds / 2.0;
        start += point.seconds;
        rate.push((middle, point.operations[source.kind] as f64 / point.seconds));
        throughput.push((middle, point.bytes[source.kind] as f64 / point.seconds / MIB));
        match (mean_response(point, source.kind), mean.last_mut()) {
            (Some(response), Some(line)) => line.push((middle, response)),
            _ => mean.push(Vec::new()),
        }
    }
    mean.retain(|line| !line.is_empty());
    if throughput.iter().all(|point| point.1 == 0.0) {
        throughput.clear();
    }
    SourceTimeline { rate, throughput, mean }
}

fn mean_response(point: &Point, kind: OpKind) -> Option<f64> {
    let operations = point.operations[kind];
    (operations > 0).then(|| (point.response_sum[kind] as f64 / operations as f64).max(1.0))
}

/// The sources of each run, form and kind.
pub(super) fn grouped<'s, 'r: 's, K: PartialEq>(
    sources: impl IntoIterator<Item = &'s Source<'r>>,
    key: impl Fn(&'s Source<'r>) -> K,
) -> Vec<(K, Vec<&'s Source<'r>>)> {
    let mut groups: Vec<(K, Vec<&Source<'r>>)> = Vec::new();
    for source in sources {
        let key = key(source);
        match groups.iter_mut().find(|(had, _)| *had == key) {
            Some((_, group)) => group.push(source),
            None => groups.push((key, vec![source])),
        }
    }
    groups
}

/// Panels of rates and response times over the same axis: operations per second, mean, and 99th percentile where there is any.
pub(super) fn rate_and_times(
    x: &Axis,
    rates: Vec<Lines>,
    means: Vec<Lines>,
    tails: Vec<Lines>,
) -> Vec<Panel> {
    let top = Axis::linear("operations per second", Some(0.0), values(&rates, |point| point.1));
    let middle = Axis::log_time("mean response time", values(&means, |point| point.1));
    let mut panels = vec![Panel::of_lines(x.clone(), top, rates), Panel::of_lines(x.clone(), middle, means)];
    if tails.iter().flatten().any(|line| !line.is_empty()) {
        let below = Axis::log_time("99th percentile of the response time", values(&tails, |point| point.1));
        panels.push(Panel::of_lines(x.clone(), below, tails));
    }
    panels
}
