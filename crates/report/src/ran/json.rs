//! The machine-readable document of a run of RanRead, RanWrite or RanIO, `"format": "iolite-ran/1"`.
//!
//! Keys, units and promises are those of the document of a run ([`run::json`](crate::run::json)). What it has besides or
//! otherwise:
//!
//! | key | holds |
//! |---|---|
//! | `format` | `iolite-ran/1` |
//! | `database` | null, or `url`, `namespace`, `engine`, `version`, `block_bytes`, `size_bytes`, `blocks`, `globals` (list: subscripts of each), `read_path`, `write_path`, `durability` (`full`, `relaxed`), `durable_by`, `direct`, `timed_by` (`client`, `database`), `settings` (values by name) |
//! | `phase` | null, or one as in a run |
//! | `total` | null where nothing completed, or reads and sets as one kind: `kinds`, `processes`, `operations`, `iops`, `response_ns` (`mean`, `p50`, `p95`, `p99`, `p99_9`, `max`, as in a run), `perftools_response_ns` (elapsed time × processes / operations) |
//! | `used` | null, or what the operations took over the phase, ramp and end included: `observed_ns`, `data_device` and `log_device` (null, or `reads`, `read_bytes`, `writes`, `written_bytes`, `flushes`: everybody's on it), `database` (its own count of `data_reads`, `data_read_bytes`, `data_writes`, `data_written_bytes`, `data_syncs`, `log_writes`, `log_written_bytes`, `log_syncs`; null where it does not count), `writer_active_ns`, `tool_cpu_ns`, `host_cpu_ns`, `ratios` |
//! | `waits` | null, or as in a phase of TPROC-C |
//! | `used.ratios` | physical operations for each logical one, ramp and end included: `device_reads_per_read`, `database_reads_per_read`, `device_reads_per_set` (without block reads), `cached_share` (of block reads, at least), `device_writes_per_set`, `device_written_bytes_per_set`, `database_writes_per_set`, `log_bytes_per_set`, `log_bytes_per_commit`, `log_writes_per_commit`, `log_syncs_per_commit` (the log's by the database's count, else by its own device's), `device_flushes_per_commit`; and shares: `writer_active`, `tool_of_host_cpu`, `tool_cpus` (1: one CPU all the time) |

use iolite_model::{DatabaseUse, OpKind};
use iolite_results::Run;
use iolite_stats::PhaseResult;
use serde_json::{Map, Value, json};

use super::RanReport;
use super::ratios::Ratios;
use super::total::Total;
use crate::document::document;
use crate::json as shared;
use crate::run::phase_json;

/// Name and version of the document.
pub const JSON_FORMAT: &str = "iolite-ran/1";

/// The quantiles of the total, with their keys.
const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p99_9", 0.999)];

/// The document of a run.
pub fn json(run: &Run) -> Value {
    let report = RanReport::of(run);
    let members = json!({
        "database": report.facts,
        "phase": report.phase.map(phase_json),
        "total": report.phase.and_then(Total::of).map(|all| total(&all)),
        "used": report.used.map(|used| took(used, report.phase)),
        "waits": report.waits(),
    });
    document(JSON_FORMAT, run, members)
}

fn total(total: &Total) -> Value {
    let mut times = Map::new();
    times.insert("mean".into(), shared::known(&total.mean).into());
    for (key, share) in QUANTILES {
        let value = total.quantile(share).map(|value| shared::quantile(&value, share, total.operations));
        times.insert(key.into(), value.into());
    }
    times.insert("max".into(), total.max.map(|max| max.0).into());
    json!({
        "kinds": total.kinds.iter().copied().map(OpKind::name).collect::<Vec<_>>(),
        "processes": total.processes,
        "operations": total.operations,
        "iops": shared::estimate(&total.rate),
        "response_ns": times,
        "perftools_response_ns": total.perftools_mean,
    })
}

/// What a phase's operations took.
pub(crate) fn took(used: &DatabaseUse, phase: Option<&PhaseResult>) -> Value {
    let mut value = shared::stored(used);
    value["ratios"] = shared::stored(phase.map(|phase| Ratios::of(phase, used)));
    value
}
