//! `iolite pts`: SNIA's Solid State Storage Performance Test Specification on a device or a file.

use std::fs::File;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::{Parser, ValueEnum};
use iolite_engine::Control;
use iolite_model::{Bytes, Concluded, Event, Filesystem, Nanos, PtsResumed, PtsTerms, PtsTest, WritePlan};
use iolite_results::{PtsProgress, Run, RunRequest};
use iolite_session::{Bare, Session, ending};
use iolite_store::Store;
use iolite_suites::{Pts, PtsAccess, PtsRequest, PtsTarget};
use iolite_sys::device;

use crate::exit::{self, Exit, UsageError};
use crate::shared_args::OutputArgs;
use crate::writes::WriteArgs;
use crate::{output, setup, signals};

/// Unit in which the kernel counts the blocks of a file (st_blocks, stat(2)).
const ALLOCATION_UNIT: u64 = 512;

const EXAMPLES: &str = "\
Examples:
  Print how much would be written, and exit:
      iolite pts /dev/nvme1n1
  A rehearsal with a hundredth of the times and sizes, then all tests, which take days:
      sudo iolite pts /dev/nvme1n1 --allow-overwrite /dev/nvme1n1 --scale 0.01
      sudo iolite pts /dev/nvme1n1 --allow-overwrite /dev/nvme1n1
  Continue after a crash or reboot:
      sudo iolite pts /dev/nvme1n1 --allow-overwrite /dev/nvme1n1 --resume latest

All data on the device is destroyed. docs/suites.md describes the differences from the specification, and the reasons.";

/// `iolite pts` as typed.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{}", exit::TABLE))]
pub(crate) struct PtsArgs {
    /// Device or existing file to test; its data is destroyed
    #[arg(value_name = "DEVICE|FILE")]
    pub(crate) target: PathBuf,

    /// Confirm that this device or file may be overwritten; must equal the target
    #[arg(long, value_name = "DEVICE|FILE")]
    pub(crate) allow_overwrite: Option<PathBuf>,

    /// Tests to run; their order is that of the specification [default: all]
    #[arg(long, value_name = "TEST,...", value_delimiter = ',')]
    pub(crate) tests: Vec<TestArg>,

    /// Fraction of the specified times and sizes, for a rehearsal: with 0.01, each cell takes a hundredth of the time, and
    /// preconditioning and write saturation write a hundredth of the data. The device is still purged completely. Every output
    /// states it
    #[arg(long, value_name = "SHARE", default_value = "1", value_parser = scale)]
    pub(crate) scale: f64,

    /// Active range, from the start of the device [default: all]
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Option<Bytes>,

    /// Number of threads in the IOPS, throughput and write saturation tests
    #[arg(long, value_name = "N", default_value = "2", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) threads: u32,

    /// Queue depth of each thread
    #[arg(long, value_name = "N", default_value = "16", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) depth: u32,

    /// Maximum number of rounds if steady state is not reached
    #[arg(long, value_name = "N", default_value = "25", value_parser = clap::value_parser!(u32).range(5..=1000))]
    pub(crate) max_rounds: u32,

    /// Continue this interrupted run: its id, the beginning of its id, or `latest`
    #[arg(long, value_name = "RUN")]
    pub(crate) resume: Option<String>,

    #[command(flatten)]
    pub(crate) writes: WriteArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// A test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TestArg {
    /// Random IOPS by mix and block size
    Iops,
    /// Response times at queue depth 1
    Latency,
    /// Sequential throughput by block size
    Throughput,
    /// Random writes until four times the device size is written, or for 24 hours
    WriteSaturation,
}

impl From<TestArg> for PtsTest {
    fn from(test: TestArg) -> PtsTest {
        match test {
            TestArg::Iops => PtsTest::Iops,
            TestArg::Latency => PtsTest::Latency,
            TestArg::Throughput => PtsTest::Throughput,
            TestArg::WriteSaturation => PtsTest::WriteSaturation,
        }
    }
}

fn scale(text: &str) -> anyhow::Result<f64> {
    match text.parse() {
        Ok(share) if f64::is_finite(share) && share > 0.0 && share <= 1.0 => Ok(share),
        _ => bail!("specify a fraction above 0 and up to 1, for example 0.01"),
    }
}

/// Runs the tests.
///
/// # Errors
/// The target can't be tested, or the user has not allowed overwriting it. A failure later is part of what is printed.
pub(crate) fn run(args: PtsArgs) -> anyhow::Result<Exit> {
    let found = InspectedTarget::at(&args.target)?;
    let terms = terms(&args, &found)?;
    let storage = iolite_observe::storage_of_target(&terms.target)?;
    let missing = found.missing(&terms);
    check_space(&terms, missing, &storage.filesystem)?;
    let plan = WritePlan { space: missing, ..Pts::writes(&terms) };
    let allowed = allowed(&args, &terms, &args.writes.limits().on(plan.clone(), &storage))?;
    let earlier = args.resume.as_deref().map(|name| earlier(&args, name, &terms)).transpose()?;
    if !args.output.view.quiet {
        output::note(&format!(
            "{} is overwritten; compare with the drive's rated endurance",
            terms.target.display()
        ));
    }
    let control = Control::new(signals::interrupt_flag()?);
    let plan = args.writes.accept(plan, &storage, args.output.view.quiet)?;
    let mut session = setup::begin(storage, None, &args.output, plan.duration, &control)?;
    if let Some(earlier) = earlier {
        resume(&mut session, earlier);
    }
    session.scratch().allow_overwriting(allowed);
    session.plan_writes(&plan);
    session.conclude(Concluded::of(&RunRequest::new("pts", terms.target.display().to_string())));
    session.conclude(Concluded::of(&terms));
    let backend = session.many_in_flight();
    if !found.direct {
        session.warn_of_no_direct_io();
    }
    Pts::left_out(&terms, found.is_device).into_iter().for_each(|warning| session.warn(warning));
    let mut procedure = Pts::new(terms.clone(), PtsAccess { backend, direct: found.direct });
    let failure = session.drive(&mut procedure, &mut Bare).err();
    let run = session.end(ending(failure, &control));
    output::run(&run, args.output.format())?;
    output::failure(&run, args.output.view.quiet);
    let is_steady = PtsProgress::of(&run, &terms).unsteady().is_empty();
    Ok(match exit::of_run(&run) {
        Exit::Fit if !is_steady => Exit::Marginal,
        exit => exit,
    })
}

/// Takes over what an earlier run has measured, and records which run that was.
fn resume(session: &mut Session<'_>, (run, events): (Run, Vec<Event>)) {
    let length = session.take_over(events);
    let phases = session.history().len() as u64;
    let ended = run.info.started_unix.0.saturating_add(length.0);
    let idle = Nanos(session.run().info.started_unix.0.saturating_sub(ended));
    session.conclude(Concluded::of(&PtsResumed { run: run.info.id, phases, idle }));
}

/// What there is at the target.
struct InspectedTarget {
    target: PtsTarget,
    direct: bool,
    is_device: bool,
    /// Bytes that have blocks; of a device all.
    allocated: Bytes,
}

impl InspectedTarget {
    /// Bytes of the span that take space of the file system only when they are written: those of a sparse file.
    fn missing(&self, terms: &PtsTerms) -> Bytes {
        Bytes(terms.span.0.saturating_sub(self.allocated.0))
    }

    /// Looks at a target, without opening it for writing.
    fn at(path: &Path) -> Result<InspectedTarget, UsageError> {
        let shown = path.display();
        let cannot = |error: std::io::Error| {
            UsageError::new(format!("cannot read {shown}: {error}; check the path and permissions (sudo)"))
        };
        let path = path.canonicalize().map_err(cannot)?;
        let file = File::open(&path).map_err(cannot)?;
        let metadata = file.metadata().map_err(cannot)?;
        let kind = metadata.file_type();
        let is_device = kind.is_block_device();
        if !is_device && !kind.is_file() {
            let message = format!("{shown} is neither a block device nor a regular file");
            return Err(UsageError::new(message));
        }
        let number = device::device_number(&file).map_err(cannot)?;
        if let Some(number) = number {
            let reasons = device::in_use(number).map_err(cannot)?;
            if let Some(reason) = reasons.first() {
                let message = format!(
                    "{shown} is in use ({reason}): all its data would be lost; specify another device"
                );
                return Err(UsageError::new(message));
            }
        }
        let size = Bytes(device::size_of(&file).map_err(cannot)?);
        let access = iolite_sys::file::Access { direct: true, ..iolite_sys::file::Access::default() };
        let direct = iolite_sys::file::open(&path, access).is_ok();
        let target = PtsTarget {
            path,
            size,
            logical_block: Bytes(u64::from(device::logical_block(&file).unwrap_or(512))),
            purges: number.is_none_or(device::discards),
            serial: number.and_then(device::serial),
        };
        let allocated =
            if is_device { size } else { Bytes(metadata.blocks().saturating_mul(ALLOCATION_UNIT)) };
        Ok(InspectedTarget { target, direct, is_device, allocated })
    }
}

fn terms(args: &PtsArgs, found: &InspectedTarget) -> Result<PtsTerms, UsageError> {
    let request = PtsRequest {
        tests: args.tests.iter().map(|&test| test.into()).collect(),
        scale: args.scale,
        size: args.size,
        threads: args.threads,
        depth: args.depth,
        max_rounds: args.max_rounds,
    };
    let terms = Pts::terms(request, &found.target);
    terms.map_err(|error| UsageError::new(format!("{}: {error}", args.target.display())))
}

/// What will be written, and for how long.
fn budget(terms: &PtsTerms, plan: &WritePlan) -> String {
    let line = iolite_report::write_plan::line(plan).unwrap_or_default();
    let shown = terms.target.display();
    let endurance = if plan.drives.is_empty() { "; compare with the drive's rated endurance" } else { "" };
    format!(
        "{shown} is overwritten ({line}, including purging and preconditioning; less if steady state comes earlier){endurance}"
    )
}

/// Refuses a sparse file that the file system has no space for, whatever is to be left free.
fn check_space(terms: &PtsTerms, missing: Bytes, filesystem: &Filesystem) -> Result<(), UsageError> {
    let free = filesystem.free;
    if filesystem.size.0 == 0 || missing <= free {
        return Ok(());
    }
    Err(UsageError::new(format!(
        "{} is sparse: writing it takes {missing}, and {free} are free: specify a smaller --size, or a smaller file",
        terms.target.display()
    )))
}

/// What the user allows to be overwritten.
fn allowed(args: &PtsArgs, terms: &PtsTerms, plan: &WritePlan) -> anyhow::Result<iolite_engine::Overwriting> {
    let same = |path: &PathBuf| path.canonicalize().is_ok_and(|path| path == terms.target);
    match &args.allow_overwrite {
        Some(path) if same(path) => {
            let device = std::fs::metadata(path).is_ok_and(|there| there.file_type().is_block_device());
            setup::named_devices(if device { std::slice::from_ref(path) } else { &[] })
        }
        Some(path) => {
            let message = format!(
                "--allow-overwrite {} differs from the target {}: specify the same path",
                path.display(),
                args.target.display()
            );
            Err(UsageError::new(message).into())
        }
        None => {
            let shown = args.target.display();
            let message = format!("{}; to confirm, add --allow-overwrite {shown}", budget(terms, plan));
            Err(UsageError::new(message).into())
        }
    }
}

/// The run that is to be resumed, and its events.
fn earlier(args: &PtsArgs, name: &str, terms: &PtsTerms) -> anyhow::Result<(Run, Vec<Event>)> {
    let path = setup::stored_results(args.output.results.clone())?;
    let store = Store::open(&path)?;
    let id = store.find(name).map_err(UsageError::new)?;
    let events = store.events(&id)?;
    let run = Run::of(&events).ok_or_else(|| UsageError::new(format!("run {id} has no start record")))?;
    let Some(theirs) = run.concluded::<PtsTerms>().next() else {
        let message =
            format!("run {id} is not a run of `iolite pts`: specify another run (see `iolite results list`)");
        return Err(UsageError::new(message).into());
    };
    if theirs.device != terms.device {
        let message = format!(
            "run {id} measured another device at {} ({}), this one is {}: specify the same device to resume it",
            theirs.target.display(),
            theirs.device,
            terms.device
        );
        return Err(UsageError::new(message).into());
    }
    if theirs != *terms {
        let message = format!(
            "run {id} has other arguments (target, tests, scale, sizes, threads or depth): repeat the same arguments to resume it"
        );
        return Err(UsageError::new(message).into());
    }
    Ok((run, events))
}
