//! `iolite iometer`: access specifications on a directory.

use std::path::{Path, PathBuf};

use clap::{Parser, Subcommand};
use iolite_engine::Control;
use iolite_jobs::iometer::{Configuration, parse, patterns, print, standard};
use iolite_model::{BackendKind, Bytes, Concluded, IometerTerms, Nanos};
use iolite_results::RunRequest;
use iolite_session::{Bare, ending};
use iolite_suites::{Iometer, IometerAccess};

use crate::exit::{self, Exit, UsageError};
use crate::shared_args::OutputArgs;
use crate::writes::WriteArgs;
use crate::{output, setup, signals};

/// Smallest test file: a block of the largest usual size for every operation of a small test.
const MIN: Bytes = Bytes(4 << 20);

const EXAMPLES: &str = "\
Examples:
  Measure the ratio of the best to the worst throughput of this storage:
      iolite iometer patterns /data
  Run an Iometer configuration file (disk workers; its targets are replaced by a file in this directory):
      iolite iometer run nightly.icf /data --size 10GiB
  Run a standard access specification at queue depth 16:
      iolite iometer spec 'File Server' /data --depth 16
  Write all standard specifications to a configuration file:
      iolite iometer print > standard.icf";

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
    },
    /// Run the test of a configuration file (.icf)
    Run {
        /// Configuration file
        #[arg(value_name = "FILE.icf")]
        file: PathBuf,
        #[command(flatten)]
        place: PlaceArgs,
    },
    /// Run one standard access specification
    Spec {
        /// Name of the specification, as printed by `iolite iometer print`
        #[arg(value_name = "NAME")]
        name: String,
        #[command(flatten)]
        place: PlaceArgs,
    },
    /// Print the standard access specifications as a configuration file
    Print,
}

/// Where and how long.
#[derive(Debug, clap::Args)]
pub(crate) struct PlaceArgs {
    /// Directory on the storage, in which a temporary test file is created
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// Size of the test file
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    size: Bytes,

    /// Time to measure each point [default: the run time in the file, otherwise 5s]
    #[arg(long, value_name = "TIME")]
    time: Option<Nanos>,

    /// Queue depth of each worker, if not set by a file
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1024))]
    depth: u32,

    /// Number of workers, if not set by a file
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=256))]
    workers: u32,

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
        Action::Print => {
            let configuration = Configuration { specs: standard(), ..Configuration::default() };
            output::print_data(&print(&configuration))?;
            Ok(Exit::Fit)
        }
        Action::Patterns { place } => {
            let configuration = Configuration::alone(patterns(), place.workers, place.depth);
            test(&place, &configuration, "seven access patterns", true)
        }
        Action::Spec { name, place } => {
            let found = standard().into_iter().find(|spec| spec.name.eq_ignore_ascii_case(&name));
            let spec = found.ok_or_else(|| {
                UsageError::new(format!(
                    "standard access specification `{name}` does not exist: see `iolite iometer print`"
                ))
            })?;
            let configuration = Configuration::alone(vec![spec], place.workers, place.depth);
            test(&place, &configuration, &name, false)
        }
        Action::Run { file, place } => {
            let configuration = read(&file)?;
            let name = match configuration.setup.description.as_str() {
                "" => file.display().to_string(),
                description => description.to_owned(),
            };
            test(&place, &configuration, &name, false)
        }
    }
}

fn read(file: &Path) -> Result<Configuration, UsageError> {
    let bytes = std::fs::read(file).map_err(|error| {
        UsageError::new(format!("cannot read {}: {error}; check the path", file.display()))
    })?;
    // Files of older Windows have names in encodings of their own: what is not UTF-8 is replaced.
    parse(&String::from_utf8_lossy(&bytes))
        .map_err(|error| UsageError::new(format!("{}: {error}", file.display())))
}

fn test(
    place: &PlaceArgs,
    configuration: &Configuration,
    name: &str,
    patterns: bool,
) -> anyhow::Result<Exit> {
    let directory = setup::directory(&place.directory)?;
    let storage = iolite_observe::storage(&directory)?;
    let points = configuration.points();
    if points.is_empty() {
        let message = "no worker in the file has an access specification assigned: there is nothing to run";
        return Err(UsageError::new(message).into());
    }
    let size = place.size.round_down(MIN.0.min(1 << 20));
    if size < MIN || storage.filesystem.size.0 > 0 && size > storage.filesystem.free {
        let free = storage.filesystem.free;
        let message =
            format!("--size {}: specify at least {MIN} and at most the free space ({free})", place.size);
        return Err(UsageError::new(message).into());
    }
    let default = Some(configuration.setup.run_time).filter(|time| time.0 > 0);
    let run_time = place.time.or(default).unwrap_or(Nanos(5 * Nanos::SECOND.0));
    let terms = IometerTerms {
        test: name.to_owned(),
        patterns,
        points,
        size,
        run_time,
        ramp: configuration.setup.ramp,
    };
    let control = Control::new(signals::interrupt_flag()?);
    let each = run_time.0.saturating_add(terms.ramp.0);
    let duration = Nanos(each.saturating_mul(terms.points.len() as u64));
    let planned = Iometer::new(&terms, IometerAccess { backend: BackendKind::Sync, direct: false });
    let plan = place.writes.plan(planned.steps(), &storage, place.output.view.quiet)?;
    let mut session = setup::begin(storage, Some(&directory), &place.output, duration, &control)?;
    session.plan_writes(&plan);
    session.conclude(Concluded::of(&RunRequest::new("iometer", name)));
    session.conclude(Concluded::of(&terms));
    let (direct, backend) = (session.takes_direct_io()?, session.many_in_flight());
    let failure =
        session.drive(&mut Iometer::new(&terms, IometerAccess { backend, direct }), &mut Bare).err();
    let run = session.end(ending(failure, &control));
    output::run(&run, place.output.format())?;
    output::failure(&run, place.output.view.quiet);
    Ok(exit::of_run(&run))
}
