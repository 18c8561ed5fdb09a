//! Frames of a stream by what is on the wire: where each begins, whether it is whole, and what it shows.
//!
//! A frame begins when the places in it start over, not when a certain datagram comes: a lost first datagram costs no
//! frame. The number of a datagram tells a new frame from a duplicate and from one that is late; where that says nothing,
//! half a period has to pass.

use sha2::{Digest, Sha256};

/// Counters with fewer numbers than this come around within a few frames.
const FEW: u64 = 64;

/// The frames of one stream as they come.
#[derive(Debug)]
pub struct FrameStarts {
    half_period_ns: i64,
    whole: usize,
    modulus: u64,
    open: Option<Open>,
}

/// A datagram of a frame.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Its stamp, ns.
    pub at_ns: i64,
    /// Its place in the frame.
    pub place: u64,
    /// Its number, if it has one.
    pub number: Option<u32>,
    /// Digest of its data.
    pub digest: u64,
}

/// A frame that has begun.
#[derive(Debug)]
struct Open {
    start_ns: i64,
    highest: u64,
    parts: Vec<Part>,
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
    /// For frames of so many datagrams at a rate, whose numbers start over after `modulus`.
    pub fn new(fps: u32, datagrams_per_frame: u32, modulus: u64) -> FrameStarts {
        let half_period_ns = 500_000_000 / i64::from(fps.max(1));
        FrameStarts { half_period_ns, whole: datagrams_per_frame as usize, modulus, open: None }
    }

    /// Takes a datagram; returns the frame that it ends, if it begins another.
    pub fn datagram(&mut self, part: Part) -> Option<Shown> {
        let (half, modulus, whole) = (self.half_period_ns, self.modulus, self.whole);
        if let Some(open) = self.open.as_mut().filter(|open| !open.is_over(&part, half, modulus, whole)) {
            if !open.parts.iter().any(|known| known.place == part.place) {
                open.parts.push(part);
            }
            open.highest = open.highest.max(part.place);
            return None;
        }
        let next = Open { start_ns: part.at_ns, highest: part.place, parts: vec![part] };
        self.open.replace(next).map(|over| over.shown(self.whole))
    }

    /// The frame that nothing followed.
    pub fn finish(self) -> Option<Shown> {
        let whole = self.whole;
        self.open.map(|open| open.shown(whole))
    }
}

impl Open {
    /// The datagram is of a later frame.
    fn is_over(&self, part: &Part, half_period_ns: i64, modulus: u64, whole: usize) -> bool {
        let passed = part.at_ns.saturating_sub(self.start_ns) >= half_period_ns;
        let known = self.parts.iter().find(|known| known.place == part.place);
        match known.map(|known| known.number.zip(part.number)) {
            Some(Some((before, now))) if modulus > 1 => {
                let on = (u64::from(now) + modulus - u64::from(before) % modulus) % modulus;
                match modulus {
                    // A few numbers, one a datagram: only the step to the next frame is certain.
                    ..FEW => passed || on > 0 && on == whole as u64 % modulus,
                    _ => on > 0 && on <= modulus / 2,
                }
            }
            Some(_) => passed,
            None => passed && part.place < self.highest,
        }
    }

    fn shown(mut self, whole: usize) -> Shown {
        self.parts.sort_unstable_by_key(|part| part.place);
        let digest = (self.parts.len() == whole).then(|| {
            let mut sha = Sha256::new();
            for part in &self.parts {
                sha.update(part.place.to_le_bytes());
                sha.update(part.digest.to_le_bytes());
            }
            sha.finalize().iter().take(8).map(|octet| format!("{octet:02x}")).collect()
        });
        Shown { start_ns: self.start_ns, digest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// Starts of frames of four datagrams, from stamps in ms, places and numbers.
    fn starts(parts: &[(i64, u64, u32)], modulus: u64) -> Vec<(i64, bool)> {
        let mut frames = FrameStarts::new(60, 4, modulus);
        let part = |(ms, place, number): &(i64, u64, u32)| Part {
            at_ns: ms * MS,
            place: *place,
            number: Some(*number),
            digest: 1,
        };
        let mut shown: Vec<Shown> = parts.iter().filter_map(|p| frames.datagram(part(p))).collect();
        shown.extend(frames.finish());
        shown.iter().map(|frame| (frame.start_ns / MS, frame.digest.is_some())).collect()
    }

    fn frame(ms: i64, number: u32) -> [(i64, u64, u32); 4] {
        [0, 1, 2, 3].map(|place| (ms, place, number))
    }

    #[test]
    fn a_frame_that_follows_a_late_one_at_once_is_a_frame_of_its_own() {
        let parts = [frame(0, 254), frame(28, 255), frame(33, 0), frame(50, 1)].concat();
        assert_eq!(starts(&parts, 256), [(0, true), (28, true), (33, true), (50, true)]);
    }

    #[test]
    fn duplicates_and_late_datagrams_begin_no_frame() {
        let mut parts = [frame(0, 7), frame(17, 8)].concat();
        parts.insert(4, (1, 3, 7));
        parts.insert(5, (2, 0, 7));
        parts.push((18, 2, 7));
        assert_eq!(starts(&parts, 256), [(0, true), (17, true)]);
    }

    #[test]
    fn a_lost_first_datagram_costs_no_frame() {
        let parts = [&frame(0, 7)[1..], &frame(17, 8)[..], &frame(33, 9)[1..]].concat();
        assert_eq!(starts(&parts, 256), [(0, false), (17, true), (33, false)]);
    }
}
