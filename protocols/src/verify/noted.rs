//! What one datagram became once it was decoded: everything that the rest of the engine asks of its octets.
//!
//! A tape keeps this instead of the octets. Given back in the same order, it leads to the same account; octets are
//! never needed again.

use super::Verifier;
use crate::{Arrival, Datagram, Fault, Faults, Pdu, Rule, Severity, registry};
use std::fmt::Display;
use xxhash_rust::xxh3::xxh3_64;

/// One datagram of a known protocol, or on the port of one, as the engine took it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Noted<'a> {
    /// The decoded content; `None` when the identifier is wrong. Given back, `data` matters for sACN discovery only.
    pub pdu: Option<Pdu<'a>>,
    /// The capture shows it a second time; it counts as that and as nothing else.
    pub copy: bool,
    /// The capture kept fewer octets than were sent.
    pub cut: bool,
    /// It breaks no shape rule (see [`Faults::well_formed`]).
    pub well_formed: bool,
    /// Sample of the data; the upper 32 bits matter, by which a repeat of a number is told from another datagram.
    pub sampled: u64,
    /// Number of the content, by which a repeat of the frame before is known; 0 when it was not asked for.
    pub content: u64,
}

/// What the engine and [`Noted`] tell each other, but for the decoded content.
#[derive(Clone, Copy)]
pub(crate) struct Notes {
    pub(crate) copy: bool,
    pub(crate) cut: bool,
    pub(crate) well_formed: bool,
    pub(crate) sampled: u64,
    pub(crate) content: u64,
}

/// A fault of a datagram in words; of many with the same rule and stream the first one's words are kept.
#[derive(Clone, Copy)]
pub struct Remark<'a> {
    /// The rule.
    pub rule: &'static Rule,
    /// Severity of this very case.
    pub severity: Severity,
    /// Octet offset from the start of the UDP payload.
    pub offset: u16,
    /// What explains the case; may be empty.
    pub hint: &'a str,
    /// What the rule asks for.
    pub expected: &'a dyn Display,
    /// What is there.
    pub got: &'a dyn Display,
}

impl Noted<'_> {
    /// Digest over every octet of the data, by which the same picture is known again in another run; 0 without data.
    #[inline]
    pub fn digest(&self) -> u64 {
        self.pdu.as_ref().map_or(0, |pdu| xxh3_64(pdu.data))
    }
}

impl<'a> From<&'a Fault> for Remark<'a> {
    fn from(f: &'a Fault) -> Self {
        Remark {
            rule: f.rule,
            severity: f.severity,
            offset: f.offset,
            hint: f.hint,
            expected: &f.expected,
            got: &f.got,
        }
    }
}

/// Where the faults of a datagram stand.
#[derive(Clone, Copy)]
pub(crate) enum Marked<'a> {
    /// In the engine's own list, fresh from the decoder.
    Own,
    /// On a tape, together with what the engine once made of the datagram.
    Taped(&'a [Remark<'a>]),
}

impl Verifier {
    /// As [`Verifier::on_datagram`]; says what became of the datagram, or `None` when no protocol claims it. Its
    /// faults are in [`Verifier::faults`] until the next one comes.
    pub fn on_datagram_noted<'a>(&mut self, arrival: Arrival, d: &Datagram<'a>) -> Option<Noted<'a>> {
        let now = self.tick(arrival);
        self.packets += 1;
        match self.goes_on(now, arrival, d) {
            Some((sampled, content)) => {
                // Of a header that was expected the decoder has no fault to tell.
                let pdu = registry::plain(d);
                Some(Noted { pdu, copy: false, cut: false, well_formed: true, sampled, content })
            }
            None => self.arrive::<true>(now, arrival, d),
        }
    }

    /// As [`Verifier::on_datagram_noted`], and always the general way, on which every question is asked of every datagram:
    /// the other ways are held against it, and have to tell the same.
    #[doc(hidden)]
    pub fn on_datagram_in_general<'a>(&mut self, arrival: Arrival, d: &Datagram<'a>) -> Option<Noted<'a>> {
        let now = self.tick(arrival);
        self.packets += 1;
        self.arrive::<false>(now, arrival, d)
    }

    /// Takes a datagram back from a tape. Of `d` addresses, length, IP id, checksum state and fragments are asked.
    pub fn on_noted(&mut self, arrival: Arrival, d: &Datagram<'_>, noted: &Noted<'_>, faults: &[Remark<'_>]) {
        let now = self.tick(arrival);
        self.packets += 1;
        let Noted { pdu, copy, cut, well_formed, sampled, content } = noted;
        let (copy, cut, well_formed, sampled, content) = (*copy, *cut, *well_formed, *sampled, *content);
        let mut notes = Notes { copy, cut, well_formed, sampled, content };
        self.judge(now, arrival, d, pdu.as_ref(), &mut notes, Marked::Taped(faults));
    }

    /// Takes note of datagrams that no protocol claimed, from a tape that holds no more of them.
    pub fn on_others(&mut self, datagrams: u64) {
        self.counts.other = self.counts.other.saturating_add(datagrams);
        self.packets = self.packets.saturating_add(datagrams);
    }

    /// Faults of the datagram taken last.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }
}
