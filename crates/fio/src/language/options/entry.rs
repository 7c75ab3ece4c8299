//! Short ways to write an entry of the table.

use crate::language::error::{OptionError, Result};
use crate::language::options::Spec;
use crate::language::options::option::{Form, Opt, Support};
use crate::language::value::OptionValue;

/// Sets an option.
pub(super) type Set = fn(&mut Spec, &OptionValue<'_>) -> Result;

/// An option that is as in fio, for all engines.
pub(super) const fn opt(
    name: &'static str,
    aliases: &'static [&'static str],
    form: Form,
    default: &'static str,
    help: &'static str,
    set: Set,
) -> Opt {
    Opt { name, aliases, form, default, help, engines: &[], support: Support::Full, set }
}

/// An option that is known and not supported.
pub(super) const fn missing(name: &'static str, form: Form, help: &'static str, remedy: &'static str) -> Opt {
    let support = Support::Missing(remedy);
    Opt { name, aliases: &[], form, default: "", help, engines: &[], support, set: Opt::refuse }
}

impl Opt {
    /// The same for these engines only.
    pub(super) const fn of(mut self, engines: &'static [&'static str]) -> Opt {
        self.engines = engines;
        self
    }

    /// The same, with a difference from fio.
    pub(super) const fn differs(mut self, text: &'static str) -> Opt {
        self.support = Support::Differs(text);
        self
    }

    /// The same, apart from what makes no difference to results or is refused.
    pub(super) const fn bounded(mut self, text: &'static str) -> Opt {
        self.support = Support::Bounded(text);
        self
    }

    /// The same with other names too.
    pub(super) const fn named_also(mut self, aliases: &'static [&'static str]) -> Opt {
        self.aliases = aliases;
        self
    }
}

/// Puts a value in its place, if there is one.
pub(super) fn put<T>(place: &mut T, value: Result<T>) -> Result {
    *place = value?;
    Ok(())
}

/// The text of an option, as a setting that may be absent.
pub(super) fn text(given: &OptionValue<'_>) -> Result<Option<String>> {
    given.text().map(|text| Some(text.to_owned()))
}

/// An integer that fits into 32 bits.
pub(super) fn count(given: &OptionValue<'_>, min: u32, max: u32) -> Result<u32> {
    let value = given.integer(i64::from(min), i64::from(max))?;
    u32::try_from(value).map_err(|_| OptionError::out_of_range(&value.to_string(), min, max))
}
