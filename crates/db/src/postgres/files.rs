//! Where the server keeps its files, as far as this host sees them: free space, and what the page cache holds of them.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use iolite_model::Bytes;
use iolite_sys::page_cache;
use postgres::Client;
use postgres::error::SqlState;

use super::connect::Target;
use super::failure;
use crate::error::{Error, Result};
use crate::instance::{Files, Unseen};
use crate::server_process;

/// The server's directories on this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directories {
    /// The server's data directory.
    directory: PathBuf,
    /// Where the database's tables are, without links.
    pub data: PathBuf,
    /// Where the write-ahead log is, without links.
    pub log: PathBuf,
}

impl Directories {
    /// The first files of tables, in their order.
    ///
    /// # Errors
    /// [`Error::Engine`].
    pub fn main_files(&self, target: &Target, client: &mut Client, tables: &[u32]) -> Result<Vec<PathBuf>> {
        let sql = "SELECT pg_relation_filepath(o) FROM unnest($1::oid[]) WITH ORDINALITY u (o, n) ORDER BY n";
        let rows = client.query(sql, &[&tables]).map_err(|e| target.failed("ask for the files of", e))?;
        let path = |row: &postgres::Row| row.get::<_, Option<String>>(0).unwrap_or_default();
        Ok(rows.iter().map(|row| self.directory.join(path(row))).collect())
    }
}

/// The directories, where the server is on this host, shows them to this role, and they can be seen.
///
/// # Errors
/// [`Error::Engine`].
pub fn seen(target: &Target, client: &mut Client) -> Result<Option<Directories>> {
    if !target.is_local() {
        return Ok(None);
    }
    Ok(look(target, client)?.ok())
}

/// The directories of a server on this host, or why they can't be seen.
fn look(target: &Target, client: &mut Client) -> Result<std::result::Result<Directories, Unseen>> {
    let sql = "SELECT current_setting('data_directory'), (SELECT pg_tablespace_location(dattablespace) FROM pg_database \
               WHERE datname = current_database()), (SELECT system_identifier FROM pg_control_system())";
    let row = match client.query_one(sql, &[]) {
        Err(error) if failure::is(&error, &SqlState::INSUFFICIENT_PRIVILEGE) => return Ok(Err(Unseen::Role)),
        row => row.map_err(|e| target.failed("ask for the directories of", e))?,
    };
    let directory = PathBuf::from(row.get::<_, String>(0));
    let found = identifier(&directory);
    if let Some(unseen) = not_the_servers(&directory, found, row.get::<_, i64>(2), target.unix_socket()) {
        return Ok(Err(unseen));
    }
    let real = |path: PathBuf| path.canonicalize().unwrap_or(path);
    let tablespace: &str = row.get(1);
    let data = if tablespace.is_empty() { directory.clone() } else { PathBuf::from(tablespace) };
    Ok(Ok(Directories { data: real(data), log: real(directory.join("pg_wal")), directory }))
}

/// The identifier of the cluster in a directory of this host.
fn identifier(directory: &Path) -> io::Result<i64> {
    let mut bytes = [0; 8];
    File::open(directory.join("global/pg_control"))?.read_exact(&mut bytes)?;
    Ok(i64::from_ne_bytes(bytes))
}

/// Why a directory of this host is not taken for that of the server: an address of this host may be a tunnel to another one, or
/// to a container with directories of its own. The cluster's identifier, as `found` there, distinguishes them; where this user
/// may not read it, a socket of this host is taken for enough.
fn not_the_servers(
    directory: &Path,
    found: io::Result<i64>,
    identifier: i64,
    unix_socket: bool,
) -> Option<Unseen> {
    match found {
        Ok(found) if found == identifier => None,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            (!unix_socket || !directory.is_dir()).then(|| Unseen::Forbidden(directory.to_owned()))
        }
        Ok(_) | Err(_) => Some(Unseen::Elsewhere(directory.to_owned())),
    }
}

/// As [`Instance::files`](crate::Instance::files).
pub(super) fn files(target: &Target) -> Result<Files> {
    let mut client = target.connect()?;
    if !target.is_local() {
        return Ok(Files::default());
    }
    Ok(match look(target, &mut client)? {
        Ok(place) => {
            let process = postmaster(target, &mut client, &place.directory)?;
            Files { here: true, data: Some(place.data), log: Some(place.log), unseen: None, process }
        }
        Err(unseen) => Files { here: true, unseen: Some(unseen), ..Files::default() },
    })
}

/// The process that all others of the server descend from: the parent of this session's.
fn postmaster(target: &Target, client: &mut Client, directory: &Path) -> Result<Option<u32>> {
    let row = client.query_one("SELECT pg_backend_pid()", &[]);
    let session: i32 = row.map_err(|e| target.failed("ask for the process of", e))?.get(0);
    let parent = server_process::parent_of(session.unsigned_abs());
    Ok(parent.and_then(|parent| server_process::working_in(parent, directory)))
}

/// Refuses what would not fit, where the space can be seen: the data, and as much log as the server keeps.
///
/// # Errors
/// [`Error::NoSpace`], [`Error::Engine`].
pub fn check_space(target: &Target, client: &mut Client, data: u64) -> Result<()> {
    let Some(place) = seen(target, client)? else { return Ok(()) };
    let sql = "SELECT setting::bigint * 1048576 FROM pg_settings WHERE name = 'max_wal_size'";
    let row = client.query_one(sql, &[]).map_err(|e| target.failed("ask the size of the log of", e))?;
    let log = data.min(row.get::<_, i64>(0).unsigned_abs());
    let Some((data_free, device)) = free(&place.data) else { return Ok(()) };
    let needed = match free(&place.log) {
        Some((_, log_device)) if log_device == device => data.saturating_add(log),
        Some((log_free, _)) if log_free < log => {
            return Err(Error::NoSpace { path: place.log, needed: Bytes(log), free: Bytes(log_free) });
        }
        _ => data,
    };
    if data_free < needed {
        return Err(Error::NoSpace { path: place.data, needed: Bytes(needed), free: Bytes(data_free) });
    }
    Ok(())
}

/// Free bytes, and which file system it is.
fn free(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let room = rustix::fs::statvfs(path).ok()?;
    Some((room.f_bavail.saturating_mul(room.f_frsize), std::fs::metadata(path).ok()?.dev()))
}

/// Writes everything committed to the data files, where this role may; returns whether it may.
///
/// # Errors
/// [`Error::Engine`].
pub fn checkpoint(target: &Target, client: &mut Client) -> Result<bool> {
    match client.batch_execute("CHECKPOINT") {
        Ok(()) => Ok(true),
        Err(error) if failure::is(&error, &SqlState::INSUFFICIENT_PRIVILEGE) => Ok(false),
        Err(error) => Err(target.failed("checkpoint", error)),
    }
}

/// Files of tables, with all that belongs to them, that this process may read.
///
/// # Errors
/// [`Error::Engine`].
pub fn files_of(target: &Target, client: &mut Client, tables: &[u32]) -> Result<Vec<PathBuf>> {
    let Some(place) = seen(target, client)? else { return Ok(Vec::new()) };
    let sql = "SELECT pg_relation_filepath(c.oid) FROM pg_class c WHERE c.oid = ANY ($1) \
               OR c.oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = ANY ($1))";
    let rows = client.query(sql, &[&tables]).map_err(|e| target.failed("ask for the files of", e))?;
    let paths = rows.iter().filter_map(|row| row.get::<_, Option<String>>(0));
    Ok(paths.map(|path| place.directory.join(path)).collect())
}

/// Gives back what the page cache holds of tables. Files that can't be opened are left: another user's. Returns
/// the number of files.
///
/// # Errors
/// [`Error::Io`].
pub fn evict(paths: &[PathBuf]) -> Result<u64> {
    let mut evicted = 0;
    for path in paths.iter().flat_map(|path| parts(path)) {
        let Ok(file) = File::open(&path) else { continue };
        let length = file.metadata().map(|meta| meta.len()).unwrap_or_default();
        page_cache::evict(&file, 0, length)
            .map_err(|e| Error::io("give back the page cache of", &path, e))?;
        evicted += 1;
    }
    Ok(evicted)
}

/// The files of a relation: its segments, its free space map and its visibility map.
fn parts(path: &Path) -> Vec<PathBuf> {
    let with = |suffix: String| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    let segments = (1..).map(|segment| with(format!(".{segment}"))).take_while(|path| path.exists());
    let maps = ["_fsm", "_vm"].map(|suffix| with(suffix.to_owned())).into_iter().filter(|path| path.exists());
    std::iter::once(path.to_owned()).chain(segments).chain(maps).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relations_files_are_its_segments_and_maps() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["12", "12.1", "12_vm", "123", "123.1", "1"] {
            std::fs::write(directory.path().join(name), "x").unwrap();
        }
        let mut found = parts(&directory.path().join("12"));
        found.sort();
        assert_eq!(found, ["12", "12.1", "12_vm"].map(|name| directory.path().join(name)));
        assert_eq!(evict(&[directory.path().join("12")]).unwrap(), 3);
    }

    #[test]
    fn a_directory_is_the_servers_by_its_identifier() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let unseen = |expected, socket| not_the_servers(path, identifier(path), expected, socket);
        assert_eq!(unseen(7, true), Some(Unseen::Elsewhere(path.to_owned())));
        std::fs::create_dir(path.join("global")).unwrap();
        std::fs::write(path.join("global/pg_control"), 7_i64.to_ne_bytes()).unwrap();
        assert_eq!(unseen(7, false), None);
        assert_eq!(unseen(8, true), Some(Unseen::Elsewhere(path.to_owned())));
    }

    #[test]
    fn a_directory_that_this_user_may_not_read_is_the_servers_by_its_socket_only() {
        let directory = tempfile::tempdir().unwrap();
        let forbidden = || Err(io::ErrorKind::PermissionDenied.into());
        let path = directory.path();
        assert_eq!(not_the_servers(path, forbidden(), 7, true), None);
        assert_eq!(not_the_servers(path, forbidden(), 7, false), Some(Unseen::Forbidden(path.to_owned())));
        let nowhere = path.join("nowhere");
        assert_eq!(not_the_servers(&nowhere, forbidden(), 7, true), Some(Unseen::Forbidden(nowhere.clone())));
    }
}
