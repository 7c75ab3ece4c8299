//! Removing what setup created: what the catalogue lists, then the schema, never with CASCADE.

use postgres::Client;
use postgres::error::SqlState;

use super::catalogue::{self, Catalogue, SchemaState};
use super::globals::{DROPPED_AT_ONCE, drop_tables, remove};
use iolite_db::postgres::Target;
use iolite_db::postgres::failure;
use iolite_db::{Error, Result};

/// What is in our schema and is neither the catalogue ($1: our tables) nor a part of an extension.
const STRANGERS: &str = "SELECT pg_describe_object(d.classid, d.objid, 0) FROM pg_depend d \
     WHERE d.refclassid = 'pg_namespace'::regclass AND d.refobjid = 'iolite'::regnamespace \
     AND NOT (d.classid = 'pg_class'::regclass AND (d.objid = 'iolite.catalogue'::regclass OR d.objid = ANY ($1))) \
     AND NOT (d.classid = 'pg_extension'::regclass AND d.objid IN \
       (SELECT oid FROM pg_extension WHERE extname = ANY ($2))) \
     AND NOT EXISTS (SELECT FROM pg_depend e WHERE e.classid = d.classid AND e.objid = d.objid AND e.deptype = 'e') \
     LIMIT 3";

/// As [`Adapter::purge`](super::super::Adapter::purge).
pub(super) fn purge(target: &Target) -> Result<()> {
    let mut client = target.connect()?;
    super::lock::making(target, &mut client)?;
    let catalogue = match catalogue::find(target, &mut client)? {
        SchemaState::Nothing => return Ok(()),
        SchemaState::Foreign => return Err(Error::Foreign { path: super::schema(target) }),
        SchemaState::Ours(catalogue) => catalogue,
    };
    refuse_strangers(target, &mut client, &catalogue)?;
    // From here on it is not whole any more, should this be interrupted.
    let sql = "UPDATE iolite.catalogue SET complete = false WHERE kind = 'database'";
    client.execute(sql, &[]).map_err(|e| target.failed("begin to purge", e))?;
    remove(target, &mut client, &catalogue.globals)?;
    for some in catalogue.blocks.rchunks(DROPPED_AT_ONCE) {
        drop_tables(target, &mut client, "blocks", some)?;
    }
    end(target, &mut client, &catalogue)
}

fn refuse_strangers(target: &Target, client: &mut Client, catalogue: &Catalogue) -> Result<()> {
    let rows = client
        .query(STRANGERS, &[&catalogue.tables(), &catalogue.extensions])
        .map_err(|e| target.failed("look into iolite's schema in", e))?;
    let Some(names) =
        rows.iter().map(|row| row.get::<_, String>(0)).reduce(|all, one| format!("{all}, {one}"))
    else {
        return Ok(());
    };
    Err(Error::Foreign { path: format!("{names} in {}", super::schema(target).display()).into() })
}

/// What is left when the tables are gone, in one transaction.
fn end(target: &Target, client: &mut Client, catalogue: &Catalogue) -> Result<()> {
    let failed = |e| target.failed("drop iolite's schema in", e);
    let mut transaction = client.transaction().map_err(failed)?;
    for name in &catalogue.extensions {
        let sql = format!("DROP EXTENSION IF EXISTS {name}");
        transaction.batch_execute(&sql).map_err(|e| target.failed("drop the extensions of iolite in", e))?;
    }
    let sql = "DROP TABLE iolite.catalogue; DROP SCHEMA iolite";
    match transaction.batch_execute(sql) {
        Err(error) if failure::is(&error, &SqlState::DEPENDENT_OBJECTS_STILL_EXIST) => {
            Err(Error::Foreign { path: format!("something in {}", super::schema(target).display()).into() })
        }
        done => done.and_then(|()| transaction.commit()).map_err(failed),
    }
}
