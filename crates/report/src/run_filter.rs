//! Which runs of a list are shown: the filters of `iolite results list` and of the list that is served.

use std::path::Path;

use iolite_model::{Ending, Nanos};
use jiff::civil::DateTime;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::runs::RunLine;

/// The first time of a year; what a day or a month lacks of a time is the end of it.
const TIME: &str = "0000-01-01 00:00:00";

/// What [`time`] accepts, for errors.
pub const TIMES: &str =
    "specify a day (2026-11-23), a time ('2026-11-23 14:00', UTC), or how long ago (12h, 7d)";

/// What does not stand for itself in a URL (RFC 3986, 2.3).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// What is asked of runs; a field that is empty asks nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// In the command line, the directory, the name of the host, the id or a note, in capital or small letters.
    pub text: String,
    /// The command by its words: `check`, `ranread run`.
    pub command: String,
    /// The directory or device measured, one above it, or an argument of the command.
    pub target: String,
    /// In the URL of a database.
    pub database: String,
    /// A tag.
    pub tag: String,
    /// The outcome of the verdict, or how the run ended: one of [`RunFilter::RESULTS`].
    pub result: String,
    /// Started at this time or later, as `2026-11-23 14:02:01` or the beginning of that (UTC).
    pub since: String,
    /// Started at this time or earlier; of a day or minute, all of it.
    pub until: String,
}

impl RunFilter {
    /// Outcomes of verdicts, and endings.
    pub const RESULTS: [&str; 7] =
        ["fit", "marginal", "unfit", "completed", "interrupted", "failed", "running"];

    /// Whether a run is shown.
    pub fn has(&self, run: &RunLine) -> bool {
        let text = self.text.to_lowercase();
        let contains = |own: &str| own.to_lowercase().contains(&text);
        let found = text.is_empty()
            || [&run.called(), &run.directory, &run.host, &run.id].into_iter().any(|own| contains(own))
            || run.notes.iter().any(|note| contains(note));
        let started = run.started();
        let begin = |length: usize| started.get(..length).unwrap_or(&started);
        found
            && self.names_command_of(run)
            && (self.target.is_empty() || self.names_target_of(run))
            && (self.database.is_empty() || run.databases.iter().any(|url| url.contains(&self.database)))
            && (self.tag.is_empty() || run.tags.contains(&self.tag))
            && (self.result.is_empty() || self.names_result_of(run))
            // Times are in the order of their texts.
            && started.as_str() >= self.since.as_str()
            && (self.until.is_empty() || begin(self.until.len()) <= self.until.as_str())
    }

    fn names_command_of(&self, run: &RunLine) -> bool {
        let program = run.command.first().map(String::as_str).unwrap_or_default();
        let own_name = Path::new(program).file_name().and_then(|name| name.to_str()).unwrap_or_default();
        // The program answers to fio's name too.
        let skipped = usize::from(own_name != "fio");
        let words = run.command.iter().skip(skipped).map(String::as_str);
        // fio's own name stands for its command.
        let words = words.map(|word| if own_name == "fio" && word == program { own_name } else { word });
        self.command.split_whitespace().eq(words.take(self.command.split_whitespace().count()))
    }

    /// A run that has a verdict has completed, too.
    fn names_result_of(&self, run: &RunLine) -> bool {
        match self.result.as_str() {
            "completed" => run.ending == Some(Ending::Completed),
            result => run.result().split(' ').next() == Some(result),
        }
    }

    fn names_target_of(&self, run: &RunLine) -> bool {
        Path::new(&run.directory).starts_with(&self.target)
            || run.command.iter().skip(1).any(|argument| *argument == self.target)
    }

    /// The fields as the query of a URL, with a page, from 1.
    pub(crate) fn query(&self, page: usize) -> String {
        let fields = [
            ("text", &self.text),
            ("command", &self.command),
            ("target", &self.target),
            ("database", &self.database),
            ("tag", &self.tag),
            ("result", &self.result),
            ("since", &self.since),
            ("until", &self.until),
        ];
        let fields = fields.into_iter().filter(|(_, value)| !value.is_empty());
        let encoded = fields.map(|(name, value)| format!("{name}={}&", encoded(value)));
        format!("/?{}page={page}", encoded.collect::<String>())
    }
}

/// A text as part of a URL.
pub(crate) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

/// A time for [`RunFilter::since`] and [`RunFilter::until`]: a day, a day with a time of day (UTC), or how long before `now`
/// (nanoseconds since 1970), such as `12h` and `7d`. `None` where it is none of these.
pub fn time(text: &str, now: Nanos) -> Option<String> {
    let days = text.strip_suffix('d').and_then(|days| days.parse::<u64>().ok());
    let ago = days.map(|days| Nanos(days.saturating_mul(86_400 * Nanos::SECOND.0)));
    if let Some(ago) = ago.or_else(|| text.parse().ok()).filter(|ago| ago.0 > 0) {
        let at = jiff::Timestamp::from_nanosecond(i128::from(now.saturating_sub(ago).0)).ok()?;
        return Some(at.strftime("%Y-%m-%d %H:%M:%S").to_string());
    }
    let text = text.trim_end_matches('Z').replace('T', " ");
    // Up to the end of a part: year, month, day, minute, second.
    let is_whole = text.is_ascii() && [4, 7, 10, 16, 19].contains(&text.len());
    let whole: DateTime = is_whole.then(|| format!("{text}{}", &TIME[text.len()..]).parse().ok())??;
    // Parsers accept other forms of the same length.
    whole.strftime("%Y-%m-%d %H:%M:%S").to_string().starts_with(&text).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> RunLine {
        RunLine {
            id: "20261123T060000-1".into(),
            started_unix: Nanos(1_795_413_600_000_000_000),
            host: "db1".into(),
            directory: "/srv/data/a".into(),
            command: ["/usr/bin/iolite", "ranread", "run", "--db", "sqlite:/srv/data/a"]
                .map(str::to_owned)
                .to_vec(),
            databases: vec!["sqlite:/srv/data/a".into()],
            phases: 1,
            ending: Some(Ending::Completed),
            verdict: None,
            tags: vec!["base".into()],
            notes: vec!["The old controller".into()],
            is_rehearsal: false,
        }
    }

    #[test]
    fn each_field_asks_its_question() {
        type Set = fn(&mut RunFilter, &str);
        let cases: [(Set, &str, &str); 12] = [
            (|of, value| of.text = value.into(), "OLD control", "new"),
            (|of, value| of.command = value.into(), "ranread run", "ranread sweep"),
            (|of, value| of.command = value.into(), "ranread", "run"),
            (|of, value| of.target = value.into(), "/srv/data", "/srv/dat"),
            (|of, value| of.target = value.into(), "sqlite:/srv/data/a", "sqlite:/srv"),
            (|of, value| of.database = value.into(), "sqlite:", "postgres:"),
            (|of, value| of.tag = value.into(), "base", "bas"),
            (|of, value| of.result = value.into(), "completed", "complete"),
            (|of, value| of.since = value.into(), "2026-11-23 06:00", "2026-11-23 06:01"),
            (|of, value| of.since = value.into(), "2026-11-23", "2026-11-24"),
            (|of, value| of.until = value.into(), "2026-11-23", "2026-11-22"),
            (|of, value| of.until = value.into(), "2026-11-23 06:00", "2026-11-23 05:59"),
        ];
        assert!(RunFilter::default().has(&run()));
        for (number, (set, matching, other)) in cases.into_iter().enumerate() {
            for (value, expected) in [(matching, true), (other, false)] {
                let mut filter = RunFilter::default();
                set(&mut filter, value);
                assert_eq!(filter.has(&run()), expected, "case {number}: {value}");
            }
        }
        let of_fio = RunLine { command: vec!["/usr/bin/fio".into(), "job.fio".into()], ..run() };
        assert!(RunFilter { command: "fio".into(), ..RunFilter::default() }.has(&of_fio));
    }

    #[test]
    fn a_run_with_a_verdict_has_completed() {
        let judged = RunLine { verdict: Some(("etcd".into(), iolite_model::Fitness::Unfit)), ..run() };
        let has = |result: &str, run: &RunLine| {
            RunFilter { result: result.into(), ..RunFilter::default() }.has(run)
        };
        assert!(has("completed", &judged) && has("unfit", &judged) && !has("fit", &judged));
        let interrupted = RunLine { ending: Some(Ending::Interrupted), ..judged };
        assert!(
            has("interrupted", &interrupted)
                && !has("completed", &interrupted)
                && !has("unfit", &interrupted)
        );
    }

    #[test]
    fn times_are_days_instants_or_how_long_ago() {
        let now = Nanos(1_795_413_600_000_000_000);
        let time = |text| time(text, now);
        for (text, expected) in [
            ("2026-11", "2026-11"),
            ("2026-11-23", "2026-11-23"),
            ("2026-11-23T06:00", "2026-11-23 06:00"),
            ("2026-11-23 06:00:01Z", "2026-11-23 06:00:01"),
            ("7d", "2026-11-16 06:00:00"),
            ("90m", "2026-11-23 04:30:00"),
        ] {
            assert_eq!(time(text).as_deref(), Some(expected), "{text}");
        }
        for text in [
            "",
            "yesterday",
            "2026-1",
            "2026-11-23 06",
            "23.11.2026",
            "-1d",
            "0d",
            "2026-13-99",
            "2026-02-30",
            "2026-11-25T99:99",
            "2026-11-25 24:00",
            "20261123T060000",
            "éééé\u{e9}",
        ] {
            assert_eq!(time(text), None, "{text}");
        }
    }

    #[test]
    fn a_query_has_what_is_asked() {
        let filter = RunFilter { text: "a&b=é".into(), tag: "x y".into(), ..RunFilter::default() };
        assert_eq!(filter.query(3), "/?text=a%26b%3D%C3%A9&tag=x%20y&page=3");
    }
}
