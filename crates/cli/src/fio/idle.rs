//! `--idle-prof`: how idle the CPUs are while jobs run, and how long a unit of work takes.

use iolite_fio::driver::Shared;
use iolite_fio::language::Invocation;
use iolite_fio::language::command_line::IdleProfile;
use iolite_fio::output::Idleness;
use iolite_observe::{CpuIdle, unit_work};

/// Measures how idle the CPUs are, where it was asked for.
pub(super) struct IdleProfiler {
    profile: Option<IdleProfile>,
    /// Counts while threads run.
    pub(super) probe: Shared<CpuIdle>,
    unit: (f64, f64),
}

impl IdleProfiler {
    /// As the command line says; times the unit of work now, before anything runs.
    pub(super) fn new(invocation: &Invocation) -> IdleProfiler {
        let profile = invocation.idle_profile;
        let unit = if profile.is_some() { unit_work() } else { (0.0, 0.0) };
        IdleProfiler { profile, probe: Shared::of(CpuIdle::default()), unit }
    }

    /// What was measured; `None` where nothing was asked for.
    pub(super) fn finish(&self) -> Option<Idleness> {
        let profile = self.profile?;
        let idle = self.probe.take().map(CpuIdle::finish).unwrap_or_default();
        let (unit_mean, unit_deviation) = self.unit;
        let mean = idle.iter().sum::<f64>() / idle.len().max(1) as f64;
        let system = (profile != IdleProfile::Calibrate).then_some(mean);
        let cpus = if profile == IdleProfile::PerCpu { idle } else { Vec::new() };
        Some(Idleness { system, cpus, unit_mean, unit_deviation })
    }
}

/// What `--idle-prof=calibrate` prints: nothing is run then.
pub(super) fn calibrated(invocation: &Invocation) -> Option<String> {
    let asked = invocation.idle_profile == Some(IdleProfile::Calibrate);
    let measured = asked.then(|| IdleProfiler::new(invocation).finish()).flatten()?;
    Some(measured.text().trim_start().to_owned())
}
