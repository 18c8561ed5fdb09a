//! A small capture written datagram by datagram straight into a verifier.

use super::SacnData;
use std::net::SocketAddr;
use wireproof_protocols::verify::{Account, Options, Verifier};
use wireproof_protocols::{Arrival, Datagram, Link, Timestamp};

pub(crate) const MS: i64 = 1_000_000;
/// 1970 and some: the first stamp of each capture.
pub(crate) const START: i64 = 1_700_000_000_000_000_000;
/// Time between two frames where nothing else is said.
pub(crate) const FRAME: i64 = 25 * MS;

/// A capture being written.
pub(crate) struct Wire {
    pub(crate) verifier: Verifier,
    pub(crate) at: i64,
    pub(crate) packet: u64,
    pub(crate) source: SocketAddr,
    pub(crate) destination: SocketAddr,
    pub(crate) link: Link,
}

impl Wire {
    pub(crate) fn new(port: u16) -> Wire {
        Wire {
            verifier: Verifier::new(Options::default()),
            at: START,
            packet: 0,
            source: SocketAddr::from(([10, 0, 0, 1], 5000)),
            destination: SocketAddr::from(([10, 0, 0, 200], port)),
            link: Link::default(),
        }
    }

    pub(crate) fn sacn() -> Wire {
        Wire::new(5568)
    }

    pub(crate) fn wait(&mut self, ns: i64) -> &mut Wire {
        self.at += ns;
        self
    }

    pub(crate) fn send(&mut self, payload: &[u8]) -> &mut Wire {
        self.packet += 1;
        let d = Datagram { link: self.link, ..Datagram::new(self.source, self.destination, payload) };
        self.verifier.on_datagram(Arrival { at: Timestamp(self.at), packet: self.packet }, &d);
        self
    }

    /// Sends these numbers on universe 1, one a frame time, each with content of its own.
    pub(crate) fn numbers(&mut self, numbers: impl IntoIterator<Item = u8>) -> &mut Wire {
        for n in numbers {
            self.send(&Data::numbered(n).octets()).wait(FRAME);
        }
        self
    }

    pub(crate) fn finish(self) -> Account {
        self.verifier.finish()
    }
}

/// A sACN data packet.
#[derive(Clone, Copy)]
pub(crate) struct Data {
    pub(crate) cid: u32,
    pub(crate) universe: u16,
    pub(crate) priority: u8,
    pub(crate) sync: u16,
    pub(crate) number: u8,
    pub(crate) options: u8,
    pub(crate) start_code: u8,
    pub(crate) content: u8,
    pub(crate) slots: usize,
}

impl Data {
    pub(crate) fn numbered(number: u8) -> Data {
        Data {
            cid: 1,
            universe: 1,
            priority: 100,
            sync: 0,
            number,
            options: 0,
            start_code: 0,
            content: number,
            slots: 12,
        }
    }

    pub(crate) fn octets(self) -> Vec<u8> {
        let packet = SacnData {
            cid: cid(self.cid),
            name: b"dddddddd",
            priority: self.priority,
            sync: self.sync,
            number: self.number,
            options: self.options,
            universe: self.universe,
            start_code: self.start_code,
        };
        packet.octets(&vec![self.content; self.slots])
    }
}

fn cid(head: u32) -> [u8; 16] {
    let mut cid = [0, 0, 0, 0, 0x12, 0x34, 0x41, 0x23, 0x81, 0x23, 1, 2, 3, 4, 5, 6];
    cid[..4].copy_from_slice(&head.to_be_bytes());
    cid
}

/// The sync packet of the first sender.
pub(crate) fn sync(number: u8, address: u16) -> Vec<u8> {
    super::sacn_sync(&cid(1), number, address)
}

/// A discovery page of 512 universes from `first` on.
pub(crate) fn discovery(head: u32, first: u16) -> Vec<u8> {
    let list: Vec<u16> = (0..512).map(|i| first.wrapping_add(i)).collect();
    super::sacn_discovery(&cid(head), 0, 0, &list)
}

/// A DDP display packet with the push flag.
pub(crate) fn ddp(number: u8, data: &[u8]) -> Vec<u8> {
    super::ddp([0x41, number, 1], 0, data.len() as u16, data)
}

/// A BigPacket chunk of three octets.
pub(crate) fn bigpacket(frame: u32, index: u16, count: u16) -> Vec<u8> {
    let tail = [frame, u32::from(index) * 3, u32::from(count) * 3, 0];
    super::bigpacket([0, 7, index, count], tail, &[1, 2, 3])
}
