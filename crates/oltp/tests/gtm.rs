//! The life of a GT.M database, against the GT.M that is installed here.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod common;

use std::fs;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use iolite_db::Error;
use iolite_model::{Bytes, Durability, ErrorCause, Nanos, OpKind};
use iolite_oltp::ran::{Adapter, Batch, Cycle, NewBlocks, RanGtm, Settings, Timed, Within};
use tempfile::TempDir;

use common::{Small, go, produced};

/// A directory whose database is closed and removed at the end, also of a test that fails.
struct GtmDirectory(TempDir);

impl GtmDirectory {
    fn new() -> GtmDirectory {
        GtmDirectory(tempfile::Builder::new().prefix("iolite-gtm-").tempdir().unwrap())
    }

    fn gtm(&self, durability: Durability) -> RanGtm {
        RanGtm::new(self.0.path().into(), Settings { durability, ..Settings::default() }).unwrap()
    }

    /// A database of a mebibyte with globals.
    fn made(&self, globals: u32, subscripts: u64) -> RanGtm {
        let gtm = self.gtm(Durability::Full);
        gtm.setup(Bytes(1 << 20), &mut go).unwrap();
        if globals > 0 {
            gtm.add_globals(globals, subscripts, &mut go).unwrap();
        }
        gtm
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

impl Drop for GtmDirectory {
    fn drop(&mut self) {
        if let Ok(gtm) = RanGtm::new(self.0.path().into(), Settings::default()) {
            let _ = gtm.purge();
        }
    }
}

/// Whether there is a GT.M to test against.
fn installed() -> bool {
    match RanGtm::new("/nonexistent".into(), Settings::default()) {
        Ok(_) => true,
        Err(error) => {
            println!("skipped: {error}");
            false
        }
    }
}

/// GT.M's own answer, by a program of its own.
fn mumps(directory: &Path, code: &str) -> String {
    let installation = installation();
    let output = Command::new(installation.join("mumps"))
        .args(["-run", "%XCMD", code])
        .current_dir(directory)
        .env("gtm_dist", &installation)
        .env("gtmgbldir", "iolite.gld")
        .env("gtmroutines", installation.join("libgtmutil.so"))
        .env("gtm_chset", "M")
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn installation() -> std::path::PathBuf {
    if let Some(named) = std::env::var_os("gtm_dist") {
        return named.into();
    }
    let found = Command::new("sh").args(["-c", "ls -d /usr/lib/*/fis-gtm/V*_* | tail -1"]).output().unwrap();
    String::from_utf8(found.stdout).unwrap().trim().into()
}

fn within(gtm: &RanGtm, worker: u32) -> Box<dyn Within> {
    let mut within = gtm.within(worker).unwrap().unwrap();
    within.prepare(true, true).unwrap();
    within
}

fn batch(cycles: Vec<Cycle>) -> Batch {
    Batch { cycles, limit: Nanos(60_000_000_000) }
}

/// Shared memory segments of the host that nobody uses: what a database leaves behind that was not closed.
fn orphans() -> usize {
    let table = fs::read_to_string("/proc/sysvipc/shm").unwrap();
    table.lines().skip(1).filter(|line| line.split_whitespace().nth(6) == Some("0")).count()
}

#[test]
fn a_whole_life() {
    if !installed() {
        return;
    }
    let place = GtmDirectory::new();
    let directory = place.0.path();
    let gtm = place.gtm(Durability::Full);
    assert!(matches!(gtm.sizes(), Err(Error::Missing { .. })));
    assert!(matches!(gtm.within(0), Err(Error::Missing { .. })));
    gtm.purge().unwrap();

    let mut reported = Vec::new();
    gtm.setup(Bytes(2 << 20), &mut |done, total| {
        reported.push((done, total));
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(reported.last(), Some(&(2 << 20, 2 << 20)));
    assert!(matches!(gtm.setup(Bytes(1 << 20), &mut go), Err(Error::Exists { .. })));
    assert_eq!(gtm.blocks().unwrap(), 256);
    let size = gtm.size().unwrap().0;
    assert!((2 << 20..24 << 20).contains(&size), "{size}");
    assert_eq!(
        mumps(
            directory,
            "set n=0,s=\"\" for  set s=$order(^RanReadBlock(s)) quit:s=\"\"  set n=n+1 write:n=256 n"
        ),
        "256"
    );
    let every_length =
        "set (n,s)=0 for  set s=$order(^RanReadBlock(s)) quit:s=\"\"  set n=n+$length(^(s)) write:s=256 n";
    assert_eq!(mumps(directory, every_length), (256 * 7900).to_string());

    gtm.add_globals(2, 25_000, &mut go).unwrap();
    gtm.add_globals(1, 7, &mut go).unwrap();
    assert_eq!(gtm.sizes().unwrap(), [25_000, 25_000, 7]);
    assert_eq!(gtm.count_subscripts(&mut go).unwrap(), [25_000, 25_000, 7]);
    let count = "set (n,s)=0 for  set s=$order(^RanWriteGlobal2(s)) quit:s=\"\"  set n=n+1 write:s=25000 n";
    assert_eq!(mumps(directory, count), "25000");
    assert_eq!(mumps(directory, "write $length(^RanWriteGlobal1(1)),$length(^RanWriteGlobal1(50))"), "51100");
    let description = gtm.describe().unwrap();
    assert_eq!((description.instance.engine.as_str(), description.instance.block), ("GT.M", Bytes(8192)));
    assert!(description.direct && description.instance.version.starts_with('V'), "{description:?}");

    gtm.drop_globals().unwrap();
    assert_eq!(gtm.sizes().unwrap(), [0; 0]);
    assert_eq!(mumps(directory, "write $data(^RanWriteGlobal1),$data(^RanWriteGlobal3)"), "00");
    gtm.add_globals(1, 10, &mut go).unwrap();
    gtm.settle().unwrap();
    gtm.instance().counters().unwrap();
    gtm.purge().unwrap();
    assert!(place.names().is_empty(), "{:?}", place.names());
    assert!(matches!(gtm.sizes(), Err(Error::Missing { .. })));
}

#[test]
fn batches_do_what_is_requested() {
    if !installed() {
        return;
    }
    let place = GtmDirectory::new();
    let gtm = place.made(2, 5000);
    gtm.settle().unwrap();
    let value = "write $length(^RanWriteGlobal2(77)),\" \" zwrite ^RanWriteGlobal2(77)";
    let before = mumps(place.0.path(), value);
    let mut session = within(&gtm, 1);
    assert_eq!(session.subscripts(), 5000);
    let cycles = vec![Cycle::Sets(vec![77, 5000, 1]), Cycle::Reads(vec![0, 127]), Cycle::Sets(vec![77])];
    let (mut done, began) = (Vec::new(), Instant::now());
    session.perform(&batch(cycles), &mut done).unwrap();
    let wall = began.elapsed();

    let kinds: Vec<_> = done.iter().map(|timed| (timed.kind, timed.bytes.0)).collect();
    let expected = [
        (OpKind::Write, 76),
        (OpKind::Write, 52),
        (OpKind::Write, 51),
        (OpKind::Commit, 0),
        (OpKind::Read, 8192),
        (OpKind::Read, 8192),
        (OpKind::Write, 76),
        (OpKind::Commit, 0),
    ];
    assert_eq!(kinds, expected);
    check_times(&done, wall);
    drop(session);
    let after = mumps(place.0.path(), value);
    assert_ne!(before, after);
    assert!(before.starts_with("76 ") && after.starts_with("76 "), "{before} {after}");

    refuses(&gtm);
    assert_eq!(gtm.count_subscripts(&mut go).unwrap(), [5000, 5000]);
}

fn check_times(done: &[Timed], wall: Duration) {
    assert!(done.iter().all(|timed| timed.ended >= timed.started));
    assert!(done.windows(2).all(|pair| pair[1].started >= pair[0].ended));
    let sum: i64 = done.iter().map(|timed| timed.ended - timed.started).sum();
    assert!(u128::from(sum.unsigned_abs()) <= wall.as_nanos(), "{sum} {wall:?}");
}

/// What is not there is neither made nor read.
fn refuses(gtm: &RanGtm) {
    let mut done = Vec::new();
    let mut session = within(gtm, 0);
    let mut perform = |cycle| session.perform(&batch(vec![cycle]), &mut done).unwrap_err();
    assert!(matches!(perform(Cycle::Sets(vec![5001])), Error::NoSubscript { subscript: 5001, .. }));
    assert!(matches!(perform(Cycle::Sets(vec![0])), Error::NoSubscript { subscript: 0, .. }));
    assert!(matches!(perform(Cycle::Reads(vec![128])), Error::NoBlock { number: 128, .. }));
    assert!(done.is_empty());
    let mut without = gtm.within(2).unwrap().unwrap();
    assert!(matches!(without.prepare(true, true), Err(Error::NoGlobal { worker: 2, globals: 2 })));
    without.prepare(true, false).unwrap();
    without.perform(&batch(vec![Cycle::Reads(vec![1])]), &mut done).unwrap();
    assert_eq!(done.len(), 1);
    produced(ErrorCause::GtmTimedWithin, gtm.session(0).err().unwrap());
    let long = vec![1; 1_000_001];
    produced(
        ErrorCause::GtmLongTransaction,
        session.perform(&batch(vec![Cycle::Sets(long)]), &mut done).unwrap_err(),
    );
}

#[test]
fn blocks_have_the_size_that_is_asked_for() {
    if !installed() {
        return;
    }
    for block in [4096, 32_768, 61_440] {
        let place = GtmDirectory::new();
        let gtm = place.gtm(Durability::Full);
        let new = NewBlocks { block: Some(Bytes(block)), ..NewBlocks::of(Bytes(8 << 20)) };
        gtm.create_blocks(&new, &mut go).unwrap();
        let blocks = (8_u64 << 20).div_ceil(block);
        assert_eq!((gtm.blocks().unwrap(), gtm.describe().unwrap().instance.block), (blocks, Bytes(block)));
        gtm.add_globals(1, 1000, &mut go).unwrap();
        gtm.settle().unwrap();
        let before = gtm.instance().counters().unwrap();
        let mut session = within(&gtm, 0);
        let mut done = Vec::new();
        session.perform(&batch(vec![Cycle::Reads((0..blocks).collect())]), &mut done).unwrap();
        assert!(done.iter().all(|read| read.bytes == Bytes(block)), "{done:?}");
        let read = gtm.instance().counters().unwrap().since(&before);
        // All of them, once, with the index; besides the global, whose blocks have another size.
        assert!(read.data_read_bytes.unwrap() >= blocks * block, "{read:?}");
        assert_eq!(mumps(place.0.path(), "write $length(^RanReadBlock(1))"), (block - 292).to_string());
    }
    for block in [512, 5000, 65_536] {
        let place = GtmDirectory::new();
        let new = NewBlocks { block: Some(Bytes(block)), ..NewBlocks::of(Bytes(8 << 20)) };
        let refused = place.gtm(Durability::Full).create_blocks(&new, &mut go).unwrap_err().to_string();
        assert!(refused.contains("multiples of 4 KiB up to 60 KiB"), "{refused}");
        assert!(place.names().is_empty());
    }
}

#[test]
fn limits_are_obeyed() {
    if !installed() {
        return;
    }
    let place = GtmDirectory::new();
    let gtm = place.made(1, 1000);
    let mut session = within(&gtm, 0);
    let mut done = Vec::new();
    let five = batch(vec![Cycle::Sets(vec![3, 4]); 5]);
    session.perform(&five, &mut done).unwrap();
    assert_eq!(done.len(), 15);

    // Over at once, and in the middle: a transaction begun is ended.
    done.clear();
    session.perform(&Batch { limit: Nanos(0), ..five }, &mut done).unwrap();
    assert!(done.is_empty());
    let short = Batch { limit: Nanos(30_000_000), ..batch(vec![Cycle::Sets(vec![3; 10]); 100_000]) };
    session.perform(&short, &mut done).unwrap();
    assert!(!done.is_empty() && done.len() < 1_100_000 && done.len() % 11 == 0, "{}", done.len());
    // The limit counts from the batch's beginning, which is before that of the first operation.
    assert!(done.last().unwrap().ended - done[0].started >= 20_000_000);

    // Of reads each may be the last.
    done.clear();
    let reads = Batch {
        limit: Nanos(10_000_000),
        ..batch(vec![Cycle::Reads((0..128).cycle().take(400_000).collect())])
    };
    session.perform(&reads, &mut done).unwrap();
    assert!(!done.is_empty() && done.len() < 400_000, "{}", done.len());
}

#[test]
fn counters_report_reads_writes_and_syncs() {
    if !installed() {
        return;
    }
    let place = GtmDirectory::new();
    let gtm = place.gtm(Durability::Full);
    // Four times as many blocks as buffers.
    gtm.setup(Bytes(32 << 20), &mut go).unwrap();
    gtm.add_globals(1, 20_000, &mut go).unwrap();
    gtm.settle().unwrap();
    let start = gtm.instance().counters().unwrap();
    let mut session = within(&gtm, 0);
    let mut done = Vec::new();
    session.perform(&batch(vec![Cycle::Reads((0..4096).collect())]), &mut done).unwrap();
    let read = gtm.instance().counters().unwrap().since(&start);
    let (blocks, global) = (4096, 20_000 * 121 / 8192 + 20);
    assert!((blocks..blocks + global + 64).contains(&read.data_reads.unwrap()), "{read:?}");

    let before = gtm.instance().counters().unwrap();
    let transactions = (0..40).map(|i| Cycle::Sets(vec![i * 500 + 1, i * 500 + 250])).collect();
    session.perform(&batch(transactions), &mut done).unwrap();
    let wrote = gtm.instance().counters().unwrap().since(&before);
    assert!(wrote.log_syncs.unwrap() >= 40 && wrote.log_writes.unwrap() >= 40, "{wrote:?}");
    assert!(wrote.log_write_bytes.unwrap() >= 80 * 50, "{wrote:?}");
    drop(session);
    // GT.M writes the blocks some time later.
    gtm.settle().unwrap();
    let settled = gtm.instance().counters().unwrap().since(&before);
    assert!(settled.data_writes.unwrap() >= 40, "{settled:?}");
}

#[test]
fn relaxed_commits_do_not_wait() {
    if !installed() {
        return;
    }
    let place = GtmDirectory::new();
    place.made(1, 1000);
    let gtm = place.gtm(Durability::Relaxed);
    gtm.settle().unwrap();
    let mut session = within(&gtm, 0);
    let start = gtm.instance().counters().unwrap();
    let mut done = Vec::new();
    session.perform(&batch(vec![Cycle::Sets(vec![5]); 500]), &mut done).unwrap();
    let wrote = gtm.instance().counters().unwrap().since(&start);
    assert!(wrote.log_syncs.unwrap() < 250, "{wrote:?}");
    assert!(gtm.describe().unwrap().instance.durability.contains("BATCH"));
}

#[test]
fn two_sessions_at_once() {
    if !installed() {
        return;
    }
    let place = GtmDirectory::new();
    let gtm = place.made(2, 2000);
    std::thread::scope(|scope| {
        for worker in 0..2 {
            let gtm = &gtm;
            scope.spawn(move || {
                let mut session = within(gtm, worker);
                let mut done = Vec::new();
                for round in 0..20 {
                    let sets = (0..50).map(|i| 1 + (i * 37 + round * 11) % 2000).collect();
                    session
                        .perform(&batch(vec![Cycle::Sets(sets), Cycle::Reads(vec![round])]), &mut done)
                        .unwrap();
                }
                assert_eq!(done.len(), 20 * 52);
            });
        }
    });
    assert_eq!(gtm.count_subscripts(&mut go).unwrap(), [2000, 2000]);
}

#[test]
fn what_was_interrupted_is_not_used() {
    if !installed() {
        return;
    }
    let place = GtmDirectory::new();
    let gtm = place.gtm(Durability::Full);
    let stop =
        &mut |done, total| if done * 4 > total { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    assert!(matches!(gtm.setup(Bytes(64 << 20), stop), Err(Error::Cancelled)));
    assert!(matches!(gtm.blocks(), Err(Error::Incomplete { .. })));
    assert!(matches!(gtm.within(0), Err(Error::Incomplete { .. })));
    gtm.purge().unwrap();
    assert!(place.names().is_empty(), "{:?}", place.names());

    let gtm = place.made(1, 100);
    assert!(matches!(gtm.add_globals(2, 200_000, stop), Err(Error::Cancelled)));
    assert_eq!(gtm.sizes().unwrap(), [100]);
    assert_eq!(mumps(place.0.path(), "write $data(^RanWriteGlobal2),$data(^RanWriteGlobal3)"), "00");
    gtm.add_globals(1, 300, &mut go).unwrap();
    assert_eq!(gtm.count_subscripts(&mut go).unwrap(), [100, 300]);

    mumps(place.0.path(), "kill ^RanWriteGlobal2");
    let error = gtm.within(1).unwrap().unwrap().prepare(false, true).unwrap_err();
    assert!(matches!(error, Error::GlobalMissing { .. }), "{error}");
}

#[test]
fn files_of_others_are_left_alone() {
    if !installed() {
        return;
    }
    let place = GtmDirectory::new();
    let path = place.0.path().join("iolite-read.dat");
    fs::write(&path, "mine").unwrap();
    let gtm = place.gtm(Durability::Full);
    assert!(matches!(gtm.setup(Bytes(1 << 20), &mut go), Err(Error::Foreign { .. })));
    assert!(matches!(gtm.purge(), Err(Error::Foreign { .. })));
    assert_eq!(fs::read(&path).unwrap(), b"mine");
    fs::remove_file(&path).unwrap();

    // What is not ours in the directory of a database stays.
    place.made(0, 0);
    assert!(matches!(gtm.setup(Bytes(1 << 20), &mut go), Err(Error::Exists { .. })));
    fs::write(place.0.path().join("mine"), "mine").unwrap();
    gtm.purge().unwrap();
    assert_eq!(place.names(), ["mine"]);
}

#[test]
fn a_killed_session_says_so_and_the_next_goes_on() {
    if !installed() {
        return;
    }
    let place = GtmDirectory::new();
    let gtm = place.made(1, 20_000);
    let mut session = within(&gtm, 0);
    let mut done = Vec::new();
    session.perform(&batch(vec![Cycle::Sets(vec![5, 6, 7])]), &mut done).unwrap();
    let process = children(place.0.path()).pop().expect("a mumps process");
    let idle = processor_time(&process);
    let killer = std::thread::spawn(move || {
        // In the midst of its work: what it has used grows once the batch has reached it.
        while processor_time(&process) <= idle {
            std::thread::yield_now();
        }
        assert!(Command::new("kill").args(["-9", &process]).status().unwrap().success());
    });
    let many: Vec<_> = (0..3000)
        .map(|i| Cycle::Sets((0..50).map(|j| 1 + (i * 7919 + j * 401) % 20_000).collect()))
        .collect();
    let error = loop {
        if let Err(error) = session.perform(&batch(many.clone()), &mut done) {
            break error.to_string();
        }
    };
    killer.join().unwrap();
    assert!(error.contains("killed by signal 9"), "{error}");
    produced(ErrorCause::GtmOther, error);
    drop(session);

    let mut session = within(&gtm, 0);
    session.perform(&batch(vec![Cycle::Sets(vec![5, 6, 7])]), &mut done).unwrap();
    drop(session);
    assert_eq!(gtm.count_subscripts(&mut go).unwrap(), [20_000]);
    let before = orphans();
    gtm.purge().unwrap();
    assert!(orphans() <= before);
    assert!(place.names().is_empty(), "{:?}", place.names());
}

/// `mumps` processes at work in a directory.
/// Time that a process has used, in clock ticks, user and system (proc_pid_stat(5)).
fn processor_time(process: &str) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    // The name, in brackets, may hold blanks.
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    fields[11..13].iter().map(|field| field.parse::<u64>().unwrap()).sum()
}

fn children(directory: &Path) -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let ours = processes.filter(|process| {
        fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd == directory)
            && fs::read_to_string(process.path().join("comm")).is_ok_and(|name| name.trim() == "mumps")
    });
    ours.map(|process| process.file_name().into_string().unwrap()).collect()
}

/// A database that is purged in the end, however that comes: processes and shared memory of GT.M's would stay.
struct Purged<'a>(&'a RanGtm);

impl Drop for Purged<'_> {
    fn drop(&mut self) {
        let _ = self.0.purge();
    }
}

#[test]
fn a_full_disk_that_costs_the_journal_is_an_error() {
    if !installed() {
        return;
    }
    let Some(small) = Small::new(64) else { return };
    let gtm = RanGtm::new(small.path().into(), Settings::default()).unwrap();
    let _purged = Purged(&gtm);
    let error = gtm.setup(Bytes(1 << 30), &mut go).unwrap_err();
    assert!(matches!(error, Error::NoSpace { .. }), "{error}");
    gtm.setup(Bytes(1 << 20), &mut go).unwrap();
    gtm.add_globals(1, 20_000, &mut go).unwrap();
    gtm.settle().unwrap();
    let filler = small.fill(0);
    let mut session = within(&gtm, 0);
    let mut done = Vec::new();
    let sets = Cycle::Sets((0..50).map(|j| 1 + j * 401 % 20_000).collect());
    let error = loop {
        if let Err(error) = session.perform(&batch(vec![sets.clone(); 500]), &mut done) {
            break error.to_string();
        }
        assert!(done.len() < 10_000_000, "the disk is full and everything is said to be well");
    };
    produced(ErrorCause::GtmFull, error);
    drop(session);

    fs::remove_file(&filler).unwrap();
    gtm.settle().unwrap();
    let mut session = within(&gtm, 0);
    session.perform(&batch(vec![sets]), &mut done).unwrap();
}

#[test]
fn a_database_in_use_is_not_purged_and_one_that_lost_a_file_is_named() {
    if !installed() {
        return;
    }
    let place = GtmDirectory::new();
    let gtm = place.made(1, 100);
    let mut session = within(&gtm, 0);
    session.perform(&batch(vec![Cycle::Sets(vec![1])]), &mut Vec::new()).unwrap();
    produced(ErrorCause::GtmInUse, place.gtm(Durability::Full).purge().unwrap_err());
    drop(session);
    let blocks = "iolite-read.dat";
    fs::rename(place.0.path().join(blocks), place.0.path().join("elsewhere")).unwrap();
    produced(ErrorCause::ContentsChanged, gtm.blocks().unwrap_err());
    fs::rename(place.0.path().join("elsewhere"), place.0.path().join(blocks)).unwrap();
}

#[test]
fn dead_processes_that_nobody_reaps_are_named() {
    if !installed() {
        return;
    }
    let place = GtmDirectory::new();
    let gtm = place.made(1, 100);
    let mut session = within(&gtm, 0);
    session.perform(&batch(vec![Cycle::Sets(vec![1])]), &mut Vec::new()).unwrap();
    let mut dead = Command::new("true").stdout(std::process::Stdio::piped()).spawn().unwrap();
    // Its end of the pipe is closed when it ends.
    std::io::Read::read_to_end(dead.stdout.as_mut().unwrap(), &mut Vec::new()).unwrap();
    let stat = fs::read_to_string(format!("/proc/{}/stat", dead.id())).unwrap();
    let started = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap();
    let record = fs::OpenOptions::new().append(true).open(place.0.path().join("iolite-gtm.processes"));
    writeln!(record.unwrap(), "{} {started}", dead.id()).unwrap();
    let text = place.gtm(Durability::Full).purge().unwrap_err().to_string();
    produced(ErrorCause::GtmUnreaped, &text);
    assert!(
        text.contains(&format!("process {} (its parent, process {}", dead.id(), std::process::id())),
        "{text}"
    );
    dead.wait().unwrap();
    produced(ErrorCause::GtmInUse, place.gtm(Durability::Full).purge().unwrap_err());
    drop(session);
    gtm.purge().unwrap();
}
