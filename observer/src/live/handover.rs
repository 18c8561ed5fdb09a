//! Blocks of memory between the receive loop and a writing thread: the loop fills them and never waits for an empty one.

use crossbeam_channel::{Receiver, Sender, bounded};
use std::time::{Duration, Instant};

/// Octets of a block.
pub(super) const BLOCK: usize = 1 << 20;
/// Blocks of a run.
pub(super) const BLOCKS: usize = 32;
/// A block that is not full is handed over after this long.
const FLUSH: Duration = Duration::from_millis(250);

/// The loop's end.
pub(super) struct Handover {
    pub(super) block: Vec<u8>,
    empty: Receiver<Vec<u8>>,
    full: Sender<Vec<u8>>,
    flushed: Instant,
    rounds: u32,
}

/// The thread's end: full blocks come, empty ones go back.
pub(super) struct Blocks {
    full: Receiver<Vec<u8>>,
    empty: Sender<Vec<u8>>,
}

/// Both ends, and all memory of the run.
pub(super) fn handover() -> (Handover, Blocks) {
    let (give, empty) = bounded::<Vec<u8>>(BLOCKS);
    let (full, filled) = bounded::<Vec<u8>>(BLOCKS + 1);
    for _ in 1..BLOCKS {
        let _ = give.try_send(block());
    }
    (Handover::new(empty, full), Blocks { full: filled, empty: give })
}

/// An empty block whose pages are there: zeros alone would be mapped when the receive loop first writes to them.
fn block() -> Vec<u8> {
    let mut block = vec![1; BLOCK];
    block.clear();
    block
}

impl Handover {
    pub(super) fn new(empty: Receiver<Vec<u8>>, full: Sender<Vec<u8>>) -> Handover {
        Handover { block: block(), empty, full, flushed: Instant::now(), rounds: 0 }
    }

    /// Makes room for so many octets, at most a block; `false` when there is none.
    #[inline]
    pub(super) fn room(&mut self, octets: usize) -> bool {
        self.block.len() + octets <= BLOCK || self.turn()
    }

    /// As [`Handover::room`], and waits for it: the loop is over.
    pub(super) fn room_at_last(&mut self, octets: usize) -> bool {
        if self.block.len() + octets <= BLOCK {
            return true;
        }
        let Ok(next) = self.empty.recv() else { return false };
        self.hand_over(next)
    }

    /// A round of the loop went by: hands over what has waited long enough.
    pub(super) fn tick(&mut self) {
        self.rounds = self.rounds.wrapping_add(1);
        if self.rounds.is_multiple_of(16) && !self.block.is_empty() && self.flushed.elapsed() >= FLUSH {
            self.turn();
        }
    }

    /// Hands over what is left; the thread ends when this end is dropped. May wait: the loop is over. `false` when
    /// nobody takes it.
    pub(super) fn finish(self) -> bool {
        self.block.is_empty() || self.full.send(self.block).is_ok()
    }

    /// Hands the block over and takes an empty one; `false` when there is none.
    fn turn(&mut self) -> bool {
        let Ok(next) = self.empty.try_recv() else { return false };
        self.hand_over(next)
    }

    fn hand_over(&mut self, next: Vec<u8>) -> bool {
        let full = std::mem::replace(&mut self.block, next);
        self.block.clear();
        self.flushed = Instant::now();
        // The queue holds as many blocks as there are: it cannot be full, only gone.
        self.full.try_send(full).is_ok()
    }
}

impl Blocks {
    /// Hands every block to `each` until the loop's end is gone.
    pub(super) fn each(&self, mut each: impl FnMut(&[u8])) {
        while let Ok(block) = self.full.recv() {
            each(&block);
            let _ = self.empty.try_send(block);
        }
    }
}
