//! A user's session: statements, or calls of our procedures, and the commit as a command of its own: within a procedure it
//! would return before the log is synced (MariaDB from 10.6).

use std::collections::HashMap;
use std::sync::Arc;

use iolite_db::mysql::Rows;
use iolite_db::mysql::connect;
use iolite_db::{Error, Mysql, Result};
use iolite_model::ErrorCause;
use mysql::prelude::Queryable;
use mysql::{Conn, Params, Row, Statement};

use super::super::contract::{Done, Session, Value};
use super::super::dialect::Dialect;
use super::super::input::{Customer, Line, NewOrder, Transaction};
use super::super::statements::{self, Fault, Outcome, Statements};
use super::procedures::UNUSED_ITEM;

/// ER_LOCK_DEADLOCK, ER_CHECKREAD (a row has changed since it was read).
const AGAIN: [u16; 2] = [1213, 1020];
/// ER_LOCK_WAIT_TIMEOUT: it waited for a lock longer than innodb_lock_wait_timeout.
const NO_LOCK: u16 = 1205;

/// See [`Session`].
pub(super) struct MysqlSession {
    conn: Conn,
    instance: Arc<Mysql>,
    procedures: bool,
    /// By their text's address, which is one of few constants.
    prepared: HashMap<*const u8, Statement>,
}

impl MysqlSession {
    pub(super) fn open(instance: Arc<Mysql>, mut conn: Conn, procedures: bool) -> Result<MysqlSession> {
        // Rows that are to be changed are locked where they are read; gaps between rows need no locks for that.
        let sql = ["SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", "SET SESSION autocommit = 0"];
        let set = sql.iter().try_for_each(|sql| conn.query_drop(sql));
        set.map_err(|e| instance.target().refusal("configure a session of", e))?;
        Ok(MysqlSession { conn, instance, procedures, prepared: HashMap::new() })
    }

    fn fault(&self, doing: &'static str, error: mysql::Error) -> Fault {
        match connect::code(&error) {
            Some(code) if AGAIN.contains(&code) => Fault::Again,
            Some(NO_LOCK) => Fault::NoLock,
            _ => Fault::Error(self.instance.target().refusal(doing, error)),
        }
    }

    fn rows(&mut self, doing: &'static str, text: &'static str, values: &[Value]) -> Outcome<Vec<Row>> {
        let statement = match self.prepared.get(&text.as_ptr()) {
            Some(statement) => statement.clone(),
            None => {
                let prepared = self.conn.prep(Dialect::MYSQL.sql(text)).map_err(|e| self.fault(doing, e))?;
                self.prepared.insert(text.as_ptr(), prepared.clone());
                prepared
            }
        };
        self.conn.exec_rows(&statement, parameters(values)).map_err(|e| self.fault(doing, e))
    }

    fn call(&mut self, transaction: &Transaction) -> Outcome<Done> {
        const DOING: &str = "call a procedure of TPROC-C in";
        let rows = match transaction {
            Transaction::NewOrder(order) => {
                let text = "CALL @new_order_txn(?, ?, ?, ?, ?, #, #, #)";
                self.rows(DOING, text, &new_order(order))?
            }
            Transaction::Payment(payment) => {
                let mut values = vec![
                    Value::Int(payment.warehouse),
                    Value::Int(payment.district),
                    Value::Int(payment.customer_warehouse),
                    Value::Int(payment.customer_district),
                ];
                values.extend(identity(&payment.customer));
                values.push(Value::Int(payment.amount));
                self.rows(DOING, "CALL @payment_txn(?, ?, ?, ?, ?, #, ?)", &values)?
            }
            Transaction::OrderStatus(status) => {
                let mut values = vec![Value::Int(status.warehouse), Value::Int(status.district)];
                values.extend(identity(&status.customer));
                self.rows(DOING, "CALL @order_status_txn(?, ?, ?, #)", &values)?
            }
            Transaction::Delivery(delivery) => {
                let values = [Value::Int(delivery.warehouse), Value::Int(delivery.carrier)];
                self.rows(DOING, "CALL @delivery_txn(?, ?)", &values)?
            }
            Transaction::StockLevel(level) => {
                let values =
                    [Value::Int(level.warehouse), Value::Int(level.district), Value::Int(level.threshold)];
                self.rows(DOING, "CALL @stock_level_txn(?, ?, ?)", &values)?
            }
        };
        let answer = rows.into_iter().next().map(values).unwrap_or_default();
        let number = answer.first().map_or(0, Value::int);
        match transaction {
            Transaction::NewOrder(_) if number == UNUSED_ITEM => Ok(Done::RolledBack),
            Transaction::Delivery(_) => Ok(Done::Committed { skipped: u32::try_from(number).unwrap_or(0) }),
            _ => Ok(Done::Committed { skipped: 0 }),
        }
    }
}

/// A New-Order's parameters: its lines as lists with commas.
fn new_order(order: &NewOrder) -> [Value; 8] {
    let list = |of: fn(&Line) -> i64| {
        let numbers: Vec<String> = order.lines.iter().map(|line| of(line).to_string()).collect();
        Value::Text(numbers.join(","))
    };
    let local = order.lines.iter().all(|line| line.supplier == order.warehouse);
    [
        Value::Int(order.warehouse),
        Value::Int(order.district),
        Value::Int(order.customer),
        Value::Int(order.lines.len() as i64),
        Value::Int(local.into()),
        list(|line| line.item),
        list(|line| line.supplier),
        list(|line| line.quantity),
    ]
}

/// A customer by number, or 0 and the name.
fn identity(customer: &Customer) -> [Value; 2] {
    match customer {
        Customer::Id(id) => [Value::Int(*id), Value::Null],
        Customer::Name(name) => [Value::Int(0), Value::Text(name.clone())],
    }
}

fn parameters(values: &[Value]) -> Params {
    let parameter = |value: &Value| match value {
        Value::Int(value) => mysql::Value::Int(*value),
        Value::Text(text) => mysql::Value::Bytes(text.clone().into_bytes()),
        Value::Null => mysql::Value::NULL,
    };
    match values {
        [] => Params::Empty,
        values => Params::Positional(values.iter().map(parameter).collect()),
    }
}

/// The values of a row.
pub(super) fn values(row: Row) -> Vec<Value> {
    let value = |value| match value {
        mysql::Value::Int(value) => Value::Int(value),
        mysql::Value::UInt(value) => Value::Int(i64::try_from(value).unwrap_or(i64::MAX)),
        mysql::Value::Bytes(bytes) => {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            // In the text protocol numbers are texts.
            text.parse().map_or(Value::Text(text), Value::Int)
        }
        _ => Value::Null,
    };
    row.unwrap().into_iter().map(value).collect()
}

impl Session for MysqlSession {
    fn perform(&mut self, transaction: &Transaction) -> Result<Done> {
        if !self.procedures {
            return statements::perform(self, transaction);
        }
        let done = self.call(transaction);
        statements::end(self, done)
    }
}

impl Statements for MysqlSession {
    /// Without autocommit the first statement begins it.
    fn begin(&mut self, _: bool) -> Outcome<()> {
        Ok(())
    }

    fn commit(&mut self) -> Outcome<()> {
        self.conn.query_drop("COMMIT").map_err(|e| self.fault("commit to", e))
    }

    fn rollback(&mut self) {
        // What fails here has been reported by what failed before.
        let _ = self.conn.query_drop("ROLLBACK");
    }

    fn query(&mut self, text: &'static str, values: &[Value]) -> Outcome<Vec<Vec<Value>>> {
        Ok(self.rows("read", text, values)?.into_iter().map(self::values).collect())
    }

    fn execute(&mut self, text: &'static str, values: &[Value]) -> Outcome<u64> {
        self.rows("write to", text, values)?;
        Ok(self.conn.affected_rows())
    }

    fn damaged(&self, what: &str) -> Fault {
        let target = self.instance.target();
        let (doing, why) = ("find what belongs to TPROC-C in", format!("{what} is missing"));
        Fault::Error(Error::engine(doing, &target.place, why, ErrorCause::ContentsChanged))
    }
}
