//! I/O priorities of operations.

use iolite_model::{Bytes, IoPriority, Prioritized, PriorityShare};

use crate::language::error::{OptionError, Result};
use crate::language::options::entry::{put, special};
use crate::language::options::option::{Form, Opt};
use crate::language::options::placement::class;
use crate::language::value::OptionValue;

/// I/O priorities of operations; two values stand for reads and writes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Priorities {
    /// `cmdprio_percentage`: share of the operations that have one.
    pub percent: [u8; 2],
    /// `cmdprio_class`; 0 for the highest.
    pub class: [u8; 2],
    /// `cmdprio`: the level within the class.
    pub level: [u8; 2],
    /// `cmdprio_hint`; 0 for none.
    pub hint: [u16; 2],
    /// `cmdprio_bssplit`: shares by size.
    pub split: [Vec<Share>; 2],
}

/// A share of the operations of a size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// The size.
    pub size: Bytes,
    /// How many, in percent.
    pub percent: u8,
    /// Class, level and hint; `None` for those of the job.
    pub priority: Option<(u8, u8, u16)>,
}

/// The most shares of one direction.
const MAX: usize = 64;

/// The class of the highest priorities.
const HIGHEST: u8 = 1;

impl Priorities {
    /// What the engine is to do.
    ///
    /// # Errors
    /// Two ways of saying it.
    pub(crate) fn shares(&self) -> Result<Vec<PriorityShare>> {
        let split = self.split.iter().any(|split| !split.is_empty());
        if split && self.percent != [0, 0] {
            return Err(OptionError::refused(
                "cmdprio_percentage and cmdprio_bssplit both say which operations have a priority",
                "remove one of them",
            ));
        }
        let mut shares = Vec::new();
        for (place, of) in [Prioritized::Reads, Prioritized::Writes].into_iter().enumerate() {
            let own = (self.class[place], self.level[place], self.hint[place]);
            let share = |size, percent: u8, (number, level, hint): (u8, u8, u16)| {
                let class = class(if number == 0 { HIGHEST } else { number })?;
                let priority = IoPriority { class, level, hint };
                Some(PriorityShare { of, size, percent: f64::from(percent), priority })
            };
            shares.extend(share(None, self.percent[place], own));
            for part in &self.split[place] {
                shares.extend(share(Some(part.size), part.percent, part.priority.unwrap_or(own)));
            }
        }
        shares.retain(|share| share.percent > 0.0);
        Ok(shares)
    }
}

/// Values for reads and for writes; one counts for both.
fn pair<T: Clone>(given: &OptionValue<'_>, parse: impl Fn(&OptionValue<'_>) -> Result<T>) -> Result<[T; 2]> {
    let parts: Vec<&str> = given.text()?.split(',').collect();
    match parts[..] {
        [one] => parse(&given.part(one)).map(|value| [value.clone(), value]),
        [reads, writes] => Ok([parse(&given.part(reads))?, parse(&given.part(writes))?]),
        _ => Err(OptionError::refused("it has more than two values", "reads, writes")),
    }
}

fn small(max: u8) -> impl Fn(&OptionValue<'_>) -> Result<u8> {
    move |given| given.integer(0, i64::from(max)).map(|value| value as u8)
}

/// `SIZE/PERCENT`, `SIZE/PERCENT/CLASS/LEVEL` or `SIZE/PERCENT/CLASS/LEVEL/HINT`, with colons between them.
fn split(given: &OptionValue<'_>) -> Result<Vec<Share>> {
    let entries: Vec<&str> = given.text()?.split(':').collect();
    if entries.len() > MAX {
        return Err(OptionError::TooMany { count: entries.len(), items: "shares", max: MAX });
    }
    let shares: Vec<Share> =
        entries.into_iter().map(|entry| share(given, entry)).collect::<Result<_, _>>()?;
    for one in &shares {
        let total: u32 =
            shares.iter().filter(|other| other.size == one.size).map(|share| u32::from(share.percent)).sum();
        if total > 100 {
            return Err(OptionError::refused(
                format!("{total} % of the operations of {} would have a priority", one.size),
                "100 is the most",
            ));
        }
    }
    Ok(shares)
}

fn share(given: &OptionValue<'_>, entry: &str) -> Result<Share> {
    let parts: Vec<&str> = entry.split('/').collect();
    let number = |text, max| small(max)(&given.part(text));
    let (size, percent, priority) = match parts[..] {
        [size, percent] => (size, percent, None),
        [size, percent, class, level] => (size, percent, Some((number(class, 3)?, number(level, 7)?, 0))),
        [size, percent, class, level, text] => {
            let hint = hint(&given.part(text))?;
            (size, percent, Some((number(class, 3)?, number(level, 7)?, hint)))
        }
        _ => {
            return Err(OptionError::refused(
                format!("`{entry}` is not a share"),
                "write size/percentage, or size/percentage/class/level with a hint behind it if \
                 wanted, as in 64k/20/1/0",
            ));
        }
    };
    let size = given.part(size).size()?;
    if size.0 == 0 {
        return Err(OptionError::refused(
            format!("`{entry}` is of operations without bytes"),
            "specify a size of bssplit",
        ));
    }
    Ok(Share { size, percent: number(percent, 100)?, priority })
}

fn hint(given: &OptionValue<'_>) -> Result<u16> {
    given.integer(0, 1023).map(|hint| hint as u16)
}

const ENGINES: &[&str] = &["io_uring", "libaio"];

/// The options.
pub const OPTIONS: &[Opt] = &[
    special(
        "cmdprio_percentage",
        Form::Special("a percentage, or percentages for reads and writes"),
        |s, g| put(&mut s.engine.priorities.percent, pair(g, small(100))),
    )
    .default("0")
    .help("Percentage of the operations with the priority of cmdprio_class and cmdprio.")
    .of(ENGINES),
    special("cmdprio_class", Form::Special("0 to 3, or two for reads and writes"), |s, g| {
        put(&mut s.engine.priorities.class, pair(g, small(3)))
    })
    .default("0")
    .help("Priority class of these operations: 1 real time, 2 best effort, 3 idle; 0 for the highest.")
    .of(ENGINES),
    special("cmdprio", Form::Special("0 to 7, or two for reads and writes"), |s, g| {
        put(&mut s.engine.priorities.level, pair(g, small(7)))
    })
    .default("0")
    .help("Priority of these operations within its class, from 0, the highest, to 7.")
    .of(ENGINES),
    special("cmdprio_hint", Form::Special("0 to 1023, or two for reads and writes"), |s, g| {
        put(&mut s.engine.priorities.hint, pair(g, hint))
    })
    .default("0")
    .help("Priority hint of these operations, which the kernel must support; 0 for none.")
    .of(ENGINES),
    special(
        "cmdprio_bssplit",
        Form::Special("SIZE/PERCENT[/CLASS/LEVEL[/HINT]]:..., or such lists for reads and writes"),
        |s, g| put(&mut s.engine.priorities.split, pair(g, split)),
    )
    .help(
        "Percentage of the operations of each size that have a priority, either that of cmdprio_class and \
         cmdprio or their own.",
    )
    .of(ENGINES),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::options::option::samples::spec;

    /// Direction, size, percent and packed priority.
    fn classes(settings: &[(&str, &str)]) -> Result<Vec<(Prioritized, u64, f64, u16)>, OptionError> {
        let settings: Vec<_> = [("ioengine", "libaio")].iter().chain(settings).copied().collect();
        let share = |share: &PriorityShare| {
            (share.of, share.size.map_or(0, |size| size.0), share.percent, share.priority.packed())
        };
        Ok(spec(&settings)?.engine.priorities.shares()?.iter().map(share).collect())
    }

    /// As the logs of fio 3.33 report them.
    #[test]
    fn shares_are_fios() {
        use Prioritized::{Reads, Writes};
        for (settings, expected) in [
            (&[][..], vec![]),
            (&[("cmdprio", "3")], vec![]),
            (&[("cmdprio_percentage", "20")], vec![(Reads, 0, 20.0, 0x2000), (Writes, 0, 20.0, 0x2000)]),
            (&[("cmdprio_percentage", "20,0"), ("cmdprio", "2")], vec![(Reads, 0, 20.0, 0x2002)]),
            (
                &[("cmdprio_percentage", "50"), ("cmdprio", "2,3"), ("cmdprio_class", "2,1")],
                vec![(Reads, 0, 50.0, 0x4002), (Writes, 0, 50.0, 0x2003)],
            ),
            (
                &[("cmdprio_bssplit", "64k/25/1/1:64k/75/3/2:1024k/0,1024k/0")],
                vec![(Reads, 65536, 25.0, 0x2001), (Reads, 65536, 75.0, 0x6002)],
            ),
            (&[("cmdprio_bssplit", "64k/25/2/1/3,4k/0")], vec![(Reads, 65536, 25.0, 0x4019)]),
            (&[("cmdprio_percentage", "20,0"), ("cmdprio_hint", "1")], vec![(Reads, 0, 20.0, 0x2008)]),
            (
                &[("cmdprio_bssplit", "4k/10"), ("cmdprio_class", "3")],
                vec![(Reads, 4096, 10.0, 0x6000), (Writes, 4096, 10.0, 0x6000)],
            ),
        ] {
            assert_eq!(classes(settings).unwrap(), expected, "{settings:?}");
        }
    }

    #[test]
    fn shares_without_sense_are_refused() {
        for (settings, part) in [
            (&[("cmdprio_percentage", "20"), ("cmdprio_bssplit", "4k/10")][..], "remove one of them"),
            (&[("cmdprio_percentage", "1,2,3")], "two values"),
            (&[("cmdprio_class", "4")], "range"),
            (&[("cmdprio_bssplit", "4k/60/1/0:4k/60/3/0")], "120 %"),
            (&[("cmdprio_bssplit", "4k")], "not a share"),
            (&[("cmdprio_bssplit", "0/10")], "without bytes"),
        ] {
            let error = classes(settings).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        let many = vec!["4k/1"; 65].join(":");
        assert!(classes(&[("cmdprio_bssplit", &many)]).unwrap_err().to_string().contains("64"));
    }
}
