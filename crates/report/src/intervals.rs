//! The intervals of runs as one table in Apache Parquet (<https://parquet.apache.org/docs/file-format/>), for programs that compute with
//! them: a row per run, phase, interval and kind of operation of the phase, also for intervals in which no operation of the kind ended, so
//! that sums over rows include stalls.
//!
//! Columns: `run`, `run_started` (timestamp, UTC), `host`, `directory`, `phase` (from 0), `name`, `concurrency`, `stage` (`ramp`, `measured`,
//! `drain`), `started` (timestamp: start of the interval), `start_ns` (since the start of the phase), `seconds` (length), `kind`, `operations`,
//! `errors`, `bytes`, `iops`, `bytes_per_second`, `mean_ns`, `p50_ns`, `p99_ns`, `p99_9_ns`, `max_ns`, `rehearsal` (of `iolite pts`). Times are response times. A percentile
//! for which the interval has too few operations is null, and so are mean and maximum without operations.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ::parquet::basic::{Compression, GzipLevel};
use ::parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::schema::parser::parse_message_type;
use iolite_model::{Event, Interval, Nanos, OpKind, PhaseInfo, PtsTerms, Quantile, RunInfo, Stage};
use iolite_stats::{Estimate, Histogram, HistogramError};

/// Rows of a row group at most: what a reader keeps in memory at once.
const GROUP: usize = 1 << 18;

/// Why runs have no such table.
#[derive(Debug, thiserror::Error)]
pub enum IntervalsError {
    /// A stored histogram can't be read.
    #[error(
        "the histogram of an interval of run {run} cannot be read: {cause}; the results were changed or damaged"
    )]
    Histogram {
        /// The run.
        run: String,
        /// What is wrong with it.
        cause: HistogramError,
    },
    /// The table can't be put together.
    #[error("the table cannot be encoded: {0}")]
    Encoding(#[from] ParquetError),
}

/// Which rows are one: what a held-up worker delivers late belongs to the interval with the same start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    phase: u32,
    start: Nanos,
    stage: Stage,
    kind: OpKind,
}

/// What the operations of a row add up to.
#[derive(Debug, Clone, Default)]
struct Sums {
    length: Nanos,
    operations: u64,
    errors: u64,
    bytes: u64,
    response_sum: u64,
    response_max: Nanos,
    response: Histogram,
}

/// A row with all that a column may be about.
struct Row<'a> {
    info: &'a RunInfo,
    phase: &'a PhaseInfo,
    released: Option<Nanos>,
    key: Key,
    sums: Sums,
    is_rehearsal: bool,
}

/// A column: its name, the type in Parquet's schema, and its values.
struct Column {
    name: &'static str,
    values: Values,
}

/// The values of a column by their type.
#[derive(Clone, Copy)]
enum Values {
    Text(fn(&Row<'_>) -> String),
    Whole(fn(&Row<'_>) -> u64),
    Instant(fn(&Row<'_>) -> u64),
    Real(fn(&Row<'_>) -> Option<f64>),
    Time(fn(&Row<'_>) -> Option<u64>),
    Flag(fn(&Row<'_>) -> bool),
}

const COLUMNS: [Column; 23] = [
    Column { name: "run", values: Values::Text(|row| row.info.id.0.clone()) },
    Column { name: "run_started", values: Values::Instant(|row| row.info.started_unix.0) },
    Column { name: "host", values: Values::Text(|row| row.info.host.name.clone()) },
    Column {
        name: "directory",
        values: Values::Text(|row| row.info.storage.directory.display().to_string()),
    },
    Column { name: "phase", values: Values::Whole(|row| row.phase.index.into()) },
    Column { name: "name", values: Values::Text(|row| row.phase.task.name().to_owned()) },
    Column { name: "concurrency", values: Values::Whole(|row| row.phase.task.concurrency().into()) },
    Column { name: "stage", values: Values::Text(|row| row.key.stage.name().to_owned()) },
    Column { name: "started", values: Values::Instant(|row| row.at().0) },
    Column { name: "start_ns", values: Values::Whole(|row| row.key.start.0) },
    Column { name: "seconds", values: Values::Real(|row| Some(row.seconds())) },
    Column { name: "kind", values: Values::Text(|row| row.key.kind.name().to_owned()) },
    Column { name: "operations", values: Values::Whole(|row| row.sums.operations) },
    Column { name: "errors", values: Values::Whole(|row| row.sums.errors) },
    Column { name: "bytes", values: Values::Whole(|row| row.sums.bytes) },
    Column { name: "iops", values: Values::Real(|row| row.per_second(row.sums.operations)) },
    Column { name: "bytes_per_second", values: Values::Real(|row| row.per_second(row.sums.bytes)) },
    Column { name: "mean_ns", values: Values::Real(|row| row.mean()) },
    Column { name: "p50_ns", values: Values::Time(|row| row.quantile(0.5)) },
    Column { name: "p99_ns", values: Values::Time(|row| row.quantile(0.99)) },
    Column { name: "p99_9_ns", values: Values::Time(|row| row.quantile(0.999)) },
    Column { name: "max_ns", values: Values::Time(|row| row.max()) },
    Column { name: "rehearsal", values: Values::Flag(|row| row.is_rehearsal) },
];

impl Row<'_> {
    /// When the interval began, in nanoseconds since 1970 (UTC).
    fn at(&self) -> Nanos {
        let begun = self.info.started_unix.0.saturating_add(self.phase.started.0);
        Nanos(self.released.map_or(begun, |released| released.0).saturating_add(self.key.start.0))
    }

    fn seconds(&self) -> f64 {
        self.sums.length.0 as f64 / 1e9
    }

    fn per_second(&self, count: u64) -> Option<f64> {
        (self.sums.length.0 > 0).then(|| count as f64 / self.seconds())
    }

    fn mean(&self) -> Option<f64> {
        let operations = self.sums.operations;
        (operations > 0).then(|| self.sums.response_sum as f64 / operations as f64)
    }

    fn quantile(&self, share: f64) -> Option<u64> {
        let (quantile, response) = (Quantile(share), &self.sums.response);
        Estimate::resolves(quantile, response.count()).then(|| response.quantile(quantile).0)
    }

    fn max(&self) -> Option<u64> {
        (self.sums.operations > 0).then_some(self.sums.response_max.0)
    }
}

impl Sums {
    fn add(&mut self, length: Nanos, op: &iolite_model::OpTotals) -> Result<(), HistogramError> {
        self.length = self.length.max(length);
        self.operations = self.operations.saturating_add(op.operations);
        self.errors = self.errors.saturating_add(op.errors);
        self.bytes = self.bytes.saturating_add(op.bytes);
        self.response_sum = self.response_sum.saturating_add(op.response_sum.0);
        self.response_max = self.response_max.max(op.response_max);
        self.response.merge(&Histogram::decode(&op.response)?);
        Ok(())
    }
}

/// The table of these runs, each by its events, as a Parquet file.
///
/// # Errors
/// A stored histogram is damaged, or the encoder fails.
pub fn parquet(runs: &[Vec<Event>]) -> Result<Vec<u8>, IntervalsError> {
    let properties = WriterProperties::builder().set_compression(Compression::GZIP(GzipLevel::default()));
    let schema = Arc::new(parse_message_type(&schema())?);
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties.build()))?;
    for events in runs {
        for rows in rows(events)?.chunks(GROUP) {
            let mut group = writer.next_row_group()?;
            write(&mut group, rows)?;
            group.close()?;
        }
    }
    Ok(writer.into_inner()?)
}

/// The columns in Parquet's own language.
fn schema() -> String {
    let field = |Column { name, values }: &Column| match values {
        Values::Text(_) => format!("required binary {name} (STRING);"),
        Values::Whole(_) => format!("required int64 {name};"),
        Values::Instant(_) => format!("required int64 {name} (TIMESTAMP(NANOS,true));"),
        Values::Real(_) => format!("optional double {name};"),
        Values::Time(_) => format!("optional int64 {name};"),
        Values::Flag(_) => format!("required boolean {name};"),
    };
    format!("message intervals {{ {} }}", COLUMNS.iter().map(field).collect::<Vec<_>>().join(" "))
}

/// The rows of a run, in the order of phases and time.
fn rows(events: &[Event]) -> Result<Vec<Row<'_>>, IntervalsError> {
    let mut phases: BTreeMap<u32, (&PhaseInfo, Option<Nanos>)> = BTreeMap::new();
    let mut all: BTreeMap<Key, Sums> = BTreeMap::new();
    let mut run = None;
    let mut is_rehearsal = false;
    let mut lengths: BTreeMap<(u32, Nanos, Stage), Nanos> = BTreeMap::new();
    for event in events {
        match event {
            Event::RunStarted(info) => run = Some(&**info),
            Event::PhaseStarted(info) => {
                phases.insert(info.index, (info, None));
            }
            Event::PhaseReleased(release) => {
                phases.entry(release.phase).and_modify(|phase| phase.1 = Some(release.at_unix));
            }
            Event::Interval(interval) => {
                add(&mut all, interval).map_err(|cause| {
                    let run = run.map(|info| info.id.0.clone()).unwrap_or_default();
                    IntervalsError::Histogram { run, cause }
                })?;
                let length = lengths.entry((interval.phase, interval.start, interval.stage)).or_default();
                *length = (*length).max(interval.length);
            }
            Event::Concluded(concluded) => {
                is_rehearsal |= concluded.read::<PtsTerms>().is_some_and(|terms| terms.is_rehearsal());
            }
            _ => {}
        }
    }
    fill(&mut all, &lengths);
    let row = |(key, sums): (Key, Sums)| {
        let (phase, released) = *phases.get(&key.phase)?;
        Some(Row { info: run?, phase, released, key, sums, is_rehearsal })
    };
    Ok(all.into_iter().filter_map(row).collect())
}

/// Rows without operations: an interval has one for every kind of its phase. What is not in a row would not count in means over rows.
fn fill(all: &mut BTreeMap<Key, Sums>, lengths: &BTreeMap<(u32, Nanos, Stage), Nanos>) {
    let mut kinds: BTreeMap<u32, BTreeSet<OpKind>> = BTreeMap::new();
    for key in all.keys() {
        kinds.entry(key.phase).or_default().insert(key.kind);
    }
    for (&(phase, start, stage), &length) in lengths {
        for &kind in kinds.get(&phase).into_iter().flatten() {
            all.entry(Key { phase, start, stage, kind }).or_default().length = length;
        }
    }
}

fn add(all: &mut BTreeMap<Key, Sums>, interval: &Interval) -> Result<(), HistogramError> {
    let Interval { phase, start, length, stage, ops } = interval;
    for op in ops {
        let key = Key { phase: *phase, start: *start, stage: *stage, kind: op.kind };
        all.entry(key).or_default().add(*length, op)?;
    }
    Ok(())
}

/// Writes the columns of these rows, in the order of the schema.
fn write<W: std::io::Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    rows: &[Row<'_>],
) -> Result<(), ParquetError> {
    for Column { values, .. } in &COLUMNS {
        let Some(mut column) = group.next_column()? else { break };
        match values {
            Values::Text(of) => {
                let values: Vec<ByteArray> = rows.iter().map(|row| of(row).as_str().into()).collect();
                column.typed::<ByteArrayType>().write_batch(&values, None, None)?;
            }
            Values::Whole(of) | Values::Instant(of) => {
                let values: Vec<i64> = rows.iter().map(|row| whole(of(row))).collect();
                column.typed::<Int64Type>().write_batch(&values, None, None)?;
            }
            Values::Real(of) => {
                let (values, levels) = known(rows.iter().map(of));
                column.typed::<DoubleType>().write_batch(&values, Some(&levels), None)?;
            }
            Values::Time(of) => {
                let (values, levels) = known(rows.iter().map(|row| of(row).map(whole)));
                column.typed::<Int64Type>().write_batch(&values, Some(&levels), None)?;
            }
            Values::Flag(of) => {
                let values: Vec<bool> = rows.iter().map(of).collect();
                column.typed::<BoolType>().write_batch(&values, None, None)?;
            }
        }
        column.close()?;
    }
    Ok(())
}

/// The values that are known, and for each row whether it is (Parquet's definition level).
fn known<T>(values: impl Iterator<Item = Option<T>>) -> (Vec<T>, Vec<i16>) {
    let (mut found, mut levels) = (Vec::new(), Vec::new());
    for value in values {
        levels.push(i16::from(value.is_some()));
        found.extend(value);
    }
    (found, levels)
}

/// Parquet's integers have a sign.
fn whole(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::parquet::file::reader::{FileReader as _, SerializedFileReader};
    use ::parquet::record::RowAccessor as _;
    use iolite_model::PhaseRelease;
    use iolite_model::{Concluded, OpTotals};
    use std::io::Write as _;

    use crate::synthetic;

    fn read(content: &[u8]) -> SerializedFileReader<std::fs::File> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        SerializedFileReader::new(file).unwrap()
    }

    fn interval(start: u64, times: &[u64], stage: Stage) -> Event {
        let mut response = Histogram::new();
        times.iter().for_each(|nanos| response.record(*nanos));
        let op = OpTotals {
            kind: OpKind::Read,
            operations: times.len() as u64,
            bytes: 4096 * times.len() as u64,
            errors: 1,
            response_sum: Nanos(times.iter().sum()),
            delay_sum: Nanos(0),
            response_max: Nanos(times.iter().copied().max().unwrap_or(0)),
            response: response.encode(),
            service: response.encode(),
        };
        let (start, length) = (Nanos(start), Nanos(Nanos::SECOND.0 / 2));
        Event::Interval(Interval { phase: 3, start, length, stage, ops: vec![op] })
    }

    #[test]
    fn a_row_is_an_interval_with_what_was_delivered_late() {
        let info = synthetic::run();
        let task = synthetic::read("a \u{1F4BE} \"b\"\n", 4096, 8);
        let released = Nanos(info.started_unix.0 + 7);
        let events = vec![
            Event::RunStarted(Box::new(info.clone())),
            Event::PhaseStarted(PhaseInfo { index: 3, task, started: Nanos(5) }),
            Event::PhaseReleased(PhaseRelease { phase: 3, at_unix: released }),
            interval(100, &[1_000; 10], Stage::Measured),
            interval(0, &[], Stage::Ramp),
            interval(100, &[3_000; 10], Stage::Measured),
        ];
        let reader = read(&parquet(&[events.clone(), events]).unwrap());
        let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        assert_eq!(rows.len(), 4);
        let names: Vec<&String> = rows[0].get_column_iter().map(|(name, _)| name).collect();
        assert_eq!(names, COLUMNS.iter().map(|column| column.name).collect::<Vec<_>>());
        let place = |name: &str| COLUMNS.iter().position(|column| column.name == name).unwrap();
        let (ramp, measured) = (&rows[0], &rows[3]);
        assert_eq!(measured.get_string(place("run")).unwrap(), &info.id.0);
        assert_eq!(measured.get_string(place("name")).unwrap(), "a \u{1F4BE} \"b\"\n");
        assert_eq!(ramp.get_string(place("stage")).unwrap(), "ramp");
        assert_eq!(measured.get_long(place("operations")).unwrap(), 20);
        assert_eq!(measured.get_long(place("errors")).unwrap(), 2);
        assert_eq!(measured.get_double(place("iops")).unwrap(), 40.0);
        assert_eq!(measured.get_double(place("mean_ns")).unwrap(), 2_000.0);
        assert_eq!(measured.get_long(place("max_ns")).unwrap(), 3_000);
        assert!((measured.get_long(place("p50_ns")).unwrap() - 1_000).abs() <= 1);
        // Twenty operations have no 99th percentile, none have no mean.
        assert!(measured.get_long(place("p99_ns")).is_err());
        assert!(ramp.get_double(place("mean_ns")).is_err() && ramp.get_long(place("max_ns")).is_err());
    }

    #[test]
    fn rows_of_a_rehearsal_are_marked() {
        let of = |scale| {
            let task = synthetic::read("reads", 4096, 8);
            let events = vec![
                Event::RunStarted(Box::new(synthetic::run())),
                Event::Concluded(Box::new(Concluded::of(&crate::pts::tests::terms(scale)))),
                Event::PhaseStarted(PhaseInfo { index: 3, task, started: Nanos(5) }),
                interval(0, &[1_000; 10], Stage::Measured),
            ];
            let reader = read(&parquet(&[events]).unwrap());
            let row = reader.get_row_iter(None).unwrap().next().unwrap().unwrap();
            row.get_bool(COLUMNS.len() - 1).unwrap()
        };
        assert_eq!((of(0.01), of(1.0)), (true, false));
    }

    /// Half a second of 20 operations, one in which nothing ended, and another of 20: 40 operations in 1.5 s.
    #[test]
    fn an_interval_without_operations_is_a_row_of_zeros_for_each_kind_of_its_phase() {
        let half = Nanos::SECOND.0 / 2;
        let of_kind = |kind: OpKind, event: Event| match event {
            Event::Interval(mut interval) => {
                interval.ops[0].kind = kind;
                Event::Interval(interval)
            }
            other => other,
        };
        let empty = Interval {
            phase: 3,
            start: Nanos(half),
            length: Nanos(half),
            stage: Stage::Measured,
            ops: Vec::new(),
        };
        let events = vec![
            Event::RunStarted(Box::new(synthetic::run())),
            Event::PhaseStarted(PhaseInfo {
                index: 3,
                task: synthetic::read("mix", 4096, 8),
                started: Nanos(5),
            }),
            interval(0, &[1_000; 20], Stage::Measured),
            Event::Interval(empty),
            interval(2 * half, &[1_000; 20], Stage::Measured),
            of_kind(OpKind::Write, interval(2 * half, &[1_000; 3], Stage::Measured)),
        ];
        let reader = read(&parquet(&[events]).unwrap());
        let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        let place = |name: &str| COLUMNS.iter().position(|column| column.name == name).unwrap();
        for (kind, operations) in [("read", [20, 0, 20]), ("write", [0, 0, 3])] {
            let of: Vec<_> =
                rows.iter().filter(|row| row.get_string(place("kind")).unwrap() == kind).collect();
            let found: Vec<i64> = of.iter().map(|row| row.get_long(place("operations")).unwrap()).collect();
            assert_eq!(found, operations, "{kind}");
            let seconds: f64 = of.iter().map(|row| row.get_double(place("seconds")).unwrap()).sum();
            assert_eq!(seconds, 1.5, "{kind}");
            assert_eq!(of[1].get_double(place("iops")).unwrap(), 0.0);
            assert!(of[1].get_double(place("mean_ns")).is_err());
        }
    }

    #[test]
    fn no_run_is_a_table_without_rows_and_a_damaged_histogram_is_an_error() {
        let reader = read(&parquet(&[]).unwrap());
        assert_eq!(reader.metadata().file_metadata().num_rows(), 0);
        assert_eq!(reader.metadata().file_metadata().schema_descr().num_columns(), COLUMNS.len());
        let mut damaged = interval(0, &[1_000], Stage::Measured);
        if let Event::Interval(interval) = &mut damaged {
            interval.ops[0].response.0.truncate(10);
        }
        let events = vec![Event::RunStarted(Box::new(synthetic::run())), damaged];
        let error = parquet(&[events]).unwrap_err().to_string();
        assert!(error.contains("histogram of an interval of run 2026"), "{error}");
    }
}
