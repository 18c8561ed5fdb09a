//! What the Art-Net decoder reads and reports, datagram by datagram.

use super::*;
use std::net::SocketAddr;

fn datagram(payload: &[u8]) -> Datagram<'_> {
    let source: SocketAddr = "2.0.0.1:6454".parse().unwrap();
    Datagram::new(source, "2.0.0.9:6454".parse().unwrap(), payload)
}

/// Codes and severities of the faults of a datagram.
fn faults_of(d: &Datagram<'_>) -> Vec<(&'static str, Severity)> {
    let mut faults = Faults::new();
    let _ = ArtNet.decode(d, &mut faults);
    faults.as_slice().iter().map(|f| (f.rule.code, f.severity)).collect()
}

fn found(payload: &[u8]) -> Vec<(&'static str, Severity)> {
    faults_of(&datagram(payload))
}

/// Identifier, opcode, version 14 and `rest`.
fn artnet(opcode: u16, rest: &[u8]) -> Vec<u8> {
    [&IDENTIFIER[..], &opcode.to_le_bytes(), &VERSION.to_be_bytes(), rest].concat()
}

/// ArtDmx or ArtNzs with `present` data octets.
fn levels(opcode: u16, fields: [u8; 4], length: u16, present: usize) -> Vec<u8> {
    let [high, low] = length.to_be_bytes();
    let rest = [&fields[..], &[high, low], &vec![9; present]].concat();
    artnet(opcode, &rest)
}

/// A clean ArtPollReply of 239 octets.
fn poll_reply() -> Vec<u8> {
    let mut reply = vec![0; 239];
    reply[..8].copy_from_slice(&IDENTIFIER);
    reply[8..10].copy_from_slice(&opcode::POLL_REPLY.to_le_bytes());
    reply[14..16].copy_from_slice(&PORT.to_le_bytes());
    reply[26..30].copy_from_slice(b"node");
    reply
}

#[test]
fn the_named_rules_carry_their_codes() {
    let named =
        [A01, A02, A03, A04, A05, A06, A07, A08, A09, A10, A11, A12, A13, A14, A15, A16, A17, A18, Q20];
    let codes = (1..=18).map(|n| format!("ARTNET-A{n:02}")).chain(["ARTNET-Q20".into()]);
    assert_eq!(named.map(|r| r.code.to_string()).to_vec(), codes.collect::<Vec<_>>());
}

#[test]
fn the_opcode_table_is_ascending_and_leaves_no_field_behind_the_minimum() {
    assert!(opcode::OPCODES.is_sorted_by(|a, b| a.value < b.value));
    for o in &opcode::OPCODES {
        assert!(usize::from(o.minimum) >= COMMON, "{}", o.kind.name);
        assert!(o.count.as_ref().is_none_or(|c| c.at + c.size <= c.start && c.unit > 0), "{}", o.kind.name);
    }
}

#[test]
fn artdmx_carries_its_fields() {
    let payload = levels(opcode::DMX, [7, 2, 0x23, 0x04], 6, 6);
    let d = datagram(&payload);
    let mut faults = Faults::new();
    let pdu = ArtNet.decode(&d, &mut faults).unwrap();
    assert!(faults.is_empty());
    assert_eq!((pdu.kind.name, pdu.stream, pdu.part), ("artnet/ArtDmx", Some(0x423), 2));
    assert_eq!((pdu.sequence, pdu.data, pdu.data_length), (Some(7), &[9; 6][..], 6));
    assert_eq!((pdu.marks, pdu.start_code), (Marks::DATA, 0));
}

#[test]
fn artnzs_carries_its_start_code() {
    let payload = levels(opcode::NZS, [0, 0xdd, 1, 0], 3, 3);
    let d = datagram(&payload);
    let mut faults = Faults::new();
    let pdu = ArtNet.decode(&d, &mut faults).unwrap();
    assert_eq!(faults.as_slice().iter().map(|f| f.rule.code).collect::<Vec<_>>(), ["ARTNET-Q20"]);
    assert_eq!((pdu.kind.name, pdu.stream, pdu.part, pdu.start_code), ("artnet/ArtNzs", Some(1), 0, 0xdd));
    assert_eq!(pdu.marks, Marks::DATA.and(Marks::SEQUENCE_OFF));
}

#[test]
fn artsync_is_a_mark_and_other_opcodes_belong_to_no_stream() {
    let sync = artnet(opcode::SYNC, &[0, 0]);
    let pdu = ArtNet.decode(&datagram(&sync), &mut Faults::new()).unwrap();
    assert_eq!((pdu.stream, pdu.sequence, pdu.marks), (Some(0), None, Marks::SYNC));
    for o in opcode::OPCODES.iter().filter(|o| !matches!(o.value, opcode::DMX | opcode::NZS | opcode::SYNC)) {
        let payload = artnet(o.value, &[0; 200]);
        let d = datagram(&payload);
        let pdu = ArtNet.decode(&d, &mut Faults::new()).unwrap();
        assert_eq!((pdu.kind, pdu.stream, pdu.sequence), (o.kind, None, None));
    }
}

#[test]
fn levels_to_a_broadcast_address_and_from_another_port_are_reported() {
    let payload = levels(opcode::DMX, [1, 0, 0, 0], 2, 2);
    let clean = datagram(&payload);
    let broadcast = Datagram { destination: "255.255.255.255:6454".parse().unwrap(), ..clean };
    assert_eq!(faults_of(&broadcast), [("ARTNET-A10", Severity::Warning)]);
    let mut directed = clean;
    directed.link.broadcast = true;
    assert_eq!(faults_of(&directed), [("ARTNET-A10", Severity::Warning)]);
    let other_port = Datagram { source: "2.0.0.1:50000".parse().unwrap(), ..clean };
    assert_eq!(faults_of(&other_port), [("ARTNET-A10", Severity::Info)]);
    let poll = artnet(opcode::POLL, &[0, 0]);
    assert_eq!(faults_of(&Datagram { payload: &poll, length: 14, ..broadcast }), []);
}

#[test]
fn lengths_of_levels_are_checked() {
    use Severity::{Violation, Warning};
    let dmx = |length, present| found(&levels(opcode::DMX, [1, 0, 0, 0], length, present));
    assert_eq!((dmx(2, 2), dmx(512, 512)), (vec![], vec![]));
    assert_eq!(dmx(1, 1), [("ARTNET-A06", Violation), ("ARTNET-A07", Warning)]);
    assert_eq!(dmx(511, 511), [("ARTNET-A07", Warning)]);
    assert_eq!(dmx(4, 2), [("ARTNET-A08", Violation)]);
    assert_eq!(dmx(4, 5), [("ARTNET-A09", Warning)]);
    let nzs = |length, present| found(&levels(opcode::NZS, [1, 1, 0, 0], length, present));
    assert_eq!((nzs(1, 1), nzs(512, 512)), (vec![], vec![]));
    assert_eq!(nzs(0, 0), [("ARTNET-A06", Violation)]);
    assert_eq!(nzs(513, 513), [("ARTNET-A06", Violation)]);
}

#[test]
fn start_codes_with_their_own_opcode_are_refused_in_artnzs() {
    for code in [0, 0xcc] {
        let payload = levels(opcode::NZS, [1, code, 0, 0], 2, 2);
        assert_eq!(found(&payload), [("ARTNET-A11", Severity::Violation)]);
    }
}

#[test]
fn lengths_and_counts_of_other_opcodes_stay_inside_the_datagram() {
    let violation = [("ARTNET-A18", Severity::Violation)];
    let command = |length: u8| found(&artnet(0x2400, &[255, 255, 0, length, b'A', 0]));
    assert_eq!((command(2), command(1)), (vec![], vec![]));
    assert_eq!(command(3), violation);
    let reply = |length: u8| found(&artnet(0x2800, &[0, 0, 0, 0, 0, 1, 0, length, 1, 2]));
    assert_eq!(reply(2), []);
    assert_eq!(reply(3), violation);
    let devices = |count: u8| found(&artnet(0x8100, &[&[0; 15][..], &[count], &[0; 12]].concat()));
    assert_eq!(devices(2), []);
    assert_eq!(devices(3), violation);
    let diagnostics = |length: u8| found(&artnet(opcode::DIAG_DATA, &[0, 16, 0, 0, 0, length, b'A']));
    assert_eq!(diagnostics(1), []);
    assert_eq!(diagnostics(2), violation);
}

#[test]
fn the_diagnostic_layout_without_length_is_only_mentioned() {
    let text_in_place_of_length = artnet(opcode::DIAG_DATA, &[0x80, 3, 0, b'A', b'B', b'C']);
    assert_eq!(found(&text_in_place_of_length), [("ARTNET-A18", Severity::Info)]);
    assert_eq!(found(&artnet(opcode::DIAG_DATA, &[0x80, 0, 0])), [("ARTNET-A02", Severity::Info)]);
}

#[test]
fn short_datagrams_are_judged_by_opcode() {
    for (opcode, octets, severity) in [
        (opcode::SYNC, 13, Severity::Violation),
        (opcode::DMX, 17, Severity::Violation),
        (opcode::NZS, 12, Severity::Violation),
        (opcode::POLL, 13, Severity::Warning),
        (opcode::POLL, 11, Severity::Violation),
        (0x6000, 106, Severity::Warning),
    ] {
        let payload = &artnet(opcode, &[0; 200])[..octets];
        assert_eq!(found(payload), [("ARTNET-A02", severity)], "{opcode:04x}");
    }
}

#[test]
fn the_version_is_judged_where_there_is_one() {
    let mut poll = artnet(opcode::POLL, &[0, 0]);
    for (version, wanted) in [(14, None), (15, None), (13, Some(Severity::Violation))] {
        poll[11] = version;
        let wanted: Vec<_> = wanted.map(|s| ("ARTNET-A04", s)).into_iter().collect();
        assert_eq!(found(&poll), wanted);
    }
    poll[10..12].copy_from_slice(&[14, 0]);
    assert_eq!(found(&poll), [("ARTNET-A04", Severity::Warning)]);
    assert_eq!(found(&poll_reply()), []);
}

#[test]
fn a_node_names_itself() {
    let mut payload = poll_reply();
    assert_eq!(ArtNet.decode(&datagram(&payload), &mut Faults::new()).unwrap().name, b"node");
    payload[44..52].copy_from_slice(b"the node");
    assert_eq!(ArtNet.decode(&datagram(&payload), &mut Faults::new()).unwrap().name, b"the node");
}

#[test]
fn faults_of_a_poll_reply_are_named_one_by_one() {
    let mut payload = poll_reply();
    payload[14..16].copy_from_slice(&PORT.to_be_bytes());
    payload[26..108].fill(b'x');
    payload[172] = 1;
    let w = Severity::Warning;
    let wanted = [("ARTNET-A17", w), ("ARTNET-A15", w), ("ARTNET-A15", w), ("ARTNET-A16", w)];
    assert_eq!(found(&payload), wanted);
    assert_eq!(found(&poll_reply()[..197]), [("ARTNET-A02", w)]);
}

#[test]
fn unknown_opcodes_are_explained() {
    let hint = |opcode: u16| {
        let payload = artnet(opcode, &[0; 8]);
        let mut faults = Faults::new();
        let pdu = ArtNet.decode(&datagram(&payload), &mut faults).unwrap();
        assert_eq!((pdu.kind, pdu.stream), (opcode::UNKNOWN, None));
        assert_eq!(faults.as_slice()[0].severity, Severity::Info);
        faults.as_slice()[0].hint
    };
    assert!(hint(0x0050).contains("swapped"));
    assert!(hint(0x00fd).contains("vendor"));
    let short = [&IDENTIFIER[..], &[0x50, 0x00]].concat();
    let wanted = [("ARTNET-A03", Severity::Info), ("ARTNET-A02", Severity::Violation)];
    assert_eq!(found(&short), wanted);
}

#[test]
fn another_identifier_is_undecodable() {
    for payload in [&b"abc"[..], b"", b"Art-Net", b"Art-Net1\0\x50\0\x0e"] {
        let mut faults = Faults::new();
        assert_eq!(ArtNet.decode(&datagram(payload), &mut faults).err(), Some(Undecodable));
        let found: Vec<_> = faults.as_slice().iter().map(|f| (f.rule.code, f.severity)).collect();
        assert_eq!(found, [("ARTNET-A01", Severity::Info)]);
    }
}

#[test]
fn identifier_and_ports_claim() {
    let claim = |source: u16, destination: u16, payload: &[u8]| {
        let at = |port| SocketAddr::from(([10, 0, 0, 1], port));
        ArtNet.claims(&Datagram::new(at(source), at(destination), payload))
    };
    assert_eq!(claim(1, 2, &IDENTIFIER), Claim::Magic);
    assert_eq!(claim(1, 6454, b"abc"), Claim::Port);
    assert_eq!(claim(6454, 1, b"abc"), Claim::Port);
    assert_eq!(claim(1, 2, b"Art-Net"), Claim::No);
}

#[test]
fn a_cut_datagram_is_judged_by_what_was_sent() {
    let whole = [levels(opcode::DMX, [1, 0, 0, 0], 512, 512), poll_reply(), artnet(opcode::SYNC, &[0, 0])];
    for payload in &whole {
        for kept in 0..payload.len() {
            let d = Datagram { length: payload.len() as u32, ..datagram(&payload[..kept]) };
            assert_eq!(faults_of(&d), [], "{kept} octets kept");
        }
    }
    let d = Datagram { length: 529, ..datagram(&whole[0][..60]) };
    assert_eq!(faults_of(&d), [("ARTNET-A08", Severity::Violation)]);
}
