use crate::language::OptionError;
use std::io;

use iolite_model::{BackendKind, Bytes, JobTask, TracedKinds};

use super::*;
use crate::language::lower::lower;
use crate::language::options::option::samples::spec;

const TRACE: &str = "fio version 3 iolog\n0 /a add\n0 /b add\n0 /a open\n10 /a read 5000 4096\n20 /b write 8192 8192\n\
                     20 /b sync 0 0\n30 /a trim 0 100000\n31 /a close\n";

fn surrounded<T>(text: &'static str, look: impl FnOnce(&HostContext<'_>) -> T) -> T {
    look(&HostContext {
        variable: &|_| None,
        page_size: 4096,
        memory_mib: 1,
        cpus: 1,
        read_file: &|_| Err(io::ErrorKind::NotFound.into()),
        open_trace: &|path| match path.to_str() {
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
