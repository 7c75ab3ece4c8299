//! Which language a job is written in.

use std::path::Path;

/// A job language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// fio's job files (crate `fio`).
    Fio,
    /// iolite's own ([`native`](crate::native)).
    Native,
}

impl Language {
    /// The language of a job, by what it says; where that leaves it open, by the file's name.
    pub fn of(text: &str, file: Option<&Path>) -> Language {
        let text = text.trim_start_matches('\u{feff}');
        let said =
            text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', ';']));
        for line in said {
            if let Some(header) = line.strip_prefix('[') {
                // A section of fio's may have any name; ours are all about tasks.
                let name = header.trim_start_matches(['[', ' ']);
                let ours = header.starts_with('[') || name.starts_with("tasks.");
                return if ours { Language::Native } else { Language::Fio };
            }
            // Before the first section fio allows nothing; TOML has the job's name and, inline, its tasks.
            let key = line.split(['=', '.', ' ', '\t']).next().unwrap_or_default();
            if matches!(key, "name" | "tasks") && line.contains('=') {
                return Language::Native;
            }
        }
        match file.and_then(Path::extension).and_then(|extension| extension.to_str()) {
            Some("toml") | None => Language::Native,
            Some(_) => Language::Fio,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_known_by_its_content_first() {
        for (text, file, language) in [
            ("; comment\n[global]\nbs=4k\n", "a.toml", Language::Fio),
            // This is TOML too.
            ("[job]\nsize=4096\nnumjobs=2\n", "a", Language::Fio),
            ("\u{feff}# x\nname = \"a\"\n[[tasks]]\n", "a.fio", Language::Native),
            ("[[tasks]]\n[tasks.io]\n", "a.fio", Language::Native),
            ("[tasks.io]\n", "a.fio", Language::Native),
            ("tasks = []\n", "a.fio", Language::Native),
            ("[tasks]\nbs=4k\n", "a.fio", Language::Fio),
            ("bs=4k\n", "a.fio", Language::Fio),
            ("", "a.fio", Language::Fio),
            ("", "a.toml", Language::Native),
        ] {
            assert_eq!(Language::of(text, Some(Path::new(file))), language, "{text:?} {file}");
        }
        assert_eq!(Language::of("block = 3", None), Language::Native);
    }
}
