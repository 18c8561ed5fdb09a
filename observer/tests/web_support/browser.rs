//! Chromium without a window, spoken to in the DevTools protocol over its pipe: messages of JSON, each ended by a zero.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Where it may be.
const NAMES: &[&str] = &["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

pub(crate) struct Browser {
    child: Child,
    out: ChildStdin,
    back: BufReader<ChildStdout>,
    number: u64,
    session: Option<String>,
    events: Vec<Value>,
    _profile: tempfile::TempDir,
}

/// The browser's file; `None`, said on standard error, when there is none.
pub(crate) fn found(test: &str) -> Option<PathBuf> {
    let path = NAMES.iter().map(PathBuf::from).find(|path| path.exists());
    if path.is_none() {
        let _ = writeln!(std::io::stderr(), "SKIPPED {test}: no chromium here (apt-get install chromium)");
    }
    path
}

impl Browser {
    pub(crate) fn start(path: &std::path::Path) -> Browser {
        Browser::start_with(path, &[])
    }

    /// One that reaches no address: names are not found, and every connection goes to a proxy that is not there.
    pub(crate) fn start_offline(path: &std::path::Path) -> Browser {
        let proxy = ["--proxy-server=127.0.0.1:9", "--proxy-bypass-list=<-loopback>"];
        Browser::start_with(path, &[&proxy[..], &["--host-resolver-rules=MAP * ~NOTFOUND"]].concat())
    }

    fn start_with(path: &std::path::Path, more: &[&str]) -> Browser {
        let profile = tempfile::tempdir().unwrap();
        // The pipe is read at descriptor 3 and written at 4.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null 2>/dev/null", "sh"])
            .arg(path)
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars"])
            .args(["--disable-background-networking", "--disable-dev-shm-usage", "--remote-debugging-pipe"])
            .args(["--disable-quic", "--disable-component-update", "--disable-sync"])
            .args(more)
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (out, back) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut browser =
            Browser { child, out, back, number: 0, session: None, events: Vec::new(), _profile: profile };
        let target = browser.ask("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = browser.ask("Target.attachToTarget", attach);
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Network", "Log"] {
            browser.ask(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// Calls a method and waits for its result; events on the way are kept.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        self.number += 1;
        let mut message = json!({ "id": self.number, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.out.write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            let answer = self.read();
            if answer["id"] == self.number {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    fn read(&mut self) -> Value {
        let mut octets = Vec::new();
        self.back.read_until(0, &mut octets).unwrap();
        assert_eq!(octets.pop(), Some(0), "the browser ended");
        serde_json::from_slice(&octets).unwrap()
    }

    /// Opens a page and waits until it is loaded.
    pub(crate) fn open(&mut self, url: &str) {
        self.events.clear();
        self.ask("Page.navigate", json!({ "url": url }));
        while !self.events.iter().any(|e| e["method"] == "Page.loadEventFired") {
            let event = self.read();
            self.events.push(event);
        }
    }

    /// The value of an expression in the page; promises are waited for.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let params = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let result = self.ask("Runtime.evaluate", params);
        assert!(result["exceptionDetails"].is_null(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// Waits until the page itself sees the condition come true.
    pub(crate) fn until(&mut self, condition: &str) {
        self.value(&format!(
            "new Promise(done => {{ const look = () => {{ if ({condition}) done(true); }}; look(); \
             new MutationObserver(look).observe(document, {{ subtree: true, childList: true, characterData: true, \
             attributes: true }}); }})"
        ));
    }

    pub(crate) fn screen(&mut self, width: u32, height: u32, scheme: &str) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.ask("Emulation.setDeviceMetricsOverride", size);
        let scheme = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        let features = json!({ "media": "", "features": scheme });
        self.ask("Emulation.setEmulatedMedia", features);
    }

    /// The look on paper, of a sheet as wide as that.
    pub(crate) fn paper(&mut self, width: u32) {
        self.screen(width, 1000, "light");
        self.ask("Emulation.setEmulatedMedia", json!({ "media": "print" }));
    }

    /// The page as a PDF.
    pub(crate) fn printed(&mut self) -> Vec<u8> {
        use base64::Engine as _;
        let result = self.ask("Page.printToPDF", json!({ "paperWidth": 8.27, "paperHeight": 11.69 }));
        base64::engine::general_purpose::STANDARD.decode(result["data"].as_str().unwrap()).unwrap()
    }

    /// A picture of the whole page as PNG.
    pub(crate) fn picture(&mut self) -> Vec<u8> {
        use base64::Engine as _;
        let result =
            self.ask("Page.captureScreenshot", json!({ "format": "png", "captureBeyondViewport": true }));
        base64::engine::general_purpose::STANDARD.decode(result["data"].as_str().unwrap()).unwrap()
    }

    /// Addresses the page asked for so far.
    pub(crate) fn requests(&self) -> Vec<String> {
        let sent = self.events.iter().filter(|e| e["method"] == "Network.requestWillBeSent");
        sent.map(|e| e["params"]["request"]["url"].as_str().unwrap().to_owned()).collect()
    }

    /// Everything the page or the browser said of it so far, whatever its level.
    pub(crate) fn said(&self) -> Vec<String> {
        let spoken = ["Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"];
        let is = |e: &&Value| e["method"].as_str().is_some_and(|method| spoken.contains(&method));
        self.events.iter().filter(is).map(|e| format!("{} {}", e["method"], e["params"])).collect()
    }

    /// Exceptions, errors and warnings of the page so far.
    pub(crate) fn complaints(&self) -> Vec<&Value> {
        let is = |e: &&Value| match e["method"].as_str() {
            Some("Runtime.exceptionThrown") => true,
            Some("Runtime.consoleAPICalled") => e["params"]["type"] == "error",
            Some("Log.entryAdded") => e["params"]["entry"]["level"] == "error",
            _ => false,
        };
        self.events.iter().filter(is).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.session = None;
        let _ = self.out.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        let _ = self.child.wait();
    }
}
