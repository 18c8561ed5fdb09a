//! A browser without a screen, driven over a pipe with the DevTools protocol: pages, expressions, keys.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A browser with one page; it ends with the value.
pub(super) struct Browser {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    asked: u64,
    session: Option<String>,
    profile: PathBuf,
}

impl Browser {
    /// Starts one; `None` where no `chromium` is installed.
    pub(super) fn start(test: &str) -> Option<Browser> {
        let there =
            Command::new("chromium").arg("--version").output().is_ok_and(|output| output.status.success());
        if !there {
            super::skipped(test, "no chromium is installed");
            return None;
        }
        let profile = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}-{}", std::process::id()));
        // The protocol runs over the descriptors 3 and 4. The time limit ends a browser that hangs; reading fails then.
        let line = "exec timeout 120 chromium --headless --no-sandbox --disable-gpu --no-first-run \
                    --remote-debugging-pipe --user-data-dir=\"$0\" 3<&0 4>&1 >/dev/null 2>/dev/null </dev/null";
        let mut child = Command::new("sh")
            .args(["-c", line])
            .arg(&profile)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (to, from) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut browser = Browser { child, to, from, asked: 0, session: None, profile };
        let target = browser.call("Target.createTarget", &json!({"url": "about:blank"}));
        let attached =
            browser.call("Target.attachToTarget", &json!({"targetId": target["targetId"], "flatten": true}));
        browser.session = Some(attached["sessionId"].as_str().unwrap().to_owned());
        browser.call("Page.enable", &json!({}));
        Some(browser)
    }

    /// Opens a page that is written to a file first, and waits until it has loaded.
    pub(super) fn open(&mut self, name: &str, page: &str, fragment: &str) {
        let path = self.profile.join(format!("{name}.html"));
        std::fs::write(&path, page).unwrap();
        // The same file with another fragment alone would not load again.
        self.call("Page.navigate", &json!({"url": "about:blank"}));
        let seen =
            self.call("Page.navigate", &json!({"url": format!("file://{}{fragment}", path.display())}));
        assert_eq!(seen.get("errorText"), None);
        let loaded = "new Promise((done) => document.readyState === 'complete' && location.protocol === 'file:' ? done(1) \
                      : addEventListener('load', () => done(1)))";
        assert_eq!(self.value(loaded), 1);
    }

    /// The value of an expression; a promise is waited for.
    pub(super) fn value(&mut self, expression: &str) -> Value {
        let asked = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let said = self.call("Runtime.evaluate", &asked);
        assert_eq!(said.get("exceptionDetails"), None, "{expression}");
        said["result"].get("value").cloned().unwrap_or_default()
    }

    /// Presses a key and lets it go.
    pub(super) fn press(&mut self, key: &str, code: u64) {
        for kind in ["keyDown", "keyUp"] {
            let event = json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code});
            self.call("Input.dispatchKeyEvent", &event);
        }
    }

    /// The page as it stands, in the reader's words.
    pub(super) fn dump(&mut self) -> String {
        let html = self.value("document.documentElement.outerHTML");
        format!("<!doctype html>\n{}", html.as_str().unwrap())
    }

    fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.asked += 1;
        let mut message = json!({"id": self.asked, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        self.to.write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            let mut octets = Vec::new();
            self.from.read_until(0, &mut octets).unwrap();
            assert_eq!(octets.pop(), Some(0), "the browser has ended");
            let said: Value = serde_json::from_slice(&octets).unwrap();
            if said["id"] == self.asked {
                assert_eq!(said.get("error"), None, "{method}");
                return said["result"].clone();
            }
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.session = None;
        // It closes itself and its helpers; if it cannot, its time limit does.
        let _ = self.to.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.profile);
    }
}
