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
/// a round does each block once, whatever the files' sizes. As with fio, a file is closed when its turn comes and nothing is left of
/// it: until then it counts as one of those that may be open. Where nothing is ever through, other files than those that were opened
/// first have no turn.
#[derive(Debug, Clone)]
pub(crate) struct Spread<P> {
    files: Vec<Part<P>>,
    picker: Picker,
    end: FileEnd,
    /// Files that are not.
    left: usize,
    /// Files that may be open at the same time.
    window: usize,
    /// Files that are open.
    open: usize,
    /// The file that operations go to now.
    current: usize,
    /// The file of the last operation, from which turns go on in the next round.
    last: usize,
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
    state: FileState,
}

/// When a worker is through with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileEnd {
    /// Never: the order within it does not end.
    Never,
    /// When its part is done; then it is left out until all are.
    Round,
    /// When its part is done; then it may be opened again. Left out, the favoured files would lose what the law gives them.
    Again,
}

/// What has become of a file in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileState {
    /// It was not used yet.
    Untouched,
    Open,
    /// Nothing is left of it.
    Closed,
}

/// Files that are drawn, by chance, before the next one that is available is taken.
const DRAWS: u32 = 100;

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
        let part =
            |((start, places), round)| Part { start, places, round, left: 0, state: FileState::Untouched };
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
        let end = match picker {
            Picker::Sequential => FileEnd::Round,
            _ if !walks => FileEnd::Never,
            Picker::Turns(_) | Picker::Random(..) => FileEnd::Round,
            Picker::Zipf(..) | Picker::Pareto(..) | Picker::Normal(..) => FileEnd::Again,
        };
        let current = files.len().checked_sub(1)?;
        let window = if target.open == 0 { files.len() } else { target.open as usize };
        Some(Spread { files, picker, end, left: 0, window, open: 0, current, last: current, run: 0 })
    }

    /// The next operation, which `next` takes from the places of its file.
    pub(crate) fn next(&mut self, next: impl FnOnce(&mut P) -> PlannedOp) -> PlannedOp {
        loop {
            if self.run == 0 {
                self.move_on();
            }
            if self.end == FileEnd::Never || self.files[self.current].left > 0 {
                break;
            }
            self.close();
        }
        let part = &mut self.files[self.current];
        let op = next(&mut part.places);
        (self.run, self.last) = (self.run - 1, self.current);
        part.left = part.left.saturating_sub(u64::from(op.length));
        PlannedOp { offset: part.start + op.offset, ..op }
    }

    /// Nothing is left of the current file.
    fn close(&mut self) {
        let part = &mut self.files[self.current];
        (self.open, self.run) = (self.open - 1, 0);
        if self.end == FileEnd::Again {
            (part.left, part.state) = (part.round.max(1), FileState::Untouched);
        } else {
            part.state = FileState::Closed;
            self.left -= 1;
        }
    }

    fn move_on(&mut self) {
        if self.left == 0 {
            for part in &mut self.files {
                (part.left, part.state) = (part.round.max(1), FileState::Untouched);
            }
            (self.left, self.open, self.current) = (self.files.len(), 0, self.last);
        }
        self.run = match &self.picker {
            Picker::Turns(run) | Picker::Random(run, _) => *run,
            Picker::Sequential => u64::MAX,
            Picker::Zipf(..) | Picker::Pareto(..) | Picker::Normal(..) => 1,
        };
        self.current = self.choose();
        let part = &mut self.files[self.current];
        if part.state == FileState::Untouched {
            part.state = FileState::Open;
            self.open += 1;
        }
    }

    /// The next file: one at least is available.
    fn choose(&mut self) -> usize {
        let count = self.files.len();
        for _ in 0..DRAWS {
            let drawn = match &mut self.picker {
                Picker::Turns(_) | Picker::Sequential => break,
                Picker::Random(_, generator) => below(generator, count as u64),
                Picker::Zipf(law, generator) => law.rank(generator),
                Picker::Pareto(law, generator) => law.rank(generator),
                Picker::Normal(law, generator) => law.block(generator),
            };
            let drawn = (drawn as usize).min(count - 1);
            if self.is_available(drawn) {
                return drawn;
            }
            self.current = drawn;
        }
        let mut after = (self.current + 1..count).chain(0..=self.current);
        after.find(|file| self.is_available(*file)).unwrap_or(0)
    }

    /// Whether a file is open, or may be opened.
    fn is_available(&self, file: usize) -> bool {
        match self.files[file].state {
            FileState::Untouched => self.open < self.window,
            FileState::Open => true,
            FileState::Closed => false,
        }
    }
}
