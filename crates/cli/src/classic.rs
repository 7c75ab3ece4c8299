//! `iolite classic`: the classic disk performance tests (dd, Bonnie++, IOzone) on a directory.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use iolite_engine::Control;
use iolite_model::{Bytes, ClassicTerms, Concluded, Ending, Filesystem, Host, Nanos, WritePlan};
use iolite_results::{Run, RunRequest};
use iolite_session::{Environment, Session};
use iolite_suites::{Classic, ClassicPreparation, ClassicRequest, ClassicTest};

use crate::conduct::conduct;
use crate::exit::{self, Exit, UsageError, refuse};
use crate::shared_args::OutputArgs;
use crate::writes::WriteArgs;
use crate::{setup, signals};

const EXAMPLES: &str = "\
Examples:
  The dd test, with sizes derived from the memory size:
      iolite classic dd /var/lib/postgresql
  All three tests with 4 GiB each, and a verdict (the page cache is dropped before each reading phase):
      iolite classic all /data --size 4GiB
  Convert Bonnie++'s table to HTML with its own converter:
      iolite classic bonnie /data --json | jq -r .bonnie.csv | bon_csv2html > bonnie.html
  IOzone with 6 processes of 4 GiB each:
      iolite classic iozone /data --processes 6 --size 24GiB --block 8KiB

Files are placed in a hidden directory inside DIR and are removed at the end. docs/suites.md describes the differences from \
the original programs, the reasons, and how to reproduce their figures.";

/// `iolite classic` as typed.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{}", exit::TABLE))]
pub(crate) struct ClassicArgs {
    /// Test to run
    #[arg(value_name = "TEST")]
    pub(crate) test: TestArg,

    /// Directory on the storage to test
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,

    /// Total data size of each test [default: 2 times the memory for dd, 1.5 times for Bonnie++ and IOzone]
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Option<Bytes>,

    /// Size of each operation; tests that transfer single bytes ignore it
    #[arg(long, value_name = "SIZE", default_value = "8KiB")]
    pub(crate) block: Bytes,

    /// Bonnie++: number of concurrent copies of each phase
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) concurrency: u32,

    /// Bonnie++: number of files to create, look up and remove; 0 skips these phases
    #[arg(long, value_name = "N", default_value = "16384", value_parser = clap::value_parser!(u64).range(0..=100_000_000))]
    pub(crate) files: u64,

    /// IOzone: number of processes, each with its own file
    #[arg(long, value_name = "N", default_value = "6", value_parser = clap::value_parser!(u32).range(2..=256))]
    pub(crate) processes: u32,

    /// Do not drop the page cache before reading phases, like the original programs. With data smaller than the memory, these
    /// phases then measure memory
    #[arg(long)]
    pub(crate) keep_cache: bool,

    #[command(flatten)]
    pub(crate) writes: WriteArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Which test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TestArg {
    /// Write a file, write a second file, read the first one
    Dd,
    /// Bonnie++: output, rewrite, input, seeks; files created, looked up, removed
    Bonnie,
    /// IOzone's tests 0 to 5 and 8 with several processes
    Iozone,
    /// All tests in sequence
    All,
}

/// Runs the tests.
///
/// # Errors
/// The directory can't be used, or has too little space. A failure later is part of what is printed.
pub(crate) fn run(args: ClassicArgs) -> anyhow::Result<Exit> {
    let directory = setup::writable_directory(&args.directory)?;
    let storage = iolite_observe::storage(&directory)?;
    let terms = terms(&args, &iolite_observe::host())?;
    check_space(&args, &terms, &storage.filesystem)?;
    let control = Control::new(signals::interrupt_flag()?);
    let mut procedure = Classic::new(terms.clone());
    // Files are removed between the tests.
    let limits = args.writes.limits();
    let plan = WritePlan { space: Classic::space(&terms), ..limits.plan(procedure.steps(), &storage) };
    let plan = args.writes.accept(plan, &storage, args.output.view.quiet)?;
    let mut session = setup::begin(storage, Some(&directory), &args.output, Nanos(0), &control)?;
    session.plan_writes(&plan);
    session.conclude(Concluded::of(&RunRequest::new("classic", directory.display().to_string())));
    session.conclude(Concluded::of(&terms));
    let run = conduct(session, &mut procedure, &mut Files, &args.output)?;
    Ok(exit_of(&run))
}

/// Removes files between the tests.
struct Files;

impl Environment<Classic> for Files {
    fn prepare(
        &mut self,
        session: &mut Session<'_>,
        _: &mut Classic,
        preparation: ClassicPreparation,
    ) -> iolite_session::Result<()> {
        let ClassicPreparation::Remove(files) = preparation;
        Ok(files.iter().try_for_each(|file| session.scratch().remove(file))?)
    }
}

/// Sizes from the arguments and the memory.
fn terms(args: &ClassicArgs, host: &Host) -> Result<ClassicTerms, UsageError> {
    let tests = match args.test {
        TestArg::Dd => vec![ClassicTest::Dd],
        TestArg::Bonnie => vec![ClassicTest::Bonnie],
        TestArg::Iozone => vec![ClassicTest::Iozone],
        TestArg::All => ClassicTest::ALL.to_vec(),
    };
    let request = ClassicRequest {
        tests,
        size: args.size,
        block: args.block,
        concurrency: args.concurrency,
        files: args.files,
        processes: args.processes,
        keep_cache: args.keep_cache,
    };
    Classic::terms(&request, host.memory).map_err(UsageError::new)
}

/// Whether the files fit.
fn check_space(args: &ClassicArgs, terms: &ClassicTerms, filesystem: &Filesystem) -> Result<(), UsageError> {
    let needed = Classic::space(terms);
    if filesystem.size.0 == 0 || needed <= filesystem.free {
        return Ok(());
    }
    let remedy = match args.size {
        Some(_) => "specify a smaller --size",
        None => {
            "sizes are derived from the memory size: free some space, or specify --size (the page cache is dropped before \
             reading phases)"
        }
    };
    refuse!(
        "the test files take {needed} and {} has {} free: {remedy}",
        args.directory.display(),
        filesystem.free
    );
}

fn exit_of(run: &Run) -> Exit {
    match &run.ending {
        Some(Ending::Completed) => run.verdict.as_ref().map_or(Exit::Fit, |verdict| verdict.fitness.into()),
        Some(Ending::Failed(_)) => Exit::Failure,
        Some(Ending::Interrupted) | None => Exit::Interrupted,
    }
}
