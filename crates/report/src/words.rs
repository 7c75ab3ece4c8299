//! A task in words.

use iolite_model::{
    Access, Advice, Arrival, Batch, Bytes, FileTask, Flow, IoClass, IoPriority, KindLimit, KindRates,
    MemoryPolicy, MetadataOperation, MetadataTask, Mix, Nanos, OnError, OpKind, OpenSync, Overwrite, Pace,
    PageCache, Placement, Prioritized, PriorityShare, RatedThinkTime, Regions, SizeLaw, Sizes, Start, Stop,
    SyncMethod, Target, Task, TracedKinds, Verify, WriteDurability, ZoneSize,
};

use crate::styler::count;

mod backend;
mod contents;
pub(crate) mod database;
mod mixture;
mod zoned;

pub(crate) use database::SETS;

use backend::{backend, sync, sync_call};
use contents::contents;
use mixture::mixture;
use zoned::zoned;

/// Whether each write is made durable at once: then the commits are what counts.
pub(crate) fn commits(task: &Task) -> bool {
    matches!(task, Task::File(task) if task.durability.commits())
}

/// What a kind is called beside others in the same phase.
pub(crate) fn kind(task: &Task, kind: OpKind) -> &'static str {
    match (task, kind) {
        (_, OpKind::Read) => "reads",
        (Task::Database(_), OpKind::Write) => "sets",
        (_, OpKind::Write) => "writes",
        (
            Task::File(FileTask { durability: WriteDurability { sync: Some(sync), also, .. }, .. }),
            OpKind::Sync,
        ) if also.is_empty() => match sync.method {
            SyncMethod::Fdatasync => "fdatasync alone",
            SyncMethod::Fsync => "fsync alone",
            SyncMethod::FileRange => "sync_file_range alone",
            SyncMethod::FileSystem => "syncfs alone",
        },
        (_, OpKind::Sync) => "syncs",
        (_, OpKind::Commit) => "commits",
        (_, OpKind::Trim) => "trims",
        (_, OpKind::Create) => "creates",
        (_, OpKind::Stat) => "stats",
        (_, OpKind::Open) => "opens",
        (_, OpKind::Unlink) => "unlinks",
        (_, OpKind::Mkdir) => "mkdirs",
        (_, OpKind::Rmdir) => "rmdirs",
        (_, other) => other.name(),
    }
}

/// What the operations of a task are, and what they go to.
pub(crate) fn does(task: &Task) -> String {
    match task {
        Task::File(task) => FileWords::of(task).does,
        Task::Metadata(task) => names(task),
        Task::Database(task) => task.operation.does(),
        Task::TprocC(task) => database::transactions_of(task),
    }
}

/// How they reach the storage.
pub(crate) fn way(task: &Task) -> Option<String> {
    let Task::File(task) = task else { return None };
    Some(FileWords::of(task).way)
}

/// Number of concurrent ones, and when.
pub(crate) fn load(task: &Task) -> String {
    match task {
        Task::File(task) => FileWords::of(task).load,
        Task::Metadata(task) => number(task.workers, "thread", "threads"),
        Task::Database(task) => number(task.workers, "job", "jobs"),
        Task::TprocC(task) => database::users(task),
    }
}

/// So many of something.
pub(crate) fn number(count: u32, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// When it begins and what ends it.
pub(crate) fn extent(task: &Task) -> String {
    let mut parts = Vec::new();
    let stop = stop(task.stop());
    parts.push(if stop.is_empty() { "to its end".to_owned() } else { stop.join(" or ") });
    if !task.ramp().is_none() {
        parts.push(format!("after a ramp of {}, which is not measured", task.ramp()));
    }
    if let Task::File(task) = task {
        parts.extend(FileWords::of(task).extent);
    }
    parts.join(", ")
}

fn stop(stop: Stop) -> Vec<String> {
    let Stop { runtime, bytes, operations, loops, worker_bytes, worker_operations, written, full, in_flight } =
        stop;
    let mut ends = Vec::new();
    ends.extend(runtime.map(|runtime| format!("for {runtime}")));
    ends.extend(bytes.map(|bytes| format!("until {bytes}")));
    ends.extend(operations.map(|operations| format!("until {} operations", count(operations))));
    ends.extend(loops.map(|loops| match loops {
        1 => "once over the target size".to_owned(),
        _ => format!("{loops} times over the target size"),
    }));
    ends.extend(worker_bytes.map(|bytes| format!("until {bytes} of each worker")));
    ends.extend(worker_operations.map(|n| format!("until {} operations of each worker", count(n))));
    ends.extend(written.map(|bytes| format!("until {bytes} are written")));
    ends.extend(full.then(|| "until there is no space left".to_owned()));
    ends.extend(in_flight.then(|| "including operations in flight then".to_owned()));
    ends
}

/// Block I/O in words, by the question that is answered.
struct FileWords {
    /// What the operations are, and what they go to.
    does: String,
    /// How they reach the storage.
    way: String,
    /// Number of operations at once, and when they start.
    load: String,
    /// What delays its start, or ends it, besides its ramp and its stop.
    extent: Vec<String>,
}

impl FileWords {
    /// Takes the task apart down to its last field: one that is new does not compile until it has words here, or is left out in
    /// plain sight.
    fn of(task: &FileTask) -> FileWords {
        let FileTask {
            // Headings, and what changes nothing of what is done.
            name: _,
            group: _,
            watch: _,
            interval: _,
            seed: _,
            // What every kind of task has: see `extent`.
            stop: _,
            ramp: _,
            start: Start { together: _, after, delay },
            target: storage,
            backend: by,
            mix: kinds,
            access: order,
            regions: parts_of,
            zoned: zones,
            block,
            sizes,
            contents: data,
            direct,
            workers,
            placement: placed,
            priorities: shares,
            concurrency,
            batch: batches,
            arrival: when,
            durability: durable,
            cache,
            verify: verified,
            // Which errors end it is said where one has.
            errors: OnError { stop: _, max, max_service, max_service_of },
            flow: kept,
        } = task;
        let mut does = vec![format!("{}, {}", mix(*kinds, *block, sizes.as_ref()), access(order))];
        does.extend(regions(*parts_of));
        does.extend(zones.as_ref().map(zoned));
        does.push(target(storage));

        let mut way = vec![backend(*by)];
        if !matches!(storage, Target::Null { .. }) {
            way.push(if *direct { "direct" } else { "through the page cache" }.to_owned());
        }
        way.extend(durability(durable));
        way.extend(page_cache(*cache));
        way.extend(kinds.writes().then(|| contents(data)).into_iter().flatten());
        way.extend(verified.as_ref().map(verify));

        let (one, many) = if placed.processes { ("process", "processes") } else { ("thread", "threads") };
        let mut load = vec![number(*workers, one, many), format!("{concurrency} outstanding")];
        load.extend(batch(*batches));
        load.push(arrival(*when, *kinds));
        load.extend(placement(placed));
        load.extend(priorities(shares));
        load.extend(kept.map(flow));
        load.extend(after.as_ref().map(|name| format!("after `{name}` has ended")));

        let mut extent = Vec::new();
        extent.extend((delay.0 > 0).then(|| format!("starting after {delay}")));
        extent.extend(max.map(|max| format!("ended by more than {} errors of a worker", count(max))));
        extent.extend(max_service.map(|max| format!("ended by an operation that takes longer than {max}")));
        let longest = |limit: &KindLimit| {
            format!("ended by a {} that takes longer than {}", limit.kind.name(), limit.max)
        };
        extent.extend(max_service_of.iter().map(longest));
        FileWords { does: does.join(", "), way: way.join(", "), load: load.join(", "), extent }
    }
}

fn mix(mix: Mix, block: Bytes, sizes: Option<&Sizes>) -> String {
    let both = |percent: u8, one: &str, other: &str| {
        format!("{percent} % {one} and {} % {other}", 100u8.saturating_sub(percent))
    };
    let kinds = match mix {
        Mix::Read => "reads".to_owned(),
        Mix::Write => "writes".to_owned(),
        Mix::ReadPercent(percent) => both(percent, "reads", "writes"),
        Mix::Trim => "trims".to_owned(),
        Mix::TrimPercent(percent) => both(percent, "trims", "writes"),
        Mix::ReadTrimPercent { reads, trims } => {
            let writes = 100u8.saturating_sub(reads).saturating_sub(trims);
            format!("{reads} % reads, {trims} % trims and {writes} % writes")
        }
        Mix::TrimThenWrite => "a trim, then a write, of each block".to_owned(),
        Mix::ReadThenWrite(100..) => "a read, then a write, of each block".to_owned(),
        Mix::ReadThenWrite(percent) => format!("reads, {percent} % of them written back,"),
        Mix::Traced(kinds) => return traced(kinds, block),
    };
    match sizes {
        None => format!("{kinds} of {block}"),
        Some(sizes) => format!("{kinds} of {}", law_of(sizes, mix)),
    }
}

/// The kinds of a trace's operations.
fn traced(kinds: TracedKinds, block: Bytes) -> String {
    let TracedKinds { reads, writes, trims, syncs } = kinds;
    let names = [(reads, "reads"), (writes, "writes"), (trims, "trims"), (syncs, "syncs")];
    let names: Vec<_> = names.into_iter().filter_map(|(done, name)| done.then_some(name)).collect();
    format!("{} of up to {block}", names.join(" and "))
}

/// The sizes of the operations that there are.
fn law_of(sizes: &Sizes, mix: Mix) -> String {
    let all = [
        (mix.reads(), "reads", &sizes.reads),
        (mix.writes() && !matches!(mix, Mix::ReadThenWrite(_)), "writes", &sizes.writes),
        // A trim before a write is as long as the write.
        (mix.trims() && mix != Mix::TrimThenWrite, "trims", &sizes.trims),
    ];
    let used: Vec<_> = all.into_iter().filter(|(used, ..)| *used).collect();
    let laws = match used.as_slice() {
        [(_, _, first), rest @ ..] if rest.iter().all(|(_, _, other)| other == first) => law(first),
        used => used
            .iter()
            .map(|(_, kind, sizes)| format!("{} ({kind})", law(sizes)))
            .collect::<Vec<_>>()
            .join(", "),
    };
    format!("{laws} at multiples of {}", sizes.alignment)
}

fn law(law: &SizeLaw) -> String {
    match law {
        SizeLaw::Fixed(size) => size.to_string(),
        SizeLaw::Range { min, max, multiple } => format!("{min} to {max} in steps of {multiple}"),
        SizeLaw::Split(sizes) => sizes
            .iter()
            .map(|each| format!("{} ({} %)", each.size, each.percent))
            .collect::<Vec<_>>()
            .join(", "),
    }
}

fn access(order: &Access) -> String {
    match order {
        Access::Sequential => "sequential".to_owned(),
        Access::SequentialSkip { hole } => format!("sequential, skipping {hole} after each"),
        Access::SequentialBack { step } => format!("each {step} back from the end of the one before"),
        Access::Backwards => "backwards".to_owned(),
        Access::Strided { stride } => format!("every {stride}"),
        Access::Runs { blocks } => format!("in runs of {blocks} from random ones"),
        Access::Jumps(jumps) => format!("{}{}", access(&jumps.to), jumps.in_a_row()),
        Access::Precondition(what) => format!(
            "at random, each block once and {} % of them again, as in the steady state",
            100.0 * what.over_provisioning
        ),
        Access::ByKind(both) => {
            format!("reads {}, writes {}", access(&both.reads), access(&both.writes))
        }
        Access::Mixture(what) => mixture(what),
        Access::Random => "at random".to_owned(),
        Access::Covering => "at random, each block once per round".to_owned(),
        Access::Zipf { theta, centre } => format!("at random by Zipf's law ({theta}{})", most_at(*centre)),
        Access::Pareto { h, centre } => format!("at random, self-similar ({h}{})", most_at(*centre)),
        Access::Normal { deviation_percent, centre: None } => {
            format!("at random around the middle (deviation {deviation_percent} %)")
        }
        Access::Normal { deviation_percent, centre: Some(centre) } => {
            let percent = 100.0 * centre;
            format!("at random around {percent} % of the range (deviation {deviation_percent} %)")
        }
        Access::Zoned(zones) => {
            let zone = |zone: &iolite_model::Zone| match zone.size {
                ZoneSize::Percent(percent) => format!("{} % in {percent} % of the range", zone.io_percent),
                ZoneSize::Bytes(bytes) => format!("{} % in {bytes}", zone.io_percent),
            };
            format!("at random in zones ({})", zones.iter().map(zone).collect::<Vec<_>>().join(", "))
        }
        Access::HotSpots(spots) => {
            let spot = |spot: &iolite_model::HotSpot| {
                format!("{} % in {} from {}", spot.io_percent, spot.length, spot.offset)
            };
            format!("at random with hot spots ({})", spots.iter().map(spot).collect::<Vec<_>>().join(", "))
        }
        Access::ZoneCycle(cycle) => {
            let order = if cycle.random { "at random" } else { "sequential" };
            let skip = if cycle.skip.0 > 0 { format!(", {} apart", cycle.skip) } else { String::new() };
            format!("{order} in zones of {}, {} in each{skip}", cycle.range, cycle.amount)
        }
        Access::Append => "at the end of the growing file".to_owned(),
        Access::Trace(trace) => {
            format!("{} operations of a trace in recorded order", count(trace.operations().len() as u64))
        }
    }
}

/// Where the most frequent block is, if that is given.
fn most_at(centre: Option<f64>) -> String {
    centre.map_or(String::new(), |centre| format!(", most at {} % of the range", 100.0 * centre))
}

fn regions(regions: Regions) -> Option<String> {
    match regions {
        Regions::Natural => None,
        Regions::Shared => Some("all workers over the whole range".to_owned()),
        Regions::Slices => Some("each worker in a slice".to_owned()),
        Regions::Increment(bytes) => Some(format!("each worker {bytes} further on")),
        Regions::Part { start, length } => Some(format!("in {length} from {start} on")),
    }
}

pub(crate) fn target(target: &Target) -> String {
    match target {
        Target::Null { size } => format!("on nothing ({size})"),
        Target::File(file) => {
            let mut facts = vec![file.size.to_string()];
            let made = match (file.create, file.preallocate) {
                (true, true) => "created for the run, preallocated",
                (true, false) => "created for the run, growing",
                (false, _) => "existing",
            };
            facts.push(made.to_owned());
            let of = if file.per_worker { "one file per worker: " } else { "" };
            format!("on {of}{} ({})", file.name.display(), facts.join(", "))
        }
        Target::Files(target) => match target.files.as_slice() {
            [file] => format!("on {}", file.path.display()),
            files => format!("on {} files", files.len()),
        },
        Target::Existing(existing) => {
            let span = match (existing.offset, existing.size) {
                (Bytes(0), Bytes(0)) => "all of it".to_owned(),
                (offset, Bytes(0)) => format!("from {offset}"),
                (Bytes(0), size) => size.to_string(),
                (offset, size) => format!("{size} from {offset}"),
            };
            let may = match existing.overwrite {
                Overwrite::Never => "",
                Overwrite::Blank => ", overwritten if blank",
                Overwrite::Anything => ", overwritten",
            };
            format!("on {} ({span}{may})", existing.path.display())
        }
    }
}

fn names(task: &MetadataTask) -> String {
    let MetadataTask { operation, files, files_per_directory, size, .. } = task;
    let what = operation.in_words();
    let of = if size.0 > 0 && *operation == MetadataOperation::Create {
        format!(" of {size}")
    } else {
        String::new()
    };
    let order = if task.random { "in no order" } else { "in order" };
    let durable = if task.sync { ", each made durable" } else { "" };
    if let [first, ..] = task.named.as_slice() {
        let removed = if task.remove { ", removed at the end" } else { "" };
        return format!("{what}{of} {order}, {} from {} on{removed}", count(*files), first.display());
    }
    let (files, tree) = (count(*files), task.tree.display());
    let in_each = count(*files_per_directory);
    format!("{what}{of} {order}, {files} per thread, {in_each} per directory, in {tree}{durable}")
}

/// What makes written data durable.
fn durability(durability: &WriteDurability) -> Vec<String> {
    let WriteDurability { sync: rule, also, end_sync, open, range } = durability;
    let opened = open.map(|durable| match durable {
        OpenSync::Data => "O_DSYNC".to_owned(),
        OpenSync::All => "O_SYNC".to_owned(),
    });
    let at_end = end_sync.map(|method| format!("{} at the end", sync_call(method)));
    let rules = rule.iter().chain(also).map(|rule| sync(*rule));
    opened.into_iter().chain(rules).chain(at_end).chain(backend::range(*range)).collect()
}

/// What is done about the page cache.
fn page_cache(cache: PageCache) -> Vec<String> {
    let PageCache { invalidate, advice } = cache;
    let dropped = invalidate.then(|| "page cache dropped at the start".to_owned());
    let advised = match advice {
        Advice::None => None,
        Advice::Sequential => Some("sequential reads announced to the kernel".to_owned()),
        Advice::Random => Some("random reads announced to the kernel".to_owned()),
    };
    dropped.into_iter().chain(advised).collect()
}

/// How a task keeps its ratio with others.
fn flow(flow: Flow) -> String {
    let Flow { group, weight, pause } = flow;
    let pause = if pause.0 > 0 { format!(", pausing for {pause}") } else { String::new() };
    format!("flow group {group} with weight {weight}{pause}")
}

fn verify(verify: &Verify) -> String {
    let when = match (verify.reads, verify.after) {
        (true, true) => " (during reads, and completely after the phase)",
        (true, false) => " (during reads)",
        (false, true) => " (completely after the phase)",
        (false, false) => "",
    };
    let only = if verify.only { ", without other operations" } else { "" };
    let parts = if verify.passes > 1 { format!(", in {} parts", verify.passes) } else { String::new() };
    let backlog =
        if verify.backlog > 0 { format!(", every {} writes", verify.backlog) } else { String::new() };
    format!("verified by {}{when}{only}{parts}{backlog}", verify.check.name())
}

/// What is not as by default.
fn batch(batch: Batch) -> Option<String> {
    let Batch { submit, complete_min, complete_max, low, disjoint } = batch;
    let mut parts = Vec::new();
    parts.extend((submit > 0).then(|| format!("submitted {submit} at a time")));
    match (complete_min, complete_max) {
        (1, 0) => {}
        (0, 0) => parts.push("polled for".to_owned()),
        (0, max) => parts.push(format!("polled for, up to {max} at a time")),
        (min, 0) => parts.push(format!("reaped {min} or more at a time")),
        (min, max) => parts.push(format!("reaped {min} to {max} at a time")),
    }
    parts.extend((low > 0).then(|| format!("refilled at {low}")));
    parts.extend(disjoint.then(|| "overlapping operations one after the other".to_owned()));
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn arrival(arrival: Arrival, mix: Mix) -> String {
    match arrival {
        Arrival::Closed => "each as soon as an earlier one completes".to_owned(),
        Arrival::Poisson(rate) => format!("{rate} per second with random arrivals"),
        Arrival::Constant(rate) => format!("{rate} per second at equal intervals"),
        Arrival::Bursts { rate, operations } => format!("{rate} per second in bursts of {operations}"),
        Arrival::ConstantBytes(rate) => format!("{rate} at equal intervals"),
        Arrival::PoissonBytes(rate) => format!("{rate} with random arrivals"),
        Arrival::ByKind(rates) => by_kind(rates, mix),
        Arrival::Traced(100) => "at the times of the trace".to_owned(),
        Arrival::Traced(percent) => format!("at the times of the trace, at {percent} % of its speed"),
        Arrival::ThinkTime { pause, operations, io_time, spin } => {
            think_time(pause, operations, io_time, spin)
        }
        Arrival::RatedThinkTime(RatedThinkTime { pause, operations, io_time, spin, schedule, catch_up }) => {
            let rate = self::arrival(schedule.into(), mix);
            let after = if catch_up { "made up for afterwards" } else { "in addition" };
            format!("{rate}, {}, {after}", think_time(pause, operations, io_time, spin))
        }
    }
}

fn think_time(pause: Nanos, operations: u32, io_time: Nanos, spin: Nanos) -> String {
    let busy = if spin > Nanos(0) { format!(", {spin} of it busy") } else { String::new() };
    let after = match (operations, io_time) {
        (0, time) => format!("{time}"),
        (operations, Nanos(0)) => format!("{operations}"),
        (operations, time) => format!("{operations} or {time}, whichever is first,"),
    };
    format!("a pause of {pause}{busy} after every {after} of a worker")
}

fn by_kind(rates: KindRates, mix: Mix) -> String {
    let KindRates { reads, writes, trims, poisson } = rates;
    let kinds =
        [("reads", reads, mix.reads()), ("writes", writes, mix.writes()), ("trims", trims, mix.trims())];
    let rendered = |(name, pace, done): (&str, Option<Pace>, bool)| {
        let rate = match pace {
            Some(Pace::Operations(rate)) => format!("{rate} {name} per second"),
            Some(Pace::Bytes(rate)) => format!("{rate} of {name}"),
            None => format!("{name} as fast as possible"),
        };
        done.then_some(rate)
    };
    let each: Vec<String> = kinds.into_iter().filter_map(rendered).collect();
    format!(
        "{} requested at {}",
        each.join(" and "),
        if poisson { "random times" } else { "equal intervals" }
    )
}

fn placement(placement: &Placement) -> Option<String> {
    // Processes or threads are counted before.
    let Placement {
        processes: _,
        cpus,
        nodes,
        one_each,
        memory,
        nice,
        io_priority,
        user,
        group,
        thread_name,
        locked_memory,
        control_group,
        huge_pages,
        huge_mapping,
    } = placement;
    let list = |numbers: &[u32]| numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let mut parts = Vec::new();
    if !cpus.is_empty() {
        parts.push(format!("on CPUs {}", list(cpus)));
    }
    if !nodes.is_empty() {
        parts.push(format!("on nodes {}", list(nodes)));
    }
    if *one_each {
        parts.push("one CPU per worker".to_owned());
    }
    let of = |nodes: &[u32]| match nodes {
        [] => "all nodes".to_owned(),
        [node] => format!("node {node}"),
        nodes => format!("nodes {}", list(nodes)),
    };
    match memory {
        MemoryPolicy::Default => {}
        MemoryPolicy::Prefer(node) => parts.push(format!("preferably memory of node {node}")),
        MemoryPolicy::Bind(nodes) => parts.push(format!("memory of {}", of(nodes))),
        MemoryPolicy::Interleave(nodes) => parts.push(format!("memory interleaved over {}", of(nodes))),
    }
    parts.extend(nice.map(|nice| format!("nice {nice}")));
    parts.extend(io_priority.map(|priority| format!("I/O priority {}", self::priority(priority))));
    parts.extend(user.map(|user| format!("as user {user}")));
    parts.extend(group.map(|group| format!("as group {group}")));
    parts.extend(thread_name.as_ref().map(|name| format!("threads named {name}")));
    parts.extend(locked_memory.map(|bytes| format!("{bytes} of memory locked per worker")));
    parts.extend(control_group.as_ref().map(|name| format!("in the control group {name}")));
    parts.extend(huge_pages.map(|size| format!("buffers of huge pages ({size})")));
    parts.extend(huge_mapping.then(|| "huge pages requested for the mapping".to_owned()));
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// A priority of I/O, as in `best effort 4`.
fn priority(IoPriority { class, level, hint }: IoPriority) -> String {
    let rendered = match class {
        IoClass::RealTime => format!("real time {level}"),
        IoClass::BestEffort => format!("best effort {level}"),
        IoClass::Idle => "idle".to_owned(),
    };
    if hint == 0 { rendered } else { format!("{rendered} with hint {hint}") }
}

/// Shares of the operations that have priorities of their own.
fn priorities(shares: &[PriorityShare]) -> Option<String> {
    let rendered = |share: &PriorityShare| {
        let of = match share.of {
            Prioritized::Reads => "reads",
            Prioritized::Writes => "writes",
        };
        let size = share.size.map_or(String::new(), |size| format!(" of {size}"));
        format!("{} % of the {of}{size} with priority {}", share.percent, priority(share.priority))
    };
    (!shares.is_empty()).then(|| shares.iter().map(rendered).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolite_model::{BackendKind, IoFlags, RingOptions, SyncRule};
    use iolite_model::{
        Bandwidth, Checksum, Contents, ExistingTarget, FileTarget, Fill, Iops, Lifetime, WeightedSize,
        ZoneCycle,
    };

    fn rendered(task: FileTask) -> String {
        let task = Task::File(task);
        [does(&task), way(&task).unwrap(), load(&task), extent(&task)].join("\n")
    }

    #[test]
    fn each_write_is_a_commit_whichever_rule_says_so() {
        let of = |every, also| WriteDurability {
            also,
            ..WriteDurability::synced(SyncRule { every, method: SyncMethod::Fsync })
        };
        for (durability, expected) in [
            (WriteDurability::default(), false),
            (of(1, vec![]), true),
            (of(2, vec![]), false),
            (of(2, vec![SyncRule::fdatasync(3)]), false),
            (of(2, vec![SyncRule::fdatasync(3), SyncRule::fdatasync(1)]), true),
        ] {
            let task = Task::File(FileTask { durability, ..FileTask::default() });
            assert_eq!(commits(&task), expected, "{task:?}");
        }
    }

    #[test]
    fn the_usual_is_short() {
        insta::assert_snapshot!(rendered(FileTask::default()), @"
        reads of 4 KiB, at random, on nothing (1 GiB)
        null
        1 thread, 1 outstanding, each as soon as an earlier one completes
        to its end
        ");
    }

    #[test]
    fn whatever_is_unusual_is_said() {
        let sizes = Sizes {
            reads: SizeLaw::Range { min: Bytes(4096), max: Bytes(65_536), multiple: Bytes(4096) },
            writes: SizeLaw::Split(vec![WeightedSize { size: Bytes(8192), percent: 100.0 }]),
            trims: SizeLaw::Fixed(Bytes::MIB),
            alignment: Bytes(4096),
        };
        let file = FileTarget {
            name: "log".into(),
            size: Bytes::GIB,
            create: true,
            preallocate: false,
            per_worker: true,
        };
        let cycle = ZoneCycle { range: Bytes::MIB, amount: Bytes::GIB, skip: Bytes::KIB, random: true };
        let contents = Contents {
            fill: Fill::compressible(50, Vec::new()),
            duplicate_percent: 10,
            duplicates: Default::default(),
            refill: false,
            scramble: false,
            lifetime: Some(Lifetime::Long),
        };
        insta::assert_snapshot!(rendered(FileTask {
            target: Target::File(file),
            backend: BackendKind::IoUring(RingOptions { submit_polling: true, linked_sync: true, ..RingOptions::default() }),
            mix: Mix::ReadPercent(70),
            sizes: Some(sizes),
            access: Access::ZoneCycle(cycle),
            regions: Regions::Increment(Bytes::GIB),
            contents,
            direct: true,
            workers: 4,
            placement: Placement { processes: true, cpus: vec![0, 2], nodes: vec![1], one_each: true, memory: MemoryPolicy::Bind(vec![0]), nice: Some(5), io_priority: Some(IoPriority { class: IoClass::BestEffort, level: 7, hint: 0 }), ..Placement::default() },
            priorities: vec![PriorityShare { of: Prioritized::Reads, size: Some(Bytes(4096)), percent: 20.0, priority: IoPriority { class: IoClass::RealTime, level: 0, hint: 0 } }],
            concurrency: 32,
            batch: Batch { submit: 4, complete_min: 2, complete_max: 8, low: 16, disjoint: true },
            arrival: Arrival::PoissonBytes(Bandwidth(50e6)),
            verify: Some(Verify { check: Checksum::Crc32c, unit: Bytes(0), reads: true, anyone: false, after: true, ..Verify::default() }),
            stop: Stop { runtime: Some(Nanos::SECOND), loops: Some(2), worker_operations: Some(12_345), ..Stop::default() },
            ramp: Nanos::SECOND.into(), durability: WriteDurability::synced(SyncRule { every: 8, method: SyncMethod::FileRange }), start: Start { delay: Nanos::SECOND, ..Start::default() }, ..FileTask::default() }), @"
        70 % reads and 30 % writes of 4 KiB to 64 KiB in steps of 4 KiB (reads), 8 KiB (100 %) (writes) at multiples of 4 KiB, at random in zones of 1 MiB, 1 GiB in each, 1 KiB apart, each worker 1 GiB further on, on one file per worker: log (1 GiB, created for the run, growing)
        io_uring (submission polling, linked syncs), direct, sync_file_range after every 8 writes, 50 % compressible, 10 % duplicates, the same buffers repeatedly, data with a long lifetime, verified by crc32c (during reads, and completely after the phase)
        4 processes, 32 outstanding, submitted 4 at a time, reaped 2 to 8 at a time, refilled at 16, overlapping operations one after the other, 47.7 MiB/s with random arrivals, on CPUs 0,2, on nodes 1, one CPU per worker, memory of node 0, nice 5, I/O priority best effort 7, 20 % of the reads of 4 KiB with priority real time 0
        for 1.00 s or 2 times over the target size or until 12,345 operations of each worker, after a ramp of 1.00 s, which is not measured, starting after 1.00 s
        ");
        let device = ExistingTarget {
            path: "/dev/sdx".into(),
            offset: Bytes::MIB,
            size: Bytes(0),
            overwrite: Overwrite::Blank,
        };
        insta::assert_snapshot!(rendered(FileTask {
            target: Target::Existing(device),
            backend: BackendKind::Vectored(IoFlags { dsync: true, ..IoFlags::default() }),
            mix: Mix::TrimPercent(20),
            arrival: Arrival::Bursts { rate: Iops(1000.0), operations: 16 },
            stop: Stop { loops: Some(1), ..Stop::default() },
            ..FileTask::default()
        }), @"
        20 % trims and 80 % writes of 4 KiB, at random, on /dev/sdx (from 1 MiB, overwritten if blank)
        vectored (dsync), through the page cache
        1 thread, 1 outstanding, 1,000 per second in bursts of 16
        once over the target size
        ");
    }

    #[test]
    fn names_are_reported_too() {
        let task = |operation| {
            Task::Metadata(MetadataTask {
                operation,
                size: Bytes(4096),
                sync: true,
                workers: 2,
                ..MetadataTask::default()
            })
        };
        let create = task(MetadataOperation::Create);
        insta::assert_snapshot!(format!("{}\n{}", does(&create), load(&create)), @"
        creates files of 4 KiB in order, 1,000 per thread, 100 per directory, in tree, each made durable
        2 threads
        ");
        insta::assert_snapshot!(does(&task(MetadataOperation::Unlink)), @"
        removes files in order, 1,000 per thread, 100 per directory, in tree, each made durable
        ");
        assert_eq!(way(&create), None);
    }
}
