//! What operations go to, opened.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use iolite_model::{
    Access as Order, Advice, BackendKind, Bytes, Donor, ExistingTarget, FileTarget, FileTask, FilesTarget,
    LayOut, Lifetime, Mix, NamedFile, OpenSync, Overwrite, Target,
};
use iolite_sys::file::{self, Access, Durability};
use iolite_sys::{device, page_cache, spread};
use iolite_workers::Control;
use iolite_workload::file_starts;

use crate::admit::Admitted;
use crate::backend::{FileSpan, Files};
use crate::error::EngineError;
use crate::guard::Scratch;
use crate::layout::{Layout, Removal, failed, reads_data};
use crate::renewal::{Renewal, Renewed};

/// The open files of a phase.
#[derive(Debug, Clone, Default)]
pub(crate) struct Targets {
    /// None where operations go to nothing, one set of files that all workers share, or one for each.
    files: Vec<Files>,
    /// The smallest offset of operations, in bytes: where the span begins in a file that is alone.
    base: u64,
    /// Names of the files, where there are several.
    paths: Option<Arc<[PathBuf]>>,
    /// Names as they were given, of files that are created again: what a symbolic link leads to stays.
    given: Arc<[PathBuf]>,
    /// What the worker has created in place of `files`.
    renewed: Renewed,
    /// What blocks are exchanged with, and whether it has them for each operation only.
    donor: Option<(Arc<File>, bool)>,
    /// What is removed when nothing of the phase is left to do.
    _removal: Option<Arc<Removal>>,
}

impl Targets {
    /// Of a phase whose operations go to nothing, or to a back end of someone else's making.
    pub(crate) fn none() -> Targets {
        Targets::default()
    }

    /// Of a process with one worker, which has inherited the open files of its task.
    pub(crate) fn inherited(task: &FileTask, files: Vec<Arc<File>>, base: u64) -> Targets {
        let (spans, paths) = match &task.target {
            Target::Files(target) if target.files.len() > 1 => {
                let paths = target.files.iter().map(|named| named.path.clone()).collect();
                (spans(task, target, files), Some(paths))
            }
            target => {
                let size = target.size().0;
                let alone = |file| FileSpan { file, start: base, offset: base, size };
                (files.into_iter().map(alone).collect(), None)
            }
        };
        Targets { files: Files::new(spans).into_iter().collect(), base, paths, ..Targets::default() }
    }

    /// Opens a task's target, and sets the task's size where the target determines it. Files that are to be made are
    /// laid out meanwhile. Files that earlier phases have removed must be let go of (`Admitted::begin_set`) before.
    ///
    /// # Errors
    /// It can't be made or opened, the guard refuses it, or the user wants to stop.
    pub(crate) fn open(
        task: &mut FileTask,
        scratch: &mut Scratch,
        control: &Control,
    ) -> Result<Targets, EngineError> {
        let access = access_of(task);
        let alone = |files: Files, base| Targets { files: vec![files], base, ..Targets::default() };
        let targets = match &mut task.target {
            Target::Null { .. } => Targets::none(),
            Target::File(target) => Targets {
                files: open_own(target, task.workers, access, task.mix.reads(), scratch)?,
                ..Targets::default()
            },
            Target::Files(target) => {
                let target = target.clone();
                open_files(task, target, access, scratch.admitted(), control)?
            }
            Target::Existing(existing) => {
                let (file, size) = open_existing(existing, access, scratch.admitted())?;
                existing.size = size;
                existing.path = findable(&existing.path);
                alone(Files::one(file, existing.offset.0, size.0), existing.offset.0)
            }
        };
        if task.cache.invalidate {
            targets.drop_cache(&task.name, |file| scratch.admitted().note_on_device(file))?;
        }
        targets.advise(task)?;
        Ok(targets)
    }

    /// Passes to the kernel what it may know of the files beforehand.
    ///
    /// # Errors
    /// It does not take that.
    fn advise(&self, task: &FileTask) -> Result<(), EngineError> {
        if task.cache.advice != Advice::None && !task.direct {
            self.advise_order(&task.name, task.cache.advice == Advice::Random)?;
        }
        if let Some(lifetime) = task.contents.lifetime.filter(|_| writes_to(task)) {
            self.hint(&task.name, lifetime)?;
        }
        Ok(())
    }

    /// How a worker creates the files again before each further part of its work, where the task says so; `shared` if other tasks use
    /// the same files.
    pub(crate) fn renewal(&self, task: &FileTask, shared: bool) -> Option<Renewal> {
        let Target::Files(target) = &task.target else { return None };
        (target.parts_anew > 1).then(|| Renewal {
            paths: self.given.clone(),
            access: access_of(task),
            sized: task.backend == BackendKind::Mmap,
            shared,
            renewed: self.renewed.clone(),
        })
    }

    /// Creates the files again.
    ///
    /// # Errors
    /// They can't be removed or created.
    pub(crate) fn renew(&self, task: &FileTask, renewal: &Renewal) -> io::Result<Files> {
        let files = renewal.renew(&self.files(0).ok_or(io::ErrorKind::NotFound)?)?;
        self.advise(task).map_err(io::Error::other)?;
        Ok(files)
    }

    /// Opens what exists already, only to read.
    ///
    /// # Errors
    /// It can't be opened, or is not something that exists already.
    pub(crate) fn open_to_read(task: &mut FileTask) -> Result<Targets, EngineError> {
        let access = Access { direct: task.direct, ..Access::default() };
        match &mut task.target {
            Target::Existing(existing) => {
                let (file, size) = open_existing(existing, access, &mut Admitted::default())?;
                existing.size = size;
                let (base, files) = (existing.offset.0, Files::one(file, existing.offset.0, size.0));
                Ok(Targets { files: vec![files], base, ..Targets::default() })
            }
            Target::Files(target) => {
                let open = |named: &NamedFile| {
                    let opened = device::open_existing(&named.path, access, false);
                    opened
                        .map(|found| Arc::new(found.file))
                        .map_err(|source| failed("open", &named.path, source))
                };
                let files = target.files.iter().map(open).collect::<Result<_, _>>()?;
                let base = if let [only] = target.files.as_slice() { only.offset.0 } else { 0 };
                Ok(Targets::inherited(task, files, base))
            }
            Target::Null { .. } | Target::File(_) => {
                let reason = "its target was removed with the run that created it".into();
                Err(EngineError::Task { task: task.name.clone(), reason })
            }
        }
    }

    /// The files of a worker, as they are now.
    pub(crate) fn files(&self, worker: u32) -> Option<Files> {
        let first = || self.files.get(if self.files.len() > 1 { worker as usize } else { 0 }).cloned();
        self.renewed.files().or_else(first)
    }

    /// All files, whoever's, as they are now.
    pub(crate) fn spans(&self) -> Vec<FileSpan> {
        match self.renewed.files() {
            Some(files) => files.spans().to_vec(),
            None => self.files.iter().flat_map(Files::spans).cloned().collect(),
        }
    }

    /// What blocks are exchanged with, and whether it has them for each operation only.
    pub(crate) fn donor(&self) -> Option<(Arc<File>, bool)> {
        self.donor.clone()
    }

    /// The smallest offset of operations, in bytes.
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// Where an operation of this offset goes: its file's position among the task's, and the offset within that file.
    #[inline]
    pub(crate) fn locate(&self, offset: u64) -> (u32, u64) {
        self.files.first().map_or((0, offset), |files| files.locate(offset))
    }

    /// Number of bytes from this offset on in the same file.
    pub(crate) fn left_in_file(&self, offset: u64) -> u64 {
        self.files.first().map_or(u64::MAX, |files| files.left_in_file(offset))
    }

    /// The file of several that an operation of this offset goes to, and the offset within it.
    pub(crate) fn path_of(&self, offset: u64) -> Option<(&Path, u64)> {
        let (index, offset) = self.locate(offset);
        Some((self.paths.as_ref()?.get(index as usize)?, offset))
    }

    /// The same for a worker: one that hangs must not keep files from being removed.
    pub(crate) fn for_a_worker(&self) -> Targets {
        Targets { _removal: None, ..self.clone() }
    }

    /// Sees to it that what is read next comes from the device and not from the page cache. Where that can't be (a file
    /// system in memory), there is no device to report.
    ///
    /// # Errors
    /// What is in memory can't be written out: then it is not on the device.
    pub(crate) fn forget_cached(&self, task: &str) -> Result<(), EngineError> {
        self.drop_cache(task, |_| false)
    }

    /// The same; `is_clean` says of which files nothing waits in the page cache to be written.
    fn drop_cache(&self, task: &str, mut is_clean: impl FnMut(&File) -> bool) -> Result<(), EngineError> {
        for span in self.spans() {
            if device::is_endless(&span.file).is_ok_and(|endless| endless) {
                continue;
            }
            let failed = |source| EngineError::Lost { task: task.to_owned(), source };
            if !is_clean(&span.file) {
                span.file.sync_data().map_err(failed)?;
            }
            let _ = page_cache::drop_clean(&span.file, span.offset, span.size);
        }
        Ok(())
    }
}

impl Targets {
    /// Advises the kernel of the order in which the files will be read.
    ///
    /// # Errors
    /// It does not take that.
    fn advise_order(&self, task: &str, random: bool) -> Result<(), EngineError> {
        for span in self.spans() {
            page_cache::advise(&span.file, random).map_err(|source| {
                let reason = format!(
                    "the kernel does not accept advice for this file: {source}; remove `cache.advice`"
                );
                EngineError::Task { task: task.to_owned(), reason }
            })?;
        }
        Ok(())
    }
}

impl Targets {
    /// Passes to the kernel how long written data is expected to live.
    ///
    /// # Errors
    /// It does not take that.
    fn hint(&self, task: &str, lifetime: Lifetime) -> Result<(), EngineError> {
        // linux/fcntl.h: RWH_WRITE_LIFE_NONE is 1.
        let hint = match lifetime {
            Lifetime::None => 1,
            Lifetime::Short => 2,
            Lifetime::Medium => 3,
            Lifetime::Long => 4,
            Lifetime::Extreme => 5,
        };
        for span in self.spans() {
            iolite_sys::file::set_write_hint(&span.file, hint).map_err(|source| {
                let reason = format!(
                    "the kernel does not accept a lifetime of the data in this file: {source}; remove `contents.lifetime`"
                );
                EngineError::Task { task: task.to_owned(), reason }
            })?;
        }
        Ok(())
    }
}

/// How a task's files are opened.
pub(crate) fn access_of(task: &FileTask) -> Access {
    Access {
        write: writes_to(task),
        direct: task.direct,
        append: task.access == Order::Append,
        durability: match task.durability.open {
            None => Durability::None,
            Some(OpenSync::Data) => Durability::Data,
            Some(OpenSync::All) => Durability::All,
        },
    }
}

/// Whether the task changes its target.
pub(crate) fn writes_to(task: &FileTask) -> bool {
    let only_verified = task.verify.as_ref().is_some_and(|verify| verify.only);
    !only_verified && (changes(task.mix) || task.backend == BackendKind::Fallocate)
}

/// Whether operations of this mix change what they go to.
pub(crate) fn changes(mix: Mix) -> bool {
    mix.writes() || mix.trims()
}

/// Bytes that a task works on: of what, from where to where.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NamedRange {
    /// The name, and whether it is one in the scratch directory.
    file: (bool, PathBuf),
    start: u64,
    end: u64,
}

impl NamedRange {
    /// All of a target, as far as names show.
    pub(crate) fn all_of(target: &Target) -> Vec<NamedRange> {
        if let Target::File(own) = target {
            return vec![NamedRange { file: (true, own.name.clone()), start: 0, end: u64::MAX }];
        }
        let place = |file: NamedFile| {
            let end = if file.size.0 == 0 { u64::MAX } else { file.offset.0.saturating_add(file.size.0) };
            NamedRange { file: (false, file.path), start: file.offset.0, end }
        };
        named(target).into_iter().map(place).collect()
    }

    /// Whether they have a byte in common.
    pub(crate) fn overlaps(&self, other: &NamedRange) -> bool {
        self.file == other.file && self.start < other.end && other.start < self.end
    }

    /// What it is of.
    pub(crate) fn file(&self) -> &(bool, PathBuf) {
        &self.file
    }
}

/// What the user has named, by the names that they are found by from anywhere.
pub(crate) fn named(target: &Target) -> Vec<NamedFile> {
    let file = |path: &Path, offset, size| NamedFile { path: findable(path), offset, size };
    match target {
        Target::Existing(existing) => vec![file(&existing.path, existing.offset, existing.size)],
        Target::Files(target) => {
            target.files.iter().map(|named| file(&named.path, named.offset, named.size)).collect()
        }
        Target::Null { .. } | Target::File(_) => Vec::new(),
    }
}

/// A path that does not depend on the current directory, and whose links are not followed.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// A path as it is to be found from anywhere, for whoever verifies it later.
fn findable(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Makes what is missing of the files named, and opens them all.
fn open_files(
    task: &mut FileTask,
    mut target: FilesTarget,
    access: Access,
    admitted: &mut Admitted,
    control: &Control,
) -> Result<Targets, EngineError> {
    let mut layout = Layout::new(task, &target, admitted, control)?;
    target.files.iter().try_for_each(|named| layout.prepare(named))?;
    let undo = layout.finish();
    let empty = if task.stop.full && reads_data(task) {
        leave_out_empty(&mut target, task.largest())
    } else {
        Vec::new()
    };
    let given: Arc<[PathBuf]> = target.files.iter().map(|named| absolute(&named.path)).collect();
    let mut files = Vec::with_capacity(target.files.len());
    for index in 0..target.files.len() {
        let (file, named) = open_named(task, &target, &target.files[index], access, admitted)?;
        target.files[index] = named;
        files.push(Arc::new(file));
    }
    let renewed = Renewed::default();
    if target.parts_anew > 1 {
        admitted.expect(renewed.clone());
    }
    let removal = if target.remove {
        empty.iter().try_for_each(|path| admitted.admit(path, target.overwrite))?;
        let used = given.iter().zip(&files).map(|(path, file)| (path.as_path(), file.metadata()));
        let empty = empty.iter().map(|path| (path.as_path(), fs::metadata(path)));
        let removal = Removal::of(used.chain(empty), &renewed);
        Some(Arc::new(removal.map_err(|source| failed("examine", &target.files[0].path, source))?))
    } else {
        None
    };
    let mut base = if let [only] = target.files.as_slice() { only.offset.0 } else { 0 };
    if access.append {
        // What is there already stays before what is appended.
        base = files.first().and_then(|file| file.metadata().ok()).map_or(0, |metadata| metadata.len());
    }
    let donor =
        target.donor.as_ref().map(|donor| open_donor(donor, target.overwrite, admitted)).transpose()?;
    undo.keep();
    task.target = Target::Files(target);
    Ok(Targets { given, renewed, donor, _removal: removal, ..Targets::inherited(task, files, base) })
}

/// Opens the file that blocks are exchanged with, or creates it. What it holds is lost, like what is written over.
fn open_donor(
    donor: &Donor,
    overwrite: Overwrite,
    admitted: &mut Admitted,
) -> Result<(Arc<File>, bool), EngineError> {
    let file = if donor.path.exists() {
        admitted.open(&donor.path, overwrite, Access { write: true, ..Access::default() })?.0
    } else {
        admitted.make(&donor.path)?
    };
    Ok((Arc::new(file), donor.each_time))
}

/// Leaves out the last ones of several files, as far as there was no space for an operation in them; returns their names.
fn leave_out_empty(target: &mut FilesTarget, min: Bytes) -> Vec<PathBuf> {
    let holds = |named: &NamedFile| {
        let end = named.offset.0.saturating_add(min.0);
        fs::metadata(&named.path).is_ok_and(|found| !found.is_file() || found.len() >= end)
    };
    let kept = target.files.iter().rposition(holds).map_or(1, |last| last + 1);
    target.files.split_off(kept.min(target.files.len())).iter().map(|named| absolute(&named.path)).collect()
}

/// Opens a file named by the user, and returns its actual span.
fn open_named(
    task: &FileTask,
    target: &FilesTarget,
    named: &NamedFile,
    access: Access,
    admitted: &mut Admitted,
) -> Result<(File, NamedFile), EngineError> {
    if target.remove || target.parts_anew > 1 {
        admitted.admit(&named.path, target.overwrite)?;
    }
    let (file, whole) = admitted.open(&named.path, target.overwrite, access)?;
    let is_device =
        device::is_block_device(&file).map_err(|source| failed("examine", &named.path, source))?;
    let may_grow = !is_device
        && match target.lay_out {
            LayOut::Never => false,
            LayOut::Needed | LayOut::Always => !reads_data(task),
            LayOut::Grow => true,
        };
    let fills = target.lay_out == LayOut::Grow && task.stop.full;
    let size = if may_grow && named.size.0 > 0 {
        named.size
    } else if may_grow && fills {
        // No more than this fits, apart from holes and what is compressed.
        let max = file::file_system_size(&file).map_err(|source| failed("examine", &named.path, source))?;
        Bytes(max.saturating_sub(named.offset.0).max(task.largest().0))
    } else if task.stop.full && reads_data(task) && !is_device {
        // As much as could be laid out.
        let there = whole.saturating_sub(named.offset.0);
        let fits = if named.size.0 > 0 { there.min(named.size.0) } else { there };
        span_within(&named.path, whole, named.offset, Bytes(fits))?
    } else {
        span_within(&named.path, whole, named.offset, named.size)?
    };
    Ok((file, NamedFile { path: findable(&named.path), offset: named.offset, size }))
}

/// The spans of several files.
fn spans(task: &FileTask, target: &FilesTarget, files: Vec<Arc<File>>) -> Vec<FileSpan> {
    let placed = file_starts(task).into_iter().zip(&target.files).zip(files);
    placed
        .map(|((start, named), file)| FileSpan { file, start, offset: named.offset.0, size: named.size.0 })
        .collect()
}

/// Names of a target's files in the scratch directory.
pub(crate) fn own_names(target: &FileTarget, workers: u32) -> Vec<PathBuf> {
    if !target.per_worker {
        return vec![target.name.clone()];
    }
    let numbered = |worker: u32| {
        let mut name = target.name.clone().into_os_string();
        name.push(format!(".{worker}"));
        name.into()
    };
    (0..workers).map(numbered).collect()
}

/// Makes or opens files in the scratch directory.
fn open_own(
    target: &FileTarget,
    workers: u32,
    access: Access,
    reads: bool,
    scratch: &mut Scratch,
) -> Result<Vec<Files>, EngineError> {
    let names = own_names(target, workers);
    let one = |name: &PathBuf| {
        open_one(target, name, access, reads, scratch).map(|file| Files::one(file, 0, target.size.0))
    };
    names.iter().map(one).collect()
}

fn open_one(
    target: &FileTarget,
    name: &Path,
    access: Access,
    reads: bool,
    scratch: &mut Scratch,
) -> Result<File, EngineError> {
    if !target.create {
        let path = scratch.claimed(name)?;
        let file = file::open(&path, access).map_err(|source| EngineError::opening(&path, access, source))?;
        let whole = file.metadata().map_err(|source| failed("examine", &path, source))?.len();
        if reads && whole < target.size.0 {
            return Err(EngineError::Span { path, whole: Bytes(whole), offset: Bytes(0), size: target.size });
        }
        return Ok(file);
    }
    let path = scratch.claim(name)?;
    let file = file::create_new_with(&path, access)
        .map_err(|source| EngineError::accessing("create", &path, access, source))?;
    if target.preallocate {
        let failed = |source| failed("reserve the space of", &path, source);
        // What lies in one place of the device stands for that place only.
        if !target.per_worker && spread::preallocate(&file, target.size.0).map_err(failed)? {
            return Ok(file);
        }
        match file::preallocate(&file, target.size.0) {
            // Where blocks can't be reserved (tmpfs of old, NFS), the file at least has its size.
            Err(error) if error.kind() == io::ErrorKind::Unsupported => file.set_len(target.size.0),
            other => other,
        }
        .map_err(failed)?;
    }
    Ok(file)
}

/// Opens what the user has named, and returns the size of its span.
fn open_existing(
    existing: &ExistingTarget,
    access: Access,
    admitted: &mut Admitted,
) -> Result<(File, Bytes), EngineError> {
    let (file, whole) = admitted.open(&existing.path, existing.overwrite, access)?;
    let size = span_within(&existing.path, whole, existing.offset, existing.size)?;
    Ok((file, size))
}

/// The size of a span of something of `whole` bytes; a size of 0 is all that is there.
fn span_within(path: &Path, whole: u64, offset: Bytes, size: Bytes) -> Result<Bytes, EngineError> {
    let rest = whole.checked_sub(offset.0).filter(|rest| *rest > 0 && size.0 <= *rest);
    let whole_rest = rest.map(|rest| if size.0 == 0 { Bytes(rest) } else { size });
    whole_rest.ok_or_else(|| EngineError::Span { path: path.to_owned(), whole: Bytes(whole), offset, size })
}

/// Whether the page cache is dropped when a worker starts over. As with fio, an order that may repeat blocks has no rounds: its cache
/// is dropped once, before the phase.
pub(crate) fn drops_each_round(task: &FileTask) -> bool {
    let rounds = matches!(task.access, Order::Sequential | Order::Covering | Order::Backwards);
    // Verification of a round drops it as well; that of a backlog doesn't.
    let verified = task.verify.as_ref().is_some_and(|verify| verify.passes > 1);
    task.cache.invalidate && !task.direct && rounds && !verified && task.backend.moves_data()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolite_model::Verify;

    #[test]
    fn each_round_drops_the_cache_unless_its_verification_does() {
        let mut task = FileTask { access: Order::Sequential, ..FileTask::default() };
        task.cache.invalidate = true;
        let with = |passes, backlog| {
            let verify = Some(Verify { passes, backlog, ..Verify::default() });
            drops_each_round(&FileTask { verify, ..task.clone() })
        };
        assert_eq!(
            [with(0, 0), with(1, 0), with(0, 8), with(2, 0), with(2, 8)],
            [true, true, true, false, false]
        );
        assert!(!drops_each_round(&FileTask { direct: true, ..task.clone() }));
        assert!(!drops_each_round(&FileTask { access: Order::Random, ..task.clone() }));
    }
}
