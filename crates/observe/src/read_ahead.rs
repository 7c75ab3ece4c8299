//! The kernel's read-ahead for a storage: how far it reads on when a file is read one block after the other.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use iolite_model::{Bytes, Device, ErrorCause, ErrorOrigin, Storage};

use crate::sysfs::Sysfs;

/// The setting of the device whose read-ahead a storage goes by. What it was is restored when this is dropped.
///
/// That is the device right beneath the file system (or the device itself), whatever it rests on; a partition has its disk's.
/// A file that is open already keeps the read-ahead it was opened with.
#[derive(Debug)]
pub struct ReadAhead {
    device: String,
    path: PathBuf,
    original: u64,
    changed: bool,
}

/// Why a read-ahead can't be set.
#[derive(Debug, thiserror::Error)]
pub enum ReadAheadError {
    /// No device to set it on.
    #[error(
        "{directory} ({filesystem}) is not on a block device whose read-ahead can be set: specify a block device, or a file on a \
         file system of one"
    )]
    NoDevice {
        /// What was asked about.
        directory: PathBuf,
        /// Type of its file system.
        filesystem: String,
    },
    /// Several devices, none of which it goes by.
    #[error(
        "{filesystem} on several devices ({}) has its own read-ahead, which is not set by device: specify a file on another file \
         system, or one of the devices", .devices.join(", ")
    )]
    Several {
        /// Type of the file system.
        filesystem: String,
        /// The devices.
        devices: Vec<String>,
    },
    /// The user may not.
    #[error("cannot set the read-ahead of {device}: {source}{}", ErrorCause::advice(.source, ErrorOrigin::Setting))]
    Denied {
        /// The device.
        device: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The kernel refuses.
    #[error("cannot read or set the read-ahead of {device} ({source}): check {}", .path.display())]
    Refused {
        /// The device.
        device: String,
        /// Where it is set.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
}

impl ReadAhead {
    /// The setting for this storage, once it is sure that it may be changed.
    ///
    /// # Errors
    /// There is no such device, or this user may not set it.
    pub fn of(storage: &Storage) -> Result<ReadAhead, ReadAheadError> {
        ReadAhead::within(&Sysfs::system(), storage)
    }

    fn within(sysfs: &Sysfs, storage: &Storage) -> Result<ReadAhead, ReadAheadError> {
        let device = governing(storage)?;
        let path = sysfs.link(device.number).join("queue/read_ahead_kb");
        let device = device.name.clone();
        if let Err(source) = OpenOptions::new().write(true).open(&path) {
            return Err(match source.kind() {
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                    ReadAheadError::Denied { device, source }
                }
                _ => ReadAheadError::Refused { device, path, source },
            });
        }
        match read(&path) {
            Ok(original) => Ok(ReadAhead { device, path, original, changed: false }),
            Err(source) => Err(ReadAheadError::Refused { device, path, source }),
        }
    }

    /// The device's kernel name.
    pub fn device(&self) -> &str {
        &self.device
    }

    /// What it was.
    pub fn original(&self) -> Bytes {
        Bytes(self.original * 1024)
    }

    /// The command that restores what it was, for whoever has to do it by hand.
    pub fn command(&self) -> String {
        format!("echo {} > /sys/block/{}/queue/read_ahead_kb", self.original, self.device.replace('/', "!"))
    }

    /// Sets it, to whole KiB. Returns what is in effect then: the kernel may round.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn set(&mut self, read_ahead: Bytes) -> Result<Bytes, ReadAheadError> {
        // Before it is tried: whatever comes of it is to be undone.
        self.changed = true;
        let tried = write(&self.path, read_ahead.0 / 1024).and_then(|()| read(&self.path));
        tried.map(|kib| Bytes(kib * 1024)).map_err(|source| self.refused(source))
    }

    /// Restores what it was.
    ///
    /// # Errors
    /// The kernel refuses, or something else is in effect afterwards.
    pub fn restore(&mut self) -> Result<(), ReadAheadError> {
        if !self.changed {
            return Ok(());
        }
        let tried = write(&self.path, self.original).and_then(|()| read(&self.path));
        match tried {
            Ok(kib) if kib == self.original => {
                self.changed = false;
                Ok(())
            }
            Ok(kib) => Err(self.refused(io::Error::other(format!("it is {kib} KiB, not {}", self.original)))),
            Err(source) => Err(self.refused(source)),
        }
    }

    fn refused(&self, source: io::Error) -> ReadAheadError {
        ReadAheadError::Refused { device: self.device.clone(), path: self.path.clone(), source }
    }
}

impl Drop for ReadAhead {
    fn drop(&mut self) {
        // Whoever wants to know whether it worked has called it before.
        let _ = self.restore();
    }
}

/// The device whose setting the storage goes by.
fn governing(storage: &Storage) -> Result<&Device, ReadAheadError> {
    let tops: Vec<&Device> = storage.tops().collect();
    let filesystem = storage.filesystem.kind.clone();
    match tops.as_slice() {
        [] => Err(ReadAheadError::NoDevice { directory: storage.directory.clone(), filesystem }),
        [top] if filesystem != "btrfs" => {
            let disk = storage.devices.iter().find(|device| top.rests_on.contains(&device.name));
            Ok(disk.filter(|_| top.kind == "partition").unwrap_or(top))
        }
        several => {
            let devices = several.iter().map(|device| device.name.clone()).collect();
            Err(ReadAheadError::Several { filesystem, devices })
        }
    }
}

fn read(path: &Path) -> io::Result<u64> {
    let text = fs::read_to_string(path)?;
    let unknown =
        |_| io::Error::new(io::ErrorKind::InvalidData, format!("`{}` is not a number", text.trim()));
    text.trim().parse().map_err(unknown)
}

fn write(path: &Path, kib: u64) -> io::Result<()> {
    OpenOptions::new().write(true).truncate(true).open(path)?.write_all(format!("{kib}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::chain;
    use crate::sysfs::fake::Fake;

    fn partitioned() -> (Fake, Storage) {
        let fake = Fake::new();
        fake.add("sda", (8, 0), &[("queue/read_ahead_kb", "128\n")]);
        fake.add("sda/sda1", (8, 1), &[("partition", "1")]);
        let devices = chain(&fake.sysfs(), &[(8, 1)], &|_: &Path| Vec::new());
        (fake, Storage { devices, ..Storage::default() })
    }

    fn kib(fake: &Fake) -> u64 {
        read(&fake.sysfs().link((8, 0)).join("queue/read_ahead_kb")).unwrap()
    }

    #[test]
    fn a_partition_goes_by_its_disk_and_what_was_is_restored() {
        let (fake, storage) = partitioned();
        let mut setting = ReadAhead::within(&fake.sysfs(), &storage).unwrap();
        assert_eq!((setting.device(), setting.original()), ("sda", Bytes(128 << 10)));
        assert_eq!(setting.command(), "echo 128 > /sys/block/sda/queue/read_ahead_kb");
        assert_eq!((setting.set(Bytes(1 << 20)).unwrap(), kib(&fake)), (Bytes(1 << 20), 1024));
        setting.restore().unwrap();
        assert_eq!(kib(&fake), 128);
        setting.set(Bytes(0)).unwrap();
        assert_eq!(kib(&fake), 0);
        drop(setting);
        assert_eq!(kib(&fake), 128);
    }

    #[test]
    fn a_panic_restores_it_too() {
        let (fake, storage) = partitioned();
        let sysfs = fake.sysfs();
        let died = std::thread::scope(|scope| {
            scope
                .spawn(|| {
                    let mut setting = ReadAhead::within(&sysfs, &storage).unwrap();
                    setting.set(Bytes(4 << 20)).unwrap();
                    panic!("on purpose");
                })
                .join()
        });
        assert!(died.is_err());
        assert_eq!(kib(&fake), 128);
    }

    #[test]
    fn where_there_is_none_to_set_it_is_said() {
        let error = ReadAhead::of(&Storage::default()).unwrap_err();
        assert!(error.to_string().contains("is not on a block device"), "{error}");
        let (_, mut storage) = partitioned();
        storage.filesystem.kind = "btrfs".into();
        let error = ReadAhead::of(&storage).unwrap_err().to_string();
        assert!(error.contains("btrfs on several devices (sda1)"), "{error}");
    }
}
