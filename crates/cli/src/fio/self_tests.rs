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
        let speed = checksum_speed(*check, TIME).context("it is no checksum")?;
        output::print_data(&format!(
            "{:<10}\t{:8.2} MiB/sec\n",
            format!("{name}:"),
            speed / f64::from(1 << 20)
        ))?;
    }
    Ok(Outcome::Done)
}

/// Prints whether the clock of measurements reads the same on all CPUs; if not, that fails.
///
/// # Errors
/// It can't be compared, or not be printed.
pub(super) fn clock() -> anyhow::Result<Outcome> {
    let clock = Clock::best();
    output::print_data(&format!("cs: clock: {}\n", clock.name()))?;
    let found = clock_test::compare(clock).context("the CPUs' clocks cannot be compared")?;
    output::print_data(&format!("cs: Testing {} CPUs\n", found.cpus.len()))?;
    if found.backwards == 0 {
        output::print_data(&format!("cs: {} readings\ncs: Pass!\n", found.readings))?;
        return Ok(Outcome::Done);
    }
    output::print_data(&format!(
        "cs: {} of {} readings go back, by up to {} ns\ncs: Fail!\n",
        found.backwards, found.readings, found.largest
    ))?;
    Ok(Outcome::Failed)
}
