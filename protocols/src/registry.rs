//! The decoders and who claims a datagram. Adding a protocol is one line in [`DECODERS`].

use crate::{Datagram, Faults, Kind, Pdu, Protocol, Rule};

/// How sure a decoder is that a datagram is its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Claim {
    /// Not this protocol.
    No,
    /// On the protocol's port; the octets do not identify themselves.
    Port,
    /// The octets identify themselves (magic or identifier), whatever the port.
    Magic,
}

/// The datagram stands on the protocol's port but is something else; the faults say what was wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Undecodable;

/// Reads one protocol. Lenient: returns the PDU and every fault; refuses only what is not the protocol at all.
pub trait Decoder: Sync {
    /// The protocol.
    fn protocol(&self) -> Protocol;
    /// UDP ports the protocol is received on.
    fn ports(&self) -> &'static [u16];
    /// The protocol's rule catalogue, in code order, stateful rules included.
    fn rules(&self) -> &'static [Rule];
    /// The kind with this `by_kind` key; `None` when the protocol has none of that name.
    fn kind(&self, name: &str) -> Option<Kind>;
    /// Whether the datagram is this protocol's. Looks at ports and identifier only.
    fn claims(&self, d: &Datagram<'_>) -> Claim;
    /// Decodes into a PDU that borrows the payload and adds every fault to `faults` (not cleared here).
    /// Never panics, never allocates.
    ///
    /// # Errors
    /// [`Undecodable`] when the identifier is wrong; a fault of severity info names it.
    fn decode<'a>(&self, d: &Datagram<'a>, faults: &mut Faults) -> Result<Pdu<'a>, Undecodable>;
}

/// Every decoder, in the order they are asked.
pub static DECODERS: &[&dyn Decoder] = &[
    &crate::sacn::Sacn,
    &crate::ddp::Ddp,
    &crate::artnet::ArtNet,
    &crate::bigpacket::BigPacket,
    &crate::kinet::Kinet,
];

/// The decoder with the strongest claim; the first one wins a tie.
#[inline]
pub fn claim(d: &Datagram<'_>) -> Option<&'static dyn Decoder> {
    let mut best: Option<&'static dyn Decoder> = None;
    for decoder in DECODERS {
        match decoder.claims(d) {
            Claim::Magic => return Some(*decoder),
            Claim::Port if best.is_none() => best = Some(*decoder),
            _ => {}
        }
    }
    best
}

/// The content of a datagram of one of the three most usual kinds about which there is nothing to say: the decoder that
/// [`claim`] names reads the same out of it, and finds no fault. `None` for every other datagram.
///
/// Everything is inlined, so that the fields stay apart: a structure that was just written and is copied as a whole costs
/// more than all the checks together.
#[inline(always)]
pub fn plain<'a>(d: &Datagram<'a>) -> Option<Pdu<'a>> {
    // sACN is asked first, and what is asked before Art-Net never names itself. DDP has only its port.
    let named = || DECODERS.iter().skip(3).any(|decoder| decoder.claims(d) == Claim::Magic);
    crate::sacn::plain(d)
        .or_else(|| crate::artnet::plain(d))
        .or_else(|| crate::ddp::plain(d).filter(|_| !named()))
}

/// Decodes a datagram with the decoder that [`claim`] names; `None` when nobody claims it.
#[inline]
pub fn decode<'a>(d: &Datagram<'a>, faults: &mut Faults) -> Option<Result<Pdu<'a>, Undecodable>> {
    claim(d).map(|decoder| decoder.decode(d, faults))
}

/// Every rule of every protocol, of declared layouts and of the verifier, in code order within each catalogue.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    let beside = crate::verify::rules::RULES.iter().chain(&crate::verify::ring_rules::RULES);
    let declared = crate::layout::rules::RULES.iter();
    DECODERS.iter().flat_map(|d| d.rules().iter()).chain(declared).chain(beside)
}

/// The rule with this code.
pub fn rule(code: &str) -> Option<&'static Rule> {
    rules().find(|r| r.code.eq_ignore_ascii_case(code))
}

/// The kind with this `by_kind` key, e.g. `sacn/data`.
pub fn kind(name: &str) -> Option<Kind> {
    DECODERS.iter().find_map(|d| d.kind(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddr;

    fn sacn() -> Vec<u8> {
        let mut head = vec![0, 0x10, 0, 0];
        head.extend(crate::sacn::IDENTIFIER);
        head.extend([0x72, 0x6e, 0, 0, 0, 4]);
        head.extend(*b"\x3f\x91\xa5\x0c\x7d\x1e\x4b\x62\x9c\x8e\x55\x01\x22\x6f\xd0\x17");
        head.extend([0x72, 0x58, 0, 0, 0, 2]);
        head.extend(*b"desk");
        head.resize(108, 0);
        head.extend([100, 0, 0, 9, 0, 0, 1, 0x72, 0x0b, 2, 0xa1, 0, 0, 0, 1, 2, 1, 0]);
        head.resize(638, 7);
        head
    }

    fn ddp() -> Vec<u8> {
        let mut head = vec![0x41, 5, 0x0b, 1, 0, 0, 0, 6, 0, 36];
        head.resize(46, 9);
        head
    }

    fn artnet() -> Vec<u8> {
        let mut head = b"Art-Net\0\0\x50\0\x0e\x03\0\x01\0\0\x40".to_vec();
        head.resize(18 + 64, 3);
        head
    }

    /// Whatever octet of a header has whatever value, on whatever ports, cut or with more behind it.
    #[test]
    fn what_is_plain_is_what_the_decoder_reads_without_a_fault() {
        let mut plain_ones = 0;
        let ports = DECODERS.iter().flat_map(|d| d.ports()).copied().chain([9]);
        let ports: Vec<u16> = ports.collect();
        for whole in [sacn(), ddp(), artnet()] {
            for (at, value) in (0..whole.len().min(130)).flat_map(|at| (0..=255u8).map(move |v| (at, v))) {
                let mut payload = whole.clone();
                payload[at] = value;
                let others = if value % 64 == 1 { &ports[..] } else { &[] };
                let pairs =
                    others.iter().map(|to| (5000, *to)).chain([(5568, 5568), (6454, 6454), (9, 4048)]);
                for ((from, to), cut) in pairs.flat_map(|pair| [(pair, 0), (pair, 2), (pair, 600)]) {
                    let at = |ip: [u8; 4], port: u16| SocketAddr::from((ip, port));
                    let kept = &payload[..payload.len().saturating_sub(cut)];
                    let mut d = Datagram::new(at([10, 0, 0, 1], from), at([239, 255, 0, 1], to), kept);
                    if cut == 2 {
                        d.length += 2;
                    }
                    d.link.broadcast = value == 77;
                    let Some(got) = plain(&d) else { continue };
                    plain_ones += 1;
                    let mut faults = Faults::new();
                    let wanted = decode(&d, &mut faults).map(|pdu| format!("{pdu:?}"));
                    assert_eq!(Some(format!("{:?}", Ok::<_, Undecodable>(got))), wanted);
                    assert!(faults.is_empty(), "{:?}", faults.as_slice());
                }
            }
        }
        assert!(plain_ones > 5_000, "{plain_ones}");
    }

    #[test]
    fn usual_datagrams_are_plain() {
        for (payload, port) in [(sacn(), 5568), (ddp(), 4048), (artnet(), 6454)] {
            let at = |ip: [u8; 4]| SocketAddr::from((ip, port));
            assert!(
                plain(&Datagram::new(at([10, 0, 0, 1]), at([10, 0, 0, 2]), &payload)).is_some(),
                "{port}"
            );
        }
    }
}
