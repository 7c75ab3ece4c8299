//! `build` and `purge`.

use std::hash::{BuildHasher, RandomState};

use iolite_db::{DatabaseUrl, Error};
use iolite_engine::Control;
use iolite_model::{Bytes, CopiedWrites, Durability, WritePlan};
use iolite_oltp::tproc_c::{self, Database, Layout};
use iolite_report::{ProgressUnit, count};
use iolite_session::DatabaseStorage;

use super::args::{BuildArgs, DatabaseArgs};
use super::open::{open, refused};
use crate::exit::{Exit, refuse};
use crate::loading::{given_up, in_directory_of, long};
use crate::writes::show_copies;
use crate::{output, signals};

/// Builds the database.
///
/// # Errors
/// It is there already, or can't be built; what was created until then has been removed.
pub(super) fn build(args: &BuildArgs) -> anyhow::Result<Exit> {
    let control = Control::new(signals::interrupt_flag()?);
    let (url, database) = open(&args.database, Durability::AsConfigured)?;
    in_directory_of(&url, || build_in(args, &url, database.as_ref(), &control))
}

fn build_in(
    args: &BuildArgs,
    url: &DatabaseUrl,
    database: &dyn Database,
    control: &Control,
) -> anyhow::Result<Exit> {
    let seed = args.seed.unwrap_or_else(|| RandomState::new().hash_one(std::process::id()));
    let layout = layout(args, database, seed)?;
    plan(args, url, database, layout)?;
    let mut begun = false;
    let built = long(control, args.quiet, "warehouses", ProgressUnit::Rows, |progress| {
        tproc_c::build(database, layout, args.workers, seed, &mut |done, total| {
            begun = true;
            progress(done, total)
        })
    });
    let Err(error) = built else {
        output::print(&format!("{url}: {}\n", describe(database.layout().map_err(refused)?)))?;
        return Ok(Exit::Fit);
    };
    if !begun {
        return Err(refused(error));
    }
    let interrupted = matches!(error, Error::Cancelled);
    let purge = format!("iolite tproc-c purge --db {url}");
    given_up(interrupted, refused(error), database.purge(), &purge)
}

/// What is to be built.
///
/// # Errors
/// The database cannot have it.
fn layout(args: &BuildArgs, database: &dyn Database, seed: u64) -> anyhow::Result<Layout> {
    let layout = Layout::new(args.warehouses, args.reduction, seed).map_err(refused)?;
    match args.partitions {
        None => Ok(layout),
        Some(partitions) if database.partitions_tables() => layout.partitioned(partitions).map_err(refused),
        Some(_) => {
            refuse!("--partitions needs PostgreSQL, MariaDB or MySQL: SQLite has no partitioned tables");
        }
    }
}

/// Plans and shows what the build writes, and where that goes.
///
/// # Errors
/// It does not keep the limits, or does not fit.
fn plan(args: &BuildArgs, url: &DatabaseUrl, database: &dyn Database, layout: Layout) -> anyhow::Result<()> {
    let (instance, data) = (database.instance(), Bytes(layout.bytes()));
    let files = instance.files().map_err(refused)?;
    if let Some(directory) = files.data.filter(|directory| directory.is_dir()) {
        iolite_db::space::check_space(&directory, data).map_err(refused)?;
    }
    let storage = DatabaseStorage::find(url, instance.as_ref()).map_err(refused)?.storage;
    let bytes = instance.bulk_writes(data).map_err(refused)?;
    args.writes.accept(WritePlan { bytes, space: data, ..WritePlan::default() }, &storage, args.quiet)?;
    show_copies(instance.as_ref(), &CopiedWrites::of("the tables", Some(data))).map_err(refused)
}

fn describe(layout: Layout) -> String {
    let warehouses = count(layout.warehouses.into());
    let reduced = match layout.reduction {
        1 => String::new(),
        n => format!(", REDUCED to 1/{n} of the specification's cardinalities"),
    };
    let partitions = match layout.partitions {
        1 => String::new(),
        n => format!(", large tables in {n} partitions"),
    };
    let loaders = if layout.loaders == 1 { "session" } else { "sessions" };
    format!(
        "{warehouses} {}, {} items, {} customers in each district{partitions}, loaded by {} {loaders}{reduced}",
        if layout.warehouses == 1 { "warehouse" } else { "warehouses" },
        count(layout.items().into()),
        count(layout.customers().into()),
        layout.loaders
    )
}

/// Removes what build has created.
///
/// # Errors
/// It can't be removed, or it is not ours.
pub(super) fn purge(args: &DatabaseArgs) -> anyhow::Result<Exit> {
    let (url, database) = open(args, Durability::AsConfigured)?;
    database.purge().map_err(refused)?;
    output::print(&format!("{url}: the TPROC-C tables were removed\n"))?;
    Ok(Exit::Fit)
}
