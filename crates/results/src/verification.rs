//! What an earlier run has written, compared later.

use iolite_model::{Conclusion, FileTask, Verified};
use serde::{Deserialize, Serialize};

/// What was found when the data of a verification state was read and compared: after a crash, a power failure, a move.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StateVerified {
    /// The task that had written it.
    pub task: FileTask,
    /// What was found.
    pub found: Verified,
}

impl Conclusion for StateVerified {
    const KIND: &'static str = "state-verified";
}
