//! Access specifications as Iometer runs them: point after point, each worker's specifications with their lines by their shares.

mod tasks;
#[cfg(test)]
mod tests;

use iolite_model::{AccessLine, AccessSpec, BackendKind, Bytes, IometerTerms, Nanos, Task, Warning};
use iolite_results::Run;

use crate::procedure::{Conclusions, Nothing, Procedure, Step};

/// Threads of a point at most: one for each worker and target, and for each line if its lines have different delays.
const MAX_THREADS: usize = 4096;

/// Outstanding operations of a point at most (the limit on requests of asynchronous I/O of a host is usually 65,536).
const MAX_OUTSTANDING: u64 = 65_536;

/// A test of access specifications as a procedure.
#[derive(Debug, Clone)]
pub struct Iometer {
    ahead: std::vec::IntoIter<Vec<Task>>,
}

/// How the test file is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IometerAccess {
    /// Back end.
    pub backend: BackendKind,
    /// Past the page cache, as Iometer does.
    pub direct: bool,
    /// What sizes and offsets are multiples of: the unit of direct I/O, otherwise a byte.
    pub unit: Bytes,
}

/// Why a test can't be run on this storage.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IometerError {
    /// Direct I/O does not do its sizes or offsets.
    #[error(
        "access specification `{spec}` has {what} of {bytes} bytes, but direct I/O on this storage uses multiples of {unit} bytes: use \
         specifications with larger sizes, or a device with smaller logical blocks"
    )]
    Unit {
        /// Name of the specification.
        spec: String,
        /// What is no multiple: `operations` or `offsets`.
        what: &'static str,
        /// How large it is.
        bytes: u64,
        /// The unit.
        unit: u64,
    },
    /// A worker begins within a block.
    #[error(
        "worker `{worker}` starts at byte {start} of its test file, but direct I/O on this storage uses multiples of {unit} bytes: specify \
         another starting sector"
    )]
    Start {
        /// The worker's name.
        worker: String,
        /// Where it starts.
        start: u64,
        /// The unit.
        unit: u64,
    },
    /// A part of the file is too small for an operation.
    #[error(
        "access specification `{spec}` has operations of {size}, but worker `{worker}` uses {part} of its target {target} (workers that go \
         through a test file sequentially share it): specify a larger --size, or fewer workers"
    )]
    Small {
        /// Name of the specification.
        spec: String,
        /// Size of its operations.
        size: Bytes,
        /// Name of the worker.
        worker: String,
        /// Number of its target, from 1.
        target: u32,
        /// The part that it uses.
        part: Bytes,
    },
    /// It would take too many threads.
    #[error(
        "point {point} needs {threads} threads (workers x targets, x lines if their delays differ), more than {MAX_THREADS}: use fewer \
         workers or targets"
    )]
    Threads {
        /// Number of the point, from 1.
        point: usize,
        /// Threads.
        threads: usize,
    },
    /// It would have too many operations in flight.
    #[error(
        "point {point} has {outstanding} outstanding I/Os (workers x targets x outstanding I/Os), more than {MAX_OUTSTANDING}: use fewer"
    )]
    Outstanding {
        /// Number of the point, from 1.
        point: usize,
        /// Outstanding operations.
        outstanding: u64,
    },
}

impl Iometer {
    /// A test of these terms.
    pub fn new(terms: &IometerTerms, access: IometerAccess) -> Iometer {
        let files = terms.files();
        let mut steps: Vec<Vec<Task>> =
            files.iter().map(|(file, size)| vec![tasks::lay_out(*file, *size, access)]).collect();
        let points = terms.points.iter().zip(1..);
        // Idle workers have nothing to do.
        steps.extend(
            points
                .map(|point| tasks::of_point(terms, &files, point, access))
                .filter(|tasks| !tasks.is_empty()),
        );
        Iometer { ahead: steps.into_iter() }
    }

    /// Checks the loads, and sizes and offsets against the unit of direct I/O.
    ///
    /// # Errors
    /// The first that can't be run.
    pub fn check(terms: &IometerTerms, unit: Bytes) -> Result<(), IometerError> {
        let (unit, files) = (unit.0.max(1), terms.files());
        if let Some(worker) = terms.workers.iter().find(|worker| !worker.start.0.is_multiple_of(unit)) {
            return Err(IometerError::Start { worker: worker.name.clone(), start: worker.start.0, unit });
        }
        for (point, number) in terms.points.iter().zip(1..) {
            let loads = terms.loads(point);
            let threads = |spec: &AccessSpec| if has_one_delay(spec) { 1 } else { spec.lines.len() };
            let busy = || loads.iter().filter(|load| !load.spec.lines.is_empty());
            let threads: usize = busy().map(|load| load.targets as usize * threads(&load.spec)).sum();
            if threads > MAX_THREADS {
                return Err(IometerError::Threads { point: number, threads });
            }
            let outstanding = busy().map(|load| u64::from(load.targets) * u64::from(load.depth)).sum();
            if outstanding > MAX_OUTSTANDING {
                return Err(IometerError::Outstanding { point: number, outstanding });
            }
            busy().try_for_each(|load| check_lines(&load.spec, unit))?;
            tasks::check_parts(terms, &files, point, unit)?;
        }
        Ok(())
    }

    /// What a test leaves out if a worker has a test connection rate: the test files stay open.
    pub fn left_out(worker: &str, transactions: u32) -> Warning {
        let why = format!(
            "the test files stay open; Iometer closes and opens a target after every {transactions} transactions, which takes time and \
             may flush caches"
        );
        Warning::LeftOut { what: format!("the test connection rate of worker `{worker}`"), why }
    }

    /// What a test does otherwise if the lines of a specification have different delays or bursts.
    pub fn apart(terms: &IometerTerms) -> Option<Warning> {
        let specs = terms.points.iter().flat_map(|point| terms.loads(point)).map(|load| load.spec);
        let spec = specs.into_iter().find(|spec| !has_one_delay(spec))?;
        Some(Warning::LeftOut {
            what: format!("one queue for all lines of the access specification `{}`", spec.name),
            why: "its lines have different delays or bursts: they run concurrently, each with the outstanding I/Os of the worker, in the \
                  ratio of their percentages"
                .to_owned(),
        })
    }

    /// The tasks that are left, those that start together in one slice.
    pub fn steps(&self) -> impl Iterator<Item = &[Task]> {
        self.ahead.as_slice().iter().map(Vec::as_slice)
    }
}

impl Procedure for Iometer {
    type Preparation = Nothing;

    fn next(&mut self, _run: &Run, _elapsed: Nanos) -> Step {
        self.ahead.next().map_or(Step::Done(Conclusions::default()), Step::Run)
    }
}

/// The lines of a specification that have operations.
fn lines_of(spec: &AccessSpec) -> Vec<AccessLine> {
    spec.lines.iter().copied().filter(|line| line.share > 0).collect()
}

/// Whether a queue can do all lines of a specification: one pause is kept between all operations.
fn has_one_delay(spec: &AccessSpec) -> bool {
    // Without a delay, bursts follow each other.
    let pause = |line: &AccessLine| (line.delay, if line.delay > 0 { line.burst } else { 0 });
    let lines = lines_of(spec);
    lines.iter().all(|line| pause(line) == pause(&lines[0]))
}

fn check_lines(spec: &AccessSpec, unit: u64) -> Result<(), IometerError> {
    for line in lines_of(spec) {
        for (what, bytes) in [("operations", line.size.0), ("offsets", line.align.0)] {
            if !bytes.is_multiple_of(unit) {
                return Err(IometerError::Unit { spec: spec.name.clone(), what, bytes, unit });
            }
        }
    }
    Ok(())
}
