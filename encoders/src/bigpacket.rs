//! BigPacket, the documented default layout: numbered chunks of a numbered frame behind a 32-octet header.

use crate::arena::Heads;
use crate::packer::{Backend, Layout, Packer, Place, check_size};
use std::net::SocketAddr;
use wireproof_protocols::bigpacket::{
    FLAG_FIRST, FLAG_LAST, FLAG_REPEAT, FLAG_TIME, HEAD_LEN, MAGIC, SEQUENCE_AT, TIME_AT, VERSION,
};
use wireproof_protocols::{EncodeError, Protocol, Timestamp};

/// Frame octets in a datagram that fills an Ethernet frame over IPv4.
const CHUNK: u16 = 1440;

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
    /// Allows chunks that IP has to send in fragments.
    pub fragment: bool,
}

impl BigPacketConfig {
    /// A sender of chunks of 1440 octets, frames numbered from 0.
    pub fn new(destination: SocketAddr, device: u16) -> Self {
        BigPacketConfig {
            destination,
            device,
            chunk: CHUNK,
            first_sequence: 0,
            mark_first: true,
            fragment: false,
        }
    }
}

/// A BigPacket sender.
pub type BigPacket = Packer<Device>;

/// The headers and the counter of a BigPacket sender.
#[derive(Clone, Debug)]
pub struct Device {
    config: BigPacketConfig,
    next: u32,
    time_us: Option<u32>,
    repeat: bool,
}

impl Packer<Device> {
    /// A sender that has sent nothing, every datagram in one piece.
    ///
    /// # Errors
    /// As [`Self::with_backend`].
    pub fn new(config: BigPacketConfig) -> Result<Self, EncodeError> {
        Packer::<Device>::with_backend(config, Backend::Contiguous)
    }

    /// A sender that has sent nothing.
    ///
    /// # Errors
    /// [`EncodeError`] for an empty chunk or one that does not fit the MTU.
    pub fn with_backend(config: BigPacketConfig, backend: Backend) -> Result<Self, EncodeError> {
        EncodeError::unless_within("chunk octets", config.chunk.into(), 1, u16::MAX.into())?;
        let octets = HEAD_LEN as u64 + u64::from(config.chunk);
        check_size(octets, config.destination.ip(), config.fragment)?;
        let device = Device { next: config.first_sequence, time_us: None, repeat: false, config };
        Ok(Packer::with(device, backend))
    }

    /// Sender time of the following frames in microseconds; `None` leaves the field 0 and not valid.
    pub fn set_time_us(&mut self, time_us: Option<u32>) {
        if self.layout.set_time_us(time_us) {
            self.replan();
        }
    }

    /// Whether the following frames are marked as unchanged resends.
    pub fn set_repeat(&mut self, repeat: bool) {
        if repeat != self.layout.repeat {
            self.layout.repeat = repeat;
            self.replan();
        }
    }
}

impl Device {
    fn set_time_us(&mut self, time_us: Option<u32>) -> bool {
        let before = std::mem::replace(&mut self.time_us, time_us);
        before.is_some() != time_us.is_some()
    }

    fn flags(&self, place: &Place) -> u16 {
        let set = |on: bool, flag: u16| if on { flag } else { 0 };
        set(place.is_last(), FLAG_LAST)
            | set(place.index == 0 && self.config.mark_first, FLAG_FIRST)
            | set(self.repeat, FLAG_REPEAT)
            | set(self.time_us.is_some(), FLAG_TIME)
    }
}

impl Layout for Device {
    const PROTOCOL: Protocol = Protocol::BigPacket;
    const HEAD: usize = HEAD_LEN;

    fn chunk(&self) -> usize {
        self.config.chunk.into()
    }

    fn room(&self) -> u64 {
        u64::from(u16::MAX) * u64::from(self.config.chunk)
    }

    fn head(&self, place: &Place, out: &mut Vec<u8>) -> SocketAddr {
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&[VERSION, HEAD_LEN as u8]);
        out.extend_from_slice(&self.flags(place).to_be_bytes());
        out.extend_from_slice(&self.config.device.to_be_bytes());
        out.extend_from_slice(&(place.index as u16).to_be_bytes());
        out.extend_from_slice(&(place.count as u16).to_be_bytes());
        out.extend_from_slice(&(place.octets as u16).to_be_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&(place.offset as u32).to_be_bytes());
        out.extend_from_slice(&(place.frame as u32).to_be_bytes());
        out.extend_from_slice(&[0; 4]);
        self.config.destination
    }

    #[inline(always)]
    fn number(&mut self, heads: &mut Heads<'_>) {
        let sequence = self.next.to_be_bytes();
        heads.fill(SEQUENCE_AT, sequence);
        self.next = self.next.wrapping_add(1);
        if let Some(time) = self.time_us {
            heads.fill(TIME_AT, time.to_be_bytes());
        }
    }

    fn set_time(&mut self, at: Timestamp) -> bool {
        self.set_time_us(Some(at.0.div_euclid(1000) as u32))
    }
}
