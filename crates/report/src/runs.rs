//! The list of stored runs.
//!
//! The document has `"format": "iolite-runs/1"`; `runs` is a list, the latest first: `id`, `started_unix_ns`, `host`,
//! `directory`, `command` (list), `phases` (number), `ending` (as in a run, kind `running` while it goes on), `verdict`
//! (null, or `profile` and `fitness`), `rehearsal` (whether it is a rehearsal of `iolite pts`), `tags`, `notes` (lists).

use iolite_model::{Ending, Fitness, Nanos};
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use crate::grid::aligned;
use crate::json::state;
use crate::styler::{Style, Styler};

/// Name and version of the document.
const FORMAT: &str = "iolite-runs/1";

/// Which column is the command.
const COMMAND: usize = 2;

/// Which column is the tags.
const TAGS: usize = 5;

const COLUMNS: [&str; 6] = ["run", "started (UTC)", "command", "phases", "result", "tags"];

/// What an import came to, as a line.
pub fn imported(copied: usize, present: usize) -> String {
    let copied = match copied {
        0 => "no runs".to_owned(),
        1 => "1 run".to_owned(),
        many => format!("{many} runs"),
    };
    match present {
        0 => format!("{copied} imported, none was already present"),
        1 => format!("{copied} imported, 1 was already present"),
        many => format!("{copied} imported, {many} were already present"),
    }
}

/// A time since 1970 in UTC; `?` where no calendar has it.
pub(crate) fn utc(at: Nanos, format: &str) -> String {
    let instant = jiff::Timestamp::from_nanosecond(i128::from(at.0));
    instant.map_or_else(|_| "?".into(), |instant| instant.strftime(format).to_string())
}

/// A run in the list.
#[derive(Debug, Clone, PartialEq)]
pub struct RunLine {
    /// Its id.
    pub id: String,
    /// Start, in nanoseconds since 1970 (UTC).
    pub started_unix: Nanos,
    /// Name of the machine.
    pub host: String,
    /// The directory or the target measured.
    pub directory: String,
    /// The command line.
    pub command: Vec<String>,
    /// URLs of the databases measured, without passwords.
    pub databases: Vec<String>,
    /// Number of phases begun.
    pub phases: u32,
    /// How it ended; `None` while it runs.
    pub ending: Option<Ending>,
    /// The last verdict: the profile's name and the fitness for it.
    pub verdict: Option<(String, Fitness)>,
    /// Its tags, in order.
    pub tags: Vec<String>,
    /// Its notes, in order.
    pub notes: Vec<String>,
    /// Whether it is a rehearsal of SNIA's specification, whose figures are none of the specification.
    pub is_rehearsal: bool,
}

impl RunLine {
    pub(crate) fn result(&self) -> String {
        let result = match (&self.verdict, &self.ending) {
            (Some((profile, fitness)), Some(Ending::Completed)) => format!("{fitness} for {profile}"),
            (_, ending) => Ending::state(ending.as_ref()).to_owned(),
        };
        if self.is_rehearsal { result + " (rehearsal)" } else { result }
    }

    pub(crate) fn started(&self) -> String {
        utc(self.started_unix, "%Y-%m-%d %H:%M:%S")
    }

    /// The command without the program's own name, which says nothing.
    pub(crate) fn called(&self) -> String {
        self.command.iter().skip(1).map(String::as_str).collect::<Vec<_>>().join(" ")
    }
}

/// The list for a terminal: a line for each run with its notes beneath. A command and tags that have no space in the line stand
/// beneath, too.
pub fn list(runs: &[RunLine], style: Style) -> String {
    let styler = Styler(style);
    let row = |run: &RunLine| {
        let (id, phases) = (run.id.clone(), run.phases.to_string());
        let cells = [id, run.started(), run.called(), phases, run.result(), run.tags.join(", ")];
        cells.map(|cell| styler.clean(cell))
    };
    let mut rows: Vec<[String; 6]> = runs.iter().map(row).collect();
    let tags = beneath(&mut rows, TAGS, styler);
    let commands = beneath(&mut rows, COMMAND, styler);
    let is_shown = |column: &usize| width(&rows, *column) > 0;
    let shown: Vec<usize> = (0..COLUMNS.len()).filter(is_shown).collect();
    let heading = COLUMNS.map(str::to_owned);
    let lines = std::iter::once(&heading).chain(&rows);
    let lines: Vec<Vec<String>> =
        lines.map(|row| shown.iter().map(|column| row[*column].clone()).collect()).collect();
    let mut lines = aligned(lines, 2, |_| false).into_iter().map(|line| line + "\n");
    let mut out: String = lines.next().unwrap_or_default();
    for (((run, line), command), tags) in runs.iter().zip(lines).zip(commands).zip(tags) {
        out += &line;
        let said = |text: String, hanging: usize| {
            Some(text).filter(|text| !text.is_empty()).map(|text| styler.item("      ", hanging, &text))
        };
        let tags = if tags.is_empty() { tags } else { format!("tags: {tags}") };
        out.extend(said(command, 8).into_iter().chain(said(tags, 6)));
        out.extend(run.notes.iter().map(|note| styler.item("      ", 6, note)));
    }
    out
}

/// Takes the cells of a column for which the columns before it, and the tags, leave no space. A column that is empty after
/// that is not shown.
fn beneath(rows: &mut [[String; 6]], column: usize, styler: Styler) -> Vec<String> {
    let others = (0..COLUMNS.len()).filter(|other| ![column, COMMAND].contains(other));
    let taken: usize = others.map(|other| width(rows, other)).sum();
    let space = styler.width().saturating_sub(taken + 4);
    let take = |row: &mut [String; 6]| {
        if row[column].width() > space { std::mem::take(&mut row[column]) } else { String::new() }
    };
    rows.iter_mut().map(take).collect()
}

/// Columns of the terminal that a column takes; 0 for one without content.
fn width(rows: &[[String; 6]], column: usize) -> usize {
    match rows.iter().map(|row| row[column].width()).max() {
        None | Some(0) => 0,
        Some(widest) => widest.max(COLUMNS[column].width()) + 2,
    }
}

/// The list as a document.
pub fn list_json(runs: &[RunLine]) -> Value {
    let run = |run: &RunLine| {
        let verdict = run.verdict.as_ref();
        json!({
            "id": run.id,
            "started_unix_ns": run.started_unix.0,
            "host": run.host,
            "directory": run.directory,
            "command": run.command,
            "phases": run.phases,
            "ending": state(run.ending.as_ref()),
            "verdict": verdict.map(|(profile, fitness)| json!({ "profile": profile, "fitness": fitness })),
            "rehearsal": run.is_rehearsal,
            "tags": run.tags,
            "notes": run.notes,
        })
    };
    json!({ "format": FORMAT, "runs": runs.iter().map(run).collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(id: &str) -> RunLine {
        RunLine {
            id: id.into(),
            started_unix: Nanos(1_795_190_581_250_000_000),
            host: "host".into(),
            directory: "/var/lib/db".into(),
            command: [
                "iolite",
                "check",
                "/var/lib/a directory of a long name, which has no room here at all",
            ]
            .map(str::to_owned)
            .to_vec(),
            databases: Vec::new(),
            phases: 27,
            ending: Some(Ending::Completed),
            verdict: Some(("oltp-flash".into(), Fitness::Marginal)),
            tags: vec!["before".into(), "nvme0".into()],
            notes: Vec::new(),
            is_rehearsal: false,
        }
    }

    #[test]
    fn runs_are_lines_with_their_notes_beneath() {
        let noted =
            RunLine { notes: vec!["the old\u{1b}[31m controller".into()], ..line("20261120T160301-0a") };
        let going = RunLine { ending: None, verdict: None, tags: Vec::new(), ..line("20261120T160302-0b") };
        let text = list(&[noted, going], Style { color: false, unicode: true, width: 110 });
        insta::assert_snapshot!(text);
        assert!(!text.contains('\u{1b}'));
    }

    #[test]
    fn tags_without_space_stand_beneath_and_a_column_without_content_is_left_out() {
        let style = |width| Style { color: false, unicode: true, width };
        let short = || RunLine { command: vec!["iolite".into(), "check".into()], ..line("a") };
        let narrow = list(&[short()], style(60));
        assert!(narrow.lines().next().unwrap().ends_with("result"), "{narrow}");
        assert!(narrow.contains("\n      tags: before, nvme0\n"), "{narrow}");
        let untagged = list(&[RunLine { tags: Vec::new(), ..short() }], style(110));
        assert!(!untagged.contains("tags") && untagged.contains("command"), "{untagged}");
    }

    #[test]
    fn the_document_says_the_same() {
        let failed = RunLine { ending: Some(Ending::Failed("why".into())), ..line("a") };
        let document = list_json(&[line("b"), failed]);
        assert_eq!(document["runs"][0]["verdict"]["fitness"], "marginal");
        assert_eq!(document["runs"][1]["ending"], json!({ "kind": "failed", "error": "why" }));
    }
}
