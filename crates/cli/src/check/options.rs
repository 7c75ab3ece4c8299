//! What the arguments mean.

use std::path::{Path, PathBuf};

use anyhow::Context;
use iolite_model::{Bytes, Iops, Nanos, Profile, RunInfo};
use iolite_suites::{CheckError, CheckOptions};

use super::args::CheckArgs;
use crate::exit::{UsageError, refuse};
use crate::shared_args::{OutputArgs, StallArgs};
use crate::{profiles, setup};

/// A check as it will be made.
pub(super) struct Options {
    /// The run, with what the machine and the storage are.
    pub(super) run: RunInfo,
    /// The directory, absolute.
    pub(super) directory: PathBuf,
    /// What the storage must do.
    pub(super) profile: Profile,
    pub(super) target_iops: Option<Iops>,
    pub(super) target_response: Option<Nanos>,
    pub(super) time: Nanos,
    pub(super) space: Bytes,
    pub(super) thorough: bool,
    /// Free space of the file system, without what is kept back.
    pub(super) free: Bytes,
    pub(super) buffered: bool,
    pub(super) stalls: StallArgs,
    pub(super) output: OutputArgs,
}

impl Options {
    /// Works the arguments out, looking at the machine and the storage but touching nothing.
    ///
    /// # Errors
    /// The directory or the profile is not there, or a budget is too small to say anything.
    pub(super) fn from_args(args: CheckArgs) -> anyhow::Result<Options> {
        let profile = profiles::load(&args.profile)?;
        let directory = setup::directory(&args.directory)?;
        if let Some(reason) = iolite_sys::pseudo::reason_of_directory(&directory) {
            let message = format!("{} cannot be checked: {reason}", directory.display());
            return Err(UsageError::new(message).into());
        }
        setup::takes_files(&directory)?;
        let storage = iolite_observe::storage(&directory)?;
        // A file system without a size (ramfs) does not report free space either.
        let sized = storage.filesystem.size.0 > 0;
        let free = if sized {
            let kept = args.keep.limits().kept(&storage.filesystem);
            Bytes(storage.filesystem.free.0.saturating_sub(kept.0))
        } else {
            args.budget_space.unwrap_or_default()
        };
        let (usual_time, usual_space) = if args.thorough {
            (CheckOptions::THOROUGH_TIME, CheckOptions::thorough_space(free))
        } else {
            (CheckOptions::DEFAULT_TIME, CheckOptions::default_space(free))
        };
        let time = args.budget_time.unwrap_or(usual_time);
        let space = args.budget_space.unwrap_or(usual_space);
        // A thorough check writes its file more than once.
        let fits = if args.thorough { Bytes(u64::MAX) } else { free };
        check_budgets(time, space, fits, args.budget_space.is_some(), &directory)?;
        if args.target_response == Some(Nanos(0)) {
            refuse!("--target-response must be longer than zero");
        }
        let run = setup::run_info(storage);
        Ok(Options {
            run,
            directory,
            profile,
            target_iops: args.target_iops.map(Iops),
            target_response: args.target_response,
            time,
            space,
            thorough: args.thorough,
            free,
            buffered: args.buffered,
            stalls: args.stalls,
            output: args.output,
        })
    }

    /// What the check procedure needs to know, with what was found out about the storage.
    pub(super) fn for_procedure(&self, direct: bool, io_uring: bool) -> CheckOptions {
        CheckOptions {
            profile: self.profile.clone(),
            target_iops: self.target_iops,
            target_response: self.target_response,
            time: self.time,
            space: self.space,
            thorough: self.thorough,
            free: self.free,
            direct,
            io_uring,
            flushes: self.run.storage.flushes_are_needed(),
            volatile: iolite_observe::volatile(&self.run.storage),
            rotational: iolite_observe::rotational(&self.run.storage),
            cpus: self.run.host.cpus,
            seed: self.run.started_unix.0,
        }
    }
}

/// Refuses budgets that nothing can come of, before anything is made.
fn check_budgets(
    time: Nanos,
    space: Bytes,
    free: Bytes,
    asked: bool,
    directory: &Path,
) -> anyhow::Result<()> {
    if time < CheckOptions::SHORTEST {
        return Err(UsageError::new(CheckError::Time(time).to_string()).into());
    }
    if asked && space < CheckOptions::SMALLEST {
        return Err(UsageError::new(CheckError::Space(space).to_string()).into());
    }
    if space < CheckOptions::SMALLEST {
        return Err(CheckError::Space(space)).with_context(|| {
            format!("{} has only {free} free, without the reserve (--keep-free)", directory.display())
        });
    }
    if space > free {
        refuse!(
            "--budget-space {space} is more than the {free} free in {}, without the reserve (by default 5 %, at least 1 GiB): \
                 specify less, or reduce the reserve (--keep-free)",
            directory.display()
        );
    }
    Ok(())
}
