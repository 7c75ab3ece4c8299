//! How batches and what came of them travel: `iolite.m` has the other end.
//!
//! A batch is one line: `batch LIMIT WIDTH RELAXED GLOBAL;` with the limit in microseconds, and its cycles: a letter, how many
//! numbers in six digits, and the numbers in WIDTH digits each. `S` sets, `R` reads. The answer is a field per cycle, ended by `|`, with an operation per word: microseconds since the last one's end,
//! and microseconds it took. Then `done BEGAN JOURNAL`, or `done BEGAN error WHY`.

use std::time::Duration;

use iolite_model::{Bytes, OpKind};

use super::super::contract::{Cycle, Timed};

/// Most bytes of a line: GT.M's strings have at most 1 MiB.
const LONGEST: usize = 1_000_000;
/// Of which before the cycles.
const HEADER: usize = 200;

/// Cycles that fit a line.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// The cycles as they are sent.
    pub(super) cycles: String,
    /// What each consists of.
    pub(super) sent: Vec<Sent>,
}

/// A cycle that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sent {
    /// So many reads.
    Reads,
    /// Sets of values of these sizes: index into the batch's cycles.
    Sets(usize),
}

/// Digits of the numbers of a batch.
pub(super) fn width(cycles: &[Cycle]) -> usize {
    let largest = cycles.iter().flat_map(Cycle::numbers).max().unwrap_or(&0) + 1;
    largest.to_string().len()
}

/// Most numbers of one cycle.
pub(super) fn largest(width: usize) -> usize {
    ((LONGEST - HEADER) / width).min(999_999)
}

/// Divides the cycles into lines. A cycle of reads may go on in the next line; one of sets that has more than [`max`]
/// numbers is `Err`.
pub(super) fn lines(cycles: &[Cycle], width: usize) -> Result<Vec<Line>, usize> {
    let mut lines = vec![Line::default()];
    for (index, cycle) in cycles.iter().enumerate() {
        let pieces: Vec<&[u64]> = match cycle {
            Cycle::Sets(numbers) if numbers.len() > largest(width) => return Err(numbers.len()),
            Cycle::Reads(numbers) if !numbers.is_empty() => numbers.chunks(largest(width)).collect(),
            other => vec![other.numbers()],
        };
        let (kind, sent) = match cycle {
            Cycle::Sets(_) => ('S', Sent::Sets(index)),
            Cycle::Reads(_) => ('R', Sent::Reads),
        };
        for piece in pieces {
            let full = lines.last().is_some_and(|line| {
                !line.sent.is_empty() && line.cycles.len() + 7 + piece.len() * width > LONGEST - HEADER
            });
            if full {
                lines.push(Line::default());
            }
            if let Some(line) = lines.last_mut() {
                line.add(kind, piece, width, sent);
            }
        }
    }
    Ok(lines)
}

impl Line {
    fn add(&mut self, kind: char, numbers: &[u64], width: usize, sent: Sent) {
        // Blocks are numbered from 0, nodes from 1.
        let first = u64::from(sent == Sent::Reads);
        self.cycles.push(kind);
        self.digits(numbers.len() as u64, 6);
        numbers.iter().for_each(|number| self.digits(number + first, width));
        self.sent.push(sent);
    }

    /// By hand: there are ten thousand numbers in a batch, for which the database waits.
    fn digits(&mut self, mut number: u64, width: usize) {
        let mut digits = [b'0'; 20];
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + (number % 10) as u8;
            number /= 10;
        }
        let digits = &digits[digits.len() - width.min(digits.len())..];
        self.cycles.extend(digits.iter().map(|&digit| char::from(digit)));
    }
}

/// What a batch takes beside its cycles.
#[derive(Debug, Clone, Copy)]
pub(super) struct Header {
    pub(super) limit: Duration,
    pub(super) relaxed: bool,
    pub(super) global: u32,
}

/// The whole line.
pub(super) fn command(header: &Header, width: usize, line: &Line) -> String {
    let Header { limit, relaxed, global } = header;
    let (limit, relaxed) = (limit.as_micros(), u8::from(*relaxed));
    format!("batch {limit} {width} {relaxed} {global};{}", line.cycles)
}

/// Reads the answers to one line.
#[derive(Debug)]
pub(super) struct Answers<'a> {
    cycles: &'a [Cycle],
    sent: std::slice::Iter<'a, Sent>,
    block: u64,
    /// End of the last operation, in microseconds since the batch began.
    last: i64,
    /// Whether something came that can't be read.
    pub(super) garbled: bool,
}

impl<'a> Answers<'a> {
    pub(super) fn new(cycles: &'a [Cycle], line: &'a Line, block: u64) -> Answers<'a> {
        Answers { cycles, sent: line.sent.iter(), block, last: 0, garbled: false }
    }

    /// Takes one line of fields; instants are counted from the batch's beginning.
    pub(super) fn take(&mut self, fields: &str, done: &mut Vec<Timed>) {
        for field in fields.split_terminator('|') {
            let read = self.sent.next().and_then(|&sent| self.cycle(sent, field, done));
            self.garbled |= read.is_none();
        }
    }

    fn cycle(&mut self, sent: Sent, field: &str, done: &mut Vec<Timed>) -> Option<()> {
        let values = match sent {
            Sent::Reads => &[],
            Sent::Sets(index) => self.cycles.get(index)?.numbers(),
        };
        for (index, word) in field.split_ascii_whitespace().enumerate() {
            let (gap, took) = word.split_once(',')?;
            let started = self.last + gap.parse::<i64>().ok()?;
            self.last = started + took.parse::<i64>().ok()?;
            let (kind, bytes) = match (sent, values.get(index)) {
                (Sent::Reads, _) => (OpKind::Read, self.block),
                (Sent::Sets(_), Some(&subscript)) => (OpKind::Write, value_size(subscript)),
                (Sent::Sets(_), None) => (OpKind::Commit, 0),
            };
            let (started, ended) = (started * 1000, self.last * 1000);
            done.push(Timed { kind, started, ended, bytes: Bytes(bytes) });
        }
        Some(())
    }
}

/// Bytes of a subscript's value: 50 to 100, always the same, so that the database keeps its size.
pub(super) fn value_size(subscript: u64) -> u64 {
    50 + subscript % 51
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_reported_as_the_routine_reads_them() {
        let cycles = [Cycle::Sets(vec![7, 1000]), Cycle::Reads(vec![0, 9])];
        let width = width(&cycles);
        let lines = lines(&cycles, width).unwrap();
        let header = Header { limit: Duration::from_millis(5), relaxed: false, global: 3 };
        assert_eq!(command(&header, width, &lines[0]), "batch 5000 4 0 3;S00000200071000R00000200010010");
        assert_eq!(lines[0].sent, [Sent::Sets(0), Sent::Reads]);
    }

    #[test]
    fn long_batches_take_several_lines() {
        let cycles = vec![Cycle::Sets(vec![5; 1000]); 2000];
        let planned = lines(&cycles, 1).unwrap();
        assert!(planned.len() > 1 && planned.iter().all(|line| line.cycles.len() < LONGEST));
        assert_eq!(planned.iter().map(|line| line.sent.len()).sum::<usize>(), 2000);

        let long = [Cycle::Reads(vec![1; 2_000_000])];
        let planned = lines(&long, 1).unwrap();
        let kinds: String = planned.iter().map(|line| line.cycles.chars().next().unwrap()).collect();
        assert_eq!(kinds, "RRR");
        assert_eq!(lines(&[Cycle::Sets(vec![1; 2_000_000])], 1).unwrap_err(), 2_000_000);
    }

    #[test]
    fn answers_become_operations() {
        let cycles = [Cycle::Sets(vec![1, 52]), Cycle::Reads(vec![4])];
        let planned = lines(&cycles, 2).unwrap();
        let mut done = Vec::new();
        let mut answers = Answers::new(&cycles, &planned[0], 8192);
        answers.take("3,10 1,5 0,90|", &mut done);
        answers.take("-2,100|", &mut done);
        assert!(!answers.garbled);
        let op = |kind, started, ended, bytes| Timed { kind, started, ended, bytes: Bytes(bytes) };
        let expected = [
            op(OpKind::Write, 3000, 13_000, 51),
            op(OpKind::Write, 14_000, 19_000, 51),
            op(OpKind::Commit, 19_000, 109_000, 0),
            op(OpKind::Read, 107_000, 207_000, 8192),
        ];
        assert_eq!(done, expected);
        answers.take("1,x|", &mut done);
        assert!(answers.garbled);
    }
}
