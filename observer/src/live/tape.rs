//! The tape of a live run: the receive loop makes records of 64 octets, a thread of its own seals and writes them.
//!
//! The loop never waits: without room a datagram is left out, counted, and missing on the tape by name. A disk that is
//! full ends the writing, not the run.

use super::handover::{Blocks, Handover, handover};
use super::receive::now;
use crate::tape_file::TapeFile;
use std::io;
use std::path::Path;
use std::thread::JoinHandle;
use wireproof_protocols::verify::{HostDrops, Noted, Verifier};
use wireproof_protocols::{Arrival, Datagram, Timestamp};
use wireproof_reports::tape::{Encoder, ROOM, Totals};

/// The receive loop's end.
pub struct TapeFeed {
    encoder: Encoder,
    handover: Handover,
    /// Datagrams left out for want of room.
    pub left_out: u64,
}

/// What was taped.
#[derive(Debug, Default)]
pub struct Taped {
    /// Datagrams handed to the writing thread.
    pub datagrams: u64,
    /// Datagrams left out for want of room.
    pub left_out: u64,
    /// What the operating system said when it took no more.
    pub failed: Option<io::Error>,
}

/// The writing thread.
pub struct TapeWriting {
    thread: JoinHandle<Result<TapeFile, io::Error>>,
}

impl TapeFeed {
    fn new(handover: Handover, digests: bool) -> TapeFeed {
        let encoder = if digests { Encoder::with_digests() } else { Encoder::default() };
        TapeFeed { encoder, handover, left_out: 0 }
    }

    /// A datagram that the verifier took; `noted` is what it made of it, `None` when it is nobody's here.
    #[inline]
    pub fn datagram(
        &mut self,
        arrival: Arrival,
        d: &Datagram<'_>,
        noted: Option<&Noted<'_>>,
        verifier: &Verifier,
    ) {
        let Some(noted) = noted else { return self.other(arrival, true) };
        if !self.handover.room(ROOM) {
            self.left_out += 1;
            self.encoder.leave_out(arrival.at);
            return;
        }
        let faults = verifier.faults().as_slice();
        self.encoder.datagram(arrival, d, noted, faults, &mut self.handover.block);
    }

    /// A packet without a datagram, or a datagram of nobody here.
    pub fn other(&mut self, arrival: Arrival, is_datagram: bool) {
        if self.handover.room(ROOM) {
            self.encoder.other(arrival, is_datagram, &mut self.handover.block);
        }
    }

    /// Drop evidence.
    pub fn evidence(&mut self, drops: &HostDrops) {
        if self.handover.room(ROOM) {
            self.encoder.drops(drops, &mut self.handover.block);
        } else {
            self.left_out += 1;
            self.encoder.leave_out(drops.to);
        }
    }

    /// The clock of the stamps was set by so many nanoseconds.
    pub fn clock_step(&mut self, by: i64) {
        if self.handover.room(ROOM) {
            self.encoder.clock_step(by, &mut self.handover.block);
        }
    }

    /// A round of the loop went by.
    pub fn tick(&mut self) {
        self.handover.tick();
    }

    /// Hands over what is left and waits until everything is written; the loop is over, and the run ended at this time.
    pub fn finish(mut self, writing: TapeWriting, ended: Option<Timestamp>) -> Taped {
        if self.handover.room(ROOM) {
            self.encoder.finish(&mut self.handover.block);
        }
        let (datagrams, left_out) = (self.encoder.datagrams, self.left_out);
        self.handover.finish();
        let written = writing
            .thread
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("the tape thread ended too early")));
        let totals = Totals { datagrams, left_out, microseconds: false, ended };
        let failed = written.and_then(|file| file.finish(&totals)).err();
        Taped { datagrams, left_out, failed }
    }
}

impl TapeWriting {
    /// Makes the file and starts the thread; `digests` adds one of each datagram's data.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn start(path: &Path, digests: bool) -> io::Result<(TapeWriting, TapeFeed)> {
        let mut file = TapeFile::create(path)?;
        file.begin(now().0);
        let (handover, blocks) = handover();
        let thread =
            std::thread::Builder::new().name("tape".to_owned()).spawn(move || write_all(file, &blocks))?;
        Ok((TapeWriting { thread }, TapeFeed::new(handover, digests)))
    }
}

/// Each block goes to the disk as it comes, so that a run that is killed leaves what it had.
fn write_all(mut file: TapeFile, blocks: &Blocks) -> io::Result<TapeFile> {
    let mut failed = None;
    blocks.each(|block| {
        if failed.is_none() {
            failed = file.write(block).and_then(|()| file.flush()).err();
        }
    });
    failed.map_or(Ok(file), Err)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossbeam_channel::bounded;
    use std::net::SocketAddr;
    use wireproof_protocols::verify::Options;
    use wireproof_reports::tape::{Decoder, Event, Sealer};

    /// Nobody empties the blocks: the loop goes on, counts, and the tape says where something is missing.
    #[test]
    fn without_an_empty_block_datagrams_are_left_out_counted_and_missing_by_name() {
        let (give, empty) = bounded(1);
        let (full, filled) = bounded(3);
        let mut feed = TapeFeed::new(Handover::new(empty, full), false);
        let mut verifier = Verifier::new(Options::default());
        let destination = SocketAddr::from(([10, 0, 0, 9], 4048));
        let mut payload = [0x41, 1, 0x0b, 1, 0, 0, 0, 0, 0, 1, 7];
        let mut send = |feed: &mut TapeFeed, i: u64| {
            payload[1] = (i % 15) as u8 + 1;
            let arrival = Arrival { at: Timestamp(i as i64 * 1_000_000), packet: i };
            let d = Datagram::new(SocketAddr::from(([10, 0, 0, 1], 5000)), destination, &payload);
            let noted = verifier.on_datagram_noted(arrival, &d);
            feed.datagram(arrival, &d, noted.as_ref(), &verifier);
        };
        (1..=20_000).for_each(|i| send(&mut feed, i));
        let left_out = feed.left_out;
        assert!((1_000..10_000).contains(&left_out), "{left_out}");
        give.send(Vec::with_capacity(super::super::handover::BLOCK)).unwrap();
        (20_001..=20_010).for_each(|i| send(&mut feed, i));
        let mut octets = Sealer::header(0);
        let mut sealer = Sealer::default();
        let on_tape = feed.encoder.datagrams;
        feed.handover.finish();
        filled.iter().for_each(|block| sealer.seal(&block, &mut octets));
        sealer.end(&Totals { datagrams: on_tape, left_out, ..Totals::default() }, &mut octets);
        let mut blinds = Vec::new();
        let mut each = |event: Event<'_>| {
            if let Event::Blind { from, to, count } = event {
                blinds.push((from.0 / 1_000_000, to.0 / 1_000_000, count));
            }
        };
        let mut decoder = Decoder::default();
        decoder.feed(&octets, &mut each);
        let report = decoder.finish(&mut each);
        let before = (20_000 - left_out) as i64;
        assert_eq!(blinds, [(before, 20_001, left_out)]);
        assert_eq!((report.datagrams, report.left_out, report.damaged), (20_010 - left_out, left_out, None));
    }
}
