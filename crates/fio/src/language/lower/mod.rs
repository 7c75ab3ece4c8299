//! From what the settings say to what the engine does.

mod io;
mod names;
#[cfg(test)]
mod tests;

use iolite_model::{BackendKind, Bytes, JobTask};

use super::error::OptionError;
use super::options::Spec;
use super::options::engine::Kind;
use super::options::extents::without_zones;
use super::thread::{Thread, ThreadIndex};
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
    let in_bytes = without_zones(spec)?;
    let spec = in_bytes.as_ref().unwrap_or(spec);
    let task = match spec.engine.kind() {
        Kind::Io => JobTask::Io(Box::new(io::task(spec, place)?)),
        Kind::Names(operation) => JobTask::Metadata(names::task(spec, place, operation)?),
        Kind::Missing(remedy) => {
            return Err(OptionError::not_built(format!("`{}` is", spec.engine.name), remedy).at("ioengine"));
        }
    };
    let mut thread = Thread {
        name: spec.job.name.clone(),
        number: place.number,
        group: place.group,
        job: place.job,
        settings: settings.to_vec(),
        task,
        ..Thread::default()
    };
    if spec.engine.name == "exec" {
        thread.program = Some(spec.engine.exec.program(spec)?);
    }
    let changes = &mut thread;
    spec.files.lower_thread(spec, place, changes);
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
    if let JobTask::Io(task) = &thread.task {
        thread.too_small = !thread.create_only && io::does_nothing(spec, task);
        thread.create_only |= thread.too_small;
        thread.pre_read &= !thread.too_small;
    }
    if let JobTask::Metadata(task) = &thread.task {
        let block = spec.sizes.smallest(0).0.max(1);
        thread.reporting.blocks_per_name = names::size(spec, task.files)?.0 / block;
        thread.reporting.bytes_per_name = Bytes(thread.reporting.blocks_per_name * block);
    }
    watch(&mut thread);
    let notes = io::notes(spec, &thread.task);
    thread.notes.extend(notes);
    Ok(thread)
}

/// What is kept of each operation follows from what is reported of the thread, and is said last.
fn watch(thread: &mut Thread) {
    let logs = !thread.logs.is_empty() || thread.block_errors.is_some();
    let parts = !(thread.reporting.disable_slat && thread.reporting.disable_clat);
    if let JobTask::Metadata(task) = &mut thread.task {
        task.report_operations = logs;
        return;
    }
    let Some(task) = thread.io() else { return };
    let at_once = task.backend == BackendKind::Null && task.concurrency == 1;
    let synchronous = task.backend.is_synchronous() || at_once;
    task.watch.detail |= parts && !synchronous;
    task.watch.operations |= logs;
    thread.reporting.synchronous = synchronous;
}
