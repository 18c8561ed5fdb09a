//! What is to come out: the octets of a frame's datagrams, written field by field from the tables of the protocols.
//!
//! This is the second opinion of the gate. It shares no constant, type or line with the encoders, takes no care of
//! speed, and is checked against the golden vectors itself. It never encodes for anything but comparison.

use super::golden_declared;
use wireproof_protocols::Protocol;

/// Who sends, in the fields that do not depend on the frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// sACN: component identifier.
    pub cid: [u8; 16],
    /// sACN: source name, 63 octets at most.
    pub name: String,
    /// sACN: priority.
    pub priority: u8,
    /// sACN: first universe.
    pub universe: u16,
    /// Art-Net: first Port-Address.
    pub port_address: u16,
    /// Art-Net: physical input port.
    pub physical: u8,
    /// DDP: destination ID.
    pub ddp_id: u8,
    /// DDP: data type.
    pub ddp_type: u8,
    /// BigPacket: device id.
    pub device: u16,
    /// BigPacket: whether chunk 0 is marked FIRST.
    pub mark_first: bool,
}

/// Numbers before the frame: how the sender counts and how far it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers {
    /// Frames sent before this one.
    pub frames: u64,
    /// The first number of all: of each universe, of each Port-Address, of the datagrams (DDP), of the frames
    /// (BigPacket).
    pub first: u32,
    /// DDP: the last number of the cycle, 15 by the text.
    pub ddp_last: u8,
}

/// The UDP payloads of a frame, `packing` octets of it in each.
///
/// # Errors
/// A sentence for a protocol without a reference, or a frame that is not within its fields.
pub fn datagrams(
    protocol: Protocol,
    who: &Identity,
    packing: usize,
    numbers: Numbers,
    frame: &[u8],
) -> Result<Vec<Vec<u8>>, String> {
    if packing == 0 {
        return Err("no octets in a datagram".to_owned());
    }
    let parts: Vec<&[u8]> = frame.chunks(packing).collect();
    let all = parts.iter().enumerate();
    match protocol {
        Protocol::Sacn => all.map(|(index, part)| sacn(who, numbers, index, part)).collect(),
        Protocol::ArtNet => all.map(|(index, part)| artnet(who, numbers, index, part)).collect(),
        Protocol::Ddp => {
            all.map(|(index, part)| ddp(who, numbers, parts.len(), index, packing, part)).collect()
        }
        Protocol::BigPacket => {
            let place =
                |index| Place { index, count: parts.len(), offset: index * packing, frame: frame.len() };
            all.map(|(index, part)| bigpacket(who, numbers, &place(index), part)).collect()
        }
        Protocol::Layout(layout) => {
            golden_declared::datagrams(&layout.table().layout, who, packing, numbers, frame)
        }
        other => Err(format!("there is no reference for {}", other.name())),
    }
}

/// ANSI E1.31-2018, table 4-1: 126 octets and the slots.
fn sacn(who: &Identity, numbers: Numbers, index: usize, slots: &[u8]) -> Result<Vec<u8>, String> {
    let total = 126 + slots.len();
    let universe = narrow(usize::from(who.universe) + index)?;
    let mut name = [0u8; 64];
    name.get_mut(..who.name.len()).ok_or("the source name is too long")?.copy_from_slice(who.name.as_bytes());
    let mut d = Vec::new();
    d.extend([0x00, 0x10]); // 0: preamble size
    d.extend([0x00, 0x00]); // 2: post-amble size
    d.extend([0x41, 0x53, 0x43, 0x2D, 0x45, 0x31, 0x2E, 0x31, 0x37, 0x00, 0x00, 0x00]); // 4: ACN identifier
    d.extend(flags_and_length(total - 16)?); // 16: root
    d.extend([0x00, 0x00, 0x00, 0x04]); // 18: root vector
    d.extend(who.cid); // 22
    d.extend(flags_and_length(total - 38)?); // 38: framing
    d.extend([0x00, 0x00, 0x00, 0x02]); // 40: framing vector
    d.extend(name); // 44
    d.push(who.priority); // 108
    d.extend([0x00, 0x00]); // 109: synchronization address, none
    d.push(((u64::from(numbers.first) + numbers.frames) % 256) as u8); // 111: sequence, 0..255 (6.2.5)
    d.push(0x00); // 112: options
    d.extend(universe.to_be_bytes()); // 113
    d.extend(flags_and_length(total - 115)?); // 115: DMP
    d.push(0x02); // 117: DMP vector
    d.push(0xA1); // 118: address and data type
    d.extend([0x00, 0x00]); // 119: first property address
    d.extend([0x00, 0x01]); // 121: address increment
    d.extend(narrow(1 + slots.len())?.to_be_bytes()); // 123: property count
    d.push(0x00); // 125: start code
    d.extend(slots); // 126
    Ok(d)
}

/// E1.31 5.4: 0x7 in the top four bits, the length in the other twelve.
fn flags_and_length(length: usize) -> Result<[u8; 2], String> {
    if length > 0xFFF {
        return Err(format!("{length} octets do not fit a length of 12 bits"));
    }
    Ok([0x70 + (length / 256) as u8, (length % 256) as u8])
}

/// Art-Net 4, ArtDmx: 18 octets and the levels, padded to an even number.
fn artnet(who: &Identity, numbers: Numbers, index: usize, levels: &[u8]) -> Result<Vec<u8>, String> {
    let address = usize::from(who.port_address) + index;
    if address > 0x7FFF {
        return Err(format!("Port-Address {address} is beyond 32767"));
    }
    let padded = levels.len().next_multiple_of(2);
    let first = u64::from(numbers.first);
    let mut d = Vec::new();
    d.extend([0x41, 0x72, 0x74, 0x2D, 0x4E, 0x65, 0x74, 0x00]); // 0: identifier
    d.extend([0x00, 0x50]); // 8: opcode 0x5000, low octet first
    d.extend([0x00, 0x0E]); // 10: protocol version 14
    d.push(cycle(first, 255, numbers.frames)); // 12: sequence, 1..255
    d.push(who.physical); // 13
    d.extend([(address % 256) as u8, (address / 256) as u8]); // 14: SubUni, Net
    d.extend([(padded / 256) as u8, (padded % 256) as u8]); // 16: length
    d.extend(levels); // 18
    d.resize(18 + padded, 0);
    Ok(d)
}

/// DDP (3waylabs): 10 octets and the data, no time code.
fn ddp(
    who: &Identity,
    numbers: Numbers,
    count: usize,
    index: usize,
    packing: usize,
    data: &[u8],
) -> Result<Vec<u8>, String> {
    let push = u8::from(index + 1 == count);
    let sent = u128::from(numbers.frames) * count as u128 + index as u128;
    let last = numbers.ddp_last;
    let behind = (sent % u128::from(last.max(1))) as u64;
    let offset = u32::try_from(index * packing).map_err(|_| "the frame exceeds the offset field")?;
    let mut d = Vec::new();
    d.extend([0b0100_0000 + push]); // 0: version 1; push on the last
    d.push(cycle(u64::from(numbers.first), last, behind)); // 1: sequence, 1..15
    d.push(who.ddp_type); // 2
    d.push(who.ddp_id); // 3
    d.extend(offset.to_be_bytes()); // 4
    d.extend(narrow(data.len())?.to_be_bytes()); // 8: length
    d.extend(data); // 10
    Ok(d)
}

/// Where a chunk stands in its frame, octets and numbers.
struct Place {
    index: usize,
    count: usize,
    offset: usize,
    frame: usize,
}

/// BigPacket, default layout version 1: 32 octets and the data.
fn bigpacket(who: &Identity, numbers: Numbers, place: &Place, data: &[u8]) -> Result<Vec<u8>, String> {
    let last = u16::from(place.index + 1 == place.count);
    let first = u16::from(place.index == 0 && who.mark_first);
    let frame = (u64::from(numbers.first) + numbers.frames) as u32;
    let wide = |value: usize| u32::try_from(value).map_err(|_| format!("{value} does not fit 32 bits"));
    let mut d = Vec::new();
    d.extend([0x42, 0x50, 0x4B, 0x31]); // 0: magic
    d.push(1); // 4: version
    d.push(32); // 5: header length
    d.extend((last + 2 * first).to_be_bytes()); // 6: flags
    d.extend(who.device.to_be_bytes()); // 8
    d.extend(narrow(place.index)?.to_be_bytes()); // 10
    d.extend(narrow(place.count)?.to_be_bytes()); // 12
    d.extend(narrow(data.len())?.to_be_bytes()); // 14
    d.extend(frame.to_be_bytes()); // 16: frame sequence, wraps at 2^32
    d.extend(wide(place.offset)?.to_be_bytes()); // 20
    d.extend(wide(place.frame)?.to_be_bytes()); // 24
    d.extend([0, 0, 0, 0]); // 28: sender time, unused
    d.extend(data); // 32
    Ok(d)
}

/// The number after so many steps in the cycle `1..=last`, from `first` on.
fn cycle(first: u64, last: u8, steps: u64) -> u8 {
    let last = u64::from(last.max(1));
    ((first + last - 1 + steps % last) % last + 1) as u8
}

fn narrow(value: usize) -> Result<u16, String> {
    u16::try_from(value).map_err(|_| format!("{value} does not fit 16 bits"))
}

#[cfg(test)]
#[path = "golden_tests.rs"]
mod tests;
