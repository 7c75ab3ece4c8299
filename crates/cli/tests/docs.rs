//! The reference pages are what the program and its sources say.

// Helpers of tests may give up as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr, clippy::print_stdout)]

#[path = "docs/errors.rs"]
mod errors;
#[path = "docs/units.rs"]
mod units;

use std::fmt::Write;
use std::fs;
use std::io::{ErrorKind, Seek, Write as _};
use std::path::Path;
use std::process::{Command, Output};

use iolite_model::ErrorCause;
use quote::ToTokens;
use syn::{Attribute, Expr, ExprLit, Field, Fields, Item, Lit, Meta, Variant, Visibility};

/// The commands with a help text of their own.
const COMMANDS: &[&[&str]] = &[
    &[],
    &["check"],
    &["run"],
    &["latency-target"],
    &["verify"],
    &["profiles"],
    &["study"],
    &["study", "cache"],
    &["study", "readahead"],
    &["study", "blocksize"],
    &["durability"],
    &["durability", "run"],
    &["durability", "witness"],
    &["durability", "check"],
    &["explain"],
    &["ranread"],
    &["ranread", "run"],
    &["ranwrite"],
    &["ranwrite", "run"],
    &["ranio"],
    // The other verbs are the same for all three.
    &["ranio", "setup"],
    &["ranio", "create-globals"],
    &["ranio", "add-globals"],
    &["ranio", "count-subscripts"],
    &["ranio", "get-sizes"],
    &["ranio", "run"],
    &["ranio", "sweep"],
    &["ranio", "stop"],
    &["ranio", "history"],
    &["ranio", "export"],
    &["ranio", "reset"],
    &["ranio", "purge"],
    &["tproc-c"],
    &["tproc-c", "build"],
    &["tproc-c", "run"],
    &["tproc-c", "sweep"],
    &["tproc-c", "check"],
    &["tproc-c", "purge"],
    &["waits"],
    &["waits", "watch"],
    &["observe"],
    &["db"],
    &["results"],
    &["results", "list"],
    &["results", "compare"],
    &["results", "ratio"],
    &["results", "export"],
    &["results", "gc"],
    &["plot"],
    &["report"],
    &["serve"],
    &["ab"],
    &["completions"],
    &["man"],
];

/// docs/cli.md, made from the help texts.
fn commands() -> String {
    let mut page = String::from(
        "# Command line\n\nGenerated from the program's help texts (`UPDATE_DOCS=1 cargo test --test docs`).\n",
    );
    for &command in COMMANDS {
        let output = Command::new(env!("CARGO_BIN_EXE_iolite")).args(command).arg("--help").output().unwrap();
        let help = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<_> = help.lines().map(str::trim_end).collect();
        let title = ["iolite"].iter().chain(command).copied().collect::<Vec<_>>().join(" ");
        write!(page, "\n## {title}\n\n```text\n{}\n```\n", lines.join("\n").trim_end()).unwrap();
    }
    page
}

/// What a job is made of, in the order of the page: the file of the model, and the types in it.
const JOB: [(&str, &[&str]); 13] = [
    ("job", &["Job", "JobTask"]),
    (
        "task",
        &[
            "FileTask",
            "Start",
            "Mix",
            "Batch",
            "WriteDurability",
            "SyncRule",
            "SyncMethod",
            "RangeSync",
            "OpenSync",
            "PageCache",
            "Advice",
            "Placement",
            "MemoryPolicy",
            "Flow",
            "Watch",
        ],
    ),
    (
        "target",
        &[
            "Target",
            "FileTarget",
            "ExistingTarget",
            "FilesTarget",
            "NamedFile",
            "Donor",
            "FileOrder",
            "FileLock",
            "LayOut",
            "Reserve",
            "Overwrite",
        ],
    ),
    ("backend", &["BackendKind", "IoFlags", "RingOptions", "BusyOptions", "BusyWork"]),
    ("priority", &["PriorityShare", "Prioritized", "IoPriority", "IoClass"]),
    (
        "access",
        &[
            "Access",
            "Regions",
            "Zone",
            "ZoneSize",
            "ZoneCycle",
            "Jumps",
            "Mixture",
            "MixtureLine",
            "Precondition",
            "ByKind",
            "HotSpot",
        ],
    ),
    ("zoned", &["Zoned", "ZoneResets"]),
    ("trace", &["TracedOp", "TracedKind", "TracedKinds"]),
    ("load", &["Sizes", "SizeLaw", "WeightedSize", "Contents", "Duplicates", "Lifetime", "Fill"]),
    ("arrival", &["Arrival", "KindRates", "Pace", "RatedThinkTime", "Schedule", "Stop"]),
    ("ramp", &["Ramp"]),
    ("verify", &["Verify", "Checksum", "FioChecksum"]),
    ("fault", &["OnError", "KindLimit", "ErrorClass"]),
];

const METADATA: (&str, &[&str]) = ("metadata", &["MetadataTask", "MetadataOperation"]);

const JOB_INTRODUCTION: &str = "# Jobs\n\n\
A job is a TOML file that describes a workload; `iolite run JOB` runs it. Generated from the descriptions in the sources \
(`UPDATE_DOCS=1 cargo test --test docs`). An example, which lays a file out and then reads it at random:\n\n\
```toml\n{EXAMPLE}```\n\n\
A `[[tasks]]` entry is either `io` or `metadata`. \
Omitted fields have the default values shown below. Simple choices are strings (`access = 'random'`), choices with parameters \
are tables (`mix = { read-percent = 70 }`, `access.zipf = { theta = 0.99 }`, `arrival.poisson = 5000`). Sizes are numbers of \
bytes or strings such as `'8KiB'`, times are numbers of nanoseconds or strings such as `'5ms'`.\n";

/// The job in the examples of `iolite run --help`.
fn example_of_a_job() -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_iolite")).args(["run", "--help"]).output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    let lines = help
        .lines()
        .skip_while(|line| !line.contains("<<EOF"))
        .skip(1)
        .take_while(|line| line.trim() != "EOF");
    lines.map(|line| format!("{}\n", line.trim())).collect()
}

/// docs/job.md, made from the model's sources.
fn jobs() -> String {
    let mut page = JOB_INTRODUCTION.replace("{EXAMPLE}", &example_of_a_job());
    for (file, types) in JOB.into_iter().chain([METADATA]) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../model/src/{file}.rs"));
        let source = syn::parse_file(&fs::read_to_string(path).unwrap()).unwrap();
        for name in types {
            let item = source.items.iter().find(|item| named(item, name));
            describe(item.unwrap_or_else(|| panic!("no {name} in {file}.rs")), &mut page);
        }
    }
    let default = iolite_model::Job {
        tasks: vec![iolite_model::JobTask::Io(Box::default())],
        ..iolite_model::Job::default()
    };
    write!(page, "\n## The default\n\n```toml\n{}```\n", toml::to_string(&default).unwrap()).unwrap();
    page
}

fn named(item: &Item, name: &str) -> bool {
    match item {
        Item::Struct(item) => item.ident == name,
        Item::Enum(item) => item.ident == name,
        _ => false,
    }
}

fn describe(item: &Item, page: &mut String) {
    let (name, attributes) = match item {
        Item::Struct(item) => (&item.ident, &item.attrs),
        Item::Enum(item) => (&item.ident, &item.attrs),
        _ => panic!("neither struct nor enum"),
    };
    write!(page, "\n## {name}\n\n{}\n\n", documentation(attributes)).unwrap();
    match item {
        Item::Struct(item) => {
            page.push_str("| field | | meaning |\n|---|---|---|\n");
            let public = |field: &&Field| matches!(field.vis, Visibility::Public(_));
            item.fields.iter().filter(public).for_each(|field| line(field, page));
        }
        Item::Enum(item) => {
            page.push_str("| choice | with | meaning |\n|---|---|---|\n");
            item.variants.iter().for_each(|variant| choice(variant, page));
        }
        _ => {}
    }
}

fn line(field: &Field, page: &mut String) {
    let name = field.ident.as_ref().unwrap();
    writeln!(page, "| `{name}` | {} | {} |", of_type(field), documentation(&field.attrs)).unwrap();
}

fn choice(variant: &Variant, page: &mut String) {
    let with = match &variant.fields {
        Fields::Unit => String::new(),
        Fields::Unnamed(fields) => fields.unnamed.iter().map(of_type).collect::<Vec<_>>().join(", "),
        Fields::Named(fields) => {
            let part = |field: &Field| {
                let name = field.ident.as_ref().unwrap();
                format!(
                    "`{name}`: {} ({})",
                    of_type(field),
                    documentation(&field.attrs).trim_end_matches('.')
                )
            };
            fields.named.iter().map(part).collect::<Vec<_>>().join("; ")
        }
    };
    let name = kebab(&variant.ident.to_string());
    writeln!(page, "| `{name}` | {with} | {} |", documentation(&variant.attrs)).unwrap();
}

/// The text of doc comments, as one line; links to other items without their targets.
fn documentation(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value().trim().to_owned()),
            _ => None,
        },
        _ => None,
    });
    let text = lines.collect::<Vec<_>>().join(" ").replace('|', "\\|");
    let link = |text: &str| {
        let (before, rest) = text.split_once("](crate::").or_else(|| text.split_once("]("))?;
        let (_, after) = rest.split_once(')')?;
        let (start, name) = before.rsplit_once('[')?;
        Some(format!("{start}{name}{after}"))
    };
    let mut text = text;
    while let Some(shorter) = link(&text) {
        text = shorter;
    }
    text.replace("[`", "`").replace("`]", "`")
}

/// What a field holds, as its users write it.
fn of_type(field: &Field) -> String {
    let text = field.ty.to_token_stream().to_string().replace(' ', "");
    let inner =
        |outer: &str| text.strip_prefix(outer).and_then(|rest| rest.strip_suffix('>')).map(str::to_owned);
    let (text, note) = match (inner("Option<"), inner("Vec<")) {
        (Some(inner), _) => (inner, " (optional)"),
        (_, Some(inner)) => (inner, " (list)"),
        _ => (inner("Box<").unwrap_or(text.clone()), ""),
    };
    let plain = match text.as_str() {
        "String" | "PathBuf" => "text",
        "bool" => "true or false",
        "i8" | "u8" | "u16" | "u32" | "u64" | "f64" | "Iops" => "number",
        "Bytes" => "size",
        "Nanos" => "time",
        "Bandwidth" => "size a second",
        "OpKind" => "`'read'`, `'write'`, `'trim'` or `'sync'`",
        // Written as the list of its operations.
        "Trace" => return format!("[TracedOp](#tracedop) (list){note}"),
        other => return format!("[{other}](#{}){note}", other.to_lowercase()),
    };
    format!("{plain}{note}")
}

fn kebab(name: &str) -> String {
    let mut text = String::new();
    for (index, letter) in name.char_indices() {
        if index > 0 && letter.is_uppercase() {
            text.push('-');
        }
        text.extend(letter.to_lowercase());
    }
    text
}

fn is_current(name: &str, page: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, page).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page, "docs/{name} is out of date: UPDATE_DOCS=1 cargo test --test docs");
}

#[test]
fn the_reference_of_the_command_line_is_current() {
    is_current("cli.md", &commands());
}

#[test]
fn the_table_of_errors_is_current() {
    is_current("errors.md", &errors::page());
}

#[test]
fn each_cause_of_an_error_is_produced_in_a_test() {
    let tests = errors::tests_of_causes();
    let untested: Vec<_> =
        ErrorCause::ALL.iter().filter(|cause| !tests.contains_key(&format!("{cause:?}"))).collect();
    assert!(untested.is_empty(), "no test produces {untested:?}: see docs/errors.md");
}

#[test]
fn the_reference_of_jobs_is_current() {
    is_current("job.md", &jobs());
}

#[test]
fn the_reference_of_fio_s_options_is_current() {
    is_current("fio.md", &iolite_fio::language::reference::page());
}

/// Runs a program on a text where it is installed; `None` where it is not.
fn filtered(program: &str, arguments: &[&str], text: &[u8]) -> Option<Output> {
    let mut input = tempfile::tempfile().unwrap();
    input.write_all(text).unwrap();
    input.rewind().unwrap();
    match Command::new(program).args(arguments).stdin(input).env("LC_ALL", "C.UTF-8").output() {
        Ok(output) => Some(output),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            println!("skipped: {program} is not installed");
            None
        }
        Err(error) => panic!("{program}: {error}"),
    }
}

#[test]
fn manual_pages_render_without_complaints() {
    let directory = tempfile::tempdir().unwrap();
    let made = Command::new(env!("CARGO_BIN_EXE_iolite")).arg("man").arg(directory.path()).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let mut pages: Vec<_> =
        fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    pages.sort();
    let names: Vec<_> = pages.iter().map(|page| page.file_name().unwrap().to_string_lossy()).collect();
    for name in
        ["iolite.1", "iolite-check.1", "iolite-ranread-sweep.1", "iolite-study-cache.1", "iolite-fio.1"]
    {
        assert!(names.iter().any(|found| found == name), "{names:?}");
    }
    let check = fs::read_to_string(directory.path().join("iolite-check.1")).unwrap();
    for part in [
        "\n.SH NAME\n",
        "\n.SH OPTIONS\n",
        "\\-\\-budget\\-time",
        ".SH \"EXIT STATUS\"",
        "\\-\\-profile etcd",
    ] {
        assert!(check.contains(part), "{part}: {check}");
    }
    for page in pages {
        let text = fs::read(&page).unwrap();
        for (program, arguments) in
            [("groff", &["-man", "-ww", "-Tutf8", "-z", "-"][..]), ("mandoc", &["-T", "lint", "-W", "error"])]
        {
            let Some(output) = filtered(program, arguments, &text) else { continue };
            let complaints = String::from_utf8_lossy(&output.stderr).into_owned()
                + &String::from_utf8_lossy(&output.stdout);
            assert!(
                output.status.success() && complaints.is_empty(),
                "{program} {}: {complaints}",
                page.display()
            );
        }
    }
}

#[test]
fn completions_are_scripts_of_their_shells() {
    for (shell, program, arguments) in
        [("bash", "bash", &["-n"][..]), ("zsh", "zsh", &["-n"]), ("fish", "fish", &["--no-execute"])]
    {
        let made = Command::new(env!("CARGO_BIN_EXE_iolite")).args(["completions", shell]).output().unwrap();
        assert!(made.status.success(), "{made:?}");
        let script = String::from_utf8_lossy(&made.stdout);
        assert!(script.contains("latency-target") && script.contains("budget-time"), "{script}");
        let Some(output) = filtered(program, arguments, &made.stdout) else { continue };
        assert!(output.status.success() && output.stderr.is_empty(), "{shell}: {output:?}");
    }
    // What is typed is completed: `iolite lat` becomes `iolite latency-target`.
    let script = "source <(\"$IOLITE\" completions bash); COMP_WORDS=(iolite lat); COMP_CWORD=1; _iolite iolite lat iolite; \
                  echo \"${COMPREPLY[@]}\"";
    let bash = Command::new("bash")
        .args(["--norc", "-c", script])
        .env("IOLITE", env!("CARGO_BIN_EXE_iolite"))
        .output();
    match bash {
        Ok(output) => assert_eq!(String::from_utf8_lossy(&output.stdout), "latency-target\n", "{output:?}"),
        Err(error) => println!("skipped: bash: {error}"),
    }
}

/// Where GitHub puts a heading: lower case, blanks as hyphens, no punctuation.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

/// The text of a page without its blocks of code.
fn prose(page: &str) -> String {
    page.split("```").step_by(2).collect()
}

#[test]
fn links_of_the_documents_lead_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages: Vec<_> =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].map(|name| root.join(name)).into();
    pages.extend(fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path()));
    let mut links = 0;
    for page in pages.iter().filter(|page| page.extension().is_some_and(|extension| extension == "md")) {
        for link in prose(&fs::read_to_string(page).unwrap()).split("](").skip(1) {
            let link = link.split(')').next().unwrap();
            if link.contains("://") {
                continue;
            }
            let (path, section) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() { page.clone() } else { page.with_file_name(path) };
            let bytes =
                fs::read(&target).unwrap_or_else(|error| panic!("{}: {link}: {error}", page.display()));
            let text = prose(&String::from_utf8_lossy(&bytes));
            let mut headings = text.lines().filter(|line| line.starts_with('#'));
            let found =
                section.is_empty() || headings.any(|line| anchor(line.trim_start_matches('#')) == section);
            assert!(found, "{}: {link}: no such section", page.display());
            links += 1;
        }
    }
    assert!(links > 20, "{links}");
}
