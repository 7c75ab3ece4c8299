//! The windows of a study of read-ahead as a table: a line for each setting.

use iolite_model::{Bytes, Iops, Order, ReadAheadPoint, StudySetting, StudyWindow};

use super::{StudyReport, asked, rates, result, slowest};
use crate::chart::bars;
use crate::grid::{Line, columns};
use crate::styler::{Styler, count};
use crate::table::{NONE, mebibytes, nanos, stamp, uncertainty};

const COLUMNS: usize = 13;

/// What is left out first where there is no room.
const SPARED: [usize; 3] = [5, 10, 3];

pub(super) fn figures(report: &StudyReport<'_, ReadAheadPoint>, styler: Styler) -> String {
    let mut settings: Vec<Bytes> =
        report.windows.iter().map(|window| window.circumstance.read_ahead).collect();
    settings.dedup();
    let titles = [
        "",
        "MiB/s",
        "±",
        "requests",
        "of",
        "p99",
        "cache",
        "",
        "IOPS",
        "±",
        "p99",
        "read per byte",
        "cache",
    ];
    let mut cells: [String; COLUMNS] = Default::default();
    (cells[1], cells[8]) = ("sequential".to_owned(), "random".to_owned());
    let mut lines = vec![Line::new("", cells)];
    lines.push(Line::new("read-ahead", titles.map(|text| styler.clean(text))));
    let throughput = |order| {
        let of = |&setting: &Bytes| {
            let window = find(report, setting, order)?;
            let (iops, bytes) = rates(result(report, window)?)?;
            Some(if order == Order::Sequential { bytes } else { iops })
        };
        let values: Vec<Option<f64>> = settings.iter().map(of).collect();
        let mut bars = bars(values.iter().map(|value| value.unwrap_or(0.0)).collect(), styler);
        bars.iter_mut().zip(values).filter(|(_, value)| value.is_none()).for_each(|(bar, _)| bar.clear());
        bars
    };
    let (sequential, random) = (throughput(Order::Sequential), throughput(Order::Random));
    for (number, &setting) in settings.iter().enumerate() {
        lines.push(line(report, setting, [&sequential[number], &random[number]], styler));
    }
    columns(&lines, &SPARED, 0, styler)
        + &styler.item(
            "",
            0,
            "queue depth 1, through the page cache, which is dropped before each window; requests and their mean size as counted \
             by the underlying devices, including other programs; read per byte: bytes read by the devices per byte requested; \
             ±: 95 % interval of the rate, within this run; cache: cache stamp; *: the current setting",
        )
}

fn find<'a>(
    report: &'a StudyReport<'_, ReadAheadPoint>,
    read_ahead: Bytes,
    order: Order,
) -> Option<&'a StudyWindow<ReadAheadPoint>> {
    report.windows.iter().find(|window| window.circumstance == ReadAheadPoint { read_ahead, order })
}

fn line(
    report: &StudyReport<'_, ReadAheadPoint>,
    setting: Bytes,
    bars: [&String; 2],
    styler: Styler,
) -> Line<COLUMNS> {
    let mut cells: [String; COLUMNS] = std::array::from_fn(|_| NONE.to_owned());
    (cells[0], cells[7]) = (bars[0].clone(), bars[1].clone());
    if let Some(window) = find(report, setting, Order::Sequential) {
        if let Some(device) = window.device.filter(|device| device.reads > 0) {
            cells[3] = count(device.reads);
            cells[4] = Bytes(device.read.0 / device.reads).round_down(512).to_string();
        }
        if let Some(result) = result(report, window) {
            cells[1] = rates(result).map_or_else(|| NONE.to_owned(), |(_, bytes)| mebibytes(bytes));
            (cells[2], cells[6]) = (uncertainty(result), stamp(result.end.cache.stamp()));
            cells[5] = slowest(result, 0.99).map_or_else(|| NONE.to_owned(), nanos);
        }
    }
    if let Some(window) = find(report, setting, Order::Random) {
        if let Some((device, asked)) =
            window.device.zip(asked(report, window)).filter(|(_, asked)| asked.bytes > 0)
        {
            cells[11] = format!("{:.2}", device.read.0 as f64 / asked.bytes as f64);
        }
        if let Some(result) = result(report, window) {
            cells[8] = rates(result).map_or_else(|| NONE.to_owned(), |(iops, _)| Iops(iops).to_string());
            (cells[9], cells[12]) = (uncertainty(result), stamp(result.end.cache.stamp()));
            cells[10] = slowest(result, 0.99).map_or_else(|| NONE.to_owned(), nanos);
        }
    }
    let found = report.run.concluded::<StudySetting>().next().is_some_and(|of| of.original == setting);
    Line {
        label: format!("{setting}{}", if found { " *" } else { "" }),
        cells: cells.map(|cell| styler.clean(cell)),
    }
}
