//! Art-Net 4: ArtDmx over consecutive Port-Addresses, ArtSync and ArtPoll.

use crate::error::within;
use crate::{Emit, EncodeError, Encoder};
use std::net::SocketAddr;
use wireproof_protocols::{Protocol, Value};

const ID: [u8; 8] = *b"Art-Net\0";
const PROTOCOL_VERSION: [u8; 2] = [0, 14];
const OP_POLL: [u8; 2] = [0x00, 0x20];
const OP_DMX: [u8; 2] = [0x00, 0x50];
const OP_SYNC: [u8; 2] = [0x00, 0x52];
const PORT_ADDRESSES: u32 = 0x8000;

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
    fn range(self) -> (u8, u8) {
        match self {
            ArtNetNumbering::OneTo255 => (1, 255),
            ArtNetNumbering::ZeroTo255 => (0, 255),
            ArtNetNumbering::Off => (0, 0),
        }
    }

    fn after(self, number: u8) -> u8 {
        let (first, last) = self.range();
        if number >= last { first } else { number + 1 }
    }
}

/// What an Art-Net controller is set to.
#[derive(Clone, Copy, Debug)]
pub struct ArtNetConfig {
    /// The node, usually port 6454.
    pub destination: SocketAddr,
    /// Port-Address of the first slots of the frame, 0..32767.
    pub first_port_address: u16,
    /// Slots of the frame in each Port-Address, 1..512; an odd number of octets is padded to an even one.
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
}

/// An Art-Net controller.
#[derive(Clone, Debug)]
pub struct ArtNet {
    config: ArtNetConfig,
    /// Next number by Port-Address, counted from the first.
    next: Vec<u8>,
    buffer: Vec<u8>,
}

impl ArtNet {
    /// A controller that has sent nothing.
    ///
    /// # Errors
    /// [`EncodeError`] for a Port-Address or slot count out of range or a first number outside the dialect.
    pub fn new(config: ArtNetConfig) -> Result<Self, EncodeError> {
        within("port-address", config.first_port_address.into(), 0, u64::from(PORT_ADDRESSES) - 1)?;
        within("slots", config.slots.into(), 1, 512)?;
        let (first, last) = config.numbering.range();
        within("first sequence", config.first_sequence.into(), first.into(), last.into())?;
        Ok(ArtNet { config, next: Vec::new(), buffer: Vec::with_capacity(530) })
    }

    /// Emits an ArtSync of 14 octets to the configured address; nothing when there is none.
    pub fn sync(&mut self, emit: Emit<'_>) {
        if let Some(destination) = self.config.sync {
            self.begin(OP_SYNC);
            self.buffer.extend_from_slice(&[0, 0]);
            emit(destination, &self.buffer);
        }
    }

    /// Emits an ArtPoll of 14 octets with these flags and this diagnostics priority.
    pub fn poll(&mut self, destination: SocketAddr, flags: u8, priority: u8, emit: Emit<'_>) {
        self.begin(OP_POLL);
        self.buffer.extend_from_slice(&[flags, priority]);
        emit(destination, &self.buffer);
    }

    fn begin(&mut self, opcode: [u8; 2]) {
        self.buffer.clear();
        self.buffer.extend_from_slice(&ID);
        self.buffer.extend_from_slice(&opcode);
        self.buffer.extend_from_slice(&PROTOCOL_VERSION);
    }

    fn dmx(&mut self, index: usize, levels: &[u8]) {
        let sequence = self.take_sequence(index);
        let address = self.config.first_port_address + index as u16;
        let pad = levels.len() % 2;
        self.begin(OP_DMX);
        self.buffer.extend_from_slice(&[sequence, self.config.physical]);
        self.buffer.extend_from_slice(&address.to_le_bytes());
        self.buffer.extend_from_slice(&((levels.len() + pad) as u16).to_be_bytes());
        self.buffer.extend_from_slice(levels);
        self.buffer.extend_from_slice(&[0][..pad]);
    }

    fn take_sequence(&mut self, index: usize) -> u8 {
        if index >= self.next.len() {
            self.next.resize(index + 1, self.config.first_sequence);
        }
        let sequence = self.next[index];
        self.next[index] = self.config.numbering.after(sequence);
        sequence
    }
}

impl Encoder for ArtNet {
    fn protocol(&self) -> Protocol {
        Protocol::ArtNet
    }

    fn encode(&mut self, frame: &[u8], emit: Emit<'_>) -> Result<(), EncodeError> {
        let slots = usize::from(self.config.slots);
        let room = u64::from(PORT_ADDRESSES - u32::from(self.config.first_port_address));
        if frame.is_empty() || frame.len().div_ceil(slots) as u64 > room {
            let limit = Value::Range(1, room * slots as u64);
            return Err(EncodeError { field: "frame octets", value: frame.len() as u64, limit });
        }
        for (index, levels) in frame.chunks(slots).enumerate() {
            self.dmx(index, levels);
            emit(self.config.destination, &self.buffer);
        }
        self.sync(emit);
        Ok(())
    }
}
