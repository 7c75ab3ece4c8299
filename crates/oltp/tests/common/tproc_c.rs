//! TPROC-C in a real server: built, used both ways by several users, checked, broken, removed.

#![allow(dead_code)]

use std::sync::Arc;

use iolite_model::{Ending, Event, Interval, Nanos, NullSink, OpKind, Sink, Stop, TprocCTask};
use iolite_oltp::tproc_c::{Database, Layout, Phase, build, check, run};
use iolite_sys::clock::Clock;
use iolite_workers::Control;

use super::go;

pub(crate) fn layout() -> Layout {
    Layout::new(2, 100, 5).unwrap()
}

pub(crate) fn built(database: &dyn Database) {
    build(database, layout(), 3, 5, &mut go).unwrap();
    assert_eq!(database.layout().unwrap(), Layout { loaders: 3, ..layout() });
}

/// With the large tables in a partition for each warehouse: users work, and what is missing is found.
pub(crate) fn users_work_on_partitions(
    database: &Arc<dyn Database>,
    partitions_of: impl Fn(&str) -> u64,
    delete: impl FnOnce(),
) {
    let partitioned = layout().partitioned(2).unwrap();
    build(database.as_ref(), partitioned, 2, 5, &mut go).unwrap();
    assert_eq!(database.layout().unwrap(), Layout { loaders: 2, ..partitioned });
    for table in ["customer", "history", "orders", "new_order", "order_line", "stock"] {
        assert_eq!(partitions_of(table), 2, "{table}");
    }
    for table in ["warehouse", "district", "item"] {
        assert_eq!(partitions_of(table), 0, "{table}");
    }
    for procedures in [false, true] {
        let phase = measured(database, &task(3, 230, procedures));
        assert_eq!(phase.outcome.ending, Ending::Completed, "procedures: {procedures}");
        let counted = phase.counted.unwrap();
        assert_eq!(counted.new_orders, counted.orders_gained());
    }
    database.settle().unwrap();
    assert_eq!(violated(database.as_ref()), Vec::<String>::new());
    delete();
    assert_eq!(violated(database.as_ref()), ["4", "orders"]);
    database.purge().unwrap();
}

/// A task that ends by its number of transactions.
pub(crate) fn task(users: u32, transactions: u64, procedures: bool) -> TprocCTask {
    TprocCTask {
        name: "TPROC-C".into(),
        users,
        warehouses: layout().warehouses,
        reduction: layout().reduction,
        all_warehouses: true,
        keying_thinking: false,
        procedures,
        spread_warehouse: false,
        whole_cycles: None,
        rate: None,
        stop: Stop { operations: Some(transactions), ..Stop::default() },
        ramp: Nanos(0),
        interval: Nanos::SECOND,
        seed: 11,
        kinds: iolite_oltp::tproc_c::kinds().unwrap(),
    }
}

pub(crate) fn measured(database: &Arc<dyn Database>, task: &TprocCTask) -> Phase {
    run(database, task, 0, Clock::best(), &Control::default(), &mut NullSink).unwrap()
}

/// A load of so many users in procedures that goes on until it is ended.
pub(crate) struct Endless {
    control: Control,
    load: std::thread::JoinHandle<Phase>,
}

impl Endless {
    pub(crate) fn start(database: &Arc<dyn Database>, users: u32) -> Endless {
        let (control, database) = (Control::default(), database.clone());
        let running = control.clone();
        let load = std::thread::spawn(move || {
            let stop = Stop { runtime: Some(Nanos(600 * Nanos::SECOND.0)), ..Stop::default() };
            let task = TprocCTask { stop, ..task(users, 0, true) };
            run(&database, &task, 0, Clock::best(), &running, &mut NullSink).unwrap()
        });
        Endless { control, load }
    }

    pub(crate) fn end(self) -> Phase {
        self.control.end_phase(0);
        let phase = self.load.join().unwrap();
        assert_eq!(phase.outcome.ending, Ending::Completed);
        phase
    }
}

/// The names of the conditions that do not hold.
pub(crate) fn violated(database: &dyn Database) -> Vec<String> {
    let conditions = check(database).unwrap().conditions;
    assert_eq!(conditions.len(), 7);
    conditions.into_iter().filter(|one| !one.violations.is_empty()).map(|one| one.name).collect()
}

/// Runs with several users, as statements and as procedures, and compares every count there is; `number` is the server's own
/// client, `tables` what our tables' names begin with.
pub(crate) fn users_work(database: &Arc<dyn Database>, tables: &str, number: impl Fn(&str) -> u64) {
    for procedures in [false, true] {
        let orders = number(&format!("SELECT COUNT(*) FROM {tables}orders"));
        let payments = number(&format!("SELECT COUNT(*) FROM {tables}history"));
        let began = std::time::Instant::now();
        let phase = measured(database, &task(3, 690, procedures));
        let took = began.elapsed();
        assert_eq!(phase.outcome.ending, Ending::Completed, "procedures: {procedures}");
        let counted = phase.counted.unwrap();
        assert_eq!(counted.new_orders, counted.orders_gained());
        assert_eq!(counted.new_orders + counted.rolled_back, 300);
        assert_eq!(counted.committed + counted.rolled_back, 690);
        let kind = |name| phase.outcome.totals.operations(OpKind::named(name).unwrap());
        assert_eq!(
            (kind("new-order"), kind("new-order-rollback")),
            (counted.new_orders, counted.rolled_back)
        );
        assert_eq!(["payment", "delivery", "order-status", "stock-level"].map(kind), [300, 30, 30, 30]);
        assert_eq!(number(&format!("SELECT COUNT(*) FROM {tables}orders")) - orders, counted.new_orders);
        assert_eq!(number(&format!("SELECT COUNT(*) FROM {tables}history")) - payments, 300);
        // The server counts what users did, and what reads its counters, where it is in its cycle of checkpoints too: fifty times a
        // second at most, so that a slow host sees more of it.
        let read = 60 + took.as_millis() as u64 / 20;
        let own = counted.committed + counted.rolled_back + counted.deadlocks + counted.lock_timeouts;
        let server = counted.transactions_gained().unwrap();
        assert!(server >= own && server < own + read, "{server} by the server, {own} by ours");
        assert_eq!(violated(database.as_ref()), Vec::<String>::new());
        let owed = format!("SELECT SUM(c_balance) + SUM(c_ytd_payment) FROM {tables}customer");
        let sold = format!(
            "SELECT SUM(ol_amount) FROM {tables}order_line WHERE ol_delivery_d > '2000-01-02 00:00:00'"
        );
        assert_eq!(number(&owed), number(&sold));
    }
}

/// The intervals of a phase.
#[derive(Default)]
struct Intervals(Vec<Interval>);

impl Sink for Intervals {
    fn event(&mut self, event: &Event) {
        if let Event::Interval(interval) = event {
            self.0.push(interval.clone());
        }
    }
}

impl Intervals {
    /// Transactions of the intervals that are wanted by their start and end.
    fn transactions(&self, wanted: impl Fn(Nanos, Nanos) -> bool) -> u64 {
        let end = |interval: &Interval| Nanos(interval.start.0 + interval.length.0);
        let wanted = self.0.iter().filter(|interval| wanted(interval.start, end(interval)));
        wanted.flat_map(|interval| &interval.ops).map(|kind| kind.operations).sum()
    }
}

/// What a server's counter of transactions may differ by from the transactions that users have completed.
pub(crate) struct CounterEdges {
    /// How long a session may take to report a transaction, in addition to the transaction that it is in.
    pub(crate) delay: Nanos,
    /// Transactions that the readings of the counters are themselves.
    pub(crate) readings: u64,
}

/// TPM is the server's counter over the measured part, and agrees with the transactions that users completed in it as closely as its
/// edges allow; `counter` asks the server's own client for the same counter.
///
/// A reading is as of some instant between the edge of the measured part and the time it is recorded with. Between the edge and that
/// time, and for the delay of the sessions' reports before it, a transaction may or may not be in it. So the counter contains at least
/// the transactions that completed from the first recorded time to the end less the delay, and at most those from the first edge less
/// the delay to the second recorded time. Each session may have one transaction in flight that is counted before it completes.
pub(crate) fn transactions_agree(
    database: &Arc<dyn Database>,
    edges: &CounterEdges,
    counter: impl Fn() -> u64,
) {
    const SECOND: u64 = Nanos::SECOND.0;
    let users = 3;
    for procedures in [false, true] {
        let task = TprocCTask {
            stop: Stop { runtime: Some(Nanos(4 * SECOND + 2 * edges.delay.0)), ..Stop::default() },
            // Beyond the delay: what sessions have done to get ready is reported before the measured part.
            ramp: Nanos(SECOND / 2 + edges.delay.0),
            interval: Nanos(SECOND / 20),
            ..task(users, 0, procedures)
        };
        let mut intervals = Intervals::default();
        let before = counter();
        let phase = run(database, &task, 0, Clock::best(), &Control::default(), &mut intervals).unwrap();
        let after = counter();
        assert_eq!(phase.outcome.ending, Ending::Completed);
        let counted = phase.counted.unwrap();
        let read =
            [counted.before, counted.start, counted.end, counted.after].map(|at| at.transactions.unwrap());
        let all: Vec<u64> = [before].into_iter().chain(read).chain([after]).collect();
        assert!(all.is_sorted(), "{all:?} of the same counter");

        let end = Nanos(task.ramp.0 + task.stop.runtime.unwrap().0);
        let longest =
            intervals.0.iter().flat_map(|interval| &interval.ops).map(|kind| kind.response_max).max();
        let delay =
            if edges.delay == Nanos(0) { Nanos(0) } else { Nanos(edges.delay.0 + longest.unwrap().0) };
        let (first, last) = (counted.start.at, end.saturating_sub(delay));
        let (earliest, latest) = (task.ramp.saturating_sub(delay), counted.end.at);
        let at_least = intervals.transactions(|start, end| start >= first && end <= last);
        let at_most = intervals.transactions(|start, end| start <= latest && end >= earliest);
        let at_least = at_least.saturating_sub(u64::from(users));
        let at_most = at_most + u64::from(users) + counted.deadlocks + edges.readings;
        let gained = read[2] - read[1];
        let minutes = (counted.end.at.0 - counted.start.at.0) as f64 / 60e9;
        println!("procedures {procedures}: {at_least} to {at_most} by the users, {gained} by the server");
        assert!(at_least > 0 && (at_least..=at_most).contains(&gained), "{at_least} to {at_most}: {gained}");
        assert!((counted.tpm().unwrap() - gained as f64 / minutes).abs() < 1e-6 * gained as f64 / minutes);
    }
}

/// What came of a load until its server was killed.
pub(crate) struct Killed {
    pub(crate) phase: Phase,
    /// The districts' counter before the load.
    before: u64,
}

impl Killed {
    /// Asserts that every order whose commit had returned is there.
    pub(crate) fn kept_every_order(&self, restarted: &dyn Database) {
        let acknowledged = self.phase.outcome.totals.operations(OpKind::named("new-order").unwrap());
        let gained = restarted.reader().unwrap().orders().unwrap() - self.before;
        assert!(acknowledged > 0 && gained >= acknowledged, "{acknowledged} acknowledged, {gained} there");
    }
}

/// A load that goes on until the server is killed.
pub(crate) fn until_killed(database: Arc<dyn Database>, kill: impl FnOnce()) -> Killed {
    let endless = TprocCTask {
        stop: Stop { runtime: Some(Nanos(60 * Nanos::SECOND.0)), ..Stop::default() },
        ..task(3, 0, true)
    };
    let mut reader = database.reader().unwrap();
    let before = reader.orders().unwrap();
    let loaded = database.clone();
    let load = std::thread::spawn(move || measured(&loaded, &endless));
    super::until("some orders", || reader.orders().unwrap() > before + 20);
    drop(reader);
    kill();
    Killed { phase: load.join().unwrap(), before }
}

/// A load that is measured until whole cycles of checkpoints are.
pub(crate) fn whole_cycles(database: &Arc<dyn Database>) -> Phase {
    let task = TprocCTask {
        stop: Stop { runtime: Some(Nanos(Nanos::SECOND.0)), ..Stop::default() },
        whole_cycles: Some(Nanos(120 * Nanos::SECOND.0)),
        ..task(3, 0, true)
    };
    database.settle().unwrap();
    let phase = measured(database, &task);
    assert_eq!(phase.outcome.ending, Ending::Completed);
    let counted = phase.counted.as_ref().unwrap();
    assert_eq!(counted.new_orders, counted.orders_gained());
    let cycles = phase.cycles.as_ref().unwrap();
    assert!(cycles.cycles >= 0.9, "{cycles:?}");
    let length = cycles.measured[1].saturating_sub(cycles.measured[0]);
    assert_eq!(cycles.measured, [counted.start.at, counted.end.at]);
    // It begins a little after the release, when that has been read.
    assert!(cycles.measured[1].0 >= Nanos::SECOND.0 && length.0 < 115 * Nanos::SECOND.0, "{cycles:?}");
    println!("{:.2} cycles in {length}", cycles.cycles);
    phase
}
