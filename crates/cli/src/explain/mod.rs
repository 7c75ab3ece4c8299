//! `iolite explain`: a result or a job in plain words; which of the two follows from its content.

mod content;
mod job;

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::Parser;
use iolite_report::explain::{ResultToExplain, result};
use iolite_sys::input;

use crate::exit::{self, Exit, UsageError, refuse};
use crate::output;
use content::Content;

const EXAMPLES: &str = "\
Examples:
  Explain the figures of a fio result, with caveats:
      fio --output-format=json --output=result.json job.fio; iolite explain result.json
  Explain every key:
      iolite explain result.json --all
  Explain what a job would do, and its problems:
      iolite explain job.fio";

/// Results are read up to this size: what is larger is not one.
const LARGEST: u64 = 64 << 20;

/// `iolite explain` as typed.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{}", exit::TABLE))]
pub(crate) struct ExplainArgs {
    /// A result (JSON of fio or iolite) or a job; `-` for standard input
    #[arg(value_name = "RESULT|JOB")]
    file: PathBuf,

    /// Explain every key of a result, not only the important ones
    #[arg(long)]
    all: bool,
}

/// Explains a file.
///
/// # Errors
/// It can't be read, or is neither a result nor a job.
pub(crate) fn run(args: &ExplainArgs) -> anyhow::Result<Exit> {
    let text = read(&args.file)?;
    let shown = args.file.display();
    let usage = |message: String| UsageError::new(format!("{shown}: {message}"));
    let style = output::style();
    match content::of(&text).map_err(|error| usage(error.to_string()))? {
        Content::Result { document, skipped, documents } => {
            if let Some(first) = skipped.first() {
                let more = if skipped.len() > 1 {
                    format!(" and {} more lines", skipped.len() - 1)
                } else {
                    String::new()
                };
                output::note(&format!(
                    "the text before the result was skipped: `{}`{more}",
                    first.escape_debug()
                ));
            }
            if documents > 1 {
                output::note(&format!(
                    "the file has {documents} results (fio's --status-interval, or an export of several runs); the last one is explained"
                ));
            }
            let explained = ResultToExplain { document: &document, all: args.all };
            let text = result(explained, style).map_err(|error| usage(error.to_string()))?;
            output::print_rendered(&text)?;
        }
        Content::Job if args.all => {
            return Err(
                usage("--all applies to results only; a job is always explained completely".into()).into()
            );
        }
        Content::Job => output::print_rendered(&job::explain(&args.file, &text, style)?)?,
    }
    Ok(Exit::Fit)
}

/// Reads a text of a sensible size.
fn read(path: &Path) -> Result<String, UsageError> {
    let shown = path.display();
    let mut bytes = Vec::new();
    let taken = if path == Path::new("-") {
        io::stdin().take(LARGEST + 1).read_to_end(&mut bytes)
    } else {
        match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => {
                refuse!("{shown} is a directory: specify a result file or a job file");
            }
            _ => input::open(path).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes)),
        }
    };
    taken.map_err(|error| {
        UsageError::new(format!(
            "cannot read {shown}: {error}; specify a result file, a job file, or `-` for standard input"
        ))
    })?;
    if bytes.len() as u64 > LARGEST {
        refuse!("{shown} is larger than 64 MiB, the maximum for a result or job");
    }
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0')).ok_or_else(|| {
        UsageError::new(format!(
            "{shown} is not a text file: specify a result in JSON (fio --output-format=json), or a job"
        ))
    })
}
