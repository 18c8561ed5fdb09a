//! What a datagram means for its stream: numbering, losses and their owners, frames, pauses.

use super::aside;
use super::cadence::nearest;
use super::chunks::{Chunks, Seat};
use super::episodes::{TEARS_MAX, caught_up, flush, late, lose, never_came, stall};
use super::findings::{Findings, Place as At};
use super::flow::Flow;
use super::habits::{dialect, is_excuse, tell_dialect, unused};
use super::herald::Heralds;
use super::model::{self, Model, Unit};
use super::observation::Observation;
use super::output::{Output, OutputKey};
use super::pauses::{keeps_alive, note_pause, pause, pause_of_frame, settle_pause};
use super::rules;
use super::sequence::{Gap, Lane, Place, Step};
use super::sources::Sources;
use super::untiled::untiled;
use crate::{Marks, Protocol, Severity};

/// Frames with an end mark from which on an end is expected.
pub(super) const ENDS_LEAST: u64 = 8;
/// Frames with an end mark for each one without, from which on an end is expected.
pub(super) const ENDS_TO_ONE: u64 = 9;

/// Everything streams share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    pub outputs: Vec<Output>,
    pub findings: Findings,
    pub sources: Sources,
    pub heralds: Heralds,
}

/// Takes an observation: held back until the numbering is known, judged at once afterwards.
#[inline]
pub(crate) fn take(flow: &mut Flow, o: &Observation, shared: &mut Shared) {
    match flow.model {
        Some(model) => settle(flow, o, model, shared),
        None => wait(flow, *o, shared),
    }
}

#[inline(never)]
fn wait(flow: &mut Flow, o: Observation, shared: &mut Shared) {
    flow.cold.waiting.push(o);
    let n = flow.cold.waiting.len();
    let protocol = flow.protocol();
    if n >= model::AT_MOST || (n >= model::enough(protocol) && undisturbed(flow)) {
        lock(flow, shared);
    }
}

/// Every step among the waiting is what the prescribed model expects.
fn undisturbed(flow: &Flow) -> bool {
    let model = model::infer(flow.protocol(), &flow.cold.waiting);
    if flow.protocol() == Protocol::BigPacket || model.unit != Unit::Datagram {
        return true;
    }
    let mut last: Option<u64> = None;
    flow.cold.waiting.iter().filter_map(|o| model.place(o.raw)).all(|p| {
        let good = last.is_none_or(|l| (l + 1) % model.cycle == p);
        last = Some(p);
        good
    })
}

/// Infers the model, then judges all that waited.
pub(crate) fn lock(flow: &mut Flow, shared: &mut Shared) {
    let waiting = std::mem::take(&mut flow.cold.waiting);
    let mut model = model::infer(flow.protocol(), &waiting);
    if model.step > 1 && (flow.cold.carried || aside::explains(flow, &model, &waiting)) {
        model.step = 1;
    }
    tell_model(flow, &model, &waiting, shared);
    flow.model = Some(model);
    if flow.chunked() {
        for dest in 0..flow.destinations.len().max(1) {
            add_chunks(flow, dest, &waiting, shared);
        }
    }
    for o in &waiting {
        // The model may change while its own first datagrams are judged (see `skips_zero`).
        let model = flow.model.unwrap_or(model);
        settle(flow, o, model, shared);
    }
}

fn add_chunks(flow: &mut Flow, dest: usize, seen: &[Observation], shared: &mut Shared) {
    let key = OutputKey {
        protocol: flow.protocol(),
        source: flow.cold.source.ip(),
        sender: flow.cold.sender,
        port: 0,
        alone: Some((flow.index, u8::try_from(dest).unwrap_or(u8::MAX))),
        rig: None,
    };
    let mut output = Output::new(key);
    output.flows.push(flow.index);
    shared.outputs.push(output);
    let index = shared.outputs.len() - 1;
    flow.output.get_or_insert(index);
    let own: Vec<Observation> = seen.iter().filter(|o| usize::from(o.dest) == dest).copied().collect();
    let offsets = flow.protocol().layout().is_none_or(|table| table.has_offsets());
    flow.chunks.push(Chunks::new(index, &own, offsets));
}

pub(super) fn at(flow: &Flow, o: &Observation) -> At {
    At { stream: Some(flow.index), packet: o.packet, stamp: o.stamp }
}

fn tell_model(flow: &mut Flow, model: &Model, seen: &[Observation], shared: &mut Shared) {
    let Some(first) = seen.first() else { return };
    let place = at(flow, first);
    let findings = &mut shared.findings;
    if model.unit == Unit::Nothing && flow.protocol() != Protocol::Kinet && flow.has_frames() {
        let declared = flow.protocol().layout().is_some_and(|table| table.sequence().is_none());
        let text = if model.stuck {
            "the sequence number never changes"
        } else if declared {
            "the layout declares no sequence number"
        } else {
            "the sequence field is unused or disabled"
        };
        // E1.31 6.7.2: a receiver discards a number that does not move; other protocols know "not used".
        let severity = if flow.protocol() == Protocol::Sacn { Severity::Warning } else { Severity::Info };
        findings.add(rules::SEQ_UNUSED, severity, place, 0, || {
            format!("{text}: loss cannot be told from the counter")
        });
    }
    if model.unit != Unit::Nothing && Some(model.first) == unused(flow.protocol()) {
        tell_dialect(model, place, findings);
    }
    let by_source = flow.protocol().layout().is_some_and(|table| table.counts_by_source());
    if model.step > 1 && !by_source {
        let step = model.step;
        shared_counter(flow, place, Severity::Warning, findings, || {
            format!(
                "every datagram is {step} numbers ahead of the one before: one counter for {step} streams"
            )
        });
    }
    let several = flow.destinations.len() > 1;
    if several && !model.per_destination && model.unit == Unit::Datagram && flow.protocol() != Protocol::Sacn
    {
        let n = flow.destinations.len();
        shared_counter(flow, place, Severity::Warning, findings, || {
            format!(
                "one counter runs over {n} destinations: a receiver of one of them sees gaps that are no loss"
            )
        });
    }
}

pub(super) fn shared_counter(
    flow: &mut Flow,
    place: At,
    severity: Severity,
    findings: &mut Findings,
    text: impl FnOnce() -> String,
) {
    if !flow.cold.shared_told {
        flow.cold.shared_told = true;
        findings.add(rules::SEQ_SHARED, severity, place, 0, text);
    }
}

/// Judges one observation with the model known.
fn settle(flow: &mut Flow, o: &Observation, model: Model, shared: &mut Shared) {
    let dest = usize::from(o.dest);
    let lane = if model.per_destination { dest } else { 0 };
    while flow.lanes.len() <= lane {
        flow.lanes.push(Lane::new(model));
    }
    dialect(flow, o, lane, shared);
    let heard = if flow.undecided { aside::before(flow, o, lane) } else { None };
    if flow.chunked() {
        while flow.chunks.len() <= dest {
            let next = flow.chunks.len();
            add_chunks(flow, next, std::slice::from_ref(o), shared);
        }
        settle_chunk(flow, o, lane, dest, shared);
    } else {
        settle_universe(flow, o, lane, shared);
    }
    if let Some(heard) = heard {
        aside::after(flow, o, lane, heard, shared);
    }
    flow.decided();
    if !flow.episodes.is_empty() {
        flush(flow, shared, false);
    }
}

fn settle_universe(flow: &mut Flow, o: &Observation, lane: usize, shared: &mut Shared) {
    if !flow.has_frames() && flow.cold.carried {
        moved(flow, o);
        return;
    }
    let period = flow.cadence.steady();
    let since = o.at - flow.last_at;
    // Without a pause an estimate from time is at most one: nothing but the next number to judge.
    let prompt = period.is_none_or(|p| since * 2 <= p * 3) && flow.cold.zero_wrap.is_none();
    if prompt && flow.lanes[lane].goes_on(o, 0) {
        rhythm(flow, o, lane, since, shared);
        moved(flow, o);
        return;
    }
    let repeats = (flow.still || o.same) && is_excuse(flow, since, flow.output, shared);
    let place = Place {
        catching_up: flow.cadence.catches_up(),
        chunks: 1,
        estimate: period.map(|p| nearest(since, p) - 1),
        too_soon: period.is_some_and(|p| since * 2 < p),
        shared: lane == 0 && flow.destinations.len() > 1 && flow.model.is_some_and(|m| !m.per_destination),
        repeats,
        ..Place::default()
    };
    refute(flow, o, lane);
    if skips_zero(flow, o, lane) {
        let skipping = Model { cycle: 255, first: 1, ..*flow.lanes[lane].model() };
        flow.lanes[lane].renumber(skipping, 255);
        flow.model = Some(skipping);
        shared.findings.add(rules::SEQ_DIALECT, Severity::Info, at(flow, o), 1, || {
            "the sender wraps from 255 to 1: it skips zero".to_owned()
        });
    }
    let before = flow.settled;
    let silent = o.new_session && !o.after_goodbye;
    let outage = silent.then(|| flow.lanes[lane].outage(o, &place)).flatten();
    let step = flow.lanes[lane].step(o, &place);
    if let Some(gap) = outage {
        lose(flow, o, lane, gap, Vec::new(), shared);
    }
    match step {
        Step::InOrder if !o.new_session => {
            note_pause(flow, o, period, (since, flow.still || o.same));
            if !keeps_alive(flow, o, since, shared) {
                pause(flow, o, period, since, shared);
            }
        }
        Step::Gap(gap) => {
            let frame = before.map(|(frame, _)| frame);
            let habit = gap.lost == 1 && o.raw == 1 && at_wrap(flow) && flow.protocol() == Protocol::Sacn;
            if habit && flow.cold.zero_wrap.is_none() {
                flow.cold.zero_wrap = Some((*o, gap, frame, flow.last_at));
            } else {
                lose(flow, o, lane, gap, between(&gap, frame, o.frame), shared);
            }
        }
        _ => {}
    }
    if o.raw == 0 && at_wrap(flow) {
        settle_wrap(flow, lane, shared);
    }
    common(flow, o, lane, step, shared);
    let newest =
        matches!(step, Step::InOrder | Step::Gap(_) | Step::NotLost(_) | Step::Started | Step::Restart);
    if newest || step == Step::Unnumbered || flow.lanes[lane].model().unit == Unit::Nothing {
        if step == Step::InOrder && !o.new_session {
            rhythm(flow, o, lane, since, shared);
        }
        owe(flow, o, lane, step, place.estimate);
        moved(flow, o);
    }
}

/// Adds an interval to a universe's cadence; one that catches up on a silence takes back what time called lost.
#[inline]
fn rhythm(flow: &mut Flow, o: &Observation, lane: usize, since: i64, shared: &mut Shared) {
    if flow.cadence.add(since) {
        caught_up(flow, 1);
        return;
    }
    if flow.cold.stall.is_some() {
        flow.cold.stall = None;
    }
    if let Some(pause) = flow.cadence.unpaid() {
        never_came(flow, o, lane, pause, shared);
    }
}

/// What a silence leaves to come in a burst.
fn owe(flow: &mut Flow, o: &Observation, lane: usize, step: Step, due: Option<i64>) {
    let Some(due) = due.filter(|due| *due > 0) else { return };
    match step {
        Step::InOrder if !o.ip_runs_on && !o.new_session => flow.cadence.owe_unproven(due),
        Step::InOrder | Step::NotLost(_) | Step::Restart => flow.cadence.owe(due),
        Step::Gap(gap) => {
            flow.cadence.owe(due - proven(&gap));
            stall(flow, lane, &gap, due);
        }
        _ => {}
    }
}

/// What is missing by number at least.
fn proven(gap: &Gap) -> i64 {
    gap.residue.min(i64::try_from(gap.lost).unwrap_or(i64::MAX))
}

/// The datagram is the newest of its stream.
pub(super) fn moved(flow: &mut Flow, o: &Observation) {
    flow.still = o.same;
    flow.last_at = o.at;
    let frame = if o.frame >= 0 { o.frame } else { flow.settled.map_or(-1, |(frame, _)| frame) };
    flow.settled = Some((frame, o.raw));
}

/// The habit of wrapping from 255 to 1, once it was seen twice.
fn skips_zero(flow: &mut Flow, o: &Observation, lane: usize) -> bool {
    let model = flow.lanes[lane].model();
    let wraps = flow.protocol() == Protocol::Sacn && model.cycle == 256 && model.step == 1;
    // Seen twice, or once with an IP id that runs on without a hole.
    let second = wraps && o.raw == 1 && at_wrap(flow) && (flow.cold.zero_wrap.is_some() || o.ip_runs_on);
    if second {
        // The first wrap looked like a loss of one; it was none.
        flow.cold.zero_wrap = None;
    }
    second
}

/// A zero after all: the sender does not skip it, two losses only made it look so.
fn refute(flow: &mut Flow, o: &Observation, lane: usize) {
    let skipping = flow.protocol() == Protocol::Sacn && flow.lanes[lane].model().first == 1;
    if skipping && o.numbered && o.raw == 0 {
        let model = Model { cycle: 256, first: 0, ..*flow.lanes[lane].model() };
        let newest = flow.settled.map_or(0, |(_, raw)| raw);
        flow.lanes[lane].renumber(model, newest);
        flow.model = Some(model);
    }
}

/// The newest number judged is 255.
fn at_wrap(flow: &Flow) -> bool {
    flow.settled.map(|(_, raw)| raw) == Some(255)
}

/// A first wrap from 255 to 1 is a habit or a loss of one: the next wrap, or the end, decides.
pub(crate) fn settle_wrap(flow: &mut Flow, lane: usize, shared: &mut Shared) {
    if let Some((o, gap, before, since)) = flow.cold.zero_wrap.take() {
        let newest = std::mem::replace(&mut flow.last_at, since);
        lose(flow, &o, lane, gap, between(&gap, before, o.frame), shared);
        flow.last_at = newest;
    }
}

fn between(gap: &Gap, before: Option<i64>, now: i64) -> Vec<(i64, i64, bool)> {
    let Some(before) = before.filter(|b| *b >= 0 && now >= 0) else { return Vec::new() };
    let lacking = (now - before - 1).clamp(0, i64::try_from(TEARS_MAX).unwrap_or(0));
    let lost = i64::try_from(gap.lost).unwrap_or(i64::MAX);
    (0..lacking.min(lost)).map(|i| (gap.from + i, before + 1 + i, false)).collect()
}

fn settle_chunk(flow: &mut Flow, o: &Observation, lane: usize, dest: usize, shared: &mut Shared) {
    if !o.marks.has(Marks::DATA) && o.marks.has(Marks::PUSH) {
        flow.chunks.iter_mut().for_each(Chunks::end);
        return;
    }
    let several = flow.chunks.len() > 1 && lane == 0 && !flow.model.is_some_and(|m| m.per_destination);
    let output = flow.chunks[dest].output;
    let repeats = shared.outputs[output].repeating;
    let period = flow.chunks[dest].cadence.steady();
    let frames_numbered = flow.lanes[lane].model().unit == Unit::Frame;
    let next = !several && flow.lanes[lane].is_next(o);
    let seat = flow.chunks[dest].seat(o, frames_numbered, next);
    if !several && flow.chunks[dest].is_next(o, seat, period) && flow.lanes[lane].goes_on(o, seat.position) {
        flow.last_at = o.at;
        let frame = flow.chunks[dest].frame;
        frame_of(flow, o, dest, seat, frame, Step::InOrder, shared);
        return;
    }
    let silence = o.at - flow.last_at;
    let repeats = repeats && is_excuse(flow, silence, Some(output), shared);
    let mut place = flow.chunks[dest].place(o, seat, repeats);
    place.shared = several;
    if several {
        place.estimate = None;
    }
    let chunks = if o.count > 0 { i64::from(o.count) } else { flow.chunks[dest].chunks };
    let chunks = if chunks > 0 { chunks } else { i64::MAX };
    let step = flow.lanes[lane].step(o, &place);
    let lost = match step {
        Step::Gap(gap) => gap.lost,
        _ => 0,
    };
    if matches!(step, Step::Duplicate { .. } | Step::Late(_) | Step::Old) {
        if let Step::Late(_) = step {
            flow.chunks[dest].tiles.late(o, frames_numbered);
        }
        common(flow, o, lane, step, shared);
        return;
    }
    let mut tears = Vec::new();
    let frame = if several {
        flow.chunks[dest].walk(0, seat, chunks, |_, _| {})
    } else {
        let mut number = flow.lanes[lane].highest() - i64::try_from(lost).unwrap_or(0);
        flow.chunks[dest].walk(lost, seat, chunks, |frame, end| {
            if tears.len() < TEARS_MAX {
                tears.push((number, frame, end));
            }
            number += 1;
        })
    };
    let fresh = frame != flow.chunks[dest].frame;
    if fresh && lost == 0 {
        let since = o.at - flow.chunks[dest].start;
        if !o.new_session && step == Step::InOrder {
            note_pause(flow, o, period, (since, shared.outputs[output].repeating));
            pause_of_frame(flow, o, frame, (output, period, since), shared);
        }
    }
    let due = flow.chunks[dest].due(o, period).filter(|_| fresh);
    if fresh {
        end_of_frame(flow, o, dest, lost, shared);
    }
    if let (Some(due), Step::Gap(gap)) = (due, step) {
        owe_beyond(flow, (lane, dest), gap, due);
    }
    if let Step::Gap(gap) = step {
        lose(flow, o, lane, gap, tears, shared);
    }
    common(flow, o, lane, step, shared);
    flow.last_at = o.at;
    frame_of(flow, o, dest, seat, frame, step, shared);
    let cadence = &mut flow.chunks[dest].cadence;
    match (due, step) {
        (Some(due), Step::InOrder) if !o.ip_runs_on && !o.new_session => cadence.owe_unproven(due),
        (Some(due), Step::InOrder | Step::NotLost(_)) => cadence.owe(due),
        _ => {}
    }
}

/// What a silence with a loss in it leaves to come in a burst.
fn owe_beyond(flow: &mut Flow, (lane, dest): (usize, usize), gap: Gap, due: i64) {
    let c = &mut flow.chunks[dest];
    let chunks = c.chunks.max(1);
    c.cadence.owe(due - proven(&gap) / chunks);
    stall(flow, lane, &gap, due.saturating_mul(chunks));
}

/// A chunked frame began; one that catches up on a silence takes back what time called lost, and the frames of it.
fn began(flow: &mut Flow, o: &Observation, dest: usize, early: bool, shared: &mut Shared) {
    let chunks = flow.chunks[dest].chunks.max(1);
    if !early {
        flow.cold.stall = None;
        if let Some((due, came)) = flow.chunks[dest].cadence.unpaid() {
            let lane = if flow.model.is_some_and(|m| m.per_destination) { dest } else { 0 };
            never_came(flow, o, lane, (due.saturating_mul(chunks), came.saturating_mul(chunks)), shared);
        }
        return;
    }
    let Some((back, before)) = caught_up(flow, chunks) else { return };
    let frames = back / chunks - before / chunks;
    let c = &mut flow.chunks[dest];
    c.frame -= frames;
    c.tiles.shift(frames);
    shared.outputs[c.output].shift(frames);
}

/// Puts the datagram into the output's frame.
pub(super) fn frame_of(
    flow: &mut Flow,
    o: &Observation,
    dest: usize,
    seat: Seat,
    frame: i64,
    step: Step,
    shared: &mut Shared,
) {
    let lost = flow.cold.sequence.lost;
    let chunks = &mut flow.chunks[dest];
    let index = chunks.output;
    let before = chunks.frame;
    let early = chunks.accept(o, seat, frame, lost);
    let flaw = chunks.tiles.take(o, step, (before, frame), seat.position);
    if before != frame {
        untiled(flow, dest, flaw, shared);
    }
    let output = &mut shared.outputs[index];
    if output.current.is_none_or(|c| c.number != frame) {
        close_chunked(flow.index, output, &mut shared.findings);
        output.begin(frame, o.at, o.stamp, o.packet);
    }
    if let Some(c) = &mut output.current {
        c.datagrams += 1;
        c.octets += u64::from(o.length);
        c.changed |= !o.same;
        c.last = o.at;
        c.restart |= step == Step::Restart;
    }
    if let Some(early) = early {
        began(flow, o, dest, early, shared);
    }
}

/// Closes a chunked output's frame.
pub(crate) fn close_chunked(flow: usize, output: &mut Output, findings: &mut Findings) {
    let Some(c) = output.current else { return };
    settle_pause(flow, output, c, findings);
    let place = At { stream: Some(flow), packet: c.packet, stamp: c.start_stamp };
    if output.close().froze {
        frozen(place, findings);
    }
}

/// Tells that content stands still.
pub(crate) fn frozen(place: At, findings: &mut Findings) {
    findings.add(rules::FRAME_FROZEN, Severity::Info, place, 0, || {
        "the payload has not changed for over a second while frames keep coming".to_owned()
    });
}

/// A frame that ended without its mark although nothing of it was lost.
fn end_of_frame(flow: &mut Flow, o: &Observation, dest: usize, lost: u64, shared: &mut Shared) {
    let c = &flow.chunks[dest];
    if c.frame < 0 || lost > 0 || c.ended || flow.cold.sequence.lost != c.lost_before {
        return;
    }
    let habit = c.with_end >= ENDS_LEAST && c.with_end >= c.without_end * ENDS_TO_ONE;
    if habit && c.position + 1 >= c.chunks {
        let place = (o.packet, o.stamp);
        shared.outputs[c.output].tear(c.frame, flow.index, true, place);
        let frame = c.frame;
        flow.tear(frame);
    } else if habit && c.position + 1 < c.chunks {
        let place = at(flow, o);
        let partial = crate::registry::rule("DDP-D12").filter(|_| flow.protocol().layout().is_none());
        let rule = partial.unwrap_or(rules::FRAME_UNTERMINATED);
        shared.findings.add(rule, Severity::Warning, place, 1, || {
            "a frame stopped short of its usual end although no number is missing: a partial update without push"
                .to_owned()
        });
    }
}

/// Bookkeeping and findings that all kinds of streams share.
fn common(flow: &mut Flow, o: &Observation, lane: usize, step: Step, shared: &mut Shared) {
    let place = at(flow, o);
    let findings = &mut shared.findings;
    match step {
        Step::Started => flow.cold.sessions += 1,
        Step::Restart => restart(flow, o, place, findings),
        Step::Duplicate { same } => {
            flow.cold.sequence.duplicates += 1;
            let text = if same {
                "the same datagram came again"
            } else {
                "the same number came again with another payload"
            };
            findings.add(rules::SEQ_DUPLICATE, Severity::Warning, place, u32::from(same), || text.to_owned());
        }
        Step::Late(number) => {
            late(flow, lane, number);
            findings.add(rules::SEQ_LATE, Severity::Warning, place, 0, || {
                "a datagram arrived after later ones and filled its hole".to_owned()
            });
        }
        Step::Old => {
            flow.cold.sequence.old += 1;
            findings.add(rules::SEQ_OLD, Severity::Info, place, 0, || {
                "a datagram from before the session's first number".to_owned()
            });
        }
        Step::NotLost(n) => {
            flow.cold.sequence.gaps += 1;
            // The sender may have left a hole in a frame all the same.
            let on_the_way = if flow.chunked() { " on the way" } else { "" };
            findings.add(rules::SEQ_SHARED, Severity::Warning, place, 1, || {
                format!(
                    "{n} numbers never reach this capture point, but the IP id on this path runs on without a hole: \
                     they were not sent here, so nothing was lost{on_the_way}"
                )
            });
        }
        Step::Unnumbered => flow.cold.unnumbered += 1,
        Step::InOrder | Step::Gap(_) => {}
    }
}

fn restart(flow: &mut Flow, o: &Observation, place: At, findings: &mut Findings) {
    flow.cold.sessions += 1;
    flow.cold.sequence.restarts += 1;
    let goodbye = o.after_goodbye;
    let severity = if goodbye { Severity::Info } else { Severity::Warning };
    let why = if o.after_goodbye {
        "after a goodbye"
    } else if flow.clash.is_some() && o.new_port {
        "two source ports send it at the same time; from here on each is a stream of its own"
    } else if o.new_port {
        "from a source port not seen before"
    } else if o.new_session {
        "after a silence"
    } else {
        "the numbers begin at their first value again"
    };
    findings.add(rules::SEQ_RESTART, severity, place, 0, || format!("the stream began anew: {why}"));
}
