//! The page of SNIA's specification: its plots, and what marks a rehearsal.

use std::process::{Command, Stdio};

use crate::browser::{Browser, axe};
use crate::common::{IOLITE, TestDirectory, stderr};
use crate::{inaccessible, keep, report, url};

#[test]
fn a_rehearsal_of_the_specification_has_its_plots_and_is_marked() {
    let place = TestDirectory::new();
    let Some(mut browser) = Browser::start() else { return };
    let file = place.data().join("target");
    std::fs::write(&file, vec![1u8; 52 << 20]).unwrap();
    let target = file.to_str().unwrap();
    let output = Command::new(IOLITE)
        .args(["pts", target, "--allow-overwrite", target, "--tests"])
        .arg("throughput,write-saturation,host-idle-recovery,cross-stimulus-recovery,demand-intensity,zone-throughput")
        .args(
            "--scale 0.00002 --max-rounds 5 --threads 1 --depth 2 --demand 1,2 --quiet --results".split(' '),
        )
        .arg(place.results())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", stderr(&output));
    let page = url(&report(&place, &["latest"], "pts.html"));
    let axe = axe();
    for (width, theme) in [(1280, "light"), (400, "dark")] {
        browser.open(&page, width, theme);
        for kind in [
            "pts-convergence",
            "pts-verification",
            "pts-window",
            "pts-saturation",
            "pts-recovery",
            "pts-demand",
            "pts-histogram",
            "pts-zones",
        ] {
            let drawn = format!(
                "[...document.querySelectorAll('figure[data-kind={kind}] .picture svg svg')].filter(panel => \
                 panel.querySelectorAll('path[d], circle, rect').length > 0).length"
            );
            assert!(browser.value(&drawn).as_u64().unwrap() > 0, "{width} {theme}: no points in {kind}");
        }
        let marks =
            browser.value("document.body.innerText.split('do not conform to the specification').length - 1");
        // The surfaces in three dimensions are fixed pictures with a value at each point.
        let points =
            "document.querySelectorAll('figure[data-kind=pts-window-3d] .picture svg circle title').length";
        assert_eq!(browser.value(points).as_u64(), Some(5 * 2), "block sizes with reads and writes");
        // Above the charts, below each of the nine, and in the output.
        assert!(marks.as_u64().unwrap() >= 11, "{marks}");
        let wide = browser.value("document.documentElement.scrollWidth - innerWidth");
        assert!(wide.as_i64().unwrap() <= 0, "{width}: {wide} pixels too wide");
        assert_eq!(browser.complaints(&page), Vec::<String>::new(), "{width} {theme}");
        keep(&mut browser, &format!("pts-{width}-{theme}.png"));
        if let Some(axe) = &axe {
            assert_eq!(inaccessible(&mut browser, axe), Vec::<String>::new(), "{width} {theme}");
        }
    }
}
