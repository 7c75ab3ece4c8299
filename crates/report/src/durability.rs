//! What became of acknowledged writes: the text and the JSON of `iolite durability run` and `check`.
//!
//! The document has `"format": "iolite-durability/1"`, `run` as in a run's document, and `durability`: the plan, `acknowledged`,
//! `judged`, `lost`, `losses` (the first hundred), `torn_in_progress`. That of a run has `"format": "iolite-durability-run/1"`, `run`,
//! `plan`, `totals` (null where it was cut short, or `acknowledged`, `elapsed_ns`, `limit`), `warnings` and `ending`.

use iolite_model::Ending;
use iolite_model::acknowledged::{Findings, LossKind, Method, Plan, Totals};
use iolite_results::Run;
use serde_json::{Value, json};

use crate::answer;
use crate::document::document;
use crate::styler::{Emphasis, Style, Styler, count, filled};

/// Name and version of the document.
pub const JSON_FORMAT: &str = "iolite-durability/1";
/// Columns of the labels.
const LABEL: usize = 14;

/// Terminal output: the answer first.
pub fn text(_: &Run, found: &Findings, style: Style) -> String {
    let styler = Styler(style);
    filled([answer(found, styler), plan_text(&found.plan, styler), losses(found, styler)])
}

/// One document.
pub fn json(run: &Run, found: &Findings) -> Value {
    document(JSON_FORMAT, run, json!({ "durability": found }))
}

/// What a run has written, as far as it has recorded it itself: the notes of the witness are the authority.
pub(crate) fn run_text(run: &Run, plan: &Plan, style: Style) -> String {
    let styler = Styler(style);
    let totals: Option<Totals> = run.concluded().last();
    let written = match &totals {
        Some(Totals { acknowledged, elapsed, .. }) => format!("{} in {elapsed}", count(*acknowledged)),
        None => "recorded by the witness only: the run was cut short".to_owned(),
    };
    let mut text = line(styler, "acknowledged", written);
    if let Some(limit) = totals.and_then(|totals| totals.limit) {
        text += &line(styler, "ended", format!("before its time: {limit}"));
    }
    let is_failed = matches!(run.ending, Some(Ending::Failed(_)));
    let failure = if is_failed { answer::ended(run, "", styler) } else { String::new() };
    filled([text + &plan_text(plan, styler), answer::warnings(&run.warnings, styler), failure])
}

/// One document of a run.
pub(crate) fn run_json(run: &Run, plan: &Plan) -> Value {
    let totals = run.concluded::<Totals>().last();
    document("iolite-durability-run/1", run, json!({ "plan": plan, "totals": totals }))
}

fn answer(found: &Findings, styler: Styler) -> String {
    let what = if found.plan.method == Method::Commit { "commits" } else { "writes" };
    let acknowledged = count(found.acknowledged);
    let (ink, title) = match (found.lost, found.acknowledged) {
        (_, 0) => (Emphasis::Caution, format!("No result: no {what} were acknowledged")),
        (0, _) => (Emphasis::Good, format!("OK: none of {acknowledged} acknowledged {what} is missing")),
        (lost, _) => (Emphasis::Bad, format!("LOST: {} of {acknowledged} acknowledged {what}", count(lost))),
    };
    let mut text = styler.paint(ink, &title) + "\n";
    if found.lost == 0 && found.acknowledged > 0 && found.judged < found.acknowledged {
        let replaced = count(found.acknowledged - found.judged);
        text += &styler.item(
            "",
            0,
            format!("{} were checked; {replaced} had been overwritten by later ones.", count(found.judged)),
        );
    }
    if found.ended {
        text += &styler.item(
            "",
            0,
            "The run had already ended: without a crash or power failure after it, this result is not meaningful.",
        );
    }
    if found.torn_in_progress > 0 {
        text += &styler.item("", 0, format!(
            "{} writes in progress at the crash are present in part: the storage does not write blocks of {} atomically. A \
             database on it needs protection against torn pages (full_page_writes, doublewrite).",
            count(found.torn_in_progress), found.plan.block
        ));
    }
    text
}

fn plan_text(plan: &Plan, styler: Styler) -> String {
    let how = match plan.method {
        Method::Append => "written to the end of a file, fdatasync",
        Method::Overwrite => "written over older blocks, fdatasync",
        Method::Dsync => "written over older blocks with O_DSYNC",
        Method::Rename => "new file, fsync, renamed over the old one, fsync of the directory",
        Method::Commit => "one row inserted and committed, with the durability settings of the database",
    };
    let mut text = line(styler, "where", &plan.place) + &line(styler, "each", how);
    if plan.method != Method::Commit {
        text += &line(styler, "block", plan.block);
    }
    text + &line(styler, "workers", plan.workers)
}

fn losses(found: &Findings, styler: Styler) -> String {
    let mut text = String::new();
    for kind in [
        LossKind::Missing,
        LossKind::Zeros,
        LossKind::Stale,
        LossKind::Torn,
        LossKind::Misplaced,
        LossKind::Foreign,
        LossKind::Unreadable,
    ] {
        let of_kind: Vec<_> = found.losses.iter().filter(|loss| loss.kind == kind).collect();
        let Some(first) = of_kind.first() else { continue };
        let listed = if found.lost > found.losses.len() as u64 { " of those listed" } else { "" };
        let what = format!(
            "{}{listed}: {}; the first is write {} of worker {}: {}",
            count(of_kind.len() as u64),
            kind.meaning(),
            first.number,
            first.worker,
            first.place
        );
        text += &styler.item("- ", 2, what);
    }
    if found.lost > 0 {
        text += &styler.item(
            "",
            0,
            "A flush does not reach the medium. Possible causes are a volatile cache (hdparm -W, smartctl -g \
         wcache), a controller without a battery, nobarrier, the cache mode of a hypervisor (writeback, \
         unsafe), fsync=off, or a relaxed commit in the database.",
        );
    }
    text
}

fn line(styler: Styler, label: &str, text: impl std::fmt::Display) -> String {
    styler.item(&format!("{label:<LABEL$}"), LABEL, text)
}

#[cfg(test)]
mod tests {
    use iolite_model::Bytes;
    use iolite_model::acknowledged::{Loss, Plan, RunKey};

    use super::*;

    fn found(lost: u64) -> Findings {
        let plan = Plan {
            run: RunKey([1; 16]),
            method: Method::Overwrite,
            block: Bytes(4096),
            workers: 4,
            slots: 64,
            place: "/data".into(),
        };
        let loss = Loss { worker: 1, number: 77, kind: LossKind::Stale, place: "/data/x at 4096".into() };
        let losses = if lost > 0 { vec![loss] } else { Vec::new() };
        Findings { plan, ended: false, acknowledged: 1000, judged: 256, lost, losses, torn_in_progress: 0 }
    }

    #[test]
    fn the_answer_comes_first() {
        let style = Style { color: false, unicode: true, width: 100 };
        let said = |found: &Findings| text(&Run::new(crate::synthetic::run()), found, style);
        let kept = said(&found(0));
        assert!(
            kept.starts_with("OK: none of 1,000 acknowledged writes is missing\n256 were checked"),
            "{kept}"
        );
        let lost = said(&found(3));
        assert!(lost.starts_with("LOST: 3 of 1,000 acknowledged writes\n"), "{lost}");
        assert!(lost.contains("an older write in its place; the first is write 77 of worker 1"), "{lost}");
        let ended = said(&Findings { ended: true, torn_in_progress: 2, ..found(0) });
        assert!(
            ended.contains("this result is not meaningful") && ended.contains("2 writes in progress"),
            "{ended}"
        );
        let nothing = said(&Findings { acknowledged: 0, ..found(0) });
        assert!(nothing.starts_with("No result"), "{nothing}");
    }
}
