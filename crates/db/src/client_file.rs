//! Files of settings that clients of databases keep: read whole, if they are what they should be.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Most of what is read of such a file.
const LARGEST: u64 = 1 << 20;

/// The text of a file. Bytes that are not UTF-8 are replaced: a line that has some does not hide the others.
///
/// # Errors
/// It can't be read, or is no regular file: a pipe would be waited for, and a device may have no end.
pub(crate) fn read(path: &Path) -> io::Result<String> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(LARGEST).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_file_is_not_waited_for_and_one_bad_line_hides_no_other() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for path in [&pipe, directory.path(), Path::new("/dev/zero")] {
            assert!(read(path).unwrap_err().to_string().contains("not a regular file"), "{}", path.display());
        }
        let file = directory.path().join("file");
        std::fs::write(&file, b"a\xff\nb\n").unwrap();
        assert!(read(&file).unwrap().ends_with("\nb\n"));
    }
}
