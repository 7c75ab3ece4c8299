//! The same jobs reported by the installed fio: keys and their order, numbers of fields, lines.

use std::process::Command;

use super::*;

/// What the installed fio prints of a tiny job; `None` where there is none, which is said.
fn fio(arguments: &[&str]) -> Option<String> {
    let directory = tempfile::tempdir().unwrap();
    let common = ["--ioengine=null", "--size=64k", "--eta=never"];
    let output = Command::new("fio").args(arguments).args(common).current_dir(directory.path()).output();
    match output {
        Ok(output) if output.status.success() => Some(String::from_utf8(output.stdout).unwrap()),
        Ok(output) => panic!("fio {arguments:?}: {}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => {
            eprintln!("skipped: no fio to compare with ({error})");
            None
        }
    }
}

/// The keys of a document with their depths, in order; without iolite's own, and without those whose names are values.
fn keys(text: &str) -> Vec<(usize, String)> {
    let mut keys = Vec::new();
    let mut skipped: Option<usize> = None;
    for line in text.lines() {
        let depth = line.len() - line.trim_start().len();
        if skipped.is_some_and(|from| depth > from) {
            continue;
        }
        skipped = None;
        let Some((key, _)) = line.trim_start().split_once(" : ") else { continue };
        let key = key.trim_matches('"').to_owned();
        if ["bins", "job options", "global options", OWN_KEY].contains(&key.as_str()) {
            skipped = Some(depth);
        }
        if key != OWN_KEY && !NEWER_KEYS.contains(&key.as_str()) {
            keys.push((depth, key));
        }
    }
    keys
}

fn without_disks(jobs: Vec<JobResult>) -> Results {
    let mut results = results(jobs);
    results.disks.clear();
    results.global_settings.clear();
    results
}

fn both() -> JobResult {
    job("both", 0, &[(OpKind::Read, 20_000.0), (OpKind::Write, 10_000.0)])
}

#[track_caller]
fn same_keys(arguments: &[&str], job: JobResult) {
    let plus = arguments.contains(&"--output-format=json+");
    let Some(theirs) = fio(arguments) else { return };
    assert_eq!(keys(&json(&without_disks(vec![job]), plus)), keys(&theirs), "{arguments:?}");
}

#[test]
fn json_has_the_keys_of_fio_in_their_order() {
    let plain = ["--output-format=json", "--name=both", "--rw=randrw"];
    same_keys(&plain, both());
    let with = |more: &[&'static str]| [plain.as_slice(), more].concat();

    let mut changed = both();
    changed.thread.reporting.clat_percentiles = false;
    same_keys(&with(&["--clat_percentiles=0"]), changed);

    let mut changed = both();
    changed.thread.reporting.lat_percentiles = true;
    changed.thread.reporting.percentiles = vec![50.0, 99.9999];
    same_keys(&with(&["--lat_percentiles=1", "--percentile_list=50:99.9999"]), changed);

    let mut changed = both();
    changed.thread.reporting.unified = 1;
    same_keys(&with(&["--unified_rw_reporting=1"]), changed.clone());
    changed.thread.reporting.unified = 2;
    same_keys(&with(&["--unified_rw_reporting=both"]), changed);

    let mut changed = both();
    changed.thread.description = Some("said".into());
    changed.continued = Some((0, 0));
    same_keys(&with(&["--description=said", "--continue_on_error=all"]), changed);

    let mut changed = both();
    changed.thread.reporting.disable_clat = true;
    changed.thread.reporting.disable_lat = true;
    same_keys(&with(&["--disable_clat=1", "--disable_lat=1"]), changed);

    same_keys(&["--output-format=json+", "--name=both", "--rw=randrw"], both());
    let trims = job("trims", 0, &[(OpKind::Trim, 20_000.0)]);
    same_keys(&["--output-format=json", "--name=trims", "--rw=randtrim"], trims);
}

#[test]
fn a_group_has_the_keys_of_fio() {
    let mut jobs: Vec<JobResult> =
        (0..2).map(|number| job("g", number, &[(OpKind::Read, 20_000.0)])).collect();
    jobs.iter_mut().for_each(|job| job.thread.reporting.grouped = true);
    let arguments = ["--output-format=json", "--name=g", "--rw=randread", "--numjobs=2", "--group_reporting"];
    let Some(theirs) = fio(&arguments) else { return };
    assert_eq!(keys(&json(&without_disks(jobs), false)), keys(&theirs));
}

#[test]
fn terse_has_as_many_fields_as_fio_has() {
    for (number, version) in
        [(2, TerseVersion::V2), (3, TerseVersion::V3), (4, TerseVersion::V4), (5, TerseVersion::V5)]
    {
        let version_argument = format!("--terse-version={number}");
        let mut job = both();
        job.thread.description = Some("said".into());
        job.continued = Some((0, 0));
        let arguments = [
            "--minimal",
            &version_argument,
            "--name=both",
            "--rw=randrw",
            "--description=said",
            "--continue_on_error=all",
        ];
        let Some(theirs) = fio(&arguments) else { return };
        let ours = terse(&without_disks(vec![job]), version);
        let lines = |text: &str| {
            text.lines().map(|line| line.trim_start_matches(';').split(';').count()).collect::<Vec<_>>()
        };
        assert_eq!(lines(&ours), lines(&theirs), "version {number}");
        let percent = |text: &str| -> Vec<usize> {
            let fields = text.lines().next().unwrap_or_default().split(';').enumerate();
            fields.filter(|(_, field)| field.contains('%')).map(|(index, _)| index).collect()
        };
        assert_eq!(percent(&ours), percent(&theirs), "version {number}");
    }
}

/// The lines of a text without their values, and without those that depend on how long operations took.
fn skeleton(text: &str) -> Vec<String> {
    let depends = ["lat (nsec)", "lat (usec)", "lat (msec)", "bw (", "iops "];
    let ours = text.split("\niolite (").next().unwrap_or_default();
    let kept = ours.lines().filter(|line| {
        !depends.iter().any(|start| {
            line.starts_with("   ") && !line.starts_with("    ") && line.trim_start().starts_with(start)
                || line.starts_with("  lat (")
        })
    });
    // `78.1MiB/s-78.1MiB/s (81.9MB/s-81.9MB/s)` has no name.
    let named = |part: &str| if part.contains("B/s-") { "range".to_owned() } else { part.to_owned() };
    let lines = kept.map(|line| {
        let parts = line.split(", ").map(|part| named(part).split('=').next().unwrap_or_default().to_owned());
        parts.collect::<Vec<_>>().join(", ").replace("(usec)", "(unit)").replace("(nsec)", "(unit)")
    });
    lines.collect()
}

#[test]
fn text_has_the_lines_of_fio() {
    let mut job = both();
    job.thread.description = Some("said".into());
    job.thread.reporting.lat_percentiles = true;
    let arguments =
        ["--name=both", "--rw=randrw", "--description=said", "--lat_percentiles=1", "--output-format=normal"];
    let Some(theirs) = fio(&arguments) else { return };
    let from = theirs.find("\nboth: (groupid").unwrap();
    let ours = normal(&without_disks(vec![job.clone()]));
    assert_eq!(skeleton(&ours), skeleton(&theirs[from..]));
    // What is said before the run, to the letter but for the version.
    let mut task = match job.phase.info.task.clone() {
        iolite_model::Task::File(task) => task,
        _ => unreachable!(),
    };
    task.backend = iolite_model::BackendKind::Null;
    let thread = super::super::synthetic::thread("both", 0, iolite_model::Task::File(task));
    let version = Command::new("fio").arg("--version").output().unwrap().stdout;
    let version = String::from_utf8(version).unwrap();
    assert_eq!(super::super::header::header(&[thread], &[], version.trim()), theirs[..from]);
}
