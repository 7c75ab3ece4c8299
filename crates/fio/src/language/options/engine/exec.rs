//! The engine that runs a program (`ioengine=exec`).

use iolite_model::Nanos;

use crate::language::error::{OptionError, Result};
use crate::language::options::Spec;
use crate::language::options::entry::{MAX, flag, integer, text};
use crate::language::options::option::Opt;
use crate::language::thread::Program;

/// The program of a job.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Exec {
    /// `program`.
    pub program: String,
    /// `arguments`.
    pub arguments: String,
    /// `grace_time`: from SIGTERM to SIGKILL.
    pub grace: Nanos,
    /// `std_redirect`: its output goes to files.
    pub redirected: bool,
}

impl Exec {
    /// What a thread of the job runs.
    ///
    /// # Errors
    /// No program is named.
    pub(crate) fn program(&self, spec: &Spec) -> Result<Program> {
        if self.program.is_empty() {
            return Err(OptionError::refused("ioengine=exec needs to know what to run", "name its file")
                .at("program"));
        }
        let seconds = (spec.job.runtime.0 / Nanos::SECOND.0).to_string();
        let arguments = self.arguments.split_whitespace();
        let arguments = arguments.map(|word| expanded(word, &seconds, &spec.job.name)).collect();
        let Exec { program, grace, redirected, .. } = self.clone();
        Ok(Program { path: program.into(), arguments, grace, redirected })
    }
}

/// An argument with the variables `%r`, the job's runtime in seconds, and `%n`, its name.
fn expanded(word: &str, seconds: &str, name: &str) -> String {
    let mut text = String::new();
    let mut rest = word;
    while let Some(at) = rest.find('%') {
        text.push_str(&rest[..at]);
        let (variable, skipped) = match rest[at + 1..].chars().next() {
            Some('r') => (seconds, 2),
            Some('n') => (name, 2),
            _ => ("%", 1),
        };
        text.push_str(variable);
        rest = &rest[at + skipped..];
    }
    text + rest
}

/// The options.
pub(super) const OPTIONS: [Opt; 4] = [
    text("program", |s, text| s.engine.exec.program = text.to_owned())
        .help("Program that the job runs: a file, or a name that is looked up in PATH.")
        .of(&["exec"])
        .bounded(
            "a job without a runtime ends with its program, where fio 3.33 never ends; a program that cannot \
             be started is an error",
        ),
    text("arguments", |s, text| s.engine.exec.arguments = text.to_owned())
        .help(
            "Arguments of the program, separated by white space; %r is replaced by the runtime of the job in \
             seconds, %n by its name.",
        )
        .of(&["exec"]),
    integer("grace_time", 0, MAX, |s, seconds| {
        s.engine.exec.grace = Nanos(seconds.unsigned_abs() * Nanos::SECOND.0);
    })
    .default("1")
    .help("Seconds from SIGTERM, which the program gets at the end of the job, to SIGKILL.")
    .of(&["exec"]),
    flag("std_redirect", |s, on| s.engine.exec.redirected = on)
        .default("1")
        .help("Writes what the program prints to NAME.stdout and NAME.stderr.")
        .of(&["exec"]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::options::option::samples::spec;

    #[test]
    fn arguments_have_variables() {
        let settings = [
            ("name", "j"),
            ("ioengine", "exec"),
            ("runtime", "90"),
            ("program", "/bin/echo"),
            ("arguments", "-n  %n.log --time=%r 50% %% %x%r%n"),
        ];
        let spec = spec(&settings).unwrap();
        let program = spec.engine.exec.program(&spec).unwrap();
        assert_eq!(program.arguments, ["-n", "j.log", "--time=90", "50%", "%%", "%x90j"]);
        assert_eq!((program.grace, program.redirected), (Nanos::SECOND, true));
        let none = Spec::default();
        assert!(none.engine.exec.program(&none).unwrap_err().to_string().contains("program"));
    }
}
