//! Binary traces of blktrace(8), as `blkparse -d` writes them: read, and merged.
//!
//! The format is that of linux/blktrace_api.h: events of 48 bytes, in the order of bytes of the machine that has written them, each of
//! them followed by as many bytes as it says itself.

use std::collections::HashMap;
use std::io::{BufRead, Cursor, ErrorKind, Read};

use iolite_model::{Nanos, TracedKind, TracedOp};

use super::iolog::{Iolog, MAX_OPERATIONS};
use crate::language::error::{OptionError, Result};

/// Bytes by which a binary trace is known.
const START: u64 = 4;

/// Bytes of an event.
const EVENT: usize = 48;

/// `BLK_IO_TRACE_MAGIC` with `BLK_IO_TRACE_VERSION`.
const MAGIC: u32 = 0x6561_7407;

/// Bytes of a sector.
const SECTOR: u64 = 512;

/// The category of an action is in its upper half (`BLK_TC_SHIFT`).
const CATEGORY: u32 = 16;

/// `BLK_TC_WRITE`, `BLK_TC_FLUSH`, `BLK_TC_FS`, `BLK_TC_PC`, `BLK_TC_NOTIFY` and `BLK_TC_DISCARD`.
const WRITE: u32 = 1 << 1;
const FLUSH: u32 = 1 << 2;
const COMMAND: u32 = 1 << 9;
const NOTIFY: u32 = 1 << 10;
const DISCARD: u32 = 1 << 13;

/// `__BLK_TA_QUEUE`: an operation has arrived at the device. What becomes of it are other events.
const QUEUED: u32 = 1;

/// The lower half of an action, without the flag `__BLK_TA_CGROUP`.
const KIND: u32 = 0xff;

/// Bits of a device number that are its minor number.
const MINOR: u32 = 20;

/// Order of the bytes of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ByteOrder {
    Little,
    Big,
}

/// An operation that has arrived at a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Event {
    /// Time, in nanoseconds, from a start that all events of a trace have in common.
    time: u64,
    sector: u64,
    bytes: u32,
    action: u32,
    device: u32,
}

/// How a trace is merged with others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Merging {
    /// Time of its events in percent of the original.
    pub(super) percent: f64,
    /// Number of times that it is repeated.
    pub(super) iterations: u64,
}

/// Finds the path of a device by its major and minor number.
pub(super) type DevicePath<'a> = &'a dyn Fn(u32, u32) -> Result<String>;

/// Takes the bytes by which a binary trace is known; fewer where there are no more.
pub(super) fn start(from: &mut impl BufRead) -> Result<Cursor<Vec<u8>>> {
    let mut start = Vec::new();
    let read = from.take(START).read_to_end(&mut start);
    read.map_err(|source| OptionError::unreadable("it", source))?;
    Ok(Cursor::new(start))
}

/// The order of bytes of a trace that starts like this; `None` if it is no binary trace.
pub(super) fn byte_order(start: &[u8]) -> Option<ByteOrder> {
    let start: [u8; 4] = start.try_into().ok()?;
    match MAGIC {
        magic if u32::from_le_bytes(start) == magic => Some(ByteOrder::Little),
        magic if u32::from_be_bytes(start) == magic => Some(ByteOrder::Big),
        _ => None,
    }
}

/// Reads the operations of a trace; other events are left out.
///
/// # Errors
/// It can't be read, is cut off, or is none.
pub(super) fn read(mut from: impl Read, order: ByteOrder) -> Result<Vec<Event>> {
    let mut events = Vec::new();
    let mut buffer = [0; EVENT];
    for number in 1u64.. {
        match fill(&mut from, &mut buffer).map_err(|source| OptionError::unreadable("it", source))? {
            0 => break,
            EVENT => {}
            _ => return Err(cut_off(number)),
        }
        let record = Record { bytes: &buffer, order };
        if record.number(0) != MAGIC {
            return Err(OptionError::refused(
                format!("its event {number} does not start as events do"),
                "write it again with `blkparse DEVICE -o /dev/null -d FILE`",
            ));
        }
        let more = u64::from(record.short(46));
        let skipped = std::io::copy(&mut from.by_ref().take(more), &mut std::io::sink());
        if skipped.map_err(|source| OptionError::unreadable("it", source))? < more {
            return Err(cut_off(number));
        }
        if let Some(event) = record.operation() {
            if events.len() == MAX_OPERATIONS {
                return Err(too_many());
            }
            events.push(event);
        }
    }
    events.sort_by_key(|event| event.time);
    Ok(events)
}

/// Reads until the buffer is full or nothing is left. Returns the number of bytes.
fn fill(from: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match from.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(bytes) => filled += bytes,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

fn cut_off(number: u64) -> OptionError {
    OptionError::refused(format!("it ends within its event {number}"), "copy the whole file")
}

fn too_many() -> OptionError {
    OptionError::refused(format!("a trace has {MAX_OPERATIONS} operations at most"), "split it")
}

/// The bytes of an event.
struct Record<'a> {
    bytes: &'a [u8; EVENT],
    order: ByteOrder,
}

impl Record<'_> {
    fn array<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut array = [0; N];
        array.copy_from_slice(&self.bytes[at..at + N]);
        if self.order == ByteOrder::Big {
            array.reverse();
        }
        array
    }

    fn short(&self, at: usize) -> u16 {
        u16::from_le_bytes(self.array(at))
    }

    fn number(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.array(at))
    }

    fn long(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.array(at))
    }

    /// The operation whose arrival it is; `None` if it is something else.
    fn operation(&self) -> Option<Event> {
        let action = self.number(28);
        let category = action >> CATEGORY;
        let arrives = action & KIND == QUEUED && category & (NOTIFY | COMMAND) == 0;
        let event = Event {
            time: self.long(8),
            sector: self.long(16),
            bytes: self.number(24),
            action,
            device: self.number(36),
        };
        (arrives && (event.bytes > 0 || category & FLUSH != 0)).then_some(event)
    }
}

impl Event {
    /// What it does with data, if anything.
    fn kind(&self) -> Option<TracedKind> {
        let category = self.action >> CATEGORY;
        match category {
            _ if self.bytes == 0 => None,
            _ if category & DISCARD != 0 => Some(TracedKind::Trim),
            _ if category & WRITE != 0 => Some(TracedKind::Write),
            _ => Some(TracedKind::Read),
        }
    }

    /// Whether the device's cache is flushed, before the data if it has any.
    fn flushes(&self) -> bool {
        self.action >> CATEGORY & FLUSH != 0
    }

    /// Where its data is, in bytes.
    ///
    /// # Errors
    /// It ends beyond the largest offset.
    fn offset(&self) -> Result<u64> {
        let fits = |offset: &u64| {
            offset.checked_add(u64::from(self.bytes)).is_some_and(|end| i64::try_from(end).is_ok())
        };
        self.sector.checked_mul(SECTOR).filter(fits).ok_or_else(|| {
            OptionError::refused(
                format!("its operation at sector {} ends beyond the largest offset there is", self.sector),
                "write it again with blkparse",
            )
        })
    }
}

/// Events as operations of a trace on the devices; `path` finds the path of a device by its major and minor number.
///
/// # Errors
/// A device is not found, or an operation ends beyond the largest offset.
pub(super) fn iolog(events: &[Event], path: DevicePath<'_>) -> Result<Iolog> {
    let mut found = Iolog::default();
    let mut devices: HashMap<u32, u16> = HashMap::new();
    let start = events.first().map_or(0, |event| event.time);
    for event in events {
        let file = match devices.get(&event.device) {
            Some(file) => *file,
            None => {
                let file = u16::try_from(found.files.len())
                    .map_err(|_| OptionError::refused("a trace has 65536 devices at most", "split it"))?;
                found.files.push(path(event.device >> MINOR, event.device & ((1 << MINOR) - 1))?);
                devices.insert(event.device, file);
                file
            }
        };
        let at = Nanos(event.time - start);
        if event.flushes() {
            let kind = TracedKind::Fsync;
            found.operations.push(TracedOp { at, offset: 0, length: 0, file, kind });
        }
        if let Some(kind) = event.kind() {
            let (offset, length) = (event.offset()?, event.bytes);
            found.operations.push(TracedOp { at, offset, length, file, kind });
        }
    }
    found.timed = found.operations.last().is_some_and(|last| last.at.0 > 0);
    Ok(found)
}

/// Several traces as one, in the order of the scaled times of their events, which count from the first event of each.
///
/// # Errors
/// There are too many operations.
pub(super) fn merge(traces: &[(Vec<Event>, Merging)]) -> Result<Vec<Event>> {
    let number = traces.iter().fold(0u64, |sum, (events, merging)| {
        sum.saturating_add((events.len() as u64).saturating_mul(merging.iterations))
    });
    if number > MAX_OPERATIONS as u64 {
        return Err(too_many());
    }
    let mut merged = Vec::new();
    for (events, merging) in traces {
        let (Some(first), Some(last)) = (events.first(), events.last()) else { continue };
        let scaled = |time: u64| (time as f64 * merging.percent / 100.0) as u64;
        let length = scaled(last.time - first.time);
        for iteration in 0..merging.iterations {
            let begin = length.saturating_mul(iteration);
            let moved = |event: &Event| Event {
                time: begin.saturating_add(scaled(event.time - first.time)),
                ..*event
            };
            merged.extend(events.iter().map(moved));
        }
    }
    merged.sort_by_key(|event| event.time);
    Ok(merged)
}

/// Events as a file.
pub(super) fn encoded(events: &[Event]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(events.len() * EVENT);
    for (number, event) in (1u32..).zip(events) {
        bytes.extend(MAGIC.to_le_bytes());
        bytes.extend(number.to_le_bytes());
        bytes.extend(event.time.to_le_bytes());
        bytes.extend(event.sector.to_le_bytes());
        bytes.extend(event.bytes.to_le_bytes());
        bytes.extend(event.action.to_le_bytes());
        // Process.
        bytes.extend(0u32.to_le_bytes());
        bytes.extend(event.device.to_le_bytes());
        // CPU, error, and the number of bytes that follow.
        bytes.extend([0; 8]);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An event as the kernel writes it: category, kind, time, sector, bytes.
    fn event(order: ByteOrder, (category, kind): (u32, u32), time: u64, sector: u64, bytes: u32) -> Vec<u8> {
        let mut event = Vec::new();
        let mut put = |mut number: Vec<u8>| {
            if order == ByteOrder::Big {
                number.reverse();
            }
            event.extend(number);
        };
        put(MAGIC.to_le_bytes().to_vec());
        put(1u32.to_le_bytes().to_vec());
        put(time.to_le_bytes().to_vec());
        put(sector.to_le_bytes().to_vec());
        put(bytes.to_le_bytes().to_vec());
        put((category << 16 | kind).to_le_bytes().to_vec());
        put(77u32.to_le_bytes().to_vec());
        put((8u32 << 20 | 16).to_le_bytes().to_vec());
        put(3u32.to_le_bytes().to_vec());
        put(0u16.to_le_bytes().to_vec());
        put(2u16.to_le_bytes().to_vec());
        event.extend(b"xy");
        event
    }

    fn trace(order: ByteOrder) -> Vec<u8> {
        [
            // A notice of the process's name, a read that arrives and is handed on, a command, a write of a control group.
            event(order, (NOTIFY, 0), 0, 0, 0),
            event(order, (1, QUEUED), 1_000_000, 8, 4096),
            event(order, (1, 7), 1_100_000, 8, 4096),
            event(order, (COMMAND, QUEUED), 1_200_000, 0, 512),
            event(order, (WRITE, QUEUED | 1 << 8), 1_500_000, 16, 8192),
            event(order, (WRITE | FLUSH, QUEUED), 1_600_000, 0, 0),
            event(order, (WRITE | FLUSH, QUEUED), 1_650_000, 24, 512),
            event(order, (WRITE | DISCARD, QUEUED), 1_700_000, 32, 1 << 20),
        ]
        .concat()
    }

    fn device(major: u32, minor: u32) -> Result<String> {
        Ok(format!("{major}:{minor}"))
    }

    #[test]
    fn operations_are_those_that_arrive_at_a_device() {
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let bytes = trace(order);
            assert_eq!(byte_order(&bytes[..4]), Some(order));
            let events = read(&bytes[..], order).unwrap();
            let found = iolog(&events, &device).unwrap();
            assert_eq!((found.files, found.timed), (vec!["8:16".to_owned()], true));
            let op = |at, kind, offset, length| TracedOp { at: Nanos(at), offset, length, file: 0, kind };
            let expected = [
                op(0, TracedKind::Read, 4096, 4096),
                op(500_000, TracedKind::Write, 8192, 8192),
                op(600_000, TracedKind::Fsync, 0, 0),
                op(650_000, TracedKind::Fsync, 0, 0),
                op(650_000, TracedKind::Write, 12288, 512),
                op(700_000, TracedKind::Trim, 16384, 1 << 20),
            ];
            assert_eq!(found.operations, expected);
        }
    }

    #[test]
    fn a_damaged_trace_is_refused() {
        let bytes = trace(ByteOrder::Little);
        let error = |bytes: &[u8]| read(bytes, ByteOrder::Little).unwrap_err().to_string();
        assert!(error(&bytes[..60]).contains("within its event 2"), "{}", error(&bytes[..60]));
        assert!(error(&bytes[..49]).contains("within its event 1"));
        assert!(error(&[&bytes[..50], &[0; 48]].concat()).contains("event 2 does not start"));
        assert_eq!(byte_order(b"fio "), None);
        let far = event(ByteOrder::Little, (1, QUEUED), 0, u64::MAX / 2, 512);
        let events = read(&far[..], ByteOrder::Little).unwrap();
        assert!(iolog(&events, &device).unwrap_err().to_string().contains("largest offset"));
    }

    #[test]
    fn traces_are_merged_by_time() {
        let at = |device: u32, times: &[u64]| -> Vec<Event> {
            let event = |time: &u64| Event { time: *time, sector: 0, bytes: 512, action: QUEUED, device };
            times.iter().map(event).collect()
        };
        let merging = |percent, iterations| Merging { percent, iterations };
        let traces = [(at(1, &[100, 120, 140]), merging(50.0, 2)), (at(2, &[5, 20, 45]), merging(100.0, 1))];
        let merged = merge(&traces).unwrap();
        let found: Vec<(u32, u64)> = merged.iter().map(|event| (event.device, event.time)).collect();
        assert_eq!(found, [(1, 0), (2, 0), (1, 10), (2, 15), (1, 20), (1, 20), (1, 30), (1, 40), (2, 40)]);
        let again = read(&encoded(&merged)[..], ByteOrder::Little).unwrap();
        assert_eq!(again, merged);
        let many = [(at(1, &[1]), merging(100.0, u64::MAX))];
        assert!(merge(&many).unwrap_err().to_string().contains("at most"));
    }
}
