//! What takes long, by several processes at once, each given a piece at a time: so that it can be seen and ended.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};

use super::super::contract::Progress;
use super::Gtm;
use super::files::Catalogue;
use iolite_db::{Error, Result};

/// Subscripts counted, or made, per command.
pub(super) const SUBSCRIPTS_AT_ONCE: u64 = 20_000;
/// More processes than this only wait for each other.
const MAX_PROCESSES: usize = 4;

/// Numbers to go through with one command: `VERB FROM TO`.
#[derive(Debug, Clone)]
pub(super) struct Range {
    pub(super) verb: String,
    pub(super) from: u64,
    pub(super) to: u64,
    /// Numbers per command.
    pub(super) step: u64,
}

/// Processes that work at once.
pub(super) fn processes() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| cores.get()).min(MAX_PROCESSES)
}

/// Goes through all ranges; `progress` gets the count of numbers that are done, each counting `unit`.
pub(super) fn run(gtm: &Gtm, ranges: Vec<Range>, unit: u64, progress: &mut Progress<'_>) -> Result<()> {
    let total: u64 = ranges.iter().map(|range| range.to + 1 - range.from).sum();
    let workers = processes().min(ranges.len());
    let (queue, stop) = (Mutex::new(ranges.into_iter()), AtomicBool::new(false));
    let (send, receive) = mpsc::channel();
    std::thread::scope(|scope| {
        let (mut threads, mut started) = (Vec::new(), Ok(()));
        for _ in 0..workers {
            let (send, queue, stop) = (send.clone(), &queue, &stop);
            let work =
                move || work(gtm, queue, stop, &send).inspect_err(|_| stop.store(true, Ordering::Relaxed));
            match std::thread::Builder::new().spawn_scoped(scope, work) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    stop.store(true, Ordering::Relaxed);
                    started = Err(Error::thread(error));
                    break;
                }
            }
        }
        drop(send);
        let (mut done, mut cancelled) = (0, progress(0, total * unit).is_break());
        stop.fetch_or(cancelled, Ordering::Relaxed);
        for more in receive {
            done += more;
            if !cancelled && progress(done * unit, total * unit).is_break() {
                cancelled = true;
                stop.store(true, Ordering::Relaxed);
            }
        }
        started?;
        for thread in threads {
            let panicked = || unexpected(gtm, "fill", "a thread of ours ended badly");
            thread.join().unwrap_or_else(|_| Err(panicked()))?;
        }
        if cancelled { Err(Error::Cancelled) } else { Ok(()) }
    })
}

fn work(
    gtm: &Gtm,
    queue: &Mutex<std::vec::IntoIter<Range>>,
    stop: &AtomicBool,
    done: &Sender<u64>,
) -> Result<()> {
    let mut process = gtm.process()?;
    loop {
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
        let Some(Range { verb, mut from, to, step }) = next else { return Ok(()) };
        while from <= to {
            if stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            let last = to.min(from + step - 1);
            process.ask("fill", &format!("{verb} {from} {last}"))?;
            // Who hears it goes on until the last of us is gone.
            let _ = done.send(last + 1 - from);
            from = last + 1;
        }
    }
}

/// See [`Adapter::count_subscripts`](super::super::Adapter::count_subscripts).
pub(super) fn count(gtm: &Gtm, catalogue: &Catalogue, progress: &mut Progress<'_>) -> Result<Vec<u64>> {
    let total = catalogue.globals.iter().sum();
    let mut process = gtm.process()?;
    let (mut counts, mut before) = (Vec::new(), 0);
    for global in 1..=catalogue.globals.len() {
        let (mut count, mut after) = (0, String::new());
        loop {
            let answer = process
                .ask("count the subscripts of", &format!("count {global} {after} {SUBSCRIPTS_AT_ONCE}"))?;
            let (more, last) = answer.split_once(' ').unwrap_or((&answer, ""));
            count += more.parse::<u64>().map_err(|_| unexpected(gtm, "count the subscripts of", &answer))?;
            if let ControlFlow::Break(()) = progress(before + count, total) {
                return Err(Error::Cancelled);
            }
            if last.is_empty() {
                break;
            }
            after = last.to_owned();
        }
        counts.push(count);
        before += count;
    }
    Ok(counts)
}

/// What GT.M, or a thread of ours, does not do in any version known.
fn unexpected(gtm: &Gtm, doing: &'static str, what: &str) -> Error {
    Error::Unexpected { doing, place: gtm.directory.display().to_string(), cause: what.to_owned() }
}
