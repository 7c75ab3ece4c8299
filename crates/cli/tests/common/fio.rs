//! Running the installed fio beside this program.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::{IOLITE, TestDirectory, skip};

/// A program that is run as fio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Program {
    Ours,
    Theirs,
}

/// Runs a program with these arguments in a directory.
pub(crate) fn run_as_fio(program: Program, directory: &Path, arguments: &[String]) -> Output {
    command_as_fio(program, directory, arguments).output().unwrap()
}

/// The command of a program with these arguments in a directory.
pub(crate) fn command_as_fio(program: Program, directory: &Path, arguments: &[String]) -> Command {
    let mut command = Command::new(if program == Program::Ours { IOLITE } else { "fio" });
    if program == Program::Ours {
        command.arg0("fio");
    }
    command.args(arguments).current_dir(directory).stdin(Stdio::null());
    command.env("XDG_DATA_HOME", directory.parent().unwrap()).env("NO_COLOR", "1");
    command
}

/// Whether fio itself is there, and not this program under its name; says so where not.
pub(crate) fn fio_is_installed() -> bool {
    let version = Command::new("fio").arg("--version").output();
    let there = version.is_ok_and(|output| {
        output.status.success() && !String::from_utf8_lossy(&output.stdout).contains("iolite")
    });
    if !there {
        skip::<()>("fio is not installed");
    }
    there
}

/// An empty directory in the place.
pub(crate) fn empty_directory(place: &TestDirectory, name: &str) -> PathBuf {
    let directory = place.root.path().join(name);
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).unwrap();
    directory
}
