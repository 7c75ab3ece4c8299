#![no_main]

use iolite_db::{DatabaseUrl, without_password};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let _ = without_password(&text);
    if let Err(error) = DatabaseUrl::parse(&text) {
        assert!(!error.to_string().is_empty());
    }
    let _ = iolite_db::postgres::Target::new(&text);
    let _ = iolite_db::mysql::Target::parse(&text);
});
