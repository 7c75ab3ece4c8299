//! Lifetimes of blocks (`block_error_percentiles`): trims that they took, and how they ended.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::value::{Json, Members};

/// The longest line of percentiles.
const WIDTH: usize = 80;

/// What state blocks are in, in the order in which they are reported.
pub(crate) const STATES: [&str; 5] = ["unwritten", "trimmed", "written", "trim failure", "write failure"];

/// What came of the blocks of a job.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BlockResult {
    /// By number of trims that a block took: blocks. Those without any are left out.
    pub lifetimes: BTreeMap<u32, u64>,
    /// Blocks by their last state: unwritten, trimmed, written, trim failure, write failure.
    pub states: [u64; 5],
}

impl BlockResult {
    /// Those of several jobs together; `None` where none has any.
    pub(crate) fn of<'a>(results: impl Iterator<Item = &'a BlockResult>) -> Option<BlockResult> {
        results.fold(None, |sum: Option<BlockResult>, result| {
            let mut sum = sum.unwrap_or_default();
            for (trims, blocks) in &result.lifetimes {
                *sum.lifetimes.entry(*trims).or_default() += blocks;
            }
            sum.states.iter_mut().zip(result.states).for_each(|(sum, blocks)| *sum += blocks);
            Some(sum)
        })
    }

    /// The number of trims that this percentage of the trimmed blocks took at most.
    fn percentile(&self, percent: f64) -> u32 {
        let blocks: u64 = self.lifetimes.values().sum();
        let wanted = ((percent / 100.0 * blocks as f64).ceil() as u64).max(1);
        let mut sum = 0;
        let reached = self.lifetimes.iter().find(|(_, blocks)| {
            sum += **blocks;
            sum >= wanted
        });
        reached.map_or(0, |(trims, _)| *trims)
    }

    /// As in fio's text.
    pub(crate) fn text(&self, percentiles: &[f64]) -> String {
        let mut out = String::from("  block lifetime percentiles :\n");
        let mut line = String::from("   | ");
        for (index, percent) in percentiles.iter().enumerate() {
            let more = if index + 1 < percentiles.len() { ", " } else { "" };
            let item = format!("{percent:.2}th={}{more}", self.percentile(*percent));
            if line.len() + item.len() > WIDTH {
                out += line.trim_end();
                line = String::from("\n   | ");
            }
            line += &item;
        }
        out += &line;
        let states = STATES.iter().zip(self.states).map(|(name, blocks)| format!("{name}={blocks}"));
        out + &format!("\n        states               : {}\n", states.collect::<Vec<_>>().join(", "))
    }

    /// As in fio's JSON.
    pub(crate) fn json(&self, percentiles: &[f64]) -> Json {
        let shown = percentiles.iter().fold(Members::default(), |members, percent| {
            members.with_int(&format!("{percent:.6}"), self.percentile(*percent))
        });
        let states = STATES.iter().zip(self.states);
        let states =
            states.fold(Members::default(), |members, (name, blocks)| members.with_int(name, blocks));
        Members::default().with("percentiles", shown.object()).with("states", states.object()).object()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifetimes_are_reported_as_fio_does() {
        let one = BlockResult { lifetimes: [(3, 1)].into(), states: [0, 1, 0, 0, 0] };
        let percentiles = [
            1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95,
            99.99,
        ];
        let expected = "  block lifetime percentiles :\n   | 1.00th=3, 5.00th=3, 10.00th=3, 20.00th=3, 30.00th=3, 40.00th=3, \
                        50.00th=3,\n   | 60.00th=3, 70.00th=3, 80.00th=3, 90.00th=3, 95.00th=3, 99.00th=3,\n   | 99.50th=3, \
                        99.90th=3, 99.95th=3, 99.99th=3\n        states               : unwritten=0, trimmed=1, written=0, \
                        trim failure=0, write failure=0\n";
        assert_eq!(one.text(&percentiles), expected);
    }

    #[test]
    fn percentiles_are_of_all_blocks() {
        let one = BlockResult { lifetimes: [(1, 50), (4, 49)].into(), states: [1, 2, 3, 4, 5] };
        let other = BlockResult { lifetimes: [(9, 1)].into(), states: [1; 5] };
        let both = BlockResult::of([one, other].iter()).unwrap();
        assert_eq!([1.0, 50.0, 50.1, 99.0, 99.5].map(|percent| both.percentile(percent)), [1, 1, 4, 4, 9]);
        assert_eq!(both.states, [2, 3, 4, 5, 6]);
        assert_eq!(BlockResult::of([].iter()), None);
        assert_eq!(BlockResult::default().percentile(50.0), 0);
    }
}
