//! RanRead, RanWrite and RanIO on a database that is none: what it is asked and what becomes of its answers.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use iolite_model::{Bytes, DbOperation, Durability, Event, OpKind, Physical, Stop};

use super::*;
use iolite_db::{Files, Instance, Result};

use super::contract::{Description, NewBlocks, Progress, Session};

const SECOND: u64 = 1_000_000_000;

/// A database that does nothing, but notes what it was asked and takes its time.
#[derive(Default)]
struct Fake {
    /// The batch with this number fails in its third operation.
    fails_in: Option<usize>,
    /// The clock that it times by is set ahead by an hour in each batch.
    set: bool,
    /// Its time passes so many times faster for reads; 0: once.
    slow: u32,
    asked: Arc<Mutex<Vec<(u32, Batch)>>>,
}

struct FakeWithin {
    slow: u32,
    worker: u32,
    batches: usize,
    fails_in: Option<usize>,
    set: bool,
    asked: Arc<Mutex<Vec<(u32, Batch)>>>,
}

/// What each operation takes.
const EACH: Duration = Duration::from_micros(200);

impl Adapter for Fake {
    fn instance(&self) -> Arc<dyn Instance> {
        Arc::new(NoInstance)
    }
    fn describe(&self) -> Result<Description> {
        Err(Error::Cancelled)
    }
    fn counts_block_reads(&self) -> bool {
        true
    }
    fn create_blocks(&self, _: &NewBlocks, _: &mut Progress<'_>) -> Result<()> {
        Err(Error::Cancelled)
    }
    fn add_globals(&self, _: u32, _: u64, _: &mut Progress<'_>) -> Result<()> {
        Err(Error::Cancelled)
    }
    fn drop_globals(&self) -> Result<()> {
        Err(Error::Cancelled)
    }
    fn purge(&self) -> Result<()> {
        Err(Error::Cancelled)
    }
    fn size(&self) -> Result<Bytes> {
        Ok(Bytes(0))
    }
    fn global_size(&self, _: u64) -> Bytes {
        Bytes(0)
    }
    fn max_subscripts(&self) -> u64 {
        100
    }
    fn sizes(&self) -> Result<Vec<u64>> {
        Ok(vec![100; 3])
    }
    fn count_subscripts(&self, _: &mut Progress<'_>) -> Result<Vec<u64>> {
        self.sizes()
    }
    fn blocks(&self) -> Result<u64> {
        Ok(1000)
    }
    fn settle(&self) -> Result<()> {
        Ok(())
    }
    fn session(&self, _: u32) -> Result<Box<dyn Session>> {
        Err(Error::Cancelled)
    }
    fn within(&self, worker: u32) -> Result<Option<Box<dyn Within>>> {
        let (fails_in, set, asked) = (self.fails_in, self.set, self.asked.clone());
        Ok(Some(Box::new(FakeWithin { slow: self.slow.max(1), worker, batches: 0, fails_in, set, asked })))
    }
}

struct NoInstance;

impl Instance for NoInstance {
    fn describe(&self, _: Durability) -> Result<iolite_db::Description> {
        Err(Error::Cancelled)
    }
    fn files(&self) -> Result<Files> {
        Ok(Files::default())
    }
    fn settle(&self) -> Result<()> {
        Ok(())
    }
    fn counters(&self) -> Result<Physical> {
        Ok(Physical::default())
    }
}

impl Within for FakeWithin {
    fn prepare(&mut self, _reads: bool, _writes: bool) -> Result<()> {
        Ok(())
    }

    fn subscripts(&self) -> u64 {
        100
    }

    fn perform(&mut self, batch: &Batch, done: &mut Vec<Timed>) -> Result<()> {
        self.asked.lock().unwrap().push((self.worker, batch.clone()));
        let fails = self.fails_in == Some(self.batches);
        self.batches += 1;
        let began = Instant::now();
        // Slow: the limit is reached so many times sooner, even if nothing has been done by then but one cycle of sets.
        let slow = u64::from(self.slow);
        let over = || began.elapsed().as_nanos() as u64 * slow >= batch.limit.0;
        let mut operation = |kind| {
            if fails && done.len() == 2 {
                return Err(Error::Missing { place: "the middle".into() });
            }
            let started = began.elapsed().as_nanos() as i64;
            while began.elapsed().as_nanos() as i64 - started < EACH.as_nanos() as i64 {
                std::hint::spin_loop();
            }
            let hour = if self.set && done.len() > 1 { 3600 * SECOND as i64 } else { 0 };
            let ended = began.elapsed().as_nanos() as i64;
            done.push(Timed { kind, started: started + hour, ended: ended + hour, bytes: Bytes(10) });
            Ok(())
        };
        for cycle in &batch.cycles {
            match cycle {
                _ if over() => break,
                Cycle::Reads(blocks) => {
                    for _ in blocks.iter().take_while(|_| !over()) {
                        operation(OpKind::Read)?;
                    }
                }
                Cycle::Sets(subscripts) => {
                    subscripts.iter().try_for_each(|_| operation(OpKind::Write))?;
                    operation(OpKind::Commit)?;
                }
            }
        }
        Ok(())
    }
}

fn task(operation: DbOperation, stop: Stop) -> DbTask {
    DbTask {
        name: "test".into(),
        operation,
        workers: 3,
        stop,
        ramp: Nanos(0),
        interval: Nanos(SECOND / 10),
        seed: 7,
        timed_by: TimedBy::Database,
    }
}

fn run(fake: Fake, task: &DbTask) -> (Outcome, Vec<Event>) {
    let mut events = Vec::new();
    struct Keep<'a>(&'a mut Vec<Event>);
    impl Sink for Keep<'_> {
        fn event(&mut self, event: &Event) {
            self.0.push(event.clone());
        }
    }
    let database: Arc<dyn Adapter> = Arc::new(fake);
    let control = Control::default();
    let outcome = run_db_task(&database, task, 0, Clock::best(), &control, &mut Keep(&mut events)).unwrap();
    (outcome, events)
}

fn for_time(seconds: f64) -> Stop {
    Stop { runtime: Some(Nanos((seconds * SECOND as f64) as u64)), ..Stop::default() }
}

fn operations(count: u64) -> Stop {
    Stop { operations: Some(count), ..Stop::default() }
}

#[test]
fn what_is_asked_for_is_done_and_counted() {
    let ran_io = DbOperation::RanIo { transaction_length: 5, hang: Nanos(1000), read_percent: 30 };
    for (operation, reads, writes) in [
        (DbOperation::RanRead, 100..=100, 0..=0),
        (DbOperation::RanWrite { transaction_length: 7, hang: Nanos(0) }, 0..=0, 100..=100),
        (ran_io, 5..=95, 5..=95),
    ] {
        let fake = Fake::default();
        let asked = fake.asked.clone();
        let (outcome, _) = run(fake, &task(operation, operations(100)));
        assert_eq!(outcome.ending, iolite_model::Ending::Completed);
        let count = |kind| outcome.totals.operations(kind);
        assert!(reads.contains(&count(OpKind::Read)) && writes.contains(&count(OpKind::Write)));
        assert_eq!(count(OpKind::Read) + count(OpKind::Write), 100, "{operation:?}");
        let asked = asked.lock().unwrap();
        let mut sets = 0;
        for (worker, batch) in asked.iter() {
            assert!(*worker < 3 && batch.limit.0 <= SECOND / 5);
            for cycle in &batch.cycles {
                match cycle {
                    Cycle::Reads(blocks) => assert!(blocks.iter().all(|block| *block < 1000)),
                    Cycle::Sets(subscripts) => {
                        sets += 1;
                        assert!(subscripts.iter().all(|subscript| (1..=100).contains(subscript)));
                    }
                }
            }
        }
        assert!(count(OpKind::Commit) <= sets && (count(OpKind::Commit) > 0) == (sets > 0));
    }
}

#[test]
fn times_are_the_databases_and_fill_the_time_of_the_run() {
    for set in [false, true] {
        let fake = Fake { set, ..Fake::default() };
        let (outcome, _) = run(fake, &task(DbOperation::RanRead, for_time(0.5)));
        let reads = outcome.totals.operations(OpKind::Read);
        let mean = outcome.totals.response(OpKind::Read).unwrap().mean();
        // Three workers on fewer CPUs wait for each other: each operation takes its time or more.
        assert!(mean >= EACH.as_nanos() as f64, "{mean}");
        let busy = mean * reads as f64;
        assert!(busy <= 3.0 * 0.6 * SECOND as f64, "{reads} of {mean}: more than there was time for");
        assert!(busy >= 0.5 * SECOND as f64, "{reads} of {mean}: where is the time?");
    }
}

#[test]
fn slow_reads_do_not_shift_the_mixture() {
    // A tenth of the operations' time: the batch's limit cuts nearly every cycle of reads.
    let io = |hang| DbOperation::RanIo { transaction_length: 40, hang, read_percent: 50 };
    let counts = |slow: u32, hang| {
        let task = DbTask { workers: 1, ..task(io(Nanos(hang)), operations(2000)) };
        let (outcome, _) = run(Fake { slow, ..Fake::default() }, &task);
        [OpKind::Read, OpKind::Write, OpKind::Commit].map(|kind| outcome.totals.operations(kind))
    };
    let quick = counts(1, 0);
    assert_eq!(quick[0] + quick[1], 2000);
    assert_eq!(counts(50, 0), quick);
    assert_eq!(counts(50, 1_000_000), quick, "with pauses, in batches of a cycle each");
}

#[test]
fn a_failure_in_the_middle_of_a_batch_keeps_what_was_done() {
    let fake = Fake { fails_in: Some(4), ..Fake::default() };
    let write = DbOperation::RanWrite { transaction_length: 10, hang: Nanos(0) };
    let (outcome, events) = run(fake, &task(write, for_time(60.0)));
    let iolite_model::Ending::Failed(reason) = &outcome.ending else { panic!("{:?}", outcome.ending) };
    assert!(reason.contains("the middle"), "{reason}");
    let done = outcome.totals.operations(OpKind::Write);
    assert!(done >= 10 && outcome.totals.errors(OpKind::Write) >= 1, "{done}");
    let counted: u64 = events
        .iter()
        .filter_map(|event| match event {
            Event::Interval(interval) => interval.ops.iter().find(|ops| ops.kind == OpKind::Write),
            _ => None,
        })
        .map(|ops| ops.operations)
        .sum();
    assert_eq!(counted, done, "what was done before is reported");
}

#[test]
fn each_job_that_writes_needs_a_global() {
    let write = DbOperation::RanWrite { transaction_length: 10, hang: Nanos(0) };
    let many = DbTask { workers: 4, ..task(write, for_time(1.0)) };
    let database: Arc<dyn Adapter> = Arc::new(Fake::default());
    let refused = run_db_task(
        &database,
        &many,
        0,
        Clock::best(),
        &Control::default(),
        &mut Vec::<Box<dyn Sink>>::new(),
    );
    assert!(refused.unwrap_err().to_string().contains("4 jobs need 4 globals"));
    let read = DbTask { operation: DbOperation::RanRead, ..many };
    let run = run_db_task(
        &database,
        &DbTask { stop: operations(8), ..read },
        0,
        Clock::best(),
        &Control::default(),
        &mut Vec::<Box<dyn Sink>>::new(),
    );
    assert_eq!(run.unwrap().totals.operations(OpKind::Read), 8);
}
