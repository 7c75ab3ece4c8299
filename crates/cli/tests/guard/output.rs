//! Output and results go to files, and to nothing whose contents would be lost.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::common::{IOLITE, Loop, TestDirectory};
use crate::{SIZE, checksum, precious, said};

/// A stored run.
fn with_a_run(place: &TestDirectory) {
    let job = place.root.path().join("job.toml");
    fs::write(&job, "[[tasks]]\n[tasks.io]\nname = 'nothing'\nstop.operations = 100\n").unwrap();
    let mut command = Command::new(IOLITE);
    let output =
        command.arg("run").arg(job).arg("--results").arg(place.results()).arg("--quiet").output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
}

fn iolite(place: &TestDirectory, arguments: &[&str]) -> Output {
    let mut command = Command::new(IOLITE);
    command.args(arguments).env("IOLITE_RESULTS", place.results()).env("NO_COLOR", "1");
    if arguments[0] != "fio" {
        command.arg("--results").arg(place.results());
    }
    command.current_dir(place.data()).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn output_is_not_written_over_a_device() {
    let place = TestDirectory::new();
    with_a_run(&place);
    let image = precious(&place, "image");
    let Some(device) = Loop::over(&image, false) else { return };
    let to = device.0.as_str();
    let before = checksum(&image);
    let fio_output = format!("--output={to}");
    for (arguments, code) in [
        (&["report", "latest", "-o", to][..], 2),
        (&["plot", "latest", "-o", to], 2),
        (&["results", "export", "latest", "--format", "csv", "-o", to], 2),
        (&["results", "export", "latest", "--format", "json", "-o", to], 2),
        (&["results", "export", "latest", "--format", "parquet", "-o", to], 2),
        (&["results", "export", "latest", "-o", to], 2),
        (&["fio", "--name=a", "--ioengine=null", "--size=1m", &fio_output], 1),
    ] {
        let output = iolite(&place, arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", said(&output));
        assert!(before == checksum(&image), "{arguments:?} has written to the device");
    }
    let mistyped = format!("/dev/iolite-no-such-device-{}", std::process::id());
    for arguments in
        [&["report", "latest", "-o", &mistyped][..], &["results", "export", "latest", "-o", &mistyped]]
    {
        let output = iolite(&place, arguments);
        assert!(said(&output).contains("check the name"), "{}", said(&output));
        assert!(!Path::new(&mistyped).exists());
    }
    // What is no storage takes it.
    let output = iolite(&place, &["report", "latest", "-o", "/dev/null"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
}

/// A device full of zeros would be an empty database to SQLite; a pipe would never end.
#[test]
fn results_are_not_written_to_what_is_no_file() {
    let place = TestDirectory::new();
    let image = place.root.path().join("image");
    File::create(&image).unwrap().set_len(SIZE).unwrap();
    let Some(device) = Loop::over(&image, false) else { return };
    let pipe = place.root.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let job = place.root.path().join("job.toml");
    fs::write(&job, "[[tasks]]\n[tasks.io]\nname = 'nothing'\nstop.operations = 100\n").unwrap();
    let before = checksum(&image);
    for results in
        [Path::new(&device.0), &pipe, Path::new("/dev/null"), Path::new("/dev/full"), Path::new("/dev/zero")]
    {
        for arguments in [&["run", job.to_str().unwrap()][..], &["results", "list"], &["ranread", "history"]]
        {
            let mut command = Command::new(IOLITE);
            let output =
                command.args(arguments).arg("--results").arg(results).stdin(Stdio::null()).output().unwrap();
            assert!(
                matches!(output.status.code(), Some(1 | 2)),
                "{arguments:?} {results:?}: {}",
                said(&output)
            );
            let said = said(&output);
            assert!(said.contains(&results.display().to_string()) && !said.contains("panicked"), "{said}");
        }
    }
    let mistyped = format!("/dev/iolite-no-such-results-{}.db", std::process::id());
    let mut command = Command::new(IOLITE);
    let output =
        command.arg("run").arg(&job).args(["--results", &mistyped]).stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("check the name") && !Path::new(&mistyped).exists(), "{}", said(&output));
    assert!(before == checksum(&image));
}
