//! Text of other programs as a server returns it, in whatever encoding.

/// Text in which what is not UTF-8 is replaced: statements of sessions hold the bytes of their literals and parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lossy(pub String);

impl Lossy {
    pub(crate) fn of(bytes: &[u8]) -> Lossy {
        Lossy(String::from_utf8_lossy(bytes).into_owned())
    }
}
