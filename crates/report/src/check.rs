//! `iolite check`: the complete text in reading order (what was measured, how, what came of it, the answer), and its
//! document, `"format": "iolite-check/1"`.
//!
//! From the first release on, the number after the slash is raised when a key goes away or changes its meaning; new keys may
//! appear at any time.
//! Keys are in snake_case and end in their unit: `_ns` nanoseconds, `_bytes`, `_seconds`, `_unix_ns` nanoseconds
//! since 1970 (UTC); `iops` is operations per second. JSON has no infinity: a number that is unknown or infinite is
//! null. Text is as it was found, JSON's own escapes aside; paths that are not UTF-8 have U+FFFD in place of what
//! is not.
//!
//! | key | holds |
//! |---|---|
//! | `format` | `iolite-check/1` |
//! | `run` | `id`, `version`, `model_version`, `command` (list), `started_unix_ns`, `process`, `host`, `storage` |
//! | `run.host` | `name`, `kernel`, `architecture`, `cpu`, `cpus`, `memory_bytes`, `virtualisation` |
//! | `run.storage` | `directory`, `filesystem`, `devices` (each before the ones it rests on) |
//! | `calibration` | null, or `clock`, `clock_cost_ns`, `clock_resolution_ns`, `loop_cost_ns` |
//! | `configuration` | of a check, an observation and every run inside a database: null, or `settings` of the host (null where unknown) and `notes`: list of `kind`, `text`, `source`, `data` |
//! | `phases` | list: `index`, `name`, `layer` (`calibration`, `file`, `metadata`, `database`), `concurrency`, `task`, `started_ns` (since the run's start), `ending`, `measured_seconds`, `cache`, `outstanding`, `operations`, `errors`, `stuck`, `rate`, `changes`, `verified` |
//! | `phases[].task` | what was asked; `kind` is `file`, `metadata` or `database`, the rest are the fields of a job (docs/job.md), sizes in bytes and times in nanoseconds |
//! | `phases[].cache` | `stamp` (`device`, `partly cached`, `cached`, `unwritten`, `compressed`, `zeros`, `unknown (other I/O on the device)`, `unknown (server I/O not counted)`, `unknown`), `cached_share` (with `partly cached`, else null), `requested_read_bytes`, `requested_written_bytes`, `device_read_bytes`, `device_written_bytes`, `device_flushes`, `own_read_bytes` and `own_written_bytes` (this program's part, null where it is not known), `resident_before`, `resident_after`, `unwritten`, `compressed`, `zeros` (shares from 0 to 1), `unattributed`, `direct_confirmed`, `direct`, `synchronised` |
//! | `phases[].outstanding` | `at_end`, `lost`, `oldest_ns`, `backlog` |
//! | `phases[].operations` | list, one per kind that occurred: `kind` (`read`, `write`, `sync`, `commit`, `trim`, `create`...), `operations`, `errors`, `bytes`, `iops`, `bytes_per_second`, `response_ns`, `service_ns`; `iops` and both times are null where none succeeded |
//! | `phases[].changes` | null, or `operation` (whose rate changed) and `found`: list of `kind` (`level-shift`, `stall`, `periodic`), `at_seconds` (since the start of the measured part), `before_iops` and `after_iops` (estimates), `seconds` (of a stall), `period_seconds`, `amplitude` (share of the mean rate) |
//! | `…iops` | `value`, `low`, `high` (95 % interval, of the variation within this run), `standard_error`, `effective_samples` |
//! | `…response_ns` | `mean` (an estimate like `iops`), `p50`, `p90`, `p99`, `p99_9`, `p99_99`, `max`; each quantile has `value`, `low`, `high` and `resolved`: whether there were operations enough for both ends of its interval |
//! | `…service_ns` | `p50`, `p90`, `p99`, `p99_9`, `p99_99` as numbers: the device's part of the response |
//! | `phases[].errors` | list: `kind`, `class` (`short`, `device`, `space`, `again`, `unsupported`, `verify`, `other`), `count`, `first_offsets` (bytes), `first` (the first one in words) |
//! | `phases[].stuck` | operations given up on, the oldest first: `worker`, `kind`, `offset` (bytes), `age_ns` |
//! | `phases[].rate` | null in a closed loop, or `asked_iops`, `achieved_iops`, `backlog`, `kept` |
//! | `phases[].verified` | null, or `units`, `wrong`, `unknown`, `unreadable`, `incomplete`, `first` (list: `offset` in bytes, `what`) |
//! | `knees` | list: `name`, `phases` (indices), `concurrency` (`value`, `low`, `high`), `iops` (at the knee, by the model), `plateau_iops` (an estimate), `saturated`, `relative_residual`, `model` (`name` `usl` or `asymptotes`, its parameters, `text`) |
//! | `preconditioned` | null, or of a thorough check `steady`, `rounds`, `iops` (mean of the last five rounds), `deviation_percent` |
//! | `warnings` | list: `kind`, `text`, `data` (the warning's own fields; sizes in bytes, times in nanoseconds) |
//! | `verdict` | null, or `profile`, `fitness` (`fit`, `marginal`, `unfit`), `reasons` (list: `fitness`, `what`, `measured`, `asked`, `value`, `bound`, `unit` (null, `nanoseconds`, `operations-per-second`, `bytes-per-second`, `count`), `statistic` (null, `mean`, `quantile 0.999`, `longest`, `rate`, `count`), `phase` (null, or the one that was judged), `reservations`: a list of sentences) |
//! | `meanwhile` | what was sampled during the run, null or empty where it was over too soon: `cpu` (`cpus`, and shares of all of them: `user_share`, `system_share`, `iowait_share`, `steal_share`), `pressure` (list: `resource`, `waiting_share` of the time), `memory` (`min_available_bytes`, `max_dirty_bytes`), `devices` (list, the busiest first: `name`, per second `reads`, `read_bytes`, `writes`, `written_bytes`, and `busy_share`), `databases` (list: `name`, per second `data_reads`, `data_writes`, `log_writes`, `log_syncs`), `waits` (list: `name`, `sessions` on average), `sampling` (`cpu_share` of one CPU, `skipped` samples) |
//! | `stalls` | with `--stalls`, as in a run ([`run::json`](crate::run::json)) |
//! | `ending` | `kind` (`completed`, `interrupted`, `failed`), `error` (null unless failed) |

use iolite_results::Run;
use iolite_stats::{KneeFound, Preconditioned};
use serde_json::{Value, json as object};

use crate::document::document;
use crate::json::{knee, phase};
use crate::styler::{Style, Styler, filled};
use crate::{answer, knees, machine, table};

/// Name and version of the document.
pub const JSON_FORMAT: &str = "iolite-check/1";

/// The complete terminal output of a check.
pub fn text(run: &Run, style: Style) -> String {
    let styler = Styler(style);
    let what = format!("the storage of {}", run.info.storage.directory.display());
    filled([
        machine::header(run, what, styler),
        table::table(run, styler),
        knees::knees(run, styler),
        judgement(run, style),
    ])
}

/// Its warnings and its verdict alone.
pub(crate) fn judgement(run: &Run, style: Style) -> String {
    let styler = Styler(style);
    filled([answer::warnings(&run.warnings, styler), answer::verdict(run, styler)])
}

/// The document of a check.
pub fn json(run: &Run) -> Value {
    let members = object!({
        "phases": run.phases.iter().map(phase).collect::<Vec<_>>(),
        "knees": run.concluded::<KneeFound>().map(|found| knee(&found)).collect::<Vec<_>>(),
        "preconditioned": run.concluded::<Preconditioned>().last(),
        "verdict": run.verdict,
    });
    document(JSON_FORMAT, run, members)
}

#[cfg(test)]
mod tests;
