//! TPROC-C in a real server: built, used both ways by several users, checked, broken, removed.

#![allow(dead_code)]

use std::sync::Arc;

use iolite_model::{Ending, Nanos, NullSink, OpKind, Stop, TprocCTask};
use iolite_oltp::tproc_c::{Database, Layout, Phase, build, check, run};
use iolite_sys::clock::Clock;
use iolite_workers::Control;

use super::go;

pub(crate) fn layout() -> Layout {
    Layout::new(2, 100, 5).unwrap()
}

pub(crate) fn built(database: &dyn Database) {
    build(database, layout(), 3, 5, &mut go).unwrap();
    assert_eq!(database.layout().unwrap(), layout());
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

/// The names of the conditions that do not hold.
pub(crate) fn violated(database: &dyn Database) -> Vec<String> {
    let conditions = check(database).unwrap().conditions;
    assert_eq!(conditions.len(), 6);
    conditions.into_iter().filter(|one| !one.violations.is_empty()).map(|one| one.name).collect()
}

/// Runs with several users, as statements and as procedures, and compares every count there is; `number` is the server's own
/// client, `tables` what our tables' names begin with.
pub(crate) fn users_work(database: &Arc<dyn Database>, tables: &str, number: impl Fn(&str) -> u64) {
    for procedures in [false, true] {
        let orders = number(&format!("SELECT COUNT(*) FROM {tables}orders"));
        let payments = number(&format!("SELECT COUNT(*) FROM {tables}history"));
        let phase = measured(database, &task(3, 690, procedures));
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
        // The server counts what users did, and what reads its counters.
        let own = counted.committed + counted.rolled_back + counted.deadlocks;
        let server = counted.transactions_gained().unwrap();
        assert!(server >= own && server < own + 60, "{server} by the server, {own} by ours");
        assert_eq!(violated(database.as_ref()), Vec::<String>::new());
        let owed = format!("SELECT SUM(c_balance) + SUM(c_ytd_payment) FROM {tables}customer");
        let sold = format!(
            "SELECT SUM(ol_amount) FROM {tables}order_line WHERE ol_delivery_d > '2000-01-02 00:00:00'"
        );
        assert_eq!(number(&owed), number(&sold));
    }
}

/// A load that goes on until the server is killed.
pub(crate) fn until_killed(database: Arc<dyn Database>, kill: impl FnOnce()) -> Phase {
    let endless = TprocCTask {
        stop: Stop { runtime: Some(Nanos(60 * Nanos::SECOND.0)), ..Stop::default() },
        ..task(3, 0, true)
    };
    let loaded = database.clone();
    let load = std::thread::spawn(move || measured(&loaded, &endless));
    let mut reader = database.reader().unwrap();
    let before = reader.orders().unwrap();
    super::until("some orders", || reader.orders().unwrap() > before + 20);
    drop(reader);
    kill();
    load.join().unwrap()
}
