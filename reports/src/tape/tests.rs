//! A tape gives back what was put on it, whole, cut or damaged; nonsense harms nobody.

use super::decode::{Decoder, Event, TapeReport};
use super::encode::{Encoder, ROOM};
use super::seal::{Sealer, Totals};
use super::slot::{FIELDS, HEAD, SLOT};
use std::fmt::Write;
use std::net::SocketAddr;
use wireproof_protocols::verify::{DropLayer, HostDrops, Options, Verifier};
use wireproof_protocols::{Arrival, Checksum, Datagram, Link, Timestamp};

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

/// A DDP datagram with one pixel: number 1..15, timecode 0, push.
fn ddp(number: u8) -> Vec<u8> {
    vec![0x41, number, 0x0b, 1, 0, 0, 0, 0, 0, 3, 7, 8, number]
}

/// A tape of some DDP datagrams, two of which are wrong in some way, and of everything else that a tape holds.
fn tape() -> Vec<u8> {
    let (mut encoder, mut slots) = (Encoder::default(), Vec::new());
    let mut verifier = Verifier::new(Options::default());
    let mut octets = Sealer::header(1_000);
    let mut sealer = Sealer::default();
    for i in 0..40_u64 {
        let arrival = Arrival { at: Timestamp(1_000_000_000 + i as i64 * 16_000_000), packet: i + 1 };
        if i == 20 {
            encoder.leave_out(arrival.at);
            continue;
        }
        let mut payload = ddp((i % 15) as u8 + 1);
        if i % 9 == 4 {
            payload[1] |= 0xf0;
        }
        if i == 11 {
            payload.truncate(9);
        }
        let source = if i % 2 == 0 { address("10.0.0.1:5000") } else { address("[fd00::1]:5001") };
        let mut d = Datagram::new(source, address("10.0.0.9:4048"), &payload);
        d.link = Link { ip_id: Some(i as u16), checksum: Checksum::Good, fragments: 3, ..Link::default() };
        let noted = verifier.on_datagram_noted(arrival, &d).unwrap();
        encoder.datagram(arrival, &d, &noted, verifier.faults().as_slice(), &mut slots);
        if i == 25 {
            sealer.seal(&std::mem::take(&mut slots), &mut octets);
        }
    }
    encoder.other(Arrival { at: Timestamp(9_000_000_000), packet: 55 }, true, &mut slots);
    let (from, to) = (Timestamp(5), Timestamp(-7));
    encoder.drops(&HostDrops { layer: DropLayer::Softnet, port: Some(4048), from, to, count: 3 }, &mut slots);
    encoder.clock_step(-17, &mut slots);
    encoder.blind(Timestamp(1), Timestamp(2), 4, &mut slots);
    encoder.finish(&mut slots);
    sealer.seal(&slots, &mut octets);
    let ended = Some(Timestamp(9_500_000_000));
    let totals = Totals { datagrams: encoder.datagrams, left_out: 1, microseconds: true, ended };
    sealer.end(&totals, &mut octets);
    octets
}

/// Everything that is read of a file, a line an event; fed in pieces of `step` octets.
fn read(octets: &[u8], step: usize) -> (Vec<String>, TapeReport) {
    let mut lines = Vec::new();
    let mut each = |event: Event<'_>| {
        let mut line = String::new();
        match event {
            Event::Datagram(arrival, d, noted, remarks) => {
                write!(line, "{arrival:?} {d:?} {noted:?}").unwrap();
                for r in remarks {
                    write!(
                        line,
                        " {} {:?} {} {} {} {}",
                        r.rule.code, r.severity, r.offset, r.hint, r.expected, r.got
                    )
                    .unwrap();
                }
            }
            Event::Others(arrival, n) => write!(line, "{arrival:?} {n}").unwrap(),
            Event::Drops(d) => write!(line, "{d:?}").unwrap(),
            Event::Digests(digests) => write!(line, "digests {digests:?}").unwrap(),
            Event::ClockStep(by) => write!(line, "step {by}").unwrap(),
            Event::Blind { from, to, count } => write!(line, "blind {from:?} {to:?} {count}").unwrap(),
        }
        lines.push(line);
    };
    let mut decoder = Decoder::default();
    octets.chunks(step).for_each(|piece| decoder.feed(piece, &mut each));
    let report = decoder.finish(&mut each);
    (lines, report)
}

#[test]
fn a_tape_gives_back_what_was_put_on_it() {
    let octets = tape();
    let (lines, report) = read(&octets, octets.len());
    let expected = TapeReport {
        layout: None,
        start_ns: 1_000,
        datagrams: 39,
        packets: 55,
        left_out: 1,
        capture_dropped: 4,
        unknown: 0,
        microseconds: true,
        ended: Some(Timestamp(9_500_000_000)),
        damaged: None,
    };
    assert_eq!(report, expected);
    assert_eq!(lines.len(), 39 + 5, "{lines:#?}");
    assert!(lines[0].contains("10.0.0.1:5000") && lines[0].contains("ip_id: Some(0)"), "{}", lines[0]);
    assert!(lines[1].contains("[fd00::1]:5001") && lines[1].contains("fragments: 3"), "{}", lines[1]);
    assert!(lines[4].contains(" DDP-D04 Warning 1 "), "{}", lines[4]);
    assert!(lines[20].starts_with("blind Timestamp(1304000000) Timestamp(1336000000) 1"), "{}", lines[20]);
    assert!(lines[40].contains("packet: 55"), "{}", lines[40]);
    assert_eq!(lines[42], "step -17");
    assert!(lines[41].contains("Softnet") && lines[41].contains("port: Some(4048)"), "{}", lines[41]);
}

#[test]
fn the_size_of_the_pieces_does_not_matter() {
    let octets = tape();
    let whole = read(&octets, octets.len());
    for step in [1, 63, 64, 65, 1000, 4096] {
        assert_eq!(read(&octets, step), whole, "{step}");
    }
}

#[test]
fn a_tape_cut_at_any_octet_is_read_up_to_there_and_known_to_be_cut() {
    let octets = tape();
    let (lines, report) = read(&octets, octets.len());
    let mut before = 0;
    for cut in 0..octets.len() {
        let (some, part) = read(&octets[..cut], octets.len());
        assert!(part.damaged.is_some(), "{cut}");
        assert_eq!(some, lines[..some.len()], "{cut}");
        assert!(some.len() >= before, "{cut}");
        before = some.len();
    }
    assert_eq!(before, lines.len());
    assert_eq!(report.damaged, None);
}

#[test]
fn any_octet_that_changed_is_noticed_and_nothing_behind_it_is_believed() {
    let octets = tape();
    let (lines, _) = read(&octets, octets.len());
    for at in 0..octets.len() {
        let mut other = octets.clone();
        other[at] ^= 1 << (at % 8);
        let (some, report) = read(&other, other.len());
        assert!(report.damaged.is_some(), "octet {at}");
        // A seal that lost its tag leaves its block open: that is read, unsealed, to the end of the file.
        assert!(some.len() >= lines.len() || some == lines[..some.len()], "octet {at}");
    }
}

/// Numbers without pattern, the same each time.
fn noise(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

/// Records of a real tape, each with up to three octets changed, some replaced by noise, sealed as if they were right.
fn nonsense(real: &[[u8; SLOT]], seed: &mut u64) -> Vec<u8> {
    let mut slots = Vec::new();
    for slot in real {
        let mut slot = *slot;
        if noise(seed).is_multiple_of(8) {
            slot.iter_mut().for_each(|o| *o = noise(seed) as u8);
        }
        for _ in 0..noise(seed) % 4 {
            slot[noise(seed) as usize % SLOT] = noise(seed) as u8;
        }
        // A seal among the records would end the reading.
        slot[0] = if slot[0] == 10 { 11 } else { slot[0] % 13 };
        slots.extend_from_slice(&slot);
    }
    let mut octets = Sealer::header(0);
    let mut sealer = Sealer::default();
    sealer.seal(&slots, &mut octets);
    sealer.end(&Totals::default(), &mut octets);
    octets
}

#[test]
fn sealed_nonsense_is_counted_and_harms_nobody() {
    let octets = tape();
    let header = Sealer::header(0).len();
    let real: Vec<[u8; SLOT]> =
        octets[header..].as_chunks::<SLOT>().0.iter().filter(|slot| slot[0] != 10).copied().collect();
    let mut seed = 0x9e37_79b9_7f4a_7c15;
    let (mut datagrams, mut unknown) = (0, 0);
    for _ in 0..1_000 {
        let mut verifier = Verifier::new(Options::default());
        let mut each = |event: Event<'_>| match event {
            Event::Datagram(arrival, d, noted, remarks) => verifier.on_noted(arrival, d, noted, remarks),
            Event::Others(arrival, n) => {
                verifier.on_packet(arrival);
                verifier.on_others(n);
            }
            Event::Drops(d) => verifier.on_drops(d),
            Event::Digests(_) => {}
            Event::ClockStep(by) => verifier.on_clock_step(by),
            Event::Blind { from, to, count } => verifier.on_blind(from, to, count),
        };
        let mut decoder = Decoder::default();
        decoder.feed(&nonsense(&real, &mut seed), &mut each);
        let report = decoder.finish(&mut each);
        (datagrams, unknown) = (datagrams + report.datagrams, unknown + report.unknown);
        let account = verifier.finish();
        assert_eq!(account.datagrams.lighting, report.datagrams);
    }
    assert!(datagrams > 10_000 && unknown > 1_000, "{datagrams} {unknown}");
}

#[test]
fn fields_do_not_overlap_and_the_header_maps_them_all() {
    let size = |holds: &str| match holds {
        "u8" => 1,
        "u16" => 2,
        "u32" => 4,
        "u64" | "i64" => 8,
        "octets16" => 16,
        other => panic!("{other}"),
    };
    for record in FIELDS.chunk_by(|a, b| a.tag == b.tag) {
        let mut taken = [false; SLOT];
        taken[0] = true;
        for f in record {
            for octet in &mut taken[f.at..f.at + size(f.holds)] {
                assert!(!std::mem::replace(octet, true), "{}.{}", f.record, f.field);
            }
        }
    }
    let header = Sealer::header(0);
    let text = std::str::from_utf8(&header[HEAD..]).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(lines.len(), FIELDS.len() + 2);
    assert!(lines.contains(&"1 datagram.sequence 32 u32"), "{text}");
}

/// A reader that knows nothing but the header's text finds the numbers of the datagrams.
#[test]
fn the_map_in_the_header_is_enough_to_read_a_field() {
    let octets = tape();
    let length = u32::from_le_bytes(octets[16..20].try_into().unwrap()) as usize;
    let text = std::str::from_utf8(&octets[HEAD..length]).unwrap();
    let at: usize = text
        .lines()
        .find_map(|l| l.strip_prefix("1 datagram.sequence ")?.split(' ').next())
        .unwrap()
        .parse()
        .unwrap();
    let records = octets[length..].as_chunks::<SLOT>().0.iter().filter(|slot| slot[0] == 1);
    // Number 11 was too short to hold one.
    let numbers: Vec<u8> = records.map(|slot| slot[at]).collect();
    let sent: Vec<u8> =
        (0..40_u64).filter(|i| *i != 20).map(|i| if i == 11 { 0 } else { (i % 15) as u8 + 1 }).collect();
    assert_eq!(numbers, sent);
}

#[test]
fn no_call_appends_more_than_its_room() {
    let (mut encoder, mut slots) = (Encoder::default(), Vec::new());
    let mut verifier = Verifier::new(Options::default());
    let mut seed = 77;
    for i in 0..3_000_u64 {
        let arrival = Arrival { at: Timestamp(i as i64), packet: i };
        let mut payload = ddp(1);
        payload.resize((noise(&mut seed) % 1_400) as usize, 0);
        payload.iter_mut().skip(1).for_each(|o| *o = noise(&mut seed) as u8);
        let port = 5_000 + (noise(&mut seed) % 50) as u16;
        let d = Datagram::new(SocketAddr::from(([10, 0, 0, 1], port)), address("10.0.0.9:4048"), &payload);
        let Some(noted) = verifier.on_datagram_noted(arrival, &d) else { continue };
        slots.clear();
        encoder.datagram(arrival, &d, &noted, verifier.faults().as_slice(), &mut slots);
        assert!(slots.len() <= ROOM && slots.len().is_multiple_of(SLOT), "{} octets", slots.len());
    }
    assert!(encoder.datagrams > 2_000);
}

#[test]
fn a_tape_with_digests_has_one_for_each_datagram_in_order_and_the_rest_is_the_same() {
    let read = |mut encoder: Encoder| {
        let (mut slots, mut octets) = (Vec::new(), Sealer::header(0));
        let mut verifier = Verifier::new(Options::default());
        let mut expected = Vec::new();
        for i in 0..17_u64 {
            let payload = ddp((i % 15) as u8 + 1);
            let arrival = Arrival { at: Timestamp(i as i64 * 16_000_000), packet: i + 1 };
            let d = Datagram::new(address("10.0.0.1:5000"), address("10.0.0.9:4048"), &payload);
            let noted = verifier.on_datagram_noted(arrival, &d).unwrap();
            expected.push(noted.digest());
            encoder.datagram(arrival, &d, &noted, &[], &mut slots);
        }
        encoder.finish(&mut slots);
        let mut sealer = Sealer::default();
        sealer.seal(&slots, &mut octets);
        sealer.end(&Totals { datagrams: 17, ..Totals::default() }, &mut octets);
        let (mut found, mut datagrams) = (Vec::new(), Vec::new());
        let mut each = |event: Event<'_>| match event {
            Event::Digests(digests) => found.extend_from_slice(digests),
            Event::Datagram(arrival, ..) => datagrams.push(arrival.at),
            _ => {}
        };
        let mut decoder = Decoder::default();
        decoder.feed(&octets, &mut each);
        let report = decoder.finish(&mut each);
        assert_eq!((report.damaged, report.unknown, report.datagrams), (None, 0, 17));
        (found, datagrams, expected)
    };
    let (found, datagrams, expected) = read(Encoder::with_digests());
    assert_eq!(found, expected);
    let (none, same, _) = read(Encoder::default());
    assert_eq!((none, same), (Vec::new(), datagrams));
}
