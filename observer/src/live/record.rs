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
    /// When capturing began: stamp i64.
    pub(crate) const BEGAN: u8 = 4;
    /// When it ended: stamp i64.
    pub(crate) const ENDED: u8 = 5;
}

/// The receive loop's end of the hand-over.
pub struct RecordFeed {
    handover: Handover,
    /// Records left out for want of room.
    pub left_out: u64,
    /// The loop's sources show frames; datagrams need no headers then.
    frames: bool,
    /// Octets kept of a record; what a datagram of a socket keeps of its payload follows from it.
    snap: usize,
}

/// Longest pair of headers in front of a payload, octets.
pub const HEADERS_MOST: u32 = headers::MOST as u32;

impl RecordFeed {
    /// `snap` octets are kept of a record, everything when it is 0.
    pub(super) fn new(handover: Handover, snap: u32) -> Self {
        let snap = if snap == 0 { usize::MAX } else { snap as usize };
        RecordFeed { handover, left_out: 0, frames: false, snap }
    }

    /// A frame as it was on the link.
    pub fn frame(&mut self, r: &Record<'_>) {
        self.frames = true;
        self.octets(r.link_type.0.into(), r.at, r.original_length, &[cut(r.data, self.snap)]);
    }

    /// A datagram of a socket, which has no headers left: they are built from what is known of it.
    pub fn datagram(&mut self, at: Timestamp, d: &Datagram<'_>) {
        if self.frames {
            return;
        }
        let mut room = [0; headers::MOST];
        let head = headers::of(d, &mut room);
        let length = u32::try_from(head.len()).unwrap_or(0).saturating_add(d.length);
        // The same octets of each payload, whatever the length of its headers.
        let payload = cut(d.payload, self.snap.saturating_sub(headers::MOST));
        self.octets(headers::LINK_TYPE.0.into(), at, length, &[head, payload]);
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

    /// Capturing begins.
    pub fn began(&mut self, at: Timestamp) {
        self.put(entry::BEGAN, &[&at.0.to_le_bytes()]);
    }

    /// Capturing ended. May wait: the loop is over.
    pub fn ended(&mut self, at: Timestamp) {
        let stamp = at.0.to_le_bytes();
        if self.handover.room_at_last(5 + stamp.len()) {
            self.put(entry::ENDED, &[&stamp]);
        }
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

/// The first octets.
fn cut(octets: &[u8], most: usize) -> &[u8] {
    octets.get(..most).unwrap_or(octets)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::read_records_path;
    use std::io::ErrorKind;

    /// What comes of 100 datagrams of 600 octets from IPv4 and IPv6: the record, and link header to payload by record.
    fn recorded(plan: RecordPlan) -> (Recorded, Vec<(usize, u32, u32)>) {
        let path = plan.path.clone();
        let (writing, mut feed) = Writing::start(plan).unwrap();
        for i in 0..100 {
            let (from, to) =
                [("10.0.0.1:5568", "10.0.0.9:5568"), ("[fd00::1]:4048", "[fd00::9]:4048")][i % 2];
            let d = Datagram::new(from.parse().unwrap(), to.parse().unwrap(), &[7; 600]);
            feed.datagram(Timestamp(i as i64), &d);
        }
        assert_eq!(feed.finish(), 0);
        let recorded = writing.join();
        let mut records = Vec::new();
        let each = &mut |r: Record<'_>| records.push((r.data.len(), r.original_length, r.snap_length));
        assert_eq!(read_records_path(&path, &mut |record| each(*record)).unwrap().damaged, None);
        (recorded, records)
    }

    #[test]
    fn a_record_is_cut_behind_the_same_octets_of_payload_and_keeps_its_length() {
        let dir = tempfile::tempdir().unwrap();
        let plan = |snap| RecordPlan { path: dir.path().join("a.pcapng"), snap, ..RecordPlan::default() };
        let (done, records) = recorded(plan(HEADERS_MOST + 128));
        assert_eq!((done.records, done.unwritten, records.len()), (100, 0, 100));
        assert_eq!(records[..2], [(42 + 128, 642, 190), (62 + 128, 662, 190)]);
        let (_, records) = recorded(plan(0));
        assert_eq!(records[..2], [(642, 642, 0), (662, 662, 0)]);
    }

    #[test]
    fn a_reader_who_leaves_a_pipe_ends_the_capture_and_nothing_is_amiss() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let fifo = path.clone();
        let reader = std::thread::spawn(move || {
            let mut head = [0; 28];
            std::io::Read::read_exact(&mut std::fs::File::open(fifo).unwrap(), &mut head).unwrap();
            head
        });
        let (writing, mut feed) = Writing::start(RecordPlan { path, ..RecordPlan::default() }).unwrap();
        assert_eq!(reader.join().unwrap()[..4], [0x0a, 0x0d, 0x0d, 0x0a]);
        let to = "10.0.0.9:5568".parse().unwrap();
        let d = Datagram::new("10.0.0.1:5568".parse().unwrap(), to, &[7; 600]);
        (0..4_000).for_each(|i| feed.datagram(Timestamp(i), &d));
        feed.ended(Timestamp(4_000));
        assert_eq!(feed.finish(), 0);
        let done = writing.join();
        assert!(done.left && done.failed.is_none() && done.unwritten == 0, "{done:?}");
    }

    #[test]
    fn each_file_of_a_series_says_when_the_next_one_began_and_the_last_one_when_the_run_ended() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.pcapng");
        let rotation = Some(Rotation::Bytes(20_000));
        let (writing, mut feed) =
            Writing::start(RecordPlan { path, rotation, ..RecordPlan::default() }).unwrap();
        feed.began(Timestamp(5));
        let to = "10.0.0.9:5568".parse().unwrap();
        let d = Datagram::new("10.0.0.1:5568".parse().unwrap(), to, &[7; 600]);
        (1..=100).for_each(|i| feed.datagram(Timestamp(i * 10), &d));
        feed.ended(Timestamp(7_777));
        assert_eq!(feed.finish(), 0);
        let files = writing.join().files;
        assert!(files.len() > 2, "{files:?}");
        let (mut firsts, mut ends) = (Vec::new(), Vec::new());
        for file in &files {
            let mut first = None;
            let report = read_records_path(file, &mut |r: &Record<'_>| {
                first.get_or_insert(r.at.0);
            });
            firsts.push(first.unwrap());
            ends.push(report.unwrap().ended.unwrap().0);
        }
        firsts.push(7_777);
        assert_eq!(ends, firsts[1..]);
    }

    #[test]
    fn writing_ends_before_it_takes_what_has_to_stay_free() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.pcapng");
        let (done, records) = recorded(RecordPlan { path, min_free: u64::MAX, ..RecordPlan::default() });
        assert_eq!(done.failed.unwrap().kind(), ErrorKind::StorageFull);
        assert_eq!((done.records, done.unwritten, records.len()), (0, 100, 0));
    }
}
