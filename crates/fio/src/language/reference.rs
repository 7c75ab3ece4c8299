//! The reference page, docs/fio.md: made from the tables, so that it cannot say anything else than what is done.

use super::command_line::documented;
use super::help::kind;
use super::options::GROUPS;
use super::options::engine::{ENGINES, Kind};
use super::options::option::{Form, Opt, Support};

/// The whole page.
pub fn page() -> String {
    let mut page = String::from(INTRODUCTION);
    page.push_str("\n## Where iolite differs on purpose\n\n");
    for (what, why) in DIFFERENCES {
        page.push_str(&format!("- **{what}** {why}\n"));
    }
    page.push_str("\n## The command line\n\n| Option | What it does |\n|---|---|\n");
    for option in documented() {
        let short = option.short.map(|short| format!(", `-{short}`")).unwrap_or_default();
        let value = match (option.value, option.optional) {
            ("", _) => String::new(),
            (value, true) => format!("[={value}]"),
            (value, false) => format!("={value}"),
        };
        page.push_str(&row(&[format!("`--{}{value}`{short}", option.name), cell(option.help)]));
    }
    for group in GROUPS {
        page.push_str(&format!("\n## {}\n\n{HEAD}", group.title));
        group.options.iter().for_each(|option| page.push_str(&entry(option)));
    }
    page.push_str(&engines());
    page
}

const INTRODUCTION: &str = "\
# fio's language

`iolite fio ...` takes fio's options and job files and prints fio's outputs, and so does the program under the name `fio` (a
link). This page is made from the table of options that the program itself uses (`--cmdhelp=NAME` prints an entry of it): each
option with its other names, its value, its default, whether it is built here, and what it does. It follows the manual page of
fio 3.42.

- *yes*: as in fio.
- *differs*: taken; what is different stands behind it, and is reported with the results of a job that uses the option.
- *no*: known and not built. A job that has it is refused by the option's name, with what to use instead, which stands behind
  it. Nothing is silently ignored.

A name that nobody knows is refused with those that look like it. `iolite explain JOBFILE` prints in plain words what a job file
will do.
";

/// Differences that no single option has.
const DIFFERENCES: &[(&str, &str)] = &[
    (
        "Latencies count from the intended start.",
        "With a rate, an operation is meant to start at an instant of the schedule; when the device falls behind, fio measures \
         from the late start, and the wait is in no figure. Here the response time, from the intended start to completion, is \
         kept next to fio's latency: `lat` keeps fio's meaning, and the response times stand under the key `iolite` of the JSON \
         output.",
    ),
    (
        "Submission latency is the time to queue.",
        "Operations are handed to the kernel and waited for in one system call, whose time is in `clat`: `slat` is smaller than \
         fio's, `clat` larger by as much, and `lat` the same.",
    ),
    (
        "Every operation is stamped by itself.",
        "fio reads the clock once for all operations that come back together, and again only for the next batch.",
    ),
    (
        "Nothing is clipped at 17 s.",
        "fio's histograms end there. Ours go on to an hour with three digits everywhere; where fio's classes are asked for \
         (`json+`, logs of histograms) they are made from ours.",
    ),
    (
        "Samples of bandwidth and operations a second are exact intervals.",
        "fio takes them from a thread of its own that wakes up about every 500 ms; so its least, mean and largest contradict its \
         totals. Here a sample is what came back in an interval, and the samples add up to the total.",
    ),
    (
        "Percentiles come from merged histograms.",
        "Those of a group are of all its operations, never averages of percentiles.",
    ),
    (
        "Jobs are threads.",
        "Clones are threads of one process with or without `thread`, so that a crash ends them all.",
    ),
    (
        "Verified data has fio's format.",
        "It has the headers of fio 3.33, and those of fio 3.42 are read too; fio verifies what is written here, and the other way \
         around. The field for the seed of the contents holds a number of the run, so that lost writes are found. Not \
         exchanged is `verify=sha256`: fio stores eight bytes of unknown origin, so that its data is compared without them, and \
         fio does not accept what is written here. Data in another format is reported as such.",
    ),
    (
        "Options that stand alone are among the options of the JSON output.",
        "Their value is empty. fio 3.33 leaves them out.",
    ),
    (
        "Amounts that fio 3.33 does not fulfil are fulfilled.",
        "fio ends a mix of reads and writes with `io_size` or `loops` before its amount is done, and reads nothing from files of \
         `create_on_open`; several sizes at random offsets leave it gaps; of what `vsync` joins with `iodepth` above 1 it counts only \
         a part of the bytes. Here all of the amount is done, and files that are \
         read are laid out. Files that are smaller than a block are refused, where fio does nothing with them.",
    ),
    (
        "Interim results have no disks.",
        "`--status-interval` and SIGUSR1 print what the jobs have done so far; what the devices did is in the final results alone.",
    ),
    (
        "Devices in use are refused.",
        "A device that is mounted, has mounted partitions, holds a member of a volume group or of a RAID, or serves as swap is \
         not written to, whatever the options say.",
    ),
    (
        "Files of engines that work on names are removed.",
        "What `filecreate` and its fellows make lies in a directory of their own, which is gone after the run.",
    ),
    ("Random offsets are ours.", "The same `randseed` gives the same offsets every time, but not fio's."),
    (
        "Batches form by themselves.",
        "Unless `iodepth_batch` and its fellows say otherwise, operations that may start are handed to the kernel together, and all that have come back are taken; the sizes that came of \
         it are reported with the results.",
    ),
    (
        "Messages never mix with results.",
        "Standard output holds the results alone, and standard error is empty unless something is wrong.",
    ),
];

const HEAD: &str = "| Option | Value | Default | Here | What it does |\n|---|---|---|---|---|\n";

fn entry(option: &Opt) -> String {
    let names = std::iter::once(&option.name).chain(option.aliases);
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    let default =
        if option.default.is_empty() { String::new() } else { format!("`{}`", cell(option.default)) };
    let here = match option.support {
        Support::Full => "yes".to_owned(),
        Support::Differs(how) => format!("differs: {}", cell(how)),
        Support::Bounded(how) => format!("yes: {}", cell(how)),
        Support::Missing(remedy) => format!("no: {}", cell(remedy)),
    };
    let engines = match option.engines {
        [] => String::new(),
        engines => format!(" For {}.", engines.join(", ")),
    };
    row(&[names.join(", "), cell(&value(option.form)), default, here, cell(option.help) + &engines])
}

/// What a value looks like.
fn value(form: Form) -> String {
    match form {
        Form::Flag => "0 or 1".into(),
        Form::Integer { min, max: i64::MAX } => format!("integer from {min} on"),
        Form::Integer { min, max } if max >= i64::from(i32::MAX) => format!("integer from {min} on"),
        Form::Integer { min, max } => format!("integer, {min} to {max}"),
        Form::Number { min, max } if max >= 1e9 => format!("number from {min} on"),
        Form::Number { min, max } => format!("number, {min} to {max}"),
        Form::Size => "size".into(),
        Form::SizeOrPercent => "size or percentage".into(),
        Form::Time(unit) => format!("time, in {unit}"),
        Form::Choice(words) => words.join(", "),
        Form::Text | Form::Special(_) => kind(form),
    }
}

fn engines() -> String {
    let mut text = String::from("\n## Engines\n\n| Engine | Here | What it does |\n|---|---|---|\n");
    for engine in ENGINES {
        let here = match engine.kind {
            Kind::Io => "yes".to_owned(),
            Kind::Names(_) => "yes: works on names, one after the other".to_owned(),
            Kind::Missing(remedy) => format!("no: {}", cell(remedy)),
        };
        text.push_str(&row(&[format!("`{}`", engine.name), here, cell(engine.help)]));
    }
    text
}

fn row(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

/// Text that stays within its cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::options;

    #[test]
    fn every_option_has_its_row() {
        let page = page();
        for option in options::all() {
            let start = format!("| `{}`", option.name);
            assert!(page.lines().any(|line| line.starts_with(&start)), "{}", option.name);
        }
    }

    /// A bar within a cell would begin another one.
    #[test]
    fn all_rows_of_a_table_have_as_many_cells() {
        let page = page();
        let cells = |line: &str| line.replace("\\|", "").matches('|').count();
        let mut lines = page.lines().peekable();
        while let Some(line) = lines.next() {
            if let Some(next) = lines.peek().filter(|next| line.starts_with('|') && next.starts_with('|')) {
                assert_eq!(cells(line), cells(next), "{next}");
            }
        }
        assert_eq!(cell("a|b\nc"), "a\\|b c");
    }
}
