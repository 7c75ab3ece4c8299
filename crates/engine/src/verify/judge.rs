//! Whether a unit that was read is what was written.

use std::sync::Arc;

use iolite_model::{Verified, Verify};
use iolite_workload::{Expected, Seal, Wrong};

use crate::target::Targets;
use crate::verify::dump::Dump;
use crate::verify::written::Known;

/// Decides what is right and what is wrong.
pub(crate) struct Judge {
    pub(crate) seal: Seal,
    /// Units that nobody here has written are somebody else's, rather than unknown.
    pub(crate) anyone: bool,
    /// What the task asks for.
    pub(crate) verify: Arc<Verify>,
    pub(crate) dump: Dump,
    /// Name of the task, for errors.
    pub(crate) task: String,
    /// Headers contain the position of a unit in its file, whichever task reads it.
    pub(crate) targets: Targets,
}

impl Judge {
    /// Compares one unit with what is known of it.
    pub(crate) fn compare(&self, unit: &[u8], offset: u64, known: Known, verified: &mut Verified) {
        let expected = match known {
            Known::Trimmed if !self.verify.trimmed_zeros => {
                verified.unknown += 1;
                return;
            }
            Known::Trimmed => return self.compare_trimmed(unit, offset, verified),
            Known::Write(_) | Known::AtLeast(_) | Known::InFlight(_) | Known::Some if self.verify.only => {
                Expected::Anyone
            }
            Known::Write(number) => Expected::Exactly(number),
            Known::AtLeast(number) | Known::InFlight(number) => Expected::AtLeast(number),
            Known::Some => Expected::Any,
            Known::Never if self.anyone => Expected::Anyone,
            Known::Never | Known::Anything => {
                verified.unknown += 1;
                return;
            }
        };
        let wrong = self.seal.inspect(unit, self.targets.locate(offset).1, expected).err();
        // A write that was in flight when the program ended, or that is later than the state, may be there in part.
        let in_flight = |wrong: &Wrong| match (known, wrong) {
            (Known::InFlight(before), Wrong::Torn { newest, .. }) => *newest > before,
            (Known::InFlight(_), Wrong::FioPayload { .. } | Wrong::FioPattern { .. }) => true,
            (Known::AtLeast(number), Wrong::Torn { newest, .. }) => *newest > number,
            _ => false,
        };
        if wrong.as_ref().is_some_and(in_flight) {
            verified.unknown += 1;
            return;
        }
        verified.units += 1;
        if let Some(wrong) = wrong {
            self.note(unit, offset, &wrong, verified);
        }
    }

    /// Compares a unit that was trimmed.
    fn compare_trimmed(&self, unit: &[u8], offset: u64, verified: &mut Verified) {
        verified.units += 1;
        if let Some(at) = unit.iter().position(|byte| *byte != 0) {
            self.note(unit, offset, &Wrong::NotTrimmed { at: at as u32 }, verified);
        }
    }

    fn note(&self, unit: &[u8], offset: u64, wrong: &Wrong, verified: &mut Verified) {
        let saved = self.verify.dump.then_some(&self.dump).and_then(|dump| {
            let alone = || Some((dump.alone()?, self.targets.locate(offset).1));
            let (path, place) = self.targets.path_of(offset).or_else(alone)?;
            let right = self.seal.contents(place).map(|byte| byte.take(unit.len()).collect::<Vec<u8>>());
            dump.save(path, place, unit, right.as_deref())
        });
        verified.note_damage(offset, wrong.damage(), || {
            let saved = saved.unwrap_or_default();
            self.described(offset, &format!("{wrong}{saved}"))
        });
    }

    /// What is wrong, with the file where there are several.
    pub(crate) fn described(&self, offset: u64, wrong: &str) -> String {
        match self.targets.path_of(offset) {
            Some((path, offset)) => format!("in {} at byte {offset}: {wrong}", path.display()),
            None => wrong.to_owned(),
        }
    }
}
