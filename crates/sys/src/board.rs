//! A slot in which a thread publishes what it is about to do, so that another thread can see what it is stuck in.

use std::sync::atomic::{AtomicU64, Ordering, fence};

/// Set in `state` while there is something on the board.
const BUSY: u64 = 1;
/// Where the kind is in `state`.
const KIND: u32 = 1;
/// One more operation, in `state`.
const NEXT: u64 = 1 << 9;

/// What one thread is doing, on a cache line of its own (two of them: processors fetch lines in pairs).
///
/// One thread writes, any may look. Writing is four stores and no locked instruction: a nanosecond or so. Looking costs the
/// writer the line, so it is for those who have given up waiting.
///
/// A sequence lock (Boehm 2012, Can Seqlocks Get Along With Programming Language Memory Models?) whose sequence holds
/// the kind too.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Board {
    /// `BUSY`, the kind, and how many operations there were, modulo 2^55.
    state: AtomicU64,
    offset: AtomicU64,
    at: AtomicU64,
}

impl Board {
    /// An empty board.
    pub fn new() -> Board {
        Board::default()
    }

    /// Says that an operation of this kind at this offset (both only passed on) begins at the instant `at`. What was
    /// on the board is gone.
    #[inline]
    pub fn begin(&self, kind: u8, offset: u64, at: u64) {
        let last = self.state.load(Ordering::Relaxed) & !BUSY;
        self.state.store(last, Ordering::Relaxed);
        // Whoever sees one of the next two stores sees the one before, too.
        fence(Ordering::Release);
        self.offset.store(offset, Ordering::Relaxed);
        self.at.store(at, Ordering::Relaxed);
        let next = (last & !(NEXT - 1)).wrapping_add(NEXT) | u64::from(kind) << KIND | BUSY;
        self.state.store(next, Ordering::Release);
    }

    /// Says that it has ended.
    #[inline]
    pub fn end(&self) {
        self.state.store(self.state.load(Ordering::Relaxed) & !BUSY, Ordering::Relaxed);
    }

    /// The kind, offset and beginning of the operation on the board. `None` where there is none, or where it changed
    /// while being read, so that its thread is not stuck.
    ///
    /// By the time the caller reads the answer the operation may have ended; the three always belong together.
    pub fn look(&self) -> Option<(u8, u64, u64)> {
        let before = self.state.load(Ordering::Acquire);
        let (offset, at) = (self.offset.load(Ordering::Relaxed), self.at.load(Ordering::Relaxed));
        fence(Ordering::Acquire);
        let same = self.state.load(Ordering::Relaxed) == before;
        (same && before & BUSY != 0).then_some(((before >> KIND) as u8, offset, at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;
    use std::time::Instant;

    #[test]
    fn what_begins_is_seen_until_it_ends() {
        let board = Board::new();
        assert_eq!(board.look(), None);
        board.begin(255, u64::MAX, 7);
        assert_eq!(board.look(), Some((255, u64::MAX, 7)));
        board.begin(0, 1, 2);
        assert_eq!(board.look(), Some((0, 1, 2)));
        board.end();
        assert_eq!(board.look(), None);
        board.end();
        assert_eq!(board.look(), None);
    }

    #[test]
    fn it_has_its_lines_to_itself() {
        assert_eq!((align_of::<Board>(), size_of::<Board>()), (128, 128));
    }

    #[test]
    fn the_parts_always_belong_together() {
        let (board, done) = (Board::new(), AtomicBool::new(false));
        let seen = std::thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0..3_000_000_u64 {
                    board.begin(number as u8, number, !number);
                    if number % 3 != 0 {
                        board.end();
                    }
                }
                done.store(true, Ordering::Relaxed);
            });
            let (mut seen, mut last) = (0, 0);
            while !done.load(Ordering::Relaxed) {
                if let Some((kind, offset, at)) = board.look() {
                    assert!(kind == offset as u8 && at == !offset, "torn: {kind} {offset} {at:x}");
                    assert!(offset >= last, "{offset} has ended: {last} was there before");
                    (last, seen) = (offset, seen + 1);
                }
            }
            seen
        });
        eprintln!("looked at {seen} operations");
    }

    #[test]
    fn an_operation_costs_next_to_nothing() {
        let (board, start) = (Board::new(), Instant::now());
        for number in 0..1_000_000 {
            std::hint::black_box(&board).begin(1, number, number);
            std::hint::black_box(&board).end();
        }
        let nanos = start.elapsed().as_nanos() as f64 / 1e6;
        eprintln!("begin and end: {nanos:.2} ns");
        assert!(nanos < 1000.0, "even unoptimised on a busy machine: {nanos} ns");
    }
}
