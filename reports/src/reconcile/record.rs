//! What a device's rings say about its sending: when its record is whole, and which datagrams it did not hand over.
//! Several downloads of one writer are one record; an image that contradicts itself adds nothing.

use std::collections::{BTreeMap, BTreeSet};
use wireproof_recorder::header::{Tables, facts};
use wireproof_recorder::layout::Kind;
use wireproof_recorder::{Frame, Policy, Record, Refusal, Ring, parse};

/// Stage of a `wire_send` span; aux counts what was handed over. Of a `drops` record: what was not.
const SEND: &str = "wire_send";
/// Stage of a `wire_encode` span; aux counts what was made.
const ENCODE: &str = "wire_encode";
/// Flags of a `drops` record when nobody knows which datagrams.
const WHICH_UNKNOWN: u16 = u16::MAX;
/// Most runs, and most drops, kept of one writer.
const KEPT: usize = 1 << 16;
/// Most sends kept of one writer: 48 minutes of three outputs at 60 Hz.
const SENDS_KEPT: usize = 1 << 19;

/// Who wrote: boot, start of the process, generation.
type Writer = ([u8; 16], u64, u64);

/// Frames without a hole between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// First and last id; ids that were skipped on purpose count.
    ids: (u32, u32),
    /// Start of the first and end of the last, ns of the device's monotonic clock.
    pub(super) ns: (u64, u64),
}

/// Datagrams of one frame and output that were not handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Unsent {
    /// The `wire_send` they belong to, ns of the device's monotonic clock.
    pub(super) ns: (u64, u64),
    /// Row of the output in the header's table.
    pub(super) device: u16,
    /// Place of the first in the frame; `None` when that is not known.
    pub(super) first: Option<u16>,
    /// How many.
    pub(super) count: u64,
}

/// One `wire_send` of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Send {
    /// Its end, ns of the device's monotonic clock.
    pub(super) end_ns: u64,
    /// Datagrams handed over.
    pub(super) count: u64,
    /// Low 16 bits of the number of the frame's first datagram.
    pub(super) number: u16,
}

/// One generation of one writer.
#[derive(Clone, Debug, Default)]
pub(super) struct Life {
    /// Names of devices and protocols.
    pub(super) tables: Tables,
    /// Runs of whole frames in order.
    pub(super) runs: Vec<Run>,
    /// Ids that were skipped on purpose in front of a frame of the record: first and how many.
    skipped: BTreeSet<(u32, u32)>,
    /// What was not handed over, in order.
    pub(super) unsent: BTreeSet<Unsent>,
    /// Datagrams of a frame by device.
    pub(super) made: BTreeMap<u16, u64>,
    /// Monotonic and wall time, and the spread of the reading, ns.
    pub(super) anchors: BTreeMap<u64, (u64, u64)>,
    /// Sends by output and start, ns of the device's monotonic clock: those that handed everything over.
    pub(super) sends: BTreeMap<(u16, u64), Send>,
    /// There were more of them.
    pub(super) sends_full: bool,
    /// Something of it was not kept.
    pub(super) full: bool,
}

/// The record of a run: the union of its rings.
#[derive(Clone, Debug, Default)]
pub struct DeviceRecord {
    lives: BTreeMap<Writer, Life>,
    rings: u64,
}

impl DeviceRecord {
    /// Takes a ring in; frames that are known already change nothing.
    ///
    /// # Errors
    /// Why nothing of the image can be believed.
    pub fn add(&mut self, image: &[u8]) -> Result<(), Refusal> {
        let ring = parse(image, Policy::Conservative)?;
        let facts = facts(image);
        let writer = (facts.boot_id, facts.process_start, ring.generation);
        let life = self.lives.entry(writer).or_default();
        let [monotonic, wall, spread, _] = facts.anchor;
        life.anchors.insert(monotonic, (wall, spread));
        self.rings += 1;
        life.take(&ring);
        Ok(())
    }

    /// Rings taken in.
    pub fn rings(&self) -> u64 {
        self.rings
    }

    /// Whole frames, each counted once.
    pub fn frames(&self) -> u64 {
        self.lives.values().map(Life::frames).sum()
    }

    pub(super) fn lives(&self) -> impl Iterator<Item = &Life> {
        self.lives.values()
    }
}

impl Run {
    fn ids(&self) -> u64 {
        u64::from(self.ids.1.wrapping_sub(self.ids.0)) + 1
    }

    /// Whether `next` begins inside of this run or right behind it.
    fn meets(&self, next: &Run) -> bool {
        next.ns.0 <= self.ns.1 || next.ids.0.wrapping_sub(self.ids.1) == 1
    }
}

impl Life {
    /// Whole frames.
    fn frames(&self) -> u64 {
        let ids: u64 = self.runs.iter().map(Run::ids).sum();
        ids.saturating_sub(self.skipped.iter().map(|(_, count)| u64::from(*count)).sum())
    }

    fn take(&mut self, ring: &Ring) {
        self.tables = ring.tables.clone();
        let stage = |name: &str| ring.tables.stages.iter().find(|s| s.name == name).map(|s| s.id);
        let (Some(send), Some(encode)) = (stage(SEND), stage(ENCODE)) else { return };
        let mut skips = BTreeMap::new();
        for record in &ring.loose {
            match record.kind() {
                Some(Kind::Skipped) => {
                    let first = (record.aux() >> 32) as u32;
                    let count = record.aux() as u32;
                    skips.insert(first.wrapping_add(count), first);
                }
                Some(Kind::Anchor) if self.anchors.len() < KEPT => {
                    self.anchors.insert(record.start_ns(), (record.aux(), 0));
                }
                _ => {}
            }
        }
        for frame in &ring.frames {
            let Some(unsent) = sendings(frame, send, encode, &mut self.made) else { continue };
            self.keep_sends(frame, send, &unsent);
            let first = skips.get(&frame.id).copied().unwrap_or(frame.id);
            self.join(Run { ids: (first, frame.id), ns: (frame.start_ns, frame.end_ns) });
            if first != frame.id && self.skipped.len() < KEPT {
                self.skipped.insert((first, frame.id.wrapping_sub(first)));
            }
            for one in unsent {
                if self.unsent.len() < KEPT {
                    self.unsent.insert(one);
                } else {
                    self.full = true;
                }
            }
        }
    }

    /// Keeps when each output of a frame was sent; of one that sent more than once nobody knows which.
    fn keep_sends(&mut self, frame: &Frame, stage: u16, unsent: &[Unsent]) {
        let is_send = |r: &&Record| r.kind() == Some(Kind::Span) && r.stage() == stage;
        let mut own: Vec<&Record> = frame.records.iter().filter(is_send).collect();
        own.sort_by_key(|r| r.device());
        for same in own.chunk_by(|a, b| a.device() == b.device()) {
            let [r] = same else { continue };
            let whole = unsent.iter().all(|one| one.device != r.device());
            let key = (r.device(), r.start_ns());
            if !whole || self.sends.contains_key(&key) {
                continue;
            }
            if self.sends.len() < SENDS_KEPT {
                let send = Send { end_ns: r.end_ns(), count: r.aux(), number: r.flags() };
                self.sends.insert(key, send);
            } else {
                self.sends_full = true;
            }
        }
    }

    /// Adds a frame to the runs.
    fn join(&mut self, frame: Run) {
        let at = self.runs.partition_point(|run| run.ns.0 <= frame.ns.0);
        if let Some(before) = at.checked_sub(1).and_then(|at| self.runs.get_mut(at)) {
            if frame.ns.1 <= before.ns.1 {
                return;
            }
            if before.meets(&frame) {
                (before.ids.1, before.ns.1) = (frame.ids.1, frame.ns.1);
                self.close(at - 1);
                return;
            }
        }
        if self.runs.len() >= KEPT {
            self.full = true;
            return;
        }
        self.runs.insert(at, frame);
        self.close(at);
    }

    /// Joins a run with the next one if nothing is missing between them.
    fn close(&mut self, at: usize) {
        let Some([run, next]) = self.runs.get(at..at + 2).and_then(|pair| <&[Run; 2]>::try_from(pair).ok())
        else {
            return;
        };
        if run.meets(next) {
            let (ids, ns) = (next.ids.1, next.ns.1.max(run.ns.1));
            let joined = Run { ids: (run.ids.0, ids), ns: (run.ns.0, ns) };
            self.runs[at] = joined;
            self.runs.remove(at + 1);
        }
    }
}

/// What a frame did not hand over; `None` when its record does not add up, so that nothing can be told from it.
fn sendings(frame: &Frame, send: u16, encode: u16, made: &mut BTreeMap<u16, u64>) -> Option<Vec<Unsent>> {
    if frame.truncated {
        return None;
    }
    let of = |kind: Kind, stage: u16| {
        frame.records.iter().filter(move |r| r.kind() == Some(kind) && r.stage() == stage)
    };
    let mut sums: BTreeMap<u16, (u64, u64)> = BTreeMap::new();
    let mut spans: BTreeMap<u16, (u64, u64)> = BTreeMap::new();
    for span in of(Kind::Span, encode) {
        sums.entry(span.device()).or_default().0 += span.aux().min(u64::from(u32::MAX));
    }
    for span in of(Kind::Span, send) {
        sums.entry(span.device()).or_default().1 += span.aux().min(u64::from(u32::MAX));
        spans.insert(span.device(), (span.start_ns(), span.end_ns()));
    }
    let mut unsent = Vec::new();
    for drop in of(Kind::Drops, send) {
        let (device, count) = (drop.device(), drop.aux().min(u64::from(u32::MAX)));
        sums.entry(device).or_default().1 += count;
        let ns = spans.get(&device).copied().unwrap_or((drop.start_ns(), drop.end_ns()));
        let first = Some(drop.flags()).filter(|first| *first != WHICH_UNKNOWN);
        unsent.push(Unsent { ns, device, first, count });
    }
    let whole = sums.values().all(|(made, told)| made == told);
    if whole {
        sums.iter().for_each(|(device, (n, _))| {
            made.insert(*device, *n);
        });
    }
    whole.then_some(unsent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(id: u32) -> Run {
        let at = u64::from(id.wrapping_add(10)) * 100;
        Run { ids: (id, id), ns: (at, at + 60) }
    }

    #[test]
    fn runs_are_the_same_in_whatever_order_and_however_often_frames_come() {
        // 3 is missing, 6 and 7 were skipped on purpose; ids wrap.
        let ids = [u32::MAX - 1, u32::MAX, 0, 1, 2, 4, 5, 8, 9];
        let frames = ids.map(|id| if id == 8 { Run { ids: (6, 8), ..frame(8) } } else { frame(id) });
        let expected =
            [Run { ids: (u32::MAX - 1, 2), ns: (800, 1_260) }, Run { ids: (4, 9), ns: (1_400, 1_960) }];
        let mut order: Vec<usize> = (0..frames.len()).chain(0..frames.len()).collect();
        for turn in 0..200 {
            let mut life = Life::default();
            order.iter().for_each(|at| life.join(frames[*at]));
            assert_eq!(life.runs, expected, "turn {turn}: {order:?}");
            // Another order each turn, the same in every run of the test.
            let length = order.len();
            order.swap(turn % length, turn * 7 % length);
            order.rotate_left(5);
        }
        assert_eq!(expected.map(|run| run.ids()), [5, 6]);
    }
}
