//! Caveats, and the answer.

use iolite_model::{Ending, Fitness, Reason, Verdict, Warning};

use crate::document::Report;
use crate::styler::{Emphasis, Styler};

/// The warnings, numbered; empty without any.
pub(crate) fn warnings(warnings: &[Warning], styler: Styler) -> String {
    if warnings.is_empty() {
        return String::new();
    }
    let mut out = styler.paint(Emphasis::Caution, "warnings") + "\n";
    for (number, warning) in warnings.iter().enumerate() {
        let label = format!("{:>3}. ", number + 1);
        let indent = label.len();
        out += &styler.item(&styler.paint(Emphasis::Caution, &label), indent, warning);
    }
    out
}

/// How a run ended, where not as planned.
pub(crate) fn ended(ending: &Ending, what: &str, styler: Styler) -> String {
    let item = |ink, label: &str, text: &str| styler.item(&styler.paint(ink, label), label.len(), text);
    match ending {
        Ending::Completed => String::new(),
        Ending::Interrupted => {
            item(Emphasis::Caution, "INTERRUPTED: ", &format!("{what} contains the results measured so far"))
        }
        Ending::Failed(error) => item(Emphasis::Bad, "FAILED: ", error),
    }
}

/// How it ended, where not as planned, and the verdict.
pub(crate) fn verdict(report: &Report, styler: Styler) -> String {
    let ended = ended(&report.ending, "the table", styler);
    let answer = match &report.verdict {
        Some(verdict) => reasons(verdict, styler),
        None => {
            let why = match report.ending {
                Ending::Completed => "nothing was measured that could be judged",
                Ending::Interrupted | Ending::Failed(_) => "the run was not completed",
            };
            format!("{} ({why})\n", styler.paint(Emphasis::Caution, "VERDICT: none"))
        }
    };
    ended + &answer
}

/// The verdict with its reasons.
pub(crate) fn reasons(verdict: &Verdict, styler: Styler) -> String {
    let head = format!("VERDICT: {} for {}", verdict.fitness, styler.clean(&verdict.profile));
    let mut out = styler.paint(ink(verdict.fitness), &head) + "\n";
    for Reason { fitness, what, measured, asked, reservations, .. } in &verdict.reasons {
        let mark = match fitness {
            // No criterion that could have been met.
            Fitness::Fit if asked.is_empty() => "-",
            Fitness::Fit => styler.glyph("✓", "+"),
            Fitness::Marginal => "~",
            Fitness::Unfit => styler.glyph("✗", "x"),
        };
        let label = format!("  {} ", styler.paint(ink(*fitness), mark));
        let required = if asked.is_empty() { String::new() } else { format!("; required: {asked}") };
        out += &styler.item(&label, 4, format_args!("{what}: {measured}{required}"));
        for reservation in reservations {
            out += &styler.item("      - ", 8, reservation);
        }
    }
    out
}

fn ink(fitness: Fitness) -> Emphasis {
    match fitness {
        Fitness::Fit => Emphasis::Good,
        Fitness::Marginal => Emphasis::Caution,
        Fitness::Unfit => Emphasis::Bad,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::styler::Style;

    #[test]
    fn a_figure_for_which_nothing_is_required_has_no_tick() {
        let of = |asked: &str| {
            let reasons =
                vec![Reason::new(Fitness::Fit, "random read 64 KiB, capacity", "up to 9 IOPS", asked)];
            let verdict = Verdict { profile: "etcd".into(), fitness: Fitness::Fit, reasons };
            reasons_of(&verdict)
        };
        assert!(of("").ends_with("  - random read 64 KiB, capacity: up to 9 IOPS\n"), "{}", of(""));
        assert!(of("at least 5 IOPS").contains("  ✓ random read 64 KiB"), "{}", of("at least 5 IOPS"));
    }

    fn reasons_of(verdict: &Verdict) -> String {
        reasons(verdict, Styler(Style { color: false, unicode: true, width: 110 }))
    }
}
