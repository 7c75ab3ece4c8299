//! Batches within the database: a procedure of ours does the operations and looks at the server's clock around each.
//!
//! The procedure lives among the session's temporary objects, so that nothing of it is left behind and its text is always
//! this program's. It names the worker's global: statements of PL/pgSQL that are not put together at run time are planned
//! once per session, which makes a set take half the time (36 against 66 µs, measured on version 15).

use iolite_model::{Bytes, Nanos, OpKind};
use postgres::types::{FromSql, Type};
use postgres::{Row, Statement};

use super::super::contract::{Batch, Cycle, Timed, Within};
use super::RanPostgres;
use super::globals::value_size;
use super::worker::{Spot, Worker};
use iolite_db::postgres::copy::Noise;
use iolite_db::{Error, Result};

/// The names of what sets and reads need are put in.
const PROCEDURE: &str = "
CREATE OR REPLACE PROCEDURE pg_temp.iolite_batch(
    cycles int[], places oid[], numbers bigint[], noise bytea, time_limit float8,
    INOUT done int, INOUT started timestamptz[], INOUT ended timestamptz[])
LANGUAGE plpgsql AS $iolite$
DECLARE
    deadline CONSTANT timestamptz := clock_timestamp() + time_limit * interval '1 second';
    k int := 0; fresh int := 1; size int; answer bigint;
    cycle int; place oid; wanted bigint; contents bytea; t0 timestamptz; t1 timestamptz;
BEGIN
    done := 0;
    <<cycles>>
    FOREACH cycle IN ARRAY cycles LOOP
        EXIT WHEN clock_timestamp() >= deadline;
        -- Reads: as many as the number says. Sets: as many as it says with a minus.
        FOR i IN 1..cycle LOOP
            k := k + 1;
            place := places[k]; wanted := numbers[k];
            t0 := clock_timestamp();
            {read}
            t1 := clock_timestamp();
            done := done + 1; started[done] := t0; ended[done] := t1;
            EXIT cycles WHEN t1 >= deadline;
        END LOOP;
        FOR i IN 1..-cycle LOOP
            k := k + 1;
            wanted := numbers[k];
            size := 50 + wanted % 51;
            contents := substr(noise, fresh, size); fresh := fresh + size;
            t0 := clock_timestamp();
            {set}
            t1 := clock_timestamp();
            IF NOT FOUND THEN RAISE EXCEPTION '%', wanted USING ERRCODE = 'IO404'; END IF;
            done := done + 1; started[done] := t0; ended[done] := t1;
        END LOOP;
        IF cycle < 0 THEN
            t0 := clock_timestamp();
            COMMIT;
            t1 := clock_timestamp();
            done := done + 1; started[done] := t0; ended[done] := t1;
        END IF;
    END LOOP;
    {flush}
END $iolite$";

const CALL: &str = "CALL pg_temp.iolite_batch($1::int[], $2::oid[], $3::bigint[], $4::bytea, $5::float8, NULL::int, \
     NULL::timestamptz[], NULL::timestamptz[])";

/// The `SQLSTATE` with which our procedure says that a subscript is missing.
const NO_SUBSCRIPT: &str = "IO404";

/// A worker's session within the database.
pub(super) struct Inside {
    worker: Worker,
    noise: Noise,
    call: Option<Statement>,
    reads: bool,
    writes: bool,
}

/// A batch as the procedure takes it.
#[derive(Default)]
struct Orders {
    cycles: Vec<i32>,
    places: Vec<u32>,
    numbers: Vec<i64>,
    noise: Vec<u8>,
    /// What comes back, in order: the kind, the bytes, and where it was when it is a read.
    operations: Vec<(OpKind, u64, Option<Spot>)>,
}

/// A moment of the server's clock: microseconds since the year 2000.
struct Moment(i64);

impl<'a> FromSql<'a> for Moment {
    fn from_sql(
        _: &Type,
        raw: &'a [u8],
    ) -> std::result::Result<Moment, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Moment(i64::from_be_bytes(raw.try_into()?)))
    }

    fn accepts(kind: &Type) -> bool {
        *kind == Type::TIMESTAMPTZ
    }
}

impl Inside {
    /// Connects.
    ///
    /// # Errors
    /// As [`Adapter::within`](super::super::Adapter::within).
    pub(super) fn open(database: &RanPostgres, worker: u32) -> Result<Inside> {
        let worker = Worker::open(database, worker)?;
        Ok(Inside { worker, noise: Noise::new(), call: None, reads: false, writes: false })
    }

    /// The call of a procedure that can do what is asked and what was asked before.
    fn call(&mut self, reads: bool, writes: bool) -> Result<Statement> {
        let (reads, writes) = (self.reads | reads, self.writes | writes);
        if let Some(call) = &self.call
            && (reads, writes) == (self.reads, self.writes)
        {
            return Ok(call.clone());
        }
        let procedure = self.procedure(reads, writes)?;
        let worker = &mut self.worker;
        let failed = |e| worker.target.failed("prepare batches within", e);
        worker.client.batch_execute(&procedure).map_err(failed)?;
        let call = worker.client.prepare(CALL).map_err(failed)?;
        (self.reads, self.writes) = (reads, writes);
        Ok(self.call.insert(call).clone())
    }

    fn procedure(&mut self, reads: bool, writes: bool) -> Result<String> {
        let worker = &mut self.worker;
        let read = if reads {
            let expression = worker.expression("place", "wanted")?;
            let right = worker.reading().answer();
            format!(
                "answer := {expression}; \
                 IF answer <> {right} THEN RAISE EXCEPTION 'block % was answered by %', wanted, answer; END IF;"
            )
        } else {
            "NULL;".to_owned()
        };
        let set = if writes {
            let global = worker.global()?;
            worker.configure_writes()?;
            format!("UPDATE {global} SET value = contents WHERE subscript = wanted;")
        } else {
            "NULL;".to_owned()
        };
        let failed = |e| worker.target.failed("look for functions in", e);
        let sql = "SELECT EXISTS (SELECT FROM pg_proc WHERE proname = 'pg_stat_force_next_flush')";
        // Otherwise what a session counts is reported once a second at most.
        let flushes: bool = worker.client.query_one(sql, &[]).map_err(failed)?.get(0);
        let flush = if flushes { "PERFORM pg_stat_force_next_flush();" } else { "" };
        Ok(PROCEDURE.replace("{read}", &read).replace("{set}", &set).replace("{flush}", flush))
    }

    /// Puts a batch into the procedure's arrays; refuses what is not there before anything is done.
    fn orders(&mut self, batch: &Batch) -> Result<Orders> {
        let mut orders = Orders::default();
        for cycle in &batch.cycles {
            match cycle {
                Cycle::Reads(blocks) => self.add_reads(&mut orders, blocks)?,
                Cycle::Sets(subscripts) => self.add_sets(&mut orders, subscripts)?,
            }
        }
        self.noise.fill(&mut orders.noise);
        Ok(orders)
    }

    fn add_reads(&self, orders: &mut Orders, blocks: &[u64]) -> Result<()> {
        for &block in blocks {
            let spot = self.worker.spot(block)?;
            orders.places.push(spot.oid);
            orders.numbers.push(spot.page);
            orders.operations.push((OpKind::Read, self.worker.reading().block(), Some(spot)));
        }
        orders.cycles.push(blocks.len() as i32);
        Ok(())
    }

    fn add_sets(&self, orders: &mut Orders, subscripts: &[u64]) -> Result<()> {
        for &subscript in subscripts {
            self.worker.check(subscript)?;
            let size = value_size(subscript);
            orders.places.push(0);
            orders.numbers.push(subscript.cast_signed());
            orders.noise.resize(orders.noise.len() + size, 0);
            orders.operations.push((OpKind::Write, size as u64, None));
        }
        orders.operations.push((OpKind::Commit, 0, None));
        orders.cycles.push(-(subscripts.len() as i32));
        Ok(())
    }

    fn failed(&self, error: postgres::Error) -> Error {
        let missing = error.as_db_error().filter(|answer| answer.code().code() == NO_SUBSCRIPT);
        match missing.and_then(|answer| answer.message().parse().ok()) {
            Some(subscript) => self.worker.no_subscript(subscript),
            None => self.worker.target.failed("do a batch within", error),
        }
    }
}

impl Within for Inside {
    fn prepare(&mut self, reads: bool, writes: bool) -> Result<()> {
        self.call(reads, writes).map(drop)
    }

    fn subscripts(&self) -> u64 {
        self.worker.subscripts()
    }

    fn perform(&mut self, batch: &Batch, done: &mut Vec<Timed>) -> Result<()> {
        let orders = self.orders(batch)?;
        let reads = batch.cycles.iter().any(|cycle| matches!(cycle, Cycle::Reads(_)));
        let writes = batch.cycles.iter().any(|cycle| matches!(cycle, Cycle::Sets(_)));
        let call = self.call(reads, writes)?;
        let answer = self.worker.client.query_one(
            &call,
            &[&orders.cycles, &orders.places, &orders.numbers, &orders.noise, &seconds(batch.limit)],
        );
        let answer = answer.map_err(|error| self.failed(error))?;
        let before = done.len();
        timed(&answer, &orders, done)
            .map_err(|e| self.worker.target.failed("understand the times from", e))?;
        let spots = orders.operations[..done.len() - before].iter().filter_map(|operation| operation.2);
        self.worker.have_read(&spots.collect::<Vec<_>>());
        Ok(())
    }
}

fn seconds(time: Nanos) -> f64 {
    time.0 as f64 / 1e9
}

/// Appends what the procedure says it has done: the first so many of what was ordered.
fn timed(answer: &Row, orders: &Orders, done: &mut Vec<Timed>) -> std::result::Result<(), postgres::Error> {
    let started: Option<Vec<Moment>> = answer.try_get(1)?;
    let ended: Option<Vec<Moment>> = answer.try_get(2)?;
    let times = started.unwrap_or_default().into_iter().zip(ended.unwrap_or_default());
    for (&(kind, bytes, _), (started, ended)) in orders.operations.iter().zip(times) {
        let nanos = |moment: Moment| moment.0.saturating_mul(1000);
        done.push(Timed { kind, started: nanos(started), ended: nanos(ended), bytes: Bytes(bytes) });
    }
    Ok(())
}
