//! What every encoder offers: one frame in, the datagrams that carry it out, as a view the sender can hand to the
//! kernel without copying.
//!
//! Owns no counter and no buffer; those belong to the encoders. Nothing here opens a socket or reads a clock.

use crate::{Protocol, Timestamp, Value};
use std::fmt;
use std::io::IoSlice;
use std::net::SocketAddr;

/// A value that the protocol or the network has no room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncodeError {
    /// The field in the protocol's own words.
    pub field: &'static str,
    /// The value asked for.
    pub value: u64,
    /// What is allowed.
    pub limit: Value,
}

impl EncodeError {
    /// Checks that `value` lies in `low..=high`.
    ///
    /// # Errors
    /// The error that names the field, the value and the range.
    pub fn unless_within(field: &'static str, value: u64, low: u64, high: u64) -> Result<(), EncodeError> {
        if (low..=high).contains(&value) {
            return Ok(());
        }
        Err(EncodeError { field, value, limit: Value::Range(low, high) })
    }
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} is not {}", self.field, self.value, self.limit)
    }
}

impl std::error::Error for EncodeError {}

/// Turns frames of one output into the datagrams that carry them.
pub trait Encoder {
    /// The protocol on the wire.
    fn protocol(&self) -> Protocol;

    /// Makes the datagrams of one frame in sending order, synchronization included where it is configured, and
    /// moves the sequence counters on. An empty frame makes no datagrams and moves nothing.
    ///
    /// # Errors
    /// [`EncodeError`] when the configuration has no room for the frame; nothing has changed then.
    fn encode<'a>(&'a mut self, frame: &'a [u8]) -> Result<Batch<'a>, EncodeError>;

    /// The encoder's own frame buffer, `octets` long; what it held stays while the length does. With
    /// [`encode_own`](Self::encode_own) the place of the frame is known beforehand, which saves the `gather`
    /// backend every write but the counters.
    ///
    /// # Errors
    /// [`EncodeError`] when the configuration has no room for such a frame, or the encoder keeps no buffer.
    fn frame_mut(&mut self, octets: usize) -> Result<&mut [u8], EncodeError> {
        Err(EncodeError { field: "own frame octets", value: octets as u64, limit: Value::AtMost(0) })
    }

    /// Makes the datagrams of the frame in the encoder's own buffer, as [`encode`](Self::encode) does.
    ///
    /// # Errors
    /// [`EncodeError`] when the configuration no longer has room for the frame.
    fn encode_own(&mut self) -> Result<Batch<'_>, EncodeError> {
        Ok(Batch::EMPTY)
    }

    /// The sender's time in the following frames where it is set to carry one: BigPacket in microseconds, DDP in
    /// 1/65,536 s. Protocols without a time field ignore it.
    fn set_time(&mut self, _at: Timestamp) {}

    /// The datagrams that end every stream data was sent on, to the destinations of the data; empty where the
    /// protocol has none.
    fn terminate(&mut self) -> Batch<'_> {
        Batch::EMPTY
    }

    /// The datagrams that announce the streams in use; empty where the protocol has none.
    fn discovery(&mut self) -> Batch<'_> {
        Batch::EMPTY
    }
}

/// The datagrams of one frame in sending order: every one is the same number of parts, some perhaps empty.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    parts: &'a [IoSlice<'a>],
    width: usize,
    destinations: &'a [SocketAddr],
}

impl<'a> Batch<'a> {
    /// No datagrams.
    pub const EMPTY: Batch<'static> = Batch { parts: &[], width: 1, destinations: &[] };

    /// Datagrams of `width` parts each, one for every destination. Parts that fill no datagram are left out.
    #[inline]
    pub fn new(parts: &'a [IoSlice<'a>], width: usize, destinations: &'a [SocketAddr]) -> Self {
        let width = width.max(1);
        debug_assert_eq!(parts.len(), width * destinations.len(), "parts and destinations disagree");
        Batch { parts, width, destinations }
    }

    /// Number of datagrams.
    #[inline]
    pub fn len(&self) -> usize {
        self.destinations.len()
    }

    /// True when there is nothing to send.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.destinations.is_empty()
    }

    /// One datagram, 0-based.
    #[inline]
    pub fn get(&self, i: usize) -> Option<Outgoing<'a>> {
        let destination = *self.destinations.get(i)?;
        let parts = self.parts.get(i * self.width..(i + 1) * self.width)?;
        Some(Outgoing { destination, parts })
    }

    /// The datagrams in sending order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = Outgoing<'a>> + use<'a> {
        let datagrams = self.destinations.iter().zip(self.parts.chunks_exact(self.width));
        datagrams.map(|(destination, parts)| Outgoing { destination: *destination, parts })
    }

    /// Parts of each datagram.
    #[inline]
    pub fn width(&self) -> usize {
        self.width
    }

    /// All parts of all datagrams in order.
    #[inline]
    pub fn parts(&self) -> &'a [IoSlice<'a>] {
        self.parts
    }

    /// UDP payload octets of all datagrams together.
    pub fn octets(&self) -> usize {
        self.parts.iter().map(|part| part.len()).sum()
    }

    /// Destination and segment size for UDP_SEGMENT: one destination for all, and equal lengths but for a shorter
    /// last one. `None` when the batch is not of that shape. The kernel's limits (64 segments and 65,507 octets a
    /// call) are the sender's to keep.
    pub fn segment(&self) -> Option<(SocketAddr, u16)> {
        let (&destination, others) = self.destinations.split_first()?;
        let (mut lengths, last) = (self.iter().map(|d| d.len()), self.get(self.len() - 1)?.len());
        let size = lengths.next()?;
        let fits = others.iter().all(|other| *other == destination)
            && last <= size
            && lengths.take(self.len().saturating_sub(2)).all(|length| length == size);
        fits.then_some((destination, u16::try_from(size).ok()?))
    }
}

/// One datagram on its way out.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// Where it goes.
    pub destination: SocketAddr,
    /// Its UDP payload in pieces, in order.
    pub parts: &'a [IoSlice<'a>],
}

impl Outgoing<'_> {
    /// Octets of UDP payload.
    #[inline]
    pub fn len(&self) -> usize {
        self.parts.iter().map(|part| part.len()).sum()
    }

    /// True when the UDP payload is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends the UDP payload to `out`.
    pub fn copy_to(&self, out: &mut Vec<u8>) {
        out.reserve(self.len());
        self.parts.iter().for_each(|part| out.extend_from_slice(part));
    }

    /// The UDP payload in one piece.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.copy_to(&mut out);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(port: u16) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, 9], port))
    }

    fn parts<'a>(octets: &'a [u8], lengths: &[usize]) -> Vec<IoSlice<'a>> {
        lengths.iter().map(|length| IoSlice::new(&octets[..*length])).collect()
    }

    #[test]
    fn a_batch_gives_each_datagram_its_parts() {
        let octets = [1, 2, 3];
        let (parts, to) = (parts(&octets, &[1, 3, 1, 0]), [to(1), to(2)]);
        let batch = Batch::new(&parts, 2, &to);
        assert_eq!((batch.len(), batch.octets(), batch.width()), (2, 5, 2));
        assert_eq!(batch.get(0).unwrap().to_vec(), [1, 1, 2, 3]);
        assert_eq!(batch.get(1).unwrap().destination, to[1]);
        assert!(batch.get(2).is_none());
        let lengths: Vec<usize> = batch.iter().map(|d| d.len()).collect();
        assert_eq!(lengths, [4, 1]);
    }

    #[test]
    fn only_equal_datagrams_to_one_place_with_a_shorter_end_can_be_segmented() {
        let octets = [0; 8];
        let size = |lengths: &[usize], to: &[SocketAddr]| {
            Batch::new(&parts(&octets, lengths), 1, to).segment().map(|(_, size)| size)
        };
        assert_eq!(size(&[8, 8, 3], &[to(1); 3]), Some(8));
        assert_eq!(size(&[8, 8, 8], &[to(1); 3]), Some(8));
        assert_eq!(size(&[5], &[to(1)]), Some(5));
        assert_eq!(size(&[5, 8], &[to(1); 2]), None);
        assert_eq!(size(&[8, 3, 8], &[to(1); 3]), None);
        assert_eq!(size(&[8, 3, 3], &[to(1); 3]), None);
        assert_eq!(size(&[8, 8], &[to(1), to(2)]), None);
        assert_eq!(Batch::EMPTY.segment(), None);
    }

    #[test]
    fn an_error_names_field_value_and_limit() {
        assert_eq!(EncodeError::unless_within("priority", 200, 0, 200), Ok(()));
        let error = EncodeError::unless_within("priority", 201, 0, 200).unwrap_err();
        assert_eq!(error.to_string(), "priority 201 is not 0..200");
    }
}
