//! The bracket around a copy: what is read before it and after it decides which ordinals of the copy are whole.
//! Never reads a record itself.

use crate::image::Refusal;
use crate::layout::{CLAIMED, GENERATION, VISIBLE, word};
use crate::protocol::Protocol;
use std::io;
use std::ops::Range;

/// Where a copy is taken from: a mapping, or a file read with `pread`.
pub trait Source {
    /// Number of whole words.
    ///
    /// # Errors
    /// Whatever the system says.
    fn words(&self) -> io::Result<u64>;

    /// Loads a word.
    ///
    /// # Errors
    /// Whatever the system says; the end of the file comes too early when it was cut short.
    fn word(&self, at: usize) -> io::Result<u64>;

    /// Copies whole words from the word `at` on.
    ///
    /// # Errors
    /// As [`Source::word`].
    fn copy(&self, at: usize, octets: &mut [u8]) -> io::Result<()>;

    /// An Acquire fence.
    fn fence(&self);
}

/// What was read in front of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Before {
    /// Generation, even.
    pub generation: u64,
    /// Ordinals below this were published.
    pub visible: u64,
}

/// What was read behind a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct After {
    /// Generation, the same.
    pub generation: u64,
    /// Ordinals below this were published.
    pub visible: u64,
    /// Ordinals below this were in writing.
    pub claimed: u64,
}

/// Why there is no copy.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The ring says no.
    #[error("{0}")]
    Refused(#[from] Refusal),
    /// The system says no.
    #[error("the ring cannot be read ({0}): was it cut short or removed?")]
    Io(#[from] io::Error),
}

/// Opens the bracket.
///
/// # Errors
/// The ring is being initialised, or cannot be read.
pub fn open<P: Protocol>(source: &impl Source) -> Result<Before, CopyError> {
    let generation = source.word(word(GENERATION))?;
    if generation & 1 == 1 || generation == 0 {
        return Err(Refusal::Initialising.into());
    }
    fence::<P>(source);
    let visible = source.word(word(VISIBLE))?;
    fence::<P>(source);
    Ok(Before { generation, visible })
}

/// Closes the bracket.
///
/// # Errors
/// The generation has changed since, or the ring cannot be read.
pub fn close<P: Protocol>(source: &impl Source, before: &Before) -> Result<After, CopyError> {
    fence::<P>(source);
    let claimed = source.word(word(CLAIMED))?;
    let visible = source.word(word(VISIBLE))?;
    // Positions of a restart in place are seen with its generation, or the window would reach back too far.
    if P::GENERATION_FENCE {
        fence::<P>(source);
    }
    let generation = source.word(word(GENERATION))?;
    if P::RECHECK && generation != before.generation {
        return Err(Refusal::GenerationChanged.into());
    }
    Ok(After { generation, visible, claimed })
}

/// The ordinals of a copy that are whole: published before it, and not yet claimed again behind it.
pub fn window(before: &Before, after: &After, capacity: u64) -> Range<u64> {
    after.claimed.saturating_sub(capacity)..before.visible
}

fn fence<P: Protocol>(source: &impl Source) {
    if P::READ_FENCES {
        source.fence();
    }
}
