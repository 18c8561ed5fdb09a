//! Plans from the command line: begun, checked, frozen and laid out, with the exit code of everything that goes wrong.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

mod cli_support;

use cli_support::{outcome, wireproof};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use wireproof_reports::{ORDER_SCHEMA, PLAN_CHECK_SCHEMA};

const EXAMPLE: &str = include_str!("../../matrices/tests/golden/plan_example.toml");
const CASES: &str = include_str!("../../matrices/tests/golden/experiments.json");
const TEMPLATES: [&str; 10] = [
    "profiler",
    "drain",
    "preview",
    "sham",
    "calibrate",
    "ladder",
    "field-12-arms",
    "field-20-arms",
    "field",
    "wled",
];

fn matrix(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    outcome(wireproof(folder).arg("matrix").args(arguments))
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("plan.toml"), EXAMPLE).unwrap();
    folder
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn keeps_to(schema: &str, document: &Value, name: &str) {
    let validator = jsonschema::validator_for(&parsed(schema)).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(document).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert_eq!(errors, Vec::<String>::new(), "{name}");
}

#[test]
fn every_template_is_written_checked_frozen_and_laid_out() {
    let folder = tempfile::tempdir().unwrap();
    for name in TEMPLATES {
        let (plan, lock) = (format!("{name}.toml"), format!("{name}.lock"));
        assert_eq!(
            matrix(folder.path(), &["init", "--template", name, "-o", &plan]),
            (0, String::new(), String::new())
        );
        let (code, out, err) = matrix(folder.path(), &["check", &plan]);
        assert_eq!((code, err.as_str()), (0, ""), "{name}: {out}");
        assert!(
            out.contains("can be run: 0 errors") && out.contains(&format!("plan          {name}\n")),
            "{out}"
        );
        let (code, out, _) = matrix(folder.path(), &["freeze", &plan]);
        assert_eq!(code, 0);
        let order = matrix(folder.path(), &["order", &plan, "--format", "json"]);
        assert_eq!(matrix(folder.path(), &["order", &lock, "--format", "json"]), order, "{name}");
        let checked = parsed(&matrix(folder.path(), &["check", &lock, "--format", "json"]).1);
        keeps_to(PLAN_CHECK_SCHEMA, &checked, name);
        keeps_to(ORDER_SCHEMA, &parsed(&order.1), name);
        assert_eq!(
            (&checked["schema"], &checked["frozen"]),
            (&json!("wireproof.plan-check/1"), &json!(true))
        );
        assert!(out.contains(checked["plan_sha256"].as_str().unwrap()), "{out}");
        let arms: usize = parsed(&order.1)["strata"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|stratum| stratum["blocks"].as_array().unwrap())
            .map(|block| block.as_array().unwrap().len())
            .sum();
        assert_eq!(json!(arms), checked["arms"]);
    }
}

#[test]
fn the_order_of_seed_42_is_the_golden_one_whatever_else_the_plan_says() {
    let folder = folder();
    let cases = parsed(CASES);
    let case =
        cases["cases"].as_array().unwrap().iter().find(|case| case["id"] == "order-k2-seed42").unwrap();
    let run_order = case["expected"]["run_order"].as_array().unwrap();
    let blocks: Vec<&[Value]> = run_order.chunks(2).collect();
    let (code, out, err) = matrix(folder.path(), &["order", "plan.toml", "--seed", "42", "--format", "json"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let order = parsed(&out);
    assert_eq!(order["blocks"], json!(blocks));
    assert_eq!(order["strata"][0]["blocks"], order["blocks"]);
    assert_eq!(order["strata"][0]["levels"], json!({ "preview": "off" }));
    assert_eq!((&order["seed"], &order["schema"]), (&json!(42), &json!("wireproof.order/1")));
    assert_eq!(order["strata"][0]["drawn"], case["expected"]["u32_drawn"]);
    assert!(
        out.starts_with("{\"schema\":\"wireproof.order/1\",\"seed\":42,\"strata\":[{\"levels\":"),
        "{out}"
    );
    let (_, table, _) = matrix(folder.path(), &["order", "plan.toml", "--seed", "42"]);
    let rows: Vec<String> =
        table.lines().filter(|line| line.contains("drains at")).map(str::to_owned).collect();
    assert_eq!(rows.len(), 10);
    assert!(rows[0].starts_with("    1  raw   idle  drains at 1.088s 4.745s"), "{}", rows[0]);
}

#[test]
fn a_template_takes_a_name_a_seed_and_a_url() {
    let folder = tempfile::tempdir().unwrap();
    let arguments =
        ["init", "--template", "drain", "--name", "mine", "--seed", "9", "--url", "http://pi-lab:8080"];
    let (code, out, err) = matrix(folder.path(), &arguments);
    assert_eq!((code, err.as_str()), (0, ""));
    for line in ["name    = \"mine\"", "seed = 9", "base_url     = \"http://pi-lab:8080\""] {
        assert!(out.lines().any(|found| found == line), "{line}: {out}");
    }
}

#[test]
fn a_plan_for_another_controller_is_begun_with_its_profile() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let (code, out, err) = matrix(path, &["init", "--profile", "wled", "--url", "http://10.0.0.9"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("profile      = \"wled\"") && out.contains("http://10.0.0.9"), "{out}");
    let booth =
        include_str!("../../matrices/profiles/wled.toml").replace("name = \"wled\"", "name = \"booth\"");
    fs::create_dir(path.join("plans")).unwrap();
    fs::write(path.join("plans/booth.toml"), &booth).unwrap();
    let begin = ["init", "--template", "wled", "--profile", "booth.toml", "-o", "plans/plan.toml"];
    assert_eq!(matrix(path, &begin), (0, String::new(), String::new()));
    let (code, out, _) = matrix(path, &["check", "plans/plan.toml"]);
    assert!(code == 0 && out.contains("profile       booth\n"), "{out}");
    assert_eq!(matrix(path, &["freeze", "plans/plan.toml", "-o", "booth.lock"]).0, 0);
    fs::write(path.join("plans/booth.toml"), booth.replace("/info/ver", "/info/vid")).unwrap();
    let hash = |file: &str| {
        let (_, out, _) = matrix(path, &["check", file, "--format", "json"]);
        parsed(&out)["plan_sha256"].clone()
    };
    assert_ne!(hash("plans/plan.toml"), hash("booth.lock"), "a profile that is changed makes another plan");
    fs::remove_file(path.join("plans/booth.toml")).unwrap();
    let (code, out, err) = matrix(path, &["check", "booth.lock"]);
    assert_eq!((code, err.as_str()), (0, ""), "a lock needs no file: {out}");
    let (code, out, err) = matrix(path, &["run", "booth.lock", "--dry"]);
    assert!(code != 2 && code != 6, "{code} {out}{err}");
}

#[test]
fn a_lock_holds_three_hashes_and_is_the_same_for_the_same_meaning() {
    let folder = folder();
    let path = folder.path();
    let (code, out, err) = matrix(path, &["freeze", "plan.toml", "-o", "a.lock"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let lock = fs::read_to_string(path.join("a.lock")).unwrap();
    let object = parsed(&lock);
    for (line, key) in out.lines().zip(["plan_sha256", "gates_sha256", "file_sha256"]) {
        assert_eq!(line.split_whitespace().collect::<Vec<_>>(), [key, object[key].as_str().unwrap()]);
    }
    assert_eq!(matrix(path, &["freeze", "plan.toml", "-o", "-"]).1, lock);
    fs::write(path.join("b.toml"), EXAMPLE.replace("\"0.50ms\"", "\"500us\"") + "# said otherwise\n")
        .unwrap();
    matrix(path, &["freeze", "b.toml"]);
    let other = parsed(&fs::read_to_string(path.join("b.lock")).unwrap());
    assert_eq!(other["plan_sha256"], object["plan_sha256"]);
    assert_ne!(other["file_sha256"], object["file_sha256"]);
    // A frozen plan is kept; the same plan may be frozen again.
    fs::write(path.join("c.toml"), EXAMPLE.replace("margin = \"0.50ms\"", "margin = \"0.55ms\"")).unwrap();
    let (code, _, err) = matrix(path, &["freeze", "c.toml", "-o", "a.lock"]);
    assert!(code == 2 && err.contains("holds another plan"), "{err}");
    assert_eq!(matrix(path, &["freeze", "b.toml", "-o", "a.lock"]).0, 0);
    let (code, _, err) = matrix(path, &["freeze", "b.toml", "-o", "plan.toml"]);
    assert!(code == 2 && err.contains("no lock"), "{err}");
    assert_eq!(fs::read_to_string(path.join("plan.toml")).unwrap(), EXAMPLE);
}

#[test]
fn a_lock_that_was_edited_is_an_integrity_error_everywhere() {
    let folder = folder();
    let path = folder.path();
    matrix(path, &["freeze", "plan.toml"]);
    let lock = fs::read_to_string(path.join("plan.lock")).unwrap();
    let edited = lock.replace("\"margin_ns\":500000", "\"margin_ns\":900000");
    assert_ne!(edited, lock);
    fs::write(path.join("edited.lock"), edited).unwrap();
    fs::write(path.join("torn.lock"), &lock[..lock.len() / 2]).unwrap();
    for verb in ["check", "order", "freeze"] {
        for (file, words) in [("edited.lock", "changed after it was frozen"), ("torn.lock", "no lock")] {
            let (code, out, err) = matrix(path, &[verb, file]);
            assert_eq!((code, out.as_str(), err.lines().count()), (7, "", 1), "{verb} {file}: {err}");
            assert!(err.contains(words), "{verb} {file}: {err}");
        }
    }
}

#[test]
fn a_plan_that_cannot_be_run_is_listed_whole_and_not_frozen() {
    let folder = folder();
    let path = folder.path();
    fs::write(path.join("bad.toml"), EXAMPLE.replace("blocks = 10", "blocks = 3")).unwrap();
    let (code, out, err) = matrix(path, &["check", "bad.toml"]);
    assert_eq!((code, err.lines().count()), (2, 1), "{err}");
    assert_eq!(out.lines().filter(|line| line.starts_with("error    blocks-few")).count(), 4, "{out}");
    assert!(out.ends_with("cannot be run: 4 errors, 0 warnings\n"), "{out}");
    assert!(err.contains("bad.toml cannot be run, [gate p95]") && err.contains("3 more"), "{err}");
    let (code, out, _) = matrix(path, &["check", "bad.toml", "--format", "json"]);
    assert_eq!((code, &parsed(&out)["runnable"]), (2, &json!(false)));
    assert_eq!(parsed(&out)["remarks"][0]["code"], "blocks-few");
    assert_eq!(matrix(path, &["freeze", "bad.toml"]).0, 2);
    assert!(!path.join("bad.lock").exists());
}

/// Arguments, exit code, and what the line holds.
const ROWS: &[(&[&str], i32, &str)] = &[
    (&[], 2, "wireproof --help"),
    (&["chek"], 2, "'check'"),
    (&["check"], 2, "required arguments"),
    (&["check", "absent.toml"], 6, "absent.toml cannot be read"),
    (&["check", "."], 6, "cannot be read"),
    (&["check", "octets.toml"], 2, "octets.toml is no text"),
    (&["check", "typo.toml"], 2, "typo.toml: line 92, [gate p95] magrin: unknown key"),
    (&["check", "plan.toml", "-o", "plan.toml"], 2, "input and output at once"),
    (&["check", "plan.toml", "-o", "absent/out.txt"], 6, "cannot be written"),
    (&["check", "plan.toml", "--format", "xml"], 2, "[possible values: table, json]"),
    (&["order", "plan.toml", "--seed", "9223372036854775808"], 2, "9223372036854775808"),
    (&["freeze", "-"], 2, "plan"),
    (&["init"], 2, "--template"),
    (&["init", "--template", "drains"], 2, "drain"),
    (&["init", "--template", "drain", "-o", "plan.toml"], 2, "plan.toml is there already"),
    (&["init", "--template", "drain", "--name", "Mine"], 2, "\"Mine\" is no name"),
    (&["init", "--template", "drain", "--url", "https://pi"], 2, "[target] base_url"),
    (&["init", "--profile", "absent.toml"], 2, "add --template field or wled"),
    (
        &["init", "--template", "drain", "--profile", "wled"],
        2,
        "--template drain is for the simulated device",
    ),
    (&["init", "--template", "wled", "--profile", "absent.toml"], 2, "absent.toml cannot be read"),
];

#[test]
fn everything_typed_wrong_ends_in_one_line_and_its_code() {
    let folder = folder();
    let path = folder.path();
    fs::write(path.join("octets.toml"), [0xff, 0xfe, 0]).unwrap();
    fs::write(path.join("typo.toml"), EXAMPLE.replacen("margin = ", "magrin = ", 1)).unwrap();
    for (arguments, wanted, words) in ROWS {
        let (code, out, err) = matrix(path, arguments);
        assert_eq!((code, out.as_str(), err.lines().count()), (*wanted, "", 1), "{arguments:?}: {err}");
        assert!(err.starts_with("wireproof: ") && err.contains(words), "{arguments:?}: {err}");
    }
    assert_eq!(fs::read_to_string(path.join("plan.toml")).unwrap(), EXAMPLE);
}

#[test]
fn plans_come_from_standard_input_too() {
    let folder = folder();
    let piped = |arguments: &[&str]| {
        let mut command = wireproof(folder.path());
        outcome(command.arg("matrix").args(arguments).write_stdin(EXAMPLE))
    };
    assert_eq!(piped(&["order", "-"]), matrix(folder.path(), &["order", "plan.toml"]));
    assert_eq!(piped(&["freeze", "-", "-o", "x.lock"]).0, 0);
    let (code, _, err) = piped(&["freeze", "-"]);
    assert!(code == 2 && err.contains("give -o"), "{err}");
    let endless = "# ".repeat(2 << 20);
    let mut command = wireproof(folder.path());
    let (code, _, err) = outcome(command.args(["matrix", "check", "-"]).write_stdin(endless));
    assert!(code == 2 && err.contains("longer than 256 KiB"), "{err}");
}

/// The power of a gate in the JSON of `check`.
fn power(folder: &Path, more: &[&str], gate: &str) -> Value {
    let arguments = [&["check", "plan.toml", "--format", "json"], more].concat();
    let (code, out, err) = matrix(folder, &arguments);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let all = parsed(&out)["power"].as_array().unwrap().clone();
    all.into_iter().find(|one| one["gate"] == gate).unwrap_or(Value::Null)
}

#[test]
fn power_is_told_from_a_spread_that_was_measured_gate_by_gate() {
    let folder = folder();
    let of = |more: &[&str], gate: &str| power(folder.path(), more, gate);
    let assumed = of(&[], "p95");
    assert!(assumed["assumed"].as_str().unwrap().ends_with("assumed"), "{assumed}");
    assert_eq!(of(&[], "rate"), Value::Null, "nobody knows how far a rate spreads");
    let narrow = of(&["--pair-sd", "0.2ms"], "p95");
    assert_eq!(narrow["assumed"], "arm sd 0.14 ms measured", "0.2 ms over the root of two");
    assert!(narrow["pass_ppm"].as_u64() >= assumed["pass_ppm"].as_u64(), "{narrow} {assumed}");
    let wide = of(&["--pair-sd", "0.2ms", "--pair-sd", "p95=3ms"], "p95");
    assert!(wide["pass_ppm"].as_u64() < Some(200_000), "the gate's own figure counts: {wide}");
    assert_eq!(of(&["--pair-sd", "rate=150ppm"], "rate")["assumed"], "arm sd 0.0106% measured");
    for (given, said) in [("p59=1ms", "no gate of this name"), ("0ms", "more than 0"), ("soon", "--pair-sd")]
    {
        let (code, _, err) = matrix(folder.path(), &["check", "plan.toml", "--pair-sd", given]);
        assert!(code == 2 && err.contains(said), "{given}: {code} {err}");
    }
    let (code, _, err) = matrix(folder.path(), &["check", "plan.toml", "--from", "absent"]);
    assert!(code == 6 && err.contains("absent"), "{code} {err}");
}
