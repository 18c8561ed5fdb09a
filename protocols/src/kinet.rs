//! KiNET (Color Kinetics, UDP 6038): names DMXOUT and PORTOUT datagrams, judges the magic, version and type only.
//!
//! The meaning of the other fields differs from sender to sender (FPP, xLights, OLA), so that the sequence field
//! is not read: OLA leaves it at 0.

use crate::{
    Claim, Datagram, Decoder, Faults, Kind, Layer, Marks, Pdu, Protocol, Rule, Severity, Undecodable, Value,
};

/// UDP port of KiNET.
pub const PORT: u16 = 6038;
/// The first four octets of every datagram.
pub const MAGIC: [u8; 4] = [0x04, 0x01, 0xDC, 0x4A];
/// Version field, little-endian.
const VERSION: u16 = 1;
/// Type field of DMXOUT, little-endian.
const TYPE_DMXOUT: u16 = 0x0101;
/// Type field of PORTOUT, little-endian.
const TYPE_PORTOUT: u16 = 0x0108;
const DMXOUT_HEAD: usize = 21;
const PORTOUT_HEAD: usize = 24;

/// Version 1 output: one universe.
pub const DMXOUT: Kind = Kind::new(Protocol::Kinet, "kinet/dmxout");
/// Version 2 output: one port of a supply.
pub const PORTOUT: Kind = Kind::new(Protocol::Kinet, "kinet/portout");
/// Any other type, and datagrams too short to carry one.
pub const OTHER: Kind = Kind::new(Protocol::Kinet, "kinet/other");

/// What all entries share.
const KINET: Rule = Rule {
    code: "",
    severity: Severity::Info,
    layer: Layer::Habit,
    title: "",
    edition: "public sources of OLA, FPP and xLights; the protocol is unpublished",
    clause: "header",
    meaning: "",
    advice: "",
    example: "",
    known: &[],
};

/// The catalogue, in code order.
pub static RULES: [Rule; 4] = [
    Rule {
        code: "KINET-K01",
        title: "The magic is 04 01 dc 4a",
        meaning: "The datagram stands on the KiNET port but is another protocol.",
        advice: "Nothing, unless it was meant to be KiNET.",
        example: "04 01 dc 4b at offset 0",
        ..KINET
    },
    Rule {
        code: "KINET-K02",
        title: "The version is 1",
        meaning: "The layout of another version is not known here; the fields may be misread.",
        advice: "Write 01 00 at offset 4.",
        example: "02 00 at offset 4",
        ..KINET
    },
    Rule {
        code: "KINET-K03",
        title: "The type is DMXOUT (01 01) or PORTOUT (08 01)",
        meaning: "Discovery and configuration are named, not read.",
        advice: "Nothing.",
        example: "01 00 at offset 6",
        ..KINET
    },
    Rule {
        code: "KINET-K04",
        severity: Severity::Warning,
        layer: Layer::Shape,
        title: "The header is complete: 8 octets to name the type, 21 for DMXOUT, 24 for PORTOUT",
        meaning: "The datagram carries no levels.",
        advice: "Build the whole header.",
        example: "a DMXOUT datagram of 20 octets",
        ..KINET
    },
];
const K01: &Rule = &RULES[0];
const K02: &Rule = &RULES[1];
const K03: &Rule = &RULES[2];
const K04: &Rule = &RULES[3];

/// The KiNET decoder.
pub struct Kinet;

impl Decoder for Kinet {
    fn protocol(&self) -> Protocol {
        Protocol::Kinet
    }

    fn ports(&self) -> &'static [u16] {
        &[PORT]
    }

    fn rules(&self) -> &'static [Rule] {
        &RULES
    }

    fn kind(&self, name: &str) -> Option<Kind> {
        [DMXOUT, PORTOUT, OTHER].into_iter().find(|kind| kind.name == name)
    }

    #[inline]
    fn claims(&self, d: &Datagram<'_>) -> Claim {
        if d.payload.starts_with(&MAGIC) {
            Claim::Magic
        } else if d.destination.port() == PORT {
            Claim::Port
        } else {
            Claim::No
        }
    }

    #[inline]
    fn decode<'a>(&self, d: &Datagram<'a>, faults: &mut Faults) -> Result<Pdu<'a>, Undecodable> {
        if !d.payload.starts_with(&MAGIC) {
            return Err(foreign(d, faults));
        }
        if let Some(version) = le16(d.payload, 4).filter(|v| *v != VERSION) {
            faults.add(K02, 4, Value::Dec(VERSION.into()), Value::Dec(version.into()));
        }
        Ok(match le16(d.payload, 6) {
            Some(TYPE_DMXOUT) => output(d, DMXOUT, 12, DMXOUT_HEAD, faults),
            Some(TYPE_PORTOUT) => output(d, PORTOUT, 16, PORTOUT_HEAD, faults),
            kind => other(d, kind, faults),
        })
    }
}

/// Reads levels behind a header of `head` octets whose last octet is the start code and whose port is at `port`.
fn output<'a>(d: &Datagram<'a>, kind: Kind, port: usize, head: usize, faults: &mut Faults) -> Pdu<'a> {
    if d.len() < head {
        faults.add(K04, d.len(), Value::AtLeast(head as u64), Value::Dec(d.len() as u64));
    }
    Pdu {
        stream: d.payload.get(port).map(|p| u32::from(*p)),
        data: d.payload.get(head..).unwrap_or(&[]),
        data_length: d.length.saturating_sub(head as u32),
        start_code: d.payload.get(head - 1).copied().unwrap_or(0),
        marks: Marks::DATA,
        ..Pdu::empty(kind)
    }
}

#[cold]
fn other<'a>(d: &Datagram<'a>, kind: Option<u16>, faults: &mut Faults) -> Pdu<'a> {
    if d.len() < 8 {
        faults.add(K04, d.len(), Value::AtLeast(8), Value::Dec(d.len() as u64));
    } else if let Some(kind) = kind {
        let expected = Value::Word("0x0101 or 0x0108");
        faults.add_with(K03, Severity::Info, 6, expected, Value::Hex(kind.into(), 4), "named, not read");
    }
    Pdu::empty(OTHER)
}

#[cold]
fn foreign(d: &Datagram<'_>, faults: &mut Faults) -> Undecodable {
    let mut magic = [0; 16];
    let n = d.payload.len().min(MAGIC.len());
    magic[..n].copy_from_slice(&d.payload[..n]);
    let (expected, got) = (Value::Word("0401dc4a"), Value::Octets(magic, n as u8));
    faults.add_with(K01, Severity::Info, 0, expected, got, "not-kinet: another protocol on the port");
    Undecodable
}

#[inline]
fn le16(payload: &[u8], at: usize) -> Option<u16> {
    payload.get(at..)?.first_chunk::<2>().map(|o| u16::from_le_bytes(*o))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddr;

    const DMX: &[u8] = b"\x04\x01\xdc\x4a\x01\x00\x01\x01\0\0\0\0\x02\0\0\0\xff\xff\xff\xff\x00\x01\x05";

    fn read(payload: &[u8]) -> (Result<Pdu<'_>, Undecodable>, Vec<&'static str>) {
        let to = SocketAddr::from(([10, 0, 0, 9], PORT));
        let mut faults = Faults::new();
        let pdu = Kinet.decode(&Datagram::new(to, to, payload), &mut faults);
        (pdu, faults.as_slice().iter().map(|f| f.rule.code).collect())
    }

    #[test]
    fn a_dmxout_datagram_carries_its_port_and_levels() {
        let (pdu, found) = read(DMX);
        let pdu = pdu.unwrap();
        assert_eq!((pdu.kind, pdu.stream, pdu.sequence, pdu.data), (DMXOUT, Some(2), None, &[1, 5][..]));
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn every_truncation_is_named() {
        for n in 0..DMXOUT_HEAD {
            let (pdu, found) = read(&DMX[..n]);
            assert_eq!(pdu.is_ok(), n >= 4, "{n} octets");
            assert_eq!(found, [if n < 4 { "KINET-K01" } else { "KINET-K04" }], "{n} octets");
        }
    }

    #[test]
    fn another_type_is_named_and_not_read() {
        let (pdu, found) = read(b"\x04\x01\xdc\x4a\x02\x00\x01\x00");
        assert_eq!(pdu.unwrap().kind, OTHER);
        assert_eq!(found, ["KINET-K02", "KINET-K03"]);
    }
}
