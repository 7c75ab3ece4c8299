//! Making the schema, the catalogue and the blocks to read.

use std::ops::ControlFlow;

use iolite_model::{Bytes, ErrorCause};
use postgres::Client;

use super::super::contract::{NewBlocks, Progress};
use super::super::layout::proceed;
use super::catalogue::{self, SchemaState, enter, qualified};
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
/// Most blocks: the identities of their tables are sent with each batch, and one address holds them all.
const MAX_BLOCKS: u64 = 1 << 32;

/// The first version that reads several blocks with one call (its release notes, "I/O").
const COMBINES_READS: u32 = 17;

/// As [`Adapter::setup`](super::super::Adapter::setup).
pub(super) fn setup(database: &RanPostgres, new: &NewBlocks, progress: &mut Progress<'_>) -> Result<()> {
    let target = &*database.target;
    let mut client = target.connect()?;
    let build = Build::ask(target, &mut client)?;
    refuse_block_size(build, new.block)?;
    super::lock::making(target, &mut client)?;
    match catalogue::find(target, &mut client)? {
        SchemaState::Nothing => {}
        SchemaState::Foreign => return Err(Error::Foreign { path: super::schema(target) }),
        SchemaState::Ours(found) if !found.complete => {
            return Err(Error::Incomplete { path: super::schema(target) });
        }
        SchemaState::Ours(_) => return Err(Error::Exists { path: super::schema(target) }),
    }
    let blocks = new.size.0 / build.block;
    if blocks == 0 || blocks > MAX_BLOCKS {
        let what = format!("{blocks} blocks of {} to read", Bytes(build.block));
        return Err(Error::Layout { what, limit: MAX_BLOCKS });
    }
    files::check_space(target, &mut client, blocks * build.block)?;
    begin(database, &mut client, blocks)?;
    proceed(progress(0, blocks * build.block))?;
    fill(target, &mut client, build, blocks, progress)?;
    let done = "UPDATE iolite.catalogue SET complete = true WHERE kind = 'database'";
    client.execute(done, &[]).map_err(|e| target.failed("finish", e))?;
    files::checkpoint(target, &mut client).map(drop)
}

/// # Errors
/// [`Error::BlockSize`] for any but the server's own.
fn refuse_block_size(build: Build, asked: Option<Bytes>) -> Result<()> {
    let own = Bytes(build.block);
    let ranges = if build.major < COMBINES_READS {
        format!("and PostgreSQL {} reads a range of several blocks one by one", build.major)
    } else {
        format!(
            "and PostgreSQL {} combines reads of a range (io_combine_limit) only into its buffers and only of blocks that are not \
             there, so that a range is not one read of its size",
            build.major
        )
    };
    match asked.filter(|asked| *asked != own) {
        None => Ok(()),
        Some(asked) => Err(Error::BlockSize {
            database: "PostgreSQL",
            asked,
            why: format!(
                "this server is compiled with blocks of {own} (--with-blocksize), {ranges}; to read larger blocks, use SQLite (up to \
                 64 KiB), GT.M (up to 60 KiB) or MariaDB (up to 64 KiB), or a fio job"
            ),
        }),
    }
}

/// The schema, marked and with its catalogue, and the extensions, all in one transaction.
fn begin(database: &RanPostgres, client: &mut Client, blocks: u64) -> Result<()> {
    let target = &*database.target;
    let failed = |e| target.failed("create iolite's schema in", e);
    let mut transaction = client.transaction().map_err(failed)?;
    transaction.batch_execute(catalogue::CREATE).map_err(failed)?;
    transaction.batch_execute(&format!("COMMENT ON SCHEMA iolite IS '{MARK}'")).map_err(failed)?;
    enter(&mut transaction, "database", 0, "", blocks).map_err(failed)?;
    extension::create(target, &mut transaction, database.settings.through_buffers)?;
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
    fn another_block_size_is_refused_with_what_this_version_does() {
        let refused = |major| {
            let build = Build { block: 8192, segment: 131_072, major };
            refuse_block_size(build, Some(Bytes(64 << 10))).unwrap_err().to_string()
        };
        assert!(
            refused(15).contains("PostgreSQL 15 reads a range of several blocks one by one"),
            "{}",
            refused(15)
        );
        assert!(refused(17).contains("io_combine_limit") && refused(17).contains("17"), "{}", refused(17));
        let build = Build { block: 8192, segment: 131_072, major: 17 };
        assert!(
            refuse_block_size(build, Some(Bytes(8192))).is_ok() && refuse_block_size(build, None).is_ok()
        );
    }
}
