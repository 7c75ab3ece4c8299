//! A file system in memory with two states: what programs see, and what a crash leaves. Faults are injected by a [`Script`]. Tests of
//! several crates use it, each a part.

#![allow(dead_code, unreachable_pub, unused_imports)]

mod script;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{
    BackgroundSession, BsdFileFlags, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags,
    Generation, INodeNo, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyEmpty,
    ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};

pub(crate) use script::{Cached, Call, Fault, Rule, Script};

/// O_DIRECT, of all architectures that tests run on.
const DIRECT: i32 = if cfg!(target_arch = "aarch64") { 0o200_000 } else { 0o40_000 };

/// `O_DSYNC`, as this architecture's kernel has it.
const DSYNC: i32 = 0o10_000;

/// Nothing is to be kept by the kernel: what is read after the crash is what the file system has.
const TTL: Duration = Duration::ZERO;

#[derive(Clone)]
enum Node {
    Directory(BTreeMap<OsString, u64>),
    File(Vec<u8>),
}

struct State {
    now: BTreeMap<u64, Node>,
    durable: BTreeMap<u64, Node>,
    next: u64,
    /// Synchronisations that are still carried out; all where there is no limit.
    kept: Option<u64>,
}

/// The disk: what is on it outlives a mount.
#[derive(Clone)]
pub(crate) struct Volatile {
    state: Arc<Mutex<State>>,
    script: Arc<Script>,
}

impl Volatile {
    /// An empty one. After `syncs_kept` synchronisations, further ones are acknowledged and not done.
    pub(crate) fn new(syncs_kept: Option<u64>) -> Volatile {
        let root = BTreeMap::from([(INodeNo::ROOT.0, Node::Directory(BTreeMap::new()))]);
        let state = State { now: root.clone(), durable: root, next: 2, kept: syncs_kept };
        Volatile { state: Arc::new(Mutex::new(state)), script: Arc::default() }
    }

    pub(crate) fn mount(&self, at: &Path) -> std::io::Result<BackgroundSession> {
        fuser::spawn_mount(self.clone(), at, &Config::default())
    }

    /// What goes wrong.
    pub(crate) fn script(&self) -> &Script {
        &self.script
    }

    /// Forgets what is not durable.
    pub(crate) fn crash(&self) {
        let mut state = self.state();
        let mut durable = state.durable.clone();
        // A directory may name a file of which nothing else was made durable: it is there, and empty.
        let named: Vec<u64> = durable
            .values()
            .filter_map(|node| {
                if let Node::Directory(entries) = node { Some(entries.values().copied()) } else { None }
            })
            .flatten()
            .collect();
        for inode in named {
            let empty = match state.now.get(&inode) {
                Some(Node::Directory(_)) => Node::Directory(BTreeMap::new()),
                _ => Node::File(Vec::new()),
            };
            durable.entry(inode).or_insert(empty);
        }
        (state.durable, state.now) = (durable.clone(), durable);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn attributes(&self, inode: u64) -> Option<FileAttr> {
        let (kind, size) = match self.now.get(&inode)? {
            Node::Directory(_) => (FileType::Directory, 0),
            Node::File(bytes) => (FileType::RegularFile, bytes.len() as u64),
        };
        Some(FileAttr {
            ino: INodeNo(inode),
            size,
            blocks: size.div_ceil(512),
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind,
            perm: 0o700,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            flags: 0,
            blksize: 4096,
        })
    }

    fn find(&self, parent: u64, name: &OsStr) -> Option<u64> {
        match self.now.get(&parent)? {
            Node::Directory(entries) => entries.get(name).copied(),
            Node::File(_) => None,
        }
    }

    fn add(&mut self, parent: u64, name: &OsStr, node: Node) -> Option<FileAttr> {
        let inode = self.next;
        self.next += 1;
        self.now.insert(inode, node);
        self.link(parent, name, inode);
        self.attributes(inode)
    }

    fn link(&mut self, parent: u64, name: &OsStr, inode: u64) {
        if let Some(Node::Directory(entries)) = self.now.get_mut(&parent) {
            entries.insert(name.to_owned(), inode);
        }
    }

    fn unlink(&mut self, parent: u64, name: &OsStr) -> Option<u64> {
        match self.now.get_mut(&parent)? {
            Node::Directory(entries) => entries.remove(name),
            Node::File(_) => None,
        }
    }

    fn sync(&mut self, inode: u64) {
        if let Some(kept) = &mut self.kept {
            if *kept == 0 {
                return;
            }
            *kept -= 1;
        }
        if let Some(node) = self.now.get(&inode) {
            self.durable.insert(inode, node.clone());
        }
    }
}

impl Filesystem for Volatile {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let state = self.state();
        match state.find(parent.0, name).and_then(|inode| state.attributes(inode)) {
            Some(attributes) => reply.entry(&TTL, &attributes, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    /// A GiB, all of it free: what is full is no cause of what fails here.
    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        const BLOCKS: u64 = 1 << 18;
        reply.statfs(BLOCKS, BLOCKS, BLOCKS, 1 << 16, 1 << 16, 4096, 255, 4096);
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        if self.script.next(Call::Attributes, inode.0) == Some(Fault::Hang) {
            return self.script.hold(reply);
        }
        match self.state().attributes(inode.0) {
            Some(attributes) => reply.attr(&TTL, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn setattr(
        &self,
        _: &Request,
        inode: INodeNo,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let mut state = self.state();
        if let (Some(size), Some(Node::File(bytes))) = (size, state.now.get_mut(&inode.0)) {
            bytes.resize(usize::try_from(size).unwrap(), 0);
        }
        match state.attributes(inode.0) {
            Some(attributes) => reply.attr(&TTL, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn mkdir(&self, _: &Request, parent: INodeNo, name: &OsStr, _: u32, _: u32, reply: ReplyEntry) {
        match self.state().add(parent.0, name, Node::Directory(BTreeMap::new())) {
            Some(attributes) => reply.entry(&TTL, &attributes, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn create(&self, _: &Request, parent: INodeNo, name: &OsStr, _: u32, _: u32, _: i32, reply: ReplyCreate) {
        match self.state().add(parent.0, name, Node::File(Vec::new())) {
            Some(attributes) => {
                reply.created(&TTL, &attributes, Generation(0), FileHandle(0), FopenFlags::empty());
            }
            None => reply.error(Errno::ENOENT),
        }
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        match self.state().unlink(parent.0, name) {
            Some(_) => reply.ok(),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        _: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let mut state = self.state();
        match state.unlink(parent.0, name) {
            Some(inode) => {
                state.link(new_parent.0, new_name, inode);
                reply.ok();
            }
            None => reply.error(Errno::ENOENT),
        }
    }

    fn open(&self, _: &Request, inode: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        if flags.0 & DIRECT != 0
            && let Some(Fault::Error(number)) = self.script.next(Call::DirectOpen, inode.0)
        {
            return reply.error(Errno::from_i32(number));
        }
        reply.opened(FileHandle(0), self.script.cached().flags());
    }

    fn read(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let fault = self.script.next(Call::Read, inode.0);
        match fault {
            Some(Fault::Error(number)) => return reply.error(Errno::from_i32(number)),
            Some(Fault::Hang) => return self.script.hold(reply),
            _ => {}
        }
        match self.state().now.get(&inode.0) {
            Some(Node::File(bytes)) => {
                let start = usize::try_from(offset).unwrap().min(bytes.len());
                let length = transferred(size as usize, fault);
                let mut data = bytes[start..(start + length).min(bytes.len())].to_vec();
                corrupt(&mut data, fault);
                reply.data(&data);
            }
            _ => reply.error(Errno::EISDIR),
        }
    }

    fn write(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let fault = self.script.next(Call::Write, inode.0);
        match fault {
            Some(Fault::Error(number)) => return reply.error(Errno::from_i32(number)),
            Some(Fault::Hang) => return self.script.hold(reply),
            _ => {}
        }
        let mut data = data[..transferred(data.len(), fault)].to_vec();
        corrupt(&mut data, fault);
        let mut state = self.state();
        match state.now.get_mut(&inode.0) {
            Some(Node::File(bytes)) => {
                let start = usize::try_from(offset).unwrap();
                bytes.resize(bytes.len().max(start + data.len()), 0);
                bytes[start..start + data.len()].copy_from_slice(&data);
                // Past the page cache the kernel leaves O_DSYNC to the file system.
                if flags.0 & DSYNC != 0 {
                    state.sync(inode.0);
                }
                reply.written(u32::try_from(data.len()).unwrap());
            }
            _ => reply.error(Errno::EISDIR),
        }
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn fsync(&self, _: &Request, inode: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        match self.script.next(Call::Sync, inode.0) {
            Some(Fault::Error(number)) => return reply.error(Errno::from_i32(number)),
            Some(Fault::Hang) => return self.script.hold(reply),
            _ => {}
        }
        self.state().sync(inode.0);
        reply.ok();
    }

    fn fsyncdir(&self, _: &Request, inode: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.state().sync(inode.0);
        reply.ok();
    }
}

/// Bytes of a transfer that take place.
fn transferred(length: usize, fault: Option<Fault>) -> usize {
    if fault == Some(Fault::Short) { length / 2 } else { length }
}

fn corrupt(data: &mut [u8], fault: Option<Fault>) {
    if fault == Some(Fault::Corrupt)
        && let Some(byte) = data.get_mut(100)
    {
        *byte ^= 1;
    }
}
