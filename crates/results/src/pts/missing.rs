//! Measurements in which no operation completed: they have no figure, and what would be calculated from them has none either.

use iolite_model::{OpKind, PtsPhase, PtsPoint, PtsPreWrite, PtsSection, PtsStep};
use iolite_stats::PhaseResult;

use super::progress::{PtsProgress, figure};

impl<'a> PtsProgress<'a> {
    /// The measurements of a section in which no operation completed, in their order: cells of the measurement window (of tests without
    /// one, of all rounds), steps of stages, and writes before them. Rounds before the window affect no figure.
    pub fn without_figure(&self, section: PtsSection) -> Vec<&'a PhaseResult> {
        let mut found = self.cells_without_figure(section);
        found.extend(self.pre_writes_without_figure(section));
        for (stage, count) in self.terms().stages(section) {
            let step = |number| self.phase(section, PtsPhase::Step(PtsStep { stage, number }));
            let steps = (1..=count).filter_map(step);
            found.extend(steps.filter(|result| figure(section.test, result).is_none()));
        }
        found.sort_by_key(|result| result.info.index);
        found
    }

    /// The sections with measurements in which no operation completed.
    pub fn lacking(&self) -> Vec<PtsSection> {
        let lacks = |section: &PtsSection| !self.without_figure(*section).is_empty();
        self.terms().sections().into_iter().filter(lacks).collect()
    }

    /// Whether the figures are those of the specification, as far as the course of the run decides it: every test that requires it is
    /// steady, all tests are complete and not continued in the middle, and in each measurement operations completed.
    pub fn conforms(&self) -> bool {
        [self.unsteady(), self.incomplete(), self.paused(), self.lacking()].iter().all(Vec::is_empty)
    }

    fn cells_without_figure(&self, section: PtsSection) -> Vec<&'a PhaseResult> {
        let rounds = self.rounds(section);
        let first = rounds.window.map_or(1, |window| *self.rounds_of(window).start());
        // The round after the last complete one may have begun.
        let last = u32::try_from(rounds.values.len() + 1).unwrap_or(u32::MAX);
        let cells = (first..=last).flat_map(|round| self.terms().cells(section, round));
        let empty = |cell| {
            let result = self.phase(section, PtsPhase::Cell(cell))?;
            self.figure(section, cell).is_none().then_some(result)
        };
        cells.filter_map(empty).collect()
    }

    fn pre_writes_without_figure(&self, section: PtsSection) -> Vec<&'a PhaseResult> {
        if !section.test.is_written_before() {
            return Vec::new();
        }
        let writes = self.pre_writes(section);
        let first = writes.window.map_or(1, |window| *self.rounds_of(window).start());
        let preconditioning = (first..).zip(writes.values.iter().skip(first as usize - 1));
        let preconditioning = preconditioning.filter(|(_, value)| value.is_none());
        let rounds = (1..=self.terms().max_rounds).map(PtsPreWrite::Round);
        let before = rounds.chain(PtsPoint::ALL.map(PtsPreWrite::Point));
        let of = |pre_write| self.phase(section, PtsPhase::PreWrite(pre_write));
        let preconditioning = preconditioning.filter_map(|(number, _)| of(PtsPreWrite::Precondition(number)));
        preconditioning.chain(before.filter_map(of).filter(|result| wrote_nothing(result))).collect()
    }
}

fn wrote_nothing(result: &PhaseResult) -> bool {
    result.totals.operations(OpKind::Write) == 0
}
