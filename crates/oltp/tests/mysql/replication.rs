//! A server with a binary log and a replica: what setup keeps out of the log, and a replica that goes on all the while.

use std::process::Command;

use iolite_db::mysql::server::Options;
use iolite_model::{Bytes, Durability, LogCopy};
use iolite_oltp::ran::{Adapter, Cycle, NewBlocks, RanMysql, Settings};

use crate::batch;
use crate::common::{go, until};
use crate::harness::Server;

/// A server of a number of its own, with a binary log.
fn logged(id: u32) -> Option<Server> {
    let more = vec!["--log-bin=binary".to_owned(), format!("--server-id={id}"), "--sync-binlog=0".to_owned()];
    Server::start(&Options { buffer_pool: Bytes(32 << 20), tcp: true, more, ..Options::default() })
}

/// Bytes of the binary log.
fn log_bytes(server: &Server) -> u64 {
    let files = server.ask("SHOW BINARY LOGS");
    files.lines().filter_map(|line| line.split('\t').nth(1)?.parse::<u64>().ok()).sum()
}

/// Whatever `SHOW SLAVE STATUS` has under a name.
fn replication(server: &Server, name: &str) -> String {
    let socket = server.directory.path().join("socket");
    let output = Command::new("mariadb")
        .args(["--no-defaults", "--user=root", "--execute", "SHOW SLAVE STATUS\\G"])
        .arg(format!("--password={}", server.password()))
        .arg(format!("--socket={}", socket.display()))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let found =
        text.lines().find_map(|line| line.trim().strip_prefix(&format!("{name}: ")).map(str::to_owned));
    found.unwrap_or_default()
}

/// Waits until the replica has done all that the primary has logged, and asserts that it still replicates.
fn caught_up(primary: &Server, replica: &Server) {
    let position = primary.ask("SELECT @@GLOBAL.gtid_binlog_pos");
    until("the replica's catching up", || {
        let error = replication(replica, "Last_SQL_Error");
        assert!(error.is_empty(), "the replica has stopped: {error}");
        replica.ask("SELECT @@GLOBAL.gtid_slave_pos") == position
    });
    assert_eq!(replication(replica, "Slave_SQL_Running"), "Yes");
}

fn copies(database: &RanMysql) -> Vec<LogCopy> {
    database.instance().log_copies().unwrap()
}

#[test]
fn rows_of_blocks_stay_out_of_the_binary_log_and_a_replica_goes_on() {
    let (Some(primary), Some(replica)) = (logged(1), logged(2)) else { return };
    primary.ask(
        "CREATE USER copy@'%' IDENTIFIED BY 'copy'; GRANT REPLICATION SLAVE ON *.* TO copy@'%'; RESET MASTER",
    );
    let port = primary.started.port.unwrap();
    replica.ask(&format!(
        "RESET MASTER; SET GLOBAL gtid_slave_pos = ''; CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {port}, \
         MASTER_USER = 'copy', MASTER_PASSWORD = 'copy', MASTER_USE_GTID = slave_pos; START SLAVE"
    ));
    let settings = Settings { durability: Durability::AsConfigured, ..Settings::default() };
    let database = RanMysql::new(&primary.started.url, settings).unwrap();
    until("the replica's connection", || {
        copies(&database) == [LogCopy::BinaryLog { replicas: 1, skippable: true }]
    });
    let durability = database.describe().unwrap().instance.durability;
    assert!(
        durability.contains("(sync_binlog=0)") && durability.contains("one of the host may lose"),
        "{durability}"
    );

    // 8 MiB of blocks, and nearly nothing in the log.
    let before = log_bytes(&primary);
    database.setup(Bytes(8 << 20), &mut go).unwrap();
    let logged = log_bytes(&primary) - before;
    assert!(logged < 64 << 10, "{logged} bytes were logged");
    caught_up(&primary, &replica);
    assert_eq!(replica.count("SELECT COUNT(*) FROM iolite_blocks"), 0);
    assert!(primary.count("SELECT COUNT(*) FROM iolite_blocks") > 0);

    // What runs change is the same on both.
    database.add_globals(2, 1000, &mut go).unwrap();
    let mut within = database.within(0).unwrap().unwrap();
    within.prepare(true, true).unwrap();
    within
        .perform(&batch(vec![Cycle::Sets((1..=50).collect()), Cycle::Reads(vec![3])]), &mut Vec::new())
        .unwrap();
    drop(within);
    caught_up(&primary, &replica);
    let sum = "SELECT SUM(CRC32(value)) FROM RanWriteGlobal1";
    assert_eq!(primary.ask(sum), replica.ask(sum));

    database.purge().unwrap();
    caught_up(&primary, &replica);
    assert_eq!(replica.ask("SHOW TABLES"), "");

    // Where that is asked for, and where the role may not keep them out, rows are logged.
    let before = log_bytes(&primary);
    let blocks = NewBlocks { binary_log: true, ..NewBlocks::of(Bytes(8 << 20)) };
    database.create_blocks(&blocks, &mut go).unwrap();
    assert!(log_bytes(&primary) - before > 6 << 20);
    caught_up(&primary, &replica);
    let rows = "SELECT COUNT(*), SUM(CRC32(data)) FROM iolite_blocks";
    assert_eq!(primary.ask(rows), replica.ask(rows));
    database.purge().unwrap();
    primary.ask("CREATE USER weak@localhost IDENTIFIED BY 'weak'; GRANT ALL ON iolite.* TO weak@localhost");
    let weak = primary.url(&format!("root:{}", primary.password()), "weak:weak");
    let weak = RanMysql::new(&weak, settings).unwrap();
    assert_eq!(copies(&weak), [LogCopy::BinaryLog { replicas: 1, skippable: false }]);
    let before = log_bytes(&primary);
    weak.setup(Bytes(8 << 20), &mut go).unwrap();
    assert!(log_bytes(&primary) - before > 6 << 20);
    caught_up(&primary, &replica);
}
