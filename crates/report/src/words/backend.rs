//! Back ends and syncs in words.

use std::borrow::Cow;

use iolite_model::{BackendKind, IoFlags, RangeSync, RingOptions, SyncMethod, SyncRule};

/// The call that makes data durable.
pub(super) fn sync_call(method: SyncMethod) -> &'static str {
    match method {
        SyncMethod::Fdatasync => "fdatasync",
        SyncMethod::Fsync => "fsync",
        SyncMethod::FileRange => "sync_file_range",
        SyncMethod::FileSystem => "syncfs",
    }
}

/// What sync_file_range(2) does, unless it is all that it can.
pub(super) fn range(range: RangeSync) -> Option<String> {
    let RangeSync { wait_before, write, wait_after } = range;
    let all = [(wait_before, "waits before"), (write, "writes"), (wait_after, "waits after")];
    let said: Vec<&str> = all.into_iter().filter_map(|(on, text)| on.then_some(text)).collect();
    (range != RangeSync::ALL).then(|| format!("sync_file_range {}", said.join(" and ")))
}

fn ring(options: RingOptions) -> Vec<Cow<'static, str>> {
    let RingOptions {
        submit_polling,
        submit_polling_cpu,
        completion_polling,
        linked_sync,
        force_async,
        nowait,
        dontcache,
    } = options;
    let polling = submit_polling_cpu
        .map_or("submission polling".into(), |cpu| format!("submission polling on CPU {cpu}").into());
    let all: [(bool, Cow<'static, str>); 6] = [
        (submit_polling, polling),
        (completion_polling, "completion polling".into()),
        (linked_sync, "linked syncs".into()),
        (force_async > 0, format!("one in {force_async} by a kernel thread").into()),
        (nowait, "nowait".into()),
        (dontcache, "dontcache".into()),
    ];
    all.into_iter().filter(|(set, _)| *set).map(|(_, name)| name).collect()
}

/// A back end with its options.
pub(super) fn backend(backend: BackendKind) -> String {
    let options: Vec<Cow<'_, str>> = match backend {
        BackendKind::IoUring(options) => ring(options),
        BackendKind::Vectored(IoFlags { dsync, hipri, hipri_percent, nowait, atomic, dontcache }) => {
            let polled = match hipri_percent {
                0 => "hipri".into(),
                percent => format!("hipri for {percent} %").into(),
            };
            let all: [(bool, Cow<'static, str>); 5] = [
                (dsync, "dsync".into()),
                (hipri, polled),
                (nowait, "nowait".into()),
                (atomic, "atomic".into()),
                (dontcache, "dontcache".into()),
            ];
            all.into_iter().filter(|(set, _)| *set).map(|(_, name)| name).collect()
        }
        _ => Vec::new(),
    };
    if options.is_empty() {
        backend.name().to_owned()
    } else {
        format!("{} ({})", backend.name(), options.join(", "))
    }
}

/// When it is called.
pub(super) fn sync(sync: SyncRule) -> String {
    let call = sync_call(sync.method);
    if sync.every == 1 {
        format!("{call} after each write")
    } else {
        format!("{call} after every {} writes", sync.every)
    }
}
