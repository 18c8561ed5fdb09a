//! A datagram arrives: decoded, cleared of capture copies, put to its stream, session and frame.

use super::account::Ended;
use super::content::{full, mix, sample};
use super::findings::Place;
use super::flow::{DESTINATIONS_MAX, Destination, Flow, FlowKey, makes_frames};
use super::frames::{ahead, into_frame};
use super::noted::{Marked, Noted, Notes, Remark};
use super::observation::Observation;
use super::settle::take;
use super::stride::Stride;
use super::{STREAMS_MAX, Verifier, rules};
use crate::time::MS;
use crate::{Arrival, Checksum, Datagram, Kind, Marks, Pdu, Protocol, Severity, registry};

/// Network data loss timeout of sACN (E1.31 6.7.1).
pub(super) const SACN_TIMEOUT: i64 = 2_500 * MS;
/// A timecode further than this from the capture's clock is told, s.
pub(super) const TIMECODE_OFF: i64 = 1;
/// Universes kept of one source's discovery.
const DISCOVERED_MAX: usize = 4096;

impl Verifier {
    /// Decodes and judges a datagram; `None` when nobody claims it. Inlined into each caller: the usual one does not ask
    /// what became of the datagram, and so nothing is put together for it. With `EXPECT` its header is kept for
    /// [`Verifier::goes_on`].
    #[inline(always)]
    pub(crate) fn arrive<'a, const EXPECT: bool>(
        &mut self,
        now: i64,
        arrival: Arrival,
        d: &Datagram<'a>,
    ) -> Option<Noted<'a>> {
        self.faults.clear();
        // A layout may claim what would be usual without it.
        let usual = if self.options.layouts.is_empty() { registry::plain(d) } else { None };
        if let Some(pdu) = usual {
            let noted = self.noted(now, arrival, d, Some(pdu));
            if EXPECT {
                self.expect(d, &pdu);
            }
            return Some(noted);
        }
        let decoder = self.options.layouts.claim(d);
        let Some(decoded) = decoder.map(|decoder| decoder.decode(d, &mut self.faults)) else {
            self.counts.other += 1;
            return None;
        };
        Some(self.noted(now, arrival, d, decoded.ok()))
    }

    /// Judges what was decoded.
    #[inline(always)]
    fn noted<'a>(&mut self, now: i64, arrival: Arrival, d: &Datagram<'a>, pdu: Option<Pdu<'a>>) -> Noted<'a> {
        let mut notes = Notes {
            sampled: pdu.as_ref().map_or(0, |p| sample(p.data)),
            copy: false,
            cut: d.is_cut(),
            well_formed: self.faults.is_empty() || self.faults.well_formed(),
            content: 0,
        };
        self.judge(now, arrival, d, pdu.as_ref(), &mut notes, Marked::Own);
        let Notes { copy, cut, well_formed, sampled, content } = notes;
        Noted { pdu, copy, cut, well_formed, sampled, content }
    }

    /// Everything that follows the decoding.
    #[inline(never)]
    pub(crate) fn judge(
        &mut self,
        now: i64,
        arrival: Arrival,
        d: &Datagram<'_>,
        pdu: Option<&Pdu<'_>>,
        notes: &mut Notes,
        faults: Marked<'_>,
    ) {
        self.counts.lighting += 1;
        let guess = self.guess(d, pdu);
        if self.is_copy((now, arrival), d, pdu, notes, faults, guess) {
            return;
        }
        self.note_capture(arrival, d, notes.cut);
        let Some(pdu) = pdu else {
            self.counts.undecodable += 1;
            self.report_faults(None, arrival, faults);
            return;
        };
        self.count_kind(pdu.kind);
        let source = match guess {
            Some(flow) => self.flows[flow].source_index,
            None => self.shared.sources.source(d.source.ip()),
        };
        if let Some(source) = source {
            self.shared.sources.list[source].follow(d.link.ip_id);
        }
        if self.is_damaged(source, d, notes.well_formed, now, arrival) {
            guess.into_iter().for_each(|flow| self.flows[flow].cold.damaged += 1);
            return;
        }
        if notes.well_formed {
            self.counts.well_formed += 1
        } else {
            self.counts.malformed += 1
        }
        let flow = match guess.filter(|f| self.is_apart(*f, d)) {
            Some(_) => self.apart(d, pdu, now, arrival, source),
            None => guess.or_else(|| {
                let key = FlowKey::of(d, pdu)?;
                self.heir(&key, d).or_else(|| self.flow(key, d, pdu, now, arrival, source))
            }),
        };
        self.report_faults(flow, arrival, faults);
        self.discover(d, pdu);
        if !flow.is_some_and(|f| self.flows[f].has_frames()) {
            self.overhear(flow, d, pdu, arrival.packet);
        }
        match flow {
            Some(flow) => self.observe(flow, (now, arrival), d, pdu, notes, faults),
            None => {
                self.counts.unread += u64::from(notes.cut && pdu.stream.is_none() && makes_frames(pdu.kind))
            }
        }
    }

    #[inline]
    fn count_kind(&mut self, kind: Kind) {
        match self.kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, n)) => *n += 1,
            None => self.kinds.push((kind, 1)),
        }
    }

    /// The stream of the last datagram, or the one that followed it before, or the one the table knows.
    #[inline]
    fn guess(&mut self, d: &Datagram<'_>, pdu: Option<&Pdu<'_>>) -> Option<usize> {
        let pdu = pdu?;
        let next = *self.successor.get(self.last_flow)?;
        let near = [next, self.last_flow].into_iter().find(|i| self.flows[*i].key.is_of(d, pdu));
        near.or_else(|| self.by_key.get(&FlowKey::of(d, pdu)?).copied())
    }

    #[inline]
    fn is_copy(
        &mut self,
        (now, arrival): (i64, Arrival),
        d: &Datagram<'_>,
        pdu: Option<&Pdu<'_>>,
        notes: &mut Notes,
        faults: Marked<'_>,
        guess: Option<usize>,
    ) -> bool {
        let known =
            guess.and_then(|f| self.flows[f].destinations.first()).filter(|t| t.address == d.destination);
        let path = match known {
            Some(t) => t.path,
            None => self.shared.sources.path(d.source.ip(), d.destination.ip()),
        };
        let Some(path) = path.map(|i| &mut self.shared.sources.paths[i]) else { return false };
        if let Marked::Own = faults {
            notes.copy = path.is_copy(d, now, || print(d, pdu, notes.sampled));
        }
        if notes.copy {
            self.counts.capture_duplicates += 1;
            self.first_copy.get_or_insert((arrival.packet, arrival.at.0));
            return true;
        }
        path.follow(d.link.ip_id);
        false
    }

    fn note_capture(&mut self, arrival: Arrival, d: &Datagram<'_>, cut: bool) {
        if d.link.fragments > 1 {
            self.counts.fragmented += 1;
            self.first_fragment.get_or_insert((arrival.packet, arrival.at.0));
        }
        if cut {
            self.counts.cut += 1;
            self.first_cut.get_or_insert((arrival.packet, arrival.at.0));
        }
    }

    fn is_damaged(
        &mut self,
        source: Option<usize>,
        d: &Datagram<'_>,
        sound: bool,
        now: i64,
        arrival: Arrival,
    ) -> bool {
        let Some(source) = source else { return false };
        if d.link.checksum == Checksum::Bad {
            self.counts.bad_checksum += 1;
        }
        let place = (arrival.packet, arrival.at.0);
        let damage = self.shared.sources.checksum(source, d, sound, now, place);
        // They were taken for good ones until here.
        self.counts.well_formed -= damage.sound;
        self.counts.malformed -= damage.before - damage.sound;
        let damaged = damage.before + u64::from(damage.itself);
        if damaged > 0 {
            self.tell_damage(source, damaged, damage.first, place);
        }
        if !damage.itself {
            return false;
        }
        // Its IP id is no witness that everything arrived.
        self.shared.sources.list[source].breaks += 1;
        if let Some(path) = self.shared.sources.path(d.source.ip(), d.destination.ip()) {
            self.shared.sources.paths[path].breaks += 1;
        }
        true
    }

    /// So many datagrams of a host were damaged since `first`, as is known with the one at `place`.
    #[cold]
    fn tell_damage(&mut self, source: usize, damaged: u64, first: (u64, i64), place: (u64, i64)) {
        let address = self.shared.sources.list[source].address;
        let first = Place { stream: None, packet: first.0, stamp: first.1 };
        let found = self.shared.findings.add(rules::CAP_CHECKSUM, Severity::Warning, first, 0, || {
            format!(
                "a datagram of {address} was damaged on the way: its UDP checksum is wrong, others are right"
            )
        });
        if let Some(found) = found {
            found.count = found.count.saturating_add(damaged - 1);
            found.last_ns = found.last_ns.max(if damaged > 1 { first.stamp } else { place.1 });
        }
    }

    fn report_faults(&mut self, stream: Option<usize>, arrival: Arrival, faults: Marked<'_>) {
        let place = Place { stream, packet: arrival.packet, stamp: arrival.at.0 };
        let findings = &mut self.shared.findings;
        let mut report = |remark: &Remark<'_>| {
            // "Sequence unused" is told once per stream, when its numbering is known.
            if !matches!(remark.rule.code, "DDP-Q10" | "ARTNET-Q20") {
                findings.fault(remark, place);
            }
        };
        match faults {
            Marked::Own => self.faults.as_slice().iter().for_each(|fault| report(&Remark::from(fault))),
            Marked::Taped(remarks) => remarks.iter().for_each(report),
        }
    }

    /// The stream is one of two that clash, and the datagram is the other's.
    fn is_apart(&self, flow: usize, d: &Datagram<'_>) -> bool {
        self.flows[flow].clash.is_some_and(|home| home != d.source.port())
    }

    /// The stream that goes on from another port: of a DDP sender that takes a new one for each frame or session.
    fn heir(&mut self, key: &FlowKey, d: &Datagram<'_>) -> Option<usize> {
        let heir = self.universes.heir(key, d).filter(|_| key.kind.protocol == Protocol::Ddp)?;
        let of = &self.flows[heir];
        (FlowKey { port: of.key.port, ..*key } == of.key).then_some(heir)
    }

    /// The stream of a source port of its own, made when there is none.
    fn apart(
        &mut self,
        d: &Datagram<'_>,
        pdu: &Pdu<'_>,
        now: i64,
        arrival: Arrival,
        source: Option<usize>,
    ) -> Option<usize> {
        let key = FlowKey { port: d.source.port(), ..FlowKey::of(d, pdu)? };
        let known = self.by_key.get(&key).copied();
        known.or_else(|| self.flow(key, d, pdu, now, arrival, source))
    }

    fn flow(
        &mut self,
        key: FlowKey,
        d: &Datagram<'_>,
        pdu: &Pdu<'_>,
        now: i64,
        arrival: Arrival,
        source: Option<usize>,
    ) -> Option<usize> {
        if self.flows.len() >= STREAMS_MAX {
            self.unfollowed += 1;
            return None;
        }
        let index = self.flows.len();
        let mut flow = Flow::new(index, key, d, pdu, now, arrival.at.0);
        flow.source_index = source;
        if flow.has_frames() && pdu.marks.has(Marks::DATA) {
            flow.universe = Some(self.universes.join(&flow, d));
        }
        self.flows.push(flow);
        self.house(index, d, pdu);
        self.successor.push(index);
        self.by_key.insert(key, index);
        Some(index)
    }

    fn discover(&mut self, d: &Datagram<'_>, pdu: &Pdu<'_>) {
        if pdu.kind.name != "sacn/discovery" || (self.discovered.len() >= STREAMS_MAX) {
            return;
        }
        let list = self.discovered.entry((d.source.ip(), pdu.sender.unwrap_or([0; 16]))).or_default();
        for pair in pdu.data.chunks_exact(2).take(512) {
            if list.len() < DISCOVERED_MAX {
                list.insert(u16::from_be_bytes([pair[0], pair[1]]));
            }
        }
    }

    /// Everything a datagram means for a stream that is known.
    #[inline(always)]
    fn observe(
        &mut self,
        index: usize,
        (now, arrival): (i64, Arrival),
        d: &Datagram<'_>,
        pdu: &Pdu<'_>,
        notes: &mut Notes,
        faults: Marked<'_>,
    ) {
        if index != self.last_flow
            && let Some(s) = self.successor.get_mut(self.last_flow)
        {
            *s = index;
        }
        self.last_flow = index;
        if self.leap.is_some() {
            self.vote(index, pdu.sequence);
            self.judge_leap(false);
        }
        if self.flows[index].undecided && !self.flows[index].chunked() {
            self.flows[index].pass_group(pdu);
        }
        let (length, sound) = pdu.carried(d.length, notes.well_formed);
        let mut o = Observation {
            at: now,
            stamp: arrival.at.0,
            packet: arrival.packet,
            raw: pdu.sequence.unwrap_or(0),
            numbered: pdu.sequence.is_some(),
            offset: pdu.offset,
            length,
            sound,
            hash: notes.sampled,
            index: pdu.index,
            count: pdu.count,
            frame: -1,
            marks: pdu.marks,
            ..Observation::default()
        };
        if pdu.kind.protocol == Protocol::Ddp && pdu.marks.has(Marks::TIMED) {
            self.timecode(index, pdu.sender_time, &o);
        }
        self.destination(index, d, &mut o);
        self.session(index, d, pdu, &mut o);
        self.count(index, d, pdu, &o);
        let taped = matches!(faults, Marked::Taped(_)).then_some(notes.content);
        (o.same, notes.content) = self.flows[index].remember(pdu, notes.sampled, taped);
        if pdu.marks.has(Marks::SYNC) {
            self.synchronize(index, now, pdu);
        } else {
            self.await_sync(index, pdu, &o);
        }
        if self.flows[index].has_frames() && !self.flows[index].chunked() {
            o.frame = self.group(index, &o, pdu);
        }
        let flow = &mut self.flows[index];
        flow.arrived_at = now;
        if !behind(flow, &o, pdu) {
            flow.group_raw = flow.number(pdu).or(flow.group_raw);
        }
        take(flow, &o, &mut self.shared);
        if self.universes.contested {
            self.rivals(index, now, arrival.packet, arrival.at.0);
        }
    }

    /// DDP timecode: the middle 32 bits of an NTP time; it goes forward and is near the capture's clock.
    fn timecode(&mut self, index: usize, time: u64, o: &Observation) {
        let time = (time & 0xffff_ffff) as u32;
        let before = self.flows[index].cold.timecode.replace(time);
        let place = Place { stream: Some(index), packet: o.packet, stamp: o.stamp };
        let Some(d14) = registry::rule("DDP-D14") else { return };
        let back = before.map_or(0, |b| time.wrapping_sub(b) as i32);
        if back < 0 {
            self.shared.findings.add(d14, d14.severity, place, 1, || {
                format!("the timecode steps back by {} ms", -i64::from(back) * 1000 / 65_536)
            });
        }
        let off = time.wrapping_sub(ntp_middle(o.stamp)) as i32;
        if i64::from(off).abs() > TIMECODE_OFF * 65_536 {
            self.shared.findings.add(d14, d14.severity, place, 2, || {
                format!("the timecode is {} ms away from the capture's clock", i64::from(off) * 1000 / 65_536)
            });
        }
    }

    fn destination(&mut self, index: usize, d: &Datagram<'_>, o: &mut Observation) {
        let flow = &mut self.flows[index];
        let known = flow.destinations.iter().position(|t| t.address == d.destination);
        let at = known.or_else(|| {
            let path = self.shared.sources.path(d.source.ip(), d.destination.ip());
            if flow.destinations.len() >= DESTINATIONS_MAX {
                return None;
            }
            flow.destinations.push(Destination {
                address: d.destination,
                path,
                breaks: 0,
                source_breaks: 0,
                seen: false,
                stride: Stride::default(),
            });
            Some(flow.destinations.len() - 1)
        });
        let Some(at) = at else { return };
        o.dest = u8::try_from(at).unwrap_or(0);
        let target = &mut flow.destinations[at];
        o.moved = target.stride.follow(d.link.ip_id.unwrap_or(0));
        if let Some(path) = target.path {
            let path = &self.shared.sources.paths[path];
            o.ip_went_back = path.went_back;
            let all = flow.source_index.map(|s| self.shared.sources.list[s].breaks);
            o.ip_runs_on = target.runs_on(path.breaks, all) && d.link.ip_id.is_some();
        }
    }

    fn session(&mut self, index: usize, d: &Datagram<'_>, pdu: &Pdu<'_>, o: &mut Observation) {
        let flow = &mut self.flows[index];
        let first = flow.datagrams == 0;
        // Of DDP another port is another stream, unless its sender changed it all the time.
        let own = flow.protocol() == Protocol::Ddp && flow.key.port == d.source.port();
        if let Some(universe) = flow.universe.filter(|_| own && !first && !flow.is_from(d.source.port())) {
            self.universes.came_back(universe);
        }
        o.new_port = flow.changes_port(d.source.port(), pdu, o.at);
        if first {
            return;
        }
        let silence = o.at - flow.arrived_at;
        let goodbye = pdu.marks.has(Marks::TERMINATED);
        let timed_out = flow.protocol() == Protocol::Sacn && silence > SACN_TIMEOUT;
        o.after_goodbye = flow.goodbyes > 0 && !goodbye;
        o.new_session = o.after_goodbye || timed_out;
        if timed_out && !o.after_goodbye {
            self.silent(index, silence);
        }
        if o.after_goodbye {
            self.goodbye(index);
        }
    }

    fn count(&mut self, index: usize, d: &Datagram<'_>, pdu: &Pdu<'_>, o: &Observation) {
        let flow = &mut self.flows[index];
        if flow.datagrams > 0 && !o.new_session && !o.new_port {
            flow.pace(o.at - flow.arrived_at);
        }
        flow.tally(o, d.length);
        flow.note(pdu, o.length);
        if pdu.marks.has(Marks::TERMINATED) {
            flow.goodbyes += 1;
            flow.ended = Ended::Terminated;
        } else {
            flow.ended = Ended::Running;
        }
    }

    /// A stream that had gone silent without goodbye.
    pub(crate) fn silent(&mut self, index: usize, silence: i64) {
        let flow = &self.flows[index];
        let place = Place { stream: Some(index), packet: flow.last_packet, stamp: flow.last_stamp };
        self.shared.findings.add(rules::STREAM_SILENT, Severity::Info, place, 0, || {
            format!("stopped without goodbye; nothing for {} ms", silence / MS)
        });
    }

    /// A stream that had said goodbye.
    pub(crate) fn goodbye(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        let n = std::mem::take(&mut flow.goodbyes);
        let place = Place { stream: Some(index), packet: flow.last_packet, stamp: flow.last_stamp };
        let severity = if n == 3 { Severity::Info } else { Severity::Warning };
        self.shared.findings.add(rules::STREAM_ENDED, severity, place, 0, || {
            format!("said goodbye with {n} termination datagrams; 3 are prescribed (E1.31 6.2.6)")
        });
    }

    /// Puts a universe's datagram into its output's frame; -1 when it belongs to none.
    fn group(&mut self, index: usize, o: &Observation, pdu: &Pdu<'_>) -> i64 {
        let output = self.output_of(index);
        let flow = &mut self.flows[index];
        let out = &mut self.shared.outputs[output];
        if pdu.sync != 0 {
            out.wants(pdu.sync);
        }
        if pdu.start_code != 0 || pdu.marks.has(Marks::TERMINATED) {
            out.causes.goodbye += u64::from(pdu.marks.has(Marks::TERMINATED) && flow.goodbyes == 1);
            return -1;
        }
        let ahead = ahead(flow, o, pdu);
        if ahead.is_some_and(|a| (-19..=0).contains(&a)) {
            return -1;
        }
        out.unnumbered |= ahead.is_none() && flow.group_frame.is_some() && !o.new_session;
        into_frame(flow, o, ahead, out, &mut self.shared.findings)
    }
}

/// A fingerprint of the whole payload. A right checksum covers every octet, so that it and a sample of the data do;
/// without one every octet is hashed (offloading hosts write the same wrong checksum into all their datagrams).
fn print(d: &Datagram<'_>, pdu: Option<&Pdu<'_>>, sampled: u64) -> u64 {
    let pdu = pdu.map(|pdu| (pdu.sequence.unwrap_or(0), pdu.stream.unwrap_or(0), pdu.offset));
    fingerprint(d, pdu, sampled)
}

/// As [`print`], by number, stream and offset.
#[inline(always)]
pub(super) fn fingerprint(d: &Datagram<'_>, pdu: Option<(u32, u32, u32)>, sampled: u64) -> u64 {
    let whole = |_: &(u32, u32, u32)| d.link.checksum == Checksum::Good && d.link.checksum_field != 0;
    let Some((number, stream, offset)) = pdu.filter(whole) else {
        return full(d.payload);
    };
    let number = u64::from(number) << 32 | u64::from(stream);
    let place = u64::from(offset) << 32 | u64::from(d.length) << 16 | u64::from(d.link.checksum_field);
    mix(mix(sampled, number), place)
}

/// The middle 32 bits of the NTP time of a capture stamp (seconds since 1900, 16.16).
fn ntp_middle(stamp: i64) -> u32 {
    let seconds = stamp.div_euclid(crate::time::SECOND).wrapping_add(2_208_988_800);
    let fraction = stamp.rem_euclid(crate::time::SECOND) * 65_536 / crate::time::SECOND;
    ((seconds & 0xffff) << 16 | fraction) as u32
}

/// A late or repeated datagram: the newest number stays the newest.
fn behind(flow: &Flow, o: &Observation, pdu: &Pdu<'_>) -> bool {
    let Some((last, raw)) = flow.group_raw.zip(pdu.sequence) else { return false };
    let eight_bit = matches!(flow.protocol(), Protocol::Sacn | Protocol::ArtNet);
    let step = match flow.declared_step(last, raw) {
        Some(step) => step.filter(|_| !flow.chunked()),
        None => Some(i64::from((raw.wrapping_sub(last) & 0xff) as u8 as i8)).filter(|_| eight_bit),
    };
    let Some(step) = step else { return false };
    !o.new_session && !o.new_port && (-19..=0).contains(&step)
}
