//! Cost per I/O against the installed fio and against a loop that measures nothing: `make bench`.
//!
//! ```text
//! against_fio BARE_LOOP DIRECTORY [ROUNDS [CASE]]   (only cases whose name contains CASE)
//! against_fio run CASE DIRECTORY            (one run of iolite, used by the former)
//! against_fio workers DIRECTORY             (what many workers cost)
//! ```
//! Every program is pinned to one core; the runs of a case alternate, and medians are printed. iolite records the latency of
//! each operation in full.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use iolite_engine::{Control, Scratch, run_file_task};
use iolite_model::{
    BackendKind, Bytes, ExistingTarget, FileTask, Mix, Nanos, NullSink, OpKind, Overwrite, RingOptions,
    RunId, Stop, Target,
};
use iolite_stats::{Collector, Completion, Timetable, recorder};
use iolite_sys::clock::Clock;
use iolite_workload::Filler;

/// Time of one run, in seconds.
const SECONDS: f64 = 2.0;

/// Size of the file, which stays in the page cache.
const SIZE: Bytes = Bytes(256 << 20);

/// The file that all programs read and write, in the directory given.
const FILE: &str = "against-fio";

/// The core that everything is pinned to.
const CORE: &str = "1";

/// Where a case reads.
#[derive(Clone, Copy, PartialEq)]
enum TargetKind {
    /// A file, through the page cache, where all of it is.
    PageCache,
    /// A file, past the page cache.
    Disk,
    /// A device in memory, past the page cache.
    Zram,
}

/// A case: what iolite, fio and the bare loop are to do.
struct Case {
    name: &'static str,
    backend: BackendKind,
    block: u64,
    depth: u32,
    /// Writes instead of reads.
    writes: bool,
    place: TargetKind,
    /// fio as its users run it.
    fio: &'static [&'static str],
    /// fio at its best; empty for none.
    tuned: &'static [&'static str],
    /// Mode of the bare loop; empty for none.
    bare: &'static str,
}

/// A case on a disk, 4 KiB at a time.
const fn disk(
    name: &'static str,
    backend: BackendKind,
    depth: u32,
    writes: bool,
    fio: &'static [&'static str],
) -> Case {
    Case { name, backend, block: 4096, depth, writes, place: TargetKind::Disk, fio, tuned: &[], bare: "" }
}

const CASES: [Case; 15] = [
    Case {
        name: "null, 4 KiB",
        backend: BackendKind::Null,
        block: 4096,
        depth: 1,
        writes: false,
        place: TargetKind::PageCache,
        fio: &["--ioengine=null", "--bs=4k"],
        tuned: &["--ioengine=null", "--bs=4k", "--gtod_reduce=1", "--norandommap", "--randrepeat=0"],
        bare: "",
    },
    Case {
        name: "page cache, pread, 4 KiB",
        backend: BackendKind::Sync,
        block: 4096,
        depth: 1,
        writes: false,
        place: TargetKind::PageCache,
        fio: &["--ioengine=psync", "--bs=4k"],
        tuned: &[],
        bare: "pread",
    },
    Case {
        name: "page cache, pread, 512 B",
        backend: BackendKind::Sync,
        block: 512,
        depth: 1,
        writes: false,
        place: TargetKind::PageCache,
        fio: &["--ioengine=psync", "--bs=512"],
        tuned: &[],
        bare: "pread",
    },
    Case {
        name: "page cache, io_uring x 32, 4 KiB",
        backend: BackendKind::IoUring(RingOptions::PLAIN),
        block: 4096,
        depth: 32,
        writes: false,
        place: TargetKind::PageCache,
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
        writes: false,
        place: TargetKind::PageCache,
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
        writes: false,
        place: TargetKind::PageCache,
        fio: &["--ioengine=libaio", "--bs=4k", "--iodepth=32"],
        tuned: &[],
        bare: "",
    },
    disk(
        "disk, direct, io_uring x 8, reads",
        BackendKind::IoUring(RingOptions::PLAIN),
        8,
        false,
        &["--ioengine=io_uring", "--bs=4k", "--iodepth=8", "--direct=1"],
    ),
    disk(
        "disk, direct, io_uring x 32, reads",
        BackendKind::IoUring(RingOptions::PLAIN),
        32,
        false,
        &["--ioengine=io_uring", "--bs=4k", "--iodepth=32", "--direct=1"],
    ),
    disk(
        "disk, direct, io_uring x 8, writes",
        BackendKind::IoUring(RingOptions::PLAIN),
        8,
        true,
        &["--ioengine=io_uring", "--bs=4k", "--iodepth=8", "--direct=1"],
    ),
    disk(
        "disk, direct, io_uring x 32, writes",
        BackendKind::IoUring(RingOptions::PLAIN),
        32,
        true,
        &["--ioengine=io_uring", "--bs=4k", "--iodepth=32", "--direct=1"],
    ),
    disk(
        "disk, direct, libaio x 8, reads",
        BackendKind::Libaio,
        8,
        false,
        &["--ioengine=libaio", "--bs=4k", "--iodepth=8", "--direct=1"],
    ),
    disk(
        "disk, direct, libaio x 32, reads",
        BackendKind::Libaio,
        32,
        false,
        &["--ioengine=libaio", "--bs=4k", "--iodepth=32", "--direct=1"],
    ),
    disk(
        "disk, direct, libaio x 8, writes",
        BackendKind::Libaio,
        8,
        true,
        &["--ioengine=libaio", "--bs=4k", "--iodepth=8", "--direct=1"],
    ),
    disk(
        "disk, direct, libaio x 32, writes",
        BackendKind::Libaio,
        32,
        true,
        &["--ioengine=libaio", "--bs=4k", "--iodepth=32", "--direct=1"],
    ),
    Case {
        name: "zram, direct, io_uring x 32, 4 KiB",
        backend: BackendKind::IoUring(RingOptions::PLAIN),
        block: 4096,
        depth: 32,
        writes: false,
        place: TargetKind::Zram,
        fio: &["--ioengine=io_uring", "--bs=4k", "--iodepth=32", "--direct=1"],
        tuned: &[
            "--ioengine=io_uring",
            "--bs=4k",
            "--iodepth=32",
            "--direct=1",
            "--fixedbufs",
            "--registerfiles",
            "--iodepth_batch=16",
            "--iodepth_batch_complete_min=16",
            "--iodepth_batch_complete_max=32",
        ],
        bare: "uring",
    },
];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [_, "run", case, directory] => {
            let Run { rate, cpu } = iolite(&CASES[case.parse::<usize>().unwrap()], directory.as_ref());
            println!("{rate:.0} {cpu:.9}");
        }
        [_, "workers", directory] => workers(directory.as_ref()),
        [_, bare, directory, rest @ ..] => {
            let rounds = rest.first().map_or(5, |rounds| rounds.parse().unwrap());
            compare(bare, directory.as_ref(), rounds, rest.get(1).unwrap_or(&""));
        }
        _ => eprintln!("usage: against_fio BARE_LOOP DIRECTORY [ROUNDS [CASE]]"),
    }
}

/// Runs the cases whose name contains `wanted` and prints one table, in thousands of operations per second.
fn compare(bare: &str, directory: &Path, rounds: usize, wanted: &str) {
    let file = directory.join(FILE);
    lay_out(&file);
    println!("kIOPS, one core, medians of {rounds} alternating runs of {SECONDS} s\n");
    println!(
        "| case | fio | fio tuned | bare loop | iolite | iolite / fio | iolite / bare loop | CPU per I/O, iolite / fio |\n\
         |---|---|---|---|---|---|---|---|"
    );
    let this = std::env::current_exe().unwrap();
    for (number, case) in CASES.iter().enumerate().filter(|(_, case)| case.name.contains(wanted)) {
        let zram = if case.place == TargetKind::Zram { Zram::set_up() } else { None };
        if case.place == TargetKind::Zram && zram.is_none() {
            continue;
        }
        let file = if zram.is_some() { Path::new(Zram::DEVICE) } else { file.as_path() };
        let mut runs: [Vec<Run>; 4] = Default::default();
        for _ in 0..rounds {
            runs[0].push(fio(case, case.fio, file));
            runs[1].extend((!case.tuned.is_empty()).then(|| fio(case, case.tuned, file)));
            runs[2].extend((!case.bare.is_empty()).then(|| bare_loop(bare, case, file)));
            let run = [this.to_str().unwrap(), "run", &number.to_string(), directory.to_str().unwrap()];
            runs[3].push(Run::parse(&pinned(&run)));
        }
        row(case, &runs);
    }
    std::fs::remove_file(&file).unwrap();
    println!();
    if wanted.is_empty() {
        workers(directory);
    }
}

/// A line of the table.
fn row(case: &Case, runs: &[Vec<Run>; 4]) {
    let [fio, tuned, bare, iolite] = runs.each_ref().map(|runs| median(runs.iter().map(|run| run.rate)));
    let ratio = |of: f64| if of > 0.0 { format!("{:.2}", iolite / of) } else { "-".into() };
    let kilo = |rate: f64| if rate > 0.0 { format!("{:.0}", rate / 1e3) } else { "-".into() };
    let cpu = |runs: &[Run]| median(runs.iter().map(|run| run.cpu));
    let cpu = format!("{:.2}", cpu(&runs[3]) / cpu(&runs[0]));
    let cells = [kilo(fio), kilo(tuned), kilo(bare), kilo(iolite), ratio(fio), ratio(bare), cpu];
    println!("| {} | {} |", case.name, cells.join(" | "));
}

/// One run: operations a second, and seconds of processor time for each.
struct Run {
    rate: f64,
    cpu: f64,
}

impl Run {
    /// What a run of this program prints.
    fn parse(text: &str) -> Run {
        let (rate, cpu) = text.trim().split_once(' ').unwrap();
        Run { rate: rate.parse().unwrap(), cpu: cpu.parse().unwrap() }
    }
}

/// The first zram device with something in it, empty again when dropped.
struct Zram;

impl Zram {
    const DEVICE: &str = "/dev/zram0";

    /// `None`, with the reason printed, where there is none that is free.
    fn set_up() -> Option<Zram> {
        let size = Path::new("/sys/block/zram0/disksize");
        match std::fs::read_to_string(size) {
            Ok(text) if text.trim() == "0" => {}
            Ok(_) => {
                println!("skipped: zram0 is in use");
                return None;
            }
            Err(error) => {
                println!("skipped: no zram device: {error}");
                return None;
            }
        }
        if let Err(error) = std::fs::write(size, SIZE.0.to_string()) {
            println!("skipped: zram0 cannot be set up: {error}");
            return None;
        }
        let zram = Zram;
        lay_out(Path::new(Self::DEVICE));
        Some(zram)
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        // Whoever looks at new devices (udev) may hold it for a moment.
        for _ in 0..100 {
            if std::fs::write("/sys/block/zram0/reset", "1").is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        eprintln!("zram0 cannot be reset: do it by hand (echo 1 > /sys/block/zram0/reset)");
    }
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
    let task = FileTask {
        name: "many".into(),
        workers: WORKERS,
        concurrency: WORKERS,
        stop: Stop { operations: Some(u64::from(WORKERS) * 100), ..Stop::default() },
        ..FileTask::default()
    };
    let (clock, before) = (Clock::best(), resident());
    let start = clock.now();
    run_file_task(&task, 0, &mut scratch, clock, &Control::default(), &mut NullSink).unwrap();
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

/// Writes random bytes, of which no device can make less.
fn lay_out(file: &Path) {
    let mut noise = vec![0; SIZE.0 as usize];
    Filler::new(1, 0).fill(&mut noise);
    let mut out = File::options().write(true).create(true).truncate(false).open(file).unwrap();
    out.write_all(&noise).unwrap();
    // Nothing is left to be written back meanwhile.
    out.sync_all().unwrap();
}

/// Zero of none.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// What a program pinned to the core prints.
fn pinned(command: &[&str]) -> String {
    let output = Command::new("taskset").args(["-c", CORE]).args(command).output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn fio(case: &Case, options: &[&str], file: &Path) -> Run {
    let (size, runtime) = (format!("--size={}", SIZE.0), format!("--runtime={SECONDS}"));
    let filename = format!("--filename={}", file.display());
    let common = [
        "fio",
        "--name=case",
        if case.writes { "--rw=randwrite" } else { "--rw=randread" },
        "--time_based",
        // fio drops the file from the page cache first unless `invalidate=0`.
        "--invalidate=0",
        "--thread",
        "--output-format=terse",
        "--terse-version=3",
    ];
    let mut command: Vec<&str> = common.to_vec();
    command.extend([size.as_str(), runtime.as_str(), filename.as_str()]);
    command.extend(options);
    let output = pinned(&command);
    let fields: Vec<&str> = output.split(';').collect();
    // The eighth field of terse version 3 is the read IOPS, the 49th that of writes.
    let rate: f64 = fields[if case.writes { 48 } else { 7 }].parse().unwrap();
    // Bare percentages are, in this order: of the read and write bandwidth, of user and of system time.
    let percent = |field: &&str| field.strip_suffix('%').and_then(|number| number.parse::<f64>().ok());
    let percentages: Vec<f64> = fields.iter().filter_map(percent).collect();
    Run { rate, cpu: (percentages[2] + percentages[3]) / 100.0 / rate }
}

fn bare_loop(program: &str, case: &Case, file: &Path) -> Run {
    let (block, seconds, depth) = (case.block.to_string(), SECONDS.to_string(), case.depth.to_string());
    let way = if case.place == TargetKind::PageCache { "cached" } else { "direct" };
    let command = [program, case.bare, file.to_str().unwrap(), &block, &seconds, &depth, way];
    Run { rate: pinned(&command).trim().parse().unwrap(), cpu: 0.0 }
}

/// Processor time of this process, in seconds.
fn processor_time() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    // utime and stime of proc(5), in ticks of 10 ms.
    [11, 12].iter().map(|field| fields[*field].parse::<f64>().unwrap() / 100.0).sum()
}

/// One run of iolite with everything recorded.
fn iolite(case: &Case, directory: &Path) -> Run {
    let mut scratch = Scratch::create(directory, &RunId(format!("bench-{}", std::process::id()))).unwrap();
    let path = match case.place {
        TargetKind::Zram => PathBuf::from(Zram::DEVICE),
        TargetKind::PageCache | TargetKind::Disk => directory.join(FILE),
    };
    let overwrite = if case.writes { Overwrite::Anything } else { Overwrite::Never };
    let (offset, size) = (Bytes(0), Bytes(0));
    let target = match case.backend {
        BackendKind::Null => Target::Null { size: SIZE },
        _ => Target::Existing(ExistingTarget { path, offset, size, overwrite }),
    };
    let task = FileTask {
        name: case.name.into(),
        target,
        backend: case.backend,
        block: Bytes(case.block),
        mix: if case.writes { Mix::Write } else { Mix::Read },
        direct: case.place != TargetKind::PageCache,
        concurrency: case.depth,
        stop: Stop { runtime: Some(Nanos::from_secs_f64(SECONDS)), ..Stop::default() },
        ramp: Nanos(100_000_000).into(),
        ..FileTask::default()
    };
    let (clock, before) = (Clock::best(), processor_time());
    let outcome = run_file_task(&task, 0, &mut scratch, clock, &Control::default(), &mut NullSink).unwrap();
    let totals = outcome.totals;
    let kind = if case.writes { OpKind::Write } else { OpKind::Read };
    let (operations, seconds) = (totals.operations(kind) as f64, totals.measured as f64 / 1e9);
    // The processor time is that of the ramp too.
    let share = seconds / (seconds + task.ramp.known_time().as_secs_f64());
    Run { rate: operations / seconds, cpu: (processor_time() - before) * share / operations }
}
