//! A buffer in front of a writer: encoders append octets, whole pieces go out. Never keeps more than a piece.

use std::io::{self, Write};

/// Octets that go out at once.
const PIECE: usize = 64 * 1024;

/// The buffer. The first error of the writer is kept and ends all further writing.
pub(crate) struct Sink<'a> {
    octets: Vec<u8>,
    out: &'a mut dyn Write,
    failed: Option<io::Error>,
}

impl<'a> Sink<'a> {
    pub(crate) fn new(out: &'a mut dyn Write) -> Self {
        Sink { octets: Vec::with_capacity(PIECE + 4096), out, failed: None }
    }

    /// Where to append.
    #[inline]
    pub(crate) fn octets(&mut self) -> &mut Vec<u8> {
        if self.octets.len() >= PIECE {
            self.drain();
        }
        &mut self.octets
    }

    fn drain(&mut self) {
        if self.failed.is_none() {
            self.failed = self.out.write_all(&self.octets).err();
        }
        self.octets.clear();
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
    fn a_full_disk_is_an_error_and_not_a_short_file() {
        let mut out = Full(100_000);
        let mut sink = Sink::new(&mut out);
        (0..50_000u32).for_each(|i| sink.octets().extend_from_slice(&i.to_le_bytes()));
        assert_eq!(sink.finish().unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
