//! What fio says before it runs: the jobs, its version, how many processes start.

use std::collections::HashMap;
use std::path::Path;

use crate::language::options::files::paths::length;
use crate::language::thread::Thread;
use iolite_model::{
    BackendKind, BusyWork, Bytes, FileTask, JobTask, LayOut, MetadataOperation, Mix, SizeLaw, Sizes, Target,
    TracedKinds,
};

use super::closing::one_line;
use super::number::Figures;

/// The lines before the run. What a global section says of an engine is looked up in `global_settings`.
pub fn header(threads: &[Thread], global_settings: &[(String, String)], version: &str) -> String {
    let mut out = String::new();
    for clones in threads.chunk_by(|one, other| one.job == other.job) {
        out += &line(&clones[0], global_settings);
        if clones.len() > 1 {
            out += "...\n";
        }
    }
    let processes = threads.iter().filter(|thread| !said_so(thread, global_settings, "thread")).count();
    out + &format!("{version}\n{}", starting(threads.len() - processes, processes))
}

/// What fio says of files that it has to create or to extend before the jobs, job by job.
pub fn laying_out(threads: &[Thread], global_settings: &[(String, String)]) -> String {
    let mut laid_out: HashMap<&Path, u64> = HashMap::new();
    let mut out = String::new();
    for thread in threads {
        let JobTask::Io(task) = &thread.task else { continue };
        let Target::Files(target) = &task.target else { continue };
        let later = said_so(thread, global_settings, "create_on_open");
        if later || !matches!(target.lay_out, LayOut::Needed | LayOut::Always) {
            continue;
        }
        let (mut files, mut bytes) = (0_u64, 0_u64);
        for file in target.files.iter().filter(|file| file.size.0 > 0) {
            let end = file.offset.0.saturating_add(file.size.0);
            let there = laid_out.get(file.path.as_path()).copied();
            if there.or_else(|| length(&file.path)).unwrap_or(0) < end {
                laid_out.insert(&file.path, end);
                (files, bytes) = (files + 1, bytes.saturating_add(end));
            }
        }
        let (name, size) = (one_line(&thread.name), bytes >> 20);
        match files {
            0 => {}
            1 => out += &format!("{name}: Laying out IO file (1 file / {size}MiB)\n"),
            files => out += &format!("{name}: Laying out IO files ({files} files / total {size}MiB)\n"),
        }
    }
    out
}

fn starting(threads: usize, processes: usize) -> String {
    let number =
        |count: usize, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
    let mut parts = Vec::new();
    if threads > 0 {
        parts.push(number(threads, "thread", "threads"));
    }
    if processes > 0 {
        parts.push(number(processes, "process", "processes"));
    }
    if parts.is_empty() { String::new() } else { format!("Starting {}\n", parts.join(" and ")) }
}

/// The value of an option, from the job or from global sections; the last one counts.
fn said<'a>(thread: &'a Thread, global: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let mut all = thread.settings.iter().rev().chain(global.iter().rev());
    all.find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

/// Whether a flag is set; without a value it is.
fn said_so(thread: &Thread, global: &[(String, String)], name: &str) -> bool {
    said(thread, global, name).is_some_and(|value| value.trim() != "0")
}

fn line(thread: &Thread, global: &[(String, String)]) -> String {
    let name = one_line(&thread.name);
    let group = thread.group;
    let named = said(thread, global, "ioengine").map(|name| name.split(':').next().unwrap_or(name));
    match &thread.task {
        JobTask::Io(task) => {
            if let BackendKind::Busy(busy) = task.backend {
                let chunk = busy.chunk.0 / 1000;
                let work = match busy.work {
                    BusyWork::Spin => "noop",
                    BusyWork::Sort => "qsort",
                };
                return format!(
                    "{name} ({work}): ioengine=cpuio, cpuload={}, cpucycle={chunk}\n",
                    busy.percent
                );
            }
            let engine = named.unwrap_or_else(|| engine(task.backend));
            format!(
                "{name}: (g={group}): rw={}, bs={}, ioengine={}, iodepth={}\n",
                direction(task),
                sizes(task, thread.reporting.kb_base),
                one_line(engine),
                task.concurrency
            )
        }
        JobTask::Metadata(task) => {
            let engine = named.unwrap_or_else(|| operation(task.operation));
            format!(
                "{name}: (g={group}): rw=read, bs=(R) {0}, (W) {0}, (T) {0}, ioengine={1}, iodepth=1\n",
                range(task.size, task.size, thread.reporting.kb_base),
                one_line(engine)
            )
        }
    }
}

/// The word of fio's for the direction and the order of a task.
fn direction(task: &FileTask) -> &'static str {
    match (task.mix, task.access.is_sequential()) {
        (Mix::Read, true) => "read",
        (Mix::Read, false) => "randread",
        (Mix::Write, true) => "write",
        (Mix::Write, false) => "randwrite",
        (Mix::ReadPercent(_) | Mix::ReadTrimPercent { .. } | Mix::ReadThenWrite(_), true) => "rw",
        (Mix::ReadPercent(_) | Mix::ReadTrimPercent { .. } | Mix::ReadThenWrite(_), false) => "randrw",
        (Mix::Trim, true) => "trim",
        (Mix::Trim, false) => "randtrim",
        (Mix::TrimThenWrite | Mix::TrimPercent(_), true) => "trimwrite",
        (Mix::TrimThenWrite | Mix::TrimPercent(_), false) => "randtrimwrite",
        (Mix::Traced(TracedKinds { reads: true, writes, .. }), _) => {
            if writes {
                "rw"
            } else {
                "read"
            }
        }
        (Mix::Traced(TracedKinds { writes: true, trims, .. }), _) => {
            if trims {
                "trimwrite"
            } else {
                "write"
            }
        }
        (Mix::Traced(_), _) => "trim",
    }
}

/// The engine of fio's that a back end stands for; another back end has its own name.
fn engine(backend: BackendKind) -> &'static str {
    match backend {
        BackendKind::Sync => "psync",
        BackendKind::Seek => "sync",
        BackendKind::Vectored(_) => "pvsync2",
        BackendKind::Fallocate => "falloc",
        BackendKind::Truncate => "ftruncate",
        BackendKind::MoveExtents => "e4defrag",
        BackendKind::Busy(_) => "cpuio",
        BackendKind::Threads => "posixaio",
        other => other.name(),
    }
}

fn operation(operation: MetadataOperation) -> &'static str {
    match operation {
        MetadataOperation::Create => "filecreate",
        MetadataOperation::Stat => "filestat",
        MetadataOperation::Unlink => "filedelete",
        MetadataOperation::Mkdir => "dircreate",
        MetadataOperation::Rmdir => "dirdelete",
        MetadataOperation::Open => "fileopen",
        MetadataOperation::StatDirectory => "dirstat",
    }
}

fn sizes(task: &FileTask, kb_base: u64) -> String {
    let alike = Sizes::alike(SizeLaw::Fixed(task.block), Bytes(1));
    let Sizes { reads, writes, trims, .. } = task.sizes.as_ref().unwrap_or(&alike);
    let shown = |law: &SizeLaw| range(smallest(law), law.largest(), kb_base);
    format!("(R) {}, (W) {}, (T) {}", shown(reads), shown(writes), shown(trims))
}

fn smallest(law: &SizeLaw) -> Bytes {
    match law {
        SizeLaw::Fixed(size) => *size,
        SizeLaw::Range { min, .. } => *min,
        SizeLaw::Split(sizes) => sizes.iter().map(|weighted| weighted.size).min().unwrap_or_default(),
    }
}

fn range(min: Bytes, max: Bytes, kb_base: u64) -> String {
    let figures = Figures { kb_base, ..Figures::default() };
    format!("{}-{}", figures.size(min.0 as f64), figures.size(max.0 as f64))
}
