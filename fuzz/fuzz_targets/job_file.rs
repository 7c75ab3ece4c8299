#![no_main]

use iolite_fio::language::{Document, Invocation, job_file, print};
use libfuzzer_sys::fuzz_target;

mod common;

fuzz_target!(|data: &[u8]| {
    let context = common::context();
    match job_file::read("job.fio", data, &context) {
        Ok(document) => {
            let text = print::job_file(&document).expect("what was read can be printed");
            let again = job_file::read("job.fio", text.as_bytes(), &context).expect("what is printed can be read");
            assert_eq!(settings_of(&document), settings_of(&again));
            common::planned(&Invocation::default(), &[document]);
        }
        Err(problem) => {
            assert!(problem.origin.file.is_some() && problem.origin.line > 0 && problem.origin.column > 0);
        }
    }
});

/// The sections without their places.
fn settings_of(document: &Document) -> Vec<(&str, Vec<(&str, Option<&str>)>)> {
    let sections = document.sections.iter();
    sections
        .map(|section| {
            let settings = section.settings.iter();
            (section.name.as_str(), settings.map(|setting| (setting.name.as_str(), setting.value.as_deref())).collect())
        })
        .collect()
}
