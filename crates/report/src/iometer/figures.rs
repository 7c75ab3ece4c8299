//! The figures of a point: of all its lines and targets together, as they ran together.

use std::collections::HashMap;

use iolite_model::{
    CacheStamp, IometerComparison, IometerComparisonPoint, IometerLoad, IometerPoint, IometerTerms, Nanos,
    OpKind, Quantile, Usage,
};
use iolite_results::Run;
use iolite_stats::{Direction, Estimate, Histogram, PhaseResult};

use crate::extremes::best_by_worst;

/// The kinds of operations that access specifications have.
const KINDS: [OpKind; 2] = [OpKind::Read, OpKind::Write];

/// What came of a point. Where there are three values: of all operations, of reads, of writes.
#[derive(Clone)]
pub(super) struct Figures<'a> {
    /// Number of the point, from 1.
    pub(super) number: usize,
    pub(super) point: &'a IometerPoint,
    /// Measured time.
    pub(super) measured: Nanos,
    /// Operations and bytes per second.
    pub(super) rates: [f64; 3],
    pub(super) bytes_per_second: [f64; 3],
    /// Rate of all operations with its interval within the run.
    pub(super) rate: Estimate,
    /// Mean response times in nanoseconds.
    pub(super) means: [f64; 3],
    pub(super) longest: [Nanos; 3],
    /// Response times of all operations.
    pub(super) response: Histogram,
    pub(super) operations: [u64; 3],
    pub(super) bytes: [u64; 3],
    pub(super) errors: [u64; 3],
    /// CPU time of this program in percent of one CPU: in user mode, in the kernel.
    pub(super) cpu: [f64; 2],
    /// Of the line with the most operations.
    pub(super) stamp: CacheStamp,
}

impl Figures<'_> {
    /// The 99th percentile of all response times, where there are enough of them.
    pub(super) fn p99(&self) -> Option<Nanos> {
        let share = Quantile(0.99);
        Estimate::resolves(share, self.response.count()).then(|| self.response.quantile(share))
    }
}

/// The phases of a run by the names of their tasks.
pub(super) struct Phases<'r> {
    run: &'r Run,
    terms: &'r IometerTerms,
    by_name: HashMap<&'r str, &'r PhaseResult>,
}

impl<'r> Phases<'r> {
    pub(super) fn of(run: &'r Run, terms: &'r IometerTerms) -> Phases<'r> {
        let by_name = run.phases.iter().map(|phase| (phase.info.task.name(), phase)).collect();
        Phases { run, terms, by_name }
    }

    /// The figures of the points that have run, in order.
    pub(super) fn all(&self) -> Vec<Figures<'r>> {
        let points = self.terms.points.iter().zip(1..);
        points.filter_map(|(point, number)| self.some(number, point, |_, _| true)).collect()
    }

    /// The figures of some workers' targets of a point, chosen by load and target (from 1); `None` where they have not run.
    pub(super) fn some(
        &self,
        number: usize,
        point: &'r IometerPoint,
        chosen: impl Fn(&IometerLoad, u32) -> bool,
    ) -> Option<Figures<'r>> {
        let loads = self.terms.loads(point);
        let mut phases = Vec::new();
        for load in &loads {
            for target in (1..=load.targets).filter(|target| chosen(load, *target)) {
                let names = (1..=load.spec.lines.len().max(1))
                    .map(|line| self.terms.task_name(number, load, line, target));
                phases.extend(names.filter_map(|name| self.by_name.get(name.as_str()).copied()));
            }
        }
        of_phases(self.run, number, point, &phases)
    }
}

fn of_phases<'a>(
    run: &Run,
    number: usize,
    point: &'a IometerPoint,
    phases: &[&PhaseResult],
) -> Option<Figures<'a>> {
    // What was interrupted before anything was measured has no rate, not one of 0.
    let measured = phases.iter().map(|phase| phase.totals.measured).max().filter(|measured| *measured > 0)?;
    let seconds = measured as f64 / 1e9;
    let per_second = |all: [u64; 3]| all.map(|value| value as f64 / seconds);
    let operations = sums(phases, |phase, kind| phase.totals.operations(kind));
    let bytes = sums(phases, |phase, kind| phase.totals.bytes(kind));
    let used = phases.iter().filter_map(|phase| run.of_phase::<Usage>(phase.info.index));
    let [user, system] =
        used.fold([0, 0], |[user, system], usage| [user + usage.user.0, system + usage.system.0]);
    let percent = |used: u64| used as f64 / 1e7 / seconds;
    let mut response = Histogram::default();
    for (phase, kind) in phases.iter().flat_map(|phase| KINDS.map(|kind| (phase, kind))) {
        if let Some(own) = phase.totals.response(kind) {
            response.merge(own);
        }
    }
    let busiest =
        phases.iter().max_by_key(|phase| sums(&[phase], |phase, kind| phase.totals.operations(kind))[0])?;
    Some(Figures {
        number,
        point,
        measured: Nanos(measured),
        rates: per_second(operations),
        bytes_per_second: per_second(bytes),
        rate: rate(phases),
        means: means(phases, operations),
        longest: longest(phases),
        response,
        operations,
        bytes,
        errors: sums(phases, |phase, kind| phase.totals.errors(kind)),
        cpu: [percent(user), percent(system)],
        stamp: busiest.end.cache.stamp(),
    })
}

/// Of all kinds, reads and writes.
fn sums(phases: &[&PhaseResult], of: impl Fn(&PhaseResult, OpKind) -> u64) -> [u64; 3] {
    let [reads, writes] =
        KINDS.map(|kind| phases.iter().map(|phase| of(phase, kind)).fold(0, u64::saturating_add));
    [reads.saturating_add(writes), reads, writes]
}

fn means(phases: &[&PhaseResult], operations: [u64; 3]) -> [f64; 3] {
    let sum = |kind| -> f64 {
        let of = |phase: &&PhaseResult| {
            let mean = phase.summary(kind).map_or(0.0, |summary| summary.mean.value);
            mean * phase.totals.operations(kind) as f64
        };
        phases.iter().map(of).sum()
    };
    let [reads, writes] = KINDS.map(sum);
    let mean = |(sum, count): (f64, u64)| if count > 0 { sum / count as f64 } else { 0.0 };
    let [all, read, write] = operations;
    [(reads + writes, all), (reads, read), (writes, write)].map(mean)
}

fn longest(phases: &[&PhaseResult]) -> [Nanos; 3] {
    let of = |kind| phases.iter().filter_map(|phase| phase.summary(kind)?.max).max().unwrap_or(Nanos(0));
    let [read, write] = KINDS.map(of);
    [read.max(write), read, write]
}

/// Lines and targets ran together: their intervals are those of one series.
fn rate(phases: &[&PhaseResult]) -> Estimate {
    let mut series: Vec<(f64, f64)> = Vec::new();
    for phase in phases {
        for (index, point) in phase.totals.series.iter().enumerate() {
            let operations: u64 = KINDS.iter().map(|kind| point.operations[*kind]).sum();
            match series.get_mut(index) {
                Some((seconds, count)) => {
                    *seconds = seconds.max(point.seconds);
                    *count += operations as f64;
                }
                None => series.push((point.seconds, operations as f64)),
            }
        }
    }
    Estimate::rate(&series, Direction::HigherIsBetter)
}

/// Best by worst of operations and bytes per second; `None` with fewer than two points that did anything.
pub(super) fn ratios(figures: &[Figures<'_>]) -> Option<[f64; 2]> {
    let ratio = |of: fn(&Figures<'_>) -> f64| best_by_worst(figures.iter().map(of));
    Some([ratio(|it| it.rates[0])?, ratio(|it| it.bytes_per_second[0])?])
}

/// What a run on another target is compared with; `None` for a run that is no test of access specifications.
pub fn comparison(run: &Run) -> Option<IometerComparison> {
    let terms: IometerTerms = run.concluded().last()?;
    let points = Phases::of(run, &terms).all().into_iter().map(|it| IometerComparisonPoint {
        number: it.number as u64,
        operations_per_second: it.rates[0],
        bytes_per_second: it.bytes_per_second[0],
    });
    Some(IometerComparison {
        run: run.info.id.clone(),
        directory: run.info.storage.directory.clone(),
        points: points.collect(),
    })
}
