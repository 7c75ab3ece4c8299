//! The drive's write cache during the tests.

use iolite_model::{Concluded, PtsTerms, PtsWriteCache, Storage, Warning};
use iolite_observe::{WriteCache, WriteCacheError};
use iolite_results::Run;
use iolite_session::Session;

use super::args::PtsArgs;
use crate::exit::UsageError;
use crate::output;

/// The write cache as the terms ask for it; it is restored at the end.
pub(super) struct SwitchedCache {
    setting: Option<(WriteCache, PtsWriteCache)>,
    left_out: Option<Warning>,
}

impl SwitchedCache {
    /// Switches it, where that is asked for. Of a run that is resumed, the state from before it is restored at the end: it may have
    /// been killed before it could do so.
    ///
    /// # Errors
    /// It cannot be switched, and was asked for by itself and not by a class.
    pub(super) fn switch(
        terms: &PtsTerms,
        storage: &Storage,
        is_device: bool,
        earlier: Option<&Run>,
        args: &PtsArgs,
    ) -> Result<SwitchedCache, UsageError> {
        let Some(on) = terms.write_cache else { return Ok(SwitchedCache { setting: None, left_out: None }) };
        // Of a file it would be the cache of all others' data, too.
        let tried = if is_device {
            switched(on, storage, earlier)
        } else {
            Err(WriteCacheError::None { device: terms.target.display().to_string() })
        };
        match tried {
            Ok((cache, found)) => {
                if !args.output.view.quiet && found.before != found.during {
                    output::note(&format!(
                        "the write cache of {} is switched {} and restored at the end; if this program is killed (kill -9), restore it \
                         with: {}",
                        found.device,
                        if on { "on" } else { "off" },
                        cache.command()
                    ));
                }
                Ok(SwitchedCache { setting: Some((cache, found)), left_out: None })
            }
            Err(error) if args.write_cache.is_some() => {
                Err(UsageError::new(format!("--write-cache: {error}; or omit --write-cache")))
            }
            Err(error) => {
                let (what, why) = ("the write cache of the class".to_owned(), error.to_string());
                Ok(SwitchedCache { setting: None, left_out: Some(Warning::LeftOut { what, why }) })
            }
        }
    }

    /// Records what was switched, or why nothing was.
    pub(super) fn record(&mut self, session: &mut Session<'_>) {
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
    pub(super) fn restore(&mut self) -> anyhow::Result<()> {
        let Some((cache, _)) = &mut self.setting else { return Ok(()) };
        let command = cache.command();
        cache.restore().map_err(|error| anyhow::anyhow!("{error}; restore it manually: {command}"))
    }
}

/// The cache of the storage's drive, switched.
fn switched(
    on: bool,
    storage: &Storage,
    earlier: Option<&Run>,
) -> Result<(WriteCache, PtsWriteCache), WriteCacheError> {
    let mut cache = WriteCache::of(storage)?;
    let is_on = cache.was_on();
    let found = earlier.and_then(|run| run.concluded::<PtsWriteCache>().next());
    if let Some(found) = found.filter(|found| found.device == cache.device()) {
        cache.restore_to(found.before);
    }
    if is_on != on {
        cache.switch(on)?;
    }
    let (device, by, before) = (cache.device().to_owned(), cache.by(), cache.was_on());
    Ok((cache, PtsWriteCache { device, by, before, during: on }))
}
