//! Making, counting and removing globals: a table each.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::mpsc::{self, Sender};

use iolite_model::Bytes;
use postgres::{Client, IsolationLevel};

use super::super::contract::Progress;
use super::super::layout::validate;
use super::RanPostgres;
use super::catalogue::{self, Listed, enter, qualified};
use super::setup::broken;
use iolite_db::postgres::Target;
use iolite_db::postgres::copy::Rows;
use iolite_db::postgres::files;
use iolite_db::{Error, Result};

/// Connections that fill globals at once: as one waits for its commit, another copies.
const CONNECTIONS: u32 = 2;
/// Percent of a page that rows take at first. The rest takes the new versions of rows that sets make: they then stay on
/// their page (heap-only tuples), leave the index alone, and are tidied up when the page is next looked at.
pub(super) const FILLFACTOR: u32 = 90;
/// Most subscripts of one global: a table has at most 2^32 pages.
pub(super) const MAX_SUBSCRIPTS: u64 = (1 << 37) - 1;
/// Rows between two reports of progress.
const REPORT: u64 = 20_000;
/// Tables dropped in one transaction: each takes several entries of the server's table of locks.
pub(super) const DROPPED_AT_ONCE: usize = 200;
/// Blocks counted at once: 128 MiB.
const COUNTED_AT_ONCE: u64 = 16_384;
/// Memory for building an index: a million subscripts are sorted within it.
const INDEX_MEMORY: &str = "SET maintenance_work_mem = '128MB'; SET max_parallel_maintenance_workers = 0";

/// Size in bytes of a global's value at a subscript; it stays with each set.
pub(super) fn value_size(subscript: u64) -> usize {
    50 + (subscript % 51) as usize
}

/// Bytes that a global of so many subscripts takes: a row of 116 on average with its line pointer, on pages that are full to
/// [`FILLFACTOR`], and its entry of 20 in an index that is full to 90 %: 152.4 were measured on version 15.
pub(super) fn size(subscripts: u64) -> Bytes {
    Bytes(subscripts.saturating_mul(154).saturating_add(5 * 8192))
}

/// What to add.
struct Plan {
    first: u32,
    last: u32,
    subscripts: u64,
}

/// As [`Adapter::add_globals`](super::super::Adapter::add_globals).
pub(super) fn add(
    database: &RanPostgres,
    count: u32,
    subscripts: u64,
    progress: &mut Progress<'_>,
) -> Result<()> {
    let target = &*database.target;
    let mut client = target.connect()?;
    super::lock::making(target, &mut client)?;
    let catalogue = catalogue::complete(target, &mut client)?;
    let there = catalogue.whole().len() as u32;
    validate(there, count, subscripts, MAX_SUBSCRIPTS)?;
    for global in catalogue.whole() {
        present(target, global)?;
    }
    remove(target, &mut client, catalogue.leftovers())?;
    files::check_space(target, &mut client, size(subscripts).0.saturating_mul(count.into()))?;
    let first = there + 1;
    let plan = Plan { first, last: first + count - 1, subscripts };
    let result = fill(target, &plan, progress);
    if result.is_err() {
        // What is whole and follows a gap: it would be taken for rubbish by the next call, and takes space until then. A
        // failure here is no news after the first.
        let _ = catalogue::complete(target, &mut client)
            .and_then(|catalogue| remove(target, &mut client, catalogue.leftovers()));
        return result;
    }
    files::checkpoint(target, &mut client).map(drop)
}

/// A global's identity.
///
/// # Errors
/// [`Error::GlobalMissing`] when its table is not there.
pub(super) fn present(target: &Target, global: &Listed) -> Result<u32> {
    global
        .oid
        .ok_or_else(|| Error::GlobalMissing { global: global.name.clone(), place: target.place().to_owned() })
}

/// Fills globals over several connections, and reports how far they are.
fn fill(target: &Target, plan: &Plan, progress: &mut Progress<'_>) -> Result<()> {
    let total = u64::from(plan.last - plan.first + 1) * plan.subscripts;
    let next = AtomicU32::new(plan.first);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        let (mut workers, mut started) = (Vec::new(), Ok(()));
        for _ in 0..CONNECTIONS.min(plan.last - plan.first + 1) {
            let sender = sender.clone();
            let (next, stop) = (&next, &stop);
            let worker = move || {
                let done = work(target, plan, next, stop, &sender);
                if done.is_err() {
                    stop.store(true, Relaxed);
                }
                done
            };
            match std::thread::Builder::new().spawn_scoped(scope, worker) {
                Ok(worker) => workers.push(worker),
                Err(error) => {
                    stop.store(true, Relaxed);
                    started = Err(Error::thread(error));
                    break;
                }
            }
        }
        drop(sender);
        let mut done = 0;
        for rows in receiver {
            done += rows;
            if progress(done, total).is_break() {
                stop.store(true, Relaxed);
            }
        }
        let results = workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        first_cause(std::iter::once(started).chain(results))
    })
}

/// Of several results the one to report: a failure rather than the cancelling that followed from it.
fn first_cause(results: impl Iterator<Item = Result<()>>) -> Result<()> {
    let mut reported = Ok(());
    for result in results {
        if result.is_err() && matches!(reported, Ok(()) | Err(Error::Cancelled)) {
            reported = result;
        }
    }
    reported
}

fn work(target: &Target, plan: &Plan, next: &AtomicU32, stop: &AtomicBool, done: &Sender<u64>) -> Result<()> {
    let mut client = target.connect()?;
    client.batch_execute(INDEX_MEMORY).map_err(|e| target.failed("configure a session of", e))?;
    let mut reported = 0;
    let mut report = |rows: u64| {
        // The receiver is gone only when nobody wants to know any more.
        let _ = done.send(rows - reported);
        reported = if rows == plan.subscripts { 0 } else { rows };
        if stop.load(Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    loop {
        let number = next.fetch_add(1, Relaxed);
        if number > plan.last {
            return Ok(());
        }
        table(target, &mut client, number, plan.subscripts, &mut report)?;
        // Otherwise autovacuum does this during the first run, for so many new rows. Of frozen pages it reads a sample only.
        let vacuum = format!("VACUUM (ANALYZE) {}", qualified(&format!("{}{number}", super::GLOBAL)));
        client.batch_execute(&vacuum).map_err(|e| target.failed("vacuum a new global in", e))?;
    }
}

/// One global, in one transaction: there in whole or not at all. The index is made when the rows are there, and the rows are
/// frozen, so that the first sets do not pay for tidying up after this.
fn table(
    target: &Target,
    client: &mut Client,
    number: u32,
    subscripts: u64,
    report: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<()> {
    let failed = |e| target.failed("fill a global in", e);
    let name = format!("{}{number}", super::GLOBAL);
    let table = qualified(&name);
    let mut transaction = client.transaction().map_err(failed)?;
    let create = format!(
        "CREATE TABLE {table} (subscript bigint NOT NULL, value bytea NOT NULL) WITH (fillfactor = {FILLFACTOR})"
    );
    transaction.batch_execute(&create).map_err(failed)?;
    let copy =
        transaction.copy_in(&format!("COPY {table} FROM STDIN (FORMAT binary, FREEZE)")).map_err(failed)?;
    let mut rows = Rows::new(copy);
    for subscript in 1..=subscripts {
        rows.row(2).map_err(|e| broken(target, e))?;
        rows.bigint(subscript.cast_signed());
        rows.noise(value_size(subscript));
        if subscript.is_multiple_of(REPORT) && subscript < subscripts && report(subscript).is_break() {
            return Err(Error::Cancelled);
        }
    }
    rows.end().map_err(|e| broken(target, e))?.finish().map_err(failed)?;
    transaction.batch_execute(&format!("ALTER TABLE {table} ADD PRIMARY KEY (subscript)")).map_err(failed)?;
    enter(&mut transaction, "global", number, &name, subscripts).map_err(failed)?;
    if report(subscripts).is_break() {
        return Err(Error::Cancelled);
    }
    transaction.commit().map_err(failed)
}

/// Drops globals, the last first, so that what is left when this is interrupted has no gap.
pub(super) fn remove(target: &Target, client: &mut Client, globals: &[Listed]) -> Result<()> {
    for some in globals.rchunks(DROPPED_AT_ONCE) {
        drop_tables(target, client, "global", some)?;
    }
    Ok(())
}

/// Drops tables of the catalogue, and their entries, in one transaction.
pub(super) fn drop_tables(target: &Target, client: &mut Client, kind: &str, tables: &[Listed]) -> Result<()> {
    let failed = |e| target.failed("drop iolite's tables in", e);
    let Some(names) = tables.iter().map(Listed::sql).reduce(|all, one| format!("{all}, {one}")) else {
        return Ok(());
    };
    let numbers: Vec<i32> = tables.iter().map(|table| table.number.cast_signed()).collect();
    let mut transaction = client.transaction().map_err(failed)?;
    transaction.batch_execute(&format!("DROP TABLE IF EXISTS {names}")).map_err(failed)?;
    let sql = "DELETE FROM iolite.catalogue WHERE kind = $1 AND number = ANY ($2)";
    transaction.execute(sql, &[&kind, &numbers]).map_err(failed)?;
    transaction.commit().map_err(failed)
}

/// As [`Adapter::count_subscripts`](super::super::Adapter::count_subscripts): in pieces, all of one moment's contents.
pub(super) fn count(target: &Target, progress: &mut Progress<'_>) -> Result<Vec<u64>> {
    let mut client = target.connect()?;
    let catalogue = catalogue::complete(target, &mut client)?;
    let globals = catalogue.whole();
    let total = globals.iter().map(|global| global.units).sum();
    let mut counted = Vec::new();
    let mut before = 0;
    for global in globals {
        present(target, global)?;
        let rows = count_one(target, &mut client, global, &mut |rows| progress(before + rows, total))?;
        before += rows;
        counted.push(rows);
    }
    Ok(counted)
}

fn count_one(
    target: &Target,
    client: &mut Client,
    global: &Listed,
    report: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<u64> {
    let failed = |e| target.failed("count subscripts in", e);
    let mut transaction = client
        .build_transaction()
        .isolation_level(IsolationLevel::RepeatableRead)
        .read_only(true)
        .start()
        .map_err(failed)?;
    let sql = "SELECT pg_relation_size(to_regclass($1)) / current_setting('block_size')::bigint";
    let blocks: i64 = transaction.query_one(sql, &[&global.sql()]).map_err(failed)?.get(0);
    let mut rows = 0;
    // Ranges of pages are found without reading the rest since version 14; before, one reading of all is quicker.
    let ranges: bool = transaction
        .query_one("SELECT current_setting('server_version_num')::int >= 140000", &[])
        .map_err(failed)?
        .get(0);
    let step = if ranges { COUNTED_AT_ONCE } else { u64::MAX };
    for from in (0..blocks.unsigned_abs().max(1)).step_by(usize::try_from(step).unwrap_or(usize::MAX)) {
        let end = from.saturating_add(step);
        // What was added behind the last page meanwhile is not of this moment.
        let to = if end > u64::from(u32::MAX) { String::new() } else { format!("AND ctid < '({end},0)'") };
        let sql = format!("SELECT count(*) FROM {} WHERE ctid >= '({from},0)' {to}", global.sql());
        rows += transaction.query_one(&sql, &[]).map_err(failed)?.get::<_, i64>(0).unsigned_abs();
        if report(rows).is_break() {
            return Err(Error::Cancelled);
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_reported_rather_than_what_followed_from_it() {
        let failure = || Err(Error::Url("x".to_owned()));
        for results in [[Err(Error::Cancelled), failure()], [failure(), Err(Error::Cancelled)]] {
            assert!(matches!(first_cause(results.into_iter()), Err(Error::Url(_))));
        }
        assert!(matches!(first_cause([Ok(()), Err(Error::Cancelled)].into_iter()), Err(Error::Cancelled)));
    }
}
