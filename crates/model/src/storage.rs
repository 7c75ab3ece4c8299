//! What the storage and the machine are.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::units::Bytes;

/// The storage under a directory, from the file system down to the leaf devices.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Storage {
    /// The directory asked about, absolute.
    #[serde(serialize_with = "lossy")]
    pub directory: PathBuf,
    /// The file system it is on.
    pub filesystem: Filesystem,
    /// Every block device beneath, each before the ones it rests on; empty for tmpfs, network and other file systems
    /// without one.
    pub devices: Vec<Device>,
}

/// A mounted file system.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Filesystem {
    /// Type, for example `ext4`.
    pub kind: String,
    /// What is mounted, for example `/dev/vda1`.
    pub source: String,
    /// Where it is mounted.
    #[serde(serialize_with = "lossy")]
    pub mount_point: PathBuf,
    /// Mount options, those of the mount first, then those of the file system.
    pub options: Vec<String>,
    /// Size.
    #[serde(rename = "size_bytes")]
    pub size: Bytes,
    /// Space that an unprivileged user may still fill.
    #[serde(rename = "free_bytes")]
    pub free: Bytes,
    /// Preferred block size.
    #[serde(rename = "block_size_bytes")]
    pub block_size: Bytes,
}

/// A block device. A fact the kernel does not report is `None`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Device {
    /// Kernel name, for example `vda1` or `dm-0`.
    pub name: String,
    /// `partition`, `loop`, `dm`, `md`, `zram`, `virtio`, `nvme`, `scsi` or `disk`.
    pub kind: String,
    /// Names of the devices it rests on directly; empty for a leaf.
    pub rests_on: Vec<String>,
    /// Major and minor number.
    #[serde(flatten, with = "number")]
    pub number: (u32, u32),
    /// Vendor, model and firmware revision, or the backing file of a loop device.
    pub model: Option<String>,
    /// Size.
    #[serde(rename = "size_bytes")]
    pub size: Bytes,
    /// Logical block size: the unit of addressing, and of direct I/O.
    #[serde(rename = "logical_block_bytes")]
    pub logical_block: Option<Bytes>,
    /// Physical block size: the unit the medium writes in.
    #[serde(rename = "physical_block_bytes")]
    pub physical_block: Option<Bytes>,
    /// The I/O scheduler in use.
    pub scheduler: Option<String>,
    /// `write back` or `write through`.
    pub write_cache: Option<String>,
    /// Whether the device says that it rotates.
    pub rotational: Option<bool>,
    /// Read-ahead.
    #[serde(rename = "read_ahead_bytes")]
    pub read_ahead: Option<Bytes>,
}

/// A path as text, with U+FFFD for what is not UTF-8.
fn lossy<S: serde::Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

/// A device's number as `major` and `minor`.
mod number {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Form {
        major: u32,
        minor: u32,
    }

    pub(super) fn serialize<S: Serializer>(of: &(u32, u32), serializer: S) -> Result<S::Ok, S::Error> {
        Form { major: of.0, minor: of.1 }.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(u32, u32), D::Error> {
        Form::deserialize(deserializer).map(|Form { major, minor }| (major, minor))
    }
}

/// A device's own counters since it appeared (Linux, Documentation/block/stat.rst).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DeviceCounters {
    /// Reads completed.
    pub reads: u64,
    /// Bytes read.
    #[serde(rename = "read_bytes")]
    pub read: Bytes,
    /// Writes completed.
    pub writes: u64,
    /// Bytes written.
    #[serde(rename = "written_bytes")]
    pub written: Bytes,
    /// Flushes completed.
    pub flushes: u64,
}

impl DeviceCounters {
    /// The sum over devices.
    pub fn plus(self, other: DeviceCounters) -> DeviceCounters {
        DeviceCounters {
            reads: self.reads + other.reads,
            read: Bytes(self.read.0 + other.read.0),
            writes: self.writes + other.writes,
            written: Bytes(self.written.0 + other.written.0),
            flushes: self.flushes + other.flushes,
        }
    }

    /// What was counted since `earlier`; a counter that went back (device replaced) counts as zero.
    pub fn since(self, earlier: DeviceCounters) -> DeviceCounters {
        DeviceCounters {
            reads: self.reads.saturating_sub(earlier.reads),
            read: Bytes(self.read.0.saturating_sub(earlier.read.0)),
            writes: self.writes.saturating_sub(earlier.writes),
            written: Bytes(self.written.0.saturating_sub(earlier.written.0)),
            flushes: self.flushes.saturating_sub(earlier.flushes),
        }
    }
}

/// What a block device did while something was measured.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct DiskUse {
    /// Kernel name, for example `vda`.
    pub name: String,
    /// Its own counts.
    pub counts: DiskCounts,
    /// Where it is made of others (device mapper, md): their counts, added up, and the largest `util`.
    pub beneath: Option<DiskCounts>,
}

/// Counts of a block device.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct DiskCounts {
    /// Reads and writes completed.
    pub ios: [u64; 2],
    /// Reads and writes that were merged into others.
    pub merges: [u64; 2],
    /// Sectors of 512 bytes read and written.
    pub sectors: [u64; 2],
    /// Time that reads and writes took together, in milliseconds.
    pub ticks: [u64; 2],
    /// Time that all operations took together, in milliseconds.
    pub in_queue: u64,
    /// Share of the time in which it had something to do, in percent.
    pub util: f64,
}

/// The machine.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Host {
    /// Host name.
    #[serde(alias = "host_name")]
    pub name: String,
    /// Kernel release.
    pub kernel: String,
    /// Machine architecture, for example `x86_64`.
    pub architecture: String,
    /// Model of the processor.
    pub cpu: String,
    /// Processors that this process may use.
    pub cpus: u32,
    /// Memory.
    #[serde(rename = "memory_bytes")]
    pub memory: Bytes,
    /// `none`, `kvm`, `vmware`..., or `unknown hypervisor`; with the container, where there is one.
    pub virtualisation: String,
}

impl Storage {
    /// The devices that rest on no others: their counters show what reached the hardware.
    pub fn leaves(&self) -> impl Iterator<Item = &Device> {
        self.devices.iter().filter(|device| device.rests_on.is_empty())
    }

    /// The devices that no others rest on: what the file system is on, or the device itself.
    pub fn tops(&self) -> impl Iterator<Item = &Device> {
        let is_beneath =
            |device: &Device| self.devices.iter().any(|above| above.rests_on.contains(&device.name));
        self.devices.iter().filter(move |device| !is_beneath(device))
    }

    /// Whether each leaf has a volatile write cache, which a sync of a file must have it flush.
    pub fn flushes_are_needed(&self) -> bool {
        !self.devices.is_empty()
            && self.leaves().all(|leaf| leaf.write_cache.as_deref() == Some("write back"))
    }
}
