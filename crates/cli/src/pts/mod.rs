//! `iolite pts`: SNIA's Solid State Storage Performance Test Specification on a device or a file.

mod args;
mod resume;
mod target;

use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;

use iolite_engine::Control;
use iolite_model::{
    Bytes, Concluded, Event, Filesystem, Nanos, PtsPurge, PtsPurged, PtsResumed, PtsTerms, Storage, WritePlan,
};
use iolite_results::{PtsProgress, Run, RunRequest};
use iolite_session::{DevicePurge, Session, SwitchedCache, ending};
use iolite_suites::{Pts, PtsAccess};

use self::target::InspectedTarget;
use crate::conduct::printed;
use crate::exit::{self, Exit, UsageError, refuse};
use crate::{output, setup, signals};

pub(crate) use self::args::PtsArgs;

/// Runs the tests.
///
/// # Errors
/// The target can't be tested, or the user has not allowed overwriting it. A failure later is part of what is printed.
pub(crate) fn run(args: PtsArgs) -> anyhow::Result<Exit> {
    let found = InspectedTarget::at(&args.target)?;
    let terms = terms(&args, &found)?;
    let storage = iolite_observe::storage_of_target(&terms.target)?;
    let missing = found.missing(&terms);
    check_space(&terms, missing, &storage.filesystem)?;
    let earlier = args.resume.as_deref().map(|name| resume::earlier(&args, name, &terms)).transpose()?;
    let before = earlier.as_ref().map(|(run, _)| run);
    let plan = WritePlan { space: missing, ..Pts::writes(&terms, found.purged(&terms), before) };
    let allowed = allowed(&args, &terms, &args.writes.limits().on(plan.clone(), &storage))?;
    if !args.output.view.quiet {
        output::note(&format!(
            "{} is overwritten; compare with the drive's rated endurance",
            terms.target.display()
        ));
    }
    // What was switched is restored, however often the user interrupts.
    let flag = if terms.write_cache.is_some() {
        signals::undoing_interrupt_flag()?
    } else {
        signals::interrupt_flag()?
    };
    let control = Control::new(flag);
    let plan = args.writes.accept(plan, &storage, args.output.view.quiet)?;
    let mut cache = write_cache(&args, &terms, &storage, found.is_device, before)?;
    let mut session = setup::begin(storage, None, &args.output, plan.duration, &control)?;
    if let Some(earlier) = earlier {
        take_over(&mut session, earlier);
    }
    session.scratch().allow_overwriting(allowed);
    session.plan_writes(&plan);
    session.conclude(Concluded::of(&RunRequest::new("pts", terms.target.display().to_string())));
    session.conclude(Concluded::of(&terms));
    cache.record(&mut session);
    let backend = session.many_in_flight();
    if !found.direct {
        session.warn_of_no_direct_io();
    }
    Pts::left_out(&terms, &found.target, found.is_device)
        .into_iter()
        .for_each(|warning| session.warn(warning));
    let access = PtsAccess { backend, direct: found.direct, purged: found.purged(&terms) };
    let mut procedure = Pts::new(terms.clone(), access);
    let mut purge = DevicePurge::new(&terms.target, access.purged, &control);
    let failure = session.drive(&mut procedure, &mut purge).err();
    let restored = cache.restore();
    let run = printed(session.end(ending(failure, &control)), &args.output)?;
    restored?;
    let progress = PtsProgress::of(&run, &terms);
    Ok(match exit::of_run(&run) {
        Exit::Fit if !progress.conforms() => Exit::Marginal,
        exit => exit,
    })
}

/// The drive's write cache, switched as asked for.
fn write_cache(
    args: &PtsArgs,
    terms: &PtsTerms,
    storage: &Storage,
    is_device: bool,
    earlier: Option<&Run>,
) -> Result<SwitchedCache, UsageError> {
    // A class continues with a warning.
    let cache = SwitchedCache::switch(terms, storage, is_device, earlier, args.write_cache.is_some())
        .map_err(|error| UsageError::new(format!("--write-cache: {error}; or omit --write-cache")))?;
    if let Some(notice) = cache.notice().filter(|_| !args.output.view.quiet) {
        output::note(&notice);
    }
    Ok(cache)
}

/// Takes over what an earlier run has measured, and records which run that was.
fn take_over(session: &mut Session<'_>, (run, events): (Run, Vec<Event>)) {
    let length = session.take_over(events);
    let phases = session.history().len() as u64;
    let ended = run.info.started_unix.0.saturating_add(length.0);
    let idle = Nanos(session.run().info.started_unix.0.saturating_sub(ended));
    // A purge by a command is no phase: without this it would be repeated.
    run.concluded::<PtsPurged>().for_each(|purged| session.conclude(Concluded::of(&purged)));
    // Where the earlier run has continued others: the times between are no waits.
    run.concluded::<PtsResumed>().for_each(|resumed| session.conclude(Concluded::of(&resumed)));
    session.conclude(Concluded::of(&PtsResumed { run: run.info.id, phases, idle }));
}

fn terms(args: &PtsArgs, found: &InspectedTarget) -> Result<PtsTerms, UsageError> {
    let terms = Pts::terms(args.request(), &found.target);
    let refused =
        |error: &dyn std::fmt::Display| UsageError::new(format!("{}: {error}", args.target.display()));
    let terms = terms.map_err(|error| refused(&error))?;
    let by_command = terms.purge.is_some_and(|purge| purge != PtsPurge::Discard);
    if by_command && !found.is_device {
        return Err(refused(&"this --purge is a command of a device: specify a device, or --purge discard"));
    }
    // It would erase the whole drive beneath a partition or volume.
    let is_of_nvme = matches!(terms.purge, Some(PtsPurge::Format | PtsPurge::Sanitize));
    if is_of_nvme && !found.is_namespace {
        let text = "this --purge is a command of an NVMe drive, which would erase all of it: specify the drive itself instead of a \
                    partition or volume; other drives: --purge discard or secure-discard";
        return Err(refused(&text));
    }
    Ok(terms)
}

/// What will be written, and for how long.
fn budget(terms: &PtsTerms, plan: &WritePlan) -> String {
    let line = iolite_report::write_plan::line(plan).unwrap_or_default();
    let shown = terms.target.display();
    let endurance = if plan.drives.is_empty() { "; compare with the drive's rated endurance" } else { "" };
    format!(
        "{shown} is overwritten ({line}, including purging and preconditioning; less if steady state comes earlier){endurance}"
    )
}

/// Refuses a sparse file that the file system has no space for, whatever is to be left free.
fn check_space(terms: &PtsTerms, missing: Bytes, filesystem: &Filesystem) -> Result<(), UsageError> {
    let free = filesystem.free;
    if filesystem.size.0 == 0 || missing <= free {
        return Ok(());
    }
    Err(UsageError::new(format!(
        "{} is sparse: writing it takes {missing}, and {free} are free: specify a smaller --active-range, or a smaller file",
        terms.target.display()
    )))
}

/// What the user allows to be overwritten.
fn allowed(args: &PtsArgs, terms: &PtsTerms, plan: &WritePlan) -> anyhow::Result<iolite_engine::Overwriting> {
    let same = |path: &PathBuf| path.canonicalize().is_ok_and(|path| path == terms.target);
    match &args.allow_overwrite {
        Some(path) if same(path) => {
            let device = std::fs::metadata(path).is_ok_and(|there| there.file_type().is_block_device());
            setup::named_devices(if device { std::slice::from_ref(path) } else { &[] })
        }
        Some(path) => {
            refuse!(
                "--allow-overwrite {} differs from the target {}: specify the same path",
                path.display(),
                args.target.display()
            );
        }
        None => {
            let shown = args.target.display();
            refuse!("{}; to confirm, add --allow-overwrite {shown}", budget(terms, plan));
        }
    }
}
