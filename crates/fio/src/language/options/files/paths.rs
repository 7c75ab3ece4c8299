//! Which files a thread works on.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::language::error::{OptionError, Result};
use crate::language::options::Spec;
use crate::language::thread::ThreadIndex;

/// The most files of a thread.
const MAX_FILES: u32 = 1_000_000;

/// Where a clone's own files are; `None` for the current directory.
pub(crate) fn directory(spec: &Spec, place: ThreadIndex) -> Option<PathBuf> {
    let directories = &spec.files.directories;
    directories.get(place.clone as usize % directories.len().max(1)).cloned()
}

/// The files of a thread, in their order.
///
/// # Errors
/// There are too many, or a directory can't be read.
pub(crate) fn paths(spec: &Spec, place: ThreadIndex) -> Result<Vec<PathBuf>> {
    let files = &spec.files;
    if !files.names.is_empty() || files.below.is_some() {
        let first = files.directories.first();
        let named = files.names.iter().map(|name| within(first.map(PathBuf::as_path), name));
        let mut paths: Vec<PathBuf> = named.collect();
        if let Some(directory) = &files.below {
            below(directory, &mut paths)?;
        }
        paths.truncate(files.limit.unwrap_or(u32::MAX) as usize);
        return Ok(paths);
    }
    if files.number > MAX_FILES {
        return Err(OptionError::out_of_range(&files.number.to_string(), 1, MAX_FILES).at("nrfiles"));
    }
    let device = Path::new(spec.job.file_name());
    if files.number == 1 && files.directories.is_empty() && is_device(device) {
        return Ok(vec![device.to_owned()]);
    }
    let directory = directory(spec, place);
    let path = |file: u32| within(directory.as_deref(), &own_name(spec, place, file));
    Ok((0..files.number).map(path).collect())
}

/// Adds all regular files below a directory, in the order of their names.
///
/// # Errors
/// It can't be read, holds no file, or too many.
fn below(directory: &Path, paths: &mut Vec<PathBuf>) -> Result {
    let before = paths.len();
    let unreadable = |path: &Path, source| {
        OptionError::unreadable(format!("the directory `{}`", path.display()), source).at("opendir")
    };
    let mut directories = vec![directory.to_owned()];
    while let Some(next) = directories.pop() {
        for entry in fs::read_dir(&next).map_err(|error| unreadable(&next, error))? {
            let entry = entry.map_err(|error| unreadable(&next, error))?;
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => directories.push(entry.path()),
                Ok(kind) if kind.is_file() => paths.push(entry.path()),
                _ => {}
            }
            if paths.len() > MAX_FILES as usize {
                return Err(OptionError::refused(
                    format!("more than {MAX_FILES} files lie below `{}`", directory.display()),
                    "name a directory with fewer",
                )
                .at("opendir"));
            }
        }
    }
    if paths.len() == before {
        return Err(OptionError::refused(
            format!("no file lies below `{}`", directory.display()),
            "name another directory",
        )
        .at("opendir"));
    }
    paths[before..].sort();
    Ok(())
}

/// A name below a directory; as in fio an absolute one too.
fn within(directory: Option<&Path>, name: &str) -> PathBuf {
    match directory {
        Some(directory) => directory.join(name.trim_start_matches('/')),
        None => PathBuf::from(name),
    }
}

fn own_name(spec: &Spec, place: ThreadIndex, file: u32) -> String {
    let number = place.clone.to_string();
    // The job's name comes last: what it holds is not for replacing.
    let name = spec.files.format.replace("$clientuid", "").replace("$jobnum", &number);
    name.replace("$filenum", &file.to_string()).replace("$jobname", spec.job.file_name())
}

/// Whether there is a device of this name.
pub(crate) fn is_device(path: &Path) -> bool {
    let kind = fs::metadata(path).map(|metadata| metadata.file_type());
    kind.is_ok_and(|kind| kind.is_block_device() || kind.is_char_device())
}

/// What there is of a file or a block device; `None` where there is none, or it has no size.
pub(crate) fn length(path: &Path) -> Option<u64> {
    let metadata = fs::metadata(path).ok()?;
    if metadata.is_file() {
        return Some(metadata.len());
    }
    if !metadata.file_type().is_block_device() {
        return None;
    }
    // Documentation/ABI/stable/sysfs-block: in sectors of 512 bytes. The device need not be opened for it.
    let (major, minor) = device_number(metadata.rdev());
    let sectors = fs::read_to_string(format!("/sys/dev/block/{major}:{minor}/size")).ok()?;
    sectors.trim().parse::<u64>().ok()?.checked_mul(512)
}

/// Major and minor number as Linux packs them (makedev(3)).
fn device_number(packed: u64) -> (u64, u64) {
    let major = (packed >> 8 & 0xfff) | (packed >> 32 & !0xfff);
    let minor = (packed & 0xff) | (packed >> 12 & !0xff);
    (major, minor)
}
