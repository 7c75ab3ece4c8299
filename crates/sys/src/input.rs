//! Files that a user has named to be read as a whole: what they are called may be a named pipe.

use std::fs::{File, OpenOptions};
use std::io::{self, Cursor, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

/// How long a named pipe may be without a program that writes to it, before it is given up.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long to wait before looking again whether a program has opened it, in nanoseconds.
const LOOK: i64 = 50_000_000;

/// Opens what is to be read from the start to the end. A named pipe is waited for as long as a program has it open to write, as any
/// program that reads waits; one that nobody opens is an error, where open(2) would wait for ever.
///
/// # Errors
/// As open(2); `TimedOut` of a named pipe to which nobody writes.
pub fn open(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    open_within(path, PATIENCE)
}

fn open_within(path: &Path, patience: Duration) -> io::Result<Box<dyn Read + Send>> {
    let nonblocking = OFlags::NONBLOCK;
    let mut file = OpenOptions::new().read(true).custom_flags(nonblocking.bits() as i32).open(path)?;
    let begun = if file.metadata()?.file_type().is_fifo() { begun(&mut file, patience)? } else { Vec::new() };
    let flags = fcntl_getfl(&file)?;
    fcntl_setfl(&file, flags & !nonblocking)?;
    Ok(Box::new(Cursor::new(begun).chain(file)))
}

/// Waits until a program has opened a named pipe to write; returns what was read meanwhile.
fn begun(pipe: &mut File, patience: Duration) -> io::Result<Vec<u8>> {
    let since = Instant::now();
    let mut first = [0];
    loop {
        // Without a writer there is nothing to read, and with one nothing yet.
        match pipe.read(&mut first) {
            Ok(1..) => return Ok(first.to_vec()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Vec::new()),
            Err(error) => return Err(error),
            Ok(0) => {}
        }
        let wait = Timespec { tv_sec: 0, tv_nsec: LOOK };
        let mut ready = [PollFd::new(pipe, PollFlags::IN)];
        let found = poll(&mut ready, Some(&wait))?;
        if found > 0 && !ready[0].revents().contains(PollFlags::IN) {
            // A program has had it open, and written nothing.
            return Ok(Vec::new());
        }
        if found == 0 && since.elapsed() >= patience {
            let seconds = patience.as_secs();
            let reason = format!("no program has opened this named pipe to write within {seconds} s");
            return Err(io::Error::new(io::ErrorKind::TimedOut, reason));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::path::PathBuf;
    use std::process::Command;

    fn pipe(directory: &Path) -> PathBuf {
        let pipe = directory.join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        pipe
    }

    fn read(path: &Path) -> io::Result<String> {
        let mut text = String::new();
        open_within(path, Duration::from_millis(100))?.read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn a_pipe_that_nobody_writes_to_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let error = read(&pipe(directory.path())).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{error}");
    }

    #[test]
    fn what_is_written_to_a_pipe_is_read_to_its_end() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = pipe(directory.path());
        for text in ["", "x", "first second"] {
            let to = pipe.clone();
            let writer = std::thread::spawn(move || {
                let mut to = OpenOptions::new().write(true).open(to).unwrap();
                for word in text.split_inclusive(' ') {
                    to.write_all(word.as_bytes()).unwrap();
                    // The reader finds a writer with nothing to read.
                    std::thread::sleep(Duration::from_millis(20));
                }
            });
            let mut found = String::new();
            open(&pipe).unwrap().read_to_string(&mut found).unwrap();
            assert_eq!(found, text);
            writer.join().unwrap();
        }
    }

    #[test]
    fn files_are_read_and_missing_ones_are_errors() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        std::fs::write(&file, "text").unwrap();
        assert_eq!(read(&file).unwrap(), "text");
        assert_eq!(read(&directory.path().join("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
