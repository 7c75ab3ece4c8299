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

/// Which figure of the response times a criterion judges.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Statistic {
    /// Their mean.
    Mean,
    /// A quantile.
    Quantile(Quantile),
    /// The longest.
    Longest,
}

impl fmt::Display for Statistic {
    /// As in the names of criteria: `mean`, `p99.9`, `longest`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Statistic::Mean => f.pad("mean"),
            Statistic::Quantile(quantile) => quantile.fmt(f),
            Statistic::Longest => f.pad("longest"),
        }
    }
}

impl Statistic {
    /// What [`Statistic`]'s `Display` has written; `None` of anything else.
    fn parse(text: &str) -> Option<Statistic> {
        match text {
            "mean" => Some(Statistic::Mean),
            "longest" => Some(Statistic::Longest),
            quantile => {
                let percent: f64 = quantile.strip_prefix('p')?.parse().ok()?;
                (0.0..=100.0).contains(&percent).then(|| Statistic::Quantile(Quantile(percent / 100.0)))
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
            phase: None,
            reservations: Vec::new(),
        }
    }

    /// The same with the measured value and its bound, both of this unit. What is not finite is not known: NaN, which is NULL in SQL and
    /// null in JSON.
    pub fn with_figure(self, value: f64, bound: f64, unit: ReasonUnit) -> Reason {
        let known = |number: f64| if number.is_finite() { number } else { f64::NAN };
        Reason { value: known(value), bound: known(bound), unit: Some(unit), ..self }
    }

    /// Which figure of the response times is judged, with which the name of such a criterion ends, after a comma; `None` of rates,
    /// throughputs and numbers of events.
    pub fn statistic(&self) -> Option<Statistic> {
        let (_, last) = self.what.rsplit_once(", ").filter(|_| self.unit == Some(ReasonUnit::Nanoseconds))?;
        Statistic::parse(last)
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
    fn the_judged_statistic_is_read_from_the_name_that_it_was_written_into() {
        let reason = |what: String, unit| {
            Reason::new(Fitness::Fit, what, "1 ms", "at most 2 ms").with_figure(1e6, 2e6, unit)
        };
        for statistic in [
            Statistic::Mean,
            Statistic::Longest,
            Statistic::Quantile(Quantile(0.5)),
            Statistic::Quantile(Quantile(0.999)),
            Statistic::Quantile(Quantile(0.9999)),
        ] {
            let name = format!("random read 8 KiB, at the knee (8 outstanding), {statistic}");
            let read = reason(name, ReasonUnit::Nanoseconds).statistic();
            let same = match (read, statistic) {
                (Some(Statistic::Quantile(read)), Statistic::Quantile(written)) => {
                    (read.0 - written.0).abs() < 1e-12
                }
                (read, written) => read == Some(written),
            };
            assert!(same, "{read:?} is not {statistic:?}");
        }
        for other in ["fdatasync, growing", "fdatasync, p", "fdatasync, p101", "fdatasync, pnan", "mean"] {
            assert_eq!(reason(other.into(), ReasonUnit::Nanoseconds).statistic(), None, "{other}");
        }
        assert_eq!(reason("random write, mean".into(), ReasonUnit::OperationsPerSecond).statistic(), None);
    }
}
