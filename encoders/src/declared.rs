//! Datagrams by a layout: the table that the decoder reads by, used the other way round, so that the two cannot
//! disagree. First what never changes, then what the place in the frame says, then lengths, then the checksum.
//!
//! It owns its counters and one buffer. Speed is not its first aim: hand-written encoders lay out headers once.

use crate::Setup;
use crate::arena::Loose;
use crate::packer::check_size;
use std::net::SocketAddr;
use wireproof_protocols::layout::{
    Constant, Field, Layout, LayoutId, Parts, PayloadLength, Region, Role, Scope, Sequence, Step, sum,
};
use wireproof_protocols::{Batch, EncodeError, Encoder, Protocol, Timestamp, Value};

/// Frame octets in a datagram where nothing limits them: whole RGB and RGBW pixels.
const CHUNK: u64 = 1440;
/// Octets of UDP payload in an Ethernet frame over IPv4.
const PAYLOAD: u64 = 1472;

/// A sender of a declared layout.
pub struct Declared {
    layout: LayoutId,
    destination: SocketAddr,
    chunk: usize,
    /// Stream id of all datagrams, or of the first where every datagram of a frame is a stream of its own.
    stream: u64,
    id: [u8; 16],
    name: Vec<u8>,
    frames: u64,
    sent: u64,
    time_us: Option<u64>,
    own: Vec<u8>,
    loose: Loose,
    destinations: Vec<SocketAddr>,
}

/// Where a datagram stands in its frame.
#[derive(Clone, Copy, Debug)]
struct Place {
    index: u64,
    count: u64,
    offset: u64,
    /// Octets of data, padding included.
    octets: u64,
    frame: u64,
    number: u64,
}

/// Most frame octets that a datagram of the layout carries where nothing else is asked for: what fits its length field
/// and an Ethernet frame, in whole units and, where there is room, whole pixels; a frame of a declared size is divided
/// evenly into the declared number of datagrams, if it can be.
pub fn usual_chunk(layout: &Layout) -> u16 {
    let around = u64::from(layout.header_len) + u64::from(layout.footer_len);
    let most = CHUNK.min(PAYLOAD.saturating_sub(around)).min(most_data(layout)).max(1);
    let unit = unit(layout);
    let pixels = if unit.is_multiple_of(3) { unit } else { unit * 3 };
    let steps = [pixels, unit, 1];
    let step = steps.into_iter().find(|step| *step <= most).unwrap_or(1);
    let shared = || steps.into_iter().find_map(|step| even_share(layout, step, most));
    u16::try_from(shared().unwrap_or(most - most % step)).unwrap_or(u16::MAX)
}

/// Octets that each datagram but the last carries where the layout declares octets and datagrams of a frame.
fn even_share(layout: &Layout, step: u64, most: u64) -> Option<u64> {
    let (octets, count) = (u64::from(layout.frame.expect_bytes?), u64::from(layout.frame.expect_packets?));
    let share = octets.div_ceil(count).next_multiple_of(step);
    (share <= most && octets.div_ceil(share) == count).then_some(share)
}

/// Octets that the data of a datagram is a multiple of.
fn unit(layout: &Layout) -> u64 {
    let unit = u64::from(layout.payload_unit);
    let even =
        length_field(layout).and_then(|f| f.multiple_of.filter(|_| f.scale == 1 && f.add == 0)).unwrap_or(1);
    (1..=unit).find_map(|n| (even * n).is_multiple_of(unit).then_some(even * n)).unwrap_or(unit)
}

fn length_field(layout: &Layout) -> Option<&Field> {
    match layout.payload_len {
        PayloadLength::Field(index) => layout.fields.get(index),
        PayloadLength::Rest => None,
    }
}

/// Most octets of data that the length field can say.
fn most_data(layout: &Layout) -> u64 {
    length_field(layout).map_or(u64::MAX, |f| f.meant(f.max.unwrap_or(f.most()).min(f.most())))
}

impl Declared {
    /// A sender that has sent nothing. Where the layout numbers chunks, `id` is the stream; where it does not, every
    /// datagram of a frame is a stream of its own, counted from `first`.
    ///
    /// # Errors
    /// [`EncodeError`] without an address, or for a chunk that fits neither the length field nor the MTU.
    pub fn new(layout: LayoutId, setup: &Setup) -> Result<Self, EncodeError> {
        let declared = &layout.table().layout;
        let chunk = setup.chunk.unwrap_or_else(|| usual_chunk(declared));
        EncodeError::unless_within(
            "chunk octets",
            chunk.into(),
            1,
            most_data(declared).min(u16::MAX.into()),
        )?;
        let destination = setup.address()?;
        let octets = u64::from(declared.header_len) + u64::from(chunk) + u64::from(declared.footer_len);
        check_size(octets, destination.ip(), setup.fragment)?;
        let least = declared.field(Role::StreamId).and_then(|f| f.min).unwrap_or(0);
        let first = setup.first.map_or(least, u64::from);
        Ok(Declared {
            layout,
            destination,
            chunk: chunk.into(),
            stream: if declared.has_chunks() { setup.id.into() } else { first },
            id: setup.cid,
            name: setup.name.as_bytes().to_vec(),
            frames: 0,
            sent: 0,
            time_us: None,
            own: Vec::new(),
            loose: Loose::new(),
            destinations: Vec::new(),
        })
    }

    fn layout(&self) -> &'static Layout {
        &self.layout.table().layout
    }

    fn places(&self, octets: usize) -> impl Iterator<Item = Place> + use<> {
        let (chunk, frame) = (self.chunk, octets as u64);
        let (unit, sent) = (unit(self.layout()), self.sent);
        let least = length_field(self.layout()).and_then(|f| f.min.map(|min| f.meant(min))).unwrap_or(0);
        let count = octets.div_ceil(chunk) as u64;
        (0..count).map(move |index| {
            let offset = index * chunk as u64;
            let data = (frame - offset).min(chunk as u64).max(least);
            Place { index, count, offset, octets: data.next_multiple_of(unit), frame, number: sent + index }
        })
    }

    /// Every value of a frame fits its field, before anything of it is written.
    fn check(&self, octets: usize) -> Result<(), EncodeError> {
        let layout = self.layout();
        let frame = &layout.frame;
        let count = octets.div_ceil(self.chunk) as u64;
        let fixed = |field, value: u64, want: Option<u64>| match want.filter(|want| *want != value) {
            Some(want) => Err(EncodeError { field, value, limit: Value::Dec(want) }),
            None => Ok(()),
        };
        fixed("frame octets", octets as u64, frame.expect_bytes.map(u64::from))?;
        fixed("datagrams of a frame", count, frame.expect_packets.map(u64::from))?;
        // Every field grows with the place, so that first and last decide, but for lengths and divided offsets.
        let places = self.places(octets);
        let steep = layout.fields.iter().any(|f| f.scale != 1);
        let edges = places.filter(|place| steep || place.index == 0 || place.index + 1 >= place.count);
        for place in edges {
            for field in layout.fields.iter().filter(|f| f.is_number() && f.role != Role::Checksum) {
                self.number(field, &place)?;
            }
        }
        Ok(())
    }

    /// The number to be written, checked.
    fn number(&self, field: &'static Field, place: &Place) -> Result<u64, EncodeError> {
        let layout = self.layout();
        let total = u64::from(layout.header_len) + place.octets + u64::from(layout.footer_len);
        let chunked = layout.has_chunks();
        let meant = match field.role {
            Role::StreamId => self.stream + if chunked { 0 } else { place.index },
            Role::FrameSeq | Role::PacketSeq => self.sequence(place),
            Role::PacketIndex => place.index + u64::from(field.base),
            Role::PacketCount => divided(field, place.count)?,
            Role::ByteOffset => divided(field, place.offset)?,
            Role::PayloadLen => divided(field, place.octets)?,
            Role::FrameLen => divided(field, place.frame)?,
            Role::HeaderLen => divided(field, layout.header_len.into())?,
            Role::LengthOfRest => total.saturating_sub(field.base.into()),
            Role::LastPacket => u64::from(place.index + 1 == place.count),
            Role::FirstPacket => u64::from(place.index == 0),
            Role::TimeValid => u64::from(self.time_us.is_some()),
            Role::TimestampUs => (self.time_us.unwrap_or(0) / u64::from(field.scale)) & field.most(),
            Role::Repeat | Role::Terminated | Role::ReservedZero => 0,
            _ => match field.constant {
                Some(Constant::Number(number)) => number,
                _ => field.send.or(field.min).unwrap_or(0),
            },
        };
        let free = matches!(field.role, Role::ReservedZero | Role::FrameSeq | Role::PacketSeq);
        let (low, high) = (field.min.unwrap_or(0), field.max.unwrap_or(u64::MAX).min(field.most()));
        if free { Ok(meant) } else { within(field, meant, low, high) }
    }

    /// The number of a datagram: of its frame, of its stream, or of all datagrams.
    fn sequence(&self, place: &Place) -> u64 {
        let Some(Sequence { first, last, step, scope, .. }) = self.layout().sequence else { return 0 };
        let by_frame = step == Step::Frame || (scope == Scope::Stream && !self.layout().has_chunks());
        let steps = if by_frame { self.frames } else { place.number };
        let cycle = u64::from(last) - u64::from(first) + 1;
        u64::from(first) + steps % cycle
    }

    /// Appends one datagram.
    fn write(&self, place: &Place, data: &[u8], out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let layout = self.layout();
        let from = out.len();
        let header = usize::from(layout.header_len);
        out.resize(from + header, 0);
        out.extend_from_slice(data);
        let ends = header + usize::try_from(place.octets).unwrap_or(usize::MAX);
        out.resize(from + ends + usize::from(layout.footer_len), 0);
        let datagram = out.get_mut(from..).unwrap_or_default();
        let start =
            |field: &Field| if field.region == Region::Footer { ends } else { 0 } + usize::from(field.at);
        for field in layout.fields.iter().filter(|f| f.role != Role::Checksum) {
            let Some(octets) = datagram.get_mut(start(field)..start(field) + usize::from(field.size)) else {
                continue;
            };
            match (&field.constant, field.role) {
                (Some(Constant::Octets(known)), _) => octets.copy_from_slice(known),
                (_, Role::SenderId) => octets.copy_from_slice(&self.id[..octets.len()]),
                (_, Role::SenderName) => octets.iter_mut().zip(&self.name).for_each(|(to, from)| *to = *from),
                _ if field.is_number() => field.put(self.number(field, place)?, octets),
                _ => {}
            }
        }
        let parts = Parts { header, data: ends, footer: datagram.len() };
        if let Some(field) = layout.fields.iter().find(|f| f.checksum.is_some()) {
            let (at, checksum) = (start(field), field.checksum);
            let value = checksum.map_or(0, |checksum| sum(checksum, datagram, parts, at));
            if let Some(octets) = datagram.get_mut(at..at + usize::from(field.size)) {
                field.put(value, octets);
            }
        }
        Ok(())
    }

    fn lay_out(&mut self, frame: &[u8]) -> Result<(), EncodeError> {
        self.check(frame.len())?;
        let mut loose = std::mem::replace(&mut self.loose, Loose::new());
        loose.clear();
        self.destinations.clear();
        for (place, data) in self.places(frame.len()).zip(frame.chunks(self.chunk)) {
            let mut written = Ok(());
            loose.push(|out| written = self.write(&place, data, out));
            self.destinations.push(self.destination);
            written?;
        }
        self.loose = loose;
        self.sent += self.destinations.len() as u64;
        self.frames += u64::from(!frame.is_empty());
        Ok(())
    }
}

/// What stands on the wire for a number: less `add`, divided by `scale`, which has to come out even.
fn divided(field: &'static Field, meant: u64) -> Result<u64, EncodeError> {
    let raw = meant.checked_add_signed(-field.add);
    let scale = u64::from(field.scale);
    match raw.filter(|raw| raw.is_multiple_of(scale)) {
        Some(raw) => Ok(raw / scale),
        None => Err(EncodeError {
            field: &field.name,
            value: meant,
            limit: Value::Word("a multiple of its scale"),
        }),
    }
}

fn within(field: &'static Field, value: u64, low: u64, high: u64) -> Result<u64, EncodeError> {
    if (low..=high).contains(&value) {
        return Ok(value);
    }
    Err(EncodeError { field: &field.name, value, limit: Value::Range(low, high) })
}

impl Encoder for Declared {
    fn protocol(&self) -> Protocol {
        Protocol::Layout(self.layout)
    }

    fn encode<'a>(&'a mut self, frame: &'a [u8]) -> Result<Batch<'a>, EncodeError> {
        self.lay_out(frame)?;
        Ok(Batch::new(self.loose.pieces(), 1, &self.destinations))
    }

    fn frame_mut(&mut self, octets: usize) -> Result<&mut [u8], EncodeError> {
        self.check(octets)?;
        self.own.resize(octets, 0);
        Ok(&mut self.own)
    }

    fn encode_own(&mut self) -> Result<Batch<'_>, EncodeError> {
        let own = std::mem::take(&mut self.own);
        let laid_out = self.lay_out(&own);
        self.own = own;
        laid_out?;
        Ok(Batch::new(self.loose.pieces(), 1, &self.destinations))
    }

    fn set_time(&mut self, at: Timestamp) {
        self.time_us = u64::try_from(at.0.div_euclid(1000)).ok();
    }
}
