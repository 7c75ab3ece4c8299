//! An option, defined once: parsing, help, the reference page and the lowering all come from its entry.

use iolite_model::{Bytes, Nanos};

use super::Spec;
use crate::language::error::{OptionError, Result};
use crate::language::value::{OptionValue, Unit};

/// An option of fio's.
#[derive(Debug, Clone, Copy)]
pub struct Opt {
    /// Its canonical name: the one that fio uses in its JSON output.
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// What its value looks like.
    pub form: Form,
    /// Its value where it isn't given, as a user would write it; empty where there is none.
    pub default: &'static str,
    /// What it does, in a sentence or two of our own.
    pub help: &'static str,
    /// Engines that it is for (the names of `ioengine`); empty for all.
    pub engines: &'static [&'static str],
    /// Whether it is built here.
    pub support: Support,
    /// How its value is read, and what it sets.
    pub(crate) setter: Setter,
}

/// How a value is read, and what is then done with it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Setter {
    /// As a flag, an integer or a word, by the form; without an effect.
    Ignored,
    /// As a flag.
    Flag(fn(&mut Spec, bool)),
    /// As an integer within the bounds of the form.
    Integer(fn(&mut Spec, i64)),
    /// As a number within the bounds of the form.
    Number(fn(&mut Spec, f64)),
    /// As a number of bytes.
    Size(fn(&mut Spec, Bytes)),
    /// As a time; a bare number has the unit of the form.
    Time(fn(&mut Spec, Nanos)),
    /// As text that is not empty.
    Text(fn(&mut Spec, &str)),
    /// By its own function.
    Special(fn(&mut Spec, &OptionValue<'_>) -> Result),
    /// Not at all: the option is [`Support::Missing`].
    Refused,
}

/// What the value of an option looks like; for help and for the reference page.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Form {
    /// None needed: given alone it means 1.
    Flag,
    /// An integer within these bounds.
    Integer {
        /// The least.
        min: i64,
        /// The most.
        max: i64,
    },
    /// A number within these bounds.
    Number {
        /// The least.
        min: f64,
        /// The most.
        max: f64,
    },
    /// A number of bytes.
    Size,
    /// A number of bytes, or a percentage.
    SizeOrPercent,
    /// A time; this is the unit of a bare number.
    Time(Unit),
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Text, such as a name or a path.
    Text,
    /// Something else, described here.
    Special(&'static str),
}

/// Whether an option is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// As in fio.
    Full,
    /// Accepted; where it differs from fio is said here. What stands before the first semicolon is reported with the results of a job
    /// that gives it another value than the default.
    Differs(&'static str),
    /// As in fio, apart from what is said here: what is refused, or makes no difference to results. It is not reported with them.
    Bounded(&'static str),
    /// Known, not supported: refused by name with this remedy.
    Missing(&'static str),
}

impl Opt {
    /// Sets it.
    ///
    /// # Errors
    /// The value is invalid: a sentence without the option's name, with its remedy.
    pub fn set(&self, spec: &mut Spec, given: &OptionValue<'_>) -> Result {
        match (self.setter, self.form) {
            (Setter::Flag(set), _) => set(spec, given.flag()?),
            (Setter::Integer(set), Form::Integer { min, max }) => set(spec, given.integer(min, max)?),
            (Setter::Number(set), Form::Number { min, max }) => set(spec, given.number(min, max)?),
            (Setter::Size(set), _) => set(spec, given.size()?),
            (Setter::Time(set), Form::Time(unit)) => set(spec, given.time(unit)?),
            (Setter::Text(set), _) => set(spec, given.text()?),
            (Setter::Special(set), _) => set(spec, given)?,
            (Setter::Ignored, Form::Integer { min, max }) => given.integer(min, max).map(|_| ())?,
            (Setter::Ignored, Form::Choice(words)) => given.word(words)?,
            (Setter::Ignored, _) => given.flag().map(|_| ())?,
            (Setter::Refused, _) => return Err(OptionError::not_built("it is", "remove it")),
            (Setter::Integer(_) | Setter::Number(_) | Setter::Time(_), form) => {
                unreachable!("{}: {form:?}", self.name)
            }
        }
        Ok(())
    }

    /// Whether it may be given without a value in a job file. On a command line only flags may: what follows any other
    /// option there is its value.
    pub fn stands_alone(&self) -> bool {
        let accepts = |text| self.set(&mut Spec::default(), &OptionValue { text, kb_base: 1024 }).is_ok();
        self.form == Form::Flag || (!matches!(self.support, Support::Missing(_)) && accepts(None))
    }
}

/// What tests of the groups start from.
#[cfg(test)]
pub(crate) mod samples {
    use std::path::PathBuf;

    use iolite_model::{Bytes, FileTask, FilesTarget, JobTask, Mix, Target};

    use crate::language::error::OptionError;
    use crate::language::options::{Spec, find};
    use crate::language::thread::{Thread, ThreadIndex};
    use crate::language::value::OptionValue;

    /// A spec with these settings.
    pub(crate) fn spec(settings: &[(&str, &str)]) -> Result<Spec, OptionError> {
        let mut spec = Spec::default();
        for (name, value) in settings {
            let option = find(name).unwrap_or_else(|| panic!("no option {name}"));
            let given = OptionValue { text: Some(value), kb_base: spec.logging.reporting.kb_base };
            option.set(&mut spec, &given).map_err(|error| error.at((*name).to_owned()))?;
        }
        Ok(spec)
    }

    /// A task on a file of a MiB.
    pub(crate) fn task(mix: Mix) -> FileTask {
        let file = iolite_model::NamedFile { path: PathBuf::from("f"), offset: Bytes(0), size: Bytes::MIB };
        FileTask { target: Target::Files(FilesTarget::of(vec![file])), mix, ..FileTask::default() }
    }

    /// The fourth thread, named `j`, before its settings are looked at.
    pub(crate) fn thread(task: JobTask) -> Thread {
        Thread { name: "j".into(), number: 3, task, ..Thread::default() }
    }

    /// What the groups that are about how a job runs make of these settings and this task.
    pub(crate) fn lowered(settings: &[(&str, &str)], task: JobTask) -> Result<Thread, OptionError> {
        let spec = spec(settings)?;
        let place = ThreadIndex { number: 3, job: 0, clone: 1, group: 0, together: true };
        let mut thread = thread(task);
        spec.depth.lower(&spec, place, &mut thread)?;
        spec.rate.lower(&spec, place, &mut thread)?;
        spec.verify.lower(&spec, place, &mut thread)?;
        spec.steady.lower(&spec, place, &mut thread)?;
        spec.logging.lower(&spec, place, &mut thread)?;
        spec.errors.lower(&spec, place, &mut thread)?;
        spec.trace.lower(&spec, place, &mut thread)?;
        spec.placement.lower(&spec, place, &mut thread)?;
        Ok(thread)
    }

    /// The same for block I/O: the thread, and its task.
    pub(crate) fn io(settings: &[(&str, &str)], task: FileTask) -> Result<(Thread, FileTask), OptionError> {
        let thread = lowered(settings, JobTask::Io(Box::new(task)))?;
        match &thread.task {
            JobTask::Io(task) => Ok((thread.clone(), (**task).clone())),
            JobTask::Metadata(_) => panic!("not I/O"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::language::options::{self, find};

    /// Those that take any text at all, or are never set.
    fn refuses_nothing(option: &Opt) -> bool {
        let paths = ["filename", "directory", "profile"].contains(&option.name);
        paths || option.form == Form::Text || matches!(option.support, Support::Missing(_))
    }

    fn set(option: &Opt, text: Option<&str>) -> Result<Spec, OptionError> {
        let mut spec = Spec::default();
        option.set(&mut spec, &OptionValue { text, kb_base: 1024 }).map(|()| spec)
    }

    #[test]
    fn no_name_stands_for_two_options() {
        let mut names = HashSet::new();
        for option in options::all() {
            for name in option.aliases.iter().chain([&option.name]) {
                assert!(names.insert(*name), "{name}");
                assert_eq!(find(name).map(|found| found.name), Some(option.name));
            }
        }
    }

    #[test]
    fn entries_are_complete() {
        for option in options::all() {
            assert!(!option.name.is_empty() && option.help.ends_with('.'), "{}", option.name);
            if let Support::Differs(text) | Support::Bounded(text) | Support::Missing(text) = option.support {
                assert!(!text.is_empty() && !text.ends_with('.'), "{}: {text}", option.name);
            }
        }
    }

    /// The default as reported is the default as it is.
    #[test]
    fn defaults_say_what_a_spec_says_without_them() {
        let built =
            |option: &&Opt| !matches!(option.support, Support::Missing(_)) && !option.default.is_empty();
        for option in options::all().filter(built) {
            assert_eq!(set(option, Some(option.default)).unwrap(), Spec::default(), "{}", option.name);
        }
    }

    #[test]
    fn words_of_a_choice_are_all_taken_and_no_others() {
        for option in options::all().filter(|option| !refuses_nothing(option)) {
            let Form::Choice(words) = option.form else { continue };
            assert!(set(option, Some("no-such-word")).is_err(), "{}", option.name);
            for word in words {
                // Some words are known and not supported.
                let refused = set(option, Some(word)).map(|_| ()).err();
                let fits = refused.as_ref().is_none_or(|why| why.to_string().contains("not supported"));
                assert!(fits, "{}={word}: {refused:?}", option.name);
            }
        }
    }

    #[test]
    fn bounds_are_kept() {
        for option in options::all().filter(|option| !refuses_nothing(option)) {
            let (taken, refused) = match option.form {
                Form::Integer { min, max } => {
                    let inside = vec![min.to_string(), max.to_string()];
                    let outside = [min.checked_sub(1), max.checked_add(1)];
                    (inside, outside.into_iter().flatten().map(|number| number.to_string()).collect())
                }
                Form::Number { min, max } if max < 1e9 => {
                    let outside: Vec<String> = vec![(min - 1.0).to_string(), (max + 1.0).to_string()];
                    (vec![max.to_string()], outside)
                }
                _ => continue,
            };
            for text in taken {
                assert!(
                    set(option, Some(&text)).is_ok(),
                    "{}={text}: {:?}",
                    option.name,
                    set(option, Some(&text))
                );
            }
            for text in refused {
                assert!(set(option, Some(&text)).is_err(), "{}={text}", option.name);
            }
        }
    }

    #[test]
    fn nonsense_is_refused_in_every_form() {
        for option in options::all().filter(|option| !refuses_nothing(option)) {
            for text in ["?!", "-", "1:2:x", "\u{0}", "99999999999999999999999999"] {
                assert!(set(option, Some(text)).is_err(), "{}={text:?}", option.name);
            }
            assert!(option.form == Form::Flag || set(option, None).is_err(), "{} alone", option.name);
        }
    }
}
