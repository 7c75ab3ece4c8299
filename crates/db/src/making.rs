//! What adapters have in common when they make blocks and globals.

use std::ops::ControlFlow;
use std::path::Path;

use iolite_model::Bytes;

use crate::adapter::{Database, Error, Result};

/// Most globals that a database may have.
pub(crate) const MOST_GLOBALS: u32 = 9999;

/// Whether `count` globals of so many subscripts may be added to the `there` that there are.
///
/// # Errors
/// [`Error::Layout`].
pub(crate) fn validate(there: u32, count: u32, subscripts: u64, most_subscripts: u64) -> Result<()> {
    let globals = there.saturating_add(count);
    if count == 0 || globals > MOST_GLOBALS {
        let what = format!("{globals} globals");
        return Err(Error::Layout { what, limit: u64::from(MOST_GLOBALS) + 1 });
    }
    if subscripts == 0 || subscripts > most_subscripts {
        let what = format!("{subscripts} subscripts in a global");
        return Err(Error::Layout { what, limit: most_subscripts.saturating_add(1) });
    }
    Ok(())
}

/// Bytes that a file system has free for this user.
///
/// # Errors
/// [`Error::Io`].
pub(crate) fn free_space(directory: &Path) -> Result<Bytes> {
    let stat = rustix::fs::statvfs(directory).map_err(|errno| Error::Io {
        doing: "look at",
        path: directory.into(),
        source: errno.into(),
        remedy: "make that directory first, or choose another",
    })?;
    Ok(Bytes(stat.f_bavail.saturating_mul(stat.f_frsize)))
}

/// Whether the globals of a database may be replaced by `count` others of so many subscripts: to be asked before the old ones
/// are removed. The space is looked at where it can be seen.
///
/// # Errors
/// [`Error::Layout`], [`Error::NoSpace`], and those of [`Database::files`].
pub fn check_replacing(database: &dyn Database, count: u32, subscripts: u64) -> Result<()> {
    validate(0, count, subscripts, database.most_subscripts())?;
    // What can't be told, for example because a global is missing, frees nothing.
    let freed: u64 =
        database.sizes().unwrap_or_default().iter().map(|&size| database.global_size(size).0).sum();
    let needed = database.global_size(subscripts).0.saturating_mul(count.into()).saturating_sub(freed);
    match database.files()?.data {
        Some(data) => check_space(&data, Bytes(needed)),
        None => Ok(()),
    }
}

/// # Errors
/// [`Error::NoSpace`] where less than that is free.
pub(crate) fn check_space(directory: &Path, needed: Bytes) -> Result<()> {
    let free = free_space(directory)?;
    if needed > free { Err(Error::NoSpace { path: directory.into(), needed, free }) } else { Ok(()) }
}

/// What whoever is told of the progress wants.
///
/// # Errors
/// [`Error::Cancelled`] when that is enough.
pub(crate) fn told(flow: ControlFlow<()>) -> Result<()> {
    match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Error::Cancelled),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_layouts_are_refused() {
        for (there, count, subscripts) in [(0, 0, 1), (0, 1, 0), (0, 10_000, 1), (9999, 1, 1), (0, 1, 101)] {
            let refused = validate(there, count, subscripts, 100);
            assert!(matches!(refused, Err(Error::Layout { .. })), "{there} {count} {subscripts}");
        }
        assert!(validate(9998, 1, 100, 100).is_ok());
    }
}
