//! Declarative layouts: a protocol of one's own as a TOML text, without recompiling.
//!
//! [`Layout::read`] makes a checked table of a text, or tells everything that is wrong with it. Decoder, encoder,
//! capture filter and dissector all work from that table, so that they cannot disagree. Nothing here opens a file: the
//! text is an argument.

mod check;
mod decode;
mod filter;
mod judge;
mod lua;
mod plan;
mod read;
pub mod rules;
mod set;
mod shipped;
mod sums;
mod table;
#[cfg(test)]
mod tests;
mod text;

pub use decode::LayoutDecoder;
pub use plan::{LayoutId, Table};
pub use set::{LAYOUTS_MAX, Layouts};
pub use shipped::{SHIPPED, Shipped};
pub use sums::{Parts, sum};
pub use table::{
    ByteOrder, Checksum, Constant, Covers, Ending, Field, FrameRule, Layout, Matching, PayloadLength, Region,
    Role, Scope, Sequence, Step, Sum,
};
pub use text::LayoutFault;

/// Longest text of a layout, octets.
pub const TEXT_MAX: usize = 64 * 1024;
/// Most octets of header, and of footer.
pub const HEADER_MAX: u64 = 512;
/// Most fields.
pub const FIELDS_MAX: usize = 64;
/// Longest name of a layout or field, characters.
pub const NAME_MAX: usize = 32;
/// Most ports of a layout.
pub const PORTS_MAX: usize = 16;
/// Most faults told of one text.
pub const FAULTS_MAX: usize = 64;
/// Fewest octets of magic that identify a layout on any port.
pub const ANY_PORT_MAGIC: usize = 4;
