//! Control groups for I/O (cgroups(7)): the hierarchy of the controller blkio (version 1) or io (version 2).

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long a group is waited for that threads are just leaving: a thread that was joined may still be in it.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often it is tried meanwhile.
const RETRY: Duration = Duration::from_millis(5);

/// Groups of version 2 in use here, which take the process back to its own group when they are removed.
static RETURNS: AtomicUsize = AtomicUsize::new(0);

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
    /// Its directory.
    path: PathBuf,
    /// Directories that were created, the outermost first.
    created: Vec<PathBuf>,
    /// Groups that existed and whose children were given the controller io, the outermost first.
    enabled: Vec<PathBuf>,
    /// Group that this process was in, where the whole process changes its group.
    original: Option<PathBuf>,
}

impl ControlGroup {
    /// Creates the group of this name, unless it exists, and sets its weight if one is given (100 to 1000).
    ///
    /// # Errors
    /// No hierarchy controls I/O, the name is not one of a group, the user may not create it or give it the controller io, or there is
    /// nothing to set a weight with.
    pub fn create(name: &str, weight: Option<u32>) -> io::Result<ControlGroup> {
        ControlGroup::within(Hierarchy::of_system()?, name, weight)
    }

    fn within(hierarchy: Hierarchy, name: &str, weight: Option<u32>) -> io::Result<ControlGroup> {
        let path = hierarchy.group(name)?;
        let original = match &hierarchy {
            Hierarchy::V1(_) => None,
            Hierarchy::V2(root) => Some(own_group(root)?),
        };
        if original.is_some() {
            RETURNS.fetch_add(1, Ordering::Relaxed);
        }
        let (created, enabled) = (Vec::new(), Vec::new());
        let mut group = ControlGroup { hierarchy, path, created, enabled, original };
        group.make()?;
        if let Some(weight) = weight {
            group.hierarchy.set_weight(&group.path, weight)?;
        }
        Ok(group)
    }

    /// Creates what is missing, from the root down. In version 2 each group decides which controllers its children have.
    fn make(&mut self) -> io::Result<()> {
        let (Hierarchy::V1(root) | Hierarchy::V2(root)) = &self.hierarchy;
        let beneath = self.path.ancestors().take_while(|directory| directory != root);
        let beneath: Vec<PathBuf> = beneath.map(Path::to_owned).collect();
        let is_unified = matches!(self.hierarchy, Hierarchy::V2(_));
        let mut parent = root.clone();
        for directory in beneath.into_iter().rev() {
            if is_unified && enable_io(&parent)? && !self.created.contains(&parent) {
                self.enabled.push(parent);
            }
            if !directory.exists() {
                fs::create_dir(&directory).map_err(|error| failed("create", &directory, &error))?;
                self.created.push(directory.clone());
            }
            parent = directory;
        }
        if is_unified && !lists_io(&self.path.join("cgroup.controllers")) {
            let reason = format!("{} does not have the controller io", self.path.display());
            return Err(io::Error::new(io::ErrorKind::Unsupported, reason));
        }
        Ok(())
    }

    /// Leaves the directories of the group as they are when this is dropped.
    pub fn keep(&mut self) {
        self.created.clear();
        self.enabled.clear();
    }

    /// Leaves what another group that is kept needs, which is this one or lies within it.
    pub fn keep_for(&mut self, other: &ControlGroup) {
        self.created.retain(|directory| !other.path.starts_with(directory));
        self.enabled.retain(|directory| !other.path.starts_with(directory));
    }

    /// Takes the process back to its own group, and removes what was created. It is tried once: dropping this does nothing more.
    ///
    /// # Errors
    /// Something is still in the group, or the user may not; then the rest is undone as far as possible.
    pub fn remove(&mut self) -> io::Result<()> {
        let mut outcome = Ok(());
        let mut note = |action, path: &Path, result: io::Result<()>| {
            if let (Ok(()), Err(error)) = (&outcome, result) {
                outcome = Err(failed(action, path, &error));
            }
        };
        if let Some(original) = self.original.take() {
            RETURNS.fetch_sub(1, Ordering::Relaxed);
            let path = original.join("cgroup.procs");
            note("return to", &path, fs::write(&path, "0"));
        }
        for directory in std::mem::take(&mut self.created).iter().rev() {
            note("remove the control group", directory, remove_patiently(directory));
        }
        for directory in std::mem::take(&mut self.enabled).iter().rev() {
            let path = directory.join("cgroup.subtree_control");
            note("write -io to", &path, fs::write(&path, "-io"));
        }
        outcome
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        // Who wants to know what remains calls remove.
        let _ = self.remove();
    }
}

fn remove_patiently(directory: &Path) -> io::Result<()> {
    let started = Instant::now();
    loop {
        match fs::remove_dir(directory) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy && started.elapsed() < PATIENCE => {
                std::thread::sleep(RETRY);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            done => return done,
        }
    }
}

/// Whether a list of controllers, a file of version 2, has io.
fn lists_io(path: &Path) -> bool {
    let controllers = fs::read_to_string(path).unwrap_or_default();
    controllers.split_whitespace().any(|controller| controller == "io")
}

/// Gives the children of a group of version 2 the controller io. False where they had it.
fn enable_io(group: &Path) -> io::Result<bool> {
    let path = group.join("cgroup.subtree_control");
    if lists_io(&path) {
        return Ok(false);
    }
    let refused = |error: io::Error| {
        let reason = format!(
            "cannot give the groups in {} the controller io ({error}): write +io to its cgroup.subtree_control as root; a group with \
             processes of its own cannot have such children",
            group.display()
        );
        io::Error::new(error.kind(), reason)
    };
    fs::write(&path, "+io").map_err(refused)?;
    Ok(true)
}

/// Puts the calling thread into a group that exists. With version 2 it is the whole process: this is refused unless the process is the
/// worker's own (`is_alone`), or a [`ControlGroup`] takes it back.
///
/// # Errors
/// No hierarchy controls I/O, there is no such group, or the user may not.
pub fn join(name: &str, is_alone: bool) -> io::Result<()> {
    let hierarchy = Hierarchy::of_system()?;
    hierarchy.may_join(is_alone || RETURNS.load(Ordering::Relaxed) > 0)?;
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
        let controls_io = |root: &Path| lists_io(&root.join("cgroup.controllers"));
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

    /// Refuses to move a process that would stay in the group.
    fn may_join(&self, returns: bool) -> io::Result<()> {
        match self {
            Hierarchy::V2(_) if !returns => Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "control groups of version 2 have no groups for threads: the whole process would move and stay in the group for the \
                 rest of the run. Use processes as workers (`placement.processes`), or run iolite within the group (systemd-run --scope)",
            )),
            _ => Ok(()),
        }
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
                join(&name, false).unwrap();
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
        assert!(join(&name, false).is_err());
    }

    /// Needs the right to create groups.
    #[test]
    fn what_cannot_be_removed_is_an_error() {
        let name = format!("iolite-test-busy-{}", std::process::id());
        let mut group = match ControlGroup::create(&name, None) {
            Ok(group) => group,
            Err(error) => return eprintln!("skipped: {error}"),
        };
        let within = group.path.join("other");
        fs::create_dir(&within).unwrap();
        let said = group.remove().unwrap_err().to_string();
        fs::remove_dir(&within).and_then(|()| fs::remove_dir(&group.path)).unwrap();
        assert!(said.contains(&name), "{said}");
    }

    /// A hierarchy as version 2 has it: `root`, `root/a` and `root/a/b`, the last with these controllers.
    fn unified(controllers: &str) -> (tempfile::TempDir, Hierarchy) {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("a/b")).unwrap();
        fs::write(root.path().join("cgroup.subtree_control"), "cpu io\n").unwrap();
        fs::write(root.path().join("a/cgroup.subtree_control"), "cpu\n").unwrap();
        fs::write(root.path().join("a/b/cgroup.controllers"), controllers).unwrap();
        let hierarchy = Hierarchy::V2(root.path().into());
        (root, hierarchy)
    }

    #[test]
    fn in_version_2_the_controller_is_passed_on_from_the_root_down() {
        let (root, hierarchy) = unified("cpu io\n");
        let control =
            |group: &str| fs::read_to_string(root.path().join(group).join("cgroup.subtree_control")).unwrap();
        let mut group = ControlGroup::within(hierarchy, "a/b", None).unwrap();
        assert_eq!((control("").as_str(), control("a").as_str()), ("cpu io\n", "+io"));
        // What others had not switched on is switched off again. The file that the process would return to is not there.
        group.original = None;
        group.remove().unwrap();
        assert_eq!((control("").as_str(), control("a").as_str()), ("cpu io\n", "-io"));
        let (_root, hierarchy) = unified("cpu\n");
        let error = ControlGroup::within(hierarchy, "a/b", None).unwrap_err().to_string();
        assert!(error.contains("does not have the controller io"), "{error}");
    }

    #[test]
    fn a_process_does_not_stay_in_a_group_of_version_2() {
        let unified = Hierarchy::V2("/c".into());
        let error = unified.may_join(false).unwrap_err().to_string();
        assert!(error.contains("whole process") && error.contains("placement.processes"), "{error}");
        assert!(unified.may_join(true).is_ok() && Hierarchy::V1("/c".into()).may_join(false).is_ok());
    }

    #[test]
    fn what_a_kept_group_needs_is_left() {
        let root = tempfile::tempdir().unwrap();
        let of = |name: &str| ControlGroup::within(Hierarchy::V1(root.path().into()), name, None).unwrap();
        let (mut outer, mut same, mut other) = (of("a"), of("a"), of("x"));
        let mut kept = of("a/b");
        kept.keep();
        for group in [&mut outer, &mut same, &mut other] {
            group.keep_for(&kept);
            group.remove().unwrap();
        }
        drop(kept);
        assert!(root.path().join("a/b").is_dir() && !root.path().join("x").exists());
    }
}
