//! Results in the layout of Iometer 1.1's results file, for spreadsheets and scripts that read it.
//!
//! All its columns are there, in its order. Empty are those of network targets, and those whose unit is the tick of a timer.

use iolite_model::IometerTerms;
use iolite_results::Run;

use super::figures::{self, Figures};

/// Decimal and binary megabytes.
const MEGA: f64 = 1e6;
const MEBI: f64 = 1_048_576.0;

/// Bytes of a sector, in which sizes and places are given.
const SECTOR: u64 = 512;

/// The heading of the results: all columns in their order.
pub(super) const COLUMNS: [&str; 80] = [
    "'Target Type",
    "Target Name",
    "Access Specification Name",
    "# Managers",
    "# Workers",
    "# Disks",
    "IOps",
    "Read IOps",
    "Write IOps",
    "MiBps (Binary)",
    "Read MiBps (Binary)",
    "Write MiBps (Binary)",
    "MBps (Decimal)",
    "Read MBps (Decimal)",
    "Write MBps (Decimal)",
    "Transactions per Second",
    "Connections per Second",
    "Average Response Time",
    "Average Read Response Time",
    "Average Write Response Time",
    "Average Transaction Time",
    "Average Connection Time",
    "Maximum Response Time",
    "Maximum Read Response Time",
    "Maximum Write Response Time",
    "Maximum Transaction Time",
    "Maximum Connection Time",
    "Errors",
    "Read Errors",
    "Write Errors",
    "Bytes Read",
    "Bytes Written",
    "Read I/Os",
    "Write I/Os",
    "Connections",
    "Transactions per Connection",
    "Total Raw Read Response Time",
    "Total Raw Write Response Time",
    "Total Raw Transaction Time",
    "Total Raw Connection Time",
    "Maximum Raw Read Response Time",
    "Maximum Raw Write Response Time",
    "Maximum Raw Transaction Time",
    "Maximum Raw Connection Time",
    "Total Raw Run Time",
    "Starting Sector",
    "Maximum Size",
    "Queue Depth",
    "% CPU Utilization",
    "% User Time",
    "% Privileged Time",
    "% DPC Time",
    "% Interrupt Time",
    "Processor Speed",
    "Interrupts per Second",
    "CPU Effectiveness",
    "Packets/Second",
    "Packet Errors",
    "Segments Retransmitted/Second",
    "0 to 50 uS",
    "50 to 100 uS",
    "100 to 200 uS",
    "200 to 500 uS",
    "0.5 to 1 mS",
    "1 to 2 mS",
    "2 to 5 mS",
    "5 to 10 mS",
    "10 to 15 mS",
    "15 to 20 mS",
    "20 to 30 mS",
    "30 to 50 mS",
    "50 to 100 mS",
    "100 to 200 mS",
    "200 to 500 mS",
    "0.5 to 1 S",
    "1 to 2 s",
    "2 to 4.7 s",
    "4.7 to 5 s",
    "5 to 10 s",
    " >= 10 s",
];

/// Upper bounds of the classes of response times, in microseconds; the last class has none.
const CLASSES: [u64; 20] = [
    50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 20_000, 30_000, 50_000, 100_000, 200_000, 500_000,
    1_000_000, 2_000_000, 4_700_000, 5_000_000, 10_000_000,
];

/// The results of a run in Iometer's layout; `None` for a run that is no test of access specifications.
pub fn csv(run: &Run) -> Option<String> {
    let terms: IometerTerms = run.concluded().last()?;
    Some(of_points(run, &terms, &figures::all(run, &terms)))
}

/// The results of points: a row for all targets, and one for the disk.
pub(super) fn of_points(run: &Run, terms: &IometerTerms, figures: &[Figures<'_>]) -> String {
    let target = clean(&run.info.storage.directory.display().to_string());
    let mut out =
        format!("'Test Type,Test Description\n0,{}\n'Version\n1.1.0\n'Results\n", clean(&terms.test));
    out += &(COLUMNS.join(",") + "\n");
    for it in figures {
        for (kind, name) in [("ALL", "All"), ("DISK", target.as_str())] {
            out += &(row(kind, name, it, terms).join(",") + "\n");
        }
    }
    out + "'End results\n"
}

/// Text without what would end a field or a line.
fn clean(text: &str) -> String {
    text.replace([',', '"', '\n', '\r'], " ")
}

fn row(kind: &str, name: &str, it: &Figures<'_>, terms: &IometerTerms) -> Vec<String> {
    let number = |value: f64| format!("{value:.6}");
    let empty = |count: usize| vec![String::new(); count];
    let mut row = vec![kind.to_owned(), name.to_owned(), clean(&it.point.spec.name)];
    row.extend(["1".into(), it.point.workers.to_string(), "1".into()]);
    row.extend(it.rates.map(number));
    row.extend(it.bytes_per_second.map(|bytes| number(bytes / MEBI)));
    row.extend(it.bytes_per_second.map(|bytes| number(bytes / MEGA)));
    row.extend(empty(2));
    row.extend(it.means.map(|nanos| number(nanos / 1e6)));
    row.extend(empty(2));
    row.extend(it.longest.map(|longest| number(longest.as_millis_f64())));
    row.extend(empty(2));
    row.extend(it.errors.map(|errors| errors.to_string()));
    let [_, read, written] = it.bytes;
    let [_, reads, writes] = it.operations;
    row.extend([read, written, reads, writes].map(|value| value.to_string()));
    // Connections and timers.
    row.extend(empty(11));
    row.extend(["0".into(), (terms.size.0 / SECTOR).to_string(), it.point.depth.to_string()]);
    let [user, system] = it.cpu;
    row.extend([user + system, user, system].map(number));
    // Interrupts and the network.
    row.extend(empty(8));
    row.extend(classes(it).map(|count| count.to_string()));
    row
}

/// Operations by response time.
fn classes(it: &Figures<'_>) -> [u64; CLASSES.len() + 1] {
    let mut counts = [0; CLASSES.len() + 1];
    for (response, count) in it.response.iter() {
        let class = CLASSES.partition_point(|bound| bound.saturating_mul(1000) <= response.0);
        if let Some(had) = counts.get_mut(class) {
            *had += count;
        }
    }
    counts
}
