//! Arguments that several commands have in common.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::bail;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use iolite_model::{Durability, Nanos};
use iolite_report::Format;
use iolite_session::{Session, WaitSampling};
use strum::EnumMessage;

/// Where results go, and how they are shown.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct OutputArgs {
    /// Results database [default: iolite/results.db under XDG_DATA_HOME or ~/.local/share]
    #[arg(long, value_name = "FILE")]
    pub(crate) results: Option<PathBuf>,

    /// Print one JSON document instead of tables
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) view: ViewArgs,
}

/// How the progress of a run is shown: what every command that measures takes.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ViewArgs {
    /// Print no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,

    /// Show the run on the whole terminal: rates, percentiles, heat map of response times, devices, warnings; ? shows the keys
    #[arg(long, conflicts_with = "quiet")]
    pub(crate) live: bool,

    /// Serve current values for Prometheus at http://ADDRESS/metrics; ADDRESS is a port on the loopback interface, or HOST:PORT
    #[arg(long, value_name = "ADDRESS", value_parser = listen_address)]
    pub(crate) prometheus: Option<SocketAddr>,
}

/// The same of a command without a live view.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct QuietOutputArgs {
    /// Results database [default: iolite/results.db under XDG_DATA_HOME or ~/.local/share]
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,

    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl QuietOutputArgs {
    pub(crate) fn output(&self) -> OutputArgs {
        let view = ViewArgs { quiet: true, live: false, prometheus: None };
        OutputArgs { results: self.results.clone(), json: self.json, view }
    }
}

impl OutputArgs {
    /// How the run is printed.
    pub(crate) fn format(&self) -> Format {
        if self.json { Format::Json } else { Format::Text }
    }
}

/// Stall attribution.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct StallArgs {
    /// Attribute operations that take longer than TIME (default: the 99.9th percentile of each phase) to the device, the I/O scheduler, or
    /// neither, and to flushes, discards, write-back, stolen CPU time, memory pressure and writes of a database to its data files. Requires root for the kernel's tracepoints
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true)]
    stalls: Option<Option<Nanos>>,
}

impl StallArgs {
    /// Begins to watch, where that was asked for.
    pub(crate) fn watch(self, session: &mut Session<'_>) {
        if let Some(bound) = self.stalls {
            session.watch_stalls(bound);
        }
    }
}

/// Where to listen: a port of the loopback interface, or an address with its port.
pub(crate) fn listen_address(text: &str) -> anyhow::Result<SocketAddr> {
    match iolite_model::listen_address(text) {
        Some(address) => Ok(address),
        None => bail!("specify a port or an address with a port, for example 9464 or 0.0.0.0:9464"),
    }
}

/// Whether, and how often, the sessions of a database are sampled: what every command that runs a workload in one takes.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct WaitArgs {
    /// Time between samples of the active sessions and their wait events, or `off`. Each sample is one query; its mean time is
    /// printed with the result [default: 100ms in PostgreSQL, MariaDB and MySQL; others report no wait events]
    #[arg(long, value_name = "TIME|off", value_parser = wait_sampling)]
    waits: Option<WaitSampling>,
}

impl WaitArgs {
    /// Whether the user has asked for something.
    pub(crate) fn is_given(&self) -> bool {
        self.waits.is_some()
    }

    /// What was asked for.
    pub(crate) fn sampling(&self) -> WaitSampling {
        self.waits.unwrap_or_default()
    }
}

fn wait_sampling(text: &str) -> anyhow::Result<WaitSampling> {
    match text {
        "off" => Ok(WaitSampling::Off),
        time => Ok(WaitSampling::Every(sample_interval(time)?)),
    }
}

/// Time between two samples of a database's sessions.
pub(crate) fn sample_interval(text: &str) -> anyhow::Result<Nanos> {
    let interval = text.parse::<Nanos>()?;
    if interval.0 < 1_000_000 {
        bail!("specify a time of at least 1ms, for example 100ms");
    }
    Ok(interval)
}

/// One of the values of an enum by its name; what documents a value is its help.
pub(crate) fn choice<T>(values: &'static [T]) -> impl TypedValueParser<Value = T>
where
    T: Copy + Into<&'static str> + EnumMessage + Send + Sync,
{
    let name = |value: T| -> &'static str { value.into() };
    let named = |value: &T| {
        let help = value.get_documentation().unwrap_or_default();
        PossibleValue::new(name(*value)).help(help.trim_end_matches('.'))
    };
    PossibleValuesParser::new(values.iter().map(named)).try_map(move |typed| {
        let found = values.iter().copied().find(|value| name(*value) == typed);
        found.ok_or("specify one of the possible values")
    })
}

/// A number above 0 that is not excluded.
///
/// # Errors
/// It is none; `advice` says what to specify.
pub(crate) fn number(text: &str, allowed: impl Fn(f64) -> bool, advice: &str) -> anyhow::Result<f64> {
    match text.parse() {
        Ok(value) if f64::is_finite(value) && value > 0.0 && allowed(value) => Ok(value),
        _ => bail!("specify {advice}"),
    }
}

/// A percentage between 0 and 100, these excluded.
pub(crate) fn percent(text: &str) -> anyhow::Result<f64> {
    number(text, |value| value < 100.0, "a percentage between 0 and 100, for example 99.9")
}

/// Operations per second.
pub(crate) fn positive(text: &str) -> anyhow::Result<f64> {
    number(text, |value| value <= 1e9, "a number of operations per second, for example 5000")
}

/// What a commit has done when it returns.
pub(crate) fn durability(text: &str) -> anyhow::Result<Durability> {
    match text {
        "full" => Ok(Durability::Full),
        "relaxed" => Ok(Durability::Relaxed),
        "as-configured" => Ok(Durability::AsConfigured),
        _ => bail!("specify `full`, `relaxed` or `as-configured`"),
    }
}
