//! From what the settings say to what the engine does.

mod io;
mod names;
#[cfg(test)]
mod tests;

use iolite_model::{BackendKind, JobTask, Nanos, Target};

use super::error::OptionError;
use super::options::Spec;
use super::options::engine::Kind;
use super::options::files::paths::directory;
use super::thread::{Reporting, Thread, ThreadIndex};
pub use names::preparation;

/// The thread that is one clone of a job.
///
/// Differences of single options ([`Support::Differs`](super::Support)) are reported by the code that knows which options were given.
///
/// # Errors
/// The settings do not go together: a sentence with its remedy.
pub fn lower(spec: &Spec, place: ThreadIndex, settings: &[(String, String)]) -> Result<Thread, OptionError> {
    let stand_in = spec.trace.stand_in(spec, place)?;
    let spec = stand_in.as_ref().unwrap_or(spec);
    let task = match spec.engine.kind() {
        Kind::Io => JobTask::Io(Box::new(io::task(spec, place)?)),
        Kind::Names(operation) => JobTask::Metadata(names::task(spec, place, operation)?),
        Kind::Missing(remedy) => {
            return Err(OptionError::not_built(format!("`{}` is", spec.engine.name), remedy).at("ioengine"));
        }
    };
    let mut thread = bare(spec, place, settings, task);
    let has_files = thread.io().is_some_and(|task| matches!(task.target, Target::Files(_)));
    thread.pre_read = spec.files.pre_read && has_files;
    thread.scheduler = spec.placement.scheduler.clone().filter(|_| has_files);
    let changes = &mut thread;
    spec.job.lower(spec, place, changes)?;
    spec.buffers.lower(spec, place, changes)?;
    spec.depth.lower(spec, place, changes)?;
    spec.rate.lower(spec, place, changes)?;
    spec.verify.lower(spec, place, changes)?;
    spec.steady.lower(spec, place, changes)?;
    spec.logging.lower(spec, place, changes)?;
    spec.errors.lower(spec, place, changes)?;
    spec.trace.lower(spec, place, changes)?;
    spec.placement.lower(spec, place, changes)?;
    watch(&mut thread);
    let notes = io::notes(spec, &thread.task);
    thread.notes.extend(notes);
    Ok(thread)
}

/// What is kept of each operation follows from what is reported of the thread, and is said last.
fn watch(thread: &mut Thread) {
    let logs = !thread.logs.is_empty();
    let parts = !(thread.reporting.disable_slat && thread.reporting.disable_clat);
    let Some(task) = thread.io() else { return };
    let at_once = task.backend == BackendKind::Null && task.concurrency == 1;
    let synchronous = task.backend.is_synchronous() || at_once;
    task.watch.detail |= parts && !synchronous;
    task.watch.operations |= logs;
    thread.reporting.synchronous = synchronous;
}

/// A thread of which the groups of options have not been lowered yet.
fn bare(spec: &Spec, place: ThreadIndex, settings: &[(String, String)], task: JobTask) -> Thread {
    Thread {
        name: spec.job.name.clone(),
        number: place.number,
        group: place.group,
        job: place.job,
        settings: settings.to_vec(),
        description: None,
        task,
        directory: directory(spec, place),
        reporting: Reporting {
            grouped: false,
            unified: 0,
            clat_percentiles: true,
            slat_percentiles: false,
            lat_percentiles: false,
            percentiles: Vec::new(),
            disable_slat: false,
            disable_clat: false,
            disable_lat: false,
            disks: true,
            kb_base: 1024,
            unit_base: 0,
            synchronous: true,
        },
        logs: Vec::new(),
        exit_all: None,
        steady: None,
        latency_target: None,
        rate_min: [None; 3],
        rate_iops_min: [None; 3],
        rate_cycle: Nanos(1_000_000_000),
        create_only: spec.files.create_only,
        pre_read: false,
        scheduler: None,
        exec: [None, None],
        notes: Vec::new(),
    }
}
