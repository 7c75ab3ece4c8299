//! What every command that runs tasks sets up before and tells after.

use std::path::{Path, PathBuf};

use iolite_engine::{Control, EngineError, Scratch};
use iolite_model::{Ending, JobTask, Nanos, RunInfo, Storage, Task, Warning};
use iolite_observe::LeafCounters;
use iolite_report::LiveKind;

use crate::events::Events;
use crate::{output, session};

/// All that a run needs besides its tasks.
pub(crate) struct Bench {
    /// The run.
    pub(crate) run: RunInfo,
    /// Where its events go.
    pub(crate) events: Events,
    /// Where its own files are.
    pub(crate) scratch: Scratch,
    /// Counters of the devices beneath, where they have any.
    pub(crate) counters: Option<LeafCounters>,
}

/// What a bench is to be like.
pub(crate) struct Setup<'a> {
    /// Where the run's own files are made.
    pub(crate) directory: &'a Path,
    /// Results database; `None` for the user's.
    pub(crate) results: Option<PathBuf>,
    /// How progress is shown.
    pub(crate) live: LiveKind,
    /// How long it will take about.
    pub(crate) duration: Nanos,
}

impl Bench {
    /// Removes what dead runs left, makes the scratch directory, opens the results, and tells doubts about the storage.
    ///
    /// # Errors
    /// The directory can't be written to.
    pub(crate) fn set_up(storage: Storage, setup: Setup<'_>, control: &Control) -> anyhow::Result<Bench> {
        iolite_sys::file::raise_open_files();
        let run = session::run_info(storage);
        session::clear_leftovers(setup.directory, matches!(setup.live, LiveKind::Quiet));
        let scratch = Scratch::create(setup.directory, &run.id)?;
        let results = session::results(setup.results);
        let mut events = Events::start(&run, &results, setup.live, setup.duration, control);
        let counters = LeafCounters::new(&run.storage);
        if let Some(device) = iolite_observe::volatile(&run.storage) {
            events.warn(Warning::Volatile { device });
        }
        if counters.is_none() {
            events.warn(Warning::NoDeviceCounters { filesystem: run.storage.filesystem.kind.clone() });
        }
        Ok(Bench { run, events, scratch, counters })
    }
}

/// How a run ended that could not go on for this reason, if there is one.
pub(crate) fn ending(failure: Option<anyhow::Error>, control: &Control) -> Ending {
    let interrupted = |failure: &anyhow::Error| {
        matches!(failure.downcast_ref::<EngineError>(), Some(EngineError::Interrupted))
    };
    match failure.filter(|failure| !interrupted(failure)) {
        Some(failure) => Ending::Failed(output::told(&failure)),
        None if control.interrupted() => Ending::Interrupted,
        None => Ending::Completed,
    }
}

/// How long sets of tasks take about: the sum of their longest runtimes, where they have one.
pub(crate) fn duration(sets: &[&[JobTask]]) -> Nanos {
    let length = |task: &Task| task.ramp().0.saturating_add(task.stop().runtime.unwrap_or_default().0);
    let longest = |set: &&[JobTask]| set.iter().map(|task| length(&task.task())).max();
    Nanos(sets.iter().filter_map(longest).fold(0, u64::saturating_add))
}
