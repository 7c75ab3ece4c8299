//! A copy of the database for one run, made by the server with the database as its template.
//!
//! It is ours by its comment, and in use as long as any session is in it: a run keeps one there from before the comment is set, so that
//! no other run takes it for left behind.

use std::fmt;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use iolite_db::postgres::Target;
use iolite_db::{Error, Result};
use postgres::Client;
use postgres::error::SqlState;

/// The copy's comment.
const MARK: &str = "created by iolite: copy of a TPROC-C database for a run";
/// What the copy's name ends with.
const SUFFIX: &str = "_iolite_copy";
/// Bytes of a name (NAMEDATALEN - 1).
const MAX_NAME: usize = 63;
/// Hexadecimal digits of the hash in the names of copies whose original has a long one.
const HASH: usize = 16;
/// Has the server end what it does for a client that was killed (PostgreSQL 14 and later): it would copy to the end otherwise, and leave
/// a copy without a mark.
const END_WITH_CLIENT: &str = "SELECT pg_catalog.set_config(name, '500ms', false) FROM pg_catalog.pg_settings \
     WHERE name = 'client_connection_check_interval'";
/// Time between two looks at whether the copying is to end.
const TICK: Duration = Duration::from_millis(20);

/// The session of a run in its copy.
#[derive(Default)]
pub(super) struct Keeper(Mutex<Option<Client>>);

impl Keeper {
    fn set(&self, session: Option<Client>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = session;
    }
}

impl fmt::Debug for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keeper")
    }
}

/// The name of the copy of a database: another one for each database of a server.
fn name(database: &str) -> String {
    if database.len() <= MAX_NAME - SUFFIX.len() {
        return format!("{database}{SUFFIX}");
    }
    let mut end = MAX_NAME - SUFFIX.len() - HASH - 1;
    while !database.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}_{:0HASH$x}{SUFFIX}", &database[..end], fnv(database))
}

/// FNV-1a of 64 bits: the same in each version of this program.
fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn drop_statement(name: &str) -> String {
    format!("DROP DATABASE {}", quoted(name))
}

/// How the copy of a database is removed by hand.
pub(super) fn removal(original: &Target) -> String {
    format!("{}; in psql, connected to another database", drop_statement(&name(original.database())))
}

/// Copies a database, of which no other session may be open; the copy of an earlier run is replaced. The keeper is in the copy from
/// then on. Ends early where `stop` says so.
///
/// # Errors
/// As [`remove`]; [`Error::Cancelled`]; [`Error::Engine`]: among others without the privilege CREATEDB, or where other sessions are open.
pub(super) fn create(original: &Target, keeper: &Keeper, stop: &(dyn Fn() -> bool + Sync)) -> Result<Target> {
    let mut client = original.connect()?;
    let name = name(original.database());
    remove_by(&mut client, original, &name)?;
    // Not on every system a server can watch for its client: then it copies to the end.
    let _ = client.batch_execute(END_WITH_CLIENT);
    let sql = format!("CREATE DATABASE {} TEMPLATE {}", quoted(&name), quoted(original.database()));
    if let Err(error) = execute(&mut client, original, &sql, stop) {
        // The server has undone it.
        let failed = original.failed("copy (CREATE DATABASE ... TEMPLATE)", error);
        return Err(if stop() { Error::Cancelled } else { failed });
    }
    let copy = original.with_database(&name);
    match mark(&copy, &name, keeper) {
        Ok(()) if !stop() => Ok(copy),
        marked => {
            keeper.set(None);
            // By another session: a request to cancel may still arrive at this one.
            let removed = original.connect().and_then(|mut client| drop_by(&mut client, original, &name));
            marked.and(removed).and(Err(Error::Cancelled))
        }
    }
}

/// Enters a copy, and marks it as ours.
fn mark(copy: &Target, name: &str, keeper: &Keeper) -> Result<()> {
    let mut session = copy.connect()?;
    session
        .batch_execute(&format!("COMMENT ON DATABASE {} IS '{MARK}'", quoted(name)))
        .map_err(|e| copy.failed("mark", e))?;
    keeper.set(Some(session));
    Ok(())
}

/// Executes a statement, which is cancelled when `stop` says so.
fn execute(
    client: &mut Client,
    target: &Target,
    sql: &str,
    stop: &(dyn Fn() -> bool + Sync),
) -> std::result::Result<(), postgres::Error> {
    let token = client.cancel_token();
    let (done, is_done) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            while is_done.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                if stop() {
                    // One that does not arrive is repeated; the statement's end is awaited in any case.
                    let _ = target.cancel(&token);
                }
            }
        });
        let executed = client.batch_execute(sql);
        drop(done);
        executed
    })
}

/// Removes the copy of a database, if there is one; the keeper leaves it.
///
/// # Errors
/// [`Error::Unmarked`] where iolite did not create it, or did not come to mark it; [`Error::Busy`] where sessions are in it;
/// [`Error::Engine`].
pub(super) fn remove(original: &Target, keeper: &Keeper) -> Result<()> {
    keeper.set(None);
    let mut client = original.connect()?;
    remove_by(&mut client, original, &name(original.database()))
}

fn remove_by(client: &mut Client, original: &Target, name: &str) -> Result<()> {
    let sql = "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = $1";
    let found = client.query_opt(sql, &[&name]).map_err(|e| original.failed("look for the copy of", e))?;
    match found.map(|row| row.get::<_, Option<String>>(0)) {
        None => Ok(()),
        Some(comment) if comment.as_deref() == Some(MARK) => drop_by(client, original, name),
        Some(_) => Err(Error::Unmarked { what: beside(original, name), remove: removal(original) }),
    }
}

/// Drops a database that nobody is in: the server refuses others, and sends its own autovacuum away.
fn drop_by(client: &mut Client, original: &Target, name: &str) -> Result<()> {
    client.batch_execute(&drop_statement(name)).map_err(|error| match error.code() {
        Some(&SqlState::OBJECT_IN_USE) => Error::Busy { what: beside(original, name) },
        _ => original.failed("remove the copy of", error),
    })
}

fn beside(original: &Target, name: &str) -> String {
    format!("the copy of {} (database {name})", original.place())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_and_are_quoted() {
        assert_eq!(name("bench"), "bench_iolite_copy");
        let long = name(&"ä".repeat(31));
        assert!(long.len() <= MAX_NAME && long.ends_with(SUFFIX), "{long}");
        assert_eq!(quoted("a\"b"), "\"a\"\"b\"");
    }

    /// Databases of a server that begin alike have copies of their own.
    #[test]
    fn no_two_databases_share_a_copy() {
        let begin = "d".repeat(MAX_NAME - 1);
        let (one, other) = (name(&format!("{begin}1")), name(&format!("{begin}2")));
        assert_ne!(one, other);
        assert!(one.len() <= MAX_NAME && other.len() <= MAX_NAME, "{one} {other}");
        assert_eq!(fnv("a"), 0xaf63_dc4c_8601_ec8c);
    }
}
