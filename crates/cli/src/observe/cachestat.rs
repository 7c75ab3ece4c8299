//! `iolite observe cachestat`: hits and misses of the page cache.

use std::io;
use std::path::Path;

use clap::Args;
use iolite_engine::Control;
use iolite_model::{Concluded, Nanos};
use iolite_report::cachestat::{CacheLines, summary};
use iolite_results::RunRequest;
use iolite_session::{CacheStatWatch, Session, Setup, ending};
use iolite_suites::SingleStep;

use super::schedule;
use crate::exit::{self, Exit};
use crate::shared_args::OutputArgs;
use crate::{output, setup, signals};

const EXAMPLES: &str = "\
Examples:
  One line per second for half a minute, then a summary:
      sudo iolite observe cachestat
  During an hour of a database's work; `iolite results show` prints the lines again:
      sudo iolite observe cachestat --interval 10s --duration 1h

Counted for all programs on the host, in pages, with these tracepoints:
  hits     lookups by read(2) and similar calls (mm_filemap_get_pages), and page
           faults on mapped files (mm_filemap_fault, mm_filemap_map_pages), minus
           the misses
  misses   pages added to the page cache for reading, including read-ahead
           (mm_filemap_add_to_page_cache, without pages that are dirtied at once)
  created  pages added for writing, without a read
Dirtied bytes, reads from devices and the size of the cache are counters of /proc/vmstat and /proc/meminfo.

Not counted: direct I/O, which bypasses the page cache (it is included in the reads from devices); accesses to pages that are \
already mapped; the caches of databases, devices and hypervisors; file systems that do not use the kernel's generic read path \
(ZFS). A read beyond the end of a file counts with its requested length.

Tracing requires root privileges and tracefs. Without them, only the counters are printed, with the reason. The kernel formats \
each lookup as text, which takes about 2 microseconds of CPU time per read(2). Lost events are counted and reported.";

/// `iolite observe cachestat` as typed.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{}", exit::TABLE))]
pub(super) struct CachestatArgs {
    /// Time to observe; Ctrl-C ends it early and keeps the readings
    #[arg(long, value_name = "TIME", default_value = "30s")]
    duration: Nanos,

    /// Time between lines
    #[arg(long, value_name = "TIME", default_value = "1s")]
    interval: Nanos,

    #[command(flatten)]
    output: OutputArgs,
}

/// Observes the page cache.
///
/// # Errors
/// The arguments are invalid, or the host has no counters.
pub(super) fn run(args: &CachestatArgs) -> anyhow::Result<Exit> {
    let control = Control::new(signals::interrupt_flag()?);
    let schedule = schedule(args.duration, args.interval)?;
    let mut watch = CacheStatWatch::open()?;
    let CachestatArgs { output: OutputArgs { results, json, view }, .. } = args;
    let as_they_come = !json && !view.quiet && !view.live;
    let shown = if as_they_come {
        setup::served(view.prometheus, || {
            Box::new(CacheLines::new(Box::new(io::stdout()), output::style(), signals::interrupt))
        })?
    } else {
        setup::asked_view(view, args.duration)?
    };
    let setup = Setup { directory: None, results: setup::usable_results(results.clone())?, view: shown };
    let storage = iolite_observe::storage(Path::new("/"))?;
    let mut session = Session::begin_sampling(setup::run_info(storage), setup, schedule, &control)?;
    session.conclude(Concluded::of(&RunRequest::new("cachestat", "")));
    let failure = session.drive(&mut SingleStep::new(args.duration), &mut watch).err();
    let run = session.end(ending(failure, &control));
    if as_they_come {
        output::print_rendered(&format!("\n{}", summary(&run, output::style())))?;
    } else {
        output::run(&run, args.output.format())?;
    }
    Ok(exit::of_run(&run))
}
