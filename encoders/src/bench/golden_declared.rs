//! What is to come out of a declared layout: octets set bit by bit from its fields.
//!
//! Like the other references it shares no line with the encoder, and takes no care of speed. Of checksums alone there is
//! one way to make them, which has check values of its own.

use super::golden::{Identity, Numbers};
use wireproof_protocols::layout::{
    ByteOrder, Constant, Field, Layout, Parts, PayloadLength, Region, Role, Scope, Step, sum,
};

/// One datagram being written.
struct Sheet<'a> {
    layout: &'a Layout,
    octets: Vec<u8>,
    footer_at: usize,
}

/// The UDP payloads of a frame, `packing` octets of it in each.
pub(super) fn datagrams(
    layout: &Layout,
    who: &Identity,
    packing: usize,
    numbers: Numbers,
    frame: &[u8],
) -> Result<Vec<Vec<u8>>, String> {
    let parts: Vec<&[u8]> = frame.chunks(packing).collect();
    let one = |(index, part): (usize, &&[u8])| {
        let mut data = part.to_vec();
        while !is_legal_length(layout, data.len()) {
            data.push(0);
        }
        let mut sheet = Sheet::new(layout, &data);
        for field in &layout.fields {
            let place = (index, parts.len(), index * packing, frame.len());
            sheet.field(field, who, numbers, place, data.len())?;
        }
        Ok(sheet.summed())
    };
    parts.iter().enumerate().map(one).collect()
}

/// The layout allows so many octets of data, apart from the greatest number.
fn is_legal_length(layout: &Layout, octets: usize) -> bool {
    let whole = octets.is_multiple_of(layout.payload_unit.into());
    let PayloadLength::Field(index) = layout.payload_len else { return whole };
    let field = &layout.fields[index];
    let raw = (octets as i64 - field.add) / i64::from(field.scale);
    let multiple = field.multiple_of.is_none_or(|of| (raw as u64).is_multiple_of(of));
    whole && multiple && field.min.is_none_or(|min| raw as u64 >= min)
}

impl<'a> Sheet<'a> {
    fn new(layout: &'a Layout, data: &[u8]) -> Self {
        let mut octets = vec![0; layout.header_len.into()];
        octets.extend_from_slice(data);
        let footer_at = octets.len();
        octets.extend(std::iter::repeat_n(0, layout.footer_len.into()));
        Sheet { layout, octets, footer_at }
    }

    fn at(&self, field: &Field) -> usize {
        usize::from(field.at) + if field.region == Region::Footer { self.footer_at } else { 0 }
    }

    fn field(
        &mut self,
        field: &Field,
        who: &Identity,
        numbers: Numbers,
        (index, count, offset, frame): (usize, usize, usize, usize),
        data: usize,
    ) -> Result<(), String> {
        let chunks =
            self.layout.fields.iter().any(|f| matches!(f.role, Role::ByteOffset | Role::PacketIndex));
        let meant = match field.role {
            Role::Magic | Role::Const | Role::Version => match &field.constant {
                Some(Constant::Octets(octets)) => return self.octets_of(field, octets),
                Some(Constant::Number(number)) => *number as i128,
                None => field.send.or(field.min).unwrap_or_default() as i128,
            },
            Role::SenderId => return self.octets_of(field, &who.cid),
            Role::SenderName => return self.octets_of(field, who.name.as_bytes()),
            Role::StreamId if chunks => who.device.into(),
            Role::StreamId => i128::from(who.port_address) + index as i128 + field.min.unwrap_or(0) as i128,
            Role::FrameSeq | Role::PacketSeq => self.number(numbers, chunks, index, count),
            Role::PacketIndex => index as i128 + i128::from(field.base),
            Role::PacketCount => raw(field, count)?,
            Role::ByteOffset => raw(field, offset)?,
            Role::PayloadLen => raw(field, data)?,
            Role::FrameLen => raw(field, frame)?,
            Role::HeaderLen => raw(field, self.layout.header_len.into())?,
            Role::LengthOfRest => self.octets.len() as i128 - i128::from(field.base),
            Role::LastPacket => (index + 1 == count).into(),
            Role::FirstPacket => (index == 0).into(),
            Role::Opaque | Role::Part => field.send.or(field.min).unwrap_or_default() as i128,
            Role::Repeat | Role::Terminated | Role::TimeValid | Role::TimestampUs => 0,
            Role::ReservedZero | Role::Checksum => 0,
        };
        self.bits(field, meant)
    }

    fn octets_of(&mut self, field: &Field, octets: &[u8]) -> Result<(), String> {
        let at = self.at(field);
        for (index, octet) in octets.iter().take(field.size.into()).enumerate() {
            self.octets[at + index] = *octet;
        }
        Ok(())
    }

    /// The number after so many frames, or so many datagrams where every one has its own.
    fn number(&self, numbers: Numbers, chunks: bool, index: usize, count: usize) -> i128 {
        let Some(sequence) = &self.layout.sequence else { return 0 };
        let alone = sequence.step == Step::Packet && (chunks || sequence.scope == Scope::Source);
        let each = if alone { count as i128 } else { 1 };
        let steps = i128::from(numbers.frames) * each + if alone { index as i128 } else { 0 };
        let (first, last) = (i128::from(sequence.first), i128::from(sequence.last));
        first + steps.rem_euclid(last - first + 1)
    }

    /// Sets the bits of a field, one after the other.
    fn bits(&mut self, field: &Field, value: i128) -> Result<(), String> {
        let (high, low) =
            field.bits.map_or((usize::from(field.size) * 8 - 1, 0), |(h, l)| (h.into(), l.into()));
        if value < 0 || (value >> (high - low + 1)) != 0 {
            return Err(format!("{value} does not fit the field {}", field.name));
        }
        let at = self.at(field);
        for bit in low..=high {
            let octet = match field.order {
                ByteOrder::Big => usize::from(field.size) - 1 - bit / 8,
                ByteOrder::Little => bit / 8,
            };
            if value >> (bit - low) & 1 == 1 {
                self.octets[at + octet] |= 1 << (bit % 8);
            }
        }
        Ok(())
    }

    fn summed(mut self) -> Vec<u8> {
        let summed = self.layout.fields.iter().find_map(|field| field.checksum.map(|how| (field, how)));
        if let Some((field, how)) = summed {
            let (header, footer) = (self.layout.header_len.into(), self.octets.len());
            let parts = Parts { header, data: self.footer_at, footer };
            let value = sum(how, &self.octets, parts, self.at(field));
            // A sum fits its field: that is checked when the layout is read.
            let _ = self.bits(field, value.into());
        }
        self.octets
    }
}

fn raw(field: &Field, meant: usize) -> Result<i128, String> {
    let less = meant as i128 - i128::from(field.add);
    let scale = i128::from(field.scale);
    if less % scale == 0 {
        Ok(less / scale)
    } else {
        Err(format!("{meant} is no multiple for {}", field.name))
    }
}
