//! The witness of another host: takes notes of one run over TCP.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use iolite_model::ErrorCause;

use crate::error::io as failed;
use crate::error::{Error, Result};
use crate::witness::HEADING;

/// How long a client may take to show its token.
const PATIENCE: Duration = Duration::from_secs(10);
/// Interval of checking for the end and of making notes durable.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// The longest first line that is read.
const LONGEST: u64 = 512;

/// Takes notes into the new file `path` until the run has ended, its connection breaks, or `interrupted`; the bytes noted.
///
/// # Errors
/// [`Error::Io`] when notes can't be written, [`Error::Witness`] when connections can't be taken.
pub fn serve(listener: &TcpListener, path: &Path, token: &str, interrupted: &AtomicBool) -> Result<u64> {
    let create = File::options().write(true).create_new(true).open(path);
    let mut file = create.map_err(failed("create", path))?;
    let place = || listener.local_addr().map(|address| address.to_string()).unwrap_or_default();
    let broken = |source| Error::Witness { place: place(), source, likely: ErrorCause::OtherFailure };
    let Some(client) = accept(listener, token, interrupted).map_err(broken)? else { return Ok(0) };
    note(client, &mut file, interrupted).map_err(failed("write", path))
}

/// The first client that shows the token.
fn accept(listener: &TcpListener, token: &str, interrupted: &AtomicBool) -> io::Result<Option<TcpStream>> {
    listener.set_nonblocking(true)?;
    while !interrupted.load(Ordering::Relaxed) {
        match listener.accept() {
            Ok((client, _)) => {
                // Otherwise a stranger, or one who has gone: the next may be the right one.
                if let Ok(Some(client)) = admit(client, token) {
                    return Ok(Some(client));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::sleep(LOOK_EVERY),
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

fn admit(mut client: TcpStream, token: &str) -> io::Result<Option<TcpStream>> {
    client.set_nonblocking(false)?;
    client.set_read_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new(client.try_clone()?.take(LONGEST)).read_line(&mut line)?;
    if line.trim_end() != format!("{HEADING} {token}") {
        writeln!(client, "no")?;
        return Ok(None);
    }
    writeln!(client, "{HEADING}")?;
    Ok(Some(client))
}

/// Copies what the client says until it has ended or gone.
fn note(mut client: TcpStream, file: &mut File, interrupted: &AtomicBool) -> io::Result<u64> {
    client.set_read_timeout(Some(LOOK_EVERY))?;
    let (mut noted, mut synced, mut buffer) = (0, Instant::now(), vec![0; 1 << 16]);
    while !interrupted.load(Ordering::Relaxed) {
        match client.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => {
                file.write_all(&buffer[..read])?;
                noted += read as u64;
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            // The host has crashed: that is what this is for.
            Err(_) => break,
        }
        if synced.elapsed() > LOOK_EVERY {
            file.sync_data()?;
            synced = Instant::now();
        }
    }
    file.sync_all()?;
    Ok(noted)
}
