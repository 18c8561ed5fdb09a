//! DDP, the Distributed Display Protocol of 3waylabs (UDP 4048): header layout and per-datagram rules.
//!
//! The header has no identifier; the port decides. Rules that need more than one datagram (frames, push, clock,
//! sequence) stand in the catalogue and are the verifier's.

mod json;
pub mod rules;
#[cfg(test)]
mod tests;

use crate::{
    Claim, Datagram, Decoder, Faults, Kind, Marks, Pdu, Protocol, Rule, Severity, Undecodable, Value,
};
use rules::*;

/// UDP port a display receives on.
pub const PORT: u16 = 4048;
/// Octets of the header without timecode.
pub const HEADER: usize = 10;
/// Octet of the sequence number.
pub const SEQUENCE_AT: usize = 1;
/// Octets of the header with timecode.
pub const HEADER_TIMED: usize = 14;
/// Most data octets in one datagram (480 pixels of 3 octets).
pub const DATA_MAX: usize = 1440;

/// Octet 0: mask of the version bits.
pub const FLAG_VERSION: u8 = 0xc0;
/// Octet 0: version 1.
pub const FLAG_VERSION_1: u8 = 0x40;
/// Octet 0: reserved bit.
pub const FLAG_RESERVED: u8 = 0x20;
/// Octet 0: a timecode follows the length.
pub const FLAG_TIMECODE: u8 = 0x10;
/// Octet 0: data from storage.
pub const FLAG_STORAGE: u8 = 0x08;
/// Octet 0: sent by a display.
pub const FLAG_REPLY: u8 = 0x04;
/// Octet 0: asks for data.
pub const FLAG_QUERY: u8 = 0x02;
/// Octet 0: show now, or end of a reply.
pub const FLAG_PUSH: u8 = 0x01;

/// Data type: RGB with 8 bits per element.
pub const TYPE_RGB8: u8 = 0x0b;
/// Data type: RGBW with 8 bits per element.
pub const TYPE_RGBW8: u8 = 0x1b;

/// ID of the default output.
pub const ID_DEFAULT: u8 = 1;
/// ID of JSON control.
pub const ID_CONTROL: u8 = 246;
/// ID of JSON configuration.
pub const ID_CONFIG: u8 = 250;
/// ID of JSON status.
pub const ID_STATUS: u8 = 251;
/// ID of DMX transit: the offset is a universe number, the data a start code and slots.
pub const ID_DMX: u8 = 254;
/// ID that means every output.
pub const ID_ALL: u8 = 255;

/// Pixel or DMX data for a display.
pub const DISPLAY: Kind = Kind::new(Protocol::Ddp, "ddp/display");
/// A write to one of the JSON IDs.
pub const CONTROL: Kind = Kind::new(Protocol::Ddp, "ddp/control");
/// A request for data.
pub const QUERY: Kind = Kind::new(Protocol::Ddp, "ddp/query");
/// Anything a display sends.
pub const REPLY: Kind = Kind::new(Protocol::Ddp, "ddp/reply");

/// The DDP decoder.
pub struct Ddp;

impl Decoder for Ddp {
    fn protocol(&self) -> Protocol {
        Protocol::Ddp
    }

    fn ports(&self) -> &'static [u16] {
        &[PORT]
    }

    fn rules(&self) -> &'static [Rule] {
        &RULES
    }

    fn kind(&self, name: &str) -> Option<Kind> {
        [DISPLAY, CONTROL, QUERY, REPLY].into_iter().find(|kind| kind.name == name)
    }

    #[inline]
    fn claims(&self, d: &Datagram<'_>) -> Claim {
        let reply = FLAG_VERSION | FLAG_REPLY;
        let answers = || d.payload.first().is_some_and(|f| f & reply == FLAG_VERSION_1 | FLAG_REPLY);
        if d.destination.port() == PORT || (d.source.port() == PORT && answers()) {
            Claim::Port
        } else {
            Claim::No
        }
    }

    #[inline]
    fn decode<'a>(&self, d: &Datagram<'a>, faults: &mut Faults) -> Result<Pdu<'a>, Undecodable> {
        let Some(header) = Header::read(d) else { return incomplete(d, faults) };
        let role = header.role();
        check_flags(&header, faults);
        let length_holds = check_length(&header, role, faults);
        if role == Role::Display {
            check_display(&header, length_holds, faults);
        }
        let start = d.payload.get(header.size..).unwrap_or(&[]);
        let data = start.get(..header.length).unwrap_or(start);
        if header.is_json() && length_holds && !d.is_cut() && !data.is_empty() {
            check_json(&header, role, data, faults);
        }
        Ok(pdu(&header, role, data))
    }
}

/// Pixels for a display about which there is nothing to say; `None` for every other datagram.
#[inline(always)]
pub(crate) fn plain<'a>(d: &Datagram<'a>) -> Option<Pdu<'a>> {
    let (h, data) = d.payload.split_first_chunk::<HEADER>()?;
    let (offset, length) = (be32(&h[4..8]), u16::from_be_bytes([h[8], h[9]]));
    let beside = match h[2] {
        TYPE_RGB8 => offset % 3 + u32::from(length % 3),
        TYPE_RGBW8 => offset % 4 + u32::from(length % 4),
        _ => return None,
    };
    let plain = d.destination.port() == PORT
        && h[0] & !FLAG_PUSH == FLAG_VERSION_1
        && (1..=15).contains(&h[1])
        && (1..ID_CONTROL).contains(&h[3])
        && beside == 0
        && (1..=DATA_MAX).contains(&data.len())
        && data.len() == usize::from(length)
        && d.payload.len() == d.len();
    let push = if h[0] & FLAG_PUSH != 0 { Marks::PUSH } else { Marks(0) };
    plain.then(|| Pdu {
        stream: Some(u32::from(h[3])),
        sequence: Some(u32::from(h[1])),
        offset,
        data,
        data_length: u32::from(length),
        marks: Marks::DATA.and(push),
        ..Pdu::empty(DISPLAY)
    })
}

/// What a datagram is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Display,
    Control,
    Query,
    Reply,
}

impl Role {
    fn kind(self) -> Kind {
        match self {
            Role::Display => DISPLAY,
            Role::Control => CONTROL,
            Role::Query => QUERY,
            Role::Reply => REPLY,
        }
    }
}

/// The header as it stands on the wire.
struct Header {
    flags: u8,
    sequence: u8,
    data_type: u8,
    id: u8,
    offset: u32,
    /// Data octets the header announces.
    length: usize,
    timecode: Option<u32>,
    /// Octets of the header itself.
    size: usize,
    /// Octets the sender sent behind the header.
    present: usize,
    /// Most data octets that fit an MTU of 1500.
    ceiling: usize,
    /// Goes to a display, and does not come from one: displays send from the port.
    to_display: bool,
}

impl Header {
    /// The header, or `None` when the capture holds less than all of it.
    #[inline]
    fn read(d: &Datagram<'_>) -> Option<Header> {
        let h = d.payload.first_chunk::<HEADER>()?;
        let timed = h[0] & FLAG_TIMECODE != 0;
        let timecode = if timed { Some(be32(d.payload.get(HEADER..HEADER_TIMED)?)) } else { None };
        let size = if timed { HEADER_TIMED } else { HEADER };
        Some(Header {
            flags: h[0],
            sequence: h[1],
            data_type: h[2],
            id: h[3],
            offset: be32(&h[4..8]),
            length: usize::from(u16::from_be_bytes([h[8], h[9]])),
            timecode,
            size,
            present: sent(d) - size,
            ceiling: if d.destination.is_ipv4() { 1472 } else { 1452 } - size,
            to_display: d.destination.port() == PORT && d.source.port() != PORT,
        })
    }

    fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    fn is_json(&self) -> bool {
        matches!(self.id, ID_CONTROL | ID_CONFIG | ID_STATUS)
    }

    /// Pixels of a controller that set the reply flag by mistake: they count and belong to the frame, whatever the display
    /// makes of them.
    fn is_misnamed(&self) -> bool {
        self.has(FLAG_REPLY) && self.to_display && !self.is_json() && self.length > 0
    }

    fn role(&self) -> Role {
        if self.is_misnamed() {
            Role::Display
        } else if self.has(FLAG_REPLY) {
            Role::Reply
        } else if self.has(FLAG_QUERY) {
            Role::Query
        } else if self.is_json() {
            Role::Control
        } else {
            Role::Display
        }
    }

    /// The sequence number; the reserved bit counts only in 0x10, where a sender counted on from 15 to 16.
    fn number(&self) -> u8 {
        if self.sequence == 0x10 { 16 } else { self.sequence & 0x0f }
    }
}

/// Octets sent; never fewer than captured.
#[inline]
fn sent(d: &Datagram<'_>) -> usize {
    d.len().max(d.payload.len())
}

#[inline]
fn be32(octets: &[u8]) -> u32 {
    octets.first_chunk().map_or(0, |o| u32::from_be_bytes(*o))
}

#[inline]
fn pdu<'a>(h: &Header, role: Role, data: &'a [u8]) -> Pdu<'a> {
    let mut marks = Marks::default();
    let mut mark = |set: bool, m: Marks| marks = if set { marks.and(m) } else { marks };
    mark(h.has(FLAG_PUSH), Marks::PUSH);
    mark(h.sequence == 0, Marks::SEQUENCE_OFF);
    mark(h.timecode.is_some(), Marks::TIMED);
    mark(role == Role::Display && h.length > 0, Marks::DATA);
    Pdu {
        stream: (role == Role::Display).then_some(u32::from(h.id)),
        sequence: Some(u32::from(h.number())),
        offset: if h.id == ID_DMX { 0 } else { h.offset },
        data,
        data_length: h.length as u32,
        sender_time: u64::from(h.timecode.unwrap_or(0)),
        marks,
        ..Pdu::empty(role.kind())
    }
}

/// A datagram without a whole header: too short, or cut by the capture.
#[cold]
fn incomplete(d: &Datagram<'_>, faults: &mut Faults) -> Result<Pdu<'static>, Undecodable> {
    let Some(&flags) = d.payload.first() else {
        return nothing(d, faults);
    };
    let wanted = if flags & FLAG_TIMECODE != 0 { HEADER_TIMED } else { HEADER };
    if sent(d) < wanted {
        faults.add(D01, sent(d), Value::AtLeast(wanted as u64), Value::Dec(sent(d) as u64));
    }
    bad_version_or_reserved(flags, faults);
    Ok(Pdu::empty(DISPLAY))
}

#[cold]
fn nothing(d: &Datagram<'_>, faults: &mut Faults) -> Result<Pdu<'static>, Undecodable> {
    if d.is_cut() {
        return Ok(Pdu::empty(DISPLAY));
    }
    let hint = "the datagram carries no octets";
    faults.add_with(D01, Severity::Info, 0, Value::AtLeast(HEADER as u64), Value::Dec(0), hint);
    Err(Undecodable)
}

#[inline]
fn check_flags(h: &Header, faults: &mut Faults) {
    if h.flags & (FLAG_VERSION | FLAG_RESERVED) != FLAG_VERSION_1 {
        bad_version_or_reserved(h.flags, faults);
    }
    if h.sequence & 0xf0 != 0 {
        reserved_nibble(h.sequence, faults);
    }
    if h.is_misnamed() {
        flag_fault(
            h.flags,
            "pixels from a controller with the reply flag; a display may show nothing",
            faults,
        );
    } else if h.has(FLAG_REPLY) && h.has(FLAG_QUERY) {
        let hint = "reply and query together; the query flag is ignored";
        flag_fault(h.flags, hint, faults);
    }
}

#[cold]
fn bad_version_or_reserved(flags: u8, faults: &mut Faults) {
    let version = flags >> 6;
    if version != 1 {
        let hint = match version {
            0 => "version 0: the version bits were left out, or this is not DDP",
            _ => "no such version is defined, or this is not DDP",
        };
        let got = Value::Dec(u64::from(version));
        faults.add_with(D02, Severity::Violation, 0, Value::Dec(1), got, hint);
    }
    if flags & FLAG_RESERVED != 0 {
        faults.add(D03, 0, Value::Dec(0), Value::Hex(u64::from(FLAG_RESERVED), 2));
    }
}

#[cold]
fn reserved_nibble(octet: u8, faults: &mut Faults) {
    let hint = if octet == 0x10 { "counts 1..16 instead of 1..15, as ddp-rs does" } else { "" };
    let got = Value::Hex(u64::from(octet), 2);
    faults.add_with(D04, Severity::Warning, 1, Value::AtMost(15), got, hint);
}

#[cold]
fn flag_fault(flags: u8, hint: &'static str, faults: &mut Faults) {
    faults.add_with(D05, Severity::Warning, 0, Value::None, Value::Hex(u64::from(flags), 2), hint);
}

/// True when the length field agrees with the octets present.
#[inline]
fn check_length(h: &Header, role: Role, faults: &mut Faults) -> bool {
    let agrees = h.present == h.length || (role == Role::Query && h.present == 0);
    if !agrees {
        wrong_length(h, role, faults);
    }
    if h.length.min(h.present) > DATA_MAX {
        large_chunk(h, faults);
    }
    agrees
}

#[cold]
fn wrong_length(h: &Header, role: Role, faults: &mut Faults) {
    let present = Value::Dec(h.present as u64);
    if h.present > h.length {
        faults.add(D09, h.size + h.length, Value::Dec(h.length as u64), present);
    } else if role == Role::Query {
        let hint = "a query normally carries no data";
        faults.add_with(D09, Severity::Warning, h.size, Value::Dec(0), present, hint);
    } else {
        faults.add(D08, 8, Value::AtMost(h.present as u64), Value::Dec(h.length as u64));
    }
}

#[cold]
fn large_chunk(h: &Header, faults: &mut Faults) {
    let octets = h.length.min(h.present);
    let (severity, hint) = if octets > h.ceiling {
        (Severity::Warning, "does not fit an MTU of 1500: sent as IP fragments")
    } else {
        (Severity::Info, "more than the specification's own limit, still inside an MTU of 1500")
    };
    faults.add_with(D11, severity, 8, Value::AtMost(DATA_MAX as u64), Value::Dec(octets as u64), hint);
}

#[inline]
fn check_display(h: &Header, length_holds: bool, faults: &mut Faults) {
    if h.id == 0 || h.id == ID_ALL {
        odd_id(h.id, faults);
    }
    if h.has(FLAG_STORAGE) {
        flag_fault(h.flags, "storage flag on display data", faults);
    }
    if h.timecode.is_some() && !h.has(FLAG_PUSH) {
        timecode_without_push(h.flags, faults);
    }
    if h.sequence == 0 && h.length > 0 {
        sequence_unused(faults);
    }
    if h.id == ID_DMX {
        return;
    }
    let pixel = match h.data_type {
        TYPE_RGB8 => 3,
        TYPE_RGBW8 => 4,
        _ => return odd_type(h, faults),
    };
    if length_holds && (!h.offset.is_multiple_of(pixel) || !(h.length as u32).is_multiple_of(pixel)) {
        split_pixel(h, pixel, faults);
    }
}

#[cold]
fn odd_id(id: u8, faults: &mut Faults) {
    let (severity, hint) = match id {
        0 => (Severity::Warning, "ID 0 is reserved"),
        _ => (Severity::Info, "ID 255 reaches every output of the display"),
    };
    faults.add_with(D07, severity, 3, Value::Range(1, 254), Value::Dec(u64::from(id)), hint);
}

#[cold]
fn timecode_without_push(flags: u8, faults: &mut Faults) {
    let hint = "the timecode says when to show, and without push nothing is shown";
    faults.add_with(D14, Severity::Warning, 0, Value::None, Value::Hex(u64::from(flags), 2), hint);
}

#[cold]
fn sequence_unused(faults: &mut Faults) {
    faults.add_with(Q10, Severity::Info, 1, Value::Range(1, 15), Value::Dec(0), "sequence unused");
}

#[cold]
fn split_pixel(h: &Header, pixel: u32, faults: &mut Faults) {
    let (at, value) =
        if h.offset.is_multiple_of(pixel) { (8, h.length as u64) } else { (4, u64::from(h.offset)) };
    let expected = if pixel == 3 { "a multiple of 3" } else { "a multiple of 4" };
    faults.add(D10, at, Value::Word(expected), Value::Dec(value));
}

#[cold]
fn odd_type(h: &Header, faults: &mut Faults) {
    if let Some((severity, hint)) = judge_type(h.data_type, h.length > 0) {
        let got = Value::Hex(u64::from(h.data_type), 2);
        faults.add_with(D06, severity, 2, Value::Word("0x0b or 0x1b"), got, hint);
    }
}

/// What is to be said of a data type other than RGB8 and RGBW8.
fn judge_type(data_type: u8, has_data: bool) -> Option<(Severity, &'static str)> {
    let (kind, size) = ((data_type >> 3) & 7, data_type & 7);
    match data_type {
        0x00 => has_data.then_some((Severity::Info, "undefined type, which xLights and FPP send on purpose")),
        0x01 => Some((Severity::Info, "legacy: the specification's sample code writes 1")),
        0x0a | 0x1a => {
            Some((Severity::Warning, "says 4 bits per element; old WLED senders wrote this for 8"))
        }
        0x0d | 0x1e => {
            Some((Severity::Warning, "gives the bits of a pixel as bits of an element, like ddp-rs"))
        }
        _ if data_type & 0x40 != 0 => Some((Severity::Warning, "reserved bit 6 set")),
        _ if data_type & 0x80 != 0 => Some((Severity::Info, "custom bit set, as hyperion.ng and xLights do")),
        _ if kind > 4 => Some((Severity::Warning, "TTT 5..7 is not defined")),
        _ if size == 7 => Some((Severity::Warning, "SSS 7 is not defined")),
        _ => None,
    }
}

#[inline(never)]
fn check_json(h: &Header, role: Role, body: &[u8], faults: &mut Faults) {
    let Some(at) = json::first_error(body) else { return };
    let text = |o: &u8| *o >= b' ' || matches!(o, b'\t' | b'\n' | b'\r' | 0);
    let binary = !body.iter().all(text) || std::str::from_utf8(body).is_err();
    if role == Role::Control && binary && h.data_type != 0 {
        let hint = "pixel data on an ID that carries JSON";
        faults.add_with(D07, Severity::Warning, 3, Value::None, Value::Dec(u64::from(h.id)), hint);
    } else {
        faults.add(D15, h.size + at, Value::Word("JSON"), Value::None);
    }
}
