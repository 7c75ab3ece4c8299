//! Files.

use std::path::PathBuf;

use iolite_model::{
    Access, Advice, BackendKind, FileLock, FileOrder, FileTask, LayOut, Mix, NamedFile, OpenSync, RangeSync,
    Reserve, SyncMethod, SyncRule,
};

pub(crate) mod paths;

use crate::language::error::{OptionError, Result};
use crate::language::options::Spec;
use crate::language::options::entry::{MAX, choice, flag, ignored, integer, put, special, text};
use crate::language::options::io::Direction;
use crate::language::options::option::{Form, Opt};
use crate::language::thread::{Thread, ThreadIndex};
use crate::language::value::OptionValue;

/// Files.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Files {
    /// Directories of the files; clones with files of their own take turns at them.
    pub directories: Vec<PathBuf>,
    /// The files, where they are named.
    pub names: Vec<String>,
    /// All files below this directory are taken too.
    pub below: Option<PathBuf>,
    /// The first of all of these only.
    pub limit: Option<u32>,
    /// What files that are not named are called.
    pub format: String,
    /// Number of files, where they are not named.
    pub number: u32,
    /// Number of files open at once; `None` for all.
    pub open: Option<u32>,
    /// Whether operations of several threads on a file wait for each other.
    pub lock: FileLock,
    /// Which one comes next.
    pub order: FileOrder,
    /// Work ends when there is no space left.
    pub fill: bool,
    /// Files may be made.
    pub create: bool,
    /// Created files are made durable.
    pub create_sync: bool,
    /// Files are created job by job.
    pub create_serialize: bool,
    /// Files are created by the job's own writes.
    pub create_on_open: bool,
    /// Nothing but making the files.
    pub create_only: bool,
    /// Writes go to mounted devices too.
    pub mounted: bool,
    /// Files are read before the job.
    pub pre_read: bool,
    /// What the page cache holds is dropped first.
    pub invalidate: bool,
    /// How files are opened.
    pub durable: Option<OpenSync>,
    /// Writes between two fsync; 0 for none.
    pub fsync: u32,
    /// Writes between two fdatasync; 0 for none.
    pub fdatasync: u32,
    /// Writes between two sync_file_range; 0 for none.
    pub range_sync: u32,
    /// What these do.
    pub range: RangeSync,
    /// fsync at the end.
    pub end_sync: Option<SyncMethod>,
    /// fsync when a file is closed.
    pub close_sync: bool,
    /// How the blocks of files are reserved.
    pub reserve: Reserve,
    /// What the kernel is advised about the order of reads.
    pub hint: Hint,
    /// Files are there in full before they are written.
    pub overwrite: bool,
    /// Files are removed at the end.
    pub remove: bool,
    /// Files are removed after each loop.
    pub remove_each: bool,
}

/// What the kernel is advised about the order of reads (`fadvise_hint`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Hint {
    /// Nothing.
    #[default]
    None,
    /// What the job does.
    ByOrder,
    /// This.
    Sequential,
    /// This.
    Random,
}

impl Files {
    /// What the group says about block I/O whose back end and mix are known.
    ///
    /// # Errors
    /// Settings that do not go together.
    pub(crate) fn lower(&self, spec: &Spec, task: &mut FileTask) -> Result {
        let nothing = matches!(task.backend, BackendKind::Null | BackendKind::Busy(_));
        let mut syncs = syncs(spec, task.mix);
        task.durability.sync = syncs.next();
        task.durability.also = syncs.collect();
        task.durability.range = self.range;
        task.durability.end_sync =
            self.end_sync.or(self.close_sync.then_some(SyncMethod::Fsync)).filter(|_| task.mix.writes());
        task.durability.open = self.durable;
        task.cache.invalidate = self.invalidate && !self.pre_read && !nothing;
        task.cache.advice = match self.hint {
            _ if nothing => Advice::None,
            Hint::None => Advice::None,
            Hint::ByOrder if spec.io.random => Advice::Random,
            Hint::ByOrder | Hint::Sequential => Advice::Sequential,
            Hint::Random => Advice::Random,
        };
        Ok(())
    }

    /// What these settings say of the thread beside its task.
    pub(crate) fn lower_thread(&self, spec: &Spec, place: ThreadIndex, thread: &mut Thread) {
        thread.directory = paths::directory(spec, place);
        thread.create_only = self.create_only;
        thread.pre_read = self.pre_read && thread.has_files();
    }
}

/// Which files are laid out before the job.
pub(crate) fn lay_out(spec: &Spec, mix: Mix, files: &[NamedFile]) -> LayOut {
    let is_there = |file: &NamedFile| {
        let end = file.offset.0.saturating_add(file.size.0);
        paths::length(&file.path).is_some_and(|length| length >= end)
    };
    match spec.files.overwrite && mix.writes() {
        _ if !spec.files.create => LayOut::Never,
        // A mapping cannot extend a file.
        _ if fills(spec) && !mix.reads() && spec.engine.name != "mmap" => LayOut::Grow,
        // What is large enough is left as it is.
        true if !files.iter().all(is_there) => LayOut::Always,
        _ => LayOut::Needed,
    }
}

/// Whether work goes on until there is no space left, or files to be read are laid out until then: that of trims alone does not.
pub(crate) fn fills(spec: &Spec) -> bool {
    spec.files.fill && spec.io.direction != Direction::Trim
}

/// Whether work can go on until there is no space left.
///
/// # Errors
/// It can not.
pub(crate) fn can_fill(access: &Access, files: &[NamedFile]) -> Result {
    if !access.is_sequential() && files.iter().any(|file| file.size.0 == 0) {
        return Err(OptionError::refused(
            "random offsets need to know how large the file is to be",
            "specify size",
        )
        .at("fill_device"));
    }
    Ok(())
}

/// How the blocks of files are reserved.
pub(crate) fn reserve(spec: &Spec, backend: BackendKind, mix: Mix) -> Reserve {
    match backend {
        // Reads reserve blocks within a file's size, which it has to have; it must not have the blocks yet.
        BackendKind::Fallocate if mix.reads() => Reserve::Truncate,
        // These are about a file that is not there yet.
        BackendKind::Fallocate | BackendKind::Truncate => Reserve::None,
        // Blocks that are exchanged have to be there.
        BackendKind::MoveExtents => Reserve::Allocate,
        // A mapping needs a file that has its size.
        BackendKind::Mmap
            if spec.files.create_on_open
                || matches!(spec.files.reserve, Reserve::KeepSize | Reserve::None) =>
        {
            Reserve::Truncate
        }
        _ if spec.files.create_on_open && !mix.reads() => Reserve::None,
        _ => spec.files.reserve,
    }
}

/// The syncs after so many writes each.
fn syncs(spec: &Spec, mix: Mix) -> impl Iterator<Item = SyncRule> {
    let files = &spec.files;
    let rules = [
        (files.fsync, SyncMethod::Fsync),
        (files.fdatasync, SyncMethod::Fdatasync),
        (files.range_sync, SyncMethod::FileRange),
    ];
    let given = rules.into_iter().filter(move |(every, _)| *every > 0 && mix.writes());
    given.map(|(every, method)| SyncRule { every, method })
}

/// Names with colons between them; `\:` is a colon of a name.
pub(super) fn names(given: &OptionValue<'_>) -> Result<Vec<String>> {
    let mut names = vec![String::new()];
    let mut characters = given.text()?.chars().peekable();
    while let Some(character) = characters.next() {
        match (character, names.last_mut()) {
            ('\\', Some(name)) if characters.peek() == Some(&':') => name.extend(characters.next()),
            (':', _) => names.push(String::new()),
            (other, Some(name)) => name.push(other),
            (_, None) => {}
        }
    }
    names.retain(|name| !name.is_empty());
    match names.iter().any(|name| name == "-") {
        _ if names.is_empty() => Err(OptionError::refused("it is empty", "specify a name")),
        _ if names.iter().any(|name| name.contains('\0')) => {
            Err(OptionError::refused("a name holds a NUL byte", "remove it"))
        }
        true => Err(OptionError::not_built("standard input and output (`-`) are", "name a file")),
        false => Ok(names),
    }
}

fn order(given: &OptionValue<'_>) -> Result<FileOrder> {
    let text = given.text()?;
    let (word, rest) =
        text.split_once(':').map_or((text, None), |(word, rest)| (word, Some(given.part(rest))));
    let times = || rest.map_or(Ok(1), |rest| rest.integer(1, i64::MAX).map(|times| times as u64));
    let skew = |default: f64, min: f64, max: f64| rest.map_or(Ok(default), |rest| rest.number(min, max));
    match word {
        "roundrobin" => times().map(FileOrder::RoundRobin),
        "random" => times().map(FileOrder::Random),
        "sequential" => times().map(|_| FileOrder::Sequential),
        "zipf" => skew(1.1, f64::MIN_POSITIVE, 100.0).map(FileOrder::Zipf),
        "pareto" => skew(0.2, 1e-9, 1.0 - 1e-9).map(FileOrder::Pareto),
        "normal" | "gauss" => skew(25.0, 1e-9, 100.0).map(FileOrder::Normal),
        other => Err(OptionError::unknown_word(
            other,
            ["roundrobin", "random", "sequential", "zipf", "pareto", "normal", "gauss"],
        )),
    }
}

/// `FLAGS:N`.
fn range_sync(given: &OptionValue<'_>) -> Result<(RangeSync, u32)> {
    let text = given.text()?;
    let (flags, every) = text.split_once(':').ok_or_else(|| {
        OptionError::refused(format!("`{text}` has no number"), "write wait_before,write:8")
    })?;
    let mut range = RangeSync { wait_before: false, write: false, wait_after: false };
    for flag in flags.split(',') {
        let part: fn(&mut RangeSync) -> &mut bool = given.part(flag).choice(RANGE)?;
        *part(&mut range) = true;
    }
    Ok((range, given.part(every).integer(1, MAX)? as u32))
}

/// A flag of sync_file_range, and what it sets.
type RangeFlag = (&'static str, fn(&mut RangeSync) -> &mut bool);

const RANGE: &[RangeFlag] = &[
    ("wait_before", |range| &mut range.wait_before),
    ("write", |range| &mut range.write),
    ("wait_after", |range| &mut range.wait_after),
];

/// The options.
pub const OPTIONS: &[Opt] = &[
    special("filename", Form::Text, |s, g| names(g).map(|names| s.files.names.extend(names))).help(
        "Files or devices, separated by colons; the same for all clones. A colon within a name is written as \
         `\\:`. If repeated, the files are added to those given before, also in global sections. Without it, \
         a job creates its own files, see filename_format.",
    ),
    special("directory", Form::Text, |s, g| {
        put(&mut s.files.directories, names(g).map(|names| names.into_iter().map(PathBuf::from).collect()))
    })
    .help(
        "Directory of the files, or several directories separated by colons, which clones with their own \
         files use in turn.",
    ),
    text("filename_format", |s, text| s.files.format = text.to_owned())
        .default("$jobname.$jobnum.$filenum")
        .help(
            "Format of the names of the job's own files, with the variables $jobname, $jobnum (number of the \
             clone) and $filenum.",
        ),
    ignored("unique_filename", Form::Flag)
        .default("1")
        .help("Names differ between the clients of a server.")
        .bounded("it has no effect, because there is no client and server mode"),
    text("opendir", |s, text| {
        s.files.below = Some(PathBuf::from(text));
        s.files.limit = None;
    })
    .help(
        "Adds all files below this directory, in the order of their names; with nrfiles after it, the first \
         ones only. Symbolic links are not followed.",
    )
    .bounded("the order is that of the names, where fio has that of the directory"),
    choice!(
        "lockfile",
        &[("none", FileLock::None), ("exclusive", FileLock::Exclusive), ("readwrite", FileLock::ReadWrite)],
        |s, v| s.files.lock = v
    )
    .default("none")
    .help(
        "Operations of several jobs on a file wait for each other: all (exclusive), or writes for all and \
         reads for writes (readwrite). The wait is part of the latency.",
    )
    .bounded("not with unlink_each_loop, which creates files again"),
    integer("nrfiles", 0, MAX, |s, value| {
        s.files.number = (value as u32).max(1);
        // As fio does, which takes its number from opendir.
        s.files.limit = s.files.below.is_some().then_some(s.files.number);
    })
    .named_also(&["nr_files"])
    .default("1")
    .help("Number of files of each clone, unless they are named."),
    integer("openfiles", 0, MAX, |s, value| s.files.open = Some(value as u32))
        .help("Number of files open at the same time.")
        .bounded("it limits how many files are used at the same time; all of them are open all the time"),
    special(
        "file_service_type",
        Form::Special(
            "roundrobin, random, sequential, zipf, pareto or normal; then, if wanted, a colon and a number",
        ),
        |s, g| put(&mut s.files.order, order(g)),
    )
    .default("roundrobin")
    .help(
        "Order in which several files are used. The number is the number of operations before switching \
         files, or the skew of zipf, pareto or normal.",
    ),
    flag("fill_device", |s, on| s.files.fill = on)
        .named_also(&["fill_fs"])
        .help(
            "Writes until the device is full, which is not an error, or until size is written. Files are not \
             preallocated. Random writes need a size. Files of a job that reads are laid out before it, as \
             far as they fit: after what they hold, in a mix in its place.",
        )
        .bounded(
            "a mix leaves out files for which there is no space, where fio fails, and the writes of a mix \
             stay within what was laid out",
        ),
    flag("create_serialize", |s, on| s.files.create_serialize = on)
        .default("1")
        .help("Files are created job by job instead of concurrently.")
        .bounded("files are always created job by job"),
    flag("create_fsync", |s, on| s.files.create_sync = on)
        .default("1")
        .help("Created files are made durable before the job starts.")
        .bounded("created files are always made durable before the job starts"),
    flag("create_on_open", |s, on| s.files.create_on_open = on)
        .help("Files are created by the writes of the job instead of before it.")
        .bounded("files of a job that only writes grow; files of a job that reads are created before it"),
    flag("create_only", |s, on| s.files.create_only = on).help("Only creates the files, without I/O."),
    flag("allow_file_create", |s, on| s.files.create = on)
        .default("1")
        .help("Files may be created. With 0, the job fails if a file is missing or too short."),
    flag("allow_mounted_write", |s, on| s.files.mounted = on)
        .help("Allows writing to a mounted device.")
        .bounded("a device that is in use is never written to: unmount it"),
    flag("pre_read", |s, on| s.files.pre_read = on)
        .help("Regular files are read into the page cache before the job; implies invalidate=0."),
    flag("invalidate", |s, on| s.files.invalidate = on)
        .default("1")
        .help("Drops the page cache of the files before the job."),
    choice!(
        "sync",
        &[
            ("none", None),
            ("0", None),
            ("sync", Some(OpenSync::All)),
            ("1", Some(OpenSync::All)),
            ("dsync", Some(OpenSync::Data)),
        ],
        |s, v| s.files.durable = v
    )
    .default("none")
    .help(
        "Files are opened so that every write is durable when it completes: with all metadata (sync) or only \
         the required metadata (dsync).",
    ),
    integer("fsync", 0, MAX, |s, value| s.files.fsync = value as u32)
        .default("0")
        .help("Number of writes between calls of fsync; 0 for none."),
    integer("fdatasync", 0, MAX, |s, value| s.files.fdatasync = value as u32)
        .default("0")
        .help("Number of writes between calls of fdatasync; 0 for none."),
    special(
        "sync_file_range",
        Form::Special("some of wait_before, write, wait_after with commas, a colon, and a number of writes"),
        |s, g| {
            (s.files.range, s.files.range_sync) = range_sync(g)?;
            Ok(())
        },
    )
    .help("Number of writes between calls of sync_file_range."),
    flag("end_fsync", |s, on| s.files.end_sync = on.then_some(SyncMethod::Fsync))
        .help("Calls fsync at the end of the job."),
    flag("fsync_on_close", |s, on| s.files.close_sync = on)
        .help("Calls fsync when a file is closed, which is at the end of the job."),
    flag("end_syncfs", |s, on| {
        if on {
            s.files.end_sync = Some(SyncMethod::FileSystem);
        }
    })
    .help("Makes everything in the file system durable at the end of the job (syncfs)."),
    ignored("filetype", Form::Choice(&["none", "file", "block", "char"]))
        .default("none")
        .help("Type of the files, which is detected instead.")
        .bounded("the actual type of the file is used"),
    choice!(
        "fallocate",
        &[
            ("native", Reserve::Allocate),
            ("posix", Reserve::Allocate),
            ("keep", Reserve::KeepSize),
            ("truncate", Reserve::Truncate),
            ("none", Reserve::None),
            ("0", Reserve::None),
            ("1", Reserve::Allocate),
        ],
        |s, v| s.files.reserve = v
    )
    .default("native")
    .help("Method of preallocating files before they are written."),
    choice!(
        "fadvise_hint",
        &[
            ("0", Hint::None),
            ("none", Hint::None),
            ("1", Hint::ByOrder),
            ("sequential", Hint::Sequential),
            ("random", Hint::Random),
        ],
        |s, v| s.files.hint = v
    )
    .default("1")
    .help("Advises the kernel of the access pattern (posix_fadvise), which affects read-ahead."),
    flag("overwrite", |s, on| s.files.overwrite = on)
        .help("Files are laid out completely before the job overwrites them."),
    flag("unlink", |s, on| s.files.remove = on).help("The files are removed at the end."),
    flag("unlink_each_loop", |s, on| s.files.remove_each = on)
        .help("The files are removed before each further loop; those of the last loop are kept."),
];
