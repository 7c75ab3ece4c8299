//! Making a database and its globals, counting, and taking it all away again.

use std::sync::Arc;

use clap::Args;
use iolite_db::{DatabaseUrl, Error};
use iolite_engine::Control;
use iolite_model::{Bytes, CopiedWrites, WritePlan};
use iolite_oltp::ran::{self, Adapter, NewBlocks, Settings, check_replacing};
use iolite_report::{ProgressUnit, count};
use iolite_session::{DatabaseStorage, answered};
use iolite_suites::small_database;

use super::options::DatabaseArgs;
use super::refused::refused;
use super::runs::measuring_on;
use super::tool::Tool;
use crate::exit::{Exit, UsageError, refuse};
use crate::loading::{given_up, in_directory_of, long};
use crate::writes::{WriteArgs, show_copies};
use crate::{output, setup, signals};

/// `setup` as typed.
#[derive(Debug, Args)]
pub(crate) struct SetupArgs {
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,

    /// Total size of the blocks to read; should be at least twice the memory and four times the storage controller's cache
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    pub(crate) size: Bytes,

    /// Size of a block [default: 8KiB; MariaDB: its page size]: SQLite 4KiB to 64KiB, GT.M 4KiB to 60KiB, PostgreSQL 8KiB to 128KiB
    /// (a range of its blocks: up to version 16 read block by block, from 17 on with combined reads); MariaDB has one size
    #[arg(long, value_name = "SIZE")]
    pub(crate) block_size: Option<Bytes>,

    /// Write the rows of the blocks to the binary log too, so that replicas have them (MariaDB, MySQL)
    #[arg(long)]
    pub(crate) binary_log: bool,

    #[command(flatten)]
    pub(crate) writes: WriteArgs,

    /// Cache size of the storage controller, to warn if the database is too small
    #[arg(long, value_name = "SIZE")]
    pub(crate) controller_cache: Option<Bytes>,

    /// Print no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// `create-globals` as typed.
#[derive(Debug, Args)]
pub(crate) struct CreateGlobalsArgs {
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,

    /// Number of globals: at least the number of writing jobs
    #[arg(long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u32).range(1..=9999))]
    pub(crate) globals: u32,

    /// Number of subscripts in each global; with more subscripts, fewer sets fall into the same block
    #[arg(long, value_name = "N", default_value = "1000000", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) subscripts: u64,

    /// Remove existing globals first
    #[arg(long)]
    pub(crate) replace: bool,

    #[command(flatten)]
    pub(crate) writes: WriteArgs,

    /// Print no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// `add-globals` as typed.
#[derive(Debug, Args)]
pub(crate) struct AddGlobalsArgs {
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,

    /// Total number of globals
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=9999))]
    pub(crate) globals: u32,

    /// Number of subscripts in each new global [default: that of the first global]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) subscripts: Option<u64>,

    #[command(flatten)]
    pub(crate) writes: WriteArgs,

    /// Print no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// Makes a database with blocks to read.
///
/// # Errors
/// It can't be made; what was made of it has then been removed.
pub(super) fn setup(tool: Tool, args: &SetupArgs) -> anyhow::Result<Exit> {
    let control = Control::new(signals::interrupt_flag()?);
    let url = DatabaseUrl::parse(&args.database.db).map_err(refused)?;
    in_directory_of(&url, || setup_in(tool, args, &control))
}

fn setup_in(tool: Tool, args: &SetupArgs, control: &Control) -> anyhow::Result<Exit> {
    let (url, database) = open(&args.database, control)?;
    let local = database.instance().files().map_err(refused)?.here;
    let memory = local.then(|| iolite_observe::host().memory);
    for caveat in small_database(args.size, memory, args.controller_cache) {
        output::note(&format!("warning: {caveat}"));
    }
    let blocks = NewBlocks { size: args.size, block: args.block_size, binary_log: args.binary_log };
    plan(&url, database.as_ref(), &args.writes, args.size, args.quiet)?;
    let rows = CopiedWrites {
        skipped: !args.binary_log,
        ..CopiedWrites::of("the rows of the blocks", Some(args.size))
    };
    show_copies(database.instance().as_ref(), &rows).map_err(refused)?;
    let mut begun = false;
    let made = long(control, args.quiet, "blocks", ProgressUnit::Bytes, |progress| {
        database.create_blocks(&blocks, &mut |done, total| {
            begun = true;
            progress(done, total)
        })
    });
    if let Err(error) = made {
        // What was there before, or is somebody else's, is not taken away.
        if !begun {
            return Err(refused(error));
        }
        let interrupted = matches!(error, Error::Cancelled) && control.interrupted();
        return given_up(interrupted, refused(error), database.purge(), &format!("purge --db {url}"));
    }
    let (size, blocks) = (database.size().map_err(refused)?, database.blocks().map_err(refused)?);
    let (command, again) = (tool.command(), as_given(&args.database.db));
    output::print(&format!(
        "{url}: {size}, {} blocks to read\n{}",
        count(blocks),
        if tool.writes() {
            format!("To write, create globals: iolite {command} create-globals --db {again}\n")
        } else {
            format!("Ready: iolite {command} run --db {again}\n")
        }
    ))?;
    Ok(Exit::Fit)
}

/// Plans and shows what loading so much writes.
///
/// # Errors
/// It does not keep the limits.
fn plan(
    url: &DatabaseUrl,
    database: &dyn Adapter,
    writes: &WriteArgs,
    data: Bytes,
    quiet: bool,
) -> anyhow::Result<()> {
    let storage = DatabaseStorage::find(url, database.instance().as_ref()).map_err(refused)?.storage;
    let bytes = database.instance().bulk_writes(data).map_err(refused)?;
    writes.accept(WritePlan { bytes, space: data, ..WritePlan::default() }, &storage, quiet)?;
    Ok(())
}

/// Makes the globals.
///
/// # Errors
/// There are some already, or they can't be made.
pub(super) fn create_globals(args: &CreateGlobalsArgs) -> anyhow::Result<Exit> {
    let control = Control::new(signals::interrupt_flag()?);
    let (url, database) = open(&args.database, &control)?;
    let new = Globals { count: args.globals, subscripts: args.subscripts };
    new.plan(&url, database.as_ref(), &args.writes, args.quiet)?;
    if args.replace {
        refuse_while_measuring(&url)?;
        check_replacing(database.as_ref(), args.globals, args.subscripts).map_err(refused)?;
        database.drop_globals().map_err(refused)?;
    }
    let there = database.sizes().map_err(refused)?.len() as u32;
    if there > 0 {
        return Err(
            UsageError::new(Error::Globals { place: url.to_string(), globals: there }.to_string()).into()
        );
    }
    fill(&control, database.as_ref(), new, args.quiet)
}

/// Adds globals.
///
/// # Errors
/// There is nothing to add, or they can't be made.
pub(super) fn add_globals(args: &AddGlobalsArgs) -> anyhow::Result<Exit> {
    let control = Control::new(signals::interrupt_flag()?);
    let (url, database) = open(&args.database, &control)?;
    let sizes = database.sizes().map_err(refused)?;
    let there = sizes.len() as u32;
    if args.globals <= there {
        refuse!(
            "{url} already has {there} globals: --globals is the total number of globals, so specify more than {there}"
        );
    }
    let Some(subscripts) = args.subscripts.or(sizes.first().copied()) else {
        refuse!("{url} has no globals to derive the size from: specify --subscripts, or use create-globals");
    };
    let new = Globals { count: args.globals - there, subscripts };
    new.plan(&url, database.as_ref(), &args.writes, args.quiet)?;
    fill(&control, database.as_ref(), new, args.quiet)
}

/// Globals that are to be created.
#[derive(Debug, Clone, Copy)]
struct Globals {
    count: u32,
    subscripts: u64,
}

impl Globals {
    /// Plans and shows what creating them writes, and where that goes.
    ///
    /// # Errors
    /// It does not keep the limits.
    fn plan(
        self,
        url: &DatabaseUrl,
        database: &dyn Adapter,
        writes: &WriteArgs,
        quiet: bool,
    ) -> anyhow::Result<()> {
        let data = Bytes(database.global_size(self.subscripts).0.saturating_mul(self.count.into()));
        plan(url, database, writes, data, quiet)?;
        let rows = CopiedWrites::of("the globals", Some(data));
        show_copies(database.instance().as_ref(), &rows).map_err(refused)
    }
}

fn fill(control: &Control, database: &dyn Adapter, new: Globals, quiet: bool) -> anyhow::Result<Exit> {
    let Globals { count: globals, subscripts } = new;
    let first = database.sizes().map_err(refused)?.len() + 1;
    let made = long(control, quiet, "globals", ProgressUnit::Subscripts, |progress| {
        database.add_globals(globals, subscripts, progress)
    });
    match made {
        Ok(()) => {}
        Err(Error::Cancelled) if control.interrupted() => {
            output::note("interrupted: incomplete globals were removed");
            return Ok(Exit::Interrupted);
        }
        // Nothing was begun.
        Err(error @ (Error::Layout { .. } | Error::NoSpace { .. })) => return Err(refused(error)),
        Err(error) => return Err(refused(error).context("incomplete globals were removed")),
    }
    let (subscripts, last) = (count(subscripts), first + globals as usize - 1);
    output::print(&if first == last {
        format!("RanWriteGlobal{first}: {subscripts} subscripts\n")
    } else {
        format!("RanWriteGlobal{first} to RanWriteGlobal{last}: {subscripts} subscripts each\n")
    })?;
    Ok(Exit::Fit)
}

/// Counts the subscripts.
///
/// # Errors
/// They can't be counted.
pub(super) fn count_subscripts(args: &DatabaseArgs) -> anyhow::Result<Exit> {
    let control = Control::new(signals::interrupt_flag()?);
    let (_, database) = open(args, &control)?;
    let counted = long(&control, false, "counting", ProgressUnit::Subscripts, |progress| {
        database.count_subscripts(progress)
    });
    let counts = match counted {
        Ok(counts) => counts,
        Err(Error::Cancelled) if control.interrupted() => return Ok(Exit::Interrupted),
        Err(error) => return Err(refused(error)),
    };
    let mut text = format!("Globals: {}\n", counts.len());
    for (number, subscripts) in (1..).zip(&counts) {
        text += &format!("Subscripts in RanWriteGlobal{number}: {subscripts}\n");
    }
    text += &format!("Subscripts in all: {}\n", counts.iter().sum::<u64>());
    output::print(&text)?;
    Ok(Exit::Fit)
}

/// Prints the recorded sizes as PerfTools do.
///
/// # Errors
/// There is no database.
pub(super) fn get_sizes(args: &DatabaseArgs) -> anyhow::Result<Exit> {
    let (_, database) = open(args, &Control::new(signals::interrupt_flag()?))?;
    let sizes = database.sizes().map_err(refused)?;
    let line = std::iter::once(sizes.len() as u64).chain(sizes.iter().copied());
    let line: Vec<String> = line.map(|number| number.to_string()).collect();
    output::print(&format!("{}\n", line.join(",")))?;
    Ok(Exit::Fit)
}

/// Removes what setup has created.
///
/// # Errors
/// It can't be removed, or it is not ours.
pub(super) fn purge(args: &DatabaseArgs) -> anyhow::Result<Exit> {
    let (url, database) = open(args, &Control::new(signals::interrupt_flag()?))?;
    refuse_while_measuring(&url)?;
    database.purge().map_err(refused)?;
    output::print(&format!("{url}: everything created by iolite was removed\n"))?;
    Ok(Exit::Fit)
}

/// A URL to be typed again into a shell; one with a password is not repeated.
fn as_given(url: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/:.@-_%+,=".contains(c);
    match iolite_db::without_password(url) {
        shown if shown != url => "URL".into(),
        shown if shown.chars().all(plain) => shown,
        shown => format!("'{}'", shown.replace('\'', "'\\''")),
    }
}

/// Nothing is taken away under a run that works on it.
fn refuse_while_measuring(url: &DatabaseUrl) -> anyhow::Result<()> {
    measuring_on(url, None, false).map_or(Ok(()), |run| {
        refuse!(
            "run {run} is measuring on {url}: wait until it ends, or stop it (`stop {run}` of the tool that started it)"
        );
    })
}

/// The database, which answers.
fn open(args: &DatabaseArgs, control: &Control) -> anyhow::Result<(DatabaseUrl, Arc<dyn Adapter>)> {
    let url = setup::database(&args.db).map_err(refused)?;
    let database = ran::open(&url, Settings::default()).map_err(refused)?;
    let asked = database.clone();
    answered(control, move || asked.instance().files().map(drop).map_err(refused))?;
    Ok((url, database))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_can_be_typed_again() {
        assert_eq!(as_given("sqlite:/data/ran"), "sqlite:/data/ran");
        assert_eq!(as_given("postgres:///d?host=/t&port=1"), "'postgres:///d?host=/t&port=1'");
        assert_eq!(as_given("gtm:it's"), "'gtm:it'\\''s'");
        assert_eq!(as_given("mysql://me:secret@h/d"), "URL");
    }
}
