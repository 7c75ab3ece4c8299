//! Who may do what at the same time: advisory locks of the server, which go with the session that holds them, however it ends.

use postgres::Client;
use postgres::error::SqlState;

use iolite_db::postgres::Target;
use iolite_db::{Error, Result};

/// The first half of our locks' keys: "iolt". The second is the number of a global from 1, or [`ALL`].
const SPACE: i32 = 0x696f_6c74;
/// Stands for the database as a whole.
const ALL: i32 = 0;

/// Claims all for making or removing something, until `client` is closed.
///
/// # Errors
/// [`Error::Busy`] when somebody else is at it, or measures.
pub(super) fn making(target: &Target, client: &mut Client) -> Result<()> {
    take(target, client, "pg_advisory_lock", ALL, || format!("schema iolite in {}", target.place()))
}

/// Lets nobody make or remove anything meanwhile.
///
/// # Errors
/// [`Error::Busy`] when somebody is at it.
pub(super) fn measuring(target: &Target, client: &mut Client) -> Result<()> {
    take(target, client, "pg_advisory_lock_shared", ALL, || format!("schema iolite in {}", target.place()))
}

/// Claims a global (from 1) for writing: two that write it in random order would wait for each other's transactions.
///
/// # Errors
/// [`Error::Busy`] when another run writes it.
pub(super) fn writing(target: &Target, client: &mut Client, global: u32) -> Result<()> {
    let number = i32::try_from(global).unwrap_or(i32::MAX);
    take(target, client, "pg_advisory_lock", number, || {
        format!("RanWriteGlobal{global} in {}", target.place())
    })
}

/// Waits for as long as sessions wait for locks: one that has just been closed may not have ended yet.
fn take(
    target: &Target,
    client: &mut Client,
    function: &str,
    number: i32,
    what: impl Fn() -> String,
) -> Result<()> {
    match client.execute(&format!("SELECT pg_catalog.{function}($1, $2)"), &[&SPACE, &number]) {
        Ok(_) => Ok(()),
        Err(error) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => {
            Err(Error::Busy { what: what() })
        }
        Err(error) => Err(target.failed("lock", error)),
    }
}
