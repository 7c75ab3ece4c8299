//! What is printed, and how: standard output for results, standard error for everything else.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IsTerminal, Read as _, Write};
use std::path::Path;

use iolite_model::{Ending, ErrorCause, ErrorOrigin};
use iolite_report::{Format, Style, show};
use iolite_results::Run;

use crate::exit::{UsageError, refuse};

/// Prints lines for a reader, which may hold names of files and the like: no escape sequence of a name reaches a terminal, nor a
/// file that is shown on one later.
///
/// # Errors
/// As [`print_rendered`].
pub(crate) fn print(text: &str) -> io::Result<()> {
    print_rendered(&shown(text))
}

/// Makes sure that a path that the user has named may be replaced by output.
///
/// # Errors
/// It is a block device, or a setting of the kernel.
pub(crate) fn is_for_output(file: &Path) -> Result<(), UsageError> {
    match iolite_sys::pseudo::reason_against_output(file) {
        Some(reason) => Err(UsageError::new(format!(
            "refusing to write output to {}: {reason}; specify another file",
            file.display()
        ))),
        None => Ok(()),
    }
}

/// Writes a file that the user has named. A database is never replaced: it would be the results of years, or somebody else's data.
///
/// # Errors
/// It is a database, or nothing for output, or can't be written to.
pub(crate) fn write_file(file: &Path, content: &[u8]) -> Result<(), UsageError> {
    const DATABASE: &[u8] = b"SQLite format 3\0";
    is_for_output(file)?;
    let is_file = std::fs::metadata(file).is_ok_and(|there| there.is_file());
    let mut begin = [0; DATABASE.len()];
    let read = is_file && File::open(file).and_then(|mut there| there.read_exact(&mut begin)).is_ok();
    if read && begin == DATABASE {
        refuse!("{} is a database, which would be replaced: specify another file", file.display());
    }
    std::fs::write(file, content).map_err(|error| {
        let advice = ErrorCause::advice(&error, ErrorOrigin::Path(file));
        UsageError::new(format!("cannot write {}: {error}{advice}; specify another file", file.display()))
    })
}

/// Prints what programs read, as it is; on a terminal as [`print()`] does.
///
/// # Errors
/// As [`print_rendered`].
pub(crate) fn print_data(text: &str) -> io::Result<()> {
    if !io::stdout().is_terminal() {
        return print_rendered(text);
    }
    // Columns of a table are apart by tabs.
    print_rendered(&text.split('\t').map(shown).collect::<Vec<_>>().join("\t"))
}

/// Prints what was made for this output: names in it are escaped already. A reader that has gone away (a closed pipe) is no
/// error: it wanted no more.
///
/// # Errors
/// Standard output cannot be written to, for example on a full disk.
pub(crate) fn print_rendered(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(|error| {
            let text = format!(
                "cannot write to standard output: {error}; check the file or device that it is redirected to"
            );
            io::Error::new(error.kind(), text)
        }),
    }
}

/// Prints a note on standard error.
pub(crate) fn note(text: &str) {
    // Without a standard error it is lost.
    let _ = writeln!(io::stderr(), "iolite: {}", shown(&kept_secret(text)));
}

/// Prints what is wrong, under the name that the program was called by.
pub(crate) fn complain(name: &str, text: &str) {
    let _ = writeln!(io::stderr(), "{name}: {}", shown(&kept_secret(text)));
}

/// The same where nothing may be waited for: not printed where a pipe or terminal takes nothing, and past the lock that another
/// thread may hold.
pub(crate) fn complain_at_once(name: &str, text: &str) {
    let stderr = io::stderr();
    let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut ready = [rustix::event::PollFd::new(&stderr, rustix::event::PollFlags::OUT)];
    if rustix::event::poll(&mut ready, Some(&now)).is_ok_and(|count| count > 0) {
        let _ = rustix::io::write(&stderr, format!("{name}: {text}\n").as_bytes());
    }
}

/// A message without what arguments hold of passwords: a URL in the wrong place is quoted by whoever expects something else there.
fn kept_secret(text: &str) -> String {
    let arguments = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned());
    without_passwords(text, arguments)
}

fn without_passwords(text: &str, arguments: impl Iterator<Item = String>) -> String {
    let mut text = text.to_owned();
    for argument in arguments {
        let secret = iolite_db::without_password(&argument);
        if secret == argument {
            continue;
        }
        text = text.replace(&argument, &secret);
        // An option's value is quoted without its name. In a URL, what follows a `=` is a part that means nothing by itself.
        let value =
            |option: &str| option.strip_prefix("--")?.split_once('=').map(|(_, value)| value.to_owned());
        if let (Some(value), Some(secret)) = (value(&argument), value(&secret)) {
            text = text.replace(&value, &secret);
        }
    }
    text
}

/// A text as a terminal can show it: no escape sequence of a name reaches it, and outside of UTF-8 it is ASCII.
fn shown(text: &str) -> String {
    iolite_report::harmless(text, unicode_locale())
}

/// Prints what clap says of the arguments, which may quote them.
pub(crate) fn usage(error: &clap::Error) {
    let text = error.render().to_string();
    let safe = kept_secret(&text);
    let is_odd = |argument: OsString| argument.to_string_lossy().chars().any(char::is_control);
    if safe != text || std::env::args_os().any(is_odd) {
        let _ = writeln!(io::stderr(), "{}", shown(&safe));
    } else {
        // Nobody reads it any more.
        let _ = error.print();
    }
}

/// Prints an error with its causes.
pub(crate) fn error(error: &anyhow::Error) {
    let text = iolite_session::describe(&**error);
    let _ = writeln!(io::stderr(), "iolite: error: {}", shown(&kept_secret(&text)));
}

/// Prints a run: what a command prints at its end, and `results show` later.
///
/// # Errors
/// Standard output can't be written to.
pub(crate) fn run(run: &Run, format: Format) -> io::Result<()> {
    print_rendered(&show(run, format, style()))
}

/// Reports a failure where nobody would see it now: the live view does without `quiet`, and the results do on a terminal.
pub(crate) fn failure(run: &Run, quiet: bool) {
    if let Some(Ending::Failed(reason)) = &run.ending
        && quiet
        && !io::stdout().is_terminal()
    {
        let _ = writeln!(io::stderr(), "iolite: error: {}", shown(&kept_secret(reason)));
    }
}

/// How results are to look on standard output: colour and line drawing only where they can be shown, and no colour
/// where NO_COLOR is set (<https://no-color.org>).
pub(crate) fn style() -> Style {
    let terminal = io::stdout().is_terminal();
    Style { color: terminal && colour_wanted(), unicode: unicode_locale(), width: width() }
}

/// Whether progress can be drawn on standard error.
pub(crate) fn can_draw() -> bool {
    io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Whether the user has not asked for no colour.
pub(crate) fn colour_wanted() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Whether the locale's encoding is UTF-8; an unset locale (a container's) is taken as such.
pub(crate) fn unicode_locale() -> bool {
    let set = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|v| !v.is_empty());
    set.is_none_or(|locale| {
        let locale = locale.to_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

/// Columns of a wide terminal, and of a pipe or file: a table has all its columns there.
const MAX_WIDTH: usize = 200;

fn width() -> usize {
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    columns.or_else(iolite_sys::file::terminal_width).unwrap_or(MAX_WIDTH).clamp(60, MAX_WIDTH)
}

#[cfg(test)]
mod tests {
    use super::without_passwords;

    #[test]
    fn a_password_is_hidden_and_the_rest_of_a_message_stays_readable() {
        let said = |text: &str, argument: &str| without_passwords(text, std::iter::once(argument.to_owned()));
        let text = "cannot connect to `postgres://h/d?password=e`: check the name";
        let hidden = "cannot connect to `postgres://h/d?password=***`: check the name";
        for (own, argument) in [
            (text, "postgres://h/d?password=e"),
            (text, "--db=postgres://h/d?password=e"),
            (&text.replace("password=e", "password="), "postgres://h/d?password="),
        ] {
            assert_eq!(said(own, argument), hidden, "{argument}");
        }
        let option = said("`--db=mysql://u:pw@h/d` and `mysql://u:pw@h/d`", "--db=mysql://u:pw@h/d");
        assert!(!option.contains("pw"), "{option}");
    }
}
