//! Requests of block devices, put together from the events of their lives.

use std::collections::HashMap;

use iolite_model::{BlockClass, BlockRequest, Nanos};

use super::line::{TraceLine, TracedEvent};

/// The tracepoints of a request's life.
pub(crate) const EVENTS: [&str; 3] =
    ["block/block_rq_insert", "block/block_rq_issue", "block/block_rq_complete"];

/// Requests in flight at most; more are not those of a device but of lost events.
const MAX_IN_FLIGHT: usize = 1 << 18;

/// Pairs events by device and first sector.
#[derive(Debug, Default)]
pub(crate) struct RequestPairs {
    in_flight: HashMap<((u32, u32), u64), Life>,
    /// Events that were lost.
    pub(crate) lost: u64,
}

/// What is known of a request in flight.
#[derive(Debug, Clone, Copy)]
struct Life {
    inserted: Nanos,
    issued: Option<Nanos>,
}

impl RequestPairs {
    /// Reads a line; the request that it completes.
    pub(crate) fn line(&mut self, line: &str) -> Option<BlockRequest> {
        match TraceLine::parse(line)? {
            TraceLine::Lost(events) => {
                self.lost += events;
                None
            }
            TraceLine::Event(event) => self.event(&event),
        }
    }

    fn event(&mut self, event: &TracedEvent<'_>) -> Option<BlockRequest> {
        let Fields { device, class, sector } = Fields::parse(event.fields)?;
        let key = (device, sector);
        match event.name {
            "block_rq_insert" => {
                if self.in_flight.len() >= MAX_IN_FLIGHT {
                    self.in_flight.clear();
                }
                self.in_flight.insert(key, Life { inserted: event.at, issued: None });
                None
            }
            "block_rq_issue" => {
                // Without a scheduler a request is issued at once. One that is issued again was refused by the device's driver.
                let life = self.in_flight.entry(key).or_insert(Life { inserted: event.at, issued: None });
                life.issued = Some(event.at);
                None
            }
            "block_rq_complete" => {
                let Life { inserted, issued } = self.in_flight.remove(&key)?;
                Some(BlockRequest { device, class, inserted, issued: issued?, completed: event.at })
            }
            _ => None,
        }
    }
}

/// The fields that the three events have in common.
struct Fields {
    device: (u32, u32),
    class: BlockClass,
    sector: u64,
}

impl Fields {
    /// `254,0 WS 4096 () 528119800 + 8 be,0,4 [dd]`, at completion without the bytes.
    fn parse(text: &str) -> Option<Fields> {
        let (before, _) = text.split_once(" + ")?;
        let mut words = before.split(' ');
        let (major, minor) = words.next()?.split_once(',')?;
        let class = class(words.next()?)?;
        let sector = words.next_back()?.parse().ok()?;
        Some(Fields { device: (major.parse().ok()?, minor.parse().ok()?), class, sector })
    }
}

/// The kernel's letters (Linux, blk_fill_rwbs): `F` for a flush before, the operation, then `F` for write-through, `A` for read-ahead, `S`
/// for what somebody waits for, `M` for metadata.
fn class(letters: &str) -> Option<BlockClass> {
    let flushes_first = letters.len() > 1 && letters.starts_with('F');
    let letters = if flushes_first { &letters[1..] } else { letters };
    match letters.chars().next()? {
        'R' => Some(BlockClass::Read),
        'W' if letters.contains(['S', 'F']) => Some(BlockClass::Write),
        'W' => Some(BlockClass::WriteBack),
        'F' => Some(BlockClass::Flush),
        'D' => Some(BlockClass::Discard),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(lines: &[&str]) -> Vec<BlockRequest> {
        let mut pairs = RequestPairs::default();
        lines.iter().filter_map(|line| pairs.line(&format!(" a-7 [000] ..... {line}"))).collect()
    }

    #[test]
    fn a_request_is_inserted_issued_and_completed() {
        let found = completed(&[
            "1.000100: block_rq_insert: 254,0 WS 4096 () 800 + 8 be,0,4 [dd]",
            "1.000150: block_rq_issue: 254,0 WS 4096 () 800 + 8 be,0,4 [dd]",
            "1.000160: block_rq_issue: 8,16 RA 4096 () 800 + 8 none,0,0 [a + b]",
            "1.000350: block_rq_complete: 254,0 WS () 800 + 8 be,0,4 [0]",
            "1.000360: block_rq_complete: 8,16 RA () 800 + 8 none,0,0 [0]",
            "1.000370: block_rq_complete: 8,16 RA () 900 + 8 none,0,0 [0]",
        ]);
        let micros = |micros: u64| Nanos(1_000_000_000 + micros * 1000);
        let write = BlockRequest {
            device: (254, 0),
            class: BlockClass::Write,
            inserted: micros(100),
            issued: micros(150),
            completed: micros(350),
        };
        let read = BlockRequest {
            device: (8, 16),
            class: BlockClass::Read,
            inserted: micros(160),
            issued: micros(160),
            completed: micros(360),
        };
        assert_eq!(found, [write, read], "what was issued before the trace began is left out");
    }

    #[test]
    fn letters_are_classes() {
        let classes = [
            ("R", BlockClass::Read),
            ("RAM", BlockClass::Read),
            ("W", BlockClass::WriteBack),
            ("WM", BlockClass::WriteBack),
            ("WS", BlockClass::Write),
            ("WFS", BlockClass::Write),
            ("FWFS", BlockClass::Write),
            ("FF", BlockClass::Flush),
            ("F", BlockClass::Flush),
            ("DS", BlockClass::Discard),
        ];
        classes
            .iter()
            .for_each(|(letters, expected)| assert_eq!(class(letters), Some(*expected), "{letters}"));
        assert_eq!((class("N"), class("")), (None, None));
    }
}
