//! Whether a task's parameters make a workload.

use iolite_model::{FileTask, Mix};

use crate::{WorkloadError, arrival, offset};

/// Checks all that this crate takes from a task; to be called before its streams are made.
///
/// # Errors A parameter is out of its range, or does not go with another one. That the target has too few blocks is not
/// for here: [`OpStream::new`](crate::OpStream::new) tells.
pub fn validate(task: &FileTask) -> Result<(), WorkloadError> {
    if let Mix::ReadPercent(percent) = task.mix {
        WorkloadError::unless(
            percent <= 100,
            || format!("the share of reads is {percent} %"),
            "a percentage is between 0 and 100",
            "correct it",
        )?;
    }
    offset::check(&task.access, task.target.size(), task.block, task.direct)?;
    arrival::check(task.arrival)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::tests::task;
    use iolite_model::{Access, Arrival, Iops, Stop};

    #[test]
    fn each_part_is_checked() {
        let good = task(Mix::ReadPercent(100), Stop::default());
        assert_eq!(validate(&good), Ok(()));
        for (task, part) in [
            (FileTask { mix: Mix::ReadPercent(101), ..good.clone() }, "share of reads is 101 %"),
            (FileTask { access: Access::Runs { blocks: 0 }, ..good.clone() }, "a run has no block"),
            (FileTask { arrival: Arrival::Constant(Iops(0.0)), ..good.clone() }, "rate"),
        ] {
            let error = validate(&task).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
