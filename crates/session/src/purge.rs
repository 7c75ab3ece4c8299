//! Purges by a command of the device, as the tests of SNIA's specification ask for between phases.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, bail};
use iolite_engine::Control;
use iolite_model::{Bytes, Concluded, Nanos, PtsPurge, PtsPurged};
use iolite_suites::{Pts, PtsPreparation};
use iolite_sys::{device, nvme, trim};

use crate::drive::Environment;
use crate::session::Session;

/// Bytes that are discarded at a time, after which it is checked whether the user wants to stop.
const CHUNK: u64 = 1 << 30;

/// Purges the target of the specification's tests.
#[derive(Debug)]
pub struct DevicePurge<'c> {
    target: PathBuf,
    span: Bytes,
    control: &'c Control,
}

impl<'c> DevicePurge<'c> {
    /// Purges this target, by discards its first `span` bytes.
    pub fn new(target: &Path, span: Bytes, control: &'c Control) -> DevicePurge<'c> {
        DevicePurge { target: target.to_owned(), span, control }
    }

    fn purge(&self, session: &mut Session<'_>, purge: PtsPurge) -> anyhow::Result<()> {
        let file = session.scratch().open_to_overwrite(&self.target)?;
        let whole = device::device_number(&file)?.is_some_and(|number| !device::is_partition(number));
        if !whole && purge != PtsPurge::SecureDiscard {
            bail!("{} is not a whole drive: only drives have this command", self.target.display());
        }
        let interrupted = || self.control.interrupted();
        match purge {
            PtsPurge::Format => nvme::purge::format(&file)?,
            PtsPurge::Sanitize => nvme::purge::sanitize(&file, &interrupted)?,
            PtsPurge::SecureDiscard | PtsPurge::Discard => {
                let mut offset = 0;
                while offset < self.span.0 && !interrupted() {
                    let length = CHUNK.min(self.span.0 - offset);
                    trim::secure_discard(&file, offset, length)?;
                    offset += length;
                }
                if offset < self.span.0 {
                    bail!("interrupted");
                }
            }
        }
        Ok(())
    }
}

impl Environment<Pts> for DevicePurge<'_> {
    fn prepare(
        &mut self,
        session: &mut Session<'_>,
        _: &mut Pts,
        preparation: PtsPreparation,
    ) -> anyhow::Result<()> {
        let PtsPreparation { section, purge } = preparation;
        let start = Instant::now();
        self.purge(session, purge).with_context(|| {
            format!(
                "cannot purge {} by {}; specify another --purge, or `none` and erase it with its own command before",
                self.target.display(),
                purge.name()
            )
        })?;
        let took = Nanos(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX));
        session.conclude(Concluded::of(&PtsPurged { section: section.name(), purge, took }));
        Ok(())
    }
}
