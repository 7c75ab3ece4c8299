//! Files.

use std::path::PathBuf;

use iolite_model::{
    Access, Advice, BackendKind, FileOrder, FileTask, LayOut, Mix, NamedFile, OpenSync, Reserve, SyncMethod,
    SyncRule,
};

pub(crate) mod paths;

use super::entry::{count, opt, put};
use crate::language::error::{OptionError, Result};
use crate::language::options::Spec;
use crate::language::options::option::{Form, Opt};
use crate::language::thread::{Thread, ThreadIndex};
use crate::language::value::OptionValue;

/// Files.
#[derive(Debug, Clone, PartialEq)]
pub struct Files {
    /// Directories of the files; clones with files of their own take turns at them.
    pub directories: Vec<PathBuf>,
    /// The files, where they are named.
    pub names: Vec<String>,
    /// All files below this directory are taken too.
    pub below: Option<PathBuf>,
    /// What files that are not named are called.
    pub format: String,
    /// How many files, where they are not named.
    pub number: u32,
    /// How many are open at once; `None` for all.
    pub open: Option<u32>,
    /// Which one comes next.
    pub order: FileOrder,
    /// Work ends when there is no space left.
    pub fill: bool,
    /// Files may be made.
    pub create: bool,
    /// Files are made durable when they are made.
    pub create_sync: bool,
    /// Files are made job by job.
    pub create_serialize: bool,
    /// Files are made by the job's own writes.
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
    /// fsync at the end.
    pub end_sync: bool,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hint {
    /// Nothing.
    None,
    /// What the job does.
    ByOrder,
    /// This.
    Sequential,
    /// This.
    Random,
}

impl Default for Files {
    fn default() -> Files {
        Files {
            directories: Vec::new(),
            names: Vec::new(),
            below: None,
            format: "$jobname.$jobnum.$filenum".into(),
            number: 1,
            open: None,
            order: FileOrder::RoundRobin(1),
            fill: false,
            create: true,
            create_sync: true,
            create_serialize: true,
            create_on_open: false,
            create_only: false,
            mounted: false,
            pre_read: false,
            invalidate: true,
            durable: None,
            fsync: 0,
            fdatasync: 0,
            range_sync: 0,
            end_sync: false,
            close_sync: false,
            reserve: Reserve::Allocate,
            hint: Hint::ByOrder,
            overwrite: false,
            remove: false,
            remove_each: false,
        }
    }
}

impl Files {
    /// What the group says about block I/O whose back end and mix are known.
    ///
    /// # Errors
    /// Settings that do not go together.
    pub(crate) fn lower(&self, spec: &Spec, task: &mut FileTask) -> Result {
        let nothing = matches!(task.backend, BackendKind::Null | BackendKind::Busy(_));
        task.durability.sync = sync(spec, task.mix)?;
        task.durability.end_sync =
            ((self.end_sync || self.close_sync) && task.mix.writes()).then_some(SyncMethod::Fsync);
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
        _ if spec.files.fill => LayOut::Grow,
        // What is large enough is left as it is.
        true if !files.iter().all(is_there) => LayOut::Always,
        _ => LayOut::Needed,
    }
}

/// Whether work can go on until there is no space left.
///
/// # Errors
/// It can not.
pub(crate) fn can_fill(mix: Mix, access: &Access, files: &[NamedFile]) -> Result {
    if mix != Mix::Write {
        return Err(OptionError::refused(
            "what is there is filled by writes",
            "use rw=write, and read in a job after it",
        )
        .at("fill_device"));
    }
    if !access.is_sequential() && files.iter().any(|file| file.size.0 == 0) {
        return Err(OptionError::refused(
            "random offsets need to know how large the file is to be",
            "give size",
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
        // A mapping needs a file that has its size.
        BackendKind::Mmap if matches!(spec.files.reserve, Reserve::KeepSize | Reserve::None) => {
            Reserve::Truncate
        }
        _ if spec.files.create_on_open && !mix.reads() => Reserve::None,
        _ => spec.files.reserve,
    }
}

fn sync(spec: &Spec, mix: Mix) -> Result<Option<SyncRule>> {
    let files = &spec.files;
    let rules = [
        (files.fsync, SyncMethod::Fsync),
        (files.fdatasync, SyncMethod::Fdatasync),
        (files.range_sync, SyncMethod::FileRange),
    ];
    let mut given = rules.into_iter().filter(|(every, _)| *every > 0);
    let rule = given.next().map(|(every, method)| SyncRule { every, method });
    if given.next().is_some() {
        return Err(OptionError::refused("a job has one of them here", "leave the others out")
            .at("fsync, fdatasync and sync_file_range"));
    }
    Ok(rule.filter(|_| mix.writes()))
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
        _ if names.is_empty() => Err(OptionError::refused("it names nothing", "give a name")),
        _ if names.iter().any(|name| name.contains('\0')) => {
            Err(OptionError::refused("a name holds a NUL byte", "leave it out"))
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

/// `FLAGS:N`, of which only the number is kept.
fn range_sync(given: &OptionValue<'_>) -> Result<u32> {
    let text = given.text()?;
    let (flags, every) = text.split_once(':').ok_or_else(|| {
        OptionError::refused(format!("`{text}` has no number"), "write wait_before,write:8")
    })?;
    for flag in flags.split(',') {
        given.part(flag).choice(&[("wait_before", ()), ("write", ()), ("wait_after", ())])?;
    }
    count(&given.part(every), 1, u32::MAX)
}

const RESERVES: &[(&str, Reserve)] = &[
    ("native", Reserve::Allocate),
    ("posix", Reserve::Allocate),
    ("keep", Reserve::KeepSize),
    ("truncate", Reserve::Truncate),
    ("none", Reserve::None),
    ("0", Reserve::None),
    ("1", Reserve::Allocate),
];

const SYNCS: &[(&str, Option<OpenSync>)] = &[
    ("none", None),
    ("0", None),
    ("sync", Some(OpenSync::All)),
    ("1", Some(OpenSync::All)),
    ("dsync", Some(OpenSync::Data)),
];

const HINTS: &[(&str, Hint)] = &[
    ("0", Hint::None),
    ("none", Hint::None),
    ("1", Hint::ByOrder),
    ("sequential", Hint::Sequential),
    ("random", Hint::Random),
];

const COUNT: Form = Form::Integer { min: 0, max: 4_294_967_295 };

/// The options.
pub const OPTIONS: &[Opt] = &[
    opt(
        "filename",
        &[],
        Form::Text,
        "",
        "The files or devices, with a colon between them, for all clones the same. A colon within a name is written as \
         `\\:`. Given again it adds to those before, of global sections too. A job without it makes files of its own, see \
         filename_format.",
        |s, g| names(g).map(|names| s.files.names.extend(names)),
    ),
    opt(
        "directory",
        &[],
        Form::Text,
        "",
        "Where the files are; several directories with a colon between them. Clones with \
         files of their own take turns at several directories.",
        |s, g| {
            put(
                &mut s.files.directories,
                names(g).map(|names| names.into_iter().map(PathBuf::from).collect()),
            )
        },
    ),
    opt(
        "filename_format",
        &[],
        Form::Text,
        "$jobname.$jobnum.$filenum",
        "What files of the job's own are called: $jobname, $jobnum (the clone's number) and \
         $filenum stand for what they say.",
        |s, g| put(&mut s.files.format, g.text().map(str::to_owned)),
    ),
    opt("unique_filename", &[], Form::Flag, "1", "Names differ between the clients of a server.", |_, g| {
        g.flag().map(drop)
    })
    .bounded("there is neither server nor client, so that it means nothing"),
    opt(
        "opendir",
        &[],
        Form::Text,
        "",
        "Takes all files below this directory too, in the order of their names. Symbolic links are not followed.",
        |s, g| put(&mut s.files.below, g.text().map(|text| Some(PathBuf::from(text)))),
    )
    .bounded("nrfiles makes no difference beside it: all files are taken"),
    opt(
        "lockfile",
        &[],
        Form::Choice(&["none", "exclusive", "readwrite"]),
        "none",
        "Locks a file for each operation.",
        |_, g| match g.text()? {
            "none" => Ok(()),
            "exclusive" | "readwrite" => {
                Err(OptionError::not_built("it is", "leave it out, operations on a file are not kept apart"))
            }
            other => Err(OptionError::unknown_word(other, ["none", "exclusive", "readwrite"])),
        },
    )
    .bounded("exclusive and readwrite are refused: operations on a file are not kept apart"),
    opt("nrfiles", &["nr_files"], COUNT, "1", "Files of each clone, where they are not named.", |s, g| {
        put(&mut s.files.number, count(g, 0, u32::MAX).map(|number| number.max(1)))
    }),
    opt("openfiles", &[], COUNT, "", "Files that are open at once.", |s, g| {
        put(&mut s.files.open, count(g, 0, u32::MAX).map(Some))
    })
    .differs("all files are open all the time"),
    opt(
        "file_service_type",
        &[],
        Form::Special(
            "roundrobin, random, sequential, zipf, pareto or normal; then, if wanted, a colon and \
         a number",
        ),
        "roundrobin",
        "Which of several files comes next. The number: operations of a file before the next, \
         or the skew of zipf, pareto, normal.",
        |s, g| put(&mut s.files.order, order(g)),
    ),
    opt(
        "fill_device",
        &["fill_fs"],
        Form::Flag,
        "0",
        "Writes until there is no space left, which is no error then, or until size is written. Files \
         get no space before. For rw=write; with size for randwrite too.",
        |s, g| put(&mut s.files.fill, g.flag()),
    ),
    opt(
        "create_serialize",
        &[],
        Form::Flag,
        "1",
        "Files are made job by job rather than by all at once.",
        |s, g| put(&mut s.files.create_serialize, g.flag()),
    )
    .bounded("they always are made job by job"),
    opt(
        "create_fsync",
        &[],
        Form::Flag,
        "1",
        "Files that are made are made durable before the job.",
        |s, g| put(&mut s.files.create_sync, g.flag()),
    )
    .bounded("they always are made durable before the job"),
    opt(
        "create_on_open",
        &[],
        Form::Flag,
        "0",
        "Files are not made before the job, but by its writes.",
        |s, g| put(&mut s.files.create_on_open, g.flag()),
    )
    .bounded("a job that only writes lets its files grow; for one that reads they are made before"),
    opt("create_only", &[], Form::Flag, "0", "Files are made and nothing else is done.", |s, g| {
        put(&mut s.files.create_only, g.flag())
    }),
    opt(
        "allow_file_create",
        &[],
        Form::Flag,
        "1",
        "Files may be made; without it the job fails where one is missing or too short.",
        |s, g| put(&mut s.files.create, g.flag()),
    ),
    opt("allow_mounted_write", &[], Form::Flag, "0", "A mounted device may be written.", |s, g| {
        put(&mut s.files.mounted, g.flag())
    })
    .bounded("a device that is in use is never written, whatever is said: unmount it"),
    opt(
        "pre_read",
        &[],
        Form::Flag,
        "0",
        "Regular files are read before the job, so that they are in the page cache; invalidate counts as 0 then.",
        |s, g| put(&mut s.files.pre_read, g.flag()),
    ),
    opt(
        "invalidate",
        &[],
        Form::Flag,
        "1",
        "What the page cache holds of the files is dropped before the job.",
        |s, g| put(&mut s.files.invalidate, g.flag()),
    ),
    opt(
        "sync",
        &[],
        Form::Choice(&["none", "0", "sync", "1", "dsync"]),
        "none",
        "Files are opened so that every write is durable before it is over: with all metadata \
         (sync) or only what is needed (dsync).",
        |s, g| put(&mut s.files.durable, g.choice(SYNCS)),
    ),
    opt(
        "fsync",
        &[],
        COUNT,
        "0",
        "Writes from one fsync to the next; 0 for none. A job has one of fsync, fdatasync and \
         sync_file_range here.",
        |s, g| put(&mut s.files.fsync, count(g, 0, u32::MAX)),
    ),
    opt(
        "fdatasync",
        &[],
        COUNT,
        "0",
        "Writes from one fdatasync to the next; 0 for none. A job has one of fsync, fdatasync \
         and sync_file_range here.",
        |s, g| put(&mut s.files.fdatasync, count(g, 0, u32::MAX)),
    ),
    opt(
        "sync_file_range",
        &[],
        Form::Special("some of wait_before, write, wait_after with commas, a colon, and a number of writes"),
        "",
        "Writes from one sync_file_range to the next.",
        |s, g| put(&mut s.files.range_sync, range_sync(g)),
    )
    .differs("all three of wait_before, write and wait_after are done"),
    opt(
        "end_fsync",
        &[],
        Form::Flag,
        "0",
        "What was written is made durable by fsync at the end.",
        |s, g| put(&mut s.files.end_sync, g.flag()),
    ),
    opt(
        "fsync_on_close",
        &[],
        Form::Flag,
        "0",
        "What was written is made durable by fsync when a file is closed, which is once, at \
         the end.",
        |s, g| put(&mut s.files.close_sync, g.flag()),
    ),
    opt(
        "end_syncfs",
        &[],
        Form::Flag,
        "0",
        "What was written is made durable at the end, as by end_fsync.",
        |s, g| {
            s.files.end_sync |= g.flag()?;
            Ok(())
        },
    )
    .differs("the files of the job are synchronized, not their whole file system (syncfs)"),
    opt(
        "filetype",
        &[],
        Form::Choice(&["none", "file", "block", "char"]),
        "none",
        "Of which type the files are. They are looked at instead.",
        |_, g| g.choice(&[("none", ()), ("file", ()), ("block", ()), ("char", ())]),
    )
    .bounded("the type that a file has counts, whatever is given"),
    opt(
        "fallocate",
        &[],
        Form::Choice(&["native", "posix", "keep", "truncate", "none", "0", "1"]),
        "native",
        "How the blocks of a file that is to be written are reserved before the job.",
        |s, g| put(&mut s.files.reserve, g.choice(RESERVES)),
    ),
    opt(
        "fadvise_hint",
        &[],
        Form::Choice(&["0", "none", "1", "sequential", "random"]),
        "1",
        "Advice to the kernel about the order of the offsets (posix_fadvise), which \
         changes its read-ahead.",
        |s, g| put(&mut s.files.hint, g.choice(HINTS)),
    ),
    opt(
        "overwrite",
        &[],
        Form::Flag,
        "0",
        "Files are there in full before they are written: what is missing is written before \
         the job.",
        |s, g| put(&mut s.files.overwrite, g.flag()),
    ),
    opt("unlink", &[], Form::Flag, "0", "The files are removed at the end.", |s, g| {
        put(&mut s.files.remove, g.flag())
    }),
    opt("unlink_each_loop", &[], Form::Flag, "0", "The files are removed after each loop.", |s, g| {
        put(&mut s.files.remove_each, g.flag())
    })
    .differs("they are removed after the last loop only"),
];
