//! The content of a datagram as one number, as cheaply as the question allows.
//!
//! While content changes from datagram to datagram a sample of it shows the change. Only when a sample equals the
//! one before (a repeat, a duplicate or a frozen picture is possible) every octet is hashed from then on, until the
//! content changes again. The first datagram hashed in full counts as changed: there is nothing to compare it with.

use xxhash_rust::xxh3::xxh3_64;

/// Words sampled of one datagram.
const SAMPLES: usize = 24;

/// Mark of a hash over every octet.
const FULL: u64 = 1;

/// The number for `data`: of a sample, or of every octet when `full`.
#[inline]
pub(crate) fn content(data: &[u8], full: bool) -> u64 {
    if full { xxh3_64(data) | FULL } else { sample(data) & !FULL }
}

/// Evenly spaced words, the last eight octets and the length, mixed.
#[inline]
fn sample(data: &[u8]) -> u64 {
    let (words, rest) = data.as_chunks::<8>();
    if words.len() <= SAMPLES {
        return xxh3_64(data);
    }
    let step = words.len() / SAMPLES;
    let tail = rest.iter().fold(0u64, |all, octet| all << 8 | u64::from(*octet));
    let start = mix(data.len() as u64, tail);
    words.iter().step_by(step).fold(start, |all, word| mix(all, u64::from_le_bytes(*word)))
}

/// Both numbers in one; order matters.
#[inline]
pub(crate) fn mix(a: u64, b: u64) -> u64 {
    (a.rotate_left(25) ^ b).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_and_sampled_numbers_never_meet() {
        let data = vec![7; 512];
        assert_ne!(content(&data, true), content(&data, false));
        assert_eq!(content(&data, true), content(&data.clone(), true));
    }

    #[test]
    fn a_full_number_sees_every_octet() {
        let data = vec![0; 1440];
        for at in 0..data.len() {
            let mut other = data.clone();
            other[at] = 1;
            assert_ne!(content(&data, true), content(&other, true), "octet {at}");
        }
    }

    #[test]
    fn a_sample_sees_length_and_most_changes() {
        let data: Vec<u8> = (0..512).map(|i| (i * 7) as u8).collect();
        let moved: Vec<u8> = data.iter().map(|o| o.wrapping_add(1)).collect();
        assert_ne!(content(&data, false), content(&moved, false));
        assert_ne!(content(&data, false), content(&data[..504], false));
    }
}
