//! iolite: is this storage good enough for a database, and if not, why not?
//!
//! Arguments -> options -> plan -> run -> outputs; see ARCHITECTURE.md for the way through the crates.

mod args;
mod check;
mod exit;
mod output;
mod profiles;
mod signals;

use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};
use exit::Exit;

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            // Help and version come as "errors" that are none.
            let exit = if error.use_stderr() { Exit::Usage } else { Exit::Fit };
            // Nobody listens any more: nothing left to tell.
            let _ = error.print();
            return exit.into();
        }
    };
    let result = match args.command {
        Command::Check(args) => check::run(*args),
        Command::Profiles { name } => profiles::run(name.as_deref()),
    };
    result
        .unwrap_or_else(|error| {
            output::error(&error);
            exit::of(&error)
        })
        .into()
}
