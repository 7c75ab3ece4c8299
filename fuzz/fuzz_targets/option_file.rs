#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    if let Err(error) = iolite_db::mysql::Target::with_options("mysql:///shop", &text) {
        assert!(!error.to_string().is_empty());
    }
});
