//! `iolite results compare`.

use clap::Parser;
use iolite_report::comparison::{json, text};
use iolite_results::comparison::{Comparison, Condition, DEFAULT_DETECT};
use iolite_store::Store;

use super::runs;
use crate::exit::{Exit, UsageError, refuse};
use crate::output;
use crate::shared_args::number;

const EXAMPLES: &str = "\
Examples:
  Did the latest run differ from the previous one?
      iolite results compare latest~1 latest
  Compare five runs with the old controller and five with the new one:
      iolite results tag 20261120T160301 old        (and so on)
      iolite results compare --before old --after new
      iolite results compare --before latest~9 latest~8 latest~7 --after latest~2 latest~1 latest
  In CI: exit code 3 if p99 increased by more than 10 % or the rate fell below 5,000:
      iolite results compare --before base --after new --fail-if 'p99 > +10%' --fail-if 'read rate < 5000'

With several runs per side, a difference is significant if it exceeds the variation between runs. With one run per side, \
the intervals cover only the variation within these runs. Runs of both sides that alternate in time in varying order, five of each or more, are \
compared in pairs, so that slow drift of the host is not mistaken for a difference. docs/statistics.md describes the method.";

/// `iolite results compare` as typed.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompareArgs {
    /// First run
    #[arg(value_name = "A", required_unless_present = "before", conflicts_with = "before")]
    one: Option<String>,

    /// Second run
    #[arg(value_name = "B", required_unless_present = "after", conflicts_with = "after")]
    other: Option<String>,

    /// Runs of the first side, or their tag
    #[arg(long, value_name = "RUN|TAG", num_args = 1.., requires = "after")]
    before: Vec<String>,

    /// Runs of the second side, or their tag
    #[arg(long, value_name = "RUN|TAG", num_args = 1.., requires = "before")]
    after: Vec<String>,

    /// Difference to detect, in percent; the number of repeats needed for it is reported
    #[arg(long, value_name = "PERCENT", default_value_t = 100.0 * DEFAULT_DETECT, value_parser = detect)]
    detect: f64,

    /// Exit with code 3 if this condition holds: `[KIND] FIGURE >|< BOUND`; may be repeated. The figures are rate, bandwidth,
    /// mean, p50, p99 and p99.9; the bound is a significant change (+10%, -500, +1ms) or a value of the second side (2ms, 5000)
    #[arg(long, value_name = "CONDITION")]
    fail_if: Vec<Condition>,

    /// Print one JSON document instead of tables
    #[arg(long)]
    json: bool,
}

/// A difference that matters, in percent.
pub(crate) fn detect(text: &str) -> anyhow::Result<f64> {
    let text = text.trim_end_matches('%');
    number(text, |value| value <= 1000.0, "a difference in percent, for example 5")
}

/// Compares stored runs.
///
/// # Errors
/// There are no such runs, they can't be compared, or a condition is about a figure that they don't have.
pub(super) fn run(store: &Store, args: &CompareArgs) -> anyhow::Result<Exit> {
    let before = runs(store, args.one.iter().chain(&args.before))?;
    let after = runs(store, args.other.iter().chain(&args.after))?;
    let comparison = Comparison::of(
        &before.iter().collect::<Vec<_>>(),
        &after.iter().collect::<Vec<_>>(),
        args.detect / 100.0,
    )
    .map_err(UsageError::new)?;
    if let Some(unused) = args.fail_if.iter().find(|condition| !condition.applies(&comparison)) {
        refuse!(
            "--fail-if '{unused}': no such figure was compared (a percentile needs enough operations, and a kind must occur \
             on both sides)"
        );
    }
    let failed: Vec<String> =
        args.fail_if.iter().flat_map(|condition| condition.found(&comparison)).collect();
    let printed = if args.json {
        format!("{:#}\n", json(&comparison, &failed))
    } else {
        text(&comparison, &failed, output::style())
    };
    output::print_rendered(&printed)?;
    Ok(if failed.is_empty() { Exit::Fit } else { Exit::Marginal })
}
