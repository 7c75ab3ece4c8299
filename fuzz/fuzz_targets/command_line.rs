#![no_main]

use iolite_fio::language::{command_line, print};
use libfuzzer_sys::fuzz_target;

mod common;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let arguments: Vec<String> = text.split('\n').map(str::to_owned).collect();
    match command_line::parse(&arguments) {
        Ok(invocation) => {
            print::command_line(&invocation.jobs);
            common::planned(&invocation, &[]);
        }
        Err(problem) => assert!(problem.origin.line as usize <= arguments.len()),
    }
});
