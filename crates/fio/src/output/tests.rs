//! What is reported of synthetic results, and whether it is reported as the installed fio reports it.

use crate::language::thread::{SteadyMeasure, SteadyState};
use iolite_model::{ErrorClass, ErrorTally, LatencyTarget, LoadParameter, Nanos, OpKind, Quantile, Warning};
use serde_json::Value;

use super::json::{NEWER_KEYS, OWN_KEY, json};
use super::normal::normal;
use super::result::{JobResult, Results, SteadyPoint, SteadyResult};
use super::synthetic::{detail, disk, job, results};
use super::terse::{TerseVersion, terse};
use super::{Format, output};

mod against_fio;
mod logs;

fn parsed(results: &Results, plus: bool) -> Value {
    let text = json(results, plus);
    assert_eq!((text.lines().next(), text.lines().last()), (Some("{"), Some("}")));
    serde_json::from_str(&text).unwrap()
}

fn mixed() -> JobResult {
    job("mixed", 0, &[(OpKind::Read, 20_000.0), (OpKind::Write, 10_000.0)])
}

#[test]
fn a_job_is_reported_in_text() {
    let mut job = mixed();
    job.thread.description = Some("two kinds".into());
    job.thread.notes = vec!["rate counts from the intended start".into()];
    insta::assert_snapshot!(masked_dates(&normal(&results(vec![job]))));
}

/// The local time zone is not the tests' business.
fn masked_dates(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        match line.split_once(": pid=") {
            Some((start, rest)) => {
                let pid = rest.split(':').next().unwrap_or_default();
                out += &format!("{start}: pid={pid}: DATE\n");
            }
            None => out += &format!("{line}\n"),
        }
    }
    out
}

#[test]
fn an_asynchronous_engine_has_submission_and_completion_apart() {
    let mut job = job("ring", 0, &[(OpKind::Read, 20_000.0)]);
    job.thread.reporting.synchronous = false;
    job.thread.reporting.slat_percentiles = true;
    job.detail = Some(detail());
    let results = results(vec![job]);
    let text = normal(&results);
    for line in [
        "    slat (nsec): min=1500, max=1500, avg=1500.00, stdev= 0.00\n",
        "    slat percentiles (nsec):\n",
        "  IO depths    : 1=1.0%, 2=2.0%, 4=3.0%, 8=4.0%, 16=5.0%, 32=6.0%, >=64=79.0%\n",
        "     submit    : 0=0.0%, 4=90.0%, 8=10.0%, 16=0.0%, 32=0.0%, 64=0.0%, >=64=0.0%\n",
        "  lat (usec)   : 250=100.00%\n",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
    let rendered = parsed(&results, false);
    let read = &rendered["jobs"][0]["read"];
    assert_eq!(
        (&read["slat_ns"]["N"], &read["clat_ns"]["N"], &read["lat_ns"]["N"]),
        (&100.into(), &100.into(), &5000.into())
    );
    assert_eq!(read["slat_ns"]["percentile"]["50.000000"], 1500);
}

#[test]
fn json_holds_the_figures() {
    let rendered = parsed(&results(vec![mixed()]), true);
    let job = &rendered["jobs"][0];
    assert_eq!(rendered["fio version"], "fio-3.42-iolite");
    assert_eq!(rendered["global options"].as_object().unwrap().len(), 2);
    assert_eq!(rendered["global options"]["time_based"], "");
    let read = &job["read"];
    assert_eq!((&read["total_ios"], &read["io_bytes"]), (&5000.into(), &(5000 * 4096).into()));
    assert_eq!((&read["io_kbytes"], &read["runtime"]), (&20_000.into(), &250.into()));
    assert_eq!((&read["bw_bytes"], &read["bw"]), (&81_920_000.into(), &80_000.into()));
    assert_eq!(read["iops"], 20_000.0);
    assert_eq!((&read["slat_ns"]["N"], &read["clat_ns"]["N"]), (&0.into(), &5000.into()));
    let bins = read["clat_ns"]["bins"].as_object().unwrap();
    assert_eq!(bins.values().map(|count| count.as_u64().unwrap()).sum::<u64>(), 5000);
    assert!(read["lat_ns"].get("percentile").is_none() && job["trim"]["clat_ns"].get("percentile").is_none());
    // Ten intervals of 25 ms with some 500 operations each.
    assert_eq!((&read["bw_samples"], &read["iops_samples"]), (&10.into(), &10.into()));
    let iops = read["iops_mean"].as_f64().unwrap();
    assert!((iops - 20_000.0).abs() < 200.0, "{iops}");
    assert!((read["bw_mean"].as_f64().unwrap() - iops * 4.0).abs() < 1.0);
    assert!((99.0..=100.0).contains(&read["bw_agg"].as_f64().unwrap()));
    assert_eq!((&job["usr_cpu"], &job["sys_cpu"], &job["ctx"]), (&20.0.into(), &10.0.into(), &7.into()));
    assert_eq!((&job["iodepth_level"]["1"], &job["elapsed"]), (&100.0.into(), &1.into()));
    let latencies =
        ["latency_ns", "latency_us", "latency_ms"].map(|unit| job[unit].as_object().unwrap().clone());
    let sum: f64 = latencies.iter().flat_map(|row| row.values()).map(|share| share.as_f64().unwrap()).sum();
    assert!((sum - 100.0).abs() < 0.1, "{sum}");
    assert!(job[OWN_KEY]["response_ns"]["read"]["percentile"]["99.000000"].as_u64().unwrap() > 100_000);
    assert_eq!(job[OWN_KEY]["phases"][0]["series"].as_array().unwrap().len(), 10);
    assert_eq!(rendered[OWN_KEY]["run"]["host"]["name"], "db1");
    assert_eq!(rendered["disk_util"][0]["write_sectors"], 132_088);
}

#[test]
fn whatever_names_hold_the_outputs_stay_what_they_are() {
    let mut job = mixed();
    job.thread.name = "a\"b;c\nd\u{1b}[31m\\".into();
    job.thread.description = Some("x\ny;\"z\"".into());
    let results = results(vec![job]);
    assert_eq!(parsed(&results, true)["jobs"][0]["jobname"], "a\"b;c\nd\u{1b}[31m\\");
    assert_eq!(terse(&results, TerseVersion::V3).lines().count(), 1);
    assert!(!normal(&results).contains('\u{1b}'));
}

#[test]
fn a_group_is_reported_as_one() {
    let mut jobs: Vec<JobResult> =
        (0..3).map(|number| job("one", number, &[(OpKind::Read, 20_000.0)])).collect();
    for job in &mut jobs {
        job.thread.reporting.grouped = true;
        job.thread.settings = vec![("name".into(), format!("number {}", job.thread.number))];
    }
    let mut other = job("two", 3, &[(OpKind::Write, 10_000.0)]);
    (other.thread.group, other.thread.settings) = (1, Vec::new());
    jobs.push(other);
    let results = results(jobs);
    let rendered = parsed(&results, false);
    assert_eq!(rendered["jobs"].as_array().unwrap().len(), 2);
    let read = &rendered["jobs"][0]["read"];
    assert_eq!((&read["total_ios"], &read["runtime"]), (&15_000.into(), &250.into()));
    assert_eq!((&read["iops"], &read["lat_ns"]["N"]), (&60_000.0.into(), &15_000.into()));
    // What they did together, from interval to interval.
    assert_eq!(read["iops_samples"], 10);
    assert!((read["iops_mean"].as_f64().unwrap() - 60_000.0).abs() < 600.0, "{read}");
    assert_eq!((&rendered["jobs"][0]["ctx"], &rendered["jobs"][0]["usr_cpu"]), (&21.into(), &20.0.into()));
    assert_eq!(rendered["jobs"][0]["job_runtime"], 750);
    assert_eq!(rendered["jobs"][1].get("job options"), None, "it has no settings of its own");
    // fio takes the name from the first of them and the settings from the last.
    assert_eq!(
        (&rendered["jobs"][0]["jobname"], &rendered["jobs"][0]["job options"]["name"]),
        (&"one".into(), &"number 2".into())
    );
    let text = normal(&results);
    assert!(text.contains("one: (groupid=0, jobs=3): err= 0: pid=1000: "), "{text}");
    let second = "Run status group 1 (all jobs):\n  WRITE: bw=39.1MiB/s (41.0MB/s), 39.1MiB/s-39.1MiB/s \
                  (41.0MB/s-41.0MB/s), io=9.77MiB (10.2MB), run=250-250msec\n";
    assert!(text.contains(second), "{text}");
    assert_eq!(terse(&results, TerseVersion::V3).lines().count(), 2);
}

#[test]
fn jobs_of_a_group_share_its_bandwidth() {
    let results = results(vec![
        job("fast", 0, &[(OpKind::Read, 30_000.0)]),
        job("slow", 1, &[(OpKind::Read, 10_000.0)]),
    ]);
    let rendered = parsed(&results, false);
    let share = |job: usize| rendered["jobs"][job]["read"]["bw_agg"].as_f64().unwrap();
    assert!((share(0) - 75.0).abs() < 1.0 && (share(1) - 25.0).abs() < 1.0, "{} {}", share(0), share(1));
    let text = normal(&results);
    assert!(text.contains("READ: bw=156MiB/s (164MB/s), 39.1MiB/s-117MiB/s (41.0MB/s-123MB/s)"), "{text}");
}

#[test]
fn all_directions_can_be_reported_as_one() {
    let mut job = mixed();
    job.thread.reporting.unified = 1;
    let rendered = parsed(&results(vec![job.clone()]), false);
    let unified = &rendered["jobs"][0];
    assert_eq!(
        (&unified["mixed"]["total_ios"], unified.get("read"), unified.get("sync")),
        (&7500.into(), None, None)
    );
    let text = normal(&results(vec![job.clone()]));
    assert!(text.contains("  mixed: IOPS=30.0k") && text.contains("\n  MIXED: bw="), "{text}");
    let fields: Vec<String> =
        terse(&results(vec![job.clone()]), TerseVersion::V3).split(';').map(str::to_owned).collect();
    assert_eq!((fields[5].as_str(), fields[46].as_str()), ("30000", "0"));
    job.thread.reporting.unified = 2;
    let rendered = parsed(&results(vec![job]), false);
    let both = &rendered["jobs"][0];
    assert_eq!((&both["mixed"]["total_ios"], &both["read"]["total_ios"]), (&7500.into(), &5000.into()));
}

#[test]
fn what_is_switched_off_is_not_reported() {
    let mut job = mixed();
    let reporting = &mut job.thread.reporting;
    (reporting.disable_clat, reporting.disable_lat) = (true, true);
    let results = results(vec![job]);
    let text = normal(&results);
    for absent in ["clat", " lat ("] {
        assert!(!text.contains(absent), "{absent} in {text}");
    }
    let rendered = parsed(&results, true);
    assert_eq!(rendered["jobs"][0]["read"]["clat_ns"]["N"], 0);
    // Samples of bandwidth and IOPS stay, as with fio: kubestr reads them.
    assert!(text.contains("   bw (") && text.contains("   iops "), "{text}");
    assert_ne!(rendered["jobs"][0]["read"]["bw_samples"], 0);
}

#[test]
fn errors_targets_and_steady_states_are_reported() {
    let mut job = mixed();
    job.error = 28;
    job.continued = Some((3, 5));
    job.phase.end.errors = vec![ErrorTally {
        kind: OpKind::Read,
        class: ErrorClass::Short,
        count: 2,
        first_offsets: vec![4096],
        first: "short".into(),
        number: None,
    }];
    job.thread.latency_target = Some(LatencyTarget {
        bound: Nanos(2_000_000),
        quantile: Quantile(0.99),
        window: Nanos(500_000_000),
        ramp: Nanos(0),
        parameter: LoadParameter::Depth { max: 16 },
    });
    job.depth = Some(12);
    job.thread.steady = Some(SteadyState {
        measure: SteadyMeasure::Iops,
        slope: false,
        limit: 50.0,
        percent: true,
        duration: Nanos(3_000_000_000),
        ramp: Nanos(0),
        interval: Nanos::SECOND,
    });
    let window = [10.0, 20.0].map(|iops| SteadyPoint { iops, bytes: iops * 4096.0, latency: 1.0 }).to_vec();
    job.steady =
        Some(SteadyResult { attained: true, criterion: 33.0, max_deviation: 5.0, slope: 0.0, window });
    let mut results = results(vec![job]);
    results.warnings = vec![Warning::Volatile { device: "tmpfs".into() }];
    let text = normal(&results);
    for line in [
        "err=28 (error=No space left on device): pid=1000: ",
        "issued rwts: total=5000,2500,0,0 short=2,0,0,0 dropped=0,0,0,0\n",
        "     errors    : total=3, first_error=5/<Input/output error>\n",
        "     latency   : target=2000000, window=500000, percentile=99.00%, depth=12\n",
        "  steadystate  : attained=yes, bw=60.0KiB/s (61.4kB/s), iops=15, iops mean dev=33.000%\n",
        "  warning: tmpfs keeps its data in memory",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
    let rendered = parsed(&results, false);
    let job = &rendered["jobs"][0];
    assert_eq!((&job["error"], &job["total_err"], &job["first_error"]), (&28.into(), &3.into(), &5.into()));
    assert_eq!((&job["latency_depth"], &job["latency_window"]), (&12.into(), &500_000.into()));
    assert_eq!(job["read"]["short_ios"], 2);
    assert_eq!(job["steadystate"]["ss"], "iops:50.000000%");
    assert_eq!(job["steadystate"]["criterion"], "33.000000%");
    assert_eq!(job["steadystate"]["data"]["iops"], serde_json::json!([10, 20]));
    assert_eq!(rendered[OWN_KEY]["warnings"][0]["kind"], "volatile");
    let line = terse(&results, TerseVersion::V3);
    assert!(line.trim_end().ends_with(";3;5"), "{line}");
}

#[test]
fn the_unit_of_bandwidth_is_the_one_that_fio_chooses() {
    let rendered = |bytes: f64, kb_base| {
        let mut job = mixed();
        job.thread.reporting.kb_base = kb_base;
        for point in &mut job.phase.totals.series {
            point.bytes[OpKind::Read] = (bytes * point.seconds).round() as u64;
        }
        let text = normal(&results(vec![job]));
        text.lines()
            .find(|line| line.starts_with("   bw ("))
            .unwrap()
            .split(", per")
            .next()
            .unwrap()
            .to_owned()
    };
    assert_eq!(rendered(977_024.0 * 1024.0, 1024), "   bw (  KiB/s): min=977024, max=977024");
    assert_eq!(rendered(1097.0 * 1_048_576.0, 1024), "   bw (  MiB/s): min= 1097, max= 1097");
    assert_eq!(rendered(655_639_000.0, 1000), "   bw (   kB/s): min=655639, max=655639");
}

#[test]
fn syncs_are_distinguished() {
    let results = results(vec![job("log", 0, &[(OpKind::Write, 10_000.0), (OpKind::Sync, 1_000.0)])]);
    let rendered = parsed(&results, true);
    let sync = &rendered["jobs"][0]["sync"];
    assert_eq!((&sync["total_ios"], &sync["lat_ns"]["N"]), (&250.into(), &250.into()));
    assert!(sync["lat_ns"]["percentile"].is_object() && sync["lat_ns"]["bins"].is_object());
    let text = normal(&results);
    assert!(text.contains("  fsync/fdatasync/sync_file_range:\n    sync (usec): min="), "{text}");
    assert!(text.contains("issued rwts: total=0,2500,0,250 short=0,0,0,0"), "{text}");
}

#[test]
fn terse_fields_are_where_they_are_looked_for() {
    let line = terse(&results(vec![mixed()]), TerseVersion::V3);
    let fields: Vec<&str> = line.trim_end().split(';').collect();
    assert_eq!(fields.len(), 121 + 9);
    assert_eq!(fields[..6], ["3", "fio-3.42-iolite", "mixed", "0", "0", "20000"]);
    assert_eq!(fields[6..9], ["80000", "20000", "250"]);
    assert_eq!(fields[9..13], ["0", "0", "0.000000", "0.000000"]);
    assert!(fields[17].starts_with("1.000000%=") && fields[36] == "0%=0", "{line}");
    assert!(fields[43].ends_with('%'));
    assert_eq!(fields[46..49], ["10000", "40000", "10000"]);
    assert_eq!(fields[87..92], ["20.000000%", "10.000000%", "7", "0", "12"]);
    assert_eq!(fields[92], "100.0%");
    assert_eq!(fields[121], "vda");
    let count = |version| terse(&results(vec![mixed()]), version).trim_end().split(';').count();
    assert_eq!([TerseVersion::V2, TerseVersion::V4, TerseVersion::V5].map(count), [161, 171, 189]);
    assert_eq!((TerseVersion::of(5), TerseVersion::of(6)), (Some(TerseVersion::V5), None));
}

#[test]
fn composed_disks_are_reported_with_their_parts() {
    let mut results = results(vec![mixed()]);
    let mut composed = disk("dm-0");
    composed.beneath = Some(disk("sda").counts);
    results.disks = vec![composed, disk("sda")];
    let text = normal(&results);
    let expected = "Disk stats (read/write):\n    dm-0: ios=16398/16511, sectors=131184/132088, merge=30/162, \
                    ticks=6853/819634, in_queue=826487, util=99.50%, aggrios=16398/16511, aggsectors=131184/132088, \
                    aggrmerge=30/162, aggrticks=6853/819634, aggrin_queue=826487, aggrutil=99.50%\n  sda: ios=";
    assert!(text.contains(expected), "{text}");
    let rendered = parsed(&results, false);
    assert_eq!(rendered["disk_util"][0]["aggr_write_merge"], 162);
}

#[test]
fn a_job_without_results_is_reported() {
    let results = results(vec![job("none", 0, &[])]);
    let text = normal(&results);
    assert!(text.contains("issued rwts: total=0,0,0,0") && !text.contains("IOPS"), "{text}");
    assert_eq!(parsed(&results, true)["jobs"][0]["read"]["runtime"], 0);
}

#[test]
fn several_formats_come_in_the_order_of_fio() {
    let results = results(vec![mixed()]);
    let formats = [Format::Normal, Format::JsonPlus, Format::Json, Format::Terse];
    let all = output(&results, &formats, TerseVersion::V3);
    let places = ["3;fio-3.42-iolite;", "\n{\n", "\"bins\" : {", "\n}\n\nmixed: (groupid=0"];
    let found: Vec<usize> = places.iter().filter_map(|place| all.find(place)).collect();
    assert!(found.len() == places.len() && found.is_sorted(), "{found:?}");
    assert_eq!(output(&results, &[Format::Json], TerseVersion::V3), json(&results, false));
}
