//! Control groups for I/O (cgroups(7)): the hierarchy of the controller blkio (version 1) or io (version 2).

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a group is waited for that threads are just leaving: a thread that was joined may still be in it.
const PATIENCE: Duration = Duration::from_secs(2);

/// A hierarchy that controls I/O.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Hierarchy {
    /// Of the controller blkio, where each thread can have its own group.
    V1(PathBuf),
    /// The unified one, where all threads of a process are in the same group.
    V2(PathBuf),
}

/// A control group that is in use. What was created for it is removed when this is dropped.
#[derive(Debug)]
pub struct ControlGroup {
    hierarchy: Hierarchy,
    /// Directories that were created, the outermost first.
    created: Vec<PathBuf>,
    /// Group that this process was in, where the whole process changes its group.
    original: Option<PathBuf>,
}

impl ControlGroup {
    /// Creates the group of this name, unless it exists, and sets its weight if one is given (100 to 1000).
    ///
    /// # Errors
    /// No hierarchy controls I/O, the name is not one of a group, the user may not create it, or there is nothing to set a
    /// weight with.
    pub fn create(name: &str, weight: Option<u32>) -> io::Result<ControlGroup> {
        let hierarchy = Hierarchy::of_system()?;
        let path = hierarchy.group(name)?;
        let original = match &hierarchy {
            Hierarchy::V1(_) => None,
            Hierarchy::V2(root) => Some(own_group(root)?),
        };
        let mut group = ControlGroup { hierarchy, created: Vec::new(), original };
        let missing = path.ancestors().take_while(|directory| !directory.exists());
        let missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
        for directory in missing.into_iter().rev() {
            fs::create_dir(&directory).map_err(|error| failed("create", &directory, &error))?;
            group.created.push(directory);
        }
        if let Some(weight) = weight {
            group.hierarchy.set_weight(&path, weight)?;
        }
        Ok(group)
    }

    /// Leaves the directories of the group when this is dropped.
    pub fn keep(&mut self) {
        self.created.clear();
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        if let Some(original) = &self.original {
            // Where that fails, the group stays as well, which shows it.
            let _ = fs::write(original.join("cgroup.procs"), "0");
        }
        for directory in self.created.iter().rev() {
            let started = Instant::now();
            while let Err(error) = fs::remove_dir(directory)
                && error.kind() == io::ErrorKind::ResourceBusy
                && started.elapsed() < PATIENCE
            {
                std::thread::yield_now();
            }
        }
    }
}

/// Puts the calling thread into a group that exists; with version 2 the whole process.
///
/// # Errors
/// No hierarchy controls I/O, there is no such group, or the user may not.
pub fn join(name: &str) -> io::Result<()> {
    let hierarchy = Hierarchy::of_system()?;
    let members = match &hierarchy {
        Hierarchy::V1(_) => "tasks",
        Hierarchy::V2(_) => "cgroup.procs",
    };
    let path = hierarchy.group(name)?.join(members);
    // 0 stands for the one who writes.
    fs::write(&path, "0").map_err(|error| failed("write to", &path, &error))
}

impl Hierarchy {
    fn of_system() -> io::Result<Hierarchy> {
        let mounts = fs::read_to_string("/proc/self/mounts")?;
        let controls_io = |root: &Path| {
            let controllers = fs::read_to_string(root.join("cgroup.controllers")).unwrap_or_default();
            controllers.split_whitespace().any(|controller| controller == "io")
        };
        Hierarchy::among(&mounts, controls_io).ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::Unsupported,
                "no control groups for I/O are mounted: mount the controller blkio (mount -t cgroup -o blkio none DIRECTORY), \
                 or version 2 with the controller io",
            )
        })
    }

    /// The hierarchy among mounted file systems.
    fn among(mounts: &str, controls_io: impl Fn(&Path) -> bool) -> Option<Hierarchy> {
        let mut found = None;
        for line in mounts.lines() {
            let mut fields = line.split(' ');
            let (Some(_), Some(at), Some(kind), Some(options)) =
                (fields.next(), fields.next(), fields.next(), fields.next())
            else {
                continue;
            };
            match kind {
                "cgroup" if options.split(',').any(|option| option == "blkio") => {
                    return Some(Hierarchy::V1(at.into()));
                }
                "cgroup2" if controls_io(Path::new(at)) => found = Some(Hierarchy::V2(at.into())),
                _ => {}
            }
        }
        found
    }

    /// The directory of a group.
    fn group(&self, name: &str) -> io::Result<PathBuf> {
        let (Hierarchy::V1(root) | Hierarchy::V2(root)) = self;
        let parts: Vec<Component<'_>> = Path::new(name.trim_start_matches('/')).components().collect();
        if parts.is_empty() || !parts.iter().all(|part| matches!(part, Component::Normal(_))) {
            let reason =
                format!("`{name}` is not the name of a control group: specify a name, as in `group/jobs`");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        }
        Ok(parts.into_iter().fold(root.clone(), |path, part| path.join(part)))
    }

    fn set_weight(&self, group: &Path, weight: u32) -> io::Result<()> {
        let files = match self {
            Hierarchy::V1(_) => ["blkio.weight", "blkio.bfq.weight"],
            Hierarchy::V2(_) => ["io.weight", "io.bfq.weight"],
        };
        let Some(path) = files.iter().map(|file| group.join(file)).find(|path| path.exists()) else {
            let reason = format!(
                "the kernel has no weights of control groups ({} has none of {}): remove cgroup_weight, or switch the device to \
                 an I/O scheduler with weights (bfq)",
                group.display(),
                files.join(", ")
            );
            return Err(io::Error::new(io::ErrorKind::Unsupported, reason));
        };
        fs::write(&path, weight.to_string()).map_err(|error| failed("write to", &path, &error))
    }
}

/// Directory of the group that this process is in, in the unified hierarchy.
fn own_group(root: &Path) -> io::Result<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup")?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
    Ok(root.join(own))
}

fn failed(action: &str, path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot {action} {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: &str = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n\
                        cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\ncgroup /sys/fs/cgroup/blkio cgroup rw,blkio 0 0\n";

    #[test]
    fn the_hierarchy_is_that_of_the_controller() {
        let v1 = Hierarchy::V1("/sys/fs/cgroup/blkio".into());
        assert_eq!(Hierarchy::among(BOTH, |_| false), Some(v1.clone()));
        assert_eq!(Hierarchy::among(BOTH, |_| true), Some(v1));
        let unified = "cgroup2 /sys/fs/cgroup cgroup2 rw,nsdelegate 0 0\n";
        assert_eq!(Hierarchy::among(unified, |_| true), Some(Hierarchy::V2("/sys/fs/cgroup".into())));
        assert_eq!(Hierarchy::among(unified, |_| false), None);
        assert_eq!(Hierarchy::among("", |_| true), None);
    }

    #[test]
    fn a_group_lies_within_the_hierarchy() {
        let hierarchy = Hierarchy::V1("/c".into());
        assert_eq!(hierarchy.group("a/b").unwrap(), Path::new("/c/a/b"));
        assert_eq!(hierarchy.group("/a").unwrap(), Path::new("/c/a"));
        for name in ["", "/", "..", "a/../../b", "."] {
            assert!(hierarchy.group(name).unwrap_err().to_string().contains("not the name"), "{name}");
        }
    }

    #[test]
    fn a_weight_goes_where_the_kernel_has_it() {
        let directory = tempfile::tempdir().unwrap();
        let v1 = Hierarchy::V1(directory.path().into());
        assert!(v1.set_weight(directory.path(), 300).unwrap_err().to_string().contains("no weights"));
        let bfq = directory.path().join("blkio.bfq.weight");
        fs::write(&bfq, "").unwrap();
        v1.set_weight(directory.path(), 300).unwrap();
        assert_eq!(fs::read_to_string(bfq).unwrap(), "300");
    }

    /// Needs the right to create groups.
    #[test]
    fn a_thread_joins_a_group_that_is_removed_afterwards() {
        let name = format!("iolite-test-{}/jobs", std::process::id());
        let group = match ControlGroup::create(&name, None) {
            Ok(group) => group,
            Err(error) => return eprintln!("skipped: {error}"),
        };
        if matches!(group.hierarchy, Hierarchy::V2(_)) {
            return eprintln!("skipped: the whole process would change its group");
        }
        let own = std::thread::scope(|scope| {
            let joined = scope.spawn(|| {
                join(&name).unwrap();
                fs::read_to_string("/proc/thread-self/cgroup").unwrap()
            });
            joined.join().unwrap()
        });
        let of_io = own.lines().find(|line| line.contains("blkio")).unwrap();
        assert!(of_io.ends_with(&name), "{own}");
        let path = group.hierarchy.group(&name).unwrap();
        assert!(path.is_dir());
        drop(group);
        assert!(!path.exists() && !path.parent().unwrap().exists());
        assert!(join(&name).is_err());
    }
}
