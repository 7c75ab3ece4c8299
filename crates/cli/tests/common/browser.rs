//! A headless Chromium (Debian: chromium), driven over the pipe of its DevTools protocol: no port, and nothing to install besides.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// How long a page may take for anything, on a loaded host.
const PATIENCE: Duration = Duration::from_secs(60);

/// A browser with one page.
pub(crate) struct Browser {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    last: u64,
    session: Option<String>,
    /// What has happened and was not looked at.
    events: VecDeque<Value>,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Starts it; `None`, with the reason printed, where there is none.
    pub(crate) fn start() -> Option<Browser> {
        let there =
            Command::new("chromium").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        if !there.is_ok_and(|status| status.success()) {
            eprintln!("skipped: chromium is not installed (Debian: chromium)");
            return None;
        }
        let profile = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        // The protocol is spoken over descriptors 3 and 4.
        let mut child = Command::new("sh")
            .arg("-c")
            .arg("exec chromium \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1")
            .args(["sh", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
            .args(["--remote-debugging-pipe", "--no-first-run", "--disable-background-networking"])
            .args(["--disable-component-update", "--disable-default-apps", "--mute-audio"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (to, from) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let events = VecDeque::new();
        let mut browser = Browser { child, to, from, last: 0, session: None, events, _profile: profile };
        browser.attach();
        Some(browser)
    }

    fn attach(&mut self) {
        let target = self.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attached =
            self.call("Target.attachToTarget", json!({ "targetId": target["targetId"], "flatten": true }));
        self.session = Some(attached["sessionId"].as_str().unwrap().to_owned());
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.call(&format!("{domain}.enable"), json!({}));
        }
    }

    /// Calls a method and waits for its result.
    pub(crate) fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let id = self.last;
        let mut message = json!({ "id": id, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = session.clone().into();
        }
        self.to.write_all(format!("{message}\0").as_bytes()).unwrap();
        self.to.flush().unwrap();
        let deadline = Instant::now() + PATIENCE;
        loop {
            assert!(Instant::now() < deadline, "{method}: no answer");
            let answer = self.receive();
            if answer["id"] == id {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].clone();
            }
            self.events.push_back(answer);
        }
    }

    fn receive(&mut self) -> Value {
        let mut text = Vec::new();
        self.from.read_until(0, &mut text).unwrap();
        assert!(text.pop() == Some(0), "chromium has ended");
        serde_json::from_slice(&text).unwrap()
    }

    /// Opens an address in a window of this width and theme, and waits until it is loaded.
    pub(crate) fn open(&mut self, url: &str, width: u32, theme: &str) {
        let metrics = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.call("Emulation.setDeviceMetricsOverride", metrics);
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": theme }] });
        self.call("Emulation.setEmulatedMedia", features);
        self.events.clear();
        self.call("Page.navigate", json!({ "url": url }));
        let deadline = Instant::now() + PATIENCE;
        while self.value("document.readyState") != "complete" || self.value("location.href") == "about:blank"
        {
            assert!(Instant::now() < deadline, "{url} is not loaded");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The value of an expression in the page.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let parameters = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let result = self.call("Runtime.evaluate", parameters);
        assert!(result.get("exceptionDetails").is_none(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// Presses and releases a key.
    pub(crate) fn press(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            let text = if key.chars().count() == 1 { key } else { "" };
            let code = if key == "Tab" { 9 } else { 0 };
            let event = json!({ "type": kind, "key": key, "text": text, "windowsVirtualKeyCode": code });
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    /// Moves the pointer, with the left button down or up.
    pub(crate) fn pointer(&mut self, kind: &str, x: f64, y: f64) {
        let buttons = i32::from(kind != "mouseReleased");
        let event =
            json!({ "type": kind, "x": x, "y": y, "button": "left", "buttons": buttons, "clickCount": 1 });
        self.call("Input.dispatchMouseEvent", event);
    }

    /// Errors and warnings on the console so far, and requests to anywhere but the page itself.
    pub(crate) fn complaints(&mut self, page: &str) -> Vec<String> {
        self.value("0");
        let complaint = |event: &Value| -> Option<String> {
            let parameters = &event["params"];
            match event["method"].as_str()? {
                "Runtime.exceptionThrown" => Some(parameters.to_string()),
                "Runtime.consoleAPICalled" if parameters["type"] != "log" => Some(parameters.to_string()),
                "Log.entryAdded" => Some(parameters.to_string()),
                "Network.requestWillBeSent" => {
                    let url = parameters["request"]["url"].as_str()?;
                    let own = url.starts_with(page) || url.starts_with("data:") || url.starts_with("blob:");
                    (!own).then(|| format!("request to {url}"))
                }
                _ => None,
            }
        };
        self.events.iter().filter_map(complaint).collect()
    }

    /// A picture of the whole page, as PNG.
    pub(crate) fn picture(&mut self, file: &Path) {
        let size = self.call("Page.getLayoutMetrics", json!({}))["cssContentSize"].clone();
        let clip = json!({ "x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1 });
        let parameters = json!({ "format": "png", "captureBeyondViewport": true, "clip": clip });
        let picture = self.call("Page.captureScreenshot", parameters);
        use base64::Engine as _;
        let bytes = base64::prelude::BASE64_STANDARD.decode(picture["data"].as_str().unwrap()).unwrap();
        std::fs::write(file, bytes).unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Its processes end with it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// axe-core, fetched once by npm into the target directory; `None`, with the reason printed, where it can't be.
pub(crate) fn axe() -> Option<String> {
    const VERSION: &str = "axe-core@4.10.3";
    // Two tests that fetch it at once would find half of it.
    static FETCHING: Mutex<()> = Mutex::new(());
    let _fetching = FETCHING.lock().unwrap_or_else(PoisonError::into_inner);
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("npm");
    let file = directory.join("node_modules/axe-core/axe.min.js");
    if !file.exists() {
        let prefix = directory.to_str().unwrap();
        let arguments = [
            "install",
            "--no-save",
            "--no-audit",
            "--no-fund",
            "--ignore-scripts",
            "--prefix",
            prefix,
            VERSION,
        ];
        let output = Command::new("npm").args(arguments).output();
        if !output.is_ok_and(|output| output.status.success()) || !file.exists() {
            eprintln!("skipped: npm cannot fetch {VERSION}: labels and contrast are not checked");
            return None;
        }
    }
    Some(std::fs::read_to_string(file).unwrap())
}
