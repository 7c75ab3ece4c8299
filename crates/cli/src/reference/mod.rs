//! `iolite man` and `iolite completions`: manual pages and shell completions, from the same description as the help texts.

pub(crate) mod args;

use std::fs;
use std::io;
use std::path::Path;

use anyhow::Context;
use clap::CommandFactory;
use clap_mangen::Man;

use crate::args::Args;
use crate::exit::{self, Exit};
use crate::output;
use args::{CompletionsArgs, ManArgs};

/// Prints iolite(1), or writes the pages of all commands into a directory.
///
/// # Errors
/// The directory or a page cannot be written.
pub(crate) fn man(args: &ManArgs) -> anyhow::Result<Exit> {
    let command = built();
    match &args.directory {
        None => output::print_data(&String::from_utf8_lossy(&page(&command)?))?,
        Some(directory) => {
            fs::create_dir_all(directory)
                .with_context(|| format!("cannot create the directory {}", directory.display()))?;
            write_pages(&command, directory)?;
        }
    }
    Ok(Exit::Fit)
}

/// Prints the completion script for a shell.
///
/// # Errors
/// Standard output cannot be written to.
pub(crate) fn completions(args: &CompletionsArgs) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "iolite", &mut script);
    output::print_data(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Fit)
}

/// The description of the command line; `--help` explains the commands, so that no page lists a command `help`.
fn built() -> clap::Command {
    let mut command = Args::command().disable_help_subcommand(true);
    command.build();
    command
}

/// Writes the page of a command and those of its subcommands, named as `iolite-results-show.1`.
fn write_pages(command: &clap::Command, directory: &Path) -> anyhow::Result<()> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    let path = directory.join(format!("{name}.1"));
    fs::write(&path, page(command)?).with_context(|| format!("cannot write {}", path.display()))?;
    command.get_subcommands().try_for_each(|subcommand| write_pages(subcommand, directory))
}

/// A manual page, in roff: as clap_mangen renders it, but with examples and exit codes kept as they are laid out.
fn page(command: &clap::Command) -> io::Result<Vec<u8>> {
    let man = Man::new(command.clone());
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    if command.get_arguments().any(|argument| !argument.is_hide_set()) {
        man.render_options_section(&mut page)?;
    }
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    let extra = command.get_after_long_help().or_else(|| command.get_after_help());
    let extra = extra.map(ToString::to_string).unwrap_or_default();
    let (text, codes) = extra.split_once("Exit codes:\n").unwrap_or((&extra, ""));
    let (before, examples) = text.split_once("Examples:\n").unwrap_or((text, ""));
    section("NOTES", before, &mut page);
    section("EXAMPLES", examples, &mut page);
    if command.get_name() == "fio" {
        section("OPTIONS OF THE COMMAND LINE", &iolite_fio::language::help::general(), &mut page);
    }
    let codes = if codes.is_empty() && command.get_name() == "iolite" { exit::TABLE } else { codes };
    section("EXIT STATUS", codes, &mut page);
    if command.get_version().is_some() {
        man.render_version_section(&mut page)?;
    }
    Ok(page)
}

/// A section whose lines are kept.
fn section(title: &str, text: &str, page: &mut Vec<u8>) {
    let text = text.trim_matches('\n');
    if text.trim().is_empty() {
        return;
    }
    page.extend(format!(".SH \"{title}\"\n.nf\n").bytes());
    for line in text.lines() {
        // A dot or an apostrophe at a line's start would be a request of roff's.
        let request = if line.starts_with(['.', '\'']) { "\\&" } else { "" };
        let line = line.replace('\\', "\\e").replace('-', "\\-");
        page.extend(format!("{request}{line}\n").bytes());
    }
    page.extend(b".fi\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_section_are_kept_and_never_requests() {
        let mut page = Vec::new();
        section("EXAMPLES", "\n.start\n  a\\b --option\n", &mut page);
        assert_eq!(
            String::from_utf8(page).unwrap(),
            ".SH \"EXAMPLES\"\n.nf\n\\&.start\n  a\\eb \\-\\-option\n.fi\n"
        );
        let mut page = Vec::new();
        section("NOTES", "\n\n", &mut page);
        assert!(page.is_empty());
    }
}
