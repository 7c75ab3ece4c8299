//! Whether a task can be verified.

use iolite_model::{Access, Bytes, Checksum, FileTask, Fill, Mix, Regions, SizeLaw, Verify};

use crate::error::WorkloadError;
use crate::offset::DIRECT_ALIGNMENT;
use crate::region::{has_slices, own_files};
use crate::verify::Seal;

/// Checks what verification asks of a task that makes sense otherwise.
///
/// # Errors
/// It would check nothing, or could not know what is right.
pub(super) fn check(task: &FileTask, verify: &Verify) -> Result<(), WorkloadError> {
    check_unit(task, verify)?;
    check_operations(task, verify)?;
    // What others have written may be read by any number.
    if task.mix.writes() {
        check_parts(task)?;
    }
    let contents = &task.contents;
    WorkloadError::unless(
        contents.duplicate_percent == 0,
        || format!("{} % of the blocks are to be duplicates and verified", contents.duplicate_percent),
        "every verified unit has a unique header",
        "remove the duplicates or the verification",
    )?;
    WorkloadError::unless(
        verify.check != Checksum::Pattern || contents.fill == Fill::Random,
        || "the contents are given and verified as a pattern".to_owned(),
        "what is verified as a pattern follows from where and when it is written",
        "remove the contents, or verify by a checksum",
    )
}

fn check_unit(task: &FileTask, verify: &Verify) -> Result<(), WorkloadError> {
    let unit = verify.unit_for(task.block).0;
    // Beyond, it divides no size there is.
    Seal::new(verify.check, u32::try_from(unit).unwrap_or(u32::MAX), 0)?
        .with_header_at(verify.header_at)?
        .with_newer_headers(verify.newer_headers)?;
    WorkloadError::unless(
        !task.direct || unit.is_multiple_of(DIRECT_ALIGNMENT),
        || format!("the verified unit has {unit} bytes"),
        "with direct I/O it has to be a multiple of 512 bytes",
        "round it, or use the page cache",
    )?;
    let law_fits = |law: &SizeLaw| match law {
        SizeLaw::Fixed(size) => size.0.is_multiple_of(unit),
        SizeLaw::Range { min, max, multiple } => {
            min.0.is_multiple_of(unit) && (min == max || multiple.0.is_multiple_of(unit))
        }
        SizeLaw::Split(sizes) => {
            sizes.iter().all(|weighted| weighted.percent <= 0.0 || weighted.size.0.is_multiple_of(unit))
        }
    };
    let fits = match &task.sizes {
        None => task.block.0.is_multiple_of(unit),
        Some(sizes) => {
            sizes.alignment.0.is_multiple_of(unit)
                && (!task.mix.reads() || law_fits(&sizes.reads))
                && (!task.mix.writes() || law_fits(&sizes.writes))
        }
    };
    WorkloadError::unless(
        fits,
        || format!("the verified unit has {unit} bytes"),
        "all sizes, and the alignment where sizes differ, have to be multiples of it",
        "specify a unit that divides them, for example the smallest size",
    )?;
    WorkloadError::unless(
        verify.block.0.is_multiple_of(unit) && verify.block <= Bytes::GIB,
        || format!("reads after the phase have {} bytes and the verified unit has {unit}", verify.block.0),
        "each has to hold whole units, and 1 GiB at most",
        "specify a multiple of the unit, or 0",
    )?;
    let gap = match task.access {
        Access::SequentialSkip { hole } if task.sizes.is_none() => hole.0,
        Access::ZoneCycle(zones) => zones.skip.0,
        _ => 0,
    };
    WorkloadError::unless(
        gap.is_multiple_of(unit),
        || format!("{gap} bytes are left out and the verified unit has {unit}"),
        "operations would begin within a unit",
        "leave out a multiple of the unit",
    )
}

fn check_operations(task: &FileTask, verify: &Verify) -> Result<(), WorkloadError> {
    WorkloadError::unless(
        task.mix.writes() || task.mix.trims() || verify.anyone,
        || "the phase is to be verified and writes nothing".to_owned(),
        "only what it has written itself can be verified, unless anyone may have written it",
        "add writes, or say `anyone`; what an earlier run has written is verified from the state it kept, too",
    )?;
    WorkloadError::unless(
        !verify.anyone || (verify.reads && task.mix.reads()) || (task.mix == Mix::Write && !verify.after),
        || "what anyone has written is to be verified and no read is checked".to_owned(),
        "it is compared as it is read, unless all that is done now is to write it for a later reader",
        "set `reads` with a mix that reads, use writes only, or remove `anyone`",
    )?;
    WorkloadError::unless(
        !verify.during() || (verify.after && !verify.only && task.mix.writes()),
        || "data is to be verified during the phase and not after it, or nothing is written".to_owned(),
        "what is written last is verified after the phase",
        "set `after` with a mix that writes, and remove `only`, or remove `passes` and `backlog`",
    )?;
    WorkloadError::unless(
        task.access != Access::Append,
        || "the phase is to be verified and appends".to_owned(),
        "the offset of an append is not known, but its header must contain it",
        "write the same file sequentially",
    )?;
    WorkloadError::unless(
        // What anyone has written may also be compared by another task.
        (verify.reads && task.mix.reads()) || verify.after || verify.state.is_some() || verify.anyone,
        || "the phase is to be verified and nothing would be compared".to_owned(),
        "it must specify when to verify: `reads`, `after` or `state`",
        "choose `after`, or `reads` with a mix that reads, or `state`",
    )
}

fn check_parts(task: &FileTask) -> Result<(), WorkloadError> {
    let apart = match task.regions {
        Regions::Slices => true,
        Regions::Natural => has_slices(task),
        Regions::Shared | Regions::Increment(_) | Regions::Part { .. } => false,
    };
    WorkloadError::unless(
        apart || task.workers <= 1 || own_files(task),
        || format!("{} workers are to be verified that write to the same places", task.workers),
        "each worker knows only what it has written itself",
        "give each a slice (`regions`: `slices`) or a file of its own, or use one worker",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validate;
    use iolite_model::{Contents, FileTarget, Sizes, Target, ZoneCycle};

    fn verified() -> FileTask {
        let verify = Verify {
            check: Checksum::Crc32c,
            unit: Bytes(0),
            reads: true,
            anyone: false,
            after: false,
            block: Bytes(0),
            ..Verify::default()
        };
        let (mix, regions) = (Mix::ReadPercent(50), Regions::Slices);
        FileTask { mix, regions, workers: 4, concurrency: 4, verify: Some(verify), ..FileTask::default() }
    }

    fn with(change: impl Fn(&mut FileTask, &mut Verify)) -> Result<(), String> {
        let mut task = verified();
        let mut verify = task.verify.take().unwrap();
        change(&mut task, &mut verify);
        task.verify = Some(verify);
        validate(&task).map_err(|error| error.to_string())
    }

    #[test]
    fn what_can_be_verified_is_taken() {
        assert_eq!(with(|_, _| ()), Ok(()));
        assert_eq!(with(|_, verify| verify.unit = Bytes(512)), Ok(()));
        assert_eq!(with(|task, _| (task.regions, task.workers) = (Regions::Shared, 1)), Ok(()));
        let natural = |access: Access| {
            with(move |task, _| (task.regions, task.access) = (Regions::Natural, access.clone()))
        };
        assert_eq!(natural(Access::Sequential), Ok(()));
        assert_eq!(natural(Access::Strided { stride: Bytes(8192) }), Ok(()));
        let own = FileTarget {
            name: "f".into(),
            size: Bytes::MIB,
            create: true,
            preallocate: false,
            per_worker: true,
        };
        let own_files =
            |task: &mut FileTask| (task.regions, task.target) = (Regions::Natural, Target::File(own.clone()));
        assert_eq!(with(|task, _| own_files(task)), Ok(()));
        let later = |verify: &mut Verify| (verify.reads, verify.state) = (false, Some("state".into()));
        assert_eq!(with(|task, verify| (task.mix, ()) = (Mix::Write, later(verify))), Ok(()));
    }

    #[test]
    fn what_anyone_wrote_is_for_all_to_read() {
        let reading = |task: &mut FileTask, verify: &mut Verify| {
            (task.mix, task.regions, verify.anyone) = (Mix::Read, Regions::Shared, true);
        };
        assert_eq!(with(|task, verify| reading(task, verify)), Ok(()));
        let unread = with(|task, verify| {
            reading(task, verify);
            verify.reads = false;
        });
        assert!(unread.unwrap_err().contains("no read is checked"));
        let writing = with(|task, verify| (task.mix, verify.anyone) = (Mix::Write, true));
        assert_eq!(writing, Ok(()), "for others to compare");
    }

    #[test]
    fn what_can_not_be_verified_is_refused() {
        let sizes = |size: u64, alignment| Some(Sizes::alike(SizeLaw::Fixed(Bytes(size)), Bytes(alignment)));
        let cycle = Access::ZoneCycle(ZoneCycle {
            range: Bytes(8192),
            amount: Bytes(1),
            skip: Bytes(1000),
            random: true,
        });
        let zeros = Contents { fill: Fill::Zeros, ..Contents::default() };
        for (result, part) in [
            (with(|_, verify| verify.unit = Bytes(64)), "header"),
            (with(|_, verify| verify.unit = Bytes(1000)), "multiples of it"),
            (with(|_, verify| verify.unit = Bytes(1 << 40)), "multiples of it"),
            (with(|task, verify| (task.direct, verify.unit) = (true, Bytes(256))), "512"),
            (with(|task, _| task.sizes = sizes(6144, 4096)), "multiples of it"),
            (with(|task, _| task.sizes = sizes(8192, 512)), "multiples of it"),
            (with(|task, _| task.access = Access::SequentialSkip { hole: Bytes(512) }), "within a unit"),
            (with(|task, _| task.access = cycle.clone()), "within a unit"),
            (with(|task, _| task.mix = Mix::Read), "writes nothing"),
            (with(|task, _| task.mix = Mix::TrimThenWrite), "nothing would be compared"),
            (
                with(|task, verify| {
                    (task.mix, task.access, task.regions) = (Mix::Write, Access::Append, Regions::Natural);
                    verify.after = true;
                }),
                "appends",
            ),
            (with(|_, verify| verify.reads = false), "nothing would be compared"),
            (with(|task, _| task.mix = Mix::Write), "nothing would be compared"),
            (with(|task, _| task.regions = Regions::Natural), "same places"),
            (with(|task, _| task.regions = Regions::Shared), "same places"),
            (with(|task, _| task.contents.duplicate_percent = 10), "duplicates"),
            (
                with(|task, verify| (task.contents, verify.check) = (zeros.clone(), Checksum::Pattern)),
                "pattern",
            ),
        ] {
            let error = result.unwrap_err();
            assert!(error.contains(part), "{part}: {error}");
        }
    }
}
