//! Tests of the tables: what is written comes back, anything else is refused.

use super::*;
use crate::matrix::measured::Row as Counters;

fn written(body: impl FnOnce(&mut dyn io::Write) -> io::Result<()>) -> Vec<u8> {
    let mut out = Vec::new();
    body(&mut out).unwrap();
    out
}

fn odd() -> String {
    "a \"b\", c\né".to_owned()
}

fn owned() -> Owners {
    Owners { sender: 1, wire: 2, observer: 3, upstream: 4, ambiguous: u64::MAX }
}

#[test]
fn frames_come_back_as_they_were_written() {
    let span = Span { start_ns: i64::MIN, end_ns: i64::MAX };
    let frames =
        [FrameSpan { id: 0, span: Span { start_ns: 1, end_ns: 2 } }, FrameSpan { id: u32::MAX, span }];
    let text = written(|out| write_frames(out, &frames));
    assert!(text.starts_with(b"id,start_ns,end_ns\n0,1,2\n"));
    assert_eq!(read_frames(&text).unwrap(), frames);
}

#[test]
fn episodes_drains_and_streams_come_back_as_they_were_written() {
    let span = Span { start_ns: -5, end_ns: 7 };
    let episodes = [Episode { stream: odd(), span, missing: 9, owners: owned() }];
    assert_eq!(read_episodes(&written(|out| write_episodes(out, &episodes))).unwrap(), episodes);
    let good = ArmDrain {
        planned_ns: 1,
        bench: span,
        device: Span { start_ns: 3, end_ns: 4 },
        real: true,
        failed: None,
        bytes: 6_295_552,
        sha256: Some("ab".to_owned()),
    };
    let bad = ArmDrain { real: false, failed: Some(odd()), sha256: None, ..good.clone() };
    let drains = [good, bad];
    assert_eq!(read_drains(&written(|out| write_drains(out, &drains))).unwrap(), drains);
    let streams = [WireStream {
        id: odd(),
        datagrams: 1,
        frames: 2,
        first_ns: 3,
        last_ns: 4,
        lost: 5,
        owners: owned(),
        duplicates: 6,
        reordered: 7,
        shape: 8,
        foreign: 9,
        jitter_ns: [10, 11, 12],
        payload: BTreeMap::new(),
    }];
    assert_eq!(read_wire(&written(|out| write_wire(out, &streams))).unwrap(), streams);
}

#[test]
fn a_counter_that_the_platform_lacks_is_empty_and_comes_back_as_none() {
    let rows = [Counters { at_ns: 5, nic_dropped: Some(3), ..Counters::default() }];
    let text = written(|out| write_rows(out, rows));
    assert!(text.ends_with(b"\n5,0,0,,,3,,\n"));
    assert_eq!(read_rows::<Counters>(&text).unwrap(), rows);
}

#[test]
fn the_summary_has_a_row_for_every_metric_of_every_attempt() {
    let values =
        BTreeMap::from([("frame.p95".to_owned(), Number(5.5)), ("wire.lost".to_owned(), Number(0.0))]);
    let arm = |name: &str| ArmRow {
        name: name.to_owned(),
        stratum: String::new(),
        block: 1,
        position: 1,
        treatment: "raw".to_owned(),
        attempt: 1,
        state: "ok".to_owned(),
        reasons: Vec::new(),
        notes: Vec::new(),
        counted: true,
        values: values.clone(),
    };
    let rows = summary_rows(&[arm("b01-p1-raw-a1"), arm("b01-p1-raw-a2")]);
    let text = written(|out| write_rows(out, rows.clone()));
    let lines: Vec<&str> = std::str::from_utf8(&text).unwrap().lines().collect();
    assert_eq!(lines.len(), 5);
    assert_eq!(lines[1], "b01-p1-raw-a1,,1,1,raw,1,ok,true,frame.p95,5.5");
    assert_eq!(lines[4], "b01-p1-raw-a2,,1,1,raw,1,ok,true,wire.lost,0");
    assert_eq!(read_rows::<SummaryRow>(&text).unwrap(), rows);
}

#[test]
fn a_table_without_rows_has_its_header() {
    let text = written(|out| write_drains(out, &[]));
    assert_eq!(read_drains(&text).unwrap(), []);
    assert_eq!(read_drains(b"").unwrap_err().line, 1);
}

#[test]
fn a_column_elsewhere_or_a_value_of_another_kind_is_refused_with_its_line() {
    let moved = read_frames(b"start_ns,id,end_ns\n1,0,2\n").unwrap_err();
    assert_eq!(moved.to_string(), "line 1: columns are 'id,start_ns,end_ns'");
    for (text, line) in [
        ("id,start_ns,end_ns\n0,1,2\n0,x,2\n", 3),
        ("id,start_ns,end_ns\n0,1\n", 2),
        ("id,start_ns,end_ns\n0,1,2,3\n", 2),
        ("id,start_ns,end_ns\n4294967296,1,2\n", 2),
    ] {
        assert_eq!(read_frames(text.as_bytes()).unwrap_err().line, line, "{text}");
    }
}

#[test]
fn findings_are_one_a_line_and_come_back() {
    let finding = Finding {
        severity: "warning".to_owned(),
        arm: Some(Place { stratum: 0, block: 1, position: 2, treatment: 1, attempt: 1 }),
        stream: None,
        at_ns: Some(-1),
        code: "drops_with_drains".to_owned(),
        text: odd(),
        evidence: vec!["drains.csv".to_owned()],
    };
    let text = written(|out| write_findings(out, &[finding.clone(), finding.clone()]));
    assert_eq!(text.iter().filter(|octet| **octet == b'\n').count(), 2);
    assert_eq!(read_findings(&text).unwrap(), [finding.clone(), finding]);
    assert_eq!(read_findings(b"{}\n").unwrap_err().line, 1);
}

#[test]
fn a_full_disk_is_known_as_one_behind_a_table() {
    struct Full;
    impl io::Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let frame = FrameSpan { id: 0, span: Span::default() };
    let error = write_frames(&mut Full, &[frame; 5000]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    assert_eq!(write_frames(&mut Full, &[]).unwrap_err().kind(), io::ErrorKind::StorageFull);
}
