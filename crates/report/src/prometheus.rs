//! The values of a running measurement for Prometheus, in its text format (version 0.0.4), or with native histograms in its protobuf
//! format where that is asked for, over HTTP.
//!
//! Counters only grow within a run, so that rates and quantiles are Prometheus' own (`rate`, `histogram_quantile`).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Read, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use iolite_model::{Event, Interval, OpKind, PtsTerms, Sink, Stage, View};
use iolite_stats::Histogram;

use protobuf::{Buckets, Kind, Labels, Message, NativeBuckets};

mod protobuf;

/// Upper bounds of the buckets: powers of two from 1 µs to 16.8 s; Prometheus' quantiles are as fine as these.
const BUCKETS: usize = 25;

/// The text format.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A counter with its help.
type Figure = (&'static str, &'static str, fn(&Counts) -> u64);

const FIGURES: [Figure; 3] = [
    ("iolite_operations_total", "Operations that succeeded.", |counts| counts.operations),
    ("iolite_bytes_total", "Bytes transferred by them.", |counts| counts.bytes),
    ("iolite_errors_total", "Operations that failed.", |counts| counts.errors),
];

const RESPONSE: &str = "iolite_response_seconds";
const RESPONSE_HELP: &str = "Response times: completed minus intended.";

/// Bytes of a request at most.
const REQUEST: usize = 8192;
/// Time for a request and its response together: clients are served one after the other, and the end of a run waits for the last one.
const PATIENCE: Duration = Duration::from_secs(2);
/// Phases served at most: of a run of many phases those that ended first are left out, since each one adds some 30 series.
const PHASES: usize = 64;

/// A view that also serves what it is shown.
pub struct Prometheus {
    view: Box<dyn View>,
    values: Arc<Mutex<Values>>,
    address: SocketAddr,
    has_ended: Arc<AtomicBool>,
    server: Option<JoinHandle<()>>,
}

/// All that is served.
#[derive(Default)]
struct Values {
    run: String,
    version: String,
    directory: String,
    /// Scale of a rehearsal of `iolite pts`, whose figures are none of the specification.
    rehearsal: Option<f64>,
    warnings: u64,
    phases: BTreeMap<u32, Phase>,
}

#[derive(Default)]
struct Phase {
    name: String,
    is_running: bool,
    kinds: BTreeMap<&'static str, Counts>,
}

#[derive(Default)]
struct Counts {
    operations: u64,
    bytes: u64,
    errors: u64,
    seconds: f64,
    native: NativeBuckets,
    /// Operations that took no longer than each bound, and longer than the one before; the last: longer than all.
    buckets: [u64; BUCKETS + 1],
}

impl Prometheus {
    /// Serves whoever connects to a listener, and shows everything to another view.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn serve(listener: TcpListener, view: Box<dyn View>) -> io::Result<Prometheus> {
        let address = listener.local_addr()?;
        let (values, has_ended) = (Arc::<Mutex<Values>>::default(), Arc::<AtomicBool>::default());
        let (shared, ended) = (Arc::clone(&values), Arc::clone(&has_ended));
        let body = move || {
            for client in listener.incoming() {
                if ended.load(Ordering::Acquire) {
                    return;
                }
                // A client that fails is its own concern.
                let _ = client.and_then(|client| respond(client, &shared));
            }
        };
        let server = Builder::new().name("prometheus".into()).spawn(body)?;
        Ok(Prometheus { view, values, address, has_ended, server: Some(server) })
    }

    /// Where it listens: the port that the system chose, where none was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

fn locked(values: &Mutex<Values>) -> MutexGuard<'_, Values> {
    values.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Sink for Prometheus {
    fn event(&mut self, event: &Event) {
        self.view.event(event);
        let mut values = locked(&self.values);
        match event {
            Event::RunStarted(info) => {
                values.run = info.id.0.clone();
                values.version = info.version.clone();
                values.directory = info.storage.directory.display().to_string();
            }
            Event::PhaseStarted(info) => {
                let name = info.task.name().to_owned();
                values.phases.insert(info.index, Phase { name, is_running: true, ..Phase::default() });
                values.forget_ended();
            }
            Event::Interval(interval) if interval.stage == Stage::Measured => {
                if let Some(phase) = values.phases.get_mut(&interval.phase) {
                    phase.add(interval);
                }
            }
            Event::PhaseEnded(end) => {
                if let Some(phase) = values.phases.get_mut(&end.phase) {
                    phase.is_running = false;
                }
            }
            Event::Concluded(concluded) => {
                let terms = concluded.read::<PtsTerms>().filter(PtsTerms::is_rehearsal);
                values.rehearsal = terms.map(|terms| terms.scale).or(values.rehearsal);
            }
            Event::Warning(_) => values.warnings += 1,
            _ => {}
        }
    }
}

impl View for Prometheus {
    fn message(&mut self, text: &str) {
        self.view.message(text);
    }

    fn finish(&mut self) {
        self.view.finish();
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        self.has_ended.store(true, Ordering::Release);
        // The server waits for a client: this is one.
        let woken = TcpStream::connect_timeout(&self.address, PATIENCE).is_ok();
        if let Some(server) = self.server.take().filter(|_| woken) {
            let _ = server.join();
        }
    }
}

impl Phase {
    fn add(&mut self, interval: &Interval) {
        for op in &interval.ops {
            let counts = self.kinds.entry(OpKind::name(op.kind)).or_default();
            counts.operations = counts.operations.saturating_add(op.operations);
            counts.bytes = counts.bytes.saturating_add(op.bytes);
            counts.errors = counts.errors.saturating_add(op.errors);
            counts.seconds += op.response_sum.as_secs_f64();
            // A histogram that cannot be read is not counted, as everywhere.
            let response = Histogram::decode(&op.response).unwrap_or_default();
            for (nanos, count) in response.iter() {
                let bucket = (0..BUCKETS).find(|bucket| nanos.0 <= bound(*bucket)).unwrap_or(BUCKETS);
                counts.buckets[bucket] = counts.buckets[bucket].saturating_add(count);
                counts.native.add(nanos.0, count);
            }
        }
    }
}

/// The upper bound of a bucket in nanoseconds.
fn bound(bucket: usize) -> u64 {
    1000 << bucket
}

/// A client and the time that is left for it.
struct Client {
    stream: TcpStream,
    deadline: Instant,
}

impl Client {
    /// The time that is left.
    ///
    /// # Errors
    /// None is.
    fn left(&self) -> io::Result<Duration> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

impl Read for Client {
    fn read(&mut self, part: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(self.left()?))?;
        self.stream.read(part)
    }
}

impl io::Write for Client {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(self.left()?))?;
        self.stream.write(part)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// Answers one request.
fn respond(stream: TcpStream, values: &Mutex<Values>) -> io::Result<()> {
    let mut client = Client { stream, deadline: Instant::now() + PATIENCE };
    let mut request = Vec::new();
    let mut part = [0; 1024];
    while request.len() < REQUEST && !request.windows(4).any(|end| end == b"\r\n\r\n") {
        match client.read(&mut part)? {
            0 => break,
            read => request.extend_from_slice(&part[..read]),
        }
    }
    let (status, kind, body) = match request.as_slice() {
        line if line.starts_with(b"GET /metrics ") || line.starts_with(b"GET / ") => {
            if protobuf::is_asked_for(&accepted(&request)) {
                ("200 OK", protobuf::CONTENT_TYPE, locked(values).protobuf())
            } else {
                ("200 OK", TEXT, locked(values).text().into_bytes())
            }
        }
        line if line.starts_with(b"GET ") => {
            ("404 Not Found", TEXT, b"the values are at /metrics\n".to_vec())
        }
        _ => ("405 Method Not Allowed", TEXT, b"GET only\n".to_vec()),
    };
    write!(
        client,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    )?;
    client.write_all(&body)
}

/// The formats that a request asks for: its header `Accept`.
fn accepted(request: &[u8]) -> String {
    let request = String::from_utf8_lossy(request);
    let fields = request.lines().filter_map(|line| line.split_once(':'));
    let accept =
        fields.filter(|(name, _)| name.eq_ignore_ascii_case("accept")).map(|(_, value)| value.trim());
    accept.collect::<Vec<_>>().join(",")
}

impl Values {
    /// Leaves out the earliest phases that have ended, where there are too many.
    fn forget_ended(&mut self) {
        while self.phases.len() > PHASES {
            let ended = self.phases.iter().find(|(_, phase)| !phase.is_running).map(|(index, _)| *index);
            let Some(index) = ended else { return };
            self.phases.remove(&index);
        }
    }

    /// The labels of the run.
    fn labels(&self) -> Vec<(&'static str, String)> {
        let labels = [("run", &self.run), ("version", &self.version), ("directory", &self.directory)];
        let rehearsal = self.rehearsal.map(|scale| ("rehearsal", scale.to_string()));
        labels.map(|(name, value)| (name, value.clone())).into_iter().chain(rehearsal).collect()
    }

    fn text(&self) -> String {
        let mut out = String::new();
        let head = |out: &mut String, name: &str, kind: &str, help: &str| {
            // Writing to a String cannot fail, here and below.
            let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
        };
        head(&mut out, "iolite_run_info", "gauge", "The current run.");
        let labels = self.labels().into_iter().map(|(name, value)| format!("{name}=\"{}\"", label(&value)));
        let _ = writeln!(out, "iolite_run_info{{{}}} 1", labels.collect::<Vec<_>>().join(","));
        head(&mut out, "iolite_warnings_total", "counter", "Warnings of the run.");
        let _ = writeln!(out, "iolite_warnings_total {}", self.warnings);
        head(&mut out, "iolite_phase_running", "gauge", "1 while a phase runs.");
        for (index, phase) in &self.phases {
            let running = u8::from(phase.is_running);
            let _ = writeln!(out, "iolite_phase_running{{{}}} {running}", phase.labels(*index));
        }
        for (name, help, of) in FIGURES {
            head(&mut out, name, "counter", help);
            self.each(|labels, counts| {
                let _ = writeln!(out, "{name}{{{labels}}} {}", of(counts));
            });
        }
        head(&mut out, RESPONSE, "histogram", RESPONSE_HELP);
        self.each(|labels, counts| {
            let mut sum = 0;
            for (bucket, count) in counts.buckets.iter().enumerate() {
                sum += count;
                let le = match bucket {
                    BUCKETS => "+Inf".to_owned(),
                    bucket => (bound(bucket) as f64 / 1e9).to_string(),
                };
                let _ = writeln!(out, "iolite_response_seconds_bucket{{{labels},le=\"{le}\"}} {sum}");
            }
            let _ = writeln!(out, "iolite_response_seconds_sum{{{labels}}} {}", counts.seconds);
            let _ = writeln!(out, "iolite_response_seconds_count{{{labels}}} {sum}");
        });
        out
    }

    /// The same as [`Values::text`], with native histograms.
    fn protobuf(&self) -> Vec<u8> {
        let mut out = Message::default();
        out.family("iolite_run_info", "The current run.", Kind::Gauge, |family| {
            family.number(self.labels(), Kind::Gauge, 1.0);
        });
        out.family("iolite_warnings_total", "Warnings of the run.", Kind::Counter, |family| {
            family.number(Vec::new(), Kind::Counter, self.warnings as f64);
        });
        out.family("iolite_phase_running", "1 while a phase runs.", Kind::Gauge, |family| {
            for (index, phase) in &self.phases {
                family.number(phase.named(*index), Kind::Gauge, f64::from(u8::from(phase.is_running)));
            }
        });
        for (name, help, of) in FIGURES {
            out.family(name, help, Kind::Counter, |family| {
                self.each_named(|labels, counts| family.number(labels, Kind::Counter, of(counts) as f64));
            });
        }
        out.family(RESPONSE, RESPONSE_HELP, Kind::Histogram, |family| {
            self.each_named(|labels, counts| {
                let mut sum = 0;
                let bounds = counts.buckets[..BUCKETS].iter().enumerate().map(|(bucket, count)| {
                    sum += count;
                    (bound(bucket) as f64 / 1e9, sum)
                });
                let classic: Vec<(f64, u64)> = bounds.collect();
                let count = counts.buckets.iter().sum();
                family.histogram(
                    labels,
                    &Buckets { count, sum: counts.seconds, classic, native: &counts.native },
                );
            });
        });
        out.bytes()
    }

    fn each_named(&self, mut of: impl FnMut(Labels<'_>, &Counts)) {
        for (index, phase) in &self.phases {
            for (kind, counts) in &phase.kinds {
                let mut labels = phase.named(*index);
                labels.push(("kind", (*kind).to_owned()));
                of(labels, counts);
            }
        }
    }

    fn each(&self, mut of: impl FnMut(&str, &Counts)) {
        for (index, phase) in &self.phases {
            for (kind, counts) in &phase.kinds {
                of(&format!("{},kind=\"{kind}\"", phase.labels(*index)), counts);
            }
        }
    }
}

impl Phase {
    fn named(&self, index: u32) -> Labels<'_> {
        vec![("phase", index.to_string()), ("name", self.name.clone())]
    }

    fn labels(&self, index: u32) -> String {
        format!("phase=\"{index}\",name=\"{}\"", label(&self.name))
    }
}

/// A label's value, escaped as the format asks for.
fn label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic;
    use iolite_model::{Nanos, NullSink, OpTotals};

    fn ask(address: SocketAddr, request: &str) -> String {
        let mut client = TcpStream::connect(address).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        client.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        answer
    }

    /// A client that sends a byte now and then, each before any time limit of its own.
    #[test]
    fn a_slow_client_does_not_hold_up_the_end_of_a_run() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let view = Prometheus::serve(listener, Box::new(NullSink)).unwrap();
        let mut client = TcpStream::connect(view.address()).unwrap();
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let dripping = std::thread::spawn(move || {
            let mut sent = 0;
            while stopped.recv_timeout(Duration::from_millis(100)).is_err() && client.write_all(b"x").is_ok()
            {
                sent += 1;
            }
            sent
        });
        drop(view);
        stop.send(()).ok();
        // Long before as many bytes have come as a request may have.
        assert!(dripping.join().unwrap() < REQUEST / 10);
    }

    #[test]
    fn of_many_phases_the_latest_are_served_and_all_that_run() {
        let mut values = Values::default();
        let phase = |is_running| Phase { is_running, ..Phase::default() };
        for index in 0..200 {
            values.phases.insert(index, phase(index == 3));
            values.forget_ended();
        }
        assert_eq!(values.phases.len(), PHASES);
        assert_eq!(values.phases.keys().copied().take(2).collect::<Vec<_>>(), [3, 200 - 63]);
    }

    /// Names of all families.
    const NAMES: [&str; 7] = [
        "iolite_run_info",
        "iolite_warnings_total",
        "iolite_phase_running",
        "iolite_operations_total",
        "iolite_bytes_total",
        "iolite_errors_total",
        "iolite_response_seconds",
    ];

    /// A number of variable length, and the bytes that it takes.
    fn varint(bytes: &[u8]) -> (usize, usize) {
        let length = bytes.iter().position(|byte| byte & 0x80 == 0).unwrap() + 1;
        let value = bytes[..length].iter().rev().fold(0, |value, byte| value << 7 | usize::from(byte & 0x7f));
        (value, length)
    }

    #[test]
    fn the_dashboard_asks_only_for_what_is_served() {
        let dashboard: serde_json::Value =
            serde_json::from_str(include_str!("../../../docs/grafana.json")).unwrap();
        let text = dashboard.to_string();
        let asked: Vec<&str> = text
            .match_indices("iolite_")
            .map(|(at, _)| text[at..].split(|c: char| c != '_' && !c.is_ascii_alphanumeric()).next().unwrap())
            .collect();
        assert!(asked.len() >= 5, "{asked:?}");
        for name in asked {
            let family =
                ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
            assert!(NAMES.contains(&family), "{name} is asked for and not served");
        }
    }

    #[test]
    fn counts_and_histograms_are_served_while_it_runs() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut view = Prometheus::serve(listener, Box::new(NullSink)).unwrap();
        view.event(&Event::RunStarted(Box::new(synthetic::run())));
        assert!(!ask(view.address(), "GET /metrics HTTP/1.1\r\n\r\n").contains("rehearsal="));
        let terms = iolite_model::Concluded::of(&crate::pts::tests::terms(0.01));
        view.event(&Event::Concluded(Box::new(terms)));
        let task = synthetic::read("a \"quoted\"\nname", 8192, 1);
        view.event(&Event::PhaseStarted(synthetic::info(3, task)));
        let mut response = Histogram::new();
        [900, 1_000_000, 1_000_000, 60_000_000_000].into_iter().for_each(|nanos| response.record(nanos));
        let op = OpTotals {
            kind: OpKind::Read,
            operations: 4,
            bytes: 32768,
            errors: 1,
            response_sum: Nanos(2_500_000_000),
            delay_sum: Nanos(0),
            response_max: Nanos(60_000_000_000),
            response: response.encode(),
            service: Histogram::new().encode(),
        };
        for (number, stage) in [Stage::Ramp, Stage::Measured, Stage::Measured].into_iter().enumerate() {
            let start = Nanos(number as u64 * 1_000_000_000);
            let ops = vec![op.clone()];
            view.event(&Event::Interval(Interval { phase: 3, start, length: Nanos::SECOND, stage, ops }));
        }
        let labels = "phase=\"3\",name=\"a \\\"quoted\\\"\\nname\",kind=\"read\"";
        let answer = ask(view.address(), "GET /metrics HTTP/1.1\r\n\r\n");
        for line in [
            "HTTP/1.1 200 OK".to_owned(),
            ",rehearsal=\"0.01\"} 1\n".to_owned(),
            format!("iolite_operations_total{{{labels}}} 8\n"),
            format!("iolite_errors_total{{{labels}}} 2\n"),
            format!("iolite_response_seconds_bucket{{{labels},le=\"0.000001\"}} 2\n"),
            format!("iolite_response_seconds_bucket{{{labels},le=\"0.001024\"}} 6\n"),
            format!("iolite_response_seconds_bucket{{{labels},le=\"16.777216\"}} 6\n"),
            format!("iolite_response_seconds_bucket{{{labels},le=\"+Inf\"}} 8\n"),
            format!("iolite_response_seconds_sum{{{labels}}} 5\n"),
        ] {
            assert!(answer.contains(&line), "{line} in {answer}");
        }
        let accept =
            "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited";
        let mut client = TcpStream::connect(view.address()).unwrap();
        write!(client, "GET /metrics HTTP/1.1\r\nAccept: {accept}\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|end| end == b"\r\n\r\n").unwrap() + 4;
        assert!(String::from_utf8_lossy(&answer[..end]).contains(protobuf::CONTENT_TYPE));
        // Family after family, each behind its length; the last has 4 operations in 3 buckets, twice.
        let (mut rest, mut names) = (&answer[end..], Vec::new());
        while !rest.is_empty() {
            let (length, used) = varint(rest);
            let family = &rest[used..used + length];
            let (name, used_by_name) = varint(&family[1..]);
            names.push(String::from_utf8_lossy(&family[1 + used_by_name..][..name]).into_owned());
            rest = &rest[used + length..];
        }
        assert_eq!(names, NAMES);
        assert!(answer.ends_with(&[0x6a, 3, 4, 4, 3]), "{:x?}", &answer[answer.len() - 16..]);
        assert!(ask(view.address(), "GET /other HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
        assert!(ask(view.address(), "POST / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405"));
        let address = view.address();
        drop(view);
        assert!(TcpStream::connect(address).is_err(), "it still listens");
    }
}
