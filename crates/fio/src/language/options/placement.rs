//! CPUs, memory nodes, priorities, users.

use iolite_model::{BackendKind, Bytes, IoClass, IoPriority, JobTask, MemoryPolicy};

use crate::language::error::{OptionError, Result};
use crate::language::options::Spec;
use crate::language::options::entry::{CPUS, MAX, choice, flag, integer, put, special, text};
use crate::language::options::option::{Form, Opt};
use crate::language::thread::{ControlGroup, Thread, ThreadIndex};
use crate::language::value::OptionValue;

/// CPUs, memory nodes, priorities, users.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Placement {
    /// `cpus_allowed`, `cpumask`: CPUs that the job may run on; empty for all.
    pub cpus: Vec<u32>,
    /// `cpus_allowed_policy=split`: each clone one of them.
    pub split: bool,
    /// `numa_cpu_nodes`: nodes whose CPUs the job may run on; empty for all.
    pub nodes: Vec<u32>,
    /// `numa_mem_policy`.
    pub memory: MemoryPolicy,
    /// `nice`; 0 for as it is.
    pub nice: i8,
    /// `prio`.
    pub level: Option<u8>,
    /// `prioclass`; 0 for none.
    pub class: Option<u8>,
    /// `priohint`; 0 for none.
    pub hint: u16,
    /// `uid`.
    pub user: Option<u32>,
    /// `gid`.
    pub group: Option<u32>,
    /// `comm`: the name that the system shows.
    pub comm: Option<String>,
    /// `ioscheduler`.
    pub scheduler: Option<String>,
    /// `cgroup`: control group.
    pub control_group: Option<String>,
    /// `cgroup_weight`.
    pub control_weight: Option<u32>,
    /// `cgroup_nodelete`: the group stays after the run.
    pub keeps_group: bool,
}

impl Placement {
    /// Changes `thread` to what these settings say.
    pub(crate) fn lower(&self, spec: &Spec, place: ThreadIndex, thread: &mut Thread) -> Result {
        let one = |cpus: &[u32]| cpus.get(place.number as usize % cpus.len().max(1)).copied();
        let cpus = match one(&self.cpus) {
            Some(cpu) if self.split => vec![cpu],
            _ => self.cpus.clone(),
        };
        let of_group =
            [("cgroup_weight", self.control_weight.is_some()), ("cgroup_nodelete", self.keeps_group)];
        if self.control_group.is_none()
            && let Some((name, _)) = of_group.into_iter().find(|(_, given)| *given)
        {
            return Err(OptionError::refused(
                format!("{name} needs cgroup"),
                format!(
                    "add cgroup=NAME, or remove {name} (or move it from [global] to the jobs with a cgroup)"
                ),
            ));
        }
        thread.scheduler = self.scheduler.clone().filter(|_| thread.has_files());
        thread.control_group = self.control_group.as_ref().map(|name| ControlGroup {
            name: name.clone(),
            weight: self.control_weight,
            keep: self.keeps_group,
        });
        match &mut thread.task {
            JobTask::Io(task) => {
                task.placement = iolite_model::Placement {
                    processes: false,
                    cpus,
                    nodes: self.nodes.clone(),
                    one_each: false,
                    memory: self.memory.clone(),
                    nice: (self.nice != 0).then_some(self.nice),
                    io_priority: self.io_priority(),
                    user: self.user,
                    group: self.group,
                    thread_name: self.comm.clone(),
                    locked_memory: (spec.buffers.locked > 0).then_some(Bytes(spec.buffers.locked)),
                    control_group: self.control_group.clone(),
                    huge_pages: spec.buffers.huge.then_some(Bytes(spec.buffers.huge_page)),
                    huge_mapping: spec.engine.huge_mapping && task.backend == BackendKind::Mmap,
                };
                Ok(())
            }
            JobTask::Metadata(_) if *self == Placement::default() => Ok(()),
            JobTask::Metadata(_) => Err(OptionError::refused(
                "cpus_allowed, cpumask, numa_cpu_nodes, numa_mem_policy, nice, prio, prioclass, \
                 uid, gid, comm, cgroup and ioscheduler are not for metadata engines",
                "remove them, or run under taskset, numactl, nice, ionice or setpriv",
            )),
        }
    }

    /// The priority of the job's I/O. A level alone is one of the class best effort.
    fn io_priority(&self) -> Option<IoPriority> {
        let given = self.class.filter(|class| *class > 0);
        let class = class(given.or(self.level.map(|_| BEST_EFFORT))?)?;
        Some(IoPriority { class, level: self.level.unwrap_or(0), hint: self.hint })
    }
}

const BEST_EFFORT: u8 = 2;

/// A class by its number; 0 is none.
pub(crate) fn class(number: u8) -> Option<IoClass> {
    match number {
        1 => Some(IoClass::RealTime),
        BEST_EFFORT => Some(IoClass::BestEffort),
        3 => Some(IoClass::Idle),
        _ => None,
    }
}

/// The most that a list may name: more than Linux supports.
const CPU_MAX: u32 = 65_535;

/// Numbers and ranges with commas between them, such as `0,5,8-15`.
///
/// # Errors
/// It is no such list.
pub(crate) fn list(text: &str) -> Result<Vec<u32>> {
    let number = |text: &str| {
        let number = text.trim().parse::<u32>().ok().filter(|number| *number <= CPU_MAX);
        number.ok_or_else(|| {
            OptionError::refused(
                format!("`{text}` is not a number"),
                "specify numbers and ranges, such as 0,5,8-15",
            )
        })
    };
    let mut numbers = Vec::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (first, last) = match part.split_once('-') {
            Some((first, last)) => (number(first)?, number(last)?),
            None => (number(part)?, number(part)?),
        };
        numbers.extend(first.min(last)..=first.max(last));
    }
    numbers.sort_unstable();
    numbers.dedup();
    if numbers.is_empty() {
        Err(OptionError::refused("it is empty", "specify numbers and ranges, such as 0,5,8-15"))
    } else {
        Ok(numbers)
    }
}

/// Nodes; empty for all.
fn nodes(text: &str) -> Result<Vec<u32>> {
    if text == "all" { Ok(Vec::new()) } else { list(text) }
}

fn memory(given: &OptionValue<'_>) -> Result<MemoryPolicy> {
    let text = given.text()?;
    let (mode, of) = text.split_once(':').unwrap_or((text, ""));
    match mode {
        "default" | "local" => Ok(MemoryPolicy::Default),
        "bind" | "prefer" | "interleave" if of.is_empty() => {
            Err(OptionError::refused(format!("`{mode}` needs its nodes"), format!("{mode}:0")))
        }
        "bind" => nodes(of).map(MemoryPolicy::Bind),
        "interleave" => nodes(of).map(MemoryPolicy::Interleave),
        "prefer" => match nodes(of)?[..] {
            [node] => Ok(MemoryPolicy::Prefer(node)),
            _ => Err(OptionError::refused("`prefer` takes one node", "specify one, as in prefer:0")),
        },
        _ => Err(OptionError::unknown_word(mode, ["default", "local", "prefer", "bind", "interleave"])),
    }
}

const OPENED: &str = "files are created and opened as the user who started the program";

/// The options.
pub const OPTIONS: &[Opt] = &[
    special("cpus_allowed", CPUS, |s, g| put(&mut s.placement.cpus, list(g.text()?)))
        .help("CPUs that the job may run on."),
    integer("cpumask", 1, i64::MAX, |s, mask| {
        s.placement.cpus = (0..63).filter(|cpu| mask >> cpu & 1 == 1).collect();
    })
    .help("CPUs that the job may run on, as bits of a number: 34 for CPUs 1 and 5."),
    choice!("cpus_allowed_policy", &[("shared", false), ("split", true)], |s, v| s.placement.split = v)
        .default("shared")
        .help("Whether all clones may use all of the CPUs, or each has one, in turns."),
    special(
        "numa_cpu_nodes",
        Form::Special("numbers and ranges with commas between them, or all"),
        |s, g| put(&mut s.placement.nodes, nodes(g.text()?)),
    )
    .help("NUMA nodes whose CPUs the job may run on."),
    special(
        "numa_mem_policy",
        Form::Special("default, local, prefer:NODE, bind:NODES or interleave:NODES"),
        |s, g| put(&mut s.placement.memory, memory(g)),
    )
    .default("default")
    .help("NUMA nodes from which the memory of the job is allocated."),
    integer("nice", -20, 19, |s, value| s.placement.nice = value as i8)
        .default("0")
        .help("The job's CPU priority, from -20, the highest, to 19."),
    integer("prio", 0, 7, |s, value| s.placement.level = Some(value as u8))
        .help("The job's I/O priority within its class, from 0, the highest, to 7."),
    integer("prioclass", 0, 3, |s, value| s.placement.class = Some(value as u8))
        .help("The job's class of I/O priorities: 1 real time, 2 best effort, 3 idle; 0 for none."),
    integer("priohint", 0, 1023, |s, value| s.placement.hint = value as u16)
        .default("0")
        .help("Hint for the I/O priority set by prio or prioclass; the kernel must support it."),
    integer("uid", 0, MAX, |s, id| s.placement.user = Some(id as u32))
        .help("User that the job's threads run as, by number.")
        .differs(OPENED),
    integer("gid", 0, MAX, |s, id| s.placement.group = Some(id as u32))
        .help("Group that the job's threads run as, by number.")
        .differs(OPENED),
    text("comm", |s, text| s.placement.comm = Some(text.to_owned()))
        .help("Name of the job's threads that ps(1) and top(1) show; up to 15 bytes of it."),
    text("cgroup", |s, text| s.placement.control_group = Some(text.to_owned()))
        .help(
            "Control group that the job runs in, created if it does not exist. Needs the controller blkio, \
             or io with version 2, and the right to create groups.",
        )
        .bounded("with control groups of version 2, which have no groups for threads, for all jobs of a run"),
    integer("cgroup_weight", 100, 1000, |s, value| s.placement.control_weight = Some(value as u32)).help(
        "Weight of the job's control group in I/O; needs cgroup, and the kernel must have such weights (the \
         I/O scheduler bfq does).",
    ),
    flag("cgroup_nodelete", |s, on| s.placement.keeps_group = on)
        .help("Keeps a control group that was created for the job; needs cgroup."),
    text("ioscheduler", |s, text| s.placement.scheduler = Some(text.to_owned()))
        .help("I/O scheduler that the devices beneath the files are switched to before the job.")
        .bounded("the one from before is restored after the run"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::options::option::samples::{io, lowered, task};
    use iolite_model::{MetadataTask, Mix};

    fn placed(settings: &[(&str, &str)]) -> Result<iolite_model::Placement, OptionError> {
        io(settings, task(Mix::Read)).map(|(_, task)| task.placement)
    }

    #[test]
    fn cpus_are_lists_or_bits() {
        for (setting, cpus) in [
            (("cpus_allowed", "0,5,8-10"), vec![0, 5, 8, 9, 10]),
            (("cpus_allowed", "3-1, 2"), vec![1, 2, 3]),
            (("cpumask", "34"), vec![1, 5]),
            (("cpumask", "0x3"), vec![0, 1]),
        ] {
            assert_eq!(placed(&[setting]).unwrap().cpus, cpus, "{setting:?}");
        }
        for text in [",", "a", "1-", "-1", "0-70000", "1;2"] {
            assert!(placed(&[("cpus_allowed", text)]).is_err(), "{text}");
        }
    }

    /// The thread of the samples is the fourth.
    #[test]
    fn a_clone_gets_one_of_the_cpus_that_are_split() {
        let split = ("cpus_allowed_policy", "split");
        assert_eq!(placed(&[("cpus_allowed", "0,5,8"), split]).unwrap().cpus, [0]);
        assert_eq!(placed(&[("cpus_allowed", "4-7"), split]).unwrap().cpus, [7]);
        assert_eq!(placed(&[split]).unwrap(), iolite_model::Placement::default());
    }

    #[test]
    fn nodes_are_for_cpus_and_for_memory() {
        let found = placed(&[("numa_cpu_nodes", "0-1"), ("numa_mem_policy", "bind:1")]).unwrap();
        assert_eq!((found.nodes, found.memory), (vec![0, 1], MemoryPolicy::Bind(vec![1])));
        for (policy, memory) in [
            ("default", MemoryPolicy::Default),
            ("local", MemoryPolicy::Default),
            ("prefer:2", MemoryPolicy::Prefer(2)),
            ("interleave:0-2", MemoryPolicy::Interleave(vec![0, 1, 2])),
            ("bind:all", MemoryPolicy::Bind(Vec::new())),
        ] {
            assert_eq!(placed(&[("numa_mem_policy", policy)]).unwrap().memory, memory, "{policy}");
        }
        assert_eq!(placed(&[("numa_cpu_nodes", "all")]).unwrap(), iolite_model::Placement::default());
        for policy in ["bind", "prefer:0-1", "spread:0", "interleave:"] {
            assert!(placed(&[("numa_mem_policy", policy)]).is_err(), "{policy}");
        }
    }

    /// As the logs of fio 3.33 report them.
    #[test]
    fn priorities_are_fios() {
        for (settings, packed) in [
            (&[("prio", "3")][..], Some(0x4003)),
            (&[("prio", "3"), ("prioclass", "2")], Some(0x4003)),
            (&[("prioclass", "1")], Some(0x2000)),
            (&[("prioclass", "3"), ("prio", "7")], Some(0x6007)),
            (&[("prioclass", "0"), ("prio", "7")], Some(0x4007)),
            (&[("prioclass", "0")], None),
            (&[], None),
        ] {
            let placed = placed(settings).unwrap();
            assert_eq!(placed.io_priority.map(IoPriority::packed), packed, "{settings:?}");
        }
        assert_eq!(placed(&[("nice", "-3")]).unwrap().nice, Some(-3));
        assert_eq!(placed(&[("nice", "0")]).unwrap().nice, None);
    }

    #[test]
    fn settings_of_a_control_group_need_one() {
        for setting in [("cgroup_weight", "300"), ("cgroup_nodelete", "1")] {
            let error = placed(&[setting]).unwrap_err().to_string();
            assert!(error.contains(&format!("{} needs cgroup", setting.0)), "{error}");
            let found = placed(&[setting, ("cgroup", "group/jobs")]).unwrap();
            assert_eq!(found.control_group.as_deref(), Some("group/jobs"));
        }
        assert!(placed(&[("cgroup_nodelete", "0")]).is_ok());
    }

    #[test]
    fn work_on_names_is_not_placed() {
        let names = || JobTask::Metadata(MetadataTask::default());
        assert!(lowered(&[], names()).is_ok());
        assert!(lowered(&[("cpus_allowed", "0")], names()).unwrap_err().to_string().contains("taskset"));
    }
}
