//! Two kinds of operations, each with a rate of its own.

use iolite_model::{Arrival, FileTask, Iops, KindRates, Mix, Pace};

use super::{Arrivals, check_pace};
use crate::error::WorkloadError;
use crate::planned::IoKind;

/// The arrivals of two kinds of operations of one worker.
#[derive(Debug, Clone)]
pub struct ByKind {
    /// Those that have a rate.
    paced: Vec<(IoKind, Arrivals)>,
    /// The kind that goes in a closed loop while nothing else is due.
    free: Option<IoKind>,
    /// Which of `paced` is next; otherwise the free kind.
    chosen: Option<usize>,
}

/// The kinds of a mix that chance would choose from.
fn kinds(mix: Mix) -> Option<[IoKind; 2]> {
    match mix {
        Mix::ReadPercent(_) => Some([IoKind::Read, IoKind::Write]),
        Mix::TrimPercent(_) => Some([IoKind::Trim, IoKind::Write]),
        Mix::Read
        | Mix::Write
        | Mix::Trim
        | Mix::ReadTrimPercent { .. }
        | Mix::TrimThenWrite
        | Mix::ReadThenWrite(_)
        | Mix::Traced(_) => None,
    }
}

fn pace(rates: KindRates, kind: IoKind) -> Option<Pace> {
    match kind {
        IoKind::Read => rates.reads,
        IoKind::Write => rates.writes,
        IoKind::Trim => rates.trims,
        IoKind::Sync(_) => None,
    }
}

/// Checks rates by kind.
pub(super) fn check(rates: KindRates, mix: Mix) -> Result<(), WorkloadError> {
    [rates.reads, rates.writes, rates.trims].into_iter().flatten().try_for_each(check_pace)?;
    let rated = kinds(mix).map(|kinds| kinds.map(|kind| pace(rates, kind)));
    WorkloadError::unless(
        rated.is_some_and(|rated| rated.iter().any(Option::is_some)),
        || "there are rates by kind, and none that says when".to_owned(),
        "they are for a mix of two kinds in any order, of which at least one has a rate",
        "use reads and writes, or trims and writes, and set a rate for one of the two; or use one rate for all",
    )
}

impl ByKind {
    /// The arrivals of a worker of the task.
    pub(super) fn new(rates: KindRates, task: &FileTask, worker: u32) -> ByKind {
        let [reads, writes, trims] = task.mean_sizes();
        let arrivals = |kind: IoKind| {
            let (size, seed) = match kind {
                IoKind::Read => (reads, 0),
                IoKind::Write => (writes, 1),
                IoKind::Trim | IoKind::Sync(_) => (trims, 2),
            };
            let arrival = match (pace(rates, kind)?, rates.poisson) {
                (Pace::Operations(Iops(rate)), true) => Arrival::Poisson(Iops(rate)),
                (Pace::Operations(rate), false) => Arrival::Constant(rate),
                (Pace::Bytes(rate), true) => Arrival::PoissonBytes(rate),
                (Pace::Bytes(rate), false) => Arrival::ConstantBytes(rate),
            };
            // Instants of one kind say nothing of those of the other.
            let seed = task.seed.wrapping_add(u64::wrapping_mul(seed, 0xa076_1d64_78bd_642f));
            Some((kind, Arrivals::of(arrival, size, task, worker, seed)))
        };
        let kinds = kinds(task.mix).unwrap_or([IoKind::Read, IoKind::Write]);
        let paced = kinds.into_iter().filter_map(arrivals).collect();
        let free = kinds.into_iter().find(|kind| pace(rates, *kind).is_none());
        ByKind { paced, free, chosen: None }
    }

    pub(super) fn choose(&mut self, now: u64) {
        let due =
            self.paced.iter().enumerate().filter_map(|(at, (_, arrivals))| Some((arrivals.next()?, at)));
        let first = due.min().filter(|(due, _)| *due <= now || self.free.is_none());
        self.chosen = first.map(|(_, at)| at);
    }

    pub(super) fn kind(&self) -> Option<IoKind> {
        self.chosen.map_or(self.free, |at| Some(self.paced[at].0))
    }

    pub(super) fn next(&self) -> Option<u64> {
        self.paced[self.chosen?].1.next()
    }

    pub(super) fn advance(&mut self, length: u32) {
        if let Some(at) = self.chosen {
            self.paced[at].1.advance(length);
        }
    }

    pub(super) fn backlog(&mut self, until: u64) -> u64 {
        self.paced.iter_mut().map(|(_, arrivals)| arrivals.backlog(until)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolite_model::{Bandwidth, Bytes, SizeLaw, Sizes};

    fn operations(rate: f64) -> Option<Pace> {
        Some(Pace::Operations(Iops(rate)))
    }

    fn arrivals(rates: KindRates, mix: Mix) -> Arrivals {
        let fixed = |size| SizeLaw::Fixed(Bytes(size));
        let sizes = Some(Sizes {
            reads: fixed(8192),
            writes: fixed(4096),
            trims: fixed(4096),
            alignment: Bytes(4096),
        });
        Arrivals::new(&FileTask { arrival: Arrival::ByKind(rates), mix, sizes, ..FileTask::default() }, 0)
    }

    /// What comes within a second, where every operation is issued when it is due and takes `takes` where it is not.
    fn within_a_second(rates: KindRates, mix: Mix, takes: u64) -> Vec<(u64, IoKind)> {
        let mut arrivals = arrivals(rates, mix);
        let (mut now, mut all) = (0, Vec::new());
        while now < 1_000_000_000 {
            arrivals.choose(now);
            match arrivals.next() {
                Some(due) if due > now => {
                    now = due;
                    continue;
                }
                Some(due) => all.push((due, arrivals.kind().unwrap())),
                None => {
                    all.push((now, arrivals.kind().unwrap()));
                    now += takes;
                }
            }
            arrivals.advance(if arrivals.kind() == Some(IoKind::Read) { 8192 } else { 4096 });
        }
        all
    }

    fn count(all: &[(u64, IoKind)], kind: IoKind) -> usize {
        all.iter().filter(|(_, of)| *of == kind).count()
    }

    #[test]
    fn each_kind_keeps_its_rate_and_the_mix_follows() {
        let rates = KindRates { reads: operations(300.0), writes: operations(7.0), ..KindRates::default() };
        let all = within_a_second(rates, Mix::ReadPercent(50), 0);
        assert_eq!((count(&all, IoKind::Read), count(&all, IoKind::Write)), (300, 7));
        assert!(all.is_sorted_by_key(|(due, _)| *due));
        let bytes = |rate: f64| Some(Pace::Bytes(Bandwidth(rate)));
        let rates = KindRates { reads: bytes(819_200.0), writes: bytes(819_200.0), ..KindRates::default() };
        let all = within_a_second(rates, Mix::ReadPercent(1), 0);
        assert_eq!((count(&all, IoKind::Read), count(&all, IoKind::Write)), (100, 200));
        let rates = KindRates { trims: operations(3.0), writes: operations(4.0), ..KindRates::default() };
        let all = within_a_second(rates, Mix::TrimPercent(50), 0);
        assert_eq!((count(&all, IoKind::Trim), count(&all, IoKind::Write)), (3, 4));
        let rates =
            KindRates { poisson: true, reads: operations(2000.0), writes: operations(500.0), trims: None };
        let all = within_a_second(rates, Mix::ReadPercent(50), 0);
        let (reads, writes) = (count(&all, IoKind::Read), count(&all, IoKind::Write));
        assert!((1800..2200).contains(&reads) && (400..600).contains(&writes), "{reads} {writes}");
    }

    #[test]
    fn a_kind_without_a_rate_takes_what_is_left() {
        let rates = KindRates { writes: operations(10.0), ..KindRates::default() };
        let all = within_a_second(rates, Mix::ReadPercent(50), 1_000_000);
        assert_eq!((count(&all, IoKind::Read), count(&all, IoKind::Write)), (1000, 10));
        let due: Vec<u64> = all
            .iter()
            .filter(|(_, kind)| *kind == IoKind::Write)
            .map(|(due, _)| *due / 100_000_000)
            .collect();
        assert_eq!(due, (0..10).collect::<Vec<_>>());
    }

    #[test]
    fn the_backlog_is_that_of_the_kinds_with_a_rate() {
        let rates = KindRates { reads: operations(100.0), writes: operations(10.0), ..KindRates::default() };
        assert_eq!(arrivals(rates, Mix::ReadPercent(50)).backlog(1_000_000_000), 110);
        let rates = KindRates { writes: operations(10.0), ..KindRates::default() };
        assert_eq!(arrivals(rates, Mix::ReadPercent(50)).backlog(1_000_000_000), 10);
    }

    #[test]
    fn rates_are_for_what_is_done() {
        let rates = KindRates { reads: operations(1.0), ..KindRates::default() };
        assert_eq!(check(rates, Mix::ReadPercent(50)), Ok(()));
        assert!(check(rates, Mix::Read).is_err() && check(rates, Mix::TrimPercent(50)).is_err());
        assert!(check(KindRates::default(), Mix::ReadPercent(50)).is_err());
        let nothing = KindRates { writes: operations(0.0), ..rates };
        assert!(check(nothing, Mix::ReadPercent(50)).unwrap_err().to_string().contains("the rate is 0"));
    }

    #[test]
    fn all_is_asked_for_where_all_has_a_rate() {
        let asked = |rates| {
            let (mix, arrival) = (Mix::ReadPercent(50), Arrival::ByKind(rates));
            FileTask { mix, arrival, ..FileTask::default() }.asked_rate()
        };
        let writes = Some(Pace::Bytes(Bandwidth(40_960.0)));
        let both = KindRates { reads: operations(5.0), writes, trims: operations(99.0), poisson: false };
        assert_eq!(asked(both), Some(Iops(15.0)));
        assert_eq!(asked(KindRates { reads: None, ..both }), None);
    }
}
