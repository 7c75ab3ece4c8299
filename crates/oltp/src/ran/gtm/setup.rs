//! Making the database and its globals, and removing them.

use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::Ordering;

use iolite_model::{Bytes, ErrorCause};

use super::super::contract::{NewBlocks, Progress};
use super::super::layout::{proceed, validate};
use super::bulk::{self, Range};
use super::files::{self, Catalogue};
use super::{BLOCK, Gtm, LONGEST_PATH, journal};
use iolite_db::gtm::{ENGINE, engine, process};
use iolite_db::space::check_space;
use iolite_db::{Error, Result};

const ROUTINE: &str = include_str!("iolite.m");
/// Bytes of blocks filled per command.
const FILLED_AT_ONCE: u64 = 4 << 20;
/// Sizes that a block to read may have. GT.M takes multiples of 512 bytes up to 65,024; with asynchronous I/O they have to be
/// multiples of the file system's blocks.
const BLOCK_UNIT: u64 = 4096;
const MAX_BLOCK: u64 = 61_440;
/// Bytes of a block that the value of its node leaves for the key and the headers.
const FREE_BYTES: u64 = 292;
/// Bytes of a global's block that stay free: a B-tree that has grown at random, as globals do in use, is filled to 69 % (ln 2;
/// Yao: On random 2-3 trees, 1978). Made in order it would be full, and GT.M searches a block from its beginning.
pub(super) const RESERVED: u64 = BLOCK * 3 / 10;
/// Nodes of an index block that lead to blocks to read, at least (a key and a block's number take 12 to 16 bytes).
const FANOUT: u64 = 400;
const FEWEST_BUFFERS: u64 = 1024;
/// Bytes by which a file grows.
const EXTENSION: u64 = 32 << 20;
/// Blocks of the file of globals when there are none.
const EMPTY: u64 = 1024;
/// GT.M's files have up to 16 thousand million blocks in the newest versions, and a sixteenth of that in older ones.
const MAX_BLOCKS: u64 = 1_000_000_000;
pub(super) const MAX_SUBSCRIPTS: u64 = 1_000_000_000_000;

/// See [`Adapter::setup`](super::super::Adapter::setup).
pub(super) fn setup(gtm: &Gtm, new: &NewBlocks, progress: &mut Progress<'_>) -> Result<()> {
    gtm.installation.check()?;
    let block = block_size(new.block)?;
    let directory = gtm.directory.as_path();
    if let Some(path) = files::existing(directory)?.into_iter().next() {
        // Purge removes what a catalogue of ours lists.
        let ours = Catalogue::read(directory)?.is_some();
        return Err(if ours { Error::Exists { path } } else { Error::Foreign { path } });
    }
    let blocks = new.size.0.div_ceil(block).max(1);
    if blocks > MAX_BLOCKS {
        return Err(Error::Layout { what: format!("{blocks} blocks"), limit: MAX_BLOCKS + 1 });
    }
    if directory.as_os_str().len() > LONGEST_PATH {
        let cause = format!("its name is longer than {LONGEST_PATH} bytes").into();
        return Err(engine("use", directory, cause, ErrorCause::LongPath));
    }
    check_space(directory, Bytes(file_blocks(blocks) * block + EMPTY * BLOCK))?;
    Catalogue::create(directory)?;
    proceed(progress(0, blocks * block))?;
    let direct = takes_direct_io(directory)?;
    write_routine(directory)?;
    make_files(gtm, (blocks, block), direct)?;
    journal::on(gtm)?;
    bulk::run(gtm, fill(blocks, block), block, progress)?;
    Catalogue { blocks: Some(blocks), direct, block, ..Catalogue::default() }.write(directory)
}

/// The size of the blocks to read.
///
/// # Errors
/// [`Error::BlockSize`].
fn block_size(asked: Option<Bytes>) -> Result<u64> {
    match asked {
        None => Ok(BLOCK),
        Some(Bytes(block))
            if (BLOCK_UNIT..=MAX_BLOCK).contains(&block) && block.is_multiple_of(BLOCK_UNIT) =>
        {
            Ok(block)
        }
        Some(asked) => Err(Error::BlockSize {
            database: ENGINE,
            asked,
            why: format!(
                "its blocks are multiples of {} up to {}; specify one of them, for example 32KiB",
                Bytes(BLOCK_UNIT),
                Bytes(MAX_BLOCK)
            ),
        }),
    }
}

/// Ranges of blocks, one for each process.
fn fill(blocks: u64, block: u64) -> Vec<Range> {
    let each = blocks.div_ceil(bulk::processes() as u64);
    let starts = (1..=blocks).step_by(usize::try_from(each).unwrap_or(usize::MAX));
    let range = |from: u64| Range {
        verb: format!("fill {}", block - FREE_BYTES),
        from,
        to: blocks.min(from + each - 1),
        step: FILLED_AT_ONCE / block,
    };
    starts.map(range).collect()
}

/// Blocks of a file with so many to read: the index, and a bit map in every 512th, come with them.
fn file_blocks(blocks: u64) -> u64 {
    let with_index = blocks + blocks / FANOUT + 64;
    with_index + with_index / 511 + 1
}

/// Global buffers for the blocks to read: few beside them, and enough for the index several times over.
pub(super) fn read_buffers(blocks: u64) -> u64 {
    (blocks / FANOUT * 4).max(FEWEST_BUFFERS)
}

/// Global buffers for the globals: all of them where that is not more than an eighth of the memory.
pub(super) fn write_buffers(globals: &[u64]) -> u64 {
    let total: u64 = globals.iter().map(|&subscripts| files::global_size(subscripts).0).sum();
    let max = memory() / 8 / BLOCK;
    ((total + total / 8) / BLOCK + FEWEST_BUFFERS * 4).min(max.max(FEWEST_BUFFERS))
}

/// The host's memory in bytes; 0 when it is not known.
fn memory() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = total.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}

/// Has the global directory and the two database files made.
fn make_files(gtm: &Gtm, (blocks, block): (u64, u64), direct: bool) -> Result<()> {
    let asynchronous = if direct { "-asyncio" } else { "-noasyncio" };
    let segment = |name: &str, file: &str, block: u64, reserved: u64, blocks: u64, buffers: u64| {
        let extension = EXTENSION / block;
        format!(
            "{name} -access_method=bg -block_size={block} -reserved_bytes={reserved} -allocation={blocks} -extension_count={extension} \
             -global_buffer_count={buffers} {asynchronous} -file_name={file}\n"
        )
    };
    let record = block - FREE_BYTES + 100;
    let commands = [
        "change -segment ",
        &segment("DEFAULT", files::WRITE, BLOCK, RESERVED, EMPTY, write_buffers(&[])),
        "change -region DEFAULT -record_size=1024 -key_size=64 -nojournal\n",
        "add -segment ",
        &segment("READ", files::READ, block, 0, file_blocks(blocks), read_buffers(blocks)),
        &format!("add -region READ -record_size={record} -key_size=64 -nojournal -dynamic_segment=READ\n"),
        "add -name RanReadBlock -region=READ\nexit\n",
    ]
    .concat();
    edit_directory(gtm, &commands)?;
    gtm.administer("create the files of", &["create"])?;
    for name in [files::READ, files::WRITE] {
        let path = gtm.file(name);
        // GT.M makes them for everybody.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600))
            .map_err(|e| Error::io("set the permissions of", &path, e))?;
    }
    Ok(())
}

/// Runs the editor of global directories.
fn edit_directory(gtm: &Gtm, commands: &str) -> Result<()> {
    let failed = |cause: String| {
        engine("make the global directory of", &gtm.directory, cause.into(), ErrorCause::GtmBroken)
    };
    let mut editor = process::program(&gtm.installation, "mumps", &gtm.directory);
    editor.args(["-run", "GDE"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = process::spawn(&mut editor, &gtm.directory).map_err(|e| failed(e.to_string()))?;
    if let Some(mut pipe) = child.stdin.take() {
        // What it did not take it complains of itself.
        let _ = pipe.write_all(commands.as_bytes());
    }
    let output = child.wait_with_output().map_err(|e| failed(e.to_string()))?;
    let mut words = String::from_utf8_lossy(&output.stdout).into_owned();
    words += &String::from_utf8_lossy(&output.stderr);
    if !output.status.success() || words.contains("GDE-E-") || !gtm.file(files::DIRECTORY).exists() {
        return Err(failed(words.split_whitespace().collect::<Vec<_>>().join(" ")));
    }
    Ok(())
}

/// Whether files there can be opened past the page cache, as asynchronous I/O needs it.
fn takes_direct_io(directory: &Path) -> Result<bool> {
    let path = directory.join(files::CATALOGUE);
    let flag = rustix::fs::OFlags::DIRECT.bits() as i32;
    match fs::OpenOptions::new().read(true).custom_flags(flag).open(&path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::InvalidInput => Ok(false),
        Err(error) => Err(Error::io("open", &path, error)),
    }
}

/// Writes our routine where it is not, or is another version's.
pub(super) fn write_routine(directory: &Path) -> Result<()> {
    let path = directory.join(files::ROUTINE);
    if fs::read_to_string(&path).is_ok_and(|there| there == ROUTINE) {
        return Ok(());
    }
    // GT.M compares times in seconds to know whether an object is old.
    files::remove(&[directory.join(files::OBJECT)])?;
    fs::write(&path, ROUTINE).map_err(|e| Error::io("write", &path, e))
}

/// See [`Adapter::add_globals`](super::super::Adapter::add_globals).
pub(super) fn add_globals(gtm: &Gtm, count: u32, subscripts: u64, progress: &mut Progress<'_>) -> Result<()> {
    let mut catalogue = gtm.catalogue()?;
    let first = catalogue.globals.len() as u32;
    validate(first, count, subscripts, MAX_SUBSCRIPTS)?;
    check_space(&gtm.directory, Bytes(files::global_size(subscripts).0.saturating_mul(count.into())))?;
    let last = first + count;
    unjournaled(gtm, || {
        kill_unfinished(gtm, &mut catalogue)?;
        catalogue.making = Some((first + 1, last));
        catalogue.write(&gtm.directory)?;
        let range = |global: u32| Range {
            verb: format!("make {global}"),
            from: 1,
            to: subscripts,
            step: bulk::SUBSCRIPTS_AT_ONCE,
        };
        bulk::run(gtm, (first + 1..=last).map(range).collect(), 1, progress).inspect_err(|_| {
            // What can't be removed now is removed by the next attempt.
            let _ = kill_unfinished(gtm, &mut catalogue.clone());
        })?;
        Ok(())
    })?;
    // Only now is everything in the files and the journal on.
    catalogue.globals.extend((0..count).map(|_| subscripts));
    catalogue.making = None;
    set_buffers(gtm, &catalogue)?;
    catalogue.write(&gtm.directory)
}

/// See [`Adapter::drop_globals`](super::super::Adapter::drop_globals).
pub(super) fn drop_globals(gtm: &Gtm) -> Result<()> {
    let mut catalogue = gtm.catalogue()?;
    let last = catalogue.making.map_or(catalogue.globals.len() as u32, |(_, last)| last);
    if last == 0 {
        return Ok(());
    }
    catalogue.globals.clear();
    catalogue.making = Some((1, last));
    catalogue.write(&gtm.directory)?;
    unjournaled(gtm, || kill_unfinished(gtm, &mut catalogue))?;
    set_buffers(gtm, &catalogue)
}

/// Removes what an attempt that did not end has left.
fn kill_unfinished(gtm: &Gtm, catalogue: &mut Catalogue) -> Result<()> {
    let Some((first, last)) = catalogue.making else { return Ok(()) };
    let mut process = gtm.process()?;
    for global in first..=last {
        process.ask("remove a global of", &format!("kill {global}"))?;
    }
    drop(process);
    catalogue.making = None;
    catalogue.write(&gtm.directory)
}

/// Does something in bulk without the journal. GT.M writes everything to the files when its last process ends.
fn unjournaled(gtm: &Gtm, work: impl FnOnce() -> Result<()>) -> Result<()> {
    gtm.release();
    // After what dead processes left behind was recovered.
    drop(gtm.process()?);
    journal::off(gtm)?;
    let worked = work();
    let on = journal::on(gtm);
    worked.and(on)
}

fn set_buffers(gtm: &Gtm, catalogue: &Catalogue) -> Result<()> {
    let option = format!("-global_buffers={}", write_buffers(&catalogue.globals));
    gtm.administer("set the buffers of", &["set", &option, "-region", "DEFAULT"]).map(|_| ())
}

/// See [`Adapter::purge`](super::super::Adapter::purge).
pub(super) fn purge(gtm: &Gtm) -> Result<()> {
    let existing = files::existing(&gtm.directory)?;
    if Catalogue::read(&gtm.directory)?.is_none() {
        return match existing.into_iter().next() {
            Some(path) => Err(Error::Foreign { path }),
            None => Ok(()),
        };
    }
    gtm.release();
    let blamed = [journal::UNSETTLED, &[journal::IN_USE]].concat();
    for name in [files::READ, files::WRITE].iter().filter(|name| gtm.file(name).exists()) {
        // Frees the shared memory that killed processes have left. A file that was never finished has none.
        if let Err(printed) =
            journal::run_down(gtm, &["-override", "-file", name], &[journal::IN_USE], &blamed)?
            && printed.mentions(&[journal::IN_USE, process::LATE])
        {
            return Err(engine("purge", &gtm.directory, printed.into(), ErrorCause::GtmInUse));
        }
    }
    gtm.ready.store(false, Ordering::Relaxed);
    // And what GT.M created while it closed them.
    files::remove(&files::existing(&gtm.directory)?)?;
    files::sync(&gtm.directory)
}
