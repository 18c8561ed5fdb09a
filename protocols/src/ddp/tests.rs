//! What the DDP decoder reads and reports, datagram by datagram.

use super::*;
use std::net::SocketAddr;

const V4: &str = "192.168.1.50:4048";
const V6: &str = "[fd00::50]:4048";

fn datagram<'a>(destination: &str, payload: &'a [u8]) -> Datagram<'a> {
    let source: SocketAddr = "192.168.1.2:50000".parse().unwrap();
    Datagram::new(source, destination.parse().unwrap(), payload)
}

/// Codes and severities of the faults of a datagram.
fn faults_of(d: &Datagram<'_>) -> Vec<(&'static str, Severity)> {
    let mut faults = Faults::new();
    Ddp.decode(d, &mut faults).unwrap();
    faults.as_slice().iter().map(|f| (f.rule.code, f.severity)).collect()
}

fn found(payload: &[u8]) -> Vec<(&'static str, Severity)> {
    faults_of(&datagram(V4, payload))
}

/// A datagram with this header and as many zero octets as its length says.
fn filled(header: &[u8]) -> Vec<u8> {
    let n = usize::from(u16::from_be_bytes([header[8], header[9]]));
    [header, &vec![0; n]].concat()
}

#[test]
fn the_named_rules_carry_their_codes() {
    let named = [D01, D02, D03, D04, D05, D06, D07, D08, D09, D10, D11, D12, D13, D14, D15, Q10];
    let codes: Vec<String> = (1..=15).map(|n| format!("DDP-D{n:02}")).chain(["DDP-Q10".into()]).collect();
    assert_eq!(named.map(|r| r.code.to_string()).to_vec(), codes);
}

#[test]
fn a_display_datagram_carries_its_fields() {
    let payload = filled(&[0x51, 7, 0x0b, 1, 0, 0, 0x10, 0xe0, 0, 6, 0x12, 0x34, 0x56, 0x78]);
    let d = datagram(V4, &payload);
    let mut faults = Faults::new();
    let pdu = Ddp.decode(&d, &mut faults).unwrap();
    assert!(faults.is_empty());
    assert_eq!((pdu.kind, pdu.stream, pdu.sequence), (DISPLAY, Some(1), Some(7)));
    assert_eq!((pdu.offset, pdu.data.len(), pdu.data_length), (0x10e0, 6, 6));
    assert_eq!(pdu.sender_time, 0x1234_5678);
    assert_eq!(pdu.marks, Marks::PUSH.and(Marks::TIMED).and(Marks::DATA));
}

#[test]
fn sequence_sixteen_stays_visible_and_zero_is_marked_off() {
    let read = |octet: u8| {
        let payload = filled(&[0x40, octet, 0x0b, 1, 0, 0, 0, 0, 0, 3]);
        let pdu = Ddp.decode(&datagram(V4, &payload), &mut Faults::new()).unwrap();
        (pdu.sequence, pdu.marks.has(Marks::SEQUENCE_OFF))
    };
    assert_eq!(read(0x10), (Some(16), false));
    assert_eq!(read(0x00), (Some(0), true));
    assert_eq!(read(0x0f), (Some(15), false));
    assert_eq!(read(0x25), (Some(5), false));
}

#[test]
fn dmx_transit_keeps_offset_zero_and_its_start_code_in_the_data() {
    let payload = filled(&[0x40, 1, 0, ID_DMX, 0, 0, 0, 7, 2, 1]);
    let mut faults = Faults::new();
    let pdu = Ddp.decode(&datagram(V4, &payload), &mut faults).unwrap();
    assert!(faults.is_empty());
    assert_eq!((pdu.stream, pdu.part, pdu.offset, pdu.data.len()), (Some(254), 0, 0, 513));
}

#[test]
fn flags_and_id_decide_the_kind() {
    for (flags, id, wanted) in [
        (0x40, 1, DISPLAY),
        (0x40, 249, DISPLAY),
        (0x40, 246, CONTROL),
        (0x41, 251, CONTROL),
        (0x42, 251, QUERY),
        (0x44, 1, REPLY),
        (0x46, 250, REPLY),
    ] {
        let payload = [flags, 1, 0, id, 0, 0, 0, 0, 0, 0];
        let pdu = Ddp.decode(&datagram(V4, &payload), &mut Faults::new()).unwrap();
        assert_eq!((pdu.kind, pdu.stream.is_some()), (wanted, wanted == DISPLAY), "{flags:02x} {id}");
    }
}

#[test]
fn the_port_claims_and_a_reply_claims_from_the_port() {
    let claim = |source: &str, destination: &str, payload: &[u8]| {
        Ddp.claims(&Datagram::new(source.parse().unwrap(), destination.parse().unwrap(), payload))
    };
    assert_eq!(claim("10.0.0.1:1", "10.0.0.2:4048", &[]), Claim::Port);
    assert_eq!(claim("10.0.0.2:4048", "10.0.0.1:50000", &[0x45]), Claim::Port);
    assert_eq!(claim("10.0.0.2:4048", "10.0.0.1:50000", &[0x41]), Claim::No);
    assert_eq!(claim("10.0.0.2:4048", "10.0.0.1:50000", &[0x85]), Claim::No);
    assert_eq!(claim("10.0.0.2:50000", "10.0.0.1:50000", &[0x45]), Claim::No);
}

#[test]
fn pixels_with_the_reply_flag_are_pixels_that_are_flagged_wrongly() {
    let read = |source: &str, payload: &[u8]| {
        let mut faults = Faults::new();
        let d = Datagram::new(source.parse().unwrap(), V4.parse().unwrap(), payload);
        let pdu = Ddp.decode(&d, &mut faults).unwrap();
        let codes: Vec<_> = faults.as_slice().iter().map(|f| f.rule.code).collect();
        (pdu.kind, pdu.sequence, pdu.marks.has(Marks::DATA), codes)
    };
    for flags in [0x44, 0x45, 0x46] {
        let pixels = filled(&[flags, 3, 0x0b, 1, 0, 0, 0, 0, 0, 3]);
        assert_eq!(read("10.0.0.1:50000", &pixels), (DISPLAY, Some(3), true, vec!["DDP-D05"]), "{flags:02x}");
    }
    // From the port it is a display that answers; an empty one says that nothing can be read.
    let answer = filled(&[0x45, 3, 0x0b, 1, 0, 0, 0, 0, 0, 3]);
    assert_eq!(read("10.0.0.1:4048", &answer), (REPLY, Some(3), false, vec![]));
    assert_eq!(read("10.0.0.1:50000", &[0x45, 3, 0x0b, 1, 0, 0, 0, 0, 0, 0]).0, REPLY);
}

#[test]
fn data_types_are_judged_with_their_history() {
    for (data_type, wanted) in [
        (0x0b, None),
        (0x1b, None),
        (0x0c, None),
        (0x00, Some(Severity::Info)),
        (0x01, Some(Severity::Info)),
        (0x0a, Some(Severity::Warning)),
        (0x1a, Some(Severity::Warning)),
        (0x0d, Some(Severity::Warning)),
        (0x1e, Some(Severity::Warning)),
        (0x8b, Some(Severity::Info)),
        (0x9b, Some(Severity::Info)),
        (0xcb, Some(Severity::Warning)),
        (0x4b, Some(Severity::Warning)),
        (0x2b, Some(Severity::Warning)),
        (0x0f, Some(Severity::Warning)),
    ] {
        let payload = filled(&[0x40, 1, data_type, 1, 0, 0, 0, 0, 0, 12]);
        let wanted: Vec<_> = wanted.map(|s| ("DDP-D06", s)).into_iter().collect();
        assert_eq!(found(&payload), wanted, "{data_type:02x}");
    }
}

#[test]
fn large_chunks_are_judged_by_what_fits_the_mtu() {
    let judge = |destination: &str, flags: u8, octets: u16| {
        let [high, low] = octets.to_be_bytes();
        let mut header = vec![flags, 1, 0x80, 1, 0, 0, 0, 0, high, low];
        header.extend_from_slice(if flags & FLAG_TIMECODE != 0 { &[0; 4] } else { &[] });
        let faults = faults_of(&datagram(destination, &filled(&header)));
        faults.iter().find(|f| f.0 == "DDP-D11").map(|f| f.1)
    };
    let (info, warning) = (Some(Severity::Info), Some(Severity::Warning));
    assert_eq!(judge(V4, 0x40, 1440), None);
    assert_eq!(judge(V4, 0x40, 1441), info);
    assert_eq!((judge(V4, 0x40, 1462), judge(V4, 0x40, 1463)), (info, warning));
    assert_eq!((judge(V4, 0x51, 1458), judge(V4, 0x51, 1459)), (info, warning));
    assert_eq!((judge(V6, 0x40, 1442), judge(V6, 0x40, 1443)), (info, warning));
    assert_eq!((judge(V6, 0x51, 1438), judge(V6, 0x51, 1441)), (None, warning));
}

#[test]
fn flags_that_contradict_each_other_are_reported() {
    let storage = filled(&[0x48, 1, 0x0b, 1, 0, 0, 0, 0, 0, 3]);
    assert_eq!(found(&storage), [("DDP-D05", Severity::Warning)]);
    let both = [0x46, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    assert_eq!(found(&both), [("DDP-D05", Severity::Warning)]);
    let timed = filled(&[0x50, 1, 0x0b, 1, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0]);
    assert_eq!(found(&timed), [("DDP-D14", Severity::Warning)]);
}

#[test]
fn the_length_of_a_query_is_what_it_asks_for() {
    assert_eq!(found(&[0x42, 0, 0, 1, 0, 0, 0, 0, 0, 3]), []);
    assert_eq!(found(&[0x42, 0, 0, 1, 0, 0, 0, 0, 0, 3, 1, 2]), [("DDP-D09", Severity::Warning)]);
    assert_eq!(found(&[0x44, 0, 0, 250, 0, 0, 0, 0, 0, 3, 1, 2]), [("DDP-D08", Severity::Violation)]);
}

#[test]
fn bodies_of_the_json_ids_are_parsed() {
    let body = |flags: u8, data_type: u8, text: &[u8]| {
        let header = [flags, 0, data_type, ID_CONFIG, 0, 0, 0, 0, 0, text.len() as u8];
        found(&[&header, text].concat())
    };
    assert_eq!(body(0x41, 0x0b, b"{\"config\":{}}"), []);
    assert_eq!(body(0x45, 0x0d, b"SLICKDENIST4000"), [("DDP-D15", Severity::Warning)]);
    assert_eq!(body(0x41, 0x00, b"{\"config\":"), [("DDP-D15", Severity::Warning)]);
    assert_eq!(body(0x41, 0x0b, &[255, 1, 2]), [("DDP-D07", Severity::Warning)]);
    assert_eq!(body(0x41, 0x0b, b""), []);
}

#[test]
fn the_id_of_all_outputs_is_only_mentioned() {
    assert_eq!(found(&filled(&[0x40, 1, 0x0b, 255, 0, 0, 0, 0, 0, 3])), [("DDP-D07", Severity::Info)]);
}

#[test]
fn tolerated_habits_leave_a_datagram_well_formed() {
    let well_formed = |payload: &[u8]| {
        let mut faults = Faults::new();
        Ddp.decode(&datagram(V4, payload), &mut faults).unwrap();
        assert!(!faults.is_empty());
        faults.well_formed()
    };
    assert!(well_formed(&filled(&[0x40, 0, 0x0d, 1, 0, 0, 0, 1, 0, 4])));
    assert!(well_formed(&filled(&[0x40, 1, 0x0b, 1, 0, 0, 0, 1, 5, 0xdc])));
    assert!(!well_formed(&filled(&[0x40, 16, 0x0b, 1, 0, 0, 0, 0, 0, 3])));
}

#[test]
fn a_cut_datagram_is_judged_by_what_was_sent() {
    let whole = filled(&[0x41, 1, 0x0b, 1, 0, 0, 0, 0, 5, 0xa0]);
    for kept in 0..whole.len() {
        let d = Datagram { length: whole.len() as u32, ..datagram(V4, &whole[..kept]) };
        assert_eq!(faults_of(&d), [], "{kept} octets kept");
    }
    let d = Datagram { length: 1449, ..datagram(V4, &whole[..40]) };
    assert_eq!(faults_of(&d), [("DDP-D08", Severity::Violation)]);
}

#[test]
fn a_short_datagram_is_a_display_datagram_of_no_stream() {
    let pdu = Ddp.decode(&datagram(V4, &[0x40]), &mut Faults::new()).unwrap();
    assert_eq!((pdu.kind, pdu.stream), (DISPLAY, None));
    let mut faults = Faults::new();
    assert_eq!(Ddp.decode(&datagram(V4, &[]), &mut faults).err(), Some(Undecodable));
    assert_eq!(faults.as_slice()[0].severity, Severity::Info);
}
