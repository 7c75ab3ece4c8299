//! Reads and writes of several sizes and orders in words.

use iolite_model::{Mixture, MixtureLine};

/// The first lines of a mixture.
pub(super) fn mixture(what: &Mixture) -> String {
    const SHOWN: usize = 4;
    let Mixture { lines, first: _ } = what;
    let line = |line: &MixtureLine| {
        let MixtureLine { share, size, alignment: _, reads, random } = *line;
        format!("{share} x {size} {reads} % read {random} % random")
    };
    let shown = lines.iter().take(SHOWN).map(line).collect::<Vec<_>>().join(", ");
    let more = lines.len().saturating_sub(SHOWN);
    if more > 0 { format!("mixed ({shown}, {more} more)") } else { format!("mixed ({shown})") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolite_model::Bytes;

    #[test]
    fn of_many_lines_the_first_are_named() {
        let line =
            MixtureLine { share: 50, size: Bytes(8192), alignment: Bytes(512), reads: 67, random: 100 };
        let words = |lines| mixture(&Mixture { lines, first: Bytes(0) });
        assert_eq!(words(vec![line]), "mixed (50 x 8 KiB 67 % read 100 % random)");
        assert!(words(vec![line; 100]).ends_with("random, 96 more)"), "{}", words(vec![line; 100]));
    }
}
