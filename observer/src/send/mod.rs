//! Everything that transmits on purpose: the paced sender of known-good frames and the replay of captures.

pub mod clock;
pub mod pace;
pub mod replay;
pub mod socket;
mod sys_send;

pub use sys_send::thread_cpu_ns;
