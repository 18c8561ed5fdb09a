//! The one file with unsafe code: the words of a mapped file, and words of this process's own memory. Owns no
//! protocol; every access is one atomic operation on an aligned word.

#![allow(unsafe_code, reason = "a mapping is raw memory; this file is the only one that makes words of it")]

use crate::memory::{Shared, SharedMut};
use memmap2::MmapRaw;
use std::sync::atomic::AtomicU64;

/// Words of a read-only mapping: loads only.
#[derive(Debug)]
pub struct ReadWords(MmapRaw);

/// Words of a writable mapping.
#[derive(Debug)]
pub struct WriteWords(MmapRaw);

/// Words on the heap, for tests and for rings that nobody else reads.
#[derive(Debug)]
pub struct HeapWords(Box<[AtomicU64]>);

/// The words of a mapping; octets behind the last whole word are left out.
fn words(map: &MmapRaw) -> &[AtomicU64] {
    // SAFETY: `map` is one live mapping of `len` octets that lasts as long as the borrow. It starts at a page, which
    // aligns it for a word, and every bit pattern is an `AtomicU64`. All access in this process goes through these
    // atomics: no `&[u8]` or `&mut` over the mapping exists anywhere (`MmapRaw` has no `Deref`). Other processes
    // write aligned words too, or damage the content, which readers check. A file that is cut short raises SIGBUS:
    // `file` maps its own files only, allocated in full; foreign files are read by `pread` (`snapshot::Pread`).
    // A `ReadWords` is never stored to, because it does not implement `SharedMut`, and is only loaded Relaxed.
    unsafe {
        std::slice::from_raw_parts(map.as_ptr().cast::<AtomicU64>(), map.len() / size_of::<AtomicU64>())
    }
}

impl ReadWords {
    /// Takes a mapping that may be read-only.
    pub fn new(map: MmapRaw) -> Self {
        ReadWords(map)
    }
}

impl WriteWords {
    /// Takes a mapping that is writable, as `MmapRaw::map_raw` makes it.
    pub(crate) fn new(map: MmapRaw) -> Self {
        WriteWords(map)
    }

    /// Pins the pages in memory.
    ///
    /// # Errors
    /// Whatever the system says, often the limit on locked memory.
    pub(crate) fn lock(&self) -> std::io::Result<()> {
        self.0.lock()
    }
}

impl HeapWords {
    /// So many words, all zero.
    pub fn new(words: usize) -> Self {
        HeapWords((0..words).map(|_| AtomicU64::new(0)).collect())
    }
}

impl AsRef<[AtomicU64]> for ReadWords {
    #[inline]
    fn as_ref(&self) -> &[AtomicU64] {
        words(&self.0)
    }
}

impl AsRef<[AtomicU64]> for WriteWords {
    #[inline]
    fn as_ref(&self) -> &[AtomicU64] {
        words(&self.0)
    }
}

impl AsRef<[AtomicU64]> for HeapWords {
    #[inline]
    fn as_ref(&self) -> &[AtomicU64] {
        &self.0
    }
}

/// Hands every access on to the slice of words.
macro_rules! shared {
    ($name:ty) => {
        impl Shared for $name {
            fn len(&self) -> usize {
                self.as_ref().len()
            }
            #[inline]
            fn load(&self, at: usize) -> u64 {
                Shared::load(self.as_ref(), at)
            }
            #[inline]
            fn load_record(&self, at: usize) -> [u64; crate::layout::RECORD_WORDS] {
                self.as_ref().load_record(at)
            }
            fn copy(&self, at: usize, octets: &mut [u8]) {
                self.as_ref().copy(at, octets);
            }
            #[inline]
            fn fence_acquire(&self) {
                self.as_ref().fence_acquire();
            }
        }
    };
}

/// The same for stores.
macro_rules! shared_mut {
    ($name:ty) => {
        impl SharedMut for $name {
            #[inline]
            fn store(&self, at: usize, value: u64) {
                SharedMut::store(self.as_ref(), at, value);
            }
            #[inline]
            fn store_release(&self, at: usize, value: u64) {
                self.as_ref().store_release(at, value);
            }
            #[inline]
            fn store_record(
                &self,
                at: usize,
                payload: &[u64; crate::layout::PAYLOAD_WORDS],
                commit: u64,
                release: bool,
            ) {
                self.as_ref().store_record(at, payload, commit, release);
            }
            #[inline]
            fn fence_release(&self) {
                self.as_ref().fence_release();
            }
        }
    };
}

shared!(ReadWords);
shared!(WriteWords);
shared!(HeapWords);
shared_mut!(WriteWords);
shared_mut!(HeapWords);

impl<M: Shared + ?Sized> Shared for &M {
    fn len(&self) -> usize {
        M::len(self)
    }
    #[inline]
    fn load(&self, at: usize) -> u64 {
        M::load(self, at)
    }
    #[inline]
    fn load_record(&self, at: usize) -> [u64; crate::layout::RECORD_WORDS] {
        M::load_record(self, at)
    }
    fn copy(&self, at: usize, octets: &mut [u8]) {
        M::copy(self, at, octets);
    }
    #[inline]
    fn fence_acquire(&self) {
        M::fence_acquire(self);
    }
}

impl<M: SharedMut + ?Sized> SharedMut for &M {
    #[inline]
    fn store(&self, at: usize, value: u64) {
        M::store(self, at, value);
    }
    #[inline]
    fn store_release(&self, at: usize, value: u64) {
        M::store_release(self, at, value);
    }
    #[inline]
    fn store_record(
        &self,
        at: usize,
        payload: &[u64; crate::layout::PAYLOAD_WORDS],
        commit: u64,
        release: bool,
    ) {
        M::store_record(self, at, payload, commit, release);
    }
    #[inline]
    fn fence_release(&self) {
        M::fence_release(self);
    }
}
