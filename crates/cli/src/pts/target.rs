//! What there is at the target of `iolite pts`.

use std::fs::File;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use iolite_engine::EngineError;
use iolite_model::{Bytes, PtsTerms};
use iolite_suites::PtsTarget;
use iolite_sys::device;

use crate::exit::{UsageError, refuse};

/// Unit in which the kernel counts the blocks of a file (st_blocks, stat(2)).
const ALLOCATION_UNIT: u64 = 512;

/// What there is at the target.
pub(super) struct InspectedTarget {
    pub(super) target: PtsTarget,
    pub(super) direct: bool,
    pub(super) is_device: bool,
    /// Whether it is a namespace of an NVMe drive itself.
    pub(super) is_namespace: bool,
    /// Bytes that have blocks; of a device all.
    allocated: Bytes,
}

impl InspectedTarget {
    /// Bytes of the span that take space of the file system only when they are written: those of a sparse file.
    pub(super) fn missing(&self, terms: &PtsTerms) -> Bytes {
        Bytes(terms.span.0.saturating_sub(self.allocated.0))
    }

    /// Bytes that a purge discards: all of a device, which is no more than confirmed; what is beyond the active range of a file is kept.
    pub(super) fn purged(&self, terms: &PtsTerms) -> Bytes {
        if self.is_device { self.target.size } else { terms.span }
    }

    /// Looks at a target, without opening it for writing.
    pub(super) fn at(path: &Path) -> Result<InspectedTarget, UsageError> {
        let shown = path.display();
        let cannot = |source: std::io::Error| {
            let error = EngineError::File { action: "read", path: path.to_owned(), source };
            UsageError::new(error.to_string())
        };
        let path = path.canonicalize().map_err(cannot)?;
        let file = File::open(&path).map_err(cannot)?;
        let metadata = file.metadata().map_err(cannot)?;
        let kind = metadata.file_type();
        let is_device = kind.is_block_device();
        if !is_device && !kind.is_file() {
            refuse!("{shown} is neither a block device nor a regular file");
        }
        let number = device::device_number(&file).map_err(cannot)?;
        if let Some(number) = number {
            let reasons = device::in_use(number).map_err(cannot)?;
            if let Some(reason) = reasons.first() {
                refuse!("{shown} is in use ({reason}): all its data would be lost; specify another device");
            }
        }
        let size = Bytes(device::size_of(&file).map_err(cannot)?);
        let access = iolite_sys::file::Access { direct: true, ..iolite_sys::file::Access::default() };
        let direct = iolite_sys::file::open(&path, access).ok();
        let logical_block = logical_block(&file, direct.as_ref()).map_err(cannot)?;
        let physical_block = device::physical_block(&file).map(|block| Bytes(block.into()));
        let target = PtsTarget {
            path,
            size,
            logical_block,
            physical_block,
            partition_start: number.and_then(device::partition_start).map(Bytes),
            discards: number.is_none_or(device::discards),
            serial: number.and_then(device::identity),
        };
        let allocated =
            if is_device { size } else { Bytes(metadata.blocks().saturating_mul(ALLOCATION_UNIT)) };
        let is_namespace = number.is_some_and(device::is_nvme_namespace);
        Ok(InspectedTarget { target, direct: direct.is_some(), is_device, is_namespace, allocated })
    }
}

/// Smallest block without direct I/O.
const BUFFERED: Bytes = Bytes(512);

/// The smallest block of a device; of a file the unit of direct I/O, where that works.
fn logical_block(file: &File, direct: Option<&File>) -> std::io::Result<Bytes> {
    if let Ok(block) = device::logical_block(file) {
        return Ok(Bytes(block.into()));
    }
    let Some(direct) = direct else { return Ok(BUFFERED) };
    // A file that is too small for this is too small to be tested, and refused for that.
    let unit = match iolite_sys::file::direct_unit_of(direct) {
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => None,
        unit => unit?,
    };
    Ok(unit.map_or(BUFFERED, |unit| Bytes(unit.into())))
}
