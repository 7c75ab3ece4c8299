//! What all documents about a run have in common, and how a run ended.

use iolite_model::Ending;
use iolite_results::Run;
use serde_json::Value;

use crate::json::{self, stored, warning};
use crate::meanwhile::Meanwhile;
use crate::{configuration, stalls};

/// The document of a run: `members`, and what every run has.
pub(crate) fn document(format: &str, run: &Run, members: Value) -> Value {
    let mut document = members;
    document["format"] = format.into();
    document["run"] = stored(&run.info);
    document["calibration"] = stored(&run.calibration);
    document["meanwhile"] = stored(Meanwhile::of(run));
    document["warnings"] = run.warnings.iter().map(warning).collect();
    document["ending"] = json::ending(&ending(run));
    stalls::member(run).into_iter().for_each(|member| document["stalls"] = member);
    configuration::member(run).into_iter().for_each(|member| document["configuration"] = member);
    document
}

/// How a run ended; one that never said so was cut short.
pub(crate) fn ending(run: &Run) -> Ending {
    run.ending.clone().unwrap_or(Ending::Interrupted)
}
