//! Every system call and every `unsafe` of iolite, behind safe interfaces. Words of the domain stay outside.

pub mod page_cache;
