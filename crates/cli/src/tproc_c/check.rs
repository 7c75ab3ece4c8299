//! `check`: the consistency conditions.

use iolite_model::Durability;
use iolite_oltp::tproc_c::{self, Condition, Layout};
use iolite_report::count;
use serde_json::json;

use super::args::CheckArgs;
use super::open::{open, refused};
use crate::exit::Exit;
use crate::output;

/// Violations of a condition that are printed one by one.
const SHOWN: usize = 8;

/// Checks the conditions.
///
/// # Errors
/// There is no such database, or it can't be read.
pub(super) fn check(args: &CheckArgs) -> anyhow::Result<Exit> {
    let (url, database) = open(&args.database, Durability::AsConfigured)?;
    let layout = database.layout().map_err(refused)?;
    let conditions = tproc_c::check(database.as_ref()).map_err(refused)?;
    let consistent = conditions.iter().all(|condition| condition.violations.is_empty());
    if args.json {
        let document = json!({
            "format": "iolite-tproc-c-check/1",
            "database": url.to_string(),
            "warehouses": layout.warehouses,
            "reduction": layout.reduction,
            "consistent": consistent,
            "conditions": conditions,
        });
        output::print(&format!("{document:#}\n"))?;
    } else {
        output::print(&text(&url.to_string(), layout, &conditions, consistent))?;
    }
    Ok(if consistent { Exit::Fit } else { Exit::Unfit })
}

fn text(url: &str, layout: Layout, conditions: &[Condition], consistent: bool) -> String {
    let reduced =
        if layout.reduction > 1 { format!(" (REDUCED to 1/{})", layout.reduction) } else { String::new() };
    let mut out = format!("{url}: TPROC-C, {} warehouses{reduced}\n", count(layout.warehouses.into()));
    for condition in conditions {
        let verdict = match condition.violations.len() {
            0 => format!("holds in {}", count(condition.checked)),
            broken => format!("VIOLATED in {} of {}", count(broken as u64), count(condition.checked)),
        };
        out += &format!("condition {}: {verdict}: {}\n", condition.name, condition.says);
        for violation in condition.violations.iter().take(SHOWN) {
            let place = match violation.district {
                0 => format!("warehouse {}", violation.warehouse),
                district => format!("warehouse {}, district {district}", violation.warehouse),
            };
            let numbers: Vec<String> = violation.found.iter().map(i64::to_string).collect();
            out += &format!("    {place}: {}\n", numbers.join(", "));
        }
    }
    out + if consistent { "CONSISTENT\n" } else { "INCONSISTENT: orders or payments were lost or doubled\n" }
}
