//! Results explained.

use proptest::prelude::*;
use serde_json::json;

use super::*;

const PLAIN: Style = Style { color: false, unicode: true, width: 110 };

fn explained(document: &Value, all: bool) -> String {
    result(ResultToExplain { document, all }, PLAIN).unwrap()
}

/// A result of fio's with one job, of which some keys are as given.
fn fio(job: Value, read: Value, options: Value) -> Value {
    let mut of_read = json!({
        "io_bytes": 1u64 << 30, "bw_bytes": 100_000_000, "bw": 97_656, "iops": 24_000.0, "runtime": 30_000, "total_ios": 262_144,
        "bw_min": 95_000, "bw_mean": 97_600.0, "bw_dev": 900.0, "bw_samples": 60,
        "slat_ns": { "min": 1, "max": 9, "mean": 2000.0, "stddev": 1.0, "N": 262_144 },
        "clat_ns": { "min": 1, "max": 3_000_000, "mean": 38_000.0, "stddev": 1.0, "N": 262_144,
            "percentile": { "50.000000": 36_000, "99.000000": 90_000, "99.900000": 200_000, "99.990000": 900_000 } },
        "lat_ns": { "min": 1, "max": 9, "mean": 40_100.0, "stddev": 1.0, "N": 262_144 },
    });
    merge(&mut of_read, read);
    let mut of_options = json!({ "rw": "randread", "ioengine": "libaio", "iodepth": "8", "direct": "1" });
    merge(&mut of_options, options);
    let mut of_job = json!({
        "jobname": "a", "groupid": 0, "error": 0, "job options": of_options, "read": of_read,
        "write": { "total_ios": 0, "iops": 0.0 }, "usr_cpu": 10.0, "sys_cpu": 20.0,
        "iodepth_level": { "1": 0.1, "8": 99.9, ">=64": 0.0 },
    });
    merge(&mut of_job, job);
    json!({ "fio version": "fio-3.42", "time": "today", "jobs": [of_job], "disk_util": [{ "name": "sda", "util": 99.0 }] })
}

fn merge(into: &mut Value, from: Value) {
    let (Value::Object(into), Value::Object(from)) = (into, from) else { panic!("not objects") };
    into.extend(from);
}

fn caveats_of(document: &Value) -> Vec<String> {
    let text = explained(document, false).replace("\n    ", " ");
    text.lines().filter_map(|line| line.strip_prefix("  ! ").map(str::to_owned)).collect()
}

#[test]
fn one_row_is_singular() {
    assert!(explained(&json!([{ "a": 1 }]), false).starts_with("1 row, as printed"));
    assert!(explained(&json!([{ "a": 1 }, { "a": 2 }]), false).starts_with("2 rows, as printed"));
}

#[test]
fn a_sound_result_has_no_caveats() {
    assert_eq!(caveats_of(&fio(json!({}), json!({}), json!({}))), [""; 0]);
    insta::assert_snapshot!(explained(&fio(json!({}), json!({}), json!({})), false), @r#"
    a result of fio, 1 job
    * fio version: fio-3.42                   version of fio
    * time: today                             time at which fio ended, by the clock of that host

    job 1: a
    * jobname: a                              name of the job, or of all jobs of its group if results are grouped
    * error: 0                                0, or the error (errno) that ended the job; nothing else is
                                              meaningful then
    * job options: direct=1 iodepth=8 ioengine=libaio rw=randread
          settings of the job
      read                                    results of reads
      * iops: 24,000                          operations per second over the whole runtime: the rate to compare
      * bw_bytes: 95.4 MiB/s                  bytes per second over the whole runtime
        clat_ns                               completion latency: from the return of the submission to the
                                              completion; the device's part
        * mean: 38.0 µs                       the mean; not representative if a few operations took very long
        * max: 3.00 ms                        the exact maximum: the longest stall
        * p50: 36.0 µs                        half of the operations took less
        * p99: 90.0 µs                        one in a hundred took longer
        * p99.9: 200 µs                       one in a thousand took longer
        * p99.99: 900 µs                      one in ten thousand took longer
        lat_ns                                total latency: submission and completion together, what the caller
                                              waits for
        * mean: 40.1 µs                       the mean; not representative if a few operations took very long
        * max: 9 ns                           the exact maximum: the longest stall
      * total_ios: 262,144                    operations completed
      * runtime: 30.0 s                       measured time of this direction
    * usr_cpu: 10.0 %                         CPU usage of the job's thread in user mode
    * sys_cpu: 20.0 %                         CPU usage of the job's thread in the kernel; if both add up to
                                              nearly 100 %, the CPU is the limit, not the storage
    * iodepth_level: 1: 0.10 %, 8: 99.90 %    share of the operations by the number outstanding, in classes up to
                                              each number

    disk sda
    * name: sda                               the device, as the kernel calls it
    * util: 99.0 %                            share of the time with operations in flight; on devices that work in
                                              parallel, 100 % is not the limit

    !: a caveat; *: what matters; --all explains every key
    "#);
}

#[test]
fn each_caveat_has_its_reason() {
    let nothing = || json!({});
    let times = |mean: f64, p99: f64, max: f64| json!({ "mean": mean, "max": max, "N": 9, "percentile": { "99.000000": p99, "99.990000": max } });
    for (part, job, read, options) in [
        ("error 5", json!({ "error": 5 }), nothing(), nothing()),
        ("3 operations failed", json!({ "total_err": 3 }), nothing(), nothing()),
        ("steady state was not reached", json!({ "steadystate": { "attained": 0 } }), nothing(), nothing()),
        ("400 ms are too short", nothing(), json!({ "runtime": 400 }), nothing()),
        ("too few for percentiles from p99 on", nothing(), json!({ "total_ios": 500 }), nothing()),
        ("too few for percentiles from p99.99 on", nothing(), json!({ "total_ios": 50_000 }), nothing()),
        ("2 operations transferred fewer bytes", nothing(), json!({ "short_ios": 2 }), nothing()),
        ("a stall, or a change of state", nothing(), json!({ "bw_min": 1000 }), nothing()),
        ("varied by 51 %", nothing(), json!({ "bw_dev": 50_000.0 }), nothing()),
        ("because they are sampled separately", nothing(), json!({ "bw_mean": 120_000.0 }), nothing()),
        ("10 times the mean", nothing(), json!({ "clat_ns": times(40_000.0, 400_000.0, 1e6) }), nothing()),
        ("one operation took 2.00 s", nothing(), json!({ "clat_ns": times(4e4, 4e4, 2e9) }), nothing()),
        ("end at 17.1 s", nothing(), json!({ "clat_ns": times(4e4, 4e4, 17_179_869_184.0) }), nothing()),
        (
            "the submission blocks",
            nothing(),
            json!({ "slat_ns": { "mean": 1e6 }, "lat_ns": { "mean": 1e6 } }),
            nothing(),
        ),
        ("the program's own", nothing(), json!({ "lat_ns": { "mean": 80_000.0 } }), nothing()),
        ("part of them may come from memory", nothing(), nothing(), json!({ "direct": "0" })),
        (
            "is that of memory",
            nothing(),
            json!({ "clat_ns": times(900.0, 900.0, 900.0) }),
            json!({ "direct": "0" }),
        ),
        ("iodepth=8 had no effect", nothing(), nothing(), json!({ "ioengine": "psync" })),
        ("iodepth=8 was not reached", json!({ "iodepth_level": { "1": 99.9 } }), nothing(), nothing()),
        ("coordinated omission", nothing(), nothing(), json!({ "rate_iops": "1000" })),
        ("CPU bound: 99 % of a CPU", json!({ "usr_cpu": 40.0, "sys_cpu": 59.0 }), nothing(), nothing()),
        (
            "zeros were written",
            json!({ "write": { "total_ios": 1_000_000, "runtime": 9000 } }),
            nothing(),
            json!({ "zero_buffers": "1" }),
        ),
    ] {
        let caveats = caveats_of(&fio(job, read, options));
        assert!(caveats.iter().any(|caveat| caveat.contains(part)), "{part}: {caveats:#?}");
    }
}

#[test]
fn memory_and_idle_devices_are_reported_by_the_disks() {
    let mut document = fio(json!({}), json!({}), json!({ "direct": "0" }));
    document["disk_util"] = json!([{ "name": "sda", "util": 40.0, "read_sectors": 1000 }]);
    let caveats = caveats_of(&document);
    assert!(caveats[0].starts_with("the busiest device was busy for only 40 %"), "{caveats:#?}");
    assert!(caveats[1].starts_with("cached: only 0 % of the bytes"), "{caveats:#?}");
    document["disk_util"][0]["read_sectors"] = json!((1u64 << 30) / 512);
    assert!(caveats_of(&document)[1].contains("may come from memory"));
    document["disk_util"][0].as_object_mut().unwrap().remove("read_sectors");
    document["disk_util"][0]["read_ios"] = json!(100);
    assert!(caveats_of(&document)[1].starts_with("cached: only 12 %"), "{:#?}", caveats_of(&document));
    // Held back on purpose, it is not a wonder.
    document["jobs"][0]["job options"]["rate_iops"] = json!("100");
    assert!(!caveats_of(&document)[0].contains("busiest"));
}

#[test]
fn settings_of_all_jobs_count() {
    let mut document = fio(json!({}), json!({}), json!({}));
    document["jobs"][0]["job options"].as_object_mut().unwrap().remove("direct");
    assert_eq!(caveats_of(&document).len(), 1);
    document["global options"] = json!({ "direct": "1" });
    assert_eq!(caveats_of(&document), [""; 0]);
}

#[test]
fn all_keys_are_explained_when_asked_for() {
    let document = fio(json!({ "ctx": 17, "novelty": 3 }), json!({}), json!({}));
    let (few, all) = (explained(&document, false), explained(&document, true));
    for part in ["ctx: 17", "novelty: 3", "not known here", "stddev"] {
        assert!(all.contains(part) && !few.contains(part), "{part}: {all}");
    }
    assert!(few.contains("--all explains every key") && !all.contains("--all"));
}

#[test]
fn own_results_are_explained() {
    let document = json!({
        "format": "iolite-run/1",
        "ending": { "kind": "completed", "error": null },
        "warnings": [{ "kind": "volatile", "text": "tmpfs keeps its data in memory" }],
        "phases": [{
            "name": "random read", "concurrency": 4, "measured_seconds": 2.0, "ending": { "kind": "interrupted" },
            "cache": { "stamp": "partly cached", "cached_share": 0.37, "requested_read_bytes": 1024, "device_read_bytes": 512 },
            "outstanding": { "lost": 1 },
            "rate": { "asked_iops": 100.0, "achieved_iops": 50.0, "backlog": 4, "kept": false },
            "verified": { "units": 5, "wrong": 1 },
            "operations": [{ "kind": "read", "operations": 4, "errors": 1,
                "iops": { "value": 100.0, "low": 50.0, "high": 150.0 },
                "response_ns": { "p99": { "value": 1e6, "resolved": false }, "max": 2_000_000 } }],
        }],
    });
    let caveats = caveats_of(&document);
    for part in [
        "tmpfs keeps",
        "interrupted",
        "37.0 % was served by a cache",
        "never completed",
        "was not reached",
        "differs from data written",
        "operations failed",
        "uncertain by 50 %",
        "too few operations for p99",
    ] {
        assert!(caveats.iter().any(|caveat| caveat.contains(part)), "{part}: {caveats:#?}");
    }
    assert!(explained(&document, false).contains("max: 2.00 ms"));
}

#[test]
fn a_document_of_the_program_itself_has_every_key_explained() {
    let document = crate::json(&crate::synthetic::check());
    let text = explained(&document, true);
    let unknown: Vec<_> = text.lines().filter(|line| line.contains("not known here")).collect();
    assert!(unknown.is_empty(), "{unknown:#?}");
}

#[test]
fn what_is_no_result_is_reported() {
    for (document, part) in [
        (json!({}), "an empty object"),
        (json!({ "a": 1 }), "an object with `a`"),
        (json!([1]), "a list"),
        (json!(3), "a single value"),
        (json!({ "format": "sunshine/1" }), "format `sunshine/1`"),
        (json!({ "fio version": "3", "jobs": 3 }), "an object with"),
    ] {
        let error =
            result(ResultToExplain { document: &document, all: false }, PLAIN).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let keys = prop::sample::select(vec![
        "jobs",
        "read",
        "write",
        "clat_ns",
        "percentile",
        "iodepth_level",
        "job options",
        "steadystate",
        "data",
        "phases",
        "operations",
        "iops",
        "cache",
        "format",
        "disk_util",
        "99.000000",
        "total_ios",
        "error",
        "x",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[ -~\u{1b}\u{202e}]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(keys.clone().prop_map(str::to_owned), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_document_makes_it_panic(jobs in any_json(), rest in any_json(), all in any::<bool>(), unicode in any::<bool>()) {
        let style = Style { unicode, ..PLAIN };
        for mut document in [json!({ "fio version": "fio-3", "jobs": [jobs] }), json!({ "format": "iolite-run/1", "phases": [jobs] })] {
            if let (Value::Object(document), Value::Object(rest)) = (&mut document, rest.clone()) {
                rest.into_iter().for_each(|(key, value)| {
                    document.entry(key).or_insert(value);
                });
            }
            let text = result(ResultToExplain { document: &document, all }, style).unwrap();
            prop_assert!(text.chars().all(|c| c == '\n' || !crate::styler::is_unsafe(c)), "{text:?}");
            prop_assert!(unicode || text.is_ascii(), "{text:?}");
        }
    }
}

/// A phase of iolite's that has nothing wrong, of which some keys are as given.
fn own(phase: Value, task: Value, read: Value) -> Value {
    let mut of_read = json!({ "kind": "read", "operations": 3_000_000, "errors": 0,
        "iops": { "value": 100_000.0, "low": 99_000.0, "high": 101_000.0 },
        "response_ns": { "mean": { "value": 80_000.0 }, "p99": { "value": 2e5, "resolved": true }, "max": 3_000_000 } });
    merge(&mut of_read, read);
    let mut of_task = json!({ "kind": "file", "direct": true, "arrival": "closed", "backend": "lib-aio", "contents": { "fill": "random" } });
    merge(&mut of_task, task);
    let series: Vec<_> = (0..30)
        .map(|second| json!({ "start_seconds": second, "seconds": 1.0, "operations": { "read": 100_000 } }))
        .collect();
    let mut of_phase = json!({ "name": "a", "concurrency": 8, "measured_seconds": 30.0, "ending": { "kind": "completed" },
        "cache": { "stamp": "device" }, "task": of_task, "operations": [of_read], "changes": null, "series": series });
    merge(&mut of_phase, phase);
    json!({ "format": "iolite-run/1", "warnings": [], "phases": [of_phase] })
}

/// Series of seconds with so many reads each.
fn course(counts: impl Iterator<Item = u64>) -> Value {
    counts.map(|count| json!({ "seconds": 1.0, "operations": { "read": count } })).collect::<Vec<_>>().into()
}

#[test]
fn what_is_found_in_a_result_of_fios_is_found_in_one_of_iolites() {
    let nothing = || json!({});
    let times = |mean: f64, p99: f64, max: f64| json!({ "response_ns": { "mean": { "value": mean }, "p99": { "value": p99 }, "max": max } });
    assert_eq!(caveats_of(&own(nothing(), nothing(), nothing())), [""; 0]);
    let slow_second = course((0..30).map(|second| if second == 9 { 30_000 } else { 100_000 }));
    let scattered = course((0..30).map(|second| if second % 2 == 0 { 160_000 } else { 85_000 }));
    let written = json!([{ "kind": "write", "operations": 9_000_000 }]);
    for (part, phase, task, read) in [
        ("the phase failed", json!({ "ending": { "kind": "failed" } }), nothing(), nothing()),
        ("operations failed", nothing(), nothing(), json!({ "errors": 3 })),
        ("400 ms are too short", json!({ "measured_seconds": 0.4 }), nothing(), nothing()),
        ("a stall, or a change of state", json!({ "series": slow_second }), nothing(), nothing()),
        ("varied by", json!({ "series": scattered }), nothing(), nothing()),
        ("10 times the mean", nothing(), nothing(), times(80_000.0, 800_000.0, 1e6)),
        ("one operation took 2.00 s", nothing(), nothing(), times(8e4, 8e4, 2e9)),
        ("part of them may come from memory", nothing(), json!({ "direct": false }), nothing()),
        ("is that of memory", nothing(), json!({ "direct": false }), times(900.0, 900.0, 900.0)),
        (
            "writes went through the page cache",
            json!({ "operations": written }),
            json!({ "direct": false }),
            nothing(),
        ),
        (
            "zeros were written",
            json!({ "operations": written }),
            json!({ "contents": { "fill": "zeros" } }),
            nothing(),
        ),
        ("8 outstanding operations were not reached", nothing(), nothing(), times(10_000.0, 10_000.0, 1e6)),
    ] {
        let caveats = caveats_of(&own(phase, task, read));
        assert!(caveats.iter().any(|caveat| caveat.contains(part)), "{part}: {caveats:#?}");
    }
}

/// As for a document of fio's.
#[test]
fn too_few_operations_for_the_last_percentile_are_warned_of() {
    let document = |resolved: bool| {
        json!({
            "format": "iolite-run/1",
            "ending": { "kind": "completed", "error": null },
            "phases": [{
                "name": "random read", "measured_seconds": 60.0,
                "operations": [{ "kind": "read", "operations": 20_000,
                    "response_ns": { "p99_9": { "value": 1e6, "resolved": true },
                        "p99_99": { "value": 1e6, "resolved": resolved }, "max": 2_000_000 } }],
            }],
        })
    };
    assert_eq!(caveats_of(&document(true)), [""; 0]);
    assert_eq!(caveats_of(&document(false)), ["read: too few operations for p99.99"]);
}
