//! Purges by a command of the device, as the tests of SNIA's specification ask for between phases.

use std::path::{Path, PathBuf};
use std::time::Instant;

use iolite_engine::{Control, EngineError};
use iolite_model::{Bytes, Concluded, Nanos, PtsPurge, PtsPurged, Warning};
use iolite_suites::{Pts, PtsPreparation};
use iolite_sys::{device, nvme, trim};

use crate::drive::Environment;
use crate::error::{Error, PurgeError, Result};
use crate::session::Session;

/// Bytes that are discarded at a time, after which it is checked whether the user wants to stop.
const CHUNK: u64 = 1 << 30;

/// Purges the target of the specification's tests.
#[derive(Debug)]
pub struct DevicePurge<'c> {
    target: PathBuf,
    size: Bytes,
    control: &'c Control,
}

impl<'c> DevicePurge<'c> {
    /// Purges this target, by discards its first `size` bytes.
    pub fn new(target: &Path, size: Bytes, control: &'c Control) -> DevicePurge<'c> {
        DevicePurge { target: target.to_owned(), size, control }
    }

    fn purge(&self, session: &mut Session<'_>, purge: PtsPurge) -> Result<(), PurgeError> {
        let file = session.scratch().open_to_overwrite(&self.target)?;
        session.scratch().warning().into_iter().for_each(|warning| session.warn(warning));
        // Once more than before the start: a command that gets to another drive erases that.
        let is_namespace = device::device_number(&file)?.is_some_and(device::is_nvme_namespace);
        if !is_namespace && matches!(purge, PtsPurge::Format | PtsPurge::Sanitize) {
            return Err(PurgeError::NotADrive { target: self.target.clone() });
        }
        let interrupted = || self.control.interrupted();
        match purge {
            PtsPurge::Format => nvme::purge::format(&file)?,
            PtsPurge::Sanitize => nvme::purge::sanitize(&file, &interrupted)?,
            // The blocks are discarded by a phase of trims, for which there is nothing to prepare.
            PtsPurge::Discard => return Err(PurgeError::Discard),
            PtsPurge::SecureDiscard => {
                let mut offset = 0;
                while offset < self.size.0 && !interrupted() {
                    let length = CHUNK.min(self.size.0 - offset);
                    trim::secure_discard(&file, offset, length)?;
                    offset += length;
                }
                if offset < self.size.0 {
                    return Err(EngineError::Interrupted.into());
                }
            }
        }
        Ok(())
    }
}

impl Environment<Pts> for DevicePurge<'_> {
    fn prepare(&mut self, session: &mut Session<'_>, _: &mut Pts, preparation: PtsPreparation) -> Result<()> {
        let PtsPreparation { section, purge } = preparation;
        let start = Instant::now();
        if let Err(error) = self.purge(session, purge) {
            if self.control.interrupted() {
                still_going_on(purge).into_iter().for_each(|warning| session.warn(warning));
            }
            return Err(failure(error, &self.target, purge, self.control.interrupted()));
        }
        let took = Nanos(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX));
        session.conclude(Concluded::of(&PtsPurged { section: section.name(), purge, took }));
        Ok(())
    }
}

/// Why a purge has not completed: the user's interruption is no failure.
fn failure(source: PurgeError, target: &Path, purge: PtsPurge, interrupted: bool) -> Error {
    if interrupted {
        return EngineError::Interrupted.into();
    }
    Error::Purge { target: target.to_owned(), purge, source }
}

/// What the drive does after an interruption.
fn still_going_on(purge: PtsPurge) -> Option<Warning> {
    (purge == PtsPurge::Sanitize).then(|| Warning::LeftOut {
        what: "the wait for the end of the sanitize".to_owned(),
        why: "the run was interrupted; if the sanitize has begun, the drive continues it by itself (`nvme sanitize-log` shows its \
              progress)"
            .to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use iolite_model::Ending;

    use super::*;
    use crate::ending;

    #[test]
    fn an_interrupted_purge_is_no_failure() {
        let flag = Arc::new(AtomicBool::new(false));
        let control = Control::new(flag.clone());
        let ended = || {
            let error = io::Error::from(io::ErrorKind::Interrupted).into();
            let failure = failure(error, Path::new("/dev/x"), PtsPurge::Sanitize, control.interrupted());
            ending(Some(failure), &control)
        };
        let Ending::Failed(reason) = ended() else { panic!("nobody has interrupted it") };
        assert!(reason.contains("cannot purge /dev/x by sanitize; specify another --purge"), "{reason}");
        flag.store(true, Ordering::Relaxed);
        assert_eq!(ended(), Ending::Interrupted);
        let warning = still_going_on(PtsPurge::Sanitize).unwrap().to_string();
        assert!(warning.contains("the drive continues it by itself"), "{warning}");
        assert_eq!(still_going_on(PtsPurge::SecureDiscard), None);
    }
}
