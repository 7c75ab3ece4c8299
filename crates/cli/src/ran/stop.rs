//! `stop`: ends runs that go on; what they have measured is kept.

use std::io;

use anyhow::{Context, anyhow};
use clap::builder::NonEmptyStringValueParser;
use clap::{ArgGroup, Args};
use iolite_model::{Ending, RunId};
use iolite_store::Measuring;
use iolite_sys::process::Process;

use super::runs::{Runs, StoredArgs};
use super::tool::Tool;
use crate::exit::{Exit, UsageError};
use crate::output;

/// `stop` as typed.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("which").required(true).args(["run", "all"]))]
pub(crate) struct StopArgs {
    /// Run to stop: its id as shown by `history`, or the beginning of its id
    #[arg(value_name = "RUN", value_parser = NonEmptyStringValueParser::new())]
    run: Option<String>,

    /// Stop all runs of this tool on this host
    #[arg(long)]
    all: bool,

    #[command(flatten)]
    stored: StoredArgs,
}

/// Ends runs of a tool: their workers finish what they are at, and their results are kept. Waits until they have ended.
///
/// # Errors
/// There is no such run, or it belongs to somebody else.
pub(crate) fn run(tool: Tool, args: StopArgs) -> anyhow::Result<Exit> {
    let runs = Runs::open(tool, &args.stored)?;
    let going_on: Vec<RunId> =
        runs.summaries()?.into_iter().filter(|run| run.ending.is_none()).map(|run| run.id).collect();
    let mut measuring = runs.store.unfinished()?;
    measuring.retain(|measuring| going_on.contains(&measuring.run));
    let chosen = match &args.run {
        Some(name) => vec![one(tool, &runs, measuring, name)?],
        None => here(measuring),
    };
    if chosen.is_empty() {
        output::print(&format!("There are no running measurements of {} on this host.\n", runs.what()))?;
        return Ok(Exit::Fit);
    }
    let mut interrupted = Vec::new();
    let mut failed = None;
    for measuring in chosen {
        match interrupt(&measuring) {
            Ok(process) => interrupted.push((measuring.run, process)),
            // The others are ended all the same.
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    for (run, process) in interrupted {
        if let Some(process) = process {
            process.wait().with_context(|| format!("cannot wait for the end of run {}", run.0))?;
        }
        output::print(&format!("{}\n", ended(&runs, &run)?))?;
    }
    failed.map_or(Ok(Exit::Fit), Err)
}

/// Those on this machine; of others nothing can be said from here.
fn here(measuring: Vec<Measuring>) -> Vec<Measuring> {
    let (here, elsewhere): (Vec<_>, Vec<_>) = measuring.into_iter().partition(Measuring::is_here);
    for measuring in elsewhere {
        output::note(&format!(
            "run {} is running on {}: stop it on that host",
            measuring.run.0, measuring.host
        ));
    }
    here
}

fn one(tool: Tool, runs: &Runs, measuring: Vec<Measuring>, name: &str) -> anyhow::Result<Measuring> {
    let is_meant = |run: &RunId| run.0.starts_with(name);
    let mut meant: Vec<&Measuring> = measuring.iter().filter(|one| is_meant(&one.run)).collect();
    if meant.len() > 1 {
        meant.retain(|one| one.run.0 == name);
    }
    match meant.as_slice() {
        [one] if one.is_here() => Ok((*one).clone()),
        [one] => {
            let host = &one.host;
            Err(anyhow!("run {} is running on {host}: stop it on that host", one.run.0))
        }
        _ => Err(UsageError::new(no_such_run(tool, runs, &measuring, name)?).into()),
    }
}

/// Why none is meant, and which there are.
fn no_such_run(tool: Tool, runs: &Runs, measuring: &[Measuring], name: &str) -> anyhow::Result<String> {
    let of_name: Vec<&str> =
        measuring.iter().map(|one| one.run.0.as_str()).filter(|run| run.starts_with(name)).collect();
    if of_name.len() > 1 {
        let remedy = "specify more of the id";
        return Ok(format!("`{name}` matches {} runs: {}: {remedy}", of_name.len(), of_name.join(", ")));
    }
    let mut text = format!("there is no running measurement `{name}` of {}", runs.what());
    for other in Tool::ALL {
        let Some(run) = runs.of(other)?.into_iter().find(|run| run.id.0.starts_with(name)) else { continue };
        text = match run.ending {
            Some(_) => format!("run {} has ended already", run.id.0),
            None if other == tool => continue,
            None => format!(
                "run {} is {}'s: iolite {} stop {}",
                run.id.0,
                other.name(),
                other.command(),
                run.id.0
            ),
        };
        break;
    }
    let going_on: Vec<&str> = measuring.iter().map(|one| one.run.0.as_str()).collect();
    Ok(if going_on.is_empty() {
        format!(
            "{text}; no measurements of {} are running in {} (a run with another results database is found with the same \
             --results)",
            runs.what(),
            runs.path().display()
        )
    } else {
        format!("{text}; running measurements: {}", going_on.join(", "))
    })
}

/// Interrupts a run; `None` where it has ended meanwhile.
fn interrupt(measuring: &Measuring) -> anyhow::Result<Option<Process>> {
    let run = &measuring.run.0;
    let process = Process::open(measuring.process)
        .with_context(|| format!("cannot reach run {run}, process {}", measuring.process))?;
    // Asked once more now that the process is held: until here its number might have become another's.
    let Some(process) = process.filter(|_| measuring.is_here()) else { return Ok(None) };
    match process.interrupt() {
        Ok(true) => Ok(Some(process)),
        Ok(false) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Err(anyhow!("run {run} belongs to another user: stop it as that user, or as root"))
        }
        Err(error) => Err(error).with_context(|| format!("cannot interrupt run {run}")),
    }
}

/// How a run has ended, in words.
fn ended(runs: &Runs, run: &RunId) -> anyhow::Result<String> {
    // One that could not say so any more is known by its process being gone.
    runs.store.mark_interrupted()?;
    let id = &run.0;
    Ok(match runs.store.ending(run)? {
        Some(Ending::Interrupted) => format!("Stopped {id}; the results measured so far are stored."),
        Some(Ending::Completed) => format!("{id} had already completed."),
        Some(Ending::Failed(error)) => format!("{id} has failed: {error}"),
        None => format!("{id} has ended; its results are incomplete."),
    })
}
