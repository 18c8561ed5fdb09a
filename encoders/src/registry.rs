//! The encoders by name: one setup that fits all of them. Adding a protocol is one line in [`ENCODERS`].

use crate::{
    ArtNet, ArtNetConfig, Backend, BigPacket, BigPacketConfig, Ddp, DdpConfig, Declared, Sacn, SacnConfig,
    SacnDestination,
};
use std::net::SocketAddr;
use wireproof_protocols::{Cid, EncodeError, Encoder, Protocol, Value};

/// What all encoders have in common; fields a protocol does not carry are ignored by it.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Where data goes; `None` is the multicast group of each universe, which only sACN has.
    pub destination: Option<SocketAddr>,
    /// First universe (sACN, 1..63999) or Port-Address (Art-Net, 0..32767); `None` is the protocol's first.
    pub first: Option<u16>,
    /// Frame octets in each datagram: slots (sACN, Art-Net) or chunk; `None` is the protocol's usual packing.
    pub chunk: Option<u16>,
    /// Component identifier of sACN, a UUID that the caller keeps for ever.
    pub cid: Cid,
    /// Source name of sACN, at most 63 octets.
    pub name: String,
    /// Priority of sACN, 0..200.
    pub priority: u8,
    /// Synchronization universe of sACN: named in data, and a packet follows each frame; 0 is none.
    pub sync_universe: u16,
    /// Where an ArtSync follows each Art-Net frame, usually a broadcast address.
    pub art_sync: Option<SocketAddr>,
    /// Output ID of DDP (1..255) or device id of BigPacket.
    pub id: u16,
    /// Puts a time code into DDP's pushing datagram; see [`Encoder::set_time`].
    pub timecode: bool,
    /// Allows datagrams that IP has to send in fragments.
    pub fragment: bool,
}

impl Setup {
    /// The usual packing to this address, or to the multicast groups of sACN, with this CID.
    pub fn new(destination: Option<SocketAddr>, cid: Cid) -> Self {
        Setup {
            destination,
            first: None,
            chunk: None,
            cid,
            name: "wireproof".to_owned(),
            priority: 100,
            sync_universe: 0,
            art_sync: None,
            id: 1,
            timecode: false,
            fragment: false,
        }
    }

    pub(crate) fn address(&self) -> Result<SocketAddr, EncodeError> {
        let limit = Value::Word("enough: only sACN has a group for each universe, give one address");
        self.destination.ok_or(EncodeError { field: "destinations", value: 0, limit })
    }
}

/// An encoder, or the field it has no room for.
pub type Built = Result<Box<dyn Encoder + Send>, EncodeError>;

/// An encoder that can be built.
pub struct Entry {
    /// The protocol.
    pub protocol: Protocol,
    /// Makes an encoder that has sent nothing.
    ///
    /// # Errors
    /// [`EncodeError`] that names the field of the setup the protocol has no room for.
    pub build: fn(Backend, &Setup) -> Built,
}

/// Every encoder.
pub static ENCODERS: &[Entry] = &[
    Entry { protocol: Protocol::Sacn, build: sacn },
    Entry { protocol: Protocol::Ddp, build: ddp },
    Entry { protocol: Protocol::ArtNet, build: artnet },
    Entry { protocol: Protocol::BigPacket, build: bigpacket },
];

/// Makes an encoder of this protocol that has sent nothing. One of a layout holds its datagrams in one piece, whatever
/// the backend.
///
/// # Errors
/// [`EncodeError`] that names the field of the setup the protocol has no room for, or a protocol nothing here
/// encodes.
pub fn build(protocol: Protocol, backend: Backend, setup: &Setup) -> Built {
    if let Protocol::Layout(layout) = protocol {
        return Ok(Box::new(Declared::new(layout, setup)?));
    }
    let entry = ENCODERS.iter().find(|entry| entry.protocol == protocol);
    let limit = Value::Word("one that is encoded: sacn, ddp, artnet, bigpacket or a layout");
    (entry.ok_or(EncodeError { field: "protocol", value: 0, limit })?.build)(backend, setup)
}

fn sacn(backend: Backend, setup: &Setup) -> Built {
    let mut config = SacnConfig::new(setup.cid, &setup.name);
    config.destination = setup.destination.map_or(SacnDestination::Multicast, SacnDestination::Unicast);
    config.first_universe = setup.first.unwrap_or(config.first_universe);
    config.slots = setup.chunk.unwrap_or(config.slots);
    config.priority = setup.priority;
    (config.sync_address, config.sync_packets) = (setup.sync_universe, setup.sync_universe);
    Ok(Box::new(Sacn::with_backend(config, backend)?))
}

fn ddp(backend: Backend, setup: &Setup) -> Built {
    EncodeError::unless_within("id", setup.id.into(), 1, 255)?;
    let mut config = DdpConfig::new(setup.address()?);
    config.id = setup.id as u8;
    config.chunk = setup.chunk.unwrap_or(config.chunk);
    config.timecode = setup.timecode.then_some(0);
    config.fragment = setup.fragment;
    Ok(Box::new(Ddp::with_backend(config, backend)?))
}

fn artnet(backend: Backend, setup: &Setup) -> Built {
    let mut config = ArtNetConfig::new(setup.address()?);
    config.first_port_address = setup.first.unwrap_or(config.first_port_address);
    config.slots = setup.chunk.unwrap_or(config.slots);
    config.sync = setup.art_sync;
    Ok(Box::new(ArtNet::with_backend(config, backend)?))
}

fn bigpacket(backend: Backend, setup: &Setup) -> Built {
    let mut config = BigPacketConfig::new(setup.address()?, setup.id);
    config.chunk = setup.chunk.unwrap_or(config.chunk);
    config.fragment = setup.fragment;
    Ok(Box::new(BigPacket::with_backend(config, backend)?))
}
