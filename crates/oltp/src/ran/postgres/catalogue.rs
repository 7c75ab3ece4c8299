//! What we have made in a database: our schema, known by its comment, and the catalogue in it.

use postgres::{Client, GenericClient};

use super::{MARK, SCHEMA};
use iolite_db::postgres::Target;
use iolite_db::{Error, Result};

/// The schema with its mark and its catalogue, in one transaction with the first entries. `units` are pages of a table of blocks, or
/// subscripts; the name of the entry `database` is that of [`pages_name`].
pub(super) const CREATE: &str = "\
    CREATE SCHEMA iolite;\
    CREATE TABLE iolite.catalogue (\
      kind text NOT NULL CHECK (kind IN ('database', 'extension', 'blocks', 'global')),\
      number integer NOT NULL,\
      name text NOT NULL,\
      units bigint NOT NULL,\
      complete boolean NOT NULL,\
      PRIMARY KEY (kind, number));";

const LIST: &str = "SELECT kind, number, name, units, complete, to_regclass(format('iolite.%I', name))::oid \
     FROM iolite.catalogue ORDER BY kind, number";

/// A table of the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listed {
    /// Its number among those of its kind, from 1.
    pub(super) number: u32,
    /// Its name within the schema.
    pub(super) name: String,
    /// Its blocks or its subscripts.
    pub(super) units: u64,
    /// Its identity in the database; `None` when somebody has dropped it.
    pub(super) oid: Option<u32>,
}

impl Listed {
    /// For SQL: the qualified name.
    pub(super) fn sql(&self) -> String {
        qualified(&self.name)
    }
}

/// What the catalogue lists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Catalogue {
    /// Setup came to its end.
    pub(super) complete: bool,
    /// Consecutive pages that are a block to read, beyond the first: none where a page is one.
    pub(super) more_pages: u64,
    /// Tables of blocks to read, in order.
    pub(super) blocks: Vec<Listed>,
    /// Tables of globals, in order.
    pub(super) globals: Vec<Listed>,
    /// Extensions that setup created.
    pub(super) extensions: Vec<String>,
}

impl Catalogue {
    /// Whole globals: those numbered from 1 on without a gap. What follows a gap was made by a call that failed.
    pub(super) fn whole(&self) -> &[Listed] {
        let gap = self.globals.iter().zip(1..).position(|(global, number)| global.number != number);
        &self.globals[..gap.unwrap_or(self.globals.len())]
    }

    /// What follows a gap.
    pub(super) fn leftovers(&self) -> &[Listed] {
        &self.globals[self.whole().len()..]
    }

    /// Consecutive pages that are a block to read.
    pub(super) fn pages(&self) -> u64 {
        self.more_pages + 1
    }

    /// Blocks to read, of so many pages each.
    pub(super) fn block_count(&self) -> u64 {
        self.blocks.iter().map(|table| table.units / self.pages()).sum()
    }

    /// The identities of all tables that are there.
    pub(super) fn tables(&self) -> Vec<u32> {
        self.blocks.iter().chain(&self.globals).filter_map(|table| table.oid).collect()
    }
}

/// What is there under our name.
pub(super) enum SchemaState {
    /// No schema of our name.
    Nothing,
    /// A schema of our name without our mark, or without a catalogue.
    Foreign,
    /// Ours, finished or not.
    Ours(Catalogue),
}

/// Looks for our schema.
///
/// # Errors
/// [`Error::Engine`].
pub(super) fn find(target: &Target, client: &mut impl GenericClient) -> Result<SchemaState> {
    let failed = |e| target.failed("look for iolite's schema in", e);
    let sql = "SELECT obj_description(n.oid, 'pg_namespace'), to_regclass('iolite.catalogue') IS NOT NULL \
               FROM pg_namespace n WHERE n.nspname = $1";
    let Some(row) = client.query_opt(sql, &[&SCHEMA]).map_err(failed)? else {
        return Ok(SchemaState::Nothing);
    };
    if row.get::<_, Option<&str>>(0) != Some(MARK) || !row.get::<_, bool>(1) {
        return Ok(SchemaState::Foreign);
    }
    let mut catalogue = Catalogue::default();
    for row in client.query(LIST, &[]).map_err(|e| target.failed("read iolite's catalogue in", e))? {
        let table = Listed {
            number: row.get::<_, i32>(1).unsigned_abs(),
            name: row.get(2),
            units: row.get::<_, i64>(3).unsigned_abs(),
            oid: row.get(5),
        };
        match row.get(0) {
            "blocks" => catalogue.blocks.push(table),
            "global" => catalogue.globals.push(table),
            "extension" => catalogue.extensions.push(table.name),
            _ => {
                catalogue.complete = row.get(4);
                catalogue.more_pages = table.name.parse().unwrap_or(1_u64).saturating_sub(1);
            }
        }
    }
    Ok(SchemaState::Ours(catalogue))
}

/// The catalogue of a finished database of ours.
///
/// # Errors
/// [`Error::Missing`], [`Error::Foreign`], [`Error::Incomplete`], [`Error::Engine`].
pub(super) fn complete(target: &Target, client: &mut Client) -> Result<Catalogue> {
    match find(target, client)? {
        SchemaState::Nothing => Err(Error::Missing { place: target.place().to_owned() }),
        SchemaState::Foreign => Err(Error::Foreign { path: super::schema(target) }),
        SchemaState::Ours(catalogue) if !catalogue.complete => {
            Err(Error::Incomplete { path: super::schema(target) })
        }
        SchemaState::Ours(catalogue) => Ok(catalogue),
    }
}

/// Enters something that is there now, in the transaction that has created it.
pub(super) fn enter(
    client: &mut impl GenericClient,
    kind: &str,
    number: u32,
    name: &str,
    units: u64,
) -> std::result::Result<(), postgres::Error> {
    let sql = "INSERT INTO iolite.catalogue VALUES ($1, $2, $3, $4, $1 <> 'database')";
    client.execute(sql, &[&kind, &number.cast_signed(), &name, &units.cast_signed()])?;
    Ok(())
}

/// What the entry of the database has as its name: the pages of a block, where it is a range.
pub(super) fn pages_name(pages: u64) -> String {
    if pages == 1 { String::new() } else { pages.to_string() }
}

/// For SQL: a name within our schema. Names are ours: letters and digits.
pub(super) fn qualified(name: &str) -> String {
    format!("{SCHEMA}.\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globals_behind_a_gap_are_leftovers() {
        let global = |number| Listed { number, name: format!("g{number}"), units: 1, oid: None };
        let of = |numbers: &[u32]| Catalogue {
            globals: numbers.iter().copied().map(global).collect(),
            ..Catalogue::default()
        };
        for (numbers, whole) in
            [(&[][..], 0), (&[1][..], 1), (&[1, 2, 3][..], 3), (&[1, 3][..], 1), (&[2, 3][..], 0)]
        {
            let catalogue = of(numbers);
            assert_eq!(catalogue.whole().len(), whole);
            assert_eq!(catalogue.leftovers().len(), numbers.len() - whole);
        }
    }
}
