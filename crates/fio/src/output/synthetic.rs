//! Results of fio's for the tests.

use std::path::PathBuf;

use crate::language::thread::{Log, LogKind, LogValue};
use crate::language::thread::{Reporting, Thread};
use iolite_model::{Access, DiskCounts, DiskUse, Ending, JobTask, Mix, Nanos, OpKind, Task, Usage};
use iolite_stats::Detail;

use super::result::{JobResult, Results};
use iolite_synthetic as synthetic;

pub(crate) const PERCENTILES: [f64; 17] =
    [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];

pub(crate) fn reporting() -> Reporting {
    Reporting { percentiles: PERCENTILES.to_vec(), ..Reporting::default() }
}

pub(crate) fn thread(name: &str, number: u32, task: Task) -> Thread {
    let Task::File(task) = task else { panic!("block I/O") };
    Thread {
        name: name.into(),
        number,
        job: number,
        settings: vec![("name".into(), name.into()), ("rw".into(), "randread".into())],
        task: JobTask::Io(Box::new(task)),
        reporting: reporting(),
        ..Thread::default()
    }
}

pub(crate) fn log(kind: LogKind, path: PathBuf) -> Log {
    Log {
        kind,
        path,
        window: None,
        value: LogValue::Average,
        offset: false,
        priority: false,
        issue_time: false,
        epoch: None,
        coarseness: 0,
        append: false,
        compressed: false,
    }
}

/// A job that did so many reads and writes a second for 250 ms, each of 100 us in the mean.
pub(crate) fn job(name: &str, number: u32, loads: &[(OpKind, f64)]) -> JobResult {
    let task = synthetic::file(name, Mix::ReadPercent(50), Access::Random, 4096, 1);
    let loads: Vec<_> = loads.iter().map(|&(kind, rate)| (kind, rate, 100_000.0, 4096, 0)).collect();
    let phase = synthetic::phase(number, task.clone(), &loads);
    let mut phase = phase;
    phase.info.started = Nanos(0);
    JobResult {
        thread: thread(name, number, task).facts(),
        process: 1000 + number,
        phase,
        detail: None,
        read_back: None,
        usage: Usage {
            user: Nanos(50_000_000),
            system: Nanos(25_000_000),
            context_switches: 7,
            major_faults: 0,
            minor_faults: 12,
            ..Usage::default()
        },
        started_unix: Nanos(1_767_323_045_000_000_000),
        error: 0,
        continued: None,
        steady: None,
        blocks: None,
        depth: None,
    }
}

/// What an asynchronous engine is seen to do.
pub(crate) fn detail() -> Detail {
    let mut detail = Detail { depths: [1, 2, 3, 4, 5, 6, 79], ..Detail::default() };
    (0..100).for_each(|_| detail.submission[0].record(1_500));
    (0..100).for_each(|_| detail.completion[0].record(150_000));
    (detail.submits[1], detail.completes[1]) = (90, 90);
    (detail.submits[2], detail.completes[2]) = (10, 10);
    detail
}

pub(crate) fn disk(name: &str) -> DiskUse {
    let counts = DiskCounts {
        ios: [16_398, 16_511],
        merges: [30, 162],
        sectors: [131_184, 132_088],
        ticks: [6853, 819_634],
        in_queue: 826_487,
        util: 99.5,
    };
    DiskUse { name: name.into(), counts, beneath: None }
}

pub(crate) fn results(jobs: Vec<JobResult>) -> Results {
    Results {
        version: "fio-3.42-iolite".into(),
        ended_unix: Nanos(1_767_323_046_000_000_000),
        global_settings: vec![("ioengine".into(), "psync".into()), ("time_based".into(), String::new())],
        jobs,
        disks: vec![disk("vda")],
        idle: None,
        run: synthetic::run(),
        calibration: None,
        warnings: Vec::new(),
        ending: Ending::Completed,
    }
}
