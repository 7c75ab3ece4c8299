//! Runs whose rates and times are known beforehand: one test at a time, beside as little else as possible (`.ci/run_tests` runs
//! this module on its own).

use std::os::unix::process::CommandExt;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use super::{command, job, lay_out, measured_phase, number, on_data, operation, run};
use crate::common::*;

/// Achieved within 1 % of each limit, by the back ends that matter, and Little's law within 2 % (libaio: 4 %).
///
/// The kernel hands a second's share out in slices of 100 ms, each in a burst: runs last a multiple of that.
#[test]
fn throttled_devices_are_measured_as_what_they_are() {
    for (limit, backend, depth, block) in [
        (Limit::Iops(500), "{ io-uring = {} }", 16, 4096.0),
        (Limit::Iops(2000), "{ io-uring = {} }", 32, 4096.0),
        (Limit::Iops(10_000), "'libaio'", 64, 4096.0),
        (Limit::Iops(2000), "'sync'", 8, 4096.0),
        (Limit::BytesPerSecond(50_000_000), "{ io-uring = {} }", 8, 65536.0),
    ] {
        undisturbed(|| is_measured_as_throttled(limit, backend, depth, block));
    }
}

fn is_measured_as_throttled(limit: Limit, backend: &str, depth: u32, block: f64) {
    let place = TestDirectory::alone();
    let Some(throttle) = Throttle::new(&place.data(), limit) else { return };
    let workers = if backend == "'sync'" { depth } else { 1 };
    let rest = format!(
        "backend = {backend}\ndirect = true\nblock = {block}\nconcurrency = {depth}\nworkers = {workers}\n\
             stop.runtime = '5s'\nramp = '1s'\ninterval = '100ms'"
    );
    let text = lay_out("128MiB") + &on_data("128MiB", &rest);
    let output = throttle.run(&command(&place, "run", &job(&place, &text), &["--json", "--quiet"]));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let document = json(&output);
    let read = operation(measured_phase(&document), "read");
    let rate = number(&read["iops"]["value"]);
    let expected = match limit {
        Limit::Iops(iops) | Limit::WriteIops(iops) => f64::from(iops),
        Limit::BytesPerSecond(bytes) => bytes as f64 / block,
    };
    assert!((rate / expected - 1.0).abs() <= 0.01, "{limit:?} {backend}: {rate} of {expected}");
    let outstanding = rate * number(&read["response_ns"]["mean"]["value"]) / 1e9;
    let depth = f64::from(depth);
    // The throttle lets a slice's 1,000 reads through at once, so that 64 come back together: until an operation is submitted again, its
    // place is empty. Other back ends and limits have fewer at a time.
    let between = if backend == "'libaio'" { 0.04 } else { 0.02 };
    assert!((outstanding / depth - 1.0).abs() <= between, "{limit:?} {backend}: {outstanding} of {depth}");
}

#[test]
fn processes_do_the_same_as_threads() {
    undisturbed(|| {
        let place = TestDirectory::alone();
        for processes in [false, true] {
            let rest = format!(
                "backend = 'sync'\nplacement.processes = {processes}\nmix = {{ read-percent = 50 }}\nregions = 'slices'\n\
             workers = 3\nconcurrency = 3\narrival.constant = 3000\nstop.runtime = '1s'\nramp = '200ms'\n\
             interval = '100ms'\nverify = {{ check = 'xxh3', after = true }}"
            );
            // Laid out through the page cache, so that all of it is there.
            let lay_out = lay_out("16MiB").replace("direct = true", "direct = false");
            let document = run(&place, &(lay_out + &on_data("16MiB", &rest)));
            let phase = measured_phase(&document);
            let done: f64 =
                ["read", "write"].iter().map(|kind| number(&operation(phase, kind)["operations"])).sum();
            assert!((done - 3000.0).abs() <= 30.0, "processes = {processes}: {done}");
            assert_eq!(phase["rate"]["kept"], true, "{}", phase["rate"]);
            assert!(
                number(&phase["verified"]["units"]) > 500.0 && phase["verified"]["wrong"] == 0,
                "{phase}"
            );
            let series: f64 =
                phase["series"].as_array().unwrap().iter().map(|point| number(&point["seconds"])).sum();
            assert!((series - 1.0).abs() < 0.01, "{series}");
            assert_ne!(phase["cache"]["stamp"], "device", "what verification reads is not what was measured");
        }
        // Each worker's totals are in the results, whoever it was.
        let workers = place.ask::<i64>("SELECT count(DISTINCT worker) FROM worker WHERE phase = 1");
        assert_eq!(workers, 3);
        assert_eq!(entries(&place.data()), [""; 0], "test files were left behind");
    });
}

#[test]
fn ctrl_c_ends_threads_and_processes() {
    undisturbed(|| {
        for processes in [false, true] {
            let place = TestDirectory::alone();
            let rest = format!(
                "backend = 'sync'\nplacement.processes = {processes}\nworkers = 2\nconcurrency = 2\nstop.runtime = \
                 '1h'\ninterval = '50ms'"
            );
            let text = lay_out("16MiB") + &on_data("16MiB", &rest);
            let mut run = command(&place, "run", &job(&place, &text), &["--json", "--quiet"]);
            let mut child =
                run.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).spawn().unwrap();
            place.wait_for_intervals(&mut child, 8);
            kill_process(Pid::from_child(&child), Signal::INT).unwrap();
            let output = child.wait_with_output().unwrap();
            assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
            let document = json(&output);
            assert_eq!(document["ending"]["kind"], "interrupted", "{}", document["ending"]);
            assert!(number(&operation(measured_phase(&document), "read")["operations"]) > 0.0);
            assert_eq!(entries(&place.data()), [""; 0], "test files were left behind");
        }
    });
}

#[test]
fn a_latency_target_on_a_throttled_device_is_what_littles_law_says() {
    undisturbed(|| {
        let place = TestDirectory::alone();
        let Some(throttle) = Throttle::new(&place.data(), Limit::Iops(1000)) else { return };
        let rest = "backend.io-uring = {}\ndirect = true\nconcurrency = 8\ninterval = '100ms'";
        let text = lay_out("64MiB") + &on_data("64MiB", rest);
        let arguments = [
            "--bound",
            "250ms",
            "--quantile",
            "90",
            "--depth",
            "1024",
            "--window",
            "1s",
            "--json",
            "--quiet",
        ];
        let output = throttle.run(&command(&place, "latency-target", &job(&place, &text), &arguments));
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let document = json(&output);
        // 1,000 a second: with n outstanding each takes n ms, less or more by the slices of 100 ms.
        let depth = number(&document["answer"]["depth"]);
        assert!((120.0..=260.0).contains(&depth), "{}", document["answer"]);
        assert!(document["tries"].as_array().unwrap().iter().any(|each| each["outcome"] == "broken"));
    });
}
