//! Which files, and which part of each.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use iolite_model::{Bytes, NamedFile};

use crate::language::options::Spec;
use crate::language::thread::Place;
use crate::language::value::Amount;

/// The most files of a thread.
const MOST_FILES: u32 = 1_000_000;

/// Tells the draw of a file's size from others.
const FILE_SIZE: u64 = 2;

/// Where a clone's own files are; `None` for the current directory.
pub(super) fn directory(spec: &Spec, place: Place) -> Option<PathBuf> {
    let directories = &spec.files.directories;
    directories.get(place.clone as usize % directories.len().max(1)).cloned()
}

/// The files of a thread, in their order.
///
/// # Errors
/// There are too many.
fn paths(spec: &Spec, place: Place) -> Result<Vec<PathBuf>, String> {
    let files = &spec.files;
    if !files.names.is_empty() {
        let first = files.directories.first();
        return Ok(files.names.iter().map(|name| within(first.map(PathBuf::as_path), name)).collect());
    }
    if files.number > MOST_FILES {
        return Err(format!("nrfiles={}: {MOST_FILES} files of a clone are the most", files.number));
    }
    let device = Path::new(&spec.job.name);
    if files.number == 1 && files.directories.is_empty() && is_device(device) {
        return Ok(vec![device.to_owned()]);
    }
    let directory = directory(spec, place);
    let path = |file: u32| within(directory.as_deref(), &own_name(spec, place, file));
    Ok((0..files.number).map(path).collect())
}

/// A name below a directory; as in fio an absolute one too.
fn within(directory: Option<&Path>, name: &str) -> PathBuf {
    match directory {
        Some(directory) => directory.join(name.trim_start_matches('/')),
        None => PathBuf::from(name),
    }
}

fn own_name(spec: &Spec, place: Place, file: u32) -> String {
    let number = place.clone.to_string();
    // The job's name comes last: what it holds is not for replacing.
    let name = spec.files.format.replace("$clientuid", "").replace("$jobnum", &number);
    name.replace("$filenum", &file.to_string()).replace("$jobname", &spec.job.name)
}

fn is_device(path: &Path) -> bool {
    let kind = fs::metadata(path).map(|metadata| metadata.file_type());
    kind.is_ok_and(|kind| kind.is_block_device() || kind.is_char_device())
}

/// What there is of a file or a block device; `None` where there is none, or it has no size.
pub(super) fn length(path: &Path) -> Option<u64> {
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

/// The part of each file in which work is done; sizes that only the file will tell are 0.
///
/// `least` is the least size of an operation.
///
/// # Errors
/// A file is too small, or a percentage is one of nothing.
pub(super) fn extents(spec: &Spec, place: Place, least: Bytes) -> Result<Vec<NamedFile>, String> {
    let (paths, files) = (paths(spec, place)?, &spec.files);
    let number = paths.len() as u64;
    let extent = |(index, path): (usize, PathBuf)| {
        let device = is_device(&path);
        // A file that is there may grow.
        let length = length(&path).filter(|_| device || !files.fill);
        let open = files.size.is_none() && files.file_size.is_none();
        if open && fs::metadata(&path).is_ok_and(|found| found.file_type().is_char_device()) {
            return Err(format!("size: `{}` has none of its own: give it one", path.display()));
        }
        let draw = |(low, high): (Bytes, Bytes)| {
            let drawn = spec.io.draw(place, FILE_SIZE, index as u64, (low.0, high.0));
            if low == high { drawn } else { Bytes(drawn).round_down(least.0).0.max(low.0) }
        };
        let file = File { path, device, length, given: files.file_size.map(draw) };
        file.extent(spec, place, number, least)
    };
    paths.into_iter().enumerate().map(extent).collect()
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
    fn extent(self, spec: &Spec, place: Place, number: u64, least: Bytes) -> Result<NamedFile, String> {
        let offset = self.offset(spec, place, number, least)?;
        let mut size = self.size(spec, number, offset, least)?;
        if let Some(end) = self.length.filter(|_| self.device) {
            // As in fio: what would lie beyond a device's end is left out.
            let rest = self.rest(end, offset)?;
            size = size.map(|size| size.min(rest));
        }
        if size.is_some_and(|size| size < least.0) {
            return Err(format!(
                "size: `{}` has {} bytes to work in, and the least operation has {}: make it larger, \
         or bs smaller",
                self.path.display(),
                size.unwrap_or_default(),
                least.0
            ));
        }
        Ok(NamedFile { path: self.path, offset: Bytes(offset), size: Bytes(size.unwrap_or(0)) })
    }

    /// The file's size, as far as it is known before it is made.
    fn whole(&self, spec: &Spec, number: u64) -> Option<u64> {
        let share = match spec.files.size {
            Some(Amount::Bytes(size)) => Some(size.0 / number),
            _ => None,
        };
        self.given.or(self.length).or(share)
    }

    fn offset(&self, spec: &Spec, place: Place, number: u64, least: Bytes) -> Result<u64, String> {
        let files = &spec.files;
        let align = if files.offset_align.0 > 0 { files.offset_align.0 } else { least.0 };
        let bytes = |name: &str, amount: Amount| -> Result<u64, String> {
            match amount {
                Amount::Bytes(bytes) => Ok(bytes.0),
                Amount::Percent(percent) => {
                    let whole = self.whole(spec, number).ok_or_else(|| self.unknown(name))?;
                    Ok(share(whole, percent).div_ceil(align.max(1)).saturating_mul(align.max(1)))
                }
            }
        };
        let end = if files.append { self.length.unwrap_or(0) } else { 0 };
        let offset = bytes("offset", files.offset)?;
        let apart = bytes("offset_increment", files.increment)?.checked_mul(u64::from(place.clone));
        let offset = apart.and_then(|apart| offset.checked_add(apart)?.checked_add(end));
        offset.ok_or_else(|| {
            "offset_increment: the last clones would begin beyond all files: make it smaller".into()
        })
    }

    /// Bytes from `offset` on; `None` where only the file will tell.
    fn size(&self, spec: &Spec, number: u64, offset: u64, least: Bytes) -> Result<Option<u64>, String> {
        let rest = |whole| self.rest(whole, offset);
        match (spec.files.size, self.given.or(self.length)) {
            (Some(Amount::Percent(percent)), Some(whole)) => {
                let part = Bytes(share(whole, percent)).round_down(least.0).0;
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
    fn rest(&self, whole: u64, offset: u64) -> Result<u64, String> {
        whole.checked_sub(offset).ok_or_else(|| {
            let path = self.path.display();
            format!(
                "offset: work would begin at byte {offset} of `{path}`, which has {whole}: make it smaller"
            )
        })
    }

    fn unknown(&self, option: &str) -> String {
        format!(
            "{option}: `{}` is not there yet, so that a percentage of it means nothing: give bytes",
            self.path.display()
        )
    }
}

/// So many percent of a number of bytes.
pub(super) fn share(whole: u64, percent: f64) -> u64 {
    (whole as f64 * percent / 100.0) as u64
}
