//! The content of a datagram as one number, as cheaply as the question allows.
//!
//! While content changes from datagram to datagram a sample of it shows the change. Only when a sample equals the
//! one before (a repeat, a duplicate or a frozen picture is possible) every octet is hashed from then on, until the
//! content changes again; a change out of a row of repeats is thus seen whatever octet moves. The first full hash of a row has nothing to compare with but the sample: it counts as a
//! repeat.

use xxhash_rust::xxh3::xxh3_64;

/// Words sampled of one datagram.
const SAMPLES: usize = 24;
/// Independent lanes they are mixed in.
const LANES: usize = 4;

/// Mark of a hash over every octet.
const FULL: u64 = 1;

/// The number for `data` whose sample is `sampled`, given the number of the datagram before.
#[inline]
pub(crate) fn content(data: &[u8], sampled: u64, before: u64) -> u64 {
    if before & FULL == 0 && sampled != before {
        return sampled;
    }
    let everything = full(data);
    if before & FULL == 0 || everything == before { everything } else { sampled }
}

/// The number of every octet.
#[inline]
pub(crate) fn full(data: &[u8]) -> u64 {
    xxh3_64(data) | FULL
}

/// Two numbers in a row stand for the same content.
#[inline]
pub(crate) fn same(before: u64, now: u64) -> bool {
    before == now || (before & FULL == 0 && now & FULL != 0)
}

/// Evenly spaced words, the last octets and the length, mixed in lanes that do not wait for one another.
#[inline]
pub(crate) fn sample(data: &[u8]) -> u64 {
    let (words, rest) = data.as_chunks::<8>();
    if words.len() <= SAMPLES {
        return xxh3_64(data) & !FULL;
    }
    let tail = rest.iter().fold(0u64, |all, octet| all << 8 | u64::from(*octet));
    let head = mix(data.len() as u64, tail);
    // Usual sizes (510 and 512 slots, 480 pixels): the places are known when this is compiled.
    match words.len() {
        63 => words.first_chunk::<63>().map_or(0, |words| spaced(words, head)),
        64 => words.first_chunk::<64>().map_or(0, |words| spaced(words, head)),
        180 => words.first_chunk::<180>().map_or(0, |words| spaced(words, head)),
        _ => spaced(words, head),
    }
}

#[inline(always)]
fn spaced(words: &[[u8; 8]], head: u64) -> u64 {
    // Steps of 1/65,536 word, so that the samples reach from the first to the last words.
    let step = (words.len() << 16) / SAMPLES;
    let mut lanes = [head, 1, 2, 3];
    let mut at = step >> 1;
    for _ in 0..SAMPLES / LANES {
        for lane in &mut lanes {
            *lane = mix(*lane, words.get(at >> 16).map_or(0, |word| u64::from_le_bytes(*word)));
            at += step;
        }
    }
    let [a, b, c, d] = lanes;
    mix(mix(a, b), mix(c, d)) & !FULL
}

/// Both numbers in one; order matters.
#[inline]
pub(crate) fn mix(a: u64, b: u64) -> u64 {
    (a.rotate_left(25) ^ b).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of a row of contents count as repeats.
    fn repeats(row: &[&[u8]]) -> Vec<bool> {
        let mut before = 0;
        row.iter()
            .map(|data| {
                let now = content(data, sample(data), before);
                let repeat = before != 0 && same(before, now);
                before = now;
                repeat
            })
            .collect()
    }

    #[test]
    fn a_row_of_equal_contents_repeats_from_the_second_on() {
        let (a, b) = (vec![7; 512], vec![8; 512]);
        let row: [&[u8]; 8] = [&a, &a, &a, &a, &b, &b, &a, &b];
        assert_eq!(repeats(&row), [false, true, true, true, false, true, false, false]);
    }

    #[test]
    fn in_a_row_of_repeats_any_octet_that_moves_is_seen() {
        let data = vec![0; 1440];
        for at in 0..data.len() {
            let mut other = data.clone();
            other[at] = 1;
            let row: [&[u8]; 5] = [&data, &data, &data, &other, &other];
            assert!(!repeats(&row)[3], "octet {at}");
        }
    }

    #[test]
    fn a_usual_size_is_sampled_like_any_other() {
        let data: Vec<u8> = (0..1447u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 11) as u8).collect();
        for length in 208..data.len() {
            let (words, rest) = data[..length].as_chunks::<8>();
            let tail = rest.iter().fold(0u64, |all, octet| all << 8 | u64::from(*octet));
            let expected = spaced(std::hint::black_box(words), mix(length as u64, tail));
            assert_eq!(
                sample(&data[..length]),
                if words.len() > SAMPLES { expected } else { xxh3_64(&data[..length]) & !FULL },
                "{length}"
            );
        }
    }

    #[test]
    fn a_sample_sees_length_and_most_changes() {
        let data: Vec<u8> = (0..512).map(|i| (i * 7) as u8).collect();
        let moved: Vec<u8> = data.iter().map(|o| o.wrapping_add(1)).collect();
        assert_ne!(sample(&data), sample(&moved));
        assert_ne!(sample(&data), sample(&data[..504]));
    }
}
