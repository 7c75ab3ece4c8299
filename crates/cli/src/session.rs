//! What every command that measures begins and ends with.

use std::io;
use std::path::{Path, PathBuf};

use iolite_engine::{Control, Outcome, Scratch, remove_leftovers, run_file_task};
use iolite_model::{
    Bytes, Cache, Calibration, Event, FileTask, MODEL_VERSION, Nanos, OpKind, PhaseEnd, RunId, RunInfo, Sink,
    Stop, Storage,
};
use iolite_report::LiveKind;
use iolite_sys::clock::Clock;
use jiff::Timestamp;

use crate::exit::UsageError;
use crate::output;

/// A run that begins now on this storage.
pub(crate) fn run_info(storage: Storage) -> RunInfo {
    let started = Timestamp::now();
    RunInfo {
        id: run_id(started),
        version: env!("CARGO_PKG_VERSION").into(),
        model_version: MODEL_VERSION,
        // Results are kept and shown: a password is neither.
        command: std::env::args_os().map(|arg| iolite_db::without_password(&arg.to_string_lossy())).collect(),
        started_unix: Nanos(u64::try_from(started.as_nanosecond()).unwrap_or(0)),
        process: std::process::id(),
        host: iolite_observe::host(),
        storage,
    }
}

/// UTC start and eight hexadecimal digits that tell runs of one second apart.
fn run_id(started: Timestamp) -> RunId {
    use std::hash::{BuildHasher, RandomState};
    let suffix = RandomState::new().hash_one(std::process::id()) as u32;
    RunId(format!("{}-{suffix:08x}", started.strftime("%Y%m%dT%H%M%S")))
}

/// A directory that the user has named, absolute.
///
/// # Errors
/// It is not there, or not a directory.
pub(crate) fn directory(path: &Path) -> anyhow::Result<PathBuf> {
    let absolute = path.canonicalize().map_err(|error| {
        let advice = match error.kind() {
            io::ErrorKind::NotFound => ": there is no such directory; check the path",
            io::ErrorKind::PermissionDenied => ": you may not look there; choose another directory",
            _ => "",
        };
        UsageError(format!("{}: {error}{advice}", path.display()))
    })?;
    if absolute.is_dir() {
        Ok(absolute)
    } else {
        let message =
            format!("{} is not a directory: give the directory that the files are to be in", path.display());
        Err(UsageError(message).into())
    }
}

/// Where results go: as asked, or into the user's database; the reason where there is no place for that.
pub(crate) fn results(asked: Option<PathBuf>) -> Result<PathBuf, String> {
    asked.map_or_else(|| iolite_store::default_path().map_err(|error| error.to_string()), Ok)
}

/// Whether progress is drawn, told in lines, or kept to itself.
pub(crate) fn live(quiet: bool) -> LiveKind {
    match (quiet, output::can_draw()) {
        (true, _) => LiveKind::Quiet,
        (false, true) => LiveKind::Terminal { color: output::colour_wanted() },
        (false, false) => LiveKind::Plain,
    }
}

/// Removes what dead runs have left in a directory, and says so.
pub(crate) fn clear_leftovers(directory: &Path, quiet: bool) {
    for leftover in remove_leftovers(directory).unwrap_or_default() {
        let note = format!(
            "removed {} of test files that run {} left behind{}",
            Bytes(leftover.bytes),
            leftover.run,
            if leftover.kept { "; its directory holds other files too and is kept" } else { "" }
        );
        if !quiet {
            output::note(&note);
        }
    }
}

/// Measures the clock, and the measured loop on the null back end.
///
/// # Errors
/// The program can't start a thread.
pub(crate) fn calibrate(
    scratch: &mut Scratch,
    clock: Clock,
    control: &Control,
) -> anyhow::Result<Calibration> {
    let cost = clock.cost();
    let outcome = run_file_task(&null_task(), 0, scratch, clock, control, &mut Silence)?;
    let operations = outcome.totals.operations(OpKind::Read).max(1);
    Ok(Calibration {
        clock: clock.name().into(),
        clock_cost_ns: cost.nanos,
        clock_resolution: Nanos(cost.resolution),
        loop_cost_ns: outcome.totals.measured as f64 / operations as f64,
    })
}

/// Reads that cost nothing but the loop itself.
fn null_task() -> FileTask {
    FileTask {
        name: "the measured loop on nothing".into(),
        block: Bytes(8192),
        stop: Stop { runtime: Some(Nanos(200_000_000)), ..Stop::default() },
        ramp: Nanos(50_000_000),
        interval: Nanos(50_000_000),
        ..FileTask::default()
    }
}

/// A consumer of events that are of no interest.
struct Silence;

impl Sink for Silence {
    fn event(&mut self, _event: &Event) {}
}

/// What is to be said at the end of a phase.
pub(crate) fn phase_end(phase: u32, outcome: &Outcome, cache: Cache) -> PhaseEnd {
    PhaseEnd {
        phase,
        ending: outcome.ending.clone(),
        measured: Nanos(outcome.totals.measured),
        outstanding: outcome.outstanding,
        cache,
        errors: outcome.errors.clone(),
        stuck: outcome.stuck.clone(),
        rate: outcome.rate,
        verified: outcome.verified.clone(),
    }
}
