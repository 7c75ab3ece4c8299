use std::sync::{Arc, Mutex};

use indicatif::TermLike;

use super::*;
use crate::synthetic;

/// A place to look at what was written.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shared(Arc<Mutex<Vec<u8>>>);

impl Shared {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A terminal of one line.
impl TermLike for Shared {
    fn width(&self) -> u16 {
        100
    }
    fn move_cursor_up(&self, _: usize) -> std::io::Result<()> {
        Ok(())
    }
    fn move_cursor_down(&self, _: usize) -> std::io::Result<()> {
        Ok(())
    }
    fn move_cursor_right(&self, _: usize) -> std::io::Result<()> {
        Ok(())
    }
    fn move_cursor_left(&self, _: usize) -> std::io::Result<()> {
        Ok(())
    }
    fn write_line(&self, text: &str) -> std::io::Result<()> {
        self.write_str(text)
    }
    fn write_str(&self, text: &str) -> std::io::Result<()> {
        self.0.lock().unwrap().extend_from_slice(text.as_bytes());
        Ok(())
    }
    fn clear_line(&self) -> std::io::Result<()> {
        self.0.lock().unwrap().clear();
        Ok(())
    }
    fn flush(&self) -> std::io::Result<()> {
        Ok(())
    }
}

fn op(kind: OpKind, operations: u64, response_sum: u64) -> OpTotals {
    OpTotals {
        kind,
        operations,
        bytes: if kind == OpKind::Sync { 0 } else { operations * 8192 },
        errors: 0,
        response_sum: Nanos(response_sum),
        delay_sum: Nanos(0),
        response_max: Nanos(0),
        response: Default::default(),
        service: Default::default(),
    }
}

fn interval(phase: u32, start: u64, stage: Stage, ops: Vec<OpTotals>) -> Event {
    Event::Interval(Interval { phase, start: Nanos(start), length: Nanos::SECOND, stage, ops })
}

/// A read phase of two measured seconds in which a worker is late, and a commit phase that is interrupted.
fn play(sink: &mut dyn Sink) {
    let second = Nanos::SECOND.0;
    let read = synthetic::read("random read 8 KiB", 8192, 8);
    let reads = |operations| vec![op(OpKind::Read, operations, operations * 144_000)];
    sink.event(&Event::PhaseStarted(synthetic::info(0, read)));
    sink.event(&interval(0, 0, Stage::Ramp, reads(999)));
    sink.event(&interval(0, second, Stage::Measured, reads(50_000)));
    sink.event(&interval(0, 2 * second, Stage::Measured, reads(40_000)));
    sink.event(&interval(0, second, Stage::Measured, reads(3_438)));
    sink.event(&interval(0, 2 * second, Stage::Measured, reads(13_438)));
    sink.event(&interval(0, 3 * second, Stage::Drain, reads(8)));
}

fn play_on(sink: &mut dyn Sink) {
    sink.event(&Event::PhaseEnded(synthetic::end(0, 2 * Nanos::SECOND.0, 0)));
    sink.event(&Event::PhaseStarted(synthetic::info(
        1,
        synthetic::commit("append\x1b[2J + fdatasync", true),
    )));
    let mut ops = vec![
        op(OpKind::Write, 700, 700),
        op(OpKind::Sync, 700, 7_000_000),
        op(OpKind::Commit, 700, 700_000_000),
    ];
    ops[0].errors = 3;
    sink.event(&interval(1, 0, Stage::Measured, ops));
    let end = PhaseEnd { ending: Ending::Interrupted, ..synthetic::end(1, Nanos::SECOND.0, 0) };
    sink.event(&Event::PhaseEnded(end));
    sink.event(&Event::RunEnded(Ending::Interrupted));
}

#[test]
fn off_a_terminal_each_phase_gets_a_line() {
    let out = Shared::default();
    let mut live = Live::lines(Box::new(out.clone()));
    live.message("creating the database 37 %");
    play(&mut live);
    assert_eq!(out.text(), "");
    play_on(&mut live);
    insta::assert_snapshot!(out.text(), @r#"
random read 8 KiB, 8 outstanding: 53,438 IOPS, mean 144 µs
append\u{1b}[2J + fdatasync, 1 outstanding: 700 IOPS, mean 1.00 ms, 3 errors, interrupted
"#);
}

#[test]
fn the_bar_shows_the_latest_interval_and_goes_away() {
    let out = Shared::default();
    let mut live =
        Live::bar(ProgressDrawTarget::term_like(Box::new(out.clone())), false, Nanos(90_000_000_000));
    live.message("creating the \u{7}database 37 %");
    play(&mut live);
    let Shown::Bar(bar) = &live.view else { panic!("{live:?}") };
    assert_eq!(bar.message(), "random read 8 KiB, 8 outstanding: 53,438 IOPS, 417 MiB/s, mean 144 µs");
    bar.force_draw();
    assert!(out.text().starts_with("[>                   ] 0 s of 90 s random read 8 KiB"), "{}", out.text());
    drop(live);
    assert_eq!(out.text(), "");
}

/// Creates beside trims and writes; each ends when it likes.
fn play_together(sink: &mut dyn Sink, end: bool) {
    let second = Nanos::SECOND.0;
    let create = Task::Metadata(iolite_model::MetadataTask {
        name: "create".into(),
        workers: 1,
        ..iolite_model::MetadataTask::default()
    });
    let trim = iolite_model::FileTask {
        name: "trim".into(),
        mix: iolite_model::Mix::TrimThenWrite,
        arrival: iolite_model::Arrival::Constant(Iops(500.0)),
        ..iolite_model::FileTask::default()
    };
    sink.event(&Event::PhaseStarted(synthetic::info(0, create)));
    sink.event(&Event::PhaseStarted(synthetic::info(1, Task::File(trim))));
    sink.event(&interval(0, 0, Stage::Measured, vec![op(OpKind::Create, 1234, 1234 * 50_000)]));
    let both = vec![op(OpKind::Trim, 250, 250 * 1_000_000), op(OpKind::Write, 250, 250 * 2_000_000)];
    sink.event(&interval(1, 0, Stage::Measured, both));
    sink.event(&interval(7, 0, Stage::Measured, vec![op(OpKind::Read, 1, 1)]));
    sink.event(&Event::PhaseEnded(synthetic::end(7, second, 0)));
    if end {
        let rate =
            iolite_model::RateKept { asked: Iops(500.0), achieved: Iops(400.0), backlog: 100, kept: false };
        let verified = iolite_model::Verified { wrong: 2, ..iolite_model::Verified::default() };
        let end = PhaseEnd { rate: Some(rate), verified: Some(verified), ..synthetic::end(1, second, 0) };
        sink.event(&Event::PhaseEnded(end));
    }
}

#[test]
fn phases_that_run_together_are_distinguished() {
    let out = Shared::default();
    let mut live = Live::lines(Box::new(out.clone()));
    play_together(&mut live, true);
    live.event(&Event::PhaseEnded(synthetic::end(0, Nanos::SECOND.0, 0)));
    insta::assert_snapshot!(out.text(), @"
    trim, 500 IOPS asked: 500 IOPS, mean 1.50 ms, the rate was not reached, 2 wrong when verified
    create, 1 thread: 1,234 per second, mean 50.0 µs
    ");
    let bar = |end| {
        let target = ProgressDrawTarget::term_like(Box::new(Shared::default()));
        let mut live = Live::bar(target, false, Nanos(0));
        play_together(&mut live, end);
        let Shown::Bar(bar) = &live.view else { panic!("{live:?}") };
        bar.message()
    };
    insta::assert_snapshot!(format!("{}\n{}", bar(false), bar(true)), @"
    create: 1,234 per second; trim: 500 IOPS
    create, 1 thread: 1,234 per second, 9.6 MiB/s, mean 50.0 µs
    ");
}

#[test]
fn a_quiet_view_stays_quiet_and_an_early_drop_is_harmless() {
    let mut live = Live::new(LiveKind::Quiet, Nanos(0));
    play(&mut live);
    play_on(&mut live);
    let out = Shared::default();
    let mut live = Live::bar(ProgressDrawTarget::term_like(Box::new(out.clone())), true, Nanos::SECOND);
    live.message("early");
    assert!(out.text().contains("s of 1 s"), "{}", out.text());
    drop(live);
    assert_eq!(out.text(), "");
    drop(Live::new(LiveKind::Terminal { color: true }, Nanos::SECOND));
}

#[test]
fn the_bar_never_overflows() {
    let rendered = [0, 25, 90, 500].map(|s| spent(Duration::from_secs(s), Nanos(90_000_000_000)));
    insta::assert_snapshot!(rendered.join("\n"), @r#"
[>                   ] 0 s of 90 s
[=====>              ] 25 s of 90 s
[====================] 90 s of 90 s
[====================] 500 s of 90 s
"#);
    assert_eq!(spent(Duration::from_secs(5), Nanos(0)), "5 s");
}
