//! Time lost for want of CPU, memory and I/O (pressure stall information: Linux, Documentation/accounting/psi.rst).

use iolite_model::ReadingValue;

use crate::probe::{HeldFile, Probe, ProbeError, Subject};

/// Reads the time in which some or all threads stood still; subjects are `cpu`, `memory`, `io`.
#[derive(Debug)]
pub struct Pressure {
    files: Vec<(&'static str, HeldFile)>,
}

impl Pressure {
    /// Of this host; `None` where its kernel has no pressure information, or it is switched off (`psi=0`).
    pub fn open() -> Option<Pressure> {
        let open = |name| {
            let mut file = HeldFile::open(format!("/proc/pressure/{name}")).ok()?;
            // Switched off, the files are there and refuse to be read.
            file.read().ok()?;
            Some((name, file))
        };
        let files: Vec<_> = ["cpu", "memory", "io"].into_iter().filter_map(open).collect();
        (!files.is_empty()).then_some(Pressure { files })
    }
}

impl Probe for Pressure {
    fn name(&self) -> &'static str {
        "pressure"
    }

    fn read(&mut self) -> Result<Vec<Subject>, ProbeError> {
        let mut subjects = Vec::with_capacity(self.files.len());
        for (name, file) in &mut self.files {
            let values = values(file.read()?);
            if values.is_empty() {
                return Err(file.malformed("Documentation/accounting/psi.rst"));
            }
            subjects.push(Subject { name: (*name).into(), values });
        }
        Ok(subjects)
    }
}

/// Lines such as `some avg10=0.00 avg60=0.00 avg300=0.00 total=9356562`: totals in microseconds.
fn values(text: &str) -> Vec<ReadingValue> {
    let total = |line: &str| line.split_once("total=")?.1.trim().parse::<f64>().ok();
    let value = |line: &str| {
        let name = match line.split(' ').next()? {
            "some" => "some_seconds",
            "full" => "full_seconds",
            _ => return None,
        };
        Some(ReadingValue::counter(name, total(line)? / 1e6))
    };
    text.lines().filter_map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_seconds() {
        let text =
            "some avg10=0.09 avg60=0.10 avg300=0.33 total=9356562\nfull avg10=0.09 avg60=0 total=8000000\n";
        let expected =
            [ReadingValue::counter("some_seconds", 9.356562), ReadingValue::counter("full_seconds", 8.0)];
        assert_eq!(values(text), expected);
        assert_eq!(values("nonsense"), []);
    }
}
