//! SNIA's Solid State Storage Performance Test Specification: purge, preconditioning, rounds of a grid until the tracked figure is
//! steady.
//!
//! The procedure keeps nothing: where it is follows from the phases that the run has completed, so that a run which was cut short
//! goes on at the cell where it was.

mod tasks;
mod terms;

use iolite_model::{
    Bytes, Concluded, Nanos, PtsPhase, PtsSection, PtsTerms, PtsTest, Task, Warning, WritePlan,
};
use iolite_results::{PtsProgress, Run};

use crate::procedure::{Conclusions, Nothing, Procedure, Step};

pub use tasks::PtsAccess;
pub use terms::{PtsError, PtsRequest, PtsTarget};

/// Bytes per second of a purge that are assumed for the plan: discards are faster than writes, how much differs by device.
const PURGE: Bytes = Bytes(2 << 30);

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
    pub fn left_out(terms: &PtsTerms, is_device: bool) -> Vec<Warning> {
        terms::left_out(terms, is_device)
    }

    /// What the tests write at most: the preconditioning, the write saturation, and rounds for as long as they may last, without
    /// what is only read in them.
    pub fn writes(terms: &PtsTerms) -> WritePlan {
        let of_time = |section: &PtsSection| {
            let cells = terms.cells(*section, 1);
            let writing = |read_percent: u8| 1.0 - f64::from(read_percent) / 100.0;
            let round: f64 =
                cells.iter().map(|cell| writing(cell.read_percent) * terms.cell.as_secs_f64()).sum();
            round * f64::from(terms.max_rounds)
        };
        let (saturation, rounds): (Vec<PtsSection>, Vec<PtsSection>) =
            terms.sections().into_iter().partition(|section| section.test == PtsTest::WriteSaturation);
        let saturated = if saturation.is_empty() { 0 } else { terms.saturated().0 };
        let purges = if terms.purges { terms.sections().len() } else { 0 };
        let at = |bytes: f64, rate: Bytes| Nanos::from_secs_f64(bytes / rate.0 as f64).0;
        let preconditioned = at(terms.preconditioning().0 as f64, WritePlan::ASSUMED);
        let purged = at(terms.span.0 as f64 * purges as f64, PURGE);
        WritePlan {
            bytes: Bytes(terms.preconditioning().0.saturating_add(saturated)),
            timed: Nanos::from_secs_f64(rounds.iter().map(of_time).sum()),
            duration: Nanos(terms.longest().0.saturating_add(preconditioned).saturating_add(purged)),
            ..WritePlan::default()
        }
    }

    /// The tests of these terms.
    pub fn new(terms: PtsTerms, access: PtsAccess) -> Pts {
        Pts { terms, access }
    }

    /// The next phase of a section; `None` where it is through.
    fn next_of(&self, progress: &PtsProgress<'_>, section: PtsSection) -> Option<Task> {
        let terms = &self.terms;
        let missing = |phase| progress.phase(section, phase).is_none();
        if terms.purges && missing(PtsPhase::Purge) {
            return Some(tasks::purge(terms, section));
        }
        if tasks::is_preconditioned(section.test) && missing(PtsPhase::Precondition) {
            return Some(tasks::precondition(terms, section, &self.access));
        }
        let rounds = progress.rounds(section);
        let done = rounds.values.len();
        let over = match section.test {
            PtsTest::WriteSaturation => {
                let spent = (done as u64).saturating_mul(terms.cell.0);
                progress.written(section, done) >= terms.saturated().0 || spent >= terms.saturation.0
            }
            _ => {
                done as u64 >= u64::from(terms.max_rounds)
                    || rounds.window.is_some_and(|window| window.steady)
            }
        };
        if over {
            return None;
        }
        let round = u32::try_from(done + 1).unwrap_or(u32::MAX);
        let cell = progress.missing(section, round).into_iter().next()?;
        Some(tasks::cell(terms, section, cell, &self.access))
    }
}

impl Procedure for Pts {
    type Preparation = Nothing;

    fn next(&mut self, run: &Run, _elapsed: Nanos) -> Step {
        let progress = PtsProgress::of(run, &self.terms);
        let sections = self.terms.sections();
        match sections.iter().find_map(|&section| self.next_of(&progress, section)) {
            Some(task) => Step::Run(vec![task]),
            None => Step::Done(conclusions(&self.terms, &progress)),
        }
    }
}

fn conclusions(terms: &PtsTerms, progress: &PtsProgress<'_>) -> Conclusions {
    let unsteady = |section: &PtsSection| {
        let rounds = progress.rounds(*section);
        (!progress.is_steady(*section)).then(|| Warning::LeftOut {
            what: format!("steady state of {}", section.name()),
            why: format!(
                "{} rounds did not reach it; its figures are those of the last rounds, see the verification table",
                rounds.values.len()
            ),
        })
    };
    let warnings = terms.sections().iter().filter_map(unsteady).collect();
    let concluded: Vec<Concluded> = Vec::new();
    Conclusions { concluded, warnings, verdict: None }
}

#[cfg(test)]
mod tests;
