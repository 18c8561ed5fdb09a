//! Counters, splitting and limits of the encoders.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::net::SocketAddr;
use wireproof_encoders::*;
use wireproof_protocols::Value;

const CID: [u8; 16] = *b"\x01\x23\x45\x67\x89\xab\x4d\xef\x81\x23\x45\x67\x89\xab\xcd\xef";

fn anywhere(port: u16) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 9], port))
}

fn kept(batch: Batch<'_>) -> Vec<(SocketAddr, Vec<u8>)> {
    batch.iter().map(|datagram| (datagram.destination, datagram.to_vec())).collect()
}

fn frames(encoder: &mut dyn Encoder, frame: &[u8], count: usize) -> Vec<(SocketAddr, Vec<u8>)> {
    let mut out = Vec::new();
    for _ in 0..count {
        out.extend(kept(encoder.encode(frame).unwrap()));
    }
    out
}

fn octet(out: &[(SocketAddr, Vec<u8>)], at: usize) -> Vec<u8> {
    out.iter().map(|(_, payload)| payload[at]).collect()
}

fn ddp(numbering: DdpNumbering) -> DdpConfig {
    DdpConfig {
        numbering,
        first_sequence: if numbering == DdpNumbering::Unused { 0 } else { 1 },
        ..DdpConfig::new(anywhere(4048))
    }
}

#[test]
fn every_start_code_of_a_universe_draws_from_one_counter() {
    let mut sacn = Sacn::new(SacnConfig::new(CID, "desk")).unwrap();
    let mut seen = Vec::new();
    for start_code in [0, 0xDD, 0, 0xDD] {
        let out = kept(sacn.universe(7, start_code, &[1]).unwrap());
        seen.push((out[0].1[125], out[0].1[111]));
    }
    assert_eq!(seen, [(0, 0), (0xDD, 1), (0, 2), (0xDD, 3)]);
}

#[test]
fn each_sacn_universe_counts_for_itself_and_wraps_from_255_to_0() {
    let config = SacnConfig { first_sequence: 255, ..SacnConfig::new(CID, "desk") };
    let out = frames(&mut Sacn::new(config).unwrap(), &[0; 1020], 2);
    assert_eq!(octet(&out, 111), [255, 255, 0, 0]);
    assert_eq!(octet(&out, 114), [1, 2, 1, 2]);
}

#[test]
fn the_sacn_numbering_habits_come_out_as_set() {
    let habit =
        |numbering, first_sequence| SacnConfig { numbering, first_sequence, ..SacnConfig::new(CID, "desk") };
    let skips = habit(SacnNumbering::PerUniverseSkippingZero, 254);
    assert_eq!(octet(&frames(&mut Sacn::new(skips).unwrap(), &[0; 510], 3), 111), [254, 255, 1]);
    let shared = habit(SacnNumbering::PerSource, 254);
    assert_eq!(octet(&frames(&mut Sacn::new(shared).unwrap(), &[0; 1020], 2), 111), [254, 255, 0, 1]);
}

#[test]
fn a_frame_of_8640_octets_takes_17_universes_and_a_synchronization_packet() {
    let config = SacnConfig { sync_address: 99, sync_packets: 99, ..SacnConfig::new(CID, "desk") };
    let out = frames(&mut Sacn::new(config).unwrap(), &[9; 8640], 1);
    let lengths: Vec<usize> = out.iter().map(|(_, p)| p.len()).collect();
    assert_eq!(lengths[..16], [636; 16]);
    assert_eq!(lengths[16..], [606, 49]);
    assert_eq!(out[17].0, SocketAddr::from(([239, 255, 0, 99], 5568)));
}

#[test]
fn goodbyes_go_where_the_data_went() {
    let receiver = anywhere(5568);
    let destination = SacnDestination::Unicast(receiver);
    let mut sacn = Sacn::new(SacnConfig { destination, ..SacnConfig::new(CID, "desk") }).unwrap();
    sacn.encode(&[0; 1020]).unwrap();
    let out = kept(sacn.terminate());
    assert_eq!(out.len(), 6);
    assert!(out.iter().all(|(to, p)| *to == receiver && p[112] == 0x40 && p.len() == 126));
}

#[test]
fn discovery_lists_the_universes_in_use_in_pages_of_512() {
    let mut sacn = Sacn::new(SacnConfig { slots: 1, ..SacnConfig::new(CID, "desk") }).unwrap();
    sacn.encode(&[0; 513]).unwrap();
    let out = kept(sacn.discovery());
    let pages: Vec<(u8, u8, usize)> = out.iter().map(|(_, p)| (p[118], p[119], p.len())).collect();
    assert_eq!(pages, [(0, 1, 1144), (1, 1, 122)]);
    let order = sacn.discovery_of(&[3, 3]).unwrap_err();
    assert_eq!(order.to_string(), "discovered universe 3 is not 4..63999");
}

#[test]
fn the_ddp_dialects_count_as_their_products_do() {
    let numbers = |numbering| octet(&frames(&mut Ddp::new(ddp(numbering)).unwrap(), &[0; 8640], 3), 1);
    let per_datagram = |first: u8, last: u8| -> Vec<u8> {
        (first..=last).cycle().skip(usize::from(1 - first)).take(18).collect()
    };
    assert_eq!(numbers(DdpNumbering::OneTo15), per_datagram(1, 15));
    assert_eq!(numbers(DdpNumbering::ZeroTo15), per_datagram(0, 15));
    assert_eq!(numbers(DdpNumbering::OneTo16), per_datagram(1, 16));
    assert_eq!(numbers(DdpNumbering::Unused), [0; 18]);
    assert_eq!(numbers(DdpNumbering::PerFrame), [[1; 6], [2; 6], [3; 6]].concat());
}

#[test]
fn ddp_pushes_on_the_last_chunk_even_when_it_is_full() {
    let out = frames(&mut Ddp::new(ddp(DdpNumbering::OneTo15)).unwrap(), &[0; 8640], 1);
    assert_eq!(octet(&out, 0), [0x40, 0x40, 0x40, 0x40, 0x40, 0x41]);
    let offsets: Vec<u8> = out.iter().map(|(_, p)| p[6]).collect();
    assert_eq!(offsets, [0, 5, 11, 16, 22, 28]);
}

#[test]
fn art_net_counts_each_port_address_for_itself() {
    let wrap = |numbering, first_sequence| {
        let config = ArtNetConfig { numbering, first_sequence, ..ArtNetConfig::new(anywhere(6454)) };
        octet(&frames(&mut ArtNet::new(config).unwrap(), &[0; 1020], 2), 12)
    };
    assert_eq!(wrap(ArtNetNumbering::OneTo255, 255), [255, 255, 1, 1]);
    assert_eq!(wrap(ArtNetNumbering::ZeroTo255, 255), [255, 255, 0, 0]);
    assert_eq!(wrap(ArtNetNumbering::Off, 0), [0; 4]);
}

#[test]
fn art_net_pads_an_odd_last_port_address() {
    let out = frames(&mut ArtNet::new(ArtNetConfig::new(anywhere(6454))).unwrap(), &[7; 513], 1);
    assert_eq!(out[1].1[14..], [1, 0, 0, 4, 7, 7, 7, 0]);
}

#[test]
fn big_packet_numbers_frames_and_marks_their_ends() {
    let mut sender = BigPacket::new(BigPacketConfig {
        first_sequence: u32::MAX,
        ..BigPacketConfig::new(anywhere(21600), 3)
    })
    .unwrap();
    sender.set_time_us(Some(77));
    let out = frames(&mut sender, &[0; 3000], 2);
    assert_eq!(octet(&out, 7), [0b1010, 0b1000, 0b1001, 0b1010, 0b1000, 0b1001]);
    assert_eq!(octet(&out, 19), [255, 255, 255, 0, 0, 0]);
    assert_eq!(out[2].1.len(), 32 + 120);
}

#[test]
fn what_the_protocol_has_no_room_for_is_refused_by_name() {
    let base = || SacnConfig::new(CID, "desk");
    let priority = Sacn::new(SacnConfig { priority: 201, ..base() }).unwrap_err();
    assert_eq!(priority, EncodeError { field: "priority", value: 201, limit: Value::Range(0, 200) });
    assert_eq!(Sacn::new(SacnConfig { first_universe: 0, ..base() }).unwrap_err().field, "universe");
    assert_eq!(Sacn::new(SacnConfig { slots: 513, ..base() }).unwrap_err().value, 513);
    let last = SacnConfig { first_universe: 63_999, ..base() };
    let long = Sacn::new(last).unwrap().encode(&[0; 511]).map(drop).unwrap_err();
    assert_eq!(long.to_string(), "frame octets 511 is not at most 510");
    let sequence = Ddp::new(DdpConfig { first_sequence: 16, ..DdpConfig::new(anywhere(4048)) });
    assert_eq!(sequence.unwrap_err().field, "first sequence");
    let address = ArtNetConfig { first_port_address: 0x8000, ..ArtNetConfig::new(anywhere(6454)) };
    assert_eq!(ArtNet::new(address).unwrap_err().field, "port-address");
    let chunk = BigPacketConfig { chunk: 0, ..BigPacketConfig::new(anywhere(21600), 1) };
    assert_eq!(BigPacket::new(chunk).unwrap_err().field, "chunk octets");
}

#[test]
fn an_empty_frame_is_no_datagrams_and_moves_no_counter() {
    for entry in ENCODERS {
        for backend in Backend::ALL {
            let setup = Setup {
                sync_universe: 5,
                art_sync: Some(anywhere(6454)),
                ..Setup::new(Some(anywhere(9)), CID)
            };
            let mut encoder = (entry.build)(backend, &setup).unwrap();
            let before = kept(encoder.encode(&[1; 700]).unwrap());
            assert!(encoder.encode(&[]).unwrap().is_empty());
            let mut other = (entry.build)(backend, &setup).unwrap();
            assert_eq!(kept(other.encode(&[1; 700]).unwrap()), before);
            assert_eq!(kept(other.encode(&[2; 700]).unwrap()), kept(encoder.encode(&[2; 700]).unwrap()));
        }
    }
}
