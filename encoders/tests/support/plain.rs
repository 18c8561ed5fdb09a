//! The octets of each protocol written down plainly, field by field with literal numbers from the protocol texts: the
//! slow witness of the templates. Shares no constant with encoders or decoders.

use super::CID;
use std::net::SocketAddr;
use wireproof_encoders::Setup;
use wireproof_protocols::Protocol;

/// The datagrams of the `nth` frame (0-based) of a sender whose frames all had this length.
pub(crate) fn datagrams(
    protocol: Protocol,
    setup: &Setup,
    frame: &[u8],
    nth: u64,
) -> Vec<(SocketAddr, Vec<u8>)> {
    match protocol {
        Protocol::Sacn => sacn(setup, frame, nth),
        Protocol::Ddp => ddp(setup, frame, nth),
        Protocol::ArtNet => artnet(setup, frame, nth),
        _ => bigpacket(setup, frame, nth),
    }
}

fn sacn(setup: &Setup, frame: &[u8], nth: u64) -> Vec<(SocketAddr, Vec<u8>)> {
    let to = |universe: u16| {
        let [high, low] = universe.to_be_bytes();
        setup.destination.unwrap_or(SocketAddr::from(([239, 255, high, low], 5568)))
    };
    let root = |total: u16, vector: u8| {
        let mut p = vec![0x00, 0x10, 0x00, 0x00];
        p.extend(b"ASC-E1.17\0\0\0");
        p.extend((0x7000 | (total - 16)).to_be_bytes());
        p.extend([0, 0, 0, vector]);
        p.extend(CID);
        p.extend((0x7000 | (total - 38)).to_be_bytes());
        p
    };
    let mut out = Vec::new();
    for (index, slots) in (0..).zip(frame.chunks(usize::from(setup.chunk.unwrap_or(510)))) {
        let universe = setup.first.unwrap_or(1) + index;
        let total = 126 + slots.len() as u16;
        let mut p = root(total, 4);
        p.extend([0, 0, 0, 2]);
        p.extend(setup.name.as_bytes());
        p.resize(108, 0);
        p.push(setup.priority);
        p.extend(setup.sync_universe.to_be_bytes());
        p.extend([nth as u8, 0]);
        p.extend(universe.to_be_bytes());
        p.extend((0x7000 | (total - 115)).to_be_bytes());
        p.extend([0x02, 0xA1, 0x00, 0x00, 0x00, 0x01]);
        p.extend((slots.len() as u16 + 1).to_be_bytes());
        p.push(0);
        p.extend(slots);
        out.push((to(universe), p));
    }
    if setup.sync_universe != 0 && !frame.is_empty() {
        let mut p = root(49, 8);
        p.extend([0, 0, 0, 1, nth as u8]);
        p.extend(setup.sync_universe.to_be_bytes());
        p.extend([0, 0]);
        out.push((to(setup.sync_universe), p));
    }
    out
}

fn ddp(setup: &Setup, frame: &[u8], nth: u64) -> Vec<(SocketAddr, Vec<u8>)> {
    let chunk = usize::from(setup.chunk.unwrap_or(1440));
    let count = frame.len().div_ceil(chunk) as u64;
    let mut out = Vec::new();
    for (index, data) in (0..).zip(frame.chunks(chunk)) {
        let last = index + 1 == count;
        let flags = 0x40 | u8::from(last) | if last && setup.timecode { 0x10 } else { 0 };
        let sequence = (nth * count + index) % 15 + 1;
        let mut p = vec![flags, sequence as u8, 0x0B, setup.id as u8];
        p.extend((index as u32 * chunk as u32).to_be_bytes());
        p.extend((data.len() as u16).to_be_bytes());
        if last && setup.timecode {
            p.extend([0; 4]);
        }
        p.extend(data);
        out.push((setup.destination.unwrap(), p));
    }
    out
}

fn artnet(setup: &Setup, frame: &[u8], nth: u64) -> Vec<(SocketAddr, Vec<u8>)> {
    let mut out = Vec::new();
    for (index, slots) in (0..).zip(frame.chunks(usize::from(setup.chunk.unwrap_or(510)))) {
        let mut p = b"Art-Net\0".to_vec();
        p.extend([0x00, 0x50, 0, 14, (nth % 255 + 1) as u8, 0]);
        p.extend((setup.first.unwrap_or(0) + index).to_le_bytes());
        p.extend((slots.len().next_multiple_of(2) as u16).to_be_bytes());
        p.extend(slots);
        if slots.len() % 2 == 1 {
            p.push(0);
        }
        out.push((setup.destination.unwrap(), p));
    }
    if let Some(to) = setup.art_sync.filter(|_| !frame.is_empty()) {
        let mut p = b"Art-Net\0".to_vec();
        p.extend([0x00, 0x52, 0, 14, 0, 0]);
        out.push((to, p));
    }
    out
}

fn bigpacket(setup: &Setup, frame: &[u8], nth: u64) -> Vec<(SocketAddr, Vec<u8>)> {
    let chunk = usize::from(setup.chunk.unwrap_or(1440));
    let count = frame.len().div_ceil(chunk) as u16;
    let mut out = Vec::new();
    for (index, data) in (0_u16..).zip(frame.chunks(chunk)) {
        let flags = u16::from(index + 1 == count) | if index == 0 { 2 } else { 0 };
        let mut p = b"BPK1".to_vec();
        p.extend([1, 32]);
        for field in [flags, setup.id, index, count, data.len() as u16] {
            p.extend(field.to_be_bytes());
        }
        for field in [nth as u32, u32::from(index) * chunk as u32, frame.len() as u32, 0] {
            p.extend(field.to_be_bytes());
        }
        p.extend(data);
        out.push((setup.destination.unwrap(), p));
    }
    out
}
