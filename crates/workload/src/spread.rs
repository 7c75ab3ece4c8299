//! Which of several files the next operation goes to.

use iolite_model::{Access, FileOrder, FileTask, Target};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::free_map::FreeMap;
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
    /// Files that were not used yet in this round.
    untouched: FreeMap,
    /// Files that are open.
    opened: FreeMap,
    picker: Picker,
    end: FileEnd,
    /// Files that the worker is not through with.
    left: usize,
    /// Files that may be open at the same time.
    window: usize,
    /// Number of files that are open.
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
        let files: Vec<_> =
            parts.map(|((start, places), round)| Part { start, places, round, left: 0 }).collect();
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
        let untouched = FreeMap::new(count)?;
        let mut opened = untouched.clone();
        opened.take_all();
        Some(Spread {
            files,
            untouched,
            opened,
            picker,
            end,
            left: 0,
            window,
            open: 0,
            current,
            last: current,
            run: 0,
        })
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
        self.opened.take(self.current as u64, 1);
        if self.end == FileEnd::Again {
            part.left = part.round.max(1);
            self.untouched.free(self.current as u64);
        } else {
            self.left -= 1;
        }
    }

    fn move_on(&mut self) {
        if self.left == 0 {
            for part in &mut self.files {
                part.left = part.round.max(1);
            }
            self.untouched.free_all();
            self.opened.take_all();
            (self.left, self.open, self.current) = (self.files.len(), 0, self.last);
        }
        self.run = match &self.picker {
            Picker::Turns(run) | Picker::Random(run, _) => *run,
            Picker::Sequential => u64::MAX,
            Picker::Zipf(..) | Picker::Pareto(..) | Picker::Normal(..) => 1,
        };
        self.current = self.choose();
        let current = self.current as u64;
        if !is_in(&self.opened, current) {
            self.untouched.take(current, 1);
            self.opened.free(current);
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
        self.available_from(self.current + 1).or_else(|| self.available_from(0)).unwrap_or(0)
    }

    /// The first file from this one on that is open, or may be opened.
    fn available_from(&self, file: usize) -> Option<usize> {
        let open = self.opened.next_free(file as u64);
        let new = (self.open < self.window).then(|| self.untouched.next_free(file as u64)).flatten();
        open.into_iter().chain(new).min().map(|file| file as usize)
    }

    /// Whether a file is open, or may be opened.
    fn is_available(&self, file: usize) -> bool {
        let file = file as u64;
        is_in(&self.opened, file) || (self.open < self.window && is_in(&self.untouched, file))
    }
}

fn is_in(files: &FreeMap, file: u64) -> bool {
    files.next_free(file) == Some(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolite_model::{Bytes, FilesTarget, NamedFile, Stop};
    use proptest::prelude::*;

    use crate::stream::OpStream;

    /// Files of these numbers of blocks.
    fn task(sizes: &[u64], order: FileOrder, open: u32) -> FileTask {
        let file = |(number, blocks): (usize, &u64)| NamedFile {
            path: format!("{number}").into(),
            offset: Bytes(0),
            size: Bytes(blocks * 4096),
        };
        let files = sizes.iter().enumerate().map(file).collect();
        FileTask {
            target: Target::Files(FilesTarget { order, open, ..FilesTarget::of(files) }),
            access: Access::Sequential,
            stop: Stop { loops: Some(2), ..Stop::default() },
            ..FileTask::default()
        }
    }

    /// The files of a round in turns of `run` operations, by looking at one file after the other.
    fn in_turns(sizes: &[u64], run: u64, window: usize) -> Vec<usize> {
        let mut left = sizes.to_vec();
        let (mut open, mut closed) = (vec![false; sizes.len()], vec![false; sizes.len()]);
        let (mut found, mut current) = (Vec::new(), sizes.len() - 1);
        while closed.iter().any(|closed| !closed) {
            let may_open = open.iter().filter(|open| **open).count() < window;
            let available = |file: &usize| !closed[*file] && (open[*file] || may_open);
            current = (1..=sizes.len()).map(|next| (current + next) % sizes.len()).find(available).unwrap();
            open[current] = true;
            for _ in 0..run {
                if left[current] == 0 {
                    (open[current], closed[current]) = (false, true);
                    break;
                }
                left[current] -= 1;
                found.push(current);
            }
        }
        found
    }

    proptest! {
        /// Turns are found as by looking at one file after the other, however many there are.
        #[test]
        fn turns_skip_files_that_may_not_be_used(
            sizes in prop::collection::vec(1u64..5, 2..300), run in 1u64..4, window in 1u32..8,
        ) {
            let task = task(&sizes, FileOrder::RoundRobin(run), window);
            let mut stream = OpStream::new(&task, 0).unwrap();
            let starts = files::file_starts(&task);
            let expected = in_turns(&sizes, run, window as usize);
            let found: Vec<usize> = expected
                .iter()
                .map(|_| {
                    let offset = stream.next_op().offset;
                    starts.partition_point(|start| *start <= offset) - 1
                })
                .collect();
            prop_assert_eq!(found, expected);
        }
    }
}
