//! The option list at the end of a pcapng block.

use super::octets::Endian;

/// Yields code and value of each option. Ends at the end-of-options mark or where the list makes no sense.
pub(super) struct Options<'a> {
    endian: Endian,
    rest: &'a [u8],
}

impl<'a> Options<'a> {
    /// The options in `octets`, which is what follows the fixed fields of a block.
    pub(super) fn new(endian: Endian, octets: &'a [u8]) -> Self {
        Options { endian, rest: octets }
    }
}

impl<'a> Iterator for Options<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let code = self.endian.u16(self.rest, 0).filter(|code| *code != 0)?;
        let length = usize::from(self.endian.u16(self.rest, 2)?);
        let value = self.rest.get(4..4 + length)?;
        self.rest = self.rest.get(4 + length.next_multiple_of(4)..).unwrap_or_default();
        Some((code, value))
    }
}
