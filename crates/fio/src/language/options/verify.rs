//! Verification.

pub(crate) mod pattern;

use pattern::Pattern;

use std::path::PathBuf;

use iolite_model::{
    Arrival, Bytes, Checksum, FileTask, Fill, FioChecksum, JobTask, LayOut, Mix, Overwrite, SizeLaw, Sizes,
    Target, Verify as TaskVerify, WriteDurability,
};

use crate::language::error::{OptionError, Result};
use crate::language::options::Spec;
use crate::language::options::entry::{CPUS, MAX, choice, flag, ignored, integer, put, size, special};
use crate::language::options::option::{Form, Opt};
use crate::language::thread::{Thread, ThreadIndex};

/// Verification.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verify {
    /// `verify`: how data is checked to be as it was written.
    pub method: Option<Method>,
    /// `do_verify`: what was written is verified after the job.
    pub after: bool,
    /// `verify_only`: what an earlier run of the job has written is verified, and nothing is written.
    pub only: bool,
    /// `verify_interval`: distance between headers; 0 for the block.
    pub interval: Bytes,
    /// `verify_pattern`: what the data is made of; empty for random.
    pub pattern: Pattern,
    /// `verify_pattern_interval`: a pattern without headers begins again with each interval.
    pub pattern_interval: bool,
    /// `verify_offset`: where in its unit a header is.
    pub header_at: Bytes,
    /// `verify_header_version`: headers are written as fio 3.42 writes them.
    pub newer_headers: bool,
    /// `verify_fatal`: verification ends with the first wrong block.
    pub fatal: bool,
    /// `verify_dump`: wrong blocks are saved in files.
    pub dump: bool,
    /// `verify_state_save`: what was written is written down in a file.
    pub save_state: bool,
    /// `verify_state_load`: only what that file counts is verified.
    pub load_state: bool,
    /// `verify_backlog`: blocks that are written before they are verified; 0 for all.
    pub backlog: u32,
    /// `verify_backlog_batch`: blocks that are verified then; 0 for all of them.
    pub backlog_batch: u32,
    /// `trim_percentage`: the share of the operations that are trims.
    pub trim_percent: u8,
    /// `trim_verify_zero`: trimmed blocks are expected to hold zeros.
    pub trim_zeros: bool,
}

/// How data is checked to be as it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// In fio's format.
    Check(FioChecksum),
    /// The data itself.
    Pattern,
}

impl Verify {
    /// Changes `thread` to what these settings say; its target, mix, sizes and contents are set before.
    pub(crate) fn lower(&self, spec: &Spec, place: ThreadIndex, thread: &mut Thread) -> Result {
        let Some(method) = self.wanted() else {
            if self.only {
                return Err(OptionError::refused(
                    "it needs to know how",
                    "specify the job the verify that it was written with",
                )
                .at("verify_only"));
            }
            return Ok(());
        };
        let JobTask::Io(task) = &mut thread.task else {
            return Err(
                OptionError::refused("metadata engines write nothing to verify", "remove it").at("verify")
            );
        };
        if method == Method::Check(FioChecksum::Null) && matches!(task.target, Target::Null { .. }) {
            return Ok(());
        }
        self.trim(task)?;
        let writes = task.mix.writes();
        let only = self.only && writes;
        if only {
            leave_untouched(task);
        }
        let after = writes && (self.after || only);
        let loads = only && self.load_state;
        if loads && task.mix != Mix::Write && task.sizes.is_some() {
            return Err(OptionError::refused(
                "the state counts writes, whose bytes in a mix are known of one size only",
                "remove it, or use one block size, or rw=write or randwrite",
            )
            .at("verify_state_load"));
        }
        let state = loads || (writes && !only && self.save_state);
        let during = after && !only;
        task.verify = Some(TaskVerify {
            check: self.checksum(method),
            unit: self.unit(task),
            reads: task.mix.reads() && !only,
            // What is not compared in this job is meant for another one.
            anyone: !writes || !(after || task.mix.reads()),
            after,
            block: if after { task.largest() } else { Bytes(0) },
            by_write: after && task.sizes.is_some(),
            passes: if during && !spec.job.goes_on() { spec.job.loops } else { 0 },
            backlog: if during { self.backlog } else { 0 },
            backlog_batch: if during { self.backlog_batch } else { 0 },
            offsets: self.pattern.offsets.clone(),
            header_at: self.header_at,
            newer_headers: self.newer_headers,
            trimmed_zeros: self.trim_percent > 0 && self.trim_zeros,
            only,
            fatal: self.fatal,
            dump: self.dump,
            state: state.then(|| state_file(&thread.name, place.number)),
            fio_state: state,
        });
        task.contents.refill = true;
        // As with fio, no verified block equals another: each has its own header.
        task.contents.duplicate_percent = 0;
        if !self.pattern.bytes.is_empty() {
            task.contents.fill = Fill::Pattern(self.pattern.bytes.clone());
        }
        Ok(())
    }

    /// The method; a pattern alone also asks for one.
    fn wanted(&self) -> Option<Method> {
        self.method.or_else(|| (!self.pattern.bytes.is_empty()).then_some(Method::Pattern))
    }

    /// Makes a share of the operations trims.
    fn trim(&self, task: &mut FileTask) -> Result {
        if self.trim_percent == 0 {
            return Ok(());
        }
        let reads = match task.mix {
            Mix::Write => 0,
            Mix::ReadPercent(percent) => percent,
            // Nothing is written that could be trimmed.
            Mix::Read => return Ok(()),
            _ => {
                return Err(OptionError::not_built(
                    "further trims in a job that trims are",
                    "use rw=write, randwrite, rw or randrw, or remove it",
                )
                .at("trim_percentage"));
            }
        };
        if matches!(task.arrival, Arrival::ByKind(_) | Arrival::RatedThinkTime(_)) {
            return Err(OptionError::not_built(
                "trims in a job with rates of reads and writes are",
                "remove one of the two",
            )
            .at("trim_percentage"));
        }
        // Of so many reads and writes, and trims of so many percent of the writes.
        let trims = f64::from(100 - reads) * f64::from(self.trim_percent) / 100.0;
        let share = |part: f64| (100.0 * part / (100.0 + trims)).round() as u8;
        task.mix = match (share(f64::from(reads)), share(trims).max(1)) {
            (0, trims) => Mix::TrimPercent(trims),
            (reads, trims) => Mix::ReadTrimPercent { reads, trims: trims.min(100 - reads) },
        };
        Ok(())
    }

    fn checksum(&self, method: Method) -> Checksum {
        match method {
            Method::Check(checksum) => Checksum::Fio(checksum),
            // Without a pattern the data follows from a header of our own.
            Method::Pattern if self.pattern.bytes.is_empty() => Checksum::Pattern,
            Method::Pattern => Checksum::Fio(FioChecksum::Pattern),
        }
    }

    /// Distance of the headers: without a `verify_interval` that divides all sizes the largest that does.
    fn unit(&self, task: &FileTask) -> Bytes {
        let largest = task.sizes.as_ref().map_or(task.block, |sizes| common(task.mix, sizes));
        // A pattern begins with each block, and has no headers.
        let pattern = self.wanted() == Some(Method::Pattern) && !self.pattern_interval;
        match &task.sizes {
            None if pattern => Bytes(0),
            _ if self.interval.0 > 0 && largest.0.is_multiple_of(self.interval.0) => self.interval,
            None => Bytes(0),
            Some(_) => largest,
        }
    }
}

/// Sees to it that a job that only verifies does not change its target.
fn leave_untouched(task: &mut FileTask) {
    task.durability = WriteDurability::default();
    match &mut task.target {
        Target::Files(files) => (files.overwrite, files.lay_out) = (Overwrite::Never, LayOut::Never),
        Target::Existing(existing) => existing.overwrite = Overwrite::Never,
        Target::Null { .. } | Target::File(_) => {}
    }
}

/// The largest size that all others are multiples of.
fn common(mix: Mix, sizes: &Sizes) -> Bytes {
    let mut all = vec![sizes.alignment.0];
    let mut take = |law: &SizeLaw| match law {
        SizeLaw::Fixed(size) => all.push(size.0),
        SizeLaw::Range { min, max, multiple } => {
            all.push(min.0);
            if min != max {
                all.push(multiple.0);
            }
        }
        SizeLaw::Split(split) => {
            all.extend(split.iter().filter(|part| part.percent > 0.0).map(|part| part.size.0));
        }
    };
    if mix.reads() {
        take(&sizes.reads);
    }
    if mix.writes() {
        take(&sizes.writes);
    }
    all.into_iter().map(Bytes).fold(Bytes(0), Bytes::common_divisor)
}

/// Where fio keeps the state of the thread of this number.
fn state_file(job: &str, number: u32) -> PathBuf {
    PathBuf::from(format!("local-{job}-{number}-verify.state"))
}

const METHODS: [(&str, Option<Method>); 20] = [
    ("0", None),
    ("md5", Some(Method::Check(FioChecksum::Md5))),
    ("crc64", Some(Method::Check(FioChecksum::Crc64))),
    ("crc32", Some(Method::Check(FioChecksum::Crc32))),
    ("crc32c-intel", Some(Method::Check(FioChecksum::Crc32c))),
    ("crc32c", Some(Method::Check(FioChecksum::Crc32c))),
    ("crc16", Some(Method::Check(FioChecksum::Crc16))),
    ("crc7", Some(Method::Check(FioChecksum::Crc7))),
    ("sha1", Some(Method::Check(FioChecksum::Sha1))),
    ("sha256", Some(Method::Check(FioChecksum::Sha256))),
    ("sha512", Some(Method::Check(FioChecksum::Sha512))),
    ("sha3-224", Some(Method::Check(FioChecksum::Sha3_224))),
    ("sha3-256", Some(Method::Check(FioChecksum::Sha3_256))),
    ("sha3-384", Some(Method::Check(FioChecksum::Sha3_384))),
    ("sha3-512", Some(Method::Check(FioChecksum::Sha3_512))),
    ("xxhash", Some(Method::Check(FioChecksum::Xxhash))),
    ("meta", Some(Method::Check(FioChecksum::Meta))),
    ("pattern", Some(Method::Pattern)),
    ("pattern_hdr", Some(Method::Check(FioChecksum::PatternHeader))),
    ("null", Some(Method::Check(FioChecksum::Null))),
];

const COUNT: Form = Form::Integer { min: 0, max: MAX };
const NO_BACKLOG: &str = "trims are mixed with the writes from the start";

/// The options.
pub const OPTIONS: &[Opt] = &[
    choice!("verify", &METHODS, |s, v| s.verify.method = v)
        .default("0")
        .help(
            "How data is recognised. A job that writes is verified after each of its loops, one that reads \
             verifies what an earlier job has written; the first wrong block ends a job with EILSEQ.",
        )
        .bounded(
            "headers are those of fio 3.33, which fio verifies; those of fio 3.42 are read too. \
             verify=pattern without a verify_pattern has a header of our own. Also what a job has written \
             that its runtime ends is verified. With time_based, or an io_size that goes over the files \
             several times, all is verified once, at the end of the job. Before data is verified it is made \
             durable and dropped from the page cache; like the reads, that does not count as time of the \
             job's I/O, so that the bandwidth of buffered writes is that of the page cache unless fsync or \
             the like is set",
        ),
    flag("do_verify", |s, on| s.verify.after = on).default("1").help(
        "Whether what was written is read and verified after the job; with 0 it is left for a later job.",
    ),
    flag("verify_only", |s, on| s.verify.only = on)
        .help("Verifies data written by an earlier run of the same job, without writing.")
        .bounded(
            "random offsets follow from the seed: of another program's data, only that of sequential jobs is \
             verified",
        ),
    size("verify_interval", |s, size| s.verify.interval = size)
        .default("0")
        .help(
            "Distance between headers. It has no effect if it does not divide all sizes, or is larger: each \
             block has one then.",
        )
        .bounded("at least the size of the header and its checksum: 40 to 168 bytes"),
    choice!("verify_header_version", &[("3.33", false), ("3.42", true)], |s, v| s.verify.newer_headers = v)
        .default("3.33")
        .help("Version of fio whose headers are written; those of both are read. An option of iolite."),
    size("verify_offset", |s, size| s.verify.header_at = size)
        .default("0")
        .help("Where in a unit its header and checksum are: they are swapped with the data there.")
        .bounded(
            "0, or behind the largest header and its checksum (49 to 176 bytes), so that it can be swapped \
             back: what fio writes with less, it can't verify itself",
        ),
    special(
        "verify_pattern",
        Form::Special("0x and hexadecimal digits, text in double quotes, numbers; one after the other"),
        |s, g| put(&mut s.verify.pattern, pattern::with_offsets(g.text()?)),
    )
    .help("What written blocks are filled with, apart from their headers. Without it they are random."),
    flag("verify_pattern_interval", |s, on| s.verify.pattern_interval = on)
        .help("A pattern without headers begins again with each verify_interval, whose offset `%o` then is."),
    ignored("verifysort", Form::Flag)
        .default("1")
        .help("Obsolete; accepted and ignored, as in current fio.")
        .differs("it is deprecated and has no effect, as in fio"),
    ignored("verifysort_nr", Form::Integer { min: 0, max: 131_072 })
        .default("1024")
        .help("Obsolete; accepted and ignored, as in current fio.")
        .differs("it is deprecated and has no effect, as in fio"),
    flag("verify_fatal", |s, on| s.verify.fatal = on)
        .help("Whether verification ends with the first wrong block.")
        .bounded(
            "without it, what was written is verified to its end, where fio 3.33 ends with the first wrong \
             block; reads of the job end it there unless continue_on_error is set, as in fio",
        ),
    flag("verify_dump", |s, on| s.verify.dump = on).help("Whether wrong blocks are put into files.").bounded(
        "up to 64 blocks; NAME.OFFSET.expected is only created of verify=pattern, whose contents are known; \
         existing files are kept",
    ),
    ignored("verify_async", COUNT)
        .default("0")
        .help("Number of additional threads that verify.")
        .bounded("the job's own thread verifies; that is left out of the latencies"),
    special("verify_async_cpus", CPUS, |_, g| super::placement::list(g.text()?).map(drop))
        .help("CPUs for the threads of verify_async.")
        .bounded("there are no such threads"),
    integer("verify_backlog", 0, MAX, |s, value| s.verify.backlog = value as u32)
        .default("0")
        .help("Blocks that are written before they are read back and verified, rather than all of them.")
        .bounded(
            "measured time stands still while data is verified: the bandwidth of writes does not include it. \
             Without direct=1 this may compare the page cache with itself, so that all is verified again, \
             from the device, after each loop",
        ),
    integer("verify_backlog_batch", 0, MAX, |s, value| s.verify.backlog_batch = value as u32)
        .default("0")
        .help("How many blocks of verify_backlog are verified at a time, the oldest first.")
        .bounded("more than verify_backlog is the same as verify_backlog"),
    flag("verify_state_save", |s, on| s.verify.save_state = on)
        .help("Writes down what was written, so that it can be verified at another time.")
        .differs(
            "off by default; local-NAME-N-verify.state has version 3 of fio's format (fio 3.33; fio 3.42 has \
             version 7, whose layout is not documented), without the state of fio's random numbers",
        ),
    flag("verify_state_load", |s, on| s.verify.load_state = on)
        .help("Verifies only data recorded as written in a saved state.")
        .bounded(
            "as in fio, it has an effect with verify_only=1; in mixes for one block size; states of version \
             3 (fio 3.33). Those of version 7 (fio 3.42) are refused by name, because their layout is not \
             documented",
        ),
    ignored("verify_write_sequence", Form::Flag)
        .default("1")
        .help("Whether the numbers of writes in the headers are compared.")
        .bounded("the job that has written knows the number of each write and compares it; others do not"),
    ignored("verify_header_seed", Form::Flag)
        .default("1")
        .help("Whether the seeds in the headers are compared.")
        .bounded("it has no effect, because headers do not contain the seed"),
    ignored("experimental_verify", Form::Flag)
        .help("Repeats the job's offsets to verify, rather than remembering them.")
        .bounded("what was written is always remembered"),
    integer("trim_percentage", 0, 100, |s, value| s.verify.trim_percent = value as u8)
        .default("0")
        .help("Percent of the verified blocks that are trimmed.")
        .differs(
            "trims are mixed with the writes from the start, without backlog, and files are trimmed too (fio \
             3.33 trims devices only)",
        ),
    flag("trim_verify_zero", |s, on| s.verify.trim_zeros = on)
        .default("1")
        .help("Whether blocks trimmed by trim_percentage are expected to hold zeros."),
    ignored("trim_backlog", COUNT)
        .help("Blocks that are written before some are trimmed.")
        .differs(NO_BACKLOG),
    ignored("trim_backlog_batch", COUNT)
        .help("How many blocks of trim_backlog are trimmed at a time.")
        .differs(NO_BACKLOG),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::options::option::samples::{io, lowered, task};
    use iolite_model::{Contents, FilesTarget, MetadataTask, SyncMethod, WeightedSize};

    fn verified(settings: &[(&str, &str)], task: FileTask) -> Result<TaskVerify, OptionError> {
        io(settings, task).map(|(_, task)| task.verify.expect("verified"))
    }

    fn when(settings: &[(&str, &str)], mix: Mix) -> (bool, bool, bool) {
        let verify = verified(settings, task(mix)).unwrap();
        (verify.reads, verify.anyone, verify.after)
    }

    #[test]
    fn nothing_is_verified_unless_asked() {
        let before = task(Mix::Write);
        assert_eq!(io(&[("do_verify", "1"), ("verify_fatal", "1")], before.clone()).unwrap().1.verify, None);
        assert_eq!(io(&[("verify", "0")], before).unwrap().1.verify, None);
    }

    #[test]
    fn what_a_job_does_says_when_it_is_verified() {
        let md5 = ("verify", "md5");
        assert_eq!(when(&[md5], Mix::Write), (false, false, true));
        assert_eq!(when(&[md5], Mix::ReadPercent(50)), (true, false, true));
        assert_eq!(when(&[md5], Mix::Read), (true, true, false));
        assert_eq!(when(&[md5, ("do_verify", "0")], Mix::Write), (false, true, false));
        assert_eq!(when(&[md5, ("do_verify", "0")], Mix::ReadPercent(50)), (true, false, false));
        assert_eq!(when(&[md5], Mix::TrimThenWrite), (false, false, true));
        let names = JobTask::Metadata(MetadataTask::default());
        assert!(lowered(&[md5], names).unwrap_err().to_string().contains("metadata"));
    }

    #[test]
    fn every_method_is_fio_s() {
        for (name, _) in METHODS.iter().filter(|(_, method)| method.is_some()) {
            let check = verified(&[("verify", name)], task(Mix::Write)).unwrap().check;
            let expected = if *name == "crc32c-intel" { "crc32c" } else { name };
            assert_eq!(check.name(), expected);
            assert!(matches!(check, Checksum::Fio(_)) || *name == "pattern", "{name}: {check:?}");
        }
    }

    #[test]
    fn pretending_needs_nothing_to_keep_the_data() {
        let null = FileTask { target: Target::Null { size: Bytes::MIB }, ..task(Mix::Write) };
        assert_eq!(io(&[("verify", "null")], null.clone()).unwrap().1.verify, None);
        assert!(verified(&[("verify", "md5")], null).is_ok());
    }

    #[test]
    fn a_pattern_is_what_is_written() {
        let fill = |settings: &[(&str, &str)]| io(settings, task(Mix::Write)).map(|(_, task)| task);
        let found = fill(&[("verify", "meta"), ("verify_pattern", "0xaa55")]).unwrap();
        assert_eq!(found.contents.fill, Fill::Pattern(vec![0xaa, 0x55]));
        assert_eq!(found.verify.unwrap().check, Checksum::Fio(FioChecksum::Meta));
        for settings in
            [&[("verify_pattern", "0xaa55")][..], &[("verify", "pattern"), ("verify_pattern", "0xaa55")]]
        {
            let found = fill(settings).unwrap();
            assert_eq!(found.contents.fill, Fill::Pattern(vec![0xaa, 0x55]));
            assert_eq!(found.verify.unwrap().check, Checksum::Fio(FioChecksum::Pattern));
        }
    }

    #[test]
    fn buffers_are_filled_again() {
        let contents = Contents { refill: false, ..Contents::default() };
        let task = FileTask { contents, ..task(Mix::Write) };
        assert!(!io(&[], task.clone()).unwrap().1.contents.refill);
        assert!(io(&[("verify", "md5")], task.clone()).unwrap().1.contents.refill);
        let contents = Contents { duplicate_percent: 30, ..task.contents };
        let task = FileTask { contents, ..task };
        assert_eq!(io(&[("verify", "md5")], task).unwrap().1.contents.duplicate_percent, 0);
    }

    #[test]
    fn the_unit_divides_all_sizes() {
        let unit = |settings: &[(&str, &str)], sizes: Option<Sizes>| {
            let settings: Vec<_> = [("verify", "md5")].iter().chain(settings).copied().collect();
            verified(&settings, FileTask { sizes, ..task(Mix::Write) }).unwrap().unit
        };
        assert_eq!(unit(&[], None), Bytes(0));
        assert_eq!(unit(&[("verify_interval", "512")], None), Bytes(512));
        assert_eq!(unit(&[("verify_interval", "8k")], None), Bytes(0));
        assert_eq!(unit(&[("verify_interval", "1000")], None), Bytes(0));
        let part = |size, percent| WeightedSize { size: Bytes(size), percent };
        let split = SizeLaw::Split(vec![part(8192, 50.0), part(12288, 50.0), part(512, 0.0)]);
        assert_eq!(unit(&[], Some(Sizes::alike(split, Bytes(8192)))), Bytes(4096));
        let range = SizeLaw::Range { min: Bytes(4096), max: Bytes(65536), multiple: Bytes(1024) };
        assert_eq!(unit(&[], Some(Sizes::alike(range, Bytes(4096)))), Bytes(1024));
    }

    #[test]
    fn only_verifying_changes_nothing() {
        let written = |mix| FileTask {
            durability: WriteDurability { end_sync: Some(SyncMethod::Fsync), ..WriteDurability::default() },
            ..task(mix)
        };
        for mix in [Mix::Write, Mix::ReadPercent(50)] {
            let (_, task) = io(&[("verify", "md5"), ("verify_only", "1")], written(mix)).unwrap();
            assert_eq!((task.mix, task.durability.end_sync), (mix, None));
            let Target::Files(FilesTarget { overwrite, lay_out, .. }) = task.target else {
                panic!("{:?}", task.target)
            };
            assert_eq!((overwrite, lay_out), (Overwrite::Never, LayOut::Never));
            let verify = task.verify.unwrap();
            assert!(verify.only && !verify.reads && verify.after, "{verify:?}");
        }
        let error = io(&[("verify_only", "1")], written(Mix::Write)).unwrap_err().to_string();
        assert!(error.contains("verify_only"), "{error}");
    }

    #[test]
    fn the_first_wrong_block_may_end_the_verification() {
        assert!(!verified(&[("verify", "md5")], task(Mix::Write)).unwrap().fatal);
        assert!(verified(&[("verify", "md5"), ("verify_fatal", "1")], task(Mix::Write)).unwrap().fatal);
    }

    #[test]
    fn trims_are_a_share_of_what_is_verified() {
        let trimmed = |mix| io(&[("verify", "md5"), ("trim_percentage", "50")], task(mix));
        let (_, task) = trimmed(Mix::Write).unwrap();
        assert_eq!(task.mix, Mix::TrimPercent(33));
        assert!(task.verify.unwrap().trimmed_zeros);
        assert_eq!(trimmed(Mix::Read).unwrap().1.mix, Mix::Read);
        assert_eq!(
            trimmed(Mix::ReadPercent(60)).unwrap().1.mix,
            Mix::ReadTrimPercent { reads: 50, trims: 17 }
        );
        assert!(trimmed(Mix::TrimThenWrite).unwrap_err().to_string().contains("trim_percentage"));
    }

    #[test]
    fn the_state_is_kept_where_it_is_asked_for() {
        let state = |value, mix| {
            verified(&[("verify", "md5"), ("verify_state_save", value)], task(mix)).unwrap().state
        };
        assert_eq!(state("1", Mix::Write), Some("local-j-3-verify.state".into()));
        assert_eq!(state("0", Mix::Write), None);
        let load = |mix| {
            let settings = [("verify", "md5"), ("verify_only", "1"), ("verify_state_load", "1")];
            verified(&settings, task(mix))
        };
        let verify = load(Mix::Write).unwrap();
        assert_eq!((verify.state, verify.fio_state), (Some("local-j-3-verify.state".into()), true));
        assert!(load(Mix::ReadPercent(50)).unwrap().fio_state);
        assert_eq!(state("1", Mix::Read), None);
        assert_eq!(verified(&[("verify", "md5")], task(Mix::Write)).unwrap().state, None);
    }
}
