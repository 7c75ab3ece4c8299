use std::path::PathBuf;

use iolite_model::*;
use proptest::prelude::*;

use super::*;

#[test]
fn a_job_says_what_is_different_from_the_default() {
    let job = parse(
        r#"
        name = "two"
        [[tasks]]
        [tasks.io]
        mix = { read-percent = 70 }
        block = "8KiB"
        stop.runtime = "5s"
        start.delay = "1s"
        durability.sync = { every = 1 }
        cache = { invalidate = true }
        errors = { stop = ["device"], max = 3 }
        [[tasks]]
        [tasks.metadata]
        name = "make files"
        operation = "create"
        together = true
        "#,
    )
    .unwrap();
    let [JobTask::Io(io), JobTask::Metadata(metadata)] = job.tasks.as_slice() else { panic!("{job:?}") };
    assert_eq!((io.name.as_str(), io.mix, io.block), ("task 1", Mix::ReadPercent(70), Bytes(8192)));
    assert_eq!((io.stop.runtime, io.start.delay), (Some(Nanos(5_000_000_000)), Nanos::SECOND));
    assert_eq!(io.durability, WriteDurability::synced(SyncRule::fdatasync(1)));
    assert_eq!((io.cache, io.errors.max, io.errors.max_service), (PageCache::INVALIDATED, Some(3), None));
    assert_eq!((metadata.name.as_str(), job.sets().len()), ("make files", 1));
    let printed = print(&job).unwrap();
    assert!(!printed.contains("workers"), "{printed}");
    assert!(printed.contains("[tasks.io]\nblock = 8192\n"), "{printed}");
}

#[test]
fn what_is_no_job_is_reported_with_its_place() {
    for (text, part) in [
        ("", "it has no task"),
        ("[[tasks]]\n[tasks.io]\nblok = 1\n", "unknown field `blok`"),
        ("[[tasks]]\n[tasks.io]\nblock = \"8 parsecs\"\n", "8 parsecs"),
        ("[[tasks]]\n[tasks.io]\nworkers = -1\n", "line 3"),
        ("[[tasks]]\n[tasks.io]\ncache.drop = true\n", "unknown field `drop`"),
        ("[[tasks]]\n[tasks.io]\ntogether = true\n", "unknown field `together`"),
        ("[[tasks]]\n[tasks.dance]\n", "unknown variant `dance`"),
        ("\u{0}", "line 1"),
    ] {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.contains(part), "{text:?}: {error}");
    }
}

#[test]
fn what_toml_has_no_number_for_is_refused() {
    let task = FileTask { name: "a".into(), seed: u64::MAX, ..FileTask::default() };
    let job = Job { name: String::new(), tasks: vec![JobTask::Io(Box::new(task))] };
    assert!(print(&job).unwrap_err().to_string().contains("cannot be written as TOML"));
}

fn bytes() -> impl Strategy<Value = Bytes> {
    (0..1u64 << 63).prop_map(Bytes)
}

fn nanos() -> impl Strategy<Value = Nanos> {
    (0..1u64 << 63).prop_map(Nanos)
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![0.0..1e12f64, Just(0.0), Just(1.0), Just(f64::INFINITY)]
}

fn text() -> impl Strategy<Value = String> {
    ".{1,12}"
}

fn path() -> impl Strategy<Value = PathBuf> {
    text().prop_map(PathBuf::from)
}

fn target() -> impl Strategy<Value = Target> {
    let overwrite = prop::sample::select(vec![Overwrite::Never, Overwrite::Blank, Overwrite::Anything]);
    let order = prop_oneof![
        any::<u32>().prop_map(|turns| FileOrder::RoundRobin(turns.into())),
        Just(FileOrder::Sequential),
        number().prop_map(FileOrder::Zipf),
    ];
    let lay_out = prop::sample::select(vec![LayOut::Never, LayOut::Needed, LayOut::Always, LayOut::Grow]);
    let file = (path(), bytes(), bytes()).prop_map(|(path, offset, size)| NamedFile { path, offset, size });
    let files =
        (prop::collection::vec(file, 1..4), order, overwrite.clone(), lay_out, any::<(bool, u32, u32)>())
            .prop_map(|(files, order, overwrite, lay_out, (remove, open, parts_anew))| {
                let reserve = Reserve::KeepSize;
                Target::Files(FilesTarget {
                    files,
                    order,
                    open,
                    parts_anew,
                    lock: if remove { FileLock::ReadWrite } else { FileLock::None },
                    overwrite,
                    lay_out,
                    reserve,
                    donor: remove.then(|| Donor { path: "donor".into(), each_time: open > 7 }),
                    remove,
                })
            });
    prop_oneof![
        bytes().prop_map(|size| Target::Null { size }),
        (path(), bytes(), any::<bool>(), any::<bool>()).prop_map(|(name, size, create, per_worker)| {
            Target::File(FileTarget { name, size, create, preallocate: !create, per_worker })
        }),
        (path(), bytes(), bytes(), overwrite).prop_map(|(path, offset, size, overwrite)| {
            Target::Existing(ExistingTarget { path, offset, size, overwrite })
        }),
        files,
    ]
}

fn backend() -> impl Strategy<Value = BackendKind> {
    prop_oneof![
        Just(BackendKind::Sync),
        (any::<bool>(), any::<bool>()).prop_map(|(submit_polling, linked_sync)| {
            BackendKind::IoUring(RingOptions { submit_polling, linked_sync, ..RingOptions::PLAIN })
        }),
        any::<bool>().prop_map(|dsync| BackendKind::Vectored(IoFlags { dsync, ..IoFlags::default() })),
        (any::<u8>(), nanos(), any::<bool>()).prop_map(|(percent, chunk, sorts)| {
            let work = if sorts { BusyWork::Sort } else { BusyWork::Spin };
            BackendKind::Busy(BusyOptions { percent, chunk, work })
        }),
    ]
}

fn access() -> impl Strategy<Value = Access> {
    let zone = (number(), bytes(), any::<bool>()).prop_map(|(io_percent, bytes, percent)| Zone {
        io_percent,
        size: if percent { ZoneSize::Percent(io_percent) } else { ZoneSize::Bytes(bytes) },
    });
    prop_oneof![
        Just(Access::Sequential),
        Just(Access::Random),
        bytes().prop_map(|hole| Access::SequentialSkip { hole }),
        bytes().prop_map(|step| Access::SequentialBack { step }),
        (number(), prop::option::of(number())).prop_map(|(theta, centre)| Access::Zipf { theta, centre }),
        prop::collection::vec(zone, 0..3).prop_map(Access::Zoned),
        (bytes(), bytes(), any::<bool>()).prop_map(|(range, amount, random)| {
            Access::ZoneCycle(ZoneCycle { range, amount, skip: amount, random })
        }),
    ]
}

fn mix() -> impl Strategy<Value = Mix> {
    prop_oneof![
        Just(Mix::Write),
        any::<u8>().prop_map(Mix::ReadPercent),
        any::<u8>().prop_map(Mix::TrimPercent)
    ]
}

fn arrival() -> impl Strategy<Value = Arrival> {
    prop_oneof![
        Just(Arrival::Closed),
        number().prop_map(|rate| Arrival::Poisson(Iops(rate))),
        number().prop_map(|rate| Arrival::ConstantBytes(Bandwidth(rate))),
        (number(), any::<u32>())
            .prop_map(|(rate, operations)| Arrival::Bursts { rate: Iops(rate), operations }),
        (nanos(), any::<u32>(), nanos()).prop_map(|(pause, operations, spin)| Arrival::ThinkTime {
            pause,
            io_time: Nanos(u64::from(operations)),
            operations,
            spin
        }),
        (nanos(), number(), any::<bool>()).prop_map(|(pause, rate, catch_up)| {
            let schedule = Schedule::ConstantBytes(Bandwidth(rate));
            let (operations, io_time, spin) = (1, pause, pause);
            Arrival::RatedThinkTime(RatedThinkTime { pause, operations, io_time, spin, schedule, catch_up })
        }),
    ]
}

fn sizes() -> impl Strategy<Value = Sizes> {
    let split = (bytes(), number()).prop_map(|(size, percent)| WeightedSize { size, percent });
    let law = prop_oneof![
        bytes().prop_map(SizeLaw::Fixed),
        prop::collection::vec(split, 1..3).prop_map(SizeLaw::Split),
        (bytes(), bytes()).prop_map(|(min, max)| SizeLaw::Range { min, max, multiple: min }),
    ];
    (law.clone(), law, bytes()).prop_map(|(reads, writes, alignment)| Sizes {
        reads,
        trims: writes.clone(),
        writes,
        alignment,
    })
}

fn contents() -> impl Strategy<Value = Contents> {
    let fill = prop_oneof![
        Just(Fill::Zeros),
        prop::collection::vec(any::<u8>(), 0..4).prop_map(Fill::Pattern),
        (any::<u8>(), prop::collection::vec(any::<u8>(), 0..4)).prop_map(|(percent, pattern)| {
            Fill::Compressible { percent, pattern, chunk: Bytes(percent.into()) }
        }),
    ];
    (fill, any::<u8>(), any::<bool>()).prop_map(|(fill, duplicate_percent, refill)| Contents {
        fill,
        duplicate_percent,
        duplicates: if refill { Duplicates::Common(7) } else { Duplicates::Previous },
        refill,
        scramble: !refill,
        lifetime: refill.then_some(Lifetime::Short),
    })
}

fn stop() -> impl Strategy<Value = Stop> {
    (prop::option::of(nanos()), prop::option::of(bytes()), prop::option::of(any::<u32>()))
        .prop_map(|(runtime, bytes, loops)| Stop { runtime, bytes, loops, ..Stop::default() })
}

fn io() -> impl Strategy<Value = FileTask> {
    let names = (text(), prop::option::of(text()), prop::option::of(text()));
    let work = (target(), backend(), mix(), access(), prop::option::of(sizes()), contents());
    let course = (arrival(), stop(), nanos(), any::<u32>(), any::<bool>(), prop::option::of(path()));
    (names, work, course).prop_map(|((name, group, after), work, course)| {
        let (target, backend, mix, access, sizes, contents) = work;
        let (arrival, stop, ramp, number, flag, state) = course;
        FileTask {
            name,
            group,
            target,
            backend,
            mix,
            access,
            sizes,
            contents,
            arrival,
            stop,
            ramp: if flag { Ramp::Time(ramp) } else { Ramp::Amount(Bytes(ramp.0)) },
            zoned: flag.then(|| Zoned {
                size: Bytes(u64::from(number)),
                max_open: number,
                resets: Some(ZoneResets { threshold: 0.5, frequency: 0.25 }),
                ..Zoned::default()
            }),
            workers: number,
            direct: flag,
            seed: u64::from(number),
            batch: Batch { submit: number, low: number, disjoint: flag, ..Batch::default() },
            block: Bytes(u64::from(number) % 3 * 4096),
            regions: if flag { Regions::Slices } else { Regions::Increment(Bytes(u64::from(number))) },
            concurrency: number,
            interval: Nanos(number.into()),
            errors: OnError {
                stop: if flag { vec![ErrorClass::Space] } else { ErrorClass::ALL.to_vec() },
                max: flag.then_some(number.into()),
                max_service: flag.then_some(Nanos(number.into())),
                max_service_of: vec![KindLimit { kind: OpKind::Write, max: Nanos(number.into()) }],
            },
            placement: Placement {
                processes: flag,
                cpus: vec![number],
                nodes: vec![number, number],
                one_each: flag,
                memory: if flag { MemoryPolicy::Bind(vec![number]) } else { MemoryPolicy::Prefer(number) },
                nice: flag.then_some(-3),
                io_priority: flag.then_some(IDLE),
                user: flag.then_some(number),
                group: flag.then_some(number),
                thread_name: flag.then(|| "named".into()),
                locked_memory: flag.then_some(Bytes::MIB),
                control_group: flag.then(|| "group/jobs".into()),
                huge_pages: flag.then_some(Bytes(2 << 20)),
                huge_mapping: flag,
            },
            priorities: vec![PriorityShare {
                of: if flag { Prioritized::Reads } else { Prioritized::Writes },
                size: flag.then_some(Bytes(u64::from(number))),
                percent: f64::from(number),
                priority: IDLE,
            }],
            verify: state.map(|state| Verify {
                check: Checksum::Sha256,
                unit: Bytes(512),
                reads: flag,
                anyone: !flag,
                after: flag,
                block: Bytes(0),
                by_write: flag,
                passes: number,
                backlog: number,
                backlog_batch: number,
                offsets: vec![number],
                state: Some(state),
                ..Verify::default()
            }),
            watch: Watch { detail: flag, operations: !flag },
            start: Start { after, together: flag, delay: Nanos(number.into()) },
            durability: WriteDurability {
                range: RangeSync { wait_before: false, ..RangeSync::ALL },
                sync: flag.then_some(SyncRule { every: number, method: SyncMethod::FileRange }),
                also: vec![SyncRule { every: number, method: SyncMethod::Fsync }],
                end_sync: (!flag).then_some(SyncMethod::Fsync),
                open: flag.then_some(OpenSync::All),
            },
            cache: PageCache { invalidate: flag, advice: if flag { Advice::Random } else { Advice::None } },
            flow: flag.then_some(Flow { group: 3, weight: number, pause: Nanos(number.into()) }),
        }
    })
}

const IDLE: IoPriority = IoPriority { class: IoClass::Idle, level: 2, hint: 0 };

fn metadata() -> impl Strategy<Value = MetadataTask> {
    (text(), path(), any::<u32>(), stop(), any::<bool>()).prop_map(|(name, tree, number, stop, flag)| {
        let operation = if flag { MetadataOperation::Unlink } else { MetadataOperation::Create };
        let files = u64::from(number);
        MetadataTask {
            name,
            named: if flag { vec![tree.clone()] } else { Vec::new() },
            keep_existing: flag,
            remove: flag,
            report_operations: flag,
            tree,
            files,
            stop,
            operation,
            together: flag,
            ..MetadataTask::default()
        }
    })
}

proptest! {
    #[test]
    fn what_is_printed_is_read_the_same(
        name in ".{0,8}",
        tasks in prop::collection::vec(
            prop_oneof![
                io().prop_map(|task| JobTask::Io(Box::new(task))),
                metadata().prop_map(JobTask::Metadata),
            ],
            1..4,
        ),
    ) {
        let job = Job { name, tasks };
        let printed = print(&job).unwrap();
        prop_assert_eq!(parse(&printed).map_err(|error| format!("{error}\n{printed}")), Ok(job));
    }
}

#[test]
fn what_is_too_large_to_be_printed_is_refused() {
    let job = |size: &str| {
        format!(
            "[[tasks]]\n[tasks.io]\ntarget.file = {{ name = 'data', size = '{size}', create = true }}\nstop.loops = 1\n"
        )
    };
    assert!(matches!(parse(&job("9000000TiB")), Err(JobError::TooLarge)));
    assert!(parse(&job("8000000TiB")).is_ok());
}
