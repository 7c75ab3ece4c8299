//! Operations that fail, and operations that do not come back.

use serde::{Deserialize, Serialize};

use crate::error_cause::ErrorCause;
use crate::kind::OpKind;
use crate::units::Nanos;

/// Class of an error.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum ErrorClass {
    /// Fewer bytes than requested were transferred.
    Short,
    /// The device failed (EIO, EREMOTEIO, EILSEQ, ENODATA, EBADMSG, ETIMEDOUT, ENXIO, ENODEV).
    Device,
    /// No space left, or quota exceeded (ENOSPC, EDQUOT, EFBIG).
    Space,
    /// The operation would block (EAGAIN).
    Again,
    /// The operation is not supported (EINVAL, EOPNOTSUPP, ENOSYS).
    Unsupported,
    /// The data read differs from the data written.
    Verify,
    /// Any other error.
    Other,
}

impl ErrorClass {
    /// All classes.
    pub const ALL: &[ErrorClass] = <ErrorClass as strum::VariantArray>::VARIANTS;

    /// The class of an error number (Linux's generic numbers; those beyond 34 are the same on x86-64 and aarch64).
    pub const fn of(number: i32) -> ErrorClass {
        match number {
            // EIO, ENXIO, ENODEV, ENODATA, EBADMSG, EILSEQ, ETIMEDOUT, EREMOTEIO
            5 | 6 | 19 | 61 | 74 | 84 | 110 | 121 => ErrorClass::Device,
            // EFBIG, ENOSPC, EDQUOT
            27 | 28 | 122 => ErrorClass::Space,
            // EAGAIN
            11 => ErrorClass::Again,
            // EINVAL, ENOSYS, EOPNOTSUPP
            22 | 38 | 95 => ErrorClass::Unsupported,
            _ => ErrorClass::Other,
        }
    }

    /// What it comes from, with its remedy.
    pub const fn cause(self) -> ErrorCause {
        match self {
            ErrorClass::Short => ErrorCause::ShortTransfer,
            ErrorClass::Device => ErrorCause::Device,
            ErrorClass::Space => ErrorCause::Full,
            ErrorClass::Again => ErrorCause::WouldBlock,
            ErrorClass::Unsupported => ErrorCause::NotSupported,
            ErrorClass::Verify => ErrorCause::DamagedData,
            ErrorClass::Other => ErrorCause::OtherFailure,
        }
    }

    /// As printed and stored.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Errors that end a phase. By default, a phase continues after errors; every error is counted and reported.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OnError {
    /// The first error of one of these classes ends the phase.
    pub stop: Vec<ErrorClass>,
    /// More than this number of errors of one worker, of any class, ends the phase.
    pub max: Option<u64>,
    /// An operation with a longer service time ends the phase with an error.
    pub max_service: Option<Nanos>,
    /// Limits of single kinds of operations, in place of `max_service`; kinds that are not listed have none.
    pub max_service_of: Vec<KindLimit>,
}

/// A limit of one kind of operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KindLimit {
    /// Kind of operation.
    pub kind: OpKind,
    /// Longest service time.
    pub max: Nanos,
}

impl OnError {
    /// The longest service time of a kind of operation, if it has a limit.
    pub fn limit(&self, kind: OpKind) -> Option<Nanos> {
        match self.max_service_of.as_slice() {
            [] => self.max_service,
            limits => limits.iter().find(|limit| limit.kind == kind).map(|limit| limit.max),
        }
    }

    /// Whether any kind of operation has a limit.
    pub fn has_limits(&self) -> bool {
        self.max_service.is_some() || !self.max_service_of.is_empty()
    }

    /// Any error ends the phase.
    pub fn stop_always() -> OnError {
        OnError { stop: ErrorClass::ALL.to_vec(), ..OnError::default() }
    }
}

/// Errors of one class of one kind of operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorTally {
    /// Kind of operation.
    pub kind: OpKind,
    /// What went wrong.
    pub class: ErrorClass,
    /// How often.
    pub count: u64,
    /// Where it happened first, in bytes from the target's start; up to [`ErrorTally::LISTED`], in the order in which
    /// workers met them.
    pub first_offsets: Vec<u64>,
    /// The first one in words.
    pub first: String,
    /// The first one's error number, where it has one; the results database keeps the words only.
    #[serde(default)]
    pub number: Option<i32>,
}

impl ErrorTally {
    /// Number of offsets kept.
    pub const LISTED: usize = 8;

    /// Adds another worker's errors to these, by class and kind.
    pub fn add(tallies: &mut Vec<ErrorTally>, other: ErrorTally) {
        match tallies.iter_mut().find(|mine| (mine.kind, mine.class) == (other.kind, other.class)) {
            Some(mine) => {
                mine.count += other.count;
                let room = ErrorTally::LISTED.saturating_sub(mine.first_offsets.len());
                mine.first_offsets.extend(other.first_offsets.into_iter().take(room));
            }
            None => tallies.push(other),
        }
    }
}

/// An operation that had not come back when it was given up on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stuck {
    /// Worker, from 0.
    pub worker: u32,
    /// Kind of operation.
    pub kind: OpKind,
    /// Where, in bytes from the target's start.
    pub offset: u64,
    /// How long it had been on its way since it was handed to the system.
    #[serde(rename = "age_ns")]
    pub age: Nanos,
}

impl Stuck {
    /// Number listed of a phase: the oldest.
    pub const LISTED: usize = 64;
}
