//! Stall attribution: the slowest operations of a phase, laid beside the requests of the devices and what else went on.

mod attribution;
mod longest;
mod spans;

use std::collections::BTreeMap;

use iolite_model::{
    BlockClass, BlockLatency, BlockRequest, Nanos, OpKind, Quantile, StallCause, StallsFound,
};
use iolite_stats::{Histogram, PhaseTotals};

use attribution::Attribution;
use longest::Longest;
use spans::StallSpans;

/// Operations of a phase that are attributed at most: the longest.
const MAX_EXAMINED: usize = 4096;
/// Requests that are kept at most: the longest. A shorter one cannot be the largest part of an outlier.
const MAX_REQUESTS: usize = 1 << 16;
/// With fewer operations, the 99th percentile takes the place of the 99.9th.
const MANY: u64 = 10_000;
/// Gap between two requests of one class that is no gap: dispatching the next one takes as long.
const GAP: Nanos = Nanos(1_000_000);

/// An operation that may be an outlier. Instants are of CLOCK_MONOTONIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outlier {
    /// What it was.
    pub kind: OpKind,
    /// When it was intended to start.
    pub intended: Nanos,
    /// When it was issued.
    pub issued: Nanos,
    /// When it was completed.
    pub completed: Nanos,
}

impl Outlier {
    fn response(&self) -> Nanos {
        self.completed.saturating_sub(self.intended)
    }
}

/// Operations and requests of the phases that run together, of bounded size.
#[derive(Debug, Default)]
pub struct Stalls {
    operations: BTreeMap<u32, Longest<Outlier>>,
    requests: Longest<BlockRequest>,
    spans: BTreeMap<StallCause, StallSpans>,
    latency: BTreeMap<((u32, u32), BlockClass), [Histogram; 2]>,
}

/// What is needed to draw a conclusion about a phase, besides what was collected.
#[derive(Debug, Clone, Copy)]
pub struct StalledPhase<'a> {
    /// Number of the phase.
    pub phase: u32,
    /// When it was released, on CLOCK_MONOTONIC.
    pub released: Nanos,
    /// Its totals.
    pub totals: &'a PhaseTotals,
    /// Response time above which an operation is an outlier; `None` for a percentile.
    pub bound: Option<Nanos>,
    /// Events that were lost; `None` where requests could not be traced.
    pub lost_events: Option<u64>,
}

impl Stalls {
    /// Forgets everything: other phases begin.
    pub fn clear(&mut self) {
        *self = Stalls::default();
    }

    /// An operation of a phase has been completed.
    pub fn operation(&mut self, phase: u32, operation: Outlier) {
        let longest = self.operations.entry(phase).or_default();
        longest.add(operation.response(), operation, MAX_EXAMINED);
    }

    /// A request has been completed.
    pub fn request(&mut self, request: BlockRequest) {
        self.requests.add(request.completed.saturating_sub(request.inserted), request, MAX_REQUESTS);
        let cause = match request.class {
            BlockClass::Flush => Some(StallCause::Flush),
            BlockClass::Discard => Some(StallCause::Discard),
            BlockClass::WriteBack => Some(StallCause::WriteBack),
            BlockClass::Read | BlockClass::Write => None,
        };
        if let Some(cause) = cause {
            self.beside(cause, request.inserted, request.completed, GAP);
        }
        let [scheduler, in_device] = self.latency.entry((request.device, request.class)).or_default();
        scheduler.record(request.in_scheduler().0);
        in_device.record(request.in_device().0);
    }

    /// Something else went on from `start` to `end`; what follows within `gap` is the same.
    pub fn beside(&mut self, cause: StallCause, start: Nanos, end: Nanos, gap: Nanos) {
        self.spans.entry(cause).or_default().add(start, end, gap);
    }

    /// What the outliers of a phase fall into; `None` for a phase without operations. `name` names a device.
    pub fn found(&self, of: StalledPhase<'_>, name: impl Fn((u32, u32)) -> String) -> Option<StallsFound> {
        let mut responses = Histogram::new();
        OpKind::all().filter_map(|kind| of.totals.response(kind)).for_each(|own| responses.merge(own));
        let operations = responses.count();
        if operations == 0 {
            return None;
        }
        let quantile = if operations >= MANY { 0.999 } else { 0.99 };
        let bound = of.bound.unwrap_or_else(|| responses.quantile(Quantile(quantile)));
        let mut examined: Vec<Outlier> =
            self.operations.get(&of.phase).map(Longest::items).unwrap_or_default();
        examined.retain(|operation| operation.response() > bound);
        examined.sort_by_key(|operation| std::cmp::Reverse(operation.response()));
        let end = Nanos(of.released.0.saturating_add(of.totals.measured));
        let attribution = Attribution::of(&examined, self.requests.items(), &self.spans, (of.released, end));
        Some(StallsFound {
            bound,
            quantile: of.bound.is_none().then_some(quantile),
            operations,
            // Counted in the histogram, whose buckets are coarser than the operations kept.
            outliers: responses.count_above(bound).max(examined.len() as u64),
            examined: examined.len() as u64,
            traced: of.lost_events.is_some(),
            waiting: attribution.waiting,
            scheduler: attribution.scheduler,
            device: attribution.device,
            elsewhere: attribution.elsewhere,
            beside: attribution.beside,
            longest: attribution.longest,
            devices: self.latencies(name),
            lost_events: of.lost_events.unwrap_or(0),
        })
    }

    fn latencies(&self, name: impl Fn((u32, u32)) -> String) -> Vec<BlockLatency> {
        let three = |times: &Histogram| [0.5, 0.99, 0.999].map(|share| times.quantile(Quantile(share)));
        let latency =
            |(&(device, class), [scheduler, in_device]): (&((u32, u32), BlockClass), &[Histogram; 2])| {
                BlockLatency {
                    device: name(device),
                    class,
                    requests: in_device.count(),
                    scheduler: three(scheduler),
                    in_device: three(in_device),
                }
            };
        self.latency.iter().map(latency).collect()
    }
}

#[cfg(test)]
mod tests;
