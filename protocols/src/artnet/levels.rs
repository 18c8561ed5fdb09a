//! ArtDmx and ArtNzs: the data of one Port-Address.

use super::opcode::{ART_DMX, ART_NZS};
use super::*;
use crate::Kind;
use std::net::IpAddr;

/// The header behind the common octets, the same for both but for octet 13.
struct Header {
    sequence: u8,
    /// Physical of ArtDmx, start code of ArtNzs.
    extra: u8,
    port_address: u16,
    length: usize,
    /// Octets the sender sent behind the header.
    present: usize,
}

/// Decodes ArtDmx.
#[inline]
pub(super) fn dmx<'a>(d: &Datagram<'a>, faults: &mut Faults) -> Pdu<'a> {
    let Some(h) = header(d, faults) else { return Pdu::empty(ART_DMX) };
    if h.length.wrapping_sub(2) > SLOTS_MAX - 2 || h.length & 1 != 0 {
        wrong_dmx_length(h.length, faults);
    }
    check_rest(d, &h, faults);
    Pdu { part: h.extra, ..pdu(d, &h, ART_DMX) }
}

/// ArtDmx about which there is nothing to say; `None` for every other datagram.
#[inline(always)]
pub(super) fn plain<'a>(d: &Datagram<'a>) -> Option<Pdu<'a>> {
    let (h, data) = d.payload.split_first_chunk::<LEVELS_HEADER>()?;
    let (port_address, length) =
        (u16::from_le_bytes([h[14], h[15]]), usize::from(u16::from_be_bytes([h[16], h[17]])));
    let plain = h[..8] == IDENTIFIER
        && h[8..10] == opcode::DMX.to_le_bytes()
        && h[10..12] == VERSION.to_be_bytes()
        && h[12] != 0
        && port_address <= PORT_ADDRESS_MAX
        && length == data.len()
        && (2..=SLOTS_MAX).contains(&length)
        && length.is_multiple_of(2)
        && d.payload.len() == d.len()
        && d.source.port() == PORT
        && !is_broadcast(d);
    plain.then(|| Pdu {
        stream: Some(u32::from(port_address)),
        part: h[13],
        sequence: Some(u32::from(h[12])),
        data,
        data_length: length as u32,
        marks: Marks::DATA,
        ..Pdu::empty(ART_DMX)
    })
}

/// Decodes ArtNzs.
#[inline]
pub(super) fn nzs<'a>(d: &Datagram<'a>, faults: &mut Faults) -> Pdu<'a> {
    let Some(h) = header(d, faults) else { return Pdu::empty(ART_NZS) };
    if matches!(h.extra, 0 | 0xcc) {
        wrong_start_code(h.extra, faults);
    }
    if h.length.wrapping_sub(1) > SLOTS_MAX - 1 {
        faults.add(A06, 16, Value::Range(1, SLOTS_MAX as u64), Value::Dec(h.length as u64));
    }
    check_rest(d, &h, faults);
    Pdu { start_code: h.extra, ..pdu(d, &h, ART_NZS) }
}

#[inline]
fn header(d: &Datagram<'_>, faults: &mut Faults) -> Option<Header> {
    check_version(d, faults);
    let Some(h) = d.payload.first_chunk::<LEVELS_HEADER>() else {
        if sent(d) < LEVELS_HEADER {
            too_short(d, LEVELS_HEADER, Severity::Violation, faults);
        }
        return None;
    };
    Some(Header {
        sequence: h[12],
        extra: h[13],
        port_address: u16::from_le_bytes([h[14], h[15]]),
        length: usize::from(u16::from_be_bytes([h[16], h[17]])),
        present: sent(d) - LEVELS_HEADER,
    })
}

#[inline]
fn pdu<'a>(d: &Datagram<'a>, h: &Header, kind: Kind) -> Pdu<'a> {
    let start = d.payload.get(LEVELS_HEADER..).unwrap_or(&[]);
    let off = if h.sequence == 0 { Marks::SEQUENCE_OFF } else { Marks::default() };
    let data = if h.length > 0 { Marks::DATA } else { Marks::default() };
    Pdu {
        stream: Some(u32::from(h.port_address & 0x7fff)),
        sequence: Some(u32::from(h.sequence)),
        data: start.get(..h.length).unwrap_or(start),
        data_length: h.length as u32,
        marks: off.and(data),
        ..Pdu::empty(kind)
    }
}

/// The rules ArtDmx and ArtNzs share.
#[inline]
fn check_rest(d: &Datagram<'_>, h: &Header, faults: &mut Faults) {
    if h.port_address & 0x8000 != 0 {
        wide_port_address(h.port_address, faults);
    }
    if h.present != h.length {
        octets_differ(h, faults);
    }
    if h.sequence == 0 {
        faults.add_with(Q20, Severity::Info, 12, Value::Range(1, 255), Value::Dec(0), "sequence disabled");
    }
    if d.source.port() != PORT || is_broadcast(d) {
        odd_address(d, faults);
    }
}

#[inline]
fn is_broadcast(d: &Datagram<'_>) -> bool {
    d.link.broadcast || matches!(d.destination.ip(), IpAddr::V4(ip) if ip.is_broadcast())
}

#[cold]
fn wrong_dmx_length(length: usize, faults: &mut Faults) {
    let got = Value::Dec(length as u64);
    if !(2..=SLOTS_MAX).contains(&length) {
        faults.add(A06, 16, Value::Range(2, SLOTS_MAX as u64), got);
    }
    if !length.is_multiple_of(2) {
        faults.add(A07, 16, Value::Word("an even number"), got);
    }
}

#[cold]
fn wrong_start_code(code: u8, faults: &mut Faults) {
    let hint = if code == 0 { "levels belong into ArtDmx" } else { "RDM belongs into ArtRdm" };
    let expected = Value::Word("neither 0x00 nor 0xcc");
    faults.add_with(A11, Severity::Violation, 13, expected, Value::Hex(u64::from(code), 2), hint);
}

#[cold]
fn wide_port_address(port_address: u16, faults: &mut Faults) {
    let swapped = port_address.swap_bytes() & 0x8000 == 0;
    let hint = if swapped { "valid with its octets swapped: low octet first" } else { "" };
    let got = Value::Hex(u64::from(port_address), 4);
    faults.add_with(A05, Severity::Violation, 15, Value::AtMost(0x7fff), got, hint);
}

#[cold]
fn octets_differ(h: &Header, faults: &mut Faults) {
    let (length, present) = (h.length as u64, h.present as u64);
    if h.length > h.present {
        faults.add(A08, 16, Value::AtMost(present), Value::Dec(length));
    } else {
        faults.add(A09, LEVELS_HEADER + h.length, Value::Dec(length), Value::Dec(present));
    }
}

#[cold]
fn odd_address(d: &Datagram<'_>, faults: &mut Faults) {
    if is_broadcast(d) {
        let hint = "Art-Net 4 unicasts levels to the nodes that subscribe";
        faults.add_with(A10, Severity::Warning, 0, Value::Word("unicast"), Value::Word("broadcast"), hint);
    }
    let port = d.source.port();
    if port != PORT {
        let (expected, got) = (Value::Dec(u64::from(PORT)), Value::Dec(u64::from(port)));
        faults.add_with(A10, Severity::Info, 0, expected, got, "sender is not bound to port 6454");
    }
}
