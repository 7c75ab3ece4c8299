//! Charts made from runs.

use iolite_model::{OpKind, Quantile};
use iolite_results::Run;
use iolite_stats::{Histogram, PhaseResult};

use super::axis::Axis;
use super::bounds::{Bound, Bounded, bounds};
use super::buckets::outline;
use super::chart::{Chart, Panel, Series};
use super::source::{Drawn, Lines, MAX_SERIES, RESPONSE, Source, SourceTimeline, cut, over_time, values};
use super::{counters, database, heatmap, load, overlay, percentiles, pts, readings, relief, repeats, waits};

/// Quantiles that a distribution is drawn by.
const QUANTILES: u32 = 400;

/// What is drawn. The names are those typed and in pages; what each shows is also its help.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, strum::EnumMessage, strum::IntoStaticStr, strum::VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum PlotKind {
    /// Operations per second, throughput and mean response time over time
    Timeline,
    /// Share of the operations by response time
    Histogram,
    /// Response time by percentile
    Cdf,
    /// Share of the operations by response time, over time
    Heatmap,
    /// Operations per second and response time by the number of operations in flight
    Sweep,
    /// Operations per second by the number of operations in flight and their size or mix
    Surface,
    /// Operations per second as the height over the number of operations in flight and their size or mix
    #[strum(serialize = "surface-3d")]
    Relief,
    /// Runs side by side: rates with their range, response times from median to 99th percentile
    Compare,
    /// Rates and response times of the same phases over the start times of the runs
    Trend,
    /// Median, 90th, 99th, 99.9th percentile and maximum of the response time over time
    Percentiles,
    /// Operations asked of a database, beside what the database and its devices counted
    Database,
    /// CPU time of the host over time, in shares
    Cpu,
    /// Throughput, operations, utilization and requests in flight of the devices over time
    Devices,
    /// Share of the time in which tasks waited for CPU, I/O or memory, over time
    Pressure,
    /// Dirty pages, pages under write-back and available memory over time
    Memory,
    /// Average active sessions of a database by wait over time
    Waits,
    /// Operations of a database on its files by its own counters, over time
    Counters,
    /// Before and after: the same phases of several runs from their start on, rate and mean response time over time
    Overlay,
    /// `iolite pts`: figures of every block size by round, until steady state
    PtsConvergence,
    /// `iolite pts`: measurement windows with mean, ±10 % and least squares line
    PtsVerification,
    /// `iolite pts`: write saturation, rate and response time over time
    PtsSaturation,
    /// `iolite pts`: host idle recovery and cross-stimulus recovery over the time of writing
    PtsRecovery,
    /// `iolite pts`: demand variation and intensity, rate and response time by operations in flight
    PtsDemand,
    /// `iolite pts`: response times at the operating points with the highest, middle and lowest rate
    PtsHistogram,
    /// `iolite pts`: rate and throughput by zone of a hard disk
    PtsZones,
    /// `iolite pts`: rates, response times and throughput of the measurement windows by block size and mix
    PtsWindow,
    /// `iolite pts`: figures of the measurement windows as the height over mix and block size
    #[strum(serialize = "pts-window-3d")]
    PtsRelief,
    /// `iolite pts`: how much the rounds of the measurement windows differ, as box plots
    PtsBoxes,
}

impl PlotKind {
    /// Every kind.
    pub const ALL: &[PlotKind] = <PlotKind as strum::VariantArray>::VARIANTS;

    /// As typed, and in pages.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Why there is no chart.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlotError {
    /// No phase has measured anything.
    #[error("nothing to draw: no operation of {0} succeeded")]
    Empty(String),
    /// Nothing was sampled, or no database was used.
    #[error("nothing to draw: {runs} recorded no values for the chart `{chart}`")]
    NotRecorded {
        /// The runs.
        runs: String,
        /// Title of the chart.
        chart: &'static str,
    },
}

/// A chart of runs, overlaid.
///
/// # Errors
/// No operation succeeded in a measured phase.
pub fn chart(runs: &[Run], kind: PlotKind) -> Result<Chart, PlotError> {
    if let Some(drawn) = recorded(runs, kind) {
        if drawn.panels.is_empty() {
            return Err(PlotError::NotRecorded { runs: names(runs), chart: drawn.title });
        }
        let description = match kind {
            PlotKind::PtsRelief => relief::described(drawn.about, &drawn.panels),
            _ => format!("{}, {} series.", drawn.about, drawn.series.len()),
        };
        return Ok(drawn.chart(description, runs));
    }
    let mut sources: Vec<Source<'_>> = runs.iter().flat_map(of_run).collect();
    if sources.is_empty() {
        return Err(PlotError::Empty(names(runs)));
    }
    let drawn = match kind {
        PlotKind::Heatmap => heatmap::heatmap(&sources),
        PlotKind::Percentiles => percentiles::percentiles(&sources),
        PlotKind::Sweep => load::sweep(&sources),
        PlotKind::Surface => load::surface(&sources),
        PlotKind::Relief => load::relief(&sources),
        PlotKind::Compare => repeats::compare(&sources),
        PlotKind::Trend => repeats::trend(&sources),
        PlotKind::Overlay => overlay::overlay(&sources),
        kind => by_source(&mut sources, kind),
    };
    if kind == PlotKind::Overlay && drawn.panels.is_empty() {
        return Err(PlotError::NotRecorded { runs: names(runs), chart: drawn.title });
    }
    let description = match kind {
        PlotKind::Surface | PlotKind::Relief => relief::described(drawn.about, &drawn.panels),
        _ => described(drawn.about, &sources),
    };
    Ok(drawn.chart(description, runs))
}

/// What a run recorded besides its operations; `None` of the kinds that draw operations.
fn recorded(runs: &[Run], kind: PlotKind) -> Option<Drawn> {
    Some(match kind {
        PlotKind::Database => database::database(runs),
        PlotKind::Cpu => readings::cpu(runs),
        PlotKind::Devices => readings::devices(runs),
        PlotKind::Pressure => readings::pressure(runs),
        PlotKind::Memory => readings::memory(runs),
        PlotKind::Waits => waits::waits(runs),
        PlotKind::Counters => counters::counters(runs),
        PlotKind::PtsConvergence => pts::steady::convergence(runs),
        PlotKind::PtsVerification => pts::steady::verification(runs),
        PlotKind::PtsSaturation => pts::steady::saturation(runs),
        PlotKind::PtsRecovery => pts::recovery::recovery(runs),
        PlotKind::PtsDemand => pts::demand::demand(runs),
        PlotKind::PtsHistogram => pts::demand::histogram(runs),
        PlotKind::PtsZones => pts::zones::zones(runs),
        PlotKind::PtsWindow => pts::window::window(runs),
        PlotKind::PtsRelief => pts::window::relief(runs),
        PlotKind::PtsBoxes => pts::boxes::boxes(runs),
        _ => return None,
    })
}

fn names(runs: &[Run]) -> String {
    let runs: Vec<_> = runs.iter().map(|run| run.info.id.0.as_str()).collect();
    if runs.len() == 1 { format!("run {}", runs[0]) } else { format!("runs {}", runs.join(", ")) }
}

/// A series for each source; of more than can be distinguished, one for all phases that did the same.
fn by_source(sources: &mut Vec<Source<'_>>, kind: PlotKind) -> Drawn {
    let all = sources.len();
    if kind != PlotKind::Timeline && sources.iter().any(|source| source.response.count() > 0) {
        sources.retain(|source| source.response.count() > 0);
    }
    let unknown = all - sources.len();
    let mut groups = grouped(sources);
    let is_pooled = groups.len() < sources.len();
    let bounds = if kind == PlotKind::Timeline { bounds(sources) } else { Vec::new() };
    let cut = cut(&mut groups, MAX_SERIES - bounds.len());
    let (title, about, panels) = match kind {
        PlotKind::Histogram => histogram(&groups),
        PlotKind::Cdf => cdf(&groups),
        _ => timeline(&groups, &bounds),
    };
    let note = cut.or_else(|| match (is_pooled, unknown) {
        (true, _) => Some(
            "Phases that did the same are one series; only their main kind of operation is drawn.".into(),
        ),
        (false, 0) => None,
        (false, _) => Some(format!("{unknown} of {all} series have no histogram.")),
    });
    let series = groups.iter().map(|group| named(group)).chain(bounds.into_iter().map(|bound| bound.series));
    Drawn { title, about, series: series.collect(), panels, note }
}

/// Sources that are one series.
type Group<'s, 'r> = Vec<&'s Source<'r>>;

/// Each source on its own; of too many, those of the main kind of each phase, by run, name and number of operations in flight.
fn grouped<'s, 'r>(sources: &'s [Source<'r>]) -> Vec<Group<'s, 'r>> {
    if sources.len() <= MAX_SERIES {
        return sources.iter().map(|source| vec![source]).collect();
    }
    let key = |source: &'s Source<'r>| {
        let task = &source.phase.info.task;
        (&source.run.info.id, task.name(), task.concurrency(), source.kind)
    };
    let main = sources.iter().filter(|source| source.kind == source.phase.main_kind());
    super::source::grouped(main, key).into_iter().map(|(_, group)| group).collect()
}

fn named(group: &Group<'_, '_>) -> Series {
    let (first, task) = (group[0], &group[0].phase.info.task);
    let number = u64::from(first.phase.info.index) + 1;
    let several = match group.len() {
        1 => String::new(),
        phases => format!(", {} in flight ({phases} phases)", task.concurrency()),
    };
    Series::new(&first.run.info.id.0, format!("{number}. {}, {}{several}", task.name(), first.kind.name()))
}

/// The response times of all sources of a group together.
fn pooled(group: &Group<'_, '_>) -> Histogram {
    let mut all = group[0].response.clone();
    group[1..].iter().for_each(|source| all.merge(source.response));
    all
}

/// What a run has measured: its phases in the order of their numbers, and the kinds of operation of each.
fn of_run(run: &Run) -> Vec<Source<'_>> {
    let mut phases: Vec<&PhaseResult> = run.phases.iter().collect();
    phases.sort_by_key(|phase| phase.info.index);
    let of_phase = |phase| {
        OpKind::all().filter_map(move |kind| {
            let phase: &PhaseResult = phase;
            let response = phase.totals.response(kind)?;
            (phase.totals.operations(kind) > 0).then_some(())?;
            Some(Source { run, phase, kind, response })
        })
    };
    phases.into_iter().flat_map(of_phase).collect()
}

/// The sentence instead of the picture: what is drawn, and the median and p99 of the slowest series.
fn described(about: &str, sources: &[Source<'_>]) -> String {
    let slowest = sources.iter().max_by_key(|source| source.response.quantile(Quantile(0.99)));
    let Some(slowest) = slowest.filter(|slowest| slowest.response.count() > 0) else {
        return format!("{about}, {} series.", sources.len());
    };
    let quantile = |share| slowest.response.quantile(Quantile(share));
    format!(
        "{about}, {} series; the slowest by its 99th percentile is {} ({}) of run {}: median {}, 99th percentile {}.",
        sources.len(),
        slowest.phase.info.task.name(),
        slowest.kind.name(),
        slowest.run.info.id.0,
        quantile(0.5),
        quantile(0.99)
    )
}

fn timeline(groups: &[Group<'_, '_>], bounds: &[Bound]) -> (&'static str, &'static str, Vec<Panel>) {
    let (mut rates, mut throughputs, mut means): (Vec<Lines>, Vec<Lines>, Vec<Lines>) = Default::default();
    for group in groups {
        let courses: Vec<SourceTimeline> = group.iter().map(|source| over_time(source)).collect();
        rates.push(courses.iter().map(|course| course.rate.clone()).collect());
        let moved = courses.iter().map(|course| course.throughput.clone());
        throughputs.push(moved.filter(|line| !line.is_empty()).collect());
        means.push(courses.into_iter().flat_map(|course| course.mean).collect());
    }
    for bound in bounds {
        rates.push(bound.lines_of(Bounded::Rate));
        throughputs.push(bound.lines_of(Bounded::Throughput));
        means.push(bound.lines_of(Bounded::Mean));
    }
    let x = Axis::run_time(values(&rates, |point| point.0));
    let linear = |label, lines: &[Lines]| Axis::linear(label, Some(0.0), values(lines, |point| point.1));
    let (top, middle) = (linear("operations per second", &rates), linear("MiB per second", &throughputs));
    let below = Axis::log_time("mean response time", values(&means, |point| point.1));
    let has_moved = throughputs.iter().take(groups.len()).any(|lines| !lines.is_empty());
    let moved = has_moved.then(|| Panel::of_lines(x.clone(), middle, throughputs));
    let panels = [Panel::of_lines(x.clone(), top, rates)].into_iter().chain(moved);
    (
        "Operations per second, throughput and response time",
        "Operations per second, MiB per second and mean response time over time",
        panels.chain([Panel::of_lines(x, below, means)]).collect(),
    )
}

fn histogram(groups: &[Group<'_, '_>]) -> (&'static str, &'static str, Vec<Panel>) {
    let lines: Vec<Lines> = groups.iter().map(|group| vec![outline(&pooled(group))]).collect();
    let x = Axis::log_time(RESPONSE, values(&lines, |point| point.0));
    let y = Axis::linear("% of the operations", Some(0.0), values(&lines, |point| point.1));
    let about = "Share of the operations by response time, in twenty buckets for each power of ten";
    ("Histogram of response times", about, vec![Panel::of_lines(x, y, lines)])
}

fn cdf(groups: &[Group<'_, '_>]) -> (&'static str, &'static str, Vec<Panel>) {
    let lines: Vec<Lines> = groups.iter().map(|group| vec![quantiles(&pooled(group))]).collect();
    let high = values(&lines, |point| point.0).fold(1.0, f64::max);
    let x = Axis::nines("share of the operations that took at most this time", high);
    let y = Axis::log_time(RESPONSE, values(&lines, |point| point.1));
    (
        "Response time by percentile",
        "Response time by percentile of the operations",
        vec![Panel::of_lines(x, y, lines)],
    )
}

/// Response times by the nines of their quantile, up to the last operation but one, and the longest.
fn quantiles(response: &Histogram) -> Vec<(f64, f64)> {
    let end = (response.count().max(1) as f64).log10();
    let at = |number: u32| end * f64::from(number) / f64::from(QUANTILES);
    let time = |share: f64| response.quantile(Quantile(share)).0.max(1) as f64;
    let mut points: Vec<_> =
        (0..=QUANTILES).map(|number| (at(number), time(1.0 - 10f64.powf(-at(number))))).collect();
    // The longest stands for the last one of all: half an operation from the end.
    points.push((end + 2f64.log10(), time(1.0)));
    points.dedup();
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic;
    use iolite_model::{Access, Arrival, Concluded, DbOperation, Iops, Mix, SweepEnd, SweepTerms, Task};
    use iolite_stats::{Point, SweepConcluded};

    const KINDS: [PlotKind; 3] = [PlotKind::Timeline, PlotKind::Histogram, PlotKind::Cdf];

    fn run() -> Run {
        let mut run = Run::new(synthetic::run());
        let loads = [(OpKind::Read, 20_000.0, 150_000.0, 8192, 0)];
        run.phases.push(synthetic::phase(0, synthetic::read("reads", 8192, 8), &loads));
        let both = [(OpKind::Read, 9_000.0, 90_000.0, 8192, 0), (OpKind::Write, 4_000.0, 2e6, 8192, 0)];
        let mixed = synthetic::file("mixed", Mix::Write, Access::Random, 8192, 8);
        run.phases.push(synthetic::phase(1, mixed, &both));
        run
    }

    #[test]
    fn every_kind_has_its_series_inside_the_frame() {
        for kind in KINDS {
            let chart = chart(&[run(), run()], kind).unwrap();
            assert_eq!(chart.series.len(), 6);
            assert_eq!(chart.series[2].name, "2. mixed, write");
            assert_eq!(chart.panels.len(), if kind == PlotKind::Timeline { 3 } else { 1 });
            assert!(chart.description.contains("mixed (write)"), "{}", chart.description);
            for panel in &chart.panels {
                assert_eq!(panel.lines.len(), 6);
                for line in panel.lines.iter().flatten() {
                    assert!(line.len() > 5, "{kind:?}: {line:?}");
                    let inside = |axis: &Axis, value: f64| (axis.low..=axis.high).contains(&value);
                    let within = |point: &(f64, f64)| inside(&panel.x, point.0) && inside(&panel.y, point.1);
                    assert!(line.iter().all(within), "{kind:?}: {line:?} in {panel:?}");
                    assert!(line.windows(2).all(|pair| pair[0].0 <= pair[1].0), "{kind:?}: {line:?}");
                }
            }
        }
    }

    #[test]
    fn bounds_are_lines_over_the_phases_that_they_apply_to() {
        let mut run = run();
        let Task::File(task) = &mut run.phases[1].info.task else { panic!("not a file") };
        task.arrival = Arrival::Poisson(Iops(13_000.0));
        let terms = SweepTerms { target_iops: Some(Iops(5000.0)), ..SweepTerms::new(DbOperation::RanRead) };
        let (tool, end) = ("RanRead".to_owned(), SweepEnd::ListDone);
        let average = terms.average.0 as f64;
        let swept = SweepConcluded { tool, terms, end, knee: None, judged: None };
        run.conclusions.push(Concluded::of(&swept));
        let chart = chart(&[run.clone()], PlotKind::Timeline).unwrap();
        let names: Vec<_> = chart.series[3..].iter().map(|series| series.name.as_str()).collect();
        assert_eq!(names[1..], ["bound: at least 5,000 IOPS", "requested: 13,000 IOPS"], "{names:?}");
        assert!(names[0].starts_with("bound: mean of at most "), "{names:?}");
        let [rates, throughputs, means] = &chart.panels[..] else { panic!("{chart:?}") };
        assert!(throughputs.lines[3..].iter().all(Vec::is_empty), "none of them is about bytes");
        assert!(chart.series[3..].iter().all(|series| series.is_bound));
        let values = |lines: &Lines| lines.iter().map(|line| line[0].1).collect::<Vec<_>>();
        assert_eq!((values(&means.lines[3]), values(&rates.lines[3])), (vec![average; 2], vec![]));
        assert_eq!((values(&rates.lines[4]), values(&means.lines[4])), (vec![5000.0; 2], vec![]));
        assert_eq!(values(&rates.lines[5]), [13_000.0], "both kinds of a phase have it in common");
        assert!(means.y.high >= average && rates.y.high >= 13_000.0, "the axes reach them");
        assert_eq!(super::chart(&[run], PlotKind::Cdf).unwrap().series.len(), 3);
    }

    #[test]
    fn shares_add_up_and_quantiles_are_those_of_the_histogram() {
        let run = run();
        let response = run.phases[0].totals.response(OpKind::Read).unwrap();
        let sum: f64 =
            outline(response).windows(2).filter(|pair| pair[0].1 == pair[1].1).map(|pair| pair[0].1).sum();
        assert!((sum - 100.0).abs() < 15.0, "{sum}");
        let points = quantiles(response);
        let p99 = points.iter().find(|point| point.0 >= 2.0).unwrap().1;
        assert!(p99 >= response.quantile(Quantile(0.99)).0 as f64, "{p99}");
        assert_eq!(points.last().unwrap().1, response.max().0 as f64);
    }

    #[test]
    fn an_interval_without_operations_interrupts_the_response_times_only() {
        let mut run = run();
        run.phases.truncate(1);
        let point = &mut run.phases[0].totals.series[4];
        *point = Point { seconds: point.seconds, ..Point::default() };
        let chart = chart(&[run], PlotKind::Timeline).unwrap();
        assert_eq!((chart.panels[0].lines[0].len(), chart.panels[2].lines[0].len()), (1, 2));
        assert_eq!(chart.panels[0].lines[0][0][4].1, 0.0);
    }

    #[test]
    fn many_series_are_cut_with_a_note_and_none_is_an_error() {
        let mut many = run();
        for index in 2..60 {
            let loads = [(OpKind::Read, 2_000.0, 150_000.0, 8192, 0)];
            many.phases.push(synthetic::phase(index, synthetic::read("r", 8192, 8), &loads));
        }
        // Those that did the same are one.
        let pooled = super::chart(&[many.clone()], PlotKind::Cdf).unwrap();
        let names: Vec<_> = pooled.series.iter().map(|series| series.name.as_str()).collect();
        assert_eq!(names, ["1. reads, read", "2. mixed, read", "3. r, read, 8 in flight (58 phases)"]);
        assert!(pooled.note.unwrap().starts_with("Phases that did the same"));
        let timeline = super::chart(&[many.clone()], PlotKind::Timeline).unwrap();
        assert_eq!(timeline.panels[0].lines[2].len(), 58);
        for index in 60..120 {
            let loads = [(OpKind::Read, 2_000.0, 150_000.0, 8192, 0)];
            many.phases.push(synthetic::phase(index, synthetic::read(&format!("r{index}"), 8192, 8), &loads));
        }
        let chart = chart(&[many], PlotKind::Cdf).unwrap();
        assert_eq!((chart.series.len(), chart.panels[0].lines.len()), (MAX_SERIES, MAX_SERIES));
        assert!(chart.note.unwrap().starts_with("32 of 63 series"));
        let empty = super::chart(&[Run::new(synthetic::run())], PlotKind::Cdf).unwrap_err().to_string();
        assert!(empty.starts_with("nothing to draw: no operation of run 2026"), "{empty}");
    }
}
