#![no_main]

use std::path::Path;

use iolite_fio::import::{self, Log};
use libfuzzer_sys::fuzz_target;

/// The kind of a log is in its name: the first byte chooses one.
const NAMES: [&str; 5] = ["x_lat.1.log", "x_clat.log", "x_bw.2.log", "x_iops.log", "x_clat_hist.1.log"];

fuzz_target!(|data: &[u8]| {
    let Some((first, rest)) = data.split_first() else { return };
    let (name, text) = (NAMES[usize::from(*first) % NAMES.len()], String::from_utf8_lossy(rest));
    if let Ok(log) = Log::read(Path::new(name), &text) {
        let _ = import::logs(&mut [log], &[&text], 0);
    }
});
