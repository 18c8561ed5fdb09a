//! `wireproof matrix run --until-bound` against the simulated device as a process of its own over loopback: soaks that pass,
//! that find a loss, that are killed and stopped and go on.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

mod device_process;

use device_process::{Running, TOKEN, Web, binary, memory, port, token};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};

/// Records of the device's ring, and its octets.
const RECORDS: u64 = 65_536;
const RING_OCTETS: u64 = 4_096 + 48 * RECORDS;

/// A device that sends one stream, and a folder for its bench.
struct Bench {
    folder: tempfile::TempDir,
    web: Web,
    port: u16,
    _device: Running,
}

impl Bench {
    fn new(more: &[&str]) -> Bench {
        let folder = memory();
        token(folder.path());
        let port = port("127.0.0.1");
        let output = "[[output]]\nname = \"pole\"\nprotocol = \"sacn\"\noctets = 2048\nchunk = 512\n";
        fs::write(folder.path().join("device.toml"), format!("{output}to = \"127.0.0.1:{port}\"\n")).unwrap();
        let records = RECORDS.to_string();
        let arguments = ["device", "--rig", "device.toml", "--ring", "ring", "--http", "127.0.0.1:0"];
        let rest =
            ["--control", "control", "--token-file", "token", "--records", &records, "--format", "json"];
        // Beside other work on this host an idle service would not answer within an arm.
        let all = [&arguments[..], &rest, &["--http-normal-priority"], more].concat();
        let device = Running::until(folder.path(), &all, "the ring is at http://");
        let web = Web::of(&device);
        web.until(|status| status["engine"]["frames"].as_u64() > Some(30));
        let bench = Bench { folder, web, port, _device: device };
        bench.plan("1s");
        bench
    }

    /// Writes a plan of short windows with a factor that has to be set and put back.
    fn plan(&self, measure: &str) {
        let text = format!(
            r#"
schema = 1
name = "soak"
target = {{ base_url = "http://{web}", auth = "env:DEVICE_TOKEN", require = {{ devices = 1 }} }}
stream = [{{ id = "sacn", protocol = "sacn", listen = "127.0.0.1:{port}", source = "127.0.0.1", universes = "1-4" }}]
factor = [
    {{ name = "drain", levels = ["idle", "raw"], role = "treatment" }},
    {{ name = "preview", levels = ["on"], role = "fixed" }},
]
design = {{ blocks = 6, seed = 42 }}
timing = {{ warmup = "1s", settle = "500ms", measure = "{measure}", guard = "50ms" }}
drain = {{ url = "/v1/ring/raw", offsets = ["300ms"], tail = "50ms", timeout = "3s", expect_bytes = {RING_OCTETS} }}
validity = {{ fps_tolerance = "60%", min_hold = "100ms" }}
evidence = {{ min_free = "1MiB" }}

[[toggle]]
factor = "preview"
set = {{ http = "POST", path = "/v1/preview?fps={{level}}", words = {{ on = "30", off = "0" }} }}
verify = {{ http = "GET", path = "/v1/status", pointer = "/preview_streaming", equals = {{ on = true, off = false }} }}

[[gate]]
id = "lost"
metric = "wire.lost"
min_trials = 100
"#,
            web = self.web.0,
            port = self.port,
        );
        fs::write(self.folder.path().join("plan.toml"), text).unwrap();
    }

    fn soak(&self, more: &[&str]) -> Matrix {
        let arguments = [&["run", "plan.toml", "--until-bound", "1e-2"], more].concat();
        Matrix::start(self.folder.path(), &arguments)
    }

    fn outcome(&self, arguments: &[&str]) -> (i32, String, String) {
        Matrix::start(self.folder.path(), arguments).ended()
    }

    /// The only bundle.
    fn bundle(&self) -> PathBuf {
        let list = fs::read_dir(self.folder.path().join("evidence")).unwrap();
        let found: Vec<PathBuf> = list.map(|entry| entry.unwrap().path()).collect();
        assert_eq!(found.len(), 1, "{found:?}");
        found[0].clone()
    }

    /// Checks the bundle; what was said.
    fn verified(&self, bundle: &Path) -> String {
        let (code, out, said) = self.outcome(&["verify", bundle.to_str().unwrap()]);
        assert!(code == 0 && !out.contains("DIFFERS"), "{code} {out}{said}");
        out
    }

    fn preview(&self) -> Value {
        self.web.status()["preview_streaming"].clone()
    }
}

/// A bench as a process.
struct Matrix {
    child: Child,
    talk: BufReader<ChildStderr>,
    said: String,
}

impl Matrix {
    fn start(folder: &Path, arguments: &[&str]) -> Matrix {
        let mut command = Command::new(binary());
        command.current_dir(folder).env_clear().env("HOME", folder).env("TMPDIR", folder);
        command.env("DEVICE_TOKEN", TOKEN).arg("matrix").args(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let talk = BufReader::new(child.stderr.take().unwrap());
        Matrix { child, talk, said: String::new() }
    }

    /// Waits for a line of its talk.
    fn until(&mut self, word: &str) {
        let mut line = String::new();
        while !line.contains(word) {
            line.clear();
            assert!(self.talk.read_line(&mut line).unwrap() > 0, "no {word}: {}", self.said);
            self.said.push_str(&line);
        }
    }

    fn signal(&self, name: &str) {
        let status = Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    /// Exit code (of a signal: negative), standard output and everything said.
    fn ended(mut self) -> (i32, String, String) {
        let mut out = String::new();
        let (talk, mut stdout) = (&mut self.talk, self.child.stdout.take().unwrap());
        let rest = std::thread::scope(|scope| {
            let rest = scope.spawn(move || {
                let mut rest = String::new();
                talk.read_to_string(&mut rest).unwrap();
                rest
            });
            stdout.read_to_string(&mut out).unwrap();
            rest.join().unwrap()
        });
        self.said.push_str(&rest);
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        (code, out, std::mem::take(&mut self.said))
    }
}

impl Drop for Matrix {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn verdict(bundle: &Path) -> Value {
    serde_json::from_slice(&fs::read(bundle.join("verdict.json")).unwrap()).unwrap()
}

/// Files of every arm's folder, by name.
fn folders(bundle: &Path) -> Vec<(String, BTreeSet<String>)> {
    let names = |dir: &Path| {
        let list = fs::read_dir(dir).unwrap();
        list.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect::<BTreeSet<String>>()
    };
    let arms = bundle.join("arms");
    names(&arms).into_iter().map(|name| (name.clone(), names(&arms.join(&name)))).collect()
}

#[test]
fn a_clean_soak_passes_with_its_bound_on_a_bounded_disk_and_its_bundle_verifies() {
    let bench = Bench::new(&[]);
    let (code, out, said) = bench.soak(&["--format", "json"]).ended();
    let bundle = bench.bundle();
    let (document, soak) = (verdict(&bundle), verdict(&bundle)["soak"].clone());
    assert_eq!((code, document["verdict"].as_str()), (0, Some("pass")), "{said}{out}");
    assert_eq!(serde_json::from_str::<Value>(&out).unwrap(), document);
    assert_eq!(
        (&soak["trials_needed"], &soak["events"], &soak["ended"]),
        (&299.into(), &0.into(), &"shown".into())
    );
    let (trials, one_in) = (soak["trials"].as_u64().unwrap(), soak["one_in"].as_u64().unwrap());
    assert!(trials >= 299 && one_in >= 100 && soak["upper_ppb"].as_u64() <= Some(10_000_000), "{soak}");
    let reason = document["reasons"][0].as_str().unwrap();
    assert!(reason.contains(&format!("0 of {trials}: at most 1 in {one_in} with 95 %")), "{reason}");
    assert!(said.contains("frames, bound ") && said.contains(" left"), "{said}");
    assert_eq!(bench.preview(), false, "put back");

    let (chunks, dropped) = (soak["chunks"].as_u64().unwrap(), soak["chunks_dropped"].as_u64().unwrap());
    let folders = folders(&bundle);
    assert!(chunks >= 5 && dropped == chunks - 2 - soak["chunks_invalid"].as_u64().unwrap(), "{soak}");
    let bare = folders.iter().filter(|(_, files)| files.iter().eq(["wire.csv"])).count();
    let whole = folders.iter().filter(|(_, files)| files.contains("ring.raw")).count();
    assert_eq!((bare as u64, (bare + whole) as u64), (dropped, chunks), "{folders:?}");
    let status =
        Command::new("sha256sum").args(["-c", "--quiet", "manifest.sha256"]).current_dir(&bundle).status();
    assert!(status.unwrap().success(), "the manifest is that of what is there");
    let said = bench.verified(&bundle);
    assert!(
        said.contains("only totals are kept") && said.contains("their totals are those of their arms"),
        "{said}"
    );
    for (file, word) in [("report.md", "Soak"), ("report.html", "Soak"), ("junit.xml", "name=\"soak\"")] {
        assert!(fs::read_to_string(bundle.join(file)).unwrap().contains(word), "{file}");
    }
    let name = bundle.to_str().unwrap();
    assert_eq!(bench.outcome(&["judge", name]).0, 0);
    let (code, _, said) = bench.outcome(&["resume", name]);
    assert!(code == 2 && said.contains("sealed"), "{code} {said}");
    let bare = folders.iter().find(|(_, files)| files.len() == 1).unwrap();
    fs::remove_file(bundle.join("arms").join(&bare.0).join("wire.csv")).unwrap();
    let (code, _, said) = bench.outcome(&["verify", name]);
    assert!(code == 7 && said.contains("wire.csv: missing"), "{code} {said}");
}

#[test]
fn a_loss_behind_the_device_fails_the_soak_and_is_the_wires() {
    // Settling waits for two seconds without a gap: the next one falls into the window, even with a third fewer frames.
    let bench = Bench::new(&["--fault", "drop:every=200"]);
    bench.plan("3s");
    let (code, out, said) = bench.soak(&[]).ended();
    let bundle = bench.bundle();
    let document = verdict(&bundle);
    assert_eq!((code, document["verdict"].as_str()), (1, Some("fail")), "{said}{out}");
    let soak = &document["soak"];
    assert!(soak["ended"] == "event" && soak["events"].as_u64() > Some(0), "{soak}");
    assert!(document["reasons"][1].as_str().unwrap().contains("owner: wire"), "{}", document["reasons"]);
    assert!(out.contains("owner: wire") && out.contains("FAIL"), "{out}");
    let last = folders(&bundle).pop().unwrap();
    assert!(last.1.contains("wire.tape") && last.1.contains("ring.raw"), "{last:?}");
    assert!(fs::read_to_string(bundle.join("junit.xml")).unwrap().contains("<failure"));
    bench.verified(&bundle);
}

#[test]
fn a_killed_soak_goes_on_with_what_it_counted() {
    let bench = Bench::new(&[]);
    let mut matrix = bench.soak(&[]);
    matrix.until("window 4  measure");
    matrix.signal("-KILL");
    assert_eq!(matrix.ended().0, -1);
    assert_eq!(bench.preview(), true, "nobody put it back");
    let bundle = bench.bundle();
    let (code, out, said) = bench.outcome(&["resume", bundle.to_str().unwrap()]);
    let document = verdict(&bundle);
    assert_eq!((code, document["verdict"].as_str()), (0, Some("pass")), "{said}{out}");
    assert_eq!((&document["resumes"], &document["soak"]["ended"]), (&1.into(), &"shown".into()));
    let windows = document["soak"]["chunks"].as_u64().unwrap();
    let begun = said.matches("  measure").count() as u64;
    assert_eq!(windows, 3 + begun, "three were counted before: {said}");
    assert_eq!(bench.preview(), false);
    bench.verified(&bundle);
}

#[test]
fn ctrl_c_leaves_a_soak_partial_and_open_and_it_goes_on_to_its_end() {
    let bench = Bench::new(&[]);
    let mut matrix = bench.soak(&[]);
    matrix.until("window 3  measure");
    matrix.signal("-INT");
    let (code, out, said) = matrix.ended();
    let bundle = bench.bundle();
    assert_eq!((code, verdict(&bundle)["verdict"].as_str()), (5, Some("partial")), "{said}{out}");
    assert!(said.contains("it goes on with: wireproof matrix resume "), "{said}");
    assert_eq!(bench.preview(), false, "put back");
    assert!(bench.verified(&bundle).contains("not sealed"));
    let (code, out, said) = bench.outcome(&["resume", bundle.to_str().unwrap()]);
    assert_eq!((code, verdict(&bundle)["verdict"].as_str()), (0, Some("pass")), "{said}{out}");
    assert!(bench.verified(&bundle).contains("manifest: sealed"));
}

#[test]
fn a_rate_that_is_none_and_a_plan_that_cannot_be_soaked_send_nothing() {
    let bench = Bench::new(&[]);
    let before = bench.web.status()["service"]["counters"]["requests"].as_u64().unwrap();
    for (rate, more, why) in [
        ("often", "wire.lost", "'often' is no rate: write it like 1e-5"),
        ("1e-9", "wire.lost", "make timing.measure "),
        ("1e-2", "frame.p95", "'frame.p95' is nothing that a soak counts"),
    ] {
        let arguments = ["run", "plan.toml", "--until-bound", rate, "--metric", more];
        let (code, out, said) = bench.outcome(&arguments);
        assert!(code == 2 && said.lines().count() == 1 && said.contains(why), "{code} {said}{out}");
    }
    let after = bench.web.status()["service"]["counters"]["requests"].as_u64().unwrap();
    assert_eq!(after, before + 1, "only this test's own question");
    assert!(!bench.folder.path().join("evidence").exists());
}

/// Without renewing, the preview would be off after the lease, and every window behind that invalid.
#[test]
fn a_lease_of_the_device_is_renewed_before_each_window_for_longer_than_it_lasts() {
    const LEASE_MS: u64 = 21_000;
    let bench = Bench::new(&[]);
    let plan = bench.folder.path().join("plan.toml");
    let text = fs::read_to_string(&plan).unwrap();
    let text = text.replace("fps={level}", "fps={level}&lease_ms={lease_ms}");
    let text = text.replace("guard = \"50ms\"", "guard = \"50ms\", arm_deadline = \"10s\"");
    fs::write(&plan, text.replace("factor = \"preview\"\n", "factor = \"preview\"\nlease = \"21s\"\n"))
        .unwrap();
    let mut matrix = Matrix::start(
        bench.folder.path(),
        &["run", "plan.toml", "--until-bound", "5e-3", "--format", "json"],
    );
    matrix.until("window 2  measure");
    let left = bench.web.status()["leases"]["preview_ms"].as_u64();
    assert!(left.is_some_and(|left| left <= LEASE_MS), "{left:?}");
    let (code, out, said) = matrix.ended();
    let document = verdict(&bench.bundle());
    assert_eq!((code, document["verdict"].as_str()), (0, Some("pass")), "{said}{out}");
    assert_eq!(document["validity"]["reasons"]["toggle_drifted"], Value::Null, "{}", document["validity"]);
    let journal = fs::read_to_string(bench.bundle().join("journal.log")).unwrap();
    let times: Vec<u64> = journal.lines().map(at_ns).collect();
    assert!(times[times.len() - 1] - times[0] > LEASE_MS * 1_000_000, "it went on for longer than the lease");
    let renewed = journal.matches("preview, for its lease").count() as u64;
    assert_eq!(renewed, document["soak"]["chunks"].as_u64().unwrap(), "before each window");
}

fn at_ns(line: &str) -> u64 {
    let json: Value = serde_json::from_str(&line[65..]).unwrap();
    json["at_ns"].as_u64().unwrap()
}
