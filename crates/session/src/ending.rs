//! How a run has ended, in words.

use std::error::Error as StdError;

use iolite_engine::{Control, EngineError};
use iolite_model::Ending;

use crate::error::Error;

/// How a run ended that could not go on for this reason, if there is one.
pub fn ending(failure: Option<Error>, control: &Control) -> Ending {
    let interrupted = |failure: &Error| matches!(failure, Error::Engine(EngineError::Interrupted));
    match failure.filter(|failure| !interrupted(failure)) {
        Some(failure) => Ending::Failed(describe(&failure)),
        None if control.interrupted() => Ending::Interrupted,
        None => Ending::Completed,
    }
}

/// An error with its causes, as far as it does not name them itself.
pub fn describe(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let described = cause.to_string();
        if !text.contains(&described) {
            text = format!("{text}: {described}");
        }
        source = cause.source();
    }
    text
}
