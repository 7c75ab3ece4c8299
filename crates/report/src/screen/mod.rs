//! The full-screen view of a run in progress: a consumer of its events, drawn by a thread of its own.

mod draw;
mod heat;
mod state;

use std::io::{self, IsTerminal, Stderr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use iolite_model::{Event, Nanos, Sink, View};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

use crate::live::{Live, LiveKind};
use state::{Overlay, State};

/// How often it is drawn, and looks for keys.
const TICK: Duration = Duration::from_millis(250);

/// Time to give the terminal back at the end.
const GRACE: Duration = Duration::from_secs(1);

/// The view. Dropped at any time, it leaves the terminal as it was.
pub struct Screen {
    shared: Arc<Shared>,
    drawing: Option<JoinHandle<()>>,
    started: Instant,
    /// The compact view that has taken over, where the user has left the full screen.
    compact: Option<Live>,
    color: bool,
    budget: Nanos,
}

/// What the thread that draws and the thread that brings events share.
struct Shared {
    state: Mutex<State>,
    /// The screen is over: the run has ended, or the user has left it.
    over: AtomicBool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Screen {
    /// Takes the terminal on standard error; `budget` is the time that the whole run may take, 0 where nobody knows. `end` is called
    /// where the user ends the run.
    ///
    /// # Errors
    /// The terminal cannot be used so.
    pub fn start(color: bool, budget: Nanos, end: fn()) -> io::Result<Screen> {
        let shared =
            Arc::new(Shared { state: Mutex::new(State::new(budget, color)), over: AtomicBool::new(false) });
        let terminal = Taken::new()?;
        let started = Instant::now();
        let of_thread = shared.clone();
        let drawing = std::thread::Builder::new()
            .name("screen".into())
            .spawn(move || drawn(terminal, &of_thread, started, end))?;
        Ok(Screen { shared, drawing: Some(drawing), started, compact: None, color, budget })
    }

    fn now(&self) -> Nanos {
        Nanos(u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// The compact view, once the user has left the full screen.
    fn compact(&mut self) -> Option<&mut Live> {
        let has_left = self.shared.over.load(Ordering::Relaxed) && self.drawing.is_some();
        if has_left && self.compact.is_none() {
            self.join();
            let mut live = Live::new(LiveKind::Terminal { color: self.color }, self.budget);
            // It has seen none of the phases in progress begin.
            let open = self.shared.state().open();
            open.into_iter().for_each(|info| live.event(&Event::PhaseStarted(info)));
            self.compact = Some(live);
        }
        self.compact.as_mut()
    }

    fn join(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        let Some(drawing) = self.drawing.take() else { return };
        // A terminal that was closed may hold the thread in a read that never ends: the run must not wait for it.
        let given_up = Instant::now() + GRACE;
        while !drawing.is_finished() && Instant::now() < given_up {
            std::thread::sleep(TICK / 10);
        }
        if drawing.is_finished() {
            // A thread that has panicked has given the terminal back as well.
            let _ = drawing.join();
        }
    }
}

impl View for Screen {
    fn message(&mut self, text: &str) {
        self.shared.state().message(text);
        if let Some(live) = self.compact() {
            live.message(text);
        }
    }

    fn finish(&mut self) {
        self.join();
        if let Some(live) = &mut self.compact {
            live.finish();
        }
    }
}

impl Sink for Screen {
    fn event(&mut self, event: &Event) {
        let now = self.now();
        // Replayed to a compact view that begins now, this one would come twice.
        let live = self.compact().map(|live| live.event(event));
        self.shared.state().event(event, now);
        if matches!(event, Event::RunEnded(_)) && live.is_none() {
            self.finish();
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.finish();
    }
}

impl std::fmt::Debug for Screen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Screen").field("started", &self.started).finish()
    }
}

/// The terminal, taken until dropped.
struct Taken(Terminal<CrosstermBackend<Stderr>>);

impl Taken {
    fn new() -> io::Result<Taken> {
        enable_raw_mode()?;
        let entered = execute!(io::stderr(), EnterAlternateScreen);
        let terminal = entered.and_then(|()| Terminal::new(CrosstermBackend::new(io::stderr())));
        if terminal.is_err() {
            let _ = disable_raw_mode();
        }
        terminal.map(Taken)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        // Nothing can be done about a terminal that has gone.
        let _ = execute!(io::stderr(), LeaveAlternateScreen);
        let _ = self.0.show_cursor();
        let _ = disable_raw_mode();
    }
}

/// Draws until the screen is over, and does what the keys say.
fn drawn(mut terminal: Taken, shared: &Shared, started: Instant, end: fn()) {
    while !shared.over.load(Ordering::Relaxed) {
        let elapsed = Nanos(u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX));
        let is_drawn = terminal.0.draw(|frame| draw::screen(frame, &shared.state(), elapsed));
        // Without a terminal the run goes on unseen. One that was closed would be read again and again.
        if is_drawn.is_err() || !io::stderr().is_terminal() {
            return;
        }
        let key = match event::poll(TICK) {
            Ok(true) => event::read().ok().and_then(|event| event.as_key_press_event()),
            Ok(false) => None,
            Err(_) => return,
        };
        match key.map(|key| pressed(&mut shared.state(), key)) {
            Some(Action::Leave) => shared.over.store(true, Ordering::Relaxed),
            Some(Action::End) => end(),
            Some(Action::Stay) | None => {}
        }
    }
}

/// What becomes of the screen after a key.
#[derive(Debug, PartialEq, Eq)]
enum Action {
    Stay,
    /// The compact view takes over.
    Leave,
    /// The run ends.
    End,
}

fn pressed(state: &mut State, key: KeyEvent) -> Action {
    if key.kind != KeyEventKind::Press {
        return Action::Stay;
    }
    let is_interrupt = key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c');
    let overlay = std::mem::replace(&mut state.overlay, Overlay::None);
    match (overlay, key.code) {
        _ if is_interrupt => {
            state.message("ending the run");
            Action::End
        }
        (Overlay::Quit, KeyCode::Char('e')) => {
            state.message("ending the run");
            Action::End
        }
        (Overlay::Quit, KeyCode::Char('k' | 'q')) => Action::Leave,
        (Overlay::None, KeyCode::Char('q') | KeyCode::Esc) => {
            state.overlay = Overlay::Quit;
            Action::Stay
        }
        (Overlay::None, KeyCode::Char('?' | 'h')) => {
            state.overlay = Overlay::Keys;
            Action::Stay
        }
        (Overlay::None, KeyCode::Char('w')) => {
            state.overlay = Overlay::Warnings;
            Action::Stay
        }
        _ => Action::Stay,
    }
}

#[cfg(test)]
mod tests;
