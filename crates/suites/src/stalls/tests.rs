use iolite_model::{OpTotals, StallParts};

use iolite_model::StallsBeside;

use super::*;

const MS: u64 = 1_000_000;
/// When the phase was released.
const START: u64 = 1_000_000 * MS;

fn at(ms: u64) -> Nanos {
    Nanos(START + ms * MS)
}

/// A read that was intended, issued and completed so many milliseconds after the release.
fn read(intended: u64, issued: u64, completed: u64) -> Outlier {
    Outlier { kind: OpKind::Read, intended: at(intended), issued: at(issued), completed: at(completed) }
}

fn request(class: BlockClass, inserted: u64, issued: u64, completed: u64) -> BlockRequest {
    BlockRequest {
        device: (8, 0),
        class,
        inserted: at(inserted),
        issued: at(issued),
        completed: at(completed),
    }
}

/// What is found in a second with these operations, at a bound of 5 ms.
fn found(stalls: &mut Stalls, operations: &[Outlier]) -> StallsFound {
    let mut responses = Histogram::new();
    for operation in operations {
        stalls.operation(0, *operation);
        responses.record(operation.response().0);
    }
    let counts = OpTotals {
        kind: OpKind::Read,
        operations: operations.len() as u64,
        bytes: 0,
        errors: 0,
        response_sum: Nanos(0),
        delay_sum: Nanos(0),
        response_max: responses.max(),
        response: responses.encode(),
        service: responses.encode(),
    };
    let totals = PhaseTotals::of_counts(1000 * MS, &[counts]).unwrap();
    let of = StalledPhase {
        phase: 0,
        released: Nanos(START),
        totals: &totals,
        bound: Some(Nanos(5 * MS)),
        lost_events: Some(0),
    };
    stalls.found(of, |number| format!("{number:?}")).unwrap()
}

#[test]
fn each_outlier_goes_to_its_largest_part() {
    let mut stalls = Stalls::default();
    // In the device; in the scheduler; before it was issued; beside requests that took no time.
    stalls.request(request(BlockClass::Read, 10, 11, 29));
    stalls.request(request(BlockClass::Read, 100, 115, 119));
    stalls.request(request(BlockClass::Read, 230, 230, 231));
    stalls.request(request(BlockClass::Read, 301, 301, 302));
    let operations = [
        read(10, 10, 30),
        read(100, 100, 120),
        read(200, 230, 232),
        read(300, 300, 320),
        read(400, 400, 401),
    ];
    let found = found(&mut stalls, &operations);
    assert_eq!((found.operations, found.outliers, found.examined), (5, 4, 4));
    assert_eq!((found.device, found.scheduler, found.waiting, found.elsewhere), (1, 1, 1, 1));
    let longest = &found.longest[0];
    let parts =
        StallParts { waiting: Nanos(30 * MS), scheduler: Nanos(0), device: Nanos(MS), elsewhere: Nanos(MS) };
    assert_eq!(
        (longest.at, longest.parts, longest.parts.response()),
        (Nanos(200 * MS), parts, Nanos(32 * MS))
    );
}

#[test]
fn requests_of_others_are_not_taken_for_its_own() {
    let mut stalls = Stalls::default();
    // Begun before the read, ended after it, and of another direction.
    stalls.request(request(BlockClass::Read, 5, 5, 29));
    stalls.request(request(BlockClass::Read, 12, 12, 40));
    stalls.request(request(BlockClass::Write, 11, 11, 29));
    let found = found(&mut stalls, &[read(10, 10, 30)]);
    assert_eq!((found.device, found.elsewhere), (0, 1));
}

#[test]
fn what_went_on_beside_is_counted_with_its_share_of_the_time() {
    let mut stalls = Stalls::default();
    stalls.request(request(BlockClass::Flush, 100, 100, 150));
    stalls.request(request(BlockClass::Flush, 150, 150, 200));
    stalls.beside(StallCause::Steal, at(500), at(1000), Nanos(0));
    let operations = [read(110, 110, 120), read(190, 190, 210), read(300, 300, 310), read(600, 600, 610)];
    let found = found(&mut stalls, &operations);
    let flush = StallsBeside { cause: StallCause::Flush, operations: 2, share_of_time: 0.1 };
    let steal = StallsBeside { cause: StallCause::Steal, operations: 1, share_of_time: 0.5 };
    assert_eq!(found.beside, [flush, steal]);
    assert_eq!(found.devices.len(), 1);
    assert_eq!((found.devices[0].class, found.devices[0].requests), (BlockClass::Flush, 2));
}

#[test]
fn only_the_longest_are_kept() {
    let mut longest = Longest::default();
    for length in [5, 1, 9, 3, 7] {
        longest.add(Nanos(length), length, 3);
    }
    let mut kept = longest.items();
    kept.sort_unstable();
    assert_eq!(kept, [5, 7, 9]);
}

#[test]
fn a_phase_without_operations_has_no_stalls() {
    let totals = PhaseTotals::of_counts(MS, &[]).unwrap();
    let of =
        StalledPhase { phase: 0, released: Nanos(START), totals: &totals, bound: None, lost_events: None };
    assert_eq!(Stalls::default().found(of, |_| String::new()), None);
}
