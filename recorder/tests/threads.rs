//! Writer and reader as threads of one process, small enough for miri: `cargo +nightly miri test -p
//! wireproof-recorder --test threads`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::sync::atomic::{AtomicBool, Ordering};
use wireproof_recorder::bracket::CopyError;
use wireproof_recorder::header::Identity;
use wireproof_recorder::layout::{file_bytes, slot, u64_at};
use wireproof_recorder::memory::Shared;
use wireproof_recorder::snapshot::{self, Times};
use wireproof_recorder::words::HeapWords;
use wireproof_recorder::{Event, Frame, Kind, Policy, Record, Writer, parse};

const CAPACITY: u64 = 16;
const FRAMES: u32 = if cfg!(miri) { 8 } else { 20_000 };
const EVENTS: u64 = 2;

/// Every word of a record says which record it is.
fn event(id: u32, n: u64) -> Event {
    let key = u64::from(id) << 8 | n;
    Event { aux: !key, ..Event::span(id as u16, key, key) }
}

fn check(frame: &Frame) {
    assert_eq!(frame.records.len() as u64, EVENTS + 1);
    assert!(frame.records.iter().take(EVENTS as usize).all(is_whole), "torn: {frame:?}");
}

fn is_whole(record: &Record) -> bool {
    let key = u64::from(record.frame()) << 8 | u64::from(record.seq());
    (record.start_ns(), record.end_ns(), record.aux()) == (key, key, !key)
}

#[test]
fn a_reader_beside_the_writer_gets_whole_frames_only() {
    let memory = HeapWords::new((file_bytes(CAPACITY) / 8) as usize);
    let mut writer = Writer::start(&memory, &Identity::default(), CAPACITY, 2).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for id in 1..=FRAMES {
                if id % 7 == 0 {
                    writer.restart(&Identity::default());
                }
                let mut batch = writer.frame(id);
                (0..EVENTS).for_each(|n| _ = batch.event(&event(id, n)));
                batch.complete(1, 2);
            }
            done.store(true, Ordering::Release);
        });
        loop {
            let last = done.load(Ordering::Acquire);
            read(&memory);
            if last {
                break;
            }
        }
    });
    let image = snapshot::take(&memory).unwrap().seal(&Times::default(), 1);
    let ring = parse(&image, Policy::Exact).unwrap();
    assert_eq!(ring.frames.last().unwrap().id, FRAMES);
}

/// One copy; refusals are what a restart looks like.
fn read(memory: &impl Shared) {
    let copy = match snapshot::take(&memory) {
        Ok(copy) => copy,
        Err(CopyError::Refused(_)) => return,
        Err(error) => panic!("{error}"),
    };
    assert_eq!(copy.uncommitted(), 0, "inside the window every record is there");
    for ordinal in copy.window() {
        let at = slot(ordinal, CAPACITY) * 8;
        let words = std::array::from_fn(|index| u64_at(copy.octets(), at + 8 * index));
        let record = Record { ordinal, words };
        assert!(record.kind() == Some(Kind::FrameComplete) || is_whole(&record), "torn: {record:?}");
    }
    // Checksums of whole images take miri minutes.
    if cfg!(miri) {
        return;
    }
    if let Ok(ring) = parse(&copy.seal(&Times::default(), 1), Policy::Exact) {
        assert_eq!((ring.drops, ring.partial.crc), Default::default());
        ring.frames.iter().for_each(check);
    }
}
