//! `wireproof layouts`, and `--layout` of other verbs: the walk through of the documentation step by step, the captures at
//! hand read by layouts and by hand, and what is said of bad files.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

mod cli_support;

use cli_support::{outcome, planted, wireproof};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn skipped(test: &str, why: &str) {
    let _ =
        std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("SKIPPED {test}: {why} is absent\n"));
}

/// Blocks of the documentation in this language, in order, those of the reference left out.
fn blocks(language: &str) -> Vec<String> {
    let text = include_str!("../../docs/layouts.md");
    let walk = text.split("\n## Every key").next().unwrap();
    let fence = format!("```{language}\n");
    walk.split(&fence).skip(1).map(|rest| rest.split("\n```").next().unwrap().to_owned() + "\n").collect()
}

fn run(dir: &Path, arguments: &str) -> (i32, String, String) {
    outcome(wireproof(dir).args(arguments.split(' ')))
}

fn json(dir: &Path, arguments: &str) -> (i32, Value) {
    let (code, out, err) = run(dir, &format!("{arguments} --format json"));
    (code, serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {err}")))
}

fn codes(summary: &Value) -> Vec<(String, u64)> {
    let of = |f: &Value| (f["code"].as_str().unwrap().to_owned(), f["count"].as_u64().unwrap());
    let mut codes: Vec<_> = summary["findings"].as_array().unwrap().iter().map(of).collect();
    codes.sort();
    codes
}

#[test]
fn the_documentation_leads_from_an_empty_file_to_a_pass() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let sender = blocks("python").remove(0);
    fs::write(dir.join("pixnet.py"), sender).unwrap();
    let made = Command::new("python3").arg("pixnet.py").current_dir(dir).status();
    if !made.is_ok_and(|status| status.success()) {
        return skipped("the_documentation_leads_from_an_empty_file_to_a_pass", "python3");
    }
    assert!(run(dir, "analyze pixnet.pcap").1.contains("no lighting datagrams, nothing was judged"));

    let layout = dir.join("pixnet.toml");
    fs::write(&layout, "").unwrap();
    let (code, _, said) = run(dir, "layouts check pixnet.toml");
    assert_eq!((code, said), (2, blocks("text").remove(0)), "what the documentation shows of an empty file");

    let mut text = String::new();
    let steps = blocks("toml");
    assert_eq!(steps.len(), 5);
    for (number, step) in steps.iter().enumerate() {
        text += &format!("{step}\n");
        if number == 3 {
            fs::write(&layout, &text).unwrap();
            let (code, _, said) = run(dir, "layouts check pixnet.toml");
            assert!(
                code == 2 && said.contains("at_footer: the field ends at octet 4 of the footer, which has 0")
            );
            text = text.replacen("header_len = 12\n", "header_len = 12\nfooter_len = 4\n", 1);
        }
        fs::write(&layout, &text).unwrap();
        assert_eq!(run(dir, "layouts check pixnet.toml"), (0, String::new(), String::new()), "step {number}");
        let (code, summary) = json(dir, "analyze pixnet.pcap --layout pixnet.toml");
        assert_eq!(code, 0, "step {number}");
        assert_eq!(summary["datagrams"]["by_kind"]["layout:pixnet"], 900);
    }
    passes(dir);
    finds_what_was_planted(dir);
    is_replayed(dir);
    is_cut_by_filter(dir);
    is_set_by_file_and_variable(dir);
}

fn is_replayed(dir: &Path) {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = socket.local_addr().unwrap();
    let replay = format!("replay pixnet.pcap --speed 0 --to {to}");
    let (code, _, said) = run(dir, &replay);
    assert!(code == 6 && said.contains("--layout FILE knows another one"), "{said}");
    let (code, account) = json(dir, &format!("{replay} --layout pixnet.toml"));
    assert_eq!((code, &account["datagrams"]), (0, &Value::from(900)), "{account}");
    let mut first = [0; 2048];
    let octets = socket.recv(&mut first).unwrap();
    assert_eq!((octets, &first[..7]), (1216, &b"PX\x01\x04\0\0\0"[..]), "the payload is as captured");
    let (code, _, said) = run(dir, &format!("{replay} --layout pixnet.toml --all"));
    assert!(code == 2 && said.contains("cannot be used with"), "{said}");
}

fn is_cut_by_filter(dir: &Path) {
    let cut = |expression: &str| {
        let mut command = wireproof(dir);
        command.args([
            "slice",
            "pixnet.pcap",
            "--layout",
            "pixnet.toml",
            "-o",
            "cut.pcapng",
            "--where",
            expression,
        ]);
        outcome(&mut command)
    };
    for expression in
        ["protocol == layout:pixnet", "layout == pixnet && stream_id == 4", "kind == layout:pixnet"]
    {
        let (code, _, said) = cut(expression);
        assert!(code == 0 && said.contains("900 records of 1 of 1 streams"), "{expression}: {said}");
        let (code, summary) = json(dir, "analyze cut.pcapng --layout pixnet.toml");
        assert_eq!((code, &summary["datagrams"]["by_kind"]["layout:pixnet"]), (0, &Value::from(900)));
        fs::remove_file(dir.join("cut.pcapng")).unwrap();
    }
    let (code, _, said) = cut("protocol == layout:other");
    assert!(
        code == 2 && said.contains("none of the 1 streams of pixnet.pcap fits protocol == layout:other"),
        "{said}"
    );
    assert!(!dir.join("cut.pcapng").exists());
    let mut command = wireproof(dir);
    command.args(["analyze", "pixnet.pcap", "--layout", "pixnet.toml", "--format", "json", "--where"]);
    let (code, out, _) = outcome(command.arg("protocol == layout:pixnet"));
    let summary: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &summary["streams"][0]["datagrams"]), (0, &Value::from(900)));
    let (code, _, said) = run(dir, "slice pixnet.pcap -o cut.pcapng");
    assert!(code == 2 && said.contains("--finding"), "{said}");
    let (code, _, said) = run(dir, "slice pixnet.pcap --where port==7100 --around 2s -o cut.pcapng");
    assert!(code == 2 && said.contains("cannot be used with"), "{said}");
}

fn is_set_by_file_and_variable(dir: &Path) {
    let kinds = |(code, out, said): (i32, String, String)| {
        let summary: Value = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{code} {e}: {said}"));
        summary["datagrams"]["by_kind"].clone()
    };
    let analyze = ["analyze", "../pixnet.pcap", "--format", "json"];
    let below = dir.join("below");
    fs::create_dir(&below).unwrap();
    fs::create_dir_all(dir.join(".config/wireproof")).unwrap();
    fs::write(dir.join(".config/wireproof/config.toml"), "layout = [\"../../pixnet.toml\", \"bigpacket\"]\n")
        .unwrap();
    let here = |more: &[&str]| {
        let mut command = wireproof(&below);
        command.env("HOME", dir).args(more);
        command
    };
    let want = serde_json::json!({ "layout:pixnet": 900 });
    assert_eq!(kinds(outcome(&mut here(&analyze))), want, "the user's file");
    let (code, shown, said) = outcome(&mut here(&["config", "show"]));
    let line = shown.lines().find(|line| line.starts_with("layout ")).unwrap_or_else(|| panic!("{said}"));
    assert!(code == 0 && line.contains("pixnet.toml,bigpacket") && line.ends_with("config.toml"), "{line}");
    fs::write(below.join("wireproof.toml"), "layout = [\"artdmx\"]\n").unwrap();
    assert_eq!(
        kinds(outcome(&mut here(&analyze))),
        serde_json::json!({}),
        "the file of the folder is stronger"
    );
    assert_eq!(
        kinds(outcome(here(&analyze).env("WIREPROOF_LAYOUT", "../pixnet.toml"))),
        want,
        "the variable"
    );
    assert_eq!(kinds(outcome(here(&analyze).args(["--layout", "../pixnet.toml"]))), want, "the command line");
    fs::write(below.join("wireproof.toml"), "layout = [\"absent.toml\"]\n").unwrap();
    let (code, out, said) = outcome(&mut here(&analyze));
    assert!(code == 6 && out.is_empty() && said.contains("absent.toml cannot be read"), "{said}");
    let (_, template, _) = run(dir, "config template");
    assert!(
        template.contains("# --layout, WIREPROOF_LAYOUT; default: none\n#layout = [\"my-protocol.toml\"]"),
        "{template}"
    );
}

fn passes(dir: &Path) {
    let (_, summary) = json(dir, "analyze pixnet.pcap --layout pixnet.toml");
    assert_eq!((&summary["verdict"], codes(&summary)), (&Value::from("pass"), Vec::new()));
    let stream = &summary["streams"][0];
    assert_eq!((&stream["protocol"], &stream["kind"]), (&Value::from("layout:pixnet"), &Value::from("data")));
    assert_eq!((&stream["stream_id"], &stream["sequence"]["lost"]), (&Value::from(4), &Value::from(0)));
    assert_eq!(stream["sequence"]["model"], "per-frame 0..65535");
    let frames = &stream["frames"];
    assert_eq!((&frames["seen"], &frames["complete"]), (&Value::from(300), &Value::from(300)));
    assert!(
        run(dir, "analyze pixnet.pcap --layout pixnet.toml")
            .1
            .contains("3 datagrams and 2880 octets a frame")
    );
}

fn finds_what_was_planted(dir: &Path) {
    let shell = blocks("sh").into_iter().find(|block| block.contains("faulty.pcap")).unwrap();
    let python = shell.split("<<'END'\n").nth(1).unwrap().split("\nEND\n").next().unwrap();
    assert!(Command::new("python3").args(["-c", python]).current_dir(dir).status().unwrap().success());
    let want = [("FRAME-TORN".to_owned(), 1), ("LAYOUT-L15".to_owned(), 1), ("SEQ-LOST".to_owned(), 1)];
    let (code, summary) = json(dir, "analyze faulty.pcap --layout pixnet.toml");
    assert_eq!((code, codes(&summary)), (1, want.to_vec()));

    assert_eq!(run(dir, "learn pixnet.pcap --layout pixnet.toml -o rig.toml").0, 0);
    let (code, _) = json(dir, "analyze pixnet.pcap --layout pixnet.toml --rig rig.toml");
    assert_eq!(code, 0, "the rig fits the capture it was learned from");
    let (code, _, said) = run(dir, "analyze faulty.pcap --rig rig.toml");
    assert!(code == 2 && said.contains("give its layout with --layout"), "{said}");
    assert_eq!(run(dir, "slice faulty.pcap --layout pixnet.toml --finding f0001 -o f0001.pcapng").0, 0);
    let (_, cut) = json(dir, "analyze f0001.pcapng --layout pixnet.toml");
    assert!(codes(&cut).iter().any(|(code, _)| code == "FRAME-TORN"));

    assert_eq!(run(dir, "analyze faulty.pcap --layout pixnet.toml --tape t.tape --exit-zero").0, 0);
    let (_, taped) = json(dir, "analyze t.tape --layout pixnet.toml");
    assert_eq!(taped["findings"], summary["findings"], "a tape tells the same");
    let (code, _, said) = run(dir, "analyze t.tape");
    assert!(code == 2 && said.contains("layout:pixnet; give the layout that it was made with"), "{said}");
    let (code, out, _) = run(dir, "compare pixnet.pcap faulty.pcap --layout pixnet.toml");
    assert!(code == 0 && out.contains("layout:pixnet"), "{out}");
}

/// Everything of a summary's streams but the names of protocol and kind.
fn streams(summary: &Value) -> Vec<Value> {
    let mut all = summary["streams"].as_array().unwrap().clone();
    for stream in &mut all {
        stream["protocol"] = Value::Null;
        stream["kind"] = Value::Null;
    }
    all
}

/// The two readings of a capture: equal streams, numbers, losses and frames.
fn alike(dir: &Path, capture: &Path, name: &str, hand: &str) -> Result<u64, String> {
    let path = capture.display();
    let (_, by_hand) = json(dir, &format!("analyze {path}"));
    let (_, by_layout) = json(dir, &format!("analyze {path} --layout {name}"));
    let (want, got) = (streams(&by_hand), streams(&by_layout));
    let count = |summary: &Value, kind: &str| summary["datagrams"]["by_kind"][kind].as_u64().unwrap_or(0);
    let read = count(&by_layout, &format!("layout:{name}"));
    if read != count(&by_hand, hand) {
        return Err(format!("{path}: {read} datagrams, {} by hand", count(&by_hand, hand)));
    }
    let unlike = want.iter().zip(&got).find(|(a, b)| a != b);
    match unlike {
        Some((a, b)) => Err(format!("{path}: {a}\n{b}")),
        None if want.len() != got.len() => Err(format!("{path}: {} streams, {}", want.len(), got.len())),
        None => Ok(read),
    }
}

#[test]
fn the_captures_at_hand_read_the_same_by_layout() {
    let captures = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/captures"));
    if !captures.is_dir() {
        return skipped("the_captures_at_hand_read_the_same_by_layout", "../shared");
    }
    let folder = tempfile::tempdir().unwrap();
    let golden = captures.join("../golden/protocols.pcap");
    let mut files = vec![golden];
    for sub in ["captures", "fixtures", "third_party_senders"] {
        files.extend(fs::read_dir(captures.join(sub)).unwrap().map(|entry| entry.unwrap().path()));
    }
    files.sort();
    let (mut problems, mut read) = (Vec::new(), [0, 0]);
    for file in files.iter().filter(|file| file.is_file()) {
        for (at, (name, hand)) in
            [("bigpacket", "bigpacket/chunk"), ("artdmx", "artnet/ArtDmx")].iter().enumerate()
        {
            match alike(folder.path(), file, name, hand) {
                Ok(datagrams) => read[at] += datagrams,
                Err(problem) => problems.push(problem),
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(read.iter().all(|n| *n > 0), "no capture holds such datagrams: {read:?}");
}

#[test]
fn a_planted_loss_has_the_same_owner_by_layout() {
    let folder = tempfile::tempdir().unwrap();
    for (case, name, hand) in [
        ("bigpacket-drop-one", "bigpacket", "bigpacket/chunk"),
        ("artnet-drop-one", "artdmx", "artnet/ArtDmx"),
    ] {
        let capture: PathBuf = planted(folder.path(), case);
        assert!(alike(folder.path(), &capture, name, hand).unwrap() > 0, "{case}");
    }
}

#[test]
fn the_shipped_layouts_are_listed_shown_and_sound() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let (code, list) = json(dir, "layouts list");
    assert_eq!((code, &list["schema"]), (0, &Value::from("wireproof.layouts/1")));
    let names: Vec<&str> =
        list["layouts"].as_array().unwrap().iter().map(|l| l["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["artdmx", "bigpacket", "tpm2net", "wled-dnrgb"]);
    assert_eq!(list["layouts"][1]["ports"], serde_json::json!([21_600]));
    for name in names {
        let (code, text, _) = run(dir, &format!("layouts show {name}"));
        fs::write(dir.join("own.toml"), text).unwrap();
        assert_eq!((code, run(dir, "layouts check own.toml")), (0, (0, String::new(), String::new())));
    }
    let (_, table, _) = run(dir, "layouts list --layout own.toml");
    assert!(table.contains("ports 21600, any by magic") && table.contains("own.toml"), "{table}");
}

#[test]
fn every_fault_of_every_file_is_a_line_and_nothing_is_judged() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    fs::write(dir.join("a.toml"), "name = \"A\"\nheader_len = 0\n").unwrap();
    fs::write(dir.join("b.toml"), "name = \n").unwrap();
    let (code, out, said) = run(dir, "layouts check a.toml b.toml");
    assert_eq!((code, out.as_str(), said.lines().count()), (2, "", 4), "{said}");
    assert!(
        said.contains("a.toml, line 2: layout, header_len: is 0: write a whole number, 1 to 512"),
        "{said}"
    );
    assert!(said.contains("b.toml, line 1: layout: is no TOML"), "{said}");
    let (code, out, again) = run(dir, "analyze nothing.pcap --layout a.toml --layout b.toml");
    assert_eq!((code, out, again), (2, String::new(), said));
    fs::write(dir.join("c.toml"), [0xff, 0xfe]).unwrap();
    assert_eq!(run(dir, "layouts check c.toml").0, 2);
    let (code, _, said) = run(dir, "layouts check absent.toml");
    assert!(code == 6 && said.contains("absent.toml cannot be read"), "{said}");
    let (code, _, said) = run(dir, "analyze nothing.pcap --layout bigpacket --layout bigpacket");
    assert!(code == 2 && said.contains("--layout gives bigpacket twice"), "{said}");
    fs::write(dir.join("d.toml"), "x".repeat(100_000)).unwrap();
    let (code, _, said) = run(dir, "layouts check d.toml");
    assert!(code == 2 && said.contains("longer than 64 KiB"), "{said}");
}

#[test]
fn the_encoder_of_a_layout_is_benched_beside_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let arguments =
        "bench --encoders bigpacket --layout bigpacket --layout tpm2net --blocks 6 --backend contiguous";
    let (code, record) = json(folder.path(), arguments);
    assert_eq!(code, 0);
    let row = |e: &Value| (e["name"].as_str().unwrap().to_owned(), e["identical"].as_bool().unwrap());
    let rows: Vec<_> = record["encoders"].as_array().unwrap().iter().map(row).collect();
    let want = ["bigpacket", "layout:bigpacket", "layout:tpm2net"].map(|name| (name.to_owned(), true));
    assert_eq!(rows, want);
}
