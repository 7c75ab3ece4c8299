//! Devices in use, or with something on them, that stay as they are.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{Loop, Mount, TestDirectory, is_root, skip, stderr};
use crate::{Holder, SIZE, checksum, precious, refused, said, write_with_fio, write_with_job};

/// A signature is all that is known of a device: nothing is written to it unless it is named.
#[test]
fn each_kind_of_signature_keeps_a_device_from_being_overwritten() {
    let place = TestDirectory::new();
    const SIZE: u64 = 4 << 20;
    let md: &[u8] = &[0xFC, 0x4E, 0x2B, 0xA9];
    for (offset, magic, what) in [
        (510, &[0x55, 0xAA][..], "a DOS partition table"),
        (512, b"EFI PART", "a GPT partition table"),
        (SIZE - 512, b"EFI PART", "a GPT partition table"),
        (0x200, b"LABELONE", "an LVM physical volume"),
        (4096, md, "an md (RAID) member"),
        (SIZE - 8192, md, "an md (RAID) member"),
        (0, b"LUKS\xBA\xBE", "a LUKS volume"),
        ((128 << 10) + 5 * 1024, &[0x0C, 0xB1, 0xBA, 0, 0, 0, 0, 0], "a ZFS pool member"),
        (0x1_0040, b"_BHRfS_M", "a btrfs file system"),
        (4086, b"SWAPSPACE2", "swap space"),
        (0, b"bluestore block device", "a Ceph BlueStore device"),
        (32, b"ORCLDISK", "an Oracle ASM disk"),
    ] {
        let image = place.root.path().join("image");
        let file = File::create(&image).unwrap();
        file.set_len(SIZE).unwrap();
        file.write_all_at(magic, offset).unwrap();
        // Otherwise this program would be named as its user.
        drop(file);
        let Some(device) = Loop::over(&image, false) else { return };
        let before = checksum(&image);
        for overwrite in ["anything", "blank"] {
            let output = write_with_job(&place, Path::new(&device.0), overwrite, &[]);
            assert_eq!(output.status.code(), Some(1), "{what}: {}", said(&output));
            assert!(said(&output).contains(what), "{what}: {}", said(&output));
            assert!(before == checksum(&image), "{what} was overwritten");
        }
    }
}

/// A disk without a partition table, whose partition the kernel knows nevertheless.
#[test]
fn what_is_in_a_partition_keeps_its_disk_from_being_overwritten() {
    let place = TestDirectory::new();
    let image = place.root.path().join("image");
    File::create(&image).unwrap().set_len(SIZE).unwrap();
    let Some(disk) = Loop::over(&image, false) else { return };
    let sectors = (SIZE / 512 - 2048).to_string();
    let added = Command::new("addpart").args([&disk.0, "1", "2048", &sectors]).output();
    let partition = format!("{}p1", disk.0);
    if !added.is_ok_and(|output| output.status.success()) || !Path::new(&partition).exists() {
        return skip("no partition can be added to a loop device here").unwrap_or(());
    }
    let made = Command::new("mkswap").arg(&partition).output().unwrap();
    assert!(made.status.success(), "{}", stderr(&made));
    let before = checksum(&image);
    let output = write_with_job(&place, Path::new(&disk.0), "anything", &[]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("swap space in its partition"), "{}", said(&output));
    assert!(before == checksum(&image));
}

/// In a mount namespace of its own, as a container has: no mount of ours shows it.
#[test]
fn a_device_mounted_in_another_container_stays_as_it_is() {
    let place = TestDirectory::new();
    let image = place.root.path().join("image");
    File::create(&image).unwrap().set_len(64 << 20).unwrap();
    let (Some(first), Some(second)) = (Loop::over(&image, false), Loop::over(&image, false)) else { return };
    let made = Command::new("mkfs.ext4").args(["-q", "-F", &first.0]).status();
    if !made.is_ok_and(|status| status.success()) {
        return skip("mkfs.ext4 is not there").unwrap_or(());
    }
    let at = place.root.path().join("mounted");
    fs::create_dir(&at).unwrap();
    let script = "mount -o ro,noload \"$1\" \"$2\" && echo ready && read end";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script, "sh", &first.0]).arg(&at);
    let Ok(mut child) = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() else {
        return skip("no unshare(1)").unwrap_or(());
    };
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut line)
        .unwrap();
    let _container = Holder(child);
    if line != "ready\n" {
        return skip("nothing can be mounted in a namespace of its own").unwrap_or(());
    }
    assert!(!fs::read_to_string("/proc/self/mountinfo").unwrap().contains(&format!(" {} ", first.0)));
    refused(&place, Path::new(&first.0), &image, "another program holds it");
    refused(&place, Path::new(&second.0), &image, "mounted in another container");
}

/// Swap space in a file: the kernel itself writes to it, but for its first page.
#[test]
fn a_swap_file_in_use_is_refused() {
    if !is_root() {
        return skip("only root can turn swap space on").unwrap_or(());
    }
    let place = TestDirectory::new();
    let image = precious(&place, "swap");
    fs::set_permissions(&image, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    struct Swap<'a>(&'a Path);
    impl Drop for Swap<'_> {
        fn drop(&mut self) {
            let _ = Command::new("swapoff").arg(self.0).status();
        }
    }
    let done = |command: &str| {
        Command::new(command).arg(&image).output().is_ok_and(|output| output.status.success())
    };
    if !done("mkswap") || !done("swapon") {
        return skip("no swap file can be used on this file system").unwrap_or(());
    }
    let _swap = Swap(&image);
    let link = place.root.path().join("other name");
    fs::hard_link(&image, &link).unwrap();
    let header = || {
        let mut page = vec![0; 4096];
        File::open(&image).unwrap().read_exact_at(&mut page, 0).unwrap();
        page
    };
    // The kernel refuses as well; the reason is named by either.
    for path in [&image, &link] {
        let before = header();
        for output in [write_with_fio(&place, path), write_with_job(&place, path, "anything", &[])] {
            assert_eq!(output.status.code(), Some(1), "{}", said(&output));
            assert!(said(&output).contains("it is swap space"), "{}", said(&output));
        }
        assert!(before == header());
    }
}

/// Two loop devices that begin at different places of a file share its data.
#[test]
fn a_loop_device_at_an_offset_of_a_mounted_image_is_in_use() {
    let place = TestDirectory::new();
    let image = place.root.path().join("image");
    File::create(&image).unwrap().set_len(64 << 20).unwrap();
    let Some(whole) = Loop::over(&image, false) else { return };
    let made = Command::new("mkfs.ext4").args(["-q", "-F", &whole.0]).status();
    if !made.is_ok_and(|status| status.success()) {
        return skip("mkfs.ext4 is not there").unwrap_or(());
    }
    let found = Command::new("losetup")
        .args(["--find", "--show", "--offset", "1048576"])
        .arg(&image)
        .output()
        .unwrap();
    assert!(found.status.success(), "{}", stderr(&found));
    let inner = Loop(String::from_utf8(found.stdout).unwrap().trim().to_owned());
    let Some(_mount) = Mount::new(&["-o", "ro,noload", &whole.0], &place.root.path().join("mounted")) else {
        return;
    };
    refused(&place, Path::new(&inner.0), &image, "over the same data");
}
