//! The verification state of a program that was killed.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{IOLITE, TestDirectory, json, stderr};

const BLOCK: u64 = 8192;

/// Writes at random places of an existing file, again and again, by two workers.
fn job(place: &TestDirectory, (backend, direct, concurrency): (&str, bool, u32)) -> Child {
    let text = format!(
        "[[tasks]]\n[tasks.io]\nname = 'w'\ntarget.existing = {{ path = '{}', overwrite = 'anything' }}\n\
         backend = {backend}\ndirect = {direct}\nblock = '8k'\nmix = 'write'\nregions = 'slices'\nworkers = 2\n\
         concurrency = {concurrency}\nstop.runtime = '60s'\nverify = {{ check = 'crc32c', state = '{}' }}\n",
        place.data().join("mine").display(),
        state(place).display()
    );
    let job = place.root.path().join("job.toml");
    fs::write(&job, text).unwrap();
    let mut command = Command::new(IOLITE);
    command.arg("run").arg(job).arg("--results").arg(place.results()).arg("--quiet");
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

fn state(place: &TestDirectory) -> std::path::PathBuf {
    place.root.path().join("state")
}

/// Waits until so many units of the state were written.
fn wait_for_writes(child: &mut Child, state: &Path, at_least: usize) {
    let deadline = Instant::now() + Duration::from_secs(60);
    let written = || {
        let bytes = fs::read(state).unwrap_or_default();
        bytes
            .get(8192..)
            .map_or(0, |entries| entries.as_chunks::<8>().0.iter().filter(|one| **one != [0; 8]).count())
    };
    while written() < at_least {
        if child.try_wait().unwrap().is_some() {
            let mut text = String::new();
            std::io::Read::read_to_string(child.stderr.as_mut().unwrap(), &mut text).unwrap();
            panic!("the run ended before it could be killed: {text}");
        }
        assert!(Instant::now() < deadline, "nothing was written");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn verify(place: &TestDirectory) -> (Option<i32>, serde_json::Value) {
    let mut command = Command::new(IOLITE);
    command.arg("verify").arg(state(place)).args(["--json", "--results"]).arg(place.results());
    let output = command.output().unwrap();
    assert!(!output.stdout.is_empty(), "{}", stderr(&output));
    (output.status.code(), json(&output)["verified"].clone())
}

#[test]
fn a_verification_state_survives_kill_9_with_writes_in_flight() {
    let place = TestDirectory::new();
    let file = place.data().join("mine");
    File::create(&file).unwrap().set_len(16 << 20).unwrap();
    for way @ (backend, ..) in
        [("{ io-uring = {} }", true, 32), ("'threads'", false, 32), ("'sync'", false, 2)]
    {
        for round in 1..=4 {
            let _ = fs::remove_file(state(&place));
            let mut child = job(&place, way);
            wait_for_writes(&mut child, &state(&place), 300 * round);
            child.kill().unwrap();
            child.wait().unwrap();
            let (code, verified) = verify(&place);
            assert_eq!(code, Some(0), "{backend} {verified}");
            assert!(verified["units"].as_u64().unwrap() > 100, "{backend} {verified}");
        }
        // What the state knows is compared, and damage after the kill is found.
        let damaged = File::options().write(true).open(&file).unwrap();
        let bytes = fs::read(state(&place)).unwrap();
        let entries = bytes[8192..].as_chunks::<8>().0;
        let settled = entries.iter().position(|entry| entry[..4] != [0; 4] && entry[4..] == [0; 4]).unwrap();
        damaged.write_all_at(b"oops", settled as u64 * BLOCK + 3000).unwrap();
        let (code, verified) = verify(&place);
        assert_eq!((code, &verified["damage"]["corrupt"]), (Some(4), &1.into()), "{backend} {verified}");
        assert_eq!(verified["first"][0]["offset"], settled as u64 * BLOCK);
    }
}

#[test]
fn a_pipe_as_a_verification_state_is_refused() {
    let place = TestDirectory::new();
    if !Command::new("mkfifo").arg(state(&place)).status().is_ok_and(|status| status.success()) {
        return crate::common::skip("no mkfifo(1)").unwrap_or(());
    }
    let mut command = Command::new(IOLITE);
    command.arg("verify").arg(state(&place)).arg("--results").arg(place.results());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while child.try_wait().unwrap().is_none() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    let _ = child.kill();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("not a regular file"), "{}", stderr(&output));
}
