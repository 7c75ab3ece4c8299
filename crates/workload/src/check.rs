//! Whether a task's parameters make a workload.

mod trace;
mod verification;

use iolite_model::{Access, Bytes, FileTask, LayOut, Mix, Regions, Target};

use crate::arrival;
use crate::data;
use crate::error::WorkloadError;
use crate::files;
use crate::mixed;
use crate::mixture;
use crate::offset;
use crate::priority;
use crate::region::{Region, grain};
use crate::size::SizeStream;

/// Checks all that this crate takes from a task; to be called before its streams are made.
///
/// # Errors
/// A parameter is out of its range, or does not go with another one. That the target has too few blocks is not
/// for here: see [`OpStream::new`](crate::OpStream::new).
pub fn validate(task: &FileTask) -> Result<(), WorkloadError> {
    check_mix(task.mix)?;
    if let Some(sizes) = &task.sizes {
        SizeStream::new(sizes, 0, 0)?;
        mixed::check(task, sizes, Region::smallest(task))?;
    }
    let (length, grain) = (Bytes(Region::smallest(task)), Bytes(grain(task)));
    offset::check(&task.access, length, grain, task.direct)?;
    files::check(task)?;
    check_increment(task)?;
    check_part(task)?;
    check_mixture(task)?;
    check_append(task)?;
    check_precondition(task)?;
    check_by_kind(task)?;
    trace::check(task)?;
    priority::check(task)?;
    arrival::check(task.arrival, task.mix)?;
    data::check(&task.contents)?;
    task.verify.as_ref().map_or(Ok(()), |verify| verification::check(task, verify))
}

fn check_mix(mix: Mix) -> Result<(), WorkloadError> {
    let (what, percent) = match mix {
        Mix::ReadPercent(percent) => ("reads", percent),
        Mix::TrimPercent(percent) => ("trims", percent),
        Mix::ReadThenWrite(percent) => ("reads that are written back", percent),
        Mix::ReadTrimPercent { reads, trims } => ("reads and trims", reads.saturating_add(trims)),
        Mix::Read | Mix::Write | Mix::Trim | Mix::TrimThenWrite | Mix::Traced(_) => return Ok(()),
    };
    WorkloadError::unless(
        percent <= 100,
        || format!("the share of {what} is {percent} %"),
        "a percentage is between 0 and 100",
        "correct it",
    )
}

fn check_increment(task: &FileTask) -> Result<(), WorkloadError> {
    let Regions::Increment(distance) = task.regions else { return Ok(()) };
    let alignment = task.sizes.as_ref().map_or(1, |sizes| sizes.alignment.0);
    WorkloadError::unless(
        distance.0.is_multiple_of(alignment.max(1)),
        || format!("workers begin {} bytes apart", distance.0),
        "every offset has to be a multiple of the alignment",
        "round it to the alignment",
    )?;
    offset::check_aligned(task.direct, distance, || format!("workers begin {} bytes apart", distance.0))
}

fn check_part(task: &FileTask) -> Result<(), WorkloadError> {
    let Regions::Part { start, .. } = task.regions else { return Ok(()) };
    offset::check_aligned(task.direct, start, || format!("the part begins {} bytes from the start", start.0))
}

fn check_mixture(task: &FileTask) -> Result<(), WorkloadError> {
    let Access::Mixture(what) = &task.access else { return Ok(()) };
    mixture::check(what, task.block, task.direct)?;
    let reads = what.lines.iter().any(|line| line.reads > 0);
    let writes = what.lines.iter().any(|line| line.reads < 100);
    WorkloadError::unless(
        task.mix.reads() == reads && task.mix.writes() == writes && !task.mix.trims(),
        || "the mix is not that of the lines of the mixture".to_owned(),
        "the target is opened for what the mix does",
        "specify `read`, `write` or `read-percent`, as its lines do",
    )?;
    WorkloadError::unless(
        task.sizes.is_none() && task.verify.is_none() && !files::has_several(task),
        || "a mixture has sizes of its own, is not verified, and uses one file".to_owned(),
        "its lines may overlap",
        "leave `sizes` and `verify` out, and specify one file",
    )
}

fn check_append(task: &FileTask) -> Result<(), WorkloadError> {
    if task.access != Access::Append {
        return Ok(());
    }
    WorkloadError::unless(
        task.mix == Mix::Write,
        || "the order is append and not all operations write".to_owned(),
        "only writes make a file longer",
        "let it write only, or choose another order",
    )?;
    let grows = match &task.target {
        Target::Null { .. } => true,
        Target::File(file) => file.create && !file.preallocate,
        Target::Files(target) => target.lay_out == LayOut::Grow,
        Target::Existing(_) => false,
    };
    WorkloadError::unless(
        grows,
        || "the order is append and the target is not an empty file".to_owned(),
        "the file must grow: created by this phase without preallocation, or specified with `lay_out` `grow`",
        "create it and don't preallocate, say `grow`, or choose another order",
    )?;
    WorkloadError::unless(
        !files::has_several(task),
        || "the order is append and there are several files".to_owned(),
        "how much goes to each is not known before",
        "name one file, or use a separate file for each task",
    )?;
    WorkloadError::unless(
        task.regions == Regions::Natural,
        || "the order is append and the workers have regions".to_owned(),
        "a file has one end",
        "remove the regions, or use a separate file for each worker",
    )
}

fn check_precondition(task: &FileTask) -> Result<(), WorkloadError> {
    WorkloadError::unless(
        !matches!(task.access, Access::Precondition(_)) || task.mix == Mix::Write,
        || "the order is that of preconditioning and not all operations write".to_owned(),
        "writes are what it prepares a drive by",
        "let it write only, or choose another order",
    )
}

fn check_by_kind(task: &FileTask) -> Result<(), WorkloadError> {
    let mixed = matches!(task.mix, Mix::ReadPercent(_) | Mix::TrimPercent(_) | Mix::ReadTrimPercent { .. });
    WorkloadError::unless(
        !matches!(task.access, Access::ByKind(_)) || mixed,
        || {
            "each kind of operations has an order of its own and the mix is of one kind, or of pairs"
                .to_owned()
        },
        "reads and writes that follow each other by chance can go to different places",
        "specify one order, or a mix of reads and writes",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::tests::task;
    use iolite_model::{
        Arrival, Contents, ExistingTarget, FileTarget, Fill, HotSpot, Iops, Overwrite, SizeLaw, Sizes, Stop,
        Zone, ZoneCycle, ZoneSize,
    };

    fn file(create: bool, preallocate: bool) -> Target {
        let (name, size) = ("f".into(), Bytes::MIB);
        Target::File(FileTarget { name, size, create, preallocate, per_worker: false })
    }

    #[test]
    fn each_part_is_checked() {
        let good = task(Mix::ReadPercent(100), Stop::default());
        assert_eq!(validate(&good), Ok(()));
        let empty = Contents { fill: Fill::Pattern(Vec::new()), ..Contents::default() };
        for (task, part) in [
            (FileTask { mix: Mix::ReadPercent(101), ..good.clone() }, "share of reads is 101 %"),
            (FileTask { mix: Mix::TrimPercent(101), ..good.clone() }, "share of trims is 101 %"),
            (
                FileTask { mix: Mix::ReadTrimPercent { reads: 60, trims: 41 }, ..good.clone() },
                "trims is 101 %",
            ),
            (FileTask { access: Access::Runs { blocks: 0 }, ..good.clone() }, "a run has no block"),
            (FileTask { arrival: Arrival::Constant(Iops(0.0)), ..good.clone() }, "rate"),
            (FileTask { contents: empty, ..good.clone() }, "no bytes"),
            (
                FileTask { regions: Regions::Increment(Bytes(100)), direct: true, ..good.clone() },
                "begin 100 bytes apart",
            ),
        ] {
            let error = validate(&task).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn appends_need_a_file_that_grows() {
        let good = FileTask {
            access: Access::Append,
            target: file(true, false),
            ..task(Mix::Write, Stop::default())
        };
        assert_eq!(validate(&good), Ok(()));
        assert_eq!(validate(&FileTask { target: Target::Null { size: Bytes::MIB }, ..good.clone() }), Ok(()));
        for (task, part) in [
            (FileTask { mix: Mix::ReadPercent(0), ..good.clone() }, "only writes"),
            (FileTask { target: file(false, false), ..good.clone() }, "created by this phase"),
            (FileTask { target: file(true, true), ..good.clone() }, "created by this phase"),
            (FileTask { regions: Regions::Slices, ..good.clone() }, "one end"),
        ] {
            let error = validate(&task).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn sizes_have_to_go_with_the_order() {
        let with = |law, alignment, access| {
            let sizes = Some(Sizes::alike(law, Bytes(alignment)));
            validate(&FileTask { sizes, access, ..task(Mix::Read, Stop::default()) })
        };
        let fixed = |size| SizeLaw::Fixed(Bytes(size));
        let cycle = |range, skip| {
            let (range, amount, skip) = (Bytes(range), Bytes(1), Bytes(skip));
            Access::ZoneCycle(ZoneCycle { range, amount, skip, random: true })
        };
        let strided = Access::Strided { stride: Bytes(8192) };
        for (result, part) in [
            (with(fixed(0), 512, Access::Random), "between 1 byte"),
            (with(fixed(512), 0, Access::Covering), "alignment"),
            (with(fixed(512), 512, strided), "columns are of equal blocks"),
            (with(fixed(512), 4096, Access::Covering), "wherever another may end"),
            (with(fixed(8192), 512, cycle(4096, 0)), "fit into a zone"),
            (with(fixed(512), 4096, cycle(4096, 100)), "begin at the alignment"),
            (with(fixed(512), 4096, cycle(5000, 0)), "multiple"),
        ] {
            let error = result.unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        assert_eq!(with(fixed(8192), 1, Access::Covering), Ok(()));
        let sizes = Some(Sizes::alike(fixed(1), Bytes(1)));
        let (access, target) = (Access::Covering, Target::Null { size: Bytes(1 << 40) });
        let huge = FileTask { sizes: sizes.clone(), access, target, ..task(Mix::Read, Stop::default()) };
        assert!(validate(&huge).unwrap_err().to_string().contains("too much to remember"));
        let apart = FileTask {
            sizes: Some(Sizes::alike(fixed(512), Bytes(512))),
            regions: Regions::Increment(Bytes(1000)),
            ..task(Mix::Read, Stop::default())
        };
        assert!(validate(&apart).unwrap_err().to_string().contains("multiple of the alignment"));
    }

    /// What exists already may say its size when it is opened only.
    #[test]
    fn zones_of_an_unknown_span_are_taken() {
        let path = "/dev/null".into();
        let existing = ExistingTarget { path, offset: Bytes(0), size: Bytes(0), overwrite: Overwrite::Never };
        let zone = |size| Zone { io_percent: 50.0, size };
        let zones = vec![zone(ZoneSize::Percent(30.0)), zone(ZoneSize::Percent(70.0))];
        let spot = HotSpot { offset: Bytes::GIB, length: Bytes::GIB, io_percent: 50.0 };
        for access in [Access::Zoned(zones), Access::HotSpots(vec![spot])] {
            for (block, regions) in [(4096, Regions::Natural), (12288, Regions::Slices), (1, Regions::Shared)]
            {
                let target = Target::Existing(existing.clone());
                let block = Bytes(block);
                let task = FileTask {
                    target,
                    access: access.clone(),
                    block,
                    regions,
                    ..task(Mix::Read, Stop::default())
                };
                assert_eq!(validate(&task), Ok(()), "{task:?}");
            }
        }
        let sizes = Some(Sizes::alike(SizeLaw::Fixed(Bytes(512)), Bytes(512)));
        let (target, access) = (Target::Existing(existing), Access::Covering);
        let task = FileTask { target, access, sizes, ..task(Mix::Read, Stop::default()) };
        assert_eq!(validate(&task), Ok(()), "whether there is memory for it is not known yet");
    }
}
