//! Witnesses that are full, in memory, busy or spoken to by others, and runs that acknowledge nothing.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use iolite_model::ErrorCause;

use crate::common::{IOLITE, Loop, Mount, TestDirectory, skip, stderr};
use crate::{Running, durability, stdout, until_acknowledged};

/// Names in a directory.
fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_run_that_acknowledges_nothing_leaves_nothing_and_says_so() {
    let place = TestDirectory::new();
    let notes = place.root.path().join("notes");
    let run = |arguments: &[&str], why: &str, next: &str| {
        let shared = ["--witness", text(&notes), "--same-file-system", "--keep-free", "0B"];
        let output =
            durability(place.root.path(), &[&["run"], arguments, &shared].concat()).output().unwrap();
        let said = stdout(&output) + &stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(why) && said.contains(next), "{said}");
        assert!(!said.contains("to check: iolite"), "{said}");
        assert!(!notes.exists(), "{said}");
    };
    // All methods are over before their first write.
    let data = place.data();
    for method in ["append", "overwrite", "dsync", "rename"] {
        let arguments = [text(&data), "--method", method, "--duration", "1ns"];
        run(&arguments, "no write was acknowledged", "and its notes, were removed");
        assert_eq!(names(&data), [""; 0], "{method}");
    }
    let db = format!("sqlite:{}", data.display());
    run(&["--db", &db, "--duration", "1ns"], "no write was acknowledged", "and its notes, were removed");
    assert_eq!(names(&data), [""; 0]);
    // No file of the third worker; none of SQLite's log. One for the mount, one for the directory of the run.
    for (inodes, is_database) in [(4, false), (2, true)] {
        let at = place.root.path().join(format!("full{inodes}"));
        let options = format!("size=8m,nr_inodes={inodes}");
        let Some(_mount) = Mount::new(&["-t", "tmpfs", "-o", &options, "tmpfs"], &at) else { return };
        let db = format!("sqlite:{}", at.display());
        let tested = if is_database { &["--db", &db][..] } else { &[text(&at), "--max-write", "64KiB"] };
        run(tested, text(&at), "nothing was written, so there is nothing to check");
        assert_eq!(names(&at), [""; 0]);
    }
}

#[test]
fn a_limit_of_less_than_one_write_is_refused_and_layout_counts() {
    let place = TestDirectory::new();
    let (data, notes) = (place.data(), place.root.path().join("notes"));
    let run = |method: &str, max: &str| {
        let shared =
            ["--witness", text(&notes), "--same-file-system", "--keep-free", "0B", "--method", method];
        let arguments = [&["run", text(&data), "--max-write", max], &shared[..]].concat();
        durability(place.root.path(), &arguments).output().unwrap()
    };
    for (method, max, needed) in [("append", "15KiB", "16 KiB"), ("overwrite", "31KiB", "32 KiB")] {
        let output = run(method, max);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(&format!("allow {needed} or more")), "{}", stderr(&output));
        assert!(names(&data).is_empty() && !notes.exists());
    }
    let output = run("overwrite", "64KiB");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    // Half of them are the blocks that are written over: 2 of each of 4 workers.
    assert!(stdout(&output).contains("acknowledged  8 in"), "{}", stdout(&output));
    let own = data.join(&names(&data)[0]);
    let sizes = names(&own).iter().map(|name| own.join(name).metadata().unwrap().len()).sum::<u64>();
    assert_eq!(sizes, 32 << 10);
    let checked = durability(place.root.path(), &["check", text(&notes), "--remove"]).output().unwrap();
    assert_eq!(checked.status.code(), Some(0), "{}", stderr(&checked));
    assert!(names(&data).is_empty());
}

#[test]
fn a_witness_whose_disk_is_full_ends_the_run_and_its_notes_can_be_checked() {
    let place = TestDirectory::new();
    let small = place.root.path().join("small");
    let Some(_mount) = Mount::new(&["-t", "tmpfs", "-o", "size=8k", "tmpfs"], &small) else { return };
    let (data, notes) = (place.data(), small.join("notes"));
    let arguments =
        ["run", text(&data), "--witness", text(&notes), "--same-file-system", "--keep-free", "0B"];
    let output = durability(place.root.path(), &arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    // Tables are folded at the width of the terminal.
    let said = (stdout(&output) + &stderr(&output)).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains(ErrorCause::Full.remedy()) && said.contains("to check"), "{said}");
    let noted = std::fs::read(&notes).unwrap();
    assert_eq!(noted.last(), Some(&b'\n'), "no half note is left");
    let acknowledged = String::from_utf8(noted).unwrap().matches("\nack ").count();
    let checked = durability(place.root.path(), &["check", text(&notes)]).output().unwrap();
    assert_eq!(checked.status.code(), Some(0), "{}", stderr(&checked));
    assert!(stdout(&checked).contains(&format!("none of {acknowledged} ")), "{}", stdout(&checked));
}

/// A file system in memory, and a subvolume, whose number is another one than that of the file system it is part of.
#[test]
fn a_witness_that_is_lost_with_the_storage_under_test_is_refused() {
    let place = TestDirectory::new();
    let run = |data: &Path, notes: &Path, why: &str| {
        let arguments =
            ["run", text(data), "--witness", text(notes), "--keep-free", "0B", "--max-write", "64KiB"];
        let output = durability(place.root.path(), &arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(why), "{}", stderr(&output));
        assert!(!notes.exists(), "{}", stderr(&output));
    };
    let memory = place.root.path().join("memory");
    let Some(_memory) = Mount::new(&["-t", "tmpfs", "tmpfs"], &memory) else { return };
    run(&place.data(), &memory.join("notes"), "in memory (tmpfs)");
    let overlay = place.root.path().join("overlay");
    ["lower", "upper", "work"].iter().for_each(|name| std::fs::create_dir_all(overlay.join(name)).unwrap());
    for (prefix, why) in
        [(format!("{}/", overlay.display()), "on the same file system"), (String::new(), "is not known")]
    {
        let options = format!("lowerdir={prefix}lower,upperdir={prefix}upper,workdir={prefix}work");
        let merged = overlay.join("merged");
        let mut mount = Command::new("mount");
        mount.args(["-t", "overlay", "-o", &options, "overlay"]).current_dir(&overlay);
        let Some(_overlay) = Mount::by(mount, &merged) else { return };
        run(&merged, &place.root.path().join("notes"), why);
        run(&place.data(), &merged.join("notes"), why);
    }
    let Some(device) = Loop::new(&place, 256 << 20) else { return };
    let at = place.root.path().join("btrfs");
    match Command::new("mkfs.btrfs").arg("-q").arg(&device.0).output() {
        Ok(output) if output.status.success() => {}
        other => return skip(&format!("mkfs.btrfs: {other:?}")).unwrap_or_default(),
    }
    let Some(_mount) = Mount::new(&[&device.0], &at) else { return };
    let (one, two) = (at.join("one"), at.join("two"));
    for subvolume in [&one, &two] {
        let made = Command::new("btrfs").args(["subvolume", "create"]).arg(subvolume).output().unwrap();
        assert!(made.status.success(), "{}", stderr(&made));
    }
    run(&one, &two.join("notes"), "on the same file system");
}

/// A witness that listens, with its address and token.
struct Listening {
    child: Running,
    address: String,
    token: String,
    notes: PathBuf,
}

impl Listening {
    fn begin(place: &TestDirectory) -> Listening {
        Listening::begin_at("127.0.0.1:0", place, Command::new(IOLITE))
    }

    /// By a command that runs the program with further arguments.
    fn begin_at(address: &str, place: &TestDirectory, mut command: Command) -> Listening {
        let notes = place.root.path().join("notes");
        command.args(["durability", "witness", "--listen", address, "--output", text(&notes)]);
        command.env("XDG_DATA_HOME", place.root.path()).stdin(Stdio::null());
        let mut child = Running(command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
        let mut lines = BufReader::new(child.0.stdout.take().unwrap()).lines();
        let line = lines.find_map(|line| line.ok().filter(|line| line.contains("tcp://"))).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        let after = |word: &str| words[words.iter().position(|other| *other == word).unwrap() + 1].to_owned();
        Listening { address: after("--witness"), token: after("--token"), child, notes }
    }

    fn run(&self, place: &TestDirectory, more: &[&str]) -> Command {
        let data = place.data();
        let shared = ["--witness", &self.address, "--token", &self.token, "--keep-free", "0B"];
        durability(place.root.path(), &[&["run", text(&data)], &shared[..], more].concat())
    }
}

#[test]
fn strangers_keep_no_witness_from_its_run_nor_a_second_run() {
    let place = TestDirectory::new();
    let mut witness = Listening::begin(&place);
    let connect = || TcpStream::connect(witness.address.strip_prefix("tcp://").unwrap()).unwrap();
    // One that says nothing, one that begins to, one that says what no run says, and one that has gone.
    let _silent = connect();
    let mut slow = connect();
    slow.write_all(b"iolite").unwrap();
    let mut loud = connect();
    loud.write_all(&[b'x'; 600]).unwrap();
    drop(connect());
    let mut child = Running(witness.run(&place, &["--duration", "600s", "--quiet"]).spawn().unwrap());
    until_acknowledged(&witness.notes, &mut child);
    let second = witness.run(&place, &["--duration", "1s"]).output().unwrap();
    assert_eq!(second.status.code(), Some(1), "{}", stderr(&second));
    assert!(stderr(&second).contains("records another run"), "{}", stderr(&second));
    drop(child);
    assert!(witness.child.0.wait().unwrap().success());
    let checked = durability(place.root.path(), &["check", text(&witness.notes)]).output().unwrap();
    assert_eq!(checked.status.code(), Some(0), "{}{}", stdout(&checked), stderr(&checked));
}

/// A witness that goes away in mid-run and is started again records a new run, to a file of its own.
#[test]
fn a_witness_that_comes_back_records_a_new_run_and_the_old_notes_stay() {
    let place = TestDirectory::new();
    let mut witness = Listening::begin(&place);
    let mut command = witness.run(&place, &["--duration", "600s"]);
    let mut child = Running(command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap());
    until_acknowledged(&witness.notes, &mut child);
    witness.child.0.kill().unwrap();
    witness.child.0.wait().unwrap();
    let mut said = String::new();
    child.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(child.0.wait().unwrap().code(), Some(1), "{said}");
    assert!(said.contains("to check"), "{said}");
    let old = std::fs::read(&witness.notes).unwrap();
    let refused = durability(
        place.root.path(),
        &["witness", "--listen", "127.0.0.1:0", "--output", text(&witness.notes)],
    );
    let refused = { refused }.output().unwrap();
    assert!(
        !refused.status.success() && stderr(&refused).contains("choose another name"),
        "{}",
        stderr(&refused)
    );
    assert_eq!(std::fs::read(&witness.notes).unwrap(), old);
    let checked = durability(place.root.path(), &["check", text(&witness.notes)]).output().unwrap();
    assert_eq!(checked.status.code(), Some(0), "{}{}", stdout(&checked), stderr(&checked));
    std::fs::rename(&witness.notes, place.root.path().join("old")).unwrap();
    let mut again = Listening::begin(&place);
    let run = again.run(&place, &["--max-write", "1MiB"]).output().unwrap();
    assert_eq!(run.status.code(), Some(0), "{}", stderr(&run));
    assert!(again.child.0.wait().unwrap().success());
}

/// Another host: a network namespace with a link to this one, gone in the end.
struct Host {
    name: String,
    link: String,
}

impl Host {
    /// Addresses for tests of networks (RFC 2544).
    const HERE: &str = "198.18.77.1/30";
    const THERE: &str = "198.18.77.2/30";

    fn new() -> Option<Host> {
        let process = std::process::id();
        let host = Host { name: format!("iolite-{process}"), link: format!("iolite{process}") };
        let Host { name, link } = &host;
        let peer = format!("{link}p");
        for arguments in [
            &["netns", "add", name][..],
            &["link", "add", link, "type", "veth", "peer", "name", &peer, "netns", name],
            &["address", "add", Host::HERE, "dev", link],
            &["link", "set", link, "up"],
            &["-n", name, "address", "add", Host::THERE, "dev", &peer],
            &["-n", name, "link", "set", &peer, "up"],
        ] {
            match Command::new("ip").args(arguments).output() {
                Ok(output) if output.status.success() => {}
                other => return skip(&format!("ip {}: {other:?}", arguments.join(" "))),
            }
        }
        Some(host)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        for arguments in [["link", "delete", &self.link], ["netns", "delete", &self.name]] {
            let _ = Command::new("ip").args(arguments).output();
        }
    }
}

/// Nothing is refused, and nothing arrives: only the time that passes shows it.
#[test]
fn a_link_to_the_witness_that_goes_down_ends_the_run_and_its_notes_can_be_checked() {
    let Some(host) = Host::new() else { return };
    let place = TestDirectory::new();
    let mut there = Command::new("ip");
    there.args(["netns", "exec", &host.name, IOLITE]);
    let witness = Listening::begin_at("198.18.77.2:0", &place, there);
    let mut command = witness.run(&place, &["--duration", "600s"]);
    let mut child = Running(command.stderr(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap());
    until_acknowledged(&witness.notes, &mut child);
    let down = Command::new("ip").args(["link", "set", &host.link, "down"]).status().unwrap();
    assert!(down.success());
    let mut said = String::new();
    child.0.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(child.0.wait().unwrap().code(), Some(1), "{said}");
    // Tables are folded at the width of the terminal.
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("timed out (os error 110); it cannot record further writes"), "{said}");
    let checked = durability(place.root.path(), &["check", text(&witness.notes)]).output().unwrap();
    assert_eq!(checked.status.code(), Some(0), "{}{}", stdout(&checked), stderr(&checked));
}

#[test]
fn what_is_no_witness_is_named_and_gets_no_memory() {
    let place = TestDirectory::new();
    let data = place.data();
    for said in
        ["HTTP/1.1 400 Bad Request\r\n\r\n".to_owned(), "x".repeat(1 << 20), "\n".to_owned(), String::new()]
    {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("tcp://{}", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            let _ = client.read(&mut [0; 512]);
            // It may have hung up.
            let _ = client.write_all(said.as_bytes());
        });
        let arguments = ["run", text(&data), "--witness", &address, "--token", "x", "--keep-free", "0B"];
        let output = durability(place.root.path(), &arguments).output().unwrap();
        server.join().unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("something else than") || said.contains("closed the connection"), "{said}");
        assert!(!said.contains("accept the token"), "{said}");
        assert!(names(&data).is_empty());
    }
}

/// Nobody could show such a token, or everybody.
#[test]
fn tokens_that_no_run_can_show_are_refused_and_unused_notes_are_removed() {
    let place = TestDirectory::new();
    let notes = place.root.path().join("notes");
    for token in ["", "a b", &"x".repeat(600)] {
        let arguments = ["witness", "--listen", "127.0.0.1:0", "--output", text(&notes), "--token", token];
        let output = durability(place.root.path(), &arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains("the token must have"), "{}", stderr(&output));
        assert!(!notes.exists());
    }
    let mut witness = Listening::begin(&place);
    let process = rustix::process::Pid::from_raw(witness.child.0.id() as i32).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    assert_eq!(witness.child.0.wait().unwrap().code(), Some(130));
    assert!(!notes.exists());
}
