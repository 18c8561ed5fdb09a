//! Frames to datagrams: plain encoders for sACN, DDP, Art-Net and BigPacket, byte-exact and valid by construction.
//!
//! An encoder owns its counters and nothing else. It never opens a socket and never reads a clock; datagrams
//! leave through a callback that gets the destination and the UDP payload.

mod artnet;
mod bigpacket;
mod ddp;
mod error;
mod sacn;

pub use artnet::{ArtNet, ArtNetConfig, ArtNetNumbering};
pub use bigpacket::{BigPacket, BigPacketConfig};
pub use ddp::{Ddp, DdpConfig, DdpNumbering, DdpPush};
pub use error::EncodeError;
pub use sacn::{Sacn, SacnConfig, SacnDestination, SacnNumbering, multicast_group};

use std::net::SocketAddr;
use wireproof_protocols::Protocol;

/// Receives one datagram: where it goes and its UDP payload, valid during the call only.
pub type Emit<'a> = &'a mut dyn FnMut(SocketAddr, &[u8]);

/// Turns one frame of an output into the datagrams that carry it.
pub trait Encoder {
    /// The protocol on the wire.
    fn protocol(&self) -> Protocol;

    /// Emits the datagrams of one frame in sending order, synchronization included where it is configured,
    /// and moves the sequence counters on.
    ///
    /// # Errors
    /// [`EncodeError`] when the frame is empty or too large for the configuration; nothing was emitted then.
    fn encode(&mut self, frame: &[u8], emit: Emit<'_>) -> Result<(), EncodeError>;
}
