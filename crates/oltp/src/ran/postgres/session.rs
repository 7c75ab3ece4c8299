//! Operations one by one, timed by whoever calls: prepared statements, one way to the server and back each.

use iolite_model::{Bytes, ErrorCause};
use postgres::Statement;

use super::super::contract::Session;
use super::RanPostgres;
use super::globals::value_size;
use super::worker::Worker;
use iolite_db::postgres::copy::Noise;
use iolite_db::{Error, Result};

/// A worker's session.
pub(super) struct ClientSession {
    worker: Worker,
    read: Option<Statement>,
    update: Option<Statement>,
    noise: Noise,
    open: bool,
}

impl ClientSession {
    /// Connects.
    ///
    /// # Errors
    /// As [`Adapter::session`](super::super::Adapter::session).
    pub(super) fn open(database: &RanPostgres, worker: u32) -> Result<ClientSession> {
        let worker = Worker::open(database, worker)?;
        Ok(ClientSession { worker, read: None, update: None, noise: Noise::new(), open: false })
    }

    fn read_statement(&mut self) -> Result<Statement> {
        if let Some(statement) = &self.read {
            return Ok(statement.clone());
        }
        let sql = format!("SELECT {}", self.worker.expression("$1::oid", "$2::bigint")?);
        let worker = &mut self.worker;
        let statement =
            worker.client.prepare(&sql).map_err(|e| worker.target.failed("prepare reads of", e))?;
        Ok(self.read.insert(statement).clone())
    }

    fn update_statement(&mut self) -> Result<Statement> {
        if let Some(statement) = &self.update {
            return Ok(statement.clone());
        }
        let worker = &mut self.worker;
        let sql = format!("UPDATE {} SET value = $1 WHERE subscript = $2", worker.global()?);
        worker.configure_writes()?;
        let statement =
            worker.client.prepare(&sql).map_err(|e| worker.target.failed("prepare sets of", e))?;
        Ok(self.update.insert(statement).clone())
    }

    fn command(&mut self, doing: &'static str, sql: &str) -> Result<()> {
        let worker = &mut self.worker;
        worker.client.batch_execute(sql).map_err(|e| worker.target.failed(doing, e))
    }
}

impl Session for ClientSession {
    fn prepare(&mut self, reads: bool, writes: bool) -> Result<()> {
        if reads {
            self.read_statement()?;
        }
        if writes {
            self.update_statement()?;
        }
        Ok(())
    }

    fn read_block(&mut self, number: u64) -> Result<Bytes> {
        let spot = self.worker.spot(number)?;
        let statement = self.read_statement()?;
        let worker = &mut self.worker;
        let answer: i64 = worker
            .client
            .query_one(&statement, &[&spot.oid, &spot.page])
            .map_err(|e| worker.target.failed("read a block of", e))?
            .get(0);
        if answer != worker.reading().answer() {
            let why = format!("block {number} was answered by {answer}");
            let (doing, place) = ("read a block of", worker.target.place());
            return Err(Error::engine(doing, place, why, ErrorCause::ContentsChanged));
        }
        worker.have_read(&[spot]);
        Ok(Bytes(worker.reading().block()))
    }

    fn begin(&mut self) -> Result<()> {
        self.update_statement()?;
        if std::mem::take(&mut self.open) {
            self.command("roll back in", "ROLLBACK")?;
        }
        self.command("begin a transaction in", "BEGIN")?;
        self.open = true;
        Ok(())
    }

    fn write(&mut self, subscript: u64) -> Result<Bytes> {
        let statement = self.update_statement()?;
        self.worker.check(subscript)?;
        let mut value = [0; 100];
        let value = &mut value[..value_size(subscript)];
        self.noise.fill(value);
        let value = &*value;
        let worker = &mut self.worker;
        let changed = worker.client.execute(&statement, &[&value, &subscript.cast_signed()]);
        match changed {
            Ok(0) => Err(worker.no_subscript(subscript)),
            Ok(_) => Ok(Bytes(value.len() as u64)),
            Err(error) => {
                // What the server has refused has ended the transaction; a COMMIT would quietly roll it back.
                let error = worker.target.failed("set a subscript in", error);
                if std::mem::take(&mut self.open) {
                    let _ = worker.client.batch_execute("ROLLBACK");
                }
                Err(error)
            }
        }
    }

    fn commit(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.open) {
            return Err(Error::Unexpected {
                doing: "commit in",
                place: self.worker.target.place().to_owned(),
                cause: "there is no transaction, or a set has failed in it".into(),
            });
        }
        self.command("commit in", "COMMIT")
    }

    fn subscripts(&self) -> u64 {
        self.worker.subscripts()
    }
}
