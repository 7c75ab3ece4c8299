//! Engines and engine options.

mod defrag;
mod elsewhere;
mod exec;
mod priority;

use std::path::PathBuf;

use iolite_model::{BackendKind, BusyOptions, BusyWork, IoFlags, MetadataOperation, Nanos, RingOptions};

use crate::language::error::{OptionError, Result};
use crate::language::options::entry::{MAX, choice, flag, ignored, integer, put, special, time};
use crate::language::options::option::{Form, Opt};
use crate::language::value::{OptionValue, Unit};
pub use elsewhere::OPTIONS as ELSEWHERE;
pub use exec::Exec;
pub use priority::{OPTIONS as PRIORITIES, Priorities, Share};

/// Engines and engine options.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Engine {
    /// `ioengine`: a name of [`ENGINES`].
    pub name: &'static str,
    /// Poll the device for completions.
    pub hipri: bool,
    /// Percentage of the operations that poll.
    pub hipri_percent: u8,
    /// A thread of the kernel submits.
    pub submit_polling: bool,
    /// Its CPU.
    pub submit_polling_cpu: Option<u32>,
    /// So many operations for one that a thread of the kernel executes.
    pub force_async: u32,
    /// Buffers are registered.
    pub fixed_buffers: bool,
    /// Files are registered.
    pub registered_files: bool,
    /// Operations have vectors of buffers; -1 for as the engine likes.
    pub non_vectored: i8,
    /// Fail rather than wait.
    pub nowait: bool,
    /// Leave nothing behind in the page cache.
    pub uncached: bool,
    /// Look into the ring of completions.
    pub userspace_reap: bool,
    /// Share of the time that cpuio generates CPU load, in percent.
    pub cpu_load: u8,
    /// How long it does so at once.
    pub cpu_chunk: Nanos,
    /// What it is busy with.
    pub cpu_work: BusyWork,
    /// The job ends when no other job does I/O.
    pub exit_on_io_done: bool,
    /// `thp`: the mapping of mmap is of huge pages.
    pub huge_mapping: bool,
    /// `donorname`: the file that e4defrag exchanges blocks with.
    pub donor: Option<PathBuf>,
    /// `inplace`: it has blocks for each operation only.
    pub donates_each_time: bool,
    /// I/O priorities of operations.
    pub priorities: Priorities,
    /// What ioengine=exec runs.
    pub exec: Exec,
}

/// What an engine is here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Block I/O, by a back end that `Engine::backend` makes.
    Io,
    /// Operations on names.
    Names(MetadataOperation),
    /// Not built: what to use instead.
    Missing(&'static str),
}

/// An engine.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    /// Its name.
    pub name: &'static str,
    /// What it is here.
    pub kind: Kind,
    /// What it does, in a few words of our own.
    pub help: &'static str,
}

const fn io(name: &'static str, help: &'static str) -> Known {
    Known { name, kind: Kind::Io, help }
}

const fn names(name: &'static str, operation: MetadataOperation, help: &'static str) -> Known {
    Known { name, kind: Kind::Names(operation), help }
}

const fn none(name: &'static str, help: &'static str, remedy: &'static str) -> Known {
    Known { name, kind: Kind::Missing(remedy), help }
}

const MOUNT_IT: &str = "mount it, or map it to a block device, and use io_uring on that";

/// All engines that fio knows.
pub const ENGINES: &[Known] = &[
    io("sync", "lseek (where an operation does not go on from the one before), read and write"),
    io("psync", "pread and pwrite"),
    io("vsync", "readv and writev, here as preadv and pwritev of one buffer"),
    io("pvsync", "preadv and pwritev"),
    io("pvsync2", "preadv2 and pwritev2 with flags"),
    io("io_uring", "a ring shared with the kernel, many operations at once"),
    io("libaio", "io_submit, many operations at once with direct I/O"),
    io("posixaio", "a thread for each outstanding operation"),
    io("mmap", "copies from and to the mapped file"),
    io("splice", "splice between file and pipe"),
    io("null", "no I/O: measures the program itself"),
    io("cpuio", "generates CPU load"),
    io("exec", "runs a program"),
    io("falloc", "fallocate"),
    io("ftruncate", "ftruncate to the offset of each write"),
    io("e4defrag", "exchanges the blocks of each write with those of another file (EXT4_IOC_MOVE_EXT)"),
    names("filecreate", MetadataOperation::Create, "makes files"),
    names("filestat", MetadataOperation::Stat, "reads the attributes of files"),
    names("fileopen", MetadataOperation::Open, "opens files and closes them"),
    names("filedelete", MetadataOperation::Unlink, "removes files"),
    names("dircreate", MetadataOperation::Mkdir, "makes directories"),
    names("dirdelete", MetadataOperation::Rmdir, "removes directories"),
    names("dirstat", MetadataOperation::StatDirectory, "reads the attributes of directories"),
    none("io_uring_cmd", "NVMe commands through a ring", "use io_uring on the block device"),
    none("sg", "SCSI generic", "use io_uring or libaio on the block device"),
    none("libzbc", "zoned block devices", "use io_uring or libaio with zonemode=zbd on the block device"),
    none("xnvme", "NVMe by xNVMe", "use io_uring on the block device"),
    none("libblkio", "block devices by libblkio", "use io_uring on the block device"),
    none("SPDK", "NVMe by SPDK", "use io_uring on the block device"),
    none("mtd", "flash memory", "use psync on /dev/mtdblockN"),
    none("net", "network connections", "use iperf3 for networks"),
    none("netsplice", "network connections by splice", "use iperf3 for networks"),
    none("rdma", "RDMA", "use perftest (ib_write_bw) for RDMA"),
    none("librpma_apm_client", "persistent memory by RDMA", "use perftest for RDMA"),
    none("librpma_apm_server", "persistent memory by RDMA", "use perftest for RDMA"),
    none("librpma_gpspm_client", "persistent memory by RDMA", "use perftest for RDMA"),
    none("librpma_gpspm_server", "persistent memory by RDMA", "use perftest for RDMA"),
    none("rados", "Ceph objects", "use `rados bench`, or io_uring on a mapped RBD device"),
    none("rbd", "Ceph block devices", "map it with `rbd map` and use io_uring on the device"),
    none("http", "WebDAV, Swift, S3", "use warp or s3-benchmark for object stores"),
    none("gfapi", "GlusterFS", MOUNT_IT),
    none("gfapi_async", "GlusterFS", MOUNT_IT),
    none("libhdfs", "Hadoop's file system", "use Hadoop's TestDFSIO"),
    none("libiscsi", "iSCSI", MOUNT_IT),
    none("nbd", "network block devices", MOUNT_IT),
    none("nfs", "NFS by libnfs", MOUNT_IT),
    none("dfs", "DAOS", MOUNT_IT),
    none("ime_psync", "DDN IME", MOUNT_IT),
    none("ime_psyncv", "DDN IME", MOUNT_IT),
    none("ime_aio", "DDN IME", MOUNT_IT),
    none("pmemblk", "persistent memory by PMDK", "use mmap on a file system mounted with DAX"),
    none("dev-dax", "persistent memory by PMDK", "use mmap on a file system mounted with DAX"),
    none("libpmem", "persistent memory by PMDK", "use mmap on a file system mounted with DAX"),
    none("libcufile", "GPUDirect storage", "use io_uring with direct=1"),
    none("external", "an engine from a file", "use io_uring, libaio or psync"),
    none("solarisaio", "Solaris", "use io_uring"),
    none("windowsaio", "Windows", "use io_uring"),
];

/// An engine by its name.
pub fn known(name: &str) -> Option<&'static Known> {
    ENGINES.iter().find(|engine| engine.name == name)
}

impl Engine {
    /// What the engine is here; of none that is not supported.
    pub fn kind(&self) -> Kind {
        known(self.name).map_or(Kind::Missing("use io_uring, libaio or psync"), |engine| engine.kind)
    }

    /// How its operations reach the kernel.
    ///
    /// # Errors
    /// A setting that the engine does not have here.
    pub(crate) fn backend(&self) -> Result<BackendKind> {
        for (option, asked) in [("nowait", self.nowait), ("uncached", self.uncached)] {
            if asked && !matches!(self.name, "pvsync2" | "io_uring") {
                return Err(OptionError::refused(
                    "it is supported with ioengine=pvsync2 and io_uring only",
                    "use one of them, or remove it",
                )
                .at(option));
            }
        }
        let ring = RingOptions {
            submit_polling: self.submit_polling,
            completion_polling: self.hipri,
            // Without the thread there is no CPU for it, as in fio.
            submit_polling_cpu: self.submit_polling_cpu.filter(|_| self.submit_polling),
            linked_sync: false,
            force_async: self.force_async,
            nowait: self.nowait,
            dontcache: self.uncached,
        };
        let flags = IoFlags {
            hipri: self.hipri && self.hipri_percent > 0,
            hipri_percent: if self.hipri { self.hipri_percent % 100 } else { 0 },
            nowait: self.nowait,
            dontcache: self.uncached,
            ..IoFlags::default()
        };
        Ok(match self.name {
            "vsync" | "pvsync" => BackendKind::Vectored(IoFlags::default()),
            "pvsync2" => BackendKind::Vectored(flags),
            "io_uring" => BackendKind::IoUring(ring),
            "libaio" => BackendKind::Libaio,
            "posixaio" => BackendKind::Threads,
            "mmap" => BackendKind::Mmap,
            "splice" => BackendKind::Splice,
            "sync" => BackendKind::Seek,
            "null" => BackendKind::Null,
            "falloc" => BackendKind::Fallocate,
            "ftruncate" => BackendKind::Truncate,
            "e4defrag" if self.donor.is_none() => {
                return Err(OptionError::refused(
                    "ioengine=e4defrag needs a file to exchange blocks with",
                    "name one on the same file system",
                )
                .at("donorname"));
            }
            "e4defrag" => BackendKind::MoveExtents,
            // The program runs beside the task, which waits.
            "exec" => {
                BackendKind::Busy(BusyOptions { percent: 0, chunk: self.cpu_chunk, work: self.cpu_work })
            }
            "cpuio" if self.cpu_load == 0 => {
                return Err(OptionError::refused(
                    "ioengine=cpuio needs to know how busy",
                    "give it 1 to 100 percent",
                )
                .at("cpuload"));
            }
            "cpuio" => {
                let chunk = Nanos(self.cpu_chunk.0.max(1_000));
                BackendKind::Busy(BusyOptions { percent: self.cpu_load, chunk, work: self.cpu_work })
            }
            _ => BackendKind::Sync,
        })
    }
}

fn engine(given: &OptionValue<'_>) -> Result<&'static str> {
    let text = given.text()?;
    let name = text.split(':').next().unwrap_or(text);
    match known(name) {
        Some(Known { kind: Kind::Missing(remedy), .. }) => {
            Err(OptionError::not_built(format!("the engine `{name}` is"), *remedy))
        }
        Some(engine) => Ok(engine.name),
        None => {
            let built = ENGINES.iter().filter(|engine| !matches!(engine.kind, Kind::Missing(_)));
            let names: Vec<&str> = built.map(|engine| engine.name).collect();
            Err(OptionError::refused(
                format!("there is no engine `{name}`"),
                format!("use one of {}", names.join(", ")),
            ))
        }
    }
}

/// An integer without bounds that mean anything.
pub(super) const WHOLE: Form = Form::Integer { min: 0, max: i64::MAX };

/// More CPUs than any kernel has.
const CPUS_MAX: i64 = 65_535;

const RING: &[&str] = &["io_uring"];

/// The options.
pub const OPTIONS: &[Opt] = &[
    special("ioengine", Form::Special("the name of an engine, see the list of engines"), |s, g| {
        put(&mut s.engine.name, engine(g))
    })
    .default("psync")
    .help("I/O engine: how operations are submitted to the kernel."),
    flag("hipri", |s, on| s.engine.hipri = on)
        .help("Polls for completions; requires direct I/O and a driver with polling queues.")
        .of(&["io_uring", "pvsync2"]),
    integer("hipri_percentage", 0, 100, |s, value| s.engine.hipri_percent = value as u8)
        .default("100")
        .help("Percentage of operations to poll for, with hipri.")
        .of(&["pvsync2"]),
    flag("sqthread_poll", |s, on| s.engine.submit_polling = on)
        .help("A kernel thread takes operations from the ring.")
        .of(RING),
    integer("sqthread_poll_cpu", 0, CPUS_MAX, |s, value| s.engine.submit_polling_cpu = Some(value as u32))
        .help("CPU of the kernel thread that takes operations from the ring.")
        .of(RING),
    flag("fixedbufs", |s, on| s.engine.fixed_buffers = on)
        .help("Registers the buffers with the kernel; always done here.")
        .of(RING),
    flag("registerfiles", |s, on| s.engine.registered_files = on)
        .help("Registers the files with the kernel; always done here.")
        .of(RING),
    integer("nonvectored", -1, 1, |s, value| s.engine.non_vectored = value as i8)
        .default("-1")
        .help("Uses operations with one buffer instead of a vector of buffers.")
        .of(RING)
        .bounded("operations always have one buffer"),
    integer("force_async", 0, MAX, |s, value| s.engine.force_async = value as u32)
        .default("0")
        .help("Every Nth operation is executed by a kernel thread (IOSQE_ASYNC); 0 for none.")
        .of(RING),
    flag("nowait", |s, on| s.engine.nowait = on)
        .help("An operation that would block fails with EAGAIN. Supported by pvsync2 and io_uring only.")
        .of(&["pvsync2", "libaio", "io_uring"]),
    flag("uncached", |s, on| s.engine.uncached = on)
        .help("Operations do not leave data in the page cache (RWF_DONTCACHE).")
        .of(&["pvsync2", "io_uring"]),
    flag("userspace_reap", |s, on| s.engine.userspace_reap = on)
        .help("Reaps completions from the ring in memory, without a system call.")
        .of(&["libaio"])
        .bounded("completions are reaped by io_getevents"),
    integer("cpuload", 1, 100, |s, value| s.engine.cpu_load = value as u8)
        .help("CPU load in percent.")
        .of(&["cpuio"]),
    time("cpuchunks", Unit::Microseconds, |s, time| s.engine.cpu_chunk = time)
        .named_also(&["cpuchunk"])
        .default("50000")
        .help("Length of a busy period of the CPU.")
        .of(&["cpuio"]),
    choice!("cpumode", &[("noop", BusyWork::Spin), ("qsort", BusyWork::Sort)], |s, v| s.engine.cpu_work = v)
        .default("noop")
        .help("Kind of CPU load: a busy loop, or sorting, which consumes more power.")
        .of(&["cpuio"]),
    flag("exit_on_io_done", |s, on| s.engine.exit_on_io_done = on)
        .help("The job ends when no other running job does I/O.")
        .of(&["cpuio"]),
    flag("thp", |s, on| s.engine.huge_mapping = on)
        .help("Asks the kernel for huge pages for the mapping (madvise(2), MADV_HUGEPAGE).")
        .of(&["mmap"]),
    ignored("stat_type", Form::Choice(&["stat", "lstat", "statx"]))
        .default("stat")
        .help(
            "System call to read the attributes: statx(2) for all of them, as with current C libraries; none \
             of the files is a link.",
        )
        .of(&["filestat", "dirstat"]),
    exec::OPTIONS[0],
    exec::OPTIONS[1],
    exec::OPTIONS[2],
    exec::OPTIONS[3],
    defrag::OPTIONS[0],
    defrag::OPTIONS[1],
];
