//! Statistics and logs.

mod logs;

use iolite_model::{Bytes, FileTask, JobTask, Mix, Nanos, SizeLaw};

use crate::language::error::{OptionError, Result};
use crate::language::options::Spec;
use crate::language::options::entry::{CPUS, MAX, choice, flag, ignored, integer, put, special};
use crate::language::options::option::{Form, Opt};
use crate::language::thread::{Clock, LogValue, Reporting, Thread, ThreadIndex};
use crate::language::value::OptionValue;

/// Statistics and logs. Prefixes of logs are empty where the job's name is meant.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Logging {
    /// What says how results are reported.
    pub reporting: Reporting,
    /// `gtod_reduce`.
    pub fewer_stamps: bool,
    /// `block_error_percentiles`.
    pub block_errors: bool,
    /// `write_bw_log`.
    pub bw_log: Option<String>,
    /// `write_iops_log`.
    pub iops_log: Option<String>,
    /// `write_lat_log`.
    pub lat_log: Option<String>,
    /// `write_hist_log`.
    pub hist_log: Option<String>,
    /// `per_job_logs`.
    pub per_job: bool,
    /// `log_avg_msec`.
    pub window: Option<Nanos>,
    /// `log_hist_msec`.
    pub hist_window: Option<Nanos>,
    /// `log_hist_coarseness`, 0 to 6.
    pub coarseness: u8,
    /// `log_window_value`.
    pub value: LogValue,
    /// `log_offset`.
    pub offset: bool,
    /// `log_prio`.
    pub priority: bool,
    /// `log_issue_time`.
    pub issue_time: bool,
    /// `log_unix_epoch`.
    pub unix_epoch: bool,
    /// `log_alternate_epoch`.
    pub alternate_epoch: bool,
    /// `log_alternate_epoch_clock_id`.
    pub epoch_clock: Clock,
    /// `log_store_compressed`.
    pub compressed: bool,
    /// `bwavgtime`.
    pub bw_average: Nanos,
    /// `iopsavgtime`.
    pub iops_average: Nanos,
}

impl Logging {
    /// Changes `thread` to what these settings say; its name and steady state are set before.
    pub(crate) fn lower(&self, _spec: &Spec, place: ThreadIndex, thread: &mut Thread) -> Result {
        self.report(&mut thread.reporting);
        thread.block_errors = match &thread.task {
            JobTask::Io(task) if self.block_errors && task.mix.trims() => Some(trimmed_block(task)),
            _ => None,
        };
        block_errors_fit(thread).map_err(|error| error.at("block_error_percentiles"))?;
        thread.logs = logs::logs(self, place, thread);
        let interval = logs::interval(self, thread);
        match &mut thread.task {
            JobTask::Io(task) => task.interval = interval,
            JobTask::Metadata(task) => task.interval = interval,
        }
        Ok(())
    }

    fn report(&self, reporting: &mut Reporting) {
        reporting.clone_from(&self.reporting);
        reporting.disable_slat |= self.fewer_stamps;
        reporting.disable_clat |= self.fewer_stamps;
        reporting.disable_lat |= self.fewer_stamps;
    }
}

/// The size of a trim, the smallest of several.
fn trimmed_block(task: &FileTask) -> Bytes {
    let Some(sizes) = &task.sizes else { return task.block };
    // A trim before a write is as long as the write.
    let law = if task.mix == Mix::TrimThenWrite { &sizes.writes } else { &sizes.trims };
    match law {
        SizeLaw::Fixed(size) => *size,
        SizeLaw::Range { min, .. } => *min,
        SizeLaw::Split(sizes) => sizes.iter().map(|size| size.size).min().unwrap_or(task.block),
    }
}

/// Blocks whose trims are counted are kept in memory, some forty bytes for each.
const MAX_BLOCKS: u64 = 1 << 24;

fn block_errors_fit(thread: &Thread) -> Result {
    let (JobTask::Io(task), Some(block)) = (&thread.task, thread.block_errors) else { return Ok(()) };
    let blocks = task.target.size().0 / block.0.max(1);
    if blocks <= MAX_BLOCKS {
        return Ok(());
    }
    let what = format!("the job has {blocks} blocks, and {MAX_BLOCKS} can be counted");
    Err(OptionError::refused(what, "set a smaller size, or larger trims"))
}

const fn milliseconds(count: u64) -> Nanos {
    Nanos(count * Nanos::MILLISECOND.0)
}

/// A number of milliseconds, of which 0 is none.
fn window(count: i64) -> Option<Nanos> {
    (count > 0).then(|| milliseconds(count as u64))
}

/// The prefix of a log; empty for the job's name.
fn prefix(given: &OptionValue<'_>) -> Result<Option<String>> {
    Ok(Some(given.text.map(str::trim).unwrap_or_default().to_owned()))
}

fn percentiles(given: &OptionValue<'_>) -> Result<Vec<f64>> {
    let parts = given.text()?.split(':');
    let numbers: Result<Vec<f64>> = parts.map(|part| given.part(part.trim()).number(0.0, 100.0)).collect();
    let mut numbers = numbers?;
    if numbers.contains(&0.0) {
        return Err(OptionError::refused("percentiles are above 0", "remove the 0"));
    }
    if numbers.len() > MAX_PERCENTILES {
        return Err(OptionError::TooMany {
            count: numbers.len(),
            items: "percentiles",
            max: MAX_PERCENTILES,
        });
    }
    numbers.sort_by(f64::total_cmp);
    numbers.dedup();
    Ok(numbers)
}

const MAX_PERCENTILES: usize = 20;
const NOT_IN_MEMORY: &str = "logs are written while the job runs, so that they take no memory";

/// A clock; how far it is ahead is read when the jobs are planned.
const fn clock(id: i64) -> Clock {
    Clock { id: id as u32, ahead: 0 }
}

/// The options.
pub const OPTIONS: &[Opt] = &[
    flag("group_reporting", |s, on| s.logging.reporting.grouped = on)
        .help("Reports the results of a group of jobs together. Logs are still written for each job."),
    flag("stats", |s, on| s.logging.reporting.left_out = !on)
        .default("1")
        .help("Whether the job is reported with the results.")
        .bounded("fio 3.33 leaves an entry without a name and values in JSON"),
    choice!(
        "unified_rw_reporting",
        &[("none", 0), ("mixed", 1), ("both", 2), ("0", 0), ("1", 1), ("2", 2)],
        |s, v| s.logging.reporting.unified = v
    )
    .default("none")
    .help("Reports reads, writes and trims separately (none), combined (mixed), or both."),
    flag("clat_percentiles", |s, on| s.logging.reporting.clat_percentiles = on)
        .default("1")
        .help("Reports percentiles of the completion latency."),
    flag("slat_percentiles", |s, on| s.logging.reporting.slat_percentiles = on)
        .help("Reports percentiles of the submission latency."),
    flag("lat_percentiles", |s, on| s.logging.reporting.lat_percentiles = on)
        .help("Reports percentiles of the total latency."),
    special(
        "percentile_list",
        Form::Special("up to 20 numbers above 0, up to 100, with colons between them"),
        |s, g| put(&mut s.logging.reporting.percentiles, percentiles(g)),
    )
    .default("1:5:10:20:30:40:50:60:70:80:90:95:99:99.5:99.9:99.95:99.99")
    .help("Which percentiles are reported."),
    integer("significant_figures", 1, 10, |s, value| s.logging.reporting.significant = value as u32)
        .default("4")
        .help("Digits of the figures in the normal output."),
    flag("disk_util", |s, on| s.logging.reporting.disks = on)
        .default("1")
        .help("Reports the counters of the underlying devices."),
    choice!("kb_base", &[("1024", 1024), ("1000", 1000)], |s, v| s.logging.reporting.kb_base = v).default("1024").help(
        "What k, m and g stand for in settings after it. With 1024 they are powers of 1024 and kib, mib, gib \
         powers of 1000, as in old job files; with 1000 it is the right way around.",
    ),
    choice!("unit_base", &[("0", 0), ("8", 8), ("1", 1)], |s, v| s.logging.reporting.unit_base = v)
        .default("0")
        .help("Whether the normal output is in bytes (8) or bits (1)."),
    flag("disable_lat", |s, on| s.logging.reporting.disable_lat = on).help("Omits the total latency from the results."),
    flag("disable_clat", |s, on| s.logging.reporting.disable_clat = on)
        .help("Omits the completion latency from the results."),
    flag("disable_slat", |s, on| s.logging.reporting.disable_slat = on)
        .help("Omits the submission latency from the results."),
    ignored("disable_bw_measurement", Form::Flag)
        .named_also(&["disable_bw"])
        .help("Does not sample the bandwidth.")
        .bounded("the samples are in the results all the same, as in fio"),
    flag("gtod_reduce", |s, on| s.logging.fewer_stamps = on)
        .help(
            "Reads the clock less often: leaves out what disable_slat, disable_clat and disable_lat leave \
             out.",
        )
        .bounded(
            "operations are stamped all the same, which response times need; depths are not counted then",
        ),
    ignored("gtod_cpu", Form::Integer { min: 0, max: MAX })
        .help("CPU dedicated to reading the clock for all jobs.")
        .bounded("each thread reads the clock itself; its cost is reported with the results"),
    ignored("clocksource", Form::Choice(&["gettimeofday", "clock_gettime", "cpu"]))
        .help("Which clock the times are taken from.")
        .bounded("always clock_gettime(2), of a monotonic clock"),
    integer("job_start_clock_id", 0, 11, |s, id| s.logging.reporting.job_start = clock(id)).default("0").help(
        "Which clock the JSON output's job_start is taken from, by its number for clock_gettime(2); 0 is the \
         real time.",
    ),
    integer("bwavgtime", 0, MAX, |s, count| s.logging.bw_average = milliseconds(count as u64))
        .default("500")
        .help("Milliseconds over which each sample of the bandwidth is taken.")
        .bounded(
            "samples are exact intervals; the shorter of bwavgtime and iopsavgtime is the interval of both, \
             at least 10",
        ),
    integer("iopsavgtime", 0, MAX, |s, count| s.logging.iops_average = milliseconds(count as u64))
        .default("500")
        .help("Milliseconds over which each sample of the operations a second is taken.")
        .bounded("as bwavgtime"),
    special("write_bw_log", Form::Text, |s, g| put(&mut s.logging.bw_log, prefix(g))).help(
        "Logs the bandwidth to PREFIX_bw.N.log, for thread N; the default prefix is the name of the job.",
    ),
    special("write_iops_log", Form::Text, |s, g| put(&mut s.logging.iops_log, prefix(g)))
        .help("Logs operations a second into PREFIX_iops.N.log, as write_bw_log does."),
    special("write_lat_log", Form::Text, |s, g| put(&mut s.logging.lat_log, prefix(g))).help(
        "Logs latencies into three files, of submission, completion and both: PREFIX_slat.N.log, \
         PREFIX_clat.N.log and PREFIX_lat.N.log.",
    ),
    special("write_hist_log", Form::Text, |s, g| put(&mut s.logging.hist_log, prefix(g))).help(
        "Logs histograms of the completion latency into PREFIX_clat_hist.N.log, one every log_hist_msec; \
         without that the file stays empty.",
    ),
    flag("per_job_logs", |s, on| s.logging.per_job = on)
        .default("1")
        .help("With 0 the logs' names have no number, and all threads write into the same."),
    integer("log_avg_msec", 0, MAX, |s, count| s.logging.window = window(count))
        .default("0")
        .help("Milliseconds that a line of a log averages; with 0 each operation has its line."),
    integer("log_hist_msec", 0, MAX, |s, count| s.logging.hist_window = window(count))
        .default("0")
        .help("Milliseconds that each histogram of write_hist_log covers; with 0 there are none."),
    integer("log_hist_coarseness", 0, 6, |s, value| s.logging.coarseness = value as u8)
        .default("0")
        .help("How often neighbouring classes of a logged histogram are joined in pairs."),
    choice!(
        "log_window_value",
        &[
            ("avg", LogValue::Average),
            ("max", LogValue::Largest),
            ("both", LogValue::Both),
            ("0", LogValue::Average),
            ("1", LogValue::Largest),
            ("2", LogValue::Both)
        ],
        |s, v| s.logging.value = v
    )
    .named_also(&["log_max_value"])
    .default("avg")
    .help("What is logged of the operations in log_avg_msec: their average, the largest, or both."),
    flag("log_offset", |s, on| s.logging.offset = on).help("Adds a column with the offset to logs."),
    flag("log_prio", |s, on| s.logging.priority = on).help("Adds a column with the I/O priority to logs."),
    flag("log_issue_time", |s, on| s.logging.issue_time = on)
        .help("Logs have a column for the instant at which an operation was issued."),
    flag("log_unix_epoch", |s, on| s.logging.unix_epoch = on)
        .help("Times in logs count from 1970 rather than from the start."),
    flag("log_alternate_epoch", |s, on| s.logging.alternate_epoch = on)
        .help("As log_unix_epoch, by the clock of log_alternate_epoch_clock_id."),
    integer("log_alternate_epoch_clock_id", 0, 11, |s, id| s.logging.epoch_clock = clock(id))
        .default("0")
        .help("Clock of log_alternate_epoch, by its number for clock_gettime(2); 0 is the real time."),
    ignored("log_entries", Form::Integer { min: 1024, max: 1_048_576 })
        .default("1024")
        .help("Lines of a log that memory is set aside for before the job.")
        .bounded(NOT_IN_MEMORY),
    ignored("log_compression", Form::Integer { min: 1024, max: 512 << 20 })
        .help("Compresses logs in memory whenever they have grown by this number of bytes.")
        .bounded(NOT_IN_MEMORY),
    special("log_compression_cpus", CPUS, |_, g| super::placement::list(g.text()?).map(drop))
        .help("CPUs that compress logs.")
        .bounded("the thread that writes the logs compresses them; it runs where the system puts it"),
    flag("log_store_compressed", |s, on| s.logging.compressed = on)
        .help("Writes compressed log files.")
        .differs("files are gzip's and end in .gz, so that zcat reads them"),
    flag("block_error_percentiles", |s, on| s.logging.block_errors = on)
        .help(
            "Counts the trims of each block, in units of a trim, and reports their percentiles and whether \
             its last trim or write failed.",
        )
        .bounded(
            "fio 3.33 ends with a failed assertion (block_state_category) if there is more than one block",
        ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::options::option::samples::{io, lowered, task};
    use crate::language::thread::LogKind;
    use iolite_model::{MetadataTask, Mix};

    const PERCENTILES: [f64; 17] = [
        1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99,
    ];

    fn thread(settings: &[(&str, &str)]) -> Result<Thread, OptionError> {
        io(settings, task(Mix::Read)).map(|(thread, _)| thread)
    }

    fn paths(settings: &[(&str, &str)]) -> Vec<String> {
        thread(settings).unwrap().logs.iter().map(|log| log.path.display().to_string()).collect()
    }

    /// As fio 3.33 names them; the thread of the samples is `j`, the fourth.
    #[test]
    fn block_errors_are_counted_as_far_as_they_fit_into_memory() {
        let thread = |size: u64| {
            let target = iolite_model::Target::Null { size: Bytes(size) };
            let task = JobTask::Io(Box::new(FileTask { target, ..FileTask::default() }));
            Thread { task, block_errors: Some(Bytes(4096)), ..Thread::default() }
        };
        assert!(block_errors_fit(&thread(MAX_BLOCKS * 4096)).is_ok());
        assert!(block_errors_fit(&thread((MAX_BLOCKS + 1) * 4096)).is_err());
    }

    #[test]
    fn logs_have_fio_s_names() {
        assert_eq!(paths(&[]), Vec::<String>::new());
        assert_eq!(paths(&[("write_bw_log", "")]), ["j_bw.4.log"]);
        assert_eq!(paths(&[("write_iops_log", "d/p")]), ["d/p_iops.4.log"]);
        assert_eq!(paths(&[("write_lat_log", "p")]), ["p_slat.4.log", "p_clat.4.log", "p_lat.4.log"]);
        assert_eq!(paths(&[("write_hist_log", "p")]), ["p_clat_hist.4.log"]);
        assert_eq!(paths(&[("write_bw_log", "p"), ("per_job_logs", "0")]), ["p_bw.log"]);
        assert_eq!(paths(&[("write_bw_log", "p"), ("log_store_compressed", "1")]), ["p_bw.4.log.gz"]);
        assert_eq!(paths(&[("write_lat_log", "p"), ("disable_slat", "1")]), ["p_clat.4.log", "p_lat.4.log"]);
        assert!(paths(&[("write_lat_log", "p"), ("gtod_reduce", "1")]).is_empty(), "as with fio");
        assert_eq!(paths(&[("write_bw_log", "p"), ("disable_bw", "1")]), ["p_bw.4.log"]);
    }

    #[test]
    fn logs_are_as_asked_for() {
        let settings = [
            ("write_bw_log", "p"),
            ("write_hist_log", "p"),
            ("log_avg_msec", "200"),
            ("log_hist_msec", "1000"),
            ("log_hist_coarseness", "2"),
            ("log_max_value", "1"),
            ("log_offset", "1"),
            ("log_prio", "1"),
            ("log_issue_time", "1"),
            ("log_alternate_epoch", "1"),
        ];
        let thread = thread(&settings).unwrap();
        let [bandwidth, histogram] = &thread.logs[..] else { panic!("{:?}", thread.logs) };
        assert_eq!((bandwidth.kind, histogram.kind), (LogKind::Bandwidth, LogKind::Histogram));
        assert_eq!(bandwidth.window, Some(milliseconds(200)));
        assert_eq!((histogram.window, histogram.coarseness), (Some(milliseconds(1000)), 2));
        assert_eq!((bandwidth.value, bandwidth.offset, bandwidth.priority), (LogValue::Largest, true, true));
        assert!(bandwidth.issue_time && bandwidth.epoch.is_some() && !bandwidth.compressed);
        let both = super::tests::thread(&[("write_bw_log", "p"), ("log_window_value", "both")]).unwrap();
        assert_eq!((both.logs[0].value, both.logs[0].window), (LogValue::Both, None));
    }

    #[test]
    fn intervals_are_the_shortest_that_is_asked_for() {
        let interval =
            |settings: &[(&str, &str)]| io(settings, task(Mix::Read)).unwrap().1.interval.0 / 1_000_000;
        assert_eq!(interval(&[]), 500);
        assert_eq!(interval(&[("bwavgtime", "100"), ("iopsavgtime", "300")]), 100);
        assert_eq!(interval(&[("log_avg_msec", "50")]), 500);
        assert_eq!(interval(&[("log_avg_msec", "50"), ("write_iops_log", "p")]), 50);
        assert_eq!(interval(&[("bwavgtime", "0")]), 10);
        assert_eq!(interval(&[("ss", "iops:1"), ("ss_dur", "1"), ("ss_interval", "200ms")]), 200);
    }

    #[test]
    fn results_are_reported_as_asked_for() {
        let settings = [
            ("group_reporting", "1"),
            ("unified_rw_reporting", "both"),
            ("lat_percentiles", "1"),
            ("clat_percentiles", "0"),
            ("slat_percentiles", "1"),
            ("percentile_list", "99.9:50:99.9"),
            ("disk_util", "0"),
            ("kb_base", "1000"),
            ("unit_base", "1"),
            ("disable_lat", "1"),
        ];
        let reporting = thread(&settings).unwrap().reporting;
        assert!(
            reporting.grouped
                && reporting.lat_percentiles
                && reporting.slat_percentiles
                && reporting.disable_lat
        );
        assert!(!reporting.clat_percentiles && !reporting.disks && !reporting.disable_clat);
        assert_eq!((reporting.unified, reporting.kb_base, reporting.unit_base), (2, 1000, 1));
        assert_eq!(reporting.percentiles, [50.0, 99.9]);
        let usual = thread(&[]).unwrap().reporting;
        assert!(usual.clat_percentiles && usual.disks && !usual.grouped && !usual.lat_percentiles);
        assert_eq!(usual.percentiles, PERCENTILES);
    }

    #[test]
    fn fewer_stamps_leave_out_what_needs_them() {
        let reporting = thread(&[("gtod_reduce", "1")]).unwrap().reporting;
        assert!(reporting.disable_slat && reporting.disable_clat && reporting.disable_lat);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (name, value) in [
            ("percentile_list", "0:50"),
            ("percentile_list", "101"),
            ("percentile_list", "1:2:3:4:5:6:7:8:9:10:11:12:13:14:15:16:17:18:19:20:21"),
            ("log_alternate_epoch_clock_id", "12"),
        ] {
            assert!(thread(&[(name, value)]).is_err(), "{name}={value}");
        }
        let names = || JobTask::Metadata(MetadataTask::default());
        assert_eq!(lowered(&[("write_lat_log", "p")], names()).unwrap().logs.len(), 3);
        assert!(lowered(&[("group_reporting", "1")], names()).unwrap().reporting.grouped);
    }
}
