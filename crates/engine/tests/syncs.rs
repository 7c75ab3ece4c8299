//! Syncs after so many writes, by several rules at once.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

use std::path::{Path, PathBuf};

use iolite_engine::{Control, EngineError, Outcome, Scratch, run_file_task};
use iolite_model::{
    Access, BackendKind, Bytes, Event, ExistingTarget, FileTask, Mix, OpKind, Overwrite, RunId, Sink, Stop,
    SyncMethod, SyncRule, Target, WriteDurability,
};
use iolite_sys::clock::Clock;

const BLOCK: u64 = 4096;
const BLOCKS: u64 = 64;

struct Ignored;

impl Sink for Ignored {
    fn event(&mut self, _: &Event) {}
}

struct Fixture {
    dir: tempfile::TempDir,
    scratch: Scratch,
}

impl Fixture {
    fn new() -> Fixture {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let scratch = Scratch::create(dir.path(), &RunId("test".into())).unwrap();
        Fixture { dir, scratch }
    }

    fn run(&mut self, task: &FileTask) -> Result<Outcome, EngineError> {
        run_file_task(task, 0, &mut self.scratch, Clock::best(), &Control::default(), &mut Ignored)
    }

    fn existing(&self) -> PathBuf {
        let path = self.dir.path().join("existing");
        std::fs::write(&path, vec![0; (BLOCKS * BLOCK) as usize]).unwrap();
        path
    }
}

/// One worker that writes each block once.
fn writes(path: &Path, backend: BackendKind) -> FileTask {
    let (path, offset, size) = (path.to_owned(), Bytes(0), Bytes(0));
    FileTask {
        name: "test".into(),
        target: Target::Existing(ExistingTarget { path, offset, size, overwrite: Overwrite::Anything }),
        backend,
        mix: Mix::Write,
        access: Access::Covering,
        stop: Stop { loops: Some(1), ..Stop::default() },
        ..FileTask::default()
    }
}

/// Of syncs that are due after the same write one takes place, which is a commit if it is for one of them.
#[test]
fn each_write_is_a_commit_whichever_of_the_rules_asks_for_it() {
    let rules = |first, others: &[SyncRule]| WriteDurability {
        sync: Some(first),
        also: others.to_vec(),
        ..WriteDurability::default()
    };
    let fsync = |every| SyncRule { every, method: SyncMethod::Fsync };
    for durability in [
        rules(fsync(2), &[SyncRule::fdatasync(1)]),
        rules(SyncRule::fdatasync(1), &[fsync(2)]),
        rules(fsync(3), &[SyncRule { every: 2, method: SyncMethod::FileRange }, SyncRule::fdatasync(1)]),
    ] {
        let mut place = Fixture::new();
        let path = place.existing();
        let mut task = writes(&path, BackendKind::Sync);
        task.durability = durability;
        let outcome = place.run(&task).unwrap();
        assert_eq!(outcome.errors, []);
        for kind in [OpKind::Write, OpKind::Sync, OpKind::Commit] {
            assert_eq!(outcome.totals.operations(kind), BLOCKS, "{kind:?} {:?}", task.durability);
        }
    }
}

/// Of syncs that are due after the same write one takes place.
#[test]
fn several_kinds_of_sync_follow_their_own_numbers_of_writes() {
    for backend in [BackendKind::Sync, BackendKind::Libaio] {
        let mut place = Fixture::new();
        let path = place.existing();
        let mut task = writes(&path, backend);
        task.durability.sync = Some(SyncRule { every: 8, method: SyncMethod::Fsync });
        task.durability.also = vec![SyncRule { every: 3, method: SyncMethod::Fdatasync }];
        let outcome = place.run(&task).unwrap();
        assert_eq!(outcome.errors, []);
        let both = BLOCKS / 8 + BLOCKS / 3 - BLOCKS / 24;
        assert_eq!(outcome.totals.operations(OpKind::Sync), both, "{backend:?}");
    }
    let mut place = Fixture::new();
    let path = place.existing();
    let mut task = writes(&path, BackendKind::Sync);
    task.durability.also = vec![SyncRule::fdatasync(3)];
    assert!(place.run(&task).unwrap_err().to_string().contains("durability.sync"));
}
