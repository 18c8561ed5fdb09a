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

/// The protocols of the kinds that [`plain`] knows: the first of [`DECODERS`].
const USUAL: [Protocol; 3] = [Protocol::Sacn, Protocol::Ddp, Protocol::ArtNet];

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
    // Nobody who names himself is asked before the two that do (a test guards the order). DDP has only its port.
    let named = || DECODERS.iter().skip(USUAL.len()).any(|decoder| decoder.claims(d) == Claim::Magic);
    match d.payload.first()? {
        0 => crate::sacn::plain(d),
        _ if d.payload.starts_with(&crate::artnet::IDENTIFIER) => crate::artnet::plain(d),
        _ => crate::ddp::plain(d).filter(|_| !named()),
    }
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
pub(crate) mod tests {
    use super::*;
    use std::net::SocketAddr;

    pub(crate) fn sacn() -> Vec<u8> {
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

    pub(crate) fn ddp() -> Vec<u8> {
        let mut head = vec![0x41, 5, 0x0b, 1, 0, 0, 0, 6, 0, 36];
        head.resize(46, 9);
        head
    }

    pub(crate) fn artnet() -> Vec<u8> {
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

    /// [`plain`] asks nobody but these; what comes behind them may name itself, and is asked where DDP has only its port.
    #[test]
    fn the_usual_protocols_are_asked_first_and_ddp_never_names_itself() {
        let first: Vec<Protocol> = DECODERS.iter().take(USUAL.len()).map(|d| d.protocol()).collect();
        assert_eq!(first, USUAL);
        let at = |port: u16| SocketAddr::from(([10, 0, 0, 1], port));
        for (payload, port) in [(sacn(), 5568), (ddp(), 4048), (artnet(), 6454)] {
            for (from, to) in [(port, port), (9, port), (9, 9), (4048, 4048), (5568, 6454)] {
                let d = Datagram::new(at(from), at(to), &payload);
                let claims: Vec<Claim> = DECODERS.iter().map(|decoder| decoder.claims(&d)).collect();
                let named = claims.iter().position(|claim| *claim == Claim::Magic);
                let own = USUAL.iter().zip([5568, 4048, 6454]).position(|(_, own)| own == port);
                assert_eq!(named, own.filter(|own| USUAL[*own] != Protocol::Ddp), "{port}: {from} to {to}");
                if let Some(pdu) = plain(&d) {
                    assert_eq!(claim(&d).map(|d| d.protocol()), Some(pdu.kind.protocol));
                }
            }
        }
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
