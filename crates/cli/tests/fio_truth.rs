//! What `iolite fio` reports of a run is what has happened in it: times, logs, counts of errors.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod common;

use std::fs;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use common::*;
use serde_json::Value;

/// Runs `iolite fio` in the place's directory.
fn fio(place: &TestDirectory, arguments: &str) -> Output {
    let mut command = Command::new(IOLITE);
    command.arg("fio").arg("--output-format=json").args(arguments.split_whitespace());
    command.current_dir(place.data()).env("XDG_DATA_HOME", place.root.path()).stdin(Stdio::null());
    command.output().unwrap()
}

/// The documents that it printed.
fn documents(output: &Output) -> Vec<Value> {
    let documents = serde_json::Deserializer::from_slice(&output.stdout).into_iter();
    documents.collect::<Result<_, _>>().unwrap_or_else(|error| panic!("{error}: {}", stderr(output)))
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value}"))
}

/// The lines of a log, as numbers.
fn log(place: &TestDirectory, name: &str) -> Vec<Vec<u64>> {
    let text = fs::read_to_string(place.data().join(name)).unwrap();
    text.lines().map(|line| line.split(", ").map(|field| field.parse().unwrap()).collect()).collect()
}

#[test]
fn a_job_s_time_is_its_own() {
    undisturbed(|| {
        let place = TestDirectory::alone();
        let arguments = "--ioengine=psync --rw=randread --size=32m --time_based --name=short --filename=a --runtime=200ms \
                     --ramp_time=100ms --write_iops_log=i --log_avg_msec=100 --log_unix_epoch=1 \
                     --name=long --filename=b --runtime=900ms --ramp_time=0 --write_iops_log=j";
        let begun = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64;
        let output = fio(&place, arguments);
        let report = &documents(&output)[0];
        let jobs = ["short", "long"].map(|name| {
            report["jobs"].as_array().unwrap().iter().find(|job| job["jobname"] == name).unwrap().clone()
        });
        // Neither the files' making, nor the ramp, nor the other job.
        let times = |job: &Value| (number(&job["job_runtime"]), number(&job["read"]["runtime"]));
        // What is in flight at the end counts, as in fio, and so does the time until it is back.
        let longest = |job: &Value| number(&job["read"]["lat_ns"]["max"]) / 1_000_000 + 1;
        for (job, runtime) in jobs.iter().zip([200, 900]) {
            let allowed = runtime..=runtime + longest(job);
            let (whole, reads) = times(job);
            assert!(
                allowed.contains(&whole) && allowed.contains(&reads),
                "{whole} and {reads}, not {allowed:?}"
            );
        }
        let made = fs::metadata(place.data().join("b")).unwrap();
        let made =
            made.created().unwrap_or(UNIX_EPOCH).duration_since(UNIX_EPOCH).unwrap().as_millis() as u64;
        let start = number(&jobs[0]["job_start"]);
        assert!(start >= begun && start >= made, "{start} is before {begun} or {made}");
        assert_eq!(log(&place, "i_iops.1.log")[0][0] / 10, (start + 200) / 10, "the ramp, and a window");
    });
}

#[test]
fn logs_hold_what_the_totals_count() {
    let place = TestDirectory::alone();
    let job = "--name=l --ioengine=null --iodepth=8 --rw=randrw --size=64m --time_based --runtime=300ms \
               --ramp_time=100ms --rate_iops=20k --write_lat_log=l --write_iops_log=l";
    let aio = "--name=a --ioengine=libaio --iodepth=8 --rw=randrw --size=8m --filename=a --time_based --runtime=300ms \
               --ramp_time=100ms --write_lat_log=l --write_iops_log=l";
    for arguments in [job, aio] {
        let output = fio(&place, arguments);
        let report = &documents(&output)[0]["jobs"][0];
        let counted = [&report["read"]["total_ios"], &report["write"]["total_ios"]].map(number);
        assert!(counted[0] > 0 && counted[1] > 0, "{report}");
        for name in ["l_lat.1.log", "l_clat.1.log", "l_slat.1.log", "l_iops.1.log"] {
            let lines = log(&place, name);
            let of = |direction| lines.iter().filter(|line| line[2] == direction).count() as u64;
            assert_eq!([of(0), of(1)], counted, "{name}");
        }
    }
}

#[test]
fn a_trigger_ends_the_run() {
    let place = TestDirectory::alone();
    let arguments = "--trigger-timeout=1 --trigger=true --name=a --ioengine=null --rw=read --size=1m --time_based \
                     --rate_iops=100 --runtime=3600";
    let started = Instant::now();
    let output = fio(&place, arguments);
    assert!(started.elapsed() >= Duration::from_secs(1), "not before its time");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let runtime = number(&documents(&output)[0]["jobs"][0]["read"]["runtime"]);
    assert!(runtime < 3_600_000, "the trigger ended it, not its runtime: {runtime}");
}

#[test]
fn errors_that_are_gone_on_after_are_counted() {
    let place = TestDirectory::alone();
    let job = "--name=w --ioengine=psync --size=1m --filename=v --verify=crc32c";
    let written = fio(&place, &format!("{job} --rw=write --do_verify=0"));
    assert!(written.status.success(), "{}", stderr(&written));
    let mut bytes = fs::read(place.data().join("v")).unwrap();
    for block in [5, 9, 100] {
        bytes[block * 4096 + 2000] ^= 1;
    }
    fs::write(place.data().join("v"), bytes).unwrap();
    let report = |arguments: &str| documents(&fio(&place, arguments))[0]["jobs"][0].clone();
    let wrong = report(&format!("{job} --rw=read --continue_on_error=verify"));
    assert_eq!(
        (&wrong["error"], &wrong["total_err"], &wrong["first_error"]),
        (&84.into(), &3.into(), &84.into())
    );
    let none = report("--name=n --ioengine=null --rw=read --size=1m --continue_on_error=all");
    assert_eq!((&none["error"], &none["total_err"], &none["first_error"]), (&0.into(), &0.into(), &0.into()));
    let plain = report("--name=n --ioengine=null --rw=read --size=1m");
    assert_eq!(plain.get("total_err"), None);
}

#[test]
fn results_on_the_way_are_of_the_job_that_runs() {
    let place = TestDirectory::alone();
    // A search runs a job several times, and names are made before they are looked for: phases are not threads.
    let arguments = "--status-interval=250ms --name=search --ioengine=null --rw=read --size=1m --iodepth=4 \
                     --latency_target=1s --latency_percentile=99 --latency_window=400ms --time_based --runtime=10 \
                     --name=last --stonewall --ioengine=null --rw=read --size=1g --time_based --runtime=1 --rate_iops=1000";
    let report = documents(&fio(&place, arguments));
    assert!(report.len() > 2, "{}", report.len());
    let names = |document: &Value| -> Vec<String> {
        let jobs = document["jobs"].as_array().unwrap().iter();
        jobs.map(|job| job["jobname"].as_str().unwrap().to_owned()).collect()
    };
    for document in &report {
        assert!(
            [vec!["search"], vec!["search", "last"]]
                .contains(&names(document).iter().map(String::as_str).collect()),
            "{:?}",
            names(document)
        );
    }
    let last = |document: &Value| document["jobs"].get(1).map_or(0, |job| number(&job["read"]["total_ios"]));
    assert!(report.iter().map(last).collect::<Vec<_>>().is_sorted());
}

#[test]
fn what_moves_no_data_is_reported_without_bytes() {
    let place = TestDirectory::alone();
    let output = fio(&place, "--name=c --ioengine=cpuio --cpuload=20 --time_based --runtime=600ms");
    let report = &documents(&output)[0]["jobs"][0]["read"];
    assert!(number(&report["total_ios"]) > 0, "{report}");
    assert_eq!(["io_bytes", "bw", "bw_max"].map(|key| number(&report[key])), [0; 3], "{report}");
}

#[test]
fn a_rate_that_is_missed_is_an_error_of_the_job() {
    let place = TestDirectory::alone();
    let arguments =
        "--name=r --ioengine=null --rw=read --size=1m --time_based --runtime=30 --rate=900g --rate_min=800g";
    let output = fio(&place, arguments);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert_eq!(documents(&output)[0]["jobs"][0]["error"], 5);
}

#[test]
fn what_is_interrupted_in_its_ramp_has_used_nothing() {
    let place = TestDirectory::alone();
    let arguments = "--trigger-timeout=500ms --name=r --ioengine=null --rw=read --size=1m --time_based --runtime=30 \
                     --ramp_time=30";
    let report = &documents(&fio(&place, arguments))[0]["jobs"][0].clone();
    assert_eq!((number(&report["read"]["total_ios"]), number(&report["ctx"])), (0, 0), "{report}");
    assert_eq!((&report["usr_cpu"], &report["sys_cpu"]), (&0.0.into(), &0.0.into()));
}

#[test]
fn an_operation_that_takes_too_long_is_a_timeout() {
    let place = TestDirectory::alone();
    let output = fio(&place, "--name=m --ioengine=psync --rw=read --size=1m --filename=m --max_latency=1ns");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(documents(&output)[0]["jobs"][0]["error"], 110);
}
