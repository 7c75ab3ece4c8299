//! An option, defined once: parsing, help, the reference page and the lowering all come from its entry.

use super::spec::Spec;
use super::value::Given;

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
    /// Sets it. An error is a sentence without the option's name, with its remedy.
    pub set: fn(&mut Spec, &Given<'_>) -> Result<(), String>,
}

/// What the value of an option looks like; for help and for the reference page.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Form {
    /// None needed: given alone it means 1.
    Flag,
    /// An integer within these bounds.
    Integer {
        /// The least.
        least: i64,
        /// The most.
        most: i64,
    },
    /// A number within these bounds.
    Number {
        /// The least.
        least: f64,
        /// The most.
        most: f64,
    },
    /// A number of bytes.
    Size,
    /// A number of bytes, or a percentage.
    SizeOrPercent,
    /// A time; this is the unit of a bare number.
    Time(&'static str),
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
    /// Accepted; where it differs from fio is said here, and told with the results of a job that uses it.
    Differs(&'static str),
    /// Known, not built: refused by name with this remedy.
    Missing(&'static str),
}

impl Opt {
    /// What entries of the table start from: an option of text, built in full, without aliases, for all engines.
    pub(crate) const PLAIN: Opt = Opt {
        name: "",
        aliases: &[],
        form: Form::Text,
        default: "",
        help: "",
        engines: &[],
        support: Support::Full,
        set: Opt::refuse,
    };

    /// A setter for options that are [`Support::Missing`]; never called.
    pub fn refuse(_: &mut Spec, _: &Given<'_>) -> Result<(), String> {
        Err("it is not built".into())
    }
}

/// The option of this name or alias.
pub fn find(name: &str) -> Option<&'static Opt> {
    super::options::all().find(|option| option.name == name || option.aliases.contains(&name))
}
