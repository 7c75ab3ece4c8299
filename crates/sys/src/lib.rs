//! Every system call and every `unsafe` of iolite, behind safe interfaces. Words of the domain stay outside.

pub mod aio;
pub mod ata;
pub mod board;
pub mod buffer;
pub mod clock;
pub mod control_group;
pub mod descriptors;
pub mod device;
pub mod directory;
pub mod extents;
mod fault;
pub mod file;
pub mod heap;
pub mod holders;
pub mod identity;
pub mod locked;
pub mod mapping;
pub mod memory;
pub mod nvme;
pub mod page_cache;
pub mod placement;
pub mod priority;
pub mod process;
pub mod pseudo;
pub mod ring;
mod ring_enter;
mod ring_thread;
pub mod signature;
mod slots;
pub mod splice;
pub mod spread;
#[cfg(test)]
mod testing;
pub mod trim;
pub mod usage;
pub mod vectored;
pub mod zoned;
