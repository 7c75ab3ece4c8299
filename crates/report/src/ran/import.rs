//! Exports of InterSystems PerfTools' RanRead, RanWrite and RanIO, and those of iolite, as runs: lines under a heading with the names of
//! the columns, separated by tabs or commas.
//!
//! Of a line there are totals only: no time series, and no percentiles.

use std::hash::{DefaultHasher, Hash, Hasher};

use iolite_model::{
    Cache, Concluded, DbOperation, DbTask, Ending, Event, Interval, MODEL_VERSION, Nanos, OpKind, OpTotals,
    Outstanding, PhaseEnd, PhaseInfo, RunId, RunInfo, Stage, Stop, Storage, Task,
};
use iolite_results::RunRequest;
use iolite_stats::Histogram;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// PerfTools' defaults of what an export of theirs does not say.
const TRANSACTION_LENGTH: u32 = 50;
const HANG: Nanos = Nanos(2_000_000);

/// Columns that every form of these exports has.
const ALWAYS: [&str; 3] = ["RunDate", "RunTime", "Processes"];

/// A run made of lines of an export.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedRun {
    /// Its events, complete.
    pub events: Vec<Event>,
    /// When it ended, in nanoseconds since 1970.
    pub finished: Nanos,
    /// Where it came from, and what is unknown.
    pub note: String,
}

/// Why a file is no such export.
#[derive(Debug, thiserror::Error)]
pub enum RanImportError {
    /// It is no table.
    #[error("{file} is not a table of tabs or commas: {source}")]
    Table {
        /// The file.
        file: String,
        /// Where, and why.
        source: csv::Error,
    },
    /// A line lacks what a run needs.
    #[error(
        "{file}, line {line}: no {what}; an export of PerfTools has the columns RunDate, RunTime, Processes, and Reads with ReadsPS, \
         Writes with WritesPS, or Iterations with IOPS"
    )]
    Line {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What is missing or can't be read.
        what: Missing,
    },
}

/// What a line lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// When the run started.
    #[error("date and time of the run")]
    Start,
    /// How many processes there were.
    #[error("Processes")]
    Processes,
    /// What they did.
    #[error("operations with their rate")]
    Operations,
}

/// Whether a text begins with the heading of such an export.
pub fn is_export(text: &str) -> bool {
    let heading = text.lines().next().unwrap_or_default();
    let names: Vec<&str> =
        heading.split(separator(heading)).map(|name| name.trim().trim_matches('"')).collect();
    ALWAYS.iter().all(|name| names.iter().any(|own| own.eq_ignore_ascii_case(name)))
}

fn separator(heading: &str) -> char {
    if heading.contains('\t') { '\t' } else { ',' }
}

/// The runs of an export: lines with the same `Run`, as iolite writes it, are phases of one; every other line is a run.
///
/// # Errors
/// The file is no table, or a line lacks what a run needs.
pub fn runs(file: &str, text: &str) -> Result<Vec<ImportedRun>, RanImportError> {
    let failed = |source| RanImportError::Table { file: file.to_owned(), source };
    let separator = separator(text.lines().next().unwrap_or_default()) as u8;
    let mut reader = csv::ReaderBuilder::new().delimiter(separator).from_reader(text.as_bytes());
    let names: Vec<String> =
        reader.headers().map_err(failed)?.iter().map(|name| name.trim().to_owned()).collect();
    let mut runs: Vec<Vec<Row>> = Vec::new();
    for (number, record) in reader.records().enumerate() {
        let record = record.map_err(failed)?;
        let cells: Vec<(&str, &str)> =
            names.iter().map(String::as_str).zip(record.iter().map(str::trim)).collect();
        let wrong = |what| RanImportError::Line { file: file.to_owned(), line: number + 2, what };
        let row = Row::of(&cells).map_err(wrong)?;
        match runs.iter_mut().find(|rows| row.run.is_some() && rows[0].run == row.run) {
            Some(rows) => rows.push(row),
            None => runs.push(vec![row]),
        }
    }
    Ok(runs.iter().map(|rows| run(file, rows)).collect())
}

/// A line: a phase.
#[derive(Debug, Clone, PartialEq)]
struct Row {
    /// Of iolite's own export: the run.
    run: Option<String>,
    started: Nanos,
    database: String,
    host: String,
    operation: DbOperation,
    workers: u32,
    seconds: f64,
    reads: Counted,
    writes: Counted,
    /// All cells: what the id of a run follows from.
    cells: String,
}

/// Operations of a kind, and their mean response time in milliseconds where it is known.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Counted {
    operations: u64,
    mean_ms: Option<f64>,
}

impl Row {
    /// The row of these cells; what is missing where it is none.
    fn of(cells: &[(&str, &str)]) -> Result<Row, Missing> {
        let text = |name: &str| {
            let found = cells.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
            found.map(|(_, value)| *value).filter(|value| !value.is_empty())
        };
        let number = |name: &str| {
            let value = text(name).and_then(|value| value.replace(',', "").parse::<f64>().ok());
            value.filter(|value| value.is_finite() && *value >= 0.0)
        };
        let started = started(text("RunDate"), text("RunTime")).ok_or(Missing::Start)?;
        let workers =
            number("Processes").filter(|count| (1.0..=9999.0).contains(count)).ok_or(Missing::Processes)?;
        let count = |name: &str| number(name).unwrap_or(0.0);
        let counted = |operations: f64, mean_ms| Counted { operations: operations as u64, mean_ms };
        let (mut reads, writes) =
            (counted(count("Reads"), number("ReadMeanMs")), counted(count("Writes"), number("WriteMeanMs")));
        let mut rate = count("ReadsPS") + count("WritesPS");
        if let (Some(iterations), Some(iops)) = (number("Iterations"), number("IOPS")) {
            // Of older PerfTools, which only read: iterations of each process.
            reads = counted(iterations * workers, number("ResponseTime"));
            rate = iops;
        }
        let operations = (reads.operations + writes.operations) as f64;
        let seconds = number("Seconds").unwrap_or(operations / rate);
        if operations < 1.0 || !seconds.is_finite() || seconds <= 0.0 {
            return Err(Missing::Operations);
        }
        if writes.operations == 0 && reads.mean_ms.is_none() {
            // Without pauses, all processes are busy all the time: so PerfTools work their response time out.
            reads.mean_ms = Some(1e3 * seconds * workers / operations);
        }
        let transaction_length =
            number("TransactionLength").map_or(TRANSACTION_LENGTH, |length| length as u32);
        let hang = number("HangMs").map_or(HANG, |hang| Nanos((hang * 1e6) as u64));
        let operation = match (reads.operations, writes.operations) {
            (_, 0) => DbOperation::RanRead,
            (0, _) => DbOperation::RanWrite { transaction_length, hang },
            (reads, writes) => {
                let percent = 100.0 * reads as f64 / (reads + writes) as f64;
                let read_percent = number("ReadPct").unwrap_or(percent).clamp(0.0, 100.0).round() as u8;
                DbOperation::RanIo { transaction_length, hang, read_percent }
            }
        };
        Ok(Row {
            run: text("Run").map(str::to_owned),
            started,
            database: text("Database").unwrap_or_default().to_owned(),
            host: text("Host").unwrap_or_default().to_owned(),
            operation,
            workers: workers as u32,
            seconds,
            reads,
            writes,
            cells: cells.iter().map(|(_, value)| format!("{value}\t")).collect(),
        })
    }

    fn measured(&self) -> Nanos {
        Nanos((self.seconds * 1e9) as u64)
    }

    fn totals(kind: OpKind, counted: Counted) -> OpTotals {
        let sum = counted.mean_ms.unwrap_or(0.0) * 1e6 * counted.operations as f64;
        OpTotals {
            kind,
            operations: counted.operations,
            bytes: 0,
            errors: 0,
            response_sum: Nanos(sum as u64),
            response_max: Nanos(0),
            response: Histogram::new().encode(),
            service: Histogram::new().encode(),
        }
    }
}

/// Date (`2016-06-22` or `06/22/2016`) and time, which is taken for UTC.
fn started(date: Option<&str>, time: Option<&str>) -> Option<Nanos> {
    let (date, time) = (date?, time?);
    let date = match date.split('/').collect::<Vec<_>>()[..] {
        [month, day, year] => format!("{year}-{month:0>2}-{day:0>2}"),
        _ => date.to_owned(),
    };
    let time: DateTime = format!("{date}T{time:0>8}").parse().ok()?;
    let at = time.to_zoned(TimeZone::UTC).ok()?.timestamp().as_nanosecond();
    u64::try_from(at).ok().map(Nanos)
}

/// The run of these rows; there is one at least.
fn run(file: &str, rows: &[Row]) -> ImportedRun {
    let first = &rows[0];
    let started = rows.iter().map(|row| row.started).min().unwrap_or(first.started);
    let id = first.run.clone().unwrap_or_else(|| {
        let mut hasher = DefaultHasher::new();
        first.cells.hash(&mut hasher);
        let at =
            jiff::Timestamp::from_nanosecond(i128::from(started.0)).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        format!("{}-{:08x}", at.strftime("%Y%m%dT%H%M%S"), hasher.finish() as u32)
    });
    let info = RunInfo {
        id: RunId(id),
        version: "PerfTools".into(),
        model_version: MODEL_VERSION,
        command: ["iolite", "results", "import", file].map(str::to_owned).to_vec(),
        started_unix: started,
        process: std::process::id(),
        host: iolite_model::Host { name: first.host.clone(), ..Default::default() },
        storage: Storage { directory: first.database.clone().into(), ..Storage::default() },
    };
    let command = match first.operation {
        DbOperation::RanRead | DbOperation::Scan => "ranread",
        DbOperation::RanWrite { .. } => "ranwrite",
        DbOperation::RanIo { .. } => "ranio",
    };
    let asked = Concluded::of(&RunRequest::new(command, ""));
    let mut events = vec![Event::RunStarted(Box::new(info)), Event::Concluded(Box::new(asked))];
    let mut finished = started;
    for (index, row) in (0..).zip(rows) {
        let begun = row.started.saturating_sub(started);
        finished = finished.max(Nanos(row.started.0.saturating_add(row.measured().0)));
        events.extend(phase(index, begun, row));
    }
    events.push(Event::RunEnded(Ending::Completed));
    let note = format!(
        "imported from {file}: totals of PerfTools only, without a time series and percentiles; their local time is taken for UTC"
    );
    ImportedRun { events, finished, note }
}

fn phase(index: u32, started: Nanos, row: &Row) -> Vec<Event> {
    let task = DbTask {
        name: row.operation.name().into(),
        operation: row.operation,
        workers: row.workers,
        stop: Stop { runtime: Some(row.measured()), ..Stop::default() },
        ramp: Nanos(0),
        interval: row.measured(),
        seed: 0,
        timed_by: Default::default(),
    };
    let counted = [(OpKind::Read, row.reads), (OpKind::Write, row.writes)];
    let counted = counted.into_iter().filter(|(_, counted)| counted.operations > 0);
    let ops = counted.map(|(kind, counted)| Row::totals(kind, counted)).collect();
    let (start, length) = (Nanos(0), row.measured());
    vec![
        Event::PhaseStarted(PhaseInfo { index, task: Task::Database(task), started }),
        Event::Interval(Interval { phase: index, start, length, stage: Stage::Measured, ops }),
        Event::PhaseEnded(PhaseEnd {
            phase: index,
            ending: Ending::Completed,
            measured: length,
            outstanding: Outstanding::default(),
            cache: Cache::default(),
            errors: Vec::new(),
            stuck: Vec::new(),
            rate: None,
            verified: None,
        }),
    ]
}

#[cfg(test)]
mod tests;
