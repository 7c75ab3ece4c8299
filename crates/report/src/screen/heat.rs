//! The distribution of the response times over the last minutes, as coloured characters.

use iolite_model::Nanos;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::widgets::Widget;

use super::state::Tally;

/// Columns of the labels.
const LABELS: u16 = 9;

/// From few to many, where there are no colours.
const SHADES: [&str; 4] = ["░", "▒", "▓", "█"];

/// From few to many: colours of the 256 that nearly all terminals have, from dark blue to yellow.
const COLORS: [u8; 6] = [54, 61, 31, 36, 77, 226];

/// The latest columns on the right, response times upwards, the share of a column's operations as colour.
pub(super) struct Heat<'a> {
    pub(super) columns: &'a [&'a Tally],
    pub(super) color: bool,
}

impl Heat<'_> {
    /// Smallest and largest response time, as powers of ten.
    fn range(&self) -> Option<(f64, f64)> {
        let known = || self.columns.iter().filter(|column| column.response.count() > 0);
        let low = known().map(|column| column.response.min().0.max(1)).min()?;
        let high = known().map(|column| column.response.max().0.max(1)).max()?;
        let (low, high) = ((low as f64).log10(), (high as f64).log10());
        Some((low, high.max(low + 0.5)))
    }

    fn cell(&self, share: f64) -> (&'static str, Style) {
        // Rare slow operations are to be seen.
        let share = share.sqrt();
        if self.color {
            let place = ((share * COLORS.len() as f64) as usize).min(COLORS.len() - 1);
            return ("█", Style::new().fg(Color::Indexed(COLORS[place])));
        }
        (SHADES[((share * SHADES.len() as f64) as usize).min(SHADES.len() - 1)], Style::new())
    }
}

impl Widget for Heat<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let Some((low, high)) = self.range() else {
            buffer.set_string(area.x, area.y, "no operation has completed yet", Style::new());
            return;
        };
        if area.width <= LABELS + 1 || area.height == 0 {
            return;
        }
        let rows = f64::from(area.height);
        let row_of = |nanos: u64| {
            let share = ((nanos.max(1) as f64).log10() - low) / (high - low);
            area.height - 1 - ((share * rows) as u16).min(area.height - 1)
        };
        for row in (0..area.height).step_by(2) {
            let middle = low + (high - low) * (1.0 - (f64::from(row) + 0.5) / rows);
            let label = Nanos(10f64.powf(middle) as u64).to_string();
            buffer.set_string(area.x, area.y + row, format!("{label:>8}"), Style::new());
        }
        let room = usize::from(area.width - LABELS);
        let shown = &self.columns[self.columns.len().saturating_sub(room)..];
        for (place, column) in (0u16..).zip(shown) {
            let mut counts = vec![0u64; usize::from(area.height)];
            for (Nanos(nanos), count) in column.response.iter() {
                let row = &mut counts[usize::from(row_of(nanos))];
                *row = row.saturating_add(count);
            }
            let all = column.response.count().max(1) as f64;
            for (row, count) in (0u16..).zip(counts).filter(|(_, count)| *count > 0) {
                let (text, style) = self.cell(count as f64 / all);
                buffer.set_string(area.x + LABELS + place, area.y + row, text, style);
            }
        }
    }
}
