use proptest::prelude::*;

use iolite_model::{AccessLine, AccessSpec, Bytes, Nanos};

use super::*;

const EXAMPLE: &str = "\
Version 1.1.0 
'TEST SETUP ====================================================================
'Test Description
\tnightly
'Run Time
'\thours      minutes    seconds
\t0          1          30
'Ramp Up Time (s)
\t5
'Default Disk Workers to Spawn
\tNUMBER_OF_CPUS
'Record Results
\tALL
'Worker Cycling
'\tstart      step       step type
\t1          1          LINEAR
'Disk Cycling
'\tstart      step       step type
\t2          3          EXPONENTIAL
'Queue Depth Cycling
'\tstart      end        step       step type
\t1          32         2          EXPONENTIAL
'Test Type
\tCYCLE_OUTSTANDING_IOS
'END test setup
'RESULTS DISPLAY ===============================================================
'Record Last Update Results,Update Frequency,Update Type
\tDISABLED,0,WHOLE_TEST
'END results display
'ACCESS SPECIFICATIONS =========================================================
'Access specification name,default assignment
\tDatabase, of sorts,ALL
'size,% of size,% reads,% random,delay,burst,align,reply
\t8192,90,67,100,0,1,0,0
\t65536,10,100,0,5,4,4096,0
'END access specifications
'MANAGER LIST ==================================================================
'Manager ID, manager name
\t1,HOST
'Manager network address
\t
'Worker
\tWorker 1
'Worker type
\tDISK
'Default target settings for worker
'Number of outstanding IOs,test connection rate,transactions per connection
\t8,DISABLED,1
'Disk maximum size,starting sector
\t2048,64
'End default target settings for worker
'Assigned access specs
\tDatabase, of sorts
'End assigned access specs
'Target assignments
'Target
\t/data
'Target type
\tDISK
'End target
'End target assignments
'End worker
'End manager
'END manager list
Version 1.1.0 
";

#[test]
fn a_file_is_read_as_its_manual_describes_it() {
    let read = parse(EXAMPLE).unwrap();
    let setup = &read.setup;
    assert_eq!(
        (&*setup.description, setup.run_time, setup.ramp),
        ("nightly", Nanos(90_000_000_000), Nanos(5_000_000_000))
    );
    assert_eq!(setup.kind, TestKind::Depths);
    assert_eq!(setup.depths.values(1), [1, 2, 4, 8, 16, 32]);
    assert_eq!(setup.targets.values(20), [2, 6, 18]);
    let spec = &read.specs[0];
    assert_eq!(spec.name, "Database, of sorts");
    assert_eq!(spec.lines[0], AccessLine { share: 90, ..AccessLine::of(8192, 67, 100) });
    assert_eq!((spec.lines[1].delay, spec.lines[1].burst, spec.lines[1].align), (5, 4, Bytes(4096)));
    let worker = &read.managers[0].workers[0];
    assert_eq!((worker.depth, worker.size(), worker.start), (8, Some(Bytes::MIB), 64));
    assert_eq!(
        (&*worker.specs, &*worker.targets),
        (&["Database, of sorts".to_owned()][..], &["/data".to_owned()][..])
    );
    assert_eq!(parse(&print(&read)).unwrap(), read);
}

/// A file in the form in which Iometer for Windows and programs that generate such files write it: line ends of Windows, blanks at the
/// ends of lines, values indented by blanks, comments, a name that begins with an apostrophe, the same specification several times.
fn generated(version: &str, fields: [&str; 2], values: [&str; 2]) -> String {
    let text = format!(
        "{version}'TEST SETUP ====\n'Test Description\n\t\n'Run Time\n'\thours      minutes    seconds\n'one minute is enough\n  \
         0          1          0\n'Ramp Up Time (s)\n  10\n'Default Disk Workers to Spawn\n  NUMBER_OF_CPUS\n'Default Network Workers to Spawn\n  \
         0\n'Record Results\n  ALL\n'Worker Cycling\n' start      step       step type\n  1          1          LINEAR\n'Disk Cycling\n' \
         start      step       step type\n  1          1          LINEAR\n'Queue Depth Cycling\n' start      end        step       step type\n  \
         1          32         2          EXPONENTIAL\n'Test Type\n  NORMAL\n'END test setup\n'RESULTS DISPLAY ====\n'Update \
         Frequency,Update Type\n  0,WHOLE_TEST\n'Bar chart 1 statistic\n  Total I/Os per Second\n'Bar chart 5 statistic\n  % CPU \
         Utilization (total)\n'END results display\n'ACCESS SPECIFICATIONS ====\n'Access specification name,default assignment\n  \
         Idle,NONE\n'size,% of size,% reads,% random,delay,burst,align,reply\n  0,100,0,0,0,1,0,0\n'Access specification name,default \
         assignment\n  Idle,NONE\n'size,% of size,% reads,% random,delay,burst,align,reply\n  0,100,0,0,0,1,0,0\n'Access specification \
         name,default assignment\n\t'4k; 100% Read; 0% Random, NONE\n'size,% of size,% reads,% random,delay,burst,align,reply\n'the log\n  \
         4096,60,100,0,0,1,4096,0\n'and the tables, by target\n  8192,40,67,100,0,1,0,0\n'END access specifications\n'MANAGER LIST \
         ====\n'Manager ID, manager name\n  1,IOA-manager\n'Manager network address\n  127.0.0.1\n'Worker\n  1of4\n'Worker type\n  \
         DISK\n'Default target settings for worker\n{}\n  {}\n{}\n  {}\n'End default target settings for worker\n'Assigned access \
         specs\n  Idle\n'my favourite\n\t'4k; 100% Read; 0% Random\n'End assigned access specs\n'Target assignments\n'Target\n  0: \
         \"XENSRC PVDISK 2.0\"\n'Target type\n  DISK\n'End target\n'End target assignments\n'End worker\n'End manager\n'END manager \
         list\n{version}",
        fields[0], values[0], fields[1], values[1]
    );
    text.replace('\n', " \r\n")
}

#[test]
fn files_are_read_as_versions_1_1_0_and_2006_and_generators_write_them() {
    const LOAD: &str = "'Number of outstanding IOs,test connection rate,transactions per connection";
    const PLACE: &str = "'Disk maximum size,starting sector";
    let older = generated("Version 2006.07.27 \n", [LOAD, PLACE], ["16,DISABLED,1", "65536,0"]);
    let load = format!("{LOAD},use fixed seed,fixed seed value");
    let place = format!("{PLACE},Data pattern");
    let newer = generated("Version 1.1.0 \n", [&load, &place], ["16,DISABLED,1,DISABLED,0", "65536,0,0"]);
    // Without the line of the version, with empty lines before it, and with the mark that Windows puts before Unicode.
    let bare = generated("", [LOAD, PLACE], ["16,DISABLED,1", "65536,0"]);
    let (later, marked) = (format!("\r\n\r\n{older}"), format!("\u{feff}{older}"));
    for text in [&older, &newer, &bare, &later, &marked] {
        let read = parse(text).unwrap();
        assert_eq!((read.setup.run_time, read.setup.ramp), (Nanos(60_000_000_000), Nanos(10_000_000_000)));
        assert_eq!(read.setup.kind, TestKind::Normal);
        let worker = &read.managers[0].workers[0];
        assert_eq!((&*worker.name, worker.depth, worker.size()), ("1of4", 16, Some(Bytes(32 << 20))));
        assert_eq!(worker.specs, ["Idle", "'4k; 100% Read; 0% Random"]);
        assert_eq!(worker.targets, ["0: \"XENSRC PVDISK 2.0\""]);
        let points = read.points().unwrap();
        let lines: Vec<(u64, u8)> =
            points[1].spec.lines.iter().map(|line| (line.size.0, line.share)).collect();
        // Comments between the lines take none of them away.
        assert_eq!(lines, [(4096, 60), (8192, 40)]);
        assert_eq!(parse(&print(&read)).unwrap(), read);
    }
}

#[test]
fn a_bare_collection_of_specifications_is_read() {
    let begin = EXAMPLE.find("'ACCESS SPECIFICATIONS").unwrap();
    let end = EXAMPLE.find("'MANAGER LIST").unwrap();
    // With the heading of the section and without it, by the first of its specifications.
    let section = &EXAMPLE[begin..end];
    let specification = section.split_once('\n').unwrap().1;
    for text in [section, specification] {
        let read = parse(text).unwrap();
        assert_eq!(read.specs, parse(EXAMPLE).unwrap().specs);
        assert!(read.managers.is_empty());
    }
    for text in ["'a comment\n'ACCESS SPECIFICATIONS\n", "ACCESS SPECIFICATIONS\n", ""] {
        assert_eq!(parse(text), Err(IcfError::NoVersion), "{text}");
    }
}

/// As a copy that was interrupted: a test with fewer workers would be another test.
#[test]
fn a_file_that_was_cut_off_is_refused() {
    for (end, section) in [
        ("test setup", "test setup"),
        ("assigned access specs", "worker"),
        ("worker", "worker"),
        ("manager", "manager"),
    ] {
        let cut = EXAMPLE.to_ascii_lowercase().find(&format!("'end {end}")).unwrap();
        assert_eq!(parse(&EXAMPLE[..cut]), Err(IcfError::Incomplete { section }), "{end}");
    }
}

#[test]
fn one_name_for_two_specifications_is_refused() {
    let twice = EXAMPLE.replace(
        "'END access",
        "'Access specification name,default assignment\n\tDatabase, of sorts,NONE\n'size,% of size,% reads,% random,delay,burst,align,\
         reply\n\t512,100,0,0,0,1,0,0\n'END access",
    );
    let error = parse(&twice).unwrap_err().to_string();
    assert!(error.starts_with("two access specifications are called `Database, of sorts`"), "{error}");
}

#[test]
fn what_can_not_be_run_is_refused_with_its_place() {
    let network = EXAMPLE.replacen("Worker type\n\tDISK", "Worker type\n\tNETWORK,TCP", 1);
    let error = parse(&network).unwrap_err().to_string();
    assert!(error.contains("`Worker 1` is of type NETWORK,TCP") && error.contains("disks only"), "{error}");
    let cases = [
        ("90,67,100", "90,167,100", "shares are 0 to 100 %"),
        ("CYCLE_OUTSTANDING_IOS", "CYCLE_EVERYTHING", "type `CYCLE_EVERYTHING` is not"),
        ("8,DISABLED,1", "8,ENABLED,often", "a number of transactions"),
        ("\t65536,10", "\t0,10", "line of size 0 (idle) cannot be combined"),
        ("65536,10", "65536,20", "add up to 110 %"),
        ("\t8192,90,67,100,0,1,0,0", "\t8192,90", "eight numbers"),
        ("Version 1.1.0 \n'TEST", "TEST", "not an Iometer configuration"),
        (
            "'Assigned access specs\n\tDatabase, of sorts",
            "'Assigned access specs\n\tother",
            "does not define",
        ),
        ("LINEAR", "CIRCULAR", "LINEAR or EXPONENTIAL"),
    ];
    for (from, to, said) in cases {
        let error = parse(&EXAMPLE.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.contains(said), "{from}: {error}");
    }
}

/// A test of two specifications by two workers of one manager, after a change of the second worker.
fn two_workers(kind: TestKind, change: impl Fn(&mut Worker)) -> Configuration {
    let mut configuration = Configuration::alone(standard()[1..4].to_vec(), 2, 1);
    configuration.setup.kind = kind;
    configuration.managers[0].name = "HOST".into();
    let workers = &mut configuration.managers[0].workers;
    (workers[0].name, workers[1].name) = ("one".into(), "two".into());
    change(&mut workers[1]);
    configuration
}

/// Worker, specification, targets and outstanding operations of each load of each point.
fn loads(configuration: &Configuration) -> Vec<Vec<(u32, String, u32, u32)>> {
    let load =
        |load: &iolite_model::IometerLoad| (load.worker, load.spec.name.clone(), load.targets, load.depth);
    let points = configuration.points().unwrap();
    points.iter().map(|point| point.loads.iter().map(load).collect()).collect()
}

/// In the n-th test each worker does the n-th of its specifications; one with a shorter list is idle then.
#[test]
fn workers_that_differ_do_what_each_is_assigned() {
    let names: Vec<String> = standard()[1..4].iter().map(|spec| spec.name.clone()).collect();
    let (a, b, c) = (names[0].clone(), names[1].clone(), names[2].clone());
    let own = vec![b.clone(), a.clone()];
    let specs = two_workers(TestKind::Normal, |worker| worker.specs.clone_from(&own));
    let (one, two) = (|spec: &String| (1, spec.clone(), 1, 1), |spec: &String| (2, spec.clone(), 1, 1));
    // In the third test the first worker is alone, and alike.
    assert_eq!(loads(&specs), [vec![one(&a), two(&b)], vec![one(&b), two(&a)], vec![]]);
    let points = specs.points().unwrap();
    assert_eq!((&*points[0].spec.name, points[0].workers), (&*format!("{a} + {b}"), 2));
    assert_eq!((&points[2].spec.name, points[2].workers, points[2].is_idle()), (&c, 1, false));
    // Outstanding I/Os, targets.
    let deep = loads(&two_workers(TestKind::Normal, |worker| worker.depth = 64));
    assert_eq!(deep[0], [(1, a.clone(), 1, 1), (2, a.clone(), 1, 64)]);
    let wide = two_workers(TestKind::Normal, |worker| worker.targets = vec!["C:".into(), "D:".into()]);
    assert_eq!(loads(&wide)[0], [(1, a.clone(), 1, 1), (2, a.clone(), 2, 1)]);
    // A worker without specifications is no part of the test, and the depth is the test's if that changes.
    let alone = two_workers(TestKind::Normal, |worker| worker.specs = Vec::new());
    assert_eq!((loads(&alone)[0].len(), alone.points().unwrap()[0].workers), (0, 1));
    assert_eq!(alone.workers(None, Bytes::GIB).len(), 1);
    assert_eq!(loads(&two_workers(TestKind::Depths, |worker| worker.depth = 64))[0], []);
    // An idle first worker leaves the second, which is named.
    let mut idle = two_workers(TestKind::Normal, |_| ());
    idle.specs[1].lines.clear();
    idle.managers[0].workers[0].specs = vec![b];
    idle.managers[0].workers[1].specs = vec![a.clone()];
    assert_eq!(loads(&idle), [[(2, a, 1, 1)]]);
    idle.managers[0].workers.truncate(1);
    assert!(idle.points().unwrap()[0].is_idle());
}

#[test]
fn each_disk_of_each_manager_is_a_file_with_what_its_workers_use_of_it() {
    let mut configuration = two_workers(TestKind::Normal, |worker| {
        (worker.sectors, worker.start) = (4096, 2048);
        worker.targets = vec!["D:".into(), "C:".into(), "D:".into()];
    });
    configuration.managers[0].workers[0].targets = vec!["C:".into()];
    let mut second = configuration.managers[0].clone();
    second.name = "OTHER".into();
    configuration.managers.push(second);
    let workers = configuration.workers(None, Bytes::GIB);
    let facts: Vec<_> =
        workers.iter().map(|it| (it.manager, &*it.manager_name, &*it.name, it.start.0, it.size)).collect();
    // A worker without a maximum disk size uses as much as the one with the largest.
    let (whole, mib) = (Bytes(2 << 20), 1 << 20);
    assert_eq!(
        facts,
        [
            (1, "HOST", "one", 0, whole),
            (1, "HOST", "two", mib, whole),
            (2, "OTHER", "one", 0, whole),
            (2, "OTHER", "two", mib, whole)
        ]
    );
    // The disk C: of one host is the same for its workers, and another one on another host.
    assert_eq!(
        workers.iter().map(|it| it.files.clone()).collect::<Vec<_>>(),
        [vec![1], vec![2, 1, 3], vec![4], vec![5, 4, 6]]
    );
    assert!(configuration.workers(Some(Bytes::MIB), Bytes::GIB).iter().all(|it| it.size == Bytes::MIB));
    // Workers that were not read from a file share one.
    let alone = Configuration::alone(standard(), 2, 1).workers(None, Bytes::GIB);
    assert!(alone.iter().all(|it| (&*it.files, it.size) == (&[1][..], Bytes::GIB)), "{alone:?}");
}

#[test]
fn the_standard_specifications_are_whole_and_go_through_a_file() {
    let specs = [standard(), patterns()].concat();
    for spec in &specs {
        let sum: u32 = spec.lines.iter().map(|line| u32::from(line.share)).sum();
        assert!(sum == 100 || spec.lines.is_empty(), "{}: {sum}", spec.name);
    }
    let configuration = Configuration { specs, ..Configuration::default() };
    assert_eq!(parse(&print(&configuration)).unwrap(), configuration);
}

#[test]
fn a_specification_has_100_lines_at_most() {
    let of = |lines: usize| {
        let text = format!(
            "Version 1.1.0\n'Access specification name,default assignment\n\tmany,NONE\n\
             'size,% of size,% reads,% random,delay,burst,align,reply\n{}",
            "\t4096,1,100,100,0,1,0,0\n".repeat(lines)
        );
        parse(&text).map(|read| read.specs[0].lines.len()).map_err(|error| error.to_string())
    };
    assert_eq!(of(100), Ok(100));
    assert_eq!(
        of(101),
        Err("line 105: `\t4096,1,100,100,0,1,0,0`: an access specification has 100 lines at most".into())
    );
}

#[test]
fn cycles_end() {
    let cycle = |start, end, step, exponential| Cycle { start, end, step, exponential }.values(8);
    assert_eq!(cycle(1, None, 1, false), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(cycle(4, Some(4), 0, false), [4]);
    assert_eq!(cycle(3, Some(100), 1, true), [3]);
    assert_eq!(cycle(9, Some(8), 1, false), [9]);
}

fn name() -> impl Strategy<Value = String> {
    "['A-Za-z0-9][A-Za-z0-9 ,;%']{0,20}[A-Za-z0-9]"
}

prop_compose! {
    fn line()(
        size in 1u64..=1 << 30,
        reads in 0u8..=100,
        random in 0u8..=100,
        delay in any::<u32>(),
        burst in 1u32..,
        align in any::<u64>(),
        reply in any::<u64>(),
    ) -> AccessLine {
        AccessLine { delay, burst, align: Bytes(align), reply: Bytes(reply), ..AccessLine::of(size, reads, random) }
    }
}

prop_compose! {
    /// Every field of the setup.
    fn setup()(
        description in name(),
        seconds in 0u64..1_000_000,
        ramp in 0u64..100_000,
        counted in (1u32..100, 1u32..10, any::<bool>()),
        of_targets in (1u32..100, 1u32..10, any::<bool>()),
        depths in (1u32..100, 1u32..1000, 1u32..10, any::<bool>()),
        kind in 0..TestKind::WORDS.len(),
    ) -> Setup {
        let endless = |(start, step, exponential)| Cycle { start, end: None, step, exponential };
        let (start, end, step, exponential) = depths;
        Setup {
            description,
            run_time: Nanos(seconds * Nanos::SECOND.0),
            ramp: Nanos(ramp * Nanos::SECOND.0),
            workers: endless(counted),
            targets: endless(of_targets),
            depths: Cycle { start, end: Some(end), step, exponential },
            kind: TestKind::WORDS[kind].1,
        }
    }
}

prop_compose! {
    fn worker()(
        name in name(),
        depth in any::<u32>(),
        connection_rate in prop::option::of(any::<u32>()),
        sectors in any::<u64>(),
        start in any::<u64>(),
        targets in prop::collection::vec(name(), 0..3),
    ) -> Worker {
        Worker { name, depth, connection_rate, sectors, start, specs: Vec::new(), targets }
    }
}

prop_compose! {
    fn configuration()(
        setup in setup(),
        specs in prop::collection::vec((name(), line(), line(), 0u8..=100), 0..4),
        workers in prop::collection::vec(worker(), 0..4),
    ) -> Configuration {
        let specs: Vec<AccessSpec> = specs
            .into_iter()
            .map(|(name, one, other, share)| AccessSpec {
                name,
                lines: vec![AccessLine { share, ..one }, AccessLine { share: 100 - share, ..other }],
            })
            .collect();
        let names: Vec<String> = specs.iter().map(|spec| spec.name.clone()).collect();
        let workers = workers.into_iter().map(|worker| Worker { specs: names.clone(), ..worker }).collect();
        Configuration { setup, specs, managers: vec![Manager { name: "HOST".into(), workers }] }
    }
}

proptest! {
    #[test]
    fn what_is_printed_is_read_as_the_same(configuration in configuration()) {
        prop_assert_eq!(parse(&print(&configuration)).unwrap(), configuration);
    }

    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,200}", at in 0usize..EXAMPLE.len(), with in "\\PC{0,5}") {
        let _ = parse(&text);
        let mut changed = EXAMPLE.to_owned();
        if changed.is_char_boundary(at) {
            changed.insert_str(at, &with);
            let _ = parse(&changed);
        }
    }
}

#[test]
fn a_test_has_a_point_for_each_specification_and_load() {
    let spec = |name: &str| AccessSpec { name: name.into(), ..standard()[0].clone() };
    let specs = vec![spec("a"), spec("b")];
    let alone = Configuration::alone(specs.clone(), 3, 0);
    let points = alone.points().unwrap();
    let loads: Vec<_> = points.iter().map(|point| (&*point.spec.name, point.workers, point.depth)).collect();
    assert_eq!(loads, [("a", 3, 1), ("b", 3, 1)]);
    let depths = Cycle { start: 1, end: Some(8), step: 2, exponential: true };
    let setup = Setup { kind: TestKind::Depths, depths, ..Setup::default() };
    let cycled = Configuration { setup, ..Configuration::alone(specs, 1, 4) };
    let depths: Vec<u32> = cycled.points().unwrap().iter().map(|point| point.depth).collect();
    assert_eq!(depths, [1, 2, 4, 8, 1, 2, 4, 8]);
    assert_eq!(Configuration::default().points().unwrap(), []);
}

#[test]
fn a_worker_of_size_0_is_idle_and_uses_what_the_file_says_of_its_disk() {
    let idle = EXAMPLE.replace("\t65536,10,100,0,5,4,4096,0\n", "").replace("\t8192,90,", "\t0,100,");
    let read = parse(&idle).unwrap();
    assert_eq!(read.specs[0].lines, []);
    assert_eq!(parse(&print(&read)).unwrap(), read);
    assert_eq!(read.workers(None, Bytes::GIB)[0].size, Bytes::MIB);
}

#[test]
fn the_test_type_decides_what_is_cycled() {
    let target = "'Target\n\t/data\n'Target type\n\tDISK\n'End target\n";
    let whole = EXAMPLE.replace("2048,64", "2048,0").replace(target, &target.repeat(5));
    // Workers by 1 from 1, targets by 3 from 2 (exponential), depths by 2 from 1 to 32 (exponential).
    let points = |kind: &str| {
        let text = whole.replace("CYCLE_OUTSTANDING_IOS", kind);
        let points = parse(&text).unwrap().points().unwrap();
        points.iter().map(|point| (point.workers, point.targets, point.depth)).collect::<Vec<_>>()
    };
    assert_eq!(points("NORMAL"), [(1, 5, 8)]);
    // 6 of 5 targets there are not.
    assert_eq!(points("CYCLE_TARGETS"), [(1, 2, 8)]);
    let depths = [1, 2, 4, 8, 16, 32];
    assert_eq!(points("CYCLE_OUTSTANDING_IOS"), depths.map(|depth| (1, 5, depth)));
    let linear = whole.replace("2          3          EXPONENTIAL", "1          2          LINEAR");
    let linear = linear.replace("CYCLE_OUTSTANDING_IOS", "CYCLE_OUTSTANDING_IOS_AND_TARGETS");
    let both = parse(&linear).unwrap().points().unwrap();
    let expected: Vec<_> = [1, 3, 5].into_iter().flat_map(|of| depths.map(|depth| (of, depth))).collect();
    assert_eq!(both.iter().map(|point| (point.targets, point.depth)).collect::<Vec<_>>(), expected);
    let worker = &whole[whole.find("'Worker\n").unwrap()..whole.find("'End manager").unwrap()];
    let three = whole.replace(worker, &worker.repeat(3)).replace("CYCLE_OUTSTANDING_IOS", "CYCLE_WORKERS");
    let counts: Vec<u32> =
        parse(&three).unwrap().points().unwrap().iter().map(|point| point.workers).collect();
    assert_eq!(counts, [1, 2, 3]);
    // Targets are added to all workers, or to one after the other.
    let five = |kind: &str| {
        let text = three
            .replace("CYCLE_WORKERS", kind)
            .replace("2          3          EXPONENTIAL", "1          4          LINEAR");
        let points = parse(&text).unwrap().points().unwrap();
        let of = |point: &iolite_model::IometerPoint| match point.loads.as_slice() {
            [] => vec![point.targets; point.workers as usize],
            loads => loads.iter().map(|load| load.targets).collect(),
        };
        points.iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(five("INCREMENT_TARGETS_PARALLEL"), [[1; 3], [5; 3]]);
    let serial = five("INCREMENT_TARGETS_SERIAL");
    assert_eq!(serial, [vec![1], vec![5], vec![5, 4], vec![5, 5, 3]]);
    let both = five("CYCLE_WORKERS_AND_TARGETS");
    assert_eq!(both, [vec![1], vec![5], vec![1; 2], vec![5; 2], vec![1; 3], vec![5; 3]]);
    // More points than anybody waits for.
    let many = linear
        .replace("1          32         2          EXPONENTIAL", "1          9999       1          LINEAR");
    let many = many.replace(target, &target.repeat(10));
    let error = parse(&many).unwrap().points().unwrap_err().to_string();
    assert!(error.contains("more than 10,000 measurements"), "{error}");
}

#[test]
fn a_test_connection_rate_is_found() {
    let rated = EXAMPLE.replace("8,DISABLED,1", "8,ENABLED,12");
    assert_eq!(parse(&rated).unwrap().connection_rate(), Some(("Worker 1", 12)));
    assert_eq!(parse(EXAMPLE).unwrap().connection_rate(), None);
    // Iometer 1.1 has more fields.
    let newer = EXAMPLE.replace("8,DISABLED,1", "8,DISABLED,1,DISABLED,0").replace("2048,64", "2048,0,0");
    let worker = parse(&newer).unwrap().managers[0].workers[0].clone();
    assert_eq!((worker.depth, worker.connection_rate, worker.size()), (8, None, Some(Bytes::MIB)));
}

#[test]
fn all_in_one_has_a_line_for_each_size_and_share() {
    let all = standard().into_iter().find(|spec| spec.name == "All in one").unwrap();
    assert_eq!(all.lines.len(), 28);
    assert_eq!(all.lines.iter().filter(|line| line.share == 4).count(), 16);
}
