//! The reference page, docs/fio.md: made from the tables, so that it cannot say anything else than what is done.

use super::command_line::OPTIONS;
use super::help::kind;
use super::options::GROUPS;
use super::options::engine::{ENGINES, Kind, known};
use super::options::option::{Form, Opt, Support};

/// The whole page.
pub fn page() -> String {
    let mut page = String::from(INTRODUCTION);
    page.push_str(&counts());
    page.push_str(COMPARED);
    page.push_str("\n## Where iolite differs on purpose\n\n");
    for (what, why) in DIFFERENCES {
        page.push_str(&format!("- **{what}** {why}\n"));
    }
    page.push_str("\n## The command line\n\n| Option | What it does |\n|---|---|\n");
    for option in OPTIONS {
        let short = option.short.map(|short| format!(", `-{short}`")).unwrap_or_default();
        page.push_str(&row(&[format!("`--{}{}`{short}", option.name, option.value()), cell(option.help)]));
    }
    for group in GROUPS {
        page.push_str(&format!("\n## {}\n\n{HEAD}", group.title));
        group.options.iter().for_each(|option| page.push_str(&entry(option)));
    }
    page.push_str(&engines());
    page.push_str(&reasons());
    page
}

const INTRODUCTION: &str = "\
# fio's language

`iolite fio ...` accepts fio's options and job files and prints fio's outputs, as does the program when it is called through a link
named `fio`. This page is generated from the program's table of options (`--cmdhelp=NAME` prints an entry). It lists every option
with its aliases, value, default, support and description. It follows the manual page of fio 3.42.

- *yes*: as in fio.
- *differs*: supported with the stated difference. What changes the work of a job is reported with its results.
- *no*: not supported. A job with this option is rejected with a message that suggests an alternative. No option is silently ignored.

Unknown options are rejected with a list of similar names. An option whose `${VARIABLE}` is not set or empty is rejected with its name, as
by fio (unless it needs no value): it does not keep its default. `iolite explain JOBFILE` describes what a job file will do.
";

/// Differences that no single option has.
const DIFFERENCES: &[(&str, &str)] = &[
    (
        "Response times are measured from the intended start.",
        "With a rate, every operation has a scheduled start. If the device falls behind, fio measures from the late start, and \
         the wait appears in no figure (coordinated omission). iolite also reports the response time, from the intended start to \
         completion: `lat` has fio's meaning, and response times are in the JSON output under the key `iolite`.",
    ),
    (
        "Submission latency is the time to queue.",
        "Operations are submitted and reaped in one system call, whose time is part of `clat`: `slat` is smaller than in fio, \
         `clat` is larger by the same amount, and `lat` is the same.",
    ),
    (
        "Every operation has its own timestamps.",
        "fio reads the clock once for all operations that are reaped together.",
    ),
    (
        "Latencies above 17 s are not clipped.",
        "fio's histograms end there. iolite's histograms reach one hour, with a precision of three digits; fio's histogram bins \
         (`json+`, histogram logs) are derived from them.",
    ),
    (
        "Samples of bandwidth and IOPS cover exact intervals.",
        "fio samples in a thread that wakes up about every 500 ms, so its minimum, mean and maximum contradict its totals. Here \
         a sample counts the completions of an interval, and the samples add up to the total.",
    ),
    (
        "Percentiles come from merged histograms.",
        "Percentiles of a group are those of all its operations, not averages of percentiles.",
    ),
    (
        "Jobs are threads.",
        "Clones are threads of one process with or without `thread`, so that a crash ends them all.",
    ),
    (
        "Verified data has fio's format.",
        "It has the headers of fio 3.33, and those of fio 3.42 are read too; fio verifies what is written here, and the other way \
         around. The field for the seed of the contents holds a number of the run, so that lost writes are found. \
         Data in another format is reported as such.",
    ),
    ("The JSON output contains options without a value.", "Their value is empty. fio 3.33 leaves them out."),
    (
        "The requested amount of I/O is always done.",
        "fio ends a mix of reads and writes with `io_size`, `loops` or a size that is no multiple of `bs` before or after its amount is done, and reads nothing from files of \
         `create_on_open`; several sizes at random offsets leave it gaps; of what `vsync` joins with `iodepth` above 1 it counts \
         only a part of the bytes. `zonemode=strided` at random offsets or with zones smaller than a block ends with the last zone, `random_generator=lfsr` may leave \
         out a file of one block, and with `percentage_random` or unaligned sizes the amount is missed by some blocks. So it is with a number behind `rw` at random offsets or in mixes, with files \
         chosen by `zipf`, `pareto` or `normal` with `loops`, and with several sizes in order together with `io_size`, `number_ios` or zones. Here all of the amount is done, and files that are \
         read are laid out, also where a job before has removed them; `mmap` syncs with blocks of every size, where fio wants 4 KiB.",
    ),
    (
        "What `verify_backlog` has verified from the page cache is verified again.",
        "Without `direct`, data may be read from memory while the job writes; it is read once more at the end of the job.",
    ),
    (
        "Interim results have no disk statistics.",
        "`--status-interval` and SIGUSR1 print the results of the jobs so far; disk statistics are only part of the final results.",
    ),
    (
        "Devices in use are refused.",
        "A device that is mounted, has mounted partitions, holds a member of a volume group or of a RAID, or serves as swap is \
         not written to, whatever the options say.",
    ),
    (
        "Metadata engines keep what exists.",
        "`filestat`, `fileopen` and `filedelete` create the files that are missing or empty before they measure. Files of another \
         size are used as they are, where fio lays them out anew.",
    ),
    (
        "Random offsets differ from fio's.",
        "The same `randseed` gives the same offsets every time, but not fio's. So do sizes of files that are drawn (`filesize` with a \
         range) and the lengths of files that random writes extend.",
    ),
    (
        "Orders with gaps go on in the next loop.",
        "With a number after `rw`, fio's asynchronous engines begin each loop at the start of the file, and its other engines go on \
         where the loop before has ended. Here all engines go on.",
    ),
    (
        "Some jobs that fio 3.33 cannot run do run.",
        "fio 3.33 never ends with `random_distribution=normal` in files of a few blocks and ends early in others, and never ends with some jobs that have \
         `io_submit_mode=offload`; it fails with that in rings, \
         and with `write_hint` and `direct=1` together on current kernels. It fails with `pre_read` of files that it reads past the page \
         cache (`direct=1`) or that have no data yet, and calls what it has written at random offsets in zones (`zonemode=strided`) wrong. It crashes with `fill_device` and `rate_process=poisson`.",
    ),
    (
        "The last write is synced, too.",
        "With `fsync=N`, fio syncs before the write that follows N others, and so not after the last one: 31 times in 64 writes with \
         `fsync=2`, where iolite does 32 times. The JSON key `sync/total_ios` counts fdatasync as well, which fio 3.33 leaves out.",
    ),
    (
        "Cycles of `cpuio` have lines of their own.",
        "The text shows them as reads without bytes, with the time of work and pause together, and the JSON with their rate; \
         fio 3.33 counts the same cycles, has no line for them, a rate of 0 and the time of the work alone.",
    ),
    (
        "Batches are formed dynamically.",
        "Unless set by `iodepth_batch` and related options, all operations that may start are submitted together and all \
         available completions are reaped; the resulting batch sizes are reported with the results.",
    ),
    (
        "Values that mean nothing are refused.",
        "fio goes on with `iodepth=-1`, `--eta=bogus`, `bs=4k-64k` and `bssplit=4k/bogus`; here the value is named, and nothing \
         begins. `--cmdhelp=NAME` of no option has exit code 1, with fio 0.",
    ),
    (
        "Some combinations are refused.",
        "Several sizes with a `random_distribution` and `percentage_random` or a number after `rw`; zones (`zonemode=strided`) smaller \
         than the largest size; a zone of `random_distribution=zoned` or a file of a drawn `filesize` that has not one block.",
    ),
    (
        "Jobs that cannot do their work are refused before any job begins.",
        "Then there is no JSON output. So it is with clones that verify one file that each of them writes (fio warns), a file that is \
         missing with `allow_file_create=0` or got no space with `fill_device`, and an `opendir` without files (fio does nothing \
         and has exit code 0). An `exec_prerun` that fails ends the run before files are laid out.",
    ),
    (
        "Reads of wrong data are errors, not I/O.",
        "fio counts a read whose verification fails as I/O, with its latency.",
    ),
    (
        "The amount with skewed orders of files is that of `size`.",
        "With `file_service_type` `zipf`, `pareto` or `normal`, `loops` and a size that is no multiple of the block size, fio ends \
         one block earlier.",
    ),
    (
        "Runs are stored.",
        "As the runs of other commands: `iolite results list` shows them. The environment variable `IOLITE_RESULTS` names another results \
         database; where it cannot be used, the job runs all the same.",
    ),
    (
        "Messages never mix with results.",
        "Standard output contains only the results, and standard error is empty unless there is a problem.",
    ),
];

/// How many options and engines are as in fio, differ, or are refused.
fn counts() -> String {
    let of = |options: &mut dyn Iterator<Item = &'static Opt>| {
        let mut counts = [0; 3];
        options.for_each(|option| match option.support {
            Support::Full => counts[0] += 1,
            Support::Differs(_) | Support::Bounded(_) => counts[1] += 1,
            Support::Missing(_) => counts[2] += 1,
        });
        counts
    };
    let elsewhere = |option: &&Opt| {
        let missing = |name: &&str| known(name).is_some_and(|engine| matches!(engine.kind, Kind::Missing(_)));
        !option.engines.is_empty() && option.engines.iter().all(missing)
    };
    let (general, all) = (OPTIONS.iter(), || GROUPS.iter().flat_map(|group| group.options));
    let mut command = [0; 3];
    general.for_each(|option| command[if option.help.starts_with("Not supported") { 2 } else { 0 }] += 1);
    let mut engines = [0; 3];
    ENGINES.iter().for_each(|engine| match engine.kind {
        Kind::Io => engines[0] += 1,
        Kind::Names(_) => engines[1] += 1,
        Kind::Missing(_) => engines[2] += 1,
    });
    let mut text = String::from("\n## Counts\n\n| | As in fio | Different | Refused |\n|---|---|---|---|\n");
    for (what, counts) in [
        ("Options of jobs", of(&mut all().filter(|option| !elsewhere(option)))),
        ("Options of engines that are not supported", of(&mut all().filter(elsewhere))),
        ("Options of the command line", command),
        ("Engines", engines),
    ] {
        let counts = counts.map(|count: u32| count.to_string());
        text.push_str(&row(&[&[what.to_owned()][..], &counts].concat()));
    }
    text
}

/// Why engines are not built.
fn reasons() -> String {
    let mut text = String::from("\n## Why engines are not supported\n\n");
    for (engines, why) in REASONS {
        let names: Vec<String> = engines.iter().map(|name| format!("`{name}`")).collect();
        text.push_str(&format!("- {}: {why}\n", names.join(", ")));
    }
    text
}

/// Engines that are not built, with the reason.
const REASONS: &[(&[&str], &str)] = &[
    (
        &["rados", "rbd"],
        "librados and librbd bring their own threads and need a Ceph cluster. The kernel's client (`rbd map`) measures the same \
         cluster through a block device.",
    ),
    (
        &["http"],
        "requests to an object store are not block I/O: they need TLS, signatures and retries, whose cost would be measured as well.",
    ),
    (
        &["nbd", "nfs", "libiscsi", "gfapi", "gfapi_async", "dfs", "ime_psync", "ime_psyncv", "ime_aio"],
        "each needs the library of its vendor or protocol and a server of its kind. All of them can be mounted or attached as a \
         block device, which is what databases use.",
    ),
    (
        &["libhdfs"],
        "it needs a Java virtual machine in the process, which would share its CPUs with the measurement.",
    ),
    (
        &["rdma", "librpma_apm_client", "librpma_apm_server", "librpma_gpspm_client", "librpma_gpspm_server"],
        "they measure RDMA adapters, which need libibverbs and two hosts with such adapters.",
    ),
    (&["net", "netsplice"], "they measure networks, not storage."),
    (
        &["sg", "mtd"],
        "they bypass the block layer, which all databases use. The same device is reached as a block device.",
    ),
    (&["libzbc"], "the kernel presents zoned devices as block devices, which zonemode=zbd uses."),
    (
        &["io_uring_cmd"],
        "commands that pass the file system and the block layer can destroy a device that is in use, which iolite refuses to do.",
    ),
    (
        &["xnvme", "libblkio", "SPDK"],
        "drivers in user space take the device away from the kernel, so that neither its file systems nor the checks for its use \
         apply.",
    ),
    (
        &["pmemblk", "dev-dax", "libpmem"],
        "PMDK is no longer developed. `mmap` on a file system mounted with DAX uses the same memory.",
    ),
    (&["libcufile"], "it needs a GPU and the libraries of its vendor."),
    (
        &["external"],
        "it runs code that iolite does not know, so that nothing can be said about what was measured.",
    ),
    (&["solarisaio", "windowsaio"], "they exist on other operating systems only."),
];

/// What was compared with the installed fio.
const COMPARED: &str = "
## How it was compared

`make fio-differential` runs generated configurations with the installed fio and with iolite and compares exit codes, amounts, file
sizes, contents, keys of the JSON output and the order of offsets, then exchanges verified data of every type in both directions.
Configurations with a known difference run too; the test asserts what the difference is. Where it is in the amount, iolite has to do
what was asked for, in operations of the sizes that were asked for and files of the same length, and fio no more than that and at least a share of it. Other
seeds (`IOLITE_FIO_SEED`) give other configurations.
Of 300 configurations, 170 have to come to the same results with fio 3.33, and do; 130 may differ as they are known to: 43 in the amount with several sizes, 34 in the amount of a mix, 8 in the last part of a block of a mix, 4 in the amount with `lfsr`, 2 in the amount with `percentage_random`, 2 in the amount with `bs_unaligned`, 5 in the amount with a number behind `rw`, 7 in the amount with `random_distribution=normal`, 1 with `mmap` syncs of small blocks, 10 with `create_on_open`, 6 in the length of a growing file, 3 in what `vsync` joins, 1 in sizes of files that are drawn, 1 in combinations that are refused here, 3 in what a rate allows until the time is over.
Of these 130, 70 came to the same results all the same when it ran last; with 5 of the 300, fio did not end.
";

const HEAD: &str = "| Option | Value | Default | Here | What it does |\n|---|---|---|---|---|\n";

fn entry(option: &Opt) -> String {
    let names = std::iter::once(&option.name).chain(option.aliases);
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    let default =
        if option.default.is_empty() { String::new() } else { format!("`{}`", cell(option.default)) };
    let here = match option.support {
        Support::Full => "yes".to_owned(),
        Support::Differs(how) => format!("differs: {}", cell(how)),
        Support::Bounded(how) => format!("differs: {}", cell(how)),
        Support::Missing(remedy) => format!("no: {}", cell(remedy)),
    };
    let engines = match option.engines {
        [] => String::new(),
        engines => format!(" For {}.", engines.join(", ")),
    };
    row(&[names.join(", "), cell(&value(option.form)), default, here, cell(option.help) + &engines])
}

/// What a value looks like.
fn value(form: Form) -> String {
    match form {
        Form::Flag => "0 or 1".into(),
        Form::Integer { min, max: i64::MAX } => format!("integer from {min} on"),
        Form::Integer { min, max } if max >= i64::from(i32::MAX) => format!("integer from {min} on"),
        Form::Integer { min, max } => format!("integer, {min} to {max}"),
        Form::Number { min, max } if max >= 1e9 => format!("number from {min} on"),
        Form::Number { min, max } => format!("number, {min} to {max}"),
        Form::Size => "size".into(),
        Form::SizeOrPercent => "size or percentage".into(),
        Form::Time(unit) => format!("time, in {unit}"),
        Form::Choice(words) => words.join(", "),
        Form::Text | Form::Special(_) => kind(form),
    }
}

fn engines() -> String {
    let mut text = String::from("\n## Engines\n\n| Engine | Here | What it does |\n|---|---|---|\n");
    for engine in ENGINES {
        let here = match engine.kind {
            Kind::Io => "yes".to_owned(),
            Kind::Names(_) => "yes: works on names, one after the other".to_owned(),
            Kind::Missing(remedy) => format!("no: {}", cell(remedy)),
        };
        text.push_str(&row(&[format!("`{}`", engine.name), here, cell(engine.help)]));
    }
    text
}

fn row(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

/// Text that stays within its cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::options;

    #[test]
    fn every_option_has_its_row() {
        let page = page();
        for option in options::all() {
            let start = format!("| `{}`", option.name);
            assert!(page.lines().any(|line| line.starts_with(&start)), "{}", option.name);
        }
    }

    #[test]
    fn every_engine_that_is_missing_has_its_reason() {
        let missing = ENGINES.iter().filter(|engine| matches!(engine.kind, Kind::Missing(_)));
        let mut names: Vec<&str> = missing.map(|engine| engine.name).collect();
        let mut explained: Vec<&str> = REASONS.iter().flat_map(|(names, _)| names.iter().copied()).collect();
        names.sort_unstable();
        explained.sort_unstable();
        assert_eq!(names, explained);
    }

    /// A bar within a cell would begin another one.
    #[test]
    fn all_rows_of_a_table_have_as_many_cells() {
        let page = page();
        let cells = |line: &str| line.replace("\\|", "").matches('|').count();
        let mut lines = page.lines().peekable();
        while let Some(line) = lines.next() {
            if let Some(next) = lines.peek().filter(|next| line.starts_with('|') && next.starts_with('|')) {
                assert_eq!(cells(line), cells(next), "{next}");
            }
        }
        assert_eq!(cell("a|b\nc"), "a\\|b c");
    }
}
