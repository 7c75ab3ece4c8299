//! Who may do what at the same time: named locks of the server, which go with the session that holds them, however it ends.

use iolite_db::mysql::Rows;
use mysql::Conn;

use super::schema;
use iolite_db::mysql::Context;
use iolite_db::{Error, Result};

/// Seconds to wait: a session that has just been closed may not have ended yet.
const PATIENCE: u32 = 10;

/// Claims the making and removing of things, until `conn` is closed.
///
/// # Errors
/// [`Error::Busy`] when somebody else is at it.
pub(super) fn making(context: &Context, conn: &mut Conn) -> Result<()> {
    take(context, conn, "making", || "the database".to_owned())
}

/// Claims all globals, so that none is taken away under who writes it; [`making`] has been claimed.
///
/// # Errors
/// [`Error::Busy`] when a run writes one of them.
pub(super) fn all_globals(context: &Context, conn: &mut Conn, globals: u32) -> Result<()> {
    (1..=globals).try_for_each(|global| writing(context, conn, global))
}

/// Claims a global (from 1) for writing: two that write it in random order would wait for each other's transactions.
///
/// # Errors
/// [`Error::Busy`] when another run writes it.
pub(super) fn writing(context: &Context, conn: &mut Conn, global: u32) -> Result<()> {
    take(context, conn, &global.to_string(), || schema::global(global))
}

fn take(context: &Context, conn: &mut Conn, key: &str, what: impl Fn() -> String) -> Result<()> {
    // A lock's name has 64 characters at most, and is the whole server's. MySQL 9.6 has no MD5() and SHA1() any more.
    let sql = "SELECT GET_LOCK(CONCAT('iolite.', SHA2(CONCAT(DATABASE(), '.', ?), 224)), ?)";
    let taken: Option<Option<u8>> =
        conn.exec_row(sql, (key, PATIENCE)).map_err(|e| context.target.refusal("lock", e))?;
    match taken.flatten() {
        Some(1) => Ok(()),
        _ => Err(Error::Busy { what: format!("{} in {}", what(), context.target.place) }),
    }
}
