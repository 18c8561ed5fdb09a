//! How the protocol touches shared words, so that the very same protocol runs on a mapped file and under a model
//! checker. Holds no protocol.

use crate::layout::{PAYLOAD_WORDS, RECORD_WORDS};
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// Words that may change at any time. A reader's mapping is read-only, so a load is Relaxed and ordering comes from
/// fences alone: stronger loads of read-only memory are not guaranteed to work (`std::sync::atomic`, "Atomic
/// accesses to read-only memory").
pub trait Shared {
    /// Number of words.
    fn len(&self) -> usize;

    /// True without words.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Loads a word, Relaxed; 0 past the end.
    fn load(&self, at: usize) -> u64;

    /// Loads the words of a slot, Relaxed.
    fn load_record(&self, at: usize) -> [u64; RECORD_WORDS] {
        std::array::from_fn(|index| self.load(at + index))
    }

    /// Copies words from `at` on as little-endian octets, each word with one Relaxed load.
    fn copy(&self, at: usize, octets: &mut [u8]) {
        for (index, place) in octets.chunks_exact_mut(8).enumerate() {
            place.copy_from_slice(&self.load(at + index).to_le_bytes());
        }
    }

    /// Loads above stay above, and see what a release fence before the loaded store had put in order.
    fn fence_acquire(&self);
}

/// Words of the one writer.
pub trait SharedMut: Shared {
    /// Stores a word, Relaxed; nothing past the end.
    fn store(&self, at: usize, value: u64);

    /// Stores a word, Release.
    fn store_release(&self, at: usize, value: u64);

    /// Stores a payload Relaxed and its commit word behind it, Release or (in a mutant) Relaxed.
    #[inline]
    fn store_record(&self, at: usize, payload: &[u64; PAYLOAD_WORDS], commit: u64, release: bool) {
        for (index, word) in payload.iter().enumerate() {
            self.store(at + index, *word);
        }
        let at = at + PAYLOAD_WORDS;
        if release { self.store_release(at, commit) } else { self.store(at, commit) }
    }

    /// Stores above stay above the stores below.
    fn fence_release(&self);
}

/// A store that is Release, or Relaxed in a mutant.
#[inline]
fn store(word: &AtomicU64, value: u64, release: bool) {
    if release { word.store(value, Ordering::Release) } else { word.store(value, Ordering::Relaxed) }
}

impl Shared for [AtomicU64] {
    fn len(&self) -> usize {
        <[AtomicU64]>::len(self)
    }

    #[inline]
    fn load(&self, at: usize) -> u64 {
        self.get(at).map_or(0, |word| word.load(Ordering::Relaxed))
    }

    #[inline]
    fn load_record(&self, at: usize) -> [u64; RECORD_WORDS] {
        match self.get(at..).and_then(|rest| rest.first_chunk::<RECORD_WORDS>()) {
            Some(slot) => slot.each_ref().map(|word| word.load(Ordering::Relaxed)),
            None => [0; RECORD_WORDS],
        }
    }

    fn copy(&self, at: usize, octets: &mut [u8]) {
        let words = self.get(at..).unwrap_or_default();
        let (places, _) = octets.as_chunks_mut::<8>();
        for (place, word) in places.iter_mut().zip(words) {
            *place = word.load(Ordering::Relaxed).to_le_bytes();
        }
    }

    #[inline]
    fn fence_acquire(&self) {
        fence(Ordering::Acquire);
    }
}

impl SharedMut for [AtomicU64] {
    #[inline]
    fn store(&self, at: usize, value: u64) {
        if let Some(word) = self.get(at) {
            word.store(value, Ordering::Relaxed);
        }
    }

    #[inline]
    fn store_release(&self, at: usize, value: u64) {
        if let Some(word) = self.get(at) {
            word.store(value, Ordering::Release);
        }
    }

    #[inline]
    fn store_record(&self, at: usize, payload: &[u64; PAYLOAD_WORDS], commit: u64, release: bool) {
        let Some(slot) = self.get(at..).and_then(|rest| rest.first_chunk::<RECORD_WORDS>()) else { return };
        for (place, word) in slot.iter().zip(payload) {
            place.store(*word, Ordering::Relaxed);
        }
        store(&slot[PAYLOAD_WORDS], commit, release);
    }

    #[inline]
    fn fence_release(&self) {
        fence(Ordering::Release);
    }
}
