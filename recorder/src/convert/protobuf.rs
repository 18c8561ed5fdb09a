//! The wire format of Protocol Buffers as far as a trace needs it: varints and length-delimited fields
//! (<https://protobuf.dev/programming-guides/encoding/>). Knows no message.

use super::sink::SMALL;

/// Longest varint, octets.
const VARINT: usize = 10;

/// A message of a few varint fields, built in place; what does not fit is an error of the encoder, kept harmless.
pub(crate) struct Small<'a> {
    octets: &'a mut [u8; SMALL],
    length: usize,
}

impl<'a> Small<'a> {
    #[inline]
    pub(crate) fn new(octets: &'a mut [u8; SMALL]) -> Self {
        Small { octets, length: 0 }
    }

    /// Octets so far.
    #[inline]
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// Appends raw octets.
    #[inline]
    pub(crate) fn raw<const N: usize>(&mut self, octets: &[u8; N]) {
        if let Some(place) = self.octets.get_mut(self.length..).and_then(|rest| rest.first_chunk_mut::<N>()) {
            *place = *octets;
            self.length += N;
        }
    }

    /// Appends a varint.
    #[inline]
    pub(crate) fn varint(&mut self, value: u64) {
        if value < 0x80 {
            return self.raw(&[value as u8]);
        }
        if value >> 56 != 0 {
            return self.long_varint(value);
        }
        // Seven bits to each octet, all octets at once; then the mark that more follow on all but the last.
        let mut spread = (value & 0x0FFF_FFFF) | (value & 0x00FF_FFFF_F000_0000) << 4;
        spread = (spread & 0x0000_3FFF_0000_3FFF) | (spread & 0x0FFF_C000_0FFF_C000) << 2;
        spread = (spread & 0x007F_007F_007F_007F) | (spread & 0x3F80_3F80_3F80_3F80) << 1;
        let length = (63 - value.leading_zeros()) as usize / 7 + 1;
        let marks = 0x8080_8080_8080_8080 & !(u64::MAX << (8 * (length as u32 - 1)));
        if let Some(place) = self.octets.get_mut(self.length..).and_then(|rest| rest.first_chunk_mut::<8>()) {
            *place = (spread | marks).to_le_bytes();
            self.length += length;
        }
    }

    #[cold]
    fn long_varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.raw(&[value as u8 | 0x80]);
            value >>= 7;
        }
        self.raw(&[value as u8]);
    }

    /// Leaves room for the length of a message that stays below 128 octets, and tells where.
    #[inline]
    pub(crate) fn open(&mut self) -> usize {
        self.raw(&[0]);
        self.length
    }

    /// Fills in the length of the message that was opened there.
    #[inline]
    pub(crate) fn close(&mut self, opened: usize) {
        let length = (self.length - opened) as u8;
        if let Some(place) = self.octets.get_mut(opened.wrapping_sub(1)) {
            *place = length;
        }
    }
}

/// A message of any length.
#[derive(Clone, Debug, Default)]
pub(crate) struct Message(pub(crate) Vec<u8>);

impl Message {
    pub(crate) fn raw_varint(&mut self, mut value: u64) {
        let mut octets = [0; VARINT];
        let mut length = 0;
        loop {
            let rest = value >> 7;
            octets[length] = (value as u8 & 0x7F) | (u8::from(rest > 0) << 7);
            length += 1;
            value = rest;
            if value == 0 {
                break;
            }
        }
        self.0.extend_from_slice(&octets[..length]);
    }

    /// A varint field.
    pub(crate) fn varint(&mut self, field: u32, value: u64) -> &mut Self {
        self.raw_varint(u64::from(field) << 3);
        self.raw_varint(value);
        self
    }

    /// A length-delimited field.
    pub(crate) fn octets(&mut self, field: u32, octets: &[u8]) -> &mut Self {
        self.raw_varint(u64::from(field) << 3 | 2);
        self.raw_varint(octets.len() as u64);
        self.0.extend_from_slice(octets);
        self
    }

    /// A text field.
    pub(crate) fn text(&mut self, field: u32, text: &str) -> &mut Self {
        self.octets(field, text.as_bytes())
    }

    /// A message field.
    pub(crate) fn message(&mut self, field: u32, message: &Message) -> &mut Self {
        self.octets(field, &message.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_are_those_of_the_documentation() {
        let cases: [(u64, &[u8]); 6] = [
            (0, &[0]),
            (1, &[1]),
            (127, &[0x7F]),
            (150, &[0x96, 0x01]),
            (300, &[0xAC, 0x02]),
            (u64::MAX, &[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01]),
        ];
        for (value, octets) in cases {
            let mut message = Message::default();
            message.raw_varint(value);
            assert_eq!((&small(|s| s.varint(value))[..], &message.0[..]), (octets, octets), "{value}");
        }
    }

    fn small(build: impl FnOnce(&mut Small<'_>)) -> Vec<u8> {
        let mut octets = [0xEE; SMALL];
        let mut small = Small::new(&mut octets);
        build(&mut small);
        let length = small.length();
        octets[..length].to_vec()
    }

    #[test]
    fn both_ways_to_write_a_varint_agree_at_every_length() {
        for bit in 0..64 {
            for value in [1u64 << bit, (1u64 << bit) - 1, u64::MAX >> bit, 0x5555_5555_5555_5555 >> bit] {
                let mut message = Message::default();
                message.raw_varint(value);
                assert_eq!(small(|s| s.varint(value)), message.0, "{value}");
            }
        }
    }

    #[test]
    fn fields_are_those_of_the_documentation() {
        let mut message = Message::default();
        message.varint(1, 150).text(2, "testing");
        assert_eq!(message.0, *b"\x08\x96\x01\x12\x07testing");
        let mut outer = Message::default();
        outer.message(3, Message::default().varint(1, 150));
        assert_eq!(outer.0, [0x1A, 0x03, 0x08, 0x96, 0x01]);
        let mut high = Message::default();
        high.varint(58, 3);
        assert_eq!(high.0, [0xD0, 0x03, 0x03]);
    }

    #[test]
    fn an_opened_message_gets_its_length() {
        let octets = small(|small| {
            small.raw(&[0x1A]);
            let opened = small.open();
            small.raw(&[0x08]);
            small.varint(150);
            small.close(opened);
        });
        assert_eq!(octets, [0x1A, 0x03, 0x08, 0x96, 0x01]);
    }
}
