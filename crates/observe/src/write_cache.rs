//! The write cache of a drive: what really switches it, and not the kernel's view of it (`queue/write_cache`), which only decides
//! whether flushes are sent.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use iolite_model::{Device, Storage};
use iolite_sys::nvme;

use crate::sysfs::Sysfs;

/// The write cache of the drive at a device. What it was is restored when this is dropped.
#[derive(Debug)]
pub struct WriteCache {
    device: String,
    setting: Setting,
    original: bool,
    changed: bool,
}

/// What switches the cache.
#[derive(Debug)]
enum Setting {
    /// An attribute that the driver passes on to the drive: `cache_type` of SCSI and SATA disks (MODE SELECT, the caching mode
    /// page) and of virtio disks (the host's cache).
    Attribute { path: PathBuf, driver: &'static str },
    /// The feature of an NVMe drive.
    Nvme { path: PathBuf },
}

/// Why a write cache cannot be switched.
#[derive(Debug, thiserror::Error)]
pub enum WriteCacheError {
    /// No drive of its own is there.
    #[error(
        "the write cache of {device} cannot be switched: only SCSI, SATA, NVMe and virtio drives have a setting for it (`queue/write_cache` \
         is only the kernel's view of it); set it where the device comes from"
    )]
    None {
        /// What was asked about.
        device: String,
    },
    /// The drive or the kernel refuses.
    #[error(
        "cannot read or switch the write cache of {device} ({source}): this requires root and a drive that allows it"
    )]
    Refused {
        /// The device.
        device: String,
        /// The answer.
        source: io::Error,
    },
}

impl WriteCache {
    /// The write cache of the drive that the storage, a device, is or is a partition of.
    ///
    /// # Errors
    /// It is no drive with such a setting, or the setting cannot be read.
    pub fn of(storage: &Storage) -> Result<WriteCache, WriteCacheError> {
        WriteCache::within(&Sysfs::system(), storage)
    }

    fn within(sysfs: &Sysfs, storage: &Storage) -> Result<WriteCache, WriteCacheError> {
        let none = || WriteCacheError::None { device: storage.directory.display().to_string() };
        let drive = drive(storage).ok_or_else(none)?;
        let device = drive.name.clone();
        let setting = setting(sysfs, drive).ok_or_else(none)?;
        match setting.is_on() {
            Ok(original) => Ok(WriteCache { device, setting, original, changed: false }),
            Err(source) => Err(WriteCacheError::Refused { device, source }),
        }
    }

    /// The drive's kernel name.
    pub fn device(&self) -> &str {
        &self.device
    }

    /// Whether it was on.
    pub fn was_on(&self) -> bool {
        self.original
    }

    /// What switches it.
    pub fn by(&self) -> String {
        match &self.setting {
            Setting::Attribute { driver, .. } => format!("cache_type ({driver})"),
            Setting::Nvme { .. } => "NVMe feature 06h".to_owned(),
        }
    }

    /// The command that restores what it was, for whoever has to do it by hand.
    pub fn command(&self) -> String {
        match &self.setting {
            Setting::Attribute { path, .. } => format!("echo {} > {}", named(self.original), path.display()),
            Setting::Nvme { path } => {
                format!("nvme set-feature {} -f 6 -V {}", path.display(), u32::from(self.original))
            }
        }
    }

    /// Restores this state at the end instead of the present one: what an earlier run, which could not restore it, has found.
    pub fn restore_to(&mut self, was_on: bool) {
        self.changed |= was_on != self.original;
        self.original = was_on;
    }

    /// Switches it.
    ///
    /// # Errors
    /// The drive or the kernel refuses, or it is as before.
    pub fn switch(&mut self, on: bool) -> Result<(), WriteCacheError> {
        // Before it is tried: whatever comes of it is to be undone.
        self.changed = true;
        self.set(on)
    }

    /// Restores what it was.
    ///
    /// # Errors
    /// The drive or the kernel refuses.
    pub fn restore(&mut self) -> Result<(), WriteCacheError> {
        if self.changed {
            self.set(self.original)?;
            self.changed = false;
        }
        Ok(())
    }

    fn set(&self, on: bool) -> Result<(), WriteCacheError> {
        let tried = self.setting.set(on).and_then(|()| self.setting.is_on());
        let refused = |source| WriteCacheError::Refused { device: self.device.clone(), source };
        match tried {
            Ok(is_on) if is_on == on => Ok(()),
            Ok(_) => Err(refused(io::Error::other("it has not changed"))),
            Err(source) => Err(refused(source)),
        }
    }
}

impl Drop for WriteCache {
    fn drop(&mut self) {
        // Whoever wants to know whether it worked has called it before.
        let _ = self.restore();
    }
}

impl Setting {
    fn is_on(&self) -> io::Result<bool> {
        match self {
            Setting::Attribute { path, .. } => {
                fs::read_to_string(path).map(|text| text.trim().starts_with("write back"))
            }
            Setting::Nvme { path } => nvme::write_cache::is_on(&File::open(path)?),
        }
    }

    fn set(&self, on: bool) -> io::Result<()> {
        match self {
            Setting::Attribute { path, .. } => fs::write(path, named(on)),
            Setting::Nvme { path } => nvme::write_cache::set(&File::open(path)?, on),
        }
    }
}

/// As the attribute names it.
const fn named(on: bool) -> &'static str {
    if on { "write back" } else { "write through" }
}

/// The drive of a storage that is a device: itself, or the disk of a partition. `None` where it rests on others.
fn drive(storage: &Storage) -> Option<&Device> {
    let devices = &storage.devices;
    let is_beneath = |device: &&Device| devices.iter().any(|above| above.rests_on.contains(&device.name));
    let mut tops = devices.iter().filter(|device| !is_beneath(device));
    let top = tops.next().filter(|_| tops.next().is_none())?;
    if top.kind == "partition" {
        return devices.iter().find(|device| top.rests_on.contains(&device.name));
    }
    top.rests_on.is_empty().then_some(top)
}

/// What switches the cache of a drive.
fn setting(sysfs: &Sysfs, drive: &Device) -> Option<Setting> {
    let directory = sysfs.link(drive.number);
    if drive.kind == "nvme" {
        return Some(Setting::Nvme { path: Path::new("/dev").join(&drive.name) });
    }
    let own = directory.join("cache_type");
    if own.exists() {
        return Some(Setting::Attribute { path: own, driver: "virtio" });
    }
    let disks = fs::read_dir(directory.join("device/scsi_disk")).ok()?;
    let path =
        disks.filter_map(|entry| Some(entry.ok()?.path().join("cache_type"))).find(|path| path.exists());
    path.map(|path| Setting::Attribute { path, driver: "SCSI caching mode page" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::chain;
    use crate::sysfs::fake::Fake;

    const ATTRIBUTE: &str = "device/scsi_disk/0:0:0:0/cache_type";

    fn disk(cache: &str) -> (Fake, Storage) {
        let fake = Fake::new();
        fake.add("sda", (8, 0), &[("queue/write_cache", "write back"), (ATTRIBUTE, cache)]);
        fake.add("sda/sda1", (8, 1), &[("partition", "1")]);
        let devices = chain(&fake.sysfs(), &[(8, 1)], &|_: &Path| Vec::new());
        (fake, Storage { devices, ..Storage::default() })
    }

    fn cache(fake: &Fake) -> String {
        fs::read_to_string(fake.sysfs().link((8, 0)).join(ATTRIBUTE)).unwrap().trim().to_owned()
    }

    #[test]
    fn the_setting_of_the_drive_is_switched_and_restored() {
        let (fake, storage) = disk("write back, no read (daft)\n");
        let mut setting = WriteCache::within(&fake.sysfs(), &storage).unwrap();
        assert_eq!((setting.device(), setting.was_on()), ("sda", true));
        assert!(setting.by().contains("SCSI") && setting.command().starts_with("echo write back > "));
        setting.switch(false).unwrap();
        assert_eq!(cache(&fake), "write through");
        drop(setting);
        assert_eq!(cache(&fake), "write back");
    }

    #[test]
    fn what_an_earlier_run_has_found_is_restored() {
        let (fake, storage) = disk("write through");
        let mut setting = WriteCache::within(&fake.sysfs(), &storage).unwrap();
        assert!(!setting.was_on());
        setting.restore_to(true);
        setting.restore().unwrap();
        assert_eq!(cache(&fake), "write back");
    }

    #[test]
    fn the_kernels_view_alone_is_nothing_to_switch() {
        let fake = Fake::new();
        fake.add("loop0", (7, 0), &[("queue/write_cache", "write back")]);
        let devices = chain(&fake.sysfs(), &[(7, 0)], &|_: &Path| Vec::new());
        let storage = Storage { devices, ..Storage::default() };
        let error = WriteCache::within(&fake.sysfs(), &storage).unwrap_err().to_string();
        assert!(error.contains("only the kernel's view"), "{error}");
    }
}
