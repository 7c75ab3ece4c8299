//! What bears on every verdict, whatever is judged: operations that failed, reads that memory may have served, a load generator at
//! its limit, and other load on the device.

use std::collections::BTreeMap;

use iolite_model::{
    CacheStamp, Fitness, GeneratorUse, HostLimit, OpKind, Reason, ReasonUnit, Statistic, Warning,
};
use iolite_results::Run;
use iolite_stats::PhaseResult;

use super::judge_medium;

/// Share of a phase for which a thread may wait for a CPU before that alone makes a verdict marginal. Shorter waits, such as those
/// behind the kernel's own threads, bear on what is slow, which is then not called unfit.
const LONG_WAIT: f64 = 0.1;

/// Share of all CPUs' time from which on there is hardly any left.
const EXHAUSTED: f64 = 0.9;

/// However fast the others are, an operation that fails or hangs is lost data or a stopped database: `errors` failed in any stage,
/// and `lost` never completed.
pub(crate) fn judge_failures(errors: u64, lost: u64) -> impl Iterator<Item = Reason> {
    let none_wanted = |what: &str, count: u64, happened: &str| {
        let reason = || Reason::new(Fitness::Unfit, what, format!("{count} {happened}"), "none");
        (count > 0).then(|| reason().with_figure(Statistic::Count, count as f64, 0.0, ReasonUnit::Count))
    };
    let failed = none_wanted("errors", errors, "operations failed");
    failed.into_iter().chain(none_wanted("hangs", lost, "operations never completed"))
}

/// Why the operations of a kind show nothing of the storage, where they may have come out of a cache: what it delivered says nothing
/// for the storage, only what it did badly says something against it. `direct` where the page cache was to be bypassed.
pub(crate) fn from_memory(result: &PhaseResult, kind: OpKind, direct: bool) -> Option<String> {
    // Writes go through the page cache where their durability is what is timed.
    if kind != OpKind::Read {
        return None;
    }
    match result.end.cache.stamp() {
        CacheStamp::Device => None,
        CacheStamp::Unknown if direct && result.end.cache.direct_confirmed => None,
        CacheStamp::Unknown => {
            Some("the reads may have come from memory: no device counter confirms them".into())
        }
        cache => Some(format!("cache stamp of the reads: {cache}")),
    }
}

/// What the load generator used of its host.
#[derive(Debug, Clone, Default)]
pub(crate) struct HostUse {
    /// In each phase, by its number.
    pub(crate) phases: BTreeMap<u32, GeneratorUse>,
    /// Share of the CPUs' time that the hypervisor took from the start on; `None` where it is not known.
    pub(crate) stolen: Option<f64>,
}

impl HostUse {
    /// What is known of a run so far.
    pub(crate) fn of(run: &Run) -> HostUse {
        let of_phase = |phase: &PhaseResult| Some((phase.info.index, run.of_phase(phase.info.index)?));
        HostUse { phases: run.phases.iter().filter_map(of_phase).collect(), stolen: stolen(run) }
    }

    /// The limits that phases met, taken as one: a window is too short by itself to show that its thread was bound by CPU.
    pub(crate) fn limits<'a>(&self, phases: impl IntoIterator<Item = &'a PhaseResult>) -> Vec<HostLimit> {
        let used = phases.into_iter().filter_map(|phase| self.phases.get(&phase.info.index));
        used.copied().reduce(GeneratorUse::and).map_or_else(Vec::new, |used| used.limits())
    }

    /// The factor by which waits for CPUs can have made these phases slower, at most; infinite where it is not known.
    pub(crate) fn slower<'a>(&self, phases: impl IntoIterator<Item = &'a PhaseResult>) -> f64 {
        let slower = |phase: &PhaseResult| {
            self.phases.get(&phase.info.index).map_or(f64::INFINITY, GeneratorUse::slower)
        };
        phases.into_iter().map(slower).fold(1.0, f64::max)
    }

    /// Whether this program and all others together had next to no CPU left in one of these phases: what a server does with its
    /// CPUs limits rates as a throttle does.
    pub(crate) fn is_exhausted(&self, phases: &[PhaseResult]) -> bool {
        let used = phases.iter().filter_map(|phase| self.phases.get(&phase.info.index));
        let share = |used: &GeneratorUse| {
            let busy = used.cpu.0.saturating_add(used.others.map_or(0, |others| others.0)) as f64;
            busy / (used.observed.0 as f64 * f64::from(used.cpus.max(1)))
        };
        used.map(share).any(|share| share >= EXHAUSTED)
    }

    /// The limits of phases that allow no better than marginal, as warnings. Not stolen time, where that of the whole run is known:
    /// a phase may have much of it by chance, and one verdict would be fit and the next one not.
    pub(crate) fn capping<'a>(
        &self,
        phases: impl IntoIterator<Item = &'a PhaseResult> + Clone,
    ) -> Vec<Warning> {
        let Some(first) = phases.clone().into_iter().next() else { return Vec::new() };
        let caps = |limit: &HostLimit| match limit {
            HostLimit::CpuBound(_) => true,
            HostLimit::RunQueue(share) => *share >= LONG_WAIT,
            HostLimit::Steal(_) => self.stolen.is_none(),
        };
        let limits = self.limits(phases).into_iter().filter(caps);
        limits.map(|limit| limited(first.info.task.name(), limit)).collect()
    }

    /// The time that the hypervisor took over the whole run, where it is so much that it caps a verdict.
    pub(crate) fn steal(&self) -> Option<Warning> {
        self.stolen.and_then(HostLimit::of_steal).map(|limit| limited("the whole run", limit))
    }
}

fn limited(phase: &str, limit: HostLimit) -> Warning {
    Warning::GeneratorLimited { phase: phase.to_owned(), layout: false, limit }
}

/// The share of the CPUs' time that the hypervisor has taken since the run's start.
fn stolen(run: &Run) -> Option<f64> {
    let readings = run.readings.of("cpu", "");
    let per_second = readings.last()?.rate(readings.first()?, "steal_seconds")?;
    Some(per_second / f64::from(run.info.host.cpus.max(1)))
}

/// Why a verdict that rests on these groups of phases, each of one load, is at most marginal: a load generator at its limit, or
/// other load in the run, commits that the device was not made to keep, or a database that did not stay as it was.
pub(crate) fn judge_run(run: &Run, groups: &[Vec<&PhaseResult>]) -> Vec<Reason> {
    let host = HostUse::of(run);
    let limited = groups.iter().flat_map(|group| host.capping(group.iter().copied()));
    let beside: Vec<Warning> = limited.chain(host.steal()).chain(caps(&run.warnings).cloned()).collect();
    judge_beside(&beside)
}

/// The warnings of a run that cap its verdict: of other load, of commits that were not made durable, of settings that changed, of a host
/// that was suspended.
pub(crate) fn caps(warnings: &[Warning]) -> impl Iterator<Item = &Warning> {
    let is_cap = |warning: &&Warning| {
        use Warning::{FewSyncs, ForeignLoad, HostSuspended, SettingsChanged};
        matches!(
            warning,
            ForeignLoad { .. } | FewSyncs { .. } | SettingsChanged { .. } | HostSuspended { .. }
        )
    };
    warnings.iter().filter(is_cap)
}

/// Unfit where the run's storage keeps its data in memory only.
pub(crate) fn judge_storage(run: &Run) -> Option<Reason> {
    run.warnings.iter().find_map(|warning| match warning {
        Warning::Volatile { device } => Some(judge_medium(device)),
        _ => None,
    })
}

/// A reason for each kind of what was beside the storage: one of each kind says it.
pub(crate) fn judge_beside(warnings: &[Warning]) -> Vec<Reason> {
    let mut reasons: Vec<Reason> = warnings.iter().filter_map(beside).collect();
    reasons.sort_by(|a, b| a.what.cmp(&b.what));
    reasons.dedup_by(|later, first| later.what == first.what);
    reasons
}

/// A load generator at its limit shows itself, and a busy device what others do: neither is the storage alone.
fn beside(warning: &Warning) -> Option<Reason> {
    let (what, measured, asked) = match warning {
        Warning::GeneratorLimited { phase, limit, layout: _ } => {
            ("load generator", format!("`{phase}`: {limit}"), "a host that is faster than its storage")
        }
        Warning::ForeignLoad { phase, kind, requested, device } => (
            "other load",
            format!("`{phase}`: the device {} {device} for {requested} requested", kind.past_tense()),
            "an idle device",
        ),
        Warning::FewSyncs { phase, commits, syncs, what, .. } => (
            "flushes",
            format!("`{phase}`: {syncs} {what} for {commits} commits"),
            "a flush of the device for each commit",
        ),
        // What was measured before is of another database than what was measured after: with durability off, of one without commits.
        Warning::SettingsChanged { phase, changes } => {
            ("settings", format!("`{phase}`: {}", changes.join("; ")), "the same settings throughout")
        }
        Warning::HostSuspended { at, length } => (
            "suspension",
            format!("the host was suspended for {length}, {at} after the start"),
            "a host that runs throughout",
        ),
        _ => return None,
    };
    Some(Reason::new(Fitness::Marginal, what, measured, asked))
}
