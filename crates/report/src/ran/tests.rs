mod document;

use iolite_model::{
    Bytes, DbOperation, DeviceCounters, Durability, Ending, Filesystem, Nanos, OpKind, Physical, Stop,
    Storage, Task, TimedBy, Warning,
};
use serde_json::Value;

use super::*;
use crate::styler::is_unsafe;
use crate::synthetic::{self, keys};

const UNICODE: Style = Style { color: false, unicode: true, width: 110 };

const SET: DbOperation = DbOperation::RanWrite { transaction_length: 50, hang: Nanos(2_000_000) };

const BOTH: DbOperation = DbOperation::RanIo { transaction_length: 50, hang: Nanos(0), read_percent: 50 };

fn facts() -> DatabaseFacts {
    DatabaseFacts {
        phase: 0,
        url: "postgres://bench@localhost/perf".into(),
        namespace: "perf".into(),
        engine: "PostgreSQL".into(),
        version: "15.8".into(),
        block: Bytes(8192),
        size: Bytes(35 << 29),
        blocks: 2_097_152,
        globals: vec![1_000_000; 10],
        read_path: "pg_prewarm in its read mode, a block a call, past the shared buffers".into(),
        write_path: "prepared UPDATE by key, one table per global".into(),
        durability: Durability::Full,
        durable_by: "synchronous_commit on, fsync on".into(),
        direct: false,
        timed_by: TimedBy::Database,
        settings: vec![
            ("shared_buffers".into(), "128MB".into()),
            ("full_page_writes".into(), "on".into()),
            ("wal_sync_method".into(), "fdatasync".into()),
        ],
    }
}

/// Nothing counted but time.
fn idle() -> DatabaseUse {
    DatabaseUse {
        phase: 0,
        data_device: None,
        log_device: None,
        database: Physical::default(),
        writer_active: None,
        observed: Nanos(252_000_000),
        tool_cpu: Nanos(3_100_000),
        host_cpu: Some(Nanos(91_000_000)),
    }
}

fn device(reads: u64, writes: u64, written: u64, flushes: u64) -> DeviceCounters {
    DeviceCounters { reads, read: Bytes(reads * 8192), writes, written: Bytes(written), flushes }
}

fn run(phase: PhaseResult, used: DatabaseUse) -> Run {
    let mut run = synthetic::of_phases(vec![phase]);
    run.databases = [(0, facts())].into();
    run.database_use = [(0, used)].into();
    run
}

fn reads() -> Run {
    let task = synthetic::database("RanRead", DbOperation::RanRead, 20);
    let mut phase = synthetic::phase(0, task, &[(OpKind::Read, 2_788.0, 7_200_000.0, 8192, 0)]);
    phase.end.cache.device_read = Some(Bytes(523 * 8192));
    let database =
        Physical { data_reads: Some(697), data_read_bytes: Some(697 * 8192), ..Physical::default() };
    run(phase, DatabaseUse { data_device: Some(device(523, 4, 16_384, 1)), database, ..idle() })
}

/// On an SQLite within the program, whose log is on the data's device.
fn sets() -> Run {
    let loads = [(OpKind::Write, 24_000.0, 9_000.0, 74, 0), (OpKind::Commit, 480.0, 1_900_000.0, 0, 0)];
    let phase = synthetic::phase(0, synthetic::database("RanWrite", SET, 1), &loads);
    let database = Physical {
        data_reads: Some(2_500),
        data_read_bytes: Some(2_500 * 8192),
        data_writes: Some(240),
        data_write_bytes: Some(240 * 8192),
        data_syncs: Some(2),
        log_writes: Some(5_760),
        log_write_bytes: Some(5_760 * 8216),
        log_syncs: Some(60),
    };
    let used = DatabaseUse {
        data_device: Some(device(2_520, 610, 612 * 82_160, 244)),
        database,
        writer_active: Some(Nanos(12_600_000)),
        tool_cpu: Nanos(80_000_000),
        ..idle()
    };
    let facts = DatabaseFacts {
        url: "sqlite:/srv/data".into(),
        namespace: String::new(),
        engine: "SQLite".into(),
        version: "3.46.0".into(),
        globals: vec![1_000_000],
        direct: true,
        durability: Durability::Relaxed,
        durable_by: "write-ahead log, synced at checkpoints only (synchronous=NORMAL)".into(),
        timed_by: TimedBy::Client,
        settings: Vec::new(),
        ..facts()
    };
    let mut run = run(phase, used);
    run.databases = [(0, facts)].into();
    run
}

/// After a ramp, with a log on a device of its own.
fn both() -> Run {
    let Task::Database(mut task) = synthetic::database("RanIO", BOTH, 10) else { panic!("a database") };
    task.ramp = Nanos(250_000_000);
    task.stop = Stop { runtime: Some(Nanos(250_000_000)), ..Stop::default() };
    let loads = [
        (OpKind::Read, 12_000.0, 600_000.0, 8192, 0),
        (OpKind::Write, 12_000.0, 30_000.0, 74, 0),
        (OpKind::Commit, 240.0, 4_000_000.0, 0, 0),
    ];
    let used = DatabaseUse {
        // Of the ramp too, which did half as many operations.
        data_device: Some(device(4_950, 525, 525 * 16_384, 6)),
        log_device: Some(device(0, 90, 90 * 20_000, 90)),
        writer_active: Some(Nanos(100_000_000)),
        observed: Nanos(500_000_000),
        ..idle()
    };
    run(synthetic::phase(0, Task::Database(task), &loads), used)
}

/// On another host, interrupted.
fn remote() -> Run {
    let mut report = sets();
    report.info.storage = Storage { filesystem: Filesystem::default(), ..Storage::default() };
    let facts = DatabaseFacts {
        url: "mysql://bench@db7:3306/perf".into(),
        globals: vec![900_000, 1_000_000],
        ..facts()
    };
    report.databases = [(0, facts)].into();
    report.database_use = [(0, DatabaseUse { host_cpu: None, ..idle() })].into();
    report.ending = Some(Ending::Interrupted);
    report.warnings = vec![Warning::Volatile { device: "zram0".into() }];
    report.phases[0].end.ending = Ending::Interrupted;
    report
}

/// What stands below the machine.
fn body(report: &Run, style: Style) -> String {
    let text = text(report, style);
    text.split_once("kvm\n").map_or(String::new(), |(_, body)| body.to_owned())
}

#[test]
fn random_reads() {
    let text = body(&reads(), UNICODE);
    assert!(text.lines().all(|line| line.chars().count() <= 110), "{text}");
    insta::assert_snapshot!(text, @"
    database PostgreSQL 15.8, perf
    contents 17.5 GiB; 2,097,152 blocks of 8 KiB to read; 10 globals × 1,000,000 subscripts
    reads    pg_prewarm in its read mode, a block a call, past the shared buffers
    sets     prepared UPDATE by key, one table per global
    direct   no: block reads may be served by the page cache
    durable  full: synchronous_commit on, fsync on
    timed    by the database, which runs whole batches; response times exclude the round trip
    settings shared_buffers 128MB, full_page_writes on, wal_sync_method fdatasync

       does     reads blocks by number, at random
       load     20 jobs
       time     to its end

    20 processes (0.25 seconds) average response time = 7.02ms
    Calculated IOPS = 2788
       p50 6.86 ms, p95 9.81 ms, p99 10.1 ms, p99.9 -, max 40.0 ms; IOPS ± 8.6 %
       PerfTools, which do not time operations, would print 7.17ms: 0.25 s × 20 processes / 697 reads, including
       all time between them

              operations   IOPS      ±  MiB/s     mean      p50      p90      p99  p99.9  p99.99      max
       reads         697  2,788  8.6 %   21.8  7.02 ms  6.86 ms  9.48 ms  10.1 ms      -       -  40.0 ms
       timeline ██████████ 2,720 to 2,880 IOPS, 25.0 ms per mark
       cache    partly cached (25 %): a cache served a part of it

    physical against logical, over 252 ms
                       reads     bytes  writes   bytes  syncs
       requested         697  5.45 MiB       0     0 B      0
       device            523  4.09 MiB       4  16 KiB      1
       database: data    697  5.45 MiB       -       -      -
       database: log       -         -       -       -      -
       reads    0.75 device reads per block read (1.00 according to the database's own counters): at least 25 % of
                the blocks came from a cache
       CPU      iolite used 3.10 ms in 252 ms (1.2 % of one CPU): 3.4 % of the 91.0 ms of CPU time used on this
                host

    ±: 95 % interval of the rate, within this run; -: too few operations, or not counted; requested: block reads;
    device: including I/O of other programs; database: its own system calls
    ");
}

#[test]
fn random_sets_within_the_program() {
    insta::assert_snapshot!(body(&sets(), UNICODE), @"
    database SQLite 3.46.0, inside the iolite process
    contents 17.5 GiB; 2,097,152 blocks of 8 KiB to read; 1 global × 1,000,000 subscripts
    reads    pg_prewarm in its read mode, a block a call, past the shared buffers
    sets     prepared UPDATE by key, one table per global
    direct   yes: block reads bypass the page cache
    durable  relaxed: write-ahead log, synced at checkpoints only (synchronous=NORMAL)
    timed    by the client, around each call

       does     sets 50 subscripts of its global in a transaction, at random, with a pause of 2.00 ms after each
       load     1 job
       time     to its end

    1 processes (0.25 seconds) average response time = 0.00887ms
    Calculated IOPS = 24000
       p50 8.59 µs, p95 12.3 µs, p99 12.6 µs, p99.9 50.0 µs, max 111 µs; IOPS ± 7.0 %
       PerfTools, which do not time operations, would print 0.0417ms: 0.25 s × 1 process / 6,000 sets, including
       commits, pauses and all other time between them

                operations    IOPS      ±  MiB/s     mean      p50      p90      p99    p99.9  p99.99      max
       sets          6,000  24,000  7.0 %    1.7  8.88 µs  8.59 µs  11.9 µs  12.6 µs  50.0 µs       -   111 µs
       commits         120     480  4.0 %      -  1.83 ms  1.82 ms  2.49 ms        -        -       -  5.07 ms
       timeline ██████████ 23,360 to 24,520 IOPS, 25.0 ms per mark

    physical against logical, over 252 ms
                       reads     bytes  writes     bytes  syncs
       requested           0       0 B   6,000   434 KiB    120
       device          2,520  19.7 MiB     610  48.0 MiB    244
       database: data  2,500  19.5 MiB     240  1.88 MiB      2
       database: log       -         -   5,760  45.1 MiB     60
       reads    0.42 device reads per set, including I/O of other programs: blocks that are not in the database's
                memory are read before they are changed
       sets     0.040 data writes per set according to iolite's count of the database's system calls: 25.0 sets
                were coalesced into each; 0.10 device writes and 8.18 KiB per set of 74 B, the log's among them
       log      7.70 KiB per set, 385 KiB per commit, 48.0 writes per commit, 0.50 syncs per commit: 2.00 commits
                share one, 2.03 device flushes per commit
       writer   data files were written during 12.6 ms of 252 ms (5.0 %)
       CPU      iolite used 80.0 ms in 252 ms (32 % of one CPU): 88 % of the 91.0 ms of CPU time used on this
                host; this includes the database

    ±: 95 % interval of the rate, within this run; -: too few operations, or not counted; sets are in the
    database's memory until their commit; requested: block reads, sets, commits; device: including I/O of other
    programs; database: its system calls, counted by iolite
    ");
}

/// SQLite counts nothing: the numbers are of this program, which sees its calls. Of a server that does not count the reads of a run
/// nothing is said.
#[test]
fn own_counts_are_not_presented_as_the_databases() {
    let embedded = body(&sets(), UNICODE);
    assert!(embedded.contains("according to iolite's count of the database's system calls"), "{embedded}");
    assert!(!embedded.contains("own count"), "{embedded}");
    let mut uncounted = reads();
    let used = uncounted.database_use.values_mut().next().unwrap();
    (used.database.data_reads, used.database.data_read_bytes) = (None, None);
    let text = body(&uncounted, UNICODE);
    assert!(text.contains("device reads per block read") && !text.contains("own count"), "{text}");
}

#[test]
fn both_after_a_ramp() {
    insta::assert_snapshot!(body(&both(), UNICODE), @"
    database PostgreSQL 15.8, perf
    contents 17.5 GiB; 2,097,152 blocks of 8 KiB to read; 10 globals × 1,000,000 subscripts
    reads    pg_prewarm in its read mode, a block a call, past the shared buffers
    sets     prepared UPDATE by key, one table per global
    direct   no: block reads may be served by the page cache
    durable  full: synchronous_commit on, fsync on
    timed    by the database, which runs whole batches; response times exclude the round trip
    settings shared_buffers 128MB, full_page_writes on, wal_sync_method fdatasync

       does     reads 50 blocks by number in 50 % of its cycles, and in 50 % sets 50 subscripts of its global in a
                transaction, all at random, without a pause
       load     10 jobs
       time     for 250 ms, after a ramp of 250 ms, which is not measured

    10 processes (0.25 seconds) average response time = 0.310ms
    Calculated IOPS = 24000
       p50 301 µs, p95 792 µs, p99 835 µs, p99.9 3.02 ms, max 6.74 ms; IOPS ± 7.5 %
       PerfTools, which do not time operations, would print 0.417ms: 0.25 s × 10 processes / 6,000 reads and sets,
       including commits, pauses and all other time between them

                operations    IOPS      ±  MiB/s     mean      p50      p90      p99  p99.9  p99.99      max
       reads         3,000  12,000  7.5 %   93.8   591 µs   573 µs   792 µs   840 µs      -       -  6.74 ms
       sets          3,000  12,000  7.5 %    0.8  29.5 µs  28.7 µs  39.6 µs  42.0 µs      -       -   337 µs
       commits          60     240  0.0 %      -  3.80 ms  3.75 ms  5.20 ms        -      -       -  5.57 ms
       timeline ██████████ 23,280 to 24,560 IOPS, 25.0 ms per mark
       cache    device: what was requested reached the device

    physical against logical, over 500 ms
                    reads     bytes  writes     bytes  syncs
       requested    4,500  35.2 MiB   4,500   325 KiB     90
       data device  4,950  38.7 MiB     525  8.20 MiB      6
       log device       0       0 B      90  1.72 MiB     90
       over     all counts refer to the whole 500 ms, including the ramp of 250 ms
       reads    1.10 device reads per block read, including reads caused by sets
       sets     0.12 device writes and 1.87 KiB per set of 74 B: 8.57 sets were coalesced into each
       log      400 B per set, 19.5 KiB per commit, 1.00 writes per commit, 1.00 syncs per commit, by its device
       writer   data files were written during 100 ms of 500 ms (20 %)
       CPU      iolite used 3.10 ms in 500 ms (0.6 % of one CPU): 3.4 % of the 91.0 ms of CPU time used on this
                host

    ±: 95 % interval of the rate, within this run; -: too few operations, or not counted; sets are in the
    database's memory until their commit; requested: block reads, sets, commits; device: including I/O of other
    programs; database: its own system calls
    ");
}

#[test]
fn a_remote_database_and_an_interrupted_run() {
    insta::assert_snapshot!(text(&remote(), UNICODE), @"
    iolite 0.1.0: RanWrite on mysql://bench@db7:3306/perf
    storage  not visible from this host
    host     db1: Example CPU 3000, 4 CPUs, 16 GiB memory, Linux 6.12.0 x86_64, virtualised by kvm
    database PostgreSQL 15.8, perf
    contents 17.5 GiB; 2,097,152 blocks of 8 KiB to read; 2 globals of 900,000 to 1,000,000 subscripts
    reads    pg_prewarm in its read mode, a block a call, past the shared buffers
    sets     prepared UPDATE by key, one table per global
    direct   no: block reads may be served by the page cache
    durable  full: synchronous_commit on, fsync on
    timed    by the database, which runs whole batches; response times exclude the round trip
    settings shared_buffers 128MB, full_page_writes on, wal_sync_method fdatasync

       does     sets 50 subscripts of its global in a transaction, at random, with a pause of 2.00 ms after each
       load     1 job
       time     to its end

    1 processes (0.25 seconds) average response time = 0.00887ms
    Calculated IOPS = 24000
       p50 8.59 µs, p95 12.3 µs, p99 12.6 µs, p99.9 50.0 µs, max 111 µs; IOPS ± 7.0 %
       PerfTools, which do not time operations, would print 0.0417ms: 0.25 s × 1 process / 6,000 sets, including
       commits, pauses and all other time between them

                operations    IOPS      ±  MiB/s     mean      p50      p90      p99    p99.9  p99.99      max
       sets          6,000  24,000  7.0 %    1.7  8.88 µs  8.59 µs  11.9 µs  12.6 µs  50.0 µs       -   111 µs
       commits         120     480  4.0 %      -  1.83 ms  1.82 ms  2.49 ms        -        -       -  5.07 ms
       timeline ██████████ 23,360 to 24,520 IOPS, 25.0 ms per mark
       ended    interrupted

    physical against logical, over 252 ms
                  reads  bytes  writes    bytes  syncs
       requested      0    0 B   6,000  434 KiB    120
       device   the device counters of the database are not available: it is on another host, or on a file system
                without a device; the database does not count its own operations either
       writer   when data files were written is not known: the database does not count it
       CPU      iolite used 3.10 ms in 252 ms (1.2 % of one CPU); the CPU time used on this host is not known

    ±: 95 % interval of the rate, within this run; -: too few operations, or not counted; sets are in the
    database's memory until their commit; requested: block reads, sets, commits; device: including I/O of other
    programs; database: its own system calls

    warnings
      1. zram0 keeps its data in memory and loses it at the next restart: measure the storage that the database
         will use

    INTERRUPTED: this contains the results measured so far
    ");
}

#[test]
fn a_narrow_terminal_without_unicode_gets_what_fits() {
    let text = body(&both(), Style { unicode: false, width: 60, ..UNICODE });
    assert!(text.is_ascii());
    insta::assert_snapshot!(text, @"
    database PostgreSQL 15.8, perf
    contents 17.5 GiB; 2,097,152 blocks of 8 KiB to read; 10
             globals x 1,000,000 subscripts
    reads    pg_prewarm in its read mode, a block a call, past
             the shared buffers
    sets     prepared UPDATE by key, one table per global
    direct   no: block reads may be served by the page cache
    durable  full: synchronous_commit on, fsync on
    timed    by the database, which runs whole batches; response
             times exclude the round trip
    settings shared_buffers 128MB, full_page_writes on,
             wal_sync_method fdatasync

       does     reads 50 blocks by number in 50 % of its cycles,
                and in 50 % sets 50 subscripts of its global in
                a transaction, all at random, without a pause
       load     10 jobs
       time     for 250 ms, after a ramp of 250 ms, which is not
                measured

    10 processes (0.25 seconds) average response time = 0.310ms
    Calculated IOPS = 24000
       p50 301 us, p95 792 us, p99 835 us, p99.9 3.02 ms, max
       6.74 ms; IOPS +/- 7.5 %
       PerfTools, which do not time operations, would print
       0.417ms: 0.25 s x 10 processes / 6,000 reads and sets,
       including commits, pauses and all other time between them

                  IOPS    +/-     mean      p99  p99.9      max
       reads    12,000  7.5 %   591 us   840 us      -  6.74 ms
       sets     12,000  7.5 %  29.5 us  42.0 us      -   337 us
       commits     240  0.0 %  3.80 ms        -      -  5.57 ms
       timeline @@@@@@@@@@ 23,280 to 24,560 IOPS, 25.0 ms per mark
       cache    device: what was requested reached the device

    physical against logical, over 500 ms
                    reads     bytes  writes     bytes  syncs
       requested    4,500  35.2 MiB   4,500   325 KiB     90
       data device  4,950  38.7 MiB     525  8.20 MiB      6
       log device       0       0 B      90  1.72 MiB     90
       over     all counts refer to the whole 500 ms, including
                the ramp of 250 ms
       reads    1.10 device reads per block read, including
                reads caused by sets
       sets     0.12 device writes and 1.87 KiB per set of 74 B:
                8.57 sets were coalesced into each
       log      400 B per set, 19.5 KiB per commit, 1.00 writes
                per commit, 1.00 syncs per commit, by its device
       writer   data files were written during 100 ms of 500 ms
                (20 %)
       CPU      iolite used 3.10 ms in 500 ms (0.6 % of one
                CPU): 3.4 % of the 91.0 ms of CPU time used on
                this host

    +/-: 95 % interval of the rate, within this run; -: too few
    operations, or not counted; sets are in the database's
    memory until their commit; requested: block reads, sets,
    commits; device: including I/O of other programs; database:
    its own system calls
    ");
}

#[test]
fn nothing_measured_is_said_and_not_divided_by() {
    let task = synthetic::database("RanIO", BOTH, 1);
    let used = DatabaseUse { observed: Nanos(0), ..idle() };
    let mut empty = run(synthetic::phase(0, task, &[]), used);
    empty.ending = Some(Ending::Failed("the server has gone".into()));
    let rendered = body(&empty, UNICODE);
    assert!(
        !rendered.contains("Calculated IOPS") && !rendered.contains("NaN") && !rendered.contains("inf"),
        "{rendered}"
    );
    insta::assert_snapshot!(rendered.split_once("\n\n").unwrap().1, @"
       does     reads 50 blocks by number in 50 % of its cycles, and in 50 % sets 50 subscripts of its global in a
                transaction, all at random, without a pause
       load     1 job
       time     to its end

                nothing completed

    physical against logical, over 0 ns
                  reads  bytes  writes  bytes  syncs
       requested      0    0 B       0    0 B      0
       device   the device counters of the database are not available: it is on another host, or on a file system
                without a device; the database does not count its own operations either
       CPU      iolite used 3.10 ms: 3.4 % of the 91.0 ms of CPU time used on this host

    FAILED: the server has gone
    ");
    assert!(json(&empty)["total"].is_null());

    let mut unasked = synthetic::empty();
    unasked.ending = empty.ending;
    let rendered = text(&unasked, UNICODE);
    assert!(rendered.starts_with("iolite 0.1.0: /srv/data\n"), "{rendered}");
    assert!(rendered.ends_with("virtualised by kvm\n\nFAILED: the server has gone\n"), "{rendered}");
    let document = json(&unasked);
    assert!(["database", "phase", "total", "used"].iter().all(|key| document[key].is_null()), "{document}");
}

#[test]
fn a_database_that_counts_nothing_of_its_own_has_its_log_reported_by_the_device() {
    let all = both();
    let ratios = &json(&all)["used"]["ratios"];
    // Twice the time was looked at: 60 commits against 120 flushes, 3,000 reads against 6,600.
    assert_eq!(ratios["log_syncs_per_commit"], 1.0);
    assert_eq!(ratios["device_reads_per_read"], 1.1);
    assert_eq!((&ratios["cached_share"], &ratios["database_writes_per_set"]), (&0.0.into(), &Value::Null));
}

#[test]
fn reads_and_sets_count_as_one_kind() {
    let all = both();
    let document = json(&all);
    let total = &document["total"];
    assert_eq!(total["kinds"], serde_json::json!(["read", "write"]));
    assert_eq!(total["operations"], 6_000);
    assert!((total["iops"]["value"].as_f64().unwrap() - 24_000.0).abs() < 1e-6, "{total}");
    let phase = &all.phases[0];
    let [reads, sets] = [OpKind::Read, OpKind::Write].map(|kind| phase.summary(kind).unwrap());
    let mean = total["response_ns"]["mean"]["value"].as_f64().unwrap();
    assert!((mean - (reads.mean.value + sets.mean.value) / 2.0).abs() < 1.0, "{mean}");
    assert_eq!(total["response_ns"]["max"], reads.max.unwrap().0);
    // Half of them are sets, all faster than any read.
    let median = total["response_ns"]["p50"]["value"].as_f64().unwrap();
    assert!(median > sets.max.unwrap().0 as f64 / 2.0 && median < reads.mean.value, "{median}");
    // A quarter of a second of ten jobs for 6,000 operations.
    assert!((total["perftools_response_ns"].as_f64().unwrap() - 2.5e9 / 6_000.0).abs() < 1.0);
}

#[test]
fn names_from_a_server_reach_no_terminal_as_they_are() {
    let mut evil = sets();
    let facts = evil.databases.get_mut(&0).unwrap();
    let bad = "a\x1b[2J\u{202e}b".to_owned();
    (facts.url, facts.engine, facts.version) = (bad.clone(), bad.clone(), bad.clone());
    (facts.namespace, facts.read_path, facts.durable_by) = (bad.clone(), bad.clone(), bad.clone());
    facts.settings = vec![(bad.clone(), bad)];
    let rendered = text(&evil, Style { unicode: false, ..UNICODE });
    assert!(rendered.is_ascii() && rendered.chars().all(|c| c == '\n' || !is_unsafe(c)), "{rendered:?}");
}

#[test]
fn both_levels_are_printed_in_place_of_a_rate_that_never_was() {
    let mut report = reads();
    synthetic::shift(&mut report.phases[0], OpKind::Read);
    let text = text(&report, UNICODE);
    let line = text.lines().find(|line| line.starts_with("Calculated IOPS = ")).unwrap();
    assert!(line.starts_with("Calculated IOPS = 220") && line.contains(" > 10"), "{line}");
    assert!(line.contains("(the rate changed; mean "), "{line}");
}
