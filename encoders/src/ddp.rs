//! DDP (3waylabs): display data in chunks with push, in the numbering dialects met in the field.

use crate::arena::Heads;
use crate::counters::{Cycle, Round};
use crate::packer::{Backend, Layout, Packer, Place, check_size};
use std::net::SocketAddr;
use wireproof_protocols::ddp::{
    DATA_MAX, FLAG_PUSH, FLAG_TIMECODE, FLAG_VERSION_1, HEADER, HEADER_TIMED, ID_DEFAULT, TYPE_RGB8,
};
use wireproof_protocols::time::SECOND;
use wireproof_protocols::{Batch, EncodeError, Protocol, Timestamp};

/// Octet of the sequence number.
const SEQUENCE_AT: usize = 1;
/// Seconds from 1900, where NTP counts from, to 1970.
const NTP_EPOCH: i64 = 2_208_988_800;

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
    fn cycle(self) -> Cycle {
        let (first, last) = match self {
            DdpNumbering::OneTo15 | DdpNumbering::PerFrame => (1, 15),
            DdpNumbering::ZeroTo15 => (0, 15),
            DdpNumbering::OneTo16 => (1, 16),
            DdpNumbering::Unused => (0, 0),
        };
        Cycle { first, last }
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
    /// Time code in the pushing datagram, 1/65,536 s; `None` leaves it out.
    pub timecode: Option<u32>,
    /// Allows chunks that IP has to send in fragments.
    pub fragment: bool,
}

impl DdpConfig {
    /// A sender of RGB chunks of 1440 octets to ID 1, numbered 1..15, push on the last.
    pub fn new(destination: SocketAddr) -> Self {
        DdpConfig {
            destination,
            id: ID_DEFAULT,
            data_type: TYPE_RGB8,
            chunk: DATA_MAX as u16,
            base_offset: 0,
            numbering: DdpNumbering::OneTo15,
            first_sequence: 1,
            push: DdpPush::Last,
            timecode: None,
            fragment: false,
        }
    }

    fn check(&self) -> Result<(), EncodeError> {
        EncodeError::unless_within("id", self.id.into(), 1, 255)?;
        EncodeError::unless_within("chunk octets", self.chunk.into(), 1, u16::MAX.into())?;
        let header = if self.timecode.is_some() { HEADER_TIMED } else { HEADER };
        check_size(header as u64 + u64::from(self.chunk), self.destination.ip(), self.fragment)?;
        let Cycle { first, last } = self.numbering.cycle();
        EncodeError::unless_within("first sequence", self.first_sequence.into(), first.into(), last.into())
    }
}

/// A DDP sender.
pub type Ddp = Packer<Display>;

/// The headers and the counter of a DDP sender.
#[derive(Clone, Debug)]
pub struct Display {
    config: DdpConfig,
    round: Round,
}

impl Packer<Display> {
    /// A sender that has sent nothing, every datagram in one piece.
    ///
    /// # Errors
    /// As [`Self::with_backend`].
    pub fn new(config: DdpConfig) -> Result<Self, EncodeError> {
        Packer::<Display>::with_backend(config, Backend::Contiguous)
    }

    /// A sender that has sent nothing.
    ///
    /// # Errors
    /// [`EncodeError`] for ID 0, an empty chunk or one that does not fit the MTU, or a first number outside the
    /// dialect.
    pub fn with_backend(config: DdpConfig, backend: Backend) -> Result<Self, EncodeError> {
        config.check()?;
        Ok(Packer::with(
            Display { round: Round::new(config.numbering.cycle(), config.first_sequence), config },
            backend,
        ))
    }

    /// Sends the following frames somewhere else; the counter runs on.
    pub fn set_destination(&mut self, destination: SocketAddr) {
        self.layout.config.destination = destination;
        self.replan();
    }

    /// Sets or clears the time code of the following frames, 1/65,536 s.
    ///
    /// # Errors
    /// [`EncodeError`] when the time code makes a full datagram exceed the MTU; nothing has changed then.
    pub fn set_timecode(&mut self, timecode: Option<u32>) -> Result<(), EncodeError> {
        let config = DdpConfig { timecode, ..self.layout.config };
        config.check()?;
        if timecode.is_some() != self.layout.config.timecode.is_some() {
            self.replan();
        }
        self.layout.config = config;
        Ok(())
    }

    /// The zero-length push with which several displays show their data at once, usually to a broadcast address.
    pub fn push_only(&mut self, destination: SocketAddr) -> Batch<'_> {
        self.aside(|layout, out| {
            let octets = [FLAG_VERSION_1 | FLAG_PUSH, 0, 0, layout.config.id, 0, 0, 0, 0, 0, 0];
            out.push(destination, |datagram| datagram.extend_from_slice(&octets));
        })
    }
}

impl Display {
    /// The time code of a datagram, if it carries one.
    fn timecode(&self, pushes: bool) -> Option<u32> {
        self.config.timecode.filter(|_| pushes)
    }

    fn pushes(&self, place: &Place) -> bool {
        place.is_last() && self.config.push == DdpPush::Last
    }
}

impl Layout for Display {
    const PROTOCOL: Protocol = Protocol::Ddp;
    const HEAD: usize = HEADER;

    fn chunk(&self) -> usize {
        self.config.chunk.into()
    }

    fn room(&self) -> u64 {
        u64::from(u32::MAX - self.config.base_offset) + 1
    }

    fn head(&self, place: &Place, out: &mut Vec<u8>) -> SocketAddr {
        let pushes = self.pushes(place);
        let timecode = self.timecode(pushes);
        let push = if pushes { FLAG_PUSH } else { 0 };
        let timed = if timecode.is_some() { FLAG_TIMECODE } else { 0 };
        out.extend_from_slice(&[FLAG_VERSION_1 | push | timed, 0, self.config.data_type, self.config.id]);
        out.extend_from_slice(&(self.config.base_offset + place.offset as u32).to_be_bytes());
        out.extend_from_slice(&(place.octets as u16).to_be_bytes());
        if let Some(time) = timecode {
            out.extend_from_slice(&time.to_be_bytes());
        }
        self.config.destination
    }

    #[inline(always)]
    fn number(&mut self, heads: &mut Heads<'_>) {
        if self.config.numbering == DdpNumbering::PerFrame {
            heads.fill(SEQUENCE_AT, [self.round.take()]);
        } else {
            self.round.number_each(SEQUENCE_AT, heads);
        }
        if let Some(time) = self.timecode(self.config.push == DdpPush::Last)
            && let Some(field) = heads.last(HEADER)
        {
            *field = time.to_be_bytes();
        }
    }

    fn set_time(&mut self, at: Timestamp) -> bool {
        if let Some(time) = &mut self.config.timecode {
            *time = timecode_at(at);
        }
        false
    }
}

/// The middle 32 bits of the NTP time: 16 bits of seconds, 16 of fraction.
fn timecode_at(at: Timestamp) -> u32 {
    let seconds = at.0.div_euclid(SECOND) + NTP_EPOCH;
    let fraction = (at.0.rem_euclid(SECOND) << 16) / SECOND;
    ((seconds as u32) << 16) | fraction as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_code_is_the_middle_of_the_ntp_time() {
        // 1970-01-01 is NTP second 2,208,988,800 = 0x83AA_7E80.
        assert_eq!(timecode_at(Timestamp(0)), 0x7E80_0000);
        assert_eq!(timecode_at(Timestamp(1_500_000_000)), 0x7E81_8000);
        assert_eq!(timecode_at(Timestamp(-500_000_000)), 0x7E7F_8000);
    }
}
