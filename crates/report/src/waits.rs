//! What sessions waited for: average active sessions by wait, statements, blockers.

use iolite_model::{WaitShare, WaitsFound};
use iolite_results::Run;
use serde_json::{Value, json};

use crate::chart::horizontal_bar;
use crate::document::document;
use crate::run::{Note, rendered};
use crate::styler::{Emphasis, Style, Styler, count, filled};
use crate::{answer, machine};
use unicode_width::UnicodeWidthStr;

/// Name and version of the document of `iolite waits watch`.
pub const JSON_FORMAT: &str = "iolite-waits/1";
/// Entries of a list that are printed.
const SHOWN: usize = 8;
/// Columns of the longest bar.
const BAR: usize = 24;

/// The complete terminal output.
pub fn text(run: &Run, style: Style) -> String {
    let styler = Styler(style);
    let found: Option<WaitsFound> = run.concluded().last();
    filled([
        machine::header(run, format_args!("waits of {}", run.subject()), styler),
        found.map_or(String::new(), |found| section(&found, styler)),
        answer::closing(run, "this", styler),
    ])
}

/// The document, `"format": "iolite-waits/1"`: what every document has, `database`, `waits` (null, or as in SQL the conclusion
/// `waits`).
pub fn json(run: &Run) -> Value {
    let waits = run.concluded::<WaitsFound>().last();
    document(JSON_FORMAT, run, json!({ "database": run.subject(), "waits": waits }))
}

/// The waits of a phase, or of a time of watching.
pub(crate) fn section(found: &WaitsFound, styler: Styler) -> String {
    let title = format!(
        "active sessions: {}{:.2} on average ({} samples, every {})",
        if found.hidden > 0 { "at least " } else { "" },
        found.active(),
        count(found.samples),
        found.interval
    );
    let mut out = styler.paint(Emphasis::Strong, &styler.clean(title)) + "\n";
    if found.waits.is_empty() {
        let none = match found.hidden {
            0 => "no session was active in any sample".to_owned(),
            1 => "unknown: one session is hidden from this account".to_owned(),
            hidden => format!("unknown: {} sessions are hidden from this account", count(hidden)),
        };
        out += &rendered(&Note::plain("waits", none), styler);
    }
    out += &shares("waits", &found.waits, styler);
    out += &shares("objects", &found.objects, styler);
    let mut label = "hot page";
    for page in &found.pages {
        let advice = page.advice.as_ref().map_or(String::new(), |advice| format!("; {advice}"));
        let text = format!("{:.2} {} page {}{advice}", page.sessions, page.table, page.page);
        out += &rendered(&Note::plain(std::mem::take(&mut label), text), styler);
    }
    let mut label = "does";
    for one in found.statements.iter().take(SHOWN) {
        let statement = if one.statement.is_empty() { "(not visible to this user)" } else { &one.statement };
        let text = format!("{:.2} {statement} ({})", one.sessions, one.wait);
        out += &rendered(&Note::plain(std::mem::take(&mut label), text), styler);
    }
    let mut label = "blocked";
    for one in found.blockers.iter().take(SHOWN) {
        let object = if one.object.is_empty() { String::new() } else { format!(", for {}", one.object) };
        let text = format!("{:.2} {} by {}{object}", one.sessions, one.waiting, one.holder);
        out += &rendered(&Note::plain(std::mem::take(&mut label), text), styler);
    }
    let share = found.cost.0 as f64 * 100.0 / (found.interval.0 as f64).max(1.0);
    let cost = format!("a sample took {} on average: {share:.1} % of one session", found.cost);
    out += &rendered(&Note::plain("cost", cost), styler);
    if let Some(gap) = &found.gap {
        out += &rendered(&Note::plain("not seen", gap.clone()), styler);
    }
    if let Some(failure) = &found.failure {
        out += &rendered(&Note::plain("ended", format!("sampling ended: {failure}")), styler);
    }
    out
}

/// A list with a bar each.
fn shares(label: &'static str, list: &[WaitShare], styler: Styler) -> String {
    let max = list.iter().map(|one| one.sessions).fold(0.0, f64::max);
    let shown = &list[..list.len().min(SHOWN)];
    let widest = shown.iter().map(|one| styler.clean(&one.name).width()).max().unwrap_or(0);
    let mut out = String::new();
    for (number, one) in shown.iter().enumerate() {
        let label = if number == 0 { label } else { "" };
        // Not wrapped: the bar's place means something.
        let bar = horizontal_bar(one.sessions, max, BAR, styler);
        out += &format!("   {label:<9}{:>7.2}  {:<widest$}  {bar}\n", one.sessions, styler.clean(&one.name));
    }
    out
}

#[cfg(test)]
mod tests {
    use iolite_model::{Blocker, HotPage, Nanos, StatementShare};

    use super::*;

    #[test]
    fn waits_are_listed_with_what_was_blocked() {
        let share = |name: &str, sessions| WaitShare { name: name.into(), sessions };
        let found = WaitsFound {
            samples: 600,
            interval: Nanos(100_000_000),
            observed: Nanos(60_000_000_000),
            cost: Nanos(500_000),
            waits: vec![share("Lock:transactionid", 3.25), share("CPU", 0.5)],
            statements: vec![StatementShare {
                statement: "UPDATE warehouse SET w_ytd = ?".into(),
                sessions: 3.5,
                wait: "Lock:transactionid".into(),
            }],
            blockers: vec![Blocker {
                waiting: "UPDATE warehouse".into(),
                holder: "COMMIT".into(),
                object: "iolite_tproc_c.warehouse page 0 row 1".into(),
                sessions: 2.0,
            }],
            objects: vec![share("iolite_tproc_c.warehouse page 0 row 1", 2.0)],
            pages: vec![HotPage {
                table: "iolite_tproc_c.warehouse".into(),
                page: 0,
                sessions: 2.0,
                rows: 3,
                rows_in_page: Some(33),
                advice: Some("33 rows share this page".into()),
            }],
            ..WaitsFound::default()
        };
        let text = section(&found, Styler(Style { color: false, unicode: true, width: 110 }));
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for expected in [
            "active sessions: 3.75 on average (600 samples",
            "3.25 Lock:transactionid",
            "2.00 UPDATE warehouse by COMMIT, for iolite_tproc_c.warehouse page 0 row 1",
            "hot page 2.00 iolite_tproc_c.warehouse page 0; 33 rows share this page",
            "0.5 % of one session",
        ] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
    }

    #[test]
    fn hidden_sessions_are_not_taken_for_idle_ones() {
        let styler = Styler(Style { color: false, unicode: true, width: 110 });
        let hidden = section(&WaitsFound { hidden: 4, ..WaitsFound::default() }, styler);
        assert!(hidden.contains("at least 0.00") && hidden.contains("4 sessions are hidden"), "{hidden}");
        assert!(!hidden.contains("no session was active"), "{hidden}");
        assert!(section(&WaitsFound::default(), styler).contains("no session was active"));
        let gap = section(&WaitsFound { gap: Some("mutexes".into()), ..WaitsFound::default() }, styler);
        assert!(gap.contains("not seen mutexes"), "{gap}");
    }
}
