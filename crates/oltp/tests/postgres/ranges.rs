//! Blocks that are ranges of pages: what the server does with one, by its own counters and by those of the kernel.

use std::fs::File;

use iolite_db::Error;
use iolite_model::Bytes;
use iolite_oltp::ran::{Adapter, Cycle, NewBlocks, RanPostgres, Settings};

use crate::common::{go, until};
use crate::harness::Server;
use crate::{MIB, batch};

/// Bytes of a block, and the pages in it.
const BLOCK: u64 = 64 << 10;
const PAGES: u64 = 8;
/// Ranges that are read.
const READS: u64 = 16;

fn of(block: u64, size: u64) -> NewBlocks {
    NewBlocks { block: Some(Bytes(block)), ..NewBlocks::of(Bytes(size)) }
}

/// Calls with which a process has read from files, and what they have read (proc(5), `io`); `None`, with the reason printed, where this
/// user may not see it.
fn read_by(process: u64) -> Option<(u64, u64)> {
    let text = match std::fs::read_to_string(format!("/proc/{process}/io")) {
        Ok(text) => text,
        Err(error) => {
            println!("skipped in part: the I/O of process {process}: {error}");
            return None;
        }
    };
    let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    Some((value("syscr:")?, value("rchar:")?))
}

/// Pages of the table that were read, and those found among the buffers, as the server counts them.
fn counted(server: &Server) -> (u64, u64) {
    let sql =
        |column| format!("SELECT heap_blks_{column} FROM pg_statio_all_tables WHERE relname = 'Blocks1'");
    (server.number(&sql("read")), server.number(&sql("hit")))
}

#[test]
fn a_range_is_read_as_the_server_reads_ranges() {
    let Some(server) = Server::start() else { return };
    let database = server.open();
    // Half a block more: it is left out.
    database.create_blocks(&of(BLOCK, 32 * MIB + BLOCK / 2), &mut go).unwrap();
    assert_eq!(database.blocks().unwrap(), 512);
    assert_eq!(server.number("SELECT count(*) FROM iolite.\"Blocks1\""), 512 * PAGES);
    let major = server.version() / 10_000;
    let description = database.describe().unwrap();
    assert_eq!(description.instance.block, Bytes(BLOCK));
    let path = description.read_path;
    let words =
        if major < 17 { format!("PostgreSQL {major} reads 8 times 8 KiB") } else { "combines".into() };
    assert!(path.contains("ranges of 8 blocks of 8 KiB") && path.contains(&words), "{path}");
    one_by_one(&server, &database, major);
    within(&server, &database);
    through_the_buffers(&server);
}

/// Each range is eight reads up to version 16, and one from 17 on.
fn one_by_one(server: &Server, database: &RanPostgres, major: u64) {
    let mut session = database.session(0).unwrap();
    session.prepare(true, false).unwrap();
    // Catalogues are read with the first.
    assert_eq!(session.read_block(511).unwrap(), Bytes(BLOCK));
    assert!(matches!(session.read_block(512), Err(Error::NoBlock { number: 512, blocks: 512 })));
    let process = server.number("SELECT pid FROM pg_stat_activity WHERE application_name = 'iolite'");
    let before = (counted(server), read_by(process));
    (0..READS).for_each(|number| assert_eq!(session.read_block(number).unwrap(), Bytes(BLOCK)));
    let after = read_by(process);
    if let (Some(before), Some(after)) = (before.1, after) {
        let calls = if major < 17 { PAGES } else { 1 };
        // From 18 on others may read for a session (io_method).
        let did = (after.0 - before.0, after.1 - before.1);
        assert!(did == (READS * calls, READS * BLOCK) || major >= 18, "{did:?}");
    }
    drop(session);
    assert_eq!(database.counts_block_reads(), major >= 17);
    if major >= 17 {
        until("what the server counts", || counted(server).0 == before.0.0 + READS * PAGES);
    } else {
        // Nothing of mode `read` is in the server's statistics.
        assert_eq!(counted(server), before.0);
    }
}

/// The same by batches, of which the page cache keeps nothing.
fn within(server: &Server, database: &RanPostgres) {
    let mut within = database.within(0).unwrap().unwrap();
    let mut done = Vec::new();
    within.perform(&batch(vec![Cycle::Reads((0..512).collect())]), &mut done).unwrap();
    assert!(done.len() == 512 && done.iter().all(|timed| timed.bytes == Bytes(BLOCK)));
    assert!(done.windows(2).all(|pair| pair[1].started >= pair[0].ended));
    let Some(file) = file(server) else { return };
    until("the end of what is cached", || cached(&file) < MIB);
}

/// The table's file; `None`, with the reason printed, where this user may not read it.
fn file(server: &Server) -> Option<File> {
    let path = server.psql(
        "SELECT current_setting('data_directory') || '/' || pg_relation_filepath('iolite.\"Blocks1\"')",
    );
    let file = File::open(path).ok();
    if file.is_none() {
        println!("skipped in part: the server's files cannot be opened");
    }
    file
}

fn cached(file: &File) -> u64 {
    iolite_sys::page_cache::resident_bytes(file, 0, 32 * MIB).unwrap()
}

/// Ranges here and there, past the page cache and the buffers: where they are read page by page, the kernel reads nothing else ahead.
fn nothing_is_read_ahead(server: &Server, database: &RanPostgres) {
    let Some(file) = file(server) else { return };
    let before = cached(&file);
    let mut session = database.session(0).unwrap();
    (0..READS).for_each(|number| assert_eq!(session.read_block(17 + number * 29).unwrap(), Bytes(BLOCK)));
    let read = cached(&file) - before;
    println!("{read} bytes of the page cache for {} that were requested", READS * BLOCK);
    assert!(read < 2 * READS * BLOCK || server.version() >= 170_000, "{read}");
}

/// What is not among the buffers is read, once.
fn through_the_buffers(server: &Server) {
    let settings = Settings { through_buffers: true, ..Settings::default() };
    let database = RanPostgres::new(&server.url, settings).unwrap();
    let path = database.describe().unwrap().read_path;
    assert!(path.contains("through the shared buffers") && !path.contains("page cache"), "{path}");
    server.psql("CREATE EXTENSION IF NOT EXISTS pg_buffercache");
    let there = |number: u64| {
        server.number(&format!(
            "SELECT count(*) FROM pg_buffercache WHERE relfilenode = pg_relation_filenode('iolite.\"Blocks1\"') \
             AND reldatabase = (SELECT oid FROM pg_database WHERE datname = current_database()) \
             AND relblocknumber >= {} AND relblocknumber < {}",
            number * PAGES,
            (number + READS) * PAGES
        ))
    };
    let already = there(100);
    let before = counted(server);
    for _ in 0..2 {
        let mut session = database.session(0).unwrap();
        (100..100 + READS).for_each(|number| assert_eq!(session.read_block(number).unwrap(), Bytes(BLOCK)));
    }
    assert_eq!(there(100), READS * PAGES);
    let (read, hit) = (READS * PAGES - already, READS * PAGES + already);
    until("what the server counts", || counted(server) == (before.0 + read, before.1 + hit));
    assert!(database.counts_block_reads());
    nothing_is_read_ahead(server, &database);
}

#[test]
fn a_size_that_is_no_range_is_refused() {
    let Some(server) = Server::start() else { return };
    let database = server.open();
    for odd in [4 << 10, 24 << 10, 256 << 10] {
        let refused = database.create_blocks(&of(odd, 1 << 20), &mut go).unwrap_err();
        let right = refused.to_string().contains("specify 8 KiB to 128 KiB");
        assert!(matches!(refused, Error::BlockSize { .. }) && right, "{refused}");
    }
    let small = database.create_blocks(&of(128 << 10, 64 << 10), &mut go).unwrap_err();
    assert!(matches!(small, Error::Layout { .. }), "{small}");
    assert!(matches!(database.sizes(), Err(Error::Missing { .. })));
    database.create_blocks(&of(8 << 10, 1 << 20), &mut go).unwrap();
    assert_eq!(database.blocks().unwrap(), 128);
    assert_eq!(database.instance().bulk_writes(Bytes(10)).unwrap(), Bytes(20));
}
