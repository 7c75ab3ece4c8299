//! The drive's write cache during the tests of SNIA's specification.

use iolite_model::{Concluded, PtsTerms, PtsWriteCache, Storage, Warning};
use iolite_observe::{WriteCache, WriteCacheError};
use iolite_results::Run;

use crate::error::Error;
use crate::session::Session;

/// The write cache as the terms ask for it; it is restored at the end.
#[derive(Debug, Default)]
pub struct SwitchedCache {
    setting: Option<(WriteCache, PtsWriteCache)>,
    left_out: Option<Warning>,
}

impl SwitchedCache {
    /// Switches it, where that is asked for. Of a run that is resumed, the state from before it is restored at the end: it may have
    /// been killed before it could do so. Of a file nothing is switched: it would be the cache of all other data, too; of a drive with
    /// other data only what `is_required`.
    ///
    /// # Errors
    /// It cannot be switched, and `is_required`; otherwise a run continues with a warning.
    pub fn switch(
        terms: &PtsTerms,
        storage: &Storage,
        is_device: bool,
        earlier: Option<&Run>,
        is_required: bool,
    ) -> Result<SwitchedCache, WriteCacheError> {
        let Some(on) = terms.write_cache else { return Ok(SwitchedCache::default()) };
        let tried = if is_device {
            switched(on, storage, earlier, is_required)
        } else {
            Err(WriteCacheError::None { device: terms.target.display().to_string() })
        };
        match tried {
            Ok(setting) => Ok(SwitchedCache { setting: Some(setting), left_out: None }),
            Err(error) if is_required => Err(error),
            Err(error) => {
                let (what, why) = ("the write cache of the class".to_owned(), error.to_string());
                Ok(SwitchedCache { setting: None, left_out: Some(Warning::LeftOut { what, why }) })
            }
        }
    }

    /// What was switched, and how to restore it by hand; `None` where it is as it was.
    pub fn notice(&self) -> Option<String> {
        let (cache, found) = self.setting.as_ref().filter(|(_, found)| found.before != found.during)?;
        Some(format!(
            "the write cache of {} is switched {} and restored at the end; if this program is killed (kill -9), restore it with: {}",
            found.device,
            if found.during { "on" } else { "off" },
            cache.command()
        ))
    }

    /// Records what was switched, or why nothing was.
    pub fn record(&mut self, session: &mut Session<'_>) {
        if let Some((_, found)) = &self.setting {
            session.conclude(Concluded::of(found));
        }
        if let Some(warning) = self.left_out.take() {
            session.warn(warning);
        }
    }

    /// Restores it.
    ///
    /// # Errors
    /// That failed; the message has the command to do it by hand.
    pub fn restore(&mut self) -> Result<(), Error> {
        let Some((cache, _)) = &mut self.setting else { return Ok(()) };
        let command = cache.command();
        cache.restore().map_err(|source| Error::WriteCache { command, source })
    }
}

/// The cache of the storage's drive, switched.
fn switched(
    on: bool,
    storage: &Storage,
    earlier: Option<&Run>,
    is_required: bool,
) -> Result<(WriteCache, PtsWriteCache), WriteCacheError> {
    let mut cache = WriteCache::of(storage)?;
    let found = earlier.and_then(|run| unrestored(run, cache.was_on()));
    if let Some(before) = found {
        cache.restore_to(before);
    }
    cache.switch(on, is_required)?;
    let (device, by, before) = (cache.device().to_owned(), cache.by(), cache.was_on());
    Ok((cache, PtsWriteCache { device, by, before, during: on }))
}

/// The state before an earlier run of the same device, which may have another name by now, where that did not restore it: it has no
/// ending, or what it switched to is still there. After any other run, what there is now was set by somebody else since.
fn unrestored(run: &Run, is_on: bool) -> Option<bool> {
    let found = run.concluded::<PtsWriteCache>().next()?;
    (run.ending.is_none() || is_on == found.during).then_some(found.before)
}

#[cfg(test)]
mod tests {
    use iolite_model::{Ending, RunInfo};

    use super::*;

    #[test]
    fn what_was_restored_once_is_not_restored_again() {
        let mut run = Run::new(RunInfo::default());
        let (device, by) = ("sda".to_owned(), "cache_type".to_owned());
        run.conclusions.push(Concluded::of(&PtsWriteCache { device, by, before: true, during: true }));
        // Killed: whatever it is now.
        assert_eq!(unrestored(&run, false), Some(true));
        // It has ended, and somebody has switched it off since.
        run.ending = Some(Ending::Interrupted);
        assert_eq!(unrestored(&run, false), None);
        assert_eq!(unrestored(&run, true), Some(true));
    }
}
