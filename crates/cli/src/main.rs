//! iolite: is this storage good enough for a database, and if not, why not?
//!
//! Arguments -> options -> plan -> run -> outputs; see ARCHITECTURE.md for the way through the crates.

mod ab;
mod args;
mod check;
mod classic;
mod conduct;
mod database;
mod durability;
mod exit;
mod explain;
mod fio;
mod iometer;
mod job;
mod layers;
mod loading;
mod observe;
mod output;
mod plot;
mod profiles;
mod pts;
mod ran;
mod reference;
mod report;
mod results;
mod run;
mod serve;
mod setup;
mod shared_args;
mod signals;
mod study;
mod tproc_c;
mod verify;
mod waits;
mod writes;

use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};
use exit::Exit;

fn main() -> ExitCode {
    iolite_sys::heap::map_large_blocks();
    if std::env::args_os().nth(1).is_some_and(|first| first == iolite_engine::WORKER_COMMAND) {
        return worker();
    }
    if let Some(arguments) = fio_arguments() {
        signals::listen("fio", fio::INTERRUPTED);
        return fio::main(arguments);
    }
    signals::listen("iolite", Exit::Interrupted as u8);
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            // Help and version come as "errors" that are none.
            let exit = if error.use_stderr() { Exit::Usage } else { Exit::Fit };
            output::usage(&error);
            return exit.into();
        }
    };
    if !args.command.is_interruptible() {
        signals::leave_to_default();
    }
    let result = match args.command {
        Command::Check(args) => check::run(*args),
        Command::Run(args) => run::run(*args),
        Command::Fio { arguments } => return fio::main(arguments.into_iter()),
        Command::Ab(args) => ab::run(*args),
        Command::Layers(args) => layers::run(*args),
        Command::LatencyTarget(args) => run::latency_target(*args),
        Command::Verify(args) => verify::run(&args),
        Command::Profiles { name } => profiles::run(name.as_deref()),
        Command::Study(args) => study::run(*args),
        Command::Classic(args) => classic::run(*args),
        Command::Iometer(args) => iometer::run(*args),
        Command::Pts(args) => pts::run(*args),
        Command::Db(args) => database::run(&args),
        Command::RanRead(args) => ran::run(args),
        Command::RanWrite(args) => ran::run(args),
        Command::RanIo(args) => ran::run(args),
        Command::Durability(args) => durability::run(*args),
        Command::TprocC(args) => tproc_c::run(args),
        Command::Waits(args) => waits::run(args),
        Command::Observe(args) => observe::run(&args),
        Command::Results(args) => results::run(*args),
        Command::Plot(args) => plot::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Serve(args) => serve::run(args),
        Command::Explain(args) => explain::run(&args),
        Command::Completions(args) => reference::completions(&args),
        Command::Man(args) => reference::man(&args),
    };
    result
        .unwrap_or_else(|error| {
            output::error(&error);
            exit::of(&error)
        })
        .into()
}

/// The arguments of fio's own command line, where that is what was called: by the name `fio`, or as `iolite fio`.
fn fio_arguments() -> Option<std::env::ArgsOs> {
    let mut arguments = std::env::args_os();
    let called = arguments.next()?;
    if Path::new(&called).file_name().is_some_and(|name| name == "fio") {
        return Some(arguments);
    }
    arguments.next().filter(|command| command == "fio").map(|_| arguments)
}

/// This program as a worker of another one's phase: not to be called by users.
fn worker() -> ExitCode {
    // Where there can be no handler the limit still ends the worker, which its parent reports.
    let _ = signals::survive_file_limits();
    match iolite_engine::serve_worker() {
        Ok(()) => Exit::Fit.into(),
        Err(error) => {
            output::error(&anyhow::Error::new(error).context("a worker process without its parent"));
            Exit::Failure.into()
        }
    }
}
