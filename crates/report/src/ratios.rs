//! How far the best and the worst result of stored runs are apart: across patterns on one target, and across targets with one pattern.
//!
//! The document has `"format": "iolite-ratios/1"`; `rows` (list: `pattern`, `target`, `phases` (number), `iops`, `bytes_per_second`) and `ratios`
//! (list: `across` (`patterns` or `targets`), `of` (the target, the pattern), `figure` (`iops` or `bytes_per_second`), `best` and `worst` (the
//! pattern, the target), `best_value`, `worst_value`, `ratio`).

use iolite_model::{Bandwidth, Iops, OpKind};
use iolite_results::Run;
use serde_json::{Value, json};

use crate::grid::aligned;
use crate::styler::{Style, Styler};

/// Name and version of the document.
const FORMAT: &str = "iolite-ratios/1";

/// What is counted as an operation on storage; a commit is part of its writes.
const KINDS: [OpKind; 3] = [OpKind::Read, OpKind::Write, OpKind::Trim];

/// A pattern on a target: the phases of one name in the runs on one directory of one host, together.
#[derive(Debug, Clone, PartialEq)]
struct Row {
    pattern: String,
    target: String,
    phases: u32,
    operations: u64,
    bytes: u64,
    seconds: f64,
}

impl Row {
    fn iops(&self) -> f64 {
        self.operations as f64 / self.seconds
    }

    fn bytes_per_second(&self) -> f64 {
        self.bytes as f64 / self.seconds
    }
}

/// A figure with its name in documents and how it is printed.
type Figure = (&'static str, fn(&Row) -> f64, fn(f64) -> String);

const FIGURES: [Figure; 2] = [
    ("iops", Row::iops, |value| format!("{} IOPS", Iops(value))),
    ("bytes_per_second", Row::bytes_per_second, |value| Bandwidth(value).to_string()),
];

/// What differs between the rows of a ratio, and what they have in common.
type Side = (&'static str, fn(&Row) -> &str);

/// The best and the worst of some rows by a figure.
struct Ratio<'a> {
    across: &'static str,
    of: &'a str,
    figure: Figure,
    best: &'a Row,
    worst: &'a Row,
}

impl Ratio<'_> {
    fn values(&self) -> (f64, f64) {
        let (_, value, _) = self.figure;
        (value(self.best), value(self.worst))
    }

    /// What differs between the rows.
    fn name<'r>(&self, row: &'r Row) -> &'r str {
        if self.across == "patterns" { &row.pattern } else { &row.target }
    }
}

/// The rows of runs, in the order of the runs and their phases.
fn rows(runs: &[Run]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for run in runs {
        let target = format!("{}:{}", run.info.host.name, run.info.storage.directory.display());
        for phase in &run.phases {
            let sum = |of: &dyn Fn(OpKind) -> u64| KINDS.into_iter().map(of).fold(0, u64::saturating_add);
            let operations = sum(&|kind| phase.totals.operations(kind));
            let bytes = sum(&|kind| phase.totals.bytes(kind));
            let seconds = phase.totals.measured as f64 / 1e9;
            if operations == 0 || seconds <= 0.0 {
                continue;
            }
            let pattern = phase.info.task.name();
            match rows.iter_mut().find(|row| row.pattern == pattern && row.target == target) {
                Some(row) => {
                    row.phases += 1;
                    row.operations = row.operations.saturating_add(operations);
                    row.bytes = row.bytes.saturating_add(bytes);
                    row.seconds += seconds;
                }
                None => {
                    let (pattern, target) = (pattern.to_owned(), target.clone());
                    rows.push(Row { pattern, target, phases: 1, operations, bytes, seconds });
                }
            }
        }
    }
    rows
}

/// All ratios of at least two rows whose worst figure is above 0.
fn ratios(rows: &[Row]) -> Vec<Ratio<'_>> {
    let mut ratios = Vec::new();
    let sides: [Side; 2] = [("patterns", |row| &row.target), ("targets", |row| &row.pattern)];
    for (across, side) in sides {
        let mut groups: Vec<&str> = rows.iter().map(side).collect();
        groups.sort_unstable();
        groups.dedup();
        for of in groups {
            let group = || rows.iter().filter(|row| side(row) == of);
            for figure in FIGURES {
                let order = |one: &&Row, other: &&Row| figure.1(one).total_cmp(&figure.1(other));
                let (Some(best), Some(worst)) = (group().max_by(order), group().min_by(order)) else {
                    continue;
                };
                if group().count() > 1 && figure.1(worst) > 0.0 {
                    ratios.push(Ratio { across, of, figure, best, worst });
                }
            }
        }
    }
    ratios
}

/// The table of the rows, and a sentence for each ratio.
pub fn text(runs: &[Run], style: Style) -> String {
    let (styler, rows) = (Styler(style), rows(runs));
    let ratios = ratios(&rows);
    if rows.is_empty() {
        return styler.item(
            "",
            0,
            "No phase of these runs has completed operations: there is nothing to compare.",
        );
    }
    let row = |row: &Row| {
        let figures = FIGURES.map(|(_, value, shown)| shown(value(row)));
        [styler.clean(&row.pattern), styler.clean(&row.target), row.phases.to_string()]
            .into_iter()
            .chain(figures)
    };
    let head = ["pattern", "target", "phases", "operations", "throughput"].map(str::to_owned);
    let cells = rows.iter().map(|own| {
        let cells: Vec<String> = row(own).collect();
        <[String; 5]>::try_from(cells).unwrap_or_default()
    });
    let lines = aligned(std::iter::once(head).chain(cells), 0, |column| column > 1);
    let mut out: String = lines.into_iter().map(|line| line + "\n").collect();
    if ratios.is_empty() {
        let need =
            "There are no ratios: they require two patterns on one target, or one pattern on two targets.";
        out += &("\n".to_owned() + &styler.item("", 0, need));
    }
    for ratio in &ratios {
        let ((best, worst), (_, _, shown)) = (ratio.values(), ratio.figure);
        let line = format!(
            "{} of {}: best {} ({}) / worst {} ({}) = {}",
            if ratio.across == "patterns" { "Patterns" } else { "Targets" },
            ratio.of,
            shown(best),
            ratio.name(ratio.best),
            shown(worst),
            ratio.name(ratio.worst),
            times(best / worst)
        );
        out += &("\n".to_owned() + &styler.item("", 2, &line));
    }
    out
}

/// A ratio with three digits, or all before the point.
fn times(ratio: f64) -> String {
    if ratio < 10.0 { format!("{ratio:.2}") } else { format!("{ratio:.0}") }
}

/// Rows and ratios as a document.
pub fn document(runs: &[Run]) -> Value {
    let rows = rows(runs);
    let row = |row: &Row| {
        json!({
            "pattern": row.pattern,
            "target": row.target,
            "phases": row.phases,
            "iops": row.iops(),
            "bytes_per_second": row.bytes_per_second(),
        })
    };
    let ratio = |ratio: &Ratio<'_>| {
        let (best, worst) = ratio.values();
        json!({
            "across": ratio.across,
            "of": ratio.of,
            "figure": ratio.figure.0,
            "best": ratio.name(ratio.best),
            "worst": ratio.name(ratio.worst),
            "best_value": best,
            "worst_value": worst,
            "ratio": best / worst,
        })
    };
    let ratios: Vec<Value> = ratios(&rows).iter().map(ratio).collect();
    json!({ "format": FORMAT, "rows": rows.iter().map(row).collect::<Vec<_>>(), "ratios": ratios })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic;
    use iolite_model::{Access, Mix};

    /// The patterns of a published table of a RAID of three disks, and the worst of them on an SSD: name, share of reads, KiB, IOPS.
    fn runs() -> Vec<Run> {
        let patterns = [
            ("sequential write 2 KiB", 0, 2, 12_674.0),
            ("sequential read 2 KiB", 100, 2, 26_708.0),
            ("random 67 % read 2 KiB", 67, 2, 383.0),
            ("sequential read 256 KiB", 100, 256, 566.0),
        ];
        let run = |directory: &str, patterns: &[(&str, u8, u64, f64)]| {
            let mut info = synthetic::run();
            info.storage.directory = directory.into();
            let mut run = Run::new(info);
            for (index, (name, reads, kib, rate)) in (0..).zip(patterns) {
                let task = synthetic::file(name, Mix::ReadPercent(*reads), Access::Random, kib * 1024, 1);
                let share = f64::from(*reads) / 100.0;
                let loads = [(OpKind::Read, share), (OpKind::Write, 1.0 - share)];
                let loads = loads.into_iter().filter(|load| load.1 > 0.0);
                let loads: Vec<_> =
                    loads.map(|(kind, share)| (kind, rate * share, 1e6, kib * 1024, 0)).collect();
                run.phases.push(synthetic::phase(index, task, &loads));
            }
            run
        };
        vec![run("/raid", &patterns), run("/ssd", &[("random 67 % read 2 KiB", 67, 2, 10_392.0)])]
    }

    #[test]
    fn ratios_are_those_that_are_worked_out_by_hand() {
        let document = document(&runs());
        let ratio = |across: &str, figure: &str| {
            let ratios = document["ratios"].as_array().unwrap().iter();
            let mut found = ratios.filter(|ratio| ratio["across"] == across && ratio["figure"] == figure);
            (found.next().unwrap().clone(), found.count())
        };
        let (patterns, others) = ratio("patterns", "iops");
        assert_eq!((patterns["ratio"].as_f64().unwrap().round(), others), (70.0, 0), "{patterns}");
        assert_eq!(patterns["worst"], "random 67 % read 2 KiB");
        let (throughput, _) = ratio("patterns", "bytes_per_second");
        // Operations are whole ones in each second.
        assert!((throughput["ratio"].as_f64().unwrap() / 189.0 - 1.0).abs() < 0.01, "{throughput}");
        let (targets, _) = ratio("targets", "iops");
        assert_eq!(targets["ratio"].as_f64().unwrap().round(), 27.0, "{targets}");
        assert!(targets["best"].as_str().unwrap().ends_with(":/ssd"), "{targets}");
        let text = text(&runs(), Style { color: false, unicode: true, width: 200 });
        assert!(text.contains("= 70\n") && text.contains("= 27\n"), "{text}");
    }

    #[test]
    fn repeats_are_one_row_and_one_row_has_no_ratio() {
        let runs = [runs(), runs()].concat();
        assert_eq!(document(&runs)["rows"][0]["phases"], 2);
        assert_eq!(document(&runs[1..2])["ratios"], json!([]));
        let style = Style { color: false, unicode: true, width: 200 };
        assert!(text(&runs[1..2], style).contains("There are no ratios"));
        assert!(text(&[Run::new(synthetic::run())], style).starts_with("No phase of these runs"));
    }
}
