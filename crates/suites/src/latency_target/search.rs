//! Which load to try next.

use iolite_model::{FileTask, Iops, Nanos};

use super::operations::{needed, plenty, window_for};
use super::{
    LatencyConclusion, LatencyFailure, LatencyTarget, LatencyTargetError, Load, LoadParameter, TryOutcome,
    TryPurpose,
};

/// No device does more operations a second: one each nanosecond.
const FASTEST: f64 = 1e9;

/// The search for a rate starts at this share of what one operation outstanding gives: surely low.
const START: f64 = 1.0 / 8.0;

/// Steps down at most from answers that were not kept again, each twice as far as the one before.
const STEPS_DOWN: u32 = 12;

/// A depth's step down, as a share.
const DEPTH_STEP: f64 = 0.05;

/// Windows that an answer has to keep the bound in.
const WINDOWS: usize = 2;

/// Windows grow to so many times what was asked for, where operations are too slow for them.
const LONGEST: u64 = 10;

/// The loads there are. Inside the search a load is a number, whatever it stands for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    lowest: f64,
    max: f64,
    /// Where to start; `None` where this has to be sounded.
    start: Option<f64>,
    /// `None` for depths, which are whole numbers.
    precision: Option<f64>,
    /// The window asked for.
    window: Nanos,
}

/// What comes next.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Plan {
    /// A closed loop with one operation outstanding.
    Sound,
    /// Closing in, with this load.
    Search(f64),
    /// Once more, or one step down.
    Confirm(f64),
    /// Nothing.
    Over(LatencyConclusion),
}

/// What the tries so far have shown.
#[derive(Debug, Clone)]
pub(super) struct State {
    plan: Plan,
    /// Measured time of the next try.
    window: Nanos,
    /// The loads that kept the bound, one entry per window.
    kept: Vec<f64>,
    /// The largest of them, and the smallest that broke it.
    low: Option<f64>,
    high: Option<f64>,
    /// The load that broke the bound in the last window, before it is tried again.
    uncertain: Option<f64>,
    steps_down: u32,
}

impl Scale {
    /// The loads between which the search goes on.
    pub(super) fn of(base: &FileTask, target: &LatencyTarget) -> Result<Scale, LatencyTargetError> {
        let (asked, precision) = match target.parameter {
            LoadParameter::Depth { max } => {
                let (max, window) = (f64::from(max), target.window);
                return Ok(Scale { lowest: 1.0, max, start: Some(1.0), precision: None, window });
            }
            LoadParameter::Rate { max, precision } => (max, precision),
        };
        let quantile = target.quantile;
        // A lower rate would not give enough operations.
        let lowest = plenty(quantile) / target.window.as_secs_f64();
        let max = asked.map_or(FASTEST, |max| max.0.min(FASTEST));
        if lowest > max {
            return Err(LatencyTargetError::WindowTooShort {
                window: target.window,
                max: Iops(max),
                needed: needed(quantile),
                quantile,
                remedy: window_for(quantile, max),
            });
        }
        let start = base.asked_rate().map(|rate| rate.0.clamp(lowest, max));
        Ok(Scale { lowest, max, start, precision: Some(precision), window: target.window })
    }

    fn load(&self, load: f64) -> Load {
        if self.precision.is_some() { Load::Rate(Iops(load)) } else { Load::Depth(load as u32) }
    }

    /// A load between the two, or `None` where they are close enough.
    fn between(&self, low: f64, high: f64) -> Option<f64> {
        match self.precision {
            None => (high - low > 1.0).then(|| ((low + high) / 2.0).floor()),
            // By ratio, as rates are compared.
            Some(precision) => (high > low * (1.0 + precision)).then(|| (low * high).sqrt()),
        }
    }

    /// One step down from a load: the first as far as answers are precise, each further one twice as far.
    fn down(&self, load: f64, steps: u32) -> f64 {
        let share = |step: f64| (step * 2f64.powi(steps as i32)).min(0.5);
        let lower = match self.precision {
            None => (load - (load * share(DEPTH_STEP)).max(1.0)).floor(),
            Some(precision) => load * (1.0 - share(precision)),
        };
        lower.max(self.lowest)
    }
}

impl State {
    /// Nothing tried yet.
    pub(super) fn start(scale: &Scale) -> State {
        let plan = scale.start.map_or(Plan::Sound, Plan::Search);
        State {
            plan,
            window: scale.window,
            kept: Vec::new(),
            low: None,
            high: None,
            uncertain: None,
            steps_down: 0,
        }
    }

    /// Measured time of the next try.
    pub(super) fn window(&self) -> Nanos {
        self.window
    }

    /// The same load comes again in windows of this length, and all that follow; `false` where it is too long.
    pub(super) fn lengthen(&mut self, window: Nanos, scale: &Scale) -> bool {
        let allowed = window > self.window && window.0 <= scale.window.0.saturating_mul(LONGEST);
        if allowed {
            self.window = window;
        }
        allowed
    }

    /// What comes next.
    pub(super) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The load that comes next; `None` when the search is over.
    pub(super) fn load(&self, scale: &Scale) -> Option<Load> {
        match self.plan {
            Plan::Sound => Some(Load::Depth(1)),
            Plan::Search(load) | Plan::Confirm(load) => Some(scale.load(load)),
            Plan::Over(_) => None,
        }
    }

    /// What the next try is for.
    pub(super) fn purpose(&self) -> TryPurpose {
        match self.plan {
            Plan::Sound => TryPurpose::Sounding,
            Plan::Search(_) => TryPurpose::Search,
            Plan::Confirm(_) | Plan::Over(_) => TryPurpose::Confirmation,
        }
    }

    /// The search cannot go on.
    pub(super) fn fail(&mut self, failure: LatencyFailure) {
        self.plan = Plan::Over(LatencyConclusion::Failed(failure));
    }

    /// Takes how the try came out, and the rate it reached.
    pub(super) fn take(&mut self, outcome: TryOutcome, rate: f64, scale: &Scale) {
        let kept = outcome == TryOutcome::Kept;
        self.plan = match self.plan {
            Plan::Sound => Plan::Search((rate * START).clamp(scale.lowest, scale.max)),
            Plan::Search(load) => self.searched(load, kept, scale),
            Plan::Confirm(load) => self.confirmed(load, kept, scale),
            Plan::Over(_) => return,
        };
    }

    fn searched(&mut self, load: f64, kept: bool, scale: &Scale) -> Plan {
        if kept {
            self.kept.push(load);
            self.low = Some(load);
        } else if self.is_uncertain(load) {
            return Plan::Search(load);
        } else {
            self.high = Some(load);
        }
        match (self.low, self.high) {
            (Some(low), None) if low >= scale.max => Plan::Confirm(low),
            (Some(low), None) => Plan::Search((low * 2.0).min(scale.max)),
            (None, _) if load <= scale.lowest => none_kept(scale),
            (None, _) => Plan::Search((load / 2.0).max(scale.lowest)),
            (Some(low), Some(high)) => scale.between(low, high).map_or(Plan::Confirm(low), Plan::Search),
        }
    }

    /// Whether a load that has just broken the bound is to be tried again: a moment's disturbance would put all that the device can
    /// do out of reach, so that it has to break it twice in a row.
    fn is_uncertain(&mut self, load: f64) -> bool {
        let first = self.uncertain != Some(load);
        self.uncertain = first.then_some(load);
        first
    }

    fn confirmed(&mut self, load: f64, kept: bool, scale: &Scale) -> Plan {
        if kept {
            self.kept.push(load);
            let windows = self.kept.iter().filter(|&&other| other == load).count();
            let found = LatencyConclusion::Found {
                load: scale.load(load),
                limited: load >= scale.max,
                low: None,
                high: None,
            };
            return if windows >= WINDOWS { Plan::Over(found) } else { Plan::Confirm(load) };
        }
        if self.is_uncertain(load) {
            return Plan::Confirm(load);
        }
        if load <= scale.lowest {
            return none_kept(scale);
        }
        if self.steps_down >= STEPS_DOWN {
            return Plan::Over(LatencyConclusion::Failed(LatencyFailure::Unsteady));
        }
        self.steps_down += 1;
        Plan::Confirm(scale.down(load, self.steps_down - 1))
    }
}

fn none_kept(scale: &Scale) -> Plan {
    Plan::Over(LatencyConclusion::NoneKept { lowest: scale.load(scale.lowest) })
}
