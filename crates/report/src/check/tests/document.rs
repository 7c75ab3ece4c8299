use iolite_model::{Bytes, Concluded, Ending, Nanos, OpKind, Warning};
use iolite_stats::ScalingModel;
use serde_json::json as object;

use super::*;
use crate::synthetic::{self, keys};

#[test]
fn the_keys_are_a_promise() {
    let mut found = Vec::new();
    keys(&json(&synthetic::check()), "", &mut found);
    insta::assert_snapshot!(found.join("\n"), @r"
    .calibration.clock
    .calibration.clock_cost_ns
    .calibration.clock_resolution_ns
    .calibration.loop_cost_ns
    .configuration.notes[].data.value
    .configuration.notes[].kind
    .configuration.notes[].source
    .configuration.notes[].text
    .configuration.settings.dirty_background_bytes
    .configuration.settings.dirty_background_ratio
    .configuration.settings.dirty_bytes
    .configuration.settings.dirty_ratio
    .configuration.settings.huge_page_size
    .configuration.settings.huge_pages
    .configuration.settings.numa_balancing
    .configuration.settings.numa_nodes
    .configuration.settings.overcommit_memory
    .configuration.settings.swap
    .configuration.settings.swappiness
    .configuration.settings.transparent_huge_pages
    .configuration.settings.unused_huge_pages
    .configuration.settings.zone_reclaim_mode
    .ending.error
    .ending.kind
    .format
    .knees[].concurrency.high
    .knees[].concurrency.low
    .knees[].concurrency.value
    .knees[].iops
    .knees[].model.kappa
    .knees[].model.lambda_iops
    .knees[].model.name
    .knees[].model.sigma
    .knees[].model.text
    .knees[].name
    .knees[].phases
    .knees[].plateau_iops.effective_samples
    .knees[].plateau_iops.high
    .knees[].plateau_iops.low
    .knees[].plateau_iops.standard_error
    .knees[].plateau_iops.value
    .knees[].relative_residual
    .knees[].saturated
    .meanwhile.cpu
    .meanwhile.databases
    .meanwhile.devices
    .meanwhile.memory
    .meanwhile.pressure
    .meanwhile.sampling
    .meanwhile.waits
    .phases[].cache.cached_share
    .phases[].cache.compressed
    .phases[].cache.device_flushes
    .phases[].cache.device_read_bytes
    .phases[].cache.device_written_bytes
    .phases[].cache.direct
    .phases[].cache.direct_confirmed
    .phases[].cache.own_read_bytes
    .phases[].cache.own_written_bytes
    .phases[].cache.requested_read_bytes
    .phases[].cache.requested_written_bytes
    .phases[].cache.resident_after
    .phases[].cache.resident_before
    .phases[].cache.stamp
    .phases[].cache.synchronised
    .phases[].cache.unattributed
    .phases[].cache.unwritten
    .phases[].cache.zeros
    .phases[].changes
    .phases[].concurrency
    .phases[].ending.error
    .phases[].ending.kind
    .phases[].errors
    .phases[].index
    .phases[].layer
    .phases[].measured_seconds
    .phases[].name
    .phases[].operations[].bytes
    .phases[].operations[].bytes_per_second
    .phases[].operations[].errors
    .phases[].operations[].iops.effective_samples
    .phases[].operations[].iops.high
    .phases[].operations[].iops.low
    .phases[].operations[].iops.standard_error
    .phases[].operations[].iops.value
    .phases[].operations[].kind
    .phases[].operations[].operations
    .phases[].operations[].response_ns.max
    .phases[].operations[].response_ns.mean.effective_samples
    .phases[].operations[].response_ns.mean.high
    .phases[].operations[].response_ns.mean.low
    .phases[].operations[].response_ns.mean.standard_error
    .phases[].operations[].response_ns.mean.value
    .phases[].operations[].response_ns.p50.high
    .phases[].operations[].response_ns.p50.low
    .phases[].operations[].response_ns.p50.resolved
    .phases[].operations[].response_ns.p50.value
    .phases[].operations[].response_ns.p90.high
    .phases[].operations[].response_ns.p90.low
    .phases[].operations[].response_ns.p90.resolved
    .phases[].operations[].response_ns.p90.value
    .phases[].operations[].response_ns.p99.high
    .phases[].operations[].response_ns.p99.low
    .phases[].operations[].response_ns.p99.resolved
    .phases[].operations[].response_ns.p99.value
    .phases[].operations[].response_ns.p99_9.high
    .phases[].operations[].response_ns.p99_9.low
    .phases[].operations[].response_ns.p99_9.resolved
    .phases[].operations[].response_ns.p99_9.value
    .phases[].operations[].response_ns.p99_99.high
    .phases[].operations[].response_ns.p99_99.low
    .phases[].operations[].response_ns.p99_99.resolved
    .phases[].operations[].response_ns.p99_99.value
    .phases[].operations[].service_ns.p50
    .phases[].operations[].service_ns.p90
    .phases[].operations[].service_ns.p99
    .phases[].operations[].service_ns.p99_9
    .phases[].operations[].service_ns.p99_99
    .phases[].outstanding.at_end
    .phases[].outstanding.backlog
    .phases[].outstanding.lost
    .phases[].outstanding.oldest_ns
    .phases[].rate
    .phases[].started_ns
    .phases[].stuck
    .phases[].task.access
    .phases[].task.arrival
    .phases[].task.backend.io-uring.completion_polling
    .phases[].task.backend.io-uring.linked_sync
    .phases[].task.backend.io-uring.submit_polling
    .phases[].task.batch.complete_max
    .phases[].task.batch.complete_min
    .phases[].task.batch.low
    .phases[].task.batch.submit
    .phases[].task.block
    .phases[].task.cache.advice
    .phases[].task.cache.invalidate
    .phases[].task.concurrency
    .phases[].task.contents.duplicate_percent
    .phases[].task.contents.fill
    .phases[].task.contents.refill
    .phases[].task.contents.scramble
    .phases[].task.direct
    .phases[].task.durability.end_sync
    .phases[].task.durability.open
    .phases[].task.durability.sync
    .phases[].task.errors.max
    .phases[].task.errors.max_service
    .phases[].task.errors.max_service_of
    .phases[].task.errors.stop
    .phases[].task.flow
    .phases[].task.group
    .phases[].task.interval
    .phases[].task.kind
    .phases[].task.mix
    .phases[].task.name
    .phases[].task.placement.cpus
    .phases[].task.placement.io_priority
    .phases[].task.placement.memory
    .phases[].task.placement.nice
    .phases[].task.placement.nodes
    .phases[].task.placement.one_each
    .phases[].task.placement.processes
    .phases[].task.priorities
    .phases[].task.ramp
    .phases[].task.regions
    .phases[].task.seed
    .phases[].task.sizes
    .phases[].task.start.after
    .phases[].task.start.delay
    .phases[].task.start.together
    .phases[].task.stop.bytes
    .phases[].task.stop.full
    .phases[].task.stop.in_flight
    .phases[].task.stop.loops
    .phases[].task.stop.operations
    .phases[].task.stop.runtime
    .phases[].task.stop.worker_bytes
    .phases[].task.stop.worker_operations
    .phases[].task.stop.written
    .phases[].task.target.file.create
    .phases[].task.target.file.name
    .phases[].task.target.file.per_worker
    .phases[].task.target.file.preallocate
    .phases[].task.target.file.size
    .phases[].task.verify
    .phases[].task.watch.detail
    .phases[].task.watch.operations
    .phases[].task.workers
    .phases[].verified
    .preconditioned
    .run.command
    .run.host.architecture
    .run.host.cpu
    .run.host.cpus
    .run.host.kernel
    .run.host.memory_bytes
    .run.host.name
    .run.host.virtualisation
    .run.id
    .run.model_version
    .run.process
    .run.started_unix_ns
    .run.storage.devices[].kind
    .run.storage.devices[].logical_block_bytes
    .run.storage.devices[].major
    .run.storage.devices[].minor
    .run.storage.devices[].model
    .run.storage.devices[].name
    .run.storage.devices[].physical_block_bytes
    .run.storage.devices[].read_ahead_bytes
    .run.storage.devices[].rests_on
    .run.storage.devices[].rotational
    .run.storage.devices[].scheduler
    .run.storage.devices[].size_bytes
    .run.storage.devices[].write_cache
    .run.storage.directory
    .run.storage.filesystem.block_size_bytes
    .run.storage.filesystem.free_bytes
    .run.storage.filesystem.kind
    .run.storage.filesystem.mount_point
    .run.storage.filesystem.options
    .run.storage.filesystem.size_bytes
    .run.storage.filesystem.source
    .run.version
    .verdict.fitness
    .verdict.profile
    .verdict.reasons[].asked
    .verdict.reasons[].bound
    .verdict.reasons[].fitness
    .verdict.reasons[].measured
    .verdict.reasons[].phase
    .verdict.reasons[].reservations
    .verdict.reasons[].statistic
    .verdict.reasons[].unit
    .verdict.reasons[].value
    .verdict.reasons[].what
    .warnings[].data.device
    .warnings[].data.kind
    .warnings[].data.phase
    .warnings[].data.requested
    .warnings[].kind
    .warnings[].text
    ");
}

#[test]
fn a_phase_says_what_it_measured() {
    let document = json(&synthetic::check());
    let read = &document["phases"][0];
    assert_eq!((read["index"].as_u64(), read["layer"].as_str()), (Some(0), Some("file")));
    let operations = &read["operations"][0];
    assert_eq!((operations["kind"].as_str(), operations["operations"].as_u64()), (Some("read"), Some(4490)));
    let iops = operations["iops"]["value"].as_f64().unwrap();
    assert!((iops - 17_960.0).abs() < 1e-6, "{iops}");
    assert_eq!(operations["response_ns"]["p50"]["resolved"], true);
    assert_eq!(operations["response_ns"]["p99_99"]["resolved"], false);
    assert_eq!(document["verdict"]["fitness"], "unfit");
}

#[test]
fn the_document_parses_and_knows_no_infinity() {
    let mut report = synthetic::check();
    let mut found: KneeFound = report.concluded().next().unwrap();
    let knee = &mut found.knee;
    knee.model = ScalingModel::Asymptotes { lambda: 1.0, plateau: f64::INFINITY };
    (knee.plateau.high, knee.relative_residual) = (f64::INFINITY, f64::NAN);
    report.conclusions = vec![Concluded::of(&found)];
    report.warnings.push(Warning::Hung { phase: "p".into(), lost: 3, age: Nanos(5) });
    report.phases.push(synthetic::phase(20, synthetic::read("r", 1, 1), &[(OpKind::Read, 0.0, 1.0, 1, 2)]));
    let text = serde_json::to_string(&json(&report)).unwrap();
    let back: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(back["format"], JSON_FORMAT);
    assert!(back["knees"][0]["model"]["plateau_iops"].is_null());
    assert!(back["knees"][0]["relative_residual"].is_null());
    let failed = back["phases"].as_array().unwrap().last().unwrap();
    assert!(failed["operations"][0]["iops"].is_null() && failed["operations"][0]["service_ns"].is_null());
    assert_eq!(failed["operations"][0]["errors"], 2);
    assert_eq!(back["warnings"][2]["kind"], "hung");
    assert_eq!(back["warnings"][2]["data"]["age"], 5);
}

#[test]
fn what_is_missing_is_null() {
    let mut report = synthetic::empty();
    report.ending = Some(Ending::Failed("no space".into()));
    report.info.storage.devices[0].size = Bytes(0);
    let document = json(&report);
    assert!(document["calibration"].is_null() && document["verdict"].is_null());
    assert_eq!(document["phases"], object!([]));
    assert_eq!(document["ending"], object!({ "kind": "failed", "error": "no space" }));
}
