//! A tool's runs as a spreadsheet takes them: InterSystems PerfTools' columns first, with their names and in their order, then
//! what else is known.

use iolite_model::{DatabaseFacts, DatabaseUse, DeviceCounters, Ending, Nanos, OpKind, Physical, Quantile};
use iolite_stats::StoredTotals;
use serde_json::{Map, Value};

use super::listed::{Listed, ListedPhase};

/// How an export is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// Separated by commas, quoted as RFC 4180 has it.
    Csv,
    /// Separated by tabs.
    Tsv,
    /// JSON array with one object per run.
    Json,
}

/// What stands in a column; blank where it is irrelevant or not known.
#[derive(Debug, Clone, PartialEq)]
enum Cell {
    Blank,
    Text(String),
    Count(u64),
    /// A value, and its decimals.
    Real(f64, usize),
}

/// A line of the export: columns in their order.
type Line = Vec<(&'static str, Cell)>;

/// Decimals of rates and deviations; of seconds and milliseconds (so these resolve nanoseconds); of ratios.
const RATE: usize = 3;
const SECONDS: usize = 6;
const MILLIS: usize = 6;
const RATIO: usize = 4;

/// Why no text can be written of runs: a bug.
#[derive(Debug, thiserror::Error)]
#[error("a bug: no text can be written of the runs: {0}")]
pub struct ExportError(#[from] csv::Error);

/// The runs in a format, those apart that have not measured anything.
///
/// # Errors
/// A text can't be written of them, which is a bug.
pub fn export(runs: &[Listed], format: ExportFormat) -> Result<String, ExportError> {
    let lines: Vec<Line> =
        runs.iter().filter_map(|run| run.measured.as_ref().map(|phase| line(run, phase))).collect();
    match format {
        ExportFormat::Csv => separated(&lines, b','),
        ExportFormat::Tsv => separated(&lines, b'\t'),
        ExportFormat::Json => Ok(format!("{:#}\n", Value::Array(lines.into_iter().map(object).collect()))),
    }
}

fn separated(lines: &[Line], separator: u8) -> Result<String, ExportError> {
    let mut writer = csv::WriterBuilder::new().delimiter(separator).from_writer(Vec::new());
    if let Some(first) = lines.first() {
        writer.write_record(first.iter().map(|(name, _)| name))?;
    }
    for line in lines {
        writer.write_record(line.iter().map(|(_, cell)| cell.text()))?;
    }
    let bytes = writer.into_inner().map_err(|error| csv::Error::from(error.into_error()))?;
    // All that was written is text.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn object(line: Line) -> Value {
    Value::Object(line.into_iter().map(|(name, cell)| (name.to_owned(), cell.value())).collect::<Map<_, _>>())
}

impl Cell {
    fn text(&self) -> String {
        match self {
            Cell::Blank => String::new(),
            Cell::Text(text) => text.clone(),
            Cell::Count(count) => count.to_string(),
            Cell::Real(value, decimals) => format!("{value:.decimals$}"),
        }
    }

    fn value(self) -> Value {
        match self {
            Cell::Blank => Value::Null,
            Cell::Text(text) => text.into(),
            Cell::Count(count) => count.into(),
            Cell::Real(value, _) => value.into(),
        }
    }

    fn count(value: Option<u64>) -> Cell {
        value.map_or(Cell::Blank, Cell::Count)
    }

    fn real(value: Option<f64>, decimals: usize) -> Cell {
        value.filter(|value| value.is_finite()).map_or(Cell::Blank, |value| Cell::Real(value, decimals))
    }

    fn millis(time: Option<Nanos>) -> Cell {
        Cell::real(time.map(|time| time.0 as f64 / 1e6), MILLIS)
    }

    fn text_of(text: Option<&str>) -> Cell {
        text.map_or(Cell::Blank, |text| Cell::Text(text.to_owned()))
    }
}

fn line(run: &Listed, phase: &ListedPhase) -> Line {
    let mut line = perftools(run, phase);
    line.extend(measured(phase));
    line.extend(asked(phase));
    line.extend(physical(phase));
    line.extend(known(run, phase));
    line
}

/// The columns of PerfTools.
fn perftools(run: &Listed, phase: &ListedPhase) -> Line {
    let (date, time) = run.started();
    let facts = phase.facts.as_ref();
    let reads = Spread::of(phase, phase.reads(), 0, &phase.totals.read);
    let writes = Spread::of(phase, phase.writes(), 1, &phase.totals.write);
    let read_percent = phase.task.operation.read_percent();
    vec![
        ("RunDate", Cell::Text(date)),
        ("RunTime", Cell::Text(time)),
        ("Database", Cell::Text(run.database())),
        ("Namespace", Cell::text_of(facts.map(|facts| facts.namespace.as_str()))),
        ("Reads", Cell::count(reads.operations)),
        ("Writes", Cell::count(writes.operations)),
        ("ReadsPS", Cell::real(reads.rate, RATE)),
        ("WritesPS", Cell::real(writes.rate, RATE)),
        ("StdDevR", Cell::real(reads.deviation, RATE)),
        ("StdDevW", Cell::real(writes.deviation, RATE)),
        ("Processes", Cell::Count(phase.task.workers.into())),
        ("ReadPct", Cell::Count(read_percent.into())),
        ("StdDevRPS", Cell::real(reads.rate_deviation, RATE)),
        ("StdDevWPS", Cell::real(writes.rate_deviation, RATE)),
        ("CoVarR", Cell::real(reads.variation, RATIO)),
        ("CoVarW", Cell::real(writes.variation, RATIO)),
        ("CoVarRPS", Cell::real(reads.variation, RATIO)),
        ("CoVarWPS", Cell::real(writes.variation, RATIO)),
    ]
}

/// Operations of a kind and how the workers differ; nothing where the tool does none.
#[derive(Default)]
struct Spread {
    operations: Option<u64>,
    rate: Option<f64>,
    /// Standard deviation of the workers' operations, that of a sample; a single worker has none.
    deviation: Option<f64>,
    /// The same of their rates.
    rate_deviation: Option<f64>,
    /// Deviation by mean. All workers of a phase have one measured time, so that of the rates is no other.
    variation: Option<f64>,
}

impl Spread {
    fn of(phase: &ListedPhase, relevant: bool, column: usize, totals: &StoredTotals) -> Spread {
        if !relevant {
            return Spread::default();
        }
        let each: Vec<f64> = phase.workers.iter().map(|worker| worker[column] as f64).collect();
        let mean = each.iter().sum::<f64>() / each.len() as f64;
        let squares: f64 = each.iter().map(|worker| (worker - mean).powi(2)).sum();
        let deviation = (each.len() > 1).then(|| (squares / (each.len() - 1) as f64).sqrt());
        Spread {
            operations: Some(totals.operations()),
            rate: phase.per_second(totals.operations()),
            deviation,
            rate_deviation: deviation.filter(|_| phase.measured.0 > 0).map(|value| value / phase.seconds()),
            variation: deviation.filter(|_| mean > 0.0).map(|value| value / mean),
        }
    }
}

/// Times, and what else was measured.
fn measured(phase: &ListedPhase) -> Line {
    let commits = phase.writes().then_some(&phase.totals.commit);
    let errors = phase.kinds().iter().map(|(_, _, totals)| totals.errors()).sum();
    let mut line = vec![
        ("Seconds", Cell::real(Some(phase.seconds()), SECONDS)),
        ("Errors", Cell::Count(errors)),
        ("Commits", Cell::count(commits.map(StoredTotals::operations))),
        ("CommitsPS", Cell::real(commits.and_then(|of| phase.per_second(of.operations())), RATE)),
    ];
    let reads = phase.reads().then_some(&phase.totals.read);
    let writes = phase.writes().then_some(&phase.totals.write);
    line.extend(times(
        ["ReadMeanMs", "ReadP50Ms", "ReadP95Ms", "ReadP99Ms", "ReadP999Ms", "ReadMaxMs"],
        reads,
    ));
    line.extend(times(
        ["WriteMeanMs", "WriteP50Ms", "WriteP95Ms", "WriteP99Ms", "WriteP999Ms", "WriteMaxMs"],
        writes,
    ));
    line.extend(times(
        ["CommitMeanMs", "CommitP50Ms", "CommitP95Ms", "CommitP99Ms", "CommitP999Ms", "CommitMaxMs"],
        commits,
    ));
    line
}

fn times(names: [&'static str; 6], totals: Option<&StoredTotals>) -> Line {
    let at = |share| Cell::millis(totals.and_then(|totals| totals.quantile(Quantile(share))));
    let mean = totals.and_then(StoredTotals::mean).map(|nanos| nanos / 1e6);
    let max = Cell::millis(totals.and_then(StoredTotals::max));
    let cells = [Cell::real(mean, MILLIS), at(0.5), at(0.95), at(0.99), at(0.999), max];
    names.into_iter().zip(cells).collect()
}

/// What was asked for besides jobs and shares.
fn asked(phase: &ListedPhase) -> Line {
    let batch = phase.task.operation.cycle();
    vec![
        ("TransactionLength", Cell::count(batch.map(|(length, _)| length.into()))),
        ("HangMs", Cell::real(batch.map(|(_, hang)| hang.0 as f64 / 1e6), RATE)),
    ]
}

/// Logical against physical.
fn physical(phase: &ListedPhase) -> Line {
    let reads = phase.reads().then(|| phase.whole(OpKind::Read));
    let writes = phase.writes().then(|| phase.whole(OpKind::Write));
    let usage = phase.usage.as_ref();
    let device = usage.and_then(devices);
    let own = usage.map_or_else(Physical::default, |usage| usage.database);
    let ratio = |logical: Option<u64>, physical: Option<u64>| {
        let ratio = logical.zip(physical).filter(|(logical, physical)| *logical > 0 && *physical > 0);
        Cell::real(ratio.map(|(logical, physical)| logical as f64 / physical as f64), RATIO)
    };
    let percent = |part: Option<Nanos>, whole: Option<Nanos>| {
        let share = part.zip(whole).filter(|(_, whole)| whole.0 > 0);
        Cell::real(share.map(|(part, whole)| 100.0 * part.0 as f64 / whole.0 as f64), RATE)
    };
    vec![
        ("LogicalReads", Cell::count(reads)),
        ("LogicalWrites", Cell::count(writes)),
        ("DeviceReads", Cell::count(device.map(|device| device.reads))),
        ("DeviceReadBytes", Cell::count(device.map(|device| device.read.0))),
        ("DeviceWrites", Cell::count(device.map(|device| device.writes))),
        ("DeviceWrittenBytes", Cell::count(device.map(|device| device.written.0))),
        ("DeviceFlushes", Cell::count(device.map(|device| device.flushes))),
        ("DataReads", Cell::count(own.data_reads)),
        ("DataReadBytes", Cell::count(own.data_read_bytes)),
        ("DataWrites", Cell::count(own.data_writes)),
        ("DataWrittenBytes", Cell::count(own.data_write_bytes)),
        ("DataSyncs", Cell::count(own.data_syncs)),
        ("LogWrites", Cell::count(own.log_writes)),
        ("LogWrittenBytes", Cell::count(own.log_write_bytes)),
        ("LogSyncs", Cell::count(own.log_syncs)),
        ("ReadsPerDeviceRead", ratio(reads, device.map(|device| device.reads))),
        ("WritesPerDeviceWrite", ratio(writes, device.map(|device| device.writes))),
        ("ReadsPerDataRead", ratio(reads, own.data_reads)),
        ("WritesPerDataWrite", ratio(writes, own.data_writes)),
        (
            "WriterActivePct",
            percent(usage.and_then(|usage| usage.writer_active), usage.map(|usage| usage.observed)),
        ),
        ("ToolCpuPct", percent(usage.map(|usage| usage.tool_cpu), usage.and_then(|usage| usage.host_cpu))),
    ]
}

/// The devices under data and log together.
fn devices(usage: &DatabaseUse) -> Option<DeviceCounters> {
    usage.data_device.map(|data| data.plus(usage.log_device.unwrap_or_default()))
}

/// The database, and where this line comes from.
fn known(run: &Listed, phase: &ListedPhase) -> Line {
    let facts = phase.facts.as_ref();
    let of = |text: fn(&DatabaseFacts) -> &str| Cell::text_of(facts.map(text));
    let failure = run.ending.as_ref().and_then(Ending::error);
    let low = |kind| phase.bounds.rate(kind).map(|bounds| bounds.0);
    let high = |kind| phase.bounds.rate(kind).map(|bounds| bounds.1);
    vec![
        ("Engine", of(|facts| &facts.engine)),
        ("Version", of(|facts| &facts.version)),
        ("Durability", of(|facts| facts.durability.name())),
        ("DurableBy", of(|facts| &facts.durable_by)),
        ("ReadPath", of(|facts| &facts.read_path)),
        ("WritePath", of(|facts| &facts.write_path)),
        ("TimedBy", Cell::Text(phase.task.timed_by.name().into())),
        ("Stamp", Cell::text_of(phase.stamp.as_deref())),
        ("ReadsPSLow", Cell::real(low(OpKind::Read), RATE)),
        ("ReadsPSHigh", Cell::real(high(OpKind::Read), RATE)),
        ("WritesPSLow", Cell::real(low(OpKind::Write), RATE)),
        ("WritesPSHigh", Cell::real(high(OpKind::Write), RATE)),
        ("CommitsPSLow", Cell::real(low(OpKind::Commit), RATE)),
        ("CommitsPSHigh", Cell::real(high(OpKind::Commit), RATE)),
        ("BlockBytes", Cell::count(facts.map(|facts| facts.block.0))),
        ("SizeBytes", Cell::count(facts.map(|facts| facts.size.0))),
        ("Host", Cell::Text(run.host.clone())),
        ("Ending", Cell::Text(run.state().into())),
        ("Failure", Cell::text_of(failure)),
        ("Run", Cell::Text(run.run.0.clone())),
        ("Phase", Cell::Count(phase.number.into())),
    ]
}

#[cfg(test)]
mod tests;
