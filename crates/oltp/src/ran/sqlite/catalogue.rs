//! Which globals there are: a table in the file of the blocks. A file of a global that is not listed was never finished.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, params};

use iolite_db::Result;
use iolite_db::sqlite::{engine, open, vfs};

/// Makes the table.
pub(super) const SCHEMA: &str =
    "CREATE TABLE catalogue(global INTEGER PRIMARY KEY, subscripts INTEGER NOT NULL);";

/// Subscripts of each global, in order.
pub(super) fn sizes(blocks: &Path) -> Result<Vec<u64>> {
    let read = |connection: &Connection| {
        let mut statement = connection.prepare("SELECT subscripts FROM catalogue ORDER BY global")?;
        let sizes = statement.query_map([], |row| row.get::<_, i64>(0).map(i64::unsigned_abs))?;
        sizes.collect::<rusqlite::Result<Vec<_>>>()
    };
    read(&connect(blocks)?).map_err(|e| engine("read the catalogue of", blocks, e))
}

/// Lists a global (from 0) that is complete.
pub(super) fn add(blocks: &Path, global: u32, subscripts: u64) -> Result<()> {
    let sql = "INSERT INTO catalogue VALUES (?1, ?2)";
    connect(blocks)?
        .execute(sql, params![global, subscripts as i64])
        .map(|_| ())
        .map_err(|e| engine("write the catalogue of", blocks, e))
}

/// Forgets all globals.
pub(super) fn clear(blocks: &Path) -> Result<()> {
    connect(blocks)?
        .execute("DELETE FROM catalogue", [])
        .map(|_| ())
        .map_err(|e| engine("write the catalogue of", blocks, e))
}

fn connect(blocks: &Path) -> Result<Connection> {
    open(blocks, OpenFlags::SQLITE_OPEN_READ_WRITE, vfs::CACHED)
}
