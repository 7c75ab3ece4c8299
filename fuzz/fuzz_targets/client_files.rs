#![no_main]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use iolite_db::postgres::{ClientEnvironment, Target};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((first, text)) = data.split_first() else { return };
    let file = std::env::temp_dir().join(format!("iolite-fuzz-client-{}", std::process::id()));
    fs::write(&file, text).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let used = if first % 2 == 0 { "PGPASSFILE" } else { "PGSERVICEFILE" };
    let variable = |name: &str| (name == used).then(|| file.display().to_string());
    let client = ClientEnvironment { variable: &variable };
    let url = if first % 2 == 0 { "postgres://app@db.example/shop" } else { "postgres:///shop?service=shop" };
    if let Err(error) = Target::within(url, &client) {
        assert!(!error.to_string().is_empty());
    }
});
