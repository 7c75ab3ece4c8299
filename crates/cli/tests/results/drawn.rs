//! Stored runs as charts.

use super::*;

#[test]
fn a_stored_run_is_drawn_in_every_kind() {
    let place = TestDirectory::new();
    let writes = "[[tasks]]\n[tasks.io]\nname = 'a < b & \"c\"'\n\
                  target.file = { name = 'data', size = '1MiB', create = true }\nbackend = 'sync'\nmix = 'write'\n\
                  stop.operations = 500\ninterval = '10ms'\n";
    let job = job(&place, "job.toml", writes);
    for _ in 0..2 {
        let output = iolite(&place, &["run", &job, "--directory", place.data().to_str().unwrap()]);
        assert!(output.status.success(), "{}", stderr(&output));
    }
    let file = place.root.path().join("chart.svg");
    let file = file.to_str().unwrap();
    let kinds =
        ["timeline", "histogram", "cdf", "percentiles", "heatmap", "sweep", "surface", "compare", "trend"];
    for kind in kinds {
        let drawn = iolite(&place, &["plot", "latest", "latest~1", "--kind", kind, "-o", file]);
        assert!(drawn.status.success(), "{kind}: {}", stderr(&drawn));
        let picture = fs::read_to_string(file).unwrap();
        assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"), "{kind}: {picture}");
        let of_phase = picture.matches("a &lt; b &amp; &quot;c&quot;, write").count();
        match kind {
            "timeline" => assert!(of_phase >= 4, "{picture}"),
            "sweep" | "surface" => assert!(picture.contains("write"), "{picture}"),
            _ => assert!(of_phase >= 1, "{kind}: {picture}"),
        }
        let printed = iolite(&place, &["plot", "latest", "latest~1", "--kind", kind, "-o", "-"]);
        assert_eq!(text(&printed), picture, "{kind}");
    }
    let page = place.root.path().join("report.html");
    let page = page.to_str().unwrap();
    let written = iolite(&place, &["report", "latest", "latest~1", "-o", page]);
    assert!(written.status.success(), "{}", stderr(&written));
    let html = fs::read_to_string(page).unwrap();
    assert!(html.starts_with("<!DOCTYPE html>") && html.ends_with("</html>"));
    for kind in ["timeline", "histogram", "cdf", "percentiles", "heatmap", "compare", "trend"] {
        assert_eq!(html.matches(&format!("data-kind=\"{kind}\"")).count(), 1, "{kind}");
    }
    let name = "<title>1. a &lt; b &amp; &quot;c&quot;, write, run ";
    assert!(html.matches(name).count() >= 8);
    assert!(!html.contains("a < b") && !html.contains("src="));
    let unwritable = place.root.path().join("missing/chart.svg");
    for (arguments, says) in [
        (["latest", "--kind", "cdf", "-o", unwritable.to_str().unwrap()], "cannot write"),
        (["latest", "--kind", "pie", "-o", file], "timeline, histogram, cdf"),
        (["20010101", "--kind", "cdf", "-o", file], "20010101"),
    ] {
        let output = iolite(&place, &[&["plot"], &arguments[..]].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(says), "{arguments:?}: {}", stderr(&output));
    }
}
