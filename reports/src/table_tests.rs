//! Tests of the table.

use super::*;
use crate::summary::sample;

fn rendered(color: bool) -> String {
    let mut out = Vec::new();
    write(&sample::summary(), Style { color, ..Style::default() }, &mut out).unwrap();
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
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("VERDICT PASS: no lighting datagrams, nothing was judged: with --rig"), "{text}");
    assert!(text.ends_with("is a violation"), "{text}");
}

/// The sample with `n` more losses on the streams 0 to `n - 1`.
fn with_losses(n: usize) -> Summary {
    let mut summary = sample::summary();
    let loss = summary.findings.iter().find(|f| f.code == "SEQ-LOST").unwrap().clone();
    for i in 0..n {
        let (id, packet) = (format!("f{:04}", 100 + i), 100 + i as u64);
        let more = crate::summary::Finding { id, stream: Some(i), first_packet: packet, ..loss.clone() };
        summary.findings.push(more);
    }
    summary
}

fn table(summary: &Summary, width: usize) -> String {
    let mut out = Vec::new();
    write(summary, Style { width, ..Style::default() }, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn many_findings_of_one_code_are_one_entry_with_the_first_few_places() {
    let text = table(&with_losses(17), 100);
    let entry = "f0002 violation SEQ-LOST x54 in 18 findings  owner unknown 90  streams 0-16\n";
    assert!(text.contains(entry), "{text}");
    assert!(text.contains("    f0002 packet 12 at ") && text.contains("    f0101 packet 101 at "), "{text}");
    assert!(text.contains("    and 15 more, the last is f0116\n"), "{text}");
    assert_eq!(text.matches("SEQ-LOST").count(), 3, "{text}");
}

#[test]
fn few_findings_of_one_code_stand_alone() {
    let text = table(&with_losses(2), 100);
    assert!(!text.contains("folded") && text.contains("\nf0101 violation SEQ-LOST x3 "), "{text}");
}

#[test]
fn tainted_findings_are_not_folded_with_others() {
    let mut summary = with_losses(8);
    summary.findings.iter_mut().filter(|f| f.id.as_str() >= "f0104").for_each(|f| f.tainted = true);
    let text = table(&summary, 100);
    assert!(text.contains(" in 5 findings  owner unknown 25  streams 0-3\n"), "{text}");
    assert!(
        text.contains(" in 4 findings  owner unknown 20  streams 4-7  tainted by capture loss\n"),
        "{text}"
    );
}

#[test]
fn lines_stay_within_the_width_but_for_the_last() {
    for width in [80, 100, 120] {
        let text = table(&with_losses(17), width);
        let lines: Vec<&str> = text.lines().collect();
        for line in &lines[..lines.len() - 1] {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
}
