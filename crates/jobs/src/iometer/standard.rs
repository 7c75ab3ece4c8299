//! Access specifications that come with Iometer, and those in common use.

use iolite_model::{AccessLine, AccessSpec, Bytes};

/// The patterns that show how far the best and the worst figure of one storage lie apart, with Iometer's default as number 3:
/// size, % reads, % random.
pub const PATTERNS: [(u64, u8, u8); 7] = [
    (2048, 0, 0),
    (2048, 100, 0),
    (2048, 67, 100),
    (65_536, 100, 0),
    (65_536, 0, 0),
    (262_144, 100, 0),
    (262_144, 0, 0),
];

/// Sizes of Iometer's own specifications.
const SIZES: [(u64, &str); 4] = [(512, "512 B"), (4096, "4 KiB"), (16_384, "16 KiB"), (32_768, "32 KiB")];

/// Shares of reads of each of these sizes, and of random ones.
const SHARES: [(u8, u8); 7] = [(100, 0), (75, 0), (50, 0), (25, 0), (0, 0), (100, 100), (0, 100)];

/// The seven patterns as specifications.
pub fn patterns() -> Vec<AccessSpec> {
    PATTERNS
        .iter()
        .map(|&(size, reads, random)| one(&pattern_name(size, reads, random), size, reads, random))
        .collect()
}

fn pattern_name(size: u64, reads: u8, random: u8) -> String {
    let order = if random == 0 { "sequential" } else { "random" };
    match reads {
        100 => format!("{} {order} read", Bytes(size)),
        0 => format!("{} {order} write", Bytes(size)),
        reads => format!("{} {order} {reads}/{}", Bytes(size), 100 - reads),
    }
}

fn one(name: &str, size: u64, reads: u8, random: u8) -> AccessSpec {
    AccessSpec { name: name.to_owned(), lines: vec![AccessLine::of(size, reads, random)] }
}

/// The standard specifications: idle, the default, sizes by mix, and the common ones.
pub fn standard() -> Vec<AccessSpec> {
    let mut specs =
        vec![AccessSpec { name: "Idle".into(), lines: Vec::new() }, one("Default", 2048, 67, 100)];
    for (size, shown) in SIZES {
        for (reads, random) in SHARES {
            specs.push(one(&format!("{shown}; {reads}% Read; {random}% random"), size, reads, random));
        }
    }
    for (reads, random) in SHARES {
        let name = format!("4 KiB aligned; {reads}% Read; {random}% random");
        let line = AccessLine { align: Bytes(4096), ..AccessLine::of(4096, reads, random) };
        specs.push(AccessSpec { name, lines: vec![line] });
    }
    for (shown, size) in [("64 KiB", 65_536), ("256 KiB", 262_144)] {
        specs.push(one(&format!("{shown}; 100% Read; 0% random"), size, 100, 0));
        specs.push(one(&format!("{shown}; 0% Read; 0% random"), size, 0, 0));
    }
    specs.push(all_in_one());
    specs.push(file_server());
    specs.push(one("Database", 8192, 67, 100));
    specs.push(web_server());
    specs.push(one("Workstation", 8192, 80, 80));
    specs.push(one("Exchange", 4096, 60, 80));
    specs
}

/// Sizes by their shares of a mix.
fn sizes(name: &str, reads: u8, sizes: &[(u64, u8)]) -> AccessSpec {
    let line = |&(size, share): &(u64, u8)| AccessLine { share, ..AccessLine::of(size, reads, 100) };
    AccessSpec { name: name.to_owned(), lines: sizes.iter().map(line).collect() }
}

/// All sizes and shares at once. 100 % do not divide into 28 lines: the first ones have 4 %, the others 3 %.
fn all_in_one() -> AccessSpec {
    let mixes = SIZES.iter().flat_map(|&(size, _)| SHARES.map(|(reads, random)| (size, reads, random)));
    let mut lines: Vec<AccessLine> =
        mixes.map(|(size, reads, random)| AccessLine::of(size, reads, random)).collect();
    let (whole, rest) = (100 / lines.len().max(1), 100 % lines.len().max(1));
    for (index, line) in lines.iter_mut().enumerate() {
        line.share = u8::try_from(whole + usize::from(index < rest)).unwrap_or(u8::MAX);
    }
    AccessSpec { name: "All in one".into(), lines }
}

fn file_server() -> AccessSpec {
    const K: u64 = 1024;
    let shares =
        [(512, 10), (K, 5), (2 * K, 5), (4 * K, 60), (8 * K, 2), (16 * K, 4), (32 * K, 4), (64 * K, 10)];
    sizes("File Server", 80, &shares)
}

fn web_server() -> AccessSpec {
    const K: u64 = 1024;
    let shares = [
        (512, 22),
        (K, 15),
        (2 * K, 8),
        (4 * K, 23),
        (8 * K, 15),
        (16 * K, 2),
        (32 * K, 6),
        (64 * K, 7),
        (128 * K, 1),
        (512 * K, 1),
    ];
    sizes("Web Server", 100, &shares)
}
