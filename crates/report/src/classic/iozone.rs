//! IOzone's throughput table, and its spreadsheet report (`-R`).

use iolite_model::{Bytes, ClassicStep, IozoneTerms, IozoneTest, OpKind};
use iolite_results::Run;
use iolite_stats::{PhaseResult, Streamed};
use serde_json::{Value, json};

use super::parts::{KILO, Meaning, meanings, plus_minus, result, spread, stamp};
use crate::styler::{Emphasis, Styler};

const MEANINGS: [Meaning; 9] = [
    Meaning { phase: "writers, readers", means: "basic sequential writes and reads: loads and scans" },
    Meaning {
        phase: "rewriters, re-readers",
        means: "writes and reads of frequently used tables, which are in memory",
    },
    Meaning { phase: "random readers, writers", means: "index access, and writes of single rows" },
    Meaning { phase: "reverse readers", means: "reverse scans of an index" },
    Meaning { phase: "record rewriters", means: "a row that is updated again and again" },
    Meaning { phase: "stride readers", means: "a bitmap scan" },
    Meaning { phase: "mixed workload", means: "the average behaviour of a database" },
    Meaning {
        phase: "children",
        means: "the sum of the rates of all processes: optimistic if some end before others",
    },
    Meaning {
        phase: "parent",
        means: "all bytes divided by the time of the slowest process: the throughput of the storage; durable: with fsync",
    },
];

/// What came of a test. Rates in bytes a second.
struct Figures {
    test: IozoneTest,
    processes: usize,
    children: f64,
    parent: f64,
    durable: f64,
    min: f64,
    max: f64,
    min_bytes: u64,
    /// Half width of the interval of the children's rate, relative to it.
    plus_minus: Option<f64>,
    from: String,
}

impl Figures {
    fn average(&self) -> f64 {
        self.children / self.processes.max(1) as f64
    }
}

fn figures(run: &Run, terms: &IozoneTerms, test: IozoneTest) -> Option<Figures> {
    let phases: Vec<&PhaseResult> =
        (1..=terms.processes).filter_map(|process| result(run, ClassicStep::Iozone(test, process))).collect();
    let streamed = |phase: &&PhaseResult| {
        let kinds = [OpKind::Read, OpKind::Write].into_iter();
        kinds.filter_map(|kind| Streamed::of(phase, kind)).next()
    };
    let each: Vec<Streamed> = phases.iter().filter_map(streamed).collect();
    let bytes: u64 = each.iter().map(|one| one.bytes).sum();
    let longest = |time: fn(&Streamed) -> f64| each.iter().map(time).fold(0.0, f64::max);
    let rates: Vec<f64> = each.iter().map(Streamed::rate).collect();
    // Processes that share a device are slow together: their widths add up.
    let of_each = phases.iter().zip(&each).map(|(phase, one)| {
        let kind = if phase.totals.operations(OpKind::Read) > 0 { OpKind::Read } else { OpKind::Write };
        Some(plus_minus(phase, kind)? * one.rate())
    });
    let widths: Option<f64> = of_each.sum();
    Some(Figures {
        test,
        processes: each.len(),
        plus_minus: widths.map(|widths| widths / rates.iter().sum::<f64>()),
        children: rates.iter().sum(),
        parent: bytes as f64 / longest(|one| one.seconds - one.sync).max(1e-9),
        durable: bytes as f64 / longest(|one| one.seconds).max(1e-9),
        min: rates.iter().copied().reduce(f64::min)?,
        max: rates.iter().copied().reduce(f64::max)?,
        min_bytes: each.iter().map(|one| one.bytes).min()?,
        from: phases.first().map(|phase| stamp(phase)).unwrap_or_default(),
    })
}

fn all<'a>(run: &'a Run, terms: &'a IozoneTerms) -> impl Iterator<Item = Figures> + 'a {
    IozoneTest::ALL.into_iter().filter_map(|test| figures(run, terms, test))
}

fn kilo(rate: f64) -> String {
    format!("{:.2}", rate / KILO)
}

pub(super) fn text(run: &Run, terms: &IozoneTerms, styler: Styler) -> String {
    let title =
        format!("IOzone, {} processes, {} each in records of {}", terms.processes, terms.size, terms.record);
    let mut out = styler.paint(Emphasis::Strong, &title) + "\n";
    for figures in all(run, terms) {
        out += &block(&figures, styler);
    }
    out += &meanings(&MEANINGS, styler);
    out + "\n" + &report(run, terms)
}

/// A test as IOzone prints it, with what it does not have.
fn block(figures: &Figures, styler: Styler) -> String {
    let name = format!("{:>2} {}", figures.processes, figures.test.name());
    let lines = [
        (format!("Children see throughput for {name}"), kilo(figures.children), "KB/sec"),
        (format!("Parent sees throughput for {name}"), kilo(figures.parent), "KB/sec"),
        ("Min throughput per process".to_owned(), kilo(figures.min), "KB/sec"),
        ("Max throughput per process".to_owned(), kilo(figures.max), "KB/sec"),
        ("Avg throughput per process".to_owned(), kilo(figures.average()), "KB/sec"),
        ("Min xfer".to_owned(), kilo(figures.min_bytes as f64), "KB"),
    ];
    let mut out = String::new();
    for (label, value, unit) in lines {
        out += &format!("  {label:<50} = {value:>12} {unit}\n");
    }
    if figures.test.writes(figures.processes.max(2) as u32) {
        let durable = kilo(figures.durable);
        out += &format!("  {:<50} = {durable:>12} KB/sec\n", "Durable (with fsync)");
    }
    let spread = spread(figures.plus_minus);
    out += &format!("  {:<50} = {:>12}\n", styler.clean("± of the children's throughput (95 %)"), spread);
    out += &format!("  {:<50} = {}\n\n", "Served from", styler.clean(&figures.from));
    out
}

/// IOzone's report for a spreadsheet: one line per test, children's rates in kilobytes a second.
fn report(run: &Run, terms: &IozoneTerms) -> String {
    let mut out =
        String::from("\"Throughput report Y-axis is type of test X-axis is number of processes\"\n");
    out += &format!(
        "\"Record size = {} kBytes \"\n\"Output is in kBytes/sec\"\n\n",
        terms.record.0 / Bytes::KIB.0
    );
    for figures in all(run, terms) {
        out += &format!("\"{:>15} \" {:>10} \n\n", figures.test.label(), kilo(figures.children));
    }
    out
}

pub(super) fn json(run: &Run, terms: &IozoneTerms) -> Value {
    let tests = all(run, terms).map(|figures| {
        json!({
            "test": figures.test.name(),
            "number": figures.test.number(),
            "processes": figures.processes,
            "children": figures.children,
            "parent": figures.parent,
            "durable": figures.durable,
            "min": figures.min,
            "max": figures.max,
            "avg": figures.average(),
            "min_transfer_bytes": figures.min_bytes,
            "children_plus_minus": figures.plus_minus,
            "stamp": figures.from,
        })
    });
    json!({ "tests": tests.collect::<Vec<_>>(), "report": report(run, terms) })
}
