//! What `iolite tproc-c run` prints: the database, New-Orders per minute, each transaction's times, and what it took.

use iolite_model::{Bytes, CheckpointCycles, DatabaseUse, TprocCCounted, TprocCDatabase, WaitsFound};
use iolite_results::Run;
use iolite_stats::{Estimate, PhaseResult, TprocCRates, WholeCycles};

use crate::machine::line;
use crate::run::{Note, asked, came, rendered};
use crate::styler::{Emphasis, Style, Styler, count, filled};
use crate::table::{NONE, percent};
use crate::{answer, machine, waits};

/// Why the cache stamp of transactions is `unknown`.
const NOT_COMPARED: &str = "transactions request no number of bytes that could be compared with the device's";

mod check;
mod cycles;
mod json;
mod repeats;
mod sweep;

pub(crate) use check::{checked_json, checked_text};
pub use json::{JSON_FORMAT, json};
use repeats::Repeats;

/// A run of TPROC-C: its database, where it came to be asked, and its phases in order.
struct TprocCReport<'a> {
    run: &'a Run,
    database: Option<TprocCDatabase>,
    phases: Vec<TprocCPhase<'a>>,
}

/// A phase, and what is known of it.
struct TprocCPhase<'a> {
    result: &'a PhaseResult,
    /// What database and users have counted.
    counted: Option<TprocCCounted>,
    /// What it took of devices and database.
    used: Option<&'a DatabaseUse>,
    waits: Option<WaitsFound>,
    cycles: Option<CheckpointCycles>,
    /// The rate over whole checkpoint cycles.
    whole: Option<WholeCycles>,
}

impl TprocCPhase<'_> {
    /// The rates by the counters, with their intervals.
    fn rates(&self) -> Option<TprocCRates> {
        self.counted.as_ref().map(|counted| TprocCRates::of(&self.result.totals, counted))
    }
}

impl<'a> TprocCReport<'a> {
    fn of(run: &'a Run) -> TprocCReport<'a> {
        let phase = |result: &'a PhaseResult| {
            let number = result.info.index;
            TprocCPhase {
                result,
                counted: run.of_phase(number),
                used: run.database_use.get(&number),
                waits: run.of_phase(number),
                cycles: run.of_phase(number),
                whole: run.of_phase(number),
            }
        };
        TprocCReport { run, database: run.concluded().last(), phases: run.phases.iter().map(phase).collect() }
    }

    fn engine(&self) -> &str {
        self.database.as_ref().map_or("database", |database| &database.engine)
    }
}

/// The complete terminal output of a run.
pub fn text(run: &Run, style: Style) -> String {
    let styler = Styler(style);
    let report = &TprocCReport::of(run);
    if run.procedure() == "tproc-c-sweep" {
        return sweep::text(report, styler);
    }
    let phases = report.phases.iter().map(|phase| section(report, phase, styler));
    let rest = [
        Repeats::of(&report.phases).map_or(String::new(), |repeats| {
            let cycles = cycles::of_runs(&report.phases);
            repeats.text(styler) + &cycles.map_or(String::new(), |note| rendered(&note, styler))
        }),
        legend(report, styler),
        answer::closing(run, "this", styler),
    ];
    filled(std::iter::once(header(report, styler)).chain(phases).chain(rest))
}

fn header(report: &TprocCReport<'_>, styler: Styler) -> String {
    let (run, database) = (report.run, report.database.as_ref());
    let place = machine::place(run, database.map(|database| &database.url));
    machine::header(run, format_args!("TPROC-C on {place}"), styler)
        + &database.map_or(String::new(), |database| describe(database, styler))
}

pub(crate) fn describe(database: &TprocCDatabase, styler: Styler) -> String {
    let mut out = line(styler, "database", format!("{} {}", database.engine, database.version));
    out += &line(styler, "contents", holds(database));
    out += &line(styler, "durable", &database.durable_by);
    if !database.settings.is_empty() {
        let settings = database.settings.iter().map(|(name, value)| format!("{name} {value}"));
        out += &line(styler, "settings", settings.collect::<Vec<_>>().join(", "));
    }
    out
}

fn holds(database: &TprocCDatabase) -> String {
    let number = count(database.warehouses.into());
    let mut text = format!("{number} {}", if database.warehouses == 1 { "warehouse" } else { "warehouses" });
    if let Some(reduced) = reduced(database) {
        text += &format!(", {reduced}");
    }
    text
}

/// Marks a database that is smaller than the specification has it.
pub(crate) fn reduced(database: &TprocCDatabase) -> Option<String> {
    (database.reduction > 1).then(|| {
        format!(
            "REDUCED: 1/{} of the specification's customers, orders and items; for tests only, not comparable \
         with other results",
            database.reduction
        )
    })
}

/// A phase: the rate, the figures of each transaction, what it took.
fn section(report: &TprocCReport<'_>, phase: &TprocCPhase<'_>, styler: Styler) -> String {
    let mut out = String::new();
    if report.phases.len() > 1 {
        let number = phase.result.info.index + 1;
        out += &format!("{}\n", styler.paint(Emphasis::Strong, &format!("run {number}")));
    }
    if let Some(rates) = &phase.rates() {
        out += &format!("{}\n", styler.paint(Emphasis::Strong, &styler.clean(achieved(report, rates))));
    }
    out += &asked(&phase.result.info.task, styler);
    out += &came(phase.result, false, styler);
    let notes = [
        phase.counted.as_ref().map(orders),
        phase.counted.as_ref().map(transactions),
        phase.counted.as_ref().map(rolled_back),
        phase.counted.as_ref().and_then(repeated),
        phase.cycles.as_ref().map(cycles::checkpoints),
        phase.whole.as_ref().map(cycles::whole),
        written(phase),
        cache(phase.result),
        phase.used.map(cpu),
    ];
    notes.iter().flatten().for_each(|note| out += &rendered(note, styler));
    if let Some(found) = &phase.waits {
        out += &waits::section(found, styler);
    }
    out
}

/// `12,345 NOPM ± 1.2 % from 28,394 PostgreSQL TPM ± 1.1 %`.
fn achieved(report: &TprocCReport<'_>, rates: &TprocCRates) -> String {
    let whole = |rate: &Estimate| count(rate.value.round() as u64);
    let spread = |rate: &Estimate| match percent(rate.relative_half_width()).as_str() {
        NONE => String::new(),
        half => format!(" ± {half}"),
    };
    let mut rate = format!("{} NOPM{}", whole(&rates.nopm), spread(&rates.nopm));
    if let Some(tpm) = &rates.tpm {
        rate += &format!(" from {} {} TPM{}", whole(tpm), report.engine(), spread(tpm));
    }
    match report.database.as_ref().filter(|database| database.reduction > 1) {
        Some(database) => format!("{rate} (REDUCED to 1/{})", database.reduction),
        None => rate,
    }
}

fn orders(counted: &TprocCCounted) -> Note {
    let (own, gained) = (counted.new_orders, counted.orders_gained());
    let comparison = if own == gained {
        format!("{} over the whole run, as many as iolite has committed", count(gained))
    } else {
        format!(
            "{} over the whole run, but iolite has committed {}: another program uses this database, or it has lost orders \
             (iolite tproc-c check)",
            count(gained),
            count(own)
        )
    };
    Note::plain("orders", format!("according to the districts' counter {comparison}"))
}

fn transactions(counted: &TprocCCounted) -> Note {
    let own = counted.committed + counted.rolled_back + counted.deadlocks + counted.lock_timeouts;
    let text = match counted.transactions_gained() {
        Some(server) => format!(
            "{} commits and rollbacks according to the server's counter over the whole run, {} according to \
         iolite's own count",
            count(server),
            count(own)
        ),
        None => format!(
            "{} according to iolite's own count; the database does not count transactions",
            count(own)
        ),
    };
    Note::plain("counted", text)
}

fn rolled_back(counted: &TprocCCounted) -> Note {
    let all = counted.new_orders + counted.rolled_back;
    let share = if all > 0 { counted.rolled_back as f64 * 100.0 / all as f64 } else { 0.0 };
    let text = format!(
        "{} of {} New-Orders, {share:.2} % (1 % by the specification)",
        count(counted.rolled_back),
        count(all)
    );
    Note::plain("rollback", text)
}

fn repeated(counted: &TprocCCounted) -> Option<Note> {
    let mut parts = Vec::new();
    if counted.deadlocks > 0 {
        parts.push(format!(
            "{} transactions were ended by the database because of a deadlock, and retried",
            count(counted.deadlocks)
        ));
    }
    if counted.lock_timeouts > 0 {
        parts.push(format!(
            "{} transactions were ended by the database because they waited too long for a lock of another session",
            count(counted.lock_timeouts)
        ));
    }
    if counted.skipped_deliveries > 0 {
        parts.push(format!("{} districts had no order to deliver", count(counted.skipped_deliveries)));
    }
    (!parts.is_empty()).then(|| Note::plain("other", parts.join("; ")))
}

/// Bytes written for each New-Order, by who counts them.
fn written(phase: &TprocCPhase<'_>) -> Option<Note> {
    let (used, counted) = (phase.used?, phase.counted.as_ref()?);
    let orders = counted.orders_gained();
    if orders == 0 {
        return None;
    }
    let each = |bytes: u64| Bytes(bytes / orders).to_string();
    let mut parts = Vec::new();
    if let Some(device) = used.data_device {
        let name = if used.log_device.is_some() { "data device" } else { "device" };
        parts.push(format!("{name} {}", each(device.written.0)));
    }
    parts.extend(used.log_device.map(|device| format!("log device {}", each(device.written.0))));
    parts.extend(used.database.data_write_bytes.map(|bytes| format!("database {}", each(bytes))));
    parts.extend(used.database.log_write_bytes.map(|bytes| format!("log {}", each(bytes))));
    (!parts.is_empty())
        .then(|| Note::plain("written", format!("per New-Order, over the whole run: {}", parts.join(", "))))
}

/// The cache stamp, where a phase's notes don't have it: of transactions it isn't known.
fn cache(result: &PhaseResult) -> Option<Note> {
    let cache = result.end.cache;
    let is_compared = cache.requested_read.0 + cache.requested_written.0 > 0;
    (!is_compared).then(|| Note::plain("cache", format!("{}: {NOT_COMPARED}", cache.stamp())))
}

fn cpu(used: &DatabaseUse) -> Note {
    let own = used.tool_cpu;
    let text = match used.host_cpu.filter(|host| host.0 > 0) {
        Some(host) => format!(
            "iolite used {own} of CPU time, {:.1} % of the CPU time used on the host",
            own.0 as f64 * 100.0 / host.0 as f64
        ),
        None => format!("iolite used {own} of CPU time"),
    };
    Note::plain("cpu", text)
}

fn legend(report: &TprocCReport<'_>, styler: Styler) -> String {
    if report.phases.is_empty() {
        return String::new();
    }
    styler.item(
        "",
        0,
        "NOPM: New-Orders per minute, from the districts' counter; TPM: commits and rollbacks per minute, \
         from the server's counter; times: response; ±: 95 % interval of the rate, within this run. Derived from TPC-C: not a \
         TPC result, and must not be compared with one",
    )
}

#[cfg(test)]
mod tests;
