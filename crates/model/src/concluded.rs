//! What a run concludes: recorded as an event, so that whoever reads a run back sees what was printed when it ended.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One conclusion of a run, as plain data.
///
/// Each kind is a type of the crate that draws it ([`Conclusion`]); the store and the events know its name and its JSON
/// only, so that a new kind needs no change of theirs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Concluded {
    /// Name of the kind, for example `knee`.
    pub kind: String,
    /// The phase that it is about; `None` where it is about the run.
    pub phase: Option<u32>,
    /// The conclusion in the kind's own JSON.
    pub value: Value,
}

/// A kind of conclusion.
///
/// Its JSON has to hold all of it: a conclusion read back equals the one that was recorded. For numbers that may not be
/// finite, which JSON can't hold, see [`real`].
pub trait Conclusion: Serialize + DeserializeOwned {
    /// Name of the kind, in kebab-case; what is stored under it is read as this type.
    const KIND: &'static str;
}

/// Declares kinds of conclusions, `"name" => path::of::Type,` for each, where [`Conclusion`] is in scope.
#[macro_export]
macro_rules! conclusions {
    ($($kind:literal => $type:ty,)*) => {
        $(impl Conclusion for $type {
            const KIND: &'static str = $kind;
        })*
    };
}

impl Concluded {
    /// A conclusion about the run.
    pub fn of<C: Conclusion>(conclusion: &C) -> Concluded {
        // A type whose JSON can't be made is a mistake of this program's, and is seen as null.
        let value = serde_json::to_value(conclusion).unwrap_or(Value::Null);
        debug_assert!(!value.is_null(), "a conclusion `{}` has no JSON", C::KIND);
        Concluded { kind: C::KIND.to_owned(), phase: None, value }
    }

    /// A conclusion about a phase.
    pub fn of_phase<C: Conclusion>(phase: u32, conclusion: &C) -> Concluded {
        Concluded { phase: Some(phase), ..Concluded::of(conclusion) }
    }

    /// The conclusion, where it is of kind `C` and written by a version that this one understands.
    pub fn read<C: Conclusion>(&self) -> Option<C> {
        if self.kind == C::KIND { C::deserialize(&self.value).ok() } else { None }
    }
}

/// Numbers that may be infinite or undefined: JSON has no such numbers, so they are the texts `inf`, `-inf` and `nan`.
///
/// For `#[serde(with = "iolite_model::real")]`.
pub mod real {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Real {
        Finite(f64),
        Other(String),
    }

    /// Writes a number.
    ///
    /// # Errors
    /// The serializer's.
    pub fn serialize<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        let real = if number.is_finite() { Real::Finite(*number) } else { Real::Other(number.to_string()) };
        real.serialize(serializer)
    }

    /// Reads a number.
    ///
    /// # Errors
    /// It is neither a number nor one of the texts.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        match Real::deserialize(deserializer)? {
            Real::Finite(number) => Ok(number),
            Real::Other(text) => text.parse().map_err(serde::de::Error::custom),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Found {
        #[serde(with = "real")]
        at: f64,
    }

    impl Conclusion for Found {
        const KIND: &'static str = "found";
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Other {
        at: f64,
    }

    impl Conclusion for Other {
        const KIND: &'static str = "other";
    }

    #[test]
    fn what_is_read_is_what_was_recorded() {
        for at in [0.1 + 0.2, f64::INFINITY, f64::NEG_INFINITY, -0.0, 5e-324, 1.0] {
            let concluded = Concluded::of_phase(3, &Found { at });
            let text = serde_json::to_string(&concluded).unwrap();
            let read: Concluded = serde_json::from_str(&text).unwrap();
            assert_eq!(read, concluded);
            assert_eq!(read.read::<Found>(), Some(Found { at }));
            assert_eq!(read.read::<Other>(), None);
        }
        assert!(Concluded::of(&Found { at: f64::NAN }).read::<Found>().unwrap().at.is_nan());
    }
}
