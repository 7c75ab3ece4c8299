//! Where results go.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use iolite_fio::language::{Invocation, Thread};
use iolite_fio::output::terse::TerseVersion;
use iolite_fio::output::{FioRequest, Format, Results, header, laying_out};

/// What the command line asks of the outputs, and where they go; shared by all that print.
#[derive(Debug, Clone)]
pub(super) struct Outputs {
    asked: FioRequest,
    to: Arc<Mutex<To>>,
}

#[derive(Debug)]
enum To {
    Standard,
    File { file: File, path: PathBuf },
}

impl Outputs {
    /// Opens the output file, if there is one: what was there before is replaced, as in fio, unless it is a block device or a
    /// setting of the kernel.
    ///
    /// # Errors
    /// It may not, or can't be written to.
    pub(super) fn open(
        invocation: &Invocation,
        threads: &[Thread],
        global_settings: Vec<(String, String)>,
    ) -> anyhow::Result<Outputs> {
        let to = match &invocation.output {
            None => To::Standard,
            Some(path) => {
                crate::output::is_for_output(path)?;
                let opened = OpenOptions::new().write(true).create(true).truncate(true).open(path);
                let file =
                    opened.with_context(|| format!("cannot write to the output file {}", path.display()))?;
                To::File { file, path: path.clone() }
            }
        };
        let terse_version = invocation.terse_version.and_then(|version| TerseVersion::of(version.into()));
        let asked = FioRequest {
            version: super::VERSION.into(),
            formats: invocation.formats.0.clone(),
            terse_version: terse_version.unwrap_or_default(),
            header: header(threads, &global_settings, super::VERSION)
                + &laying_out(threads, &global_settings),
            global_settings,
        };
        Ok(Outputs { asked, to: Arc::new(Mutex::new(to)) })
    }

    /// What is to be printed.
    pub(super) fn asked(&self) -> &FioRequest {
        &self.asked
    }

    /// Prints what is about to run, what it overwrites, and what `--debug` asks for: in normal output only.
    ///
    /// # Errors
    /// It can't be written.
    pub(super) fn header(&self, overwritten: &str, debug: Option<&str>) -> anyhow::Result<()> {
        if self.asked.formats.contains(&Format::Normal) {
            self.write(&self.asked.header)?;
            self.write(overwritten)?;
            debug.map_or(Ok(()), |debug| self.write(debug))?;
        }
        Ok(())
    }

    /// Prints results in all formats.
    ///
    /// # Errors
    /// They can't be written.
    pub(super) fn results(&self, results: &Results) -> anyhow::Result<()> {
        self.write(&self.asked.render(results))
    }

    /// Writes text as it is.
    ///
    /// # Errors
    /// It can't be written.
    fn write(&self, text: &str) -> anyhow::Result<()> {
        match &mut *self.to.lock().unwrap_or_else(PoisonError::into_inner) {
            To::Standard => crate::output::print_data(text).context("cannot write to standard output"),
            To::File { file, path } => {
                let written = file.write_all(text.as_bytes());
                written.with_context(|| format!("cannot write to the output file {}", path.display()))
            }
        }
    }
}
