//! The world of the simulated device on this host: its clocks, sockets and control socket. Decides nothing.

mod control;
mod host;

pub use control::{ControlError, ControlSocket};
pub use host::Host;
