//! A frame allocates nothing once an encoder has seen its length, whatever the protocol, packing and backend; nor does
//! a length it has seen a longer one of.
#![allow(unsafe_code, reason = "a counting allocator implements GlobalAlloc, which is an unsafe trait")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests count as tests")]

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use support::{each, frame};
use wireproof_protocols::Timestamp;

/// The system allocator, counting what each thread asks of it.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    let _ = ALLOCATIONS.try_with(|n| n.set(n.get() + 1));
}

// SAFETY: every call is passed on to the system allocator unchanged; counting touches a thread-local cell that
// needs no allocation.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(old, layout, size) }
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(old, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations while `work` runs on this thread.
fn counted(work: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.with(Cell::get);
    work();
    ALLOCATIONS.with(Cell::get) - before
}

#[test]
fn the_counter_sees_an_allocation() {
    assert_eq!(counted(|| drop(std::hint::black_box(Box::new(7)))), 1);
}

#[test]
fn frames_of_a_known_length_allocate_nothing() {
    let frames = [frame(8640, 1), frame(8640, 2)];
    each(|protocol, backend, _, mut encoder| {
        encoder.set_time(Timestamp(1_000));
        encoder.frame_mut(8640).unwrap().copy_from_slice(&frames[0]);
        encoder.encode(&frames[0]).unwrap();
        let n = counted(|| {
            for nth in 0..300 {
                encoder.set_time(Timestamp(nth * 16_666_667));
                let batch = encoder.encode(&frames[nth as usize % 2]).unwrap();
                assert!(std::hint::black_box(batch.octets()) > 8640);
                assert!(std::hint::black_box(encoder.encode_own().unwrap().octets()) > 8640);
            }
        });
        assert_eq!(n, 0, "{} {}", protocol.name(), backend.name());
    });
}

#[test]
fn shorter_frames_than_the_longest_allocate_nothing() {
    let frame = frame(20_001, 1);
    each(|protocol, backend, _, mut encoder| {
        encoder.encode(&frame).unwrap();
        // An odd end of Art-Net takes a third part, which the longest frame here has, too.
        let n = counted(|| {
            for octets in (1..20_000).step_by(977) {
                assert!(std::hint::black_box(encoder.encode(&frame[..octets]).unwrap().octets()) > octets);
            }
        });
        assert_eq!(n, 0, "{} {}", protocol.name(), backend.name());
    });
}
