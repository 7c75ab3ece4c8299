//! A user's session: statements, or calls of our procedures.

use std::collections::HashMap;
use std::sync::Arc;

use iolite_db::postgres::Target;
use iolite_db::{Error, Result};
use iolite_model::{Durability, ErrorCause};
use postgres::types::{ToSql, Type};
use postgres::{Client, Row, Statement};

use super::super::contract::{Done, Session, Value};
use super::super::dialect::{Dialect, texts};
use super::super::input::Transaction;
use super::super::statements::{self, Fault, Outcome, Statements};
use super::procedures;

/// See [`Session`].
pub(super) struct PostgresSession {
    client: Client,
    target: Arc<Target>,
    procedures: bool,
    /// By their text's address, which is one of few constants.
    prepared: HashMap<*const u8, Statement>,
    calls: procedures::Calls,
}

impl PostgresSession {
    pub(super) fn open(
        target: Arc<Target>,
        durability: Durability,
        procedures: bool,
    ) -> Result<PostgresSession> {
        let mut client = target.connect()?;
        let failed = |e| target.failed("configure a session of", e);
        let commit = match durability {
            Durability::Full => Some("on"),
            Durability::Relaxed => Some("off"),
            Durability::AsConfigured => None,
        };
        if let Some(commit) = commit {
            client.batch_execute(&format!("SET synchronous_commit = {commit}")).map_err(failed)?;
        }
        let calls = if procedures {
            procedures::Calls::prepare(&mut client).map_err(failed)?
        } else {
            Default::default()
        };
        Ok(PostgresSession { client, target, procedures, prepared: HashMap::new(), calls })
    }

    fn fault(&self, doing: &'static str, error: postgres::Error) -> Fault {
        match error.code().map(|code| code.code()) {
            // serialization_failure, deadlock_detected.
            Some("40001" | "40P01") => Fault::Again,
            // lock_not_available, after lock_timeout.
            Some("55P03") => Fault::NoLock,
            _ => Fault::Error(self.target.failed(doing, error)),
        }
    }

    fn prepared(&mut self, text: &'static str) -> Outcome<Statement> {
        if let Some(statement) = self.prepared.get(&text.as_ptr()) {
            return Ok(statement.clone());
        }
        let types: Vec<Type> =
            texts(text).into_iter().map(|is_text| if is_text { Type::TEXT } else { Type::INT8 }).collect();
        let prepared = self.client.prepare_typed(&Dialect::POSTGRES.sql(text), &types);
        let statement = prepared.map_err(|e| self.fault("prepare a statement in", e))?;
        self.prepared.insert(text.as_ptr(), statement.clone());
        Ok(statement)
    }

    fn simple(&mut self, doing: &'static str, sql: &str) -> Outcome<()> {
        self.client.batch_execute(sql).map_err(|e| self.fault(doing, e))
    }
}

impl Session for PostgresSession {
    fn perform(&mut self, transaction: &Transaction) -> Result<Done> {
        if !self.procedures {
            return statements::perform(self, transaction);
        }
        match self.calls.call(&mut self.client, transaction) {
            Ok(done) => Ok(done),
            Err(error) if error.code().is_some_and(|code| code.code() == procedures::UNUSED_ITEM) => {
                Ok(Done::RolledBack)
            }
            Err(error) => self.fault("call a procedure of TPROC-C in", error).ended(),
        }
    }

    /// PostgreSQL 15 and later; otherwise a session reports what it has counted once a second, and when it ends.
    fn be_counted(&mut self) {
        // An older server does not have the function, and a session that failed is counted when it ends.
        let _ = self.client.batch_execute("SELECT pg_stat_force_next_flush()");
    }
}

/// What the values are for the connection.
fn parameters(values: &[Value]) -> Vec<&(dyn ToSql + Sync)> {
    values
        .iter()
        .map(|value| match value {
            Value::Int(value) => value as &(dyn ToSql + Sync),
            Value::Text(text) => text,
            Value::Null => &None::<i64>,
        })
        .collect()
}

impl Statements for PostgresSession {
    fn begin(&mut self, _: bool) -> Outcome<()> {
        self.simple("begin a transaction in", "BEGIN")
    }

    fn commit(&mut self) -> Outcome<()> {
        self.simple("commit to", "COMMIT")
    }

    fn rollback(&mut self) {
        // What fails here has been reported by what failed before.
        let _ = self.client.batch_execute("ROLLBACK");
    }

    fn query(&mut self, text: &'static str, values: &[Value]) -> Outcome<Vec<Vec<Value>>> {
        let statement = self.prepared(text)?;
        let rows = self.client.query(&statement, &parameters(values)).map_err(|e| self.fault("read", e))?;
        Ok(rows.iter().map(|row| (0..row.len()).map(|column| value(row, column)).collect()).collect())
    }

    fn execute(&mut self, text: &'static str, values: &[Value]) -> Outcome<u64> {
        let statement = self.prepared(text)?;
        self.client.execute(&statement, &parameters(values)).map_err(|e| self.fault("write to", e))
    }

    fn damaged(&self, what: &str) -> Fault {
        let (doing, why) = ("find what belongs to TPROC-C in", format!("{what} is missing"));
        Fault::Error(Error::engine(doing, self.target.place(), why, ErrorCause::ContentsChanged))
    }
}

fn value(row: &Row, column: usize) -> Value {
    match *row.columns()[column].type_() {
        Type::INT4 => row.get::<_, Option<i32>>(column).map_or(Value::Null, |value| Value::Int(value.into())),
        Type::INT8 => row.get::<_, Option<i64>>(column).map_or(Value::Null, Value::Int),
        _ => row.try_get::<_, Option<String>>(column).ok().flatten().map_or(Value::Null, Value::Text),
    }
}

/// The whole number in a column; 0 for anything else.
pub(super) fn number(row: &Row, column: usize) -> i64 {
    value(row, column).int()
}
