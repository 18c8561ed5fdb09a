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
