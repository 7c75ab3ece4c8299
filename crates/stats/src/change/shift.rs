//! Level shifts: a self-normalised CUSUM over nested windows.

/// Shortest segment, in points.
const SEGMENT: usize = 5;

/// Levels that differ by less than this share of the larger are one level to whoever reads a report.
const MIN_SHIFT: f64 = 0.1;

/// Where levels change: the index of the first point of each later level, in order.
pub(super) fn borders(rates: &[f64]) -> Vec<usize> {
    let mut found = Vec::new();
    split(rates, 0, &mut found);
    found.sort_unstable();
    found
}

/// Finds the clearest shift, then looks on both sides of it.
fn split(rates: &[f64], offset: usize, found: &mut Vec<usize>) {
    let segment = SEGMENT.max(rates.len() / 10);
    if rates.len() < 2 * segment + 2 {
        return;
    }
    let scores = (segment..=rates.len() - segment).map(|at| (at, score(rates, at, segment)));
    let Some((at, best)) = scores.max_by(|a, b| a.1.total_cmp(&b.1)) else { return };
    let (left, right) = rates.split_at(at);
    if best < critical(rates.len()) || !is_large(left, right) {
        return;
    }
    found.push(offset + at);
    split(left, offset, found);
    split(right, offset + at, found);
}

/// The score that 1 % of series of AR(1) noise with a correlation of 0.9 exceed, at any of their points; of independent
/// noise less than 0.1 % do. A line above what simulation gives for 12 to 120 points (docs/statistics.md).
fn critical(points: usize) -> f64 {
    (300.0 + 12.5 * points as f64).min(860.0)
}

/// Whether the levels beside a border, by their medians, differ by so much that a reader should know.
fn is_large(left: &[f64], right: &[f64]) -> bool {
    let (left, right) = (super::median(left), super::median(right));
    (left - right).abs() >= MIN_SHIFT * left.max(right)
}

/// The largest score of a border over windows around it that double in length on either side.
fn score(rates: &[f64], at: usize, segment: usize) -> f64 {
    let mut best = 0.0f64;
    for left in extents(at, segment) {
        for right in extents(rates.len() - at, segment) {
            best = best.max(self_normalised(&rates[at - left..at + right], left));
        }
    }
    best
}

fn extents(max: usize, segment: usize) -> impl Iterator<Item = usize> {
    let doubled = std::iter::successors(Some(segment), |length| Some(length * 2));
    doubled.take_while(move |&length| length < max).chain([max])
}

/// The squared CUSUM at a border over its self-normaliser: the squared CUSUMs within both sides (Shao & Zhang 2010, 2.1).
fn self_normalised(window: &[f64], at: usize) -> f64 {
    let n = window.len() as f64;
    let mean = window.iter().sum::<f64>() / n;
    let (left, right) = window.split_at(at);
    let distance: f64 = left.iter().map(|value| value - mean).sum();
    // Rounding of a constant series must not count as its noise.
    let floor = (1e-6 * mean).powi(2) * n;
    distance * distance * n / (within(left) + within(right)).max(floor).max(f64::MIN_POSITIVE)
}

fn within(side: &[f64]) -> f64 {
    let mean = side.iter().sum::<f64>() / side.len() as f64;
    let mut sum = 0.0;
    side.iter()
        .map(|value| {
            sum += value - mean;
            sum * sum
        })
        .sum()
}
