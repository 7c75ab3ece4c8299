//! Stall attribution on real storage: a device that is slow, and a throttle before it.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::*;
use serde_json::Value;

/// Reads of a target with one outstanding, and the attribution of those above 50 ms; `None`, with the reason printed, where nothing
/// can be traced.
fn attributed(place: &TestDirectory, throttle: &Throttle, target: &Path) -> Option<Value> {
    let job = place.root.path().join("job.toml");
    let text = format!(
        "[[tasks]]\n[tasks.io]\nname = 'reads'\ntarget.existing = {{ path = '{}' }}\nbackend.io-uring = {{}}\ndirect = true\n\
         mix = 'read'\nblock = '4KiB'\nstop.runtime = '2s'\n",
        target.display()
    );
    fs::write(&job, text).unwrap();
    let mut command = Command::new(IOLITE);
    command.arg("run").arg(&job).arg("--directory").arg(place.data()).arg("--results").arg(place.results());
    let output = throttle.run(command.args(["--stalls=50ms", "--json", "--quiet"]));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let document = json(&output);
    let stalls = document["stalls"][0].clone();
    if stalls["traced"] == false {
        return skip(&format!("nothing can be traced: {}", document["warnings"]));
    }
    assert!(
        stalls["examined"].as_u64().unwrap() > 0,
        "100 reads per second come in bursts, and then wait: {stalls}"
    );
    Some(stalls)
}

/// The share of the outliers in which this part took most of the time.
fn share(stalls: &Value, part: &str) -> f64 {
    stalls["largest_part"][part].as_f64().unwrap() / stalls["examined"].as_f64().unwrap()
}

/// A throttled disk is a slow device to a loop device above it; to a file on it, the throttle is before the block layer's requests.
#[test]
fn a_slow_device_is_distinguished_from_a_throttle_before_it() {
    let place = TestDirectory::alone();
    let Some(throttle) = Throttle::reads(&place.data(), 100) else { return };
    let file = place.root.path().join("file");
    fs::write(&file, vec![7; 16 << 20]).unwrap();
    fs::File::open(&file).unwrap().sync_all().unwrap();
    let Some(on_file) = attributed(&place, &throttle, &file) else { return };
    assert!(share(&on_file, "elsewhere") > 0.5 && share(&on_file, "device") < 0.5, "{on_file}");
    let Some(device) = Loop::over(&file, true) else { return };
    let Some(on_device) = attributed(&place, &throttle, Path::new(&device.0)) else { return };
    assert!(share(&on_device, "device") > 0.5 && share(&on_device, "elsewhere") < 0.5, "{on_device}");
}

/// Another user than root sees no requests of devices and no lookups of pages: both are stated, with the reason, and the rest is reported.
#[test]
fn what_another_user_cannot_see_is_stated() {
    if !is_root() {
        return skip("another user's view needs root to become one").unwrap_or(());
    }
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    let directory = tempfile::Builder::new().permissions(open).tempdir().unwrap();
    let program = directory.path().join("iolite");
    fs::copy(IOLITE, &program).unwrap();
    let own = directory.path().join("nobody");
    fs::create_dir(&own).unwrap();
    std::os::unix::fs::chown(&own, Some(65_534), Some(65_534)).unwrap();
    let job = directory.path().join("job.toml");
    let text = "[[tasks]]\n[tasks.io]\nname = 'writes'\ntarget.file = { name = 'data', size = '4MiB', create = true }\nbackend = 'sync'\nmix = 'write'\nblock = '4KiB'\n\
                stop.operations = 2000\n";
    fs::write(&job, text).unwrap();
    let as_nobody = |arguments: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program).args(arguments);
        command.args(["--json", "--quiet", "--results"]).arg(own.join("results.db"));
        let output = command.current_dir(&own).env("HOME", "/nonexistent").output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        json(&output)
    };
    let run = as_nobody(&["run", &job.display().to_string(), "--directory", ".", "--stalls=1ns"]);
    let stalls = &run["stalls"][0];
    assert_eq!(stalls["traced"], false, "{stalls:#}");
    assert!(stalls["examined"].as_u64().unwrap() > 0, "{stalls:#}");
    let parts = &stalls["largest_part"];
    assert_eq!((&parts["device"], &parts["scheduler"]), (&0.into(), &0.into()), "{stalls:#}");
    let warnings = run["warnings"].to_string();
    assert!(warnings.contains("requests-not-traced") && warnings.contains("root"), "{warnings}");
    let cache = as_nobody(&["observe", "cachestat", "--duration", "300ms", "--interval", "50ms"]);
    let warnings = cache["warnings"].to_string();
    assert!(warnings.contains("cache-not-traced") && warnings.contains("root"), "{warnings}");
}
