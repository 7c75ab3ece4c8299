//! Where results are kept unless the user says otherwise.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// The user's results database: `iolite/results.db` in XDG_DATA_HOME, else in `~/.local/share`.
///
/// # Errors
/// [`Error::NoHome`] when the environment names no absolute directory.
pub fn default_path() -> Result<PathBuf, Error> {
    // A home that is not there (a system user's) is not created.
    let home = std::env::var_os("HOME").filter(|home| Path::new(home).is_dir());
    default_path_from(std::env::var_os("XDG_DATA_HOME").as_deref(), home.as_deref())
}

/// [`default_path`] for given values of XDG_DATA_HOME and HOME.
///
/// # Errors
/// [`Error::NoHome`] when neither is an absolute path.
pub fn default_path_from(data_home: Option<&OsStr>, home: Option<&OsStr>) -> Result<PathBuf, Error> {
    // The XDG Base Directory Specification: a relative path is invalid and to be ignored.
    let absolute = |value: &OsStr| Some(PathBuf::from(value)).filter(|path| path.is_absolute());
    let data = data_home.and_then(absolute).or_else(|| Some(home.and_then(absolute)?.join(".local/share")));
    Ok(data.ok_or(Error::NoHome)?.join(Path::new("iolite/results.db")))
}

/// All files of the database at a path, whether they are there or not: SQLite keeps its log (`-wal`), the log's index (`-shm`) and a
/// journal (`-journal`) beside the file itself, which a link leads to.
pub fn files_of(path: &Path) -> Vec<PathBuf> {
    let itself = path.canonicalize().or_else(|_| {
        // Not there yet: a name in its directory.
        let directory =
            path.parent().filter(|directory| *directory != Path::new("")).unwrap_or(Path::new("."));
        Ok::<_, std::io::Error>(directory.canonicalize()?.join(path.file_name().unwrap_or_default()))
    });
    let itself = itself.unwrap_or_else(|_| path.to_owned());
    let beside = ["-wal", "-shm", "-journal"].map(|end| {
        let mut name = itself.clone().into_os_string();
        name.push(end);
        PathBuf::from(name)
    });
    [itself].into_iter().chain(beside).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_database_are_beside_it_wherever_a_link_leads() {
        let directory = tempfile::tempdir().unwrap();
        let real = directory.path().canonicalize().unwrap().join("results.db");
        std::fs::write(&real, "").unwrap();
        let link = directory.path().join("link.db");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let files = files_of(&link);
        assert_eq!(files[0], real);
        assert_eq!(files[1], real.with_file_name("results.db-wal"));
        let (here, below) = (directory.path().canonicalize().unwrap(), directory.path().join("new.db"));
        assert_eq!(files_of(&below)[1], here.join("new.db-wal"));
        assert_eq!(files_of(Path::new("/nowhere/a.db"))[2], Path::new("/nowhere/a.db-shm"));
    }

    fn path(data_home: Option<&str>, home: Option<&str>) -> Option<String> {
        let path = default_path_from(data_home.map(OsStr::new), home.map(OsStr::new)).ok()?;
        Some(path.to_string_lossy().into_owned())
    }

    #[test]
    fn the_environment_decides() {
        assert_eq!(path(Some("/data"), Some("/home/u")).as_deref(), Some("/data/iolite/results.db"));
        let below_home = Some("/home/u/.local/share/iolite/results.db");
        for ignored in [None, Some(""), Some("relative")] {
            assert_eq!(path(ignored, Some("/home/u")).as_deref(), below_home);
        }
        assert_eq!(path(None, None), None);
        assert_eq!(path(Some("relative"), Some("")), None);
    }
}
