//! The doctor on the host of the test, whoever runs it: its lines, its JSON, its exit code.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

mod cli_support;

use cli_support::{outcome, wireproof};
use serde_json::Value;
use std::fs;

/// The checks of a JSON document.
fn checks(document: &str) -> Vec<Value> {
    let value: Value = serde_json::from_str(document).unwrap();
    assert_eq!(value["schema"], "wireproof.doctor/1");
    value["checks"].as_array().unwrap().clone()
}

fn text<'a>(check: &'a Value, key: &str) -> &'a str {
    check[key].as_str().unwrap()
}

#[test]
fn every_check_is_one_line_with_a_word_and_a_name() {
    let dir = tempfile::tempdir().unwrap();
    let (code, table, err) = outcome(wireproof(dir.path()).arg("doctor"));
    assert!(matches!(code, 0 | 6) && err.is_empty(), "{code}: {err}");
    let (_, json, _) = outcome(wireproof(dir.path()).args(["doctor", "--format", "json"]));
    let checks = checks(&json);
    assert_eq!(table.lines().count(), checks.len(), "{table}");
    for (line, check) in table.lines().zip(&checks) {
        let (word, rest) = line.split_once(' ').unwrap();
        assert!(["OK", "WARN", "FAIL"].contains(&word), "{line}");
        assert!(rest.trim_start().starts_with(text(check, "name")), "{line}");
    }
    assert!(!table.contains('\u{1b}'));
}

#[test]
fn the_exit_code_follows_the_worst_check() {
    let dir = tempfile::tempdir().unwrap();
    let (code, json, _) = outcome(wireproof(dir.path()).args(["doctor", "--format", "json"]));
    let failed = checks(&json).iter().any(|check| check["state"] == "fail");
    assert_eq!(code, if failed { 6 } else { 0 }, "{json}");
    let document: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(document["worst"] == "fail", failed);
}

#[test]
fn the_json_has_sorted_keys_and_is_whole() {
    let dir = tempfile::tempdir().unwrap();
    let (_, json, _) = outcome(wireproof(dir.path()).args(["doctor", "--format", "json"]));
    assert!(json.ends_with("}\n"));
    let keys: Vec<_> = json.lines().filter_map(|line| line.strip_prefix("  \"")?.split('"').next()).collect();
    assert_eq!(keys, ["checks", "schema", "worst"]);
    for check in checks(&json) {
        assert!(["ok", "warn", "fail"].contains(&text(&check, "state")), "{check}");
        assert!(!text(&check, "text").is_empty() && check["values"].is_object(), "{check}");
        assert!(check["repair"].is_null() || check["state"] != "ok", "{check}");
    }
    let of_one: Vec<_> =
        json.lines().filter_map(|line| line.strip_prefix("      \"")?.split('"').next()).collect();
    assert!(of_one.starts_with(&["name", "repair", "state", "text", "values"]), "{of_one:?}");
}

#[test]
fn an_interface_that_is_not_there_fails_with_6() {
    if !std::path::Path::new("/sys/class/net").exists() {
        let _ = std::io::Write::write_fmt(
            &mut std::io::stderr(),
            format_args!("SKIPPED an_interface_that_is_not_there_fails_with_6: there is no /sys/class/net\n"),
        );
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (code, table, err) = outcome(wireproof(dir.path()).args(["doctor", "-i", "no-such-if0"]));
    assert_eq!((code, err.as_str()), (6, ""), "{table}");
    let lines: Vec<_> = table.lines().filter(|line| line.contains("interface no-such-if0")).collect();
    assert_eq!(lines.len(), 1, "{table}");
    assert!(lines[0].starts_with("FAIL  ") && lines[0].contains("there is: "), "{table}");
}

#[test]
fn every_protocol_port_is_looked_at() {
    if !std::path::Path::new("/proc/net/udp").exists() {
        let _ = std::io::Write::write_fmt(
            &mut std::io::stderr(),
            format_args!("SKIPPED every_protocol_port_is_looked_at: there is no /proc/net/udp\n"),
        );
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (_, json, _) = outcome(wireproof(dir.path()).args(["doctor", "--format", "json"]));
    let names: Vec<_> = checks(&json).iter().map(|check| text(check, "name").to_owned()).collect();
    for decoder in wireproof_protocols::registry::DECODERS {
        for port in decoder.ports() {
            assert!(names.contains(&format!("port {port}")), "{names:?}");
        }
    }
}

#[test]
fn the_output_can_go_to_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let (_, out, err) =
        outcome(wireproof(dir.path()).args(["doctor", "--format", "json", "-o", "doctor.json"]));
    assert_eq!((out.as_str(), err.as_str()), ("", ""));
    assert!(!checks(&fs::read_to_string(dir.path().join("doctor.json")).unwrap()).is_empty());
}

#[test]
fn mistakes_are_usage_errors() {
    let dir = tempfile::tempdir().unwrap();
    for arguments in [&["doctor", "--format", "csv"][..], &["doctor", "extra"], &["doctor", "-i"]] {
        let (code, out, err) = outcome(wireproof(dir.path()).args(arguments));
        assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{arguments:?}: {err}");
    }
}

#[test]
fn the_help_has_two_examples_and_the_exit_code() {
    let dir = tempfile::tempdir().unwrap();
    let (code, out, _) = outcome(wireproof(dir.path()).args(["doctor", "--help"]));
    let examples = out.split("Examples:\n").nth(1).unwrap();
    assert_eq!(
        (code, examples.lines().filter(|line| line.contains("wireproof doctor")).count()),
        (0, 2),
        "{out}"
    );
    assert!(examples.contains("6 when a check says FAIL"), "{out}");
}
