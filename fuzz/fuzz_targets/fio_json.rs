#![no_main]

use iolite_fio::import;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = import::json("fio.json", &String::from_utf8_lossy(data));
});
