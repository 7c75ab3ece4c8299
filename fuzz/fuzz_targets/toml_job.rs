#![no_main]

use iolite_jobs::{Language, native};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let _ = Language::of(&text, None);
    if let Ok(job) = native::parse(&text) {
        let printed = native::print(&job).expect("what was read can be printed");
        assert_eq!(native::parse(&printed).expect("what is printed can be read"), job);
    }
});
