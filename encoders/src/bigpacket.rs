//! BigPacket, the documented default layout: numbered chunks of a numbered frame behind a 32-octet header.

use crate::error::within;
use crate::{Emit, EncodeError, Encoder};
use std::net::SocketAddr;
use wireproof_protocols::{Protocol, Value};

const MAGIC: [u8; 4] = *b"BPK1";
const VERSION: u8 = 1;
const HEADER: u8 = 32;
const LAST: u16 = 1;
const FIRST: u16 = 2;
const REPEAT: u16 = 4;
const TIME_VALID: u16 = 8;

/// What a BigPacket sender is set to.
#[derive(Clone, Copy, Debug)]
pub struct BigPacketConfig {
    /// The device, usually port 21600.
    pub destination: SocketAddr,
    /// Device id, the stream key.
    pub device: u16,
    /// Most data octets in a datagram; 1440 fills an Ethernet frame over IPv4.
    pub chunk: u16,
    /// Number of the first frame.
    pub first_sequence: u32,
    /// Sets FIRST on chunk 0.
    pub mark_first: bool,
}

impl BigPacketConfig {
    /// A sender of chunks of 1440 octets, frames numbered from 0.
    pub fn new(destination: SocketAddr, device: u16) -> Self {
        BigPacketConfig { destination, device, chunk: 1440, first_sequence: 0, mark_first: true }
    }
}

/// A BigPacket sender.
#[derive(Clone, Debug)]
pub struct BigPacket {
    config: BigPacketConfig,
    next: u32,
    time_us: Option<u32>,
    repeat: bool,
    buffer: Vec<u8>,
}

/// Where a chunk stands in its frame.
struct Place {
    index: u16,
    count: u16,
    offset: u32,
    frame_length: u32,
}

impl BigPacket {
    /// A sender that has sent nothing.
    ///
    /// # Errors
    /// [`EncodeError`] for an empty chunk or one that no UDP datagram holds.
    pub fn new(config: BigPacketConfig) -> Result<Self, EncodeError> {
        within("chunk octets", config.chunk.into(), 1, 65_507 - u64::from(HEADER))?;
        let buffer = Vec::with_capacity(1472);
        Ok(BigPacket { next: config.first_sequence, time_us: None, repeat: false, buffer, config })
    }

    /// Sender time of the following frames in microseconds; `None` leaves the field 0 and not valid.
    pub fn set_time(&mut self, time_us: Option<u32>) {
        self.time_us = time_us;
    }

    /// Whether the following frames are marked as unchanged resends.
    pub fn set_repeat(&mut self, repeat: bool) {
        self.repeat = repeat;
    }

    fn flags(&self, place: &Place) -> u16 {
        let set = |on: bool, flag: u16| if on { flag } else { 0 };
        set(place.index + 1 == place.count, LAST)
            | set(place.index == 0 && self.config.mark_first, FIRST)
            | set(self.repeat, REPEAT)
            | set(self.time_us.is_some(), TIME_VALID)
    }

    fn chunk(&mut self, place: &Place, data: &[u8]) {
        let flags = self.flags(place);
        self.buffer.clear();
        self.buffer.extend_from_slice(&MAGIC);
        self.buffer.extend_from_slice(&[VERSION, HEADER]);
        self.buffer.extend_from_slice(&flags.to_be_bytes());
        self.buffer.extend_from_slice(&self.config.device.to_be_bytes());
        self.buffer.extend_from_slice(&place.index.to_be_bytes());
        self.buffer.extend_from_slice(&place.count.to_be_bytes());
        self.buffer.extend_from_slice(&(data.len() as u16).to_be_bytes());
        self.buffer.extend_from_slice(&self.next.to_be_bytes());
        self.buffer.extend_from_slice(&place.offset.to_be_bytes());
        self.buffer.extend_from_slice(&place.frame_length.to_be_bytes());
        self.buffer.extend_from_slice(&self.time_us.unwrap_or(0).to_be_bytes());
        self.buffer.extend_from_slice(data);
    }
}

impl Encoder for BigPacket {
    fn protocol(&self) -> Protocol {
        Protocol::BigPacket
    }

    fn encode(&mut self, frame: &[u8], emit: Emit<'_>) -> Result<(), EncodeError> {
        let size = usize::from(self.config.chunk);
        let most = u64::from(u16::MAX) * size as u64;
        if frame.is_empty() || frame.len() as u64 > most {
            let limit = Value::Range(1, most);
            return Err(EncodeError { field: "frame octets", value: frame.len() as u64, limit });
        }
        let count = frame.len().div_ceil(size) as u16;
        for (index, data) in (0..count).zip(frame.chunks(size)) {
            let offset = u32::from(index) * u32::from(self.config.chunk);
            self.chunk(&Place { index, count, offset, frame_length: frame.len() as u32 }, data);
            emit(self.config.destination, &self.buffer);
        }
        self.next = self.next.wrapping_add(1);
        Ok(())
    }
}
