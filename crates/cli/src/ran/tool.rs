//! The three tools.

/// One of the three tools.
// They have been called so for long.
#[allow(clippy::enum_variant_names)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tool {
    /// Random reads of blocks.
    RanRead,
    /// Random sets of subscripts, in transactions.
    RanWrite,
    /// Both.
    RanIo,
}

impl Tool {
    /// All three.
    pub(crate) const ALL: [Tool; 3] = [Tool::RanRead, Tool::RanWrite, Tool::RanIo];

    /// As PerfTools write it: `RanRead`, `RanWrite`, `RanIO`.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Tool::RanRead => "RanRead",
            Tool::RanWrite => "RanWrite",
            Tool::RanIo => "RanIO",
        }
    }

    /// As a command: `ranread`, `ranwrite`, `ranio`.
    pub(crate) const fn command(self) -> &'static str {
        match self {
            Tool::RanRead => "ranread",
            Tool::RanWrite => "ranwrite",
            Tool::RanIo => "ranio",
        }
    }

    /// Its operation's name in the results.
    pub(crate) const fn operation(self) -> &'static str {
        match self {
            Tool::RanRead => "ran-read",
            Tool::RanWrite => "ran-write",
            Tool::RanIo => "ran-io",
        }
    }

    /// Whether its jobs write, each into a global of its own.
    pub(crate) const fn writes(self) -> bool {
        !matches!(self, Tool::RanRead)
    }
}
