//! The start of a phase that is excluded from its totals.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, IntoDeserializer};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::units::{Bytes, Nanos};

/// The start of a phase that is recorded separately and excluded from its totals: as long as a time, or until an amount of I/O is
/// done. In TOML and JSON a time is written as such, and an amount as `{ bytes = "1 GiB" }`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ramp {
    /// This time.
    Time(Nanos),
    /// The time in which all workers together read, write and trim this number of bytes. The operation that completes the amount
    /// is part of it.
    Amount(Bytes),
}

impl Ramp {
    /// Everything is measured.
    pub const NONE: Ramp = Ramp::Time(Nanos(0));

    /// Whether everything is measured.
    pub fn is_none(self) -> bool {
        matches!(self, Ramp::Time(Nanos(0)) | Ramp::Amount(Bytes(0)))
    }

    /// Its length as far as it is known before the phase: zero where an amount ends it.
    pub const fn known_time(self) -> Nanos {
        match self {
            Ramp::Time(time) => time,
            Ramp::Amount(_) => Nanos(0),
        }
    }
}

impl Default for Ramp {
    fn default() -> Ramp {
        Ramp::NONE
    }
}

impl From<Nanos> for Ramp {
    fn from(time: Nanos) -> Ramp {
        Ramp::Time(time)
    }
}

impl fmt::Display for Ramp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ramp::Time(time) => write!(f, "{time}"),
            Ramp::Amount(bytes) => write!(f, "{bytes}"),
        }
    }
}

/// How an amount is written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Amount {
    bytes: Bytes,
}

impl Serialize for Ramp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Ramp::Time(time) => time.serialize(serializer),
            Ramp::Amount(bytes) => Amount { bytes }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Ramp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Ramp, D::Error> {
        deserializer.deserialize_any(Written)
    }
}

/// Reads either form, so that an error is about the one that was meant.
struct Written;

impl<'de> de::Visitor<'de> for Written {
    type Value = Ramp;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time, or `{ bytes = SIZE }`")
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Ramp, E> {
        Ok(Ramp::Time(Nanos(number)))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Ramp, E> {
        Nanos::deserialize(number.into_deserializer()).map(Ramp::Time)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Ramp, E> {
        Nanos::deserialize(text.into_deserializer()).map(Ramp::Time)
    }

    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Ramp, A::Error> {
        Amount::deserialize(MapAccessDeserializer::new(map)).map(|Amount { bytes }| Ramp::Amount(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_as_before_and_an_amount_by_its_name() {
        for (ramp, json) in [
            (Ramp::Time(Nanos::SECOND), "1000000000"),
            (Ramp::NONE, "0"),
            (Ramp::Amount(Bytes(4096)), r#"{"bytes":4096}"#),
        ] {
            assert_eq!(serde_json::to_string(&ramp).unwrap(), json);
            assert_eq!(serde_json::from_str::<Ramp>(json).unwrap(), ramp);
        }
        assert_eq!(serde_json::from_str::<Ramp>(r#""2 s""#).unwrap(), Ramp::Time(Nanos(2 * Nanos::SECOND.0)));
        let amount = serde_json::from_str::<Ramp>(r#"{"bytes":"1 MiB"}"#).unwrap();
        assert_eq!((amount, amount.known_time()), (Ramp::Amount(Bytes::MIB), Nanos(0)));
        let refused = |json| serde_json::from_str::<Ramp>(json).unwrap_err().to_string();
        assert!(refused(r#"{"size":1}"#).contains("unknown field `size`"));
        assert!(refused(r#""5""#).contains("unit"), "{}", refused(r#""5""#));
        assert!(refused("true").contains("a time, or `{ bytes = SIZE }`"));
    }
}
