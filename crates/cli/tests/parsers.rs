//! A short run of what `fuzz/` does at length: each parser of what others have written gets inputs made from examples by a seeded
//! generator. With `IOLITE_FUZZ_SECONDS=N` each runs for N seconds of CPU time instead (`make fuzz`).

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]

#[path = "../../fio/tests/stirrer/mod.rs"]
mod stirrer;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use iolite_db::postgres::ClientEnvironment;
use iolite_db::{DatabaseUrl, without_password};
use iolite_fio::import::{self, Log};
use iolite_fio::language::{HostContext, Invocation, job_file, plan};
use iolite_jobs::{Language, iometer, native};
use iolite_store::Store;
use stirrer::{Stirrer, fuzz};

/// What is put in here and there.
const TOKENS: &[&str] = &[
    "\n",
    "=",
    "[",
    "]",
    "{",
    "}",
    "\"",
    "'",
    ",",
    ":",
    "/",
    "//",
    "@",
    "?",
    "#",
    "%",
    "%2",
    "%zz",
    "&",
    "-1",
    "0",
    "1e400",
    "1e300",
    "1e19",
    "18446744073709551615",
    "nan",
    "18446744073709551616",
    "9007199254740993",
    "4k",
    "null",
    "true",
    "\0",
    "\u{1f980}",
    "\u{feff}",
    "\t",
    "''' ",
    "[[tasks]]\n",
    "tasks.io",
    "\\u0000",
    "[::1]",
    "..",
    "postgres://",
    "sslmode=",
    "localhost",
    "65536",
];

fn texts(examples: &[&str]) -> Vec<Vec<u8>> {
    examples.iter().map(|text| text.as_bytes().to_vec()).collect()
}

fn text_of(stirrer: &mut Stirrer, texts: &[Vec<u8>]) -> String {
    String::from_utf8_lossy(&stirrer.stirred(texts)).into_owned()
}

const JOBS: &[&str] = &[
    "[[tasks]]\n[tasks.io]\nname = 'a'\ntarget.file = { name = 'data', size = '4MiB', create = true }\n\
     backend.io-uring = {}\nmix = { read-percent = 50 }\ninterval = '50ms'\nconcurrency = 4\nstop.runtime = '5s'\n",
    "[[tasks]]\n[tasks.metadata]\nname = 'many'\nfiles = 100\nfiles_per_directory = 1\n",
    "[[tasks]]\n[tasks.io]\nname = 'b'\ntarget.existing = { path = '/f', overwrite = 'never' }\nbackend = 'sync'\n\
     mix = 'write'\nstop.loops = 1\nverify = { check = 'crc32c', after = true }\n",
];

#[test]
fn no_toml_job_makes_it_stumble() {
    let (texts, mut stirrer) = (texts(JOBS), Stirrer::new(0x0000_10b5, TOKENS));
    let mut read = 0;
    fuzz("TOML jobs", 3000, || {
        let text = text_of(&mut stirrer, &texts);
        let _ = Language::of(&text, None);
        match native::parse(&text) {
            Ok(job) => {
                read += 1;
                let printed = native::print(&job).unwrap();
                assert_eq!(native::parse(&printed).unwrap(), job, "{printed}");
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    });
    assert!(read > 0, "not one was a job");
}

#[test]
fn no_iometer_file_makes_it_stumble() {
    let specs = iometer::patterns();
    let example = iometer::print(&iometer::Configuration::alone(specs, 2, 4));
    // Pieces, because inputs are cut to their first part.
    let pieces: Vec<Vec<u8>> = example.as_bytes().chunks(3000).map(<[u8]>::to_vec).collect();
    let texts = [vec![example.into_bytes()], pieces].concat();
    let mut stirrer = Stirrer::new(0x0001_c0ff, TOKENS);
    fuzz("Iometer files", 3000, || {
        let text = text_of(&mut stirrer, &texts);
        match iometer::parse(&text) {
            Ok(configuration) => {
                let printed = iometer::print(&configuration);
                assert_eq!(iometer::parse(&printed).unwrap(), configuration, "{printed}");
                let _ = (configuration.points(), configuration.workers(None, iolite_model::Bytes::GIB));
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    });
}

/// What `fuzz/` runs at length is what is declared there.
#[test]
fn each_fuzz_target_is_declared() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    let targets = fs::read_dir(root.join("fuzz_targets")).unwrap();
    let names =
        targets.map(|target| target.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned());
    let names: Vec<String> = names.filter(|name| name != "common").collect();
    assert!(names.len() >= 9, "{names:?}");
    for name in &names {
        assert!(manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")), "{name} in Cargo.toml");
        assert!(readme.contains(&format!("fuzz run {name} ")), "{name} in README.md");
    }
    assert_eq!(manifest.matches("[[bin]]").count(), names.len());
}

const FIO_JSON: &str = r#"note
{ "fio version" : "fio-3.33", "timestamp" : 1700000000, "timestamp_ms" : 1700000000123, "time" : "x",
  "global options" : { "rw" : "randread" },
  "jobs" : [ { "jobname" : "a", "groupid" : 0, "error" : 0, "eta" : 0, "elapsed" : 2, "job options" : { "bs" : "4k" },
    "read" : { "io_bytes" : 4096000, "io_kbytes" : 4000, "bw_bytes" : 2048000, "bw" : 2000, "iops" : 500.5, "runtime" : 2000,
      "total_ios" : 1000, "short_ios" : 0, "drop_ios" : 0,
      "clat_ns" : { "min" : 1000, "max" : 90000, "mean" : 2000.5, "stddev" : 100.5, "N" : 1000,
        "percentile" : { "50.000000" : 2000, "99.000000" : 50000 }, "bins" : { "1000" : 10, "2000" : 980, "90000" : 10 } },
      "lat_ns" : { "min" : 1000, "max" : 90000, "mean" : 2100.5, "stddev" : 100.5, "N" : 1000 } },
    "write" : { "io_bytes" : 0, "total_ios" : 0 }, "trim" : { "total_ios" : 0 } } ], "disk_util" : [ ] }
"#;

const LOG: &str = "1, 2000, 0, 4096, 0, 0\n501, 2500, 1, 4096, 8192, 0\n1002, 900000, 0, 4096, 12288, 0\n";

#[test]
fn no_result_of_fio_makes_it_stumble() {
    let (documents, logs) = (texts(&[FIO_JSON]), texts(&[LOG, "1, 20, 0, 0\n1000, 30, 1, 0\n"]));
    let mut stirrer = Stirrer::new(0x000f_10f1, TOKENS);
    let mut read = 0;
    fuzz("results of fio (JSON)", 3000, || {
        let text = text_of(&mut stirrer, &documents);
        read += u32::from(import::json("fio.json", &text).is_ok());
    });
    assert!(read > 0, "not one was a result");
    fuzz("logs of fio", 3000, || {
        let text = text_of(&mut stirrer, &logs);
        let name =
            ["x_lat.1.log", "x_clat.log", "x_bw.2.log", "x_iops.log", "x_clat_hist.1.log"][stirrer.below(5)];
        if let Ok(log) = Log::read(Path::new(name), &text) {
            let _ = import::logs(&mut [log], &[&text], 0);
        }
    });
}

const PERFTOOLS: &[&str] = &[
    "RunDate\tRunTime\tDatabase\tReads\tWrites\tReadsPS\tWritesPS\tProcesses\tReadPct\n\
     2016-06-22\t9:05:01\t/db\t1803600\t30000\t6012\t100\t4\t100\n",
    "RunDate,RunTime,Database,Iterations,Processes,ResponseTime,IOPS\n2016-06-22,21:05:01,/db,10000,10,1.23,8130\n",
    "RunDate,RunTime,Reads,Processes,Errors,Commits,ReadMeanMs,ReadMaxMs,Seconds,Stamp,LogicalReads,BlockBytes,Ending,Run\n\
     2026-11-23,06:00:00,1000,4,77,5,2.5,9,10,partly cached (25 %),1000,8192,failed,a\n",
];

#[test]
fn no_export_of_perftools_makes_it_stumble() {
    let exports = texts(PERFTOOLS);
    let mut stirrer = Stirrer::new(0x0009_e4f7, TOKENS);
    let mut read = 0;
    fuzz("exports of PerfTools", 3000, || {
        let runs = iolite_results::perftools::runs("export.txt", &text_of(&mut stirrer, &exports));
        for run in runs.iter().flatten() {
            iolite_results::Run::of(&run.events).unwrap();
            read += 1;
        }
    });
    assert!(read > 0, "not one was an export");
}

/// A URL pasted behind `service=`, which fuzzing found.
#[test]
fn a_url_in_the_place_of_a_service_is_named_without_its_password() {
    let text = "postgres:///shop?host=/run/postgresql&service=postgres://app:secret@db.example/shop";
    let error = iolite_db::postgres::Target::new(text).expect_err("there is no such service").to_string();
    assert!(error.contains("no service") && !error.contains("secret"), "{error}");
}

#[test]
fn no_database_url_makes_it_stumble() {
    let texts = texts(&[
        "postgres://app:secret@db.example:5432/shop?sslmode=verify-full&sslrootcert=/ca.pem",
        "mysql://root@127.0.0.1:3306/test?ssl-mode=REQUIRED",
        "sqlite:/var/lib/data.db?vfs=unix",
        "gtm:/opt/gtm?global=^X",
        "postgres:///shop?host=/run/postgresql&service=x",
    ]);
    let mut stirrer = Stirrer::new(0x0000_0a71, TOKENS);
    fuzz("database URLs", 5000, || {
        let text = text_of(&mut stirrer, &texts);
        let _ = without_password(&text);
        if let Err(error) = DatabaseUrl::parse(&text) {
            assert!(!error.to_string().is_empty());
        }
        for error in
            [iolite_db::postgres::Target::new(&text).err(), iolite_db::mysql::Target::parse(&text).err()]
        {
            // Where it is a password, and not part of a path or a name as well.
            let user =
                text.find("://").is_some_and(|start| text[start..].starts_with("://app:secret@db.example"));
            let password = user && text.matches("secret").count() == 1;
            let error = error.filter(|_| password).map(|error| error.to_string()).unwrap_or_default();
            assert!(!error.contains("secret"), "{text}: {error}");
        }
    });
}

/// A directory whose files take no time of a disk, where there is such a place.
fn in_memory() -> tempfile::TempDir {
    let shared = tempfile::tempdir_in("/dev/shm");
    shared.or_else(|_| tempfile::tempdir()).unwrap()
}

/// The file of passwords, that of services and the variables, as libpq reads them.
#[test]
fn no_file_of_a_client_makes_it_stumble() {
    let directory = in_memory();
    let (passwords, services) = (directory.path().join("pgpass"), directory.path().join("services"));
    let lines = texts(&[
        "# of mine\ndb.example:5432:shop:app:secret\n*:*:*:me:a\\:b\\\\c\n",
        "localhost:*:shop:*:x\n[::1]:5432:*:*:y:z\n",
    ]);
    let sections = texts(&[
        "[shop]\nhost=db.example\nport=5432\nuser=app\nsslmode=require\n",
        "[other]\n[shop]\nhostaddr=::1\nconnect_timeout=7\ndbname='x y'\npassword=p\n",
    ]);
    let mut stirrer = Stirrer::new(0x0000_f11e, TOKENS);
    let mut read = 0;
    fuzz("password and service files", 1000, || {
        fs::write(&passwords, stirrer.stirred(&lines)).unwrap();
        fs::set_permissions(&passwords, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        fs::write(&services, stirrer.stirred(&sections)).unwrap();
        let port = ["5432", "", "65536", "-1", "x"][stirrer.below(5)];
        let variable = |name: &str| match name {
            "PGPASSFILE" => Some(passwords.display().to_string()),
            "PGSERVICEFILE" => Some(services.display().to_string()),
            "PGPORT" => Some(port.to_owned()).filter(|port| !port.is_empty()),
            _ => None,
        };
        let client = ClientEnvironment { variable: &variable };
        for url in ["postgres:///shop?service=shop", "postgres://app@db.example/shop"] {
            match iolite_db::postgres::Target::within(url, &client) {
                Ok(_) => read += 1,
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }
    });
    assert!(read > 0, "not one could be used");
}

#[test]
fn no_option_file_makes_it_stumble() {
    let directory = in_memory();
    let included = directory.path().join("a.cnf");
    let include = format!("[client]\nuser=me\n!include {}\n", included.display());
    let examples = texts(&[
        "[client]\nuser=me\npassword='se cret' # mine\nssl-ca=/ca.pem\nssl_mode=VERIFY_CA\n[mysqld]\nuser=x\n",
        "[mysql]\nsocket=/run/x.sock\nport=77\nssl\npassword=a\\\\b\\s\"c\n; end\n",
        &include,
        &format!("!includedir {}\n", directory.path().display()),
    ]);
    let mut stirrer = Stirrer::new(0x000c_0f11, TOKENS);
    let mut read = 0;
    fuzz("option files", 1000, || {
        fs::write(&included, stirrer.stirred(&examples)).unwrap();
        let text = text_of(&mut stirrer, &examples);
        for url in ["mysql:///shop", "mysql://me@db.example/shop"] {
            match iolite_db::mysql::Target::with_options(url, &text) {
                Ok(_) => read += 1,
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }
    });
    assert!(read > 0, "not one could be used");
}

/// A witness's notes that were damaged, and a check of what they say.
#[test]
fn no_notes_of_a_witness_make_it_stumble() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().display();
    let plan = format!(
        r#"{{"run":"{}","method":"overwrite","block":4096,"workers":2,"slots":4,"place":"{place}"}}"#,
        "09".repeat(16)
    );
    let notes = format!("iolite-witness 1\nplan {plan}\nack 0 1\nack 1 1\nack 0 2\nend\n");
    let examples =
        texts(&[&notes, &notes.replace("overwrite", "append"), &notes.replace("overwrite", "rename")]);
    let mut stirrer = Stirrer::new(0x0003_17e5, TOKENS);
    let mut read = 0;
    fuzz("notes of a witness", 3000, || {
        match iolite_durability::parse_witness(Path::new("notes"), &stirrer.stirred(&examples)) {
            Ok(known) => {
                read += 1;
                assert!(known.writes() <= 4096, "more than the notes have lines");
                if let Ok(findings) = iolite_durability::check::check(&known) {
                    assert!(findings.lost <= findings.judged && findings.judged <= known.writes());
                }
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    });
    assert!(read > 0, "not one could be read");
}

const TRACES: &[&str] = &[
    "fio version 2 iolog\n/data/f add\n/data/f open\n/data/f read 0 4096\n/data/f write 8192 4096\n/data/f sync 0 0\n/data/f close\n",
    "fio version 3 iolog\n1000 /data/f add\n2000 /data/f open\n3000 /data/f trim 0 4096\n4000 /data/f wait 100 0\n9 /data/f close\n",
];

/// Two records of blktrace: a read and a write that were issued to a device.
fn block_trace() -> Vec<u8> {
    let record = |sequence: u32, sector: u64, action: u32| {
        let mut bytes = Vec::new();
        bytes.extend(0x6561_7407_u32.to_le_bytes());
        bytes.extend(sequence.to_le_bytes());
        bytes.extend((u64::from(sequence) * 1_000_000).to_le_bytes());
        bytes.extend(sector.to_le_bytes());
        bytes.extend(4096_u32.to_le_bytes());
        bytes.extend(action.to_le_bytes());
        bytes.extend([1, 0, 0, 0, 0x10, 0, 0xd0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        bytes
    };
    [record(1, 8, 0x0001_0001), record(2, 64, 0x0002_0001)].concat()
}

#[test]
fn no_trace_makes_it_stumble() {
    let texts = [texts(TRACES), vec![block_trace()]].concat();
    let mut stirrer = Stirrer::new(0x0007_1ace, TOKENS);
    fuzz("traces", 2000, || {
        let trace = stirrer.stirred(&texts);
        let open = move |_: &Path| -> io::Result<Box<dyn io::BufRead>> {
            Ok(Box::new(io::Cursor::new(trace.clone())))
        };
        let context = HostContext {
            variable: &|_| None,
            page_size: 4096,
            memory_mib: 1024,
            cpus: 4,
            open_trace: &open,
            read_file: &|_: &Path| Err(io::ErrorKind::NotFound.into()),
        };
        let job = job_file::read("job.fio", b"[a]\nread_iolog=t\nioengine=psync\n", &context).unwrap();
        if let Err(problems) = plan(&Invocation::default(), &[job], &context) {
            assert!(!problems.0.is_empty());
        }
    });
}

/// A results database with one run.
fn results(directory: &Path) -> PathBuf {
    let (job, path) = (directory.join("job.toml"), directory.join("results.db"));
    fs::write(&job, "[[tasks]]\n[tasks.io]\nname = 'a'\ntarget.null = { size = '1MiB' }\nbackend = 'null'\nstop.operations = 1000\n")
        .unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_iolite"));
    command.arg("run").arg(job).arg("--directory").arg(directory).arg("--results").arg(&path).arg("--quiet");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    path
}

/// As `results import` reads a file of another host.
#[test]
fn no_results_database_makes_it_stumble() {
    let directory = tempfile::tempdir().unwrap();
    let whole = fs::read(results(directory.path())).unwrap();
    let (damaged, copy) = (directory.path().join("damaged.db"), directory.path().join("copy.db"));
    let mut stirrer = Stirrer::new(0x0000_d0db, TOKENS);
    let mut read = 0;
    fuzz("results databases", 200, || {
        let mut bytes = whole.clone();
        for _ in 0..=stirrer.below(4) {
            let at = stirrer.below(bytes.len());
            bytes[at] = stirrer.below(256) as u8;
        }
        if stirrer.below(8) == 0 {
            bytes.truncate(stirrer.below(bytes.len()));
        }
        fs::write(&damaged, &bytes).unwrap();
        let _ = fs::remove_file(&copy);
        let Ok(store) = Store::open_to_read(&damaged) else { return };
        let Ok(runs) = store.runs() else { return };
        let runs: Vec<_> = runs.into_iter().map(|run| run.id).collect();
        read += u32::from(runs.iter().all(|run| store.events(run).is_ok()));
        let _ = store.copy_to(&copy, &runs);
    });
    assert!(read > 0, "not one could be read");
}
