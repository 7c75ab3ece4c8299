//! Recovery tests: writes after waits and after other writes, compared with the writes before.

use iolite_model::{Nanos, PtsSection, PtsStage, PtsTerms, PtsTest};
use iolite_results::{PtsProgress, PtsStageFigures};
use serde_json::{Value, json};

use super::paused;
use super::window::{percent, short};
use crate::grid::folded;
use crate::json as shared;
use crate::styler::Styler;
use crate::table::NONE;

/// A stage with what it is compared with.
struct Compared {
    stage: PtsStage,
    figures: PtsStageFigures,
    /// Ratio to the writes before.
    ratio: Option<f64>,
}

/// The stages that are measured, in order.
fn compared(progress: &PtsProgress<'_>, section: PtsSection) -> Vec<Compared> {
    let before = match section.test {
        PtsTest::HostIdleRecovery => progress.rounds(section).window.and_then(|window| window.mean()),
        _ => progress.stage(section, PtsStage::SequentialBefore).and_then(|figures| figures.ends.1),
    };
    let of = |(stage, _)| {
        let figures = progress.stage(section, stage)?;
        // Of the recovery of sequential writes the last minute counts, and random writes are nothing to be compared.
        let figure = match stage {
            PtsStage::SequentialAfter => figures.ends.1,
            PtsStage::SequentialBefore | PtsStage::RandomBetween => None,
            _ => figures.mean,
        };
        let ratio = before.filter(|before| *before > 0.0).zip(figure).map(|(before, figure)| figure / before);
        Some(Compared { stage, figures, ratio })
    };
    progress.terms().stages(section).into_iter().filter_map(of).collect()
}

/// A row for each stage.
pub(super) fn text(progress: &PtsProgress<'_>, section: PtsSection, styler: Styler) -> String {
    let stages = compared(progress, section);
    if stages.is_empty() {
        return "  no complete step\n".to_owned();
    }
    // The course of a stage, or the waits in it.
    let courses = section.test == PtsTest::CrossStimulusRecovery;
    let own =
        |first: String, last: String, idle: String| if courses { vec![first, last] } else { vec![idle] };
    let heads = own("first".into(), "last".into(), "idle".into());
    let common = ["", "steps", "mean", "", "ratio", "response", "longest"].map(str::to_owned);
    let mut rows: Vec<Vec<String>> = vec![common.into_iter().chain(heads).collect()];
    let time = |time: Option<Nanos>| time.map_or_else(|| NONE.to_owned(), |time| time.to_string());
    for Compared { stage, figures, ratio } in &stages {
        let value =
            |value: Option<f64>| value.map_or_else(|| NONE.to_owned(), |value| short(section.test, value));
        let interval = figures.interval.as_ref().map(|interval| percent(interval.relative_half_width()));
        let idle = figures.idle.map_or_else(String::new, |idle| idle.to_string());
        let common = [
            stage.name(),
            figures.steps.to_string(),
            value(figures.mean),
            interval.unwrap_or_default(),
            ratio.map_or_else(|| NONE.to_owned(), |ratio| format!("{ratio:.2}")),
            time(figures.response.map(|response| Nanos(response as u64))),
            time(figures.max),
        ];
        let own = own(value(figures.ends.0), value(figures.ends.1), idle);
        rows.push(common.into_iter().chain(own).map(|cell| styler.clean(cell)).collect());
    }
    let out = folded(&rows, 2, 1, |column| !matches!(column, 0 | 3), styler);
    out + &paused(progress, section, styler) + &legend(progress.terms(), section, styler)
}

fn legend(terms: &PtsTerms, section: PtsSection, styler: Styler) -> String {
    let smallest = |terms: &PtsTerms| terms.block(section.test.smallest());
    let text = match section.test {
        PtsTest::HostIdleRecovery => format!(
            "writes of {} per second; ratio: to the mean of the window above, without waits; above 1, the drive uses the waits; \
             idle: measured mean time without writes before a burst of {}",
            smallest(terms),
            terms.length(PtsStage::Bursts(0))
        ),
        _ => format!(
            "MiB written per second, sequential writes of 1 MiB, random writes of {}; ratio: last step to the last step of the \
             sequential writes before; below 1, the drive has not recovered",
            smallest(terms)
        ),
    };
    styler.item("  ", 2, text)
}

/// The stages; empty of tests without.
pub(super) fn json(progress: &PtsProgress<'_>, section: PtsSection) -> Value {
    if section.test.is_by_demand() {
        return json!([]);
    }
    let of = |Compared { stage, figures, ratio }: Compared| {
        json!({
            "name": stage.name(),
            "steps": figures.steps,
            "value": figures.mean,
            "interval": figures.interval.as_ref().map(shared::estimate),
            "first": figures.ends.0,
            "last": figures.ends.1,
            "ratio": ratio,
            "wait_ns": progress.terms().wait(stage).0,
            "idle_ns": figures.idle.map(|idle| idle.0),
            "mean_response_ns": figures.response,
            "max_response_ns": figures.max.map(|max| max.0),
        })
    };
    compared(progress, section).into_iter().map(of).collect::<Vec<_>>().into()
}
