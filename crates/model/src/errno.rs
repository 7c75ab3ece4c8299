//! Error numbers that results hold, and that decisions are made by: Linux's, the same on all architectures that iolite is supported with
//! (errno(3)).

/// No such file or directory.
pub const ENOENT: i32 = 2;
/// Too many open files in the system.
pub const ENFILE: i32 = 23;
/// Too many open files in the process.
pub const EMFILE: i32 = 24;
/// An error of the device, and of what has no number of its own.
pub const EIO: i32 = 5;
/// The operation would have had to wait.
pub const EAGAIN: i32 = 11;
/// What the operation needs is in use.
pub const EBUSY: i32 = 16;
/// The operation, or a setting of it, is invalid to the system.
pub const EINVAL: i32 = 22;
/// The file would be larger than it may be.
pub const EFBIG: i32 = 27;
/// No space is left on the device.
pub const ENOSPC: i32 = 28;
/// No locks are available: what some network file systems answer.
pub const ENOLCK: i32 = 37;
/// What was read is not what was written, as fio reports it.
pub const EILSEQ: i32 = 84;
/// The target has no such operation.
pub const EOPNOTSUPP: i32 = 95;
/// The operation took longer than it may.
pub const ETIMEDOUT: i32 = 110;
