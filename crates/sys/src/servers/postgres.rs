//! Servers of PostgreSQL.

use std::fs;
use std::path::{Path, PathBuf};

use super::survey::{Survey, paths};
use super::{as_seen_by, is_called};
use crate::holders::{backing_of, held, named, others};

/// Names of its program: PostgreSQL's packages for Red Hat start it as `postmaster`.
pub(super) const NAMES: &[&str] = &["postgres", "postmaster", "edb-postgres", "edb-postmaster"];

/// The process that PostgreSQL's own file names, which works in that directory, or another server that does: in a container processes
/// have other numbers, and the directory another name.
pub(super) fn running_in(directory: &Path) -> Option<String> {
    let text = fs::read_to_string(directory.join("postmaster.pid")).ok()?;
    let works_there = |process: &u32| match fs::read_link(format!("/proc/{process}/cwd")) {
        Ok(at) => at == directory,
        // Another user's: its name has to do.
        Err(_) => is_called(*process, NAMES),
    };
    let stated = text.lines().next().and_then(|line| line.trim().parse().ok());
    if let Some(process) = stated.filter(works_there) {
        return Some(named(process));
    }
    let here = backing_of(&fs::metadata(directory).ok()?);
    let is_here = |process: &u32| {
        is_called(*process, NAMES) && held(Path::new(&format!("/proc/{process}/cwd"))) == Some(here)
    };
    others().find(is_here).map(named)
}

/// What a server has in its data directory, in tablespaces, and in its log outside of that directory.
pub(super) fn survey(process: u32, data: &Path) -> Survey {
    let mut survey = Survey::of(process);
    // Before it works there it does so elsewhere, possibly at the root.
    if held(&data.join("PG_VERSION")).is_some() {
        survey.add_tree(data);
        linked(process, data).for_each(|place| survey.add_tree(&place));
    }
    survey
}

/// The directories that links in a data directory lead to.
fn linked(process: u32, data: &Path) -> impl Iterator<Item = PathBuf> {
    let links = paths(&data.join("pg_tblspc")).chain([data.join("pg_wal")]);
    links.filter_map(move |link| {
        let target = fs::read_link(&link).ok()?;
        Some(as_seen_by(process, link.parent()?, &target))
    })
}
