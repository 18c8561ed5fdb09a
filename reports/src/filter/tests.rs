//! Tests of the filter: meaning, errors with their place, hostile input, and what of an account goes and stays.

use super::*;
use crate::summary::sample;
use std::borrow::Cow;
use wireproof_protocols::Protocol;
use wireproof_protocols::verify::rig::RigOutput;
use wireproof_protocols::verify::{Account, Missing};

/// A stream of sACN from 10.0.0.5, universe 7, priorities 100 and 150.
struct Desk;

impl Subject for Desk {
    fn value(&self, field: Field) -> Known<'_> {
        let texts = |list: &[&'static str]| Known::Texts(list.iter().map(|t| Cow::Borrowed(*t)).collect());
        match field {
            Field::Protocol => texts(&["sacn"]),
            Field::Kind => texts(&["data", "sacn/data"]),
            Field::Source => texts(&["10.0.0.5", "10.0.0.5:5568"]),
            Field::Destination => texts(&["239.255.0.7", "239.255.0.7:5568"]),
            Field::Sender => texts(&["0cde5d2f-1111-2222-3333-444455556666"]),
            Field::Name => texts(&["Desk \"A\" *"]),
            Field::Output => Known::Nothing,
            Field::Layout => texts(&[]),
            Field::Port => Known::Numbers(vec![5568]),
            Field::SourcePort => Known::Numbers(vec![49_152]),
            Field::StreamId | Field::Universe => Known::Numbers(vec![7]),
            Field::Priority => Known::Numbers(vec![100, 150]),
        }
    }
}

fn fits(text: &str) -> Option<bool> {
    Filter::parse(text).unwrap_or_else(|e| panic!("{text}: {e}")).fits(&Desk)
}

#[test]
fn an_expression_means_what_it_says() {
    let yes = [
        "protocol == sacn && universe in 1..12",
        "protocol != ddp",
        "universe == 7",
        "universe == 0x7",
        "universe in [1, 3..5, 7]",
        "universe in (7)",
        "stream_id < 8 and stream_id >= 7 and not stream_id > 7",
        "universe in 7",
        "source == 10.0.0.*",
        "source == 10.0.0.5:5568",
        "source in [10.0.0.4, '10.0.0.5']",
        "destination == \"239.255.?.7\"",
        "sender == 0CDE5D2F-*",
        "name == 'desk \"a\" ?'",
        r#"name == "Desk \"A\" \*""#,
        "kind == data && kind == sacn/data",
        "priority > 120",
        "priority <= 100",
        "port == 5568 || port == 4048",
        "!(protocol == ddp || universe == 8)",
        "PROTOCOL == SACN",
        "layout != x",
        "protocol != layout:x",
        "protocol in [LAYOUT:x, sacn]",
        "protocol == '*'",
    ];
    let no = [
        "protocol == ddp",
        "universe in 8..12",
        "universe != 7",
        "source == 10.0.0.50",
        "source == 10.0.0.5:55",
        "sender == 0cde",
        r#"name == "Desk \"A\" \?""#,
        "priority > 150",
        "priority != 100",
        "layout == *",
        "protocol == layout:*",
        "protocol == '*:x'",
        "port == 4048 || universe == 1 && protocol == sacn",
        "! universe == 7",
    ];
    for text in yes {
        assert_eq!(fits(text), Some(true), "{text}");
    }
    for text in no {
        assert_eq!(fits(text), Some(false), "{text}");
    }
}

#[test]
fn what_is_not_known_decides_nothing_that_the_rest_does_not() {
    assert_eq!(fits("output == a"), None);
    assert_eq!(fits("!(output == a)"), None);
    assert_eq!(fits("output == a && universe == 8"), Some(false));
    assert_eq!(fits("output == a && universe == 7"), None);
    assert_eq!(fits("output == a || universe == 7"), Some(true));
    assert_eq!(fits("output == a || universe == 8"), None);
}

#[test]
fn every_error_stands_under_the_place_it_is_about_and_says_what_is_allowed() {
    let cases = [
        ("protocol == sacn && unviverse in 1..12", "unviverse", "known are protocol, kind, source"),
        ("protocol == sacm", "sacm", "known are sacn, ddp, artnet, bigpacket, kinet, layout:NAME"),
        ("protocol == layout", "layout", "known are sacn, ddp, artnet, bigpacket, kinet, layout:NAME"),
        (
            "source == 10.0.0.0/24",
            "10.0.0.0/24",
            "is a network, and source an address; write such as 10.0.0.*",
        ),
        ("universe == seven", "seven", "universe is a number"),
        ("universe == 1*", "1*", "universe is a number"),
        ("universe in 12..1", "12..1", "write 1..12"),
        ("universe in [1, 2", "", "expected , or ] here"),
        ("universe in [1 2]", "2", "expected , or ] here"),
        ("name < 3", "<", "allowed are ==, != and in"),
        ("name = x", "=", "write =="),
        ("port == 1 & port == 2", "&", "write &&"),
        ("port == 1 | port == 2", "|", "write ||"),
        ("port == 1 port == 2", "port", "expected && or ||"),
        ("(port == 1", "", "expected ) here"),
        ("port", "", "expected ==, !=, <, <=, >, >= or in after port"),
        ("name == ", "", "expected a value of name"),
        ("name == \"x", "\"", "not closed"),
        ("name == $x", "$", "in quotes"),
        ("", "", "expected a field here"),
        ("port < 0", "0", "no number is below 0"),
        ("port > 18446744073709551615", "18446744073709551615", "no number is above"),
        ("port == 18446744073709551616", "18446744073709551616", "port is a number"),
    ];
    for (text, marked, said) in cases {
        let error = Filter::parse(text).unwrap_err();
        assert!(error.problem.contains(said), "{text}: {}", error.problem);
        assert_eq!(text.get(error.at.clone()), Some(marked), "{text}");
        let [line, carets] = error.shown();
        let column = carets.chars().take_while(|c| *c == ' ').count();
        let under: String = line.chars().skip(column).take(marked.chars().count()).collect();
        assert_eq!(under, marked, "{text}");
    }
}

#[test]
fn the_caret_stays_right_behind_wide_and_hostile_characters() {
    let long = format!("name == '{}\u{1b}灯' && nme == x", "x".repeat(300));
    let [line, carets] = Filter::parse(&long).unwrap_err().shown();
    let column = carets.chars().take_while(|c| *c == ' ').count();
    assert_eq!(line.chars().skip(column).take(3).collect::<String>(), "nme");
    assert_eq!(carets.trim_start(), "^^^");
    assert!(line.chars().count() <= 90 && !line.contains('\u{1b}'));
}

#[test]
fn depth_and_length_are_bounded() {
    let nested = |n: usize| format!("{}port == 1{}", "(".repeat(n), ")".repeat(n));
    assert!(Filter::parse(&nested(DEPTH_MAX - 1)).is_ok());
    assert!(Filter::parse(&nested(DEPTH_MAX)).unwrap_err().problem.contains("deeper than 32"));
    assert!(Filter::parse(&"!".repeat(4_000)).unwrap_err().problem.contains("deeper than 32"));
    let long = format!("name == {}", "x".repeat(LENGTH_MAX));
    assert!(Filter::parse(&long).unwrap_err().problem.contains("more than the 4096"));
    assert!(Filter::parse(&long[..LENGTH_MAX]).is_ok());
}

#[test]
fn no_text_of_the_signs_of_the_language_panics() {
    const PARTS: [&str; 18] =
        ["port", "==", "in", "1", "..", "[", "]", "(", ")", "!", "&&", "||", "\"", "'", "\\", "灯", ",", " "];
    let mut state = 1_u64;
    for _ in 0..200_000 {
        let mut text = String::new();
        for _ in 0..state % 9 {
            // Knuth's multiplier for MMIX.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text.push_str(PARTS[(state >> 33) as usize % PARTS.len()]);
        }
        state = state.wrapping_add(1);
        match Filter::parse(&text) {
            Ok(filter) => drop(filter.fits(&Desk)),
            Err(error) => drop((error.shown(), error.to_string())),
        }
    }
}

#[test]
fn a_pattern_of_many_stars_takes_no_time() {
    let pattern = Pattern::of(&"*a".repeat(2_000));
    assert!(!pattern.fits(&"a".repeat(1_999)));
    assert!(pattern.fits(&"a".repeat(2_000)));
}

fn rig() -> RigOutput {
    RigOutput {
        name: "pole".to_owned(),
        protocol: Protocol::Sacn,
        source: Some("10.0.0.5".parse().unwrap()),
        destination: None,
        sender: None,
        streams: vec![1, 2, 3],
        datagrams_per_frame: None,
        octets_per_frame: None,
        rate_mhz: None,
        sync: None,
        on_change: false,
    }
}

#[test]
fn an_address_whose_port_is_not_known_fits_perhaps() {
    let output = rig();
    let fits = |text: &str| Filter::parse(text).unwrap().fits(&DeclaredStream { output: &output, id: 1 });
    assert_eq!(fits("source == 10.0.0.5"), Some(true));
    assert_eq!(fits("source == 10.0.*"), Some(true));
    assert_eq!(fits("source == 10.0.0.5:5568"), None);
    assert_eq!(fits("source == *:5568"), None);
    assert_eq!(fits("source == 10.0.0.50"), Some(false));
    assert_eq!(fits("name == x"), None);
    assert_eq!(fits("output == pole && universe == 1"), Some(true));
}

/// Two streams of two protocols, findings on each and on neither.
fn account() -> Account {
    let mut account = sample::account();
    let missing = verify_finding("f0003", "RIG-MISSING", None);
    account.findings = vec![
        verify_finding("f0001", "SEQ-LOST", Some(0)),
        verify_finding("f0002", "SEQ-DUPLICATE", Some(1)),
        wireproof_protocols::verify::Finding {
            missing: Some(Missing { output: 0, streams: vec![2, 3] }),
            count: 2,
            ..missing
        },
        verify_finding("f0004", "OBS-STALL", None),
    ];
    account
}

fn verify_finding(
    id: &str,
    code: &'static str,
    stream: Option<usize>,
) -> wireproof_protocols::verify::Finding {
    wireproof_protocols::verify::Finding { stream, ..sample::finding(id, code) }
}

fn ids(account: &Account) -> Vec<&str> {
    account.findings.iter().map(|f| f.id.as_str()).collect()
}

#[test]
fn streams_go_with_their_findings_and_what_belongs_to_nobody_stays() {
    let mut left = account();
    let told = filter(&mut left, &Filter::parse("protocol == ddp").unwrap(), &[rig()]);
    assert_eq!((told.streams, told.streams_left_out, told.findings_left_out), (1, 1, 2));
    assert_eq!(ids(&left), ["f0002", "f0004"]);
    assert_eq!(left.findings[0].stream, Some(0));
    assert_eq!(left.streams[0].protocol, Protocol::Ddp);
    for (at, stream) in left.streams.iter().enumerate() {
        let output = stream.output.and_then(|o| left.outputs.get(o));
        assert!(output.is_none_or(|o| o.streams.contains(&at)));
    }
}

#[test]
fn a_declared_stream_is_missed_where_it_may_fit() {
    let mut left = account();
    filter(&mut left, &Filter::parse("universe == 3 && name == x").unwrap(), &[rig()]);
    assert_eq!(ids(&left), ["f0003", "f0004"]);
    assert_eq!(
        (left.findings[0].count, left.findings[0].text.as_str()),
        (1, "output pole: 1 of 3 streams were not seen: 3")
    );
    let mut left = account();
    filter(&mut left, &Filter::parse("universe == 9").unwrap(), &[rig()]);
    assert_eq!(ids(&left), ["f0004"]);
}

#[test]
fn a_filter_that_everything_fits_changes_nothing() {
    let mut left = account();
    let told = filter(&mut left, &Filter::parse("protocol == *").unwrap(), &[rig()]);
    assert_eq!((told.streams_left_out, told.findings_left_out), (0, 0));
    assert_eq!(format!("{left:?}"), format!("{:?}", account()));
}
