//! A thread of fio's: what a job comes to.

use std::path::PathBuf;

use iolite_model::{BackendKind, Bytes, FileTask, JobTask, LatencyTarget, Nanos, Target};
use serde::{Deserialize, Serialize};

/// A thread of fio's: one clone of a job, with all that is needed to run it and to tell what came of it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Thread {
    /// The job's name.
    pub name: String,
    /// Number over all jobs and clones, from 0; log files are named by it plus 1.
    pub number: u32,
    /// Reporting group, from 0.
    pub group: u32,
    /// Which job (section) it is a clone of, from 0.
    pub job: u32,
    /// The job's settings as given, by canonical name, without those of global sections.
    pub settings: Vec<(String, String)>,
    /// `description`.
    pub description: Option<String>,
    /// What it does. Named after the job; `together` says whether it starts with the one before it.
    pub task: JobTask,
    /// Where the files of the clone are; `None` for the current directory.
    pub directory: Option<PathBuf>,
    /// How its results are reported.
    pub reporting: Reporting,
    /// Its logs.
    pub logs: Vec<Log>,
    /// When it ends, what else ends.
    pub exit_all: Option<ExitAll>,
    /// It ends when no other running thread does I/O (`exit_on_io_done` of cpuio).
    pub exit_on_io_done: bool,
    /// Size of the blocks of which trims and their ends are counted (`block_error_percentiles`).
    pub block_errors: Option<Bytes>,
    /// Ends when it is steady.
    pub steady: Option<SteadyState>,
    /// Searches the depth that keeps a latency.
    pub latency_target: Option<LatencyTarget>,
    /// Bytes per second of reads, writes, trims that the job is held to.
    pub rate: [Option<f64>; 3],
    /// Operations per second of reads, writes, trims that the job is held to.
    pub rate_iops: [Option<f64>; 3],
    /// Slower than so many bytes a second (of reads, writes, trims) over `rate_cycle` it fails.
    pub rate_min: [Option<f64>; 3],
    /// Slower than so many operations a second (of reads, writes, trims) over `rate_cycle` it fails.
    pub rate_iops_min: [Option<f64>; 3],
    /// Time over which `rate_min` and `rate_iops_min` are looked at.
    pub rate_cycle: Nanos,
    /// Only make the files.
    pub create_only: bool,
    /// The same, since each file is smaller than an operation: as fio, it is reported as a job that has run.
    pub too_small: bool,
    /// Its files are read before, so that they are in the page cache.
    pub pre_read: bool,
    /// I/O scheduler that the devices beneath its files are switched to.
    pub scheduler: Option<String>,
    /// Control group that it runs in.
    pub control_group: Option<ControlGroup>,
    /// Shell commands before and after.
    pub exec: [Option<String>; 2],
    /// Program that runs as long as the thread; its end is that of the thread.
    pub program: Option<Program>,
    /// What is done differently from fio's own way, option by option: reported with the results.
    pub notes: Vec<String>,
}

impl Default for Reporting {
    fn default() -> Reporting {
        Reporting {
            grouped: false,
            unified: 0,
            clat_percentiles: true,
            slat_percentiles: false,
            lat_percentiles: false,
            percentiles: Vec::new(),
            disable_slat: false,
            disable_clat: false,
            disable_lat: false,
            disks: true,
            bytes_per_name: Bytes(0),
            blocks_per_name: 1,
            left_out: false,
            job_start: Clock::default(),
            kb_base: 1024,
            significant: 4,
            unit_base: 0,
            synchronous: true,
        }
    }
}

/// What results say of a thread besides what was measured.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ThreadFacts {
    /// See [`Thread::name`].
    pub name: String,
    /// See [`Thread::number`].
    pub number: u32,
    /// See [`Thread::group`].
    pub group: u32,
    /// See [`Thread::settings`].
    pub settings: Vec<(String, String)>,
    /// See [`Thread::description`].
    pub description: Option<String>,
    /// See [`Thread::reporting`].
    pub reporting: Reporting,
    /// See [`Thread::steady`].
    pub steady: Option<SteadyState>,
    /// See [`Thread::latency_target`].
    pub latency_target: Option<LatencyTarget>,
    /// See [`Thread::notes`].
    pub notes: Vec<String>,
}

/// A program that a thread runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Its file, or a name that is looked up in PATH.
    pub path: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Time from SIGTERM, which it gets at the end of the thread, to SIGKILL.
    pub grace: Nanos,
    /// What it prints goes to NAME.stdout and NAME.stderr.
    pub redirected: bool,
}

/// A control group for I/O.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlGroup {
    /// Its name in the hierarchy.
    pub name: String,
    /// Its weight, 100 to 1000.
    pub weight: Option<u32>,
    /// It stays after the run.
    pub keep: bool,
}

/// How results are reported.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reporting {
    /// `group_reporting`.
    pub grouped: bool,
    /// `unified_rw_reporting`: mixed instead of (1) or besides (2) reads, writes and trims.
    pub unified: u8,
    /// Whether percentiles of completion, submission and total latency are reported.
    pub clat_percentiles: bool,
    /// See `clat_percentiles`.
    pub slat_percentiles: bool,
    /// See `clat_percentiles`.
    pub lat_percentiles: bool,
    /// `percentile_list`, in percent.
    pub percentiles: Vec<f64>,
    /// `disable_slat`, `disable_clat`, `disable_lat` (and `gtod_reduce` for all).
    pub disable_slat: bool,
    /// See `disable_slat`.
    pub disable_clat: bool,
    /// See `disable_slat`.
    pub disable_lat: bool,
    /// `disk_util`.
    pub disks: bool,
    /// Bytes that fio counts for each operation on names, which moves none: the whole blocks of the file's size.
    pub bytes_per_name: Bytes,
    /// Operations that fio counts for each one on names: the number of these blocks.
    pub blocks_per_name: u64,
    /// It is not reported with the results (`stats=0`).
    pub left_out: bool,
    /// Clock of the time at which it started (`job_start_clock_id`).
    pub job_start: Clock,
    /// `kb_base`: 1024 or 1000.
    pub kb_base: u64,
    /// `significant_figures`: digits of a figure in text.
    pub significant: u32,
    /// `unit_base`: 8 for bytes, 1 for bits, 0 for either.
    pub unit_base: u8,
    /// Whether the engine completes an operation within its submission: then there is no submission latency.
    pub synchronous: bool,
}

/// A log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// What it logs.
    pub kind: LogKind,
    /// Its file, complete.
    pub path: PathBuf,
    /// Averages over so much time rather than every operation (`log_avg_msec`); for a histogram its interval.
    pub window: Option<Nanos>,
    /// The largest of the window instead of, or besides, the average (`log_max_value`, `log_window_value`).
    pub value: LogValue,
    /// With a column for the offset (`log_offset`).
    pub offset: bool,
    /// With a column for the priority (`log_prio`).
    pub priority: bool,
    /// With a column for the time of issue (`log_issue_time`).
    pub issue_time: bool,
    /// Times of a clock (`log_unix_epoch`, `log_alternate_epoch`) rather than since the start.
    pub epoch: Option<Clock>,
    /// How coarse a histogram's buckets are (`log_hist_coarseness`), 0 to 6.
    pub coarseness: u8,
    /// What is in the file already is kept (`per_job_logs=0`), as fio does.
    pub append: bool,
    /// Compressed with gzip (`log_store_compressed`).
    pub compressed: bool,
}

/// A clock of the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Clock {
    /// Its number for clock_gettime(2); 0 is the real time.
    pub id: u32,
    /// Nanoseconds that it is ahead of the real time; negative where it is behind.
    pub ahead: i64,
}

impl Clock {
    /// The time of this clock, in nanoseconds, at a time since 1970.
    pub fn at(self, unix: Nanos) -> u64 {
        unix.0.saturating_add_signed(self.ahead)
    }
}

/// What a log records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogKind {
    /// Bandwidth in KiB/s.
    Bandwidth,
    /// Operations per second.
    Iops,
    /// Total latency.
    Latency,
    /// Submission latency.
    Submission,
    /// Completion latency.
    Completion,
    /// Histograms of completion latency.
    Histogram,
    /// The operations themselves, to be repeated (`write_iolog`).
    Trace,
}

/// Which value of a window is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogValue {
    /// The average.
    #[default]
    Average,
    /// The largest.
    Largest,
    /// Both, in two columns.
    Both,
}

/// What else ends with a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExitAll {
    /// Only when the job has ended with an error.
    pub on_error: bool,
    /// What ends.
    pub what: ExitWhat,
}

/// What ends with a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExitWhat {
    /// All jobs of its group.
    #[default]
    Group,
    /// All jobs that have started.
    Stonewall,
    /// Everything.
    All,
}

/// When a job counts as steady (`steadystate`).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SteadyState {
    /// Of what.
    pub measure: SteadyMeasure,
    /// The slope over the window is looked at rather than the largest deviation from its mean.
    pub slope: bool,
    /// The bound.
    pub limit: f64,
    /// The bound is in percent of the mean.
    pub percent: bool,
    /// The window.
    pub duration: Nanos,
    /// Time before the first window.
    pub ramp: Nanos,
    /// Distance of the values.
    pub interval: Nanos,
}

/// What is to be steady.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SteadyMeasure {
    /// Operations per second.
    Iops,
    /// Bandwidth.
    Bandwidth,
    /// Mean latency.
    Latency,
}

/// Where a thread stands among the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadIndex {
    /// Number over all jobs and clones, from 0.
    pub number: u32,
    /// Which job (section), from 0.
    pub job: u32,
    /// Which clone of it, from 0.
    pub clone: u32,
    /// Reporting group, from 0.
    pub group: u32,
    /// Whether it starts with the thread before it.
    pub together: bool,
}

impl Thread {
    /// What results say of it.
    pub fn facts(&self) -> ThreadFacts {
        ThreadFacts {
            name: self.name.clone(),
            number: self.number,
            group: self.group,
            settings: self.settings.clone(),
            description: self.description.clone(),
            reporting: self.reporting.clone(),
            steady: self.steady,
            latency_target: self.latency_target,
            notes: self.notes.clone(),
        }
    }

    /// Whether it works on files or devices.
    pub(crate) fn has_files(&self) -> bool {
        matches!(&self.task, JobTask::Io(task) if matches!(task.target, Target::Files(_)))
    }

    /// Whether it uses CPU time instead of doing I/O.
    pub(crate) fn keeps_cpus_busy(&self) -> bool {
        matches!(&self.task, JobTask::Io(task) if matches!(task.backend, BackendKind::Busy(_)))
    }

    /// The clocks whose times it reports.
    pub fn clocks(&mut self) -> impl Iterator<Item = &mut Clock> {
        let logs = self.logs.iter_mut().filter_map(|log| log.epoch.as_mut());
        logs.chain(std::iter::once(&mut self.reporting.job_start))
    }

    /// Its block I/O, if that is what it does.
    pub(crate) fn io(&mut self) -> Option<&mut FileTask> {
        match &mut self.task {
            JobTask::Io(task) => Some(task),
            JobTask::Metadata(_) => None,
        }
    }
}
