//! Zones of a hard disk: a row for each zone, a column for each mix and block size.

use iolite_model::{PtsCell, PtsPhase, PtsSection, PtsTerms};
use iolite_results::PtsProgress;
use serde_json::{Value, json};

use super::unit;
use super::window::short;
use crate::grid::folded;
use crate::styler::Styler;
use crate::table::NONE;

/// Where a zone is; of three zones by its name.
fn name(terms: &PtsTerms, zone: u32) -> String {
    match (terms.zones, zone) {
        (3, 1) => "outer".to_owned(),
        (3, 2) => "middle".to_owned(),
        (3, 3) => "inner".to_owned(),
        (zones, zone) => format!("{zone} of {zones}"),
    }
}

/// A row for each zone, from the outermost.
pub(super) fn text(progress: &PtsProgress<'_>, section: PtsSection, styler: Styler) -> String {
    let terms = progress.terms();
    let head = |cell: &PtsCell| format!("{}/{} {}", cell.read_percent, 100 - cell.read_percent, cell.block);
    let cells = terms.cells(section, 1);
    let mut rows: Vec<Vec<String>> =
        vec![std::iter::once("zone".to_owned()).chain(cells.iter().map(head)).collect()];
    rows.extend((1..=terms.zones).map(|zone| {
        let figures = terms.cells(section, zone).into_iter().map(|cell| {
            let figure = progress.figure(section, cell);
            styler.clean(figure.map_or_else(|| NONE.to_owned(), |figure| short(section.test, figure)))
        });
        std::iter::once(name(terms, zone)).chain(figures).collect()
    }));
    let out = folded(&rows, 2, 1, |_| true, styler);
    let legend = format!(
        "{} by zone, from the start of the device (on a hard disk, the outer tracks) to its end; read/write percentages and block \
         sizes",
        unit(section.test)
    );
    out + &styler.item("  ", 2, legend)
}

/// The zones; empty of other tests.
pub(super) fn json(progress: &PtsProgress<'_>, section: PtsSection) -> Value {
    if !section.test.is_by_zone() {
        return json!([]);
    }
    let terms = progress.terms();
    let of = |zone: u32| {
        let cells = terms.cells(section, zone);
        let measured = |cell: &PtsCell| {
            progress.phase(section, PtsPhase::Cell(*cell))?;
            let value = progress.figure(section, *cell);
            Some(json!({ "read_percent": cell.read_percent, "block_bytes": cell.block.0, "value": value }))
        };
        let length = terms.zone_length();
        json!({
            "zone": zone,
            "name": name(terms, zone),
            "offset_bytes": length.0 * u64::from(zone - 1),
            "length_bytes": length.0,
            "cells": cells.iter().filter_map(measured).collect::<Vec<_>>(),
        })
    };
    (1..=terms.zones).map(of).collect::<Vec<_>>().into()
}
