//! Workers as threads of this process.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Duration;

use iolite_model::{Nanos, OpKind, Usage};
use iolite_stats::{AmountRamp, Collector, Feed, recorder};
use iolite_sys::board::Board;
use iolite_sys::usage;

use crate::barrier::Barrier;
use crate::control::Control;
use crate::error::{WorkError, WorkersError};
use crate::group::WorkerGroup;
use crate::lane::{Finished, WorkerLane, WorkerStart};
use crate::transport::{Sender, Transport, WorkerEnd, WorkerMessage, WorkerReport};

/// As [`Transport::settle`]: two collections, since workers hand over at an interval's end.
const SETTLE: Duration = Duration::from_millis(100);

/// Max messages that workers have sent and the conductor has not received: chunks of operations mostly, of some 64 KiB each. A
/// worker that finds no room waits.
const UNHEARD: usize = 256;

/// A group's workers as threads, each with a recorder whose snapshots the collector takes without locks.
pub(crate) struct Threads<'a, F> {
    group: &'a WorkerGroup,
    /// Of this phase.
    control: Control,
    /// Makes the work of the worker of this number.
    work: F,
    barrier: Arc<Barrier>,
    /// What ends the ramp, where that is not a time.
    ramp: Option<Arc<AmountRamp>>,
    feeds: Vec<Feed>,
    /// By worker: what it is doing, should it never come back.
    boards: Vec<Arc<Board>>,
    messages: (Sender, Receiver<(usize, WorkerMessage)>),
}

impl<'a, F> Threads<'a, F> {
    pub(crate) fn new(group: &'a WorkerGroup, control: Control, work: F) -> Threads<'a, F> {
        let (sender, receiver) = sync_channel((2 * group.workers as usize).clamp(4, UNHEARD));
        let messages = (Sender::to_this_thread(sender), receiver);
        let (ramp, feeds, boards) = (group.amount_ramp(), Vec::new(), Vec::new());
        Threads { group, control, work, barrier: Arc::default(), ramp, feeds, boards, messages }
    }

    /// A worker's side of the phase: its place at the barrier.
    fn seat(&mut self, index: usize) -> WorkerStart {
        let (group, timetable) = (self.group, self.group.timetable());
        let (mut recorder, feed) = recorder(timetable, &group.kinds);
        if group.stop.in_flight {
            recorder.stay_open();
        }
        if let Some(ramp) = &self.ramp {
            recorder.ramp_until(ramp.clone());
        }
        let board = Arc::new(Board::default());
        self.feeds.push(feed);
        self.boards.push(board.clone());
        let lane = WorkerLane {
            phase: group.phase,
            index,
            worker: group.first + index as u32,
            clock: group.clock,
            origin: 0,
            stood_still: 0,
            end: timetable.end,
            closed: None,
            control: self.control.clone(),
            recorder,
            board,
            used: None,
            in_flight: group.stop.in_flight,
            ramping: !group.ramp.is_none(),
            sender: self.messages.0.clone(),
            unreported: Vec::new(),
        };
        WorkerStart { barrier: self.barrier.clone(), lane }
    }
}

impl<F, W, E> Transport for Threads<'_, F>
where
    F: FnMut(u32) -> W,
    W: FnOnce(WorkerStart) -> Result<Finished, E> + Send + 'static,
    E: Into<WorkError> + 'static,
{
    fn start(&mut self, worker: usize) -> Result<(), WorkersError> {
        let start = self.seat(worker);
        let (work, farewell) = ((self.work)(start.worker()), Farewell(worker, self.messages.0.clone()));
        let thread = thread::Builder::new().name(format!("worker {worker}"));
        let spawned = thread.spawn(move || {
            let message = match work(start) {
                Ok(Some(finished)) => WorkerMessage::Ended(Box::new(report(finished))),
                Ok(None) => return,
                Err(error) => WorkerMessage::Failed(error.into()),
            };
            // The conductor may have given up on this worker; then nobody listens.
            let _ = farewell.1.send((worker, message));
        });
        spawned.map(drop).map_err(WorkersError::Start)
    }

    fn receive(&mut self, patience: Duration) -> Option<(usize, WorkerMessage)> {
        self.messages.1.recv_timeout(patience).ok()
    }

    fn release(&mut self, origin: Option<u64>) {
        self.barrier.decide(origin);
    }

    fn collector(&mut self) -> Collector {
        Collector::new(self.group.phase, std::mem::take(&mut self.feeds))
    }

    fn settle(&self) -> Duration {
        SETTLE
    }

    fn span(&self) -> (u64, u64) {
        let timetable = self.group.timetable();
        match &self.ramp {
            None => (timetable.ramp_end, timetable.end),
            Some(ramp) => (ramp.ended().unwrap_or(u64::MAX), ramp.phase_end()),
        }
    }

    fn stuck_in(&self, worker: usize) -> Option<(OpKind, u64, u64)> {
        let (kind, offset, issued) = self.boards[worker].look()?;
        Some((OpKind::from_code(kind)?, offset, issued))
    }
}

/// Says that a thread has ended, also where it panics.
struct Farewell(usize, Sender);

impl Drop for Farewell {
    fn drop(&mut self) {
        let _ = self.1.send((self.0, WorkerMessage::Gone));
    }
}

fn report((lane, mut end): (WorkerLane, WorkerEnd)) -> WorkerReport {
    let WorkerLane { closed, recorder, used, ramping, .. } = lane;
    // One that was ended in its ramp has measured nothing.
    let used = used.filter(|_| !ramping);
    end.usage.add(used.map_or_else(Usage::default, used_since));
    WorkerReport { end, closed, left: recorder.finish() }
}

/// What the calling thread has used of the machine since `before`.
fn used_since(before: usage::ThreadUsage) -> Usage {
    usage::of_this_thread().map(|now| usage_of(now.since(before))).unwrap_or_default()
}

/// What a thread has used, as it is reported.
pub fn usage_of(used: usage::ThreadUsage) -> Usage {
    Usage {
        user: Nanos(used.user.as_nanos() as u64),
        system: Nanos(used.system.as_nanos() as u64),
        context_switches: used.context_switches,
        major_faults: used.major_faults,
        minor_faults: used.minor_faults,
        busiest: Nanos((used.user + used.system).as_nanos() as u64),
        longest_run_delay: Nanos(used.run_delay.as_nanos() as u64),
    }
}
