//! Runs of SNIA's tests that are interrupted, or whose storage fails, and how they are continued.

use std::path::Path;

use super::common::*;
use super::*;

/// Every kind of step, in the order in which the tests below have them.
const TESTS: &str = "latency,host-idle-recovery,cross-stimulus-recovery,demand-intensity";

/// Arguments of a short rehearsal on a target.
fn rehearsal<'a>(target: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let asked = ["pts", target, "--allow-overwrite", target, "--scale", "0.0001", "--max-rounds", "5"];
    let load = ["--threads", "1", "--depth", "2"];
    [&asked[..], &load[..], more].concat()
}

/// Starts the tests, waits until this phase has begun, does something, and waits for their end.
fn during(
    place: &TestDirectory,
    asked: &[&str],
    phase: &str,
    act: impl FnOnce(&std::process::Child),
) -> Output {
    let mut command = Command::new(IOLITE);
    command.args(asked).arg("--results").arg(place.results()).args(["--quiet", "--json"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    place.wait_for_phase(&mut child, phase);
    act(&child);
    child.wait_with_output().unwrap()
}

/// The names of the completed phases of a document.
fn completed(document: &serde_json::Value) -> Vec<String> {
    let phases = document["phases"].as_array().unwrap().iter();
    let completed = phases.filter(|phase| phase["ending"]["kind"] == "completed");
    completed.map(|phase| phase["name"].as_str().unwrap().to_owned()).collect()
}

/// What is done once in a run, whatever it was continued from: writes before a measurement are repeated after a pause.
fn once(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).filter(|name| !name.contains("writes before")).collect()
}

#[test]
fn an_interrupted_run_keeps_what_it_has_measured_and_goes_on_at_the_step() {
    let place = TestDirectory::new();
    let Some(device) = Loop::new(&place, 32 << 20) else { return };
    let asked = rehearsal(&device.0, &["--tests", TESTS, "--demand", "1,4"]);
    let resumed = [&asked[..], &["--resume", "latest"]].concat();
    let mut before: Vec<String> = Vec::new();
    for phase in [
        "latency: purge",
        "latency: precondition",
        "latency, round 2: 65 %%",
        "host-idle-recovery, round 1:%",
        // It begins with a wait of a second.
        "host-idle-recovery, bursts after waits of 50 s, 1",
        "host-idle-recovery, continuous after waits of 50 s%",
        "cross-stimulus-recovery, random writes%",
        "demand-intensity: precondition by the same writes, 2",
        "demand-intensity, round 3: writes before it",
        "demand-intensity: response times at min IOPS",
    ] {
        let first = before.is_empty() && phase == "latency: purge";
        let asked = if first { &asked } else { &resumed };
        let output = during(&place, asked, phase, |child| {
            kill_process(Pid::from_child(child), Signal::INT).unwrap();
        });
        assert_eq!(output.status.code(), Some(130), "{phase}: {}", stderr(&output));
        let document = json(&output);
        let names = completed(&document);
        // All that the run before had completed, then what this one has; the rest is named as not complete.
        assert_eq!(names[..before.len()], before[..], "{phase}");
        assert!(
            document["not_complete"].as_array().unwrap().len()
                + document["not_steady"].as_array().unwrap().len()
                > 0
        );
        before = names;
    }
    let output = suite(&place, &[&resumed[..], &["--json"]].concat());
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let names = completed(&json(&output));
    assert_eq!(names[..before.len()], before[..]);
    let unique: std::collections::BTreeSet<&str> = once(&names).into_iter().collect();
    assert_eq!(unique.len(), once(&names).len(), "{names:?}");
    assert!(names.last().unwrap().starts_with("demand-intensity: response times at min IOPS"), "{names:?}");
}

/// A file system in memory, with a sparse file on it.
fn small_file_system(place: &TestDirectory) -> Option<(Mount, std::path::PathBuf)> {
    let at = place.root.path().join("small");
    let mount = Mount::new(&["-t", "tmpfs", "-o", "size=40m", "tmpfs"], &at)?;
    let image = at.join("image");
    std::fs::File::create(&image).unwrap().set_len(32 << 20).unwrap();
    Some((mount, image))
}

/// Takes all the space that is left beside a file.
fn fill(image: &Path) {
    let mut file = std::fs::File::create(image.with_file_name("fill")).unwrap();
    while file.write_all(&[0; 4096]).is_ok() {}
}

#[test]
fn a_write_that_fails_ends_the_run_with_the_cause_and_it_can_be_resumed() {
    let place = TestDirectory::new();
    let Some((_mount, image)) = small_file_system(&place) else { return };
    let Some(device) = Loop::over(&image, false) else { return };
    // A purge, which frees all blocks of the device, and then the first writes: of preconditioning, of a round, of a stage.
    for (test, step) in [
        ("latency", "latency: precondition"),
        ("host-idle-recovery", "host-idle-recovery, round "),
        ("cross-stimulus-recovery", "cross-stimulus-recovery, sequential writes before, "),
    ] {
        let punched = Command::new("blkdiscard").args(["-f", &device.0]).status();
        if !punched.is_ok_and(|status| status.success()) {
            let _: Option<()> = skip("blkdiscard: the device could not be emptied");
            return;
        }
        fill(&image);
        let asked = rehearsal(&device.0, &["--tests", test, "--json"]);
        let output = suite(&place, &asked);
        assert_eq!(output.status.code(), Some(1), "{test}: {}", stderr(&output));
        let error = stderr(&output);
        assert!(error.contains(step) && error.contains("No space left on device"), "{test}: {error}");
        let document = json(&output);
        let purge = format!("{test}: purge");
        let before = completed(&document);
        assert_eq!(before[0], purge);
        let failed = document["phases"].as_array().unwrap().last().unwrap();
        assert_eq!(failed["ending"]["kind"], "failed", "{failed}");
        let failed = failed["name"].as_str().unwrap();
        // Where no write could complete in the time of the first step, it is a later one.
        assert!(failed.starts_with(step), "{failed}");
        std::fs::remove_file(image.with_file_name("fill")).unwrap();
        let output = suite(&place, &[&asked[..], &["--resume", "latest"]].concat());
        assert!(matches!(output.status.code(), Some(0 | 3)), "{}", stderr(&output));
        let names = completed(&json(&output));
        assert_eq!((&names[..before.len()], names[before.len()].as_str()), (&before[..], failed));
    }
}

#[test]
fn a_run_is_resumed_with_its_own_arguments_only() {
    let place = TestDirectory::new();
    let file = place.data().join("data");
    std::fs::write(&file, vec![7u8; 40 << 20]).unwrap();
    let path = file.to_str().unwrap();
    let own = ["--tests", "latency,demand-intensity", "--demand", "1,2"];
    let asked = rehearsal(path, &own);
    let output = during(&place, &asked, "latency, round 1:%", |child| {
        kill_process(Pid::from_child(child), Signal::INT).unwrap();
    });
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let differing = |arguments: &[&str], expected: &str| {
        let all = ["pts", path, "--allow-overwrite", path, "--resume", "latest"];
        let output = suite(&place, &[&all[..], arguments].concat());
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains(expected), "{arguments:?}, not {expected}: {error}");
        // The arguments of the run, to be repeated.
        assert!(error.contains("repeat its arguments to resume it: pts "), "{error}");
    };
    let base =
        "--scale 0.0001 --max-rounds 5 --threads 1 --depth 2 --tests latency,demand-intensity --demand 1,2";
    for (replaced, with, expected) in [
        (
            "--tests latency,demand-intensity",
            "--tests iops,demand-intensity",
            "--tests was latency,demand-intensity and is iops,demand-intensity",
        ),
        ("--demand 1,2", "--demand 1,4", "--demand was 2,1 and is 4,1"),
        ("--demand 1,2", "", "--demand was 2,1 and is 32,16,8,6,4,2,1"),
        ("--scale 0.0001", "--scale 0.001", "--scale was 0.0001 and is 0.001"),
        ("--scale 0.0001", "", "--scale was 0.0001 and is 1"),
        ("--threads 1", "--threads 2", "--threads was 1 and is 2"),
        ("--depth 2", "--depth 3", "--depth was 2 and is 3"),
        ("--max-rounds 5", "--max-rounds 6", "--max-rounds was 5 and is 6"),
        ("", "--active-range 32MiB", "the active range was 40 MiB and is 32 MiB"),
        ("", "--active-range 50%", "the active range was 40 MiB and is 20 MiB"),
        ("", "--purge none", "the purge was discard and is none"),
        (
            "",
            "--class client",
            "--class was none and is client; the active range was 40 MiB and is 30 MiB; the write cache was",
        ),
        (
            "",
            "--class enterprise",
            "--class was none and is enterprise; the write cache was unchanged and is off",
        ),
    ] {
        let arguments =
            if replaced.is_empty() { format!("{base} {with}") } else { base.replace(replaced, with) };
        differing(&arguments.split_whitespace().collect::<Vec<_>>(), expected);
    }
    assert_eq!(place.ask::<i64>("SELECT count(*) FROM run"), 1);
    // What leads to the same terms is the same: another order, and the defaults by name.
    let same = "--scale 0.0001 --max-rounds 5 --threads 1 --depth 2 --tests demand-intensity,latency --demand 2,1,2 \
                --active-range 100% --purge discard --write-cache unchanged --resume latest";
    let all = ["pts", path, "--allow-overwrite", path];
    let output = suite(&place, &[&all[..], &same.split_whitespace().collect::<Vec<_>>()].concat());
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", stderr(&output));
}

/// Partitions of a device by their first 512-byte sectors, 32 MiB each.
fn partitions(device: &Loop, starts: [u32; 3]) -> Option<()> {
    for (number, start) in (1..).zip(starts) {
        let arguments = [device.0.clone(), number.to_string(), start.to_string(), "65536".to_owned()];
        match Command::new("addpart").args(arguments).output() {
            Ok(output) if output.status.success() => {}
            Ok(output) => return skip(&format!("addpart: {}", stderr(&output).trim())),
            Err(error) => return skip(&format!("addpart: {error}")),
        }
    }
    Some(())
}

#[test]
fn a_partition_is_tested_and_its_neighbours_stay_as_they_are() {
    let place = TestDirectory::new();
    let image = place.root.path().join("image");
    std::fs::write(&image, vec![7u8; 112 << 20]).unwrap();
    let Some(device) = Loop::over(&image, false) else { return };
    // The second one is not aligned.
    if partitions(&device, [2048, 67_585, 133_120]).is_none() {
        return;
    }
    let part = |number: u32| format!("{}p{number}", device.0);
    let target = part(2);
    let asked = rehearsal(&target, &["--tests", "latency,cross-stimulus-recovery", "--json"]);
    let output = suite(&place, &asked);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", stderr(&output));
    let document = json(&output);
    assert_eq!(document["terms"]["device"]["size"].as_u64(), Some(32 << 20));
    assert_eq!(
        (document["sections"][0]["purged"].as_bool(), document["terms"]["purge"].as_str()),
        (Some(true), Some("discard"))
    );
    let warnings = document["warnings"].to_string();
    assert!(
        warnings.contains(&format!("{target} begins at byte {} of its disk", 67_585 * 512)),
        "{warnings}"
    );
    let whole = std::fs::read(&image).unwrap();
    let (begin, end) = (67_585 * 512, (67_585 + 65_536) * 512);
    assert!(whole[..begin].iter().chain(&whole[end..]).all(|byte| *byte == 7), "a neighbour was written");
    assert!(whole[begin..end].iter().any(|byte| *byte != 7));
    for number in 1..=3 {
        let _ = Command::new("delpart").args([device.0.clone(), number.to_string()]).status();
    }
}
