//! Fitting the models: least squares of relative errors, and the choice between them.

use super::Point;
use super::pool;
use crate::knee::model::ScalingModel;

/// A plateau is pooled from points this far beyond the crossing of the asymptotes where there are two such points:
/// queueing rounds off the corner, and points on it would drag the plateau down.
const CORNER: f64 = 1.5;

/// The model with the smaller Akaike criterion, χ² + 2 parameters (Akaike 1974; with known errors the likelihood is
/// χ² itself, which makes the small-sample correction needless). Equals go to the asymptotes, which are simpler to
/// act upon. `None` when no model has a finite misfit.
pub(super) fn best(points: &[Point]) -> Option<ScalingModel> {
    if points.len() < 2 {
        return None;
    }
    let candidates = asymptotes(points).into_iter().chain(usl(points));
    let scored = candidates.map(|model| (misfit(&model, points) + 2.0 * model.parameters() as f64, model));
    scored.filter(|(score, _)| score.is_finite()).min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, model)| model)
}

/// Root mean square of the relative residuals over their degrees of freedom.
pub(super) fn relative_residual(model: &ScalingModel, points: &[Point]) -> f64 {
    let squares: f64 = points.iter().map(|point| (model.throughput(point.c) / point.x - 1.0).powi(2)).sum();
    (squares / points.len().saturating_sub(model.parameters()).max(1) as f64).sqrt()
}

/// The points a plateau is pooled from: beyond the corner where there are two, else all beyond the crossing, else
/// (no plateau yet) the last.
pub(super) fn on_plateau(points: &[Point], model: &ScalingModel) -> Vec<Point> {
    let ScalingModel::Asymptotes { lambda, plateau } = *model else { return Vec::new() };
    let beyond = |factor: f64| -> Vec<Point> {
        points.iter().filter(|point| point.c * lambda >= factor * plateau).copied().collect()
    };
    let clear = beyond(CORNER);
    // Rounding must not lose the point that the crossing itself was put on.
    let clear = if clear.len() >= 2 { clear } else { beyond(1.0 - 1e-9) };
    if clear.is_empty() { points.last().copied().into_iter().collect() } else { clear }
}

/// χ²: squared relative residuals in units of each point's relative error.
fn misfit(model: &ScalingModel, points: &[Point]) -> f64 {
    points.iter().map(|point| ((model.throughput(point.c) / point.x - 1.0) / point.error).powi(2)).sum()
}

/// The best two asymptotes: every split of the points into a rising and a flat part is tried, among them no flat part
/// (no plateau yet) and no rising one (a throttle that one outstanding operation reaches).
fn asymptotes(points: &[Point]) -> Option<ScalingModel> {
    let splits = (0..=points.len()).filter_map(|split| {
        let model = split_at(points, split)?;
        // A plateau from the first point on is one parameter: its slope is only a bound.
        let parameters = if split == 0 { 1 } else { model.parameters() };
        Some((misfit(&model, points) + 2.0 * parameters as f64, model))
    });
    let best = splits.filter(|(score, _)| score.is_finite()).min_by(|a, b| a.0.total_cmp(&b.0));
    best.map(|(_, model)| clear_of_the_corner(points, model))
}

/// Two asymptotes with the first `split` points on the rise and the others on the plateau.
fn split_at(points: &[Point], split: usize) -> Option<ScalingModel> {
    let (rising, flat) = points.split_at_checked(split)?;
    let slopes: Vec<Point> = rising.iter().map(|point| Point { x: point.x / point.c, ..*point }).collect();
    let plateau = if flat.is_empty() { f64::INFINITY } else { pool(flat).0 };
    let lambda = if slopes.is_empty() { plateau / flat.first()?.c } else { pool(&slopes).0 };
    Some(ScalingModel::Asymptotes { lambda, plateau })
}

/// The same asymptotes with the plateau pooled anew from the points clear of the corner.
fn clear_of_the_corner(points: &[Point], model: ScalingModel) -> ScalingModel {
    match model {
        ScalingModel::Asymptotes { lambda, plateau } if plateau.is_finite() => {
            ScalingModel::Asymptotes { lambda, plateau: pool(&on_plateau(points, &model)).0 }
        }
        unchanged => unchanged,
    }
}

/// The universal scalability law's candidates. In `c / X = 1/λ (1 + σ (c - 1) + κ c (c - 1))` it is linear in 1/λ,
/// σ/λ and κ/λ; that these are not negative is met by solving with every subset of the latter two and keeping those
/// solutions that are (Lawson & Hanson 1974, Solving Least Squares Problems, ch. 23, by enumeration).
fn usl(points: &[Point]) -> impl Iterator<Item = ScalingModel> {
    [[true, false], [false, true], [true, true]].into_iter().filter_map(|active| usl_with(points, active))
}

/// The universal scalability law with only the active ones of contention and coherency.
fn usl_with(points: &[Point], [contention, coherency]: [bool; 2]) -> Option<ScalingModel> {
    let columns: Vec<fn(f64) -> f64> = [
        Some((|_| 1.0) as fn(f64) -> f64),
        contention.then_some((|c| c - 1.0) as fn(f64) -> f64),
        coherency.then_some((|c| c * (c - 1.0)) as fn(f64) -> f64),
    ]
    .into_iter()
    .flatten()
    .collect();
    if points.len() < columns.len() {
        return None;
    }
    let solution = least_squares(points, &columns)?;
    let mut rest = solution.iter().skip(1).copied();
    let lambda = 1.0 / solution.first()?;
    let sigma = if contention { rest.next()? * lambda } else { 0.0 };
    let kappa = if coherency { rest.next()? * lambda } else { 0.0 };
    let valid =
        lambda.is_normal() && lambda > 0.0 && (0.0..=1.0).contains(&sigma) && (0.0..).contains(&kappa);
    valid.then_some(ScalingModel::Usl { lambda, sigma, kappa })
}

/// Coefficients of the columns for `c / X`, minimising squared relative residuals in units of the points' errors.
fn least_squares(points: &[Point], columns: &[fn(f64) -> f64]) -> Option<Vec<f64>> {
    let size = columns.len();
    // Columns are scaled to one: c (c - 1) reaches millions where 1 is 1.
    let largest = points.iter().map(|point| point.c).fold(1.0, f64::max);
    let scales: Vec<f64> = columns.iter().map(|column| column(largest).max(1.0)).collect();
    let mut matrix = vec![vec![0.0; size + 1]; size];
    for point in points {
        let y = point.c / point.x;
        let row: Vec<f64> = columns
            .iter()
            .zip(&scales)
            .map(|(column, scale)| column(point.c) / scale / (y * point.error))
            .collect();
        for (i, line) in matrix.iter_mut().enumerate() {
            for (cell, factor) in line.iter_mut().zip(row.iter().chain([&point.error.recip()])) {
                *cell += row[i] * factor;
            }
        }
    }
    let solution = solve(matrix)?;
    Some(solution.iter().zip(&scales).map(|(value, scale)| value / scale).collect())
}

/// Gaussian elimination with partial pivoting of a square system whose last column is the right-hand side.
fn solve(mut matrix: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let size = matrix.len();
    for column in 0..size {
        let pivot =
            (column..size).max_by(|&a, &b| matrix[a][column].abs().total_cmp(&matrix[b][column].abs()))?;
        matrix.swap(column, pivot);
        let lead = matrix[column].clone();
        if !lead[column].is_normal() {
            return None;
        }
        for (_, row) in matrix.iter_mut().enumerate().filter(|(index, _)| *index != column) {
            let factor = row[column] / lead[column];
            row.iter_mut().zip(&lead).for_each(|(cell, pivot)| *cell -= factor * pivot);
        }
    }
    Some((0..size).map(|i| matrix[i][size] / matrix[i][i]).collect())
}
