//! fio's command line: general options, options of jobs, and job files, in any order.

use std::net::SocketAddr;
use std::path::PathBuf;

use iolite_model::{Bytes, FioChecksum, Nanos};
use serde::{Deserialize, Serialize};

use super::error::quoted;
use super::job_file::{Section, Setting};
use super::options;
use super::options::option::{Form, Opt};
use super::problem::{Origin, Problem, did_you_mean, nearest};
use super::profile::{Profile, ProfileOption};

mod general;

pub use general::DEBUG_AREAS;
pub(super) use general::OPTIONS;
use general::{General, Takes};

/// What a command line says.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Invocation {
    /// What is to be done.
    pub action: Action,
    /// `--profile`: a built-in test.
    pub profile: Option<Profile>,
    /// Job files, in order; `-` is standard input.
    pub files: Vec<String>,
    /// Jobs of the command line, and sections of defaults (named `global`) before and between them.
    pub jobs: Vec<Section>,
    /// `--section`: the only jobs of the files that run; empty for all.
    pub sections: Vec<String>,
    /// `--output`: where results go; `None` for standard output.
    pub output: Option<PathBuf>,
    /// `--output-format`, `--minimal`, `--append-terse`: never empty, nothing twice.
    pub formats: Formats,
    /// `--terse-version`, 2 to 5; `None` for the default, 3.
    pub terse_version: Option<u8>,
    /// `--eta`.
    pub eta: Eta,
    /// `--eta-newline`: a new line for the estimate after so much time.
    pub eta_newline: Option<Nanos>,
    /// `--eta-interval`: time between estimates; `None` for the default, a second.
    pub eta_interval: Option<Nanos>,
    /// `--status-interval`: results so far are reported after each such time.
    pub status_interval: Option<Nanos>,
    /// `--bandwidth-log`: logs of all jobs' bandwidth together.
    pub bandwidth_log: bool,
    /// `--parse-only`.
    pub parse_only: bool,
    /// `--merge-blktrace-only`.
    pub merge_only: bool,
    /// `--showcmd`: print the job files as command lines.
    pub show_command: bool,
    /// `--readonly`: refuse what writes or trims.
    pub read_only: bool,
    /// `--max-jobs`: the most threads.
    pub max_jobs: Option<u32>,
    /// `--debug`: what is traced.
    pub debug: Vec<String>,
    /// `--warnings-fatal`.
    pub warnings_fatal: bool,
    /// `--alloc-size`, in KiB; needless here, since memory is not taken from a pool.
    pub alloc_size_kib: Option<u64>,
    /// `--aux-path`: directory of state files.
    pub aux_path: Option<PathBuf>,
    /// `--trigger-file`: the trigger is pulled when this file exists.
    pub trigger_file: Option<PathBuf>,
    /// `--trigger-timeout`: the trigger is pulled after this time.
    pub trigger_timeout: Option<Nanos>,
    /// `--trigger`: the command that is run when the trigger is pulled.
    pub trigger: Option<String>,
    /// `--idle-prof`.
    pub idle_profile: Option<IdleProfile>,
    /// `--allow-overwrite`: devices that hold something are overwritten without a question on the terminal.
    pub allow_overwrite: bool,
    /// `--prometheus`: where current values are served.
    pub prometheus: Option<SocketAddr>,
    /// `--max-write`: bytes that may be written in all.
    pub max_write: Option<Bytes>,
    /// `--keep-free`: free space that the jobs' files leave.
    pub keep_free: Option<Bytes>,
}

/// What a command line asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Action {
    /// Running jobs.
    #[default]
    Run,
    /// The summary of the command line.
    Help,
    /// The version.
    Version,
    /// What an option of jobs is; `all` for all of them in full, `None` for their list.
    CommandHelp(Option<String>),
    /// What an engine's options are, or one of them; the list of engines for `None`.
    EngineHelp(Option<(String, Option<String>)>),
    /// What can be traced by `--debug`.
    DebugHelp,
    /// The text of a compressed log.
    InflateLog(PathBuf),
    /// The speed of these checksums, with their names.
    ChecksumTest(Vec<(&'static str, FioChecksum)>),
    /// Whether all CPUs read the same time.
    ClockTest,
    /// `--latency-log`, which there is no more.
    LatencyLog,
}

/// How results are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Terminal output.
    Normal,
    /// Fields with semicolons between them.
    Terse,
    /// JSON.
    Json,
    /// JSON with the buckets of the histograms.
    JsonPlus,
}

/// Formats of the results, in the order in which they were asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Formats(pub Vec<Format>);

impl Default for Formats {
    fn default() -> Formats {
        Formats(vec![Format::Normal])
    }
}

/// When an estimate of the time left is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Eta {
    /// When the output is a terminal.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What is reported about the CPUs' idle time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdleProfile {
    /// Only how long a unit of work takes.
    Calibrate,
    /// Of all CPUs together.
    System,
    /// Of each CPU too.
    PerCpu,
}

/// Reads a command line, without the program's name.
///
/// # Errors
/// The first argument that is wrong. What comes after `--help`, `--version` and their like is not looked at.
pub fn parse(arguments: &[String]) -> Result<Invocation, Problem> {
    let mut reader = Reader { arguments, next: 0, invocation: Invocation::default() };
    while reader.invocation.action == Action::Run && reader.next < arguments.len() {
        reader.argument()?;
    }
    Ok(reader.invocation)
}

struct Reader<'a> {
    arguments: &'a [String],
    next: usize,
    invocation: Invocation,
}

/// An option of the command line.
#[derive(Debug, Clone, Copy)]
enum CommandOption {
    General(&'static General),
    Job(&'static Opt),
}

impl CommandOption {
    fn is(self, other: CommandOption) -> bool {
        match (self, other) {
            (CommandOption::General(one), CommandOption::General(two)) => one.name == two.name,
            (CommandOption::Job(one), CommandOption::Job(two)) => one.name == two.name,
            _ => false,
        }
    }

    fn takes(self) -> Takes {
        match self {
            CommandOption::General(general) => general.takes,
            CommandOption::Job(Opt { form: Form::Flag, .. }) => Takes::Perhaps,
            CommandOption::Job(_) => Takes::Value,
        }
    }
}

impl Reader<'_> {
    /// The next argument, with the value that belongs to it.
    fn argument(&mut self) -> Result<(), Problem> {
        let argument = &self.arguments[self.next];
        self.next += 1;
        let origin = Origin::argument(self.next);
        let Some(option) = argument.strip_prefix('-').filter(|rest| !rest.is_empty()) else {
            self.invocation.files.push(argument.clone());
            return Ok(());
        };
        if argument == "--" {
            self.invocation.files.extend_from_slice(&self.arguments[self.next..]);
            self.next = self.arguments.len();
            return Ok(());
        }
        let option = option.strip_prefix('-').unwrap_or(option);
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (option, None),
        };
        if let Some(option) = self.invocation.profile.as_ref().and_then(|profile| profile.option(name)) {
            return self.profile_option(option, value, &origin);
        }
        let known = lookup(argument, name, &origin)?;
        let value = self.value(known, name, value, &origin)?;
        match known {
            CommandOption::General(general) => {
                let text = value.as_deref().unwrap_or_default();
                let wrong = |error| origin.value(quoted(&format!("--{}", general.name)), error);
                (general.apply)(&mut self.invocation, text).map_err(wrong)
            }
            CommandOption::Job(option) => self.job_option(option, name, value, origin),
        }
    }

    /// The option's value: behind its `=`, or the next argument.
    fn value(
        &mut self,
        known: CommandOption,
        name: &str,
        value: Option<&str>,
        origin: &Origin,
    ) -> Result<Option<String>, Problem> {
        match (known.takes(), value) {
            (Takes::Nothing, Some(_)) => {
                Err(origin
                    .problem(format!("`--{name}` takes no value"), "leave out the `=` and what follows"))
            }
            (Takes::Value, None) => {
                let next = self.arguments.get(self.next).cloned();
                self.next += 1;
                let missing =
                    || origin.problem(format!("`--{name}` needs a value"), format!("write --{name}=VALUE"));
                next.map(Some).ok_or_else(missing)
            }
            (_, value) => Ok(value.map(str::to_owned)),
        }
    }

    /// An option of the built-in test that is named before it.
    fn profile_option(
        &mut self,
        option: &'static ProfileOption,
        value: Option<&str>,
        origin: &Origin,
    ) -> Result<(), Problem> {
        let value = match value {
            Some(value) => value.to_owned(),
            None => {
                let next = self.arguments.get(self.next).cloned();
                self.next += 1;
                let name = option.name;
                next.ok_or_else(|| {
                    origin.problem(format!("`--{name}` needs a value"), format!("write --{name}=VALUE"))
                })?
            }
        };
        let shown = quoted(&format!("--{}={value}", option.name));
        match &mut self.invocation.profile {
            Some(profile) => profile.set(option, value).map_err(|error| origin.value(shown, error)),
            None => Ok(()),
        }
    }

    /// An option of jobs: of the one named last; before the first one it is a default.
    fn job_option(
        &mut self,
        option: &Opt,
        name: &str,
        value: Option<String>,
        origin: Origin,
    ) -> Result<(), Problem> {
        if option.name == "profile" {
            self.invocation.profile = Some(Profile::named(&value.unwrap_or_default(), &origin)?);
            return Ok(());
        }
        let jobs = &mut self.invocation.jobs;
        if option.name == "name" {
            let job = value.clone().unwrap_or_default();
            if job.trim().is_empty() {
                return Err(origin.problem("`--name` needs a value", "write --name=JOB"));
            }
            jobs.push(Section { name: job, origin: origin.clone(), settings: Vec::new() });
        } else if jobs.is_empty() {
            jobs.push(Section { name: "global".into(), origin: origin.clone(), settings: Vec::new() });
        }
        if let Some(section) = jobs.last_mut() {
            // An abbreviation is not useful to readers of the settings.
            let known = option.name == name || option.aliases.contains(&name);
            let name = if known { name } else { option.name };
            section.settings.push(Setting { name: name.to_owned(), value, emptied_by: None, origin });
        }
        Ok(())
    }
}

/// The option of this name; as in getopt_long(3), the beginning of a name will do where only one option begins so.
fn lookup(argument: &str, name: &str, origin: &Origin) -> Result<CommandOption, Problem> {
    let short = |general: &&General| general.short == Some(name) && !argument.starts_with("--");
    let exact = general::OPTIONS.iter().find(|general| general.name == name || short(general));
    if let Some(general) = exact {
        return Ok(CommandOption::General(general));
    }
    if let Some(option) = options::find(name) {
        return Ok(CommandOption::Job(option));
    }
    let begun: Vec<(&str, CommandOption)> =
        names().filter(|(known, _)| !name.is_empty() && known.starts_with(name)).collect();
    match begun.as_slice() {
        [] => {
            let near = nearest(name, names().map(|(known, _)| known));
            Err(origin.problem(
                format!("there is no option {}", quoted(argument)),
                did_you_mean(&near, "--help and --cmdhelp list all"),
            ))
        }
        [(_, first), rest @ ..] if rest.iter().all(|(_, other)| other.is(*first)) => Ok(*first),
        several => {
            let several: Vec<String> =
                several.iter().take(8).map(|(known, _)| format!("--{known}")).collect();
            let what = format!("{} may be {}", quoted(argument), several.join(", "));
            Err(origin.problem(what, "write the whole name"))
        }
    }
}

/// All names of options.
fn names() -> impl Iterator<Item = (&'static str, CommandOption)> {
    let general = general::OPTIONS.iter().map(|general| (general.name, CommandOption::General(general)));
    let jobs = super::options::all().flat_map(|option| {
        std::iter::once(option.name)
            .chain(option.aliases.iter().copied())
            .map(move |name| (name, CommandOption::Job(option)))
    });
    general.chain(jobs)
}

#[cfg(test)]
mod tests;
