//! A simulated zoned device, which refuses every write that is not at a write pointer.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use iolite_engine::{
    Backend, Completions, Control, EngineError, IoOp, Op, Outcome, Returned, Submission, ZoneDevice,
    run_zoned_file_task_on,
};
use iolite_model::{FileTask, NullSink};
use iolite_sys::clock::Clock;
use iolite_sys::zoned::{Zone, ZoneKind};

pub(crate) const BLOCK: u64 = 4096;
pub(crate) const ZONE: u64 = 16 * BLOCK;
pub(crate) const CAPACITY: u64 = 12 * BLOCK;
pub(crate) const ZONES: u64 = 8;

/// What happens on the simulated device.
#[derive(Debug, Default)]
pub(crate) struct Media {
    /// By zone: bytes written. Zone 0 is conventional where that is set.
    pub(crate) written: Vec<u64>,
    pub(crate) conventional: bool,
    /// Writes that were refused.
    pub(crate) refused: u64,
    /// Reads of what is not written.
    pub(crate) beyond: u64,
    /// Most zones that held some data but were not full at the same time.
    pub(crate) open: usize,
    /// Resets and finishes, by zone.
    pub(crate) resets: Vec<u64>,
    pub(crate) finishes: u64,
    /// Writes in order: zone, and bytes from its start.
    pub(crate) writes: Vec<(u64, u64)>,
    /// Reads in order.
    pub(crate) reads: Vec<u64>,
    /// The write of this number fails after half of it.
    pub(crate) fails: Option<usize>,
    /// Resets are refused with this number of an error.
    pub(crate) no_resets: Option<i32>,
    /// So many zones may hold some data without being full.
    pub(crate) max_active: Option<u32>,
}

/// A device of eight zones of 64 KiB, of which 48 KiB hold data.
#[derive(Debug, Clone)]
pub(crate) struct Device(Arc<Mutex<Media>>);

impl Device {
    pub(crate) fn new() -> Device {
        let media =
            Media { written: vec![0; ZONES as usize], resets: vec![0; ZONES as usize], ..Media::default() };
        Device(Arc::new(Mutex::new(media)))
    }

    pub(crate) fn media(&self) -> std::sync::MutexGuard<'_, Media> {
        self.0.lock().unwrap()
    }

    /// Runs a task on it, with operations that come back in another order than they were submitted.
    pub(crate) fn run(&self, task: &FileTask) -> Result<Outcome, EngineError> {
        let media = self.clone();
        let make = move |_: u32, depth: u32| {
            Ok(Shuffled {
                media: media.clone(),
                buffer: vec![0; BLOCK as usize],
                queued: Vec::new(),
                depth,
                turn: 0,
            })
        };
        let zones = (Arc::new(self.clone()) as Arc<dyn ZoneDevice>, ZONE);
        run_zoned_file_task_on(task, 0, zones, Clock::best(), &Control::default(), &mut NullSink, make)
    }
}

impl ZoneDevice for Device {
    fn report(&self, from: u64, to: u64) -> io::Result<Vec<Zone>> {
        let media = self.media();
        let zone = |number: u64| {
            let start = number * ZONE;
            let conventional = number == 0 && media.conventional;
            let written = media.written[number as usize];
            Zone {
                start,
                length: ZONE,
                capacity: if conventional { ZONE } else { CAPACITY },
                write_pointer: start + if conventional { ZONE } else { written },
                kind: if conventional { ZoneKind::Conventional } else { ZoneKind::Sequential },
                active: !conventional && (1..CAPACITY).contains(&written),
            }
        };
        Ok((from.div_ceil(ZONE)..to.div_ceil(ZONE).min(ZONES)).map(zone).collect())
    }

    fn reset(&self, start: u64, length: u64) -> io::Result<()> {
        assert_eq!((start % ZONE, length), (0, ZONE));
        let mut media = self.media();
        if let Some(error) = media.no_resets {
            return Err(io::Error::from_raw_os_error(error));
        }
        media.written[(start / ZONE) as usize] = 0;
        media.resets[(start / ZONE) as usize] += 1;
        Ok(())
    }

    fn finish(&self, start: u64, length: u64) -> io::Result<()> {
        assert_eq!((start % ZONE, length), (0, ZONE));
        let mut media = self.media();
        media.written[(start / ZONE) as usize] = CAPACITY;
        media.finishes += 1;
        Ok(())
    }

    fn max_open(&self) -> Option<u32> {
        Some(6)
    }

    fn max_active(&self) -> Option<u32> {
        self.media().max_active
    }
}

/// A back end that does what was submitted in the order that it gets back, the last first.
struct Shuffled {
    media: Device,
    buffer: Vec<u8>,
    queued: Vec<Op>,
    depth: u32,
    turn: u64,
}

impl Shuffled {
    fn perform(&self, op: &Op) -> Result<u32, i32> {
        const EIO: i32 = 5;
        let mut media = self.media.media();
        let (zone, within, length) = (op.offset / ZONE, op.offset % ZONE, u64::from(op.length));
        let free = zone == 0 && media.conventional;
        match op.io {
            IoOp::Write if free => media.writes.push((zone, within)),
            IoOp::Write => {
                let active = media.written.iter().filter(|written| (1..CAPACITY).contains(*written)).count();
                let too_many = within == 0 && media.max_active.is_some_and(|max| active >= max as usize);
                if media.written[zone as usize] != within || within + length > CAPACITY || too_many {
                    media.refused += 1;
                    return Err(EIO);
                }
                if media.fails == Some(media.writes.len()) {
                    media.fails = None;
                    media.written[zone as usize] += length / 2;
                    return Err(EIO);
                }
                media.written[zone as usize] += length;
                media.writes.push((zone, within));
                let open = media.written.iter().filter(|written| (1..CAPACITY).contains(written)).count();
                media.open = media.open.max(open);
            }
            IoOp::Read => {
                media.beyond += u64::from(!free && within + length > media.written[zone as usize]);
                media.reads.push(op.offset);
            }
            IoOp::Trim => {
                assert_eq!((within, length), (0, ZONE), "a trim is of a whole zone");
                media.written[zone as usize] = 0;
                media.resets[zone as usize] += 1;
            }
            IoOp::LinkedWrite | IoOp::Sync(_) => panic!("{op:?}"),
        }
        Ok(if op.io == IoOp::Trim { 0 } else { op.length })
    }
}

impl Backend for Shuffled {
    fn submit(&mut self, op: &Op) -> Submission {
        assert!(self.queued.len() < self.depth as usize);
        self.queued.push(*op);
        Submission::Queued
    }

    fn reap(&mut self, at_least: usize, _timeout: Duration, out: &mut Completions) -> io::Result<()> {
        // Some stay for the next time, so that others are issued meanwhile.
        self.turn += 1;
        let stay = if at_least == 0 { self.queued.len() / 2 * (self.turn as usize % 2) } else { 0 };
        while self.queued.len() > stay {
            let Some(op) = self.queued.pop() else { break };
            out.push(Returned { slot: op.slot, result: self.perform(&op), more: false });
        }
        Ok(())
    }

    fn buffer(&mut self, _slot: u32) -> &mut [u8] {
        &mut self.buffer
    }
}
