//! What was asked of a phase, with units in the keys.

use iolite_model::{
    Access, Arrival, BackendKind, DbOperation, DbTask, ErrorClass, FileTask, Fill, HotSpot, IoClass, IoFlags,
    IoPriority, KindRates, MemoryPolicy, MetadataOperation, MetadataTask, Mix, Nanos, Overwrite, Pace,
    Placement, Prioritized, PriorityShare, Regions, RingOptions, SizeLaw, Stop, SyncMethod, Target, Task,
    Zone, ZoneSize,
};
use serde_json::{Value, json};

/// The task's fields; the name and the concurrency stand beside it.
pub(crate) fn task(task: &Task) -> Value {
    match task {
        Task::File(task) => file(task),
        Task::Metadata(task) => metadata(task),
        Task::Database(task) => database(task),
    }
}

fn file(task: &FileTask) -> Value {
    let (access, access_parameters) = access(&task.access);
    let (arrival, arrival_parameters) = arrival(task.arrival);
    let (mix, read_percent, trim_percent) = mix(task.mix);
    let mut value = json!({
        "kind": "file",
        "target_bytes": task.target.size().0,
        "backend": task.backend.name(),
        "io_flags": match task.backend {
            BackendKind::Vectored(flags) => Some(io_flags(flags)),
            _ => None,
        },
        "ring_options": match task.backend {
            BackendKind::IoUring(options) => Some(ring_options(options)),
            _ => None,
        },
        "mix": mix,
        "read_percent": read_percent,
        "trim_percent": trim_percent,
        "access": access,
        "access_parameters": access_parameters,
        "regions": regions(task.regions),
        "block_bytes": task.block.0,
        "sizes": task.sizes.as_ref().map(|sizes| json!({
            "reads": size_law(&sizes.reads),
            "writes": size_law(&sizes.writes),
            "trims": size_law(&sizes.trims),
            "alignment_bytes": sizes.alignment.0,
        })),
        "direct": task.direct,
        "workers": task.workers,
        "processes": task.processes,
        "placement": placement(&task.placement),
        "priorities": task.priorities.iter().map(priority_share).collect::<Vec<_>>(),
        "batch": json!({
            "submit": task.batch.submit,
            "complete_min": task.batch.complete_min,
            "complete_max": task.batch.complete_max,
            "low": task.batch.low,
        }),
        "arrival": arrival,
        "arrival_iops": task.asked_rate().map(|rate| rate.0),
        "arrival_parameters": arrival_parameters,
        "sync_every": task.sync.map(|sync| sync.every),
        "sync_method": task.sync.map(|sync| sync_method(sync.method)),
        "group": task.group,
        "together": task.together,
        "delay_ns": task.delay.0,
        "stop": stop(task.stop),
        "ramp_ns": task.ramp.0,
        "interval_ns": task.interval.0,
        "seed": task.seed,
    });
    value["file"] = own_file(&task.target);
    value["existing"] = existing(&task.target);
    value["contents"] = contents(task);
    value["verify"] = verify(task);
    value["on_error"] = json!({
        "stop": task.on_error.stop.iter().copied().map(ErrorClass::name).collect::<Vec<_>>(),
        "most": task.on_error.most,
    });
    value
}

fn own_file(target: &Target) -> Value {
    let Target::File(file) = target else { return Value::Null };
    json!({
        "name": file.name.to_string_lossy(),
        "create": file.create,
        "preallocate": file.preallocate,
        "per_worker": file.per_worker,
    })
}

fn existing(target: &Target) -> Value {
    let Target::Existing(existing) = target else { return Value::Null };
    json!({
        "path": existing.path.to_string_lossy(),
        "offset_bytes": existing.offset.0,
        "overwrite": match existing.overwrite {
            Overwrite::Never => "never",
            Overwrite::Blank => "blank",
            Overwrite::Anything => "anything",
        },
    })
}

fn contents(task: &FileTask) -> Value {
    let (fill, percent, pattern) = match &task.contents.fill {
        Fill::Random => ("random", None, None),
        Fill::Zeros => ("zeros", None, None),
        Fill::Pattern(pattern) => ("pattern", None, Some(pattern)),
        Fill::Compressible { percent, pattern } => ("compressible", Some(percent), Some(pattern)),
    };
    json!({
        "fill": fill,
        "compressible_percent": percent,
        "pattern": pattern,
        "duplicate_percent": task.contents.duplicate_percent,
        "refill": task.contents.refill,
    })
}

fn verify(task: &FileTask) -> Value {
    let Some(verify) = &task.verify else { return Value::Null };
    let unit = if verify.unit.0 == 0 { task.block } else { verify.unit };
    json!({
        "check": verify.check.name(),
        "unit_bytes": unit.0,
        "reads": verify.reads,
        "after": verify.after,
        "state": verify.state.as_ref().map(|path| path.to_string_lossy()),
    })
}

/// A mix's name, and the shares of reads and trims in percent, the rest being writes.
fn mix(mix: Mix) -> (&'static str, u8, u8) {
    match mix {
        Mix::Read => ("read", 100, 0),
        Mix::Write => ("write", 0, 0),
        Mix::ReadPercent(percent) => ("read_write", percent, 0),
        Mix::Trim => ("trim", 0, 100),
        Mix::TrimPercent(percent) => ("trim_write", 0, percent),
        Mix::TrimThenWrite => ("trim_then_write", 0, 50),
        // Shares are the trace's.
        Mix::Traced(_) => ("traced", 0, 0),
    }
}

fn regions(regions: Regions) -> Value {
    match regions {
        Regions::Natural => json!({ "kind": "natural" }),
        Regions::Shared => json!({ "kind": "shared" }),
        Regions::Slices => json!({ "kind": "slices" }),
        Regions::Increment(bytes) => json!({ "kind": "increment", "increment_bytes": bytes.0 }),
    }
}

fn size_law(law: &SizeLaw) -> Value {
    match law {
        SizeLaw::Fixed(size) => json!({ "kind": "fixed", "size_bytes": size.0 }),
        SizeLaw::Range { least, most, multiple } => json!({
            "kind": "range",
            "least_bytes": least.0,
            "most_bytes": most.0,
            "multiple_bytes": multiple.0,
        }),
        SizeLaw::Split(sizes) => {
            let size = |weighted: &iolite_model::WeightedSize| json!({ "size_bytes": weighted.size.0, "percent": weighted.percent });
            json!({ "kind": "split", "split": sizes.iter().map(size).collect::<Vec<_>>() })
        }
    }
}

fn placement(placement: &Placement) -> Value {
    json!({
        "cpus": placement.cpus,
        "nodes": placement.nodes,
        "one_each": placement.one_each,
        "memory": memory(&placement.memory),
        "nice": placement.nice,
        "io_priority": placement.io_priority.map(io_priority),
    })
}

/// A policy's name and its nodes.
fn memory(policy: &MemoryPolicy) -> Value {
    let (name, nodes) = match policy {
        MemoryPolicy::Default => return Value::Null,
        MemoryPolicy::Prefer(node) => ("prefer", vec![*node]),
        MemoryPolicy::Bind(nodes) => ("bind", nodes.clone()),
        MemoryPolicy::Interleave(nodes) => ("interleave", nodes.clone()),
    };
    json!({ "policy": name, "nodes": nodes })
}

fn io_priority(priority: IoPriority) -> Value {
    let class = match priority.class {
        IoClass::RealTime => "real_time",
        IoClass::BestEffort => "best_effort",
        IoClass::Idle => "idle",
    };
    json!({ "class": class, "level": priority.level })
}

fn priority_share(share: &PriorityShare) -> Value {
    let of = match share.of {
        Prioritized::Reads => "reads",
        Prioritized::Writes => "writes",
    };
    json!({
        "of": of,
        "size_bytes": share.size.map(|size| size.0),
        "percent": share.percent,
        "priority": io_priority(share.priority),
    })
}

fn sync_method(method: SyncMethod) -> &'static str {
    match method {
        SyncMethod::Fdatasync => "fdatasync",
        SyncMethod::Fsync => "fsync",
        SyncMethod::FileRange => "sync_file_range",
    }
}

/// Names of the options that are set.
fn ring_options(options: RingOptions) -> Vec<&'static str> {
    let RingOptions { submit_polling, completion_polling, linked_sync } = options;
    let names = [
        (submit_polling, "submit_polling"),
        (completion_polling, "completion_polling"),
        (linked_sync, "linked_sync"),
    ];
    names.into_iter().filter(|(set, _)| *set).map(|(_, name)| name).collect()
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
        Access::SequentialBack { step } => ("sequential_back", json!({ "step_bytes": step.0 })),
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
        Access::ZoneCycle(cycle) => {
            let parameters = json!({
                "range_bytes": cycle.range.0,
                "amount_bytes": cycle.amount.0,
                "skip_bytes": cycle.skip.0,
                "random": cycle.random,
            });
            ("zone_cycle", parameters)
        }
        Access::Append => ("append", Value::Null),
        Access::Trace(trace) => ("trace", json!({ "operations": trace.operations().len() })),
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
        Arrival::ConstantBytes(rate) => ("constant_bytes", json!({ "bytes_per_second": rate.0 })),
        Arrival::PoissonBytes(rate) => ("poisson_bytes", json!({ "bytes_per_second": rate.0 })),
        Arrival::ByKind(KindRates { reads, writes, trims, poisson }) => {
            let pace = |pace: Pace| match pace {
                Pace::Operations(rate) => json!({ "operations_per_second": rate.0 }),
                Pace::Bytes(rate) => json!({ "bytes_per_second": rate.0 }),
            };
            let [reads, writes, trims] = [reads, writes, trims].map(|of| of.map(pace));
            let parameters = json!({ "reads": reads, "writes": writes, "trims": trims, "poisson": poisson });
            ("by_kind", parameters)
        }
        Arrival::Traced(percent) => ("traced", json!({ "percent": percent })),
        Arrival::ThinkTime { pause, operations, io_time, spin } => {
            let parameters = json!({
                "pause_ns": pause.0,
                "operations": operations,
                "io_time_ns": io_time.0,
                "spin_ns": spin.0,
            });
            ("think_time", parameters)
        }
    }
}

fn metadata(task: &MetadataTask) -> Value {
    json!({
        "kind": "metadata",
        "operation": match task.operation {
            MetadataOperation::Create => "create",
            MetadataOperation::Stat => "stat",
            MetadataOperation::Open => "open",
            MetadataOperation::Unlink => "unlink",
            MetadataOperation::Mkdir => "mkdir",
            MetadataOperation::Rmdir => "rmdir",
        },
        "tree": task.tree.to_string_lossy(),
        "files": task.files,
        "files_per_directory": task.files_per_directory,
        "random": task.random,
        "size_bytes": task.size.0,
        "sync": task.sync,
        "workers": task.workers,
        "together": task.together,
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
        "timed_by": task.timed_by.name(),
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
        "loops": stop.loops,
        "worker_bytes": stop.worker_bytes.map(|bytes| bytes.0),
        "worker_operations": stop.worker_operations,
        "full": stop.full,
        "in_flight": stop.in_flight,
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
        let think = Arrival::ThinkTime { pause: Nanos(7), operations: 3, io_time: Nanos(0), spin: Nanos(0) };
        assert_eq!(
            arrival(think),
            ("think_time", json!({ "pause_ns": 7, "operations": 3, "io_time_ns": 0, "spin_ns": 0 }))
        );
    }
}
