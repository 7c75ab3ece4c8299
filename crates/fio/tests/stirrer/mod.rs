//! Inputs made from examples by a seeded generator. Tests of several crates use it.

#![allow(dead_code)]

use std::time::Duration;

/// Marsaglia's xorshift64: enough to stir with.
pub(crate) struct Stirrer {
    state: u64,
    tokens: &'static [&'static str],
}

impl Stirrer {
    /// The generator of this parser: the same inputs each time, or others with each `IOLITE_FUZZ_SEED`.
    pub(crate) fn new(parser: u64, tokens: &'static [&'static str]) -> Stirrer {
        // Zero would stay zero.
        Stirrer {
            state: (parser ^ seed().unwrap_or_default().wrapping_mul(0x9e37_79b9_7f4a_7c15)).max(1),
            tokens,
        }
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state % bound.max(1) as u64) as usize
    }

    /// A few changes to one of the texts.
    pub(crate) fn stirred(&mut self, texts: &[Vec<u8>]) -> Vec<u8> {
        let mut text = texts[self.below(texts.len())].clone();
        text.truncate(4096);
        for _ in 0..=self.below(6) {
            let at = self.below(text.len() + 1);
            let end = (at + self.below(40)).min(text.len());
            match self.below(6) {
                0 => drop(text.drain(at..end)),
                1 => text.insert(at, self.below(256) as u8),
                2 => {
                    let again = text[at..end].repeat(1 + self.below(20));
                    text.splice(at..at, again);
                }
                3 => {
                    let other = &texts[self.below(texts.len())];
                    let from = self.below(other.len());
                    let until = (from + self.below(200)).min(other.len());
                    text.splice(at..end, other[from..until].iter().copied());
                }
                _ => {
                    let token = self.below(self.tokens.len());
                    let token = self.tokens[token];
                    text.splice(at..at, token.bytes());
                }
            }
        }
        text
    }
}

/// Calls `one` for `short` inputs, or for as much CPU time as `IOLITE_FUZZ_SECONDS` says, and prints what was done.
pub(crate) fn fuzz(parser: &str, short: u64, mut one: impl FnMut()) {
    let longest = std::env::var("IOLITE_FUZZ_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    let longest = longest.map(Duration::from_secs);
    let started = cpu_time();
    let mut inputs = 0;
    while longest.map_or(inputs < short, |longest| cpu_time().saturating_sub(started) < longest) {
        let named = Named { parser, input: inputs };
        one();
        drop(named);
        inputs += 1;
    }
    let seconds = cpu_time().saturating_sub(started).as_secs_f64();
    println!("fuzzed: {parser}: {inputs} inputs, {seconds:.1} s of CPU time");
}

/// Names the input at which a parser stumbled, when its panic passes by.
struct Named<'a> {
    parser: &'a str,
    input: u64,
}

impl Drop for Named<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let seed = seed().map(|seed| format!(" with IOLITE_FUZZ_SEED={seed}")).unwrap_or_default();
            println!("stumbled: {}: input {}{seed}", self.parser, self.input);
        }
    }
}

fn seed() -> Option<u64> {
    std::env::var("IOLITE_FUZZ_SEED").ok()?.parse().ok()
}

/// CPU time of this thread.
fn cpu_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split_whitespace().next().and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(nanos.unwrap_or_default())
}
