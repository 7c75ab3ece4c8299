//! The JSON document.

use super::*;

#[test]
fn the_keys_are_a_promise() {
    let document = json(&whole());
    assert_eq!(document["format"], JSON_FORMAT);
    let mut all = Vec::new();
    // What the document of a check has too is promised there.
    let mut own = document.clone();
    own["run"] = Value::Null;
    for phase in own["phases"].as_array_mut().unwrap() {
        phase["task"] = Value::Null;
    }
    let mut mixed = own["phases"][1].take();
    own["phases"] = serde_json::json!([{
        "rate": own["phases"][0]["rate"],
        "stuck": own["phases"][2]["stuck"],
        "verified": own["phases"][2]["verified"],
    }]);
    ["rate", "stuck", "verified"].iter().for_each(|key| mixed[key] = own["phases"][0][key].take());
    own["phases"] = serde_json::json!([mixed]);
    keys(&own, "", &mut all);
    insta::assert_snapshot!(all.join("\n"), @"
    .calibration
    .ending.error
    .ending.kind
    .format
    .groups[].measured_seconds
    .groups[].name
    .groups[].operations[].bytes
    .groups[].operations[].bytes_per_second
    .groups[].operations[].errors
    .groups[].operations[].iops.effective_samples
    .groups[].operations[].iops.high
    .groups[].operations[].iops.low
    .groups[].operations[].iops.standard_error
    .groups[].operations[].iops.value
    .groups[].operations[].kind
    .groups[].operations[].operations
    .groups[].operations[].quantiles[].quantile
    .groups[].operations[].quantiles[].response_ns.high
    .groups[].operations[].quantiles[].response_ns.low
    .groups[].operations[].quantiles[].response_ns.resolved
    .groups[].operations[].quantiles[].response_ns.value
    .groups[].operations[].quantiles[].service_ns
    .groups[].operations[].response_ns.max
    .groups[].operations[].response_ns.mean.effective_samples
    .groups[].operations[].response_ns.mean.high
    .groups[].operations[].response_ns.mean.low
    .groups[].operations[].response_ns.mean.standard_error
    .groups[].operations[].response_ns.mean.value
    .groups[].operations[].response_ns.p50.high
    .groups[].operations[].response_ns.p50.low
    .groups[].operations[].response_ns.p50.resolved
    .groups[].operations[].response_ns.p50.value
    .groups[].operations[].response_ns.p90.high
    .groups[].operations[].response_ns.p90.low
    .groups[].operations[].response_ns.p90.resolved
    .groups[].operations[].response_ns.p90.value
    .groups[].operations[].response_ns.p99.high
    .groups[].operations[].response_ns.p99.low
    .groups[].operations[].response_ns.p99.resolved
    .groups[].operations[].response_ns.p99.value
    .groups[].operations[].response_ns.p99_9.high
    .groups[].operations[].response_ns.p99_9.low
    .groups[].operations[].response_ns.p99_9.resolved
    .groups[].operations[].response_ns.p99_9.value
    .groups[].operations[].response_ns.p99_99.high
    .groups[].operations[].response_ns.p99_99.low
    .groups[].operations[].response_ns.p99_99.resolved
    .groups[].operations[].response_ns.p99_99.value
    .groups[].operations[].service_ns.p50
    .groups[].operations[].service_ns.p90
    .groups[].operations[].service_ns.p99
    .groups[].operations[].service_ns.p99_9
    .groups[].operations[].service_ns.p99_99
    .groups[].phases
    .meanwhile.cpu
    .meanwhile.databases
    .meanwhile.devices
    .meanwhile.memory
    .meanwhile.pressure
    .meanwhile.sampling
    .meanwhile.waits
    .name
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
    .phases[].drain_max_ns
    .phases[].ending.error
    .phases[].ending.kind
    .phases[].errors[].class
    .phases[].errors[].count
    .phases[].errors[].first
    .phases[].errors[].first_offsets
    .phases[].errors[].kind
    .phases[].errors[].number
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
    .phases[].operations[].quantiles[].quantile
    .phases[].operations[].quantiles[].response_ns.high
    .phases[].operations[].quantiles[].response_ns.low
    .phases[].operations[].quantiles[].response_ns.resolved
    .phases[].operations[].quantiles[].response_ns.value
    .phases[].operations[].quantiles[].service_ns
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
    .phases[].ramp_seconds
    .phases[].rate.achieved_iops
    .phases[].rate.asked_iops
    .phases[].rate.backlog
    .phases[].rate.kept
    .phases[].series[].mean_response_ns.read
    .phases[].series[].mean_response_ns.write
    .phases[].series[].operations.read
    .phases[].series[].operations.write
    .phases[].series[].seconds
    .phases[].series[].start_seconds
    .phases[].started_ns
    .phases[].stuck[].age_ns
    .phases[].stuck[].kind
    .phases[].stuck[].offset
    .phases[].stuck[].worker
    .phases[].task
    .phases[].verified.damage.misplaced
    .phases[].verified.first[].damage
    .phases[].verified.first[].offset
    .phases[].verified.first[].what
    .phases[].verified.incomplete
    .phases[].verified.units
    .phases[].verified.unknown
    .phases[].verified.unreadable
    .phases[].verified.wrong
    .run
    .warnings[].data.device
    .warnings[].kind
    .warnings[].text
    ");
    let mut task = Vec::new();
    keys(&document["phases"][3]["task"], ".task", &mut task);
    insta::assert_snapshot!(task.join(" "), @".task.files .task.files_per_directory .task.interval .task.kind .task.name .task.operation .task.ramp .task.random .task.seed .task.size .task.stop.bytes .task.stop.full .task.stop.in_flight .task.stop.loops .task.stop.operations .task.stop.runtime .task.stop.worker_bytes .task.stop.worker_operations .task.stop.written .task.sync .task.together .task.tree .task.workers");
}

#[test]
fn the_series_and_the_quantiles_are_complete() {
    let document = json(&whole());
    let phase = &document["phases"][0];
    let series = phase["series"].as_array().unwrap();
    let counted = series.iter().map(|point| point["operations"]["read"].as_u64().unwrap()).sum::<u64>();
    assert_eq!(Some(counted), phase["operations"][0]["operations"].as_u64());
    let quantiles = phase["operations"][0]["quantiles"].as_array().unwrap();
    let values: Vec<f64> =
        quantiles.iter().map(|each| each["response_ns"]["value"].as_f64().unwrap()).collect();
    assert!(values.is_sorted() && values.len() == 24);
    assert_eq!(values.last().copied(), phase["operations"][0]["response_ns"]["max"].as_f64());
    assert_eq!(document["phases"][1]["errors"][0]["class"], "device");
    assert_eq!(document["groups"][0]["phases"], serde_json::json!([0, 1]));
}
