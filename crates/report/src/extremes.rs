//! The best and the worst of several values.

/// The items with the largest and the smallest value above zero; `None` with fewer than two of these.
pub(crate) fn best_and_worst<T: Copy>(
    items: impl IntoIterator<Item = T>,
    value: impl Fn(T) -> f64,
) -> Option<(T, T)> {
    let items: Vec<T> = items.into_iter().filter(|item| value(*item) > 0.0).collect();
    let order = |one: &T, other: &T| value(*one).total_cmp(&value(*other));
    let best = items.iter().copied().max_by(order)?;
    let worst = items.iter().copied().min_by(order)?;
    (items.len() > 1).then_some((best, worst))
}

/// The largest value by the smallest above zero; `None` with fewer than two of these.
pub(crate) fn best_by_worst(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    best_and_worst(values, |value| value).map(|(best, worst)| best / worst)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_zero_have_no_ratio() {
        assert_eq!(best_by_worst([4.0, 0.0, 2.0, 8.0]), Some(4.0));
        assert_eq!((best_by_worst([4.0, 0.0]), best_by_worst([])), (None, None));
        assert_eq!(best_and_worst(["ab", "a", "abc"], |text| text.len() as f64), Some(("abc", "a")));
    }
}
