//! Block I/O of the control group that this process is in (Linux, Documentation/admin-guide/cgroup-v2.rst, `io.stat`;
//! cgroup-v1/blkio-controller.rst, `blkio.throttle.io_service_bytes`).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use iolite_model::ReadingValue;

use crate::mounts::Mount;
use crate::probe::{HeldFile, Probe, ProbeError, Subject};
use crate::sysfs::{Number, Sysfs, parse_number};

/// Reads what the control group of this process read from and wrote to each device; subjects are device names.
#[derive(Debug)]
pub struct CgroupIo {
    source: Source,
    sysfs: Sysfs,
    names: BTreeMap<Number, String>,
}

#[derive(Debug)]
enum Source {
    /// `io.stat` of version 2.
    Unified(HeldFile),
    /// `blkio.throttle.io_service_bytes` and `blkio.throttle.io_serviced` of version 1.
    Blkio { bytes: HeldFile, operations: HeldFile },
}

/// What a group did on one device. Pairs are reads, then writes.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Counts {
    bytes: [f64; 2],
    operations: [f64; 2],
}

impl CgroupIo {
    /// `None` where no hierarchy with I/O accounting is mounted, or the group has none.
    pub fn of_this_process() -> Option<CgroupIo> {
        let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        let source = find(&groups, &Mount::all())?;
        Some(CgroupIo { source, sysfs: Sysfs::system(), names: BTreeMap::new() })
    }

    fn name(&mut self, number: Number) -> String {
        let sysfs = &self.sysfs;
        let unnamed = || format!("{}:{}", number.0, number.1);
        let name = self
            .names
            .entry(number)
            .or_insert_with(|| sysfs.block(number).map_or_else(unnamed, |block| block.name()));
        name.clone()
    }
}

/// The files of the group, by the lines of /proc/self/cgroup: `ID:CONTROLLERS:PATH`, without controllers for version 2.
fn find(groups: &str, mounts: &[Mount]) -> Option<Source> {
    let line = |wanted: &str| {
        groups.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            let (controllers, path) = (fields.next()?, fields.next()?);
            controllers.split(',').any(|controller| controller == wanted).then_some(path)
        })
    };
    let mounted = |kind: &str, option: Option<&str>| {
        let fits = |mount: &&Mount| {
            mount.kind == kind && option.is_none_or(|option| mount.options.iter().any(|o| o == option))
        };
        mounts.iter().find(fits).map(|mount| mount.mount_point.clone())
    };
    let within = |mount: PathBuf, path: &str| mount.join(path.trim_start_matches('/'));
    let unified = || {
        let directory = within(mounted("cgroup2", None)?, line("")?);
        HeldFile::open(directory.join("io.stat")).ok().map(Source::Unified)
    };
    let blkio = || blkio_in(&within(mounted("cgroup", Some("blkio"))?, line("blkio")?));
    unified().or_else(blkio)
}

fn blkio_in(directory: &Path) -> Option<Source> {
    let open = |name: &str| HeldFile::open(directory.join(name)).ok();
    let bytes = open("blkio.throttle.io_service_bytes_recursive")?;
    Some(Source::Blkio { bytes, operations: open("blkio.throttle.io_serviced_recursive")? })
}

impl Probe for CgroupIo {
    fn name(&self) -> &'static str {
        "cgroup"
    }

    fn read(&mut self) -> Result<Vec<Subject>, ProbeError> {
        let mut counts = BTreeMap::new();
        match &mut self.source {
            Source::Unified(file) => unified(file.read()?, &mut counts),
            Source::Blkio { bytes, operations } => {
                blkio(bytes.read()?, &mut counts, |counts| &mut counts.bytes);
                blkio(operations.read()?, &mut counts, |counts| &mut counts.operations);
            }
        }
        let subject = |(number, Counts { bytes, operations })| Subject {
            name: self.name(number),
            values: vec![
                ReadingValue::counter("reads", operations[0]),
                ReadingValue::counter("read_bytes", bytes[0]),
                ReadingValue::counter("writes", operations[1]),
                ReadingValue::counter("written_bytes", bytes[1]),
            ],
        };
        Ok(counts.into_iter().map(subject).collect())
    }
}

/// Lines such as `8:0 rbytes=1459200 wbytes=314773504 rios=192 wios=353 dbytes=0 dios=0`.
fn unified(text: &str, counts: &mut BTreeMap<Number, Counts>) {
    for line in text.lines() {
        let mut fields = line.split(' ');
        let Some(number) = fields.next().and_then(parse_number) else { continue };
        let counts: &mut Counts = counts.entry(number).or_default();
        for (key, value) in fields.filter_map(|field| field.split_once('=')) {
            let Ok(value) = value.parse() else { continue };
            match key {
                "rbytes" => counts.bytes[0] = value,
                "wbytes" => counts.bytes[1] = value,
                "rios" => counts.operations[0] = value,
                "wios" => counts.operations[1] = value,
                _ => {}
            }
        }
    }
}

/// Lines such as `8:0 Read 1459200`.
fn blkio(text: &str, counts: &mut BTreeMap<Number, Counts>, part: fn(&mut Counts) -> &mut [f64; 2]) {
    for line in text.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let &[number, kind, value] = fields.as_slice() else { continue };
        let index = match kind {
            "Read" => 0,
            "Write" => 1,
            _ => continue,
        };
        if let (Some(number), Ok(value)) = (parse_number(number), value.parse()) {
            part(counts.entry(number).or_default())[index] = value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_are_parsed() {
        let mut counts = BTreeMap::new();
        unified("8:0 rbytes=100 wbytes=200 rios=1 wios=2 dbytes=0 dios=0\n7:1\n", &mut counts);
        assert_eq!(counts[&(8, 0)], Counts { bytes: [100.0, 200.0], operations: [1.0, 2.0] });
        let mut counts = BTreeMap::new();
        let text = "254:0 Read 100\n254:0 Write 200\n254:0 Sync 300\nTotal 300\n";
        blkio(text, &mut counts, |counts| &mut counts.bytes);
        assert_eq!(counts[&(254, 0)].bytes, [100.0, 200.0]);
    }

    #[test]
    fn the_group_is_found_in_either_hierarchy() {
        let root = tempfile::tempdir().unwrap();
        let mount = |kind: &str, options: &str| {
            let at = root.path().join(kind);
            fs::create_dir_all(at.join("a/b")).unwrap();
            Mount::parse(&format!("9 1 0:99 / {} rw - {kind} x rw,{options}", at.display())).remove(0)
        };
        let mounts = [mount("cgroup", "blkio"), mount("cgroup2", "nsdelegate")];
        let groups = "7:cpu,blkio:/a/b\n0::/a\n";
        assert!(find(groups, &mounts).is_none());
        for name in ["io_service_bytes", "io_serviced"] {
            let name = format!("cgroup/a/b/blkio.throttle.{name}_recursive");
            fs::write(root.path().join(name), "").unwrap();
        }
        assert!(matches!(find(groups, &mounts), Some(Source::Blkio { .. })));
        fs::write(root.path().join("cgroup2/a/io.stat"), "").unwrap();
        assert!(matches!(find(groups, &mounts), Some(Source::Unified(_))));
    }
}
