//! Compressed logs: gzip, as iolite writes them. fio compresses its samples as it has them in memory, which only the fio that wrote
//! them can read.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

/// What gzip begins with (RFC 1952).
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Bytes of an uncompressed log at most: what grows beyond is no log that can be looked at.
const MAX_SIZE: u64 = 2 << 30;

/// The text of a compressed log.
///
/// # Errors
/// It can't be read, or is no compressed log.
pub fn inflate(path: &Path) -> Result<String, InflateError> {
    let read = fs::read(path).and_then(|bytes| match inflated(&bytes)? {
        Some(text) => Ok(text),
        None => Err(io::Error::new(io::ErrorKind::InvalidData, "it is not compressed by gzip")),
    });
    read.map_err(|source| InflateError { path: path.to_path_buf(), source })
}

/// The text of a compressed log; `None` where it is not compressed.
///
/// # Errors
/// The compressed data are damaged, cut short, too large, or in the form of a fio.
pub fn inflated(bytes: &[u8]) -> io::Result<Option<String>> {
    if is_zlib(bytes) {
        let advice = "it contains binary samples of the fio that wrote it; convert it with that program: fio --inflate-log=FILE > \
                      PREFIX_lat.1.log";
        return Err(io::Error::new(io::ErrorKind::InvalidData, advice));
    }
    if !bytes.starts_with(&GZIP) {
        return Ok(None);
    }
    let mut out = Vec::new();
    MultiGzDecoder::new(bytes).take(MAX_SIZE + 1).read_to_end(&mut out)?;
    if out.len() as u64 > MAX_SIZE {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than 2 GiB when decompressed"));
    }
    Ok(Some(String::from_utf8_lossy(&out).into_owned()))
}

/// Whether bytes begin as a zlib stream (RFC 1950): method, window and check.
fn is_zlib(bytes: &[u8]) -> bool {
    let [method, flags, ..] = *bytes else { return false };
    method == 0x78 && (u16::from(method) << 8 | u16::from(flags)) % 31 == 0
}

/// A compressed log that could not be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot inflate `{}`: {source}; specify a log written with log_store_compressed=1", .path.display())]
pub struct InflateError {
    /// The log.
    pub path: PathBuf,
    /// The reason.
    pub source: io::Error,
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::{GzEncoder, ZlibEncoder};
    use std::io::Write as _;

    const TEXT: &str = "100, 784, 0, 4096, 0\n";

    #[test]
    fn parts_are_read_one_after_the_other_and_plain_text_is_none() {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(TEXT.as_bytes()).unwrap();
        let gzip = gzip.finish().unwrap();
        assert_eq!(inflated(&[gzip.clone(), gzip.clone()].concat()).unwrap().unwrap(), TEXT.repeat(2));
        assert_eq!(inflated(TEXT.as_bytes()).unwrap(), None);
        assert!(inflated(&gzip[..gzip.len() - 4]).is_err());
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::fast());
        zlib.write_all(&[0; 32]).unwrap();
        let error = inflated(&zlib.finish().unwrap()).unwrap_err().to_string();
        assert!(error.contains("fio --inflate-log"), "{error}");
    }
}
