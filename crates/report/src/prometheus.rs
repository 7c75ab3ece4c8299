//! The values of a running measurement for Prometheus, in its text format (version 0.0.4), over HTTP.
//!
//! Counters only grow within a run, so that rates and quantiles are Prometheus' own (`rate`, `histogram_quantile`).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Read, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use iolite_model::{Event, Interval, OpKind, Sink, Stage, View};
use iolite_stats::Histogram;

/// Upper bounds of the buckets: powers of two from 1 µs to 16.8 s; Prometheus' quantiles are as fine as these.
const BUCKETS: usize = 25;

/// Bytes of a request at most, and how long a client may take for each part of it.
const REQUEST: usize = 8192;
const PATIENCE: Duration = Duration::from_secs(1);

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
    /// Operations that took no longer than each bound, and longer than the one before; the last: longer than all.
    buckets: [u64; BUCKETS + 1],
}

impl Prometheus {
    /// Serves on an address, and shows everything to another view.
    ///
    /// # Errors
    /// Nothing can listen there.
    pub fn serve(address: SocketAddr, view: Box<dyn View>) -> io::Result<Prometheus> {
        let listener = TcpListener::bind(address)?;
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
            }
        }
    }
}

/// The upper bound of a bucket in nanoseconds.
fn bound(bucket: usize) -> u64 {
    1000 << bucket
}

/// Answers one request.
fn respond(mut client: TcpStream, values: &Mutex<Values>) -> io::Result<()> {
    client.set_read_timeout(Some(PATIENCE))?;
    client.set_write_timeout(Some(PATIENCE))?;
    let mut request = Vec::new();
    let mut part = [0; 1024];
    while request.len() < REQUEST && !request.windows(4).any(|end| end == b"\r\n\r\n") {
        match client.read(&mut part)? {
            0 => break,
            read => request.extend_from_slice(&part[..read]),
        }
    }
    let (status, body) = match request.as_slice() {
        line if line.starts_with(b"GET /metrics ") || line.starts_with(b"GET / ") => {
            ("200 OK", locked(values).text())
        }
        line if line.starts_with(b"GET ") => ("404 Not Found", "the values are at /metrics\n".to_owned()),
        _ => ("405 Method Not Allowed", "GET only\n".to_owned()),
    };
    write!(
        client,
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    )
}

impl Values {
    fn text(&self) -> String {
        let mut out = String::new();
        let [run, version, directory] = [&self.run, &self.version, &self.directory].map(|text| label(text));
        let head = |out: &mut String, name: &str, kind: &str, help: &str| {
            // Writing to a String cannot fail, here and below.
            let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
        };
        head(&mut out, "iolite_run_info", "gauge", "The current run.");
        let _ = writeln!(
            out,
            "iolite_run_info{{run=\"{run}\",version=\"{version}\",directory=\"{directory}\"}} 1"
        );
        head(&mut out, "iolite_warnings_total", "counter", "Warnings of the run.");
        let _ = writeln!(out, "iolite_warnings_total {}", self.warnings);
        head(&mut out, "iolite_phase_running", "gauge", "1 while a phase runs.");
        for (index, phase) in &self.phases {
            let running = u8::from(phase.is_running);
            let _ = writeln!(out, "iolite_phase_running{{{}}} {running}", phase.labels(*index));
        }
        type Figure = (&'static str, &'static str, fn(&Counts) -> u64);
        let figures: [Figure; 3] = [
            ("iolite_operations_total", "Operations that succeeded.", |counts| counts.operations),
            ("iolite_bytes_total", "Bytes transferred by them.", |counts| counts.bytes),
            ("iolite_errors_total", "Operations that failed.", |counts| counts.errors),
        ];
        for (name, help, of) in figures {
            head(&mut out, name, "counter", help);
            self.each(|labels, counts| {
                let _ = writeln!(out, "{name}{{{labels}}} {}", of(counts));
            });
        }
        head(&mut out, "iolite_response_seconds", "histogram", "Response times: completed minus intended.");
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

    fn each(&self, mut of: impl FnMut(&str, &Counts)) {
        for (index, phase) in &self.phases {
            for (kind, counts) in &phase.kinds {
                of(&format!("{},kind=\"{kind}\"", phase.labels(*index)), counts);
            }
        }
    }
}

impl Phase {
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

    #[test]
    fn counts_and_histograms_are_served_while_it_runs() {
        let mut view = Prometheus::serve("127.0.0.1:0".parse().unwrap(), Box::new(NullSink)).unwrap();
        view.event(&Event::RunStarted(Box::new(synthetic::run())));
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
        assert!(ask(view.address(), "GET /other HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
        assert!(ask(view.address(), "POST / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405"));
        let address = view.address();
        drop(view);
        assert!(TcpStream::connect(address).is_err(), "it still listens");
    }
}
