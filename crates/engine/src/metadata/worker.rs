//! One worker of a phase of operations on names.

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;

use iolite_model::{ErrorClass, MetadataOperation, MetadataTask, OpKind, Outstanding};
use iolite_stats::Completion;
use iolite_sys::directory::{self, Directory};
use iolite_workers::{WorkerEnd, WorkerLane};
use iolite_workload::{Purpose, below, generator};

use super::names::Names;
use super::turns::{Turns, limit};
use crate::errors::Errors;
use crate::guard::tree::Part;

/// Most bytes that are written at once.
const LARGEST_WRITE: u64 = 1 << 20;

/// Where the contents of files differ from each other: file systems and devices compare blocks of this size, in bytes.
const BLOCK: usize = 4096;

/// A worker, prepared. Nothing allocates from here on, except for the first error of each class.
#[derive(Debug)]
pub(super) struct Worker {
    number: u32,
    operation: MetadataOperation,
    kind: OpKind,
    sync: bool,
    keep_existing: bool,
    reports: bool,
    /// Bytes of a created file.
    size: u64,
    contents: Vec<u8>,
    root: Arc<Directory>,
    names: Names,
    turns: Turns,
    /// Operations left.
    left: u64,
    errors: Errors,
}

impl Worker {
    pub(super) fn new(task: &MetadataTask, number: u32, root: Arc<Directory>) -> Worker {
        let creates = task.operation == MetadataOperation::Create;
        let size = if creates { task.size.0 } else { 0 };
        let mut dice = generator(task.seed, number, Purpose::Data);
        Worker {
            number,
            operation: task.operation,
            kind: task.operation.kind(),
            sync: task.sync,
            keep_existing: task.keep_existing,
            reports: task.report_operations,
            size,
            contents: (0..size.min(LARGEST_WRITE)).map(|_| below(&mut dice, 256) as u8).collect(),
            root,
            names: Names::new(task),
            turns: Turns::new(task, number),
            left: limit(task, number),
            errors: Errors::default(),
        }
    }

    /// Does its operations until the time is over or all have had their turn.
    pub(super) fn run(mut self, mut lane: WorkerLane) -> (WorkerLane, WorkerEnd) {
        let mut now = lane.now();
        while self.left > 0 && !lane.is_over(now) {
            now = self.turn(&mut lane);
        }
        // There is one operation at a time: the last one was in flight when the time was over.
        let at_end = u64::from(now > lane.end());
        lane.close(now);
        let outstanding = Outstanding { at_end, ..Outstanding::default() };
        (lane, WorkerEnd { outstanding, errors: self.errors.into_tallies(), ..WorkerEnd::default() })
    }

    /// Does one operation and records how long it took; returns the instant after.
    #[inline]
    fn turn(&mut self, lane: &mut WorkerLane) -> u64 {
        let file = self.turns.next_file();
        self.left -= 1;
        self.names.set(file);
        self.stamp(file);
        let (kind, issued) = (self.kind, lane.now());
        lane.enter(kind, file, issued);
        let result = self.operate();
        let completed = lane.now();
        lane.leave();
        match result {
            Ok(()) => {
                let op = Completion { kind, intended: issued, issued, completed, bytes: self.size };
                lane.record(op);
                if self.reports {
                    lane.report_completion(op);
                }
            }
            Err(error) => {
                lane.record_error(kind, completed);
                self.note(file, &error);
            }
        }
        completed
    }

    /// Makes the contents this file's own, so that nothing beneath stores equal blocks once.
    fn stamp(&mut self, file: u64) {
        for block in self.contents.chunks_mut(BLOCK) {
            if let Some(place) = block.first_chunk_mut() {
                *place = file.to_le_bytes();
            }
        }
    }

    #[inline]
    fn operate(&self) -> io::Result<()> {
        let path = self.names.path();
        match self.operation {
            MetadataOperation::Create => self.create(path),
            MetadataOperation::Stat | MetadataOperation::StatDirectory => self.root.stat(path),
            MetadataOperation::Open => directory::close(self.root.open_file(path)?),
            MetadataOperation::Unlink => self.root.unlink(path).and_then(|()| self.settle()),
            MetadataOperation::Mkdir => {
                match self.root.make_directory(path) {
                    Err(error) if self.keep_existing && error.kind() == io::ErrorKind::AlreadyExists => {}
                    made => made?,
                }
                // What failed does not count, and is not there to be found.
                self.settle().inspect_err(|_| drop(self.root.remove_directory(path)))
            }
            MetadataOperation::Rmdir => self.root.remove_directory(path).and_then(|()| self.settle()),
        }
    }

    fn create(&self, path: &str) -> io::Result<()> {
        if self.keep_existing {
            return self.create_missing(path);
        }
        let file = self.root.make_file(path)?;
        let made = self.write(file).and_then(|()| self.settle());
        // A file without its bytes does not count, and leaves its space to the next.
        made.inspect_err(|_| drop(self.root.unlink(path)))
    }

    /// Creates a file, unless there is one that holds something.
    fn create_missing(&self, path: &str) -> io::Result<()> {
        let (file, length) = self.root.make_or_open_file(path)?;
        if length == 0 {
            self.write(file)?
        } else {
            directory::close(file)?
        }
        self.settle()
    }

    /// Gives a file its bytes, and closes it.
    fn write(&self, mut file: File) -> io::Result<()> {
        let mut left = self.size;
        while left > 0 {
            let length = self.contents.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            file.write_all(&self.contents[..length])?;
            left -= length as u64;
        }
        if self.sync {
            file.sync_all()?;
        }
        directory::close(file)
    }

    /// With `sync`, makes the change of names durable: the directory is opened for it, as programs do that keep none open.
    fn settle(&self) -> io::Result<()> {
        if self.sync { self.root.open_directory(self.names.directory())?.sync() } else { Ok(()) }
    }

    #[cold]
    fn note(&mut self, file: u64, error: &io::Error) {
        let class = error.raw_os_error().map_or(ErrorClass::Other, ErrorClass::of);
        let (kind, number, names) = (self.kind, self.number, &self.names);
        self.errors.note(kind, class, file, || {
            let part = Part::Worker.name(number.into());
            (format!("{} {part}/{}: {error}", kind.name(), names.path()), error.raw_os_error())
        });
    }
}
