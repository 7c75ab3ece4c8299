//! The machine-readable document of a run of TPROC-C, `"format": "iolite-tproc-c/1"`.
//!
//! Keys, units and promises are those of the document of a run ([`run::json`](crate::run::json)). What it has besides or
//! otherwise:
//!
//! | key | holds |
//! |---|---|
//! | `format` | `iolite-tproc-c/1` |
//! | `database` | null, or `url`, `engine`, `version`, `warehouses`, `reduction` (1: the specification's cardinalities), `durable_by`, `settings` (values by name) |
//! | `phases[].nopm` | New-Orders per minute of the measured time by the districts' counter; null where that could not be read |
//! | `phases[].tpm` | commits and rollbacks per minute by the server's counter; null where it counts none |
//! | `phases[].nopm_low`, `nopm_high`, `tpm_low`, `tpm_high` | their 95 % intervals, of the variation within this run; null where unknown |
//! | `phases[].counted` | null, or over the whole phase: `orders` (gained by the districts' counter), `new_orders` (committed by this program), `server_transactions`, `committed`, `rolled_back`, `deadlocks` (each repeated), `lock_timeouts`, `skipped_deliveries` |
//! | `phases[].used` | null, or as in a run of RanIO, without `ratios` |
//! | `phases[].checkpoints` | null where the database does not report them, or `cycles` (checkpoint cycles in the measured time), `whole` (whether these are a whole number, but for a tenth of the time), `at_start`, `at_end` (how far a cycle was then: 0 at the start of a checkpoint, 1 where the next is due), `started` (when cycles started in the measured time, nanoseconds since the release), `has_starts` (false: InnoDB, where a cycle is as much redo log as its largest checkpoint age), `due_time` (nanoseconds), `due_log` (bytes), `age_at_start`, `age_at_end` (InnoDB: checkpoint age, as a share of the largest) |
//! | `phases[].whole_cycles` | null without a whole checkpoint cycle in the measured time, or `start`, `end` (nanoseconds since the release), `nopm`, `nopm_low`, `nopm_high` over all of them, `each` (list) |
//! | `phases[].waits` | null, or what sessions waited for, sampled: `samples`, `interval`, `observed`, `cost` (of a sample), `hidden` (sessions at least that the account could not see, and that the averages leave out), `remedy` (null, or what makes them visible), `gap` (null, or kinds of waits that the server does not show, with what makes it show them), `waits`, `objects` (lists: `name`, `sessions`), `pages` (list: `table`, `page`, `sessions`, `rows` (waited for at the same moment, at most), `rows_in_page`, `advice`), `statements` (list: `statement`, `sessions`, `wait`), `blockers` (list: `waiting`, `holder`, `object`, `sessions`), `failure`; `sessions` are averages over all samples, times nanoseconds |
//! | `knee` | null, or of a sweep over the number of users, as in a check |
//! | `verdict` | null, or as in a check |
//! | `repeats` | null, or of several runs with the same users: `runs`, `nopm_mean`, `nopm_half_width` (95 %, between runs), `nopm_min`, `nopm_max`, `nopm_deviation` |

use iolite_model::TprocCCounted;
use iolite_results::Run;
use iolite_stats::KneeFound;
use serde_json::{Value, json};

use super::repeats::Repeats;
use super::{TprocCPhase, TprocCReport, cycles};
use crate::document::document;
use crate::json as shared;
use crate::ran;
use crate::run::phase_json;

/// Name and version of the document.
pub const JSON_FORMAT: &str = "iolite-tproc-c/1";

/// The document of a run.
pub fn json(run: &Run) -> Value {
    let report = TprocCReport::of(run);
    let members = json!({
        "database": report.database,
        "phases": report.phases.iter().map(phase).collect::<Vec<_>>(),
        "knee": run.concluded::<KneeFound>().last().as_ref().map(shared::knee),
        "verdict": run.verdict,
        "repeats": Repeats::of(&report.phases),
    });
    document(JSON_FORMAT, run, members)
}

fn phase(phase: &TprocCPhase<'_>) -> Value {
    let mut value = phase_json(phase.result);
    let counted = phase.counted.as_ref();
    let rates = phase.rates();
    let tpm = rates.as_ref().and_then(|rates| rates.tpm);
    for (name, rate) in [("nopm", rates.as_ref().map(|rates| rates.nopm)), ("tpm", tpm)] {
        value[name] = rate.map(|rate| rate.value).into();
        value[format!("{name}_low")] = rate.map(|rate| rate.low).into();
        value[format!("{name}_high")] = rate.map(|rate| rate.high).into();
    }
    value["counted"] = counted.map(of_counted).into();
    value["used"] = phase.used.map(|used| ran::took(used, None)).into();
    value["checkpoints"] = cycles::json(phase);
    value["whole_cycles"] = cycles::whole_json(phase);
    value["waits"] = shared::stored(&phase.waits);
    value
}

fn of_counted(counted: &TprocCCounted) -> Value {
    json!({
        "orders": counted.orders_gained(),
        "new_orders": counted.new_orders,
        "server_transactions": counted.transactions_gained(),
        "committed": counted.committed,
        "rolled_back": counted.rolled_back,
        "deadlocks": counted.deadlocks,
        "lock_timeouts": counted.lock_timeouts,
        "skipped_deliveries": counted.skipped_deliveries,
    })
}
