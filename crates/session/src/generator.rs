//! Whether the load generator was at a limit of its host while a phase ran.

use std::time::Instant;

use iolite_model::{Access, BackendKind, GeneratorUse, Layer, Nanos, Target, Task, Usage, Warning};

/// What the host has counted at an instant. It is read once for phases that are released, or end, together: a reading takes longer the
/// more threads there are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HostCounts {
    when: Instant,
    steal: Option<Nanos>,
    others: Option<Nanos>,
}

impl HostCounts {
    pub(crate) fn now() -> HostCounts {
        HostCounts { when: Instant::now(), steal: iolite_observe::steal(), others: others() }
    }

    /// Steal since an earlier instant, as far as it falls to this much time: a ramp is part of what was counted, and not of what was
    /// measured.
    fn steal_since(&self, before: &HostCounts, measured: Nanos) -> Option<Nanos> {
        Some(self.share_since(before, self.steal?.saturating_sub(before.steal?), measured))
    }

    /// CPU time of other programs since an earlier instant, in the same way.
    fn others_since(&self, before: &HostCounts, measured: Nanos) -> Option<Nanos> {
        Some(self.share_since(before, self.others?.saturating_sub(before.others?), measured))
    }

    fn share_since(&self, before: &HostCounts, time: Nanos, measured: Nanos) -> Nanos {
        let passed = self.when.saturating_duration_since(before.when).as_nanos() as f64;
        Nanos((time.0 as f64 * (measured.0 as f64 / passed.max(1.0)).min(1.0)) as u64)
    }
}

/// CPU time of all programs but this one, since the host started. Processes of this program's count as others, as long as they run.
fn others() -> Option<Nanos> {
    let own = iolite_sys::usage::of_this_process().ok()?;
    let own = Nanos(u64::try_from(own.as_nanos()).ok()?);
    iolite_observe::programs_cpu().map(|all| all.saturating_sub(own))
}

/// What the workers of a phase used of the host between its release and its end; `None` of a phase without storage, which is there to meet its limits.
pub(crate) fn used(
    task: &Task,
    usage: &Usage,
    measured: Nanos,
    (released, ended): (Option<HostCounts>, &HostCounts),
    cpus: u32,
) -> Option<GeneratorUse> {
    (task.layer() != Layer::Calibration).then(|| GeneratorUse {
        observed: measured,
        threads: task.threads(),
        cpu: Nanos(usage.user.0.saturating_add(usage.system.0)),
        busiest_cpu: usage.busiest,
        longest_run_delay: usage.longest_run_delay,
        steal: released.and_then(|released| ended.steal_since(&released, measured)),
        others: released.and_then(|released| ended.others_since(&released, measured)),
        cpus,
        polls: polls(task),
    })
}

/// The limits of the host that a phase has met.
pub(crate) fn limits(task: &Task, used: &GeneratorUse) -> Vec<Warning> {
    let layout = is_layout(task);
    let warning = |limit| Warning::GeneratorLimited { phase: task.name().to_owned(), layout, limit };
    used.limits().into_iter().map(warning).collect()
}

/// Whether a phase creates a file and fills it from its beginning, for others to use.
fn is_layout(task: &Task) -> bool {
    let Task::File(task) = task else { return false };
    let creates = matches!(&task.target, Target::File(file) if file.create);
    creates
        && task.access == Access::Sequential
        && task.durability.sync.is_none()
        && task.durability.open.is_none()
}

fn polls(task: &Task) -> bool {
    let Task::File(task) = task else { return false };
    match task.backend {
        BackendKind::IoUring(ring) => ring.completion_polling,
        BackendKind::Vectored(flags) => flags.hipri,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolite_model::{Bytes, ExistingTarget, FileTarget, FileTask, HostLimit, RingOptions};

    const BUSY: Usage = Usage {
        user: Nanos(1_000_000_000),
        system: Nanos(980_000_000),
        context_switches: 0,
        major_faults: 0,
        minor_faults: 0,
        busiest: Nanos(1_980_000_000),
        longest_run_delay: Nanos(0),
    };

    fn file_task(target: Target) -> FileTask {
        FileTask { name: "a".into(), target, ..FileTask::default() }
    }

    fn limits_of(task: FileTask) -> Vec<Warning> {
        let task = Task::File(task);
        let used = used(&task, &BUSY, Nanos(2_000_000_000), (None, &HostCounts::now()), 2);
        used.map_or_else(Vec::new, |used| limits(&task, &used))
    }

    #[test]
    fn a_busy_worker_is_a_limit_but_for_calibration_and_polling() {
        let existing = || {
            Target::Existing(ExistingTarget {
                path: "/a".into(),
                offset: Bytes(0),
                size: Bytes(0),
                overwrite: Default::default(),
            })
        };
        let warning =
            Warning::GeneratorLimited { phase: "a".into(), layout: false, limit: HostLimit::CpuBound(0.99) };
        assert_eq!(limits_of(file_task(existing())), [warning]);
        assert_eq!(limits_of(file_task(Target::Null { size: Bytes::GIB })), []);
        let mut polling = file_task(existing());
        polling.backend =
            BackendKind::IoUring(RingOptions { completion_polling: true, ..RingOptions::PLAIN });
        assert_eq!(limits_of(polling), []);
    }

    #[test]
    fn a_layout_that_was_bound_by_cpu_is_distinguished_from_what_is_measured_later() {
        let file = |create| FileTarget {
            name: "data".into(),
            size: Bytes::MIB,
            create,
            preallocate: true,
            per_worker: false,
        };
        let of = |create, access| {
            let task = FileTask { access, ..file_task(Target::File(file(create))) };
            match limits_of(task).as_slice() {
                [Warning::GeneratorLimited { layout, .. }] => *layout,
                other => panic!("{other:?}"),
            }
        };
        assert!(of(true, Access::Sequential));
        assert!(!of(false, Access::Sequential) && !of(true, Access::Random));
    }
}
