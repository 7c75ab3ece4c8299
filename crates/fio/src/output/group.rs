//! What is reported as one: a job, or the jobs of a group with `group_reporting`. Counts and histograms are added up, nothing is
//! averaged.

use crate::language::thread::Reporting;
use iolite_model::{ErrorClass, FileTask, IoPriority, OpKind, Task, Usage};
use iolite_stats::{Detail, Histogram, PhaseTotals};

use super::blocks::BlockResult;
use super::durations::Durations;
use super::result::{JobResult, Results};
use super::samples::{Samples, moves_data, samples};

/// Kinds of operations that are reported as reads: those on names have no direction of their own.
const READS: [OpKind; 7] =
    [OpKind::Read, OpKind::Create, OpKind::Stat, OpKind::Open, OpKind::Unlink, OpKind::Mkdir, OpKind::Rmdir];

/// A direction of the flow of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Read,
    Write,
    Trim,
    /// All of them as one.
    Mixed,
}

impl Direction {
    /// The directions that are distinguished.
    pub(crate) const APART: [Direction; 3] = [Direction::Read, Direction::Write, Direction::Trim];

    /// As in JSON and text.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Direction::Read => "read",
            Direction::Write => "write",
            Direction::Trim => "trim",
            Direction::Mixed => "mixed",
        }
    }

    /// The kinds of operations that belong to it.
    pub(crate) fn kinds(self) -> Vec<OpKind> {
        match self {
            Direction::Read => READS.to_vec(),
            Direction::Write => vec![OpKind::Write],
            Direction::Trim => vec![OpKind::Trim],
            Direction::Mixed => Direction::APART.iter().flat_map(|direction| direction.kinds()).collect(),
        }
    }

    /// Positions of its directions in [`Detail`].
    fn places(self) -> &'static [usize] {
        match self {
            Direction::Read => &[0],
            Direction::Write => &[1],
            Direction::Trim => &[2],
            Direction::Mixed => &[0, 1, 2],
        }
    }
}

/// How much was done in a direction, and in what time.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counted {
    pub(crate) bytes: u64,
    pub(crate) operations: u64,
    pub(crate) short: u64,
    /// The longest time that a job was measured for, in nanoseconds; 0 where nothing was done.
    pub(crate) runtime: u64,
}

/// All that is reported of a direction.
#[derive(Debug, Clone, Default)]
pub(crate) struct Flow {
    pub(crate) counted: Counted,
    pub(crate) submission: Durations,
    pub(crate) completion: Durations,
    pub(crate) total: Durations,
    /// Bytes a second.
    pub(crate) bandwidth: Samples,
    /// Operations a second.
    pub(crate) iops: Samples,
    /// Share of the group's bandwidth, in percent.
    pub(crate) share: f64,
}

impl Counted {
    /// What jobs did together.
    fn of(jobs: &[&JobResult], direction: Direction) -> Counted {
        let mut counted = Counted::default();
        let kinds = direction.kinds();
        for job in jobs {
            let totals = &job.phase.totals;
            let operations = kinds.iter().map(|&kind| totals.operations(kind)).sum::<u64>();
            let is_of_names = matches!(job.phase.info.task, Task::Metadata(_));
            let each = if is_of_names { job.thread.reporting.blocks_per_name.max(1) } else { 1 };
            counted.operations += operations.saturating_mul(each);
            if is_of_names {
                counted.bytes += operations.saturating_mul(job.thread.reporting.bytes_per_name.0);
            } else if moves_data(job) {
                counted.bytes += kinds.iter().map(|&kind| totals.bytes(kind)).sum::<u64>();
            }
            let tallies = job.phase.end.errors.iter();
            let short =
                tallies.filter(|tally| tally.class == ErrorClass::Short && kinds.contains(&tally.kind));
            counted.short += short.map(|tally| tally.count).sum::<u64>();
            let mut runtime = if operations > 0 { totals.measured.max(1) } else { 0 };
            if let Some(read_back) = read_back(job, &kinds) {
                counted.operations += read_back.operations(OpKind::Read);
                counted.bytes += read_back.bytes(OpKind::Read);
                runtime += read_back.measured;
            }
            counted.runtime = counted.runtime.max(runtime);
        }
        counted
    }

    /// Bytes a second over the whole time.
    pub(crate) fn bytes_per_second(&self) -> f64 {
        per_second(self.bytes, self.runtime)
    }

    /// Operations a second over the whole time.
    pub(crate) fn operations_per_second(&self) -> f64 {
        per_second(self.operations, self.runtime)
    }

    /// The runtime in whole milliseconds; what ran at all has at least one.
    pub(crate) fn milliseconds(&self) -> u64 {
        milliseconds(self.runtime)
    }
}

/// What verification has read after the job: fio counts it among the job's reads.
fn read_back<'a>(job: &'a JobResult, kinds: &[OpKind]) -> Option<&'a PhaseTotals> {
    job.read_back.as_ref().filter(|_| kinds.contains(&OpKind::Read))
}

fn per_second(amount: u64, nanos: u64) -> f64 {
    if nanos == 0 { 0.0 } else { amount as f64 * 1e9 / nanos as f64 }
}

/// Whole milliseconds, rounded; at least one for any time.
pub(crate) fn milliseconds(nanos: u64) -> u64 {
    (nanos.saturating_add(500_000) / 1_000_000).max(u64::from(nanos > 0))
}

/// A job or a group that is reported as one.
#[derive(Debug, Clone)]
pub(crate) struct Entry<'a> {
    /// Its jobs; at least one.
    pub(crate) jobs: Vec<&'a JobResult>,
    /// Bytes a second of each direction over the whole group, by the position of the direction, the mixed one last.
    whole: [f64; 4],
}

/// What is reported one by one, in order.
pub(crate) fn entries(results: &Results) -> Vec<Entry<'_>> {
    let mut members: Vec<Vec<&JobResult>> = Vec::new();
    let reported = || results.jobs.iter().filter(|job| !job.thread.reporting.left_out);
    for job in reported() {
        let same = |others: &&mut Vec<&JobResult>| {
            others
                .first()
                .is_some_and(|first| first.thread.reporting.grouped && first.thread.group == job.thread.group)
        };
        match members.iter_mut().find(same) {
            Some(others) if job.thread.reporting.grouped => others.push(job),
            _ => members.push(vec![job]),
        }
    }
    let whole = |group: u32| {
        let all: Vec<_> = reported().filter(|job| job.thread.group == group).collect();
        let directions = [Direction::Read, Direction::Write, Direction::Trim, Direction::Mixed];
        directions.map(|direction| Counted::of(&all, direction).bytes_per_second())
    };
    members.into_iter().map(|jobs| Entry { whole: whole(jobs[0].thread.group), jobs }).collect()
}

impl<'a> Entry<'a> {
    /// The job that gives its name.
    pub(crate) fn first(&self) -> &'a JobResult {
        self.jobs[0]
    }

    /// The job whose settings are reported of a group: the last one's, as fio 3.33 was seen to do.
    pub(crate) fn last(&self) -> &'a JobResult {
        self.jobs[self.jobs.len() - 1]
    }

    /// Whether zones were reset, whose number is not known.
    pub(crate) fn is_zoned(&self) -> bool {
        matches!(&self.first().phase.info.task, Task::File(task) if task.zoned.is_some())
    }

    /// How it is reported.
    pub(crate) fn reporting(&self) -> &'a Reporting {
        &self.first().thread.reporting
    }

    /// The directions that are reported, apart and together.
    pub(crate) fn directions(&self) -> Vec<Direction> {
        match self.reporting().unified {
            0 => Direction::APART.to_vec(),
            1 => vec![Direction::Mixed],
            _ => Direction::APART.into_iter().chain([Direction::Mixed]).collect(),
        }
    }

    /// How much was done in a direction.
    pub(crate) fn counted(&self, direction: Direction) -> Counted {
        Counted::of(&self.jobs, direction)
    }

    /// All that is reported of a direction.
    pub(crate) fn flow(&self, direction: Direction) -> Flow {
        let mut flow = Flow { counted: self.counted(direction), ..Flow::default() };
        if flow.counted.operations == 0 {
            return flow;
        }
        let kinds = direction.kinds();
        for job in &self.jobs {
            add(&mut flow, job, direction, &kinds);
        }
        // What is read back has no intervals of its own.
        let measured = |job: &&JobResult| kinds.iter().any(|&kind| job.phase.totals.operations(kind) > 0);
        if self.jobs.iter().any(measured) {
            (flow.bandwidth, flow.iops) = samples(&self.jobs, &kinds);
        }
        let whole = self.whole[direction as usize];
        if whole > 0.0 {
            flow.share = (flow.bandwidth.mean / whole * 100.0).min(100.0);
        }
        flow
    }

    /// Times since the operations of a direction were meant to start.
    pub(crate) fn responses(&self, direction: Direction) -> Durations {
        let mut durations = Durations::default();
        for totals in self.jobs.iter().map(|job| &job.phase.totals) {
            for kind in direction.kinds() {
                if let Some(response) = totals.response(kind) {
                    durations.add(response, totals.response_sum(kind));
                }
            }
        }
        durations
    }

    /// Syncs: how many, and how long they took.
    pub(crate) fn syncs(&self) -> (u64, Durations) {
        // The sync at a job's end (`end_fsync`) is not among them, as with fio.
        let synced = |job: &&&JobResult| match &job.phase.info.task {
            Task::File(task) => task.durability.sync.is_some() || task.durability.end_sync.is_none(),
            _ => true,
        };
        let (mut count, mut durations) = (0, Durations::default());
        for job in self.jobs.iter().filter(synced) {
            count += job.phase.totals.operations(OpKind::Sync);
            services(&job.phase.totals, &[OpKind::Sync], &mut durations);
        }
        (count, durations)
    }

    /// What its jobs used of the machine.
    pub(crate) fn usage(&self) -> Usage {
        let mut usage = Usage::default();
        self.jobs.iter().for_each(|job| usage.add(job.usage));
        usage
    }

    /// The time that its jobs took, added up, in nanoseconds.
    pub(crate) fn job_time(&self) -> u64 {
        self.jobs.iter().map(|job| job_time(job)).sum()
    }

    /// User and system time in percent of the time that its jobs were measured for, which is what they are reported of.
    pub(crate) fn cpu(&self) -> (f64, f64) {
        let measured: u64 = self.jobs.iter().map(|job| job.phase.totals.measured).sum();
        if measured == 0 {
            return (0.0, 0.0);
        }
        let (usage, time) = (self.usage(), measured as f64);
        (usage.user.0 as f64 / time * 100.0, usage.system.0 as f64 / time * 100.0)
    }

    /// Depths, submissions and reaps, in fio's classes.
    pub(crate) fn depths(&self) -> Depths {
        let mut depths = Depths::default();
        for job in &self.jobs {
            depths.add(job);
        }
        depths
    }

    /// Whether one of the jobs has begun with its work.
    pub(crate) fn has_begun(&self) -> bool {
        self.jobs.iter().any(|job| job.phase.end.measured.0 > 0 || !job.phase.totals.is_empty())
    }

    /// What came of the blocks of its jobs, where they were watched.
    pub(crate) fn blocks(&self) -> Option<BlockResult> {
        BlockResult::of(self.jobs.iter().filter_map(|job| job.blocks.as_ref()))
    }

    /// The error that it is reported with: the first job's that has one.
    pub(crate) fn error(&self) -> i32 {
        self.jobs.iter().map(|job| job.error).find(|&error| error != 0).unwrap_or(0)
    }

    /// Errors that were gone on after, where that was allowed: how many, and the first one's number.
    pub(crate) fn continued(&self) -> Option<(u64, i32)> {
        let shown = self.jobs.iter().filter_map(|job| job.continued);
        shown.reduce(|sum, other| (sum.0 + other.0, if sum.1 != 0 { sum.1 } else { other.1 }))
    }

    /// The time of all its operations in fio's classes, in percent.
    pub(crate) fn latencies(&self) -> Latencies {
        let mut latencies = Latencies::default();
        if !self.reporting().disable_clat {
            for direction in Direction::APART {
                for job in &self.jobs {
                    let histogram = completion(job, direction, &direction.kinds());
                    latencies.add(&histogram);
                }
            }
        }
        latencies
    }
}

/// The time that a job took, in nanoseconds: neither its ramp nor what it had to wait for, but reading back included.
fn job_time(job: &JobResult) -> u64 {
    let read_back = job.read_back.as_ref().map_or(0, |totals| totals.measured);
    job.phase.totals.measured.saturating_add(read_back)
}

fn add(flow: &mut Flow, job: &JobResult, direction: Direction, kinds: &[OpKind]) {
    let (totals, reporting) = (&job.phase.totals, &job.thread.reporting);
    if !reporting.disable_lat {
        services(totals, kinds, &mut flow.total);
        add_read_back(job, kinds, &mut flow.total);
    }
    if !reporting.disable_clat {
        flow.completion.join(&completion(job, direction, kinds));
    }
    if let Some(detail) = job.detail.as_ref().filter(|_| !reporting.disable_slat && !reporting.synchronous) {
        for &place in direction.places() {
            flow.submission.add(&detail.submission[place], detail.sums[place][0]);
        }
    }
}

/// Adds the service times of these kinds.
fn services(totals: &PhaseTotals, kinds: &[OpKind], to: &mut Durations) {
    for &kind in kinds {
        if let Some(service) = totals.service(kind) {
            to.add(service, totals.service_sum(kind));
        }
    }
}

/// Adds the service times of what verification has read after the job.
fn add_read_back(job: &JobResult, kinds: &[OpKind], to: &mut Durations) {
    if let Some(totals) = read_back(job, kinds) {
        services(totals, &[OpKind::Read], to);
    }
}

/// Completion latencies: of what a submission has completed itself, the whole time.
fn completion(job: &JobResult, direction: Direction, kinds: &[OpKind]) -> Durations {
    let mut durations = Durations::default();
    if let Some(detail) = job.detail.as_ref().filter(|_| !job.thread.reporting.synchronous) {
        for &place in direction.places() {
            durations.add(&detail.completion[place], detail.sums[place][1]);
        }
    }
    if durations.count() == 0 {
        services(&job.phase.totals, kinds, &mut durations);
    }
    add_read_back(job, kinds, &mut durations);
    durations
}

/// Times of the operations of one I/O priority.
#[derive(Debug, Clone)]
pub(crate) struct OfPriority {
    /// Packed as the kernel has it.
    packed: u16,
    pub(crate) times: Durations,
}

impl OfPriority {
    /// Class and level.
    pub(crate) fn parts(&self) -> (u16, u16) {
        (self.packed >> 13, self.packed & 7)
    }
}

impl Entry<'_> {
    /// The latency that is reported by priority: the total one where its percentiles are asked for.
    pub(crate) fn priority_latency(&self) -> &'static str {
        if self.reporting().lat_percentiles { "lat" } else { "clat" }
    }

    /// Latencies by I/O priority, where operations of a direction had several: the job's own first.
    pub(crate) fn priorities(&self, direction: Direction) -> Vec<OfPriority> {
        let mut found: Vec<OfPriority> = Vec::new();
        let details = self.jobs.iter().filter_map(|job| job.detail.as_ref());
        for times in details.flat_map(|detail| &detail.priorities) {
            let [completion, service] = times.sums;
            let (shown, sum) = match self.reporting().lat_percentiles {
                true => (&times.service, service),
                false => (&times.completion, completion),
            };
            if shown.count() == 0 || !direction.places().contains(&times.place) {
                continue;
            }
            match found.iter_mut().find(|of| of.packed == times.priority) {
                Some(of) => of.times.add(shown, sum),
                None => {
                    let mut of = OfPriority { packed: times.priority, times: Durations::default() };
                    of.times.add(shown, sum);
                    found.push(of);
                }
            }
        }
        let placed = match &self.first().phase.info.task {
            Task::File(task) => task.placement.io_priority,
            _ => None,
        };
        let own = placed.map_or(0, IoPriority::packed);
        found.sort_by_key(|of| (of.packed != own, of.packed));
        if found.len() > 1 { found } else { Vec::new() }
    }
}

/// Depths, submissions and reaps: how often each class occurred.
#[derive(Debug, Clone, Default)]
pub(crate) struct Depths {
    pub(crate) depths: [u64; 7],
    pub(crate) submits: [u64; 7],
    pub(crate) completes: [u64; 7],
}

impl Depths {
    fn add(&mut self, job: &JobResult) {
        if let Some(Detail { depths, submits, completes, .. }) = &job.detail {
            let pairs =
                [(&mut self.depths, depths), (&mut self.submits, submits), (&mut self.completes, completes)];
            for (mine, other) in pairs {
                mine.iter_mut().zip(other).for_each(|(mine, other)| *mine += other);
            }
            return;
        }
        // One at a time, where nothing was watched and the engine can do no other.
        if job.thread.reporting.synchronous {
            let kinds = Direction::Mixed.kinds();
            let operations = kinds.iter().map(|&kind| job.phase.totals.operations(kind)).sum::<u64>();
            self.depths[0] += operations;
            self.submits[1] += operations;
            self.completes[1] += operations;
        }
    }
}

/// Shares of classes in percent. What occurred at all has at least `min`: so fio distinguishes it from what did not.
pub(crate) fn shares<const N: usize>(counts: [u64; N], total: u64, min: f64) -> [f64; N] {
    counts.map(|count| match count {
        0 => 0.0,
        _ => (count as f64 / total.max(1) as f64 * 100.0).max(min),
    })
}

/// Upper bounds of fio's classes of latencies, in the unit of their row (ns, us, ms).
pub(crate) const BOUNDS: [u64; 11] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000, 2000];

/// How often latencies fell into fio's classes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Latencies {
    nanos: [u64; 10],
    micros: [u64; 10],
    millis: [u64; 12],
    total: u64,
}

impl Latencies {
    fn add(&mut self, histogram: &Histogram) {
        for (latency, count) in histogram.iter() {
            let nanos = latency.0;
            self.total += count;
            let class = |unit: u64| BOUNDS.iter().position(|&bound| nanos < bound * unit);
            if nanos < 1000 {
                self.nanos[class(1).unwrap_or(0)] += count;
            } else if nanos < 1_000_000 {
                self.micros[class(1000).unwrap_or(0)] += count;
            } else {
                self.millis[class(1_000_000).unwrap_or(11)] += count;
            }
        }
    }

    /// Shares in percent of the classes in ns, us and ms.
    pub(crate) fn shares(&self) -> ([f64; 10], [f64; 10], [f64; 12]) {
        let total = self.total;
        (shares(self.nanos, total, 0.01), shares(self.micros, total, 0.01), shares(self.millis, total, 0.01))
    }

    /// The same with all that is below 2 us in the first class of microseconds.
    pub(crate) fn with_nanos_in_micros(&self) -> ([f64; 10], [f64; 12]) {
        let mut micros = self.micros;
        micros[0] += self.nanos.iter().sum::<u64>();
        (shares(micros, self.total, 0.01), shares(self.millis, self.total, 0.01))
    }
}

/// The depth that a job had at most.
pub(crate) fn depth(job: &JobResult) -> u32 {
    job.depth.unwrap_or(match &job.phase.info.task {
        Task::File(FileTask { concurrency, .. }) => *concurrency,
        _ => 1,
    })
}

/// What the system calls an error.
pub(crate) fn error_text(number: i32) -> String {
    let text = std::io::Error::from_raw_os_error(number).to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}
