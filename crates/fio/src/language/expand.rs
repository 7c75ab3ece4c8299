//! What a job file leaves to the place where it runs: `${VARIABLE}`, `$pagesize`, `$mb_memory` and `$ncpus`.

use super::arithmetic::{Numbers, evaluate};
use super::job_file::{Document, HostContext, LONGEST_LINE, Section, Setting};
use super::problem::Problem;

/// A document with its variables worked out is at most so large, in bytes.
const LARGEST: usize = 64 << 20;

impl Document {
    /// The document with variables and keywords worked out, and the arithmetic beside keywords.
    ///
    /// # Errors
    /// A setting becomes too long.
    pub fn expanded(&self, context: &HostContext<'_>) -> Result<Document, Problem> {
        let mut bytes = 0;
        let mut expand = |setting: &Setting| {
            let expanded = expanded(setting, context);
            bytes += expanded.as_ref().map_or(0, |setting| setting.value.as_ref().map_or(0, String::len));
            if bytes > LARGEST {
                let what = format!("with its variables the job file is larger than {} MiB", LARGEST >> 20);
                return Err(setting.origin.problem(what, "use shorter variables"));
            }
            expanded
        };
        let mut section = |section: &Section| {
            let settings = section.settings.iter().map(&mut expand).collect::<Result<_, Problem>>()?;
            Ok(Section { settings, ..section.clone() })
        };
        let sections = self.sections.iter().map(&mut section).collect::<Result<_, Problem>>()?;
        Ok(Document { file: self.file.clone(), sections })
    }
}

/// A variable may hold a name, a value, or both: it is put in before the line is taken apart.
fn expanded(setting: &Setting, context: &HostContext<'_>) -> Result<Setting, Problem> {
    let line = match &setting.value {
        Some(value) => format!("{}={value}", setting.name),
        None => setting.name.clone(),
    };
    if !line.contains('$') {
        return Ok(setting.clone());
    }
    let line = variables(&line, context).ok_or_else(|| {
        let what = format!("with its variables the line is longer than {} KiB", LONGEST_LINE >> 10);
        setting.origin.problem(what, "use shorter variables")
    })?;
    let split = Setting::split(&line, setting.origin.clone());
    let value = split.value.map(|value| keywords(&value, context));
    let written = setting.value.as_deref().unwrap_or(&setting.name);
    let is_empty = value.as_deref().unwrap_or(&split.name).trim().is_empty();
    let emptied_by = next_variable(written).filter(|_| is_empty).map(|(_, name, _)| name.to_owned());
    Ok(Setting { value, emptied_by, ..split })
}

/// The line with `${NAME}` replaced, by nothing where there is no such variable; `None` where it gets too long. What is put in
/// is not looked at again.
fn variables(line: &str, context: &HostContext<'_>) -> Option<String> {
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, name, after)) = next_variable(rest) {
        out.push_str(before);
        out.push_str(&(context.variable)(name).unwrap_or_default());
        if out.len() > LONGEST_LINE {
            return None;
        }
        rest = after;
    }
    out.push_str(rest);
    Some(out)
}

/// What is before the next variable, its name, and what is after it.
fn next_variable(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once("${")?;
    let (name, after) = rest.split_once('}')?;
    Some((before, name, after))
}

/// The value with its keywords replaced. With a keyword, a value that is arithmetic as a whole is worked out, in whole numbers.
fn keywords(value: &str, context: &HostContext<'_>) -> String {
    let known =
        [("$pagesize", context.page_size), ("$mb_memory", context.memory_mib), ("$ncpus", context.cpus)];
    if !known.iter().any(|(keyword, _)| value.contains(keyword)) {
        return value.to_owned();
    }
    let replaced = known
        .iter()
        .fold(value.to_owned(), |text, (keyword, number)| text.replace(keyword, &number.to_string()));
    // A path with a keyword in it is not an arithmetic: it stays as it is.
    match evaluate(&replaced, Numbers::Whole) {
        Ok(number) => format!("{number:.0}"),
        Err(_) => replaced,
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::language::job_file::read;

    fn expand(text: &str) -> Result<Document, Problem> {
        let variable = |name: &str| match name {
            "FOO" => Some("a;b # ${FOO} $ncpus".to_owned()),
            "OPTION" => Some("bs=4".to_owned()),
            "LONG" => Some("x".repeat(6_000)),
            _ => None,
        };
        let context = HostContext {
            variable: &variable,
            page_size: 4096,
            memory_mib: 1000,
            cpus: 2,
            open_trace: &|_| Err(io::ErrorKind::NotFound.into()),
            read_file: &|_| Err(io::ErrorKind::NotFound.into()),
        };
        read("x.fio", text.as_bytes(), &context)?.expanded(&context)
    }

    #[test]
    fn variables_and_keywords_are_put_in() {
        for (line, expected) in [
            ("d=x${FOO}y", "d=xa;b # ${FOO} 2y"),
            ("${OPTION}k", "bs=4k"),
            ("d=${NOPE}.${}$FOO", "d=.$FOO"),
            ("d=${FOO", "d=${FOO"),
            ("bs=2*$pagesize", "bs=8192"),
            ("bs=$pagesize * 2", "bs=8192"),
            ("bs=3/2*$ncpus", "bs=2"),
            ("bs=($ncpus+3)*2", "bs=10"),
            ("bs=$ncpus-5", "bs=-3"),
            ("bs=$ncpus,$pagesize", "bs=2,4096"),
            ("d=$ncpus$pagesize a$mb_memory", "d=24096 a1000"),
            ("d=1+2", "d=1+2"),
            ("filename=/tmp/x-$ncpus-3", "filename=/tmp/x-2-3"),
            ("$ncpus=1", "$ncpus=1"),
        ] {
            let document = expand(&format!("[a$ncpus]\n{line}\n")).unwrap();
            let setting = &document.sections[0].settings[0];
            let setting_text = format!("{}={}", setting.name, setting.value.clone().unwrap_or_default());
            assert_eq!(
                (setting_text.as_str(), document.sections[0].name.as_str()),
                (expected, "a$ncpus"),
                "{line}"
            );
        }
    }

    #[test]
    fn variables_take_bounded_memory() {
        let line = format!("d={}", "${LONG}".repeat(11));
        assert_eq!(
            expand(&format!("[a]\n{line}\n")).unwrap_err().to_string().split(';').next(),
            Some("x.fio:2:1: with its variables the line is longer than 64 KiB")
        );
        let lines = format!("d={}\n", "${LONG}".repeat(10)).repeat(1200);
        assert!(expand(&format!("[a]\n{lines}")).unwrap_err().to_string().contains("64 MiB"));
    }
}
