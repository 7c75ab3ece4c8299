//! How much of what was requested reached the device, and how much of the target was in the page cache.

use std::fs::File;
use std::os::unix::fs::FileTypeExt;

use iolite_model::{Bytes, Cache, DeviceCounters, Event, Sink, Storage};
use iolite_sys::{extents, page_cache};
use rustix::fs::{AtFlags, StatxFlags};

use crate::leaf_counters::LeafCounters;
use crate::probe::number_of;
use crate::process_io::ProcessIo;
use crate::zeros::{PATIENCE, zero_share};

/// File systems whose I/O is submitted by the task that asks for it, so that the kernel accounts it to that task, and whose
/// direct I/O is direct. ZFS, NFS, FUSE, virtiofs and 9p are not among them.
const ACCOUNTED: [&str; 8] = ["ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "overlay", "block device"];

/// Watches the leaf devices, this program's own I/O and the page cache over a phase. A probe that fails yields `None`, never an
/// error.
#[derive(Debug)]
pub struct CacheProbe<'a> {
    counters: Option<&'a LeafCounters>,
    storage: Option<&'a Storage>,
    /// The process whose I/O, with that of its descendants, is the phase's; `None` where it is not known.
    process: Option<u32>,
    /// The target's first bytes: a file and the length of its span.
    target: Option<(File, u64)>,
    start: Counts,
    release: Option<Counts>,
    resident: Option<f64>,
    dirty: u64,
    unwritten: Option<f64>,
    compressed: Option<f64>,
    /// Whether the target is to be sampled for zeros.
    samples: bool,
    zeros: Option<f64>,
    way: WayOfWriting,
}

/// How what is written gets to the devices.
#[derive(Debug, Clone, Copy, Default)]
struct WayOfWriting {
    /// All I/O is requested to bypass the page cache.
    direct: bool,
    /// What counts as written is durable when the phase ends.
    synchronised: bool,
    /// Nothing at all that the process wrote is dirty when the phase ends.
    clean: bool,
}

/// What was counted at an instant.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    device: Option<DeviceCounters>,
    own: Option<ProcessIo>,
}

impl<'a> CacheProbe<'a> {
    /// Records the state before a phase, of the devices (`counters`) and of the first bytes of the target (`target`: a
    /// file and the length of its span in bytes).
    pub fn start(counters: Option<&'a LeafCounters>, target: Option<(&File, u64)>) -> CacheProbe<'a> {
        let mut probe = CacheProbe {
            counters,
            storage: None,
            process: Some(std::process::id()),
            target: None,
            start: Counts::default(),
            release: None,
            resident: None,
            dirty: 0,
            unwritten: None,
            compressed: None,
            samples: false,
            zeros: None,
            way: WayOfWriting::default(),
        };
        probe.examine(target.and_then(|(file, length)| Some((file.try_clone().ok()?, length))));
        // Last: looking at the target must not come between the counters and the phase.
        probe.start = probe.count();
        probe
    }

    /// Separates this program's I/O from that of others: the processes that do I/O on `storage` are this one and its descendants.
    #[must_use]
    pub fn on(mut self, storage: &'a Storage) -> CacheProbe<'a> {
        self.storage = Some(storage);
        self.start = self.count();
        self
    }

    /// The I/O is that of this process and its descendants, a database server for example, in place of this program's. `None`
    /// where it is not known who does it: then what the devices read is not attributed to anybody.
    #[must_use]
    pub fn of(mut self, process: Option<u32>) -> CacheProbe<'a> {
        self.process = process;
        self.start = self.count();
        self
    }

    /// The phase reads: its target is sampled for zeros, a file when the phase is released, and a block device (with its length in
    /// bytes) at once, before the phase opens it. Without counters of the devices nothing is read: the stamp is `unknown` anyway.
    #[must_use]
    pub fn sampling(mut self, device: Option<(File, u64)>) -> CacheProbe<'a> {
        self.samples = self.counters.is_some();
        let device = device.filter(|_| self.samples);
        self.zeros = device.and_then(|(device, length)| zero_share(&device, length, PATIENCE));
        self.start = self.count();
        self
    }

    /// Whatever this program writes, it synchronises before the phase ends: nothing of it is dirty then.
    #[must_use]
    pub fn synchronised(self) -> CacheProbe<'a> {
        CacheProbe { way: WayOfWriting { synchronised: true, clean: true, ..self.way }, ..self }
    }

    /// What counts as written is durable before the phase ends; a server's process may have other data in the page cache.
    #[must_use]
    pub fn durable(self, synchronised: bool) -> CacheProbe<'a> {
        CacheProbe { way: WayOfWriting { synchronised, ..self.way }, ..self }
    }

    /// All I/O is requested to bypass the page cache.
    #[must_use]
    pub fn direct(self, direct: bool) -> CacheProbe<'a> {
        CacheProbe { way: WayOfWriting { direct, ..self.way }, ..self }
    }

    /// The phase is ready, and not released yet: what was counted until here created its target, which is this one, or laid it out.
    pub fn release(&mut self, target: Option<(File, u64)>) {
        self.examine(target);
        if let Some((file, length)) = self.target.as_ref().filter(|_| self.samples) {
            // What was never written is zeros without being read.
            let unwritten = self.unwritten.unwrap_or(0.0) > 0.5;
            self.zeros =
                self.zeros.or_else(|| if unwritten { None } else { zero_share(file, *length, PATIENCE) });
        }
        // Last: looking at the target must not come between the counters and the phase.
        self.release = Some(self.count());
    }

    fn examine(&mut self, target: Option<(File, u64)>) {
        self.target = target.filter(|(_, length)| *length > 0);
        let Some((file, length)) = &self.target else { return };
        self.resident = resident_share(file, *length);
        self.dirty = page_cache::dirty_bytes(file, 0, *length).unwrap_or(0);
        if let Ok(stored) = extents::stored(file, *length) {
            let share = |bytes: u64| Some(bytes as f64 / *length as f64);
            self.unwritten = share(length.saturating_sub(stored.written.saturating_add(self.dirty)));
            self.compressed = share(stored.encoded);
        }
    }

    fn count(&self) -> Counts {
        let own = self
            .storage
            .filter(|storage| is_accounted(storage))
            .and(self.process)
            .and_then(ProcessIo::of_tree);
        Counts { device: self.counters.and_then(|counters| counters.read().ok()), own }
    }

    /// Compares with the state now, after a phase that requested these many bytes, its ramp included.
    ///
    /// Call it when the last operation has completed. What is written to the page cache and not yet written back
    /// has not reached the device, and is not counted.
    pub fn finish(self, requested_read: Bytes, requested_written: Bytes) -> Cache {
        let end = self.count();
        let dirty =
            self.target.as_ref().and_then(|(file, length)| page_cache::dirty_bytes(file, 0, *length).ok());
        let read = self.moved(&end, |counters| counters.read, |own| own.read);
        let written = self.moved(&end, |counters| counters.written, |own| own.written);
        let own_written = match dirty.or(self.way.clean.then_some(0)) {
            Some(dirty) => {
                written.own.map(|own| Bytes(own.0.saturating_sub(dirty.saturating_sub(self.dirty))))
            }
            None => written_at_least(written, requested_written, host_dirty()),
        };
        Cache {
            requested_read,
            requested_written,
            device_read: read.device,
            device_written: written.device,
            device_flushes: self.flushes(&end),
            own_read: self.informative(read, requested_read),
            own_written,
            resident_before: self.resident,
            resident_after: self.target.as_ref().and_then(|(file, length)| resident_share(file, *length)),
            unwritten: self.unwritten,
            compressed: self.compressed,
            zeros: self.zeros,
            unattributed: self.process != Some(std::process::id()) && read.own.is_none(),
            direct_confirmed: self.direct_confirmed(),
            direct: self.way.direct,
            synchronised: self.way.synchronised,
        }
    }

    /// Bytes moved since the release, where the phase has one, else since the start.
    fn moved(
        &self,
        end: &Counts,
        of_device: fn(DeviceCounters) -> Bytes,
        of_own: fn(ProcessIo) -> Bytes,
    ) -> Moved {
        let from = self.release.as_ref().unwrap_or(&self.start);
        Moved {
            device: end.device.zip(from.device).map(|(to, from)| of_device(to.since(from))),
            own: end.own.zip(from.own).map(|(to, from)| of_own(to.since(from))),
        }
    }

    /// Flushes since the release. A device that has never counted one does not count them.
    fn flushes(&self, end: &Counts) -> Option<u64> {
        let from = self.release.as_ref().unwrap_or(&self.start).device?;
        end.device.filter(|device| device.flushes > 0).map(|device| device.since(from).flushes)
    }

    /// This program's own reads, where they show what the leaf devices did for it. Beneath a loop device the kernel reads on its
    /// own account, and may have it from memory: only that less was asked for is known then.
    fn informative(&self, read: Moved, requested: Bytes) -> Option<Bytes> {
        let on_loop = self.storage.is_some_and(|storage| storage.devices.iter().any(|d| d.kind == "loop"));
        read.own.filter(|own| !on_loop || own.0 < requested.0 / 50 * 49)
    }

    fn direct_confirmed(&self) -> bool {
        self.storage.is_some_and(is_accounted)
            || self.target.as_ref().is_some_and(|(file, _)| is_block_device(file) || reports_alignment(file))
    }
}

/// Bytes that devices and this program moved in one direction.
#[derive(Debug, Clone, Copy)]
struct Moved {
    device: Option<Bytes>,
    own: Option<Bytes>,
}

/// What reached the device of what this program wrote, where the dirty pages of its target are not known (cachestat(2), Linux 6.5):
/// at least what it dirtied but for all that is dirty on the host. `None` where that leaves open whether more is its own: it wrote
/// less than was requested, and the device wrote more than that.
fn written_at_least(written: Moved, requested: Bytes, host_dirty: Option<u64>) -> Option<Bytes> {
    let at_least = written.own?.0.saturating_sub(host_dirty?);
    let slack = requested.0 / 50;
    let is_all = at_least >= requested.0 - slack;
    (is_all || written.device?.0 <= at_least + slack).then_some(Bytes(at_least))
}

/// Bytes of the host's page cache that wait to be written, or are being written (/proc/meminfo).
fn host_dirty() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let bytes = |name| number_of(&text, name).map(|kib| kib as u64 * 1024);
    Some(bytes("Dirty")? + bytes("Writeback")?)
}

/// Whether the kernel accounts I/O on this storage to the tasks that ask for it.
fn is_accounted(storage: &Storage) -> bool {
    ACCOUNTED.contains(&storage.filesystem.kind.as_str()) && !storage.devices.is_empty()
}

fn is_block_device(file: &File) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.file_type().is_block_device())
}

/// Whether the file system says what alignment direct I/O on this file needs (statx(2), STATX_DIOALIGN, Linux 6.1): it then does it.
fn reports_alignment(file: &File) -> bool {
    let answer = rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN);
    answer.is_ok_and(|answer| {
        answer.stx_mask & StatxFlags::DIOALIGN.bits() != 0 && answer.stx_dio_offset_align != 0
    })
}

/// The share (0 to 1) of a file's first `length` bytes that is in the page cache.
fn resident_share(file: &File, length: u64) -> Option<f64> {
    let resident = page_cache::resident_bytes(file, 0, length).ok()?;
    Some(resident as f64 / length as f64)
}

/// Passes events on, and notifies a probe when the phases that start together are about to be released.
pub struct ReleaseWatch<'w, 'p, S: Sink + ?Sized> {
    sink: &'w mut S,
    probe: &'w mut CacheProbe<'p>,
    target: FindTarget<'w>,
    /// Phases that are not ready yet; `None` once the probe has been notified.
    awaited: Option<usize>,
}

/// Finds the file of a phase, with the length of its span in bytes, where it is there.
type FindTarget<'w> = Box<dyn Fn() -> Option<(File, u64)> + Send + 'w>;

impl<'w, 'p, S: Sink + ?Sized> ReleaseWatch<'w, 'p, S> {
    /// Passes events on to `sink`. `phases` start together; `target` is asked for their file when the last of them is ready.
    pub fn new(
        sink: &'w mut S,
        probe: &'w mut CacheProbe<'p>,
        phases: usize,
        target: impl Fn() -> Option<(File, u64)> + Send + 'w,
    ) -> ReleaseWatch<'w, 'p, S> {
        ReleaseWatch { sink, probe, target: Box::new(target), awaited: Some(phases) }
    }
}

impl<S: Sink + ?Sized> Sink for ReleaseWatch<'_, '_, S> {
    fn event(&mut self, event: &Event) {
        match (event, self.awaited) {
            // The last one that is ready counts, because others prepare until then; a release without it comes too early.
            (Event::PhaseReady(_), Some(0..=1)) | (Event::PhaseReleased(_), Some(_)) => {
                self.awaited = None;
                self.probe.release((self.target)());
            }
            (Event::PhaseReady(_), Some(awaited)) => self.awaited = Some(awaited - 1),
            _ => {}
        }
        self.sink.event(event);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;
    use std::path::Path;
    use std::sync::{Mutex, PoisonError};

    use iolite_model::{CacheStamp, Nanos, PhaseRelease};

    use super::*;
    use crate::leaf_counters::tests::{LENGTH, direct_file, read_all};

    fn here() -> Storage {
        crate::storage(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap()
    }

    /// One test at a time: this program's I/O is that of all its threads.
    static OWN: Mutex<()> = Mutex::new(());

    #[test]
    fn direct_reads_reach_the_device_and_cached_reads_do_not() {
        let _own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
        let (counters, file, direct) = match direct_file() {
            Ok(ready) => ready,
            Err(reason) => return eprintln!("skipped: {reason}"),
        };
        let storage = here();
        let probe = CacheProbe::start(Some(&counters), Some((&direct, LENGTH))).on(&storage);
        read_all(&direct);
        let cache = probe.finish(Bytes(LENGTH), Bytes(0));
        // What cannot be distinguished from others' I/O, as beneath a loop device, depends on who else is there.
        assert!(matches!(cache.stamp(), CacheStamp::Device | CacheStamp::OtherIo), "{cache:?}");
        assert_eq!((cache.resident_before, cache.resident_after), (Some(0.0), Some(0.0)));

        // Through the cache: from the device into it.
        let probe = CacheProbe::start(Some(&counters), Some((&direct, LENGTH))).on(&storage);
        std::fs::read(file.path()).unwrap();
        let cache = probe.finish(Bytes(LENGTH), Bytes(0));
        assert_eq!((cache.resident_before, cache.resident_after), (Some(0.0), Some(1.0)));
        assert!(cache.device_read.unwrap().0 >= LENGTH, "{cache:?}");

        // From the cache, whatever others read meanwhile.
        let probe = CacheProbe::start(Some(&counters), Some((&direct, LENGTH))).on(&storage);
        std::fs::read(file.path()).unwrap();
        let cache = Cache { device_read: Some(Bytes(64 * LENGTH)), ..probe.finish(Bytes(LENGTH), Bytes(0)) };
        match cache.own_read {
            Some(_) => assert_eq!(cache.stamp(), CacheStamp::Cached, "{cache:?}"),
            None => eprintln!("skipped in part: I/O of tasks is not accounted here"),
        }
    }

    #[test]
    fn what_came_before_the_release_is_not_the_phases() {
        let _own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
        let (counters, _file, direct) = match direct_file() {
            Ok(ready) => ready,
            Err(reason) => return eprintln!("skipped: {reason}"),
        };
        let storage = here();
        let mut probe = CacheProbe::start(Some(&counters), None).on(&storage);
        read_all(&direct);
        probe.release(Some((direct.try_clone().unwrap(), LENGTH)));
        let cache = probe.finish(Bytes(LENGTH), Bytes(0));
        if cache.own_read.is_none() {
            return eprintln!("skipped: I/O of tasks is not accounted here");
        }
        assert_eq!(cache.stamp(), CacheStamp::Cached, "{cache:?}");
    }

    #[test]
    fn a_part_of_the_target_that_was_laid_out_is_not_the_phases() {
        let _own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
        let (storage, directory) = (here(), tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap());
        let file = File::create_new(directory.path().join("partly")).unwrap();
        let write = |offset: u64, length: u64| {
            file.write_all_at(&vec![1; length as usize], offset).unwrap();
            file.sync_data().unwrap();
        };
        write(0, LENGTH / 4 * 3);
        let mut probe = CacheProbe::start(None, Some((&file, LENGTH))).on(&storage);
        // The last quarter completes it; the phase then rewrites another.
        write(LENGTH / 4 * 3, LENGTH / 4);
        probe.release(Some((file.try_clone().unwrap(), LENGTH)));
        write(0, LENGTH / 4);
        let cache = probe.finish(Bytes(0), Bytes(LENGTH / 4));
        match cache.own_written {
            Some(written) => assert!((LENGTH / 4..LENGTH / 2).contains(&written.0), "{cache:?}"),
            None => eprintln!("skipped: I/O of tasks is not accounted here"),
        }
    }

    #[test]
    fn io_of_a_process_that_is_not_known_is_attributed_to_nobody() {
        let storage = here();
        let of = |process| CacheProbe::start(None, None).on(&storage).of(process).finish(Bytes(1), Bytes(0));
        assert!(of(None).unattributed && of(Some(u32::MAX)).unattributed);
        assert!(!of(Some(std::process::id())).unattributed);
        // Another one's is counted where it may be.
        let mut other =
            std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        let counted = of(Some(other.id()));
        drop(other.stdin.take());
        other.wait().unwrap();
        if of(Some(std::process::id())).own_read.is_some() {
            assert_eq!((counted.own_read, counted.unattributed), (Some(Bytes(0)), false));
        }
    }

    #[test]
    fn what_is_synchronised_needs_no_file_to_be_known_as_written() {
        let _own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
        let (storage, directory) = (here(), tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap());
        let write = |probe: CacheProbe<'_>| {
            let mut file = File::create(directory.path().join("log")).unwrap();
            std::io::Write::write_all(&mut file, &[1; 1 << 20]).unwrap();
            file.sync_data().unwrap();
            // More than was written, so that what is dirty on the host does not decide whether all of it was.
            probe.finish(Bytes(0), Bytes(1 << 40)).own_written
        };
        assert_eq!(write(CacheProbe::start(None, None).on(&storage)), None);
        match write(CacheProbe::start(None, None).on(&storage).synchronised()) {
            Some(written) => assert!(written.0 >= 1 << 20, "{written}"),
            None => eprintln!("skipped: I/O of tasks is not accounted here"),
        }
    }

    #[test]
    fn writes_are_the_programs_only_as_far_as_nothing_else_explains_them() {
        let known = |own: u64, device: u64, dirty: u64| {
            let written = Moved { device: Some(Bytes(device)), own: Some(Bytes(own)) };
            written_at_least(written, Bytes(1000), Some(dirty)).map(|bytes| bytes.0)
        };
        // Hardly anything on the host is dirty: all has been written. Nothing has been: all of it is dirty.
        assert_eq!([known(1000, 1000, 10), known(1000, 0, 5000)], [Some(990), Some(0)]);
        // A half, by both counts; beside a neighbour that wrote or dirtied as much it cannot be known.
        assert_eq!(
            [known(1000, 505, 500), known(1000, 1000, 500), known(1000, 1000, 5000)],
            [Some(500), None, None]
        );
        let uncounted = Moved { device: Some(Bytes(1000)), own: None };
        assert_eq!(written_at_least(uncounted, Bytes(1000), Some(0)), None);
        assert!(host_dirty().is_some());
    }

    #[test]
    fn a_target_is_examined_once_when_the_last_of_its_phases_is_ready() {
        let asked = |phases, events: &[Event]| {
            let (mut probe, asked) = (CacheProbe::start(None, None), Mutex::new(Vec::new()));
            let seen = std::sync::atomic::AtomicUsize::new(0);
            let find = || {
                asked.lock().unwrap().push(seen.load(std::sync::atomic::Ordering::Relaxed));
                None
            };
            let mut sink = iolite_model::NullSink;
            let mut watch = ReleaseWatch::new(&mut sink, &mut probe, phases, find);
            for event in events {
                seen.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                watch.event(event);
            }
            drop(watch);
            asked.into_inner().unwrap()
        };
        let ready = Event::PhaseReady;
        let released = |phase| Event::PhaseReleased(PhaseRelease { phase, at_unix: Nanos(0) });
        let set =
            [ready(0), ready(1), ready(2), released(0), released(1), released(2), ready(3), released(3)];
        assert_eq!(asked(3, &set), [3]);
        assert_eq!(asked(1, &set[..1]), [1]);
        assert_eq!(asked(9, &set), [4], "with the first release at the latest");
    }

    #[test]
    fn what_is_not_known_is_none() {
        let cache = CacheProbe::start(None, None).finish(Bytes(1), Bytes(2));
        let expected = Cache { requested_read: Bytes(1), requested_written: Bytes(2), ..Cache::default() };
        assert_eq!((cache, cache.stamp()), (expected, CacheStamp::Unknown));
        let file = tempfile::tempfile().unwrap();
        assert_eq!(CacheProbe::start(None, Some((&file, 0))).finish(Bytes(1), Bytes(2)), expected);
    }

    #[test]
    fn direct_io_is_confirmed_by_the_file_system_or_by_statx() {
        let known = |kind: &str| {
            let mut storage = here();
            storage.filesystem.kind = kind.into();
            CacheProbe::start(None, None).on(&storage).finish(Bytes(1), Bytes(0)).direct_confirmed
        };
        if here().devices.is_empty() {
            return eprintln!("skipped: no block device beneath the checkout");
        }
        assert_eq!(
            [known("xfs"), known("zfs"), known("fuse.sshfs"), known("nfs4")],
            [true, false, false, false]
        );
    }
}
