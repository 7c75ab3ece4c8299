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

/// A table as lines, the first column the rows' names. Where it is wider than the terminal, it continues below with further columns,
/// beside the same names: nothing is left out. `together` columns of figures are never parted.
pub(crate) fn folded(
    rows: &[Vec<String>],
    indent: usize,
    together: usize,
    right: impl Fn(usize) -> bool,
    styler: Styler,
) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max().unwrap_or(0)
    };
    let name = indent + width(0);
    let mut parts: Vec<Vec<usize>> = Vec::new();
    let mut used = name;
    for unit in (1..columns).collect::<Vec<_>>().chunks(together.max(1)) {
        let needed = unit.iter().map(|&column| width(column).max(1) + 2).sum::<usize>();
        match parts.last_mut().filter(|_| used + needed <= styler.width()) {
            Some(part) => part.extend(unit),
            None => {
                parts.push(unit.to_vec());
                used = name;
            }
        }
        used += needed;
    }
    let mut out = String::new();
    for part in parts {
        let shown: Vec<usize> = std::iter::once(0).chain(part).collect();
        let cells = |row: &Vec<String>| {
            shown.iter().map(|&column| row.get(column).cloned().unwrap_or_default()).collect::<Vec<_>>()
        };
        let lines =
            aligned(rows.iter().map(cells), indent, |column| shown.get(column).is_some_and(|&of| right(of)));
        lines.into_iter().for_each(|line| out += &(line + "\n"));
    }
    out
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
    fn a_table_that_is_too_wide_continues_below_and_loses_nothing() {
        let head = ["", "100/0", "", "95/5", "", "50/50", ""];
        let row = ["1 MiB", "1,234,567,890", "±3 %", "9,876,543,210", "±12 %", "5,555,555,555", ""];
        let rows = [head, row].map(|row| row.map(str::to_owned).to_vec());
        let at = |width| {
            let styler = Styler(crate::Style { color: false, unicode: true, width });
            folded(&rows, 2, 2, |column| column % 2 == 1, styler)
        };
        assert_eq!(
            at(80),
            "                 100/0                 95/5                 50/50\n  \
               1 MiB  1,234,567,890  ±3 %  9,876,543,210  ±12 %  5,555,555,555\n"
        );
        // A figure and its interval stay together.
        assert_eq!(
            at(60),
            "                 100/0                 95/5\n  1 MiB  1,234,567,890  ±3 %  9,876,543,210  ±12 %\n\
             \x20                50/50\n  1 MiB  5,555,555,555\n"
        );
        for width in [60, 70, 120] {
            assert!(at(width).lines().all(|line| line.width() <= width), "{}", at(width));
            assert!(rows[1].iter().all(|cell| at(width).contains(cell)), "{}", at(width));
        }
    }

    #[test]
    fn columns_are_as_wide_as_what_the_terminal_shows() {
        let rows = [["a", "1"], ["日本", "22"], ["", "333"]].map(|row| row.map(str::to_owned));
        assert_eq!(aligned(rows, 1, |column| column == 1), [" a       1", " 日本   22", "       333"]);
    }
}
