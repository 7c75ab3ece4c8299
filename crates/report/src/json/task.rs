//! What was asked of a phase, with units in the keys.

use iolite_model::{
    Access, Arrival, BackendKind, DbOperation, DbTask, FileTask, Mix, Nanos, Stop, Target, Task,
};
use serde_json::{Value, json};

/// The task's fields; the name and the concurrency stand beside it.
pub(super) fn task(task: &Task) -> Value {
    match task {
        Task::File(task) => file(task),
        Task::Database(task) => database(task),
    }
}

fn file(task: &FileTask) -> Value {
    let file = match &task.target {
        Target::Null { .. } => None,
        Target::File(file) => Some(json!({
            "name": file.name.to_string_lossy(),
            "create": file.create,
            "preallocate": file.preallocate,
        })),
    };
    json!({
        "kind": "file",
        "file": file,
        "target_bytes": task.target.size().0,
        "backend": match task.backend {
            BackendKind::Null => "null",
            BackendKind::Sync => "sync",
            BackendKind::IoUring => "io_uring",
        },
        "read_percent": match task.mix {
            Mix::Read => 100,
            Mix::Write => 0,
            Mix::ReadPercent(percent) => percent,
        },
        "access": match task.access {
            Access::Sequential => "sequential",
            Access::Random => "random",
        },
        "block_bytes": task.block.0,
        "direct": task.direct,
        "workers": task.workers,
        "arrival_iops": match task.arrival {
            Arrival::Closed => None,
            Arrival::Poisson(rate) => Some(rate.0),
        },
        "sync_every": task.sync_every,
        "stop": stop(task.stop),
        "ramp_ns": task.ramp.0,
        "interval_ns": task.interval.0,
        "seed": task.seed,
    })
}

fn database(task: &DbTask) -> Value {
    let (operation, length, hang, read_percent) = match task.operation {
        DbOperation::RanRead => ("ran_read", None, None, None),
        DbOperation::RanWrite { transaction_length, hang } => {
            ("ran_write", Some(transaction_length), Some(hang), None)
        }
        DbOperation::RanIo { transaction_length, hang, read_percent } => {
            ("ran_io", Some(transaction_length), Some(hang), Some(read_percent))
        }
    };
    json!({
        "kind": "database",
        "operation": operation,
        "transaction_length": length,
        "hang_ns": hang.map(|Nanos(nanos)| nanos),
        "read_percent": read_percent,
        "workers": task.workers,
        "stop": stop(task.stop),
        "ramp_ns": task.ramp.0,
        "interval_ns": task.interval.0,
        "seed": task.seed,
    })
}

fn stop(stop: Stop) -> Value {
    json!({
        "runtime_ns": stop.runtime.map(|Nanos(nanos)| nanos),
        "bytes": stop.bytes.map(|bytes| bytes.0),
        "operations": stop.operations,
    })
}
