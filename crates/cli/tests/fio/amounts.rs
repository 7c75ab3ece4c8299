//! What a generated configuration asks for, and how far fio's amounts may be from that: each bound has its reason.

use std::ops::RangeInclusive;

use super::configurations::{Configuration, Reason};

/// What each job of a configuration is asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Requested {
    /// Bytes of all operations, at least.
    pub(crate) min: u64,
    /// Bytes of all operations, at most.
    pub(crate) max: u64,
    /// The smallest and the largest operation.
    pub(crate) block: (u64, u64),
    /// In zones.
    zoned: bool,
    /// Files of each job.
    files: u64,
    loops: u64,
}

/// A number with a unit, as the generated options have them.
fn bytes(text: &str) -> u64 {
    let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let unit = match unit {
        "" => 1,
        "k" => 1 << 10,
        "m" => 1 << 20,
        other => panic!("`{other}` in {text}"),
    };
    digits.parse::<u64>().unwrap() * unit
}

impl Configuration {
    /// The value of an option of the first job.
    fn value(&self, name: &str) -> Option<&str> {
        let mut of_first = self.options.iter().take_while(|option| !option.starts_with("--stonewall"));
        of_first.find_map(|option| option.strip_prefix(&format!("--{name}=")))
    }

    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.value(name).map(bytes)
    }

    /// The smallest and the largest operation.
    pub(crate) fn blocks(&self) -> (u64, u64) {
        if let Some((min, max)) = self.value("bsrange").and_then(|range| range.split_once('-')) {
            return (bytes(min), bytes(max));
        }
        let split = self.value("bssplit").map(|split| split.split(':').collect::<Vec<_>>());
        let sizes = split.or_else(|| self.value("bs").map(|sizes| sizes.split(',').collect()));
        let sizes = sizes.unwrap_or_else(|| vec!["4k"]);
        let sizes = sizes.iter().map(|size| bytes(size.split('/').next().unwrap()));
        let (min, max) = sizes.fold((u64::MAX, 0), |(min, max), size| (min.min(size), max.max(size)));
        // Without an alignment, any number of bytes in the range.
        if self.is("--bs_unaligned=1") { (1, max) } else { (min, max) }
    }

    /// Number of jobs that the first section starts.
    pub(crate) fn jobs(&self) -> u64 {
        self.number("numjobs").unwrap_or(1)
    }

    /// Whether files become as long as the writes make them.
    pub(crate) fn grows(&self) -> bool {
        let grows = ["create_on_open", "fallocate=none", "fallocate=keep", "fill_device"];
        grows.iter().any(|name| self.has(name))
    }

    /// What each job is asked to do; not of zones, whose gaps count or not.
    pub(crate) fn requested(&self) -> Requested {
        let block = self.blocks();
        let files = self.number("nrfiles").unwrap_or(1);
        let loops = self.number("loops").unwrap_or(1);
        let pass = self.number("filesize").unwrap_or_else(|| self.number("size").unwrap() / files * files);
        let amount = self.number("io_size").unwrap_or(pass);
        // What goes beyond the files is done to the end of the pass, where loops count passes.
        let passes = amount.div_ceil(pass).max(loops) * pass;
        let (low, high) = if loops > 1 && amount > pass {
            (passes.min(amount * loops), passes.max(amount * loops))
        } else {
            (amount * loops, amount * loops)
        };
        // Gaps between operations in order are left out.
        let gap = self.options[1].split_once(':').filter(|_| !self.rw().starts_with("rand"));
        let gap = gap.map_or(0, |(_, gap)| if gap.starts_with('-') { 0 } else { bytes(gap) });
        let low = low / (block.0 + gap) * block.0;
        // The last part of each file that holds no operation is left out, and the last operation of a loop may go beyond.
        let mut min = low.saturating_sub(files * loops * (block.1 - 1));
        let mut max = high + loops * block.1;
        if let Some(operations) = self.number("number_ios") {
            (min, max) = (min.min(operations * loops * block.0), max.min(operations * loops * block.1));
        }
        Requested { min, max, block, zoned: self.has("zonemode"), files, loops }
    }
}

impl Requested {
    /// Bytes that this program may do: what was asked for.
    pub(crate) fn of_ours(&self) -> RangeInclusive<u64> {
        self.min..=self.max
    }

    /// Bytes that fio may do, where it is known to do another amount: never more than was asked for, and no less than a share of it that
    /// fio was not seen to fall below in thousands of configurations. Its documentation determines none of them, but that of a part of
    /// a block.
    pub(crate) fn of_theirs(&self, reason: Reason) -> RangeInclusive<u64> {
        let min = match reason {
            // The end of a zone may end the job.
            _ if self.zoned => self.block.0,
            Reason::Normal => self.block.0,
            // Sizes that fit into none of the gaps are given up on.
            Reason::Sizes => self.min / 4,
            Reason::Part => self.min.saturating_sub(self.block.1),
            _ => self.min / 2,
        };
        min..=self.max
    }

    /// Whether a number of operations of a number of jobs can have this number of bytes: each has one of the sizes, and in each file and loop one may
    /// have been cut short by the end.
    pub(crate) fn sizes_fit(&self, (operations, bytes): (u64, u64), jobs: u64) -> bool {
        let cut = self.files * self.loops * jobs;
        bytes <= operations * self.block.1 && bytes + cut * self.block.0 >= operations * self.block.0
    }
}
