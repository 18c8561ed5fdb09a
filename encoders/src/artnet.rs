//! Art-Net 4: ArtDmx over consecutive Port-Addresses, ArtSync and ArtPoll.

use crate::arena::Heads;
use crate::counters::{Counters, Cycle};
use crate::packer::{Backend, Layout, Packer, Place};
use std::net::SocketAddr;
use wireproof_protocols::artnet::{IDENTIFIER, LEVELS_HEADER, PORT_ADDRESS_MAX, SLOTS_MAX, VERSION, opcode};
use wireproof_protocols::{Batch, EncodeError, Protocol, Value};

/// Octet of the sequence number.
const SEQUENCE_AT: usize = 12;

/// How the sequence number advances; each Port-Address has its own counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArtNetNumbering {
    /// 1..255, as the text says.
    OneTo255,
    /// 0..255 (xLights, OLA), although 0 means "off".
    ZeroTo255,
    /// Always 0: sequencing is off.
    Off,
}

impl ArtNetNumbering {
    fn cycle(self) -> Cycle {
        let (first, last) = match self {
            ArtNetNumbering::OneTo255 => (1, 255),
            ArtNetNumbering::ZeroTo255 => (0, 255),
            ArtNetNumbering::Off => (0, 0),
        };
        Cycle { first, last }
    }
}

/// What an Art-Net controller is set to.
#[derive(Clone, Copy, Debug)]
pub struct ArtNetConfig {
    /// The node, usually port 6454.
    pub destination: SocketAddr,
    /// Port-Address of the first slots of the frame, 0..32767.
    pub first_port_address: u16,
    /// Slots of the frame in each Port-Address, even, 2..512. Where the frame leaves an odd number for the last one,
    /// a zero slot follows.
    pub slots: u16,
    /// Physical input port, informative.
    pub physical: u8,
    /// How numbers advance.
    pub numbering: ArtNetNumbering,
    /// The first number on every Port-Address; must be one of the dialect.
    pub first_sequence: u8,
    /// Where an ArtSync goes after each frame, usually a broadcast address; `None` sends none.
    pub sync: Option<SocketAddr>,
}

impl ArtNetConfig {
    /// A controller that unicasts 510 slots a Port-Address from 0 on, numbered 1..255, without ArtSync.
    pub fn new(destination: SocketAddr) -> Self {
        ArtNetConfig {
            destination,
            first_port_address: 0,
            slots: 510,
            physical: 0,
            numbering: ArtNetNumbering::OneTo255,
            first_sequence: 1,
            sync: None,
        }
    }

    fn check(&self) -> Result<(), EncodeError> {
        EncodeError::unless_within(
            "port-address",
            self.first_port_address.into(),
            0,
            PORT_ADDRESS_MAX.into(),
        )?;
        EncodeError::unless_within("slots", self.slots.into(), 2, SLOTS_MAX as u64)?;
        if !self.slots.is_multiple_of(2) {
            let limit = Value::Word("even, as ArtDmx lengths are");
            return Err(EncodeError { field: "slots", value: self.slots.into(), limit });
        }
        let Cycle { first, last } = self.numbering.cycle();
        EncodeError::unless_within("first sequence", self.first_sequence.into(), first.into(), last.into())
    }
}

/// An Art-Net controller.
pub type ArtNet = Packer<Controller>;

/// The headers and the counters of an Art-Net controller.
#[derive(Clone, Debug)]
pub struct Controller {
    config: ArtNetConfig,
    /// By Port-Address, counted from the first.
    counters: Counters,
}

impl Packer<Controller> {
    /// A controller that has sent nothing, every datagram in one piece.
    ///
    /// # Errors
    /// As [`Self::with_backend`].
    pub fn new(config: ArtNetConfig) -> Result<Self, EncodeError> {
        Packer::<Controller>::with_backend(config, Backend::Contiguous)
    }

    /// A controller that has sent nothing.
    ///
    /// # Errors
    /// [`EncodeError`] for a Port-Address or slot count out of range, an odd slot count, or a first number outside
    /// the dialect.
    pub fn with_backend(config: ArtNetConfig, backend: Backend) -> Result<Self, EncodeError> {
        config.check()?;
        Ok(Packer::with(
            Controller { counters: Counters::new(config.numbering.cycle(), config.first_sequence), config },
            backend,
        ))
    }

    /// An ArtSync of 14 octets to the configured address; nothing when there is none.
    pub fn sync(&mut self) -> Batch<'_> {
        self.aside(|layout, out| {
            if let Some(destination) = layout.config.sync {
                out.push(destination, art_sync);
            }
        })
    }

    /// An ArtPoll of 14 octets with these flags and this diagnostics priority.
    pub fn poll(&mut self, destination: SocketAddr, flags: u8, priority: u8) -> Batch<'_> {
        self.aside(|_, out| {
            out.push(destination, |datagram| {
                begin(opcode::POLL, datagram);
                datagram.extend_from_slice(&[flags, priority]);
            });
        })
    }
}

impl Layout for Controller {
    const PROTOCOL: Protocol = Protocol::ArtNet;
    const HEAD: usize = LEVELS_HEADER;

    fn chunk(&self) -> usize {
        self.config.slots.into()
    }

    fn room(&self) -> u64 {
        u64::from(PORT_ADDRESS_MAX - self.config.first_port_address + 1) * u64::from(self.config.slots)
    }

    fn head(&self, place: &Place, out: &mut Vec<u8>) -> SocketAddr {
        begin(opcode::DMX, out);
        out.extend_from_slice(&[0, self.config.physical]);
        out.extend_from_slice(&(self.config.first_port_address + place.index as u16).to_le_bytes());
        let length = place.octets + self.pad(place.octets);
        out.extend_from_slice(&(length as u16).to_be_bytes());
        self.config.destination
    }

    fn tail(&self, out: &mut Vec<u8>) -> Option<SocketAddr> {
        self.config.sync.inspect(|_| art_sync(out))
    }

    fn pad(&self, octets: usize) -> usize {
        octets % 2
    }

    fn prepare(&mut self, data: usize) {
        self.counters.prepare(data);
    }

    #[inline(always)]
    fn number(&mut self, heads: &mut Heads<'_>) {
        self.counters.number(SEQUENCE_AT, heads);
    }
}

/// Appends identifier, opcode and protocol version.
fn begin(opcode: u16, out: &mut Vec<u8>) {
    out.extend_from_slice(&IDENTIFIER);
    out.extend_from_slice(&opcode.to_le_bytes());
    out.extend_from_slice(&VERSION.to_be_bytes());
}

/// Appends an ArtSync.
fn art_sync(out: &mut Vec<u8>) {
    begin(opcode::SYNC, out);
    out.extend_from_slice(&[0, 0]);
}
