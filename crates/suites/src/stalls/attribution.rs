//! Where the time of each outlier went, and what it was beside.

use std::collections::BTreeMap;

use iolite_model::{
    BlockClass, BlockRequest, Nanos, OpClass, StallCause, StallParts, StalledOperation, StallsBeside,
};

use super::Outlier;
use super::spans::StallSpans;

/// Operations that are listed one by one.
const LISTED: usize = 8;
/// Clocks and tracepoints may differ by so much at the ends of an operation.
const SLACK: Nanos = Nanos(50_000);

/// What came of all outliers.
#[derive(Debug, Default)]
pub(super) struct Attribution {
    pub(super) waiting: u64,
    pub(super) scheduler: u64,
    pub(super) device: u64,
    pub(super) elsewhere: u64,
    pub(super) beside: Vec<StallsBeside>,
    pub(super) longest: Vec<StalledOperation>,
}

impl Attribution {
    /// Of these outliers, the longest first; `phase` is when their phase began and ended.
    pub(super) fn of(
        outliers: &[Outlier],
        mut requests: Vec<BlockRequest>,
        spans: &BTreeMap<StallCause, StallSpans>,
        phase: (Nanos, Nanos),
    ) -> Attribution {
        requests.sort_by_key(|request| request.inserted);
        let mut all = Attribution::default();
        let mut beside: BTreeMap<StallCause, u64> = BTreeMap::new();
        for outlier in outliers {
            let parts = parts(outlier, &requests);
            *all.largest(parts) += 1;
            let causes: Vec<StallCause> = spans
                .iter()
                .filter(|(_, spans)| spans.overlap(outlier.issued, outlier.completed))
                .map(|(cause, _)| *cause)
                .collect();
            causes.iter().for_each(|cause| *beside.entry(*cause).or_default() += 1);
            if all.longest.len() < LISTED {
                let at = outlier.intended.saturating_sub(phase.0);
                all.longest.push(StalledOperation { kind: outlier.kind, at, parts, beside: causes });
            }
        }
        let found = |(cause, operations)| StallsBeside {
            cause,
            operations,
            share_of_time: spans.get(&cause).map_or(0.0, |spans| spans.share(phase.0, phase.1)).min(1.0),
        };
        all.beside = beside.into_iter().map(found).collect();
        all
    }

    /// The count of outliers whose largest part is the same.
    fn largest(&mut self, parts: StallParts) -> &mut u64 {
        let StallParts { waiting, scheduler, device, elsewhere } = parts;
        let largest = waiting.max(scheduler).max(device).max(elsewhere);
        // Of equal parts, the one that is nearest to the device.
        match largest {
            largest if largest == device => &mut self.device,
            largest if largest == scheduler => &mut self.scheduler,
            largest if largest == waiting => &mut self.waiting,
            _ => &mut self.elsewhere,
        }
    }
}

/// The time of an operation by the longest request of its direction that was begun and completed while it was in flight: its own is one of
/// them, and if another one took longer, the device had such requests at that time.
fn parts(outlier: &Outlier, requests: &[BlockRequest]) -> StallParts {
    let waiting = outlier.issued.saturating_sub(outlier.intended);
    let service = outlier.completed.saturating_sub(outlier.issued);
    let first = requests.partition_point(|request| request.inserted.0 + SLACK.0 < outlier.issued.0);
    let begun = requests[first..].iter().take_while(|request| request.inserted <= outlier.completed);
    let own = begun
        .filter(|request| request.completed.0 <= outlier.completed.0 + SLACK.0)
        .filter(|request| serves(request.class, outlier.kind.class()))
        .max_by_key(|request| request.completed.saturating_sub(request.inserted));
    let (scheduler, device) = own.map_or((Nanos(0), Nanos(0)), |own| (own.in_scheduler(), own.in_device()));
    // The slack may exceed the operation by a little.
    let device = device.min(service);
    let scheduler = scheduler.min(service.saturating_sub(device));
    let elsewhere = service.saturating_sub(device).saturating_sub(scheduler);
    StallParts { waiting, scheduler, device, elsewhere }
}

/// Whether an operation of this class may wait for such a request.
fn serves(request: BlockClass, operation: OpClass) -> bool {
    match operation {
        OpClass::Read => request == BlockClass::Read,
        // Writes through the page cache and syncs wait for write-back, too; trims are writes.
        _ => request != BlockClass::Read,
    }
}
