//! What a run will write, as computed before it begins.

use serde::{Deserialize, Serialize};

use crate::units::{Bytes, Nanos};

/// What a run will write, and for how long it runs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WritePlan {
    /// Bytes of the phases whose amount is known, what lays files out included.
    pub bytes: Bytes,
    /// Time of the phases that write as fast as the storage takes it: their amount is not known beforehand.
    pub timed: Nanos,
    /// Time of all phases that end by time.
    pub duration: Nanos,
    /// Bytes that the run's files take.
    pub space: Bytes,
    /// Bytes that may be written at most, where that was asked for.
    pub max: Option<Bytes>,
    /// The drives beneath that report their wear.
    pub drives: Vec<DriveWear>,
}

/// What a drive reports of its wear (SMART).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriveWear {
    /// Kernel name, for example `nvme0n1`.
    pub device: String,
    /// The vendor's estimate of the endurance that is used up, in percent; may be above 100.
    pub used_percent: u8,
    /// Bytes that hosts have written in its life.
    pub written: Bytes,
}

impl WritePlan {
    /// Bytes a second that are assumed of a device whose own throughput is not known yet.
    pub const ASSUMED: Bytes = Bytes(500 << 20);

    /// Bytes at most: what is known, and the time at the assumed throughput, within what is allowed.
    pub fn max_bytes(&self) -> Bytes {
        let timed = (self.timed.as_secs_f64() * Self::ASSUMED.0 as f64) as u64;
        let max = self.bytes.0.saturating_add(timed);
        Bytes(self.max.map_or(max, |allowed| max.min(allowed.0)))
    }

    /// The plan of this, then of another.
    pub fn then(self, other: WritePlan) -> WritePlan {
        WritePlan {
            bytes: Bytes(self.bytes.0.saturating_add(other.bytes.0)),
            timed: Nanos(self.timed.0.saturating_add(other.timed.0)),
            duration: Nanos(self.duration.0.saturating_add(other.duration.0)),
            space: Bytes(self.space.0.saturating_add(other.space.0)),
            ..self
        }
    }

    /// The plan of this beside another: both write, in the time of the longer one.
    pub fn beside(self, other: WritePlan) -> WritePlan {
        let (timed, duration) = (self.timed.max(other.timed), self.duration.max(other.duration));
        WritePlan { timed, duration, ..self.then(other) }
    }
}

impl DriveWear {
    /// Bytes that the drive is rated for, from what it has written for what it reports as used up; at least, where it reports
    /// nothing as used up yet. `None` where it has written nothing.
    pub fn rated(&self) -> Option<Bytes> {
        (self.written.0 > 0)
            .then(|| Bytes((self.written.0 as f64 * 100.0 / f64::from(self.used_percent.max(1))) as u64))
    }

    /// The share of the rated endurance that these bytes take, in percent; at most, where the drive reports nothing as used up.
    pub fn share(&self, bytes: Bytes) -> Option<f64> {
        self.rated().map(|rated| 100.0 * bytes.0 as f64 / rated.0 as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_the_endurance_follows_from_what_was_used_for_what_was_written() {
        const TB: u64 = 1_000_000_000_000;
        let wear = |used_percent, written| DriveWear {
            device: "nvme0n1".into(),
            used_percent,
            written: Bytes(written),
        };
        assert_eq!(wear(5, 30 * TB).rated(), Some(Bytes(600 * TB)));
        assert_eq!(wear(5, 30 * TB).share(Bytes(6 * TB)), Some(1.0));
        assert_eq!(wear(0, TB).rated(), Some(Bytes(100 * TB)), "less than 1 % is used up");
        assert_eq!(wear(0, 0).share(Bytes(TB)), None);
    }

    #[test]
    fn plans_add_up_and_stay_below_what_is_allowed() {
        let second = Nanos::SECOND;
        let plan =
            |bytes, timed| WritePlan { bytes: Bytes(bytes), timed, duration: timed, ..WritePlan::default() };
        let both = plan(10, second).then(plan(5, second));
        assert_eq!((both.bytes, both.timed), (Bytes(15), Nanos(2 * second.0)));
        assert_eq!(both.max_bytes(), Bytes(15 + 2 * WritePlan::ASSUMED.0));
        let beside = plan(10, second).beside(plan(5, Nanos(3)));
        assert_eq!((beside.bytes, beside.timed, beside.duration), (Bytes(15), second, second));
        assert_eq!(WritePlan { max: Some(Bytes(7)), ..both }.max_bytes(), Bytes(7));
    }
}
