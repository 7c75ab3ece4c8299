//! How certain the rates of TPROC-C are that the database's counters give.

use iolite_model::{OpKind, TprocCCounted};
use serde::{Deserialize, Serialize};

use crate::estimate::{Direction, Estimate};
use crate::series::Point;
use crate::totals::PhaseTotals;

/// The kind of operation that NOPM is about.
const NEW_ORDER: &str = "new-order";

/// NOPM and TPM of a phase with their 95 % intervals: concluded at its end, and read by all who print or judge them.
///
/// The values are those of the counters ([`TprocCCounted`]), which are read only at the start and the end of the measured part.
/// How much a rate varies is therefore taken from the intervals of the transactions that users completed
/// ([`Estimate::rate`], as for every other rate): the same share of the value. The intervals cover the variation within the phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TprocCRates {
    /// New-Orders per minute.
    pub nopm: Estimate,
    /// Commits and rollbacks per minute; `None` where the server counts none.
    pub tpm: Option<Estimate>,
}

impl TprocCRates {
    /// Of the totals of a phase that has ended, and what was counted in it.
    pub fn of(totals: &PhaseTotals, counted: &TprocCCounted) -> TprocCRates {
        let series = &totals.series;
        let new_order = OpKind::named(NEW_ORDER);
        let new_orders = |point: &Point| new_order.map_or(0, |kind| point.operations[kind]);
        let all = |point: &Point| OpKind::all().map(|kind| point.operations[kind]).sum();
        TprocCRates {
            nopm: varying_as(series, new_orders, counted.nopm()),
            tpm: counted.tpm().map(|tpm| varying_as(series, all, tpm)),
        }
    }
}

/// A rate of this value that varies as the operations of a series do.
fn varying_as(series: &[Point], operations: impl Fn(&Point) -> u64, value: f64) -> Estimate {
    let counts: Vec<_> = series.iter().map(|point| (point.seconds, operations(point) as f64)).collect();
    let rate = Estimate::rate(&counts, Direction::HigherIsBetter);
    if rate.value > 0.0 {
        // Exactly the counters' value, whatever the multiplication rounds to.
        Estimate { value, ..rate.scaled(value / rate.value) }
    } else {
        Estimate::unknown(value, Direction::HigherIsBetter)
    }
}

#[cfg(test)]
mod tests {
    use iolite_model::{Concluded, Nanos, OpClass, TprocCCounts};

    use super::*;

    fn counts(seconds: u64, orders: u64, transactions: Option<u64>) -> TprocCCounts {
        TprocCCounts { at: Nanos(seconds * Nanos::SECOND.0), orders, transactions }
    }

    fn counted(orders: u64, transactions: Option<u64>) -> TprocCCounted {
        TprocCCounted {
            before: counts(0, 0, transactions.map(|_| 0)),
            start: counts(0, 0, transactions.map(|_| 0)),
            end: counts(60, orders, transactions),
            after: counts(60, orders, transactions),
            new_orders: orders,
            committed: orders,
            rolled_back: 0,
            deadlocks: 0,
            lock_timeouts: 0,
            skipped_deliveries: 0,
        }
    }

    /// Of a phase whose seconds have these (New-Orders, Payments).
    fn totals(seconds: impl IntoIterator<Item = (u64, u64)>) -> PhaseTotals {
        let [new_order, payment] =
            [NEW_ORDER, "payment"].map(|name| OpKind::of(name, OpClass::Write, false).unwrap());
        let mut totals = PhaseTotals::default();
        for (orders, payments) in seconds {
            let mut point = Point::idle(Nanos::SECOND.0);
            (point.operations[new_order], point.operations[payment]) = (orders, payments);
            totals.series.push(point);
        }
        totals
    }

    #[test]
    fn the_value_is_the_counters_and_the_spread_is_that_of_the_intervals() {
        // New-Orders alternate, and so do Payments the other way round: all together are steady.
        let totals = totals((0..60).map(|second| if second % 2 == 0 { (8, 12) } else { (12, 8) }));
        let rates = TprocCRates::of(&totals, &counted(630, Some(1200)));
        assert_eq!((rates.nopm.value, rates.tpm.unwrap().value), (630.0, 1200.0));
        let own: Vec<_> = (0..60).map(|second| (1.0, if second % 2 == 0 { 8.0 } else { 12.0 })).collect();
        let own = Estimate::rate(&own, Direction::HigherIsBetter);
        assert!((rates.nopm.relative_half_width() - own.relative_half_width()).abs() < 1e-12);
        assert!(rates.nopm.low < 630.0 && rates.nopm.high > 630.0, "{:?}", rates.nopm);
        assert_eq!(rates.tpm.map(|tpm| (tpm.low, tpm.high)), Some((1200.0, 1200.0)));
        let concluded = Concluded::of_phase(3, &rates);
        assert_eq!(concluded.read::<TprocCRates>(), Some(rates));
    }

    #[test]
    fn nothing_is_known_of_a_rate_whose_transactions_were_not_seen() {
        for totals in [totals([]), totals([(0, 0), (0, 0)])] {
            let rates = TprocCRates::of(&totals, &counted(5, None));
            assert_eq!((rates.nopm.value, rates.nopm.high, rates.tpm), (5.0, f64::INFINITY, None));
            assert_eq!(Concluded::of_phase(0, &rates).read::<TprocCRates>(), Some(rates));
        }
    }
}
