//! What a durability test is to do, checked, and where its files are.

use std::path::PathBuf;

use iolite_model::Bytes;
use iolite_model::acknowledged::{Method, Plan, RunKey};

use crate::error::{Error, Result};
use crate::record::SMALLEST;

/// Places that each worker's writes take turns in, at most.
const PLACES: u64 = 256;
/// The largest block.
const LARGEST: u64 = 64 << 20;

/// The key of a new run.
///
/// # Errors
/// [`Error::Io`] when the kernel gives no random bytes.
pub fn new_key() -> Result<RunKey> {
    let (mut key, source) = ([0; 16], std::path::Path::new("/dev/urandom"));
    let mut read = || std::io::Read::read_exact(&mut std::fs::File::open(source)?, &mut key);
    read().map_err(crate::error::io("read", source))?;
    Ok(RunKey(key))
}

/// Checks a plan whose run may write so many bytes.
///
/// # Errors
/// [`Error::Asked`] for sizes or numbers that can't be, or that leave nothing to write.
pub fn check_within(plan: &Plan, bytes: Bytes) -> Result<()> {
    check(plan)?;
    let needed = Bytes(plan.block.0.saturating_mul(u64::from(plan.workers)).saturating_add(laid_out(plan).0));
    if bytes < needed {
        return Err(Error::Asked(format!(
            "{bytes} is less than one write of each worker: allow {needed} or more with --max-write"
        )));
    }
    Ok(())
}

/// # Errors
/// [`Error::Asked`] for sizes or numbers that can't be.
pub(crate) fn check(plan: &Plan) -> Result<()> {
    if plan.block.0 < SMALLEST as u64 || plan.block.0 > LARGEST || !plan.block.0.is_multiple_of(8) {
        return Err(Error::Asked(format!(
            "a block of {} cannot be used: choose a multiple of 8 bytes from {SMALLEST} bytes to 64 MiB",
            plan.block
        )));
    }
    if plan.workers == 0 || plan.workers > 1024 || plan.slots == 0 {
        return Err(Error::Asked("choose 1 to 1024 workers, and at least one place each".into()));
    }
    Ok(())
}

/// Bytes that the files of a run take when it writes so many.
pub fn space(plan: &Plan, written: Bytes) -> Bytes {
    match plan.method {
        Method::Append | Method::Commit => written,
        Method::Overwrite | Method::Dsync => laid_out(plan),
        Method::Rename => written.min(places(plan)),
    }
}

/// Bytes that are written before the first write of a run: the blocks that it overwrites.
pub(crate) fn laid_out(plan: &Plan) -> Bytes {
    match plan.method {
        Method::Overwrite | Method::Dsync => places(plan),
        Method::Append | Method::Commit | Method::Rename => Bytes(0),
    }
}

fn places(plan: &Plan) -> Bytes {
    let places = plan.slots.saturating_mul(u64::from(plan.workers));
    Bytes(plan.block.0.saturating_mul(places))
}

/// Places that each worker's writes take turns in: as many as leave half of the bytes that may be written to the writes.
pub fn slots(block: Bytes, workers: u32, bytes: Bytes) -> u64 {
    (bytes.0 / 2 / block.0.max(1) / u64::from(workers.max(1))).clamp(1, PLACES)
}

/// The directory that holds the run's files.
pub(crate) fn directory(plan: &Plan) -> PathBuf {
    PathBuf::from(&plan.place).join(format!("iolite-durability-{}", &String::from(plan.run)[..8]))
}

/// The place of a worker's write, from 0.
pub(crate) fn slot(plan: &Plan, number: u64) -> u64 {
    debug_assert!(number > 0, "writes are counted from 1");
    if plan.method.replaces() { (number - 1) % plan.slots } else { number - 1 }
}
