//! Samples of sessions, counted by what the sessions were seen in.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use iolite_model::{Blocker, HotPage, Nanos, StatementShare, WaitShare, WaitsFound};

use super::{Sample, WaitObject};

/// Entries of each list that are kept.
const KEPT: usize = 20;
/// Pages that are kept: each is looked at once more when sampling ends.
const PAGES: usize = 3;
/// Characters of a statement that are kept.
const STATEMENT: usize = 120;
/// Different waits, statements and the like that are counted: beyond, they are no longer distinguished.
const DIFFERENT: usize = 4096;

/// Sessions by what they were seen in.
#[derive(Debug, Default)]
pub(super) struct Tally {
    samples: u64,
    pub(super) spent: Duration,
    hidden: u64,
    waits: BTreeMap<String, u64>,
    statements: BTreeMap<String, BTreeMap<String, u64>>,
    blockers: BTreeMap<(String, String, String), u64>,
    objects: BTreeMap<WaitObject, u64>,
    pages: BTreeMap<(String, u64), PageTally>,
}

/// What sessions waited for in a page.
#[derive(Debug, Default)]
struct PageTally {
    /// Sessions, summed over the samples.
    sessions: u64,
    /// The most distinct rows in one sample.
    rows: usize,
}

impl Tally {
    /// Counts the sessions of a sample.
    pub(super) fn add(&mut self, sample: &Sample) {
        self.samples += 1;
        self.hidden = self.hidden.max(sample.hidden);
        for session in &sample.active {
            let statement = shortened(&session.statement);
            // Rows are summed up by their page: in PostgreSQL each update makes another one of a row.
            let object = session.object.as_ref().map(|object| WaitObject { row: None, ..object.clone() });
            if let Some(holder) = &session.holder {
                let object = object.as_ref().map(ToString::to_string).unwrap_or_default();
                count(&mut self.blockers, (statement.clone(), shortened(holder), object));
            }
            object.into_iter().for_each(|object| count(&mut self.objects, object));
            count(&mut self.waits, session.wait.clone());
            if self.statements.len() < DIFFERENT || self.statements.contains_key(&statement) {
                count(self.statements.entry(statement).or_default(), session.wait.clone());
            }
        }
        self.add_pages(sample);
    }

    /// Rows are distinguished within a sample only: an update may move a row within its page.
    fn add_pages(&mut self, sample: &Sample) {
        let mut seen: BTreeMap<(String, u64), (u64, BTreeSet<u64>)> = BTreeMap::new();
        for object in sample.active.iter().filter_map(|session| session.object.as_ref()) {
            let Some(page) = object.page else { continue };
            let (sessions, rows) = seen.entry((object.table.clone(), page)).or_default();
            *sessions += 1;
            rows.extend(object.row);
        }
        for (page, (sessions, rows)) in seen {
            if self.pages.len() < DIFFERENT || self.pages.contains_key(&page) {
                let tally = self.pages.entry(page).or_default();
                tally.sessions += sessions;
                tally.rows = tally.rows.max(rows.len());
            }
        }
    }

    /// The averages over all samples.
    pub(super) fn found(&self, interval: Duration, observed: Duration) -> WaitsFound {
        let samples = self.samples.max(1) as f64;
        let nanos = |time: Duration| Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        let share = |name: String, count: u64| WaitShare { name, sessions: count as f64 / samples };
        let statement = |(statement, waits): (&String, &BTreeMap<String, u64>)| StatementShare {
            statement: statement.clone(),
            sessions: waits.values().sum::<u64>() as f64 / samples,
            wait: waits
                .iter()
                .max_by_key(|(_, count)| **count)
                .map_or(String::new(), |(wait, _)| wait.clone()),
        };
        let blocker = |((waiting, holder, object), count): (&(String, String, String), &u64)| Blocker {
            waiting: waiting.clone(),
            holder: holder.clone(),
            object: object.clone(),
            sessions: *count as f64 / samples,
        };
        WaitsFound {
            samples: self.samples,
            interval: nanos(interval),
            observed: nanos(observed),
            cost: nanos(self.spent / u32::try_from(self.samples.max(1)).unwrap_or(u32::MAX)),
            hidden: self.hidden,
            remedy: None,
            gap: None,
            waits: largest(
                self.waits.iter().map(|(name, count)| share(name.clone(), *count)).collect(),
                |wait| wait.sessions,
            ),
            statements: largest(self.statements.iter().map(statement).collect(), |one| one.sessions),
            blockers: largest(self.blockers.iter().map(blocker).collect(), |one| one.sessions),
            objects: largest(
                self.objects.iter().map(|(object, count)| share(object.to_string(), *count)).collect(),
                |one| one.sessions,
            ),
            pages: self.pages(samples),
            failure: None,
        }
    }

    /// The pages with the most sessions.
    fn pages(&self, samples: f64) -> Vec<HotPage> {
        let page = |((table, page), tally): (&(String, u64), &PageTally)| HotPage {
            table: table.clone(),
            page: *page,
            sessions: tally.sessions as f64 / samples,
            rows: tally.rows as u64,
            rows_in_page: None,
            advice: None,
        };
        let mut pages = largest(self.pages.iter().map(page).collect(), |page| page.sessions);
        pages.truncate(PAGES);
        pages
    }
}

fn count<K: Ord>(counts: &mut BTreeMap<K, u64>, key: K) {
    if counts.len() < DIFFERENT || counts.contains_key(&key) {
        *counts.entry(key).or_default() += 1;
    }
}

/// The entries with the most sessions.
fn largest<T>(mut list: Vec<T>, sessions: impl Fn(&T) -> f64) -> Vec<T> {
    list.sort_by(|one, other| sessions(other).total_cmp(&sessions(one)));
    list.truncate(KEPT);
    list
}

/// A statement in one line without its numbers and texts, so that calls of the same statement are the same.
fn shortened(statement: &str) -> String {
    let mut out = String::new();
    let mut characters = statement.chars().peekable();
    let mut before = ' ';
    while let Some(character) = characters.next() {
        let plain = match character {
            '\'' => {
                // Up to the closing quote; a doubled one begins the next part.
                characters.by_ref().take_while(|other| *other != '\'').for_each(drop);
                '?'
            }
            digit if digit.is_ascii_digit() && !(before.is_alphanumeric() || matches!(before, '_' | '$')) => {
                while characters.next_if(|other| other.is_ascii_digit() || *other == '.').is_some() {}
                '?'
            }
            blank if blank.is_whitespace() => ' ',
            other => other,
        };
        if !(plain == ' ' && before == ' ') {
            out.push(plain);
        }
        before = plain;
    }
    out.trim().chars().take(STATEMENT).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{ActiveSession, WAIT_INTERVAL};
    use super::*;

    fn session(wait: &str, statement: &str, holder: Option<&str>, row: Option<u64>) -> ActiveSession {
        ActiveSession {
            wait: wait.into(),
            statement: statement.into(),
            holder: holder.map(Into::into),
            object: row.map(|row| WaitObject { table: "t".into(), page: Some(0), row: Some(row) }),
        }
    }

    fn sample(active: Vec<ActiveSession>) -> Sample {
        Sample { active, hidden: 0 }
    }

    #[test]
    fn statements_are_the_same_but_for_their_values() {
        let text = "SELECT a1,\n  b FROM t_2\tWHERE c = 12.5 AND d = 'it''s' AND e = $1";
        assert_eq!(shortened(text), "SELECT a1, b FROM t_2 WHERE c = ? AND d = ?? AND e = $1");
        assert_eq!(shortened(&"x".repeat(500)).len(), STATEMENT);
        assert_eq!(shortened("CALL p(1,2,'3')"), shortened("CALL p(17,4,'x')"));
    }

    #[test]
    fn sessions_are_averaged_over_all_samples() {
        let mut tally = Tally::default();
        tally.add(&sample(vec![
            session("Lock:tuple", "UPDATE t SET a = 1", Some("UPDATE t SET a = 2"), Some(1)),
            session("CPU", "SELECT 1", None, None),
        ]));
        tally.add(&sample(vec![session("Lock:tuple", "UPDATE t SET a = 3", Some("COMMIT"), Some(1))]));
        tally.add(&sample(vec![]));
        tally.add(&sample(vec![session("Lock:tuple", "UPDATE t SET a = 3", None, None)]));
        let found = tally.found(WAIT_INTERVAL, Duration::from_secs(1));
        assert_eq!((found.samples, found.active()), (4, 1.0));
        assert_eq!((found.waits[0].name.as_str(), found.waits[0].sessions), ("Lock:tuple", 0.75));
        assert_eq!(
            (found.statements[0].statement.as_str(), found.statements[0].sessions),
            ("UPDATE t SET a = ?", 0.75)
        );
        assert_eq!(found.statements[0].wait, "Lock:tuple");
        assert_eq!((found.objects[0].name.as_str(), found.objects[0].sessions), ("t page 0", 0.5));
        assert_eq!(found.blockers.len(), 2);
    }

    #[test]
    fn waits_for_rows_of_a_page_are_waits_for_the_page() {
        let mut tally = Tally::default();
        let waiting = |row| session("Lock:tuple", "UPDATE t", None, row);
        tally.add(&sample(vec![waiting(Some(1)), waiting(Some(2)), waiting(Some(2)), waiting(None)]));
        tally.add(&sample(vec![waiting(Some(7))]));
        tally.add(&Sample { hidden: 3, ..Sample::default() });
        tally.add(&Sample { hidden: 2, ..Sample::default() });
        let found = tally.found(WAIT_INTERVAL, Duration::from_secs(1));
        let [page] = &found.pages[..] else { panic!("{found:?}") };
        assert_eq!((page.table.as_str(), page.page, page.sessions, page.rows), ("t", 0, 1.0, 2));
        assert_eq!((found.hidden, page.rows_in_page), (3, None));
    }
}
