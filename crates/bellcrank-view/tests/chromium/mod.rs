//! A small client of the Chrome DevTools protocol over pipes: no network, no other tools.
//! <https://chromedevtools.github.io/devtools-protocol/>
//!
//! The browser is `$BELLCRANK_CHROMIUM`, or a Chromium or Chrome on the path; without one, the tests fail. `./test` installs
//! it where it can.

use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

/// How long to wait for the browser: software rendering is slow on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(180);
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];

pub struct Browser {
    child: Child,
    stdin: ChildStdin,
    answers: Receiver<Value>,
    last: u64,
    events: HashMap<String, Vec<Value>>,
}

/// The one browser of all tests, for one test at a time.
///
/// # Panics
/// If there is none.
pub fn browser() -> MutexGuard<'static, Browser> {
    static BROWSER: OnceLock<Mutex<Browser>> = OnceLock::new();
    let shared = BROWSER.get_or_init(|| {
        let path = executable().expect("Chromium or Chrome on the path, or in BELLCRANK_CHROMIUM (./test installs it)");
        Mutex::new(Browser::start(&path))
    });
    shared.lock().unwrap_or_else(|e| e.into_inner())
}

fn executable() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("BELLCRANK_CHROMIUM") {
        return Some(path.into());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).flat_map(|dir| NAMES.map(|n| dir.join(n))).find(|p| p.is_file())
}

impl Browser {
    fn start(path: &Path) -> Browser {
        let profile = Path::new(env!("CARGO_TARGET_TMPDIR")).join("chromium-profile");
        let _ = std::fs::remove_dir_all(&profile);
        // the browser reads commands from its file 3 and writes answers to its file 4
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null 2>/dev/null", "sh"])
            .arg(path)
            .args(["--headless=new", "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"])
            .args([
                "--remote-debugging-pipe",
                "--window-size=1280,800",
                "--force-color-profile=srgb",
                "--hide-scrollbars",
            ])
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the browser starts");
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            let mut reader = BufReader::new(stdout);
            let mut message = Vec::new();
            while reader.read_until(0, &mut message).is_ok_and(|n| n > 0) {
                message.pop();
                let Ok(value) = serde_json::from_slice(&message) else { break };
                if sender.send(value).is_err() {
                    break;
                }
                message.clear();
            }
        });
        Browser { child, stdin, answers, last: 0, events: HashMap::new() }
    }

    fn call(&mut self, session: Option<&str>, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let mut message = json!({"id": self.last, "method": method, "params": parameters});
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        write!(self.stdin, "{message}\0").and_then(|()| self.stdin.flush()).expect("the browser listens");
        let until = Instant::now() + TIMEOUT;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let answer = self.answers.recv_timeout(left).unwrap_or_else(|_| panic!("no answer to {method}"));
            if answer["id"] == self.last {
                assert!(answer.get("error").is_none(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            if let Some(session) = answer["sessionId"].as_str() {
                self.events.entry(session.to_string()).or_default().push(answer);
            }
        }
    }

    /// Opens a page and waits until it says that it is ready or has failed.
    pub fn open(&mut self, url: &str) -> Page<'_> {
        let mut page = self.blank();
        page.go(url);
        page
    }

    /// An empty page.
    pub fn blank(&mut self) -> Page<'_> {
        let context = self.call(None, "Target.createBrowserContext", json!({}))["browserContextId"].clone();
        let target = self.call(None, "Target.createTarget", json!({"url": "about:blank", "browserContextId": context}))
            ["targetId"]
            .clone();
        let session = self.call(None, "Target.attachToTarget", json!({"targetId": target, "flatten": true}));
        let session = session["sessionId"].as_str().unwrap().to_string();
        let mut page = Page { browser: self, session, context };
        for domain in ["Page", "Runtime", "Log", "Network"] {
            page.call(&format!("{domain}.enable"), json!({}));
        }
        page.call(
            "Emulation.setDeviceMetricsOverride",
            json!({"width": 1280, "height": 800, "deviceScaleFactor": 1, "mobile": false}),
        );
        page.call(
            "Emulation.setEmulatedMedia",
            json!({"features": [{"name": "prefers-reduced-motion", "value": "reduce"}]}),
        );
        page
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub struct Page<'a> {
    browser: &'a mut Browser,
    session: String,
    context: Value,
}

impl Page<'_> {
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        let session = self.session.clone();
        self.browser.call(Some(&session), method, parameters)
    }

    pub fn go(&mut self, url: &str) {
        self.call("Page.navigate", json!({"url": url}));
        self.until("location.href !== 'about:blank' && !!document.documentElement?.dataset.ready");
    }

    /// The value of an expression, awaited.
    pub fn eval(&mut self, expression: &str) -> Value {
        let result = self
            .call("Runtime.evaluate", json!({"expression": expression, "awaitPromise": true, "returnByValue": true}));
        assert!(result.get("exceptionDetails").is_none(), "{expression}: {}", result["exceptionDetails"]);
        result["result"]["value"].clone()
    }

    pub fn number(&mut self, expression: &str) -> f64 {
        let value = self.eval(expression);
        value.as_f64().unwrap_or_else(|| panic!("{expression} is {value}"))
    }

    pub fn text(&mut self, expression: &str) -> String {
        let value = self.eval(expression);
        value.as_str().unwrap_or_else(|| panic!("{expression} is {value}")).to_string()
    }

    pub fn numbers(&mut self, expression: &str) -> Vec<f64> {
        let value = self.eval(expression);
        let list = value.as_array().unwrap_or_else(|| panic!("{expression} is {value}"));
        list.iter().map(|x| x.as_f64().unwrap_or(f64::NAN)).collect()
    }

    /// Waits until an expression holds.
    pub fn until(&mut self, expression: &str) {
        let end = Instant::now() + TIMEOUT;
        loop {
            let result = self.call(
                "Runtime.evaluate",
                json!({"expression": expression, "awaitPromise": true, "returnByValue": true}),
            );
            if result["result"]["value"] == true {
                return;
            }
            assert!(
                Instant::now() < end,
                "timed out waiting for {expression}; the page says {}",
                self.call("Runtime.evaluate", json!({"expression": "document.body.innerText", "returnByValue": true}))
                    ["result"]["value"]
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn mouse(&mut self, kind: &str, x: f64, y: f64, down: bool) {
        let (button, buttons) = if down { ("left", 1) } else { ("none", 0) };
        let button = if kind == "mouseReleased" { "left" } else { button };
        self.call("Input.dispatchMouseEvent", json!({"type": kind, "x": x, "y": y, "button": button, "buttons": buttons, "clickCount": i32::from(kind != "mouseMoved")}));
    }

    pub fn click(&mut self, x: f64, y: f64) {
        self.mouse("mouseMoved", x, y, false);
        self.mouse("mousePressed", x, y, true);
        self.mouse("mouseReleased", x, y, false);
    }

    pub fn drag(&mut self, from: [f64; 2], to: [f64; 2]) {
        self.mouse("mouseMoved", from[0], from[1], false);
        self.mouse("mousePressed", from[0], from[1], true);
        for k in 1..=4 {
            let u = f64::from(k) / 4.0;
            self.mouse("mouseMoved", from[0] + u * (to[0] - from[0]), from[1] + u * (to[1] - from[1]), true);
        }
        self.mouse("mouseReleased", to[0], to[1], false);
    }

    /// Presses a key; a single letter also types it.
    pub fn key(&mut self, key: &str) {
        let text = if key.chars().count() == 1 { json!(key) } else { json!("") };
        self.call("Input.dispatchKeyEvent", json!({"type": "keyDown", "key": key, "text": text}));
        self.call("Input.dispatchKeyEvent", json!({"type": "keyUp", "key": key}));
    }

    /// Bytes of the page's heap in use after garbage collection.
    pub fn heap(&mut self) -> f64 {
        self.call("HeapProfiler.collectGarbage", json!({}));
        self.call("Runtime.getHeapUsage", json!({}))["usedSize"].as_f64().unwrap()
    }

    /// An estimate of the bytes that the page's scripts allocate during `what`, garbage included.
    pub fn allocated<T>(&mut self, what: impl FnOnce(&mut Self) -> T) -> f64 {
        let all = json!({"samplingInterval": 2048, "includeObjectsCollectedByMajorGC": true, "includeObjectsCollectedByMinorGC": true});
        self.call("HeapProfiler.startSampling", all);
        what(self);
        let profile = self.call("HeapProfiler.stopSampling", json!({}))["profile"].clone();
        fn sum(node: &Value) -> f64 {
            let below: f64 = node["children"].as_array().into_iter().flatten().map(sum).sum();
            below + node["selfSize"].as_f64().unwrap_or(0.0)
        }
        sum(&profile["head"])
    }

    /// Keeps a screenshot to look at, in `tmp/viewer` of the target folder.
    pub fn picture(&mut self, name: &str) {
        let data = self.call("Page.captureScreenshot", json!({"format": "png"}));
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("viewer");
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join(format!("{name}.png")), unbase64(data["data"].as_str().unwrap())).unwrap();
    }

    /// The errors of the page (exceptions, `console.error`, what the browser logs), and the addresses it requested.
    pub fn complaints(&mut self) -> (Vec<String>, Vec<String>) {
        self.eval("0"); // a round trip: all earlier events have arrived
        let (mut errors, mut addresses) = (vec![], vec![]);
        for event in self.browser.events.remove(&self.session).unwrap_or_default() {
            let p = &event["params"];
            match event["method"].as_str().unwrap_or("") {
                "Runtime.exceptionThrown" => errors.push(p["exceptionDetails"].to_string()),
                "Runtime.consoleAPICalled" if ["error", "warning", "assert"].iter().any(|t| p["type"] == *t) => {
                    errors.push(p["args"].to_string())
                }
                "Log.entryAdded" if p["entry"]["level"] == "error" => errors.push(p["entry"].to_string()),
                "Network.requestWillBeSent" => addresses.push(p["request"]["url"].as_str().unwrap_or("").to_string()),
                _ => {}
            }
        }
        (errors, addresses)
    }

    /// Asserts that there were no errors, and no requests but to `base`.
    pub fn quiet(&mut self, base: &str) {
        let (errors, addresses) = self.complaints();
        // software rendering warns that it is slow
        let errors: Vec<_> =
            errors.iter().filter(|e| !e.contains("GPU stall") && !e.contains("GL Driver Message")).collect();
        assert!(errors.is_empty(), "{errors:#?}");
        for a in addresses {
            assert!(a.starts_with(base) || a.starts_with("data:") || a.starts_with("blob:"), "{a}");
        }
    }

    pub fn close(self) {
        let context = self.context.clone();
        self.browser.call(None, "Target.disposeBrowserContext", json!({"browserContextId": context}));
    }
}

pub fn unbase64(text: &str) -> Vec<u8> {
    let value = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let (mut out, mut word, mut bits) = (Vec::new(), 0u32, 0);
    for c in text.bytes().filter(|c| *c != b'=') {
        word = word << 6 | u32::from(value(c));
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push((word >> bits) as u8);
        }
    }
    out
}
