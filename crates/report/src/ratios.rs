//! How far the best and the worst result of stored runs are apart: across patterns on one target, and across targets with one pattern.
//!
//! Phases are the same pattern if they have the same name and the same load: what a search or a sweep varies is no repeat. Those with
//! different cache stamps are different results.
//!
//! The document has `"format": "iolite-ratios/1"`; `rows` (list: `pattern`, `concurrency`, `rate` (requested operations per second, or null),
//! `target`, `stamp`, `phases` (number), `iops`, `bytes_per_second`, each also with `_low` and `_high`, its 95 % interval; null where not
//! known) and `ratios` (list: `across` (`patterns` or `targets`), `of` (the target, the pattern), `figure` (`iops` or `bytes_per_second`), `best`
//! and `worst` (the pattern, the target), `best_value`, `worst_value`, `best_stamp`, `worst_stamp`, `ratio`), and
//! `rehearsals` (list: runs that are rehearsals of `iolite pts`).

use iolite_model::{Bandwidth, CacheStamp, Iops, OpKind, PerKind, Task};
use iolite_results::Run;
use iolite_stats::{Direction, Estimate, PhaseResult, PhaseTotals, Point};
use serde_json::{Value, json};

use crate::extremes::best_and_worst;
use crate::grid::folded;
use crate::styler::{Style, Styler};
use crate::table::{NONE, percent, stamp};

/// Name and version of the document.
const FORMAT: &str = "iolite-ratios/1";

/// What is counted as an operation on storage; a commit is part of its writes.
const KINDS: [OpKind; 3] = [OpKind::Read, OpKind::Write, OpKind::Trim];

/// A pattern on a target: the phases of one name, load and cache stamp in the runs on one directory of one host.
#[derive(Debug, Clone)]
struct Row<'a> {
    /// Name and load.
    pattern: String,
    target: String,
    /// One at least, all of the same stamp but for its share.
    phases: Vec<&'a PhaseResult>,
}

impl Row<'_> {
    fn task(&self) -> &Task {
        &self.phases[0].info.task
    }

    fn stamp(&self) -> CacheStamp {
        self.phases[0].end.cache.stamp()
    }

    /// Per second. Several phases are observations that were made apart, so that their interval includes how much they differ.
    fn estimate(&self, amount: &Amount) -> Estimate {
        let windows: Vec<(f64, f64)> = self.phases.iter().map(|phase| amount.of_phase(phase)).collect();
        let sum = windows.iter().fold((0.0, 0.0), |sum, window| (sum.0 + window.0, sum.1 + window.1));
        let value = sum.1 / sum.0;
        let direction = Direction::HigherIsBetter;
        let estimate = match self.phases.as_slice() {
            // As everywhere: the sync at the end is part of the time, and no variation of the rate.
            [only] => only.per_second(sum.1, amount.of_point()),
            _ => Estimate::of_windows(&windows, direction),
        };
        estimate.map_or_else(|| Estimate::unknown(value, direction), |of| Estimate { value, ..of })
    }
}

/// What is counted per second: its name in documents, the counters, and how a rate of it is printed.
struct Amount {
    name: &'static str,
    total: fn(&PhaseTotals, OpKind) -> u64,
    point: fn(&Point) -> &PerKind<u64>,
    shown: fn(f64) -> String,
}

const AMOUNTS: [Amount; 2] = [
    Amount {
        name: "iops",
        total: PhaseTotals::operations,
        point: |point| &point.operations,
        shown: |value| format!("{} IOPS", Iops(value)),
    },
    Amount {
        name: "bytes_per_second",
        total: PhaseTotals::bytes,
        point: |point| &point.bytes,
        shown: |value| Bandwidth(value).to_string(),
    },
];

impl Amount {
    /// Seconds and what was counted in them.
    fn of_phase(&self, phase: &PhaseResult) -> (f64, f64) {
        let sum =
            KINDS.map(|kind| (self.total)(&phase.totals, kind)).into_iter().fold(0, u64::saturating_add);
        (phase.totals.measured as f64 / 1e9, sum as f64)
    }

    /// What was counted in an interval.
    fn of_point(&self) -> impl Fn(&Point) -> f64 {
        let of = self.point;
        move |point| KINDS.iter().map(|kind| of(point)[*kind] as f64).sum()
    }
}

/// The best and the worst of some rows by a rate.
struct Ratio<'a> {
    across: &'static str,
    of: &'a str,
    amount: &'static Amount,
    best: &'a Row<'a>,
    worst: &'a Row<'a>,
}

impl Ratio<'_> {
    fn values(&self) -> (f64, f64) {
        (self.best.estimate(self.amount).value, self.worst.estimate(self.amount).value)
    }

    /// What differs between the rows.
    fn name<'r>(&self, row: &'r Row<'_>) -> &'r str {
        if self.across == "patterns" { &row.pattern } else { &row.target }
    }

    fn stamps(&self) -> (CacheStamp, CacheStamp) {
        (self.best.stamp(), self.worst.stamp())
    }

    /// As a sentence.
    fn describe(&self) -> String {
        let ((best, worst), shown) = (self.values(), self.amount.shown);
        let mut line = format!(
            "{} of {}: best {} ({}) / worst {} ({}) = {}",
            if self.across == "patterns" { "Patterns" } else { "Targets" },
            self.of,
            shown(best),
            self.name(self.best),
            shown(worst),
            self.name(self.worst),
            times(best / worst)
        );
        let (one, other) = self.stamps();
        if one.name() != other.name() {
            line += &format!(
                "; not the same storage: the cache stamp of the best is {one}, that of the worst is {other}"
            );
        }
        line
    }
}

/// A requested rate.
fn rate(task: &Task) -> Option<Iops> {
    match task {
        Task::File(task) => task.asked_rate(),
        _ => None,
    }
}

/// Name and load of a phase.
fn pattern(task: &Task) -> String {
    match rate(task) {
        Some(rate) => format!("{}, {rate}/s", task.name()),
        None => format!("{}, concurrency {}", task.name(), task.concurrency()),
    }
}

/// The rows of runs, in the order of the runs and their phases.
fn rows(runs: &[Run]) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for run in runs {
        let target = format!("{}:{}", run.info.host.name, run.info.storage.directory.display());
        for phase in &run.phases {
            let (seconds, operations) = AMOUNTS[0].of_phase(phase);
            if operations == 0.0 || seconds <= 0.0 {
                continue;
            }
            let pattern = pattern(&phase.info.task);
            let stamp = phase.end.cache.stamp().name();
            let is_same = |row: &&mut Row<'_>| {
                row.pattern == pattern && row.target == target && row.stamp().name() == stamp
            };
            match rows.iter_mut().find(is_same) {
                Some(row) => row.phases.push(phase),
                None => rows.push(Row { pattern, target: target.clone(), phases: vec![phase] }),
            }
        }
    }
    rows
}

/// All ratios of at least two patterns on a target, and of at least two targets with a pattern.
fn ratios<'a>(rows: &'a [Row<'a>]) -> Vec<Ratio<'a>> {
    let mut ratios = Vec::new();
    type Side<'a> = fn(&'a Row<'a>) -> &'a str;
    let sides: [(&'static str, Side<'a>); 2] =
        [("patterns", |row| &row.target), ("targets", |row| &row.pattern)];
    for (across, side) in sides {
        let mut groups: Vec<&str> = rows.iter().map(side).collect();
        groups.sort_unstable();
        groups.dedup();
        for of in groups {
            for amount in &AMOUNTS {
                let group = rows.iter().filter(|row| side(row) == of);
                let found = best_and_worst(group, |row: &Row<'_>| row.estimate(amount).value);
                let ratio = found.map(|(best, worst)| Ratio { across, of, amount, best, worst });
                // The same with another cache stamp is no other pattern or target.
                ratios.extend(ratio.filter(|ratio| ratio.name(ratio.best) != ratio.name(ratio.worst)));
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
    let head =
        ["pattern", "target", "phases", "operations", "±", "throughput", "cache"].map(|it| styler.clean(it));
    let cells = rows.iter().map(|row| {
        let [operations, throughput] = AMOUNTS.each_ref().map(|amount| {
            let value = row.estimate(amount).value;
            if value > 0.0 { (amount.shown)(value) } else { NONE.to_owned() }
        });
        let half = percent(row.estimate(&AMOUNTS[0]).relative_half_width());
        let phases = row.phases.len().to_string();
        [row.pattern.clone(), row.target.clone(), phases, operations, half, throughput, stamp(row.stamp())]
            .map(|cell| styler.clean(cell))
    });
    let lines: Vec<Vec<String>> = std::iter::once(head).chain(cells).map(Vec::from).collect();
    let mut out = folded(&lines, 0, 1, |column| (2..6).contains(&column), styler);
    if ratios.is_empty() {
        let need =
            "There are no ratios: they require two patterns on one target, or one pattern on two targets.";
        out += &("\n".to_owned() + &styler.item("", 0, need));
    }
    for ratio in &ratios {
        out += &("\n".to_owned() + &styler.item("", 2, ratio.describe()));
    }
    let rehearsals = rehearsals(runs);
    if !rehearsals.is_empty() {
        let text = format!(
            "Rehearsal: the figures of {} do not conform to the specification.",
            rehearsals.join(", ")
        );
        out += &("\n".to_owned() + &styler.item("", 0, text));
    }
    out
}

/// The rehearsals of SNIA's specification among the runs.
fn rehearsals(runs: &[Run]) -> Vec<&str> {
    runs.iter().filter(|run| run.rehearsal().is_some()).map(|run| run.info.id.0.as_str()).collect()
}

/// A ratio with three digits, or all before the point.
fn times(ratio: f64) -> String {
    if ratio < 10.0 { format!("{ratio:.2}") } else { format!("{ratio:.0}") }
}

/// Rows and ratios as a document.
pub fn document(runs: &[Run]) -> Value {
    let rows = rows(runs);
    let row = |row: &Row<'_>| {
        let mut value = json!({
            "pattern": row.task().name(),
            "concurrency": row.task().concurrency(),
            "rate": rate(row.task()).map(|rate| rate.0),
            "target": row.target,
            "stamp": row.stamp().to_string(),
            "phases": row.phases.len(),
        });
        for amount in &AMOUNTS {
            let estimate = row.estimate(amount);
            let is_known = estimate.high.is_finite();
            value[amount.name] = (estimate.value > 0.0).then_some(estimate.value).into();
            value[format!("{}_low", amount.name)] = is_known.then_some(estimate.low).into();
            value[format!("{}_high", amount.name)] = is_known.then_some(estimate.high).into();
        }
        value
    };
    let ratio = |ratio: &Ratio<'_>| {
        let ((best, worst), stamps) = (ratio.values(), ratio.stamps());
        json!({
            "across": ratio.across,
            "of": ratio.of,
            "figure": ratio.amount.name,
            "best": ratio.name(ratio.best),
            "worst": ratio.name(ratio.worst),
            "best_value": best,
            "worst_value": worst,
            "best_stamp": stamps.0.to_string(),
            "worst_stamp": stamps.1.to_string(),
            "ratio": best / worst,
        })
    };
    let ratios: Vec<Value> = ratios(&rows).iter().map(ratio).collect();
    json!({
        "format": FORMAT,
        "rows": rows.iter().map(row).collect::<Vec<_>>(),
        "ratios": ratios,
        "rehearsals": rehearsals(runs),
    })
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
        assert_eq!(patterns["worst"], "random 67 % read 2 KiB, concurrency 1");
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

    /// Reads of 8 KiB on one target at these loads, with a share of the bytes that reached the device.
    fn loads(of: &[(u32, f64, f64)]) -> Run {
        let mut run = Run::new(synthetic::run());
        for (index, (concurrency, rate, reached)) in (0..).zip(of) {
            let task = synthetic::file("random read 8 KiB", Mix::Read, Access::Random, 8192, *concurrency);
            let mut phase = synthetic::phase(index, task, &[(OpKind::Read, *rate, 1e6, 8192, 0)]);
            let requested = phase.end.cache.requested_read.0 as f64;
            phase.end.cache.device_read = Some(iolite_model::Bytes((requested * reached) as u64));
            run.phases.push(phase);
        }
        run
    }

    #[test]
    fn steps_of_a_sweep_are_patterns_and_repeats_have_the_interval_between_them() {
        let runs = [loads(&[(1, 14_488.0, 1.0), (4, 34_668.0, 1.0), (4, 30_000.0, 1.0)])];
        let document = document(&runs);
        let rows = document["rows"].as_array().unwrap();
        assert_eq!((rows.len(), &rows[0]["concurrency"], &rows[1]["phases"]), (2, &1.into(), &2.into()));
        let of = |name: &str| rows[1][name].as_f64().unwrap();
        assert!((of("iops") - 32_334.0).abs() < 50.0, "{document}");
        // Two windows that differ by 15 %: Student's t with one degree of freedom.
        assert!(of("iops_low") < 20_000.0 && of("iops_high") > 44_000.0, "{document}");
    }

    #[test]
    fn a_ratio_of_cached_and_device_is_marked() {
        let runs = [loads(&[(1, 400.0, 1.0), (4, 90_000.0, 0.0), (4, 1_000.0, 1.0)])];
        let ratio = &document(&runs)["ratios"][0];
        assert_eq!((&ratio["best_stamp"], &ratio["worst_stamp"]), (&"cached".into(), &"device".into()));
        let text = text(&runs, Style { color: false, unicode: true, width: 300 });
        assert!(
            text.contains("the cache stamp of the best is cached, that of the worst is device"),
            "{text}"
        );
    }
}
