//! Cost per I/O against the installed fio and against a loop that measures nothing: `make bench`.
//!
//! ```text
//! against_fio BARE_LOOP DIRECTORY [ROUNDS]
//! against_fio run CASE DIRECTORY            (one run of iolite, used by the former)
//! against_fio workers DIRECTORY             (what many workers cost)
//! ```
//! Every program is pinned to one core; the runs of a case alternate, and medians are told. iolite records the latency of
//! each operation in full.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]

use std::path::{Path, PathBuf};
use std::process::Command;

use iolite_engine::{Control, Scratch, run_file_task};
use iolite_model::{
    Access, Arrival, BackendKind, Bytes, Event, FileTarget, FileTask, Mix, Nanos, OpKind, RingOptions, RunId,
    Sink, Stop, Target,
};
use iolite_stats::{Collector, Completion, Timetable, recorder};
use iolite_sys::clock::Clock;

/// Time of one run, in seconds.
const SECONDS: f64 = 2.0;

/// Size of the file, which stays in the page cache.
const SIZE: Bytes = Bytes(256 << 20);

/// The core that everything is pinned to.
const CORE: &str = "1";

/// A case: what iolite, fio and the bare loop are to do.
struct Case {
    name: &'static str,
    backend: BackendKind,
    block: u64,
    depth: u32,
    direct: bool,
    /// fio as its users run it.
    fio: &'static [&'static str],
    /// fio at its best; empty for none.
    tuned: &'static [&'static str],
    /// Mode of the bare loop; empty for none.
    bare: &'static str,
}

const CASES: [Case; 7] = [
    Case {
        name: "null, 4 KiB",
        backend: BackendKind::Null,
        block: 4096,
        depth: 1,
        direct: false,
        fio: &["--ioengine=null", "--bs=4k"],
        tuned: &["--ioengine=null", "--bs=4k", "--gtod_reduce=1", "--norandommap", "--randrepeat=0"],
        bare: "",
    },
    Case {
        name: "page cache, pread, 4 KiB",
        backend: BackendKind::Sync,
        block: 4096,
        depth: 1,
        direct: false,
        fio: &["--ioengine=psync", "--bs=4k"],
        tuned: &[],
        bare: "pread",
    },
    Case {
        name: "page cache, pread, 512 B",
        backend: BackendKind::Sync,
        block: 512,
        depth: 1,
        direct: false,
        fio: &["--ioengine=psync", "--bs=512"],
        tuned: &[],
        bare: "pread",
    },
    Case {
        name: "page cache, io_uring x 32, 4 KiB",
        backend: BackendKind::IoUring(RingOptions::PLAIN),
        block: 4096,
        depth: 32,
        direct: false,
        fio: &["--ioengine=io_uring", "--bs=4k", "--iodepth=32"],
        tuned: &[
            "--ioengine=io_uring",
            "--bs=4k",
            "--iodepth=32",
            "--fixedbufs",
            "--registerfiles",
            "--iodepth_batch=16",
            "--iodepth_batch_complete_min=16",
            "--iodepth_batch_complete_max=32",
        ],
        bare: "uring",
    },
    Case {
        name: "page cache, io_uring x 32, 512 B",
        backend: BackendKind::IoUring(RingOptions::PLAIN),
        block: 512,
        depth: 32,
        direct: false,
        fio: &["--ioengine=io_uring", "--bs=512", "--iodepth=32"],
        tuned: &[
            "--ioengine=io_uring",
            "--bs=512",
            "--iodepth=32",
            "--fixedbufs",
            "--registerfiles",
            "--iodepth_batch=16",
            "--iodepth_batch_complete_min=16",
            "--iodepth_batch_complete_max=32",
        ],
        bare: "uring",
    },
    Case {
        name: "page cache, libaio x 32, 4 KiB",
        backend: BackendKind::Libaio,
        block: 4096,
        depth: 32,
        direct: false,
        fio: &["--ioengine=libaio", "--bs=4k", "--iodepth=32"],
        tuned: &[],
        bare: "",
    },
    Case {
        name: "disk, direct, io_uring x 32, 4 KiB",
        backend: BackendKind::IoUring(RingOptions::PLAIN),
        block: 4096,
        depth: 32,
        direct: true,
        fio: &["--ioengine=io_uring", "--bs=4k", "--iodepth=32", "--direct=1"],
        tuned: &[],
        bare: "",
    },
];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [_, "run", case, directory] => {
            println!("{:.0}", iolite(&CASES[case.parse::<usize>().unwrap()], directory.as_ref()))
        }
        [_, "workers", directory] => workers(directory.as_ref()),
        [_, bare, directory, rest @ ..] => {
            compare(bare, directory.as_ref(), rest.first().map_or(5, |rounds| rounds.parse().unwrap()));
        }
        _ => eprintln!("usage: against_fio BARE_LOOP DIRECTORY [ROUNDS]"),
    }
}

/// Runs all cases and prints one table, in thousands of operations per second.
fn compare(bare: &str, directory: &Path, rounds: usize) {
    let file = directory.join("against-fio");
    lay_out(&file);
    println!("kIOPS, one core, medians of {rounds} alternating runs of {SECONDS} s\n");
    println!(
        "| case | fio | fio tuned | bare loop | iolite | of fio | of bare |\n|---|---|---|---|---|---|---|"
    );
    let this = std::env::current_exe().unwrap();
    for (number, case) in CASES.iter().enumerate() {
        let mut rates: [Vec<f64>; 4] = Default::default();
        for _ in 0..rounds {
            rates[0].push(fio(case.fio, &file));
            rates[1].push(if case.tuned.is_empty() { 0.0 } else { fio(case.tuned, &file) });
            rates[2].push(if case.bare.is_empty() { 0.0 } else { bare_loop(bare, case, &file) });
            let run = [this.to_str().unwrap(), "run", &number.to_string(), directory.to_str().unwrap()];
            rates[3].push(pinned(&run).trim().parse().unwrap());
        }
        let [fio, tuned, bare, iolite] = rates.map(median);
        let ratio = |of: f64| if of > 0.0 { format!("{:.2}", iolite / of) } else { "-".into() };
        let kilo = |rate: f64| if rate > 0.0 { format!("{:.0}", rate / 1e3) } else { "-".into() };
        let cells = [kilo(fio), kilo(tuned), kilo(bare), kilo(iolite), ratio(fio), ratio(bare)];
        println!("| {} | {} |", case.name, cells.join(" | "));
    }
    std::fs::remove_file(&file).unwrap();
    println!();
    workers(directory);
}

/// What many workers cost.
fn workers(directory: &Path) {
    many_workers(directory);
    merging();
}

/// Start and memory of a thousand workers that do next to nothing.
fn many_workers(directory: &Path) {
    const WORKERS: u32 = 1000;
    let mut scratch = Scratch::create(directory, &RunId(format!("bench-{}", std::process::id()))).unwrap();
    let mut task = null_task();
    (task.workers, task.concurrency) = (WORKERS, WORKERS);
    task.stop = Stop { operations: Some(u64::from(WORKERS) * 100), ..Stop::default() };
    let (clock, before) = (Clock::best(), resident());
    let start = clock.now();
    run_file_task(&task, 0, &mut scratch, clock, &Control::default(), &mut Nobody).unwrap();
    let seconds = (clock.now() - start) as f64 / 1e9;
    let each = Bytes((highest_resident().0 - before.0) / u64::from(WORKERS));
    println!(
        "{WORKERS} workers: started, 100 operations each and ended in {seconds:.2} s; memory {each} each"
    );
}

/// What it costs to collect an interval of many workers.
fn merging() {
    for workers in [1, 10, 100, 1000, 10_000] {
        let timetable = Timetable { ramp_end: 0, interval: 1_000_000_000, end: u64::MAX };
        let (mut recorders, feeds): (Vec<_>, Vec<_>) =
            (0..workers).map(|_| recorder(timetable, &[OpKind::Read])).unzip();
        let mut collector = Collector::new(0, feeds);
        let clock = Clock::best();
        let mut cost = Nanos(0);
        // The first interval also pays for the memory; the second is what goes on.
        for second in 0..2 {
            for (worker, recorder) in recorders.iter_mut().enumerate() {
                for op in 0..100 {
                    let intended = second * 1_000_000_000 + op * 1000;
                    let completed = intended + 100_000 + worker as u64;
                    let issued = intended;
                    recorder.record(Completion {
                        kind: OpKind::Read,
                        intended,
                        issued,
                        completed,
                        bytes: 4096,
                    });
                }
                recorder.advance((second + 1) * 1_000_000_000);
            }
            let start = clock.now();
            let intervals = collector.collect(u64::MAX);
            cost = Nanos(clock.now() - start);
            let operations: u64 = intervals.iter().map(|interval| interval.ops[0].operations).sum();
            assert_eq!(operations, 100 * workers as u64);
        }
        println!(
            "merging an interval of {workers} workers: {cost}, {} a worker",
            Nanos(cost.0 / workers as u64)
        );
    }
}

/// Memory of this process.
fn resident() -> Bytes {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    Bytes(statm.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096)
}

/// The most memory that this process has had.
fn highest_resident() -> Bytes {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    Bytes(line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024)
}

/// Reads from nothing.
fn null_task() -> FileTask {
    FileTask {
        name: "null".into(),
        target: Target::Null { size: SIZE },
        backend: BackendKind::Null,
        mix: Mix::Read,
        access: Access::Random,
        block: Bytes(4096),
        direct: false,
        workers: 1,
        concurrency: 1,
        arrival: Arrival::Closed,

        stop: Stop::default(),
        ramp: Nanos(0),
        interval: Nanos::SECOND,
        seed: 1,
        ..FileTask::default()
    }
}

fn lay_out(file: &Path) {
    let noise: Vec<u8> = (0..SIZE.0).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect();
    std::fs::write(file, noise).unwrap();
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

/// What a program pinned to the core prints.
fn pinned(command: &[&str]) -> String {
    let output = Command::new("taskset").args(["-c", CORE]).args(command).output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn fio(options: &[&str], file: &Path) -> f64 {
    let (size, runtime) = (format!("--size={}", SIZE.0), format!("--runtime={SECONDS}"));
    let filename = format!("--filename={}", file.display());
    let common = [
        "fio",
        "--name=case",
        "--rw=randread",
        "--time_based",
        // fio drops the file from the page cache first unless told not to.
        "--invalidate=0",
        "--thread",
        "--output-format=terse",
        "--terse-version=3",
    ];
    let mut command: Vec<&str> = common.to_vec();
    command.extend([size.as_str(), runtime.as_str(), filename.as_str()]);
    command.extend(options);
    // The eighth field of terse version 3 is the read IOPS.
    pinned(&command).split(';').nth(7).unwrap().parse().unwrap()
}

fn bare_loop(program: &str, case: &Case, file: &Path) -> f64 {
    let (block, seconds, depth) = (case.block.to_string(), SECONDS.to_string(), case.depth.to_string());
    let command = [program, case.bare, file.to_str().unwrap(), &block, &seconds, &depth];
    pinned(&command).trim().parse().unwrap()
}

/// One run of iolite with everything recorded; operations per second.
fn iolite(case: &Case, directory: &Path) -> f64 {
    let mut scratch = Scratch::create(directory, &RunId(format!("bench-{}", std::process::id()))).unwrap();
    let file = |create| {
        Target::File(FileTarget {
            name: PathBuf::from("data"),
            size: SIZE,
            create,
            preallocate: true,
            per_worker: false,
        })
    };
    let mut task = FileTask {
        name: case.name.into(),
        target: file(true),
        backend: BackendKind::Sync,
        mix: Mix::Write,
        access: Access::Sequential,
        block: Bytes::MIB,
        stop: Stop { bytes: Some(SIZE), ..Stop::default() },
        ..null_task()
    };
    let mut run = |task: &FileTask| {
        run_file_task(task, 0, &mut scratch, Clock::best(), &Control::default(), &mut Nobody).unwrap()
    };
    if case.backend != BackendKind::Null {
        // Written directly where it is to be read so: no writing back meanwhile.
        task.direct = case.direct;
        run(&task);
    }
    task.target = if case.backend == BackendKind::Null { Target::Null { size: SIZE } } else { file(false) };
    task.backend = case.backend;
    task.mix = Mix::Read;
    task.access = Access::Random;
    task.block = Bytes(case.block);
    task.direct = case.direct;
    task.concurrency = case.depth;
    task.stop = Stop { runtime: Some(Nanos::from_secs_f64(SECONDS)), ..Stop::default() };
    task.ramp = Nanos(100_000_000);
    let totals = run(&task).totals;
    totals.operations(OpKind::Read) as f64 / (totals.measured as f64 / 1e9)
}

struct Nobody;

impl Sink for Nobody {
    fn event(&mut self, _event: &Event) {}
}
