//! `--idle-prof`: how idle the CPUs are while jobs run, and how long a unit of work takes.

use iolite_fio::language::Invocation;
use iolite_fio::language::command_line::IdleProfile;
use iolite_fio::output::Idleness;
use iolite_observe::unit_work;

/// What is reported of idle CPUs, where it was asked for.
pub(super) struct IdleProfiler {
    profile: Option<IdleProfile>,
    unit: (f64, f64),
}

impl IdleProfiler {
    /// As the command line says; times the unit of work now, before anything runs.
    pub(super) fn new(invocation: &Invocation) -> IdleProfiler {
        let profile = invocation.idle_profile;
        IdleProfiler { profile, unit: profile.map(|_| unit_work()).unwrap_or_default() }
    }

    /// What was measured of CPUs that were idle so much (percent); `None` where nothing was asked for.
    pub(super) fn finish(&self, cpus: Vec<f64>) -> Option<Idleness> {
        Some(Idleness::of(self.profile?, cpus, self.unit))
    }
}

/// What `--idle-prof=calibrate` prints: nothing is run then.
pub(super) fn calibrated(invocation: &Invocation) -> Option<String> {
    let asked = invocation.idle_profile == Some(IdleProfile::Calibrate);
    let measured = asked.then(|| IdleProfiler::new(invocation).finish(Vec::new())).flatten()?;
    Some(measured.text().trim_start().to_owned())
}
