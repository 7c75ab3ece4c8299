//! How a user names a stored run, and what he adds to it.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use iolite_model::{Conclusion, PtsTerms, RunId};
use rusqlite::params;

use crate::error::Error;
use crate::read::collect;
use crate::store::Store;

/// What a list shows of a run besides its summary: what users have added to it, its databases, and what its figures are none of.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Marks {
    /// Its tags, in alphabetical order.
    pub tags: Vec<String>,
    /// Its notes, the earliest first.
    pub notes: Vec<String>,
    /// URLs of the databases that its phases measured.
    pub databases: Vec<String>,
    /// Whether it is a rehearsal of SNIA's specification.
    pub is_rehearsal: bool,
}

impl Store {
    /// The run of this name: its id, a prefix that no other run has, `latest`, or `latest~N` for the Nth before the latest.
    ///
    /// # Errors
    /// [`Error::NoMatch`], [`Error::Ambiguous`], [`Error::Sql`].
    pub fn find(&self, name: &str) -> Result<RunId, Error> {
        let back = match name.strip_prefix("latest") {
            Some("") => Some(0),
            Some(rest) => rest.strip_prefix('~').and_then(|number| number.parse::<i64>().ok()),
            None => None,
        };
        if let Some(back) = back {
            let sql = "SELECT id FROM run ORDER BY started_unix_ns DESC, id DESC LIMIT 1 OFFSET ?1";
            let found = collect(self, sql, params![back], |row| Ok(RunId(self.get(row, "id")?)))?;
            return found.into_iter().next().ok_or_else(|| self.no_match(name));
        }
        let sql = "SELECT id FROM run WHERE substr(id, 1, length(?1)) = ?1 ORDER BY id LIMIT 4";
        let mut found: Vec<RunId> = collect(self, sql, params![name], |row| Ok(RunId(self.get(row, "id")?)))?;
        match found.len() {
            0 => Err(self.no_match(name)),
            1 => Ok(found.remove(0)),
            // The whole id of one run may be how that of another begins.
            _ => match found.iter().position(|run| run.0 == name) {
                Some(exact) => Ok(found.remove(exact)),
                None => Err(Error::Ambiguous {
                    name: name.to_owned(),
                    runs: found.into_iter().take(3).map(|run| run.0).collect(),
                }),
            },
        }
    }

    fn no_match(&self, name: &str) -> Error {
        Error::NoMatch { path: self.path.clone(), name: name.to_owned() }
    }

    /// Adds a note to a run.
    ///
    /// # Errors
    /// [`Error::Sql`].
    pub fn add_note(&self, run: &RunId, text: &str) -> Result<(), Error> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = i64::try_from(now.as_nanos()).unwrap_or(i64::MAX);
        let sql = "INSERT INTO note (run, added_unix_ns, text) VALUES (?1, ?2, ?3)";
        self.write(sql, params![run.0, now, text])
    }

    /// The notes of a run, the earliest first.
    ///
    /// # Errors
    /// [`Error::Sql`].
    pub fn notes(&self, run: &RunId) -> Result<Vec<String>, Error> {
        let sql = "SELECT text FROM note WHERE run = ?1 ORDER BY added_unix_ns, rowid";
        collect(self, sql, params![run.0], |row| self.get(row, "text"))
    }

    /// Adds a tag to a run; one that it has already is left as it is.
    ///
    /// # Errors
    /// [`Error::Sql`].
    pub fn add_tag(&self, run: &RunId, tag: &str) -> Result<(), Error> {
        self.write("INSERT OR IGNORE INTO tag (run, name) VALUES (?1, ?2)", params![run.0, tag])
    }

    /// Removes a tag from a run, where it has it.
    ///
    /// # Errors
    /// [`Error::Sql`].
    pub fn remove_tag(&self, run: &RunId, tag: &str) -> Result<(), Error> {
        self.write("DELETE FROM tag WHERE run = ?1 AND name = ?2", params![run.0, tag])
    }

    /// The tags of a run, in alphabetical order.
    ///
    /// # Errors
    /// [`Error::Sql`].
    pub fn tags(&self, run: &RunId) -> Result<Vec<String>, Error> {
        collect(self, "SELECT name FROM tag WHERE run = ?1 ORDER BY name", params![run.0], |row| {
            self.get(row, "name")
        })
    }

    /// Tags of all runs, in alphabetical order, notes, the earliest first, and databases: what a list shows of thousands of runs.
    ///
    /// # Errors
    /// [`Error::Sql`].
    pub fn marks(&self) -> Result<BTreeMap<RunId, Marks>, Error> {
        let mut marks: BTreeMap<RunId, Marks> = BTreeMap::new();
        let pair = |row: &rusqlite::Row<'_>| -> Result<(String, String), Error> {
            Ok((self.get(row, "run")?, self.get(row, "text")?))
        };
        for (run, tag) in collect(self, "SELECT run, name AS text FROM tag ORDER BY name", [], pair)? {
            marks.entry(RunId(run)).or_default().tags.push(tag);
        }
        for (run, note) in
            collect(self, "SELECT run, text FROM note ORDER BY added_unix_ns, rowid", [], pair)?
        {
            marks.entry(RunId(run)).or_default().notes.push(note);
        }
        for (run, url) in collect(self, "SELECT DISTINCT run, url AS text FROM database_facts", [], pair)? {
            marks.entry(RunId(run)).or_default().databases.push(url);
        }
        // Of a damaged record nothing is known, which is no reason to list nothing.
        let rehearsals = "SELECT DISTINCT run FROM conclusion
                           WHERE kind = ?1 AND json_valid(json) AND json_extract(json, '$.scale') < 1";
        for run in collect(self, rehearsals, [PtsTerms::KIND], |row| self.get::<String>(row, "run"))? {
            marks.entry(RunId(run)).or_default().is_rehearsal = true;
        }
        Ok(marks)
    }

    /// The runs that have a tag, the latest first.
    ///
    /// # Errors
    /// [`Error::Sql`].
    pub fn tagged(&self, tag: &str) -> Result<Vec<RunId>, Error> {
        let sql = "SELECT id FROM run WHERE id IN (SELECT run FROM tag WHERE name = ?1)
                    ORDER BY started_unix_ns DESC, id DESC";
        collect(self, sql, params![tag], |row| Ok(RunId(self.get(row, "id")?)))
    }

    fn write(&self, sql: &str, params: impl rusqlite::Params) -> Result<(), Error> {
        let written = self.connection.execute(sql, params);
        written.map(drop).map_err(|source| Error::sql("adding to", &self.path, source))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic;

    #[test]
    fn runs_are_found_by_what_users_call_them() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("results.db");
        for id in ["20261120T1", "20261120T12", "20261121T1"] {
            synthetic::write(&path, &synthetic::failed_run(id));
        }
        let store = Store::open(&path).unwrap();
        let find = |name| store.find(name).map(|run| run.0).map_err(|error| error.to_string());
        assert_eq!(find("20261120T12"), Ok("20261120T12".into()));
        assert_eq!(find("20261120T1"), Ok("20261120T1".into()), "an id that another begins with");
        assert_eq!(find("20261121"), Ok("20261121T1".into()));
        assert_eq!(find("latest"), Ok("20261121T1".into()), "of one instant, the last by its id");
        assert_eq!(find("latest~2"), Ok("20261120T1".into()));
        assert!(find("2026").unwrap_err().contains("20261120T1, 20261120T12"));
        for name in ["latest~3", "latest~x", "%", "", "x"] {
            let found = find(name);
            assert!(
                name.is_empty() == found.as_ref().is_err_and(|error| error.contains("several")),
                "{found:?}"
            );
            assert!(found.is_err(), "{name}");
        }
    }

    #[test]
    fn notes_and_tags_stay_with_their_run() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("results.db");
        synthetic::write(&path, &synthetic::failed_run("a"));
        let mut store = Store::open(&path).unwrap();
        let run = RunId("a".into());
        for text in ["before the new controller", "it's \"quoted\"\n"] {
            store.add_note(&run, text).unwrap();
        }
        for tag in ["b", "a", "b"] {
            store.add_tag(&run, tag).unwrap();
        }
        assert_eq!(store.notes(&run).unwrap(), ["before the new controller", "it's \"quoted\"\n"]);
        assert_eq!(store.tags(&run).unwrap(), ["a", "b"]);
        assert_eq!(store.tagged("a").unwrap(), std::slice::from_ref(&run));
        assert_eq!(store.tagged("c").unwrap(), []);
        store.remove_tag(&run, "a").unwrap();
        assert_eq!(store.tags(&run).unwrap(), ["b"]);
        store.add_tag(&RunId("none".into()), "x").unwrap_err();
        store.forget(std::slice::from_ref(&run)).unwrap();
        assert_eq!((store.notes(&run).unwrap().len(), store.tags(&run).unwrap().len()), (0, 0));
    }
}
