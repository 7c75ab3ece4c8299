//! Warnings about a measurement: typed, each with advice.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::fault::ErrorClass;
use crate::host_limit::HostLimit;
use crate::kind::OpKind;
use crate::log_copy::{CopiedWrites, LogCopy};
use crate::units::{Bytes, Iops, Nanos};

/// A warning about a measurement. Its text says what is uncertain, and what to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case", tag = "warning")]
pub enum Warning {
    /// The file system refuses O_DIRECT.
    #[error(
        "{filesystem} does not support direct I/O here: reads may be served from memory, see the cache column; to measure the \
         device, use a file system that supports O_DIRECT (ext4, XFS)"
    )]
    NoDirectIo {
        /// Type of the file system.
        filesystem: String,
    },
    /// No block device lies beneath, so nothing can be reconciled.
    #[error(
        "the counters of the block devices beneath this {filesystem} are not available: the cache column is derived from page \
         cache residency, otherwise unknown"
    )]
    NoDeviceCounters {
        /// Type of the file system.
        filesystem: String,
    },
    /// The page cache can't be traced.
    #[error(
        "hits and misses of the page cache are not counted: {reason}; reads from devices (direct I/O included), pages read again \
         soon after they were dropped, and pages that became dirty are counted without"
    )]
    CacheNotTraced {
        /// Why, and what helps.
        reason: String,
    },
    /// Requests of block devices can't be traced.
    #[error(
        "the requests of the devices are not traced: {reason}; whether the I/O scheduler or the device took the time of slow operations \
         is not known"
    )]
    RequestsNotTraced {
        /// Why, and what helps.
        reason: String,
    },
    /// Events of the page cache came faster than they were read.
    #[error(
        "{lost} events of the page cache were lost, because they came faster than they could be read: lookups, hits and misses are too low; \
         events are lost first when all CPUs are busy"
    )]
    CacheEventsLost {
        /// Events lost.
        lost: u64,
    },
    /// The database is small beside the memory.
    #[error(
        "the database ({database}) is smaller than twice the memory of this host ({memory}): reads may be \
         served by a cache; check the share that reached the device, or purge the database and set it up with \
         --size {wanted} or more"
    )]
    SmallDatabase {
        /// Size of its data files.
        database: Bytes,
        /// The host's memory.
        memory: Bytes,
        /// Twice that.
        wanted: Bytes,
    },
    /// The database is small beside the storage controller's cache.
    #[error(
        "the database ({database}) is smaller than four times the controller's cache ({cache}): reads may be served by that \
         cache, which cannot be observed from the host; purge the database and set it up with --size {wanted} or more"
    )]
    SmallForController {
        /// Size of its data files.
        database: Bytes,
        /// The controller's cache, as stated.
        cache: Bytes,
        /// Four times that.
        wanted: Bytes,
    },
    /// What a database does by itself before a run could not be done.
    #[error("the database could not be prepared for cold reads: {reason}")]
    NotSettled {
        /// Why, and what helps.
        reason: String,
    },
    /// The device did much more than was asked of it.
    #[error(
        "during `{phase}` the device {} {device} for {requested} requested: other programs use it, \
         or reads are amplified; repeat the check when the device is idle",
        kind.past_tense()
    )]
    ForeignLoad {
        /// The phase.
        phase: String,
        /// What it did more: reads or writes.
        kind: OpKind,
        /// Bytes asked for.
        requested: Bytes,
        /// Bytes the device counted.
        device: Bytes,
    },
    /// The medium is memory.
    #[error(
        "{device} keeps its data in memory and loses it at the next restart: measure the storage that the \
         database will use"
    )]
    Volatile {
        /// The device or file system.
        device: String,
    },
    /// Operations failed.
    #[error("`{phase}`: {errors} operations failed, the first with: {first}; {}", .class.cause())]
    Errors {
        /// The phase.
        phase: String,
        /// How many.
        errors: u64,
        /// The first one's error.
        first: String,
        /// Its class.
        class: ErrorClass,
    },
    /// io_uring can't be used.
    #[error(
        "io_uring is not available ({reason}): using one thread per outstanding operation, which costs more CPU; \
         enable it (kernel.io_uring_disabled=0, the container's seccomp profile) to measure deep queues"
    )]
    NoIoUring {
        /// The kernel's answer.
        reason: String,
    },
    /// Measured phases were shorter than wanted.
    #[error(
        "shortened, because their share of the space budget was used up: {}; use a larger --budget-space for steadier figures", .phases.join(", ")
    )]
    ShortPhases {
        /// The phases, each with the time measured.
        phases: Vec<String>,
    },
    /// The load had not met the device's limit when the search had to stop.
    #[error(
        "throughput of `{phase}` was still growing at {concurrency} outstanding operations: the storage is capable of more"
    )]
    NoPlateau {
        /// The phase.
        phase: String,
        /// The highest concurrency tried.
        concurrency: u32,
    },
    /// A budget did not suffice.
    #[error("skipped: {what}: {why}")]
    LeftOut {
        /// What was not measured.
        what: String,
        /// Why, and what would help.
        why: String,
    },
    /// A partition begins within a block of its disk.
    #[error(
        "{} begins at byte {start} of its disk, which is no multiple of {unit}: nearly every operation takes a part of one more block of the \
         drive, and writes are slower; create the partition at a multiple of 1 MiB",
        target.display()
    )]
    Misaligned {
        /// The partition.
        target: PathBuf,
        /// Bytes of its disk before it.
        start: u64,
        /// Bytes of a block that operations should not cross.
        unit: Bytes,
    },
    /// Measurements in which no operation completed.
    #[error(
        "no operation completed in `{first}`{}: it has no figure, and means that would include it are not calculated; {advice}",
        and_others(*.count)
    )]
    NoOperation {
        /// Name of the first of them.
        first: String,
        /// How many there are.
        count: u64,
        /// What may be the cause, and what would help.
        advice: String,
    },
    /// Results could not be stored.
    #[error("results are not being stored: {reason}; the measurement continues")]
    StoreFailed {
        /// The error.
        reason: String,
    },
    /// The user asked for the page cache.
    #[error(
        "measured through the page cache (--buffered): operations that it serves do not measure the storage"
    )]
    ThroughCache,
    /// A plateau that is equal at all depths and sizes.
    #[error(
        "{what}: {cap} at every queue depth{}: this is a throttle, not a limit of the device",
        if *.from > 1 { format!(" from {from} on") } else { String::new() }
    )]
    Capped {
        /// The searches that met it.
        what: String,
        /// The cap, in words.
        cap: String,
        /// Outstanding operations from which on the rate is the same.
        from: u32,
    },
    /// The data file covers little of a device whose speed depends on where it reads.
    #[error(
        "the data file covers {percent:.2} % of a rotational device: caches are more effective and seeks shorter than for a \
         database that fills the device; use a larger --budget-space"
    )]
    ShortStroked {
        /// Share of the capacity, in percent.
        percent: f64,
    },
    /// The data file lies in a part of the file system.
    #[error(
        "not excluded: longer seeks and slower zones than those measured; the file system has placed the data file ({span}) in \
         {pieces} pieces within {percent:.0} % of its space"
    )]
    Narrow {
        /// Size of the data file.
        span: Bytes,
        /// Pieces that do not follow each other on the device.
        pieces: u64,
        /// From the first to the last, in percent of the file system's size.
        percent: f64,
    },
    /// What a check of this size and length cannot see.
    #[error(
        "not excluded: a cache of the device, controller or host that can hold {span}, and burst credits that \
         last longer than {time}; use a larger --budget-space and --budget-time, or --thorough"
    )]
    NotExcluded {
        /// Size of the data file.
        span: Bytes,
        /// Time of the check.
        time: Nanos,
    },
    /// Random writes before a thorough check did not become steady.
    #[error(
        "random writes did not reach steady state in {rounds} rounds (the last five differ from their mean by up to {percent:.0} \
         %): performance is still changing; use a larger --budget and --max-write"
    )]
    NotSteady {
        /// Rounds.
        rounds: u32,
        /// Largest distance of one of the last five from their mean, in percent.
        percent: f64,
    },
    /// The rate went from one level to another in mid-run.
    #[error(
        "`{phase}`: {at} after its start the rate changed permanently from {before} to {after} IOPS, so the mean describes \
         neither; possible causes are burst credits, a throttle, a full cache, or other load"
    )]
    LevelShift {
        /// The phase.
        phase: String,
        /// When, since the start of the measured part.
        at: Nanos,
        /// Operations per second before.
        before: Iops,
        /// Operations per second after.
        after: Iops,
    },
    /// Next to nothing completed for a while.
    #[error(
        "`{phase}`: less than a tenth of the usual number of operations completed for {longest}, {at} after its start\
         {}: the device or its path stalls",
        if *.stalls > 1 { format!(" ({} such stalls, this is the longest)", .stalls) } else { String::new() }
    )]
    Stalls {
        /// The phase.
        phase: String,
        /// When the longest began, since the start of the measured part.
        at: Nanos,
        /// How long it lasted.
        longest: Nanos,
        /// Number of stalls.
        stalls: u32,
    },
    /// The program was not run.
    #[error(
        "iolite did not run for {length}, {at} after the start of the run: it was stopped (SIGSTOP, Ctrl-Z), \
         or the host was suspended or had no CPU for it; a stall at that time is not caused by the device"
    )]
    Suspended {
        /// When, since the start of the run.
        at: Nanos,
        /// How long.
        length: Nanos,
    },
    /// The host was suspended.
    #[error(
        "the host was suspended for {length}, {at} after the start of the run: figures of what was measured then are not valid; repeat the \
         run, and keep the host from being suspended meanwhile (systemd-inhibit)"
    )]
    HostSuspended {
        /// When, since the start of the run, at the latest.
        at: Nanos,
        /// How long.
        length: Nanos,
    },
    /// The rate rises and falls regularly.
    #[error(
        "`{phase}`: the rate oscillates with a period of {period} by {percent:.0} % of its mean: possible causes are \
         checkpoints, write-back, a throttle with periodic quotas, or another program"
    )]
    Periodic {
        /// The phase.
        phase: String,
        /// Length of a period.
        period: Nanos,
        /// Amplitude in percent of the mean rate.
        percent: f64,
    },
    /// Operations in flight never completed.
    #[error(
        "`{phase}`: {lost} operations had not completed after {age}: the device hangs; see the kernel log (dmesg)"
    )]
    Hung {
        /// The phase.
        phase: String,
        /// How many.
        lost: u64,
        /// Age of the oldest.
        age: Nanos,
    },
    /// Settings of the database changed while it was measured.
    #[error(
        "settings of the database changed during `{phase}`: {}; repeat the run without changing settings", .changes.join("; ")
    )]
    SettingsChanged {
        /// The phase.
        phase: String,
        /// What changed, with both values.
        changes: Vec<String>,
    },
    /// Commits were to be durable, and too few synchronisations were counted for that.
    #[error(
        "`{phase}`: {commits} commits should be durable, but the {counter} counted only {syncs} {what}, fewer \
         than {}: commits were not synchronised, or only to a cache; check the database's \
         durability settings, and whether its file system is mounted with barriers",
        one_for(*.jobs)
    )]
    FewSyncs {
        /// The phase.
        phase: String,
        /// Commits that returned.
        commits: u64,
        /// Jobs, each with one commit at a time: as many at most can share a synchronisation.
        jobs: u32,
        /// Who counted: `database` or `device`.
        counter: String,
        /// What was counted: `synchronisations of its log` or `flushes`.
        what: String,
        /// How many.
        syncs: u64,
    },
    /// Operations are timed by this program though the database could time them, were it not a standby.
    #[error(
        "the server is a hot standby: operations are timed by the client, including the round trip; write workloads must run on \
         the primary"
    )]
    Standby,
    /// What is written goes to other places than the database's files, too.
    #[error("{}", .copy.describe(.written))]
    AlsoWritten {
        /// Where.
        copy: LogCopy,
        /// What is written.
        written: CopiedWrites,
    },
    /// The server takes fewer sessions than a sweep would have tried.
    #[error(
        "the server accepts only {sessions} more sessions (max_connections): at most {jobs} jobs are run"
    )]
    FewSessions {
        /// Sessions that could still be opened when the sweep began.
        sessions: u32,
        /// Jobs at most.
        jobs: u32,
    },
    /// A session waited for a lock of another.
    #[error(
        "`{phase}`: a session waited {waited} for a lock held by {holder}: this response time is caused by the lock, not by the \
         storage; end the transaction of that session, or repeat the run when the tables are not in use"
    )]
    LockWait {
        /// The phase.
        phase: String,
        /// The longest wait, about.
        waited: Nanos,
        /// Who held the lock.
        holder: String,
    },
    /// Sessions of the database were hidden from the account that sampled them.
    #[error(
        "{} hidden from this account, which sees neither what they execute nor what they wait for; active sessions are those it \
         sees: {remedy}",
        if *sessions == 1 { "one session of the database is".to_owned() } else { format!("{sessions} sessions of the database are") }
    )]
    HiddenSessions {
        /// Number of sessions, at least.
        sessions: u64,
        /// What makes them visible.
        remedy: String,
    },
    /// Jobs were busy with operations for less time than there was.
    #[error(
        "`{phase}`: operations account for {busy:.1} of {jobs} jobs (throughput x response time): the \
         remaining time was spent between operations (in iolite, on the connection to the database, or \
         waiting for a CPU) and is not part of any response time; use fewer jobs, or more CPUs on both sides"
    )]
    UnaccountedTime {
        /// The phase.
        phase: String,
        /// Jobs.
        jobs: u32,
        /// Operations in flight on average, and pauses asked for.
        busy: f64,
    },
    /// The measured time is no whole number of the database's cycles of checkpoints.
    #[error(
        "`{phase}`: the measured time holds {cycles:.1} checkpoint cycles ({}), and is no whole number of them: what checkpoints \
         cost is counted too little or too often; {}",
        started_words(*started),
        cycle_remedy(*cycle)
    )]
    PartialCheckpointCycles {
        /// The phase.
        phase: String,
        /// Cycles that it holds.
        cycles: f64,
        /// Checkpoints that started in it; `None` of a database in which they have no start.
        started: Option<u64>,
        /// About how long one takes, where that is known.
        cycle: Option<Nanos>,
    },
    /// The load generator was at a limit of its host.
    #[error("`{phase}`: {limit}: the figures reflect this host as much as its storage; {}", .limit.remedy())]
    GeneratorLimited {
        /// The first phase that met the limit.
        phase: String,
        /// The phase creates and fills a file that later ones use: what it met says nothing of them.
        #[serde(default)]
        layout: bool,
        /// The limit.
        limit: HostLimit,
    },
    /// What was found may be that of a cache.
    #[error("`{phase}`: {reason}; the answer need not be that of the storage")]
    NotOfDevice {
        /// The first phase of which it is true.
        phase: String,
        /// Why, in words.
        reason: String,
    },
    /// Nobody was found who uses a target, but not everybody could be looked at.
    #[error(
        "whether another program has {} open could not be determined: its processes are other users', or outside of this container; what \
         was written may be in use there. Run as root on the host to have it checked",
        files(.targets)
    )]
    UsersUnseen {
        /// Files and devices that were written to.
        targets: Vec<PathBuf>,
    },
    /// Part of what is recorded beside a run is missing.
    #[error("the readings of {probe} are missing: {reason}; the measurement itself is not affected")]
    ProbeFailed {
        /// Name of the probe.
        probe: String,
        /// Why, and what helps.
        reason: String,
    },
}

/// Paths, of many the first.
fn files(paths: &[PathBuf]) -> String {
    match paths {
        [first, second, third, others @ ..] if !others.is_empty() => format!(
            "{}, {}, {} and {} others",
            first.display(),
            second.display(),
            third.display(),
            others.len()
        ),
        few => few.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", "),
    }
}

/// How many there are besides the first.
fn and_others(count: u64) -> String {
    match count.saturating_sub(1) {
        0 => String::new(),
        1 => " and 1 other measurement of the test".to_owned(),
        others => format!(" and {others} other measurements of the test"),
    }
}

/// The commits that share a synchronisation at most, by the number of jobs that commit.
fn one_for(jobs: u32) -> String {
    if jobs == 1 { "one per commit".to_owned() } else { format!("one per {jobs} commits") }
}

/// Checkpoints that started in the measured time.
fn started_words(started: Option<u64>) -> String {
    match started {
        None => "1 is as much log as makes a checkpoint due".to_owned(),
        Some(0) => "none started in it".to_owned(),
        Some(1) => "one checkpoint started in it".to_owned(),
        Some(many) => format!("{many} checkpoints started in it"),
    }
}

/// How whole cycles are measured.
fn cycle_remedy(cycle: Option<Nanos>) -> String {
    match cycle {
        Some(cycle) => format!(
            "measure for a multiple of the {cycle} that a cycle takes here (--duration; in a sweep --step), or have `tproc-c run` or \
             `tproc-c ab` extend the measured time to whole cycles (--whole-cycles)"
        ),
        None => "measure for longer (--duration; in a sweep --step)".to_owned(),
    }
}

impl Warning {
    /// Whether the two say the same of a run, so that one of them is enough: equal ones, and the same cause in another phase.
    pub fn repeats(&self, other: &Warning) -> bool {
        match (self, other) {
            (Warning::ForeignLoad { .. }, Warning::ForeignLoad { .. })
            | (Warning::PartialCheckpointCycles { .. }, Warning::PartialCheckpointCycles { .. }) => true,
            (
                Warning::GeneratorLimited { limit, layout, .. },
                Warning::GeneratorLimited { limit: met, layout: of_layout, .. },
            ) => limit.name() == met.name() && layout == of_layout,
            (Warning::ProbeFailed { probe, .. }, Warning::ProbeFailed { probe: failed, .. }) => {
                probe == failed
            }
            (Warning::HiddenSessions { remedy, .. }, Warning::HiddenSessions { remedy: same, .. }) => {
                remedy == same
            }
            _ => self == other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_cause_is_one_warning() {
        let foreign = |phase: &str, device| Warning::ForeignLoad {
            phase: phase.into(),
            kind: OpKind::Read,
            requested: Bytes(1),
            device: Bytes(device),
        };
        assert!(foreign("a", 5).repeats(&foreign("b", 7)));
        let limited = |limit| Warning::GeneratorLimited { phase: "a".into(), layout: false, limit };
        assert!(limited(HostLimit::Steal(0.1)).repeats(&limited(HostLimit::Steal(0.2))));
        assert!(!limited(HostLimit::Steal(0.1)).repeats(&limited(HostLimit::CpuBound(1.0))));
        let of_layout =
            Warning::GeneratorLimited { phase: "lay out".into(), layout: true, limit: HostLimit::Steal(0.1) };
        assert!(
            !limited(HostLimit::Steal(0.1)).repeats(&of_layout),
            "a later phase's is not hidden by the layout's"
        );
        assert!(!Warning::ThroughCache.repeats(&foreign("a", 5)));
        assert!(Warning::ThroughCache.repeats(&Warning::ThroughCache));
    }
}
