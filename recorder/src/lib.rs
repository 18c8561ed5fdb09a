//! The flight-recorder ring: what a controller's engine writes about each of its frames, and how it is read back.
//!
//! Owns layout v2, its writer, the racing reader, the parser of untrusted images, the reader of legacy rings through
//! declared field maps, and the accounting of frames. Never reads a clock, never opens a socket, starts no thread.

#![deny(unsafe_code)]

pub mod account;
pub mod bracket;
pub mod convert;
pub mod crc;
pub mod file;
pub mod frames;
pub mod header;
pub mod image;
pub mod layout;
pub mod memory;
pub mod offset;
pub mod protocol;
pub mod snapshot;
pub mod v1;
pub mod words;
pub mod writer;

pub use account::{Account, account};
pub use frames::{Frame, Policy, Ring};
pub use image::{Refusal, parse};
pub use layout::{Kind, Record};
pub use writer::{Event, Writer};
