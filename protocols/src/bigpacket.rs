//! BigPacket, the documented default layout version 1: 32 octets of header, big-endian, and one chunk of a frame.

use crate::{
    Claim, Datagram, Decoder, Faults, Kind, Layer, Marks, Pdu, Protocol, Rule, Severity, Undecodable, Value,
};

/// Default UDP port.
pub const PORT: u16 = 21_600;
/// The first four octets.
pub const MAGIC: [u8; 4] = *b"BPK1";
/// Version octet.
pub const VERSION: u8 = 1;
/// Octets of the version 1 header.
pub const HEAD_LEN: usize = 32;
/// Octet of the frame sequence.
pub const SEQUENCE_AT: usize = 16;
/// Octet of the sender's time.
pub const TIME_AT: usize = 28;
/// Flag of the last chunk of a frame.
pub const FLAG_LAST: u16 = 1;
/// Flag of the first chunk of a frame.
pub const FLAG_FIRST: u16 = 2;
/// Flag of a frame sent again unchanged.
pub const FLAG_REPEAT: u16 = 4;
/// Flag that says the time field is valid.
pub const FLAG_TIME: u16 = 8;
const FLAGS: u16 = FLAG_LAST | FLAG_FIRST | FLAG_REPEAT | FLAG_TIME;

/// One chunk of a frame.
pub const CHUNK: Kind = Kind::new(Protocol::BigPacket, "bigpacket/chunk");

/// What all entries share.
const LAYOUT: Rule = Rule {
    code: "",
    severity: Severity::Violation,
    layer: Layer::Shape,
    title: "",
    edition: "bigpacket-default v1",
    clause: "",
    meaning: "",
    advice: "",
    example: "",
    known: &[],
};

/// The catalogue, in code order.
pub static RULES: [Rule; 8] = [
    Rule {
        code: "BIGPACKET-B01",
        severity: Severity::Info,
        title: "The magic is \"BPK1\"",
        clause: "offset 0",
        meaning: "The datagram stands on the BigPacket port but is another protocol.",
        advice: "Nothing, unless it was meant to be BigPacket; a house layout is loaded from a layout file.",
        example: "42 50 4b 32 at offset 0",
        ..LAYOUT
    },
    Rule {
        code: "BIGPACKET-B02",
        title: "The version is 1",
        clause: "offset 4",
        meaning: "Receivers of version 1 refuse the chunk.",
        advice: "Write 01 at offset 4.",
        example: "02 at offset 4",
        ..LAYOUT
    },
    Rule {
        code: "BIGPACKET-B03",
        title: "The header is complete and its length octet covers it: 32, or more from a later 1.x",
        clause: "offset 5",
        meaning: "Receivers take header for payload or payload for header.",
        advice: "Write 20 at offset 5 and send 32 octets of header.",
        example: "1f at offset 5, or a datagram of 31 octets",
        ..LAYOUT
    },
    Rule {
        code: "BIGPACKET-B04",
        severity: Severity::Warning,
        layer: Layer::Habit,
        title: "The reserved flags are zero",
        clause: "offset 6",
        meaning: "Receivers ignore them today; a later version may not.",
        advice: "Set only LAST (1), FIRST (2), REPEAT (4) and TIME (8).",
        example: "01 00 at offset 6",
        ..LAYOUT
    },
    Rule {
        code: "BIGPACKET-B05",
        title: "The packet index is below the packet count",
        clause: "offsets 10 and 12",
        meaning: "The chunk belongs to no place of the frame and is dropped.",
        advice: "Count chunks from 0; the count is at least 1.",
        example: "index 6 of 6",
        ..LAYOUT
    },
    Rule {
        code: "BIGPACKET-B06",
        title: "The payload length equals the octets after the header",
        clause: "offset 14",
        meaning: "Octets of the chunk are missing or are left over.",
        advice: "Write the size of the datagram minus the header length.",
        example: "05 a1 (1441) with 1440 octets of payload",
        ..LAYOUT
    },
    Rule {
        code: "BIGPACKET-B07",
        title: "The chunk lies inside the frame, where its index puts it",
        clause: "offsets 20 and 24",
        meaning: "Octets past the frame are lost; a chunk in another place leaves a hole or an overlap.",
        advice: "Write index times chunk size as offset and the size of the whole frame as frame length.",
        example: "offset 8000, 1440 octets, frame length 8640",
        ..LAYOUT
    },
    Rule {
        code: "BIGPACKET-B08",
        severity: Severity::Warning,
        title: "LAST is set on the last chunk and on no other; FIRST on no chunk but the first",
        clause: "offset 6",
        meaning: "Receivers that go by the flag show the frame too early or too late.",
        advice: "Set LAST when index is count - 1.",
        example: "index 5 of 6 without LAST",
        ..LAYOUT
    },
];
const B01: &Rule = &RULES[0];
const B02: &Rule = &RULES[1];
const B03: &Rule = &RULES[2];
const B04: &Rule = &RULES[3];
const B05: &Rule = &RULES[4];
const B06: &Rule = &RULES[5];
const B07: &Rule = &RULES[6];
const B08: &Rule = &RULES[7];

/// The BigPacket decoder.
pub struct BigPacket;

impl Decoder for BigPacket {
    fn protocol(&self) -> Protocol {
        Protocol::BigPacket
    }

    fn ports(&self) -> &'static [u16] {
        &[PORT]
    }

    fn rules(&self) -> &'static [Rule] {
        &RULES
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
        let Some(octets) = d.payload.first_chunk::<HEAD_LEN>() else {
            return Ok(short(d, faults));
        };
        let head = Head::read(octets);
        head.check(d.len(), faults);
        let start = usize::from(head.head_len).max(HEAD_LEN);
        let rest = d.payload.get(start..).unwrap_or(&[]);
        Ok(head.pdu(&rest[..rest.len().min(head.length.into())]))
    }
}

/// The fields of the header.
struct Head {
    version: u8,
    head_len: u8,
    flags: u16,
    device: u16,
    index: u16,
    count: u16,
    length: u16,
    sequence: u32,
    offset: u32,
    frame_length: u32,
    time: u32,
}

impl Head {
    #[inline]
    fn read(o: &[u8; HEAD_LEN]) -> Head {
        let be16 = |at: usize| u16::from_be_bytes([o[at], o[at + 1]]);
        let be32 = |at: usize| u32::from_be_bytes([o[at], o[at + 1], o[at + 2], o[at + 3]]);
        Head {
            version: o[4],
            head_len: o[5],
            flags: be16(6),
            device: be16(8),
            index: be16(10),
            count: be16(12),
            length: be16(14),
            sequence: be32(SEQUENCE_AT),
            offset: be32(20),
            frame_length: be32(24),
            time: be32(TIME_AT),
        }
    }

    #[inline]
    fn pdu<'a>(&self, data: &'a [u8]) -> Pdu<'a> {
        let mark = |flag: u16, mark: Marks| if self.flags & flag != 0 { mark } else { Marks(0) };
        Pdu {
            stream: Some(self.device.into()),
            sequence: Some(self.sequence),
            index: self.index,
            count: self.count,
            offset: self.offset,
            frame_length: self.frame_length,
            data,
            data_length: self.length.into(),
            sender_time: self.time.into(),
            marks: Marks::DATA
                .and(mark(FLAG_LAST, Marks::PUSH))
                .and(mark(FLAG_FIRST, Marks::FIRST))
                .and(mark(FLAG_REPEAT, Marks::REPEAT))
                .and(mark(FLAG_TIME, Marks::TIMED)),
            ..Pdu::empty(CHUNK)
        }
    }

    /// Adds every fault of a chunk that was `sent` octets long.
    #[inline]
    fn check(&self, sent: usize, faults: &mut Faults) {
        if self.version != VERSION {
            faults.add(B02, 4, Value::Dec(VERSION.into()), Value::Dec(self.version.into()));
        }
        let head_len = usize::from(self.head_len);
        if head_len != HEAD_LEN {
            self.explain_head_len(sent, faults);
        }
        if self.flags & !FLAGS != 0 {
            faults.add(B04, 6, Value::Hex((self.flags & FLAGS).into(), 4), Value::Hex(self.flags.into(), 4));
        }
        let present = sent.saturating_sub(head_len.max(HEAD_LEN));
        let whole = usize::from(self.length) == present;
        if !whole {
            faults.add(B06, 14, Value::Dec(present as u64), Value::Dec(self.length.into()));
        }
        if self.index < self.count {
            self.check_marks(faults);
        } else {
            let expected = Value::AtMost(u64::from(self.count).saturating_sub(1));
            faults.add(B05, 10, expected, Value::Dec(self.index.into()));
        }
        self.check_place(whole, faults);
    }

    #[inline]
    fn is_last(&self) -> bool {
        u32::from(self.index) + 1 == u32::from(self.count)
    }

    #[inline]
    fn check_marks(&self, faults: &mut Faults) {
        let last = self.flags & FLAG_LAST != 0;
        if last != self.is_last() {
            let hint =
                if last { "LAST on a chunk that others follow" } else { "the last chunk carries no LAST" };
            let expected = Value::Word(if last { "no LAST" } else { "LAST" });
            faults.add_with(B08, B08.severity, 6, expected, Value::Hex(self.flags.into(), 4), hint);
        }
        if self.flags & FLAG_FIRST != 0 && self.index != 0 {
            let hint = "FIRST on a chunk that is not the first";
            let got = Value::Hex(self.flags.into(), 4);
            faults.add_with(B08, B08.severity, 6, Value::Word("no FIRST"), got, hint);
        }
    }

    /// Judges the place of the chunk: the end against the frame, and the start against the index where the payload
    /// length is believable (`whole`).
    #[inline]
    fn check_place(&self, whole: bool, faults: &mut Faults) {
        let end = u64::from(self.offset) + u64::from(self.length);
        if end > u64::from(self.frame_length) {
            let hint = "the chunk ends past the frame";
            faults.add_with(
                B07,
                B07.severity,
                20,
                Value::AtMost(self.frame_length.into()),
                Value::Dec(end),
                hint,
            );
        } else if whole && self.index < self.count && !self.is_in_place(end) {
            let hint = "the offset is not index times chunk size";
            let got = Value::Dec(self.offset.into());
            faults.add_with(B07, Severity::Warning, 20, self.place(), got, hint);
        }
    }

    /// The last chunk may be shorter than the others, so that only its end says where it belongs.
    #[inline]
    fn is_in_place(&self, end: u64) -> bool {
        if self.is_last() {
            end == u64::from(self.frame_length) && (self.index != 0 || self.offset == 0)
        } else {
            u64::from(self.offset) == u64::from(self.index) * u64::from(self.length)
        }
    }

    fn place(&self) -> Value {
        let (length, frame) = (u64::from(self.length), u64::from(self.frame_length));
        Value::Dec(if self.is_last() { frame - length.min(frame) } else { u64::from(self.index) * length })
    }

    #[cold]
    fn explain_head_len(&self, sent: usize, faults: &mut Faults) {
        let head_len = usize::from(self.head_len);
        let got = Value::Dec(head_len as u64);
        if head_len < HEAD_LEN {
            faults.add(B03, 5, Value::AtLeast(HEAD_LEN as u64), got);
        } else if head_len > sent {
            let hint = "the header would be longer than the datagram";
            faults.add_with(B03, B03.severity, 5, Value::AtMost(sent as u64), got, hint);
        } else {
            let hint = "a later 1.x header: its extra octets are skipped";
            faults.add_with(B03, Severity::Info, 5, Value::Dec(HEAD_LEN as u64), got, hint);
        }
    }
}

/// A header that is not all there, because the sender or the capture cut it.
#[cold]
fn short<'a>(d: &Datagram<'a>, faults: &mut Faults) -> Pdu<'a> {
    if d.len() < HEAD_LEN {
        let hint = "the header has 32 octets";
        let expected = Value::AtLeast(HEAD_LEN as u64);
        faults.add_with(B03, B03.severity, d.len(), expected, Value::Dec(d.len() as u64), hint);
    }
    let field = |at: usize| d.payload.get(at..)?.first_chunk::<2>().map(|o| u16::from_be_bytes(*o));
    let sequence = d.payload.get(SEQUENCE_AT..).and_then(|o| o.first_chunk::<4>());
    Pdu {
        stream: field(8).map(u32::from),
        sequence: sequence.map(|o| u32::from_be_bytes(*o)),
        index: field(10).unwrap_or(0),
        count: field(12).unwrap_or(0),
        data_length: field(14).map_or(0, u32::from),
        marks: Marks::DATA,
        ..Pdu::empty(CHUNK)
    }
}

#[cold]
fn foreign(d: &Datagram<'_>, faults: &mut Faults) -> Undecodable {
    let mut magic = [0; 16];
    let n = d.payload.len().min(MAGIC.len());
    magic[..n].copy_from_slice(&d.payload[..n]);
    let (expected, got) = (Value::Word("42504b31"), Value::Octets(magic, n as u8));
    faults.add_with(B01, Severity::Info, 0, expected, got, "not-bigpacket: another protocol on the port");
    Undecodable
}

#[cfg(test)]
mod tests;
