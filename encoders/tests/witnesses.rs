//! Independent readers agree with what the encoders write: the `sacn` crate octet for octet, and tshark by field where
//! it is installed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]
#![allow(clippy::disallowed_methods, reason = "tests write a capture for tshark")]

mod support;

use sacn::packet::{AcnRootLayerProtocol, E131RootLayerData};
use std::io::Write;
use std::panic::catch_unwind;
use std::process::Command;
use support::{CID, frame, kept, packings, usual};
use wireproof_encoders::*;
use wireproof_protocols::Protocol;

/// What the crate packs from what it parsed. Its parser is known to panic on some packets.
fn repacked(octets: &[u8]) -> Vec<u8> {
    let octets = octets.to_vec();
    let run = move || AcnRootLayerProtocol::parse(&octets).unwrap().pack_alloc().unwrap();
    catch_unwind(run).expect("the crate reads and writes the packet")
}

#[test]
fn the_sacn_crate_reads_and_writes_the_same_octets() {
    let mut packets = 0;
    for setup in packings(Protocol::Sacn) {
        for backend in Backend::ALL {
            let mut encoder = build(Protocol::Sacn, backend, &setup).unwrap();
            for salt in 0..3 {
                let frame = frame(3000, salt);
                for (_, octets) in kept(encoder.encode(&frame).unwrap()) {
                    assert_eq!(repacked(&octets), octets);
                    packets += 1;
                }
            }
            for batch in [kept(encoder.discovery()), kept(encoder.terminate())] {
                for (_, octets) in batch {
                    assert_eq!(repacked(&octets), octets);
                    packets += 1;
                }
            }
        }
    }
    assert!(packets > 1000, "{packets} packets");
}

#[test]
fn the_sacn_crate_reads_the_fields_that_were_set() {
    let setup = Setup { priority: 150, sync_universe: 99, first: Some(258), ..usual(Protocol::Sacn) };
    let mut encoder = build(Protocol::Sacn, Backend::Contiguous, &setup).unwrap();
    let frame = frame(600, 1);
    let out = kept(encoder.encode(&frame).unwrap());
    let slots = [&frame[..510], &frame[510..]];
    for (index, slots) in slots.into_iter().enumerate() {
        let root = AcnRootLayerProtocol::parse(&out[index].1).unwrap().pdu;
        assert_eq!(root.cid.as_bytes(), &CID);
        let E131RootLayerData::DataPacket(data) = root.data else { panic!("no data packet") };
        assert_eq!((&*data.source_name, data.priority, data.sequence_number), ("Bühne", 150, 0));
        assert_eq!((data.universe, data.synchronization_address), (258 + index as u16, 99));
        assert!(!data.preview_data && !data.stream_terminated && !data.force_synchronization);
        assert_eq!((data.data.property_values[0], &data.data.property_values[1..]), (0, slots));
    }
    let root = AcnRootLayerProtocol::parse(&out[2].1).unwrap().pdu;
    let E131RootLayerData::SynchronizationPacket(sync) = root.data else {
        panic!("no synchronization packet")
    };
    assert_eq!((sync.synchronization_address, sync.sequence_number), (99, 0));
}

#[test]
fn the_sacn_crate_sees_the_goodbyes_and_the_list() {
    let mut encoder = build(Protocol::Sacn, Backend::Gather, &usual(Protocol::Sacn)).unwrap();
    encoder.encode(&[1; 1020]).unwrap();
    let list = kept(encoder.discovery());
    let E131RootLayerData::UniverseDiscoveryPacket(list) =
        AcnRootLayerProtocol::parse(&list[0].1).unwrap().pdu.data
    else {
        panic!("no discovery packet")
    };
    assert_eq!((list.data.page, list.data.last_page, &*list.data.universes), (0, 0, &[1_u16, 2][..]));
    for (_, octets) in kept(encoder.terminate()) {
        let E131RootLayerData::DataPacket(data) = AcnRootLayerProtocol::parse(&octets).unwrap().pdu.data
        else {
            panic!("no data packet")
        };
        assert!(data.stream_terminated);
    }
}

/// A little-endian microsecond pcap file of these datagrams, link type raw IPv4.
fn pcap(out: &[(std::net::SocketAddr, Vec<u8>)]) -> Vec<u8> {
    let mut file = Vec::new();
    file.extend([0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 101, 0, 0, 0]);
    for (nth, (to, payload)) in (0_u32..).zip(out) {
        let total = 28 + payload.len() as u16;
        let std::net::IpAddr::V4(ip) = to.ip() else { panic!("IPv4 only") };
        let mut packet = vec![0x45, 0];
        packet.extend(total.to_be_bytes());
        packet.extend([0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1]);
        packet.extend(ip.octets());
        packet.extend(to.port().to_be_bytes());
        packet.extend(to.port().to_be_bytes());
        packet.extend((total - 20).to_be_bytes());
        packet.extend([0, 0]);
        packet.extend(payload);
        for field in [1, nth, u32::from(total), u32::from(total)] {
            file.extend(field.to_le_bytes());
        }
        file.extend(packet);
    }
    file
}

/// Fields as tshark prints them, one line a packet; `None`, said aloud, where it is not installed.
fn tshark(test: &str, capture: &[u8], options: &[&str]) -> Option<Vec<String>> {
    let path = std::env::temp_dir().join(format!("wireproof-{test}-{}.pcap", std::process::id()));
    std::fs::write(&path, capture).unwrap();
    let run = Command::new("tshark").args(["-n", "-T", "fields", "-r"]).arg(&path).args(options).output();
    std::fs::remove_file(&path).unwrap();
    let Ok(run) = run else {
        let _ = writeln!(std::io::stderr(), "SKIPPED {test}: tshark is not installed");
        return None;
    };
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    Some(String::from_utf8(run.stdout).unwrap().lines().map(str::to_owned).collect())
}

#[test]
fn tshark_reads_the_fields_of_sacn() {
    let setup = Setup { destination: None, priority: 150, ..usual(Protocol::Sacn) };
    let mut encoder = build(Protocol::Sacn, Backend::Gather, &setup).unwrap();
    let frame = frame(1000, 1);
    let mut out = kept(encoder.encode(&frame).unwrap());
    out.extend(kept(encoder.encode(&frame).unwrap()));
    let options = [
        "--enable-heuristic",
        "acn",
        "-o",
        "acn.dmx_enable:TRUE",
        "-e",
        "acn.dmx.universe",
        "-e",
        "acn.dmx.seq_number",
        "-e",
        "acn.dmx.priority",
        "-e",
        "acn.dmx.source_name",
    ];
    let Some(lines) = tshark("tshark_reads_the_fields_of_sacn", &pcap(&out), &options) else { return };
    let want = ["1\t0\t150\tBühne", "2\t0\t150\tBühne", "1\t1\t150\tBühne", "2\t1\t150\tBühne"];
    assert_eq!(lines, want);
}

#[test]
fn tshark_reads_the_fields_of_art_net() {
    let to = usual(Protocol::ArtNet).destination;
    let setup = Setup { art_sync: to, first: Some(300), ..usual(Protocol::ArtNet) };
    let mut encoder = build(Protocol::ArtNet, Backend::Contiguous, &setup).unwrap();
    let out = kept(encoder.encode(&frame(1001, 1)).unwrap());
    let fields =
        ["artnet.header.opcode", "artnet.output.sequence", "artnet.output.universe", "artnet.output.length"];
    let options: Vec<&str> = fields.iter().flat_map(|field| ["-e", *field]).collect();
    let Some(lines) = tshark("tshark_reads_the_fields_of_art_net", &pcap(&out), &options) else { return };
    assert_eq!(lines, ["0x5000\t1\t300\t510", "0x5000\t1\t301\t492", "0x5200\t\t\t"]);
}
