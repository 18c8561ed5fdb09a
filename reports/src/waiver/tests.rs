//! Tests of waivers: what they cover, their limits and days, what can never be waived, and what every format says.

use super::*;
use crate::filter::Filter;
use crate::summary::sample;
use crate::{Format, Observer, Source, Style, Summary, Terms, Verdict, render};
use wireproof_protocols::Severity;
use wireproof_protocols::verify::rig::Rig;
use wireproof_protocols::verify::{Account, Finding, Options, Owners};

/// Noon of 2026-06-30, UTC.
const NOON_NS: i64 = 1_782_820_800_000_000_000;
const HOUR_NS: i64 = 3_600_000_000_000;

fn loss(id: &str, count: u64) -> Finding {
    let owners = Some(Owners { unknown: count, ..Owners::default() });
    Finding { count, proven: count, owners, ..sample::finding(id, "SEQ-LOST") }
}

fn run(findings: Vec<Finding>) -> Account {
    let mut account = sample::account();
    (account.first_ns, account.last_ns) = (Some(NOON_NS - HOUR_NS / 2), Some(NOON_NS));
    for stream in &mut account.streams {
        stream.sequence.lost_min = stream.sequence.lost;
    }
    account.findings = findings;
    account
}

fn waiver(code: &'static str, streams: &str, most: Most) -> Waiver {
    Waiver {
        code,
        scope: Scope::Streams(Filter::parse(streams).unwrap()),
        most,
        reason: "known since March".to_owned(),
        expires: Day::parse("2026-06-30").unwrap(),
    }
}

fn judged(mut account: Account, waivers: Vec<Waiver>, options: Options) -> Summary {
    let settled = Terms { filter: None, waivers, options }.settle(&mut account);
    Summary::settled(&account, Source::default(), Observer::default(), false, settled)
}

fn plain(account: Account, waivers: Vec<Waiver>) -> Summary {
    judged(account, waivers, Options::default())
}

#[test]
fn what_is_waived_stays_and_does_not_count() {
    let s = plain(run(vec![loss("f0001", 3)]), vec![waiver("SEQ-LOST", "universe == 1", Most::InAll(3))]);
    assert_eq!(s.verdict, Verdict::Pass);
    assert_eq!(s.reason, "nothing found; 1 finding waived");
    assert_eq!((s.findings.len(), s.findings[0].severity.as_str()), (1, "violation"));
    assert_eq!(s.findings[0].waiver, Some(0));
    assert_eq!((s.totals.findings.violation, s.totals.findings.waived), (0, 1));
    let w = &s.waivers[0];
    assert_eq!((w.id.as_str(), w.state, w.used, w.allowed), ("w1", WaiverState::Used, 3, 3));
    assert_eq!((w.expires.as_str(), w.findings.as_slice()), ("2026-06-30", &["f0001".to_owned()][..]));
}

#[test]
fn one_more_than_the_limit_and_all_of_it_counts() {
    let account = run(vec![loss("f0001", 2), loss("f0002", 2)]);
    let s = plain(account, vec![waiver("SEQ-LOST", "universe == 1", Most::InAll(3))]);
    assert_eq!(s.verdict, Verdict::Fail);
    assert!(s.reason.starts_with("2 violations"), "{}", s.reason);
    assert_eq!(s.waivers[0].state, WaiverState::Exceeded);
    let said = &s.findings[2];
    assert_eq!((said.code.as_str(), said.severity.as_str()), ("RIG-WAIVER-EXCEEDED", "info"));
    assert_eq!(said.text, "waiver w1 of SEQ-LOST covers 3, and 4 were found: all of them count");
}

#[test]
fn the_last_day_counts_and_the_day_after_does_not() {
    let waivers = || vec![waiver("SEQ-LOST", "universe == 1", Most::InAll(3))];
    let mut account = run(vec![loss("f0001", 3)]);
    account.last_ns = Some(NOON_NS + 12 * HOUR_NS - 1);
    assert_eq!(plain(account.clone(), waivers()).verdict, Verdict::Pass);
    account.last_ns = Some(NOON_NS + 12 * HOUR_NS);
    let s = plain(account.clone(), waivers());
    assert_eq!((s.verdict, s.waivers[0].state), (Verdict::Fail, WaiverState::Expired));
    assert_eq!(s.findings[0].waiver, None);
    let said = &s.findings[1];
    assert_eq!((said.code.as_str(), said.severity.as_str()), ("RIG-WAIVER-EXPIRED", "warning"));
    assert_eq!(said.text, "waiver w1 of SEQ-LOST (universe == 1) ended on 2026-06-30: 3 count");
}

#[test]
fn strict_makes_a_violation_of_an_expired_waiver_and_the_rig_can_take_it_back() {
    let mut account = run(Vec::new());
    account.last_ns = Some(NOON_NS + 24 * HOUR_NS);
    let waivers = || vec![waiver("SEQ-LOST", "universe == 1", Most::InAll(3))];
    let strict = Options { strict: true, ..Options::default() };
    assert_eq!(judged(account.clone(), waivers(), strict.clone()).verdict, Verdict::Fail);
    let severities = vec![("RIG-WAIVER-EXPIRED".to_owned(), Severity::Info)];
    let options = Options { rig: Some(Rig { severities, ..Rig::default() }), ..strict };
    assert_eq!(judged(account, waivers(), options).verdict, Verdict::Pass);
}

#[test]
fn a_waiver_covers_its_code_and_streams_and_nothing_else() {
    let other = Finding { stream: Some(1), ..loss("f0002", 1) };
    let torn = Finding { ..sample::finding("f0003", "FRAME-TORN") };
    let account = run(vec![loss("f0001", 1), other, torn]);
    let s = plain(account, vec![waiver("SEQ-LOST", "protocol == sacn", Most::InAll(9))]);
    assert_eq!(s.findings.iter().map(|f| f.waiver).collect::<Vec<_>>(), [Some(0), None, None]);
    assert_eq!(s.verdict, Verdict::Fail);
}

#[test]
fn an_unused_waiver_is_said_and_harms_nothing() {
    let s = plain(run(Vec::new()), vec![waiver("SEQ-LOST", "universe == 99", Most::InAll(3))]);
    assert_eq!((s.verdict, s.waivers[0].state), (Verdict::Pass, WaiverState::Unused));
    assert_eq!(s.findings[0].code, "RIG-WAIVER-UNUSED");
    assert!(s.findings[0].text.contains("matched nothing"), "{}", s.findings[0].text);
}

#[test]
fn the_first_waiver_that_is_not_over_takes_a_finding() {
    let mut old = waiver("SEQ-LOST", "universe == 1", Most::InAll(9));
    old.expires = Day::parse("2026-06-29").unwrap();
    let new = waiver("SEQ-LOST", "protocol == sacn", Most::InAll(9));
    let s = plain(run(vec![loss("f0001", 1)]), vec![old, new.clone(), new]);
    assert_eq!(s.findings[0].waiver, Some(1));
    let states: Vec<WaiverState> = s.waivers.iter().map(|w| w.state).collect();
    assert_eq!(states, [WaiverState::Expired, WaiverState::Used, WaiverState::Unused]);
}

#[test]
fn what_the_capture_or_the_observer_lost_is_never_waived() {
    let tainted = Finding { tainted: true, ..loss("f0001", 1) };
    let waivers = || vec![waiver("SEQ-LOST", "protocol == *", Most::InAll(9))];
    assert_eq!(plain(run(vec![tainted]), waivers()).verdict, Verdict::Inconclusive);
    let owners = Some(Owners { observer: 1, ..Owners::default() });
    let own = Finding { owners, ..loss("f0001", 1) };
    let mut account = run(vec![own]);
    account.observer.socket = 1;
    let s = plain(account, waivers());
    assert_eq!((s.verdict, s.findings[0].waiver), (Verdict::Invalid, None));
    for bad in ["OBS-LOST", "obs-stall", "INVALID", "invalid"] {
        assert!(code(bad).unwrap_err().contains("never waived"), "{bad}");
    }
    for bad in ["RING-CRC", "Integrity", "rig-waiver-expired"] {
        assert!(code(bad).unwrap_err().contains("never waived"), "{bad}");
    }
    assert_eq!(code("seq-lost"), Ok("SEQ-LOST"));
    for bad in ["SEQ-", "*", "", "SEQ-LOST2"] {
        assert!(code(bad).unwrap_err().contains("is no code"), "{bad}");
    }
}

#[test]
fn a_waived_loss_that_is_not_proven_leaves_no_doubt_behind() {
    let ambiguous = Finding {
        severity: Severity::Warning,
        proven: 0,
        ..Finding { code: "SEQ-AMBIGUOUS", ..loss("f0001", 16) }
    };
    let mut account = run(vec![ambiguous]);
    (account.streams[0].sequence.lost, account.streams[0].sequence.lost_min) = (16, 0);
    assert_eq!(plain(account.clone(), Vec::new()).verdict, Verdict::Inconclusive);
    let s = plain(account, vec![waiver("SEQ-AMBIGUOUS", "universe == 1", Most::InAll(16))]);
    assert_eq!((s.verdict, s.reason.as_str()), (Verdict::Pass, "nothing found; 1 finding waived"));
}

#[test]
fn an_hourly_limit_is_for_the_length_of_the_run_and_never_for_a_loss() {
    let dup = |count| Finding { count, owners: None, ..sample::finding("f0001", "SEQ-DUPLICATE") };
    let waivers = || vec![waiver("SEQ-DUPLICATE", "universe == 1", Most::PerHour(3))];
    // Half an hour: 1.5, rounded up.
    assert_eq!(plain(run(vec![dup(2)]), waivers()).waivers[0].state, WaiverState::Used);
    assert_eq!(plain(run(vec![dup(3)]), waivers()).waivers[0].state, WaiverState::Exceeded);
    assert_eq!(most("SEQ-DUPLICATE", None, Some(3)), Ok(Most::PerHour(3)));
    for code in LOSSES {
        assert!(most(code, None, Some(3)).unwrap_err().contains("give max instead"), "{code}");
    }
    assert!(most("SEQ-LATE", Some(1), Some(1)).unwrap_err().contains("either"));
    assert!(most("SEQ-LATE", None, None).unwrap_err().contains("give the most"));
    assert!(most("SEQ-LATE", Some(0), None).unwrap_err().contains("0 waives nothing"));
}

#[test]
fn days_are_read_and_written() {
    assert_eq!(Day::of(NOON_NS).to_string(), "2026-06-30");
    assert_eq!(Day::parse("2026-06-30"), Some(Day::of(NOON_NS)));
    assert_eq!(Day::of(-1).to_string(), "1969-12-31");
    for bad in
        ["2026-02-30", "2026-6-30", "30.06.2026", "", "2026-06-30T00:00:00Z", "1969-01-01", "9999-12-31"]
    {
        assert_eq!(Day::parse(bad), None, "{bad}");
    }
}

#[test]
fn findings_without_a_stream_are_of_the_capture() {
    let step = || Finding { stream: None, owners: None, ..sample::finding("f0001", "TIME-CLOCK-STEP") };
    let of = |scope: Scope| Waiver { scope, ..waiver("TIME-CLOCK-STEP", "protocol == *", Most::InAll(9)) };
    let everything = Scope::Streams(Filter::parse("protocol == *").unwrap());
    assert_eq!(plain(run(vec![step()]), vec![of(everything)]).waivers[0].state, WaiverState::Unused);
    assert_eq!(plain(run(vec![step()]), vec![of(Scope::Capture)]).waivers[0].state, WaiverState::Used);
}

#[test]
fn every_format_names_waivers_and_the_filter() {
    let mut account = run(vec![loss("f0001", 3)]);
    let filter = Some(Filter::parse("protocol == sacn").unwrap());
    let waivers = vec![waiver("SEQ-LOST", "universe == 1", Most::InAll(3))];
    let settled = Terms { filter, waivers, options: Options::default() }.settle(&mut account);
    let s = Summary::settled(&account, Source::default(), Observer::default(), false, settled);
    assert_eq!(s.reason, "nothing found; 1 finding waived (filtered, 1 of 2 streams where protocol == sacn)");
    for format in Format::ALL {
        let mut out = Vec::new();
        render(&s, format, Style::default(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("protocol == sacn"), "{}: {text}", format.name());
        if format != Format::Csv {
            assert!(text.contains("known since March"), "{}: {text}", format.name());
            assert!(text.contains("2026-06-30"), "{}: {text}", format.name());
        }
    }
    let mut out = Vec::new();
    render(&s, Format::Junit, Style::default(), &mut out).unwrap();
    let junit = String::from_utf8(out).unwrap();
    assert!(junit.contains("failures=\"0\" errors=\"0\" skipped=\"1\""), "{junit}");
    assert!(
        junit.contains("<skipped message=\"waived by w1 until 2026-06-30: known since March\""),
        "{junit}"
    );
}

#[test]
fn a_filter_that_nothing_fits_is_no_pass() {
    let mut account = run(Vec::new());
    let filter = Some(Filter::parse("universe == 4711").unwrap());
    let settled = Terms { filter, ..Terms::default() }.settle(&mut account);
    let s = Summary::settled(&account, Source::default(), Observer::default(), false, settled);
    assert_eq!(s.verdict, Verdict::Inconclusive);
    assert!(s.reason.starts_with("no stream fits the filter, nothing was judged"), "{}", s.reason);
}
