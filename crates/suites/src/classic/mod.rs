//! The classic disk performance tests, step by step: dd, Bonnie++ and IOzone.
//!
//! Written from the programs' manuals and what they are seen to do. What each step is in the engine's terms is in `tasks`, what
//! the figures mean for a database in `verdict`; docs/suites.md says what differs from the originals and why.

mod tasks;
mod terms;
mod verdict;

use std::path::PathBuf;

use iolite_model::{BonniePhase, Bytes, ClassicTerms, DdStep, IozoneTest, Nanos, Task};
use iolite_results::Run;

use crate::procedure::{Conclusions, Procedure, Step};

pub use terms::{ClassicError, ClassicRequest, ClassicTest};

/// What the tests need between their phases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClassicPreparation {
    /// These files of the run are no longer needed: removed, to make space.
    Remove(Vec<PathBuf>),
}

/// The tests as a procedure.
#[derive(Debug, Clone)]
pub struct Classic {
    terms: ClassicTerms,
    ahead: std::vec::IntoIter<Stage>,
}

#[derive(Debug, Clone)]
enum Stage {
    Run(Vec<Task>),
    Remove(Vec<PathBuf>),
}

impl Classic {
    /// The sizes of the tests on a host with this memory.
    ///
    /// # Errors
    /// There are none that make sense.
    pub fn terms(request: &ClassicRequest, memory: Bytes) -> Result<ClassicTerms, ClassicError> {
        terms::terms(request, memory)
    }

    /// The tests of these terms.
    pub fn new(terms: ClassicTerms) -> Classic {
        let ahead = stages(&terms).into_iter();
        Classic { terms, ahead }
    }

    /// The tasks that are left, those that start together in one slice.
    pub fn steps(&self) -> impl Iterator<Item = &[Task]> {
        self.ahead.as_slice().iter().filter_map(|stage| match stage {
            Stage::Run(tasks) => Some(tasks.as_slice()),
            Stage::Remove(_) => None,
        })
    }

    /// Bytes that the files of these terms take at most at one time.
    pub fn space(terms: &ClassicTerms) -> Bytes {
        let dd = terms.dd.map_or(0, |dd| dd.size.0.saturating_add(dd.flush.0));
        let bonnie = terms.bonnie.map_or(0, |bonnie| {
            // A file without contents still takes an inode and a name.
            let names = bonnie.files.saturating_mul(NAME);
            bonnie.size.0.saturating_add(bonnie.characters.0).saturating_add(names)
        });
        let iozone =
            terms.iozone.map_or(0, |iozone| iozone.size.0.saturating_mul(u64::from(iozone.processes)));
        Bytes(dd.max(bonnie).max(iozone))
    }
}

/// What an empty file takes of a file system, about.
const NAME: u64 = 512;

impl Procedure for Classic {
    type Preparation = ClassicPreparation;

    fn next(&mut self, run: &Run, _elapsed: Nanos) -> Step<ClassicPreparation> {
        match self.ahead.next() {
            Some(Stage::Run(tasks)) => Step::Run(tasks),
            Some(Stage::Remove(files)) => Step::Prepare(ClassicPreparation::Remove(files)),
            None => Step::Done(Conclusions {
                verdict: Some(verdict::verdict(&self.terms, run)),
                ..Conclusions::default()
            }),
        }
    }
}

fn stages(terms: &ClassicTerms) -> Vec<Stage> {
    let mut stages = Vec::new();
    if let Some(dd) = &terms.dd {
        stages.extend(DdStep::ALL.map(|step| Stage::Run(vec![tasks::dd(dd, step, terms.keep_cache)])));
        stages.push(Stage::Remove(vec![tasks::DD.into(), tasks::DD_SECOND.into()]));
    }
    if let Some(bonnie) = &terms.bonnie {
        let mut files_removed = false;
        for phase in BonniePhase::ALL {
            let names = matches!(phase, BonniePhase::Files(..));
            if names && !files_removed {
                stages.push(Stage::Remove(tasks::bonnie_files(bonnie)));
                files_removed = true;
            }
            if !names || bonnie.files > 0 {
                stages.push(Stage::Run(vec![tasks::bonnie(bonnie, phase, terms.keep_cache)]));
            }
        }
    }
    if let Some(iozone) = &terms.iozone {
        for test in IozoneTest::ALL {
            let each =
                (1..=iozone.processes).map(|process| tasks::iozone(iozone, test, process, terms.keep_cache));
            stages.push(Stage::Run(each.collect()));
        }
        stages.push(Stage::Remove((1..=iozone.processes).map(tasks::iozone_file).collect()));
    }
    stages
}

#[cfg(test)]
mod tests;
