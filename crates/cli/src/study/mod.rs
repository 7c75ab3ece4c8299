//! `iolite study`: the same operations under one circumstance after another.

mod args;
mod place;

use iolite_engine::Control;
use iolite_model::{
    BackendKind, BlockPoint, Bytes, CachePoint, Concluded, Conclusion, Overwrite, ReadAheadPoint,
    StudySetting, StudyWindow, Task,
};
use iolite_observe::ReadAhead;
use iolite_report::study::Circumstance;
use iolite_results::RunRequest;
use iolite_session::{Session, StudyEnvironment, unix_now};
use iolite_suites::{
    BlockSizeStudy, CacheStudy, DEFAULT_BLOCKS, DEFAULT_READ_AHEAD, ReadAheadStudy, Study, StudyProcedure,
};

use crate::conduct::conduct;
use crate::exit::{self, Exit, UsageError, refuse};
use crate::shared_args::OutputArgs;
use crate::writes::WriteArgs;
use crate::{output, setup, signals};
pub(crate) use args::StudyArgs;
use args::{BlockSizeArgs, CacheArgs, ReadAheadArgs, StudyKind};
use place::StudyPlace;

/// The mixes of a study that writes: shares of reads in percent.
const MIXES: [u8; 4] = [100, 70, 50, 0];

/// Runs a study.
///
/// # Errors
/// The target can't be studied. A failure later is part of what is printed.
pub(crate) fn run(args: StudyArgs) -> anyhow::Result<Exit> {
    match args.study {
        StudyKind::Cache(args) => cache(&args),
        StudyKind::Readahead(args) => read_ahead(&args),
        StudyKind::Blocksize(args) => block_size(&args),
    }
}

fn cache(args: &CacheArgs) -> anyhow::Result<Exit> {
    let control = Control::new(signals::interrupt_flag()?);
    let place = StudyPlace::find(&args.target, &iolite_observe::host())?;
    let device = args.device.as_deref().map(|path| place::beneath(&place, path)).transpose()?;
    let subject = place.subject(args.block, Overwrite::Never, true)?;
    let mut study = CacheStudy { subject, device, block: args.block, window: args.target.window };
    let mut session = begin::<CachePoint, _>(&place, &study, &args.writes, &args.output, &control)?;
    study.subject.direct = takes_direct(&mut session, &place)?;
    study.keep_multiples(place.logical_block()).into_iter().for_each(|warning| session.warn(warning));
    measure(session, study, &args.output, Ok)
}

fn read_ahead(args: &ReadAheadArgs) -> anyhow::Result<Exit> {
    // Before the setting is touched: it is to be restored whatever comes.
    let control = Control::new(signals::undoing_interrupt_flag()?);
    let place = StudyPlace::find(&args.target, &iolite_observe::host())?;
    let mut setting = ReadAhead::of(&place.storage)?;
    let subject = place.subject(args.block, Overwrite::Never, true)?;
    let mut settings = args.values.clone();
    if settings.is_empty() {
        settings.extend(DEFAULT_READ_AHEAD.map(|kib| Bytes(kib * 1024)));
    }
    settings.sort_unstable();
    settings.dedup();
    let present = setting.original();
    let (block, window) = (args.block, args.target.window);
    let mut study = ReadAheadStudy { subject, settings, present, block, window };
    let mut session = begin::<ReadAheadPoint, _>(&place, &study, &args.writes, &args.output, &control)?;
    session.conclude(Concluded::of(&StudySetting { device: setting.device().to_owned(), original: present }));
    study.subject.direct = takes_direct(&mut session, &place)?;
    output::note(&format!(
        "the read-ahead of {} is {present} and is restored at the end; if this program is killed (kill -9), restore it with: {}",
        setting.device(),
        setting.command()
    ));
    let original = setting.command();
    let changing = |mut point: ReadAheadPoint| {
        // The kernel may round: what is recorded is what was in effect.
        point.read_ahead = setting.set(point.read_ahead)?;
        Ok(point)
    };
    let exit = measure(session, study, &args.output, changing);
    setting.restore().map_err(|error| anyhow::anyhow!("{error}; restore it manually: {original}"))?;
    exit
}

fn block_size(args: &BlockSizeArgs) -> anyhow::Result<Exit> {
    let control = Control::new(signals::interrupt_flag()?);
    let place = StudyPlace::find(&args.target, &iolite_observe::host())?;
    let overwrite = overwrite(args, &place)?;
    let blocks = blocks(args, &place)?;
    let subject = place.subject(blocks.last().copied().unwrap_or_default(), overwrite, true)?;
    let read_percents = if args.write { MIXES.to_vec() } else { vec![100] };
    let (order, depth, window) = (args.order(), args.depth, args.target.window);
    let backend = BackendKind::Sync;
    let mut study = BlockSizeStudy { subject, blocks, read_percents, order, backend, depth, window };
    let devices = setup::named_devices(&args.allow_overwrite)?;
    let mut session = begin::<BlockPoint, _>(&place, &study, &args.writes, &args.output, &control)?;
    session.scratch().allow_overwriting(devices);
    if depth > 1 {
        study.backend = session.many_in_flight();
    }
    study.subject.direct = takes_direct(&mut session, &place)?;
    if study.subject.direct {
        study.keep_multiples(place.logical_block()).into_iter().for_each(|warning| session.warn(warning));
    }
    measure(session, study, &args.output, Ok)
}

/// The sizes that are tried, ascending.
fn blocks(args: &BlockSizeArgs, place: &StudyPlace) -> Result<Vec<Bytes>, UsageError> {
    let mut blocks = if args.sizes.is_empty() { DEFAULT_BLOCKS.to_vec() } else { args.sizes.clone() };
    blocks.sort_unstable();
    blocks.dedup();
    if blocks.contains(&Bytes(0)) || blocks.last().is_some_and(|block| *block > Bytes::GIB) {
        refuse!("--sizes: specify sizes from 1 byte to 1 GiB");
    }
    if args.sizes.is_empty() {
        blocks.retain(|block| *block <= place.span);
    }
    Ok(blocks)
}

fn begin<'a, C: Circumstance, S: Study>(
    place: &StudyPlace,
    study: &S,
    writes: &WriteArgs,
    output: &OutputArgs,
    control: &'a Control,
) -> anyhow::Result<Session<'a>> {
    let steps: Vec<Task> = study.steps(0).into_iter().map(|step| Task::File(step.task)).collect();
    let plan = writes.plan(steps.chunks(1), &place.storage, output.view.quiet)?;
    let mut session =
        setup::begin(place.storage.clone(), place.directory.as_deref(), output, plan.duration, control)?;
    session.plan_writes(&plan);
    session.conclude(Concluded::of(&RunRequest::new(C::STUDY, place.name.display().to_string())));
    Ok(session)
}

/// Whether direct I/O works; warns where it does not.
fn takes_direct(session: &mut Session<'_>, place: &StudyPlace) -> iolite_session::Result<bool> {
    let Some(works) = place.existing_takes_direct() else { return session.takes_direct_io() };
    if !works {
        session.warn_of_no_direct_io();
    }
    Ok(works)
}

/// Runs a study, whose circumstances `change` brings about, and prints what came of it.
fn measure<S: Study>(
    session: Session<'_>,
    study: S,
    output: &OutputArgs,
    change: impl FnMut(S::Circumstance) -> iolite_session::Result<S::Circumstance>,
) -> anyhow::Result<Exit>
where
    StudyWindow<S::Circumstance>: Conclusion,
{
    let mut procedure = StudyProcedure::new(study, unix_now().0);
    let run = conduct(session, &mut procedure, &mut StudyEnvironment::new(change), output)?;
    Ok(exit::of_run(&run))
}

/// What of an existing target may be destroyed.
fn overwrite(args: &BlockSizeArgs, place: &StudyPlace) -> Result<Overwrite, UsageError> {
    let shown = place.name.display();
    match (args.overwrite, place.existing.is_some()) {
        (None, true) if args.write => Err(UsageError::new(format!(
            "--write destroys the contents of {shown}: confirm with --overwrite anything, or --overwrite blank if it must be \
             empty, or give a directory, in which a file is created"
        ))),
        (Some(_), false) => Err(UsageError::new(format!(
            "--overwrite applies to existing files and devices only; in the directory {shown} a new file is created"
        ))),
        (overwrite, _) => Ok(overwrite.unwrap_or_default()),
    }
}
