//! Kinds of operation: the standard ones, and those that a workload brings along.

use std::ops::{Index, IndexMut};
use std::sync::{PoisonError, RwLock};

use serde::{Deserialize, Serialize};

/// What an operation is, for the purpose of counting: a small number that stands for a name, a class, and whether bytes are
/// moved.
///
/// The constants are the kinds of block I/O and of metadata. A workload with others (the transactions of TPROC-C, an
/// application's own mix) registers them with [`OpKind::of`]; two kinds of one name are the same kind. Serialized, a standard
/// kind is its name, any other an object of its three properties: the task of such a workload lists its kinds
/// ([`TprocCTask::kinds`](crate::TprocCTask)), so that whoever reads the start of its phase knows them by name from there on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Form", into = "Form")]
pub struct OpKind(u8);

/// What a kind of operation does to what is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OpClass {
    /// It reads.
    Read,
    /// It writes.
    Write,
    /// It makes what was written durable.
    Commit,
    /// Anything else, among others transactions that read and write.
    Other,
}

/// There are too many kinds of operation: at most 256 in a process.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("too many kinds of operation, `{name}` cannot be counted: a run has at most 256")]
pub struct TooManyKinds {
    /// The one that was to be registered.
    pub name: String,
}

/// Why what was read is no kind.
#[derive(Debug, thiserror::Error)]
enum KindError {
    #[error("`{name}` is not a kind of operation")]
    Unknown { name: String },
    #[error(transparent)]
    TooMany(#[from] TooManyKinds),
}

/// The properties of a kind.
#[derive(Debug, Clone, Copy)]
struct Properties {
    name: &'static str,
    class: OpClass,
    moves: bool,
}

/// As a kind is serialized.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Form {
    Standard(String),
    Own { name: String, class: OpClass, moves_bytes: bool },
}

const fn standard(name: &'static str, class: OpClass, moves: bool) -> Properties {
    Properties { name, class, moves }
}

/// The standard kinds, in the order of the constants.
const STANDARD: [Properties; 11] = [
    standard("read", OpClass::Read, true),
    standard("write", OpClass::Write, true),
    standard("sync", OpClass::Other, false),
    standard("commit", OpClass::Commit, false),
    standard("trim", OpClass::Write, true),
    standard("create", OpClass::Write, false),
    standard("stat", OpClass::Read, false),
    standard("open", OpClass::Read, false),
    standard("unlink", OpClass::Write, false),
    standard("mkdir", OpClass::Write, false),
    standard("rmdir", OpClass::Write, false),
];

/// The kinds that workloads have registered, numbered on from the standard ones.
static REGISTERED: RwLock<Vec<Properties>> = RwLock::new(Vec::new());

// The constants are to be used as the variants of an enum are.
#[allow(non_upper_case_globals)]
impl OpKind {
    /// A read of a block.
    pub const Read: OpKind = OpKind(0);
    /// A write of a block, or a set of a subscript in a database.
    pub const Write: OpKind = OpKind(1);
    /// An fdatasync, fsync or sync_file_range alone, whichever the task names.
    pub const Sync: OpKind = OpKind(2);
    /// A commit: a write with its sync, or a database transaction's commit.
    pub const Commit: OpKind = OpKind(3);
    /// A trim of a block.
    pub const Trim: OpKind = OpKind(4);
    /// A file created.
    pub const Create: OpKind = OpKind(5);
    /// A file's attributes read.
    pub const Stat: OpKind = OpKind(6);
    /// A file opened and closed.
    pub const Open: OpKind = OpKind(7);
    /// A file removed.
    pub const Unlink: OpKind = OpKind(8);
    /// A directory created.
    pub const Mkdir: OpKind = OpKind(9);
    /// A directory removed.
    pub const Rmdir: OpKind = OpKind(10);
}

impl OpKind {
    /// The standard kinds, in the order of their index.
    pub const STANDARD: [OpKind; STANDARD.len()] = {
        let mut all = [OpKind(0); STANDARD.len()];
        let mut index = 0;
        while index < STANDARD.len() {
            all[index] = OpKind(index as u8);
            index += 1;
        }
        all
    };

    /// The kind of this name; a name that is new is registered with these properties.
    ///
    /// # Errors
    /// There are 256 kinds already.
    pub fn of(name: &str, class: OpClass, moves_bytes: bool) -> Result<OpKind, TooManyKinds> {
        if let Some(known) = OpKind::named(name) {
            return Ok(known);
        }
        let mut registered = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
        let position = registered.iter().position(|kind| kind.name == name).unwrap_or(registered.len());
        let too_many = || TooManyKinds { name: name.to_owned() };
        let number = u8::try_from(STANDARD.len() + position).map_err(|_| too_many())?;
        if position == registered.len() {
            // Names last as long as the process: there are few of them.
            let name: &'static str = Box::leak(name.into());
            registered.push(Properties { name, class, moves: moves_bytes });
        }
        Ok(OpKind(number))
    }

    /// The kind of this name, where there is one.
    pub fn named(name: &str) -> Option<OpKind> {
        OpKind::all().find(|kind| kind.name() == name)
    }

    /// All kinds that there are now: the standard ones, then those registered, in the order of their index.
    pub fn all() -> impl DoubleEndedIterator<Item = OpKind> + Clone {
        let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner).len();
        (0..STANDARD.len() + registered).map(|number| OpKind(number as u8))
    }

    /// Position among [`OpKind::all`].
    #[inline(always)]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// [`index`](OpKind::index) as a byte.
    #[inline(always)]
    pub const fn code(self) -> u8 {
        self.0
    }

    /// The kind of this [`code`](OpKind::code).
    pub fn from_code(code: u8) -> Option<OpKind> {
        OpKind::all().nth(code.into())
    }

    /// As stored and printed: `read`, `write`, `sync`, `commit`...
    pub fn name(self) -> &'static str {
        self.properties().name
    }

    /// What a device did that performed such operations, in a sentence.
    pub fn past_tense(self) -> &'static str {
        match self {
            OpKind::Read => "read",
            OpKind::Write => "wrote",
            _ => "transferred",
        }
    }

    /// What it does to what is stored.
    pub fn class(self) -> OpClass {
        self.properties().class
    }

    /// Whether its bytes are data that it moves. A commit's are those of its write.
    pub fn moves_bytes(self) -> bool {
        self.properties().moves
    }

    fn properties(self) -> Properties {
        match self.index().checked_sub(STANDARD.len()) {
            None => STANDARD[self.index()],
            Some(own) => REGISTERED.read().unwrap_or_else(PoisonError::into_inner)[own],
        }
    }
}

impl TryFrom<Form> for OpKind {
    type Error = KindError;

    fn try_from(form: Form) -> Result<OpKind, KindError> {
        match form {
            Form::Standard(name) => OpKind::named(&name).ok_or(KindError::Unknown { name }),
            Form::Own { name, class, moves_bytes } => Ok(OpKind::of(&name, class, moves_bytes)?),
        }
    }
}

impl From<OpKind> for Form {
    fn from(kind: OpKind) -> Form {
        let Properties { name, class, moves } = kind.properties();
        let name = name.to_owned();
        if kind.index() < STANDARD.len() {
            Form::Standard(name)
        } else {
            Form::Own { name, class, moves_bytes: moves }
        }
    }
}

/// A value for each kind of operation; a kind that was never given one has the default.
#[derive(Debug, Clone, Default)]
pub struct PerKind<T>(Vec<T>);

impl<T: Default> PerKind<T> {
    /// The value of a kind, where it or a kind after it was given one.
    #[inline]
    pub fn get(&self, kind: OpKind) -> Option<&T> {
        self.0.get(kind.index())
    }

    /// The value of a kind, to be changed, where it or a kind after it was given one.
    #[inline(always)]
    pub fn get_mut(&mut self, kind: OpKind) -> Option<&mut T> {
        self.0.get_mut(kind.index())
    }

    /// The value of a kind, to be changed; it is given the default first where it has none.
    #[inline]
    pub fn entry(&mut self, kind: OpKind) -> &mut T {
        let index = kind.index();
        if index >= self.0.len() {
            self.0.resize_with(index + 1, T::default);
        }
        &mut self.0[index]
    }

    /// The kinds that may have a value other than the default, with it.
    pub fn iter(&self) -> impl Iterator<Item = (OpKind, &T)> {
        self.0.iter().enumerate().map(|(index, value)| (OpKind(index as u8), value))
    }

    /// All values that are kept, to be changed.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut()
    }
}

impl<T: Default + PartialEq> PartialEq for PerKind<T> {
    /// How far a list was grown makes no difference.
    fn eq(&self, other: &PerKind<T>) -> bool {
        let (short, long) =
            if self.0.len() < other.0.len() { (&self.0, &other.0) } else { (&other.0, &self.0) };
        let default = T::default();
        long.starts_with(short) && long[short.len()..].iter().all(|value| *value == default)
    }
}

impl<T: Default + Eq> Eq for PerKind<T> {}

impl Index<OpKind> for PerKind<u64> {
    type Output = u64;

    fn index(&self, kind: OpKind) -> &u64 {
        self.get(kind).unwrap_or(&0)
    }
}

impl IndexMut<OpKind> for PerKind<u64> {
    fn index_mut(&mut self, kind: OpKind) -> &mut u64 {
        self.entry(kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_kinds_know_their_index_and_name() {
        for (index, kind) in OpKind::STANDARD.into_iter().enumerate() {
            assert_eq!((kind.index(), OpKind::named(kind.name())), (index, Some(kind)));
            assert_eq!(serde_json::to_string(&kind).unwrap(), format!("\"{}\"", kind.name()));
        }
        assert_eq!((OpKind::Rmdir.name(), OpKind::Trim.class()), ("rmdir", OpClass::Write));
    }

    #[test]
    fn a_workload_brings_kinds_of_its_own() {
        let order = OpKind::of("my-order", OpClass::Other, false).unwrap();
        assert_eq!(OpKind::of("my-order", OpClass::Read, true).unwrap(), order, "one name, one kind");
        assert_eq!((order.name(), order.class(), order.moves_bytes()), ("my-order", OpClass::Other, false));
        assert!(OpKind::all().any(|kind| kind == order) && !OpKind::STANDARD.contains(&order));
        assert_eq!(OpKind::from_code(order.code()), Some(order));
        let json = serde_json::to_string(&order).unwrap();
        assert_eq!(json, r#"{"name":"my-order","class":"other","moves_bytes":false}"#);
        assert_eq!(serde_json::from_str::<OpKind>(&json).unwrap(), order);
        let unknown = serde_json::from_str::<OpKind>("\"payments of mine\"").unwrap_err().to_string();
        assert!(unknown.contains("is not a kind of operation"), "{unknown}");
    }

    #[test]
    fn values_per_kind_grow_and_compare_without_their_tail() {
        let mut counts = PerKind::<u64>::default();
        assert_eq!(counts[OpKind::Commit], 0);
        counts[OpKind::Write] += 3;
        let mut same = counts.clone();
        same[OpKind::Rmdir] = 0;
        assert_eq!(counts, same);
        same[OpKind::Rmdir] = 1;
        assert_ne!(counts, same);
        assert_eq!(counts.iter().filter(|(_, count)| **count > 0).collect::<Vec<_>>(), [(OpKind::Write, &3)]);
    }
}
