//! Workers as processes: this program is its own worker, as the binary is.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use iolite_engine::{Control, Outcome, Scratch, WORKER_COMMAND, run_file_task, serve_worker};
use iolite_model::{
    Access, BackendKind, Bytes, Checksum, Ending, Event, FileTask, FilesTarget, Mix, NamedFile, Nanos,
    OpKind, Placement, RunId, Sink, Stage, Stop, Target, Verify, Watch,
};
use iolite_sys::clock::Clock;

fn main() {
    if std::env::args().nth(1).as_deref() == Some(WORKER_COMMAND) {
        return serve_worker().unwrap();
    }
    let tests: [(&str, fn()); 4] = [
        (
            "a_phase_that_is_ended_keeps_what_it_has_measured",
            a_phase_that_is_ended_keeps_what_it_has_measured,
        ),
        ("a_phase_that_is_failed_reports_why", a_phase_that_is_failed_reports_why),
        ("what_only_threads_keep_is_refused", what_only_threads_keep_is_refused),
        ("processes_inherit_every_file", processes_inherit_every_file),
    ];
    for (name, test) in tests {
        test();
        println!("test {name} ... ok");
    }
}

/// Asks something at the first measured interval.
struct Asker<F>(F, bool);

impl<F: Fn() + Send> Sink for Asker<F> {
    fn event(&mut self, event: &Event) {
        if matches!(event, Event::Interval(interval) if interval.stage == Stage::Measured) && !self.1 {
            self.1 = true;
            (self.0)();
        }
    }
}

/// Longer than any test waits: a phase that is not ended fails by its own length.
const HOUR: Nanos = Nanos(3600 * Nanos::SECOND.0);

fn task() -> FileTask {
    FileTask {
        name: "processes".into(),
        target: Target::Null { size: Bytes::MIB },
        placement: Placement { processes: true, ..Placement::default() },
        workers: 2,
        concurrency: 2,
        stop: Stop { runtime: Some(HOUR), ..Stop::default() },
        interval: Nanos(50_000_000),
        ..FileTask::default()
    }
}

/// Runs for an hour, unless `ask` ends it.
fn run(ask: impl Fn(&Control) + Send) -> Outcome {
    let dir = tempfile::tempdir().unwrap();
    let mut scratch = Scratch::create(dir.path(), &RunId("test".into())).unwrap();
    let control = Control::default();
    let asker = control.clone();
    let mut sink = Asker(move || ask(&asker), false);
    let outcome = run_file_task(&task(), 7, &mut scratch, Clock::best(), &control, &mut sink).unwrap();
    assert!(outcome.totals.measured < HOUR.0, "it was ended");
    outcome
}

fn a_phase_that_is_ended_keeps_what_it_has_measured() {
    let outcome = run(|control| control.end_phase(7));
    assert_eq!(outcome.ending, Ending::Completed);
    assert!(outcome.totals.operations(OpKind::Read) > 0);
    assert!(outcome.totals.measured > 0);
    assert!(outcome.usage.user.0 + outcome.usage.system.0 > 0, "{:?}", outcome.usage);
}

fn a_phase_that_is_failed_reports_why() {
    let outcome = run(|control| control.fail_phase(7, "below the least rate"));
    assert_eq!(outcome.ending, Ending::Failed("below the least rate".into()));
    assert!(outcome.totals.operations(OpKind::Read) > 0);
}

fn what_only_threads_keep_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut scratch = Scratch::create(dir.path(), &RunId("test".into())).unwrap();
    let task = FileTask { watch: Watch { detail: true, operations: false }, ..task() };
    let mut sink = Asker(|| (), false);
    let refused = run_file_task(&task, 0, &mut scratch, Clock::best(), &Control::default(), &mut sink);
    assert!(refused.unwrap_err().to_string().contains("`placement.processes` or `watch`"));
}

fn processes_inherit_every_file() {
    let dir = tempfile::tempdir().unwrap();
    let mut scratch = Scratch::create(dir.path(), &RunId("test".into())).unwrap();
    let named =
        |(name, size)| NamedFile { path: dir.path().join(name), offset: Bytes(4096), size: Bytes(size) };
    let files = [("a", 10_000), ("b", 40_960), ("c", 8192)].map(named).to_vec();
    let verify = Verify {
        check: Checksum::Crc32c,
        unit: Bytes(0),
        reads: false,
        anyone: false,
        after: true,
        block: Bytes(0),
        ..Verify::default()
    };
    let task = FileTask {
        target: Target::Files(FilesTarget { remove: true, ..FilesTarget::of(files) }),
        backend: BackendKind::Sync,
        access: Access::Sequential,
        mix: Mix::Write,
        verify: Some(verify),
        stop: Stop { loops: Some(1), ..Stop::default() },
        ..task()
    };
    let mut sink = Asker(|| (), false);
    let outcome =
        run_file_task(&task, 0, &mut scratch, Clock::best(), &Control::default(), &mut sink).unwrap();
    assert_eq!((&outcome.ending, outcome.totals.operations(OpKind::Write)), (&Ending::Completed, 14));
    let verified = outcome.verified.unwrap();
    assert_eq!((verified.units, verified.wrong, verified.unreadable), (14, 0, 0), "{verified:?}");
    drop(scratch);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "removed by the parent, after all");
}
