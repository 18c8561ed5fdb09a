//! The verifier: a sans-IO state machine from datagrams to an [`account::Account`].

pub mod account;
pub mod rig;
pub mod rules;

pub use account::*;

use crate::{Arrival, Datagram};
use rig::Rig;

/// What the caller decides beforehand.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Expected shape of the outputs.
    pub rig: Option<Rig>,
    /// Raise warnings to violations.
    pub strict: bool,
}

/// The engine. Feed datagrams in capture order, then call [`Verifier::finish`].
#[derive(Debug)]
pub struct Verifier {
    _options: Options,
}

impl Verifier {
    /// An engine that has seen nothing.
    pub fn new(options: Options) -> Self {
        Verifier { _options: options }
    }

    /// Takes one UDP datagram.
    pub fn on_datagram(&mut self, _arrival: Arrival, _d: &Datagram<'_>) {}

    /// Takes note of the time of a capture record that holds no UDP datagram.
    pub fn on_packet(&mut self, _arrival: Arrival) {}

    /// Packets the capture itself lost between two instants (drop counters of the file or the observer).
    pub fn on_blind(&mut self, _from: crate::Timestamp, _to: crate::Timestamp, _dropped: u64) {}

    /// Ends the run and hands over the account.
    pub fn finish(self) -> Account {
        Account::default()
    }
}
