//! Directions, orders, sizes and engines.

use super::*;

#[test]
fn directions_and_orders() {
    let zones = ZoneCycle { range: Bytes(16384), amount: Bytes(8192), skip: Bytes(4096), random: false };
    let zone = |io_percent, size| Zone { io_percent, size: ZoneSize::Percent(size) };
    let jumps = |percent| Access::Jumps(Box::new(Jumps { percent, ..Jumps::default() }));
    let runs = |blocks| Access::Runs { blocks };
    let repeated = |to| Access::Jumps(Box::new(Jumps { to, run: 4, repeat: true, ..Jumps::default() }));
    for (settings, mix, access) in [
        (&[("rw", "read")][..], Mix::Read, Access::Sequential),
        (&[("rw", "write:8k")], Mix::Write, Access::SequentialSkip { hole: Bytes(8192) }),
        (&[("rw", "write:0")], Mix::Write, Access::Sequential),
        (&[("rw", "read:-8k")], Mix::Read, Access::SequentialBack { step: Bytes(8192) }),
        (&[("rw", "rw:-4k")], Mix::ReadPercent(50), Access::SequentialBack { step: Bytes(4096) }),
        (
            &[("rw", "read:-32k"), ("bsrange", "4k-32k")],
            Mix::Read,
            Access::SequentialBack { step: Bytes(32768) },
        ),
        (&[("rw", "trim")], Mix::Trim, Access::Sequential),
        (&[("rw", "trimwrite")], Mix::TrimThenWrite, Access::Sequential),
        (&[("rw", "randtrimwrite")], Mix::TrimThenWrite, Access::Covering),
        (&[("readwrite", "readwrite")], Mix::ReadPercent(50), Access::Sequential),
        (&[("rw", "rw"), ("rwmixread", "70")], Mix::ReadPercent(70), Access::Sequential),
        (
            &[("rw", "randrw"), ("rwmixread", "70"), ("rwmixwrite", "40")],
            Mix::ReadPercent(60),
            Access::Covering,
        ),
        (&[("rw", "randread")], Mix::Read, Access::Covering),
        (&[("rw", "randread"), ("norandommap", "1")], Mix::Read, Access::Random),
        (&[("rw", "randread"), ("blockalign", "2k")], Mix::Read, Access::Random),
        (&[("rw", "randread"), ("percentage_random", "0")], Mix::Read, Access::Sequential),
        (&[("rw", "randread"), ("percentage_random", "25")], Mix::Read, jumps(25)),
        (&[("rw", "randread"), ("percentage_random", "30,7")], Mix::Read, jumps(30)),
        (
            &[("rw", "randrw"), ("percentage_random", "0,7")],
            Mix::ReadPercent(50),
            Access::ByKind(Box::new(iolite_model::ByKind { reads: Access::Sequential, writes: jumps(7) })),
        ),
        (
            &[
                ("rw", "randwrite"),
                ("sprandom", "1"),
                ("spr_op", "0.07"),
                ("spr_num_regions", "4"),
                ("spr_cs", "1k"),
            ],
            Mix::Write,
            Access::Precondition(iolite_model::Precondition {
                over_provisioning: 0.07,
                regions: 4,
                delayed: true,
            }),
        ),
        (&[("rw", "randread"), ("percentage_random", "25"), ("bsrange", "4k-8k")], Mix::Read, runs(4)),
        (
            &[("rw", "randread:4"), ("random_sequence_stride", "16k"), ("random_distribution", "zipf:1.2")],
            Mix::Read,
            Access::Jumps(Box::new(Jumps {
                to: Access::Zipf { theta: 1.2, centre: None },
                run: 4,
                percent: 0,
                step: Bytes(16384),
                repeat: false,
            })),
        ),
        (&[("rw", "randwrite:8")], Mix::Write, runs(8)),
        (&[("rw", "randwrite:1"), ("rw_sequencer", "identical")], Mix::Write, Access::Covering),
        (&[("rw", "randwrite:4"), ("rw_sequencer", "identical")], Mix::Write, repeated(Access::Covering)),
        (
            &[("rw", "randread:4"), ("rw_sequencer", "identical"), ("norandommap", "1")],
            Mix::Read,
            repeated(Access::Random),
        ),
        (
            &[("rw", "randread:4"), ("rw_sequencer", "identical"), ("bsrange", "4k-8k")],
            Mix::Read,
            repeated(Access::Random),
        ),
        (
            &[("rw", "randread"), ("random_distribution", "zipf:1.2:0.3")],
            Mix::Read,
            Access::Zipf { theta: 1.2, centre: Some(0.3) },
        ),
        (
            &[("rw", "randread"), ("random_distribution", "normal:5:0")],
            Mix::Read,
            Access::Normal { deviation_percent: 5.0, centre: Some(0.0) },
        ),
        (&[("rw", "randread"), ("random_distribution", "random")], Mix::Read, Access::Covering),
        (
            &[("rw", "randread"), ("random_distribution", "zipf")],
            Mix::Read,
            Access::Zipf { theta: 1.1, centre: None },
        ),
        (
            &[("rw", "randread"), ("random_distribution", "zipf:1.2")],
            Mix::Read,
            Access::Zipf { theta: 1.2, centre: None },
        ),
        (
            &[("rw", "randread"), ("random_distribution", "pareto")],
            Mix::Read,
            Access::Pareto { h: 0.2, centre: None },
        ),
        (
            &[("rw", "randread"), ("random_distribution", "normal:10")],
            Mix::Read,
            Access::Normal { deviation_percent: 10.0, centre: None },
        ),
        (
            &[("rw", "randwrite"), ("random_distribution", "zoned:60/10:40/30,10/50:90/50")],
            Mix::Write,
            Access::Zoned(vec![zone(10.0, 50.0), zone(90.0, 50.0)]),
        ),
        (
            &[("rw", "randwrite"), ("random_distribution", "zoned_abs:100/64k")],
            Mix::Write,
            Access::Zoned(vec![Zone { io_percent: 100.0, size: ZoneSize::Bytes(Bytes(65536)) }]),
        ),
        (&[("rw", "read"), ("random_distribution", "zipf:1.2")], Mix::Read, Access::Sequential),
        (
            &[("zonemode", "strided"), ("zonesize", "8k"), ("zonerange", "16k"), ("zoneskip", "4k")],
            Mix::Read,
            Access::ZoneCycle(zones),
        ),
        (
            &[("rw", "randread"), ("zonemode", "strided"), ("zonesize", "16k")],
            Mix::Read,
            Access::ZoneCycle(ZoneCycle {
                range: Bytes(16384),
                amount: Bytes(16384),
                skip: Bytes(0),
                random: true,
            }),
        ),
    ] {
        let task = task(settings).unwrap_or_else(|error| panic!("{settings:?}: {error}"));
        assert_eq!((task.mix, task.access), (mix, access), "{settings:?}");
    }
}

#[test]
fn sizes_and_alignments() {
    let fixed = |size| SizeLaw::Fixed(Bytes(size));
    let range =
        |min, max, multiple| SizeLaw::Range { min: Bytes(min), max: Bytes(max), multiple: Bytes(multiple) };
    let split = |sizes: &[(u64, f64)]| {
        let weighted = |&(size, percent)| WeightedSize { size: Bytes(size), percent };
        SizeLaw::Split(sizes.iter().map(weighted).collect())
    };
    let all = |law, alignment| Some(Sizes::alike(law, Bytes(alignment)));
    let (k4, k8) = (4096, 8192);
    for (settings, block, sizes) in [
        (&[("bs", "8k")][..], k8, None),
        (&[("bs", "4k,8k")], k4, None),
        (&[("bs", "4k,8k"), ("rw", "write")], k8, None),
        (&[("bs", ",8k"), ("rw", "write")], k8, None),
        (&[("bs", "8k,64k,4k"), ("rw", "trim")], k4, None),
        (
            &[("bs", "4k,8k"), ("rw", "rw")],
            k4,
            Some(Sizes { reads: fixed(k4), writes: fixed(k8), trims: fixed(k8), alignment: Bytes(k4) }),
        ),
        (&[("bsrange", "4k-16k")], k4, all(range(k4, 16384, k4), k4)),
        (&[("bsrange", "16k:4k")], k4, all(range(k4, 16384, k4), k4)),
        (&[("bsrange", "4k-10k")], k4, all(range(k4, k8, k4), k4)),
        (&[("bsrange", "3k-4k")], 3072, None),
        (&[("bsrange", "4k-5k"), ("bs_unaligned", "1")], k4, all(range(k4, 5120, 1), 1)),
        (&[("bssplit", "4k/40:8k/60")], k4, all(split(&[(k4, 40.0), (k8, 60.0)]), k4)),
        // As fio 3.33 was seen to read shares whose sum is not 100.
        (&[("bssplit", "4k/50:8k/30")], k4, all(split(&[(k8, 30.0), (k4, 70.0)]), k4)),
        (&[("bssplit", "4k/50:8k/80")], k4, all(split(&[(k4, 50.0), (k8, 50.0)]), k4)),
        (&[("bssplit", "4k/80:8k/80")], k4, all(split(&[(k4, 80.0), (k8, 20.0)]), k4)),
        (&[("bssplit", "4k/50:6k/:2k")], 2048, all(split(&[(k4, 50.0), (6144, 25.0), (2048, 25.0)]), 2048)),
        (
            &[("bssplit", "4k/50:6k/50"), ("rw", "randread")],
            k4,
            all(split(&[(k4, 50.0), (6144, 50.0)]), 2048),
        ),
        (
            &[("bssplit", "4k/50:6k/50"), ("rw", "randread"), ("norandommap", "1")],
            k4,
            all(split(&[(k4, 50.0), (6144, 50.0)]), k4),
        ),
        (&[("bssplit", "64k/100"), ("bs", "4k")], 65536, None),
        (&[("bssplit", "4k/100,8k"), ("rw", "write")], k8, None),
        (&[("bs", "4k"), ("blockalign", "2k"), ("rw", "randread")], k4, all(fixed(k4), 2048)),
        (&[("bs", "4k"), ("blockalign", "2k")], k4, None),
        (&[("bs", "4k,8k"), ("bs_is_seq_rand", "1"), ("rw", "randread")], k8, None),
        (&[("bs", "4k,8k"), ("bs_is_seq_rand", "1"), ("rw", "write")], k4, None),
    ] {
        let task = task(settings).unwrap_or_else(|error| panic!("{settings:?}: {error}"));
        assert_eq!((task.block, task.sizes), (Bytes(block), sizes), "{settings:?}");
    }
}

#[test]
fn engines_are_back_ends() {
    let ring = |change: fn(&mut RingOptions)| {
        let mut options = RingOptions::default();
        change(&mut options);
        BackendKind::IoUring(options)
    };
    let flags = |change: fn(&mut IoFlags)| {
        let mut flags = IoFlags::default();
        change(&mut flags);
        BackendKind::Vectored(flags)
    };
    for (settings, backend) in [
        (&[("ioengine", "sync")][..], BackendKind::Seek),
        (&[("ioengine", "psync")], BackendKind::Sync),
        (&[("ioengine", "vsync")], flags(|_| {})),
        (&[("ioengine", "pvsync")], flags(|_| {})),
        (&[("ioengine", "pvsync2"), ("nowait", "1")], flags(|flags| flags.nowait = true)),
        (&[("ioengine", "pvsync2"), ("hipri", "1"), ("direct", "1")], flags(|flags| flags.hipri = true)),
        (&[("ioengine", "pvsync2"), ("uncached", "1")], flags(|flags| flags.dontcache = true)),
        (&[("ioengine", "pvsync2"), ("atomic", "1"), ("rw", "write")], flags(|flags| flags.atomic = true)),
        (&[("ioengine", "io_uring")], ring(|_| {})),
        (&[("ioengine", "io_uring"), ("hipri", "1")], ring(|options| options.completion_polling = true)),
        (&[("ioengine", "io_uring"), ("sqthread_poll", "1")], ring(|options| options.submit_polling = true)),
        (&[("ioengine", "io_uring"), ("force_async", "4")], ring(|options| options.force_async = 4)),
        (&[("ioengine", "io_uring"), ("nowait", "1")], ring(|options| options.nowait = true)),
        (&[("ioengine", "io_uring"), ("uncached", "1")], ring(|options| options.dontcache = true)),
        (&[("ioengine", "io_uring"), ("sqthread_poll_cpu", "1")], ring(|_| {})),
        (
            &[("ioengine", "io_uring"), ("sqthread_poll", "1"), ("sqthread_poll_cpu", "1")],
            ring(|options| (options.submit_polling, options.submit_polling_cpu) = (true, Some(1))),
        ),
        (&[("ioengine", "libaio")], BackendKind::Libaio),
        (&[("ioengine", "posixaio")], BackendKind::Threads),
        (&[("ioengine", "mmap")], BackendKind::Mmap),
        (&[("ioengine", "splice")], BackendKind::Splice),
        (&[("ioengine", "null")], BackendKind::Null),
        (&[("ioengine", "falloc")], BackendKind::Fallocate),
        (&[("ioengine", "ftruncate"), ("rw", "write")], BackendKind::Truncate),
        (&[("ioengine", "e4defrag"), ("rw", "write"), ("donorname", "d")], BackendKind::MoveExtents),
        (
            &[("ioengine", "cpuio"), ("cpuload", "50"), ("cpuchunks", "1000"), ("runtime", "1")],
            BackendKind::Busy(BusyOptions { percent: 50, chunk: Nanos::MILLISECOND, work: BusyWork::Spin }),
        ),
        (
            &[("ioengine", "cpuio"), ("cpuload", "5"), ("cpumode", "qsort"), ("runtime", "1")],
            BackendKind::Busy(BusyOptions { percent: 5, chunk: Nanos(50_000_000), work: BusyWork::Sort }),
        ),
    ] {
        let task = task(settings).unwrap_or_else(|error| panic!("{settings:?}: {error}"));
        assert_eq!(task.backend, backend, "{settings:?}");
        let nothing = matches!(backend, BackendKind::Null | BackendKind::Busy(_));
        assert_eq!(matches!(task.target, Target::Null { .. }), nothing, "{settings:?}");
    }
    let null = task(&[("ioengine", "null"), ("direct", "1"), ("nrfiles", "4")]).unwrap();
    assert_eq!(null.target, Target::Null { size: Bytes::MIB });
    assert!(!null.direct && !null.cache.invalidate);
}

#[test]
fn every_engine_is_built_or_refused_with_a_remedy() {
    use crate::language::options::engine::{ENGINES, Kind};
    for engine in ENGINES {
        let result = spec(&[("ioengine", engine.name)]);
        match engine.kind {
            Kind::Missing(remedy) => {
                assert!(result.unwrap_err().to_string().ends_with(remedy), "{}", engine.name)
            }
            Kind::Io | Kind::Names(_) => assert!(result.is_ok(), "{}", engine.name),
        }
    }
    let unknown = spec(&[("ioengine", "iouring")]).unwrap_err().to_string();
    assert!(unknown.contains("no engine `iouring`") && unknown.contains("io_uring"), "{unknown}");
}
