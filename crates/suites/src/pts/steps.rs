//! Where a step of a stage begins.

use iolite_model::{Bytes, PtsSection, PtsStage, PtsStep, PtsTerms};
use iolite_results::PtsProgress;

/// Sequential writes begin at multiples of this.
const UNIT: u64 = 1 << 20;

/// Offset at which a step of sequential writes begins: where the step before has ended, so that the steps go through the whole
/// span; at its start where a step as long as the one before would not fit into the rest. 0 for random writes.
pub(super) fn offset(
    progress: &PtsProgress<'_>,
    terms: &PtsTerms,
    section: PtsSection,
    step: PtsStep,
) -> Bytes {
    if !matches!(step.stage, PtsStage::SequentialBefore | PtsStage::SequentialAfter) {
        return Bytes(0);
    }
    after(&progress.step_bytes(section, step.stage), terms.span)
}

/// The offset after steps of so many bytes each.
fn after(steps: &[u64], span: Bytes) -> Bytes {
    let next = |start: u64, bytes: &u64| {
        let end = Bytes(start.saturating_add(*bytes)).round_down(UNIT).0;
        if end.saturating_add(*bytes) > span.0 { 0 } else { end }
    };
    Bytes(steps.iter().fold(0, next))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequential_writes_go_on_where_the_step_before_has_ended() {
        const MIB: u64 = 1 << 20;
        let at = |steps: &[u64]| after(steps, Bytes(100 * MIB)).0 / MIB;
        assert_eq!((at(&[]), at(&[30 * MIB]), at(&[30 * MIB, 30 * MIB])), (0, 30, 60));
        // A third one ends at 90 MiB: another 30 MiB do not fit.
        assert_eq!(at(&[30 * MIB, 30 * MIB, 30 * MIB]), 0);
        // Slower ones get further.
        assert_eq!(at(&[30 * MIB, 30 * MIB, 30 * MIB - 1, 20 * MIB]), 20);
        assert_eq!(at(&[80 * MIB, 500 * MIB]), 0);
    }
}
