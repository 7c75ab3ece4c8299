//! Built-in tests (`--profile`): jobs with options of their own.

use super::error::{OptionError, Result, quoted};
use super::job_file::{HostContext, Section, Setting};
use super::problem::{Origin, Problem};
use super::value::OptionValue;

/// An option of a built-in test.
#[derive(Debug)]
pub(super) struct ProfileOption {
    /// Its name.
    pub(super) name: &'static str,
    /// Its default, as it is described.
    default: &'static str,
    /// What it does.
    help: &'static str,
}

/// The options of tiobench.
const TIOBENCH: &[ProfileOption] = &[
    ProfileOption { name: "size", default: "", help: "Size of the files in MiB" },
    ProfileOption { name: "block", default: "4096", help: "Block size in bytes" },
    ProfileOption { name: "numruns", default: "1", help: "Number of runs" },
    ProfileOption { name: "dir", default: "./", help: "Directory of the files" },
    ProfileOption { name: "threads", default: "1", help: "Number of threads" },
];

/// The files of tiobench: those of fio.
const FILES: &str = ".fio.tio.1:.fio.tio.2:.fio.tio.3:.fio.tio.4";

/// Its longest phase, in seconds.
const LONGEST: &str = "600";

/// A built-in test, with what a command line says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    origin: Origin,
    settings: Vec<(&'static str, String)>,
}

impl Profile {
    /// The test of this name.
    ///
    /// # Errors
    /// There is none, or it is not built.
    pub(super) fn named(name: &str, origin: &Origin) -> Result<Profile, Problem> {
        match name {
            "tiobench" => Ok(Profile { origin: origin.clone(), settings: Vec::new() }),
            "act" => Err(origin.problem(
                "`--profile=act` is not supported: neither its manual nor fio 3.33, which ends with a buffer overflow, says what \
                 its jobs are",
                "use Aerospike's own act_storage",
            )),
            other => {
                Err(origin.problem(format!("there is no profile {}", quoted(other)), "specify tiobench"))
            }
        }
    }

    /// The test's own option of this name.
    pub(super) fn option(&self, name: &str) -> Option<&'static ProfileOption> {
        TIOBENCH.iter().find(|option| option.name == name)
    }

    /// Sets one of its options.
    ///
    /// # Errors
    /// Its value is invalid.
    pub(super) fn set(&mut self, option: &'static ProfileOption, value: String) -> Result {
        let given = OptionValue { text: Some(&value), kb_base: 1024 };
        match option.name {
            "dir" if value.is_empty() => return Err(OptionError::NoValue),
            "dir" => {}
            // More MiB than this are no number of bytes.
            "size" => drop(given.integer(1, i64::MAX >> 20)?),
            "block" => drop(given.integer(512, 1 << 30)?),
            _ => drop(given.integer(1, 100_000)?),
        }
        self.settings.push((option.name, value));
        Ok(())
    }

    /// Its options, as `--cmdhelp` lists them.
    pub fn help(&self) -> String {
        let line = |option: &ProfileOption| {
            let default = if option.default.is_empty() {
                String::new()
            } else {
                format!(" (default {})", option.default)
            };
            format!("{:<24}: {}{default}\n", option.name, option.help)
        };
        TIOBENCH.iter().map(line).collect()
    }

    /// The last value that an option was given, or its default.
    fn value(&self, name: &str) -> Option<&str> {
        self.settings.iter().rev().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    /// The jobs: defaults, and one after the other sequential and random writes and reads.
    pub(super) fn sections(&self, context: &HostContext<'_>) -> Vec<Section> {
        let size = match self.value("size") {
            Some(mib) => format!("{mib}m"),
            // As fio's: four KiB for each MiB of memory.
            None => (4 * 1024 * context.memory_mib).to_string(),
        };
        let or_default = |name: &str, default: &str| self.value(name).unwrap_or(default).to_owned();
        let defaults = [
            ("buffered", "0".to_owned()),
            ("size", size),
            ("bs", or_default("block", "4096")),
            ("loops", or_default("numruns", "1")),
            ("directory", or_default("dir", "./")),
            ("numjobs", or_default("threads", "1")),
            ("runtime", LONGEST.to_owned()),
            ("group_reporting", "1".to_owned()),
            ("thread", "1".to_owned()),
            ("overwrite", "1".to_owned()),
            ("filename", FILES.to_owned()),
            ("ioengine", "sync".to_owned()),
        ];
        let job = |(name, rw, writes): (&str, &str, bool)| {
            let mut settings = vec![("stonewall", "1".to_owned()), ("rw", rw.to_owned())];
            settings.extend(writes.then(|| ("end_fsync", "1".to_owned())));
            self.section(name, settings)
        };
        let jobs = [
            ("seqwrite", "write", true),
            ("randwrite", "randwrite", true),
            ("seqread", "read", false),
            ("randread", "randread", false),
        ];
        std::iter::once(self.section("global", defaults.to_vec())).chain(jobs.map(job)).collect()
    }

    fn section(&self, name: &str, settings: Vec<(&str, String)>) -> Section {
        let setting = |(name, value): (&str, String)| Setting {
            name: name.to_owned(),
            value: Some(value),
            emptied_by: None,
            origin: self.origin.clone(),
        };
        Section {
            name: name.to_owned(),
            origin: self.origin.clone(),
            settings: settings.into_iter().map(setting).collect(),
        }
    }
}
