//! The records of a piece: found by counting the stream's datagrams around the first occurrence, then walked.

use super::focus::{Focus, Nearness};
use crate::capture::{self, CaptureError, Dissector, Item, Record};
use std::collections::VecDeque;
use std::path::Path;
use wireproof_protocols::verify::HostDrops;
use wireproof_protocols::{Datagram, Faults, Timestamp};

/// A time in which the capture itself lost packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blind {
    pub from: Timestamp,
    pub to: Timestamp,
    pub dropped: u64,
    /// Told by a counter of the observing host.
    pub host: Option<HostDrops>,
}

/// First and last instant that are evidence, ns since 1970.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub first: i64,
    pub last: i64,
}

impl Span {
    fn near(self, at: Timestamp, before: i64, after: i64) -> bool {
        at.0 >= self.first.saturating_sub(before) && at.0 <= self.last.saturating_add(after)
    }
}

/// How much a piece takes in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    /// Record of the first occurrence; 0 when only its time is known.
    pub packet: u64,
    /// Instants of the evidence.
    pub span: Span,
    /// Datagrams of the stream before the first occurrence.
    pub before: u64,
    /// Datagrams of the stream after the last one.
    pub after: u64,
    /// Everything this near is kept, ns.
    pub margin: i64,
    /// Datagrams of the same host, universe or CID inside the piece are kept this long after the evidence, ns.
    pub tail: i64,
    /// The first record after the tail is kept: it shows how long a silence was.
    pub closing: bool,
    /// Records of other hosts inside the piece are kept this near, ns.
    pub bystanders: i64,
    /// Datagrams of the same host, universe or CID inside the piece are kept from this long before it, ns.
    pub company: i64,
}

/// What a walk kept.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Kept {
    pub records: u64,
    pub from: Timestamp,
    pub to: Timestamp,
}

impl Kept {
    /// Another record.
    pub(super) fn add(&mut self, at: Timestamp) {
        if self.records == 0 {
            (self.from, self.to) = (at, at);
        }
        self.from = self.from.min(at);
        self.to = self.to.max(at);
        self.records += 1;
    }

    /// True when drops lie within what was kept. A capture without records is nothing but its drops.
    pub(super) fn overlaps(&self, blind: &Blind) -> bool {
        self.records == 0 || blind.from <= self.to && blind.to >= self.from
    }
}

/// The records of a piece.
#[derive(Debug)]
pub(super) struct Cut<'a> {
    focus: &'a Focus,
    plan: Plan,
    anchor: u64,
    from: u64,
    to: u64,
    closing: Option<u64>,
}

/// Finds the first and the last record of a piece.
struct Search {
    plan: Plan,
    ring: VecDeque<u64>,
    cut_off: bool,
    anchor: Option<u64>,
    anchored_at: i64,
    after: u64,
    to: Option<u64>,
    closing: Option<u64>,
}

impl Search {
    fn new(plan: Plan) -> Search {
        Search {
            plan,
            ring: VecDeque::new(),
            cut_off: false,
            anchor: None,
            anchored_at: 0,
            after: 0,
            to: None,
            closing: None,
        }
    }

    fn record(&mut self, record: &Record<'_>, nearness: Nearness) {
        let own = nearness == Nearness::Own;
        let number = record.number;
        if self.anchor.is_none() {
            self.before(number, own);
            let here = match self.plan.packet {
                0 => own && record.at.0 >= self.plan.span.first,
                packet => number == packet,
            };
            if here {
                self.anchored(number, record.at.0);
            }
            return;
        }
        let late = record.at.0 > self.anchored_at.saturating_add(self.plan.tail);
        if late && self.plan.closing && self.closing.is_none() {
            self.closing = Some(number);
        }
        self.after += u64::from(own && record.at.0 >= self.plan.span.last);
        if self.after >= self.plan.after && self.to.is_none() {
            self.to = Some(number);
        }
    }

    /// Some findings carry no stamp or that of no record.
    fn anchored(&mut self, number: u64, at: i64) {
        self.anchor = Some(number);
        let span = &mut self.plan.span;
        if self.plan.packet == 0 {
            *span = Span { first: at, last: span.last.max(at) };
        }
        self.anchored_at = at.max(span.last);
    }

    fn before(&mut self, number: u64, own: bool) {
        if !own {
            return;
        }
        self.ring.push_back(number);
        if self.ring.len() as u64 > self.plan.before {
            self.ring.pop_front();
            self.cut_off = true;
        }
    }
}

impl<'a> Cut<'a> {
    /// Finds the piece of a plan.
    pub(super) fn locate(input: &Path, focus: &'a Focus, plan: Plan) -> Result<Cut<'a>, CaptureError> {
        let mut search = Search::new(plan);
        classified(input, focus, &mut |record, _, nearness| search.record(record, nearness))?;
        let from = if search.cut_off { search.ring.front().copied().unwrap_or(0) } else { 0 };
        Ok(Cut {
            focus,
            plan: search.plan,
            anchor: search.anchor.unwrap_or(1),
            from,
            to: search.to.unwrap_or(u64::MAX),
            closing: search.closing,
        })
    }

    /// Record of the first occurrence.
    pub(super) fn anchor(&self) -> u64 {
        self.anchor
    }

    /// No record after the silence shows how long it was: the end of capturing has to.
    pub(super) fn needs_end(&self) -> bool {
        self.plan.closing && self.closing.is_none()
    }

    /// Hands the records of the piece to `each`, with the datagram that each completes.
    pub(super) fn walk(
        &self,
        input: &Path,
        each: &mut dyn FnMut(&Record<'_>, Option<&Datagram<'_>>),
    ) -> Result<Kept, CaptureError> {
        let mut kept = Kept::default();
        classified(input, self.focus, &mut |record, datagram, nearness| {
            if self.keeps(record, nearness) {
                kept.add(record.at);
                each(record, datagram);
            }
        })?;
        Ok(kept)
    }

    fn keeps(&self, record: &Record<'_>, nearness: Nearness) -> bool {
        let inside = (self.from..=self.to).contains(&record.number);
        let near = |before, after| self.plan.span.near(record.at, before, after);
        let plan = &self.plan;
        let wanted = match nearness {
            Nearness::Own => true,
            Nearness::Company => near(plan.company, plan.tail),
            Nearness::Bystander => near(plan.bystanders, plan.bystanders),
        };
        let named = record.number == self.anchor || Some(record.number) == self.closing;
        inside && wanted || named || near(plan.margin, plan.margin)
    }
}

/// Reads records and says how near each is.
fn classified(
    input: &Path,
    focus: &Focus,
    each: &mut dyn FnMut(&Record<'_>, Option<&Datagram<'_>>, Nearness),
) -> Result<(), CaptureError> {
    let mut dissector = Dissector::new();
    let mut faults = Faults::new();
    let mut fragments = 0;
    capture::read_records_path(input, &mut |record: &Record<'_>| {
        if let Item::Datagram(_, datagram) = dissector.dissect(record) {
            let nearness = focus.of_datagram(&datagram, &mut faults);
            each(record, Some(&datagram), nearness);
            return;
        }
        let seen = dissector.fragments().0;
        let nearness = focus.of_packet(seen > fragments);
        fragments = seen;
        each(record, None, nearness);
    })?;
    Ok(())
}
