//! IP fragments put together again, within fixed bounds: a hostile capture costs counts, not memory.

use super::ip::{Fragment, Part};
use std::net::IpAddr;
use wireproof_protocols::Timestamp;
use wireproof_protocols::time::{MS, SECOND};

/// Datagrams that may be open at once; the oldest makes room.
const OPEN_MAX: usize = 64;
/// Capture time after which an open datagram is given up (RFC 1122 3.3.2 allows 60 to 120 s, Linux takes 30 s).
const LIFETIME: i64 = 30 * SECOND;
/// A capture that sees each frame twice shows the second within this time.
const REPEAT: i64 = 5 * MS;
/// The most octets a datagram can have.
const LENGTH_MAX: usize = 65_535;
/// Fragment offsets count units of so many octets.
const UNIT: usize = 8;

/// What makes fragments belong together.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) source: IpAddr,
    pub(super) destination: IpAddr,
    /// IPv4: the protocol. IPv6: 44, because fragments of one packet may state different protocols (RFC 8200 4.5).
    pub(super) protocol: u8,
    pub(super) id: u32,
}

/// A datagram put together.
pub(super) struct Whole<'a> {
    pub(super) octets: &'a [u8],
    /// Protocol the first fragment states.
    pub(super) protocol: u8,
    pub(super) fragments: u16,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Free,
    Open,
    /// Complete, and kept a moment because this capture repeats frames.
    Done,
}

struct Slot {
    state: State,
    key: Key,
    /// Capture time of the first fragment; of the last one once done.
    at: Timestamp,
    order: u64,
    protocol: u8,
    fragments: u16,
    total: Option<usize>,
    /// Units that have arrived.
    filled: usize,
    present: [u64; LENGTH_MAX.div_ceil(UNIT).div_ceil(64)],
    data: Vec<u8>,
    repeated: bool,
    overlapping: bool,
}

/// Fragments of at most 64 datagrams, 64 KiB each.
#[derive(Default)]
pub(super) struct Reassembly {
    slots: Vec<Slot>,
    opened: u64,
    /// Fragments seen.
    pub(super) seen: u64,
    /// Datagrams completed.
    pub(super) completed: u64,
    /// Datagrams given up.
    given_up: u64,
    /// Datagrams with fragments that contradict each other.
    pub(super) overlapping: u64,
}

impl Reassembly {
    /// Takes a fragment; yields the datagram when it was the last one needed.
    pub(super) fn take(
        &mut self,
        at: Timestamp,
        key: Key,
        fragment: Fragment,
        part: &Part<'_>,
    ) -> Option<Whole<'_>> {
        let sound = part.length > 0 && (!fragment.more || part.length.is_multiple_of(UNIT));
        if !sound || fragment.offset + part.length > LENGTH_MAX {
            return None;
        }
        self.expire(at);
        let index = self.place(key, at);
        let slot = self.slots.get_mut(index)?;
        if slot.state == State::Done {
            if slot.repeats(fragment, part) {
                return None;
            }
            self.opened += 1;
            slot.reopen(key, at, self.opened);
        }
        let overlapping = slot.overlapping;
        let complete = slot.add(fragment, part);
        self.overlapping += u64::from(slot.overlapping && !overlapping);
        if !complete {
            return None;
        }
        self.completed += 1;
        slot.state = if slot.repeated { State::Done } else { State::Free };
        slot.at = at;
        let octets = slot.data.get(..slot.total?)?;
        Some(Whole { octets, protocol: slot.protocol, fragments: slot.fragments })
    }

    /// Datagrams that stayed incomplete, counting those still open.
    pub(super) fn incomplete(&self) -> u64 {
        let open = self.slots.iter().filter(|slot| slot.state == State::Open).count();
        self.given_up + open as u64
    }

    fn expire(&mut self, now: Timestamp) {
        for slot in &mut self.slots {
            let age = now.since(slot.at);
            if slot.state == State::Done && age > REPEAT {
                slot.state = State::Free;
            } else if slot.state == State::Open && age > LIFETIME {
                slot.state = State::Free;
                self.given_up += 1;
            }
        }
    }

    /// The slot of `key`; a free or new one, or that of the oldest datagram, when it has none yet.
    fn place(&mut self, key: Key, at: Timestamp) -> usize {
        let belongs = |slot: &Slot| slot.state != State::Free && slot.key == key;
        if let Some(index) = self.slots.iter().position(belongs) {
            return index;
        }
        self.opened += 1;
        let index = match self.slots.iter().position(|slot| slot.state == State::Free) {
            Some(index) => index,
            None if self.slots.len() < OPEN_MAX => {
                self.slots.push(Slot::new(key));
                self.slots.len() - 1
            }
            None => self.evict(),
        };
        if let Some(slot) = self.slots.get_mut(index) {
            slot.reopen(key, at, self.opened);
        }
        index
    }

    fn evict(&mut self) -> usize {
        let by_age = |(_, slot): &(usize, &Slot)| (slot.state == State::Open, slot.order);
        let Some((index, slot)) = self.slots.iter().enumerate().min_by_key(by_age) else { return 0 };
        self.given_up += u64::from(slot.state == State::Open);
        index
    }
}

impl Slot {
    fn new(key: Key) -> Self {
        Slot {
            state: State::Free,
            key,
            at: Timestamp(0),
            order: 0,
            protocol: 0,
            fragments: 0,
            total: None,
            filled: 0,
            present: [0; _],
            data: Vec::new(),
            repeated: false,
            overlapping: false,
        }
    }

    /// Starts a datagram; the octets' memory is kept for it.
    fn reopen(&mut self, key: Key, at: Timestamp, order: u64) {
        let mut data = std::mem::take(&mut self.data);
        data.clear();
        *self = Slot { state: State::Open, at, order, data, ..Slot::new(key) };
    }

    /// Adds a fragment; true when the datagram is complete with it.
    fn add(&mut self, fragment: Fragment, part: &Part<'_>) -> bool {
        let end = fragment.offset + part.length;
        if self.contradicts(end, fragment.more) {
            self.overlapping = true;
            return false;
        }
        if !fragment.more {
            self.total = Some(end);
        }
        if fragment.offset == 0 {
            self.protocol = part.protocol;
        }
        if self.data.len() < end {
            self.data.resize(end, 0);
        }
        let (fresh, agrees) = self.fill(fragment.offset, part);
        self.fragments = self.fragments.saturating_add(u16::from(fresh > 0));
        self.repeated |= fresh == 0 && agrees;
        self.overlapping |= !agrees || (fresh > 0 && fresh < part.octets.len().div_ceil(UNIT));
        self.total.is_some_and(|total| self.filled == total.div_ceil(UNIT))
    }

    /// True when a fragment that ends at `end` cannot be of the same datagram as those before it.
    fn contradicts(&self, end: usize, more: bool) -> bool {
        match self.total {
            Some(total) => end > total || (!more && end != total),
            None => !more && end < self.data.len(),
        }
    }

    /// Copies the units that are not there yet. Returns how many, and whether the others hold the same octets.
    fn fill(&mut self, offset: usize, part: &Part<'_>) -> (usize, bool) {
        let (mut fresh, mut agrees) = (0, true);
        for (i, octets) in part.octets.chunks(UNIT).enumerate() {
            let unit = offset / UNIT + i;
            let cut = octets.len() < UNIT && i * UNIT + octets.len() < part.length;
            let Some(place) = self.data.get_mut(unit * UNIT..unit * UNIT + octets.len()) else { break };
            let Some(word) = self.present.get_mut(unit / 64) else { break };
            let bit = 1u64 << (unit % 64);
            if *word & bit != 0 {
                agrees &= place == octets;
            } else if !cut {
                place.copy_from_slice(octets);
                *word |= bit;
                fresh += 1;
            }
        }
        self.filled += fresh;
        (fresh, agrees)
    }

    /// True when a fragment holds exactly octets that this complete datagram has.
    fn repeats(&self, fragment: Fragment, part: &Part<'_>) -> bool {
        let end = fragment.offset + part.length;
        let last = Some(end) == self.total;
        last != fragment.more && self.data.get(fragment.offset..end) == Some(part.octets)
    }
}
