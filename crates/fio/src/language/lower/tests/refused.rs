//! What is refused, and what is noted.

use super::*;

#[test]
fn what_does_not_go_together_is_refused() {
    for (settings, part) in [
        (&[("size", "1000")][..], "has 1000 bytes"),
        (&[("size", "0"), ("filesize", "2k"), ("nrfiles", "2")], "2048 bytes"),
        (&[("fill_fs", "1"), ("rw", "randwrite"), ("size", "0")], "specify size"),
        (&[("direct", "1"), ("bs", "1000")], "multiples of 512"),
        (&[("direct", "1"), ("rw", "randread"), ("blockalign", "100")], "multiples of 512"),
        (&[("rw", "read:-2k")], "at least that"),
        (&[("rw", "rw:-6k"), ("bs", "4k,8k")], "at least that"),
        (&[("rw", "read:-6k"), ("bsrange", "4k-8k")], "at least that"),
        (&[("rw", "randread:-8")], "operations in a row"),
        (&[("rw", "randread"), ("percentage_random", "30"), ("bsrange", "4k-8k")], "divides 100"),
        (&[("rw", "randread:4"), ("percentage_random", "50")], "remove one of them"),
        (&[("rw", "randrw"), ("percentage_random", "50,20"), ("bs", "4k,8k")], "two jobs"),
        (&[("rw", "randrw"), ("random_distribution", "zoned:100/10,100/20"), ("bs", "4k,8k")], "two jobs"),
        (&[("rw", "randrw"), ("sprandom", "1")], "rw=randwrite"),
        (&[("rw", "randwrite"), ("sprandom", "1"), ("norandommap", "1")], "its own order"),
        (&[("rw", "randwrite"), ("sprandom", "1"), ("bsrange", "4k-8k")], "one size"),
        (&[("rw", "randwrite"), ("sprandom", "1"), ("size", "100m"), ("spr_cs", "2m")], "spr_num_regions=57"),
        (&[("rw", "randread:4"), ("random_distribution", "zipf"), ("bsrange", "4k-8k")], "one block size"),
        (&[("zonesize", "8k")], "zonemode=strided"),
        (&[("zonemode", "strided")], "zonesize"),
        (&[("ioengine", "cpuio"), ("cpuload", "10")], "a runtime"),
        (&[("ioengine", "cpuio"), ("runtime", "1")], "cpuload"),
        (&[("ioengine", "ftruncate"), ("rw", "read")], "writes only"),
        (&[("ioengine", "libaio"), ("nowait", "1")], "pvsync2 and io_uring only"),
        (&[("nrfiles", "4000000000")], "1 to 1000000"),
        (&[("offset_increment", "10000p")], ""),
        (&[("ioengine", "filestat"), ("wait_for", "x")], "stonewall"),
    ] {
        let place = ThreadIndex { number: 4_000, clone: 4_000, ..FIRST };
        let all: Vec<_> = [("size", "1m")].iter().chain(settings).copied().collect();
        match thread_at(&all, place) {
            Err(error) => assert!(error.to_string().contains(part), "{settings:?}: {error}"),
            Ok(thread) => assert_eq!(settings[0].0, "offset_increment", "{thread:?}"),
        }
    }
}

#[test]
fn values_that_mean_nothing_are_refused() {
    for (name, value, part) in [
        ("random_distribution", "zipf:1", "not 1"),
        ("random_distribution", "zipf:1.2:1.5", "centre is 1.5"),
        ("random_distribution", "normal:5:x", "not a number"),
        ("random_distribution", "zipf:nan", "skew"),
        ("random_distribution", "pareto:1", "below 1"),
        ("random_distribution", "normal", "deviation"),
        ("random_distribution", "normal:101", "at most 100"),
        ("random_distribution", "zoned:60/10:30/20", "90 %"),
        ("random_distribution", "zoned:60/80:40/30", "110 %"),
        ("random_distribution", "zoned:100", "not a zone"),
        ("random_distribution", "zoned_abs:100/0", "no bytes"),
        ("random_distribution", "zoned:100/1,100/1,100/1,100/1", "more than three"),
        ("random_distribution", "even", "none of"),
        ("bssplit", "4k,4k,4k,4k", "more than three"),
        ("bsrange", "4k", "not a range"),
        ("bs", "0", "not a size"),
        ("bs", "2g", "1 GiB"),
        ("filename", "-", "standard input"),
        ("filename", ":", "it is empty"),
        ("rw", "readwrites", "none of"),
        ("rw", "read:x", "x"),
        ("zonemode", "zoned", "strided"),
        ("hugepage-size", "3m", "such as 2m"),
        ("mem", "mmap:/f", "in a file"),
        ("mem_align", "3", "power of two"),
        ("sync_file_range", "write", "no number"),
        ("sync_file_range", "wait:8", "none of"),
        ("file_service_type", "zipf:x", "not a number"),
        ("file_service_type", "last", "none of"),
        ("fallocate", "2", "none of"),
        ("numjobs", "0", "range"),
        ("startdelay", "1-x", "x"),
        ("stat_type", "fstat", "none of"),
        ("hipri_percentage", "101", "range"),
    ] {
        let error = spec(&[(name, value)]).unwrap_err().to_string();
        assert!(error.contains(part), "{name}={value}: {error}");
    }
    let many = vec!["1/1"; 257].join(":");
    assert!(
        spec(&[("random_distribution", &format!("zoned:{many}"))]).unwrap_err().to_string().contains("256")
    );
    let many = vec!["4k/1"; 65].join(":");
    assert!(spec(&[("bssplit", &many)]).unwrap_err().to_string().contains("64"));
}

#[test]
fn differences_that_no_option_says_are_noted() {
    for (settings, part) in
        [(&[("iodepth", "8")][..], "iodepth: "), (&[("ioengine", "mmap"), ("direct", "1")], "direct ")]
    {
        let settings: Vec<_> = [("size", "1m")].iter().chain(settings).copied().collect();
        let notes = thread(&settings).unwrap().notes;
        assert!(notes.iter().any(|note| note.starts_with(part)), "{settings:?}: {notes:?}");
    }
    for settings in
        [&[][..], &[("rw", "rw")], &[("fadvise_hint", "none")], &[("ioengine", "io_uring"), ("iodepth", "8")]]
    {
        let settings: Vec<_> = [("size", "1m")].iter().chain(settings).copied().collect();
        assert_eq!(thread(&settings).unwrap().notes, [""; 0], "{settings:?}");
    }
}
