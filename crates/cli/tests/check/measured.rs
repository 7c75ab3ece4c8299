//! What a check finds out of times, rates and the counters of a device: one test at a time, beside as little else as possible
//! (`.ci/run_tests` runs this module on its own).

use std::fs;
use std::process::Command;

use super::SHORT;
use crate::common::*;

/// The same reads, around the page cache and through it.
#[test]
fn the_stamp_distinguishes_the_device_from_the_cache() {
    undisturbed(|| {
        let place = TestDirectory::alone();
        if iolite_observe::storage(&place.data()).unwrap().leaves().next().is_none() {
            eprintln!("skipped: no block device beneath the tests");
            return;
        }
        let direct = json(&place.check(&place.data(), &[&SHORT[..], &["--json"]].concat()).output().unwrap());
        if phases(&direct, "random read 8 KiB")[0]["task"]["direct"] == false {
            eprintln!("skipped: the file system beneath the tests refuses O_DIRECT");
            return;
        }
        // Another program on the same device may add reads to one run, hardly to most of them.
        let reads = phases(&direct, "random read 8 KiB");
        let ratio = |phase: &serde_json::Value| {
            let cache = &phase["cache"];
            cache["device_read_bytes"].as_f64().unwrap() / cache["requested_read_bytes"].as_f64().unwrap()
        };
        assert!(reads.iter().all(|phase| phase["cache"]["stamp"] == "device"));
        let close = reads.iter().filter(|phase| (0.98..1.02).contains(&ratio(phase))).count();
        assert!(close * 2 > reads.len(), "{:?}", reads.iter().map(|phase| ratio(phase)).collect::<Vec<_>>());

        let output =
            place.check(&place.data(), &[&SHORT[..], &["--json", "--buffered"]].concat()).output().unwrap();
        let buffered = json(&output);
        for phase in phases(&buffered, "random read 8 KiB") {
            assert_eq!(phase["cache"]["stamp"], "cached", "{}", phase["cache"]);
        }
        assert_ne!(
            buffered["verdict"]["fitness"], "fit",
            "what a cache delivers proves nothing of the storage"
        );
    });
}

/// A file system that does not have the device flush its cache acknowledges commits that a power failure loses.
#[test]
fn a_file_system_without_barriers_is_never_fit() {
    let place = TestDirectory::alone();
    if !is_root() {
        return skip("root is needed, for a loop device").unwrap_or_default();
    }
    let Some(device) = Loop::new(&place, 512 << 20) else { return };
    let made = Command::new("mkfs.ext4").arg("-q").arg(&device.0).output();
    if !made.is_ok_and(|made| made.status.success()) {
        return skip("no mkfs.ext4").unwrap_or_default();
    }
    let at = place.root.path().join("mounted");
    let Some(_mount) = Mount::new(&["-t", "ext4", "-o", "nobarrier", &device.0], &at) else { return };
    let storage = iolite_observe::storage(&at).unwrap();
    if !storage.flushes_are_needed() {
        return skip("the device beneath has no volatile write cache").unwrap_or_default();
    }
    let output = place.check(&at, &[&SHORT[..], &["--json"]].concat()).output().unwrap();
    let document = json(&output);
    let warnings = document["warnings"].to_string();
    assert_ne!(document["verdict"]["fitness"], "fit", "{}", document["verdict"]);
    let flushes: Vec<_> = document["phases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|phase| &phase["cache"]["device_flushes"])
        .collect();
    assert!(warnings.contains("the device counted only"), "{warnings} {flushes:?}");
}

/// A device slowed on purpose: the truth is known.
#[test]
fn a_throttle_is_found_and_a_rate_beyond_it_is_unfit_for_that_reason() {
    undisturbed(|| {
        let place = TestDirectory::alone();
        let Some(throttle) = Throttle::reads(&place.data(), 2000) else { return };
        let arguments = ["--budget-time", "45s", "--budget-space", "256M", "--target-iops", "5000", "--json"];
        let output = throttle.run(&place.check(&place.data(), &arguments));
        let document = json(&output);
        assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
        for knee in document["knees"].as_array().unwrap() {
            let plateau = knee["plateau_iops"]["value"].as_f64().unwrap();
            // The throttle counts in slices of 100 ms, of which a window has but some.
            assert!((plateau / 2000.0 - 1.0).abs() <= 0.05, "{}: {plateau}", knee["name"]);
        }
        // Little's law: what is outstanding is what comes a second times how long it stays. Operations across the edges of a
        // short window count whole or not at all: each phase may be off by one such wait, all together hardly.
        let (mut outstanding, mut asked) = (0.0, 0.0);
        for phase in phases(&document, "random read 8 KiB") {
            let read = &phase["operations"][0];
            let seconds = phase["measured_seconds"].as_f64().unwrap();
            let rate = read["iops"]["value"].as_f64().unwrap();
            let [response, longest] = [&read["response_ns"]["mean"]["value"], &read["response_ns"]["max"]]
                .map(|nanos| nanos.as_f64().unwrap() / 1e9);
            let concurrency = phase["concurrency"].as_f64().unwrap();
            assert!(
                (rate * response / concurrency - 1.0).abs() <= 0.02 + longest / seconds,
                "{rate} x {response} for {concurrency}, at most {longest} in {seconds} s"
            );
            (outstanding, asked) = (outstanding + rate * response * seconds, asked + concurrency * seconds);
        }
        assert!((outstanding / asked - 1.0).abs() <= 0.1, "{outstanding} of {asked} operation-seconds");
        let warnings = document["warnings"].to_string();
        // On a host that is short of CPUs, a rate that no depth changes may be the host's.
        assert!(warnings.contains("capped at") || warnings.contains("waited for a CPU"), "{warnings}");
        let reason = &document["verdict"]["reasons"][0];
        assert_eq!(reason["what"], "random read 8 KiB, rate");
        assert_eq!(reason["fitness"], "unfit");
        assert!(reason["measured"].as_str().unwrap().contains("IOPS at most"), "{reason}");
        assert_eq!(reason["asked"], "at least 5,000 IOPS");
    });
}

/// Its reads are those of any device: what makes it no place for a database are its commits.
#[test]
fn a_disk_of_thirty_writes_a_second_is_unfit() {
    undisturbed(thirty_writes_a_second);
}

fn thirty_writes_a_second() {
    let place = TestDirectory::alone();
    let Some(throttle) = Throttle::new(&place.data(), Limit::WriteIops(30)) else { return };
    let arguments = ["--budget-time", "10s", "--budget-space", "64M", "--json"];
    let output = throttle.run(&place.check(&place.data(), &arguments));
    let document = json(&output);
    if phases(&document, "random write 8 KiB").iter().any(|phase| phase["task"]["direct"] == false) {
        return skip("the file system beneath the tests refuses O_DIRECT: the kernel writes later")
            .unwrap_or_default();
    }
    // Beside other load on the device the check says that it cannot tell, and never that the disk is fit.
    let reasons = document["verdict"]["reasons"].as_array().unwrap();
    let beside = |reason: &serde_json::Value| reason["what"] == "other load";
    let code = output.status.code();
    if reasons.iter().any(beside) && code == Some(3) {
        return skip("the device is busy: the verdict is marginal for that reason").unwrap_or_default();
    }
    assert_eq!(code, Some(4), "{}{}", document["verdict"], stderr(&output));
}

/// ext4 with data=journal takes O_DIRECT and goes through the cache all the same: only the counters show it.
#[test]
fn direct_io_that_is_none_is_seen_through() {
    undisturbed(|| {
        let place = TestDirectory::alone();
        let (image, at) = (place.root.path().join("image"), place.root.path().join("journalled"));
        fs::File::create(&image).unwrap().set_len(1 << 30).unwrap();
        let made = Command::new("mkfs.ext4")
            .arg("-q")
            .arg(&image)
            .env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin")
            .output();
        if !made.is_ok_and(|made| made.status.success()) {
            eprintln!("skipped: no mkfs.ext4 to make a file system with");
            return;
        }
        let source = image.to_str().unwrap();
        let Some(_mount) = Mount::new(&["-o", "loop,data=journal", source], &at) else { return };
        let output =
            place.check(&at, &["--budget-time", "10s", "--budget-space", "100M", "--json"]).output().unwrap();
        let document = json(&output);
        assert_eq!(phases(&document, "random read 8 KiB")[0]["cache"]["stamp"], "cached");
        assert_ne!(document["verdict"]["fitness"], "fit");
        let devices = document["run"]["storage"]["devices"].as_array().unwrap();
        assert_eq!(devices[0]["kind"], "loop", "{devices:?}");
    });
}
