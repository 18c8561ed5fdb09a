//! What datagrams have in common, told once: addresses, kind and sender of a stream, and the faults seen in it.

use super::slot::{Octets16, SET_MAX, Slot, TEXT, TEXT_AT, known, stream, text};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use wireproof_protocols::{Cid, Datagram, Kind, Pdu, Severity};

/// A stream as datagrams name it: one flow, one source port, one destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Stream {
    pub(super) kind: Option<Kind>,
    pub(super) source: SocketAddr,
    pub(super) destination: SocketAddr,
    pub(super) stream_id: Option<u32>,
    pub(super) part: u8,
    pub(super) sender: Option<Cid>,
}

impl Stream {
    pub(super) fn of(d: &Datagram<'_>, pdu: Option<&Pdu<'_>>) -> Stream {
        Stream {
            kind: pdu.map(|p| p.kind),
            source: d.source,
            destination: d.destination,
            stream_id: pdu.and_then(|p| p.stream),
            part: pdu.map_or(0, |p| p.part),
            sender: pdu.and_then(|p| p.sender),
        }
    }

    pub(super) fn slot(&self, kind: u8, number: u16) -> Slot {
        let mut slot = [0; _];
        let s = &mut slot;
        stream::kind.put(s, kind);
        stream::stream.put(s, number);
        stream::part.put(s, self.part);
        stream::source_port.put(s, self.source.port());
        stream::destination_port.put(s, self.destination.port());
        stream::stream_id.put(s, self.stream_id.unwrap_or(0));
        let (source, source_6) = octets(self.source.ip());
        let (destination, destination_6) = octets(self.destination.ip());
        stream::source.put(s, source);
        stream::destination.put(s, destination);
        stream::sender.put(s, Octets16(self.sender.unwrap_or_default()));
        let flags = [
            (self.stream_id.is_some(), known::STREAM_ID),
            (self.sender.is_some(), known::SENDER),
            (source_6, known::SOURCE_6),
            (destination_6, known::DESTINATION_6),
        ];
        stream::flags.put(s, flags.iter().filter(|(is, _)| *is).map(|(_, bit)| bit).sum());
        tagged(slot, stream::TAG)
    }

    /// The stream of a record; `kind` is what its number stands for.
    pub(super) fn from_slot(slot: &Slot, kind: Option<Kind>) -> Stream {
        let flags = stream::flags.get(slot);
        let has = |bit: u8| flags & bit != 0;
        let source = address(stream::source.get(slot), has(known::SOURCE_6));
        let destination = address(stream::destination.get(slot), has(known::DESTINATION_6));
        Stream {
            kind,
            source: SocketAddr::new(source, stream::source_port.get(slot)),
            destination: SocketAddr::new(destination, stream::destination_port.get(slot)),
            stream_id: has(known::STREAM_ID).then(|| stream::stream_id.get(slot)),
            part: stream::part.get(slot),
            sender: has(known::SENDER).then(|| stream::sender.get(slot).0),
        }
    }
}

/// A rule broken in a stream, with one severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Class {
    pub(super) stream: u16,
    pub(super) code: &'static str,
    pub(super) severity: Severity,
}

/// The classes of one datagram's faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Set {
    classes: [u16; SET_MAX],
    count: u8,
}

impl Set {
    /// Adds a class; beyond the bound it is left out.
    pub(super) fn push(&mut self, class: u16) {
        if let Some(place) = self.classes.get_mut(usize::from(self.count)) {
            *place = class;
            self.count += 1;
        }
    }

    pub(super) fn as_slice(&self) -> &[u16] {
        self.classes.get(..usize::from(self.count)).unwrap_or_default()
    }
}

pub(super) fn tagged(mut slot: Slot, tag: u8) -> Slot {
    slot[0] = tag;
    slot
}

/// Writes content of another record in as many records as it takes, at most `most`.
pub(super) fn put_text(what: u8, of: u16, content: &[u8], most: usize, out: &mut Vec<u8>) {
    for part in content.chunks(TEXT).take(most) {
        let mut slot = [0; _];
        text::what.put(&mut slot, what);
        text::of.put(&mut slot, of);
        text::length.put(&mut slot, u8::try_from(part.len()).unwrap_or(0));
        slot[TEXT_AT..TEXT_AT + part.len()].copy_from_slice(part);
        out.extend_from_slice(&tagged(slot, text::TAG));
    }
}

/// Up to 16 octets of a word, and back.
pub(super) fn word(text: &str) -> Octets16 {
    let mut octets = [0; 16];
    octets.iter_mut().zip(text.bytes()).for_each(|(to, from)| *to = from);
    Octets16(octets)
}

pub(super) fn unword(octets: &Octets16) -> &str {
    let end = octets.0.iter().position(|o| *o == 0).unwrap_or(16);
    octets.0.get(..end).and_then(|o| std::str::from_utf8(o).ok()).unwrap_or_default()
}

fn octets(ip: IpAddr) -> (Octets16, bool) {
    match ip {
        IpAddr::V4(ip) => {
            let mut octets = [0; 16];
            octets[..4].copy_from_slice(&ip.octets());
            (Octets16(octets), false)
        }
        IpAddr::V6(ip) => (Octets16(ip.octets()), true),
    }
}

fn address(octets: Octets16, is_6: bool) -> IpAddr {
    let [a, b, c, d, ..] = octets.0;
    if is_6 { Ipv6Addr::from(octets.0).into() } else { Ipv4Addr::new(a, b, c, d).into() }
}
