use super::*;

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn parsed(text: &str) -> Invocation {
    parse(&words(text)).unwrap()
}

/// The sections with their settings as `name=value`.
fn outline(invocation: &Invocation) -> Vec<(&str, Vec<String>)> {
    let setting = |setting: &Setting| match &setting.value {
        Some(value) => format!("{}={value}", setting.name),
        None => setting.name.clone(),
    };
    let settings = |section: &Section| section.settings.iter().map(setting).collect();
    invocation.jobs.iter().map(|section| (section.name.as_str(), settings(section))).collect()
}

#[test]
fn general_options_are_distinguished_from_files() {
    let invocation = parsed(
        "a.fio --output=x.json --output-format json,normal,json -minimal --append-terse --output-format=terse,json+ \
         --eta-newline=2 --status-interval=500ms --section=a --section b --readonly --max-jobs=7 --debug=io,file - \
         -- --b.fio",
    );
    assert_eq!(invocation.files, ["a.fio", "-", "--b.fio"]);
    assert_eq!(invocation.formats, Formats(vec![Format::Terse, Format::JsonPlus]));
    assert_eq!(invocation.output, Some("x.json".into()));
    assert_eq!(
        (invocation.eta_newline, invocation.status_interval),
        (Some(Nanos(2_000_000_000)), Some(Nanos(500_000_000)))
    );
    assert_eq!(invocation.sections, ["a", "b"]);
    assert_eq!((invocation.read_only, invocation.max_jobs), (true, Some(7)));
    assert_eq!(invocation.debug, ["io", "file"]);
    assert!(invocation.jobs.is_empty());
    assert_eq!(parsed("").formats.0, [Format::Normal]);
    assert_eq!(parsed("--output-format=json --append-terse").formats.0, [Format::Json, Format::Terse]);
}

#[test]
fn what_only_prints_something_ends_the_line() {
    for (text, action) in [
        ("-v --nonsense", Action::Version),
        ("--vers", Action::Version),
        ("-h", Action::Help),
        ("--cmdhelp", Action::CommandHelp(None)),
        ("--cmdhelp=bs", Action::CommandHelp(Some("bs".into()))),
        ("--enghelp", Action::EngineHelp(None)),
        ("--enghelp=libaio,hipri", Action::EngineHelp(Some(("libaio".into(), Some("hipri".into()))))),
        ("--debug=help", Action::DebugHelp),
        ("--inflate-log=x", Action::InflateLog("x".into())),
    ] {
        assert_eq!(parsed(text).action, action, "{text}");
    }
}

#[test]
fn options_of_jobs_belong_to_the_job_named_last() {
    let invocation =
        parsed("--ioengine=null -size 64k --name=a --bs=-4k --thread --name b --name=global --rw read x.fio");
    assert_eq!(
        outline(&invocation),
        [
            ("global", vec!["ioengine=null".to_owned(), "size=64k".into()]),
            ("a", vec!["name=a".to_owned(), "bs=-4k".into(), "thread".into()]),
            ("b", vec!["name=b".to_owned()]),
            ("global", vec!["name=global".to_owned(), "rw=read".into()]),
        ]
    );
    assert_eq!(invocation.files, ["x.fio"]);
    assert_eq!(invocation.jobs[1].settings[1].origin.to_string(), "argument 5");
}

#[test]
fn the_beginning_of_a_name_will_do_where_it_is_the_only_one() {
    assert_eq!(outline(&parsed("--name=a --numj=2"))[0].1, ["name=a", "numjobs=2"]);
    let problem = parse(&words("--out=x")).unwrap_err().to_string();
    assert_eq!(problem, "argument 1: `--out=x` may be --output, --output-format; write the whole name");
}

#[test]
fn what_is_wrong_is_reported_with_its_argument() {
    for (text, expected) in [
        ("--name=a --iodpeth=4", "argument 2: there is no option `--iodpeth=4`; did you mean `iodepth`?"),
        ("---name=a", "argument 1: there is no option `---name=a`"),
        ("--minimal=1", "argument 1: `--minimal` takes no value"),
        ("--output", "argument 1: `--output` needs a value"),
        ("--name=a --bs", "argument 2: `--bs` needs a value"),
        ("--name=", "argument 1: `--name` needs a value"),
        ("--output-format=xml", "argument 1: `--output-format`: `xml` is none of normal"),
        ("--output-format=json,", "argument 1: `--output-format`: `` is none of normal"),
        ("--terse-version=7", "argument 1: `--terse-version`: `7` is out of its range, 2 to 5"),
        ("--eta=now", "argument 1: `--eta`: `now` is none of auto"),
        ("--eta-interval=100ms", "argument 1: `--eta-interval`: it is too short: at least 250 ms"),
        ("--status-interval=0", "argument 1: `--status-interval`: it is too short"),
        ("--debug=dance", "argument 1: `--debug`: `dance` is none of process"),
        ("--client=host", "argument 1: `--client`: running jobs on other hosts"),
        ("--server", "argument 1: `--server`: running jobs on other hosts"),
        ("--crctest=md6", "argument 1: `--crctest`: `md6` is none of md5"),
        ("--crctest=md5,", "argument 1: `--crctest`: `` is none of md5"),
        ("--cpuclock-test=1", "argument 1: `--cpuclock-test` takes no value"),
    ] {
        let problem = parse(&words(text)).unwrap_err().to_string();
        assert!(problem.starts_with(expected), "{text}: {problem}");
    }
}
