//! What the network adapters of this host carry: storage behind a network (NFS, iSCSI, NVMe over TCP) and databases on other hosts
//! are no faster than these.

use std::path::Path;

use iolite_model::ReadingValue;

use crate::probe::{HeldFile, Probe, ProbeError, Subject};

/// Columns of a line (proc_pid_net(5)): the first eight are of what was received, the others of what was sent.
const COLUMNS: usize = 16;

/// Reads the counters of network adapters; subjects are their names.
#[derive(Debug)]
pub(crate) struct Network {
    file: HeldFile,
    /// Adapters that are devices: neither the loopback nor those of containers.
    adapters: Vec<String>,
}

impl Network {
    /// Of this host; `None` where it has no adapter.
    pub(crate) fn open() -> Option<Network> {
        let file = HeldFile::open("/proc/self/net/dev").ok()?;
        let adapters = adapters(Path::new("/sys/class/net"));
        (!adapters.is_empty()).then_some(Network { file, adapters })
    }
}

impl Probe for Network {
    fn name(&self) -> &'static str {
        "network"
    }

    fn read(&mut self) -> Result<Vec<Subject>, ProbeError> {
        Ok(subjects(self.file.read()?, &self.adapters))
    }
}

/// The adapters in `folder` that a device is behind.
fn adapters(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let devices = entries.filter(|entry| entry.path().join("device").exists());
    devices.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// Lines such as `eth0: 1296 12 0 0 0 0 0 0 5112 60 0 0 0 0 0 0`. An adapter that has gone has no subject.
fn subjects(text: &str, adapters: &[String]) -> Vec<Subject> {
    let subject = |line: &str| {
        let (name, counts) = line.split_once(':')?;
        let name = name.trim();
        let counts: Vec<f64> = counts.split_whitespace().map_while(|count| count.parse().ok()).collect();
        if counts.len() < COLUMNS || !adapters.iter().any(|adapter| adapter == name) {
            return None;
        }
        let counter = |name, column: usize| ReadingValue::counter(name, counts[column]);
        let values = vec![
            counter("received_bytes", 0),
            counter("received_packets", 1),
            counter("received_errors", 2),
            counter("received_dropped", 3),
            counter("sent_bytes", 8),
            counter("sent_packets", 9),
            counter("sent_errors", 10),
            counter("sent_dropped", 11),
        ];
        Some(Subject { name: name.to_owned(), values })
    };
    text.lines().filter_map(subject).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 99 9 0 0 0 0 0 0 99 9 0 0 0 0 0 0
  eth0: 1296 12 3 4 0 0 0 7 5112 60 1 2 0 0 0 0
  eth1: 1 2 3
";

    #[test]
    fn counters_of_adapters_are_read() {
        let folder = tempfile::tempdir().unwrap();
        for path in ["eth0/device", "eth1/device", "lo"] {
            std::fs::create_dir_all(folder.path().join(path)).unwrap();
        }
        let mut adapters = adapters(folder.path());
        adapters.sort();
        assert_eq!(adapters, ["eth0", "eth1"]);
        let found = subjects(TEXT, &adapters);
        let [eth0] = &found[..] else { panic!("{found:?}") };
        let values: Vec<f64> = eth0.values.iter().map(|value| value.value).collect();
        assert_eq!(
            (eth0.name.as_str(), &values[..]),
            ("eth0", &[1296.0, 12.0, 3.0, 4.0, 5112.0, 60.0, 1.0, 2.0][..])
        );
        assert_eq!(subjects("nonsense", &adapters), []);
    }
}
