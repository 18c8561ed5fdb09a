//! Reading by offset, shared by the readers of every kind.

use super::wire::NAME_LEN;
use crate::{Cid, Datagram, Value};

/// The octets of a datagram by offset. What was not sent or not captured reads as `None`.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    payload: &'a [u8],
    sent: usize,
}

impl<'a> View<'a> {
    #[inline]
    pub(super) fn new(d: &Datagram<'a>) -> Self {
        View { payload: d.payload, sent: d.len() }
    }

    /// Octets the sender sent.
    #[inline]
    pub(super) fn sent(self) -> usize {
        self.sent
    }

    #[inline]
    pub(super) fn array<const N: usize>(self, at: usize) -> Option<&'a [u8; N]> {
        self.payload.get(at..)?.first_chunk::<N>()
    }

    #[inline]
    pub(super) fn u8(self, at: usize) -> Option<u8> {
        self.payload.get(at).copied()
    }

    #[inline]
    pub(super) fn u16(self, at: usize) -> Option<u16> {
        self.array::<2>(at).map(|o| u16::from_be_bytes(*o))
    }

    #[inline]
    pub(super) fn u32(self, at: usize) -> Option<u32> {
        self.array::<4>(at).map(|o| u32::from_be_bytes(*o))
    }

    #[inline]
    pub(super) fn cid(self) -> Option<Cid> {
        self.array::<16>(22).copied()
    }

    /// The source name field, as far as it was captured.
    #[inline]
    pub(super) fn name_field(self) -> &'a [u8] {
        self.range(44, 44 + NAME_LEN)
    }

    /// The source name up to its first NUL.
    #[inline]
    pub(super) fn name(self) -> &'a [u8] {
        let field = self.name_field();
        &field[..name_end(field)]
    }

    /// Captured octets from `start` up to `end`; shorter or empty where they are missing.
    #[inline]
    pub(super) fn range(self, start: usize, end: usize) -> &'a [u8] {
        let end = end.min(self.payload.len());
        self.payload.get(start..end).unwrap_or(&[])
    }
}

/// Index of the first NUL, or the length of the field.
#[inline]
pub(super) fn name_end(field: &[u8]) -> usize {
    field.iter().position(|o| *o == 0).unwrap_or(field.len())
}

/// Two octets at a constant offset of a fixed header.
#[inline]
pub(super) fn be16<const N: usize>(head: &[u8; N], at: usize) -> u16 {
    u16::from_be_bytes([head[at], head[at + 1]])
}

/// Up to 16 octets as a fault value.
pub(super) fn octets(from: &[u8]) -> Value {
    let mut kept = [0; 16];
    let n = from.len().min(kept.len());
    kept[..n].copy_from_slice(&from[..n]);
    Value::Octets(kept, n as u8)
}
