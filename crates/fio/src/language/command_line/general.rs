//! The options that are about the run as a whole rather than about a job.

use iolite_model::{Bytes, FioChecksum, Nanos};

use super::{Action, Eta, Format, Formats, IdleProfile, Invocation};
use crate::language::error::{OptionError, Result};
use crate::language::value::{OptionValue, Unit};

/// Areas of `--debug`.
pub const DEBUG_AREAS: &[&str] = &[
    "process",
    "file",
    "io",
    "mem",
    "blktrace",
    "verify",
    "random",
    "parse",
    "diskutil",
    "job",
    "mutex",
    "profile",
    "time",
    "net",
    "rate",
    "compress",
    "steadystate",
    "helperthread",
    "zbd",
    "all",
];

/// Checksums of `--crctest`, in fio's order.
const CHECKSUMS: [(&str, FioChecksum); 14] = [
    ("md5", FioChecksum::Md5),
    ("crc64", FioChecksum::Crc64),
    ("crc32", FioChecksum::Crc32),
    ("crc32c", FioChecksum::Crc32c),
    ("crc16", FioChecksum::Crc16),
    ("crc7", FioChecksum::Crc7),
    ("sha1", FioChecksum::Sha1),
    ("sha256", FioChecksum::Sha256),
    ("sha512", FioChecksum::Sha512),
    ("xxhash", FioChecksum::Xxhash),
    ("sha3-224", FioChecksum::Sha3_224),
    ("sha3-256", FioChecksum::Sha3_256),
    ("sha3-384", FioChecksum::Sha3_384),
    ("sha3-512", FioChecksum::Sha3_512),
];

/// The least `--eta-interval`.
const MIN_ETA_INTERVAL: Nanos = Nanos(250_000_000);

/// A general option.
#[derive(Debug)]
pub(in crate::language) struct General {
    /// Without dashes.
    pub(in crate::language) name: &'static str,
    /// A name of one letter, with a single dash.
    pub(in crate::language) short: Option<&'static str>,
    pub(super) takes: Takes,
    /// What its value is called in the help.
    value: &'static str,
    pub(in crate::language) help: &'static str,
    /// An empty value is one that was not given.
    pub(super) apply: fn(&mut Invocation, &str) -> Result,
}

/// Whether an option has a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    /// Never.
    Nothing,
    /// Always: behind a `=`, or the next argument.
    Value,
    /// Only behind a `=`.
    Perhaps,
}

type Apply = fn(&mut Invocation, &str) -> Result;

const fn flag(name: &'static str, help: &'static str, apply: Apply) -> General {
    General { name, short: None, takes: Takes::Nothing, value: "", help, apply }
}

const fn with(name: &'static str, value: &'static str, help: &'static str, apply: Apply) -> General {
    General { name, short: None, takes: Takes::Value, value, help, apply }
}

const fn perhaps(name: &'static str, value: &'static str, help: &'static str, apply: Apply) -> General {
    General { name, short: None, takes: Takes::Perhaps, value, help, apply }
}

impl General {
    /// Its value as the help shows it behind its name.
    pub(in crate::language) fn value(&self) -> String {
        match self.takes {
            Takes::Nothing => String::new(),
            Takes::Value => format!("={}", self.value),
            Takes::Perhaps => format!("[={}]", self.value),
        }
    }

    const fn short(self, short: &'static str) -> General {
        General { short: Some(short), ..self }
    }
}

/// All of them, as `--help` lists them.
pub(in crate::language) const OPTIONS: &[General] = &[
    with("debug", "AREA[,AREA...]", "Trace these areas; `help` lists them", debug),
    flag("parse-only", "Parse and check the jobs without running them", |to, _| set(&mut to.parse_only)),
    flag(
        "merge-blktrace-only",
        "Write the merged traces (merge_blktrace_file) without running the jobs",
        |to, _| set(&mut to.merge_only),
    ),
    with("output", "FILE", "Write results to this file", |to, text| {
        put(&mut to.output, needed(text)?.into())
    }),
    flag("bandwidth-log", "Log the bandwidth of all jobs together", |to, _| set(&mut to.bandwidth_log)),
    with("latency-log", "NAME", "Deprecated: refused, as by fio", |to, _| act(to, Action::LatencyLog)),
    flag("minimal", "Short for --output-format=terse", |to, _| {
        to.formats = Formats(vec![Format::Terse]);
        Ok(())
    }),
    with("output-format", "FORMAT[,FORMAT...]", "Output format: normal, terse, json or json+", formats),
    flag("append-terse", "Also print results in terse format", |to, _| {
        add_format(&mut to.formats, Format::Terse);
        Ok(())
    }),
    with("terse-version", "NUMBER", "Version of the terse format: 2, 3 (default), 4 or 5", |to, text| {
        let version = OptionValue { text: Some(text), kb_base: 1024 }.integer(2, 5)?;
        put(&mut to.terse_version, version as u8)
    }),
    flag("version", "Print the version", |to, _| act(to, Action::Version)).short("v"),
    flag("help", "Print the command line options", |to, _| act(to, Action::Help)).short("h"),
    flag("cpuclock-test", "Test whether all CPUs read the same time", |to, _| act(to, Action::ClockTest)),
    perhaps(
        "crctest",
        "NAME[,NAME...]",
        "Test how fast the checksums of verify are: all, or these (not murmur3, jhash and fnv)",
        |to, text| act(to, Action::ChecksumTest(checksums(text)?)),
    ),
    perhaps("cmdhelp", "OPTION", "Describe a job option; `all` describes all", |to, text| {
        act(to, Action::CommandHelp(given(text)))
    }),
    perhaps("enghelp", "ENGINE[,OPTION]", "List the engines, or describe an engine's options", engine_help),
    flag("showcmd", "Print job files as command lines", |to, _| set(&mut to.show_command)),
    flag("readonly", "Refuse jobs that write or trim", |to, _| set(&mut to.read_only)),
    with("eta", "WHEN", "Show the time left: auto (default, on a terminal), always or never", |to, text| {
        let whens = [("auto", Eta::Auto), ("always", Eta::Always), ("never", Eta::Never)];
        to.eta = OptionValue { text: Some(text), kb_base: 1024 }.choice(&whens)?;
        Ok(())
    }),
    with("eta-newline", "TIME", "Start a new line for the time left after this time", |to, text| {
        put(&mut to.eta_newline, time(text)?)
    }),
    with("eta-interval", "TIME", "Update the time left at this interval (default 1s)", |to, text| {
        put(&mut to.eta_interval, at_least(time(text)?, MIN_ETA_INTERVAL)?)
    }),
    with("status-interval", "TIME", "Print interim results at this interval", |to, text| {
        put(&mut to.status_interval, at_least(time(text)?, Nanos::MILLISECOND)?)
    }),
    with("section", "NAME", "Run only this job of the job files; may be given several times", |to, text| {
        to.sections.push(needed(text)?.to_owned());
        Ok(())
    }),
    with("alloc-size", "KIB", "Accepted and ignored", |to, text| {
        let kib = OptionValue { text: Some(text), kb_base: 1024 }.integer(1, i64::MAX)?;
        put(&mut to.alloc_size_kib, kib.unsigned_abs())
    }),
    flag("warnings-fatal", "Treat warnings as errors", |to, _| set(&mut to.warnings_fatal)),
    with("max-jobs", "NUMBER", "Maximum number of threads and processes", |to, text| {
        let max = OptionValue { text: Some(text), kb_base: 1024 }.integer(1, i64::from(u32::MAX))?;
        put(&mut to.max_jobs, max as u32)
    }),
    perhaps("server", "ADDRESS", "Not supported: start iolite on each host", |_, _| Err(remote())),
    with("daemonize", "FILE", "Not supported: start iolite on each host", |_, _| Err(remote())),
    with("client", "HOST", "Not supported: start iolite on each host", |_, _| Err(remote())),
    with("remote-config", "FILE", "Not supported: start iolite on each host", |_, _| Err(remote())),
    with("idle-prof", "WHAT", "Report CPU idleness: system, percpu or calibrate", |to, text| {
        let whats = [
            ("calibrate", IdleProfile::Calibrate),
            ("system", IdleProfile::System),
            ("percpu", IdleProfile::PerCpu),
        ];
        put(&mut to.idle_profile, OptionValue { text: Some(text), kb_base: 1024 }.choice(&whats)?)
    }),
    flag(
        "allow-overwrite",
        "Overwrite devices that contain data without confirmation on a terminal",
        |to, _| set(&mut to.allow_overwrite),
    ),
    with("max-write", "SIZE", "Write no more than this in all (iolite only)", |to, text| {
        put(&mut to.max_write, size(text)?)
    }),
    with("keep-free", "SIZE", "Free space that the files of the jobs leave (iolite only)", |to, text| {
        put(&mut to.keep_free, size(text)?)
    }),
    with(
        "prometheus",
        "ADDRESS",
        "Serve current values at http://ADDRESS/metrics; a port, or HOST:PORT (iolite only)",
        |to, text| {
            let address = iolite_model::listen_address(text);
            let wrong = || {
                OptionError::refused(
                    "it is not an address",
                    "specify a port, or ADDRESS:PORT, for example 9464",
                )
            };
            put(&mut to.prometheus, address.ok_or_else(wrong)?)
        },
    ),
    with("inflate-log", "FILE", "Decompress a log and print it", |to, text| {
        let path = needed(text)?.into();
        act(to, Action::InflateLog(path))
    }),
    with("trigger-file", "FILE", "Run the trigger when this file exists", |to, text| {
        put(&mut to.trigger_file, needed(text)?.into())
    }),
    with("trigger-timeout", "TIME", "Run the trigger after this time", |to, text| {
        put(&mut to.trigger_timeout, time(text)?)
    }),
    with("trigger", "COMMAND", "Shell command of the trigger", |to, text| {
        put(&mut to.trigger, needed(text)?.to_owned())
    }),
    with("trigger-remote", "COMMAND", "Not supported: start iolite on each host", |_, _| Err(remote())),
    with("aux-path", "DIRECTORY", "Directory for state files", |to, text| {
        put(&mut to.aux_path, needed(text)?.into())
    }),
];

fn size(text: &str) -> Result<Bytes> {
    let bytes = OptionValue { text: Some(text), kb_base: 1024 }.integer(0, i64::MAX)?;
    Ok(Bytes(bytes.unsigned_abs()))
}

fn remote() -> OptionError {
    OptionError::not_built(
        "running jobs on other hosts in fio's way is",
        "start iolite on each host, for example with ssh",
    )
}

fn set(flag: &mut bool) -> Result {
    *flag = true;
    Ok(())
}

fn put<T>(to: &mut Option<T>, value: T) -> Result {
    *to = Some(value);
    Ok(())
}

fn act(to: &mut Invocation, action: Action) -> Result {
    to.action = action;
    Ok(())
}

fn given(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn needed(text: &str) -> Result<&str> {
    if text.is_empty() { Err(OptionError::NoValue) } else { Ok(text) }
}

/// A time; a bare number is in seconds.
fn time(text: &str) -> Result<Nanos> {
    OptionValue { text: Some(text), kb_base: 1024 }.time(Unit::Seconds)
}

fn at_least(time: Nanos, min: Nanos) -> Result<Nanos> {
    if time < min {
        Err(OptionError::refused("it is too short", format!("at least {min}")))
    } else {
        Ok(time)
    }
}

fn debug(to: &mut Invocation, text: &str) -> Result {
    for area in text.split(',') {
        match area {
            "help" => to.action = Action::DebugHelp,
            known if DEBUG_AREAS.contains(&known) => to.debug.push(known.to_owned()),
            other => return Err(OptionError::unknown_word(other, DEBUG_AREAS.iter().copied())),
        }
    }
    Ok(())
}

/// Replaces what was asked for before.
fn formats(to: &mut Invocation, text: &str) -> Result {
    let mut formats = Formats(Vec::new());
    for format in text.split(',') {
        let format = match format.trim() {
            "normal" => Format::Normal,
            "terse" | "minimal" => Format::Terse,
            "json" => Format::Json,
            "json+" => Format::JsonPlus,
            other => return Err(OptionError::unknown_word(other, ["normal", "terse", "json", "json+"])),
        };
        add_format(&mut formats, format);
    }
    to.formats = formats;
    Ok(())
}

/// Checksums by their names, in fio's order; all of them for an empty text.
fn checksums(text: &str) -> Result<Vec<(&'static str, FioChecksum)>> {
    if text.is_empty() {
        return Ok(CHECKSUMS.to_vec());
    }
    let asked: Vec<&str> = text.split(',').collect();
    let is_known = |name: &&str| CHECKSUMS.iter().any(|(known, _)| known == name);
    if let Some(unknown) = asked.iter().find(|name| !is_known(name)) {
        return Err(OptionError::unknown_word(unknown, CHECKSUMS.map(|(name, _)| name)));
    }
    Ok(CHECKSUMS.into_iter().filter(|(name, _)| asked.contains(name)).collect())
}

fn add_format(formats: &mut Formats, format: Format) {
    if !formats.0.contains(&format) {
        formats.0.push(format);
    }
}

fn engine_help(to: &mut Invocation, text: &str) -> Result {
    let engine = given(text).map(|text| match text.split_once(',') {
        Some((engine, option)) => (engine.to_owned(), given(option)),
        None => (text, None),
    });
    act(to, Action::EngineHelp(engine))
}
