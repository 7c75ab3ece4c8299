//! Queue depth.

use iolite_model::{BackendKind, Batch, FileTask, IoFlags, JobTask};

use crate::language::error::{OptionError, Result};
use crate::language::options::Spec;
use crate::language::options::entry::{MAX, choice, flag, integer};
use crate::language::options::option::Opt;
use crate::language::thread::{Thread, ThreadIndex};

/// Queue depth.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Depth {
    /// `iodepth`: operations in flight; at least 1.
    pub iodepth: u32,
    /// `iodepth_batch`: operations handed over at once; 0 for the depth.
    pub batch: Option<u32>,
    /// `iodepth_batch_complete_min`: completions waited for; 0 to poll.
    pub complete_min: u32,
    /// `iodepth_batch_complete_max`: completions taken at once.
    pub complete_max: Option<u32>,
    /// `iodepth_low`: the queue is filled again once it is no deeper than this.
    pub low: Option<u32>,
    /// `serialize_overlap`: operations in flight must not overlap.
    pub serialize_overlap: bool,
    /// `io_submit_mode=offload`: other threads submit.
    pub offload: bool,
}

impl Depth {
    /// Changes `thread` to what these settings say; its engine and its order of offsets are set before.
    pub(crate) fn lower(&self, _spec: &Spec, _place: ThreadIndex, thread: &mut Thread) -> Result {
        let JobTask::Io(task) = &mut thread.task else { return Ok(()) };
        if self.offload {
            offload(task)?;
        }
        // As in fio, the depth of a synchronous engine is 1 whatever is asked for.
        task.concurrency = if task.backend.is_synchronous() { 1 } else { self.iodepth };
        task.batch = self.batches();
        // Whatever the order: reads and writes of a mix go their own ways, and the end of a round meets the next one's beginning.
        task.batch.disjoint = self.serialize_overlap && task.concurrency > 1 && task.mix.writes();
        Ok(())
    }
}

impl Depth {
    /// Number of operations that are submitted and reaped at a time; as fio was seen to take numbers that do not go with each
    /// other.
    fn batches(&self) -> Batch {
        let complete_min = self.complete_min.min(self.iodepth);
        Batch {
            submit: self
                .batch
                .map_or(0, |batch| if batch == 0 { self.iodepth } else { batch.min(self.iodepth) }),
            complete_min,
            complete_max: self.complete_max.map_or(0, |max| max.max(complete_min).max(1)),
            low: self.low.filter(|low| *low < self.iodepth).unwrap_or(0),
            disjoint: false,
        }
    }
}

/// Lets a pool of threads, one for each operation in flight, do what this thread would have done itself.
fn offload(task: &mut FileTask) -> Result {
    match task.backend {
        BackendKind::Sync | BackendKind::Seek => task.backend = BackendKind::Threads,
        BackendKind::Vectored(flags) if flags == IoFlags::default() => task.backend = BackendKind::Threads,
        // Submitting does not wait for the device.
        BackendKind::Null | BackendKind::IoUring(_) | BackendKind::Libaio | BackendKind::Threads => {}
        other => {
            return Err(OptionError::refused(
                format!("io_submit_mode=offload: the {} engine works in its own thread only", other.name()),
                "use ioengine=psync, or io_submit_mode=inline",
            ));
        }
    }
    Ok(())
}

/// The most that an integer option takes.
/// The options.
pub const OPTIONS: &[Opt] = &[
    integer("iodepth", 1, MAX, |s, value| s.depth.iodepth = value as u32).default("1").help(
        "Number of operations in flight. Synchronous engines always have one; libaio needs direct=1 to have \
         more.",
    ),
    integer("iodepth_batch", 0, MAX, |s, value| s.depth.batch = Some(value as u32))
        .named_also(&["iodepth_batch_submit"])
        .help(
            "The most operations that are handed to the kernel together; 0 for as many as iodepth. Without \
             it all that may start are.",
        )
        .differs(
            "a batch does not wait for operations that are not due; by default, all operations that may \
             start are handed over together, where fio has one at a time",
        ),
    integer("iodepth_batch_complete_min", 0, MAX, |s, value| s.depth.complete_min = value as u32)
        .named_also(&["iodepth_batch_complete"])
        .default("1")
        .help(
            "Minimum number of completions to wait for; with 0, completions are reaped without waiting, also \
             after each batch that it has handed over.",
        ),
    integer("iodepth_batch_complete_max", 0, MAX, |s, value| s.depth.complete_max = Some(value as u32))
        .help(
            "The most completions that are taken at once; no fewer than iodepth_batch_complete_min. Without \
             it all that have come back are.",
        )
        .differs(
            "by default, all available completions are reaped, where fio reaps iodepth_batch_complete_min",
        ),
    integer("iodepth_low", 0, MAX, |s, value| s.depth.low = Some(value as u32)).help(
        "Once the queue is full, it drains to this depth before it is filled again; with 0 it does not \
         drain.",
    ),
    flag("serialize_overlap", |s, on| s.depth.serialize_overlap = on).help(
        "Operations that overlap one in flight wait for it, so that what is on the device afterwards is \
         certain.",
    ),
    choice!("io_submit_mode", &[("inline", false), ("offload", true)], |s, v| s.depth.offload = v)
        .default("inline")
        .help("Whether the job's own thread submits operations, or hands them to a pool of threads.")
        .differs(
            "offload makes synchronous engines of plain reads and writes a pool of iodepth threads; it is \
             not needed for the others, because response times count from the intended start here",
        ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::options::option::samples::{io, task};
    use iolite_model::{Access, Mix, RingOptions};

    fn on(backend: BackendKind, settings: &[(&str, &str)]) -> Result<FileTask, OptionError> {
        io(settings, FileTask { backend, ..task(Mix::Write) }).map(|(_, task)| task)
    }

    #[test]
    fn the_depth_is_for_asynchronous_engines() {
        let ring = BackendKind::IoUring(RingOptions::default());
        for (backend, depth) in
            [(ring, 16), (BackendKind::Libaio, 16), (BackendKind::Sync, 1), (BackendKind::Mmap, 1)]
        {
            assert_eq!(on(backend, &[("iodepth", "16")]).unwrap().concurrency, depth, "{backend:?}");
        }
        assert_eq!(on(ring, &[]).unwrap().concurrency, 1);
    }

    #[test]
    fn batches_are_no_larger_than_the_depth() {
        let ring = BackendKind::IoUring(RingOptions::default());
        let batch = |settings: &[(&str, &str)]| {
            let settings: Vec<_> = [("iodepth", "16")].iter().chain(settings).copied().collect();
            let Batch { submit, complete_min, complete_max, low, .. } = on(ring, &settings).unwrap().batch;
            [submit, complete_min, complete_max, low]
        };
        assert_eq!(on(ring, &[("iodepth", "16")]).unwrap().batch, Batch::default());
        assert_eq!(batch(&[("iodepth_batch", "1")]), [1, 1, 0, 0]);
        assert_eq!(batch(&[("iodepth_batch_submit", "0")]), [16, 1, 0, 0]);
        assert_eq!(batch(&[("iodepth_batch", "40"), ("iodepth_batch_complete", "32")]), [16, 16, 0, 0]);
        let both = [("iodepth_batch_complete_min", "8"), ("iodepth_batch_complete_max", "4")];
        assert_eq!(batch(&both), [0, 8, 8, 0]);
        assert_eq!(batch(&[("iodepth_batch_complete_min", "0")]), [0, 0, 0, 0]);
        assert_eq!([batch(&[("iodepth_low", "4")])[3], batch(&[("iodepth_low", "16")])[3]], [4, 0]);
    }

    #[test]
    fn offloading_makes_a_pool_of_a_synchronous_engine() {
        let settings = [("iodepth", "8"), ("io_submit_mode", "offload")];
        for backend in [BackendKind::Sync, BackendKind::Vectored(IoFlags::default())] {
            let task = on(backend, &settings).unwrap();
            assert_eq!((task.backend, task.concurrency), (BackendKind::Threads, 8));
        }
        assert_eq!(on(BackendKind::Libaio, &settings).unwrap().backend, BackendKind::Libaio);
        let flags = IoFlags { hipri: true, ..IoFlags::default() };
        for backend in [BackendKind::Mmap, BackendKind::Vectored(flags)] {
            assert!(on(backend, &settings).unwrap_err().to_string().contains("io_submit_mode=inline"));
        }
    }

    #[test]
    fn operations_of_jobs_that_write_are_kept_apart() {
        let with = |access, mix, iodepth| {
            let task = FileTask { backend: BackendKind::Libaio, access, ..task(mix) };
            io(&[("iodepth", iodepth), ("serialize_overlap", "1")], task).unwrap().1.batch.disjoint
        };
        for access in [Access::Sequential, Access::Covering, Access::Random] {
            assert!(with(access.clone(), Mix::Write, "8") && with(access.clone(), Mix::ReadPercent(50), "8"));
            assert!(!with(access.clone(), Mix::Read, "8") && !with(access, Mix::Write, "1"));
        }
    }
}
