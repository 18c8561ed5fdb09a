//! Octets of datagrams as senders write them, shared by the tests of the verifier.

#![allow(dead_code, reason = "every test file uses its own part")]

pub(crate) mod account;
pub(crate) mod capture;

/// Fields of a sACN data packet.
#[derive(Clone, Copy)]
pub(crate) struct SacnData<'a> {
    pub(crate) cid: [u8; 16],
    pub(crate) name: &'a [u8],
    pub(crate) priority: u8,
    pub(crate) sync: u16,
    pub(crate) number: u8,
    pub(crate) options: u8,
    pub(crate) universe: u16,
    pub(crate) start_code: u8,
}

impl SacnData<'_> {
    pub(crate) fn octets(&self, slots: &[u8]) -> Vec<u8> {
        let n = 126 + slots.len();
        let mut out = sacn_root(n, 4, &self.cid);
        let mut name = [0; 64];
        name[..self.name.len()].copy_from_slice(self.name);
        put(&mut out, &[&2u32.to_be_bytes(), &name, &[self.priority], &self.sync.to_be_bytes()]);
        put(&mut out, &[&[self.number, self.options], &self.universe.to_be_bytes(), &pdu_length(n - 115)]);
        put(&mut out, &[&[2, 0xa1, 0, 0, 0, 1], &(slots.len() as u16 + 1).to_be_bytes()]);
        put(&mut out, &[&[self.start_code], slots]);
        out
    }
}

/// A sACN sync packet.
pub(crate) fn sacn_sync(cid: &[u8; 16], number: u8, address: u16) -> Vec<u8> {
    let mut out = sacn_root(49, 8, cid);
    put(&mut out, &[&1u32.to_be_bytes(), &[number], &address.to_be_bytes(), &[0, 0]]);
    out
}

/// A page of a sACN universe discovery packet.
pub(crate) fn sacn_discovery(cid: &[u8; 16], page: u8, last: u8, list: &[u16]) -> Vec<u8> {
    let n = 120 + 2 * list.len();
    let mut out = sacn_root(n, 8, cid);
    put(&mut out, &[&2u32.to_be_bytes(), &[b'x'; 63], &[0; 5], &pdu_length(n - 112)]);
    put(&mut out, &[&1u32.to_be_bytes(), &[page, last]]);
    list.iter().for_each(|u| out.extend_from_slice(&u.to_be_bytes()));
    out
}

/// An ArtDmx packet.
pub(crate) fn art_dmx(number: u8, physical: u8, port_address: u16, slots: &[u8]) -> Vec<u8> {
    let mut out = b"Art-Net\0\x00\x50\x00\x0e".to_vec();
    put(&mut out, &[&[number, physical], &port_address.to_le_bytes()]);
    put(&mut out, &[&(slots.len() as u16).to_be_bytes(), slots]);
    out
}

/// A DDP packet; `head` holds flags, number and id.
pub(crate) fn ddp(head: [u8; 3], offset: u32, length: u16, data: &[u8]) -> Vec<u8> {
    let [flags, number, id] = head;
    let mut out = vec![flags, number, 0x0b, id];
    put(&mut out, &[&offset.to_be_bytes(), &length.to_be_bytes()]);
    if flags & 0x10 != 0 {
        out.extend_from_slice(&[1, 2, 3, 4]);
    }
    out.extend_from_slice(data);
    out
}

/// A BigPacket chunk; `head` holds flags, stream id, index and count, `tail` frame, offset, frame length and time.
pub(crate) fn bigpacket(head: [u16; 4], tail: [u32; 4], data: &[u8]) -> Vec<u8> {
    let mut out = b"BPK1\x01\x20".to_vec();
    head.iter().for_each(|field| out.extend_from_slice(&field.to_be_bytes()));
    out.extend_from_slice(&(data.len() as u16).to_be_bytes());
    tail.iter().for_each(|field| out.extend_from_slice(&field.to_be_bytes()));
    out.extend_from_slice(data);
    out
}

fn sacn_root(octets: usize, vector: u32, cid: &[u8; 16]) -> Vec<u8> {
    let mut out = Vec::with_capacity(octets);
    put(&mut out, &[&[0, 0x10, 0, 0], b"ASC-E1.17\0\0\0", &pdu_length(octets - 16)]);
    put(&mut out, &[&vector.to_be_bytes(), cid, &pdu_length(octets - 38)]);
    out
}

fn pdu_length(n: usize) -> [u8; 2] {
    (0x7000 | (n as u16 & 0x0fff)).to_be_bytes()
}

fn put(octets: &mut Vec<u8>, parts: &[&[u8]]) {
    parts.iter().for_each(|p| octets.extend_from_slice(p));
}
