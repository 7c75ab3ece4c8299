use std::io;
use std::path::Path;

use super::*;
use crate::language::command_line::parse;
use crate::language::job_file::read;

fn context() -> HostContext<'static> {
    HostContext {
        variable: &|name| (name == "SIZE").then(|| "64k".to_owned()),
        page_size: 4096,
        memory_mib: 1024,
        cpus: 2,
        open_trace: &|_| Err(io::ErrorKind::NotFound.into()),
        read_file: &|_: &Path| Err(io::ErrorKind::NotFound.into()),
    }
}

/// Plans a command line, whose words are separated by white space, with these files.
fn planned_with(arguments: &str, files: &[&str]) -> Result<Plan, Problems> {
    let words: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
    let invocation = parse(&words).unwrap();
    let name = |index: usize| format!("{}.fio", char::from(b'a' + index as u8));
    let document = |(index, text): (usize, &&str)| read(&name(index), text.as_bytes(), &context()).unwrap();
    let documents: Vec<Document> = files.iter().enumerate().map(document).collect();
    plan(&invocation, &documents, &context())
}

fn planned(text: &str) -> Result<Plan, Problems> {
    planned_with("", &[text])
}

/// Name, group, job, and whether it starts with the one before, of each thread.
fn outline(plan: &Plan) -> Vec<(&str, u32, u32, bool)> {
    let thread = |thread: &'_ Thread| (thread.group, thread.job, thread.task.together());
    plan.threads
        .iter()
        .map(|one| {
            let (group, job, together) = thread(one);
            (one.name.as_str(), group, job, together)
        })
        .collect()
}

fn settings(thread: &Thread) -> Vec<String> {
    thread.settings.iter().map(|(name, value)| format!("{name}={value}")).collect()
}

const NULL: &str = "[global]\nioengine=null\nsize=64k\n";

#[test]
fn groups_and_walls_are_those_of_fio() {
    let plan = planned(&format!(
        "{NULL}[a]\nstonewall\nnew_group\nnumjobs=2\n[b]\n[c]\nstonewall=0\n[d]\nstonewall\nnumjobs=2\n[e]\n[f]\nnew_group\n"
    ));
    assert_eq!(
        outline(&plan.unwrap()),
        [
            ("a", 0, 0, false),
            ("a", 0, 0, true),
            ("b", 0, 1, true),
            ("c", 0, 2, true),
            ("d", 1, 3, false),
            ("d", 1, 3, true),
            ("e", 1, 4, true),
            ("f", 2, 5, true),
        ]
    );
}

#[test]
fn each_file_has_its_own_defaults_and_waits_for_the_one_before() {
    let first = "[global]\nbs=2k\n[i]\n";
    let second = "[x]\nbs=8k\n[y]\n";
    let plan = planned_with("--ioengine=null --size=64k --name=z a.fio b.fio", &[first, second]).unwrap();
    assert_eq!(
        outline(&plan),
        [("z", 0, 0, false), ("i", 0, 1, true), ("x", 1, 2, false), ("y", 1, 3, true)]
    );
    assert_eq!(blocks(&plan), [4096, 2048, 8192, 4096]);
    assert_eq!(plan.global_settings, pairs(&[("ioengine", "null"), ("size", "64k")]));
    assert_eq!(settings(&plan.threads[0]), ["name=z"]);
}

fn pairs(of: &[(&str, &str)]) -> Vec<(String, String)> {
    of.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn blocks(plan: &Plan) -> Vec<u64> {
    let block = |thread: &Thread| match &thread.task {
        JobTask::Io(task) => task.largest().0,
        JobTask::Metadata(_) => 0,
    };
    plan.threads.iter().map(block).collect()
}

#[test]
fn a_global_section_is_for_the_jobs_after_it() {
    let plan = planned(&format!("{NULL}bs=1k\n[a]\n[global]\nbs=8k\n[b]\n[c]\nbs=2k\n")).unwrap();
    assert_eq!(blocks(&plan), [1024, 8192, 2048]);
    let between = planned_with(
        "--name=a --ioengine=null --size=64k --name=global --bs=8k --name=b --ioengine=null --size=64k",
        &[],
    );
    assert_eq!(blocks(&between.unwrap()), [4096, 8192]);
}

#[test]
fn kb_base_counts_for_its_section_wherever_it_stands() {
    // Sizes of the defaults have been read by then.
    let plan = planned(&format!("{NULL}[a]\nbs=1kib\nkb_base=1000\n[b]\nbs=1k\nkb_base=1000\n[c]\nbs=1k\n"))
        .unwrap();
    assert_eq!(blocks(&plan), [1024, 1000, 1024]);
    let global = planned("[global]\nkb_base=1000\nioengine=null\nsize=1m\n[a]\nbs=4kib\n[b]\nbs=4k").unwrap();
    assert_eq!(blocks(&global), [4096, 4000]);
    // On a command line it is for what follows.
    let commands = planned_with(
        "--ioengine=null --size=1m --bs=1k --name=a --bs=2k --kb_base=1000 --name=b --kb_base=1000 --bs=2k --name=c",
        &[],
    );
    assert_eq!(blocks(&commands.unwrap()), [2048, 2000, 1024]);
}

#[test]
fn settings_are_reported_by_their_canonical_names_as_written() {
    let plan = planned(
        "[global]\nioengine=null\nthread\n[a]\nreadwrite=randread\nblocksize=2*$pagesize\nsize=${SIZE}\nthread=1\n\
         rw=read\ntime_based=0\ndescription= some text\nrunaway=1\n",
    );
    let problems = plan.unwrap_err().to_string();
    assert_eq!(problems, "a.fio:12:1: there is no option `runaway`; --cmdhelp lists all");
    let plan = planned(
        "[global]\nioengine=null\nthread\n[a]\nreadwrite=randread\nblocksize=2*$pagesize\nsize=${SIZE}\nthread=1\n\
         rw=read\ndescription= some text\n",
    )
    .unwrap();
    let outline = settings(&plan.threads[0]);
    assert_eq!(outline, ["rw=read", "bs=8192", "size=64k", "thread=1", "description= some text"]);
    assert_eq!(plan.threads[0].description.as_deref(), Some("some text"));
    assert_eq!(plan.global_settings, pairs(&[("ioengine", "null"), ("thread", "")]));
}

#[test]
fn only_named_sections_of_files_run() {
    let file = format!("{NULL}[a]\nunheard=of\n[b]\n[ab]\n");
    let plan = planned_with("--name=z --ioengine=null --size=4k --section=b --section=ab", &[&file]).unwrap();
    assert_eq!(outline(&plan).iter().map(|thread| thread.0).collect::<Vec<_>>(), ["z", "b", "ab"]);
    let problem = planned_with("--section=c", &[&file]).unwrap_err().to_string();
    assert!(problem.starts_with("a.fio:1:1: `--section`: no job file has the section `c`"), "{problem}");
}

#[test]
fn a_job_waits_only_for_one_before_it_of_a_name_of_its_own() {
    let plan = planned(&format!("{NULL}[a]\n[b]\nname=q\n[c]\nwait_for=q\n")).unwrap();
    assert!(outline(&plan)[2].3, "it starts with the others and waits by itself");
    for (text, part) in [
        ("[a]\nwait_for=b\n[b]\n", "a.fio:5:1: no job before this one that is run is named `b`"),
        ("[a]\n\nwait_for=a\n", "a.fio:6:1: a job cannot wait for itself"),
        ("[a]\n[a]\n[b]\nwait_for=a\n", "a.fio:7:1: several jobs are named `a`"),
    ] {
        let problem = planned(&format!("{NULL}{text}")).unwrap_err().to_string();
        assert!(problem.starts_with(part), "{text}: {problem}");
    }
}

#[test]
fn an_option_of_an_engine_is_for_that_engine() {
    let hipri = "[global]\nhipri\nioengine=io_uring\nsize=64k\n";
    assert!(
        planned(&format!("{hipri}[a]\nioengine=null\n")).is_ok(),
        "what the defaults say about another engine"
    );
    let problem = planned("[a]\nsize=4k\nhipri\nioengine=null\n").unwrap_err().to_string();
    assert!(
        problem.starts_with("a.fio:3:1: `hipri` is not an option of the engine `null`; it is for ioengine="),
        "{problem}"
    );
    let problem = planned_with("--hipri --name=a --size=4k", &[]).unwrap_err().to_string();
    assert!(problem.starts_with("argument 1: `hipri` is not an option of the engine `psync`"), "{problem}");
}

#[test]
fn all_that_is_wrong_with_a_job_is_reported_with_its_place() {
    let problems =
        planned(&format!("{NULL}[a]\niodpeth=4\nbs\n description=\nsize=(4*\n  thread 1\n")).unwrap_err();
    let outline: Vec<String> = problems.0.iter().map(Problem::to_string).collect();
    let expected = [
        "a.fio:5:1: there is no option `iodpeth`; did you mean `iodepth`?",
        "a.fio:6:1: `bs` needs a value; write bs=",
        "a.fio:7:2: `description=` has no value; write description=VALUE",
        "a.fio:8:1: `size`: `(4*` cannot be worked out: a number is missing before its end",
        "a.fio:9:3: there is no option `thread 1`; did you mean `thread`",
    ];
    assert_eq!(outline.len(), expected.len(), "{problems}");
    for (outline, expected) in outline.iter().zip(expected) {
        assert!(outline.starts_with(expected), "{outline}");
    }
    let setter = planned(&format!("{NULL}[a]\niodepth=many\n")).unwrap_err().to_string();
    assert!(setter.starts_with("a.fio:5:1: `iodepth=many`: "), "{setter}");
}

#[test]
fn options_that_need_no_value_may_stand_alone() {
    let plan = planned(&format!("{NULL}[a]\nwrite_bw_log\nwrite_iops_log=\nthread\nnorandommap\n")).unwrap();
    assert_eq!(plan.threads[0].logs.len(), 2);
    assert_eq!(settings(&plan.threads[0]), ["write_bw_log=", "write_iops_log=", "thread=", "norandommap="]);
    let alone: Vec<&str> = crate::language::options::all()
        .filter(|option| option.form != crate::language::options::option::Form::Flag && option.stands_alone())
        .map(|option| option.name)
        .collect();
    assert_eq!(alone, ["write_bw_log", "write_iops_log", "write_lat_log", "write_hist_log"]);
}

#[test]
fn zones_without_a_size_have_the_rest() {
    let plan =
        planned(&format!("{NULL}[a]\nrw=randread\nrandom_distribution=zoned:50/5:30/15:20/\n")).unwrap();
    let JobTask::Io(task) = &plan.threads[0].task else { panic!("{plan:?}") };
    let iolite_model::Access::Zoned(zones) = &task.access else { panic!("{task:?}") };
    assert_eq!(zones[2].size, iolite_model::ZoneSize::Percent(80.0));
}

#[test]
fn threads_are_limited() {
    // As with fio, --max-jobs refuses nothing that the usual limit allows.
    let few = planned_with("--max-jobs=3", &[&format!("{NULL}[a]\nnumjobs=3\n[b]\n")]).unwrap();
    assert_eq!(few.threads.len(), 4);
    let problem = planned(&format!("{NULL}[a]\nnumjobs=4096\n[b]\n")).unwrap_err().to_string();
    assert!(
        problem.starts_with("a.fio:6:1: with this job there are 4097 threads, more than the maximum of 4096"),
        "{problem}"
    );
}

#[test]
fn read_only_refuses_what_writes() {
    let file = "[global]\nsize=4k\nfilename=x\n[a]\nrw=read\n[b]\nreadwrite=randrw\n";
    let problem = planned_with("--readonly", &[file]).unwrap_err().to_string();
    assert!(problem.starts_with("a.fio:7:1: job `b` writes or trims"), "{problem}");
    let plan = planned_with("--readonly --section=a", &[file]).unwrap();
    let JobTask::Io(task) = &plan.threads[0].task else { panic!("{plan:?}") };
    let Target::Files(files) = &task.target else { panic!("{task:?}") };
    assert_eq!((files.lay_out, files.overwrite), (LayOut::Never, Overwrite::Never));
}

#[test]
fn differences_are_reported_where_they_matter() {
    let notes = |settings: &str| {
        let plan = planned(&format!("{NULL}[a]\n{settings}")).unwrap();
        plan.threads[0]
            .notes
            .iter()
            .map(|note| note.split(": ").next().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(notes("write_barrier=2\natomic=1\n"), ["write_barrier", "atomic"]);
    // At its default an option asks for nothing; the last value counts.
    assert_eq!(notes("write_barrier=0\nscramble_buffers=1\ndedupe_percentage=0\n"), [""; 0]);
    assert_eq!(notes("write_barrier=1\nwrite_barrier=0\n"), [""; 0]);
    assert_eq!(notes("clocksource=cpu\nmem=mmap\nverify_dump=1\n"), [""; 0], "these change no result");
    let long = planned(&format!("{NULL}[a]\nioengine=psync\niodepth_batch=4\nrw=write\n")).unwrap();
    let note = long.threads[0].notes.first().unwrap();
    assert!(note.starts_with("iodepth_batch: ") && note.len() < 110, "{note}");
}
