//! The list of runs.

use iolite_model::{Nanos, RunId};
use rusqlite::Row;

use crate::error::Error;
use crate::read;
use crate::store::{RunSummary, Store};

impl Store {
    /// All runs, the latest first.
    ///
    /// # Errors
    /// [`Error::Sql`], or [`Error::Unreadable`] for a row that this program did not write.
    pub fn runs(&self) -> Result<Vec<RunSummary>, Error> {
        let sql = "SELECT r.*, (SELECT count(*) FROM phase WHERE run = r.id) AS phases,
                          v.profile AS profile, v.fitness AS fitness
                     FROM run AS r LEFT JOIN verdict AS v ON v.run = r.id
                      AND v.sequence = (SELECT max(sequence) FROM verdict WHERE run = r.id)
                    ORDER BY r.started_unix_ns DESC, r.id DESC";
        read::collect(self, sql, [], |row| self.run_summary(row))
    }

    pub(crate) fn run_summary(&self, row: &Row<'_>) -> Result<RunSummary, Error> {
        let sql = |source| self.reading(source);
        let profile: Option<String> = row.get("profile").map_err(sql)?;
        let fitness: Option<String> = row.get("fitness").map_err(sql)?;
        let verdict = match (profile, fitness) {
            (Some(profile), Some(fitness)) => Some((profile, read::fitness(self, fitness)?)),
            _ => None,
        };
        Ok(RunSummary {
            id: RunId(row.get("id").map_err(sql)?),
            version: row.get("version").map_err(sql)?,
            command: read::texts(self, row, "command")?,
            started_unix: read::nanos(self, row, "started_unix_ns")?,
            finished_unix: read::optional(self, row, "finished_unix_ns")?.map(Nanos),
            host: row.get("host_name").map_err(sql)?,
            directory: row.get::<_, String>("directory").map_err(sql)?.into(),
            phases: row.get("phases").map_err(sql)?,
            ending: read::run_ending(self, row)?,
            verdict,
        })
    }
}
