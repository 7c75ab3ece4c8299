//! What is returned of a private server that has been started.

use std::fmt;

/// A private server that runs. [`Debug`](fmt::Debug) leaves its URL out, which may hold a password.
#[derive(Clone, PartialEq, Eq)]
pub struct Started {
    /// Where its database for us is, as [`DatabaseUrl`](crate::DatabaseUrl) takes it.
    pub url: String,
    /// Its process.
    pub pid: u32,
    /// Its port on the loopback address, when that was asked for.
    pub port: Option<u16>,
}

impl fmt::Debug for Started {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Started").field("pid", &self.pid).field("port", &self.port).finish_non_exhaustive()
    }
}
