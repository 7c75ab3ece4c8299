//! From a file system's block devices down to the leaves.

use std::path::Path;

use iolite_model::Device;

use crate::sysfs::{Number, Sysfs};

/// Every device beneath and including `tops`, each before the ones it rests on. `backing` returns the devices under a
/// loop device's file. A device that sysfs does not show is left out.
pub(crate) fn chain(sysfs: &Sysfs, tops: &[Number], backing: &dyn Fn(&Path) -> Vec<Number>) -> Vec<Device> {
    let mut walk = Walk { sysfs, backing, path: Vec::new(), done: Vec::new() };
    walk.visit_all(tops);
    walk.done.reverse();
    walk.done
}

/// A depth-first walk: devices are done after all they rest on, so that the reverse is the order wanted.
struct Walk<'a> {
    sysfs: &'a Sysfs,
    backing: &'a dyn Fn(&Path) -> Vec<Number>,
    /// The devices above the current one.
    path: Vec<Number>,
    done: Vec<Device>,
}

impl Walk<'_> {
    /// Visits the devices and returns the names of those that exist. Backwards, because the result is reversed.
    fn visit_all(&mut self, numbers: &[Number]) -> Vec<String> {
        let mut names = Vec::new();
        for number in numbers.iter().rev() {
            if let Some(name) = self.visit(*number).filter(|name| !names.contains(name)) {
                names.insert(0, name);
            }
        }
        names
    }

    fn visit(&mut self, number: Number) -> Option<String> {
        if let Some(device) = self.done.iter().find(|device| device.number == number) {
            return Some(device.name.clone());
        }
        // A device that rests on itself (a loop device's file on that very device): the ring is cut here.
        if self.path.contains(&number) {
            return None;
        }
        let block = self.sysfs.block(number)?;
        self.path.push(number);
        let rests_on = self.visit_all(&block.rests_on(self.backing));
        self.path.pop();
        self.done.push(block.describe(rests_on));
        Some(block.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysfs::fake::Fake;

    const QUEUE: [(&str, &str); 2] =
        [("queue/logical_block_size", "4096"), ("queue/scheduler", "[none] kyber")];

    fn no_backing(_: &Path) -> Vec<Number> {
        Vec::new()
    }

    /// Name, kind and what it rests on, of each device.
    fn shape(devices: &[Device]) -> Vec<String> {
        devices.iter().map(|d| format!("{} {} > {}", d.name, d.kind, d.rests_on.join(" "))).collect()
    }

    /// LVM on dm-crypt on a mirror of two partitions of two NVMe disks.
    fn stacked() -> Fake {
        let fake = Fake::new();
        fake.add("pci/nvme0n1", (259, 0), &QUEUE);
        fake.add("pci/nvme0n1/nvme0n1p1", (259, 1), &[("partition", "1")]);
        fake.add("pci/nvme1n1", (259, 2), &QUEUE);
        fake.add("pci/nvme1n1/nvme1n1p1", (259, 3), &[("partition", "1")]);
        fake.add("virtual/md0", (9, 0), &[("md/level", "raid1")]);
        fake.rest("virtual/md0", &["pci/nvme0n1/nvme0n1p1", "pci/nvme1n1/nvme1n1p1"]);
        fake.add("virtual/dm-0", (253, 0), &[("dm/name", "luks"), ("dm/uuid", "CRYPT-LUKS2-1")]);
        fake.rest("virtual/dm-0", &["virtual/md0"]);
        fake.add("virtual/dm-1", (253, 1), &[("dm/name", "vg-db"), ("dm/uuid", "LVM-1")]);
        fake.rest("virtual/dm-1", &["virtual/dm-0"]);
        fake
    }

    #[test]
    fn a_stack_is_followed_to_its_leaves() {
        let devices = chain(&stacked().sysfs(), &[(253, 1)], &no_backing);
        assert_eq!(
            shape(&devices),
            [
                "dm-1 dm > dm-0",
                "dm-0 dm > md0",
                "md0 md > nvme0n1p1 nvme1n1p1",
                "nvme0n1p1 partition > nvme0n1",
                "nvme0n1 nvme > ",
                "nvme1n1p1 partition > nvme1n1",
                "nvme1n1 nvme > ",
            ]
        );
        assert_eq!(devices[0].model.as_deref(), Some("LVM vg-db"));
    }

    #[test]
    fn a_partition_shows_the_queue_of_its_disk() {
        let devices = chain(&stacked().sysfs(), &[(259, 1)], &no_backing);
        assert_eq!(shape(&devices), ["nvme0n1p1 partition > nvme0n1", "nvme0n1 nvme > "]);
        assert_eq!(devices[0].logical_block, devices[1].logical_block);
        assert_eq!(devices[0].scheduler.as_deref(), Some("none"));
    }

    #[test]
    fn a_shared_disk_comes_once_and_after_all_that_rests_on_it() {
        let fake = stacked();
        fake.add("pci/nvme0n1/nvme0n1p2", (259, 9), &[("partition", "2")]);
        fake.add("virtual/dm-2", (253, 2), &[("dm/name", "both")]);
        fake.rest("virtual/dm-2", &["pci/nvme0n1/nvme0n1p1", "pci/nvme0n1/nvme0n1p2"]);
        let devices = chain(&fake.sysfs(), &[(253, 2)], &no_backing);
        let names: Vec<&str> = devices.iter().map(|device| device.name.as_str()).collect();
        assert_eq!(names, ["dm-2", "nvme0n1p1", "nvme0n1p2", "nvme0n1"]);
    }

    #[test]
    fn a_loop_device_rests_on_the_devices_of_its_file() {
        let fake = stacked();
        fake.add("virtual/loop0", (7, 0), &[("loop/backing_file", "/srv/image")]);
        let backing = |file: &Path| if file == Path::new("/srv/image") { vec![(259, 3)] } else { Vec::new() };
        let devices = chain(&fake.sysfs(), &[(7, 0)], &backing);
        assert_eq!(
            shape(&devices),
            ["loop0 loop > nvme1n1p1", "nvme1n1p1 partition > nvme1n1", "nvme1n1 nvme > "]
        );
        let lost = chain(&fake.sysfs(), &[(7, 0)], &no_backing);
        assert_eq!(shape(&lost), ["loop0 loop > "]);
    }

    #[test]
    fn a_ring_is_cut() {
        let fake = Fake::new();
        fake.add("virtual/loop0", (7, 0), &[("loop/backing_file", "/on/itself")]);
        let devices = chain(&fake.sysfs(), &[(7, 0)], &|_: &Path| vec![(7, 0)]);
        assert_eq!(shape(&devices), ["loop0 loop > "]);
    }

    #[test]
    fn unknown_devices_are_left_out() {
        assert_eq!(chain(&Fake::new().sysfs(), &[(8, 0)], &no_backing), []);
    }
}
