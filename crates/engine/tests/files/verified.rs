//! Files are verified, each by its own offsets.

use super::*;

#[test]
fn several_files_are_verified_each_by_its_own_offsets() {
    let mut place = Fixture::new();
    let (state, mut place_of) = (place.path("state"), Vec::new());
    for (name, size) in [("a", 20_000), ("b", 40_961), ("c", 8192)] {
        place_of.push(place.named(name, size));
    }
    let target = FilesTarget::of(place_of.clone());
    let keep = Verify { state: Some(state.clone()), ..verify(true, false, true) };
    let sizes = Some(Sizes::alike(
        SizeLaw::Range { min: Bytes(1024), max: Bytes(4096), multiple: Bytes(1024) },
        Bytes(1024),
    ));
    let writing = FileTask {
        verify: Some(Verify { unit: Bytes(1024), ..keep }),
        sizes,
        access: Access::Random,
        workers: 2,
        concurrency: 2,
        regions: Regions::Slices,
        stop: Stop { operations: Some(2000), ..Stop::default() },
        ..task(target, Mix::ReadPercent(40))
    };
    let outcome = place.run(&writing).unwrap();
    let verified = found(&outcome);
    assert_eq!((verified.wrong, verified.unreadable, verified.incomplete), (0, 0, false), "{verified:?}");
    assert!(verified.units > 500, "{verified:?}");
    let later = SavedState::load(&state).unwrap().verify(Clock::best(), &Control::default()).unwrap();
    assert_eq!((later.wrong, later.unreadable), (0, 0), "{later:?}");
    assert!(later.units >= 60, "{later:?}");
    // So it is with what was only stamped, for others to compare.
    let stamping = FileTask {
        verify: Some(verify(false, true, false)),
        ..task(FilesTarget::of(vec![place.named("e", 8192)]), Mix::Write)
    };
    assert_eq!(found(&place.run(&stamping).unwrap()), &Verified::default());
    let checking = FileTask { verify: Some(verify(true, true, false)), mix: Mix::Read, ..stamping };
    let outcome = Fixture::at(&place.dir, None).run(&checking).unwrap();
    assert_eq!((found(&outcome).units, found(&outcome).wrong), (2, 0));
    // Others read file by file, however they are put together, and know it for iolite's.
    let alone = FilesTarget::of(vec![place_of[2].clone(), place_of[1].clone()]);
    let mut reading = FileTask {
        verify: Some(Verify { unit: Bytes(1024), ..verify(true, true, false) }),
        block: Bytes(1024),
        ..task(alone, Mix::Read)
    };
    let outcome = Fixture::at(&place.dir, None).run(&reading).unwrap();
    assert_eq!((found(&outcome).units, found(&outcome).wrong), (48, 0), "{:?}", found(&outcome));
    let damaged = std::fs::File::options().write(true).open(place.path("b")).unwrap();
    damaged.write_all_at(b"damage", 2048 + 500).unwrap();
    let outcome = Fixture::at(&place.dir, None).run(&reading).unwrap();
    assert_eq!(found(&outcome).wrong, 1);
    let what = &found(&outcome).first[0].what;
    assert!(what.contains("b at byte 2048"), "{what}");
    let later = SavedState::load(&state).unwrap().verify(Clock::best(), &Control::default()).unwrap();
    assert_eq!(later.wrong, 1);
    // What nobody has written is wrong.
    write(&place.path("d"), 0, 4096);
    reading.target = Target::Files(FilesTarget::of(vec![place.named("d", 0)]));
    let outcome = Fixture::at(&place.dir, None).run(&reading).unwrap();
    assert_eq!((found(&outcome).units, found(&outcome).wrong), (4, 4));
}
