//! Runs that conclude with tables ([`ResultTable`]): any suite that needs no output of its own.
//!
//! The document has `"format": "iolite-tables/1"`, `procedure`, `tables` (list: `title`, `columns` (list: `name`, `unit`), `rows` (list:
//! `label`, `cells`: `missing`, `text`, `figure` or `estimate` with `value`, `low`, `high`), `legend`, `findings` (list of sentences)), and
//! `run`, `calibration`, `phases`, `warnings`, `verdict`, `ending` as in a run.

use iolite_model::{Bandwidth, Bytes, Iops, ResultTable, TableCell, TableUnit};
use iolite_results::Run;
use serde_json::{Value, json};

use crate::document::document;
use crate::grid::folded;
use crate::run::phases_json;
use crate::styler::{Emphasis, Style, Styler, filled};
use crate::table::{NONE, nanos};
use crate::{answer, machine};

/// Name and version of the document.
const FORMAT: &str = "iolite-tables/1";

/// The tables of a run with what is to be said of them.
pub(crate) fn text(run: &Run, last: &ResultTable, style: Style) -> String {
    let styler = Styler(style);
    let what = format!("{} of {}", run.procedure(), run.info.storage.directory.display());
    let tables = run.concluded().map(|table| drawn(&table, styler));
    let rest = [styler.item("", 0, &last.legend), answer::closing(run, "the tables", styler)];
    filled(std::iter::once(machine::header(run, what, styler)).chain(tables).chain(rest))
}

/// The document of such a run.
pub(crate) fn json(run: &Run, _: &ResultTable) -> Value {
    let members = json!({
        "procedure": run.procedure(),
        "tables": run.concluded::<ResultTable>().collect::<Vec<_>>(),
        "phases": phases_json(run),
        "verdict": run.verdict,
    });
    document(FORMAT, run, members)
}

fn drawn(table: &ResultTable, styler: Styler) -> String {
    let head =
        std::iter::once(String::new()).chain(table.columns.iter().map(|column| styler.clean(&column.name)));
    let rows = table.rows.iter().map(|row| {
        let cells =
            row.cells.iter().zip(&table.columns).map(|(cell, column)| styler.clean(shown(cell, column.unit)));
        std::iter::once(styler.clean(&row.label)).chain(cells).collect::<Vec<_>>()
    });
    let lines: Vec<Vec<String>> = std::iter::once(head.collect()).chain(rows).collect();
    let mut out = styler.paint(Emphasis::Strong, &styler.clean(&table.title)) + "\n";
    out += &folded(&lines, 2, 1, |column| column > 0, styler);
    for finding in &table.findings {
        out += &styler.item("  - ", 4, finding);
    }
    out
}

/// A cell as text: a figure with its unit, and half of its interval in percent of it.
pub(crate) fn shown(cell: &TableCell, unit: TableUnit) -> String {
    match cell {
        TableCell::Missing => NONE.to_owned(),
        TableCell::Text(text) => text.clone(),
        TableCell::Figure(value) => figure(*value, unit),
        TableCell::Estimate { value, low, high } => {
            let half = (high - value).max(value - low) / value * 100.0;
            let shown = figure(*value, unit);
            if half.is_finite() { format!("{shown} ± {half:.0} %") } else { shown }
        }
    }
}

fn figure(value: f64, unit: TableUnit) -> String {
    if !value.is_finite() {
        return NONE.to_owned();
    }
    match unit {
        TableUnit::Nanoseconds => nanos(value),
        TableUnit::PerSecond => Iops(value).to_string(),
        TableUnit::Bytes => Bytes(value.round().max(0.0) as u64).to_string(),
        TableUnit::BytesPerSecond => Bandwidth(value).to_string(),
        TableUnit::Ratio | TableUnit::Text => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic;
    use iolite_model::{Concluded, TableColumn, TableRow};

    fn table() -> ResultTable {
        let column = |name: &str, unit| TableColumn { name: name.into(), unit };
        let mean = TableCell::Estimate { value: 118_000.0, low: 112_000.0, high: 124_000.0 };
        ResultTable {
            title: "random read 8 KiB".into(),
            columns: vec![
                column("mean", TableUnit::Nanoseconds),
                column("device", TableUnit::Bytes),
                column("cache", TableUnit::Text),
            ],
            rows: vec![
                TableRow {
                    label: "file, direct I/O".into(),
                    cells: vec![mean, TableCell::Figure(8192.0), TableCell::Text("device".into())],
                },
                TableRow {
                    label: "hostile \u{1b}[2J name".into(),
                    cells: vec![TableCell::of(None), TableCell::of(Some(f64::INFINITY))],
                },
            ],
            legend: "mean: response time".into(),
            findings: vec!["Both take the same time.".into()],
        }
    }

    #[test]
    fn a_table_is_drawn_with_units_uncertainty_and_what_it_says() {
        let styler = Styler(Style { color: false, unicode: true, width: 100 });
        insta::assert_snapshot!(drawn(&table(), styler));
    }

    #[test]
    fn any_procedure_with_tables_is_shown_with_them_live_or_read_back() {
        let mut run = Run::new(synthetic::run());
        run.conclusions.push(Concluded::of(&iolite_results::RunRequest::new("layers", "")));
        run.conclusions.push(Concluded::of(&table()));
        let style = Style { color: false, unicode: true, width: 100 };
        let text = crate::show(&run, crate::Format::Text, style);
        assert!(text.contains(": layers of ") && text.contains("118 µs ± 5 %"), "{text}");
        let document: Value = serde_json::from_str(&crate::show(&run, crate::Format::Json, style)).unwrap();
        assert_eq!(document["format"], FORMAT);
        assert_eq!(document["tables"][0]["rows"][0]["cells"][0]["estimate"]["value"], 118_000.0);
        assert_eq!(document["tables"][0]["rows"][1]["cells"][1]["figure"], "inf");
    }
}
