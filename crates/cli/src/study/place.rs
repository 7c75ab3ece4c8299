//! What a study works on, looked at but not touched.

use std::fs::{File, Metadata};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use iolite_model::{Bytes, ErrorCause, ErrorOrigin, Host, Overwrite, Storage};
use iolite_suites::Subject;
use iolite_sys::device;
use iolite_sys::file::Access;

use super::args::TargetArgs;
use crate::exit::{UsageError, refuse};
use crate::setup;

/// Size of a file that is made, unless there is less room or the user says otherwise.
const MADE: Bytes = Bytes(1 << 30);

/// Sizes are in multiples of this, and at least so much.
const UNIT: Bytes = Bytes(1 << 20);

/// What a study works on.
#[derive(Debug)]
pub(super) struct StudyPlace {
    /// As the user has named it.
    pub(super) name: PathBuf,
    /// What exists already; `None` for a directory in which a file is created.
    pub(super) existing: Option<PathBuf>,
    /// Where the run's own file is created, if there is one.
    pub(super) directory: Option<PathBuf>,
    /// The storage beneath.
    pub(super) storage: Storage,
    /// Bytes that are used.
    pub(super) span: Bytes,
}

impl StudyPlace {
    /// Looks at a target.
    ///
    /// # Errors
    /// It is not there, not something that can be read, or too small.
    pub(super) fn find(args: &TargetArgs, host: &Host) -> anyhow::Result<StudyPlace> {
        let path = &args.target;
        let metadata = looked_at(path)?;
        if metadata.is_dir() {
            return StudyPlace::in_directory(args);
        }
        if args.make.is_some() {
            refuse!("{} already exists: --make applies to directories only", path.display());
        }
        let whole = whole_size(path, &metadata)?;
        let span = match args.size {
            Some(size) if size > whole => {
                refuse!("--size {size} is larger than {} ({whole})", path.display());
            }
            Some(size) => size,
            // What is to fit into the page cache has to leave room for everything else.
            None if host.memory.0 > 0 => Bytes(whole.0.min((host.memory.0 / 4).max(UNIT.0))),
            None => whole,
        };
        let span = if span > UNIT { span.round_down(UNIT.0) } else { span };
        let storage = iolite_observe::storage_of_target(path)?;
        let existing = path.canonicalize().unwrap_or_else(|_| path.clone());
        Ok(StudyPlace { name: path.clone(), existing: Some(existing), directory: None, storage, span })
    }

    fn in_directory(args: &TargetArgs) -> anyhow::Result<StudyPlace> {
        if args.size.is_some() {
            refuse!("--size applies to existing files and devices only: for a directory, use --make");
        }
        let directory = setup::writable_directory(&args.target)?;
        let storage = iolite_observe::storage(&directory)?;
        let free = storage.filesystem.free;
        let sized = storage.filesystem.size.0 > 0;
        let span = args.make.unwrap_or(if sized { Bytes(MADE.0.min(free.0 / 10)) } else { MADE });
        let span = span.round_down(UNIT.0);
        if span.0 == 0 || sized && span > free {
            refuse!(
                "cannot create a file of {} in {}, which has {free} free: specify --make with at least {UNIT}, or free some space",
                args.make.unwrap_or(span),
                directory.display()
            );
        }
        Ok(StudyPlace {
            name: args.target.clone(),
            existing: None,
            directory: Some(directory),
            storage,
            span,
        })
    }

    /// The subject of the study, where blocks of up to this size are used.
    ///
    /// # Errors
    /// Not even one block fits.
    pub(super) fn subject(
        &self,
        largest: Bytes,
        overwrite: Overwrite,
        direct: bool,
    ) -> Result<Subject, UsageError> {
        if largest.0 == 0 || largest > self.span {
            refuse!(
                "blocks of {largest} do not fit into the region of {} of {}: specify another size",
                self.span,
                self.name.display()
            );
        }
        Ok(Subject { existing: self.existing.clone(), span: self.span, overwrite, direct })
    }

    /// The smallest block that direct I/O takes here.
    pub(super) fn logical_block(&self) -> Bytes {
        let reported = self.storage.devices.iter().filter_map(|device| device.logical_block).max();
        reported.unwrap_or(Bytes(512))
    }

    /// Whether what exists already can be opened for direct I/O.
    pub(super) fn existing_takes_direct(&self) -> Option<bool> {
        let path = self.existing.as_ref()?;
        Some(iolite_sys::file::open(path, Access { direct: true, ..Access::default() }).is_ok())
    }
}

/// A device beneath a place, for reading.
///
/// # Errors
/// It is none, or what is studied does not lie on it.
pub(super) fn beneath(place: &StudyPlace, path: &Path) -> anyhow::Result<Subject> {
    let whole = whole_size(path, &looked_at(path)?)?;
    let Some(number) = device::device_number(&File::open(path)?)? else {
        refuse!(
            "{} is not a block device: specify the device on which {} is stored",
            path.display(),
            place.name.display()
        );
    };
    let devices = &place.storage.devices;
    if !devices.iter().any(|device| device.number == number) {
        let names: Vec<_> = devices.iter().map(|device| device.name.as_str()).collect();
        let on = if names.is_empty() { "no block device".to_owned() } else { names.join(", ") };
        refuse!(
            "{} is not stored on {} but on {on}: specify a device on which it is stored",
            place.name.display(),
            path.display()
        );
    }
    Ok(Subject::device(path.canonicalize()?, place.span.min(whole)))
}

fn looked_at(path: &Path) -> Result<Metadata, UsageError> {
    std::fs::metadata(path).map_err(|error| {
        let advice = ErrorCause::advice(&error, ErrorOrigin::Path(path));
        UsageError::new(format!("cannot examine {}: {error}{advice}", path.display()))
    })
}

/// The size of a file or device, which must be readable and hold something.
fn whole_size(path: &Path, metadata: &Metadata) -> Result<Bytes, UsageError> {
    let kind = metadata.file_type();
    let shown = path.display();
    if !kind.is_file() && !kind.is_block_device() {
        refuse!("{shown} is not a regular file, block device or directory");
    }
    let size = File::open(path).and_then(|file| device::size_of(&file)).map_err(|error| {
        UsageError::new(format!("cannot read {shown}: {error}; check the permissions (sudo)"))
    })?;
    if size == 0 {
        refuse!("{shown} is empty: specify a file with contents");
    }
    Ok(Bytes(size))
}
