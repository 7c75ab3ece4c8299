//! When operations are meant to start.

mod by_kind;
mod paused;

use iolite_model::{Access, Arrival, Bandwidth, FileTask, Iops, Mix, Nanos, Pace, RatedThinkTime, Trace};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::error::WorkloadError;
use crate::planned::IoKind;
use crate::random::Purpose;
use crate::random::generator;
use crate::random::unit;
pub use by_kind::ByKind;
pub use paused::Paused;

/// The slowest rate: once in 30 years. Distances beyond are no numbers any more.
const SLOWEST: f64 = 1e-9;

/// Instants drawn one by one when a backlog is counted; beyond, their expectation is near enough.
const MAX_DRAWN: u64 = 1_000_000;

/// The intended instants of one worker's operations, in nanoseconds since the phase's start.
#[derive(Debug, Clone)]
pub enum Arrivals {
    /// Each as soon as the worker is ready.
    Closed,
    /// A Poisson process: exponentially distributed gaps, drawn whether or not the worker keeps up.
    Poisson {
        /// Mean gap in nanoseconds.
        mean_gap: f64,
        /// The next instant.
        next: f64,
        /// Where the chance comes from.
        generator: Xoshiro256PlusPlus,
    },
    /// As `Poisson` with a mean gap after each operation in proportion to its size.
    PoissonBytes {
        /// Mean gap in nanoseconds for each byte.
        per_byte: f64,
        /// Bytes of an operation in the mean.
        mean_size: f64,
        /// The next instant.
        next: f64,
        /// Where the chance comes from.
        generator: Xoshiro256PlusPlus,
    },
    /// A gap after each operation in proportion to its size.
    ConstantBytes {
        /// The first operation's instant.
        first: f64,
        /// Gap in nanoseconds for each byte.
        per_byte: f64,
        /// Bytes of an operation in the mean.
        mean_size: f64,
        /// Bytes so far. Instants are computed from them, so that rounding errors don't add up.
        bytes: u64,
    },
    /// Bursts at equal distances; of one operation each for a constant rate.
    Bursts {
        /// The first burst's instant.
        first: f64,
        /// From one burst of this worker to its next, in nanoseconds.
        period: f64,
        /// Operations in a burst.
        operations: u32,
        /// Number of the present burst. Instants are computed from it, so that rounding errors don't add up.
        burst: u64,
        /// Operations left of the present burst.
        left: u32,
    },
    /// Two kinds of operations, each with arrivals of its own.
    ByKind(Box<ByKind>),
    /// A rate with pauses.
    Paused(Box<Paused>),
    /// The instants of a trace.
    Traced {
        /// The trace.
        trace: Trace,
        /// The next operation's position.
        next: usize,
        /// Nanoseconds for each of the trace's.
        scale: f64,
    },
    /// A closed loop with pauses.
    ThinkTime {
        /// Length of a pause in nanoseconds.
        pause: u64,
        /// How much of it is spent spinning, from its start; not more than all.
        spin: u64,
        /// Operations between two pauses.
        operations: u32,
        /// Time of operations between two pauses; the end of time for no limit.
        io_time: u64,
        /// End of the last pause.
        begun: u64,
        /// Operations left until the next pause.
        left: u32,
        /// Operations in flight.
        in_flight: u64,
        /// The latest completion.
        completed: u64,
        /// End of the pause, until the next operation is issued.
        resume: Option<u64>,
    },
}

/// Checks the parameters of arrivals.
///
/// # Errors
/// A rate that is not a positive number, or a burst or a pause after no operations, or rates of kinds that are not done.
pub(crate) fn check(arrival: Arrival, mix: Mix) -> Result<(), WorkloadError> {
    match arrival {
        Arrival::Closed | Arrival::ThinkTime { .. } | Arrival::Traced(_) => {}
        Arrival::Poisson(rate) | Arrival::Constant(rate) | Arrival::Bursts { rate, .. } => {
            check_pace(Pace::Operations(rate))?;
        }
        Arrival::ConstantBytes(rate) | Arrival::PoissonBytes(rate) => check_pace(Pace::Bytes(rate))?,
        Arrival::ByKind(rates) => by_kind::check(rates, mix)?,
        Arrival::RatedThinkTime(rated) => check(rated.schedule.into(), mix)?,
    }
    match arrival {
        Arrival::Bursts { operations: 0, .. } => Err(WorkloadError::new(
            "a burst has no operations".to_owned(),
            "it needs at least one",
            "1 is the same as a constant rate",
        )),
        Arrival::ThinkTime { operations: 0, io_time: Nanos(0), .. }
        | Arrival::RatedThinkTime(RatedThinkTime { operations: 0, io_time: Nanos(0), .. }) => {
            Err(WorkloadError::new(
                "the think time comes after no operations".to_owned(),
                "nothing would ever be done",
                "specify the number of operations between two pauses",
            ))
        }
        _ => Ok(()),
    }
}

/// The instant of a trace's operation; the end of time beyond the last.
fn traced_instant(trace: &Trace, position: usize, scale: f64) -> u64 {
    let operation = trace.operations().get(position);
    operation.map_or(u64::MAX, |operation| (operation.at.0 as f64 * scale) as u64)
}

fn check_pace(pace: Pace) -> Result<(), WorkloadError> {
    let (rate, what) = match pace {
        Pace::Operations(rate) => (rate.0, "operations"),
        Pace::Bytes(rate) => (rate.0, "bytes"),
    };
    WorkloadError::unless(
        rate.is_finite() && rate >= SLOWEST,
        || format!("the rate is {rate} {what} a second"),
        "it has to be a number above 0, and not less than one in 30 years",
        "specify a rate, or none for a closed loop",
    )
}

impl Arrivals {
    /// The arrivals of worker `worker` of the task. The workers share the rate evenly: the sum of independent Poisson
    /// processes is one of the summed rate; at a constant rate, and with bursts, they take turns. With so many bytes a
    /// second they begin one after the other in the distance of a mean operation; from then on each keeps its own
    /// distances.
    pub fn new(task: &FileTask, worker: u32) -> Arrivals {
        Arrivals::of(task.arrival, task.mean_size(), task, worker, task.seed)
    }

    /// Arrivals of a worker of the task other than the task's own.
    fn of(arrival: Arrival, mean_size: f64, task: &FileTask, worker: u32, seed: u64) -> Arrivals {
        let workers = f64::from(task.workers.max(1));
        let generator = generator(seed, worker, Purpose::Arrivals);
        let bursts = |rate: Iops, operations: u32| {
            let operations = operations.max(1);
            let distance = 1e9 * f64::from(operations) / rate.0;
            let (first, period) = (distance * f64::from(worker), distance * workers);
            Arrivals::Bursts { first, period, operations, burst: 0, left: operations }
        };
        match arrival {
            Arrival::Closed => Arrivals::Closed,
            Arrival::Poisson(rate) => {
                let mut arrivals =
                    Arrivals::Poisson { mean_gap: 1e9 * workers / rate.0, next: 0.0, generator };
                arrivals.step(mean_size);
                arrivals
            }
            Arrival::PoissonBytes(Bandwidth(rate)) => {
                let per_byte = 1e9 * workers / rate;
                let mut arrivals = Arrivals::PoissonBytes { per_byte, mean_size, next: 0.0, generator };
                arrivals.step(mean_size);
                arrivals
            }
            Arrival::Constant(rate) => bursts(rate, 1),
            Arrival::ConstantBytes(Bandwidth(rate)) => {
                let first = f64::from(worker) * mean_size * 1e9 / rate;
                Arrivals::ConstantBytes { first, per_byte: 1e9 * workers / rate, mean_size, bytes: 0 }
            }
            Arrival::Bursts { rate, operations } => bursts(rate, operations),
            Arrival::Traced(percent) => {
                let Access::Trace(trace) = &task.access else { return Arrivals::Closed };
                Arrivals::Traced { trace: trace.clone(), next: 0, scale: 100.0 / f64::from(percent.max(1)) }
            }
            Arrival::ByKind(rates) => Arrivals::ByKind(Box::new(ByKind::new(rates, task, worker))),
            Arrival::RatedThinkTime(rated) => Arrivals::Paused(Box::new(Paused::new(rated, task, worker))),
            Arrival::ThinkTime { pause, operations, spin, io_time } => {
                let operations = if operations == 0 { u32::MAX } else { operations };
                Arrivals::ThinkTime {
                    pause: pause.0,
                    spin: spin.0.min(pause.0),
                    operations,
                    io_time: if io_time.0 == 0 { u64::MAX } else { io_time.0 },
                    begun: 0,
                    left: operations,
                    in_flight: 0,
                    completed: 0,
                    resume: None,
                }
            }
        }
    }

    /// Decides, at the instant `now`, which kind the next operation is of, where that is for arrivals to say; to be called
    /// before [`next`](Arrivals::next).
    #[inline]
    pub fn choose(&mut self, now: u64) {
        match self {
            Arrivals::ByKind(kinds) => kinds.choose(now),
            Arrivals::Paused(paused) => paused.choose(now),
            _ => {}
        }
    }

    /// The kind that the next operation is of, where that is for arrivals to say.
    #[inline]
    pub fn kind(&self) -> Option<IoKind> {
        match self {
            Arrivals::ByKind(kinds) => kinds.kind(),
            Arrivals::Paused(paused) => paused.kind(),
            _ => None,
        }
    }

    /// The instant that the next operation is meant to start at; `None` in a closed loop, where it is "now". Before a
    /// pause, whose end is not known until [`completed`](Arrivals::completed) has reported all operations, it is the end
    /// of time.
    #[inline]
    pub fn next(&self) -> Option<u64> {
        match self {
            Arrivals::Closed => None,
            Arrivals::Poisson { next, .. } | Arrivals::PoissonBytes { next, .. } => Some(*next as u64),
            Arrivals::ConstantBytes { first, per_byte, bytes, .. } => {
                Some((first + *bytes as f64 * per_byte) as u64)
            }
            Arrivals::Bursts { first, period, burst, .. } => Some((first + *burst as f64 * period) as u64),
            Arrivals::ByKind(kinds) => kinds.next(),
            Arrivals::Paused(paused) => paused.next(),
            Arrivals::Traced { trace, next, scale } => Some(traced_instant(trace, *next, *scale)),
            Arrivals::ThinkTime { left: 0, .. } => Some(u64::MAX),
            Arrivals::ThinkTime { resume, .. } => *resume,
        }
    }

    /// The instant until which the present pause is to be spent spinning rather than sleeping: its start and the think
    /// time's `spin`, or all of the pause where that is shorter. `None` where there is no pause, or its start is not
    /// known yet.
    #[inline]
    pub fn spin_until(&self) -> Option<u64> {
        match self {
            Arrivals::ThinkTime { spin, completed, resume: Some(_), .. } => {
                Some(completed.saturating_add(*spin))
            }
            Arrivals::Paused(paused) => paused.spin_until(),
            _ => None,
        }
    }

    /// Moves on to the instant after; to be called once per operation issued, with its size in bytes.
    #[inline]
    pub fn advance(&mut self, length: u32) {
        match self {
            Arrivals::ConstantBytes { bytes, .. } => *bytes = bytes.saturating_add(u64::from(length)),
            Arrivals::ByKind(kinds) => kinds.advance(length),
            Arrivals::Paused(paused) => paused.advance(length),
            _ => self.step(f64::from(length)),
        }
    }

    /// Moves on after an operation of so many bytes, which need not be whole.
    #[inline]
    fn step(&mut self, size: f64) {
        match self {
            Arrivals::Closed | Arrivals::ByKind(_) | Arrivals::Paused(_) => (),
            Arrivals::Traced { next, .. } => *next += 1,
            Arrivals::Poisson { mean_gap, next, generator } => *next += -unit(generator).ln() * *mean_gap,
            Arrivals::PoissonBytes { per_byte, next, generator, .. } => {
                *next += -unit(generator).ln() * *per_byte * size;
            }
            Arrivals::ConstantBytes { bytes, .. } => *bytes = bytes.saturating_add(size.ceil() as u64),
            Arrivals::Bursts { operations, burst, left, .. } => {
                *left -= 1;
                if *left == 0 {
                    *left = *operations;
                    *burst += 1;
                }
            }
            Arrivals::ThinkTime { left, in_flight, resume, .. } => {
                *left = left.saturating_sub(1);
                *in_flight += 1;
                *resume = None;
            }
        }
    }

    /// Records that an operation, with all that had to follow it, is back since the instant `at`, whether well or not; to
    /// be called once per operation. Only think time takes note: a pause begins when the last operation before it is
    /// back.
    #[inline]
    pub fn completed(&mut self, at: u64) {
        if let Arrivals::Paused(paused) = self {
            paused.completed(at);
        }
        if let Arrivals::ThinkTime {
            pause,
            operations,
            io_time,
            begun,
            left,
            in_flight,
            completed,
            resume,
            ..
        } = self
        {
            *in_flight = in_flight.saturating_sub(1);
            *completed = at.max(*completed);
            if completed.saturating_sub(*begun) >= *io_time {
                *left = 0;
            }
            if *left == 0 && *in_flight == 0 {
                *left = *operations;
                *begun = completed.saturating_add(*pause);
                *resume = Some(*begun);
            }
        }
    }

    /// Operations meant to start from now to `until` that have not been issued; draws them, so ask at the end only. A
    /// closed loop has none, with think time or without. With so many bytes a second, whose operations have not been
    /// drawn, all count as of the task's mean size.
    pub fn backlog(&mut self, until: u64) -> u64 {
        let size = match self {
            Arrivals::Closed | Arrivals::ThinkTime { .. } => return 0,
            Arrivals::ByKind(kinds) => return kinds.backlog(until),
            Arrivals::Paused(paused) => return paused.backlog(until),
            Arrivals::Poisson { .. } | Arrivals::Bursts { .. } | Arrivals::Traced { .. } => 0.0,
            Arrivals::PoissonBytes { mean_size, .. } | Arrivals::ConstantBytes { mean_size, .. } => {
                *mean_size
            }
        };
        let mut count = 0u64;
        while self.next().is_some_and(|next| next < until) {
            if count == MAX_DRAWN && !matches!(self, Arrivals::Traced { .. }) {
                return count.saturating_add(self.expected(until));
            }
            self.step(size);
            count += 1;
        }
        count
    }

    /// Operations to be expected from the next instant to `until`.
    fn expected(&self, until: u64) -> u64 {
        let until = until as f64;
        match self {
            Arrivals::Closed
            | Arrivals::ThinkTime { .. }
            | Arrivals::Paused(_)
            | Arrivals::ByKind(_)
            | Arrivals::Traced { .. } => 0,
            Arrivals::Poisson { mean_gap, next, .. } => ((until - next) / mean_gap) as u64,
            Arrivals::PoissonBytes { per_byte, mean_size, next, .. } => {
                ((until - next) / (per_byte * mean_size)) as u64
            }
            Arrivals::ConstantBytes { first, per_byte, mean_size, bytes } => {
                ((until - first - *bytes as f64 * per_byte) / (per_byte * mean_size)).ceil() as u64
            }
            Arrivals::Bursts { first, period, operations, burst, left } => {
                let bursts = ((until - first) / period).ceil() as u64;
                bursts
                    .saturating_sub(*burst + 1)
                    .saturating_mul(u64::from(*operations))
                    .saturating_add(u64::from(*left))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolite_model::{Bytes, SizeLaw, Sizes};

    fn new(arrival: Arrival, worker: u32, workers: u32, seed: u64) -> Arrivals {
        Arrivals::new(&FileTask { arrival, workers, seed, ..FileTask::default() }, worker)
    }

    /// Kolmogorov-Smirnov distance of 10,000 gaps to the exponential law; 1.95 / sqrt(n) is its 99.9 % quantile.
    #[test]
    fn pauses_may_come_by_time() {
        let arrival = |operations| {
            let (pause, spin, io_time) = (Nanos(100), Nanos(0), Nanos(50));
            new(Arrival::ThinkTime { pause, operations, spin, io_time }, 0, 1, 1)
        };
        let mut arrivals = arrival(0);
        for (start, due) in [(0, 151), (151, 302)] {
            for at in [start + 20, start + 49] {
                arrivals.advance(4096);
                arrivals.completed(at);
                assert_eq!(arrivals.next(), None, "{at}");
            }
            // Both of these are on their way when the time is over.
            (0..2).for_each(|_| arrivals.advance(4096));
            arrivals.completed(start + 50);
            assert_eq!(arrivals.next(), Some(u64::MAX));
            arrivals.completed(start + 51);
            assert_eq!(arrivals.next(), Some(due));
        }
        let mut either = arrival(1);
        either.advance(4096);
        either.completed(10);
        assert_eq!(either.next(), Some(110));
    }

    #[test]
    fn poisson_gaps_are_exponential() {
        let mut arrivals = new(Arrival::Poisson(Iops(4000.0)), 1, 4, 7);
        let mut gaps = Vec::new();
        let mut last = 0;
        for _ in 0..10_000 {
            let next = arrivals.next().unwrap();
            gaps.push((next - last) as f64);
            last = next;
            arrivals.advance(4096);
        }
        gaps.sort_by(f64::total_cmp);
        let distance = gaps
            .iter()
            .enumerate()
            .map(|(rank, gap)| (1.0 - (-gap / 1e6).exp() - rank as f64 / 1e4).abs())
            .fold(0.0, f64::max);
        assert!(distance < 1.95 / 100.0, "{distance}");
    }

    #[test]
    fn the_backlog_counts_what_was_due() {
        let mut arrivals = new(Arrival::Poisson(Iops(1000.0)), 0, 1, 7);
        let backlog = arrivals.backlog(10_000_000_000);
        assert!((9_600..10_400).contains(&backlog), "{backlog} of about 10,000, 4 standard deviations");
        assert_eq!(arrivals.backlog(10_000_000_000), 0);
        assert_eq!(Arrivals::Closed.backlog(u64::MAX), 0);
        let huge = new(Arrival::Poisson(Iops(1e9)), 0, 1, 7).backlog(10_000_000_000) as f64;
        assert!((huge / 1e10 - 1.0).abs() < 0.01, "{huge}");
    }

    fn instants(arrival: Arrival, worker: u32, workers: u32, count: usize) -> Vec<u64> {
        let mut arrivals = new(arrival, worker, workers, 1);
        let step = |_| {
            let next = arrivals.next().unwrap();
            arrivals.advance(4096);
            next
        };
        (0..count).map(step).collect()
    }

    #[test]
    fn workers_take_turns_at_a_constant_rate() {
        let rate = Arrival::Constant(Iops(1000.0));
        assert_eq!(instants(rate, 0, 1, 3), [0, 1_000_000, 2_000_000]);
        assert_eq!(instants(rate, 0, 4, 3), [0, 4_000_000, 8_000_000]);
        assert_eq!(instants(rate, 3, 4, 3), [3_000_000, 7_000_000, 11_000_000]);
        // A day at a rate whose distance is no whole number: no drift beyond the nanosecond that is cut off.
        let last = instants(Arrival::Constant(Iops(30.0)), 0, 1, 86_400 * 30 + 1)[86_400 * 30];
        assert!((86_400_000_000_000 - 1..=86_400_000_000_000).contains(&last), "{last}");
    }

    #[test]
    fn bursts_have_their_mean_rate() {
        let bursts = Arrival::Bursts { rate: Iops(1000.0), operations: 3 };
        assert_eq!(instants(bursts, 0, 2, 7), [0, 0, 0, 6_000_000, 6_000_000, 6_000_000, 12_000_000]);
        assert_eq!(instants(bursts, 1, 2, 4), [3_000_000, 3_000_000, 3_000_000, 9_000_000]);
    }

    #[test]
    fn the_backlog_of_bursts_is_exact() {
        for operations in [1, 7] {
            let arrival = Arrival::Bursts { rate: Iops(1e6), operations };
            for seconds in [1u64, 5] {
                let backlog: u64 =
                    (0..3).map(|w| new(arrival, w, 3, 1).backlog(seconds * 1_000_000_000)).sum();
                let asked = (seconds * 1_000_000).next_multiple_of(u64::from(operations));
                assert_eq!(backlog, asked, "{operations} {seconds}");
            }
        }
    }

    #[test]
    fn think_time_pauses_when_all_operations_are_back() {
        let arrival =
            Arrival::ThinkTime { pause: Nanos(100), operations: 2, io_time: Nanos(0), spin: Nanos(0) };
        let mut arrivals = new(arrival, 0, 1, 1);
        for round in 0..3 {
            let start = round * 1000;
            arrivals.advance(4096);
            assert_eq!(arrivals.next(), None, "the second follows at once");
            arrivals.advance(4096);
            assert_eq!(arrivals.next(), Some(u64::MAX));
            arrivals.completed(start + 50);
            assert_eq!(arrivals.next(), Some(u64::MAX), "one is still in flight");
            arrivals.completed(start + 30);
            assert_eq!(arrivals.next(), Some(start + 150), "the pause counts from the later completion");
        }
        assert_eq!(arrivals.backlog(u64::MAX), 0);
    }

    #[test]
    fn an_operation_that_is_back_early_does_not_begin_the_pause() {
        let mut arrivals = new(
            Arrival::ThinkTime { pause: Nanos(5), operations: 2, io_time: Nanos(0), spin: Nanos(0) },
            0,
            1,
            1,
        );
        arrivals.advance(4096);
        arrivals.completed(10);
        assert_eq!(arrivals.next(), None);
        arrivals.advance(4096);
        arrivals.completed(20);
        assert_eq!(arrivals.next(), Some(25));
    }

    #[test]
    fn a_part_of_the_pause_is_spun() {
        for (spin, until) in [(0, 1000), (30, 1030), (500, 1100)] {
            let arrival =
                Arrival::ThinkTime { pause: Nanos(100), operations: 1, io_time: Nanos(0), spin: Nanos(spin) };
            let mut arrivals = new(arrival, 0, 1, 1);
            assert_eq!(arrivals.spin_until(), None);
            arrivals.advance(4096);
            assert_eq!(arrivals.spin_until(), None, "its start is not known yet");
            arrivals.completed(1000);
            assert_eq!((arrivals.spin_until(), arrivals.next()), (Some(until), Some(1100)));
            arrivals.advance(4096);
            assert_eq!(arrivals.spin_until(), None);
        }
        assert_eq!(new(Arrival::Constant(Iops(1.0)), 0, 1, 1).spin_until(), None);
    }

    fn byte_task(arrival: Arrival, workers: u32) -> FileTask {
        let law = SizeLaw::Range { min: Bytes(1000), max: Bytes(3000), multiple: Bytes(1000) };
        FileTask { arrival, workers, sizes: Some(Sizes::alike(law, Bytes(1))), ..FileTask::default() }
    }

    #[test]
    fn distances_are_in_proportion_to_sizes() {
        let task = byte_task(Arrival::ConstantBytes(Bandwidth(1e6)), 2);
        let mut arrivals = Arrivals::new(&task, 1);
        // Half a million bytes a second: 2 us a byte. The second worker begins when a mean operation of the first, at
        // the full rate, would be over.
        assert_eq!(arrivals.next(), Some(2_000_000));
        arrivals.advance(1000);
        assert_eq!(arrivals.next(), Some(4_000_000));
        arrivals.advance(3000);
        assert_eq!(arrivals.next(), Some(10_000_000));
        // No drift: a rate that is not a whole number of anything, for a day.
        let mut arrivals = Arrivals::new(&byte_task(Arrival::ConstantBytes(Bandwidth(3e7)), 1), 0);
        (0..86_400 * 30u32).for_each(|_| arrivals.advance(1_000_000));
        let day = arrivals.next().unwrap();
        assert!((86_400_000_000_000 - 1..=86_400_000_000_000).contains(&day), "{day}");
    }

    /// Kolmogorov-Smirnov distance of gaps, each divided by its operation's size, to the exponential law; 1.95 / sqrt(n)
    /// is the 99.9 % quantile.
    #[test]
    fn poisson_gaps_are_exponential_by_the_byte() {
        let mut arrivals = Arrivals::new(&byte_task(Arrival::PoissonBytes(Bandwidth(1e6)), 1), 0);
        let mut gaps = Vec::new();
        for index in 0..10_000u32 {
            let (last, size) = (arrivals.next().unwrap(), 1000 * (1 + index % 3));
            arrivals.advance(size);
            gaps.push((arrivals.next().unwrap() - last) as f64 / (f64::from(size) * 1e3));
        }
        gaps.sort_by(f64::total_cmp);
        let deviation = |(rank, gap): (usize, &f64)| (1.0 - (-gap).exp() - rank as f64 / 1e4).abs();
        let distance = gaps.iter().enumerate().map(deviation).fold(0.0, f64::max);
        assert!(distance < 1.95 / 100.0, "{distance}");
    }

    #[test]
    fn the_backlog_of_a_byte_rate_is_in_mean_operations() {
        // 10 s of 1 MB a second in operations of 2,000 bytes in the mean.
        let constant = byte_task(Arrival::ConstantBytes(Bandwidth(1e6)), 2);
        let backlog: u64 =
            (0..2).map(|worker| Arrivals::new(&constant, worker).backlog(10_000_000_000)).sum();
        assert_eq!(backlog, 5000);
        let mut poisson = Arrivals::new(&byte_task(Arrival::PoissonBytes(Bandwidth(1e6)), 1), 0);
        let backlog = poisson.backlog(10_000_000_000);
        assert!((4717..=5283).contains(&backlog), "{backlog} of about 5,000, 4 standard deviations");
        assert_eq!(poisson.backlog(10_000_000_000), 0);
        for arrival in [Arrival::ConstantBytes(Bandwidth(2e12)), Arrival::PoissonBytes(Bandwidth(2e12))] {
            let huge = Arrivals::new(&byte_task(arrival, 1), 0).backlog(10_000_000_000) as f64;
            assert!((huge / 1e10 - 1.0).abs() < 0.01, "{huge}");
        }
    }

    #[test]
    fn the_backlog_never_overflows() {
        for rate in [f64::MAX, f64::INFINITY] {
            for arrival in [Arrival::Poisson(Iops(rate)), Arrival::Constant(Iops(rate))] {
                assert!(new(arrival, 0, 1, 1).backlog(u64::MAX) >= MAX_DRAWN);
            }
        }
    }

    #[test]
    fn arrivals_without_sense_are_refused() {
        for (arrival, part) in [
            (Arrival::Poisson(Iops(0.0)), "above 0"),
            (Arrival::Constant(Iops(-5.0)), "above 0"),
            (Arrival::Constant(Iops(f64::NAN)), "above 0"),
            (Arrival::Bursts { rate: Iops(f64::INFINITY), operations: 1 }, "above 0"),
            (Arrival::ConstantBytes(Bandwidth(0.0)), "0 bytes a second"),
            (Arrival::PoissonBytes(Bandwidth(f64::NAN)), "above 0"),
            (Arrival::Bursts { rate: Iops(1.0), operations: 0 }, "at least one"),
            (
                Arrival::ThinkTime { pause: Nanos(1), operations: 0, io_time: Nanos(0), spin: Nanos(0) },
                "nothing would ever be done",
            ),
        ] {
            let error = check(arrival, Mix::Read).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        let think = Arrival::ThinkTime { pause: Nanos(0), operations: 1, io_time: Nanos(0), spin: Nanos(9) };
        assert!(check(think, Mix::Read).is_ok());
    }
}
