//! Back ends that reserve, cut off, or only take time.

use super::*;

#[test]
fn fallocate_reserves_and_punches() {
    let mut place = Fixture::new();
    let grow = FilesTarget { lay_out: LayOut::Grow, ..FilesTarget::of(vec![place.named("data", 1 << 20)]) };
    let with = |mix| FileTask { backend: BackendKind::Fallocate, ..task(grow.clone(), mix) };
    let found = |place: &Fixture| {
        let metadata = std::fs::metadata(place.path("data")).unwrap();
        (metadata.len(), metadata.blocks() * 512 >= 1 << 20)
    };
    assert_eq!(done(&place.run(&with(Mix::Read)).unwrap(), OpKind::Read), 256);
    assert_eq!(found(&place), (0, true));
    assert_eq!(done(&place.run(&with(Mix::Write)).unwrap(), OpKind::Write), 256);
    assert_eq!(found(&place), (1 << 20, true));
    assert_eq!(done(&place.run(&with(Mix::Trim)).unwrap(), OpKind::Trim), 256);
    assert_eq!(found(&place), (1 << 20, false));
    let mut other = Fixture::at(&place.dir, None);
    let error = other.refused(&with(Mix::Read));
    assert!(error.contains("overwrite"), "to reserve is to change: {error}");
}

#[test]
fn truncate_cuts_off_at_each_offset() {
    let mut place = Fixture::new();
    let files = vec![place.named("a", 16384), place.named("b", 16384)];
    let target = FilesTarget { order: FileOrder::Sequential, ..FilesTarget::of(files) };
    let stop = Stop { operations: Some(7), ..Stop::default() };
    let task = FileTask { backend: BackendKind::Truncate, stop, ..task(target, Mix::Write) };
    assert_eq!(done(&place.run(&task).unwrap(), OpKind::Write), 7);
    let length = |name| std::fs::metadata(place.path(name)).unwrap().len();
    assert_eq!((length("a"), length("b")), (12288, 8192));
}

#[test]
fn busy_takes_its_share_of_a_processor() {
    let options = BusyOptions { percent: 25, chunk: Nanos(2_000_000), work: BusyWork::Sort };
    let stop = Stop { operations: Some(10), ..Stop::default() };
    let task = FileTask {
        target: Target::Null { size: Bytes::MIB },
        backend: BackendKind::Busy(options),
        stop,
        ..task(FilesTarget::of(Vec::new()), Mix::Read)
    };
    let outcome = Fixture::new().run(&task).unwrap();
    assert_eq!(done(&outcome, OpKind::Read), 10);
    // Ten chunks and nine pauses of three; a busy machine may only make it longer.
    assert!(outcome.totals.measured >= 20_000_000 + 9 * 6_000_000, "{}", outcome.totals.measured);
}

#[test]
fn a_long_pause_of_busy_is_interrupted() {
    let flag = Arc::new(AtomicBool::new(false));
    let mut place = Fixture::new();
    place.control = Control::new(flag.clone());
    let options = BusyOptions { percent: 1, chunk: Nanos(1_000_000_000), work: BusyWork::Spin };
    let task = FileTask {
        target: Target::Null { size: Bytes::MIB },
        backend: BackendKind::Busy(options),
        ..task(FilesTarget::of(Vec::new()), Mix::Read)
    };
    struct AfterTheFirst(Arc<AtomicBool>);
    impl Sink for AfterTheFirst {
        fn event(&mut self, event: &Event) {
            let happened = matches!(event, Event::Interval(interval) if !interval.ops.is_empty());
            self.0.fetch_or(happened, std::sync::atomic::Ordering::Relaxed);
        }
    }
    let sink = &mut AfterTheFirst(flag);
    let outcome = run_file_task(&task, 0, &mut place.scratch, Clock::best(), &place.control, sink).unwrap();
    assert_eq!(outcome.ending, Ending::Interrupted);
    assert_eq!(outcome.outstanding.lost, 0, "within the 99 seconds of the pause");
}
