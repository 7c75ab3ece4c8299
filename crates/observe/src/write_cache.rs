//! The write cache of a drive: what really switches it, and not the kernel's view of it (`queue/write_cache`), which only decides
//! whether flushes are sent.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use iolite_model::{Device, ErrorCause, ErrorOrigin, Storage};
use iolite_sys::nvme;

use crate::sysfs::Sysfs;

/// The write cache of the drive at a device. What it was is restored when this is dropped.
#[derive(Debug)]
pub struct WriteCache {
    device: String,
    setting: Setting,
    /// What it is at the start, and what is restored at the end.
    present: State,
    original: State,
    changed: bool,
    /// What else the drive holds.
    shared: Option<String>,
}

/// Both halves of the setting: `cache_type` has a name for each combination, and switching one leaves the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    /// Writes are cached (WCE of the caching mode page).
    on: bool,
    /// Reads are served from the cache (not RCD).
    reads: bool,
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
    #[error("the write cache of {device} cannot be switched: {}", ErrorCause::WriteCacheFixed)]
    None {
        /// What was asked about.
        device: String,
    },
    /// Its drive holds more than what is tested.
    #[error("the write cache of {device} is also that of {others}: {}", ErrorCause::WriteCacheShared)]
    Shared {
        /// The drive.
        device: String,
        /// What else it holds.
        others: String,
    },
    /// The drive or the kernel refuses.
    #[error(
        "cannot read or switch the write cache of {device}: {source}: {}",
        ErrorCause::of(.source, ErrorOrigin::Setting).unwrap_or(ErrorCause::WriteCacheRefused)
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
        let shared = shared(sysfs, storage, drive);
        match setting.state() {
            Ok(present) => {
                Ok(WriteCache { device, setting, present, original: present, changed: false, shared })
            }
            Err(source) => Err(WriteCacheError::Refused { device, source }),
        }
    }

    /// The drive's kernel name.
    pub fn device(&self) -> &str {
        &self.device
    }

    /// Whether it was on.
    pub fn was_on(&self) -> bool {
        self.original.on
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
            Setting::Attribute { path, .. } => {
                format!("echo '{}' > {}", self.original.name(), path.display())
            }
            Setting::Nvme { path } => {
                format!("nvme set-feature {} -f 6 -V {}", path.display(), u32::from(self.original.on))
            }
        }
    }

    /// Restores this state at the end instead of the present one: what an earlier run, which could not restore it, has found.
    pub fn restore_to(&mut self, was_on: bool) {
        self.changed |= was_on != self.original.on;
        self.original.on = was_on;
    }

    /// Switches it, where it is not as asked for already. Where the drive holds other data too, which would be written with another
    /// durability meanwhile, only if that `is_explicit`.
    ///
    /// # Errors
    /// The drive holds other data, the drive or the kernel refuses, or it is as before.
    pub fn switch(&mut self, on: bool, is_explicit: bool) -> Result<(), WriteCacheError> {
        if self.present.on == on {
            return Ok(());
        }
        if let Some(others) = self.shared.clone().filter(|_| !is_explicit) {
            return Err(WriteCacheError::Shared { device: self.device.clone(), others });
        }
        // Before it is tried: whatever comes of it is to be undone.
        self.changed = true;
        self.set(State { on, ..self.present })
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

    fn set(&self, state: State) -> Result<(), WriteCacheError> {
        let tried = self.setting.set(state).and_then(|()| self.setting.state());
        let refused = |source| WriteCacheError::Refused { device: self.device.clone(), source };
        match tried {
            Ok(now) if now == state => Ok(()),
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
    fn state(&self) -> io::Result<State> {
        match self {
            Setting::Attribute { path, .. } => fs::read_to_string(path).and_then(|text| {
                let unknown = || io::Error::other(format!("{} is `{}`", path.display(), text.trim()));
                State::named(text.trim()).ok_or_else(unknown)
            }),
            Setting::Nvme { path } => {
                nvme::write_cache::is_on(&File::open(path)?).map(|on| State { on, reads: true })
            }
        }
    }

    fn set(&self, state: State) -> io::Result<()> {
        match self {
            Setting::Attribute { path, .. } => fs::write(path, state.name()),
            Setting::Nvme { path } => nvme::write_cache::set(&File::open(path)?, state.on),
        }
    }
}

impl State {
    const ALL: [State; 4] = [
        State { on: false, reads: true },
        State { on: false, reads: false },
        State { on: true, reads: true },
        State { on: true, reads: false },
    ];

    /// As `cache_type` names it (drivers/scsi/sd.c).
    const fn name(self) -> &'static str {
        match (self.on, self.reads) {
            (false, true) => "write through",
            (false, false) => "none",
            (true, true) => "write back",
            (true, false) => "write back, no read (daft)",
        }
    }

    fn named(name: &str) -> Option<State> {
        State::ALL.into_iter().find(|state| state.name() == name)
    }
}

/// What a drive holds besides the storage: the rest of a partition's disk, other namespaces.
fn shared(sysfs: &Sysfs, storage: &Storage, drive: &Device) -> Option<String> {
    if let Some(part) = storage.devices.iter().find(|device| device.rests_on.contains(&drive.name)) {
        return Some(format!("everything else on the drive, not only of {}", part.name));
    }
    if drive.kind != "nvme" {
        return None;
    }
    // The namespaces of a drive are beside each other; what else is there has no size.
    let directory = sysfs.link(drive.number).canonicalize().ok()?;
    let beside = fs::read_dir(directory.parent()?).ok()?.flatten();
    let others = beside.filter(|entry| entry.path() != directory && entry.path().join("size").exists());
    let mut names: Vec<String> =
        others.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    (!names.is_empty()).then(|| names.join(", "))
}

/// The drive of a storage that is a device: itself, or the disk of a partition. `None` where it rests on others.
fn drive(storage: &Storage) -> Option<&Device> {
    let mut tops = storage.tops();
    let top = tops.next().filter(|_| tops.next().is_none())?;
    if top.kind == "partition" {
        return storage.devices.iter().find(|device| top.rests_on.contains(&device.name));
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
        let command = setting.command();
        assert!(setting.by().contains("SCSI"));
        assert!(command.starts_with("echo 'write back, no read (daft)' > "), "{command}");
        setting.switch(false, true).unwrap();
        // No reads from the cache, as before.
        assert_eq!(cache(&fake), "none");
        drop(setting);
        assert_eq!(cache(&fake), "write back, no read (daft)");
    }

    #[test]
    fn each_state_is_switched_without_its_other_half_and_restored() {
        for (before, during) in [
            ("write through", "write back"),
            ("none", "write back, no read (daft)"),
            ("write back", "write through"),
            ("write back, no read (daft)", "none"),
        ] {
            let (fake, storage) = disk(before);
            let mut setting = WriteCache::within(&fake.sysfs(), &storage).unwrap();
            let on = !setting.was_on();
            setting.switch(on, true).unwrap();
            assert_eq!(cache(&fake), during);
            setting.restore().unwrap();
            assert_eq!(cache(&fake), before);
        }
        let (fake, storage) = disk("write sideways");
        let error = WriteCache::within(&fake.sysfs(), &storage).unwrap_err().to_string();
        assert!(error.contains("is `write sideways`"), "{error}");
        produced(ErrorCause::WriteCacheRefused, &error);
    }

    #[test]
    fn the_cache_of_a_drive_with_other_data_is_only_switched_explicitly() {
        let (fake, storage) = disk("write back");
        let mut setting = WriteCache::within(&fake.sysfs(), &storage).unwrap();
        let error = setting.switch(false, false).unwrap_err().to_string();
        assert!(error.contains("not only of sda1"), "{error}");
        produced(ErrorCause::WriteCacheShared, &error);
        assert_eq!(cache(&fake), "write back");
        // It is as asked for.
        setting.switch(true, false).unwrap();
        setting.switch(false, true).unwrap();
        assert_eq!(cache(&fake), "write through");
        // The disk itself is tested as a whole.
        let devices = chain(&fake.sysfs(), &[(8, 0)], &|_: &Path| Vec::new());
        let storage = Storage { devices, ..Storage::default() };
        assert_eq!(shared(&fake.sysfs(), &storage, &storage.devices[0]), None);
    }

    #[test]
    fn other_namespaces_of_a_drive_are_other_data() {
        let fake = Fake::new();
        let of = |fake: &Fake| {
            let devices = chain(&fake.sysfs(), &[(259, 0)], &|_: &Path| Vec::new());
            let storage = Storage { devices, ..Storage::default() };
            shared(&fake.sysfs(), &storage, drive(&storage).unwrap())
        };
        fake.add("nvme0/nvme0n1", (259, 0), &[("queue/write_cache", "write back")]);
        fs::create_dir_all(fake.directory("nvme0/hwmon1")).unwrap();
        assert_eq!(of(&fake), None);
        fake.add("nvme0/nvme0n2", (259, 1), &[]);
        assert_eq!(of(&fake).as_deref(), Some("nvme0n2"));
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
        produced(ErrorCause::WriteCacheFixed, &error);
    }

    /// Checks that the remedy of a cause is named. docs/errors.md lists each call as the test of that cause.
    fn produced(cause: ErrorCause, text: &str) {
        assert!(text.contains(cause.remedy()), "{cause:?}: {text}");
    }
}
