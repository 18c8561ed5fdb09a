//! Tests of the rig file.

use super::*;
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use std::net::IpAddr;
use wireproof_reports::waiver::Scope;

const GOOD: &str = r#"
[[output]]
name = "pole-b"
protocol = "sacn"
source = "10.0.0.5"
sender = "0cde5d2f-1111-2222-3333-444455556666"
streams = "1-16,40"
datagrams_per_frame = 17
octets_per_frame = 8640
rate_hz = 59.94
rate_tolerance_percent = 2.5
sync = 7000
on_change = true
"#;

fn refusal(text: &str) -> (usize, String, String) {
    match parse("rig.toml", text) {
        Err(RigError::Content { line, field, problem, .. }) => (line, field, problem),
        other => panic!("{other:?}"),
    }
}

/// The good file with one line replaced, the way a user gets one line wrong.
fn spoiled(key: &str, line: &str) -> String {
    let lines = GOOD.lines().map(|l| if l.starts_with(key) { line } else { l });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn every_field_is_read() {
    let rig = parse("rig.toml", GOOD).unwrap();
    let output = &rig.outputs[0];
    assert_eq!(output.name, "pole-b");
    assert_eq!(output.protocol, Protocol::Sacn);
    assert_eq!(output.source, Some("10.0.0.5".parse().unwrap()));
    assert_eq!(output.sender.unwrap()[..4], [0x0c, 0xde, 0x5d, 0x2f]);
    assert_eq!(output.streams.len(), 17);
    assert_eq!(output.datagrams_per_frame, Some(17));
    assert_eq!(output.octets_per_frame, Some(8640));
    assert_eq!(output.rate_mhz, Some((59_940, 25)));
    assert_eq!(output.sync, Some(7000));
    assert!(output.on_change);
}

#[test]
fn an_unknown_key_names_line_and_allowed_keys() {
    let (line, field, problem) = refusal(&spoiled("streams", "universes = \"1-16\""));
    assert_eq!((line, field.as_str()), (7, "universes"));
    assert!(problem.contains("unknown field `universes`, expected one of `name`"), "{problem}");
}

#[test]
fn every_bad_value_names_its_line_field_and_what_is_allowed() {
    let cases = [
        ("protocol", "protocol = \"dmx\"", 4, "allowed are sacn, ddp, artnet, bigpacket, kinet"),
        ("source", "source = \"10.0.0.5:5568\"", 5, "without a port"),
        ("sender", "sender = \"0cde5d2f\"", 6, "allowed is 01234567-"),
        ("sender", "sender = \"+cde5d2f-1111-2222-3333-444455556666\"", 6, "is no CID"),
        ("streams", "streams = \"0-3\"", 7, "allowed are 1 to 63999"),
        ("streams", "streams = \"3-1\"", 7, "write 1-3"),
        ("streams", "streams = \"\"", 7, "allowed are numbers and ranges"),
        ("streams", "streams = 4", 7, "expected a string"),
        ("datagrams_per_frame", "datagrams_per_frame = 0", 8, "0 is not allowed"),
        ("datagrams_per_frame", "datagrams_per_frame = -1", 8, "expected u32"),
        ("rate_hz", "rate_hz = nan", 10, "allowed are 0.001 to 1000000"),
        ("rate_hz", "rate_hz = 0", 10, "allowed are 0.001 to 1000000"),
        ("rate_hz", "", 11, "needs a rate_hz"),
        ("sync", "sync = 0", 12, "allowed are 1 to 63999"),
        ("on_change", "on_change = 1", 13, "expected a boolean"),
        ("name", "name = \"\"", 3, "needs a name"),
    ];
    for (key, line, number, allowed) in cases {
        let (at, field, problem) = refusal(&spoiled(key, line));
        assert_eq!(at, number, "{line}: {problem}");
        assert!(problem.contains(allowed), "{line}: {problem}");
        if !line.is_empty() {
            assert_eq!(field, key, "{line}");
        }
        assert!(!problem.contains('\n'));
    }
}

#[test]
fn keys_of_another_protocol_are_refused() {
    let ddp = GOOD.replace("\"sacn\"", "\"ddp\"");
    let (line, field, problem) = refusal(&ddp);
    assert_eq!((line, field.as_str()), (6, "sender"));
    assert!(problem.contains("ddp has no CID"), "{problem}");
}

#[test]
fn a_missing_key_and_broken_toml_are_refused_on_one_line() {
    assert!(refusal(&spoiled("streams", "")).2.contains("missing field `streams`"));
    for broken in ["[[output", "x", "= 1", "a = \"\u{1}\"", "[severity]\nx = "] {
        assert!(!refusal(broken).2.contains('\n'), "{broken}");
    }
}

#[test]
fn two_outputs_of_one_name_are_refused() {
    let (line, _, problem) = refusal(&format!("{GOOD}{GOOD}"));
    assert_eq!(line, 16);
    assert!(problem.contains("name of an earlier output"), "{problem}");
}

#[test]
fn severities_are_read_and_unknown_codes_refused() {
    let Some(rule) = registry::rules().next() else { panic!("no rules") };
    let rig = parse("rig.toml", &format!("[severity]\n\"{}\" = \"info\"", rule.code)).unwrap();
    assert_eq!(rig.severities, [(rule.code.to_owned(), Severity::Info)]);
    let (line, field, problem) = refusal("[severity]\n\"SEQ-NONE\" = \"info\"");
    assert_eq!((line, field.as_str()), (2, "\"SEQ-NONE\""));
    assert!(problem.contains("no rule has this code"), "{problem}");
    let (line, _, problem) = refusal(&format!("[severity]\n\"{}\" = \"fatal\"", rule.code));
    assert_eq!(line, 2);
    assert!(problem.contains("allowed are info, warning, violation"), "{problem}");
}

fn dice(random: &mut ChaCha8Rng, sides: u32) -> u32 {
    random.next_u32() % sides
}

fn some_name(random: &mut ChaCha8Rng, index: u32) -> String {
    let marks = ["\"", "\\", "\n", "\u{1b}[31m", "\u{9b}", "#", "灯", "\u{202e}", " = ", "'", "\u{7f}", "\0"];
    let mut name = format!("pole-{index}");
    for _ in 0..dice(random, 6) {
        name.push_str(marks[dice(random, marks.len() as u32) as usize]);
    }
    name
}

fn some_output(random: &mut ChaCha8Rng, index: u32) -> RigOutput {
    let protocol = PROTOCOLS[dice(random, 5) as usize];
    let sacn = protocol == Protocol::Sacn;
    let mut streams: Vec<u32> = (0..1 + dice(random, 30)).map(|_| 1 + dice(random, 200)).collect();
    streams.sort_unstable();
    streams.dedup();
    let mut cid = [0; 16];
    random.fill_bytes(&mut cid);
    let address = IpAddr::from(random.next_u32().to_be_bytes());
    RigOutput {
        name: some_name(random, index),
        protocol,
        source: (dice(random, 2) == 0).then_some(address),
        destination: (dice(random, 3) == 0).then(|| std::net::IpAddr::from([10, 0, 0, 9])),
        sender: (sacn && dice(random, 2) == 0).then_some(cid),
        streams,
        datagrams_per_frame: (dice(random, 2) == 0).then(|| 1 + dice(random, 1000)),
        octets_per_frame: (dice(random, 2) == 0).then(|| 1 + u64::from(random.next_u32())),
        rate_mhz: (dice(random, 2) == 0)
            .then(|| (1 + u64::from(dice(random, 1_000_000_000)), u64::from(dice(random, 1001)))),
        sync: (sacn && dice(random, 2) == 0).then(|| 1 + dice(random, 63_999) as u16),
        on_change: dice(random, 2) == 0,
    }
}

#[test]
fn any_rig_survives_being_written_and_read() {
    for seed in 0..300 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let outputs = (0..dice(&mut random, 5)).map(|i| some_output(&mut random, i)).collect();
        let mut severities: Vec<(String, Severity)> = registry::rules()
            .filter(|_| dice(&mut random, 10) == 0)
            .map(|r| (r.code.to_owned(), Severity::Warning))
            .collect();
        severities.sort();
        severities.dedup();
        let rig = Rig { outputs, severities };
        let text = to_toml(&rig, &["learned from \u{1b}\nx".to_owned()]);
        assert_eq!(parse("rig.toml", &text).unwrap(), rig, "seed {seed}\n{text}");
        assert!(!text.chars().any(|c| c != '\n' && is_control(c)), "seed {seed}");
    }
}

fn is_control(c: char) -> bool {
    wireproof_reports::text::is_unsafe(c)
}

#[test]
fn a_rig_that_asks_for_nothing_is_refused() {
    for text in ["", "# a comment\n"] {
        assert!(refusal(text).2.contains("wireproof learn"), "{text:?}");
    }
}

const WAIVER: &str = r#"
[[waiver]]
code = "SEQ-LOST"
output = "pole-b"
streams = "1-3,40"
max = 3
reason = "switch 3 drops; ticket 17"
expires = 2026-12-31
"#;

#[test]
fn a_waiver_is_read_with_the_keys_of_an_output_or_an_expression() {
    let file = parse_whole("rig.toml", &format!("{GOOD}{WAIVER}"), Layouts::default()).unwrap();
    let [waiver] = file.waivers.as_slice() else { panic!("{:?}", file.waivers) };
    assert_eq!((waiver.code, waiver.reason.as_str()), ("SEQ-LOST", "switch 3 drops; ticket 17"));
    assert_eq!(waiver.expires.to_string(), "2026-12-31");
    let Scope::Streams(filter) = &waiver.scope else { panic!("{waiver:?}") };
    assert_eq!(filter.text(), "output == \"pole-b\" && stream_id in [1..3, 40]");
    let by_where = WAIVER
        .replace("output = \"pole-b\"\n", "")
        .replace("streams = \"1-3,40\"", "where = 'universe == 7'")
        .replace("2026-12-31", "\"2026-12-31\"");
    let file = parse_whole("rig.toml", &by_where, Layouts::default()).unwrap();
    assert!(matches!(&file.waivers[0].scope, Scope::Streams(f) if f.text() == "universe == 7"));
    assert_eq!(file.rig, Rig::default());
    let of_capture = by_where.replace("where = 'universe == 7'", "capture = true");
    assert_eq!(
        parse_whole("rig.toml", &of_capture, Layouts::default()).unwrap().waivers[0].scope,
        Scope::Capture
    );
}

#[test]
fn every_bad_waiver_names_its_line_and_what_is_allowed() {
    let cases = [
        ("code", "code = \"OBS-LOST\"", 3, "never waived"),
        ("code", "code = \"INVALID\"", 3, "never waived"),
        ("code", "code = \"integrity\"", 3, "never waived"),
        ("code", "code = \"SEQ-\"", 3, "is no code"),
        ("output", "output = \"pole-c\"", 4, "no [[output]] is called"),
        ("output", "where = \"universe == 7\"", 3, "in one way"),
        ("output", "capture = true", 3, "in one way"),
        ("streams", "streams = \"3-1\"", 5, "write 1-3"),
        ("max", "max = 0", 3, "0 waives nothing"),
        ("max", "max_per_hour = 3", 3, "give max instead of max_per_hour"),
        ("max", "", 3, "give the most it covers"),
        ("reason", "reason = \" \"", 7, "needs a reason"),
        ("expires", "expires = 2026-12-31T00:00:00Z", 8, "without a time"),
        ("expires", "expires = \"soon\"", 8, "such as 2026-12-31"),
        ("expires", "expires = 2026-02-30", 8, "invalid"),
        ("expires", "expire = 2026-12-31", 8, "unknown field `expire`"),
        ("reason", "", 2, "missing field `reason`"),
        ("expires", "", 2, "missing field `expires`"),
    ];
    for (key, line, number, allowed) in cases {
        let lines = WAIVER.lines().map(|l| if l.starts_with(key) { line } else { l });
        let waiver = lines.collect::<Vec<_>>().join("\n");
        let (at, _, problem) = refusal(&format!("{waiver}\n{GOOD}"));
        assert!(problem.contains(allowed), "{line}: {problem}");
        assert_eq!(at, number, "{line}: {problem}");
        assert!(!problem.contains('\n'));
    }
    let bare = WAIVER.replace("output = \"pole-b\"\nstreams = \"1-3,40\"", "where = 'unverse == 7'");
    let (line, _, problem) = refusal(&bare);
    assert_eq!(line, 4);
    assert!(
        problem.starts_with("where, column 1: \"unverse\" is no field of a stream; known are"),
        "{problem}"
    );
}
