//! Memory that will be touched soon: hints to the processor, which reads it into its caches meanwhile.
//!
//! Never reads or writes anything itself: a program without these hints does the same, later.

#![allow(unsafe_code, reason = "hints to the processor are only to be had as intrinsics")]

/// Octets of a line of the cache.
const LINE: usize = 64;

/// The line in which `it` begins.
#[inline(always)]
pub(super) fn fetch<T>(it: &T) {
    fetch_head::<1, T>(it);
}

/// All of `it`, where it begins with a line.
#[inline(always)]
pub(super) fn fetch_all<T>(it: &T) {
    for line in 0..size_of::<T>().div_ceil(LINE) {
        hint(std::ptr::from_ref(it).cast::<u8>().wrapping_add(line * LINE));
    }
}

/// The first octets of `it`, where it begins with a line.
#[inline(always)]
pub(super) fn fetch_head<const OCTETS: usize, T>(it: &T) {
    for line in 0..OCTETS.div_ceil(LINE) {
        hint(std::ptr::from_ref(it).cast::<u8>().wrapping_add(line * LINE));
    }
}

/// One of a row, the whole of which need not be fetched.
#[inline(always)]
pub(super) fn fetch_at<T>(row: &[T], at: usize) {
    if let Some(it) = row.get(at) {
        hint(std::ptr::from_ref(it).cast());
    }
}

/// Where the next element of a row will be put.
#[inline(always)]
pub(super) fn fetch_end<T>(row: &[T]) {
    hint(row.as_ptr_range().end.cast());
}

#[inline(always)]
fn hint(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint about an address, whatever is there: nothing is read by the program, and nothing can fault.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}
