//! The storage that files and devices are on, which need not exist yet.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use iolite_model::{Device, Storage};

use crate::error::Error;
use crate::storage::{storage, storage_of_target};

/// The storage under all of these, `None` without any: what is reported is that of the first, and the devices beneath the others
/// are added, so that what reaches them is counted too. Where one has no devices that are known, none are reported: their
/// counters would take its share for served from memory.
///
/// # Errors
/// A path can't be examined.
pub fn storage_beneath<'a>(targets: impl Iterator<Item = &'a Path>) -> Result<Option<Storage>, Error> {
    let mut seen = BTreeSet::new();
    let mut whole: Option<Storage> = None;
    for place in targets.map(place) {
        if !seen.insert(place.clone()) {
            continue;
        }
        let storage = if place.is_dir() { storage(&place)? } else { storage_of_target(&place)? };
        match &mut whole {
            Some(whole) => add(&mut whole.devices, storage.devices),
            None => whole = Some(storage),
        }
    }
    Ok(whole)
}

/// What there is to look at: a device itself, of a file the directory that it is or will be in.
fn place(target: &Path) -> PathBuf {
    // A link leads to where its file is.
    let target = fs::canonicalize(target).unwrap_or_else(|_| target.to_path_buf());
    if fs::metadata(&target).is_ok_and(|there| there.is_dir() || there.file_type().is_block_device()) {
        return target;
    }
    let mut parents = target.ancestors().skip(1).filter(|parent| parent.is_dir());
    parents.next().map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

fn add(devices: &mut Vec<Device>, others: Vec<Device>) {
    if devices.is_empty() || others.is_empty() {
        devices.clear();
        return;
    }
    for other in others {
        if !devices.iter().any(|device| device.number == other.number) {
            devices.push(other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_not_there_yet_are_on_the_storage_of_their_directory() {
        let directory = tempfile::tempdir().unwrap();
        let within = directory.path().canonicalize().unwrap();
        let missing = directory.path().join("a/b");
        for target in [missing.as_path(), &directory.path().join("c"), directory.path()] {
            assert_eq!(place(target), within, "{}", target.display());
        }
        assert_eq!(place(Path::new("not-there")), Path::new("."));
        let found =
            storage_beneath([missing.as_path(), &directory.path().join("c")].into_iter()).unwrap().unwrap();
        // What is free changes meanwhile.
        let alone = storage(directory.path()).unwrap();
        assert_eq!((found.directory, found.devices), (alone.directory, alone.devices));
        assert_eq!(storage_beneath(std::iter::empty()).unwrap(), None);
    }

    #[test]
    fn devices_beneath_several_are_counted_once_and_not_at_all_where_one_has_none() {
        let device = |minor| Device { number: (8, minor), ..Device::default() };
        let mut devices = vec![device(1), device(0)];
        add(&mut devices, vec![device(2), device(0)]);
        assert_eq!(devices, [device(1), device(0), device(2)]);
        add(&mut devices, Vec::new());
        assert_eq!(devices, []);
        add(&mut devices, vec![device(3)]);
        assert_eq!(devices, []);
    }
}
