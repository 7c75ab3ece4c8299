//! Periodicity: Fisher's test of the periodogram's largest peak.

use std::f64::consts::TAU;

use super::Change;

/// Points below which a period cannot be seen.
const FEWEST: usize = 24;

/// Cycles that a run must hold: fewer are a drift.
const CYCLES: usize = 3;

/// Probability of a false alarm.
const LEVEL: f64 = 0.001;

/// An amplitude below this share of the mean is of no interest.
const MIN_AMPLITUDE: f64 = 0.05;

/// The strongest period of the rates within their levels, where it is significant.
pub(super) fn periodic(points: &[(f64, f64)], rates: &[f64], borders: &[usize]) -> Option<Change> {
    if rates.len() < FEWEST {
        return None;
    }
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    let centred = within_levels(rates, borders);
    let white = filtered(&centred);
    let powers: Vec<(usize, f64)> =
        (CYCLES..white.len() / 2).map(|cycles| (cycles, power(&white, cycles))).collect();
    let total: f64 = powers.iter().map(|power| power.1).sum();
    let &(cycles, largest) = powers.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    // The probability that any of q shares of independent noise is as large, by Bonferroni's bound.
    let count = powers.len() as f64;
    let chance = count * (1.0 - largest / total).powf(count - 1.0);
    // A wave that is not a sine has peaks at multiples of its frequency, which the filter makes larger.
    let multiples = (1..=4).filter(|multiple| cycles % multiple == 0 && cycles / multiple >= CYCLES);
    let basic = multiples.map(|multiple| cycles / multiple);
    let cycles = basic.max_by(|&a, &b| power(&centred, a).total_cmp(&power(&centred, b)))?;
    let amplitude = (power(&centred, cycles) * 4.0).sqrt() / centred.len() as f64 / mean;
    if !(total > 0.0 && chance < LEVEL && amplitude >= MIN_AMPLITUDE) {
        return None;
    }
    let seconds: f64 = points.iter().map(|entry| entry.0).sum();
    Some(Change::Periodic { seconds: seconds / cycles as f64, amplitude })
}

/// Each point less the mean of its level.
fn within_levels(rates: &[f64], borders: &[usize]) -> Vec<f64> {
    let ends = borders.iter().copied().chain([rates.len()]);
    let mut centred = Vec::with_capacity(rates.len());
    let mut start = 0;
    for end in ends {
        let level = &rates[start..end];
        let mean = level.iter().sum::<f64>() / level.len() as f64;
        centred.extend(level.iter().map(|rate| rate - mean));
        start = end;
    }
    centred
}

/// The series without its lag-1 correlation, so that red noise shows no peak. A negative one is a period's own.
fn filtered(series: &[f64]) -> Vec<f64> {
    let square: f64 = series.iter().map(|value| value * value).sum();
    let product: f64 = series.iter().zip(series.iter().skip(1)).map(|(a, b)| a * b).sum();
    let rho = if square > 0.0 { (product / square).clamp(0.0, 0.99) } else { 0.0 };
    series.iter().zip(series.iter().skip(1)).map(|(before, now)| now - rho * before).collect()
}

/// The squared Fourier coefficient of so many cycles over the series.
fn power(series: &[f64], cycles: usize) -> f64 {
    let step = TAU * cycles as f64 / series.len() as f64;
    let (mut real, mut imaginary) = (0.0, 0.0);
    for (index, value) in series.iter().enumerate() {
        let (sine, cosine) = (step * index as f64).sin_cos();
        real += value * cosine;
        imaginary += value * sine;
    }
    real * real + imaginary * imaginary
}
