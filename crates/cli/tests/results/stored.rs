//! What is done with stored runs: listed, annotated, compared, exported, deleted.

use super::*;

#[test]
fn a_relative_target_is_below_the_current_directory() {
    let place = TestDirectory::new();
    let job = job(
        &place,
        "job.toml",
        "[[tasks]]\n[tasks.io]\nname = 'w'\nmix = 'write'\nstop.operations = 10\nbackend = 'sync'\n\
         target.file = { name = 'f', size = '1MiB', create = true }\n",
    );
    done(&place, &["run", &job, "--quiet", "--directory", &place.data().display().to_string()]);
    for (target, directory, expected) in [
        (".", place.root.path().to_owned(), 1),
        (".", place.data(), 1),
        ("data", place.root.path().to_owned(), 1),
        ("..", place.data(), 1),
        (".", std::env::temp_dir(), 0),
    ] {
        let mut here = Command::new(IOLITE);
        here.args(["results", "list", "--json", "--target", target, "--results"]).arg(place.results());
        let listed = parsed(&text(&here.current_dir(&directory).output().unwrap()));
        assert_eq!(listed["runs"].as_array().unwrap().len(), expected, "{target} in {directory:?}: {listed}");
    }
}

#[test]
fn runs_are_listed_noted_tagged_and_deleted() {
    let place = TestDirectory::new();
    let none = iolite(&place, &["results", "list"]);
    assert_eq!(none.status.code(), Some(2), "{}", stderr(&none));
    assert!(stderr(&none).contains("there are no results yet"), "{}", stderr(&none));
    // What cannot be accessed is not said not to exist.
    let beneath_a_file = path(&place, "file");
    fs::write(&beneath_a_file, "").unwrap();
    let mut command = Command::new(IOLITE);
    let output = command
        .args(["results", "list", "--results"])
        .arg(format!("{beneath_a_file}/r.db"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("check the path or use --results FILE elsewhere"),
        "{}",
        stderr(&output)
    );
    let job = job(&place, "null.toml", "[[tasks]]\n[tasks.io]\nname = 'nothing'\nstop.operations = 1000\n");
    for _ in 0..2 {
        let output = iolite(&place, &["run", &job]);
        assert!(output.status.success(), "{}", stderr(&output));
    }
    let runs = || parsed(&text(&iolite(&place, &["results", "list", "--json"])))["runs"].clone();
    let ids: Vec<String> =
        runs().as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids.len(), 2);
    for arguments in [
        &["results", "note", &ids[1], "before the new controller"][..],
        &["results", "tag", "latest~1", "before", "nvme0"],
        &["results", "tag", "--remove", "latest~1", "nvme0"],
    ] {
        let output = iolite(&place, arguments);
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    }
    assert_eq!(runs()[1]["notes"][0], "before the new controller");
    assert_eq!(runs()[1]["tags"], serde_json::json!(["before"]));
    let tagged = text(&iolite(&place, &["results", "list", "--tag", "before"]));
    assert!(tagged.contains(&ids[1]) && !tagged.contains(&ids[0]), "{tagged}");
    for (arguments, expected) in [
        (&["--command", "run"][..], 2),
        (&["--command", "check"], 0),
        (&["--target", &job], 2),
        (&["--target", "/elsewhere"], 0),
        (&["--database", "sqlite:"], 0),
        (&["--since", "1h"], 2),
        (&["--until", "2001-01-01"], 0),
        (&["--since", "2001-01-01", "--until", "2999"], 2),
        (&["--result", "completed", "--limit", "1"], 1),
        (&["--result", "failed"], 0),
        (&["--containing", "CONTROLLER"], 1),
    ] {
        let listed = parsed(&text(&iolite(&place, &[&["results", "list", "--json"], arguments].concat())));
        assert_eq!(listed["runs"].as_array().unwrap().len(), expected, "{arguments:?}: {listed}");
    }
    let wrong = iolite(&place, &["results", "list", "--since", "yesterday"]);
    assert!(wrong.status.code() == Some(2) && stderr(&wrong).contains("12h, 7d"), "{}", stderr(&wrong));
    for time in ["2026-13-99", "2026-11-25T99:99", "2026-02-30"] {
        let wrong = iolite(&place, &["results", "list", "--until", time]);
        assert!(wrong.status.code() == Some(2) && stderr(&wrong).contains("12h, 7d"), "{}", stderr(&wrong));
    }
    let ratios = parsed(&text(&iolite(&place, &["results", "ratio", "before", "latest", "--json"])));
    assert_eq!((&ratios["rows"][0]["phases"], &ratios["ratios"]), (&2.into(), &serde_json::json!([])));
    let ratios = text(&iolite(&place, &["results", "ratio", "latest"]));
    assert!(ratios.starts_with("pattern") && ratios.contains("There are no ratios"), "{ratios}");
    let page = text(&iolite(&place, &["report", "before", "-o", "-"]));
    assert!(page.contains(&ids[1]) && !page.contains(&ids[0]), "the runs of a tag");
    let drawn = text(&iolite(&place, &["plot", "before", "latest", "--kind", "compare", "-o", "-"]));
    assert!(drawn.contains(&ids[1]) && drawn.contains(&ids[0]), "{drawn}");
    let path = text(&iolite(&place, &["results", "path"]));
    assert_eq!(path, format!("{}\n", place.results().display()));
    let unknown = iolite(&place, &["results", "show", "20010101"]);
    assert_eq!(unknown.status.code(), Some(2), "{}", stderr(&unknown));
    assert!(iolite(&place, &["results", "delete", "latest~1"]).status.success());
    assert_eq!(runs().as_array().unwrap().len(), 1);
}

#[test]
fn a_run_that_was_killed_shows_how_far_it_came() {
    let place = TestDirectory::new();
    let job = job(
        &place,
        "long.toml",
        "[[tasks]]\n[tasks.io]\nname = 'long'\nstop.runtime = '1h'\ninterval = '50ms'\narrival = { constant = 1000 }\n",
    );
    let mut command = Command::new(IOLITE);
    command.args(["run", &job, "--results"]).arg(place.results()).stdin(Stdio::null());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    place.wait_for_intervals(&mut child, 5);
    let listed = || text(&iolite(&place, &["results", "list"]));
    assert!(listed().contains("running"), "{}", listed());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(listed().contains("interrupted") && !listed().contains("running"), "{}", listed());
    let listed = parsed(&text(&iolite(&place, &["results", "list", "--json"])));
    assert_eq!(listed["runs"][0]["ending"]["kind"], "interrupted", "{listed}");
    let shown = text(&iolite(&place, &["results", "show"]));
    assert!(shown.contains("1. long") && shown.contains("INTERRUPTED"), "{shown}");
    let document = parsed(&text(&iolite(&place, &["results", "json"])));
    let operations = &document["phases"][0]["operations"][0];
    assert!(operations["operations"].as_u64().unwrap() > 0, "{operations}");
    assert!(Path::new(&place.results()).exists());
}

#[test]
fn runs_are_compared_and_conditions_decide_the_exit_code() {
    let place = TestDirectory::new();
    let writes = |block: &str| {
        format!(
            "[[tasks]]\n[tasks.io]\nname = 'writes'\ntarget.file = {{ name = 'data', size = '1MiB', create = true }}\n\
             backend = 'sync'\nmix = 'write'\nblock = '{block}'\nstop.runtime = '400ms'\ninterval = '20ms'\n"
        )
    };
    let (small, large) =
        (job(&place, "small.toml", &writes("4KiB")), job(&place, "large.toml", &writes("64KiB")));
    for job in [&small, &small, &large] {
        let output = iolite(&place, &["run", job, "--directory", place.data().to_str().unwrap()]);
        assert!(output.status.success(), "{}", stderr(&output));
    }
    for tagged in ["latest~1", "latest~2"] {
        iolite(&place, &["results", "tag", tagged, "it's 4 KiB"]);
    }
    let compared = iolite(&place, &["results", "compare", "latest~1", "latest", "--json"]);
    let document = parsed(&text(&compared));
    assert_eq!(
        (&document["format"], &document["covers"]),
        (&"iolite-comparison/1".into(), &"within-runs".into())
    );
    assert!(document["repeats_suggested"].as_u64().is_some_and(|repeats| repeats >= 5), "{document}");
    let caveats = document["caveats"].to_string();
    assert!(caveats.contains("block 4096 -> 65536"), "{caveats}");
    let printed = text(&iolite(&place, &["results", "compare", "latest~1", "latest"]));
    for part in ["writes, concurrency 1", "95 % interval", "ANSWER: ", "only the variation within one run"] {
        assert!(printed.split_whitespace().collect::<Vec<_>>().join(" ").contains(part), "{part}: {printed}");
    }
    let sets = ["results", "compare", "--before", "it's 4 KiB", "--after", "latest", "--json"];
    assert_eq!(parsed(&text(&iolite(&place, &sets)))["covers"], "between-runs");

    // Of 64 KiB there is more to move, whatever else the machine does meanwhile.
    let fails = |condition: &str| {
        let compare = ["results", "compare", "latest~1", "latest", "--fail-if", condition];
        iolite(&place, &compare)
    };
    let failed = fails("rate < 1000000000");
    assert_eq!(failed.status.code(), Some(3), "{}", stderr(&failed));
    assert!(text(&failed).contains("FAILED: "), "{}", text(&failed));
    assert_eq!(fails("rate > 1000000000").status.code(), Some(0));
    for wrong in ["p99 ~ 5", "read p99 > 1s"] {
        assert_eq!(fails(wrong).status.code(), Some(2), "{wrong}");
    }
    for wrong in [&["latest", "latest"][..], &["latest"], &["latest", "nope"], &["--before", "latest"]] {
        let output = iolite(&place, &[&["results", "compare"], wrong].concat());
        assert_eq!(output.status.code(), Some(2), "{wrong:?}: {}", stderr(&output));
    }
}

#[test]
fn runs_are_exported_imported_asked_and_collected() {
    let place = TestDirectory::new();
    let writes = "[[tasks]]\n[tasks.io]\nname = '=1+1 \"quoted\"'\n\
                  target.file = { name = 'data', size = '1MiB', create = true }\nbackend = 'sync'\nmix = 'write'\n\
                  stop.operations = 200\n";
    let job = job(&place, "job.toml", writes);
    for _ in 0..3 {
        let output = iolite(&place, &["run", &job, "--directory", place.data().to_str().unwrap()]);
        assert!(output.status.success(), "{}", stderr(&output));
    }
    iolite(&place, &["results", "tag", "latest", "kept"]);
    let file = |name: &str| place.root.path().join(name).to_str().unwrap().to_owned();
    let (portable, other) = (file("portable.db"), file("other.db"));
    let export = ["results", "export", "kept", "latest~1", "-o", &portable];
    assert!(iolite(&place, &export).status.success());
    assert_eq!(iolite(&place, &export).status.code(), Some(2), "what is there is not overwritten");
    // Nor a database by another kind of output, whatever its name is.
    let (before, link) = (fs::read(&portable).unwrap(), file("page.html"));
    std::os::unix::fs::symlink(&portable, &link).unwrap();
    for replaced in [&portable, &link] {
        for command in [
            &["report", "latest"][..],
            &["plot", "latest", "--kind", "cdf"],
            &["results", "export", "latest", "--format", "csv"],
            &["results", "export", "latest", "--format", "json"],
            &["results", "export", "latest", "--format", "parquet"],
        ] {
            let output = iolite(&place, &[command, &["-o", replaced]].concat());
            assert_eq!(output.status.code(), Some(2), "{command:?}: {}", stderr(&output));
            assert!(
                stderr(&output).contains("is a database, which would be replaced"),
                "{}",
                stderr(&output)
            );
        }
    }
    assert_eq!(fs::read(&portable).unwrap(), before);
    let elsewhere = |arguments: &[&str]| {
        let mut command = Command::new(IOLITE);
        command.args(arguments).args(["--results", &other]).env("COLUMNS", "110").env("NO_COLOR", "1");
        command.stdin(Stdio::null()).output().unwrap()
    };
    assert!(
        text(&elsewhere(&["results", "import", &portable])).contains("2 runs imported, none was already")
    );
    assert!(text(&elsewhere(&["results", "import", &portable])).contains("no runs imported, 2 were already"));
    for run in ["latest", "latest~1"] {
        let shown = ["results", "json", run];
        assert_eq!(parsed(&text(&elsewhere(&shown))), parsed(&text(&iolite(&place, &shown))));
    }
    let kept = parsed(&text(&elsewhere(&["results", "list", "--tag", "kept", "--json"])));
    assert_eq!(kept["runs"].as_array().unwrap().len(), 1);
    assert_eq!(elsewhere(&["results", "import", &job]).status.code(), Some(2));

    let table = text(&iolite(&place, &["results", "export", "latest", "--format", "csv"]));
    assert!(
        table.starts_with("run,started_unix_ns,") && table.contains("\"=1+1 \"\"quoted\"\"\""),
        "{table}"
    );
    let list = parsed(&text(&iolite(&place, &["results", "export", "latest", "--format", "json"])));
    assert_eq!(list[0], parsed(&text(&iolite(&place, &["results", "json", "latest"]))));

    let asked = iolite(&place, &["results", "sql", "SELECT count(*) AS runs FROM run", "--json"]);
    assert_eq!(parsed(&text(&asked))[0]["runs"], 3);
    for wrong in ["DELETE FROM run", "SELECT nonsense"] {
        assert_eq!(iolite(&place, &["results", "sql", wrong]).status.code(), Some(2), "{wrong}");
    }
    let dry = text(&iolite(&place, &["results", "gc", "--keep", "1", "--dry-run"]));
    assert_eq!(dry.lines().count(), 1, "{dry}");
    assert!(text(&iolite(&place, &["results", "gc", "--keep", "0"])).starts_with("2 runs deleted"));
    let left = parsed(&text(&iolite(&place, &["results", "list", "--json"])));
    assert_eq!(left["runs"].as_array().unwrap().len(), 1);
}
