//! What is to be doubted, and the answer.

use iolite_model::{Ending, Fitness, Reason, Verdict};

use crate::Report;
use crate::pen::{Ink, Pen};

/// The warnings, numbered; empty without any.
pub(crate) fn warnings(report: &Report, pen: Pen) -> String {
    if report.warnings.is_empty() {
        return String::new();
    }
    let mut out = pen.paint(Ink::Doubt, "warnings") + "\n";
    for (number, warning) in report.warnings.iter().enumerate() {
        let label = format!("{:>3}. ", number + 1);
        let indent = label.len();
        out += &pen.item(&pen.paint(Ink::Doubt, &label), indent, warning);
    }
    out
}

/// How it ended, where not as planned, and the verdict.
pub(crate) fn verdict(report: &Report, pen: Pen) -> String {
    let ended = match &report.ending {
        Ending::Completed => String::new(),
        Ending::Interrupted => {
            ending(pen, Ink::Doubt, "INTERRUPTED: ", "the table holds what was measured until then")
        }
        Ending::Failed(error) => ending(pen, Ink::Bad, "FAILED: ", error),
    };
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

fn ending(pen: Pen, ink: Ink, label: &str, text: &str) -> String {
    pen.item(&pen.paint(ink, label), label.len(), text)
}

fn reasons(verdict: &Verdict, pen: Pen) -> String {
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
