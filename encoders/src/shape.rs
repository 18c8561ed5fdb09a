//! How the datagrams of one frame lie in memory: sizes and places, and whether they fit. Owns no memory.

/// Alignment of every block and of the payload slots: a cache line.
pub(crate) const LINE: usize = 64;
/// Octets copied in one move.
pub(crate) const MOVE: usize = 32;

/// How the datagrams of one frame lie in the arena.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shape {
    /// Octets of the frame.
    pub(crate) octets: usize,
    /// Datagrams that carry data.
    pub(crate) data: usize,
    /// All datagrams; at most one more than `data`.
    pub(crate) count: usize,
    /// Octets from slot to slot.
    pub(crate) stride: usize,
    /// Octets in front of the header in a slot.
    pub(crate) lead: usize,
    /// Header octets.
    pub(crate) head: usize,
    /// Header octets of the last data datagram.
    pub(crate) last_head: usize,
    /// Frame octets in each datagram but the last.
    pub(crate) chunk: usize,
    /// Frame octets in the last data datagram.
    pub(crate) last: usize,
    /// Zero octets behind the data of the last data datagram.
    pub(crate) pad: usize,
    /// Octets of the datagram behind the data.
    pub(crate) tail: usize,
    /// Whether payloads are copied behind their headers.
    pub(crate) contiguous: bool,
    /// Pieces of a datagram.
    pub(crate) width: usize,
}

impl Shape {
    /// Header octets of a datagram.
    pub(crate) fn head_of(&self, index: usize) -> usize {
        match index {
            _ if index >= self.data => self.tail,
            _ if index + 1 == self.data => self.last_head,
            _ => self.head,
        }
    }

    /// First octet and number of octets of the frame that a datagram carries.
    pub(crate) fn data_of(&self, index: usize) -> (usize, usize) {
        let from = index.min(self.data) * self.chunk;
        match index {
            _ if index >= self.data => (0, 0),
            _ if index + 1 == self.data => (from, self.last),
            _ => (from, self.chunk),
        }
    }

    /// Zero octets behind the data of a datagram.
    pub(crate) fn pad_of(&self, index: usize) -> usize {
        if index + 1 == self.data { self.pad } else { 0 }
    }

    /// True when every piece of this shape lies inside its slot; checked once, when a plan is made.
    pub(crate) fn holds(&self) -> bool {
        (0..self.count).all(|index| {
            let (_, data) = self.data_of(index);
            let payload = if self.contiguous { data + self.pad_of(index) } else { 0 };
            self.lead + self.head_of(index) + payload <= self.stride
        }) && (!self.contiguous || self.lead + self.head + self.chunk.next_multiple_of(MOVE) <= self.stride)
            && self.count <= self.data + 1
            && self.octets == self.data.saturating_sub(1) * self.chunk + self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FITS: Shape = Shape {
        octets: 25,
        data: 3,
        count: 4,
        stride: 128,
        lead: 54,
        head: 10,
        last_head: 14,
        chunk: 10,
        last: 5,
        pad: 1,
        tail: 49,
        contiguous: true,
        width: 1,
    };

    #[test]
    fn every_datagram_has_its_part_of_the_frame() {
        let parts: Vec<_> = (0..4).map(|i| (FITS.head_of(i), FITS.data_of(i), FITS.pad_of(i))).collect();
        assert_eq!(parts, [(10, (0, 10), 0), (10, (10, 10), 0), (14, (20, 5), 1), (49, (0, 0), 0)]);
    }

    #[test]
    fn a_shape_that_leaves_its_slot_or_its_frame_does_not_hold() {
        assert!(FITS.holds());
        assert!(!Shape { tail: 75, ..FITS }.holds(), "the tail leaves its slot");
        assert!(!Shape { chunk: 65, octets: 135, stride: 130, ..FITS }.holds(), "a move leaves its slot");
        assert!(!Shape { octets: 26, ..FITS }.holds(), "an octet is carried by no datagram");
        assert!(!Shape { count: 5, ..FITS }.holds(), "two datagrams without data");
    }
}
