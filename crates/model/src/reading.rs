//! What was read beside a measurement: counters and gauges of the machine, its devices and its databases.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::units::Nanos;

/// The values that one probe read at one instant of one thing that it watches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// Name of the probe, for example `device`, `cpu`, `memory`.
    pub probe: Cow<'static, str>,
    /// What the values are of, for example `vda` for the probe `device`; empty where they are of the whole host.
    pub subject: String,
    /// When, since the run's start on the monotonic clock.
    pub at: Nanos,
    /// The values, in the probe's order.
    pub values: Vec<ReadingValue>,
}

/// One value of a [`Reading`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReadingValue {
    /// What it is, its unit last, for example `read_bytes`, `user_seconds`. A name without a unit is a count.
    pub name: Cow<'static, str>,
    /// Whether it counts up or goes up and down.
    pub kind: ReadingKind,
    /// The value. Counters are exact up to 2^53.
    pub value: f64,
}

/// What the difference of two readings of a value means.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, strum::IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum ReadingKind {
    /// It only grows, from an arbitrary start: the difference over the time between is a rate.
    Counter,
    /// It is a state at that instant.
    Gauge,
}

impl ReadingKind {
    /// As stored and printed: `counter`, `gauge`.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl ReadingValue {
    /// A counter.
    pub fn counter(name: impl Into<Cow<'static, str>>, value: f64) -> ReadingValue {
        ReadingValue { name: name.into(), kind: ReadingKind::Counter, value }
    }

    /// A gauge.
    pub fn gauge(name: impl Into<Cow<'static, str>>, value: f64) -> ReadingValue {
        ReadingValue { name: name.into(), kind: ReadingKind::Gauge, value }
    }
}

impl Reading {
    /// The value of that name.
    pub fn value(&self, name: &str) -> Option<f64> {
        self.values.iter().find(|value| value.name == name).map(|value| value.value)
    }

    /// What a counter grew by since an earlier reading of the same thing; `None` where either lacks it, or where it went
    /// back, as when the thing that counts was started anew.
    pub fn growth(&self, earlier: &Reading, name: &str) -> Option<f64> {
        let grown = self.value(name)? - earlier.value(name)?;
        (grown >= 0.0).then_some(grown)
    }

    /// What a counter that begins at zero, and begins there again whenever it goes back, has counted over all of these readings of
    /// the same thing; 0 where none has it.
    pub fn counted(readings: &[Reading], name: &str) -> f64 {
        let values = readings.iter().filter_map(|reading| reading.value(name));
        let step = |(sum, before): (f64, f64), value| {
            (sum + if value < before { value } else { value - before }, value)
        };
        values.fold((0.0, 0.0), step).0
    }

    /// [Growth](Reading::growth) per second; `None` too where no time has passed.
    pub fn rate(&self, earlier: &Reading, name: &str) -> Option<f64> {
        let seconds = self.at.0.checked_sub(earlier.at.0).filter(|&passed| passed > 0)? as f64 / 1e9;
        Some(self.growth(earlier, name)? / seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(at: u64, bytes: f64) -> Reading {
        Reading {
            probe: "device".into(),
            subject: "vda".into(),
            at: Nanos(at),
            values: vec![ReadingValue::counter("read_bytes", bytes), ReadingValue::gauge("in_flight", 3.0)],
        }
    }

    #[test]
    fn rates_are_of_the_time_between() {
        let (first, second) = (reading(1_000_000_000, 100.0), reading(3_000_000_000, 500.0));
        assert_eq!(second.rate(&first, "read_bytes"), Some(200.0));
        assert_eq!(first.growth(&second, "read_bytes"), None);
        assert_eq!(first.rate(&first, "read_bytes"), None);
        assert_eq!(second.rate(&first, "written_bytes"), None);
    }

    #[test]
    fn a_counter_that_begins_again_is_counted_on() {
        let readings: Vec<Reading> =
            [0.0, 2.0, 5.0, 0.0, 3.0, 3.0, 1.0].iter().map(|bytes| reading(0, *bytes)).collect();
        assert_eq!(Reading::counted(&readings, "read_bytes"), 5.0 + 3.0 + 1.0);
        assert_eq!(Reading::counted(&readings, "written_bytes"), 0.0);
    }

    #[test]
    fn json_holds_all_of_it() {
        let reading = reading(7, 1.5);
        let text = serde_json::to_string(&reading).unwrap();
        assert_eq!(serde_json::from_str::<Reading>(&text).unwrap(), reading);
    }
}
