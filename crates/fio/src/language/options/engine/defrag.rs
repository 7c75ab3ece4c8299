//! The engine that exchanges blocks (`ioengine=e4defrag`).

use std::path::PathBuf;

use crate::language::options::entry::{integer, text};
use crate::language::options::option::Opt;

/// The options.
pub(super) const OPTIONS: [Opt; 2] = [
    text("donorname", |s, name| s.engine.donor = Some(PathBuf::from(name)))
        .help("File that blocks are exchanged with, on the same file system; it is created if it does not exist, and stays; what it holds is lost. Operations are of whole blocks of the file system.")
        .of(&["e4defrag"]),
    integer("inplace", 0, 1, |s, number| s.engine.donates_each_time = number == 1)
        .default("0")
        .help("Whether that file has blocks for each operation only (1), or all of them before the first.")
        .differs("with 1 the file keeps its length, so that several jobs can use it; fio leaves it empty")
        .of(&["e4defrag"]),
];
