use iolite_model::{BonnieTerms, DdTerms, FileTask, IozoneTerms, Mix, RunInfo, Target};

use super::*;

fn terms() -> ClassicTerms {
    ClassicTerms {
        dd: Some(DdTerms { size: Bytes(32 << 20), flush: Bytes(16 << 20), block: Bytes(8192) }),
        bonnie: Some(BonnieTerms {
            size: Bytes(24 << 20),
            characters: Bytes(1000),
            chunk: Bytes(8192),
            concurrency: 2,
            seeks: 8192,
            seekers: 5,
            files: 2048,
        }),
        iozone: Some(IozoneTerms { size: Bytes(4 << 20), record: Bytes(8192), processes: 6 }),
        keep_cache: false,
    }
}

fn nothing_yet() -> Run {
    Run::new(RunInfo::default())
}

/// All steps of these terms.
fn steps(terms: ClassicTerms) -> Vec<Step<ClassicPreparation>> {
    let (mut classic, run) = (Classic::new(terms), nothing_yet());
    let mut steps = Vec::new();
    loop {
        match classic.next(&run, Nanos(0)) {
            Step::Done(_) => return steps,
            step => steps.push(step),
        }
    }
}

fn files(steps: &[Step<ClassicPreparation>]) -> Vec<&FileTask> {
    let tasks = steps.iter().filter_map(|step| match step {
        Step::Run(tasks) => Some(tasks),
        _ => None,
    });
    tasks.flatten().filter_map(file).collect()
}

fn file(task: &Task) -> Option<&FileTask> {
    match task {
        Task::File(task) => Some(task),
        _ => None,
    }
}

#[test]
fn every_test_runs_its_steps_in_the_originals_order() {
    let steps = steps(terms());
    let names: Vec<String> = steps
        .iter()
        .flat_map(|step| match step {
            Step::Run(tasks) => tasks.iter().map(|task| task.name().to_owned()).collect(),
            _ => Vec::new(),
        })
        .collect();
    assert_eq!(names.len(), 3 + 12 + 10 * 6);
    assert_eq!(names[..3], ["dd: write", "dd: write a second file", "dd: read back"]);
    assert_eq!(names[3], "bonnie: per-character output");
    assert_eq!(names[15], "iozone: initial writers, process 1");
}

#[test]
fn files_are_removed_as_soon_as_no_phase_needs_them_and_so_is_their_space() {
    let steps = steps(terms());
    let removed = |name: &str| {
        steps.iter().position(|step| match step {
            Step::Prepare(ClassicPreparation::Remove(files)) => {
                files.iter().any(|file| file.as_os_str() == name)
            }
            _ => false,
        })
    };
    let used = |name: &str| {
        steps.iter().rposition(|step| match step {
            Step::Run(tasks) => tasks.iter().any(|task| match task {
                Task::File(FileTask { target: Target::File(file), .. }) => file.name.as_os_str() == name,
                _ => false,
            }),
            _ => false,
        })
    };
    for name in ["ddfile", "ddfile2", "bonnie.0", "f1", "f6"] {
        assert!(used(name).is_some_and(|last| removed(name).is_some_and(|at| at > last)), "{name}");
    }
    assert!(removed("bonnie.1").is_some() && removed("bonnie-characters.1").is_some());
    // dd's two files are the most that there is at one time.
    assert_eq!(Classic::space(&terms()), Bytes(48 << 20));
}

#[test]
fn what_reads_finds_a_cold_cache_unless_the_user_keeps_it() {
    let cold = steps(terms());
    let dropped: Vec<_> =
        files(&cold).into_iter().filter(|task| task.cache.invalidate).map(|task| &*task.name).collect();
    assert!(dropped.contains(&"dd: read back") && dropped.contains(&"bonnie: random seeks"), "{dropped:?}");
    assert!(!dropped.iter().any(|name| name.contains("re-readers")), "{dropped:?}");
    let kept = steps(ClassicTerms { keep_cache: true, ..terms() });
    assert!(files(&kept).iter().all(|task| !task.cache.invalidate));
}

#[test]
fn phases_do_what_the_manuals_say() {
    let steps = steps(terms());
    let files = files(&steps);
    let named = |name: &str| *files.iter().find(|task| task.name == name).unwrap();
    assert_eq!(named("bonnie: rewrite").mix, Mix::ReadThenWrite(100));
    assert_eq!(named("bonnie: per-character output").block, Bytes(1));
    assert_eq!(named("bonnie: random seeks").stop.operations, Some(8192 + 819));
    assert_eq!(named("bonnie: random seeks").workers, 5);
    assert_eq!(named("iozone: record rewriters, process 2").target.size(), Bytes(8192));
    assert_eq!(named("iozone: mixed workload, process 1").mix, Mix::Read);
    assert_eq!(named("iozone: mixed workload, process 2").mix, Mix::Write);
}
