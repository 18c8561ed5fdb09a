//! A simulated sender and the link under its datagrams.

use super::dice::Dice;
use crate::wire::{self, SacnData};
use std::net::{IpAddr, SocketAddr};
use wireproof_protocols::{Checksum, Link, Protocol};

/// A simulated sender that counts well until a mutation strikes.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    pub(crate) protocol: Protocol,
    pub(crate) source: SocketAddr,
    pub(crate) destinations: Vec<SocketAddr>,
    cid: [u8; 16],
    id: u16,
    physical: u8,
    priority: u8,
    sync: u16,
    options: u8,
    sequence: u32,
    numbers: Vec<u32>,
    /// Step of the counter, where it wraps to, and whether it counts frames.
    counting: (u32, u32, bool),
    chunks: usize,
    chunk: usize,
    at: usize,
    content: u8,
    ip_id: Option<u16>,
}

impl Sender {
    pub(crate) fn new(dice: &mut Dice) -> Sender {
        let protocol = [Protocol::Sacn, Protocol::Ddp, Protocol::ArtNet, Protocol::BigPacket][dice.below(4)];
        let port = port(protocol);
        let host = dice.below(3) as u8;
        let source = match dice.below(5) {
            0 => IpAddr::from([0xfe80, 0, 0, 0, 0, 0, 0, u16::from(host)]),
            _ => IpAddr::from([10, 0, 0, host]),
        };
        let many = [1, 1, 1, 2, 3, 18][dice.below(6)];
        let to = |i: usize| SocketAddr::from(([10, 0, 1, i as u8], port));
        let start = dice.u32();
        Sender {
            protocol,
            source: SocketAddr::new(source, 5000 + dice.below(3) as u16),
            destinations: (0..many).map(to).collect(),
            cid: [dice.below(3) as u8; 16],
            id: 1 + dice.below(3) as u16,
            physical: dice.below(2) as u8,
            priority: [0, 100, 100, 100, 200][dice.below(5)],
            sync: [0, 0, 7, 9][dice.below(4)],
            options: 0,
            sequence: start,
            numbers: vec![start; 32],
            counting: dice.counting(protocol),
            chunks: [1, 1, 2, 3, 6, 17][dice.below(6)],
            chunk: [0, 1, 3, 24, 60][dice.below(5)],
            at: 0,
            content: 0,
            ip_id: (!dice.one_in(3)).then(|| dice.u16()),
        }
    }

    /// The next number of this sender: wraps as its dialect does.
    fn count(&self, number: u32) -> u32 {
        let (step, cycle, _) = self.counting;
        match self.protocol {
            Protocol::BigPacket => number.wrapping_add(step),
            Protocol::Sacn if cycle == 256 => number.wrapping_add(step) & 0xff,
            _ if cycle == 0 => 0,
            _ => (number % cycle).wrapping_add(step).max(1),
        }
    }

    /// The next datagram as it should be.
    pub(crate) fn send(&mut self, dice: &mut Dice) -> Vec<u8> {
        let first = self.at == 0;
        let index = self.at;
        self.at = (self.at + 1) % self.chunks;
        if first && !dice.one_in(3) {
            self.content = self.content.wrapping_add(1);
        }
        let universes = matches!(self.protocol, Protocol::Sacn | Protocol::ArtNet) && self.counting.0 == 1;
        let slot = if universes { index } else { 0 };
        if first || !self.counting.2 || universes {
            self.numbers[slot] = self.count(self.numbers[slot]);
        }
        self.sequence = self.numbers[slot];
        self.octets(index, dice)
    }

    fn octets(&mut self, index: usize, dice: &mut Dice) -> Vec<u8> {
        let data = vec![self.content ^ index as u8; self.chunk];
        let last = index + 1 == self.chunks;
        let offset = (index * self.chunk) as u32;
        let universe = self.id + index as u16;
        match self.protocol {
            Protocol::Sacn if last && self.sync != 0 && dice.one_in(2) => {
                wire::sacn_sync(&self.cid, self.sequence as u8, self.sync)
            }
            Protocol::Sacn => self.sacn_data(universe, if dice.one_in(9) { 0xdd } else { 0 }, &data),
            Protocol::ArtNet if last && dice.one_in(4) => b"Art-Net\0\x00\x52\x00\x0e\x00\x00".to_vec(),
            Protocol::ArtNet => self.art_dmx(universe, &data),
            Protocol::Ddp => self.ddp(0x40 | u8::from(last), offset, data.len() as u16, &data),
            _ => {
                let flags = u16::from(last) | u16::from(index == 0) << 1 | 8;
                let head = [flags, index as u16, self.chunks as u16];
                self.bigpacket(head, [offset, (self.chunks * self.chunk) as u32], &data)
            }
        }
    }

    /// A datagram of this sender with fields that no honest sender writes.
    pub(crate) fn lie(&mut self, dice: &mut Dice) -> Vec<u8> {
        let kept = self.clone();
        self.sequence = if dice.one_in(2) { dice.u32() } else { self.sequence.wrapping_add(dice.u32()) };
        self.priority = dice.u8();
        self.sync = dice.u16();
        self.options = if dice.one_in(2) { 0x40 } else { dice.u8() };
        self.physical = dice.below(3) as u8;
        let n = dice.below(70);
        let data = dice.octets(n);
        let (universe, start_code, list) = (dice.u16(), dice.u8(), [dice.u16(), dice.u16(), 5]);
        let octets = match (self.protocol, dice.below(4)) {
            (Protocol::Sacn, 0) => wire::sacn_sync(&self.cid, self.sequence as u8, universe),
            (Protocol::Sacn, 1) => {
                wire::sacn_discovery(&self.cid, dice.u8(), dice.u8(), &list[..dice.below(4)])
            }
            (Protocol::Sacn, _) => self.sacn_data(universe, start_code, &data),
            (Protocol::ArtNet, _) => self.art_dmx(universe, &data),
            (Protocol::Ddp, form) => {
                let length = if form == 0 { dice.u16() } else { data.len() as u16 };
                let flags = if form == 1 { dice.u8() } else { 0x40 | dice.u8() & 0x11 };
                self.ddp(flags, dice.u32(), length, &data)
            }
            _ => {
                let head = [dice.u16(), dice.u16(), dice.u16()];
                self.bigpacket(head, [dice.u32(), dice.u32()], &data)
            }
        };
        let keeps_number = dice.one_in(2);
        let (numbers, sequence) = (kept.numbers.clone(), self.sequence);
        *self = kept;
        self.numbers = if keeps_number { vec![sequence; 32] } else { numbers };
        octets
    }
}

impl Sender {
    fn sacn_data(&self, universe: u16, start_code: u8, slots: &[u8]) -> Vec<u8> {
        let packet = SacnData {
            cid: self.cid,
            name: b"fuzz",
            priority: self.priority,
            sync: self.sync,
            number: self.sequence as u8,
            options: self.options,
            universe,
            start_code,
        };
        packet.octets(slots)
    }

    fn art_dmx(&self, port_address: u16, slots: &[u8]) -> Vec<u8> {
        wire::art_dmx(self.sequence as u8, self.physical, port_address, slots)
    }

    fn ddp(&self, flags: u8, offset: u32, length: u16, data: &[u8]) -> Vec<u8> {
        wire::ddp([flags, self.sequence as u8, self.id as u8], offset, length, data)
    }

    /// `head` holds flags, index and count, `place` offset and frame length.
    fn bigpacket(&self, head: [u16; 3], place: [u32; 2], data: &[u8]) -> Vec<u8> {
        let tail = [self.sequence, place[0], place[1], self.sequence.wrapping_mul(16_667)];
        wire::bigpacket([head[0], self.id, head[1], head[2]], tail, data)
    }
}

impl Dice {
    fn counting(&mut self, protocol: Protocol) -> (u32, u32, bool) {
        let step = [1, 1, 1, 1, 3, 0][self.below(6)];
        match protocol {
            Protocol::Sacn => (step, [256, 256, 255][self.below(3)], self.one_in(3)),
            Protocol::Ddp => (step, [15, 15, 16, 0][self.below(4)], self.one_in(3)),
            Protocol::ArtNet => (step, [255, 255, 256, 0][self.below(4)], self.one_in(3)),
            _ => (step, 0, true),
        }
    }

    pub(crate) fn link(&mut self, sender: &mut Sender) -> Link {
        if let Some(id) = &mut sender.ip_id {
            *id = id.wrapping_add(if self.one_in(30) { self.u16() } else { 1 });
        }
        let checksum = match self.below(40) {
            0 => Checksum::Bad,
            1 => Checksum::Unknown,
            2 => Checksum::Absent,
            _ => Checksum::Good,
        };
        let fragments = if self.one_in(40) { self.u16() } else { 0 };
        let vlan = self.one_in(20).then(|| self.u16());
        let broadcast = self.one_in(20);
        Link { ip_id: sender.ip_id, checksum, checksum_field: 0, fragments, broadcast, vlan, ttl: Some(64) }
    }
}

fn port(protocol: Protocol) -> u16 {
    match protocol {
        Protocol::Sacn => 5568,
        Protocol::Ddp => 4048,
        Protocol::ArtNet => 6454,
        _ => 21_600,
    }
}
