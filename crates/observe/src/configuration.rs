//! How this host is configured for databases, and what of it is worth changing.

use std::fs;
use std::path::PathBuf;

use iolite_model::{
    Bytes, Configuration, ConfigurationNote, Device, Filesystem, Host, HostSettings, Storage,
};

use crate::probe::number_of;
use crate::storage::rotational;

/// Memory from which on page tables of 4 KiB pages are worth a note: at 32 GiB, those of one process that has touched all of it
/// take 64 MiB.
const LARGE_MEMORY: Bytes = Bytes(32 * Bytes::GIB.0);
/// Swappiness up to which the kernel hardly swaps programs to keep file pages; MariaDB recommends 1, distributions' profiles for
/// databases set up to 10.
const LOW_SWAPPINESS: u64 = 10;
/// Dirty pages that a device of 500 MB/s writes in about two seconds.
const MUCH_DIRTY: Bytes = Bytes::GIB;
/// Read-ahead from which on other reads wait noticeably: 10 ms at 100 MB/s.
const LARGE_READ_AHEAD: Bytes = Bytes::MIB;

/// The settings of this host, and notes about them and about the storage that a database would use.
pub fn configuration(storage: &Storage, host: &Host) -> Configuration {
    let settings = Source { root: PathBuf::from("/") }.settings();
    let notes = notes(&settings, storage, host);
    Configuration { settings, notes }
}

/// Where settings are read: the files beneath a root directory.
struct Source {
    root: PathBuf,
}

impl Source {
    fn text(&self, path: &str) -> Option<String> {
        Some(fs::read_to_string(self.root.join(path)).ok()?.trim().to_owned())
    }

    fn number(&self, path: &str) -> Option<u64> {
        self.text(path)?.parse().ok()
    }

    /// Linux, Documentation/admin-guide/sysctl/vm.rst, mm/transhuge.rst and mm/hugetlbpage.rst.
    fn settings(&self) -> HostSettings {
        let memory = self.text("proc/meminfo").unwrap_or_default();
        let of_memory = |name| number_of(&memory, name).map(|number| number as u64);
        let kibibytes = |name| of_memory(name).map(|number| Bytes(number.saturating_mul(1024)));
        let vm = |name: &str| self.number(&format!("proc/sys/vm/{name}"));
        let free = of_memory("HugePages_Free").zip(of_memory("HugePages_Rsvd"));
        HostSettings {
            transparent_huge_pages: self
                .text("sys/kernel/mm/transparent_hugepage/enabled")
                .and_then(|text| chosen(&text)),
            huge_pages: of_memory("HugePages_Total"),
            unused_huge_pages: free.map(|(free, reserved)| free.saturating_sub(reserved)),
            huge_page_size: kibibytes("Hugepagesize"),
            swap: kibibytes("SwapTotal"),
            swappiness: vm("swappiness"),
            dirty_background_bytes: vm("dirty_background_bytes").map(Bytes),
            dirty_background_ratio: vm("dirty_background_ratio"),
            dirty_bytes: vm("dirty_bytes").map(Bytes),
            dirty_ratio: vm("dirty_ratio"),
            overcommit_memory: vm("overcommit_memory"),
            numa_nodes: self.text("sys/devices/system/node/online").and_then(|text| count(&text)),
            numa_balancing: self.number("proc/sys/kernel/numa_balancing"),
            zone_reclaim_mode: vm("zone_reclaim_mode"),
        }
    }
}

/// The choice in brackets, as in `always [madvise] never`.
fn chosen(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}

/// The length of a list of numbers, as in `0-1,4`.
fn count(list: &str) -> Option<u64> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
        last.checked_sub(first).map(|between| between + 1)
    };
    list.split(',').map(range).sum()
}

/// What is worth changing, what endangers data first.
fn notes(settings: &HostSettings, storage: &Storage, host: &Host) -> Vec<ConfigurationNote> {
    let mut notes = Vec::new();
    // What is not on a device has no such options: memory, networks.
    if !storage.devices.is_empty() {
        notes.extend(of_mount(&storage.filesystem));
    }
    let rotates = rotational(storage).is_some();
    notes.extend(storage.leaves().filter_map(|leaf| of_scheduler(leaf, rotates)));
    notes.extend(storage.devices.first().and_then(of_read_ahead));
    notes.extend(of_memory(settings, host.memory));
    notes.extend(of_write_back(settings, host.memory));
    notes.extend(of_numa(settings));
    notes
}

fn of_mount(filesystem: &Filesystem) -> Vec<ConfigurationNote> {
    let find = |wanted: &[&str]| filesystem.options.iter().find(|option| wanted.contains(&option.as_str()));
    let mut notes = Vec::new();
    if let Some(option) = find(&["nobarrier", "barrier=0"]) {
        notes.push(ConfigurationNote::NoBarrier { option: option.clone() });
    }
    if find(&["data=journal"]).is_some() {
        notes.push(ConfigurationNote::DataJournal);
    }
    if let Some(option) = find(&["sync", "dirsync"]) {
        notes.push(ConfigurationNote::SynchronousMount { option: option.clone() });
    }
    // Without any of these options, each read updates the time (mount(8), `strictatime`); a block device lists no options.
    let spared = find(&["noatime", "relatime", "ro"]).is_some() || filesystem.options.is_empty();
    if !spared {
        notes.push(ConfigurationNote::AccessTimes { option: "strictatime".to_owned() });
    }
    if find(&["discard"]).is_some() {
        notes.push(ConfigurationNote::OnlineDiscard);
    }
    let copies = matches!(filesystem.kind.as_str(), "btrfs" | "bcachefs");
    if copies && find(&["nodatacow"]).is_none() {
        notes.push(ConfigurationNote::CopyOnWrite { filesystem: filesystem.kind.clone() });
    }
    notes
}

fn of_scheduler(leaf: &Device, rotates: bool) -> Option<ConfigurationNote> {
    let (device, scheduler) = (leaf.name.clone(), leaf.scheduler.clone()?);
    match scheduler.as_str() {
        "bfq" | "cfq" => {
            let instead = if rotates { "mq-deadline" } else { "none" }.to_owned();
            Some(ConfigurationNote::Scheduler { device, scheduler, instead })
        }
        // Behind a controller or hypervisor, sorting by the host has no effect, and the flag is often wrong.
        "none" if rotates && leaf.kind == "scsi" => Some(ConfigurationNote::UnsortedDisk { device }),
        _ => None,
    }
}

/// Of the device right beneath the file system, whose read-ahead its files have.
fn of_read_ahead(top: &Device) -> Option<ConfigurationNote> {
    let (device, read_ahead) = (top.name.clone(), top.read_ahead?);
    if read_ahead == Bytes(0) {
        return Some(ConfigurationNote::NoReadAhead { device });
    }
    (read_ahead > LARGE_READ_AHEAD).then_some(ConfigurationNote::LargeReadAhead { device, read_ahead })
}

fn of_memory(settings: &HostSettings, memory: Bytes) -> Vec<ConfigurationNote> {
    let mut notes = Vec::new();
    if settings.transparent_huge_pages.as_deref() == Some("always") {
        notes.push(ConfigurationNote::TransparentHugePages);
    }
    if let (Some(pages), Some(unused), Some(size)) =
        (settings.huge_pages, settings.unused_huge_pages, settings.huge_page_size)
    {
        let bytes = |pages: u64| Bytes(pages.saturating_mul(size.0));
        if pages == 0 && memory >= LARGE_MEMORY {
            notes.push(ConfigurationNote::NoHugePages { memory });
        }
        if unused > 0 && unused >= pages / 2 {
            let (unused, reserved) = (bytes(unused), bytes(pages));
            notes.push(ConfigurationNote::UnusedHugePages { unused, reserved });
        }
    }
    if let (Some(swappiness), Some(swap)) = (settings.swappiness, settings.swap)
        && swappiness > LOW_SWAPPINESS
        && swap > Bytes(0)
    {
        notes.push(ConfigurationNote::Swappiness { swappiness, swap });
    }
    if let Some(value @ (0 | 1)) = settings.overcommit_memory {
        notes.push(ConfigurationNote::Overcommit { value });
    }
    notes
}

fn of_write_back(settings: &HostSettings, memory: Bytes) -> Option<ConfigurationNote> {
    let (background, setting) = match settings.dirty_background_bytes {
        Some(bytes) if bytes > Bytes(0) => (bytes, format!("vm.dirty_background_bytes = {}", bytes.0)),
        _ => {
            let ratio = settings.dirty_background_ratio?;
            let bytes = Bytes(memory.0 / 100 * ratio);
            (bytes, format!("vm.dirty_background_ratio = {ratio} % of the available memory"))
        }
    };
    (background > MUCH_DIRTY).then_some(ConfigurationNote::LateWriteBack { background, setting })
}

fn of_numa(settings: &HostSettings) -> Vec<ConfigurationNote> {
    let Some(nodes) = settings.numa_nodes.filter(|nodes| *nodes > 1) else { return Vec::new() };
    let balancing = settings.numa_balancing.filter(|value| *value != 0);
    let reclaim = settings.zone_reclaim_mode.filter(|value| *value != 0);
    let balancing = balancing.map(|_| ConfigurationNote::NumaBalancing { nodes });
    balancing.into_iter().chain(reclaim.map(|value| ConfigurationNote::ZoneReclaim { value })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The settings of a host with these files.
    fn settings(files: &[(&str, &str)]) -> HostSettings {
        let root = tempfile::tempdir().unwrap();
        for (name, content) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        Source { root: root.path().to_path_buf() }.settings()
    }

    fn host(gibibytes: u64) -> Host {
        Host { memory: Bytes(gibibytes * Bytes::GIB.0), ..Host::default() }
    }

    /// ext4 with these options on a disk.
    fn mounted(kind: &str, options: &[&str], leaf: Device) -> Storage {
        let options = options.iter().map(|option| (*option).to_owned()).collect();
        let filesystem = Filesystem { kind: kind.into(), options, ..Filesystem::default() };
        Storage { filesystem, devices: vec![leaf], ..Storage::default() }
    }

    fn disk() -> Device {
        Device {
            name: "sda".into(),
            kind: "scsi".into(),
            scheduler: Some("mq-deadline".into()),
            rotational: Some(false),
            read_ahead: Some(Bytes(128 << 10)),
            ..Device::default()
        }
    }

    #[test]
    fn settings_are_read_from_the_kernels_files() {
        let meminfo = "SwapTotal: 1024 kB\nHugePages_Total: 100\nHugePages_Free: 90\nHugePages_Rsvd: 30\n\
                       Hugepagesize: 2048 kB\n";
        let found = settings(&[
            ("proc/meminfo", meminfo),
            ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
            ("proc/sys/vm/swappiness", "60\n"),
            ("proc/sys/vm/dirty_background_bytes", "0\n"),
            ("proc/sys/vm/dirty_background_ratio", "10\n"),
            ("sys/devices/system/node/online", "0-1,4\n"),
        ]);
        let expected = HostSettings {
            transparent_huge_pages: Some("madvise".into()),
            huge_pages: Some(100),
            unused_huge_pages: Some(60),
            huge_page_size: Some(Bytes(2 << 20)),
            swap: Some(Bytes::MIB),
            swappiness: Some(60),
            dirty_background_bytes: Some(Bytes(0)),
            dirty_background_ratio: Some(10),
            numa_nodes: Some(3),
            ..HostSettings::default()
        };
        assert_eq!(found, expected);
        assert_eq!(settings(&[]), HostSettings::default(), "nothing is known where nothing can be read");
    }

    #[test]
    fn a_host_set_up_for_databases_has_no_notes() {
        let settings = HostSettings {
            transparent_huge_pages: Some("never".into()),
            huge_pages: Some(20_000),
            unused_huge_pages: Some(10),
            huge_page_size: Some(Bytes(2 << 20)),
            swap: Some(Bytes::GIB),
            swappiness: Some(1),
            dirty_background_bytes: Some(Bytes(256 << 20)),
            dirty_background_ratio: Some(0),
            overcommit_memory: Some(2),
            numa_nodes: Some(2),
            numa_balancing: Some(0),
            zone_reclaim_mode: Some(0),
            ..HostSettings::default()
        };
        let storage = mounted("xfs", &["rw", "noatime"], disk());
        assert_eq!(notes(&settings, &storage, &host(128)), []);
        assert_eq!(notes(&HostSettings::default(), &storage, &host(128)), [], "the unknown is no reason");
    }

    #[test]
    fn a_host_set_up_for_anything_else_has_all_of_them() {
        let settings = HostSettings {
            transparent_huge_pages: Some("always".into()),
            huge_pages: Some(0),
            unused_huge_pages: Some(0),
            huge_page_size: Some(Bytes(2 << 20)),
            swap: Some(Bytes::GIB),
            swappiness: Some(60),
            dirty_background_bytes: Some(Bytes(0)),
            dirty_background_ratio: Some(10),
            overcommit_memory: Some(0),
            numa_nodes: Some(2),
            numa_balancing: Some(1),
            zone_reclaim_mode: Some(1),
            ..HostSettings::default()
        };
        let kinds = |notes: Vec<ConfigurationNote>| -> Vec<String> {
            let kind = |note: &ConfigurationNote| {
                assert!(note.source().starts_with("https://"));
                format!("{note:?}").split([' ', '{']).next().unwrap_or_default().to_owned()
            };
            notes.iter().map(kind).collect()
        };
        let found = kinds(notes(&settings, &Storage::default(), &host(128)));
        let expected = [
            "TransparentHugePages",
            "NoHugePages",
            "Swappiness",
            "Overcommit",
            "LateWriteBack",
            "NumaBalancing",
            "ZoneReclaim",
        ];
        assert_eq!(found, expected);
        let late = ConfigurationNote::LateWriteBack {
            background: Bytes(128 * Bytes::GIB.0 / 100 * 10),
            setting: "vm.dirty_background_ratio = 10 % of the available memory".into(),
        };
        assert!(notes(&settings, &Storage::default(), &host(128)).contains(&late));
        let small = kinds(notes(&settings, &Storage::default(), &host(4)));
        assert!(!small.iter().any(|kind| kind == "NoHugePages" || kind == "LateWriteBack"), "{small:?}");
    }

    #[test]
    fn mounts_and_devices_are_judged() {
        let of = |kind: &str, options: &[&str], leaf: Device| {
            notes(&HostSettings::default(), &mounted(kind, options, leaf), &host(8))
        };
        let option = |option: &str| ConfigurationNote::NoBarrier { option: option.into() };
        assert_eq!(of("xfs", &["noatime", "nobarrier"], disk()), [option("nobarrier")]);
        let slow = of("ext4", &["sync", "barrier=0", "data=journal", "discard"], disk());
        let expected = [
            option("barrier=0"),
            ConfigurationNote::DataJournal,
            ConfigurationNote::SynchronousMount { option: "sync".into() },
            ConfigurationNote::AccessTimes { option: "strictatime".into() },
            ConfigurationNote::OnlineDiscard,
        ];
        assert_eq!(slow, expected);
        assert_eq!(of("btrfs", &["relatime"], disk()).len(), 1);
        assert_eq!(of("btrfs", &["relatime", "nodatacow"], disk()), []);
        let rotating =
            |scheduler: &str| Device { scheduler: Some(scheduler.into()), rotational: Some(true), ..disk() };
        assert!(matches!(
            of("ext4", &["noatime"], rotating("none"))[..],
            [ConfigurationNote::UnsortedDisk { .. }]
        ));
        let fair = of("ext4", &["noatime"], rotating("bfq"));
        assert!(
            matches!(&fair[..], [ConfigurationNote::Scheduler { instead, .. }] if instead == "mq-deadline")
        );
        let read_ahead = |bytes| Device { read_ahead: Some(Bytes(bytes)), ..disk() };
        assert_eq!(
            of("ext4", &["noatime"], read_ahead(0)),
            [ConfigurationNote::NoReadAhead { device: "sda".into() }]
        );
        assert_eq!(of("ext4", &["noatime"], read_ahead(4 << 20)).len(), 1);
        assert_eq!(of("ext4", &["noatime"], read_ahead(1 << 20)), []);
    }

    #[test]
    fn this_host_is_read() {
        let found = configuration(&Storage::default(), &crate::host());
        assert!(
            found.settings.swappiness.is_some() && found.settings.overcommit_memory.is_some(),
            "{found:?}"
        );
    }
}
