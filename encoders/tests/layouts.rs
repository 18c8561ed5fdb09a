//! Laws of encoders of layouts, for every layout that comes with the product and some more: what is sent decodes without
//! a fault into the frame, a writer that sets bits one by one sends the same octets, and so do the hand-written
//! encoders of the same protocols.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

mod support;

use proptest::prelude::*;
use std::net::SocketAddr;
use support::{CID, edges, frame, kept};
use wireproof_encoders::bench::golden::{self, Numbers};
use wireproof_encoders::bench::suite::identity;
use wireproof_encoders::{Backend, Declared, Encoder, Setup, build, usual_chunk};
use wireproof_protocols::layout::{Layout, LayoutDecoder, LayoutId, Layouts};
use wireproof_protocols::{Datagram, Decoder, Faults, Marks, Protocol, Timestamp};

/// Roles and keys that no shipped layout has.
const MORE: [&str; 3] = [
    "name = \"summed\"\nheader_len = 16\nfooter_len = 3\nbyte_order = \"little\"\npayload_unit = 3\n[match]\nudp_dst = [7001]\n\
     [[field]]\nname = \"m\"\nat = 0\nrole = \"magic\"\nconst_hex = \"aa55\"\n\
     [[field]]\nname = \"n\"\nat = 2\nsize = 1\nbits = [6, 3]\nrole = \"packet_seq\"\n\
     [[field]]\nname = \"last\"\nat = 2\nsize = 1\nbits = [7, 7]\nrole = \"last_packet\"\n\
     [[field]]\nname = \"zero\"\nat = 2\nsize = 1\nbits = [2, 0]\nrole = \"reserved_zero\"\n\
     [[field]]\nname = \"pixel\"\nat = 3\nsize = 3\nrole = \"byte_offset\"\nscale = 3\n\
     [[field]]\nname = \"whole\"\nat = 6\nsize = 4\nrole = \"length_of_rest\"\nbase = 6\n\
     [[field]]\nname = \"pixels\"\nat = 10\nsize = 2\nrole = \"payload_len\"\nscale = 3\n\
     [[field]]\nname = \"head\"\nat = 12\nsize = 1\nrole = \"header_len\"\n\
     [[field]]\nname = \"out\"\nat = 13\nsize = 1\nrole = \"stream_id\"\n\
     [[field]]\nname = \"end\"\nat_footer = 0\nsize = 1\nrole = \"const\"\nconst = 0x7e\n\
     [[field]]\nname = \"crc\"\nat_footer = 1\nsize = 2\nrole = \"checksum\"\nsum = \"crc16-modbus\"\n\
     [sequence]\nfirst = 1\nlast = 15\nunused = 0\n",
    "name = \"named\"\nheader_len = 40\n[match]\nudp_dst = [7002]\n\
     [[field]]\nname = \"id\"\nat = 0\nsize = 16\nrole = \"sender_id\"\n\
     [[field]]\nname = \"name\"\nat = 16\nsize = 16\nrole = \"sender_name\"\n\
     [[field]]\nname = \"universe\"\nat = 32\nsize = 2\nrole = \"stream_id\"\nmin = 1\n\
     [[field]]\nname = \"n\"\nat = 34\nsize = 2\nrole = \"packet_seq\"\n\
     [[field]]\nname = \"length\"\nat = 36\nsize = 2\nrole = \"payload_len\"\nadd = -40\n\
     [[field]]\nname = \"sum\"\nat = 38\nsize = 2\nrole = \"checksum\"\nsum = \"inet16\"\n\
     [sequence]\nscope = \"source\"\n",
    "name = \"fixed\"\nheader_len = 6\n[match]\nudp_dst = [7003]\n\
     [[field]]\nname = \"frame\"\nat = 0\nsize = 4\nrole = \"frame_seq\"\n\
     [[field]]\nname = \"part\"\nat = 4\nsize = 1\nrole = \"packet_index\"\nbase = 1\n\
     [[field]]\nname = \"kind\"\nat = 5\nsize = 1\nrole = \"opaque\"\nsend = 9\n\
     [frame]\nexpect_packets = 6\nexpect_bytes = 8640\n",
];

fn all() -> Vec<&'static LayoutDecoder> {
    let more = Layouts::new(MORE.iter().map(|text| Layout::read(text).unwrap()).collect()).unwrap();
    Layouts::shipped().unwrap().decoders().iter().chain(more.decoders()).collect()
}

fn id(decoder: &LayoutDecoder) -> LayoutId {
    let Protocol::Layout(id) = decoder.protocol() else { panic!("a layout's protocol") };
    id
}

fn to(decoder: &LayoutDecoder) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 9], decoder.ports()[0]))
}

fn setup(decoder: &LayoutDecoder, chunk: Option<u16>) -> Setup {
    Setup { name: "Bühne".to_owned(), id: 7, chunk, ..Setup::new(Some(to(decoder)), CID) }
}

/// The frame of `octets`, as near as the layout allows: whole pixels where it counts them, its one size where it has one.
fn sized(decoder: &LayoutDecoder, octets: usize, chunk: usize) -> Option<usize> {
    match decoder.protocol().name() {
        "layout:fixed" => (chunk == 1440).then_some(8640),
        "layout:summed" => Some(octets - octets % 3).filter(|_| chunk.is_multiple_of(3)),
        "layout:wled-dnrgb" => {
            Some((octets - octets % 3).min(65_535 * 3)).filter(|_| chunk.is_multiple_of(3))
        }
        "layout:tpm2net" => Some(octets.min(255 * chunk)),
        "layout:artdmx" => Some(octets.min(32_767 * chunk)).filter(|_| chunk >= 2 && chunk.is_multiple_of(2)),
        _ => Some(octets),
    }
}

/// Decodes a frame's datagrams without a fault and puts it together again; octets that pad the end are left out.
fn reassembled(decoder: &LayoutDecoder, octets: usize, out: &[(SocketAddr, Vec<u8>)]) -> Vec<u8> {
    let mut frame = Vec::new();
    for (index, (destination, payload)) in out.iter().enumerate() {
        let d = Datagram::new(to(decoder), *destination, payload);
        let mut faults = Faults::new();
        let pdu = decoder.decode(&d, &mut faults).unwrap();
        assert!(faults.is_empty(), "{}: {:?}", decoder.protocol().name(), faults.as_slice());
        assert_eq!(pdu.data_length as usize, pdu.data.len());
        let table = &decoder.table().layout;
        if table.field(wireproof_protocols::layout::Role::ByteOffset).is_some() {
            assert_eq!(pdu.offset as usize, frame.len());
        }
        let ends = pdu.marks.has(Marks::PUSH) || pdu.count > 0 && pdu.index + 1 == pdu.count;
        let can = table.frame.ends_by.iter().any(|e| *e != wireproof_protocols::layout::Ending::SeqChange);
        assert_eq!(ends, can && index + 1 == out.len(), "{}: datagram {index}", decoder.protocol().name());
        frame.extend_from_slice(pdu.data);
    }
    assert!(frame.iter().skip(octets).all(|octet| *octet == 0), "only zeros pad");
    frame.truncate(octets);
    frame
}

fn round_trip(decoder: &LayoutDecoder, chunk: u16, octets: usize, salt: u32) {
    let mut encoder = Declared::new(id(decoder), &setup(decoder, Some(chunk))).unwrap();
    for nth in 0..3 {
        let frame = frame(octets, salt + nth);
        let out = if nth == 1 {
            encoder.frame_mut(octets).unwrap().copy_from_slice(&frame);
            kept(encoder.encode_own().unwrap())
        } else {
            kept(encoder.encode(&frame).unwrap())
        };
        assert_eq!(reassembled(decoder, octets, &out), frame, "{} {octets}", decoder.protocol().name());
        let who = golden::Identity { cid: CID, name: "Bühne".to_owned(), device: 7, ..identity() };
        let numbers = Numbers { frames: nth.into(), first: 0, ddp_last: 15 };
        let want = golden::datagrams(decoder.protocol(), &who, chunk.into(), numbers, &frame).unwrap();
        let got: Vec<Vec<u8>> = out.into_iter().map(|(_, octets)| octets).collect();
        assert_eq!(got, want, "{}: {octets} octets, frame {nth}", decoder.protocol().name());
    }
}

#[test]
fn frames_of_every_edge_come_back_without_faults() {
    for decoder in all() {
        let usual = usual_chunk(&decoder.table().layout);
        for chunk in [usual, usual / 3 * 3 - 3, 6, 3] {
            let sizes = edges(chunk.into()).into_iter().filter(|octets| *octets <= 4000 || chunk > 100);
            for octets in sizes.filter_map(|octets| sized(decoder, octets, chunk.into())) {
                round_trip(decoder, chunk, octets, 1);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn frames_of_any_length_come_back_without_faults(octets in 0..20_000_usize, chunk in 1..1400_u16, salt in any::<u16>()) {
        for decoder in all() {
            let chunk = chunk.min(usual_chunk(&decoder.table().layout));
            if let Some(octets) = sized(decoder, octets, chunk.into()) {
                round_trip(decoder, chunk, octets, salt.into());
            }
        }
    }
}

#[test]
fn a_layout_sends_the_octets_of_the_hand_written_encoder() {
    let pairs = [("layout:bigpacket", Protocol::BigPacket, 1440), ("layout:artdmx", Protocol::ArtNet, 510)];
    for (name, hand, chunk) in pairs {
        let decoder = all().into_iter().find(|d| d.protocol().name() == name).unwrap();
        let setup = setup(decoder, Some(chunk));
        let mut declared = build(decoder.protocol(), Backend::Contiguous, &setup).unwrap();
        let mut by_hand = build(hand, Backend::Contiguous, &setup).unwrap();
        for nth in 0..600 {
            if nth == 400 {
                for encoder in [&mut declared, &mut by_hand] {
                    encoder.set_time(Timestamp(77_000_000_123));
                }
            }
            let frame = frame(3001, nth);
            let want = kept(by_hand.encode(&frame).unwrap());
            assert_eq!(kept(declared.encode(&frame).unwrap()), want, "{name} frame {nth}");
        }
    }
}

#[test]
fn what_does_not_fit_is_refused_and_changes_nothing() {
    let by_name = |name: &str| all().into_iter().find(|d| d.protocol().name() == name).unwrap();
    let refused = |name: &str, chunk, octets| {
        let decoder = by_name(name);
        let mut encoder = Declared::new(id(decoder), &setup(decoder, chunk)).unwrap();
        let error = encoder.encode(&frame(octets, 1)).unwrap_err().to_string();
        let whole = sized(decoder, 8640, chunk.map_or(1440, usize::from)).unwrap();
        let mut untold = Declared::new(id(decoder), &setup(decoder, chunk)).unwrap();
        let frame = frame(whole, 2);
        assert_eq!(kept(encoder.encode(&frame).unwrap()), kept(untold.encode(&frame).unwrap()), "{name}");
        error
    };
    assert_eq!(refused("layout:tpm2net", Some(40), 256 * 40), "packets 256 is not 0..255");
    assert_eq!(refused("layout:fixed", Some(1440), 8641), "frame octets 8641 is not 8640");
    let summed = by_name("layout:summed");
    let mut splitting = Declared::new(id(summed), &setup(summed, Some(40))).unwrap();
    let error = splitting.encode(&frame(100, 1)).unwrap_err();
    assert_eq!(error.to_string(), "pixel 40 is not a multiple of its scale");
    let artdmx = by_name("layout:artdmx");
    let error = Declared::new(id(artdmx), &setup(artdmx, Some(513))).err().unwrap();
    assert_eq!(error.to_string(), "chunk octets 513 is not 1..512");
    assert!(Declared::new(id(artdmx), &Setup::new(None, CID)).is_err());
}

#[test]
fn usual_chunks_hold_whole_pixels() {
    let chunks: Vec<(&str, u16)> =
        all().iter().map(|d| (d.protocol().name(), usual_chunk(&d.table().layout))).collect();
    let want = [
        ("layout:artdmx", 510),
        ("layout:bigpacket", 1440),
        ("layout:tpm2net", 1440),
        ("layout:wled-dnrgb", 1440),
        ("layout:summed", 1440),
        ("layout:named", 1431),
        ("layout:fixed", 1440),
    ];
    assert_eq!(chunks, want);
}

#[test]
fn a_declared_frame_is_shared_out_among_the_declared_datagrams() {
    // 2,880 octets in three parts, where an Ethernet frame would hold half of it; whole pixels where they divide.
    for (octets, datagrams, share) in
        [(2880, 3, 960), (2000, 2, 1002), (100, 1, 102), (8640, 6, 1440), (9, 3, 3)]
    {
        let text = format!(
            "name = \"shared\"\nheader_len = 2\n[match]\nudp_dst = [7004]\n\
             [[field]]\nname = \"part\"\nat = 0\nsize = 1\nrole = \"packet_index\"\n\
             [frame]\nexpect_packets = {datagrams}\nexpect_bytes = {octets}\n"
        );
        assert_eq!(usual_chunk(&Layout::read(&text).unwrap()), share, "{octets} octets in {datagrams}");
    }
}

#[test]
fn a_changed_header_octet_shows() {
    for decoder in all() {
        let header = usize::from(decoder.table().layout.header_len);
        let mut encoder = Declared::new(id(decoder), &setup(decoder, None)).unwrap();
        let octets = sized(decoder, 8640, 1440).unwrap();
        let (to, sent) = kept(encoder.encode(&frame(octets, 5)).unwrap()).swap_remove(0);
        let seen = |payload: &[u8]| {
            let mut faults = Faults::new();
            let d = Datagram::new(to, to, payload);
            let pdu = decoder.decode(&d, &mut faults).map(|pdu| format!("{pdu:?}"));
            (pdu.ok(), format!("{:?}", faults.as_slice()))
        };
        let fields = &decoder.table().layout.fields;
        for at in 0..header {
            let mut changed = sent.clone();
            changed[at] ^= 0xff;
            // A field without meaning, a version above the least, and octets that no field has.
            let has = |name: &str| {
                fields.iter().any(|f| f.name == name && f.octets().any(|(o, _)| usize::from(o) == at))
            };
            let known = fields.iter().any(|f| f.octets().any(|(o, _)| usize::from(o) == at));
            let mute = ["timeout", "kind", "version"].iter().any(|name| has(name) && name != &"version")
                || has("version") && decoder.protocol().name() == "layout:artdmx"
                || !known
                    && decoder.table().layout.field(wireproof_protocols::layout::Role::Checksum).is_none();
            let shows = seen(&changed) != seen(&sent);
            assert_eq!(shows, !mute, "{} octet {at}", decoder.protocol().name());
        }
    }
}
