//! The answer: is this storage good enough, and if not, why not?

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::units::Quantile;

/// How good the storage is for a profile. Ordered from good to bad.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fitness {
    /// Every criterion holds.
    Fit,
    /// A criterion is missed by little, or the measurement does not allow more to be said.
    Marginal,
    /// A criterion is missed clearly.
    Unfit,
}

/// What the numbers of a [`Reason`] are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReasonUnit {
    /// Time in nanoseconds: a response time, which is to be at most the bound.
    Nanoseconds,
    /// Operations per second, which are to be at least the bound.
    OperationsPerSecond,
    /// Bytes per second, which are to be at least the bound.
    BytesPerSecond,
    /// A number of events, such as errors, which is to be at most the bound.
    Count,
}

/// What the numbers of a [`Reason`] say of the operations. In JSON and SQL a text: `mean`, `quantile 0.999`, `longest`, `rate`, `count`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Statistic {
    /// The mean of response times.
    Mean,
    /// A quantile of response times.
    Quantile(Quantile),
    /// The longest response time.
    Longest,
    /// Operations or bytes per second.
    Rate,
    /// A number of events.
    Count,
}

/// A text that is no [`Statistic`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no statistic: mean, quantile 0.999, longest, rate or count")]
pub struct UnknownStatistic(String);

impl From<Statistic> for String {
    fn from(statistic: Statistic) -> String {
        match statistic {
            Statistic::Mean => "mean".into(),
            // As many digits as tell it from any other number.
            Statistic::Quantile(Quantile(quantile)) => format!("quantile {quantile}"),
            Statistic::Longest => "longest".into(),
            Statistic::Rate => "rate".into(),
            Statistic::Count => "count".into(),
        }
    }
}

impl TryFrom<String> for Statistic {
    type Error = UnknownStatistic;

    fn try_from(text: String) -> Result<Statistic, UnknownStatistic> {
        match text.as_str() {
            "mean" => Ok(Statistic::Mean),
            "longest" => Ok(Statistic::Longest),
            "rate" => Ok(Statistic::Rate),
            "count" => Ok(Statistic::Count),
            other => {
                let number = other.strip_prefix("quantile ").and_then(|number| number.parse().ok());
                let quantile = number.filter(|number| (0.0..=1.0).contains(number));
                quantile.map(|quantile| Statistic::Quantile(Quantile(quantile))).ok_or(UnknownStatistic(text))
            }
        }
    }
}

/// One criterion and how it came out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reason {
    /// Outcome of this criterion alone.
    pub fitness: Fitness,
    /// What was judged, for example `random read 8 KiB, p99.9 at the knee (8 outstanding)`.
    pub what: String,
    /// What was measured, with its uncertainty, as text.
    pub measured: String,
    /// What was requested, as text; empty where nothing is: the figure is for information.
    pub asked: String,
    /// The measured value as a number of `unit`, for machines.
    pub value: f64,
    /// The bound as a number of the same unit.
    pub bound: f64,
    /// The unit of both; `None` without a figure.
    #[serde(default)]
    pub unit: Option<ReasonUnit>,
    /// The statistic that both are of; `None` without a figure.
    #[serde(default)]
    pub statistic: Option<Statistic>,
    /// Number of the phase that was judged; `None` where it was not a single one.
    #[serde(default)]
    pub phase: Option<u32>,
    /// What the figure alone does not show, and how far it is to be trusted: one sentence each, and part of why the outcome is
    /// not better.
    #[serde(default)]
    pub reservations: Vec<String>,
}

impl Reason {
    /// A reason without a figure, and without reservations.
    pub fn new(
        fitness: Fitness,
        what: impl Into<String>,
        measured: impl Into<String>,
        asked: impl Into<String>,
    ) -> Reason {
        Reason {
            fitness,
            what: what.into(),
            measured: measured.into(),
            asked: asked.into(),
            value: f64::NAN,
            bound: f64::NAN,
            unit: None,
            statistic: None,
            phase: None,
            reservations: Vec::new(),
        }
    }

    /// The same with a statistic as measured and its bound, both of this unit. What is not finite is not known: NaN, which is NULL in
    /// SQL and null in JSON.
    pub fn with_figure(self, statistic: Statistic, value: f64, bound: f64, unit: ReasonUnit) -> Reason {
        let known = |number: f64| if number.is_finite() { number } else { f64::NAN };
        let (unit, statistic) = (Some(unit), Some(statistic));
        Reason { value: known(value), bound: known(bound), unit, statistic, ..self }
    }

    /// The same about the phase of this number alone.
    pub fn of_phase(self, phase: u32) -> Reason {
        Reason { phase: Some(phase), ..self }
    }

    /// Something that allows no better outcome than `at_best`.
    pub fn reserve(&mut self, at_best: Fitness, why: impl Into<String>) {
        self.fitness = self.fitness.max(at_best);
        self.reservations.push(why.into());
    }

    /// Something that allows no worse outcome than marginal, which is said only where it would have been worse.
    pub fn spare(&mut self, why: impl Into<String>) {
        if self.fitness == Fitness::Unfit {
            self.fitness = Fitness::Marginal;
            self.reservations.push(why.into());
        }
    }
}

/// The answer with its reasons.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Name of the profile judged by.
    pub profile: String,
    /// The worst of the reasons.
    pub fitness: Fitness,
    /// One reason per criterion, in the profile's order.
    pub reasons: Vec<Reason>,
}

impl Verdict {
    /// The verdict that follows from the reasons: the worst of them; without any, `marginal`, for nothing was shown.
    pub fn of(profile: &str, reasons: Vec<Reason>) -> Verdict {
        let fitness = reasons.iter().map(|reason| reason.fitness).max().unwrap_or(Fitness::Marginal);
        Verdict { profile: profile.to_owned(), fitness, reasons }
    }
}

impl fmt::Display for Fitness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Fitness::Fit => "fit",
            Fitness::Marginal => "marginal",
            Fitness::Unfit => "unfit",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statistic_is_read_as_it_was_written() {
        for statistic in [
            Statistic::Mean,
            Statistic::Longest,
            Statistic::Rate,
            Statistic::Count,
            Statistic::Quantile(Quantile(0.999)),
            Statistic::Quantile(Quantile(1.0 / 3.0)),
        ] {
            assert_eq!(Statistic::try_from(String::from(statistic)), Ok(statistic));
        }
        assert_eq!(
            serde_json::to_string(&Statistic::Quantile(Quantile(0.9999))).unwrap(),
            "\"quantile 0.9999\""
        );
        for other in ["", "p99", "quantile", "quantile nan", "quantile 1.5", "Mean"] {
            assert!(Statistic::try_from(other.to_owned()).is_err(), "{other}");
        }
    }
}
