//! What the machine did while a run went on: a few figures of what every run samples. All of it is in SQL.

use iolite_model::{Bytes, Reading};
use iolite_results::Run;

use crate::machine::line;
use crate::styler::{Emphasis, Style, Styler};

/// Devices shown, the busiest first.
const DEVICES: usize = 4;
/// Waits shown, those with the most sessions.
const WAITS: usize = 4;
/// Samples from which on a mean over the run says something.
const SAMPLES: usize = 3;

/// Means over the run; empty where it was over too soon to sample.
pub(crate) fn text(run: &Run, style: Style) -> String {
    let styler = Styler(style);
    let mut lines = Vec::new();
    lines.extend(cpu(run).map(|text| line(styler, "CPU", text)));
    lines.extend(pressure(run).map(|text| line(styler, "stalled", text)));
    lines.extend(memory(run).map(|text| line(styler, "memory", text)));
    lines.extend(devices(run).into_iter().map(|(name, text)| line(styler, &styler.clean(name), text)));
    let of_database = |(name, text)| line(styler, "database", format!("{}: {text}", styler.clean(name)));
    lines.extend(databases(run).into_iter().map(of_database));
    lines.extend(waits(run).map(|text| line(styler, "sessions", text)));
    lines.extend(cost(run).map(|text| line(styler, "sampling", text)));
    if lines.is_empty() {
        return String::new();
    }
    styler.paint(Emphasis::Strong, "during the run") + "\n" + &lines.concat()
}

/// The first and the last reading, where there are enough in between.
fn ends(readings: &[Reading]) -> Option<(&Reading, &Reading)> {
    Some((readings.first()?, readings.last()?)).filter(|_| readings.len() >= SAMPLES)
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn cpu(run: &Run) -> Option<String> {
    let (first, last) = ends(run.readings.of("cpu", ""))?;
    let cpus = f64::from(run.info.host.cpus.max(1));
    let share = |name| Some(percent(last.rate(first, name)? / cpus));
    let (user, system) = (share("user_seconds")?, share("system_seconds")?);
    let mut text = format!("{user} user, {system} system");
    text += &share("iowait_seconds").map(|share| format!(", {share} waiting for I/O")).unwrap_or_default();
    text += &share("steal_seconds").map(|share| format!(", {share} stolen")).unwrap_or_default();
    Some(format!("{text}, of all {} CPUs", run.info.host.cpus))
}

/// Shares of the time in which something waited for a resource.
fn pressure(run: &Run) -> Option<String> {
    let of = |(resource, says): (&str, &str)| {
        let (first, last) = ends(run.readings.of("pressure", resource))?;
        Some(format!("{} for {says}", percent(last.rate(first, "some_seconds")?)))
    };
    let parts: Vec<_> =
        [("cpu", "CPUs"), ("io", "I/O"), ("memory", "memory")].into_iter().filter_map(of).collect();
    (!parts.is_empty()).then(|| format!("share of the time in which a task waited: {}", parts.join(", ")))
}

fn memory(run: &Run) -> Option<String> {
    let readings = run.readings.of("memory", "");
    ends(readings)?;
    let values = |name| readings.iter().filter_map(move |reading: &Reading| reading.value(name));
    let min = values("available_bytes").reduce(f64::min)?;
    let max = values("dirty_bytes").reduce(f64::max)?;
    Some(format!("at least {} available, at most {} dirty", Bytes(min as u64), Bytes(max as u64)))
}

/// Each device that did anything.
fn devices(run: &Run) -> Vec<(&str, String)> {
    let of = |(probe, name, readings)| {
        let (first, last) = ends(readings).filter(|_| probe == "device")?;
        let rate = |counter| last.rate(first, counter).unwrap_or(0.0);
        let (reads, writes) = (rate("reads"), rate("writes"));
        if reads + writes == 0.0 {
            return None;
        }
        let busy = rate("busy_seconds");
        let text = format!(
            "{reads:.0} reads/s ({}/s), {writes:.0} writes/s ({}/s), {} busy",
            Bytes(rate("read_bytes") as u64),
            Bytes(rate("written_bytes") as u64),
            percent(busy)
        );
        Some((busy, name, text))
    };
    let mut all: Vec<(f64, &str, String)> = run.readings.series().filter_map(of).collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    all.into_iter().take(DEVICES).map(|(_, name, text)| (name, text)).collect()
}

/// What each database counted while phases ran in it.
fn databases(run: &Run) -> Vec<(&str, String)> {
    let of = |(probe, name, readings)| {
        let (_, last) = ends(readings).filter(|_| probe == "database")?;
        let seconds =
            Some(Reading::counted(readings, "observed_seconds")).filter(|seconds| *seconds > 0.0)?;
        let counted = |counter: &str, of: &str| {
            last.value(counter)?;
            Some(format!("{:.0} {of}/s", Reading::counted(readings, counter) / seconds))
        };
        let parts: Vec<String> = [
            counted("data_reads", "reads"),
            counted("data_writes", "writes of data"),
            counted("log_writes", "writes of the log"),
            counted("log_syncs", "syncs of the log"),
        ]
        .into_iter()
        .flatten()
        .collect();
        (!parts.is_empty()).then(|| (name, parts.join(", ")))
    };
    run.readings.series().filter_map(of).collect()
}

/// What sessions of a database spent their time in: average numbers of sessions while they were observed, the largest first.
fn waits(run: &Run) -> Option<String> {
    let observed = run.readings.of("waits", "");
    ends(observed)?;
    let seconds = Some(Reading::counted(observed, "observed_seconds")).filter(|seconds| *seconds > 0.0)?;
    let in_waits = run.readings.series().filter(|(probe, name, _)| *probe == "waits" && !name.is_empty());
    let mut waits: Vec<(f64, &str)> = in_waits
        .map(|(_, name, readings)| (Reading::counted(readings, "session_seconds") / seconds, name))
        .collect();
    waits.sort_by(|one, other| other.0.total_cmp(&one.0));
    let part = |(sessions, name): &(f64, &str)| format!("{sessions:.2} in {name}");
    let parts: Vec<String> = waits.iter().take(WAITS).map(part).collect();
    (!parts.is_empty()).then(|| format!("on average {}", parts.join(", ")))
}

/// What sampling itself has cost.
fn cost(run: &Run) -> Option<String> {
    let (first, last) = ends(run.readings.of("sampler", ""))?;
    let share = last.rate(first, "cpu_seconds")?;
    let left_out = match last.value("skipped") {
        Some(skipped) if skipped > 0.0 => format!("; {skipped:.0} samples were skipped"),
        _ => String::new(),
    };
    Some(format!("{:.3} % of one CPU{left_out}", share * 100.0))
}

#[cfg(test)]
mod tests {
    use iolite_model::{Event, Nanos, ReadingValue, Sink};

    use super::*;

    const STYLE: Style = Style { color: false, unicode: true, width: 110 };

    fn sampled(seconds: u64) -> Run {
        let mut run = Run::new(crate::synthetic::run());
        for second in 0..seconds {
            let mut read = |probe: &'static str, subject: &str, values: &[(&'static str, f64)]| {
                run.event(&Event::Reading(Reading {
                    probe: probe.into(),
                    subject: subject.into(),
                    at: Nanos(second * Nanos::SECOND.0),
                    values: values.iter().map(|(name, value)| ReadingValue::counter(*name, *value)).collect(),
                }));
            };
            let at = second as f64;
            read("cpu", "", &[("user_seconds", 0.25 * at), ("system_seconds", 0.5 * at)]);
            read("pressure", "io", &[("some_seconds", 0.125 * at)]);
            read("memory", "", &[("available_bytes", 1e6 - at), ("dirty_bytes", 4096.0 * at)]);
            read(
                "device",
                "vda",
                &[("reads", 10.0 * at), ("read_bytes", 40960.0 * at), ("busy_seconds", 0.5 * at)],
            );
            // A second phase begins after two seconds: what is observed in it begins at zero again.
            let phase = if second < 3 { at } else { at - 3.0 };
            let counted =
                [("data_reads", 100.0 * phase), ("log_syncs", 20.0 * phase), ("observed_seconds", phase)];
            read("database", "PostgreSQL", &counted);
            read("waits", "", &[("observed_seconds", phase)]);
            read("waits", "IO:DataFileRead", &[("session_seconds", 1.5 * phase)]);
            if second > 3 {
                read("waits", "CPU", &[("session_seconds", 2.25 * phase)]);
            }
            read("device", "idle", &[("reads", 7.0), ("busy_seconds", 0.0)]);
            read("sampler", "", &[("cpu_seconds", 0.0005 * at), ("skipped", 0.0)]);
        }
        run
    }

    #[test]
    fn means_of_what_was_sampled_are_shown() {
        let text = text(&sampled(5), STYLE);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "during the run");
        for part in [
            "system",
            "12.5 % for I/O",
            "16 KiB dirty",
            "10 reads/s (40 KiB/s), 0 writes/s (0 B/s), 50.0 % busy",
            "database PostgreSQL: 100 reads/s, 20 syncs of the log/s",
            "on average 1.50 in IO:DataFileRead, 0.75 in CPU",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(lines.last().map(|line| line.trim_start_matches("sampling ")), Some("0.050 % of one CPU"));
        assert!(!text.contains("idle"), "{text}");
    }

    #[test]
    fn a_run_that_is_over_at_once_shows_nothing() {
        assert_eq!(text(&sampled(2), STYLE), "");
    }
}
