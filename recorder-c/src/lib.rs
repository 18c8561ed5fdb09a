//! The C interface of the ring's writer: `include/wireproof_recorder.h` over `libwireproof_recorder_c`.
//!
//! Owns handles, error codes and the border to C. Never reads a clock, starts no thread, lets no panic cross the border.
//! `border` is the one file with unsafe code; what stands behind it is safe Rust.

#![deny(unsafe_code)]

pub mod border;
mod error;
mod handles;
mod recorder;

pub use error::code;
pub use recorder::{ANY_FILE_SYSTEM, LOCK_MEMORY};
