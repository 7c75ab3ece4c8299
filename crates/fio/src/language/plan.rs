//! From sections to threads: defaults, clones, groups, and who waits for whom.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use iolite_model::{FileLock, FileTask, FilesTarget, JobTask, LayOut, Overwrite, Reserve, Target};

use super::assign::{Assignment, assignments, engine_of, shown_settings};
use super::command_line::Invocation;
use super::error::{OptionError, Result, quoted};
use super::job_file::{Document, HostContext, Section};
use super::lower::lower;
use super::options::Spec;
use super::options::option::{Form, Support};
use super::options::trace::Merged;
use super::problem::{Origin, Problem, Problems};
use super::thread::{Thread, ThreadIndex};
use super::value::OptionValue;

/// Threads where `--max-jobs` doesn't say anything else.
const THREADS: u32 = 4096;

/// The most that `--max-jobs` can say.
const MAX_THREADS: u32 = 65_536;

/// Settings are applied at most so often, counted over all jobs: more takes longer than anybody waits.
const MAX_APPLIED: usize = 10_000_000;

/// Settings of all threads together are at most so large, in bytes.
const MAX_BYTES: usize = 256 << 20;

/// Max problems that are reported at once.
const MAX_REPORTED: usize = 20;

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plan {
    /// The threads, in the order in which they are numbered; none where no job is named.
    pub threads: Vec<Thread>,
    /// Settings of the command line's defaults and of the last job file's, by canonical name.
    pub global_settings: Vec<(String, String)>,
    /// Files to write before anything runs: traces that are merged.
    pub merged: Vec<Merged>,
}

/// Makes threads of a command line and of its job files, in their order. Variables and keywords are worked out here.
///
/// # Errors
/// All that is wrong with the first job that is wrong.
pub fn plan(
    invocation: &Invocation,
    documents: &[Document],
    context: &HostContext<'_>,
) -> Result<Plan, Problems> {
    let mut planner = Planner::new(invocation, context);
    for section in &invocation.jobs {
        planner.section(section)?;
    }
    if let Some(profile) = &invocation.profile {
        for section in &profile.sections(context) {
            planner.section(section)?;
        }
    }
    let defaults = planner.defaults.clone();
    for (index, document) in documents.iter().enumerate() {
        let document = document.expanded(context)?;
        planner.defaults = defaults.clone();
        planner.wall |= index > 0;
        let chosen = |section: &&Section| {
            section.is_global()
                || invocation.sections.is_empty()
                || invocation.sections.contains(&section.name)
        };
        for section in document.sections.iter().filter(chosen) {
            planner.section(section)?;
        }
    }
    named_sections_exist(invocation, documents)?;
    let global_settings = shown_settings(&planner.defaults.assignments);
    Ok(Plan { threads: planner.threads, global_settings, merged: planner.merged })
}

fn named_sections_exist(invocation: &Invocation, documents: &[Document]) -> Result<(), Problem> {
    let Some(first) = documents.first() else { return Ok(()) };
    let exists =
        |name: &str| documents.iter().flat_map(|file| &file.sections).any(|section| section.name == name);
    match invocation.sections.iter().find(|name| !exists(name)) {
        Some(name) => {
            let origin = Origin { file: Some(first.file.clone()), line: 1, column: 1 };
            let what = format!("`--section`: no job file has the section {}", quoted(name));
            Err(origin.problem(what, "specify the name in the brackets"))
        }
        None => Ok(()),
    }
}

/// Settings that jobs start from.
#[derive(Debug, Clone, Default)]
struct Defaults {
    assignments: Vec<Assignment>,
    /// What they come to.
    spec: Spec,
}

struct Planner<'a> {
    invocation: &'a Invocation,
    context: &'a HostContext<'a>,
    defaults: Defaults,
    threads: Vec<Thread>,
    /// The jobs so far, by name: how many there are of that name.
    names: HashMap<String, u32>,
    jobs: u32,
    group: u32,
    /// Jobs in the group.
    grouped: u32,
    /// The next job waits for all before it: another file starts.
    wall: bool,
    /// Settings applied so far.
    applied: usize,
    /// Bytes of the threads' settings so far.
    bytes: usize,
    /// Merged traces so far.
    merged: Vec<Merged>,
}

impl<'a> Planner<'a> {
    fn new(invocation: &'a Invocation, context: &'a HostContext<'a>) -> Planner<'a> {
        Planner {
            invocation,
            context,
            defaults: Defaults::default(),
            threads: Vec::new(),
            names: HashMap::new(),
            jobs: 0,
            group: 0,
            grouped: 0,
            wall: false,
            applied: 0,
            bytes: 0,
            merged: Vec::new(),
        }
    }

    fn section(&mut self, section: &Section) -> Result<(), Problems> {
        let own = assignments(section, &self.defaults.assignments)?;
        if section.is_global() {
            let mut spec = std::mem::take(&mut self.defaults.spec);
            self.apply(&mut spec, &own, section)?;
            self.defaults.spec = spec;
            self.defaults.assignments.extend(own);
            return Ok(());
        }
        let engine = engine_of(&own, &self.defaults.assignments);
        let foreign = |assignment: &Assignment| !assignment.is_for(&engine);
        let mut spec = if self.defaults.assignments.iter().any(foreign) {
            // What the defaults say about another engine has no meaning here.
            let fitting: Vec<Assignment> =
                self.defaults.assignments.iter().filter(|one| one.is_for(&engine)).cloned().collect();
            let mut spec = Spec::default();
            self.apply(&mut spec, &fitting, section)?;
            spec
        } else {
            self.defaults.spec.clone()
        };
        spec.job.name = section.name.clone();
        spec.job.section = section.name.clone();
        self.apply(&mut spec, &own, section)?;
        let all = self.defaults.assignments.iter().filter(|one| one.is_for(&engine)).chain(&own);
        let notes = notes(all);
        self.job(&spec, section, &own, &notes)
    }

    /// Applies settings; all that are wrong are reported.
    fn apply(&mut self, spec: &mut Spec, settings: &[Assignment], section: &Section) -> Result<(), Problems> {
        self.applied += settings.len();
        if self.applied > MAX_APPLIED {
            let what = "too many settings in global sections for this number of jobs";
            return Err(section.origin.problem(what, "split the job file").into());
        }
        let mut problems = Vec::new();
        for setting in settings {
            let given = OptionValue { text: setting.value.as_deref(), kb_base: setting.kb_base };
            if let Err(error) = setting.option.set(spec, &given) {
                problems.push(setting.origin.value(setting.shown(), error));
            }
        }
        problems.truncate(MAX_REPORTED);
        if problems.is_empty() { Ok(()) } else { Err(Problems(problems)) }
    }

    /// The threads of a job.
    fn job(
        &mut self,
        spec: &Spec,
        section: &Section,
        own: &[Assignment],
        notes: &[String],
    ) -> Result<(), Problems> {
        let at = |name: &str| place_of(name, own, section);
        self.waited_for_exists(spec).map_err(|error| at("wait_for").together(error))?;
        let walled = std::mem::take(&mut self.wall) || spec.job.stonewall;
        if (walled || spec.job.new_group) && self.grouped > 0 {
            self.group += 1;
            self.grouped = 0;
        }
        let replaying = spec.trace.loaded(self.context).map_err(|error| at("read_iolog").together(error))?;
        let merged = replaying.as_ref().and_then(|trace| trace.merged.clone());
        self.merged.extend(merged.filter(|merged| !self.merged.contains(merged)));
        let with_trace = replaying.map(|trace| Spec { trace, ..spec.clone() });
        let spec = with_trace.as_ref().unwrap_or(spec);
        let appending = spec.extents.append.then(|| {
            let mut appending = spec.clone();
            appending.extents.before = self.ends();
            appending
        });
        let spec = appending.as_ref().unwrap_or(spec);
        let settings = shown_settings(own);
        let size: usize = settings.iter().map(|(name, value)| name.len() + value.len()).sum();
        self.room(spec.job.numjobs, size).map_err(|error| at("numjobs").together(error))?;
        for clone in 0..spec.job.numjobs {
            let number = self.threads.len() as u32;
            let together = number > 0 && (clone > 0 || !walled);
            let place = ThreadIndex { number, job: self.jobs, clone, group: self.group, together };
            let thread = lower(spec, place, &settings);
            let mut thread = thread.map_err(|error| section.origin.together(error))?;
            files_stay_locked(&thread).map_err(|error| at("lockfile").together(error))?;
            if self.invocation.read_only {
                only_reads(&mut thread).map_err(|error| at("rw").together(error))?;
            }
            for note in notes {
                if !thread.notes.contains(note) {
                    thread.notes.push(note.clone());
                }
            }
            self.threads.push(thread);
        }
        *self.names.entry(spec.job.name.clone()).or_default() += 1;
        self.jobs += 1;
        self.grouped += 1;
        Ok(())
    }

    /// Where the files of the jobs so far end when these have been prepared, which is, as with fio, where jobs that append begin: what
    /// only the writes of a job extend is as long as it was before.
    fn ends(&self) -> BTreeMap<PathBuf, u64> {
        let files = self.threads.iter().filter_map(|thread| match &thread.task {
            JobTask::Io(task) => match &task.target {
                // What is removed after the job is no place to go on from.
                Target::Files(target) if !target.remove && is_made_as_long(task, target) => {
                    Some(&target.files)
                }
                _ => None,
            },
            JobTask::Metadata(_) => None,
        });
        let mut ends = BTreeMap::new();
        for file in files.flatten() {
            let end = ends.entry(file.path.clone()).or_default();
            *end = file.offset.0.saturating_add(file.size.0).max(*end);
        }
        ends
    }

    /// A job can wait for one before it whose name is its alone.
    fn waited_for_exists(&self, spec: &Spec) -> Result {
        let Some(name) = &spec.job.wait_for else { return Ok(()) };
        let shown = quoted(name);
        match self.names.get(name) {
            Some(1) => Ok(()),
            Some(_) => Err(OptionError::refused(
                format!("several jobs are named {shown}"),
                "specify the job to wait for a unique name",
            )),
            None if *name == spec.job.name => Err(OptionError::refused(
                "a job cannot wait for itself",
                "name a job before it, or leave out `wait_for`",
            )),
            None => Err(OptionError::refused(
                format!("no job before this one that is run is named {shown}"),
                "a job can wait only for a job defined before it",
            )),
        }
    }

    /// Whether there is room for this many threads more, with settings of this many bytes each.
    fn room(&mut self, clones: u32, size: usize) -> Result {
        // As with fio, a smaller number reserves less and refuses nothing.
        let max = self.invocation.max_jobs.unwrap_or(THREADS).clamp(THREADS, MAX_THREADS);
        let threads = u32::try_from(self.threads.len()).unwrap_or(u32::MAX).saturating_add(clones);
        if clones == 0 {
            return Err(OptionError::refused("`numjobs` is 0", "specify at least 1, or leave out the job"));
        }
        if threads > max {
            return Err(OptionError::refused(
                format!("with this job there are {threads} threads, more than the maximum of {max}"),
                "raise --max-jobs (up to 65536), or lower `numjobs`",
            ));
        }
        self.bytes = self.bytes.saturating_add(size.saturating_mul(clones as usize));
        if self.bytes > MAX_BYTES {
            return Err(OptionError::refused(
                "the settings of all threads together are too large",
                "shorten the longest ones",
            ));
        }
        Ok(())
    }
}

/// Where the job's setting of this name is, or where the job starts.
fn place_of(name: &str, own: &[Assignment], section: &Section) -> Origin {
    let found = own.iter().rev().find(|assignment| assignment.option.name == name);
    found.map_or(&section.origin, |assignment| &assignment.origin).clone()
}

/// What differs from fio in these options, in short. Of one that is given several times the last counts; at its default value an
/// option asks for nothing.
fn notes<'a>(settings: impl Iterator<Item = &'a Assignment>) -> Vec<String> {
    let mut last: Vec<&Assignment> = Vec::new();
    for setting in settings {
        last.retain(|before| before.option.name != setting.option.name);
        last.push(setting);
    }
    let note = |setting: &&Assignment| match setting.option.support {
        Support::Differs(how) if !is_default(setting) => {
            let short = how.split(';').next().unwrap_or(how);
            Some(format!("{}: {short}", setting.option.name))
        }
        _ => None,
    };
    last.iter().filter_map(note).collect()
}

/// Whether an option has its default value, as it is usually written.
fn is_default(setting: &Assignment) -> bool {
    let alone = if setting.option.form == Form::Flag { "1" } else { "" };
    setting.value.as_deref().unwrap_or(alone).trim() == setting.option.default
}

/// Refuses what writes or trims; files that are missing or too short are not made either.
fn only_reads(thread: &mut Thread) -> Result {
    let name = quoted(&thread.name);
    match &mut thread.task {
        JobTask::Io(task) if task.mix.writes() || task.mix.trims() => Err(OptionError::refused(
            format!("job {name} writes or trims, which --readonly forbids"),
            "leave out --readonly",
        )),
        JobTask::Metadata(_) => Err(OptionError::refused(
            format!("job {name} creates or removes files, and --readonly is given"),
            "leave out --readonly",
        )),
        JobTask::Io(task) => {
            if let Target::Files(files) = &mut task.target {
                if files.parts_anew > 1 {
                    return Err(OptionError::refused(
                        format!("job {name} removes its files (unlink_each_loop), which --readonly forbids"),
                        "leave out --readonly, or set unlink_each_loop=0",
                    ));
                }
                files.lay_out = LayOut::Never;
                files.overwrite = Overwrite::Never;
                files.remove = false;
            }
            Ok(())
        }
    }
}

/// Refuses locks on files that others take the place of.
fn files_stay_locked(thread: &Thread) -> Result {
    let JobTask::Io(task) = &thread.task else { return Ok(()) };
    match &task.target {
        Target::Files(files) if files.lock != FileLock::None && files.parts_anew > 1 => {
            Err(OptionError::refused(
                format!("job {}: files that are created again cannot be locked", quoted(&thread.name)),
                "set unlink_each_loop=0, or lockfile=none",
            ))
        }
        _ => Ok(()),
    }
}

/// Whether the files of a task have their whole length before its operations.
fn is_made_as_long(task: &FileTask, target: &FilesTarget) -> bool {
    match target.lay_out {
        LayOut::Always => true,
        LayOut::Needed => task.mix.reads() || matches!(target.reserve, Reserve::Allocate | Reserve::Truncate),
        LayOut::Never | LayOut::Grow => false,
    }
}

#[cfg(test)]
mod tests;
