//! Servers of MariaDB and MySQL.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::survey::{Survey, paths};
use crate::holders::{held, opened_by};

/// Names of their programs.
pub(super) const NAMES: &[&str] = &["mariadbd", "mysqld"];

/// The process that has InnoDB's system tablespace open, as a server has from its start to its end.
pub(super) fn running_in(directory: &Path) -> Option<String> {
    opened_by(&File::open(directory.join("ibdata1")).ok()?)
}

/// The server that writes the binary log which this file is part of: it has the list of all parts open beside them, and only the last
/// part.
pub(super) fn writer_of_log(path: &Path) -> Option<String> {
    let number = path.extension()?.to_str()?;
    let is_part = number.len() >= 6 && number.bytes().all(|byte| byte.is_ascii_digit());
    is_part.then(|| opened_by(&File::open(path.with_extension("index")).ok()?)).flatten()
}

/// What a server has in its data directory, has put elsewhere, or lists as parts of its logs.
pub(super) fn survey(process: u32, data: &Path) -> Survey {
    let mut survey = Survey::of(process);
    // Before it works there it does so elsewhere, possibly at the root.
    let is_data =
        ["ibdata1", "aria_log_control", "mysql.ibd"].iter().any(|file| held(&data.join(file)).is_some());
    if is_data {
        survey.add_tree(data);
        tables_elsewhere(data).for_each(|(directory, table)| survey.add(&directory, &table));
        logs(process).for_each(|part| survey.add(data, &part));
    }
    survey
}

/// The files of tables outside of a data directory (DATA DIRECTORY): a file in the directory of the database, which ends with `.isl`,
/// has the path. Each with the directory that a relative path begins at.
fn tables_elsewhere(data: &Path) -> impl Iterator<Item = (PathBuf, PathBuf)> {
    let files = paths(data).flat_map(|database| paths(&database));
    let links = files.filter(|file| file.extension() == Some(OsStr::new("isl")));
    links.filter_map(|link| {
        let target = fs::read_to_string(&link).ok()?;
        Some((link.parent()?.to_owned(), PathBuf::from(target.trim())))
    })
}

/// The parts of binary and relay logs, by the lists of them that a server has open, wherever these are.
fn logs(process: u32) -> impl Iterator<Item = PathBuf> {
    let is_list = |descriptor: &PathBuf| {
        fs::read_link(descriptor).is_ok_and(|list| list.extension() == Some(OsStr::new("index")))
    };
    let lists = paths(Path::new(&format!("/proc/{process}/fd"))).filter(is_list);
    let texts = lists.filter_map(|list| fs::read_to_string(list).ok());
    texts.flat_map(|text| text.lines().map(PathBuf::from).collect::<Vec<_>>())
}
