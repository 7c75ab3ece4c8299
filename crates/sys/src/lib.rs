//! Every system call and every `unsafe` of iolite, behind safe interfaces. Words of the domain stay outside.

pub mod aio;
pub mod buffer;
pub mod clock;
pub mod directory;
pub mod file;
pub mod mapping;
pub mod page_cache;
pub mod ring;
pub mod vectored;
