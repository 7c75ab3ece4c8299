//! What the storage and the kernel of a run can do; what they can't is a warning.

use iolite_engine::EngineError;
use iolite_model::{BackendKind, RingOptions, Warning};

use crate::error::Result;
use crate::session::Session;

impl Session<'_> {
    /// Whether direct I/O is used on files of this run's own: where it is `wanted` and works; warns where not.
    ///
    /// # Errors
    /// A file can't be created to try.
    pub fn uses_direct_io(&mut self, wanted: bool) -> Result<bool> {
        if !wanted {
            self.warn(Warning::ThroughCache);
        }
        Ok(wanted && self.takes_direct_io()?)
    }

    /// Whether direct I/O works on files of this run's own; warns where it does not.
    ///
    /// # Errors
    /// A file can't be created to try.
    pub fn takes_direct_io(&mut self) -> Result<bool> {
        self.scratch.claim(iolite_sys::file::PROBE.as_ref())?;
        let works = iolite_sys::file::direct_io_works(self.scratch.path()).map_err(|source| {
            let directory = self.run().info.storage.directory.clone();
            EngineError::Scratch { directory, source }
        })?;
        if !works {
            self.warn_of_no_direct_io();
        }
        Ok(works)
    }

    /// Warns that direct I/O does not work here.
    pub fn warn_of_no_direct_io(&mut self) {
        let filesystem = self.run().info.storage.filesystem.kind.clone();
        self.warn(Warning::NoDirectIo { filesystem });
    }

    /// Whether io_uring can be used; warns where it can't.
    pub fn takes_io_uring(&mut self) -> bool {
        match iolite_sys::ring::available() {
            Ok(()) => true,
            Err(error) => {
                self.warn(Warning::NoIoUring { reason: error.to_string() });
                false
            }
        }
    }

    /// The back end for many operations in flight: io_uring, or threads where that can't be used, with a warning.
    pub fn many_in_flight(&mut self) -> BackendKind {
        if self.takes_io_uring() { BackendKind::IoUring(RingOptions::PLAIN) } else { BackendKind::Threads }
    }
}
