//! Making blocks and globals, and unmaking what did not end.

use std::time::Duration;

use iolite_db::mysql::Rows;
use iolite_model::Bytes;
use mysql::Conn;
use mysql::prelude::Queryable;

use super::super::contract::{NewBlocks, Progress};
use super::super::layout::{proceed, validate};
use super::bulk::{self, Contents, Job};
use super::catalogue::{self, Entry, Kind};
use super::schema::{self, BLOCKS, CATALOGUE, DIGITS, Layout, READS};
use iolite_db::mysql::Context;
use iolite_db::{Error, Result};

/// Mean size of a subscript's row: 75 bytes of value, 8 of key, 13 of InnoDB's own, 3 of lengths, a slot of the page's
/// directory for every few rows, and the sixteenth of each page that may stay free. Measured: 121 MB for a million.
const ROW_BYTES: u64 = 122;
/// A table's file has at least so much, whatever is in it.
const TABLE_BYTES: u64 = 1 << 20;

/// Most subscripts that a global may have: their numbers have far fewer digits than procedures take.
pub(super) const MAX_SUBSCRIPTS: u64 = 10_u64.pow(DIGITS as u32 - 3) - 1;

/// About so many blocks are read to find out how rows lie, so often at most, and the time between, in which the server's
/// own work may end.
const PROBED: u64 = 50;
const PROBES: u32 = 200;
const CALM: Duration = Duration::from_millis(50);

/// About what a global of so many subscripts takes.
pub(super) fn global_size(subscripts: u64) -> Bytes {
    Bytes(subscripts.saturating_mul(ROW_BYTES).saturating_add(TABLE_BYTES))
}

/// See [`Adapter::setup`](super::super::Adapter::setup).
pub(super) fn setup(
    context: &Context,
    conn: &mut Conn,
    new: &NewBlocks,
    progress: &mut Progress<'_>,
) -> Result<()> {
    let layout = Layout::of(context.facts.page());
    let blocks = new.size.0.div_ceil(layout.page);
    let max = 10_u64.pow(DIGITS as u32) / layout.rows;
    if blocks >= max {
        return Err(Error::Layout { what: format!("{blocks} blocks"), limit: max });
    }
    if catalogue::survey(context, conn)?.is_some() {
        return Err(Error::Exists { path: context.path(CATALOGUE) });
    }
    check_space(context, blocks.saturating_mul(layout.page))?;
    let failed = |e| context.target.refusal("make our catalogue in", e);
    conn.query_drop(schema::create_catalogue()).map_err(failed)?;
    let total = blocks * layout.page;
    proceed(progress(0, total))?;
    let entry = Entry { name: BLOCKS.into(), kind: Kind::Blocks, number: 0, amount: blocks, complete: false };
    catalogue::make(context, conn, &entry, &schema::create_blocks(layout))?;
    let procedure = Entry { name: READS.into(), kind: Kind::Procedure, complete: true, ..entry };
    catalogue::make(context, conn, &procedure, &schema::create_reads(layout.data))?;
    let mut report = |rows: u64| proceed(progress(rows / layout.rows * layout.page, total));
    let rows = blocks * layout.rows;
    let contents = Contents::Block(layout.data as usize);
    // By one connection, in order: then the same one of every `Layout::rows` rows begins a page.
    let job = |keys| Job { table: BLOCKS.into(), keys, contents };
    let jobs: Vec<_> = (rows > 0).then(|| job(0..=rows - 1)).into_iter().collect();
    // Nothing ever changes the rows, so that replicas can do without them; tables and catalogue are the same everywhere.
    let logged = new.binary_log || context.facts.is_cluster_node();
    bulk::run(context, &jobs, logged, &mut report, &mut |_| Ok(()))?;
    analyse(context, conn, BLOCKS)?;
    let offset = cheapest_row(conn, layout, blocks)
        .map_err(|e| context.target.refusal("find out how rows lie in the pages of", e))?;
    catalogue::set_amount(context, conn, READS, offset)?;
    catalogue::complete(context, conn, BLOCKS)
}

/// See [`Adapter::add_globals`](super::super::Adapter::add_globals).
pub(super) fn add_globals(
    context: &Context,
    conn: &mut Conn,
    count: u32,
    subscripts: u64,
    progress: &mut Progress<'_>,
) -> Result<()> {
    let there = catalogue::existing(context, conn)?.sizes().len() as u32;
    validate(there, count, subscripts, MAX_SUBSCRIPTS)?;
    check_space(context, global_size(subscripts).0.saturating_mul(count.into()))?;
    // Of an earlier attempt that did not end.
    drop_globals(context, conn, there + 1)?;
    let made = fill_globals(context, conn, there + 1..=there + count, subscripts, progress);
    made.inspect_err(|_| {
        // What can't be removed now is replaced by the next attempt.
        let _ = context.target.open().and_then(|mut conn| {
            let whole = catalogue::existing(context, &mut conn)?.sizes().len() as u32;
            drop_globals(context, &mut conn, whole + 1)
        });
    })
}

fn fill_globals(
    context: &Context,
    conn: &mut Conn,
    numbers: std::ops::RangeInclusive<u32>,
    subscripts: u64,
    progress: &mut Progress<'_>,
) -> Result<()> {
    let mut jobs = Vec::new();
    for number in numbers {
        let table = schema::global(number);
        let entry =
            Entry { name: table.clone(), kind: Kind::Global, number, amount: subscripts, complete: false };
        catalogue::make(context, conn, &entry, &schema::create_global(number))?;
        let procedure = Entry { name: schema::sets(number), kind: Kind::Procedure, complete: true, ..entry };
        catalogue::make(context, conn, &procedure, &schema::create_sets(number))?;
        jobs.push(Job { table, keys: 1..=subscripts, contents: Contents::Value });
    }
    let total = subscripts * jobs.len() as u64;
    // What runs change has to be the same in replicas.
    bulk::run(context, &jobs, true, &mut |rows| proceed(progress(rows, total)), &mut |job| {
        analyse(context, conn, &jobs[job].table)?;
        catalogue::complete(context, conn, &jobs[job].table)
    })
}

/// Which of the rows of a page blocks are to be read by: one within it. Searching for the first one, InnoDB goes down to the
/// last page that begins with less than what it looks for, and so reads the page before as well; after the last one it
/// looks at the next page. Which are the first and the last depends on how the server splits its first page; its own
/// count of page requests shows.
fn cheapest_row(conn: &mut Conn, layout: Layout, blocks: u64) -> mysql::Result<u64> {
    iolite_db::mysql::counters::await_purge(conn)?;
    let statement = conn.prep(format!("SELECT LENGTH(data) FROM {BLOCKS} WHERE number = ?"))?;
    let step = (blocks / PROBED).max(1) as usize;
    let probed = blocks.div_ceil(step as u64);
    let mut costs = vec![0; layout.rows as usize];
    for _ in 0..PROBES {
        for (offset, cost) in costs.iter_mut().enumerate() {
            let before = page_requests(conn)?;
            for block in (0..blocks).step_by(step) {
                conn.exec_drop(&statement, (block * layout.rows + offset as u64,))?;
            }
            *cost = page_requests(conn)?.saturating_sub(before);
        }
        // One page more for each probe of a page's first or last row. Anything else was the server's or somebody else's work.
        let max = costs.iter().max().copied().unwrap_or(0);
        let min = costs.iter().min().copied().unwrap_or(0);
        if (max - min).abs_diff(probed) <= probed / 10 + 1 {
            break;
        }
        std::thread::sleep(CALM);
    }
    Ok(costs.iter().zip(0..).min().map_or(0, |(_, offset)| offset))
}

fn page_requests(conn: &mut Conn) -> mysql::Result<u64> {
    let row: Option<(String, u64)> =
        conn.query_row("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_read_requests'")?;
    Ok(row.map_or(0, |(_, count)| count))
}

/// Removes the globals from this number on.
///
/// # Errors
/// [`Error::Foreign`], before anything is removed.
pub(super) fn drop_globals(context: &Context, conn: &mut Conn, first: u32) -> Result<()> {
    let Some(catalogue) = catalogue::survey(context, conn)? else { return Ok(()) };
    // Backwards: a removal that is interrupted leaves the globals before it.
    for entry in catalogue.from(first.max(1)).collect::<Vec<_>>().into_iter().rev() {
        catalogue::remove(context, conn, entry)?;
    }
    Ok(())
}

/// Where the server's directory can be seen from here.
fn check_space(context: &Context, needed: u64) -> Result<()> {
    let Some(path) = context.facts.files(&context.target).data else { return Ok(()) };
    let Ok(stat) = rustix::fs::statvfs(&path) else { return Ok(()) };
    let free = stat.f_bavail.saturating_mul(stat.f_frsize);
    if needed > free {
        return Err(Error::NoSpace { path, needed: Bytes(needed), free: Bytes(free) });
    }
    Ok(())
}

/// Takes the table's statistics, from which the server also derives its size: never again by itself.
fn analyse(context: &Context, conn: &mut Conn, table: &str) -> Result<()> {
    conn.query_drop(format!("ANALYZE TABLE {table}"))
        .map_err(|e| context.target.refusal("take the statistics of a table in", e))
}
