//! `--idle-prof`: how idle the CPUs are while jobs run, and how long a unit of work takes.

use std::hint::black_box;
use std::time::Instant;

use iolite_fio::driver::Shared;
use iolite_fio::language::Invocation;
use iolite_fio::language::command_line::IdleProfile;
use iolite_fio::output::Idleness;
use iolite_observe::CpuIdle;

/// How often the unit of work is timed.
const TIMES: u32 = 20;

/// Bytes that a unit of work goes through.
const UNIT: usize = 64 << 10;

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

/// Mean and standard deviation of the time of a unit of work, in microseconds.
fn unit_work() -> (f64, f64) {
    let mut data = vec![0u64; UNIT / size_of::<u64>()];
    let mut once = || {
        let started = Instant::now();
        for (at, word) in black_box(&mut data).iter_mut().enumerate() {
            *word = word.rotate_left(7) ^ at as u64;
        }
        black_box(&data);
        started.elapsed().as_secs_f64() * 1e6
    };
    once();
    let times: Vec<f64> = (0..TIMES).map(|_| once()).collect();
    let mean = times.iter().sum::<f64>() / f64::from(TIMES);
    let variance = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / f64::from(TIMES - 1);
    (mean, variance.sqrt())
}
