//! Text in columns: what lays out every table but a check's.

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};
use unicode_width::UnicodeWidthStr;

use crate::styler::Styler;

/// A line of a table of figures: a label to the left, cells to the right.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line<const N: usize> {
    pub(crate) label: String,
    pub(crate) cells: [String; N],
}

impl<const N: usize> Line<N> {
    pub(crate) fn new(label: impl Into<String>, cells: [String; N]) -> Line<N> {
        Line { label: label.into(), cells }
    }
}

/// Rows of cells as lines, the columns two spaces apart; which columns, by number, are aligned to the right.
pub fn aligned<R: IntoIterator<Item = String>>(
    rows: impl IntoIterator<Item = R>,
    indent: usize,
    right: impl Fn(usize) -> bool,
) -> Vec<String> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    for row in rows {
        table.add_row(row.into_iter().map(Cell::new).collect::<Vec<_>>());
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((if index == 0 { indent as u16 } else { 0 }, 2));
        if right(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect()
}

/// Lines of figures under each other; columns are left out in the order of `spared` until the rest fits.
pub(crate) fn columns<const N: usize>(
    lines: &[Line<N>],
    spared: &[usize],
    indent: usize,
    styler: Styler,
) -> String {
    let label = lines.iter().map(|line| line.label.width()).max().unwrap_or(0);
    let width = |column: usize| lines.iter().map(|line| line.cells[column].width()).max().unwrap_or(0);
    let mut shown: Vec<usize> = (0..N).collect();
    for column in spared {
        let needed = indent + label + shown.iter().map(|&column| width(column) + 2).sum::<usize>();
        if needed <= styler.width() {
            break;
        }
        shown.retain(|other| other != column);
    }
    // A column without text would still be one wide.
    let labels = usize::from(label > 0);
    let rows = lines.iter().map(|line| {
        let cells = shown.iter().map(|&column| &line.cells[column]);
        std::iter::once(&line.label).take(labels).chain(cells).cloned()
    });
    let indent = if labels == 0 { indent + 2 } else { indent };
    aligned(rows, indent, |column| column >= labels).into_iter().map(|line| line + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_what_the_terminal_shows() {
        let rows = [["a", "1"], ["日本", "22"], ["", "333"]].map(|row| row.map(str::to_owned));
        assert_eq!(aligned(rows, 1, |column| column == 1), [" a       1", " 日本   22", "       333"]);
    }
}
