mod document;

use std::path::PathBuf;

use iolite_model::{Bytes, Concluded, Device, Ending, ErrorClass, Nanos, OpKind, Outstanding, Warning};
use proptest::prelude::*;

use super::*;
use crate::styler::is_unsafe;
use crate::synthetic;

const UNICODE: Style = Style { color: false, unicode: true, width: 110 };
const ASCII: Style = Style { color: false, unicode: false, width: 110 };

#[test]
fn a_whole_check() {
    let text = text(&synthetic::check(), UNICODE);
    assert!(!text.contains('\x1b'));
    assert!(text.lines().all(|line| line.chars().count() <= 110), "{text}");
    insta::assert_snapshot!(text, @r"
    iolite 0.1.0: the storage of /srv/data
    storage  ext4 on /srv from /dev/vda1, 98 GiB, 40 GiB free, blocks of 4 KiB
    mounted  noatime,data=ordered
    devices  vda1 (partition), 100 GiB
             └─ vda (virtio), 100 GiB, blocks 512/4096, scheduler none, cache write back, rotational flag set
                (often incorrect for virtual disks), read-ahead 128 KiB
    host     db1: Example CPU 3000, 4 CPUs, 16 GiB memory, Linux 6.12.0 x86_64, virtualised by kvm
    overhead clock tsc: 18.2 ns per reading, resolution 1 ns; measuring loop 62 ns per operation

                              load    IOPS  MiB/s      ±     mean      p50      p99    p99.9      max  cache
    file
      random read 8 KiB          1  17,960    140  7.1 %  54.8 µs  53.2 µs  78.0 µs   310 µs   646 µs  device
                                 2  27,500    215  7.2 %  71.6 µs  69.4 µs   102 µs   406 µs   896 µs  device
                       knee ▸    3  35,100    274  7.1 %  84.2 µs  81.7 µs   120 µs   477 µs  1.12 ms  device
                                 4  40,324    315  7.1 %  97.8 µs  94.7 µs   139 µs   554 µs  1.37 ms  device
                                 8  53,436    417  7.2 %   148 µs   143 µs   210 µs   837 µs  2.23 ms  device
                                16  65,512    512  7.2 %   241 µs   233 µs   342 µs  1.36 ms  3.91 ms  device
                                32  64,548    504  7.2 %   489 µs   473 µs   694 µs  2.77 ms  7.93 ms  device
      random read 64 KiB         1   9,400    588  7.4 %   105 µs   102 µs   149 µs        -  1.16 ms  device
                                 2  15,800    988  7.0 %   124 µs   121 µs   177 µs   704 µs  1.42 ms  device
           nearest the knee ▸    4  22,000  1,375  7.2 %   179 µs   174 µs   255 µs  1.01 ms  2.17 ms  device
                                 8  22,300  1,394  7.3 %   353 µs   343 µs   502 µs  1.99 ms  4.29 ms  device
                                16  22,100  1,381  7.3 %   713 µs   691 µs  1.01 ms  4.03 ms  8.66 ms  device
      random write 8 KiB         8  21,000    164  6.9 %   374 µs   363 µs   532 µs  2.11 ms  4.55 ms  unknown
      sequential read 1 MiB      4   2,100  2,100  6.3 %  1.86 ms  1.81 ms  2.66 ms        -  10.6 ms  device
      commit, preallocated       1   2,600   20.3  8.5 %   371 µs   362 µs   532 µs        -  2.11 ms  unknown
        fdatasync alone              2,600      -  8.5 %   351 µs   343 µs   504 µs        -  2.00 ms
      append 8 KiB + fdatasync, growing
                                 1   1,100    8.6  1.4 %   872 µs   854 µs        -        -  5.00 ms  unknown
        fdatasync alone              1,100      -  1.4 %   853 µs   835 µs        -        -  4.89 ms
    database
      RanRead                    1  14,000    109  7.1 %  70.3 µs  68.2 µs   100 µs        -   802 µs  device
                       knee ▸    2  26,000    203  7.1 %  75.8 µs  73.5 µs   108 µs   430 µs   948 µs  device
                                 4  31,000    242  7.1 %   127 µs   123 µs   181 µs   721 µs  1.64 ms  device
                                 8  31,500    246  7.2 %   250 µs   243 µs   356 µs  1.42 ms  3.22 ms  device
      RanWrite, sets             2  24,000    1.5  7.0 %  8.88 µs  8.59 µs  12.6 µs  50.0 µs   111 µs  unknown
        commits                      2,400      -  9.2 %   685 µs   668 µs   979 µs        -  3.89 ms
    load: outstanding operations, or jobs of the database; ±: 95 % interval of the rate, within this run; times:
    response; ▸ knee; -: too few operations; random I/O over 1 GiB; sets are in the database's memory until their
    commit

    knee  random read 8 KiB: 3 outstanding (3 to 4, 95 %), 35,849 IOPS; plateau 64,548 IOPS (61,692 to 67,404)
          model: universal scalability law (17,267 IOPS with one outstanding, σ=0.2209, κ=0.000522), off by 4.0 %
          at     1  2 [3]  4  8 16 32 outstanding
          rate  ▃▃ ▄▄  ▅▅ ▅▅ ▇▇ ██ ██ up to 65,512 IOPS
          mean  ▁▁ ▂▂  ▂▂ ▂▂ ▃▃ ▄▄ ██ up to 489 µs
    knee  random read 64 KiB: 3 outstanding (2 to 3, 95 %), 19,007 IOPS; plateau 22,300 IOPS (21,291 to 23,309)
          model: universal scalability law (9,665 IOPS with one outstanding, σ=0.2287, κ=0.011341), off by 6.4 %
          at     1  2  4  8 16 outstanding
          rate  ▄▄ ▆▆ ██ ██ ██ up to 22,300 IOPS
          mean  ▂▂ ▂▂ ▃▃ ▄▄ ██ up to 713 µs
    knee  RanRead: 2 jobs (2 to 3, 95 %), 27,008 IOPS; plateau 31,244 IOPS (30,272 to 32,216)
          model: two asymptotes (13,504 IOPS per outstanding operation up to 31,244 IOPS), off by 3.8 %
          at     1 [2]  4  8 jobs
          rate  ▄▄  ▇▇ ██ ██ up to 31,500 IOPS
          mean  ▃▃  ▃▃ ▅▅ ██ up to 250 µs

    warnings
      1. during `random read 64 KiB` the device read 1.50 GiB for 1 GiB requested: other programs use it, or reads
         are amplified; repeat the check when the device is idle
      2. throughput of `random read 8 KiB` was still growing at 32 outstanding operations: the storage is capable
         of more

    VERDICT: unfit for oltp-flash
      ✓ random read 8 KiB at the knee (8 outstanding), mean: 150 µs (148 µs to 152 µs); required: at most 2.00 ms
      ~ random read 64 KiB at the knee (4 outstanding), p99.9: 2.1 ms (1.9 ms to 2.5 ms); required: at most
        2.00 ms
          - 900 operations are too few
      ✗ fdatasync, growing, p99: 3.60 ms (3.1 ms to 4.0 ms); required: at most 2.00 ms
    ");
}

#[test]
fn ascii_has_only_ascii() {
    let text = text(&synthetic::check(), ASCII);
    assert!(text.is_ascii());
    insta::assert_snapshot!(text, @r"
    iolite 0.1.0: the storage of /srv/data
    storage  ext4 on /srv from /dev/vda1, 98 GiB, 40 GiB free, blocks of 4 KiB
    mounted  noatime,data=ordered
    devices  vda1 (partition), 100 GiB
             `- vda (virtio), 100 GiB, blocks 512/4096, scheduler none, cache write back, rotational flag set
                (often incorrect for virtual disks), read-ahead 128 KiB
    host     db1: Example CPU 3000, 4 CPUs, 16 GiB memory, Linux 6.12.0 x86_64, virtualised by kvm
    overhead clock tsc: 18.2 ns per reading, resolution 1 ns; measuring loop 62 ns per operation

                              load    IOPS  MiB/s    +/-     mean      p50      p99    p99.9      max  cache
    file
      random read 8 KiB          1  17,960    140  7.1 %  54.8 us  53.2 us  78.0 us   310 us   646 us  device
                                 2  27,500    215  7.2 %  71.6 us  69.4 us   102 us   406 us   896 us  device
                       knee >    3  35,100    274  7.1 %  84.2 us  81.7 us   120 us   477 us  1.12 ms  device
                                 4  40,324    315  7.1 %  97.8 us  94.7 us   139 us   554 us  1.37 ms  device
                                 8  53,436    417  7.2 %   148 us   143 us   210 us   837 us  2.23 ms  device
                                16  65,512    512  7.2 %   241 us   233 us   342 us  1.36 ms  3.91 ms  device
                                32  64,548    504  7.2 %   489 us   473 us   694 us  2.77 ms  7.93 ms  device
      random read 64 KiB         1   9,400    588  7.4 %   105 us   102 us   149 us        -  1.16 ms  device
                                 2  15,800    988  7.0 %   124 us   121 us   177 us   704 us  1.42 ms  device
           nearest the knee >    4  22,000  1,375  7.2 %   179 us   174 us   255 us  1.01 ms  2.17 ms  device
                                 8  22,300  1,394  7.3 %   353 us   343 us   502 us  1.99 ms  4.29 ms  device
                                16  22,100  1,381  7.3 %   713 us   691 us  1.01 ms  4.03 ms  8.66 ms  device
      random write 8 KiB         8  21,000    164  6.9 %   374 us   363 us   532 us  2.11 ms  4.55 ms  unknown
      sequential read 1 MiB      4   2,100  2,100  6.3 %  1.86 ms  1.81 ms  2.66 ms        -  10.6 ms  device
      commit, preallocated       1   2,600   20.3  8.5 %   371 us   362 us   532 us        -  2.11 ms  unknown
        fdatasync alone              2,600      -  8.5 %   351 us   343 us   504 us        -  2.00 ms
      append 8 KiB + fdatasync, growing
                                 1   1,100    8.6  1.4 %   872 us   854 us        -        -  5.00 ms  unknown
        fdatasync alone              1,100      -  1.4 %   853 us   835 us        -        -  4.89 ms
    database
      RanRead                    1  14,000    109  7.1 %  70.3 us  68.2 us   100 us        -   802 us  device
                       knee >    2  26,000    203  7.1 %  75.8 us  73.5 us   108 us   430 us   948 us  device
                                 4  31,000    242  7.1 %   127 us   123 us   181 us   721 us  1.64 ms  device
                                 8  31,500    246  7.2 %   250 us   243 us   356 us  1.42 ms  3.22 ms  device
      RanWrite, sets             2  24,000    1.5  7.0 %  8.88 us  8.59 us  12.6 us  50.0 us   111 us  unknown
        commits                      2,400      -  9.2 %   685 us   668 us   979 us        -  3.89 ms
    load: outstanding operations, or jobs of the database; +/-: 95 % interval of the rate, within this run; times:
    response; > knee; -: too few operations; random I/O over 1 GiB; sets are in the database's memory until their
    commit

    knee  random read 8 KiB: 3 outstanding (3 to 4, 95 %), 35,849 IOPS; plateau 64,548 IOPS (61,692 to 67,404)
          model: universal scalability law (17,267 IOPS with one outstanding, sigma=0.2209, kappa=0.000522), off
          by 4.0 %
          at     1  2 [3]  4  8 16 32 outstanding
          rate  -- ==  ++ ++ ## @@ @@ up to 65,512 IOPS
          mean  .. ::  :: :: -- == @@ up to 489 us
    knee  random read 64 KiB: 3 outstanding (2 to 3, 95 %), 19,007 IOPS; plateau 22,300 IOPS (21,291 to 23,309)
          model: universal scalability law (9,665 IOPS with one outstanding, sigma=0.2287, kappa=0.011341), off by
          6.4 %
          at     1  2  4  8 16 outstanding
          rate  == ** @@ @@ @@ up to 22,300 IOPS
          mean  :: :: -- == @@ up to 713 us
    knee  RanRead: 2 jobs (2 to 3, 95 %), 27,008 IOPS; plateau 31,244 IOPS (30,272 to 32,216)
          model: two asymptotes (13,504 IOPS per outstanding operation up to 31,244 IOPS), off by 3.8 %
          at     1 [2]  4  8 jobs
          rate  ==  ## @@ @@ up to 31,500 IOPS
          mean  --  -- ++ @@ up to 250 us

    warnings
      1. during `random read 64 KiB` the device read 1.50 GiB for 1 GiB requested: other programs use it, or reads
         are amplified; repeat the check when the device is idle
      2. throughput of `random read 8 KiB` was still growing at 32 outstanding operations: the storage is capable
         of more

    VERDICT: unfit for oltp-flash
      + random read 8 KiB at the knee (8 outstanding), mean: 150 us (148 us to 152 us); required: at most 2.00 ms
      ~ random read 64 KiB at the knee (4 outstanding), p99.9: 2.1 ms (1.9 ms to 2.5 ms); required: at most
        2.00 ms
          - 900 operations are too few
      x fdatasync, growing, p99: 3.60 ms (3.1 ms to 4.0 ms); required: at most 2.00 ms
    ");
}

#[test]
fn colour_adds_nothing_but_colour() {
    let report = synthetic::check();
    let colored = text(&report, Style { color: true, ..UNICODE });
    let mut plain = colored.clone();
    for code in ["\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[0m"] {
        plain = plain.replace(code, "");
    }
    assert_eq!(plain, text(&report, UNICODE));
    let painted: Vec<_> = colored.lines().filter(|line| line.contains('\x1b')).collect();
    insta::assert_snapshot!(painted.join("\n").replace('\x1b', "ESC"), @"
    ESC[1miolite 0.1.0: the storage of /srv/dataESC[0m
    ESC[1m                   knee ▸    3  35,100    274  7.1 %  84.2 µs  81.7 µs   120 µs   477 µs  1.12 ms  deviceESC[0m
    ESC[1m       nearest the knee ▸    4  22,000  1,375  7.2 %   179 µs   174 µs   255 µs  1.01 ms  2.17 ms  deviceESC[0m
    ESC[1m                   knee ▸    2  26,000    203  7.1 %  75.8 µs  73.5 µs   108 µs   430 µs   948 µs  deviceESC[0m
    ESC[1mknee  ESC[0mrandom read 8 KiB: 3 outstanding (3 to 4, 95 %), 35,849 IOPS; plateau 64,548 IOPS (61,692 to 67,404)
    ESC[1mknee  ESC[0mrandom read 64 KiB: 3 outstanding (2 to 3, 95 %), 19,007 IOPS; plateau 22,300 IOPS (21,291 to 23,309)
    ESC[1mknee  ESC[0mRanRead: 2 jobs (2 to 3, 95 %), 27,008 IOPS; plateau 31,244 IOPS (30,272 to 32,216)
    ESC[1mESC[33mwarningsESC[0m
    ESC[1mESC[33m  1. ESC[0mduring `random read 64 KiB` the device read 1.50 GiB for 1 GiB requested: other programs use it, or reads
    ESC[1mESC[33m  2. ESC[0mthroughput of `random read 8 KiB` was still growing at 32 outstanding operations: the storage is capable
    ESC[1mESC[31mVERDICT: unfit for oltp-flashESC[0m
      ESC[1mESC[32m✓ESC[0m random read 8 KiB at the knee (8 outstanding), mean: 150 µs (148 µs to 152 µs); required: at most 2.00 ms
      ESC[1mESC[33m~ESC[0m random read 64 KiB at the knee (4 outstanding), p99.9: 2.1 ms (1.9 ms to 2.5 ms); required: at most
      ESC[1mESC[31m✗ESC[0m fdatasync, growing, p99: 3.60 ms (3.1 ms to 4.0 ms); required: at most 2.00 ms
    ");
}

#[test]
fn an_interrupted_run_has_no_verdict() {
    let mut report = synthetic::check();
    report.phases.truncate(2);
    report.phases[1].end.ending = Ending::Interrupted;
    (report.conclusions, report.warnings, report.verdict) = (vec![], vec![], None);
    report.ending = Some(Ending::Interrupted);
    insta::assert_snapshot!(text(&report, UNICODE), @r"
    iolite 0.1.0: the storage of /srv/data
    storage  ext4 on /srv from /dev/vda1, 98 GiB, 40 GiB free, blocks of 4 KiB
    mounted  noatime,data=ordered
    devices  vda1 (partition), 100 GiB
             └─ vda (virtio), 100 GiB, blocks 512/4096, scheduler none, cache write back, rotational flag set
                (often incorrect for virtual disks), read-ahead 128 KiB
    host     db1: Example CPU 3000, 4 CPUs, 16 GiB memory, Linux 6.12.0 x86_64, virtualised by kvm
    overhead clock tsc: 18.2 ns per reading, resolution 1 ns; measuring loop 62 ns per operation

                          load    IOPS  MiB/s      ±     mean      p50      p99   p99.9     max  cache
    file
      random read 8 KiB      1  17,960    140  7.1 %  54.8 µs  53.2 µs  78.0 µs  310 µs  646 µs  device
                             2  27,500    215  7.2 %  71.6 µs  69.4 µs   102 µs  406 µs  896 µs  device
        ! interrupted
    load: outstanding operations, or jobs of the database; ±: 95 % interval of the rate, within this run; times:
    response; random I/O over 1 GiB

    INTERRUPTED: the table contains the results measured so far
    VERDICT: none (the run was not completed)
    ");
}

#[test]
fn memory_has_no_devices() {
    let mut report = synthetic::empty();
    report.info.storage.devices.clear();
    report.info.host.virtualisation = "none".into();
    let fs = &mut report.info.storage.filesystem;
    (fs.kind, fs.source, fs.mount_point) = ("tmpfs".into(), "tmpfs".into(), PathBuf::from("/dev/shm"));
    fs.options = vec!["rw".into(), "size=8g".into()];
    report.warnings = vec![
        Warning::NoDeviceCounters { filesystem: "tmpfs".into() },
        Warning::Volatile { device: "tmpfs".into() },
    ];
    insta::assert_snapshot!(text(&report, UNICODE), @r"
    iolite 0.1.0: the storage of /srv/data
    storage  tmpfs on /dev/shm from tmpfs, 98 GiB, 40 GiB free, blocks of 4 KiB
    mounted  size=8g
    devices  none visible from this host
    host     db1: Example CPU 3000, 4 CPUs, 16 GiB memory, Linux 6.12.0 x86_64, not virtualised

    warnings
      1. the counters of the block devices beneath this tmpfs are not available: the cache column is derived from
         page cache residency, otherwise unknown
      2. tmpfs keeps its data in memory and loses it at the next restart: measure the storage that the database
         will use

    VERDICT: none (nothing was measured that could be judged)
    ");
}

#[test]
fn errors_stand_in_their_row() {
    let mut report = synthetic::empty();
    let read = synthetic::read("random read 8 KiB", 8192, 8);
    let commit = synthetic::commit("commit, preallocated", true);
    let synced = [
        (OpKind::Write, 2_000.0, 2e4, 8192, 5),
        (OpKind::Sync, 2_000.0, 4e5, 0, 1),
        (OpKind::Commit, 2_000.0, 4.2e5, 8192, 0),
    ];
    report.phases = vec![
        synthetic::phase(0, read.clone(), &[(OpKind::Read, 20_000.0, 1e5, 8192, 1_234)]),
        synthetic::phase(1, read, &[(OpKind::Read, 0.0, 1e5, 8192, 17)]),
        synthetic::phase(2, commit, &synced),
    ];
    let lost = Outstanding { at_end: 8, lost: 3, oldest: Nanos(5_000_000_000), backlog: 0 };
    report.phases[0].end.outstanding = lost;
    report.phases[1].end.ending =
        Ending::Failed("reading /srv/data/.iolite/data at 8192: Input/output error (os error 5)".into());
    report.phases[0].end.cache.device_read = Some(Bytes(report.phases[0].end.cache.requested_read.0 / 3));
    report.ending = Some(Ending::Failed("the device failed".into()));
    insta::assert_snapshot!(text(&report, UNICODE), @r"
    iolite 0.1.0: the storage of /srv/data
    storage  ext4 on /srv from /dev/vda1, 98 GiB, 40 GiB free, blocks of 4 KiB
    mounted  noatime,data=ordered
    devices  vda1 (partition), 100 GiB
             └─ vda (virtio), 100 GiB, blocks 512/4096, scheduler none, cache write back, rotational flag set
                (often incorrect for virtual disks), read-ahead 128 KiB
    host     db1: Example CPU 3000, 4 CPUs, 16 GiB memory, Linux 6.12.0 x86_64, virtualised by kvm

                             load    IOPS  MiB/s      ±     mean      p50     p99   p99.9      max  cache
    file
      random read 8 KiB         8  20,000    156  7.1 %  98.6 µs  95.5 µs  140 µs  556 µs  1.20 ms  67 % cached
        ! 1,234 errors, 3 never completed
                                8       -      -      -        -        -       -       -        -  unknown
        ! 17 errors, failed: reading /srv/data/.iolite/data at 8192: Input/output error (os error 5)
      commit, preallocated      1   2,000   15.6  2.1 %   412 µs   400 µs  588 µs       -  2.34 ms  unknown
        ! 5 errors
        fdatasync alone             2,000      -  2.1 %   392 µs   381 µs  560 µs       -  2.22 ms  1 error
    load: outstanding operations, or jobs of the database; ±: 95 % interval of the rate, within this run; times:
    response; -: too few operations; random I/O over 1 GiB

    FAILED: the device failed
    VERDICT: none (the run was not completed)
    ");
}

#[test]
fn nothing_measured_is_said() {
    insta::assert_snapshot!(text(&synthetic::empty(), UNICODE), @r#"
    iolite 0.1.0: the storage of /srv/data
    storage  ext4 on /srv from /dev/vda1, 98 GiB, 40 GiB free, blocks of 4 KiB
    mounted  noatime,data=ordered
    devices  vda1 (partition), 100 GiB
             └─ vda (virtio), 100 GiB, blocks 512/4096, scheduler none, cache write back, rotational flag set
                (often incorrect for virtual disks), read-ahead 128 KiB
    host     db1: Example CPU 3000, 4 CPUs, 16 GiB memory, Linux 6.12.0 x86_64, virtualised by kvm

    VERDICT: none (nothing was measured that could be judged)
    "#);
}

#[test]
fn a_knee_between_tested_loads_marks_the_nearest() {
    let mut report = synthetic::check();
    let mut found: KneeFound = report.concluded().next().unwrap();
    found.knee.concurrency = 7;
    report.conclusions = vec![Concluded::of(&found)];
    let text = text(&report, UNICODE);
    let marked: Vec<_> = text.lines().filter(|line| line.contains("nearest the knee")).collect();
    assert!(marked.len() == 1 && marked[0].contains("▸    8"), "{text}");
}

#[test]
fn shared_and_circular_devices_appear_once() {
    let mut report = synthetic::empty();
    let device = |name: &str, on: &[&str]| Device {
        name: name.into(),
        kind: "dm".into(),
        rests_on: on.iter().map(|&name| name.to_owned()).collect(),
        ..Device::default()
    };
    report.info.storage.devices =
        vec![device("dm-0", &["sda", "sdb"]), device("sda", &[]), device("sdb", &["x"]), device("x", &["x"])];
    let text = text(&report, UNICODE);
    let tree: Vec<_> = text.lines().filter(|line| line.contains("(dm)")).collect();
    insta::assert_snapshot!(tree.join("\n"), @r#"
devices  dm-0 (dm), 0 B
         └─ sda (dm), 0 B
         └─ sdb (dm), 0 B
            └─ x (dm), 0 B
"#);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_name_reaches_the_terminal_unescaped(
        name in ".*", model in any::<String>(), directory in any::<String>(), error in any::<String>(),
        unicode in any::<bool>(), width in 0usize..200,
    ) {
        let mut report = synthetic::empty();
        report.info.storage.directory = PathBuf::from(format!("/\x1b]0;owned\x07{directory}"));
        report.info.host.cpu = name.clone();
        report.info.storage.filesystem.options = vec![format!("data={model}")];
        let device = &mut report.info.storage.devices[0];
        (device.name, device.model) = (name.clone(), Some(format!("\x1b[2J{model}")));
        report.phases = vec![synthetic::phase(0, synthetic::read(&name, 8192, 1), &[(OpKind::Read, 40.0, 1e5, 8192, 1)])];
        report.phases[0].end.ending = Ending::Failed(error.clone());
        report.warnings = vec![Warning::Errors { phase: name, errors: 1, first: error.clone(), class: ErrorClass::Device }];
        report.ending = Some(Ending::Failed(error));
        let text = text(&report, Style { color: false, unicode, width });
        prop_assert!(text.chars().all(|c| c == '\n' || !is_unsafe(c)), "{text:?}");
        prop_assert!(unicode || text.is_ascii(), "{text:?}");
    }
}

#[test]
fn a_thorough_check_says_whether_its_writes_became_steady() {
    let thorough = |steady| {
        let mut check = synthetic::check();
        let found = Preconditioned { steady, rounds: 7, iops: 20_000.0, deviation_percent: 4.0 };
        check.conclusions.push(Concluded::of(&found));
        check
    };
    let rendered = |steady| text(&thorough(steady), UNICODE).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(rendered(true).contains("; steady after 7 rounds of random writes"), "{}", rendered(true));
    assert!(rendered(false).contains("; not steady after 7 rounds of random writes"));
    let json = json(&thorough(true));
    assert_eq!(json["preconditioned"]["rounds"], 7);
}

/// The mean of two levels is a rate that never was.
#[test]
fn a_rate_that_changed_is_marked() {
    let mut check = synthetic::check();
    synthetic::shift(&mut check.phases[0], iolite_model::OpKind::Read);
    let marked = text(&check, UNICODE);
    let rows = marked.lines().filter(|line| line.contains("* ") && line.contains(" device"));
    assert_eq!(rows.count(), 1, "{marked}");
    let legend = marked.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(legend.contains("* the rate changed meanwhile, and its mean is no level of it"), "{marked}");
    assert!(!text(&synthetic::check(), UNICODE).contains("the rate changed"));
}
