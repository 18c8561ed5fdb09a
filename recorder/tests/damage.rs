//! Damaged images: no panic, no hang, and no lie: whatever frame is returned was written exactly so.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "helpers of tests")]

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use std::collections::HashMap;
use wireproof_recorder::account::account;
use wireproof_recorder::header::Identity;
use wireproof_recorder::layout::{HEADER_BYTES, RECORD_BYTES, file_bytes};
use wireproof_recorder::snapshot::{self, Times};
use wireproof_recorder::v1::{self, FieldMap};
use wireproof_recorder::words::HeapWords;
use wireproof_recorder::{Event, Frame, Policy, Writer, parse};

/// Images for each kind, unless `WIREPROOF_FUZZ_RINGS` says otherwise.
const IMAGES: u64 = 3000;

struct Written {
    plain: Vec<u8>,
    sealed: Vec<u8>,
    frames: HashMap<u32, Frame>,
}

fn event(n: u64) -> Event {
    Event { aux: n, ..Event::span(n as u16 % 20, 1000 * n, 1000 * n + 17).device(n as u16 % 4, 2) }
}

/// A ring with frames of all sizes, abandoned ones and records between; with and without a wrap.
fn written(capacity: u64, frames: u32) -> Written {
    let memory = HeapWords::new((file_bytes(capacity) / 8) as usize);
    let mut writer = Writer::start(&memory, &Identity::default(), capacity, 0x66AA_0002).unwrap();
    let mut all = HashMap::new();
    for id in 1..=frames {
        let mut batch = writer.frame(id);
        (0..u64::from(id % 29)).for_each(|n| _ = batch.event(&event(u64::from(id) * 64 + n)));
        if id % 17 == 0 {
            drop(batch);
            continue;
        }
        batch.complete(u64::from(id) * 64_000, u64::from(id) * 64_000 + 5000);
        if id % 5 == 0 {
            writer.event(&event(u64::from(id)));
        }
        let copy = snapshot::take(&memory).unwrap();
        let ring = parse(copy.octets(), Policy::Exact).unwrap();
        all.insert(id, ring.frames.last().unwrap().clone());
    }
    // Killed inside a frame: the tail is there.
    let mut batch = writer.frame(frames + 1);
    (0..11).for_each(|n| _ = batch.event(&event(n)));
    std::mem::forget(batch);
    let plain = snapshot::take(&memory).unwrap().into_octets();
    let sealed = snapshot::take(&memory).unwrap().seal(&Times::default(), 3);
    Written { plain, sealed, frames: all }
}

fn below(random: &mut ChaCha8Rng, limit: usize) -> usize {
    random.next_u32() as usize % limit.max(1)
}

/// One act of damage.
fn hurt(image: &mut Vec<u8>, random: &mut ChaCha8Rng) {
    let at = match below(random, 3) {
        0 => below(random, HEADER_BYTES.min(image.len())),
        // The words that decide most: generation, positions, counters, stamp.
        1 => 8 * below(random, 76.min(image.len() / 8)),
        _ => below(random, image.len()),
    };
    let slots = image.len().saturating_sub(HEADER_BYTES) / RECORD_BYTES;
    let slot = |n: usize| HEADER_BYTES + n * RECORD_BYTES;
    match below(random, 9) {
        0..=2 => flip(image, at, 1 << below(random, 8)),
        3 => flip(image, at, random.next_u32() as u8),
        4 => set_word(image, at & !7, random.next_u64()),
        5 => set_word(image, at & !7, u64::from(random.next_u32() % 3000)),
        6 if slots > 0 => {
            let (from, to) = (slot(below(random, slots)), slot(below(random, slots)));
            image.copy_within(from..from + RECORD_BYTES, to);
        }
        7 if slots > 0 => {
            let (from, to) = (slot(below(random, slots)) + 8 * below(random, 6), slot(below(random, slots)));
            image.copy_within(from..from + 8, to + 8 * below(random, 6));
        }
        8 if random.next_u32().is_multiple_of(8) => image.truncate(at),
        _ => flip(image, at, 0x80),
    }
}

fn flip(image: &mut [u8], at: usize, bits: u8) {
    image.get_mut(at).into_iter().for_each(|octet| *octet ^= bits);
}

fn set_word(image: &mut [u8], at: usize, value: u64) {
    if let Some(place) = image.get_mut(at..at + 8) {
        place.copy_from_slice(&value.to_le_bytes());
    }
}

fn images() -> u64 {
    std::env::var("WIREPROOF_FUZZ_RINGS").map_or(IMAGES, |n| n.parse().unwrap())
}

/// Frames kept, lies told, images refused.
fn judge(image: &[u8], policy: Policy, written: &Written) -> [u64; 3] {
    match parse(image, policy) {
        Err(_) => [0, 0, 1],
        Ok(ring) => {
            let _ = account(&ring.frames);
            let true_ones = ring.frames.iter().filter(|frame| written.frames.get(&frame.id) == Some(*frame));
            let kept = true_ones.count() as u64;
            [kept, ring.frames.len() as u64 - kept, 0]
        }
    }
}

#[test]
fn damaged_images_tell_no_lies() {
    let rings = [written(512, 14), written(256, 90)];
    let (mut sums, mut seed) = ([0; 3], 0);
    while seed < images() {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let written = &rings[below(&mut random, 2)];
        let mut image = written.plain.clone();
        (0..=below(&mut random, 6)).for_each(|_| hurt(&mut image, &mut random));
        let policy = if random.next_u32() & 1 == 0 { Policy::Exact } else { Policy::Conservative };
        let counts = judge(&image, policy, written);
        assert_eq!(counts[1], 0, "seed {seed}: a frame was returned that was never written so");
        sums = std::array::from_fn(|index| sums[index] + counts[index]);
        seed += 1;
    }
    println!("{seed} images: {} frames kept, {} lies, {} refused", sums[0], sums[1], sums[2]);
    assert!(sums[0] > seed, "the damage leaves something to be wrong about: {sums:?}");
    assert!(sums[2] > seed / 20, "some damage is fatal: {sums:?}");
}

#[test]
fn a_damaged_stamped_image_is_refused_or_unharmed() {
    let written = written(256, 90);
    let whole = parse(&written.sealed, Policy::Exact).unwrap();
    let (mut refused, mut accepted) = (0, 0);
    for seed in 0..images() {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut image = written.sealed.clone();
        // The magic of the stamp keeps it a stamped image.
        (0..=below(&mut random, 3)).for_each(|_| hurt(&mut image, &mut random));
        if image.get(0x200..0x208) != Some(b"FRSTAMP2") {
            continue;
        }
        match parse(&image, Policy::Exact) {
            Err(_) => refused += 1,
            Ok(ring) => {
                accepted += 1;
                assert_eq!((ring.frames, ring.drops), (whole.frames.clone(), whole.drops), "seed {seed}");
            }
        }
    }
    println!("{refused} refused, {accepted} unharmed where it counts");
    assert!(refused > accepted, "{refused} refused, {accepted} accepted");
}

#[test]
fn octets_of_any_kind_are_refused_or_read() {
    for seed in 0..images() {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut image = vec![0; below(&mut random, 3 * HEADER_BYTES)];
        image.iter_mut().for_each(|octet| *octet = random.next_u32() as u8);
        assert!(parse(&image, Policy::Exact).is_err(), "seed {seed}");
        let _ = v1::parse(&image, &map(&mut random));
        let _ = v1::score(&image, &map(&mut random));
    }
}

/// A map that was checked, with numbers of all kinds.
fn map(random: &mut ChaCha8Rng) -> FieldMap {
    let mut map = FieldMap::named(v1::NAMES[below(random, 2)]).unwrap();
    map.magic = None;
    loop {
        let mut other = map.clone();
        other.header = below(random, 5000);
        other.record = below(random, 100);
        other.visible = below(random, 5000);
        other.capacity = None;
        other.seq = (random.next_u32() & 1 == 0).then(|| below(random, 4096));
        other.commit = below(random, 60);
        other.fields.frame = (below(random, 50), below(random, 9));
        other.commit_bias = random.next_u64();
        if other.check().is_ok() {
            return other;
        }
    }
}
