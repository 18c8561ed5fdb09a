//! Streaming ACN (ANSI E1.31): recognises a datagram and hands it to the reader of its kind.
//!
//! Root vector 4 is data, 8 is synchronization or universe discovery; other ACN protocols are named and
//! decoded no further than their CID.

mod address;
mod data;
mod discovery;
mod layout;
mod names;
mod other;
pub mod rules;
mod shape;
mod sync;
pub mod wire;

pub use names::*;

use crate::{Claim, Datagram, Decoder, Faults, Kind, Pdu, Protocol, Rule, Severity, Undecodable, Value};
use layout::View;

/// UDP port of E1.31 (clause 9.1.1).
pub const PORT: u16 = 5568;
/// The ACN packet identifier at octets 4..16.
pub const IDENTIFIER: [u8; 12] = *b"ASC-E1.17\0\0\0";
/// Highest universe and synchronization address; the lowest is 1.
pub const UNIVERSE_MAX: u16 = 63_999;
/// The number whose multicast group carries universe discovery.
pub const DISCOVERY_UNIVERSE: u16 = 64_214;
/// Highest priority.
pub const PRIORITY_MAX: u8 = 200;

/// Levels and other data of a universe.
pub const DATA: Kind = Kind::new(Protocol::Sacn, "sacn/data");
/// Universe synchronization.
pub const SYNC: Kind = Kind::new(Protocol::Sacn, "sacn/sync");
/// Universe discovery.
pub const DISCOVERY: Kind = Kind::new(Protocol::Sacn, "sacn/discovery");
/// ACN that is none of the three.
pub const OTHER: Kind = Kind::new(Protocol::Sacn, "sacn/other");

/// Octets of the preamble and the identifier.
const PREFIX_LEN: usize = 16;
/// Octets of the root layer.
const ROOT_LEN: usize = 38;

/// The sACN decoder.
pub struct Sacn;

impl Decoder for Sacn {
    fn protocol(&self) -> Protocol {
        Protocol::Sacn
    }

    fn ports(&self) -> &'static [u16] {
        &[PORT]
    }

    fn rules(&self) -> &'static [Rule] {
        &rules::RULES
    }

    fn kind(&self, name: &str) -> Option<Kind> {
        [DATA, SYNC, DISCOVERY, OTHER].into_iter().find(|kind| kind.name == name)
    }

    #[inline]
    fn claims(&self, d: &Datagram<'_>) -> Claim {
        if has_identifier(d.payload) {
            Claim::Magic
        } else if d.destination.port() == PORT {
            Claim::Port
        } else {
            Claim::No
        }
    }

    #[inline]
    fn decode<'a>(&self, d: &Datagram<'a>, faults: &mut Faults) -> Result<Pdu<'a>, Undecodable> {
        if !has_identifier(d.payload) {
            return Err(foreign(d, faults));
        }
        let view = View::new(d);
        Ok(match view.u32(18) {
            _ if d.len() < ROOT_LEN => other::decode(view, faults),
            Some(wire::ROOT_DATA) => data::decode(d, faults),
            Some(wire::ROOT_EXTENDED) => match view.u32(40) {
                Some(wire::EXTENDED_SYNC) => sync::decode(d, faults),
                Some(wire::EXTENDED_DISCOVERY) => discovery::decode(d, faults),
                vector => other::extended(view, vector, faults),
            },
            _ => other::decode(view, faults),
        })
    }
}

/// A data packet about which there is nothing to say, so that it is this protocol's and has no fault; `None` for every
/// other.
#[inline(always)]
pub(crate) fn plain<'a>(d: &Datagram<'a>) -> Option<Pdu<'a>> {
    data::plain(d)
}

#[inline]
fn has_identifier(payload: &[u8]) -> bool {
    payload.first_chunk::<PREFIX_LEN>().is_some_and(|prefix| prefix[4..] == IDENTIFIER)
}

#[cold]
fn foreign(d: &Datagram<'_>, faults: &mut Faults) -> Undecodable {
    let captured = d.payload.len();
    if d.len() < PREFIX_LEN {
        faults.add(S01, captured, Value::AtLeast(ROOT_LEN as u64), Value::Dec(d.len() as u64));
    } else if captured < PREFIX_LEN {
        let got = Value::Word("not captured");
        faults.add_with(
            S04,
            Severity::Info,
            4,
            Value::Word("ASC-E1.17"),
            got,
            "the capture cut the identifier off",
        );
    } else {
        let got = layout::octets(&d.payload[4..PREFIX_LEN]);
        faults.add_with(
            S04,
            Severity::Info,
            4,
            Value::Word("ASC-E1.17"),
            got,
            "not-e131: another protocol on the port",
        );
    }
    Undecodable
}

#[cfg(test)]
mod tests;
