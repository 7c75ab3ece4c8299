//! `iolite layers`: arguments -> layers -> run -> outputs.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Parser;
use iolite_engine::Control;
use iolite_model::{Bytes, Concluded, Durability, Nanos, Storage, TimedBy, WritePlan};
use iolite_oltp::ran::Settings;
use iolite_results::RunRequest;
use iolite_session::{LayersDatabases, RanDatabase, Session, answered, ending};
use iolite_suites::{DatabaseCommits, Layers, LayersDatabase, LayersOptions};

use crate::conduct::{conduct, printed};
use crate::exit::{Exit, UsageError, refuse};
use crate::ran::refused;
use crate::shared_args::OutputArgs;
use crate::writes::WriteArgs;
use crate::{exit, setup, signals};

const EXAMPLES: &str = "\
Examples:
  The file system with and without the page cache, and SQLite on it:
      iolite layers /var/lib/postgresql
  From the raw device (which is only read) up to two servers, whose data is set up before by `iolite ranread setup`:
      iolite layers /srv --device /dev/sdb --db postgres://bench@localhost/bench --db mysql://bench@localhost/bench
  A longer comparison, as JSON:
      iolite layers /srv --window 10s --rounds 5 --json

A database reads blocks by number past its cache, as in `iolite ranread`, and commits one set at a time, as in `iolite ranwrite \
--transaction-length 1 --hang 0s`.";

/// `iolite layers` as typed.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{}", exit::TABLE))]
pub(crate) struct LayersArgs {
    /// Directory on the file system to compare; the files are removed at the end
    #[arg(value_name = "DIR", default_value = ".")]
    directory: PathBuf,

    /// Block device to read as well; it is never written
    #[arg(long, value_name = "DEVICE")]
    device: Option<PathBuf>,

    /// Database to compare, set up by `iolite ranread setup` and, for commits, `iolite ranwrite create-globals`; may be repeated
    /// [default: an SQLite database in DIR]
    #[arg(long, value_name = "URL")]
    db: Vec<String>,

    /// Size of the data file and of the SQLite database
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    size: Bytes,

    /// Time to measure in each window
    #[arg(long, value_name = "TIME", default_value = "2s")]
    window: Nanos,

    /// Number of windows for each layer and workload, in random order
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(2..=1000))]
    rounds: u32,

    /// Seed for the order and the offsets
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    #[command(flatten)]
    writes: WriteArgs,

    #[command(flatten)]
    output: OutputArgs,
}

/// Smallest data file: a window of a fast device should not read it twice.
const SMALLEST: Bytes = Bytes(64 << 20);
/// Shortest window that has enough intervals for an estimate.
const SHORTEST: Nanos = Nanos(200_000_000);

/// Compares layers.
///
/// # Errors
/// The arguments are invalid, or the comparison cannot be begun. A failure later is part of what is printed.
pub(crate) fn run(args: LayersArgs) -> anyhow::Result<Exit> {
    let control = Control::new(signals::interrupt_flag()?);
    validate(&args)?;
    let limits = args.writes.limits();
    let databases = args.db.iter().map(|url| Ok(open(url, &control)?.held_to(limits)));
    let databases = databases.collect::<anyhow::Result<Vec<_>>>()?;
    let directory = setup::writable_directory(&args.directory)?;
    let storage = iolite_observe::storage(&directory)?;
    let device = args.device.as_deref().map(|device| beneath(device, &storage)).transpose()?;
    let options = LayersOptions {
        device,
        databases: among(&databases),
        // Found out when the run has begun.
        direct: true,
        io_uring: true,
        size: args.size,
        window: args.window,
        rounds: args.rounds,
        seed: args.seed.unwrap_or_else(|| iolite_session::unix_now().0),
    };
    let layers = Layers::new(options.clone());
    let plan = args.writes.limits().plan(layers.planned().chunks(1), &storage).then(of_own_database(&layers));
    let plan = args.writes.accept(plan, &storage, args.output.view.quiet)?;
    let mut session = setup::begin(storage, Some(&directory), &args.output, plan.duration, &control)?;
    session.plan_writes(&plan);
    session.conclude(Concluded::of(&RunRequest::new("layers", "")));
    let names = options.databases.clone();
    let mut environment = LayersDatabases::new(names, databases);
    let run = match able(options, &mut session) {
        Ok(options) => conduct(session, &mut Layers::new(options), &mut environment, &args.output)?,
        Err(error) => printed(session.end(ending(Some(error), &control)), &args.output)?,
    };
    Ok(exit::of_run(&run))
}

fn validate(args: &LayersArgs) -> Result<(), UsageError> {
    if args.size < SMALLEST {
        refuse!("--size {} is too small: specify at least {SMALLEST}", args.size);
    }
    if args.window < SHORTEST {
        refuse!("--window {} is too short: specify at least {SHORTEST}", args.window);
    }
    Ok(())
}

fn open(url: &str, control: &Control) -> anyhow::Result<RanDatabase> {
    let url = setup::database(url).map_err(refused)?;
    let settings = Settings { durability: Durability::Full, through_buffers: false };
    answered(control, move || RanDatabase::open(url, settings, false)).map_err(refused)
}

/// The device to read: one that the directory is on.
fn beneath(device: &Path, storage: &Storage) -> anyhow::Result<PathBuf> {
    let resolved = device.canonicalize().map_err(|error| {
        UsageError::new(format!("--device {}: {error}; specify the path of the device", device.display()))
    })?;
    let name = resolved.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if storage.devices.iter().any(|beneath| beneath.name == name) {
        std::fs::File::open(&resolved).with_context(|| {
            format!(
                "--device {} cannot be read: run as root or as a member of its group, or omit --device",
                device.display()
            )
        })?;
        return Ok(resolved);
    }
    let there: Vec<_> = storage.devices.iter().map(|device| format!("/dev/{}", device.name)).collect();
    refuse!(
        "--device {}: {} is not on this device but on {}; specify a device below the directory",
        device.display(),
        storage.directory.display(),
        if there.is_empty() { "none".to_owned() } else { there.join(", ") },
    );
}

/// The databases among the layers: an SQLite one where none is given. Two of the same engine are numbered.
fn among(databases: &[RanDatabase]) -> Vec<LayersDatabase> {
    if databases.is_empty() {
        return vec![LayersDatabase {
            name: "SQLite".into(),
            commits: DatabaseCommits::Measured,
            timed_by: TimedBy::Client,
            own: true,
        }];
    }
    let named = |(number, database): (usize, &RanDatabase)| {
        let before = databases[..number].iter().filter(|other| other.engine() == database.engine()).count();
        let name = match before {
            0 => database.engine().to_owned(),
            before => format!("{} ({})", database.engine(), before + 1),
        };
        let commits = match database.globals() {
            _ if database.is_standby() => DatabaseCommits::Standby,
            0 => DatabaseCommits::NoGlobals,
            _ => DatabaseCommits::Measured,
        };
        LayersDatabase { name, commits, timed_by: database.timed_by(), own: false }
    };
    databases.iter().enumerate().map(named).collect()
}

/// The options with what the storage and the kernel take.
fn able(options: LayersOptions, session: &mut Session<'_>) -> iolite_session::Result<LayersOptions> {
    let direct = session.uses_direct_io(true)?;
    Ok(LayersOptions { direct, io_uring: session.takes_io_uring(), ..options })
}

/// What creating the run's own database writes: its global twice, since it goes through the log.
fn of_own_database(layers: &Layers) -> WritePlan {
    let size = layers.own_database().map_or(Bytes(0), |database| database.size);
    WritePlan { bytes: Bytes(size.0.saturating_mul(2)), space: size, ..WritePlan::default() }
}
