//! What we made, in a table beside it: listed before it is made, so that purge knows all of it, and marked when whole.

use iolite_db::mysql::Rows;
use iolite_model::Bytes;
use mysql::prelude::Queryable;
use mysql::{Conn, params};

use super::schema::{self, BLOCKS, CATALOGUE, MARK, READS};
use iolite_db::mysql::Context;
use iolite_db::{Error, Result};

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Blocks,
    Global,
    Procedure,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Blocks => "blocks",
            Kind::Global => "global",
            Kind::Procedure => "procedure",
        }
    }
}

/// One thing that we made, or were about to make.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// Number of the global it belongs to; 0 for what belongs to the blocks.
    pub(super) number: u32,
    /// Blocks, or subscripts; of a procedure what it has to know.
    pub(super) amount: u64,
    pub(super) complete: bool,
}

/// All entries, by number.
#[derive(Debug, Default)]
pub(super) struct Catalogue {
    pub(super) entries: Vec<Entry>,
}

impl Catalogue {
    /// Subscripts of each whole global, in order, up to the first that is not.
    pub(super) fn sizes(&self) -> Vec<u64> {
        let globals = self.entries.iter().filter(|entry| entry.kind == Kind::Global);
        let whole = globals.zip(1..).take_while(|(entry, number)| entry.complete && entry.number == *number);
        whole.map(|(entry, _)| entry.amount).collect()
    }

    /// Blocks, once they are all there.
    pub(super) fn blocks(&self) -> Option<u64> {
        let mut blocks = self.entries.iter().filter(|entry| entry.kind == Kind::Blocks && entry.complete);
        blocks.next().map(|entry| entry.amount)
    }

    /// Which of a page's rows blocks are read by: it is kept with the procedure that reads them.
    pub(super) fn row_offset(&self) -> u64 {
        self.entries.iter().find(|entry| entry.name == READS).map_or(0, |entry| entry.amount)
    }

    /// The tables of blocks and globals.
    pub(super) fn tables(&self) -> impl Iterator<Item = &str> {
        let tables = self.entries.iter().filter(|entry| entry.kind != Kind::Procedure && entry.complete);
        tables.map(|entry| entry.name.as_str())
    }

    /// Globals, and what belongs to them, from this number on.
    pub(super) fn from(&self, number: u32) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(move |entry| entry.number >= number)
    }

    fn lists(&self, found: &OwnObject, folds: bool) -> bool {
        self.entries.iter().any(|entry| found.is(entry, folds))
    }
}

/// A table or procedure that has a name of ours.
#[derive(Debug)]
struct OwnObject {
    name: String,
    procedure: bool,
    marked: bool,
}

impl OwnObject {
    fn is(&self, entry: &Entry, folds: bool) -> bool {
        let procedure = entry.kind == Kind::Procedure;
        let same = match folds || procedure {
            true => entry.name.eq_ignore_ascii_case(&self.name),
            false => entry.name == self.name,
        };
        procedure == self.procedure && same
    }
}

/// What of our names there is in the database, whoever made it.
fn found(context: &Context, conn: &mut Conn) -> mysql::Result<Vec<OwnObject>> {
    let schema = params! { "schema" => &context.target.schema };
    let tables: Vec<(String, String)> = conn.exec_rows(
        "SELECT TABLE_NAME, TABLE_COMMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA = :schema",
        &schema,
    )?;
    // Functions have names of their own.
    let procedures: Vec<(String, String)> = conn.exec_rows(
        "SELECT ROUTINE_NAME, ROUTINE_COMMENT FROM information_schema.ROUTINES \
         WHERE ROUTINE_SCHEMA = :schema AND ROUTINE_TYPE = 'PROCEDURE'",
        &schema,
    )?;
    let folds = context.facts.folds_names();
    let found = |procedure| {
        move |(name, comment): (String, String)| OwnObject { name, procedure, marked: comment == MARK }
    };
    let tables = tables.into_iter().filter(|(name, _)| schema::is_table_of_ours(name, folds));
    let procedures = procedures.into_iter().filter(|(name, _)| schema::is_procedure_of_ours(name));
    Ok(tables.map(found(false)).chain(procedures.map(found(true))).collect())
}

/// The catalogue, after a look at everything that has a name of ours; `None` when there is nothing.
///
/// # Errors
/// [`Error::Foreign`] when something of those names is not listed, or lacks our mark.
pub(super) fn survey(context: &Context, conn: &mut Conn) -> Result<Option<Catalogue>> {
    let found = found(context, conn).map_err(|e| context.target.refusal("list the tables of", e))?;
    let folds = context.facts.folds_names();
    let is_catalogue = |found: &OwnObject| !found.procedure && context.same_name(&found.name, CATALOGUE);
    let foreign = |found: &OwnObject| Error::Foreign { path: context.path(&found.name) };
    let Some(own) = found.iter().find(|found| is_catalogue(found)) else {
        return found.first().map_or(Ok(None), |found| Err(foreign(found)));
    };
    if !own.marked {
        return Err(foreign(own));
    }
    let catalogue = read(context, conn)?;
    let is_ours = |found: &OwnObject| found.marked && catalogue.lists(found, folds);
    match found.iter().find(|found| !(is_catalogue(found) || is_ours(found))) {
        Some(stranger) => Err(foreign(stranger)),
        None => Ok(Some(catalogue)),
    }
}

/// The catalogue of a database that is set up.
///
/// # Errors
/// [`Error::Missing`], [`Error::Foreign`], [`Error::Incomplete`].
pub(super) fn existing(context: &Context, conn: &mut Conn) -> Result<Catalogue> {
    let comment: Option<Option<String>> = conn
        .exec_row(
            "SELECT TABLE_COMMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?",
            (&context.target.schema, CATALOGUE),
        )
        .map_err(|e| context.target.refusal("look for our catalogue in", e))?;
    match comment.map(Option::unwrap_or_default) {
        None => return Err(Error::Missing { place: context.target.place.clone() }),
        Some(comment) if comment != MARK => {
            return Err(Error::Foreign { path: context.path(CATALOGUE) });
        }
        Some(_) => {}
    }
    let catalogue = read(context, conn)?;
    match catalogue.blocks() {
        Some(_) => Ok(catalogue),
        None => Err(Error::Incomplete { path: context.path(BLOCKS) }),
    }
}

fn read(context: &Context, conn: &mut Conn) -> Result<Catalogue> {
    let rows: Vec<(String, String, u32, u64, bool)> = conn
        .query_rows(format!(
            "SELECT name, kind, number, amount, complete FROM {CATALOGUE} ORDER BY number, name"
        ))
        .map_err(|e| context.target.refusal("read our catalogue of", e))?;
    let mut entries = Vec::new();
    for (name, kind, number, amount, complete) in rows {
        let kinds = [Kind::Blocks, Kind::Global, Kind::Procedure];
        let kind = kinds.into_iter().find(|known| known.name() == kind).ok_or_else(|| {
            context.target.damaged("read our catalogue of", format!("it lists `{name}` as a `{kind}`"))
        })?;
        entries.push(Entry { name, kind, number, amount, complete });
    }
    Ok(Catalogue { entries })
}

/// Size of the tables, by the server's statistics, which are taken when a table is filled.
pub(super) fn size(context: &Context, conn: &mut Conn, catalogue: &Catalogue) -> Result<Bytes> {
    let rows: Vec<(String, Option<u64>)> = conn
        .exec_rows(
            "SELECT TABLE_NAME, DATA_LENGTH + INDEX_LENGTH + DATA_FREE FROM information_schema.TABLES \
             WHERE TABLE_SCHEMA = ?",
            (&context.target.schema,),
        )
        .map_err(|e| context.target.refusal("ask for the sizes of the tables of", e))?;
    let is_listed = |name: &str| catalogue.tables().any(|listed| context.same_name(listed, name));
    let sizes = rows.into_iter().filter(|(name, _)| is_listed(name));
    Ok(Bytes(sizes.map(|(_, bytes)| bytes.unwrap_or(0)).sum()))
}

/// Lists something, then makes it.
pub(super) fn make(context: &Context, conn: &mut Conn, entry: &Entry, sql: &str) -> Result<()> {
    let add = format!("INSERT INTO {CATALOGUE} VALUES (?, ?, ?, ?, ?)");
    let values = (&entry.name, entry.kind.name(), entry.number, entry.amount, entry.complete);
    conn.exec_drop(add, values).map_err(|e| context.target.refusal("write our catalogue of", e))?;
    conn.query_drop(sql).map_err(|error| {
        // Made by somebody else meanwhile (1050, 1304): it must not be taken for ours.
        let others = matches!(iolite_db::mysql::connect::code(&error), Some(1050 | 1304));
        let _ = conn.exec_drop(format!("DELETE FROM {CATALOGUE} WHERE name = ?"), (&entry.name,));
        match others {
            true => Error::Foreign { path: context.path(&entry.name) },
            false => context.target.refusal("make a table or procedure in", error),
        }
    })
}

/// Notes that something is whole.
pub(super) fn complete(context: &Context, conn: &mut Conn, name: &str) -> Result<()> {
    conn.exec_drop(format!("UPDATE {CATALOGUE} SET complete = 1 WHERE name = ?"), (name,))
        .map_err(|e| context.target.refusal("write our catalogue of", e))
}

/// Notes an amount that is known only afterwards.
pub(super) fn set_amount(context: &Context, conn: &mut Conn, name: &str, amount: u64) -> Result<()> {
    conn.exec_drop(format!("UPDATE {CATALOGUE} SET amount = ? WHERE name = ?"), (amount, name))
        .map_err(|e| context.target.refusal("write our catalogue of", e))
}

/// Removes what an entry lists, if it is there, then the entry. What is whole is first no longer so.
pub(super) fn remove(context: &Context, conn: &mut Conn, entry: &Entry) -> Result<()> {
    let failed = |e| context.target.refusal("remove what we made in", e);
    conn.exec_drop(format!("UPDATE {CATALOGUE} SET complete = 0 WHERE name = ?"), (&entry.name,))
        .map_err(failed)?;
    let what = if entry.kind == Kind::Procedure { "PROCEDURE" } else { "TABLE" };
    conn.query_drop(format!("DROP {what} IF EXISTS `{}`", entry.name.replace('`', "``"))).map_err(failed)?;
    conn.exec_drop(format!("DELETE FROM {CATALOGUE} WHERE name = ?"), (&entry.name,)).map_err(failed)
}

/// Removes everything that is listed, and the catalogue.
///
/// # Errors
/// [`Error::Foreign`], before anything is removed.
pub(super) fn purge(context: &Context, conn: &mut Conn) -> Result<()> {
    let Some(catalogue) = survey(context, conn)? else { return Ok(()) };
    for entry in catalogue.entries.iter().rev() {
        remove(context, conn, entry)?;
    }
    conn.query_drop(format!("DROP TABLE {CATALOGUE}"))
        .map_err(|e| context.target.refusal("remove our catalogue of", e))
}
