//! Which of several files the next operation goes to.

use iolite_model::{Access, FileOrder, FileTask, Target};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::offset::{Normal, Pareto, Zipf};
use crate::planned::PlannedOp;
use crate::random::{Purpose, below, generator};
use crate::region::has_slices;
use crate::{files, share};

/// Places in several files.
///
/// Where a worker goes through its part of each file, one that it is through with is left out until it is through with all:
/// a round does each block once, whatever the files' sizes.
#[derive(Debug, Clone)]
pub(crate) struct Spread<P> {
    files: Vec<Part<P>>,
    picker: Picker,
    /// Whether files are done with in a round.
    rounds: bool,
    /// Files that are not.
    left: usize,
    /// Files that may be in use at the same time.
    window: usize,
    /// Files that are in use: begun, and not done with.
    in_use: usize,
    /// The file that operations go to now.
    current: usize,
    /// Operations that are left to go to it.
    run: u64,
}

/// A file of a [`Spread`].
#[derive(Debug, Clone)]
struct Part<P> {
    start: u64,
    places: P,
    /// Bytes of this worker's operations in one round.
    round: u64,
    /// What is left of it.
    left: u64,
    /// It was begun in this round.
    begun: bool,
}

#[derive(Debug, Clone)]
enum Picker {
    Turns(u64),
    Sequential,
    Random(u64, Xoshiro256PlusPlus),
    Zipf(Zipf, Xoshiro256PlusPlus),
    Pareto(Pareto, Xoshiro256PlusPlus),
    Normal(Normal, Xoshiro256PlusPlus),
}

impl<P> Spread<P> {
    /// The places of a worker whose places in each file are `places`, in the files' order. `None` where the task has not
    /// several files, or an order that [`files::check`] refuses.
    pub(crate) fn new(task: &FileTask, worker: u32, places: Vec<P>) -> Option<Spread<P>> {
        files::check(task).ok()?;
        let Target::Files(target) = &task.target else { return None };
        let rounds = files::each(task, |alone| share::round(alone, worker));
        let parts = files::file_starts(task).into_iter().zip(places).zip(rounds);
        let part = |((start, places), round)| Part { start, places, round, left: 0, begun: false };
        let files: Vec<_> = parts.map(part).collect();
        let count = files.len() as u64;
        let generator = generator(task.seed, worker, Purpose::Files);
        let picker = match target.order {
            FileOrder::RoundRobin(run) => Picker::Turns(run),
            FileOrder::Sequential => Picker::Sequential,
            FileOrder::Random(run) => Picker::Random(run, generator),
            FileOrder::Zipf(theta) => Picker::Zipf(Zipf::new(count, theta), generator),
            FileOrder::Pareto(h) => Picker::Pareto(Pareto::new(count, h), generator),
            FileOrder::Normal(deviation) => Picker::Normal(Normal::new(count, deviation, 0.5), generator),
        };
        let walks = has_slices(task) || task.access == Access::Covering;
        let rounds = match picker {
            Picker::Sequential => true,
            Picker::Turns(_) | Picker::Random(..) => walks,
            // Left out, the favoured files would lose what the law gives them.
            Picker::Zipf(..) | Picker::Pareto(..) | Picker::Normal(..) => false,
        };
        let current = files.len().checked_sub(1)?;
        let window = if target.open == 0 { files.len() } else { target.open as usize };
        Some(Spread { files, picker, rounds, left: 0, window, in_use: 0, current, run: 0 })
    }

    /// The next operation, which `next` takes from the places of its file.
    pub(crate) fn next(&mut self, next: impl FnOnce(&mut P) -> PlannedOp) -> PlannedOp {
        if self.run == 0 {
            self.move_on();
        }
        let part = &mut self.files[self.current];
        let op = next(&mut part.places);
        self.run -= 1;
        if self.rounds {
            part.left = part.left.saturating_sub(u64::from(op.length));
            if part.left == 0 {
                (self.left, self.in_use) = (self.left - 1, self.in_use - 1);
                self.run = 0;
            }
        }
        PlannedOp { offset: part.start + op.offset, ..op }
    }

    fn move_on(&mut self) {
        let count = self.files.len();
        if self.rounds && self.left == 0 {
            self.files.iter_mut().for_each(|part| (part.left, part.begun) = (part.round.max(1), false));
            (self.left, self.in_use, self.current) = (count, 0, count - 1);
        }
        let after = |file: usize| if file + 1 < count { file + 1 } else { 0 };
        let (next, run) = match &mut self.picker {
            Picker::Turns(run) => (after(self.current), *run),
            Picker::Sequential => (after(self.current), u64::MAX),
            Picker::Random(run, generator) => (below(generator, count as u64) as usize, *run),
            Picker::Zipf(law, generator) => (law.rank(generator) as usize, 1),
            Picker::Pareto(law, generator) => (law.rank(generator) as usize, 1),
            Picker::Normal(law, generator) => (law.block(generator) as usize, 1),
        };
        (self.current, self.run) = (next.min(count - 1), run);
        while self.rounds && !self.is_available(self.current) {
            self.current = after(self.current);
        }
        let part = &mut self.files[self.current];
        if self.rounds && !part.begun {
            part.begun = true;
            self.in_use += 1;
        }
    }

    /// Whether there is something to do in a file, and it is in use or may be begun.
    fn is_available(&self, file: usize) -> bool {
        let part = &self.files[file];
        part.left > 0 && (part.begun || self.in_use < self.window)
    }
}
