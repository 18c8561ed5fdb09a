//! Art-Net 4 (UDP 6454): common header, opcodes and per-datagram rules.
//!
//! Rules that need more than one datagram (refresh rate, use of ArtSync, merging, sequence) stand in the
//! catalogue and are the verifier's.

mod levels;
pub mod opcode;
mod reply;
pub mod rules;
#[cfg(test)]
mod tests;

use crate::{
    Claim, Datagram, Decoder, Faults, Kind, Marks, Pdu, Protocol, Rule, Severity, Undecodable, Value,
};
use opcode::Opcode;
use rules::*;

/// UDP port nodes and controllers receive on.
pub const PORT: u16 = 6454;
/// The octets every datagram begins with.
pub const IDENTIFIER: [u8; 8] = *b"Art-Net\0";
/// Protocol version of Art-Net 4.
pub const VERSION: u16 = 14;
/// Highest Port-Address; the lowest is 0.
pub const PORT_ADDRESS_MAX: u16 = 0x7fff;
/// Most slots in ArtDmx.
pub const SLOTS_MAX: usize = 512;
/// Octets of ArtDmx and ArtNzs before the data.
pub const LEVELS_HEADER: usize = 18;
/// Octet of the sequence number of ArtDmx and ArtNzs.
pub const SEQUENCE_AT: usize = 12;
/// Octets of identifier, opcode and protocol version.
const COMMON: usize = 12;

/// The Art-Net decoder.
pub struct ArtNet;

impl Decoder for ArtNet {
    fn protocol(&self) -> Protocol {
        Protocol::ArtNet
    }

    fn ports(&self) -> &'static [u16] {
        &[PORT]
    }

    fn rules(&self) -> &'static [Rule] {
        &RULES
    }

    fn kind(&self, name: &str) -> Option<Kind> {
        let known = opcode::OPCODES.iter().map(|o| o.kind);
        known.chain([opcode::UNKNOWN]).find(|kind| kind.name == name)
    }

    #[inline]
    fn claims(&self, d: &Datagram<'_>) -> Claim {
        if d.payload.starts_with(&IDENTIFIER) {
            Claim::Magic
        } else if d.destination.port() == PORT || d.source.port() == PORT {
            Claim::Port
        } else {
            Claim::No
        }
    }

    #[inline]
    fn decode<'a>(&self, d: &Datagram<'a>, faults: &mut Faults) -> Result<Pdu<'a>, Undecodable> {
        if !d.payload.starts_with(&IDENTIFIER) {
            return unidentified(d, faults);
        }
        match (d.payload.get(8), d.payload.get(9)) {
            (Some(&low), Some(&high)) => Ok(match u16::from_le_bytes([low, high]) {
                opcode::DMX => levels::dmx(d, faults),
                opcode::NZS => levels::nzs(d, faults),
                value => other(d, value, faults),
            }),
            _ => Ok(without_opcode(d, faults)),
        }
    }
}

/// ArtDmx about which there is nothing to say, so that it is this protocol's and has no fault; `None` for every other
/// datagram.
#[inline(always)]
pub(crate) fn plain<'a>(d: &Datagram<'a>) -> Option<Pdu<'a>> {
    levels::plain(d)
}

/// Octets sent; never fewer than captured.
#[inline]
fn sent(d: &Datagram<'_>) -> usize {
    d.len().max(d.payload.len())
}

/// Big-endian u16 at `at`, when captured.
#[inline]
fn be16(payload: &[u8], at: usize) -> Option<u16> {
    payload.get(at..at + 2)?.first_chunk().map(|o| u16::from_be_bytes(*o))
}

#[cold]
fn unidentified(d: &Datagram<'_>, faults: &mut Faults) -> Result<Pdu<'static>, Undecodable> {
    if d.is_cut() && IDENTIFIER.starts_with(d.payload) {
        return Ok(Pdu::empty(opcode::UNKNOWN));
    }
    let mut kept = [0; 16];
    let n = d.payload.len().min(IDENTIFIER.len());
    kept[..n].copy_from_slice(&d.payload[..n]);
    let expected = Value::Word("41 72 74 2d 4e 65 74 00");
    faults.add_with(A01, Severity::Info, 0, expected, Value::Octets(kept, n as u8), "not Art-Net");
    Err(Undecodable)
}

#[cold]
fn without_opcode(d: &Datagram<'_>, faults: &mut Faults) -> Pdu<'static> {
    if sent(d) < COMMON {
        too_short(d, COMMON, Severity::Violation, faults);
    }
    Pdu::empty(opcode::UNKNOWN)
}

/// Everything but ArtDmx and ArtNzs.
#[inline(never)]
fn other<'a>(d: &Datagram<'a>, value: u16, faults: &mut Faults) -> Pdu<'a> {
    let Some(opcode) = opcode::find(value) else {
        return unknown(d, value, faults);
    };
    check_minimum(d, opcode, faults);
    if value == opcode::POLL_REPLY {
        return reply::decode(d, opcode.kind, faults);
    }
    check_version(d, faults);
    check_count(d, opcode, faults);
    let pdu = Pdu::empty(opcode.kind);
    if value == opcode::SYNC { Pdu { stream: Some(0), marks: Marks::SYNC, ..pdu } } else { pdu }
}

#[cold]
fn unknown(d: &Datagram<'_>, value: u16, faults: &mut Faults) -> Pdu<'static> {
    let hint = if opcode::find(value.swap_bytes()).is_some() {
        "explained: the octets of a known opcode, swapped"
    } else {
        "explained: not an opcode of Art-Net 4, perhaps a vendor's own"
    };
    faults.add_with(A03, Severity::Info, 8, Value::None, Value::Hex(u64::from(value), 4), hint);
    if sent(d) < COMMON {
        too_short(d, COMMON, Severity::Violation, faults);
    }
    Pdu::empty(opcode::UNKNOWN)
}

#[inline]
fn check_minimum(d: &Datagram<'_>, opcode: &Opcode, faults: &mut Faults) {
    let minimum = usize::from(opcode.minimum);
    if sent(d) < minimum {
        let severity = if sent(d) < COMMON { Severity::Violation } else { opcode.short };
        too_short(d, minimum, severity, faults);
    }
}

#[cold]
fn too_short(d: &Datagram<'_>, minimum: usize, severity: Severity, faults: &mut Faults) {
    let got = Value::Dec(sent(d) as u64);
    let hint = match severity {
        Severity::Info => "a layout without length field, as artnet-monitor-lumenflow writes it",
        _ => "",
    };
    faults.add_with(A02, severity, sent(d), Value::AtLeast(minimum as u64), got, hint);
}

#[inline]
fn check_version(d: &Datagram<'_>, faults: &mut Faults) {
    match be16(d.payload, 10) {
        Some(VERSION) | None => {}
        Some(version) => other_version(version, faults),
    }
}

#[cold]
fn other_version(version: u16, faults: &mut Faults) {
    let (expected, got) = (Value::AtLeast(u64::from(VERSION)), Value::Dec(u64::from(version)));
    if version == VERSION.swap_bytes() {
        let hint = "ProtVer written low octet first";
        faults.add_with(A04, Severity::Warning, 10, expected, Value::Hex(u64::from(version), 4), hint);
    } else if version < VERSION {
        faults.add(A04, 10, expected, got);
    }
}

#[inline]
fn check_count(d: &Datagram<'_>, opcode: &Opcode, faults: &mut Faults) {
    let Some(count) = &opcode.count else { return };
    let at = usize::from(count.at);
    let entries = match count.size {
        1 => d.payload.get(at).copied().map(u16::from),
        _ => be16(d.payload, at),
    };
    let Some(entries) = entries.map(usize::from) else { return };
    let present = sent(d).saturating_sub(usize::from(count.start));
    if entries * usize::from(count.unit) > present {
        count_beyond(opcode, entries, present, faults);
    }
}

/// ArtDiagData of 18 octets with an impossible length is the layout without length field: text stands there.
#[cold]
fn count_beyond(opcode: &Opcode, entries: usize, present: usize, faults: &mut Faults) {
    let Some(count) = &opcode.count else { return };
    let most = Value::AtMost((present / usize::from(count.unit)) as u64);
    let got = Value::Dec(entries as u64);
    let (severity, hint) = if opcode.value == opcode::DIAG_DATA && present == 0 && entries > 512 {
        (Severity::Info, "a layout without length field, as artnet-monitor-lumenflow writes it")
    } else if count.size == 2 && entries > 512 {
        (Severity::Violation, "no plausible length: perhaps the fields before it were left out")
    } else {
        (Severity::Violation, "")
    };
    faults.add_with(A18, severity, usize::from(count.at), most, got, hint);
}
