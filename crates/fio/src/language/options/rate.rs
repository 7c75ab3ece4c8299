//! Rates, think time, latency targets.

mod arrival;

use iolite_model::{
    Arrival, FileTask, Flow, JobTask, KindLimit, LatencyTarget, LoadParameter, Nanos, OnError, OpKind,
    Quantile, RatedThinkTime,
};

use crate::language::error::{OptionError, Result};
use crate::language::options::Spec;
use crate::language::options::entry::{MAX, choice, flag, ignored, integer, number, put, special, time};
use crate::language::options::option::{Form, Opt};
use crate::language::thread::{Thread, ThreadIndex};
use crate::language::value::{OptionValue, Unit};

/// Something for reads, for writes and for trims, where there is any.
pub type PerDirection<T> = [Option<T>; 3];

/// Rates, think time, latency targets.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rate {
    /// `thinktime`: pause; 0 for none.
    pub think_time: Nanos,
    /// `thinktime_spin`: how much of the pause generates CPU load.
    pub think_spin: Nanos,
    /// `thinkcycles`: cycles that the CPU is kept busy for after each operation; 0 for none.
    pub think_cycles: u64,
    /// `thinktime_blocks`: operations between two pauses; `None` for 1, or for any number with `think_io`.
    pub think_blocks: Option<u32>,
    /// `thinktime_iotime`: time of operations between two pauses; 0 for none.
    pub think_io: Nanos,
    /// `rate_ignore_thinktime`: a rate does not catch up with what think time has cost it.
    pub ignore_think_time: bool,
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
    /// `flow_id`: the jobs that it keeps the ratio with.
    pub flow_group: u32,
    /// `flow_sleep`: pause of a job that is ahead.
    pub flow_pause: Nanos,
}

impl Rate {
    /// Changes `thread` to what these settings say; its mix, sizes and depth are set before.
    pub(crate) fn lower(&self, _spec: &Spec, _place: ThreadIndex, thread: &mut Thread) -> Result {
        let JobTask::Io(task) = &mut thread.task else { return self.refuse_for_names() };
        self.set_arrival(task)?;
        let does = arrival::directions(task.mix);
        self.check_min(does)?;
        self.limit(does, &mut task.errors);
        let flow = Flow { group: self.flow_group, weight: self.flow, pause: self.flow_pause };
        task.flow = (self.flow > 0).then_some(flow);
        thread.latency_target = self.target(task);
        if thread.latency_target.is_some() && self.latency_percentile > HIGHEST {
            let note = format!("latency_percentile: {} counts as {HIGHEST}", self.latency_percentile);
            thread.notes.push(note);
        }
        let only_done = |limits: PerDirection<f64>| std::array::from_fn(|at| limits[at].filter(|_| does[at]));
        thread.rate = only_done(self.bytes);
        thread.rate_iops = only_done(self.iops);
        thread.rate_min = only_done(self.bytes_min);
        thread.rate_iops_min = only_done(self.iops_min);
        thread.rate_cycle = self.cycle.max(Nanos::MILLISECOND);
        Ok(())
    }

    /// Engines that make, find and remove names have neither rates nor pauses.
    fn refuse_for_names(&self) -> Result {
        let plain = Rate { cycle: self.cycle, poisson: self.poisson, ..Spec::default().rate };
        let pauses = Rate {
            think_spin: self.think_spin,
            think_blocks: self.think_blocks,
            think_io: self.think_io,
            ignore_think_time: self.ignore_think_time,
            ..plain
        };
        let latency = Rate {
            latency_window: self.latency_window,
            latency_percentile: self.latency_percentile,
            ..pauses
        };
        if *self == latency {
            Ok(())
        } else {
            Err(OptionError::refused(
                "rate, thinktime, latency_target and max_latency are not for metadata engines",
                "remove them",
            ))
        }
    }

    fn set_arrival(&self, task: &mut FileTask) -> Result {
        let schedule = arrival::rated(self, task)?;
        if self.think_time.0 == 0 && self.think_cycles == 0 {
            task.arrival = schedule.map_or(task.arrival, Arrival::from);
            return Ok(());
        }
        let busy = Nanos(self.think_cycles);
        let pause = Nanos(self.think_time.0.saturating_add(busy.0));
        let spin = Nanos((self.think_spin.0.saturating_add(busy.0)).min(pause.0));
        let io_time = self.think_io;
        let operations = self.think_blocks.unwrap_or(u32::from(io_time.0 == 0));
        task.arrival = match schedule {
            None => Arrival::ThinkTime { pause, operations, io_time, spin },
            Some(schedule) => {
                let catch_up = !self.ignore_think_time;
                let rated = RatedThinkTime { pause, operations, io_time, spin, schedule, catch_up };
                Arrival::RatedThinkTime(rated)
            }
        };
        Ok(())
    }

    /// A least rate above the rate itself could not be kept.
    fn check_min(&self, does: [bool; 3]) -> Result {
        let above = |rate: &PerDirection<f64>, min: &PerDirection<f64>| {
            let mut pairs = does.iter().zip(rate.iter().zip(min)).filter(|(does, _)| **does);
            pairs.any(|(_, pair)| matches!(pair, (Some(rate), Some(min)) if min > rate))
        };
        if above(&self.bytes, &self.bytes_min) || above(&self.iops, &self.iops_min) {
            return Err(OptionError::refused(
                "rate_min and rate_iops_min are above rate and rate_iops",
                "lower them",
            ));
        }
        Ok(())
    }

    /// Sets the longest service times of the kinds of operations that the job does.
    fn limit(&self, does: [bool; 3], errors: &mut OnError) {
        let kinds = [OpKind::Read, OpKind::Write, OpKind::Trim].into_iter().zip(self.max_latency).zip(does);
        let bounds: Vec<(OpKind, Option<Nanos>)> =
            kinds.filter(|(_, does)| *does).map(|(bound, _)| bound).collect();
        match bounds.as_slice() {
            [] => {}
            [(_, first), rest @ ..] if rest.iter().all(|(_, bound)| bound == first) => {
                errors.max_service = *first
            }
            all => {
                let limits =
                    all.iter().filter_map(|(kind, bound)| Some(KindLimit { kind: *kind, max: (*bound)? }));
                errors.max_service_of = limits.collect();
            }
        }
    }

    fn target(&self, task: &FileTask) -> Option<LatencyTarget> {
        if self.latency_target.0 == 0 {
            return None;
        }
        let window = if self.latency_window.0 > 0 { self.latency_window } else { Nanos::SECOND };
        Some(LatencyTarget {
            bound: self.latency_target,
            quantile: Quantile(self.latency_percentile.min(HIGHEST) / 100.0),
            window,
            ramp: Nanos(window.0 / RAMP),
            parameter: LoadParameter::Depth { max: task.concurrency },
        })
    }
}

/// The highest percentile that a search is for: the largest of all latencies is no figure that a second try would give again.
const HIGHEST: f64 = 99.9;

/// Each try of a latency search begins with this part of a window that is left out.
const RAMP: u64 = 5;

/// Values for reads, writes and trims: one that is left out at the end is as the one before, an empty one is none.
fn limits<T: Copy>(
    given: &OptionValue<'_>,
    parse: impl Fn(&OptionValue<'_>) -> Result<Option<T>>,
) -> Result<PerDirection<T>> {
    let parts: Vec<&str> = given.text()?.split(',').map(str::trim).collect();
    if parts.len() > 3 {
        return Err(OptionError::refused("it has more than three values", "reads, writes, trims"));
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
fn a_second(given: &OptionValue<'_>) -> Result<Option<f64>> {
    given.size().map(|size| (size.0 > 0).then_some(size.0 as f64))
}

fn microseconds(given: &OptionValue<'_>) -> Result<Nanos> {
    given.time(Unit::Microseconds)
}

const BYTES: Form = Form::Special("bytes a second, for reads, writes, trims: 1m or 1m,500k or 1m, or ,500k");
const OPERATIONS: Form =
    Form::Special("operations a second, for reads, writes, trims: 500 or 500,100 or 500, or ,100");

/// The options.
pub const OPTIONS: &[Opt] = &[
    time("thinktime", Unit::Microseconds, |s, time| s.rate.think_time = time)
        .default("0")
        .help("Pause after every thinktime_blocks operations, when all operations in flight have completed."),
    time("thinktime_spin", Unit::Microseconds, |s, time| s.rate.think_spin = time)
        .default("0")
        .help("Part of the thinktime, from its start, that is spent busy instead of sleeping."),
    integer("thinkcycles", 0, MAX, |s, value| s.rate.think_cycles = value.unsigned_abs())
        .default("0")
        .help("CPU cycles to spend after each operation, before the thinktime.")
        .differs("a cycle is a nanosecond at every CPU frequency"),
    integer("thinktime_blocks", 1, MAX, |s, value| s.rate.think_blocks = Some(value as u32))
        .help("Number of operations between pauses; the default is 1 unless thinktime_iotime is given."),
    ignored("thinktime_blocks_type", Form::Choice(&["complete", "issue"]))
        .default("complete")
        .help("Whether thinktime_blocks counts completed or issued operations.")
        .differs("both have the same effect: the pause starts when all issued operations have completed"),
    time("thinktime_iotime", Unit::Seconds, |s, time| s.rate.think_io = time).default("0").help(
        "Time of operations from one thinktime to the next; with thinktime_blocks whichever is over first.",
    ),
    special("rate", BYTES, |s, g| put(&mut s.rate.bytes, limits(g, a_second)))
        .help(
            "Bytes a second that the job is held to: a schedule that it catches up with where it has fallen \
             behind.",
        )
        .differs(
            "response times are measured from the scheduled start, so that they include the wait for a slow \
             device. As in fio the shares of a mix follow from its rates, and what has none goes as fast as \
             it can",
        ),
    special("rate_min", BYTES, |s, g| put(&mut s.rate.bytes_min, limits(g, a_second)))
        .named_also(&["ratemin"])
        .help("A job that is slower than this over rate_cycle fails."),
    special("rate_iops", OPERATIONS, |s, g| put(&mut s.rate.iops, limits(g, a_second)))
        .help("Operations a second that the job is held to, as with rate; not together with it.")
        .differs(
            "like rate; operations of every size are counted, where fio counts bytes at the smallest size of \
             a range",
        ),
    special("rate_iops_min", OPERATIONS, |s, g| put(&mut s.rate.iops_min, limits(g, a_second)))
        .help("A job that does fewer operations a second than this over rate_cycle fails."),
    choice!("rate_process", &[("linear", false), ("poisson", true)], |s, v| s.rate.poisson = v)
        .default("linear")
        .help(
            "Whether a rate has operations start at equal distances, or at random instants (a Poisson \
             process).",
        ),
    integer("rate_cycle", 0, MAX, |s, value| s.rate.cycle = Nanos(value as u64 * 1_000_000))
        .named_also(&["ratecycle"])
        .default("1000")
        .help("Milliseconds over which rate_min and rate_iops_min are looked at.")
        .differs("the schedule of a rate is kept for the whole job"),
    flag("rate_ignore_thinktime", |s, on| s.rate.ignore_think_time = on)
        .help("A rate does not catch up with what a thinktime has cost it."),
    special("max_latency", Form::Special("a time in us or with a unit, for reads, writes, trims"), |s, g| {
        let bound = |g: &OptionValue<'_>| microseconds(g).map(|time| (time.0 > 0).then_some(time));
        limits(g, bound).map(|limits| s.rate.max_latency = limits)
    })
    .help("An operation that takes longer ends the job with an error."),
    time("latency_target", Unit::Microseconds, |s, time| s.rate.latency_target = time)
        .default("0")
        .help(
            "Searches the largest depth, up to iodepth, with which latency_percentile of the operations take \
             no longer than this.",
        )
        .differs(
            "each depth is measured in its own window, whose start is excluded, and a result was met in two \
             windows; the response time counts",
        ),
    time("latency_window", Unit::Microseconds, |s, time| s.rate.latency_window = time)
        .default("0")
        .help("How long each depth is tried for latency_target.")
        .differs(
            "the default is one second; up to ten times as long if latency_percentile would rest on fewer \
             than ten operations beyond it",
        ),
    number("latency_percentile", 0.0, 100.0, |s, value| s.rate.latency_percentile = value)
        .default("100")
        .help("Percentage of the operations that must meet latency_target.")
        .differs("above 99.9 it counts as 99.9, because a maximum is not reproducible"),
    special("latency_run", Form::Flag, |_, g| match g.flag()? {
        true => Err(OptionError::refused(
            "a search ends with its answer",
            "remove it, then run with the depth that was found",
        )),
        false => Ok(()),
    })
    .default("0")
    .help("Continues after latency_target was met, adjusting the depth.")
    .differs("only 0: the search ends with its result"),
    integer("flow", 0, 1000, |s, value| s.rate.flow = value as u32)
        .default("0")
        .help(
            "Weight of the job among those with the same flow_id, whose activity is kept in proportion to \
             the weights.",
        )
        .differs("the ratio is kept among jobs that start together, to within one round"),
    integer("flow_id", 0, MAX, |s, value| s.rate.flow_group = value as u32)
        .default("0")
        .help("Which flow the job belongs to."),
    ignored("flow_watermark", Form::Integer { min: 0, max: MAX })
        .default("1024")
        .help("Obsolete; accepted and ignored, as in current fio.")
        .differs("it is deprecated and has no effect, as in fio"),
    integer("flow_sleep", 0, MAX, |s, value| s.rate.flow_pause = Nanos(value as u64 * 1000))
        .default("0")
        .help("Microseconds that a job waits when it is ahead of its flow."),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::options::option::samples::{io, lowered, spec, task};
    use iolite_model::{BackendKind, Bandwidth, Iops, KindRates, MetadataTask, Mix, Pace, Schedule};

    fn arrival(settings: &[(&str, &str)], mix: Mix) -> Result<(Arrival, Mix), OptionError> {
        io(settings, task(mix)).map(|(_, task)| (task.arrival, task.mix))
    }

    /// As fio 3.33 was seen to read them.
    #[test]
    fn rates_are_for_reads_writes_and_trims() {
        for (text, rates) in [
            ("1m", [Some(1048576.0); 3]),
            ("1m,500k", [Some(1048576.0), Some(512000.0), Some(512000.0)]),
            ("1m,", [Some(1048576.0), None, None]),
            (",500k", [None, Some(512000.0), Some(512000.0)]),
            ("1m,,500k", [Some(1048576.0), None, Some(512000.0)]),
            ("0", [None; 3]),
        ] {
            assert_eq!(spec(&[("rate", text)]).unwrap().rate.bytes, rates, "{text}");
        }
        assert!(spec(&[("rate", "1,2,3,4")]).is_err());
    }

    #[test]
    fn a_rate_is_a_schedule() {
        let bytes = |rate| Arrival::ConstantBytes(Bandwidth(rate));
        assert_eq!(arrival(&[("rate", "1000")], Mix::Read).unwrap(), (bytes(1000.0), Mix::Read));
        assert_eq!(arrival(&[("rate", "1000,500")], Mix::Write).unwrap(), (bytes(500.0), Mix::Write));
        assert_eq!(arrival(&[("rate", "1000,")], Mix::Write).unwrap(), (Arrival::Closed, Mix::Write));
        assert_eq!(arrival(&[("rate", "1,2,3")], Mix::Trim).unwrap(), (bytes(3.0), Mix::Trim));
        assert_eq!(
            arrival(&[("rate_iops", "50")], Mix::Read).unwrap(),
            (Arrival::Constant(Iops(50.0)), Mix::Read)
        );
        let poisson = ("rate_process", "poisson");
        assert_eq!(
            arrival(&[("rate_iops", "50"), poisson], Mix::Read).unwrap(),
            (Arrival::Poisson(Iops(50.0)), Mix::Read)
        );
        assert_eq!(
            arrival(&[("rate", "50"), poisson], Mix::Read).unwrap(),
            (Arrival::PoissonBytes(Bandwidth(50.0)), Mix::Read)
        );
    }

    #[test]
    fn each_kind_of_a_mix_has_a_rate_of_its_own() {
        let half = Mix::ReadPercent(90);
        let bytes = |rate| Some(Pace::Bytes(Bandwidth(rate)));
        let operations = |rate| Some(Pace::Operations(Iops(rate)));
        let found = |settings: &[(&str, &str)], mix| {
            let (arrival, after) = arrival(settings, mix).unwrap();
            let Arrival::ByKind(rates) = arrival else { panic!("{arrival:?}") };
            assert_eq!(after, mix);
            rates
        };
        let none = KindRates::default();
        let both = KindRates { reads: operations(300.0), writes: operations(100.0), ..none };
        assert_eq!(found(&[("rate_iops", "300,100")], half), both);
        assert!(found(&[("rate_iops", "300,100,1"), ("rate_process", "poisson")], half).poisson);
        let both = KindRates { reads: bytes(300.0), writes: bytes(300.0), ..none };
        assert_eq!(found(&[("rate", "300")], half), both);
        assert_eq!(found(&[("rate", "300,")], half), KindRates { reads: bytes(300.0), ..none });
        assert_eq!(found(&[("rate", ",300")], half), KindRates { writes: bytes(300.0), ..none });
        let trims = KindRates { writes: operations(1.0), trims: operations(3.0), ..none };
        assert_eq!(found(&[("rate_iops", "1,1,3")], Mix::TrimPercent(50)), trims);
        let alternating = arrival(&[("rate_iops", "1,5,3")], Mix::TrimThenWrite).unwrap();
        assert_eq!(alternating, (Arrival::Constant(Iops(6.0)), Mix::TrimThenWrite));
        let reads = arrival(&[("rate", "300,")], Mix::ReadPercent(100)).unwrap();
        assert_eq!(reads, (Arrival::ConstantBytes(Bandwidth(300.0)), Mix::ReadPercent(100)));
    }

    #[test]
    fn pauses_come_with_and_without_rates() {
        let pause = [("thinktime", "2000"), ("thinktime_blocks", "4"), ("thinktime_spin", "1s")];
        let (_, task) = io(&pause, task(Mix::Read)).unwrap();
        let (pause, spin) = (Nanos(2_000_000), Nanos(2_000_000));
        assert_eq!(task.arrival, Arrival::ThinkTime { pause, operations: 4, io_time: Nanos(0), spin });
        let by_time = |settings: &[(&str, &str)]| {
            let settings = [&[("thinktime", "2ms"), ("thinktime_iotime", "9")], settings].concat();
            match arrival(&settings, Mix::Read).unwrap().0 {
                Arrival::ThinkTime { operations, io_time, .. } => (operations, io_time),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(by_time(&[]), (0, Nanos(9_000_000_000)));
        assert_eq!(by_time(&[("thinktime_blocks", "5")]), (5, Nanos(9_000_000_000)));
        let both =
            |settings: &[(&str, &str)], mix| match arrival(&[&[("thinktime", "1")], settings].concat(), mix)
                .unwrap()
                .0
            {
                Arrival::RatedThinkTime(rated) => rated,
                other => panic!("{other:?}"),
            };
        let rated = both(&[("rate", "1m")], Mix::Read);
        assert_eq!((rated.pause, rated.operations, rated.catch_up), (Nanos(1000), 1, true));
        assert_eq!(rated.schedule, Schedule::ConstantBytes(Bandwidth(1_048_576.0)));
        let rated = both(&[("rate_iops", "7,8"), ("rate_ignore_thinktime", "1")], Mix::ReadPercent(50));
        assert!(!rated.catch_up && matches!(rated.schedule, Schedule::ByKind(_)), "{rated:?}");
        assert!(
            arrival(&[("rate_iops", "1"), ("rate", "1m")], Mix::Read)
                .unwrap_err()
                .to_string()
                .contains("exclude")
        );
    }

    #[test]
    fn least_rates_are_of_what_is_done() {
        let settings =
            [("rate", "1250"), ("ratemin", "1024"), ("ratecycle", "500"), ("rate_iops_min", "7,8")];
        let (thread, _) = io(&settings, task(Mix::Write)).unwrap();
        assert_eq!(thread.rate_min, [None, Some(1024.0), None]);
        assert_eq!(thread.rate_iops_min, [None, Some(8.0), None]);
        assert_eq!(thread.rate_cycle, Nanos(500_000_000));
        assert!(
            io(&[("rate", "1m"), ("rate_min", "2m")], task(Mix::Read))
                .unwrap_err()
                .to_string()
                .contains("lower them")
        );
    }

    #[test]
    fn latencies_are_bounded_and_searched() {
        let settings = [
            ("iodepth", "128"),
            ("latency_target", "500000"),
            ("latency_window", "5000000"),
            ("latency_percentile", "99.9"),
            ("max_latency", "2s"),
        ];
        let ring = FileTask { backend: BackendKind::Libaio, ..task(Mix::Read) };
        let (thread, found) = io(&settings, ring).unwrap();
        let target = thread.latency_target.unwrap();
        assert_eq!((target.bound, target.window), (Nanos(500_000_000), Nanos(5_000_000_000)));
        assert!((target.quantile.0 - 0.999).abs() < 1e-12);
        assert_eq!(target.parameter, LoadParameter::Depth { max: 128 });
        assert_eq!(found.errors.max_service, Some(Nanos(2_000_000_000)));
        let default = io(&[("latency_target", "1ms")], task(Mix::Read)).unwrap().0.latency_target.unwrap();
        assert!((default.quantile.0 - 0.999).abs() < 1e-12);
        assert!(
            io(&[("latency_run", "1")], task(Mix::Read))
                .unwrap_err()
                .to_string()
                .contains("ends with its answer")
        );
        let different = [("max_latency", "1s,2s")];
        let both = io(&different, task(Mix::ReadPercent(50))).unwrap().1.errors;
        let limits = [OpKind::Read, OpKind::Write, OpKind::Trim].map(|kind| both.limit(kind));
        assert_eq!(limits, [Some(Nanos::SECOND), Some(Nanos(2 * Nanos::SECOND.0)), None]);
        assert!(both.has_limits());
        assert_eq!(
            io(&different, task(Mix::Write)).unwrap().1.errors.max_service,
            Some(Nanos(2_000_000_000))
        );
    }

    #[test]
    fn what_is_not_built_is_refused_by_name() {
        let flow = |settings| io(settings, task(Mix::Read)).unwrap().1.flow;
        let expected = Flow { group: 3, weight: 8, pause: Nanos(20_000) };
        assert_eq!(flow(&[("flow", "8"), ("flow_id", "3"), ("flow_sleep", "20")]), Some(expected));
        assert_eq!(flow(&[("flow", "0"), ("flow_id", "3")]), None);
        let names = || JobTask::Metadata(MetadataTask::default());
        assert!(lowered(&[("thinktime_blocks", "3")], names()).is_ok());
        for setting in [("rate", "1m"), ("thinktime", "5"), ("max_latency", "1s"), ("latency_target", "1s")] {
            assert!(
                lowered(&[setting], names()).unwrap_err().to_string().contains("metadata"),
                "{setting:?}"
            );
        }
    }
}
