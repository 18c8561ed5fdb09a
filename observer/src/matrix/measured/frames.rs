//! Frames of a stream by what is on the wire: where each begins, whether it is whole, and what it shows.
//!
//! A frame begins when the places in it start over, not when a certain datagram comes: a lost first datagram costs no
//! frame. Half a period has to pass, so that a duplicate or a swap is not taken for a beginning.

use sha2::{Digest, Sha256};

/// The frames of one stream as they come.
#[derive(Debug)]
pub struct FrameStarts {
    half_period_ns: i64,
    whole: usize,
    open: Option<Open>,
}

/// A frame that has begun.
#[derive(Debug)]
struct Open {
    start_ns: i64,
    highest: u64,
    parts: Vec<(u64, u64)>,
}

/// A frame that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Stamp of its first datagram, ns.
    pub start_ns: i64,
    /// Digest of what it shows, hex; `None` when something of it is missing.
    pub digest: Option<String>,
}

impl FrameStarts {
    /// For frames of so many datagrams at a rate.
    pub fn new(fps: u32, datagrams_per_frame: u32) -> FrameStarts {
        let half_period_ns = 500_000_000 / i64::from(fps.max(1));
        FrameStarts { half_period_ns, whole: datagrams_per_frame as usize, open: None }
    }

    /// A datagram at a place of its frame; returns the frame that it ends, if it begins another.
    pub fn datagram(&mut self, at_ns: i64, place: u64, digest: u64) -> Option<Shown> {
        let half = self.half_period_ns;
        let starts_over = |open: &Open| place <= open.highest && at_ns.saturating_sub(open.start_ns) >= half;
        if let Some(open) = self.open.as_mut().filter(|open| !starts_over(open)) {
            if !open.parts.iter().any(|(known, _)| *known == place) {
                open.parts.push((place, digest));
            }
            open.highest = open.highest.max(place);
            return None;
        }
        let next = Open { start_ns: at_ns, highest: place, parts: vec![(place, digest)] };
        self.open.replace(next).map(|over| over.shown(self.whole))
    }

    /// The frame that nothing followed.
    pub fn finish(self) -> Option<Shown> {
        let whole = self.whole;
        self.open.map(|open| open.shown(whole))
    }
}

impl Open {
    fn shown(mut self, whole: usize) -> Shown {
        self.parts.sort_unstable();
        let digest = (self.parts.len() == whole).then(|| {
            let mut sha = Sha256::new();
            for (place, digest) in &self.parts {
                sha.update(place.to_le_bytes());
                sha.update(digest.to_le_bytes());
            }
            sha.finalize().iter().take(8).map(|octet| format!("{octet:02x}")).collect()
        });
        Shown { start_ns: self.start_ns, digest }
    }
}
