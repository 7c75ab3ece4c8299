//! How a run has ended, in words.

use iolite_engine::{Control, EngineError};
use iolite_model::Ending;

/// How a run ended that could not go on for this reason, if there is one.
pub fn ending(failure: Option<anyhow::Error>, control: &Control) -> Ending {
    let interrupted = |failure: &anyhow::Error| {
        matches!(failure.downcast_ref::<EngineError>(), Some(EngineError::Interrupted))
    };
    match failure.filter(|failure| !interrupted(failure)) {
        Some(failure) => Ending::Failed(describe(&failure)),
        None if control.interrupted() => Ending::Interrupted,
        None => Ending::Completed,
    }
}

/// An error with its causes, as far as it does not name them itself.
pub fn describe(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}
