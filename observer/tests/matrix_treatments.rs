//! `wireproof matrix` against treatments that are known to harm, or not, on the simulated device as processes of their own
//! over loopback. Each plan is the reference's own, shortened: 6 blocks of 3 s arms, whose p95 gate lets a harmless
//! treatment pass in two of three runs and finds +1.1 ms in four of five (`matrix check`).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

mod device_process;
mod matrix_bench;

use device_process::Running;
use matrix_bench::{Bench, Matrix, RECORDS, RING_OCTETS, of_gate, verdict};
use serde_json::Value;
use std::fs;

/// The gates, frozen before anything runs.
const LOST: &str = r#"
[[gate]]
id = "lost"
metric = "wire.lost"
kind = "zero"
min_trials = 1000
on_fail = "look at the losses"
"#;
const P95: &str = r#"
[[gate]]
id = "p95"
metric = "frame.p95"
kind = "non-inferiority"
margin = "0.50ms"
min_frames = 100
"#;
const IN_DRAIN: &str = r#"
[[gate]]
id = "in-drain"
metric = "frame.in_drain.p50"
kind = "non-inferiority"
margin = "0.50ms"
min_frames = 10
"#;
/// Downloads that take as long as the field's.
const FIELD: [&str; 2] = ["--raw-time", "150ms"];

/// Downloads of the field's length at instants that no rhythm imitates.
const JITTERED: &str = "offsets = [\"200ms\", \"1300ms\"]\njitter = \"600ms\"\ntimeout = \"2s\"\n";
/// Short ones in long arms, no two of them as far apart as two others, round the arm's 15 s either: a shift that is not
/// next to none lays at most one of them over another.
const SPARSE: &str = "offsets = [\"500ms\", \"2500ms\", \"8500ms\", \"12500ms\"]\njitter = \"300ms\"\n\
                      tail = \"20ms\"\ntimeout = \"2s\"\n";
const PREVIEW: &str = r#"
[[factor]]
name = "preview"
levels = ["off", "on"]
role = "treatment"

[[toggle]]
factor = "preview"
set = { http = "POST", path = "/v1/preview?fps={level}", words = { on = "30", off = "0" } }
verify = { http = "GET", path = "/v1/status", pointer = "/preview_streaming", equals = { on = true, off = false } }
"#;
const RAW: &str = "[[factor]]\nname = \"drain\"\nlevels = [\"idle\", \"raw\"]\nrole = \"treatment\"\n";
const CHROME: &str = "[[factor]]\nname = \"drain\"\nlevels = [\"idle\", \"chrome\"]\nrole = \"treatment\"\n";

/// A plan in the words that differ.
struct Plan {
    factor: &'static str,
    drain: &'static str,
    gates: String,
    blocks: u32,
    measure: &'static str,
    octets: u64,
}

impl Plan {
    fn raw() -> Plan {
        let gates = [LOST, P95, IN_DRAIN].concat();
        Plan { factor: RAW, drain: JITTERED, gates, blocks: 6, measure: "3s", octets: RING_OCTETS }
    }

    /// Two blocks that look for losses only.
    fn losses(drain: &'static str, measure: &'static str) -> Plan {
        Plan { drain, measure, blocks: 2, gates: LOST.to_owned(), ..Plan::raw() }
    }

    fn write(&self, bench: &Bench) {
        let Plan { factor, drain, gates, blocks, measure, octets } = self;
        let ([big, sacn], web) = (bench.ports, &bench.web.0);
        let text = format!(
            r#"
schema = 1
name = "treatments"

[target]
base_url = "http://{web}"
auth = "env:DEVICE_TOKEN"

[[stream]]
id = "big"
protocol = "bigpacket"
listen = "127.0.0.1:{big}"
source = "127.0.0.1"
datagrams_per_frame = 6

[[stream]]
id = "sacn"
protocol = "sacn"
listen = "127.0.0.1:{sacn}"
source = "127.0.0.1"
universes = "1-4"

{factor}
[design]
blocks = {blocks}
seed = 42

[timing]
warmup = "2s"
measure = "{measure}"

[drain]
url = "/v1/ring/raw"
expect_bytes = {octets}
{drain}
{gates}
[validity]
fps_tolerance = "60%"
min_hold = "100ms"

[evidence]
dir = "evidence"
min_free = "1MiB"
"#
        );
        fs::write(bench.folder.path().join("plan.toml"), text).unwrap();
    }

    /// Exit code, verdict and everything said.
    fn run(&self, bench: &Bench) -> (i32, Value, String) {
        self.write(bench);
        ended(bench, bench.matrix(&["run", "plan.toml"]))
    }
}

fn ended(bench: &Bench, matrix: Matrix) -> (i32, Value, String) {
    let (code, out, said) = matrix.ended();
    let text = format!("{said}{out}");
    assert!(bench.folder.path().join("evidence").exists(), "{text}");
    (code, verdict(&bench.bundle()), text)
}

fn counted(verdict: &Value, owner: &str) -> u64 {
    verdict["attribution"]["counted"][owner].as_u64().unwrap()
}

/// Attempts that do not count: their treatment, and why.
fn invalid(verdict: &Value) -> Vec<(String, String)> {
    let arms = verdict["arms"].as_array().unwrap().iter();
    let spoiled = arms.filter(|arm| arm["state"] == "invalid");
    spoiled.map(|arm| (arm["treatment"].as_str().unwrap().to_owned(), arm["reasons"].to_string())).collect()
}

/// The hash of the gates that `freeze` writes.
fn gates_hash(bench: &Bench) -> String {
    let (code, out, said) = bench.outcome(&["freeze", "plan.toml", "-o", "-"]);
    assert_eq!(code, 0, "{said}");
    serde_json::from_str::<Value>(&out).unwrap()["gates_sha256"].as_str().unwrap().to_owned()
}

/// A frame of this device takes as long as the field's, about 5 ms: a conversion that has to have the core takes it from
/// the frame.
#[test]
fn a_conversion_on_the_only_core_of_the_device_fails_the_gates_that_a_plain_download_is_held_to() {
    let bench = Bench::with(RECORDS, Running::on_one_core, &["--load", "8"]);
    let plain = Plan::raw();
    plain.write(&bench);
    let frozen = gates_hash(&bench);
    let drain = "offsets = [\"100ms\"]\njitter = \"100ms\"\ntimeout = \"3700ms\"\n\
                 paths = { chrome = \"/v1/trace.json?frames=300&work=70\" }\n";
    let plan = Plan { factor: CHROME, drain, measure: "4s", ..plain };
    let (code, verdict, said) = plan.run(&bench);
    assert_eq!(gates_hash(&bench), frozen, "the gates are those of the plain download");
    assert_eq!((code, verdict["verdict"].as_str()), (1, Some("fail")), "{said}");
    // Which of the two gates of times fails depends on what else this host does; neither holds.
    assert_eq!((of_gate(&verdict, "lost"), counted(&verdict, "lost")), ("pass", 0), "{said}");
    assert!(["p95", "in-drain"].iter().all(|gate| of_gate(&verdict, gate) != "pass"), "{said}");
}

#[test]
fn two_ms_more_beside_downloads_fail_by_the_frames_beside_downloads() {
    let more = [&FIELD[..], &["--fault", "disturb:us=2000,while=drain"]].concat();
    let bench = Bench::new(&more);
    let (code, verdict, said) = Plan::raw().run(&bench);
    assert_eq!((code, verdict["verdict"].as_str()), (1, Some("fail")), "{said}");
    assert_eq!((of_gate(&verdict, "in-drain"), of_gate(&verdict, "lost")), ("fail", "pass"), "{said}");
}

/// A gate at 95 % may pass up to one run in twenty at its margin, and few at a fifth above it (`error_rates`, in simulated
/// time): what no run here may pass lies beyond what the times of this host vary by.
#[test]
fn more_than_the_margin_in_every_frame_never_passes() {
    let bench = Bench::new(&["--fault", "disturb:us=1500,while=preview"]);
    let plan = Plan { factor: PREVIEW, drain: "", gates: [LOST, P95].concat(), ..Plan::raw() };
    let (code, verdict, said) = plan.run(&bench);
    assert!(matches!(code, 1 | 3), "{said}");
    assert!(matches!(of_gate(&verdict, "p95"), "fail" | "inconclusive"), "{said}");
}

#[test]
fn datagrams_that_are_kept_back_beside_downloads_are_the_senders_and_correlated() {
    let more = ["--raw-time", "50ms", "--fault", "unsent:while=drain"];
    let bench = Bench::new(&more);
    let (code, verdict, said) = Plan::losses(SPARSE, "15s").run(&bench);
    assert_eq!((code, of_gate(&verdict, "lost")), (1, "fail"), "{said}");
    let lost = counted(&verdict, "lost");
    assert!(lost > 0 && counted(&verdict, "sender") == lost, "{said}");
    let laid = &verdict["drops_vs_drains"];
    let p = |test: &str| laid[format!("{test}_p")].as_f64().unwrap();
    assert!(laid["episodes_inside"] == laid["episodes"] && p("binomial") < 0.01, "{laid}");
    // On a slow host a download takes more than a hundredth of its arm: then shifts that small are no proof, and it says so.
    let too_long = laid["text"].as_str().unwrap().contains("longer arms or shorter downloads would tell");
    assert!(laid["correlated"] == !too_long && p("circular_shift") < 0.05, "{laid}");
    println!("shifts: p {}, {} ns of windows", p("circular_shift"), laid["window_exposure_ns"]);
}

#[test]
fn datagrams_that_are_kept_back_at_any_time_fail_and_are_not_correlated() {
    let more = ["--raw-time", "50ms", "--fault", "unsent:rate=0.02"];
    let bench = Bench::new(&more);
    let (code, verdict, said) = Plan::losses(SPARSE, "15s").run(&bench);
    assert_eq!((code, of_gate(&verdict, "lost")), (1, "fail"), "{said}");
    assert_eq!(counted(&verdict, "sender"), counted(&verdict, "lost"), "{said}");
    let laid = &verdict["drops_vs_drains"];
    assert!(laid["episodes"].as_u64() > Some(5) && laid["correlated"] == false, "{laid}");
}

/// The second output goes silent within a window and comes again after it; the other one goes on.
#[test]
fn an_output_that_goes_silent_until_after_the_end_of_a_window_never_passes() {
    let silent = "burst:while=preview,output=pole-b,datagram=0,count=4";
    let bench = Bench::new(&["--fault", silent]);
    Plan::losses(ONE, "5s").write(&bench);
    let mut matrix = bench.matrix(&["run", "plan.toml"]);
    assert!(matrix.until(|line| line.contains("arm 2 of ") && line.contains(" measure ")), "{}", matrix.said);
    assert_eq!(bench.web.post("/v1/preview?fps=30"), 200);
    let frames = |status: &Value| status["engine"]["frames"].as_u64().unwrap();
    let over = frames(&bench.web.status()) + 6 * 60;
    bench.web.until(|status| frames(status) > over);
    assert_eq!(bench.web.post("/v1/preview?fps=0"), 200);
    let (code, verdict, said) = ended(&bench, matrix);
    assert_eq!((code, of_gate(&verdict, "lost")), (1, "fail"), "{said}");
    assert!(counted(&verdict, "lost") > 100, "{said}");
    let bundle = bench.bundle();
    let (code, out, said) = bench.outcome(&["verify", bundle.to_str().unwrap()]);
    assert!(code == 0 && format!("{out}{said}").contains("measure the same again"), "{out}{said}");
}

/// One download within an arm.
const ONE: &str = "offsets = [\"300ms\"]\njitter = \"200ms\"\ntimeout = \"2s\"\n";

#[test]
fn an_arm_in_which_the_device_reboots_is_repeated() {
    let bench = Bench::new(&[]);
    Plan::losses(ONE, "5s").write(&bench);
    let mut matrix = bench.matrix(&["run", "plan.toml"]);
    assert!(matrix.until(|line| line.contains("arm 2 of ") && line.contains(" measure ")), "{}", matrix.said);
    assert_eq!(bench.order("reboot"), "ok reboot");
    let (code, verdict, said) = ended(&bench, matrix);
    assert_eq!((code, of_gate(&verdict, "lost")), (0, "pass"), "{said}");
    let spoiled = invalid(&verdict);
    assert!(spoiled.len() == 1 && spoiled[0].1.contains("device_restarted"), "{spoiled:?}");
    assert_eq!(verdict["blocks_complete"], 2);
}

#[test]
fn downloads_that_break_off_spoil_their_arms_and_the_run_and_never_fail_the_device() {
    let bench = Bench::new(&["--fault", "truncated-download"]);
    let (code, verdict, said) = Plan::losses(ONE, "3s").run(&bench);
    assert_eq!((code, verdict["verdict"].as_str()), (4, Some("invalid")), "{said}");
    let spoiled = invalid(&verdict);
    assert!(!spoiled.is_empty() && spoiled.iter().all(|(_, why)| why.contains("_failed")), "{spoiled:?}");
}

#[test]
fn an_endpoint_that_takes_its_time_spoils_the_arms_whose_downloads_do_not_end_in_them() {
    let bench = Bench::new(&["--fault", "slow-endpoint"]);
    let (code, verdict, said) = Plan::losses(ONE, "3s").run(&bench);
    assert_eq!(verdict["gates"][0]["verdict"].as_str().filter(|word| *word == "fail"), None, "{said}");
    let spoiled = invalid(&verdict);
    assert!(spoiled.iter().all(|(level, why)| level == "raw" && why.contains("drain")), "{spoiled:?}");
    assert_eq!(code, if verdict["blocks_complete"] == 2 { 0 } else { 4 }, "{said}");
}

#[test]
fn a_ring_that_holds_less_than_a_window_is_said_before_anything_is_set() {
    let bench = Bench::with(8_192, Running::until, &[]);
    let plan = Plan { octets: 4_096 + 48 * 8_192, ..Plan::losses(ONE, "4s") };
    let (code, verdict, said) = plan.run(&bench);
    assert_eq!((code, verdict["blocks_complete"].as_u64()), (6, Some(0)), "{said}");
    assert!(said.contains("too short for a window of 4050 ms"), "{said}");
}

/// The bench stands still until the ring has gone round; its sockets hold everything meanwhile.
#[test]
fn an_arm_whose_ring_was_overwritten_before_it_was_collected_is_repeated() {
    let records = 16_384;
    let bench = Bench::with(records, Running::until, &[]);
    Plan { octets: 4_096 + 48 * records, ..Plan::losses(ONE, "2s") }.write(&bench);
    let mut matrix = bench.matrix(&["run", "plan.toml"]);
    assert!(matrix.until(|line| line.contains("arm 1 of ") && line.contains(" measure ")), "{}", matrix.said);
    matrix.signal("-STOP");
    let ordinal = |status: &Value| status["ordinal"].as_u64().unwrap();
    let round = ordinal(&bench.web.status()) + 2 * records;
    bench.web.until(|status| ordinal(status) > round);
    matrix.signal("-CONT");
    let (code, verdict, said) = ended(&bench, matrix);
    let spoiled = invalid(&verdict);
    assert!(spoiled.len() == 1 && spoiled[0].1.contains("ring_wrapped"), "{spoiled:?} {said}");
    assert_eq!((code, of_gate(&verdict, "lost")), (0, "pass"), "{said}");
}
