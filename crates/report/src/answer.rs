//! What is to be doubted, and the answer.

use iolite_model::{Ending, Fitness, Reason, Verdict, Warning};

use crate::Report;
use crate::pen::{Ink, Pen};

/// The warnings, numbered; empty without any.
pub(crate) fn warnings(warnings: &[Warning], pen: Pen) -> String {
    if warnings.is_empty() {
        return String::new();
    }
    let mut out = pen.paint(Ink::Doubt, "warnings") + "\n";
    for (number, warning) in warnings.iter().enumerate() {
        let label = format!("{:>3}. ", number + 1);
        let indent = label.len();
        out += &pen.item(&pen.paint(Ink::Doubt, &label), indent, warning);
    }
    out
}

/// How a run ended, where not as planned.
pub(crate) fn ended(ending: &Ending, what: &str, pen: Pen) -> String {
    let item = |ink, label: &str, text: &str| pen.item(&pen.paint(ink, label), label.len(), text);
    match ending {
        Ending::Completed => String::new(),
        Ending::Interrupted => {
            item(Ink::Doubt, "INTERRUPTED: ", &format!("{what} holds what was measured until then"))
        }
        Ending::Failed(error) => item(Ink::Bad, "FAILED: ", error),
    }
}

/// How it ended, where not as planned, and the verdict.
pub(crate) fn verdict(report: &Report, pen: Pen) -> String {
    let ended = ended(&report.ending, "the table", pen);
    let answer = match &report.verdict {
        Some(verdict) => reasons(verdict, pen),
        None => {
            let why = match report.ending {
                Ending::Completed => "nothing was measured that could be judged",
                Ending::Interrupted | Ending::Failed(_) => "the run did not come to its end",
            };
            format!("{} ({why})\n", pen.paint(Ink::Doubt, "VERDICT: none"))
        }
    };
    ended + &answer
}

/// The verdict with its reasons.
pub(crate) fn reasons(verdict: &Verdict, pen: Pen) -> String {
    let head = format!("VERDICT: {} for {}", verdict.fitness, pen.clean(&verdict.profile));
    let mut out = pen.paint(ink(verdict.fitness), &head) + "\n";
    for Reason { fitness, what, measured, asked, .. } in &verdict.reasons {
        let mark = match fitness {
            Fitness::Fit => pen.glyph("✓", "+"),
            Fitness::Marginal => "~",
            Fitness::Unfit => pen.glyph("✗", "x"),
        };
        let label = format!("  {} ", pen.paint(ink(*fitness), mark));
        out += &pen.item(&label, 4, format_args!("{what}: {measured}; asked {asked}"));
    }
    out
}

fn ink(fitness: Fitness) -> Ink {
    match fitness {
        Fitness::Fit => Ink::Good,
        Fitness::Marginal => Ink::Doubt,
        Fitness::Unfit => Ink::Bad,
    }
}
