//! A job in plain words, with its caveats, before it is run.

mod caveats;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use iolite_model::{
    Bytes, FileTask, FilesTarget, Job, JobTask, LayOut, Nanos, Overwrite, Ramp, Stop, Target, Task,
};

use crate::styler::{Emphasis, Style, Styler, filled};
use crate::words;

/// Columns of the labels.
const LABEL: usize = 14;

/// Max files that are described one by one.
const FILES: usize = 4;

/// What is known of the machine and of what the job names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SystemContext {
    /// The machine's memory; 0 where it is not known.
    pub memory: Bytes,
    /// What is there already of the files and devices that the job names.
    pub found: BTreeMap<PathBuf, ExistingFile>,
}

/// A file or device that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExistingFile {
    /// Its size.
    pub size: Bytes,
    /// A block device rather than a file.
    pub device: bool,
}

/// A job to be explained.
#[derive(Debug, Clone, Copy)]
pub struct JobToExplain<'a> {
    /// The job.
    pub job: &'a Job,
    /// What its language means other than is expected, as its translation says.
    pub notes: &'a [String],
    /// Where it would run.
    pub context: &'a SystemContext,
    /// The job in iolite's own language, where that is to be shown.
    pub native: Option<&'a str>,
}

/// What a job will do, in plain words, and its caveats.
pub fn text(explained: JobToExplain<'_>, style: Style) -> String {
    let styler = Styler(style);
    let JobToExplain { job, notes, context, native } = explained;
    let mut sections = vec![heading(job, styler)];
    let mut number = 0;
    for set in job.sets() {
        sections.push(set_text(set, &mut number, context, styler));
    }
    let mut caveats: Vec<_> = caveats::caveats(job, context).iter().map(ToString::to_string).collect();
    caveats.extend(notes.iter().cloned());
    if !caveats.is_empty() {
        sections.push(styler.paint(Emphasis::Caution, "caveats") + "\n" + &super::caveats(caveats, styler));
    }
    sections.extend(native.map(|native| {
        styler.paint(Emphasis::Strong, "equivalent job of iolite (TOML)") + "\n" + &lines(native, styler)
    }));
    filled(sections)
}

/// Text of several lines, each as it stands.
fn lines(text: &str, styler: Styler) -> String {
    text.lines().map(|line| styler.clean(line) + "\n").collect()
}

fn heading(job: &Job, styler: Styler) -> String {
    let sets = job.sets().len();
    let number = |count: usize, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
    let name =
        if job.name.is_empty() { "a job".to_owned() } else { format!("the job {}", styler.clean(&job.name)) };
    let order = match (job.tasks.len(), sets) {
        (1, _) => String::new(),
        (_, 1) => ", all concurrently".to_owned(),
        (tasks, sets) if tasks == sets => ", one after the other".to_owned(),
        (_, sets) => format!(" in {} one after the other", number(sets, "step")),
    };
    let mut out =
        styler.paint(Emphasis::Strong, &name) + &format!(": {}{order}\n", number(job.tasks.len(), "task"));
    if let Some(time) = duration(job) {
        out += &styler.item("", 0, format_args!("takes about {time}, plus the time to lay out the files"));
    }
    out
}

/// How long the job takes, where every step's time is known.
fn duration(job: &Job) -> Option<Nanos> {
    let length = |task: &JobTask| {
        let task = task.task();
        let delay = match &task {
            Task::File(task) => task.start.delay.0,
            _ => 0,
        };
        let Ramp::Time(ramp) = task.ramp() else { return None };
        Some(task.stop().runtime?.0.saturating_add(ramp.0).saturating_add(delay))
    };
    let sets: Option<Vec<u64>> = job
        .sets()
        .into_iter()
        .map(|set| set.iter().map(length).collect::<Option<Vec<_>>>()?.into_iter().max())
        .collect();
    sets.map(|sets| Nanos(sets.into_iter().fold(0, u64::saturating_add))).filter(|time| time.0 > 0)
}

/// Tasks that are described as one: clones, each on its own files perhaps.
struct Alike {
    numbers: Vec<usize>,
    name: String,
    masked: String,
    text: String,
    files: Vec<String>,
}

/// Tasks that start together; those that do the same are described once.
fn set_text(set: &[JobTask], number: &mut usize, context: &SystemContext, styler: Styler) -> String {
    let mut rendered: Vec<Alike> = Vec::new();
    for task in set {
        *number += 1;
        let name = task.task().name().to_owned();
        let masked = task_text(&masked(task, context), context, styler);
        let files = caveats::paths_of(task).into_iter().map(|path| path.display().to_string()).collect();
        match rendered.last_mut() {
            Some(last) if last.name == name && last.masked == masked => {
                last.numbers.push(*number);
                last.files.extend(files);
            }
            _ => {
                let text = task_text(task, context, styler);
                rendered.push(Alike { numbers: vec![*number], name, masked, text, files });
            }
        }
    }
    let beside = if rendered.len() > 1 { ", together with the others of this step" } else { "" };
    rendered.into_iter().map(|alike| alike_text(alike, beside, styler)).collect()
}

fn alike_text(alike: Alike, beside: &str, styler: Styler) -> String {
    let Alike { numbers, name, text, mut files, .. } = alike;
    let name = styler.clean(name);
    let title = match numbers.as_slice() {
        [first, .., last] => format!("{first} to {last}. {name}, {} clones{beside}", numbers.len()),
        [only] => format!("{only}. {name}{beside}"),
        [] => name,
    };
    let mut out = styler.paint(Emphasis::Strong, &title) + "\n" + &text;
    let apart = files.iter().collect::<BTreeSet<_>>().len() == files.len();
    if numbers.len() > 1 && apart && !files.is_empty() {
        let rest = files.len().saturating_sub(FILES);
        let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
        files.truncate(FILES);
        out += &styler.item(
            "   each       ",
            LABEL,
            format_args!("on its own files: {}{more}", files.join(", ")),
        );
    }
    out
}

/// The task without what distinguishes clones. Files are alike that are both missing, or both there and of one size.
fn masked(task: &JobTask, context: &SystemContext) -> JobTask {
    let JobTask::Io(task) = task else { return task.clone() };
    let mut task = task.clone();
    if let Target::Files(files) = &mut task.target {
        for file in &mut files.files {
            file.path = PathBuf::from(format!("{:?}", context.found.get(&file.path)));
        }
    }
    JobTask::Io(task)
}

fn task_text(task: &JobTask, context: &SystemContext, styler: Styler) -> String {
    let line =
        |label: &str, text: &str| styler.item(&format!("   {label:<width$}", width = LABEL - 3), LABEL, text);
    let model = task.task();
    let mut out = line("does", &words::does(&model));
    out += &words::way(&model).map_or(String::new(), |way| line("by", &way));
    out += &line("load", &words::load(&model));
    out += &line("time", &words::extent(&model));
    let JobTask::Io(task) = task else {
        return out + &line("creates", "files in a separate directory, removed at the end");
    };
    if let Some(amount) = amount(task, context) {
        out += &line("data", &amount);
    }
    for (label, text) in effects(task, context) {
        out += &line(label, &text);
    }
    out
}

/// Size of what a task works on; `None` where it is not known.
fn span(task: &FileTask, context: &SystemContext) -> Option<Bytes> {
    let rest = |path: &Path, offset: Bytes, size: Bytes| {
        let whole = || context.found.get(path).map(|found| Bytes(found.size.0.saturating_sub(offset.0)));
        if size.0 > 0 { Some(size) } else { whole() }
    };
    match &task.target {
        Target::Existing(existing) => rest(&existing.path, existing.offset, existing.size),
        Target::Files(files) => {
            let each: Option<Vec<Bytes>> =
                files.files.iter().map(|file| rest(&file.path, file.offset, file.size)).collect();
            each.map(|each| Bytes(each.iter().fold(0, |sum, bytes| sum.saturating_add(bytes.0))))
        }
        Target::File(file) if file.per_worker => {
            Some(Bytes(file.size.0.saturating_mul(u64::from(task.workers))))
        }
        Target::File(file) => Some(file.size),
        Target::Null { .. } => None,
    }
    .filter(|span| span.0 > 0)
}

/// How much data a task moves.
fn amount(task: &FileTask, context: &SystemContext) -> Option<String> {
    let Stop {
        runtime,
        bytes,
        operations,
        loops,
        worker_bytes,
        worker_operations,
        written,
        full,
        in_flight: _,
    } = task.stop;
    let (mean, workers) = (task.mean_size(), f64::from(task.workers));
    let rate = task.asked_rate().zip(runtime).map(|(rate, runtime)| rate.0 * mean * runtime.as_secs_f64());
    let limits = [
        bytes.map(|bytes| bytes.0 as f64),
        operations.map(|operations| operations as f64 * mean),
        loops.zip(span(task, context)).map(|(loops, span)| f64::from(loops) * span.0 as f64),
        worker_bytes.map(|bytes| bytes.0 as f64 * workers),
        worker_operations.map(|operations| operations as f64 * workers * mean),
        written.filter(|_| !task.mix.reads()).map(|bytes| bytes.0 as f64),
        rate,
    ];
    let min = limits.into_iter().flatten().reduce(f64::min);
    let region = span(task, context).map_or(String::new(), |span| format!(", within {span}"));
    match (min, runtime) {
        (None, None) if full => Some("until the space is full".to_owned()),
        (Some(min), None) if full => Some(format!("{}, or until the space is full", Bytes(min as u64))),
        (Some(min), None) => Some(format!("{} in total", Bytes(min as u64))),
        (Some(min), Some(_)) if rate == Some(min) => {
            Some(format!("about {} at the requested rate{region}", Bytes(min as u64)))
        }
        (Some(min), Some(_)) => Some(format!("at most {}", Bytes(min as u64))),
        (None, Some(_)) => Some(format!("as much as possible in this time{region}")),
        (None, None) => None,
    }
}

/// What it leaves behind, makes, and destroys.
fn effects(task: &FileTask, context: &SystemContext) -> Vec<(&'static str, String)> {
    let changes = task.mix.writes() || task.mix.trims();
    match &task.target {
        Target::Null { .. } => vec![("target", "none".to_owned())],
        Target::File(file) if file.create => {
            vec![(
                "creates",
                format!("{} in a hidden directory of the run, removed at the end", file.name.display()),
            )]
        }
        Target::File(_) => Vec::new(),
        Target::Existing(existing) => {
            let shown = existing.path.display();
            let what = match (changes, existing.overwrite) {
                (false, _) => return vec![("reads", format!("{shown}, without changing it"))],
                (true, Overwrite::Never) => {
                    return vec![("refuses", format!("writing to {shown} is not allowed (overwrite)"))];
                }
                (true, Overwrite::Blank) => "if its first and last MiB are zeros",
                (true, Overwrite::Anything) => "regardless of its contents",
            };
            vec![("DESTROYS", format!("the contents of {shown}{}, {what}", size(&existing.path, context)))]
        }
        Target::Files(files) => files_effects(files, changes, context),
    }
}

fn size(path: &Path, context: &SystemContext) -> String {
    context.found.get(path).map_or_else(String::new, |found| {
        format!(" ({}{})", if found.device { "a device of " } else { "" }, found.size)
    })
}

fn files_effects(
    target: &FilesTarget,
    changes: bool,
    context: &SystemContext,
) -> Vec<(&'static str, String)> {
    let (there, missing): (Vec<_>, Vec<_>) =
        target.files.iter().partition(|file| context.found.contains_key(&file.path));
    let list = |files: &[&iolite_model::NamedFile]| {
        let mut names: Vec<String> = files
            .iter()
            .take(FILES)
            .map(|file| format!("{}{}", file.path.display(), size(&file.path, context)))
            .collect();
        if files.len() > FILES {
            names.push(format!("{} more", files.len() - FILES));
        }
        names.join(", ")
    };
    let mut effects = Vec::new();
    if !missing.is_empty() {
        let how = match target.lay_out {
            LayOut::Never => "fails, because it does not exist:",
            LayOut::Needed | LayOut::Always => "",
            LayOut::Grow => "empty, growing with writes:",
        };
        let stays = if target.remove { "removed afterwards" } else { "not removed" };
        let size = missing.iter().map(|file| file.size.0).fold(0, u64::saturating_add);
        let text = format!("{how} {} ({} in total, {stays})", list(&missing), Bytes(size));
        effects.push(("creates", text.trim_start().to_owned()));
    }
    if there.is_empty() {
        return effects;
    }
    let short: Vec<_> = there
        .iter()
        .copied()
        .filter(|file| {
            context
                .found
                .get(&file.path)
                .is_some_and(|found| !found.device && found.size.0 < file.offset.0 + file.size.0)
        })
        .collect();
    if !short.is_empty() && target.lay_out != LayOut::Never {
        effects.push(("extends", list(&short)));
    }
    if changes || target.lay_out == LayOut::Always {
        effects.push(("DESTROYS", format!("existing files: {}", list(&there))));
    } else {
        effects.push(("reads", format!("existing files: {}", list(&there))));
    }
    effects
}

#[cfg(test)]
mod tests;
