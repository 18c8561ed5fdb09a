//! Everything that can be typed wrong: the exact exit code and one line on standard error.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

mod cli_support;

use cli_support::{outcome, planted, wireproof};
use std::fs;
use std::path::Path;

/// Files every row may name.
fn furnish(folder: &Path) {
    planted(folder, "sacn-drop-one");
    fs::write(folder.join("empty.pcap"), "").unwrap();
    fs::write(folder.join("text.txt"), "this is no capture\nat all\n").unwrap();
    fs::write(folder.join("bad-key.toml"), "[[output]]\nname = \"a\"\nuniverse = 1\n").unwrap();
    fs::write(folder.join("bad-code.toml"), "[severity]\n\"SEQ-NONE\" = \"info\"\n").unwrap();
    fs::write(folder.join("bad\u{1b}[31m.toml"), "x = 1\n").unwrap();
    fs::create_dir(folder.join("folder")).unwrap();
}

const GOOD: &str = "sacn-drop-one.pcap";

/// Arguments, exit code, and what the line holds.
const ROWS: &[(&[&str], i32, &str)] = &[
    (&[], 2, "no verb given"),
    (&["analise"], 2, "'analyze'"),
    (&["analyze"], 2, "required arguments"),
    (&["analyze", GOOD, "--colour"], 2, "unexpected argument '--colour'"),
    (
        &["analyze", GOOD, "--format", "xml"],
        2,
        "[possible values: table, json, jsonl, csv, markdown, junit, html]",
    ),
    (&["analyze", GOOD, "--strict=perhaps"], 2, "invalid value 'perhaps'"),
    (&["analyze", "absent.pcap"], 6, "no such file"),
    (&["analyze", "absent.pcap", "--exit-zero"], 6, "no such file"),
    (&["analyze", GOOD, "absent.pcap"], 6, "no such file"),
    (&["analyze", "folder"], 6, "is a directory"),
    (&["analyze", "empty.pcap"], 6, "is empty"),
    (&["analyze", "text.txt"], 6, "not a capture"),
    (&["analyze", "-", "-"], 2, "standard input is given twice"),
    (&["analyze", "-"], 6, "is empty"),
    (&["analyze", GOOD, "-o", GOOD], 2, "input and output at once"),
    (&["analyze", GOOD, "-o", "./folder/../sacn-drop-one.pcap"], 2, "input and output at once"),
    (&["analyze", GOOD, "-o", "absent/out.json"], 6, "cannot be written"),
    (&["analyze", GOOD, "-o", "folder"], 6, "cannot be written"),
    (&["analyze", GOOD, "--rig", "absent.toml"], 6, "absent.toml cannot be read"),
    (&["analyze", GOOD, "--rig", "folder"], 6, "folder cannot be read"),
    (&["analyze", GOOD, "--rig", "bad-key.toml"], 2, "bad-key.toml, line 3, universe: unknown field"),
    (&["analyze", GOOD, "--rig", "bad-code.toml"], 2, "bad-code.toml, line 2, \"SEQ-NONE\": no rule"),
    (&["analyze", GOOD, "--rig", "bad\u{1b}[31m.toml"], 2, "bad\\u{1b}[31m.toml, line 1, x"),
    (&["analyze", GOOD, "--rig", GOOD], 6, "cannot be read"),
    (&["learn", "empty.pcap"], 6, "is empty"),
    (&["learn", GOOD, "-o", GOOD], 2, "input and output at once"),
    (&["explain", "SEQ-LSOT"], 2, "did you mean SEQ-LOST?"),
    (&["explain", ""], 2, "no rule has the code"),
    (&["explain", "f0001"], 2, "id of a finding"),
    (&["slice", GOOD, "--finding", "f9999", "-o", "out.pcapng"], 2, "has no finding f9999"),
    (&["slice", GOOD, "--finding", "f0001", "--around", "3m", "-o", "o"], 2, "neither a number of frames"),
    (&["slice", "-", "--finding", "f0001", "-o", "out.pcapng"], 2, "reads its capture several times"),
    (&["slice", GOOD, "--finding", "f0001", "-o", "-"], 2, "give -o a file name"),
    (&["slice", GOOD, "--finding", "f0001", "-o", GOOD], 2, "input and output at once"),
    (&["slice", "absent.pcap", "--finding", "f0001", "-o", "out.pcapng"], 6, "no such file"),
    (&["bench", "--frame-bytes", "0"], 2, "0 is not in 1..=33554432"),
    (&["bench", "--frame-bytes", "33554433"], 2, "33554433 is not in 1..=33554432"),
    (&["bench", "--frame-bytes", "33000000", "--encoders", "sacn"], 2, "is not at most 32639490"),
    (&["bench", "--encoders", "kinet"], 2, "[possible values: sacn, ddp, artnet, bigpacket]"),
    (&["bench", "--encoders", "ddp,sacn,ddp"], 2, "names ddp twice"),
    (&["bench", "--packing", "0"], 2, "1 to 65535"),
    (&["bench", "--packing", "513"], 2, "slots 513 is not 1..512"),
    (&["bench", "--packing", "artnet=5", "--encoders", "ddp"], 2, "--encoders leaves artnet out"),
    (&["bench", "--backend", "both"], 2, "[possible values: contiguous, gather, all]"),
    (&["bench", "--blocks", "5"], 2, "5 is not in 6..=100000"),
    (&["bench", "--format", "jsonl"], 2, "[possible values: table, json, csv, markdown, html]"),
    (&["bench", "--recorder", "--encoders", "sacn"], 2, "cannot be used with"),
    (&["bench", "--recorder", "--backend", "all"], 2, "cannot be used with"),
    (&["bench", "--recorder", "--blocks", "5"], 2, "5 is not in 6..=100000"),
    (&["bench", "--seed", "x"], 2, "invalid value 'x'"),
    (&["selftest", "--filter", "no-such-case"], 2, "no case has"),
    (&["selftest", "--seed", "-1"], 2, "unexpected argument '-1'"),
    (&["selftest", "--seeds", "0"], 2, "0 is not in 1.."),
    (&["selftest", "--seed", "18446744073709551615", "--seeds", "2"], 2, "there are no 2 seeds from"),
    (&["observe", "-w", "-", "-o", "-"], 2, "-w and -o are both standard output"),
    (&["observe", "-w", "/dev/null", "--rotate", "1MiB"], 2, "--rotate makes one file after another"),
    (&["completions", "tcsh"], 2, "possible values"),
    (&["man", "--out", GOOD], 6, "cannot be written"),
];

#[test]
fn every_mistake_has_its_exit_code_and_one_line() {
    let dir = tempfile::tempdir().unwrap();
    furnish(dir.path());
    for (arguments, expected, words) in ROWS {
        let (code, out, err) = outcome(wireproof(dir.path()).args(*arguments).write_stdin(""));
        assert_eq!(code, *expected, "{arguments:?}: {err}");
        assert_eq!(out, "", "{arguments:?}");
        assert_eq!(err.lines().count(), 1, "{arguments:?}: {err}");
        assert!(err.starts_with("wireproof: "), "{arguments:?}: {err}");
        assert!(err.contains(words), "{arguments:?}: {err}");
        assert!(!err.contains('\u{1b}'), "{arguments:?}: {err:?}");
    }
}

#[test]
fn a_failed_run_leaves_no_output_behind() {
    let dir = tempfile::tempdir().unwrap();
    furnish(dir.path());
    let before = fs::read_dir(dir.path()).unwrap().count();
    for (arguments, _, _) in ROWS {
        outcome(wireproof(dir.path()).args(*arguments).write_stdin(""));
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), before);
}

#[test]
fn a_bad_environment_is_a_usage_error() {
    let dir = tempfile::tempdir().unwrap();
    furnish(dir.path());
    for (name, value, words) in [
        ("WIREPROOF_FORMAT", "xml", "possible values"),
        ("WIREPROOF_COLOR", "blue", "possible values"),
        ("WIREPROOF_STRICT", "perhaps", "perhaps"),
    ] {
        let (code, _, err) = outcome(wireproof(dir.path()).env(name, value).args(["analyze", GOOD]));
        assert_eq!((code, err.lines().count()), (2, 1), "{name}: {err}");
        assert!(err.contains(words), "{name}: {err}");
    }
}

#[test]
fn a_bad_configuration_file_names_file_and_line() {
    for (text, words) in [
        (
            "format = \"json\"\ncolour = \"never\"\n",
            "wireproof.toml, line 2: colour is no key; the nearest is color",
        ),
        ("format = \"xml\"\n", "wireproof.toml, line 1: format: invalid value 'xml'"),
        ("\ncolor = \"blue\"\n", "wireproof.toml, line 2: color: invalid value 'blue'"),
        ("strict = 2\n", "wireproof.toml, line 1: strict: invalid value '2'"),
        ("strict\n", "wireproof.toml, line 1: "),
    ] {
        let dir = tempfile::tempdir().unwrap();
        furnish(dir.path());
        fs::write(dir.path().join("wireproof.toml"), text).unwrap();
        let (code, _, err) = outcome(wireproof(dir.path()).args(["analyze", GOOD]));
        assert_eq!((code, err.lines().count()), (2, 1), "{text}: {err}");
        assert!(err.contains(words), "{text}: {err}");
    }
}
