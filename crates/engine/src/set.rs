//! Tasks that start together.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;

use iolite_model::{Bytes, Ending, Event, JobTask, OpKind, Sink, Target};
use iolite_sys::clock::Clock;
use iolite_sys::descriptors;
use iolite_workers::{
    Control, Outcome, SharedSink, StartLine, StartTogether, WorkerGroup, WorkersError, conduct_together,
};

use crate::error::EngineError;
use crate::flow::FlowGroup;
use crate::guard::Scratch;
use crate::metadata::MetadataPhase;
use crate::phase::{Phase, Ran};
use crate::run::run_phase;
use crate::target::{NamedRange, named, writes_to};
use crate::turns::{Turn, Turns};
use crate::zoned::ZonesOfTask;

/// Checks a task as far as that is possible without touching anything.
///
/// # Errors
/// What is invalid, with its remedy.
pub fn validate_task(task: &JobTask) -> Result<(), EngineError> {
    match task {
        JobTask::Io(task) => crate::validate::validate(task),
        JobTask::Metadata(task) => crate::metadata::validate::validate(task),
    }
}

/// Tasks that have been measured, and what is left to verify.
pub struct Measured(Vec<Ran>);

impl Measured {
    /// Bytes that were read to verify what was written while it was measured.
    pub fn read_back(&self) -> Bytes {
        let of = |ran: &Ran| ran.outcome.read_back.as_ref().map_or(0, |totals| totals.bytes(OpKind::Read));
        Bytes(self.0.iter().map(of).sum())
    }

    /// Verifies what is left, now that nothing is measured any more; returns the outcomes in the order of the tasks.
    pub fn verify(self) -> Vec<Outcome> {
        self.0.into_iter().map(Ran::verify).collect()
    }
}

/// Runs tasks that start at the same instant (each after its own delay), as phases from `first` on, until all have ended. One
/// that waits for others of them starts when these have ended, and not at all where one of these has not completed.
///
/// # Errors
/// One of them is invalid or could not be made ready: nothing was measured.
pub fn run_set(
    tasks: &[JobTask],
    first: u32,
    scratch: &mut Scratch,
    clock: Clock,
    control: &Control,
    sink: &mut dyn Sink,
) -> Result<Measured, EngineError> {
    refuse_contested(tasks)?;
    let turns = Turns::of(tasks)?;
    let mut members = Vec::with_capacity(tasks.len());
    // Once for all of them: what is held is examined each time.
    scratch.admitted().begin_set();
    for (number, task) in (first..).zip(tasks) {
        members.push(Member::prepare(task, number, scratch, control)?);
    }
    join_flows(&mut members);
    note_shared_files(&mut members);
    note_descriptors(&mut members);
    join_zones(&mut members)?;
    scratch.warning().into_iter().for_each(|warning| sink.event(&Event::Warning(warning)));
    if let [member] = members.as_slice() {
        return Ok(Measured(vec![member.run(None, clock, control, sink)?]));
    }
    run_together(&members, first, &turns, clock, control, sink)
}

/// Makes, and lays out, the files that a task works on, and does nothing with them.
///
/// # Errors
/// The task is invalid, or its files can't be made.
pub fn make_ready(task: &JobTask, scratch: &mut Scratch, control: &Control) -> Result<(), EngineError> {
    scratch.admitted().begin_set();
    Member::prepare(task, 0, scratch, control).map(drop)
}

/// Tasks whose flow has the same group keep their ratio with each other.
fn join_flows(members: &mut [Member]) {
    let mut groups: BTreeMap<u32, Arc<FlowGroup>> = BTreeMap::new();
    for member in members {
        if let Member::Io(phase) = member
            && let Some(flow) = phase.task.flow
        {
            phase.flow = Some(groups.entry(flow.group).or_default().clone());
        }
    }
}

/// Tasks that use the same files leave each other what they have open.
fn note_shared_files(members: &mut [Member]) {
    let mut phases: Vec<&mut Phase> = members
        .iter_mut()
        .filter_map(|member| if let Member::Io(phase) = member { Some(&mut **phase) } else { None })
        .collect();
    let renews = |target: &Target| matches!(target, Target::Files(target) if target.parts_anew > 1);
    if !phases.iter().any(|phase| renews(&phase.task.target)) {
        return;
    }
    let of = |phase: &Phase| named(&phase.task.target).into_iter().map(|file| file.path).collect();
    let paths: Vec<BTreeSet<PathBuf>> = phases.iter().map(|phase| of(phase)).collect();
    let mut users: BTreeMap<&PathBuf, u32> = BTreeMap::new();
    paths.iter().flatten().for_each(|path| *users.entry(path).or_default() += 1);
    for (phase, paths) in phases.iter_mut().zip(&paths) {
        phase.shares_files = paths.iter().any(|path| users[path] > 1);
    }
}

/// Where one task has too many files for a table of descriptors of its workers' own, no worker has one: they are measured alike.
fn note_descriptors(members: &mut [Member]) {
    let shares =
        members.iter().any(|member| matches!(member, Member::Io(phase) if phase.has_high_descriptors()));
    for member in members {
        if let Member::Io(phase) = member {
            phase.shares_descriptors = shares;
        }
    }
}

/// Tasks on the same zoned device share its zones.
fn join_zones(members: &mut [Member]) -> Result<(), EngineError> {
    ZonesOfTask::share(members.iter_mut().filter_map(|member| {
        let Member::Io(phase) = member else { return None };
        let Phase { task, zones, .. } = &mut **phase;
        Some((&*task, zones.as_mut()?))
    }))
}

fn run_together(
    members: &[Member],
    first: u32,
    turns: &Turns,
    clock: Clock,
    control: &Control,
    sink: &mut dyn Sink,
) -> Result<Measured, EngineError> {
    let line = StartTogether::default();
    let sink = Mutex::new(sink);
    let places = (first..).zip(members).zip(turns.each()).enumerate();
    let (joint, apart): (Vec<_>, Vec<_>) =
        places.partition(|(_, ((_, member), turn))| member.is_conducted_with_others() && !turn.waits());
    let waiting = apart.iter().filter(|(_, (_, turn))| turn.waits()).count();
    let parties = apart.len() - waiting + usize::from(!joint.is_empty());
    let mut ran: Vec<Option<Result<Ran, EngineError>>> = members.iter().map(|_| None).collect();
    thread::scope(|scope| {
        let (line, sink) = (&line, &sink);
        let mut threads = Vec::with_capacity(apart.len() + 1);
        for (index, ((number, member), turn)) in apart {
            let run = move || {
                let mut sink = SharedSink(sink);
                if turn.waits() {
                    return vec![(index, member.run_in_turn(turn, number, clock, control, &mut sink))];
                }
                let ran = member.run(Some(line), clock, control, &mut sink);
                turn.over(ran.as_ref().is_ok_and(completed));
                vec![(index, ran)]
            };
            threads.push(conductor().spawn_scoped(scope, run));
        }
        if !joint.is_empty() {
            let run = move || run_joint(joint, line, clock, control, &mut SharedSink(sink));
            threads.push(conductor().spawn_scoped(scope, run));
        }
        if threads.iter().any(Result::is_err) {
            turns.call_off();
            line.barrier().decide(None);
        } else {
            let all = line.barrier().await_parties(parties as u32, &|| control.interrupted());
            line.barrier().decide(all.then(|| clock.now()));
        }
        for thread in threads {
            let thread = thread.map_err(|error| EngineError::Workers(WorkersError::Start(error)))?;
            let died = |_| EngineError::worker("a conductor has failed, which is a bug");
            for (index, result) in thread.join().map_err(died)? {
                ran[index] = Some(result);
            }
        }
        ran.into_iter().flatten().collect::<Result<_, _>>().map(Measured)
    })
}

fn conductor() -> thread::Builder {
    thread::Builder::new().name("conductor".into())
}

/// A task's place in its set, its number as a phase, and its turn.
type SetMember<'a> = (usize, ((u32, &'a Member), Turn<'a>));

/// Runs tasks whose workers are threads of this process, by one thread that conducts all of them.
fn run_joint(
    places: Vec<SetMember<'_>>,
    line: &dyn StartLine,
    clock: Clock,
    control: &Control,
    sink: &mut dyn Sink,
) -> Vec<(usize, Result<Ran, EngineError>)> {
    let (mut turns, mut phases) = (Vec::with_capacity(places.len()), Vec::with_capacity(places.len()));
    for (index, ((_, member), turn)) in places {
        if let Member::Io(phase) = member {
            turns.push(Some(turn));
            phases.push((index, &**phase));
        }
    }
    let discard_states = || phases.iter().for_each(|(_, phase)| phase.discard_state());
    for (index, phase) in &phases {
        if let Err(error) = phase.begin_state() {
            line.leave();
            discard_states();
            return vec![(*index, Err(error))];
        }
    }
    let group = |(_, phase): &(usize, &Phase)| phase.group(0, phase.task.workers, clock, control);
    let groups: Vec<WorkerGroup> = phases.iter().map(group).collect();
    let mut conducted = Vec::with_capacity(groups.len());
    for (group, &(_, phase)) in groups.iter().zip(&phases) {
        conducted.push(group.with_threads(move |worker| {
            let phase = phase.for_a_worker();
            move |start| phase.work(worker, start)
        }));
    }
    let outcomes = conduct_together(conducted, line, sink, &mut |place, outcome| {
        descriptors::close_left_behind();
        if let Some(turn) = turns[place].take() {
            turn.over(outcome.ending == Ending::Completed);
        }
    });
    // Also where none of them has measured.
    descriptors::close_left_behind();
    if outcomes.iter().any(Result::is_err) {
        discard_states();
    }
    let ran = phases.iter().zip(outcomes).map(|(&(index, phase), outcome)| {
        let outcome = phase.ran(outcome);
        (index, outcome.map(|outcome| phase.conclude_on_files(outcome, clock, control)))
    });
    ran.collect()
}

/// Whether a task ended as planned.
fn completed(ran: &Ran) -> bool {
    ran.outcome.ending == Ending::Completed
}

/// Refuses tasks of which one would take what another writes for damage.
fn refuse_contested(tasks: &[JobTask]) -> Result<(), EngineError> {
    let io =
        || tasks.iter().filter_map(|task| if let JobTask::Io(task) = task { Some(&**task) } else { None });
    if io().all(|task| task.verify.is_none()) {
        return Ok(());
    }
    let places: Vec<Vec<NamedRange>> = io().map(|task| NamedRange::all_of(&task.target)).collect();
    let mut written: HashMap<&(bool, PathBuf), Vec<(usize, &NamedRange)>> = HashMap::new();
    for (index, _) in io().enumerate().filter(|(_, task)| writes_to(task)) {
        places[index].iter().for_each(|place| written.entry(place.file()).or_default().push((index, place)));
    }
    for (index, task) in io().enumerate().filter(|(_, task)| task.verify.is_some()) {
        let contested = |place: &NamedRange| {
            let by_others =
                |(writer, other): &(usize, &NamedRange)| *writer != index && place.overlaps(other);
            written.get(place.file()).is_some_and(|writers| writers.iter().any(by_others))
        };
        if places[index].iter().any(contested) {
            let reason = "another task writes to the same target at the same time, which verification would report as damage: \
             verify in a separate task, or use separate targets";
            return Err(EngineError::Task { task: task.name.clone(), reason: reason.into() });
        }
    }
    Ok(())
}

/// A task that is ready to be run.
enum Member {
    Io(Box<Phase>),
    Metadata(Box<MetadataPhase>),
}

impl Member {
    /// Whether one thread can conduct its workers together with those of others.
    fn is_conducted_with_others(&self) -> bool {
        matches!(self, Member::Io(phase) if !phase.task.placement.processes)
    }

    fn prepare(
        task: &JobTask,
        number: u32,
        scratch: &mut Scratch,
        control: &Control,
    ) -> Result<Member, EngineError> {
        match task {
            JobTask::Io(task) => Ok(Member::Io(Box::new(Phase::prepare(task, number, scratch, control)?))),
            JobTask::Metadata(task) => {
                Ok(Member::Metadata(Box::new(MetadataPhase::prepare(task, number, scratch, control)?)))
            }
        }
    }

    fn run(
        &self,
        line: Option<&dyn StartLine>,
        clock: Clock,
        control: &Control,
        sink: &mut dyn Sink,
    ) -> Result<Ran, EngineError> {
        match self {
            Member::Io(phase) => run_phase(phase, line, clock, control, sink),
            Member::Metadata(phase) => {
                let outcome = phase.run(line, clock, control, sink)?;
                Ok(Ran { outcome, verification: None })
            }
        }
    }
}

impl Member {
    /// Waits for its turn and runs. Where it then can't be made ready, that is its ending: others have measured.
    fn run_in_turn(
        &self,
        turn: Turn<'_>,
        number: u32,
        clock: Clock,
        control: &Control,
        sink: &mut dyn Sink,
    ) -> Result<Ran, EngineError> {
        let ended = control.for_phase(number);
        if !turn.wait(&|| ended.over()) {
            control.forget(number);
            turn.over(false);
            return Ok(Ran::nothing(Ending::Interrupted));
        }
        let failed = |error: EngineError| Ran::nothing(Ending::Failed(error.to_string()));
        let ran = self.run(None, clock, control, sink).unwrap_or_else(failed);
        turn.over(completed(&ran));
        Ok(ran)
    }
}
