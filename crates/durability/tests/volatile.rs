//! Acknowledged writes on a file system whose truth is known: one that keeps what was synchronised, and nothing else, over a crash;
//! or that only says so.

// Tests may give up, and say what they skip.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

mod fuse;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use fuse::Volatile;
use iolite_durability::check::check;
use iolite_durability::{Limits, Witness, new_key, read_witness, run};
use iolite_model::Bytes;
use iolite_model::acknowledged::{Findings, LossKind, Method, Plan};

const WORKERS: u32 = 3;
const WRITES: u64 = 20;

fn plan(method: Method, directory: &Path) -> Plan {
    Plan {
        run: new_key().unwrap(),
        method,
        block: Bytes(4096),
        workers: WORKERS,
        slots: 8,
        place: directory.display().to_string(),
    }
}

/// Runs, crashes, and checks. `None`, with the reason printed, where no FUSE file system can be mounted.
fn survived(method: Method, syncs_kept: Option<u64>) -> Option<Findings> {
    let (mounted, notes) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let notes = notes.path().join("notes");
    let disk = Volatile::new(syncs_kept);
    let session = match disk.mount(mounted.path()) {
        Ok(session) => session,
        Err(error) => {
            println!("skipped: no FUSE file system can be mounted: {error}");
            return None;
        }
    };
    let plan = plan(method, mounted.path());
    let witness = Witness::file(&notes, None).unwrap();
    let interrupted = AtomicBool::new(false);
    // What is written over is laid out before.
    let laid_out = if matches!(method, Method::Overwrite | Method::Dsync) { plan.slots } else { 0 };
    let bytes = Bytes(u64::from(WORKERS) * (WRITES + laid_out) * 4096);
    let limits = Limits { duration: None, bytes, interrupted: &interrupted, watch: &|| None };
    let totals = run(&plan, None, &witness, &limits, &mut |_| {}).unwrap().totals;
    assert_eq!(totals.acknowledged, u64::from(WORKERS) * WRITES);
    session.umount_and_join().unwrap();
    disk.crash();
    let session = disk.mount(mounted.path()).unwrap();
    let known = read_witness(&notes).unwrap();
    assert_eq!((known.writes(), known.ended), (totals.acknowledged, true));
    let findings = check(&known).unwrap();
    session.umount_and_join().unwrap();
    Some(findings)
}

#[test]
fn what_an_honest_file_system_has_acknowledged_is_there() {
    for method in Method::FILES {
        let Some(findings) = survived(method, None) else { return };
        assert_eq!((findings.lost, findings.torn_in_progress), (0, 0), "{method:?}: {findings:?}");
        let judged = if method == Method::Append { WRITES } else { 8 };
        assert_eq!(findings.judged, judged * u64::from(WORKERS), "{method:?}");
    }
}

#[test]
fn notes_survive_a_crash_with_their_name() {
    let (mounted, tested) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let disk = Volatile::new(None);
    let session = match disk.mount(mounted.path()) {
        Ok(session) => session,
        Err(error) => return println!("skipped: no FUSE file system can be mounted: {error}"),
    };
    let notes = mounted.path().join("notes");
    let witness = Witness::file(&notes, None).unwrap();
    witness.plan(&plan(Method::Append, tested.path())).unwrap();
    drop(witness);
    session.umount_and_join().unwrap();
    disk.crash();
    let session = disk.mount(mounted.path()).unwrap();
    assert_eq!(read_witness(&notes).unwrap().writes(), 0);
    session.umount_and_join().unwrap();
}

#[test]
fn a_file_system_that_drops_what_it_has_acknowledged_is_found_out() {
    for method in Method::FILES {
        // The files and directories themselves are made with fewer.
        let Some(findings) = survived(method, Some(12)) else { return };
        assert!(findings.lost > 0, "{method:?}: {findings:?}");
        let kinds: Vec<LossKind> = findings.losses.iter().map(|loss| loss.kind).collect();
        let expected = match method {
            Method::Append => [LossKind::Missing, LossKind::Zeros],
            _ => [LossKind::Missing, LossKind::Stale],
        };
        assert!(kinds.iter().all(|kind| expected.contains(kind)), "{method:?}: {kinds:?}");
    }
}
