//! PerfTools' two lines: all operations of a run as one, with what PerfTools itself does not report.

use iolite_model::{Iops, Nanos, OpKind, PerKind, Quantile};
use iolite_stats::{Direction, Estimate, Histogram, PhaseChanges, PhaseResult, Point, Summary};

use crate::run::INDENT;
use crate::styler::{Emphasis, Styler, count};
use crate::table::{NONE, longest, nanos, percent};
use crate::words;

/// The quantiles printed beside the mean.
const QUANTILES: [f64; 4] = [0.5, 0.95, 0.99, 0.999];

/// A response time by PerfTools' reckoning that differs from the measured one by less than this share is the same to a
/// reader.
const ALIKE: f64 = 0.01;

/// Reads and sets of a run as one kind of operation.
pub(super) struct Total {
    /// The kinds that occurred, of reads and sets.
    pub(super) kinds: Vec<OpKind>,
    pub(super) operations: u64,
    /// Operations per second.
    pub(super) rate: Estimate,
    /// Mean response time in nanoseconds; its value is not a number where it is not known.
    pub(super) mean: Estimate,
    /// `None` where it is not known.
    pub(super) max: Option<Nanos>,
    /// What PerfTools would call the response time, in nanoseconds: elapsed time × processes / operations.
    pub(super) perftools_mean: f64,
    pub(super) processes: u32,
    /// The rates between its level shifts, in order; empty where there was one level.
    levels: Vec<f64>,
    measured: f64,
    response: Histogram,
    /// Number of independent operations they are worth.
    worth: u64,
}

impl Total {
    /// All operations of a phase; `None` where none succeeded.
    pub(super) fn of(phase: &PhaseResult) -> Option<Total> {
        let summaries: Vec<_> =
            [OpKind::Read, OpKind::Write].into_iter().filter_map(|kind| phase.summary(kind)).collect();
        if summaries.is_empty() {
            return None;
        }
        let max = summaries.iter().filter_map(|summary| summary.max).max();
        let kinds: Vec<OpKind> = summaries.iter().map(|summary| summary.kind).collect();
        let operations: u64 = summaries.iter().map(|summary| summary.operations).sum();
        let mut response = Histogram::new();
        kinds.iter().filter_map(|&kind| phase.totals.response(kind)).for_each(|times| response.merge(times));
        // Of one kind the phase has it; of several, their intervals together.
        let (rate, mean) = match summaries.as_slice() {
            [only] => (only.rate, only.mean),
            _ => together(phase, &summaries, &response),
        };
        let processes = phase.info.task.concurrency();
        let measured = phase.totals.measured as f64 / 1e9;
        Some(Total {
            operations,
            rate,
            mean,
            max,
            perftools_mean: measured * 1e9 * f64::from(processes) / operations as f64,
            processes,
            levels: levels(phase, &kinds),
            measured,
            response,
            worth: kinds.iter().map(|&kind| phase.effective_operations(kind)).sum::<u64>().max(1),
            kinds,
        })
    }

    /// A quantile of the response times in nanoseconds; `None` where none were recorded.
    pub(super) fn quantile(&self, share: f64) -> Option<Estimate> {
        let max = self.max.filter(|_| self.response.count() > 0)?;
        let value_at = |share| self.response.quantile(Quantile(share)).min(max).0 as f64;
        Some(Estimate::quantile(Quantile(share), self.worth, value_at, Direction::LowerIsBetter))
    }

    /// The two lines in PerfTools' own words, and what belongs beside them.
    pub(super) fn text(&self, styler: Styler) -> String {
        // As theirs: "processes" also of one, no blank before the unit, no separators of thousands. Scripts cut them out.
        let response = format!(
            "{} processes ({} seconds) average response time = {}",
            self.processes,
            seconds(self.measured),
            milliseconds(self.mean.value)
        );
        let iops = format!("Calculated IOPS = {}", self.calculated());
        let mut out = format!(
            "{}\n{}\n",
            styler.paint(Emphasis::Strong, &response),
            styler.paint(Emphasis::Strong, &iops)
        );
        let indent = " ".repeat(INDENT);
        out += &styler.item(&indent, INDENT, self.beside());
        if (self.perftools_mean / self.mean.value - 1.0).abs() > ALIKE {
            out += &styler.item(&indent, INDENT, self.perftools());
        }
        out
    }

    /// The rate; of several levels each, since their mean is a rate that never was.
    fn calculated(&self) -> String {
        match self.levels.as_slice() {
            [] => plain(self.rate.value),
            levels => {
                let levels: Vec<String> = levels.iter().copied().map(plain).collect();
                format!("{} (the rate changed; mean {})", levels.join(" > "), plain(self.rate.value))
            }
        }
    }

    /// The distribution of the times, and how sure the rate is.
    fn beside(&self) -> String {
        let quantiles = QUANTILES.map(|share| {
            let is_resolved = Estimate::resolves(Quantile(share), self.operations);
            let value = self.quantile(share).filter(|_| is_resolved).map_or(f64::NAN, |value| value.value);
            format!("{} {}", Quantile(share), nanos(value))
        });
        format!(
            "{}, max {}; IOPS ± {}",
            quantiles.join(", "),
            longest(self.max),
            percent(self.rate.relative_half_width())
        )
    }

    fn perftools(&self) -> String {
        format!(
            "PerfTools, which do not time operations, would print {}: {} s × {} / {} {}",
            milliseconds(self.perftools_mean),
            seconds(self.measured),
            words::number(self.processes, "process", "processes"),
            count(self.operations),
            match self.kinds.as_slice() {
                [OpKind::Read] => "reads, including all time between them",
                [OpKind::Write] => "sets, including commits, pauses and all other time between them",
                _ => "reads and sets, including commits, pauses and all other time between them",
            }
        )
    }
}

/// The rates of these kinds together between the level shifts of a phase.
fn levels(phase: &PhaseResult, kinds: &[OpKind]) -> Vec<f64> {
    let Some(changes) = PhaseChanges::of(phase) else { return Vec::new() };
    let each = kinds.iter().map(|&kind| changes.levels(phase, kind));
    let sum = |sums: Vec<f64>, levels: Vec<Estimate>| {
        let values = levels.iter().map(|level| level.value);
        if sums.is_empty() { values.collect() } else { sums.iter().zip(values).map(|(a, b)| a + b).collect() }
    };
    each.fold(Vec::new(), sum)
}

/// Rate and mean response time of several kinds; the mean is not a number where that of a kind is none.
fn together(phase: &PhaseResult, summaries: &[Summary], response: &Histogram) -> (Estimate, Estimate) {
    let sum = |point: &Point, of: fn(&Point) -> &PerKind<u64>| {
        summaries.iter().map(|summary| of(point)[summary.kind] as f64).sum::<f64>()
    };
    if let Some(unknown) = summaries.iter().find(|summary| !summary.mean.value.is_finite()) {
        let rate = summaries.iter().map(|summary| summary.rate.value).sum();
        return (Estimate::unknown(rate, Direction::HigherIsBetter), unknown.mean);
    }
    let (mut rates, mut times) = (Vec::new(), Vec::new());
    for point in &phase.totals.series {
        let operations = sum(point, |point| &point.operations);
        rates.push((point.seconds, operations));
        times.push((operations, sum(point, |point| &point.response_sum)));
    }
    let (mean, deviation) = (response.mean(), response.standard_deviation());
    let direction = Direction::LowerIsBetter;
    let mean = Estimate::ratio(&times, direction)
        .unwrap_or_else(|| Estimate::mean(mean, deviation, response.count() as f64, direction));
    (Estimate::rate(&rates, Direction::HigherIsBetter), mean)
}

/// Seconds as PerfTools print them: `60`, `62.86`.
fn seconds(seconds: f64) -> String {
    let text = format!("{seconds:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Milliseconds with three digits: `7.18ms`, `.0545ms` with its zero; `-` where the time is not known.
fn milliseconds(nanos: f64) -> String {
    if !nanos.is_finite() {
        return NONE.to_owned();
    }
    let value = nanos / 1e6;
    let digits = if value > 0.0 { (2.0 - value.log10().floor()).clamp(0.0, 6.0) } else { 0.0 };
    format!("{value:.*}ms", digits as usize)
}

/// A rate without separators.
fn plain(rate: f64) -> String {
    Iops(rate).to_string().replace(',', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_written_as_perftools_write_them() {
        let times = [7_180_000.0, 54_500.0, 1_230_000.0, 812.0, 123_456_000.0, 2_345_678_000.0, 0.0];
        let times = times.map(milliseconds);
        assert_eq!(times, ["7.18ms", "0.0545ms", "1.23ms", "0.000812ms", "123ms", "2346ms", "0ms"]);
        assert_eq!(milliseconds(f64::NAN), "-");
        assert_eq!([60.0, 62.856_814, 0.25, 300.1].map(seconds), ["60", "62.86", "0.25", "300.1"]);
        assert_eq!([2787.4, 183_414.0, 4.25].map(plain), ["2787", "183414", "4.2"]);
    }
}
