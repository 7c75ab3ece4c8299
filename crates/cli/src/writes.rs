//! What a command may write: the arguments, the plan that is shown before it begins, and its refusal.

use iolite_model::{Bytes, CopiedWrites, Filesystem, Storage, Task, WritePlan};
use iolite_session::WriteLimits;

use crate::exit::UsageError;
use crate::output;

/// Limits of what is written.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct WriteArgs {
    /// Maximum amount of data to write; a run that plans to write more is rejected before it starts, and phases that run for a
    /// fixed time end when they reach it
    #[arg(long, value_name = "SIZE")]
    pub(crate) max_write: Option<Bytes>,

    #[command(flatten)]
    pub(crate) keep: KeepFreeArgs,
}

/// Free space that is left.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct KeepFreeArgs {
    /// Space on the file system that the files of the run must leave free [default: 5 % of its size, at least 1GiB]
    #[arg(long, value_name = "SIZE", env = "IOLITE_KEEP_FREE", hide_env_values = true)]
    pub(crate) keep_free: Option<Bytes>,
}

impl KeepFreeArgs {
    /// The limits, without one of bytes.
    pub(crate) fn limits(&self) -> WriteLimits {
        WriteLimits { max: None, keep_free: self.keep_free }
    }
}

impl WriteArgs {
    pub(crate) fn limits(&self) -> WriteLimits {
        WriteLimits { max: self.max_write, ..self.keep.limits() }
    }

    /// Plans sets of tasks, shows the plan, and returns it.
    ///
    /// # Errors
    /// It does not keep the limits.
    pub(crate) fn plan<'a>(
        &self,
        sets: impl IntoIterator<Item = &'a [Task]>,
        storage: &Storage,
        quiet: bool,
    ) -> Result<WritePlan, UsageError> {
        accept(self.limits(), self.limits().plan(sets, storage), &storage.filesystem, quiet)
    }

    /// As [`plan`](WriteArgs::plan), of what is planned already.
    ///
    /// # Errors
    /// It does not keep the limits.
    pub(crate) fn accept(
        &self,
        plan: WritePlan,
        storage: &Storage,
        quiet: bool,
    ) -> Result<WritePlan, UsageError> {
        accept(self.limits(), self.limits().on(plan, storage), &storage.filesystem, quiet)
    }

    /// As [`accept`](WriteArgs::accept), of a run inside a database.
    ///
    /// # Errors
    /// It does not keep the limits.
    pub(crate) fn accept_in_database(
        &self,
        plan: WritePlan,
        storage: &Storage,
        quiet: bool,
    ) -> Result<WritePlan, UsageError> {
        let plan = self.limits().on(plan, storage);
        self.limits().check_in_database(&plan, &storage.filesystem).map_err(UsageError::new)?;
        show(&plan, quiet);
        Ok(plan)
    }
}

/// Shows where what is written goes besides the database's own files: a warning, also where no progress is printed.
pub(crate) fn show_copies(
    database: &dyn iolite_db::Instance,
    written: &CopiedWrites,
) -> Result<(), iolite_db::Error> {
    for copy in database.log_copies()? {
        output::note(&format!("warning: {}", copy.describe(&written.kept_out_of(&copy))));
    }
    Ok(())
}

/// Shows a plan that keeps the limits.
fn accept(
    limits: WriteLimits,
    plan: WritePlan,
    filesystem: &Filesystem,
    quiet: bool,
) -> Result<WritePlan, UsageError> {
    limits.check(&plan, Some(filesystem)).map_err(UsageError::new)?;
    show(&plan, quiet);
    Ok(plan)
}

/// Shows what will be written, unless nothing is to be printed.
pub(crate) fn show(plan: &WritePlan, quiet: bool) {
    if let Some(line) = iolite_report::write_plan::line(plan).filter(|_| !quiet) {
        output::note(&line);
    }
}
