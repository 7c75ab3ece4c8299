//! How idle the CPUs were (`--idle-prof`).

use serde::{Deserialize, Serialize};

use super::value::{Json, Members};
use crate::language::command_line::IdleProfile;

/// How idle the CPUs were while jobs ran, and how long a unit of work takes on one.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Idleness {
    /// The mean over all CPUs, in percent; `None` where only the unit of work was measured.
    pub system: Option<f64>,
    /// Of each CPU in percent; empty where that was not asked for.
    pub cpus: Vec<f64>,
    /// Mean time of the unit of work in microseconds.
    #[serde(with = "iolite_model::real")]
    pub unit_mean: f64,
    /// Its standard deviation in microseconds.
    #[serde(with = "iolite_model::real")]
    pub unit_deviation: f64,
}

impl Idleness {
    /// What `profile` reports of CPUs that were idle so much (percent), and of the unit of work: mean and standard deviation in
    /// microseconds.
    pub fn of(profile: IdleProfile, cpus: Vec<f64>, (unit_mean, unit_deviation): (f64, f64)) -> Idleness {
        let mean = cpus.iter().sum::<f64>() / cpus.len().max(1) as f64;
        let system = (profile != IdleProfile::Calibrate).then_some(mean);
        let cpus = if profile == IdleProfile::PerCpu { cpus } else { Vec::new() };
        Idleness { system, cpus, unit_mean, unit_deviation }
    }

    /// As a part of the normal output.
    pub fn text(&self) -> String {
        let mut out = String::from("\nCPU idleness:\n");
        if let Some(system) = self.system {
            out += &format!("  system: {system:3.2}%\n");
        }
        if !self.cpus.is_empty() {
            let cpus: Vec<String> = self.cpus.iter().map(|idle| format!("{idle:3.2}%")).collect();
            out += &format!("  percpu: {}\n", cpus.join(", "));
        }
        out + &format!("  unit work: mean={:3.2}us, stddev={:3.2}\n", self.unit_mean, self.unit_deviation)
    }

    /// As the member `cpu_idleness` of the JSON output.
    pub(super) fn json(&self) -> Json {
        let mut members = Members::default().with_float("system", self.system.unwrap_or(0.0));
        for (number, idle) in self.cpus.iter().enumerate() {
            members = members.with_float(&format!("cpu-{number}"), *idle);
        }
        members
            .with_float("unit_mean", self.unit_mean)
            .with_float("unit_stddev", self.unit_deviation)
            .object()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_fio_s() {
        let of_each =
            Idleness { system: Some(6.58), cpus: vec![1.1, 12.06], unit_mean: 16.37, unit_deviation: 0.05 };
        let text = "\nCPU idleness:\n  system: 6.58%\n  percpu: 1.10%, 12.06%\n  unit work: mean=16.37us, stddev=0.05\n";
        assert_eq!(of_each.text(), text);
        let json = of_each.json().to_string();
        let at = ["system", "cpu-0", "cpu-1", "unit_mean", "unit_stddev"].map(|key| json.find(key));
        assert!(at.is_sorted() && at[0].is_some(), "{json}");
        let calibrated = Idleness { system: None, cpus: Vec::new(), ..of_each };
        assert_eq!(calibrated.text(), "\nCPU idleness:\n  unit work: mean=16.37us, stddev=0.05\n");
    }
}
