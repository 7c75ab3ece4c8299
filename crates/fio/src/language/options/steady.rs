//! Steady state.

use iolite_model::Nanos;

use crate::language::error::{OptionError, Result};
use crate::language::options::Spec;
use crate::language::options::entry::{put, special, time};
use crate::language::options::option::{Form, Opt};
use crate::language::thread::{SteadyMeasure, SteadyState, Thread, ThreadIndex};
use crate::language::value::{OptionValue, Unit};

/// Steady state.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Steady {
    /// `steadystate`: what ends the job.
    pub criterion: Option<Criterion>,
    /// `steadystate_duration`: the window; 0 never ends the job.
    pub duration: Nanos,
    /// `steadystate_ramp_time`: time before the first window.
    pub ramp: Nanos,
    /// `steadystate_check_interval`: distance of the values.
    pub interval: Nanos,
}

/// What is to be steady, and how much.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Criterion {
    /// Of what.
    pub measure: SteadyMeasure,
    /// The slope, rather than the largest deviation from the mean.
    pub slope: bool,
    /// The bound.
    pub limit: f64,
    /// The bound is in percent of the mean.
    pub percent: bool,
}

impl Steady {
    /// Changes `thread` to what these settings say.
    pub(crate) fn lower(&self, _spec: &Spec, _place: ThreadIndex, thread: &mut Thread) -> Result {
        let Some(criterion) = self.criterion.filter(|_| self.duration.0 > 0) else { return Ok(()) };
        let interval = self.interval.0;
        if interval == 0 || self.duration.0 < 2 * interval || !self.duration.0.is_multiple_of(interval) {
            let what = format!(
                "the window holds values {} apart and has to be a multiple of that, at least twice it",
                self.interval
            );
            let refused =
                OptionError::refused(what, "specify another window, or another steadystate_check_interval");
            return Err(refused.at(format!("steadystate_duration={}", self.duration)));
        }
        let Criterion { measure, slope, limit, percent } = criterion;
        let (duration, ramp, interval) = (self.duration, self.ramp, self.interval);
        thread.steady = Some(SteadyState { measure, slope, limit, percent, duration, ramp, interval });
        Ok(())
    }
}

const CRITERIA: [(&str, (SteadyMeasure, bool)); 6] = [
    ("iops", (SteadyMeasure::Iops, false)),
    ("iops_slope", (SteadyMeasure::Iops, true)),
    ("bw", (SteadyMeasure::Bandwidth, false)),
    ("bw_slope", (SteadyMeasure::Bandwidth, true)),
    ("lat", (SteadyMeasure::Latency, false)),
    ("lat_slope", (SteadyMeasure::Latency, true)),
];

fn criterion(given: &OptionValue<'_>) -> Result<Criterion> {
    let text = given.text()?;
    let (name, limit) = text.split_once(':').ok_or_else(|| {
        OptionError::refused(format!("`{text}` has no bound"), "write one after a colon, such as iops:2%")
    })?;
    let (measure, slope) = given.part(name.trim()).choice(&CRITERIA)?;
    let percent = limit.trim_end().ends_with('%');
    let max = if percent { 100.0 } else { f64::MAX };
    let limit = given.part(limit.trim()).number(0.0, max)?;
    Ok(Criterion { measure, slope, limit, percent })
}

/// The options.
pub const OPTIONS: &[Opt] = &[
    special(
        "steadystate",
        Form::Special(
            "iops, iops_slope, bw, bw_slope, lat or lat_slope, a colon, and the bound, with % of the mean",
        ),
        |s, g| put(&mut s.steady.criterion, criterion(g).map(Some)),
    )
    .named_also(&["ss"])
    .help(
        "Ends the job when this has been steady over steadystate_duration: every value of the window that \
         close to its mean, or the slope of a line through the values below the bound.",
    ),
    time("steadystate_duration", Unit::Seconds, |s, time| s.steady.duration = time)
        .named_also(&["ss_dur"])
        .default("0")
        .help(
            "Length of the window for steadystate: a multiple of steadystate_check_interval, at least twice \
             it. With 0 a job does not end when it is steady.",
        )
        .bounded("a window with fewer than two values is rejected"),
    time("steadystate_ramp_time", Unit::Seconds, |s, time| s.steady.ramp = time)
        .named_also(&["ss_ramp"])
        .default("0")
        .help("Time that the job runs before the first window begins."),
    special("steadystate_check_interval", Form::Time(Unit::Seconds), |s, g| {
        let time = g.time(Unit::Seconds)?;
        if time < Nanos(10_000_000) {
            return Err(OptionError::refused(
                "values have to be at least 10ms apart",
                "specify a longer interval",
            ));
        }
        s.steady.interval = time;
        Ok(())
    })
    .named_also(&["ss_interval"])
    .default("1")
    .help("Interval of the values for steadystate."),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::options::option::samples::{io, task};
    use iolite_model::Mix;

    fn steady(settings: &[(&str, &str)]) -> Result<Option<SteadyState>, OptionError> {
        io(settings, task(Mix::Read)).map(|(thread, _)| thread.steady)
    }

    #[test]
    fn a_criterion_and_a_window_end_a_job() {
        let second = |count: u64| Nanos(count * 1_000_000_000);
        assert_eq!(
            steady(&[("ss", "bw_slope:1%"), ("ss_dur", "10s"), ("ss_ramp", "5")]).unwrap(),
            Some(SteadyState {
                measure: SteadyMeasure::Bandwidth,
                slope: true,
                limit: 1.0,
                percent: true,
                duration: second(10),
                ramp: second(5),
                interval: second(1),
            })
        );
        let found =
            steady(&[("ss", "iops:200"), ("ss_dur", "1"), ("ss_interval", "100ms")]).unwrap().unwrap();
        assert_eq!((found.measure, found.slope, found.percent), (SteadyMeasure::Iops, false, false));
        assert_eq!((found.limit, found.interval), (200.0, Nanos(100_000_000)));
    }

    #[test]
    fn without_a_window_or_a_criterion_nothing_ends() {
        assert_eq!(steady(&[("ss", "iops:2%")]).unwrap(), None);
        assert_eq!(steady(&[("ss_dur", "10s")]).unwrap(), None);
    }

    #[test]
    fn criteria_and_windows_that_say_nothing_are_refused() {
        for text in ["iops", "iops:", "iops:x", "iops:-1", "iops:101%", "speed:2", ":2"] {
            assert!(steady(&[("ss", text), ("ss_dur", "10")]).is_err(), "{text}");
        }
        for (duration, interval) in [("1s", "1s"), ("2500ms", "1s"), ("1s", "1ms")] {
            let settings = [("ss", "iops:1"), ("ss_dur", duration), ("ss_interval", interval)];
            assert!(steady(&settings).is_err(), "{duration} {interval}");
        }
    }
}
