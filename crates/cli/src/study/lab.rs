//! Runs the steps of a study: the page cache as they want it, the devices' counters before and after.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow};
use iolite_engine::{Control, Scratch};
use iolite_model::{
    Bytes, DeviceCounters, Ending, Event, FileTask, JobTask, Nanos, RunInfo, StudyFinding, StudyWindow,
    Target, Warning,
};
use iolite_observe::LeafCounters;
use iolite_report::study::{Circumstance, StudyReport, json, text};
use iolite_stats::PhaseResult;
use iolite_suites::{Before, OWN_FILE, StudyStep};
use iolite_sys::page_cache;

use super::place::Place;
use crate::args::OutputArgs;
use crate::bench::{Bench, Setup, ending};
use crate::events::Events;
use crate::exit::Exit;
use crate::output;
use crate::patience::{GaveUp, patiently};
use crate::runner::{Measured, Runner};
use crate::session;

/// Where a study is made.
pub(super) struct Lab<'a> {
    control: &'a Control,
    run: RunInfo,
    events: Events,
    scratch: Scratch,
    counters: Option<LeafCounters>,
    json: bool,
}

/// What a study has measured.
pub(super) struct Studied<C> {
    run: RunInfo,
    measured: Measured,
    /// The windows that came to their end.
    pub(super) windows: Vec<StudyWindow<C>>,
    warnings: Vec<Warning>,
    ending: Ending,
    json: bool,
}

impl<'a> Lab<'a> {
    /// Makes everything ready for so many steps of this length.
    ///
    /// # Errors
    /// The directory can't be written to.
    pub(super) fn set_up(
        place: &Place,
        output: &OutputArgs,
        steps: usize,
        window: Nanos,
        control: &'a Control,
    ) -> anyhow::Result<Lab<'a>> {
        let (results, live) = (output.results.clone(), session::live(output.quiet));
        let duration = Nanos(window.0.saturating_mul(steps as u64));
        let setup = Setup { directory: &place.directory, results, live, duration };
        let Bench { run, events, scratch, counters } = Bench::set_up(place.storage.clone(), setup, control)?;
        Ok(Lab { control, run, events, scratch, counters, json: output.json })
    }

    /// Notes a doubt.
    pub(super) fn warn(&mut self, warning: Warning) {
        self.events.warn(warning);
    }

    /// Whether direct I/O works; warns where it does not.
    ///
    /// # Errors
    /// A file can't be made to try.
    pub(super) fn takes_direct(&mut self, place: &Place) -> anyhow::Result<bool> {
        let works = match place.existing_takes_direct() {
            Some(works) => works,
            None => {
                self.scratch.claim(iolite_sys::file::PROBE.as_ref())?;
                iolite_sys::file::direct_io_works(self.scratch.path())
                    .with_context(|| format!("cannot make a file in {}", place.directory.display()))?
            }
        };
        if !works {
            self.warn(Warning::NoDirectIo { filesystem: place.storage.filesystem.kind.clone() });
        }
        Ok(works)
    }

    /// Runs steps one after the other, until the user interrupts or one fails; what was measured until then is kept. Before
    /// each window `prepare` sees to its circumstance, and says what that is in fact.
    pub(super) fn conduct<C: Copy>(
        mut self,
        steps: &[StudyStep<C>],
        prepare: impl FnMut(C) -> anyhow::Result<C>,
    ) -> Studied<C> {
        let own = self.scratch.path().join(OWN_FILE);
        // The runner has its own; a second look at the same devices.
        let counters = LeafCounters::new(&self.run.storage);
        let mut windows = Vec::new();
        let mut runner =
            Runner::new(self.scratch, self.counters, &self.run.storage, self.control, &mut self.events);
        let mut hands = Hands { control: self.control, own: &own, counters: counters.as_ref() };
        let done = hands.steps(&mut runner, steps, prepare, &mut windows);
        let measured = runner.end();
        let ending = ending(done.err(), self.control);
        self.events.emit(&Event::RunEnded(ending.clone()));
        let warnings = self.events.finish(self.control);
        Studied { run: self.run, measured, windows, warnings, ending, json: self.json }
    }
}

/// What is done around the phases.
struct Hands<'a> {
    control: &'a Control,
    own: &'a Path,
    counters: Option<&'a LeafCounters>,
}

impl Hands<'_> {
    fn steps<C: Copy>(
        &mut self,
        runner: &mut Runner<'_>,
        steps: &[StudyStep<C>],
        mut prepare: impl FnMut(C) -> anyhow::Result<C>,
        windows: &mut Vec<StudyWindow<C>>,
    ) -> anyhow::Result<()> {
        for step in steps {
            if self.control.interrupted() {
                break;
            }
            let circumstance = step.circumstance.map(&mut prepare).transpose()?;
            let path = self.path(&step.task);
            if step.before == Before::Drop {
                self.drop_cached(&path)?;
            }
            let span = step.task.target.size();
            let resident_before = resident(&path, span);
            let counted = self.count();
            let phase = runner.history().len() as u32;
            runner.sets(&[&[JobTask::Io(Box::new(step.task.clone()))]])?;
            let device = self.count().zip(counted).map(|(now, before)| now.since(before));
            let resident_after = resident(&path, span);
            let whole = runner.history().get(phase as usize);
            if let (Some(circumstance), Some(Ending::Completed)) =
                (circumstance, whole.map(|result| &result.end.ending))
                && !self.control.interrupted()
            {
                windows.push(StudyWindow { circumstance, phase, device, resident_before, resident_after });
            }
        }
        Ok(())
    }

    fn path(&self, task: &FileTask) -> PathBuf {
        match &task.target {
            Target::Existing(existing) => existing.path.clone(),
            _ => self.own.to_owned(),
        }
    }

    /// Drops what the page cache holds of a file, once what is dirty has been written.
    fn drop_cached(&self, path: &Path) -> anyhow::Result<()> {
        let file = path.to_owned();
        let dropped = patiently(self.control, Duration::MAX, move || {
            let file = File::open(file)?;
            let length = iolite_sys::device::size_of(&file)?;
            page_cache::evict(&file, 0, length)
        });
        match dropped {
            Ok(done) => done
                .with_context(|| format!("what the page cache holds of {} can't be dropped", path.display())),
            // The next look at the control ends it.
            Err(GaveUp::Interrupted) => Ok(()),
            Err(GaveUp::Late | GaveUp::Failed) => {
                Err(anyhow!("the thread that drops the page cache has died"))
            }
        }
    }

    fn count(&self) -> Option<DeviceCounters> {
        self.counters.and_then(|counters| counters.read().ok())
    }
}

/// The share of a file's first bytes that is in the page cache; `None` where it can't be told, or there is no file yet.
fn resident(path: &Path, span: Bytes) -> Option<f64> {
    let file = File::open(path).ok()?;
    let resident = page_cache::resident_bytes(&file, 0, span.0).ok()?;
    (span.0 > 0).then(|| resident as f64 / span.0 as f64)
}

impl<C: Circumstance> Studied<C> {
    /// All finished phases.
    pub(super) fn history(&self) -> &[PhaseResult] {
        &self.measured.history
    }

    /// Prints it.
    ///
    /// # Errors
    /// Standard output can't be written to.
    pub(super) fn print(
        self,
        place: &Place,
        findings: Vec<StudyFinding>,
        setting: Option<(String, Bytes)>,
    ) -> anyhow::Result<Exit> {
        let report = StudyReport {
            run: self.run,
            calibration: self.measured.calibration,
            target: place.name.display().to_string(),
            windows: self.windows,
            findings,
            setting,
            phases: self.measured.history,
            warnings: self.warnings,
            ending: self.ending,
        };
        let text = if self.json { format!("{:#}\n", json(&report)) } else { text(&report, output::style()) };
        output::print(&text)?;
        Ok(match report.ending {
            Ending::Completed => Exit::Fit,
            Ending::Interrupted => Exit::Interrupted,
            Ending::Failed(_) => Exit::Failure,
        })
    }
}
