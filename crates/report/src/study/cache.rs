//! The windows of a study of the page cache as a table.

use iolite_model::{Bytes, CachePoint, Iops, OpKind, Order, StudyWindow};

use super::{StudyReport, asked, rates, result, slowest};
use crate::grid::{Line, columns};
use crate::styler::{Styler, count};
use crate::table::{NONE, mebibytes, nanos, stamp, uncertainty};

const COLUMNS: usize = 12;

/// What is left out first where there is no room.
const SPARED: [usize; 4] = [8, 5, 2, 7];

pub(super) fn figures(report: &StudyReport<'_, CachePoint>, styler: Styler) -> String {
    let heading = [
        "reads",
        "requests",
        "asked",
        "on device",
        "IOPS",
        "MiB/s",
        "±",
        "mean",
        "p50",
        "p99",
        "resident",
        "cache",
    ];
    let mut lines = vec![Line::new("", heading.map(|text| styler.clean(text)))];
    for order in [Order::Random, Order::Sequential] {
        let mut of_order: Vec<_> =
            report.windows.iter().filter(|window| window.circumstance.order == order).collect();
        // They were run in a random order.
        of_order.sort_by_key(|window| window.circumstance.way);
        if let Some(block) = of_order.first().and_then(|window| block(report, window)) {
            let label = format!("{}, {block}", order.name());
            lines.push(Line::new(label, Default::default()));
            lines.extend(of_order.into_iter().map(|window| line(report, window, styler)));
        }
    }
    columns(&lines, &SPARED, 0, styler)
        + &styler.item(
            "",
            0,
            "queue depth 1; reads and bytes requested, and the requests and bytes counted by the underlying devices, including \
             other programs; ±: 95 % interval of the rate, within this run; resident: share that was in the page cache before; \
             cache: cache stamp; -: not available",
        )
}

fn block(report: &StudyReport<'_, CachePoint>, window: &StudyWindow<CachePoint>) -> Option<Bytes> {
    match &result(report, window)?.info.task {
        iolite_model::Task::File(task) => Some(task.block),
        _ => None,
    }
}

fn line(
    report: &StudyReport<'_, CachePoint>,
    window: &StudyWindow<CachePoint>,
    styler: Styler,
) -> Line<COLUMNS> {
    let mut cells: [String; COLUMNS] = std::array::from_fn(|_| NONE.to_owned());
    if let Some(asked) = asked(report, window) {
        cells[0] = count(asked.operations);
        cells[2] = Bytes(asked.bytes).to_string();
    }
    if let Some(device) = window.device {
        cells[1] = count(device.reads);
        cells[3] = device.read.to_string();
    }
    if let Some(result) = result(report, window) {
        if let Some((iops, bytes)) = rates(result) {
            cells[4] = Iops(iops).to_string();
            cells[5] = mebibytes(bytes);
            cells[6] = uncertainty(result);
            cells[11] = stamp(result.end.cache.stamp());
        }
        if let Some(summary) = result.summary(OpKind::Read) {
            cells[7] = nanos(summary.mean.value);
        }
        for (column, share) in [(8, 0.5), (9, 0.99)] {
            cells[column] = slowest(result, share).map_or_else(|| NONE.to_owned(), nanos);
        }
    }
    if let Some(share) = window.resident_before {
        cells[10] = format!("{:.0} %", share * 100.0);
    }
    Line {
        label: format!("  {}", window.circumstance.way.name()),
        cells: cells.map(|cell| styler.clean(cell)),
    }
}
