//! Bonnie++'s table, and its CSV line (format 1.98), which bon_csv2html and bon_csv2txt read.

use iolite_model::{BonniePhase, BonnieTerms, Bytes, ClassicStep, MetadataStep, Nanos, OpKind, RunInfo};
use iolite_results::Run;
use iolite_stats::{PhaseResult, Streamed};
use serde_json::{Value, json};

use super::parts::{KILO, Meaning, SPREAD, cpu, meanings, plus_minus, result, spread, stamp};
use crate::grid::folded;
use crate::styler::{Emphasis, Styler};

/// Version of the CSV line.
const CSV_FORMAT: &str = "1.98";

/// Phases that took less than this mean nothing, as Bonnie++ has it.
const SHORT: f64 = 0.5;

/// Stands for a rate that means nothing, and for its CPU use.
const TOO_SHORT: [&str; 2] = ["+++++", "+++"];

/// Files that the number of files is counted in.
const FILES_UNIT: u64 = 1024;

const MEANINGS: [Meaning; 7] = [
    Meaning {
        phase: "per-character",
        means: "mostly the cost of system calls, not of the disk: not meaningful for a database",
    },
    Meaning { phase: "block output", means: "bulk loads, backups, sorts that spill into temporary files" },
    Meaning {
        phase: "rewrite",
        means: "updates of a whole table, VACUUM: each page is read, changed and written back",
    },
    Meaning { phase: "block input", means: "the upper limit of a sequential scan" },
    Meaning {
        phase: "random seeks",
        means: "index access: the most important figure for transaction processing",
    },
    Meaning {
        phase: "create, stat, delete",
        means: "temporary tables and log segments; otherwise not relevant for a database",
    },
    Meaning {
        phase: "latency",
        means: "the slowest single operation: the time that an affected session waits",
    },
];

/// What came of a phase.
struct Figures<'a> {
    phase: BonniePhase,
    result: &'a PhaseResult,
    /// Bytes a second; of seeks and files their number.
    rate: f64,
    cpu: f64,
    latency: Nanos,
}

impl Figures<'_> {
    fn long_enough(&self) -> bool {
        self.result.totals.measured as f64 / 1e9 >= SHORT
    }

    /// Rate and CPU use as Bonnie++ prints them.
    fn cells(&self) -> [String; 2] {
        if !self.long_enough() {
            return TOO_SHORT.map(str::to_owned);
        }
        let rate = match self.phase {
            BonniePhase::Seeks if self.rate < 1000.0 => format!("{:.1}", self.rate),
            BonniePhase::Seeks | BonniePhase::Files(..) => format!("{:.0}", self.rate),
            _ => format!("{:.0}", self.rate / KILO),
        };
        [rate, format!("{:.0}", self.cpu)]
    }

    fn plus_minus(&self) -> Option<f64> {
        plus_minus(self.result, kind(self.phase)).filter(|_| self.long_enough())
    }

    /// The latency in Bonnie++'s units.
    fn latency(&self) -> String {
        let micros = self.latency.0 / 1000;
        match micros {
            0..100_000 => format!("{micros}us"),
            100_000..100_000_000 => format!("{}ms", micros / 1000),
            _ => format!("{}s", micros / 1_000_000),
        }
    }
}

fn figures(run: &Run, phase: BonniePhase) -> Option<Figures<'_>> {
    let result = result(run, ClassicStep::Bonnie(phase))?;
    let kind = kind(phase);
    let seconds = result.totals.measured as f64 / 1e9;
    let rate = match phase {
        BonniePhase::Seeks | BonniePhase::Files(..) => result.totals.operations(kind) as f64 / seconds,
        // The original's time ends with its fsync.
        _ => Streamed::of(result, kind)?.durable_rate(),
    };
    let latency = OpKind::all()
        .filter(|other| *other == kind || matches!(*other, OpKind::Read | OpKind::Write))
        .filter_map(|kind| result.summary(kind).and_then(|summary| summary.max))
        .max()?;
    Some(Figures { phase, result, rate, cpu: cpu(run, result), latency })
}

/// The kind of operation that counts.
fn kind(phase: BonniePhase) -> OpKind {
    match phase {
        BonniePhase::PutCharacter | BonniePhase::PutBlock | BonniePhase::Rewrite => OpKind::Write,
        BonniePhase::GetCharacter | BonniePhase::GetBlock | BonniePhase::Seeks => OpKind::Read,
        BonniePhase::Files(MetadataStep::Create, _) => OpKind::Create,
        BonniePhase::Files(MetadataStep::Stat, _) => OpKind::Stat,
        BonniePhase::Files(MetadataStep::Delete, _) => OpKind::Unlink,
    }
}

pub(super) fn text(run: &Run, terms: &BonnieTerms, styler: Styler) -> String {
    let title = format!(
        "Bonnie++, {} in chunks of {}, concurrency {}, {} files",
        terms.size, terms.chunk, terms.concurrency, terms.files
    );
    let mut out = styler.paint(Emphasis::Strong, &title) + "\n";
    let head = ["", "rate", "unit", "±", "%CPU", "latency", "from"];
    let mut rows = vec![head.map(|head| styler.clean(head)).to_vec()];
    let mut short = false;
    for figures in BonniePhase::ALL.into_iter().filter_map(|phase| figures(run, phase)) {
        let unit = match figures.phase {
            BonniePhase::Seeks => "/sec",
            BonniePhase::Files(..) => "/sec",
            _ => "K/sec",
        };
        let [rate, cpu] = figures.cells();
        short |= !figures.long_enough();
        let from = match figures.phase {
            BonniePhase::Files(..) => String::new(),
            _ => stamp(figures.result),
        };
        let (name, spread) = (figures.phase.name().to_owned(), spread(figures.plus_minus()));
        let cells = [name, rate, unit.to_owned(), spread, cpu, figures.latency(), from];
        rows.push(cells.map(|cell| styler.clean(cell)).to_vec());
    }
    out += &folded(&rows, 2, 1, |column| (1..6).contains(&column), styler);
    if short {
        out += &styler.item(
            "  ",
            2,
            "+++++: less than half a second, too short to be meaningful; use a larger --size or --files",
        );
    }
    out += &styler.item("  ", 2, SPREAD);
    out += &meanings(&MEANINGS, styler);
    out + &styler.clean(csv(run, terms)) + "\n"
}

/// Bonnie++'s line, by the list of fields in bon_csv2html(1).
fn csv(run: &Run, terms: &BonnieTerms) -> String {
    let mut fields = header(&run.info, terms);
    let cells = |phase| figures(run, phase).map_or_else(|| [String::new(), String::new()], |it| it.cells());
    let [io, names] = [&BonniePhase::ALL[..6], &BonniePhase::ALL[6..]];
    fields.extend(io.iter().flat_map(|&phase| cells(phase)));
    // Sizes, directories and chunk of the files: they are empty, in one directory.
    let files = if terms.files == 0 { String::new() } else { terms.files.div_ceil(FILES_UNIT).to_string() };
    fields.extend([files, String::new(), String::new(), String::new(), String::new()]);
    fields.extend(names.iter().flat_map(|&phase| cells(phase)));
    let latency = |phase: &BonniePhase| figures(run, *phase).map_or_else(String::new, |it| it.latency());
    fields.extend(BonniePhase::ALL.iter().map(latency));
    fields.join(",")
}

/// The fields before the first figure.
fn header(run: &RunInfo, terms: &BonnieTerms) -> Vec<String> {
    // A comma would begin another field.
    let name: String = run.host.name.chars().filter(|c| *c != ',' && *c != '"' && !c.is_control()).collect();
    let megabytes = terms.size.0 / Bytes::MIB.0;
    let chunk = if terms.chunk == Bytes(8192) { String::new() } else { terms.chunk.0.to_string() };
    vec![
        CSV_FORMAT.to_owned(),
        CSV_FORMAT.to_owned(),
        name,
        terms.concurrency.to_string(),
        (run.started_unix.0 / 1_000_000_000).to_string(),
        format!("{megabytes}M"),
        chunk,
        terms.seeks.to_string(),
        terms.seekers.to_string(),
    ]
}

pub(super) fn json(run: &Run, terms: &BonnieTerms) -> Value {
    let phases = BonniePhase::ALL.into_iter().filter_map(|phase| {
        let figures = figures(run, phase)?;
        Some(json!({
            "phase": phase.name(),
            "rate_per_second": figures.rate,
            "cpu_percent": figures.cpu,
            "latency_ns": figures.latency.0,
            "long_enough": figures.long_enough(),
            "rate_plus_minus": figures.plus_minus(),
            "stamp": figures.result.end.cache.stamp().to_string(),
        }))
    });
    json!({ "phases": phases.collect::<Vec<_>>(), "csv": csv(run, terms) })
}
