//! Everything that touches the world: capture files, the rig file, and the command line over the pure engine.

pub mod analysis;
pub mod capture;
pub mod cli;
pub mod device;
pub mod live;
mod outfile;
pub mod rig_file;
pub mod send;
pub mod slice;
