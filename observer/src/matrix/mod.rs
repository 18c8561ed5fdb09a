//! Seeded A/B matrices on the real world: the shell around the pure runner of the matrices crate.
//!
//! The conductor executes what the runner asks for; toggles, clock samples and downloads run on a control thread, the
//! wire on threads of its own. What an arm measured is worked out from its files alone, so that it can be worked out again.

pub mod argv;
pub mod clock;
pub mod control;
pub mod counting;
pub mod device;
pub mod measured;
pub mod sham;
pub mod wire;
