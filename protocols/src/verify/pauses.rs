//! Pauses in which nothing was lost: those of a sender that stutters are told, those of one with nothing to change are not.
//!
//! What it is shows in the content around it. It never asks what is missing.

use super::findings::{Findings, Place as At};
use super::flow::Flow;
use super::observation::Observation;
use super::output::{Current, KEEP_ALIVE, Output, Pause};
use super::rules;
use super::settle::{Shared, at};
use crate::{Protocol, Severity};

/// A pause of more than so many percent of the period is told.
pub(super) const GAP_PERCENT: i64 = 150;

/// The pause is that of a sender with nothing to change: the levels after it are the old ones (E1.31 6.6.2; Art-Net 4,
/// ArtDmx), or those before it stood still and the output is known to send nothing then but keep-alives.
pub(super) fn keeps_alive(flow: &Flow, o: &Observation, since: i64, shared: &Shared) -> bool {
    let habit = flow.output.is_some_and(|i| shared.outputs[i].keeps_alive());
    (o.same && since >= KEEP_ALIVE) || (habit && (o.same || flow.still))
}

/// As [`keeps_alive`] for a frame of chunks: only its end shows whether anything in it is new.
pub(super) fn pause_of_frame(
    flow: &mut Flow,
    o: &Observation,
    frame: i64,
    (output, period, since): (usize, Option<i64>, i64),
    shared: &mut Shared,
) {
    let out = &mut shared.outputs[output];
    let habit = out.keeps_alive();
    if habit && out.current.is_some_and(|c| !c.changed) {
        return;
    }
    if o.same && (habit || since >= KEEP_ALIVE) {
        let place = (o.packet, o.stamp);
        out.pause = is_pause(period, since).map(|period| Pause { frame, place, period, since });
        return;
    }
    pause(flow, o, period, since, shared);
}

/// The period of a steady stream, where the time since the datagram before is a pause by it.
fn is_pause(period: Option<i64>, since: i64) -> Option<i64> {
    period.filter(|period| since.saturating_mul(100) > period.saturating_mul(GAP_PERCENT))
}

/// Remembers when the newest pause ended, and whether it was one in which the sender left out what does not change.
pub(super) fn note_pause(
    flow: &mut Flow,
    o: &Observation,
    period: Option<i64>,
    (since, repeats): (i64, bool),
) {
    if is_pause(numbered(flow, o, period), since).is_some() {
        flow.cold.paused_at = o.at;
        flow.cold.keeps_alive |= repeats && since >= KEEP_ALIVE;
    }
}

/// The period, where pauses are judged by it.
fn numbered(flow: &Flow, o: &Observation, period: Option<i64>) -> Option<i64> {
    period.filter(|_| flow.protocol() != Protocol::Kinet && !o.new_session)
}

/// A pause of a steady stream in which nothing was lost.
pub(super) fn pause(flow: &mut Flow, o: &Observation, period: Option<i64>, since: i64, shared: &mut Shared) {
    if let Some(period) = is_pause(numbered(flow, o, period), since) {
        tell_pause(at(flow, o), period, since, &mut shared.findings);
    }
}

/// The frame being put together ends: whether the pause before it was one of a sender with nothing to change.
pub(super) fn settle_pause(flow: usize, output: &mut Output, frame: Current, findings: &mut Findings) {
    if let Some(p) = output.pause.take_if(|p| p.frame <= frame.number).filter(|_| frame.changed) {
        let place = At { stream: Some(flow), packet: p.place.0, stamp: p.place.1 };
        tell_pause(place, p.period, p.since, findings);
    }
}

fn tell_pause(place: At, period: i64, since: i64, findings: &mut Findings) {
    let found = findings.add(rules::TIME_GAP, Severity::Warning, place, 0, || {
        format!("a pause of {} us where {} us are usual; no number is missing", since / 1000, period / 1000)
    });
    if let Some(f) = found
        && f.expected.is_empty()
    {
        f.expected = format!("at most {} us", period.saturating_mul(GAP_PERCENT) / 100_000);
        f.got = format!("{} us", since / 1000);
    }
}
