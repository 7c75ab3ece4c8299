//! The guard: nothing of others is written to. Each case compares the checksum of what must stay.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod common;
#[path = "guard/devices.rs"]
mod devices;
#[path = "guard/files.rs"]
mod files;
#[path = "guard/output.rs"]
mod output;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use common::{IOLITE, Loop, Mount, TestDirectory, skip, stderr};

/// Size of what is not to be overwritten.
const SIZE: u64 = 16 << 20;

/// A file with contents.
fn precious(place: &TestDirectory, name: &str) -> PathBuf {
    let path = place.root.path().join(name);
    let file = File::create(&path).unwrap();
    let period: Vec<u8> = (0..7 * 256).map(|byte| (byte / 7) as u8).collect();
    let text = period.repeat(SIZE as usize / period.len() + 1);
    file.write_all_at(&text[..SIZE as usize], 0).unwrap();
    file.sync_all().unwrap();
    path
}

/// Of the contents, in 64 bits.
fn checksum(path: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(&fs::read(path).unwrap());
    hasher.finish()
}

/// fio's command line, writing to a path.
fn write_with_fio(place: &TestDirectory, path: &Path) -> Output {
    fio(place, &[format!("--filename={}", path.display()), "--rw=write".into(), "--size=4m".into()])
}

fn fio(place: &TestDirectory, arguments: &[String]) -> Output {
    let mut command = Command::new(IOLITE);
    command.args(["fio", "--name=test", "--ioengine=psync", "--bs=64k"]).args(arguments);
    command.env("IOLITE_RESULTS", place.results()).current_dir(place.data());
    command.stdin(Stdio::null()).output().unwrap()
}

/// A job of ours, writing to a path.
fn write_with_job(place: &TestDirectory, path: &Path, overwrite: &str, arguments: &[&str]) -> Output {
    let text = format!(
        "[[tasks]]\n[tasks.io]\nname = 'test'\ntarget.existing = {{ path = '{}', overwrite = '{overwrite}' }}\n\
         backend = 'sync'\nmix = 'write'\nstop.operations = 100\n",
        path.display()
    );
    let job = place.root.path().join("job.toml");
    fs::write(&job, text).unwrap();
    let mut command = Command::new(IOLITE);
    command.arg("run").arg(&job).arg("--results").arg(place.results()).args(arguments);
    command.env("NO_COLOR", "1").stdin(Stdio::null()).output().unwrap()
}

/// What was printed, on one line.
fn said(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &stderr(output);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Nothing is written to the path, by either command, and both say why.
fn refused(place: &TestDirectory, path: &Path, kept: &Path, why: &str) {
    refused_keeping(place, path, || checksum(kept), why);
}

/// The same, of what `kept` returns.
fn refused_keeping<T: PartialEq>(place: &TestDirectory, path: &Path, kept: impl Fn() -> T, why: &str) {
    let before = kept();
    for output in [write_with_fio(place, path), write_with_job(place, path, "anything", &[])] {
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        assert!(said(&output).contains(why), "{why}: {}", said(&output));
    }
    assert!(before == kept(), "{} was written to", path.display());
}

/// A process that is ended with its test.
struct Holder(Child);

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Holder {
    /// A process that has done what `script` says (in Python, to the file `sys.argv[1]`) and lives on.
    fn doing(script: &str, path: &Path) -> Option<Holder> {
        Holder::doing_by(Command::new("python3"), script, path)
    }

    /// The same by a command that runs Python with further arguments.
    fn doing_by(mut python: Command, script: &str, path: &Path) -> Option<Holder> {
        let script = format!("import sys, fcntl\n{script}\nprint('ready', flush=True)\nsys.stdin.read()");
        python.arg("-c").arg(script).arg(path).stdin(Stdio::piped()).stdout(Stdio::piped());
        let Ok(mut child) = python.spawn() else { return skip("python3 is not there") };
        let mut line = String::new();
        let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut out, &mut line).unwrap();
        let holder = Holder(child);
        assert_eq!(line, "ready\n");
        Some(holder)
    }
}

#[test]
fn files_that_others_use_stay_as_they_are_and_the_holder_is_named() {
    let place = TestDirectory::new();
    let path = precious(&place, "precious");
    for script in [
        "file = open(sys.argv[1], 'r+b')",
        "file = open(sys.argv[1], 'r+b'); fcntl.lockf(file, fcntl.LOCK_EX)",
        "file = open(sys.argv[1], 'r+b'); fcntl.flock(file, fcntl.LOCK_EX)",
        "import struct; file = open(sys.argv[1], 'r+b'); \
         fcntl.fcntl(file, 37, struct.pack('hhqqi', fcntl.F_WRLCK, 0, 0, 0, 0))",
    ] {
        let Some(holder) = Holder::doing(script, &path) else { return };
        refused(&place, &path, &path, &format!("(process {})", holder.0.id()));
    }
    // Who only reads (a backup, an indexer) is no obstacle.
    let Some(_reader) = Holder::doing("file = open(sys.argv[1], 'rb')", &path) else { return };
    let output = write_with_job(&place, &path, "anything", &[]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
}

#[test]
fn settings_of_the_kernel_are_no_files() {
    let place = TestDirectory::new();
    let names = ["/proc/sys/kernel/hostname", "/sys/kernel/mm/transparent_hugepage/enabled"];
    for name in names.into_iter().filter(|name| Path::new(name).exists()) {
        let before = fs::read(name).unwrap();
        for rw in ["read", "write", "randrw"] {
            let arguments = [format!("--filename={name}"), format!("--rw={rw}"), "--size=1m".into()];
            let output = fio(&place, &arguments);
            assert_eq!(output.status.code(), Some(1), "{}", said(&output));
            assert!(said(&output).contains("settings of the kernel"), "{}", said(&output));
        }
        assert_eq!(fs::read(name).unwrap(), before);
    }
    let cgroups = "/sys/fs/cgroup";
    if Path::new(cgroups).is_dir() {
        let output = place
            .check(Path::new(cgroups), &["--budget-time", "10s", "--budget-space", "64M"])
            .output()
            .unwrap();
        assert_ne!(output.status.code(), Some(0));
        let left = fs::read_dir(cgroups).unwrap().flatten();
        assert!(!left.into_iter().any(|entry| entry.file_name().to_string_lossy().starts_with(".iolite-")));
    }
}

#[test]
fn a_mistyped_device_does_not_become_a_file() {
    let place = TestDirectory::new();
    let name = format!("/dev/iolite-no-such-device-{}", std::process::id());
    for rw in ["read", "write"] {
        let arguments = [format!("--filename={name}"), format!("--rw={rw}"), "--size=1m".into()];
        let output = fio(&place, &arguments);
        assert!(!Path::new(&name).exists());
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        assert!(said(&output).contains("check the name"), "{}", said(&output));
    }
}

#[test]
fn what_rests_on_a_mounted_image_is_in_use() {
    let place = TestDirectory::new();
    let image = place.root.path().join("image");
    File::create(&image).unwrap().set_len(64 << 20).unwrap();
    let link = place.root.path().join("link");
    fs::hard_link(&image, &link).unwrap();
    let Some(first) = Loop::over(&image, false) else { return };
    let made = Command::new("mkfs.ext4").args(["-q", "-F", &first.0]).status();
    if !made.is_ok_and(|status| status.success()) {
        return skip("mkfs.ext4 is not there").unwrap_or(());
    }
    let Some(second) = Loop::over(&image, false) else { return };
    let Some(above) = Loop::over(Path::new(&first.0), false) else { return };
    let Some(_mount) = Mount::new(&["-o", "ro,noload", &first.0], &place.root.path().join("mounted")) else {
        return;
    };
    refused(&place, Path::new(&first.0), &image, "is mounted at");
    refused(&place, Path::new(&second.0), &image, "over the same data");
    refused(&place, Path::new(&above.0), &image, "it rests on");
    refused(&place, &image, &image, "rests on it");
    fs::remove_file(&image).unwrap();
    refused(&place, &link, &link, "rests on it");
}

#[test]
fn a_disk_with_a_mounted_partition_is_in_use() {
    let place = TestDirectory::new();
    let image = precious(&place, "image");
    // One entry of a DOS partition table: Linux, from sector 2048 to the end.
    let mut sector = [0; 512];
    sector[446..462].copy_from_slice(&[0, 0, 0, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0]);
    sector[458..462].copy_from_slice(&((SIZE / 512 - 2048) as u32).to_le_bytes());
    sector[510..].copy_from_slice(&[0x55, 0xAA]);
    File::options().write(true).open(&image).unwrap().write_all_at(&sector, 0).unwrap();
    let Some(disk) = Loop::over(&image, false) else { return };
    let read = Command::new("partx").args(["--add", &disk.0]).output();
    let partition = format!("{}p1", disk.0);
    if !read.is_ok_and(|output| output.status.success()) || !Path::new(&partition).exists() {
        return skip("loop devices have no partitions here").unwrap_or(());
    }
    if !Command::new("mkfs.ext4").args(["-q", "-F", &partition]).status().is_ok_and(|made| made.success()) {
        return skip("mkfs.ext4 is not there").unwrap_or(());
    }
    let Some(second) = Loop::over(&image, false) else { return };
    let _ = Command::new("partx").args(["--add", &second.0]).output();
    let Some(_mount) = Mount::new(&["-o", "ro,noload", &partition], &place.root.path().join("mounted"))
    else {
        return;
    };
    refused(&place, Path::new(&disk.0), &image, "is mounted at");
    refused(&place, Path::new(&partition), &image, "is mounted at");
    // The same data by the partition of another loop device.
    let twin = format!("{}p1", second.0);
    if Path::new(&twin).exists() {
        refused(&place, Path::new(&twin), &image, "over the same data");
    }
}

#[test]
fn swap_space_in_use_is_refused() {
    let place = TestDirectory::new();
    let image = precious(&place, "image");
    let Some(device) = Loop::over(&image, false) else { return };
    struct Swap<'a>(&'a str);
    impl Drop for Swap<'_> {
        fn drop(&mut self) {
            let _ = Command::new("swapoff").arg(self.0).status();
        }
    }
    let done = |command: &str| {
        Command::new(command).arg(&device.0).output().is_ok_and(|output| output.status.success())
    };
    if !done("mkswap") || !done("swapon") {
        return skip("no swap space can be set up here").unwrap_or(());
    }
    let _swap = Swap(&device.0);
    // The kernel itself writes to it, but for its first page.
    let header = || {
        let mut page = vec![0; 4096];
        File::open(&image).unwrap().read_exact_at(&mut page, 0).unwrap();
        page
    };
    refused_keeping(&place, Path::new(&device.0), header, "swap space");
}

#[test]
fn each_device_of_a_mounted_btrfs_is_in_use() {
    let place = TestDirectory::new();
    let images = ["one", "two"].map(|name| place.root.path().join(name));
    images.iter().for_each(|image| File::create(image).unwrap().set_len(256 << 20).unwrap());
    let (Some(one), Some(two)) = (Loop::over(&images[0], false), Loop::over(&images[1], false)) else {
        return;
    };
    let made = Command::new("mkfs.btrfs").args(["-q", "-f", "-d", "single", &one.0, &two.0]).output();
    if !made.is_ok_and(|output| output.status.success()) {
        return skip("mkfs.btrfs is not there").unwrap_or(());
    }
    let _ = Command::new("btrfs").args(["device", "scan", &one.0, &two.0]).output();
    let devices = format!("ro,device={},device={}", one.0, two.0);
    let Some(_mount) =
        Mount::new(&["-t", "btrfs", "-o", &devices, &one.0], &place.root.path().join("mounted"))
    else {
        return;
    };
    for (device, image) in [(&one, &images[0]), (&two, &images[1])] {
        refused(&place, Path::new(&device.0), image, "it is in use");
    }
}

#[test]
fn a_device_beneath_the_device_mapper_is_in_use() {
    let place = TestDirectory::new();
    let image = precious(&place, "image");
    let Some(device) = Loop::over(&image, false) else { return };
    struct Mapped(String);
    impl Drop for Mapped {
        fn drop(&mut self) {
            let _ = Command::new("dmsetup").args(["remove", "--retry", &self.0]).status();
        }
    }
    let name = format!("iolite-test-{}", std::process::id());
    let table = format!("0 {} linear {} 0", SIZE / 512, device.0);
    match Command::new("dmsetup").args(["create", &name, "--table", &table]).output() {
        Ok(output) if output.status.success() => {}
        Ok(output) => return skip(&format!("dmsetup: {}", stderr(&output).trim())).unwrap_or(()),
        Err(error) => return skip(&format!("dmsetup: {error}")).unwrap_or(()),
    }
    let _mapped = Mapped(name);
    refused(&place, Path::new(&device.0), &image, "it is in use");
}

#[test]
fn a_file_of_the_kernel_that_can_only_be_written_to_is_refused_for_what_it_is() {
    let place = TestDirectory::new();
    let name = "/sys/bus/platform/drivers_probe";
    if !Path::new(name).exists() {
        return skip(&format!("no {name}")).unwrap_or(());
    }
    for rw in ["read", "write"] {
        let arguments = [format!("--filename={name}"), format!("--rw={rw}"), "--size=1m".into()];
        let output = fio(&place, &arguments);
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        let said = said(&output);
        assert!(said.contains("settings of the kernel") && !said.contains("direct I/O"), "{said}");
    }
}

#[test]
fn a_device_whose_data_another_program_writes_is_in_use() {
    let place = TestDirectory::new();
    let image = precious(&place, "image");
    let (Some(first), Some(second)) = (Loop::over(&image, false), Loop::over(&image, false)) else { return };
    let script = "file = open(sys.argv[1], 'r+b')";
    let Some(holder) = Holder::doing(script, Path::new(&second.0)) else { return };
    refused(&place, Path::new(&first.0), &image, "or a device of the same data, open");
    drop(holder);
    // As a virtual machine has its image open.
    let Some(_holder) = Holder::doing(script, &image) else { return };
    refused(&place, Path::new(&first.0), &image, "or a device of the same data, open");
}

#[test]
fn a_device_that_holds_something_is_overwritten_only_if_it_is_named() {
    let place = TestDirectory::new();
    let image = place.root.path().join("image");
    for (command, what) in
        [("mkfs.ext4 -q -F", "ext file system"), ("mkfs.xfs -q -f", "XFS"), ("mkswap", "swap space")]
    {
        let _ = fs::remove_file(&image);
        File::create(&image).unwrap().set_len(320 << 20).unwrap();
        let made =
            Command::new("sh").arg("-c").arg(format!("{command} {}", image.display())).output().unwrap();
        if !made.status.success() {
            skip::<()>(&format!("{command}: {}", stderr(&made).trim()));
            continue;
        }
        let Some(device) = Loop::over(&image, false) else { return };
        let (path, before) = (Path::new(&device.0), checksum(&image));
        for arguments in
            [vec![], vec!["--allow-overwrite", "/dev/loop-control"], vec!["--allow-overwrite", "/nowhere"]]
        {
            let output = write_with_job(&place, path, "anything", &arguments);
            assert!(matches!(output.status.code(), Some(1 | 2)), "{}", said(&output));
            let why = if arguments.is_empty() { what } else { "--allow-overwrite" };
            assert!(said(&output).contains(why), "{}", said(&output));
            assert!(before == checksum(&image));
        }
        let output = write_with_job(&place, path, "blank", &["--allow-overwrite", &device.0]);
        assert!(output.status.code() == Some(1) && said(&output).contains("not blank"), "{}", said(&output));
        assert!(before == checksum(&image));
        // By another name of the same device.
        let link = place.root.path().join("by-id");
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink(path, &link).unwrap();
        let output = write_with_job(&place, path, "anything", &["--allow-overwrite", link.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    }
}

#[test]
fn data_in_the_middle_of_a_file_is_not_blank() {
    let place = TestDirectory::new();
    let path = place.root.path().join("file");
    let file = File::create(&path).unwrap();
    file.set_len(SIZE).unwrap();
    file.write_all_at(b"precious", SIZE / 2).unwrap();
    drop(file);
    let before = checksum(&path);
    let output = write_with_job(&place, &path, "blank", &[]);
    assert!(output.status.code() == Some(1) && said(&output).contains("data at byte"), "{}", said(&output));
    assert!(before == checksum(&path));
}

#[test]
fn escape_sequences_of_names_reach_no_terminal() {
    let place = TestDirectory::new();
    let name = "\x1b[2Jname\u{202e}";
    for arguments in
        [vec!["run", name], vec!["check", name], vec![name], vec!["verify", name], vec!["fio", name]]
    {
        let mut command = Command::new(IOLITE);
        command.args(&arguments).current_dir(place.data()).env("LC_ALL", "C").stdin(Stdio::null());
        let output = command.output().unwrap();
        assert_ne!(output.status.code(), Some(0));
        let text = [output.stdout.clone(), output.stderr.clone()].concat();
        assert!(!text.contains(&0x1b) && text.is_ascii(), "{arguments:?}: {}", said(&output));
    }
}

#[test]
fn escape_sequences_of_paths_are_escaped_where_they_are_printed() {
    let place = TestDirectory::new();
    let [ran, tables] = ["ran", "tables"].map(|name| place.data().join(format!("\x1b[2J{name}")));
    let [ran_db, tables_db] = [&ran, &tables].map(|directory| format!("sqlite:{}", directory.display()));
    let (target, results) = (place.data().join("\x1b[2Jexport"), place.results().display().to_string());
    let target = target.display().to_string();
    let steps: [&[&str]; 9] = [
        &["ranread", "setup", "--db", &ran_db, "--size", "1MiB"],
        &["ranread", "run", "--db", &ran_db, "--iterations", "10", "--results", &results],
        &["ranread", "history", "--results", &results],
        &["ranread", "export", &target, "--results", &results],
        &["ranread", "purge", "--db", &ran_db],
        &["tproc-c", "build", "--db", &tables_db, "--reduction", "100", "--warehouses", "1"],
        &["tproc-c", "purge", "--db", &tables_db],
        &["results", "show", "latest", "--results", &results],
        &["results", "list", "--results", &results],
    ];
    for arguments in steps {
        let mut command = Command::new(IOLITE);
        let output = command.args(arguments).env("NO_COLOR", "1").stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", said(&output));
        let text = [output.stdout.clone(), output.stderr.clone()].concat();
        assert!(!text.contains(&0x1b), "{arguments:?}: {}", said(&output));
    }
    assert!(Path::new(&target).exists() && tables.is_dir());
}

#[test]
fn passwords_in_arguments_are_never_printed() {
    let place = TestDirectory::new();
    for arguments in [
        &["ranread", "run", "--db", "postgress://app:secret/db"][..],
        &["ranread", "run", "--db=postgres://app:secret/db"],
        &["ranread", "run", "--db", "app:secret@host"],
        &["ranread", "setup", "postgres://app:secret@host/db"],
        &["ranread", "run", "--jobs=postgres://app:secret@host/db"],
        &["check", "--budget-time", "mysql://app:secret@host/db"],
        &["postgres://app:secret@host/db"],
        &["run", "postgress://app:secret/db"],
        &["fio", "postgres://app:secret@host/db"],
        &["durability", "run", "--db", "oracle:secret", "--witness", "notes"],
    ] {
        let mut command = Command::new(IOLITE);
        let output = command.args(arguments).current_dir(place.data()).stdin(Stdio::null()).output().unwrap();
        assert_ne!(output.status.code(), Some(0), "{arguments:?}");
        assert!(!said(&output).contains("secret"), "{arguments:?}: {}", said(&output));
    }
}

#[test]
fn an_argument_that_is_no_text_is_an_error_and_no_other_file_is_used() {
    let place = TestDirectory::new();
    let odd = OsStr::from_bytes(b"q\xff");
    let mut filename = OsStr::new("--filename=").to_owned();
    filename.push(odd);
    let fio = ["fio", "--name=a", "--size=64k", "--rw=write"].map(OsStr::new);
    let fio = [&fio[..], &[filename.as_os_str()]].concat();
    for (arguments, code) in [(vec![OsStr::new("check"), odd], 2), (fio, 1)] {
        let mut command = Command::new(IOLITE);
        let output =
            command.args(&arguments).current_dir(place.data()).stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", said(&output));
    }
    assert_eq!(fs::read_dir(place.data()).unwrap().count(), 0);
}

/// The text of all sources below a directory.
fn sources(directory: &Path, text: &mut String) {
    for entry in fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, text);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&fs::read_to_string(&path).unwrap());
        }
    }
}

/// The sources of all crates, and docs/safety.md.
fn sources_and_page() -> (String, String) {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut text = String::new();
    sources(crates, &mut text);
    (text, fs::read_to_string(crates.join("../docs/safety.md")).unwrap())
}

/// The names of tests in the last column of a row.
fn tests_of(row: &str) -> impl Iterator<Item = &str> {
    let cell = row.trim_end_matches('|').rsplit('|').next().unwrap();
    cell.split('`').skip(1).step_by(2)
}

#[test]
fn docs_safety_names_tests_that_exist() {
    let (text, page) = sources_and_page();
    let rows = page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| case"));
    let names: Vec<&str> = rows.flat_map(tests_of).collect();
    assert!(names.len() > 20, "{names:?}");
    for name in names {
        assert!(
            text.contains(&format!("fn {name}()")),
            "docs/safety.md names the test {name}, which is not there"
        );
    }
}

/// Detecting that something is in use is not enough: what must stay has the same contents afterwards.
#[test]
fn each_case_of_the_guard_has_a_test_that_compares_contents() {
    /// Calls that compare what is there before and afterwards.
    const COMPARING: [&str; 5] = ["refused(&", "refused_keeping(&", "before == ", "fs::read(", "read_dir("];
    let (text, page) = sources_and_page();
    let compares = |name: &str| {
        let Some((_, body)) = text.split_once(&format!("fn {name}()")) else { return false };
        let body = body.split("#[test]").next().unwrap();
        COMPARING.iter().any(|call| body.contains(call))
    };
    let section = page.split("## Protected targets").nth(1).unwrap().split("\n## ").next().unwrap();
    let cases = section.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| case"));
    let mut count = 0;
    // Where nothing is there yet, nothing can be compared.
    let keep =
        |row: &&str| row.contains("stay") || row.contains("refused") && !row.contains("no file is created");
    for row in cases.filter(keep) {
        assert!(tests_of(row).any(compares), "no test compares contents: {row}");
        count += 1;
    }
    assert!(count > 20, "{count} cases");
}
