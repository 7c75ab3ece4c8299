use super::*;
use crate::live::tests::Shared;

#[test]
fn off_a_terminal_each_tenth_gets_a_line() {
    let out = Shared::default();
    let mut progress =
        Progress::lines(Box::new(out.clone()), "making the\x1b[2J globals", ProgressUnit::Subscripts);
    for done in (0..=1_000_000).step_by(1_000) {
        progress.update(done, 2_000_000);
    }
    // A jump is one line, and going back is none.
    progress.update(1_777_777, 2_000_000);
    progress.update(100, 2_000_000);
    insta::assert_snapshot!(out.text(), @r#"
    making the\u{1b}[2J globals: 10 %, 200,000 of 2,000,000 subscripts
    making the\u{1b}[2J globals: 20 %, 400,000 of 2,000,000 subscripts
    making the\u{1b}[2J globals: 30 %, 600,000 of 2,000,000 subscripts
    making the\u{1b}[2J globals: 40 %, 800,000 of 2,000,000 subscripts
    making the\u{1b}[2J globals: 50 %, 1,000,000 of 2,000,000 subscripts
    making the\u{1b}[2J globals: 80 %, 1,777,777 of 2,000,000 subscripts
    "#);
    let before = out.text().len();
    progress.update(2_000_000, 2_000_000);
    progress.finish();
    let last = out.text()[before..].to_owned();
    let line = "making the\\u{1b}[2J globals: done, 2,000,000 subscripts in ";
    assert!(last.starts_with(line) && last.ends_with(" per second\n") && last.lines().count() == 1, "{last}");
}

#[test]
fn what_is_abandoned_says_how_far_it_came() {
    let out = Shared::default();
    let mut progress = Progress::lines(Box::new(out.clone()), "making the blocks", ProgressUnit::Bytes);
    progress.update(37 << 20, 100 << 20);
    progress.abandon();
    Progress::lines(Box::new(out.clone()), "making nothing", ProgressUnit::Bytes).abandon();
    insta::assert_snapshot!(out.text(), @"
    making the blocks: 30 %, 37 MiB of 100 MiB
    making the blocks: ended at 37 %, 37 MiB of 100 MiB
    making nothing: ended at 0 %, 0 B
    ");
}

#[test]
fn the_bar_shows_the_latest_and_goes_away() {
    let out = Shared::default();
    let target = || ProgressDrawTarget::term_like(Box::new(out.clone()));
    let mut progress = Progress::bar(target(), false, "making the \u{7}blocks", ProgressUnit::Bytes);
    progress.update(3 << 30, 8 << 30);
    let View::Bar { bar, .. } = &progress.view else { panic!("{progress:?}") };
    bar.force_draw();
    let expected = "[=======>            ] making the \\u{7}blocks: 3 GiB of 8 GiB";
    assert!(out.text().starts_with(expected), "{}", out.text());
    progress.finish();
    assert_eq!(out.text(), "");
    let mut progress = Progress::bar(target(), true, "counting", ProgressUnit::Subscripts);
    progress.update(1, 2);
    assert!(out.text().contains("counting"), "{}", out.text());
    drop(progress);
    assert_eq!(out.text(), "");
    let mut progress = Progress::bar(target(), false, "counting", ProgressUnit::Subscripts);
    progress.update(1, 2);
    progress.abandon();
    assert_eq!(out.text(), "");
}

#[test]
fn a_quiet_view_stays_quiet() {
    let mut progress = Progress::new(LiveKind::Quiet, "making", ProgressUnit::Bytes);
    progress.update(1, 0);
    progress.finish();
    drop(Progress::new(LiveKind::Terminal { color: true }, "making", ProgressUnit::Bytes));
}

#[test]
fn amounts_rates_and_waits_are_reported_in_their_units() {
    let seconds = Duration::from_secs;
    let (bytes, subscripts) = (ProgressUnit::Bytes, ProgressUnit::Subscripts);
    let all = [
        rendered(bytes, (3 << 30, 8 << 30), 440e6, seconds(12)),
        rendered(subscripts, (4_500_000, 10_000_000), 812_345.6, seconds(301)),
        rendered(subscripts, (1, 10_000_000), 0.1, seconds(100_000_000)),
        // Nothing is known of the rate, or of the total.
        rendered(bytes, (0, 8 << 30), 0.0, seconds(0)),
        rendered(bytes, (1, 8 << 30), f64::NAN, seconds(0)),
        rendered(bytes, (5 << 20, 0), 440e6, seconds(9)),
        rendered(bytes, (8 << 30, 8 << 30), 440e6, seconds(0)),
    ];
    insta::assert_snapshot!(all.join("\n"), @"
    3 GiB of 8 GiB, 420 MiB/s, 12 s left
    4,500,000 of 10,000,000 subscripts, 812,346 per second, 6 min left
    1 of 10,000,000 subscripts, 0.1 per second, 27,778 h left
    0 B of 8 GiB
    1 B of 8 GiB
    5 MiB
    8 GiB of 8 GiB
    ");
    let percents = [(0, 0), (1, 0), (9, 10), (12, 10), (u64::MAX, u64::MAX)];
    assert_eq!(percents.map(|(done, total)| percent(done, total)), [0, 100, 90, 100, 100]);
}
