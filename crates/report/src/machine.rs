//! What this storage is: the file system, the devices under it, the machine, and the program's own cost.

use std::fmt::Display;

use iolite_model::{Device, Filesystem, Host, Storage};
use iolite_results::Run;

use crate::styler::{Emphasis, Styler};

/// Columns of the labels.
const LABEL: usize = 9;

/// Mount options that change what a database gets from its file system. All others are left out of the text; the
/// JSON document has them.
const NOTABLE: [&str; 27] = [
    "ro",
    "sync",
    "dirsync",
    "noatime",
    "strictatime",
    "lazytime",
    "nobarrier",
    "barrier",
    "data",
    "dax",
    "discard",
    "compress",
    "compress-force",
    "nodatacow",
    "nodatasum",
    "commit",
    "journal_async_commit",
    "nodelalloc",
    "logdev",
    "volatile",
    "vers",
    "proto",
    "hard",
    "soft",
    "cache",
    "size",
    "huge",
];

/// The first lines of a report: what it is of, the storage, the host, and the program's own cost; one fact a line.
pub(crate) fn header(run: &Run, what: impl Display, styler: Styler) -> String {
    let title = styler.item("", 2, format_args!("iolite {}: {what}", run.info.version));
    let (storage, host) = (&run.info.storage, &run.info.host);
    let mut out = styler.paint(Emphasis::Strong, title.trim_end()) + "\n";
    if storage.filesystem == Filesystem::default() {
        out += &line(styler, "storage", "not visible from this host");
    } else {
        out += &line(styler, "storage", filesystem(&storage.filesystem));
        let options = notable_options(&storage.filesystem);
        if !options.is_empty() {
            out += &line(styler, "mounted", options);
        }
        out += &devices(styler, storage, is_virtual(host));
    }
    out += &line(styler, "host", host_line(host));
    if let Some(calibration) = &run.calibration {
        let text = format!(
            "clock {}: {:.1} ns per reading, resolution {}; measuring loop {:.0} ns per operation",
            calibration.clock,
            calibration.clock_cost_ns,
            calibration.clock_resolution,
            calibration.loop_cost_ns
        );
        out += &line(styler, "overhead", text);
    }
    out
}

/// Where a run was: the URL of a database, else a directory.
pub(crate) fn place(run: &Run, url: Option<&String>) -> String {
    url.cloned().unwrap_or_else(|| run.info.storage.directory.display().to_string())
}

/// A line of the header.
pub(crate) fn line(styler: Styler, label: &str, text: impl Display) -> String {
    // A long name of a device is still followed by a blank.
    let label = format!("{label} ");
    styler.item(&format!("{label:<LABEL$}"), LABEL, text)
}

/// Whether the target was a device itself: nothing of it is mounted, and no space of it is free or used.
pub(crate) fn is_device(fs: &Filesystem) -> bool {
    fs.kind == "block device"
}

fn filesystem(fs: &Filesystem) -> String {
    if is_device(fs) {
        return format!("{} {}, {}", fs.kind, fs.source, fs.size);
    }
    let mut parts = vec![fs.kind.clone()];
    if !fs.source.is_empty() {
        parts[0] += &format!(" on {} from {}", fs.mount_point.display(), fs.source);
    }
    if fs.size.0 > 0 {
        parts.push(format!("{}, {} free", fs.size, fs.free));
    }
    if fs.block_size.0 > 0 {
        parts.push(format!("blocks of {}", fs.block_size));
    }
    parts.join(", ")
}

/// The options worth a reader's time, in the kernel's order.
fn notable_options(fs: &Filesystem) -> String {
    let is_notable = |option: &&String| {
        NOTABLE.contains(&option.split_once('=').map_or(option.as_str(), |(name, _)| name))
    };
    let mut shown: Vec<&str> = fs.options.iter().filter(is_notable).map(String::as_str).collect();
    shown.dedup();
    shown.join(",")
}

/// Whether the machine is virtual, as far as it knows.
fn is_virtual(host: &Host) -> bool {
    !host.virtualisation.is_empty() && !host.virtualisation.starts_with("none")
}

/// The devices as a tree, each under what rests on it.
fn devices(styler: Styler, storage: &Storage, is_virtual: bool) -> String {
    let all = &storage.devices;
    if all.is_empty() {
        return line(styler, "devices", "none visible from this host");
    }
    let is_root = |device: &&Device| !all.iter().any(|other| other.rests_on.contains(&device.name));
    let mut out = String::new();
    let mut shown: Vec<&str> = Vec::new();
    // Roots last on the stack come first; devices that only rest on each other (never, but the list is data) follow.
    let mut stack: Vec<(&Device, usize)> =
        all.iter().rev().map(|d| (d, 0)).chain(all.iter().rev().filter(is_root).map(|d| (d, 0))).collect();
    while let Some((device, depth)) = stack.pop() {
        if shown.contains(&device.name.as_str()) {
            continue;
        }
        shown.push(&device.name);
        let label = if out.is_empty() { "devices" } else { "" };
        let arrow =
            if depth == 0 { String::new() } else { "   ".repeat(depth - 1) + styler.glyph("└─ ", "`- ") };
        let indent = LABEL + 3 * depth;
        let label = format!("{label:<LABEL$}{arrow}");
        let beneath: Vec<&Device> =
            all.iter().rev().filter(|other| device.rests_on.contains(&other.name)).collect();
        out += &styler.item(&label, indent, device_line(device, &beneath, is_virtual));
        stack.extend(beneath.into_iter().map(|other| (other, depth + 1)));
    }
    out
}

/// A device in a line. What the kernel does not report is left out, and so is what every device beneath says too: a
/// partition has no scheduler or cache of its own.
fn device_line(device: &Device, beneath: &[&Device], is_virtual: bool) -> String {
    let is_virtual = is_virtual || device.kind == "virtio";
    let own = facts(device, is_virtual);
    let theirs: Vec<_> = beneath.iter().map(|other| facts(other, is_virtual)).collect();
    let mut parts = vec![format!("{} ({})", device.name, device.kind)];
    parts.extend(device.model.clone());
    parts.push(device.size.to_string());
    let is_known = |fact: &String| !theirs.is_empty() && theirs.iter().all(|facts| facts.contains(fact));
    parts.extend(own.into_iter().filter(|fact| !is_known(fact)));
    parts.join(", ")
}

fn facts(device: &Device, is_virtual: bool) -> Vec<String> {
    let mut facts = Vec::new();
    if let (Some(logical), Some(physical)) = (device.logical_block, device.physical_block) {
        facts.push(format!("blocks {}/{}", logical.0, physical.0));
    }
    facts.extend(device.scheduler.as_ref().map(|scheduler| format!("scheduler {scheduler}")));
    facts.extend(device.write_cache.as_ref().map(|cache| format!("cache {cache}")));
    facts.extend(device.rotational.map(|rotational| {
        match (rotational, is_virtual) {
            (true, true) => "rotational flag set (often incorrect for virtual disks)",
            (true, false) => "rotating",
            (false, _) => "not rotating",
        }
        .to_owned()
    }));
    facts.extend(device.read_ahead.map(|bytes| format!("read-ahead {bytes}")));
    facts
}

fn host_line(host: &Host) -> String {
    let virtualisation = match host.virtualisation.as_str() {
        "" | "none" => "not virtualised".to_owned(),
        other if other.starts_with("none") => other.to_owned(),
        other => format!("virtualised by {other}"),
    };
    let cpus = if host.cpus == 1 { "CPU" } else { "CPUs" };
    format!(
        "{}: {}, {} {cpus}, {} memory, Linux {} {}, {virtualisation}",
        host.name, host.cpu, host.cpus, host.memory, host.kernel, host.architecture
    )
}
