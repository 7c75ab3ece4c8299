//! The witness of another host: takes notes of one run over TCP.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use iolite_model::ErrorCause;

use crate::error::io as failed;
use crate::error::{Error, Result};
use crate::witness::{BUSY, HEADING, LONGEST, REFUSED, create};

/// How long a client may take to show its token.
const PATIENCE: Duration = Duration::from_secs(10);
/// Interval of checking for the end and of making notes durable.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Interval of checking for clients and what they say, until one has shown the token.
const LISTEN_EVERY: Duration = Duration::from_millis(20);
/// Clients that are listened to at once until they have shown the token.
const STRANGERS: usize = 64;
/// How long the host of a run may be silent before it is asked whether it is there (a run that writes slowly is), and how often.
const SILENCE: Duration = Duration::from_secs(30);

/// Takes notes into the new file `path` until the run has ended, its connection breaks, its host is gone, or `interrupted`; the bytes
/// noted. A file without notes is removed.
///
/// # Errors
/// [`Error::Asked`] for a token that no client can show, [`Error::Io`] when notes can't be written, [`Error::Witness`] when connections
/// can't be taken.
pub fn serve(listener: &TcpListener, path: &Path, token: &str, interrupted: &AtomicBool) -> Result<u64> {
    check_token(token)?;
    let mut file = create(path)?;
    let place = || listener.local_addr().map(|address| address.to_string()).unwrap_or_default();
    let broken = |source| Error::Witness { place: place(), source, likely: ErrorCause::OtherFailure };
    let noted = match accept(listener, token, interrupted).map_err(broken) {
        Ok(Some(client)) => note(client, listener, &mut file, interrupted).map_err(failed("write", path)),
        other => other.map(|_| 0),
    };
    if file.metadata().is_ok_and(|metadata| metadata.len() == 0) {
        // It is left where it cannot be removed.
        let _ = std::fs::remove_file(path);
    }
    noted
}

/// # Errors
/// [`Error::Asked`].
fn check_token(token: &str) -> Result<()> {
    let longest = LONGEST - HEADING.len() - 2;
    if token.is_empty() || token.len() > longest || token.contains(char::is_whitespace) {
        let what = format!(
            "the token must have 1 to {longest} bytes without spaces: leave out --token for a new one"
        );
        return Err(Error::Asked(what));
    }
    Ok(())
}

/// A client that has not shown the token yet.
struct Stranger {
    stream: TcpStream,
    said: Vec<u8>,
    since: Instant,
}

impl Stranger {
    fn new(stream: TcpStream) -> io::Result<Stranger> {
        stream.set_nonblocking(true)?;
        Ok(Stranger { stream, said: Vec::new(), since: Instant::now() })
    }

    /// What it has said, once that is a whole line; an error for who says too much, takes too long, or has gone.
    fn line(&mut self) -> io::Result<Option<String>> {
        while self.said.last() != Some(&b'\n') {
            let mut byte = [0];
            match self.stream.read(&mut byte) {
                Ok(1) if self.said.len() < LONGEST => self.said.extend(byte),
                Ok(_) => return Err(io::ErrorKind::InvalidData.into()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let late = self.since.elapsed() > PATIENCE;
                    return if late { Err(io::ErrorKind::TimedOut.into()) } else { Ok(None) };
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Some(String::from_utf8_lossy(&self.said).trim_end().to_owned()))
    }
}

/// The next client that connects, if one does just now.
fn next(listener: &TcpListener) -> io::Result<Option<TcpStream>> {
    match listener.accept() {
        Ok((client, _)) => Ok(Some(client)),
        Err(error) => match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted => {
                Ok(None)
            }
            _ => Err(error),
        },
    }
}

/// The first client that shows the token. Others do not keep it waiting, however slow they are.
fn accept(listener: &TcpListener, token: &str, interrupted: &AtomicBool) -> io::Result<Option<TcpStream>> {
    listener.set_nonblocking(true)?;
    let expected = format!("{HEADING} {token}");
    let mut strangers: Vec<Stranger> = Vec::new();
    while !interrupted.load(Ordering::Relaxed) {
        while let Some(client) = next(listener)? {
            if strangers.len() == STRANGERS {
                // The one that has kept us waiting longest.
                strangers.remove(0);
            }
            strangers.extend(Stranger::new(client));
        }
        for mut stranger in std::mem::take(&mut strangers) {
            match stranger.line() {
                Ok(Some(line)) if line == expected => {
                    // One that has gone is none: the next may be the right one.
                    if let Ok(client) = admit(stranger.stream) {
                        return Ok(Some(client));
                    }
                }
                Ok(Some(_)) => drop(writeln!(stranger.stream, "{REFUSED}")),
                Ok(None) => strangers.push(stranger),
                Err(_) => {}
            }
        }
        std::thread::sleep(LISTEN_EVERY);
    }
    Ok(None)
}

fn admit(mut client: TcpStream) -> io::Result<TcpStream> {
    client.set_nonblocking(false)?;
    client.set_read_timeout(Some(LOOK_EVERY))?;
    // A host without power says nothing any more.
    let asked = socket2::TcpKeepalive::new().with_time(SILENCE).with_interval(SILENCE / 3).with_retries(3);
    socket2::SockRef::from(&client).set_tcp_keepalive(&asked)?;
    writeln!(client, "{HEADING}")?;
    Ok(client)
}

fn turn_away(mut client: TcpStream) -> io::Result<()> {
    client.set_nonblocking(true)?;
    // What is not read when a connection is closed resets it, and the answer is lost.
    let _ = client.read(&mut [0; LONGEST]);
    writeln!(client, "{BUSY}")
}

/// Copies what the client says until it has ended or gone.
fn note(
    mut client: TcpStream,
    listener: &TcpListener,
    file: &mut File,
    interrupted: &AtomicBool,
) -> io::Result<u64> {
    let (mut noted, mut synced, mut buffer) = (0, Instant::now(), vec![0; 1 << 16]);
    while !interrupted.load(Ordering::Relaxed) {
        match client.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => {
                file.write_all(&buffer[..read])?;
                noted += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // The host has crashed: that is what this is for.
            Err(_) => break,
        }
        if synced.elapsed() > LOOK_EVERY {
            file.sync_data()?;
            synced = Instant::now();
            while let Ok(Some(other)) = next(listener) {
                // It connects again when it likes.
                let _ = turn_away(other);
            }
        }
    }
    file.sync_all()?;
    Ok(noted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Identity;
    use crate::witness::Witness;

    #[test]
    fn all_notes_are_in_the_file_when_a_run_has_noted_its_end() {
        let directory = tempfile::tempdir().unwrap();
        let (path, listener) = (directory.path().join("notes"), TcpListener::bind("127.0.0.1:0").unwrap());
        let address = listener.local_addr().unwrap().to_string();
        let there = path.clone();
        let serving =
            std::thread::spawn(move || serve(&listener, &there, "token", &AtomicBool::new(false)).unwrap());
        let witness = Witness::host(&address, "token").unwrap();
        for number in 1..=10_000 {
            witness.acknowledged(Identity { worker: 0, number }).unwrap();
        }
        witness.end().unwrap();
        let noted = std::fs::read_to_string(&path).unwrap();
        assert!(noted.ends_with("ack 0 10000\nend\n"), "{}", noted.len());
        assert_eq!(serving.join().unwrap(), noted.len() as u64);
    }

    #[test]
    fn a_witness_that_ends_before_it_has_all_notes_is_an_error() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (say, heard) = std::sync::mpsc::channel::<()>();
        let serving = std::thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            client.read_exact(&mut vec![0; HEADING.len() + 7]).unwrap();
            writeln!(client, "{HEADING}").unwrap();
            // Closed with the note unread: that resets the connection.
            heard.recv().unwrap();
        });
        let witness = Witness::host(&address, "token").unwrap();
        witness.acknowledged(Identity { worker: 0, number: 1 }).unwrap();
        say.send(()).unwrap();
        serving.join().unwrap();
        assert!(matches!(witness.end(), Err(Error::Witness { .. })));
    }
}
