//! Tests of the table.

use super::*;
use crate::summary::sample;

fn rendered(color: bool) -> String {
    let mut out = Vec::new();
    write(&sample::summary(), Style { color }, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_verdict_stands_first_and_last() {
    let text = rendered(false);
    assert!(text.starts_with("FAIL  "), "{text}");
    let last = text.lines().last().unwrap();
    assert!(last.starts_with("VERDICT FAIL: 2 violations, first f0002 SEQ-LOST: "), "{last}");
}

#[test]
fn no_control_character_of_a_name_reaches_the_terminal() {
    let text = rendered(false);
    assert!(!text.chars().any(|c| c != '\n' && crate::text::is_unsafe(c)), "{text:?}");
}

#[test]
fn colour_adds_escapes_and_changes_no_word() {
    let plain = rendered(false);
    let colored = rendered(true);
    assert!(colored.contains("\x1b[1;31mFAIL\x1b[0m"));
    let mut stripped = colored;
    for code in ["31", "32", "33", "36"] {
        stripped = stripped.replace(&format!("\x1b[1;{code}m"), "");
    }
    assert_eq!(stripped.replace("\x1b[0m", ""), plain);
}

#[test]
fn findings_stand_with_the_worst_first() {
    let text = rendered(false);
    let place = |id: &str| text.find(&format!("\n{id} ")).unwrap();
    assert!(place("f0002") < place("f0003"));
    assert!(place("f0003") < place("f0001"));
}

#[test]
fn a_finding_names_its_owner_time_and_evidence() {
    let text = rendered(false);
    assert!(text.contains("f0002 violation SEQ-LOST x3  owner unknown 5  stream 0\n"), "{text}");
    assert!(text.contains("    packet 12 at 2023-11-14T22:13:20.123456Z\n"), "{text}");
    assert!(text.contains("    expected 8, got 13, offset 111\n"), "{text}");
}

#[test]
fn the_header_tells_damage_drops_and_kinds() {
    let text = rendered(false);
    assert!(text.contains("damage     cut inside record 1194\n"));
    assert!(text.contains("dropped    9 by the capture itself\n"));
    assert!(text.contains("kinds      sacn/data 1182, sacn/discovery 11\n"));
    assert!(text.contains("capture    show\\u{1b}.pcapng\n"));
    assert!(text.contains("span       100.055894 s, 2023-11-14T22:13:20.000000Z to "));
}

#[test]
fn an_open_loss_shows_as_a_range() {
    assert!(rendered(false).contains(" 0..16 "));
}

#[test]
fn an_empty_run_still_makes_a_table() {
    let account = wireproof_protocols::verify::Account::default();
    let summary = Summary::new(&account, crate::Source::default(), crate::Observer::default());
    let mut out = Vec::new();
    write(&summary, Style::default(), &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains("span       no packets\n"));
    assert!(text.ends_with("VERDICT PASS: no lighting datagrams, nothing was judged\n"));
}
