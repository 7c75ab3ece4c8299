//! Files that others use in ways that are easily missed, and files that cannot be written to.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use iolite_model::ErrorCause;

use crate::common::private::PrivateServer;
use crate::common::{IOLITE, Mount, TestDirectory, is_root, skip, stderr};
use crate::{Holder, checksum, precious, refused, said, write_with_fio, write_with_job};

/// Checks that the remedy of a cause is named. docs/errors.md lists each call as the test of that cause.
fn produced(cause: ErrorCause, text: &str) {
    assert!(text.contains(cause.remedy()), "{cause:?}: {text}");
}

/// As some databases and virtual machines do: the descriptor is closed, and the mapping goes on.
#[test]
fn a_file_that_is_only_mapped_stays_as_it_is_and_the_process_is_named() {
    let place = TestDirectory::new();
    let path = precious(&place, "precious");
    // Python's own module would keep a descriptor.
    let script = "import ctypes, os; fd = os.open(sys.argv[1], os.O_RDWR); \
                  ctypes.CDLL(None).mmap(None, ctypes.c_size_t(4096), 3, 1, fd, ctypes.c_long(0)); os.close(fd)";
    let Some(holder) = Holder::doing(script, &path) else { return };
    refused(&place, &path, &path, &format!("(process {})", holder.0.id()));
}

/// A directory and a copy of the program that any user may use.
fn for_another_user() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let program = directory.path().join("iolite");
    fs::copy(IOLITE, &program).unwrap();
    (directory, program)
}

/// Root has it open, and another user's program learns no more than that somebody has.
#[test]
fn a_file_held_by_a_process_that_cannot_be_seen_stays_as_it_is() {
    if !is_root() {
        return skip("only root can be another user").unwrap_or(());
    }
    let place = TestDirectory::new();
    let (directory, program) = for_another_user();
    let path = precious(&place, "precious");
    let mine = directory.path().join("mine");
    fs::copy(&path, &mine).unwrap();
    std::os::unix::fs::chown(&mine, Some(64_998), Some(64_998)).unwrap();
    let Some(_holder) = Holder::doing("file = open(sys.argv[1], 'r+b')", &mine) else { return };
    let before = checksum(&mine);
    let mut command = Command::new("setpriv");
    command.args(["--reuid=64998", "--regid=64998", "--clear-groups"]).arg(&program);
    command
        .args(["fio", "--name=a", "--rw=write", "--bs=64k", "--size=1m"])
        .arg(format!("--filename={}", mine.display()));
    command.current_dir(directory.path()).env("HOME", "/nonexistent").env_remove("XDG_DATA_HOME");
    let output = match command.stdin(Stdio::null()).output() {
        Ok(output) => output,
        Err(error) => return skip(&format!("setpriv: {error}")).unwrap_or(()),
    };
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("a process that this user cannot see"), "{}", said(&output));
    assert!(before == checksum(&mine));
}

/// As in a chroot that was made by hand: who uses a file could not be determined there.
#[test]
fn without_proc_what_exists_stays_as_it_is_and_the_remedy_is_named() {
    let place = TestDirectory::new();
    let path = precious(&place, "precious");
    let before = checksum(&path);
    let mut command = Command::new("unshare");
    command.args([
        "--mount",
        "sh",
        "-c",
        "mount -t tmpfs none /proc || exit 99; exec \"$0\" \"$@\"",
        IOLITE,
        "fio",
    ]);
    command
        .args(["--name=a", "--rw=write", "--bs=64k", "--size=1m"])
        .arg(format!("--filename={}", path.display()));
    let output = match command.current_dir(place.data()).stdin(Stdio::null()).output() {
        Ok(output) if output.status.code() == Some(1) && !stderr(&output).contains("unshare") => output,
        other => return skip(&format!("/proc cannot be hidden here: {other:?}")).unwrap_or(()),
    };
    assert!(said(&output).contains("mount -t proc proc /proc"), "{}", said(&output));
    assert!(before == checksum(&path));
}

/// A file that any user may write to: the kernel reports to nobody else that root has it open.
#[test]
fn a_file_of_another_user_is_written_with_the_warning_that_its_users_are_not_known() {
    if !is_root() {
        return skip("only root can be another user").unwrap_or(());
    }
    let (directory, program) = for_another_user();
    let warned = |owner: u32| {
        let target = directory.path().join(format!("of_{owner}"));
        fs::write(&target, vec![7; 1 << 16]).unwrap();
        fs::set_permissions(&target, std::os::unix::fs::PermissionsExt::from_mode(0o666)).unwrap();
        std::os::unix::fs::chown(&target, Some(owner), Some(owner)).unwrap();
        let job = directory.path().join("job.toml");
        let text = format!(
            "[[tasks]]\n[tasks.io]\nname = 'a'\ntarget.existing = {{ path = '{}', overwrite = 'anything' }}\nbackend = 'sync'\n\
             mix = 'write'\nstop.operations = 4\n",
            target.display()
        );
        fs::write(&job, text).unwrap();
        let mut command = Command::new("setpriv");
        command.args(["--reuid=64998", "--regid=64998", "--clear-groups"]).arg(&program).arg("run").arg(&job);
        command.arg("--results").arg(directory.path().join("results.db"));
        command.current_dir(directory.path()).env("HOME", "/nonexistent").env_remove("XDG_DATA_HOME");
        let output = command.stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        let words = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let warning = format!("whether another program has {}", target.display());
        // As it happens, before the phase is over, and in the report.
        let (live, report) =
            (words(stderr(&output)), words(String::from_utf8_lossy(&output.stdout).into_owned()));
        let before = live.find(&warning).zip(live.find("a, 1 ")).map(|(warning, phase)| warning < phase);
        assert_eq!(before, report.contains(&warning).then_some(true), "{}", said(&output));
        before.is_some()
    };
    if Command::new("setpriv").arg("--version").output().is_err() {
        return skip("there is no setpriv(1)").unwrap_or(());
    }
    assert_eq!((warned(0), warned(64_998)), (true, false));
}

/// An attribute of a file that is removed in the end.
struct Attribute<'a>(&'a Path, &'a str);

impl Drop for Attribute<'_> {
    fn drop(&mut self) {
        let _ = Command::new("chattr").arg(format!("-{}", self.1)).arg(self.0).status();
    }
}

/// Attributes of chattr(1) that hold for root as well.
#[test]
fn an_immutable_file_stays_as_it_is_and_the_remedy_names_lsattr() {
    let place = TestDirectory::new();
    for attribute in ["i", "a"] {
        let path = precious(&place, attribute);
        let set = Command::new("chattr").arg(format!("+{attribute}")).arg(&path).output();
        if !set.is_ok_and(|output| output.status.success()) {
            return skip("chattr(1) sets no attributes here").unwrap_or(());
        }
        let _attribute = Attribute(&path, attribute);
        let before = checksum(&path);
        for output in [write_with_fio(&place, &path), write_with_job(&place, &path, "anything", &[])] {
            assert_eq!(output.status.code(), Some(1), "+{attribute}: {}", said(&output));
            produced(ErrorCause::NotPermitted, &said(&output));
        }
        assert!(before == checksum(&path));
    }
}

#[test]
fn a_file_behind_a_read_only_bind_mount_stays_as_it_is() {
    let place = TestDirectory::new();
    let path = precious(&place, "precious");
    let at = place.root.path().join("bound");
    fs::create_dir(&at).unwrap();
    let source = place.root.path().display().to_string();
    let Some(_mount) = Mount::new(&["--bind", &source], &at) else { return };
    let again = Command::new("mount").args(["-o", "remount,ro,bind"]).arg(&at).output().unwrap();
    assert!(again.status.success(), "{}", stderr(&again));
    let before = checksum(&path);
    let bound = at.join("precious");
    for output in [write_with_fio(&place, &bound), write_with_job(&place, &bound, "anything", &[])] {
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        produced(ErrorCause::ReadOnly, &said(&output));
    }
    assert!(before == checksum(&path));
}

/// A server opens its files only when it needs them.
#[test]
fn a_file_of_a_server_that_runs_stays_as_it_is_although_nobody_has_it_open() {
    let place = TestDirectory::new();
    for (kind, file) in [("postgres", "data/PG_VERSION"), ("mariadb", "data/mysql/db.opt")] {
        let Some(server) = PrivateServer::start(kind) else { continue };
        let path = server.directory.path().join(file);
        refused(&place, &path, &path, "it belongs to a database server that runs");
    }
}

/// The directories above such a name are not the server's.
#[test]
fn a_file_of_a_server_that_has_another_name_stays_as_it_is() {
    let place = TestDirectory::new();
    for (kind, directory, file) in
        [("postgres", "data/base/1", "PG_VERSION"), ("mariadb", "data/mysql", "db.opt")]
    {
        let Some(server) = PrivateServer::start(kind) else { continue };
        let directory = server.directory.path().join(directory);
        let (path, linked) = (directory.join(file), place.root.path().join(kind));
        match fs::hard_link(&path, &linked) {
            Ok(()) => refused(&place, &linked, &path, "it belongs to a database server that runs"),
            Err(error) => skip(&format!("{}: {error}", linked.display())).unwrap_or(()),
        }
        let at = place.root.path().join(format!("{kind}-bound"));
        fs::create_dir(&at).unwrap();
        let source = directory.display().to_string();
        let Some(_mount) = Mount::new(&["--bind", &source], &at) else { continue };
        refused(&place, &at.join(file), &path, "it belongs to a database server that runs");
    }
}

/// The file that blocks are exchanged with loses what it holds.
#[test]
fn what_a_donor_of_blocks_holds_is_kept_unless_it_may_be_overwritten() {
    let place = TestDirectory::new();
    let path = precious(&place, "donor");
    let before = checksum(&path);
    for (overwrite, why) in [("never", "overwrite"), ("blank", "not blank")] {
        let text = format!(
            "[[tasks]]\n[tasks.io]\nname = 'test'\nbackend = 'move-extents'\nmix = 'write'\nstop.operations = 1\n\
             target.files = {{ files = [{{ path = '{}', size = '64KiB' }}], overwrite = '{overwrite}', donor = {{ path = '{}' }} }}\n",
            place.root.path().join("new").display(),
            path.display()
        );
        let job = place.root.path().join("donor.toml");
        fs::write(&job, text).unwrap();
        let mut command = Command::new(IOLITE);
        command.arg("run").arg(&job).arg("--results").arg(place.results());
        let output = command.env("NO_COLOR", "1").stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        assert!(said(&output).contains(why), "{}", said(&output));
        assert!(before == checksum(&path));
    }
}

/// What the program itself writes during a run is no target: its log holds commits that are nowhere else yet.
#[test]
fn the_results_database_and_its_log_are_no_targets() {
    let place = TestDirectory::new();
    let job = |path: &Path, mix: &str| {
        let text = format!(
            "[[tasks]]\n[tasks.io]\nname = 'test'\ntarget.existing = {{ path = '{}', overwrite = 'anything' }}\n\
             backend = 'sync'\nmix = '{mix}'\nblock = '512B'\nstop.operations = 100\n",
            path.display()
        );
        let job = place.root.path().join("own.toml");
        fs::write(&job, text).unwrap();
        job
    };
    let run = |path: &Path, mix: &str| {
        let mut command = Command::new(IOLITE);
        command.arg("run").arg(job(path, mix)).arg("--results").arg(place.results());
        command.env("NO_COLOR", "1").stdin(Stdio::null()).output().unwrap()
    };
    let output = run(&precious(&place, "other"), "read");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    // As long as somebody has it open, its log and its index are there.
    let open = rusqlite::Connection::open(place.results()).unwrap();
    open.query_row("SELECT count(*) FROM run", [], |_| Ok(())).unwrap();
    let beside = |end: &str| place.results().with_file_name(format!("results.db{end}"));
    let link = place.root.path().join("link");
    std::os::unix::fs::symlink(place.results(), &link).unwrap();
    for (path, mix) in [
        (place.results(), "write"),
        (place.results(), "read"),
        (beside("-wal"), "write"),
        (beside("-shm"), "write"),
        (link, "write"),
    ] {
        assert!(path.exists(), "{}", path.display());
        let output = run(&path, mix);
        assert_eq!(output.status.code(), Some(1), "{} {mix}: {}", path.display(), said(&output));
        assert!(
            said(&output).contains("results database of this run"),
            "{}: {}",
            path.display(),
            said(&output)
        );
        assert_eq!(place.ask::<String>("PRAGMA integrity_check"), "ok");
    }
    assert_eq!(place.ask::<i64>("SELECT count(*) FROM run"), 6, "each of them is recorded");
}

/// What is neither a file nor a device is named as what it is.
#[test]
fn what_is_no_file_is_refused_by_its_kind() {
    let place = TestDirectory::new();
    let at = |name: &str| place.root.path().join(name);
    fs::create_dir(at("directory")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
    let made = Command::new("mkfifo").arg(at("pipe")).status().unwrap();
    assert!(made.success());
    for (path, kind) in [
        (at("directory"), "directory"),
        (at("socket"), "a socket"),
        (at("pipe"), "a pipe"),
        (PathBuf::from("/dev/tty"), "a character device"),
    ] {
        let output = write_with_job(&place, &path, "anything", &[]);
        assert_eq!(output.status.code(), Some(1), "{}: {}", path.display(), said(&output));
        assert!(said(&output).contains(kind), "{}: {}", path.display(), said(&output));
    }
    assert_eq!(fs::read_dir(at("directory")).unwrap().count(), 0);
}

/// As a container's files are: the file in the upper directory is another one than that seen through the overlay, and the kernel counts
/// the writers of the second for the first, too.
#[test]
fn a_file_that_is_written_through_an_overlay_stays_as_it_is() {
    let place = TestDirectory::new();
    let at = |name: &str| place.root.path().join(name);
    ["lower", "upper", "work"].iter().for_each(|name| fs::create_dir(at(name)).unwrap());
    let upper = precious(&place, "upper/precious");
    let [lower, above, work] = ["lower", "upper", "work"].map(|name| at(name).display().to_string());
    let options = format!("lowerdir={lower},upperdir={above},workdir={work}");
    let arguments = ["-t", "overlay", "-o", options.as_str(), "overlay"];
    let Some(_mount) = Mount::new(&arguments, &at("merged")) else { return };
    let merged = at("merged/precious");
    let Some(holder) = Holder::doing("file = open(sys.argv[1], 'r+b')", &merged) else { return };
    refused(&place, &merged, &upper, &format!("(process {})", holder.0.id()));
    refused(&place, &upper, &upper, "has it open");
    drop(holder);
    // The reverse, and locks, which a program may have without writing just now.
    let open = "file = open(sys.argv[1], 'r+b')";
    let lock = "file = open(sys.argv[1], 'rb'); fcntl.flock(file, fcntl.LOCK_EX)";
    for (script, held, target, why) in [
        (open, &upper, &merged, "has it open"),
        (lock, &upper, &merged, "has locked it"),
        (lock, &merged, &upper, "has locked it"),
    ] {
        let Some(_holder) = Holder::doing(script, held) else { return };
        refused(&place, target, &upper, why);
    }
}

/// As by containers without a daemon: only they see their file system. `/proc/PID/root` leads there.
#[test]
fn a_file_of_an_overlay_in_another_mount_namespace_stays_as_it_is() {
    if !is_root() {
        return skip("only root can mount").unwrap_or(());
    }
    let place = TestDirectory::new();
    let at = |name: &str| place.root.path().join(name);
    ["lower", "upper", "work", "merged"].iter().for_each(|name| fs::create_dir(at(name)).unwrap());
    let upper = precious(&place, "upper/precious");
    let mount = format!(
        "mount -t overlay overlay -o lowerdir={},upperdir={},workdir={} {} && exec python3 \"$@\"",
        at("lower").display(),
        at("upper").display(),
        at("work").display(),
        at("merged").display()
    );
    let probe = Command::new("unshare").args(["--mount", "sh", "-c", &mount, "sh", "-c", ""]).output();
    if !probe.is_ok_and(|output| output.status.success()) {
        return skip("no overlay can be mounted in a mount namespace").unwrap_or(());
    }
    let serve = format!(
        "import os; os.chdir({:?}); open('PG_VERSION', 'w').close(); open('/proc/self/comm', 'w').write('postgres')",
        at("merged")
    );
    for (script, why) in [
        ("file = open(sys.argv[1], 'r+b')", "has it open"),
        ("file = open(sys.argv[1], 'rb'); fcntl.flock(file, fcntl.LOCK_EX)", "has locked it"),
        (&serve, "runs, postgres (process "),
    ] {
        let mut python = Command::new("unshare");
        python.args(["--mount", "sh", "-c", &mount, "sh"]);
        let Some(_holder) = Holder::doing_by(python, script, &at("merged/precious")) else { return };
        refused(&place, &upper, &upper, why);
    }
    assert!(!at("merged/precious").exists(), "it is mounted there only");
}

/// A server opens the files of a tablespace only when it needs them, and they are not beneath its data directory.
#[test]
fn a_file_of_a_tablespace_stays_as_it_is_although_nobody_has_it_open() {
    let place = TestDirectory::new();
    let at = |name: &str| place.root.path().join(name);
    for directory in ["pgdata/pg_tblspc", "space/PG_15_1", "log"] {
        fs::create_dir_all(at(directory)).unwrap();
    }
    fs::write(at("pgdata/PG_VERSION"), "15\n").unwrap();
    std::os::unix::fs::symlink(at("space"), at("pgdata/pg_tblspc/16384")).unwrap();
    std::os::unix::fs::symlink(at("log"), at("pgdata/pg_wal")).unwrap();
    // A program of that name, which works where a server does.
    std::os::unix::fs::symlink("/bin/sleep", at("postgres")).unwrap();
    let child = Command::new(at("postgres")).arg("600").current_dir(at("pgdata")).spawn().unwrap();
    let holder = Holder(child);
    for name in ["space/PG_15_1/1259", "log/000000010000000000000001"] {
        let path = precious(&place, name);
        refused(&place, &path, &path, &format!("runs, postgres (process {})", holder.0.id()));
    }
}

/// Of tables elsewhere the server has links, and of its binary log only the list and the last part open.
#[test]
fn a_table_of_mariadb_elsewhere_and_a_closed_binary_log_stay_as_they_are() {
    let place = TestDirectory::new();
    let at = |name: &str| place.root.path().join(name);
    for directory in ["mydata/test", "space", "binlog"] {
        fs::create_dir_all(at(directory)).unwrap();
    }
    fs::write(at("mydata/ibdata1"), "x").unwrap();
    fs::write(at("mydata/test/t.isl"), at("space/t.ibd").display().to_string()).unwrap();
    fs::write(at("binlog/bin.index"), "./bin.000001\n./bin.000002\n").unwrap();
    // A program of that name, which works where a server does.
    std::os::unix::fs::symlink("/bin/sleep", at("mariadbd")).unwrap();
    let list = fs::File::options().append(true).open(at("binlog/bin.index")).unwrap();
    let mut server = Command::new(at("mariadbd"));
    let holder = Holder(server.arg("600").current_dir(at("mydata")).stdin(list).spawn().unwrap());
    drop(server);
    for name in ["space/t.ibd", "binlog/bin.000001"] {
        let path = precious(&place, name);
        refused(&place, &path, &path, &format!("runs, mariadbd (process {})", holder.0.id()));
    }
}

/// A file in memory has no path, but for that of the descriptor of the process that has it.
#[test]
fn a_file_in_memory_of_another_process_stays_as_it_is() {
    let place = TestDirectory::new();
    let script = "import os; fd = os.memfd_create('x', os.MFD_ALLOW_SEALING); os.write(fd, b'x' * (8 << 20)); os.dup2(fd, 77); \
                  sealed = len(sys.argv[1]) > 1 and fcntl.fcntl(fd, 1033, 6)";
    for seals in ["-", "sealed"] {
        let Some(holder) = Holder::doing(script, Path::new(seals)) else { return };
        let path = PathBuf::from(format!("/proc/{}/fd/77", holder.0.id()));
        refused(&place, &path, &path, "cannot open the test file");
    }
}
