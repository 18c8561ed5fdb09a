//! Everything an encoder has no room for ends in an error that names field, value and limit.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

mod support;

use std::net::SocketAddr;
use support::{CID, receiver, usual};
use wireproof_encoders::*;
use wireproof_protocols::Protocol::{self, ArtNet, BigPacket, Ddp, Kinet, Sacn};

type Change = fn(&mut Setup);

fn refused(protocol: Protocol, change: Change) -> [String; 2] {
    let mut setup = usual(protocol);
    change(&mut setup);
    Backend::ALL.map(|backend| build(protocol, backend, &setup).err().expect("an error").to_string())
}

#[test]
fn a_setup_outside_the_protocol_is_refused_by_field_value_and_limit() {
    let cases: [(Protocol, Change, &str); 20] = [
        (Sacn, |s| s.first = Some(0), "universe 0 is not 1..63999"),
        (Sacn, |s| s.first = Some(64_000), "universe 64000 is not 1..63999"),
        (Sacn, |s| s.priority = 201, "priority 201 is not 0..200"),
        (Sacn, |s| s.chunk = Some(513), "slots 513 is not 1..512"),
        (Sacn, |s| s.chunk = Some(0), "slots 0 is not 1..512"),
        (Sacn, |s| s.sync_universe = 64_000, "sync address 64000 is not 0..63999"),
        (Sacn, |s| s.name = "n".repeat(64), "source name octets 64 is not at most 63"),
        (
            Sacn,
            |s| s.name = "ä".repeat(32),
            "source name octets (a cut after 63 would fall inside a character) 64 is not at most 62",
        ),
        (
            Sacn,
            |s| s.name = "a\0b".to_owned(),
            "source name NUL at octet 1 is not allowed: the name ends at its first NUL",
        ),
        (ArtNet, |s| s.chunk = Some(511), "slots 511 is not even, as ArtDmx lengths are"),
        (ArtNet, |s| s.chunk = Some(514), "slots 514 is not 2..512"),
        (ArtNet, |s| s.first = Some(0x8000), "port-address 32768 is not 0..32767"),
        (
            ArtNet,
            |s| s.destination = None,
            "destinations 0 is not enough: only sACN has a group for each universe, give one address",
        ),
        (Ddp, |s| s.id = 0, "id 0 is not 1..255"),
        (Ddp, |s| s.id = 256, "id 256 is not 1..255"),
        (
            Ddp,
            |s| s.chunk = Some(1463),
            "datagram octets, IP and UDP headers included, 1501 is not at most 1500",
        ),
        (
            Ddp,
            |s| (s.chunk, s.timecode) = (Some(1459), true),
            "datagram octets, IP and UDP headers included, 1501 is not at most 1500",
        ),
        (BigPacket, |s| s.chunk = Some(0), "chunk octets 0 is not 1..65535"),
        (
            BigPacket,
            |s| s.chunk = Some(1441),
            "datagram octets, IP and UDP headers included, 1501 is not at most 1500",
        ),
        (
            BigPacket,
            |s| (s.chunk, s.fragment) = (Some(65_476), true),
            "datagram octets 65508 is not at most 65507",
        ),
    ];
    for (protocol, change, message) in cases {
        assert_eq!(refused(protocol, change), [message, message]);
    }
    assert!(
        build(Kinet, Backend::Gather, &usual(Kinet)).err().unwrap().to_string().contains("sacn, ddp, artnet")
    );
}

#[test]
fn the_headers_of_ipv6_leave_less_room() {
    let to = Some(SocketAddr::from(([0xfd00, 0, 0, 0, 0, 0, 0, 9], 21600)));
    let fits = |protocol, chunk| {
        let setup = Setup { destination: to, chunk: Some(chunk), ..Setup::new(to, CID) };
        build(protocol, Backend::Contiguous, &setup).is_ok()
    };
    assert_eq!([fits(BigPacket, 1420), fits(BigPacket, 1421)], [true, false]);
    assert_eq!([fits(Ddp, 1442), fits(Ddp, 1443)], [true, false]);
}

#[test]
fn more_data_than_the_protocol_numbers_is_refused_whole() {
    let cases: [(Protocol, Change, usize, &str); 3] = [
        (Sacn, |s| (s.first, s.chunk) = (Some(63_990), Some(1)), 11, "frame octets 11 is not at most 10"),
        (ArtNet, |s| (s.first, s.chunk) = (Some(32_766), Some(2)), 5, "frame octets 5 is not at most 4"),
        (BigPacket, |s| s.chunk = Some(1), 65_536, "frame octets 65536 is not at most 65535"),
    ];
    for (protocol, change, octets, message) in cases {
        let mut setup = usual(protocol);
        change(&mut setup);
        for backend in Backend::ALL {
            let mut encoder = build(protocol, backend, &setup).unwrap();
            assert_eq!(encoder.encode(&vec![0; octets]).map(drop).unwrap_err().to_string(), message);
            assert_eq!(encoder.frame_mut(octets).map(drop).unwrap_err().to_string(), message);
            assert!(encoder.encode(&vec![0; octets - 1]).is_ok());
        }
    }
}

#[test]
fn a_packet_beside_the_frame_is_checked_as_well() {
    let mut sacn = wireproof_encoders::Sacn::new(SacnConfig::new(CID, "desk")).unwrap();
    assert_eq!(sacn.universe(0, 0, &[1]).map(drop).unwrap_err().to_string(), "universe 0 is not 1..63999");
    assert_eq!(sacn.universe(1, 0, &[1; 513]).map(drop).unwrap_err().to_string(), "slots 513 is not 0..512");
    assert!(sacn.terminate().is_empty(), "nothing was sent, so that nothing ends");
    let mut config = DdpConfig::new(receiver(Ddp));
    config.chunk = 1462;
    let mut ddp = wireproof_encoders::Ddp::new(config).unwrap();
    assert_eq!(ddp.set_timecode(Some(1)).unwrap_err().value, 1504);
    assert_eq!(ddp.encode(&[1; 1462]).unwrap().octets(), 1472, "the refused time code changed nothing");
}
