//! Block devices as sysfs shows them (Linux, Documentation/ABI/stable/sysfs-block).

use std::fs;
use std::path::{Path, PathBuf};

use iolite_model::{Bytes, Device};

/// Major and minor number of a device.
pub(crate) type Number = (u32, u32);

/// The unit of sizes and counters in sysfs, in bytes, whatever the device's own block size.
pub(crate) const SECTOR: u64 = 512;

/// A sysfs tree: `/sys`, or a test's imitation.
#[derive(Debug, Clone)]
pub(crate) struct Sysfs {
    root: PathBuf,
}

impl Sysfs {
    /// The tree at `root`.
    pub(crate) fn new(root: impl Into<PathBuf>) -> Sysfs {
        Sysfs { root: root.into() }
    }

    /// The kernel's own.
    pub(crate) fn system() -> Sysfs {
        Sysfs::new("/sys")
    }

    /// The directory that lists a device by number; a symbolic link.
    pub(crate) fn link(&self, number: Number) -> PathBuf {
        self.root.join(format!("dev/block/{}:{}", number.0, number.1))
    }

    /// The directory with an entry per disk.
    pub(crate) fn block_directory(&self) -> PathBuf {
        self.root.join("block")
    }

    /// The device of that number, if there is one.
    pub(crate) fn block(&self, number: Number) -> Option<Block> {
        Some(Block { directory: self.link(number).canonicalize().ok()?, number })
    }

    /// All devices of the btrfs file system that has the device `number`; just that one where btrfs reports nothing.
    pub(crate) fn btrfs_members(&self, number: Number) -> Vec<Number> {
        entries(&self.root.join("fs/btrfs"))
            .iter()
            .map(|filesystem| numbers_in(&filesystem.join("devices")))
            .find(|members| members.contains(&number))
            .unwrap_or_else(|| vec![number])
    }
}

/// A block device's directory in sysfs.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    directory: PathBuf,
    number: Number,
}

impl Block {
    /// Kernel name. Sysfs writes `!` for the `/` that some names have.
    pub(crate) fn name(&self) -> String {
        self.directory.file_name().unwrap_or_default().to_string_lossy().replace('!', "/")
    }

    /// The content of an attribute, trimmed; `None` if it is missing, unreadable or empty.
    fn attribute(&self, name: &str) -> Option<String> {
        let bytes = fs::read(self.directory.join(name)).ok()?;
        let text = String::from_utf8_lossy(&bytes).trim().to_string();
        (!text.is_empty()).then_some(text)
    }

    fn size_attribute(&self, name: &str, unit: u64) -> Option<Bytes> {
        Some(Bytes(self.attribute(name)?.parse::<u64>().ok()?.saturating_mul(unit)))
    }

    fn has(&self, name: &str) -> bool {
        self.directory.join(name).exists()
    }

    /// Numbers of the devices it rests on directly; `backing` returns those under a loop device's file.
    pub(crate) fn rests_on(&self, backing: &dyn Fn(&Path) -> Vec<Number>) -> Vec<Number> {
        if let Some(disk) = self.disk() {
            return vec![disk.number];
        }
        match self.attribute("loop/backing_file") {
            Some(file) => backing(Path::new(&file)),
            None => numbers_in(&self.directory.join("slaves")),
        }
    }

    /// The disk that a partition is on; `None` if this is not a partition.
    fn disk(&self) -> Option<Block> {
        if !self.has("partition") {
            return None;
        }
        let directory = self.directory.parent()?.to_path_buf();
        let number = number_of(&directory)?;
        Some(Block { directory, number })
    }

    /// The device as recorded, resting on the devices of these names.
    pub(crate) fn describe(&self, rests_on: Vec<String>) -> Device {
        // A partition has no queue of its own.
        let disk = self.disk().unwrap_or_else(|| self.clone());
        Device {
            name: self.name(),
            kind: self.kind().to_string(),
            rests_on,
            number: self.number,
            model: self.model(),
            size: self.size_attribute("size", SECTOR).unwrap_or_default(),
            logical_block: disk.size_attribute("queue/logical_block_size", 1),
            physical_block: disk.size_attribute("queue/physical_block_size", 1),
            scheduler: disk.attribute("queue/scheduler").as_deref().map(selected),
            write_cache: disk.attribute("queue/write_cache"),
            rotational: disk.attribute("queue/rotational").map(|value| value != "0"),
            read_ahead: disk.size_attribute("queue/read_ahead_kb", 1024),
        }
    }

    /// As documented at [`Device::kind`]: what the directory holds, then the bus, then the name.
    fn kind(&self) -> &'static str {
        let name = self.name();
        for (mark, kind) in [("partition", "partition"), ("dm", "dm"), ("md", "md"), ("loop", "loop")] {
            if self.has(mark) {
                return kind;
            }
        }
        let bus = fs::read_link(self.directory.join("device/subsystem")).unwrap_or_default();
        match bus.file_name().and_then(|bus| bus.to_str()) {
            Some("virtio") => return "virtio",
            Some("nvme" | "nvme-subsystem") => return "nvme",
            Some("scsi") => return "scsi",
            _ => {}
        }
        let by_name = [
            ("zram", "zram"),
            ("loop", "loop"),
            ("nvme", "nvme"),
            ("vd", "virtio"),
            ("sd", "scsi"),
            ("sr", "scsi"),
        ];
        by_name.into_iter().find(|(prefix, _)| name.starts_with(prefix)).map_or("disk", |(_, kind)| kind)
    }

    fn model(&self) -> Option<String> {
        match self.kind() {
            "partition" => None,
            "dm" => {
                let name = self.attribute("dm/name")?;
                // The identifier starts with the owner of the mapping: LVM-..., CRYPT-LUKS2-..., mpath-...
                let owner =
                    self.attribute("dm/uuid").and_then(|uuid| Some(uuid.split_once('-')?.0.to_string()));
                Some(owner.map_or_else(|| name.clone(), |owner| format!("{owner} {name}")))
            }
            "md" => self.attribute("md/level"),
            "loop" => self.attribute("loop/backing_file"),
            "virtio" => Some(match self.attribute("serial") {
                Some(serial) => format!("virtio block device {serial}"),
                None => "virtio block device".to_string(),
            }),
            _ => match (self.vendor_and_model(), self.firmware()) {
                (Some(model), Some(firmware)) => Some(format!("{model}, firmware {firmware}")),
                (model, firmware) => {
                    model.or_else(|| firmware.map(|firmware| format!("firmware {firmware}")))
                }
            },
        }
    }

    /// The revision of a drive's firmware: of NVMe, SCSI and SATA, and MMC drives.
    fn firmware(&self) -> Option<String> {
        ["device/firmware_rev", "device/rev", "device/fwrev"]
            .into_iter()
            .find_map(|name| self.attribute(name))
    }

    fn vendor_and_model(&self) -> Option<String> {
        // MMC cards have a name instead of a model.
        let model = self.attribute("device/model").or_else(|| self.attribute("device/name"));
        // On PCI and virtio the vendor is a number, which means nothing to a reader.
        let vendor = self.attribute("device/vendor").filter(|vendor| !vendor.starts_with("0x"));
        match (vendor, model) {
            (Some(vendor), Some(model)) if !model.starts_with(&vendor) => Some(format!("{vendor} {model}")),
            (vendor, model) => model.or(vendor),
        }
    }
}

/// The entry in brackets, as in `none [mq-deadline] kyber`; the whole where nothing is bracketed.
fn selected(choices: &str) -> String {
    let bracketed = choices.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    bracketed.map_or(choices, |(selected, _)| selected).to_string()
}

/// A device number from `MAJOR:MINOR`.
pub(crate) fn parse_number(text: &str) -> Option<Number> {
    let (major, minor) = text.trim().split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The number of the device whose directory this is.
fn number_of(directory: &Path) -> Option<Number> {
    parse_number(&fs::read_to_string(directory.join("dev")).ok()?)
}

/// The numbers of the devices that a directory links to, in the order of their names.
fn numbers_in(directory: &Path) -> Vec<Number> {
    entries(directory).iter().filter_map(|entry| number_of(entry)).collect()
}

/// The paths in a directory, sorted; none if it cannot be read.
fn entries(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

#[cfg(test)]
pub(crate) mod fake {
    //! Imitations of sysfs for the tests.

    use std::os::unix::fs::symlink;

    use super::*;

    /// A sysfs tree in a temporary directory.
    pub(crate) struct Fake {
        root: tempfile::TempDir,
    }

    impl Fake {
        pub(crate) fn new() -> Fake {
            let root = tempfile::tempdir().unwrap();
            fs::create_dir_all(root.path().join("dev/block")).unwrap();
            Fake { root }
        }

        pub(crate) fn sysfs(&self) -> Sysfs {
            Sysfs::new(self.root.path())
        }

        /// Adds a device of 1000 sectors at `place` beneath `devices`, with these attributes besides.
        pub(crate) fn add(&self, place: &str, number: Number, attributes: &[(&str, &str)]) {
            let directory = self.directory(place);
            fs::create_dir_all(&directory).unwrap();
            let own = [("dev", format!("{}:{}", number.0, number.1)), ("size", "1000".to_string())];
            let own = own.iter().map(|(name, value)| (*name, value.as_str()));
            for (name, value) in own.chain(attributes.iter().copied()) {
                let path = directory.join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, format!("{value}\n")).unwrap();
            }
            symlink(format!("../../devices/{place}"), self.sysfs().link(number)).unwrap();
        }

        /// Lets the device at `above` rest on those at `beneath`.
        pub(crate) fn rest(&self, above: &str, beneath: &[&str]) {
            let slaves = self.directory(above).join("slaves");
            fs::create_dir_all(&slaves).unwrap();
            for place in beneath {
                let directory = self.directory(place);
                symlink(&directory, slaves.join(directory.file_name().unwrap())).unwrap();
            }
        }

        /// Puts the device at `place` on a bus.
        pub(crate) fn bus(&self, place: &str, bus: &str) {
            let device = self.directory(place).join("device");
            fs::create_dir_all(&device).unwrap();
            symlink(format!("../../../bus/{bus}"), device.join("subsystem")).unwrap();
        }

        /// Makes the devices at `places` members of one btrfs file system.
        pub(crate) fn btrfs(&self, places: &[&str]) {
            let members = self.root.path().join("fs/btrfs/0f0f/devices");
            fs::create_dir_all(&members).unwrap();
            fs::create_dir_all(self.root.path().join("fs/btrfs/features")).unwrap();
            for place in places {
                let directory = self.directory(place);
                symlink(&directory, members.join(directory.file_name().unwrap())).unwrap();
            }
        }

        pub(crate) fn directory(&self, place: &str) -> PathBuf {
            self.root.path().join("devices").join(place)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::fake::Fake;
    use super::*;

    fn described(place: &str, bus: Option<&str>, attributes: &[(&str, &str)]) -> Device {
        let fake = Fake::new();
        fake.add(place, (8, 0), attributes);
        if let Some(bus) = bus {
            fake.bus(place, bus);
        }
        fake.sysfs().block((8, 0)).unwrap().describe(Vec::new())
    }

    #[test]
    fn attributes_are_read() {
        let device = described(
            "sda",
            Some("scsi"),
            &[
                ("queue/logical_block_size", "512"),
                ("queue/physical_block_size", "4096"),
                ("queue/scheduler", "none [mq-deadline] kyber"),
                ("queue/write_cache", "write back"),
                ("queue/rotational", "1"),
                ("queue/read_ahead_kb", "128"),
                ("device/vendor", "SEAGATE "),
                ("device/model", "ST4000NM  "),
                ("device/rev", "TN04"),
            ],
        );
        assert_eq!((device.name.as_str(), device.kind.as_str(), device.number), ("sda", "scsi", (8, 0)));
        assert_eq!(device.model.as_deref(), Some("SEAGATE ST4000NM, firmware TN04"));
        let nvme = [("device/model", "Acme 980 PRO  "), ("device/firmware_rev", "5B2QGXA7")];
        let model = described("nvme0n1", Some("nvme"), &nvme).model;
        assert_eq!(model.as_deref(), Some("Acme 980 PRO, firmware 5B2QGXA7"));
        assert_eq!(device.size, Bytes(512_000));
        assert_eq!((device.logical_block, device.physical_block), (Some(Bytes(512)), Some(Bytes(4096))));
        assert_eq!(device.scheduler.as_deref(), Some("mq-deadline"));
        assert_eq!(device.write_cache.as_deref(), Some("write back"));
        assert_eq!((device.rotational, device.read_ahead), (Some(true), Some(Bytes(128 << 10))));
    }

    #[test]
    fn what_is_missing_is_none() {
        let device = described("xvda", None, &[("queue/scheduler", "none"), ("queue/rotational", "")]);
        assert_eq!((device.kind.as_str(), device.model), ("disk", None));
        assert_eq!((device.logical_block, device.write_cache, device.rotational), (None, None, None));
        assert_eq!(device.scheduler.as_deref(), Some("none"));
    }

    #[test]
    fn kinds_and_models_are_distinguished() {
        let reported = |place: &str, bus, attributes: &[_]| {
            let device = described(place, bus, attributes);
            (device.kind, device.model.unwrap_or_default())
        };
        let pair = |kind: &str, model: &str| (kind.to_string(), model.to_string());
        assert_eq!(
            reported("vda", Some("virtio"), &[("device/vendor", "0x1af4")]),
            pair("virtio", "virtio block device")
        );
        assert_eq!(
            reported("vda", None, &[("serial", "disk-7")]),
            pair("virtio", "virtio block device disk-7")
        );
        assert_eq!(reported("nvme0n1", Some("nvme"), &[("device/model", "Acme 9 ")]), pair("nvme", "Acme 9"));
        assert_eq!(reported("nvme1n1", Some("nvme-subsystem"), &[]), pair("nvme", ""));
        let emulated = [("device/vendor", "QEMU"), ("device/model", "QEMU HARDDISK")];
        assert_eq!(reported("sda", Some("scsi"), &emulated), pair("scsi", "QEMU HARDDISK"));
        assert_eq!(
            reported("dm-0", None, &[("dm/name", "vg-data"), ("dm/uuid", "LVM-abc")]),
            pair("dm", "LVM vg-data")
        );
        assert_eq!(reported("dm-1", None, &[("dm/name", "plain")]), pair("dm", "plain"));
        assert_eq!(reported("md127", None, &[("md/level", "raid10")]), pair("md", "raid10"));
        assert_eq!(reported("loop3", None, &[("loop/backing_file", "/a/b.img")]), pair("loop", "/a/b.img"));
        assert_eq!(reported("zram0", None, &[]), pair("zram", ""));
        assert_eq!(reported("mmcblk0", Some("mmc"), &[("device/name", "SD64G")]), pair("disk", "SD64G"));
        assert_eq!(described("cciss!c0d0", None, &[]).name, "cciss/c0d0");
    }

    #[test]
    fn all_members_of_a_btrfs_are_found() {
        let fake = Fake::new();
        for (place, minor) in [("sda", 0), ("sdb", 16), ("sdc", 32)] {
            fake.add(place, (8, minor), &[]);
        }
        fake.btrfs(&["sda", "sdc"]);
        assert_eq!(fake.sysfs().btrfs_members((8, 32)), [(8, 0), (8, 32)]);
        assert_eq!(fake.sysfs().btrfs_members((8, 16)), [(8, 16)]);
    }
}
