//! Every option and every engine that the installed fio knows is known here, by all of its names.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

use std::process::Command;

use iolite_fio::language::options::engine;
use iolite_fio::language::options::find;

/// What the installed fio prints, if there is one that isn't ours.
fn fio(argument: &str) -> Option<String> {
    let version = Command::new("fio").arg("--version").output().ok()?;
    if String::from_utf8_lossy(&version.stdout).contains("iolite") {
        return None;
    }
    let output = Command::new("fio").arg(argument).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn no_option_of_fio_is_unknown() {
    let Some(list) = fio("--cmdhelp=all") else {
        eprintln!("skipped: fio is not installed");
        return;
    };
    let names: Vec<&str> =
        list.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name.trim()).collect();
    assert!(names.len() > 150, "{list}");
    let unknown: Vec<&&str> = names.iter().filter(|name| find(name).is_none()).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

/// Names and aliases as fio 3.33 reported them with `--cmdhelp=NAME`; asking it each time takes a while.
const ALIASES: &[(&str, &str)] = &[
    ("rw", "readwrite"),
    ("bs", "blocksize"),
    ("ba", "blockalign"),
    ("bsrange", "blocksize_range"),
    ("bs_unaligned", "blocksize_unaligned"),
    ("iodepth_batch", "iodepth_batch_submit"),
    ("iodepth_batch_complete_min", "iodepth_batch_complete"),
    ("io_size", "io_limit"),
    ("fill_device", "fill_fs"),
    ("offset", "fileoffset"),
    ("nrfiles", "nr_files"),
    ("runtime", "timeout"),
    ("mem", "iomem"),
    ("rate_min", "ratemin"),
    ("rate_cycle", "ratecycle"),
    ("stonewall", "wait_for_previous"),
    ("disable_bw_measurement", "disable_bw"),
    ("steadystate", "ss"),
    ("steadystate_duration", "ss_dur"),
    ("steadystate_ramp_time", "ss_ramp"),
];

#[test]
fn options_have_the_names_and_aliases_of_fio() {
    for (name, alias) in ALIASES {
        assert_eq!(find(alias).map(|option| option.name), Some(*name), "{alias}");
    }
}

#[test]
fn no_engine_of_fio_is_unknown() {
    let Some(list) = fio("--enghelp") else {
        eprintln!("skipped: fio is not installed");
        return;
    };
    let names: Vec<&str> = list.lines().filter_map(|line| line.strip_prefix('\t')).map(str::trim).collect();
    assert!(names.len() > 10, "{list}");
    let unknown: Vec<&&str> = names.iter().filter(|name| engine::known(name).is_none()).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    for name in ["io_uring", "libaio", "pvsync2", "mmap", "cpuio"] {
        let options = fio(&format!("--enghelp={name}")).unwrap_or_default();
        let options =
            options.lines().filter_map(|line| line.split_once(" :").or_else(|| line.split_once(": ")));
        let unknown: Vec<&str> =
            options.map(|(option, _)| option.trim()).filter(|option| find(option).is_none()).collect();
        assert!(unknown.is_empty(), "{name}: {unknown:?}");
    }
}
