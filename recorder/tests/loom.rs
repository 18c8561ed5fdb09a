//! The protocol under a model checker: every interleaving and every stale value a Relaxed load may return, and for
//! each step of the protocol a mutant without it that lets a torn record through.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use loom::model::Builder;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering, fence};
use loom::thread;
use std::panic::{AssertUnwindSafe, catch_unwind};
use wireproof_recorder::bracket;
use wireproof_recorder::layout::{
    CLAIMED, FRAMES_PUBLISHED, GENERATION, HEADER_WORDS, LAST_FRAME, LAST_FRAME_END, PAYLOAD_WORDS, PUB_SEQ,
    RECORD_WORDS, VISIBLE, commit, slot, word,
};
use wireproof_recorder::memory::{Shared, SharedMut};
use wireproof_recorder::protocol::{self, Protocol, Published, Sound};

/// Slots of the ring under test.
const CAPACITY: u64 = 2;
/// Payload words of a record under test: two are enough to be torn.
const PAYLOAD: usize = 2;
const GENERATION_1: u64 = 4;
const GENERATION_2: u64 = 6;
const HEADER: [usize; 7] =
    [GENERATION, CLAIMED, PUB_SEQ, VISIBLE, LAST_FRAME, FRAMES_PUBLISHED, LAST_FRAME_END];

/// The few words of the ring that the protocol touches.
struct Words {
    header: [AtomicU64; HEADER.len()],
    slots: [[AtomicU64; PAYLOAD + 1]; CAPACITY as usize],
}

impl Words {
    fn new() -> Self {
        let zero = || AtomicU64::new(0);
        Words {
            header: std::array::from_fn(|_| zero()),
            slots: std::array::from_fn(|_| std::array::from_fn(|_| zero())),
        }
    }

    /// `None` for payload words that are left out to keep the model small.
    fn at(&self, at: usize) -> Option<&AtomicU64> {
        if let Some(index) = HEADER.iter().position(|octet| word(*octet) == at) {
            return Some(&self.header[index]);
        }
        let inside = at.checked_sub(HEADER_WORDS)?;
        let slot = &self.slots[inside / RECORD_WORDS];
        match inside % RECORD_WORDS {
            PAYLOAD_WORDS => Some(&slot[PAYLOAD]),
            place => slot[..PAYLOAD].get(place),
        }
    }
}

impl Shared for Words {
    fn len(&self) -> usize {
        HEADER_WORDS + CAPACITY as usize * RECORD_WORDS
    }

    fn load(&self, at: usize) -> u64 {
        self.at(at).map_or(0, |word| word.load(Ordering::Relaxed))
    }

    /// The payload alone: the commit word is the caller's to check, and one load less keeps the model small.
    fn load_record(&self, at: usize) -> [u64; RECORD_WORDS] {
        std::array::from_fn(|place| if place < PAYLOAD { self.load(at + place) } else { 0 })
    }

    fn fence_acquire(&self) {
        fence(Ordering::Acquire);
    }
}

impl SharedMut for Words {
    fn store(&self, at: usize, value: u64) {
        if let Some(word) = self.at(at) {
            word.store(value, Ordering::Relaxed);
        }
    }

    fn store_release(&self, at: usize, value: u64) {
        if let Some(word) = self.at(at) {
            word.store(value, Ordering::Release);
        }
    }

    fn fence_release(&self) {
        fence(Ordering::Release);
    }
}

/// The payload of an ordinal in a generation, in every word.
fn payload(generation: u64, ordinal: u64) -> [u64; PAYLOAD_WORDS] {
    std::array::from_fn(|place| if place < PAYLOAD { generation * 1000 + ordinal + 1 } else { 0 })
}

/// Writes and publishes an ordinal, claiming it first.
fn write<P: Protocol>(words: &Words, generation: u64, ordinal: u64) {
    protocol::claim::<P>(words, generation, ordinal, 1, CAPACITY);
    protocol::put::<P>(words, generation, ordinal, CAPACITY, &payload(generation, ordinal));
    let block = Published { visible: ordinal + 1, ..Published::default() };
    protocol::publish::<P>(words, 2 * ordinal, &block);
}

/// A ring that is full, or past that: the next ordinal overwrites.
fn written<P: Protocol>(ordinals: u64) -> Arc<Words> {
    let words = Arc::new(Words::new());
    protocol::start::<Words, P>(&words, GENERATION_1, |_| ());
    (0..ordinals).for_each(|ordinal| write::<P>(&words, GENERATION_1, ordinal));
    words
}

/// Reads one record by its commit word while its slot is written again.
fn record_check<P: Protocol>() {
    let words = written::<P>(CAPACITY);
    let writer = thread::spawn({
        let words = Arc::clone(&words);
        move || write::<P>(&words, GENERATION_1, CAPACITY)
    });
    for ordinal in [0, CAPACITY] {
        if let Some(read) = protocol::record::<P>(&*words, GENERATION_1, ordinal, CAPACITY) {
            assert_eq!(read, payload(GENERATION_1, ordinal), "torn");
        }
    }
    writer.join().unwrap();
}

/// Copies the ring in a bracket while the writer goes on; whatever the window names is whole, commit word or not.
fn bracket_copy<P: Protocol>() {
    let words = written::<P>(CAPACITY);
    let writer = thread::spawn({
        let words = Arc::clone(&words);
        move || write::<P>(&words, GENERATION_1, CAPACITY)
    });
    copy_and_check::<P>(&words, &[GENERATION_1]);
    writer.join().unwrap();
}

/// The same while the writer of a ring that has wrapped starts over in place.
fn generation_change<P: Protocol>() {
    let words = written::<P>(CAPACITY + 1);
    let writer = thread::spawn({
        let words = Arc::clone(&words);
        move || {
            protocol::start::<Words, P>(&words, GENERATION_2, |words| {
                words.store(word(CLAIMED), 0);
                words.store(word(VISIBLE), 0);
            });
            write::<P>(&words, GENERATION_2, 0);
        }
    });
    copy_and_check::<P>(&words, &[GENERATION_1, GENERATION_2]);
    writer.join().unwrap();
}

fn copy_and_check<P: Protocol>(words: &Words, generations: &[u64]) {
    let Ok(before) = bracket::open::<P>(&words) else { return };
    assert!(generations.contains(&before.generation));
    let copy: Vec<_> =
        (0..CAPACITY).map(|slot| words.load_record(HEADER_WORDS + slot as usize * RECORD_WORDS)).collect();
    let Ok(after) = bracket::close::<P>(&words, &before) else { return };
    for ordinal in bracket::window(&before, &after, CAPACITY) {
        let [read @ .., _] = copy[(ordinal % CAPACITY) as usize];
        assert_eq!(read, payload(before.generation, ordinal), "torn");
    }
}

/// A slot that is marked for its next record is not in the window: nothing whole is refused.
fn nothing_refused<P: Protocol>() {
    let words = written::<P>(CAPACITY);
    let writer = thread::spawn({
        let words = Arc::clone(&words);
        move || write::<P>(&words, GENERATION_1, CAPACITY)
    });
    if let Ok(before) = bracket::open::<P>(&&*words) {
        let at = |ordinal| slot(ordinal, CAPACITY) + PAYLOAD_WORDS;
        let commits: Vec<_> = (0..CAPACITY).map(|ordinal| words.load(at(ordinal))).collect();
        if let Ok(after) = bracket::close::<P>(&&*words, &before) {
            for ordinal in bracket::window(&before, &after, CAPACITY) {
                let read = commits[(ordinal % CAPACITY) as usize];
                assert_eq!(read, commit(GENERATION_1, ordinal), "refused");
            }
        }
    }
    writer.join().unwrap();
}

/// Reads the published block while it is replaced: all fields are of one publication.
fn published_block<P: Protocol>() {
    let words = Arc::new(Words::new());
    let writer = thread::spawn({
        let words = Arc::clone(&words);
        move || {
            for n in 1..=2 {
                let block = Published { visible: n, last_frame: 10 * n, frames: 0, last_end_ns: 100 * n };
                protocol::publish::<P>(&*words, 2 * (n - 1), &block);
            }
        }
    });
    if let Some(block) = protocol::published::<P>(&*words, 1) {
        assert_eq!((block.last_frame, block.last_end_ns), (10 * block.visible, 100 * block.visible), "torn");
    }
    writer.join().unwrap();
}

/// A mutant leaves one step out.
macro_rules! mutant {
    ($name:ident: $($step:ident),+) => {
        struct $name;
        impl Protocol for $name {
            $(const $step: bool = false;)+
        }
    };
}

mutant!(NoClaim: CLAIM);
mutant!(NoClaimFence: CLAIM_FENCE);
mutant!(NoMark: MARK);
mutant!(NoMarkFence: MARK_FENCE);
mutant!(NoReleaseFences: CLAIM_FENCE, MARK_FENCE, PUBLISH_FENCE, RESTART_FENCE);
mutant!(RelaxedCommit: COMMIT_RELEASE);
mutant!(NoPublishFence: PUBLISH_FENCE);
mutant!(RelaxedPublish: PUBLISH_RELEASE);
mutant!(NoRestartFence: RESTART_FENCE);
mutant!(NoReadFences: READ_FENCES);
mutant!(NoGenerationFence: GENERATION_FENCE);
mutant!(NoRecheck: RECHECK);

fn explore(preemptions: Option<usize>, model: fn()) {
    let mut builder = Builder::new();
    builder.preemption_bound = preemptions;
    builder.max_branches = 10_000;
    builder.check(model);
}

/// The model finds a torn record; anything else that goes wrong is not what is asked for.
fn finds_it(name: &str, preemptions: Option<usize>, model: fn()) {
    finds(name, "torn", preemptions, model);
}

fn finds(name: &str, what: &str, preemptions: Option<usize>, model: fn()) {
    let outcome = catch_unwind(AssertUnwindSafe(|| explore(preemptions, model)));
    let text = match outcome {
        Ok(()) => panic!("{name}: nothing {what} found"),
        Err(panic) => panic.downcast_ref::<String>().cloned().unwrap_or_default(),
    };
    assert!(text.contains(what), "{name}: {text}");
}

#[test]
fn a_record_that_passes_its_check_is_whole() {
    explore(None, record_check::<Sound>);
}

#[test]
fn a_copy_is_whole_inside_its_window() {
    explore(bound(), bracket_copy::<Sound>);
}

#[test]
fn a_copy_s_window_refuses_nothing_whole() {
    explore(None, nothing_refused::<Sound>);
    finds("no fence behind the claim", "refused", None, nothing_refused::<NoClaimFence>);
    finds("no claim", "refused", None, nothing_refused::<NoClaim>);
}

#[test]
fn a_copy_never_mixes_generations() {
    explore(bound(), generation_change::<Sound>);
}

#[test]
fn the_published_block_is_of_one_publication() {
    explore(bound(), published_block::<Sound>);
}

#[test]
fn the_record_check_needs_each_of_its_steps() {
    finds_it("no marks", None, record_check::<NoMark>);
    finds_it("no release fences", None, record_check::<NoReleaseFences>);
    finds_it("no fence behind the marks", None, record_check::<NoMarkFence>);
    finds_it("relaxed commit word", None, record_check::<RelaxedCommit>);
    finds_it("no acquire fences", None, record_check::<NoReadFences>);
    finds_it("no second look", None, record_check::<NoRecheck>);
}

#[test]
fn the_window_needs_each_of_its_steps() {
    finds_it("no claim", bound(), bracket_copy::<NoClaim>);
    finds_it("no release fences", bound(), bracket_copy::<NoReleaseFences>);
    finds_it("no acquire fences", bound(), bracket_copy::<NoReadFences>);
}

#[test]
fn a_restart_needs_each_of_its_steps() {
    finds_it("no fence behind the odd generation", bound(), generation_change::<NoRestartFence>);
    finds_it("no fence before the generation", bound(), generation_change::<NoGenerationFence>);
    finds_it("no acquire fences", bound(), generation_change::<NoReadFences>);
    finds_it("no second look", bound(), generation_change::<NoRecheck>);
}

#[test]
fn the_published_block_needs_each_of_its_steps() {
    finds_it("no fence behind the odd sequence", bound(), published_block::<NoPublishFence>);
    finds_it("relaxed even sequence", bound(), published_block::<RelaxedPublish>);
    finds_it("no acquire fences", bound(), published_block::<NoReadFences>);
    finds_it("no second look", bound(), published_block::<NoRecheck>);
}

/// Preemptions explored where the whole space takes minutes: `WIREPROOF_LOOM=full` explores all of it.
fn bound() -> Option<usize> {
    let full = std::env::var("WIREPROOF_LOOM").is_ok_and(|value| value == "full");
    if full { None } else { Some(3) }
}
