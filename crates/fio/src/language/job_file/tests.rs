use std::collections::HashMap;

use super::*;

/// Reads `text` as `dir/job.fio`, with these files to include.
fn read_with(text: &[u8], files: &[(&str, &str)]) -> Result<Document, Problem> {
    let files: HashMap<PathBuf, Vec<u8>> =
        files.iter().map(|(name, text)| (PathBuf::from(name), text.as_bytes().to_vec())).collect();
    let read_file = |path: &Path| files.get(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into());
    let context = HostContext {
        variable: &|_| None,
        page_size: 4096,
        memory_mib: 1024,
        cpus: 2,
        open_trace: &|_| Err(io::ErrorKind::NotFound.into()),
        read_file: &read_file,
    };
    read("dir/job.fio", text, &context)
}

/// The settings of each section, as `name=value`.
fn outline(document: &Document) -> Vec<(String, Vec<String>)> {
    let setting = |setting: &Setting| match &setting.value {
        Some(value) => format!("{}={value}", setting.name),
        None => setting.name.clone(),
    };
    let section = |section: &Section| (section.name.clone(), section.settings.iter().map(setting).collect());
    document.sections.iter().map(section).collect()
}

fn one(text: &str) -> Vec<(String, Vec<String>)> {
    outline(&read_with(text.as_bytes(), &[]).unwrap())
}

#[test]
fn lines_are_cut_at_comments_and_trimmed() {
    let text = "\u{feff}; a comment\r\n[a] ; of a\r\n\t rw = randread#x\r\ndescription= x  y = z \n thread\n\n  [b]b]\nsize=4k";
    let expected = [("a", vec!["rw= randread", "description= x  y = z", "thread"]), ("b]b", vec!["size=4k"])];
    let expected = expected.map(|(name, settings)| {
        (name.to_owned(), settings.into_iter().map(str::to_owned).collect::<Vec<_>>())
    });
    assert_eq!(one(text), expected);
}

#[test]
fn a_setting_knows_its_place() {
    let document = read_with(b"[a]\n\n  bs=4k\n", &[]).unwrap();
    assert_eq!(document.sections[0].settings[0].origin.to_string(), "dir/job.fio:3:3");
}

#[test]
fn global_sections_are_those_whose_name_begins_so() {
    let document = read_with(b"[global]\n[global-2]\n[glob]\n", &[]).unwrap();
    let global: Vec<bool> = document.sections.iter().map(Section::is_global).collect();
    assert_eq!(global, [true, true, false]);
}

#[test]
fn an_include_is_looked_for_beside_its_file() {
    let files = [("dir/sub/a.fio", "bs=4k\ninclude b.fio\nrw=read"), ("dir/sub/b.fio", "iodepth=4\n")];
    let document = read_with(b"[a]\ninclude sub/a.fio ; here\nsize=1m\n", &files).unwrap();
    assert_eq!(outline(&document)[0].1, ["bs=4k", "iodepth=4", "rw=read", "size=1m"]);
    assert_eq!(document.sections[0].settings[1].origin.to_string(), "dir/sub/b.fio:1:1");
}

#[test]
fn what_is_no_job_file_is_reported_with_its_place() {
    let loops =
        [("dir/a.fio", "include b.fio\n"), ("dir/b.fio", "\ninclude a.fio\n"), ("dir/c.fio", "[x]\n")];
    for (text, start, part) in [
        (&b"bs=4k\n"[..], "dir/job.fio:1:1", "before the first section"),
        (b"\ninclude a.fio\n", "dir/job.fio:2:1", "before the first section"),
        (b"[a\n", "dir/job.fio:1:1", "does not end with `]`"),
        (b"  [a]x\n", "dir/job.fio:1:3", "does not end with `]`"),
        (b"[]\n", "dir/job.fio:1:1", "no name"),
        (b"[a]\nbs=\xff\n", "dir/job.fio:2:4", "not UTF-8"),
        (b"[a]\n\xc3\xa9=\0\n", "dir/job.fio:2:3", "NUL"),
        (b"[a]\n include\n", "dir/job.fio:2:2", "names no file"),
        (b"[a]\ninclude no.fio\n", "dir/job.fio:2:1", "cannot read `dir/no.fio`"),
        (b"[a]\ninclude a.fio\n", "dir/b.fio:2:1", "includes itself"),
        (b"[a]\ninclude c.fio\n", "dir/c.fio:1:1", "holds settings only"),
    ] {
        let problem = read_with(text, &loops).unwrap_err().to_string();
        assert!(problem.starts_with(&format!("{start}: ")) && problem.contains(part), "{problem}");
    }
}

#[test]
fn size_number_and_depth_are_bounded() {
    let large = vec![b' '; LARGEST_FILE + 1];
    assert!(read_with(&large, &[]).unwrap_err().to_string().contains("larger than 16 MiB"));
    let long = format!("[a]\nd={}\n", "x".repeat(LONGEST_LINE));
    assert!(
        read_with(long.as_bytes(), &[]).unwrap_err().to_string().contains(":2:1: the line is longer than 64")
    );
    let many = format!("[a]\n{}", "x\n".repeat(MAX_ENTRIES));
    assert!(read_with(many.as_bytes(), &[]).unwrap_err().to_string().contains("more than 100000"));
    // Each level includes the next one twice: what is read is bounded, however often.
    let deep: Vec<(String, String)> = (0..40)
        .map(|level| (format!("dir/{level}"), format!("include {0}\ninclude {0}\n", level + 1)))
        .collect();
    let deep: Vec<(&str, &str)> = deep.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    assert!(read_with(b"[a]\ninclude 0\n", &deep).unwrap_err().to_string().contains("16 deep"));
}
