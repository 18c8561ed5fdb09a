//! The capture file of a live run: the receive loop fills blocks of memory, a thread of its own writes them as pcapng.
//!
//! The loop never waits: when no empty block is at hand the record is left out and counted. A disk that is full ends
//! the writing, not the run; what was written is cut back to its last whole block.

mod headers;
mod write;

pub use write::{RecordPlan, Recorded, Rotation, Writing};

use super::handover::Handover;
use crate::capture::Record;
use wireproof_protocols::verify::{Finding, HostDrops};
use wireproof_protocols::{Datagram, Timestamp};

/// Longest text kept of a finding.
const TEXT_MAX: usize = 400;

/// Entry kinds in a block.
pub(super) mod entry {
    /// A frame or IP packet: link type u32, stamp i64, length on the wire u32, octets.
    pub(crate) const OCTETS: u8 = 1;
    /// Drop evidence or a step of the clock, as its comment.
    pub(crate) const DROPS: u8 = 2;
    /// A finding, as the comment of the record before it.
    pub(crate) const FINDING: u8 = 3;
}

/// The receive loop's end of the hand-over.
pub struct RecordFeed {
    handover: Handover,
    /// Records left out for want of room.
    pub left_out: u64,
    /// The loop's sources show frames; datagrams need no headers then.
    frames: bool,
}

impl RecordFeed {
    pub(super) fn new(handover: Handover) -> Self {
        RecordFeed { handover, left_out: 0, frames: false }
    }

    /// A frame as it was on the link.
    pub fn frame(&mut self, r: &Record<'_>) {
        self.frames = true;
        self.octets(r.link_type.0.into(), r.at, r.original_length, &[r.data]);
    }

    /// A datagram of a socket, which has no headers left: they are built from what is known of it.
    pub fn datagram(&mut self, at: Timestamp, d: &Datagram<'_>) {
        if self.frames {
            return;
        }
        let mut room = [0; headers::MOST];
        let head = headers::of(d, &mut room);
        let length = u32::try_from(head.len()).unwrap_or(0).saturating_add(d.length);
        self.octets(headers::LINK_TYPE.0.into(), at, length, &[head, d.payload]);
    }

    /// Drop evidence.
    pub fn evidence(&mut self, drops: &HostDrops) {
        let text = crate::capture::drops_comment(drops);
        self.put(entry::DROPS, &[&drops.to.0.to_le_bytes(), text.as_bytes()]);
    }

    /// The clock of the stamps was set by so many nanoseconds, and stands at `at`.
    pub fn clock_step(&mut self, at: Timestamp, by: i64) {
        let text = crate::capture::step_comment(by);
        self.put(entry::DROPS, &[&at.0.to_le_bytes(), text.as_bytes()]);
    }

    /// A finding; it becomes the comment of the newest record.
    pub fn finding(&mut self, f: &Finding) {
        let text = &f.text[..f.text.floor_char_boundary(TEXT_MAX)];
        let at = if f.first_packet > 0 { format!(" (packet {})", f.first_packet) } else { String::new() };
        let text = format!("wireproof: {} {text}{at}", f.code);
        self.put(entry::FINDING, &[text.as_bytes()]);
    }

    /// A round of the loop went by: hands over what has waited long enough.
    pub fn tick(&mut self) {
        self.handover.tick();
    }

    /// Hands over what is left; the writer ends when the feed is dropped. May wait: the loop is over.
    pub fn finish(self) -> u64 {
        self.left_out + u64::from(!self.handover.finish())
    }

    fn octets(&mut self, link_type: u32, at: Timestamp, length: u32, parts: &[&[u8]]) {
        let (link, stamp, length) = (link_type.to_le_bytes(), at.0.to_le_bytes(), length.to_le_bytes());
        let none: &[u8] = &[];
        let (first, second) = (parts.first().unwrap_or(&none), parts.get(1).unwrap_or(&none));
        self.put(entry::OCTETS, &[&link, &stamp, &length, first, second]);
    }

    fn put(&mut self, kind: u8, parts: &[&[u8]]) {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        if !self.handover.room(5 + length) {
            self.left_out += 1;
            return;
        }
        let Ok(stated) = u32::try_from(length) else { return };
        let block = &mut self.handover.block;
        block.push(kind);
        block.extend_from_slice(&stated.to_le_bytes());
        parts.iter().for_each(|part| block.extend_from_slice(part));
    }
}
