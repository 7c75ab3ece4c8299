//! Rows in bulk: PostgreSQL's binary format of COPY, and contents that do not compress.

use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Bytes handed to the connection at once.
const CHUNK: usize = 256 << 10;
/// The format's signature, then no flags and no extension of the header (documentation of COPY, "Binary Format").
const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";

/// Contents that never repeat and do not compress.
#[derive(Debug, Clone)]
pub struct Noise(Xoshiro256PlusPlus);

impl Default for Noise {
    fn default() -> Noise {
        Noise::new()
    }
}

impl Noise {
    /// Contents that no other of these has.
    pub fn new() -> Noise {
        Noise(Xoshiro256PlusPlus::seed_from_u64(RandomState::new().hash_one(std::process::id())))
    }

    /// Fills memory.
    pub fn fill(&mut self, memory: &mut [u8]) {
        self.0.fill_bytes(memory);
    }
}

/// Writes rows of one table into a COPY.
#[derive(Debug)]
pub struct Rows<W: Write> {
    to: W,
    pending: Vec<u8>,
    noise: Noise,
}

impl<W: Write> Rows<W> {
    /// Begins.
    pub fn new(to: W) -> Rows<W> {
        let mut pending = Vec::with_capacity(CHUNK + (64 << 10));
        pending.extend_from_slice(HEADER);
        Rows { to, pending, noise: Noise::new() }
    }

    /// Begins a row of so many fields, which follow.
    ///
    /// # Errors
    /// The connection's.
    pub fn row(&mut self, fields: i16) -> io::Result<()> {
        self.flush_full()?;
        self.pending.extend_from_slice(&fields.to_be_bytes());
        Ok(())
    }

    /// A field of type bigint.
    pub fn bigint(&mut self, value: i64) {
        self.bytes(&value.to_be_bytes());
    }

    /// A field of type bytea, or of a type whose binary form these bytes are.
    pub fn bytes(&mut self, value: &[u8]) {
        self.pending.extend_from_slice(&(value.len() as u32).to_be_bytes());
        self.pending.extend_from_slice(value);
    }

    /// A field of type bytea with so many bytes that do not compress.
    pub fn noise(&mut self, size: usize) {
        self.pending.extend_from_slice(&(size as u32).to_be_bytes());
        let from = self.pending.len();
        self.pending.resize(from + size, 0);
        self.noise.fill(&mut self.pending[from..]);
    }

    fn flush_full(&mut self) -> io::Result<()> {
        if self.pending.len() >= CHUNK {
            self.to.write_all(&self.pending)?;
            self.pending.clear();
        }
        Ok(())
    }

    /// Ends the rows; the COPY itself is the caller's to finish.
    ///
    /// # Errors
    /// The connection's.
    pub fn end(mut self) -> io::Result<W> {
        self.pending.extend_from_slice(&(-1_i16).to_be_bytes());
        self.to.write_all(&self.pending)?;
        Ok(self.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_the_format_of_copy() {
        let mut rows = Rows::new(Vec::new());
        rows.row(2).unwrap();
        rows.bigint(52);
        rows.noise(51);
        rows.row(1).unwrap();
        rows.noise(3);
        let bytes = rows.end().unwrap();
        assert_eq!(&bytes[..19], b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0");
        assert_eq!(bytes[19..35], [0, 2, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 52, 0, 0]);
        assert_eq!(bytes[35..37], [0, 51]);
        assert_eq!(bytes[88..94], [0, 1, 0, 0, 0, 3]);
        assert_eq!((bytes.len(), &bytes[97..]), (99, &[0xff, 0xff][..]));
    }

    #[test]
    fn noise_does_not_repeat() {
        let mut one = [0; 64];
        let mut other = [0; 64];
        let mut noise = Noise::new();
        noise.fill(&mut one);
        noise.fill(&mut other);
        assert_ne!(one, other);
    }
}
