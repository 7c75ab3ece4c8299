//! Name, clones, order and length of jobs.

use iolite_model::{Bytes, Nanos, Ramp};

use crate::language::error::{OptionError, Result};
use crate::language::options::Spec;
use crate::language::options::entry::{MAX, choice, flag, ignored, integer, put, size, special, text, time};
use crate::language::options::option::{Form, Opt};
use crate::language::thread::{ExitAll, ExitWhat, Thread, ThreadIndex};
use crate::language::value::{OptionValue, Unit};

/// Name, clones, order and length of jobs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Job {
    /// Name.
    pub name: String,
    /// Name of its section, which its files are called by whatever `name` says; empty where it is in none.
    pub section: String,
    /// What its author says about it.
    pub description: Option<String>,
    /// Name of a job before it that has to be over before it starts.
    pub wait_for: Option<String>,
    /// Clones; at least 1.
    pub numjobs: u32,
    /// Times that the whole of it is done.
    pub loops: u32,
    /// Waits for all jobs before it; also begins a group.
    pub stonewall: bool,
    /// Begins a group.
    pub new_group: bool,
    /// The longest that it may take; zero for no limit.
    pub runtime: Nanos,
    /// Starts over until the runtime is over.
    pub time_based: bool,
    /// Time before it starts: one of these bounds or anything between.
    pub start_delay: (Nanos, Nanos),
    /// Time at its start that is not counted.
    pub ramp_time: Nanos,
    /// Amount of I/O at its start that is not counted.
    pub ramp_size: Bytes,
    /// Ends others when it ends.
    pub exit_all: bool,
    /// Ends others when it fails.
    pub exit_all_on_error: bool,
    /// Which others.
    pub exit_what: ExitWhat,
    /// Shell command before it.
    pub prerun: Option<String>,
    /// Shell command after it.
    pub postrun: Option<String>,
}

impl Job {
    /// The runtime, where there is one.
    pub fn limit(&self) -> Option<Nanos> {
        (self.runtime.0 > 0).then_some(self.runtime)
    }

    /// Whether it goes on until the runtime is over.
    pub fn goes_on(&self) -> bool {
        self.time_based && self.runtime.0 > 0
    }

    /// What is not counted at its start.
    fn ramp(&self) -> Result<Ramp> {
        match (self.ramp_time.0 > 0, self.ramp_size.0 > 0) {
            (true, true) => Err(OptionError::refused(
                "ramp_time and ramp_size cannot be used together",
                "specify one of them",
            )),
            (false, true) => Ok(Ramp::Amount(self.ramp_size)),
            _ => Ok(Ramp::Time(self.ramp_time)),
        }
    }

    /// What the job's own files are called by.
    pub fn file_name(&self) -> &str {
        if self.section.is_empty() { &self.name } else { &self.section }
    }

    /// Changes `thread` to what these settings say.
    pub(crate) fn lower(&self, spec: &Spec, place: ThreadIndex, thread: &mut Thread) -> Result {
        thread.name.clone_from(&self.name);
        thread.description.clone_from(&self.description);
        thread.exec = [self.prerun.clone(), self.postrun.clone()];
        thread.exit_all = (self.exit_all || self.exit_all_on_error)
            .then_some(ExitAll { on_error: !self.exit_all, what: self.exit_what });
        thread.exit_on_io_done = spec.engine.exit_on_io_done;
        if self.time_based && self.runtime.0 == 0 {
            thread.notes.push("time_based has no effect without a runtime: specify runtime=".into());
        }
        let ramp = self.ramp()?;
        let (min, max) = self.start_delay;
        if let Some(task) = thread.io() {
            task.start.after.clone_from(&self.wait_for);
            task.ramp = ramp;
            task.start.delay = Nanos(spec.io.draw(place, START_DELAY, 0, (min.0, max.0)));
        } else if matches!(ramp, Ramp::Amount(_)) {
            return Err(OptionError::refused(
                "ramp_size is not supported for engines that do file operations, which move no data",
                "use ramp_time=",
            ));
        } else if self.wait_for.is_some() || max.0 > 0 {
            return Err(OptionError::refused(
                "wait_for and startdelay are not supported for engines that do file operations",
                "remove them, or put the job behind a stonewall",
            ));
        }
        Ok(())
    }
}

/// Distinguishes the draw of a delay from others.
const START_DELAY: u64 = 1;

/// A time, or two with a `-` or a `:` between them.
fn delay(given: &OptionValue<'_>) -> Result<(Nanos, Nanos)> {
    let whole = given.text()?;
    let (one, other) = whole.split_once(['-', ':']).unwrap_or((whole, whole));
    let one = given.part(one).time(Unit::Seconds)?;
    let other = given.part(other).time(Unit::Seconds)?;
    Ok((one.min(other), one.max(other)))
}

/// The options.
pub const OPTIONS: &[Opt] = &[
    text("name", |s, text| s.job.name = text.to_owned())
        .help("Name of the job, shown with its results and used in the names of its files."),
    text("description", |s, text| s.job.description = Some(text.to_owned()))
        .help("Description, shown with the results."),
    integer("numjobs", 1, 100_000, |s, value| s.job.numjobs = value as u32)
        .default("1")
        .help("Number of clones of the job that run at the same time."),
    integer("loops", 0, MAX, |s, value| s.job.loops = (value as u32).max(1))
        .default("1")
        .help("Number of times the job is run; 0 means 1."),
    time("runtime", Unit::Seconds, |s, time| s.job.runtime = time)
        .named_also(&["timeout"])
        .default("0")
        .help("Ends the job after this time, even if it is not complete. 0 for no limit."),
    flag("time_based", |s, on| s.job.time_based = on).help("Repeats the job until its runtime has elapsed."),
    special("startdelay", Form::Special("a time in seconds, or a range of times such as 1-5"), |s, g| {
        put(&mut s.job.start_delay, delay(g))
    })
    .named_also(&["start_delay"])
    .default("0")
    .help("Delays the start of the job; with a range, by a random time for each clone."),
    time("ramp_time", Unit::Seconds, |s, time| s.job.ramp_time = time)
        .default("0")
        .help("Time at the start that is excluded from the results. It is not part of the runtime."),
    flag("stonewall", |s, on| s.job.stonewall = on)
        .named_also(&["wait_for_previous"])
        .help("Starts the job when all previous jobs have ended. Also begins a new group."),
    flag("new_group", |s, on| s.job.new_group = on)
        .help("Begins a new group. Results of a group can be reported together."),
    text("wait_for", |s, text| s.job.wait_for = Some(text.to_owned())).help(
        "Starts the job when all clones of the named job, which must be defined before it, have ended.",
    ),
    ignored("thread", Form::Flag).help("Clones are threads instead of processes; always the case here."),
    ignored("threads", Form::Integer { min: 0, max: 4_294_967_295 })
        .help("Has no effect, as in fio. See numjobs."),
    flag("exitall", |s, on| s.job.exit_all = on).help("When the job ends, ends other jobs: see exit_what."),
    flag("exitall_on_error", |s, on| s.job.exit_all_on_error = on)
        .help("When the job ends with an error, ends other jobs: see exit_what."),
    choice!(
        "exit_what",
        &[("group", ExitWhat::Group), ("stonewall", ExitWhat::Stonewall), ("all", ExitWhat::All)],
        |s, v| s.job.exit_what = v
    )
    .default("group")
    .help("Jobs that exitall ends: those of the group, all running jobs, or all jobs."),
    text("exec_prerun", |s, text| s.job.prerun = Some(text.to_owned()))
        .help("Shell command to run before the job; its output is written to NAME.prerun.txt."),
    text("exec_postrun", |s, text| s.job.postrun = Some(text.to_owned()))
        .help("Shell command to run after the job; its output is written to NAME.postrun.txt."),
    size("ramp_size", |s, size| s.job.ramp_size = size)
        .default("0")
        .help(
            "Amount of I/O of each clone at the start that is excluded from the results; not with ramp_time. \
             The runtime begins after it.",
        )
        .differs(
            "each clone has its own amount, also with group_reporting, where fio counts the whole group's",
        ),
    special("profile", Form::Text, |_, _| {
        Err(OptionError::refused("it is an option of the command line", "write fio --profile=tiobench"))
    })
    .help(
        "Built-in test, on the command line: tiobench, whose options size (in MiB), block (in bytes), \
         numruns, dir and threads may follow it: sequential and random writes, then reads, of four files.",
    )
    .bounded(
        "the options of the profile take effect, which fio 3.33 reads and leaves unused; act, at which fio \
         3.33 ends with a buffer overflow, is rejected",
    ),
];
