//! Whether a phase measured whole cycles of checkpoints.

use iolite_model::{CheckpointCycles, Ending, Task, Warning};
use iolite_stats::PhaseResult;

/// The warning that the measured time of a phase is no whole number of cycles; none of a phase that was not completed, which is
/// reported as such.
pub fn partial_cycles(phase: &PhaseResult, cycles: &CheckpointCycles) -> Option<Warning> {
    let is_partial = phase.end.ending == Ending::Completed && !cycles.is_whole();
    is_partial.then(|| Warning::PartialCheckpointCycles {
        phase: phase.info.task.name().to_owned(),
        cycles: cycles.cycles,
        started: cycles.has_starts.then(|| cycles.within().len() as u64),
        cycle: cycles.length(),
    })
}

/// The warning that the measured time of a phase was to be extended to whole cycles, of which nothing is known.
pub fn unknown_cycles(phase: &PhaseResult) -> Option<Warning> {
    let was_to_be_whole = matches!(&phase.info.task, Task::TprocC(task) if task.whole_cycles.is_some());
    (was_to_be_whole && phase.end.ending == Ending::Completed).then(|| Warning::LeftOut {
        what: "the extension of the measured time to whole checkpoint cycles (--whole-cycles)".into(),
        why: "the database did not report its checkpoints when the measured time began; PostgreSQL reports them to roles that may \
              execute pg_control_checkpoint() (as an administrator, GRANT EXECUTE ON FUNCTION pg_control_checkpoint() TO this \
              role), MySQL from version 8.0.30 on"
            .into(),
    })
}

#[cfg(test)]
mod tests {
    use iolite_model::{Cache, CheckpointDue, Nanos, Outstanding, PhaseEnd, PhaseInfo, TprocCTask};
    use iolite_stats::PhaseTotals;

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn phase(ending: Ending) -> PhaseResult {
        let task = TprocCTask { name: "TPROC-C".into(), ..TprocCTask::default() };
        let end = PhaseEnd {
            phase: 0,
            ending,
            measured: Nanos(12 * SECOND),
            outstanding: Outstanding::default(),
            cache: Cache::default(),
            errors: Vec::new(),
            stuck: Vec::new(),
            rate: None,
            verified: None,
        };
        PhaseResult {
            info: PhaseInfo { index: 0, task: Task::TprocC(task), started: Nanos(0) },
            end,
            totals: PhaseTotals::default(),
        }
    }

    fn cycles(cycles: f64, has_starts: bool) -> CheckpointCycles {
        CheckpointCycles {
            cycles,
            at: [0.0, 0.4],
            measured: [Nanos(0), Nanos(12 * SECOND)],
            started: Vec::new(),
            has_starts,
            due: CheckpointDue::default(),
            age: None,
        }
    }

    #[test]
    fn a_part_of_a_cycle_is_a_warning_with_its_numbers() {
        let completed = phase(Ending::Completed);
        assert_eq!(partial_cycles(&completed, &cycles(1.0, true)), None);
        assert_eq!(partial_cycles(&phase(Ending::Interrupted), &cycles(0.4, true)), None);
        let text = partial_cycles(&completed, &cycles(0.4, true)).unwrap().to_string();
        for expected in ["holds 0.4 checkpoint cycles (none started in it)", "30", "--whole-cycles"] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
        let text = partial_cycles(&completed, &cycles(0.4, false)).unwrap().to_string();
        assert!(text.contains("1 is as much log as makes a checkpoint due"), "{text}");
        let idle = partial_cycles(&completed, &cycles(0.0, true)).unwrap().to_string();
        assert!(idle.contains("measure for longer"), "{idle}");
    }

    #[test]
    fn an_extension_that_was_not_possible_is_a_warning() {
        let mut completed = phase(Ending::Completed);
        assert_eq!(unknown_cycles(&completed), None);
        let Task::TprocC(task) = &mut completed.info.task else { panic!("{:?}", completed.info.task) };
        task.whole_cycles = Some(Nanos(SECOND));
        let text = unknown_cycles(&completed).unwrap().to_string();
        assert!(text.contains("--whole-cycles") && text.contains("pg_control_checkpoint"), "{text}");
        completed.end.ending = Ending::Interrupted;
        assert_eq!(unknown_cycles(&completed), None);
    }
}
