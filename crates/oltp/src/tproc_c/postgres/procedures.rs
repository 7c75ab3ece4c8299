//! The transactions as functions of the server, in PL/pgSQL: one round trip each, committed by the call's own end.

use postgres::types::ToSql;
use postgres::{Client, Statement};

use super::super::contract::Done;
use super::super::input::{Customer, Transaction};

/// SQLSTATE by which New-Order rolls back an order with an item that does not exist.
pub(super) const UNUSED_ITEM: &str = "TC001";

/// Creates the functions.
pub(super) const CREATE: &str = include_str!("procedures.sql");

/// Drops them.
pub(super) const DROP: &str = "\
    DROP FUNCTION IF EXISTS iolite_tproc_c.new_order_txn(INTEGER, INTEGER, INTEGER, INTEGER[], INTEGER[], INTEGER[]);\
    DROP FUNCTION IF EXISTS iolite_tproc_c.payment_txn(INTEGER, INTEGER, INTEGER, INTEGER, INTEGER, TEXT, BIGINT);\
    DROP FUNCTION IF EXISTS iolite_tproc_c.order_status_txn(INTEGER, INTEGER, INTEGER, TEXT);\
    DROP FUNCTION IF EXISTS iolite_tproc_c.delivery_txn(INTEGER, INTEGER);\
    DROP FUNCTION IF EXISTS iolite_tproc_c.stock_level_txn(INTEGER, INTEGER, INTEGER);\
    DROP FUNCTION IF EXISTS iolite_tproc_c.customer_named(INTEGER, INTEGER, TEXT);";

/// A session's calls, prepared.
#[derive(Default)]
pub(super) struct Calls(Option<Prepared>);

struct Prepared {
    new_order: Statement,
    payment: Statement,
    order_status: Statement,
    delivery: Statement,
    stock_level: Statement,
}

impl Calls {
    pub(super) fn prepare(client: &mut Client) -> Result<Calls, postgres::Error> {
        Ok(Calls(Some(Prepared {
            new_order: client.prepare("SELECT iolite_tproc_c.new_order_txn($1, $2, $3, $4, $5, $6)")?,
            payment: client.prepare("SELECT iolite_tproc_c.payment_txn($1, $2, $3, $4, $5, $6, $7)")?,
            order_status: client.prepare("SELECT iolite_tproc_c.order_status_txn($1, $2, $3, $4)")?,
            delivery: client.prepare("SELECT iolite_tproc_c.delivery_txn($1, $2)")?,
            stock_level: client.prepare("SELECT iolite_tproc_c.stock_level_txn($1, $2, $3)")?,
        })))
    }

    /// Calls the function of a transaction.
    pub(super) fn call(
        &self,
        client: &mut Client,
        transaction: &Transaction,
    ) -> Result<Done, postgres::Error> {
        const COMMITTED: Done = Done::Committed { skipped: 0 };
        // Sessions without procedures do not come here.
        let Some(prepared) = &self.0 else { return Ok(Done::Again) };
        match transaction {
            Transaction::NewOrder(order) => {
                let column = |of: fn(&super::super::input::Line) -> i64| -> Vec<i32> {
                    order.lines.iter().map(|line| narrow(of(line))).collect()
                };
                let items = column(|line| line.item);
                let suppliers = column(|line| line.supplier);
                let quantities = column(|line| line.quantity);
                let values: [&(dyn ToSql + Sync); 6] = [
                    &narrow(order.warehouse),
                    &narrow(order.district),
                    &narrow(order.customer),
                    &items,
                    &suppliers,
                    &quantities,
                ];
                client.query_one(&prepared.new_order, &values).map(|_| COMMITTED)
            }
            Transaction::Payment(payment) => {
                let (id, name) = identity(&payment.customer);
                let values: [&(dyn ToSql + Sync); 7] = [
                    &narrow(payment.warehouse),
                    &narrow(payment.district),
                    &narrow(payment.customer_warehouse),
                    &narrow(payment.customer_district),
                    &id,
                    &name,
                    &payment.amount,
                ];
                client.query_one(&prepared.payment, &values).map(|_| COMMITTED)
            }
            Transaction::OrderStatus(status) => {
                let (id, name) = identity(&status.customer);
                let values: [&(dyn ToSql + Sync); 4] =
                    [&narrow(status.warehouse), &narrow(status.district), &id, &name];
                client.query_one(&prepared.order_status, &values).map(|_| COMMITTED)
            }
            Transaction::Delivery(delivery) => {
                let values: [&(dyn ToSql + Sync); 2] =
                    [&narrow(delivery.warehouse), &narrow(delivery.carrier)];
                let row = client.query_one(&prepared.delivery, &values)?;
                Ok(Done::Committed { skipped: row.get::<_, i32>(0).unsigned_abs() })
            }
            Transaction::StockLevel(level) => {
                let values: [&(dyn ToSql + Sync); 3] =
                    [&narrow(level.warehouse), &narrow(level.district), &narrow(level.threshold)];
                client.query_one(&prepared.stock_level, &values).map(|_| COMMITTED)
            }
        }
    }
}

/// A number of ours as the columns have it: all of them fit.
fn narrow(number: i64) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

fn identity(customer: &Customer) -> (Option<i32>, Option<&str>) {
    match customer {
        Customer::Id(id) => (Some(narrow(*id)), None),
        Customer::Name(name) => (None, Some(name)),
    }
}
