//! What lies in the bundle of a real run beside what is judged: causes, histograms, captures, and a tap's own tape.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

mod device_process;
#[allow(dead_code, reason = "each test file uses its own part")]
mod live_support;
mod matrix_bench;

use device_process::binary;
use matrix_bench::{Bench, verdict};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use wireproof::capture::read_records_path;
use wireproof::live::tap::{TapFilter, TapOptions};
use wireproof::matrix::bundle::read_wire;
use wireproof::matrix::hlog;
use wireproof_reports::tape::{Decoder, Event};

/// An address that no loopback has.
const ADDRESS: &str = "192.168.77.1";
/// Octets in front of the payload of a captured datagram: Ethernet, IPv4, UDP.
const HEADERS: usize = 42;
/// Payload octets kept in a capture of headers.
const KEPT: usize = 128;

fn with_pcap(bench: &Bench, how: &str) {
    let path = bench.plan("2s", 2, "on");
    let text = fs::read_to_string(&path).unwrap().replace("pcap = \"none\"", &format!("pcap = \"{how}\""));
    fs::write(path, text).unwrap();
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Folders of the arms that count.
fn counted(bundle: &Path) -> Vec<PathBuf> {
    let verdict = verdict(bundle);
    let arms = verdict["arms"].as_array().unwrap().iter().filter(|arm| arm["counted"] == true);
    arms.map(|arm| bundle.join("arms").join(arm["name"].as_str().unwrap())).collect()
}

/// What `wireproof analyze` says of a file.
fn analyzed(path: &Path) -> Value {
    let out = Command::new(binary()).args(["analyze", "--format", "json"]).arg(path).output().unwrap();
    serde_json::from_slice(&out.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&out.stderr)))
}

/// Datagrams of the window by port, and the lengths of every record: captured and on the wire.
fn captured(path: &Path, window: &Value) -> (BTreeMap<u16, u64>, Vec<(usize, usize)>) {
    let (from, to) = (window["start_ns"].as_i64().unwrap(), window["end_ns"].as_i64().unwrap());
    let (mut ports, mut lengths) = (BTreeMap::new(), Vec::new());
    let report = read_records_path(path, &mut |record| {
        lengths.push((record.data.len(), record.original_length as usize));
        let port = u16::from_be_bytes([record.data[36], record.data[37]]);
        *ports.entry(port).or_default() += u64::from((from..to).contains(&record.at.0));
    });
    assert_eq!(report.unwrap().damaged, None);
    (ports, lengths)
}

/// The capture of an arm holds what its tape and its table of streams hold.
fn check_capture(bench: &Bench, arm: &Path) -> Vec<(usize, usize)> {
    let (capture, tape) = (analyzed(&arm.join("capture.pcapng")), analyzed(&arm.join("wire.tape")));
    assert_eq!(capture["datagrams"]["by_kind"], tape["datagrams"]["by_kind"], "{}", arm.display());
    assert_eq!(capture["datagrams"]["lighting"], tape["datagrams"]["lighting"]);
    let lost = |summary: &Value| -> Vec<Value> {
        summary["streams"].as_array().unwrap().iter().map(|s| s["sequence"]["lost"].clone()).collect()
    };
    assert_eq!(lost(&capture), lost(&tape));
    let (ports, lengths) =
        captured(&arm.join("capture.pcapng"), &json(&arm.join("arm.json"))["measured"]["window"]);
    let table = read_wire(&fs::read(arm.join("wire.csv")).unwrap()).unwrap();
    let [big, sacn] = [0, 1].map(|at: usize| table[at].datagrams);
    assert!(big > 100 && sacn > 100, "{table:?}");
    assert_eq!(ports, BTreeMap::from([(bench.ports[0], big), (bench.ports[1], sacn)]));
    let noted = json(&arm.join("noted.json"));
    assert_eq!(noted["capture"]["records"], lengths.len());
    assert_eq!(noted["capture"]["left_out"], 0);
    lengths
}

fn verified(bench: &Bench, bundle: &Path) {
    let (code, out, said) = bench.outcome(&["verify", bundle.to_str().unwrap()]);
    assert_eq!(code, 0, "{out}{said}");
    assert!(out.contains("arms measure the same again") && !out.contains("DIFFERS"), "{out}");
}

#[test]
fn a_run_keeps_causes_histograms_and_a_capture_of_headers_that_all_agree_with_what_is_judged() {
    let bench = Bench::new(&[]);
    with_pcap(&bench, "headers");
    let (code, out, said) = bench.outcome(&["run", "plan.toml"]);
    let bundle = bench.bundle();
    assert!(matches!(code, 0 | 3), "{code} {said}{out}");
    let (mut frames, mut arms) = (BTreeMap::<bool, u64>::new(), 0);
    for arm in counted(&bundle) {
        arms += 1;
        let lengths = check_capture(&bench, &arm);
        assert!(lengths.iter().all(|(kept, whole)| *kept == (*whole).min(HEADERS + KEPT)), "{lengths:?}");
        assert!(lengths.iter().any(|(kept, whole)| kept < whole));
        let measured = &json(&arm.join("arm.json"))["measured"];
        let logs = hlog::read(&fs::read(arm.join("hdr.hlog")).unwrap()).unwrap();
        let tags: Vec<&str> = logs.iter().map(|log| log.tag.as_str()).collect();
        assert_eq!(tags, ["frame", "wire:big", "wire:sacn"]);
        for (log, stream) in logs[1..].iter().zip(measured["streams"].as_array().unwrap()) {
            assert_eq!(log.histogram.len(), stream["frames"].as_u64().unwrap() - 1);
            let (p50, exact) =
                (log.histogram.value_at_quantile(0.5), stream["jitter_ns"][0].as_u64().unwrap());
            assert!(p50.abs_diff(exact) * 500 < exact, "three digits: {p50} {exact}");
        }
        let causes = json(&arm.join("causes.json"));
        let counts = &causes["counts"];
        assert_eq!(counts["frames"], logs[0].histogram.len(), "the frames whose times are judged");
        let by = ["by_events", "by_refresh", "by_other"].map(|key| counts[key].as_u64().unwrap());
        assert_eq!(counts["frames"], by.iter().sum::<u64>());
        assert_eq!(causes["unrecorded"], 0, "the device writes a cause for every frame: {causes}");
        *frames.entry(arm.to_str().unwrap().contains("-raw-")).or_default() +=
            counts["frames"].as_u64().unwrap();
    }
    assert_eq!(arms, 4);
    let report = fs::read_to_string(bundle.join("report.md")).unwrap();
    let section = report.split("## Causes of frames").nth(1).unwrap().split("\n## ").next().unwrap();
    for (name, is_raw) in [("| idle ", false), ("| raw ", true)] {
        let row = section.lines().find(|line| line.starts_with(name)).unwrap();
        assert_eq!(row.split('|').nth(2).unwrap().trim(), frames[&is_raw].to_string(), "{section}");
    }
    assert!(fs::read_to_string(bundle.join("report.html")).unwrap().contains("<h2>Causes of frames</h2>"));
    let manifest = fs::read_to_string(bundle.join("manifest.sha256")).unwrap();
    for name in ["capture.pcapng", "hdr.hlog", "causes.json"] {
        assert_eq!(manifest.lines().filter(|line| line.ends_with(name)).count(), 4, "{name}: {manifest}");
    }
    verified(&bench, &bundle);
}

/// Datagrams of the window on the tape of a tap, by port; each once.
fn heard(tape: &[u8], window: &Value) -> BTreeMap<u16, u64> {
    let (from, to) = (window["start_ns"].as_i64().unwrap(), window["end_ns"].as_i64().unwrap());
    let mut ports = BTreeMap::new();
    let mut each = |event: Event<'_>| {
        if let Event::Datagram(arrival, d, noted, _) = event {
            let counts = !noted.copy && (from..to).contains(&arrival.at.0);
            *ports.entry(d.destination.port()).or_default() += u64::from(counts);
        }
    };
    let mut decoder = Decoder::default();
    decoder.feed(tape, &mut each);
    assert_eq!(decoder.finish(&mut each).damaged, None);
    ports
}

/// May this process listen on an interface?
fn may_tap(test: &str) -> bool {
    let options = TapOptions::new("lo", TapFilter::Ports(vec![9]));
    match wireproof::live::ring::RingSource::open(&options) {
        Ok(_) => true,
        Err(error) => {
            live_support::skipped(test, &error.to_string());
            false
        }
    }
}

#[test]
fn a_full_capture_and_a_tap_hold_the_datagrams_of_the_sockets() {
    let may_tap = may_tap("a_full_capture_and_a_tap_hold_the_datagrams_of_the_sockets (its tap)");
    let bench = Bench::new(&[]);
    with_pcap(&bench, "full");
    let arguments: &[&str] =
        if may_tap { &["run", "plan.toml", "--tap", "lo"] } else { &["run", "plan.toml"] };
    let (code, out, said) = bench.outcome(arguments);
    let bundle = bench.bundle();
    assert!(matches!(code, 0 | 3), "{code} {said}{out}");
    let arms = counted(&bundle);
    assert_eq!(arms.len(), 4);
    for arm in arms {
        let lengths = check_capture(&bench, &arm);
        assert!(lengths.iter().all(|(kept, whole)| kept == whole));
        let noted = json(&arm.join("noted.json"));
        assert_eq!(noted["tap"].is_object(), may_tap);
        if !may_tap {
            continue;
        }
        assert_eq!(noted["tap"], serde_json::json!({"dropped": 0, "left_out": 0, "ended": null}));
        let table = read_wire(&fs::read(arm.join("wire.csv")).unwrap()).unwrap();
        let window = &json(&arm.join("arm.json"))["measured"]["window"];
        let heard = heard(&fs::read(arm.join("tap.tape")).unwrap(), window);
        for (stream, port) in table.iter().zip(bench.ports) {
            // A datagram at an edge has two stamps.
            assert!(heard[&port].abs_diff(stream.datagrams) <= 2, "{}: {heard:?}", stream.id);
        }
    }
    verified(&bench, &bundle);
}

/// A user that needs no entry anywhere.
const SOMEBODY: u32 = 54_321;

/// User, permitted and effective capabilities of each thread.
fn rights(process: u32) -> Vec<[String; 3]> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    // A thread may end while it is looked at.
    let texts = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("status")).ok());
    let field = |text: &str, name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        line.split_whitespace().next().unwrap_or_default().to_owned()
    };
    texts.map(|text| ["Uid:", "CapPrm:", "CapEff:"].map(|name| field(&text, name))).collect()
}

#[test]
fn a_run_with_a_tap_goes_on_as_who_called_sudo_with_what_opening_takes() {
    let test = "a_run_with_a_tap_goes_on_as_who_called_sudo_with_what_opening_takes";
    if !may_tap(test) {
        return;
    }
    let bench = Bench::new(&[]);
    let folder = bench.folder.path();
    if let Err(error) = std::os::unix::fs::chown(folder, Some(SOMEBODY), Some(SOMEBODY)) {
        return live_support::skipped(test, &error.to_string());
    }
    with_pcap(&bench, "headers");
    let mut command = Command::new(binary());
    command.args(["matrix", "run", "plan.toml", "--tap", "lo"]).current_dir(folder);
    command.env("DEVICE_TOKEN", device_process::TOKEN).env("HOME", folder);
    command.env("SUDO_UID", SOMEBODY.to_string()).env("SUDO_GID", SOMEBODY.to_string());
    let mut run = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(run.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("bundle: ") {
        assert!(lines.read_line(&mut said).unwrap() > 0, "{said}");
    }
    let rights = rights(run.id());
    lines.read_to_string(&mut said).unwrap();
    let code = run.wait().unwrap().code();
    assert!(matches!(code, Some(0 | 3)), "{code:?}: {said}");
    assert!(said.contains("goes on as user 54321, all other rights are given up but CAP_NET_RAW"), "{said}");
    let kept = if said.contains("CAP_NET_ADMIN") { "0000000000003000" } else { "0000000000002000" };
    assert!(!rights.is_empty(), "{said}");
    for [user, permitted, effective] in rights {
        assert_eq!((user.as_str(), permitted.as_str(), effective.as_str()), ("54321", kept, kept));
    }
    let bundle = bench.bundle();
    for arm in counted(&bundle) {
        assert!(json(&arm.join("noted.json"))["tap"].is_object(), "{}", arm.display());
    }
    let foreign: Vec<PathBuf> =
        files(&bundle).into_iter().filter(|file| fs::metadata(file).unwrap().uid() != SOMEBODY).collect();
    assert!(foreign.is_empty(), "{foreign:?}");
}

#[test]
fn a_tap_without_the_right_is_told_in_one_line_before_anything_is_sent() {
    let test = "a_tap_without_the_right_is_told_in_one_line_before_anything_is_sent";
    let bench = Bench::new(&[]);
    bench.plan("2s", 2, "on");
    let before = bench.web.status()["service"]["counters"]["requests"].as_u64().unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set", "-net_raw", "--inh-caps", "-net_raw"]).arg(binary());
    command.args(["matrix", "run", "plan.toml", "--tap", "lo"]).current_dir(bench.folder.path());
    let out = match command.env("DEVICE_TOKEN", device_process::TOKEN).output() {
        Ok(out) => out,
        Err(error) => return live_support::skipped(test, &format!("setpriv cannot be run ({error})")),
    };
    let said = String::from_utf8_lossy(&out.stderr);
    if said.contains("setpriv:") {
        return live_support::skipped(test, &said);
    }
    let last = said.lines().last().unwrap();
    assert_eq!(out.status.code(), Some(6), "{said}");
    assert!(
        last.contains("--tap lo takes the right CAP_NET_RAW") && last.contains("nothing was sent"),
        "{said}"
    );
    let after = bench.web.status()["service"]["counters"]["requests"].as_u64().unwrap();
    assert_eq!(after, before + 1, "only this test's own question");
    assert!(!bench.folder.path().join("evidence").exists());
}

#[test]
fn a_tap_on_an_interface_that_is_not_there_is_told_before_anything_is_sent() {
    let bench = Bench::new(&[]);
    bench.plan("2s", 2, "on");
    let (code, _, said) = bench.outcome(&["run", "plan.toml", "--tap", "nowhere0"]);
    assert_eq!(code, 6, "{said}");
    assert!(said.lines().last().unwrap().contains("nowhere0"), "{said}");
    assert!(!bench.folder.path().join("evidence").exists());
}

/// Every file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn a_masked_copy_of_a_real_run_holds_no_address_and_no_token_and_can_be_checked() {
    live_support::isolated(
        "a_masked_copy_of_a_real_run_holds_no_address_and_no_token_and_can_be_checked",
        || {
            live_support::ip(&format!("addr add {ADDRESS}/32 dev lo"));
            let bench = Bench::at(ADDRESS, &[]);
            with_pcap(&bench, "headers");
            let plan = bench.folder.path().join("plan.toml");
            let commented = format!(
                "# the pole at {ADDRESS}, ask anna@pi-lab.example\n{}",
                fs::read_to_string(&plan).unwrap()
            );
            fs::write(&plan, commented).unwrap();
            let (code, out, said) = bench.outcome(&["run", "plan.toml", "--anonymize", "--tap", "lo"]);
            assert!(matches!(code, 0 | 3), "{code} {said}{out}");
            let bundle = bench.bundle();
            let copy = PathBuf::from(format!("{}-anonymized", bundle.display()));
            let boot = json(&bundle.join("env.json"))["device"]["boot_id"].as_str().unwrap().to_owned();
            let octets: Vec<u8> = ADDRESS.split('.').map(|part| part.parse().unwrap()).collect();
            let secrets =
                [ADDRESS, "pi-lab.example", "anna", device_process::TOKEN, &boot].map(str::as_bytes);
            let holds = |path: &Path, secret: &[u8]| {
                let all = fs::read(path).unwrap();
                all.windows(secret.len()).any(|window| window == secret)
            };
            assert!(files(&bundle).iter().all(|path| !holds(path, device_process::TOKEN.as_bytes())));
            for secret in [secrets[0], secrets[1], secrets[2], secrets[4], &octets] {
                assert!(files(&bundle).iter().any(|path| holds(path, secret)), "the original has {secret:?}");
            }
            for path in files(&copy) {
                let left = secrets.iter().copied().chain([&octets[..]]).find(|secret| holds(&path, secret));
                assert_eq!(left, None, "{}", path.display());
            }
            for name in ["wire.tape", "tap.tape", "capture.pcapng"] {
                assert!(files(&bundle).iter().any(|path| path.ends_with(name)));
                assert!(files(&copy).iter().all(|path| !path.ends_with(name)), "{name}");
            }
            let (code, out, said) = bench.outcome(&["verify", copy.to_str().unwrap()]);
            assert_eq!(code, 0, "{out}{said}");
            assert!(out.contains("note  a masked copy: ") && out.contains("manifest: sealed"), "{out}");
            assert!(
                out.contains("report.md: the same again") && out.contains("verdict.json: the same again"),
                "{out}"
            );
            let (original, masked) = (verdict(&bundle), verdict(&copy));
            // Four, and what this host spoiled.
            let arms = original["arms"].as_array().unwrap().len();
            let same = format!("{arms} arms measure the same again, as far as clocks, status and rings tell");
            assert!(arms >= 4 && out.contains(&same), "{out}");
            assert_eq!((&original["gates"], &original["verdict"]), (&masked["gates"], &masked["verdict"]));
            assert_eq!(masked["pre_registered"], false);
            verified(&bench, &bundle);
        },
    );
}
