//! What goes wrong in the file system, call by call.

use std::any::Any;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fuser::FopenFlags;

/// A call of the kernel that a fault may be injected into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    Read,
    Write,
    Sync,
    /// With O_DIRECT.
    DirectOpen,
    /// What is known of a file.
    Attributes,
}

/// What goes wrong with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It takes so much longer.
    Delay(Duration),
    /// It fails with this error number.
    Error(i32),
    /// Half of its bytes are transferred.
    Short,
    /// A bit of its data is flipped.
    Corrupt,
    /// It never ends.
    Hang,
}

/// Injects a fault into some calls of a kind.
#[derive(Debug)]
pub(crate) struct Rule {
    call: Call,
    fault: Fault,
    /// Calls before the first one that it is injected into.
    after: u64,
    every: u64,
    /// Number of the only file that it concerns; `None`: all of them.
    file: Option<u64>,
    seen: u64,
    /// Calls that it was injected into.
    struck: u64,
}

impl Rule {
    pub(crate) fn new(call: Call, fault: Fault) -> Rule {
        Rule { call, fault, after: 0, every: 1, file: None, seen: 0, struck: 0 }
    }

    pub(crate) fn of_file(self, inode: u64) -> Rule {
        Rule { file: Some(inode), ..self }
    }

    pub(crate) fn after(self, after: u64) -> Rule {
        Rule { after, ..self }
    }

    pub(crate) fn every(self, every: u64) -> Rule {
        Rule { every, ..self }
    }
}

/// How the kernel caches the files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Cached {
    /// Not at all: what programs transfer is transferred as they say.
    #[default]
    Never,
    /// By pages, so that they can be mapped, until a file is opened again.
    UntilOpened,
    /// By pages, which stay when a file is opened again, as on a disk.
    Always,
}

impl Cached {
    pub(crate) fn flags(self) -> FopenFlags {
        match self {
            Cached::Never => FopenFlags::FOPEN_DIRECT_IO,
            Cached::UntilOpened => FopenFlags::empty(),
            Cached::Always => FopenFlags::FOPEN_KEEP_CACHE,
        }
    }
}

/// The rules, in order: of several that apply, the first one counts.
#[derive(Default)]
pub(crate) struct Script {
    rules: Mutex<Vec<Rule>>,
    cached: Mutex<Cached>,
    /// Replies that are never sent, kept because dropping one sends an error.
    held: Mutex<Vec<Box<dyn Any + Send>>>,
}

impl Script {
    /// Injects these faults from now on.
    pub(crate) fn set(&self, rules: Vec<Rule>) {
        *self.rules() = rules;
    }

    /// How files that are opened from now on are cached.
    pub(crate) fn cache(&self, cached: Cached) {
        *self.cached.lock().unwrap_or_else(PoisonError::into_inner) = cached;
    }

    pub(crate) fn cached(&self) -> Cached {
        *self.cached.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls so far that the rule of this number was applied to.
    pub(crate) fn struck(&self, rule: usize) -> u64 {
        self.rules()[rule].struck
    }

    /// The fault of the next call of this kind, of this file. A delay is over when this returns.
    pub(crate) fn next(&self, call: Call, inode: u64) -> Option<Fault> {
        let mut found = None;
        let concerns = |rule: &&mut Rule| rule.call == call && rule.file.is_none_or(|file| file == inode);
        for rule in self.rules().iter_mut().filter(concerns) {
            let index = rule.seen;
            rule.seen += 1;
            if found.is_none() && index >= rule.after && (index - rule.after).is_multiple_of(rule.every) {
                rule.struck += 1;
                found = Some(rule.fault);
            }
        }
        if let Some(Fault::Delay(delay)) = found {
            std::thread::sleep(delay);
        }
        found
    }

    /// Keeps a reply for ever.
    pub(crate) fn hold(&self, reply: impl Any + Send) {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(reply));
    }

    /// Ends what hangs, with an error.
    pub(crate) fn let_go(&self) {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn rules(&self) -> MutexGuard<'_, Vec<Rule>> {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
