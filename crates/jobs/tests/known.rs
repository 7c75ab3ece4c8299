//! Every option and every engine that the installed fio knows is known here, by all of its names.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

use std::process::Command;

use iolite_jobs::fio::option::find;
use iolite_jobs::fio::options::engine;

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
    for name in names {
        let entry = fio(&format!("--cmdhelp={name}")).unwrap_or_default();
        let aliases = entry.lines().filter_map(|line| line.trim().strip_prefix("alias:"));
        for alias in aliases.map(str::trim) {
            assert_eq!(
                find(alias).map(|option| option.name),
                find(name).map(|option| option.name),
                "{alias}"
            );
        }
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
    for name in names {
        let options = fio(&format!("--enghelp={name}")).unwrap_or_default();
        let options =
            options.lines().filter_map(|line| line.split_once(" :").or_else(|| line.split_once(": ")));
        let unknown: Vec<&str> =
            options.map(|(option, _)| option.trim()).filter(|option| find(option).is_none()).collect();
        assert!(unknown.is_empty(), "{name}: {unknown:?}");
    }
}
