//! The steps of writer and reader in their order. The order is the proof: `tests/loom.rs` checks it exhaustively and
//! shows for each step that leaving it out lets a torn record through.
//!
//! Words are stored Relaxed; three fences and two Release stores order them. On a reader's side everything is a
//! Relaxed load and an Acquire fence, because its mapping is read-only.

use crate::layout::{
    CLAIMED, FRAMES_PUBLISHED, GENERATION, LAST_FRAME, LAST_FRAME_END, PAYLOAD_WORDS, PENDING, PUB_SEQ,
    VISIBLE, commit, slot, word,
};
use crate::memory::{Shared, SharedMut};

/// Which steps are taken. [`Sound`] takes all; each mutant of the tests leaves one out.
pub trait Protocol {
    /// `claimed` is raised before the first word of a record is written.
    const CLAIM: bool = true;
    /// The claim is ordered before the pending marks.
    const CLAIM_FENCE: bool = true;
    /// Claimed slots are marked pending before they are written.
    const MARK: bool = true;
    /// The pending marks are ordered before the payload.
    const MARK_FENCE: bool = true;
    /// The commit word is a Release store.
    const COMMIT_RELEASE: bool = true;
    /// The published block is ordered behind the records, and behind its odd sequence.
    const PUBLISH_FENCE: bool = true;
    /// The even sequence of the published block is a Release store.
    const PUBLISH_RELEASE: bool = true;
    /// An odd generation is ordered before the reset of a restart in place.
    const RESTART_FENCE: bool = true;
    /// The reader fences between the parts of its bracket.
    const READ_FENCES: bool = true;
    /// The reader fences between the positions and the generation at the end of its bracket.
    const GENERATION_FENCE: bool = true;
    /// The reader looks again at the end of its bracket.
    const RECHECK: bool = true;
}

/// All steps.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sound;

impl Protocol for Sound {}

/// Claims the ordinals from `next` up to the returned one: raises `claimed`, then marks their slots pending.
pub fn claim<P: Protocol>(
    shared: &impl SharedMut,
    generation: u64,
    next: u64,
    window: u64,
    capacity: u64,
) -> u64 {
    let claimed = next + window;
    if P::CLAIM {
        shared.store(word(CLAIMED), claimed);
    }
    if P::CLAIM_FENCE {
        shared.fence_release();
    }
    if P::MARK {
        for ordinal in next..claimed {
            let at = slot(ordinal, capacity) + PAYLOAD_WORDS;
            shared.store(at, PENDING | commit(generation, ordinal));
        }
    }
    if P::MARK_FENCE {
        shared.fence_release();
    }
    claimed
}

/// Writes one claimed record: payload, then its commit word.
#[inline]
pub fn put<P: Protocol>(
    shared: &impl SharedMut,
    generation: u64,
    ordinal: u64,
    capacity: u64,
    payload: &[u64; PAYLOAD_WORDS],
) {
    shared.store_record(slot(ordinal, capacity), payload, commit(generation, ordinal), P::COMMIT_RELEASE);
}

/// The block that a publication replaces as one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Published {
    /// Ordinals below this are published.
    pub visible: u64,
    /// Id of the last published frame.
    pub last_frame: u64,
    /// Frames published.
    pub frames: u64,
    /// End of the last published frame, ns.
    pub last_end_ns: u64,
}

/// Publishes: odd sequence, block, even sequence. `sequence` is the even one before.
pub fn publish<P: Protocol>(shared: &impl SharedMut, sequence: u64, block: &Published) -> u64 {
    shared.store(word(PUB_SEQ), sequence + 1);
    if P::PUBLISH_FENCE {
        shared.fence_release();
    }
    shared.store(word(VISIBLE), block.visible);
    shared.store(word(LAST_FRAME), block.last_frame);
    shared.store(word(FRAMES_PUBLISHED), block.frames);
    shared.store(word(LAST_FRAME_END), block.last_end_ns);
    if P::PUBLISH_RELEASE {
        shared.store_release(word(PUB_SEQ), sequence + 2);
    } else {
        shared.store(word(PUB_SEQ), sequence + 2);
    }
    sequence + 2
}

/// Starts a generation: odd, whatever `reset` stores, then even. `generation` is the even one.
pub fn start<M: SharedMut, P: Protocol>(shared: &M, generation: u64, reset: impl FnOnce(&M)) {
    shared.store(word(GENERATION), generation.wrapping_sub(1));
    if P::RESTART_FENCE {
        shared.fence_release();
    }
    reset(shared);
    shared.store_release(word(GENERATION), generation);
}

/// Reads the published block as one; `None` when a publication is under way in each of the tries.
pub fn published<P: Protocol>(shared: &impl Shared, tries: usize) -> Option<Published> {
    for _ in 0..tries {
        let before = shared.load(word(PUB_SEQ));
        if P::READ_FENCES {
            shared.fence_acquire();
        }
        let block = Published {
            visible: shared.load(word(VISIBLE)),
            last_frame: shared.load(word(LAST_FRAME)),
            frames: shared.load(word(FRAMES_PUBLISHED)),
            last_end_ns: shared.load(word(LAST_FRAME_END)),
        };
        if P::READ_FENCES {
            shared.fence_acquire();
        }
        if before & 1 == 0 && (!P::RECHECK || shared.load(word(PUB_SEQ)) == before) {
            return Some(block);
        }
    }
    None
}

/// Reads one record by its commit word alone, checked before and after.
pub fn record<P: Protocol>(
    shared: &impl Shared,
    generation: u64,
    ordinal: u64,
    capacity: u64,
) -> Option<[u64; PAYLOAD_WORDS]> {
    let (at, expected) = (slot(ordinal, capacity), commit(generation, ordinal));
    if shared.load(at + PAYLOAD_WORDS) != expected {
        return None;
    }
    if P::READ_FENCES {
        shared.fence_acquire();
    }
    let [payload @ .., _] = shared.load_record(at);
    if P::READ_FENCES {
        shared.fence_acquire();
    }
    (!P::RECHECK || shared.load(at + PAYLOAD_WORDS) == expected).then_some(payload)
}
