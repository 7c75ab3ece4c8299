//! Conditions on a comparison, for programs that decide: `p99 > +10%`.

use std::fmt;
use std::str::FromStr;

use iolite_model::Nanos;

use super::figures::Figure;
use super::{Comparison, FigureComparison, Finding};

/// A bound that a comparison is not to exceed: `[KIND] FIGURE >|< BOUND`.
///
/// The bound is a change with a sign (`+10%`, `-500` operations per second, `+1ms`), or the value after without one (`2ms`,
/// `5000`). A change counts only where a difference is shown; a value counts as it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    text: String,
    /// By name: which kinds there are is known when the runs are read.
    kind: Option<String>,
    figure: Figure,
    above: bool,
    bound: Bound,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Bound {
    /// A change as a share of the value before.
    Share(f64),
    /// A change in the figure's own unit.
    Change(f64),
    /// The value after in the figure's own unit.
    Value(f64),
}

/// Why a text is no condition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a valid condition: {reason}; examples: 'p99 > +10%', 'rate < -5%', 'read mean > 2ms', 'bandwidth < 1000000'"
)]
pub struct ConditionError {
    text: String,
    reason: Reason,
}

/// What is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum Reason {
    #[error("< or > is missing")]
    NoComparison,
    #[error("the left side must be a figure, optionally preceded by a kind of operation")]
    NoFigure,
    #[error("`{text}` is none of {known}")]
    UnknownFigure { text: String, known: String },
    #[error("`{text}` is no {expected}")]
    NoBound { text: String, expected: &'static str },
    #[error("a change of {text} needs a sign")]
    NoSign { text: String },
}

impl FromStr for Condition {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Condition, ConditionError> {
        let error = |reason| ConditionError { text: text.to_owned(), reason };
        let Some((left, right)) = text.split_once(['<', '>']) else {
            return Err(error(Reason::NoComparison));
        };
        let words: Vec<&str> = left.split_whitespace().collect();
        let (kind, figure) = match words[..] {
            [figure] => (None, figure),
            [kind, figure] => (Some(kind), figure),
            _ => return Err(error(Reason::NoFigure)),
        };
        let kind = kind.map(str::to_owned);
        let known = || Figure::ALL.map(Figure::name).join(", ");
        let figure = Figure::ALL
            .into_iter()
            .find(|known| known.name() == figure)
            .ok_or_else(|| error(Reason::UnknownFigure { text: figure.to_owned(), known: known() }))?;
        let bound = bound(right.trim(), figure).map_err(error)?;
        Ok(Condition { text: text.to_owned(), kind, figure, above: text.contains('>'), bound })
    }
}

fn bound(text: &str, figure: Figure) -> Result<Bound, Reason> {
    let no_bound = |expected| Reason::NoBound { text: text.to_owned(), expected };
    let (sign, number) = match (text.strip_prefix('+'), text.strip_prefix('-')) {
        (Some(rest), _) => (Some(1.0), rest),
        (_, Some(rest)) => (Some(-1.0), rest),
        _ => (None, text),
    };
    if let Some(percent) = number.strip_suffix('%') {
        let share = percent.trim().parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
        let share = share.ok_or_else(|| no_bound("percentage"))?;
        let sign = sign.ok_or_else(|| Reason::NoSign { text: text.to_owned() })?;
        return Ok(Bound::Share(sign * share / 100.0));
    }
    let value = match figure {
        Figure::Rate | Figure::Bandwidth => number.trim().parse::<f64>().ok(),
        _ => number.trim().parse::<Nanos>().ok().map(|nanos| nanos.0 as f64),
    };
    let value = value.filter(|value| value.is_finite() && *value >= 0.0);
    let value = value.ok_or_else(|| match figure {
        Figure::Rate | Figure::Bandwidth => no_bound("number per second"),
        _ => no_bound("time"),
    })?;
    Ok(sign.map_or(Bound::Value(value), |sign| Bound::Change(sign * value)))
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Condition {
    /// Which figures it is about: a condition about none of them must not pass unseen.
    pub fn applies(&self, comparison: &Comparison) -> bool {
        comparison.all().any(|(_, figure)| self.concerns(figure))
    }

    fn concerns(&self, figure: &FigureComparison) -> bool {
        figure.figure == self.figure && self.kind.as_ref().is_none_or(|kind| kind == figure.kind.name())
    }

    /// What fulfils it, a sentence each: empty where the comparison passes.
    pub fn found(&self, comparison: &Comparison) -> Vec<String> {
        let found = comparison.all().filter(|(_, figure)| self.concerns(figure) && self.holds(figure));
        let sentence = |part: &str, figure: &FigureComparison| {
            let difference = &figure.difference;
            format!(
                "`{}`: {} of {part}, {} is {} after and was {} before ({:+.1} %)",
                self.text,
                figure.figure,
                figure.kind.name(),
                figure.figure.describe(difference.after),
                figure.figure.describe(difference.before),
                100.0 * difference.change(),
            )
        };
        found.map(|(part, figure)| sentence(&part.name, figure)).collect()
    }

    fn holds(&self, figure: &FigureComparison) -> bool {
        let difference = &figure.difference;
        let is_shown = figure.finding != Finding::NoDifferenceShown;
        let (value, bound, counts) = match self.bound {
            Bound::Share(share) => (difference.change(), share, is_shown),
            Bound::Change(change) => (difference.after - difference.before, change, is_shown),
            Bound::Value(value) => (difference.after, value, true),
        };
        counts && if self.above { value > bound } else { value < bound }
    }
}
