//! DDP (3waylabs): display data in chunks with push, in the numbering dialects met in the field.

use crate::error::within;
use crate::{Emit, EncodeError, Encoder};
use std::net::SocketAddr;
use wireproof_protocols::{Protocol, Value};

const VERSION: u8 = 0x40;
const TIMECODE: u8 = 0x10;
const PUSH: u8 = 0x01;

/// How the sequence number advances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DdpNumbering {
    /// 1..15, one number a datagram, as the text says.
    OneTo15,
    /// 0..15, one number a datagram (WLED, hyperion.ng).
    ZeroTo15,
    /// 1..16, one number a datagram; 16 spills into the reserved bits (ddp-rs up to 1.3.0).
    OneTo16,
    /// 1..15, one number a frame (LedFx).
    PerFrame,
    /// Always 0, which means "not used".
    Unused,
}

impl DdpNumbering {
    fn first(self) -> u8 {
        match self {
            DdpNumbering::ZeroTo15 | DdpNumbering::Unused => 0,
            _ => 1,
        }
    }

    fn last(self) -> u8 {
        match self {
            DdpNumbering::Unused => 0,
            DdpNumbering::OneTo16 => 16,
            _ => 15,
        }
    }

    fn after(self, number: u8) -> u8 {
        if number >= self.last() { self.first() } else { number + 1 }
    }
}

/// Which datagrams carry the push flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DdpPush {
    /// The last one of each frame.
    Last,
    /// None.
    Never,
}

/// What a DDP sender is set to.
#[derive(Clone, Copy, Debug)]
pub struct DdpConfig {
    /// The display, usually port 4048.
    pub destination: SocketAddr,
    /// Destination ID; 1 = default display.
    pub id: u8,
    /// Data type; 0x0B = RGB, 8 bits an element.
    pub data_type: u8,
    /// Most data octets in a datagram.
    pub chunk: u16,
    /// Octet offset of the frame in the display's buffer.
    pub base_offset: u32,
    /// How numbers advance.
    pub numbering: DdpNumbering,
    /// The first number; must be one of the dialect.
    pub first_sequence: u8,
    /// Which datagrams push.
    pub push: DdpPush,
    /// Time code in the pushing datagram, 1/65,536 s.
    pub timecode: Option<u32>,
}

impl DdpConfig {
    /// A sender of RGB chunks of 1440 octets to ID 1, numbered 1..15, push on the last.
    pub fn new(destination: SocketAddr) -> Self {
        DdpConfig {
            destination,
            id: 1,
            data_type: 0x0B,
            chunk: 1440,
            base_offset: 0,
            numbering: DdpNumbering::OneTo15,
            first_sequence: 1,
            push: DdpPush::Last,
            timecode: None,
        }
    }
}

/// A DDP sender.
#[derive(Clone, Debug)]
pub struct Ddp {
    config: DdpConfig,
    next: u8,
    buffer: Vec<u8>,
}

impl Ddp {
    /// A sender that has sent nothing.
    ///
    /// # Errors
    /// [`EncodeError`] for ID 0, an empty chunk or one that no UDP datagram holds, or a first number outside
    /// the dialect.
    pub fn new(config: DdpConfig) -> Result<Self, EncodeError> {
        within("id", config.id.into(), 1, 255)?;
        within("chunk octets", config.chunk.into(), 1, 65_507 - 14)?;
        let (first, last) = (config.numbering.first(), config.numbering.last());
        within("first sequence", config.first_sequence.into(), first.into(), last.into())?;
        Ok(Ddp { next: config.first_sequence, buffer: Vec::with_capacity(14 + 1440), config })
    }

    /// Sends the following frames somewhere else; the counter runs on.
    pub fn set_destination(&mut self, destination: SocketAddr) {
        self.config.destination = destination;
    }

    /// Sets or clears the time code of the following frames, 1/65,536 s.
    pub fn set_timecode(&mut self, timecode: Option<u32>) {
        self.config.timecode = timecode;
    }

    /// Emits the zero-length push with which several displays show their data at once, usually to a
    /// broadcast address.
    pub fn push_only(&mut self, destination: SocketAddr, emit: Emit<'_>) {
        emit(destination, &[VERSION | PUSH, 0, 0, self.config.id, 0, 0, 0, 0, 0, 0]);
    }

    fn chunk(&mut self, offset: u32, data: &[u8], ends_frame: bool) {
        let push = ends_frame && self.config.push == DdpPush::Last;
        let timecode = self.config.timecode.filter(|_| push);
        let flags = if push { PUSH } else { 0 } | if timecode.is_some() { TIMECODE } else { 0 };
        self.buffer.clear();
        self.buffer.extend_from_slice(&[VERSION | flags, self.next, self.config.data_type, self.config.id]);
        self.buffer.extend_from_slice(&offset.to_be_bytes());
        self.buffer.extend_from_slice(&(data.len() as u16).to_be_bytes());
        if let Some(time) = timecode {
            self.buffer.extend_from_slice(&time.to_be_bytes());
        }
        self.buffer.extend_from_slice(data);
    }
}

impl Encoder for Ddp {
    fn protocol(&self) -> Protocol {
        Protocol::Ddp
    }

    fn encode(&mut self, frame: &[u8], emit: Emit<'_>) -> Result<(), EncodeError> {
        let room = u64::from(u32::MAX - self.config.base_offset) + 1;
        if frame.is_empty() || frame.len() as u64 > room {
            let limit = Value::Range(1, room);
            return Err(EncodeError { field: "frame octets", value: frame.len() as u64, limit });
        }
        let size = usize::from(self.config.chunk);
        let count = frame.len().div_ceil(size);
        for (index, data) in frame.chunks(size).enumerate() {
            let offset = self.config.base_offset + (index * size) as u32;
            let last = index + 1 == count;
            self.chunk(offset, data, last);
            if last || self.config.numbering != DdpNumbering::PerFrame {
                self.next = self.config.numbering.after(self.next);
            }
            emit(self.config.destination, &self.buffer);
        }
        Ok(())
    }
}
