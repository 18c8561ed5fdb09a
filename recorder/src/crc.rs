//! CRC-32C (Castagnoli) over records, frames and images. Never judges what it sums up.

use crate::layout::Record;

/// Mask of the upper half of `frame_complete`'s aux: its own checksum reads as zero while it is computed.
const COUNT_HALF: u64 = 0xFFFF_FFFF_0000_0000;

/// Adds octets to a checksum.
pub fn append(crc: u32, octets: &[u8]) -> u32 {
    crc32c::crc32c_append(crc, octets)
}

/// Adds the first 40 octets of a record.
#[inline]
pub fn record(crc: u32, record: &Record) -> u32 {
    append(crc, &record.payload())
}

/// Adds a `frame_complete` record with its own checksum read as zero.
#[inline]
pub fn completion(crc: u32, complete: &Record) -> u32 {
    let mut blank = *complete;
    blank.words[4] &= COUNT_HALF;
    record(crc, &blank)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_value_of_the_catalogue_is_met() {
        assert_eq!(append(0, b"123456789"), 0xE306_9283);
    }

    #[test]
    fn a_completion_s_own_checksum_does_not_count() {
        let mut complete = Record { ordinal: 0, words: [1, 2, 3, 4, 5 << 32 | 6] };
        let sum = completion(9, &complete);
        complete.words[4] ^= 0xFFFF_FFFF;
        assert_eq!(completion(9, &complete), sum);
        complete.words[4] ^= 1 << 32;
        assert_ne!(completion(9, &complete), sum);
    }
}
