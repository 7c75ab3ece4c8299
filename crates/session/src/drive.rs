//! The driver: step after step of a procedure.

use std::time::Duration;

use anyhow::bail;
use iolite_model::{JobTask, Nanos, Task};
use iolite_suites::{Procedure, Step};

use crate::session::Session;

/// How a procedure came to its end.
#[derive(Debug)]
pub enum Driven {
    /// It has concluded.
    Concluded,
    /// The user interrupted.
    Interrupted,
}

impl Session<'_> {
    /// Does what a procedure asks for, step by step, until it has concluded or the user interrupts. What it concludes is
    /// recorded. `prepare` does what only the caller can: it makes the circumstance of the next step, and may say to the
    /// procedure what came of it.
    ///
    /// # Errors
    /// Why it can't go on; what was measured until then is kept.
    pub fn drive<P: Procedure>(
        &mut self,
        procedure: &mut P,
        mut prepare: impl FnMut(&mut Session<'_>, &mut P, P::Preparation) -> anyhow::Result<()>,
    ) -> anyhow::Result<Driven> {
        self.calibrate()?;
        while !self.control.interrupted() {
            match procedure.next(self.events.run(), self.elapsed()) {
                Step::Run(tasks) => self.step(tasks, procedure)?,
                Step::Prepare(preparation) => prepare(self, procedure, preparation)?,
                Step::Done(conclusion) => {
                    conclusion.warnings.into_iter().for_each(|warning| self.events.warn(warning));
                    conclusion.concluded.into_iter().for_each(|concluded| self.events.conclude(concluded));
                    if let Some(verdict) = conclusion.verdict {
                        self.verdict(verdict);
                    }
                    return Ok(Driven::Concluded);
                }
                Step::Failed(reason) => bail!(reason),
            }
        }
        Ok(Driven::Interrupted)
    }

    /// Runs the tasks of a step. Where one fails, the procedure decides by the phase's ending whether that is the end.
    fn step<P: Procedure>(&mut self, tasks: Vec<Task>, procedure: &P) -> anyhow::Result<()> {
        let before = self.history().len();
        let mut jobs = Vec::with_capacity(tasks.len());
        for task in tasks {
            match task {
                Task::File(task) => jobs.push(JobTask::Io(Box::new(task))),
                Task::Metadata(task) => jobs.push(JobTask::Metadata(task)),
                Task::Database(task) => {
                    let limit = procedure.deadline().map_or(Duration::MAX, |Nanos(deadline)| {
                        Duration::from_nanos(deadline.saturating_sub(self.elapsed().0))
                    });
                    self.inside_database(task, limit)?;
                }
            }
        }
        if jobs.is_empty() {
            return Ok(());
        }
        match self.set(&jobs) {
            // A phase that failed has a result all the same, from which the procedure tells what it means.
            Err(_) if procedure.survives_failures() && self.history().len() > before => Ok(()),
            other => other,
        }
    }

    fn verdict(&mut self, verdict: iolite_model::Verdict) {
        use iolite_model::Sink as _;
        self.events.event(&iolite_model::Event::Verdict(verdict));
    }
}
