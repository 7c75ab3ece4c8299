//! The life of a small database in SQLite: built, used, checked, broken, removed.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex};

use iolite_db::{DatabaseUrl, Error};
use iolite_model::{Durability, Ending, ErrorCause, Event, Iops, Nanos, OpKind, Sink, Stop, TprocCTask};
use iolite_sys::clock::Clock;
use iolite_workers::Control;

use super::*;

fn small(warehouses: u32) -> Layout {
    Layout::new(warehouses, 100, 5).unwrap()
}

fn go(_: u64, _: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn built(directory: &Path, warehouses: u32) -> Arc<dyn Database> {
    let url = DatabaseUrl::Sqlite(directory.to_owned());
    let database = open(&url, Durability::Relaxed).unwrap();
    build(database.as_ref(), small(warehouses), 2, 5, &mut go).unwrap();
    database
}

fn task(layout: Layout, users: u32, transactions: u64) -> TprocCTask {
    TprocCTask {
        name: "TPROC-C".into(),
        users,
        warehouses: layout.warehouses,
        reduction: layout.reduction,
        all_warehouses: false,
        keying_thinking: false,
        procedures: false,
        spread_warehouse: false,
        whole_cycles: None,
        rate: None,
        stop: Stop { operations: Some(transactions), ..Stop::default() },
        ramp: Nanos(0),
        interval: Nanos::SECOND,
        seed: 11,
        kinds: kinds().unwrap(),
    }
}

#[derive(Default)]
struct Kept(Arc<Mutex<Vec<Event>>>);

impl Sink for Kept {
    fn event(&mut self, event: &Event) {
        self.0.lock().unwrap().push(event.clone());
    }
}

fn measured(database: &Arc<dyn Database>, task: &TprocCTask) -> Phase {
    run(database, task, 0, Clock::best(), &Control::default(), &mut Kept::default()).unwrap()
}

fn violated(database: &dyn Database) -> Vec<String> {
    let conditions = check(database).unwrap().conditions;
    assert_eq!(conditions.len(), 7);
    conditions.into_iter().filter(|one| !one.violations.is_empty()).map(|one| one.name).collect()
}

fn connection(directory: &Path) -> rusqlite::Connection {
    rusqlite::Connection::open(directory.join("tproc-c.db")).unwrap()
}

fn number(directory: &Path, sql: &str) -> i64 {
    connection(directory).query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn a_new_database_has_the_specification_s_rows_and_is_consistent() {
    let directory = tempfile::tempdir().unwrap();
    let mut seen = Vec::new();
    let url = DatabaseUrl::Sqlite(directory.path().to_owned());
    let database = open(&url, Durability::Full).unwrap();
    assert!(matches!(database.layout(), Err(Error::Missing { .. })));
    build(database.as_ref(), small(2), 4, 5, &mut |done, total| {
        seen.push((done, total));
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(seen.first().map(|seen| seen.0), Some(0));
    assert_eq!(seen.last().map(|seen| seen.0), seen.last().map(|seen| seen.1));
    assert_eq!(database.layout().unwrap(), Layout { loaders: 1, ..small(2) });
    let count = |table: &str| number(directory.path(), &format!("SELECT COUNT(*) FROM {table}"));
    assert_eq!(["warehouse", "district", "item", "stock"].map(count), [2, 20, 1000, 2000]);
    // 30 customers, payments and orders to a district; the last nine orders are not delivered.
    assert_eq!(["customer", "history", "orders", "new_order"].map(count), [600, 600, 600, 180]);
    let lines = number(directory.path(), "SELECT SUM(o_ol_cnt) FROM orders");
    assert_eq!(count("order_line"), lines);
    let open = "SELECT COUNT(*) FROM orders WHERE o_carrier_id IS NULL";
    assert_eq!(number(directory.path(), open), 180);
    let dates = "SELECT COUNT(*) FROM order_line WHERE (ol_delivery_d IS NULL) <> (ol_o_id > 21)";
    assert_eq!(number(directory.path(), dates), 0);
    let customers = "SELECT COUNT(DISTINCT o_c_id) FROM orders WHERE o_w_id = 2 AND o_d_id = 7";
    assert_eq!(number(directory.path(), customers), 30);
    assert_eq!(
        number(directory.path(), "SELECT MAX(n) FROM (SELECT COUNT(DISTINCT c_last) n FROM customer)"),
        30
    );
    assert_eq!(violated(database.as_ref()), Vec::<String>::new());
    let again = build(database.as_ref(), small(1), 1, 5, &mut go);
    assert!(matches!(again, Err(Error::Exists { .. })), "{again:?}");
    database.purge().unwrap();
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    database.purge().unwrap();
}

#[test]
fn what_users_commit_is_what_the_districts_count() {
    let directory = tempfile::tempdir().unwrap();
    let database = built(directory.path(), 2);
    let orders = number(directory.path(), "SELECT COUNT(*) FROM orders");
    let payments = number(directory.path(), "SELECT COUNT(*) FROM history");
    // 23 transactions to a deck: each of four users plays five.
    let phase = measured(&database, &task(small(2), 4, 460));
    assert_eq!(phase.outcome.ending, Ending::Completed);
    let counted = phase.counted.unwrap();
    assert_eq!(counted.new_orders, counted.orders_gained());
    assert_eq!(counted.new_orders + counted.rolled_back, 200);
    assert_eq!(counted.committed + counted.rolled_back, 460);
    assert_eq!((counted.deadlocks, counted.after.transactions), (0, None));
    let kind = |name| phase.outcome.totals.operations(OpKind::named(name).unwrap());
    assert_eq!(kind("new-order"), counted.new_orders);
    assert_eq!(kind("new-order-rollback"), counted.rolled_back);
    assert_eq!(["payment", "delivery", "order-status", "stock-level"].map(kind), [200, 20, 20, 20]);
    let more = number(directory.path(), "SELECT COUNT(*) FROM orders") - orders;
    assert_eq!(more.unsigned_abs(), counted.new_orders);
    assert_eq!(number(directory.path(), "SELECT COUNT(*) FROM history") - payments, 200);
    // 20 deliveries of ten districts, but for those that had nothing left to deliver.
    let delivered = number(directory.path(), "SELECT SUM(c_delivery_cnt) FROM customer").unsigned_abs();
    assert_eq!(delivered + counted.skipped_deliveries, 200);
    assert_eq!(violated(database.as_ref()), Vec::<String>::new());
    // Money is neither made nor lost: what customers owe is what was delivered less what they have paid.
    let owed = "SELECT SUM(c_balance) + SUM(c_ytd_payment) FROM customer";
    let sold = "SELECT SUM(ol_amount) FROM order_line WHERE ol_delivery_d > '2000-01-01 00:00:00'";
    assert_eq!(number(directory.path(), owed), number(directory.path(), sold));
}

#[test]
fn a_dropped_or_doubled_order_is_found() {
    for (sql, expected) in [
        ("DELETE FROM orders WHERE o_w_id = 1 AND o_d_id = 3 AND o_id = 5", &["4", "orders"][..]),
        (
            "DELETE FROM orders WHERE o_w_id = 1 AND o_d_id = 3 AND o_id = 5; \
             DELETE FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 3 AND ol_o_id = 5",
            &["orders"],
        ),
        (
            "INSERT INTO orders SELECT o_w_id, o_d_id, 31, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local FROM orders \
             WHERE o_w_id = 1 AND o_d_id = 3 AND o_id = 5",
            &["2", "4", "orders", "lines"],
        ),
        ("DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id = 3 AND no_o_id = 25", &["3"]),
        (
            "DELETE FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 3 AND ol_o_id = 5 AND ol_number = 1",
            &["4", "lines"],
        ),
        ("UPDATE district SET d_ytd = d_ytd + 1 WHERE d_id = 3", &["1"]),
        // Where all is gone, nothing contradicts anything.
        ("DELETE FROM district; DELETE FROM warehouse", &["rows"]),
        ("DELETE FROM stock WHERE s_i_id = 7", &["rows"]),
        ("DELETE FROM customer WHERE c_d_id = 3 AND c_id = 5", &["rows"]),
        ("UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_id = 3", &["2", "orders"]),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let database = built(directory.path(), 1);
        connection(directory.path()).execute_batch(sql).unwrap();
        assert_eq!(violated(database.as_ref()), expected, "{sql}");
        let conditions = check(database.as_ref()).unwrap().conditions;
        let places: Vec<_> = conditions.iter().flat_map(|one| &one.violations).collect();
        assert!(
            places.iter().all(|place| [0, 1].contains(&place.warehouse) && [0, 3].contains(&place.district)),
            "{places:?}"
        );
    }
}

#[test]
fn a_build_that_did_not_end_is_neither_used_nor_mistaken_for_one_that_did() {
    let directory = tempfile::tempdir().unwrap();
    let url = DatabaseUrl::Sqlite(directory.path().to_owned());
    let database = open(&url, Durability::Full).unwrap();
    let cut = build(database.as_ref(), small(1), 1, 5, &mut |_, _| ControlFlow::Break(()));
    assert!(matches!(cut, Err(Error::Cancelled)), "{cut:?}");
    assert!(matches!(database.layout(), Err(Error::Incomplete { .. })));
    assert!(matches!(check(database.as_ref()), Err(Error::Incomplete { .. })));
    assert!(matches!(build(database.as_ref(), small(1), 1, 5, &mut go), Err(Error::Incomplete { .. })));
    database.purge().unwrap();
    build(database.as_ref(), small(1), 1, 5, &mut go).unwrap();
}

#[test]
fn what_is_not_ours_stays() {
    let directory = tempfile::tempdir().unwrap();
    connection(directory.path()).execute_batch("CREATE TABLE orders (a)").unwrap();
    let database = open(&DatabaseUrl::Sqlite(directory.path().to_owned()), Durability::Full).unwrap();
    assert!(matches!(build(database.as_ref(), small(1), 1, 5, &mut go), Err(Error::Foreign { .. })));
    assert!(matches!(database.purge(), Err(Error::Foreign { .. })));
    assert_eq!(number(directory.path(), "SELECT COUNT(*) FROM orders"), 0);
}

#[test]
fn an_open_loop_counts_from_when_transactions_were_due() {
    let directory = tempfile::tempdir().unwrap();
    let database = built(directory.path(), 1);
    let with = |rate: f64| TprocCTask {
        rate: Some(Iops(rate)),
        stop: Stop { runtime: Some(Nanos(Nanos::SECOND.0)), ..Stop::default() },
        ..task(small(1), 2, 0)
    };
    // A million a second come late, and what came late waited.
    let phase = measured(&database, &with(1e6));
    let rate = phase.outcome.rate.unwrap();
    assert!(!rate.kept && rate.backlog > 100_000, "{rate:?}");
    let kind = OpKind::named("new-order").unwrap();
    let totals = &phase.outcome.totals;
    assert!(totals.response(kind).unwrap().mean() > totals.service(kind).unwrap().mean());
    // Without a rate there is none to keep.
    assert_eq!(measured(&database, &task(small(1), 1, 23)).outcome.rate, None);
}

/// New-Orders are keyed in for 18 s, other transactions for two or three (clause 5.2.5.7): in five seconds, a user does its first one at
/// most, and only where that is another one.
#[test]
fn keying_times_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    let database = built(directory.path(), 1);
    let task = TprocCTask {
        keying_thinking: true,
        stop: Stop { runtime: Some(Nanos(5 * Nanos::SECOND.0)), ..Stop::default() },
        ..task(small(1), 20, 0)
    };
    let layout = database.layout().unwrap();
    let first = |user| User::new(layout, user, task.seed, false).next_transaction().kind();
    let others = (0..task.users).filter(|user| first(*user) != Kind::NewOrder).count() as u64;
    let phase = measured(&database, &task);
    assert_eq!(phase.outcome.ending, Ending::Completed);
    let counted = phase.counted.unwrap();
    assert_eq!((counted.new_orders, counted.rolled_back), (0, 0));
    // Who has thought for less than a second may have keyed another one.
    assert!(counted.committed > 0 && counted.committed <= 2 * others, "{} of {others}", counted.committed);
}

/// A checkpoint of SQLite is due each 64 MiB of its log; the run goes on until a cycle is whole.
#[test]
fn a_run_ends_when_whole_cycles_of_checkpoints_were_measured() {
    let directory = tempfile::tempdir().unwrap();
    let database = built(directory.path(), 2);
    let task = TprocCTask {
        stop: Stop { runtime: Some(Nanos(Nanos::SECOND.0)), ..Stop::default() },
        whole_cycles: Some(Nanos(120 * Nanos::SECOND.0)),
        ..task(small(2), 2, 0)
    };
    database.settle().unwrap();
    let phase = measured(&database, &task);
    assert_eq!(phase.outcome.ending, Ending::Completed);
    let cycles = phase.cycles.unwrap();
    let length = cycles.measured[1].saturating_sub(cycles.measured[0]);
    println!("{:.2} cycles in {length}", cycles.cycles);
    assert!(cycles.cycles >= 0.9 && length.0 < 115 * Nanos::SECOND.0, "{cycles:?}");
    assert!(cycles.has_starts && cycles.cycles >= 0.9, "{cycles:?}");
}

#[test]
fn a_task_for_another_database_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let database = built(directory.path(), 1);
    for wrong in [
        task(small(2), 1, 1),
        task(small(1), 0, 1),
        TprocCTask { stop: Stop::default(), ..task(small(1), 1, 1) },
    ] {
        let refused = run(&database, &wrong, 0, Clock::best(), &Control::default(), &mut Kept::default());
        assert!(refused.is_err(), "{wrong:?}");
    }
}

/// A database whose transactions are all ended in this way.
struct Contended(Arc<dyn Database>, Done);

struct NeverFirst(Box<dyn Session>, Done);

impl Session for NeverFirst {
    fn perform(&mut self, _: &Transaction) -> iolite_db::Result<Done> {
        Ok(self.1)
    }

    fn be_counted(&mut self) {
        self.0.be_counted();
    }
}

impl Database for Contended {
    fn instance(&self) -> Arc<dyn iolite_db::Instance> {
        self.0.instance()
    }

    fn has_procedures(&self) -> bool {
        self.0.has_procedures()
    }

    fn create(&self, layout: Layout) -> iolite_db::Result<()> {
        self.0.create(layout)
    }

    fn loader(&self) -> iolite_db::Result<Box<dyn Loader>> {
        self.0.loader()
    }

    fn finish(&self) -> iolite_db::Result<()> {
        self.0.finish()
    }

    fn layout(&self) -> iolite_db::Result<Layout> {
        self.0.layout()
    }

    fn purge(&self) -> iolite_db::Result<()> {
        self.0.purge()
    }

    fn settle(&self) -> iolite_db::Result<()> {
        self.0.settle()
    }

    fn copy(&self, stop: &(dyn Fn() -> bool + Sync)) -> iolite_db::Result<Arc<dyn Database>> {
        self.0.copy(stop)
    }

    fn session(&self, procedures: bool) -> iolite_db::Result<Box<dyn Session>> {
        Ok(Box::new(NeverFirst(self.0.session(procedures)?, self.1)))
    }

    fn reader(&self) -> iolite_db::Result<Box<dyn Reader>> {
        self.0.reader()
    }
}

/// Checks that an error names the remedy of its cause. docs/errors.md lists each call as the test of that cause.
fn produced(cause: ErrorCause, error: impl std::fmt::Display) {
    let text = error.to_string();
    assert!(text.contains(cause.remedy()), "{cause:?}: {text}");
}

#[test]
fn what_a_database_cannot_do_has_its_remedy() {
    let gtm = DatabaseUrl::parse("gtm:/nowhere").unwrap();
    produced(ErrorCause::NoTprocC, open(&gtm, Durability::Full).err().unwrap());
    let directory = tempfile::tempdir().unwrap();
    produced(ErrorCause::OneWriter, built(directory.path(), 1).spread_warehouses(true).unwrap_err());
}

#[test]
fn transactions_that_never_get_a_lock_end_the_run_with_a_remedy() {
    let directory = tempfile::tempdir().unwrap();
    let built = built(directory.path(), 1);
    for (done, deadlocks, lock_timeouts) in [(Done::Again, 100, 0), (Done::NoLock, 0, 100)] {
        let database: Arc<dyn Database> = Arc::new(Contended(built.clone(), done));
        let task = task(small(1), 1, 10);
        let phase =
            run(&database, &task, 0, Clock::best(), &Control::default(), &mut Kept::default()).unwrap();
        let Ending::Failed(error) = phase.outcome.ending else { panic!("no transaction was committed") };
        produced(ErrorCause::LocksHeld, error);
        let counted = phase.counted.unwrap();
        assert_eq!((counted.deadlocks, counted.lock_timeouts), (deadlocks, lock_timeouts));
    }
}

/// A file that is written to while it is copied would be no database.
#[test]
fn nobody_writes_while_the_file_is_copied() {
    let place = tempfile::tempdir().unwrap();
    let database = built(place.path(), 1);
    let other = rusqlite::Connection::open(place.path().join("tproc-c.db")).unwrap();
    other.busy_timeout(std::time::Duration::ZERO).unwrap();
    let (other, refused) = (Mutex::new(other), Mutex::new(Vec::new()));
    let write = || other.lock().unwrap().execute_batch("UPDATE item SET i_price = i_price + 1");
    write().unwrap();
    let copy = database.copy(&|| {
        refused.lock().unwrap().push(write().is_err());
        false
    });
    let copy = copy.unwrap();
    let refused = refused.into_inner().unwrap();
    assert!(!refused.is_empty() && refused.iter().all(|refused| *refused), "{refused:?}");
    write().unwrap();
    copy.layout().unwrap();
    drop(copy);
    database.remove_copy().unwrap();
}

/// A run or a build that goes on would write to files that nobody finds any more.
#[test]
fn a_database_in_use_is_not_purged() {
    let place = tempfile::tempdir().unwrap();
    let database = built(place.path(), 1);
    let file = place.path().join("tproc-c.db");
    let session = database.session(false).unwrap();
    assert!(matches!(database.purge(), Err(iolite_db::Error::Busy { .. })));
    drop(session);
    // Another process's, which reads.
    let script = format!(
        "import sqlite3, sys\nc = sqlite3.connect({:?})\nc.execute('BEGIN')\nc.execute('SELECT count(*) FROM item').fetchone()\nprint('reads', flush=True)\nsys.stdin.read()",
        file.display().to_string()
    );
    let mut python = std::process::Command::new("python3");
    python.args(["-c", &script]).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    if let Ok(mut reader) = python.spawn() {
        let mut line = String::new();
        let mut output = std::io::BufReader::new(reader.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut output, &mut line).unwrap();
        assert_eq!(line, "reads\n");
        assert!(matches!(database.purge(), Err(iolite_db::Error::Busy { .. })));
        drop(reader.stdin.take());
        reader.wait().unwrap();
    } else {
        eprintln!("skipped: no python3 to read the database in another process");
    }
    database.layout().unwrap();
    database.purge().unwrap();
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
}
