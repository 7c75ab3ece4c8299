use std::fs::File;
use std::process::{Child, Command};

use super::*;

/// A program that waits, once it has the name of its file: that is set after a start has returned.
fn started(command: &mut Command) -> Child {
    let name = Path::new(command.get_program()).file_name().unwrap().to_str().unwrap().to_owned();
    let child = command.arg("60").spawn().unwrap();
    while !is_called(child.id(), &[&name]) {
        thread::yield_now();
    }
    child
}

#[test]
fn a_server_is_above_its_files_while_it_works_there() {
    let dir = tempfile::tempdir().unwrap();
    let real = dir.path().canonicalize().unwrap();
    fs::create_dir(real.join("base")).unwrap();
    let (file, beside) = (real.join("base/1"), real.join("postmaster.pid"));
    fs::write(&file, "x").unwrap();
    let mut child = started(Command::new("sleep").current_dir(&real));
    let working = child.id();
    for (text, found) in [
        (format!("{working}\n{}\n", real.display()), Some(format!("sleep (process {working})"))),
        // A file that a crash has left, whose number is another program's by now.
        (format!("{}\n", std::process::id()), None),
        ("4294967294\n".to_owned(), None),
        ("-1\n".to_owned(), None),
        (String::new(), None),
    ] {
        fs::write(&beside, &text).unwrap();
        assert_eq!(Servers::now().above(&file), found, "{text}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

/// A server in a container has another number there than here, and its directory another name.
#[test]
fn a_server_in_a_container_is_above_its_files() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().canonicalize().unwrap().join("data");
    fs::create_dir(&data).unwrap();
    fs::write(data.join("1"), "x").unwrap();
    fs::write(data.join("postmaster.pid"), "1\n/var/lib/postgresql/data\n").unwrap();
    assert_eq!(Servers::now().above(&data.join("1")), None, "what a crash has left");
    // The name of a process is that of its program.
    let elsewhere = dir.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    for (name, at, is_there) in
        [("postgres", &elsewhere, false), ("postgres", &data, true), ("postmaster", &data, true)]
    {
        let program = dir.path().join(name);
        let _ = std::os::unix::fs::symlink("/bin/sleep", &program);
        let mut child = started(Command::new(&program).current_dir(at));
        let found = Servers::now().above(&data.join("1"));
        child.kill().unwrap();
        child.wait().unwrap();
        let expected = is_there.then(|| format!("{name} (process {})", child.id()));
        assert_eq!(found, expected);
    }
}

#[test]
fn tablespaces_and_the_log_of_a_server_are_its_files_wherever_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    for directory in ["data/pg_tblspc", "space/PG_15_1/5", "log", "other"] {
        fs::create_dir_all(at(directory)).unwrap();
    }
    for (target, link) in [("space", "data/pg_tblspc/16384"), ("log", "data/pg_wal")] {
        std::os::unix::fs::symlink(at(target), at(link)).unwrap();
    }
    let files = ["space/PG_15_1/5/1259", "log/000000010000000000000001", "linked", "other/file"].map(at);
    let [_, _, linked, other] = &files;
    [&files[0], &files[1], other, &at("data/PG_VERSION")]
        .iter()
        .for_each(|file| fs::write(file, "x").unwrap());
    fs::hard_link(&files[0], linked).unwrap();
    let program = at("postgres");
    std::os::unix::fs::symlink("/bin/sleep", &program).unwrap();
    let mut child = started(Command::new(&program).current_dir(at("data")));
    let found = files.clone().map(|file| Servers::now().above(&file));
    child.kill().unwrap();
    child.wait().unwrap();
    let server = Some(format!("postgres (process {})", child.id()));
    assert_eq!(found, [server.clone(), server.clone(), server, None]);
    assert_eq!(files.map(|file| Servers::now().above(&file)), [None, None, None, None], "it has ended");
}

/// A program of the name works where MariaDB does.
#[test]
fn tables_elsewhere_and_closed_binary_logs_are_a_servers_files() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    for directory in ["data/test", "space/test", "log", "parts"] {
        fs::create_dir_all(at(directory)).unwrap();
    }
    let files = [
        ("space/test/t.ibd", true),
        ("space/test/t.MYD", true),
        ("space/test/other.ibd", false),
        ("log/bin.000001", true),
        ("log/other.000001", false),
        // Of a log whose list is elsewhere.
        ("parts/bin.000001", true),
        ("parts/bin.000002", false),
    ]
    .map(|(name, is_its)| (at(name), is_its));
    files.iter().for_each(|(file, _)| fs::write(file, "x").unwrap());
    fs::write(at("data/ibdata1"), "x").unwrap();
    fs::write(at("data/test/t.isl"), files[0].0.display().to_string()).unwrap();
    std::os::unix::fs::symlink(&files[1].0, at("data/test/t.MYD")).unwrap();
    let list = format!("../log/bin.000001\n../log/bin.000002\n{}\n", at("parts/bin.000001").display());
    fs::write(at("log/bin.index"), list).unwrap();
    let program = at("mariadbd");
    std::os::unix::fs::symlink("/bin/sleep", &program).unwrap();
    let list = File::options().append(true).open(at("log/bin.index")).unwrap();
    let mut child = started(Command::new(&program).current_dir(at("data")).stdin(list));
    let found = files.clone().map(|(file, _)| Servers::now().above(&file));
    child.kill().unwrap();
    child.wait().unwrap();
    let server = format!("mariadbd (process {})", child.id());
    assert_eq!(found, files.clone().map(|(_, is_its)| is_its.then(|| server.clone())));
    assert_eq!(files.map(|(file, _)| Servers::now().above(&file)), [const { None }; 7], "it has ended");
}
