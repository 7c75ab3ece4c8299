//! Commits, and the log that they go through.

use super::*;

/// The rows of a global as another process would find them if this one ended now: in copies of its files.
fn as_left_behind(path: &Path) -> Vec<(i64, Vec<u8>)> {
    let place = directory();
    let copy = place.path().join("copy.db");
    for (from, to) in companions(path).zip(companions(&copy)) {
        if from.exists() && !from.to_string_lossy().ends_with("-shm") {
            // By another process: closing a descriptor of the file here would drop the locks of the open sessions.
            assert!(Command::new("cp").arg(from).arg(to).status().unwrap().success());
        }
    }
    let connection = Connection::open(&copy).unwrap();
    assert_eq!(query::<String>(&connection, "PRAGMA integrity_check"), "ok");
    let mut statement = connection.prepare("SELECT subscript, value FROM global ORDER BY subscript").unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(|row| row.unwrap()).collect()
}

#[test]
fn joined_log_writes_are_in_the_file_when_their_commit_returns() {
    for durability in [Durability::Full, Durability::Relaxed] {
        let layout = Layout { globals: 1, subscripts: 20_000, size: Bytes(1 << 20) };
        let (directory, _) = made(&layout);
        let settings = Settings { durability, through_buffers: false };
        let database = RanSqlite::with(directory.path().into(), settings).unwrap();
        let path = database.file(0);
        let mut session = database.session(0).unwrap();
        session.prepare(false, true).unwrap();
        let mut subscripts = shuffled(layout.subscripts, u64::MAX);
        // Beside it, a connection that was there before, as the monitors of other programs are.
        let beside = with_vfs(&path, c"unix");
        // 300: more than fit one write, and than SQLite holds a header and a page of.
        for sets in [1, 50, 2, 300] {
            let before = as_left_behind(&path);
            let counted = database.instance.counts();
            session.begin().unwrap();
            let written: Vec<u64> = subscripts.by_ref().take(sets).map(|subscript| subscript + 1).collect();
            for &subscript in &written {
                session.write(subscript).unwrap();
            }
            assert_eq!(as_left_behind(&path), before, "nothing of it before its commit");
            session.commit().unwrap();
            let after = as_left_behind(&path);
            let changed: Vec<i64> =
                before.iter().zip(&after).filter(|(a, b)| a != b).map(|(a, _)| a.0).collect();
            let mut expected: Vec<i64> = written.iter().map(|&subscript| subscript as i64).collect();
            expected.sort_unstable();
            expected.dedup();
            assert_eq!(changed, expected, "all of it after its commit");
            for &subscript in &expected {
                let sql = format!("SELECT value FROM global WHERE subscript = {subscript}");
                assert_eq!(query::<Vec<u8>>(&beside, &sql), after[subscript as usize - 1].1);
            }
            let did = database.instance.counts().since(&counted);
            // Of 64 KiB each but for the last, and the log's own header.
            assert!(did.log_writes <= 3 + did.log_write_bytes.0 / (60 << 10), "{sets}: {did:?}");
        }
        // A transaction that is given up, in mid-log or before, leaves nothing; the next one is whole again.
        let before = as_left_behind(&path);
        session.begin().unwrap();
        session.write(1).unwrap();
        drop(session);
        assert_eq!(as_left_behind(&path), before);
        let mut session = database.session(0).unwrap();
        session.begin().unwrap();
        session.write(1).unwrap();
        session.commit().unwrap();
        assert_ne!(as_left_behind(&path), before);
    }
}

#[test]
fn a_transaction_larger_than_its_cache_goes_through_the_log_and_comes_back() {
    let (_directory, database) = made(&Layout { globals: 1, subscripts: 20_000, size: Bytes(1 << 20) });
    let path = database.file(0);
    let connection = with_vfs(&path, vfs::DIRECT);
    // Pages are spilled to the log before the commit, read back from it, and written there again.
    connection.execute_batch("PRAGMA cache_size=5; PRAGMA cache_spill=5; BEGIN").unwrap();
    for round in 1..=3 {
        connection.execute("UPDATE global SET value = zeroblob(?1)", [50 + round]).unwrap();
        let length: i64 = query(&connection, "SELECT sum(length(value)) FROM global");
        assert_eq!(length, 20_000 * (50 + round));
    }
    connection.execute_batch("COMMIT").unwrap();
    assert!(as_left_behind(&path).iter().all(|(_, value)| value.len() == 53));
    connection.execute_batch("BEGIN; UPDATE global SET value = x''; ROLLBACK").unwrap();
    connection.execute("UPDATE global SET value = zeroblob(60) WHERE subscript = 7", []).unwrap();
    let rows = as_left_behind(&path);
    assert!(rows.iter().all(|(subscript, value)| value.len() == if *subscript == 7 { 60 } else { 53 }));
}

#[test]
fn relaxed_commits_sync_nothing() {
    let (directory, _) = made(&SMALL);
    let settings = Settings { durability: Durability::Relaxed, through_buffers: false };
    let database = RanSqlite::with(directory.path().into(), settings).unwrap();
    let mut session = database.session(0).unwrap();
    session.prepare(false, true).unwrap();
    let mut transaction = || {
        session.begin().unwrap();
        session.write(1).unwrap();
        session.commit().unwrap();
    };
    // The first one begins the log, whose header is synced once.
    transaction();
    let before = database.instance.counts();
    (0..5).for_each(|_| transaction());
    let did = database.instance.counts().since(&before);
    assert!(did.log_syncs == 0 && did.log_write_bytes.0 >= 5 * GLOBAL_PAGE, "{did:?}");
    assert!(database.describe().unwrap().instance.durability.contains("NORMAL"));
    let buffers = Settings { through_buffers: true, ..Settings::default() };
    assert!(matches!(RanSqlite::with("x".into(), buffers), Err(Error::Unsupported { .. })));
}
