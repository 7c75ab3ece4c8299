#![no_main]

use iolite_jobs::iometer;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(configuration) = iometer::parse(&String::from_utf8_lossy(data)) {
        let printed = iometer::print(&configuration);
        let again = iometer::parse(&printed).expect("what is printed can be read");
        assert_eq!(again, configuration);
        let _ = configuration.points();
    }
});
