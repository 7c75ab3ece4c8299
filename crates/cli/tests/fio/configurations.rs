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
    /// fio does another amount than it was asked for: of a mix, or of several sizes at random offsets.
    Amounts,
    /// fio refuses to sync mappings with blocks smaller than a page.
    Refused,
    /// fio leaves empty files and reads nothing, or crashes; here files are laid out.
    NothingThere,
    /// How far files grow follows from random offsets.
    Lengths,
    /// fio counts what vsync joins once.
    JoinedOnce,
}

impl Known {
    /// As the figures in docs/fio.md list it.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Known::Amounts => "in their amounts",
            Known::Refused => "with `mmap` syncs of small blocks",
            Known::NothingThere => "with `create_on_open`",
            Known::Lengths => "in the length of a growing file",
            Known::JoinedOnce => "in what `vsync` joins",
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
    maybe(20, &["--nrfiles=2", "--nrfiles=4"]);
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
    maybe(10, &["--invalidate=0", "--fadvise_hint=0"]);
    maybe(10, &["--unified_rw_reporting=1", "--unified_rw_reporting=both"]);
    maybe(10, &["--file_service_type=sequential", "--file_service_type=random:2"]);
    maybe(60, &["--zero_buffers=1", "--refill_buffers=1", "--buffer_pattern=0xdeadbeef"]);
    maybe(10, &["--description=words"]);
    maybe(10, &["--rate=64m", "--rate_iops=100k", "--runtime=100", "--thinktime=1us"]);
    maybe(10, &["--startdelay=0", "--ramp_time=0", "--new_group=1", "--randrepeat=0"]);
    options
}

/// Options that go with some jobs only.
fn special(dice: &mut Dice, options: &mut Vec<String>) {
    let plain = ["--nrfiles", "--loops", "--io_size", "--number_ios", "--norandommap", "--create_on_open"];
    let has = |name: &str, options: &[String]| options.iter().any(|option| option.starts_with(name));
    let simple = !plain.iter().any(|name| has(name, options)) && !has("--bs=4k,8k", options);
    let is = |option: &str| options.iter().any(|given| given == option);
    let sequential = is("--rw=read") || is("--rw=write");
    let added = match dice.below(10) {
        0 if simple => Some(vec!["--offset=16k"]),
        1 if simple && sequential => Some(vec!["--bssplit=4k/50:8k/50"]),
        2 if simple && sequential => Some(vec!["--zonemode=strided", "--zonesize=32k", "--zoneskip=32k"]),
        3 if simple && is("--rw=write") => Some(vec!["--verify=crc32c"]),
        4 if simple && is("--rw=randwrite") => Some(vec!["--verify=md5"]),
        5 if simple && !has("--unlink", options) => {
            Some(vec!["--stonewall", "--name=after", "--rw=read", "--filename=x.0.0", "--size=64k"])
        }
        6 | 7 if !has("--bs=512", options) && !has("mmap", options) && !has("--size=1000000", options) => {
            Some(vec!["--direct=1"])
        }
        _ => None,
    };
    options.extend(added.into_iter().flatten().map(str::to_owned));
}

/// A configuration on files whose amounts follow from it.
pub(crate) fn configuration(dice: &mut Dice) -> Configuration {
    let mut options = job(dice);
    special(dice, &mut options);
    Configuration { options, file: dice.below(100) < 20 }
}

impl Configuration {
    fn has(&self, name: &str) -> bool {
        self.options.iter().any(|option| option.starts_with(&format!("--{name}")))
    }

    fn is(&self, option: &str) -> bool {
        self.options.iter().any(|given| given == option)
    }

    fn mixed(&self) -> bool {
        self.is("--rw=rw") || self.is("--rw=randrw")
    }

    fn random(&self) -> bool {
        self.is("--rw=randread") || self.is("--rw=randwrite") || self.is("--rw=randrw")
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
        let (mixed, random) = (self.mixed(), self.random());
        let partial = self.has("number_ios") || self.has("io_size");
        let grows = self.has("create_on_open") || self.is("--fallocate=none") || self.is("--fallocate=keep");
        let writes = !(self.is("--rw=read") || self.is("--rw=randread"));
        if self.is("--ioengine=mmap") && self.is("--bs=512") && (self.has("fsync") || self.has("fdatasync")) {
            return Some(Known::Refused);
        }
        if self.has("create_on_open") && (mixed || !writes || self.is("--ioengine=mmap")) {
            return Some(Known::NothingThere);
        }
        if (self.has("bs=4k,8k") && (mixed || random)) || (mixed && (partial || self.has("loops"))) {
            return Some(Known::Amounts);
        }
        if self.is("--ioengine=vsync") && (self.has("number_ios") || self.has("iodepth")) {
            return Some(Known::JoinedOnce);
        }
        (random && partial && grows).then_some(Known::Lengths)
    }

    /// Whether the contents of the files follow from the configuration: known data is written, at known places.
    pub(crate) fn writes_known_data(&self) -> bool {
        let known = (self.has("zero_buffers") || self.has("buffer_pattern")) && !self.has("name=after");
        let partial = ["number_ios", "io_size", "norandommap"].iter().any(|name| self.has(name));
        let placed =
            self.is("--rw=write") || (self.is("--rw=randwrite") && !partial && !self.has("bs=4k,8k"));
        // What a file is laid out with, as it is for mmap, is another matter; a header holds the time.
        known
            && placed
            && !self.is("--ioengine=mmap")
            && !self.has("verify")
            && !self.has("overwrite")
            && !self.has("file_service_type=random")
    }

    /// Whether the order of offsets follows from the configuration.
    pub(crate) fn has_known_order(&self) -> bool {
        let ordered = self.is("--rw=read") || self.is("--rw=write");
        let free =
            ["iodepth", "bssplit", "file_service_type=random", "numjobs", "verify", "gtod_reduce", "disable"];
        ordered && free.iter().all(|name| !self.has(name))
    }

    /// Whether the number of operations follows from the configuration, not only that of bytes.
    pub(crate) fn counts_operations(&self) -> bool {
        !self.has("bssplit")
    }
}
