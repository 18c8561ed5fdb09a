//! Conversion off the device: parsed records, and what other clocks saw at the same time, become one timeline, and the
//! timeline becomes a Perfetto trace, a Chrome trace or a table. Pure: reads no clock and opens no file.

pub mod causes;
pub mod chrome;
pub mod clock;
pub mod csv;
pub mod gaps;
mod lanes;
pub mod perfetto;
mod protobuf;
pub mod ring;
pub mod sched;
mod sink;
pub mod tasks;
pub mod timeline;

pub use clock::WallClock;
pub use timeline::{Event, Group, Label, Name, Shape, Timeline, Track, Written};
