//! `--prometheus`: every command that measures serves its run, under the address that it prints.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{IOLITE, TestDirectory};

/// A command that runs; killed where a test gives up.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a command on any free port, and returns the address that it prints.
fn start(place: &TestDirectory, arguments: &[&str]) -> (Running, String) {
    let mut command = Command::new(IOLITE);
    command.args(arguments).args(["--prometheus", "0"]).current_dir(place.data());
    match arguments[0] {
        "fio" => command.env("IOLITE_RESULTS", place.results()),
        _ => command.arg("--results").arg(place.results()),
    };
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let running = Running(child);
    let mut said = String::new();
    let address = loop {
        let line = lines.next().unwrap_or_else(|| panic!("{arguments:?} serves nothing: {said}")).unwrap();
        if let Some((_, url)) = line.split_once("http://") {
            break url.strip_suffix("/metrics").unwrap().to_owned();
        }
        said += &(line + "\n");
    };
    // Whatever else it says must not block it.
    std::thread::spawn(move || lines.for_each(drop));
    (running, address)
}

fn scraped(address: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Waits until a metric is served, and ends the run.
fn serves(place: &TestDirectory, arguments: &[&str], metric: &str) {
    let (mut running, address) = start(place, arguments);
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        assert!(running.0.try_wait().unwrap().is_none(), "{arguments:?} ended without {metric}");
        let answer = scraped(&address);
        if answer.contains(metric) {
            break;
        }
        assert!(Instant::now() < deadline, "{arguments:?}: no {metric} in {answer}");
        std::thread::sleep(Duration::from_millis(20));
    }
    let id = running.0.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    running.0.wait().unwrap();
    assert!(TcpStream::connect(&address).is_err(), "{arguments:?} has ended and still listens");
}

/// Of the run of a place.
const RUN: &str = "iolite_run_info{run=\"2";

fn prepare(arguments: &[&str]) {
    let output = Command::new(IOLITE).args(arguments).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", common::stderr(&output));
}

#[test]
fn block_io_and_observations_are_served() {
    let place = TestDirectory::new();
    let data = place.data().display().to_string();
    let job = place.root.path().join("job.toml");
    let text = "[[tasks]]\n[tasks.io]\nname = 'writes'\nmix = 'write'\nbackend = 'sync'\nstop.runtime = '1h'\ninterval = '50ms'\n\
                target.file = { name = 'data', size = '1MiB', create = true }\n";
    std::fs::write(&job, text).unwrap();
    let operations = "iolite_operations_total{phase=\"0\",name=\"writes\",kind=\"write\"}";
    serves(&place, &["run", job.to_str().unwrap(), "--directory", &data], operations);
    serves(&place, &["check", &data, "--quiet"], RUN);
    serves(&place, &["observe", &data, "--duration", "1h"], RUN);
    let fio = ["fio", "--name=a", "--rw=write", "--size=1m", "--time_based", "--runtime=3600"];
    serves(&place, &fio, "iolite_operations_total{phase=\"0\",name=\"a\",kind=\"write\"}");
}

#[test]
fn runs_in_databases_are_served() {
    let place = TestDirectory::new();
    let db = format!("sqlite:{}", place.data().display());
    prepare(&["ranread", "setup", "--db", &db, "--size", "8MiB", "--quiet"]);
    let operations = "iolite_operations_total{phase=\"0\",name=\"RanRead\",kind=\"read\"}";
    serves(&place, &["ranread", "run", "--db", &db, "--runtime", "1h"], operations);
    serves(&place, &["ranread", "sweep", "--db", &db, "--step", "1h"], RUN);
}

#[test]
fn transactions_are_served() {
    let place = TestDirectory::new();
    let db = format!("sqlite:{}", place.data().display());
    prepare(&["tproc-c", "build", "--db", &db, "--reduction", "100", "--quiet"]);
    serves(&place, &["tproc-c", "run", "--db", &db, "--duration", "1h"], "iolite_phase_running{phase=\"0\"");
    serves(&place, &["tproc-c", "sweep", "--db", &db, "--users", "1,2", "--step", "1h"], RUN);
}

#[test]
fn an_address_that_is_taken_or_none_is_refused() {
    let place = TestDirectory::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let data = place.data().display().to_string();
    for (arguments, says) in [
        (&["observe", &data, "--prometheus", &port][..], "specify another port"),
        (&["fio", "--name=a", "--size=1m", "--prometheus=nowhere"], "it is not an address"),
    ] {
        let mut command = Command::new(IOLITE);
        let output = command.args(arguments).current_dir(place.data()).stdin(Stdio::null()).output().unwrap();
        assert!(
            !output.status.success() && common::stderr(&output).contains(says),
            "{}",
            common::stderr(&output)
        );
    }
}
