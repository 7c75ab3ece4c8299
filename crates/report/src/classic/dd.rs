//! The dd test: each step with both rates.

use iolite_model::{Bytes, ClassicStep, DdStep, DdTerms, Nanos, OpKind};
use iolite_results::Run;
use iolite_stats::{PhaseResult, Streamed};
use serde_json::{Value, json};

use super::parts::{Meaning, SPREAD, meanings, plus_minus, result, spread, stamp};
use crate::grid::folded;
use crate::styler::{Emphasis, Styler};

const MEANINGS: [Meaning; 3] = [
    Meaning {
        phase: "write",
        means: "bulk loads and backups: the rate with sync is that of the device, the rate without it includes the \
         effect of the page cache",
    },
    Meaning {
        phase: "write a second file",
        means: "fills the page cache, so that the first file is read from the device",
    },
    Meaning {
        phase: "read back",
        means: "upper limit for a sequential scan of a large table; real scans reach about 30 % of it",
    },
];

fn streamed(run: &Run, step: DdStep) -> Option<(&PhaseResult, Streamed)> {
    let phase = result(run, ClassicStep::Dd(step))?;
    Some((phase, Streamed::of(phase, kind(step))?))
}

fn kind(step: DdStep) -> OpKind {
    if step == DdStep::Read { OpKind::Read } else { OpKind::Write }
}

pub(super) fn text(run: &Run, terms: &DdTerms, styler: Styler) -> String {
    let mut out = styler.paint(Emphasis::Strong, &format!("dd, blocks of {}", terms.block)) + "\n";
    let head = ["", "size", "dd's rate", "±", "with sync", "longest", "from"];
    let mut rows = vec![head.map(|head| styler.clean(head)).to_vec()];
    for step in DdStep::ALL {
        let Some((phase, streamed)) = streamed(run, step) else { continue };
        let rate = |rate: f64| format!("{}/s", Bytes(rate as u64));
        let longest = [OpKind::Read, OpKind::Write]
            .into_iter()
            .filter_map(|kind| phase.summary(kind).and_then(|summary| summary.max))
            .max()
            .unwrap_or(Nanos(0));
        let cells = [
            step.name().to_owned(),
            Bytes(streamed.bytes).to_string(),
            rate(streamed.rate()),
            spread(plus_minus(phase, kind(step))),
            rate(streamed.durable_rate()),
            longest.to_string(),
            stamp(phase),
        ];
        rows.push(cells.map(|cell| styler.clean(cell)).to_vec());
    }
    out += &folded(&rows, 2, 1, |column| (1..6).contains(&column), styler);
    out += &styler.item("  ", 2, SPREAD);
    out + &meanings(&MEANINGS, styler)
}

pub(super) fn json(run: &Run) -> Value {
    let steps = DdStep::ALL.into_iter().filter_map(|step| {
        let (phase, streamed) = streamed(run, step)?;
        Some(json!({
            "step": step.name(),
            "bytes": streamed.bytes,
            "rate_bytes_per_second": streamed.rate(),
            "durable_bytes_per_second": streamed.durable_rate(),
            "rate_plus_minus": plus_minus(phase, kind(step)),
            "stamp": phase.end.cache.stamp().to_string(),
        }))
    });
    steps.collect::<Vec<_>>().into()
}
