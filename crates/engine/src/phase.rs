//! A phase of block I/O: opens the target, and runs a group of measured loops on the back end asked for.

use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use iolite_model::{
    Access, BackendKind, Bytes, Ending, FileLock, FileTask, Mix, OpKind, RangeSync, Sink, Target,
    TracedKinds, Verify,
};
use iolite_sys::clock::Clock;
use iolite_sys::file::range_flags;
use iolite_sys::{descriptors, mapping};
use iolite_workers::{
    Control, Finished, Outcome, Patience, StartLine, WorkerGroup, WorkerStart, WorkersError,
};
use iolite_workload::{Arrivals, Filler, OpStream, Priorities, Share};

use crate::backend::{
    Backend, Busy, Fallocate, Files, InParts, Libaio, Locking, Mmap, MoveExtents, Null, PartStart, Seek,
    Serializing, Splice, Sync, Threads, Truncate, Uring, Vectored,
};
use crate::error::EngineError;
use crate::flow::{FlowGroup, FlowSeat};
use crate::guard::Scratch;
use crate::measured::{Batching, Fill, Loop, LoopMemory, Plan};
use crate::placement;
use crate::rate;
use crate::target::{Targets, drops_each_round};
use crate::validate::validate;
use crate::verify::{Checker, FioState, Subject, Unchecked, Verification, can_be_created};
use crate::watch::{Unwatched, Watcher};
use crate::zoned::ZonesOfTask;

/// A phase that has been measured, and what is left to verify.
pub(crate) struct Ran {
    pub(crate) outcome: Outcome,
    /// Verifies, and adds what it finds to the outcome.
    pub(crate) verification: Option<Verifying>,
}

/// What is left to verify of a phase.
pub(crate) type Verifying = Box<dyn FnOnce(&mut Outcome) -> Result<(), EngineError> + Send>;

impl Ran {
    /// Nothing was measured, and nothing is left to do.
    pub(crate) fn nothing(ending: Ending) -> Ran {
        Ran { outcome: Outcome::nothing(ending), verification: None }
    }

    /// Verifies what is left. Where that fails, what was measured is kept all the same, and the failure is its ending.
    pub(crate) fn verify(self) -> Outcome {
        let Ran { mut outcome, verification } = self;
        if let Some(Err(error)) = verification.map(|verification| verification(&mut outcome)) {
            outcome.verified.get_or_insert_default().incomplete = true;
            if outcome.ending == Ending::Completed {
                outcome.ending = Ending::Failed(error.to_string());
            }
        }
        outcome
    }
}

/// A phase that is ready to be run: its target is open.
#[derive(Debug, Clone)]
pub(crate) struct Phase {
    /// The task, with the target's size as it was found.
    pub(crate) task: FileTask,
    pub(crate) number: u32,
    pub(crate) targets: Targets,
    /// Workers in this process.
    pub(crate) here: u32,
    /// How to verify, where it is asked for.
    pub(crate) verification: Option<Verification>,
    /// The group that it keeps a ratio with.
    pub(crate) flow: Option<Arc<FlowGroup>>,
    /// The zones of its device, where it cares for them.
    pub(crate) zones: Option<ZonesOfTask>,
    /// Other tasks that start with it use its files.
    pub(crate) shares_files: bool,
    /// Its workers use the process's table of descriptors, as all do that start with them.
    pub(crate) shares_descriptors: bool,
}

/// What is done with a back end, whatever it is.
trait UseBackend {
    type Result;

    fn with<B: Backend + 'static>(self, backend: B) -> Self::Result;
}

/// Measures on it.
struct Measuring<'a> {
    phase: &'a Phase,
    files: Files,
    plan: Plan,
    start: WorkerStart,
}

impl UseBackend for Measuring<'_> {
    type Result = Result<Finished, EngineError>;

    fn with<B: Backend + 'static>(self, backend: B) -> Self::Result {
        let Measuring { phase, files, plan, start } = self;
        let (depth, worker) = (plan.depth, start.worker());
        if phase.lock() != FileLock::None {
            let inner = Boxing { phase, files: files.clone(), worker, depth }.with(backend);
            let locking = Locking::new(inner, files, phase.lock(), depth);
            return phase.measure(locking.map_err(|source| phase.no_backend(source))?, plan, start);
        }
        if phase.is_disjoint(depth) {
            let inner = phase.boxed(backend, files, worker);
            return phase.measure(Serializing::new(inner, depth), plan, start);
        }
        match phase.invalidating(files, worker) {
            None => phase.measure(backend, plan, start),
            Some(around) => phase.measure(around(Box::new(backend)), plan, start),
        }
    }
}

/// Keeps it, whatever it is.
struct Boxing<'a> {
    phase: &'a Phase,
    files: Files,
    worker: u32,
    /// Slots, where operations that overlap are to wait for each other.
    depth: u32,
}

impl UseBackend for Boxing<'_> {
    type Result = Box<dyn Backend>;

    fn with<B: Backend + 'static>(self, backend: B) -> Self::Result {
        let backend = self.phase.boxed(backend, self.files, self.worker);
        if self.phase.is_disjoint(self.depth) {
            return Box::new(Serializing::new(backend, self.depth));
        }
        backend
    }
}

impl Phase {
    /// Checks the task and opens its target.
    pub(crate) fn prepare(
        task: &FileTask,
        number: u32,
        scratch: &mut Scratch,
        control: &Control,
    ) -> Result<Phase, EngineError> {
        let mut task = task.clone();
        validate(&task)?;
        if task.verify.is_some() && matches!(task.target, Target::Null { .. }) {
            let reason = "the null target does not store data, so it cannot be verified: remove `verify`, or use a file";
            return Err(EngineError::Task { task: task.name, reason: reason.into() });
        }
        let keeps = task.verify.as_ref().filter(|verify| !verify.fio_state);
        if let Some(state) = keeps.and_then(|verify| verify.state.as_deref()) {
            can_be_created(state)?;
        }
        if let Some(Verify { only: true, fio_state: true, state: Some(state), .. }) = &task.verify {
            // The phase repeats the writes that the state counts.
            let writes = FioState::load(state)?.completed_writes();
            match task.mix {
                Mix::Write => task.stop.operations = Some(writes),
                // Reads are not counted there.
                _ => task.stop.written = Some(Bytes(writes.saturating_mul(task.block.0))),
            }
        }
        let asked = task.target.size();
        let targets = Targets::open(&mut task, scratch, control)?;
        let fits = task.target.size();
        if task.stop.full && fits < asked {
            // What there was no space for is not done in another place.
            let rounds = |bytes: Bytes| bytes.0.div_ceil(asked.0.max(1)).max(1);
            task.stop.bytes =
                task.stop.bytes.map(|bytes| bytes.min(Bytes(rounds(bytes).saturating_mul(fits.0))));
        }
        let zones = ZonesOfTask::open(&task, &targets)?;
        Ok(Phase { zones, ..Phase::new(task, number, targets)? })
    }

    pub(crate) fn new(task: FileTask, number: u32, targets: Targets) -> Result<Phase, EngineError> {
        let verification = Verification::of(&task)?;
        Ok(Phase {
            here: task.workers,
            task,
            number,
            targets,
            verification,
            flow: None,
            zones: None,
            shares_files: false,
            shares_descriptors: false,
        })
    }

    /// Checks that its zones can be used, where no other task starts together with it.
    pub(crate) fn share_zones(&mut self) -> Result<(), EngineError> {
        ZonesOfTask::share(self.zones.as_mut().map(|zones| (&self.task, zones)).into_iter())
    }

    /// What is left to do when its workers have measured, on the target's files.
    pub(crate) fn conclude_on_files(&self, outcome: Outcome, clock: Clock, control: &Control) -> Ran {
        let targets = self.targets.clone();
        self.conclude(outcome, clock, control, move |task: &FileTask, worker| {
            let room = Verification::read_back_block(task);
            let files = targets.files(worker).ok_or(io::ErrorKind::NotFound)?;
            Ok((Sync::new(files, room)?, 1, room))
        })
    }

    /// Runs `workers` of the phase's workers, from `first` on, as threads.
    pub(crate) fn run_threads(
        &self,
        first: u32,
        workers: u32,
        line: Option<&dyn StartLine>,
        clock: Clock,
        control: &Control,
        sink: &mut dyn Sink,
    ) -> Result<Outcome, EngineError> {
        let work = |worker| {
            let phase = self.for_a_worker();
            move |start| phase.work(worker, start)
        };
        self.begin_state()?;
        let group = self.group(first, workers, clock, control);
        let outcome = group.run(line, sink, work);
        descriptors::close_left_behind();
        self.ran(outcome)
    }

    /// The phase for one of its workers: in one place, whose address alone is passed on, so that stacks of a thousand workers stay
    /// small.
    pub(crate) fn for_a_worker(&self) -> Box<Phase> {
        Box::new(Phase { targets: self.targets.for_a_worker(), ..self.clone() })
    }

    /// The outcome of its workers. A state that nothing was written down in is discarded.
    pub(crate) fn ran(&self, outcome: Result<Outcome, WorkersError>) -> Result<Outcome, EngineError> {
        if outcome.is_err() {
            self.discard_state();
        }
        Ok(outcome?)
    }

    /// Removes the verification state, if one was created: nothing was measured.
    pub(crate) fn discard_state(&self) {
        self.verification.iter().for_each(Verification::discard_state);
    }

    /// Whether a worker has a file with a descriptor of so high a number that a table of its own would take longer to copy than it
    /// saves.
    pub(crate) fn has_high_descriptors(&self) -> bool {
        let is_high =
            |files: Files| files.spans().iter().any(|span| span.file.as_raw_fd() >= descriptors::MAX_COPIED);
        self.needs_only_its_files()
            && (0..self.here).filter_map(|worker| self.targets.files(worker)).any(is_high)
    }

    /// Creates the verification state that the task asks for.
    pub(crate) fn begin_state(&self) -> Result<(), EngineError> {
        let Some(verification) = &self.verification else { return Ok(()) };
        verification.begin_state(&self.task, |worker| {
            let (part, base) = (self.stream(worker)?.part(), self.targets.base());
            Ok(part.start + base..part.end + base)
        })
    }

    /// What is left to do after the measurement: whether the rate was kept, and verification.
    pub(crate) fn conclude<B: Backend>(
        &self,
        mut outcome: Outcome,
        clock: Clock,
        control: &Control,
        make: impl Fn(&FileTask, u32) -> io::Result<(B, u32, usize)> + Clone + Send + 'static,
    ) -> Ran {
        outcome.rate = rate::kept(&self.task, &outcome);
        let verification = self.verification.clone().map(|verification| -> Verifying {
            let (subject, control) = (self.subject(), control.clone());
            Box::new(move |outcome| verification.conclude(&subject, outcome, clock, &control, make))
        });
        Ran { outcome, verification }
    }

    /// Its workers from `first` on, as a group.
    pub(crate) fn group(&self, first: u32, workers: u32, clock: Clock, control: &Control) -> WorkerGroup {
        WorkerGroup {
            phase: self.number,
            first,
            workers,
            kinds: kinds(&self.task),
            delay: self.task.start.delay,
            stop: self.task.stop,
            ramp: self.task.ramp,
            interval: self.task.interval,
            clock,
            control: control.clone(),
            patience: Patience::default(),
        }
    }

    /// What of it is to be verified.
    fn subject(&self) -> Subject {
        let (task, targets) = (self.task.clone(), self.targets.clone());
        Subject { task, phase: self.number, workers: self.here, targets }
    }

    /// Does the work of a worker.
    pub(crate) fn work(
        mut self: Box<Self>,
        worker: u32,
        start: WorkerStart,
    ) -> Result<Finished, EngineError> {
        let _held = placement::place(&self.task.placement, worker)?;
        let plan = self.plan(worker)?;
        let block = plan.largest as usize;
        let Some(files) = self.targets.files(worker) else {
            return match self.task.backend {
                BackendKind::Busy(options) => self.measure(Busy::new(options), plan, start),
                _ => self.measure(self.null(block)?, plan, start),
            };
        };
        let files = if self.needs_only_its_files() && !self.shares_descriptors {
            self.targets = Targets::none();
            files.own()
        } else {
            files
        };
        self.work_on(files, block, plan, start)
    }

    /// Whether its workers use no other descriptor than those of their files once they have begun, and use these in a system call
    /// for each operation: then a table of descriptors of their own makes the calls faster.
    fn needs_only_its_files(&self) -> bool {
        let calls = matches!(self.task.backend, BackendKind::Sync | BackendKind::Vectored(_));
        // Files that are created again are for others to use as well.
        let keeps = self.targets.renewal(&self.task, false).is_none();
        calls
            && keeps
            && self.task.verify.is_none()
            && self.zones.is_none()
            && !Watcher::is_needed(&self.task)
    }

    /// Does a worker's work on its files.
    fn work_on(
        &self,
        files: Files,
        block: usize,
        plan: Plan,
        start: WorkerStart,
    ) -> Result<Finished, EngineError> {
        if self.task.verify.as_ref().is_some_and(|verify| verify.only) {
            return self.measure(self.null(block)?, plan, start);
        }
        let (depth, worker) = (plan.depth, start.worker());
        let Some(renewal) = self.targets.renewal(&self.task, self.shares_files) else {
            let measuring = Measuring { phase: self, files: files.clone(), plan, start };
            return self
                .on_back_end(files, (depth, block), measuring)
                .map_err(|source| self.no_backend(source))?;
        };
        let make = |files: Files| {
            self.on_back_end(files.clone(), (depth, block), Boxing { phase: self, files, worker, depth })
        };
        let first = make(files).map_err(|source| self.no_backend(source))?;
        let renew = || make(self.targets.renew(&self.task, &renewal)?);
        let begins = PartStart::Renew(Box::new(renew), depth);
        let in_parts = InParts::new(first, begins, self.part(&plan));
        self.measure(in_parts, plan, start)
    }

    /// Operations and bytes of a part of the work; `u64::MAX` where they do not bound it.
    fn part(&self, plan: &Plan) -> (u64, u64) {
        let parts = match &self.task.target {
            Target::Files(target) => u64::from(target.parts_anew.max(1)),
            _ => 1,
        };
        let of = |amount: u64| if amount == u64::MAX { amount } else { (amount / parts).max(1) };
        (of(plan.share.operations), of(plan.share.bytes))
    }

    /// Does something with the back end that the task asks for, on these files, with so many slots of so many bytes.
    ///
    /// # Errors
    /// It cannot be had.
    fn on_back_end<U: UseBackend>(
        &self,
        files: Files,
        (depth, block): (u32, usize),
        then: U,
    ) -> io::Result<U::Result> {
        let writes = self.task.mix.writes();
        let RangeSync { wait_before, write, wait_after } = self.task.durability.range;
        let files = files.with_range_flags(range_flags(wait_before, write, wait_after));
        Ok(match self.task.backend {
            // validate() has seen to it that these have no files.
            BackendKind::Null | BackendKind::Busy(_) => then.with(Null::new(block)?),
            BackendKind::Sync => then.with(Sync::new(files, block)?),
            BackendKind::Seek => then.with(Seek::new(files, block, writes)?),
            BackendKind::IoUring(options) => {
                let method = self.task.durability.sync.map(|rule| rule.method).unwrap_or_default();
                let ring = Uring::new(files, depth, block, options, method)?;
                then.with(if self.task.batch.submit > 0 { ring.gathering() } else { ring })
            }
            BackendKind::Vectored(flags) => then.with(Vectored::new(files, block, flags, writes)?),
            BackendKind::Libaio => then.with(Libaio::new(files, depth, block)?),
            BackendKind::Mmap => then.with(Mmap::new(files, block, self.map_usage())?),
            BackendKind::Splice => then.with(Splice::new(files, block)?),
            BackendKind::Fallocate => then.with(Fallocate::new(files)?),
            BackendKind::Truncate => then.with(Truncate::new(files)?),
            BackendKind::MoveExtents => {
                let (donor, each_time) = self.targets.donor().ok_or(io::ErrorKind::NotFound)?;
                then.with(MoveExtents::new(files, donor, each_time)?)
            }
            BackendKind::Threads => then.with(Threads::new(files, depth, block)?),
        })
    }

    /// What drops the page cache of these files before operations that start over, where the task says so.
    fn invalidating(
        &self,
        files: Files,
        worker: u32,
    ) -> Option<impl FnOnce(Box<dyn Backend>) -> InParts<'static>> {
        let round = drops_each_round(&self.task).then(|| iolite_workload::round(&self.task, worker))?;
        let begins = PartStart::DropCache(files);
        Some(move |backend| InParts::new(backend, begins, (u64::MAX, round.max(1))))
    }

    /// A worker's back end on these files, which drops their page cache where the task says so.
    fn boxed<B: Backend + 'static>(&self, backend: B, files: Files, worker: u32) -> Box<dyn Backend> {
        match self.invalidating(files, worker) {
            None => Box::new(backend),
            Some(around) => Box::new(around(Box::new(backend))),
        }
    }

    /// Which operations on a file wait for those of other workers.
    fn lock(&self) -> FileLock {
        match &self.task.target {
            Target::Files(target) => target.lock,
            _ => FileLock::None,
        }
    }

    /// Whether operations wait for others of the worker that overlap them.
    fn is_disjoint(&self, depth: u32) -> bool {
        self.task.batch.disjoint && depth > 1
    }

    fn map_usage(&self) -> mapping::Use {
        // A fault would read the neighbours too, which only this order is going to ask for.
        let random = !matches!(self.task.access, Access::Sequential);
        mapping::Use { write: self.task.mix.writes(), random, huge: self.task.placement.huge_mapping }
    }

    fn null(&self, block: usize) -> Result<Null, EngineError> {
        Null::new(block).map_err(|source| self.no_backend(source))
    }

    pub(crate) fn no_backend(&self, source: io::Error) -> EngineError {
        EngineError::Backend { backend: self.task.backend, source }
    }

    /// The operations of a worker.
    fn stream(&self, worker: u32) -> Result<OpStream, EngineError> {
        let task = &self.task;
        OpStream::new(task, worker).ok_or_else(|| EngineError::TooSmall {
            task: task.name.clone(),
            size: task.target.size(),
            workers: task.workers,
            block: task.largest(),
        })
    }

    /// What a worker is to do.
    pub(crate) fn plan(&self, worker: u32) -> Result<Plan, EngineError> {
        let task = &self.task;
        let stream = self.stream(worker)?;
        let refused = |error: iolite_workload::WorkloadError| EngineError::Task {
            task: task.name.clone(),
            reason: error.to_string(),
        };
        let fill = match () {
            () if !task.mix.writes() || !task.backend.moves_data() => Fill::Never,
            () if task.sizes.is_some() || task.verify.is_some() => Fill::Drawn,
            () => Fill::Ahead,
        };
        let filler = Filler::of(task, worker).map_err(refused)?;
        Ok(Plan {
            stream,
            base: self.targets.base(),
            arrivals: Arrivals::new(task, worker),
            // With several in flight, the buffer of a write is not the one that was read into.
            writes_back: matches!(task.mix, Mix::ReadThenWrite(_))
                && filler.scrambles()
                && task.depth_of(worker) == 1,
            filler,
            fill,
            filled: false,
            depth: task.depth_of(worker),
            batch: Batching::of(task.batch),
            share: Share::of(task, worker),
            largest: task.largest().0 as u32,
            sync: task.durability.sync,
            also: task.durability.also.iter().map(|rule| (*rule, rule.every)).collect(),
            end_sync: task.durability.end_sync,
            linked: matches!(task.backend, BackendKind::IoUring(options) if options.linked_sync),
            errors: task.errors.clone(),
            until_full: task.stop.full,
            priorities: Priorities::of(task, worker).map(Box::new),
            flow: self.flow.clone().zip(task.flow).map(|(group, flow)| FlowSeat::new(group, flow)),
            zones: self.zones.as_ref().map(|zones| Box::new(zones.seat(task))),
        })
    }

    /// Waits for the barrier and runs the loop: compiled three times per back end. What verifies can bear the few tests of
    /// whether it is also watched.
    pub(crate) fn measure<B: Backend>(
        &self,
        mut backend: B,
        mut plan: Plan,
        start: WorkerStart,
    ) -> Result<Finished, EngineError> {
        let backend = &mut backend;
        plan.fill_all(backend);
        let short = |source| self.no_backend(source);
        let memory = LoopMemory::new(&plan).map_err(short)?;
        let watcher =
            || Watcher::new(&self.task, &kinds(&self.task), &self.targets, plan.depth).map_err(short);
        let Some(verification) = &self.verification else {
            if Watcher::is_needed(&self.task) {
                let watcher = watcher()?;
                let done = start
                    .ready()
                    .map(|lane| Loop::new(backend, (plan, memory), Unchecked, watcher, lane).run());
                return Ok(done);
            }
            let done = start
                .ready()
                .map(|lane| Loop::new(backend, (plan, memory), Unchecked, Unwatched, lane).run());
            return Ok(done);
        };
        let watcher = watcher()?;
        let part = plan.stream.part();
        let part = part.start + plan.base..part.end + plan.base;
        let checker: Checker = verification.checker(&self.subject(), start.worker(), part, plan.depth)?;
        Ok(start.ready().map(|lane| Loop::new(backend, (plan, memory), checker, watcher, lane).run()))
    }
}

/// The kinds of operation that the task will record.
fn kinds(task: &FileTask) -> Vec<OpKind> {
    let mut kinds = Vec::new();
    kinds.extend(task.mix.reads().then_some(OpKind::Read));
    kinds.extend(task.mix.writes().then_some(OpKind::Write));
    kinds.extend(task.mix.trims().then_some(OpKind::Trim));
    let traced = matches!(task.mix, Mix::Traced(TracedKinds { syncs: true, .. }));
    let syncs = task.durability.sync.is_some() || task.durability.end_sync.is_some() || traced;
    kinds.extend(syncs.then_some(OpKind::Sync));
    kinds.extend(task.durability.commits().then_some(OpKind::Commit));
    kinds
}
