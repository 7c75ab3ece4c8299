//! What `--help`, `--cmdhelp` and `--enghelp` print: from the tables, in the layout of fio's.

use super::command_line::OPTIONS;
use super::error::{OptionError, Result, quoted};
use super::options;
use super::options::engine::{self, ENGINES, Kind};
use super::options::find;
use super::options::option::{Form, Opt, Support};
use super::problem::{did_you_mean, nearest};

/// Width of what stands before the colon in the help of one option.
const LABEL: usize = 20;

/// Width of names in lists.
const NAME: usize = 27;

/// The options of the command line that are about a run as a whole.
pub fn general() -> String {
    let mut text = String::from("fio [options] [job options] <job file(s)>\n");
    for option in OPTIONS {
        let short = option.short.map(|short| format!("-{short}, ")).unwrap_or_default();
        let named = format!("  {short}--{}{}", option.name, option.value());
        text.push_str(&format!("{named:<40} {}\n", option.help));
    }
    text.push_str(
        "\nOptions of jobs may follow, as --NAME=VALUE, after a --name=JOB for each job; those before the first are for all \
         jobs.\n--cmdhelp lists the job options, --cmdhelp=NAME describes one; `iolite explain` describes what a job file will \
         do.\n",
    );
    text
}

/// The options of jobs: their list for `None` and for `all`, otherwise one of them.
///
/// # Errors
/// There is no option of this name: says which are like it.
pub fn cmdhelp(name: Option<&str>) -> Result<String> {
    match name {
        None | Some("all") => {
            Ok(options::all().filter(|option| option.engines.is_empty()).map(line).collect())
        }
        Some(name) => find(name).map(entry).ok_or_else(|| {
            let names =
                options::all().flat_map(|option| option.aliases.iter().chain([&option.name])).copied();
            unknown("option", name, &nearest(name, names), "--cmdhelp lists all")
        }),
    }
}

/// The engines for `None`, otherwise the options of one, or one of its options.
///
/// # Errors
/// There is no such engine, or it has no such option.
pub fn enghelp(engine: Option<&str>, option: Option<&str>) -> Result<String> {
    let Some(name) = engine else {
        let built = ENGINES.iter().filter(|engine| !matches!(engine.kind, Kind::Missing(_)));
        let lines = built.map(|engine| format!("\t{}\n", engine.name));
        return Ok(std::iter::once("Available I/O engines:\n".to_owned()).chain(lines).collect());
    };
    match engine::known(name).map(|engine| engine.kind) {
        None => {
            let names = ENGINES.iter().map(|engine| engine.name);
            return Err(unknown("engine", name, &nearest(name, names), "--enghelp lists all"));
        }
        Some(Kind::Missing(remedy)) => {
            return Err(OptionError::not_built(format!("the engine {name} is"), remedy));
        }
        Some(_) => {}
    }
    let mut own = options::all().filter(|option| option.engines.contains(&name));
    match option {
        Some(wanted) => {
            let names =
                || options::all().filter(|option| option.engines.contains(&name)).map(|option| option.name);
            let found = own.find(|option| option.name == wanted || option.aliases.contains(&wanted));
            found.map(entry).ok_or_else(|| {
                let remedy = format!("--enghelp={name} lists its options");
                unknown("option of this engine", wanted, &nearest(wanted, names()), &remedy)
            })
        }
        None => {
            let list: String = own.map(line).collect();
            Ok(if list.is_empty() { format!("The engine {name} has no engine options.\n") } else { list })
        }
    }
}

fn unknown(what: &str, name: &str, near: &[&str], remedy: &str) -> OptionError {
    OptionError::refused(format!("there is no {what} {}", quoted(name)), did_you_mean(near, remedy))
}

/// An option in a list.
fn line(option: &Opt) -> String {
    let first =
        option.help.split_inclusive(['.', ';']).next().unwrap_or_default().trim_end_matches(['.', ';']);
    let missing = if matches!(option.support, Support::Missing(_)) { " (not supported)" } else { "" };
    format!("{:<NAME$}: {first}{missing}\n", option.name)
}

/// All about an option.
fn entry(option: &Opt) -> String {
    let mut text = format!("{:>LABEL$}: {}\n", option.name, option.help);
    let mut add = |label: &str, what: &str| text.push_str(&format!("{label:>LABEL$}: {what}\n"));
    for alias in option.aliases {
        add("alias", alias);
    }
    add("type", &kind(option.form));
    add("default", if option.default.is_empty() { "none" } else { option.default });
    match option.form {
        Form::Integer { min, max } => add("range", &format!("min={min}, max={max}")),
        Form::Number { min, max } => add("range", &format!("min={min}, max={max}")),
        Form::Choice(words) => {
            for (at, word) in words.iter().enumerate() {
                add(if at == 0 { "valid values" } else { "" }, word);
            }
        }
        _ => {}
    }
    if !option.engines.is_empty() {
        add("engines", &option.engines.join(", "));
    }
    match option.support {
        Support::Full => {}
        Support::Differs(how) => add("differs from fio", how),
        Support::Bounded(how) => add("here", how),
        Support::Missing(remedy) => add("not supported", remedy),
    }
    text
}

/// What kind of value an option has.
pub(super) fn kind(form: Form) -> String {
    match form {
        Form::Flag => "0 or 1; alone it means 1".into(),
        Form::Integer { .. } => "integer".into(),
        Form::Number { .. } => "number".into(),
        Form::Size => "size in bytes, such as 4k".into(),
        Form::SizeOrPercent => "size in bytes, such as 4k, or a percentage".into(),
        Form::Time(unit) => format!("time, such as 10s; in {unit} without a unit"),
        Form::Choice(_) => "one of these words".into(),
        Form::Text => "text".into(),
        Form::Special(what) => what.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_general_help_lists_the_options_and_formats() {
        let text = general();
        for part in ["--output-format=", "json+", "--cmdhelp[=", "-v, --version", "--eta-newline="] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn an_option_is_reported_with_all_that_the_table_knows() {
        let text = cmdhelp(Some("disable_bw")).unwrap();
        assert!(text.starts_with("disable_bw_measurement: "), "{text}");
        assert!(text.contains("               alias: disable_bw\n"), "{text}");
        let text = cmdhelp(Some("latency_percentile")).unwrap();
        assert!(text.contains("               range: min=0, max=100\n"), "{text}");
        let text = cmdhelp(Some("unified_rw_reporting")).unwrap();
        assert!(text.contains("        valid values: none\n                    : mixed\n"), "{text}");
        assert!(cmdhelp(Some("nfs_url")).unwrap().contains("       not supported: "));
        assert!(cmdhelp(Some("iodepth_batch")).unwrap().contains("    differs from fio: "));
    }

    #[test]
    fn the_list_has_every_option_for_all_engines() {
        let list = cmdhelp(None).unwrap();
        assert_eq!(list, cmdhelp(Some("all")).unwrap());
        for option in options::all().filter(|option| option.engines.is_empty()) {
            assert!(
                list.lines().any(|line| line.split(':').next().unwrap().trim() == option.name),
                "{}",
                option.name
            );
        }
    }

    #[test]
    fn unknown_names_are_refused_with_those_like_them() {
        assert!(cmdhelp(Some("iodpeth")).unwrap_err().to_string().contains("did you mean `iodepth`?"));
        assert!(cmdhelp(Some("\u{1b}[2J")).unwrap_err().to_string().contains("--cmdhelp lists all"));
        assert!(enghelp(Some("io_urng"), None).unwrap_err().to_string().contains("did you mean `io_uring`"));
        assert!(enghelp(Some("rbd"), None).unwrap_err().to_string().contains("not supported"));
        assert!(
            enghelp(Some("libaio"), Some("sqthread_poll"))
                .unwrap_err()
                .to_string()
                .contains("--enghelp=libaio")
        );
        assert!(
            enghelp(Some("no-such-engine"), None).unwrap_err().to_string().contains("there is no engine")
        );
    }

    #[test]
    fn engines_are_reported_with_their_options() {
        let list = enghelp(None, None).unwrap();
        assert!(
            list.contains("\tio_uring\n") && list.contains("\tfilestat\n") && !list.contains("\trbd\n"),
            "{list}"
        );
        assert!(enghelp(Some("io_uring"), None).unwrap().contains("sqthread_poll "));
        assert!(
            enghelp(Some("io_uring"), Some("sqthread_poll"))
                .unwrap()
                .contains("             engines: io_uring\n")
        );
        assert!(enghelp(Some("null"), None).unwrap().contains("no engine options"));
    }
}
