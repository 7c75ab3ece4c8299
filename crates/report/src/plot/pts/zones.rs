//! Zones of a hard disk: figures over the position on the device.

use iolite_model::PtsTest;
use iolite_results::{PtsProgress, Run};

use super::{Line, drawn, of_runs, series};
use crate::plot::source::{Drawn, MIB};

/// A series for each mix and block size.
pub(in crate::plot) fn zones(runs: &[Run]) -> Drawn {
    let found = of_runs(runs);
    let mut lines = Vec::new();
    for (run, terms) in &found {
        let progress = PtsProgress::of(run, terms);
        for section in terms.sections().into_iter().filter(|section| section.test.is_by_zone()) {
            let panel = usize::from(section.test == PtsTest::ZoneThroughput);
            let scale = if section.test.is_throughput() { MIB } else { 1.0 };
            for cell in terms.cells(section, 1) {
                let of = |zone: u32| {
                    let figure = progress.figure(section, iolite_model::PtsCell { round: zone, ..cell })?;
                    let middle = 100.0 * (f64::from(zone) - 0.5) / f64::from(terms.zones.max(1));
                    Some((middle, figure / scale))
                };
                let name = format!("{} % reads of {}", cell.read_percent, cell.block);
                let points = (1..=terms.zones).filter_map(of).collect();
                lines.push(Line::new(panel, series(run, name), points));
            }
        }
    }
    let axes = [("random: operations per second", false), ("sequential: MiB per second", false)];
    let about = "Operations per second and throughput by zone, from the start of the device to its end";
    drawn("Zones", about, &axes, "position on the device in %", lines)
}
