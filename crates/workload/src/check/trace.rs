//! Whether a trace can be repeated.

use iolite_model::{Access, Arrival, FileTask, Mix, Target, Trace, TracedKind, TracedOp};

use crate::error::WorkloadError;

/// Checks what a task says of a trace.
///
/// # Errors
/// The trace is empty or goes beyond its files, or the task says something else than the trace.
pub(super) fn check(task: &FileTask) -> Result<(), WorkloadError> {
    let Access::Trace(trace) = &task.access else {
        return WorkloadError::unless(
            !matches!(task.mix, Mix::Traced(_)) && !matches!(task.arrival, Arrival::Traced(_)),
            || "the mix or the arrivals are a trace's and the order is not".to_owned(),
            "a trace is repeated as a whole",
            "specify a trace as the order (`access`), or another mix and other arrivals",
        );
    };
    WorkloadError::unless(
        !trace.operations().is_empty() && task.mix == Mix::Traced(trace.kinds()),
        || "a trace is empty, or the mix is not of its kinds".to_owned(),
        "a trace says what is done",
        "give the trace operations, and `mix.traced` the kinds that it has",
    )?;
    WorkloadError::unless(
        task.verify.is_none() && task.sizes.is_none() && task.arrival != Arrival::Traced(0),
        || "a trace is repeated with verification, with sizes or at no speed".to_owned(),
        "a trace has its own sizes, and may write a block while an earlier write of it is in flight",
        "remove the verification and the sizes, and give a speed above 0 percent",
    )?;
    check_operations(task, trace)
}

fn check_operations(task: &FileTask, trace: &Trace) -> Result<(), WorkloadError> {
    let sizes: Vec<u64> = match &task.target {
        Target::Files(target) => target.files.iter().map(|file| file.size.0).collect(),
        target => vec![target.size().0],
    };
    // A size of 0 is taken from the file.
    let within = |op: &TracedOp| {
        let size = sizes.get(usize::from(op.file));
        size.is_some_and(|size| {
            let end = op.offset.checked_add(u64::from(op.length));
            *size == 0 || end.is_some_and(|end| end <= *size)
        })
    };
    let sound = |op: &TracedOp| match op.kind {
        TracedKind::Read | TracedKind::Write => (1..=task.block.0).contains(&u64::from(op.length)),
        TracedKind::Trim => op.length > 0,
        TracedKind::Fsync | TracedKind::Fdatasync => op.length == 0,
    };
    let operations = trace.operations();
    let wrong = operations.iter().position(|op| !within(op) || !sound(op));
    if let Some(at) = wrong {
        return Err(WorkloadError::new(
            format!(
                "operation {} of the trace goes beyond its file, or is larger than the block or empty",
                at + 1
            ),
            "operations must be within the files of the task",
            "make the files and the block as large as the trace needs",
        ));
    }
    WorkloadError::unless(
        operations.is_sorted_by_key(|op| op.at),
        || "the trace goes back in time".to_owned(),
        "operations are begun in their order",
        "sort them",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arrivals, IoKind, OpStream, validate};
    use iolite_model::{Bytes, FilesTarget, NamedFile, Nanos, SyncMethod};

    fn op(at: u64, kind: TracedKind, file: u16, offset: u64, length: u32) -> TracedOp {
        TracedOp { at: Nanos(at), offset, length, file, kind }
    }

    fn task(operations: &[TracedOp]) -> FileTask {
        let trace = Trace::from(operations.to_vec());
        let file = |name: &str, size| NamedFile { path: name.into(), offset: Bytes(0), size: Bytes(size) };
        FileTask {
            target: Target::Files(FilesTarget::of(vec![file("a", 10_000), file("b", 9000)])),
            mix: Mix::Traced(trace.kinds()),
            access: Access::Trace(trace),
            arrival: Arrival::Traced(50),
            block: Bytes(4096),
            ..FileTask::default()
        }
    }

    #[test]
    fn a_trace_is_repeated_as_it_is() {
        let operations = [
            op(0, TracedKind::Write, 1, 100, 512),
            op(5, TracedKind::Fdatasync, 1, 0, 0),
            op(5, TracedKind::Read, 0, 5904, 4096),
            op(9, TracedKind::Trim, 1, 0, 9000),
        ];
        let task = task(&operations);
        assert_eq!(validate(&task), Ok(()));
        let (mut stream, mut arrivals) = (OpStream::new(&task, 0).unwrap(), Arrivals::new(&task, 0));
        let mut all = Vec::new();
        for _ in 0..4 {
            let planned = stream.next_op();
            all.push((arrivals.next().unwrap(), planned.kind, planned.offset, planned.length));
            arrivals.advance(planned.length);
        }
        let sync = IoKind::Sync(SyncMethod::Fdatasync);
        let expected = [
            (0, IoKind::Write, 10_100, 512),
            (10, sync, 10_000, 0),
            (10, IoKind::Read, 5904, 4096),
            (18, IoKind::Trim, 10_000, 9000),
        ];
        assert_eq!(all, expected);
        assert_eq!(arrivals.next(), Some(u64::MAX));
        assert_eq!(Arrivals::new(&task, 0).backlog(11), 3);
        assert_eq!(stream.part(), 0..19_000);
    }

    #[test]
    fn what_cannot_be_repeated_is_refused() {
        let good = op(0, TracedKind::Read, 0, 0, 512);
        let whole = task(&[good]);
        assert_eq!(validate(&whole), Ok(()));
        for (task, part) in [
            (task(&[]), "empty"),
            (task(&[op(0, TracedKind::Read, 2, 0, 512)]), "operation 1"),
            (task(&[good, op(0, TracedKind::Read, 1, 8999, 2)]), "operation 2"),
            (task(&[good, op(0, TracedKind::Read, 1, u64::MAX, 2)]), "operation 2"),
            (task(&[op(0, TracedKind::Write, 0, 0, 4097)]), "operation 1"),
            (task(&[op(0, TracedKind::Read, 0, 0, 0)]), "operation 1"),
            (task(&[op(1, TracedKind::Read, 0, 0, 1), good]), "back in time"),
            (FileTask { mix: Mix::Write, ..whole.clone() }, "its kinds"),
            (FileTask { access: Access::Random, ..whole.clone() }, "as a whole"),
            (FileTask { arrival: Arrival::Traced(0), ..whole.clone() }, "no speed"),
        ] {
            let error = validate(&task).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
