//! What iolite has to say besides, at the end of fio's text.

use iolite_model::{CacheStamp, Ending, Nanos, Quantile};

use super::group::{Direction, Entry};
use super::result::Results;

/// Percentiles of response times that are reported.
const PERCENTILES: [f64; 4] = [0.5, 0.99, 0.999, 0.9999];

/// Names are the user's, and may hold anything.
pub(super) fn one_line(text: &str) -> String {
    text.replace(['\n', '\r', '\t', '\u{1b}'], " ")
}

/// Response times, how much the cache served, notes, warnings; empty where nothing was measured and there are no caveats.
pub(super) fn closing(results: &Results, entries: &[Entry<'_>]) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut notes: Vec<&String> = Vec::new();
    for entry in entries {
        lines.extend(responses(entry));
        lines.extend(cache(entry));
        for note in entry.jobs.iter().flat_map(|job| &job.thread.notes) {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    lines.extend(notes.iter().map(|note| format!("note: {}", one_line(note))));
    lines.extend(
        results.warnings.iter().map(|warning| format!("warning: {}", one_line(&warning.to_string()))),
    );
    match &results.ending {
        Ending::Completed => {}
        Ending::Interrupted => lines.push("interrupted: what was measured until then is reported".into()),
        Ending::Failed(error) => lines.push(format!("failed: {}", one_line(error))),
    }
    if lines.is_empty() {
        return String::new();
    }
    let mut out =
        String::from("\niolite (response times count from when an operation was meant to start):\n");
    lines.iter().for_each(|line| out += &format!("  {line}\n"));
    out
}

fn responses(entry: &Entry<'_>) -> Vec<String> {
    let texts = Direction::APART.into_iter().filter_map(|direction| {
        let response = entry.responses(direction);
        (response.count() > 0).then(|| {
            let percentiles = PERCENTILES.map(|share| {
                let time = response.quantile(Quantile(share));
                format!("{}={}", Quantile(share), ascii(time))
            });
            format!(
                "{}: {} response: {}, max={}",
                one_line(&entry.first().thread.name),
                direction.name(),
                percentiles.join(", "),
                ascii(response.max())
            )
        })
    });
    texts.collect()
}

/// fio's text is ASCII, and read by programs that expect that.
fn ascii(time: Nanos) -> String {
    time.to_string().replace('µ', "u").replace(' ', "")
}

fn cache(entry: &Entry<'_>) -> Option<String> {
    let stamp = entry.first().phase.end.cache.stamp();
    let name = one_line(&entry.first().thread.name);
    (stamp != CacheStamp::Unknown).then(|| format!("{name}: served by: {stamp}"))
}
