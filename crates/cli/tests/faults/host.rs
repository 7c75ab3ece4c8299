//! A host that refuses what the program needs.

use std::fs;
use std::process::{Command, Output, Stdio};

use iolite_model::ErrorCause;

use crate::common::{IOLITE, Loop, Mount, TestDirectory, entries, is_root, json, skip, stderr};
use crate::results::remounted;
use crate::{ended_by_itself, injected, nothing_is_lost, run, writes};

/// Checks that the remedy of a cause is named. docs/errors.md lists each call as the test of that cause.
fn produced(cause: ErrorCause, text: &str) {
    assert!(text.contains(cause.remedy()), "{cause:?}: {text}");
}

/// The same command with others before it.
fn within(wrapper: &[&str], command: &Command) -> Option<Output> {
    let mut wrapped = Command::new(wrapper[0]);
    wrapped.args(&wrapper[1..]).arg(command.get_program()).args(command.get_args()).stdin(Stdio::null());
    match wrapped.output() {
        Ok(output) if matches!(output.status.code(), Some(126 | 127)) => {
            skip(&format!("{}: {}", wrapper[0], stderr(&output).trim()))
        }
        Ok(output) => Some(output),
        Err(error) => skip(&format!("{}: {error}", wrapper[0])),
    }
}

#[test]
fn a_limit_on_open_files_is_an_error_with_its_remedy() {
    let place = TestDirectory::new();
    let paths: Vec<_> = (0..64).map(|file| place.data().join(format!("f{file}"))).collect();
    paths.iter().for_each(|path| fs::write(path, [0; 8192]).unwrap());
    let files =
        paths.iter().map(|path| format!("--filename={}", path.display())).collect::<Vec<_>>().join(":");
    let names = files.replace(":--filename=", ":");
    let mut command = Command::new(IOLITE);
    command.args(["fio", "--name=x", "--rw=randread", "--bs=4k", "--size=256k", &names]);
    let Some(output) = within(&["prlimit", "--nofile=24:24"], &command) else { return };
    injected("limits on open files", 1);
    ended_by_itself(&output);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let text = stderr(&output) + &String::from_utf8_lossy(&output.stdout);
    produced(ErrorCause::OpenFiles, &text);
}

#[test]
fn a_limit_on_the_size_of_files_is_an_error_with_its_remedy() {
    let place = TestDirectory::new();
    let command =
        run(&place, &writes("stop.loops = 1").replace("create = true", "create = true, preallocate = true"));
    // Results have to fit as well.
    let Some(output) = within(&["prlimit", "--fsize=1048576:1048576"], &command) else { return };
    injected("limits on the size of files", 1);
    ended_by_itself(&output);
    assert_ne!(output.status.code(), Some(0));
    produced(ErrorCause::FileTooLarge, &(stderr(&output) + &String::from_utf8_lossy(&output.stdout)));
    assert_eq!(entries(&place.data()), [""; 0]);
}

/// A batch system lets a process know that its CPU time is over (SIGXCPU) before it ends it, and again with each second of CPU time,
/// which several workers use up at once.
#[test]
fn a_limit_on_cpu_time_ends_a_run_that_keeps_its_results() {
    let place = TestDirectory::new();
    let text = "[[tasks]]\n[tasks.io]\nname = 'busy'\ntarget.null = { size = '1MiB' }\nbackend = 'null'\ninterval = '50ms'\n\
                workers = 8\nconcurrency = 8\nstop.runtime = '1h'\n";
    let Some(output) = within(&["prlimit", "--cpu=4:30"], &run(&place, text)) else { return };
    injected("limits on CPU time", 1);
    ended_by_itself(&output);
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert_eq!(place.ask::<String>("SELECT ending FROM run"), "interrupted");
    nothing_is_lost(&place, 5);
}

/// A program of Perl that has a system call refused with an error, as a container's seccomp profile does, and runs what follows. The
/// call's numbers are those of x86-64 and of aarch64.
fn without(call: [u32; 2], error: u32) -> String {
    format!(
        "my $arm = `uname -m` =~ /aarch64/; my ($prctl, $call) = $arm ? (167, {1}) : (157, {0});
         my $filter = join '', map {{ pack 'SCCL', @$_ }}
             [0x20,0,0,0], [0x15,0,1,$call], [0x06,0,0,0x50000+{error}], [0x06,0,0,0x7fff0000];
         my $program = pack 'S x6 P', 4, $filter;
         syscall($prctl, 38, 1, 0, 0, 0) == 0 && syscall($prctl, 22, 2, $program) == 0 or exit 127;
         exec @ARGV;",
        call[0], call[1]
    )
}

const EPERM: u32 = 1;
const ENOSYS: u32 = 38;

#[test]
fn without_io_uring_the_remedy_names_what_disables_it() {
    let place = TestDirectory::new();
    let text = writes("stop.operations = 100").replace("'sync'", "{ io-uring = {} }");
    let (command, no_ring) = (run(&place, &text), without([425, 425], EPERM));
    let Some(output) = within(&["perl", "-e", &no_ring, "--"], &command) else { return };
    injected("system call filters", 1);
    ended_by_itself(&output);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let text = stderr(&output) + &String::from_utf8_lossy(&output.stdout);
    produced(ErrorCause::RingDisabled, &text);
    // What chooses its back end itself takes another one, and reports it.
    let check = place.check(&place.data(), &["--budget-time", "10s", "--budget-space", "64M", "--json"]);
    let Some(output) = within(&["perl", "-e", &no_ring, "--"], &check) else { return };
    ended_by_itself(&output);
    let warned = json(&output)["warnings"].to_string();
    assert!(warned.contains("io_uring"), "{warned}");
}

#[test]
fn without_libaio_and_with_too_few_of_its_requests_there_is_a_remedy() {
    let place = TestDirectory::new();
    let text = writes("direct = true\nstop.operations = 100").replace("'sync'", "'libaio'");
    for error in [EPERM, ENOSYS] {
        let program = without([206, 0], error);
        let Some(output) = within(&["perl", "-e", &program, "--"], &run(&place, &text)) else { return };
        injected("system call filters", 1);
        ended_by_itself(&output);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        produced(ErrorCause::NoAio, &(stderr(&output) + &String::from_utf8_lossy(&output.stdout)));
    }
    // io_setup(2) refuses at once what is more than the host has.
    let max: u64 = fs::read_to_string("/proc/sys/fs/aio-max-nr").unwrap().trim().parse().unwrap();
    if max > 200_000 {
        return skip(&format!("{max} requests (fs.aio-max-nr) would take too much memory")).unwrap_or(());
    }
    let deep = text.replace("direct = true", &format!("direct = true\nconcurrency = {}", max + 1));
    let output = run(&place, &deep).output().unwrap();
    injected("system calls refused for want of requests", 1);
    ended_by_itself(&output);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    produced(ErrorCause::AioRequests, &(stderr(&output) + &String::from_utf8_lossy(&output.stdout)));
}

#[test]
fn a_limit_on_threads_is_an_error_with_its_remedy() {
    if !is_root() {
        return skip("threads are limited by user: only root can be another").unwrap_or(());
    }
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let program = directory.path().join("iolite");
    fs::copy(IOLITE, &program).unwrap();
    let job = directory.path().join("job.toml");
    fs::write(
        &job,
        "[[tasks]]\n[tasks.io]\nname = 'many'\nworkers = 64\nconcurrency = 64\nstop.operations = 1000\n",
    )
    .unwrap();
    // A user who has no other processes.
    let limited = ["setpriv", "--reuid=64999", "--regid=64999", "--clear-groups", "prlimit"];
    for threads in ["16", "1"] {
        let mut command = Command::new(&program);
        command.arg("run").arg(&job).arg("--directory").arg(directory.path());
        command.arg("--results").arg(directory.path().join("results.db")).arg("--quiet");
        let limit = format!("--nproc={threads}:{threads}");
        let Some(output) = within(&[&limited[..], &[limit.as_str()]].concat(), &command) else { return };
        injected("limits on threads", 1);
        ended_by_itself(&output);
        let text = stderr(&output) + &String::from_utf8_lossy(&output.stdout);
        assert_ne!(output.status.code(), Some(0), "{text}");
        produced(ErrorCause::Threads, &text);
    }
}

#[test]
fn memory_that_may_not_be_locked_is_an_error_with_its_remedy() {
    if !is_root() {
        return skip("root is not bound by the limit, and only root can give up being it").unwrap_or(());
    }
    let place = TestDirectory::new();
    let mut command = Command::new(IOLITE);
    command.args(["fio", "--name=x", "--ioengine=null", "--rw=read", "--size=1m", "--lockmem=64m"]);
    // Without the right to lock what one likes (CAP_IPC_LOCK), root is bound like others.
    let limited =
        ["setpriv", "--bounding-set=-ipc_lock", "--inh-caps=-ipc_lock", "prlimit", "--memlock=65536:65536"];
    let Some(output) = within(&limited, command.current_dir(place.data())) else { return };
    injected("limits on locked memory", 1);
    ended_by_itself(&output);
    assert_ne!(output.status.code(), Some(0));
    produced(ErrorCause::LockedMemory, &(stderr(&output) + &String::from_utf8_lossy(&output.stdout)));
}

const SETTING: &str = "/proc/sys/kernel/io_uring_disabled";

/// The setting as it was before, which it is again in the end.
struct Restored(String);

impl Drop for Restored {
    fn drop(&mut self) {
        fs::write(SETTING, &self.0).unwrap();
    }
}

#[test]
fn without_io_uring_by_its_sysctl_it_is_the_same() {
    // It is the whole host's setting: users other than root get no new rings meanwhile.
    if std::env::var_os("IOLITE_TEST_SYSCTL").is_none() || !is_root() {
        return skip("kernel.io_uring_disabled is the whole host's (`make faults` as root tries it)")
            .unwrap_or(());
    }
    let Ok(before) = fs::read_to_string(SETTING) else {
        return skip("no kernel.io_uring_disabled (Linux 6.6)").unwrap_or(());
    };
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let (program, job) = (directory.path().join("iolite"), directory.path().join("job.toml"));
    fs::copy(IOLITE, &program).unwrap();
    fs::write(&job, writes("stop.operations = 100").replace("'sync'", "{ io-uring = {} }")).unwrap();
    let of_nobody = || {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=64997", "--regid=64997", "--clear-groups"]).arg(&program).arg("run").arg(&job);
        command
            .arg("--directory")
            .arg(directory.path())
            .arg("--results")
            .arg(directory.path().join("results.db"));
        command.arg("--quiet").stdin(Stdio::null()).output()
    };
    // For users without CAP_SYS_ADMIN: what root does beside goes on.
    fs::write(SETTING, "1").unwrap();
    let restored = Restored(before);
    let output = of_nobody();
    drop(restored);
    let Ok(output) = output else { return skip("no setpriv(1)").unwrap_or(()) };
    injected("settings of the kernel", 1);
    ended_by_itself(&output);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    produced(ErrorCause::RingDisabled, &(stderr(&output) + &String::from_utf8_lossy(&output.stdout)));
    let output = of_nobody().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

/// Sets the wall clock an hour forth, and later an hour back, for the program alone, as clock_gettime(2) reports it.
const STEPPING_CLOCK: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    static long begun;
    struct timespec steady;
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int done = real(clock, now);
    if (done || clock != CLOCK_REALTIME || real(CLOCK_MONOTONIC, &steady)) return done;
    long millis = steady.tv_sec * 1000 + steady.tv_nsec / 1000000;
    if (!begun) begun = millis;
    if (millis - begun > 400) now->tv_sec += 3600;
    if (millis - begun > 800) {
        now->tv_sec -= 7200;
        FILE *noted = fopen(getenv("NOTE_STEP_IN"), "w");
        if (noted) fclose(noted);
    }
    return 0;
}
"#;

#[test]
fn a_step_of_the_wall_clock_changes_no_measured_time_and_loses_nothing() {
    let place = TestDirectory::new();
    let (source, library) = (place.root.path().join("clock.c"), place.root.path().join("clock.so"));
    fs::write(&source, STEPPING_CLOCK).unwrap();
    let built =
        Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &source]).arg("-ldl").output();
    if !built.as_ref().is_ok_and(|output| output.status.success()) {
        return skip("no C compiler for a clock that steps").unwrap_or(());
    }
    let mut command = run(&place, &writes("stop.runtime = '1500ms'"));
    let noted = place.root.path().join("stepped");
    let output = command.env("LD_PRELOAD", &library).env("NOTE_STEP_IN", &noted).output().unwrap();
    if !noted.exists() {
        return skip("the program does not ask the C library for the time").unwrap_or(());
    }
    injected("steps of the wall clock", 2);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let phase = &json(&output)["phases"][0];
    let measured = phase["measured_seconds"].as_f64().unwrap();
    assert!((1.5..60.0).contains(&measured), "{measured}");
    assert!(!json(&output)["warnings"].to_string().contains("did not run"), "{}", json(&output)["warnings"]);
    let sql = "SELECT count(*) FROM interval WHERE start_ns NOT BETWEEN 0 AND 60000000000 OR length_ns > 60000000000";
    let steady = place.ask::<i64>(sql);
    assert_eq!(steady, 0, "intervals are of the monotonic clock");
    nothing_is_lost(&place, 10);
    let shown =
        Command::new(IOLITE).args(["results", "list", "--results"]).arg(place.results()).output().unwrap();
    assert!(shown.status.success(), "{}", stderr(&shown));
}

/// The wall clock has no namespace: only the monotonic one is set.
#[test]
fn clocks_that_are_set_differently_change_no_measured_time() {
    let place = TestDirectory::new();
    let command = run(&place, &writes("stop.runtime = '500ms'"));
    let wrapper = ["unshare", "--time", "--fork", "--monotonic", "864000", "--boottime", "864000"];
    let Some(output) = within(&wrapper, &command) else { return };
    if stderr(&output).contains("unshare") {
        return skip(stderr(&output).trim()).unwrap_or(());
    }
    injected("clocks set differently", 1);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let measured = json(&output)["phases"][0]["measured_seconds"].as_f64().unwrap();
    assert!((0.5..60.0).contains(&measured), "{measured}");
    nothing_is_lost(&place, 1);
}

#[test]
fn a_full_temporary_directory_stops_no_run() {
    let place = TestDirectory::new();
    let small = place.root.path().join("small");
    let Some(_mount) = Mount::new(&["-t", "tmpfs", "-o", "size=64k", "tmpfs"], &small) else { return };
    let _ = std::io::copy(&mut std::io::repeat(1), &mut fs::File::create(small.join("filler")).unwrap());
    for command in [
        run(&place, &writes("stop.operations = 200")),
        place.check(&place.data(), &["--budget-time", "10s", "--budget-space", "64M", "--json"]),
    ] {
        let mut command = command;
        let output = command.env("TMPDIR", &small).output().unwrap();
        injected("full temporary directories", 1);
        ended_by_itself(&output);
        assert!(matches!(output.status.code(), Some(0 | 3 | 4)), "{}", stderr(&output));
    }
    nothing_is_lost(&place, 1);
}

/// The files of a command are where its arguments say; the directory for temporary files is not needed.
#[test]
fn no_command_needs_a_temporary_directory() {
    let place = TestDirectory::new();
    let [mine, state, database] = ["mine", "state", "database"].map(|name| place.data().join(name));
    fs::write(&mine, vec![0; 1 << 20]).unwrap();
    let on_mine = |mix: &str, rest: &str| {
        format!(
            "[[tasks]]\n[tasks.io]\nname = 'measured'\ntarget.existing = {{ path = '{}', overwrite = 'anything' }}\n\
             backend = 'sync'\nmix = '{mix}'\nstop.operations = 20\n{rest}",
            mine.display()
        )
    };
    let verified =
        on_mine("write", &format!("verify = {{ check = 'crc32c', state = '{}' }}\n", state.display()));
    assert!(run(&place, &verified).status().unwrap().success());
    let database = format!("sqlite:{}", database.display());
    let iolite = |arguments: &[&str]| {
        let mut command = Command::new(IOLITE);
        command
            .args(arguments)
            .env("NO_COLOR", "1")
            .env("IOLITE_RESULTS", place.results())
            .stdin(Stdio::null());
        command
    };
    let set_up = iolite(&["ranread", "setup", "--db", &database, "--size", "1MiB"]).output().unwrap();
    assert!(set_up.status.success(), "{}", stderr(&set_up));

    let [full, sealed, missing] = ["full", "sealed", "missing"].map(|name| place.root.path().join(name));
    let Some(_full) = Mount::new(&["-t", "tmpfs", "-o", "size=64k", "tmpfs"], &full) else { return };
    let _ = std::io::copy(&mut std::io::repeat(1), &mut fs::File::create(full.join("filler")).unwrap());
    let Some(_sealed) = Mount::new(&["-t", "tmpfs", "-o", "ro", "tmpfs"], &sealed) else { return };
    let (results, file) = (place.results().display().to_string(), format!("--filename={}", mine.display()));
    let (state, data) = (state.display().to_string(), place.data().display().to_string());
    for temporary in [&full, &sealed, &missing] {
        for mut command in [
            run(&place, &on_mine("read", "")),
            iolite(&["fio", "--name=x", "--rw=randread", "--bs=4k", "--size=1m", &file]),
            iolite(&["verify", &state, "--results", &results]),
            iolite(&["observe", &data, "--duration", "1s", "--quiet", "--results", &results]),
            iolite(&["ranread", "run", "--db", &database, "--iterations", "50", "--results", &results]),
        ] {
            let output = command.env("TMPDIR", temporary).output().unwrap();
            injected("temporary directories that can't be used", 1);
            ended_by_itself(&output);
            assert_eq!(output.status.code(), Some(0), "{temporary:?} {command:?}: {}", stderr(&output));
        }
    }
    nothing_is_lost(&place, 3);
}

#[test]
fn a_directory_removed_in_mid_run_loses_no_result() {
    let place = TestDirectory::new();
    let mut command = run(&place, &writes("stop.runtime = '2s'"));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    place.wait_for_intervals(&mut child, 5);
    fs::remove_dir_all(place.data()).unwrap();
    injected("removed directories", 1);
    let output = child.wait_with_output().unwrap();
    ended_by_itself(&output);
    nothing_is_lost(&place, 5);
    assert_eq!(json(&output)["phases"].as_array().unwrap().len(), 1, "{}", stderr(&output));
}

/// ext4 makes itself read-only after an error of its own.
#[test]
fn a_file_system_that_becomes_read_only_in_mid_run_is_counted_as_errors() {
    let place = TestDirectory::new();
    let Some(device) = Loop::new(&place, 64 << 20) else { return };
    let formatted = Command::new("mkfs.ext4").args(["-q", "-F", &device.0]).output();
    if !formatted.is_ok_and(|output| output.status.success()) {
        return skip("no mkfs.ext4").unwrap_or(());
    }
    let at = place.root.path().join("mounted");
    let Some(_mount) = Mount::new(&["-o", "errors=remount-ro", &device.0], &at) else { return };
    let job = place.root.path().join("job.toml");
    let grow = "[[tasks]]\n[tasks.io]\nname = 'measured'\ntarget.file = { name = 'data', size = '4MiB', create = true }\n\
                backend = 'sync'\nmix = 'write'\ninterval = '50ms'\nerrors.stop = []\nstop.runtime = '3s'\n\
                durability.sync = { every = 1, method = 'fsync' }\n";
    fs::write(&job, grow).unwrap();
    let mut command = Command::new(IOLITE);
    command.arg("run").arg(job).arg("--directory").arg(&at).arg("--results").arg(place.results());
    command.args(["--json", "--quiet"]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    place.wait_for_intervals(&mut child, 5);
    if !remounted(&at, "remount,abort") {
        let _ = child.kill();
        let _ = child.wait();
        return skip("ext4 is not made to give up here").unwrap_or(());
    }
    injected("file systems that became read-only", 1);
    let output = child.wait_with_output().unwrap();
    ended_by_itself(&output);
    let document = json(&output);
    assert_ne!(document["phases"][0]["errors"].as_array().unwrap().len(), 0, "{document}");
    nothing_is_lost(&place, 5);
}
