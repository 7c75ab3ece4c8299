//! Where GT.M is installed, and whether it is one that will do.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use iolite_model::ErrorCause;

use super::{ENGINE, engine};
use crate::error::{Error, Result};

/// Asynchronous I/O for Linux and $ZUT are in it (GT.M release notes, V6.3-001 and V6.3-002).
const OLDEST: Release = Release { format: 6, major: 3, minor: 2 };
/// Where distributions and installers put it: the part before the directories of the architecture or the version, and
/// what those end with.
const PLACES: [(&str, &str); 4] =
    [("/usr/lib", "fis-gtm"), ("/opt", "fis-gtm"), ("/opt", "lsb-gtm"), ("/usr/local/lib", "yottadb")];

/// An installation of GT.M, or of YottaDB, which grew out of it.
#[derive(Debug, Clone)]
pub struct Installation {
    /// Where its programs are.
    pub directory: PathBuf,
}

/// A version, in the order of releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Release {
    format: u32,
    major: u32,
    minor: u32,
}

impl Installation {
    /// The one that `$gtm_dist` names, else the newest there is.
    pub fn find() -> Result<Installation> {
        let named = std::env::var_os("gtm_dist").filter(|named| !named.is_empty()).map(PathBuf::from);
        if let Some(directory) = named {
            return if is_installation(&directory) {
                Ok(Installation { directory })
            } else {
                Err(engine(
                    "find GT.M in",
                    &directory,
                    "$gtm_dist names it, and the programs mumps and mupip are not in it".into(),
                    ErrorCause::GtmNotThere,
                ))
            };
        }
        let newest = candidates().into_iter().max_by_key(|directory| release_of(directory));
        newest.map(|directory| Installation { directory }).ok_or_else(|| {
            engine(
                "find GT.M in",
                Path::new("/usr/lib"),
                "it is not installed there, in /opt or in /usr/local/lib, and $gtm_dist is not set".into(),
                ErrorCause::GtmNotInstalled,
            )
        })
    }

    /// A program of the installation.
    pub fn program(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Name of the product.
    pub fn product(&self) -> &'static str {
        if self.directory.join("yottadb").exists() { "YottaDB" } else { ENGINE }
    }

    /// Where its own routines are: a shared library where there is one.
    pub fn routines(&self) -> PathBuf {
        ["libgtmutil.so", "libyottadbutil.so"]
            .map(|library| self.directory.join(library))
            .into_iter()
            .find(|library| library.exists())
            .unwrap_or_else(|| self.directory.clone())
    }

    /// What it calls its version, for example `V7.0-005`.
    pub fn version(&self) -> Result<String> {
        let program = self.program("mumps");
        let failed = |cause| engine("run", &program, cause, ErrorCause::GtmBroken);
        let mut command = Command::new(&program);
        self.surround(&mut command);
        let output = command
            .args(["-run", "%XCMD", "write $zversion,!"])
            .stdin(Stdio::null())
            .output()
            .map_err(|error| failed(error.into()))?;
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        match printed.split_whitespace().find(|word| Release::parse(word).is_some()) {
            Some(version) => Ok(version.to_owned()),
            None => Err(failed(format!("{printed}{}", String::from_utf8_lossy(&output.stderr)).into())),
        }
    }

    /// Refuses a version that lacks what is needed; returns it otherwise.
    pub fn check(&self) -> Result<String> {
        let version = self.version()?;
        refuse_old(&version, &self.directory)?;
        Ok(version)
    }

    /// Sets what its programs find in their environment, for a child process only. What the user's own settings for other
    /// databases say has no part in it.
    pub fn surround(&self, command: &mut Command) {
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(|name| name.starts_with("gtm") || name.starts_with("ydb")) {
                command.env_remove(name);
            }
        }
        let routines = format!(". {}", self.routines().display());
        // Bytes are bytes; paths are relative to the directory in which every child process runs.
        for (name, value) in [
            ("chset", "M"),
            ("gbldir", super::DIRECTORY),
            ("routines", &routines),
            ("tmp", "."),
            ("log", "."),
        ] {
            command.env(environment_name("gtm", name), value).env(format!("ydb_{name}"), value);
        }
        command.env("gtm_dist", &self.directory).env("ydb_dist", &self.directory);
    }
}

/// GT.M's variables of old have no underscore.
fn environment_name(prefix: &str, name: &str) -> String {
    if matches!(name, "gbldir" | "routines") { format!("{prefix}{name}") } else { format!("{prefix}_{name}") }
}

fn is_installation(directory: &Path) -> bool {
    ["mumps", "mupip"].iter().all(|program| directory.join(program).is_file())
}

/// Installations in the usual places: `PLACE/NAME/VERSION` or `PLACE/ARCHITECTURE/NAME/VERSION`.
fn candidates() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for (place, name) in PLACES {
        let place = Path::new(place);
        let mut parents = vec![place.join(name)];
        parents.extend(entries(place).into_iter().map(|entry| entry.join(name)));
        found
            .extend(parents.iter().flat_map(|parent| entries(parent)).filter(|entry| is_installation(entry)));
    }
    found
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let read = std::fs::read_dir(directory).into_iter().flatten();
    read.flatten().map(|entry| entry.path()).collect()
}

/// The version that an installation's directory is named after.
fn release_of(directory: &Path) -> Option<Release> {
    let name = directory.file_name()?.to_str()?;
    Release::parse(name.split('_').next()?)
}

fn refuse_old(version: &str, directory: &Path) -> Result<()> {
    match Release::parse(version) {
        Some(release) if release >= OLDEST => Ok(()),
        _ => Err(Error::TooOld {
            place: directory.display().to_string(),
            found: format!("{ENGINE} {version}"),
            needed: "V6.3-002",
            likely: ErrorCause::GtmTooOld,
        }),
    }
}

impl Release {
    /// Reads `V7.0-005`, perhaps with the letter of a bug fix at its end.
    fn parse(text: &str) -> Option<Release> {
        let (format, rest) = text.strip_prefix('V')?.split_once('.')?;
        let (major, minor) = rest.split_once('-')?;
        let digits = minor.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        Some(Release {
            format: format.parse().ok()?,
            major: major.parse().ok()?,
            minor: digits.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// docs/errors.md lists each call as the test of that cause.
    fn produced(cause: ErrorCause, error: &Error) {
        assert!(error.to_string().contains(cause.remedy()), "{error}");
    }

    #[test]
    fn old_versions_are_refused() {
        let directory = Path::new("/opt/fis-gtm/V");
        for good in ["V6.3-002", "V6.3-014A", "V7.0-005", "V7.1-000", "V10.0-000"] {
            assert!(refuse_old(good, directory).is_ok(), "{good}");
        }
        for old in ["V6.3-001A", "V6.2-002", "V5.4-002B", "V4.4-4", "nonsense"] {
            let error = refuse_old(old, directory).unwrap_err();
            assert!(matches!(error, Error::TooOld { .. }), "{old}");
            assert!(error.to_string().contains("V6.3-002"), "{error}");
            produced(ErrorCause::GtmTooOld, &error);
        }
    }

    #[test]
    fn directories_report_their_version() {
        let newer = release_of(Path::new("/usr/lib/x86_64-linux-gnu/fis-gtm/V7.0-005_x86_64"));
        assert!(newer > release_of(Path::new("/opt/fis-gtm/V6.3-014")));
        assert_eq!(release_of(Path::new("/usr/local/lib/yottadb/r138")), None);
    }
}
