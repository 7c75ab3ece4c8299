//! A simulated device: seeded latencies, faults and a stall, on an image in memory and in real time.

// Each test program takes what it needs.
#![allow(dead_code)]

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use iolite_engine::{Backend, Completions, IoOp, Op, Returned, Submission};
use iolite_model::errno::{EINVAL, EIO};
use iolite_workload::unit;
use rand::{Rng, RngExt, SeedableRng};
use rand_distr::{Exp1, StandardNormal};
use rand_xoshiro::SplitMix64;

/// What is written whole or not at all.
pub(crate) const SECTOR: u32 = 512;

/// Waiting shorter than this is done by looking at the clock: sleeping is not that exact.
const SPIN: u64 = 100_000;

/// The longest latency, 1 h: what an extreme draw of a distribution is cut to.
const LONGEST: f64 = 3.6e12;

/// What the simulated device is like.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SimParameters {
    /// Seed of all that is random: the same operations in the same order meet the same fate.
    pub(crate) seed: u64,
    /// Slots: operations in flight at most.
    pub(crate) depth: u32,
    /// Size of each slot's buffer in bytes.
    pub(crate) block: usize,
    /// Service time of each operation.
    pub(crate) latency: SimLatency,
    /// Number of operations served at once, the others waiting in order; `None` as many as come.
    pub(crate) channels: Option<u32>,
    /// What goes wrong.
    pub(crate) faults: SimFaults,
    /// A time during which nothing is served.
    pub(crate) stall: Option<SimStall>,
}

/// Distribution of the service time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum SimLatency {
    /// Always the same.
    Constant(Duration),
    /// Exponential.
    Exponential {
        /// Mean, which is also the standard deviation.
        mean: Duration,
    },
    /// Its logarithm is normal: the shape of real devices, with a long tail.
    LogNormal {
        /// Median.
        median: Duration,
        /// Standard deviation of the natural logarithm.
        sigma: f64,
    },
}

/// Probabilities (0 to 1) of what goes wrong with an operation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SimFaults {
    /// It fails and moves nothing.
    pub(crate) error: f64,
    /// With this error number.
    pub(crate) error_number: i32,
    /// It moves, and reports, fewer bytes than requested.
    pub(crate) short: f64,
    /// A write that is reported as completed has not happened.
    pub(crate) lost: f64,
    /// Of a write that is reported as completed only the first sectors have been written, at least one.
    pub(crate) torn: f64,
    /// It damages data in another way, with this probability.
    pub(crate) damage: Option<(SimDamage, f64)>,
}

/// What a simulated device does to data without reporting an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SimDamage {
    /// A write over data does not happen.
    Stale,
    /// A write goes to the place after its own.
    Misplaced,
    /// A read returns what is in the place after its own, or at the start where there is none.
    Misread,
    /// A bit of a write is flipped.
    Corrupt,
    /// Something else is written.
    Foreign,
}

impl Default for SimFaults {
    /// Nothing goes wrong; errors, once probable, are EIO.
    fn default() -> SimFaults {
        SimFaults { error: 0.0, error_number: EIO, short: 0.0, lost: 0.0, torn: 0.0, damage: None }
    }
}

/// A time during which nothing is served: what is in service, or comes, is later by what is left of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SimStall {
    /// Its start, counted from the first submission.
    pub(crate) at: Duration,
    /// Its length.
    pub(crate) length: Duration,
}

/// The contents of a simulated device; clones share it, as workers share a file.
#[derive(Debug, Clone)]
pub(crate) struct SimImage(Arc<Mutex<Vec<u8>>>);

impl SimImage {
    /// A zeroed image of this size in bytes.
    pub(crate) fn new(size: usize) -> SimImage {
        SimImage(Arc::new(Mutex::new(vec![0; size])))
    }

    /// Copies from the image; returns the bytes copied, fewer where it ends before.
    pub(crate) fn read(&self, offset: u64, into: &mut [u8]) -> usize {
        let image = self.lock();
        let from = Self::part(&image, offset).min(image.len());
        let length = into.len().min(image.len() - from);
        into[..length].copy_from_slice(&image[from..from + length]);
        length
    }

    /// Copies to the image; returns the bytes copied, fewer where it ends before.
    pub(crate) fn write(&self, offset: u64, from: &[u8]) -> usize {
        let mut image = self.lock();
        let start = Self::part(&image, offset);
        let length = from.len().min(image.len() - start);
        image[start..start + length].copy_from_slice(&from[..length]);
        length
    }

    /// Zeros so many bytes, as a trim does.
    pub(crate) fn trim(&self, offset: u64, length: u64) {
        let mut image = self.lock();
        let (from, to) = (Self::part(&image, offset), Self::part(&image, offset.saturating_add(length)));
        image[from..to].fill(0);
    }

    fn part(image: &[u8], offset: u64) -> usize {
        usize::try_from(offset).unwrap_or(usize::MAX).min(image.len())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What will become of an operation in flight, drawn when it was submitted.
#[derive(Debug, Clone, Copy)]
struct PendingOperation {
    op: Op,
    result: Result<u32, i32>,
    /// Bytes that really reach the image.
    kept: u32,
    /// The damage to its data, and a number that says where.
    damage: Option<(SimDamage, u64)>,
}

/// A simulated device. Operations come back when their simulated latency is over in real time; that is when a write
/// reaches the image and a read copies from it.
#[derive(Debug)]
pub(crate) struct Sim {
    parameters: SimParameters,
    image: SimImage,
    random: SplitMix64,
    start: Option<Instant>,
    /// By channel: when it is free, in nanoseconds since `start`.
    free_at: Vec<u64>,
    buffers: Vec<Vec<u8>>,
    /// By slot.
    in_flight: Vec<Option<PendingOperation>>,
    /// Ends of the operations in flight, with their numbers (so that equals come back in order) and slots.
    due: BinaryHeap<Reverse<(u64, u64, u32)>>,
    submitted: u64,
}

impl Sim {
    /// A device with these contents.
    pub(crate) fn new(parameters: SimParameters, image: SimImage) -> Sim {
        let depth = parameters.depth as usize;
        Sim {
            image,
            random: SplitMix64::seed_from_u64(parameters.seed),
            start: None,
            free_at: vec![0; parameters.channels.map_or(0, |channels| channels.max(1) as usize)],
            buffers: vec![vec![0; parameters.block]; depth],
            in_flight: vec![None; depth],
            due: BinaryHeap::with_capacity(depth),
            submitted: 0,
            parameters,
        }
    }

    /// Nanoseconds since the first submission.
    fn now(&mut self) -> u64 {
        self.start.get_or_insert_with(Instant::now).elapsed().as_nanos() as u64
    }

    /// When an operation submitted now comes back.
    pub(crate) fn schedule(&mut self, now: u64) -> u64 {
        let service = self.parameters.latency.draw(&mut self.random);
        let channel = self.free_at.iter_mut().min();
        let start = channel.as_ref().map_or(now, |free_at| now.max(**free_at));
        let end = match self.parameters.stall {
            Some(stall) => stall.postpone(start, start + service),
            None => start + service,
        };
        if let Some(free_at) = channel {
            *free_at = end;
        }
        end
    }

    /// Draws what will become of an operation. Every operation takes as many random numbers, so that one fault's
    /// probability does not change where another strikes.
    fn draw(&mut self, op: &Op) -> PendingOperation {
        let faults = self.parameters.faults;
        let [error, short, lost, torn, part] = std::array::from_fn(|_| unit(&mut self.random));
        // A part that is less than the whole, in sectors where there are several.
        let less = |length: u32| {
            let part = (f64::from(length) * (1.0 - part)) as u32;
            if length > SECTOR { part / SECTOR * SECTOR } else { part.min(length.saturating_sub(1)) }
        };
        let moved = if short <= faults.short { less(op.length) } else { op.length };
        let kept = match op.io {
            IoOp::Write if lost <= faults.lost => 0,
            IoOp::Write if torn <= faults.torn => less(moved).max(SECTOR).min(moved),
            _ => moved,
        };
        let result = if error <= faults.error { Err(faults.error_number) } else { Ok(moved) };
        let damage = faults.damage.and_then(|(damage, probability)| {
            let (strikes, place) = (unit(&mut self.random) < probability, self.random.random());
            strikes.then_some((damage, place))
        });
        PendingOperation { op: *op, result, kept, damage }
    }

    /// Writes what of an operation reaches the image.
    fn write(&mut self, op: &Op, kept: u32, damage: Option<(SimDamage, u64)>) {
        let data = &mut self.buffers[op.slot as usize][..kept as usize];
        let mut offset = op.offset;
        match damage {
            Some((SimDamage::Stale, _)) => {
                let mut before = vec![0; data.len()];
                self.image.read(offset, &mut before);
                if before.iter().any(|byte| *byte != 0) {
                    return;
                }
            }
            Some((SimDamage::Misplaced, _)) => offset += u64::from(op.length),
            Some((SimDamage::Corrupt, place)) if !data.is_empty() => {
                data[(place >> 3) as usize % data.len()] ^= 1 << (place & 7);
            }
            Some((SimDamage::Foreign, place)) => SplitMix64::seed_from_u64(place).fill_bytes(data),
            _ => {}
        }
        self.image.write(offset, data);
    }

    /// Reads; returns the bytes read.
    fn read(&mut self, op: &Op, moved: u32, damage: Option<(SimDamage, u64)>) -> u32 {
        let after = op.offset + u64::from(op.length);
        let offset = match damage {
            Some((SimDamage::Misread, _)) if after < self.image.lock().len() as u64 => after,
            Some((SimDamage::Misread, _)) => 0,
            _ => op.offset,
        };
        self.image.read(offset, &mut self.buffers[op.slot as usize][..moved as usize]) as u32
    }

    /// Brings an operation back: its effect takes place now.
    fn complete(&mut self, slot: u32) -> Returned {
        let fate = self.in_flight[slot as usize].take();
        let result = match fate {
            None => Err(EIO),
            Some(PendingOperation { result: Err(number), .. }) => Err(number),
            Some(PendingOperation { op, result: Ok(moved), kept, damage }) => match op.io {
                IoOp::Read => Ok(self.read(&op, moved, damage)),
                IoOp::Write | IoOp::LinkedWrite => {
                    self.write(&op, kept, damage);
                    let room = (self.image.lock().len() as u64).saturating_sub(op.offset);
                    Ok(moved.min(u32::try_from(room).unwrap_or(u32::MAX)))
                }
                IoOp::Trim => {
                    self.image.trim(op.offset, u64::from(kept));
                    Ok(0)
                }
                IoOp::Sync(_) => Ok(0),
            },
        };
        Returned { slot, result, more: false }
    }
}

impl Backend for Sim {
    fn submit(&mut self, op: &Op) -> Submission {
        let slot = op.slot as usize;
        let room = |buffer: &Vec<u8>| !op.io.moves() || op.length as usize <= buffer.len();
        let fits = self.buffers.get(slot).is_some_and(room);
        if !fits || self.in_flight[slot].is_some() {
            return Submission::Done(Err(EINVAL));
        }
        let now = self.now();
        let end = self.schedule(now);
        self.in_flight[slot] = Some(self.draw(op));
        self.due.push(Reverse((end, self.submitted, op.slot)));
        self.submitted += 1;
        Submission::Queued
    }

    fn reap(&mut self, at_least: usize, timeout: Duration, out: &mut Completions) -> io::Result<()> {
        let mut now = self.now();
        let deadline = now.saturating_add(u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX));
        let mut back = 0;
        loop {
            while let Some(&Reverse((end, _, slot))) = self.due.peek()
                && end <= now
            {
                self.due.pop();
                out.push(self.complete(slot));
                back += 1;
            }
            let Some(&Reverse((next, ..))) = self.due.peek() else { return Ok(()) };
            if back >= at_least || now >= deadline {
                return Ok(());
            }
            let wait = next.min(deadline).saturating_sub(now);
            if wait > SPIN {
                std::thread::sleep(Duration::from_nanos(wait - SPIN));
            } else {
                std::hint::spin_loop();
            }
            now = self.now();
        }
    }

    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        match self.in_flight.get(slot as usize) {
            Some(None) => &mut self.buffers[slot as usize],
            _ => &mut [],
        }
    }
}

impl SimLatency {
    /// A service time in nanoseconds.
    pub(crate) fn draw(self, random: &mut SplitMix64) -> u64 {
        let nanos = |duration: Duration| duration.as_nanos() as f64;
        let drawn = match self {
            SimLatency::Constant(time) => nanos(time),
            SimLatency::Exponential { mean } => nanos(mean) * random.sample::<f64, _>(Exp1),
            SimLatency::LogNormal { median, sigma } => {
                nanos(median) * (sigma * random.sample::<f64, _>(StandardNormal)).exp()
            }
        };
        drawn.min(LONGEST) as u64
    }
}

impl SimStall {
    /// The end of an operation that without the stall would be served from `start` to `end`.
    pub(crate) fn postpone(self, start: u64, end: u64) -> u64 {
        let at = self.at.as_nanos() as u64;
        let over = at + self.length.as_nanos() as u64;
        if end > at && start < over { end + (over - start.max(at)) } else { end }
    }
}
