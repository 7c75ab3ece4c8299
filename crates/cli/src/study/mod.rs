//! `iolite study`: the same operations under one circumstance after another.

mod args;
mod lab;
mod place;

use iolite_engine::Control;
use iolite_model::{
    BackendKind, BlockPoint, Bytes, CachePoint, Overwrite, ReadAheadPoint, RingOptions, StudySetting, Warning,
};
use iolite_observe::ReadAhead;
use iolite_report::study::Circumstance;
use iolite_suites::{BlockSizeStudy, CacheStudy, DEFAULT_BLOCKS, ReadAheadStudy};

use crate::exit::{Exit, UsageError};
use crate::{output, setup, signals};
pub(crate) use args::StudyArgs;
use args::{BlockSizeArgs, CacheArgs, ReadAheadArgs, Study};
use lab::Lab;
use place::Place;

/// The mixes of a study that writes: shares of reads in percent.
const MIXES: [u8; 4] = [100, 70, 50, 0];

/// Runs a study.
///
/// # Errors
/// The target can't be studied. A failure later is part of what is printed.
pub(crate) fn run(args: StudyArgs) -> anyhow::Result<Exit> {
    match args.study {
        Study::Cache(args) => cache(&args),
        Study::Readahead(args) => read_ahead(&args),
        Study::Blocksize(args) => block_size(&args),
    }
}

fn cache(args: &CacheArgs) -> anyhow::Result<Exit> {
    let control = Control::new(signals::interrupt_flag()?);
    let place = Place::find(&args.target, &iolite_observe::host())?;
    let device = args.device.as_deref().map(|path| place::beneath(&place, path)).transpose()?;
    let subject = place.subject(args.block, Overwrite::Never, true)?;
    let mut study = CacheStudy { subject, device, block: args.block, window: args.target.window };
    let (name, steps) = (CachePoint::STUDY, study.steps(0).len());
    let mut lab = Lab::begin(name, &place, &args.output, steps, study.window, &control)?;
    study.subject.direct = lab.takes_direct(&place)?;
    if study.subject.direct && !args.block.0.is_multiple_of(place.logical_block().0) {
        let why = format!("direct I/O here is in multiples of {}, give --block", place.logical_block());
        lab.warn(Warning::LeftOut { what: format!("direct reads of {}", args.block), why });
        (study.subject.direct, study.device) = (false, None);
    }
    lab.conduct(&study.steps(iolite_session::unix_now().0), Ok, |windows, history| {
        study.findings(windows, history)
    })
}

fn read_ahead(args: &ReadAheadArgs) -> anyhow::Result<Exit> {
    // Before the setting is touched: it is to be restored whatever comes.
    let control = Control::new(signals::undoing_interrupt_flag()?);
    let place = Place::find(&args.target, &iolite_observe::host())?;
    let mut setting = ReadAhead::of(&place.storage)?;
    let subject = place.subject(args.block, Overwrite::Never, true)?;
    let mut values = args.values.clone();
    values.sort_unstable();
    values.dedup();
    let settings = values.into_iter().map(|kib| Bytes(kib * 1024)).collect();
    let present = setting.original();
    let (block, window) = (args.block, args.target.window);
    let mut study = ReadAheadStudy { subject, settings, present, block, window };
    let (name, steps) = (ReadAheadPoint::STUDY, study.steps(0).len());
    let mut lab = Lab::begin(name, &place, &args.output, steps, window, &control)?;
    lab.changes(&StudySetting { device: setting.device().to_owned(), original: present });
    study.subject.direct = lab.takes_direct(&place)?;
    output::note(&format!(
        "read-ahead of {} is {present} and will be so again; if this program is killed (kill -9): {}",
        setting.device(),
        setting.command()
    ));
    let (steps, original) = (study.steps(iolite_session::unix_now().0), setting.command());
    let changing = |mut point: ReadAheadPoint| {
        // The kernel may round: what is recorded is what was in effect.
        point.read_ahead = setting.set(point.read_ahead)?;
        Ok(point)
    };
    let exit = lab.conduct(&steps, changing, |windows, history| study.findings(windows, history));
    setting.restore().map_err(|error| anyhow::anyhow!("{error}; restore it by hand: {original}"))?;
    exit
}

fn block_size(args: &BlockSizeArgs) -> anyhow::Result<Exit> {
    let control = Control::new(signals::interrupt_flag()?);
    let place = Place::find(&args.target, &iolite_observe::host())?;
    let overwrite = overwrite(args, &place)?;
    let mut blocks = if args.sizes.is_empty() { DEFAULT_BLOCKS.to_vec() } else { args.sizes.clone() };
    blocks.sort_unstable();
    blocks.dedup();
    if blocks.contains(&Bytes(0)) || blocks.last().is_some_and(|block| *block > Bytes::GIB) {
        return Err(UsageError("--sizes: give sizes between 1 byte and 1 GiB".into()).into());
    }
    if args.sizes.is_empty() {
        blocks.retain(|block| *block <= place.span);
    }
    let subject = place.subject(blocks.last().copied().unwrap_or_default(), overwrite, true)?;
    let read_percents = if args.write { MIXES.to_vec() } else { vec![100] };
    let io_uring = iolite_sys::ring::available();
    let backend = match (args.depth, &io_uring) {
        (1, _) => BackendKind::Sync,
        (_, Ok(())) => BackendKind::IoUring(RingOptions::PLAIN),
        (_, Err(_)) => BackendKind::Threads,
    };
    let (order, depth, window) = (args.order(), args.depth, args.target.window);
    let mut study = BlockSizeStudy { subject, blocks, read_percents, order, backend, depth, window };
    let (name, steps) = (BlockPoint::STUDY, study.steps(0).len());
    let devices = setup::named_devices(&args.allow_overwrite)?;
    let mut lab = Lab::begin(name, &place, &args.output, steps, window, &control)?;
    lab.allow_overwriting(devices);
    if let (2.., Err(error)) = (args.depth, io_uring) {
        lab.warn(Warning::NoIoUring { reason: error.to_string() });
    }
    study.subject.direct = lab.takes_direct(&place)?;
    if study.subject.direct {
        let unit = place.logical_block();
        let fits = |block: &Bytes| block.0.is_multiple_of(unit.0);
        for block in study.blocks.iter().filter(|block| !fits(block)) {
            let why = format!("direct I/O here is in multiples of {unit}");
            lab.warn(Warning::LeftOut { what: format!("blocks of {block}"), why });
        }
        study.blocks.retain(fits);
    }
    lab.conduct(&study.steps(iolite_session::unix_now().0), Ok, |windows, history| {
        study.findings(windows, history)
    })
}

/// What of an existing target may be destroyed.
fn overwrite(args: &BlockSizeArgs, place: &Place) -> Result<Overwrite, UsageError> {
    let shown = place.name.display();
    match (args.overwrite, place.existing.is_some()) {
        (None, true) if args.write => Err(UsageError(format!(
            "--write destroys what {shown} holds: say so with --overwrite anything, or --overwrite blank if it must be empty, \
             or give a directory, in which a file is made"
        ))),
        (Some(_), false) => Err(UsageError(format!(
            "--overwrite is about what exists already; in the directory {shown} a file is made: leave it out"
        ))),
        (overwrite, _) => Ok(overwrite.map_or(Overwrite::Never, Overwrite::from)),
    }
}
