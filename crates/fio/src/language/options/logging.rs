//! Statistics and logs.

mod logs;

use iolite_model::{Bytes, FileTask, JobTask, Mix, Nanos, SizeLaw};

use crate::language::error::{OptionError, Result};
use crate::language::options::Spec;
use crate::language::options::option::{Form, Opt, Support};
use crate::language::thread::{Clock, LogValue, Thread, ThreadIndex};
use crate::language::value::OptionValue;

/// Statistics and logs. Prefixes of logs are empty where the job's name is meant.
#[derive(Debug, Clone, PartialEq)]
pub struct Logging {
    /// `group_reporting`.
    pub grouped: bool,
    /// `unified_rw_reporting`, 0 to 2.
    pub unified: u8,
    /// `clat_percentiles`.
    pub clat_percentiles: bool,
    /// `slat_percentiles`.
    pub slat_percentiles: bool,
    /// `lat_percentiles`.
    pub lat_percentiles: bool,
    /// `percentile_list`, in percent, ascending.
    pub percentiles: Vec<f64>,
    /// `disable_slat`.
    pub disable_slat: bool,
    /// `disable_clat`.
    pub disable_clat: bool,
    /// `disable_lat`.
    pub disable_lat: bool,
    /// `gtod_reduce`.
    pub fewer_stamps: bool,
    /// `block_error_percentiles`.
    pub block_errors: bool,
    /// `disk_util`.
    pub disks: bool,
    /// `kb_base`: what a `k` stands for, 1024 or 1000.
    pub kb_base: u64,
    /// `unit_base`: 8, 1, or 0 for either.
    pub unit_base: u8,
    /// `significant_figures`.
    pub significant: u32,
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
    /// `job_start_clock_id`.
    pub job_start: Clock,
    /// `stats=0`.
    pub left_out: bool,
    /// `log_store_compressed`.
    pub compressed: bool,
    /// `bwavgtime`.
    pub bw_average: Nanos,
    /// `iopsavgtime`.
    pub iops_average: Nanos,
}

/// fio's percentiles, in percent.
const PERCENTILES: [f64; 17] =
    [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];

impl Default for Logging {
    fn default() -> Self {
        Logging {
            grouped: false,
            unified: 0,
            clat_percentiles: true,
            slat_percentiles: false,
            lat_percentiles: false,
            percentiles: PERCENTILES.to_vec(),
            disable_slat: false,
            disable_clat: false,
            disable_lat: false,
            fewer_stamps: false,
            block_errors: false,
            disks: true,
            kb_base: 1024,
            unit_base: 0,
            significant: 4,
            bw_log: None,
            iops_log: None,
            lat_log: None,
            hist_log: None,
            per_job: true,
            window: None,
            hist_window: None,
            coarseness: 0,
            value: LogValue::Average,
            offset: false,
            priority: false,
            issue_time: false,
            unix_epoch: false,
            alternate_epoch: false,
            epoch_clock: Clock::default(),
            job_start: Clock::default(),
            left_out: false,
            compressed: false,
            bw_average: milliseconds(500),
            iops_average: milliseconds(500),
        }
    }
}

impl Logging {
    /// Changes `thread` to what these settings say; its name and steady state are set before.
    pub(crate) fn lower(&self, _spec: &Spec, place: ThreadIndex, thread: &mut Thread) -> Result {
        self.report(thread);
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

    fn report(&self, thread: &mut Thread) {
        let reporting = &mut thread.reporting;
        reporting.grouped = self.grouped;
        reporting.unified = self.unified;
        reporting.clat_percentiles = self.clat_percentiles;
        reporting.slat_percentiles = self.slat_percentiles;
        reporting.lat_percentiles = self.lat_percentiles;
        reporting.percentiles.clone_from(&self.percentiles);
        reporting.disable_slat = self.disable_slat || self.fewer_stamps;
        reporting.disable_clat = self.disable_clat || self.fewer_stamps;
        reporting.disable_lat = self.disable_lat || self.fewer_stamps;
        reporting.disks = self.disks;
        reporting.left_out = self.left_out;
        reporting.job_start = self.job_start;
        reporting.kb_base = self.kb_base;
        reporting.unit_base = self.unit_base;
        reporting.significant = self.significant;
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

/// A number of milliseconds.
fn in_ms(given: &OptionValue<'_>) -> Result<Nanos> {
    given.integer(0, MAX).map(|count| milliseconds(count as u64))
}

/// A number of milliseconds, of which 0 is none.
fn window(given: &OptionValue<'_>) -> Result<Option<Nanos>> {
    in_ms(given).map(|time| (time.0 > 0).then_some(time))
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
const MAX: i64 = u32::MAX as i64;
const MILLISECONDS: Form = Form::Integer { min: 0, max: MAX };
const NOT_IN_MEMORY: Support =
    Support::Bounded("logs are written while the job runs, so that they take no memory");

const CLOCK: Form = Form::Integer { min: 0, max: 11 };

/// A clock; how far it is ahead is read when the jobs are planned.
fn clock(given: &OptionValue<'_>) -> Result<Clock> {
    given.integer(0, 11).map(|id| Clock { id: id as u32, ahead: 0 })
}

/// A flag.
const fn flag(
    name: &'static str,
    default: &'static str,
    help: &'static str,
    set: fn(&mut Spec, &OptionValue<'_>) -> Result,
) -> Opt {
    Opt { name, form: Form::Flag, default, help, set, ..Opt::PLAIN }
}

/// The options.
pub const OPTIONS: &[Opt] = &[
    flag(
        "group_reporting",
        "0",
        "Reports the results of a group of jobs together. Logs are still written for each job.",
        |spec, given| given.flag().map(|on| spec.logging.grouped = on),
    ),
    Opt {
        name: "stats",
        form: Form::Flag,
        default: "1",
        help: "Whether the job is reported with the results.",
        support: Support::Bounded("fio 3.33 leaves an entry without a name and values in JSON"),
        set: |spec, given| given.flag().map(|on| spec.logging.left_out = !on),
        ..Opt::PLAIN
    },
    Opt {
        name: "unified_rw_reporting",
        form: Form::Choice(&["none", "mixed", "both", "0", "1", "2"]),
        default: "none",
        help: "Reports reads, writes and trims separately (none), combined (mixed), or both.",
        set: |spec, given| {
            let choices = [("none", 0), ("mixed", 1), ("both", 2), ("0", 0), ("1", 1), ("2", 2)];
            given.choice(&choices).map(|unified| spec.logging.unified = unified)
        },
        ..Opt::PLAIN
    },
    flag("clat_percentiles", "1", "Reports percentiles of the completion latency.", |spec, given| {
        given.flag().map(|on| spec.logging.clat_percentiles = on)
    }),
    flag("slat_percentiles", "0", "Reports percentiles of the submission latency.", |spec, given| {
        given.flag().map(|on| spec.logging.slat_percentiles = on)
    }),
    flag("lat_percentiles", "0", "Reports percentiles of the total latency.", |spec, given| {
        given.flag().map(|on| spec.logging.lat_percentiles = on)
    }),
    Opt {
        name: "percentile_list",
        form: Form::Special("up to 20 numbers above 0, up to 100, with colons between them"),
        default: "1:5:10:20:30:40:50:60:70:80:90:95:99:99.5:99.9:99.95:99.99",
        help: "Which percentiles are reported.",
        set: |spec, given| percentiles(given).map(|list| spec.logging.percentiles = list),
        ..Opt::PLAIN
    },
    Opt {
        name: "significant_figures",
        form: Form::Integer { min: 1, max: 10 },
        default: "4",
        help: "Digits of the figures in the normal output.",
        set: |spec, given| given.integer(1, 10).map(|digits| spec.logging.significant = digits as u32),
        ..Opt::PLAIN
    },
    flag("disk_util", "1", "Reports the counters of the underlying devices.", |spec, given| {
        given.flag().map(|on| spec.logging.disks = on)
    }),
    Opt {
        name: "kb_base",
        form: Form::Choice(&["1024", "1000"]),
        default: "1024",
        help: "What k, m and g stand for in settings after it. With 1024 they are powers of 1024 and kib, mib, gib powers of \
               1000, as in old job files; with 1000 it is the right way around.",
        set: |spec, given| {
            given.choice(&[("1024", 1024), ("1000", 1000)]).map(|base| spec.logging.kb_base = base)
        },
        ..Opt::PLAIN
    },
    Opt {
        name: "unit_base",
        form: Form::Choice(&["0", "8", "1"]),
        default: "0",
        help: "Whether the normal output is in bytes (8) or bits (1).",
        set: |spec, given| {
            given.choice(&[("0", 0), ("8", 8), ("1", 1)]).map(|base| spec.logging.unit_base = base)
        },
        ..Opt::PLAIN
    },
    flag("disable_lat", "0", "Omits the total latency from the results.", |spec, given| {
        given.flag().map(|on| spec.logging.disable_lat = on)
    }),
    flag("disable_clat", "0", "Omits the completion latency from the results.", |spec, given| {
        given.flag().map(|on| spec.logging.disable_clat = on)
    }),
    flag("disable_slat", "0", "Omits the submission latency from the results.", |spec, given| {
        given.flag().map(|on| spec.logging.disable_slat = on)
    }),
    Opt {
        aliases: &["disable_bw"],
        support: Support::Bounded("the samples are in the results all the same, as in fio"),
        ..flag("disable_bw_measurement", "0", "Does not sample the bandwidth.", |_, given| {
            given.flag().map(|_| ())
        })
    },
    Opt {
        support: Support::Bounded(
            "operations are stamped all the same, which response times need; depths are not counted then",
        ),
        ..flag(
            "gtod_reduce",
            "0",
            "Reads the clock less often: leaves out what disable_slat, disable_clat and disable_lat leave out.",
            |spec, given| given.flag().map(|on| spec.logging.fewer_stamps = on),
        )
    },
    Opt {
        name: "gtod_cpu",
        form: Form::Integer { min: 0, max: MAX },
        help: "CPU dedicated to reading the clock for all jobs.",
        support: Support::Bounded(
            "each thread reads the clock itself; its cost is reported with the results",
        ),
        set: |_, given| given.integer(0, MAX).map(|_| ()),
        ..Opt::PLAIN
    },
    Opt {
        name: "clocksource",
        form: Form::Choice(&["gettimeofday", "clock_gettime", "cpu"]),
        help: "Which clock the times are taken from.",
        support: Support::Bounded("always clock_gettime(2), of a monotonic clock"),
        set: |_, given| given.choice(&[("gettimeofday", ()), ("clock_gettime", ()), ("cpu", ())]),
        ..Opt::PLAIN
    },
    Opt {
        name: "job_start_clock_id",
        form: CLOCK,
        default: "0",
        help: "Which clock the JSON output's job_start is taken from, by its number for clock_gettime(2); 0 is the real time.",
        set: |spec, given| clock(given).map(|clock| spec.logging.job_start = clock),
        ..Opt::PLAIN
    },
    Opt {
        name: "bwavgtime",
        form: MILLISECONDS,
        default: "500",
        help: "Milliseconds over which each sample of the bandwidth is taken.",
        support: Support::Bounded(
            "samples are exact intervals; the shorter of bwavgtime and iopsavgtime is the \
             interval of both, at least 10",
        ),
        set: |spec, given| in_ms(given).map(|time| spec.logging.bw_average = time),
        ..Opt::PLAIN
    },
    Opt {
        name: "iopsavgtime",
        form: MILLISECONDS,
        default: "500",
        help: "Milliseconds over which each sample of the operations a second is taken.",
        support: Support::Bounded("as bwavgtime"),
        set: |spec, given| in_ms(given).map(|time| spec.logging.iops_average = time),
        ..Opt::PLAIN
    },
    Opt {
        name: "write_bw_log",
        help: "Logs the bandwidth to PREFIX_bw.N.log, for thread N; the default prefix is the name of the job.",
        set: |spec, given| prefix(given).map(|prefix| spec.logging.bw_log = prefix),
        ..Opt::PLAIN
    },
    Opt {
        name: "write_iops_log",
        help: "Logs operations a second into PREFIX_iops.N.log, as write_bw_log does.",
        set: |spec, given| prefix(given).map(|prefix| spec.logging.iops_log = prefix),
        ..Opt::PLAIN
    },
    Opt {
        name: "write_lat_log",
        help: "Logs latencies into three files, of submission, completion and both: PREFIX_slat.N.log, PREFIX_clat.N.log \
               and PREFIX_lat.N.log.",
        set: |spec, given| prefix(given).map(|prefix| spec.logging.lat_log = prefix),
        ..Opt::PLAIN
    },
    Opt {
        name: "write_hist_log",
        help: "Logs histograms of the completion latency into PREFIX_clat_hist.N.log, one every log_hist_msec; without that \
               the file stays empty.",
        set: |spec, given| prefix(given).map(|prefix| spec.logging.hist_log = prefix),
        ..Opt::PLAIN
    },
    flag(
        "per_job_logs",
        "1",
        "With 0 the logs' names have no number, and all threads write into the same.",
        |spec, given| given.flag().map(|on| spec.logging.per_job = on),
    ),
    Opt {
        name: "log_avg_msec",
        form: MILLISECONDS,
        default: "0",
        help: "Milliseconds that a line of a log averages; with 0 each operation has its line.",
        set: |spec, given| window(given).map(|window| spec.logging.window = window),
        ..Opt::PLAIN
    },
    Opt {
        name: "log_hist_msec",
        form: MILLISECONDS,
        default: "0",
        help: "Milliseconds that each histogram of write_hist_log covers; with 0 there are none.",
        set: |spec, given| window(given).map(|window| spec.logging.hist_window = window),
        ..Opt::PLAIN
    },
    Opt {
        name: "log_hist_coarseness",
        form: Form::Integer { min: 0, max: 6 },
        default: "0",
        help: "How often neighbouring classes of a logged histogram are joined in pairs.",
        set: |spec, given| given.integer(0, 6).map(|times| spec.logging.coarseness = times as u8),
        ..Opt::PLAIN
    },
    Opt {
        name: "log_window_value",
        aliases: &["log_max_value"],
        form: Form::Choice(&["avg", "max", "both", "0", "1", "2"]),
        default: "avg",
        help: "What is logged of the operations in log_avg_msec: their average, the largest, or both.",
        set: |spec, given| {
            use LogValue::{Average, Both, Largest};
            let choices = [
                ("avg", Average),
                ("max", Largest),
                ("both", Both),
                ("0", Average),
                ("1", Largest),
                ("2", Both),
            ];
            given.choice(&choices).map(|value| spec.logging.value = value)
        },
        ..Opt::PLAIN
    },
    flag("log_offset", "0", "Adds a column with the offset to logs.", |spec, given| {
        given.flag().map(|on| spec.logging.offset = on)
    }),
    flag("log_prio", "0", "Adds a column with the I/O priority to logs.", |spec, given| {
        given.flag().map(|on| spec.logging.priority = on)
    }),
    flag(
        "log_issue_time",
        "0",
        "Logs have a column for the instant at which an operation was issued.",
        |spec, given| given.flag().map(|on| spec.logging.issue_time = on),
    ),
    flag(
        "log_unix_epoch",
        "0",
        "Times in logs count from 1970 rather than from the start.",
        |spec, given| given.flag().map(|on| spec.logging.unix_epoch = on),
    ),
    flag(
        "log_alternate_epoch",
        "0",
        "As log_unix_epoch, by the clock of log_alternate_epoch_clock_id.",
        |spec, given| given.flag().map(|on| spec.logging.alternate_epoch = on),
    ),
    Opt {
        name: "log_alternate_epoch_clock_id",
        form: CLOCK,
        default: "0",
        help: "Clock of log_alternate_epoch, by its number for clock_gettime(2); 0 is the real time.",
        set: |spec, given| clock(given).map(|clock| spec.logging.epoch_clock = clock),
        ..Opt::PLAIN
    },
    Opt {
        name: "log_entries",
        form: Form::Integer { min: 1024, max: 1_048_576 },
        default: "1024",
        help: "Lines of a log that memory is set aside for before the job.",
        support: NOT_IN_MEMORY,
        set: |_, given| given.integer(1024, 1_048_576).map(|_| ()),
        ..Opt::PLAIN
    },
    Opt {
        name: "log_compression",
        form: Form::Integer { min: 1024, max: 512 << 20 },
        help: "Compresses logs in memory whenever they have grown by this number of bytes.",
        support: NOT_IN_MEMORY,
        set: |_, given| given.integer(1024, 512 << 20).map(|_| ()),
        ..Opt::PLAIN
    },
    Opt {
        name: "log_compression_cpus",
        form: Form::Special("numbers and ranges with commas between them: 0,5,8-15"),
        help: "CPUs that compress logs.",
        support: Support::Bounded(
            "the thread that writes the logs compresses them; it runs where the system puts it",
        ),
        set: |_, given| super::placement::list(given.text()?).map(|_| ()),
        ..Opt::PLAIN
    },
    Opt {
        support: Support::Differs("files are gzip's and end in .gz, so that zcat reads them"),
        ..flag("log_store_compressed", "0", "Writes compressed log files.", |spec, given| {
            given.flag().map(|on| spec.logging.compressed = on)
        })
    },
    Opt {
        name: "block_error_percentiles",
        form: Form::Flag,
        default: "0",
        help: "Counts the trims of each block, in units of a trim, and reports their percentiles and whether its last trim or write \
               failed.",
        support: Support::Bounded(
            "fio 3.33 ends with a failed assertion (block_state_category) if there is more than one block",
        ),
        set: |spec, given| given.flag().map(|on| spec.logging.block_errors = on),
        ..Opt::PLAIN
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::options::option::samples::{io, lowered, task};
    use crate::language::thread::LogKind;
    use iolite_model::{MetadataTask, Mix};

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
