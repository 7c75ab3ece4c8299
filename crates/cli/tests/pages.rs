//! The pages in a real browser: charts with points, zoom, values, keyboard, saving, no complaint, no request, labels and contrast.
//!
//! IOLITE_PICTURES=DIR keeps pictures of the pages at 1280 and 400 pixels, light and dark.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

#[path = "common/browser.rs"]
mod browser;
mod common;
#[path = "pages/specification.rs"]
mod specification;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use browser::{Browser, axe};
use common::{IOLITE, TestDirectory, stderr};

/// Two sizes, each with one and four operations in flight; the names are hostile.
fn job() -> String {
    let task = |(block, workers): (&str, u32)| {
        format!(
            "[[tasks]]\n[tasks.io]\nname = 'x{workers} of {block} </script><b>\"&'\nmix = 'write'\naccess = 'random'\nblock = '{block}'\n\
             concurrency = {workers}\nworkers = {workers}\nbackend = 'sync'\nstop.runtime = '500ms'\ninterval = '50ms'\n\
             target.file = {{ name = '{block}-{workers}', size = '8MiB', create = true }}\n"
        )
    };
    [("4KiB", 1), ("4KiB", 4), ("16KiB", 1), ("16KiB", 4)].map(task).concat()
}

fn measured(place: &TestDirectory, times: u32) {
    let job = place.root.path().join("job.toml");
    std::fs::write(&job, self::job()).unwrap();
    for _ in 0..times {
        let output = Command::new(IOLITE)
            .args(["run", job.to_str().unwrap(), "--quiet", "--directory"])
            .arg(place.data())
            .arg("--results")
            .arg(place.results())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
    }
}

fn report(place: &TestDirectory, runs: &[&str], name: &str) -> PathBuf {
    let page = place.root.path().join(name);
    let mut command = Command::new(IOLITE);
    command.arg("report").args(runs).arg("--results").arg(place.results()).arg("-o").arg(&page);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    page
}

fn url(page: &Path) -> String {
    format!("file://{}", page.display())
}

/// What axe-core finds wrong in the open page, a line each.
fn inaccessible(browser: &mut Browser, axe: &str) -> Vec<String> {
    browser.value(&format!("{axe};0"));
    let found = browser.value(
        "axe.run({ resultTypes: ['violations'] }).then(found => found.violations.flatMap(rule => rule.nodes.map(node => \
         rule.id + ': ' + node.html.slice(0, 200) + ' ' + (node.any[0]?.message ?? ''))))",
    );
    found.as_array().unwrap().iter().map(|line| line.as_str().unwrap().to_owned()).collect()
}

fn keep(browser: &mut Browser, name: &str) {
    if let Some(directory) = std::env::var_os("IOLITE_PICTURES") {
        browser.picture(&Path::new(&directory).join(name));
    }
}

#[test]
fn a_report_shows_every_chart_with_points_and_asks_nobody_for_anything() {
    let place = TestDirectory::new();
    let Some(mut browser) = Browser::start() else { return };
    measured(&place, 2);
    let axe = axe();
    for (runs, kinds) in [
        (
            &["latest"][..],
            &["timeline", "percentiles", "heatmap", "histogram", "cdf", "sweep", "surface"][..],
        ),
        (
            &["latest~1", "latest"],
            &[
                "timeline",
                "percentiles",
                "heatmap",
                "histogram",
                "cdf",
                "sweep",
                "surface",
                "compare",
                "trend",
            ],
        ),
    ] {
        let page = url(&report(&place, runs, "report.html"));
        for (width, theme) in [(1280, "light"), (1280, "dark"), (400, "light"), (400, "dark")] {
            browser.open(&page, width, theme);
            for kind in kinds.iter().chain(&["cpu", "devices", "memory"]) {
                let drawn = format!(
                    "[...document.querySelectorAll('figure[data-kind={kind}] .picture svg svg')].filter(panel => \
                     panel.querySelectorAll('path[d], circle, rect').length > 0).length"
                );
                assert!(
                    browser.value(&drawn).as_u64().unwrap() > 0,
                    "{runs:?} {width} {theme}: no points in {kind}"
                );
                let values = format!("document.querySelectorAll('figure[data-kind={kind}] tbody td').length");
                assert!(browser.value(&values).as_u64().unwrap() > 0, "{kind}: no table");
            }
            // The surfaces in three dimensions are fixed pictures with a value at each point.
            let points =
                "document.querySelectorAll('figure[data-kind=surface-3d] .picture svg circle title').length";
            let rows = "document.querySelectorAll('figure[data-kind=surface-3d] tbody tr').length";
            assert!(browser.value(points).as_u64().unwrap() > 0, "{runs:?} {width} {theme}");
            assert_eq!(browser.value(points), browser.value(rows));
            assert_eq!(browser.value("document.querySelectorAll('b').length"), 0, "a name became markup");
            let wide = browser.value("document.documentElement.scrollWidth - innerWidth");
            assert!(wide.as_i64().unwrap() <= 0, "{width}: {wide} pixels too wide");
            assert_eq!(browser.complaints(&page), Vec::<String>::new(), "{runs:?} {width} {theme}");
            keep(&mut browser, &format!("report-{}-{width}-{theme}.png", runs.len()));
            if let Some(axe) = &axe {
                assert_eq!(inaccessible(&mut browser, axe), Vec::<String>::new(), "{runs:?} {width} {theme}");
            }
        }
    }
}

/// Left and right label of the horizontal axis of a chart, as numbers.
fn axis_of(browser: &mut Browser, chart: &str) -> Vec<f64> {
    let labels = browser.value(&format!(
        "[...document.querySelectorAll('{chart} .picture > svg > text[text-anchor=middle]')].map(label => \
         Number(label.textContent.replaceAll(',', ''))).filter(Number.isFinite)"
    ));
    labels.as_array().unwrap().iter().filter_map(serde_json::Value::as_f64).collect()
}

#[test]
fn charts_are_zoomed_read_and_saved_by_pointer_and_keyboard() {
    let place = TestDirectory::new();
    let Some(mut browser) = Browser::start() else { return };
    measured(&place, 1);
    let page = url(&report(&place, &["latest"], "report.html"));
    browser.open(&page, 1280, "light");
    let (timeline, devices) = ("figure[data-kind=timeline]", "figure[data-kind=devices]");
    let (before, linked) = (axis_of(&mut browser, timeline), axis_of(&mut browser, devices));

    // A part that is dragged over is shown alone, in all charts over time; a double click shows all again.
    let place_of = |browser: &mut Browser, share: f64| -> (f64, f64) {
        let place = browser.value(&format!(
            "(() => {{ const picture = document.querySelector('{timeline} .picture'); picture.scrollIntoView(); \
             const frame = picture.querySelector('svg svg').getBoundingClientRect(); \
             return [frame.left + {share} * frame.width, frame.top + 20]; }})()"
        ));
        (place[0].as_f64().unwrap(), place[1].as_f64().unwrap())
    };
    let (from, to) = (place_of(&mut browser, 0.25), place_of(&mut browser, 0.5));
    browser.pointer("mousePressed", from.0, from.1);
    browser.pointer("mouseMoved", to.0, to.1);
    let readout = browser.value(&format!("document.querySelector('{timeline} output').textContent"));
    assert!(readout.as_str().unwrap().contains(" s: 1. x1 of 4KiB"), "{readout}");
    let values = browser.value(&format!("document.querySelector('{timeline} .legend .value').textContent"));
    assert!(values.as_str().unwrap().chars().any(|c| c.is_ascii_digit()), "{values}");
    browser.pointer("mouseReleased", to.0, to.1);
    assert_ne!(axis_of(&mut browser, timeline), before);
    assert_ne!(axis_of(&mut browser, devices), linked, "time axes are zoomed together");
    let show_all = format!("document.querySelector('{timeline} .tools button:nth-child(3)').click()");
    browser.value(&show_all);
    assert_eq!(axis_of(&mut browser, timeline), before);
    assert_eq!(axis_of(&mut browser, devices), linked);
    browser.value("document.getElementById('link-time').click()");

    // The same by keys.
    browser.value(&format!("document.querySelector('{timeline} .picture').focus()"));
    (0..3).for_each(|_| browser.press("ArrowRight"));
    let readout = browser.value(&format!("document.querySelector('{timeline} output').textContent"));
    assert!(readout.as_str().unwrap().contains(" s: "), "{readout}");
    browser.press("+");
    assert_ne!(axis_of(&mut browser, timeline), before);
    assert_eq!(axis_of(&mut browser, devices), linked, "not linked any more");
    browser.press("0");
    assert_eq!(axis_of(&mut browser, timeline), before);

    // Every control is reached by Tab and is in sight when it is.
    browser.press("Tab");
    assert_eq!(browser.value("document.activeElement.getAttribute('aria-pressed')"), "true");
    let lines = format!("document.querySelectorAll('{timeline} path[data-series=\"0\"]').length");
    assert!(browser.value(&lines).as_u64().unwrap() > 0);
    browser.press(" ");
    assert_eq!(browser.value("document.activeElement.getAttribute('aria-pressed')"), "false");
    assert_eq!(browser.value(&lines), 0, "a series that is switched off is not drawn");
    keep(&mut browser, "used.png");

    // Saved as PNG: a picture with a frame, lines and labels on one background.
    browser.value("HTMLAnchorElement.prototype.click = function () { window.saved = this.href; }");
    let save = format!(
        "new Promise(done => {{ const figure = document.querySelector('{timeline}'); \
         const look = setInterval(() => {{ if (figure.dataset.saved) {{ clearInterval(look); done(figure.dataset.saved); }} }}, 20); \
         figure.querySelector('.tools button:nth-child(4)').click(); }})"
    );
    assert_eq!(browser.value(&save), "operations-per-second-throughput-and-response-time.png");
    let saved = browser.value(
        "new Promise(done => { const image = new Image(); image.onload = () => { const canvas = document.createElement('canvas'); \
         [canvas.width, canvas.height] = [image.width, image.height]; const context = canvas.getContext('2d'); \
         context.drawImage(image, 0, 0); const data = context.getImageData(0, 0, image.width, image.height).data; \
         const [first, pixels] = [data.slice(0, 3).join(), data.length / 4]; let other = 0; \
         for (let at = 0; at < data.length; at += 4) other += data.slice(at, at + 3).join() === first ? 0 : 1; \
         done([image.width, image.height, other / pixels, window.saved.slice(0, 22)]); }; image.src = window.saved; })",
    );
    assert_eq!((&saved[0], &saved[3]), (&2200.into(), &"data:image/png;base64,".into()));
    let (height, drawn) = (saved[1].as_u64().unwrap(), saved[2].as_f64().unwrap());
    assert!(height > 500 && drawn > 0.005 && drawn < 0.5, "{height} rows, {drawn} of the pixels drawn");
    // Printed: pages with more on them than text.
    let printed = browser.call("Page.printToPDF", serde_json::json!({ "printBackground": true }));
    use base64::Engine as _;
    let printed = base64::prelude::BASE64_STANDARD.decode(printed["data"].as_str().unwrap()).unwrap();
    assert!(printed.starts_with(b"%PDF-") && printed.len() > 20_000, "{} bytes", printed.len());
    assert_eq!(
        browser.value("document.documentElement.classList.contains('paper')"),
        false,
        "back on the screen"
    );
    assert_eq!(browser.complaints(&page), Vec::<String>::new());
}

/// `iolite serve` of a place's results.
struct Served {
    child: Child,
    /// As printed: `http://127.0.0.1:NNNN/`, with the token where it needs one.
    url: String,
}

impl Served {
    fn start(place: &TestDirectory, arguments: &[&str]) -> Served {
        let mut command = Command::new(IOLITE);
        command.args(["serve", "--listen", "0", "--results"]).arg(place.results()).args(arguments);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().rsplit(' ').next().unwrap().to_owned();
        assert!(url.starts_with("http://127.0.0.1:"), "{line}");
        Served { child, url }
    }

    fn address(&self) -> &str {
        self.url.trim_start_matches("http://").split('/').next().unwrap()
    }

    /// The whole response to a request with these headers besides.
    fn ask(&self, request: &str, headers: &str) -> String {
        let mut stream = TcpStream::connect(self.address()).unwrap();
        write!(stream, "{request} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n").unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn get(&self, path: &str) -> String {
        self.ask(&format!("GET {path}"), "Host: localhost\r\n")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The ids of all runs, the latest first.
fn ids(place: &TestDirectory) -> Vec<String> {
    let list: String =
        place.ask("SELECT group_concat(id, ' ') FROM (SELECT id FROM run ORDER BY started_unix_ns DESC)");
    list.split(' ').map(str::to_owned).collect()
}

#[test]
fn the_history_is_served_listed_filtered_and_compared() {
    let place = TestDirectory::new();
    measured(&place, 2);
    let served = Served::start(&place, &[]);
    let ids = ids(&place);
    let list = served.get("/");
    assert!(
        list.starts_with("HTTP/1.1 200") && list.contains("nosniff") && list.contains("2 of 2 runs"),
        "{list}"
    );
    assert!(ids.iter().all(|id| list.contains(&format!("href=\"/run/{id}\""))), "{list}");
    assert!(served.get("/?text=no+such+run").contains("0 of 2 runs"));
    assert!(served.get("/?result=completed&tag=").contains("2 of 2 runs"));
    let run = served.get(&format!("/run/{}", ids[0]));
    assert!(run.contains("data-kind=\"timeline\"") && !run.contains("<body data-follow"));
    let both = format!("before={}&after={}", ids[1], ids[0]);
    let compared = served.get(&format!("/compare?{both}"));
    assert!(
        compared.contains("<h1>Comparison</h1>") && compared.contains("within these two runs only"),
        "{compared}"
    );
    assert!(served.get(&format!("/runs?{both}")).contains("data-kind=\"compare\""));
    for (path, status, says) in [
        ("/run/20010101", "404", "there is no run 20010101"),
        ("/elsewhere", "404", "no such page"),
        ("/compare", "400", "at least one run before"),
        ("/runs", "400", "tick at least one run"),
        ("/run/%3Cscript%3Ealert(1)%3C/script%3E", "404", "&lt;script&gt;"),
    ] {
        let answer = served.get(path);
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")) && answer.contains(says),
            "{path}: {answer}"
        );
    }
    assert!(served.ask("GET /", "Host: evil.example\r\n").starts_with("HTTP/1.1 403"));
    assert!(served.ask("POST /", "Host: localhost\r\nContent-Length: 0\r\n").starts_with("HTTP/1.1 405"));

    // A run that goes on is fetched again and again.
    let open: String =
        place.ask("UPDATE run SET ending = NULL WHERE id = (SELECT max(id) FROM run) RETURNING id");
    let going_on = served.get(&format!("/run/{open}"));
    assert!(!going_on.contains("<body data-follow"), "its process is gone: {going_on}");
    place.ask::<String>(&format!(
        "UPDATE run SET process = {}, process_start_ticks = NULL WHERE id = '{open}' RETURNING id",
        std::process::id()
    ));
    let going_on = served.get(&format!("/run/{open}"));
    assert!(
        going_on.contains("<body data-follow=\"5\"") && going_on.contains("connect-src 'self'"),
        "{going_on}"
    );
}

#[test]
fn with_a_token_only_its_bearer_sees_anything() {
    let place = TestDirectory::new();
    measured(&place, 1);
    let served = Served::start(&place, &["--token", "letmein123"]);
    assert!(served.url.ends_with("/?token=letmein123"), "{}", served.url);
    for refused in ["/", "/?token=wrong", "/run/latest"] {
        let answer = served.get(refused);
        assert!(answer.starts_with("HTTP/1.1 403") && !answer.contains("1 of 1"), "{answer}");
    }
    let entered = served.get("/?token=letmein123");
    assert!(
        entered.starts_with("HTTP/1.1 303") && entered.contains("HttpOnly; SameSite=Strict"),
        "{entered}"
    );
    let cookie = "Host: db1\r\nCookie: iolite_token=letmein123\r\n";
    assert!(served.ask("GET /", cookie).contains("1 of 1 runs"));
    // Ctrl-C ends it.
    let mut served = served;
    let id = served.child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    assert!(served.child.wait().unwrap().success());
}

#[test]
fn served_pages_are_accessible_and_ask_nobody_else() {
    let place = TestDirectory::new();
    let Some(mut browser) = Browser::start() else { return };
    measured(&place, 2);
    let served = Served::start(&place, &[]);
    let (ids, axe) = (ids(&place), axe());
    for (name, path) in [
        ("list", String::new()),
        ("run", format!("run/{}", ids[0])),
        ("compare", format!("compare?before={}&after={}", ids[1], ids[0])),
    ] {
        for (width, theme) in [(1280, "light"), (400, "dark")] {
            browser.open(&format!("{}{path}", served.url), width, theme);
            assert_eq!(browser.complaints(&served.url), Vec::<String>::new(), "{name}");
            let wide = browser.value("document.documentElement.scrollWidth - innerWidth");
            assert!(wide.as_i64().unwrap() <= 0, "{name} {width}: {wide} pixels too wide");
            keep(&mut browser, &format!("serve-{name}-{width}-{theme}.png"));
            if let Some(axe) = &axe {
                assert_eq!(inaccessible(&mut browser, axe), Vec::<String>::new(), "{name} {width} {theme}");
            }
        }
    }
    // Ticked runs are compared.
    browser.open(&served.url, 1280, "light");
    browser.value("document.querySelectorAll('input[name=before]')[1].click()");
    browser.value("document.querySelectorAll('input[name=after]')[0].click()");
    browser.value("document.querySelector('form[action=\"/compare\"] button').click()");
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while browser.value("document.querySelector('h1')?.textContent") != "Comparison" {
        assert!(std::time::Instant::now() < deadline, "the comparison is not shown");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

/// A run that goes on; ended where a test gives up.
struct Going(Child);

impl Drop for Going {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Its rate is limited: browsers and other tests need the CPUs.
fn begin(place: &TestDirectory) -> Going {
    let job = place.root.path().join("long.toml");
    let text = "[[tasks]]\n[tasks.io]\nname = 'long'\nmix = 'write'\nbackend = 'sync'\nstop.runtime = '1h'\ninterval = '50ms'\n\
                arrival.constant = 500\ntarget.file = { name = 'long', size = '1MiB', create = true }\n";
    std::fs::write(&job, text).unwrap();
    let mut command = Command::new(IOLITE);
    command.args(["run", job.to_str().unwrap(), "--quiet", "--directory"]).arg(place.data());
    command.arg("--results").arg(place.results()).stdin(Stdio::null()).stdout(Stdio::null());
    let mut going = Going(command.spawn().unwrap());
    place.wait_for_intervals(&mut going.0, 20);
    going
}

fn wait_until(browser: &mut Browser, condition: &str) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(90);
    while browser.value(condition) != true {
        assert!(std::time::Instant::now() < deadline, "never: {condition}");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
}

#[test]
fn a_run_that_goes_on_is_followed_without_losing_zoom_focus_and_switches() {
    let place = TestDirectory::new();
    let Some(mut browser) = Browser::start() else { return };
    let mut going = begin(&place);
    let served = Served::start(&place, &[]);
    browser.open(&format!("{}run/{}", served.url, ids(&place)[0]), 1280, "light");
    let timeline = "figure[data-kind=timeline]";
    wait_until(
        &mut browser,
        &format!("document.querySelectorAll('{timeline} button[aria-pressed]').length > 0"),
    );
    browser.value(&format!("document.querySelector('{timeline} .picture').focus()"));
    browser.press("+");
    let zoomed = axis_of(&mut browser, timeline);
    // The focus is on a series that is switched off, and one part is open.
    browser.value(&format!(
        "(() => {{ const entry = document.querySelector('{timeline} .legend button'); entry.click(); entry.focus(); \
         document.querySelector('#output-0 details').open = true; window.entry = entry; \
         window.data = document.querySelector('{timeline} script').textContent; window.output = \
         document.querySelector('#run-0').innerHTML; }})()"
    ));
    wait_until(
        &mut browser,
        &format!(
            "document.querySelector('{timeline} script').textContent !== window.data && \
             document.querySelector('#run-0').innerHTML !== window.output"
        ),
    );
    assert_eq!(axis_of(&mut browser, timeline), zoomed);
    assert_eq!(browser.value("document.activeElement === window.entry"), true);
    assert_eq!(browser.value("window.entry.getAttribute('aria-pressed')"), "false");
    assert_eq!(browser.value("document.querySelector('#output-0 details').open"), true);
    assert_eq!(browser.complaints(&served.url), Vec::<String>::new());
    if let Some(axe) = axe() {
        assert_eq!(inaccessible(&mut browser, &axe), Vec::<String>::new());
    }
    // It ends, and the page says so and is fetched no more.
    let id = going.0.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    going.0.wait().unwrap();
    wait_until(
        &mut browser,
        "document.body.dataset.follow === '' && document.querySelector('#output-0').textContent.includes('INTERRUPTED')",
    );
    assert_eq!(browser.value("document.activeElement === window.entry"), true);
}

#[test]
fn the_list_shows_new_runs_and_keeps_ticks_and_focus() {
    let place = TestDirectory::new();
    let Some(mut browser) = Browser::start() else { return };
    measured(&place, 1);
    let served = Served::start(&place, &[]);
    browser.open(&served.url, 1280, "light");
    browser.value("document.querySelector('input[name=before]').click()");
    browser.value("document.querySelector('input[name=after]').focus()");
    let ticked = browser.value("document.querySelector('input[name=before]').value");
    let mut going = begin(&place);
    wait_until(&mut browser, "document.querySelectorAll('input[name=before]').length === 2");
    assert_eq!(browser.value("document.querySelector('#list p').textContent"), "2 of 2 runs");
    assert!(
        browser.value("document.querySelector('tbody').textContent").as_str().unwrap().contains("running")
    );
    let checked =
        "[...document.querySelectorAll('input:checked')].map(input => input.name + input.value).join()";
    assert_eq!(browser.value(checked), format!("before{}", ticked.as_str().unwrap()));
    let focus = browser.value("document.activeElement.name + document.activeElement.value");
    assert_eq!(focus, format!("after{}", ticked.as_str().unwrap()));
    // A run that does not match any more leaves the list, and one that does enters a list that was empty.
    browser.open(&format!("{}?result=running", served.url), 1280, "light");
    assert_eq!(browser.value("document.querySelectorAll('input[name=before]').length"), 1);
    assert!(Command::new("kill").args(["-INT", &going.0.id().to_string()]).status().unwrap().success());
    going.0.wait().unwrap();
    let text = "document.querySelector('#list').textContent";
    wait_until(&mut browser, &format!("{text} === '0 of 2 runsNo run matches.'"));
    let _next = begin(&place);
    wait_until(&mut browser, "document.querySelectorAll('input[name=before]').length === 1");
    assert!(!browser.value(text).as_str().unwrap().contains("No run matches"));
    assert_eq!(browser.complaints(&served.url), Vec::<String>::new());
}

#[test]
fn a_sweep_in_a_database_shows_its_knee_and_what_was_counted_meanwhile() {
    let place = TestDirectory::new();
    let Some(mut browser) = Browser::start() else { return };
    let db = format!("sqlite:{}", place.data().display());
    let results = place.results().display().to_string();
    for arguments in [
        &["ranread", "setup", "--db", &db, "--size", "8MiB", "--quiet"][..],
        &[
            "ranread",
            "sweep",
            "--db",
            &db,
            "--jobs",
            "1,2,4,8",
            "--step",
            "1s",
            "--ramp",
            "0s",
            "--quiet",
            "--results",
            &results,
        ],
    ] {
        let output = Command::new(IOLITE).args(arguments).stdin(Stdio::null()).output().unwrap();
        assert!(matches!(output.status.code(), Some(0 | 3 | 4)), "{arguments:?}: {}", stderr(&output));
    }
    let page = url(&report(&place, &["latest"], "report.html"));
    browser.open(&page, 1280, "light");
    // Where the kernel counts pressure, it is drawn too.
    let pressure = Path::new("/proc/pressure/io").exists().then_some("pressure");
    for kind in ["database", "sweep"].into_iter().chain(pressure) {
        let drawn = format!(
            "document.querySelectorAll('figure[data-kind={kind}] .picture svg svg :is(path, circle, rect)').length"
        );
        assert!(browser.value(&drawn).as_u64().unwrap() > 0, "nothing in {kind}");
    }
    let knees: i64 =
        place.ask("SELECT count(*) FROM conclusion WHERE kind = 'sweep' AND json ->> '$.knee' IS NOT NULL");
    let marks = browser.value(
        "[...document.querySelectorAll('figure[data-kind=sweep] .picture text')].filter(text => \
         text.textContent.startsWith('knee of ')).length",
    );
    assert_eq!(marks, knees, "a knee that was found is marked");
    assert_eq!(browser.complaints(&page), Vec::<String>::new());
}
