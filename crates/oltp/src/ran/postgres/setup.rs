//! Making the schema, the catalogue and the blocks to read.

use std::ops::ControlFlow;

use iolite_model::{Bytes, ErrorCause};
use postgres::Client;

use super::super::contract::{NewBlocks, Progress};
use super::super::layout::proceed;
use super::catalogue::{self, SchemaState, enter, qualified};
use super::reading::{self, Reading};
use super::{MARK, RanPostgres, extension};
use iolite_db::postgres::Target;
use iolite_db::postgres::copy::Rows;
use iolite_db::postgres::{Build, files};
use iolite_db::{Error, Result};

/// Bytes of a page that are not a row's payload: the page's header 24, a line pointer 4, the row's header 24, the length of
/// its value 4, and what is left over so that one byte more or less of any of them changes nothing.
const OVERHEAD: u64 = 92;
/// Blocks between two reports of progress: 4 MiB.
const REPORT: u64 = 512;
/// Most pages: the identities of their tables are sent with each batch, and one address holds them all.
const MAX_PAGES: u64 = 1 << 32;

/// As [`Adapter::setup`](super::super::Adapter::setup).
pub(super) fn setup(database: &RanPostgres, new: &NewBlocks, progress: &mut Progress<'_>) -> Result<()> {
    let target = &*database.target;
    let mut client = target.connect()?;
    let build = Build::ask(target, &mut client)?;
    let reading = Reading::new(build, pages_of(build, new.block)?, database.settings.through_buffers);
    super::lock::making(target, &mut client)?;
    match catalogue::find(target, &mut client)? {
        SchemaState::Nothing => {}
        SchemaState::Foreign => return Err(Error::Foreign { path: super::schema(target) }),
        SchemaState::Ours(found) if !found.complete => {
            return Err(Error::Incomplete { path: super::schema(target) });
        }
        SchemaState::Ours(_) => return Err(Error::Exists { path: super::schema(target) }),
    }
    let blocks = new.size.0 / reading.block();
    let (pages, limit) = (blocks.saturating_mul(reading.pages), MAX_PAGES / reading.pages);
    if blocks == 0 || blocks > limit {
        let what = format!("{blocks} blocks of {} to read", Bytes(reading.block()));
        return Err(Error::Layout { what, limit });
    }
    files::check_space(target, &mut client, pages * build.block)?;
    begin(database, &mut client, reading, blocks)?;
    proceed(progress(0, pages * build.block))?;
    // No range goes over from one table to the next.
    let build = Build { segment: build.segment / reading.pages * reading.pages, ..build };
    fill(target, &mut client, build, pages, progress)?;
    let done = "UPDATE iolite.catalogue SET complete = true WHERE kind = 'database'";
    client.execute(done, &[]).map_err(|e| target.failed("finish", e))?;
    files::checkpoint(target, &mut client).map(drop)
}

/// Pages of a block of the size asked for.
///
/// # Errors
/// [`Error::BlockSize`] for what is not a range of 1, 2, 4, 8 or 16 pages.
fn pages_of(build: Build, asked: Option<Bytes>) -> Result<u64> {
    let Some(asked) = asked else { return Ok(1) };
    let pages = asked.0 / build.block;
    if asked.0.is_multiple_of(build.block) && pages.is_power_of_two() && pages <= reading::MAX_PAGES {
        return Ok(pages);
    }
    let own = Bytes(build.block);
    let largest = Bytes(build.block * reading::MAX_PAGES);
    Err(Error::BlockSize {
        database: "PostgreSQL",
        asked,
        why: format!(
            "this server is compiled with blocks of {own} (--with-blocksize), which can be read one by one or in ranges of 2, 4, 8 or \
             16: specify {own} to {largest}, doubled each time"
        ),
    })
}

/// The schema, marked and with its catalogue, and the extensions, all in one transaction.
fn begin(database: &RanPostgres, client: &mut Client, reading: Reading, blocks: u64) -> Result<()> {
    let target = &*database.target;
    let failed = |e| target.failed("create iolite's schema in", e);
    let mut transaction = client.transaction().map_err(failed)?;
    transaction.batch_execute(catalogue::CREATE).map_err(failed)?;
    transaction.batch_execute(&format!("COMMENT ON SCHEMA iolite IS '{MARK}'")).map_err(failed)?;
    enter(&mut transaction, "database", 0, &catalogue::pages_name(reading.pages), blocks).map_err(failed)?;
    extension::create(target, &mut transaction, reading.extension())?;
    transaction.commit().map_err(failed)
}

/// Tables of one file each: pg_prewarm opens all files of a table anew for each block it reads, which in a big table would
/// take longer than the read.
fn fill(
    target: &Target,
    client: &mut Client,
    build: Build,
    blocks: u64,
    progress: &mut Progress<'_>,
) -> Result<()> {
    let mut filled = 0;
    for number in 1.. {
        let here = (blocks - filled).min(build.segment);
        if here == 0 {
            break;
        }
        let mut report = |more: u64| progress((filled + more) * build.block, blocks * build.block);
        table(target, client, build, number, here, &mut report)?;
        filled += here;
    }
    Ok(())
}

/// One table of blocks, in one transaction, so that it is there in whole or not at all. Frozen, so that nothing ever has a
/// reason to write to it again; autovacuum would read it all to find that out.
fn table(
    target: &Target,
    client: &mut Client,
    build: Build,
    number: u32,
    blocks: u64,
    report: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<()> {
    let failed = |e| target.failed("fill the blocks to read in", e);
    let name = format!("Blocks{number}");
    let table = qualified(&name);
    let mut transaction = client.transaction().map_err(failed)?;
    let create = format!(
        "CREATE TABLE {table} (payload bytea NOT NULL) WITH (autovacuum_enabled = false, toast.autovacuum_enabled = false); \
         ALTER TABLE {table} ALTER payload SET STORAGE PLAIN"
    );
    transaction.batch_execute(&create).map_err(failed)?;
    let copy =
        transaction.copy_in(&format!("COPY {table} FROM STDIN (FORMAT binary, FREEZE)")).map_err(failed)?;
    let mut rows = Rows::new(copy);
    let payload = (build.block - OVERHEAD) as usize;
    for done in 0..blocks {
        if done.is_multiple_of(REPORT) && report(done).is_break() {
            return Err(Error::Cancelled);
        }
        rows.row(1).map_err(|e| broken(target, e))?;
        rows.noise(payload);
    }
    rows.end().map_err(|e| broken(target, e))?.finish().map_err(failed)?;
    if report(blocks).is_break() {
        return Err(Error::Cancelled);
    }
    let sql = "SELECT pg_relation_size(to_regclass($1))";
    let size: i64 = transaction.query_one(sql, &[&table]).map_err(failed)?.get(0);
    // From 16 on COPY extends a table by several pages at once: what it has not used of them is empty, and behind the rows. No page
    // takes two rows, so that each of the pages to read has one.
    let behind = size.unsigned_abs().checked_sub(blocks * build.block);
    let rows_behind = format!("SELECT count(*) FROM {table} WHERE ctid >= '({blocks},0)'");
    let odd = match behind {
        Some(0) => false,
        Some(_) => transaction.query_one(&rows_behind, &[]).map_err(failed)?.get::<_, i64>(0) > 0,
        None => true,
    };
    if odd {
        return Err(Error::Unexpected {
            doing: "fill the blocks to read in",
            place: target.place().to_owned(),
            cause: format!("{blocks} rows of one block each take {size} bytes"),
        });
    }
    enter(&mut transaction, "blocks", number, &name, blocks).map_err(failed)?;
    transaction.commit().map_err(failed)
}

/// What became of a COPY whose connection took no more: the server's own answer, where it comes as one.
pub(super) fn broken(target: &Target, error: std::io::Error) -> Error {
    let doing = "copy rows into";
    match error.downcast::<postgres::Error>() {
        Ok(error) => target.failed(doing, error),
        Err(error) => Error::engine(doing, target.place(), error, ErrorCause::ServerGone),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_that_is_no_range_is_refused_with_those_that_are() {
        let build = Build { block: 8192, segment: 131_072, major: 17 };
        let pages = |asked: u64| pages_of(build, Some(Bytes(asked)));
        assert_eq!(pages_of(build, None).unwrap(), 1);
        for (asked, expected) in [(8, 1), (16, 2), (64, 8), (128, 16)] {
            assert_eq!(pages(asked << 10).unwrap(), expected);
        }
        for odd in [0, 1, 4096, 12_288, 24 << 10, 256 << 10] {
            let refused = pages(odd).unwrap_err().to_string();
            assert!(refused.contains("8 KiB to 128 KiB"), "{refused}");
        }
    }
}
