//! Rates, think time, latency targets.

mod arrival;

use iolite_model::{Arrival, FileTask, JobTask, LatencyTarget, LoadParameter, Nanos, Quantile};

use crate::fio::lower::{Place, Thread};
use crate::fio::option::{Form, Opt, Support};
use crate::fio::spec::Spec;
use crate::fio::value::{Given, Unit};

/// Something for reads, for writes and for trims, where there is any.
pub type PerDirection<T> = [Option<T>; 3];

/// Rates, think time, latency targets.
#[derive(Debug, Clone, PartialEq)]
pub struct Rate {
    /// `thinktime`: pause; 0 for none.
    pub think_time: Nanos,
    /// `thinktime_spin`: how much of the pause keeps the CPU busy.
    pub think_spin: Nanos,
    /// `thinktime_blocks`: operations between two pauses; at least 1.
    pub think_blocks: u32,
    /// `rate`: bytes a second.
    pub bytes: PerDirection<f64>,
    /// `rate_iops`: operations a second.
    pub iops: PerDirection<f64>,
    /// `rate_min`: slower than so many bytes a second the job fails.
    pub bytes_min: PerDirection<f64>,
    /// `rate_iops_min`: slower than so many operations a second the job fails.
    pub iops_min: PerDirection<f64>,
    /// `rate_cycle`: over which time the least rates are looked at.
    pub cycle: Nanos,
    /// `rate_process=poisson`.
    pub poisson: bool,
    /// `latency_target`: 0 for none.
    pub latency_target: Nanos,
    /// `latency_window`: 0 where it is not given.
    pub latency_window: Nanos,
    /// `latency_percentile`, in percent.
    pub latency_percentile: f64,
    /// `max_latency`.
    pub max_latency: PerDirection<Nanos>,
    /// `flow`: the job's weight; 0 for none.
    pub flow: u32,
}

impl Default for Rate {
    fn default() -> Rate {
        Rate {
            think_time: Nanos(0),
            think_spin: Nanos(0),
            think_blocks: 1,
            bytes: [None; 3],
            iops: [None; 3],
            bytes_min: [None; 3],
            iops_min: [None; 3],
            cycle: Nanos::SECOND,
            poisson: false,
            latency_target: Nanos(0),
            latency_window: Nanos(0),
            latency_percentile: 100.0,
            max_latency: [None; 3],
            flow: 0,
        }
    }
}

impl Rate {
    /// Changes `thread` to what these settings say; its mix, sizes and depth are set before.
    pub(crate) fn lower(&self, _spec: &Spec, _place: Place, thread: &mut Thread) -> Result<(), String> {
        if self.flow > 0 {
            return Err(format!("flow={}: {NO_FLOW}", self.flow));
        }
        let JobTask::Io(task) = &mut thread.task else { return self.refuse_for_names() };
        self.set_arrival(task)?;
        let does = arrival::directions(task.mix);
        self.check_least(does)?;
        task.longest = self.longest(does)?;
        thread.latency_target = self.target(task)?;
        let only_done = |limits: PerDirection<f64>| std::array::from_fn(|at| limits[at].filter(|_| does[at]));
        thread.rate_min = only_done(self.bytes_min);
        thread.rate_iops_min = only_done(self.iops_min);
        thread.rate_cycle = self.cycle.max(Nanos::MILLISECOND);
        Ok(())
    }

    /// Engines that make, find and remove names have neither rates nor pauses.
    fn refuse_for_names(&self) -> Result<(), String> {
        let plain = Rate { cycle: self.cycle, poisson: self.poisson, ..Rate::default() };
        let pauses = Rate { think_spin: self.think_spin, think_blocks: self.think_blocks, ..plain };
        let latency = Rate {
            latency_window: self.latency_window,
            latency_percentile: self.latency_percentile,
            ..pauses
        };
        if *self == latency {
            Ok(())
        } else {
            Err("rate, thinktime, latency_target and max_latency are not for engines that work on names: leave them out".into())
        }
    }

    fn set_arrival(&self, task: &mut FileTask) -> Result<(), String> {
        let rated = arrival::rated(self, task)?;
        match rated {
            Some(_) if self.think_time.0 > 0 => {
                Err("rate and thinktime: a job has pauses or a rate of its own, not both: \
                                                     give the rate alone"
                    .into())
            }
            Some((arrival, mix)) => {
                (task.arrival, task.mix) = (arrival, mix);
                Ok(())
            }
            None if self.think_time.0 > 0 => {
                let (pause, operations) = (self.think_time, self.think_blocks.max(1));
                task.arrival = Arrival::ThinkTime { pause, operations, spin: self.think_spin.min(pause) };
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// A least rate above the rate itself could not be kept.
    fn check_least(&self, does: [bool; 3]) -> Result<(), String> {
        let above = |rate: &PerDirection<f64>, least: &PerDirection<f64>| {
            let mut pairs = does.iter().zip(rate.iter().zip(least)).filter(|(does, _)| **does);
            pairs.any(|(_, pair)| matches!(pair, (Some(rate), Some(least)) if least > rate))
        };
        if above(&self.bytes, &self.bytes_min) || above(&self.iops, &self.iops_min) {
            return Err("rate_min and rate_iops_min are above rate and rate_iops: lower them".into());
        }
        Ok(())
    }

    fn longest(&self, does: [bool; 3]) -> Result<Option<Nanos>, String> {
        let mut bounds = self.max_latency.iter().zip(does).filter(|(_, does)| *does).map(|(bound, _)| *bound);
        let first = bounds.next().flatten();
        if bounds.all(|bound| bound == first) {
            Ok(first)
        } else {
            Err("max_latency: one bound for all operations of a job: give one value, or make two jobs of it"
                .into())
        }
    }

    fn target(&self, task: &FileTask) -> Result<Option<LatencyTarget>, String> {
        if self.latency_target.0 == 0 {
            return Ok(None);
        }
        if self.latency_percentile >= 100.0 {
            return Err("latency_target: the largest of all latencies is no figure that a second try would give again: \
                        give a latency_percentile below 100, such as 99.9"
                .into());
        }
        let window = if self.latency_window.0 > 0 { self.latency_window } else { Nanos::SECOND };
        Ok(Some(LatencyTarget {
            bound: self.latency_target,
            quantile: Quantile(self.latency_percentile / 100.0),
            window,
            ramp: Nanos(window.0 / RAMP),
            parameter: LoadParameter::Depth { most: task.concurrency },
        }))
    }
}

/// Each try of a latency search begins with this part of a window that is left out.
const RAMP: u64 = 5;

const NO_FLOW: &str =
    "jobs are not coupled by flows: give each a rate or a rate_iops in the proportion that they are to have";

/// Values for reads, writes and trims: one that is left out at the end is as the one before, an empty one is none.
fn limits<T: Copy>(
    given: &Given<'_>,
    parse: impl Fn(&Given<'_>) -> Result<Option<T>, String>,
) -> Result<PerDirection<T>, String> {
    let parts: Vec<&str> = given.text()?.split(',').map(str::trim).collect();
    if parts.len() > 3 {
        return Err("it has more than three values: reads, writes, trims".into());
    }
    let mut limits = [None; 3];
    for at in 0..limits.len() {
        limits[at] = match parts.get(at) {
            Some(&"") => None,
            Some(part) => parse(&given.part(part))?,
            None => limits[at - 1],
        };
    }
    Ok(limits)
}

/// A rate; 0 is none.
fn a_second(given: &Given<'_>) -> Result<Option<f64>, String> {
    given.size().map(|size| (size.0 > 0).then_some(size.0 as f64))
}

fn microseconds(given: &Given<'_>) -> Result<Nanos, String> {
    given.time(Unit::Microseconds)
}

const BYTES: Form = Form::Special("bytes a second, for reads, writes, trims: 1m or 1m,500k or 1m, or ,500k");
const OPERATIONS: Form =
    Form::Special("operations a second, for reads, writes, trims: 500 or 500,100 or 500, or ,100");
const MOST: i64 = u32::MAX as i64;

/// The options.
pub const OPTIONS: &[Opt] = &[
    Opt {
        name: "thinktime",
        form: Form::Time("us"),
        default: "0",
        help: "A pause after every thinktime_blocks operations, once all that is in flight has come back.",
        support: Support::Differs("not together with a rate"),
        set: |spec, given| microseconds(given).map(|time| spec.rate.think_time = time),
        ..Opt::PLAIN
    },
    Opt {
        name: "thinktime_spin",
        form: Form::Time("us"),
        default: "0",
        help: "How much of the thinktime, from its start, keeps the CPU busy instead of sleeping.",
        set: |spec, given| microseconds(given).map(|time| spec.rate.think_spin = time),
        ..Opt::PLAIN
    },
    Opt {
        name: "thinktime_blocks",
        form: Form::Integer { least: 1, most: MOST },
        default: "1",
        help: "Operations from one thinktime to the next.",
        set: |spec, given| given.integer(1, MOST).map(|blocks| spec.rate.think_blocks = blocks as u32),
        ..Opt::PLAIN
    },
    Opt {
        name: "thinktime_blocks_type",
        form: Form::Choice(&["complete", "issue"]),
        default: "complete",
        help: "Whether thinktime_blocks counts operations as they come back or as they are issued.",
        support: Support::Differs(
            "the same either way: as many are issued, all come back, then comes the pause",
        ),
        set: |_, given| given.choice(&[("complete", ()), ("issue", ())]),
        ..Opt::PLAIN
    },
    Opt {
        name: "thinktime_iotime",
        form: Form::Time("s"),
        default: "0",
        help: "Time of operations from one thinktime to the next.",
        support: Support::Missing("pauses come after operations, not after a time: use thinktime_blocks"),
        ..Opt::PLAIN
    },
    Opt {
        name: "rate",
        form: BYTES,
        help: "Bytes a second that the job is held to: a schedule that it catches up with where it has fallen behind.",
        support: Support::Differs(
            "response times count from the instant that the schedule says, so that waiting for a slow device shows. The \
             rates of a mix become one for both and set their shares, to a whole percent; a rate for one of them alone is \
             refused",
        ),
        set: |spec, given| limits(given, a_second).map(|limits| spec.rate.bytes = limits),
        ..Opt::PLAIN
    },
    Opt {
        name: "rate_min",
        aliases: &["ratemin"],
        form: BYTES,
        help: "A job that is slower than this over rate_cycle fails.",
        set: |spec, given| limits(given, a_second).map(|limits| spec.rate.bytes_min = limits),
        ..Opt::PLAIN
    },
    Opt {
        name: "rate_iops",
        form: OPERATIONS,
        help: "Operations a second that the job is held to, as with rate; not together with it.",
        support: Support::Differs(
            "as rate; operations are counted whatever their size, where fio counts bytes at the smallest size of a range",
        ),
        set: |spec, given| limits(given, a_second).map(|limits| spec.rate.iops = limits),
        ..Opt::PLAIN
    },
    Opt {
        name: "rate_iops_min",
        form: OPERATIONS,
        help: "A job that does fewer operations a second than this over rate_cycle fails.",
        set: |spec, given| limits(given, a_second).map(|limits| spec.rate.iops_min = limits),
        ..Opt::PLAIN
    },
    Opt {
        name: "rate_process",
        form: Form::Choice(&["linear", "poisson"]),
        default: "linear",
        help: "Whether a rate has operations start at equal distances, or at random instants (a Poisson process).",
        set: |spec, given| {
            let poisson = given.choice(&[("linear", false), ("poisson", true)])?;
            spec.rate.poisson = poisson;
            Ok(())
        },
        ..Opt::PLAIN
    },
    Opt {
        name: "rate_cycle",
        aliases: &["ratecycle"],
        form: Form::Integer { least: 0, most: MOST },
        default: "1000",
        help: "Milliseconds over which rate_min and rate_iops_min are looked at.",
        support: Support::Differs(
            "the schedule of a rate is kept from the start to the end, whatever the cycle",
        ),
        set: |spec, given| given.integer(0, MOST).map(|ms| spec.rate.cycle = Nanos(ms as u64 * 1_000_000)),
        ..Opt::PLAIN
    },
    Opt {
        name: "rate_ignore_thinktime",
        form: Form::Flag,
        default: "0",
        help: "Whether a rate catches up with what a thinktime has cost it.",
        support: Support::Differs("a job has a rate or a thinktime, so that it changes nothing"),
        set: |_, given| given.flag().map(|_| ()),
        ..Opt::PLAIN
    },
    Opt {
        name: "max_latency",
        form: Form::Special("a time in us or with a unit, for reads, writes, trims"),
        help: "An operation that takes longer ends the job with an error.",
        support: Support::Differs("one bound for all operations of a job"),
        set: |spec, given| {
            let bound = |given: &Given<'_>| microseconds(given).map(|time| (time.0 > 0).then_some(time));
            limits(given, bound).map(|limits| spec.rate.max_latency = limits)
        },
        ..Opt::PLAIN
    },
    Opt {
        name: "latency_target",
        form: Form::Time("us"),
        default: "0",
        help: "Searches the largest depth, up to iodepth, with which latency_percentile of the operations take no longer \
               than this.",
        support: Support::Differs(
            "each depth is tried in a window of its own whose start is left out, and an answer has been kept in two \
             windows; the response time counts",
        ),
        set: |spec, given| microseconds(given).map(|time| spec.rate.latency_target = time),
        ..Opt::PLAIN
    },
    Opt {
        name: "latency_window",
        form: Form::Time("us"),
        default: "0",
        help: "How long each depth is tried for latency_target.",
        support: Support::Differs("one second where it is not given or 0"),
        set: |spec, given| microseconds(given).map(|time| spec.rate.latency_window = time),
        ..Opt::PLAIN
    },
    Opt {
        name: "latency_percentile",
        form: Form::Number { least: 0.0, most: 100.0 },
        default: "100",
        help: "Percent of the operations that have to keep latency_target.",
        support: Support::Differs(
            "has to be given, below 100, with a latency_target: a maximum is never the same twice",
        ),
        set: |spec, given| given.number(0.0, 100.0).map(|percent| spec.rate.latency_percentile = percent),
        ..Opt::PLAIN
    },
    Opt {
        name: "latency_run",
        form: Form::Flag,
        default: "0",
        help: "Keeps on running after latency_target's answer, changing the depth as needed.",
        support: Support::Differs("0 only: a search ends with its answer"),
        set: |_, given| match given.flag()? {
            true => {
                Err("a search ends with its answer: leave it out, then run with the depth that was found"
                    .into())
            }
            false => Ok(()),
        },
        ..Opt::PLAIN
    },
    Opt {
        name: "flow",
        form: Form::Integer { least: 0, most: 1000 },
        default: "0",
        help: "The job's weight among those of the same flow_id, whose activity is kept in proportion to their weights.",
        support: Support::Differs("a job with a weight is refused when it is to run: jobs are not coupled"),
        set: |spec, given| given.integer(0, 1000).map(|weight| spec.rate.flow = weight as u32),
        ..Opt::PLAIN
    },
    Opt {
        name: "flow_id",
        form: Form::Integer { least: 0, most: MOST },
        default: "0",
        help: "Which flow the job belongs to.",
        support: Support::Differs("means nothing without a flow, which is refused"),
        set: |_, given| given.integer(0, MOST).map(|_| ()),
        ..Opt::PLAIN
    },
    Opt {
        name: "flow_sleep",
        form: Form::Integer { least: 0, most: MOST },
        default: "0",
        help: "Microseconds that a job waits when it is ahead of its flow.",
        support: Support::Differs("means nothing without a flow, which is refused"),
        set: |_, given| given.integer(0, MOST).map(|_| ()),
        ..Opt::PLAIN
    },
];
