//! An invariant, checked in builds with debug assertions, and so in every test of a command: a run that was folded while it was
//! measured is the run that is read back from the store.

use std::path::Path;

use iolite_results::Run;
use iolite_store::{Error, Store};

/// Compares a run with what the store has of it.
///
/// # Panics
/// They differ, or what was stored can't be understood.
pub(crate) fn check(path: &Path, run: &Run) {
    let events = match Store::open(path).and_then(|store| store.events(&run.info.id)) {
        Ok(events) => events,
        // Another program holds the database, or has removed or damaged it: the next command says so. What was stored just now by
        // this program it can read.
        Err(error) => {
            return assert!(!matches!(error, Error::Unreadable { .. }), "run {}: {error}", run.info.id);
        }
    };
    let stored = Run::of(&events);
    assert!(stored.is_some(), "run {} has been stored without its start", run.info.id);
    let Some(stored) = stored else { return };
    let differing = difference(run, &stored);
    assert!(differing.is_none(), "run {} is stored otherwise than it was: {differing:#?}", run.info.id);
}

/// The first part of two runs that differs, of both.
fn difference(a: &Run, b: &Run) -> Option<(&'static str, [String; 2])> {
    macro_rules! compare {
        ($($part:ident),*) => {
            $(if a.$part != b.$part {
                // A bound that is not a number is equal to none, and as text to itself.
                let both = [format!("{:#?}", a.$part), format!("{:#?}", b.$part)];
                if both[0] != both[1] {
                    return Some((stringify!($part), around(&both)));
                }
            })*
        };
    }
    compare!(info, calibration, databases, database_use, released, conclusions, readings, warnings, verdict);
    compare!(ending, phases);
    let open = [format!("{:?}", a.open_phases()), format!("{:?}", b.open_phases())];
    (open[0] != open[1]).then_some(("open phases", open))
}

/// Two texts from shortly before their first difference to shortly after.
fn around([a, b]: &[String; 2]) -> [String; 2] {
    /// Lines before and after the difference.
    const SHOWN: usize = 8;
    let same = a.lines().zip(b.lines()).take_while(|(a, b)| a == b).count();
    let part = |text: &str| {
        let lines = text.lines().skip(same.saturating_sub(SHOWN)).take(2 * SHOWN);
        lines.collect::<Vec<_>>().join("\n")
    };
    [part(a), part(b)]
}

#[cfg(test)]
mod tests {
    use iolite_model::{Host, MODEL_VERSION, Nanos, RunId, RunInfo, Storage, Warning};

    use super::*;

    #[test]
    fn two_runs_that_differ_are_seen_to() {
        let run = Run::new(RunInfo {
            id: RunId("run".into()),
            version: "0".into(),
            model_version: MODEL_VERSION,
            command: Vec::new(),
            started_unix: Nanos(0),
            process: 1,
            host: Host::default(),
            storage: Storage::default(),
        });
        assert_eq!(difference(&run, &run.clone()), None);
        let mut warned = run.clone();
        warned.warnings.push(Warning::Standby);
        let (part, [_, theirs]) = difference(&run, &warned).unwrap();
        assert!(part == "warnings" && theirs.contains("Standby"), "{part}: {theirs}");
    }
}
