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
    let kinds = [
        "timeline",
        "histogram",
        "cdf",
        "percentiles",
        "heatmap",
        "sweep",
        "surface",
        "surface-3d",
        "compare",
        "trend",
    ];
    for kind in kinds {
        let drawn = iolite(&place, &["plot", "latest", "latest~1", "--kind", kind, "-o", file]);
        assert!(drawn.status.success(), "{kind}: {}", stderr(&drawn));
        let picture = fs::read_to_string(file).unwrap();
        assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"), "{kind}: {picture}");
        let of_phase = picture.matches("a &lt; b &amp; &quot;c&quot;, write").count();
        match kind {
            "timeline" => assert!(of_phase >= 4, "{picture}"),
            "sweep" | "surface" | "surface-3d" => assert!(picture.contains("write"), "{picture}"),
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

#[test]
fn a_terminal_with_sixel_graphics_shows_the_chart_as_a_picture() {
    let place = TestDirectory::new();
    let job = job(&place, "null.toml", "[[tasks]]\n[tasks.io]\nname = 'nothing'\nstop.operations = 20000\n");
    done(&place, &["run", &job, "--quiet"]);
    if Command::new("rsvg-convert").arg("--version").output().is_err() {
        eprintln!("skipped: rsvg-convert is not installed");
        let refused = iolite(&place, &["plot", "latest", "--show=sixel"]);
        assert!(stderr(&refused).contains("librsvg2-bin"), "{}", stderr(&refused));
        return;
    }
    if Command::new("script").arg("--version").stdout(Stdio::null()).status().is_err() {
        eprintln!("skipped: script(1) is not installed (Debian: bsdutils)");
        return;
    }
    // On a pseudo-terminal, by what it announces.
    let on_terminal = |term: &str| {
        let command =
            format!("{IOLITE} plot latest --kind cdf --show --results {}", place.results().display());
        let mut script = Command::new("script");
        script.args(["--quiet", "--return", "--command", &command, "/dev/null"]);
        for announced in ["KITTY_WINDOW_ID", "TERM_PROGRAM", "KONSOLE_VERSION", "TMUX", "STY"] {
            script.env_remove(announced);
        }
        let output = script.env("TERM", term).env("NO_COLOR", "1").stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        text(&output)
    };
    let (shown, plain) = (on_terminal("foot"), on_terminal("xterm-256color"));
    let picture = shown.trim_end();
    assert!(picture.starts_with("\u{1b}P") && picture.ends_with("\u{1b}\\"), "{:.80}", picture);
    assert!(!plain.contains("\u{1b}P") && plain.contains('│'), "{plain}");
    // Not to what is no terminal, unless it is asked for.
    let piped = text(&iolite(&place, &["plot", "latest", "--kind", "cdf", "--show"]));
    let asked = text(&iolite(&place, &["plot", "latest", "--kind", "cdf", "--show=sixel"]));
    assert!(!piped.contains("\u{1b}P") && asked.starts_with("\u{1b}P"), "{piped}");
    is_the_picture(&place, &asked);
}

/// Decodes sixel graphics by libsixel's program and compares the picture with the chart, which is twice as fine as a file.
fn is_the_picture(place: &TestDirectory, sixels: &str) {
    let path = |name: &str| place.root.path().join(name).to_str().unwrap().to_owned();
    let (from, decoded, chart) = (path("chart.six"), path("decoded.png"), path("chart.png"));
    fs::write(&from, sixels.trim_end()).unwrap();
    let Ok(output) = Command::new("sixel2png").args(["-i", &from, "-o", &decoded]).output() else {
        eprintln!("skipped: sixel2png is not installed (Debian: libsixel-bin)");
        return;
    };
    assert!(output.status.success(), "{}", stderr(&output));
    done(place, &["plot", "latest", "--kind", "cdf", "-o", &chart]);
    let (shown, chart) = (Pixels::of(&decoded), Pixels::of(&chart));
    assert_eq!([2 * shown.width, 2 * shown.height], [chart.width, chart.height]);
    let (mut difference, mut drawn, mut differ) = (0.0, 0.0, 0_usize);
    for (x, y) in (0..shown.height).flat_map(|y| (0..shown.width).map(move |x| (x, y))) {
        let fine =
            [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(right, down)| chart.at(2 * x + right, 2 * y + down));
        let expected = [0, 1, 2].map(|channel| fine.iter().map(|color| color[channel]).sum::<f64>() / 4.0);
        let off = |than: [f64; 3]| [0, 1, 2].map(|channel| (expected[channel] - than[channel]).abs());
        difference += off(shown.at(x, y)).iter().sum::<f64>() / 3.0;
        drawn += off([255.0; 3]).iter().sum::<f64>() / 3.0;
        differ += usize::from(off(shown.at(x, y)).iter().any(|by| *by > 40.0));
    }
    // Sixel graphics have 256 colours: an empty picture, or one of the wrong colours, differs by as much as there is drawn.
    let count = (shown.width * shown.height) as f64;
    assert!(
        difference < 0.15 * drawn,
        "{} against {} of an empty picture",
        difference / count,
        drawn / count
    );
    assert!((differ as f64) < 0.002 * count, "{differ} of {count} pixels");
}

/// A PNG.
struct Pixels {
    width: usize,
    height: usize,
    channels: usize,
    data: Vec<u8>,
}

impl Pixels {
    fn of(file: &str) -> Pixels {
        let mut decoder = png::Decoder::new(std::io::BufReader::new(fs::File::open(file).unwrap()));
        decoder.set_transformations(png::Transformations::normalize_to_color8());
        let mut reader = decoder.read_info().unwrap();
        let mut data = vec![0; reader.output_buffer_size().unwrap()];
        let frame = reader.next_frame(&mut data).unwrap();
        let channels = frame.color_type.samples();
        assert!(channels >= 3, "{file}: {:?}", frame.color_type);
        Pixels { width: frame.width as usize, height: frame.height as usize, channels, data }
    }

    fn at(&self, x: usize, y: usize) -> [f64; 3] {
        let first = (y * self.width + x) * self.channels;
        [0, 1, 2].map(|channel| f64::from(self.data[first + channel]))
    }
}
