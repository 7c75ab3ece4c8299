//! Exports of InterSystems PerfTools' RanRead, RanWrite and RanIO, and those of iolite, as runs: lines under a heading with the names of
//! the columns, separated by tabs or commas.
//!
//! Of a line there are totals only: no time series and no histogram, hence no percentiles. What a line does not contain stays unknown.

mod exported;

use std::hash::{DefaultHasher, Hash, Hasher};

use iolite_model::{
    Concluded, DbOperation, DbTask, Ending, Event, Interval, MODEL_VERSION, Nanos, OpKind, OpTotals,
    Outstanding, PhaseEnd, PhaseInfo, RunId, RunInfo, Stage, Stop, Storage, Task,
};
use iolite_stats::Histogram;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::imported::Imported;
use crate::request::RunRequest;
use exported::Exported;

/// PerfTools' defaults of what an export of theirs does not say.
const TRANSACTION_LENGTH: u32 = 50;
const HANG: Nanos = Nanos(2_000_000);

/// Largest number of a column: whole numbers up to 2^53 have an exact f64. At a billion operations per second, it takes a hundred days.
const LARGEST: f64 = 9_007_199_254_740_992.0;

/// Columns that every form of these exports has.
const ALWAYS: [&str; 3] = ["RunDate", "RunTime", "Processes"];

/// Why a file is no such export.
#[derive(Debug, thiserror::Error)]
pub enum PerfToolsError {
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
pub fn runs(file: &str, text: &str) -> Result<Vec<Imported>, PerfToolsError> {
    let failed = |source| PerfToolsError::Table { file: file.to_owned(), source };
    let separator = separator(text.lines().next().unwrap_or_default()) as u8;
    let mut reader = csv::ReaderBuilder::new().delimiter(separator).from_reader(text.as_bytes());
    let names: Vec<String> =
        reader.headers().map_err(failed)?.iter().map(|name| name.trim().to_owned()).collect();
    let mut runs: Vec<Vec<Row>> = Vec::new();
    for (number, record) in reader.records().enumerate() {
        let record = record.map_err(failed)?;
        let cells: Vec<(&str, &str)> =
            names.iter().map(String::as_str).zip(record.iter().map(str::trim)).collect();
        let wrong = |what| PerfToolsError::Line { file: file.to_owned(), line: number + 2, what };
        let row = Row::of(&cells).map_err(wrong)?;
        match runs.iter_mut().find(|rows| row.is_of_run(&rows[0])) {
            Some(rows) => rows.push(row),
            None => runs.push(vec![row]),
        }
    }
    Ok(runs.iter().map(|rows| run(file, rows)).collect())
}

/// A line: a phase.
#[derive(Debug, Clone, PartialEq)]
struct Row {
    /// Of iolite's own export: what PerfTools do not record.
    exported: Option<Exported>,
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

/// Operations of a kind, and their mean and maximum response time in milliseconds where these are known.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Counted {
    operations: u64,
    mean_ms: Option<f64>,
    max_ms: Option<f64>,
}

/// The cells of a line with the names of their columns.
#[derive(Clone, Copy)]
struct Cells<'a>(&'a [(&'a str, &'a str)]);

impl<'a> Cells<'a> {
    /// The text of a column; `None` where it is missing or empty.
    fn text(self, name: &str) -> Option<&'a str> {
        let found = self.0.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
        found.map(|(_, value)| *value).filter(|value| !value.is_empty())
    }

    /// The number in a column; `None` where it is missing, or no number from 0 to [`LARGEST`].
    fn number(self, name: &str) -> Option<f64> {
        let value = self.text(name).and_then(|value| value.replace(',', "").parse::<f64>().ok());
        value.filter(|value| (0.0..=LARGEST).contains(value))
    }
}

impl Row {
    /// The row of these cells; what is missing where it is none.
    fn of(cells: &[(&str, &str)]) -> Result<Row, Missing> {
        let of = Cells(cells);
        let (text, number) = (|name: &str| of.text(name), |name: &str| of.number(name));
        let started = started(text("RunDate"), text("RunTime")).ok_or(Missing::Start)?;
        let workers =
            number("Processes").filter(|count| (1.0..=9999.0).contains(count)).ok_or(Missing::Processes)?;
        let count = |name: &str| number(name).unwrap_or(0.0);
        let counted = |operations: f64, [mean, max]: [&str; 2]| Counted {
            operations: operations as u64,
            mean_ms: number(mean),
            max_ms: number(max),
        };
        let mut reads = counted(count("Reads"), ["ReadMeanMs", "ReadMaxMs"]);
        let writes = counted(count("Writes"), ["WriteMeanMs", "WriteMaxMs"]);
        let exported = Exported::of(of);
        let mut rate = count("ReadsPS") + count("WritesPS");
        if let (Some(iterations), Some(iops)) = (number("Iterations"), number("IOPS")) {
            // Of older PerfTools, which only read: iterations of each process.
            reads = counted(iterations * workers, ["ResponseTime", ""]);
            rate = iops;
        }
        let operations = reads.operations.saturating_add(writes.operations) as f64;
        let seconds = number("Seconds").unwrap_or(operations / rate);
        // A run of iolite's may have ended before its first operation succeeded.
        if exported.is_none() && operations < 1.0 || !seconds.is_finite() || seconds <= 0.0 {
            return Err(Missing::Operations);
        }
        if exported.is_none() && writes.operations == 0 && reads.mean_ms.is_none() {
            // Without pauses, all processes are busy all the time: so PerfTools work their response time out.
            reads.mean_ms = Some(1e3 * seconds * workers / operations);
        }
        Ok(Row {
            exported,
            started,
            database: text("Database").unwrap_or_default().to_owned(),
            host: text("Host").unwrap_or_default().to_owned(),
            operation: operation(of, reads.operations, writes.operations),
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

    fn ending(&self) -> Ending {
        self.exported.as_ref().map_or(Ending::Completed, |exported| exported.ending.clone())
    }

    /// Whether two lines are phases of one run.
    fn is_of_run(&self, other: &Row) -> bool {
        let run = |row: &Row| row.exported.as_ref().map(|exported| exported.run.clone());
        self.exported.is_some() && run(self) == run(other)
    }

    /// What was counted of each kind. iolite's export has one number of errors: it is counted with the first kind.
    fn ops(&self) -> Vec<OpTotals> {
        let (commits, errors) =
            self.exported.as_ref().map_or_else(Default::default, |of| (of.commits, of.errors));
        let counted = [(OpKind::Read, self.reads), (OpKind::Write, self.writes), (OpKind::Commit, commits)];
        let done = |kind: &OpKind| self.operation.kinds().contains(kind);
        let mut ops: Vec<OpTotals> = counted
            .into_iter()
            .filter(|(kind, counted)| done(kind) && (counted.operations > 0 || errors > 0))
            .map(|(kind, counted)| Row::totals(kind, counted))
            .collect();
        if let Some(first) = ops.first_mut() {
            first.errors = errors;
        }
        ops
    }

    fn totals(kind: OpKind, counted: Counted) -> OpTotals {
        let nanos = |millis: Option<f64>| millis.unwrap_or(0.0) * 1e6;
        OpTotals {
            kind,
            operations: counted.operations,
            bytes: 0,
            errors: 0,
            response_sum: Nanos((nanos(counted.mean_ms) * counted.operations as f64).round() as u64),
            delay_sum: Nanos(0),
            response_max: Nanos(nanos(counted.max_ms).round() as u64),
            response: Histogram::new().encode(),
            service: Histogram::new().encode(),
        }
    }
}

/// What the processes did. In iolite's export, the column of what they did not do is empty.
fn operation(cells: Cells<'_>, reads: u64, writes: u64) -> DbOperation {
    let number = |name| cells.number(name);
    let transaction_length = number("TransactionLength").map_or(TRANSACTION_LENGTH, |length| length as u32);
    let hang = number("HangMs").map_or(HANG, |hang| Nanos((hang * 1e6) as u64));
    let is_own = cells.text("Run").is_some();
    let has = |name, operations| if is_own { cells.text(name).is_some() } else { operations > 0 };
    match (has("Reads", reads), has("Writes", writes)) {
        (_, false) => DbOperation::RanRead,
        (false, true) => DbOperation::RanWrite { transaction_length, hang },
        (true, true) => {
            let percent = 100.0 * reads as f64 / reads.saturating_add(writes).max(1) as f64;
            let read_percent = number("ReadPct").unwrap_or(percent).clamp(0.0, 100.0).round() as u8;
            DbOperation::RanIo { transaction_length, hang, read_percent }
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
fn run(file: &str, rows: &[Row]) -> Imported {
    let first = &rows[0];
    let started = rows.iter().map(|row| row.started).min().unwrap_or(first.started);
    let is_own = first.exported.is_some();
    let version = if is_own { "(exported)" } else { "PerfTools" };
    let info = RunInfo {
        id: id(started, rows),
        version: version.into(),
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
    for (index, row) in (0..).zip(rows) {
        let begun = row.started.saturating_sub(started);
        events.extend(phase(index, begun, row));
    }
    events.push(Event::RunEnded(rows.last().map_or(Ending::Completed, Row::ending)));
    let note = if is_own {
        exported::note(file, rows)
    } else {
        format!(
            "imported from {file}: totals of PerfTools only, without a time series and percentiles; their local time is taken for UTC"
        )
    };
    Imported { events, note }
}

/// The id of what these rows say. It is never that of the run that was exported, which contains more and may be imported as well.
fn id(started: Nanos, rows: &[Row]) -> RunId {
    let mut hasher = DefaultHasher::new();
    rows.iter().for_each(|row| row.cells.hash(&mut hasher));
    let at = jiff::Timestamp::from_nanosecond(i128::from(started.0)).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    RunId(format!("{}-{:08x}", at.strftime("%Y%m%dT%H%M%S"), hasher.finish() as u32))
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
        timed_by: row.exported.as_ref().map(|exported| exported.timed_by).unwrap_or_default(),
    };
    let (start, length, ops) = (Nanos(0), row.measured(), row.ops());
    let mut events = vec![
        Event::PhaseStarted(PhaseInfo { index, task: Task::Database(task), started }),
        Event::Interval(Interval { phase: index, start, length, stage: Stage::Measured, ops }),
        Event::PhaseEnded(PhaseEnd {
            phase: index,
            ending: row.ending(),
            measured: length,
            outstanding: Outstanding::default(),
            cache: row.exported.as_ref().map(|of| of.cache).unwrap_or_default(),
            errors: Vec::new(),
            stuck: Vec::new(),
            rate: None,
            verified: None,
        }),
    ];
    let bounds = row.exported.as_ref().map(|exported| &exported.bounds).filter(|of| !of.kinds.is_empty());
    events.extend(bounds.map(|bounds| Event::Concluded(Box::new(Concluded::of_phase(index, bounds)))));
    events
}

#[cfg(test)]
mod tests;
