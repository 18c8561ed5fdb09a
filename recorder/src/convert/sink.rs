//! A buffer in front of a writer: encoders append octets, whole pieces go out. Never keeps more than a piece.

use std::io::{self, Write};

/// Octets that go out at once.
const PIECE: usize = 64 * 1024;
/// Longest message that is built in place.
pub(crate) const SMALL: usize = 128;

/// The buffer. The first error of the writer is kept and ends all further writing.
pub(crate) struct Sink<'a> {
    octets: Vec<u8>,
    /// Where messages are built in place; the first `filled` octets wait behind those of `octets`.
    small: Box<[u8; PIECE]>,
    filled: usize,
    out: &'a mut dyn Write,
    failed: Option<io::Error>,
}

impl<'a> Sink<'a> {
    pub(crate) fn new(out: &'a mut dyn Write) -> Self {
        Sink {
            octets: Vec::with_capacity(PIECE + 4096),
            small: Box::new([0; PIECE]),
            filled: 0,
            out,
            failed: None,
        }
    }

    /// Where to append.
    #[inline]
    pub(crate) fn octets(&mut self) -> &mut Vec<u8> {
        if self.octets.len() >= PIECE || self.filled > 0 {
            self.drain();
        }
        &mut self.octets
    }

    /// Builds a message in place: `build` says how many octets of the room it has filled.
    #[inline]
    pub(crate) fn in_place(&mut self, build: impl FnOnce(&mut [u8; SMALL]) -> usize) {
        if self.filled + SMALL > PIECE || !self.octets.is_empty() {
            self.drain();
        }
        if let Some(room) = self.small.get_mut(self.filled..).and_then(|rest| rest.first_chunk_mut()) {
            self.filled += build(room).min(SMALL);
        }
    }

    #[cold]
    fn drain(&mut self) {
        let small = self.small.get(..self.filled).unwrap_or_default();
        for octets in [&self.octets, small] {
            if self.failed.is_none() {
                self.failed = self.out.write_all(octets).err();
            }
        }
        self.octets.clear();
        self.filled = 0;
    }

    /// Puts out the rest.
    ///
    /// # Errors
    /// The first error of the writer.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.drain();
        match self.failed {
            Some(error) => Err(error),
            None => self.out.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Full(usize);

    impl Write for Full {
        fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(octets.len()).ok_or(io::ErrorKind::StorageFull)?;
            Ok(octets.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn everything_arrives_in_order() {
        let mut out = Vec::new();
        let mut sink = Sink::new(&mut out);
        (0..100_000u32).for_each(|i| sink.octets().extend_from_slice(&i.to_le_bytes()));
        sink.finish().unwrap();
        assert_eq!(out.len(), 400_000);
        assert!(out.chunks_exact(4).enumerate().all(|(i, c)| c == (i as u32).to_le_bytes()));
    }

    #[test]
    fn messages_built_in_place_keep_their_order_among_others() {
        let mut out = Vec::new();
        let mut sink = Sink::new(&mut out);
        for i in 0..50_000u32 {
            if i % 7 == 0 {
                sink.octets().extend_from_slice(&i.to_le_bytes());
            } else {
                sink.in_place(|room| {
                    room[..4].copy_from_slice(&i.to_le_bytes());
                    4
                });
            }
        }
        sink.finish().unwrap();
        assert!(out.chunks_exact(4).enumerate().all(|(i, c)| c == (i as u32).to_le_bytes()));
        assert_eq!(out.len(), 200_000);
    }

    #[test]
    fn a_full_disk_is_an_error_and_not_a_short_file() {
        let mut out = Full(100_000);
        let mut sink = Sink::new(&mut out);
        (0..50_000u32).for_each(|i| sink.octets().extend_from_slice(&i.to_le_bytes()));
        assert_eq!(sink.finish().unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
