//! Sections back to text: as a job file, and as a command line.

use super::error::quoted;
use super::job_file::{Document, Section, Setting, is_blank};
use super::options;
use super::problem::Problem;

/// The document as a job file, with what it includes put in its place. Read again, it is the same document.
///
/// # Errors
/// A name or a value can't be written in a job file, as one with a `;` from a command line.
pub fn job_file(document: &Document) -> Result<String, Problem> {
    let mut out = String::new();
    for (index, section) in document.sections.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        out.push_str(&format!("[{}]\n", writable(&section.name, section)?));
        for setting in &section.settings {
            out.push_str(&line(setting)?);
            out.push('\n');
        }
    }
    Ok(out)
}

/// The section's name, if it survives being written and read.
fn writable<'a>(name: &'a str, section: &Section) -> Result<&'a str, Problem> {
    if name.trim_matches(is_blank).is_empty() || name.contains(['\n', ';', '#', '\0']) {
        let what = format!("{} cannot be the name of a section in a job file", quoted(name));
        return Err(section.origin.problem(what, "rename the job"));
    }
    Ok(name)
}

/// The setting's line, if it survives being written and read.
fn line(setting: &Setting) -> Result<String, Problem> {
    let line = match &setting.value {
        Some(value) => format!("{}={value}", setting.name),
        None => setting.name.clone(),
    };
    let included =
        line.strip_prefix("include").is_some_and(|rest| rest.is_empty() || rest.starts_with(is_blank));
    let lost = line.contains(['\n', ';', '#', '\0'])
        || line.is_empty()
        || line.starts_with('[')
        || line.trim_matches(is_blank) != line;
    let changed = setting.name.contains('=') || setting.name.ends_with(is_blank);
    if included || lost || changed {
        let what = format!("{} cannot be written in a job file", quoted(&line));
        return Err(setting.origin.problem(what, "`;`, `#` and line breaks mean something else there"));
    }
    Ok(line)
}

/// The sections as a command line that a shell understands. Variables and keywords should be worked out already
/// ([`Document::expanded`]): on a command line they mean nothing.
pub fn command_line(sections: &[Section]) -> String {
    let mut words = vec!["fio".to_owned()];
    for (index, section) in sections.iter().enumerate() {
        // What is before the first name is global; later defaults are reported by a job of that name.
        if index > 0 || !section.is_global() {
            words.push(word("name", Some(&section.name)));
        }
        words.extend(section.settings.iter().filter(|setting| !repeats(setting, section)).map(|setting| {
            let name = options::find(&setting.name).map_or(setting.name.as_str(), |option| option.name);
            word(name, setting.value.as_deref())
        }));
    }
    words.join(" ")
}

/// Whether the setting says again what `--name` has said: so it is with sections that come from a command line.
fn repeats(setting: &Setting, section: &Section) -> bool {
    setting.name == "name" && setting.value.as_ref() == Some(&section.name)
}

fn word(name: &str, value: Option<&str>) -> String {
    match value {
        Some(value) => format!("--{}={}", plain_or_quoted(name), plain_or_quoted(value)),
        None => format!("--{}", plain_or_quoted(name)),
    }
}

/// The text as a shell reads it.
fn plain_or_quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:,=+%@".contains(c);
    if text.chars().all(plain) {
        return text.to_owned();
    }
    let mut out = String::from("\"");
    for c in text.chars() {
        if matches!(c, '"' | '\\' | '$' | '`') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests;
