//! The read window: one page-aligned buffer that slides over a stream, so that records are viewed in place and
//! memory does not depend on the length of the stream.

use std::io::{self, BufRead, Read};

/// Octets asked of the stream at once.
const READ: usize = 1 << 20;
/// The longest stretch that can be viewed in one piece; the tail carried over a refill lies here.
pub(super) const VIEW_MAX: usize = 512 << 10;
/// Reads into a page-aligned address avoid the slow path of the kernel's copy on current x86 cores.
const PAGE: usize = 4096;

/// A sliding view of a stream.
pub(super) struct Window<'r> {
    input: &'r mut dyn Read,
    /// `VIEW_MAX` octets (and alignment) for the carried tail, then `READ` octets from `base` on.
    buffer: Vec<u8>,
    base: usize,
    start: usize,
    end: usize,
    passed: u64,
    ended: bool,
    fault: Option<io::Error>,
}

impl<'r> Window<'r> {
    /// A window at the start of `input`.
    pub(super) fn new(input: &'r mut dyn Read) -> Self {
        let mut buffer = vec![0; VIEW_MAX + PAGE + READ];
        let base = VIEW_MAX + buffer[VIEW_MAX..].as_ptr().align_offset(PAGE).min(PAGE);
        buffer.truncate(base + READ);
        Window { input, buffer, base, start: base, end: base, passed: 0, ended: false, fault: None }
    }

    /// Octets in view after trying to have `need` of them (at most [`VIEW_MAX`]); fewer only at the end of the
    /// stream or after a fault.
    #[inline]
    pub(super) fn require(&mut self, need: usize) -> usize {
        if self.end - self.start < need {
            self.fill(need.min(VIEW_MAX));
        }
        self.end - self.start
    }

    /// The octets in view.
    #[inline]
    pub(super) fn view(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Moves `octets` on, no further than the view.
    #[inline]
    pub(super) fn advance(&mut self, octets: usize) {
        let step = octets.min(self.end - self.start);
        self.start += step;
        self.passed += step as u64;
    }

    /// Moves `octets` on however far that is; false when the stream ends before.
    pub(super) fn skip(&mut self, octets: u64) -> bool {
        let mut left = octets;
        while left > 0 {
            let have = self.require(1) as u64;
            if have == 0 {
                return false;
            }
            let step = have.min(left);
            self.advance(usize::try_from(step).unwrap_or(usize::MAX));
            left -= step;
        }
        true
    }

    /// Octets of the stream before the view.
    #[inline]
    pub(super) fn offset(&self) -> u64 {
        self.passed
    }

    /// Takes the error that ended the stream early.
    pub(super) fn take_fault(&mut self) -> Option<io::Error> {
        self.fault.take()
    }

    #[cold]
    fn fill(&mut self, need: usize) {
        while self.end - self.start < need && !self.ended {
            self.make_room();
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.ended = true,
                Ok(octets) => self.end = (self.end + octets).min(self.buffer.len()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.fault = Some(error);
                    self.ended = true;
                }
            }
        }
    }

    /// Carries the tail in front of `base`, so that the next read is aligned again.
    fn make_room(&mut self) {
        let tail = self.end - self.start;
        if tail == 0 || (self.end == self.buffer.len() && tail <= self.base) {
            self.buffer.copy_within(self.start..self.end, self.base - tail);
            self.start = self.base - tail;
            self.end = self.base;
        }
    }
}

/// Lets a decompressor read from the window. A fault of the stream below shows as its end and stays takeable.
impl BufRead for Window<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.require(1);
        Ok(self.view())
    }

    fn consume(&mut self, octets: usize) {
        self.advance(octets);
    }
}

impl Read for Window<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.require(1);
        let octets = self.view().read(out)?;
        self.advance(octets);
        Ok(octets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands out a counting pattern in reads of at most `most` octets.
    struct Dribble {
        at: usize,
        length: usize,
        most: usize,
    }

    impl Read for Dribble {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let octets = out.len().min(self.most).min(self.length - self.at);
            for (i, octet) in out[..octets].iter_mut().enumerate() {
                *octet = ((self.at + i) % 251) as u8;
            }
            self.at += octets;
            Ok(octets)
        }
    }

    #[test]
    fn every_octet_comes_once_and_in_order_whatever_the_read_and_step_sizes() {
        for (most, step) in [(1 << 20, 70_001), (997, 300_007), (65_536, 13), (usize::MAX, VIEW_MAX)] {
            let length = if step < 100 { 1_500_000 } else { 5_000_000 };
            let mut input = Dribble { at: 0, length, most };
            let mut window = Window::new(&mut input);
            let mut at = 0;
            loop {
                let have = window.require(step).min(step);
                if have == 0 {
                    break;
                }
                assert_eq!(window.offset(), at as u64);
                let view = &window.view()[..have];
                assert!(view.iter().enumerate().all(|(i, o)| *o == ((at + i) % 251) as u8), "at {at}");
                window.advance(have);
                at += have;
            }
            assert_eq!(at, length);
        }
    }

    #[test]
    fn skipping_further_than_the_buffer_ends_at_the_right_octet() {
        let mut input = Dribble { at: 0, length: 9_000_000, most: usize::MAX };
        let mut window = Window::new(&mut input);
        assert!(window.skip(8_000_001));
        assert!(window.require(1) > 0);
        assert_eq!(window.view()[0], (8_000_001 % 251) as u8);
        assert!(!window.skip(2_000_000));
        assert_eq!(window.offset(), 9_000_000);
    }

    #[test]
    fn the_read_position_is_page_aligned() {
        let mut input: &[u8] = b"x";
        let window = Window::new(&mut input);
        assert_eq!(window.buffer[window.base..].as_ptr() as usize % PAGE, 0);
        assert!(window.base >= VIEW_MAX && window.buffer.len() == window.base + READ);
    }
}
