//! Sums of 16-bit words with the wide registers of the processor at hand, where it has them; never anything else.
#![allow(unsafe_code, reason = "instructions that not every processor has")]

use super::checksum::{BLOCK, portable};

/// Adds up blocks of 16-bit words in the host's byte order; congruent to [`portable`] modulo 65,535, and 0 exactly
/// where that is. At most 64 KiB.
#[inline]
pub(super) fn sum(blocks: &[[u8; BLOCK]]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, which is all that the function asks for.
        return unsafe { avx2(blocks) };
    }
    portable(blocks)
}

/// Three instructions for 32 octets: words made signed, neighbours added, lanes added. What making them signed took
/// off is given back at the end.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn avx2(blocks: &[[u8; BLOCK]]) -> u64 {
    use std::arch::x86_64::{
        _mm256_add_epi32, _mm256_loadu_si256, _mm256_madd_epi16, _mm256_set1_epi16, _mm256_setzero_si256,
        _mm256_storeu_si256, _mm256_xor_si256,
    };
    let (sign, ones) = (_mm256_set1_epi16(i16::MIN), _mm256_set1_epi16(1));
    let pairs = |block: &[u8; BLOCK]| {
        // SAFETY: 32 octets are read from a reference to as many; no alignment is asked for.
        let words = unsafe { _mm256_loadu_si256(block.as_ptr().cast()) };
        _mm256_madd_epi16(_mm256_xor_si256(words, sign), ones)
    };
    let mut lanes = _mm256_setzero_si256();
    let (fours, rest) = blocks.as_chunks::<4>();
    for [a, b, c, d] in fours {
        let (ab, cd) = (_mm256_add_epi32(pairs(a), pairs(b)), _mm256_add_epi32(pairs(c), pairs(d)));
        lanes = _mm256_add_epi32(lanes, _mm256_add_epi32(ab, cd));
    }
    for block in rest {
        lanes = _mm256_add_epi32(lanes, pairs(block));
    }
    let mut sums = [0i32; 8];
    // SAFETY: 32 octets are written to a local of as many; no alignment is asked for.
    unsafe { _mm256_storeu_si256(sums.as_mut_ptr().cast(), lanes) };
    let taken = 32_768 * (BLOCK / 2 * blocks.len()) as i64;
    (sums.iter().map(|sum| i64::from(*sum)).sum::<i64>() + taken).unsigned_abs()
}

/// Has the processor fetch the octets from `at` on into its cache, where there are any; they will be looked at soon.
#[inline(always)]
pub(super) fn expect(octets: &[u8], at: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(octet) = octets.get(at) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint about an address that lies within a slice; nothing is read by the program.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(octet).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (octets, at);
}
