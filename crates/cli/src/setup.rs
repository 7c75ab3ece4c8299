//! What every command that measures begins with.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use iolite_db::DatabaseUrl;
use iolite_engine::{Control, EngineError, NamedDevice, Overwriting, Scratch, remove_leftovers};
use iolite_model::{Bytes, ErrorCause, ErrorOrigin, JobTask, Nanos, RunInfo, Storage, Task, View};
use iolite_report::prometheus::Prometheus;
use iolite_report::{Live, LiveKind, Screen};
use iolite_session::{Session, Setup};
use iolite_store::Store;

use crate::exit::{UsageError, refuse};
use crate::output;
use crate::shared_args::{OutputArgs, ViewArgs};
use crate::signals;

/// A run that begins now on this storage.
pub(crate) fn run_info(storage: Storage) -> RunInfo {
    // Results are kept and shown: a password is neither.
    let command = std::env::args_os().map(|arg| iolite_db::without_password(&arg.to_string_lossy()));
    iolite_session::run_info(storage, command.collect())
}

/// Begins a run on this storage, whose own files are created in `directory` if it has any, and which takes about `duration`.
///
/// # Errors
/// The directory can't be written to.
pub(crate) fn begin<'a>(
    storage: Storage,
    directory: Option<&Path>,
    output: &OutputArgs,
    duration: Nanos,
    control: &'a Control,
) -> anyhow::Result<Session<'a>> {
    if let Some(directory) = directory {
        clear_leftovers(directory, output.view.quiet);
    }
    let results = usable_results(output.results.clone())?;
    let view = asked_view(&output.view, duration)?;
    let setup = Setup { directory, results, view };
    Ok(Session::begin(run_info(storage), setup, control)?)
}

/// The database that an argument names; says what of the client's configuration is not used.
///
/// # Errors
/// It is no database's URL.
pub(crate) fn database(text: &str) -> iolite_db::Result<DatabaseUrl> {
    let url = DatabaseUrl::parse(text)?;
    for caveat in url.caveats() {
        output::note(&format!("warning: {caveat}"));
    }
    Ok(url)
}

/// Creates the last component of the path of a database in a directory; says which it was, where it did not exist.
///
/// # Errors
/// It can't be created.
pub(crate) fn database_directory(url: &DatabaseUrl) -> anyhow::Result<Option<&Path>> {
    let Some(directory) = url.directory() else { return Ok(None) };
    match std::fs::create_dir(directory) {
        Ok(()) => Ok(Some(directory)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
        Err(error) => Err(anyhow::Error::new(error).context(format!(
            "cannot create the directory {}: only its last component is created, so its parent must exist and be writable",
            directory.display()
        ))),
    }
}

/// The devices that the user allows to be overwritten.
///
/// # Errors
/// One of them is no block device.
pub(crate) fn named_devices(paths: &[PathBuf]) -> anyhow::Result<Overwriting> {
    let named = |path: &PathBuf| {
        NamedDevice::at(path).map_err(|error| {
            UsageError::new(format!(
                "--allow-overwrite {}: {error}; specify the path of the device",
                path.display()
            ))
        })
    };
    Ok(Overwriting::Named(paths.iter().map(named).collect::<Result<_, _>>()?))
}

/// A directory that the user has named, absolute.
///
/// # Errors
/// It is not there, or not a directory.
pub(crate) fn directory(path: &Path) -> anyhow::Result<PathBuf> {
    let absolute = path.canonicalize().map_err(|error| {
        let advice = ErrorCause::advice(&error, ErrorOrigin::Path(path));
        UsageError::new(format!("{}: {error}{advice}", path.display()))
    })?;
    if absolute.is_dir() {
        Ok(absolute)
    } else {
        refuse!("{} is not a directory: specify a directory for the test files", path.display());
    }
}

/// As [`directory`], one in which test files will be created: refused where they can't be, before anything is planned or shown.
///
/// # Errors
/// As there; [`EngineError::Scratch`] where this user, or the file system, allows no files in it.
pub(crate) fn writable_directory(path: &Path) -> anyhow::Result<PathBuf> {
    let directory = directory(path)?;
    takes_files(&directory)?;
    Ok(directory)
}

/// Makes sure that files can be created in a directory, without creating one.
///
/// # Errors
/// [`EngineError::Scratch`].
pub(crate) fn takes_files(directory: &Path) -> Result<(), EngineError> {
    use rustix::fs::Access;
    rustix::fs::access(directory, Access::WRITE_OK | Access::EXEC_OK)
        .map_err(|source| EngineError::Scratch { directory: directory.to_owned(), source: source.into() })
}

/// The smallest size and alignment of direct I/O on files in a directory; `None` where it does not work. Tried with a file in a
/// scratch directory, before a run begins.
///
/// # Errors
/// No file can be created there.
pub(crate) fn direct_unit(directory: &Path) -> anyhow::Result<Option<Bytes>> {
    let id = run_info(Storage::default()).id;
    let mut scratch = Scratch::create(directory, &id)?;
    scratch.claim(iolite_sys::file::PROBE.as_ref())?;
    let unit = iolite_sys::file::direct_unit(scratch.path())
        .map_err(|source| EngineError::Scratch { directory: directory.to_owned(), source })?;
    Ok(unit.map(|unit| Bytes(unit.into())))
}

/// Where results go: as asked, or into the user's database; the reason where there is no place for that.
pub(crate) fn results(asked: Option<PathBuf>) -> Result<PathBuf, iolite_store::Error> {
    asked.map_or_else(iolite_store::default_path, Ok)
}

/// The results database that is read from.
///
/// # Errors
/// None is named, and there is no place for the user's.
pub(crate) fn stored_results(asked: Option<PathBuf>) -> Result<PathBuf, UsageError> {
    results(asked).map_err(UsageError::new)
}

/// Opens the results for a command that only reads them: it leaves the file as it was.
///
/// # Errors
/// There is no such file, or it is no results database.
pub(crate) fn open_to_read(path: &Path) -> anyhow::Result<Store> {
    // What cannot be examined is no absence: opening it says why.
    if matches!(path.try_exists(), Ok(false)) {
        refuse!(
            "there are no results yet: {} does not exist; specify another file with --results FILE",
            path.display()
        );
    }
    Ok(Store::open_to_read(path)?)
}

/// As [`results`], where a file that the user has named must be usable: nothing is measured whose results would be lost.
///
/// # Errors
/// It is not a results database, or can't be written to.
pub(crate) fn usable_results(asked: Option<PathBuf>) -> anyhow::Result<Result<PathBuf, iolite_store::Error>> {
    if let Some(path) = &asked {
        output::is_for_output(path)?;
        // Read as well: damage shows only where it is.
        Store::open(path)
            .and_then(|store| store.runs())
            .map_err(|error| UsageError::new(format!("--results {}: {error}", path.display())))?;
    }
    Ok(results(asked))
}

/// Whether progress is drawn, printed in lines, or not shown.
pub(crate) fn live(quiet: bool) -> LiveKind {
    match (quiet, output::can_draw()) {
        (true, _) => LiveKind::Quiet,
        (false, true) => LiveKind::Terminal { color: output::colour_wanted() },
        (false, false) => LiveKind::Plain { unicode: output::unicode_locale() },
    }
}

/// As [`live`], or the whole terminal where that is asked for.
///
/// # Errors
/// There is no terminal.
fn view_kind(quiet: bool, full_screen: bool) -> Result<LiveKind, UsageError> {
    match live(quiet) {
        LiveKind::Terminal { color } if full_screen => Ok(LiveKind::Screen { color }),
        _ if full_screen => {
            refuse!(
                "--live needs a terminal on standard error: omit it, or use --prometheus to watch the run from elsewhere"
            );
        }
        kind => Ok(kind),
    }
}

/// The view of a run that takes about `duration`, as asked for: the only way from the arguments to a view, so that no command
/// ignores one of them.
///
/// # Errors
/// The full screen is asked for where there is no terminal, or nothing can listen at the address for Prometheus.
pub(crate) fn asked_view(args: &ViewArgs, duration: Nanos) -> Result<Box<dyn View>, UsageError> {
    let kind = view_kind(args.quiet, args.live)?;
    served(args.prometheus, || view(kind, duration))
}

/// The view of a run that takes about `duration`. The full screen takes the terminal; where it can't, the bar is drawn.
pub(crate) fn view(kind: LiveKind, duration: Nanos) -> Box<dyn View> {
    if let LiveKind::Screen { color } = kind
        && let Ok(screen) = Screen::start(color, duration, signals::interrupt)
    {
        return Box::new(screen);
    }
    Box::new(Live::new(kind, duration))
}

/// A view that also serves what it shows to Prometheus, where an address is given. The port that the system has chosen (for port
/// 0) is printed, because it is not known otherwise.
///
/// # Errors
/// Nothing can listen there.
pub(crate) fn served(
    address: Option<SocketAddr>,
    view: impl FnOnce() -> Box<dyn View>,
) -> Result<Box<dyn View>, UsageError> {
    let Some(address) = address else { return Ok(view()) };
    let failed = |error: io::Error| {
        let advice = "specify another port, or an address of this host";
        UsageError::new(format!("--prometheus {address}: {error}; {advice}"))
    };
    let listener = TcpListener::bind(address).map_err(failed)?;
    if address.port() == 0 {
        let chosen = listener.local_addr().map_err(failed)?;
        output::note(&format!("values for Prometheus are served at http://{chosen}/metrics"));
    }
    Ok(Box::new(Prometheus::serve(listener, view()).map_err(failed)?))
}

/// Removes what dead runs have left in a directory, and says so.
pub(crate) fn clear_leftovers(directory: &Path, quiet: bool) {
    for leftover in remove_leftovers(directory).unwrap_or_default() {
        let note = format!(
            "removed {} of test files that run {} left behind{}",
            Bytes(leftover.bytes),
            leftover.run,
            if leftover.kept { "; its directory contains other files and was kept" } else { "" }
        );
        if !quiet {
            output::note(&note);
        }
    }
}

/// How long sets of tasks take about: the sum of their longest runtimes, where they have one.
pub(crate) fn duration(sets: &[&[JobTask]]) -> Nanos {
    let length =
        |task: &Task| task.ramp().known_time().0.saturating_add(task.stop().runtime.unwrap_or_default().0);
    let longest = |set: &&[JobTask]| set.iter().map(|task| length(&task.task())).max();
    Nanos(sets.iter().filter_map(longest).fold(0, u64::saturating_add))
}
