//! Extents: which part of each file is worked on, and how much is done.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;

use iolite_model::{Access, Bytes, FileOrder, FileTask, Mix, NamedFile, Nanos, Stop, Zoned};

use super::files::fills;
use super::files::paths::{is_device, length, paths};
use crate::language::error::{OptionError, Result};
use crate::language::options::Spec;
use crate::language::options::entry::{flag, integer, put, size, special};
use crate::language::options::option::{Form, Opt};
use crate::language::options::zones::ZoneMode;
use crate::language::thread::ThreadIndex;
use crate::language::value::{Amount, OptionValue};

/// Extents.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Extents {
    /// Least and largest size of a file.
    pub file_size: Option<(Bytes, Bytes)>,
    /// Size of all files together.
    pub size: Option<Amount>,
    /// What is done in all.
    pub io_size: Option<Amount>,
    /// Offset in each file at which I/O starts.
    pub offset: Amount,
    /// What an offset in percent is rounded up to; zero for the least block.
    pub offset_align: Bytes,
    /// Offset increment from one clone to the next.
    pub increment: Amount,
    /// Work begins at a file's end.
    pub append: bool,
    /// Where files end when the job starts, as far as the jobs before it determine that.
    pub before: BTreeMap<PathBuf, u64>,
    /// The most operations.
    pub operations: Option<u64>,
    /// `size`, `io_size`, `offset` and `offset_increment` as numbers of zones, where they are given so.
    pub zones: [Option<u64>; 4],
}

/// Distinguishes the draw of a file's size from others.
const FILE_SIZE: u64 = 2;

/// The part of each file in which work is done; sizes that only the file determines are 0.
///
/// `min` is the least size of an operation.
///
/// # Errors
/// A file is too small, or a percentage is one of nothing.
pub(crate) fn extents(spec: &Spec, place: ThreadIndex, min: Bytes) -> Result<Vec<NamedFile>> {
    let (paths, extents) = (paths(spec, place)?, &spec.extents);
    let number = paths.len() as u64;
    let extent = |(index, path): (usize, PathBuf)| {
        let device = is_device(&path);
        // A file that is there may grow.
        let length = length(&path).filter(|_| device || !fills(spec));
        let open = extents.size.is_none() && extents.file_size.is_none();
        if open && fs::metadata(&path).is_ok_and(|found| found.file_type().is_char_device()) {
            return Err(OptionError::refused(
                format!("`{}` has none of its own", path.display()),
                "give it one",
            )
            .at("size"));
        }
        let draw = |(low, high): (Bytes, Bytes)| {
            let drawn = spec.io.draw(place, FILE_SIZE, index as u64, (low.0, high.0));
            if low == high { drawn } else { Bytes(drawn).round_down(min.0).0.max(low.0) }
        };
        let file = File { path, device, length, given: extents.file_size.map(draw) };
        file.extent(spec, place, number, min)
    };
    paths.into_iter().enumerate().map(extent).collect()
}

/// Whether the size of all files, which is that of each times their number, is enough for an operation and that of each file is not: as in
/// fio the files are created, and nothing is done with them.
pub(crate) fn parts_are_too_small(spec: &Spec, number: u64, min: Bytes) -> bool {
    match (spec.extents.size, spec.extents.file_size) {
        (Some(Amount::Bytes(size)), None) => {
            let each = size.0 / number.max(1);
            each < min.0 && each.saturating_mul(number) >= min.0
        }
        _ => false,
    }
}

/// What is known of a file.
struct File {
    path: PathBuf,
    /// It has the size that it has.
    device: bool,
    /// What there is.
    length: Option<u64>,
    /// What `filesize` says.
    given: Option<u64>,
}

impl File {
    fn extent(self, spec: &Spec, place: ThreadIndex, number: u64, min: Bytes) -> Result<NamedFile> {
        let offset = self.offset(spec, place, min)?;
        let mut size = self.size(spec, number, offset, min)?;
        if let Some(end) = self.length.filter(|_| self.device) {
            // As in fio: what would lie beyond a device's end is left out.
            let rest = self.rest(end, offset)?;
            size = size.map(|size| size.min(rest));
        }
        if size.is_some_and(|size| size < min.0) && !parts_are_too_small(spec, number, min) {
            return Err(OptionError::refused(
                format!(
                    "`{}` has {} bytes to work in, and the least operation has {}",
                    self.path.display(),
                    size.unwrap_or_default(),
                    min.0
                ),
                "make it larger, or bs smaller",
            )
            .at("size"));
        }
        Ok(NamedFile { path: self.path, offset: Bytes(offset), size: Bytes(size.unwrap_or(0)) })
    }

    fn offset(&self, spec: &Spec, place: ThreadIndex, min: Bytes) -> Result<u64> {
        let extents = &spec.extents;
        let align = if extents.offset_align.0 > 0 { extents.offset_align.0 } else { min.0 };
        // As in fio, of a file that does not exist yet a percentage is nothing.
        let bytes = |amount: Amount| match amount {
            Amount::Bytes(bytes) => bytes.0,
            Amount::Percent(percent) => {
                let part = share(self.length.unwrap_or(0), percent);
                part.div_ceil(align.max(1)).saturating_mul(align.max(1))
            }
        };
        let before = extents.before.get(&self.path).copied();
        let end = if extents.append { self.length.max(before).unwrap_or(0) } else { 0 };
        let offset = bytes(extents.offset);
        let apart = bytes(extents.increment).checked_mul(u64::from(place.clone));
        let offset = apart.and_then(|apart| offset.checked_add(apart)?.checked_add(end));
        offset.ok_or_else(|| {
            OptionError::refused("the last clones would begin beyond all files", "make it smaller")
                .at("offset_increment")
        })
    }

    /// Bytes from `offset` on; `None` where only the file determines.
    fn size(&self, spec: &Spec, number: u64, offset: u64, min: Bytes) -> Result<Option<u64>> {
        let rest = |whole| self.rest(whole, offset);
        match (spec.extents.size, self.given.or(self.length)) {
            (Some(Amount::Percent(percent)), Some(whole)) => {
                let part = Bytes(share(whole, percent)).round_down(min.0).0;
                rest(whole).map(|rest| Some(part.min(rest)))
            }
            (Some(Amount::Percent(_)), None) => Err(self.unknown("size")),
            (Some(Amount::Bytes(size)), _) if self.given.is_none() && size.0 / number > 0 => {
                Ok(Some(size.0 / number))
            }
            (_, Some(whole)) => rest(whole).map(Some),
            (_, None) => Ok(None),
        }
    }

    /// What there is from `offset` on, of so many bytes.
    fn rest(&self, whole: u64, offset: u64) -> Result<u64> {
        whole.checked_sub(offset).ok_or_else(|| {
            let path = self.path.display();
            let what = format!("work would begin at byte {offset} of `{path}`, which has {whole}");
            OptionError::refused(what, "make it smaller").at("offset")
        })
    }

    fn unknown(&self, option: &'static str) -> OptionError {
        let path = self.path.display();
        let what = format!("`{path}` is not there yet, so that a percentage of it means nothing");
        OptionError::refused(what, "specify bytes").at(option)
    }
}

/// So many percent of a number of bytes.
fn share(whole: u64, percent: f64) -> u64 {
    (whole as f64 * percent / 100.0) as u64
}

/// What ends a job whose files, sizes and order of offsets are known. Sizes of files are 0 where only the file determines.
///
/// # Errors
/// A percentage is one of nothing.
pub(crate) fn stop(spec: &Spec, task: &FileTask, files: &[NamedFile]) -> Result<Stop> {
    let loops = u64::from(spec.job.loops);
    let operations = spec.extents.operations.map(|max| max.saturating_mul(loops));
    let runtime: Option<Nanos> = spec.job.limit();
    let stop =
        Stop { runtime, operations, full: fills(spec), in_flight: runtime.is_some(), ..Stop::default() };
    if spec.job.goes_on() {
        // As with fio 3.33, which begins anew after so many operations.
        return Ok(Stop { operations: None, ..stop });
    }
    let spans: Vec<u64> = files.iter().map(|file| file.size.0).collect();
    let known = !spans.contains(&0);
    // The last operation may go beyond.
    let whole = |bytes| if task.sizes.is_none() { up(bytes, task.block.0) } else { bytes };
    // Files that chance favours are gone through again until all of the size is done.
    let pass = |file: &NamedFile| if by_chance(spec, files) { file.size.0 } else { pass(task, file) };
    if let Some(amount) = amount(spec, known, &spans)? {
        let once = whole(files.iter().map(pass).fold(0, u64::saturating_add)).max(1);
        // As fio 3.33 was seen to do: beyond the files once loops count passes through them, the last one of which is done
        // to its end. Offsets that may come again have no passes.
        let again = spec.io.random && spec.io.repeats();
        let total = match known && loops > 1 && amount > once && !again {
            true => amount.div_ceil(once).max(loops).saturating_mul(once),
            false => amount.saturating_mul(loops),
        };
        return Ok(Stop { bytes: Some(Bytes(whole(total))), ..stop });
    }
    if !known {
        return Ok(Stop { loops: Some(spec.job.loops), ..stop });
    }
    let pass = files.iter().map(pass).fold(0, u64::saturating_add);
    if pass == 0 && task.zoned.is_some() {
        return Err(OptionError::refused(
            "no zone of this size lies within the region as a whole",
            "specify smaller zones, or a larger size",
        )
        .at("zonesize"));
    }
    // As with fio, a loop need not end with a whole operation, and all of them do.
    Ok(Stop { bytes: Some(Bytes(whole(pass.saturating_mul(loops)))), ..stop })
}

/// Whether a law favours some of several files.
fn by_chance(spec: &Spec, files: &[NamedFile]) -> bool {
    let law = matches!(spec.files.order, FileOrder::Zipf(_) | FileOrder::Pareto(_) | FileOrder::Normal(_));
    law && files.len() > 1
}

/// What is to be done in a loop, where that is not the files once.
fn amount(spec: &Spec, known: bool, spans: &[u64]) -> Result<Option<u64>> {
    let all = || spans.iter().fold(0u64, |sum, span| sum.saturating_add(*span));
    match (spec.extents.io_size, spec.extents.size, spec.extents.file_size) {
        (Some(Amount::Bytes(size)), ..) => Ok(Some(size.0)),
        (Some(Amount::Percent(percent)), Some(Amount::Bytes(size)), _) => Ok(Some(share(size.0, percent))),
        (Some(Amount::Percent(percent)), ..) if known => Ok(Some(share(all(), percent))),
        (Some(Amount::Percent(_)), ..) => {
            Err(OptionError::refused("its percentage is one of size", "specify size too").at("io_size"))
        }
        (None, Some(Amount::Bytes(size)), Some(_)) if size.0 < all() => Ok(Some(size.0)),
        (None, ..) => Ok(None),
    }
}

/// Bytes that are done when work has gone through a file once.
///
/// An order with jumps has done so, as with fio 3.33, when the operation that ends at the last byte is done, or when a jump leads
/// to where no operation fits. A jump beyond the end leads back to the start instead; then the file's size in bytes is done.
fn pass(task: &FileTask, file: &NamedFile) -> u64 {
    let (span, block) = (file.size.0, task.block.0.max(1));
    if let Some(zones) = task.zoned.filter(|zones| zones.size.0 > 0) {
        return pass_of_zones(task, &zones, file);
    }
    match (&task.access, &task.sizes) {
        // These start over wherever they are.
        (Access::SequentialBack { .. } | Access::ZoneCycle(_), _) => span,
        (Access::SequentialSkip { .. }, Some(_)) => span,
        (Access::SequentialSkip { hole }, None) => {
            let step = block.saturating_add(hole.0);
            let last = span.saturating_sub(block) / step * step;
            let ends_there = last + block == span || last.saturating_add(step) < file.offset.0 + span;
            if ends_there { (last / step + 1) * block } else { span }
        }
        // These end with what is too little for any operation.
        (Access::Sequential | Access::Covering, Some(sizes)) => span / sizes.alignment.0 * sizes.alignment.0,
        (_, Some(_)) => span,
        // What may be done again goes on until the span's bytes are done; so does a mix, whose parts have their own places.
        (Access::Sequential, None)
            if matches!(task.mix, Mix::ReadPercent(_) | Mix::ReadTrimPercent { .. }) =>
        {
            span
        }
        (Access::Sequential | Access::Covering, None) => span / block * block,
        (
            Access::Random
            | Access::Zipf { .. }
            | Access::Pareto { .. }
            | Access::Normal { .. }
            | Access::Zoned(_)
            | Access::HotSpots(_),
            None,
        ) => span,
        (Access::Precondition(what), None) => what.writes(span / block).saturating_mul(block),
        (_, None) => span / block * block,
    }
}

/// As with fio: whole zones count, and in sequence, without skips, only what they hold.
fn pass_of_zones(task: &FileTask, zones: &Zoned, file: &NamedFile) -> u64 {
    let size = zones.size.0;
    let (first, end) = (file.offset.0.div_ceil(size), file.offset.0.saturating_add(file.size.0) / size);
    let holds = if zones.capacity.0 > 0 { zones.capacity.0.min(size) } else { size };
    let in_order = task.access.is_sequential() && zones.skip.0 == 0;
    let each = if in_order && !task.mix.trims() { holds } else { size };
    end.saturating_sub(first).saturating_mul(each)
}

/// Rounded up to a multiple.
fn up(bytes: u64, unit: u64) -> u64 {
    bytes.div_ceil(unit.max(1)).saturating_mul(unit.max(1))
}

const SIZE: usize = 0;
const IO_SIZE: usize = 1;
const OFFSET: usize = 2;
const INCREMENT: usize = 3;

/// Notes an amount of bytes, in percent, or of zones, as in `4z`.
fn set(spec: &mut Spec, which: usize, given: &OptionValue<'_>) -> Result {
    let extents = &mut spec.extents;
    extents.zones[which] = given.zones()?;
    if extents.zones[which].is_some() {
        return Ok(());
    }
    match which {
        SIZE => extents.size = some(given)?,
        IO_SIZE => extents.io_size = some(given)?,
        OFFSET => extents.offset = given.amount()?,
        _ => extents.increment = given.amount()?,
    }
    Ok(())
}

/// The same settings with bytes in place of numbers of zones; `None` where there are none.
///
/// # Errors
/// The size of a zone is not given.
pub(crate) fn without_zones(spec: &Spec) -> Result<Option<Spec>> {
    let extents = &spec.extents;
    if extents.zones == [None; 4] && spec.zones.skip_zones.is_none() {
        return Ok(None);
    }
    let zone = spec.zones.size.0;
    if spec.zones.mode != ZoneMode::Zbd || zone == 0 {
        return Err(OptionError::refused(
            "a number of zones (4z) means something with zonemode=zbd and a zonesize only",
            "specify them, or bytes",
        ));
    }
    let bytes = |zones: Option<u64>| zones.map(|zones| Bytes(zones.saturating_mul(zone)));
    let amount = |which: usize| bytes(extents.zones[which]).map(Amount::Bytes);
    let mut spec = spec.clone();
    spec.extents = Extents {
        size: amount(SIZE).filter(|size| *size != Amount::Bytes(Bytes(0))).or(extents.size),
        io_size: amount(IO_SIZE).or(extents.io_size),
        offset: amount(OFFSET).unwrap_or(extents.offset),
        increment: amount(INCREMENT).unwrap_or(extents.increment),
        zones: [None; 4],
        ..extents.clone()
    };
    spec.zones.skip = bytes(spec.zones.skip_zones.take()).unwrap_or(spec.zones.skip);
    Ok(Some(spec))
}

/// An amount of bytes; none and zero are alike.
fn some(given: &OptionValue<'_>) -> Result<Option<Amount>> {
    Ok(Some(given.amount()?).filter(|amount| *amount != Amount::Bytes(Bytes(0))))
}

/// A size, or two with a `-` or a `:` between them.
fn sizes(given: &OptionValue<'_>) -> Result<Option<(Bytes, Bytes)>> {
    let whole = given.text()?;
    let (one, other) = whole.split_once(['-', ':']).unwrap_or((whole, whole));
    let (one, other) = (given.part(one).size()?, given.part(other).size()?);
    Ok(Some((one.min(other), one.max(other))).filter(|(_, max)| max.0 > 0))
}

/// The options.
pub const OPTIONS: &[Opt] = &[
    special("size", Form::SizeOrPercent, |s, g| set(s, SIZE, g)).help(
        "Total size of the files of a clone, or a percentage of the existing size. The default is the \
         existing size. With zonemode=zbd and zonesize, this and the other amounts may be numbers of zones, \
         as in 4z.",
    ),
    special("filesize", Form::Special("a size, or a range of sizes"), |s, g| {
        put(&mut s.extents.file_size, sizes(g))
    })
    .help(
        "Size of each file; with a range, a random size for each file. The size option then sets only the \
         amount of I/O.",
    ),
    special("io_size", Form::SizeOrPercent, |s, g| set(s, IO_SIZE, g)).named_also(&["io_limit"]).help(
        "Amount of I/O, if different from size; if larger, the job starts over. A percentage refers to size.",
    ),
    special("offset", Form::SizeOrPercent, |s, g| set(s, OFFSET, g))
        .named_also(&["fileoffset"])
        .default("0")
        .help("Offset in each file at which I/O starts."),
    size("offset_align", |s, size| s.extents.offset_align = size)
        .default("0")
        .help("Alignment to which an offset in percent is rounded up; 0 for the smallest block size."),
    special("offset_increment", Form::SizeOrPercent, |s, g| set(s, INCREMENT, g))
        .default("0")
        .help("Offset increment from one clone to the next."),
    integer("number_ios", 0, i64::MAX, |s, value| {
        s.extents.operations = Some(value as u64).filter(|value| *value > 0)
    })
    .default("0")
    .help(
        "Maximum number of operations of a clone in each loop, which goes on where the one before has ended; \
         0 for no limit. It has no effect with time_based.",
    ),
    flag("file_append", |s, on| s.extents.append = on).help("I/O starts at the current end of the file."),
];
