//! Golden vectors that are valid encodings come out byte for byte; parameters are read from the vector itself.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod golden;

use golden::octets;
use std::net::SocketAddr;
use wireproof_encoders::*;

fn anywhere(port: u16) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 9], port))
}

fn u16_at(b: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([b[at], b[at + 1]])
}

fn collect(batch: Batch<'_>) -> Vec<(SocketAddr, Vec<u8>)> {
    batch.iter().map(|datagram| (datagram.destination, datagram.to_vec())).collect()
}

fn name_at(b: &[u8]) -> String {
    let field = &b[44..108];
    let end = field.iter().position(|&o| o == 0).unwrap();
    String::from_utf8(field[..end].to_vec()).unwrap()
}

fn sacn_config(b: &[u8]) -> SacnConfig {
    let mut config = SacnConfig::new(b[22..38].try_into().unwrap(), &name_at(b));
    config.priority = b[108];
    config.sync_address = u16_at(b, 109);
    config.first_sequence = b[111];
    config.preview = b[112] & 0x80 != 0;
    config.force_sync = b[112] & 0x20 != 0;
    config
}

#[test]
fn sacn_data_vectors_come_out_byte_for_byte() {
    let Some(all) = golden::vectors("sacn_data_vectors_come_out_byte_for_byte") else { return };
    let names = ["data-512", "data-510", "data-1slot-startcode-only", "pap-0xDD", "preview", "synced"];
    for name in names.into_iter().chain(["max-universe", "prio-0"]) {
        let want = octets(&all, "sacn", name);
        let mut sacn = Sacn::new(sacn_config(&want)).unwrap();
        let out = collect(sacn.universe(u16_at(&want, 113), want[125], &want[126..]).unwrap());
        assert_eq!(out.len(), 1, "{name}");
        assert_eq!(out[0].1, want, "{name}");
        let group = SocketAddr::from((multicast_group(u16_at(&want, 113)), 5568));
        assert_eq!(out[0].0, group, "{name}");
    }
}

#[test]
fn a_sacn_frame_of_one_universe_is_the_data_vector() {
    let Some(all) = golden::vectors("a_sacn_frame_of_one_universe_is_the_data_vector") else { return };
    for (name, slots) in [("data-512", 512), ("data-510", 510)] {
        let want = octets(&all, "sacn", name);
        let mut config = sacn_config(&want);
        (config.first_universe, config.slots) = (u16_at(&want, 113), slots);
        let out = collect(Sacn::new(config).unwrap().encode(&want[126..]).unwrap());
        assert_eq!(out.into_iter().map(|(_, p)| p).collect::<Vec<_>>(), [want], "{name}");
    }
}

#[test]
fn the_sacn_goodbye_is_the_terminated_vector_three_times() {
    let Some(all) = golden::vectors("the_sacn_goodbye_is_the_terminated_vector_three_times") else { return };
    let want = octets(&all, "sacn", "terminated-start-code-only");
    let mut config = sacn_config(&want);
    config.first_sequence = want[111].wrapping_sub(1);
    let mut sacn = Sacn::new(config).unwrap();
    sacn.universe(u16_at(&want, 113), 0, &[1, 2]).unwrap();
    let out = collect(sacn.terminate());
    assert_eq!(out.len(), 3);
    assert_eq!(out[0].1, want);
    assert_eq!(out[2].1[111], want[111].wrapping_add(2));
}

#[test]
fn the_sacn_synchronization_vector_comes_out_byte_for_byte() {
    let Some(all) = golden::vectors("the_sacn_synchronization_vector_comes_out_byte_for_byte") else {
        return;
    };
    let want = octets(&all, "sacn", "sync");
    let mut config = SacnConfig::new(want[22..38].try_into().unwrap(), "");
    (config.first_sequence, config.sync_packets) = (want[44], u16_at(&want, 45));
    let out = collect(Sacn::new(config).unwrap().sync());
    assert_eq!(out.len(), 1);
    assert_eq!(out[0].1, want);
    assert_eq!(out[0].0, SocketAddr::from((multicast_group(u16_at(&want, 45)), 5568)));
}

#[test]
fn the_discovery_vectors_come_out_byte_for_byte() {
    let Some(all) = golden::vectors("the_discovery_vectors_come_out_byte_for_byte") else { return };
    for name in ["discovery-2", "discovery-empty", "discovery-512"] {
        let want = octets(&all, "sacn", name);
        let universes: Vec<u16> = want[120..].chunks(2).map(|c| u16_at(c, 0)).collect();
        let config = SacnConfig::new(want[22..38].try_into().unwrap(), &name_at(&want));
        let mut sacn = Sacn::new(config).unwrap();
        let out = collect(sacn.discovery_of(&universes).unwrap());
        assert_eq!(out.len(), 1, "{name}");
        assert_eq!(out[0].1, want, "{name}");
        assert_eq!(out[0].0, SocketAddr::from(([239, 255, 250, 214], 5568)));
    }
}

#[test]
fn the_ddp_vectors_come_out_byte_for_byte() {
    let Some(all) = golden::vectors("the_ddp_vectors_come_out_byte_for_byte") else { return };
    let names = ["data", "data-push", "timecode", "type-00", "type-01", "type-8b", "seq-0", "dmx-transit"];
    for name in names.into_iter().chain(["seq-16-reserved-bit"]) {
        let want = octets(&all, "ddp", name);
        let mut config = DdpConfig::new(anywhere(4048));
        (config.data_type, config.id, config.first_sequence) = (want[2], want[3], want[1]);
        config.base_offset = u32::from_be_bytes(want[4..8].try_into().unwrap());
        config.push = if want[0] & 1 != 0 { DdpPush::Last } else { DdpPush::Never };
        config.numbering = match want[1] {
            0 => DdpNumbering::Unused,
            16 => DdpNumbering::OneTo16,
            _ => DdpNumbering::OneTo15,
        };
        let timed = want[0] & 0x10 != 0;
        config.timecode = timed.then(|| u32::from_be_bytes(want[10..14].try_into().unwrap()));
        let data = &want[if timed { 14 } else { 10 }..];
        let out = collect(Ddp::new(config).unwrap().encode(data).unwrap());
        assert_eq!(out.into_iter().map(|(_, p)| p).collect::<Vec<_>>(), [want], "{name}");
    }
}

#[test]
fn the_ddp_push_only_vector_comes_out_byte_for_byte() {
    let Some(all) = golden::vectors("the_ddp_push_only_vector_comes_out_byte_for_byte") else { return };
    let mut ddp = Ddp::new(DdpConfig::new(anywhere(4048))).unwrap();
    let out = collect(ddp.push_only(anywhere(4048)));
    assert_eq!(out[0].1, octets(&all, "ddp", "push-only"));
}

#[test]
fn the_art_net_vectors_come_out_byte_for_byte() {
    let Some(all) = golden::vectors("the_art_net_vectors_come_out_byte_for_byte") else { return };
    for name in ["artdmx-2", "artdmx-512", "artdmx-seq0"] {
        let want = octets(&all, "artnet", name);
        let mut config = ArtNetConfig::new(anywhere(6454));
        (config.first_sequence, config.physical, config.slots) = (want[12], want[13], 512);
        config.first_port_address = u16::from_le_bytes([want[14], want[15]]);
        if want[12] == 0 {
            config.numbering = ArtNetNumbering::Off;
        }
        let out = collect(ArtNet::new(config).unwrap().encode(&want[18..]).unwrap());
        assert_eq!(out.into_iter().map(|(_, p)| p).collect::<Vec<_>>(), [want], "{name}");
    }
    let mut config = ArtNetConfig::new(anywhere(6454));
    config.sync = Some(anywhere(6454));
    let mut artnet = ArtNet::new(config).unwrap();
    assert_eq!(collect(artnet.sync())[0].1, octets(&all, "artnet", "artsync"));
    let poll = octets(&all, "artnet", "artpoll-14");
    let out = collect(artnet.poll(anywhere(6454), poll[12], poll[13]));
    assert_eq!(out[0].1, poll);
}

#[test]
fn the_big_packet_vectors_come_out_byte_for_byte() {
    let Some(all) = golden::vectors("the_big_packet_vectors_come_out_byte_for_byte") else { return };
    let first = octets(&all, "bigpacket", "chunk-0");
    let last = octets(&all, "bigpacket", "chunk-5-last");
    let length = u32::from_be_bytes(first[24..28].try_into().unwrap()) as usize;
    let mut config = BigPacketConfig::new(anywhere(21600), u16_at(&first, 8));
    config.first_sequence = u32::from_be_bytes(first[16..20].try_into().unwrap());
    config.mark_first = false;
    let frame = vec![first[32]; length];
    let out = collect(BigPacket::new(config).unwrap().encode(&frame).unwrap());
    assert_eq!(out.len(), 6);
    assert_eq!((&out[0].1, &out[5].1), (&first, &last));
}
