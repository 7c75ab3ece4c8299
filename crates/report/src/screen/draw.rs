//! The full screen, drawn from its state.

use iolite_model::{Bytes, Iops, Nanos, Quantile};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Clear, Paragraph, Row, Sparkline, Table, Wrap};

use super::heat::Heat;
use super::state::{DeviceLine, Overlay, State, Tally};
use crate::live::filled;
use crate::styler::count;

/// Devices that have a line.
const DEVICES: usize = 4;

const KEYS: &str = "\
?   show or hide these keys
w   show all warnings
q   quit the full screen: then end the run, or keep it running
Ctrl-C   end the run; what was measured so far is printed and stored";

const QUIT: &str = "\
e   end the run; what was measured so far is printed and stored
k   keep the run going with the compact progress line
any other key   back";

/// Everything.
pub(super) fn screen(frame: &mut Frame<'_>, state: &State, elapsed: Nanos) {
    let devices = state.devices.len().min(DEVICES) as u16;
    let warnings = state.warnings.len().min(2) as u16;
    let parts = Layout::vertical([
        Constraint::Length(2),
        Constraint::Length(4),
        Constraint::Length(5),
        Constraint::Min(4),
        Constraint::Length(if devices > 0 { devices + 2 } else { 0 }),
        Constraint::Length(if warnings > 0 { warnings + 1 } else { 0 }),
        Constraint::Length(1),
    ])
    .split(frame.area());
    head(frame, parts[0], state, elapsed);
    figures(frame, parts[1], state);
    rates(frame, parts[2], state);
    heat(frame, parts[3], state);
    if devices > 0 {
        device_table(frame, parts[4], state);
    }
    if warnings > 0 {
        let lines = state.warnings.iter().rev().take(2).map(|text| Line::from(text.clone()));
        let block = Block::new().title(format!("warnings ({}; w: all)", state.warnings.len()));
        frame.render_widget(
            Paragraph::new(lines.collect::<Vec<_>>()).block(block.style(warning(state))),
            parts[5],
        );
    }
    frame.render_widget(Paragraph::new("? keys   w warnings   q quit"), parts[6]);
    overlay(frame, state);
}

fn strong() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

fn warning(state: &State) -> Style {
    if state.color { Style::new().fg(Color::Yellow) } else { Style::new() }
}

/// What runs, and how long it takes.
fn head(frame: &mut Frame<'_>, area: Rect, state: &State, elapsed: Nanos) {
    let seconds = elapsed.0 / Nanos::SECOND.0;
    let time = match state.budget.0 {
        0 => format!("{seconds} s"),
        budget => {
            let left = budget.saturating_sub(elapsed.0).div_ceil(Nanos::SECOND.0);
            let share = elapsed.0 as f64 / budget as f64;
            format!("{} {seconds} s, at most {left} s left", filled(share))
        }
    };
    let title = format!("iolite {}   {time}   {} phases done", state.run, state.phases_ended);
    let lines = vec![Line::styled(title, strong()), Line::from(state.activity())];
    frame.render_widget(Paragraph::new(lines), area);
}

/// The figures of the moment, and of the phase so far.
fn figures(frame: &mut Frame<'_>, area: Rect, state: &State) {
    let heading = ["", "per second", "MiB/s", "mean", "p50", "p99", "p99.9", "max", "errors"];
    let widths = [12, 12, 10, 10, 10, 10, 10, 10, 8].map(Constraint::Length);
    let rows = [row("last 5 s", &state.latest()), row("this phase", &state.phase)];
    let table = Table::new(rows, widths).header(Row::new(heading).style(strong()));
    frame.render_widget(table, area);
}

fn row(name: &str, tally: &Tally) -> Row<'static> {
    let rate = |amount: f64| if tally.seconds > 0.0 { amount / tally.seconds } else { 0.0 };
    let has_times = tally.response.count() > 0;
    let time = |nanos: Nanos| if has_times { nanos.to_string() } else { "-".to_owned() };
    let quantile = |share| time(tally.response.quantile(Quantile(share)));
    Row::new([
        name.to_owned(),
        Iops(rate(tally.operations as f64)).to_string(),
        format!("{:.1}", rate(tally.bytes as f64) / Bytes::MIB.0 as f64),
        time(Nanos(tally.response.mean() as u64)),
        quantile(0.5),
        quantile(0.99),
        quantile(0.999),
        time(tally.response.max()),
        count(tally.errors),
    ])
}

/// Operations per second over the last minutes.
fn rates(frame: &mut Frame<'_>, area: Rect, state: &State) {
    let rate = |column: &Tally| (column.operations as f64 / column.seconds.max(1e-9)) as u64;
    let all: Vec<u64> = state.columns.iter().map(rate).collect();
    let shown = &all[all.len().saturating_sub(usize::from(area.width))..];
    let highest = shown.iter().copied().max().unwrap_or(0);
    let block =
        Block::new().title(format!("operations per second, one column a second; highest {}", count(highest)));
    let style = if state.color { Style::new().fg(Color::Cyan) } else { Style::new() };
    frame.render_widget(
        Sparkline::default().data(shown).style(style).block(block.title_style(strong())),
        area,
    );
}

fn heat(frame: &mut Frame<'_>, area: Rect, state: &State) {
    let block = Block::new().title("response time; brighter: more operations").title_style(strong());
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let columns: Vec<&Tally> = state.columns.iter().collect();
    frame.render_widget(Heat { columns: &columns, color: state.color }, inner);
}

fn device_table(frame: &mut Frame<'_>, area: Rect, state: &State) {
    let heading = ["device", "reads/s", "MiB/s", "writes/s", "MiB/s", "busy", "in flight"];
    let widths = [16, 10, 10, 10, 10, 8, 10].map(Constraint::Length);
    let mut devices: Vec<&DeviceLine> = state.devices.values().collect();
    devices.sort_by(|one, other| other.busy.total_cmp(&one.busy));
    let mebibytes = |bytes: f64| format!("{:.1}", bytes / Bytes::MIB.0 as f64);
    let row = |device: &&DeviceLine| {
        Row::new([
            device.name.clone(),
            Iops(device.reads).to_string(),
            mebibytes(device.read_bytes),
            Iops(device.writes).to_string(),
            mebibytes(device.written_bytes),
            format!("{:.0} %", 100.0 * device.busy),
            format!("{:.0}", device.in_flight),
        ])
    };
    let rows: Vec<Row<'_>> = devices.iter().take(DEVICES).map(row).collect();
    frame.render_widget(Table::new(rows, widths).header(Row::new(heading).style(strong())), area);
}

/// What is shown above the rest, in a box.
fn overlay(frame: &mut Frame<'_>, state: &State) {
    let (title, text) = match state.overlay {
        Overlay::None => return,
        Overlay::Keys => ("keys", KEYS.to_owned()),
        Overlay::Quit => ("quit", QUIT.to_owned()),
        Overlay::Warnings if state.warnings.is_empty() => ("warnings", "none so far".to_owned()),
        Overlay::Warnings => ("warnings", state.warnings.iter().cloned().collect::<Vec<_>>().join("\n\n")),
    };
    let area = frame.area();
    let height =
        (text.lines().count() as u16 + 2).max(if state.overlay == Overlay::Warnings { 12 } else { 0 });
    let size = (area.width.saturating_sub(4).min(90), area.height.min(height));
    let place = Rect::new((area.width - size.0) / 2, (area.height - size.1) / 2, size.0, size.1);
    let text = Paragraph::new(text).wrap(Wrap { trim: false }).block(Block::bordered().title(title));
    frame.render_widget(Clear, place);
    frame.render_widget(text, place);
}
