//! What is on the wire, and whether it is right: decoders, rules and the verifier for lighting protocols.
//!
//! This crate is pure. It never opens a socket or a file, never starts a thread and never reads a clock;
//! time is an argument. A protocol is one file, one line in [`registry`] and one folder of vectors.

pub mod artnet;
pub mod attribution;
pub mod bigpacket;
pub mod datagram;
pub mod ddp;
pub mod encoder;
pub mod fault;
pub mod kinet;
pub mod layout;
pub mod pdu;
pub mod registry;
pub mod rule;
pub mod sacn;
pub mod threshold;
pub mod time;
pub mod verify;
pub mod words;

pub use datagram::{Arrival, Checksum, Datagram, Link};
pub use encoder::{Batch, EncodeError, Encoder, Outgoing};
pub use fault::{Fault, Faults, Value};
pub use pdu::{Cid, Kind, Marks, Pdu, Protocol};
pub use registry::{Claim, Decoder, Undecodable};
pub use rule::{Layer, Rule, Severity};
pub use threshold::Threshold;
pub use time::Timestamp;
