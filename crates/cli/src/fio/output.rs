//! Where results go, and in which formats.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use iolite_fio::language::command_line::OutputFormat;
use iolite_fio::language::{Invocation, Thread};
use iolite_fio::output::terse::TerseVersion;
use iolite_fio::output::{self, Format, Results, header};

/// Digits of numbers in the text for people.
const SIGNIFICANT: u32 = 4;

/// The outputs that were asked for, shared by whoever has something to tell.
#[derive(Debug, Clone)]
pub(super) struct Outputs {
    formats: Vec<Format>,
    terse_version: TerseVersion,
    to: Arc<Mutex<To>>,
}

#[derive(Debug)]
enum To {
    Standard,
    File { file: File, path: PathBuf },
}

impl Outputs {
    /// Opens the output file, if there is one: what was there before is replaced, as in fio.
    ///
    /// # Errors
    /// It can't be written to.
    pub(super) fn open(invocation: &Invocation) -> anyhow::Result<Outputs> {
        let to = match &invocation.output {
            None => To::Standard,
            Some(path) => {
                let opened = OpenOptions::new().write(true).create(true).truncate(true).open(path);
                let file =
                    opened.with_context(|| format!("cannot write to the output file {}", path.display()))?;
                To::File { file, path: path.clone() }
            }
        };
        let terse_version = invocation.terse_version.and_then(|version| TerseVersion::of(version.into()));
        let format = |format: &OutputFormat| match format {
            OutputFormat::Normal => Format::Normal,
            OutputFormat::Terse => Format::Terse,
            OutputFormat::Json => Format::Json,
            OutputFormat::JsonPlus => Format::JsonPlus,
        };
        let (formats, terse_version) =
            (invocation.formats.0.iter().map(format).collect(), terse_version.unwrap_or_default());
        Ok(Outputs { formats, terse_version, to: Arc::new(Mutex::new(to)) })
    }

    /// The formats.
    pub(super) fn formats(&self) -> &[Format] {
        &self.formats
    }

    /// Tells what is about to run, and what `--debug` asks for; only people want to know.
    ///
    /// # Errors
    /// It can't be written.
    pub(super) fn header(
        &self,
        threads: &[Thread],
        global_settings: &[(String, String)],
        debug: Option<&str>,
    ) -> anyhow::Result<()> {
        if self.formats.contains(&Format::Normal) {
            self.write(&header::header(threads, global_settings, super::VERSION))?;
            debug.map_or(Ok(()), |debug| self.write(debug))?;
        }
        Ok(())
    }

    /// Tells results in all formats.
    ///
    /// # Errors
    /// They can't be written.
    pub(super) fn results(&self, results: &Results) -> anyhow::Result<()> {
        self.write(&output::output(results, &self.formats, self.terse_version, SIGNIFICANT))
    }

    /// Writes text as it is.
    ///
    /// # Errors
    /// It can't be written.
    fn write(&self, text: &str) -> anyhow::Result<()> {
        match &mut *self.to.lock().unwrap_or_else(PoisonError::into_inner) {
            To::Standard => crate::output::print(text).context("cannot write to standard output"),
            To::File { file, path } => {
                let written = file.write_all(text.as_bytes());
                written.with_context(|| format!("cannot write to the output file {}", path.display()))
            }
        }
    }
}
