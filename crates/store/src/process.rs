//! Whether the process that measures a run is still there.

use std::fs;
use std::os::unix::fs::MetadataExt;

use iolite_model::RunId;

/// An unfinished run and the process that measures it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measuring {
    /// The run.
    pub run: RunId,
    /// Name of the machine it runs on.
    pub host: String,
    /// Number of the process.
    pub process: u32,
    /// When the process started, in clock ticks since boot (proc_pid_stat(5), field 22): distinguishes it from a later process
    /// of the same number. `None` where it could not be read.
    pub start_ticks: Option<u64>,
    /// The kernel's random id of the boot that the ticks count from.
    pub boot: Option<String>,
    /// The pid namespace that the number belongs to (pid_namespaces(7)): containers on a host share its boot, but not its numbers.
    pub namespace: Option<u64>,
}

impl Measuring {
    /// Whether the process certainly measures on this machine: same host, same boot, same numbers, same start. That of a number
    /// alone is not enough to send it a signal.
    pub fn is_here(&self) -> bool {
        let known = |mine: Option<String>, stored: Option<&String>| mine.is_some() && mine.as_ref() == stored;
        known(host(), Some(&self.host))
            && known(boot(), self.boot.as_ref())
            && namespace() == self.namespace
            && self.start_ticks.is_some()
            && start_ticks(self.process) == self.start_ticks
    }

    /// Whether it is not known here if the process is there: it runs, or ran, on another machine (a home directory may be shared),
    /// or in another container.
    pub fn is_elsewhere(&self) -> bool {
        let differ = |one: Option<u64>, other: Option<u64>| one.is_some() && other.is_some() && one != other;
        let same_boot = self.boot.is_some() && self.boot == boot();
        match same_boot {
            true if self.namespace.is_some() => differ(namespace(), self.namespace),
            _ => host().is_some_and(|host| host != self.host),
        }
    }

    /// Whether the process still measures, as far as this machine knows; what is [elsewhere](Measuring::is_elsewhere) counts as
    /// alive.
    pub fn is_alive(&self) -> bool {
        if self.is_elsewhere() {
            return true;
        }
        if self.boot.is_some() && self.boot != boot() {
            return false;
        }
        match (start_ticks(self.process), self.start_ticks) {
            (Some(found), Some(stored)) => found == stored,
            (found, _) => found.is_some(),
        }
    }
}

/// Start of a running process in clock ticks since boot; `None` when there is no such process or it is a zombie.
pub(crate) fn start_ticks(process: u32) -> Option<u64> {
    parse_start_ticks(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
}

/// The kernel's random id of this boot.
pub(crate) fn boot() -> Option<String> {
    Some(fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned())
}

/// The pid namespace of this process.
pub(crate) fn namespace() -> Option<u64> {
    fs::metadata("/proc/self/ns/pid").ok().map(|namespace| namespace.ino())
}

pub(crate) fn host() -> Option<String> {
    Some(fs::read_to_string("/proc/sys/kernel/hostname").ok()?.trim().to_owned())
}

/// Field 22 of proc_pid_stat(5). Field 2 is the program's name in parentheses and may itself hold blanks and
/// parentheses, so the fields are counted from the last one that closes.
fn parse_start_ticks(stat: &str) -> Option<u64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    // A killed process whose parent has not asked for its end yet measures nothing.
    if matches!(state, "Z" | "X" | "x") { None } else { fields.nth(18)?.parse().ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn this_process() -> Measuring {
        let process = std::process::id();
        Measuring {
            run: RunId("r".into()),
            host: host().unwrap(),
            process,
            start_ticks: start_ticks(process),
            boot: boot(),
            namespace: namespace(),
        }
    }

    #[test]
    fn the_start_is_found_behind_awkward_names_and_zombies_are_gone() {
        let stat = |state| {
            format!(
                "42 (a) b) {state} 1 42 42 0 -1 4194560 1 0 0 0 3 4 0 0 20 0 1 0 987654 1000 200 1844 1 1"
            )
        };
        assert_eq!(parse_start_ticks(&stat("S")), Some(987_654));
        assert_eq!(parse_start_ticks(&stat("Z")), None);
        assert_eq!(parse_start_ticks("nonsense"), None);
    }

    #[test]
    fn a_process_is_known_by_its_start_and_boot_not_only_by_its_number() {
        let me = this_process();
        assert!(me.start_ticks.is_some() && me.is_alive() && me.is_here());
        let reused = Measuring { start_ticks: me.start_ticks.map(|ticks| ticks - 1), ..me.clone() };
        assert!(!reused.is_alive());
        let rebooted = Measuring { boot: Some("another".into()), ..me.clone() };
        assert!(!rebooted.is_alive());
        let elsewhere = Measuring { host: "another".into(), ..rebooted.clone() };
        assert!(elsewhere.is_alive());
        let unknown_start = Measuring { start_ticks: None, boot: None, ..me.clone() };
        assert!(unknown_start.is_alive());
        // Alive perhaps, but nobody to send a signal to.
        for uncertain in [&reused, &rebooted, &elsewhere, &unknown_start] {
            assert!(!uncertain.is_here());
        }
        let unknown_boot = Measuring { boot: None, ..me.clone() };
        assert!(unknown_boot.is_alive() && !unknown_boot.is_here());
        // In a container on this host; and on this host under another name.
        let container = Measuring { namespace: Some(1), process: u32::MAX, ..me.clone() };
        assert!(container.is_elsewhere() && container.is_alive() && !container.is_here());
        let renamed = Measuring { host: "another".into(), process: u32::MAX, ..me.clone() };
        assert!(!renamed.is_elsewhere() && !renamed.is_alive());
        let older = Measuring { host: "another".into(), namespace: None, process: u32::MAX, ..me.clone() };
        assert!(older.is_elsewhere() && older.is_alive());
        // Above the kernel's largest process number (2^22).
        assert!(!Measuring { process: u32::MAX, start_ticks: None, ..me }.is_alive());
    }
}
