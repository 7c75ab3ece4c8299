//! Reads a configuration file.

use iolite_model::{AccessLine, AccessSpec, Bytes, Nanos};

use super::configuration::{Configuration, Cycle, Manager, TestKind, Worker};
use super::error::IcfError;

/// Lines of an access specification at most, as in Iometer.
const LINES: usize = 100;

/// What a time is expected to be.
const SECONDS: &str = "a number of seconds, at most 584 years";

/// Bytes of a configuration file at most.
pub const MAX_BYTES: u64 = 16 << 20;

/// A value with the number of its line.
#[derive(Debug, Clone, Copy)]
struct Text<'a> {
    line: usize,
    text: &'a str,
}

impl<'a> Text<'a> {
    fn error(self, expected: &'static str) -> IcfError {
        // What is quoted need not be long to be found.
        IcfError::Value { line: self.line, text: self.text.chars().take(80).collect(), expected }
    }

    fn number<N: std::str::FromStr>(self, expected: &'static str) -> Result<N, IcfError> {
        self.text.trim().parse().map_err(|_| self.error(expected))
    }

    fn fields(self, separator: impl Fn(char) -> bool) -> impl Iterator<Item = Text<'a>> {
        let line = self.line;
        self.text.split(separator).map(move |text| Text { line, text: text.trim() })
    }

    /// Fields between blanks.
    fn words(self) -> Vec<Text<'a>> {
        let line = self.line;
        self.text.split_whitespace().map(|text| Text { line, text }).collect()
    }
}

/// The headings of these files, in small letters: those with values for disk tests, and those of what does not concern them.
const HEADINGS: [&str; 12] = [
    "test description",
    "run time",
    "record results",
    "test type",
    "manager",
    "manager network address",
    "worker",
    "worker type",
    "assigned access specs",
    "target",
    "target type",
    "target assignments",
];

/// How other headings of these files begin.
const BEGINNINGS: [&str; 19] = [
    "test setup",
    "hours ",
    "ramp up time",
    "default disk workers to spawn",
    "default network workers to spawn",
    "worker cycling",
    "disk cycling",
    "target cycling",
    "queue depth cycling",
    "start ",
    "results display",
    "record last update results",
    "update frequency",
    "bar chart",
    "access specification",
    "size,% of size",
    "manager list",
    "manager id",
    "default target settings",
];

/// How the headings of a target's settings begin.
const SETTINGS: [&str; 2] = ["number of outstanding ios", "disk maximum size"];

/// What begins with a heading of this name and ends with one.
const SECTIONS: [&str; 3] = ["test setup", "access specifications", "worker"];

/// Headings with any number of values.
const LISTS: [&str; 2] = ["size,% of size", "assigned access specs"];

/// What follows the name of an access specification: the workers that it is assigned to by default.
const ASSIGNMENTS: [&str; 5] = ["NONE", "ALL", "DISK", "NETWORK", "DEFAULT"];

/// Reads the text of a configuration file.
///
/// # Errors
/// It is none, or holds something that can't be run.
pub fn parse(text: &str) -> Result<Configuration, IcfError> {
    if text.len() as u64 > MAX_BYTES {
        return Err(IcfError::TooLarge);
    }
    let text = text.trim_start_matches('\u{feff}');
    let lines = text.lines().enumerate().map(|(index, text)| Text { line: index + 1, text });
    let mut lines = lines.skip_while(|line| line.text.trim().is_empty()).peekable();
    let first = lines.peek().map(|first| first.text.trim()).unwrap_or_default();
    let version = first
        .strip_prefix("Version")
        .is_some_and(|version| version.trim().starts_with(|c: char| c.is_ascii_digit()));
    // Other programs that write these files leave the version out, and sections; a collection of specifications has only theirs.
    if !version && !heading(first).is_some_and(|heading| is_known(&heading)) {
        return Err(IcfError::NoVersion);
    }
    let mut reader = Reader::default();
    for line in lines.skip(usize::from(version)) {
        match heading(line.text) {
            Some(heading) => reader.head(heading),
            // A description may be empty; any other empty line is nothing.
            None if line.text.trim().is_empty() => {}
            None => reader.value(line)?,
        }
    }
    reader.finish()
}

/// The heading in a line, in small letters. An indented one is a heading only if it is one of these files: values are indented, and
/// may begin with an apostrophe.
fn heading(line: &str) -> Option<String> {
    let heading = line.trim_start().strip_prefix('\'')?.trim().to_ascii_lowercase();
    (line.starts_with('\'') || is_known(&heading)).then_some(heading)
}

fn is_known(heading: &str) -> bool {
    let of = heading.strip_prefix("end ").unwrap_or(heading);
    HEADINGS.contains(&of) || BEGINNINGS.iter().chain(&SETTINGS).any(|known| of.starts_with(known))
}

/// The name of an access specification, without its default assignment.
fn spec_name(value: &str) -> &str {
    let is_assignment = |text: &str| {
        let text = text.trim();
        ASSIGNMENTS.iter().any(|known| text.eq_ignore_ascii_case(known)) || text.parse::<u32>().is_ok()
    };
    let name = value.rsplit_once(',').filter(|(_, assignment)| is_assignment(assignment));
    name.map_or(value, |(name, _)| name).trim()
}

/// What has been read so far.
#[derive(Debug, Default)]
struct Reader {
    heading: String,
    /// Whether the heading has a value already.
    has_value: bool,
    /// The last heading of a cycle, whose values are below another heading.
    cycling: String,
    /// The sections that have begun and not ended.
    sections: Vec<&'static str>,
    configuration: Configuration,
}

impl Reader {
    /// Takes a heading. Another line with an apostrophe is a comment where values of the last heading may still follow; the values
    /// of other unknown headings are passed over.
    fn head(&mut self, heading: String) {
        let is_list = LISTS.iter().any(|list| self.heading.starts_with(list));
        if !is_known(&heading) && (is_list || !self.has_value) {
            return;
        }
        self.note_section(&heading);
        if heading.ends_with("cycling") {
            self.cycling.clone_from(&heading);
        }
        self.heading = heading;
        self.has_value = false;
    }

    /// Notes what begins or ends with a heading, of what ends with a heading of its own. The list of managers does so only with some programs.
    fn note_section(&mut self, heading: &str) {
        let heading = heading.trim_end_matches('=').trim_end();
        if let Some(ended) = heading.strip_prefix("end ") {
            self.sections.retain(|open| *open != ended);
        }
        let opened = match heading {
            "manager id, manager name" => Some("manager"),
            other => SECTIONS.into_iter().find(|section| *section == other),
        };
        self.sections.extend(opened);
    }

    /// Takes a value below the last heading; headings that say nothing about disk tests are passed over.
    fn value(&mut self, text: Text<'_>) -> Result<(), IcfError> {
        self.has_value = true;
        let setup = &mut self.configuration.setup;
        let value = text.text.trim();
        match self.heading.as_str() {
            "test description" => setup.description = value.to_owned(),
            heading if heading.starts_with("hours") => setup.run_time = run_time(text)?,
            "ramp up time (s)" => setup.ramp = seconds(text, text.number(SECONDS)?)?,
            heading if heading.starts_with("start") => return self.cycle(text),
            "test type" => {
                let kind = TestKind::WORDS.iter().find(|(word, _)| value.eq_ignore_ascii_case(word));
                let unknown = || IcfError::Kind { line: text.line, kind: value.chars().take(80).collect() };
                setup.kind = kind.ok_or_else(unknown)?.1;
            }
            heading if heading.starts_with("access specification name") => {
                let name = spec_name(value).to_owned();
                self.configuration.specs.push(AccessSpec { name, lines: Vec::new() });
            }
            heading if heading.starts_with("size,% of size") => return self.access_line(text),
            "manager id, manager name" => {
                let name = value.split_once(',').map_or(value, |(_, name)| name.trim());
                self.configuration.managers.push(Manager { name: name.to_owned(), workers: Vec::new() });
            }
            _ => return self.of_worker(text),
        }
        Ok(())
    }

    fn cycle(&mut self, text: Text<'_>) -> Result<(), IcfError> {
        let words = text.words();
        let expected = "a start, for outstanding operations an end, a step, and LINEAR or EXPONENTIAL";
        let number = |index: usize| words.get(index).ok_or_else(|| text.error(expected))?.number(expected);
        let exponential = match words.last().map(|word| word.text.to_ascii_uppercase()).as_deref() {
            Some("LINEAR") => false,
            Some("EXPONENTIAL") => true,
            _ => return Err(text.error(expected)),
        };
        let setup = &mut self.configuration.setup;
        // Only outstanding operations have an end.
        let depths = words.len() >= 4;
        let (end, step) = if depths { (Some(number(1)?), number(2)?) } else { (None, number(1)?) };
        let cycle = Cycle { start: number(0)?, end, step, exponential };
        match self.cycling.as_str() {
            "worker cycling" => setup.workers = cycle,
            "queue depth cycling" => setup.depths = cycle,
            _ => setup.targets = cycle,
        }
        Ok(())
    }

    fn access_line(&mut self, text: Text<'_>) -> Result<(), IcfError> {
        const EXPECTED: &str =
            "eight numbers: size, % of size, % reads, % random, delay, burst, align, reply";
        let numbers: Vec<u64> =
            text.fields(|c| c == ',').map(|field| field.number(EXPECTED)).collect::<Result<_, _>>()?;
        let &[size, share, reads, random, delay, burst, align, reply] = numbers.as_slice() else {
            return Err(text.error(EXPECTED));
        };
        let percent = |value: u64| {
            u8::try_from(value)
                .ok()
                .filter(|value| *value <= 100)
                .ok_or_else(|| text.error("shares are 0 to 100 %"))
        };
        let small = |value: u64| u32::try_from(value).map_err(|_| text.error(EXPECTED));
        if size > Bytes::GIB.0 {
            return Err(text.error("sizes are 1 byte to 1 GiB, or 0 for an idle worker"));
        }
        let line = AccessLine {
            size: Bytes(size),
            share: percent(share)?,
            reads: percent(reads)?,
            random: percent(random)?,
            delay: small(delay)?,
            burst: small(burst)?.max(1),
            align: Bytes(align),
            reply: Bytes(reply),
        };
        let spec = self.configuration.specs.last_mut();
        let spec = spec.ok_or_else(|| text.error("a line belongs to an access specification with a name"))?;
        if spec.lines.len() == LINES {
            return Err(text.error("an access specification has 100 lines at most"));
        }
        spec.lines.push(line);
        Ok(())
    }

    fn of_worker(&mut self, text: Text<'_>) -> Result<(), IcfError> {
        let value = text.text.trim();
        let Some(manager) = self.configuration.managers.last_mut() else { return Ok(()) };
        if self.heading == "worker" {
            manager.workers.push(Worker { name: value.to_owned(), depth: 1, ..Worker::default() });
            return Ok(());
        }
        let Some(worker) = manager.workers.last_mut() else { return Ok(()) };
        match self.heading.as_str() {
            "worker type" | "target type" if !value.to_ascii_uppercase().starts_with("DISK") => {
                let (worker, kind) = (worker.name.clone(), value.to_owned());
                return Err(IcfError::Network { line: text.line, worker, kind });
            }
            heading if heading.starts_with("number of outstanding ios") => {
                let fields: Vec<Text<'_>> = text.fields(|c| c == ',').collect();
                worker.depth =
                    fields.first().copied().unwrap_or(text).number("a number of outstanding operations")?;
                worker.connection_rate = match fields.as_slice() {
                    [_, rate, transactions, ..] if rate.text.eq_ignore_ascii_case("ENABLED") => {
                        Some(transactions.number("a number of transactions for each connection")?)
                    }
                    _ => None,
                };
            }
            heading if heading.starts_with("disk maximum size") => {
                let mut fields = text.fields(|c| c == ',');
                worker.sectors = fields.next().unwrap_or(text).number("a number of sectors")?;
                worker.start = fields.next().unwrap_or(text).number("a number of sectors")?;
            }
            "assigned access specs" => worker.specs.push(value.to_owned()),
            "target" => worker.targets.push(value.to_owned()),
            _ => {}
        }
        Ok(())
    }

    fn finish(self) -> Result<Configuration, IcfError> {
        if let Some(&section) = self.sections.last() {
            return Err(IcfError::Incomplete { section });
        }
        let mut configuration = self.configuration;
        for spec in &mut configuration.specs {
            let idle = spec.lines.iter().filter(|line| line.size.0 == 0).count();
            if idle > 0 && idle < spec.lines.len() {
                return Err(IcfError::PartlyIdle { spec: spec.name.clone() });
            }
            let sum = spec.lines.iter().map(|line| u32::from(line.share)).sum();
            if !spec.lines.is_empty() && sum != 100 {
                return Err(IcfError::Shares { spec: spec.name.clone(), sum });
            }
            if idle > 0 {
                spec.lines.clear();
            }
        }
        let specs = &configuration.specs;
        let differs =
            |spec: &&AccessSpec| specs.iter().any(|other| other.name == spec.name && other != *spec);
        if let Some(spec) = specs.iter().find(differs) {
            return Err(IcfError::Twice { spec: spec.name.clone() });
        }
        for worker in configuration.managers.iter().flat_map(|manager| &manager.workers) {
            for name in &worker.specs {
                if !configuration.specs.iter().any(|spec| spec.name == *name) {
                    return Err(IcfError::NoSpec { worker: worker.name.clone(), spec: name.clone() });
                }
            }
        }
        Ok(configuration)
    }
}

fn run_time(text: Text<'_>) -> Result<Nanos, IcfError> {
    const EXPECTED: &str = "hours, minutes and seconds";
    let numbers: Vec<u64> =
        text.words().into_iter().map(|word| word.number(EXPECTED)).collect::<Result<_, _>>()?;
    let &[hours, minutes, secs] = numbers.as_slice() else { return Err(text.error(EXPECTED)) };
    let whole = hours.checked_mul(3600).and_then(|sum| sum.checked_add(minutes.checked_mul(60)?));
    let whole = whole.and_then(|sum| sum.checked_add(secs)).ok_or_else(|| text.error(EXPECTED))?;
    seconds(text, whole)
}

fn seconds(text: Text<'_>, seconds: u64) -> Result<Nanos, IcfError> {
    seconds.checked_mul(Nanos::SECOND.0).map(Nanos).ok_or_else(|| text.error(SECONDS))
}
