//! Everything that transmits on purpose: the paced sender of known-good frames and the replay of captures.

pub mod clock;
pub mod faults;
pub mod identity;
pub mod pattern;
pub mod replay;
pub mod show;
pub mod socket;
mod sys_send;

pub(crate) use sys_send::monotonic_ns;
pub use sys_send::thread_cpu_ns;
/// Deadlines; the simulated device keeps them, too.
pub use wireproof_fixture::pace;
