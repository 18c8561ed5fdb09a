//! Frames to datagrams: encoders for sACN, DDP, Art-Net and BigPacket, byte-exact and valid by construction.
//!
//! An encoder owns its counters, its header templates and nothing else. It never opens a socket and never reads a
//! clock; datagrams leave as a [`Batch`] that borrows from encoder and frame. A
//! protocol is one file and one line in [`ENCODERS`].

mod arena;
mod artnet;
pub mod bench;
mod bigpacket;
mod counters;
mod ddp;
mod declared;
mod packer;
mod registry;
mod sacn;
mod shape;
mod suppression;

pub use artnet::{ArtNet, ArtNetConfig, ArtNetNumbering};
pub use bigpacket::{BigPacket, BigPacketConfig};
pub use ddp::{Ddp, DdpConfig, DdpNumbering, DdpPush};
pub use declared::{Declared, usual_chunk};
pub use packer::{Backend, Packer};
pub use registry::{Built, ENCODERS, Entry, Setup, build};
pub use sacn::{Sacn, SacnConfig, SacnDestination, SacnNumbering, multicast_group, multicast_group6};
pub use suppression::{COPIES, Due, KEEP_ALIVE_MS, Suppression};
pub use wireproof_protocols::{Batch, EncodeError, Encoder, Outgoing};
