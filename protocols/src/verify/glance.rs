//! A look at a run that goes on, in the shape of its account: what a page or a scrape of the moment is made from.
//!
//! It disturbs nothing and judges nothing. What only the end of a run can settle (edges, owners, numbers of findings)
//! is as it stands. It allocates where a stream, an output or a finding is met for the first time, and nowhere else.

use super::account::{Account, Ended, Finding, FrameAccount, OutputAccount, StreamAccount};
use super::finish::{output_name, uuid};
use super::flow::Flow;
use super::output::Output;
use super::spread::rate_mhz;
use super::{Verifier, rig};
use crate::{Protocol, Timestamp};

/// Streams of a look.
pub const STREAMS_SEEN_AT_ONCE: usize = 512;
/// Outputs of a look.
const OUTPUTS: usize = 128;
/// Findings of a look.
const FINDINGS: usize = 4_096;
/// Findings taken over by one look: their texts are copied.
const FINDINGS_AT_ONCE: usize = 64;
/// Streams, and outputs, whose distributions one look brings up to date: a histogram is far from everything else.
const SPREADS_AT_ONCE: usize = 16;
/// Torn frames of an output up to which those without an end are told apart.
const TEARS_WALKED: usize = 256;
/// See `STREAM-SILENT`.
const SILENT_AFTER: i64 = 2_500 * crate::time::MS;

/// Where a run stands.
#[derive(Clone, Debug, Default)]
pub struct Glance {
    /// The account so far, without time lines and limits; of many streams, outputs and findings the first ones.
    pub account: Account,
    /// All streams.
    pub streams_seen: usize,
    /// All findings listed.
    pub findings_seen: usize,
    /// Findings by severity: info, warning, violation.
    pub findings: [u64; 3],
    /// Missing over all streams, as counted so far.
    pub lost: u64,
    /// For each output of the account: longest time from frame start to frame start since the look before, ns.
    pub longest_ns: Vec<i64>,
    next_stream: usize,
    next_output: usize,
}

impl Glance {
    /// A look that has seen nothing, with its room.
    pub fn roomy() -> Glance {
        let account = Account {
            streams: Vec::with_capacity(STREAMS_SEEN_AT_ONCE),
            outputs: Vec::with_capacity(OUTPUTS),
            findings: Vec::with_capacity(FINDINGS),
            ..Account::default()
        };
        Glance { account, longest_ns: Vec::with_capacity(OUTPUTS), ..Glance::default() }
    }
}

impl Verifier {
    /// Fills in where the run stands at `now`, by the clock of the stamps. The same record has to be given each time:
    /// distributions are brought up to date a few at a time.
    pub fn glance(&mut self, now: Timestamp, into: &mut Glance) {
        let account = &mut into.account;
        (account.first_ns, account.last_ns) = self.clock.stamps();
        self.counts_now(account);
        into.streams_seen = self.flows.len();
        into.lost = self.flows.iter().fold(0, |sum, f| sum.saturating_add(f.cold.sequence.lost));
        (into.findings_seen, into.findings) = self.counts_so_far();
        list(self.found_so_far(), into.findings_seen, &mut account.findings);
        self.options.set_severities(&mut account.findings);
        let spreads = Window { from: into.next_stream, of: self.flows.len().min(STREAMS_SEEN_AT_ONCE) };
        into.next_stream = spreads.end();
        for (i, f) in self.flows.iter_mut().take(STREAMS_SEEN_AT_ONCE).enumerate() {
            if account.streams.len() == i {
                account.streams.push(met(f));
            }
            stream_now(f, &self.shared.outputs, now, spreads.has(i), &mut account.streams[i]);
        }
        let spreads = Window { from: into.next_output, of: self.shared.outputs.len().min(OUTPUTS) };
        into.next_output = spreads.end();
        into.longest_ns.clear();
        for i in 0..self.shared.outputs.len().min(OUTPUTS) {
            if account.outputs.len() == i {
                account.outputs.push(self.output_met(i));
            }
            let output = &mut self.shared.outputs[i];
            into.longest_ns.push(output.take_longest());
            output_now(output, spreads.has(i), &mut account.outputs[i]);
        }
    }

    fn counts_now(&self, account: &mut Account) {
        let by_kind = std::mem::take(&mut account.datagrams.by_kind);
        account.datagrams =
            super::DatagramCounts { by_kind, unfollowed: self.unfollowed, ..self.counts.clone() };
        for (kind, n) in &self.kinds {
            *account.datagrams.by_kind.entry(kind.name).or_default() = *n;
        }
        account.observer = self.evidence.total;
        account.observer.socket = account.observer.socket.saturating_sub(account.observer.checksum);
    }

    fn output_met(&self, index: usize) -> OutputAccount {
        let output = &self.shared.outputs[index];
        let name: Option<String> = self.options.rig.as_ref().and_then(|_: &rig::Rig| self.rig_name(index));
        OutputAccount {
            declared: name.is_some(),
            name: name.unwrap_or_else(|| output_name(output, &self.flows)),
            protocol: output.key.protocol,
            destination: output.destination(&self.flows),
            streams: Vec::with_capacity(output.flows.len()),
            datagrams_per_frame: 0,
            octets_per_frame: 0,
            rate_mhz: 0,
            frames: FrameAccount::default(),
            sync: output.sync,
            causes: output.causes,
            frame_interval_ns: super::Spread::default(),
            spread_ns: super::Spread::default(),
            frame_interval_bars: super::Bars::default(),
            timeline: super::Timeline::default(),
        }
    }
}

/// The few whose turn it is.
#[derive(Clone, Copy, Debug)]
struct Window {
    from: usize,
    of: usize,
}

impl Window {
    fn has(self, index: usize) -> bool {
        let of = self.of.max(1);
        (index + of - self.from % of) % of < SPREADS_AT_ONCE
    }

    fn end(self) -> usize {
        (self.from + SPREADS_AT_ONCE) % self.of.max(1)
    }
}

/// Takes over further findings, and how often the known ones were met.
fn list<'a>(from: impl Iterator<Item = &'a Finding>, all: usize, into: &mut Vec<Finding>) {
    into.truncate(all);
    let mut left = FINDINGS_AT_ONCE;
    for (i, f) in from.take(FINDINGS).enumerate() {
        match into.get_mut(i) {
            Some(known)
                if known.code == f.code && (known.stream, known.first_ns) == (f.stream, f.first_ns) =>
            {
                (known.count, known.last_ns, known.severity) = (f.count, f.last_ns, f.severity);
                (known.proven, known.owners, known.tainted) = (f.proven, f.owners, f.tainted);
            }
            Some(_) if left == 0 => return into.truncate(i),
            None if left == 0 => return,
            Some(other) => *other = f.clone(),
            None => into.push(f.clone()),
        }
        left = left.saturating_sub(usize::from(into[i].id.is_empty()));
        if into[i].id.is_empty() {
            into[i].id = format!("f{:04}", i + 1);
        }
    }
}

impl Verifier {
    /// What a stream is: its addresses, names and numbers, and nothing that came of it.
    pub fn identity(&self, stream: usize) -> Option<StreamAccount> {
        let f = self.flows.get(stream)?;
        let destinations = f.destinations.iter().map(|d| d.address).collect();
        let priorities = match f.protocol() {
            Protocol::Sacn => f.cold.priorities.iter().copied().collect(),
            _ => Vec::new(),
        };
        Some(StreamAccount { destinations, priorities, ..met(f) })
    }
}

/// A stream met for the first time.
fn met(f: &Flow) -> StreamAccount {
    StreamAccount {
        protocol: f.protocol(),
        kind: f.key.kind.short(),
        source: f.cold.source,
        destinations: Vec::new(),
        sender: f.cold.sender.map(uuid),
        name: f.cold.name.clone(),
        stream_id: f.key.stream,
        part: f.key.part,
        output: None,
        datagrams: 0,
        bytes: 0,
        sessions: 1,
        rate_mhz: 0,
        first_ns: f.cold.first_stamp,
        last_ns: 0,
        sequence: super::SequenceAccount::default(),
        frames: FrameAccount::default(),
        interval_ns: super::Spread::default(),
        owners: super::Owners::default(),
        ended: Ended::Running,
        priorities: Vec::new(),
        sync_addresses: Vec::new(),
        start_codes: Vec::new(),
        data_octets: (0, 0),
        timeline: super::Timeline::default(),
    }
}

fn stream_now(f: &mut Flow, outputs: &[Output], now: Timestamp, spreads: bool, into: &mut StreamAccount) {
    into.source = f.cold.source;
    let known = into.destinations.len();
    into.destinations.extend(f.destinations.iter().skip(known).map(|d| d.address));
    into.output = f.output.or_else(|| f.chunks.first().map(|c| c.output)).filter(|o| *o < OUTPUTS);
    (into.datagrams, into.bytes) = (f.datagrams, f.bytes);
    into.sessions = f.cold.sessions.max(1);
    into.rate_mhz = rate_mhz(f.active_steps, f.active_ns);
    into.last_ns = f.last_stamp;
    numbers(f, into);
    into.frames = own_frames(f, outputs);
    into.owners = f.cold.owners;
    into.ended = ended(f, now);
    into.data_octets = (f.octets.0.min(f.octets.1), f.octets.1);
    if f.protocol() == Protocol::Sacn && into.priorities.len() != f.cold.priorities.len() {
        into.priorities = f.cold.priorities.iter().copied().collect();
    }
    if into.start_codes.len() != f.cold.start_codes.len() {
        into.start_codes = f.cold.start_codes.iter().copied().collect();
    }
    if into.sync_addresses.len() != f.cold.syncs.len() {
        into.sync_addresses = f.cold.syncs.iter().copied().collect();
    }
    if spreads {
        into.interval_ns = f.intervals.spread();
    }
}

fn numbers(f: &Flow, into: &mut StreamAccount) {
    let (from, to) = (&f.cold.sequence, &mut into.sequence);
    (to.lost_min, to.lost, to.gaps) = (from.lost_min, from.lost, from.gaps);
    (to.duplicates, to.late, to.old) = (from.duplicates, from.late, from.old);
    (to.restarts, to.ambiguous, to.edge) = (from.restarts, from.ambiguous, f.cold.edge);
    if to.model.is_empty()
        && let Some(model) = &f.model
    {
        to.model = model.label(f.protocol());
    }
}

/// A stream that has stopped is silent by the rule of the end of a run.
fn ended(f: &Flow, now: Timestamp) -> Ended {
    let silence = now.0.saturating_sub(f.last_stamp);
    let longest = if f.protocol() == Protocol::Sacn { 0 } else { f.longest_ns };
    match f.ended {
        Ended::Running if silence > SILENT_AFTER && silence / 3 > longest => Ended::Silent,
        ended => ended,
    }
}

/// Frames of the stream before the one being put together.
fn own_frames(f: &Flow, outputs: &[Output]) -> FrameAccount {
    if f.chunked() {
        let each = f.chunks.iter().map(|c| outputs[c.output].frames_now());
        return each.fold(FrameAccount::default(), FrameAccount::plus);
    }
    let seen = f.group_frame.and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
    let torn = (f.cold.torn.len() as u64 + f.cold.torn_more).min(seen);
    FrameAccount { seen, complete: seen - torn, torn, unterminated: 0 }
}

fn output_now(o: &mut Output, spreads: bool, into: &mut OutputAccount) {
    let known = into.streams.len();
    into.streams.extend(o.flows.iter().skip(known).filter(|i| **i < STREAMS_SEEN_AT_ONCE));
    into.frames = o.frames_now();
    (into.sync, into.causes) = (o.sync, o.causes);
    into.rate_mhz = o.rate_mhz();
    if spreads {
        into.datagrams_per_frame = o.usual_size().unwrap_or(0);
        into.octets_per_frame = o.usual_octets().unwrap_or(0);
        (into.frame_interval_ns, into.spread_ns) = o.times();
    }
}

impl Output {
    /// Frames before the one being put together; of very many torn ones those without an end are not told apart.
    fn frames_now(&self) -> FrameAccount {
        let end = self.current.map_or(0, |c| c.number).max(0);
        if self.tears.len() <= TEARS_WALKED {
            return self.frames(0, end);
        }
        let seen = u64::try_from(end).unwrap_or(0);
        let torn = (self.tears.len() as u64 + self.tears_more).min(seen);
        FrameAccount { seen, complete: seen - torn, torn, unterminated: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_reach_everyone_and_few_at_a_time() {
        for of in [1, 5, 16, 17, 40, 512] {
            let (mut from, mut met) = (0, vec![0; of]);
            for _ in 0..of.div_ceil(SPREADS_AT_ONCE) {
                let window = Window { from, of };
                let turn: Vec<usize> = (0..of).filter(|i| window.has(*i)).collect();
                assert!(turn.len() <= SPREADS_AT_ONCE);
                turn.into_iter().for_each(|i| met[i] += 1);
                from = window.end();
            }
            assert!(met.iter().all(|n| *n >= 1), "{of}: {met:?}");
        }
    }

    fn finding(first_ns: i64, count: u64) -> Finding {
        let rule = super::super::rules::SEQ_LOST;
        let mut findings = super::super::findings::Findings::default();
        let place = super::super::findings::Place { stream: Some(0), packet: 1, stamp: first_ns };
        let f = findings.single(rule, rule.severity, place, "x".to_owned()).unwrap();
        f.count = count;
        f.clone()
    }

    #[test]
    fn findings_are_taken_over_a_few_at_a_time_counted_on_and_given_up_when_taken_back() {
        let mut from: Vec<Finding> = (0..100).map(|n| finding(n, 1)).collect();
        let mut into = Vec::new();
        list(from.iter(), from.len(), &mut into);
        assert_eq!(into.len(), FINDINGS_AT_ONCE);
        from[3].count = 9;
        list(from.iter(), from.len(), &mut into);
        assert_eq!((into.len(), into[3].count, into[99].id.as_str()), (100, 9, "f0100"));
        from.remove(0);
        list(from.iter(), from.len(), &mut into);
        list(from.iter(), from.len(), &mut into);
        assert_eq!((into.len(), into[2].count, into[0].first_ns), (99, 9, 1));
        assert!(into.iter().zip(&from).all(|(a, b)| a.first_ns == b.first_ns));
    }
}
