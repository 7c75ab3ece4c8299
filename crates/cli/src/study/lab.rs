//! Runs the steps of a study: the page cache as they want it, the devices' counters before and after.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow};
use iolite_engine::{Control, Overwriting};
use iolite_model::{
    Bytes, Concluded, DeviceCounters, Ending, FileTask, JobTask, Nanos, StudyFinding, StudySetting,
    StudyWindow, Target, Warning,
};
use iolite_report::Format;
use iolite_report::study::Circumstance;
use iolite_results::Asked;
use iolite_session::{GaveUp, Session, ending, patiently};
use iolite_stats::PhaseResult;
use iolite_suites::{Before, OWN_FILE, StudyStep};
use iolite_sys::page_cache;

use super::place::Place;
use crate::args::OutputArgs;
use crate::exit::Exit;
use crate::{output, setup};

/// Where a study is made.
pub(super) struct Lab<'a> {
    session: Session<'a>,
    format: Format,
    quiet: bool,
}

impl<'a> Lab<'a> {
    /// Begins the study of this name, for so many steps of this length.
    ///
    /// # Errors
    /// The directory can't be written to.
    pub(super) fn begin(
        study: &str,
        place: &Place,
        output: &OutputArgs,
        steps: usize,
        window: Nanos,
        control: &'a Control,
    ) -> anyhow::Result<Lab<'a>> {
        let duration = Nanos(window.0.saturating_mul(steps as u64));
        let mut session = setup::begin(place.storage.clone(), &place.directory, output, duration, control)?;
        session.conclude(Concluded::of(&Asked::new(study, place.name.display().to_string())));
        Ok(Lab { session, format: output.format(), quiet: output.quiet })
    }

    /// Says which devices with data on them may be overwritten.
    pub(super) fn allow_overwriting(&mut self, devices: Overwriting) {
        self.session.scratch().allow_overwriting(devices);
    }

    /// Records a warning.
    pub(super) fn warn(&mut self, warning: Warning) {
        self.session.warn(warning);
    }

    /// Records which setting is changed.
    pub(super) fn changes(&mut self, setting: &StudySetting) {
        self.session.conclude(Concluded::of(setting));
    }

    /// Whether direct I/O works; warns where it does not.
    ///
    /// # Errors
    /// A file can't be created to try.
    pub(super) fn takes_direct(&mut self, place: &Place) -> anyhow::Result<bool> {
        let works = match place.existing_takes_direct() {
            Some(works) => works,
            None => {
                let scratch = self.session.scratch();
                scratch.claim(iolite_sys::file::PROBE.as_ref())?;
                iolite_sys::file::direct_io_works(scratch.path())
                    .with_context(|| format!("cannot make a file in {}", place.directory.display()))?
            }
        };
        if !works {
            self.warn(Warning::NoDirectIo { filesystem: place.storage.filesystem.kind.clone() });
        }
        Ok(works)
    }

    /// Runs steps one after the other, until the user interrupts or one fails, and prints what came of it; what was measured
    /// until then is kept. Before each window `prepare` sees to its circumstance, and says what that is in fact; `findings`
    /// compares the windows.
    ///
    /// # Errors
    /// Standard output can't be written to.
    pub(super) fn conduct<C: Circumstance + Copy>(
        mut self,
        steps: &[StudyStep<C>],
        prepare: impl FnMut(C) -> anyhow::Result<C>,
        findings: impl FnOnce(&[StudyWindow<C>], &[PhaseResult]) -> Vec<StudyFinding>,
    ) -> anyhow::Result<Exit> {
        let own = self.session.scratch().path().join(OWN_FILE);
        let failure = steps_of(&mut self.session, &own, steps, prepare).err();
        let windows: Vec<StudyWindow<C>> = self.session.run().concluded().collect();
        for finding in findings(&windows, self.session.history()) {
            self.session.conclude(Concluded::of(&finding));
        }
        let ending = ending(failure, self.session.control());
        let run = self.session.end(ending);
        output::run(&run, self.format)?;
        output::failure(&run, self.quiet);
        Ok(match run.ending {
            Some(Ending::Completed) => Exit::Fit,
            Some(Ending::Failed(_)) => Exit::Failure,
            Some(Ending::Interrupted) | None => Exit::Interrupted,
        })
    }
}

fn steps_of<C: Circumstance + Copy>(
    session: &mut Session<'_>,
    own: &Path,
    steps: &[StudyStep<C>],
    mut prepare: impl FnMut(C) -> anyhow::Result<C>,
) -> anyhow::Result<()> {
    for step in steps {
        if session.control().interrupted() {
            break;
        }
        let circumstance = step.circumstance.map(&mut prepare).transpose()?;
        let path = path(own, &step.task);
        if step.before == Before::Drop {
            drop_cached(session.control(), &path)?;
        }
        let span = step.task.target.size();
        let resident_before = resident(&path, span);
        let counted = count(session);
        let phase = session.run().next_phase();
        session.sets(&[&[JobTask::Io(Box::new(step.task.clone()))]])?;
        let device = count(session).zip(counted).map(|(now, before)| now.since(before));
        let resident_after = resident(&path, span);
        let whole = session.history().last().filter(|result| result.info.index == phase);
        if let (Some(circumstance), Some(Ending::Completed)) =
            (circumstance, whole.map(|result| &result.end.ending))
            && !session.control().interrupted()
        {
            let window = StudyWindow { circumstance, phase, device, resident_before, resident_after };
            session.conclude(Concluded::of_phase(phase, &window));
        }
    }
    Ok(())
}

fn path(own: &Path, task: &FileTask) -> PathBuf {
    match &task.target {
        Target::Existing(existing) => existing.path.clone(),
        _ => own.to_owned(),
    }
}

/// Drops what the page cache holds of a file, once what is dirty has been written.
fn drop_cached(control: &Control, path: &Path) -> anyhow::Result<()> {
    let file = path.to_owned();
    let dropped = patiently(control, Duration::MAX, move || {
        let file = File::open(file)?;
        let length = iolite_sys::device::size_of(&file)?;
        page_cache::evict(&file, 0, length)
    });
    match dropped {
        Ok(done) => {
            done.with_context(|| format!("what the page cache holds of {} can't be dropped", path.display()))
        }
        // The next look at the control ends it.
        Err(GaveUp::Interrupted) => Ok(()),
        Err(GaveUp::Late | GaveUp::Failed) => Err(anyhow!("the thread that drops the page cache has died")),
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
