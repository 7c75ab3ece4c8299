//! The JSON document.

use super::*;

#[test]
fn the_keys_are_a_promise() {
    let mut document = json(&both());
    assert_eq!(document["format"], JSON_FORMAT);
    // What the document of a run has too is promised there.
    ["run", "phase"].iter().for_each(|key| document[key] = Value::Null);
    let mut found = Vec::new();
    keys(&document, "", &mut found);
    insta::assert_snapshot!(found.join("\n"), @"
    .calibration
    .configuration
    .database.block_bytes
    .database.blocks
    .database.direct
    .database.durability
    .database.durable_by
    .database.engine
    .database.globals
    .database.namespace
    .database.phase
    .database.read_path
    .database.settings.full_page_writes
    .database.settings.shared_buffers
    .database.settings.wal_sync_method
    .database.size_bytes
    .database.timed_by
    .database.url
    .database.version
    .database.write_path
    .ending.error
    .ending.kind
    .format
    .meanwhile.cpu
    .meanwhile.databases
    .meanwhile.devices
    .meanwhile.memory
    .meanwhile.pressure
    .meanwhile.sampling
    .meanwhile.waits
    .phase
    .run
    .total.iops.effective_samples
    .total.iops.high
    .total.iops.low
    .total.iops.standard_error
    .total.iops.value
    .total.kinds
    .total.operations
    .total.perftools_response_ns
    .total.processes
    .total.response_ns.max
    .total.response_ns.mean.effective_samples
    .total.response_ns.mean.high
    .total.response_ns.mean.low
    .total.response_ns.mean.standard_error
    .total.response_ns.mean.value
    .total.response_ns.p50.high
    .total.response_ns.p50.low
    .total.response_ns.p50.resolved
    .total.response_ns.p50.value
    .total.response_ns.p95.high
    .total.response_ns.p95.low
    .total.response_ns.p95.resolved
    .total.response_ns.p95.value
    .total.response_ns.p99.high
    .total.response_ns.p99.low
    .total.response_ns.p99.resolved
    .total.response_ns.p99.value
    .total.response_ns.p99_9.high
    .total.response_ns.p99_9.low
    .total.response_ns.p99_9.resolved
    .total.response_ns.p99_9.value
    .used.data_device.flushes
    .used.data_device.read_bytes
    .used.data_device.reads
    .used.data_device.writes
    .used.data_device.written_bytes
    .used.database.data_read_bytes
    .used.database.data_reads
    .used.database.data_syncs
    .used.database.data_writes
    .used.database.data_written_bytes
    .used.database.log_syncs
    .used.database.log_writes
    .used.database.log_written_bytes
    .used.host_cpu_ns
    .used.log_device.flushes
    .used.log_device.read_bytes
    .used.log_device.reads
    .used.log_device.writes
    .used.log_device.written_bytes
    .used.observed_ns
    .used.phase
    .used.ratios.cached_share
    .used.ratios.database_reads_per_read
    .used.ratios.database_writes_per_set
    .used.ratios.device_flushes_per_commit
    .used.ratios.device_reads_per_read
    .used.ratios.device_reads_per_set
    .used.ratios.device_writes_per_set
    .used.ratios.device_written_bytes_per_set
    .used.ratios.log_bytes_per_commit
    .used.ratios.log_bytes_per_set
    .used.ratios.log_syncs_per_commit
    .used.ratios.log_writes_per_commit
    .used.ratios.tool_cpus
    .used.ratios.tool_of_host_cpu
    .used.ratios.writer_active
    .used.tool_cpu_ns
    .used.writer_active_ns
    .waits
    .warnings
    ");
}
