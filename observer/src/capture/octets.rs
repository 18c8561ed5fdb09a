//! Integers out of octets, in either byte order, never past the end.

/// Byte order of a capture file (or of a pcapng section).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Endian {
    /// Least significant octet first.
    #[default]
    Little,
    /// Most significant octet first.
    Big,
}

impl Endian {
    /// The 16-bit integer at `at`, `None` past the end.
    #[inline]
    pub(super) fn u16(self, octets: &[u8], at: usize) -> Option<u16> {
        let raw = *octets.get(at..)?.first_chunk()?;
        Some(if self == Endian::Big { u16::from_be_bytes(raw) } else { u16::from_le_bytes(raw) })
    }

    /// The 32-bit integer at `at`, `None` past the end.
    #[inline]
    pub(super) fn u32(self, octets: &[u8], at: usize) -> Option<u32> {
        let raw = *octets.get(at..)?.first_chunk()?;
        Some(if self == Endian::Big { u32::from_be_bytes(raw) } else { u32::from_le_bytes(raw) })
    }

    /// The 64-bit integer at `at`, `None` past the end.
    #[inline]
    pub(super) fn u64(self, octets: &[u8], at: usize) -> Option<u64> {
        let raw = *octets.get(at..)?.first_chunk()?;
        Some(if self == Endian::Big { u64::from_be_bytes(raw) } else { u64::from_le_bytes(raw) })
    }
}

/// The 16-bit integer in network order at `at`, `None` past the end.
#[inline]
pub(super) fn be16(octets: &[u8], at: usize) -> Option<u16> {
    Endian::Big.u16(octets, at)
}
