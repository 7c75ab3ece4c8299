//! What was asked of a phase, with units in the keys.

use iolite_model::{
    Access, Arrival, BackendKind, DbOperation, DbTask, FileTask, HotSpot, IoFlags, Mix, Nanos, Stop, Target,
    Task, Zone, ZoneSize,
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
    let (access, access_parameters) = access(&task.access);
    let (arrival, arrival_parameters) = arrival(task.arrival);
    json!({
        "kind": "file",
        "file": file,
        "target_bytes": task.target.size().0,
        "backend": task.backend.name(),
        "io_flags": match task.backend {
            BackendKind::Vectored(flags) => Some(io_flags(flags)),
            _ => None,
        },
        "read_percent": match task.mix {
            Mix::Read => 100,
            Mix::Write => 0,
            Mix::ReadPercent(percent) => percent,
        },
        "access": access,
        "access_parameters": access_parameters,
        "block_bytes": task.block.0,
        "direct": task.direct,
        "workers": task.workers,
        "arrival": arrival,
        "arrival_iops": task.arrival.rate().map(|rate| rate.0),
        "arrival_parameters": arrival_parameters,
        "sync_every": task.sync_every,
        "stop": stop(task.stop),
        "ramp_ns": task.ramp.0,
        "interval_ns": task.interval.0,
        "seed": task.seed,
    })
}

/// Names of the flags that are set.
fn io_flags(flags: IoFlags) -> Vec<&'static str> {
    let IoFlags { dsync, hipri, nowait, atomic, dontcache } = flags;
    let names = [
        (dsync, "dsync"),
        (hipri, "hipri"),
        (nowait, "nowait"),
        (atomic, "atomic"),
        (dontcache, "dontcache"),
    ];
    names.into_iter().filter(|(set, _)| *set).map(|(_, name)| name).collect()
}

/// An order's name, and what else there is to say of it.
fn access(access: &Access) -> (&'static str, Value) {
    match access {
        Access::Sequential => ("sequential", Value::Null),
        Access::SequentialSkip { hole } => ("sequential_skip", json!({ "hole_bytes": hole.0 })),
        Access::Backwards => ("backwards", Value::Null),
        Access::Strided { stride } => ("strided", json!({ "stride_bytes": stride.0 })),
        Access::Runs { blocks } => ("runs", json!({ "blocks": blocks })),
        Access::Random => ("random", Value::Null),
        Access::Covering => ("covering", Value::Null),
        Access::Zipf { theta } => ("zipf", json!({ "theta": theta })),
        Access::Pareto { h } => ("pareto", json!({ "h": h })),
        Access::Normal { deviation_percent } => ("normal", json!({ "deviation_percent": deviation_percent })),
        Access::Zoned(zones) => ("zoned", json!({ "zones": zones.iter().map(zone).collect::<Vec<_>>() })),
        Access::HotSpots(spots) => {
            ("hot_spots", json!({ "spots": spots.iter().map(spot).collect::<Vec<_>>() }))
        }
    }
}

fn zone(zone: &Zone) -> Value {
    let (percent, bytes) = match zone.size {
        ZoneSize::Percent(percent) => (Some(percent), None),
        ZoneSize::Bytes(bytes) => (None, Some(bytes.0)),
    };
    json!({ "io_percent": zone.io_percent, "size_percent": percent, "size_bytes": bytes })
}

fn spot(spot: &HotSpot) -> Value {
    json!({
        "offset_bytes": spot.offset.0,
        "length_bytes": spot.length.0,
        "io_percent": spot.io_percent,
    })
}

/// The name of the arrivals, and what there is to say of them besides their rate.
fn arrival(arrival: Arrival) -> (&'static str, Value) {
    match arrival {
        Arrival::Closed => ("closed", Value::Null),
        Arrival::Poisson(_) => ("poisson", Value::Null),
        Arrival::Constant(_) => ("constant", Value::Null),
        Arrival::Bursts { rate: _, operations } => ("bursts", json!({ "operations": operations })),
        Arrival::ThinkTime { pause, operations } => {
            ("think_time", json!({ "pause_ns": pause.0, "operations": operations }))
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use iolite_model::{Bytes, Iops};

    #[test]
    fn orders_are_named_with_their_parameters() {
        assert_eq!(access(&Access::Random), ("random", Value::Null));
        assert_eq!(access(&Access::Zipf { theta: 0.99 }), ("zipf", json!({ "theta": 0.99 })));
        let zones = vec![
            Zone { io_percent: 60.0, size: ZoneSize::Percent(10.0) },
            Zone { io_percent: 40.0, size: ZoneSize::Bytes(Bytes(4096)) },
        ];
        let expected = json!({ "zones": [
            { "io_percent": 60.0, "size_percent": 10.0, "size_bytes": null },
            { "io_percent": 40.0, "size_percent": null, "size_bytes": 4096 },
        ] });
        assert_eq!(access(&Access::Zoned(zones)), ("zoned", expected));
    }

    #[test]
    fn arrivals_are_named_with_their_parameters() {
        assert_eq!(arrival(Arrival::Constant(Iops(5.0))), ("constant", Value::Null));
        let think = Arrival::ThinkTime { pause: Nanos(7), operations: 3 };
        assert_eq!(arrival(think), ("think_time", json!({ "pause_ns": 7, "operations": 3 })));
    }
}
