//! Settings as written become options with values.

use super::arithmetic::worked_out;
use super::error::quoted;
use super::job_file::{Section, Setting};
use super::options::Spec;
use super::options::find;
use super::options::option::{Form, Opt, Support};
use super::problem::{Origin, Problem, Problems, did_you_mean, nearest};
use super::value::OptionValue;

/// fio's engine where none is named.
const ENGINE: &str = "psync";

/// Max problems that are reported at once.
const MAX_REPORTED: usize = 20;

/// An option with the value that it is given.
#[derive(Debug, Clone)]
pub(super) struct Assignment {
    pub(super) option: &'static Opt,
    /// With arithmetic worked out.
    pub(super) value: Option<String>,
    /// Without.
    pub(super) raw: Option<String>,
    pub(super) kb_base: u64,
    pub(super) origin: Origin,
}

impl Assignment {
    /// Whether the option is for this engine.
    pub(super) fn is_for(&self, engine: &str) -> bool {
        self.option.engines.is_empty() || self.option.engines.contains(&engine)
    }

    /// As messages show it.
    pub(super) fn shown(&self) -> String {
        match &self.raw {
            Some(raw) => quoted(&format!("{}={raw}", self.option.name)),
            None => quoted(self.option.name),
        }
    }
}

/// The options that a section sets, with these defaults before it. `kb_base` and `ioengine` come first wherever they stand,
/// because the others are read by them; as in fio `kb_base` is for what follows it on a command line.
///
/// # Errors
/// All settings that are unknown, not supported, for another engine, or whose arithmetic is wrong.
pub(super) fn assignments(section: &Section, defaults: &[Assignment]) -> Result<Vec<Assignment>, Problems> {
    let last_of = |settings: &[Setting], name: &str| {
        let own = settings.iter().rev().find(|setting| is(setting, name));
        let before = || defaults.iter().rev().find(|one| one.option.name == name)?.raw.clone();
        own.and_then(|setting| setting.value.clone()).or_else(before)
    };
    let last = |name: &str| last_of(&section.settings, name);
    let kb_base = |index: usize, setting: &Setting| {
        let settings = &section.settings;
        let before = if setting.origin.file.is_some() { settings } else { &settings[..index] };
        match last_of(before, "kb_base") {
            Some(base) if base.trim() == "1000" => 1000,
            _ => 1024,
        }
    };
    let engine = last("ioengine").map_or_else(|| ENGINE.to_owned(), |engine| engine.trim().to_owned());
    // An engine that there is not explains all that is wrong with its options.
    if let Some(problem) =
        section.settings.iter().filter(|setting| is(setting, "ioengine")).find_map(no_engine)
    {
        return Err(problem.into());
    }
    let mut found = Vec::new();
    let mut problems = Vec::new();
    for (index, setting) in section.settings.iter().enumerate() {
        match assignment(setting, kb_base(index, setting), &engine) {
            Ok(assignment) => found.push(assignment),
            Err(problem) if problems.len() < MAX_REPORTED => problems.push(problem),
            Err(_) => break,
        }
    }
    if !problems.is_empty() {
        return Err(Problems(problems));
    }
    found.sort_by_key(|assignment| match assignment.option.name {
        "kb_base" => 0,
        "ioengine" => 1,
        _ => 2,
    });
    Ok(found)
}

/// What is wrong with the engine that a setting names, if anything.
fn no_engine(setting: &Setting) -> Option<Problem> {
    if setting.emptied_by.is_some() {
        return None;
    }
    let (option, engine) = (find("ioengine")?, setting.value.as_deref()?.trim());
    let given = OptionValue { text: Some(engine), kb_base: 1024 };
    let error = option.set(&mut Spec::default(), &given).err()?;
    Some(setting.origin.value(quoted(&format!("ioengine={engine}")), error))
}

/// Whether the setting is of the option of this name.
fn is(setting: &Setting, name: &str) -> bool {
    setting.name == name || find(&setting.name).is_some_and(|option| option.name == name)
}

/// The engine of a job with these settings.
pub(super) fn engine_of(own: &[Assignment], defaults: &[Assignment]) -> String {
    let named = own.iter().rev().chain(defaults.iter().rev()).find(|one| one.option.name == "ioengine");
    let engine = named.and_then(|assignment| assignment.raw.as_deref());
    engine.map_or(ENGINE, str::trim).to_owned()
}

fn assignment(setting: &Setting, kb_base: u64, engine: &str) -> Result<Assignment, Problem> {
    let origin = &setting.origin;
    let Some(option) = find(&setting.name) else { return Err(unknown(setting)) };
    let name = option.name;
    if let Support::Missing(remedy) = option.support {
        return Err(origin.problem(format!("`{name}` is known but not supported"), remedy));
    }
    if !option.engines.is_empty() && !option.engines.contains(&engine) {
        let what = format!("`{name}` is not an option of the engine {}", quoted(engine));
        return Err(origin.problem(what, format!("it is for ioengine={}", option.engines.join(", "))));
    }
    let raw = raw(setting, option)?;
    let work_out = |value: &String| worked_out(value, option.form, kb_base);
    let value = raw.as_ref().map(work_out).transpose();
    let value = value.map_err(|error| origin.value(quoted(name), error))?;
    Ok(Assignment { option, value, raw, kb_base, origin: origin.clone() })
}

/// The setting's value, unless it is one that the option can do without.
fn raw(setting: &Setting, option: &Opt) -> Result<Option<String>, Problem> {
    let name = option.name;
    let may_be_empty = option.form != Form::Flag && option.stands_alone();
    if let Some(variable) = setting.emptied_by.as_ref().filter(|_| !may_be_empty) {
        return Err(without(variable, &format!("{name}="), setting));
    }
    match setting.value.as_deref().map(str::trim) {
        None if option.stands_alone() => Ok(None),
        None => {
            let remedy = format!("write {name}={}", example(option));
            Err(setting.origin.problem(format!("`{name}` needs a value"), remedy))
        }
        Some("") if may_be_empty => Ok(None),
        Some("") => {
            let remedy = format!("write {name}={}, or remove it", example(option));
            Err(setting.origin.problem(format!("`{name}=` has no value"), remedy))
        }
        Some(_) => Ok(setting.value.clone()),
    }
}

/// A value of the option, for messages.
fn example(option: &Opt) -> &str {
    match option.form {
        Form::Choice([first, ..]) => first,
        Form::Flag => "1",
        _ if option.default.is_empty() => "VALUE",
        _ => option.default,
    }
}

/// A variable has left a setting without a value. As with fio, the option does not keep its default: a file name from a variable that
/// is not set would be a new file in the current directory.
fn without(variable: &str, before: &str, setting: &Setting) -> Problem {
    let what = format!(
        "{}: the environment variable {} is not set, or empty",
        quoted(&format!("{before}${{{variable}}}")),
        quoted(variable)
    );
    setting.origin.problem(what, "set it, or write the value instead")
}

fn unknown(setting: &Setting) -> Problem {
    if let Some(variable) = &setting.emptied_by {
        return without(variable, &setting.name, setting);
    }
    let names = super::options::all()
        .flat_map(|option| std::iter::once(option.name).chain(option.aliases.iter().copied()));
    let near = nearest(&setting.name, names);
    setting.origin.problem(
        format!("there is no option {}", quoted(&setting.name)),
        did_you_mean(&near, "--cmdhelp lists all"),
    )
}

/// Settings as results hold them: by canonical name, as written; empty where they stand alone. Of one that is given several
/// times the last counts.
pub(super) fn shown_settings(settings: &[Assignment]) -> Vec<(String, String)> {
    let mut shown_settings: Vec<(String, String)> = Vec::new();
    for setting in settings {
        let raw = setting.raw.clone().unwrap_or_default();
        match shown_settings.iter_mut().find(|(name, _)| name == setting.option.name) {
            Some((_, value)) => *value = raw,
            None => shown_settings.push((setting.option.name.to_owned(), raw)),
        }
    }
    shown_settings
}
