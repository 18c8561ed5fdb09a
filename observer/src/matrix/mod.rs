//! Seeded A/B matrices on the real world: the shell around the pure runner of the matrices crate.
//!
//! The conductor executes what the runner asks for; toggles, clock samples and downloads run on a control thread, the
//! wire on threads of its own. What an arm measured is worked out from its files alone, so that it can be worked out again.

pub mod argv;
pub mod bundle;
pub mod causes;
pub mod clock;
pub mod conductor;
pub mod control;
pub mod counting;
mod declared;
pub mod device;
pub mod env;
pub mod evidence;
pub mod going;
pub mod hlog;
pub mod judging;
pub mod measured;
pub mod preflight;
pub mod restoring;
pub mod ring_reader;
pub mod running;
pub mod schedule;
pub mod sham;
pub mod signals;
pub mod soaking;
pub mod verifying;
pub mod wire;
