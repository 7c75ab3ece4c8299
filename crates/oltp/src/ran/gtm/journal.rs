//! The journal of the globals: on and off, prepared for a run, its old generations, and recovery.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use super::Gtm;
use super::files::{self, Catalogue};
use iolite_db::gtm::{engine, process, record};
use iolite_db::{Error, Result};
use iolite_model::ErrorCause;

/// How it is kept. A generation of 4 GiB is the largest GT.M has; its buffer takes many transactions with before-images.
/// The allocation is a limit up to which GT.M writes without asking for more space, and takes none by itself: with a
/// smaller one GT.M gives up the journal where the disk is nearly full, whatever was prepared.
pub(super) const OPTIONS: &str =
    "before_images,allocation=8388600,autoswitchlimit=8388600,extension=65535,buffer_size=8192,nosync_io";
/// The same in bytes (of 512 to a block).
const LARGEST: u64 = 8_388_600 * 512;
/// Most and least that is prepared, and how many times the globals' size otherwise.
const MAX_AHEAD: u64 = 2 << 30;
const MIN_AHEAD: u64 = 16 << 20;
const TIMES_AHEAD: u64 = 20;

/// Turns it on, in a file of its own.
pub(super) fn on(gtm: &Gtm) -> Result<()> {
    let option = format!("-journal=enable,on,{OPTIONS},file={}", files::JOURNAL);
    gtm.administer("turn on the journal of", &["set", &option, "-region", "DEFAULT"])?;
    files::remove(&files::generations(&gtm.directory)?)
}

/// GT.M's answer for a journal that is on (`$VIEW("JNLACTIVE")`).
pub(super) const ON: &str = "2";

/// GT.M has given it up, as it does where the disk is full.
pub(super) fn lost(directory: &Path) -> Error {
    let cause = "GT.M has turned the journal off, so that commits are no longer durable".into();
    engine("rely on the commits of", directory, cause, ErrorCause::GtmFull)
}

/// Turns it off: what is made in bulk is synced at its end.
pub(super) fn off(gtm: &Gtm) -> Result<()> {
    let option = "-journal=off";
    gtm.administer("turn off the journal of", &["set", option, "-region", "DEFAULT"]).map(|_| ())
}

/// Bytes of the journal prepared for a run.
pub(super) fn ahead(globals: &[u64]) -> u64 {
    let total: u64 = globals.iter().map(|&subscripts| files::global_size(subscripts).0).sum();
    total.saturating_mul(TIMES_AHEAD).clamp(MIN_AHEAD, MAX_AHEAD)
}

/// Makes the journal ready for a run: zeros are written after its end, so that a commit's sync has nothing to do but write
/// records, as in databases that write their logs over old ones, and need not make the file longer as well. Not while
/// others have the database open: they have a journal that is ready or do without.
pub(super) fn prepare(gtm: &Gtm, catalogue: &Catalogue) -> Result<()> {
    files::remove(&files::generations(&gtm.directory)?)?;
    let path = gtm.file(files::JOURNAL);
    let free = iolite_db::space::free_space(&gtm.directory)?.0;
    let wanted = ahead(&catalogue.globals).min(free / 8);
    let Some(mut end) = end_of_data(gtm)? else { return Ok(()) };
    if end + wanted > LARGEST {
        on(gtm)?;
        let Some(new) = end_of_data(gtm)? else { return Ok(()) };
        end = new;
    }
    let failed = |e| Error::io("prepare", &path, e);
    // Appending never overwrites: not even what another process that has just come writes meanwhile.
    let mut file = OpenOptions::new().append(true).open(&path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    // Half of it used up is soon enough.
    if length >= end + wanted / 2 {
        return Ok(());
    }
    let zeros = vec![0; 1 << 20];
    let mut left = (end + wanted).next_multiple_of(1 << 20).saturating_sub(length);
    while left > 0 {
        let piece = &zeros[..left.min(zeros.len() as u64) as usize];
        file.write_all(piece).map_err(failed)?;
        left -= piece.len() as u64;
    }
    file.sync_all().map_err(failed)
}

/// Where the records end; `None` while someone has it open, as then the header does not say.
fn end_of_data(gtm: &Gtm) -> Result<Option<u64>> {
    let arguments = ["journal", "-show=header", "-noverify", "-forward", files::JOURNAL];
    let printed = match gtm.mupip(&arguments)? {
        Ok(printed) => printed,
        Err(printed) => printed.0,
    };
    let line =
        printed.split("End of Data").nth(1).and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    let crashed = printed.split("Crash").nth(1).is_some_and(|rest| rest.trim_start().starts_with("TRUE"));
    Ok(if crashed { None } else { line })
}

/// Recovers from what processes that were killed have left behind: shared memory, and a database that only its journal can
/// bring into order. Where others are at work there is nothing to recover.
pub(super) fn recover(gtm: &Gtm) -> Result<()> {
    let Err(printed) = run_down(gtm, &["-region", "*"], UNSETTLED, UNSETTLED)? else {
        return forget_dead(gtm);
    };
    if printed.mentions(&[IN_USE]) {
        return Ok(());
    }
    if printed.mentions(UNSETTLED) || printed.mentions(&[process::LATE]) {
        return Err(engine("close", &gtm.directory, printed.into(), ErrorCause::GtmInUse));
    }
    if !printed.mentions(&["MUUSERECOV"]) {
        return Err(engine("close", &gtm.directory, printed.into(), ErrorCause::ContentsChanged));
    }
    let recovered = gtm.mupip(&["journal", "-recover", "-backward", files::JOURNAL])?;
    recovered
        .map_err(|cause| engine("recover", &gtm.directory, cause.into(), ErrorCause::ContentsChanged))?;
    forget_dead(gtm)?;
    files::remove(&files::generations(&gtm.directory)?)
}

/// Has `mupip` close what nobody uses, once no process that was killed is in the process table any more: it waits for their
/// locks, without an end. `refused`: answers for which the dead are to blame, where there are some.
///
/// # Errors
/// A dead process is not reaped, and `mupip` does not close the database beside it ([`ErrorCause::GtmUnreaped`]).
pub(super) fn run_down(
    gtm: &Gtm,
    what: &[&str],
    unsettled: &[&str],
    refused: &[&str],
) -> Result<process::Reply> {
    let dead = record::wait_for_dead(&gtm.directory).map_err(|e| failed(gtm, "read", e))?;
    // Mostly they held no lock, and then they do not matter.
    let limit = (!dead.is_empty()).then_some(BESIDE_DEAD);
    let arguments = [&["rundown"], what].concat();
    let ask = || process::mupip(&gtm.installation, &gtm.directory, &arguments, limit);
    let answer = process::once_settled(unsettled, ask)?;
    match &answer {
        Err(printed) if !dead.is_empty() && printed.mentions(&[refused, &[process::LATE]].concat()) => {
            let cause = format!("{} ({})", record::described(&dead), printed.0).into();
            return Err(engine("close", &gtm.directory, cause, ErrorCause::GtmUnreaped));
        }
        _ => {}
    }
    Ok(answer)
}

pub(super) fn forget_dead(gtm: &Gtm) -> Result<()> {
    record::forget_dead(&gtm.directory).map_err(|e| failed(gtm, "write", e))
}

fn failed(gtm: &Gtm, doing: &'static str, error: std::io::Error) -> Error {
    Error::io(doing, &gtm.file(record::RECORD), error)
}

/// What `mupip` reports of a database that another process has open.
pub(super) const IN_USE: &str = "already open by another process";
/// What it reports where another process opens or closes the database, or has died in it and is still in the process table.
pub(super) const UNSETTLED: &[&str] = &["GTMASSERT2", "CRITSEMFAIL", "ENO11"];
/// How long closing may take where dead processes are not reaped, for which it may wait forever.
const BESIDE_DEAD: Duration = Duration::from_secs(30);
