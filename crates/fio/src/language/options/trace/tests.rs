use crate::language::OptionError;
use std::io;

use iolite_model::{BackendKind, Bytes, JobTask, TracedKinds};

use super::*;
use crate::language::lower::lower;
use crate::language::options::option::samples::spec;

const TRACE: &str = "fio version 3 iolog\n0 /a add\n0 /b add\n0 /a open\n10 /a read 5000 4096\n20 /b write 8192 8192\n\
                     20 /b sync 0 0\n30 /a trim 0 100000\n31 /a close\n";

/// A binary trace of writes of 4 KiB to device MAJOR:16: times in nanoseconds, and sectors.
fn binary(major: u32, writes: &[(u64, u64)]) -> Vec<u8> {
    let event = |(time, sector): &(u64, u64)| {
        let mut bytes = Vec::new();
        bytes.extend(0x6561_7407_u32.to_le_bytes());
        bytes.extend(1u32.to_le_bytes());
        bytes.extend(time.to_le_bytes());
        bytes.extend(sector.to_le_bytes());
        bytes.extend(4096u32.to_le_bytes());
        bytes.extend(0x0012_0001_u32.to_le_bytes());
        bytes.extend(77u32.to_le_bytes());
        bytes.extend((major << 20 | 16).to_le_bytes());
        bytes.extend([0; 8]);
        bytes
    };
    writes.iter().flat_map(event).collect()
}

fn surrounded<T>(text: &'static str, look: impl FnOnce(&HostContext<'_>) -> T) -> T {
    look(&HostContext {
        variable: &|_| None,
        page_size: 4096,
        memory_mib: 1,
        cpus: 1,
        read_file: &|path| match path.to_str() {
            Some("/sys/dev/block/8:16/uevent") => Ok(b"MAJOR=8\nDEVNAME=sdb\n".to_vec()),
            _ => Err(io::ErrorKind::NotFound.into()),
        },
        open_trace: &|path| match path.to_str() {
            Some("binary") => Ok(Box::new(io::Cursor::new(binary(8, &[(1_000, 8), (3_000, 16)])))),
            Some("cut") => Ok(Box::new(&[7, 0x74, 0x61, 0x65, 0, 1, 2][..])),
            Some("elsewhere") => Ok(Box::new(io::Cursor::new(binary(9, &[(500, 64), (1_500, 8)])))),
            Some("none") => Err(io::ErrorKind::NotFound.into()),
            Some("other") => Ok(Box::new(&b"fio version 2 iolog\n/c read 0 512\n"[..])),
            _ => Ok(Box::new(text.as_bytes())),
        },
    })
}

fn clone(number: u32) -> ThreadIndex {
    ThreadIndex { number, job: 0, clone: number, group: 0, together: true }
}

fn replayed(settings: &[(&str, &str)], number: u32) -> Result<FileTask, OptionError> {
    let mut spec = spec(settings)?;
    spec.trace = surrounded(TRACE, |around| spec.trace.loaded(around))?.unwrap();
    match lower(&spec, clone(number), &[])?.task {
        JobTask::Io(task) => Ok(*task),
        JobTask::Metadata(_) => panic!("not I/O"),
    }
}

const READ: (&str, &str) = ("read_iolog", "t");

fn files(task: &FileTask) -> Vec<(String, u64)> {
    let Target::Files(target) = &task.target else { panic!("{:?}", task.target) };
    target.files.iter().map(|file| (file.path.display().to_string(), file.size.0)).collect()
}

fn offsets(task: &FileTask) -> Vec<u64> {
    let Access::Trace(trace) = &task.access else { panic!("{:?}", task.access) };
    trace.operations().iter().map(|operation| operation.offset).collect()
}

#[test]
fn a_trace_says_what_is_done() {
    let settings =
        [READ, ("ioengine", "libaio"), ("iodepth", "4"), ("rw", "randread"), ("bs", "1m"), ("size", "4k")];
    let task = replayed(&settings, 0).unwrap();
    assert_eq!(files(&task), [("/a".to_owned(), 100_000), ("/b".to_owned(), 16_384)]);
    let all = TracedKinds { reads: true, writes: true, trims: true, syncs: true };
    assert_eq!((task.mix, task.arrival, task.block), (Mix::Traced(all), Arrival::Traced(100), Bytes(8192)));
    assert_eq!((task.stop.worker_operations, task.stop.runtime, task.concurrency), (Some(4), None, 4));
    assert_eq!(offsets(&task), [5000, 8192, 0, 0]);
}

#[test]
fn a_trace_may_be_changed() {
    let with = |setting| replayed(&[READ, setting], 0).unwrap();
    assert_eq!(with(("replay_no_stall", "1")).arrival, Arrival::Closed);
    assert_eq!(with(("replay_time_scale", "50")).arrival, Arrival::Traced(50));
    assert_eq!(offsets(&with(("replay_align", "4k"))), [4096, 8192, 0, 0]);
    assert_eq!(offsets(&with(("replay_scale", "2"))), [2500, 4096, 0, 0]);
    assert_eq!(offsets(&with(("replay_skip", "read,sync"))), [8192, 0]);
    assert_eq!(files(&with(("replay_redirect", "/r"))), [("/r".to_owned(), 100_000)]);
    assert_eq!(
        with(("runtime", "5")).stop.runtime,
        Some(iolite_model::Nanos::SECOND).map(|s| iolite_model::Nanos(5 * s.0))
    );
    let null = replayed(&[READ, ("ioengine", "null")], 0).unwrap();
    assert_eq!((null.backend, null.target), (BackendKind::Null, Target::Null { size: Bytes(100_000) }));
}

#[test]
fn clones_take_turns_at_traces() {
    let of = |number| files(&replayed(&[("read_iolog", "t:other")], number).unwrap()).len();
    assert_eq!([of(0), of(1), of(2)], [2, 1, 2]);
    assert_eq!(replayed(&[("read_iolog", "other")], 0).unwrap().arrival, Arrival::Closed);
}

#[test]
fn what_a_trace_cannot_do_is_refused() {
    let error = |setting| replayed(&[READ, setting], 0).unwrap_err().to_string();
    assert!(error(("verify", "md5")).contains("not verified"));
    assert!(error(("rate", "1m")).contains("replay_no_stall"));
    assert!(error(("thinktime", "1ms")).contains("replay_no_stall"));
    assert!(error(("fsync", "1")).contains("the trace has the syncs"));
    assert!(error(("ioengine", "filecreate")).contains("metadata"));
    assert!(error(("replay_skip", "read,write,trim,sync")).contains("no operation"));
    assert!(replayed(&[("read_iolog", "none")], 0).unwrap_err().to_string().contains("check the path"));
    assert!(spec(&[("replay_align", "5000")]).is_err() && spec(&[("replay_skip", "some")]).is_err());
}

#[test]
fn a_trace_is_a_log() {
    let thread = |settings: &[(&str, &str)]| {
        let spec = spec(&[&[("size", "1m"), ("write_iolog", "t.log")], settings].concat())?;
        lower(&spec, clone(0), &[])
    };
    let mut written = thread(&[]).unwrap();
    assert_eq!((written.logs.len(), written.logs[0].kind), (1, LogKind::Trace));
    assert_eq!(written.logs[0].path, PathBuf::from("t.log"));
    assert!(written.io().unwrap().watch.operations);
    assert!(thread(&[("ioengine", "filecreate")]).unwrap_err().to_string().contains("write_iolog"));
    assert!(
        thread(&[("rw", "write"), ("sync_file_range", "wait_before,write:4")])
            .unwrap_err()
            .to_string()
            .contains("write_iolog")
    );
}

#[test]
fn a_binary_trace_is_repeated_on_its_devices() {
    let task = replayed(&[("read_iolog", "binary")], 0).unwrap();
    assert_eq!(files(&task), [("/dev/sdb".to_owned(), 16 * 512 + 4096)]);
    assert_eq!((offsets(&task), task.arrival), (vec![4096, 8192], Arrival::Traced(100)));
    let cut = replayed(&[("read_iolog", "cut")], 0).unwrap_err().to_string();
    assert!(cut.contains("within its event 1"), "{cut}");
    let error = replayed(&[("read_iolog", "elsewhere")], 0).unwrap_err().to_string();
    assert!(error.contains("9:16") && error.contains("replay_redirect"), "{error}");
    let task = replayed(&[("read_iolog", "elsewhere"), ("replay_redirect", "/r")], 0).unwrap();
    assert_eq!((files(&task), offsets(&task)), (vec![("/r".to_owned(), 64 * 512 + 4096)], vec![32768, 4096]));
}

#[test]
fn binary_traces_are_merged() {
    let merged = |settings: &[(&str, &str)]| {
        let settings = [
            &[("read_iolog", "binary:elsewhere"), ("merge_blktrace_file", "m"), ("replay_redirect", "/r")],
            settings,
        ]
        .concat();
        let trace = spec(&settings)?.trace;
        Ok::<_, OptionError>(surrounded(TRACE, |around| trace.loaded(around))?.unwrap())
    };
    let settings = [("merge_blktrace_scalars", "50:100"), ("merge_blktrace_iters", "2:1")];
    let trace = merged(&settings).unwrap();
    let at: Vec<(u64, u64)> = trace.replays[0]
        .operations
        .operations()
        .iter()
        .map(|operation| (operation.at.0, operation.offset / 512))
        .collect();
    assert_eq!(at, [(0, 8), (0, 64), (1000, 16), (1000, 8), (1000, 8), (2000, 16)]);
    assert_eq!(trace.replays.len(), 1, "all clones repeat what is merged");
    let file = trace.merged.unwrap();
    assert_eq!((file.path.as_path(), file.contents.len()), (Path::new("m"), 6 * 48));
    let error = |settings: &[(&str, &str)]| merged(settings).unwrap_err().to_string();
    assert!(error(&[("merge_blktrace_iters", "2")]).contains("1 numbers for 2 traces"));
    assert!(error(&[("merge_blktrace_scalars", "1:2:3")]).contains("3 numbers for 2 traces"));
    assert!(error(&[("read_iolog", "binary:other")]).contains("no binary trace"));
}
