//! What all databases have in common when blocks and globals are created.

use std::ops::ControlFlow;

use iolite_db::space::check_space;
use iolite_db::{Error, Result};
use iolite_model::Bytes;

use super::contract::Adapter;

/// Most globals that a database may have.
pub(super) const MAX_GLOBALS: u32 = 9999;

/// Checks whether `count` globals of so many subscripts may be added to the `there` that exist.
///
/// # Errors
/// [`Error::Layout`].
pub(super) fn validate(there: u32, count: u32, subscripts: u64, max_subscripts: u64) -> Result<()> {
    let globals = there.saturating_add(count);
    if count == 0 || globals > MAX_GLOBALS {
        let what = format!("{globals} globals");
        return Err(Error::Layout { what, limit: u64::from(MAX_GLOBALS) + 1 });
    }
    if subscripts == 0 || subscripts > max_subscripts {
        let what = format!("{subscripts} subscripts in a global");
        return Err(Error::Layout { what, limit: max_subscripts.saturating_add(1) });
    }
    Ok(())
}

/// Checks whether the globals of a database may be replaced by `count` others of so many subscripts: to be asked before the old
/// ones are removed. The space is checked where it can be seen.
///
/// # Errors
/// [`Error::Layout`], [`Error::NoSpace`], and those of [`Instance::files`](iolite_db::Instance::files).
pub fn check_replacing(database: &dyn Adapter, count: u32, subscripts: u64) -> Result<()> {
    validate(0, count, subscripts, database.max_subscripts())?;
    // What can't be read, for example because a global is missing, frees nothing.
    let freed: u64 =
        database.sizes().unwrap_or_default().iter().map(|&size| database.global_size(size).0).sum();
    let needed = database.global_size(subscripts).0.saturating_mul(count.into()).saturating_sub(freed);
    match database.instance().files()?.data {
        Some(data) => check_space(&data, Bytes(needed)),
        None => Ok(()),
    }
}

/// Turns the answer of a progress callback into a result.
///
/// # Errors
/// [`Error::Cancelled`] when the caller wants to stop.
pub(super) fn proceed(flow: ControlFlow<()>) -> Result<()> {
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
