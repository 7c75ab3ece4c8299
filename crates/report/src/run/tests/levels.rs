//! A rate with two levels.

use super::*;

/// Reads that went on at 22,000 a second until credits ran out, then at 1,000, with a stall at the end.
fn two_levels() -> PhaseResult {
    let mut phase =
        synthetic::phase(0, synthetic::read("reads", 4096, 8), &[(OpKind::Read, 20_000.0, 4e5, 4096, 0)]);
    let count = |index: u64| match index {
        0..20 => 2200 + index % 3,
        33..36 => 0,
        _ => 100 + index % 3,
    };
    let point = |index| {
        let mut point = iolite_stats::Point { seconds: 0.1, ..Default::default() };
        point.operations[OpKind::Read] = count(index);
        point
    };
    phase.totals.series = (0..40).map(point).collect();
    phase
}

#[test]
fn both_levels_are_reported_in_place_of_a_mean_that_never_was() {
    let report = of_phases(vec![two_levels()]);
    let text = body(&report, UNICODE);
    let row = text.lines().find(|line| line.trim_start().starts_with("reads  ")).unwrap();
    assert!(row.contains("22,0") && row.contains(" > 8") && row.contains("levels"), "{text}");
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(joined.contains("changed at 2.00 s the rate went permanently from 22,0"), "{text}");
    assert!(joined.contains("95 % intervals, within this run"), "{text}");
    assert!(joined.contains("changed at 3.30 s there was a stall of 300 ms"), "{text}");
    let json = json(&report);
    let changes = &json["phases"][0]["changes"];
    assert_eq!(changes["operation"], "read");
    let found = changes["found"].as_array().unwrap();
    assert_eq!(found[0]["kind"], "level-shift", "{changes}");
    assert!((found[0]["before_iops"]["value"].as_f64().unwrap() - 22_010.0).abs() < 20.0, "{changes}");
    assert_eq!(found.iter().filter(|change| change["kind"] == "stall").count(), 1, "{changes}");
    // The same intervals explained.
    let explained =
        crate::explain::result(crate::explain::ResultToExplain { document: &json, all: false }, UNICODE)
            .unwrap();
    let explained = explained.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "the rate changed permanently 2.00 s after the start, from 22,0",
        "almost no operations completed for 300 ms",
    ] {
        assert!(explained.contains(part), "{part}: {explained}");
    }
}

#[test]
fn a_rate_that_stays_has_no_levels() {
    let report = of_phases(vec![together()[0].clone()]);
    assert!(!body(&report, UNICODE).contains("changed at"));
    assert!(json(&report)["phases"][0]["changes"].is_null());
}
