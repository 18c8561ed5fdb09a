//! The tape: one record of 64 octets for each lighting datagram, from which every verdict can be made again.
//!
//! A tape keeps what the verifier asks of a datagram once it is decoded, and no octets of it: three kinds of records
//! stand for datagrams, the rest names what they refer to. The file stands alone: its header holds the map of all
//! fields as text. Blocks of records are sealed with a CRC, so that a file that was cut is read up to the cut, and known
//! to be cut. This module never touches a file.

mod decode;
mod encode;
mod seal;
mod slot;
mod table;
#[cfg(test)]
mod tests;

pub use decode::{Decoder, Event, TapeReport, claims};
pub use encode::{Encoder, ROOM};
pub use seal::{Sealer, Totals};
pub use slot::{FIELDS, FieldInfo, SLOT};
