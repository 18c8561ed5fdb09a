//! Hand-made accounts for the tests of this crate.

use super::*;
use wireproof_protocols::verify::{Bars, Timeline, *};
use wireproof_protocols::{Protocol, Severity};

/// A finding of severity violation.
pub(crate) fn finding(id: &str, code: &'static str) -> verify::Finding {
    verify::Finding {
        id: id.to_owned(),
        code,
        severity: Severity::Violation,
        stream: Some(0),
        count: 3,
        first_packet: 12,
        first_ns: 1_700_000_000_123_456_000,
        since_ns: 1_700_000_000_123_456_000,
        proven: 0,
        residue: 0,
        last_ns: 1_700_000_001_000_000_000,
        text: "5 datagrams lost between 7 and 13 from 192.168.0.2".to_owned(),
        expected: "8".to_owned(),
        got: "13".to_owned(),
        offset: Some(111),
        frames: vec![4, 5],
        owners: Some(verify::Owners { unknown: 5, ..verify::Owners::default() }),
        tainted: false,
        open: 0,
        missing: None,
        waiver: None,
    }
}

/// A stream with something in every field.
pub(crate) fn stream() -> StreamAccount {
    StreamAccount {
        protocol: Protocol::Sacn,
        kind: "data",
        source: "192.168.0.2:5568".parse().unwrap(),
        destinations: vec!["192.168.0.255:5568".parse().unwrap(), "239.255.0.1:5568".parse().unwrap()],
        sender: Some("0cde5d2f-1111-2222-3333-444455556666".to_owned()),
        name: Some("=Desk|\x1b[31m\u{9b}\u{202e}<b>".to_owned()),
        stream_id: 1,
        part: 0,
        output: Some(0),
        datagrams: 591,
        bytes: 377_058,
        sessions: 1,
        rate_mhz: 29_549,
        first_ns: 1_700_000_000_000_000_000,
        last_ns: 1_700_000_019_967_000_000,
        sequence: SequenceAccount {
            model: "per-datagram 0..255".to_owned(),
            lost_min: 0,
            lost: 16,
            edge: 2,
            gaps: 1,
            duplicates: 4,
            late: 5,
            old: 6,
            restarts: 1,
            ambiguous: true,
        },
        frames: FrameAccount { seen: 100, complete: 97, torn: 2, unterminated: 1 },
        interval_ns: spread(),
        owners: verify::Owners { unknown: 16, ..verify::Owners::default() },
        ended: Ended::Silent,
        priorities: vec![100, 120],
        sync_addresses: vec![7000],
        start_codes: vec![0, 0xdd],
        data_octets: (512, 512),
        timeline: Timeline { lost: vec![0, 16, 0, 0], ..timeline() },
    }
}

fn timeline() -> Timeline {
    Timeline {
        frames: vec![30, 30, 30, 10],
        torn: vec![0, 2, 0, 0],
        unterminated: vec![0, 0, 1, 0],
        missing: vec![0, 1, 0, 0],
        ..Timeline::default()
    }
}

fn spread() -> Spread {
    Spread {
        count: 590,
        min: 26_094_000,
        p50: 33_878_000,
        p95: 34_319_000,
        p99: 36_169_000,
        p999: 41_000_000,
        max: 41_584_000,
    }
}

/// An account with two streams, one output and three findings.
pub(crate) fn account() -> Account {
    let mut plain = stream();
    plain.sender = None;
    plain.name = None;
    plain.output = None;
    plain.protocol = Protocol::Ddp;
    plain.kind = "display";
    plain.source = "[fe80::1]:4048".parse().unwrap();
    plain.destinations.clear();
    let warning = verify::Finding {
        severity: Severity::Warning,
        stream: None,
        offset: None,
        owners: None,
        expected: String::new(),
        got: String::new(),
        ..finding("f0001", "SEQ-DUPLICATE")
    };
    Account {
        first_ns: Some(1_700_000_000_000_000_000),
        last_ns: Some(1_700_000_100_055_894_000),
        datagrams: counts(),
        streams: vec![stream(), plain],
        outputs: vec![output()],
        findings: vec![warning, finding("f0002", "SEQ-LOST"), finding("f0003", "FRAME-TORN")],
        limits: vec!["A loss after the last datagram of a stream does not show.".to_owned()],
        observer: verify::ObserverLoss::default(),
        axis: TimeAxis::of(100_055_894_000, 3_000),
        observer_timeline: ObserverTimeline { lost: Vec::new(), capture_dropped: vec![0, 9, 0, 0] },
    }
}

fn counts() -> DatagramCounts {
    DatagramCounts {
        lighting: 1193,
        other: 2,
        capture_duplicates: 3,
        undecodable: 4,
        well_formed: 1180,
        malformed: 13,
        fragmented: 5,
        unfollowed: 0,
        unread: 0,
        cut: 6,
        bad_checksum: 7,
        by_kind: BTreeMap::from([("sacn/data", 1182), ("sacn/discovery", 11)]),
    }
}

fn output() -> OutputAccount {
    OutputAccount {
        name: "sacn 192.168.0.2".to_owned(),
        protocol: Protocol::Sacn,
        destination: None,
        streams: vec![0],
        datagrams_per_frame: 1,
        octets_per_frame: 512,
        rate_mhz: 29_549,
        declared: false,
        frames: FrameAccount { seen: 100, complete: 97, torn: 2, unterminated: 1 },
        sync: SyncAccount { explicit: 90, all_data: 7, timeout: 2, missed: 1 },
        causes: CauseAccount { changed: 50, repeat: 40, keep_alive: 5, sync_only: 1, goodbye: 3, restart: 1 },
        frame_interval_ns: spread(),
        spread_ns: Spread::default(),
        frame_interval_bars: Bars {
            from_ns: 33_000_000,
            width_ns: 200_000,
            under: 1,
            counts: vec![3, 40, 50, 4],
            over: 2,
        },
        timeline: Timeline { longest_ns: vec![34_000_000, 41_584_000, 34_100_000, 33_900_000], ..timeline() },
    }
}

/// The source of the sample.
pub(crate) fn source() -> Source {
    Source {
        kind: "file".to_owned(),
        name: "show\x1b.pcapng".to_owned(),
        timestamps: "file-us".to_owned(),
        packets: 1193,
        link_types: BTreeMap::from([("EN10MB".to_owned(), 1193)]),
        damaged: Some("cut inside record 1194".to_owned()),
        capture_dropped: 9,
        fragments: Fragments { seen: 4, reassembled: 2, incomplete: 0 },
    }
}

/// A summary with something in every field.
pub(crate) fn summary() -> Summary {
    Summary::new(&account(), source(), Observer::default())
}
