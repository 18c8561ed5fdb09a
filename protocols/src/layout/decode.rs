//! Datagrams by a layout's table: the same PDU and the same kind of faults that hand-written decoders yield.
//!
//! Every read lies inside the header, whose length is asked for once, so that no octets can make it panic.

use super::judge::Judge;
use super::plan::{LayoutId, Read, Table, To};
use super::rules::{MAGIC, RULES, SHORT};
use crate::{
    Claim, Datagram, Decoder, Faults, Kind, Marks, Pdu, Protocol, Rule, Severity, Undecodable, Value,
};

/// A decoder of one layout.
#[derive(Clone, Copy, Debug)]
pub struct LayoutDecoder {
    table: &'static Table,
    kind: Kind,
}

/// What the header says.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Values {
    pub stream: u32,
    pub part: u8,
    pub sequence: u32,
    pub index: u64,
    pub count: u64,
    pub offset: u64,
    pub length: u64,
    pub frame: u64,
    pub header: u64,
    pub time: u64,
    pub marks: Marks,
}

impl LayoutDecoder {
    pub(super) fn new(table: &'static Table) -> Self {
        LayoutDecoder { table, kind: Kind::new(Protocol::Layout(LayoutId(table)), table.name) }
    }

    /// The compiled table.
    pub fn table(&self) -> &'static Table {
        self.table
    }

    /// The only kind of datagram of the layout; its name is `layout:NAME`.
    pub fn only_kind(&self) -> Kind {
        self.kind
    }
}

impl Decoder for LayoutDecoder {
    fn protocol(&self) -> Protocol {
        self.kind.protocol
    }

    fn ports(&self) -> &'static [u16] {
        self.table.ports
    }

    fn rules(&self) -> &'static [Rule] {
        &RULES
    }

    fn kind(&self, name: &str) -> Option<Kind> {
        (name == self.kind.name).then_some(self.kind)
    }

    #[inline]
    fn claims(&self, d: &Datagram<'_>) -> Claim {
        let matching = &self.table.layout.matching;
        let port = matching.udp_dst.contains(&d.destination.port());
        if !port && !matching.any_port {
            return Claim::No;
        }
        let magic = !self.table.magic.is_empty() && self.table.has_magic(d.payload);
        match (port, magic) {
            (_, true) => Claim::Magic,
            (true, false) => Claim::Port,
            (false, false) => Claim::No,
        }
    }

    #[inline]
    fn decode<'a>(&self, d: &Datagram<'a>, faults: &mut Faults) -> Result<Pdu<'a>, Undecodable> {
        let table = self.table;
        if !table.has_magic(d.payload) {
            return foreign(self, d, faults);
        }
        let header_len = usize::from(table.layout.header_len);
        if d.payload.len() < header_len {
            return Ok(short(self, d, faults));
        }
        let values = table.values(d.payload, table.reads.iter());
        let judge = Judge::new(table, d, &values);
        judge.check(&values, faults);
        Ok(pdu(self, d, &values, &judge))
    }
}

impl Table {
    /// The magic is there and whole.
    #[inline]
    pub(super) fn has_magic(&self, payload: &[u8]) -> bool {
        self.magic.iter().all(|fixed| {
            let reach = fixed.mask.leading_zeros() as usize / 8;
            let there = payload.len() >= fixed.at + super::plan::WORD - reach;
            there && word(payload, fixed.at) & fixed.mask == fixed.value
        })
    }

    /// Reads numbers of a payload that holds all of them.
    #[inline]
    pub(super) fn values<'r>(&self, payload: &[u8], reads: impl Iterator<Item = &'r Read>) -> Values {
        let mut v = Values::default();
        for read in reads {
            let raw = load(payload, read) >> read.shift & read.mask;
            match read.to {
                To::Stream => v.stream = raw as u32,
                To::Part => v.part = raw as u8,
                To::Sequence => v.sequence = raw as u32,
                To::Index(base) => v.index = raw.wrapping_sub(base.into()),
                To::Mark(mark) if raw != 0 => v.marks = v.marks.and(mark),
                To::Mark(_) => {}
                to => {
                    let meant = self.layout.fields[usize::from(read.field)].meant(raw);
                    match to {
                        To::Count => v.count = meant,
                        To::Offset => v.offset = meant,
                        To::Length => v.length = meant,
                        To::Frame => v.frame = meant,
                        To::Header => v.header = meant,
                        _ => v.time = meant,
                    }
                }
            }
        }
        v
    }
}

/// Eight octets from `at`, lowest first; octets that are not there are zero.
#[inline]
pub(super) fn word(payload: &[u8], at: usize) -> u64 {
    match payload.get(at..).and_then(|rest| rest.first_chunk()) {
        Some(octets) => u64::from_le_bytes(*octets),
        None => payload.iter().skip(at).take(8).rev().fold(0, |all, octet| all << 8 | u64::from(*octet)),
    }
}

#[inline]
fn load(payload: &[u8], read: &Read) -> u64 {
    let octets = payload.get(usize::from(read.at)..).unwrap_or_default();
    let whole: Option<u64> = match read.size {
        1 => octets.first().map(|o| u64::from(*o)),
        2 => octets.first_chunk().map(|o| {
            let be = u16::from_be_bytes(*o);
            u64::from(if read.little { be.swap_bytes() } else { be })
        }),
        4 => octets.first_chunk().map(|o| {
            let be = u32::from_be_bytes(*o);
            u64::from(if read.little { be.swap_bytes() } else { be })
        }),
        size => Some(odd(octets, size.into(), read.little)),
    };
    whole.unwrap_or(0)
}

fn odd(octets: &[u8], size: usize, little: bool) -> u64 {
    let octets = octets.iter().take(size);
    let add = |all: u64, octet: &u8| all << 8 | u64::from(*octet);
    if little { octets.rev().fold(0, add) } else { octets.fold(0, add) }
}

#[inline]
fn pdu<'a>(decoder: &LayoutDecoder, d: &Datagram<'a>, v: &Values, judge: &Judge<'_>) -> Pdu<'a> {
    let table = decoder.table;
    let start = d.payload.get(judge.start..).unwrap_or_default();
    let length = usize::try_from(judge.length).unwrap_or(usize::MAX).min(judge.present);
    Pdu {
        data: start.get(..length).unwrap_or(start),
        data_length: small(judge.length),
        ..said(decoder, d, v, judge.marks(v), table.facts.has_index)
    }
}

/// The numbers of the header as a PDU without data.
#[inline]
fn said<'a>(decoder: &LayoutDecoder, d: &Datagram<'a>, v: &Values, marks: Marks, indexed: bool) -> Pdu<'a> {
    let table = decoder.table;
    let frame = &table.layout.frame;
    let count = frame.expect_packets.filter(|_| v.count == 0).map_or(v.count, u64::from);
    let octets = frame.expect_bytes.filter(|_| v.frame == 0).map_or(v.frame, u64::from);
    let off = table.facts.unused == Some(v.sequence);
    let (id, name) = (table.sender_id, table.sender_name);
    Pdu {
        stream: Some(v.stream),
        part: v.part,
        sender: id.map(|span| identifier(d.payload, span)),
        name: name.map_or(&[], |span| text(d.payload, span)),
        sequence: table.layout.sequence.map(|_| v.sequence),
        index: u16::try_from(v.index).unwrap_or(u16::MAX),
        count: if indexed { u16::try_from(count).unwrap_or(u16::MAX) } else { 0 },
        offset: small(v.offset),
        frame_length: small(octets),
        sender_time: v.time,
        marks: if off { marks.and(Marks::SEQUENCE_OFF) } else { marks },
        ..Pdu::empty(decoder.kind)
    }
}

fn small(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn identifier(payload: &[u8], (from, to): (usize, usize)) -> crate::Cid {
    let mut id = [0; 16];
    let octets = payload.get(from..to).unwrap_or_default();
    id.iter_mut().zip(octets).for_each(|(to, from)| *to = *from);
    id
}

fn text(payload: &[u8], (from, to): (usize, usize)) -> &[u8] {
    let octets = payload.get(from..to).unwrap_or_default();
    octets.split(|octet| *octet == 0).next().unwrap_or_default()
}

/// A header that is not all there, because the sender or the capture cut it: what was read whole still counts.
#[cold]
fn short<'a>(decoder: &LayoutDecoder, d: &Datagram<'a>, faults: &mut Faults) -> Pdu<'a> {
    let table = decoder.table;
    let header_len = usize::from(table.layout.header_len);
    if d.len() < header_len {
        let (expected, got) = (Value::AtLeast(header_len as u64), Value::Dec(d.len() as u64));
        faults.add_with(SHORT, SHORT.severity, d.len(), expected, got, "the header is not all there");
    }
    let there = |read: &&Read| usize::from(read.at) + usize::from(read.size) <= d.payload.len();
    let values = table.values(d.payload, table.reads.iter().filter(there));
    let read = |to: To| table.reads.iter().filter(there).any(|read| read.to == to);
    let has = |to: To| table.reads.iter().any(|read| read.to == to);
    let data = if table.facts.chunked { Marks::DATA } else { Marks(0) };
    let pdu = said(decoder, d, &values, data, table.facts.has_index);
    Pdu {
        stream: pdu.stream.filter(|_| read(To::Stream) || !has(To::Stream)),
        sequence: pdu.sequence.filter(|_| read(To::Sequence)),
        data_length: small(values.length),
        offset: 0,
        frame_length: 0,
        sender_time: 0,
        ..pdu
    }
}

#[cold]
fn foreign<'a>(
    decoder: &LayoutDecoder,
    d: &Datagram<'_>,
    faults: &mut Faults,
) -> Result<Pdu<'a>, Undecodable> {
    let table = decoder.table;
    let wrong = table.layout.fields.iter().zip(&table.hints).find(|(field, _)| {
        let known = field.fixed_octets().filter(|_| field.role == super::Role::Magic);
        let differs = |((at, mask), value): ((u16, u8), u8)| {
            d.payload.get(usize::from(at)).is_some_and(|octet| octet & mask != value & mask)
        };
        known.is_some_and(|octets| field.octets().zip(octets).any(differs))
    });
    if d.is_cut() && wrong.is_none() {
        return Ok(Pdu::empty(decoder.kind));
    }
    let first = table.layout.fields.iter().zip(&table.hints).find(|(f, _)| f.role == super::Role::Magic);
    if let Some((field, hint)) = wrong.or(first) {
        let got = d.payload.get(usize::from(field.at)..).unwrap_or_default();
        let got = octets(&got[..got.len().min(field.size.into())]);
        let expected = octets(&field.fixed_octets().unwrap_or_default());
        let at = usize::from(field.at).min(d.payload.len());
        faults.add_with(MAGIC, Severity::Info, at, expected, got, hint.other);
    }
    Err(Undecodable)
}

/// The first octets as a value.
pub(super) fn octets(octets: &[u8]) -> Value {
    let mut kept = [0; 16];
    let n = octets.len().min(kept.len());
    kept[..n].copy_from_slice(&octets[..n]);
    Value::Octets(kept, n as u8)
}
