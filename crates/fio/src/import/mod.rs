//! fio's results as runs: of any fio, so that they can be shown, compared and drawn beside others.
//!
//! What fio has not kept stays unknown: without a histogram (JSON+, a histogram log, a log of every operation) there are no
//! percentiles.

mod events;
mod json;
mod log;
mod logs;
mod plot;

pub use json::json;
pub use log::{Log, Quantity, from_start};
pub use logs::logs;
pub use plot::{Figures, chart, figures};

/// Why a file is not taken for fio's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// It is not JSON.
    #[error(
        "{file} is not valid JSON output of fio: {reason}; create it with fio --output-format=json+ --output=FILE"
    )]
    NotJson {
        /// The file.
        file: String,
        /// What was expected, and where.
        reason: String,
    },
    /// It is JSON without what fio writes.
    #[error(
        "{file} is JSON, but not output of fio: it has no `jobs`; create it with fio --output-format=json+ --output=FILE"
    )]
    NotOfFio {
        /// The file.
        file: String,
    },
    /// Its name does not say what it holds.
    #[error(
        "{file} is not named like a log of fio: the name ends in _bw, _iops, _lat, _clat, _slat or _clat_hist, a thread number \
         and .log, for example job_bw.1.log"
    )]
    Name {
        /// The file.
        file: String,
    },
    /// A line is none of a log.
    #[error(
        "{file}, line {line}: not in the format of fio's logs, `milliseconds, value, direction, ...`; write the log again, or leave it \
         out"
    )]
    Line {
        /// The file.
        file: String,
        /// The line's number, from 1.
        line: usize,
    },
    /// Nothing was counted.
    #[error(
        "{file} contains no operations; bandwidth logs alone do not count operations, add the _iops, _lat or _clat_hist log"
    )]
    Empty {
        /// The file.
        file: String,
    },
}
