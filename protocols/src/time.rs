//! Capture time. The core never reads a clock; every instant arrives as an argument.

/// An instant in nanoseconds since 1970-01-01 00:00:00 UTC, as the capture stamped it. May be negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

/// One millisecond in nanoseconds.
pub const MS: i64 = 1_000_000;
/// One second in nanoseconds.
pub const SECOND: i64 = 1_000_000_000;

impl Timestamp {
    /// Nanoseconds from `earlier` to `self`; negative when the capture clock ran backwards. Saturates.
    #[inline]
    pub fn since(self, earlier: Timestamp) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// The instant `ns` nanoseconds later. Saturates.
    #[inline]
    pub fn plus(self, ns: i64) -> Timestamp {
        Timestamp(self.0.saturating_add(ns))
    }
}
