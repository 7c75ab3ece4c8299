//! Counters of the block devices beneath some paths over an interval, as fio reports them.

use std::path::Path;
use std::time::{Duration, Instant};

use iolite_model::{Device, DiskCounts, DiskUse};

use crate::block_stat::StatFile;
use crate::storage::beneath;
use crate::sysfs::{Number, Sysfs};

/// Watches whole disks: a partition stands for the disk that it is on. A device that keeps no counters is left out.
#[derive(Debug)]
pub struct DiskProbe {
    sysfs: Sysfs,
    /// Since when it counts; `None` while it does not.
    since: Option<Instant>,
    /// Time that was counted before.
    counted: Duration,
    disks: Vec<Watched>,
}

#[derive(Debug)]
struct Watched {
    name: String,
    number: Number,
    before: Counts,
    /// What was counted before.
    counted: Counts,
    /// Numbers of the devices that a composed one is made of.
    beneath: Vec<Number>,
}

/// What a disk did, and the time in which it had something to do, in milliseconds.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    counts: DiskCounts,
    busy: u64,
}

impl DiskProbe {
    /// Finds the devices beneath these paths. A path that does not exist yet stands for the directory that it will be in.
    /// Nothing is counted yet.
    pub fn find<'a>(paths: impl IntoIterator<Item = &'a Path>) -> DiskProbe {
        let mut devices: Vec<Vec<Device>> = Vec::new();
        for path in paths {
            let existing = path.ancestors().find(|path| path.exists());
            let existing = existing.unwrap_or(Path::new("."));
            let found = beneath(existing);
            if !devices.contains(&found) {
                devices.push(found);
            }
        }
        DiskProbe::within(Sysfs::system(), &devices)
    }

    /// Those of chains of devices, each before the ones it rests on.
    fn within(sysfs: Sysfs, chains: &[Vec<Device>]) -> DiskProbe {
        let mut disks: Vec<Watched> = Vec::new();
        for chain in chains {
            let rested_on: Vec<&String> = chain.iter().flat_map(|device| &device.rests_on).collect();
            let tops = chain.iter().filter(|device| !rested_on.contains(&&device.name));
            for top in tops.flat_map(|top| whole(chain, top)) {
                watch(&sysfs, chain, top, &mut disks);
            }
        }
        DiskProbe { sysfs, since: None, counted: Duration::ZERO, disks }
    }

    /// Counts from now on, unless it does already.
    pub fn resume(&mut self) {
        if self.since.is_some() {
            return;
        }
        for disk in &mut self.disks {
            disk.before = read(&self.sysfs, disk.number).unwrap_or_default();
        }
        self.since = Some(Instant::now());
    }

    /// Counts no more, until it is [resumed](DiskProbe::resume).
    pub fn pause(&mut self) {
        let Some(since) = self.since.take() else { return };
        self.counted += since.elapsed();
        for disk in &mut self.disks {
            if let Some(now) = read(&self.sysfs, disk.number) {
                disk.counted = sum(disk.counted, difference(now, disk.before));
            }
        }
    }

    /// What they have done while it counted.
    pub fn finish(mut self) -> Vec<DiskUse> {
        self.pause();
        let elapsed = self.counted.as_secs_f64() * 1e3;
        let used = |watched: &Watched| {
            let Counts { counts, busy } = watched.counted;
            let util = if elapsed > 0.0 { (busy as f64 / elapsed * 100.0).min(100.0) } else { 0.0 };
            DiskCounts { util, ..counts }
        };
        let reported = self.disks.iter().map(|watched| {
            let others = self.disks.iter().filter(|other| watched.beneath.contains(&other.number));
            let beneath = others.map(used).reduce(together);
            DiskUse { name: watched.name.clone(), counts: used(watched), beneath }
        });
        reported.collect()
    }
}

/// Watches a disk, and those that it is made of where it is of the device mapper or md. Each one once.
fn watch(sysfs: &Sysfs, chain: &[Device], disk: &Device, disks: &mut Vec<Watched>) {
    let Some(before) = read(sysfs, disk.number) else { return };
    if disks.iter().any(|known| known.number == disk.number) {
        return;
    }
    let composed = matches!(disk.kind.as_str(), "dm" | "md");
    let parts: Vec<&Device> =
        if composed { below(chain, disk).flat_map(|part| whole(chain, part)).collect() } else { Vec::new() };
    let beneath = parts.iter().map(|part| part.number).collect();
    let counted = Counts::default();
    disks.push(Watched { name: disk.name.clone(), number: disk.number, before, counted, beneath });
    parts.into_iter().for_each(|part| watch(sysfs, chain, part, disks));
}

/// The devices that one rests on directly.
fn below<'a>(chain: &'a [Device], device: &'a Device) -> impl Iterator<Item = &'a Device> {
    chain.iter().filter(|other| device.rests_on.contains(&other.name))
}

/// The disks that a partition is on; any other device is whole.
fn whole<'a>(chain: &'a [Device], device: &'a Device) -> Vec<&'a Device> {
    if device.kind == "partition" { below(chain, device).collect() } else { vec![device] }
}

fn read(sysfs: &Sysfs, number: Number) -> Option<Counts> {
    let stat = StatFile::open(sysfs, number).ok()?.read().ok()?;
    Some(Counts { counts: stat.disk_counts(), busy: stat.busy })
}

/// What was counted in between; a counter that went back (device replaced) counts as zero.
fn difference(now: Counts, before: Counts) -> Counts {
    let pair = |of: fn(&DiskCounts) -> [u64; 2]| {
        let (now, before) = (of(&now.counts), of(&before.counts));
        [now[0].saturating_sub(before[0]), now[1].saturating_sub(before[1])]
    };
    let counts = DiskCounts {
        ios: pair(|counts| counts.ios),
        merges: pair(|counts| counts.merges),
        sectors: pair(|counts| counts.sectors),
        ticks: pair(|counts| counts.ticks),
        in_queue: now.counts.in_queue.saturating_sub(before.counts.in_queue),
        util: 0.0,
    };
    Counts { counts, busy: now.busy.saturating_sub(before.busy) }
}

fn sum(one: Counts, other: Counts) -> Counts {
    Counts { counts: together(one.counts, other.counts), busy: one.busy + other.busy }
}

fn together(one: DiskCounts, other: DiskCounts) -> DiskCounts {
    let pair = |one: [u64; 2], other: [u64; 2]| [one[0] + other[0], one[1] + other[1]];
    DiskCounts {
        ios: pair(one.ios, other.ios),
        merges: pair(one.merges, other.merges),
        sectors: pair(one.sectors, other.sectors),
        ticks: pair(one.ticks, other.ticks),
        in_queue: one.in_queue + other.in_queue,
        util: one.util.max(other.util),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::chain::chain;
    use crate::sysfs::fake::Fake;

    const BEFORE: &str = "100 1 2000 5 300 2 4000 9 0 7 14 0 0 0 0 6 3";
    const AFTER: &str = "110 2 2080 8 330 4 4240 19 0 17 27 0 0 0 0 6 3";

    fn set(fake: &Fake, place: &str, stat: &str) {
        fs::write(fake.directory(place).join("stat"), stat).unwrap();
    }

    #[test]
    fn a_partition_stands_for_its_disk() {
        let fake = Fake::new();
        fake.add("sda", (8, 0), &[("stat", BEFORE)]);
        fake.add("sda/sda1", (8, 1), &[("partition", "1"), ("stat", BEFORE)]);
        let devices = chain(&fake.sysfs(), &[(8, 1)], &|_: &Path| Vec::new());
        let mut probe = DiskProbe::within(fake.sysfs(), &[devices.clone(), devices]);
        probe.resume();
        set(&fake, "sda", AFTER);
        let reported = probe.finish();
        assert_eq!((reported.len(), reported[0].name.as_str(), reported[0].beneath), (1, "sda", None));
        let DiskCounts { ios, merges, sectors, ticks, in_queue, util } = reported[0].counts;
        assert_eq!((ios, merges, sectors), ([10, 30], [1, 2], [80, 240]));
        assert_eq!((ticks, in_queue), ([3, 10], 13));
        assert!(util > 0.0 && util <= 100.0, "{util}");
    }

    #[test]
    fn a_composed_device_is_reported_with_its_parts() {
        let fake = Fake::new();
        fake.add("sda", (8, 0), &[("stat", BEFORE)]);
        fake.add("sdb", (8, 16), &[("stat", BEFORE)]);
        fake.add("dm-0", (253, 0), &[("dm/name", "both"), ("stat", BEFORE)]);
        fake.rest("dm-0", &["sda", "sdb"]);
        let chain = chain(&fake.sysfs(), &[(253, 0)], &|_: &Path| Vec::new());
        let mut probe = DiskProbe::within(fake.sysfs(), &[chain]);
        probe.resume();
        set(&fake, "sda", AFTER);
        set(&fake, "sdb", AFTER);
        let reported = probe.finish();
        let names: Vec<&str> = reported.iter().map(|disk| disk.name.as_str()).collect();
        assert_eq!(names, ["dm-0", "sda", "sdb"]);
        assert_eq!(reported[0].beneath.map(|beneath| (beneath.ios, beneath.in_queue)), Some(([20, 60], 26)));
        assert_eq!((reported[0].counts.ios, reported[1].beneath), ([0, 0], None));
    }

    #[test]
    fn what_is_done_while_it_does_not_count_is_not_reported() {
        let fake = Fake::new();
        fake.add("sda", (8, 0), &[("stat", "0 0 0 0 0 0 0 0 0 0 0")]);
        let devices = chain(&fake.sysfs(), &[(8, 0)], &|_: &Path| Vec::new());
        let mut probe = DiskProbe::within(fake.sysfs(), &[devices]);
        let mut pass = |reads: u64, counting: bool| {
            if counting {
                probe.resume()
            } else {
                probe.pause()
            }
            set(&fake, "sda", &format!("{reads} 0 0 0 0 0 0 0 0 0 0"));
        };
        for (reads, counting) in [(1, false), (11, true), (111, true), (1_111, false), (11_111, true)] {
            pass(reads, counting);
        }
        assert_eq!(probe.finish()[0].counts.ios, [110 + 10_000, 0]);
    }

    #[test]
    fn what_has_no_counters_is_left_out() {
        let fake = Fake::new();
        fake.add("sda", (8, 0), &[]);
        fake.add("sdb", (8, 16), &[("stat", "1 2 3")]);
        let devices = chain(&fake.sysfs(), &[(8, 0), (8, 16)], &|_: &Path| Vec::new());
        assert_eq!(DiskProbe::within(fake.sysfs(), &[devices]).finish(), []);
        assert_eq!(DiskProbe::within(fake.sysfs(), &[]).finish(), []);
    }

    #[test]
    fn a_path_that_is_to_be_made_stands_for_its_directory() {
        let directory = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let missing = directory.path().join("some/new/file");
        let names = |path: &Path| -> Vec<String> {
            DiskProbe::find([path]).finish().into_iter().map(|disk| disk.name).collect()
        };
        assert_eq!(names(&missing), names(directory.path()));
    }
}
