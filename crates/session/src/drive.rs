//! The driver: step after step of a procedure.

use iolite_model::{Event, JobTask, Sink, Task};
use iolite_suites::{Conclusions, CutShort, Nothing, Procedure, Step};

use crate::ending::describe;
use crate::error::{Error, Result};
use crate::session::Session;

/// What a procedure needs of its surroundings besides the engine.
pub trait Environment<P: Procedure> {
    /// Prepares the circumstance of the next step, and may let the procedure know what came of it.
    ///
    /// # Errors
    /// The run can't go on.
    fn prepare(
        &mut self,
        session: &mut Session<'_>,
        procedure: &mut P,
        preparation: P::Preparation,
    ) -> Result<()>;

    /// Runs a task inside a database: of a workload that this environment knows.
    ///
    /// # Errors
    /// The run can't go on. A phase that fails is no error: its ending says so.
    fn inside_database(&mut self, _session: &mut Session<'_>, task: Task) -> Result<()> {
        Err(no_database(&task))
    }

    /// Notified of a step that failed.
    fn failed(&mut self, _procedure: &mut P, _error: &Error) {}
}

/// The error of an environment without the database of a task.
pub(crate) fn no_database(task: &Task) -> Error {
    Error::NoDatabase { task: task.name().to_owned() }
}

/// The environment of procedures that need nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bare;

impl<P: Procedure<Preparation = Nothing>> Environment<P> for Bare {
    fn prepare(&mut self, _: &mut Session<'_>, _: &mut P, nothing: Nothing) -> Result<()> {
        match nothing {}
    }
}

impl Session<'_> {
    /// Does what a procedure asks for, step by step, until it has concluded, fails, or the user interrupts. What it concludes is
    /// recorded, also from what was measured before it was cut short.
    ///
    /// # Errors
    /// Why it can't go on; what was measured until then is kept.
    pub fn drive<P: Procedure>(
        &mut self,
        procedure: &mut P,
        environment: &mut impl Environment<P>,
    ) -> Result<()> {
        let mut driven = self.steps(procedure, environment);
        if let Err(error) = &driven {
            environment.failed(procedure, error);
        }
        while let Some(preparation) = procedure.remaining(self.events.run()) {
            let done = environment.prepare(self, procedure, preparation);
            driven = driven.and_then(|conclusions| done.map(|()| conclusions));
        }
        let conclusions = match &driven {
            Ok(Some(conclusions)) => conclusions.clone(),
            Err(error) if !self.control.interrupted() => {
                procedure.cut_short(self.events.run(), CutShort::Failed(describe(error)))
            }
            Ok(None) | Err(_) => procedure.cut_short(self.events.run(), CutShort::Interrupted),
        };
        self.record(conclusions);
        driven.map(drop)
    }

    /// Step after step; what is concluded, or `None` where the user has interrupted before.
    fn steps<P: Procedure>(
        &mut self,
        procedure: &mut P,
        environment: &mut impl Environment<P>,
    ) -> Result<Option<Conclusions>> {
        if procedure.runs_tasks() {
            self.calibrate()?;
        }
        while !self.control.interrupted() {
            match procedure.next(self.events.run(), self.elapsed()) {
                Step::Run(tasks) => self.step(tasks, procedure, environment)?,
                Step::Prepare(preparation) => environment.prepare(self, procedure, preparation)?,
                Step::Done(conclusions) => return Ok(Some(conclusions)),
                Step::Failed(reason) => return Err(Error::Procedure { reason }),
            }
        }
        Ok(None)
    }

    fn record(&mut self, conclusions: Conclusions) {
        conclusions.warnings.into_iter().for_each(|warning| self.events.warn(warning));
        conclusions.concluded.into_iter().for_each(|concluded| self.events.conclude(concluded));
        if let Some(verdict) = conclusions.verdict {
            self.events.event(&Event::Verdict(verdict));
        }
    }

    /// Runs the tasks of a step. Where one fails, the procedure may decide by the phase's ending whether that is the end.
    fn step<P: Procedure>(
        &mut self,
        tasks: Vec<Task>,
        procedure: &mut P,
        environment: &mut impl Environment<P>,
    ) -> Result<()> {
        let before = self.history().len();
        let mut jobs = Vec::with_capacity(tasks.len());
        for task in tasks {
            match task {
                Task::File(task) => jobs.push(JobTask::Io(Box::new(task))),
                Task::Metadata(task) => jobs.push(JobTask::Metadata(task)),
                workload => environment.inside_database(self, workload)?,
            }
        }
        if jobs.is_empty() {
            return Ok(());
        }
        match self.set(&jobs) {
            // A phase that failed has a result all the same, from which the procedure sees what it means.
            Err(error) if procedure.survives_failures() && self.history().len() > before => {
                environment.failed(procedure, &error);
                Ok(())
            }
            other => other,
        }
    }
}
