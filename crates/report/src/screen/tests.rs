use iolite_model::{OpKind, OpTotals, PhaseInfo, Reading, ReadingValue, Stage, Warning};
use iolite_stats::Histogram;
use ratatui::backend::TestBackend;

use super::*;
use crate::synthetic;

const SECOND: u64 = Nanos::SECOND.0;

/// An interval of a second with reads of 100 µs and some of 10 ms.
fn interval(second: u64) -> Event {
    let mut histogram = Histogram::new();
    (0..1000).for_each(|number| histogram.record(if number % 50 == 0 { 10_000_000 } else { 100_000 }));
    let op = OpTotals {
        kind: OpKind::Read,
        operations: 1000,
        bytes: 1000 * 4096,
        errors: 2,
        response_sum: Nanos(298_000_000),
        delay_sum: Nanos(0),
        response_max: Nanos(10_000_000),
        response: histogram.encode(),
        service: histogram.encode(),
    };
    Event::Interval(iolite_model::Interval {
        phase: 0,
        start: Nanos(second * SECOND),
        length: Nanos(SECOND),
        stage: Stage::Measured,
        ops: vec![op],
    })
}

fn measured(color: bool) -> State {
    let mut state = State::new(Nanos(60 * SECOND), color);
    state.event(&Event::RunStarted(Box::new(synthetic::run())), Nanos(0));
    let task = synthetic::read("reads \u{1b}[2J", 4096, 8);
    state.event(&Event::PhaseStarted(PhaseInfo { index: 0, task, started: Nanos(0) }), Nanos(0));
    for second in 0..12 {
        let at = Nanos((second + 1) * SECOND);
        state.event(&interval(second), at);
        let count = second as f64;
        let values = [("reads", 1000.0), ("read_bytes", 4_096_000.0), ("writes", 0.0), ("busy_seconds", 0.5)];
        let values = values.map(|(name, each)| ReadingValue::counter(name, each * count));
        let reading = Reading { probe: "device".into(), subject: "vda".into(), at, values: values.to_vec() };
        state.event(&Event::Reading(reading), at);
    }
    state.event(&Event::Warning(Warning::ThroughCache), Nanos(12 * SECOND));
    state
}

fn shown(state: &State, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw::screen(frame, state, Nanos(12 * SECOND))).unwrap();
    let buffer = terminal.backend().buffer().clone();
    let row = |y| (0..width).map(|x| buffer[(x, y)].symbol().to_owned()).collect::<String>();
    (0..height).map(|y| row(y).trim_end().to_owned() + "\n").collect()
}

#[test]
fn the_screen_shows_figures_rates_heat_devices_and_warnings() {
    let out = shown(&measured(false), 110, 32);
    assert!(!out.contains('\u{1b}'), "{out}");
    insta::assert_snapshot!(out);
}

#[test]
fn every_size_of_terminal_is_drawn() {
    let mut state = measured(true);
    for overlay in [Overlay::None, Overlay::Keys, Overlay::Quit, Overlay::Warnings] {
        state.overlay = overlay;
        for (width, height) in [(1, 1), (10, 3), (40, 12), (80, 24), (200, 60)] {
            shown(&state, width, height);
        }
    }
    shown(&State::new(Nanos(0), false), 80, 24);
}

#[test]
fn keys_ask_before_they_quit() {
    let mut state = measured(false);
    let mut press = |code| pressed(&mut state, KeyEvent::new(code, KeyModifiers::NONE));
    assert_eq!(press(KeyCode::Char('k')), Action::Stay);
    assert_eq!([press(KeyCode::Char('q')), press(KeyCode::Char('x'))], [Action::Stay, Action::Stay]);
    assert_eq!([press(KeyCode::Char('q')), press(KeyCode::Char('k'))], [Action::Stay, Action::Leave]);
    assert_eq!([press(KeyCode::Esc), press(KeyCode::Char('e'))], [Action::Stay, Action::End]);
    assert_eq!(pressed(&mut state, KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)), Action::End);
    assert_eq!(pressed(&mut state, KeyEvent::new(KeyCode::Char('?'), KeyModifiers::NONE)), Action::Stay);
    assert!(state.overlay == Overlay::Keys && shown(&state, 100, 30).contains("show or hide these keys"));
}
