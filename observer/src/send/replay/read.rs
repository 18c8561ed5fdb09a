//! The reading half of a replay: the datagrams of a capture in portions over a bounded channel.

use crate::capture::{CaptureError, Item, read_into};
use crossbeam_channel::Sender;
use std::net::SocketAddr;
use std::ops::Range;
use std::path::Path;
use wireproof_protocols::layout::Layouts;
use wireproof_protocols::{Datagram, Timestamp};

/// Most datagrams of one portion.
const MOST_DATAGRAMS: usize = 256;
/// Octets after which a portion is full; the last datagram may go beyond.
const FULL_OCTETS: usize = 1 << 18;
/// Portions that wait at most.
pub const WAITING: usize = 4;

/// Which datagrams are replayed.
#[derive(Clone, Copy, Debug)]
pub enum Which {
    /// Those that a decoder claims, of the registry or of these layouts.
    Lighting(Layouts),
    /// Every UDP datagram.
    All,
}

impl Which {
    fn layouts(self) -> Layouts {
        match self {
            Which::Lighting(layouts) => layouts,
            Which::All => Layouts::default(),
        }
    }

    fn has(self, d: &Datagram<'_>) -> bool {
        match self {
            Which::Lighting(layouts) => layouts.claim(d).is_some(),
            Which::All => true,
        }
    }
}

/// What the reader hands over, in file order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// The file begins, again or for the first time.
    Round,
    /// Datagrams to send.
    Datagrams(Portion),
    /// Datagrams that are not sent: captured in part, or of another protocol.
    LeftOut {
        /// Captured in part.
        cut: u64,
        /// Of another protocol.
        other: u64,
    },
    /// The file is damaged from here on, or cannot be read any more.
    Failed(String),
}

/// One datagram of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Captured<'a> {
    /// Capture time.
    pub at: Timestamp,
    /// Sender in the file.
    pub source: SocketAddr,
    /// Destination in the file.
    pub destination: SocketAddr,
    /// UDP payload, whole.
    pub payload: &'a [u8],
}

/// Some datagrams in file order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Portion {
    octets: Vec<u8>,
    heads: Vec<(Timestamp, SocketAddr, SocketAddr, Range<usize>)>,
}

impl Portion {
    /// The datagrams.
    pub fn iter(&self) -> impl Iterator<Item = Captured<'_>> {
        self.heads.iter().map(|(at, source, destination, range)| Captured {
            at: *at,
            source: *source,
            destination: *destination,
            payload: self.octets.get(range.clone()).unwrap_or_default(),
        })
    }

    /// Adds a datagram.
    pub fn push(&mut self, at: Timestamp, d: &Datagram<'_>) {
        let start = self.octets.len();
        self.octets.extend_from_slice(d.payload);
        self.heads.push((at, d.source, d.destination, start..self.octets.len()));
    }

    fn is_full(&self) -> bool {
        self.heads.len() >= MOST_DATAGRAMS || self.octets.len() >= FULL_OCTETS
    }
}

/// Reads the capture `rounds` times (0: for ever) and hands its datagrams over, until nobody takes them any more.
///
/// # Errors
/// When there is no capture to read; damage behind a valid header is a [`Part::Failed`].
pub fn read(path: &Path, which: Which, rounds: u64, to: &Sender<Part>) -> Result<(), CaptureError> {
    let mut round = 0;
    while rounds == 0 || round < rounds {
        round += 1;
        let mut hand = Hand::new(to);
        hand.give(Part::Round);
        let report = read_into(path, which.layouts(), &mut |item: Item<'_>| {
            if let Item::Datagram(arrival, d) = item {
                hand.take(arrival.at, &d, which);
            }
        })?;
        hand.over();
        let (cut, other) = hand.left_out;
        hand.give(Part::LeftOut { cut, other });
        let damaged = report.damaged.is_some();
        report.damaged.into_iter().for_each(|damage| hand.give(Part::Failed(damage)));
        // A file without datagrams would be read for ever, and damage does not heal.
        if hand.nobody || hand.taken == 0 || damaged {
            break;
        }
    }
    Ok(())
}

/// One round's hand-over.
struct Hand<'a> {
    to: &'a Sender<Part>,
    portion: Portion,
    taken: u64,
    left_out: (u64, u64),
    /// Nobody takes anything any more.
    nobody: bool,
}

impl<'a> Hand<'a> {
    fn new(to: &'a Sender<Part>) -> Self {
        Hand { to, portion: Portion::default(), taken: 0, left_out: (0, 0), nobody: false }
    }

    fn take(&mut self, at: Timestamp, d: &Datagram<'_>, which: Which) {
        if self.nobody {
            return;
        }
        if !which.has(d) {
            self.left_out.1 += 1;
            return;
        }
        if d.is_cut() {
            self.left_out.0 += 1;
            return;
        }
        self.taken += 1;
        self.portion.push(at, d);
        // Whoever waits gets what there is, so that a pipe is replayed as it fills.
        if self.portion.is_full() || self.to.is_empty() {
            self.over();
        }
    }

    fn over(&mut self) {
        if !self.portion.heads.is_empty() {
            let portion = std::mem::take(&mut self.portion);
            self.give(Part::Datagrams(portion));
        }
    }

    fn give(&mut self, part: Part) {
        self.nobody |= self.to.send(part).is_err();
    }
}
