//! Lines about times: in the unit that they are read best in.

use iolite_model::Quantile;
use iolite_stats::Histogram;

use super::durations::Durations;
use super::number::in_six;

const UNITS: [(&str, u64); 3] = [("nsec", 1), ("usec", 1_000), ("msec", 1_000_000)];

/// Width that percentiles are set in, where the line is 80 wide and begins with seven columns.
const WIDTH: usize = 73;

/// Whether times are better read in the next larger unit: none gets lost by it, and they are too wide as they are. These are
/// the limits that fio was seen to keep to.
fn too_wide(min: f64, max: f64) -> bool {
    min > 2_000.0 && max > 99_999.0
}

/// `    clat (usec): min=38, max=8174, avg=173.53, stdev=346.51`; empty where there are none.
pub(super) fn line(name: &str, durations: &Durations) -> String {
    if durations.count() == 0 {
        return String::new();
    }
    let values = [
        durations.min().0 as f64,
        durations.max().0 as f64,
        durations.mean(),
        durations.standard_deviation(),
    ];
    let (unit, [min, max, mean, deviation]) = in_unit(values);
    format!(
        "{name:>8} ({unit}): min={}, max={}, avg={mean:5.2}, stdev={deviation:5.2}\n",
        in_six(min.floor()),
        in_six(max.floor())
    )
}

/// Shortest, longest, mean and deviation in the unit that they are read best in.
fn in_unit(nanos: [f64; 4]) -> (&'static str, [f64; 4]) {
    let mut values = nanos;
    let mut unit = 0;
    while unit + 1 < UNITS.len() && too_wide(values[0], values[1]) {
        values = values.map(|value| value / 1_000.0);
        unit += 1;
    }
    (UNITS[unit].0, values)
}

/// A block of percentiles (in percent), several in a line.
pub(super) fn percentiles(name: &str, histogram: &Histogram, list: &[f64]) -> String {
    let nanos: Vec<u64> =
        list.iter().map(|&percent| histogram.quantile(Quantile(percent / 100.0)).0).collect();
    let (min, max) = (nanos.iter().min().copied().unwrap_or(0), nanos.iter().max().copied().unwrap_or(0));
    let mut unit = 0;
    while unit + 1 < UNITS.len()
        && too_wide(min as f64 / UNITS[unit].1 as f64, max as f64 / UNITS[unit].1 as f64)
    {
        unit += 1;
    }
    let (unit, factor) = UNITS[unit];
    let decimals = list.iter().map(|&percent| decimals(percent)).max().unwrap_or(0);
    let width = max.div_ceil(factor).to_string().len().max(5);
    let texts: Vec<String> = list
        .iter()
        .zip(&nanos)
        .map(|(percent, nanos)| {
            let places = decimals + 3;
            format!(" {percent:places$.decimals$}th=[{:width$}]", nanos.div_ceil(factor))
        })
        .collect();
    // With the comma behind each.
    let in_line = (WIDTH / texts.iter().map(|text| text.len() + 1).max().unwrap_or(1)).max(1);
    let lines: Vec<String> = texts.chunks(in_line).map(|line| format!("     |{}", line.join(","))).collect();
    format!("    {name} percentiles ({unit}):\n{}\n", lines.join(",\n"))
}

/// Digits behind the point that a percentile is written with, six at most.
fn decimals(percent: f64) -> usize {
    let text = format!("{percent:.6}");
    text.trim_end_matches('0').split('.').nth(1).map_or(0, str::len)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(nanos: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        nanos.iter().for_each(|&nanos| histogram.record(nanos));
        histogram
    }

    #[test]
    fn the_unit_is_the_one_that_fio_chooses() {
        // Figures out of results of fio 3.33.
        for (values, unit) in [
            ([25.0, 8_035_800.0, 58.9, 9491.0], "nsec"),
            ([16_432.0, 81_342.0, 22_308.9, 14_350.0], "nsec"),
            ([1_251.0, 3_999_200.0, 2_309.0, 19_995.0], "nsec"),
            ([26_000.0, 280_000.0, 45_770.0, 55_580.0], "usec"),
            ([38_231.0, 8_174_141.0, 173_532.0, 346_510.0], "usec"),
        ] {
            assert_eq!(in_unit(values).0, unit, "{values:?}");
        }
    }

    #[test]
    fn percentiles_are_set_as_fio_sets_them() {
        let histogram = of(&[28; 100]);
        let list = [1.0, 5.0, 99.5, 99.95, 99.99];
        let expected = "    clat percentiles (nsec):\n     |  1.00th=[   28],  5.00th=[   28], 99.50th=[   28], \
                        99.95th=[   28],\n     | 99.99th=[   28]\n";
        assert_eq!(percentiles("clat", &histogram, &list), expected);
        let whole = percentiles("clat", &histogram, &[1.0, 2.0, 99.0]);
        assert!(whole.contains("     |   1th=[   28],   2th=[   28],  99th=[   28]\n"), "{whole}");
        let fine = percentiles("lat", &of(&[692; 9]), &[50.0, 60.0, 70.0, 99.9999, 99.99999]);
        assert!(
            fine.contains("| 50.00000th=[  692], 60.00000th=[  692], 70.00000th=[  692],\n     | 99.99990th"),
            "{fine}"
        );
        let wide = percentiles("clat", &of(&[628, 250_880]), &[1.0, 99.0, 99.5]);
        assert!(wide.contains("|  1.0th=[   628], 99.0th=[251"), "{wide}");
    }

    #[test]
    fn nothing_measured_has_no_line() {
        assert_eq!(line("clat", &Durations::default()), "");
        assert!(percentiles("clat", &Histogram::new(), &[]).starts_with("    clat percentiles"));
    }
}
