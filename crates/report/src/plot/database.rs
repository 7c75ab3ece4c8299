//! What was asked of a database, beside what the database and its devices counted.

use iolite_model::{DatabaseUse, OpKind};
use iolite_results::Run;
use iolite_stats::PhaseResult;

use super::axis::Axis;
use super::chart::{Marking, Panel, Series};
use super::source::{Drawn, Lines, values};

/// Phases drawn at most.
const MAX_PHASES: usize = 24;

/// What each of [`COUNTED_BY`] counted.
type Counted = [Option<u64>; 4];

/// One of the figures.
type OfCounts = fn(&Counts) -> Counted;

const COUNTED_BY: [&str; 4] = ["asked for", "database", "device of the data", "device of the log"];

/// Panels, and what each of [`COUNTED_BY`] counted for it.
const PANELS: [(&str, OfCounts); 3] = [
    ("reads", |counts| counts.reads),
    ("writes (asked for: sets)", |counts| counts.writes),
    ("syncs (asked for: commits)", |counts| counts.syncs),
];

/// Counts of a phase, by who counted.
struct Counts {
    name: String,
    reads: Counted,
    writes: Counted,
    syncs: Counted,
}

impl Counts {
    fn of(run: &Run, phase: &PhaseResult, used: &DatabaseUse, several: bool) -> Counts {
        let asked = |kind| Some(phase.totals.whole(kind).0);
        let (data, log, own) = (used.data_device, used.log_device, used.database);
        let sum = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (None, None) => None,
            (one, other) => Some(one.unwrap_or(0).saturating_add(other.unwrap_or(0))),
        };
        let number = u64::from(phase.info.index) + 1;
        let name = format!("{number}. {}", phase.info.task.name());
        let name = if several { format!("{name}, {}", run.info.id.0) } else { name };
        Counts {
            name,
            reads: [
                asked(OpKind::Read),
                own.data_reads,
                data.map(|device| device.reads),
                log.map(|device| device.reads),
            ],
            writes: [
                asked(OpKind::Write),
                sum(own.data_writes, own.log_writes),
                data.map(|device| device.writes),
                log.map(|device| device.writes),
            ],
            syncs: [
                asked(OpKind::Commit),
                sum(own.data_syncs, own.log_syncs),
                data.map(|device| device.flushes),
                log.map(|device| device.flushes),
            ],
        }
    }
}

/// A panel for each of reads, writes and syncs; a group of bars for each phase inside a database.
pub(super) fn database(runs: &[Run]) -> Drawn {
    let of_run = |run: &Run| -> Vec<Counts> {
        let used = |phase: &PhaseResult| {
            Some(Counts::of(run, phase, run.database_use.get(&phase.info.index)?, runs.len() > 1))
        };
        run.phases.iter().filter_map(used).collect()
    };
    let mut phases: Vec<Counts> = runs.iter().flat_map(of_run).collect();
    phases.sort_by(|one, other| natural(&one.name).cmp(&natural(&other.name)));
    let note = super::source::cut(&mut phases, MAX_PHASES).map(|note| note.replace("series", "phases"));
    let x = Axis::names("phase", phases.iter().map(|counts| counts.name.clone()));
    let panels = PANELS.iter().filter_map(|(label, of)| panel(&phases, &x, label, *of)).collect();
    let name = |name: &&str| Series::new("counted by", *name);
    Drawn {
        title: "Database: logical and physical operations",
        about: "Operations asked of the database over each phase, and what the database and its devices counted meanwhile",
        series: COUNTED_BY.iter().map(name).collect(),
        panels,
        note,
    }
}

/// The number of the phase before its name.
fn natural(name: &str) -> (u64, &str) {
    let number = name.split('.').next().and_then(|number| number.parse().ok());
    (number.unwrap_or(u64::MAX), name)
}

/// The bars of one figure; `None` where nobody counted any.
fn panel(phases: &[Counts], x: &Axis, label: &str, of: OfCounts) -> Option<Panel> {
    let bars = |by: usize| -> Lines {
        let offset = (by as f64 - 1.5) * 0.18;
        let bar = |(place, counts): (usize, &Counts)| {
            let x = place as f64 + offset;
            Some(vec![(x, 0.0), (x, of(counts)[by]? as f64)])
        };
        phases.iter().enumerate().filter_map(bar).collect()
    };
    let lines: Vec<Lines> = (0..COUNTED_BY.len()).map(bars).collect();
    let highest = values(&lines, |point| point.1).fold(0.0, f64::max);
    let y = Axis::linear(label, Some(0.0), values(&lines, |point| point.1));
    (highest > 0.0).then(|| Panel { marking: Marking::Bars, ..Panel::of_lines(x.clone(), y, lines) })
}
