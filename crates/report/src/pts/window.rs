//! The measurement window of a test: tables of its figures, mixes across, block sizes down.

use std::collections::BTreeMap;

use iolite_model::{Bytes, Iops, Nanos, PtsCell, PtsSection, PtsTerms, PtsTest};
use iolite_results::{PtsFigures, PtsProgress, PtsWindow};

use super::unit;
use crate::grid::folded;
use crate::styler::Styler;
use crate::table::{self, NONE};

/// Cache stamps that are listed one by one.
const LISTED: usize = 4;

/// The figures with their intervals; of the latency test the longest response times too; the cache stamps.
pub(super) fn tables(
    progress: &PtsProgress<'_>,
    section: PtsSection,
    window: PtsWindow,
    styler: Styler,
) -> String {
    let test = section.test;
    let blocks = blocks(progress.terms(), section);
    let figures = |block: Bytes, read_percent: u8| {
        progress.figures(section, window, PtsCell { round: window.last, read_percent, block, demand: None })
    };
    let mean = |found: &PtsFigures| {
        let interval = found.interval.as_ref().map(|interval| percent(interval.relative_half_width()));
        (short(test, found.mean), interval.unwrap_or_default())
    };
    let mut out = grid(test, &blocks, &|block, mix| figures(block, mix).map(|found| mean(&found)), styler);
    let legend =
        format!("{}, means of the window's rounds; ±: their 95 % interval, within this run", unit(test));
    out += &styler.item("  ", 2, legend);
    if test == PtsTest::Latency {
        let max = |found: &PtsFigures| (found.max.to_string(), String::new());
        out += &grid(test, &blocks, &|block, mix| figures(block, mix).map(|found| max(&found)), styler);
        out += &styler.item("  ", 2, "longest response time in the window");
    }
    let cells = blocks.iter().flat_map(|&block| test.mixes().iter().map(move |&mix| (block, mix)));
    let stamps = cells.filter_map(|(block, mix)| figures(block, mix)).flat_map(|found| found.stamps);
    out + &styler.item("  ", 2, format!("cache: {}", counted(stamps.map(table::stamp))))
}

/// The block sizes of a section, the largest first.
fn blocks(terms: &PtsTerms, section: PtsSection) -> Vec<Bytes> {
    let mut blocks: Vec<Bytes> = terms.cells(section, 1).iter().map(|cell| cell.block).collect();
    blocks.sort_unstable();
    blocks.dedup();
    blocks.reverse();
    blocks
}

/// A row for each block size, a column for each mix.
fn grid(
    test: PtsTest,
    blocks: &[Bytes],
    cell: &dyn Fn(Bytes, u8) -> Option<(String, String)>,
    styler: Styler,
) -> String {
    let mixes = test.mixes();
    let heads = mixes.iter().flat_map(|mix| [format!("{mix}/{}", 100 - mix), String::new()]);
    let mut rows = vec![std::iter::once("read/write".to_owned()).chain(heads).collect::<Vec<_>>()];
    rows.extend(blocks.iter().map(|&block| {
        let figures = mixes.iter().flat_map(|&mix| {
            let (value, interval) = cell(block, mix).unwrap_or_else(|| (NONE.to_owned(), String::new()));
            [value, interval]
        });
        std::iter::once(block.to_string()).chain(figures).map(|text| styler.clean(text)).collect()
    }));
    folded(&rows, 2, 2, |column| column == 0 || column % 2 == 1, styler)
}

/// An interval beside its value.
pub(super) fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if percent < 999.5 { format!("±{percent:.0}%") } else { "±>999%".to_owned() }
}

/// Values with their numbers, the most frequent first; without a number where there is only one value.
pub(super) fn counted(values: impl Iterator<Item = String>) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    values.for_each(|value| *counts.entry(value).or_default() += 1);
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    match counts.as_slice() {
        [] => NONE.to_owned(),
        [(only, _)] => only.clone(),
        several => {
            let (shown, others) = several.split_at(several.len().min(LISTED));
            let measured = |count: usize| match count {
                1 => "1 measurement".to_owned(),
                count => format!("{count} measurements"),
            };
            let each = shown.iter().map(|(value, count)| format!("{value} ({})", measured(*count)));
            let mut text = each.collect::<Vec<_>>().join(", ");
            if !others.is_empty() {
                let count: usize = others.iter().map(|(_, count)| count).sum();
                text += &format!(", others ({})", measured(count));
            }
            text
        }
    }
}

/// A figure without its unit.
pub(super) fn short(test: PtsTest, value: f64) -> String {
    match test {
        PtsTest::Latency => Nanos(value as u64).to_string(),
        test if test.is_throughput() => table::mebibytes(value),
        _ => Iops(value).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_values_the_most_frequent_are_listed() {
        let values = (0..12).map(|number| format!("{}", number % 6)).chain(["5".to_owned()]);
        assert_eq!(
            counted(values),
            "5 (3 measurements), 0 (2 measurements), 1 (2 measurements), 2 (2 measurements), others (4 measurements)"
        );
        assert_eq!(
            counted(["a", "a", "b"].map(str::to_owned).into_iter()),
            "a (2 measurements), b (1 measurement)"
        );
        assert_eq!(counted(["device".to_owned(), "device".to_owned()].into_iter()), "device");
    }
}
