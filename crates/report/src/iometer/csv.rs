//! Results in the layout of Iometer 1.1's results file, for spreadsheets and scripts that read it.
//!
//! All its columns are there, in its order. Empty are those of network targets, and those whose unit is the tick of a timer. The rows
//! are those of all targets, then of each manager, of each of its workers, and of each disk of these.

use std::collections::BTreeSet;

use iolite_model::{AccessLine, AccessSpec, IometerLoad, IometerPoint, IometerTerms, Nanos};
use iolite_results::Run;
use iolite_stats::PhaseResult;

use super::figures::{Figures, Phases};
use super::words;

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
    Some(of_points(run, &terms, &Phases::of(run, &terms)))
}

/// The results of points, with the access specifications and the times of start and end.
pub(super) fn of_points(run: &Run, terms: &IometerTerms, phases: &Phases<'_>) -> String {
    let started = run.info.started_unix;
    let mut out = format!(
        "'Test Type,Test Description\n0,{}\n'Version\n1.1.0\n'Time Stamp\n{}\n",
        clean(&terms.test),
        time_stamp(started)
    );
    out += &specifications(terms);
    out += "'Results\n";
    out += &(COLUMNS.join(",") + "\n");
    let rows = terms.points.iter().zip(1..).flat_map(|point| rows(run, terms, phases, point));
    rows.for_each(|row| out += &(row.join(",") + "\n"));
    let took = |phase: &PhaseResult| terms.ramp.0.saturating_add(phase.end.measured.0);
    let ends = run.phases.iter().map(|phase| phase.info.started.0.saturating_add(took(phase)));
    let end = Nanos(started.0.saturating_add(ends.max().unwrap_or(0)));
    out + &format!("'Time Stamp\n{}\n'End results\n", time_stamp(end))
}

/// A local time as Iometer writes it; empty for a time out of range.
fn time_stamp(unix: Nanos) -> String {
    let instant = jiff::Timestamp::from_nanosecond(i128::from(unix.0));
    let local = instant.map(|instant| instant.to_zoned(jiff::tz::TimeZone::system()));
    let shown =
        |local: jiff::Zoned| format!("{}:{:03}", local.strftime("%Y-%m-%d %H:%M:%S"), local.millisecond());
    local.map_or_else(|_| String::new(), shown)
}

/// The access specifications of a point.
fn specs(point: &IometerPoint) -> Vec<&AccessSpec> {
    let IometerPoint { spec, loads, .. } = point;
    if loads.is_empty() { vec![spec] } else { loads.iter().map(|load| &load.spec).collect() }
}

/// Each access specification once, with its lines.
fn specifications(terms: &IometerTerms) -> String {
    let mut out = String::from("'Access specifications\n");
    let mut written: Vec<&str> = Vec::new();
    for AccessSpec { name, lines } in terms.points.iter().flat_map(specs) {
        if written.contains(&name.as_str()) {
            continue;
        }
        written.push(name);
        out += &format!("'Access specification name,default assignment\n{},0\n", clean(name));
        out += "'size,% of size,% reads,% random,delay,burst,align,reply\n";
        for line in lines {
            let AccessLine { size, share, reads, random, delay, burst, align, reply } = line;
            let (size, align, reply) = (size.0, align.0, reply.0);
            out += &format!("{size},{share},{reads},{random},{delay},{burst},{align},{reply}\n");
        }
    }
    out + "'End access specifications\n"
}

/// What a row is of: targets of workers.
struct Rowed<'l> {
    kind: &'static str,
    name: String,
    loads: Vec<&'l IometerLoad>,
    /// The only target of the only worker, from 1; none for all of them.
    target: Option<u32>,
}

/// The rows of a point: all workers, and for each manager its workers with their disks.
fn rows(
    run: &Run,
    terms: &IometerTerms,
    phases: &Phases<'_>,
    (point, number): (&IometerPoint, usize),
) -> Vec<Vec<String>> {
    let loads = terms.loads(point);
    let managers: BTreeSet<u32> = loads.iter().map(|load| manager_of(terms, load)).collect();
    let mut of =
        vec![Rowed { kind: "ALL", name: "All".to_owned(), loads: loads.iter().collect(), target: None }];
    for manager in managers {
        let own: Vec<&IometerLoad> = loads.iter().filter(|load| manager_of(terms, load) == manager).collect();
        let name = manager_name(run, terms, manager);
        of.push(Rowed { kind: "MANAGER", name, loads: own.clone(), target: None });
        for load in own {
            let name = words::worker_name(terms, load.worker);
            of.push(Rowed { kind: "WORKER", name, loads: vec![load], target: None });
            of.extend((1..=load.targets).map(|target| Rowed {
                kind: "DISK",
                name: disk_name(run, terms, load, target),
                loads: vec![load],
                target: Some(target),
            }));
        }
    }
    let figures = |rowed: &Rowed<'_>| {
        let chosen = |load: &IometerLoad, target| {
            rowed.target.is_none_or(|only| only == target)
                && rowed.loads.iter().any(|own| own.worker == load.worker)
        };
        phases.some(number, point, chosen)
    };
    of.iter().filter_map(|rowed| Some(row(rowed, &figures(rowed)?, terms))).collect()
}

fn manager_of(terms: &IometerTerms, load: &IometerLoad) -> u32 {
    terms.worker(load.worker).map_or(1, |worker| worker.manager)
}

/// Name of a manager: the host, on which all run, unless there are several.
fn manager_name(run: &Run, terms: &IometerTerms, manager: u32) -> String {
    let first = terms.workers.first();
    let of = terms.workers.iter().find(|worker| worker.manager == manager);
    match (first, of) {
        (Some(first), Some(of)) if terms.workers.iter().any(|it| it.manager != first.manager) => {
            if of.manager_name.is_empty() { format!("Manager {manager}") } else { of.manager_name.clone() }
        }
        _ => run.info.host.name.clone(),
    }
}

/// Path of a target's test file; of the directory if there is only one.
fn disk_name(run: &Run, terms: &IometerTerms, load: &IometerLoad, target: u32) -> String {
    let directory = &run.info.storage.directory;
    let file = terms.file_of(load.worker, target);
    let is_only = terms.points.iter().all(|point| point.targets <= 1)
        && terms.workers.iter().all(|worker| worker.files.first().is_none_or(|first| *first == file));
    if is_only { directory.clone() } else { directory.join(IometerTerms::file(file)) }.display().to_string()
}

/// Text without what would end a field or a line.
fn clean(text: &str) -> String {
    text.replace([',', '"', '\n', '\r'], " ")
}

fn row(of: &Rowed<'_>, it: &Figures<'_>, terms: &IometerTerms) -> Vec<String> {
    let number = |value: f64| format!("{value:.6}");
    let empty = |count: usize| vec![String::new(); count];
    let spec = IometerLoad::spec_names(of.loads.iter().copied());
    let mut row = vec![of.kind.to_owned(), clean(&of.name), clean(&spec)];
    let managers: BTreeSet<u32> = of.loads.iter().map(|load| manager_of(terms, load)).collect();
    let targets = |load: &IometerLoad| of.target.map_or(1..=load.targets, |only| only..=only);
    let files = |load: &&IometerLoad| {
        targets(load).map(|target| terms.file_of(load.worker, target)).collect::<Vec<_>>()
    };
    let files: BTreeSet<u32> = of.loads.iter().flat_map(files).collect();
    row.extend([managers.len(), of.loads.len(), files.len()].map(|count| count.to_string()));
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
    // Of workers that differ there is no one value.
    let common = |value: &dyn Fn(&IometerLoad) -> u64| {
        let values: BTreeSet<u64> = of.loads.iter().map(|load| value(load)).collect();
        if values.len() == 1 {
            values.first().map_or_else(String::new, u64::to_string)
        } else {
            String::new()
        }
    };
    row.push(common(&|load| terms.worker(load.worker).map_or(0, |worker| worker.start.0 / SECTOR)));
    row.push(common(&|load| terms.worker(load.worker).map_or(terms.size, |worker| worker.size).0 / SECTOR));
    row.push(common(&|load| load.depth.into()));
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
