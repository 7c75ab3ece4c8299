//! Devices that share data with another: its partitions, the disk that it is a part of, loop devices over the same file, and
//! what it rests on.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{major, makedev, minor};

use super::{CHAIN, Number, Part, number_at, parse_number, sys_directory};
use crate::holders::{Backing, loop_backing, loops_over};
use crate::signature;

/// Why nothing should be written to a device because of those that share its data: loop devices over the same file, what
/// it rests on, and loop devices over its partitions.
pub(super) fn used(number: Number) -> io::Result<Vec<String>> {
    let mut reasons = Vec::new();
    let mut below = number;
    // A loop device may rest on another one; no chain is longer than there are loop devices.
    for _ in 0..CHAIN {
        // A partition rests on what its disk rests on.
        let name = Part::at(sys_directory(disk_of(below).unwrap_or(below))?)?.name;
        let Some(backing) = loop_backing(&name) else { break };
        for other in loops_over(backing).into_iter().filter(|other| *other != name) {
            reasons.extend(used_by_name(&other).into_iter().map(|why| format!("{why}, over the same data")));
        }
        let Backing::Device(device) = backing else { break };
        below = (major(device), minor(device));
        let mut why = super::used(below)?;
        if why.is_empty() {
            why.extend(Part::at(sys_directory(below)?).ok().and_then(|part| claimed(&part.name)));
        }
        reasons.extend(why.into_iter().map(|why| format!("it rests on {why}")));
    }
    for part in Part::all(number)? {
        let loops = loops_over(Backing::Device(makedev(part.number.0, part.number.1)));
        reasons.extend(loops.into_iter().map(|name| format!("{name} rests on {}", part.name)));
    }
    Ok(reasons)
}

/// What is known against writing to a loop device of this name.
fn used_by_name(name: &str) -> Vec<String> {
    let number = fs::read_to_string(format!("/sys/block/{name}/dev")).ok();
    let number = number.and_then(|number| parse_number(number.trim()));
    let known = number.and_then(|number| super::used(number).ok()).unwrap_or_default();
    if known.is_empty() { claimed(name).into_iter().collect() } else { known }
}

/// Whether the device of this name is claimed, by whom the mounts of this process do not show.
fn claimed(name: &str) -> Option<String> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(libc::O_EXCL | libc::O_NONBLOCK);
    let opened = options.open(Path::new("/dev").join(name));
    let busy = opened.is_err_and(|error| error.kind() == io::ErrorKind::ResourceBusy);
    busy.then(|| format!("{name} is claimed by another program, or mounted in another container"))
}

/// Numbers of all devices that share data with this one, itself included.
pub fn related(number: Number) -> Vec<Number> {
    let mut found = BTreeSet::new();
    let mut below = number;
    for _ in 0..CHAIN {
        found.extend(disk_of(below));
        found.extend(Part::all(below).unwrap_or_default().into_iter().map(|part| part.number));
        let Some((name, backing)) = loop_beneath(below) else { break };
        for other in loops_over(backing).into_iter().filter(|other| *other != name) {
            let other = number_at(&Path::new("/dev").join(other));
            found.extend(
                other.and_then(|other| Part::all(other).ok()).into_iter().flatten().map(|p| p.number),
            );
        }
        let Backing::Device(device) = backing else { break };
        below = (major(device), minor(device));
    }
    found.insert(number);
    found.into_iter().collect()
}

/// The regular file at the bottom of a loop device, or of loop devices over one another, by device and inode; `None` where there is
/// none.
pub fn file_beneath(number: Number) -> Option<(u64, u64)> {
    let mut below = number;
    for _ in 0..CHAIN {
        match loop_beneath(below)?.1 {
            Backing::File(device, inode) => return Some((device, inode)),
            Backing::Device(device) => below = (major(device), minor(device)),
        }
    }
    None
}

/// The loop device that a device is, or is a partition of, by its name, and what that is made of.
fn loop_beneath(number: Number) -> Option<(String, Backing)> {
    let name = Part::at(sys_directory(disk_of(number).unwrap_or(number)).ok()?).ok()?.name;
    let backing = loop_backing(&name)?;
    Some((name, backing))
}

/// The disk that a partition is a part of.
fn disk_of(number: Number) -> Option<Number> {
    let directory = sys_directory(number).ok()?;
    let disk = directory.parent().filter(|_| directory.join("partition").exists())?;
    Some(Part::at(disk.to_owned()).ok()?.number)
}

/// What a partition of a device holds by its signature, with the partition's name, where the device itself has none.
pub fn partition_contents(number: Number) -> Option<String> {
    let parts = Part::all(number).ok()?;
    parts.into_iter().filter(|part| part.number != number).find_map(|part| {
        let file = fs::File::open(Path::new("/dev").join(&part.name)).ok()?;
        let same = super::device_number(&file).ok()? == Some(part.number);
        let what = signature::find(&file, super::size_of(&file).ok()?).ok()??;
        same.then(|| format!("{what} in its partition {}", part.name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{LoopDevice, run};

    #[test]
    fn partitions_and_their_disk_are_related() {
        let Some(device) = LoopDevice::with_partitions(16 << 20) else { return };
        let disk = device.number();
        let parts = Part::all(disk).unwrap();
        assert_eq!(parts.len(), 3);
        let numbers: BTreeSet<Number> = parts.iter().map(|part| part.number).collect();
        assert_eq!(BTreeSet::from_iter(related(disk)), numbers);
        let first = parts.iter().find(|part| part.number != disk).unwrap().number;
        let of_first = related(first);
        assert!(of_first.contains(&disk) && of_first.contains(&first) && of_first.len() == 2, "{of_first:?}");
    }

    #[test]
    fn what_a_partition_holds_is_found_from_its_disk() {
        let Some(device) = LoopDevice::with_partitions(16 << 20) else { return };
        let part = Part::all(device.number()).unwrap().pop().unwrap();
        let node = Path::new("/dev").join(&part.name);
        let (major, minor) = (part.number.0.to_string(), part.number.1.to_string());
        // Without udev nobody else creates the node.
        let created = !node.exists() && run("mknod", &[node.to_str().unwrap(), "b", &major, &minor]);
        let blank = partition_contents(device.number());
        let formatted = run("mkswap", &[node.to_str().unwrap()]);
        let held = partition_contents(device.number());
        if created {
            fs::remove_file(&node).unwrap();
        }
        if formatted {
            assert_eq!((blank, held), (None, Some(format!("swap space in its partition {}", part.name))));
        }
    }

    #[test]
    fn a_device_claimed_by_others_is_in_use_for_its_other_names() {
        let Some(device) = LoopDevice::new(16 << 20) else { return };
        let image = fs::read_to_string(format!("/sys/block/{}/loop/backing_file", device.name())).unwrap();
        let found =
            std::process::Command::new("losetup").args(["--find", "--show"]).arg(image.trim()).output();
        let second = String::from_utf8(found.unwrap().stdout).unwrap().trim().to_owned();
        let Some(number) = number_at(Path::new(&second)) else { return };
        let free = super::super::in_use(number);
        // As a file system does that is mounted where this process can't see it.
        let claim = OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(device.path()).unwrap();
        let busy = super::super::in_use(number);
        drop(claim);
        assert!(run("losetup", &["--detach", &second]));
        assert_eq!(free.unwrap(), Vec::<String>::new());
        let busy = busy.unwrap().join("; ");
        assert!(busy.contains(device.name()) && busy.contains("over the same data"), "{busy}");
    }
}
