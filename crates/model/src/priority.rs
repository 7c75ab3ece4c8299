//! Priorities of I/O.

use serde::{Deserialize, Serialize};

use crate::units::Bytes;

/// An I/O priority (ioprio_set(2)). Its effect depends on the I/O scheduler and the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IoPriority {
    /// The class.
    pub class: IoClass,
    /// Level within the class, from 0 (highest) to 7; ignored for the idle class.
    #[serde(default)]
    pub level: u8,
    /// Hint for devices that support it: 0 for none, up to 1023 (`IOPRIO_PRIO_HINT` of linux/ioprio.h, since Linux 6.5).
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
    /// Served before all others; requires privileges.
    RealTime,
    /// The default class.
    BestEffort,
    /// Served only when the device is otherwise idle.
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

/// A percentage of the operations with their own I/O priority.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriorityShare {
    /// Operations to which the percentage applies.
    pub of: Prioritized,
    /// Only operations of this size.
    #[serde(default)]
    pub size: Option<Bytes>,
    /// Percentage of these operations; at most 100 in total for the same kind and size.
    pub percent: f64,
    /// I/O priority of these operations.
    pub priority: IoPriority,
}

/// Operations that can have their own priority.
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
