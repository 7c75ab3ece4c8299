//! `iolite results import`.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use iolite_fio::import::{Log, json, logs};
use iolite_fio::output::inflate::inflated;
use iolite_model::RunId;
use iolite_results::{Imported, perftools};
use iolite_store::{Measuring, Store};

use crate::exit::UsageError;
use crate::output;

/// What an SQLite database begins with.
const SQLITE: &[u8] = b"SQLite format 3\0";

/// Bytes of a text at most: it is read as a whole.
const LARGEST: u64 = 2 << 30;

/// Bytes in which the heading of an export is.
const HEADING: u64 = 8192;

/// Copies the runs of other results databases into this one, and stores those that files of fio and exports of PerfTools describe.
///
/// # Errors
/// A file is none of these, or a run can't be stored.
pub(super) fn import(path: &Path, files: &[PathBuf]) -> anyhow::Result<()> {
    let (exports, others): (Vec<&PathBuf>, Vec<&PathBuf>) = files.iter().partition(|file| is_export(file));
    let (databases, of_fio_files): (Vec<&PathBuf>, Vec<&PathBuf>) =
        others.into_iter().partition(|file| !Log::is_named(file) && !is_text(file));
    let mut imported = of_fio(&of_fio_files.into_iter().cloned().collect::<Vec<_>>())?;
    for file in exports {
        imported.extend(perftools::runs(&file.display().to_string(), &text(file)?).map_err(UsageError::new)?);
    }
    let (mut copied, mut known) = (0, 0);
    for database in databases {
        let source = Store::open_to_read(database).map_err(UsageError::new)?;
        let runs: Vec<RunId> =
            source.runs()?.into_iter().filter(|run| run.ending.is_some()).map(|run| run.id).collect();
        for Measuring { run, host, .. } in source.unfinished()?.into_iter().filter(Measuring::is_alive) {
            output::note(&format!(
                "run {run} was not imported: it has not ended, as far as this host knows; if it was killed on {host}, mark it as \
                 interrupted and import again: iolite results end {run} --results {}",
                database.display()
            ));
        }
        let new = source.copy_to(path, &runs)?.len();
        (copied, known) = (copied + new, known + runs.len() - new);
    }
    for run in imported {
        let is_new = Store::open(path)?.add_run(&run.events, run.finished(), &run.note)?;
        (copied, known) = (copied + usize::from(is_new), known + usize::from(!is_new));
    }
    Ok(output::print(&format!("{}\n", iolite_report::runs::imported(copied, known)))?)
}

/// Whether a file is an export of RanRead, RanWrite or RanIO.
fn is_export(file: &Path) -> bool {
    let mut begin = Vec::new();
    let read = fs::File::open(file).and_then(|file| file.take(HEADING).read_to_end(&mut begin));
    read.is_ok() && perftools::is_export(&String::from_utf8_lossy(&begin))
}

/// Whether a file can be read and is no SQLite database.
fn is_text(file: &Path) -> bool {
    let mut begin = Vec::new();
    let read = fs::File::open(file).and_then(|file| file.take(SQLITE.len() as u64).read_to_end(&mut begin));
    let is_json = begin.iter().find(|byte| !byte.is_ascii_whitespace()).is_some_and(|byte| *byte == b'{');
    read.is_ok() && begin != SQLITE && (is_json || file.extension().is_some_and(|end| end == "json"))
}

/// The runs that fio's files describe: one for each JSON document, one for all logs together.
///
/// # Errors
/// A file can't be read, or is none of fio's.
pub(crate) fn of_fio(files: &[PathBuf]) -> anyhow::Result<Vec<Imported>> {
    let (of_logs, documents): (Vec<&PathBuf>, Vec<&PathBuf>) =
        files.iter().partition(|file| Log::is_named(file));
    let mut imported = Vec::new();
    for file in documents {
        let read = json(&file.display().to_string(), &text(file)?);
        imported.push(read.map_err(UsageError::new)?);
    }
    if !of_logs.is_empty() {
        let texts = of_logs.iter().map(|file| text(file)).collect::<anyhow::Result<Vec<_>>>()?;
        let modified = of_logs.iter().filter_map(|file| {
            let modified = fs::metadata(file).and_then(|about| about.modified()).ok()?;
            u64::try_from(modified.duration_since(UNIX_EPOCH).ok()?.as_nanos()).ok()
        });
        let modified = modified.max().unwrap_or(0);
        let read = of_logs.iter().zip(&texts).map(|(file, text)| Log::read(file, text));
        let run = read.collect::<Result<Vec<_>, _>>().and_then(|mut read| {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            logs(&mut read, &texts, modified)
        });
        imported.push(run.map_err(UsageError::new)?);
    }
    Ok(imported)
}

/// A log of fio's.
///
/// # Errors
/// It can't be read, or is none.
pub(crate) fn read_log(file: &Path) -> anyhow::Result<Log> {
    let text = text(file)?;
    Ok(Log::read(file, &text).map_err(UsageError::new)?)
}

fn text(file: &Path) -> anyhow::Result<String> {
    let failed = |error| UsageError::new(format!("cannot read {}: {error}", file.display()));
    let bytes = bytes(file).map_err(failed)?;
    let text = inflated(&bytes).map_err(failed)?;
    // A text without errors is not copied.
    let lossy = |bytes: Vec<u8>| {
        String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    };
    Ok(text.unwrap_or_else(|| lossy(bytes)))
}

/// All bytes of a file. A larger one is refused rather than cut off: what is left would be taken for a run that ended early.
fn bytes(file: &Path) -> io::Result<Vec<u8>> {
    let too_large = || {
        let advice = "it is larger than 2 GiB; log averages instead (log_avg_msec), or import a part: `split -C 2G FILE`";
        io::Error::new(io::ErrorKind::FileTooLarge, advice)
    };
    let open = fs::File::open(file)?;
    if open.metadata()?.len() > LARGEST {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    open.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST { Err(too_large()) } else { Ok(bytes) }
}
