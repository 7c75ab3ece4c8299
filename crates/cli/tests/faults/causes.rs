//! Each cause of a system's error, produced, and the remedy that the program names.

use std::fs;
use std::process::Command;

use iolite_model::ErrorCause;

use crate::common::{Loop, Mount, TestDirectory, is_root, skip, stderr};
use crate::fuse::{Call, Fault, Rule, Volatile};
use crate::{ended_by_itself, injected, run};

#[test]
fn a_program_that_runs_is_named_as_in_use() {
    let place = TestDirectory::new();
    let program = place.data().join("program");
    fs::copy("/bin/sleep", &program).unwrap();
    let mut running = Command::new(&program).arg("60").spawn().unwrap();
    let text = on(&program.display().to_string(), "").replace("mix = 'read'", "mix = 'write'");
    let before = fs::read(&program).unwrap();
    is_remedied(ErrorCause::InUse, &mut run(&place, &text));
    running.kill().unwrap();
    running.wait().unwrap();
    assert!(before == fs::read(&program).unwrap());
}

#[test]
fn a_device_that_fails_while_a_file_is_created_is_named_with_its_remedy() {
    let (place, disk) = (TestDirectory::new(), Volatile::new(None));
    let at = place.root.path().join("mounted");
    fs::create_dir(&at).unwrap();
    let session = match disk.mount(&at) {
        Ok(session) => session,
        Err(error) => return skip(&format!("no FUSE file system can be mounted: {error}")).unwrap_or(()),
    };
    disk.script().set(vec![Rule::new(Call::Write, Fault::Error(5))]);
    let job = place.root.path().join("job.toml");
    let text = "[[tasks]]\n[tasks.io]\nname = 'measured'\nbackend = 'sync'\nmix = 'read'\nstop.operations = 10\n\
                target.file = { name = 'data', size = '1MiB', create = true }\n";
    fs::write(&job, text).unwrap();
    let mut command = Command::new(crate::common::IOLITE);
    command.arg("run").arg(job).arg("--directory").arg(&at).arg("--results").arg(place.results());
    is_remedied(ErrorCause::Device, &mut command);
    assert!(disk.script().struck(0) > 0);
    disk.script().set(Vec::new());
    let _ = session.umount_and_join();
}

/// A task on something that exists.
fn on(path: &str, rest: &str) -> String {
    format!(
        "[[tasks]]\n[tasks.io]\nname = 'measured'\ntarget.existing = {{ path = '{path}', overwrite = 'anything' }}\n\
         backend = 'sync'\nmix = 'read'\nstop.operations = 10\n{rest}\n"
    )
}

/// What the run prints names the remedy.
fn is_remedied(cause: ErrorCause, command: &mut Command) {
    let output = command.output().unwrap();
    injected("causes of errors", 1);
    ended_by_itself(&output);
    assert_ne!(output.status.code(), Some(0), "{cause:?}");
    let text = stderr(&output) + &String::from_utf8_lossy(&output.stdout);
    assert!(text.contains(cause.remedy()), "{cause:?}: {text}");
}

/// In a mount namespace of its own, without the mounts of tracefs.
#[test]
fn a_host_without_tracefs_is_named_with_its_remedy() {
    let place = TestDirectory::new();
    let hide = "for kind in tracefs debugfs; do umount -a -t $kind 2> /dev/null; done; ! grep -q ' - tracefs ' /proc/self/mountinfo \
                || exit 99; exec \"$0\" \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", hide, crate::common::IOLITE]);
    command.args([
        "observe",
        "cachestat",
        "--duration",
        "300ms",
        "--interval",
        "100ms",
        "--json",
        "--results",
    ]);
    let output = match command.arg(place.results()).output() {
        Ok(output) if output.status.success() => output,
        other => return skip(&format!("tracefs cannot be hidden here: {other:?}")).unwrap_or(()),
    };
    injected("causes of errors", 1);
    let text = stderr(&output) + &String::from_utf8_lossy(&output.stdout);
    produced(ErrorCause::TracingNotMounted, &text);
}

/// Checks that the remedy of a cause is named. docs/errors.md lists each call as the test of that cause.
fn produced(cause: ErrorCause, text: &str) {
    assert!(text.contains(cause.remedy()), "{cause:?}: {text}");
}

#[test]
fn what_is_not_there_or_is_there_already_is_named_with_its_remedy() {
    let place = TestDirectory::new();
    let missing = place.data().join("missing").display().to_string();
    is_remedied(ErrorCause::Missing, &mut run(&place, &on(&missing, "")));
    let (mine, state) = (place.data().join("mine"), place.data().join("state"));
    fs::write(&mine, vec![0; 1 << 20]).unwrap();
    fs::write(&state, "mine").unwrap();
    let rest = format!("verify = {{ check = 'crc32c', state = '{}' }}", state.display());
    let text = on(&mine.display().to_string(), &rest).replace("mix = 'read'", "mix = 'write'");
    is_remedied(ErrorCause::Exists, &mut run(&place, &text));
    assert_eq!(fs::read_to_string(state).unwrap(), "mine");
}

#[test]
fn what_is_full_or_read_only_is_named_with_its_remedy() {
    let place = TestDirectory::new();
    let small = place.root.path().join("small");
    let Some(mount) = Mount::new(&["-t", "tmpfs", "-o", "size=2m", "tmpfs"], &small) else { return };
    let lay_out = "[[tasks]]\n[tasks.io]\nname = 'measured'\nbackend = 'sync'\nmix = 'read'\nstop.operations = 10\n\
                   target.file = { name = 'data', size = '64MiB', create = true, preallocate = true }\n";
    let there = |place: &TestDirectory| {
        let job = place.root.path().join("job.toml");
        fs::write(&job, lay_out).unwrap();
        let mut command = Command::new(crate::common::IOLITE);
        command.arg("run").arg(job).arg("--directory").arg(&small).arg("--results").arg(place.results());
        command
    };
    is_remedied(ErrorCause::Full, &mut there(&place));
    // The same in fio's language, where no option of another command helps, nor the kernel log.
    let mut fio = Command::new(crate::common::IOLITE);
    fio.args(["fio", "--name=a", "--rw=write", "--bs=64k", "--size=64m"]).current_dir(&small);
    let output = fio.env("IOLITE_RESULTS", place.results()).output().unwrap();
    injected("causes of errors", 1);
    ended_by_itself(&output);
    let text = stderr(&output) + &String::from_utf8_lossy(&output.stdout);
    assert!(output.status.code() == Some(1) && text.contains("No space left on device"), "{text}");
    assert!(!text.contains("--budget-space") && !text.contains("dmesg"), "{text}");
    drop(mount);
    let Some(_mount) = Mount::new(&["-t", "tmpfs", "-o", "ro", "tmpfs"], &small) else { return };
    is_remedied(ErrorCause::ReadOnly, &mut there(&place));
}

#[test]
fn a_setting_that_only_root_may_change_is_named_with_its_remedy() {
    if !is_root() {
        return skip("only root can be another user").unwrap_or(());
    }
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let program = directory.path().join("iolite");
    fs::copy(crate::common::IOLITE, &program).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program);
    command
        .args(["study", "readahead"])
        .arg(directory.path())
        .arg("--results")
        .arg(directory.path().join("r.db"));
    let output = command.output().unwrap();
    if stderr(&output).contains("is not on a block device") {
        return skip("the test's directory is on no device with a read-ahead").unwrap_or(());
    }
    is_remedied(ErrorCause::SettingNotPermitted, &mut command);
}

#[test]
fn what_another_user_owns_is_named_with_its_remedy() {
    if !is_root() {
        return skip("another user's files need root to be created").unwrap_or(());
    }
    // Everybody may run the program and look for the files there.
    let directory =
        tempfile::Builder::new().permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755)).tempdir();
    let directory = directory.unwrap();
    let program = directory.path().join("iolite");
    fs::copy(crate::common::IOLITE, &program).unwrap();
    let place = TestDirectory::new();
    let Some(device) = Loop::new(&place, 1 << 20) else { return };
    let mine = directory.path().join("mine");
    fs::write(&mine, vec![0; 1 << 20]).unwrap();
    fs::set_permissions(&mine, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let of_nobody = |path: &str| {
        let job = directory.path().join("job.toml");
        fs::write(&job, on(path, "")).unwrap();
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program).arg("run").arg(job);
        command
            .current_dir("/tmp")
            .args(["--directory", "/tmp"])
            .env("HOME", "/nonexistent")
            .env_remove("XDG_DATA_HOME");
        command
    };
    is_remedied(ErrorCause::NotPermitted, &mut of_nobody(&mine.display().to_string()));
    is_remedied(ErrorCause::DeviceNotPermitted, &mut of_nobody(&device.0));
}

#[test]
fn memory_that_is_not_to_be_had_is_named_with_its_remedy() {
    let place = TestDirectory::new();
    let file = place.data().join("sparse");
    fs::File::create(&file).unwrap().set_len(16 << 30).unwrap();
    let rest = "block = '1GiB'\nconcurrency = 8";
    let text =
        on(&file.display().to_string(), rest).replace("'sync'", "'threads'").replace("'anything'", "'never'");
    let Some(mut limited) = with_memory(&run(&place, &text), 2 << 30) else { return };
    is_remedied(ErrorCause::Memory, &mut limited);
    // Nothing is transferred, but there is a buffer.
    let nothing = |rest: &str| {
        format!("[[tasks]]\n[tasks.io]\nname = 'measured'\nmix = 'read'\nstop.operations = 10\n{rest}\n")
    };
    let large = nothing("block = '1GiB'\nworkers = 2\nconcurrency = 2");
    let Some(mut limited) = with_memory(&run(&place, &large), 2 << 30) else { return };
    is_remedied(ErrorCause::Memory, &mut limited);
}

/// The same with an address space of so many bytes.
fn with_memory(command: &Command, bytes: u64) -> Option<Command> {
    if Command::new("prlimit").arg("--version").output().is_err() {
        return skip("no prlimit(1)");
    }
    let mut limited = Command::new("prlimit");
    limited.arg(format!("--as={bytes}")).arg(command.get_program()).args(command.get_args());
    Some(limited)
}

/// With less and less memory it is at some limit that of the operations in flight that is missing, which has a remedy like any
/// other. What else may be missing at other limits is not asked here.
#[test]
fn memory_for_operations_in_flight_that_is_not_to_be_had_is_named_with_its_remedy() {
    let place = TestDirectory::new();
    let text = "[[tasks]]\n[tasks.io]\nname = 'measured'\nmix = 'read'\nstop.operations = 10\nblock = '512B'\n\
                concurrency = 1048576\n";
    let mut remedied = false;
    for megabytes in (250..1000).step_by(50) {
        let Some(mut limited) = with_memory(&run(&place, text), megabytes << 20) else { return };
        let output = limited.output().unwrap();
        let text = stderr(&output) + &String::from_utf8_lossy(&output.stdout);
        remedied |= output.status.code() == Some(1) && text.contains(ErrorCause::Memory.remedy());
    }
    injected("causes of errors", 1);
    assert!(remedied);
}
