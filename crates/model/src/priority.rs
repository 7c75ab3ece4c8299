//! Priorities of I/O.

use serde::{Deserialize, Serialize};

use crate::units::Bytes;

/// A priority of I/O (ioprio_set(2)). What it means is up to the I/O scheduler and to the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IoPriority {
    /// The class.
    pub class: IoClass,
    /// Within the class: from 0, the highest, to 7. It means nothing for the class idle.
    #[serde(default)]
    pub level: u8,
    /// What the operation is, for devices that make use of it: 0 for nothing, up to 1023 (`IOPRIO_PRIO_HINT` of
    /// linux/ioprio.h, since Linux 6.5).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub hint: u16,
}

fn is_zero(hint: &u16) -> bool {
    *hint == 0
}

/// A class of I/O priorities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IoClass {
    /// Before all others; for privileged processes.
    RealTime,
    /// What most I/O is.
    BestEffort,
    /// Only when nobody else wants anything.
    Idle,
}

impl IoPriority {
    /// As the kernel has it: the class in the highest three of 16 bits, the hint in ten, the level in the lowest three
    /// (`IOPRIO_PRIO_VALUE_HINT` of linux/ioprio.h).
    pub const fn packed(self) -> u16 {
        let class = match self.class {
            IoClass::RealTime => 1,
            IoClass::BestEffort => 2,
            IoClass::Idle => 3,
        };
        class << 13 | (self.hint & 0x3ff) << 3 | self.level as u16
    }
}

/// A share of the operations that have an I/O priority of their own.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriorityShare {
    /// Which operations it is a share of.
    pub of: Prioritized,
    /// Only those of this size.
    #[serde(default)]
    pub size: Option<Bytes>,
    /// How many of them, in percent; of those of the same kind and size 100 in all at most.
    pub percent: f64,
    /// Their priority.
    pub priority: IoPriority,
}

/// Operations that can have a priority of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Prioritized {
    /// Reads.
    Reads,
    /// Writes.
    Writes,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_are_packed_as_the_kernels() {
        for (class, level, packed) in
            [(IoClass::RealTime, 0, 0x2000), (IoClass::BestEffort, 3, 0x4003), (IoClass::Idle, 7, 0x6007)]
        {
            assert_eq!(IoPriority { class, level, hint: 0 }.packed(), packed);
        }
    }
}
