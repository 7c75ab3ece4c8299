use std::io;

use proptest::prelude::*;

use super::*;
use crate::language::job_file::{HostContext, read};

fn context() -> HostContext<'static> {
    HostContext {
        variable: &|_| None,
        page_size: 4096,
        memory_mib: 1,
        cpus: 1,
        open_trace: &|_| Err(io::ErrorKind::NotFound.into()),
        read_file: &|_| Err(io::ErrorKind::NotFound.into()),
    }
}

/// A section without its place: its name, and its settings' names and values.
type Outline = (String, Vec<(String, Option<String>)>);

fn outline(document: &Document) -> Vec<Outline> {
    let settings = |section: &Section| {
        section.settings.iter().map(|setting| (setting.name.clone(), setting.value.clone())).collect()
    };
    document.sections.iter().map(|section| (section.name.clone(), settings(section))).collect()
}

proptest! {
    #[test]
    fn what_is_read_is_printed_and_read_the_same(
        lines in prop::collection::vec("[ \\t]?(\\[[^\\]\\n]{0,6}\\]?|[a-z_ ]{0,8}(=[^\\n]{0,12})?|[^\\n]{0,16}|include x)\\r?", 0..12),
        broken in any::<bool>(),
    ) {
        let start = if broken { "" } else { "[a]\n" };
        let text = format!("{start}{}", lines.join("\n"));
        if let Ok(document) = read("x.fio", text.as_bytes(), &context()) {
            let printed = job_file(&document).unwrap();
            let again = read("x.fio", printed.as_bytes(), &context()).unwrap();
            prop_assert_eq!(outline(&document), outline(&again), "{}", printed);
        }
    }

    #[test]
    fn what_is_printed_without_complaint_is_read_the_same(
        name in "[^\\n]{0,6}", option in ".{0,8}", value in prop::option::of(".{0,8}"),
    ) {
        let mut document = read("x.fio", b"[a]\nx=1\n", &context()).unwrap();
        document.sections[0].name = name;
        document.sections[0].settings[0].name = option;
        document.sections[0].settings[0].value = value;
        if let Ok(printed) = job_file(&document) {
            let again = read("x.fio", printed.as_bytes(), &context()).unwrap();
            prop_assert_eq!(outline(&document), outline(&again), "{}", printed);
        }
    }
}

#[test]
fn what_no_job_file_can_say_is_refused_by_its_place() {
    let mut document = read("x.fio", b"[a]\nd=1\n", &context()).unwrap();
    document.sections[0].settings[0].value = Some("x;y".into());
    assert!(job_file(&document).unwrap_err().to_string().starts_with("x.fio:2:1: `d=x;y` cannot"));
}

#[test]
fn a_command_line_holds_the_same_sections() {
    let text = "[global]\nbs=2k\nthread\n[a]\nsize=64k\ndescription=foo \"bar\" $x\n[b]\nfilename=/tmp/x\\:y\n\
        [global]\niodepth=3\n[c d]\nname=e\n";
    let document = read("x.fio", text.as_bytes(), &context()).unwrap();
    let expected = "fio --bs=2k --thread --name=a --size=64k --description=\"foo \\\"bar\\\" \\$x\" --name=b \
        --filename=\"/tmp/x\\\\:y\" --name=global --iodepth=3 --name=\"c d\" --name=e";
    assert_eq!(command_line(&document.sections), expected);
}
