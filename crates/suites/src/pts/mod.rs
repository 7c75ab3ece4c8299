//! SNIA's Solid State Storage Performance Test Specification: purge, preconditioning, rounds of a grid until the tracked figure is
//! steady.
//!
//! The procedure keeps nothing: where it is follows from the phases that the run has completed, so that a run which was cut short
//! goes on at the cell where it was.

mod steps;
mod tasks;
mod terms;

use iolite_model::{
    BackendKind, Bytes, Concluded, Ending, Nanos, PtsDemand, PtsPhase, PtsPreWrite, PtsPurge, PtsResumed,
    PtsSection, PtsStage, PtsStep, PtsTerms, PtsTest, RunInfo, Task, Warning, WritePlan,
};
use iolite_results::{PtsProgress, Run};

use crate::procedure::{Conclusions, CutShort, Procedure, Step};

pub use tasks::PtsAccess;
pub use terms::{PtsError, PtsPurgeRequest, PtsRange, PtsRequest, PtsTarget, PtsWriteCacheRequest};

/// Bytes per second of a purge that are assumed for the plan: discards are faster than writes, how much differs by device.
const PURGE: Bytes = Bytes(2 << 30);

/// A purge by a command of the device, which is no phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PtsPreparation {
    /// The section before which it is done.
    pub section: PtsSection,
    /// The command.
    pub purge: PtsPurge,
}

/// The tests as a procedure.
#[derive(Debug, Clone)]
pub struct Pts {
    terms: PtsTerms,
    access: PtsAccess,
}

impl Pts {
    /// The specification's times and sizes, as far as the target takes them.
    ///
    /// # Errors
    /// The target is too small.
    pub fn terms(request: PtsRequest, target: &PtsTarget) -> Result<PtsTerms, PtsError> {
        terms::terms(request, target)
    }

    /// What the tests leave out on a device, or a file, as warnings.
    pub fn left_out(terms: &PtsTerms, target: &PtsTarget, is_device: bool) -> Vec<Warning> {
        terms::left_out(terms, target, is_device)
    }

    /// What the tests write at most: the preconditioning, the write saturation, and rounds and stages for as long as they may last,
    /// without what is only read in them. A purge discards `purged` bytes. Of a run that continues an earlier one, without the tests, purges
    /// and preconditioning that are done.
    pub fn writes(terms: &PtsTerms, purged: Bytes, earlier: Option<&Run>) -> WritePlan {
        let nothing = Run::new(RunInfo::default());
        let progress = PtsProgress::of(earlier.unwrap_or(&nothing), terms);
        // However the target is reached, the steps are the same.
        let access = PtsAccess { backend: BackendKind::Sync, direct: true, purged };
        let tests = Pts::new(terms.clone(), access);
        let mut left = terms.sections();
        left.retain(|section| tests.next_of(&progress, *section).is_some());
        let count =
            |of: &dyn Fn(&PtsSection) -> bool| left.iter().filter(|section| of(section)).count() as u64;
        let is_preconditioned = |section: &PtsSection| {
            section.test.is_preconditioned() && progress.phase(*section, PtsPhase::Precondition).is_none()
        };
        let preconditioning = terms.precondition().0.saturating_mul(count(&is_preconditioned));
        let purges = count(&|section| {
            terms.purge.is_some() && section.test.is_purged() && !progress.is_purged(*section)
        });
        let at = |bytes: f64, rate: Bytes| Nanos::from_secs_f64(bytes / rate.0 as f64).0;
        let preparing = at(preconditioning as f64, WritePlan::ASSUMED)
            .saturating_add(at(purged.0 as f64 * purges as f64, PURGE));
        let saturated = left.iter().map(|section| saturated(&progress, *section)).sum::<u64>();
        let longest = left.iter().map(|section| terms.longest(*section).0);
        WritePlan {
            bytes: Bytes(preconditioning.saturating_add(saturated)),
            timed: Nanos::from_secs_f64(left.iter().map(|section| writing(terms, *section)).sum()),
            duration: Nanos(longest.fold(preparing, u64::saturating_add)),
            ..WritePlan::default()
        }
    }

    /// The tests of these terms.
    pub fn new(terms: PtsTerms, access: PtsAccess) -> Pts {
        Pts { terms, access }
    }

    /// The terms.
    pub fn asked(&self) -> &PtsTerms {
        &self.terms
    }

    /// The next step of a section; `None` where it is through.
    fn next_of(&self, progress: &PtsProgress<'_>, section: PtsSection) -> Option<Step<PtsPreparation>> {
        let terms = &self.terms;
        if let Some(purge) = terms.purge.filter(|_| section.test.is_purged() && !progress.is_purged(section))
        {
            return Some(match purge {
                PtsPurge::Discard => Step::Run(vec![tasks::purge(terms, section, &self.access)]),
                PtsPurge::SecureDiscard | PtsPurge::Format | PtsPurge::Sanitize => {
                    Step::Prepare(PtsPreparation { section, purge })
                }
            });
        }
        if section.test.is_preconditioned() && progress.phase(section, PtsPhase::Precondition).is_none() {
            return Some(Step::Run(vec![tasks::precondition(terms, section, &self.access)]));
        }
        let task = self.next_writes(progress, section);
        let task =
            task.or_else(|| self.next_cell(progress, section)).or_else(|| self.next_step(progress, section));
        task.map(|task| Step::Run(vec![task]))
    }

    /// The next writes of the workload-dependent preconditioning; `None` where it is through, and of tests without.
    fn next_writes(&self, progress: &PtsProgress<'_>, section: PtsSection) -> Option<Task> {
        let terms = &self.terms;
        // Where cells have been measured it is over; what was measured before there was such writes has none.
        if !section.test.is_written_before() || progress.has_cells(section) {
            return None;
        }
        let writes = progress.pre_writes(section);
        let done = u32::try_from(writes.values.len()).unwrap_or(u32::MAX);
        if done >= terms.max_rounds || writes.window.is_some_and(|window| window.steady) {
            return None;
        }
        let number = PtsPreWrite::Precondition(done + 1);
        Some(tasks::pre_write(terms, section, number, largest(terms, section), &self.access))
    }

    /// The writes before what is measured next; `None` where they are done, and where there are none. After a pause they are repeated.
    fn writes_before(
        &self,
        progress: &PtsProgress<'_>,
        section: PtsSection,
        pre_write: PtsPreWrite,
        demand: PtsDemand,
    ) -> Option<Task> {
        (section.test.is_by_demand() && !progress.is_written(section, pre_write))
            .then(|| tasks::pre_write(&self.terms, section, pre_write, demand, &self.access))
    }

    /// The next cell of the rounds of a section; `None` where they are through.
    fn next_cell(&self, progress: &PtsProgress<'_>, section: PtsSection) -> Option<Task> {
        let terms = &self.terms;
        let rounds = progress.rounds(section);
        let done = rounds.values.len();
        let over = match section.test {
            PtsTest::WriteSaturation => progress.is_saturated(section, done),
            _ => {
                done as u64 >= u64::from(terms.rounds(section))
                    || rounds.window.is_some_and(|window| window.steady)
            }
        };
        if over {
            return None;
        }
        let round = u32::try_from(done + 1).unwrap_or(u32::MAX);
        let missing = progress.missing(section, round);
        let cell = *missing.first()?;
        // A round that has begun goes on where it was, after a pause too, but then after writes as at its beginning.
        let writes =
            self.writes_before(progress, section, PtsPreWrite::Round(round), largest(terms, section));
        Some(writes.unwrap_or_else(|| tasks::cell(terms, section, cell, &self.access)))
    }

    /// The next step of the stages of a section; `None` where they are through.
    fn next_step(&self, progress: &PtsProgress<'_>, section: PtsSection) -> Option<Task> {
        let terms = &self.terms;
        let is_missing = |step: &PtsStep| progress.phase(section, PtsPhase::Step(*step)).is_none();
        let steps = terms.stages(section).into_iter();
        let steps = steps.flat_map(|(stage, count)| (1..=count).map(move |number| PtsStep { stage, number }));
        let step = steps.into_iter().find(is_missing)?;
        let demand = match step.stage {
            PtsStage::Histogram(point) => progress.operating_point(section, point)?,
            // One thread: its writes are sequential on the device, too.
            PtsStage::SequentialBefore | PtsStage::SequentialAfter => {
                PtsDemand { threads: 1, depth: tasks::usual(terms).outstanding() }
            }
            _ => tasks::usual(terms),
        };
        if let PtsStage::Histogram(point) = step.stage {
            let writes = self.writes_before(progress, section, PtsPreWrite::Point(point), demand);
            if writes.is_some() {
                return writes;
            }
        }
        let offset = steps::offset(progress, terms, section, step);
        Some(tasks::step(terms, section, step, offset, demand, &self.access))
    }
}

/// The demand with which a test is preconditioned: the largest of those that it varies.
fn largest(terms: &PtsTerms, section: PtsSection) -> PtsDemand {
    let varied = terms.demands().into_iter().next().filter(|_| section.test.is_by_demand());
    varied.unwrap_or(tasks::usual(terms))
}

/// Bytes that the write saturation test has still to write; 0 of other tests.
fn saturated(progress: &PtsProgress<'_>, section: PtsSection) -> u64 {
    if section.test != PtsTest::WriteSaturation {
        return 0;
    }
    let rounds = progress.rounds(section).values.len();
    progress.terms().saturated().0.saturating_sub(progress.written(section, rounds))
}

/// Seconds that the rounds and stages of a section write at most, as if by a device that only writes in them.
fn writing(terms: &PtsTerms, section: PtsSection) -> f64 {
    let share = |read_percent: u8| 1.0 - f64::from(read_percent) / 100.0;
    // The write saturation test ends by its bytes.
    let rounds = if section.test == PtsTest::WriteSaturation { 0 } else { terms.rounds(section) };
    let round: f64 = terms.cells(section, 1).iter().map(|cell| share(cell.read_percent)).sum();
    let of_stage = |(stage, steps): &(PtsStage, u32)| {
        let writes = share(section.test.mixes().first().copied().unwrap_or(0));
        writes * f64::from(*steps) * terms.length(*stage).as_secs_f64()
    };
    let stages: f64 = terms.stages(section).iter().map(of_stage).sum();
    let before = terms.pre_writing(section).as_secs_f64();
    round * f64::from(rounds) * terms.cell_length(section.test).as_secs_f64() + stages + before
}

impl Procedure for Pts {
    type Preparation = PtsPreparation;

    fn next(&mut self, run: &Run, _elapsed: Nanos) -> Step<PtsPreparation> {
        let progress = PtsProgress::of(run, &self.terms);
        let sections = self.terms.sections();
        let next = sections.iter().find_map(|&section| self.next_of(&progress, section));
        match next {
            Some(Step::Run(tasks)) => {
                Step::Run(tasks.into_iter().map(|task| task.with_seed(seed(run))).collect())
            }
            Some(step) => step,
            None => Step::Done(conclusions(&self.terms, &progress)),
        }
    }

    fn cut_short(&mut self, run: &Run, _why: CutShort) -> Conclusions {
        let progress = PtsProgress::of(run, &self.terms);
        let lacking = progress.lacking().into_iter().filter_map(|section| no_operation(&progress, section));
        let warnings = failed_purge(&self.terms, run).into_iter().chain(lacking).collect();
        Conclusions { warnings, ..Conclusions::default() }
    }
}

/// The seed of the next phase, which no phase before it had, of this run or of those that it continues: with the same seed it would be
/// at the offsets of the other one in their order, whatever the block size, and so only at what has just been written.
fn seed(run: &Run) -> u64 {
    // A phase that was killed is repeated and left no result: then the number of runs differs.
    let runs = run.concluded::<PtsResumed>().count() as u64;
    runs << 32 | run.phases.len() as u64
}

fn conclusions(terms: &PtsTerms, progress: &PtsProgress<'_>) -> Conclusions {
    let unsteady = |section: &PtsSection| {
        let (rounds, writes) = (progress.rounds(*section), progress.pre_writes(*section));
        let (what, count) = match writes.window {
            Some(window) if !window.steady => ("preconditioning", writes.values.len()),
            _ => ("rounds", rounds.values.len()),
        };
        (!progress.is_steady(*section)).then(|| Warning::LeftOut {
            what: format!("further {what} of {}", section.name()),
            why: format!(
                "{count} rounds did not reach steady state; its figures are those of the last rounds, see the verification table"
            ),
        })
    };
    let paused = |section: PtsSection| Warning::LeftOut {
        what: format!("{} without a pause", section.name()),
        why: format!(
            "the run was continued in the middle of it, and the device could recover meanwhile: for figures of the specification, repeat \
             it in a run of its own (--tests {})",
            section.test.name()
        ),
    };
    let unsteady = terms.sections().into_iter().filter_map(|section| unsteady(&section)).collect::<Vec<_>>();
    let lacking = progress.lacking().into_iter().filter_map(|section| no_operation(progress, section));
    let warnings =
        unsteady.into_iter().chain(progress.paused().into_iter().map(paused)).chain(lacking).collect();
    let concluded: Vec<Concluded> = Vec::new();
    Conclusions { concluded, warnings, verdict: None }
}

/// What helps where the device supports discard, but one has failed.
fn failed_purge(terms: &PtsTerms, run: &Run) -> Option<Warning> {
    let last = run.phases.last().filter(|last| matches!(last.end.ending, Ending::Failed(_)))?;
    let is_it = |section: &PtsSection| section.phase(PtsPhase::Purge) == last.info.task.name();
    let section = terms.sections().into_iter().find(is_it)?;
    Some(Warning::LeftOut {
        what: format!("the purge before {}", section.name()),
        why: "a discard failed, so that the device is not as new. If the device or a layer above it does not support discard, specify \
              --purge none and erase it with its own command before (nvme format, hdparm --security-erase)"
            .to_owned(),
    })
}

/// Names the measurements of a section in which no operation completed, with what would help.
fn no_operation(progress: &PtsProgress<'_>, section: PtsSection) -> Option<Warning> {
    let found = progress.without_figure(section);
    let first = found.first()?.info.task.name().to_owned();
    let longer = if progress.terms().is_rehearsal() { "a larger --scale, or " } else { "" };
    let advice = format!(
        "the device stopped responding for as long (see the kernel log), or the operations in flight take longer than the measurement: \
         repeat the test with {longer}fewer of them (--threads, --depth)"
    );
    Some(Warning::NoOperation { first, count: found.len() as u64, advice })
}

#[cfg(test)]
mod tests;
