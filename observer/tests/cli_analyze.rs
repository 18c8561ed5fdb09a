//! `wireproof analyze`, `learn` and `slice` on captures with planted faults.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

mod cli_support;

use cli_support::{outcome, planted, wireproof};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

/// Options, environment, and whether the table is coloured.
type ColorRow = (&'static [&'static str], &'static [(&'static str, &'static str)], bool);

const LOST: &str = "sacn-drop-one";

#[test]
fn a_planted_loss_fails_and_names_itself() {
    let dir = tempfile::tempdir().unwrap();
    let capture = planted(dir.path(), LOST);
    let (code, out, err) = outcome(wireproof(dir.path()).arg("analyze").arg(&capture));
    assert_eq!((code, err.as_str()), (1, ""), "{out}");
    assert!(out.starts_with("FAIL  "), "{out}");
    assert!(out.contains(" violation SEQ-LOST "), "{out}");
    assert!(out.lines().last().unwrap().starts_with("VERDICT FAIL: "), "{out}");
    assert!(out.contains("\nWHAT THIS CAPTURE CAN AND CANNOT SHOW\n"), "{out}");
}

#[test]
fn exit_zero_changes_the_code_and_not_the_verdict() {
    let dir = tempfile::tempdir().unwrap();
    let capture = planted(dir.path(), LOST);
    let mut command = wireproof(dir.path());
    let (code, out, _) = outcome(command.arg("analyze").arg(&capture).arg("--exit-zero"));
    assert_eq!(code, 0);
    assert!(out.contains("VERDICT FAIL: "), "{out}");
}

#[test]
fn json_is_valid_and_the_same_octets_every_time() {
    let dir = tempfile::tempdir().unwrap();
    let capture = planted(dir.path(), LOST);
    let run = || outcome(wireproof(dir.path()).arg("analyze").arg(&capture).args(["--format", "json"])).1;
    let text = run();
    let document: Value = serde_json::from_str(&text).unwrap();
    let schema: Value = serde_json::from_str(wireproof_reports::SUMMARY_SCHEMA).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(&document).map(|e| e.to_string()).collect();
    assert_eq!(errors, Vec::<String>::new());
    assert_eq!(document["verdict"], "fail");
    assert_eq!(document["source"]["kind"], "file");
    assert_eq!(run(), text);
}

#[test]
fn a_page_carries_the_record_that_json_writes_and_the_code_of_the_verdict() {
    let dir = tempfile::tempdir().unwrap();
    let capture = planted(dir.path(), LOST);
    let mut command = wireproof(dir.path());
    let (code, out, err) =
        outcome(command.arg("analyze").arg(&capture).args(["--format", "html", "-o", "report.html"]));
    assert_eq!((code, out.as_str()), (1, ""), "{err}");
    let page = fs::read_to_string(dir.path().join("report.html")).unwrap();
    let (_, rest) = page.split_once("<script type=\"application/json\" id=\"record\">").unwrap();
    let carried: Value = serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap();
    let (_, json, _) = outcome(wireproof(dir.path()).arg("analyze").arg(&capture).args(["--format", "json"]));
    assert_eq!(carried, serde_json::from_str::<Value>(&json).unwrap());
    assert!(
        page.contains("<h1><span class=\"bad badge\">FAIL</span> ") && page.trim_end().ends_with("</html>")
    );
    assert!(["timeline", "totals"].iter().all(|key| carried[key].is_object()), "{json}");
}

#[test]
fn junit_has_a_failure_for_the_planted_loss() {
    let dir = tempfile::tempdir().unwrap();
    let capture = planted(dir.path(), LOST);
    let (code, out, err) =
        outcome(wireproof(dir.path()).arg("analyze").arg(&capture).args(["--format", "junit"]));
    assert_eq!((code, err.as_str()), (1, ""), "{out}");
    assert!(
        out.contains(": SEQ-LOST\"><failure type=\"FAIL\"") && out.contains("<testsuites name=\"wireproof\""),
        "{out}"
    );
}

#[test]
fn standard_input_gives_the_same_record_but_for_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let capture = planted(dir.path(), LOST);
    let format = ["--format", "json"];
    let (_, file, _) = outcome(wireproof(dir.path()).arg("analyze").arg(&capture).args(format));
    let octets = fs::read(&capture).unwrap();
    let mut piped = wireproof(dir.path());
    let (code, pipe, _) = outcome(piped.args(["analyze", "-"]).args(format).write_stdin(octets));
    assert_eq!(code, 1);
    let name = serde_json::to_string(&capture.display().to_string()).unwrap();
    assert_eq!(file.replace(&name, "\"-\""), pipe);
}

#[test]
fn a_packed_capture_gives_the_same_record_from_a_file_and_from_standard_input() {
    let dir = tempfile::tempdir().unwrap();
    let capture = planted(dir.path(), LOST);
    let plain = fs::read(&capture).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&plain).unwrap();
    let packed =
        [("a.pcap.gz", gzip.finish().unwrap()), ("a.pcap.zst", zstd::encode_all(&*plain, 1).unwrap())];
    let format = ["--format", "json"];
    let (_, expected, _) = outcome(wireproof(dir.path()).arg("analyze").arg(&capture).args(format));
    let name = serde_json::to_string(&capture.display().to_string()).unwrap();
    for (file, octets) in packed {
        fs::write(dir.path().join(file), &octets).unwrap();
        let (code, out, err) = outcome(wireproof(dir.path()).args(["analyze", file]).args(format));
        assert_eq!((code, err.as_str()), (1, ""), "{file}");
        assert!(out == expected.replace(&name, &format!("\"{file}\"")), "{file}");
        let mut piped = wireproof(dir.path());
        let (_, pipe, _) = outcome(piped.args(["analyze", "-"]).args(format).write_stdin(octets));
        assert!(pipe == expected.replace(&name, "\"-\""), "{file} through a pipe");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let capture = planted(dir.path(), LOST);
    let full = || fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_wireproof"));
    child.arg("analyze").arg(&capture).current_dir(dir.path()).stdout(full());
    let output = child.output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), err.lines().count()), (Some(6), 1), "{err}");
    assert!(err.starts_with("wireproof: standard output cannot be written"), "{err}");
    let mut command = wireproof(dir.path());
    let (code, _, err) = outcome(command.arg("analyze").arg(&capture).args(["-o", "/dev/full"]));
    assert_eq!((code, err.lines().count()), (6, 1), "{err}");
    assert!(err.starts_with("wireproof: /dev/full cannot be written"), "{err}");
}

#[test]
fn the_table_keeps_to_the_columns_of_the_terminal() {
    let dir = tempfile::tempdir().unwrap();
    let capture = planted(dir.path(), "sacn-clean-17-sync");
    for (columns, width) in [("80", 80), ("120", 120), ("0", 100), ("wide", 100)] {
        let mut command = wireproof(dir.path());
        let (_, out, _) =
            outcome(command.env("COLUMNS", columns).arg("analyze").arg("sacn-clean-17-sync.pcap"));
        let widest = out.lines().rev().skip(1).map(|l| l.chars().count()).max().unwrap();
        assert!(widest <= width, "{columns}: {widest}\n{out}");
    }
    assert!(capture.exists());
}

#[test]
fn two_files_are_one_run_with_records_counted_on() {
    let dir = tempfile::tempdir().unwrap();
    let capture = planted(dir.path(), LOST);
    let run = |files: &[&std::path::Path]| -> Value {
        let mut command = wireproof(dir.path());
        serde_json::from_str(&outcome(command.args(["analyze", "--format", "json"]).args(files)).1).unwrap()
    };
    let (one, two) = (run(&[&capture]), run(&[&capture, &capture]));
    let packets = |v: &Value| v["source"]["packets"].as_u64().unwrap();
    assert_eq!(packets(&two), 2 * packets(&one));
    assert_eq!(two["datagrams"]["lighting"], 2 * one["datagrams"]["lighting"].as_u64().unwrap());
}

#[test]
fn an_output_file_holds_what_standard_output_would() {
    let dir = tempfile::tempdir().unwrap();
    let capture = planted(dir.path(), LOST);
    for format in ["table", "json", "jsonl", "csv", "markdown"] {
        let (_, out, _) =
            outcome(wireproof(dir.path()).arg("analyze").arg(&capture).args(["--format", format]));
        let mut command = wireproof(dir.path());
        command.arg("analyze").arg(&capture).args(["--format", format, "-o", "report"]);
        let (code, nothing, err) = outcome(&mut command);
        assert_eq!((code, nothing.as_str()), (1, ""), "{format}");
        assert!(err.starts_with("wireproof: FAIL: ") && err.lines().count() == 1, "{err}");
        assert_eq!(fs::read_to_string(dir.path().join("report")).unwrap(), out, "{format}");
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
}

#[test]
fn colour_follows_option_environment_and_terminal() {
    let dir = tempfile::tempdir().unwrap();
    let capture = planted(dir.path(), LOST);
    let rows: &[ColorRow] = &[
        (&[], &[], false),
        (&["--color", "always"], &[], true),
        (&["--color", "always"], &[("NO_COLOR", "1")], true),
        (&["--color", "never"], &[("CLICOLOR_FORCE", "1")], false),
        (&[], &[("CLICOLOR_FORCE", "1")], true),
        (&[], &[("CLICOLOR_FORCE", "0")], false),
        (&[], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false),
        (&[], &[("WIREPROOF_COLOR", "always")], true),
        (&["--color", "auto"], &[("WIREPROOF_COLOR", "always")], false),
        (&["--color", "always", "--format", "json"], &[], false),
    ];
    for (options, environment, colored) in rows {
        let mut command = wireproof(dir.path());
        command.arg("analyze").arg(&capture).args(*options).envs(environment.iter().copied());
        let (_, out, _) = outcome(&mut command);
        assert_eq!(out.contains('\u{1b}'), *colored, "{options:?} {environment:?}");
    }
}

#[test]
fn settings_come_from_command_line_environment_folder_and_user_in_that_order() {
    let dir = tempfile::tempdir().unwrap();
    let capture = planted(dir.path(), LOST);
    let user = dir.path().join("xdg/wireproof");
    fs::create_dir_all(&user).unwrap();
    let first = |environment: &[(&str, &str)], options: &[&str]| -> String {
        let mut command = wireproof(dir.path());
        command.env("XDG_CONFIG_HOME", dir.path().join("xdg")).envs(environment.iter().copied());
        let (_, out, err) = outcome(command.arg("analyze").arg(&capture).args(options));
        assert_eq!(err, "");
        out.chars().take(2).collect()
    };
    assert_eq!(first(&[], &[]), "FA");
    fs::write(user.join("config.toml"), "format = \"csv\"\n").unwrap();
    assert_eq!(first(&[], &[]), "in");
    fs::write(dir.path().join("wireproof.toml"), "format = \"markdown\"\n").unwrap();
    assert_eq!(first(&[], &[]), "# ");
    assert_eq!(first(&[("WIREPROOF_FORMAT", "json")], &[]), "{\n");
    assert_eq!(first(&[("WIREPROOF_FORMAT", "json")], &["--format", "jsonl"]), "{\"");
}

#[test]
fn strict_can_be_taken_back_above_the_layer_that_set_it() {
    let dir = tempfile::tempdir().unwrap();
    let capture = planted(dir.path(), "ddp-reorder");
    fs::write(dir.path().join("wireproof.toml"), "strict = true\n").unwrap();
    let run = |options: &[&str], environment: &[(&str, &str)]| {
        let mut command = wireproof(dir.path());
        command.arg("analyze").arg(&capture).args(options).envs(environment.iter().copied());
        outcome(&mut command)
    };
    let (strict, out, _) = run(&[], &[]);
    assert_eq!(strict, 1, "{out}");
    assert_eq!(run(&["--strict=false"], &[]).0, 0);
    assert_eq!(run(&[], &[("WIREPROOF_STRICT", "0")]).0, 0);
    assert_eq!(run(&["--strict"], &[("WIREPROOF_STRICT", "0")]).0, 1);
}

#[test]
fn anonymize_leaves_no_address_and_no_name() {
    let dir = tempfile::tempdir().unwrap();
    let capture = planted(dir.path(), LOST);
    let run = |options: &[&str]| outcome(wireproof(dir.path()).arg("analyze").arg(&capture).args(options)).1;
    let document: Value = serde_json::from_str(&run(&["--format", "json"])).unwrap();
    let stream = &document["streams"][0];
    let address = stream["source"].as_str().unwrap().split(':').next().unwrap();
    let secrets = [address, stream["sender"].as_str().unwrap(), LOST];
    for format in ["table", "json", "jsonl", "csv", "markdown"] {
        let text = run(&["--format", format, "--anonymize"]);
        for secret in secrets {
            assert!(!text.contains(secret), "{format} holds {secret}");
        }
    }
}

#[test]
fn a_reader_that_leaves_early_changes_no_exit_code() {
    let dir = tempfile::tempdir().unwrap();
    let capture = planted(dir.path(), LOST);
    let arguments = [(vec!["analyze", capture.to_str().unwrap()], 1), (vec!["explain"], 0), (vec!["man"], 0)];
    for (arguments, code) in arguments {
        let mut child = Command::new(env!("CARGO_BIN_EXE_wireproof"))
            .args(&arguments)
            .current_dir(dir.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
    }
}

#[test]
fn a_learned_rig_is_accepted_for_the_capture_it_was_learned_from() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["sacn-clean-1", "ddp-clean-6", "artnet-clean", "bigpacket-clean-6"] {
        let capture = planted(dir.path(), name);
        let mut learn = wireproof(dir.path());
        let (code, out, err) = outcome(learn.arg("learn").arg(&capture).args(["-o", "rig.toml"]));
        assert_eq!((code, out.as_str(), err.as_str()), (0, "", ""), "{name}");
        let rig = fs::read_to_string(dir.path().join("rig.toml")).unwrap();
        assert!(rig.starts_with("# Learned from "), "{rig}");
        let mut verify = wireproof(dir.path());
        let (code, out, _) = outcome(verify.arg("analyze").arg(&capture).args(["--rig", "rig.toml"]));
        assert_eq!(code, 0, "{name}\n{rig}\n{out}");
        assert!(!out.contains(" RIG-"), "{name}: {out}");
        let (octets, rest) = rig.split_once("octets_per_frame = ").unwrap();
        fs::write(dir.path().join("rig.toml"), format!("{octets}octets_per_frame = 1{rest}")).unwrap();
        let mut verify = wireproof(dir.path());
        let (_, out, _) = outcome(verify.arg("analyze").arg(&capture).args(["--rig", "rig.toml"]));
        assert!(out.contains(" RIG-"), "{name}: {out}");
    }
}

#[test]
fn a_slice_is_a_smaller_capture_that_shows_the_same_loss() {
    let dir = tempfile::tempdir().unwrap();
    let capture = planted(dir.path(), LOST);
    let summary = |file: &std::path::Path| -> Value {
        let mut command = wireproof(dir.path());
        serde_json::from_str(&outcome(command.args(["analyze", "--format", "json"]).arg(file)).1).unwrap()
    };
    let whole = summary(&capture);
    let findings = whole["findings"].as_array().unwrap();
    let id = findings.iter().find(|f| f["code"] == "SEQ-LOST").unwrap()["id"].as_str().unwrap();
    let mut slice = wireproof(dir.path());
    slice.arg("slice").arg(&capture).args(["--finding", id, "--around", "10f", "-o", "cut.pcapng"]);
    let (code, out, err) = outcome(&mut slice);
    assert_eq!((code, out.as_str(), err.lines().count()), (0, "", 1), "{err}");
    assert!(err.contains("written to cut.pcapng; analyze finds it there as f0"), "{err}");
    let cut = summary(&dir.path().join("cut.pcapng"));
    let packets = |v: &Value| v["source"]["packets"].as_u64().unwrap();
    assert!(packets(&cut) > 0 && packets(&cut) < packets(&whole), "{err}");
    assert!(cut["findings"].as_array().unwrap().iter().any(|f| f["code"] == "SEQ-LOST"), "{cut}");
}

#[test]
fn a_tape_made_beside_an_analysis_is_analysed_like_the_capture() {
    let dir = tempfile::tempdir().unwrap();
    let capture = planted(dir.path(), LOST);
    let (code, of_capture, err) = outcome(
        wireproof(dir.path()).arg("analyze").arg(&capture).args(["--tape", "a.tape", "--format", "json"]),
    );
    assert_eq!((code, err.as_str()), (1, ""), "{of_capture}");
    let (code, of_tape, err) = outcome(wireproof(dir.path()).args(["analyze", "a.tape", "--format", "json"]));
    assert_eq!((code, err.as_str()), (1, ""), "{of_tape}");
    let [mut a, mut b]: [Value; 2] = [of_capture, of_tape].map(|text| serde_json::from_str(&text).unwrap());
    for summary in [&mut a, &mut b] {
        let source = summary["source"].as_object_mut().unwrap();
        source.remove("name");
        source.remove("link_types");
    }
    assert_eq!(a, b);
    let packed = fs::File::create(dir.path().join("a.tape.zst")).unwrap();
    zstd::stream::copy_encode(fs::File::open(dir.path().join("a.tape")).unwrap(), packed, 1).unwrap();
    let (code, ..) = outcome(wireproof(dir.path()).args(["analyze", "a.tape.zst"]));
    assert_eq!(code, 1);
}

#[test]
fn a_tape_is_refused_where_packets_are_needed_and_where_it_would_replace_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let capture = planted(dir.path(), LOST);
    outcome(wireproof(dir.path()).arg("analyze").arg(&capture).args(["--tape", "a.tape"]));
    let name = capture.to_str().unwrap();
    let refused: [(&[&str], i32, &str); 10] = [
        (&["analyze", "a.tape", "--tape", "b.tape"], 2, "holds no octets"),
        (&["slice", "a.tape", "--finding", "f0001", "-o", "x.pcapng"], 6, "is a tape"),
        (&["analyze", name, "--tape", name], 2, "input and output at once"),
        (&["analyze", name, "--tape", "x", "-o", "x"], 2, "--tape and -o"),
        (&["analyze", name, "--tape", "x", "--anonymize"], 2, "cannot be used with"),
        (&["observe", "--tape", "x", "--anonymize"], 2, "cannot be used with"),
        (&["observe", "-w", "x.pcapng", "--anonymize"], 2, "cannot be used with"),
        (&["analyze", name, "--tape", "-"], 2, "--tape needs a file"),
        (&["analyze", name, "--tape", "no/such/x"], 6, "cannot be written"),
        (&["analyze", name, "--tape", "/dev/full"], 6, "the tape ended early"),
    ];
    for (arguments, expected, words) in refused {
        let (code, _, err) = outcome(wireproof(dir.path()).args(arguments));
        assert_eq!((code, err.lines().count()), (expected, 1), "{arguments:?} {err}");
        assert!(err.contains(words), "{arguments:?} {err}");
    }
}

/// The first part of a planted capture, cut inside of a record.
fn cut(folder: &std::path::Path, name: &str) -> std::path::PathBuf {
    let whole = fs::read(planted(folder, "sacn-clean-17-sync")).unwrap();
    let path = folder.join(name);
    fs::write(&path, &whole[..whole.len() / 2 + 7]).unwrap();
    path
}

#[test]
fn a_cut_capture_is_a_warning_in_every_format_and_fails_with_strict() {
    let dir = tempfile::tempdir().unwrap();
    cut(dir.path(), "cut.pcap");
    let run = |more: &[&str]| {
        outcome(wireproof(dir.path()).env("COLUMNS", "300").args(["analyze", "cut.pcap"]).args(more))
    };
    let (code, out, err) = run(&["--format", "json"]);
    assert!(code == 0 && err.contains("cut.pcap is damaged"), "{code} {err}");
    let record: Value = serde_json::from_str(&out).unwrap();
    let findings = record["findings"].as_array().unwrap();
    let damaged: Vec<&Value> = findings.iter().filter(|f| f["code"] == "CAP-DAMAGED").collect();
    assert_eq!(damaged.len(), 1, "{findings:?}");
    let [found, source] = [damaged[0], &record["source"]];
    assert_eq!((&found["text"], &found["severity"]), (&source["damaged"], &Value::from("warning")));
    assert_eq!((&found["first_packet"], &found["first_ns"]), (&source["packets"], &record["last_ns"]));
    let text = found["text"].as_str().unwrap();
    for format in ["table", "markdown", "csv", "jsonl", "junit", "html"] {
        let (code, out, _) = run(&["--format", format]);
        assert_eq!(code, 0, "{format}");
        assert!(format == "csv" || out.contains("CAP-DAMAGED") && out.contains(text), "{format}: {out}");
    }
    let head = run(&["--format", "html"]).1;
    let head = head.split("</header>").next().unwrap();
    assert!(head.contains("The capture is damaged") && head.contains(text), "{head}");
    let (code, out, _) = run(&["--strict"]);
    assert_eq!(code, 1, "{out}");
    assert!(out.lines().last().unwrap().contains("VERDICT FAIL: 1 violation, first f"), "{out}");
    let junit = run(&["--strict", "--format", "junit"]).1;
    assert!(junit.contains("failures=\"1\"") && junit.contains("CAP-DAMAGED"), "{junit}");
}

#[test]
fn each_damaged_file_of_a_run_has_a_finding_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    cut(dir.path(), "a.pcap");
    planted(dir.path(), "ddp-drop-one");
    cut(dir.path(), "c.pcap");
    let files = ["a.pcap", "ddp-drop-one.pcap", "c.pcap"];
    let (_, out, _) = outcome(wireproof(dir.path()).arg("analyze").args(files).args(["--format", "json"]));
    let record: Value = serde_json::from_str(&out).unwrap();
    let findings = record["findings"].as_array().unwrap().iter().filter(|f| f["code"] == "CAP-DAMAGED");
    let texts: Vec<&str> = findings.map(|f| f["text"].as_str().unwrap()).collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(texts[0].starts_with("file 1 of 3: ") && texts[1].starts_with("file 3 of 3: "), "{texts:?}");
    let (code, _, _) = outcome(wireproof(dir.path()).args(["analyze", "--anonymize"]).args(files));
    assert_eq!(code, 1);
}

#[test]
fn a_tape_that_another_process_writes_is_refused_and_stays_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    planted(dir.path(), LOST);
    let path = dir.path().join("t.tape");
    fs::write(&path, "written by another").unwrap();
    let other = fs::OpenOptions::new().write(true).open(&path).unwrap();
    other.try_lock().unwrap();
    let run = || outcome(wireproof(dir.path()).args(["analyze", "sacn-drop-one.pcap", "--tape", "t.tape"]));
    let (code, out, err) = run();
    assert_eq!((code, out.as_str(), err.lines().count()), (6, "", 1), "{err}");
    assert!(err.contains("another process is writing it"), "{err}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "written by another");
    for option in ["-w", "--tape"] {
        let mut command = wireproof(dir.path());
        let (code, out, err) = outcome(command.args([
            "observe",
            "-q",
            "--udp",
            "127.0.0.1:0",
            "--duration",
            "1s",
            option,
            "t.tape",
        ]));
        assert_eq!((code, out.as_str(), err.lines().count()), (6, "", 1), "{err}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "written by another");
    }
    drop(other);
    assert_eq!(run().0, 1);
}

#[test]
fn a_series_of_rotated_files_that_another_process_writes_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    for number in ["0001", "0007"] {
        fs::write(dir.path().join(format!("w.{number}.pcapng")), "written by another").unwrap();
    }
    let other = fs::OpenOptions::new().write(true).open(dir.path().join("w.0007.pcapng")).unwrap();
    other.try_lock().unwrap();
    let run = || {
        let rotating = ["-w", "w.pcapng", "--rotate", "1GiB"];
        let mut command = wireproof(dir.path());
        outcome(command.args(["observe", "-q", "--udp", "127.0.0.1:0", "--duration", "10ms"]).args(rotating))
    };
    let (code, _, err) = run();
    assert_eq!((code, err.lines().count()), (6, 1), "{err}");
    assert!(err.contains("w.0007.pcapng"), "{err}");
    assert_eq!(fs::read_to_string(dir.path().join("w.0001.pcapng")).unwrap(), "written by another");
    drop(other);
    assert_eq!(run().0, 0);
}
