//! Loss episodes: gaps of a stream that lie close together, their owners, and the late datagrams that mend them.

use super::account::{Finding, Owners};
use super::findings::{FRAMES_MAX, Place as At};
use super::flow::{Episode, Flow, Stall, Unlisted};
use super::herald::Wait;
use super::observation::Observation;
use super::rules;
use super::sequence::{Gap, Lane};
use super::settle::Shared;
use crate::time::MS;
use crate::{Rule, Severity};

/// Gaps of a stream no further apart than this are one episode.
pub(super) const EPISODE: i64 = 100 * MS;
/// Episodes of a stream that wait for late datagrams.
const EPISODES_MAX: usize = 32;
/// Torn frames remembered per episode.
pub(super) const TEARS_MAX: usize = 1024;

/// Counts a gap, finds its owner, opens or extends an episode.
pub(super) fn lose(
    flow: &mut Flow,
    o: &Observation,
    lane: usize,
    gap: Gap,
    tears: Vec<(i64, i64, bool)>,
    shared: &mut Shared,
) {
    flow.cold.sequence.gaps += 1;
    flow.cold.sequence.lost += gap.lost;
    flow.cold.sequence.lost_min += gap.lost_min;
    let destination = flow.destinations.get(usize::from(o.dest)).map(|d| d.address);
    let wire = match (flow.source_index, destination) {
        (Some(s), Some(d)) => shared.sources.list[s].take_damaged(d, flow.last_at, gap.lost),
        _ => 0,
    };
    flow.cold.owners.wire += wire;
    flow.cold.owners.unknown += gap.lost - wire;
    let to = gap.from + i64::try_from(gap.lost).unwrap_or(i64::MAX / 2) - 1;
    if let Some(e) = flow.episodes.last_mut()
        && e.lane == lane
        && o.at - e.last_at <= EPISODE
        && e.tears.len() + tears.len() <= TEARS_MAX
    {
        e.to = to;
        e.lost += gap.lost;
        e.lost_min += gap.lost_min;
        e.ambiguous |= gap.ambiguous;
        e.wire += wire;
        e.residue += gap.residue;
        e.last_stamp = o.stamp;
        e.last_at = o.at;
        e.tears.extend(tears);
        return;
    }
    flow.episodes.push(Episode {
        lane,
        from: gap.from,
        to,
        lost: gap.lost,
        lost_min: gap.lost_min,
        ambiguous: gap.ambiguous,
        wire,
        residue: gap.residue,
        silence: if o.new_session { o.at.saturating_sub(flow.last_at) } else { 0 },
        place: (o.packet, o.stamp),
        since: o.stamp.saturating_sub(o.at.saturating_sub(flow.last_at).max(0)),
        last_stamp: o.stamp,
        last_at: o.at,
        tears,
        heard: false,
        wait: Wait::new(o.stamp, gap.lost),
    });
    shared.heralds.open += 1;
}

/// A late datagram mends its hole.
pub(super) fn late(flow: &mut Flow, lane: usize, number: i64) {
    flow.cold.sequence.late += 1;
    if flow.cold.zero_wrap.is_some_and(|(_, gap, ..)| gap.from == number) {
        flow.cold.zero_wrap = None;
        return;
    }
    if flow.cold.aside.mend(lane, number) {
        return;
    }
    let Some(e) = flow.episodes.iter_mut().find(|e| e.lane == lane && (e.from..=e.to).contains(&number))
    else {
        return;
    };
    e.lost = e.lost.saturating_sub(1);
    e.residue -= 1;
    e.wait.mended += 1;
    let proven = u64::from(e.lost_min > 0);
    e.lost_min -= proven;
    let wire = u64::from(e.wire > e.lost);
    e.wire -= wire;
    e.tears.retain(|(n, ..)| *n != number);
    e.ambiguous &= e.lost > 0 || e.residue > 0;
    flow.cold.sequence.lost = flow.cold.sequence.lost.saturating_sub(1);
    flow.cold.sequence.lost_min = flow.cold.sequence.lost_min.saturating_sub(proven);
    flow.cold.owners.wire = flow.cold.owners.wire.saturating_sub(wire);
    flow.cold.owners.unknown = flow.cold.owners.unknown.saturating_sub(1 - wire);
}

/// Reports episodes that no late datagram can mend any more; all of them at the end.
pub(crate) fn flush(flow: &mut Flow, shared: &mut Shared, all: bool) {
    while let Some(e) = flow.episodes.first() {
        let floor = flow.lanes.get(e.lane).map_or(i64::MAX, Lane::window_floor);
        let newest = flow.episodes.len() == 1;
        let room = flow.episodes.len() <= EPISODES_MAX;
        let stalled = flow.cold.stall.is_some_and(|s| s.lane == e.lane && (e.from..=e.to).contains(&s.from));
        if !all && room && (stalled || e.to >= floor || newest && flow.last_at - e.last_at <= EPISODE) {
            return;
        }
        let e = flow.episodes.remove(0);
        shared.heralds.open -= 1;
        report(flow, &e, shared);
    }
}

pub(super) fn report(flow: &mut Flow, e: &Episode, shared: &mut Shared) {
    flow.cold.sequence.ambiguous |= e.ambiguous;
    if e.lost == 0 && !e.ambiguous {
        if e.wait.told {
            shared.heralds.withdraw(flow.index, e.place.0);
        }
        return;
    }
    if e.lost > 0 {
        let bin = flow.cold.losses.at(e.last_at);
        bin.lost = bin.lost.saturating_add(e.lost);
    }
    let place = At { stream: Some(flow.index), packet: e.place.0, stamp: e.place.1 };
    let (rule, severity, text) = sentence(e);
    match shared.findings.single(rule, severity, place, text) {
        Some(f) => fill(f, e),
        None => unlisted(flow, e),
    }
    let Some(output) = tears_of(flow, e) else { return };
    // A frame that nobody saw and no number proves is not held against anybody.
    for (_, frame, end) in e.tears.iter().filter(|_| e.lost_min > 0) {
        shared.outputs[output].tear(*frame, flow.index, *end, e.place);
        flow.tear(*frame);
    }
}

/// What an episode comes to, in words.
pub(super) fn sentence(e: &Episode) -> (&'static Rule, Severity, String) {
    if e.lost_min > 0 {
        let more = if e.lost > e.lost_min { format!(", at least {}", e.lost_min) } else { String::new() };
        (rules::SEQ_LOST, Severity::Violation, format!("{} lost{more}", datagrams(e.lost)))
    } else if e.lost > 0 {
        (rules::SEQ_AMBIGUOUS, Severity::Warning, unproven(e))
    } else {
        let text =
            "the numbers jumped in a way that time does not explain; no loss can be counted".to_owned();
        (rules::SEQ_AMBIGUOUS, Severity::Warning, text)
    }
}

/// Writes down what is known of an episode beside its words.
pub(super) fn fill(f: &mut Finding, e: &Episode) {
    f.count = e.lost.max(1);
    f.last_ns = e.last_stamp;
    f.since_ns = e.since.min(e.place.1);
    f.proven = e.lost_min;
    f.residue = e.residue;
    f.owners = Some(Owners { wire: e.wire, unknown: e.lost.saturating_sub(e.wire), ..Owners::default() });
    f.frames = e.tears.iter().filter_map(|(_, frame, _)| u64::try_from(*frame).ok()).collect();
    f.frames.sort_unstable();
    f.frames.dedup();
    f.frames.truncate(FRAMES_MAX);
}

/// The output whose frames an episode tore.
pub(super) fn tears_of(flow: &Flow, e: &Episode) -> Option<usize> {
    let dest = if flow.model.is_some_and(|m| m.per_destination) { e.lane } else { 0 };
    if flow.chunked() { flow.chunks.get(dest).map(|c| c.output) } else { flow.output }
}

/// What a loss that nothing proves rests on.
fn unproven(e: &Episode) -> String {
    let lost = datagrams(e.lost);
    if e.heard {
        return format!(
            "{lost} missing by the numbers, which came in datagrams of another kind from the same sender; too few of those \
             came to tell whether they share the counter, so none is proven"
        );
    }
    if e.silence > 0 {
        return format!(
            "{lost} missing by time over a silence of {} ms, {} of them by the numbers; a sender may begin anew after \
             2.5 s (E1.31 6.7.1), so none is proven",
            e.silence / MS,
            u64::try_from(e.residue).unwrap_or(0).min(e.lost)
        );
    }
    if e.residue > 0 && u64::try_from(e.residue) == Ok(e.lost) {
        return format!(
            "{lost} missing by the numbers alone; time does not agree with so many, and the sender's numbers may have \
             jumped or begun anew, so none is proven"
        );
    }
    if e.residue <= 0 {
        return format!(
            "{lost} missing by time and position; the numbers go on as if nothing was lost, so none is proven"
        );
    }
    format!(
        "{lost} missing by time and position; the numbers, {} skipped, leave the size open, so none is proven",
        e.residue
    )
}

/// Notes a gap of whole cycles that only time calls a loss: datagrams that come early take it back.
pub(super) fn stall(flow: &mut Flow, lane: usize, gap: &Gap, due: i64) {
    let cycle = flow.lanes.get(lane).map_or(0, Lane::cycle);
    let excess = i64::try_from(gap.lost).unwrap_or(0) - gap.residue;
    let whole = cycle > 0 && excess > 0 && excess % cycle == 0;
    flow.cold.stall = (gap.ambiguous && whole).then_some(Stall {
        lane,
        from: gap.from,
        due: due - gap.residue,
        early: 0,
        excess: (excess, 0),
        cycle,
    });
}

/// `n` datagrams came earlier than the cadence: so many were held up in the last silence and not lost in it. Returns
/// how many of those called lost were taken back so far and how many just before.
pub(super) fn caught_up(flow: &mut Flow, n: i64) -> Option<(i64, i64)> {
    let s = flow.cold.stall.as_mut()?;
    s.early += n;
    let before = s.excess.1;
    s.excess.1 = (super::cadence::nearest(s.early, s.cycle) * s.cycle).min(s.excess.0);
    let (s, back) = (*s, (s.excess.1 - before).unsigned_abs());
    let e = flow.episodes.iter_mut().find(|e| e.lane == s.lane && (e.from..=e.to).contains(&s.from))?;
    e.lost = e.lost.saturating_sub(back);
    e.wait.mended += back;
    e.tears.clear();
    let wire = e.wire.saturating_sub(e.lost);
    e.wire -= wire;
    let all = s.excess.0 == s.excess.1 && s.early + 1 + s.due / 16 >= s.due;
    if all && e.lost == e.lost_min {
        e.ambiguous = false;
    }
    flow.cold.sequence.lost = flow.cold.sequence.lost.saturating_sub(back);
    flow.cold.owners.wire = flow.cold.owners.wire.saturating_sub(wire);
    flow.cold.owners.unknown = flow.cold.owners.unknown.saturating_sub(back - wire.min(back));
    Some((s.excess.1, before))
}

/// Of the datagrams due in a pause over which the numbers ran on, only some came in the burst after it.
pub(super) fn never_came(
    flow: &mut Flow,
    o: &Observation,
    lane: usize,
    (due, came): (i64, i64),
    shared: &mut Shared,
) {
    if let Some(gap) = flow.lanes[lane].never_came(due, came) {
        lose(flow, o, lane, gap, Vec::new(), shared);
    }
}

/// There are more findings than are kept: the loss is counted to its stream alone.
fn unlisted(flow: &mut Flow, e: &Episode) {
    let (from, to) = (e.since.min(e.place.1), e.last_stamp);
    let before = flow.cold.unlisted.unwrap_or(Unlisted { window: (from, to), unknown: 0 });
    let window = (before.window.0.min(from), before.window.1.max(to));
    let unknown = before.unknown.saturating_add(e.lost.saturating_sub(e.wire));
    flow.cold.unlisted = Some(Unlisted { window, unknown });
}

fn datagrams(n: u64) -> String {
    crate::words::counted(n, "datagram")
}
