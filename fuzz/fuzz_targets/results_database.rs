#![no_main]

use std::fs;

use iolite_store::Store;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let directory = std::env::temp_dir().join(format!("iolite-fuzz-{}", std::process::id()));
    fs::create_dir_all(&directory).expect("a directory of our own");
    let (found, copy) = (directory.join("results.db"), directory.join("copy.db"));
    fs::write(&found, data).expect("a file of our own");
    let _ = fs::remove_file(&copy);
    let Ok(store) = Store::open_to_read(&found) else { return };
    let Ok(runs) = store.runs() else { return };
    let runs: Vec<_> = runs.into_iter().map(|run| run.id).collect();
    for run in &runs {
        let _ = store.events(run);
    }
    let _ = store.copy_to(&copy, &runs);
});
