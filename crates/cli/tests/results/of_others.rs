//! Results of fio and of PerfTools: shown as they were printed, imported, joined with those of iolite.

use super::*;

/// Runs fio's jobs, and holds what is shown of the run against what was printed, in the form that was asked for.
fn fio_shown_as_printed(place: &TestDirectory, arguments: &[&str]) -> String {
    let directory = place.data();
    let mut command = Command::new(IOLITE);
    command.arg("fio").args(arguments).current_dir(&directory).env("IOLITE_RESULTS", place.results());
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}{}", text(&output), stderr(&output));
    let printed = text(&output);
    let shown = text(&iolite(place, &["results", "show", "latest"]));
    assert!(is_as_printed("fio", &shown, &printed), "{arguments:?}: {shown}");
    printed
}

#[test]
fn jobs_of_fio_are_shown_as_they_were_printed() {
    let place = TestDirectory::new();
    let common = ["--ioengine=psync", "--size=1m", "--bs=4k"];
    let fio = |arguments: &[&str]| fio_shown_as_printed(&place, &[&common[..], arguments].concat());
    let two = fio(&["--name=a", "--rw=randwrite", "--name=b", "--rw=read", "--description=the second"]);
    assert!(two.contains("a: (g=0): rw=randwrite") && two.contains("Run status group 0"), "{two}");
    let grouped = fio(&["--name=g", "--rw=randrw", "--numjobs=2", "--group_reporting=1"]);
    assert!(grouped.contains("(groupid=0, jobs=2)"), "{grouped}");
    let walled = fio(&["--name=w", "--rw=write", "--name=r", "--stonewall", "--rw=randread"]);
    assert!(walled.contains("Run status group 1"), "{walled}");
    fio(&["--name=v", "--rw=write", "--verify=crc32c", "--do_verify=1"]);
    fio(&["--name=e", "--rw=write", "--exec_prerun=true", "--create_only=1"]);
    let terse = fio(&["--name=t", "--rw=write", "--minimal"]);
    assert_eq!(terse.split(';').next(), Some("3"), "{terse}");

    let both = ["--name=j", "--rw=randwrite", "--output-format=normal,json", "--iodepth=4"];
    let both = fio(&[&both[..], &["--ioengine=libaio", "--steadystate=iops:50%", "--ss_dur=2"]].concat());
    assert!(both.contains("\"fio version\"") && both.contains("Run status group"), "{both}");
    let printed = parsed(&fio(&["--name=j", "--rw=write", "--output-format=json"]));
    assert_eq!(parsed(&text(&iolite(&place, &["results", "json", "latest"]))), printed);
    assert_eq!(printed["jobs"][0]["write"]["io_bytes"], 1 << 20);
}

#[test]
fn a_job_of_fio_that_failed_is_shown_with_its_error() {
    let place = TestDirectory::new();
    let mut command = Command::new(IOLITE);
    command.args(["fio", "--name=x", "--rw=read", "--size=1m", "--output-format=json"]);
    command.arg("--allow_file_create=0").env("IOLITE_RESULTS", place.results()).current_dir(place.data());
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let printed = parsed(&text(&output));
    assert_ne!(printed["jobs"][0]["error"], 0, "{printed}");
    assert_eq!(parsed(&text(&iolite(&place, &["results", "show", "latest"]))), printed);
}

#[test]
fn results_of_fio_are_imported_listed_compared_and_drawn() {
    let place = TestDirectory::new();
    if !common::fio::fio_is_installed() {
        return;
    }
    let path = |name: &str| place.root.path().join(name).to_str().unwrap().to_owned();
    for format in ["json", "json+"] {
        let run = std::process::Command::new("fio")
            .current_dir(place.root.path())
            .args([
                "--name=a",
                "--ioengine=psync",
                "--size=8m",
                "--rw=randrw",
                "--bs=4k",
                "--iodepth=4",
                "--runtime=1",
            ])
            .args(["--time_based=1", "--rate_iops=2000,1000", "--write_bw_log=t", "--write_iops_log=t"])
            .args(["--write_lat_log=t", "--write_hist_log=t", "--log_hist_msec=200", "--log_avg_msec=100"])
            .arg(format!("--output-format={format}"))
            .arg(format!("--output={}", path(format)))
            .output()
            .unwrap();
        assert!(run.status.success(), "{}", stderr(&run));
    }
    for (number, name) in ["json", "json+"].into_iter().enumerate() {
        let imported = iolite(&place, &["results", "import", &path(name)]);
        assert_eq!(text(&imported), "1 run imported, none was already present\n", "{}", stderr(&imported));
        let again = iolite(&place, &["results", "import", &path(name)]);
        assert_eq!(text(&again), "no runs imported, 1 was already present\n", "{}", stderr(&again));
        let listed = parsed(&text(&iolite(&place, &["results", "list", "--json"])));
        assert_eq!(listed["runs"].as_array().unwrap().len(), number + 1);
    }
    let shown = text(&iolite(&place, &["results", "json", "latest"]));
    assert!(parsed(&shown)["phases"][0].is_object(), "{shown}");
    let compared = iolite(&place, &["results", "compare", "latest~1", "latest"]);
    assert!(compared.status.success(), "{}", stderr(&compared));
    let logs =
        ["bw", "iops", "lat", "clat", "slat", "clat_hist"].map(|kind| path(&format!("t_{kind}.1.log")));
    let logs: Vec<&str> = logs.iter().map(String::as_str).collect();
    let chart = path("chart.svg");
    let drawn = iolite(&place, &[&["plot", "--smooth", "1s", "--trend", "-o", &chart][..], &logs].concat());
    assert!(drawn.status.success(), "{}", stderr(&drawn));
    let figures = text(&drawn);
    for name in ["t.1, read bw", "t.1, write iops", "t.1, read clat_hist", "standard deviation"] {
        assert!(figures.contains(name), "{name} in {figures}");
    }
    let picture = fs::read_to_string(&chart).unwrap();
    for label in ["bandwidth in MiB", "total latency", "completion latency"] {
        assert!(picture.contains(label), "{label}: {picture}");
    }
    let cdf = iolite(&place, &[&["plot", "--kind", "heatmap", "-o", "-"][..], &logs].concat());
    assert!(text(&cdf).contains("response time: 1. "), "{}", stderr(&cdf));
    let imported = iolite(&place, &[&["results", "import"][..], &logs].concat());
    assert!(text(&imported).starts_with("1 run imported"), "{}", stderr(&imported));
    odd_logs_of_fio_are_read(&place);
    let picture = path("chart.png");
    let drawn = iolite(&place, &["plot", "latest", "--kind", "trend", "-o", &picture]);
    if drawn.status.success() {
        assert!(fs::read(&picture).unwrap().starts_with(b"\x89PNG"));
        let shown = iolite(&place, &["plot", "latest", "--show=kitty"]);
        assert!(text(&shown).starts_with("\u{1b}_Ga=T,f=100,m=1;iVBORw0KGgo"), "{}", stderr(&shown));
        // Not to what is no terminal, whatever that announces.
        let mut piped = Command::new(IOLITE);
        piped.args(["plot", "latest", "--show", "--results"]).arg(place.results()).env("TERM", "xterm-kitty");
        assert!(!text(&piped.output().unwrap()).contains("\u{1b}_G"));
    } else {
        assert!(stderr(&drawn).contains("librsvg2-bin"), "{}", stderr(&drawn));
        eprintln!("skipped: rsvg-convert is not installed");
    }
    let wrong = iolite(&place, &["results", "import", &path("t_bw.1.log")]);
    assert_eq!(wrong.status.code(), Some(2), "{}", stderr(&wrong));
}

#[test]
fn exports_of_perftools_join_the_history() {
    let place = TestDirectory::new();
    let db = blocks(&place);
    done(&place, &["ranread", "run", "--db", &db, "--jobs", "2", "--runtime", "300ms", "--quiet"]);
    let own = text(&iolite(&place, &["ranread", "export", "-"]));
    let sheet = text(&iolite(&place, &["ranread", "export", "-", "--format", "json"]));
    let (export, old) = (path(&place, "own.csv"), path(&place, "PerfToolsRanRead_20160622-2105.txt"));
    fs::write(&export, &own).unwrap();
    fs::write(
        &old,
        "RunDate\tRunTime\tDatabase\tReads\tWrites\tReadsPS\tWritesPS\tProcesses\tReadPct\n\
         2016-06-22\t21:05:01\t/db/zranread/\t1803600\t0\t6012\t0\t4\t100\n",
    )
    .unwrap();
    let imported = text(&iolite(&place, &["results", "import", &export, &old]));
    assert_eq!(imported, "2 runs imported, none was already present\n", "{own}");
    let again = text(&iolite(&place, &["results", "import", &export, &old]));
    assert_eq!(again, "no runs imported, 2 were already present\n");
    let shown = text(&iolite(&place, &["results", "show", "2016"]));
    assert!(shown.contains("/db/zranread/") && shown.contains("6,012"), "{shown}");
    assert!(shown.contains("p50 -, p95 -, p99 -, p99.9 -, max -; IOPS ± -"), "{shown}");
    let csv = text(&iolite(&place, &["ranread", "export", "-"]));
    let line = csv.lines().find(|line| line.starts_with("2016")).unwrap_or_default();
    assert!(line.contains(",0.665336,,,,,,"), "mean alone: {csv}");
    let list = parsed(&text(&iolite(&place, &["results", "list", "--until", "2016-06-22", "--json"])));
    assert!(list["runs"][0]["notes"][0].as_str().unwrap().contains("without a time series"), "{list}");
    let page = text(&iolite(&place, &["report", "2016", "latest", "-o", "-"]));
    assert!(page.contains("/db/zranread/"), "{page}");
    let elsewhere = path(&place, "elsewhere.db");
    let mut command = Command::new(IOLITE);
    let output = command.args(["results", "import", &export, "--results", &elsewhere]).output().unwrap();
    assert!(text(&output).starts_with("1 run imported"), "{}", stderr(&output));
    // A file that is too large is refused, not cut off.
    let large = fs::File::create(path(&place, "large_lat.1.log")).unwrap();
    large.set_len((2 << 30) + 1).unwrap();
    let refused = iolite(&place, &["results", "import", &path(&place, "large_lat.1.log")]);
    assert!(stderr(&refused).contains("larger than 2 GiB"), "{}", stderr(&refused));
    // What the export says of the run is what the run says; the run itself can still come.
    let columns = ["Errors", "ReadMaxMs", "Stamp", "ReadsPSLow", "ReadsPSHigh", "Ending", "TimedBy"];
    // As rounded in CSV.
    let rounded =
        |value: &Value| value.as_f64().map_or_else(|| value.to_string(), |value| format!("{value:.3}"));
    let cells = |sheet: &str| columns.map(|name| rounded(&parsed(sheet)[0][name]));
    let first = cells(&sheet);
    let of = |arguments: &[&str]| {
        let output = Command::new(IOLITE).args(arguments).args(["--results", &elsewhere]).output().unwrap();
        text(&output)
    };
    assert_eq!(cells(&of(&["ranread", "export", "-", "--format", "json"])), first);
    let whole = path(&place, "whole.db");
    // Both began in the same second: `latest` may be either.
    let measured = parsed(&sheet)[0]["Run"].as_str().unwrap().to_owned();
    done(&place, &["results", "export", &measured, "-o", &whole]);
    assert_eq!(of(&["results", "import", &whole]), "1 run imported, none was already present\n");
}

/// Logs of the installed fio that are compressed, coarse, counted from 1970, or of all jobs (`fio_generic`): the figures are those
/// of the job, and the run began when the job did.
fn odd_logs_of_fio_are_read(place: &TestDirectory) {
    let at = place.root.path().join("odd");
    fs::create_dir(&at).unwrap();
    let fio = |arguments: &[&str]| {
        let job = ["--name=a", "--ioengine=null", "--size=1m", "--rw=read", "--time_based", "--thread"];
        // fio 3.33 sometimes hangs or crashes when it compresses logs: then it is started again.
        let run = |_| {
            let mut command = Command::new("timeout");
            command.args(["--kill-after=1", "20", "fio"]).current_dir(&at).args(job).args(arguments);
            let output = command.output().unwrap();
            output.status.code().is_some_and(|code| code < 124).then_some(output)
        };
        let output = (0..5).find_map(run).expect("the installed fio does not end, in any of five attempts");
        assert!(output.status.success(), "{}", stderr(&output));
    };
    let imported = |files: &[&str]| {
        let files: Vec<String> = files.iter().map(|name| at.join(name).display().to_string()).collect();
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        let output = iolite(place, &[&["results", "import"][..], &files].concat());
        assert!(text(&output).starts_with("1 run imported"), "{files:?}: {}", stderr(&output));
        let newest = "SELECT id FROM run ORDER BY rowid DESC LIMIT 1";
        let id: String = place.ask(newest);
        let kept: i64 = place.ask(&format!("SELECT started_unix_ns FROM run WHERE id = '{id}'"));
        (parsed(&text(&iolite(place, &["results", "json", &id]))), kept)
    };
    let rate = |run: &Value| run["phases"][0]["operations"][0]["iops"]["value"].as_f64().unwrap();

    let before =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as i64;
    let coarse = ["--write_hist_log=h", "--log_hist_msec=200", "--log_hist_coarseness=3"];
    let averages = ["--write_iops_log=h", "--log_avg_msec=200", "--log_unix_epoch=1"];
    fio(&[&["--runtime=2", "--rate_iops=2000"][..], &coarse, &averages].concat());
    for name in ["h_clat_hist.1.log", "h_iops.1.log"] {
        let (run, started) = imported(&[name]);
        assert!((1000.0..4000.0).contains(&rate(&run)), "{name}: {run}");
        // fio reads its clocks one after the other.
        assert!(started > before - 1_000_000_000, "{name}: {started} began before {before}");
    }

    fio(&[
        "--runtime=1",
        "--rate_iops=500",
        "--write_lat_log=z",
        "--log_store_compressed=1",
        "--log_compression=64k",
    ]);
    let refused = iolite(place, &["results", "import", at.join("z_lat.1.log.fz").to_str().unwrap()]);
    assert!(stderr(&refused).contains("fio --inflate-log"), "{}", stderr(&refused));
    let inflated = Command::new("fio").arg("--inflate-log=z_lat.1.log.fz").current_dir(&at).output().unwrap();
    fs::write(at.join("z_lat.1.log"), inflated.stdout).unwrap();
    let (run, _) = imported(&["z_lat.1.log"]);
    assert!((250.0..1000.0).contains(&rate(&run)), "{run}");
    // iolite's own are gzip's.
    let own = ["fio", "--name=a", "--ioengine=null", "--size=1m", "--rw=read", "--time_based", "--runtime=1"];
    let prefix = format!("--write_lat_log={}", at.join("g").display());
    let own = iolite(place, &[&own[..], &["--rate_iops=500", "--log_store_compressed=1", &prefix]].concat());
    assert!(own.status.success(), "{}", stderr(&own));
    let (run, _) = imported(&["g_lat.1.log.gz"]);
    assert!((250.0..1000.0).contains(&rate(&run)), "{run}");

    fio(&[
        "--runtime=1",
        "--rate_iops=500",
        "--write_iops_log=fio_generic",
        "--per_job_logs=0",
        "--log_avg_msec=200",
    ]);
    let (run, _) = imported(&["fio_generic_iops.log"]);
    assert!((250.0..1000.0).contains(&rate(&run)), "{run}");
}
