//! What probes have read in the course of a run, in bounded memory.

use std::collections::BTreeMap;

use iolite_model::Reading;

/// Readings kept of each probe: more than any chart has columns.
pub const READINGS_KEPT: usize = 4096;

/// Readings by probe and subject, each in the order of time.
///
/// Beyond some thousand of a probe every second one is dropped, and so on, so that a day's run takes no more memory than an
/// hour's. All of them are in the store.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Readings(BTreeMap<(String, String), ProbeReadings>);

#[derive(Debug, Clone, PartialEq, Default)]
struct ProbeReadings {
    /// One reading in this many is kept; 0 as long as all are.
    stride: u64,
    seen: u64,
    readings: Vec<Reading>,
}

impl Readings {
    pub(crate) fn add(&mut self, reading: &Reading) {
        let key = (reading.probe.clone().into_owned(), reading.subject.clone());
        self.0.entry(key).or_default().add(reading);
    }

    /// All probes and their subjects (a device's name; empty for the machine), each with its readings in the order of time.
    pub fn series(&self) -> impl Iterator<Item = (&str, &str, &[Reading])> {
        self.0.iter().map(|((probe, subject), kept)| (&**probe, &**subject, &*kept.readings))
    }

    /// The readings of a probe about a subject, in the order of time.
    pub fn of(&self, probe: &str, subject: &str) -> &[Reading] {
        self.0.get(&(probe.to_owned(), subject.to_owned())).map_or(&[], |kept| &kept.readings)
    }
}

impl ProbeReadings {
    fn add(&mut self, reading: &Reading) {
        let stride = self.stride.max(1);
        if self.seen.is_multiple_of(stride) {
            self.readings.push(reading.clone());
        }
        self.seen += 1;
        if self.readings.len() > READINGS_KEPT {
            let mut number = 0;
            self.readings.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.stride = stride * 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolite_model::Nanos;

    fn reading(second: u64) -> Reading {
        Reading {
            probe: "cpu".into(),
            subject: String::new(),
            at: Nanos(second * 1_000_000_000),
            values: Vec::new(),
        }
    }

    #[test]
    fn a_day_is_kept_thinned_out_and_evenly_spaced() {
        let mut readings = Readings::default();
        (0..86_400).for_each(|second| readings.add(&reading(second)));
        let kept = readings.of("cpu", "");
        assert!(kept.len() <= READINGS_KEPT && kept.len() > READINGS_KEPT / 4, "{}", kept.len());
        let gaps: Vec<u64> = kept.windows(2).map(|pair| pair[1].at.0 - pair[0].at.0).collect();
        assert!(gaps.iter().all(|gap| *gap == gaps[0]), "{gaps:?}");
        assert_eq!(readings.of("none", ""), []);
    }

    #[test]
    fn what_is_kept_depends_only_on_how_many_there_are() {
        // As the store thins them out before they are parsed.
        for count in [1, 4096, 4097, 8192, 8193, 12_289, 20_000] {
            let mut readings = Readings::default();
            (0..count).for_each(|second| readings.add(&reading(second)));
            let stride = count.div_ceil(READINGS_KEPT as u64).next_power_of_two();
            let kept: Vec<u64> =
                readings.of("cpu", "").iter().map(|kept| kept.at.0 / 1_000_000_000).collect();
            assert_eq!(kept, (0..count).step_by(stride as usize).collect::<Vec<_>>(), "{count}");
        }
    }
}
