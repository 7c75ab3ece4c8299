//! The full-screen view in a terminal (a pseudo-terminal of script(1), util-linux).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod common;

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use common::{IOLITE, Loop, TestDirectory, skip};

const ENTERED: &str = "\u{1b}[?1049h";
const LEFT: &str = "\u{1b}[?1049l";

/// A terminal of 110 columns and 32 rows with a run in it.
struct Terminal {
    child: Child,
    output: Receiver<Vec<u8>>,
    seen: String,
}

impl Terminal {
    /// Starts a run of writes for this time; `None`, with the reason printed, without script(1).
    fn start(place: &TestDirectory, runtime: &str) -> Option<Terminal> {
        let job = place.root.path().join("job.toml");
        let text = format!(
            "[[tasks]]\n[tasks.io]\nname = 'writes'\nmix = 'write'\nbackend = 'sync'\nstop.runtime = '{runtime}'\n\
             target.file = {{ name = 'data', size = '1MiB', create = true }}\ninterval = '100ms'\n"
        );
        std::fs::write(&job, text).unwrap();
        Terminal::with(&format!(
            "run {} --live --directory {} --results {}",
            job.display(),
            place.data().display(),
            place.results().display()
        ))
    }

    /// Starts the program with these arguments, as a shell reads them.
    fn with(arguments: &str) -> Option<Terminal> {
        if Command::new("script").arg("--version").stdout(Stdio::null()).status().is_err() {
            eprintln!("skipped: script(1) is not installed (Debian: bsdutils)");
            return None;
        }
        let command = format!("stty rows 32 cols 110; exec {IOLITE} {arguments}");
        let mut child = Command::new("script")
            .args(["--quiet", "--return", "--flush", "--command", &command, "/dev/null"])
            .env("TERM", "xterm-256color")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, output) = channel();
        let mut out = child.stdout.take().unwrap();
        std::thread::spawn(move || {
            let mut bytes = [0; 65536];
            while let Ok(read @ 1..) = out.read(&mut bytes) {
                if sender.send(bytes[..read].to_vec()).is_err() {
                    return;
                }
            }
        });
        Some(Terminal { child, output, seen: String::new() })
    }

    /// Waits until a text has been drawn after what was waited for before.
    fn wait_for(&mut self, text: &str) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !self.seen.contains(text) && !words(&self.seen).contains(text) {
            assert!(Instant::now() < deadline, "{text:?} is not shown: {:?}", words(&self.seen));
            if let Ok(bytes) = self.output.recv_timeout(Duration::from_millis(200)) {
                self.seen += &String::from_utf8_lossy(&bytes);
            }
        }
        // What came with it stays, for what follows it at once.
        if let Some(at) = self.seen.find(text) {
            self.seen.drain(..at + text.len());
        } else {
            self.seen.clear();
        }
    }

    /// Waits for the end of the program; returns its exit code, and all that was drawn.
    fn end(&mut self) -> (Option<i32>, String) {
        let code = self.child.wait().unwrap().code();
        while let Ok(bytes) = self.output.recv_timeout(Duration::from_secs(60)) {
            self.seen += &String::from_utf8_lossy(&bytes);
        }
        (code, std::mem::take(&mut self.seen))
    }

    fn press(&mut self, keys: &str) {
        let input = self.child.stdin.as_mut().unwrap();
        input.write_all(keys.as_bytes()).unwrap();
        input.flush().unwrap();
    }
}

/// What was drawn without control sequences: only words that have changed are drawn, each after a move of the cursor.
fn words(drawn: &str) -> String {
    let mut out = String::new();
    for part in drawn.split('\u{1b}') {
        let end = part.find(|c: char| c.is_ascii_alphabetic()).filter(|_| part.starts_with('['));
        let (text, is_move) =
            end.map_or((part, false), |end| (&part[end + 1..], part.as_bytes()[end] == b'H'));
        if is_move {
            out.push(' ');
        }
        out += text;
    }
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_screen_is_left_and_the_run_kept() {
    let place = TestDirectory::new();
    let Some(mut terminal) = Terminal::start(&place, "6s") else { return };
    terminal.wait_for(ENTERED);
    terminal.wait_for("operations per second");
    terminal.press("?");
    terminal.wait_for("show or hide these keys");
    terminal.press("x");
    terminal.press("q");
    terminal.wait_for("keep the run going");
    terminal.press("k");
    terminal.wait_for(LEFT);
    // What is printed at the end of every run.
    terminal.wait_for("during the run");
    assert!(terminal.child.wait().unwrap().success());
    assert_eq!(place.ask::<String>("SELECT ending FROM run"), "completed");
}

#[test]
fn the_run_is_ended_from_the_screen() {
    let place = TestDirectory::new();
    let Some(mut terminal) = Terminal::start(&place, "120s") else { return };
    terminal.wait_for("operations per second");
    terminal.press("q");
    terminal.wait_for("end the run");
    terminal.press("e");
    terminal.wait_for(LEFT);
    terminal.wait_for("INTERRUPTED");
    terminal.child.wait().unwrap();
    assert_eq!(place.ask::<String>("SELECT ending FROM run"), "interrupted");
}

#[test]
fn a_terminal_that_is_closed_ends_the_run() {
    let place = TestDirectory::new();
    let Some(mut terminal) = Terminal::start(&place, "120s") else { return };
    terminal.wait_for("operations per second");
    drop(terminal);
    let deadline = Instant::now() + Duration::from_secs(30);
    while place.ask::<Option<String>>("SELECT max(ending) FROM run").as_deref() != Some("interrupted") {
        assert!(Instant::now() < deadline, "the run goes on without its terminal");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn escape_sequences_of_job_names_do_not_reach_the_terminal() {
    let place = TestDirectory::new();
    let job = place.root.path().join("job.fio");
    std::fs::write(&job, "[\u{9b}5mname]\nioengine=null\nsize=1m\nrw=read\n").unwrap();
    let command = format!("fio --eta=never {}", job.display());
    let Some(mut terminal) = Terminal::with(&command) else { return };
    let (code, drawn) = terminal.end();
    assert_eq!(code, Some(0), "{drawn}");
    assert!(drawn.contains("5mname: (groupid=0") && !drawn.contains('\u{9b}'), "{drawn:?}");
    // Programs get the name as it is.
    let output = Command::new(IOLITE).arg("fio").arg(&job).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("\u{9b}5mname: (groupid=0"));
}

#[test]
fn the_fio_command_asks_before_it_overwrites_a_file_system_and_names_what_it_is() {
    let place = TestDirectory::new();
    let Some(device) = Loop::new(&place, 32 << 20) else { return };
    let image = place.root.path().join("loop");
    let formatted = Command::new("mkfs.ext4").args(["-q", "-F", &device.0]).status();
    if !formatted.is_ok_and(|status| status.success()) {
        return skip("no mkfs.ext4").unwrap_or(());
    }
    let before = std::fs::read(&image).unwrap();
    let name = &device.0;
    let command = format!("fio --eta=never --name=x --rw=write --bs=64k --size=1m --filename={name}");
    let question =
        format!("{name} contains an ext file system, which will be lost. Type {name} to overwrite it:");
    for answer in ["", "yes", "/dev/null"] {
        let Some(mut terminal) = Terminal::with(&command) else { return };
        terminal.wait_for(&question);
        terminal.press(&format!("{answer}\r"));
        let (code, drawn) = terminal.end();
        assert_eq!(code, Some(1), "{drawn}");
        assert!(drawn.contains("was not overwritten"), "{drawn}");
        assert!(before == std::fs::read(&image).unwrap(), "{answer:?}");
    }
    let Some(mut terminal) = Terminal::with(&command) else { return };
    terminal.wait_for(&question);
    terminal.press(&format!("{name}\r"));
    let (code, drawn) = terminal.end();
    assert_eq!(code, Some(0), "{drawn}");
    assert!(before != std::fs::read(&image).unwrap());
}

#[test]
fn the_fio_command_names_what_it_overwrites_without_a_question_where_it_was_allowed() {
    let place = TestDirectory::new();
    let Some(device) = Loop::new(&place, 32 << 20) else { return };
    let name = &device.0;
    for (arguments, noted) in [
        (&["--allow-overwrite"][..], true),
        (&[], true),
        (&["--output-format=json"], false),
        (&["--output-format=terse"], false),
    ] {
        let formatted = Command::new("mkfs.ext4").args(["-q", "-F", name]).status();
        if !formatted.is_ok_and(|status| status.success()) {
            return skip("no mkfs.ext4").unwrap_or(());
        }
        let mut command = Command::new(IOLITE);
        command.args(["fio", "--name=x", "--rw=write", "--bs=64k", "--size=1m"]).args(arguments);
        command.arg(format!("--filename={name}")).stdin(Stdio::null());
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", common::stderr(&output));
        let text = String::from_utf8_lossy(&output.stdout);
        let note = format!("overwriting {name}: an ext file system");
        assert_eq!(text.contains(&note), noted, "{arguments:?}: {text}");
        assert!(common::stderr(&output).is_empty(), "{}", common::stderr(&output));
    }
}

#[test]
fn without_a_terminal_it_is_refused() {
    let place = TestDirectory::new();
    let mut command = place.check(&place.data(), &["--live"]);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(common::stderr(&output).contains("--live needs a terminal"), "{}", common::stderr(&output));
}
