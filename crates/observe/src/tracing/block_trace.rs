//! A thread that traces the requests of block devices.

use std::io;
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use iolite_model::{BlockRequest, Device};

use super::instance::{TraceError, TraceInstance};
use super::requests::{EVENTS, RequestPairs};

/// Between two looks at the trace, where it is not half full before.
const TICK: Duration = Duration::from_millis(20);

/// How long the thread may take to pass on what has been traced.
const PATIENCE: Duration = Duration::from_secs(10);

/// Passes on each request that these devices complete, until it is dropped.
#[derive(Debug)]
pub struct BlockTrace {
    orders: Option<Sender<Sender<u64>>>,
    thread: Option<JoinHandle<()>>,
}

impl BlockTrace {
    /// Begins to trace.
    ///
    /// # Errors
    /// [`TraceError`].
    pub fn start(
        devices: &[Device],
        each: impl FnMut(BlockRequest) + Send + 'static,
    ) -> Result<BlockTrace, TraceError> {
        // The kernel's own numbers: 20 bits for the minor one.
        let number = |device: &Device| format!("dev == {}", (device.number.0 << 20) | device.number.1);
        let filter = devices.iter().map(number).collect::<Vec<_>>().join(" || ");
        let instance = TraceInstance::start(&EVENTS, &filter)?;
        let (orders, asked) = mpsc::channel();
        let spawned = thread::Builder::new().name("block trace".into()).spawn(move || {
            // Without a trace that can be read there is nothing more to pass on; whoever asks sees that nobody answers.
            let _ = pass_on(instance, &asked, each);
        });
        match spawned {
            Ok(thread) => Ok(BlockTrace { orders: Some(orders), thread: Some(thread) }),
            Err(source) => Err(TraceError::NoThread(source)),
        }
    }

    /// Returns when all requests that have been completed by now have been passed on: the number of events lost so far; `None`
    /// where the trace can't be read.
    pub fn catch_up(&self) -> Option<u64> {
        let (answer, answered) = mpsc::channel();
        self.orders.as_ref()?.send(answer).ok()?;
        answered.recv_timeout(PATIENCE).ok()
    }
}

fn pass_on(
    mut instance: TraceInstance,
    asked: &Receiver<Sender<u64>>,
    mut each: impl FnMut(BlockRequest),
) -> io::Result<()> {
    let mut pairs = RequestPairs::default();
    loop {
        let order = asked.try_recv();
        if matches!(order, Err(TryRecvError::Disconnected)) {
            return Ok(());
        }
        if order.is_err() {
            instance.wait(TICK);
        }
        // A single look may not see all.
        while instance.read(|line| pairs.line(line).into_iter().for_each(&mut each))? && order.is_ok() {}
        if let Ok(answer) = order {
            // Who has stopped waiting needs no answer.
            let _ = answer.send(pairs.lost);
        }
    }
}

impl Drop for BlockTrace {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            // A panic of it has been printed.
            let _ = thread.join();
        }
    }
}
