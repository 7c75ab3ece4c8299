//! Short ways to write an entry of the table.

use iolite_model::{Bytes, Nanos};

use crate::language::error::Result;
use crate::language::options::Spec;
use crate::language::options::option::{Form, Opt, Setter, Support};
use crate::language::value::{OptionValue, Unit};

/// The largest count.
pub(super) const MAX: i64 = u32::MAX as i64;

/// A list of CPUs.
pub(super) const CPUS: Form = Form::Special("numbers and ranges with commas between them: 0,5,8-15");

/// An option that is as in fio, for all engines, without a default.
const fn opt(name: &'static str, form: Form, setter: Setter) -> Opt {
    Opt { name, aliases: &[], form, default: "", help: "", engines: &[], support: Support::Full, setter }
}

/// A flag, off by default.
pub(super) const fn flag(name: &'static str, set: fn(&mut Spec, bool)) -> Opt {
    opt(name, Form::Flag, Setter::Flag(set)).default("0")
}

/// An integer within these bounds.
pub(super) const fn integer(name: &'static str, min: i64, max: i64, set: fn(&mut Spec, i64)) -> Opt {
    opt(name, Form::Integer { min, max }, Setter::Integer(set))
}

/// A number within these bounds.
pub(super) const fn number(name: &'static str, min: f64, max: f64, set: fn(&mut Spec, f64)) -> Opt {
    opt(name, Form::Number { min, max }, Setter::Number(set))
}

/// A number of bytes.
pub(super) const fn size(name: &'static str, set: fn(&mut Spec, Bytes)) -> Opt {
    opt(name, Form::Size, Setter::Size(set))
}

/// A time; a bare number has this unit.
pub(super) const fn time(name: &'static str, unit: Unit, set: fn(&mut Spec, Nanos)) -> Opt {
    opt(name, Form::Time(unit), Setter::Time(set))
}

/// Text that is not empty.
pub(super) const fn text(name: &'static str, set: fn(&mut Spec, &str)) -> Opt {
    opt(name, Form::Text, Setter::Text(set))
}

/// A value that is read by a function of its own.
pub(super) const fn special(
    name: &'static str,
    form: Form,
    set: fn(&mut Spec, &OptionValue<'_>) -> Result,
) -> Opt {
    opt(name, form, Setter::Special(set))
}

/// One of the words of a table, each with what it stands for.
macro_rules! choice {
    ($name:literal, $table:expr, |$spec:ident, $value:ident| $set:expr) => {
        $crate::language::options::entry::special(
            $name,
            $crate::language::options::option::Form::Choice({
                const WORDS: &[&str] = &$crate::language::options::entry::words($table);
                WORDS
            }),
            |$spec, given| {
                let $value = given.choice($table)?;
                $set;
                Ok(())
            },
        )
    };
}
pub(super) use choice;

/// The words of a table.
pub(super) const fn words<T, const N: usize>(table: &[(&'static str, T); N]) -> [&'static str; N] {
    let mut words = [""; N];
    let mut at = 0;
    while at < N {
        words[at] = table[at].0;
        at += 1;
    }
    words
}

/// A flag, an integer or one of several words, which has no effect; a flag is off by default.
pub(super) const fn ignored(name: &'static str, form: Form) -> Opt {
    opt(name, form, Setter::Ignored).default(if matches!(form, Form::Flag) { "0" } else { "" })
}

/// An option that is known and not supported.
pub(super) const fn missing(name: &'static str, form: Form, help: &'static str, remedy: &'static str) -> Opt {
    Opt { support: Support::Missing(remedy), ..opt(name, form, Setter::Refused).help(help) }
}

impl Opt {
    /// With this default.
    pub(super) const fn default(self, default: &'static str) -> Opt {
        Opt { default, ..self }
    }

    /// With this help.
    pub(super) const fn help(self, help: &'static str) -> Opt {
        Opt { help, ..self }
    }

    /// For these engines only.
    pub(super) const fn of(self, engines: &'static [&'static str]) -> Opt {
        Opt { engines, ..self }
    }

    /// With a difference from fio.
    pub(super) const fn differs(self, text: &'static str) -> Opt {
        Opt { support: Support::Differs(text), ..self }
    }

    /// As in fio, apart from what makes no difference to results or is refused.
    pub(super) const fn bounded(self, text: &'static str) -> Opt {
        Opt { support: Support::Bounded(text), ..self }
    }

    /// With other names too.
    pub(super) const fn named_also(self, aliases: &'static [&'static str]) -> Opt {
        Opt { aliases, ..self }
    }
}

/// Puts a value in its place, if there is one.
pub(super) fn put<T>(place: &mut T, value: Result<T>) -> Result {
    *place = value?;
    Ok(())
}
