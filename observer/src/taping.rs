//! A tape made beside an analysis: the verifier judges each datagram, and what it made of it goes to a file.
//!
//! A file that cannot be written any more ends the writing, not the analysis; what was written stays readable.

use crate::tape_file::TapeFile;
use std::io;
use std::path::Path;
use wireproof_protocols::verify::{HostDrops, Verifier};
use wireproof_protocols::{Arrival, Datagram, Timestamp};
use wireproof_reports::tape::{Encoder, Totals};

/// Octets of records gathered before they are sealed.
const GATHERED: usize = 1 << 20;

/// A tape that is being made.
pub struct Taping {
    encoder: Encoder,
    slots: Vec<u8>,
    file: TapeFile,
    failed: Option<io::Error>,
    refused: bool,
}

impl Taping {
    /// Makes the file.
    ///
    /// # Errors
    /// What the file system says.
    pub fn create(path: &Path) -> io::Result<Taping> {
        let file = TapeFile::create(path)?;
        Ok(Taping { encoder: Encoder::default(), slots: Vec::new(), file, failed: None, refused: false })
    }

    /// Lets the verifier take a datagram and keeps what it made of it.
    pub fn datagram(&mut self, verifier: &mut Verifier, arrival: Arrival, d: &Datagram<'_>) {
        self.file.begin(arrival.at.0);
        match verifier.on_datagram_noted(arrival, d) {
            Some(noted) => {
                let faults = verifier.faults().as_slice();
                self.encoder.datagram(arrival, d, &noted, faults, &mut self.slots);
            }
            None => self.encoder.other(arrival, true, &mut self.slots),
        }
        if self.slots.len() >= GATHERED {
            self.write();
        }
    }

    /// An event of another tape came by. It holds no octets, so that its record cannot be made again.
    pub fn refuse(&mut self) {
        self.refused = true;
    }

    /// True when events of another tape came by, which are missing on this one.
    pub fn has_refused(&self) -> bool {
        self.refused
    }

    /// A packet without a datagram.
    pub fn packet(&mut self, arrival: Arrival) {
        self.file.begin(arrival.at.0);
        self.encoder.other(arrival, false, &mut self.slots);
    }

    /// Packets that the capture lost.
    pub fn blind(&mut self, from: Timestamp, to: Timestamp, dropped: u64) {
        self.file.begin(from.0);
        self.encoder.blind(from, to, dropped, &mut self.slots);
    }

    /// The clock of the stamps was set by so many nanoseconds.
    pub fn clock_step(&mut self, by: i64) {
        self.file.begin(0);
        self.encoder.clock_step(by, &mut self.slots);
    }

    /// Drop evidence.
    pub fn drops(&mut self, drops: &HostDrops) {
        self.file.begin(drops.from.0);
        self.encoder.drops(drops, &mut self.slots);
    }

    /// Writes what is left and the end; `microseconds` says that the stamps are no finer, `ended` when capturing did.
    ///
    /// # Errors
    /// The first thing the file system refused, now or before.
    pub fn finish(mut self, microseconds: bool, ended: Option<Timestamp>) -> io::Result<()> {
        self.encoder.finish(&mut self.slots);
        self.write();
        match self.failed {
            Some(error) => Err(error),
            None => {
                let totals = Totals { datagrams: self.encoder.datagrams, left_out: 0, microseconds, ended };
                self.file.finish(&totals)
            }
        }
    }

    fn write(&mut self) {
        if self.failed.is_none() {
            self.failed = self.file.write(&self.slots).err();
        }
        self.slots.clear();
    }
}
