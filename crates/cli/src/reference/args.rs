//! `iolite man` and `iolite completions` as typed.

use std::path::PathBuf;

use clap::Parser;
use clap_complete::Shell;

const MAN_EXAMPLES: &str = "\
Examples:
  Show the manual page:
      iolite man | man -l -
  Install all manual pages for the current user:
      iolite man ~/.local/share/man/man1";

/// `iolite man` as typed.
#[derive(Debug, Parser)]
#[command(after_help = MAN_EXAMPLES)]
pub(crate) struct ManArgs {
    /// Directory to write one page per command into; it is created if missing [default: print iolite(1)]
    #[arg(value_name = "DIR")]
    pub(super) directory: Option<PathBuf>,
}

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  bash:  iolite completions bash > ~/.local/share/bash-completion/completions/iolite
  zsh:   iolite completions zsh > ~/.zfunc/_iolite          (a directory of $fpath)
  fish:  iolite completions fish > ~/.config/fish/completions/iolite.fish";

/// `iolite completions` as typed.
#[derive(Debug, Parser)]
#[command(after_help = COMPLETIONS_EXAMPLES)]
pub(crate) struct CompletionsArgs {
    /// Shell to print completions for
    #[arg(value_name = "SHELL")]
    pub(super) shell: Shell,
}
