//! `iolite explain`: a result or a job in plain words; which of the two follows from its content.

mod content;
mod job;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::Parser;
use iolite_report::explain::{ResultToExplain, result};

use crate::exit::{self, Exit, UsageError};
use crate::output;
use content::Content;

const EXAMPLES: &str = "\
Examples:
  What do these numbers mean, and which need caution?
      fio --output-format=json --output=result.json job.fio; iolite explain result.json
  Every key of it:
      iolite explain result.json --all
  What would this job do, and what is wrong with it?
      iolite explain job.fio";

/// Results are read up to this size: what is larger is not one.
const LARGEST: u64 = 64 << 20;

/// `iolite explain` as typed.
#[derive(Debug, Parser)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{}", exit::TABLE))]
pub(crate) struct ExplainArgs {
    /// A result (JSON of fio's or iolite's) or a job; `-` for standard input
    #[arg(value_name = "RESULT|JOB")]
    file: PathBuf,

    /// Of a result: explain every key, not only those that matter
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
                    "before the result stands `{}`{more}: messages of the program that printed it",
                    first.escape_debug()
                ));
            }
            if documents > 1 {
                output::note(&format!(
                    "there are {documents} results in it (fio's --status-interval): the last one is explained"
                ));
            }
            let explained = ResultToExplain { document: &document, all: args.all };
            let text = result(explained, style).map_err(|error| usage(error.to_string()))?;
            output::print(&text)?;
        }
        Content::Job if args.all => {
            return Err(usage("it is a job, of which all is explained anyway: leave --all out".into()).into());
        }
        Content::Job => output::print(&job::explain(&args.file, &text, style)?)?,
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
                let message = format!("{shown} is a directory: give the file of a result or of a job in it");
                return Err(UsageError::new(message));
            }
            _ => File::open(path).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes)),
        }
    };
    taken.map_err(|error| {
        UsageError::new(format!(
            "cannot read {shown}: {error}; give the file of a result or of a job, or `-` for standard input"
        ))
    })?;
    if bytes.len() as u64 > LARGEST {
        let message = format!("{shown} is larger than 64 MiB, which no result or job is: give another file");
        return Err(UsageError::new(message));
    }
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0')).ok_or_else(|| {
        UsageError::new(format!(
            "{shown} is not text: give a result as JSON (fio --output-format=json), or a job"
        ))
    })
}
