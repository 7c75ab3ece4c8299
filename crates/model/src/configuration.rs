//! How a host is configured for databases: settings, and notes about those that cost performance or safety.

use serde::{Deserialize, Serialize};

use crate::units::Bytes;

/// Settings of a host that databases depend on. What the kernel does not report is `None`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HostSettings {
    /// Transparent huge pages: `always`, `madvise`, `never`.
    pub transparent_huge_pages: Option<String>,
    /// Huge pages reserved (`HugePages_Total`).
    pub huge_pages: Option<u64>,
    /// Those of them that no program uses or has reserved (`HugePages_Free` less `HugePages_Rsvd`).
    pub unused_huge_pages: Option<u64>,
    /// Size of a huge page (`Hugepagesize`).
    pub huge_page_size: Option<Bytes>,
    /// Size of the swap space.
    pub swap: Option<Bytes>,
    /// `vm.swappiness`.
    pub swappiness: Option<u64>,
    /// `vm.dirty_background_bytes`; 0 where the ratio applies.
    pub dirty_background_bytes: Option<Bytes>,
    /// `vm.dirty_background_ratio`, in percent of the available memory.
    pub dirty_background_ratio: Option<u64>,
    /// `vm.dirty_bytes`; 0 where the ratio applies.
    pub dirty_bytes: Option<Bytes>,
    /// `vm.dirty_ratio`, in percent of the available memory.
    pub dirty_ratio: Option<u64>,
    /// `vm.overcommit_memory`: 0 (heuristic), 1 (always), 2 (never).
    pub overcommit_memory: Option<u64>,
    /// NUMA nodes that are online.
    pub numa_nodes: Option<u64>,
    /// `kernel.numa_balancing`.
    pub numa_balancing: Option<u64>,
    /// `vm.zone_reclaim_mode`.
    pub zone_reclaim_mode: Option<u64>,
}

/// The configuration of a run's host and file system: recorded once, when the run begins.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Configuration {
    /// The settings.
    pub settings: HostSettings,
    /// What is worth changing for a database.
    pub notes: Vec<ConfigurationNote>,
}

/// A setting that costs a database performance or safety. Its text says what it is, why it matters, and what to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case", tag = "note")]
pub enum ConfigurationNote {
    /// Barriers are off.
    #[error(
        "the file system is mounted with {option}: a sync does not flush the write cache of the device, so that acknowledged \
         commits can be lost and files damaged by a power failure; remount it with barriers, unless every cache beneath is \
         protected from power failures"
    )]
    NoBarrier {
        /// The mount option.
        option: String,
    },
    /// File data goes through the journal of the file system.
    #[error(
        "the file system is mounted with data=journal: all data is written twice, first to its journal, and direct I/O is not \
         available; mount it with data=ordered"
    )]
    DataJournal,
    /// Each write is synchronous.
    #[error(
        "the file system is mounted with {option}: each write waits for the device, also those that the database synchronises \
         later by itself; mount it without {option}"
    )]
    SynchronousMount {
        /// The mount option.
        option: String,
    },
    /// Reads write access times.
    #[error(
        "the file system is mounted with {option}: each read of a file also updates its access time on the device; mount it with \
         noatime"
    )]
    AccessTimes {
        /// The mount option, or its absence in words.
        option: String,
    },
    /// Blocks are discarded when files are removed.
    #[error(
        "the file system is mounted with discard: removing files, such as old log segments, sends discards to the device in \
         between, which can delay other I/O; mount it without, and run fstrim periodically (fstrim.timer)"
    )]
    OnlineDiscard,
    /// The file system copies on write.
    #[error(
        "{filesystem} copies on write: random writes fragment the files of a database, so that sequential reads become random; \
         disable it for the directory of the database (chattr +C) before files are created there, which disables checksums, too"
    )]
    CopyOnWrite {
        /// Type of the file system.
        filesystem: String,
    },
    /// A scheduler for interactive use.
    #[error(
        "{device} uses the I/O scheduler {scheduler}, which favours interactive programs and fairness over throughput: use \
         {instead} (echo {instead} > /sys/block/{device}/queue/scheduler)"
    )]
    Scheduler {
        /// The device.
        device: String,
        /// Its scheduler.
        scheduler: String,
        /// A better one.
        instead: String,
    },
    /// A disk whose requests are not sorted.
    #[error(
        "{device} is rotational and has no I/O scheduler: requests are not sorted, which costs seeks; use mq-deadline (echo \
         mq-deadline > /sys/block/{device}/queue/scheduler)"
    )]
    UnsortedDisk {
        /// The device.
        device: String,
    },
    /// Nothing is read ahead.
    #[error(
        "the read-ahead of {device} is 0: sequential reads through the page cache wait for each request; set it to the usual \
         128 KiB (blockdev --setra 256 /dev/{device})"
    )]
    NoReadAhead {
        /// The device.
        device: String,
    },
    /// Much is read ahead.
    #[error(
        "the read-ahead of {device} is {read_ahead}: each read-ahead, and each fault on a mapped file, may read as much, and \
         other reads wait behind it; measure the gain (iolite study readahead) or reduce it (blockdev --setra)"
    )]
    LargeReadAhead {
        /// The device.
        device: String,
        /// Its read-ahead.
        read_ahead: Bytes,
    },
    /// Transparent huge pages are used everywhere.
    #[error(
        "transparent huge pages are set to always: the kernel compacts memory to form them, which can stall sessions, and \
         memory use grows; set them to madvise (echo madvise > /sys/kernel/mm/transparent_hugepage/enabled)"
    )]
    TransparentHugePages,
    /// A large host without huge pages.
    #[error(
        "no huge pages are reserved on a host of {memory}: each process of a database needs page tables for all of its shared \
         memory; reserve as many as the buffers of the database need (vm.nr_hugepages; PostgreSQL: huge_pages, MariaDB: \
         large_pages)"
    )]
    NoHugePages {
        /// Memory of the host.
        memory: Bytes,
    },
    /// Huge pages are reserved and not used.
    #[error(
        "{unused} of {reserved} of reserved huge pages are not used: no other program and no page cache can use this memory; \
         have the database use them (PostgreSQL: huge_pages, MariaDB: large_pages), or reduce vm.nr_hugepages"
    )]
    UnusedHugePages {
        /// Not used.
        unused: Bytes,
        /// Reserved.
        reserved: Bytes,
    },
    /// Memory of the database may be swapped.
    #[error(
        "vm.swappiness is {swappiness} and there is {swap} of swap space: the kernel may swap buffers of the database to keep \
         file pages in memory, so that a read from the buffers becomes I/O; set vm.swappiness to 1"
    )]
    Swappiness {
        /// The value.
        swappiness: u64,
        /// Size of the swap space.
        swap: Bytes,
    },
    /// Write-back begins late.
    #[error(
        "write-back in the background begins at up to {background} of dirty pages ({setting}): a checkpoint or sync may have to write \
         as much at once, which other I/O waits for; set vm.dirty_background_bytes to what the device writes in about a second"
    )]
    LateWriteBack {
        /// Dirty pages at which write-back begins, about.
        background: Bytes,
        /// The setting that applies.
        setting: String,
    },
    /// The kernel promises more memory than there is.
    #[error(
        "vm.overcommit_memory is {value}: if memory is exhausted, the kernel kills a process, which may be the database server; \
         set it to 2 on a dedicated server of PostgreSQL, with vm.overcommit_ratio to match the memory and the swap space"
    )]
    Overcommit {
        /// The value: 0 or 1.
        value: u64,
    },
    /// The kernel moves pages between nodes.
    #[error(
        "kernel.numa_balancing is on with {nodes} NUMA nodes: the kernel unmaps pages periodically to move them between nodes, \
         and each access faults; set it to 0 for a database whose shared memory is used from all nodes, and interleave that \
         memory (numactl --interleave=all, innodb_numa_interleave)"
    )]
    NumaBalancing {
        /// Nodes.
        nodes: u64,
    },
    /// Memory is reclaimed although other nodes have some.
    #[error(
        "vm.zone_reclaim_mode is {value}: pages are dropped from the page cache of a full NUMA node although other nodes have \
         free memory; set it to 0"
    )]
    ZoneReclaim {
        /// The value.
        value: u64,
    },
}

impl ConfigurationNote {
    /// The document that recommends the remedy.
    pub const fn source(&self) -> &'static str {
        match self {
            Self::NoBarrier { .. } => "https://www.postgresql.org/docs/current/wal-reliability.html",
            Self::DataJournal => "https://www.postgresql.org/docs/current/wal-intro.html",
            Self::SynchronousMount { .. } => "https://man7.org/linux/man-pages/man8/mount.8.html",
            Self::AccessTimes { .. } | Self::Scheduler { .. } | Self::UnsortedDisk { .. } => {
                "https://mariadb.com/kb/en/configuring-linux-for-mariadb/"
            }
            Self::OnlineDiscard => "https://man7.org/linux/man-pages/man8/fstrim.8.html",
            Self::CopyOnWrite { .. } => "https://btrfs.readthedocs.io/en/latest/btrfs-man5.html",
            Self::NoReadAhead { .. } | Self::LargeReadAhead { .. } => {
                "https://docs.kernel.org/block/queue-sysfs.html"
            }
            Self::TransparentHugePages => {
                "https://www.postgresql.org/docs/current/runtime-config-resource.html#GUC-HUGE-PAGES"
            }
            Self::NoHugePages { .. } | Self::UnusedHugePages { .. } => {
                "https://www.postgresql.org/docs/current/kernel-resources.html#LINUX-HUGE-PAGES"
            }
            Self::Swappiness { .. } => "https://mariadb.com/kb/en/configuring-swappiness/",
            Self::LateWriteBack { .. } | Self::ZoneReclaim { .. } => {
                "https://docs.kernel.org/admin-guide/sysctl/vm.html"
            }
            Self::Overcommit { .. } => {
                "https://www.postgresql.org/docs/current/kernel-resources.html#LINUX-MEMORY-OVERCOMMIT"
            }
            Self::NumaBalancing { .. } => {
                "https://docs.kernel.org/admin-guide/sysctl/kernel.html#numa-balancing"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_read_back_as_it_was_recorded() {
        let notes = vec![
            ConfigurationNote::Overcommit { value: 0 },
            ConfigurationNote::DataJournal,
            ConfigurationNote::Swappiness { swappiness: 60, swap: Bytes::GIB },
        ];
        let configuration = Configuration { settings: HostSettings::default(), notes };
        let concluded = crate::Concluded::of(&configuration);
        assert_eq!(concluded.value["notes"][0]["note"], "overcommit");
        assert_eq!(concluded.read::<Configuration>(), Some(configuration));
    }
}
