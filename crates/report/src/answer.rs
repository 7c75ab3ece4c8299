//! Caveats, and the answer.

use iolite_model::{Ending, Fitness, Reason, Verdict, Warning};
use iolite_results::Run;

use crate::document::ending;
use crate::styler::{Emphasis, Styler, filled};

/// Warnings of one kind that are shown one by one: a run of a thousand phases may have hundreds.
const OF_A_KIND: usize = 5;

/// The warnings in words: of many of the same kind the first ones, and how many others there are. What was left out is always named.
pub(crate) fn condensed(warnings: &[Warning]) -> Vec<String> {
    let is_same = |one: &Warning, other: &Warning| {
        std::mem::discriminant(one) == std::mem::discriminant(other)
            // Each of these is about something else, or about failures.
            && !matches!(one, Warning::LeftOut { .. } | Warning::Errors { .. } | Warning::SettingsChanged { .. })
    };
    let mut shown = Vec::new();
    // Of each warning that is shown, which line it is.
    let mut lines = vec![0; warnings.len()];
    for (index, warning) in warnings.iter().enumerate() {
        let same = |&other: &usize| is_same(warning, &warnings[other]);
        let before = (0..index).filter(same).count();
        lines[index] = shown.len() + 1;
        let others = warnings[index..].iter().filter(|other| is_same(warning, other)).count();
        match before {
            // A line that says that there is one more would be as long as that one.
            ..OF_A_KIND => shown.push(warning.to_string()),
            OF_A_KIND if others <= 1 => shown.push(warning.to_string()),
            OF_A_KIND => {
                let first = (0..index).find(same).map_or(0, |first| lines[first]);
                shown.push(format!(
                    "{others} further warnings like number {first}, about other phases: all of them are in the JSON document \
                     (`iolite results json`) and on the page (`iolite report`)"
                ));
            }
            _ => {}
        }
    }
    shown
}

/// The warnings, numbered; empty without any.
pub(crate) fn warnings(warnings: &[Warning], styler: Styler) -> String {
    if warnings.is_empty() {
        return String::new();
    }
    let mut out = styler.paint(Emphasis::Caution, "warnings") + "\n";
    for (number, warning) in condensed(warnings).iter().enumerate() {
        let label = format!("{:>3}. ", number + 1);
        let indent = label.len();
        out += &styler.item(&styler.paint(Emphasis::Caution, &label), indent, warning);
    }
    out
}

/// How a run ended, where not as planned.
pub(crate) fn ended(run: &Run, what: &str, styler: Styler) -> String {
    let item = |ink, label: &str, text: &str| styler.item(&styler.paint(ink, label), label.len(), text);
    match ending(run) {
        Ending::Completed => String::new(),
        Ending::Interrupted => {
            item(Emphasis::Caution, "INTERRUPTED: ", &format!("{what} contains the results measured so far"))
        }
        Ending::Failed(error) => item(Emphasis::Bad, "FAILED: ", &error),
    }
}

/// How it ended, where not as planned, and the verdict.
pub(crate) fn verdict(run: &Run, styler: Styler) -> String {
    let answer = match &run.verdict {
        Some(verdict) => reasons(verdict, styler),
        None => {
            let why = match ending(run) {
                Ending::Completed => "nothing was measured that could be judged",
                Ending::Interrupted | Ending::Failed(_) => "the run was not completed",
            };
            format!("{} ({why})\n", styler.paint(Emphasis::Caution, "VERDICT: none"))
        }
    };
    ended(run, "the table", styler) + &answer
}

/// The last lines of most reports: the warnings, how the run ended where not as planned, and the verdict where one was
/// reached. `what` contains the results.
pub(crate) fn closing(run: &Run, what: &str, styler: Styler) -> String {
    let verdict = run.verdict.as_ref().map_or_else(String::new, |verdict| reasons(verdict, styler));
    filled([warnings(&run.warnings, styler), ended(run, what, styler) + &verdict])
}

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
    fn of_many_warnings_of_a_kind_the_first_are_shown_and_the_others_counted() {
        let instant = iolite_model::Nanos(1);
        let stall = |phase: usize| Warning::Stalls {
            phase: format!("p{phase}"),
            at: instant,
            longest: instant,
            stalls: 1,
        };
        let left_out = |what: usize| Warning::LeftOut { what: format!("w{what}"), why: "small".into() };
        let six: Vec<Warning> = (0..=OF_A_KIND).map(stall).collect();
        assert_eq!(condensed(&six).len(), OF_A_KIND + 1, "one more is shown");
        let mut many: Vec<Warning> = (0..100).map(stall).collect();
        many.extend((0..20).map(left_out));
        let shown = condensed(&many);
        assert_eq!(shown.len(), OF_A_KIND + 1 + 20);
        assert!(shown[OF_A_KIND].starts_with("95 further warnings like number 1,"), "{shown:?}");
        assert!(shown[OF_A_KIND - 1].contains("`p4`") && shown[OF_A_KIND + 1].contains("w0"), "{shown:?}");
        let mixed: Vec<Warning> = std::iter::once(left_out(0)).chain((0..100).map(stall)).collect();
        assert!(
            condensed(&mixed)[OF_A_KIND + 1].contains("like number 2,"),
            "the first of that kind is named"
        );
    }

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
