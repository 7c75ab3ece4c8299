//! What the machine did while a run went on: a few figures of what every run samples. All of it is in SQL.

use std::fmt;

use iolite_model::{Bytes, Reading};
use iolite_results::Run;
use serde::Serialize;

use crate::machine::line;
use crate::styler::{Emphasis, Style, Styler};

/// Devices shown, the busiest first.
const DEVICES: usize = 4;
/// Waits shown, those with the most sessions.
const WAITS: usize = 4;
/// Samples from which on a mean over the run says something.
const SAMPLES: usize = 3;

/// Means over the run. Times are shares of one CPU, of the time, or of all CPUs where that is said; rates are per second.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Meanwhile {
    /// Shares of all CPUs.
    cpu: Option<CpuUse>,
    /// Shares of the time in which a task waited, by resource.
    pressure: Vec<Pressure>,
    memory: Option<Memory>,
    /// Those that did anything, the busiest first.
    devices: Vec<Device>,
    databases: Vec<Database>,
    /// What sessions of a database waited for, the most sessions first.
    waits: Vec<Wait>,
    sampling: Option<Sampling>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct CpuUse {
    cpus: u32,
    user_share: f64,
    system_share: f64,
    iowait_share: Option<f64>,
    steal_share: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Pressure {
    resource: &'static str,
    waiting_share: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Memory {
    min_available_bytes: Bytes,
    max_dirty_bytes: Bytes,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Device {
    name: String,
    reads: f64,
    read_bytes: f64,
    writes: f64,
    written_bytes: f64,
    busy_share: f64,
}

/// What a database counted while phases ran in it.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Database {
    name: String,
    data_reads: Option<f64>,
    data_writes: Option<f64>,
    log_writes: Option<f64>,
    log_syncs: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Wait {
    name: String,
    /// Average number.
    sessions: f64,
}

/// What sampling itself has cost.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Sampling {
    cpu_share: f64,
    skipped: f64,
}

/// Means over the run; empty where it was over too soon to sample.
pub fn text(run: &Run, style: Style) -> String {
    let (styler, found) = (Styler(style), Meanwhile::of(run));
    let mut lines = Vec::new();
    lines.extend(found.cpu.map(|cpu| line(styler, "CPU", cpu)));
    let waited: Vec<_> = found.pressure.iter().map(ToString::to_string).collect();
    if !waited.is_empty() {
        let text = format!("share of the time in which a task waited: {}", waited.join(", "));
        lines.push(line(styler, "stalled", text));
    }
    lines.extend(found.memory.map(|memory| line(styler, "memory", memory)));
    let devices = found.devices.iter().take(DEVICES);
    lines.extend(devices.map(|device| line(styler, &styler.clean(&device.name), device)));
    lines.extend(found.databases.iter().map(|database| line(styler, "database", styler.clean(database))));
    let waits: Vec<_> = found.waits.iter().take(WAITS).map(ToString::to_string).collect();
    if !waits.is_empty() {
        lines.push(line(styler, "sessions", format!("on average {}", waits.join(", "))));
    }
    lines.extend(found.sampling.map(|cost| line(styler, "sampling", cost)));
    if lines.is_empty() {
        return String::new();
    }
    styler.paint(Emphasis::Strong, "during the run") + "\n" + &lines.concat()
}

/// The first and the last reading, where there are enough in between.
fn ends(readings: &[Reading]) -> Option<(&Reading, &Reading)> {
    Some((readings.first()?, readings.last()?)).filter(|_| readings.len() >= SAMPLES)
}

/// Time over which something was observed, in seconds.
fn observed(readings: &[Reading]) -> Option<f64> {
    Some(Reading::counted(readings, "observed_seconds")).filter(|seconds| *seconds > 0.0)
}

impl Meanwhile {
    /// What was sampled of a run; without anything where it was over too soon.
    pub(crate) fn of(run: &Run) -> Meanwhile {
        let mut devices: Vec<_> = run.readings.series().filter_map(Device::of).collect();
        devices.sort_by(|one, other| other.busy_share.total_cmp(&one.busy_share));
        Meanwhile {
            cpu: CpuUse::of(run),
            pressure: ["cpu", "io", "memory"].into_iter().filter_map(|of| Pressure::of(run, of)).collect(),
            memory: Memory::of(run),
            devices,
            databases: run.readings.series().filter_map(Database::of).collect(),
            waits: Wait::all(run).unwrap_or_default(),
            sampling: Sampling::of(run),
        }
    }
}

impl CpuUse {
    fn of(run: &Run) -> Option<CpuUse> {
        let (first, last) = ends(run.readings.of("cpu", ""))?;
        let cpus = run.info.host.cpus;
        let share = |name| Some(last.rate(first, name)? / f64::from(cpus.max(1)));
        Some(CpuUse {
            cpus,
            user_share: share("user_seconds")?,
            system_share: share("system_seconds")?,
            iowait_share: share("iowait_seconds"),
            steal_share: share("steal_seconds"),
        })
    }
}

impl Pressure {
    fn of(run: &Run, resource: &'static str) -> Option<Pressure> {
        let (first, last) = ends(run.readings.of("pressure", resource))?;
        Some(Pressure { resource, waiting_share: last.rate(first, "some_seconds")? })
    }
}

impl Memory {
    fn of(run: &Run) -> Option<Memory> {
        let readings = run.readings.of("memory", "");
        ends(readings)?;
        let values = |name| readings.iter().filter_map(move |reading: &Reading| reading.value(name));
        let min = values("available_bytes").reduce(f64::min)?;
        let max = values("dirty_bytes").reduce(f64::max)?;
        Some(Memory { min_available_bytes: Bytes(min as u64), max_dirty_bytes: Bytes(max as u64) })
    }
}

impl Device {
    fn of((probe, name, readings): (&str, &str, &[Reading])) -> Option<Device> {
        let (first, last) = ends(readings).filter(|_| probe == "device")?;
        let rate = |counter| last.rate(first, counter).unwrap_or(0.0);
        let device = Device {
            name: name.to_owned(),
            reads: rate("reads"),
            read_bytes: rate("read_bytes"),
            writes: rate("writes"),
            written_bytes: rate("written_bytes"),
            busy_share: rate("busy_seconds"),
        };
        (device.reads + device.writes != 0.0).then_some(device)
    }
}

impl Database {
    fn of((probe, name, readings): (&str, &str, &[Reading])) -> Option<Database> {
        let (_, last) = ends(readings).filter(|_| probe == "database")?;
        let seconds = observed(readings)?;
        let rate = |counter: &str| {
            last.value(counter)?;
            Some(Reading::counted(readings, counter) / seconds)
        };
        let database = Database {
            name: name.to_owned(),
            data_reads: rate("data_reads"),
            data_writes: rate("data_writes"),
            log_writes: rate("log_writes"),
            log_syncs: rate("log_syncs"),
        };
        Some(database).filter(|database| database.rates().next().is_some())
    }

    fn rates(&self) -> impl Iterator<Item = String> {
        let rates = [
            (self.data_reads, "reads"),
            (self.data_writes, "writes of data"),
            (self.log_writes, "writes of the log"),
            (self.log_syncs, "syncs of the log"),
        ];
        rates.into_iter().filter_map(|(rate, of)| rate.map(|rate| format!("{rate:.0} {of}/s")))
    }
}

impl Wait {
    fn all(run: &Run) -> Option<Vec<Wait>> {
        let of_all = run.readings.of("waits", "");
        ends(of_all)?;
        let seconds = observed(of_all)?;
        let in_waits = run.readings.series().filter(|(probe, name, _)| *probe == "waits" && !name.is_empty());
        let mut waits: Vec<_> = in_waits
            .map(|(_, name, readings)| Wait {
                name: name.to_owned(),
                sessions: Reading::counted(readings, "session_seconds") / seconds,
            })
            .collect();
        waits.sort_by(|one, other| other.sessions.total_cmp(&one.sessions));
        Some(waits)
    }
}

impl Sampling {
    fn of(run: &Run) -> Option<Sampling> {
        let (first, last) = ends(run.readings.of("sampler", ""))?;
        let skipped = last.value("skipped").unwrap_or(0.0);
        Some(Sampling { cpu_share: last.rate(first, "cpu_seconds")?, skipped })
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

impl fmt::Display for CpuUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} user, {} system", percent(self.user_share), percent(self.system_share))?;
        for (share, what) in [(self.iowait_share, "waiting for I/O"), (self.steal_share, "stolen")] {
            share.map_or(Ok(()), |share| write!(f, ", {} {what}", percent(share)))?;
        }
        write!(f, ", of all {} CPUs", self.cpus)
    }
}

impl fmt::Display for Pressure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let resource = match self.resource {
            "cpu" => "CPUs",
            "io" => "I/O",
            other => other,
        };
        write!(f, "{} for {resource}", percent(self.waiting_share))
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at least {} available, at most {} dirty", self.min_available_bytes, self.max_dirty_bytes)
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Device { reads, writes, .. } = self;
        let (read, written) = (Bytes(self.read_bytes as u64), Bytes(self.written_bytes as u64));
        let busy = percent(self.busy_share);
        write!(f, "{reads:.0} reads/s ({read}/s), {writes:.0} writes/s ({written}/s), {busy} busy")
    }
}

impl fmt::Display for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.rates().collect::<Vec<_>>().join(", "))
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} in {}", self.sessions, self.name)
    }
}

impl fmt::Display for Sampling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} % of one CPU", self.cpu_share * 100.0)?;
        if self.skipped > 0.0 {
            write!(f, "; {:.0} samples were skipped", self.skipped)?;
        }
        Ok(())
    }
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
        let json = crate::json::stored(Meanwhile::of(&sampled(5)));
        assert_eq!(json.pointer("/devices/0/busy_share"), Some(&0.5.into()), "{json}");
        assert_eq!(json.pointer("/waits/0/sessions"), Some(&1.5.into()), "{json}");
    }

    #[test]
    fn a_run_that_is_over_at_once_shows_nothing() {
        assert_eq!(text(&sampled(2), STYLE), "");
    }
}
