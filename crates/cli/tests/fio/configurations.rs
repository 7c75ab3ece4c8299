//! Generated configurations of fio jobs, and what is known to differ between fio and this program in one.

/// Numbers that follow from a seed.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len() as u64) as usize]
    }

    /// One of these in so many of a hundred cases.
    fn sometimes<'a>(&mut self, percent: u64, of: &[&'a str]) -> Option<&'a str> {
        (self.below(100) < percent).then(|| self.one(of))
    }
}

/// A configuration on files whose amounts follow from it.
#[derive(Debug, Clone)]
pub(crate) struct Configuration {
    /// Options, as on a command line.
    pub(crate) options: Vec<String>,
    /// The options are in a job file.
    pub(crate) file: bool,
}

/// What a known difference is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Known {
    /// fio does another amount than it was asked for.
    Amounts(Reason),
    /// fio refuses to sync mappings with blocks smaller than a page.
    Refused,
    /// fio leaves empty files and reads nothing, or crashes; here files are laid out.
    NothingThere,
    /// How far files grow follows from random offsets.
    Lengths,
    /// fio counts what vsync joins once.
    JoinedOnce,
    /// What was verified from the page cache while the job wrote is verified again.
    VerifiedAgain,
    /// Sizes of files are drawn, and with them the amounts.
    Drawn,
    /// A combination that is refused here with its reason.
    RefusedHere,
    /// fio fails: to read files into the page cache that it reads past the cache, or that have no data yet; to verify what it has written
    /// at random offsets in zones; and with `fill_device` and `rate_process=poisson`, by a signal.
    FioFails,
    /// Time ends it, and a rate limits what is done until then.
    Rate,
}

/// Why fio does another amount than it was asked for: docs/fio.md lists each under "Where iolite differs on purpose".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reason {
    /// Several sizes at random offsets leave gaps that fit none of them; in mixes, and with a limit, sizes differ by chance.
    Sizes,
    /// A mix with a limit or loops ends before or after its amount.
    Mix,
    /// Chance says whether a mix in order reaches the last part of a block.
    Part,
    /// The sequence may hold no block of the file.
    Lfsr,
    /// A part of the offsets is random, without a map.
    PercentRandom,
    /// Sizes are any number of bytes.
    Unaligned,
    /// With files chosen by a law, loops end one block earlier.
    SkewedLoops,
    /// At random offsets in zones, the last zone ends the job; in order, a part of a block does.
    Zones,
    /// A number behind `rw` at random offsets, or in order with loops over a part of a block.
    Jumps,
    /// A normal distribution of offsets: fio 3.33 ends, or never ends, whatever it was asked for.
    Normal,
}

impl Reason {
    fn words(self) -> &'static str {
        match self {
            Reason::Sizes => "in the amount with several sizes",
            Reason::Mix => "in the amount of a mix",
            Reason::Part => "in the last part of a block of a mix",
            Reason::Lfsr => "in the amount with `lfsr`",
            Reason::PercentRandom => "in the amount with `percentage_random`",
            Reason::Unaligned => "in the amount with `bs_unaligned`",
            Reason::SkewedLoops => "in the amount with loops and skewed orders of files",
            Reason::Zones => "in the amount in zones",
            Reason::Normal => "in the amount with `random_distribution=normal`",
            Reason::Jumps => "in the amount with a number behind `rw`",
        }
    }
}

impl Known {
    /// As the figures in docs/fio.md list it.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Known::Amounts(reason) => reason.words(),
            Known::Refused => "with `mmap` syncs of small blocks",
            Known::NothingThere => "with `create_on_open`",
            Known::Lengths => "in the length of a growing file",
            Known::JoinedOnce => "in what `vsync` joins",
            Known::VerifiedAgain => "in what is verified again",
            Known::Drawn => "in sizes of files that are drawn",
            Known::RefusedHere => "in combinations that are refused here",
            Known::FioFails => "in what fio fails at",
            Known::Rate => "in what a rate allows until the time is over",
        }
    }
}

/// Options of one job.
fn job(dice: &mut Dice) -> Vec<String> {
    let rw = dice.one(&["read", "write", "randread", "randwrite", "rw", "randrw"]);
    let mut options = vec!["--name=x".to_owned(), format!("--rw={rw}")];
    options
        .push(dice.one(&["--size=64k", "--size=256k", "--size=1m", "--size=100k", "--size=1000000"]).into());
    let engine =
        dice.one(&["psync", "sync", "vsync", "pvsync", "pvsync2", "libaio", "io_uring", "posixaio", "mmap"]);
    options.push(format!("--ioengine={engine}"));
    let mut maybe = |percent, of: &[&str]| options.extend(dice.sometimes(percent, of).map(str::to_owned));
    maybe(70, &["--bs=4k", "--bs=8k", "--bs=16k", "--bs=512", "--bs=64k", "--bs=4k,8k"]);
    maybe(40, &["--iodepth=2", "--iodepth=8", "--iodepth=32"]);
    maybe(30, &["--numjobs=2", "--numjobs=3"]);
    maybe(30, &["--group_reporting"]);
    maybe(30, &["--nrfiles=2", "--nrfiles=4", "--nrfiles=7"]);
    maybe(20, &["--loops=2", "--loops=3"]);
    maybe(20, &["--io_size=128k", "--io_size=2m"]);
    maybe(15, &["--number_ios=7", "--number_ios=40"]);
    maybe(15, &["--norandommap"]);
    maybe(15, &["--fsync=4", "--fdatasync=8", "--end_fsync=1"]);
    maybe(15, &["--rwmixread=30", "--rwmixwrite=80"]);
    maybe(15, &["--fallocate=none", "--fallocate=keep", "--create_on_open=1", "--overwrite=1"]);
    maybe(15, &["--unlink=1"]);
    maybe(
        15,
        &["--lat_percentiles=1", "--clat_percentiles=0", "--slat_percentiles=1", "--percentile_list=50:99"],
    );
    maybe(10, &["--gtod_reduce=1", "--disable_lat=1", "--disable_clat=1", "--disable_slat=1"]);
    maybe(10, &["--invalidate=0", "--fadvise_hint=0", "--pre_read=1"]);
    maybe(10, &["--unified_rw_reporting=1", "--unified_rw_reporting=both"]);
    maybe(60, &["--zero_buffers=1", "--refill_buffers=1", "--buffer_pattern=0xdeadbeef"]);
    maybe(10, &["--description=words"]);
    maybe(10, &["--rate=64m", "--rate_iops=100k", "--runtime=100", "--rate_iops=100k,200k"]);
    maybe(10, &["--startdelay=0", "--ramp_time=0", "--new_group=1", "--randrepeat=0"]);
    options
}

/// Whether an option goes with what a configuration has already.
type Condition = fn(&Configuration) -> bool;

/// Options that a configuration may have besides, each with a condition. Up to three of them are drawn.
const BESIDES: &[(Condition, &[&str])] = &[
    // Files.
    (Configuration::has_files, &["--openfiles=1", "--openfiles=2", "--openfiles=3"]),
    (Configuration::has_files, &["--file_service_type=sequential", "--file_service_type=roundrobin:3"]),
    (Configuration::has_files, &["--file_service_type=random", "--file_service_type=random:2"]),
    (
        Configuration::has_files,
        &["--file_service_type=zipf:1.2", "--file_service_type=pareto:0.2", "--file_service_type=normal:50"],
    ),
    (Configuration::is_repeated_write, &["--unlink_each_loop=1"]),
    (Configuration::always, &["--fill_device=1"]),
    (Configuration::is_plain, &["--filesize=32k", "--filesize=128k", "--filesize=16k-64k"]),
    (Configuration::keeps_its_files, &["--lockfile=exclusive", "--lockfile=readwrite"]),
    (Configuration::always, &["--create_serialize=0", "--create_fsync=0", "--fsync_on_close=1"]),
    // Places.
    (
        Configuration::is_plain,
        &["--offset=16k", "--offset=25%", "--offset_increment=16k", "--offset_increment=10%"],
    ),
    (Configuration::is_sequential, &["--rw+=:8k", "--rw+=:64k"]),
    // No less than a block.
    (Configuration::is_plain_and_sequential, &["--rw+=:-64k"]),
    (Configuration::is_random, &["--rw+=:4", "--rw+=:8"]),
    (Configuration::is_plain_in_small_blocks, &["--zonemode=strided --zonesize=32k --zoneskip=32k"]),
    (
        Configuration::is_plain_in_small_blocks,
        &["--zonemode=strided --zonesize=16k --zonerange=64k", "--zonemode=strided --zonesize=64k"],
    ),
    (
        Configuration::is_random,
        &["--percentage_random=50", "--percentage_random=20", "--percentage_random=0"],
    ),
    (Configuration::is_random, &["--random_generator=lfsr", "--random_generator=tausworthe64"]),
    (
        Configuration::is_random,
        &[
            "--random_distribution=zipf:1.1",
            "--random_distribution=pareto:0.3",
            "--random_distribution=zoned:60/10:30/20:10/70",
        ],
    ),
    // In files of a few blocks, fio 3.33 never ends with it.
    (Configuration::is_random_in_one_file, &["--random_distribution=normal:20"]),
    (Configuration::is_random, &["--randseed=7", "--allrandrepeat=1", "--softrandommap=1", "--ba=2k"]),
    // Sizes.
    (Configuration::has_one_size_in_order, &["--bssplit=4k/50:8k/50", "--bssplit=4k/20:16k/:64k/10"]),
    (Configuration::has_one_size_in_order, &["--bsrange=4k-16k", "--bsrange=1k-8k"]),
    (Configuration::is_unverified_in_order, &["--bsrange=4k-16k --bs_unaligned=1"]),
    // What is written.
    (Configuration::always, &["--dedupe_percentage=50", "--dedupe_percentage=100", "--scramble_buffers=0"]),
    (
        Configuration::always,
        &["--buffer_compress_percentage=50", "--buffer_compress_percentage=100 --buffer_compress_chunk=4k"],
    ),
    (
        Configuration::always,
        &["--sync_file_range=write:8", "--sync_file_range=wait_before,write,wait_after:4"],
    ),
    (Configuration::always, &["--write_barrier=4", "--sync=dsync", "--sync=sync"]),
    // When.
    (
        Configuration::always,
        &["--thinktime=1us", "--thinktime=20us --thinktime_spin=10us --thinktime_blocks=8"],
    ),
    (
        Configuration::always,
        &["--thinktime=10us --thinktime_iotime=1ms", "--rate=64m --rate_process=poisson"],
    ),
    (Configuration::always, &["--serialize_overlap=1"]),
    (Configuration::goes_until_it_is_done, &["--time_based --runtime=1 --rate_iops=300"]),
    (
        Configuration::has_depth,
        &[
            "--iodepth_batch=4",
            "--iodepth_batch_complete_min=2 --iodepth_batch_complete_max=4",
            "--iodepth_low=1",
            "--iodepth_batch=0 --iodepth_batch_complete=0",
        ],
    ),
    // Hints of files that are open past the page cache are no more in current kernels: fio 3.33 fails then.
    (Configuration::is_buffered, &["--write_hint=short", "--write_hint=none"]),
    // Not io_submit_mode=offload, with which some jobs of fio 3.33 never end.
    // Which clone ends first is for chance to say.
    (Configuration::is_alone, &["--exitall=1"]),
    // What is reported, and how jobs run.
    (Configuration::always, &["--thread", "--mem=mmap", "--mem=shm", "--continue_on_error=all"]),
    (
        Configuration::always,
        &[
            "--write_bw_log=log",
            "--write_iops_log=log --log_avg_msec=10",
            "--write_lat_log=log --per_job_logs=0",
        ],
    ),
    // Verification.
    (Configuration::is_verifiable, &["--verify=crc32c", "--verify=md5", "--verify=sha1 --verify_async=1"]),
    (
        Configuration::is_verifiable,
        &[
            "--verify=crc32c --verify_backlog=8",
            "--verify=xxhash --verify_backlog=16 --verify_backlog_batch=4",
            "--verify=crc32c --verify_interval=512",
            "--verify=pattern --verify_pattern=0xabcd%o",
            "--verify=meta --experimental_verify=1",
            "--verify=crc64 --do_verify=0",
        ],
    ),
];

/// A job that follows, on the file of the first.
const AFTER: &[&str] = &[
    "--stonewall --name=after --rw=read --filename=x.0.0 --size=64k",
    "--stonewall --name=after --rw=write --filename=x.0.0 --size=64k --file_append=1",
    "--stonewall --name=after --rw=randwrite --filename=x.0.0 --size=128k --overwrite=1",
];

/// A configuration on files whose amounts follow from it.
pub(crate) fn configuration(dice: &mut Dice) -> Configuration {
    let mut configuration = Configuration { options: job(dice), file: false };
    for _ in 0..dice.below(4) {
        let (goes, of) = BESIDES[dice.below(BESIDES.len() as u64) as usize];
        let added = dice.one(of);
        if goes(&configuration) {
            configuration.add(added);
        }
    }
    if dice.below(100) < 20 && configuration.can_be_direct() {
        configuration.add("--direct=1");
    }
    if dice.below(100) < 8 && configuration.is_plain() && !configuration.has("unlink") {
        configuration.options.extend(dice.one(AFTER).split(' ').map(str::to_owned));
    }
    configuration.file = dice.below(100) < 20;
    configuration
}

impl Configuration {
    /// Adds options; `--rw+=` to the order of the job.
    fn add(&mut self, options: &str) {
        for option in options.split(' ') {
            let name = option.split('=').next().unwrap_or(option);
            match option.strip_prefix("--rw+=") {
                Some(modifier) => self.options[1].push_str(modifier),
                None if self.has(name.trim_start_matches('-')) => {}
                None => self.options.push(option.to_owned()),
            }
        }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.options.iter().any(|option| option.starts_with(&format!("--{name}")))
    }

    pub(crate) fn is(&self, option: &str) -> bool {
        self.options.iter().any(|given| given == option)
    }

    /// The order of the first job, without its modifier.
    pub(crate) fn rw(&self) -> &str {
        self.options[1].trim_start_matches("--rw=").split(':').next().unwrap_or_default()
    }

    pub(crate) fn is_modified(&self) -> bool {
        self.options[1].contains(':')
    }

    fn always(&self) -> bool {
        true
    }

    fn is_buffered(&self) -> bool {
        !self.has("direct")
    }

    fn is_alone(&self) -> bool {
        !self.has("numjobs")
    }

    /// An operation at a time.
    fn is_synchronous(&self) -> bool {
        !["libaio", "io_uring", "posixaio"].iter().any(|engine| self.has(&format!("ioengine={engine}")))
    }

    fn has_files(&self) -> bool {
        self.has("nrfiles")
    }

    /// What was removed between loops is not read.
    fn is_repeated_write(&self) -> bool {
        self.has("loops") && !self.has("lockfile") && matches!(self.rw(), "write" | "randwrite")
    }

    /// Locks are of files that stay.
    fn keeps_its_files(&self) -> bool {
        !self.has("unlink_each_loop")
    }

    fn has_depth(&self) -> bool {
        self.has("iodepth")
    }

    pub(crate) fn mixed(&self) -> bool {
        self.rw().ends_with("rw")
    }

    fn is_random(&self) -> bool {
        self.rw().starts_with("rand") && !self.is_modified()
    }

    fn is_random_in_one_file(&self) -> bool {
        self.is_random() && !self.has_files()
    }

    fn is_sequential(&self) -> bool {
        !self.rw().starts_with("rand") && !self.is_modified()
    }

    /// Nothing else determines when it ends, and how fast it goes.
    fn goes_until_it_is_done(&self) -> bool {
        let other =
            ["rate", "runtime", "number_ios", "loops", "io_size", "thinktime", "verify", "fill_device"];
        self.is_alone() && !other.iter().any(|name| self.has(name))
    }

    /// Zones hold an operation.
    fn is_plain_in_small_blocks(&self) -> bool {
        self.is_plain() && !self.has("bs=64k")
    }

    /// Verified blocks have a common unit.
    fn is_unverified_in_order(&self) -> bool {
        self.has_one_size_in_order() && !self.has("verify")
    }

    fn is_plain_and_sequential(&self) -> bool {
        self.is_sequential() && self.is_plain()
    }

    /// Files hold all sizes of operations.
    fn has_one_size_in_order(&self) -> bool {
        self.has_one_size() && !self.is_modified() && !self.has_files()
    }

    fn has_one_size(&self) -> bool {
        !["bs=4k,8k", "bssplit", "bsrange"].iter().any(|name| self.has(name))
    }

    /// All of the size is done once, in one size of blocks.
    fn is_plain(&self) -> bool {
        let other = [
            "nrfiles",
            "loops",
            "io_size",
            "number_ios",
            "norandommap",
            "create_on_open",
            "zone",
            "filesize",
            "offset",
        ];
        self.has_one_size() && !other.iter().any(|name| self.has(name))
    }

    fn is_verifiable(&self) -> bool {
        self.is_plain()
            && matches!(self.rw(), "write" | "randwrite")
            && !self.is_modified()
            && !self.has("verify")
    }

    fn can_be_direct(&self) -> bool {
        ![
            "bs=512",
            "ioengine=mmap",
            "size=1000000",
            "bsrange=1k",
            "ba=2k",
            "write_hint",
            "file_append",
            "direct",
        ]
        .iter()
        .any(|name| self.has(name))
            && !self.has("bs_unaligned")
    }

    /// The job file that says the same.
    pub(crate) fn job_file(&self) -> String {
        let mut text = String::new();
        for option in &self.options {
            let option = option.trim_start_matches('-');
            match option.strip_prefix("name=") {
                Some(name) => text += &format!("[{name}]\n"),
                None => text += &format!("{option}\n"),
            }
        }
        text
    }

    /// What is known to differ: docs/fio.md lists it under "Where iolite differs on purpose".
    pub(crate) fn known(&self) -> Option<Known> {
        let (mixed, random) = (self.mixed(), self.rw().starts_with("rand"));
        let partial = self.has("number_ios") || self.has("io_size");
        let unmapped = self.has("norandommap") || self.has("random_distribution") || self.has("ba=");
        let writes = !matches!(self.rw(), "read" | "randread");
        if self.is_refused_here() {
            return Some(Known::RefusedHere);
        }
        let pre_read = self.has("pre_read") && (self.has("direct") || self.grows());
        let crashes = self.has("fill_device") && self.has("rate_process=poisson");
        if pre_read || crashes || (random && self.has("verify") && self.has("zonemode")) {
            return Some(Known::FioFails);
        }
        if self.has("time_based") {
            return Some(Known::Rate);
        }
        let small = self.is("--bs=512") || self.has("bsrange=1k");
        if self.is("--ioengine=mmap") && small && (self.has("fsync") || self.has("fdatasync")) {
            return Some(Known::Refused);
        }
        if self.has("create_on_open") && (mixed || !writes || self.is("--ioengine=mmap")) {
            return Some(Known::NothingThere);
        }
        if self.is("--filesize=16k-64k") {
            return Some(Known::Drawn);
        }
        if self.has("verify_backlog") && !self.has("direct") {
            return Some(Known::VerifiedAgain);
        }
        if let Some(reason) = self.reason_of_amounts() {
            return Some(Known::Amounts(reason));
        }
        if self.joins() {
            return Some(Known::JoinedOnce);
        }
        (random && (partial || unmapped) && self.grows()).then_some(Known::Lengths)
    }

    /// Whether it is a combination that docs/fio.md lists as refused, or may be: drawn sizes of files decide.
    fn is_refused_here(&self) -> bool {
        let several = !self.has_one_size();
        let (_, largest) = self.blocks();
        let in_file = self.number("size").unwrap_or(0) / self.number("nrfiles").unwrap_or(1);
        let zoned = self.has("random_distribution=zoned");
        (several && self.has("random_distribution") && (self.has("percentage_random") || self.is_modified()))
            || (self.number("zonesize").is_some_and(|zone| zone < largest))
            || (self.is("--filesize=16k-64k") && largest > 16 << 10)
            || (zoned && in_file / 10 < largest)
            || in_file * self.number("nrfiles").unwrap_or(1) < largest
    }

    /// Whether operations are joined, of which fio counts a part.
    pub(crate) fn joins(&self) -> bool {
        self.is("--ioengine=vsync") && (self.has("number_ios") || self.has("iodepth"))
    }

    /// Why fio does another amount, where it may.
    fn reason_of_amounts(&self) -> Option<Reason> {
        let (mixed, random) = (self.mixed(), self.rw().starts_with("rand"));
        let partial = self.has("number_ios") || self.has("io_size");
        let skewed = self.has_random_files() && !self.has("file_service_type=random");
        let no_multiple = self.has("size=100k") || self.has("size=1000000");
        let several = !self.has_one_size() && (mixed || random || partial || self.has("zonemode"));
        let reasons = [
            (self.has("random_distribution=normal"), Reason::Normal),
            (several, Reason::Sizes),
            (mixed && (partial || self.has("loops") || self.is_modified()), Reason::Mix),
            // Also in order, where the size is no multiple of the blocks, a loop ends between two of them.
            (self.is_modified() && (random || (no_multiple && self.has("loops"))), Reason::Jumps),
            (self.has("zonemode") && (random || no_multiple), Reason::Zones),
            (self.has("random_generator=lfsr"), Reason::Lfsr),
            (self.has("percentage_random"), Reason::PercentRandom),
            (self.has("bs_unaligned"), Reason::Unaligned),
            (skewed && self.has("loops"), Reason::SkewedLoops),
            (self.rw() == "rw" && no_multiple, Reason::Part),
        ];
        reasons.into_iter().find_map(|(applies, reason)| applies.then_some(reason))
    }

    /// Whether the contents of the files follow from the configuration: known data is written, at known places.
    pub(crate) fn writes_known_data(&self) -> bool {
        let known = (self.has("zero_buffers") || self.has("buffer_pattern")) && !self.has("name=after");
        let drawn = [
            "number_ios",
            "io_size",
            "norandommap",
            "random_distribution",
            "percentage_random",
            "ba=",
            "zone",
        ]
        .iter()
        .any(|name| self.has(name));
        let placed = self.rw() == "write"
            || (self.rw() == "randwrite" && !self.is_modified() && !drawn && self.has_one_size());
        // What a file is laid out with, as it is for mmap, is another matter; a header holds the time.
        let other = ["ioengine=mmap", "verify", "overwrite", "dedupe", "buffer_compress", "filesize=16k-64k"];
        known && placed && !self.has_random_files() && !other.iter().any(|name| self.has(name))
    }

    /// The next file is one by chance.
    fn has_random_files(&self) -> bool {
        ["random", "zipf", "pareto", "normal"]
            .iter()
            .any(|kind| self.has(&format!("file_service_type={kind}")))
    }

    /// Whether the order of offsets follows from the configuration.
    pub(crate) fn has_known_order(&self) -> bool {
        let ordered = matches!(self.rw(), "read" | "write");
        let free = [
            "iodepth",
            "bssplit",
            "bsrange",
            "numjobs",
            "verify",
            "gtod_reduce",
            "disable",
            "write_",
            "filesize=16k-64k",
            "io_submit_mode",
        ];
        // With a number after rw, fio's asynchronous engines begin each loop at the start of the file.
        let begins_again = self.is_modified() && self.has("loops") && !self.is_synchronous();
        ordered && !begins_again && !self.has_random_files() && free.iter().all(|name| !self.has(name))
    }

    /// Whether the number of operations follows from the configuration, not only that of bytes.
    pub(crate) fn counts_operations(&self) -> bool {
        !self.has("bssplit") && !self.has("bsrange")
    }
}
