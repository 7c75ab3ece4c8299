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

#[cfg(test)]
mod tests {
    use super::*;

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
