#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(known) = iolite_durability::parse_witness(Path::new("notes"), data) {
        let _ = iolite_durability::check::check(&known);
    }
});
