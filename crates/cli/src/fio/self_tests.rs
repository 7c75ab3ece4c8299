//! Tests of the machine that take the place of a run: `--crctest` and `--cpuclock-test`.

use std::time::Duration;

use anyhow::Context;
use iolite_engine::checksum_speed;
use iolite_model::FioChecksum;
use iolite_sys::clock::Clock;
use iolite_sys::clock_test;

use super::Outcome;
use crate::output;

/// How long each checksum is measured.
const TIME: Duration = Duration::from_millis(250);

/// Prints how fast each checksum is when it was measured.
///
/// # Errors
/// It can't be printed.
pub(super) fn checksums(asked: &[(&'static str, FioChecksum)]) -> anyhow::Result<Outcome> {
    for (name, check) in asked {
        let speed = checksum_speed(*check, TIME).context("it is no checksum")? / f64::from(1 << 20);
        let tabs = if name.len() < 7 { "\t\t" } else { "\t" };
        output::print_data(&format!("{name}:{tabs}{speed:8.2} MiB/sec\n"))?;
    }
    Ok(Outcome::Done)
}

/// Prints whether the clock of measurements reads the same on all CPUs; if not, that fails.
///
/// # Errors
/// It can't be compared, or not be printed.
pub(super) fn clock() -> anyhow::Result<Outcome> {
    let clock = Clock::best();
    let reliable = if clock.name() == "tsc" { "yes" } else { "no" };
    let found = clock_test::compare(clock).context("the CPUs' clocks cannot be compared")?;
    let mut text = format!("cs: reliable_tsc: {reliable}\ncs: Testing {} CPUs\n", found.cpus.len());
    for (cpu, first) in &found.cpus {
        text += &format!("cs: cpu{cpu:3}: {} clocks seen, first {first}\n", found.readings);
    }
    if found.backwards > 0 {
        text += &format!("cs: {} readings go back, by up to {} ns\n", found.backwards, found.largest);
    }
    text += if found.backwards == 0 { "cs: Pass!\n" } else { "cs: Failed.\n" };
    output::print_data(&text)?;
    Ok(if found.backwards == 0 { Outcome::Done } else { Outcome::Failed })
}
