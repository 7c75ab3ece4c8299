//! Files used as if they had zones, and a real zoned device.

use std::collections::BTreeMap;
use std::path::Path;

use iolite_engine::{Control, EngineError, Outcome, Scratch, run_set};
use iolite_model::{
    Access, BackendKind, Bytes, Event, FileTask, FilesTarget, JobTask, LayOut, Mix, NamedFile, OpKind,
    Overwrite, RunId, Sink, Start, Stop, Target, Watch, Zoned,
};
use iolite_sys::clock::Clock;

use super::device::{BLOCK, CAPACITY, ZONE, ZONES};
use super::{blocks, succeeds, task};

/// Offsets of operations by kind, as they come back.
#[derive(Debug, Default)]
struct Offsets(BTreeMap<OpKind, Vec<u64>>);

impl Sink for Offsets {
    fn event(&mut self, event: &Event) {
        if let Event::Operations(log) = event {
            for operation in &log.operations {
                self.0.entry(operation.kind).or_default().push(operation.offset);
            }
        }
    }
}

fn on_file(path: &Path, mix: Mix, access: Access, stop: Stop, zoned: Zoned) -> FileTask {
    let file = NamedFile { path: path.to_owned(), offset: Bytes(0), size: Bytes(ZONES * ZONE) };
    FileTask {
        target: Target::Files(FilesTarget {
            overwrite: Overwrite::Anything,
            lay_out: LayOut::Needed,
            ..FilesTarget::of(vec![file])
        }),
        backend: BackendKind::Sync,
        start: Start { together: true, ..Start::default() },
        watch: Watch { detail: false, operations: true },
        ..task(mix, access, stop, zoned)
    }
}

/// Runs tasks that start together.
fn together(tasks: Vec<FileTask>) -> Result<(Vec<Outcome>, Offsets), EngineError> {
    let elsewhere = tempfile::tempdir().unwrap();
    let mut scratch = Scratch::create(elsewhere.path(), &RunId("test".into())).unwrap();
    let tasks: Vec<JobTask> = tasks.into_iter().map(|task| JobTask::Io(Box::new(task))).collect();
    let mut offsets = Offsets::default();
    let measured = run_set(&tasks, 0, &mut scratch, Clock::best(), &Control::default(), &mut offsets)?;
    Ok((measured.verify(), offsets))
}

#[test]
fn tasks_on_the_same_file_share_its_zones() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("zones");
    let zoned = Zoned { size: Bytes(ZONE), capacity: Bytes(CAPACITY), ..Zoned::default() };
    let writer = || on_file(&path, Mix::Write, Access::Random, blocks(12), zoned);
    let (outcomes, offsets) = together(vec![writer(), writer()]).unwrap();
    outcomes.iter().for_each(succeeds);
    // No zone is full: none is written twice, and each from its start.
    let mut written = offsets.0[&OpKind::Write].clone();
    written.sort_unstable();
    assert_eq!(written.len(), 24);
    assert!(written.windows(2).all(|pair| pair[0] != pair[1]));
    for zone in 0..ZONES {
        let of_zone: Vec<u64> = written.iter().filter(|at| *at / ZONE == zone).map(|at| at % ZONE).collect();
        let expected: Vec<u64> = (0..of_zone.len() as u64).map(|block| block * BLOCK).collect();
        assert_eq!(of_zone, expected, "zone {zone}");
        assert!(of_zone.len() as u64 <= CAPACITY / BLOCK);
    }
    // As with fio, the zones of a file are empty at the start, whatever it holds; trims are for all of them.
    let once = Stop { loops: Some(1), ..Stop::default() };
    let (outcomes, offsets) =
        together(vec![on_file(&path, Mix::Read, Access::Sequential, once, zoned)]).unwrap();
    outcomes.iter().for_each(succeeds);
    assert_eq!(offsets.0.get(&OpKind::Read), None);
    let trims = FileTask {
        block: Bytes(ZONE),
        ..on_file(&path, Mix::Trim, Access::Sequential, once, Zoned { capacity: Bytes(0), ..zoned })
    };
    let (outcomes, offsets) = together(vec![trims]).unwrap();
    if outcomes[0].errors.is_empty() {
        assert_eq!(offsets.0[&OpKind::Trim], (0..ZONES).map(|zone| zone * ZONE).collect::<Vec<_>>());
    } else {
        eprintln!("skipped: no holes in files here");
    }

    let other = Zoned { size: Bytes(2 * ZONE), ..zoned };
    let differ = together(vec![writer(), on_file(&path, Mix::Write, Access::Random, blocks(1), other)]);
    assert!(differ.unwrap_err().to_string().contains("other zones"));
    let none = Zoned::default();
    let refused = together(vec![on_file(&path, Mix::Write, Access::Random, blocks(1), none)]);
    assert!(refused.unwrap_err().to_string().contains("specify their size"));
}

/// A zoned block device of this machine that holds nothing, named by the variable IOLITE_TEST_ZONED.
#[test]
fn a_real_zoned_device_takes_all_writes() {
    let Some(path) = std::env::var_os("IOLITE_TEST_ZONED") else {
        eprintln!("skipped: IOLITE_TEST_ZONED names no zoned block device that may be overwritten");
        return;
    };
    let file = NamedFile { path: path.into(), offset: Bytes(0), size: Bytes(0) };
    let target = Target::Files(FilesTarget { overwrite: Overwrite::Anything, ..FilesTarget::of(vec![file]) });
    for (mix, access) in [
        (Mix::Write, Access::Sequential),
        (Mix::ReadPercent(50), Access::Random),
        (Mix::Trim, Access::Random),
    ] {
        let task = FileTask {
            target: target.clone(),
            backend: BackendKind::Libaio,
            direct: true,
            concurrency: 8,
            ..task(mix, access, blocks(2000), Zoned::default())
        };
        let (outcomes, _) = together(vec![task]).unwrap();
        outcomes.iter().for_each(succeeds);
    }
}
