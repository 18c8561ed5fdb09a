//! The Internet checksum (RFC 1071), summed over wide words.

use super::wide;

/// Octets added up at once.
pub(super) const BLOCK: usize = 32;
/// Lower half of a 64-bit word.
const LOW: u64 = 0xffff_ffff;

/// Adds up `octets` as 16-bit words in the host's byte order, unfolded. Sums of stretches that start at an even
/// offset of one message add up; an odd last octet is padded with zero.
#[inline]
pub(super) fn sum(octets: &[u8]) -> u64 {
    let (blocks, rest) = octets.as_chunks::<BLOCK>();
    let (words, tail) = rest.as_chunks::<8>();
    let ends = words.iter().fold(halves(last(octets, tail.len())), |sum, word| sum + halves(*word));
    if blocks.is_empty() { ends } else { wide::sum(blocks) + ends }
}

/// Adds up blocks without any instruction that not every processor has.
#[inline]
pub(super) fn portable(blocks: &[[u8; BLOCK]]) -> u64 {
    let mut lanes = [0u64; BLOCK / 8];
    for block in blocks {
        let (words, _) = block.as_chunks::<8>();
        for (lane, word) in lanes.iter_mut().zip(words) {
            *lane += halves(*word);
        }
    }
    lanes.iter().sum()
}

/// The last `n` octets (at most 7), padded with zero. Out of the last eight where there are so many: a copy of a length
/// that is not known beforehand is a call.
#[inline]
fn last(octets: &[u8], n: usize) -> [u8; 8] {
    if let Some(eight) = octets.last_chunk::<8>() {
        let behind = u64::from_le_bytes(*eight).checked_shr(64 - 8 * n as u32).unwrap_or(0);
        return behind.to_le_bytes();
    }
    let mut last = [0; 8];
    for (to, from) in last.iter_mut().zip(&octets[octets.len() - n..]) {
        *to = *from;
    }
    last
}

/// True when a sum over a message, its checksum field included, says that the message is intact.
#[inline]
pub(super) fn intact(sum: u64) -> bool {
    let mut sum = sum;
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum == 0xffff
}

#[inline]
fn halves(word: [u8; 8]) -> u64 {
    let word = u64::from_ne_bytes(word);
    (word & LOW) + (word >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition: 16-bit words in network order, end-around carry.
    fn by_definition(octets: &[u8]) -> u16 {
        let mut sum = 0u32;
        for pair in octets.chunks(2) {
            sum += u32::from(u16::from_be_bytes([pair[0], *pair.get(1).unwrap_or(&0)]));
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    }

    #[test]
    fn every_length_agrees_with_the_definition() {
        let octets: Vec<u8> = (0..700u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        for length in 0..octets.len() {
            let mut message = octets[..length].to_vec();
            if message.len() % 2 == 1 {
                message.push(0);
            }
            let field = !by_definition(&message);
            message.extend(field.to_be_bytes());
            assert!(intact(sum(&message)), "length {length}");
            let (blocks, _) = message.as_chunks::<BLOCK>();
            assert_eq!(wide::sum(blocks) % 0xffff, portable(blocks) % 0xffff, "length {length}");
            message[0] ^= 0x10;
            assert!(!intact(sum(&message)), "length {length} with a flipped bit");
        }
    }

    #[test]
    fn the_longest_message_of_ones_does_not_overflow() {
        assert!(intact(sum(&[0xff; 65_536])));
        assert!(!intact(sum(&[0; 65_536])));
        assert!(!intact(portable(&[[0; BLOCK]; 2048])) && intact(portable(&[[0xff; BLOCK]; 2048])));
    }
}
