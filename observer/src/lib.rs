//! Everything that touches the world: capture files, the rig file, and the command line over the pure engine.

pub mod alert;
pub mod analysis;
pub mod baseline;
pub mod bench;
pub mod capture;
pub mod cli;
pub mod device;
mod infile;
pub mod live;
pub mod matrix;
mod outfile;
pub mod privileges;
pub mod rig_file;
pub mod send;
pub mod slice;
mod tape_file;
pub mod taping;
pub mod web;
