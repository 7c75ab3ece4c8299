//! `iolite iometer`: access specifications on a directory.

use std::borrow::Cow;
use std::fs::File;
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Parser, Subcommand};
use iolite_engine::Control;
use iolite_jobs::iometer::{Configuration, MAX_BYTES, parse, patterns, print, standard};
use iolite_model::{
    AccessSpec, BackendKind, Bytes, Concluded, Ending, ErrorCause, ErrorOrigin, IometerPoint, IometerTerms,
    IometerWorker, Nanos, Storage, Warning,
};
use iolite_results::{Run, RunRequest};
use iolite_session::{Bare, ending};
use iolite_suites::{Iometer, IometerAccess};

use crate::exit::{self, Exit, UsageError, refuse};
use crate::shared_args::OutputArgs;
use crate::writes::WriteArgs;
use crate::{output, setup, signals};

/// Smallest test file: a block of the largest usual size for every operation of a small test.
const MIN: Bytes = Bytes(4 << 20);

/// Size of the test file where nothing says otherwise.
const DEFAULT: Bytes = Bytes::GIB;

/// Measured time of each point where nothing says otherwise.
const RUN_TIME: Nanos = Nanos(5 * Nanos::SECOND.0);

/// Name of the test of the patterns.
const PATTERNS: &str = "seven access patterns";

const EXAMPLES: &str = "\
Examples:
  Measure the ratio of the best to the worst throughput of this storage:
      iolite iometer patterns /data
  Compare two targets side by side, and write the results for a spreadsheet:
      iolite iometer patterns /data /mnt/iscsi --csv results.csv
  Run an Iometer configuration file (disk workers; its targets are replaced by files in this directory):
      iolite iometer run nightly.icf /data --size 10GiB
  Run a standard access specification at queue depth 16:
      iolite iometer spec 'File Server' /data --depth 16
  Run an access specification of a file:
      iolite iometer spec 'SQL Server Log' /data --from collection.icf
  Write all standard specifications, or a test of the seven patterns, to a configuration file that Iometer opens:
      iolite iometer print > standard.icf
      iolite iometer print --patterns > patterns.icf";

/// `iolite iometer` as typed.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{}", exit::TABLE))]
pub(crate) struct IometerArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Run seven patterns, from small random to large sequential, and report the ratio of best to worst
    Patterns {
        #[command(flatten)]
        place: PlaceArgs,
        /// Second directory, measured after the first and compared with it
        #[arg(value_name = "DIR2")]
        second: Option<PathBuf>,
    },
    /// Run the test of a configuration file (.icf)
    Run {
        /// Configuration file
        #[arg(value_name = "FILE.icf")]
        file: PathBuf,
        #[command(flatten)]
        place: PlaceArgs,
    },
    /// Run one access specification: a standard one, or one of a configuration file
    Spec {
        /// Name of the specification, as printed by `iolite iometer print`
        #[arg(value_name = "NAME")]
        name: String,
        /// Configuration file that contains the specification, instead of the standard ones
        #[arg(long, value_name = "FILE")]
        from: Option<PathBuf>,
        #[command(flatten)]
        place: PlaceArgs,
    },
    /// Print a configuration file: the standard access specifications, or a test
    Print {
        /// Configuration file to read and print again, as iolite understands it
        #[arg(value_name = "FILE.icf")]
        file: Option<PathBuf>,
        /// Print the test of the seven patterns instead, to run it with Iometer
        #[arg(long, conflicts_with = "file")]
        patterns: bool,
    },
}

/// Where and how long.
#[derive(Debug, clap::Args)]
pub(crate) struct PlaceArgs {
    /// Directory on the storage, in which a temporary test file is created, or one for each target of a configuration file
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// Size of each test file [default: the maximum disk size in the file, otherwise 1GiB]
    #[arg(long, value_name = "SIZE")]
    size: Option<Bytes>,

    /// Time to measure each point [default: the run time in the file, otherwise 5s]
    #[arg(long, value_name = "TIME")]
    time: Option<Nanos>,

    /// Queue depth of each worker, if not set by a file
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1024))]
    depth: u32,

    /// Number of workers, if not set by a file
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=256))]
    workers: u32,

    /// Write the results in the layout of Iometer's results file to this new file
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    #[command(flatten)]
    writes: WriteArgs,

    #[command(flatten)]
    output: OutputArgs,
}

/// Runs a test, or prints the standard specifications.
///
/// # Errors
/// The file is none, or the directory can't be used. A failure later is part of what is printed.
pub(crate) fn run(args: IometerArgs) -> anyhow::Result<Exit> {
    match args.action {
        Action::Print { file, patterns } => {
            let configuration = match file {
                Some(file) => read(&file)?,
                None if patterns => patterns_for_iometer(),
                None => Configuration { specs: standard(), ..Configuration::default() },
            };
            output::print_data(&print(&configuration))?;
            Ok(Exit::Fit)
        }
        Action::Patterns { place, second } => {
            let configuration = Configuration::alone(patterns(), place.workers, place.depth);
            test(&place, second.as_deref(), &configuration, PATTERNS, true)
        }
        Action::Spec { name, from, place } => {
            let spec = spec(&name, from.as_deref())?;
            let configuration = Configuration::alone(vec![spec], place.workers, place.depth);
            test(&place, None, &configuration, &name, false)
        }
        Action::Run { file, place } => {
            let configuration = read(&file)?;
            let in_file = |error: UsageError| UsageError::new(format!("{}: {error}", file.display()));
            checked(&configuration).map_err(in_file)?;
            let name = match configuration.setup.description.as_str() {
                "" => file.display().to_string(),
                description => description.to_owned(),
            };
            test(&place, None, &configuration, &name, false)
        }
    }
}

/// The access specification of this name: a standard one, or one of a file.
fn spec(name: &str, from: Option<&Path>) -> Result<AccessSpec, UsageError> {
    let specs = from.map(read).transpose()?.map_or_else(standard, |file| file.specs);
    let names: Vec<String> = specs.iter().map(|spec| format!("`{}`", spec.name)).collect();
    let found = specs.into_iter().find(|spec| spec.name.eq_ignore_ascii_case(name));
    found.ok_or_else(|| match from {
        Some(file) => UsageError::new(format!(
            "{}: access specification `{name}` does not exist; the file has {}",
            file.display(),
            if names.is_empty() { "none".to_owned() } else { names.join(", ") }
        )),
        None => UsageError::new(format!(
            "standard access specification `{name}` does not exist: see `iolite iometer print`"
        )),
    })
}

/// The seven patterns as a test with the times and the load of `iolite iometer patterns`.
fn patterns_for_iometer() -> Configuration {
    let mut configuration = Configuration::alone(patterns(), 1, 1);
    configuration.setup.description = PATTERNS.to_owned();
    configuration.setup.run_time = RUN_TIME;
    for (number, manager) in configuration.managers.iter_mut().enumerate() {
        manager.name = format!("HOST {}", number + 1);
        for (number, worker) in manager.workers.iter_mut().enumerate() {
            worker.name = format!("Worker {}", number + 1);
        }
    }
    configuration
}

fn read(file: &Path) -> Result<Configuration, UsageError> {
    // Of what is larger, or never ends, as much is read as shows it.
    let mut bytes = Vec::new();
    let begin = File::open(file).and_then(|opened| opened.take(MAX_BYTES + 1).read_to_end(&mut bytes));
    begin.map_err(|error| {
        let advice = ErrorCause::advice(&error, ErrorOrigin::Path(file));
        UsageError::new(format!("cannot read {}: {error}{advice}", file.display()))
    })?;
    parse(&decoded(&bytes)).map_err(|error| UsageError::new(format!("{}: {error}", file.display())))
}

/// The text of a file that was written on Windows: in UTF-16 where it begins with a byte order mark. Older versions have names in
/// encodings of their own: what is not UTF-8 is replaced.
fn decoded(bytes: &[u8]) -> Cow<'_, str> {
    let utf16 = |unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes.as_chunks().0.iter().map(|pair| unit(*pair)).collect();
        Cow::Owned(String::from_utf16_lossy(&units))
    };
    match bytes {
        [0xff, 0xfe, ..] => utf16(u16::from_le_bytes),
        [0xfe, 0xff, ..] => utf16(u16::from_be_bytes),
        _ => String::from_utf8_lossy(bytes),
    }
}

/// Runs a test on a directory, and on a second one where there is one.
fn test(
    place: &PlaceArgs,
    second: Option<&Path>,
    configuration: &Configuration,
    name: &str,
    patterns: bool,
) -> anyhow::Result<Exit> {
    let terms = terms(place, configuration, name, patterns)?;
    let mut targets = Vec::new();
    for path in [Some(place.directory.as_path()), second].into_iter().flatten() {
        targets.push(TestTarget::at(path, &terms)?);
    }
    let mut csv = place.csv.as_deref().map(CsvFile::create).transpose()?;
    let connecting = configuration.connection_rate();
    let left_out = connecting.map(|(worker, transactions)| Iometer::left_out(worker, transactions));
    let left_out: Vec<Warning> = left_out.into_iter().chain(Iometer::apart(&terms)).collect();
    let control = Control::new(signals::interrupt_flag()?);
    let mut before: Option<Run> = None;
    let last = targets.len().saturating_sub(1);
    let mut exit = Exit::Fit;
    for (index, target) in targets.into_iter().enumerate() {
        let run = measure(place, target, &terms, &left_out, before.as_ref(), &control)?;
        // The document of the second contains the figures of the first.
        let is_printed = !place.output.json || index == last || run.ending != Some(Ending::Completed);
        if is_printed {
            output::run(&run, place.output.format())?;
        }
        output::failure(&run, place.output.view.quiet);
        if let (Some(file), Some(text)) = (&mut csv, iolite_report::iometer::csv(&run)) {
            file.write(&text)?;
        }
        // Of two targets the first code that is not 0 remains.
        if exit == Exit::Fit {
            exit = exit::of_run(&run);
        }
        if run.ending != Some(Ending::Completed) {
            break;
        }
        before = Some(run);
    }
    Ok(exit)
}

/// A new file for the results, created before anything is measured. If nothing comes to be written to it, it is removed.
struct CsvFile {
    path: PathBuf,
    file: File,
    written: u64,
}

impl CsvFile {
    fn create(path: &Path) -> Result<CsvFile, UsageError> {
        let file = File::create_new(path).map_err(|error| {
            let advice = match error.kind() {
                ErrorKind::AlreadyExists => ": results are never overwritten; specify a new file".to_owned(),
                _ => ErrorCause::advice(&error, ErrorOrigin::Path(path)),
            };
            UsageError::new(format!("cannot create {}: {error}{advice}", path.display()))
        })?;
        Ok(CsvFile { path: path.to_owned(), file, written: 0 })
    }

    /// Adds the results of a run; what cannot be written as a whole is left out.
    fn write(&mut self, text: &str) -> anyhow::Result<()> {
        if let Err(error) = self.file.write_all(text.as_bytes()) {
            // The error of the write is reported, also where this fails.
            let _ = self.file.set_len(self.written);
            let context = format!("cannot write {}: check the free space", self.path.display());
            return Err(error).context(context);
        }
        self.written += text.len() as u64;
        Ok(())
    }
}

impl Drop for CsvFile {
    fn drop(&mut self) {
        if self.written == 0 {
            // It is left where it cannot be removed.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// The points of a configuration, some of which have operations.
fn checked(configuration: &Configuration) -> Result<Vec<IometerPoint>, UsageError> {
    let points = configuration.points().map_err(UsageError::new)?;
    if points.is_empty() {
        refuse!(
            "no worker has an access specification assigned: there is nothing to run; assign one, run one alone (`iolite iometer spec \
             NAME DIR --from FILE.icf`), or check that the file is complete"
        );
    }
    if points.iter().all(IometerPoint::is_idle) {
        refuse!("all assigned access specifications are idle: assign one with operations");
    }
    Ok(points)
}

/// What is to be run.
fn terms(
    place: &PlaceArgs,
    configuration: &Configuration,
    name: &str,
    patterns: bool,
) -> Result<IometerTerms, UsageError> {
    let points = checked(configuration)?;
    let mut workers = configuration.workers(place.size, DEFAULT);
    for worker in &mut workers {
        let asked = worker.size;
        worker.size = asked.round_down(MIN.0.min(1 << 20));
        if worker.size < MIN {
            refuse!("a test file of {asked} is too small: --size is at least {MIN}");
        }
    }
    let size = workers.iter().map(IometerWorker::end).max().unwrap_or(DEFAULT);
    let in_file = Some(configuration.setup.run_time).filter(|time| time.0 > 0);
    let run_time = place.time.or(in_file).unwrap_or(RUN_TIME);
    let ramp = configuration.setup.ramp;
    Ok(IometerTerms { test: name.to_owned(), patterns, points, size, run_time, ramp, workers })
}

/// Where a test runs, which has been found able to.
struct TestTarget {
    directory: PathBuf,
    storage: Storage,
    /// The unit of direct I/O, where that works.
    unit: Option<Bytes>,
}

impl TestTarget {
    /// Checks a directory; nothing of the test is written.
    fn at(path: &Path, terms: &IometerTerms) -> anyhow::Result<TestTarget> {
        let directory = setup::writable_directory(path)?;
        let storage = iolite_observe::storage(&directory)?;
        let free = storage.filesystem.free;
        let space = terms.space();
        if storage.filesystem.size.0 > 0 && space > free {
            refuse!("{}: {}", directory.display(), too_large(terms, space, free));
        }
        let unit = setup::direct_unit(&directory)?;
        Iometer::check(terms, unit.unwrap_or(Bytes(1)))
            .map_err(|error| UsageError::new(format!("{}: {error}", directory.display())))?;
        Ok(TestTarget { directory, storage, unit })
    }
}

/// Why test files do not fit, and what helps.
fn too_large(terms: &IometerTerms, space: Bytes, free: Bytes) -> String {
    let files = terms.files();
    let (smallest, largest) = (files.values().min(), files.values().max());
    let what = match (files.len(), largest) {
        (1, Some(size)) => format!("the test file of {size} is larger than the free space"),
        (count, Some(size)) if smallest == largest => {
            format!("the {count} test files of {size} take {space}, more than the free space")
        }
        (count, _) => format!("the {count} test files take {space}, more than the free space"),
    };
    let furthest = terms.workers.iter().filter(|worker| worker.start.0 > 0).max_by_key(|worker| worker.start);
    let remedy = furthest.map_or_else(
        || "specify a smaller --size".to_owned(),
        |worker| {
            format!(
                "specify a smaller --size, or lower starting sectors (worker `{}` starts at {} of its test file)",
                worker.name, worker.start
            )
        },
    );
    format!("{what} ({free}): {remedy}")
}

fn measure(
    place: &PlaceArgs,
    target: TestTarget,
    terms: &IometerTerms,
    left_out: &[Warning],
    before: Option<&Run>,
    control: &Control,
) -> anyhow::Result<Run> {
    let TestTarget { directory, storage, unit } = target;
    let each = terms.run_time.0.saturating_add(terms.ramp.0);
    let duration = Nanos(each.saturating_mul(terms.points.len() as u64));
    let unit = unit.unwrap_or(Bytes(1));
    let access = |backend, direct| IometerAccess { backend, direct, unit };
    let planned = Iometer::new(terms, access(BackendKind::Sync, false));
    let plan = place.writes.plan(planned.steps(), &storage, place.output.view.quiet)?;
    let mut session = setup::begin(storage, Some(&directory), &place.output, duration, control)?;
    session.plan_writes(&plan);
    session.conclude(Concluded::of(&RunRequest::new("iometer", terms.test.as_str())));
    session.conclude(Concluded::of(terms));
    left_out.iter().for_each(|warning| session.warn(warning.clone()));
    if let Some(comparison) = before.and_then(iolite_report::iometer::comparison) {
        session.conclude(Concluded::of(&comparison));
    }
    let (direct, backend) = (session.takes_direct_io()?, session.many_in_flight());
    let failure = session.drive(&mut Iometer::new(terms, access(backend, direct)), &mut Bare).err();
    Ok(session.end(ending(failure, control)))
}
