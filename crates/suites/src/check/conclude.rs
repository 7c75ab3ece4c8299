//! What the phases of a check say together.

use iolite_model::{Concluded, Ending, HostLimit, Measure, Nanos, OpKind, PhaseEnd, Verdict, Warning};
use iolite_stats::{Estimate, Knee, LoadPoint, PhaseResult};

use super::plan::{self, Pattern, Search, Stage};
use super::{Check, KneeFound, precondition, tasks};
use crate::judge::{Capacity, Circumstances, Disturbance, Evidence, RateDemand, is_undecided, judge};
use crate::phase_warnings::{beside_others, short_phases};
use crate::procedure::Conclusions;
use crate::search::{capped, load_point};

/// Share of a rotational device below which its seeks are shorter than a database's.
const SHORT_STROKED: f64 = 0.1;

/// Share of a run's phases in which others' I/O is seen that makes it likely in all of them.
const MUCH_OF_A_RUN: f64 = 0.25;

/// Share of the syncs for which a device must have flushed its cache. Others' flushes are counted, too: there may be more, not fewer.
const FLUSHED: f64 = 0.5;

/// Syncs below which nothing is said of flushes.
const FEW_SYNCS: u64 = 20;

/// All windows of a stage as one phase, and each.
struct Windows<'a> {
    merged: PhaseResult,
    each: Vec<&'a PhaseResult>,
}

/// What a criterion rests on.
struct Shown<'a> {
    measure: Measure,
    stage: Stage,
    kind: OpKind,
    windows: Windows<'a>,
    disturbed: Option<Disturbance>,
    load: String,
}

impl Shown<'_> {
    fn evidence(&self) -> Evidence<'_> {
        Evidence {
            measure: self.measure,
            result: &self.windows.merged,
            windows: &self.windows.each,
            kind: self.kind,
            disturbed: self.disturbed,
            load: &self.load,
        }
    }
}

impl Check {
    pub(super) fn conclude(&self, history: &[PhaseResult]) -> Conclusions {
        let knees: Vec<KneeFound> = Search::ALL
            .iter()
            .filter_map(|&search| {
                let found = self.knee(search, history)?;
                Some(KneeFound { knee: self.remeasured(search, &found.knee, history), ..found })
            })
            .collect();
        let no_plateau = knees.iter().filter_map(|found| self.no_plateau(found, history));
        let mut warnings: Vec<Warning> = self.left_out.iter().cloned().chain(no_plateau).collect();
        warnings.extend(self.capped(history));
        warnings.extend(short_phases(history));
        warnings.extend(self.span(history));
        warnings.extend(self.written_beside(history));
        warnings.extend(self.unflushed(history));
        // Of windows that are too short by themselves; the others have been warned of.
        warnings.extend(self.generator(history));
        let preconditioned = self.preconditioned(history);
        warnings.extend(preconditioned.as_ref().and_then(precondition::warning));
        let verdict = Some(self.verdict(&knees, history));
        let mut concluded: Vec<_> = knees.iter().map(Concluded::of).collect();
        concluded.extend(preconditioned.as_ref().map(Concluded::of));
        Conclusions { concluded, warnings, verdict }
    }

    /// The knee with what its windows add to its uncertainty.
    fn remeasured(&self, search: Search, knee: &Knee, history: &[PhaseResult]) -> Knee {
        let points = self.points(Stage::Search(search), history);
        let again = self.windows(Stage::AtKnee(search), history);
        let rate = again.and_then(|again| Some(again.merged.summary(OpKind::Read)?.rate));
        rate.map_or_else(|| knee.clone(), |rate| knee.remeasured(&points, &rate, self.options.seed))
    }

    fn windows<'a>(&self, stage: Stage, history: &'a [PhaseResult]) -> Option<Windows<'a>> {
        // A window that was not planned and failed takes nothing from the others.
        let planned = stage.windows(&self.options);
        let counts = |(number, result): &(usize, &PhaseResult)| {
            *number < planned || result.end.ending == Ending::Completed
        };
        let each: Vec<&PhaseResult> =
            self.results(stage, history).enumerate().filter(counts).map(|(_, result)| result).collect();
        let (first, others) = each.split_first()?;
        let merged = others.iter().fold((*first).clone(), |merged, other| merged.followed_by(other));
        // A window that failed makes all of them fail: what came of the others does not make up for it.
        let failed = each.iter().find(|window| window.end.ending != Ending::Completed);
        let ending = failed.map_or(Ending::Completed, |failed| failed.end.ending.clone());
        let end = PhaseEnd { ending, ..merged.end };
        Some(Windows { merged: PhaseResult { end, ..merged }, each })
    }

    /// The warning about a search that ended though throughput still grew and the response time was still good.
    fn no_plateau(&self, found: &KneeFound, history: &[PhaseResult]) -> Option<Warning> {
        let search = Search::ALL.into_iter().find(|search| search.name() == found.name)?;
        let points =
            found.phases.iter().filter_map(|&phase| history.get(phase as usize)).filter_map(load_point);
        let last = points.max_by_key(|point| point.concurrency)?;
        let good = last.response < tasks::response_limit(&self.options, search).as_secs_f64();
        let warning = Warning::NoPlateau { phase: found.name.clone(), concurrency: last.concurrency };
        (!found.knee.saturated && good).then_some(warning)
    }

    /// The throttles that the searches of the file layer have met. A step that a limit of the host has ended shows none of the storage.
    fn capped(&self, history: &[PhaseResult]) -> Vec<Warning> {
        let points = |search: Search| -> Vec<LoadPoint> {
            let results = self.results(Stage::Search(search), history);
            results.filter(|result| self.host.limits([*result]).is_empty()).filter_map(load_point).collect()
        };
        let searches: Vec<_> = Search::FILE
            .into_iter()
            .map(|search| (search.name(), search.block(), points(search)))
            .filter(|(.., points)| !points.is_empty())
            .collect();
        capped(&searches)
    }

    /// What the size of the data file leaves open.
    fn span(&self, history: &[PhaseResult]) -> Vec<Warning> {
        let span = self.layout(history).size;
        let share = self.options.rotational.map(|capacity| span.0 as f64 / capacity.0.max(1) as f64);
        let short = share.filter(|share| *share < SHORT_STROKED && span.0 > 0);
        let short = short.map(|share| Warning::ShortStroked { percent: share * 100.0 });
        // Under a load that changes all the time, credits may be earned as fast as they are spent.
        let sustained = self.results(Stage::Sustained, history).next().map(|result| result.end.measured);
        let time = sustained.unwrap_or(self.options.time);
        let unseen = (span.0 > 0).then_some(Warning::NotExcluded { span, time });
        short.into_iter().chain(unseen).collect()
    }

    /// Writes of others, of which the phases themselves do not warn: where the page cache is bypassed, nothing of this program's is
    /// left to be written back.
    fn written_beside(&self, history: &[PhaseResult]) -> Option<Warning> {
        let found = history.iter().find(|result| result.end.cache.foreign_writes())?;
        let (phase, cache) = (found.info.task.name().to_owned(), &found.end.cache);
        let (requested, device) = (cache.requested_written, cache.device_written?);
        (self.options.direct && self.foreign.is_empty()).then_some(Warning::ForeignLoad {
            phase,
            kind: OpKind::Write,
            requested,
            device,
        })
    }

    /// Commits whose syncs did not have the device flush its cache: a file system without barriers. By O_DSYNC a device may be
    /// written past its cache, without a flush.
    fn unflushed(&self, history: &[PhaseResult]) -> Option<Warning> {
        let found = |stage: Stage| {
            let (mut syncs, mut flushes) = (0, 0);
            for result in self.results(stage, history) {
                flushes += result.end.cache.device_flushes?;
                syncs += result.totals.whole(OpKind::Sync).0;
            }
            let missing = syncs >= FEW_SYNCS && (flushes as f64) < syncs as f64 * FLUSHED;
            missing.then(|| Warning::FewSyncs {
                phase: self
                    .results(stage, history)
                    .next()
                    .map_or("", |result| result.info.task.name())
                    .to_owned(),
                commits: syncs,
                jobs: 1,
                counter: "device".into(),
                what: "flushes".into(),
                syncs: flushes,
            })
        };
        let synced =
            [Pattern::Append, Pattern::Growing, Pattern::OverwriteDirect, Pattern::OverwriteBuffered];
        synced.into_iter().map(Stage::Commit).find_map(found).filter(|_| self.options.flushes)
    }

    /// What of the load generator caps the verdict: the windows of each criterion together, and each other phase that bears on it.
    fn generator(&self, history: &[PhaseResult]) -> Vec<Warning> {
        let mut windows: Vec<Stage> = plan::JUDGED.iter().map(|&(_, stage, _)| stage).collect();
        // A layout that was bound by CPU leaves the reads and writes after it as they are; a host that lets it wait does not.
        windows.retain(|stage| *stage != Stage::Layout);
        let together = windows.iter().flat_map(|&stage| {
            let results: Vec<_> = self.results(stage, history).collect();
            self.host.capping(results)
        });
        let is_cpu = |warning: &Warning| {
            matches!(warning, Warning::GeneratorLimited { limit: HostLimit::CpuBound(_), .. })
        };
        let each = self.run.iter().zip(history).filter(|(stage, _)| !windows.contains(stage));
        let each = each.filter(|&(stage, result)| self.bears(*stage, result, history));
        let each = each.flat_map(|(stage, result)| {
            let limits = self.host.capping([result]).into_iter();
            limits.filter(|warning| *stage != Stage::Layout || !is_cpu(warning)).collect::<Vec<_>>()
        });
        together.chain(each).chain(self.host.steal()).collect()
    }

    /// Whether a limit of the host in a phase bears on the verdict. Not in the search inside the database, which tries more sessions
    /// than a host may have CPUs for, and they wait for each other; and not in steps of a search beyond the knee: what is judged is
    /// the load at the knee, in windows of its own.
    fn bears(&self, stage: Stage, result: &PhaseResult, history: &[PhaseResult]) -> bool {
        match stage {
            Stage::Search(Search::RanRead) => false,
            Stage::Search(search) => {
                let knee = self.knee(search, history).map_or(1, |found| found.knee.concurrency);
                result.info.task.concurrency() <= knee
            }
            _ => true,
        }
    }

    /// All that allows no better than marginal.
    fn beside(&self, history: &[PhaseResult]) -> Vec<Warning> {
        let foreign = self.foreign.iter().cloned().chain(self.written_beside(history));
        let own = self.generator(history).into_iter().chain(self.unflushed(history));
        foreign.chain(own).chain(self.database.iter().cloned()).collect()
    }

    fn verdict(&self, knees: &[KneeFound], history: &[PhaseResult]) -> Verdict {
        let beside: Vec<_> = self.beside(history);
        let knee_of =
            |search: Search| knees.iter().find(|found| found.name == search.name()).map(|found| &found.knee);
        let shown = self.shown(history);
        let evidence: Vec<_> = shown.iter().map(Shown::evidence).collect();
        let targets = Search::FILE.map(|search| (search, self.windows(Stage::AtTarget(search), history)));
        let demands: Vec<_> = targets
            .iter()
            .filter_map(|(search, windows)| self.demand(*search, windows.as_ref(), knee_of(*search), history))
            .collect();
        let capacities: Vec<_> =
            Search::FILE.into_iter().filter_map(|search| self.capacity(search, history)).collect();
        let circumstances = Circumstances {
            volatile: self.options.volatile.as_deref(),
            direct: self.options.direct,
            errors: history.iter().map(PhaseResult::errors).sum(),
            lost: history.iter().map(|result| result.end.outstanding.lost).sum(),
            beside: &beside,
            phases: history,
        };
        judge(&self.options.profile, circumstances, &evidence, &demands, &capacities)
    }

    /// The rate that the user asks for, and what of the search or of the windows at this rate speaks about it.
    fn demand<'a>(
        &self,
        search: Search,
        windows: Option<&'a Windows<'_>>,
        knee: Option<&'a Knee>,
        history: &[PhaseResult],
    ) -> Option<RateDemand<'a>> {
        let target = self.options.target_iops?.0;
        let stage = if windows.is_some() { Stage::AtTarget(search) } else { Stage::Search(search) };
        let results = || self.results(stage, history);
        let generator = self.host.limits(results()).first().copied();
        Some(RateDemand {
            target,
            what: search.name(),
            knee,
            at_target: windows.map(|windows| &windows.merged),
            disturbed: self.disturbance(&results().collect::<Vec<_>>(), history),
            generator: generator.filter(|limit| matches!(limit, HostLimit::CpuBound(_))),
        })
    }

    /// What each measure rests on: the first of its stages that was run.
    fn shown<'a>(&self, history: &'a [PhaseResult]) -> Vec<Shown<'a>> {
        let mut shown: Vec<Shown<'_>> = Vec::new();
        for &(measure, stage, kind) in &plan::JUDGED {
            if shown.iter().any(|found| found.measure == measure) {
                continue;
            }
            let Some(windows) = self.windows(stage, history) else { continue };
            let disturbed = self.disturbance(&windows.each, history);
            let load = self.load(stage, history);
            shown.push(Shown { measure, stage, kind, windows, disturbed, load });
        }
        shown
    }

    /// The stages of which further windows could decide a criterion of the profile.
    pub(super) fn undecided(&self, history: &[PhaseResult]) -> Vec<Stage> {
        let shown = self.shown(history);
        let is_undecided = |found: &&Shown<'_>| {
            let evidence = found.evidence();
            let mut criteria = self.options.profile.criteria.iter();
            criteria.any(|criterion| criterion.measure == found.measure && is_undecided(criterion, &evidence))
        };
        shown.iter().filter(is_undecided).map(|found| found.stage).collect()
    }

    /// What was beside these phases. Others' I/O counts for all that was measured where it was seen in a good part of the run: it
    /// may have been there without its bytes being distinguished.
    fn disturbance(&self, phases: &[&PhaseResult], history: &[PhaseResult]) -> Option<Disturbance> {
        let is_busy = |limit: &HostLimit| matches!(limit, HostLimit::RunQueue(_) | HostLimit::Steal(_));
        let others = |result: &PhaseResult| beside_others(result, self.options.direct);
        let seen = history.iter().filter(|result| others(result)).count();
        if phases.iter().copied().any(others) || seen as f64 >= MUCH_OF_A_RUN * history.len().max(1) as f64 {
            return Some(Disturbance::Device);
        }
        let mut bearing = self.run.iter().zip(history);
        let busy = bearing.any(|(stage, result)| {
            self.bears(*stage, result, history) && self.host.limits([result]).iter().any(is_busy)
        });
        let slower = self.host.slower(phases.iter().copied());
        (busy || self.host.steal().is_some()).then_some(Disturbance::Host { slower })
    }

    /// The most that was done within the bound on the mean response time.
    fn capacity(&self, search: Search, history: &[PhaseResult]) -> Option<Capacity> {
        let within = tasks::response_limit(&self.options, search);
        let stage = Stage::Search(search);
        let tried: Vec<(LoadPoint, Estimate, &PhaseResult)> = self
            .results(stage, history)
            .filter_map(|result| Some((load_point(result)?, result.summary(OpKind::Read)?.rate, result)))
            .collect();
        let good = |point: &LoadPoint| Nanos((point.response * 1e9) as u64) <= within;
        let best =
            tried.iter().filter(|(point, ..)| good(point)).max_by(|a, b| a.1.value.total_cmp(&b.1.value));
        let max = tried.iter().map(|(point, ..)| point.concurrency).max()?;
        let limited = best.is_some_and(|(point, ..)| point.concurrency == max && max == search.highest());
        let generator = best.and_then(|(_, _, result)| self.host.limits([*result]).first().copied());
        let best = best.map(|(point, rate, _)| (point.concurrency, *rate));
        Some(Capacity {
            disturbed: self.disturbance(&self.results(stage, history).collect::<Vec<_>>(), history),
            measure: search.measure(),
            best,
            within,
            limited,
            generator: generator.filter(|limit| matches!(limit, HostLimit::CpuBound(_))),
            target: self.options.target_iops.is_some(),
        })
    }

    /// Under which load a stage was run, as text.
    fn load(&self, stage: Stage, history: &[PhaseResult]) -> String {
        let concurrency =
            self.results(stage, history).next().map_or(0, |result| result.info.task.concurrency());
        match (stage, self.options.target_iops) {
            (Stage::AtTarget(_), Some(target)) => format!("at {target} IOPS"),
            (Stage::AtKnee(_), _) => format!("at the knee ({concurrency} outstanding)"),
            (Stage::RandomWrite, _) => format!("with {concurrency} outstanding"),
            _ => String::new(),
        }
    }
}
