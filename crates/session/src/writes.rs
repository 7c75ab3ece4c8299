//! What a run writes: planned before it begins, refused where it would be too much, and held while it runs.

use std::borrow::Cow;

use iolite_engine::{planned_layout, planned_writes};
use iolite_model::{
    Bytes, Concluded, Filesystem, JobTask, MetadataOperation, Storage, Task, Warning, WritePlan,
};

use crate::allowance::WriteAllowance;
use crate::error::{Error, Result};
use crate::session::Session;

/// Free space that is kept back unless the user says otherwise: this share of the file system, and at least so much.
const KEPT_SHARE: u64 = 20;
const KEPT_MIN: Bytes = Bytes::GIB;

/// What the user allows to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WriteLimits {
    /// Bytes in all.
    pub max: Option<Bytes>,
    /// Free space that is left; `None` for 5 % of the file system, and at least 1 GiB.
    pub keep_free: Option<Bytes>,
}

/// Why a plan is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WriteRefusal {
    /// It writes more than is allowed.
    #[error(
        "this run would write {planned}, more than --max-write {max}: reduce the size of files or the amount to write, or increase --max-write"
    )]
    Amount {
        /// What would be written.
        planned: Bytes,
        /// What is allowed.
        max: Bytes,
    },
    /// Too little is free for a database whose logs grow.
    #[error(
        "{free} free in {place}, where the database's logs grow during the run, but {kept} must remain free (by default 5 %, at least \
         1 GiB): free some space, or reduce the reserve (--keep-free)"
    )]
    Free {
        /// What is free.
        free: Bytes,
        /// The mount point.
        place: String,
        /// What is to be left.
        kept: Bytes,
    },
    /// Its files leave too little free.
    #[error(
        "the files of this run take {space}, which leaves {left} of the {free} free in {place}, but {kept} must remain free (by \
         default 5 %, at least 1 GiB): reduce the size of the files, free some space, or reduce the reserve (--keep-free)"
    )]
    Space {
        /// What the files take.
        space: Bytes,
        /// What is left then.
        left: Bytes,
        /// What is free.
        free: Bytes,
        /// The mount point.
        place: String,
        /// What is to be left.
        kept: Bytes,
    },
}

impl WriteLimits {
    /// Whether a plan keeps them, on the file system that its files are on.
    ///
    /// # Errors
    /// Which limit it does not keep.
    pub fn check(&self, plan: &WritePlan, filesystem: Option<&Filesystem>) -> Result<(), WriteRefusal> {
        if let Some(max) = self.max.filter(|max| plan.bytes > *max) {
            return Err(WriteRefusal::Amount { planned: plan.bytes, max });
        }
        // A file system without a size (ramfs) reports no free space either.
        let Some(filesystem) = filesystem.filter(|filesystem| filesystem.size.0 > 0 && plan.space.0 > 0)
        else {
            return Ok(());
        };
        let kept = self.kept(filesystem);
        // Who keeps nothing back wants to see what a full disk does.
        if kept.0 == 0 {
            return Ok(());
        }
        let left = Bytes(filesystem.free.0.saturating_sub(plan.space.0));
        if filesystem.free.0 < plan.space.0.saturating_add(kept.0) {
            let place = filesystem.mount_point.display().to_string();
            return Err(WriteRefusal::Space { space: plan.space, left, free: filesystem.free, place, kept });
        }
        Ok(())
    }

    /// As [`check`](WriteLimits::check), of a plan whose writes are a database's.
    ///
    /// # Errors
    /// Which limit it does not keep.
    pub fn check_in_database(&self, plan: &WritePlan, filesystem: &Filesystem) -> Result<(), WriteRefusal> {
        self.check(plan, Some(filesystem))?;
        let (free, writes) = (filesystem.free, plan.bytes.0 > 0 || plan.timed.0 > 0);
        match self.kept_of_database(filesystem).filter(|kept| writes && free < *kept) {
            None => Ok(()),
            Some(kept) => {
                Err(WriteRefusal::Free { free, place: filesystem.mount_point.display().to_string(), kept })
            }
        }
    }

    /// What is kept free of the file system of a database that grows by itself; `None` where nothing is, or its size is not known.
    pub(crate) fn kept_of_database(&self, filesystem: &Filesystem) -> Option<Bytes> {
        Some(self.kept(filesystem)).filter(|kept| kept.0 > 0 && filesystem.size.0 > 0)
    }

    /// What is kept free of a file system.
    pub fn kept(&self, filesystem: &Filesystem) -> Bytes {
        self.keep_free.unwrap_or_else(|| Bytes(filesystem.size.0 / KEPT_SHARE).max(KEPT_MIN))
    }

    /// The plan of sets of tasks, each of which starts together, on this storage.
    pub fn plan<'a>(&self, sets: impl IntoIterator<Item = &'a [Task]>, storage: &Storage) -> WritePlan {
        let of_set = |set: &[Task]| {
            let plans = set.iter().map(planned_writes);
            plans.reduce(WritePlan::beside).unwrap_or_default()
        };
        let plan = sets.into_iter().map(of_set).fold(WritePlan::default(), WritePlan::then);
        self.on(plan, storage)
    }

    /// A plan within these limits, on this storage.
    pub fn on(&self, plan: WritePlan, storage: &Storage) -> WritePlan {
        let writes = plan.bytes.0 > 0 || plan.timed.0 > 0;
        let drives = if writes { iolite_observe::wear(storage) } else { Vec::new() };
        WritePlan { max: self.max, drives, ..plan }
    }
}

impl Session<'_> {
    /// Records what will be written, and holds the run to what is allowed.
    pub fn plan_writes(&mut self, plan: &WritePlan) {
        self.allowance = plan.max.map(|max| WriteAllowance { max, left: max.0 });
        self.conclude(Concluded::of(plan));
    }

    /// Bytes that may still be written, where that is limited.
    pub(crate) fn left_to_write(&self) -> Option<Bytes> {
        self.allowance.map(|allowance| Bytes(allowance.left))
    }

    /// # Errors
    /// Nothing may be written any more.
    pub(crate) fn refuse_spent_allowance(&self) -> Result<()> {
        match self.allowance {
            Some(WriteAllowance { max, left: 0 }) => Err(Error::AllowanceSpent { max }),
            _ => Ok(()),
        }
    }

    /// Takes what was written from what may still be written.
    pub(crate) fn take_written(&mut self, written: Bytes) {
        if let Some(allowance) = &mut self.allowance {
            allowance.left = allowance.left.saturating_sub(written.0);
        }
    }

    /// The tasks of a set, held to what may still be written.
    pub(crate) fn held_to_allowance<'t>(&mut self, tasks: &'t [JobTask]) -> Result<Cow<'t, [JobTask]>> {
        let Some(allowance) = &mut self.allowance else { return Ok(Cow::Borrowed(tasks)) };
        let writers = tasks.iter().filter(|task| writes(task)).count() as u64;
        let layout: u64 = tasks.iter().map(|task| layout(task).0).fold(0, u64::saturating_add);
        let share = allowance.left.saturating_sub(layout).checked_div(writers);
        let enough =
            share.is_none_or(|share| tasks.iter().all(|task| !writes(task) || min_bytes(task) <= share));
        if allowance.left < layout || !enough {
            return Err(Error::AllowanceShort { max: allowance.max, left: Bytes(allowance.left) });
        }
        allowance.left -= layout;
        let Some(share) = share else { return Ok(Cow::Borrowed(tasks)) };
        let mut tasks = tasks.to_vec();
        tasks.iter_mut().filter(|task| writes(task)).for_each(|task| limit(task, share));
        Ok(Cow::Owned(tasks))
    }

    /// Takes what a set has written from what may still be written, and warns where that has ended a phase.
    pub(crate) fn take_from_allowance(&mut self, tasks: &[JobTask], written: &[Bytes]) {
        let Some(allowance) = &mut self.allowance else { return };
        let max = allowance.max;
        let mut ended = Vec::new();
        for (task, written) in tasks.iter().zip(written) {
            allowance.left = allowance.left.saturating_sub(written.0);
            let limit = task.task().stop().written;
            ended.extend(
                limit
                    .filter(|limit| written.0.saturating_add(slack(task)) > limit.0)
                    .map(|_| task.task().name().to_owned()),
            );
        }
        for name in ended {
            let why = format!("--max-write {max} allows no more");
            self.warn(Warning::LeftOut { what: format!("the rest of `{name}`"), why });
        }
    }
}

fn writes(task: &JobTask) -> bool {
    match task {
        JobTask::Io(task) => task.mix.writes() && !matches!(task.target, iolite_model::Target::Null { .. }),
        JobTask::Metadata(task) => task.operation == MetadataOperation::Create && task.size.0 > 0,
    }
}

fn layout(task: &JobTask) -> Bytes {
    match task {
        JobTask::Io(task) => planned_layout(task),
        JobTask::Metadata(_) => Bytes(0),
    }
}

/// What a task needs to write anything: an operation of each worker.
fn min_bytes(task: &JobTask) -> u64 {
    match task {
        JobTask::Io(task) => task.largest().0.saturating_mul(u64::from(task.workers)),
        JobTask::Metadata(task) => task.size.0,
    }
}

/// What may be left of a share that is used up: less than an operation of each worker, twice, because the share is divided first.
fn slack(task: &JobTask) -> u64 {
    min_bytes(task).saturating_add(u64::from(task.task().concurrency()))
}

fn limit(task: &mut JobTask, share: u64) {
    match task {
        JobTask::Io(task) => {
            let before = task.stop.written.unwrap_or(Bytes(u64::MAX));
            task.stop.written = Some(before.min(Bytes(share)));
        }
        JobTask::Metadata(task) => {
            let files = share / task.size.0.max(1);
            task.stop.operations = Some(task.stop.operations.unwrap_or(u64::MAX).min(files));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filesystem(size: u64, free: u64) -> Filesystem {
        Filesystem { size: Bytes(size << 30), free: Bytes(free << 30), ..Filesystem::default() }
    }

    fn plan(bytes: u64, space: u64) -> WritePlan {
        WritePlan { bytes: Bytes(bytes << 30), space: Bytes(space << 30), ..WritePlan::default() }
    }

    #[test]
    fn five_percent_and_at_least_one_gibibyte_are_kept_free() {
        let limits = WriteLimits::default();
        assert_eq!(limits.check(&plan(0, 89), Some(&filesystem(200, 100))), Ok(()));
        assert!(limits.check(&plan(0, 91), Some(&filesystem(200, 100))).is_err());
        assert_eq!(limits.check(&plan(0, 3), Some(&filesystem(8, 4))), Ok(()));
        let refused = limits.check(&plan(0, 4), Some(&filesystem(8, 4))).unwrap_err().to_string();
        assert!(refused.contains("1 GiB must remain free"), "{refused}");
        let own = WriteLimits { keep_free: Some(Bytes(0)), ..limits };
        assert_eq!(own.check(&plan(0, 9), Some(&filesystem(8, 4))), Ok(()));
        assert_eq!(
            limits.check(&plan(100, 0), Some(&filesystem(1, 0))),
            Ok(()),
            "devices have no free space"
        );
    }

    #[test]
    fn a_database_does_not_run_where_too_little_is_free_for_its_logs() {
        let limits = WriteLimits::default();
        let timed = WritePlan { timed: iolite_model::Nanos(1), ..WritePlan::default() };
        assert_eq!(limits.check_in_database(&timed, &filesystem(200, 11)), Ok(()));
        let refused = limits.check_in_database(&timed, &filesystem(200, 9)).unwrap_err().to_string();
        assert!(refused.contains("9 GiB free") && refused.contains("10 GiB must remain free"), "{refused}");
        assert_eq!(
            limits.check_in_database(&WritePlan::default(), &filesystem(200, 9)),
            Ok(()),
            "it only reads"
        );
        let none = WriteLimits { keep_free: Some(Bytes(0)), ..limits };
        assert_eq!(none.check_in_database(&timed, &filesystem(200, 0)), Ok(()));
    }

    #[test]
    fn a_plan_that_writes_more_than_is_allowed_is_refused() {
        let limits = WriteLimits { max: Some(Bytes::GIB), ..WriteLimits::default() };
        assert_eq!(limits.check(&plan(1, 0), None), Ok(()));
        assert!(matches!(limits.check(&plan(2, 0), None), Err(WriteRefusal::Amount { .. })));
    }
}
