//! Classes of causes as they are drawn. Places come from [`crate::places`].

pub use crate::analysis::frame_causes::Class;

/// The class of a cause by the flags of its record.
pub fn class(flags: u16) -> &'static str {
    Class::of(flags).name()
}
