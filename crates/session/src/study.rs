//! What a study needs between its phases: the page cache as its steps want it, the devices' counters before and after.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use iolite_model::{Bytes, Concluded, DeviceCounters, Ending, FileTask, StudyWindow, Target};
use iolite_suites::{Before, OWN_FILE, Study, StudyPreparation, StudyProcedure, StudyStep};
use iolite_sys::page_cache;

use crate::drive::Environment;
use crate::error::{Error, Result};
use crate::patience::GaveUp;
use crate::session::Session;

/// The environment of a study.
pub struct StudyEnvironment<C, F> {
    /// Brings a circumstance about, and returns what it is in fact.
    change: F,
    window: Option<RunningStep<C>>,
}

/// A step that runs.
struct RunningStep<C> {
    circumstance: C,
    phase: u32,
    path: PathBuf,
    span: Bytes,
    counted: Option<DeviceCounters>,
    resident: Option<f64>,
}

impl<C, F> StudyEnvironment<C, F> {
    /// Circumstances are brought about by `change`, which returns what they are in fact.
    pub fn new(change: F) -> StudyEnvironment<C, F> {
        StudyEnvironment { change, window: None }
    }
}

impl<S, F> Environment<StudyProcedure<S>> for StudyEnvironment<S::Circumstance, F>
where
    S: Study,
    F: FnMut(S::Circumstance) -> Result<S::Circumstance>,
    StudyWindow<S::Circumstance>: iolite_model::Conclusion,
{
    fn prepare(
        &mut self,
        session: &mut Session<'_>,
        _: &mut StudyProcedure<S>,
        preparation: StudyPreparation<S::Circumstance>,
    ) -> Result<()> {
        match preparation {
            StudyPreparation::Begin(step) => {
                self.window = begin(session, &step, &mut self.change)?;
            }
            StudyPreparation::End => {
                let window = self.window.take().and_then(|begun| end(session, begun));
                if let Some(window) = window {
                    session.conclude(Concluded::of_phase(window.phase, &window));
                }
            }
        }
        Ok(())
    }
}

/// Prepares a step; what it is compared with afterwards, where it is measured.
fn begin<C: Copy>(
    session: &mut Session<'_>,
    step: &StudyStep<C>,
    change: impl FnMut(C) -> Result<C>,
) -> Result<Option<RunningStep<C>>> {
    let circumstance = step.circumstance.map(change).transpose()?;
    let path = path(session, &step.task);
    if step.before == Before::Drop {
        drop_cached(session, &path)?;
    }
    let span = step.task.target.size();
    let resident = resident(&path, span);
    let (counted, phase) = (count(session), session.run().next_phase());
    Ok(circumstance.map(|circumstance| RunningStep { circumstance, phase, path, span, counted, resident }))
}

/// The window of a step that has run to its end.
fn end<C>(session: &Session<'_>, begun: RunningStep<C>) -> Option<StudyWindow<C>> {
    let device = count(session).zip(begun.counted).map(|(now, before)| now.since(before));
    let whole = session.history().last().filter(|result| result.info.index == begun.phase)?;
    (whole.end.ending == Ending::Completed).then(|| StudyWindow {
        circumstance: begun.circumstance,
        phase: begun.phase,
        device,
        resident_before: begun.resident,
        resident_after: resident(&begun.path, begun.span),
    })
}

fn path(session: &mut Session<'_>, task: &FileTask) -> PathBuf {
    match &task.target {
        Target::Existing(existing) => existing.path.clone(),
        _ => session.scratch().path().join(OWN_FILE),
    }
}

/// Drops what the page cache holds of a file, once what is dirty has been written.
fn drop_cached(session: &mut Session<'_>, path: &Path) -> Result<()> {
    let file = path.to_owned();
    let dropped = session.patiently(Duration::MAX, move || {
        let file = File::open(file)?;
        let length = iolite_sys::device::size_of(&file)?;
        page_cache::evict(&file, 0, length)
    });
    match dropped {
        Ok(done) => done.map_err(|source| Error::Cached { path: path.to_owned(), source }),
        // The next look at the control ends it.
        Err(GaveUp::Interrupted) => Ok(()),
        Err(GaveUp::NoThread) => Err(Error::NoThread),
        Err(GaveUp::Late | GaveUp::Failed) => {
            Err(Error::Bug { what: "the thread that drops the page cache has failed" })
        }
    }
}

fn count(session: &Session<'_>) -> Option<DeviceCounters> {
    session.counters().and_then(|counters| counters.read().ok())
}

/// The share of a file's first bytes that is in the page cache; `None` where it is not known, or there is no file yet.
fn resident(path: &Path, span: Bytes) -> Option<f64> {
    let file = File::open(path).ok()?;
    let resident = page_cache::resident_bytes(&file, 0, span.0).ok()?;
    (span.0 > 0).then(|| resident as f64 / span.0 as f64)
}
