//! The wire format of Protocol Buffers as far as a trace needs it: varints and length-delimited fields
//! (<https://protobuf.dev/programming-guides/encoding/>). Knows no message.

/// Longest varint, octets.
const VARINT: usize = 10;

/// A message of a few varint fields, built in place without a heap.
pub(crate) struct Small {
    octets: [u8; 127],
    length: usize,
}

impl Small {
    #[inline]
    pub(crate) fn new() -> Self {
        Small { octets: [0; 127], length: 0 }
    }

    /// Starts over.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.length = 0;
    }

    #[inline]
    pub(crate) fn octets(&self) -> &[u8] {
        self.octets.get(..self.length).unwrap_or_default()
    }

    #[inline]
    fn put(&mut self, octet: u8) {
        if let Some(place) = self.octets.get_mut(self.length) {
            *place = octet;
            self.length += 1;
        }
    }

    /// Appends raw octets.
    #[inline]
    pub(crate) fn raw(&mut self, octets: &[u8]) {
        let end = self.length + octets.len();
        if let Some(place) = self.octets.get_mut(self.length..end) {
            place.copy_from_slice(octets);
            self.length = end;
        }
    }

    /// Appends a varint.
    #[inline]
    pub(crate) fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.put(value as u8 | 0x80);
            value >>= 7;
        }
        self.put(value as u8);
    }

    /// Leaves room for the length of a message that stays below 128 octets, and tells where.
    #[inline]
    pub(crate) fn open(&mut self) -> usize {
        self.put(0);
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
            let (mut small, mut message) = (Small::new(), Message::default());
            small.varint(value);
            message.raw_varint(value);
            assert_eq!((small.octets(), &message.0[..]), (octets, octets), "{value}");
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
        let mut small = Small::new();
        small.raw(&[0x1A]);
        let opened = small.open();
        small.raw(&[0x08]);
        small.varint(150);
        small.close(opened);
        assert_eq!(small.octets(), [0x1A, 0x03, 0x08, 0x96, 0x01]);
    }
}
