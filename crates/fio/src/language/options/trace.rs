//! Traces and replay.

mod blktrace;
mod iolog;

use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use iolite_model::{
    Access, Arrival, Bytes, FileTask, Mix, NamedFile, Stop, SyncMethod, Target, Trace as Operations,
    TracedKind,
};

use crate::language::error::{OptionError, Result};
use crate::language::job_file::HostContext;
use crate::language::options::Spec;
use crate::language::options::entry::{flag, ignored, integer, put, special, text};
use crate::language::options::extents::Extents;
use crate::language::options::files;
use crate::language::options::io::{Direction, Io};
use crate::language::options::option::{Form, Opt};
use crate::language::thread::{Log, LogKind, LogValue, Thread, ThreadIndex};
use crate::language::value::{Amount, OptionValue};

/// Traces and replay.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Trace {
    /// `write_iolog`: the file.
    pub write: Option<PathBuf>,
    /// `read_iolog`: the files, which clones take turns at; none where nothing is repeated.
    pub read: Vec<String>,
    /// `replay_no_stall`: as fast as can be.
    pub no_stall: bool,
    /// `replay_time_scale`: speed in percent of the trace's.
    pub speed_percent: u32,
    /// `replay_redirect`: the file that all goes to.
    pub redirect: Option<String>,
    /// `replay_align`: offsets are rounded down to multiples of this; 0 for not at all.
    pub align: u64,
    /// `replay_scale`: offsets are divided by this; 0 for not at all.
    pub scale: u64,
    /// `replay_skip`: what is left out.
    pub skip: Skip,
    /// `merge_blktrace_file`: the file that the traces are merged into.
    pub merge: Option<PathBuf>,
    /// `merge_blktrace_scalars`: time of each trace in percent of the original.
    pub scalars: Vec<f64>,
    /// `merge_blktrace_iters`: number of times that each trace is repeated.
    pub iterations: Vec<u64>,
    /// What is to be in the file of `merge`.
    pub(crate) merged: Option<Merged>,
    /// What the files of `read` say, with all that is changed about it.
    replays: Vec<Arc<Replay>>,
}

/// Operations of a trace that are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Skip {
    /// Reads.
    pub reads: bool,
    /// Writes.
    pub writes: bool,
    /// Trims.
    pub trims: bool,
    /// Syncs of either kind.
    pub syncs: bool,
}

/// A file of merged traces that is still to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// Where.
    pub path: PathBuf,
    /// What is in it.
    pub contents: Arc<[u8]>,
}

/// What is to be repeated.
#[derive(Debug, PartialEq)]
struct Replay {
    /// The files, with their sizes as far as operations reach.
    files: Vec<(String, u64)>,
    operations: Operations,
    /// Whether it says when.
    timed: bool,
}

impl Trace {
    /// The same with what its traces say; `None` where there is none to repeat.
    ///
    /// # Errors
    /// One can't be read, is no trace, or has nothing to repeat.
    pub(crate) fn loaded(&self, context: &HostContext<'_>) -> Result<Option<Trace>> {
        let merge = self.merge.as_deref();
        if let Some(path) =
            merge.filter(|path| self.read.is_empty() || self.read.iter().any(|name| Path::new(name) == *path))
        {
            let what =
                format!("merge_blktrace_file={}: it is one of the traces, or there are none", path.display());
            return Err(OptionError::refused(
                what,
                "name the traces with read_iolog=A:B, and a new file for what they are merged into",
            ));
        }
        if self.read.is_empty() {
            return Ok(None);
        }
        let device = |major, minor| self.device(context, major, minor);
        if let Some(path) = &self.merge {
            let events = self.merged_events(context)?;
            let contents = blktrace::encoded(&events).into();
            let replay = Arc::new(self.replay(blktrace::iolog(&events, &device)?)?);
            let merged = Some(Merged { path: path.clone(), contents });
            return Ok(Some(Trace { replays: vec![replay], merged, ..self.clone() }));
        }
        let load = |name: &String| {
            let repeated = |file| read(file, &device).and_then(|found| self.replay(found)).map(Arc::new);
            opened(context, name).and_then(repeated).map_err(|error| of_trace(name, error))
        };
        let replays = self.read.iter().map(load).collect::<Result<_, _>>()?;
        Ok(Some(Trace { replays, ..self.clone() }))
    }

    /// The operations of all traces as one.
    fn merged_events(&self, context: &HostContext<'_>) -> Result<Vec<blktrace::Event>> {
        let traces = self.read.len();
        let given =
            [("merge_blktrace_scalars", self.scalars.len()), ("merge_blktrace_iters", self.iterations.len())];
        for (name, numbers) in given {
            if numbers > 0 && numbers != traces {
                let what = format!("it has {numbers} numbers for {traces} traces of read_iolog");
                return Err(OptionError::refused(what, "specify one for each").at(name));
            }
        }
        let load = |(index, name): (usize, &String)| {
            let percent = self.scalars.get(index).copied().unwrap_or(100.0);
            let iterations = self.iterations.get(index).copied().unwrap_or(1);
            let merging = blktrace::Merging { percent, iterations };
            let read = |mut file| {
                let start = blktrace::start(&mut file)?;
                let order = blktrace::byte_order(start.get_ref()).ok_or_else(|| {
                    OptionError::refused(
                        "it is no binary trace, and only these are merged",
                        "write it with `blkparse DEVICE -o /dev/null -d FILE`",
                    )
                })?;
                Ok((blktrace::read(start.chain(file), order)?, merging))
            };
            opened(context, name).and_then(read).map_err(|error| of_trace(name, error))
        };
        let traces = self.read.iter().enumerate().map(load).collect::<Result<Vec<_>>>()?;
        blktrace::merge(&traces)
    }

    /// The path of a device of a binary trace.
    fn device(&self, context: &HostContext<'_>, major: u32, minor: u32) -> Result<String> {
        if let Some(path) = &self.redirect {
            return Ok(path.clone());
        }
        let facts = (context.read_file)(Path::new(&format!("/sys/dev/block/{major}:{minor}/uevent")));
        let facts = facts.map(|facts| String::from_utf8_lossy(&facts).into_owned()).unwrap_or_default();
        let name = facts.lines().find_map(|line| line.strip_prefix("DEVNAME="));
        name.map(|name| format!("/dev/{name}")).ok_or_else(|| {
            OptionError::refused(
                format!("its device {major}:{minor} does not exist on this system"),
                "name another one with replay_redirect=/dev/NAME",
            )
        })
    }

    /// What is repeated of a trace.
    fn replay(&self, found: iolog::Iolog) -> Result<Replay> {
        let iolog::Iolog { files, mut operations, timed } = found;
        operations.retain(|operation| !self.skip.leaves_out(operation.kind));
        if operations.is_empty() {
            return Err(OptionError::refused(
                "it has no operation to repeat",
                "look at it, and at replay_skip",
            ));
        }
        let mut ends = vec![1u64; files.len()];
        for operation in &mut operations {
            operation.offset /= self.scale.max(1);
            operation.offset -= operation.offset.checked_rem(self.align).unwrap_or(0);
            if self.redirect.is_some() {
                operation.file = 0;
            }
            let end = &mut ends[usize::from(operation.file)];
            *end = operation.offset.saturating_add(u64::from(operation.length)).max(*end);
        }
        let files = match &self.redirect {
            Some(path) => vec![(path.clone(), ends[0])],
            None => files.into_iter().zip(ends).collect(),
        };
        Ok(Replay { files, operations: operations.into(), timed })
    }

    /// What a clone repeats; clones take turns at the traces.
    fn of(&self, place: ThreadIndex) -> Option<&Replay> {
        let index = (place.clone as usize).checked_rem(self.replays.len())?;
        self.replays.get(index).map(|replay| &**replay)
    }

    /// Settings for a job that repeats a trace, which says itself what is done where: those of the job count for the rest.
    ///
    /// # Errors
    /// The job has settings that say something else.
    pub(crate) fn stand_in(&self, spec: &Spec, place: ThreadIndex) -> Result<Option<Spec>> {
        let Some(replay) = self.of(place) else { return Ok(None) };
        if spec.files.fill {
            return Err(OptionError::refused(
                "a trace says itself when it is over",
                "remove it or read_iolog",
            )
            .at("fill_device"));
        }
        let kinds = replay.operations.kinds();
        let direction = match (kinds.reads, kinds.writes, kinds.trims) {
            (true, false, false) => Direction::Read,
            (true, ..) => Direction::Mixed,
            (false, true, false) => Direction::Write,
            (false, true, true) => Direction::TrimWrite,
            (false, false, true) => Direction::Trim,
            // Syncs alone need a file that can be written to.
            (false, false, false) => Direction::Write,
        };
        let number = replay.files.len() as u64;
        let size = replay.files.iter().fold(4096 * number, |sum, (_, size)| sum.saturating_add(*size));
        Ok(Some(Spec {
            io: Io {
                direction,
                random: true,
                no_map: true,
                direct: spec.io.direct,
                atomic: spec.io.atomic,
                ..Spec::default().io
            },
            sizes: Spec::default().sizes,
            files: files::Files {
                names: replay.files.iter().map(|(name, _)| name.clone()).collect(),
                directories: Vec::new(),
                ..spec.files.clone()
            },
            extents: Extents {
                size: Some(Amount::Bytes(Bytes(size))),
                offset_align: spec.extents.offset_align,
                ..Spec::default().extents
            },
            ..spec.clone()
        }))
    }

    /// Changes `thread` to what these settings say; all other groups have been before.
    pub(crate) fn lower(&self, spec: &Spec, place: ThreadIndex, thread: &mut Thread) -> Result {
        if let Some(path) = &self.write {
            let log = written(path, thread)?;
            thread.logs.push(log);
        }
        let Some(replay) = self.of(place) else { return Ok(()) };
        if thread.latency_target.is_some() {
            return Err(OptionError::refused(
                "a trace is over when it is through",
                "search for a depth (latency_target) by a job with rw",
            )
            .at("read_iolog"));
        }
        let Some(task) = thread.io() else {
            return Err(OptionError::refused("metadata engines repeat no trace", "use another ioengine")
                .at("read_iolog"));
        };
        self.repeat(replay, task)?;
        task.stop = Stop {
            runtime: spec.job.limit(),
            worker_operations: Some(replay.operations.operations().len() as u64),
            ..Stop::default()
        };
        Ok(())
    }

    fn repeat(&self, replay: &Replay, task: &mut FileTask) -> Result {
        if task.verify.is_some() {
            return Err(OptionError::refused(
                "what a trace writes is not verified",
                "remove verify or read_iolog",
            )
            .at("verify"));
        }
        let timed = replay.timed && !self.no_stall;
        if timed && task.arrival != Arrival::Closed {
            return Err(OptionError::refused(
                "the trace says when",
                "remove them, or give replay_no_stall=1",
            )
            .at("rate, rate_iops and thinktime"));
        }
        if timed {
            task.arrival = Arrival::Traced(self.speed_percent);
        }
        if task.durability.sync.take().is_some() {
            return Err(OptionError::refused("the trace has the syncs", "remove them")
                .at("fsync, fdatasync and sync_file_range"));
        }
        let operations = replay.operations.operations();
        let moved = operations.iter().filter(|operation| operation.kind != TracedKind::Trim);
        task.block = Bytes(
            moved.map(|operation| u64::from(operation.length)).max().filter(|max| *max > 0).unwrap_or(4096),
        );
        (task.mix, task.sizes) = (Mix::Traced(replay.operations.kinds()), None);
        task.access = Access::Trace(replay.operations.clone());
        let file = |(name, size): &(String, u64)| NamedFile {
            path: name.into(),
            offset: Bytes(0),
            size: Bytes(*size),
        };
        match &mut task.target {
            Target::Files(target) => target.files = replay.files.iter().map(file).collect(),
            target => {
                *target = Target::Null {
                    size: Bytes(replay.files.iter().map(|(_, size)| *size).max().unwrap_or(1)),
                }
            }
        }
        Ok(())
    }
}

impl Skip {
    fn leaves_out(self, kind: TracedKind) -> bool {
        match kind {
            TracedKind::Read => self.reads,
            TracedKind::Write => self.writes,
            TracedKind::Trim => self.trims,
            TracedKind::Fsync | TracedKind::Fdatasync => self.syncs,
        }
    }

    fn parse(text: &str) -> Result<Skip> {
        let mut skip = Skip::default();
        for word in text.split(',').map(str::trim) {
            match word {
                "read" => skip.reads = true,
                "write" => skip.writes = true,
                "trim" => skip.trims = true,
                "sync" => skip.syncs = true,
                _ => return Err(OptionError::unknown_word(word, ["read", "write", "trim", "sync"])),
            }
        }
        Ok(skip)
    }
}

fn opened(context: &HostContext<'_>, name: &str) -> Result<Box<dyn BufRead>> {
    (context.open_trace)(Path::new(name)).map_err(|source| OptionError::unreadable("it", source))
}

/// Reads a trace, of fio or of blktrace.
///
/// # Errors
/// It can't be read, or is none.
fn read(mut from: impl BufRead, device: blktrace::DevicePath<'_>) -> Result<iolog::Iolog> {
    let start = blktrace::start(&mut from)?;
    match blktrace::byte_order(start.get_ref()) {
        Some(order) => blktrace::iolog(&blktrace::read(start.chain(from), order)?, device),
        None => iolog::read(start.chain(from)),
    }
}

fn of_trace(name: &str, error: OptionError) -> OptionError {
    error.at(format!("the trace `{name}`"))
}

/// What each part of a list with colons between them says.
fn each<T>(given: &OptionValue<'_>, one: impl Fn(OptionValue<'_>) -> Result<T>) -> Result<Vec<T>> {
    given.text()?.split(':').map(|part| one(given.part(part))).collect()
}

/// The log that is a trace of what a thread does.
fn written(path: &Path, thread: &mut Thread) -> Result<Log> {
    let Some(task) = thread.io() else {
        return Err(OptionError::refused("metadata engines have no trace", "remove it").at("write_iolog"));
    };
    let range = |method: Option<SyncMethod>| method == Some(SyncMethod::FileRange);
    let mut rules = task.durability.sync.iter().chain(&task.durability.also);
    if rules.any(|rule| range(Some(rule.method))) || range(task.durability.end_sync) {
        return Err(OptionError::refused(
            "a trace has no sync_file_range",
            "use fdatasync, or remove one of the two",
        )
        .at("write_iolog"));
    }
    Ok(Log {
        kind: LogKind::Trace,
        path: path.to_owned(),
        window: None,
        value: LogValue::Average,
        offset: true,
        priority: false,
        issue_time: false,
        epoch: None,
        coarseness: 0,
        append: false,
        compressed: false,
    })
}

/// The options.
pub const OPTIONS: &[Opt] = &[
    text("write_iolog", |s, text| s.trace.write = Some(PathBuf::from(text)))
        .help(
            "Writes each operation down, in the order and at the time of its start, in a file that \
             read_iolog can repeat; in version 3 of fio's format.",
        )
        .differs(
            "the file is replaced, where fio appends to it; paths in it are absolute; times are relative to \
             the start of the first job that writes to it",
        ),
    special("read_iolog", Form::Text, |s, g| {
        let names = if g.text()? == "-" { vec!["-".to_owned()] } else { files::names(g)? };
        s.trace.read = names;
        Ok(())
    })
    .help(
        "Repeats the operations of a trace that write_iolog has written, or of a binary trace (`blkparse \
         DEVICE -o /dev/null -d FILE`): its files, places, sizes, syncs and times count, and rw, bs, size \
         and the like do not. Clones take turns at several names with colons between them; - is standard \
         input.",
    )
    .differs(
        "each operation is due at its time, also while earlier ones are on their way, and response times \
         count from then; the trace is done once, whatever loops and time_based say; files that are missing \
         are made as for any job; versions 2 and 3 of fio's format and binary traces, up to 16777216 \
         operations",
    ),
    ignored("read_iolog_chunked", Form::Flag)
        .help("Reads the trace bit by bit rather than as a whole.")
        .differs("the trace is always read as a whole, before anything is measured"),
    flag("replay_no_stall", |s, on| s.trace.no_stall = on)
        .help("Repeats the trace without the pauses that were in it."),
    integer("replay_time_scale", 1, i32::MAX as i64, |s, value| s.trace.speed_percent = value as u32)
        .default("100")
        .help("Speed of the replay in percent of the trace's."),
    text("replay_redirect", |s, text| s.trace.redirect = Some(text.to_owned()))
        .help("Device or file that replaces those in the trace."),
    special("replay_align", Form::Size, |s, g| match g.size()?.0 {
        align if align.is_power_of_two() => {
            s.trace.align = align;
            Ok(())
        }
        _ => Err(OptionError::refused("it is not a power of two", "specify one, such as 4096")),
    })
    .help("Offsets are rounded down to multiples of this, a power of two."),
    integer("replay_scale", 0, i32::MAX as i64, |s, value| s.trace.scale = value as u64)
        .default("1")
        .help("Offsets are divided by this."),
    special("replay_skip", Form::Special("read, write, trim, sync, with commas between them"), |s, g| {
        put(&mut s.trace.skip, Skip::parse(g.text()?))
    })
    .help("Operations of the trace that are left out."),
    text("merge_blktrace_file", |s, text| s.trace.merge = Some(PathBuf::from(text)))
        .help(
            "Merges the binary traces of read_iolog into this file, in the order of their times, and repeats \
             it.",
        )
        .bounded(
            "the file has the operations alone, without other events of the traces; fio 3.33 merges nothing \
             (iolog short read)",
        ),
    special("merge_blktrace_scalars", Form::Special("numbers with colons between them"), |s, g| {
        put(&mut s.trace.scalars, each(g, |part| part.number(0.0, 1e9)))
    })
    .help("Time of the events of each merged trace in percent of the original."),
    special("merge_blktrace_iters", Form::Special("numbers with colons between them"), |s, g| {
        let iterations = each(g, |part| part.integer(1, i64::MAX))?;
        s.trace.iterations = iterations.into_iter().map(i64::unsigned_abs).collect();
        Ok(())
    })
    .help("Number of times that each merged trace is repeated."),
];

#[cfg(test)]
mod tests;
