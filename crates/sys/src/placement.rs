//! Where the calling thread runs and where its memory comes from: processors and NUMA nodes.

use std::fs;
use std::io::{self, ErrorKind};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

const NODES: &str = "/sys/devices/system/node";
const CPUS_ONLINE: &str = "/sys/devices/system/cpu/online";

/// Largest number in a list of the kernel's that is believed: CONFIG_NR_CPUS is at most 8192, CONFIG_NODES_SHIFT 10.
const LARGEST: usize = 65_535;

/// Parses the kernel's lists, as in `0-3,8,10-11`: the numbers in ascending order, each once. `None` where it is none. The
/// empty list is one: that of a node that has memory only.
pub fn parse_list(text: &str) -> Option<Vec<usize>> {
    let mut numbers = Vec::new();
    for part in text.trim().split(',').filter(|_| !text.trim().is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return None;
        }
        numbers.extend(first..=last);
    }
    numbers.sort_unstable();
    numbers.dedup();
    Some(numbers)
}

fn number(text: &str) -> Option<usize> {
    // Unlike `parse`, no sign.
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())?
        .filter(|&number| number <= LARGEST)
}

/// The reverse of [`parse_list`], for messages.
fn listed(numbers: &[usize]) -> String {
    numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
}

fn read_list(path: &str) -> io::Result<Vec<usize>> {
    let text = fs::read_to_string(path)?;
    parse_list(&text).ok_or_else(|| {
        io::Error::new(ErrorKind::InvalidData, format!("{path} is not a list: {}", text.trim()))
    })
}

/// The processors that the calling thread may run on.
///
/// # Errors
/// The kernel's: `InvalidInput` where there are more than 1024 processors.
pub fn cpus() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect())
}

/// The processors that are switched on.
///
/// # Errors
/// /sys can't be read.
pub fn cpus_online() -> io::Result<Vec<usize>> {
    read_list(CPUS_ONLINE)
}

/// Has the calling thread run on these processors only, from now on. On an error it runs where it did.
///
/// # Errors
/// `InvalidInput` for no processors or one that is not there; `PermissionDenied` for one that this process may not use.
pub fn run_on(cpus: &[usize]) -> io::Result<()> {
    let invalid = |text: String| io::Error::new(ErrorKind::InvalidInput, text);
    if cpus.is_empty() {
        return Err(invalid("no processor to run on: name at least one".to_owned()));
    }
    let online = cpus_online()?;
    let missing: Vec<_> =
        cpus.iter().copied().filter(|&cpu| cpu >= CpuSet::MAX_CPU || !online.contains(&cpu)).collect();
    if !missing.is_empty() {
        let (missing, online) = (listed(&missing), listed(&online));
        return Err(invalid(format!("there is no processor {missing} here: choose among {online}")));
    }
    let mut wanted = CpuSet::new();
    cpus.iter().for_each(|&cpu| wanted.set(cpu));
    let before = sched_getaffinity(None)?;
    let set = sched_setaffinity(None, &wanted);
    // Of what it was given the kernel takes what the control group allows, without a word.
    let got = sched_getaffinity(None)?;
    if set.is_ok() && got == wanted {
        return Ok(());
    }
    sched_setaffinity(None, &before)?;
    let refused: Vec<_> = cpus.iter().copied().filter(|&cpu| set.is_err() || !got.is_set(cpu)).collect();
    let text = format!(
        "this process may not run on processor {}: a control group (cpuset) or container excludes it; use one of {} or change \
         the cpuset",
        listed(&refused),
        listed(&self::cpus()?)
    );
    Err(io::Error::new(ErrorKind::PermissionDenied, text))
}

/// The NUMA nodes that are switched on.
///
/// # Errors
/// `Unsupported` where the kernel has no NUMA.
pub fn nodes() -> io::Result<Vec<usize>> {
    read_list(&format!("{NODES}/online")).map_err(|error| match error.kind() {
        ErrorKind::NotFound => without_numa(),
        _ => error,
    })
}

fn without_numa() -> io::Error {
    let text = "the kernel is built without NUMA, or hides it: remove the node";
    io::Error::new(ErrorKind::Unsupported, text)
}

fn check_node(node: usize) -> io::Result<()> {
    let nodes = nodes()?;
    if nodes.contains(&node) {
        return Ok(());
    }
    let text = format!("there is no NUMA node {node} here: choose among {}", listed(&nodes));
    Err(io::Error::new(ErrorKind::InvalidInput, text))
}

/// The processors of a NUMA node; none for a node that has memory only.
///
/// # Errors
/// `InvalidInput` where there is no such node, `Unsupported` where the kernel has no NUMA.
pub fn cpus_of_node(node: usize) -> io::Result<Vec<usize>> {
    check_node(node)?;
    read_list(&format!("{NODES}/node{node}/cpulist"))
}

/// How memory is taken from NUMA nodes (set_mempolicy(2)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// From the one node as long as it has some (MPOL_PREFERRED).
    Prefer,
    /// From the nodes and only from them (MPOL_BIND).
    Bind,
    /// From the nodes in turns, page by page (MPOL_INTERLEAVE).
    Interleave,
}

/// Has memory that the calling thread touches for the first time come from these NUMA nodes, from now on.
///
/// # Errors
/// `InvalidInput` for no nodes, where there is no such node or none of them has memory, `Unsupported` where the kernel has no
/// NUMA, `PermissionDenied` where a container forbids it.
pub fn take_memory(policy: Memory, from: &[usize]) -> io::Result<()> {
    const BITS: usize = libc::c_ulong::BITS as usize;
    from.iter().try_for_each(|&node| check_node(node))?;
    let Some(last) = from.iter().max() else {
        return Err(io::Error::new(
            ErrorKind::InvalidInput,
            "no NUMA node to take memory from: name at least one",
        ));
    };
    let mut mask: Vec<libc::c_ulong> = vec![0; last / BITS + 1];
    from.iter().for_each(|node| mask[node / BITS] |= 1 << (node % BITS));
    // One more than there are bits: the kernel subtracts one (mm/mempolicy.c, get_nodes).
    let bits = (mask.len() * BITS + 1) as libc::c_ulong;
    let mode = match policy {
        Memory::Prefer => libc::MPOL_PREFERRED,
        Memory::Bind => libc::MPOL_BIND,
        Memory::Interleave => libc::MPOL_INTERLEAVE,
    };
    // SAFETY: the kernel reads `bits` - 1 bits from the mask, which has as many and lives until the call returns.
    let set =
        unsafe { libc::syscall(libc::SYS_set_mempolicy, libc::c_long::from(mode), mask.as_ptr(), bits) };
    if set == 0 {
        return Ok(());
    }
    Err(refused_memory(io::Error::last_os_error(), &listed(from)))
}

fn refused_memory(error: io::Error, nodes: &str) -> io::Error {
    let (kind, text) = match error.raw_os_error() {
        Some(libc::ENOSYS) => return without_numa(),
        Some(libc::EINVAL) => (
            ErrorKind::InvalidInput,
            format!(
                "NUMA node {nodes} has no memory that this process may use: choose another or change its cpuset"
            ),
        ),
        Some(libc::EPERM) => (
            ErrorKind::PermissionDenied,
            format!(
                "memory cannot be allocated from NUMA node {nodes}: the seccomp filter of the container forbids set_mempolicy; \
                 allow it (usually with CAP_SYS_NICE) or remove the node"
            ),
        ),
        _ => return error,
    };
    io::Error::new(kind, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_the_kernels() {
        for (text, expected) in [
            ("0-3,8,10-11\n", Some(vec![0, 1, 2, 3, 8, 10, 11])),
            ("0\n", Some(vec![0])),
            ("\n", Some(vec![])),
            ("", Some(vec![])),
            ("3,1-2,2", Some(vec![1, 2, 3])),
            ("65535", Some(vec![65_535])),
            ("3-1", None),
            ("0-4294967295", None),
            ("65536", None),
            ("a", None),
            ("1,", None),
            ("-1", None),
            ("+1", None),
            ("1-2-3", None),
            ("1 2", None),
            ("99999999999999999999999", None),
        ] {
            assert_eq!(parse_list(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_thread_runs_where_it_is_placed() {
        let before = cpus().unwrap();
        assert!(!before.is_empty());
        std::thread::spawn(move || {
            let last = before[before.len() - 1];
            run_on(&[last]).unwrap();
            assert_eq!(cpus().unwrap(), [last]);
            assert_eq!(rustix::thread::sched_getcpu(), last);
            // A thread may widen again what it has narrowed.
            run_on(&before).unwrap();
            assert_eq!(cpus().unwrap(), before);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn processors_that_are_not_there_are_named() {
        let before = cpus().unwrap();
        for cpu in [1023, 1024, usize::MAX] {
            let error = run_on(&[before[0], cpu]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
            assert!(error.to_string().contains(&format!("no processor {cpu} here")), "{error}");
        }
        assert_eq!(run_on(&[]).unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(cpus().unwrap(), before);
    }

    #[test]
    fn memory_comes_from_a_node() {
        let nodes = match nodes() {
            Ok(nodes) => nodes,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Unsupported);
                eprintln!("skipped: {error}");
                return;
            }
        };
        let mut of_all: Vec<_> = nodes.iter().flat_map(|&node| cpus_of_node(node).unwrap()).collect();
        of_all.sort_unstable();
        assert_eq!(of_all, cpus_online().unwrap());
        std::thread::spawn(move || {
            let last = nodes[nodes.len() - 1];
            let range = if last > 0 { format!("0-{last}") } else { "0".to_owned() };
            for (policy, from, reported) in [
                (Memory::Bind, &nodes[..1], "bind:0".to_owned()),
                (Memory::Prefer, &nodes[..1], "prefer:0".to_owned()),
                (Memory::Interleave, &nodes, format!("interleave:{range}")),
            ] {
                if let Err(error) = take_memory(policy, from) {
                    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
                    eprintln!("skipped: {error}");
                    return;
                }
                let maps = fs::read_to_string("/proc/thread-self/numa_maps").unwrap_or_default();
                // What a preference is called has changed with Linux 5.15.
                let reported = if policy == Memory::Prefer { "prefer" } else { &reported };
                assert!(maps.is_empty() || nodes[0] != 0 || maps.contains(reported), "{reported}: {maps}");
            }
        })
        .join()
        .unwrap();
    }

    #[test]
    fn nodes_that_are_not_there_are_named() {
        for node in [1023, 1 << 20, usize::MAX] {
            let errors =
                [take_memory(Memory::Bind, &[0, node]).unwrap_err(), cpus_of_node(node).unwrap_err()];
            for error in errors {
                assert!(matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported), "{error}");
            }
        }
    }
}
