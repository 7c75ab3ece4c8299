//! What jobs ask of the machine: control groups, huge pages.

use super::*;

use std::time::{Duration, Instant};

/// Where control groups of version 1 for I/O are mounted, if this user may create some.
fn groups() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let of_io = |line: &&str| {
        let fields: Vec<&str> = line.split(' ').collect();
        fields[2] == "cgroup" && fields[3].split(',').any(|option| option == "blkio")
    };
    let root = PathBuf::from(mounts.lines().find(of_io)?.split(' ').nth(1)?);
    let tried = root.join(format!("iolite-tried-{}", std::process::id()));
    fs::create_dir(&tried).and_then(|()| fs::remove_dir(tried)).ok().map(|()| root)
}

/// A process that is ended with its test.
struct Running(std::process::Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_job_runs_in_its_control_group() {
    let Some(root) = groups() else { return skip("control groups for I/O cannot be created").unwrap_or(()) };
    let place = TestDirectory::new();
    let name = format!("iolite-test-{}", std::process::id());
    let group = format!("--cgroup={name}/jobs");
    let job = ["--name=x", "--rw=write", "--size=64k", &group];
    done(ours(&place, &job));
    assert!(!root.join(&name).exists(), "it is removed");
    // Its threads, and no others, are in the group while it runs.
    let members = || fs::read_to_string(root.join(&name).join("jobs/tasks")).unwrap_or_default();
    let long = ["--name=x", "--ioengine=null", "--size=1m", "--time_based", "--runtime=60", &group];
    let mut running = Running(ours(&place, &long).stdout(Stdio::null()).spawn().unwrap());
    let started = Instant::now();
    while members().is_empty() {
        assert!(started.elapsed() < Duration::from_secs(60), "no thread joins the group");
        std::thread::yield_now();
    }
    let member = members();
    assert_eq!(member.lines().count(), 1, "{member}");
    assert!(Path::new(&format!("/proc/{}/task/{}", running.0.id(), member.trim())).exists(), "{member}");
    let id = running.0.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    running.0.wait().unwrap();
    let leftover = root.join(&name);
    let removed = !leftover.exists();
    let _ = fs::remove_dir(leftover.join("jobs")).and_then(|()| fs::remove_dir(&leftover));
    assert!(removed, "it is removed after Ctrl-C too");
    done(ours(&place, &[&job[..], &["--cgroup_nodelete=1"]].concat()));
    let kept = root.join(&name).join("jobs");
    assert!(kept.is_dir(), "it is kept");
    fs::remove_dir(&kept).and_then(|()| fs::remove_dir(root.join(&name))).unwrap();
    let weighted = ours(&place, &[&job[..], &["--cgroup_weight=300"]].concat()).output().unwrap();
    assert!(
        weighted.status.success() || stderr(&weighted).contains("no weights of control groups"),
        "{}",
        stderr(&weighted)
    );
}

/// Of two jobs in one group the second wants it to stay.
#[test]
fn a_group_that_a_later_job_keeps_stays() {
    let Some(root) = groups() else { return skip("control groups for I/O cannot be created").unwrap_or(()) };
    let place = TestDirectory::new();
    let name = format!("iolite-test-later-{}", std::process::id());
    let job = |job: &str, group: &str| {
        let mut all = vec![format!("--name={job}"), "--stonewall".into(), format!("--cgroup={name}{group}")];
        all.extend(["--rw=write".into(), "--size=64k".into()]);
        all
    };
    let run = |jobs: Vec<String>| done(ours(&place, &jobs.iter().map(String::as_str).collect::<Vec<_>>()));
    let inner = root.join(&name).join("jobs");
    run([job("a", ""), job("b", "/jobs"), vec!["--cgroup_nodelete=1".into()]].concat());
    let stays = inner.is_dir();
    let _ = fs::remove_dir(&inner).and_then(|()| fs::remove_dir(root.join(&name)));
    assert!(stays, "it is kept, and what it lies within");
    run([job("a", ""), job("b", "/jobs")].concat());
    assert!(!root.join(&name).exists(), "both are removed, the inner one first");
}

#[test]
fn a_name_that_leaves_the_hierarchy_is_refused() {
    let place = TestDirectory::new();
    let refused = ours(&place, &["--name=x", "--rw=read", "--size=4k", "--cgroup=../x"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    let said = stderr(&refused);
    assert!(said.contains("not the name of a control group") || said.contains("no control groups"), "{said}");
}

/// With huge pages reserved the job runs; without, it says how to reserve them.
#[test]
fn buffers_of_huge_pages_are_used_or_missed() {
    let place = TestDirectory::new();
    for memory in ["--mem=mmaphuge", "--mem=shmhuge", "--mem=mmaphuge:/huge/file"] {
        for engine in ["psync", "libaio", "io_uring", "posixaio"] {
            let engine = format!("--ioengine={engine}");
            let job = ["--name=x", "--rw=write", "--size=64k", memory, &engine, "--hugepage-size=2m"];
            let output = ours(&place, &job).output().unwrap();
            let said = stderr(&output);
            assert!(output.status.success() || said.contains("hugepages-2048kB/nr_hugepages"), "{said}");
        }
    }
}

#[test]
fn a_mapping_asks_for_huge_pages() {
    let place = TestDirectory::new();
    let job = ["--name=x", "--ioengine=mmap", "--rw=write", "--size=64k", "--thp=1"];
    let output = ours(&place, &job).output().unwrap();
    let said = stderr(&output);
    assert!(output.status.success() || said.contains("no transparent huge pages"), "{said}");
}
