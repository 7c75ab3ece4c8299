mod logs;

use std::io::{Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::process::Command;
use std::time::Instant;

use rusqlite::OpenFlags;
use tempfile::TempDir;

use super::super::contract::NewBlocks;
use super::*;

/// What a test's database is to be.
struct Layout {
    globals: u32,
    subscripts: u64,
    size: Bytes,
}

const SMALL: Layout = Layout { globals: 3, subscripts: 500, size: Bytes(3 << 20) };

fn directory() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn go(_: u64, _: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn made(layout: &Layout) -> (TempDir, RanSqlite) {
    let directory = directory();
    let database = RanSqlite::new(directory.path().into());
    fill(&database, layout);
    (directory, database)
}

fn fill(database: &RanSqlite, layout: &Layout) {
    database.setup(layout.size, &mut go).unwrap();
    database.add_globals(layout.globals, layout.subscripts, &mut go).unwrap();
}

/// The files of the globals.
fn globals(database: &RanSqlite) -> Vec<PathBuf> {
    database.existing().unwrap().split_off(1)
}

fn query<T: rusqlite::types::FromSql>(connection: &Connection, sql: &str) -> T {
    connection.query_row(sql, [], |row| row.get(0)).unwrap()
}

fn with_vfs(path: &Path, vfs: &std::ffi::CStr) -> Connection {
    open(path, OpenFlags::SQLITE_OPEN_READ_WRITE, vfs).unwrap()
}

/// Block numbers in an order without pattern.
fn shuffled(blocks: u64, n: u64) -> impl Iterator<Item = u64> {
    (1..=n).map(move |i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23) % blocks)
}

fn direct_works(database: &RanSqlite) -> bool {
    let direct = database.describe().unwrap().direct;
    if !direct {
        println!("skipped in part: no O_DIRECT in {}", database.directory.display());
    }
    direct
}

#[test]
fn a_created_database_is_sound_and_as_large_as_asked() {
    let (_directory, database) = made(&SMALL);
    assert_eq!(database.sizes().unwrap(), [500; 3]);
    assert_eq!(database.count_subscripts(&mut go).unwrap(), [500; 3]);
    let blocks = fs::metadata(database.blocks_file()).unwrap().len();
    assert!((SMALL.size.0..SMALL.size.0 + 8 * PAGE).contains(&blocks), "{blocks}: hardly more than asked");
    assert!(database.size().unwrap().0 > blocks + 3 * 500 * 75);
    assert_eq!(database.existing().unwrap().len(), 4);
    for path in globals(&database) {
        for vfs in [c"unix", vfs::DIRECT, vfs::CACHED] {
            let connection = with_vfs(&path, vfs);
            assert_eq!(query::<String>(&connection, "PRAGMA integrity_check"), "ok");
            assert_eq!(query::<String>(&connection, "PRAGMA journal_mode"), "wal");
            assert_eq!(query::<i64>(&connection, "PRAGMA page_size"), GLOBAL_PAGE as i64);
            assert_eq!(query::<i64>(&connection, "SELECT count(*) FROM global"), 500);
            let pages = query::<i64>(&connection, "PRAGMA page_count") as u64;
            assert_eq!(pages * GLOBAL_PAGE, fs::metadata(&path).unwrap().len());
        }
    }
    let session = database.session(0).unwrap();
    assert_eq!((session.subscripts(), database.session(3).unwrap().subscripts()), (500, 0));
}

#[test]
fn every_block_read_is_one_direct_read_of_a_page_even_of_a_cached_file() {
    let (_directory, database) = made(&Layout { globals: 2, subscripts: 1000, size: Bytes(16 << 20) });
    for path in database.existing().unwrap() {
        assert!(!fs::read(path).unwrap().is_empty(), "now in the page cache");
    }
    let blocks = database.blocks().unwrap();
    let mut session = database.session(0).unwrap();
    session.prepare(true, false).unwrap();
    let (before, n) = (database.instance.counts(), 5000);
    for block in shuffled(blocks, n).chain([0, blocks - 1]) {
        assert_eq!(session.read_block(block).unwrap(), Bytes(PAGE));
    }
    let did = database.instance.counts().since(&before);
    if direct_works(&database) {
        assert!(did.reads.abs_diff(n + 2) * 100 <= n, "{did:?}");
        assert_eq!((did.read_bytes.0, did.cached_reads), (did.reads * PAGE, 0), "{did:?}");
    }
    assert_eq!((did.log_reads, did.writes, did.log_writes), (0, 0, 0), "{did:?}");
    assert!(matches!(session.read_block(blocks), Err(Error::NoBlock { .. })));
}

#[test]
fn blocks_have_the_size_that_is_asked_for_and_are_read_at_once() {
    for block in [4096, 32_768, 65_536] {
        let directory = directory();
        let database = RanSqlite::new(directory.path().into());
        let new = NewBlocks { block: Some(Bytes(block)), ..NewBlocks::of(Bytes(8 << 20)) };
        database.create_blocks(&new, &mut go).unwrap();
        let blocks = database.blocks().unwrap();
        assert!(blocks.abs_diff((8 << 20) / block) <= 4, "{blocks} of {block}");
        assert_eq!(database.describe().unwrap().instance.block, Bytes(block));
        let connection = with_vfs(&database.blocks_file(), vfs::CACHED);
        assert_eq!(query::<String>(&connection, "PRAGMA integrity_check"), "ok");
        assert_eq!(query::<i64>(&connection, "PRAGMA page_size") as u64, block);
        drop(connection);
        let mut session = database.session(0).unwrap();
        session.prepare(true, false).unwrap();
        let before = database.instance.counts();
        for number in shuffled(blocks, 50).chain([0, blocks - 1]) {
            assert_eq!(session.read_block(number).unwrap(), Bytes(block));
        }
        let did = database.instance.counts().since(&before);
        if direct_works(&database) {
            assert_eq!((did.read_bytes.0, did.cached_reads), (did.reads * block, 0), "{did:?}");
            assert!(did.reads <= 54, "{did:?}");
        }
    }
    for block in [0, 2048, 8191, 12_288, 131_072] {
        let directory = directory();
        let database = RanSqlite::new(directory.path().into());
        let new = NewBlocks { block: Some(Bytes(block)), ..NewBlocks::of(Bytes(8 << 20)) };
        let refused = database.create_blocks(&new, &mut go).unwrap_err().to_string();
        assert!(refused.contains("4, 8, 16, 32 or 64 KiB"), "{refused}");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}

#[test]
fn where_direct_io_is_refused_the_cache_serves_and_the_description_says_so() {
    let (directory, _) = made(&SMALL);
    let database = RanSqlite::new(directory.path().into()).through_page_cache();
    let description = database.describe().unwrap();
    assert!(
        !description.direct && description.read_path.contains("through the page cache"),
        "{description:?}"
    );
    let mut session = database.session(0).unwrap();
    session.prepare(true, true).unwrap();
    let before = database.instance.counts();
    for block in 0..100 {
        session.read_block(block).unwrap();
    }
    session.begin().unwrap();
    session.write(1).unwrap();
    session.commit().unwrap();
    let did = database.instance.counts().since(&before);
    // Two: a log that starts anew syncs its header first.
    assert_eq!((did.reads, did.log_syncs), (0, 2), "{did:?}");
    assert!(did.cached_reads >= 99, "{did:?}");
}

#[test]
fn both_vfs_see_the_same_data_before_and_after_a_checkpoint() {
    let (_directory, database) = made(&SMALL);
    let path = &globals(&database)[0];
    let contents = "SELECT group_concat(hex(value)) FROM global";
    // The plain one stays open until the end: ours may not close its descriptor under it.
    let plain = with_vfs(path, c"unix");
    let ours = with_vfs(path, vfs::DIRECT);
    for round in 0..3 {
        let (writer, reader) = if round % 2 == 0 { (&ours, &plain) } else { (&plain, &ours) };
        let before: String = query(reader, contents);
        writer.execute_batch("UPDATE global SET value = randomblob(length(value))").unwrap();
        let logged: String = query(reader, contents);
        assert_ne!(before, logged);
        assert_eq!(query::<i64>(writer, "PRAGMA wal_checkpoint(TRUNCATE)"), 0);
        assert_eq!(query::<String>(reader, contents), logged);
        reader.execute_batch("PRAGMA shrink_memory").unwrap();
        assert_eq!(query::<String>(reader, contents), logged);
        assert_eq!(query::<String>(reader, "PRAGMA integrity_check"), "ok");
    }
    drop(ours);
    drop(plain);
}

#[test]
fn workers_write_their_own_globals_and_read_all_of_them_at_once() {
    let (_directory, database) = made(&Layout { globals: 4, subscripts: 2000, size: Bytes(8 << 20) });
    let blocks = database.blocks().unwrap();
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let database = &database;
            scope.spawn(move || {
                let mut session = database.session(worker).unwrap();
                for transaction in 0..60 {
                    session.begin().unwrap();
                    for subscript in shuffled(2000, 50) {
                        assert!(session.write(subscript + 1).unwrap() >= Bytes(50));
                    }
                    session.commit().unwrap();
                    for block in shuffled(blocks, 20) {
                        session.read_block((block + transaction) % blocks).unwrap();
                    }
                }
            });
        }
    });
    let before = database.instance.counts();
    assert!(before.log_syncs >= 4 * 60, "{before:?}");
    database.settle().unwrap();
    let flushed = database.instance.counts().since(&before);
    assert!(flushed.writes > 0 && flushed.syncs > 0, "{flushed:?}");
    for path in globals(&database) {
        let connection = with_vfs(&path, c"unix");
        assert_eq!(query::<String>(&connection, "PRAGMA integrity_check"), "ok");
        assert_eq!(query::<i64>(&connection, "SELECT count(*) FROM global WHERE length(value) >= 50"), 2000);
    }
}

#[test]
fn what_was_written_counts_and_stays() {
    let (_directory, database) = made(&SMALL);
    let value = |subscript: u64| -> Vec<u8> {
        let connection = with_vfs(&globals(&database)[1], c"unix");
        query(&connection, &format!("SELECT value FROM global WHERE subscript = {subscript}"))
    };
    let before = value(7);
    let mut session = database.session(1).unwrap();
    session.begin().unwrap();
    session.write(8).unwrap();
    session.commit().unwrap();
    let started = database.instance.counts();
    session.begin().unwrap();
    assert_eq!(session.write(7).unwrap().0, before.len() as u64);
    session.commit().unwrap();
    let did = database.instance.counts().since(&started);
    assert_eq!((did.log_syncs, did.syncs), (1, 0), "one sync of the log, none of the data: {did:?}");
    assert!(did.log_write_bytes.0 >= GLOBAL_PAGE, "{did:?}");
    let after = value(7);
    assert_ne!(before, after);
    session.begin().unwrap();
    session.write(7).unwrap();
    drop(session);
    assert_eq!(value(7), after, "what was not committed is gone");
}

#[test]
fn wrong_workers_and_subscripts_are_refused() {
    let (_directory, database) = made(&SMALL);
    let mut stray = database.session(3).unwrap();
    stray.read_block(0).unwrap();
    assert!(matches!(stray.begin(), Err(Error::NoGlobal { worker: 3, globals: 3 })));
    assert!(matches!(stray.write(1), Err(Error::NoGlobal { .. })));
    let mut session = database.session(0).unwrap();
    session.begin().unwrap();
    for subscript in [0, 501, u64::MAX] {
        assert!(matches!(session.write(subscript), Err(Error::NoSubscript { subscripts: 500, .. })));
    }
    session.commit().unwrap();
}

/// Whether another process could lock, for writing, the bytes on which an open SQLite connection holds a read lock
/// (file format, "Locking"). `None` where there is no Python to try it with.
fn another_process_can_lock(path: &Path) -> Option<bool> {
    let script = "import fcntl,sys\nf=open(sys.argv[1],'r+b')\n\
                  try: fcntl.lockf(f,fcntl.LOCK_EX|fcntl.LOCK_NB,510,0x40000002); print('free')\n\
                  except OSError: print('held')";
    let output = Command::new("python3").arg("-c").arg(script).arg(path).output().ok()?;
    match String::from_utf8_lossy(&output.stdout).trim() {
        "free" => Some(true),
        "held" => Some(false),
        _ => None,
    }
}

#[test]
fn closing_one_connection_leaves_the_locks_of_the_other() {
    let (_directory, database) = made(&SMALL);
    let path = &globals(&database)[0];
    let connect = || {
        let connection = with_vfs(path, vfs::DIRECT);
        assert_eq!(query::<i64>(&connection, "SELECT count(*) FROM global"), 500);
        connection
    };
    let Some(free) = another_process_can_lock(path) else {
        return println!("skipped: no python3 to probe the locks from another process");
    };
    assert!(free, "nothing is open yet");
    let (first, second, third) = (connect(), connect(), connect());
    assert_eq!(another_process_can_lock(path), Some(false));
    drop(first);
    database.blocks().unwrap();
    drop(third);
    assert_eq!(another_process_can_lock(path), Some(false), "the second connection still holds its lock");
    drop(fs::File::open(path).unwrap());
    assert_eq!(another_process_can_lock(path), Some(true), "the probe sees what a careless close does");
    drop(second);
    assert_eq!(another_process_can_lock(path), Some(true));
}

#[test]
fn existing_files_are_refused_and_left_alone() {
    for name in ["RanRead.db", "RanWriteGlobal7.db", "RanRead.db-wal"] {
        let directory = directory();
        let path = directory.path().join(name);
        fs::write(&path, "precious").unwrap();
        let database = RanSqlite::new(directory.path().into());
        assert!(matches!(database.setup(SMALL.size, &mut go), Err(Error::Foreign { .. })), "{name}");
        if name.ends_with(".db") {
            assert!(matches!(database.purge(), Err(Error::Foreign { .. })), "{name}");
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
    let (directory, _) = made(&SMALL);
    let again = RanSqlite::new(directory.path().into());
    assert!(matches!(again.setup(SMALL.size, &mut go), Err(Error::Exists { .. })));
}

#[test]
fn purge_removes_what_create_made_and_nothing_else() {
    let (directory, database) = made(&SMALL);
    let bystander = directory.path().join("RanWriteGlobalX.db");
    fs::write(&bystander, "precious").unwrap();
    let mut session = database.session(0).unwrap();
    session.prepare(true, true).unwrap();
    drop(session);
    // Another process: knows the files by their mark only.
    RanSqlite::new(directory.path().into()).purge().unwrap();
    let left: Vec<_> = fs::read_dir(directory.path()).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(left, [bystander]);
    database.purge().unwrap();
    assert!(matches!(database.blocks(), Err(Error::Missing { .. })));
    assert!(matches!(database.session(0), Err(Error::Missing { .. })));
}

#[test]
fn a_cancelled_creation_is_known_as_such_and_purged() {
    for calls in [0, 1, 2] {
        let directory = directory();
        let database = RanSqlite::new(directory.path().into());
        let mut left = calls;
        let mut last = 0;
        let outcome = database.setup(Bytes(40 << 20), &mut |done, total| {
            assert!(last <= done && done <= total && total >= 40 << 20);
            last = done;
            left -= 1;
            if left < 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert!(matches!(outcome, Err(Error::Cancelled)), "{outcome:?}");
        let refusal = database.session(0).err().unwrap();
        assert!(matches!(refusal, Error::Incomplete { .. } | Error::Foreign { .. }), "{refusal:?}");
        database.purge().unwrap();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}

#[test]
fn a_missing_directory_and_too_large_a_size_are_refused() {
    let directory = directory();
    let missing = RanSqlite::new(directory.path().join("missing"));
    assert!(matches!(missing.setup(SMALL.size, &mut go), Err(Error::Io { .. })));
    missing.purge().unwrap();
    let database = RanSqlite::new(directory.path().into());
    assert!(matches!(database.setup(Bytes(1 << 60), &mut go), Err(Error::NoSpace { .. })));
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn damaged_files_give_errors() {
    let (_directory, database) = made(&SMALL);
    let path = database.blocks_file();
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    let mut session = database.session(0).unwrap();
    session.prepare(true, false).unwrap();
    for length in [5000, 100, 17, 0] {
        file.set_len(length).unwrap();
        let error = session.read_block(20).unwrap_err();
        assert!(error.to_string().contains("RanRead.db"), "{error}");
        assert!(database.session(0).is_err());
        assert!(database.blocks().is_err());
        assert!(!database.describe().unwrap().instance.version.is_empty());
    }
    drop(session);
    let mut path_file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    path_file.seek(SeekFrom::Start(0)).unwrap();
    path_file.write_all(&[0xa5; 70_000]).unwrap();
    assert!(matches!(database.session(0), Err(Error::Foreign { .. })));
}

#[test]
fn odd_paths_are_no_obstacle() {
    let directory = directory();
    let odd = directory.path().join("a b?c=d&e%20#ü");
    fs::create_dir(&odd).unwrap();
    let database = RanSqlite::new(odd);
    fill(&database, &SMALL);
    assert!(database.blocks().unwrap() > 300);
    database.session(2).unwrap().prepare(true, true).unwrap();
    database.purge().unwrap();
}

#[test]
fn blocks_leave_out_the_root_page_and_the_lock_page_and_logs_are_limited() {
    assert_eq!([0, 1, 2, 1000].map(|pages| Header { pages, page: PAGE }.blocks()), [0, 0, 1, 999]);
    for page in [4096, PAGE, 65_536] {
        let lock_page = (1 << 30) / page + 1;
        let blocks = |pages| Header { pages, page }.blocks();
        let before = lock_page - 2;
        assert_eq!([lock_page - 1, lock_page, lock_page + 1].map(blocks), [before, before, before + 1]);
        let page_of = |block| Header { pages: 0, page }.page_of(block);
        assert_eq!([0, lock_page - 3, lock_page - 2].map(page_of), [2, lock_page - 1, lock_page + 1]);
    }
    let logged = |pages| Header { pages, page: GLOBAL_PAGE }.checkpoint_pages();
    assert_eq!([1, 3000, 1 << 40].map(logged), [FEWEST_LOGGED, 6000, MAX_LOGGED]);
}

#[test]
fn globals_are_added_replaced_and_missed() {
    let (_directory, database) = made(&SMALL);
    database.add_globals(2, 70, &mut go).unwrap();
    assert_eq!(database.sizes().unwrap(), [500, 500, 500, 70, 70]);
    // Stopped in the middle of the second: the first stays, of the second nothing does.
    let mut calls = 0;
    let outcome = database.add_globals(3, 50, &mut |_, _| {
        calls += 1;
        if calls > 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert!(matches!(outcome, Err(Error::Cancelled)), "{outcome:?}");
    assert_eq!(database.sizes().unwrap(), [500, 500, 500, 70, 70, 50]);
    assert!(!database.file(6).exists());
    // What a crash has left half made is replaced.
    fs::copy(database.file(0), database.file(6)).unwrap();
    database.add_globals(1, 60, &mut go).unwrap();
    assert_eq!(database.count_subscripts(&mut go).unwrap(), [500, 500, 500, 70, 70, 50, 60]);
    fs::remove_file(database.file(2)).unwrap();
    let missing = database.session(0).err().unwrap();
    assert!(
        matches!(&missing, Error::GlobalMissing { global, .. } if global == "RanWriteGlobal3"),
        "{missing}"
    );
    database.drop_globals().unwrap();
    assert_eq!(database.sizes().unwrap(), [0; 0]);
    assert!(database.blocks().unwrap() > 300);
    database.add_globals(1, 60, &mut go).unwrap();
    database.purge().unwrap();
    assert!(matches!(database.add_globals(1, 1, &mut go), Err(Error::Missing { .. })));
}

/// Figures to read: `cargo test -p iolite-db --release -- --ignored --nocapture figures`.
#[test]
#[ignore = "takes a minute and measures this machine"]
fn figures() {
    let rate = |n: u64, start: Instant| n as f64 / start.elapsed().as_secs_f64();
    let start = Instant::now();
    let layout = Layout { globals: 10, subscripts: 100_000, size: Bytes(1 << 30) };
    let (_directory, database) = made(&layout);
    println!("created {} in {:?}", database.size().unwrap(), start.elapsed());
    let blocks = database.blocks().unwrap();
    let mut session = database.session(0).unwrap();
    session.prepare(true, true).unwrap();
    let (before, start, n) = (database.instance.counts(), Instant::now(), 20_000);
    for block in shuffled(blocks, n) {
        session.read_block(block).unwrap();
    }
    println!("{:.0} reads/s; {:?}", rate(n, start), database.instance.counts().since(&before));
    for round in 0..3 {
        let (before, start, n) = (database.instance.counts(), Instant::now(), 4000);
        let mut subscripts = shuffled(100_000, 50 * n);
        let mut longest = std::time::Duration::ZERO;
        for _ in 0..n {
            let begun = Instant::now();
            session.begin().unwrap();
            for subscript in subscripts.by_ref().take(50) {
                session.write(subscript + 1).unwrap();
            }
            session.commit().unwrap();
            longest = longest.max(begun.elapsed());
        }
        let did = database.instance.counts().since(&before);
        println!(
            "round {round}: {:.0} sets/s, longest transaction {longest:?}; {did:?}",
            rate(50 * n, start)
        );
    }
    println!("{:#?}", database.describe());
}
